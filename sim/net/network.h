// Simulated hosts and links with datagram ports and streams on them. A packet is one pooled event: the sender
// writes its payload once, the receiver reads it where it lies, and nothing is allocated per packet
// once the pool is warm.
//
// Lifetimes: ports, streams and listeners go before their network, the network before its world.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/world.h"
#include "sim/net/datagram.h"
#include "sim/net/link_filter.h"
#include "sim/net/sim_stream.h"
#include "sim/net/stream.h"
#include "sim/net/stream_filter.h"

namespace fb::net {

/// One direction between two hosts.
struct LinkOptions {
  Duration latency = Duration::us(5);
  std::int64_t bandwidth = 0;         ///< bits of IP packet a second; 0 = infinite
  std::size_t mtu = 5000;             ///< IP MTU; 5000 carries a RoCE path MTU of 4096
  std::size_t queue_bytes = 1 << 20;  ///< IP bytes that may wait for a busy wire, with the one on it
};

/// Packets by what became of them. sent = delivered + every drop + those still on their way, where
/// duplicates count as sent.
struct LinkCounters {
  std::uint64_t sent = 0;
  std::uint64_t sent_bytes = 0;  ///< UDP payload
  std::uint64_t delivered = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t delayed = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t dropped_by_filter = 0;
  std::uint64_t dropped_queue_full = 0;
  std::uint64_t dropped_no_receiver = 0;  ///< nobody has the port open
  std::uint64_t dropped_no_route = 0;     ///< no host has the address; in the network's sum only

  LinkCounters& operator+=(const LinkCounters& other);
};

class SimNetwork;
class SimHost;
class SimPort;

namespace stream_detail {
class End;
class Listener;
class Streams;
}  // namespace stream_detail

namespace network_detail {

struct Link {
  SimHost* to = nullptr;
  std::string name;
  std::size_t index = 0;
  LinkOptions options;
  LinkFilter* filter = nullptr;
  LinkCounters counters;
  std::uint64_t ordinal = 0;
  Instant wire_free;     // when the wire has sent all that is queued
  Duration queue_limit;  // queue_bytes as time on the wire
  StreamFilter* stream_filter = nullptr;
  std::uint64_t stream_ordinal = 0;
  Instant stream_hold;  // until then no stream's segment arrives
};

/// Time on the wire, rounded up to a nanosecond.
Duration wire_time(std::size_t bytes, std::int64_t bits_per_second);

/// A datagram on its way; lives in the network's pool.
class Packet final : public Event {
 public:
  explicit Packet(SimNetwork& network) : Event("net.packet"), network_(network) {}
  void reserve(std::size_t bytes) {
    if (capacity_ >= bytes) return;
    buffer_ = std::make_unique_for_overwrite<std::uint8_t[]>(bytes);
    capacity_ = bytes;
  }
  MutableBytes payload() { return {buffer_.get(), size}; }

  Endpoint source;
  Endpoint destination;
  std::size_t size = 0;
  Link* link = nullptr;
  Packet* next_free = nullptr;

 private:
  void fire() override;
  SimNetwork& network_;
  std::unique_ptr<std::uint8_t[]> buffer_;
  std::size_t capacity_ = 0;
};

}  // namespace network_detail

/// A host of the network, with one address or several. TCP ports are apart from UDP ports.
class SimHost final : public DatagramHost, public StreamHost {
 public:
  /// Port 0 takes the next free one from 49152 on. Fails when the port is taken or the address is
  /// not the host's.
  Result<std::unique_ptr<DatagramPort>> open(const Endpoint& local) override;
  Result<std::unique_ptr<Stream>> connect(const Endpoint& local, const Endpoint& to, StreamHandler& handler) override;
  Result<std::unique_ptr<StreamListener>> listen(const Endpoint& local, StreamAcceptor& acceptor) override;
  /// For connections that begin from now on.
  void set_stream_options(const StreamOptions& options) { stream_options_ = options; }
  const StreamCounters& stream_counters() const { return stream_counters_; }

  const std::string& name() const { return name_; }
  const std::vector<IpAddress>& addresses() const { return addresses_; }
  IpAddress address() const { return addresses_.front(); }
  void add_address(const IpAddress& address);
  /// The smallest MTU of the host's links to others.
  std::size_t mtu() const { return mtu_; }

