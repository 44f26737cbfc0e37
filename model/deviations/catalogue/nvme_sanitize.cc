// Sanitize operations.
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/fault_points.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/opcodes.h"
#include "wire/nvme/sqe.h"

namespace fb::deviations {

namespace {

using nvme::AdminOpcode;
namespace departure = subsystem::departure;

bool is(const CommandContext& command, AdminOpcode opcode) { return is_admin(command, static_cast<std::uint8_t>(opcode)); }
unsigned action_of(const CommandContext& command) { return cdw10_of(command) & 7; }

/// SANICAP is 0, or that of others.
void unclaimed(const CommandContext& command, MutableBytes data) {
  if (!is(command, AdminOpcode::identify) || (cdw10_of(command) & 0xFF) != 1 || data.size() < 4096) return;
  store_le(data.data() + nvme::id_ctrl::sanicap.offset, std::uint32_t{0});
}
void another_kind_at_each_controller(const CommandContext& command, MutableBytes data) {
  if (!is(command, AdminOpcode::identify) || (cdw10_of(command) & 0xFF) != 1 || data.size() < 4096) return;
  const auto cntlid = load_le<std::uint16_t>(data.data() + nvme::id_ctrl::cntlid.offset);
  store_le(data.data() + nvme::id_ctrl::sanicap.offset, std::uint32_t{1} << cntlid % 3);
}
template <nvme::SanitizeAction Action>
std::optional<nvme::Status> lost(const CommandContext& command) {
  if (!is(command, AdminOpcode::sanitize) || action_of(command) != static_cast<unsigned>(Action)) return {};
  return nvme::sc::success;
}
std::optional<nvme::Status> no_exit(const CommandContext& command) {
  if (!is(command, AdminOpcode::sanitize) || action_of(command) != 1) return {};
  return nvme::sc::sanitize_failed;
}
/// What a host cannot do without is refused too.
class RefusesKeepAlive final : public subsystem::SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (is(command, AdminOpcode::sanitize)) running_ = true;
    if (running_ && is(command, AdminOpcode::keep_alive)) return nvme::sc::sanitize_in_progress;
    return {};
  }

 private:
  bool running_ = false;
};
/// Other controllers than the one that was told are not bound.
class BindsOne final : public subsystem::SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (is(command, AdminOpcode::sanitize) && by_ == nullptr) by_ = command.controller;
    return {};
  }
  bool refuses(const CommandContext& command, Refusal& refusal) override {
    return !refusal.check.starts_with("sanitize.admin") || command.controller == by_;
  }

 private:
  const subsystem::Controller* by_ = nullptr;
};
/// Every operation but the first is said to be begun, and is not.
class SecondSanitizeLost final : public subsystem::SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (!is(command, AdminOpcode::sanitize) || action_of(command) == 1) return {};
    return begun_++ == 0 ? std::nullopt : std::optional{nvme::sc::success};
  }

 private:
  unsigned begun_ = 0;
};
void states_3_as_1(const CommandContext& command, MutableBytes data) {
  if (is(command, AdminOpcode::get_log_page) && (cdw10_of(command) & 0xFF) == 0x81 && (data[2] & 7) == 3) data[2] ^= 2;
}
void states_4_as_1(const CommandContext& command, MutableBytes data) {
  if (is(command, AdminOpcode::get_log_page) && (cdw10_of(command) & 0xFF) == 0x81 && (data[2] & 7) == 4) data[2] ^= 5;
}
void estimates_nothing(const CommandContext& command, MutableBytes data) {
  if (!is(command, AdminOpcode::get_log_page) || (cdw10_of(command) & 0xFF) != 0x81 || data.size() < 32) return;
  for (std::size_t at = 8; at < 32; at += 4) store_le(data.data() + at, std::uint32_t{0});
}

}  // namespace

DEVIATION(sanitize_without_kinds, "nvme.sanitize.claim", Product::controller, "has the Sanitize command and claims no operation",
          hooks<AlteringDataOut, &unclaimed>());
DEVIATION(sanitize_kinds_by_controller, "nvme.sanitize.claim.same", Product::controller, "claims other operations at each controller",
          hooks<AlteringDataOut, &another_kind_at_each_controller>());
DEVIATION(sanitize_progress_of_nothing, "nvme.sanitize.log.idle", Product::controller, "tells a progress while no operation runs",
          Departs{departure::sanitize_progress_end});
DEVIATION(sanitize_takes_any_action, "nvme.sanitize.action.reserved", Product::controller, "takes reserved actions",
          Tolerate{"sanitize.action"});
