#include "sim/net/l2_host.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace fb::net {

namespace {

constexpr std::size_t kFrameMax = 65'536;
constexpr int kFramesPerTurn = 64;
constexpr std::size_t kBacklogMax = 4096;          // frames that wait for the peer to read
constexpr Duration kTryAgain = Duration::us(100);  // a full queue does not say when it has room
constexpr std::uint16_t kFirstFreePort = 49152;

}  // namespace

class L2Port final : public DatagramPort {
 public:
  L2Port(L2Host& host, const Endpoint& local) : host_(host), local_(local) { host_.ports_[local.port] = this; }
  ~L2Port() override {
    host_.ports_.erase(local_.port);
    host_.flush();  // a last word (a disconnect) still leaves
  }

  Outgoing begin(const Endpoint& to, std::size_t size) override {
    BENCH_ASSERT(size <= max_payload(), "a datagram is never longer than max_payload()");
    to_ = to;
    pending_ = host_.link_.take(size);
    return {MutableBytes(pending_).subspan(host_.link_.headroom()), IpFacts{}};
  }
  void commit() override {
    const ByteView payload = ByteView(pending_).subspan(host_.link_.headroom());
    const bool reachable = to_.address.is_v4() == local_.address.is_v4() && to_.port != 0;
    const bool room = host_.link_.outputs() < kBacklogMax;
    if (!reachable || !room) {
      if (!room) ++host_.counters_.dropped_backlog;
      host_.trace(TraceKind::fault, local_, to_, payload, {}, "dropped: cannot be sent");
      return;
    }
    host_.trace(TraceKind::packet, local_, to_, payload, {}, "");
    host_.link_.send(host_.world_.now(), std::move(pending_), local_.port, to_);
    host_.arm();
  }
  void flush() override { host_.flush(); }
  void set_receiver(DatagramReceiver* receiver) override { receiver_ = receiver; }
  Endpoint local() const override { return local_; }
  std::size_t mtu() const override { return host_.options_.mtu; }

  DatagramReceiver* receiver() const { return receiver_; }

 private:
  L2Host& host_;
  Endpoint local_;
  DatagramReceiver* receiver_ = nullptr;
  Bytes pending_;
  Endpoint to_;
};

Result<std::unique_ptr<L2Host>> L2Host::start(World& world, const L2Options& options) {
  BENCH_ASSERT(world.real_loop() != nullptr, "sockets need a world in real time");
  auto socket = options.link.empty() ? L2Socket::on_unix_sockets(options.path, options.peer) : L2Socket::on_interface(options.link);
  if (!socket) return Failure{socket.error()};
  return std::unique_ptr<L2Host>(new L2Host(world, options, std::move(socket).value()));
}

L2Host::L2Host(World& world, const L2Options& options, std::unique_ptr<L2Socket> socket)
    : world_(world),
      loop_(*world.real_loop()),
      options_(options),
      socket_(std::move(socket)),
      link_(options.address, mac_for(options.address)),
      buffer_(kFrameMax) {
  loop_.watch(socket_->fd(), *this);
}

L2Host::~L2Host() { loop_.unwatch(socket_->fd()); }

Result<std::unique_ptr<DatagramPort>> L2Host::open(const Endpoint& local) {
  Endpoint at = local;
  if (at.address != options_.address) {
    return Failure{Problem{fmt::format("{}: this host has the address {}", to_string(at.address), to_string(options_.address))}};
  }
  if (at.port == 0) {
    at.port = kFirstFreePort;
    while (ports_.contains(at.port)) ++at.port;
  }
  if (ports_.contains(at.port)) {
    return Failure{Problem{fmt::format("UDP {}: the port is taken", to_string(at))}};
  }
  return std::unique_ptr<DatagramPort>(std::make_unique<L2Port>(*this, at));
}

void L2Host::on_readable() {
  for (int i = 0; i < kFramesPerTurn; ++i) {
    const auto got = recv(socket_->fd(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got < 0) break;
    const auto size = static_cast<std::size_t>(got);
    if (const auto datagram = link_.on_frame(world_.now(), ByteView(buffer_).first(size))) {
      deliver(*datagram);
    }
  }
  finish_batch();
  flush();
}

void L2Host::deliver(const L2Datagram& datagram) {
  const auto found = ports_.find(datagram.destination.port);
  trace(TraceKind::packet, datagram.source, datagram.destination, datagram.payload, datagram.ip, "");
  if (found == ports_.end() || found->second->receiver() == nullptr) return;
  const std::uint16_t port = found->first;
  if (std::find(touched_.begin(), touched_.end(), port) == touched_.end()) touched_.push_back(port);
  found->second->receiver()->on_datagram({datagram.source, datagram.destination, datagram.payload, datagram.ip});
}

void L2Host::finish_batch() {
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    const auto found = ports_.find(touched_[i]);  // receivers may close ports
    if (found != ports_.end() && found->second->receiver() != nullptr) {
      found->second->receiver()->on_batch_end();
    }
  }
  touched_.clear();
}

void L2Host::flush() {
  loop_.cancel(flush_timer_);
  while (link_.has_output()) {
    const int error = socket_->send(link_.output());
    if (error == EINTR) continue;
    if (error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS) {
      ++counters_.blocked;
      loop_.schedule_after(flush_timer_, kTryAgain);
      break;
    }
    ++(error == 0 ? counters_.sent : counters_.dropped_no_peer);
    link_.pop_output();
  }
  const auto due = link_.deadline();
  if (due && !ask_timer_.scheduled()) {
    loop_.schedule_after(ask_timer_, std::max(*due - world_.now(), Duration{}));
  }
}

void L2Host::arm() {
  if (!flush_timer_.scheduled()) loop_.schedule_after(flush_timer_, Duration{});
}

void L2Host::on_deadline() {
  link_.on_deadline(world_.now());
  flush();
}

void L2Host::trace(TraceKind kind, const Endpoint& source, const Endpoint& destination, ByteView bytes, const IpFacts& ip,
                   std::string_view text) {
  Trace& out = world_.trace();
  if (!out.hears_wire()) return;
  TraceEvent event;
  event.kind = kind;
  event.time = world_.now();
  event.actor = source.address == options_.address ? "local" : "peer";
  event.label = "udp";
  event.text = text;
  event.bytes = bytes;
  event.source = source;
  event.destination = destination;
  event.ip = ip;
  out.emit(event);
}

}  // namespace fb::net
