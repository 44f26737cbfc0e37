// The status of a completion as a value, and the name of every code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/nvme/status_codes.h"

namespace fb::nvme {

/// 1/80h to 1/BFh mean one thing in the answer to a Fabrics command and another in the answer to a command of an
/// I/O command set.
enum class StatusFamily : std::uint8_t { unknown, fabrics, command_set };

/// Of the command with that opcode.
constexpr StatusFamily status_family(std::uint8_t opcode) { return opcode == 0x7F ? StatusFamily::fabrics : StatusFamily::command_set; }

/// The 15 status bits of a completion, without the phase tag. On the wire they stand one bit
/// higher: the last word of an entry is raw() << 1 | phase. A status that comes out of an entry does not know which
/// command it answers; who does says so with of(), and the status is then named by that command.
class Status {
 public:
  constexpr Status() = default;
  static constexpr Status from_raw(std::uint16_t raw) {
    Status status;
    status.raw_ = static_cast<std::uint16_t>(raw & 0x7FFF);
    return status;
  }
  static constexpr Status make(unsigned sct, unsigned sc) { return from_raw(static_cast<std::uint16_t>((sct & 7) << 8 | (sc & 0xFF))); }

  constexpr StatusFamily family() const { return family_; }
  constexpr Status of(StatusFamily family) const {
    Status status = *this;
    status.family_ = family;
    return status;
  }
  /// In the answer to the command with that opcode.
  constexpr Status of(std::uint8_t opcode) const { return of(status_family(opcode)); }

  constexpr std::uint16_t raw() const { return raw_; }
  constexpr unsigned sc() const { return raw_ & 0xFFu; }
  constexpr unsigned sct() const { return raw_ >> 8 & 7u; }
  constexpr unsigned crd() const { return raw_ >> 11 & 3u; }
  constexpr bool more() const { return (raw_ & kMore) != 0; }
  constexpr bool dnr() const { return (raw_ & kDnr) != 0; }
  constexpr bool ok() const { return (raw_ & 0x7FF) == 0; }

  constexpr Status with_dnr(bool on = true) const { return with(kDnr, on); }
  constexpr Status with_more(bool on = true) const { return with(kMore, on); }
  constexpr Status with_crd(unsigned crd) const {
    return from_raw(static_cast<std::uint16_t>((raw_ & ~0x1800u) | (crd & 3) << 11)).of(family_);
  }
  /// Type and code alone.
  constexpr Status code() const { return make(sct(), sc()).of(family_); }

  /// Compares every bit of the wire; same_code() compares type and code.
  constexpr bool operator==(const Status& other) const { return raw_ == other.raw_; }

 private:
  static constexpr std::uint16_t kMore = 1u << 13;
  static constexpr std::uint16_t kDnr = 1u << 14;
  constexpr Status with(std::uint16_t bit, bool on) const {
    return from_raw(static_cast<std::uint16_t>(on ? raw_ | bit : raw_ & ~bit)).of(family_);
  }
  std::uint16_t raw_ = 0;
  StatusFamily family_ = StatusFamily::unknown;
};

constexpr bool same_code(Status a, Status b) { return a.code() == b.code(); }

enum class StatusCodeType : std::uint8_t {
  generic = 0,
  command_specific = 1,
  media = 2,
  path = 3,
  vendor = 7,
};

/// Status values by name. 1/80h and up mean different things for a Fabrics command and for an NVM
/// command, so that two names may be one value.
namespace sc {
#define FB_NVME_STATUS_CONSTANT(type, code, id, name) inline constexpr Status id = Status::make(type, code);
#define FB_NVME_FABRICS_CONSTANT(type, code, id, name) inline constexpr Status id = Status::make(type, code).of(StatusFamily::fabrics);
#define FB_NVME_COMMAND_SET_CONSTANT(type, code, id, name) \
  inline constexpr Status id = Status::make(type, code).of(StatusFamily::command_set);
FB_NVME_GENERIC_STATUS(FB_NVME_STATUS_CONSTANT)
FB_NVME_COMMAND_STATUS(FB_NVME_STATUS_CONSTANT)
FB_NVME_FABRICS_STATUS(FB_NVME_FABRICS_CONSTANT)
FB_NVME_FABRICS_COMMON_STATUS(FB_NVME_STATUS_CONSTANT)
FB_NVME_COMMAND_SET_STATUS(FB_NVME_COMMAND_SET_CONSTANT)
FB_NVME_MEDIA_AND_PATH_STATUS(FB_NVME_STATUS_CONSTANT)
#undef FB_NVME_STATUS_CONSTANT
#undef FB_NVME_FABRICS_CONSTANT
#undef FB_NVME_COMMAND_SET_CONSTANT
}  // namespace sc

/// The name of a code by its family, "Vendor Specific" or "Reserved". Where the family is not known and the code has a
/// meaning in both, both: "Connect Invalid Parameters or Attempted Write to Read Only Range".
std::string name_of(Status status);

/// "1/82h".
std::string code_text(Status status);

/// "Connect Invalid Parameters (1/82h)".
std::string to_string(Status status);

}  // namespace fb::nvme
