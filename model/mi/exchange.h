// One command on its way through an agent: the request, and the response as it comes to be.
#pragma once

#include <functional>
#include <memory>

#include "model/mi/hooks.h"
#include "model/subsystem/management.h"
#include "wire/mi/message.h"

namespace fb::mi {

struct Exchange {
  /// From the header on, without the check.
  Bytes request;
  bool in_band = false;

  /// Set when the command is done: from the header on, without the check.
  Bytes response;
  bool done = false;
  /// There is no response: the command resets the subsystem.
  bool resets_subsystem = false;
  /// Called when the command is done after execute() has returned.
  std::function<void()> on_done;
  /// An Admin command that is still being executed.
  std::unique_ptr<subsystem::ManagedCommand> admin;

  template <class L>
  View<L> as() const {
    return View<L>{request};
  }
  std::uint8_t opcode() const { return request[request::opcode.offset]; }
  MessageKind kind() const { return as<MessageHeader>().get(header::nmimt); }
  bool in_buffer() const { return as<MessageHeader>().get(header::meb); }
  MessageContext context() const { return {request, in_band}; }
  /// What follows the fixed part of a request.
  ByteView data_behind(std::size_t fixed) const { return request.size() <= fixed ? ByteView{} : ByteView{request}.subspan(fixed); }
};

/// The header of a response to `request`, and its status.
Bytes begin_response(ByteView request, Status status);
/// Error responses are eight bytes whatever the command.
Bytes error_response(ByteView request, Status status, ParameterError at = {});

}  // namespace fb::mi
