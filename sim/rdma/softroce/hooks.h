// Where a deliberate departure from the protocol can be switched on in the honest device. The
// engines ask by name at rare or cheap branches; the default answers no to everything.
#pragma once

#include <string_view>

#include "base/bytes.h"

namespace fb::softroce {

class SoftHooks {
 public:
  virtual ~SoftHooks() = default;
  /// True when the device shall depart from the protocol at `point` (see kSoftDeparturePoints).
  virtual bool departs(std::string_view point) {
    (void)point;
    return false;
  }
  /// Every packet on its way out, from the BTH to the pad, before the ICRC is computed over it.
  virtual void packet_out(MutableBytes packet) { (void)packet; }
  /// Every MAD (256 bytes) on its way out. False swallows it.
  virtual bool mad_out(MutableBytes mad) {
    (void)mad;
    return true;
  }
};

}  // namespace fb::softroce
