// Reservations: registrations, who holds what, what it keeps others from, notifications.
#include <utility>

#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/fault_points.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/opcodes.h"
#include "wire/nvme/reservation.h"
#include "wire/nvme/sqe.h"

namespace fb::deviations {

namespace {

using nvme::AdminOpcode;
using nvme::IoOpcode;
namespace departure = subsystem::departure;

constexpr std::uint8_t code(IoOpcode opcode) { return static_cast<std::uint8_t>(opcode); }
constexpr std::uint8_t code(AdminOpcode opcode) { return static_cast<std::uint8_t>(opcode); }

/// Register, Acquire or Release with this action is answered with success, and nothing is done.
template <IoOpcode Opcode, unsigned Action>
std::optional<nvme::Status> nothing_done(const CommandContext& command) {
  if (!is_io(command, code(Opcode)) || (cdw10_of(command) & 7) != Action) return {};
  return nvme::sc::success;
}
std::optional<nvme::Status> releases_refused(const CommandContext& command) {
  if (!is_io(command, code(IoOpcode::reservation_release)) || (cdw10_of(command) & 7) != 0) return {};
  return nvme::sc::internal_error;
}
/// Set Features of this feature is answered with success, and nothing is done.
template <std::uint8_t Fid>
std::optional<nvme::Status> feature_stays(const CommandContext& command) {
  if (!is_admin(command, code(AdminOpcode::set_features)) || (cdw10_of(command) & 0xFF) != Fid) return {};
  return nvme::sc::success;
}

/// The same of all namespaces at once.
template <std::uint8_t Fid>
std::optional<nvme::Status> feature_of_all_stays(const CommandContext& command) {
  if (load_le<std::uint32_t>(command.sqe.data() + 4) != nvme::kAllNamespaces) return {};
  return feature_stays<Fid>(command);
}

/// Lets this command through whatever reservation there is.
template <IoOpcode Opcode>
bool unguarded(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "reservation.access" || !is_io(command, code(Opcode));
}
template <AdminOpcode Opcode>
bool admin_unguarded(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "reservation.access" || !is_admin(command, code(Opcode));
}

bool is_report(const CommandContext& command, ByteView data) {
  return is_io(command, code(IoOpcode::reservation_report)) && data.size() >= nvme::ReservationStatus::size;
}
/// RCSTS of entry `n` of a report, where there is one.
std::uint8_t* rcsts(MutableBytes data, std::size_t n) {
  const std::size_t at = nvme::RegisteredController::size * (n + 1) + nvme::registered_controller::holder.offset;
  return at < data.size() ? &data[at] : nullptr;
}
void all_hold(const CommandContext& command, MutableBytes data) {
  if (!is_report(command, data)) return;
  for (std::size_t n = 0; n < 8; ++n) {
    if (std::uint8_t* const status = rcsts(data, n)) *status = 1;
  }
}
void first_holds(const CommandContext& command, MutableBytes data) {
  if (!is_report(command, data)) return;
  for (std::size_t n = 1; n < 8; ++n) {
    if (std::uint8_t* const status = rcsts(data, n)) *status = 0;
  }
}
/// Whoever holds a reservation, the first entry of the report says so.
void first_holds_for_all(const CommandContext& command, MutableBytes data) {
  if (!is_report(command, data)) return;
  bool held = false;
  for (std::size_t n = 0; n < 8; ++n) {
    std::uint8_t* const status = rcsts(data, n);
    if (status != nullptr) held = std::exchange(*status, std::uint8_t{0}) != 0 || held;
  }
  if (std::uint8_t* const first = rcsts(data, 0)) *first = held ? 1 : 0;
}
void generation_by_two(const CommandContext& command, MutableBytes data) {
  if (!is_report(command, data)) return;
  store_le<std::uint32_t>(data.data(), 2 * load_le<std::uint32_t>(data.data()));
}
void no_capabilities(const CommandContext& command, MutableBytes data) {
  const bool independent = is_admin(command, code(AdminOpcode::identify)) && (cdw10_of(command) & 0xFF) == 0x08;
  if (independent && data.size() > 2) data[2] = 0;
}
bool is_notice(const CommandContext& command, ByteView data) {
  constexpr auto kPage = static_cast<std::uint32_t>(nvme::LogPage::reservation_notification);
  return is_admin(command, code(AdminOpcode::get_log_page)) && (cdw10_of(command) & 0xFF) == kPage &&
         data.size() >= nvme::ReservationNotification::size;
}
void never_empty(const CommandContext& command, MutableBytes data) {
  namespace rn = nvme::reservation_notification;
  if (is_notice(command, data) && data[rn::rnlpt.offset] == 0) data[rn::rnlpt.offset] = 2;
}
void none_available(const CommandContext& command, MutableBytes data) {
  if (is_notice(command, data)) data[nvme::reservation_notification::nalp.offset] = 0;
}

}  // namespace

#define RESERVATION(name, requirement, what, ...) DEVIATION(name, "nvme.reservation." requirement, Product::controller, what, __VA_ARGS__)

// ---- Register ----

RESERVATION(reservation_registers_nothing, "register.new", "says success to Register and registers nobody",
            hooks<Answering, &nothing_done<IoOpcode::reservation_register, 0>>());
RESERVATION(reservation_registers_once, "register.again", "refuses to register with the same key again",
            Departs{departure::reservation_register_once});
RESERVATION(reservation_registers_over, "register.other-key", "replaces the key by Register", Tolerate{"reservation.key"});
RESERVATION(reservation_wants_unique_keys, "register.same-key", "refuses a key that another host has",
            Departs{departure::reservation_keys_unique});
RESERVATION(reservation_registers_by_any_action, "register.action", "takes reserved actions for Register", Tolerate{"reservation.action"});
RESERVATION(reservation_replaces_nothing, "replace.key", "says success to Replace and keeps the key",
            hooks<Answering, &nothing_done<IoOpcode::reservation_register, 2>>());
RESERVATION(reservation_replaces_any_key, "replace.wrong-key", "replaces a key without asking for it", Tolerate{"reservation.key"});
RESERVATION(reservation_replaces_no_key, "replace.unregistered", "registers by Replace", Tolerate{"reservation.key"});
RESERVATION(reservation_replace_checks_the_key, "replace.iekey", "checks the key to be replaced in spite of IEKEY",
            Departs{departure::reservation_iekey_ignored});
RESERVATION(reservation_unregisters_nothing, "unregister.key", "says success to Unregister and does nothing",
            hooks<Answering, &nothing_done<IoOpcode::reservation_register, 1>>());
RESERVATION(reservation_unregisters_by_any_key, "unregister.wrong-key", "unregisters by any key", Tolerate{"reservation.key"});
RESERVATION(reservation_unregisters_anybody, "unregister.unregistered", "unregisters who is not registered", Tolerate{"reservation.key"});
RESERVATION(reservation_unregister_checks_the_key, "unregister.iekey", "checks the key to unregister in spite of IEKEY",
            Departs{departure::reservation_iekey_ignored});
RESERVATION(reservation_outlives_its_holder, "unregister.holder", "keeps the reservation when its holder unregisters",
            Departs{departure::reservation_outlives_holder});
RESERVATION(reservation_ends_with_anybody, "unregister.other", "ends the reservation when another host unregisters",
            Departs{departure::reservation_dies_with_any});
RESERVATION(reservation_of_all_ends_with_one, "unregister.all", "ends a reservation of all when one unregisters",
            Departs{departure::reservation_dies_with_any});
RESERVATION(reservation_of_all_never_ends, "unregister.all", "keeps a reservation of all when nobody is left",
            Departs{departure::reservation_outlives_holder});
RESERVATION(reservation_of_a_controller, "identity.host", "registers controllers, not hosts",
            Departs{departure::reservation_of_controller});
RESERVATION(reservation_ends_with_its_association, "identity.association", "ends the registrations of a host with its association",
            Departs{departure::reservation_leave_loses});
RESERVATION(reservation_ends_by_a_reset, "identity.reset", "ends the registrations of a host by a controller reset",
            Departs{departure::reservation_reset_loses});
RESERVATION(reservation_ends_by_a_subsystem_reset, "identity.subsystem-reset", "ends all registrations by a reset of the subsystem",
            Departs{departure::reservation_nssr_loses});
RESERVATION(reservation_commands_are_fields, "unsupported", "calls opcodes that it does not have invalid fields",
            AnswerWith{"io.opcode", nvme::sc::invalid_field});

// ---- Acquire, Release ----

RESERVATION(reservation_acquires_nothing, "acquire.types", "says success to Acquire and holds nothing",
            Departs{departure::reservation_acquire_lost});
RESERVATION(reservation_for_anybody, "acquire.unregistered", "lets hosts acquire that are not registered", Tolerate{"reservation.key"});
RESERVATION(reservation_by_any_key, "acquire.wrong-key", "lets hosts acquire by any key", Tolerate{"reservation.key"});
RESERVATION(reservation_changes_hands, "acquire.held", "lets a host acquire what another holds", Tolerate{"reservation.held"});
RESERVATION(reservation_acquired_once, "acquire.again", "refuses the holder that acquires again",
            Departs{departure::reservation_acquire_once});
RESERVATION(reservation_changes_its_type, "acquire.other-type", "changes the type by Acquire", Tolerate{"reservation.held"});
RESERVATION(reservation_of_a_reserved_type, "acquire.reserved-type", "takes reserved types", Tolerate{"reservation.type"});
RESERVATION(reservation_acquired_without_a_key, "acquire.iekey", "takes IEKEY with Acquire", Tolerate{"reservation.iekey"});
RESERVATION(reservation_acquired_by_any_action, "acquire.action", "takes reserved actions of Acquire", Tolerate{"reservation.action"});
RESERVATION(reservation_is_not_released, "release.holder", "says success to Release and keeps the reservation",
            Departs{departure::reservation_release_lost});
RESERVATION(reservation_released_by_anybody, "release.other", "lets any registrant release", Departs{departure::reservation_release_any});
RESERVATION(reservation_release_refused, "release.nothing", "fails at every Release", hooks<Answering, &releases_refused>());
RESERVATION(reservation_released_as_any_type, "release.type", "releases whatever type is said", Tolerate{"reservation.release.type"});
RESERVATION(reservation_release_of_strangers, "release.unregistered", "takes Release from unregistered hosts", Tolerate{"reservation.key"});
RESERVATION(reservation_released_by_any_key, "release.wrong-key", "releases by any key", Tolerate{"reservation.key"});
RESERVATION(reservation_released_without_a_key, "release.iekey", "takes IEKEY with Release", Tolerate{"reservation.iekey"});
RESERVATION(reservation_released_by_any_action, "release.action", "takes reserved actions of Release", Tolerate{"reservation.action"});
RESERVATION(reservation_clear_leaves_registrants, "clear.all", "clears the reservation, not the registrations",
            Departs{departure::reservation_clear_kept});
RESERVATION(reservation_cleared_by_strangers, "clear.unregistered", "lets hosts clear that are not registered",
            Tolerate{"reservation.key"});
RESERVATION(reservation_cleared_by_any_key, "clear.wrong-key", "clears by any key", Tolerate{"reservation.key"});

// ---- preemption ----

RESERVATION(reservation_is_not_preempted, "preempt.holder", "ends the holder's registration, not its reservation",
            Departs{departure::reservation_preempt_lost});
RESERVATION(reservation_leaves_the_holder, "preempt.holder", "leaves the holder that is preempted registered",
            Departs{departure::reservation_preempt_kept});
RESERVATION(reservation_leaves_the_registrant, "preempt.registrant", "leaves the registrant that is preempted",
            Departs{departure::reservation_preempt_kept});
RESERVATION(reservation_keeps_its_type, "preempt.self", "does nothing for a holder that preempts itself",
            Departs{departure::reservation_preempt_lost});
RESERVATION(reservation_preempts_holders_alone, "preempt.no-reservation", "preempts nobody where there is no reservation",
            Departs{departure::reservation_preempt_kept});
RESERVATION(reservation_preempted_by_strangers, "preempt.unregistered", "lets hosts preempt that are not registered",
            Tolerate{"reservation.key"});
RESERVATION(reservation_preempts_key_zero, "preempt.zero", "says success to preempting key 0", Tolerate{"reservation.preempt.zero"});
RESERVATION(reservation_leaves_all_registrants, "preempt.all", "leaves all registrants that are preempted",
            Departs{departure::reservation_preempt_kept});
RESERVATION(reservation_leaves_some_registrants, "preempt.some", "leaves those of all registrants that are preempted",
            Departs{departure::reservation_preempt_kept});
RESERVATION(reservation_preempts_nobody, "preempt.unknown", "says success to preempting a key that nobody has",
            Tolerate{"reservation.preempt.unknown"});
RESERVATION(reservation_aborts_nothing, "preempt.abort", "aborts nothing with Preempt and Abort",
            Departs{departure::reservation_preempt_no_abort});

// ---- access ----

RESERVATION(reservation_keeps_its_holder_out, "access.holder", "keeps the holder of exclusive access from reading",
            Departs{departure::reservation_holder_refused});
RESERVATION(reservation_lets_writes_through, "access.write", "lets anybody write", hooks<Refusing, &unguarded<IoOpcode::write>>());
RESERVATION(reservation_lets_zeroes_through, "access.write", "lets anybody write zeroes",
            hooks<Refusing, &unguarded<IoOpcode::write_zeroes>>());
RESERVATION(reservation_lets_damage_through, "access.write", "lets anybody write uncorrectable blocks",
            hooks<Refusing, &unguarded<IoOpcode::write_uncorrectable>>());
RESERVATION(reservation_lets_deallocation_through, "access.write", "lets anybody deallocate",
            hooks<Refusing, &unguarded<IoOpcode::dataset_management>>());
RESERVATION(reservation_lets_flushes_through, "access.write", "lets anybody flush", hooks<Refusing, &unguarded<IoOpcode::flush>>());
RESERVATION(reservation_lets_reads_through, "access.read", "lets anybody read", hooks<Refusing, &unguarded<IoOpcode::read>>());
RESERVATION(reservation_lets_compares_through, "access.read", "lets anybody compare", hooks<Refusing, &unguarded<IoOpcode::compare>>());
RESERVATION(reservation_lets_verifies_through, "access.read", "lets anybody verify", hooks<Refusing, &unguarded<IoOpcode::verify>>());
RESERVATION(reservation_keeps_readers_out, "access.readers", "keeps readers out of what is write exclusive",
            Departs{departure::reservation_reads_refused});
RESERVATION(reservation_keeps_registrants_out, "access.registrants", "treats registrants as strangers",
            Departs{departure::reservation_registrants_refused});
RESERVATION(reservation_lets_registrants_in, "access.exclusive", "lets anybody pass", Tolerate{"reservation.access"});
RESERVATION(reservation_hides_itself, "access.reservation-commands", "refuses Report to hosts without access",
            Departs{departure::reservation_guards_all});
RESERVATION(reservation_hides_the_namespace, "access.admin", "refuses Identify to hosts without access",
            Departs{departure::reservation_guards_all});
RESERVATION(reservation_lets_formats_through, "access.format", "lets anybody format",
            hooks<Refusing, &admin_unguarded<AdminOpcode::format_nvm>>());

RESERVATION(reservation_lets_sanitize_through, "access.sanitize", "lets anybody sanitize",
            hooks<Refusing, &admin_unguarded<AdminOpcode::sanitize>>());
RESERVATION(reservation_lets_detach_through, "access.attachment", "lets anybody attach and detach",
            hooks<Refusing, &admin_unguarded<AdminOpcode::namespace_attachment>>());
RESERVATION(reservation_lets_deletion_through, "access.deletion", "lets anybody delete",
            hooks<Refusing, &admin_unguarded<AdminOpcode::namespace_management>>());

// ---- Report, persistence ----

RESERVATION(reservation_claims_differ, "report.rescap", "claims no reservations in CNS 08h", hooks<AlteringDataOut, &no_capabilities>());
RESERVATION(reservation_reports_the_short_form, "report.eds", "gives the form for short host identifiers",
            Tolerate{"reservation.report.eds"});
RESERVATION(reservation_eds_is_a_field, "report.eds", "calls the wrong form an invalid field",
            AnswerWith{"reservation.report.eds", nvme::sc::invalid_field});
RESERVATION(reservation_counts_what_fits, "report.length", "counts the registrants that fit into the transfer",
            Departs{departure::reservation_report_cut});
RESERVATION(reservation_reports_all_as_holders, "report.holder", "reports every registrant as holder", hooks<AlteringDataOut, &all_hold>());
RESERVATION(reservation_reports_the_first_as_holder, "report.each-holder", "reports the first registrant as holder, whoever holds",
            hooks<AlteringDataOut, &first_holds_for_all>());
RESERVATION(reservation_reports_one_holder, "report.all-holders", "reports one of all holders", hooks<AlteringDataOut, &first_holds>());
RESERVATION(reservation_generation_stays, "report.generation", "counts no generations", Departs{departure::reservation_gen_stays});
RESERVATION(reservation_generation_runs, "report.generation-stays", "counts Acquire and Release", Departs{departure::reservation_gen_runs});
RESERVATION(reservation_generation_jumps, "report.generation-step", "counts generations by two",
            hooks<AlteringDataOut, &generation_by_two>());
RESERVATION(reservation_ignores_cptpl, "persistence.register", "ignores CPTPL", Departs{departure::reservation_cptpl_ignored});
RESERVATION(reservation_ignores_every_cptpl, "persistence.every-action", "ignores CPTPL of every action",
            Departs{departure::reservation_cptpl_ignored});
RESERVATION(reservation_persists_in_one_namespace, "persistence.feature-all", "ignores Set Features of PTPL of all namespaces",
            hooks<Answering, &feature_of_all_stays<0x83>>());
RESERVATION(reservation_takes_any_cptpl, "persistence.reserved", "takes the reserved value of CPTPL", Tolerate{"reservation.cptpl"});
RESERVATION(reservation_persistence_stays, "persistence.feature", "says success to feature 83h and does nothing",
            hooks<Answering, &feature_stays<0x83>>());
RESERVATION(reservation_always_persists, "persistence.lost", "keeps through a loss of power what does not persist",
            Departs{departure::reservation_power_keeps});
RESERVATION(reservation_never_persists, "persistence.kept", "loses with power what persists", Departs{departure::reservation_power_loses});

// ---- notifications ----

RESERVATION(reservation_log_is_never_empty, "notice.empty", "tells of notifications that there were not",
            hooks<AlteringDataOut, &never_empty>());
RESERVATION(reservation_preemption_is_silent, "notice.preempted", "tells nobody of being preempted",
            Departs{departure::reservation_notice_silent});
RESERVATION(reservation_preemption_is_a_release, "notice.preempted", "calls a preempted registration a release",
            Departs{departure::reservation_notice_type});
RESERVATION(reservation_event_of_another_type, "notice.preempted", "announces notifications by another event",
            Departs{departure::aer_wrong_type});
RESERVATION(reservation_release_is_silent, "notice.released", "tells nobody of a release", Departs{departure::reservation_notice_silent});
RESERVATION(reservation_leaving_is_silent, "notice.unregistered", "tells nobody that the holder has unregistered",
            Departs{departure::reservation_notice_silent});
RESERVATION(reservation_clear_is_a_release, "notice.cleared", "calls what was cleared released",
            Departs{departure::reservation_notice_type});
RESERVATION(reservation_tells_every_release, "notice.exclusive", "tells of releases that change nothing for others",
            Departs{departure::reservation_notice_exclusive});
RESERVATION(reservation_tells_the_issuer, "notice.issuer", "tells who caused it", Departs{departure::reservation_notice_self});
RESERVATION(reservation_tells_strangers, "notice.strangers", "tells hosts that are not registered",
            Departs{departure::reservation_notice_all});
RESERVATION(reservation_tells_one_controller, "notice.controllers", "tells one controller of a host alone",
            Departs{departure::reservation_notice_one});
RESERVATION(reservation_notice_stays, "notice.queue", "gives the same notification at every read",
            Departs{departure::reservation_log_kept});
RESERVATION(reservation_notices_uncounted, "notice.queue", "does not count notifications", Departs{departure::reservation_log_count});
RESERVATION(reservation_notices_hidden, "notice.available", "says that there are no further notifications",
            hooks<AlteringDataOut, &none_available>());
RESERVATION(reservation_mask_without_effect, "notice.mask", "tells of notifications that are masked",
            Departs{departure::reservation_mask_ignored});
RESERVATION(reservation_mask_forgotten, "notice.mask-read", "says success to feature 82h and does nothing",
            hooks<Answering, &feature_stays<0x82>>());

#undef RESERVATION

}  // namespace fb::deviations
