#include "networkdirect/provider/requests.h"

#include <algorithm>
#include <utility>

#include "networkdirect/provider/adapter_core.h"
#include "networkdirect/provider/fault_points.h"

namespace fb::networkdirect {

// Completions are made under the lock: their order on the port is the order in which the requests ended.

void Requests::end(OVERLAPPED& overlapped, HRESULT status) {
  const auto held = std::ranges::find(held_, &overlapped, &Held::overlapped);
  if (held != held_.end() && !held->status) {
    held->status = status;
  } else {
    file_.complete(overlapped, status, 0);
  }
}

Requests::Call::Call(Requests& requests, OVERLAPPED* overlapped, AdapterCore& adapter)
    : requests_(requests), adapter_(adapter), overlapped_(adapter.answers_at_once() ? overlapped : nullptr) {
  if (overlapped_ == nullptr) return;
  const std::lock_guard lock(requests_.lock_);
  requests_.held_.push_back({overlapped_, {}});
}

HRESULT Requests::Call::answer(HRESULT status) {
  if (overlapped_ == nullptr) return status;
  OVERLAPPED* const overlapped = std::exchange(overlapped_, nullptr);
  const std::lock_guard lock(requests_.lock_);
  const auto held = std::ranges::find(requests_.held_, overlapped, &Held::overlapped);
  const auto ended = held->status;
  requests_.held_.erase(held);
  if (!ended) return status;
  // A failure that comes from a call says that nothing was begun; here something was.
  const bool good = *ended == ND_SUCCESS && status == ND_PENDING;
  if (good && !adapter_.departs(departure::kInlineTold)) {
    requests_.file_.complete_in_call(*overlapped, ND_SUCCESS, 0);
  } else {
    requests_.file_.complete(*overlapped, *ended, 0);
  }
  return good ? ND_SUCCESS : status;
}

bool Requests::begin(OVERLAPPED* overlapped, unsigned tag) {
  const std::lock_guard lock(lock_);
  if (overlapped == nullptr || !file_.begin(*overlapped)) return false;
  pending_.push_back({overlapped, tag});
  return true;
}

bool Requests::complete(unsigned tag, HRESULT status) {
  const std::lock_guard lock(lock_);
  const auto at = std::ranges::find(pending_, tag, &Pending::tag);
  if (at == pending_.end()) return false;
  OVERLAPPED& overlapped = *at->overlapped;
  pending_.erase(at);
  end(overlapped, status);
  return true;
}

void Requests::complete_each(unsigned tag, HRESULT status) {
  while (complete(tag, status)) {
  }
}

bool Requests::pending(unsigned tag) const {
  const std::lock_guard lock(lock_);
  return std::ranges::find(pending_, tag, &Pending::tag) != pending_.end();
}

void Requests::complete_all(HRESULT status, std::size_t most) {
  const std::lock_guard lock(lock_);
  for (; most > 0 && !pending_.empty(); --most) {
    OVERLAPPED& overlapped = *pending_.front().overlapped;
    pending_.pop_front();
    end(overlapped, status);
  }
}

void Requests::complete_newest_first(HRESULT status) {
  const std::lock_guard lock(lock_);
  for (; !pending_.empty(); pending_.pop_back()) end(*pending_.back().overlapped, status);
}

void Requests::forget() {
  const std::lock_guard lock(lock_);
  pending_.clear();
}

}  // namespace fb::networkdirect
