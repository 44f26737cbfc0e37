// A managed drive and a requester on one SMBus segment, in virtual time.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "model/mi/endpoint.h"
#include "model/mi/in_band.h"
#include "model/mi/requester.h"
#include "model/subsystem/target.h"
#include "sim/mctp/endpoint.h"
#include "sim/mctp/smbus_segment.h"
#include "tests/model/subsystem/rig.h"

namespace fb::mi::test {

inline constexpr mctp::Eid kRequesterEid = 8;
inline constexpr mctp::Eid kDriveEid = 9;

/// Every packet that crosses the segment, in order.
struct Packets final : mctp::FrameFilter {
  struct Packet {
    Instant at;
    std::uint8_t from = 0;
    Bytes bytes;  ///< MCTP header and payload
    bool som() const { return (bytes[3] & 0x80) != 0; }
    bool eom() const { return (bytes[3] & 0x40) != 0; }
    unsigned sequence() const { return bytes[3] >> 4 & 3u; }
    bool owner() const { return (bytes[3] & 0x08) != 0; }
    unsigned tag() const { return bytes[3] & 7u; }
    ByteView payload() const { return ByteView{bytes}.subspan(4); }
  };
  mctp::FrameVerdict on_frame(mctp::FrameContext& context) override {
    const Bytes& frame = context.frame;
    if (frame.size() > 9) {
      seen.push_back({context.now, context.source.bytes[0], Bytes(frame.begin() + 4, frame.end() - 1)});
    }
    mctp::FrameVerdict verdict;
    if (change) verdict = change(context);
    return verdict;
  }
  std::vector<Packet> from(mctp::Eid source) const {
    std::vector<Packet> found;
    for (const Packet& packet : seen) {
      if (packet.bytes[2] == source) found.push_back(packet);
    }
    return found;
  }
  std::vector<Packet> seen;
  std::function<mctp::FrameVerdict(mctp::FrameContext&)> change;
};

struct RigOptions {
  subsystem::SubsystemOptions subsystem = drive_options();
  DeviceOptions device;
  EndpointOptions endpoint;
  RequesterOptions requester;
  EndpointHooks* hooks = nullptr;
  subsystem::SubsystemHooks* subsystem_hooks = nullptr;
  RequesterHooks* requester_hooks = nullptr;
  bool timing = false;
};

struct Rig {
  explicit Rig(RigOptions options = {})
      : target_rig(options.subsystem, options.subsystem_hooks),
        world(*target_rig.world),
        disk(*target_rig.disk),
        device(disk, options.device),
        segment(world, {.timing = options.timing}),
        requester_port(segment.attach("bmc", 0x20)),
        drive_port(segment.attach("drive", 0x3A)),
        requester_end(world, *requester_port, {.name = "bmc", .eid = kRequesterEid}),
        drive_end(world, *drive_port, {.name = "drive", .eid = kDriveEid}),
        endpoint(world, device, drive_end, options.endpoint, options.hooks),
        requester(world, requester_end, options.requester, options.requester_hooks) {
    requester_end.set_route(kDriveEid, kDriveEid, mctp::smbus_address(0x3A));
    drive_end.set_route(kRequesterEid, kRequesterEid, mctp::smbus_address(0x20));
    segment.set_filter(&packets);
  }

  /// Raw bytes with a good check; what came back, checks taken off.
  std::vector<Bytes> exchange(Bytes body, unsigned answers = 1, std::optional<mctp::Tag> tag = {}) {
    append_mic(body);
    return exchange_raw(std::move(body), answers, tag);
  }
  std::vector<Bytes> exchange_raw(Bytes message, unsigned answers = 1, std::optional<mctp::Tag> tag = {}) {
    auto op = requester.send_raw({.peer = kDriveEid, .to = {}, .message = std::move(message), .tag = tag, .answers = answers});
    std::vector<Bytes> got = op.wait();
    for (Bytes& message_back : got) {
      EXPECT_TRUE(mic_ok(message_back));
      message_back.resize(message_back.size() - kMicSize);
    }
    return got;
  }
  /// One packet as it is.
  void packet(std::uint8_t flags, Bytes payload, std::uint8_t version = 1, mctp::Eid destination = kDriveEid) {
    Bytes bytes = {version, destination, kRequesterEid, flags};
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    requester_end.send_packet(mctp::smbus_address(0x3A), bytes);
  }
  Record<SlotStatus> state(unsigned slot = 0, bool clear = false) {
    const Reply reply = requester.primitive(kDriveEid, Primitive::get_state, slot, clear ? 1 : 0).wait();
    EXPECT_TRUE(reply.ok()) << (reply.violation ? to_string(*reply.violation) : "");
    return record_from_integer<SlotStatus>(reply.cpsr());
  }
  std::uint16_t flags(unsigned slot = 0, bool clear = false) { return static_cast<std::uint16_t>(integer_of(state(slot, clear)) & 0x7FFC); }

  subsystem::test::Rig target_rig;
  World& world;
  subsystem::Subsystem& disk;
  Device device;
  mctp::SmbusSegment segment;
  std::unique_ptr<mctp::SmbusPort> requester_port;
  std::unique_ptr<mctp::SmbusPort> drive_port;
  mctp::Endpoint requester_end;
  mctp::Endpoint drive_end;
  Packets packets;
  Endpoint endpoint;
  Requester requester;
};

/// VPD Read takes `duration`.
inline RigOptions slow_vpd(Duration duration) {
  RigOptions options;
  options.endpoint.durations[{MessageKind::mi_command, static_cast<std::uint8_t>(Opcode::vpd_read)}] = duration;
  return options;
}

inline Op<Reply> read_vpd(Rig& rig, unsigned slot = 0, std::uint32_t length = 256) {
  return rig.requester.command(kDriveEid, Opcode::vpd_read, 0, length, {}, {.slot = slot, .timeout = {}});
}
inline Reply primitive(Rig& rig, Primitive what, unsigned slot = 0, std::uint16_t parameter = 0) {
  return rig.requester.primitive(kDriveEid, what, slot, parameter).wait();
}

/// An MI command's message without its check.
inline Bytes mi_message(std::uint8_t opcode, std::uint32_t nmd0 = 0, std::uint32_t nmd1 = 0, ByteView data = {}, unsigned slot = 0) {
  Record<MiRequest> made;
  made.set(header::ic, true)
      .set(header::mt, kNvmeMiType)
      .set(header::nmimt, MessageKind::mi_command)
      .set(header::csi, slot)
      .set(request::opcode, opcode)
      .set(mi_request::nmd0, nmd0)
      .set(mi_request::nmd1, nmd1);
  Bytes bytes(MiRequest::size + data.size());
  std::copy_n(made.bytes().begin(), MiRequest::size, bytes.begin());
  std::copy(data.begin(), data.end(), bytes.begin() + MiRequest::size);
  return bytes;
}
inline Bytes mi_message(Opcode opcode, std::uint32_t nmd0 = 0, std::uint32_t nmd1 = 0, ByteView data = {}, unsigned slot = 0) {
  return mi_message(static_cast<std::uint8_t>(opcode), nmd0, nmd1, data, slot);
}

}  // namespace fb::mi::test
