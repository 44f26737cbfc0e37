#include "wire/mctp/serial.h"

namespace fb::mctp::serial {

std::string_view name_of(Fault fault) {
  switch (fault) {
    case Fault::revision:
      return "revision";
    case Fault::count:
      return "byte count";
    case Fault::escape:
      return "escape";
    case Fault::truncated:
      return "truncated";
    case Fault::fcs:
      return "FCS";
    case Fault::end:
      return "end flag";
  }
  return "unknown";
}

void encode(Bytes& out, ByteView packet) {
  BENCH_ASSERT(packet.size() <= 255, "the byte count is one byte");
  out.push_back(kFlag);
  out.push_back(kRevision);
  out.push_back(static_cast<std::uint8_t>(packet.size()));
  std::uint16_t check = fcs_add(fcs_add(kFcsStart, kRevision), out.back());
  for (const std::uint8_t byte : packet) {
    check = fcs_add(check, byte);
    if (byte == kFlag || byte == kEscape) {
      out.push_back(kEscape);
      out.push_back(byte ^ kEscapeBit);
    } else {
      out.push_back(byte);
    }
  }
  out.push_back(static_cast<std::uint8_t>(check >> 8));
  out.push_back(static_cast<std::uint8_t>(check & 0xFF));
  out.push_back(kFlag);
}

Deframer::Step Deframer::give_up(Fault fault, State next) {
  fault_ = fault;
  state_ = next;
  fresh_ = false;
  return Step::fault;
}

Deframer::Step Deframer::keep(std::uint8_t byte) {
  fcs_ = fcs_add(fcs_, byte);
  packet_[filled_++] = byte;
  state_ = filled_ == wanted_ ? State::fcs_high : State::data;
  return Step::none;
}

Deframer::Step Deframer::push(std::uint8_t byte) {
  switch (state_) {
    case State::idle:
      if (byte == kFlag) state_ = State::flagged;
      return Step::none;
    case State::flagged:
      // The flag that ended one frame may begin the next; two in a row are no fault.
      if (byte == kFlag) {
        fresh_ = false;
        return Step::none;
      }
      if (byte != kRevision) {
        // Behind a good frame this is the noise of an idle line, not a frame of another revision.
        if (fresh_) {
          fresh_ = false;
          state_ = State::idle;
          return Step::none;
        }
        return give_up(Fault::revision, State::idle);
      }
      fcs_ = fcs_add(kFcsStart, byte);
      state_ = State::count;
      return Step::none;
    case State::count:
      if (byte == 0 || byte > packet_max_) {
        return give_up(Fault::count, byte == kFlag ? State::flagged : State::idle);
      }
      fcs_ = fcs_add(fcs_, byte);
      wanted_ = byte;
      filled_ = 0;
      state_ = State::data;
      return Step::none;
    case State::data:
      if (byte == kFlag) return give_up(Fault::truncated, State::flagged);
      if (byte == kEscape) {
        state_ = State::escaped;
        return Step::none;
      }
      return keep(byte);
    case State::escaped:
      if (byte == kFlag) return give_up(Fault::truncated, State::flagged);
      if (unescape_ == Unescape::set_bit) return keep(byte | kEscapeBit);
      if (unescape_ == Unescape::strict && byte != (kFlag ^ kEscapeBit) && byte != (kEscape ^ kEscapeBit)) {
        return give_up(Fault::escape, State::idle);
      }
      return keep(byte ^ kEscapeBit);
    case State::fcs_high:
      received_ = static_cast<std::uint16_t>(byte << 8);
      state_ = State::fcs_low;
      return Step::none;
    case State::fcs_low:
      received_ = static_cast<std::uint16_t>(received_ | byte);
      state_ = State::end;
      return Step::none;
    case State::end:
      if (byte != kFlag) return give_up(Fault::end, State::idle);
      if (received_ != fcs_) return give_up(Fault::fcs, State::flagged);
      state_ = State::flagged;
      fresh_ = true;
      return Step::packet;
  }
  return Step::none;
}

}  // namespace fb::mctp::serial
