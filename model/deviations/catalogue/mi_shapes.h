// Shapes of hand-written deviations of management endpoints: answers that are altered, requests that are read
// otherwise than they were said, checks that are left out for some requests alone.
#pragma once

#include <string_view>

#include "model/deviations/deviation.h"
#include "model/mi/fault_points.h"
#include "model/drive/drive.h"
#include "wire/mi/control.h"
#include "wire/mi/data_structures.h"
#include "wire/mi/health.h"

namespace fb::deviations {

using mi::MessageContext;
using mi::MessageKind;

/// Alters every answer on its way out; its check is made afterwards.
template <void (*Alter)(const MessageContext&, Bytes&)>
class AltersAnswers final : public mi::EndpointHooks {
 public:
  void response(const MessageContext& message, Bytes& body) override {
    if (body.size() >= mi::kResponseMin) Alter(message, body);
  }
};
template <void (*Alter)(const MessageContext&, Bytes&)>
constexpr Effect alters_answers() {
  return hooks<AltersAnswers<Alter>>();
}

/// Leaves out a check for the requests that `Applies` names.
template <bool (*Applies)(const MessageContext&, std::string_view check)>
class ToleratesSome final : public mi::EndpointHooks {
 public:
  bool refuses(const MessageContext& message, mi::Refusal& refusal) override { return !Applies(message, refusal.check); }
};
template <bool (*Applies)(const MessageContext&, std::string_view check)>
constexpr Effect tolerates_some() {
  return hooks<ToleratesSome<Applies>>();
}

/// Reads requests of one packet otherwise than they were said: `Alter` changes one with a good check.
template <void (*Alter)(Bytes& body)>
class MisreadsRequests final : public mctp::EndpointHooks {
 public:
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override {
    constexpr std::size_t kHead = 4;
    constexpr std::uint8_t kWhole = 0xC0;
    const bool whole = packet.size() >= kHead + mi::kHeaderSize + mi::kMicSize && (packet[3] & kWhole) == kWhole;
    if (!whole || packet[kHead] != (mi::kIntegrityBit | mi::kNvmeMiType)) return;
    Bytes body(packet.begin() + kHead, packet.end());
    if (!mi::mic_ok(body)) return;
    body.resize(body.size() - mi::kMicSize);
    Alter(body);
    mi::append_mic(body);
    packet.resize(kHead);
    packet.insert(packet.end(), body.begin(), body.end());
  }
};
template <void (*Alter)(Bytes& body)>
constexpr Effect misreads_requests() {
  return hooks<MisreadsRequests<Alter>>();
}

inline bool is_of(const MessageContext& message, mi::Opcode opcode) {
  return message.kind() == MessageKind::mi_command && message.request.size() >= mi::MiRequest::size &&
         message.opcode() == static_cast<std::uint8_t>(opcode);
}
inline bool is_of(const MessageContext& message, mi::Primitive what) {
  return message.kind() == MessageKind::control_primitive && message.request.size() >= mi::PrimitiveRequest::size &&
         message.opcode() == static_cast<std::uint8_t>(what);
}
inline bool succeeded(ByteView body) { return body[4] == static_cast<std::uint8_t>(mi::Status::success); }
/// A good answer to Read NVMe-MI Data Structure of that type.
inline bool reads(const MessageContext& message, ByteView body, mi::DataType type) {
  return is_of(message, mi::Opcode::read_data_structure) && succeeded(body) &&
         message.request[mi::read_ds::dtyp.offset] == static_cast<std::uint8_t>(type);
}
/// A good answer to the opcode, with data.
inline bool answers(const MessageContext& message, ByteView body, mi::Opcode opcode) {
  return is_of(message, opcode) && succeeded(body) && body.size() > mi::kResponseMin;
}

}  // namespace fb::deviations
