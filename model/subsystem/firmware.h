// Firmware of a subsystem: its slots, which all controllers share, and images on their way into them (base
// specification, Firmware Update Process). The images of emulated products begin with "FBFW" and their revision in
// eight characters; what follows is anybody's.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "model/subsystem/options.h"

namespace fb::subsystem {

/// An image that the slots take, of at least its header's size, filled with a pattern.
Bytes make_firmware_image(std::string_view revision, std::size_t bytes);
/// The revision that an image names, without padding; nothing where it is no image of ours.
std::optional<std::string> firmware_revision(ByteView image);

/// The pieces of one image, in whatever order they come.
class FirmwareDownload {
 public:
  enum class Taken : std::uint8_t { yes, overlaps, too_large };
  /// `offset` in bytes. An image has at most `image_max` bytes.
  Taken add(std::uint64_t offset, ByteView piece, std::uint64_t image_max);
  bool empty() const { return pieces_.empty(); }
  /// From its first byte on; empty where a piece is missing.
  Bytes image() const;
  void clear() { pieces_.clear(); }

 private:
  std::map<std::uint64_t, Bytes> pieces_;  // by offset, disjoint
};

class FirmwareSlots {
 public:
  /// The slot that runs at first is 1, and holds `revision`.
  FirmwareSlots(const FirmwareOptions& options, std::string_view revision);

  /// Slots count from 1.
  bool exists(unsigned slot) const { return slot >= 1 && slot <= options_.slots; }
  bool writable(unsigned slot) const { return exists(slot) && !(slot == 1 && options_.slot_1_read_only); }
  /// What a commit to slot 0 leaves to the controller: the last one that may be written.
  unsigned chosen() const { return options_.slots; }
  /// Empty where there is no image.
  const std::string& revision(unsigned slot) const { return revisions_[slot - 1]; }

  /// The slot that runs, and what runs from it: an image that replaced it meanwhile does not.
  unsigned active() const { return active_; }
  const std::string& running() const { return running_; }
  /// The slot that will run after the next reset; 0: it stays.
  unsigned next() const { return next_; }

  void store(unsigned slot, std::string revision) { revisions_[slot - 1] = std::move(revision); }
  void activate(unsigned slot);
  void activate_at_reset(unsigned slot) { next_ = slot; }
  /// True: other firmware runs now.
  bool on_reset(bool of_subsystem);

 private:
  FirmwareOptions options_;
  std::array<std::string, 7> revisions_;
  std::string running_;
  unsigned active_ = 1;
  unsigned next_ = 0;
};

}  // namespace fb::subsystem
