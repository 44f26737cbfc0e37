// Namespace Management and Namespace Attachment.
#pragma once

#include "model/subsystem/controller_part.h"
#include "wire/nvme/identify_namespace.h"

namespace fb::subsystem {

class NamespaceCommands : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  void namespace_management(const Command& command);
  void namespace_management_data(const Command& command);
  void namespace_attachment(const Command& command);
  void namespace_attachment_data(const Command& command);

 private:
  friend class Controller;

  bool endurance_fits(const Command& command, const View<nvme::IdentifyNamespace>& asked, NamespaceOptions& made);
  std::uint64_t room_for(const NamespaceOptions& made) const;
  void delete_namespace(const Command& command);
  bool attach_one(const Command& command, Namespace& ns, std::uint16_t cntlid);
};

}  // namespace fb::subsystem
