// Any bytes on a serial line, and any bytes as the frame of another binding: taken apart without harm, what is
// taken can be put together again, and after the noise the next frames are found.
#include <cstdlib>

#include "tests/fuzz/input.h"
#include "wire/mctp/control.h"
#include "wire/mctp/serial.h"
#include "wire/mctp/smbus.h"
#include "wire/mctp/vdm.h"

namespace fb::mctp {
namespace {

void deframe(ByteView bytes, serial::Unescape unescape) {
  serial::Deframer deframer(68, unescape);
  std::size_t packets = 0;
  for (const std::uint8_t byte : bytes) {
    if (deframer.push(byte) != serial::Deframer::Step::packet) continue;
    ++packets;
    if (deframer.packet().empty() || deframer.packet().size() > 68) std::abort();
    Bytes frame;
    serial::encode(frame, deframer.packet());
    serial::Deframer again(68, unescape);
    bool found = false;
    for (const std::uint8_t one : frame) found = again.push(one) == serial::Deframer::Step::packet;
    if (!found || !std::equal(again.packet().begin(), again.packet().end(), deframer.packet().begin(), deframer.packet().end())) {
      std::abort();
    }
  }
  if (packets > bytes.size() / serial::kOverhead + 1) std::abort();
  // Whatever was begun asks for 68 bytes at most: of a dozen frames the last is found.
  const Bytes packet = from_hex("010008c8008002");
  bool found = false;
  for (int at = 0; at < 16; ++at) {
    Bytes frame;
    serial::encode(frame, packet);
    for (const std::uint8_t one : frame) found = deframer.push(one) == serial::Deframer::Step::packet;
  }
  if (!found) std::abort();
}

void other_frames(ByteView bytes) {
  if (const auto frame = smbus::decode(bytes)) {
    Bytes again;
    smbus::encode(again, frame->destination, frame->source, frame->packet);
    if (!std::equal(again.begin(), again.end(), bytes.begin(), bytes.end())) std::abort();
  }
  if (const auto frame = vdm::decode(bytes)) {
    Bytes again;
    if (frame->packet.size() <= 4 + vdm::kUnitMax) {
      vdm::encode(again, frame->route, frame->requester, frame->target, frame->packet);
      if (!vdm::decode(again)) std::abort();
    }
  }
  if (control::describe_message(bytes).empty()) std::abort();
}

}  // namespace
}  // namespace fb::mctp

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fb::ByteView bytes(data, size);
  using fb::mctp::serial::Unescape;
  for (const auto how : {Unescape::strict, Unescape::any, Unescape::set_bit}) {
    fb::mctp::deframe(bytes, how);
  }
  fb::mctp::other_frames(bytes);
  return 0;
}
