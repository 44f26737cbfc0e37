// Requests of a played device to the owner of its bus, or to a bridge, and the routing tables that come back.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "conformance/runner/bus_bench.h"

namespace fb::conformance {

/// What came back to a request of a played device.
struct OwnerAnswer {
  std::optional<SeenMessage> message;

  bool answered() const { return message && message->body.size() >= mctp::control::kResponseHeader; }
  mctp::control::Completion completion() const {
    return answered() ? static_cast<mctp::control::Completion>(message->body[3]) : mctp::control::Completion::error;
  }
  bool ok() const { return answered() && completion() == mctp::control::Completion::success; }
  ByteView data() const { return answered() ? ByteView{message->body}.subspan(4) : ByteView{}; }
  std::string describe() const { return answered() ? "completion code " + words(completion()) : std::string("no answer"); }
};

/// Sends a request to the endpoint that the device communicated with last.
inline OwnerAnswer ask(PlayedDevice& device, mctp::control::Command command, const Bytes& data = {}) {
  static constexpr std::uint8_t kInstance = 0x0B, kTag = 5;
  RawMctp& raw = device.raw();
  Bytes body = {0x00, 0x80 | kInstance, static_cast<std::uint8_t>(command)};
  body.insert(body.end(), data.begin(), data.end());
  raw.send_message(body, {.tag = kTag});
  OwnerAnswer answer;
  while (auto message = raw.next_message(Duration::s(1))) {
    if (message->type() != 0 || message->owner || message->tag != kTag) continue;
    answer.message = std::move(message);
    break;
  }
  return answer;
}

inline bool succeeds(Check& check, const OwnerAnswer& answer, std::string_view what) {
  return check.that(answer.ok(), std::string(what) + " succeeds", answer.describe());
}
inline bool refused(Check& check, const OwnerAnswer& answer, mctp::control::Completion why, std::string_view what) {
  if (!check.that(answer.answered(), std::string(what) + " is answered", answer.describe())) return false;
  return check.equal("completion code of " + std::string(what), answer.completion(), why) &&
         check.equal("bytes behind it", answer.data().size(), 0u);
}

inline std::uint8_t binding_id(std::string_view medium) { return medium == "smbus" ? 0x01 : medium == "pcie" ? 0x02 : 0x05; }
/// Of DSP0239: SMBus at 100 kHz, PCI Express 3, an asynchronous serial line.
inline std::uint8_t medium_id(std::string_view medium) { return medium == "smbus" ? 0x01 : medium == "pcie" ? 0x0B : 0x24; }

inline Bytes bytes_of(const mctp::PhysicalAddress& at) { return Bytes(at.bytes.begin(), at.bytes.begin() + at.size); }
inline Bytes address_of(PlayedDevice& device) { return bytes_of(device.raw().binding().address()); }

/// An entry of a routing table, with its address.
struct Route {
  unsigned size = 0, first = 0, type = 0, port = 0, binding = 0, medium = 0;
  bool is_static = false;
  Bytes address;
};
/// The whole table, by as many requests as it takes.
inline std::vector<Route> routing_table(PlayedDevice& device, Check& check) {
  using mctp::control::Command;
  std::vector<Route> table;
  std::set<unsigned> asked;
  for (unsigned handle = 0; asked.insert(handle).second;) {
    const OwnerAnswer answer = ask(device, Command::get_routing_table, {static_cast<std::uint8_t>(handle)});
    const std::string what = fmt::format("Get Routing Table Entries from handle {}", handle);
    check.require(succeeds(check, answer, what) && answer.data().size() >= 2, what + " has a head", answer.describe());
    check.that(answer.message->body.size() <= mctp::control::kMessageMax, "the answer is one packet of the baseline",
               words(answer.message->body.size()));
    ByteView rest = answer.data().subspan(2);
    for (unsigned i = 0; i < answer.data()[1]; ++i) {
      check.require(rest.size() >= 6 && rest.size() >= 6u + rest[5], "as many entries come as are counted",
                    fmt::format("{} of {}", i, answer.data()[1]));
      const std::size_t size = 6u + rest[5];
      table.push_back({rest[0], rest[1], unsigned{rest[2]} >> 6, rest[2] & 0x1Fu, rest[3], rest[4], (rest[2] & 0x20) != 0,
                       Bytes(rest.begin() + 6, rest.begin() + static_cast<std::ptrdiff_t>(size))});
      rest = rest.subspan(size);
    }
    check.equal("bytes behind the last entry", rest.size(), 0u);
    if (answer.data()[0] == mctp::control::kHandleEnd) return table;
    check.require(answer.data()[1] > 0, "an answer with more behind it has entries", "none");
    handle = answer.data()[0];
  }
  check.fails("the handles of the routing table", {"an end"}, "a handle that was there before");
  return table;
}

}  // namespace fb::conformance
