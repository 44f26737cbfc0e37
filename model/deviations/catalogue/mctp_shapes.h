// Shapes of hand-written deviations of an endpoint's MCTP side: one function at one of the places where it speaks
// or listens.
#pragma once

#include <utility>
#include <vector>

#include "model/deviations/deviation.h"
#include "model/drive/drive.h"
#include "sim/mctp/fault_points.h"
#include "wire/mctp/control.h"

namespace fb::deviations {

/// Changes each packet on its way out; header and payload, at least five bytes.
template <auto Change>
class PacketsOut final : public mctp::EndpointHooks {
 public:
  void packets_out(mctp::PhysicalAddress&, std::vector<Bytes>& packets) override {
    for (Bytes& packet : packets) Change(packet);
  }
};

/// Changes each packet on its way in; cleared, it was never there.
template <auto Change>
class PacketsIn final : public mctp::EndpointHooks {
 public:
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override {
    if (packet.size() > 4) Change(packet);
  }
};

/// Changes answers to control requests; false withholds one.
template <auto Change>
class ControlAnswers final : public mctp::EndpointHooks {
 public:
  bool control_answer(ByteView request, Bytes& answer) override {
    if constexpr (std::is_void_v<decltype(Change(request, answer))>) {
      Change(request, answer);
      return true;
    } else {
      return Change(request, answer);
    }
  }
};

/// Changes each frame on its way out, or in.
template <auto Change>
class FramesOut final : public mctp::EndpointHooks {
 public:
  void frame_out(Bytes& frame) override { Change(frame); }
};
template <auto Change>
class FramesIn final : public mctp::EndpointHooks {
 public:
  void frame_in(Bytes& frame) override { Change(frame); }
};

namespace shape {

inline bool som(const Bytes& packet) { return (packet[3] & 0x80) != 0; }
inline bool eom(const Bytes& packet) { return (packet[3] & 0x40) != 0; }
inline std::uint8_t tag(const Bytes& packet) { return packet[3] & 7; }
/// The first packet of a control message.
inline bool starts_control(const Bytes& packet) { return packet.size() > 6 && som(packet) && (packet[4] & 0x7F) == 0; }
inline bool is(ByteView message, mctp::control::Command command) {
  return message.size() > 2 && message[2] == static_cast<std::uint8_t>(command);
}
inline bool is_answer_to(const Bytes& answer, mctp::control::Command command) { return is(answer, command); }
inline bool succeeded(const Bytes& answer) { return answer.size() > 3 && answer[3] == 0; }
inline Bytes refusal(ByteView request, mctp::control::Completion why) { return mctp::control::make_response(request, why); }

}  // namespace shape

}  // namespace fb::deviations
