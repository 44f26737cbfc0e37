// A bridge of the product between two buses, with devices of the bench in front of it and behind it.
#pragma once

#include <tuple>
#include <vector>

#include "conformance/cases/mctp/owner_exchange.h"

namespace fb::conformance {

/// A message type that nobody answers, and that no rule is about.
inline constexpr std::uint8_t kVendorType = 0x7E;

/// Two devices on the owner's bus, the bridge there too, and two devices behind it.
struct Bridged {
  PlayedDevice& near;
  PlayedDevice& other;
  PlayedDevice& far;
  PlayedDevice& farther;
  mctp::Eid bridge = 0;
};
inline Bridged bridged(BusBench& bench, Check& check) {
  mctp::Bridge& bridge = bench.add_bridge();
  Bridged made{bench.device(), bench.add_device(), bench.add_device_behind(), bench.add_device_behind()};
  bench.enumerate();
  made.bridge = bridge.eid();
  const bool all = made.near.eid() != 0 && made.other.eid() != 0 && made.far.eid() != 0 && made.farther.eid() != 0;
  check.precondition(all && made.bridge != 0, "the bridge and all devices are given EIDs");
  for (PlayedDevice* device : {&made.far, &made.farther}) device->raw().set_product(made.bridge, device->requests().back().from);
  return made;
}

/// Where the bridge is on the bus of a device.
inline mctp::PhysicalAddress bridge_seen_by(PlayedDevice& device) { return device.requests().back().from; }

/// The device speaks to the bridge from now on, no longer to the owner of the network.
inline void turn_to_bridge(BusBench& bench, const Bridged& scene, PlayedDevice& device) {
  const bool behind = &device == &scene.far || &device == &scene.farther;
  device.raw().set_product(scene.bridge, behind ? bridge_seen_by(device) : bench.bridge_address());
}

/// A message of so many packets, by hand.
inline std::vector<MctpPacket> message(PlayedDevice& from, mctp::Eid to, std::uint8_t tag, bool owner, std::uint8_t start,
                                       std::size_t bytes) {
  MctpPacket like = from.raw().packet();
  like.destination = to;
  like.tag = tag;
  like.owner = owner;
  Bytes body(bytes);
  for (std::size_t i = 0; i < bytes; ++i) body[i] = static_cast<std::uint8_t>(i * 5 + tag);
  body[0] = kVendorType;
  std::vector<MctpPacket> parts = cut(body, like);
  for (MctpPacket& part : parts) part.sequence = static_cast<std::uint8_t>((part.sequence + start) & 3);
  return parts;
}

/// What came to a device and is no control message.
inline std::vector<SeenPacket> vendor_packets(PlayedDevice& device) {
  std::vector<SeenPacket> found;
  while (auto seen = device.raw().next_packet(Duration::ms(200))) {
    const bool control = seen->packet.som && !seen->packet.payload.empty() && (seen->packet.payload[0] & 0x7F) == 0;
    if (!control) found.push_back(std::move(*seen));
  }
  return found;
}
inline void forget_all(const Bridged& scene) {
  for (PlayedDevice* device : {&scene.near, &scene.other, &scene.far, &scene.farther}) device->raw().forget();
}

/// The data of Routing Information Update: type, size, first EID and address of each entry.
inline Bytes update(const std::vector<std::tuple<std::uint8_t, std::uint8_t, std::uint8_t, Bytes>>& entries) {
  Bytes data = {static_cast<std::uint8_t>(entries.size())};
  for (const auto& [type, size, first, address] : entries) {
    data.insert(data.end(), {type, size, first});
    data.insert(data.end(), address.begin(), address.end());
  }
  return data;
}

}  // namespace fb::conformance
