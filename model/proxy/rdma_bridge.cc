#include "model/proxy/rdma_bridge.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <string>

#include "sim/capture/frame.h"
#include "sim/net/l2_link.h"
#include "sim/rdma/softroce/icrc.h"
#include "wire/rdma/headers.h"

namespace fb::proxy {

namespace {

constexpr std::size_t kFrameMost = 65'600;
constexpr int kFramesPerTurn = 256;
constexpr std::size_t kUdp = 8, kIpv6 = 40;
constexpr std::size_t kWaitingMost = 16u << 20;  // bytes that wait for a link
constexpr Duration kRetry = Duration::us(50);

/// Headers say again how long the packet is, and their checksums hold. On IPv4 a UDP checksum is left out, as RoCE devices do.
void repair(MutableBytes frame, std::size_t ip, std::size_t payload_at) {
  const std::size_t udp = payload_at - kUdp;
  const bool v4 = frame[ip] >> 4 == 4;
  const auto udp_bytes = static_cast<std::uint16_t>(frame.size() - udp);
  store_be<std::uint16_t>(&frame[udp + 4], udp_bytes);
  store_be<std::uint16_t>(&frame[udp + 6], 0);
  if (v4) {
    store_be<std::uint16_t>(&frame[ip + 2], static_cast<std::uint16_t>(frame.size() - ip));
    store_be<std::uint16_t>(&frame[ip + 10], 0);
    store_be<std::uint16_t>(&frame[ip + 10], net::internet_checksum(net::internet_sum(frame.subspan(ip, udp - ip))));
    return;
  }
  store_be<std::uint16_t>(&frame[ip + 4], static_cast<std::uint16_t>(frame.size() - ip - kIpv6));
  constexpr std::uint32_t kProtocol = 17;
  const std::uint32_t addresses = net::internet_sum(frame.subspan(ip + 8, 32), kProtocol + udp_bytes);
  const std::uint16_t sum = net::internet_checksum(net::internet_sum(frame.subspan(udp), addresses));
  store_be<std::uint16_t>(&frame[udp + 6], sum == 0 ? 0xFFFF : sum);
}

std::optional<capture::CarriedPacket> roce_of(ByteView frame) {
  capture::CarriedPacket packet;
  if (capture::parse_frame(capture::link_type::ethernet, frame, packet) != capture::FrameFault::none) return std::nullopt;
  if (packet.tcp || packet.mctp || packet.destination.port != roce::kUdpPort) return std::nullopt;
  return packet;
}

}  // namespace

/// One of the links, and what comes from it.
class RdmaBridge::Side final : FdHandler {
 public:
  Side(RdmaBridge& bridge, std::unique_ptr<net::L2Socket> socket, std::string link, std::size_t index)
      : link_(std::move(link)), index_(index), socket_(std::move(socket)), bridge_(bridge), room_(kFrameMost) {
    bridge_.world_.real_loop()->watch(socket_->fd(), *this);
  }
  ~Side() { bridge_.world_.real_loop()->unwatch(socket_->fd()); }

  bool is_hosts() const { return index_ == 0; }
  /// Now, or as soon as the link takes it.
  void send(ByteView frame) {
    if (waiting_.empty() && take(frame)) return;
    if (waiting_bytes_ + frame.size() > kWaitingMost) {
      ++bridge_.counters_.unsent;
      return;
    }
    waiting_.emplace_back(frame.begin(), frame.end());
    waiting_bytes_ += frame.size();
    if (!again_.scheduled()) bridge_.world_.loop().schedule_after(again_, kRetry);
  }

  std::string link_;  // from here to the other, as schedules call it
  std::size_t index_;
  std::uint64_t ordinal_ = 0;

 private:
  void on_readable() override {
    for (int i = 0; i < kFramesPerTurn; ++i) {
      room_.resize(kFrameMost);
      const auto got = recv(socket_->fd(), room_.data(), room_.size(), MSG_DONTWAIT);
      if (got <= 0) break;
      room_.resize(static_cast<std::size_t>(got));
      bridge_.pass(*this, room_);
    }
  }

  /// False: the queue of the link is full.
  bool take(ByteView frame) {
    int error = socket_->send(frame);
    while (error == EINTR) error = socket_->send(frame);
    if (error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS) return false;
    ++(error == 0 ? bridge_.counters_.frames : bridge_.counters_.unsent);
    return true;
  }
  void send_again() {
    while (!waiting_.empty() && take(waiting_.front())) {
      waiting_bytes_ -= waiting_.front().size();
      waiting_.pop_front();
    }
    if (!waiting_.empty()) bridge_.world_.loop().schedule_after(again_, kRetry);
  }

