// Directive Send and Directive Receive: Identify and Streams.
#pragma once

#include "model/subsystem/controller_part.h"
#include "wire/nvme/directives.h"

namespace fb::subsystem {

class DirectiveCommands : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  void directive(const Command& command);
  bool directive_ok(const Command& command);
  void use_stream(const Command& command);
  void reset_directives();

 private:
  friend class Controller;

  bool directive_supported(nvme::DirectiveType type) const;
  bool streams_enabled(std::uint32_t nsid) const;
  Bytes directive_parameters(std::uint32_t nsid) const;
  Bytes stream_parameters(std::uint32_t nsid) const;
  Bytes stream_status(std::uint32_t nsid) const;
  void enable_directive(const Command& command);
  void enable_placement(const Command& command, bool on);
  void send_streams(const Command& command);
  void allocate_streams(const Command& command);
};

}  // namespace fb::subsystem
