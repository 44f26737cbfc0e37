// Sanitize, and what is refused while an operation runs or after it failed.
#include <algorithm>

#include "model/subsystem/admin_table.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace sz = nvme::sanitize_sqe;
using nvme::AdminOpcode;
using nvme::LogPage;
using nvme::SanitizeAction;

namespace {

bool is_offered(const SanitizeOptions& options, SanitizeAction action) {
  switch (action) {
    case SanitizeAction::exit_failure_mode:
      return true;
    case SanitizeAction::block_erase:
      return options.block_erase;
    case SanitizeAction::overwrite:
      return options.overwrite;
    case SanitizeAction::crypto_erase:
      return options.crypto_erase;
    default:
      return false;
  }
}

/// Log pages that tell nothing of user data.
bool is_harmless(LogPage page) {
  switch (page) {
    case LogPage::supported_pages:
    case LogPage::error_information:
    case LogPage::smart:
    case LogPage::changed_namespaces:
    case LogPage::commands_effects:
    case LogPage::ana:
    case LogPage::persistent_event:
    case LogPage::feature_effects:
    case LogPage::reservation_notification:
    case LogPage::sanitize_status:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool SanitizeCommands::sanitize_allowed(const Command& command) {
  Queue& queue = *command.queue;
  const Sanitizer& sanitizer = subsystem_.sanitizer();
  const auto sqe = command.as<nvme::SanitizeSqe>();
  const SanitizeAction action = sqe.get(sz::sanact);
  const bool verifies = verifies_sanitized_media();
  const bool exits = action == SanitizeAction::exit_media_verification && verifies;
  if (exits) return sanitizer.verifying() || !queue.refuse(command, check::sanitize_exit);
  if (!is_offered(subsystem_.options().sanitize, action) && queue.refuse(command, check::sanitize_action)) return false;
  if (sanitizer.verifying() && queue.refuse(command, check::sanitize_verifying)) return false;
  if (sqe.get(sz::emvs) && !verifies && queue.refuse(command, check::sanitize_verification)) return false;
  const bool combines = action == SanitizeAction::overwrite || sqe.get(sz::ndas);
  if (sqe.get(sz::emvs) && verifies && combines && queue.refuse(command, check::sanitize_combination)) return false;
  if (sanitizer.running() && queue.refuse(command, check::sanitize_again)) return false;
  const bool lenient = action == SanitizeAction::exit_failure_mode || sqe.get(sz::ause);
  if (sanitizer.restricted() && lenient && queue.refuse(command, check::sanitize_restricted)) return false;
  if (action == SanitizeAction::exit_failure_mode) return true;
  for (const auto& [nsid, ns] : subsystem_.namespaces()) {
    if (!controller_.reservations_.reservation_allows(command, *ns, Access::write)) return false;
  }
  const bool write_protected = std::any_of(subsystem_.namespaces().begin(), subsystem_.namespaces().end(),
                                           [](const auto& entry) { return entry.second->write_protection() != 0; });
  if (write_protected && queue.refuse(command, check::sanitize_write_protected)) return false;
  if (subsystem_.firmware().next() != 0 && queue.refuse(command, check::sanitize_firmware)) return false;
  const bool inhibited = sqe.get(sz::ndas) && subsystem_.options().sanitize.no_deallocate_inhibited;
  return !inhibited || sanitizer.warns() || !queue.refuse(command, check::sanitize_no_deallocate);
}

void SanitizeCommands::sanitize(const Command& command) {
  Queue& queue = *command.queue;
  Sanitizer& sanitizer = subsystem_.sanitizer();
  const auto sqe = command.as<nvme::SanitizeSqe>();
  const std::uint32_t cdw10 = command.as<nvme::SqeLayout>().get(nvme::sqe::cdw10);
  if (!sanitize_allowed(command)) {
    if (departs(departure::sanitize_refused_logged)) sanitizer.set_cdw10(cdw10);
    return;
  }
  const SanitizeAction action = sqe.get(sz::sanact);
  if (action == SanitizeAction::exit_media_verification) {
    if (sanitizer.verifying() && !departs(departure::sanitize_verification_endless)) sanitizer.deallocate();
    return queue.complete(command, sc::success);
  }
  if (action == SanitizeAction::exit_failure_mode) {
    sanitizer.exit_failure_mode();
    subsystem_.tell(Change::sanitize);
    return queue.complete(command, sc::success);
  }
  SanitizeRequest request{.action = action, .unrestricted = sqe.get(sz::ause), .no_deallocate = sqe.get(sz::ndas)};
  request.verify = sqe.get(sz::emvs) && verifies_sanitized_media();
  request.of_host = !queue.out_of_band();
  request.cdw10 = cdw10;
  request.cdw11 = sqe.get(sz::ovrpat);
  const unsigned passes = sqe.get(sz::owpass);
  if (action == SanitizeAction::overwrite) request.passes = passes == 0 ? nvme::kOverwritePassesMax : passes;
  if (!sanitizer.running()) sanitizer.start(request, controller_);
  queue.complete(command, sc::success);
}

bool SanitizeCommands::permitted_while_sanitizing(const Command& command) const {
  if (static_cast<AdminOpcode>(command.opcode()) == AdminOpcode::get_log_page) {
    return is_harmless(static_cast<LogPage>(command.as<nvme::GetLogPageSqe>().get(nvme::get_log_sqe::lid)));
  }
  const AdminCommand* const known = AdminCommand::find(command.opcode());
  return known != nullptr && known->while_sanitizing;
}

bool SanitizeCommands::verifies_sanitized_media() const {
  return subsystem_.options().sanitize.verification && subsystem_.has_version(2, 1);
}

/// Of media that are to be verified: what is on them, whatever state it is in.
void SanitizeCommands::verification_read(const Command& command) {
  namespace rw = nvme::rw_sqe;
  Queue& queue = *command.queue;
  if (departs(departure::sanitize_verification_closed)) return queue.complete(command, sc::sanitize_in_progress);
  const auto sqe = command.as<nvme::ReadWriteSqe>();
  const bool checks = sqe.get(rw::prchk_guard) || sqe.get(rw::prchk_app) || sqe.get(rw::prchk_ref) || sqe.get(rw::stc);
  if (checks && queue.refuse(command, check::sanitize_read_checks)) return;
  IoTarget target;
  if (!controller_.io_.check_io(command, target)) return;
  if (!queue.stage(command, target.bytes)) return;
  const MutableBytes out = command.data().first(target.bytes);
  std::fill(out.begin(), out.end(), std::uint8_t{0});
  if (target.in_range) {
    const nvme::BlockLayout& layout = target.ns->layout();
    Bytes whole(std::size_t{target.blocks} * layout.bytes());
    const nvme::Status status = target.ns->read(target.slba, whole);
    if (!status.ok()) return queue.complete(command, status);
    const std::size_t each = target.strips ? layout.data_bytes : layout.bytes();
    for (std::size_t i = 0; i < target.blocks; ++i) {
      std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(i * layout.bytes()), each,
                  out.begin() + static_cast<std::ptrdiff_t>(i * each));
    }
  }
  const bool plain = departs(departure::sanitize_verification_plain);
  queue.complete_with_data(command, out.size(), 0, plain ? sc::success : nvme::Status(sc::successful_media_verification_read));
}

/// False: the command has been answered, since an operation runs or has failed.
bool SanitizeCommands::sanitize_permits(const Command& command, const Check& running, const Check& failed) {
  return !command.queue->refuse(command, subsystem_.sanitizer().running() ? running : failed);
}

Bytes SanitizeCommands::log_sanitize() const {
  namespace sl = nvme::sanitize_log;
  const Sanitizer& sanitizer = subsystem_.sanitizer();
  const SanitizeOptions& options = subsystem_.options().sanitize;
  std::uint16_t progress = sanitizer.progress();
  if (sanitizer.running() && departs(departure::sanitize_progress_stays)) progress = 0;
  if (!sanitizer.running() && departs(departure::sanitize_progress_end)) progress = 0;
  nvme::SanitizeState state = sanitizer.state();
  if (sanitizer.running() && departs(departure::sanitize_idle)) state = nvme::SanitizeState::never;
  const bool ended = !sanitizer.running() && state != nvme::SanitizeState::never;
  if (ended && departs(departure::sanitize_status_stays)) state = nvme::SanitizeState::never;
  const auto seconds = [](bool offered, Duration time) {
    if (!offered) return nvme::kSanitizeNoEstimate;
    return static_cast<std::uint32_t>((time.count_ms() + 999) / 1000);
  };
  // All passes that a command may ask for.
  const std::uint32_t overwrite = seconds(options.overwrite, options.overwrite_time * nvme::kOverwritePassesMax);
  const std::uint32_t block = seconds(options.block_erase, options.block_erase_time);
  const std::uint32_t crypto = seconds(options.crypto_erase, options.crypto_erase_time);
  const bool erased = sanitizer.erased() || departs(departure::sanitize_erased);
  Record<nvme::SanitizeLog> log;
  log.set(sl::sprog, progress)
      .set(sl::sos, state)
      .set(sl::passes, departs(departure::sanitize_passes) ? 0u : sanitizer.passes_done())
      .set(sl::gde, erased && !sanitizer.running())
      .set(sl::scdw10, departs(departure::sanitize_scdw10) ? 0u : sanitizer.cdw10())
      .set(sl::eto, overwrite)
      .set(sl::etbe, block)
      .set(sl::etce, crypto)
      .set(sl::etond, overwrite)
      .set(sl::etbend, block)
      .set(sl::etcend, crypto);
  if (verifies_sanitized_media()) {
    const bool untold = departs(departure::sanitize_phase_untold);
    log.set(sl::etpvds, seconds(true, options.deallocate_time))
        .set(sl::mvcncld, sanitizer.verification_cancelled())
        .set(sl::sans, untold ? nvme::SanitizePhase::idle : sanitizer.phase())
        .set(sl::fails, sanitizer.failed_in());
  }
  return Bytes(log.bytes().begin(), log.bytes().end());
}

void Controller::on_sanitize_begun() {
  // Whatever was to be said of an earlier one is past.
  events_.clear(static_cast<std::uint8_t>(LogPage::sanitize_status));
}

void Controller::on_sanitize_ended(std::uint8_t event_info) {
  raise({nvme::EventType::command_set, event_info, static_cast<std::uint8_t>(LogPage::sanitize_status)});
}

}  // namespace fb::subsystem
