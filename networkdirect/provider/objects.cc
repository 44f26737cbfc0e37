#include "networkdirect/provider/objects.h"

namespace fb::networkdirect {

LiveObjects& LiveObjects::instance() {
  // Never destroyed: programs release objects while they end. In place, since a library that is unloaded leaves no heap.
  alignas(LiveObjects) static unsigned char room[sizeof(LiveObjects)];
  static auto* const objects = new (room) LiveObjects;
  return *objects;
}

void LiveObjects::add(const void* object, Kind kind, std::shared_ptr<Core> core) {
  const std::lock_guard lock(lock_);
  objects_.insert_or_assign(object, Entry{kind, std::move(core)});
}

void LiveObjects::remove(const void* object) {
  std::shared_ptr<Core> core;  // goes after the lock
  const std::lock_guard lock(lock_);
  const auto at = objects_.find(object);
  if (at == objects_.end()) return;
  core = std::move(at->second.core);
  objects_.erase(at);
}

std::shared_ptr<Core> LiveObjects::find(const void* object, Kind kind) const {
  const std::lock_guard lock(lock_);
  const auto at = objects_.find(object);
  return at == objects_.end() || at->second.kind != kind ? nullptr : at->second.core;
}

std::size_t LiveObjects::count() const {
  const std::lock_guard lock(lock_);
  return objects_.size();
}

std::size_t LiveObjects::count(Kind kind) const {
  const std::lock_guard lock(lock_);
  std::size_t found = 0;
  for (const auto& [object, entry] : objects_) found += entry.kind == kind ? 1 : 0;
  return found;
}

}  // namespace fb::networkdirect