DEVIATION(sanitize_takes_what_it_does_not_have, "nvme.sanitize.action.unsupported", Product::controller,
          "takes actions that it does not claim", Tolerate{"sanitize.action"});
DEVIATION(block_erase_does_nothing, "nvme.sanitize.block-erase", Product::controller, "says success to a block erase and does nothing",
          hooks<Answering, &lost<nvme::SanitizeAction::block_erase>>());
DEVIATION(block_erase_leaves_a_block, "nvme.sanitize.block-erase", Product::controller, "leaves the first block of each namespace",
          Departs{departure::sanitize_unprotects});
DEVIATION(crypto_erase_leaves_the_data, "nvme.sanitize.crypto-erase", Product::controller, "leaves the data",
          Departs{departure::sanitize_keeps_data});
DEVIATION(overwrite_does_nothing, "nvme.sanitize.overwrite", Product::controller, "says success to an overwrite and does nothing",
          hooks<Answering, &lost<nvme::SanitizeAction::overwrite>>());
DEVIATION(sanitize_leaves_detached_namespaces, "nvme.sanitize.all-namespaces", Product::controller,
          "leaves namespaces that are not attached", Departs{departure::sanitize_spares});
DEVIATION(sanitize_log_of_nothing, "nvme.sanitize.log.running", Product::controller, "does not say that an operation runs",
          Departs{departure::sanitize_idle});
DEVIATION(sanitize_progress_stays, "nvme.sanitize.log.progress", Product::controller, "tells no progress",
          Departs{departure::sanitize_progress_stays});
DEVIATION(sanitize_log_without_result, "nvme.sanitize.log.completed", Product::controller, "does not say that an operation succeeded",
          Departs{departure::sanitize_status_stays});
DEVIATION(sanitize_log_without_command, "nvme.sanitize.log.command", Product::controller, "does not hold the command in its log",
          Departs{departure::sanitize_scdw10});
DEVIATION(sanitize_log_without_passes, "nvme.sanitize.log.passes", Product::controller, "counts no passes",
          Departs{departure::sanitize_passes});
DEVIATION(sanitize_erased_for_ever, "nvme.sanitize.log.erased", Product::controller, "says Global Data Erased after a write",
          Departs{departure::sanitize_erased});
DEVIATION(sanitize_is_silent, "nvme.sanitize.event", Product::controller, "does not announce the end", Departs{departure::sanitize_silent});
DEVIATION(sanitize_is_told_to_all, "nvme.sanitize.event.one", Product::controller, "announces the end to every host",
          Departs{departure::sanitize_tells_all});
DEVIATION(sanitize_lets_io_through, "nvme.sanitize.running.io", Product::controller, "executes I/O while an operation runs",
          Tolerate{"sanitize.io"});
DEVIATION(sanitize_any_number_of_times, "nvme.sanitize.running.again", Product::controller, "takes a second operation while one runs",
          Tolerate{"sanitize.in_progress"});
DEVIATION(sanitize_lets_commands_through, "nvme.sanitize.running.admin", Product::controller,
          "executes any Admin command while an operation runs", Tolerate{"sanitize.admin"});
DEVIATION(sanitize_lets_firmware_through, "nvme.sanitize.running.firmware", Product::controller,
          "activates firmware while an operation runs", Tolerate{"sanitize.admin"});
DEVIATION(sanitize_refuses_keep_alive, "nvme.sanitize.running.allowed", Product::controller, "refuses Keep Alive while an operation runs",
          hooks<RefusesKeepAlive>());
DEVIATION(sanitize_tells_blocks, "nvme.sanitize.running.error-log", Product::controller,
          "tells blocks in its error log while an operation runs", Departs{departure::sanitize_error_lba});
DEVIATION(sanitize_binds_one_controller, "nvme.sanitize.running.other-controller", Product::controller,
          "executes any Admin command at other controllers", hooks<BindsOne>());
DEVIATION(sanitize_ends_with_a_reset, "nvme.sanitize.controller-reset", Product::controller, "gives an operation up at a controller reset",
          Departs{departure::sanitize_reset});
DEVIATION(sanitize_ends_with_the_power, "nvme.sanitize.power-loss", Product::controller, "gives an operation up when the power is lost",
          Departs{departure::sanitize_power});
DEVIATION(sanitize_failure_untold, "nvme.sanitize.failed.state", Product::controller, "calls a failure a success",
          hooks<AlteringDataOut, &states_3_as_1>());
DEVIATION(sanitize_failure_lets_io_through, "nvme.sanitize.failed.refused", Product::controller, "executes I/O after a failure",
          Tolerate{"sanitize.failed.io"});
