// How a host ends associations, and what it does with two of them.
#include <map>

#include "conformance/runner/embedded_controller.h"
#include "conformance/runner/host_bench.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/property.h"

namespace fb::conformance {

namespace {

constexpr std::uint8_t kConnect = 0x01, kPropertySet = 0x00, kPropertyGet = 0x04, kDisconnect = 0x08;
constexpr std::uint8_t kRead = 0x02, kKeepAlive = 0x18;

bool shuts_down(const SeenCommand& seen) {
  return seen.fctype() == kPropertySet && seen.cdw(11) == fabrics::property::cc && (seen.cdw(12) >> 14 & 3) != 0;
}

/// What a shutdown takes, and what keeps the controller waiting for it.
bool belongs_to_shutdown(const SeenCommand& seen) {
  if (seen.fctype() == kPropertySet || seen.fctype() == kPropertyGet) return true;
  if (seen.qid == 0) return seen.opcode() == kKeepAlive;
  return seen.fctype() == kDisconnect;
}

void connect_twice(HostBench& bench, const HostUnderTest::Request& request = {}) {
  bench.connect_product(request);
  HostUnderTest::Request other = request;
  other.at = bench.open_port(2);
  const HostOutcome connected = bench.product().connect(other).wait();
  if (!connected.ok) throw CannotArrange{"the host does not connect a second time: " + connected.text};
}

std::vector<std::uint16_t> controllers_of(HostBench& bench) {
  std::vector<std::uint16_t> found;
  for (const auto& [cntlid, controller] : bench.subsystem().controllers()) {
    if (controller->in_association()) found.push_back(cntlid);
  }
  return found;
}

}  // namespace

CONFORMANCE_CASE(host_is_quiet_after_its_shutdown, "fabrics.host.shutdown.quiet", roles::host) {
  bench.connect_product();
  bench.forget_seen();
  bench.product().disconnect().wait_for(120_s);
  bool shut = false;
  for (const SeenCommand& seen : bench.commands()) {
    if (shut) {
      check.that(belongs_to_shutdown(seen), "no further command after CC.SHN",
                 "opcode " + words(seen.opcode()) + " on queue " + std::to_string(seen.qid));
    }
    shut = shut || shuts_down(seen);
  }
  check.precondition(shut, "CC.SHN is set");
  check.that(shut, "the shutdown comes last");
}

CONFORMANCE_CASE(host_shuts_each_controller_down, "fabrics.host.shutdown.each", roles::host) {
  connect_twice(bench);
  const std::vector<std::uint16_t> there = controllers_of(bench);
  check.precondition(there.size() == 2, "two associations");
  bench.forget_seen();
  bench.product().disconnect().wait_for(120_s);
  for (const std::uint16_t cntlid : there) {
    bool shut = false;
    for (const SeenCommand& seen : bench.commands()) shut = shut || (seen.cntlid == cntlid && shuts_down(seen));
    check.that(shut, "CC.SHN is set on each controller", "not on controller " + std::to_string(cntlid));
  }
}

CONFORMANCE_CASE(host_disconnects_io_queues_alone, "fabrics.host.disconnect.io-only", roles::host) {
  bench.connect_product();
  bench.product().disconnect().wait_for(120_s);
  check.precondition(!bench.commands(0).empty(), "commands arrive");
  for (const SeenCommand* seen : bench.commands(0)) {
    check.that(seen->fctype() != kDisconnect, "no Disconnect on an admin queue", "one arrives");
  }
}

CONFORMANCE_CASE(host_sends_disconnect_where_it_is_supported, "fabrics.host.disconnect.supported", roles::host,
                 furnished([](EmbeddedSetup& setup) { setup.subsystem.individual_queue_deletion = false; })) {
  bench.connect_product({.io_queues = 2});
  bench.product().disconnect().wait_for(120_s);
  check.precondition(!bench.commands().empty(), "commands arrive");
  check.equal("Disconnect commands to a controller whose OFCS does not have them", bench.fabrics_commands(kDisconnect).size(), 0u);
}

CONFORMANCE_CASE(host_changes_only_shn_at_a_shutdown, "fabrics.host.cc.kept", roles::host) {
  constexpr std::uint32_t kKept = 0x7Fu << 7 | 7u << 4;  // AMS, MPS and CSS
  bench.connect_product();
  bench.product().disconnect().wait_for(120_s);
  std::map<std::uint16_t, std::uint32_t> enabled;  // by controller
  std::size_t looked = 0;
  for (const SeenCommand* seen : bench.fabrics_commands(kPropertySet)) {
    const std::uint32_t cc = seen->cdw(12);
    if (seen->cdw(11) != fabrics::property::cc || (cc & 1) == 0) continue;
    const auto [known, fresh] = enabled.try_emplace(seen->cntlid, cc);
    if (fresh || !shuts_down(*seen)) {
      known->second = cc;
      continue;
    }
    ++looked;
    check.equal("AMS, MPS and CSS of the CC that sets SHN", cc & kKept, known->second & kKept);
  }
  check.precondition(looked > 0, "CC.SHN is set");
}

CONFORMANCE_CASE(host_finishes_its_io_before_it_shuts_down, "fabrics.host.shutdown.drained", roles::host,
                 furnished([](EmbeddedSetup& setup) { setup.subsystem.io_latency = 200_ms; })) {
  constexpr std::uint8_t kWrite = 0x01;
  bench.connect_product({.io_queues = 2});
  std::size_t outstanding = 0, most = 0, left = 0;
  bench.script.admission = [&](const CommandContext& command) -> std::optional<nvme::Status> {
    if (command.qid != 0 && command.sqe[0] == kWrite) most = std::max(most, ++outstanding);
    return std::nullopt;
  };
  bench.script.completion = [&](const CommandContext& command, MutableBytes) {
    if (command.qid != 0 && command.sqe[0] == kWrite && outstanding > 0) --outstanding;
    return Answer::send;
  };
  bool shut = false;
  bench.script.property_write = [&](std::uint32_t offset, std::uint64_t& value) {
    if (offset != fabrics::property::cc || (value >> 14 & 3) == 0) return true;
    shut = true;
    left = std::max(left, outstanding);
    return true;
  };
  std::vector<Op<nvme::Status>> writes;
  for (std::uint64_t i = 0; i < 6; ++i) writes.push_back(bench.product().write(bench.nsid(), i * 8, bench.keep(Bytes(4096))));
  bench.run_until([&] { return outstanding >= 6; }, 100_ms);
  bench.product().disconnect().wait_for(120_s);
  for (auto& write : writes) write.wait_for(60_s);
  check.precondition(shut && most > 0, "the host writes, and sets CC.SHN");
  check.equal("I/O commands outstanding when CC.SHN is set", left, std::size_t{0});
}

CONFORMANCE_CASE(host_notices_that_an_io_queue_is_lost, "fabrics.host.io-queue.lost", roles::host, reaches{"bench.dropped"}) {
  bench.connect_product();
  // The bench's controller makes nothing of it: only the host can notice.
  bench.script.departs = [](std::string_view point) { return point == "sub.association.io_loss"; };
  bool dropped = false;
  bench.script.completion = [&](const CommandContext& command, MutableBytes) {
    if (dropped || command.qid == 0 || command.sqe[0] != kRead) return Answer::send;
    dropped = true;
    bench.mark("bench.dropped");
    return Answer::disconnect_instead;
  };
  Bytes& one = bench.keep(Bytes(4096));
  Bytes& two = bench.keep(Bytes(4096));
  Op<nvme::Status> first = bench.product().read(bench.nsid(), 0, one);
  check.that(bench.run_until([&] { return first.settled(); }, 300_s), "the read that was under way ends", "it does not");
  check.precondition(dropped, "the read arrives");
  Op<nvme::Status> second = bench.product().read(bench.nsid(), 64, two);
  check.that(bench.run_until([&] { return second.settled(); }, 300_s), "a later read ends", "it does not");
  bench.script = {};
}

CONFORMANCE_CASE(host_keeps_each_controller_alive, "fabrics.host.keep-alive.each", roles::host, lasts(60_s)) {
  connect_twice(bench, {.kato_ms = 5000});
  const std::vector<std::uint16_t> there = controllers_of(bench);
  check.precondition(there.size() == 2, "two associations");
  const bool any_traffic = bench.subsystem().options().traffic_based_keep_alive;
  bench.forget_seen();
  const Instant start = bench.world().now();
  bench.run_until([] { return false; }, 60_s);
  for (const std::uint16_t cntlid : there) {
    Instant last = start;
    Duration longest;
    for (const SeenCommand& seen : bench.commands()) {
      const bool counts = any_traffic || (seen.qid == 0 && seen.opcode() == kKeepAlive);
      if (seen.cntlid != cntlid || !counts) continue;
      longest = std::max(longest, seen.at - last);
      last = seen.at;
    }
    longest = std::max(longest, start + 60_s - last);
    check.that(longest < 5_s, "a Keep Alive to each controller in every 5 s",
               to_string(longest) + " without one to controller " + std::to_string(cntlid));
  }
}

CONFORMANCE_CASE(host_is_the_same_on_each_path, "fabrics.host.paths.identity", roles::host) {
  connect_twice(bench);
  const auto connects = bench.fabrics_commands(kConnect);
  check.precondition(connects.size() >= 2, "Connects arrive");
  for (const SeenCommand* one : connects) {
    check.precondition(one->data.size() == fabrics::ConnectData::size, "the data of each Connect");
  }
  const View<fabrics::ConnectData> first{connects.front()->data};
  for (const SeenCommand* one : connects) {
    const View<fabrics::ConnectData> data{one->data};
    check.bytes("HOSTNQN", data.get(fabrics::connect_data::hostnqn), first.get(fabrics::connect_data::hostnqn));
    check.bytes("HOSTID", data.get(fabrics::connect_data::hostid), first.get(fabrics::connect_data::hostid));
  }
}

}  // namespace fb::conformance
