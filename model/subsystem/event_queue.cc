#include "model/subsystem/event_queue.h"

#include <algorithm>

namespace fb::subsystem {

namespace {
std::size_t index_of(const nvme::Event& event) { return static_cast<std::size_t>(event.type) & 7; }
}  // namespace

void EventQueue::raise(const nvme::Event& event) {
  if (std::find(pending_.begin(), pending_.end(), event) == pending_.end()) {
    pending_.push_back(event);
  }
}

std::optional<nvme::Event> EventQueue::take(bool ignore_mask) {
  for (auto at = pending_.begin(); at != pending_.end(); ++at) {
    if (masked_[index_of(*at)] && !ignore_mask) continue;
    const nvme::Event event = *at;
    pending_.erase(at);
    masked_[index_of(event)] = event;
    return event;
  }
  return std::nullopt;
}

bool EventQueue::deliverable(bool ignore_mask) const {
  return std::any_of(pending_.begin(), pending_.end(), [&](const nvme::Event& event) { return ignore_mask || !masked_[index_of(event)]; });
}

void EventQueue::clear(std::uint8_t lid, std::uint32_t parameter) {
  const auto told = [&](const nvme::Event& event) { return event.lid == lid && event.parameter == parameter; };
  for (auto& mask : masked_) {
    if (mask && told(*mask)) mask.reset();
  }
  std::erase_if(pending_, told);
}

void EventQueue::reset() {
  pending_.clear();
  masked_.fill(std::nullopt);
}

}  // namespace fb::subsystem
