// One host on an Ethernet link, without I/O: frames go in, datagrams and answers come out. ARP and
// IPv6 neighbour discovery both ways, UDP over IPv4 and IPv6, and answers to ping, so that a peer's
// network stack finds us as it would find a machine. Whatever bytes arrive, nothing worse happens than
// that a frame is counted and dropped.
//
// There are no routes: every address is asked for on the link itself. Fragments, IP options, extension
// headers and VLANs are not for us.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/ip.h"
#include "base/time.h"
#include "sim/core/trace.h"

namespace fb::net {

using MacAddress = std::array<std::uint8_t, 6>;

/// A datagram for us. The payload lies in the frame that it came in.
struct L2Datagram {
  Endpoint source;
  Endpoint destination;
  ByteView payload;
  IpFacts ip;
};

struct L2Counters {
  std::uint64_t frames_in = 0;
  std::uint64_t datagrams_in = 0;
  std::uint64_t questions_in = 0;  ///< ARP requests, neighbour solicitations, pings; answered
  std::uint64_t ignored = 0;       ///< for somebody else, or of a kind that is not ours
  std::uint64_t malformed = 0;     ///< cut short, or a checksum or length that does not hold
  std::uint64_t unresolved = 0;    ///< datagrams dropped because nobody said where the address is
};

class L2Link {
 public:
  L2Link(const IpAddress& address, const MacAddress& mac) : address_(address), mac_(mac) {}

  const IpAddress& address() const { return address_; }
  const MacAddress& mac() const { return mac_; }
  const L2Counters& counters() const { return counters_; }

  /// A frame that arrived; what has to be answered becomes an output.
  std::optional<L2Datagram> on_frame(Instant now, ByteView frame);

  /// A frame with room for `size` bytes of UDP payload behind headroom(), from a pool.
  Bytes take(std::size_t size);
  /// Bytes of a frame before the payload.
  std::size_t headroom() const { return address_.is_v4() ? 42 : 62; }
  /// Sends a frame of take() whose payload is filled in. Waits for the neighbour where it must.
  void send(Instant now, Bytes frame, std::uint16_t from_port, const Endpoint& to);

  bool has_output() const { return !outputs_.empty(); }
  const Bytes& output() const { return outputs_.front(); }
  /// The output has left.
  void pop_output();
  std::size_t outputs() const { return outputs_.size(); }

  /// Asks again, gives up.
  void on_deadline(Instant now);
  std::optional<Instant> deadline() const;

 private:
  struct Neighbour {
    std::optional<MacAddress> mac;
    std::vector<Bytes> waiting;
    int asked = 0;
    Instant ask_at;
  };

  std::optional<L2Datagram> on_ipv4(Instant now, ByteView frame);
  std::optional<L2Datagram> on_ipv6(Instant now, ByteView frame);
  std::optional<L2Datagram> on_udp(const L2Datagram& packet, bool checksum_needed);
  void on_arp(Instant now, ByteView frame);
  void on_icmp4(ByteView frame, ByteView message);
  void on_icmp6(Instant now, ByteView frame, ByteView message, const L2Datagram& packet);
  void answer_solicitation(ByteView frame, ByteView message, const IpAddress& asker);
  void learn(Instant now, const IpAddress& address, const MacAddress& mac);
  void ask(const IpAddress& address);
  void ask_arp(const IpAddress& address);
  void ask_neighbour(const IpAddress& address);
  Neighbour& neighbour(const IpAddress& address);
  void drop_waiting(Neighbour& neighbour);
  Bytes blank(std::size_t size);
  void put_ethernet(Bytes& frame, const MacAddress& to, std::uint16_t type) const;
  void put_ipv6(Bytes& frame, std::size_t payload, std::uint8_t next, std::uint8_t hops, const IpAddress& from, const IpAddress& to) const;
  void malformed() { ++counters_.malformed; }
  void ignored() { ++counters_.ignored; }

  IpAddress address_;
  MacAddress mac_;
  L2Counters counters_;
  std::map<IpAddress, Neighbour> neighbours_;
  std::deque<Bytes> outputs_;
  std::vector<Bytes> pool_;
};

/// The Internet checksum of `bytes`, on top of `start`, not yet inverted.
std::uint32_t internet_sum(ByteView bytes, std::uint32_t start = 0);
std::uint16_t internet_checksum(std::uint32_t sum);

/// A locally administered address that belongs to this IP address.
MacAddress mac_for(const IpAddress& address);

}  // namespace fb::net
