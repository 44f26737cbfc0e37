#include "model/host/retry.h"

#include "model/host/fault_points.h"

namespace fb::host {

namespace {

using nvme::Status;
namespace sc = nvme::sc;

/// A transient transport error that comes a fourth time is not transient.
constexpr unsigned kTransientAttempts = 4;
constexpr Duration kDefaultDelay = Duration::ms(1);
constexpr Duration kPathDelay = Duration::ms(100);
/// Path errors are bounded by the time without a path; this only ends a controller that keeps
/// claiming a state it does not have.
constexpr unsigned kPathAttemptsFactor = 20;

/// Statuses that pass by themselves.
bool may_pass(Status status) {
  for (const Status transient :
       {sc::internal_error, sc::abort_requested, sc::aborted_sq_deletion, sc::aborted_power_loss, sc::data_transfer_error,
        sc::command_interrupted, sc::transient_transport_error, sc::admin_command_media_not_ready, sc::namespace_not_ready,
        sc::format_in_progress, sc::sanitize_in_progress, sc::command_sequence_error, sc::keep_alive_timer_expired}) {
    if (same_code(status, transient)) return true;
  }
  return false;
}

}  // namespace

RetryDecision decide_retry(Status status, unsigned attempts, const Controller& controller) {
  using Kind = RetryDecision::Kind;
  const unsigned retries = controller.options().command_retries;
  const bool unlimited = controller.departs(point::retry_unlimited);
  if (status.sct() == static_cast<unsigned>(nvme::StatusCodeType::path)) {
    if (controller.departs(point::path_error_reported)) return {};
    if (status.dnr() && !controller.departs(point::dnr_ignored)) return {};
    if (attempts > retries * kPathAttemptsFactor && !unlimited) return {};
    return {Kind::other_path, kPathDelay};
  }
  if (status.dnr() && !controller.departs(point::dnr_ignored)) return {};
  if (attempts > retries && !unlimited) return {};
  if (same_code(status, sc::transient_transport_error) && attempts >= kTransientAttempts && !unlimited) {
    return {};
  }
  const bool wanted = may_pass(status) || (status.dnr() && controller.departs(point::dnr_ignored)) ||
                      (same_code(status, sc::reservation_conflict) && controller.departs(point::reservation_conflict_retried));
  if (!wanted) return {};
  Duration delay = kDefaultDelay;
  if (controller.facts().retry_delays && status.crd() != 0 && !controller.departs(point::crd_ignored)) {
    delay = std::max(delay, controller.facts().crd[status.crd() - 1]);
  }
  return {Kind::again, delay};
}

}  // namespace fb::host
