// Flexible Data Placement as hosts see it: I/O Management Receive and Send, log pages 20h to 23h, features 1Dh and 1Eh, and
// where writes go.
#pragma once

#include "model/subsystem/controller_part.h"
#include "model/subsystem/placement.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/logs.h"

namespace fb::subsystem {

class PlacementCommands : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  // ---- I/O ----

  void io_management_receive(const Command& command);
  void io_management_send(const Command& command);
  void io_management_send_data(const Command& command);
  /// Blocks of the namespace have been written by the command, which may say where they belong.
  void written(const Command& command, const Namespace& ns, std::uint64_t slba, std::uint64_t blocks);
  /// An invalid placement identifier is no reason to refuse a write; true: a deviation did, and the command has been answered.
  bool refuses_identifier(const Command& command);
  void deallocated(const Namespace& ns, std::uint64_t slba, std::uint64_t blocks);
  /// The namespace is in an endurance group that has the capability enabled.
  bool placed(const Namespace& ns) const;

  /// A controller level reset changes nothing.
  void on_reset();

  // ---- Admin; false: the command has been answered ----

  bool log_ok(const Command& command, nvme::LogPage page);
  Bytes log(const Command& command, nvme::LogPage page);
  void get_fdp(const Command& command);
  void set_fdp(const Command& command);
  void get_events(const Command& command);
  void set_events(const Command& command);
  void set_events_data(const Command& command);
  bool namespace_fits(const Command& command, ByteView data, NamespaceOptions& made);
  bool format_fits(const Command& command, const Namespace& ns, const nvme::BlockLayout& layout);

 private:
  PlacementTime time() const;
  bool events_address(const Command& command, const Namespace*& ns, std::uint16_t& handle);
  bool update_fits(const Command& command, const Placement::Handles& handles);
  bool list_fits(const Command& command, std::uint16_t group, const std::vector<std::uint16_t>& list);
};

}  // namespace fb::subsystem
