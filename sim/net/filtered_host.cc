#include "sim/net/filtered_host.h"

#include <algorithm>
#include <map>

namespace fb::net {

class FilteredPort final : public DatagramPort, private DatagramReceiver {
 public:
  FilteredPort(FilteredHost& host, std::unique_ptr<DatagramPort> inner) : host_(host), inner_(std::move(inner)) {
    inner_->set_receiver(this);
  }
  ~FilteredPort() override { inner_->set_receiver(nullptr); }

  Outgoing begin(const Endpoint& to, std::size_t size) override {
    to_ = to;
    room_.resize(size);
    return {room_, IpFacts{}};
  }
  void commit() override { pass({host_.options_.out, 0, host_.sent_++, host_.world_.now(), inner_->local(), to_, room_}, true); }
  void flush() override { inner_->flush(); }
  void set_receiver(DatagramReceiver* receiver) override { receiver_ = receiver; }
  Endpoint local() const override { return inner_->local(); }
  std::size_t mtu() const override { return inner_->mtu(); }

 private:
  struct Late {
    Endpoint other;
    Bytes payload;
    bool out;
  };

  void on_datagram(const Arrival& arrival) override {
    show(host_.options_.speaks, arrival.source, arrival.destination, arrival.payload);
    arrived_.assign(arrival.payload.begin(), arrival.payload.end());
    pass({host_.options_.in, 1, host_.received_++, host_.world_.now(), arrival.source, arrival.destination, arrived_}, false);
  }
  void on_batch_end() override {
    if (receiver_ != nullptr) receiver_->on_batch_end();
  }

  void pass(PacketContext packet, bool out) {
    const Verdict verdict = host_.filter_ == nullptr ? Verdict::pass() : host_.filter_->on_packet(packet);
    if (verdict.drop) return;
    const Endpoint other = out ? packet.destination : packet.source;
    const ByteView whole = packet.payload;
    const ByteView bytes = whole.first(whole.size() - std::min(whole.size(), verdict.cut));
    const auto leave = [&](Duration after) {
      if (after == Duration{}) return deliver(other, bytes, out);
      late_.insert({host_.world_.now() + after, Late{other, {bytes.begin(), bytes.end()}, out}});
      host_.world_.loop().schedule(late_timer_, late_.begin()->first);
    };
    leave(verdict.delay);
    for (std::uint32_t copy = 0; copy < verdict.duplicates; ++copy) leave(verdict.duplicate_delay);
  }

  void deliver(const Endpoint& other, ByteView bytes, bool out) {
    if (out) {
      const Outgoing room = inner_->begin(other, bytes.size());
      std::copy(bytes.begin(), bytes.end(), room.payload.begin());
      show(host_.options_.hears, inner_->local(), other, bytes);
      inner_->commit();
    } else if (receiver_ != nullptr) {
      receiver_->on_datagram({other, inner_->local(), bytes, std::nullopt});
    }
  }

  void deliver_late() {
    bool arrived = false;
    while (!late_.empty() && late_.begin()->first <= host_.world_.now()) {
      const Late due = std::move(late_.extract(late_.begin()).mapped());
      deliver(due.other, due.payload, due.out);
      arrived = arrived || !due.out;
    }
    if (arrived) on_batch_end();
    inner_->flush();
    if (!late_.empty()) host_.world_.loop().schedule(late_timer_, late_.begin()->first);
  }

  void show(std::string_view actor, const Endpoint& source, const Endpoint& destination, ByteView bytes) {
    if (!host_.world_.trace().hears_wire()) return;
    TraceEvent event;
    event.kind = TraceKind::packet;
    event.time = host_.world_.now();
    event.actor = actor;
    event.label = "udp";
    event.bytes = bytes;
    event.source = source;
    event.destination = destination;
    host_.world_.trace().emit(event);
  }

  FilteredHost& host_;
  std::unique_ptr<DatagramPort> inner_;
  DatagramReceiver* receiver_ = nullptr;
  Endpoint to_;
  Bytes room_, arrived_;
  std::multimap<Instant, Late> late_;
  Timer<FilteredPort, &FilteredPort::deliver_late> late_timer_{"net.filtered.late", *this};
};

Result<std::unique_ptr<DatagramPort>> FilteredHost::open(const Endpoint& local) {
  auto inner = inner_.open(local);
  if (!inner) return Failure{inner.error()};
  return std::unique_ptr<DatagramPort>(std::make_unique<FilteredPort>(*this, std::move(inner).value()));
}

}  // namespace fb::net
