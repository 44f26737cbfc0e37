#include "sim/mctp/socket_server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/assert.h"
#include "wire/mctp/kernel.h"

namespace fb::mctp {

namespace {

constexpr std::size_t kSocketsMax = 1024;
/// Of a message as it assembles: the type byte and the largest payload.
constexpr std::size_t kMessageMax = kSocketPayloadMax + 1;

SocketFrame answer(int error) {
  SocketFrame frame;
  frame.error = error;
  return frame;
}

std::uint8_t flags_of(Tag tag) {
  return static_cast<std::uint8_t>(tag.value | (tag.owner ? kernel::kTagOwner : 0u));
}

ByteView bytes_of(const SocketFrame& frame) {
  return {reinterpret_cast<const std::uint8_t*>(&frame), sizeof frame};
}

}  // namespace

// ---- a socket of a program ----

class SocketServer::Socket final : public FdHandler {
 public:
  Socket(SocketServer& server, int fd) : server_(server), fd_(fd) {
    server_.world_.real_loop()->watch(fd_, *this);
  }
  ~Socket() {
    server_.world_.real_loop()->unwatch(fd_);
    ::close(fd_);
  }
  void on_readable() override;
  bool deliver(const SocketFrame& frame, ByteView payload);

  struct Place {
    std::uint32_t network = kernel::kNetworkAny;
    Eid eid = kernel::kAddressAny;
    std::uint8_t type = 0;
  };
  std::optional<Place> bound;
  std::optional<Place> connected;
  bool extended = false;

 private:
  void answer_into(int pipe, const SocketFrame& frame);

  SocketServer& server_;
  int fd_;
};

void SocketServer::Socket::on_readable() {
  Bytes& buffer = server_.buffer_;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  iovec part = {buffer.data(), buffer.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = recvmsg(fd_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got < 0) return server_.drop(*this);
  int pipe = -1;
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SCM_RIGHTS) std::memcpy(&pipe, CMSG_DATA(at), sizeof pipe);
  }
  if (got == 0) {  // the end, or a frame of nothing, which none of ours is
    if (pipe >= 0) ::close(pipe);
    return server_.drop(*this);
  }
  const auto size = static_cast<std::size_t>(got);
  if (size < sizeof(SocketFrame) || pipe < 0 || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    ++server_.counters_.malformed;
    if (pipe >= 0) answer_into(pipe, answer(EMSGSIZE));
    return;
  }
  SocketFrame frame;
  std::memcpy(&frame, buffer.data(), sizeof frame);
  const ByteView payload = ByteView(buffer).subspan(sizeof frame, size - sizeof frame);
  answer_into(pipe, server_.serve(*this, frame, payload));
}

/// The pipe is the program's: one that it has filled, or closed, gets nothing.
void SocketServer::Socket::answer_into(int pipe, const SocketFrame& frame) {
  fcntl(pipe, F_SETFL, O_NONBLOCK);
  [[maybe_unused]] const auto written = ::write(pipe, &frame, sizeof frame);
  ::close(pipe);
}

