#include "sim/networkdirect/provider/requests.h"

#include <algorithm>

namespace fb::networkdirect {

// Completions are made under the lock: their order on the port is the order in which the requests ended.

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
  file_.complete(overlapped, status, 0);
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
    file_.complete(overlapped, status, 0);
  }
}

void Requests::complete_newest_first(HRESULT status) {
  const std::lock_guard lock(lock_);
  for (; !pending_.empty(); pending_.pop_back()) file_.complete(*pending_.back().overlapped, status, 0);
}

void Requests::forget() {
  const std::lock_guard lock(lock_);
  pending_.clear();
}

}  // namespace fb::networkdirect
