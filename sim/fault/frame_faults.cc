#include "sim/fault/frame_faults.h"

#include "sim/fault/network_faults.h"
#include "wire/mctp/packet.h"
#include "wire/mctp/serial.h"
#include "wire/mctp/smbus.h"
#include "wire/mctp/vdm.h"

namespace fb::fault {

namespace {

/// The packet inside of a frame; empty where there is none.
Bytes packet_of(FrameShape shape, ByteView frame) {
  ByteView packet;
  if (shape == FrameShape::smbus) {
    if (const auto taken = mctp::smbus::decode(frame)) packet = taken->packet;
  } else if (shape == FrameShape::pcie) {
    if (const auto taken = mctp::vdm::decode(frame)) packet = taken->packet;
  } else {
    mctp::serial::Deframer deframer;
    for (const std::uint8_t byte : frame) {
      if (deframer.push(byte) == mctp::serial::Deframer::Step::packet) packet = deframer.packet();
    }
    return Bytes(packet.begin(), packet.end());
  }
  return Bytes(packet.begin(), packet.end());
}

/// The same frame around another packet of the same length.
void put_back(FrameShape shape, Bytes& frame, ByteView packet) {
  const Bytes old = frame;
  if (shape == FrameShape::smbus) {
    const auto taken = mctp::smbus::decode(old);
    mctp::smbus::encode(frame, taken->destination, taken->source, packet);
  } else if (shape == FrameShape::pcie) {
    const auto taken = mctp::vdm::decode(old);
    mctp::vdm::encode(frame, taken->route, taken->requester, taken->target, packet);
  } else {
    frame.clear();
    mctp::serial::encode(frame, packet);
  }
}

}  // namespace

bool FrameFaults::change_header(const Decision& decision, mctp::FrameContext& context) const {
  Bytes packet = packet_of(shape_, context.frame);
  if (packet.size() < mctp::kHeaderSize) return false;
  MutableView<mctp::PacketHeader> header{packet};
  const auto amount = static_cast<std::uint8_t>(decision.amount);
  if (decision.kind == Kind::frame_tag) {
    header.set(mctp::packet::tag, static_cast<std::uint8_t>((header.get(mctp::packet::tag) + amount) & 7));
  } else if (decision.kind == Kind::frame_eid) {
    header.set(mctp::packet::destination, static_cast<std::uint8_t>(header.get(mctp::packet::destination) + amount));
  } else {
    header.set(mctp::packet::sequence, static_cast<std::uint8_t>((header.get(mctp::packet::sequence) + amount) & 3));
  }
  put_back(shape_, context.frame, packet);
  return true;
}

mctp::FrameVerdict FrameFaults::on_frame(mctp::FrameContext& context) {
  mctp::FrameVerdict verdict;
  for (const Decision& decision : point_.next()) {
    switch (decision.kind) {
      case Kind::frame_drop:
        verdict.drop = true;
        break;
      case Kind::frame_nack:
        verdict.nack = true;
        break;
      case Kind::frame_duplicate:
        ++verdict.duplicates;
        break;
      case Kind::frame_corrupt:
        // A link of PCI Express has checks of its own, below what is simulated: the frame does not arrive.
        if (shape_ == FrameShape::pcie) {
          verdict.drop = true;
        } else {
          flip_bit(context.frame, decision.amount);
          verdict.corrupted = true;
        }
        break;
      case Kind::frame_tag:
      case Kind::frame_eid:
      case Kind::frame_sequence:
        if (!change_header(decision, context)) continue;
        verdict.corrupted = true;
        break;
      default:
        continue;
    }
    point_.struck(decision);
  }
  return verdict;
}

}  // namespace fb::fault
