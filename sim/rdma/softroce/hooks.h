// Where a deliberate departure from the protocol can be switched on in the honest device. The
// engines ask by name at rare or cheap branches; the default answers no to everything.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace fb::softroce {

class SoftHooks {
 public:
  virtual ~SoftHooks() = default;
  /// True when the device shall depart from the protocol at `point` (see kSoftFaultPoints).
  virtual bool departs(std::string_view point) {
    (void)point;
    return false;
  }
  /// A message begins that takes a receive: what else but a missing receive may stand in its way.
  enum class Receiver : std::uint8_t {
    ready,
    not_ready,  ///< RNR NAK, as if no receive were there
    broken      ///< the queue pair fails: NAK Remote Operational Error
  };
  virtual Receiver receiver() { return Receiver::ready; }
  /// A packet of an RDMA WRITE or READ uses a valid key: true when it has just been lost.
  virtual bool key_lost() { return false; }
  /// Every packet on its way out, from the BTH to the pad, before the ICRC is computed over it.
  virtual void packet_out(MutableBytes packet) { (void)packet; }
  /// Every MAD (256 bytes) on its way out. False swallows it.
  virtual bool mad_out(MutableBytes mad) {
    (void)mad;
    return true;
  }
};

}  // namespace fb::softroce
