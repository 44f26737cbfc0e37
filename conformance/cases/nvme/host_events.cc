// What a host does when a controller has something to say.
#include "conformance/cases/nvme/host_scene.h"
#include "conformance/runner/embedded_controller.h"

namespace fb::conformance {

namespace {

constexpr std::uint8_t kChangedNamespaces = 0x04, kAnaLog = 0x0C;

/// Connects a host that wants to hear of events, and counts those it is sent.
void connect_listening(HostBench& bench, Check& check, unsigned& events) {
  bench.script.completion = [&](const CommandContext& command, MutableBytes) {
    if (command.qid == 0 && command.sqe[0] == opcode::kEventRequest) ++events;
    return Answer::send;
  };
  bench.connect_product();
  check.precondition(!admin_commands(bench, opcode::kEventRequest).empty(), "the host sends Asynchronous Event Requests");
}

/// Reads of a log page; those with RAE = 0 alone where `clearing`.
std::size_t reads_of(const HostBench& bench, std::uint8_t lid, bool clearing = false) {
  std::size_t count = 0;
  for (const SeenCommand* seen : admin_commands(bench, opcode::kGetLog)) {
    const bool retains = (seen->cdw(10) >> 15 & 1) != 0;
    if ((seen->cdw(10) & 0xFF) == lid && !(clearing && retains)) ++count;
  }
  return count;
}

void change_namespaces(HostBench& bench, Check& check, const unsigned& events) {
  const unsigned before = events;
  bench.forget_seen();
  const auto added = bench.subsystem().add_namespace({});
  check.precondition(added.ok(), "one more namespace");
  check.precondition(bench.run_until([&] { return events > before; }, 10_s), "the host wants to hear of namespaces");
}

}  // namespace

CONFORMANCE_CASE(host_asks_for_the_next_event, "nvme.host.aer.rearm", roles::host) {
  unsigned events = 0;
  connect_listening(bench, check, events);
  change_namespaces(bench, check, events);
  const bool again = bench.run_until([&] { return !admin_commands(bench, opcode::kEventRequest).empty(); }, 30_s);
  check.that(again, "a new Asynchronous Event Request", "none");
}

CONFORMANCE_CASE(host_reads_the_changed_namespaces, "nvme.host.aer.read-log", roles::host) {
  unsigned events = 0;
  connect_listening(bench, check, events);
  change_namespaces(bench, check, events);
  const bool cleared = bench.run_until([&] { return reads_of(bench, kChangedNamespaces, true) > 0; }, 30_s);
  check.that(cleared, "the list of changed namespaces is read with RAE 0",
             reads_of(bench, kChangedNamespaces) > 0 ? "with RAE 1 only" : "it is not read");
}

CONFORMANCE_CASE(host_reads_the_ana_log_after_a_change, "nvme.host.aer.ana", roles::host) {
  unsigned events = 0;
  connect_listening(bench, check, events);
  bench.forget_seen();
  bench.subsystem().set_ana_state(1, nvme::AnaState::non_optimized);
  check.precondition(bench.run_until([&] { return events > 0; }, 10_s), "the host wants to hear of ANA changes");
  check.that(bench.run_until([&] { return reads_of(bench, kAnaLog) > 0; }, 30_s), "the ANA log is read", "it is not");
}

CONFORMANCE_CASE(host_sends_no_flood_of_event_requests, "nvme.host.aer.failed", roles::host) {
  constexpr std::size_t kMost = 20;
  std::size_t requests = 0;
  bench.script.admission = [&](const CommandContext& command) -> std::optional<nvme::Status> {
    if (command.qid != 0 || command.sqe[0] != opcode::kEventRequest || requests > 10 * kMost) return std::nullopt;
    ++requests;
    return sc::internal_error.with_dnr();
  };
  bench.product().connect({}).wait_for(30_s);
  bench.run_until([&] { return requests > kMost; }, 5_s);
  check.precondition(requests > 0, "the host sends Asynchronous Event Requests");
  check.that(requests <= kMost, "few Asynchronous Event Requests, if each fails", std::to_string(requests));
}

}  // namespace fb::conformance
