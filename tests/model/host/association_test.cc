// Initialisation, keep alive, events, reset, shutdown: a host against the emulated subsystem.
#include <gtest/gtest.h>

#include "tests/model/host/rig.h"
#include "wire/fabrics/property.h"

namespace fb::host {
namespace {

using subsystem::SubsystemOptions;

TEST(Association, ConnectsInTheOrderOfTheSpecification) {
  Rig rig;
  rig.add_namespace();
  ConnectOptions options = rig.to();
  options.io_queues = 3;
  Controller* controller = rig.connect(options);
  ASSERT_NE(controller, nullptr) << rig.last_error.text;
  EXPECT_TRUE(controller->live());
  EXPECT_EQ(controller->io_queue_count(), 3u);
  EXPECT_EQ(controller->facts().io_entries, 128);
  EXPECT_EQ(rig.host->namespaces().size(), 1u);
  EXPECT_EQ(rig.ns().blocks(), 131072u);

  // Connect, properties, enable, Identify, Number of Queues, I/O Connects, events.
  std::vector<std::string> order;
  for (const auto& [qid, sqe] : rig.hooks.commands) {
    const std::uint8_t opcode = sqe.get(nvme::sqe::opcode);
    std::string name =
        opcode == nvme::kFabricsOpcode
            ? std::string(nvme::fabrics_type_name(static_cast<std::uint8_t>(sqe.as<fabrics::AnyFabricsSqe>().get(fabrics::sqe::fctype))))
            : std::string(nvme::admin_opcode_name(opcode));
    if (order.empty() || order.back() != name) order.push_back(name);
  }
  const auto at = [&](std::string_view name) { return std::find(order.begin(), order.end(), name) - order.begin(); };
  EXPECT_EQ(order.front(), "Connect");
  EXPECT_LT(at("Property Get"), at("Property Set"));
  EXPECT_LT(at("Property Set"), at("Identify"));
  EXPECT_LT(at("Identify"), at("Set Features"));
  EXPECT_LT(at("Set Features"), std::find(order.begin() + 1, order.end(), "Connect") - order.begin());
  EXPECT_EQ(rig.hooks.count_admin(nvme::AdminOpcode::async_event_request), 4u);
  for (const auto& [qid, sqe] : rig.hooks.commands) EXPECT_EQ(sqe.bytes()[1], 0x40);
}

TEST(Association, OldAndNewVersionsBoth) {
  for (const std::uint32_t version : {fabrics::version(1, 4, 0), fabrics::version(2, 0, 0)}) {
    SubsystemOptions subsystem;
    subsystem.version = version;
    Rig rig(subsystem);
    EXPECT_NE(rig.connect(), nullptr) << rig.last_error.text;
  }
}

TEST(Association, RefusalsAreReportedOnceAndNotRepeated) {
  {
    Rig rig;
    ConnectOptions options = rig.to();
    options.subnqn = "nqn.2026-11.org.example:nowhere";
    EXPECT_EQ(rig.connect(options), nullptr);
    EXPECT_EQ(rig.last_error.kind, HostError::Kind::refused);
    EXPECT_TRUE(same_code(rig.last_error.status, nvme::sc::connect_invalid_parameters));
    EXPECT_EQ(rig.last_error.parameter.offset, 256);
    EXPECT_TRUE(rig.last_error.parameter.in_data);
    rig.world->run_for(Duration::s(60));
    EXPECT_EQ(rig.hooks.count_fabrics(fabrics::FabricsType::connect), 1u);
  }
  {
    SubsystemOptions closed;
    closed.allow_any_host = false;
    Rig rig(closed);
    EXPECT_EQ(rig.connect(), nullptr);
    EXPECT_TRUE(same_code(rig.last_error.status, nvme::sc::connect_invalid_host));
    EXPECT_EQ(rig.hooks.count_fabrics(fabrics::FabricsType::connect), 1u);
  }
  {
    Rig rig;
    ConnectOptions options = rig.to();
    options.to = Rig::endpoint(9);
    EXPECT_EQ(rig.connect(options), nullptr);
    EXPECT_EQ(rig.last_error.kind, HostError::Kind::transport);
  }
}

TEST(Association, BusyIsTriedAgainLater) {
  Rig rig;
  int refusals = 2;
  rig.hooks.on_admission = [&](std::uint16_t, const nvme::Sqe& sqe) -> std::optional<nvme::Status> {
    const bool connect = sqe.get(nvme::sqe::opcode) == nvme::kFabricsOpcode && sqe.bytes()[4] == 0x01;
    if (connect && refusals-- > 0) return nvme::sc::controller_busy;
    return std::nullopt;
  };
  const Instant start = rig.world->now();
  EXPECT_NE(rig.connect(), nullptr) << rig.last_error.text;
  EXPECT_GE(rig.world->now() - start, Duration::s(2));
}

TEST(Association, IdentifyMustNameTheSameController) {
  for (const std::string_view departure : {std::string_view("sub.cntlid.identify"), std::string_view("sub.cntlid.reserved")}) {
    Rig rig;
    rig.hooks.departure = departure;
    EXPECT_EQ(rig.connect(), nullptr);
    EXPECT_EQ(rig.last_error.kind, HostError::Kind::violation) << departure;
  }
}

TEST(Association, AuthenticationIsNotGuessed) {
  Rig rig;
  rig.hooks.on_completion = [](std::uint16_t, const nvme::Sqe& sqe, MutableBytes cqe) {
    if (sqe.bytes()[0] == 0x7F && sqe.bytes()[4] == 0x01) cqe[2] = 0x02;
    return subsystem::SubsystemHooks::Answer::send;
  };
  EXPECT_EQ(rig.connect(), nullptr);
  EXPECT_EQ(rig.last_error.kind, HostError::Kind::unsupported);
  EXPECT_EQ(rig.hooks.commands.size(), 1u);  // Connect, and nothing after it
}

TEST(Association, NeverReadyIsGivenUpAfterTheAnnouncedTime) {
  SubsystemOptions options;
  options.ready_timeout = 7;  // 3.5 s
  Rig rig(options);
  rig.hooks.departure = "sub.csts.rdy.never";
  const Instant start = rig.world->now();
  EXPECT_EQ(rig.connect(), nullptr);
  EXPECT_EQ(rig.last_error.kind, HostError::Kind::timeout);
  EXPECT_GE(rig.world->now() - start, Duration::ms(3500));
  EXPECT_LE(rig.world->now() - start, Duration::ms(4500));
}

TEST(Association, FewerQueuesThanAskedFor) {
  SubsystemOptions options;
  options.io_queues_max = 2;
  Rig rig(options);
  ConnectOptions connect = rig.to();
  connect.io_queues = 8;
  Controller* controller = rig.connect(connect);
  ASSERT_NE(controller, nullptr) << rig.last_error.text;
  EXPECT_EQ(controller->io_queue_count(), 2u);
}

TEST(Association, SilentControllersAreKeptAliveForTwoMinutes) {
  for (const bool traffic : {false, true}) {
    SubsystemOptions options;
    options.traffic_based_keep_alive = traffic;
    Rig rig(options);
    Controller* controller = rig.connect();
    ASSERT_NE(controller, nullptr) << rig.last_error.text;
    rig.world->run_for(Duration::s(120));
    EXPECT_TRUE(controller->live());
    EXPECT_GE(controller->keep_alives_sent(), 24u);
    EXPECT_LE(controller->keep_alives_sent(), 100u);
    EXPECT_EQ(controller->attempts(), 1u);
  }
}

TEST(Association, TrafficSparesKeepAlives) {
  SubsystemOptions options;
  options.traffic_based_keep_alive = true;
  Rig rig(options);
  rig.add_namespace();
  Controller* controller = rig.connect();
  ASSERT_NE(controller, nullptr);
  Bytes block(512);
  for (int second = 0; second < 60; ++second) {
    EXPECT_TRUE(rig.ns().read(0, block).wait().ok());
    rig.world->run_for(Duration::s(1));
  }
  EXPECT_EQ(controller->keep_alives_sent(), 0u);
  EXPECT_TRUE(controller->live());
}

TEST(Association, AKeepAliveWithoutAnswerLeadsToRecovery) {
  Rig rig;
  Controller* controller = rig.connect();
  ASSERT_NE(controller, nullptr);
  rig.hooks.on_completion = [](std::uint16_t, const nvme::Sqe& sqe, MutableBytes) {
    return sqe.bytes()[0] == 0x18 ? subsystem::SubsystemHooks::Answer::withhold : subsystem::SubsystemHooks::Answer::send;
  };
  rig.world->run_for(Duration::ms(2500 + 5000 + 400));
  EXPECT_EQ(controller->state(), ControllerState::recovering);
  rig.hooks.on_completion = nullptr;
  rig.world->run_for(Duration::s(5));
  EXPECT_TRUE(controller->live());
  EXPECT_EQ(controller->attempts(), 2u);
}

TEST(Association, ShutdownIsOrderly) {
  Rig rig;
  rig.add_namespace();
  Controller* controller = rig.connect();
  ASSERT_NE(controller, nullptr);
  rig.hooks.commands.clear();
  EXPECT_TRUE(controller->shutdown().wait().ok());
  EXPECT_EQ(controller->state(), ControllerState::gone);
  bool notified = false;
  for (const auto& [qid, sqe] : rig.hooks.commands) {
    if (sqe.bytes()[0] != 0x7F || sqe.bytes()[4] != 0x00) continue;
    const auto cc = record_from_integer<fabrics::Cc>(sqe.as<fabrics::PropertySetSqe>().get(fabrics::property_sqe::value));
    notified = notified || cc.get(fabrics::cc::shn) == fabrics::ShutdownNotification::normal;
  }
  EXPECT_TRUE(notified);
  EXPECT_EQ(rig.hooks.count_fabrics(fabrics::FabricsType::disconnect), 1u);
  EXPECT_TRUE(rig.world->run_until_idle(Duration::s(300)));
  rig.host->forget_gone();
  EXPECT_TRUE(rig.host->controllers().empty());
}

TEST(Association, ResetBringsItBack) {
  Rig rig;
  rig.add_namespace();
  ConnectOptions options = rig.to();
  options.io_queues = 2;
  Controller* controller = rig.connect(options);
  ASSERT_NE(controller, nullptr);
  const std::uint16_t cntlid = controller->facts().cntlid;
  for (int round = 0; round < 3; ++round) {
    const auto outcome = controller->reset().wait();
    ASSERT_TRUE(outcome.ok()) << outcome.error().text;
    EXPECT_TRUE(controller->live());
    EXPECT_EQ(controller->io_queue_count(), 2u);
    Bytes block = rig.random(512, "block");
    EXPECT_TRUE(rig.ns().write(7, block).wait().ok());
  }
  EXPECT_EQ(controller->facts().cntlid, cntlid);
  EXPECT_EQ(controller->attempts(), 1u);  // the admin queue stayed
}

// Whoever waited for a command that the reset cancels may end the association there and then.
TEST(Association, AResetMayEndWithADisconnect) {
  Rig rig;
  Controller* controller = rig.connect();
  ASSERT_NE(controller, nullptr);
  rig.hooks.on_completion = [](std::uint16_t, const nvme::Sqe& sqe, MutableBytes) {
    using Answer = subsystem::SubsystemHooks::Answer;
    return sqe.get(nvme::sqe::opcode) == 0x02 ? Answer::withhold : Answer::send;
  };
  bool asked = false;
  controller->call_log(nvme::LogPage::smart, 512, 0, [&](AdminReply& reply) {
    asked = true;
    EXPECT_FALSE(reply.answered);
    controller->disconnect();
  });
  auto reset = controller->reset();
  const auto outcome = reset.wait_for(Duration::s(10));
  EXPECT_TRUE(asked);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_FALSE(outcome->ok());
  EXPECT_TRUE(rig.world->run_until_idle(Duration::s(60)));
}

TEST(Association, NamespaceEventsLeadToARescan) {
  Rig rig;
  rig.add_namespace();
  Controller* controller = rig.connect();
  ASSERT_NE(controller, nullptr);
  rig.hooks.commands.clear();
  rig.add_namespace(64);
  rig.world->run_for(Duration::ms(100));
  EXPECT_EQ(rig.ns(2).blocks(), 64u);
  bool cleared = false;
  for (const auto& [qid, sqe] : rig.hooks.commands) {
    if (sqe.bytes()[0] != 0x02) continue;
    const auto log = sqe.as<nvme::GetLogPageSqe>();
    cleared = cleared || (log.get(nvme::get_log_sqe::lid) == 4 && !log.get(nvme::get_log_sqe::rae));
  }
  EXPECT_TRUE(cleared);
  EXPECT_EQ(rig.hooks.count_admin(nvme::AdminOpcode::async_event_request), 1u);
  // Events go on coming, and a namespace that went away is no longer offered.
  rig.disk->remove_namespace(1);
  rig.world->run_for(Duration::ms(100));
  EXPECT_EQ(rig.host->find(rig.disk->options().nqn, 1), nullptr);
  rig.disk->resize_namespace(2, 32);
  rig.world->run_for(Duration::ms(100));
  EXPECT_EQ(rig.ns(2).blocks(), 32u);
}

TEST(Association, WhatCannotBeReadNowIsReadALittleLater) {
  struct Row {
    const char* name;
    std::uint8_t opcode;
    std::uint8_t selector;  ///< LID or CNS
  };
  for (const Row& row : {Row{"log page of the event", 0x02, 4}, Row{"list of namespaces", 0x06, 2}, Row{"namespace", 0x06, 0},
                         Row{"descriptors of a namespace", 0x06, 3}}) {
    Rig rig;
    rig.add_namespace();
    ASSERT_NE(rig.connect(), nullptr);
    unsigned failures = 2;
    rig.hooks.on_admission = [&](std::uint16_t, const nvme::Sqe& sqe) -> std::optional<nvme::Status> {
      const bool hit = sqe.bytes()[0] == row.opcode && sqe.bytes()[40] == row.selector;
      if (!hit || failures == 0) return std::nullopt;
      --failures;
      return nvme::sc::ana_transition;
    };
    rig.disk->resize_namespace(1, 64);
    rig.world->run_for(Duration::ms(500));
    // Nothing is thrown away because it cannot be read just now.
    ASSERT_NE(rig.host->find(rig.disk->options().nqn, 1), nullptr) << row.name;
    rig.world->run_for(Duration::s(3));
    EXPECT_EQ(failures, 0u) << row.name;
    EXPECT_EQ(rig.ns().blocks(), 64u) << row.name;
    // The next event comes again.
    rig.disk->resize_namespace(1, 32);
    rig.world->run_for(Duration::ms(100));
    EXPECT_EQ(rig.ns().blocks(), 32u) << row.name;
  }
}

TEST(Association, WithoutTheAnaLogThereIsNoAssociation) {
  for (const unsigned failures : {3u, 30u}) {
    Rig rig;
    rig.add_namespace();
    unsigned left = failures;
    rig.hooks.on_admission = [&](std::uint16_t, const nvme::Sqe& sqe) -> std::optional<nvme::Status> {
      const bool ana = sqe.bytes()[0] == 0x02 && sqe.bytes()[40] == 0x0C;
      return ana && left > 0 && left-- > 0 ? std::optional(nvme::sc::internal_error) : std::nullopt;
    };
    Controller* const controller = rig.connect();
    ASSERT_EQ(controller != nullptr, failures < 6) << failures;
    if (controller == nullptr) {
      EXPECT_NE(rig.last_error.text.find("ANA log"), std::string::npos) << rig.last_error.text;
    } else {
      EXPECT_EQ(controller->ana_state(1), nvme::AnaState::optimized);
    }
  }
}

TEST(Association, WhatCanNeverBeReadIsNotAskedForEver) {
  Rig rig;
  rig.add_namespace();
  ASSERT_NE(rig.connect(), nullptr);
  unsigned asked = 0;
  rig.hooks.on_admission = [&](std::uint16_t, const nvme::Sqe& sqe) -> std::optional<nvme::Status> {
    if (sqe.bytes()[0] != 0x02) return std::nullopt;
    ++asked;
    return nvme::sc::ana_transition;
  };
  rig.disk->resize_namespace(1, 64);
  rig.world->run_for(Duration::s(60));
  EXPECT_EQ(asked, 11u);
  EXPECT_EQ(rig.ns().blocks(), 64u);  // the event itself said that something has changed
}

TEST(Association, AllReservationNoticesOfAnEventAreRead) {
  Rig rig;
  rig.add_namespace();
  ASSERT_NE(rig.connect(), nullptr);
  rig.hooks.commands.clear();
  auto& controllers = rig.disk->controllers();
  ASSERT_EQ(controllers.size(), 1u);
  for (int i = 0; i < 3; ++i) {
    controllers.begin()->second->on_reservation_notice(1, nvme::ReservationNotice::reservation_released);
  }
  rig.world->run_for(Duration::ms(100));
  std::size_t reads = 0;
  for (const auto& [qid, sqe] : rig.hooks.commands) {
    reads += sqe.bytes()[0] == 0x02 && sqe.as<nvme::GetLogPageSqe>().get(nvme::get_log_sqe::lid) == 0x80;
  }
  EXPECT_EQ(reads, 3u);
  EXPECT_EQ(rig.hooks.count_admin(nvme::AdminOpcode::async_event_request), 1u);
}

TEST(Association, TheStateTableIsClosed) {
  // Every state can be left, and only by what the table names.
  for (unsigned from = 0; from <= static_cast<unsigned>(ControllerState::gone); ++from) {
    const auto state = static_cast<ControllerState>(from);
    unsigned ways = 0;
    for (unsigned e = 0; e <= static_cast<unsigned>(ControllerEvent::ended); ++e) {
      ways += next_state(state, static_cast<ControllerEvent>(e)).has_value();
    }
    EXPECT_EQ(ways == 0, state == ControllerState::gone) << name_of(state);
  }
  EXPECT_FALSE(next_state(ControllerState::gone, ControllerEvent::attempt));
}

TEST(Association, SameSeedSameDigest) {
  const auto run = [] {
    Rig rig({}, 42);
    rig.add_namespace();
    Controller* controller = rig.connect();
    Bytes data = rig.random(1 << 16, "data");
    BENCH_ASSERT(rig.ns().write(0, data).wait().ok(), "a write");
    BENCH_ASSERT(controller->shutdown().wait().ok(), "a shutdown");
    return rig.world->digest();
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace fb::host
