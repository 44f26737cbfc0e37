// A datagram host on raw Ethernet, with the whole IP header in our hands: over a pair of unix datagram sockets, as QEMU's
// "-netdev dgram" and other emulators speak it, which needs no privilege and no namespace; or on an interface of this
// machine, as a further machine on its link.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/world.h"
#include "sim/net/datagram.h"
#include "sim/net/l2_link.h"
#include "sim/net/l2_socket.h"

namespace fb::net {

struct L2Options {
  std::string path;  ///< our socket; made anew, and removed at the end
  std::string peer;  ///< the other's socket; it need not be there yet
  IpAddress address;
  std::size_t mtu = 9000;
  std::string link = {};  ///< instead of the two sockets: "veth1"
};

struct L2HostCounters {
  std::uint64_t sent = 0;
  std::uint64_t blocked = 0;          ///< times the peer's queue was full
  std::uint64_t dropped_backlog = 0;  ///< it stayed full
  std::uint64_t dropped_no_peer = 0;  ///< nobody has the peer's socket open
};

/// Needs a world in real time, which it must not outlive; ports go before it.
class L2Host final : public DatagramHost, private FdHandler {
 public:
  static Result<std::unique_ptr<L2Host>> start(World& world, const L2Options& options);
  ~L2Host();

  /// Opens the host's own address.
  Result<std::unique_ptr<DatagramPort>> open(const Endpoint& local) override;

  const L2HostCounters& counters() const { return counters_; }
  const L2Link& link() const { return link_; }

 private:
  friend class L2Port;

  L2Host(World& world, const L2Options& options, std::unique_ptr<L2Socket> socket);
  void on_readable() override;
  void deliver(const L2Datagram& datagram);
  void finish_batch();
  void flush();
  void on_deadline();
  void arm();
  void trace(TraceKind kind, const Endpoint& source, const Endpoint& destination, ByteView bytes, const IpFacts& ip, std::string_view text);

  World& world_;
  RealLoop& loop_;
  L2Options options_;
  L2HostCounters counters_;
  std::unique_ptr<L2Socket> socket_;
  L2Link link_;
  std::map<std::uint16_t, class L2Port*> ports_;
  std::vector<std::uint16_t> touched_;  // ports that this batch gave something to
  Bytes buffer_;
  Timer<L2Host, &L2Host::flush> flush_timer_{"net.l2.flush", *this};
  Timer<L2Host, &L2Host::on_deadline> ask_timer_{"net.l2.ask", *this};
};

}  // namespace fb::net
