// Where an endpoint speaks and listens. The honest endpoint goes on as the specification says; deviations
// and scripts override these to make it depart, or to watch. Without hooks nothing is asked.
#pragma once

#include <string_view>
#include <vector>

#include "sim/mctp/port.h"

namespace fb::mctp {

class EndpointHooks {
 public:
  virtual ~EndpointHooks() = default;

  /// Asked at each named point of departure (sim/mctp/fault_points.h): true breaks the rule there.
  virtual bool departs(std::string_view point) {
    (void)point;
    return false;
  }
  /// A packet on its way out, header and payload: it may be changed, left out, or joined by others.
  virtual void packets_out(PhysicalAddress& to, std::vector<Bytes>& packets) { (void)to, (void)packets; }
  /// A packet that came in, before any rule is applied to it. Empty: it is not looked at.
  virtual void packet_in(const PhysicalAddress& from, Bytes& packet) { (void)from, (void)packet; }
  /// A frame on its way out, as the binding made it around a packet: header, check and all.
  virtual void frame_out(Bytes& frame) { (void)frame; }
  /// A frame that came in, before the binding looks at it; on a serial line, bytes as they came. Empty: it is
  /// not looked at.
  virtual void frame_in(Bytes& frame) { (void)frame; }
  /// The answer to a control request. False: none is given.
  virtual bool control_answer(ByteView request, Bytes& answer) {
    (void)request, (void)answer;
    return true;
  }
};

}  // namespace fb::mctp
