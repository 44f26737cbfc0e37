#include "sim/mctp/socket_server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "sim/core/unix_socket.h"
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

std::uint8_t flags_of(Tag tag) { return static_cast<std::uint8_t>(tag.value | (tag.owner ? kernel::kTagOwner : 0u)); }

ByteView bytes_of(const SocketFrame& frame) { return {reinterpret_cast<const std::uint8_t*>(&frame), sizeof frame}; }

}  // namespace

// ---- a socket of a program ----

class SocketServer::Socket final : public FdHandler {
 public:
  Socket(SocketServer& server, int fd) : server_(server), fd_(fd) { server_.world_.real_loop()->watch(fd_, *this); }
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
    std::uint64_t order = 0;  ///< of the binds, from 1 on
    bool operator==(const Place& other) const { return network == other.network && eid == other.eid && type == other.type; }
  };
  std::optional<Place> bound;
  std::optional<Place> peer;
  /// How closely a message that nobody's tag claims is bound to this socket; 0: not at all.
  std::uint64_t claim(KernelVersion version, std::uint32_t network, const Incoming& message) const;
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

std::uint64_t SocketServer::Socket::claim(KernelVersion version, std::uint32_t network, const Incoming& message) const {
  if (!bound || bound->type != (message.body[0] & 0x7F)) return 0;
  const bool anywhere = bound->network == kernel::kNetworkAny;
  const bool any_eid = bound->eid == kernel::kAddressAny;
  if (!anywhere && bound->network != network) return 0;
  if (!any_eid && bound->eid != message.destination) return 0;
  if (version == KernelVersion::v6_9) return bound->order;
  if (peer && peer->eid != kernel::kAddressAny && peer->eid != message.source) return 0;
  // In order of widening scope: destination and source, destination, source, the network, any network.
  if (anywhere) return 1;
  return 2u + (peer ? 1u : 0u) + (any_eid ? 0u : 2u);
}

