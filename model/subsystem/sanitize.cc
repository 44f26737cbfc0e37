#include "model/subsystem/sanitize.h"

#include <algorithm>
#include <string>

#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/events.h"

namespace fb::subsystem {

using nvme::SanitizeAction;
using nvme::SanitizePhase;
using nvme::SanitizeState;

Duration Sanitizer::pass_time() const {
  const SanitizeOptions& options = subsystem_.options().sanitize;
  switch (request_.action) {
    case SanitizeAction::crypto_erase:
      return options.crypto_erase_time;
    case SanitizeAction::overwrite:
      return options.overwrite_time;
    default:
      return options.block_erase_time;
  }
}

Duration Sanitizer::elapsed() const { return subsystem_.world().now() - started_; }

void Sanitizer::start(const SanitizeRequest& request, const Controller& by) {
  request_ = request;
  by_ = by.cntlid();
  failure_mode_ = false;
  cancelled_ = false;
  failed_in_ = SanitizePhase::idle;
  phase_ = request.unrestricted ? SanitizePhase::unrestricted_processing : SanitizePhase::restricted_processing;
  state_ = SanitizeState::in_progress;
  started_ = subsystem_.world().now();
  if (!subsystem_.departs(departure::self_test_sanitize)) {
    subsystem_.self_tests().abort(nvme::SelfTestOutcome::aborted_by_sanitize);
  }
  for (const auto& [id, controller] : subsystem_.controllers()) controller->on_sanitize_begun();
  // What fails leaves the data; nobody gets at it while the operation lasts, so that it may go at once.
  for (const auto& [nsid, ns] : subsystem_.namespaces()) {
    const bool spared = subsystem_.departs(departure::sanitize_spares) && !ns->attachments().has(by.cntlid());
    const bool erased = fails_ || spared || subsystem_.departs(departure::sanitize_keeps_data) || erase(*ns);
    if (!erased) fails_ = true;
  }
  Record<nvme::SanitizeStartEvent> event;
  event.set(nvme::sanitize_start_event::sanicap, by.sanitize_capabilities())
      .set(nvme::sanitize_start_event::cdw10, request.cdw10)
      .set(nvme::sanitize_start_event::cdw11, request.cdw11);
  subsystem_.persistent_log().add(nvme::PersistentEventType::sanitize_start, event.bytes(), &by);
  subsystem_.trace_state("sanitize.start", "action " + std::to_string(static_cast<unsigned>(request.action)));
  subsystem_.tell(Change::sanitize);
  subsystem_.world().loop().schedule_after(timer_, pass_time() * request_.passes);
}

bool Sanitizer::erase(Namespace& ns) const {
  const bool keeps = subsystem_.departs(departure::sanitize_unprotects) && ns.blocks() != 0;
  Bytes first(keeps ? ns.block_bytes() : 0);
  if (keeps) (void)ns.read(0, first);
  const bool erased = ns.erase().ok();
  subsystem_.placement().discard(ns.nsid());
  if (ns.zoned() && !subsystem_.departs(departure::zone_sanitize_keeps)) {
    const bool keeps_blocks = request_.no_deallocate && !subsystem_.options().sanitize.no_deallocate_inhibited;
    ns.zones()->initialize(true);
    if (keeps_blocks) ns.zones()->fill();
  }
  if (keeps) (void)ns.write(0, first);
  return erased;
}

/// A phase that takes its time is over.
void Sanitizer::finish() {
  const bool processing = phase_ != SanitizePhase::post_verification_deallocation;
  const bool verifies = processing && request_.verify && !fails_;
  if (!verifies || subsystem_.departs(departure::sanitize_unverified)) return complete();
  if (cancelled_) return deallocate();
  phase_ = SanitizePhase::media_verification;
  subsystem_.trace_state("sanitize.verification", "media can be read");
  const bool untold = subsystem_.departs(departure::sanitize_verification_untold);
  tell(untold ? nvme::event_info::command_set_sanitize_completed : nvme::event_info::command_set_sanitize_media_verification);
}

void Sanitizer::deallocate() {
  phase_ = SanitizePhase::post_verification_deallocation;
  started_ = subsystem_.world().now();
  subsystem_.trace_state("sanitize.deallocation", "media are deallocated");
  subsystem_.world().loop().schedule_after(timer_, subsystem_.options().sanitize.deallocate_time);
}

void Sanitizer::on_subsystem_reset() {
  const bool processing = phase_ == SanitizePhase::restricted_processing || phase_ == SanitizePhase::unrestricted_processing;
  if (!request_.verify || !(processing || verifying())) return;
  if (subsystem_.departs(departure::sanitize_verification_kept)) return;
  cancelled_ = true;
  if (verifying()) deallocate();
}

void Sanitizer::exit_failure_mode() {
  failure_mode_ = false;
  phase_ = SanitizePhase::idle;
}

void Sanitizer::complete() {
  const SanitizeOptions& options = subsystem_.options().sanitize;
  const bool deallocated = request_.no_deallocate && options.no_deallocate_inhibited;
  state_ = fails_ ? SanitizeState::failed : deallocated ? SanitizeState::completed_deallocated : SanitizeState::completed;
  failed_in_ = fails_ ? phase_ : SanitizePhase::idle;
  phase_ = !fails_ ? SanitizePhase::idle : request_.unrestricted ? SanitizePhase::unrestricted_failure : SanitizePhase::restricted_failure;
  failure_mode_ = fails_;
  if (!fails_) erased_ = true;
  const bool unexpected = state_ == SanitizeState::completed_deallocated;
  fails_ = false;
  Record<nvme::SanitizeEndEvent> event;
  event.set(nvme::sanitize_end_event::sprog, nvme::kSanitizeNoProgress).set(nvme::sanitize_end_event::sstat, static_cast<unsigned>(state_));
  subsystem_.persistent_log().add(nvme::PersistentEventType::sanitize_completion, event.bytes());
  subsystem_.trace_state("sanitize.end", "state " + std::to_string(static_cast<unsigned>(state_)));
  subsystem_.tell(Change::sanitize);
  tell(unexpected ? nvme::event_info::command_set_sanitize_unexpected : nvme::event_info::command_set_sanitize_completed);
}

/// The controller that was told to begin tells its host; of an operation that came out of band nobody tells anything.
void Sanitizer::tell(std::uint8_t event_info) const {
  if (subsystem_.departs(departure::sanitize_silent)) return;
  const bool all = subsystem_.departs(departure::sanitize_tells_all);
  for (const auto& [id, controller] : subsystem_.controllers()) {
    if (all || (request_.of_host && id == by_)) controller->on_sanitize_ended(event_info);
  }
}

std::uint16_t Sanitizer::progress() const {
  if (!running() || verifying()) return nvme::kSanitizeNoProgress;
  const Duration time = phase_ == SanitizePhase::post_verification_deallocation ? subsystem_.options().sanitize.deallocate_time
                                                                                : pass_time() * request_.passes;
  const std::int64_t whole = std::max<std::int64_t>(time.count_ms(), 1);
  const std::int64_t done = elapsed().count_ms() * 0x10000 / whole;
  return static_cast<std::uint16_t>(std::min<std::int64_t>(done, nvme::kSanitizeNoProgress - 1));
}

unsigned Sanitizer::passes_done() const {
  if (request_.action != SanitizeAction::overwrite || state_ == SanitizeState::never) return 0;
  if (!running()) return request_.passes;
  const std::int64_t one = std::max<std::int64_t>(pass_time().count_ms(), 1);
  return static_cast<unsigned>(std::min<std::int64_t>(elapsed().count_ms() / one, request_.passes));
}

/// For a deviation.
void Sanitizer::forget() {
  subsystem_.world().loop().cancel(timer_);
  if (running()) state_ = SanitizeState::never;
  phase_ = SanitizePhase::idle;
}

}  // namespace fb::subsystem
