#include "conformance/campaign/reservation_truth.h"

#include <fmt/format.h>

namespace fb::conformance {

void ReservationTruth::begin_acquire(std::size_t host, Tick now) {
  ++hosts_[host].acquiring;
  hosts_[host].may_hold = true;
  hosts_[host].acquire_began = now;
}

void ReservationTruth::end_acquire(std::size_t host, bool acknowledged, Tick began, Tick now) {
  Host& it = hosts_[host];
  --it.acquiring;
  if (!acknowledged) {
    it.lost = true;
  } else if (it.releasing == 0 && !it.release_lost && it.release_ended < began && !it.holds) {
    it.holds = true;
    it.holds_since = now;
  }
}

void ReservationTruth::begin_release(std::size_t host) {
  hosts_[host].holds = false;
  ++hosts_[host].releasing;
}

void ReservationTruth::end_release(std::size_t host, bool acknowledged, Tick began, Tick now) {
  Host& it = hosts_[host];
  --it.releasing;
  it.release_ended = now;
  if (!acknowledged) it.release_lost = true;
  if (!acknowledged || it.lost || it.acquiring > 0 || it.acquire_began > began) return;
  it.may_hold = false;
  it.may_until = now;
}

void ReservationTruth::power_lost(Tick now) {
  for (Host& it : hosts_) {
    it.holds = false;
    // What was acknowledged before says nothing any more, and an acquire that is still awaited may come before or after.
    it.release_ended = now;
    if (it.lost || it.acquiring > 0 || !it.may_hold) continue;
    it.may_hold = false;
    it.may_until = now;
  }
}

std::optional<std::string> ReservationTruth::check_written(std::size_t host, Tick began) const {
  for (std::size_t other = 0; other < hosts_.size(); ++other) {
    if (other == host || !hosts_[other].holds || hosts_[other].holds_since > began) continue;
    return fmt::format("reservation ignored: host {} wrote, host {} has Write Exclusive", host + 1, other + 1);
  }
  return std::nullopt;
}

std::optional<std::string> ReservationTruth::check_refused(std::size_t host, Tick began) const {
  for (std::size_t other = 0; other < hosts_.size(); ++other) {
    if (other != host && (hosts_[other].may_hold || hosts_[other].may_until > began)) return std::nullopt;
  }
  return fmt::format("reservation of nobody: host {} was refused, no other host can hold one", host + 1);
}

}  // namespace fb::conformance
