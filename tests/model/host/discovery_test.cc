#include "model/host/discovery_client.h"

#include <gtest/gtest.h>

#include "tests/model/host/rig.h"
#include "wire/fabrics/discovery_log.h"

namespace fb::host {
namespace {

DiscoveryOptions at(std::uint16_t portid) {
  DiscoveryOptions options;
  options.to = Rig::endpoint(portid);
  return options;
}

TEST(Discovery, FindsTheSubsystemAndLeaves) {
  Rig rig;
  rig.add_namespace();
  DiscoveryClient client(*rig.host);
  const auto outcome = client.discover(at(1)).wait();
  ASSERT_TRUE(outcome.ok()) << outcome.error().text;
  ASSERT_EQ(outcome->entries.size(), 1u);
  const DiscoveredEntry& entry = outcome->entries.front();
  EXPECT_EQ(entry.subnqn, rig.disk->options().nqn);
  EXPECT_TRUE(entry.usable);
  EXPECT_EQ(entry.to, Rig::endpoint(1));
  EXPECT_TRUE(rig.world->run_until_idle(Duration::s(60)));  // no connection is left

  ConnectOptions connect;
  connect.to = entry.to;
  connect.subnqn = entry.subnqn;
  EXPECT_NE(rig.connect(connect), nullptr) << rig.last_error.text;
}

TEST(Discovery, LongLogsAreReadInPartsAndWhole) {
  Rig rig;
  for (std::uint16_t i = 0; i < 60; ++i) {
    subsystem::SubsystemOptions options;
    options.nqn = "nqn.2026-11.org.example:disk." + std::to_string(i);
    rig.target->add_subsystem(options);
  }
  DiscoveryClient client(*rig.host);
  DiscoveryOptions options = at(1);
  options.part_bytes = 4096;
  const auto outcome = client.discover(options).wait();
  ASSERT_TRUE(outcome.ok()) << outcome.error().text;
  EXPECT_EQ(outcome->entries.size(), 61u);
  EXPECT_EQ(outcome->log_reads, 1u);
}

// The association ends under the read; the host would come back by itself, but nobody would ask again.
TEST(Discovery, AConnectionThatEndsWhileTheLogIsReadEndsTheDiscovery) {
  for (const bool wrong_identifier : {true, false}) {
    Rig rig;
    rig.hooks.on_completion = [&](std::uint16_t, const nvme::Sqe& sqe, MutableBytes cqe) {
      using Answer = subsystem::SubsystemHooks::Answer;
      if (sqe.get(nvme::sqe::opcode) != 0x02) return Answer::send;
      if (!wrong_identifier) return Answer::disconnect_instead;
      cqe[13] ^= 0x40;
      return Answer::send;
    };
    DiscoveryClient client(*rig.host);
    auto op = client.discover(at(1));
    const auto outcome = op.wait_for(Duration::s(5));
    ASSERT_TRUE(outcome.has_value());
    EXPECT_FALSE(outcome->ok());
    EXPECT_TRUE(rig.world->run_until_idle(Duration::s(60)));  // no connection is left
  }
}

// Who waits gives up and destroys the client; the host's own time for the command runs out later.
TEST(Discovery, AClientThatGaveUpHearsNoLateEnd) {
  for (unsigned unanswered = 0; unanswered < 12; ++unanswered) {
    Rig rig;
    unsigned count = 0;
    rig.hooks.on_completion = [&](std::uint16_t, const nvme::Sqe&, MutableBytes) {
      using Answer = subsystem::SubsystemHooks::Answer;
      return count++ == unanswered ? Answer::withhold : Answer::send;
    };
    DiscoveryOptions options = at(1);
    options.admin_timeout = Duration::s(5);
    {
      DiscoveryClient client(*rig.host);
      (void)client.discover(options).wait_for(Duration::s(1));
    }
    rig.world->run_for(Duration::s(100));  // the answer that is missing, or its end, finds nobody
    rig.host->shutdown_all();
    rig.world->run_for(Duration::s(100));
  }
}

TEST(Discovery, ALogThatChangesIsReadAgain) {
  for (const bool departs : {false, true}) {
    Rig rig;
    if (departs) rig.host_hooks.departure = point::discovery_genctr_ignored;
    int changes = 2;
    rig.hooks.on_data_out = [&](const nvme::Sqe& sqe, MutableBytes) {
      const bool log = sqe.bytes()[0] == 0x02 && sqe.as<nvme::GetLogPageSqe>().get(nvme::get_log_sqe::lid) == 0x70;
      if (log && nvme::log_length(sqe.as<nvme::GetLogPageSqe>()) > 1024 && changes-- > 0) {
        rig.target->discovery().changed();
      }
    };
    DiscoveryClient client(*rig.host);
    const auto outcome = client.discover(at(1)).wait();
    ASSERT_TRUE(outcome.ok()) << outcome.error().text;
    EXPECT_EQ(outcome->log_reads, departs ? 1u : 3u);
  }
}

TEST(Discovery, ALogThatNeverHoldsStillIsAnError) {
  Rig rig;
  rig.hooks.departure = "sub.discovery.genctr.runs";
  DiscoveryClient client(*rig.host);
  const auto outcome = client.discover(at(1)).wait();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().kind, HostError::Kind::violation);
}

TEST(Discovery, DiscoverRestartIsFollowed) {
  Rig rig;
  int restarts = 2;
  rig.hooks.on_admission = [&](std::uint16_t, const nvme::Sqe& sqe) -> std::optional<nvme::Status> {
    if (sqe.bytes()[0] == 0x02 && restarts-- > 0) return nvme::sc::discover_restart;
    return std::nullopt;
  };
  DiscoveryClient client(*rig.host);
  const auto outcome = client.discover(at(1)).wait();
  ASSERT_TRUE(outcome.ok()) << outcome.error().text;
  EXPECT_EQ(outcome->entries.size(), 1u);
}

/// Services that refer to one another: each an own target on an own address.
struct Chain : Rig {
  explicit Chain(std::uint16_t services, bool circle) {
    for (std::uint16_t i = 0; i < services; ++i) {
      auto other = std::make_unique<subsystem::Target>(*world, &hooks);
      subsystem::PortOptions port;
      port.traddr = to_string(endpoint(static_cast<std::uint16_t>(20 + i)).address);
      other->add_port(port);
      auto listener = fabric.listen(endpoint(static_cast<std::uint16_t>(20 + i)), other->acceptor(1), &hooks);
      others.push_back(std::move(other));
      listening.push_back(std::move(listener).value());
    }
    for (std::uint16_t i = 0; i < services; ++i) {
      const std::uint16_t next = i + 1 == services ? std::uint16_t{0} : static_cast<std::uint16_t>(i + 1);
      if (next == 0 && !circle) continue;
      subsystem::Referral referral;
      referral.traddr = to_string(endpoint(static_cast<std::uint16_t>(20 + next)).address);
      others[i]->discovery().add_referral(referral);
    }
  }
  ~Chain() {
    host.reset();
    listening.clear();
  }
  std::vector<std::unique_ptr<subsystem::Target>> others;
  std::vector<std::unique_ptr<transport::ControllerFabric>> listening;
};

TEST(Discovery, ReferralsAreFollowedOnceEach) {
  Chain rig(4, true);
  DiscoveryClient client(*rig.host);
  const auto outcome = client.discover(at(20)).wait();
  ASSERT_TRUE(outcome.ok()) << outcome.error().text;
  EXPECT_EQ(outcome->services, 4u);

  Chain circle(3, true);
  circle.host_hooks.departure = point::discovery_referral_loop;
  DiscoveryClient lost(*circle.host);
  const auto endless = lost.discover(at(20)).wait();
  ASSERT_TRUE(endless.ok());
  EXPECT_GT(endless->services, 6u);
}

TEST(Discovery, ReferralsAreFollowedEightDeep) {
  Chain rig(12, false);
  DiscoveryClient client(*rig.host);
  const auto outcome = client.discover(at(20)).wait();
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->services, 9u);
}

