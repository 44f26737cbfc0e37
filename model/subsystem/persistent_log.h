// The persistent event log of a subsystem: what happened to it, through resets and losses of power. The oldest events
// make room for new ones.
#pragma once

#include <cstdint>
#include <deque>

#include "base/bytes.h"
#include "base/time.h"
#include "wire/nvme/persistent_events.h"

namespace fb::subsystem {

class Controller;
class Subsystem;

class PersistentLog {
 public:
  explicit PersistentLog(Subsystem& subsystem) : subsystem_(subsystem) {}

  /// `by` null: no controller in particular. Nothing is kept where the product has no such log.
  void add(nvme::PersistentEventType type, ByteView data, const Controller* by = nullptr);
  /// The whole log as it is now, the newest event first: what a reporting context holds.
  Bytes report(const Controller& controller);
  /// For products that forget.
  void clear();

 private:
  void push(nvme::PersistentEventType type, ByteView data, const Controller* by);
  void take_snapshots();
  bool records(nvme::PersistentEventType type) const;

  Subsystem& subsystem_;
  std::deque<Bytes> events_;  ///< the newest first
  std::size_t bytes_ = 0;
  std::uint16_t generation_ = 0;
  bool changed_ = true;  ///< since the last report
  std::uint64_t snapshots_ = 0;
};

}  // namespace fb::subsystem
