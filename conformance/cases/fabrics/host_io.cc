// What a host does with its connections once it is there: data, flow control, keep alive, recovery.
#include <algorithm>

#include "conformance/runner/embedded_controller.h"
#include "conformance/runner/host_bench.h"
#include "model/subsystem/target.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/nqn.h"
#include "wire/fabrics/transports.h"
#include "wire/nvme/sgl.h"

namespace fb::conformance {

namespace {

constexpr std::uint8_t kConnect = 0x01, kWrite = 0x01, kRead = 0x02, kKeepAlive = 0x18;
/// The service id of a careless discovery service: neither decimal nor hexadecimal nor a name.
constexpr std::string_view kNoPort = "44x20";

Bytes pattern(std::size_t bytes) {
  Bytes data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  return data;
}

nvme::SglDescriptor sgl_of(const SeenCommand& seen) { return nvme::SglDescriptor::parse(seen.sqe.bytes().subspan(24, 16)); }

/// What makes the bench's discovery service refer to itself.
subsystem::Referral to_itself(const HostBench& bench) {
  const Endpoint at = bench.at();
  subsystem::Referral referral;
  referral.traddr = to_string(at.address);
  referral.family = at.address.is_v4() ? fabrics::AddressFamily::ipv4 : fabrics::AddressFamily::ipv6;
  referral.trsvcid = std::to_string(at.port);
  referral.trtype = static_cast<std::uint8_t>(fabrics::transport_named(bench.transport()).type);
  return referral;
}

/// The host reads a log that has this entry, known by `mark`, and connects to nothing of its name.
void expect_entry_unused(HostBench& bench, Check& check, const subsystem::Referral& elsewhere, std::string_view mark,
                         std::string_view expected) {
  bool seen = false;
  bench.script.data_out = [&](const CommandContext& command, MutableBytes data) {
    const bool log = command.sqe[0] == 0x02 && command.sqe[40] == 0x70;
    const bool whole = std::search(data.begin(), data.end(), mark.begin(), mark.end()) != data.end();
    seen = seen || (log && whole);
  };
  const auto outcome = bench.product().discover().wait_for(120_s);
  check.precondition(seen, "the host reads the discovery log");
  check.that(outcome.has_value(), "discovery ends", "it still goes on");
  for (const SeenCommand* one : bench.fabrics_commands(kConnect)) {
    check.precondition(one->data.size() == fabrics::ConnectData::size, "the data of each Connect");
    const View<fabrics::ConnectData> data{one->data};
    check.that(fabrics::terminated_text(data.get(fabrics::connect_data::subnqn)) != elsewhere.subnqn, expected, "a Connect to it");
  }
}

}  // namespace

CONFORMANCE_CASE(host_describes_its_data_exactly, "fabrics.host.keyed-length", roles::host, over_rdma) {
  bench.connect_product();
  bench.forget_seen();  // a host may have looked for partitions
  Bytes& data = bench.keep(Bytes(32768));
  check.require_success(bench.product().read(bench.nsid(), 0, data).wait(), "read of 32 KiB");
  std::size_t described = 0;
  for (const SeenCommand* seen : bench.commands_of(kRead)) {
    if (seen->qid == 0 || seen->nsid() != bench.nsid()) continue;
    const nvme::SglDescriptor sgl = sgl_of(*seen);
    check.equal("SGL descriptor type", static_cast<unsigned>(sgl.type), 4u);
    check.equal("length in the descriptor", sgl.length, ((seen->cdw(12) & 0xFFFF) + 1) * 512u);
    described += sgl.length;
  }
  check.equal("bytes described", described, data.size());
}

CONFORMANCE_CASE(host_keeps_to_the_capsule_size, "fabrics.host.capsule-size", roles::host, over_rdma) {
  // A little less than the 4096 bytes behind the entry that are there, so that what is a little too long is found out.
  std::uint32_t room = 4080;
  bench.script.data_out = [&](const CommandContext& command, MutableBytes data) {
    constexpr std::size_t kIoccsz = 1792;
    const bool controller = command.qid == 0 && command.sqe[0] == 0x06 && command.sqe[40] == 0x01;
    if (controller && data.size() == 4096) store_le(&data[kIoccsz], (64 + room) / 16);
  };
  bench.connect_product();
  const auto write_all = [&] {
    for (const std::size_t bytes : {512u, 1024u, 4096u, 8192u, 65536u}) {
      Bytes& data = bench.keep(pattern(bytes));
      check.require_success(bench.product().write(bench.nsid(), 0, data).wait(), "write");
    }
    for (const SeenCommand& seen : bench.commands()) {
      const std::size_t most = seen.qid == 0 ? 64 : 64 + room;
      check.that(seen.capsule.size() <= most, "a capsule that fits",
                 std::to_string(seen.capsule.size()) + " bytes on queue " + std::to_string(seen.qid));
    }
  };
  write_all();
  // A host that comes back reads it anew.
  room = 1008;
  bench.forget_seen();
  for (const auto& [cntlid, controller] : bench.subsystem().controllers()) controller->end_association("the case ends it");
  const auto is_back = [&] {
    const auto connects = bench.fabrics_commands(kConnect);
    return std::any_of(connects.begin(), connects.end(), [](const SeenCommand* seen) { return seen->qid != 0; });
  };
  check.precondition(bench.run_until(is_back, 120_s), "the host comes back");
  bench.run_until([] { return false; }, 1_s);
  write_all();
}

CONFORMANCE_CASE(host_does_not_overfill_its_queue, "fabrics.host.flow-control.bound", roles::host,
                 furnished([](EmbeddedSetup& setup) { setup.subsystem.io_latency = 1_ms; })) {
  std::uint32_t answered = 0, most = 0, size = 0;
  std::size_t before = 0;  // commands to the queue of an association that is over
  bench.script.completion = [&](const CommandContext& command, MutableBytes) {
    if (command.qid == 1) {
      // A host may take another size than it was asked for.
      if (command.sqe[0] == nvme::kFabricsOpcode && command.sqe[4] == kConnect) {
        size = load_le<std::uint16_t>(&command.sqe[44]) + 1u;
        before = bench.commands(1).size() - 1;
        answered = 0;
      }
      most = std::max(most, static_cast<std::uint32_t>(bench.commands(1).size() - before) - answered);
      ++answered;
    }
    return Answer::send;
  };
  // The bench counts them; it does not end the association over the first.
  bench.script.departs = [](std::string_view point) { return point == "sub.sq.overfill"; };
  bench.connect_product({.queue_entries = 16});  // Linux takes no smaller queue
  std::vector<Op<nvme::Status>> writes;
  for (std::size_t i = 0; i < 40; ++i) writes.push_back(bench.product().write(bench.nsid(), i, bench.keep(pattern(512))));
  for (auto& write : writes) write.wait_for(30_s);
  check.precondition(most >= 2, "several commands at once");
  check.that(most < size, "at most size - 1 commands in the queue", std::to_string(most) + " of " + std::to_string(size));
}

CONFORMANCE_CASE(host_sends_keep_alive, "fabrics.host.keep-alive.sent", roles::host, lasts(60_s)) {
  bench.connect_product({.kato_ms = 5000});
  bench.forget_seen();
  Instant last = bench.world().now();
  Duration longest;
  const Instant end = last + 60_s;
  bench.run_until([] { return false; }, 60_s);
  for (const SeenCommand* seen : bench.commands_of(kKeepAlive)) {
    longest = std::max(longest, seen->at - last);
    last = seen->at;
  }
  longest = std::max(longest, end - last);
  check.that(longest < 5_s, "a Keep Alive in every 5 s", to_string(longest) + " without one");
}

CONFORMANCE_CASE(host_keeps_alive_beside_its_io, "fabrics.host.keep-alive.beside-io", roles::host, lasts(60_s),
                 furnished([](EmbeddedSetup& setup) { setup.subsystem.traffic_based_keep_alive = false; })) {
  bench.connect_product({.kato_ms = 5000});
  bench.forget_seen();
  Bytes& block = bench.keep(Bytes(4096));
  Instant last = bench.world().now();
  Duration longest;
  for (unsigned second = 0; second < 60; ++second) {
    bench.product().read(bench.nsid(), second * 8, block).wait_for(60_s);
    bench.run_until([] { return false; }, 1_s);
  }
  const Instant end = bench.world().now();
  for (const SeenCommand* seen : bench.commands_of(kKeepAlive)) {
    longest = std::max(longest, seen->at - last);
    last = seen->at;
  }
  longest = std::max(longest, end - last);
  check.that(longest < 5_s, "a Keep Alive in every 5 s, with I/O in every second", to_string(longest) + " without one");
}

CONFORMANCE_CASE(host_keeps_alive_where_traffic_counts, "fabrics.host.keep-alive.sent", roles::host, lasts(60_s),
                 furnished([](EmbeddedSetup& setup) { setup.subsystem.traffic_based_keep_alive = true; })) {
  bench.connect_product({.kato_ms = 5000});
  bench.forget_seen();
  Instant last = bench.world().now();
  Duration longest;
  const Instant end = last + 60_s;
  bench.run_until([] { return false; }, 60_s);
  for (const SeenCommand& seen : bench.commands()) {
    longest = std::max(longest, seen.at - last);
    last = seen.at;
  }
  longest = std::max(longest, end - last);
  check.that(longest < 5_s, "a command in every 5 s", to_string(longest) + " without one");
}

CONFORMANCE_CASE(host_survives_a_lost_io_queue, "fabrics.host.io-connection-lost", roles::host) {
  bench.connect_product({.queue_entries = 16});  // Linux takes no smaller queue
  bool dropped = false;
  bench.script.completion = [&](const CommandContext& command, MutableBytes) {
    if (dropped || command.qid == 0 || command.sqe[0] != kWrite) return Answer::send;
    dropped = true;
    return Answer::disconnect_instead;
  };
  // Several at once: those behind the first are lost before they were executed.
  std::vector<Bytes*> data;
  std::vector<Op<nvme::Status>> writes;
  // More of them than the queues of a host take at once.
  constexpr std::size_t kWrites = 80;
  for (std::size_t i = 0; i < kWrites; ++i) {
    data.push_back(&bench.keep(pattern(4096 * (i % 4 + 1))));
    data.back()->front() = static_cast<std::uint8_t>(i);
  }
  for (std::size_t i = 0; i < kWrites; ++i) writes.push_back(bench.product().write(bench.nsid(), i * 32, *data[i]));
  bool reported = false;
  for (std::size_t i = 0; i < kWrites; ++i) {
    const auto written = writes[i].wait_for(300_s);
    check.require(written.has_value(), "each write ends", "one never does");
    reported = reported || !written->ok();
    if (!written->ok()) continue;
    Bytes& back = bench.keep(Bytes(data[i]->size()));
    const auto read = bench.product().read(bench.nsid(), i * 32, back).wait_for(300_s);
    check.require(read.has_value() && read->ok(), "the data can be read after recovery");
    check.bytes("what was acknowledged", back, *data[i]);
  }
  check.require(dropped, "the bench drops the I/O connection");
  // A host may give the controller up, and says so to who waits.
  const bool again = bench.run_until([&] { return bench.connections() > 2; }, 60_s);
  check.that(again || reported, "the host connected again, or reports the loss",
             std::to_string(bench.connections()) + " connection requests in all");
}

CONFORMANCE_CASE(host_does_not_follow_referrals_in_a_circle, "fabrics.host.discovery.referral-loop", roles::host) {
  bench.target().discovery().add_referral(to_itself(bench));
  const auto outcome = bench.product().discover().wait_for(120_s);
  check.that(outcome.has_value(), "discovery ends", "it still goes on");
  check.that(bench.fabrics_commands(kConnect).size() <= 2, "each service is visited once",
             std::to_string(bench.fabrics_commands(kConnect).size()) + " Connects");
}

CONFORMANCE_CASE(host_does_not_use_an_entry_without_a_port, "fabrics.host.discovery.trsvcid", roles::host) {
  subsystem::Referral elsewhere = to_itself(bench);
  elsewhere.subnqn = "nqn.2026-11.org.example:elsewhere";
  elsewhere.trsvcid = kNoPort;
  bench.target().discovery().add_referral(elsewhere);
  expect_entry_unused(bench, check, elsewhere, kNoPort, "no Connect to the service of that entry");
}

CONFORMANCE_CASE(host_does_not_use_an_entry_of_another_transport, "fabrics.host.discovery.trtype", roles::host) {
  subsystem::Referral elsewhere = to_itself(bench);
  elsewhere.subnqn = "nqn.2026-11.org.example:elsewhere";
  elsewhere.trtype = bench.transport() == fabrics::kTcp ? 1 : 3;
  bench.target().discovery().add_referral(elsewhere);
  expect_entry_unused(bench, check, elsewhere, elsewhere.subnqn, "no Connect over this transport to the service of that entry");
}

CONFORMANCE_CASE(host_rereads_a_discovery_log_that_changed, "fabrics.host.discovery.genctr", roles::host) {
  // Each byte of the counter counts.
  for (const std::uint64_t step : {std::uint64_t{1}, std::uint64_t{1} << 8, std::uint64_t{1} << 32, std::uint64_t{1} << 56}) {
    std::uint64_t generation = 100;
    std::size_t headers = 0;
    bench.script.data_out = [&](const CommandContext& command, MutableBytes data) {
      if (command.sqe[0] != 0x02 || command.sqe[40] != 0x70 || data.size() < 16) return;
      if (load_le<std::uint64_t>(command.sqe.data() + 48) != 0) return;
      // The log changes once, after the first look at it.
      if (headers++ == 1) generation += step;
      store_le<std::uint64_t>(data.data(), generation);
    };
    const auto outcome = bench.product().discover().wait_for(60_s);
    check.precondition(outcome.has_value() && outcome->ok, "discovery ends well");
    check.that(headers >= 4, "the log is read again until it holds still, after GENCTR has grown by " + std::to_string(step),
               std::to_string(headers) + " reads of the header");
  }
}

}  // namespace fb::conformance
