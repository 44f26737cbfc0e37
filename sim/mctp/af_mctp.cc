#include "sim/mctp/af_mctp.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "wire/mctp/kernel.h"

namespace fb::mctp {

namespace {

constexpr std::size_t kMessageMax = 64 * 1024 + 64;

// The socket calls take any address as this.
union AnyAddress {
  sockaddr plain;
  std::uint8_t bytes[64];
};

AnyAddress address_from(ByteView bytes) {
  AnyAddress address{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), sizeof address.bytes), address.bytes);
  return address;
}

}  // namespace

// ----------------------------------------------------------------------------------------- kernel

int KernelCalls::open_socket() {
  const int fd = socket(kernel::kFamily, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  return fd < 0 ? -errno : fd;
}

int KernelCalls::bind_to(int fd, ByteView address) {
  const AnyAddress any = address_from(address);
  return bind(fd, &any.plain, static_cast<socklen_t>(address.size())) == 0 ? 0 : -errno;
}

ssize_t KernelCalls::send_to(int fd, ByteView address, ByteView payload) {
  const AnyAddress any = address_from(address);
  const ssize_t sent = sendto(fd, payload.data(), payload.size(), MSG_NOSIGNAL, &any.plain, static_cast<socklen_t>(address.size()));
  return sent < 0 ? -errno : sent;
}

ssize_t KernelCalls::receive(int fd, MutableBytes address, MutableBytes payload) {
  AnyAddress any{};
  socklen_t length = sizeof any;
  const ssize_t n = recvfrom(fd, payload.data(), payload.size(), 0, &any.plain, &length);
  if (n < 0) return -errno;
  std::copy_n(any.bytes, std::min(address.size(), sizeof any.bytes), address.begin());
  return n;
}

int KernelCalls::control(int fd, unsigned long request, MutableBytes argument) {
  return ioctl(fd, request, argument.data()) == 0 ? 0 : -errno;
}

void KernelCalls::close_socket(int fd) { close(fd); }

// ---------------------------------------------------------------------------------------- sockets

class AfMctpPort::TypeSocket final : public FdHandler {
 public:
  TypeSocket(AfMctpPort& port, int fd) : port_(port), fd_(fd) { port_.world_.real_loop()->watch(fd_, *this); }
  ~TypeSocket() {
    port_.world_.real_loop()->unwatch(fd_);
    port_.calls_.close_socket(fd_);
  }
  int fd() const { return fd_; }

  MessageHandler* handler = nullptr;
  std::size_t size_max = 0;

 private:
  void on_readable() override { port_.deliver(*this); }
  AfMctpPort& port_;
  int fd_;
};

Result<std::unique_ptr<AfMctpPort>> AfMctpPort::open(World& world, const AfMctpOptions& options, KernelCalls* calls) {
  BENCH_ASSERT(world.real_loop() != nullptr, "sockets are for a world in real time");
  std::unique_ptr<KernelCalls> own;
  if (calls == nullptr) own = std::make_unique<KernelCalls>();
  KernelCalls& used = calls == nullptr ? *own : *calls;
  const int fd = used.open_socket();
  if (fd == -EAFNOSUPPORT) {
    return Failure{Problem{"AF_MCTP: this kernel has no MCTP (it was built without CONFIG_MCTP)"}};
  }
  if (fd < 0) return Failure{Problem{fmt::format("AF_MCTP: {}", std::strerror(-fd))}};
  used.close_socket(fd);
  std::unique_ptr<AfMctpPort> port(new AfMctpPort(world, options, used));
  port->own_calls_ = std::move(own);
  return port;
}

AfMctpPort::AfMctpPort(World& world, const AfMctpOptions& options, KernelCalls& calls)
    : world_(world), options_(options), calls_(calls), buffer_(kMessageMax) {}

AfMctpPort::~AfMctpPort() { sockets_.clear(); }

AfMctpPort::TypeSocket* AfMctpPort::socket_for(std::uint8_t type) {
  const auto found = sockets_.find(type);
  if (found != sockets_.end()) return found->second.get();
  const int fd = calls_.open_socket();
  if (fd < 0) {
    last_problem_ = fmt::format("AF_MCTP: no socket: {}", std::strerror(-fd));
    return nullptr;
  }
  if (options_.listens) {
    Record<kernel::Address> local;
    local.set(kernel::address::family, std::uint16_t{kernel::kFamily})
        .set(kernel::address::network, options_.network)
        .set(kernel::address::eid, kernel::kAddressAny)
        .set(kernel::address::type, type);
    const int bound = calls_.bind_to(fd, local.bytes());
    if (bound < 0) {
      last_problem_ = fmt::format("AF_MCTP: cannot listen for message type {:02x}h: {}", type, std::strerror(-bound));
    }
  }
  return sockets_.emplace(type, std::make_unique<TypeSocket>(*this, fd)).first->second.get();
}

void AfMctpPort::set_handler(MessageType type, MessageHandler* handler, std::size_t size_max) {
  const auto key = static_cast<std::uint8_t>(type);
  if (handler == nullptr && !sockets_.contains(key)) return;
  TypeSocket* const socket = socket_for(key);
  if (socket == nullptr) return;
  socket->handler = handler;
  socket->size_max = size_max;
}

// ------------------------------------------------------------------------------------------- tags

// The kernel's tag for one of ours: had when the first message needs it, since it belongs to that socket.
AfMctpPort::KernelTag* AfMctpPort::kernel_tag(Eid peer, std::uint8_t ours, int fd) {
  for (KernelTag& one : kernel_tags_) {
    if (one.peer == peer && one.ours == ours && one.fd == fd) return &one;
  }
  KernelTag made{peer, ours, fd, 0, true};
  Record<kernel::TagControl2> wanted;
  wanted.set(kernel::tag_control2::network, options_.network)
      .set(kernel::tag_control2::peer, peer)
      .set(kernel::tag_control2::local, kernel::kAddressAny);
  int result = calls_.control(fd, kernel::kAllocTag2, wanted.mutable_bytes());
  made.value = wanted.get(kernel::tag_control2::tag);
  if (result == -EINVAL || result == -ENOTTY) {
    Record<kernel::TagControl> older;
    older.set(kernel::tag_control::peer, peer);
    result = calls_.control(fd, kernel::kAllocTag, older.mutable_bytes());
    made.value = older.get(kernel::tag_control::tag);
    made.second_kind = false;
  }
  if (result < 0) {
    last_problem_ = fmt::format("AF_MCTP: no tag towards EID {}: {}", peer, std::strerror(-result));
    return nullptr;
  }
  kernel_tags_.push_back(made);
  return &kernel_tags_.back();
}

void AfMctpPort::release_tag(Eid peer, Tag tag) {
  tags_.release(peer, tag);
  for (const KernelTag& one : kernel_tags_) {
    if (one.peer != peer || one.ours != tag.value) continue;
    if (one.second_kind) {
      Record<kernel::TagControl2> gone;
      gone.set(kernel::tag_control2::network, options_.network)
          .set(kernel::tag_control2::peer, peer)
          .set(kernel::tag_control2::local, kernel::kAddressAny)
          .set(kernel::tag_control2::tag, one.value);
      calls_.control(one.fd, kernel::kDropTag2, gone.mutable_bytes());
    } else {
      Record<kernel::TagControl> gone;
      gone.set(kernel::tag_control::peer, peer).set(kernel::tag_control::tag, one.value);
      calls_.control(one.fd, kernel::kDropTag, gone.mutable_bytes());
    }
  }
  std::erase_if(kernel_tags_, [&](const KernelTag& one) { return one.peer == peer && one.ours == tag.value; });
}

// ------------------------------------------------------------------------------------ out and in

SendId AfMctpPort::send(Outgoing message) {
  BENCH_ASSERT(!message.body.empty(), "a message has its type at least");
  const bool delivered = transmit(message);
  sent_.push_back({++last_id_, static_cast<std::uint8_t>(message.body[0] & 0x7F), delivered});
  world_.loop().schedule(sent_timer_, world_.now());
  return last_id_;
}

bool AfMctpPort::transmit(const Outgoing& message) {
  TypeSocket* const socket = socket_for(message.body[0] & 0x7F);
  if (socket == nullptr) return false;
  std::uint8_t tag = message.tag.value;
  if (message.tag.owner) {
    const KernelTag* const ours = kernel_tag(message.destination, message.tag.value, socket->fd());
    if (ours == nullptr) return false;
    tag = ours->value;
  }
  Record<kernel::Address> to;
  to.set(kernel::address::family, std::uint16_t{kernel::kFamily})
      .set(kernel::address::network, options_.network)
      .set(kernel::address::eid, message.destination)
      .set(kernel::address::type, message.body[0])
      .set(kernel::address::tag, tag);
  const ssize_t sent = calls_.send_to(socket->fd(), to.bytes(), ByteView(message.body).subspan(1));
  if (sent >= 0) return true;
  last_problem_ = fmt::format("AF_MCTP: cannot send to EID {} of network {}: {}", message.destination, options_.network,
                              std::strerror(static_cast<int>(-sent)));
  return false;
}

void AfMctpPort::withdraw(SendId id) {
  std::erase_if(sent_, [&](const Sent& one) { return one.id == id; });
}

void AfMctpPort::tell_sent() {
  while (!sent_.empty()) {
    const Sent one = sent_.front();
    sent_.pop_front();
    const auto found = sockets_.find(one.type);
    if (found != sockets_.end() && found->second->handler != nullptr) {
      found->second->handler->on_sent(one.id, one.delivered);
    }
  }
}

bool AfMctpPort::deliver(TypeSocket& socket) {
  Record<kernel::Address> from;
  // The first byte of the message is in the address.
  const ssize_t n = calls_.receive(socket.fd(), from.mutable_bytes(), MutableBytes(buffer_).subspan(1));
  if (n < 0) return false;
  buffer_[0] = from.get(kernel::address::type);
  const std::size_t size = static_cast<std::size_t>(n) + 1;
  MessageHandler* const handler = socket.handler;
  if (handler == nullptr) return true;
  Incoming message;
  message.source = from.get(kernel::address::eid);
  message.destination = options_.eid;
  message.body = ByteView(buffer_).first(size);
  const std::uint8_t tag = from.get(kernel::address::tag);
  message.tag = {static_cast<std::uint8_t>(tag & kernel::kTagMask), (tag & kernel::kTagOwner) != 0};
  if (!message.tag.owner) {
    const auto found = std::find_if(kernel_tags_.begin(), kernel_tags_.end(), [&](const KernelTag& one) {
      return one.fd == socket.fd() && one.peer == message.source && (one.value & kernel::kTagMask) == message.tag.value;
    });
    if (found == kernel_tags_.end()) {
      handler->on_drop(Drop::unexpected_tag);
      return true;
    }
    message.tag.value = found->ours;
  }
  if (size <= socket.size_max) handler->on_message(message);
  return true;
}

}  // namespace fb::mctp
