// What a host does when another one holds a reservation.
#include "conformance/cases/nvme/host_scene.h"
#include "conformance/runner/embedded_controller.h"
#include "wire/nvme/events.h"
#include "wire/nvme/logs.h"

namespace fb::conformance {

CONFORMANCE_CASE(host_gives_a_reservation_conflict_up, "nvme.host.reservation-conflict", roles::host, reaches{"bench.refused"}) {
  constexpr std::uint64_t kLba = 1000;
  constexpr unsigned kMost = 20;  // as with other errors
  bench.connect_product();
  unsigned attempts = 0;
  bench.script.admission = [&](const CommandContext& command) -> std::optional<nvme::Status> {
    if (!is_io(command, opcode::kRead) || lba_of(command.sqe) != kLba) return std::nullopt;
    bench.mark("bench.refused");
    ++attempts;
    return sc::reservation_conflict;
  };
  Bytes& block = bench.keep(Bytes(512));
  Op<nvme::Status> read = bench.product().read(bench.nsid(), kLba, block);
  bench.run_until([&] { return read.settled() || attempts > kMost; }, 600_s);
  check.between("attempts", attempts, 1u, kMost);
  check.require(read.settled(), "the read ends", "it does not");
  check.refused(read.value(), "what the host reports");
  bench.script = {};
}

CONFORMANCE_CASE(host_listens_after_a_reservation_notice, "nvme.host.aer.reservation", roles::host) {
  unsigned events = 0;
  bench.script.completion = [&](const CommandContext& command, MutableBytes) {
    if (command.qid == 0 && command.sqe[0] == opcode::kEventRequest) ++events;
    return Answer::send;
  };
  bench.connect_product();
  check.precondition(!admin_commands(bench, opcode::kEventRequest).empty(), "the host sends Asynchronous Event Requests");
  bench.forget_seen();
  for (const auto& [cntlid, controller] : bench.subsystem().controllers()) {
    controller->on_reservation_notice(1, nvme::ReservationNotice::reservation_released);
  }
  check.precondition(bench.run_until([&] { return events > 0; }, 10_s), "the event is sent");
  check.that(bench.run_until([&] { return !admin_commands(bench, opcode::kEventRequest).empty(); }, 30_s),
             "a new Asynchronous Event Request", "none");
}

}  // namespace fb::conformance
