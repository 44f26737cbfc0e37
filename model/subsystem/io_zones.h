// The Zoned Namespace command set.
#pragma once

#include "model/subsystem/controller_part.h"

namespace fb::subsystem {

class ZoneCommands : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  bool zone_takes(const Command& command, Namespace& ns, std::uint64_t slba, std::uint64_t blocks);
  bool zone_readable(const Command& command, const Namespace& ns, std::uint64_t slba, std::uint64_t blocks);
  bool zone_deallocates(const Command& command, const Namespace& ns, std::uint64_t slba, std::uint64_t blocks);
  void zone_written(Namespace& ns, std::uint64_t slba, std::uint64_t blocks);
  /// A deviation: what was written to a Zone Random Write Area is not written again.
  bool overwrite_lost(Namespace& ns, std::uint64_t slba) const;
  void zone_command(const Command& command);
  void zone_append_data(const Command& command);
  void zone_send_data(const Command& command);

 private:
  friend class Controller;

  bool zone_has_resources(const Command& command, ZoneTable& zones, std::size_t index, bool opens, std::size_t waits);
  bool random_takes(const Command& command, const ZoneTable& zones, std::size_t index, std::uint64_t slba, std::uint64_t blocks);
  void random_written(ZoneTable& zones, std::size_t index, std::uint64_t end);
  bool random_allocates(const Command& command, const Namespace& ns, std::size_t index);
  std::size_t random_areas(const Namespace& ns) const;
  void random_flush(const Command& command, Namespace& ns);
  void zone_append(const Command& command, Namespace& ns);
  void zone_send(const Command& command, Namespace& ns);
  void zone_act(const Command& command, Namespace& ns, const std::vector<std::size_t>& chosen);
  nvme::Status zone_step(const Command& command, Namespace& ns, std::size_t index, std::uint64_t& result);
  std::vector<std::size_t> zones_to_report(const Command& command, const ZoneTable& zones) const;
  void zone_receive(const Command& command, Namespace& ns);
};

}  // namespace fb::subsystem
