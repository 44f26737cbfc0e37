// Every departure does something: with it, a target sees something else than from the honest host in
// at least one of these situations; and in none does the host hang or break.
#include "model/host/fault_points.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <set>

#include "model/host/discovery_client.h"
#include "tests/model/host/rig.h"
#include "wire/nvme/kv.h"

namespace fb::host {
namespace {

using Answer = subsystem::SubsystemHooks::Answer;
using subsystem::SubsystemOptions;

/// A rig that remembers what the target saw, as one number, and what the host was asked about.
struct Watched : Rig {
  struct Recorder final : HostScript {
    bool departs(std::string_view asked) override {
      names.insert(std::string(asked));
      return HostScript::departs(asked);
    }
    std::set<std::string> names;
  };
  Watched(std::string_view departure, SubsystemOptions options = {}) : Rig(std::move(options)) {
    HostOptions host_options;
    recorder.departure = departure;
    host_options.hooks = &recorder;
    host = std::make_unique<Host>(*world, fabric, host_options);
    hooks.on_data_in = [this](ByteView data) {
      for (const std::uint8_t byte : data) fold(byte);
    };
    hooks.on_admission = [this](std::uint16_t qid, const nvme::Sqe& sqe) {
      see(qid, sqe);
      return std::optional<nvme::Status>();
    };
    add_namespace(4096);
  }
  ~Watched() { host.reset(); }
  void fold(std::uint64_t word) { digest = mix64(digest ^ word) + word; }
  void see(std::uint16_t qid, const nvme::Sqe& sqe) {
    fold(static_cast<std::uint64_t>(world->now().count_ns()));
    fold(qid);
    for (std::size_t at = 0; at < 64; ++at) {
      const bool pointer = at >= 24 && at < 35;  // addresses and keys say nothing
      if (!pointer) fold(sqe.bytes()[at]);
    }
  }
  /// Null also when the host found no namespace: then there is no more to see.
  Controller* start(ConnectOptions options) {
    auto op = host->connect(std::move(options));
    const auto outcome = op.wait_for(Duration::s(40));
    fold(outcome ? (outcome->ok() ? 1 : 2) : 3);
    if (!outcome || !outcome->ok()) return nullptr;
    return host->find(disk->options().nqn, 1) != nullptr ? outcome->value() : nullptr;
  }
  void finish(Op<nvme::Status> op, Duration limit = Duration::s(30)) {
    const auto status = op.wait_for(limit);
    fold(status ? status->raw() : 0xFFFF);
  }