DEVIATION(sanitize_failure_lets_commands_through, "nvme.sanitize.failed.refused", Product::controller,
          "executes any Admin command after a failure", Tolerate{"sanitize.failed.admin"});
DEVIATION(sanitize_failure_without_exit, "nvme.sanitize.failed.exit", Product::controller, "refuses to leave an unrestricted failure",
          hooks<Answering, &no_exit>());
DEVIATION(sanitize_failure_with_exit, "nvme.sanitize.failed.restricted", Product::controller, "lets restricted failures be left",
          Tolerate{"sanitize.restricted"});
DEVIATION(sanitize_failure_for_ever, "nvme.sanitize.failed.again", Product::controller,
          "says success to another operation after a failure and does nothing", hooks<SecondSanitizeLost>());
DEVIATION(sanitize_refused_is_logged, "nvme.sanitize.refused.nothing", Product::controller, "logs the command that it refused",
          Departs{departure::sanitize_refused_logged});
DEVIATION(sanitize_of_what_is_protected, "nvme.sanitize.write-protected", Product::controller,
          "sanitizes namespaces that are write protected", Tolerate{"sanitize.write_protected"});
DEVIATION(sanitize_with_firmware_pending, "nvme.sanitize.firmware-pending", Product::controller,
          "sanitizes while firmware waits for a reset", Tolerate{"sanitize.firmware_pending"});
DEVIATION(sanitize_takes_what_is_inhibited, "nvme.sanitize.no-deallocate", Product::controller, "takes NDAS and deallocates all the same",
          Tolerate{"sanitize.no_deallocate"});
DEVIATION(sanitize_without_warning, "nvme.sanitize.no-deallocate.warning", Product::controller, "does not say that it deallocated",
          hooks<AlteringDataOut, &states_4_as_1>());
DEVIATION(sanitize_estimates_nothing, "nvme.sanitize.estimates", Product::controller, "estimates no time at all",
          hooks<AlteringDataOut, &estimates_nothing>());

DEVIATION(verification_without_claim, "nvme.sanitize.verification.claim", Product::controller, "takes EMVS without claiming it",
          Tolerate{"sanitize.verification"});
DEVIATION(verification_after_anything, "nvme.sanitize.verification.combination", Product::controller,
          "lets media be verified that were overwritten", Tolerate{"sanitize.verification.combination"});
DEVIATION(verification_never, "nvme.sanitize.verification.phase", Product::controller, "lets no media be verified",
          Departs{departure::sanitize_unverified});
DEVIATION(verification_phase_untold, "nvme.sanitize.verification.phase", Product::controller, "does not say where its operation is",
          Departs{departure::sanitize_phase_untold});
DEVIATION(verification_called_an_end, "nvme.sanitize.verification.event", Product::controller,
          "announces an end where media are to be verified", Departs{departure::sanitize_verification_untold});
DEVIATION(verification_without_reads, "nvme.sanitize.verification.read", Product::controller,
          "refuses to read media that are to be verified", Departs{departure::sanitize_verification_closed});
DEVIATION(verification_reads_plainly, "nvme.sanitize.verification.read", Product::controller,
          "reads media that are to be verified as any others", Departs{departure::sanitize_verification_plain});
DEVIATION(verification_reads_what_was, "nvme.sanitize.verification.read", Product::controller,
          "leaves the data on media that are to be verified", Departs{departure::sanitize_keeps_data});
DEVIATION(verification_with_checks, "nvme.sanitize.verification.checks", Product::controller,
          "checks tags on media that are to be verified", Tolerate{"sanitize.verification.checks"});
DEVIATION(verification_with_writes, "nvme.sanitize.verification.write", Product::controller, "writes to media that are to be verified",
          Tolerate{"sanitize.io"});
DEVIATION(verification_and_more, "nvme.sanitize.verification.again", Product::controller, "says that an operation runs",
          Tolerate{"sanitize.verification.again"});
DEVIATION(verification_for_ever, "nvme.sanitize.verification.exit", Product::controller, "cannot leave the verification of media",
          Departs{departure::sanitize_verification_endless});
DEVIATION(verification_left_unentered, "nvme.sanitize.verification.exit-nothing", Product::controller,
          "leaves a verification of media that there is not", Tolerate{"sanitize.verification.exit"});
DEVIATION(verification_outlives_reset, "nvme.sanitize.verification.reset", Product::controller,
          "goes on with the verification of media after a reset", Departs{departure::sanitize_verification_kept});

}  // namespace fb::deviations