TEST(Discovery, AServiceThatIsAwayDoesNotSpoilTheRest) {
  Rig rig;
  subsystem::Referral referral;
  referral.traddr = to_string(Rig::endpoint(99).address);
  rig.target->discovery().add_referral(referral);
  DiscoveryClient client(*rig.host);
  const auto outcome = client.discover(at(1)).wait();
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->unreachable.size(), 1u);
  EXPECT_EQ(outcome->entries.size(), 2u);
}

TEST(Discovery, EntriesWithoutADecimalPortAreNotUsable) {
  Rig rig;
  rig.hooks.departure = "sub.discovery.trsvcid";
  DiscoveryClient client(*rig.host);
  const auto outcome = client.discover(at(1)).wait();
  ASSERT_TRUE(outcome.ok());
  ASSERT_FALSE(outcome->entries.empty());
  EXPECT_FALSE(outcome->entries.front().usable);
}

TEST(Discovery, APersistentConnectionHearsOfChanges) {
  Rig rig;
  DiscoveryClient client(*rig.host);
  std::vector<std::size_t> seen;
  client.set_on_change([&](const DiscoveryResult& result) { seen.push_back(result.entries.size()); });
  DiscoveryOptions options = at(1);
  options.persistent = true;
  ASSERT_TRUE(client.discover(options).wait().ok());
  ASSERT_NE(client.persistent_controller(), nullptr);
  for (int i = 0; i < 2; ++i) {
    subsystem::SubsystemOptions more;
    more.nqn = "nqn.2026-11.org.example:more." + std::to_string(i);
    rig.target->add_subsystem(more);
    rig.world->run_for(Duration::s(200));  // longer than KATO
  }
  EXPECT_EQ(seen, (std::vector<std::size_t>{2, 3}));
  EXPECT_TRUE(client.persistent_controller()->live());
  client.leave();
  EXPECT_TRUE(rig.world->run_until_idle(Duration::s(600)));
  EXPECT_EQ(client.persistent_controller(), nullptr);
}

}  // namespace
}  // namespace fb::host