  Recorder recorder;
  std::uint64_t digest = 0;
};

using Situation = void (*)(Watched&);

ConnectOptions modest(Watched& rig) {
  ConnectOptions options = rig.to();
  options.io_queues = 2;
  options.queue_entries = 8;
  return options;
}

void ordinary(Watched& rig) {
  Controller* controller = rig.start(modest(rig));
  if (controller == nullptr) return;
  std::deque<Bytes> memory;
  std::vector<Op<nvme::Status>> ops;
  Namespace* ns = rig.host->find(*controller, 1);
  if (ns == nullptr) return;
  for (std::uint64_t i = 0; i < 30; ++i) {
    memory.emplace_back(i % 3 == 0 ? 6144 : 512);
    ops.push_back(i % 2 == 0 ? ns->write(i * 16, memory.back()) : ns->read(i * 16, memory.back()));
  }
  for (auto& op : ops) rig.finish(op);
  memory.emplace_back(std::size_t{1} << 20);
  rig.finish(ns->read(0, memory.back()));
  rig.world->run_for(Duration::s(12));
  rig.add_namespace(64);
  rig.world->run_for(Duration::s(1));
  rig.disk->set_ana_state(1, nvme::AnaState::inaccessible);
  rig.world->run_for(Duration::s(1));
  auto read = ns->read(0, MutableBytes(memory.front()).first(512));
  rig.world->run_for(Duration::s(2));
  rig.disk->set_ana_state(1, nvme::AnaState::optimized);
  rig.finish(read);
  (void)controller->shutdown().wait_for(Duration::s(20));
  rig.fold(static_cast<std::uint64_t>(controller->state()));
}

void protected_io(Watched& rig) {
  subsystem::NamespaceOptions options;
  options.nsid = 7;
  options.blocks = 64;
  options.metadata_bytes = 8;
  options.protection_type = 1;
  (void)rig.disk->add_namespace(std::move(options));
  Controller* controller = rig.start(modest(rig));
  if (controller == nullptr) return;
  Namespace* const ns = rig.host->find(*controller, 7);
  if (ns == nullptr) return;
  Bytes data(1024);
  rig.finish(ns->write(3, data));
  rig.finish(ns->read(3, data));
}

/// The host makes the tags, and a block comes back with another bit; then two reservation notifications come at once.
void spoiled_tags(Watched& rig) {
  subsystem::NamespaceOptions format;
  format.nsid = 7;
  format.blocks = 64;
  format.metadata_bytes = 8;
  format.protection_type = 1;
  (void)rig.disk->add_namespace(std::move(format));
  ConnectOptions options = modest(rig);
  options.protection = ProtectionUse::host;
  Controller* controller = rig.start(options);
  if (controller == nullptr) return;
  Namespace* const ns = rig.host->find(*controller, 7);
  if (ns == nullptr) return;
  Bytes data(1040);
  rig.finish(ns->write(3, data));
  rig.hooks.on_data_out = [](const nvme::Sqe& sqe, MutableBytes out) {
    if (sqe.bytes()[0] == 0x02 && out.size() == 1040) out[0] ^= 1;
  };
  rig.finish(ns->read(3, data));
  rig.hooks.on_data_out = nullptr;
  for (const auto& [cntlid, one] : rig.disk->controllers()) {
    for (unsigned i = 0; i < 2; ++i) one->on_reservation_notice(7, nvme::ReservationNotice::reservation_released);
  }
  rig.world->run_for(Duration::s(1));
}

/// Each event request fails a few times; a namespace comes while the host looks for another one; I/O is outstanding at the end.
void interrupted(Watched& rig) {
  int failures = 3;
  rig.hooks.on_admission = [&rig, failures](std::uint16_t qid, const nvme::Sqe& sqe) mutable -> std::optional<nvme::Status> {
    rig.see(qid, sqe);
    const bool asks = qid == 0 && sqe.bytes()[0] == 0x0C && failures > 0;
    if (!asks) return std::nullopt;
    --failures;
    return nvme::sc::async_event_request_limit_exceeded.with_dnr();
  };
  Controller* controller = rig.start(modest(rig));
  if (controller == nullptr) return;
  bool once = true;
  rig.hooks.on_completion = [&](std::uint16_t qid, const nvme::Sqe& sqe, MutableBytes) {
    const bool list = qid == 0 && sqe.bytes()[0] == 0x06 && sqe.bytes()[40] == 0x02;
    if (list && std::exchange(once, false)) rig.add_namespace(64);
    return Answer::send;
  };
  rig.add_namespace(64);
  rig.world->run_for(Duration::s(1));
  Bytes block(512);
  auto write = rig.ns().write(0, block);
  (void)controller->shutdown().wait_for(Duration::s(20));
  rig.finish(write);
  rig.hooks.on_completion = nullptr;
}

void no_flow_control(Watched& rig) {
  rig.hooks.departure = "sub.sqhd.disabled";
  ConnectOptions options = modest(rig);
  options.disable_sq_flow_control = true;
  Controller* controller = rig.start(options);
  if (controller == nullptr) return;
  std::deque<Bytes> memory;
  std::vector<Op<nvme::Status>> ops;
  for (std::uint64_t i = 0; i < 40; ++i) {
    memory.emplace_back(512);
    ops.push_back(rig.ns().read(i, memory.back()));
  }
  for (auto& op : ops) rig.finish(op);
}

void constant_sqhd(Watched& rig) {
  rig.hooks.departure = "sub.sqhd.constant";
  Controller* controller = rig.start(modest(rig));
  if (controller == nullptr) return;
  std::deque<Bytes> memory;
  std::vector<Op<nvme::Status>> ops;
  for (std::uint64_t i = 0; i < 40; ++i) {
    memory.emplace_back(512);
    ops.push_back(rig.ns().read(i, memory.back()));
  }
  for (auto& op : ops) rig.finish(op, Duration::s(1));
  rig.host.reset();  // before the memory goes
}

void unknown_subsystem(Watched& rig) {
  ConnectOptions options = rig.to();
  options.subnqn = "nqn.2026-11.org.example:nowhere";
  rig.start(options);
  rig.world->run_for(Duration::s(10));
}

void busy(Watched& rig) {
  int left = 3;
  rig.hooks.on_admission = [&rig, left](std::uint16_t qid, const nvme::Sqe& sqe) mutable -> std::optional<nvme::Status> {
    rig.see(qid, sqe);
    if (sqe.bytes()[0] == 0x7F && sqe.bytes()[4] == 1 && left-- > 0) {
      return nvme::sc::controller_busy;
    }
    return std::nullopt;
  };
  rig.start(rig.to());
}

void rejected(Watched& rig) {
  ConnectOptions options = rig.to();
  options.admin_entries = 64;  // more than ASQSZ
  rig.start(options);
  rig.world->run_for(Duration::s(1));
  rig.fold(rig.host->controllers().front()->attempts());
}

template <const char* departure>
void subsystem_departs(Watched& rig) {
  rig.hooks.departure = departure;
  rig.start(rig.to());
  rig.world->run_for(Duration::s(5));
}
constexpr char kReserved[] = "sub.cntlid.reserved";
constexpr char kOther[] = "sub.cntlid.identify";
constexpr char kNeverReady[] = "sub.csts.rdy.never";

void authentication(Watched& rig) {
  rig.hooks.on_completion = [](std::uint16_t, const nvme::Sqe& sqe, MutableBytes cqe) {
    if (sqe.bytes()[0] == 0x7F && sqe.bytes()[4] == 1) cqe[2] = 2;
    return Answer::send;
  };
  rig.start(rig.to());
}

void fatal_status(Watched& rig) {
  rig.hooks.on_property_read = [](std::uint32_t offset, std::uint64_t& value) {
    if (offset == 0x1C) value |= 2;
  };
  rig.start(rig.to());
}

void slow_ready(Watched& rig) {
  rig.hooks.on_property_read = [&rig](std::uint32_t offset, std::uint64_t& value) {
    if (offset == 0x1C && rig.world->now() < Instant::at_ns(20'000'000)) value &= ~1ull;
  };
  rig.start(rig.to());
}

void silent_keep_alive(Watched& rig) {
  rig.hooks.on_completion = [](std::uint16_t, const nvme::Sqe& sqe, MutableBytes) {
    return sqe.bytes()[0] == 0x18 ? Answer::withhold : Answer::send;
  };
  rig.start(rig.to());
  rig.world->run_for(Duration::s(20));
}

void errors(Watched& rig) {
  rig.hooks.on_data_out = [](const nvme::Sqe& sqe, MutableBytes data) {
    if (sqe.bytes()[0] == 0x06 && sqe.get(nvme::sqe::cdw10) == 1) {
      store_le<std::uint16_t>(data.data() + 128, 30);
    }
  };
  if (rig.start(rig.to()) == nullptr) return;
  for (const nvme::Status status :
       {nvme::sc::internal_error.with_dnr(), nvme::sc::transient_transport_error, nvme::sc::command_interrupted.with_crd(1),
        nvme::sc::reservation_conflict, nvme::sc::internal_path_error}) {
    int left = 40;
    rig.hooks.on_admission = [&](std::uint16_t qid, const nvme::Sqe& sqe) -> std::optional<nvme::Status> {
      rig.see(qid, sqe);
      if (qid != 0 && left-- > 0) return status;
      return std::nullopt;
    };
    Bytes block(512);
    rig.finish(rig.ns().read(0, block), Duration::s(200));
  }
  rig.hooks.on_admission = nullptr;
}

void losses(Watched& rig) {
  if (rig.start(modest(rig)) == nullptr) return;
  Bytes block(512);
  rig.hooks.on_completion = [](std::uint16_t qid, const nvme::Sqe&, MutableBytes) { return qid != 0 ? Answer::withhold : Answer::send; };
  auto write = rig.ns().write(0, block);
  rig.world->run_for(Duration::ms(1));
  rig.disk->end_associations("test");
  rig.hooks.on_completion = nullptr;
  rig.finish(write);
}

void io_queue_lost(Watched& rig) {
  Controller* controller = rig.start(modest(rig));
  if (controller == nullptr) return;
  rig.hooks.departure = "sub.association.io_loss";
  bool once = true;
  rig.hooks.on_completion = [&](std::uint16_t qid, const nvme::Sqe&, MutableBytes) {
    return qid != 0 && std::exchange(once, false) ? Answer::disconnect_instead : Answer::send;
  };
  Bytes block(512);
  rig.finish(rig.ns().read(0, block));
  rig.fold(controller->attempts());
  rig.hooks.on_completion = nullptr;
}

void silence(Watched& rig) {
  ConnectOptions options = rig.to();
  options.io_timeout = Duration::s(1);
  options.abort_grace = Duration::s(1);
  if (rig.start(options) == nullptr) return;
  const Instant start = rig.world->now();
  rig.hooks.on_completion = [&rig, start](std::uint16_t qid, const nvme::Sqe&, MutableBytes) {
    const bool mute = qid != 0 && rig.world->now() - start < Duration::ms(1900);
    return mute ? Answer::withhold : Answer::send;
  };
  Bytes block(512);
  rig.finish(rig.ns().read(0, block));
  rig.hooks.on_completion = nullptr;
}

/// With ACL 0 (see look()) and Aborts that are not answered either.
void silence_of_many(Watched& rig) {
  ConnectOptions options = rig.to();
  options.io_timeout = Duration::s(1);
  options.abort_grace = Duration::s(1);
  if (rig.start(options) == nullptr) return;
  const Instant start = rig.world->now();
  rig.hooks.on_completion = [&rig, start](std::uint16_t qid, const nvme::Sqe& sqe, MutableBytes) {
    const bool concerned = qid != 0 || sqe.bytes()[0] == 0x08;
    const bool mute = concerned && rig.world->now() - start < Duration::ms(1900);
    return mute ? Answer::withhold : Answer::send;
  };
  Bytes one(512), two(512);
  auto first = rig.ns().read(0, one);
  auto second = rig.ns().read(8, two);
  rig.finish(first);
  rig.finish(second);
  rig.hooks.on_completion = nullptr;
}

void wrong_cid(Watched& rig) {
  Controller* controller = rig.start(rig.to());
  if (controller == nullptr) return;
  bool once = true;
  rig.hooks.on_completion = [&](std::uint16_t qid, const nvme::Sqe&, MutableBytes cqe) {
    if (qid != 0 && std::exchange(once, false)) cqe[13] ^= 0x40;
    return Answer::send;
  };
  Bytes block(512);
  rig.finish(rig.ns().read(0, block));
  rig.fold(controller->attempts());
  rig.hooks.on_completion = nullptr;
}

void discover(Watched& rig, std::string_view sub_departure, bool circle, bool persistent) {
  rig.hooks.departure = sub_departure;
  std::vector<std::unique_ptr<subsystem::Target>> others;
  std::vector<std::unique_ptr<transport::ControllerFabric>> listening;
  const std::uint16_t services = circle ? 12 : 0;
  for (std::uint16_t i = 0; i < services; ++i) {
    const auto at = [&](unsigned n) { return Rig::endpoint(static_cast<std::uint16_t>(20 + n)); };
    others.push_back(std::make_unique<subsystem::Target>(*rig.world, &rig.hooks));
    subsystem::PortOptions port;
    port.traddr = to_string(at(i).address);
    others.back()->add_port(port);
    listening.push_back(std::move(rig.fabric.listen(at(i), others.back()->acceptor(1), &rig.hooks)).value());
    for (const unsigned next : {i + 1u, 0u}) {
      subsystem::Referral referral;
      referral.traddr = to_string(at(next % services).address);
      others.back()->discovery().add_referral(referral);
    }
  }
  std::optional<DiscoveryClient> client(std::in_place, *rig.host);
  DiscoveryOptions options;
  options.to = circle ? Rig::endpoint(20) : Rig::endpoint(1);
  options.persistent = persistent;
  auto op = client->discover(options);
  const auto outcome = op.wait_for(Duration::s(100));
  rig.fold(outcome ? (outcome->ok() ? 1 : 2) : 3);
  if (outcome && outcome->ok()) {
    rig.fold((*outcome)->services);
    for (const DiscoveredEntry& entry : (*outcome)->entries) rig.fold(entry.usable);
  }
  if (persistent) {
    rig.target->discovery().changed();
    rig.world->run_for(Duration::s(1));
  }
  client->leave();
  rig.world->run_for(Duration::ms(1));
  client.reset();
  rig.host.reset();
  rig.world->run_for(Duration::ms(1));
  listening.clear();
}

void discover_plainly(Watched& rig) { discover(rig, "", false, false); }
void discover_counting(Watched& rig) { discover(rig, "sub.discovery.genctr.runs", false, false); }
void discover_bad_port(Watched& rig) { discover(rig, "sub.discovery.trsvcid", false, false); }
void discover_circle(Watched& rig) { discover(rig, "", true, false); }
void discover_events(Watched& rig) { discover(rig, "", false, true); }
void discover_restart(Watched& rig) {
  int left = 1;
  rig.hooks.on_admission = [&rig, left](std::uint16_t qid, const nvme::Sqe& sqe) mutable -> std::optional<nvme::Status> {
    rig.see(qid, sqe);
    if (sqe.bytes()[0] == 0x02 && left-- > 0) return nvme::sc::discover_restart;
    return std::nullopt;
  };
  discover(rig, "", false, false);
}

/// A zoned namespace behind a controller that has it in its second combination of command sets alone.
void zones(Watched& rig) {
  rig.hooks.on_data_out = [](const nvme::Sqe& sqe, MutableBytes data) {
    const bool combinations = sqe.bytes()[0] == 0x06 && sqe.bytes()[40] == 0x1C;
    if (combinations && data.size() >= 16) store_le<std::uint64_t>(data.data(), 1);
    if (combinations && data.size() >= 16) store_le<std::uint64_t>(data.data() + 8, 5);
  };
  rig.hooks.departure = "sub.zone.profile";
  subsystem::NamespaceOptions options;
  options.blocks = 1024;
  options.zones = {.zone_blocks = 64};
  BENCH_ASSERT(rig.disk->add_namespace(std::move(options)).ok(), "room for a namespace");
  if (rig.start(modest(rig)) == nullptr) return;
  Namespace* const ns = rig.host->find(rig.disk->options().nqn, 2);
  if (ns == nullptr) return;
  Bytes large(40 * 512, 1), small(4 * 512, 2), over(40 * 512, 3), across(30 * 512, 4);
  rig.finish(ns->write(0, large));
  rig.finish(ns->write(40, across));
  const auto append = [&](Bytes& data) {
    const auto done = ns->zone_append(192, data).wait_for(Duration::s(60));
    rig.fold(done ? done->status.raw() + done->lba : 0xFFFF);
  };
  append(small);
  append(over);
  bool lost = false;
  rig.hooks.on_completion = [&](std::uint16_t qid, const nvme::Sqe& sqe, MutableBytes) {
    const bool appended = qid != 0 && sqe.bytes()[0] == 0x7D;
    return appended && !std::exchange(lost, true) ? Answer::disconnect_instead : Answer::send;
  };
  append(small);
  rig.world->run_for(Duration::s(30));
  rig.hooks.on_completion = nullptr;
}

void strange_capabilities(Watched& rig) {
  rig.hooks.on_property_read = [](std::uint32_t offset, std::uint64_t& value) {
    if (offset == 0) value |= std::uint64_t{1} << 62;
  };
  rig.start(rig.to());
}

void slow_reset(Watched& rig) {
  Controller* controller = rig.start(modest(rig));
  if (controller == nullptr) return;
  int looks = 0;
  rig.hooks.on_property_read = [&looks](std::uint32_t offset, std::uint64_t& value) {
    if (offset == 0x1C && looks++ < 3) value |= 1;
  };
  const auto outcome = controller->reset().wait_for(Duration::s(20));
  rig.fold(outcome ? (outcome->ok() ? 1 : 2) : 3);
  rig.hooks.on_property_read = nullptr;
}

/// Commands that the controller limits, and one that it does not have.
void commands(Watched& rig) {
  if (rig.start(modest(rig)) == nullptr) return;
  rig.finish(rig.ns().write_zeroes(0, 100));
  rig.finish(rig.ns().verify(0, 8));
  rig.finish(rig.ns().copy({{0, 40}}, 500));
}

/// The controller declares less after a reset, and its namespace, whose format is the seventeenth, is replaced.
void changes(Watched& rig) {
  bool is_reset = false;
  rig.hooks.on_data_out = [&is_reset](const nvme::Sqe& sqe, MutableBytes data) {
    constexpr std::size_t kMdts = 77, kFlbas = 26, kFormats = 128, kSeventeenth = kFormats + 16 * 4;
    if (sqe.bytes()[0] != 0x06 || data.size() < nvme::kIdentifySize) return;
    if (sqe.bytes()[40] == 0x01 && is_reset) data[kMdts] = 1;
    if (sqe.bytes()[40] != 0x00) return;
    std::copy_n(&data[kFormats], 4, &data[kSeventeenth]);
    data[kFormats + 2] = 12;
    data[kFlbas] |= 0x20;
  };
  Controller* controller = rig.start(modest(rig));
  if (controller == nullptr) return;
  Bytes large(16384), small(4096);
  rig.finish(rig.ns().read(0, large));
  is_reset = true;
  const auto reset = controller->reset().wait_for(Duration::s(20));
  rig.fold(reset ? (reset->ok() ? 1 : 2) : 3);
  rig.finish(rig.ns().read(0, large));
  Namespace& former = rig.ns();
  (void)rig.disk->remove_namespace(1);
  subsystem::NamespaceOptions other;
  other.nsid = 1;
  other.blocks = 4096;
  other.incarnation = 1;
  BENCH_ASSERT(rig.disk->add_namespace(std::move(other)).ok(), "room for a namespace");
  rig.world->run_for(Duration::s(1));
  rig.finish(former.write(0, small));
  (void)controller->shutdown().wait_for(Duration::s(20));
  rig.hooks.on_data_out = nullptr;
}

/// Identify fails: for a moment, for good where the host can do without it, and after an event.
void failures(Watched& rig) {
  constexpr std::uint8_t kIdentify = 0x06, kController = 0x01, kList = 0x02, kDescriptors = 0x03;
  unsigned moments = 1;
  bool live = false;
  rig.hooks.on_admission = [&](std::uint16_t qid, const nvme::Sqe& sqe) -> std::optional<nvme::Status> {
    rig.see(qid, sqe);
    if (qid != 0 || sqe.bytes()[0] != kIdentify) return std::nullopt;
    const std::uint8_t cns = sqe.bytes()[40];
    if (cns == kDescriptors) return nvme::sc::invalid_field.with_dnr();
    if (cns != (live ? kList : kController) || moments == 0) return std::nullopt;
    --moments;
    return nvme::sc::internal_error;
  };
  Controller* controller = rig.start(modest(rig));
  if (controller == nullptr) return;
  live = true;
  moments = 3;
  (void)rig.disk->resize_namespace(1, 4000);
  rig.world->run_for(Duration::s(5));
  rig.fold(controller->namespaces().empty() ? 0 : controller->namespaces().front().blocks);
}

/// A Store with a condition whose answer is lost.
void pairs(Watched& rig) {
  subsystem::NamespaceOptions options;
  options.key_value_bytes = 1 << 16;
  BENCH_ASSERT(rig.disk->add_namespace(std::move(options)).ok(), "room for a namespace");
  if (rig.start(modest(rig)) == nullptr) return;
  Namespace* const ns = rig.host->find(rig.disk->options().nqn, 2);
  if (ns == nullptr) return;
  bool lost = false;
  rig.hooks.on_completion = [&](std::uint16_t qid, const nvme::Sqe& sqe, MutableBytes) {
    const bool stored = qid != 0 && sqe.bytes()[0] == nvme::opcode_of(nvme::KvOpcode::store);
    return stored && !std::exchange(lost, true) ? Answer::disconnect_instead : Answer::send;
  };
  const Bytes key(4, 1), value(16, 2);
  rig.finish(ns->store(key, value, nvme::store_bits::must_not_exist));
  rig.world->run_for(Duration::s(30));
  rig.hooks.on_completion = nullptr;
}

constexpr Situation kSituations[] = {changes,
                                     failures,
                                     pairs,
                                     spoiled_tags,
                                     interrupted,
                                     strange_capabilities,
                                     slow_reset,
                                     commands,
                                     ordinary,
                                     zones,
                                     protected_io,
                                     no_flow_control,
                                     constant_sqhd,
                                     unknown_subsystem,
                                     busy,
                                     rejected,
                                     subsystem_departs<kReserved>,
                                     subsystem_departs<kOther>,
                                     subsystem_departs<kNeverReady>,
                                     authentication,
                                     fatal_status,
                                     slow_ready,
                                     silent_keep_alive,
                                     errors,
                                     losses,
                                     io_queue_lost,
                                     silence,
                                     silence_of_many,
                                     wrong_cid,
                                     discover_plainly,
                                     discover_counting,
                                     discover_bad_port,
                                     discover_circle,
                                     discover_events,
                                     discover_restart};

struct Seen {
  std::vector<std::uint64_t> digests;
  std::set<std::string> asked;
};

Seen look(std::string_view departure) {
  Seen seen;
  for (const Situation situation : kSituations) {
    SubsystemOptions options;
    options.mdts = 2;
    options.io_queues_max = 4;
    if (situation == silence_of_many) options.abort_limit = 1;
    if (situation == losses) options.kas = 30;  // KATO of 5 s is no multiple of 3 s
    if (situation == interrupted) options.io_latency = Duration::ms(50);
    options.individual_queue_deletion = situation != changes;
    options.zoned = {.supported = situation == zones, .append_limit = 1};
    options.key_value = {.supported = situation == pairs};
    options.verify = situation != commands;
    options.write_zeroes_limit = situation == commands ? 1 : 0;
    if (situation == commands) options.copy = {.formats = 1, .range_blocks = 8, .total_blocks = 16, .ranges = 2};
    Watched rig(departure, options);
    situation(rig);
    seen.digests.push_back(rig.digest);
    seen.asked.insert(rig.recorder.names.begin(), rig.recorder.names.end());
  }
  return seen;
}

TEST(Departures, EachIsAskedAboutAndEachShows) {
  const Seen honest = look("");
  EXPECT_EQ(look("no such point").digests, honest.digests);
  for (const FaultPoint& point : kHostFaultPoints) {
    // TLS, RDMA, paths whose limits differ, entries of another transport: the self-test of the suite shows these.
    if (point.name.starts_with("tcp.") || point.name.starts_with("rdma.")) continue;
    if (point.name == "host.paths.one_mdts" || point.name == "host.discovery.trtype.any") continue;
    EXPECT_TRUE(honest.asked.contains(std::string(point.name))) << point.name;
    EXPECT_NE(look(point.name).digests, honest.digests) << point.name << ": " << point.breaks;
  }
  for (const std::string& asked : honest.asked) {
    const bool known = asked.rfind("host.", 0) != 0 || std::any_of(std::begin(kHostFaultPoints), std::end(kHostFaultPoints),
                                                                   [&](const FaultPoint& p) { return p.name == asked; });
    EXPECT_TRUE(known) << asked;
  }
}

}  // namespace
}  // namespace fb::host
