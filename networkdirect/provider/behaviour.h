// How a provider behaves where the interface leaves it open, and where real ones are otherwise than its document: when it answers,
// in which order queues complete, what its limits are, and named switches, each one difference. A personality is a set of them
// under a name.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ndspi.h>

#include "base/result.h"

namespace fb::networkdirect {

/// How a request that could end in its call is answered.
enum class Answers : std::uint8_t {
  pending,  ///< ND_PENDING, and the end through the OVERLAPPED, as most programs expect whatever the document says
  at_once,  ///< ND_SUCCESS, and nothing comes afterwards
  drawn     ///< either, for each request
};

/// When a Send completes, as its poster sees it.
enum class Order : std::uint8_t {
  acknowledged,    ///< once the peer's device has it, mostly before the peer's program answers
  after_response,  ///< not before the next message of the peer is there, if one comes soon
  drawn            ///< either, for each Send
};

struct Switch {
  std::string_view name;
  std::string_view point;  ///< of departure, in fault_points.h
  bool legal;              ///< as the document of the interface has it
  std::string_view text;
};
std::span<const Switch> switches();

struct Behaviour {
  Answers answers = Answers::pending;
  Order order = Order::acknowledged;
  std::set<std::string_view> points = {};  ///< of the switches that are on
  /// Fields of ND2_ADAPTER_INFO by their names, and the most that the adapter shall report there.
  std::vector<std::pair<std::string, std::uint64_t>> limits = {};

  bool departs(std::string_view point) const { return !points.empty() && points.contains(point); }
  void lower(ND2_ADAPTER_INFO& info) const;
};

struct Personality {
  std::string_view name;
  std::string_view text;
  Answers answers;
  Order order;
  std::span<const std::string_view> switches;
};
std::span<const Personality> personalities();
Behaviour behaviour_of(const Personality& personality);

/// "connectx-3", "document,answers=drawn,order=after-response,+ports-shared,-refused-spent,MaxInitiatorSge=1": a personality first,
/// or none, and changes to it. The Problem names what is none.
Result<Behaviour> parse_behaviour(std::string_view text);

}  // namespace fb::networkdirect
