// Flexible Data Placement: what is in which reclaim unit of the endurance groups that have it enabled, what that costs the media,
// and the events that come of it (base specification, Flexible Data Placement).
//
// A reclaim unit is open while a reclaim unit handle refers to it, and full afterwards. A full unit without valid data is erased.
// Where a reclaim group has used up its units, the controller moves what is valid out of the unit with the least of it: the write
// amplification follows from how hosts place their data.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "model/subsystem/options.h"
#include "wire/nvme/fdp.h"

namespace fb::subsystem {

class Namespace;
class Subsystem;

/// When something happens, and what the Timestamp feature says then.
struct PlacementTime {
  Instant now;
  Record<nvme::Timestamp> stamp = {};
};

struct FdpCounters {
  std::uint64_t host_bytes = 0, media_bytes = 0, erased_bytes = 0;
};

class Placement {
 public:
  explicit Placement(Subsystem& subsystem);

  /// Some endurance group has it enabled.
  bool any() const { return !groups_.empty(); }
  bool enabled(std::uint16_t group) const { return groups_.contains(group); }
  /// Feature 1Dh, as Get Features returns it.
  std::uint32_t value(std::uint16_t group) const;
  /// Statistics and events begin anew.
  void set(std::uint16_t group, bool on, unsigned index);
  /// The endurance group is gone.
  void forget_group(std::uint16_t group);
  /// Of a group that has it enabled.
  const FdpConfiguration& configuration(std::uint16_t group) const;

  // ---- namespaces ----

  struct Handles {
    std::uint16_t group = 0;  ///< endurance group
    std::vector<std::uint16_t> list;
    bool host_specified = false;
  };
  /// Null: the namespace is in no group that has it enabled.
  const Handles* handles_of(std::uint32_t nsid) const;
  /// The handle that namespaces share which name none; handles() where there is none left.
  std::uint16_t chosen_handle(std::uint16_t group) const;
  bool controller_specified(std::uint16_t group, std::uint16_t handle) const;
  /// NSIDs of those that use the handle.
  std::vector<std::uint32_t> users_of(std::uint16_t group, std::uint16_t handle) const;
  std::size_t namespaces_in(std::uint16_t group) const;
  /// Why a namespace cannot have these handles; empty: it can.
  std::string objection(std::uint16_t group, const std::vector<std::uint16_t>& handles) const;
  void add(const Namespace& ns, const std::vector<std::uint16_t>& handles);
  void remove(std::uint32_t nsid);

  // ---- data ----

  struct Write {
    std::uint32_t nsid = 0;
    std::uint64_t lba = 0;
    std::uint64_t blocks = 0;
    std::uint32_t block_bytes = 512;
    bool directed = false;  ///< `id` says where
    std::uint16_t id = 0;
  };
  void write(const Write& write, const PlacementTime& time);
  void deallocate(std::uint32_t nsid, std::uint64_t lba, std::uint64_t blocks);
  /// All data of the namespace.
  void discard(std::uint32_t nsid);
  /// The identifier is one of the namespace's: of its group, and of its handle.
  bool group_valid(const Handles& handles, std::uint16_t id) const;
  bool handle_valid(const Handles& handles, std::uint16_t id) const;
  /// The handle refers to another unit from now on, if there is data in this one.
  void update(std::uint32_t nsid, std::uint16_t id, const PlacementTime& time);
  std::vector<nvme::HandleStatus> statuses(std::uint32_t nsid, std::uint32_t block_bytes, const PlacementTime& time);
  /// Units that were open for longer than they may.
  void expire(std::uint16_t group, const PlacementTime& time);

  // ---- log pages and events ----

  Bytes configurations() const;
  Bytes usage(std::uint16_t group) const;
  Bytes statistics(std::uint16_t group) const;
  Bytes events(std::uint16_t group, bool of_host) const;
  const FdpCounters& counters(std::uint16_t group) const;
  void forget_counters(std::uint16_t group) { at(group).counters = {}; }
  /// The types that there are, ascending.
  std::vector<nvme::FdpEventType> event_types(std::uint16_t group) const;
  bool event_enabled(std::uint16_t group, std::uint16_t handle, nvme::FdpEventType type) const;
  void enable_event(std::uint16_t group, std::uint16_t handle, nvme::FdpEventType type, bool on);

 private:
  struct Unit {
    std::uint64_t written = 0;
    std::uint64_t valid = 0;
    bool open = true;
  };
  /// Where the blocks from an LBA on are.
  struct Extent {
    std::uint64_t blocks = 0;
    std::uint32_t block_bytes = 0;
    std::uint32_t reclaim_group = 0;
    std::uint32_t unit = 0;
    std::uint16_t handle = 0;
  };
  struct Reference {
    std::uint32_t unit = 0;
    Instant since;
  };
  struct ReclaimGroup {
    std::map<std::uint32_t, Unit> units;  ///< those that are not erased
    std::uint32_t next = 1;
    std::map<std::uint16_t, Reference> open;  ///< by handle
    /// Where the controller moves data; by handle, or of all handles that are initially isolated.
    std::map<std::uint16_t, std::uint32_t> collectors;
  };
  using BlockKey = std::pair<std::uint32_t, std::uint64_t>;  ///< NSID and LBA
  struct Group {
    unsigned index = 0;
    const FdpConfiguration* configuration = nullptr;
    std::uint32_t units_max = 0;  ///< of a reclaim group
    std::vector<ReclaimGroup> reclaim_groups;
    std::map<BlockKey, Extent> extents;
    FdpCounters counters;
    std::map<std::uint16_t, std::set<nvme::FdpEventType>> wanted;  ///< events by handle
    std::deque<Bytes> host_events, controller_events;
  };
  struct Event {
    nvme::FdpEventType type = {};
    std::uint32_t nsid = 0;
    std::uint16_t id = 0;
    std::uint32_t reclaim_group = 0;
    std::uint16_t handle = 0;
    std::uint64_t lba = 0;
    std::uint64_t moved = 0;
  };

  Group& at(std::uint16_t group);
  const Group& at(std::uint16_t group) const;
  bool persistent(const Group& group, std::uint16_t handle) const;
  void record(Group& group, const Event& event, const PlacementTime& time);
  Reference& reference(Group& group, std::uint32_t reclaim_group, std::uint16_t handle, const PlacementTime& time);
  void close(Group& group, std::uint32_t reclaim_group, std::uint16_t handle);
  void release_if_empty(Group& group, std::uint32_t reclaim_group, std::uint32_t unit);
  void erase(Group& group, std::uint32_t reclaim_group, std::uint32_t unit);
  bool collect(Group& group, std::uint32_t reclaim_group, const PlacementTime& time);
  void move(Group& group, const BlockKey& key, Extent extent);
  void invalidate(Group& group, std::uint32_t nsid, std::uint64_t lba, std::uint64_t blocks);
  std::uint64_t room(const Group& group, std::uint32_t reclaim_group, std::uint16_t handle) const;
  std::uint32_t roomiest(const Group& group, std::uint16_t handle) const;
  /// The identifier with which the host of a namespace means the handle.
  std::uint16_t identifier(std::uint32_t nsid, std::uint32_t reclaim_group, std::uint16_t handle) const;

  Subsystem& subsystem_;
  std::map<std::uint16_t, Group> groups_;
  std::map<std::uint16_t, std::uint32_t> disabled_values_;
  std::map<std::uint32_t, Handles> namespaces_;
};

}  // namespace fb::subsystem
