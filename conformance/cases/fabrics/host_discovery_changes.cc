// What a host does with a discovery service: when the log changes under its hands, and when it is done.
#include <algorithm>

#include "conformance/runner/embedded_controller.h"
#include "conformance/runner/host_bench.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/discovery_log.h"
#include "wire/fabrics/property.h"

namespace fb::conformance {

namespace {

constexpr std::uint8_t kConnect = 0x01, kGetLog = 0x02, kEventRequest = 0x0C, kKeepAlive = 0x18;
constexpr std::uint8_t kDiscoveryLog = 0x70;

bool reads_log(const CommandContext& command) { return command.qid == 0 && command.sqe[0] == kGetLog && command.sqe[40] == kDiscoveryLog; }
std::uint64_t offset_of(ByteView sqe) { return load_le<std::uint64_t>(sqe.data() + 48); }
std::uint64_t bytes_of(const SeenCommand& seen) { return ((std::uint64_t{seen.cdw(11) & 0xFFFF} << 16 | seen.cdw(10) >> 16) + 1) * 4; }

std::vector<const SeenCommand*> log_reads(const HostBench& bench) {
  std::vector<const SeenCommand*> found;
  for (const SeenCommand* seen : bench.commands_of(kGetLog)) {
    if (seen->qid == 0 && (seen->cdw(10) & 0xFF) == kDiscoveryLog) found.push_back(seen);
  }
  return found;
}

bool still_there(HostBench& bench) {
  const auto& controllers = bench.target().discovery().subsystem().controllers();
  return std::any_of(controllers.begin(), controllers.end(), [](const auto& entry) { return entry.second->in_association(); });
}

/// Whether a part of the log behind its header is read.
bool reads_entries(const HostBench& bench) {
  const auto reads = log_reads(bench);
  return std::any_of(reads.begin(), reads.end(), [](const SeenCommand* seen) {
    return offset_of(seen->sqe.bytes()) + bytes_of(*seen) > fabrics::DiscoveryHeader::size;
  });
}

/// A host that stays connected; counts the events that it is sent.
void watch_the_service(HostBench& bench, Check& check, unsigned& events) {
  bench.script.completion = [&](const CommandContext& command, MutableBytes) {
    if (command.qid == 0 && command.sqe[0] == kEventRequest) ++events;
    return Answer::send;
  };
  const auto watching = bench.product().watch().wait_for(60_s);
  check.precondition(watching.has_value() && watching->ok, "the host stays connected to the discovery service");
  bench.run_until([] { return false; }, 2_s);
  check.precondition(reads_entries(bench), "the log has entries for this host");
}

void change_the_log(HostBench& bench, Check& check, const unsigned& events) {
  bench.forget_seen();
  bench.target().discovery().changed();
  check.precondition(bench.run_until([&] { return events > 0; }, 10_s), "the host wants to hear of changes");
}

}  // namespace

CONFORMANCE_CASE(host_starts_a_discovery_log_again_when_told, "fabrics.host.discovery.restart", roles::host, reaches{"bench.restart"}) {
  std::size_t reads = 0;
  std::size_t from_start = 0;
  bench.script.admission = [&](const CommandContext& command) -> std::optional<nvme::Status> {
    if (!reads_log(command)) return std::nullopt;
    if (++reads == 2) {
      bench.mark("bench.restart");
      return sc::discover_restart;
    }
    if (reads > 2 && offset_of(command.sqe) == 0) ++from_start;
    return std::nullopt;
  };
  const auto outcome = bench.product().discover().wait_for(120_s);
  check.precondition(reads >= 2, "the host reads the log in more than one piece");
  check.require(outcome.has_value(), "discovery ends", "it still goes on");
  check.that(!outcome->ok || from_start > 0, "the log is read from its beginning, or an error is reported", "the host took what it had");
}

CONFORMANCE_CASE(host_reads_the_discovery_log_after_a_notice, "fabrics.host.discovery.notice", roles::host) {
  unsigned events = 0;
  watch_the_service(bench, check, events);
  change_the_log(bench, check, events);
  check.that(bench.run_until([&] { return reads_entries(bench); }, 60_s), "the entries of the log are read after the notice",
             log_reads(bench).empty() ? "nothing is read" : "its header alone");
}

CONFORMANCE_CASE(host_hears_of_every_change_of_a_discovery_log, "fabrics.host.discovery.notice-again", roles::host, lasts(52_s)) {
  constexpr int kChanges = 6;  // more than the requests that the host may have sent in advance
  unsigned events = 0;
  watch_the_service(bench, check, events);
  change_the_log(bench, check, events);
  for (int i = 2; i <= kChanges; ++i) {
    bench.run_until([] { return false; }, 10_s);
    bench.step("change " + std::to_string(i));
    bench.forget_seen();
    bench.target().discovery().changed();
    check.that(bench.run_until([&] { return reads_entries(bench); }, 60_s),
               "the entries of the log are read after change " + std::to_string(i),
               log_reads(bench).empty() ? "nothing is read" : "its header alone");
  }
}

CONFORMANCE_CASE(host_keeps_a_discovery_service_alive, "fabrics.host.discovery.keep-alive", roles::host, lasts(600_s)) {
  // The controller is ready at once: nothing but Connect has a time limit of the host's.
  bool enabled = false;
  bench.script.property_write = [&](std::uint32_t offset, std::uint64_t& value) {
    if (offset == fabrics::property::cc) enabled = (value & 1) != 0;
    return true;
  };
  bench.script.property_read = [&](std::uint32_t offset, std::uint64_t& value) {
    if (offset == fabrics::property::csts && enabled) value |= 1;
  };
  bench.script.refuses = [](const CommandContext&, subsystem::Refusal&) { return false; };
  unsigned events = 0;
  watch_the_service(bench, check, events);
  const auto connects = bench.fabrics_commands(kConnect);
  check.precondition(connects.size() == 1, "one association with the discovery service");
  const auto kato = connects.front()->as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::kato);
  check.precondition(kato != 0 && kato <= 150'000, "a keep alive timeout of at most 150 s");
  const std::uint16_t cntlid = connects.front()->cntlid;
  bench.forget_seen();
  const Instant start = bench.world().now();
  Instant last = start;
  Duration longest;
  bench.run_until([] { return false; }, 600_s);
  for (const SeenCommand* seen : bench.commands_of(kKeepAlive)) {
    if (seen->cntlid != cntlid) continue;
    longest = std::max(longest, seen->at - last);
    last = seen->at;
  }
  longest = std::max(longest, start + 600_s - last);
  check.that(longest < Duration::ms(kato), "a Keep Alive in every " + to_string(Duration::ms(kato)), to_string(longest) + " without one");
}

CONFORMANCE_CASE(host_comes_back_to_a_discovery_service, "fabrics.host.discovery.reconnect", roles::host) {
  unsigned events = 0;
  watch_the_service(bench, check, events);
  bench.forget_seen();
  bench.target().discovery().subsystem().end_associations("the bench ends the association");
  // Ten minutes are what hosts allow themselves before they give a controller up.
  check.that(bench.run_until([&] { return !bench.fabrics_commands(kConnect).empty(); }, 600_s), "a new Connect", "none");
  check.that(bench.run_until([&] { return reads_entries(bench); }, 60_s), "the log is read again", "it is not");
}

CONFORMANCE_CASE(host_leaves_a_discovery_service_when_done, "fabrics.host.discovery.leaves", roles::host, lasts(60_s)) {
  const auto outcome = bench.product().discover().wait_for(60_s);
  check.precondition(outcome.has_value() && outcome->ok, "discovery ends well");
  for (const SeenCommand* seen : bench.fabrics_commands(kConnect)) {
    const auto kato = seen->as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::kato);
    check.precondition(kato == 0, "the host asks for no keep alive timeout");
  }
  check.that(bench.run_until([&] { return !still_there(bench); }, 60_s), "the association has ended a minute after the log was read",
             "it is still there");
}

}  // namespace fb::conformance
