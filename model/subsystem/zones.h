// The zones of a zoned namespace: their states, write pointers and attributes, and the resources that limit how many
// may be open and active (Zoned Namespace command set, "Theory of operation").
//
// The table knows what is allowed and what a command leads to; who asks first and changes afterwards is the
// controller. What a deviation lets through changes as much as is possible.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "model/subsystem/options.h"
#include "wire/nvme/zones.h"

namespace fb::subsystem {

/// What an action of Zone Management Send means for a zone in some state.
enum class ZoneStep : std::uint8_t {
  change,
  none,     ///< it is what the action leads to already
  refused,  ///< Invalid Zone State Transition
};
ZoneStep step_of(nvme::ZoneState state, nvme::ZoneSendAction action);
/// Select All takes zones in this state.
bool all_takes(nvme::ZoneState state, nvme::ZoneSendAction action);

class ZoneTable {
 public:
  ZoneTable(const ZoneOptions& options, std::uint64_t blocks);

  const ZoneOptions& options() const { return options_; }
  std::uint64_t zone_blocks() const { return options_.zone_blocks; }
  std::size_t count() const { return zones_.size(); }
  std::size_t extension_bytes() const { return options_.extension_units * nvme::kZoneExtensionUnit; }
  /// The zone that a block is in; the block must be inside the namespace.
  std::size_t index_of(std::uint64_t lba) const { return static_cast<std::size_t>(lba / options_.zone_blocks); }
  std::uint64_t start_of(std::size_t index) const { return index * options_.zone_blocks; }
  bool is_start(std::uint64_t lba) const { return lba % options_.zone_blocks == 0 && index_of(lba) < count(); }
  nvme::ZoneState state(std::size_t index) const { return zones_[index].state; }
  std::uint64_t capacity(std::size_t index) const { return zones_[index].capacity; }
  /// The next block to be written, also where the report says that there is none.
  std::uint64_t write_pointer(std::size_t index) const { return start_of(index) + zones_[index].written; }
  std::uint8_t attributes(std::size_t index) const { return zones_[index].attributes; }
  /// As a report has it; the extension too where there is one.
  nvme::ZoneFacts facts(std::size_t index) const;

  // ---- what stands in the way ----

  /// The range lies in more than one zone.
  bool crosses(std::uint64_t slba, std::uint64_t blocks) const { return index_of(slba) != index_of(slba + blocks - 1); }
  /// A write of so many blocks there ends behind what the zone can hold.
  bool exceeds(std::uint64_t slba, std::uint64_t blocks) const;
  /// One of the zones that the range touches is offline.
  bool offline(std::uint64_t slba, std::uint64_t blocks) const;
  /// What it takes to open the zone, or to make it active, is not there. `waits` counts zones that take their share
  /// first.
  bool lacks_active(std::size_t index, std::size_t waits = 0) const;
  bool lacks_open(std::size_t index, std::size_t waits = 0) const;
  /// No more Zone Random Write Areas may be allocated.
  bool lacks_random(std::size_t others = 0) const {
    return options_.zrwa_count != 0 && random_ + random_leaked_ + others >= options_.zrwa_count;
  }
  std::size_t active() const { return active_; }
  std::size_t open() const { return open_; }

  // ---- Zone Random Write Areas ----

  bool has_random(std::size_t index) const { return (zones_[index].attributes & nvme::zone_attribute_bits::zrwa_valid) != 0; }
  /// Areas that are allocated.
  std::size_t random() const { return random_; }
  /// Blocks that the write pointer moves by, in multiples of `granularity`, so that a write up to `end` lies in the area.
  std::uint64_t slide_of(std::size_t index, std::uint64_t end, std::uint64_t granularity) const;
  void allocate_random(std::size_t index);
  /// The zone keeps its state.
  void release_random(std::size_t index);
  /// A write into the area, or a flush of it: so many blocks before it are committed.
  void commit(std::size_t index, std::uint64_t blocks);
  /// A deviation: an area that has ended is counted on.
  void leak_random() { ++random_leaked_; }

  // ---- what commands lead to ----

  /// Blocks from the write pointer on have been written.
  void write(std::uint64_t slba, std::uint64_t blocks);
  void open_zone(std::size_t index);
  /// As a write would have done.
  void open_implicitly(std::size_t index);
  void close(std::size_t index);
  void finish(std::size_t index);
  /// True: the capacity of the zone has changed.
  bool reset(std::size_t index);
  void take_offline(std::size_t index);
  void set_extension(std::size_t index, ByteView data);

  // ---- what happens to zones ----

  void make_read_only(std::size_t index);
  /// An excursion: an active zone becomes full without anybody's wish. False: the zone is not active.
  bool excursion(std::size_t index);
  /// Sets or clears Reset Zone Recommended and Finish Zone Recommended.
  void recommend(std::size_t index, std::uint8_t attributes);
  /// NVM Subsystem Reset, loss of power, or all controllers shut down.
  void on_subsystem_reset();
  /// The namespace has become write protected: the zones that were full of it.
  std::vector<std::size_t> on_write_protected();
  /// A deviation: a zone that has ended is counted on.
  void leak() { ++leaked_; }
  /// All are as new: empty, but for those that are offline, if those are to stay.
  void initialize(bool keep_offline);
  /// Every zone that can be is full: a sanitize operation left its pattern.
  void fill();
  /// The namespace has other blocks, or more of them.
  void reshape(std::uint64_t zone_blocks, std::uint64_t capacity, std::uint64_t blocks);

 private:
  struct Zone {
    nvme::ZoneState state = nvme::ZoneState::empty;
    std::uint8_t attributes = 0;
    std::uint64_t written = 0;
    std::uint64_t capacity = 0;
    std::uint32_t resets = 0;
    Bytes extension;
  };
  static bool is_open(nvme::ZoneState state) {
    return state == nvme::ZoneState::implicitly_opened || state == nvme::ZoneState::explicitly_opened;
  }
  static bool is_active(nvme::ZoneState state) { return is_open(state) || state == nvme::ZoneState::closed; }
  void move(std::size_t index, nvme::ZoneState to);
  /// An implicitly opened zone is closed where there is no room for one more that is open.
  void make_room(std::size_t index);
  void clear(std::size_t index);

  ZoneOptions options_;
  std::vector<Zone> zones_;
  std::deque<std::size_t> implicit_;  ///< implicitly opened, the longest so first
  std::size_t active_ = 0;
  std::size_t open_ = 0;
  std::size_t leaked_ = 0;
  std::size_t random_ = 0;  ///< zones with a Zone Random Write Area
  std::size_t random_leaked_ = 0;
};

}  // namespace fb::subsystem
