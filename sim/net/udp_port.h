// This machine as a host: UDP sockets behind the datagram seam, TCP sockets behind that of streams.
//
// RoCEv2's integrity check covers the IP header, so the header that a socket causes must be known
// before it is sent: an unconnected socket with "do not fragment" sends identification 0, and a
// segmentation-offload train counts the identification up from 0 (IPv6 has none).
#pragma once

#include <cstdint>

#include "sim/core/world.h"
#include "sim/net/datagram.h"
#include "sim/net/stream.h"

namespace fb::net {

struct RealHostOptions {
  /// Send equal-sized datagrams to one destination as one train, where the kernel can.
  bool segmentation = true;
  /// Bounds mtu(); loopback interfaces would say 65536.
  std::size_t mtu_max = 9000;
  int socket_buffer_bytes = 32 << 20;
  int stream_buffer_bytes = 0;  ///< of TCP sockets, each direction; 0: as the kernel sees fit
  Duration connect_timeout = Duration::s(5);
  bool streams_traced = true;    ///< TCP connections are shown in the world's trace
  bool datagrams_traced = true;  ///< likewise
};

struct RealHostCounters {
  std::uint64_t sent = 0;  ///< datagrams that the kernel took
  std::uint64_t received = 0;
  std::uint64_t trains = 0;  ///< sent with segmentation offload
  std::uint64_t merged = 0;  ///< received datagrams that came merged with others
  std::uint64_t send_calls = 0;
  std::uint64_t receive_calls = 0;
  std::uint64_t blocked = 0;             ///< times the socket's buffer was full
  std::uint64_t dropped_backlog = 0;     ///< it stayed full, and so became the port's
  std::uint64_t dropped_unsendable = 0;  ///< no route, too long for the path, segmentation refused
  std::uint64_t dropped_received = 0;    ///< truncated, or from an address of another family
};

/// What the TCP sockets of a host did.
struct RealStreamCounters {
  std::uint64_t connections = 0;  ///< begun by connect()
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  std::uint64_t unreachable = 0;
  std::uint64_t resets = 0;  ///< streams that ended so
  std::uint64_t send_calls = 0;
  std::uint64_t receive_calls = 0;  ///< with busy polling also those that find nothing
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t blocked = 0;        ///< times the socket's buffer was full
  std::uint64_t accept_pauses = 0;  ///< times that descriptors had run out
};

/// Needs a world in real time, which it must not outlive; ports, streams and listeners go before it.
class RealHost final : public DatagramHost, public StreamHost {
 public:
  explicit RealHost(World& world, const RealHostOptions& options = {});

  /// Opens one address, not a wildcard.
  Result<std::unique_ptr<DatagramPort>> open(const Endpoint& local) override;

  /// An address of 0.0.0.0 or :: leaves the choice of the address, or of all, to the kernel.
  Result<std::unique_ptr<Stream>> connect(const Endpoint& local, const Endpoint& to, StreamHandler& handler) override;
  Result<std::unique_ptr<StreamListener>> listen(const Endpoint& local, StreamAcceptor& acceptor) override;

  const RealHostCounters& counters() const { return counters_; }
  const RealStreamCounters& stream_counters() const { return stream_counters_; }
  /// Whether trains are sent. Known after the first open().
  bool segmentation() const { return segmentation_; }

 private:
  friend class UdpPort;
  friend class TcpStream;
  friend class TcpListener;
  World& world_;
  RealHostOptions options_;
  RealHostCounters counters_;
  RealStreamCounters stream_counters_;
  bool segmentation_;
};

}  // namespace fb::net