bool SocketServer::Socket::deliver(const SocketFrame& frame, ByteView payload) {
  const ByteView head = bytes_of(frame);
  iovec parts[2] = {{const_cast<std::uint8_t*>(head.data()), head.size()}, {const_cast<std::uint8_t*>(payload.data()), payload.size()}};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  return sendmsg(fd_, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

// ---- what the networks bring ----

/// The handler of one type on one network.
class SocketServer::Listener final : public MessageHandler {
 public:
  Listener(SocketServer& server, Network& network, MessageType type) : server_(server), network_(network), type_(type) {
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

Result<std::unique_ptr<SocketServer>> SocketServer::open(World& world, Bus& bus, const std::string& path, KernelVersion kernel) {
  BENCH_ASSERT(world.real_loop() != nullptr, "programs live in real time");
  const auto fd = listen_at(path, SOCK_SEQPACKET);
  if (!fd) return Failure{fd.error()};
  return std::unique_ptr<SocketServer>(new SocketServer(world, bus, path, *fd, kernel));
}

SocketServer::SocketServer(World& world, Bus& bus, std::string path, int fd, KernelVersion kernel)
    : world_(world), bus_(bus), path_(std::move(path)), fd_(fd), kernel_(kernel), buffer_(sizeof(SocketFrame) + kSocketPayloadMax) {
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

/// Gives a tag back; the next one.
SocketServer::Tags::iterator SocketServer::end_tag(Tags::iterator at) {
  if (at->second.port != nullptr) at->second.port->release_tag(at->first.peer, {at->first.value, true});
  return tags_.erase(at);
}

void SocketServer::drop(Socket& socket) {
  for (auto at = tags_.begin(); at != tags_.end();) {
    if (at->second.socket == &socket) {
      at = end_tag(at);
    } else {
      ++at;
    }
  }
  std::erase_if(sockets_, [&](const auto& one) { return one.get() == &socket; });
}

/// "Any" is the default network.
std::uint32_t SocketServer::number_of(std::uint32_t network) const {
  const bool any = network == kernel::kNetworkAny && !bus_.networks().empty();
  return any ? bus_.networks().front()->number() : network;
}

/// The interface that an extended address names, or an errno.
int SocketServer::interface_of(const SocketFrame& frame, Interface& found) const {
  std::uint32_t number = 0;
  for (const auto& network : bus_.networks()) {
    for (std::size_t port = 0; port < network->owner().ports(); ++port) {
      if (++number != frame.interface) continue;
      found = {network.get(), port};
      const std::size_t size = network->owner().endpoint(port).binding().facts().address_size;
      return frame.address_size == size ? 0 : EINVAL;
    }
  }
  return kernel_ == KernelVersion::v6_9 ? EINVAL : ENOENT;
}

/// The number of the interface that leads to an EID.
std::uint32_t SocketServer::interface_to(const Network& network, Eid eid) const {
  std::uint32_t before = 0;
  for (const auto& one : bus_.networks()) {
    if (one.get() == &network) break;
    before += static_cast<std::uint32_t>(one->owner().ports());
  }
  const auto known = network.known().find(eid);
  return before + 1 + static_cast<std::uint32_t>(known == network.known().end() ? 0 : known->second.port);
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
  switch (frame.call) {
    case SocketCall::send:
      return send(socket, frame, payload);
    case SocketCall::bind:
      return bind(socket, frame);
    case SocketCall::connect:
      return connect(socket, frame);
    case SocketCall::allocate_tag:
      return allocate(socket, frame);
    case SocketCall::release_tag:
      return release(socket, frame);
    case SocketCall::extended:
      socket.extended = frame.value != 0;
      return answer(0);
    case SocketCall::is_extended: {
      SocketFrame made = answer(0);
      made.value = socket.extended;
      return made;
    }
    default:
      ++counters_.malformed;
      return answer(EINVAL);
  }
}

/// Names the one peer that a bind to come takes messages from. It is no place to send to: each message has a tag, and
/// so an address, of its own.
SocketFrame SocketServer::connect(Socket& socket, const SocketFrame& frame) {
  constexpr unsigned kIntegrity = 0x80;
  if (kernel_ == KernelVersion::v6_9) return answer(EOPNOTSUPP);
  if (frame.value != 0) return answer(frame.value);
  if (frame.tag != 0 || (frame.type & kIntegrity) != 0) return answer(EINVAL);
  if (socket.bound || socket.peer) return answer(EADDRINUSE);
  socket.peer = {number_of(frame.network), frame.eid, frame.type};
  return answer(0);
}

/// Another socket has exactly this binding already.
bool SocketServer::bound_alike(const Socket& socket) const {
  return std::any_of(sockets_.begin(), sockets_.end(), [&](const auto& other) {
    if (other.get() == &socket || !other->bound || *other->bound != *socket.bound) return false;
    return socket.peer ? other->peer && other->peer->eid == socket.peer->eid : !other->peer;
  });
}

SocketFrame SocketServer::bind(Socket& socket, const SocketFrame& frame) {
  if (frame.value != 0) return answer(frame.value);
  if (socket.bound) return answer(EADDRINUSE);
  Socket::Place wanted{frame.network, frame.eid, static_cast<std::uint8_t>(frame.type & 0x7F), ++binds_};
  const bool resolves = kernel_ != KernelVersion::v6_9 && wanted.eid != kernel::kAddressAny;
  if (resolves) wanted.network = number_of(wanted.network);
  if (socket.peer) {
    if (wanted.type != socket.peer->type) return answer(EINVAL);
    if (wanted.network == kernel::kNetworkAny) wanted.network = socket.peer->network;
    if (wanted.network != socket.peer->network) return answer(EINVAL);
  }
  // The control protocol is the bus owner's own.
  if (wanted.type == static_cast<std::uint8_t>(MessageType::control)) return answer(EACCES);
  socket.bound = wanted;
  if (kernel_ != KernelVersion::v6_9 && bound_alike(socket)) {
    socket.bound.reset();
    return answer(EADDRINUSE);
  }
  for (const auto& network : bus_.networks()) listen_for(*network, wanted.type);
  return answer(0);
}

/// A free tag towards a peer: of the port, or on a network that is not there, of those that sockets have.
std::optional<Tag> SocketServer::take_tag(std::uint32_t network, Eid peer, Port* port) {
  if (port != nullptr) return port->take_tag(peer);
  for (std::uint8_t value = 0; value < 8; ++value) {
    const bool taken = std::any_of(tags_.begin(), tags_.end(), [&](const auto& one) {
      const bool meets = peer == kNullEid || one.first.peer == kNullEid || one.first.peer == peer;
      return one.first.network == network && one.first.value == value && meets;
    });
    if (!taken) return Tag{value, true};
  }
  return std::nullopt;
}

/// The tag of an outgoing message, or an errno.
int SocketServer::choose_tag(Socket& socket, std::uint32_t network, const SocketFrame& frame, Port& port, Tag& tag) {
  tag = {static_cast<std::uint8_t>(frame.tag & kernel::kTagMask), (frame.tag & kernel::kTagOwner) != 0};
  if (!tag.owner) return 0;
  if ((frame.tag & kernel::kTagPreallocated) != 0) {
    for (const Eid peer : {frame.eid, Eid{kNullEid}}) {  // one for anybody will do
      const auto found = tags_.find({network, peer, tag.value});
      if (found != tags_.end() && found->second.socket == &socket && found->second.kept) return 0;
    }
    return ENOENT;
  }
  const auto taken = take_tag(network, frame.eid, &port);
  if (!taken) return EBUSY;
  tag = *taken;
  tags_[{network, frame.eid, tag.value}] = {&socket, false, world_.now() + kTagLife, &port};
  arm_expiry();
  return 0;
}

SocketFrame SocketServer::send(Socket& socket, const SocketFrame& frame, ByteView payload) {
  constexpr unsigned kTagBits = kernel::kTagMask | kernel::kTagOwner | kernel::kTagPreallocated;
  if (frame.eid_given == 0) return answer(EDESTADDRREQ);
  const bool ownerless = (frame.tag & (kernel::kTagOwner | kernel::kTagPreallocated)) == kernel::kTagPreallocated;
  const bool physical = frame.address_given != 0 && socket.extended;
  // What is wrong with the extension matters to those alone who asked for it.
  if (frame.value != 0 && (physical || frame.address_given == 0)) return answer(EINVAL);
  if ((frame.tag & ~kTagBits) != 0 || ownerless) return answer(EINVAL);
  Interface at{bus_.find(number_of(frame.network)), 0};
  if (physical) {
    if (const int error = interface_of(frame, at)) return answer(error);
  }
  Network* const network = at.network;
  if (network == nullptr) return answer(EHOSTUNREACH);
  const bool ours = !physical && frame.eid == network->owner().eid();
  if (!physical && !ours && network->known().count(frame.eid) == 0) return answer(EHOSTUNREACH);
  if (!listen_for(*network, frame.type)) return answer(EACCES);
  Port& port = physical ? static_cast<Port&>(network->owner().endpoint(at.port)) : network->port();
  Outgoing message;
  if (const int error = choose_tag(socket, network->number(), frame, port, message.tag)) return answer(error);
  message.destination = frame.eid;
  const auto unit = units_.find({network->number(), frame.eid});
  if (unit != units_.end()) message.unit = unit->second;
  if (physical) message.to = {frame.address, std::min<std::uint8_t>(frame.address_size, 2)};
  message.body.reserve(payload.size() + 1);
  message.body.push_back(frame.type);
  message.body.insert(message.body.end(), payload.begin(), payload.end());
  if (ours) {
    const Incoming back{frame.eid, frame.eid, message.tag, {}, message.body};
    return answer(on_message(*network, back) ? 0 : ENOENT);
  }
  port.send(std::move(message));
  ++counters_.sent;
  return answer(0);
}

namespace {
/// Null and "any" are both whoever answers.
Eid peer_of(const SocketFrame& frame) { return frame.eid == kernel::kAddressAny ? Eid{kNullEid} : frame.eid; }
}  // namespace

SocketFrame SocketServer::allocate(Socket& socket, const SocketFrame& frame) {
  if (frame.tag != 0) return answer(EINVAL);
  // Nobody asks whether the network is there.
  Network* const network = bus_.find(frame.network);
  Port* const port = network == nullptr ? nullptr : &network->port();
  const Eid peer = peer_of(frame);
  const auto taken = take_tag(frame.network, peer, port);
  if (!taken) return answer(EBUSY);
  tags_[{frame.network, peer, taken->value}] = {&socket, true, Instant::never(), port};
  SocketFrame made = answer(0);
  made.tag = static_cast<std::uint8_t>(taken->value | kernel::kTagOwner | kernel::kTagPreallocated);
  return made;
}

SocketFrame SocketServer::release(Socket& socket, const SocketFrame& frame) {
  constexpr unsigned kFlags = kernel::kTagOwner | kernel::kTagPreallocated;
  if ((frame.tag & ~unsigned{kernel::kTagMask}) != kFlags) return answer(EINVAL);
  const auto found = tags_.find({frame.network, peer_of(frame), static_cast<std::uint8_t>(frame.tag & kernel::kTagMask)});
  if (found == tags_.end() || found->second.socket != &socket || !found->second.kept) return answer(EINVAL);
  end_tag(found);
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
    } else {
      at = end_tag(at);
    }
  }
  if (next != Instant::never()) world_.loop().schedule(expiry_, next);
}

/// Who is to have a message: whoever's tag an answer bears; for others the socket that is bound to it most closely.
SocketServer::Socket* SocketServer::claimed_by(Network& network, const Incoming& message) {
  if (!message.tag.owner) {
    for (const Eid peer : {message.source, Eid{kNullEid}}) {
      const auto found = tags_.find({network.number(), peer, message.tag.value});
      if (found == tags_.end()) continue;
      Socket* const socket = found->second.socket;
      if (!found->second.kept) end_tag(found);
      return socket;
    }
    return nullptr;
  }
  Socket* taker = nullptr;
  std::uint64_t closest = 0;
  for (const auto& socket : sockets_) {
    const std::uint64_t claim = socket->claim(kernel_, network.number(), message);
    if (claim > closest) {
      closest = claim;
      taker = socket.get();
    }
  }
  return taker;
}

/// False where no socket takes it.
bool SocketServer::on_message(Network& network, const Incoming& message) {
  Socket* const socket = claimed_by(network, message);
  if (socket == nullptr || message.body.size() - 1 > kSocketPayloadMax) {
    ++counters_.unclaimed;
    return false;
  }
  SocketFrame frame;
  frame.network = network.number();
  frame.eid = message.source;
  frame.type = message.body[0];
  frame.tag = flags_of(message.tag);
  frame.interface = interface_to(network, message.source);
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
  return true;
}

}  // namespace fb::mctp
