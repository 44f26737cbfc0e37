// Identify: each data structure, made from what the controller and its namespaces are now.
#pragma once

#include "model/subsystem/controller_part.h"

namespace fb::subsystem {

class IdentifyCommand : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  std::uint32_t optional_events() const;
  void identify(const Command& command);
  void fill_identify_namespace(const Namespace& ns, MutableBytes page) const;

 private:
  friend class Controller;

  bool identify_format_page(const Command& command, MutableBytes page);
  void fill_granularity(MutableBytes page) const;
  void fill_nvm_namespace(const Namespace* ns, MutableBytes page) const;
  /// Null: what namespaces have that hosts make.
  void fill_zoned_namespace(const Namespace* ns, MutableBytes page) const;
  /// CNS 05h and 1Bh of a key value namespace, or of the Key Value command set.
  bool key_value_page(const Command& command, const Namespace& ns, MutableBytes page);
  /// Null: what all namespaces have of it.
  void fill_key_value_namespace(const Namespace* ns, MutableBytes page) const;
  bool identify_allocated_page(const Command& command, MutableBytes page);
  bool identify_controllers_page(const Command& command, MutableBytes page);
  bool identify_page(const Command& command, MutableBytes page);
  bool identify_namespace_page(const Command& command, MutableBytes page);
  bool identify_list_page(const Command& command, MutableBytes page);
  void fill_identify_controller(MutableBytes page) const;
  void fill_io_controller(MutableBytes page) const;
  void fill_common_namespace(MutableBytes page) const;
  void fill_namespace_ids(const Namespace& ns, MutableBytes page) const;
  void fill_common_independent(MutableBytes page) const;
  void fill_independent(const Namespace& ns, MutableBytes page) const;
};

}  // namespace fb::subsystem
