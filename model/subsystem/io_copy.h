// Copy.
#pragma once

#include "model/subsystem/controller_part.h"
#include "wire/nvme/copy.h"

namespace fb::subsystem {

class CopyCommand : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  void copy(const Command& command);
  void copy_data(const Command& command);

 private:
  friend class Controller;

  bool copy_format_enabled(unsigned format) const;
  Namespace* copy_source(const Command& command, std::uint32_t nsid);
  bool copy_compatible(const Command& command, const nvme::BlockLayout& from, const nvme::BlockLayout& to);
  bool check_copied(const Command& command, const nvme::CopySource& source, const nvme::BlockLayout& layout, ByteView blocks);
  bool tag_copied(const Command& command, const nvme::BlockLayout& layout, MutableBytes blocks);
};

}  // namespace fb::subsystem
