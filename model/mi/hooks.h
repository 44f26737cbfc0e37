// Where the management endpoint and the requester speak. The honest models call these and go on as the
// specification says; deviations and scripts override them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/time.h"
#include "wire/mi/message.h"

namespace fb::mi {

/// A message as the hooks see it: from the header on, without its check.
struct MessageContext {
  ByteView request;
  bool in_band = false;

  MessageKind kind() const { return request.size() < 2 ? MessageKind::control_primitive : View<MessageHeader>{request}.get(header::nmimt); }
  unsigned slot() const { return request.size() < 4 ? 0 : request[1] & 1u; }
  std::uint8_t opcode() const { return request.size() > 4 ? request[4] : std::uint8_t{0}; }
};

/// Why the honest endpoint is about to discard or refuse a message. Each check has a stable name
/// ("mi.vpd.dlen").
struct Refusal {
  std::string_view check;
  Status status = Status::success;
  ParameterError at;
  bool discards = false;
};

class EndpointHooks {
 public:
  virtual ~EndpointHooks() = default;

  /// Asked at each named point of departure: true makes the endpoint misbehave just there.
  virtual bool departs(std::string_view point) {
    (void)point;
    return false;
  }
  /// A check failed. May change the refusal; false makes the endpoint go on as if it had passed.
  virtual bool refuses(const MessageContext& message, Refusal& refusal) {
    (void)message;
    (void)refusal;
    return true;
  }
  /// A message arrived whole, with its check, before anything is looked at. False: it is not seen.
  virtual bool message_in(ByteView message) {
    (void)message;
    return true;
  }
  /// A command is about to be executed. A status answers it at once instead.
  virtual std::optional<Status> admission(const MessageContext& message) {
    (void)message;
    return std::nullopt;
  }
  /// Time that the command takes beyond what the options say.
  virtual Duration delay(const MessageContext& message) {
    (void)message;
    return {};
  }
  /// A response (or MPR, or primitive's response, or event) before its check is computed.
  virtual void response(const MessageContext& message, Bytes& body) {
    (void)message;
    (void)body;
  }
  /// What to do with a message on its way out; it has its check, and may be changed.
  enum class Delivery : std::uint8_t { send, withhold, send_twice };
  virtual Delivery message_out(const MessageContext& message, Bytes& bytes) {
    (void)message;
    (void)bytes;
    return Delivery::send;
  }
  /// What a plain slave of the drive's SMBus sends: the basic management command, or the memory
  /// of the vital product data, from `offset` on.
  enum class Slave : std::uint8_t { basic_management, vpd_memory };
  virtual void slave_read(Slave slave, std::size_t offset, Bytes& bytes) {
    (void)slave;
    (void)offset;
    (void)bytes;
  }
};

/// Of a product that nobody looks into: they change nothing.
inline EndpointHooks& no_endpoint_hooks() {
  static EndpointHooks honest;
  return honest;
}

class RequesterHooks {
 public:
  virtual ~RequesterHooks() = default;
  virtual bool departs(std::string_view point) {
    (void)point;
    return false;
  }
  /// A request on its way out, with its check.
  virtual void message_out(Bytes& bytes) { (void)bytes; }
  /// A message that arrived, before the requester looks at it.
  virtual void message_in(ByteView message) { (void)message; }
};

inline RequesterHooks& no_requester_hooks() {
  static RequesterHooks honest;
  return honest;
}

}  // namespace fb::mi
