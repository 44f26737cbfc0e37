// Endurance groups and NVM sets of a subsystem: how its capacity is divided, and the health of each group (base
// specification, Endurance Groups, NVM Sets, Capacity Management).
#pragma once

#include <cstdint>
#include <map>

#include "base/bytes.h"
#include "model/subsystem/namespace.h"

namespace fb::subsystem {

class Subsystem;

class EnduranceGroups {
 public:
  struct Group {
    std::uint64_t capacity = 0;
    std::uint8_t warning = 0;
    std::uint8_t available_spare = 100;
    std::uint8_t percentage_used = 0;
    IoTotals deleted;  ///< of namespaces that are gone
  };
  struct Set {
    std::uint16_t group = 0;
    std::uint64_t capacity = 0;
  };

  EnduranceGroups(Subsystem& subsystem, const EnduranceOptions& options, std::uint64_t capacity);

  const std::map<std::uint16_t, Group>& groups() const { return groups_; }
  const std::map<std::uint16_t, Set>& sets() const { return sets_; }
  bool has(std::uint16_t group) const { return groups_.contains(group); }
  bool has_set(std::uint16_t set) const { return sets_.contains(set); }

  /// Bytes that are in no group, in no set of a group (or namespace, without sets), in no namespace of a set.
  std::uint64_t unallocated() const;
  std::uint64_t unallocated_of(std::uint16_t group) const;
  std::uint64_t unallocated_of_set(std::uint16_t set) const;

  /// 0: no identifier is left. The room must be there.
  std::uint16_t make_group(std::uint64_t bytes);
  std::uint16_t make_set(std::uint16_t group, std::uint64_t bytes);
  /// With everything in it, namespaces too.
  void remove_group(std::uint16_t group);
  void remove_set(std::uint16_t set);

  /// Bits of the group's critical warning; hosts that want to know are told of those that were not set before.
  void set_warning(std::uint16_t group, std::uint8_t bits);
  /// Those that some group has, and those that every group has.
  std::uint8_t warnings() const;
  std::uint8_t common_warnings() const;
  void note_removed(const Namespace& ns);
  /// Where a namespace goes that names no group, or no set; 0: there is none.
  std::uint16_t first_group() const { return groups_.empty() ? std::uint16_t{0} : groups_.begin()->first; }
  std::uint16_t first_set_of(std::uint16_t group) const;

  /// Log page 09h.
  Bytes log(std::uint16_t group) const;
  /// CNS 19h and 04h, from an identifier on.
  void fill_group_list(MutableBytes page, std::uint16_t from) const;
  void fill_set_list(MutableBytes page, std::uint16_t from) const;

 private:
  template <class Chosen>
  std::uint64_t namespace_bytes(Chosen&& chosen) const;
  template <class Chosen>
  void remove_namespaces(Chosen&& chosen);

  Subsystem& subsystem_;
  const EnduranceOptions& options_;
  std::uint64_t capacity_;
  std::map<std::uint16_t, Group> groups_;
  std::map<std::uint16_t, Set> sets_;
};

}  // namespace fb::subsystem