 private:
  friend class SimNetwork;
  friend class SimPort;
  friend class stream_detail::End;
  friend class stream_detail::Listener;
  friend class stream_detail::Streams;
  SimHost(SimNetwork& network, std::string name, std::size_t index) : network_(network), name_(std::move(name)), index_(index) {}
  SimPort* find_port(const Endpoint& local);
  std::uint16_t free_port(const IpAddress& address);
  Result<Endpoint> free_stream_port(const Endpoint& local);

  SimNetwork& network_;
  std::string name_;
  std::size_t index_;
  std::size_t mtu_ = 0;
  std::vector<IpAddress> addresses_;
  std::map<Endpoint, SimPort*> ports_;
  SimPort* last_found_ = nullptr;
  std::uint16_t next_ephemeral_ = 49152;
  std::map<Endpoint, stream_detail::Listener*> stream_ports_;  // nullptr: a connection's
  std::uint16_t next_stream_port_ = 49152;
  StreamOptions stream_options_;
  StreamCounters stream_counters_;
};

class SimNetwork {
 public:
  explicit SimNetwork(World& world, const LinkOptions& defaults = {});
  ~SimNetwork();
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  /// Adds a host that is linked with every other (and with itself) by the default options.
  SimHost& add_host(std::string name, const IpAddress& address);
  SimHost* find_host(std::string_view name);

  /// One direction of a link. Packets on their way are not touched.
  void set_link(const SimHost& from, const SimHost& to, const LinkOptions& options);
  /// Both directions.
  void set_links(const SimHost& a, const SimHost& b, const LinkOptions& options);
  const LinkOptions& link(const SimHost& from, const SimHost& to) const;

  /// The filter of every direction that has none of its own; nullptr takes it off.
  void set_filter(LinkFilter* filter) { filter_ = filter; }
  void set_filter(const SimHost& from, const SimHost& to, LinkFilter* filter);

  /// The same for what streams carry over the links.
  void set_stream_filter(StreamFilter* filter) { stream_filter_ = filter; }
  void set_stream_filter(const SimHost& from, const SimHost& to, StreamFilter* filter);

  const LinkCounters& counters(const SimHost& from, const SimHost& to) const;
  /// The sum of all directions.
  LinkCounters counters() const;
  /// The sum of all hosts.
  StreamCounters stream_counters() const;
  /// Segments that the streams' pool has ever needed at once, and connections that are not yet over.
  std::size_t segment_pool_size() const;
  std::size_t connections() const;
  /// Packets that the pool has ever needed at once.
  std::size_t pool_size() const { return pool_.size(); }

  World& world() { return world_; }

 private:
  friend class SimHost;
  friend class SimPort;
  friend class network_detail::Packet;
  friend class stream_detail::End;
  friend class stream_detail::Streams;
  using Link = network_detail::Link;
  using Packet = network_detail::Packet;

  Packet& acquire();
  void release(Packet& packet);
  Link* route(const SimHost& from, const IpAddress& to);
  Link& link_of(const SimHost& from, const SimHost& to) const;
  void apply(Link& link, const LinkOptions& options);
  void refresh_mtu(const SimHost& from);
  void send(Link* link, Packet& packet, const SimHost& from);
  Verdict judge(Link& link, Packet& packet);
  /// False when the link's queue is full; the packet stays the caller's then.
  /// `as_sent`: what its sender sent, where a filter has damaged the packet.
  bool put_on_wire(Packet& packet, const SimHost& from, Duration delay, std::string_view text, ByteView as_sent);
  void deliver(Packet& packet);
  void trace(Packet& packet, const SimHost& from, TraceKind kind, std::string_view text, ByteView as_sent);

  World& world_;
  LinkOptions defaults_;
  LinkFilter* filter_ = nullptr;
  Bytes as_sent_;  // of the packet that a filter looks at
  std::vector<std::unique_ptr<SimHost>> hosts_;
  std::map<IpAddress, SimHost*> by_address_;
  std::vector<std::vector<std::unique_ptr<Link>>> links_;  // [from][to]
  std::size_t link_count_ = 0;
  std::deque<Packet> pool_;
  Packet* first_free_ = nullptr;
  std::uint64_t dropped_no_route_ = 0;
  StreamFilter* stream_filter_ = nullptr;
  std::unique_ptr<stream_detail::Streams> streams_;
};

}  // namespace fb::net
