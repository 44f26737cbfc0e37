// AF_MCTP sockets of other processes on our networks: the far end of the preload library. What a socket can
// do, which errors it gets and when, is as Linux has it (net/mctp/af_mctp.c, in its effects).
//
// The control protocol stays with the bus: sockets of type 00h are refused.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/core/world.h"
#include "sim/mctp/network.h"
#include "sim/mctp/socket_frame.h"

namespace fb::mctp {

/// Which Linux the sockets are like.
enum class KernelVersion : std::uint8_t {
  v6_9,   ///< no connect(); of several sockets that are bound alike the latest has the messages
  v6_17,  ///< a socket may be bound to a peer, and one alone to the same
};

struct SocketCounters {
  std::uint64_t opened = 0;
  std::uint64_t sent = 0;
  std::uint64_t delivered = 0;
  std::uint64_t unclaimed = 0;   ///< messages for which no socket was there
  std::uint64_t overflowed = 0;  ///< the program did not read, and its socket was full
  std::uint64_t malformed = 0;   ///< frames that no library of ours sends
};

class SocketServer final : private FdHandler {
 public:
  /// How long a tag waits for its answer, unless it was allocated beforehand.
  static constexpr Duration kTagLife = Duration::s(6);

  /// Listens on a unix socket at `path`, which is made. The world is real; the bus outlives the server. The
  /// process ignores SIGPIPE: a program may have gone before its answer. A socket that a server left there which
  /// was killed is taken over.
  static Result<std::unique_ptr<SocketServer>> open(World& world, Bus& bus, const std::string& path,
                                                    KernelVersion kernel = KernelVersion::v6_17);
  ~SocketServer();
  SocketServer(const SocketServer&) = delete;
  SocketServer& operator=(const SocketServer&) = delete;

  const std::string& path() const { return path_; }
  /// Payload of the packets to an endpoint, from now on; 64 where nobody said.
  void set_unit(std::uint32_t network, Eid eid, std::size_t unit) { units_[{network, eid}] = unit; }
  const SocketCounters& counters() const { return counters_; }
  std::size_t sockets() const { return sockets_.size(); }

 private:
  class Socket;
  class Listener;
  /// Whose answer a tag waits for.
  struct TagKey {
    std::uint32_t network;
    Eid peer;
    std::uint8_t value;
    auto operator<=>(const TagKey&) const = default;
  };
  struct TagUse {
    Socket* socket;
    bool kept;  ///< allocated by the program, and released by it
    Instant expires;
    Port* port;  ///< where it was taken; null on a network that is not there
  };
  using Tags = std::map<TagKey, TagUse>;
  /// A port of ours as the kernel numbers interfaces, from 1 on.
  struct Interface {
    Network* network;
    std::size_t port;
  };

  SocketServer(World& world, Bus& bus, std::string path, int fd, KernelVersion kernel);
  void on_readable() override;

  SocketFrame serve(Socket& socket, const SocketFrame& frame, ByteView payload);
  SocketFrame send(Socket& socket, const SocketFrame& frame, ByteView payload);
  SocketFrame bind(Socket& socket, const SocketFrame& frame);
  SocketFrame connect(Socket& socket, const SocketFrame& frame);
  SocketFrame allocate(Socket& socket, const SocketFrame& frame);
  SocketFrame release(Socket& socket, const SocketFrame& frame);
  bool bound_alike(const Socket& socket) const;
  int choose_tag(Socket& socket, std::uint32_t network, const SocketFrame& frame, Port& port, Tag& tag);
  std::optional<Tag> take_tag(std::uint32_t network, Eid peer, Port* port);
  Tags::iterator end_tag(Tags::iterator at);
  std::uint32_t number_of(std::uint32_t network) const;
  int interface_of(const SocketFrame& frame, Interface& found) const;
  std::uint32_t interface_to(const Network& network, Eid eid) const;
  bool listen_for(Network& network, std::uint8_t type);
  bool on_message(Network& network, const Incoming& message);
  Socket* claimed_by(Network& network, const Incoming& message);
  void drop(Socket& socket);
  void expire_tags();
  void arm_expiry();

  World& world_;
  Bus& bus_;
  std::string path_;
  int fd_;
  KernelVersion kernel_;
  std::vector<std::unique_ptr<Socket>> sockets_;  // oldest first
  std::uint64_t binds_ = 0;
  Tags tags_;
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::unique_ptr<Listener>> listeners_;
  std::map<std::pair<std::uint32_t, Eid>, std::size_t> units_;
  Bytes buffer_;  ///< a frame that arrives, of any socket
  SocketCounters counters_;
  Timer<SocketServer, &SocketServer::expire_tags> expiry_{"mctp.socket.tags", *this};
};

}  // namespace fb::mctp
