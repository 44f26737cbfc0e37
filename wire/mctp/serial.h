// MCTP packets on a serial line (DSP0253): flag, revision, byte count, the packet with its flags and
// escapes escaped, frame check sequence, flag.
#pragma once

#include <array>

#include "wire/layout.h"
#include "wire/mctp/crc.h"

namespace fb::mctp::serial {

inline constexpr std::uint8_t kFlag = 0x7E;
inline constexpr std::uint8_t kEscape = 0x7D;
inline constexpr std::uint8_t kEscapeBit = 0x20;
inline constexpr std::uint8_t kRevision = 0x01;
/// The byte count is one byte, and counts the MCTP header.
inline constexpr std::size_t kUnitMax = 251;
/// Flags, revision, count, FCS.
inline constexpr std::size_t kOverhead = 6;

/// Appends the frame around a packet of at most 255 bytes.
void encode(Bytes& out, ByteView packet);

enum class Fault : std::uint8_t {
  revision,
  count,      ///< 0, or more than is taken
  escape,     ///< an escaped byte that need not be
  truncated,  ///< a flag inside the packet
  fcs,
  end,  ///< no flag behind the FCS
};
inline constexpr std::size_t kFaults = 6;
std::string_view name_of(Fault fault);

/// How lenient an escaped byte is read; peers differ.
enum class Unescape : std::uint8_t {
  strict,   ///< 5Eh and 5Dh only
  any,      ///< whatever follows, with bit 5 turned over
  set_bit,  ///< whatever follows, with bit 5 set, as Linux does
};

/// Finds frames in a stream of bytes, and its way back after noise.
class Deframer {
 public:
  enum class Step : std::uint8_t {
    none,    ///< further bytes are needed
    packet,  ///< packet() is whole, until the next byte
    fault    ///< fault() says why a frame was given up
  };

  /// `packet_max` bounds the byte count that is taken, at most 255.
  explicit Deframer(std::size_t packet_max = 255, Unescape unescape = Unescape::strict) : packet_max_(packet_max), unescape_(unescape) {}

  Step push(std::uint8_t byte);
  ByteView packet() const { return {packet_.data(), filled_}; }
  Fault fault() const { return fault_; }
  /// Whether a frame has begun and not ended.
  bool inside() const { return state_ != State::idle && state_ != State::flagged; }

 private:
  enum class State : std::uint8_t { idle, flagged, count, data, escaped, fcs_high, fcs_low, end };
  Step give_up(Fault fault, State next);
  Step keep(std::uint8_t byte);

  std::array<std::uint8_t, 255> packet_{};
  std::size_t packet_max_;
  Unescape unescape_;
  State state_ = State::idle;
  Fault fault_ = Fault::revision;
  bool fresh_ = false;  // the flag before was the end of a good frame
  std::size_t filled_ = 0;
  std::size_t wanted_ = 0;
  std::uint16_t fcs_ = kFcsStart;
  std::uint16_t received_ = 0;
};

}  // namespace fb::mctp::serial
