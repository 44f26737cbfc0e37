#include "model/mi/basic_management.h"

#include <algorithm>

#include "model/subsystem/controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/mctp/crc.h"

namespace fb::mi {

namespace {

constexpr std::size_t kStatusBytes = 6;
constexpr std::size_t kIdentityBytes = 22;

/// PEC of a block read: both addresses and the command code count.
std::uint8_t block_pec(std::uint8_t code, ByteView block) {
  const std::uint8_t before[] = {kBasicAddress, code, kBasicAddress | 1};
  return mctp::pec(block, mctp::pec(before));
}

}  // namespace

std::array<std::uint8_t, kBasicBlockSize> basic_management(Device& device, bool arbitration) {
  Record<BasicStatus> status;
  status.set(basic_status::length, kStatusBytes)
      .set(basic_status::ones, 3u)
      .set(basic_status::p0la, device.link_active(0))
      .set(basic_status::p1la, device.link_active(1))
      .set(basic_status::rnr, !device.reset_required())
      .set(basic_status::df, device.functional())
      .set(basic_status::not_ready, false)
      .set(basic_status::arbitration, arbitration)
      .set(basic_status::warnings, ~device.warnings() & 0xFFu)
      .set(basic_status::ctemp, device.temperature_code())
      .set(basic_status::pdlu, device.subsystem().percentage_used());
  Record<BasicIdentity> identity;
  const subsystem::SubsystemOptions& facts = device.subsystem().options();
  identity.set(basic_identity::length, kIdentityBytes).set(basic_identity::vid, facts.vid);
  set_text(identity, basic_identity::serial, facts.serial, ' ');
  std::array<std::uint8_t, kBasicBlockSize> block{};
  const auto rest = std::copy(status.bytes().begin(), status.bytes().end(), block.begin());
  *rest = block_pec(0, status.bytes());
  const auto end = std::copy(identity.bytes().begin(), identity.bytes().end(), block.begin() + kBasicIdentityAt);
  *end = block_pec(kBasicIdentityAt, identity.bytes());
  return block;
}

}  // namespace fb::mi
