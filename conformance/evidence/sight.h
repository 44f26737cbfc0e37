// Where and when something was seen, who said it to whom, and what became of it on the way.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ip.h"
#include "base/time.h"
#include "sim/core/trace.h"

namespace fb::evidence {

/// One end of a conversation, as far as packets tell: an IP address with the port or the queue pair, or an
/// endpoint on an MCTP bus.
struct Party {
  enum class Kind : std::uint8_t { nobody, ip, queue_pair, mctp };
  Kind kind = Kind::nobody;
  IpAddress address;         ///< ip and queue_pair
  std::uint32_t number = 0;  ///< port, queue pair or endpoint id
  std::uint32_t bus = 0;     ///< mctp: the medium

  static Party ip(const Endpoint& end) { return {Kind::ip, end.address, end.port, 0}; }
  static Party queue_pair(const IpAddress& address, std::uint32_t qpn) { return {Kind::queue_pair, address, qpn, 0}; }
  static Party mctp(std::uint32_t bus, std::uint8_t eid) { return {Kind::mctp, {}, eid, bus}; }
  // In place, for every packet: a copy of what was just put together from parts makes the processor wait for them.
  void become_ip(const IpAddress& at, std::uint32_t port) {
    kind = Kind::ip;
    address = at;
    number = port;
    bus = 0;
  }
  void become_queue_pair(const IpAddress& at, std::uint32_t qpn) {
    become_ip(at, qpn);
    kind = Kind::queue_pair;
  }
  auto operator<=>(const Party&) const = default;
};

/// "10.0.0.1:4420", "10.0.0.1 QP 17", "EID 9".
std::string to_string(const Party& party);
/// The column of a ladder: "10.0.0.1", "EID 9".
std::string column_of(const Party& party);

/// What is known of a packet's way from the place where it was seen to its receiver.
enum class Fate : std::uint8_t {
  whole,     ///< nothing is known to have happened to it
  lost,      ///< as the sender said it, but a fault took it away
  altered,   ///< a fault changed it: these are not the sender's bytes
  repeated,  ///< the link made a copy: the sender said it once
  forged,    ///< said by a fault in somebody's name
};

/// Views are valid during the call that hands it out.
struct Sight {
  std::uint64_t packet = 0;  ///< number of the frame in the capture, from 1
  Instant time;              ///< in the world; in files, since the first packet
  Party from;
  Party to;
  const TraceEvent* event = nullptr;  ///< as the trace or the file has it
  Fate fate = Fate::whole;
  bool late = false;        ///< a fault delays it: others may overtake it
  std::string_view struck;  ///< the faults that struck it, in words; mostly empty

  /// Who sent it, where the trace says so: "bench", "product".
  std::string_view actor() const { return event != nullptr ? event->actor : std::string_view{}; }
  /// Whether these bytes are what the sender meant to say, and said just once.
  bool genuine() const { return fate == Fate::whole || fate == Fate::lost; }
};

}  // namespace fb::evidence
