// Asynchronous events of one controller: what is pending, and which types are masked because the host
// has been told of one and has not read its log page yet.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "wire/nvme/events.h"

namespace fb::subsystem {

class EventQueue {
 public:
  /// An event that is already pending is not kept twice.
  void raise(const nvme::Event& event);
  /// The oldest event whose type is not masked, taken out; its type is masked from then on.
  /// `ignore_mask` is for deviations.
  std::optional<nvme::Event> take(bool ignore_mask = false);
  bool deliverable(bool ignore_mask = false) const;
  /// The host has read log page `lid` with RAE = 0; of one namespace, where the events name it.
  void clear(std::uint8_t lid, std::uint32_t parameter = 0);
  /// For deviations: what masks one type masks them all, until the log page of that one has been read.
  void mask_all(const nvme::Event& event) { masked_.fill(event); }
  void drop_pending() { pending_.clear(); }
  void reset();

  std::size_t pending() const { return pending_.size(); }

 private:
  /// The event whose log page unmasks the type; nothing while the type is not masked.
  std::array<std::optional<nvme::Event>, 8> masked_;
  std::vector<nvme::Event> pending_;
};

}  // namespace fb::subsystem