  std::unique_ptr<net::L2Socket> socket_;
  RdmaBridge& bridge_;
  Bytes room_;
  std::deque<Bytes> waiting_;
  std::size_t waiting_bytes_ = 0;
  Timer<Side, &Side::send_again> again_{"proxy.bridge.again", *this};
};

RdmaBridge::RdmaBridge(World& world, std::unique_ptr<net::L2Socket> hosts, std::unique_ptr<net::L2Socket> controllers,
                       fault::Points* faults)
    : world_(world) {
  if (faults != nullptr) {
    network_.emplace(*faults, [this](const Endpoint& source, const Endpoint& destination, MutableBytes payload) {
      softroce::seal_icrc(softroce::IcrcPath(source, destination), payload, at_hand_);
    });
  }
  hosts_ = std::make_unique<Side>(*this, std::move(hosts), "host->target", 0);
  controllers_ = std::make_unique<Side>(*this, std::move(controllers), "target->host", 1);
}

RdmaBridge::~RdmaBridge() = default;

void RdmaBridge::pass(Side& from, Bytes& frame) {
  (from.is_hosts() ? counters_.to_controller_bytes : counters_.to_host_bytes) += frame.size();
  const auto packet = roce_of(frame);
  if (!packet) return (from.is_hosts() ? *controllers_ : *hosts_).send(frame);
  ++counters_.roce;
  show(from.is_hosts(), false, frame);
  pass_roce(from, frame, static_cast<std::size_t>(packet->payload.data() - frame.data()), packet->payload.size());
}

void RdmaBridge::pass_roce(Side& from, Bytes& frame, std::size_t payload_at, std::size_t payload_bytes) {
  Side& to = from.is_hosts() ? *controllers_ : *hosts_;
  const auto leave = [&](Duration after) {
    if (after == Duration{}) {
      show(from.is_hosts(), true, frame);
      return to.send(frame);
    }
    late_.insert({world_.now() + after, Late{&to, frame}});
    world_.loop().schedule(late_timer_, late_.begin()->first);
  };
  if (!network_) return leave({});
  frame.resize(payload_at + payload_bytes);  // without the padding of short frames
  const auto packet = roce_of(frame);
  const auto ip_at = static_cast<std::size_t>(packet->ip_packet.data() - frame.data());
  at_hand_ = packet->ip;
  net::PacketContext context{
      from.link_, from.index_, from.ordinal_++, world_.now(), packet->source, packet->destination, MutableBytes(frame).subspan(payload_at)};
  const net::Verdict verdict = network_->on_packet(context);
  if (verdict.drop) return;
  if (verdict.cut > 0) frame.resize(frame.size() - std::min(payload_bytes, verdict.cut));
  if (verdict.corrupted || verdict.cut > 0) repair(frame, ip_at, payload_at);
  leave(verdict.delay);
  for (std::uint32_t copy = 0; copy < verdict.duplicates; ++copy) leave(verdict.duplicate_delay);
}

void RdmaBridge::send_late() {
  while (!late_.empty() && late_.begin()->first <= world_.now()) {
    const Late due = std::move(late_.extract(late_.begin()).mapped());
    show(due.to == controllers_.get(), true, due.frame);
    due.to->send(due.frame);
  }
  if (!late_.empty()) world_.loop().schedule(late_timer_, late_.begin()->first);
}

/// A quiet bridge shows each packet once. Under faults both links are shown: what arrives, and what leaves.
void RdmaBridge::show(bool by_host, bool passed, ByteView frame) {
  if (!world_.trace().hears_wire() || (passed && !network_)) return;
  const auto packet = roce_of(frame);
  if (!packet) return;
  TraceEvent event;
  event.kind = TraceKind::packet;
  event.time = world_.now();
  if (passed) {
    event.actor = by_host ? actors::towards_controller : actors::towards_host;
  } else {
    event.actor = by_host ? actors::host : actors::controller;
  }
  event.label = "udp";
  event.bytes = packet->payload;
  event.source = packet->source;
  event.destination = packet->destination;
  event.ip = packet->ip;
  world_.trace().emit(event);
}

}  // namespace fb::proxy