bool SocketServer::Socket::deliver(const SocketFrame& frame, ByteView payload) {
  const ByteView head = bytes_of(frame);
  iovec parts[2] = {{const_cast<std::uint8_t*>(head.data()), head.size()},
                    {const_cast<std::uint8_t*>(payload.data()), payload.size()}};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  return sendmsg(fd_, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

// ---- what the networks bring ----

/// The handler of one type on one network.
class SocketServer::Listener final : public MessageHandler {
 public:
  Listener(SocketServer& server, Network& network, MessageType type)
      : server_(server), network_(network), type_(type) {
    network_.port().set_handler(type_, this, kMessageMax);
  }
  ~Listener() { network_.port().set_handler(type_, nullptr, 0); }
  void on_message(const Incoming& message) override { server_.on_message(network_, message); }

 private:
  SocketServer& server_;
  Network& network_;
  MessageType type_;
};

// ---- the server ----

Result<std::unique_ptr<SocketServer>> SocketServer::open(World& world, Bus& bus, const std::string& path) {
  BENCH_ASSERT(world.real_loop() != nullptr, "programs live in real time");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Failure{Problem{path + ": too long for the name of a socket"}};
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return Failure{Problem{path + ": " + std::strerror(errno)}};
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(fd, 64) != 0) {
    const int error = errno;
    ::close(fd);
    return Failure{Problem{path + ": " + std::strerror(error)}};
  }
  return std::unique_ptr<SocketServer>(new SocketServer(world, bus, path, fd));
}

SocketServer::SocketServer(World& world, Bus& bus, std::string path, int fd)
    : world_(world),
      bus_(bus),
      path_(std::move(path)),
      fd_(fd),
      buffer_(sizeof(SocketFrame) + kSocketPayloadMax) {
  // As Linux does: whatever an endpoint was told to send in one packet comes in.
  for (const auto& network : bus_.networks()) network->port().set_unit(network->port().unit_max());
  world_.real_loop()->watch(fd_, *this);
}

SocketServer::~SocketServer() {
  world_.real_loop()->unwatch(fd_);
  ::close(fd_);
  ::unlink(path_.c_str());
}

void SocketServer::on_readable() {
  const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  if (sockets_.size() >= kSocketsMax) {
    ::close(fd);
    return;
  }
  ++counters_.opened;
  sockets_.push_back(std::make_unique<Socket>(*this, fd));
}

void SocketServer::drop(Socket& socket) {
  for (auto at = tags_.begin(); at != tags_.end();) {
    if (at->second.socket != &socket) {
      ++at;
      continue;
    }
    if (Network* const network = network_of(at->first.network)) {
      network->port().release_tag(at->first.peer, {at->first.value, true});
    }
    at = tags_.erase(at);
  }
  std::erase_if(sockets_, [&](const auto& one) { return one.get() == &socket; });
}

Network* SocketServer::network_of(std::uint32_t number) {
  if (number != kernel::kNetworkAny) return bus_.find(number);
  return bus_.networks().empty() ? nullptr : bus_.networks().front().get();
}

/// False for a type that is not for sockets.
bool SocketServer::listen_for(Network& network, std::uint8_t type) {
  const auto wanted = static_cast<MessageType>(type & 0x7F);
  if (wanted == MessageType::control) return false;
  auto& listener = listeners_[{network.number(), static_cast<std::uint8_t>(wanted)}];
  if (listener == nullptr) listener = std::make_unique<Listener>(*this, network, wanted);
  return true;
}

SocketFrame SocketServer::serve(Socket& socket, const SocketFrame& frame, ByteView payload) {
  const auto place = [](const std::optional<Socket::Place>& at) {
    SocketFrame made = answer(at ? 0 : ENOTCONN);
    if (at) {
      made.network = at->network;
      made.eid = at->eid;
      made.type = at->type;
    }
    return made;
  };
  switch (frame.call) {
    case SocketCall::send: return send(socket, frame, payload);
    case SocketCall::bind: return bind(socket, frame);
    case SocketCall::connect:
      if (network_of(frame.network) == nullptr) return answer(EHOSTUNREACH);
      socket.connected = {frame.network, frame.eid, frame.type};
      return answer(0);
    case SocketCall::allocate_tag: return allocate(socket, frame);
    case SocketCall::release_tag: return release(socket, frame);
    case SocketCall::extended: socket.extended = frame.value != 0; return answer(0);
    case SocketCall::is_extended: {
      SocketFrame made = answer(0);
      made.value = socket.extended;
      return made;
    }
    case SocketCall::name: return socket.bound ? place(socket.bound) : answer(0);
    case SocketCall::peer: return place(socket.connected);
    default: ++counters_.malformed; return answer(EINVAL);
  }
}

SocketFrame SocketServer::bind(Socket& socket, const SocketFrame& frame) {
  if (socket.bound) return answer(EADDRINUSE);
  const Socket::Place wanted{frame.network, frame.eid, static_cast<std::uint8_t>(frame.type & 0x7F)};
  if (frame.network != kernel::kNetworkAny && bus_.find(frame.network) == nullptr) return answer(EADDRNOTAVAIL);
  for (const auto& other : sockets_) {
    if (other->bound && other->bound->network == wanted.network && other->bound->eid == wanted.eid &&
        other->bound->type == wanted.type && !other->connected) {
      return answer(EADDRINUSE);
    }
  }
  for (const auto& network : bus_.networks()) {
    const bool here = wanted.network == kernel::kNetworkAny || wanted.network == network->number();
    if (here && !listen_for(*network, wanted.type)) return answer(EACCES);
  }
  socket.bound = wanted;
  return answer(0);
}

/// The tag of an outgoing message, or an errno.
int SocketServer::choose_tag(Socket& socket, Network& network, const SocketFrame& frame, Eid peer, Tag& tag) {
  tag = {static_cast<std::uint8_t>(frame.tag & kernel::kTagMask), (frame.tag & kernel::kTagOwner) != 0};
  if (!tag.owner) return (frame.tag & kernel::kTagPreallocated) != 0 ? EINVAL : 0;
  if ((frame.tag & kernel::kTagPreallocated) != 0) {
    const auto found = tags_.find({network.number(), peer, tag.value});
    return found != tags_.end() && found->second.socket == &socket && found->second.kept ? 0 : EBUSY;
  }
  const auto taken = network.port().take_tag(peer);
  if (!taken) return EBUSY;
  tag = *taken;
  tags_[{network.number(), peer, tag.value}] = {&socket, false, world_.now() + kTagLife};
  arm_expiry();
  return 0;
}

SocketFrame SocketServer::send(Socket& socket, const SocketFrame& frame, ByteView payload) {
  SocketFrame to = frame;
  if (to.eid_given == 0) {
    if (!socket.connected) return answer(EDESTADDRREQ);
    to.network = socket.connected->network;
    to.eid = socket.connected->eid;
    to.type = socket.connected->type;
    to.tag = kernel::kTagOwner;
  }
  Network* const network = network_of(to.network);
  const bool physical = to.address_given != 0 && socket.extended;
  if (network == nullptr) return answer(EHOSTUNREACH);
  if (!physical && (to.eid == kNullEid || to.eid == kBroadcastEid || network->known().count(to.eid) == 0)) {
    return answer(EHOSTUNREACH);
  }
  if (!listen_for(*network, to.type)) return answer(EACCES);
  Outgoing message;
  if (const int error = choose_tag(socket, *network, to, to.eid, message.tag)) return answer(error);
  message.destination = to.eid;
  const auto unit = units_.find({network->number(), to.eid});
  if (unit != units_.end()) message.unit = unit->second;
  if (physical) message.to = {to.address, std::min<std::uint8_t>(to.address_size, 2)};
  message.body.reserve(payload.size() + 1);
  message.body.push_back(to.type);
  message.body.insert(message.body.end(), payload.begin(), payload.end());
  network->port().send(std::move(message));
  ++counters_.sent;
  return answer(0);
}

SocketFrame SocketServer::allocate(Socket& socket, const SocketFrame& frame) {
  if (frame.tag != 0) return answer(EINVAL);
  Network* const network = network_of(frame.network);
  if (network == nullptr) return answer(EINVAL);
  const auto taken = network->port().take_tag(frame.eid);
  if (!taken) return answer(EBUSY);
  tags_[{network->number(), frame.eid, taken->value}] = {&socket, true, Instant::never()};
  SocketFrame made = answer(0);
  made.tag = static_cast<std::uint8_t>(taken->value | kernel::kTagOwner | kernel::kTagPreallocated);
  return made;
}

SocketFrame SocketServer::release(Socket& socket, const SocketFrame& frame) {
  Network* const network = network_of(frame.network);
  constexpr unsigned kFlags = kernel::kTagOwner | kernel::kTagPreallocated;
  if (network == nullptr || (frame.tag & kFlags) != kFlags) return answer(EINVAL);
  const TagKey key{network->number(), frame.eid, static_cast<std::uint8_t>(frame.tag & kernel::kTagMask)};
  const auto found = tags_.find(key);
  if (found == tags_.end() || found->second.socket != &socket || !found->second.kept) return answer(EINVAL);
  network->port().release_tag(key.peer, {key.value, true});
  tags_.erase(found);
  return answer(0);
}

void SocketServer::arm_expiry() {
  if (!expiry_.scheduled()) world_.loop().schedule_after(expiry_, kTagLife);
}

void SocketServer::expire_tags() {
  Instant next = Instant::never();
  for (auto at = tags_.begin(); at != tags_.end();) {
    if (at->second.expires > world_.now()) {
      next = std::min(next, at->second.expires);
      ++at;
      continue;
    }
    if (Network* const network = network_of(at->first.network)) {
      network->port().release_tag(at->first.peer, {at->first.value, true});
    }
    at = tags_.erase(at);
  }
  if (next != Instant::never()) world_.loop().schedule(expiry_, next);
}

/// Who is to have a message: whoever's tag an answer bears; for others the socket that is bound to the type,
/// one that is connected to the sender before one that takes from anybody.
SocketServer::Socket* SocketServer::claimed_by(Network& network, const Incoming& message) {
  if (!message.tag.owner) {
    const auto found = tags_.find({network.number(), message.source, message.tag.value});
    if (found == tags_.end()) return nullptr;
    Socket* const socket = found->second.socket;
    if (!found->second.kept) {
      network.port().release_tag(message.source, {message.tag.value, true});
      tags_.erase(found);
    }
    return socket;
  }
  const auto type = static_cast<std::uint8_t>(message.body[0] & 0x7F);
  Socket* taker = nullptr;
  for (const auto& socket : sockets_) {
    if (!socket->bound || socket->bound->type != type) continue;
    if (socket->bound->network != kernel::kNetworkAny && socket->bound->network != network.number()) continue;
    if (socket->bound->eid != kernel::kAddressAny && socket->bound->eid != message.destination) continue;
    if (!socket->connected) {
      if (taker == nullptr) taker = socket.get();
    } else if (socket->connected->eid == message.source) {
      return socket.get();
    }
  }
  return taker;
}

void SocketServer::on_message(Network& network, const Incoming& message) {
  Socket* const socket = claimed_by(network, message);
  if (socket == nullptr || message.body.size() - 1 > kSocketPayloadMax) {
    ++counters_.unclaimed;
    return;
  }
  SocketFrame frame;
  frame.network = network.number();
  frame.eid = message.source;
  frame.type = message.body[0];
  frame.tag = flags_of(message.tag);
  frame.interface = 1;
  if (socket->extended) {
    frame.address_given = 1;
    frame.address = message.from.bytes;
    frame.address_size = message.from.size;
  }
  if (socket->deliver(frame, message.body.subspan(1))) {
    ++counters_.delivered;
  } else {
    ++counters_.overflowed;
  }
}

}  // namespace fb::mctp
