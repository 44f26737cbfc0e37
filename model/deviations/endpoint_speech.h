// Hooks of a management endpoint that consist of one function, for deviations that no table expresses:
//
//   void short_by_one(const mi::MessageContext& message, Bytes& body) { ... }
//   DEVIATION(..., hooks<ResponseChanged, &short_by_one>());
#pragma once

#include <cstdint>
#include <optional>

#include "model/mi/hooks.h"

namespace fb::deviations {

inline bool is_mi(const mi::MessageContext& message, mi::Opcode opcode) {
  return message.kind() == mi::MessageKind::mi_command && message.opcode() == static_cast<std::uint8_t>(opcode);
}
/// A byte of the request; 0 behind its end.
inline std::uint8_t request_byte(const mi::MessageContext& message, std::size_t at) {
  return message.request.size() > at ? message.request[at] : std::uint8_t{0};
}
inline std::uint32_t request_dword(const mi::MessageContext& message, std::size_t at) {
  return message.request.size() >= at + 4 ? load_le<std::uint32_t>(message.request.data() + at) : 0u;
}
/// NMD0 and NMD1 of MI and PCIe commands.
inline std::uint32_t nmd0_of(const mi::MessageContext& message) { return request_dword(message, 8); }
inline std::uint32_t nmd1_of(const mi::MessageContext& message) { return request_dword(message, 12); }
inline bool is_success(const Bytes& body) {
  return body.size() >= mi::kResponseMin && static_cast<mi::Status>(body[4]) == mi::Status::success;
}

/// Changes responses, before their check is computed.
class ResponseChanged final : public mi::EndpointHooks {
 public:
  using Function = void (*)(const mi::MessageContext&, Bytes&);
  explicit ResponseChanged(Function function) : function_(function) {}
  void response(const mi::MessageContext& message, Bytes& body) override { function_(message, body); }

 private:
  Function function_;
};

/// Decides about refusals: false goes on as if the check had passed.
class SomeRefused final : public mi::EndpointHooks {
 public:
  using Function = bool (*)(const mi::MessageContext&, mi::Refusal&);
  explicit SomeRefused(Function function) : function_(function) {}
  bool refuses(const mi::MessageContext& message, mi::Refusal& refusal) override { return function_(message, refusal); }

 private:
  Function function_;
};

/// Answers commands with a status without executing them.
class SomeNotServed final : public mi::EndpointHooks {
 public:
  using Function = std::optional<mi::Status> (*)(const mi::MessageContext&);
  explicit SomeNotServed(Function function) : function_(function) {}
  std::optional<mi::Status> admission(const mi::MessageContext& message) override { return function_(message); }

 private:
  Function function_;
};

}  // namespace fb::deviations
