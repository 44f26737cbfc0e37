// The serial binding: frames, escapes, the frame check sequence, and the way back after noise.
#include <fmt/format.h>

#include "conformance/cases/mctp/exchange.h"

namespace fb::conformance {
namespace {

/// The check by the letter: bit for bit, x16 + x12 + x5 + 1 reflected, from FFFFh, not inverted.
std::uint16_t fcs_of(ByteView bytes, unsigned value = 0xFFFF) {
  for (const std::uint8_t byte : bytes) {
    value ^= byte;
    for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? value >> 1 ^ 0x8408 : value >> 1;
  }
  return static_cast<std::uint16_t>(value);
}

/// A frame by hand, every part as given.
struct SerialFrame {
  std::uint8_t revision = 1;
  int count_off = 0;
  Bytes packet;

  Bytes covered() const {
    Bytes bytes = {revision, static_cast<std::uint8_t>(static_cast<int>(packet.size()) + count_off)};
    bytes.insert(bytes.end(), packet.begin(), packet.end());
    return bytes;
  }
  Bytes with_check(std::uint16_t check) const {
    const Bytes plain = covered();
    Bytes bytes = {0x7E, plain[0], plain[1]};
    for (const std::uint8_t byte : packet) {
      if (byte == 0x7E || byte == 0x7D) bytes.push_back(0x7D);
      bytes.push_back(byte == 0x7E || byte == 0x7D ? static_cast<std::uint8_t>(byte ^ 0x20) : byte);
    }
    bytes.insert(bytes.end(), {static_cast<std::uint8_t>(check >> 8), static_cast<std::uint8_t>(check & 0xFF), 0x7E});
    return bytes;
  }
  Bytes bytes() const { return with_check(fcs_of(covered())); }
};

SerialFrame any_frame(EndpointBench& bench) {
  SerialFrame frame;
  frame.packet = to_bytes(bench.peer().packet(kAnyRequest));
  return frame;
}

/// A frame that came, taken apart as far as it goes.
struct Taken {
  std::uint8_t revision = 0;
  std::uint8_t count = 0;
  Bytes packet;
  std::uint16_t check = 0;
  unsigned escapes = 0;
  std::string fault = {};  ///< where it is no frame
};

/// The next frame from `at` on, which moves behind it.
Taken take(ByteView bytes, std::size_t& at) {
  Taken taken;
  const auto next = [&]() -> int { return at < bytes.size() ? bytes[at++] : -1; };
  const auto broken = [&](const char* why) {
    taken.fault = why;
    at = bytes.size();
    return taken;
  };
  if (next() != 0x7E) return broken("no flag at its start");
  while (at < bytes.size() && bytes[at] == 0x7E) ++at;
  const int revision = next();
  const int count = next();
  if (count < 0) return broken("no byte count");
  taken.revision = static_cast<std::uint8_t>(revision);
  taken.count = static_cast<std::uint8_t>(count);
  while (taken.packet.size() < taken.count) {
    int byte = next();
    if (byte < 0) return broken("less than its byte count says");
    if (byte == 0x7E) return broken("a flag inside its packet");
    if (byte == 0x7D) {
      ++taken.escapes;
      byte = next();
      if (byte != 0x5E && byte != 0x5D) return broken("an escape of something else than 7Eh or 7Dh");
      byte ^= 0x20;
    }
    taken.packet.push_back(static_cast<std::uint8_t>(byte));
  }
  const int high = next();
  const int low = next();
  if (low < 0) return broken("no check");
  taken.check = static_cast<std::uint16_t>(high << 8 | low);
  if (at >= bytes.size() || bytes[at] != 0x7E) return broken("no flag behind its check");
  // The flag may begin the next frame as well.
  if (at + 1 >= bytes.size() || bytes[at + 1] == 0x7E) ++at;
  return taken;
}

/// The frames that the product sends while it is asked.
std::vector<Taken> sent(EndpointBench& bench, Check& check, const std::vector<Bytes>& requests) {
  const std::size_t before = bench.product_frames().size();
  for (const Bytes& request : requests) {
    bench.peer().send_message(request, {.destination = mctp::kNullEid});
    what_comes(bench);
  }
  Bytes line;
  for (std::size_t at = before; at < bench.product_frames().size(); ++at) {
    const Bytes& bytes = bench.product_frames()[at].bytes;
    line.insert(line.end(), bytes.begin(), bytes.end());
  }
  check.require(!line.empty(), "requests are answered", "nothing was sent");
  std::vector<Taken> frames;
  for (std::size_t at = 0; at < line.size();) frames.push_back(take(line, at));
  return frames;
}

}  // namespace

CONFORMANCE_CASE(frames_are_built_as_the_binding_says, "mctp.serial.frame", roles::endpoint, as_found) {
  for (const Taken& frame : sent(bench, check, {kAnyRequest, long_request(bench)})) {
    check.that(frame.fault.empty(), "a whole frame", frame.fault);
    check.equal("revision", frame.revision, 1);
    check.between("byte count", frame.count, std::uint8_t{5}, std::uint8_t{4 + mctp::kBaselineUnit});
  }
}

CONFORMANCE_CASE(flags_and_escapes_in_packets_are_escaped, "mctp.serial.escape", roles::endpoint, as_found) {
  for (const std::uint8_t special : octets<0x7E, 0x7D>) {
    // An EID that is one of the two stands in the answers of Set and Get Endpoint ID.
    unsigned escapes = 0;
    for (const Taken& frame : sent(bench, check, {control_message(Command::set_endpoint_id, Bytes{1, special}), kAnyRequest})) {
      check.that(frame.fault.empty(), fmt::format("a whole frame with {:02X}h in it", special), frame.fault);
      escapes += frame.escapes;
    }
    check.that(escapes >= 2, fmt::format("{:02X}h in the packets of two answers is escaped", special), fmt::format("{} escapes", escapes));
  }
}

CONFORMANCE_CASE(escaped_bytes_in_requests_are_understood, "mctp.serial.unescape", roles::endpoint, as_found) {
  for (const std::uint8_t special : octets<0x7E, 0x7D>) {
    const ControlAnswer answer = bench.control(Command::get_version_support, {special});
    check.that(answer.answered(), fmt::format("a request with {:02X}h in its data is answered", special), answer.describe());
  }
  const ControlAnswer answer = bench.control(static_cast<Command>(0xEF), {0x7E, 0x7D, 0x5E, 0x5D, 0x7D, 0x7E});
  check.that(answer.answered(), "a request with several of them is answered", answer.describe());
}

CONFORMANCE_CASE(frames_have_a_good_check, "mctp.serial.fcs", roles::endpoint, as_found) {
  // Some of the packets have escapes in them, which the check does not see.
  const std::vector<Bytes> requests = {kAnyRequest, control_message(Command::set_endpoint_id, Bytes{1, 0x7E}), kAnyRequest,
                                       long_request(bench)};
  for (const Taken& frame : sent(bench, check, requests)) {
    check.precondition(frame.fault.empty(), "the product sends whole frames");
    Bytes covered = {frame.revision, frame.count};
    covered.insert(covered.end(), frame.packet.begin(), frame.packet.end());
    check.equal("frame check sequence", frame.check, fcs_of(covered));
  }
}

CONFORMANCE_CASE(damaged_frames_are_dropped, "mctp.serial.fcs-checked", roles::endpoint, sends_malformed) {
  const SerialFrame good = any_frame(bench);
  const std::uint16_t right = fcs_of(good.covered());
  std::vector<std::uint16_t> wrong = {static_cast<std::uint16_t>(~right), fcs_of(good.covered(), 0),
                                      static_cast<std::uint16_t>(right << 8 | right >> 8), 0};
  for (unsigned bit = 0; bit < 16; ++bit) wrong.push_back(static_cast<std::uint16_t>(right ^ 1u << bit));
  for (const std::uint16_t check_value : wrong) {
    if (check_value != right) bench.peer().send_frame(good.with_check(check_value));
  }
  silence(bench, check, "answer to a frame with a wrong check");
  for (std::size_t at = 0; at < good.packet.size(); ++at) {
    SerialFrame damaged = good;
    damaged.packet[at] ^= 0x10;
    bench.peer().send_frame(damaged.with_check(right));
  }
  silence(bench, check, "answer to a frame that was damaged");
  answers(bench, check, "a good frame afterwards, in three tries", 3);
}

CONFORMANCE_CASE(frames_of_other_revisions_are_dropped, "mctp.serial.revision", roles::endpoint, sends_malformed) {
  for (unsigned revision = 0; revision < 256; ++revision) {
    if (revision == 1 || revision == 0x7E) continue;
    SerialFrame frame = any_frame(bench);
    frame.revision = static_cast<std::uint8_t>(revision);
    bench.peer().send_frame(frame.bytes());
    if (revision % 64 == 63 && !silence(bench, check, "answer to a frame of another revision")) break;
  }
  answers(bench, check, "a good frame afterwards, in three tries", 3);
}

CONFORMANCE_CASE(a_wrong_byte_count_drops_the_frame, "mctp.serial.count", roles::endpoint, sends_malformed) {
  for (const int off : {-1, 1, -2, 2, -7, 57, 200}) {
    SerialFrame frame = any_frame(bench);
    frame.count_off = off;
    bench.peer().send_frame(frame.bytes());
    if (!silence(bench, check, fmt::format("answer to a byte count that is {} off", off))) break;
    answers(bench, check, "a good frame afterwards, in three tries", 3);
  }
}

CONFORMANCE_CASE(noise_is_left_behind, "mctp.serial.resync", roles::endpoint, sends_malformed) {
  const Bytes noises[] = {
      {0x00, 0xFF, 0x55},        // no flag
      {0x7E},                    // a lone flag
      {0x7E, 0x7E, 0x7E, 0x7E},  // an idle line
      {0x7E, 0x01},              // a frame that ends early, at each of its parts
      {0x7E, 0x01, 0x20, 0x01, 0x02},
      {0x7E, 0x01, 0x07, 0x7D},
      {0x7E, 0x01, 0x01, 0xAA},
      {0x7E, 0x01, 0x01, 0xAA, 0x12},
      {0x7D},                                // an escape of nothing
      {0x01, 0x07, 0x01, 0x09, 0x08, 0xC8},  // a frame without its flag
      {0x7E, 0x02, 0x07, 0x01, 0x09, 0x7E},  // of another revision
  };
  for (const Bytes& noise : noises) {
    bench.peer().send_frame(noise);
    if (!answers(bench, check, "a good frame behind the noise " + words_of_bytes(noise) + ", in three tries", 3)) return;
  }
  // What begins as a frame of no bytes, or of the most, and goes on for long.
  for (const std::uint8_t count : octets<0x00, 0xFF>) {
    Bytes noise = {0x7E, 0x01, count};
    noise.resize(4096, 0x55);
    bench.peer().send_frame(noise);
    if (!answers(bench, check, "a good frame behind 4 KiB of noise, in three tries", 3)) return;
  }
}

}  // namespace fb::conformance
