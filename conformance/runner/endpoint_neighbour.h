// Who else is on the medium of an endpoint bench. For its own source.
#pragma once

#include "conformance/runner/endpoint_bench.h"
#include "model/drive/drive.h"

namespace fb::conformance {

/// The nth port of a kind; the last one where there are fewer, port 0 where there is none.
inline std::uint8_t nth_port(const mi::DeviceOptions& device, mi::PortType kind, unsigned nth) {
  std::uint8_t found = 0;
  for (std::size_t i = 0; i < device.ports.size(); ++i) {
    if (device.ports[i].type != kind) continue;
    found = static_cast<std::uint8_t>(i);
    if (nth-- == 0) break;
  }
  return found;
}
inline std::uint8_t other_port(std::uint8_t port) { return port == 0 ? 1 : 0; }

/// Another endpoint of the device, and other management controllers on the medium: one talks to that endpoint, two to the endpoint
/// of the case. They talk whenever the case does, with the same message tag, so that messages interleave.
class EndpointBench::Neighbour {
 public:
  static constexpr mctp::Eid kEndpoint = 0x30, kManager = 0x31, kOtherManager = 0x32, kWrongManager = 0x33;
  /// Places on the medium that no case uses.
  static constexpr unsigned kPlace = 5;

  Neighbour(World& world, mctp::Segment& segment, std::string_view medium, mi::Drive& drive, const mctp::DeviceOptions& device,
            const mi::EndpointOptions& options, mi::EndpointHooks* hooks)
      : node_(world, segment.attach("neighbour", product_address_on(medium, kPlace)), device,
              mctp::EndpointOptions{.name = "neighbour", .eid = kEndpoint}),
        endpoint_(world, drive.device(), node_.endpoint(), options, hooks),
        manager_(world, segment.attach("neighbour's manager", bench_address_on(medium, kPlace)), kManager),
        other_(world, segment.attach("other manager", bench_address_on(medium, kPlace + 1)), kOtherManager),
        wrong_(world, segment.attach("other manager 2", bench_address_on(medium, kPlace + 2)), kWrongManager) {
    manager_.set_product(kEndpoint, product_address_on(medium, kPlace));
    set_product(mctp::kNullEid, product_address_on(medium));
    for (RawMctp* raw : {&manager_, &other_, &wrong_}) raw->on_message = [](const SeenMessage&) { return true; };
  }

  void set_product(mctp::Eid eid, const mctp::PhysicalAddress& at) {
    other_.set_product(eid, at);
    wrong_.set_product(eid, at);
  }

  void talk(std::uint8_t tag) {
    const unsigned slot = turn_++ & 1;
    Bytes command = mi_message(static_cast<std::uint8_t>(mi::Opcode::read_data_structure), 0, 0, {}, {.slot = slot});
    mi::append_mic(command);
    manager_.send_message(command, {.tag = tag});
    // A primitive of a wrong size, which is discarded, in two packets, with a good one in between.
    Bytes wrong = primitive_message(static_cast<std::uint8_t>(mi::Primitive::get_state), slot);
    wrong.resize(mctp::kBaselineUnit);
    mi::append_mic(wrong);
    MctpPacket like = wrong_.packet();
    like.tag = tag;
    const auto parts = cut(wrong, like);
    wrong_.send(parts[0]);
    Bytes primitive = primitive_message(static_cast<std::uint8_t>(mi::Primitive::get_state), slot);
    mi::append_mic(primitive);
    other_.send_message(primitive, {.tag = tag});
    wrong_.send(parts[1]);
  }

 private:
  mctp::SimpleDevice node_;
  mi::Endpoint endpoint_;
  RawMctp manager_, other_, wrong_;
  unsigned turn_ = 0;
};

}  // namespace fb::conformance
