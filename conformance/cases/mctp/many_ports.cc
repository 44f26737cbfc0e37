// An owner of several buses: what it sends to a device leaves on the bus of that device, with message tags of its own.
#include <fmt/format.h>

#include <set>

#include "conformance/runner/bus_bench.h"
#include "conformance/runner/management_requester_bench.h"

namespace fb::conformance {
namespace {

constexpr Duration kSoon = Duration::s(5);

/// The next NVMe-MI request that reaches the device.
SeenMessage request_at(PlayedDevice& device, Check& check, const std::string& what) {
  auto request = device.raw().next_message(kSoon);
  check.require(request.has_value(), what + " is sent on the bus of its device", "nothing comes");
  return std::move(*request);
}
void answer(PlayedDevice& device, const SeenMessage& request, std::uint8_t fill) {
  const Bytes body = ManagementRequesterBench::response_to(request, mi::Status::success, Bytes(100, fill));
  device.raw().send_message(ManagementRequesterBench::with_check(body),
                            {.tag = request.tag, .owner = false, .destination = request.source});
  device.raw().wait_until_said();
}

}  // namespace

CONFORMANCE_CASE(owners_talk_to_each_device_on_its_bus, "mctp.bus.request.form", roles::bus) {
  PlayedDevice* const devices[] = {&bench.device(), &bench.add_device_on_another_bus()};
  bench.enumerate();
  for (PlayedDevice* device : devices) {
    const auto& faults = device->raw().faults();
    check.that(faults.empty(), "every packet of the owner is sound", faults.empty() ? "" : faults.front());
    for (const SeenMessage& request : device->requests()) {
      check.equal("byte 0 of a control request", request.body[0], 0x00);
      check.equal("Rq, D and reserved bit of a control request", request.body[1] & 0xE0, 0x80);
    }
  }
  check.precondition(devices[0]->eid() != 0 && devices[1]->eid() != 0, "both devices have EIDs");
  mi::Requester requester(bench.world(), bench.product().port(), {});
  const mctp::Eid owner = bench.product().owner().eid();
  // Twice as often as there are tags.
  for (std::uint8_t round = 0; round < 16; ++round) {
    std::vector<Op<mi::Reply>> replies;
    for (PlayedDevice* device : devices) {
      for (const unsigned slot : {0u, 1u}) {
        replies.push_back(requester.command(device->eid(), mi::Opcode::vpd_read, 0, 100, {}, {.slot = slot}));
      }
    }
    for (PlayedDevice* device : devices) {
      std::set<unsigned> tags;
      for (const unsigned slot : {0u, 1u}) {
        const std::string what = fmt::format("request {} of slot {} to EID {}", round, slot, device->eid());
        const SeenMessage request = request_at(*device, check, what);
        check.equal("destination of " + what, request.destination, device->eid());
        check.equal("source of " + what, request.source, owner);
        check.that(tags.insert(request.tag).second, "requests to one device have different tags", words(request.tag));
        answer(*device, request, static_cast<std::uint8_t>(round + 0x10 * (request.body[1] & 1) + device->eid()));
      }
    }
    for (std::size_t i = 0; i < replies.size(); ++i) {
      const mi::Reply got = replies[i].wait();
      const auto fill = static_cast<std::uint8_t>(round + 0x10 * (i % 2) + devices[i / 2]->eid());
      if (!check.that(got.ok(), "each answer is taken from the bus of its device", fmt::format("not that of request {}", round))) return;
      check.bytes("data of the answer", got.data(), Bytes(100, fill));
    }
  }
}

}  // namespace fb::conformance
