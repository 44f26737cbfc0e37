#include "sim/mctp/multi_port.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace fb::mctp {

// Stands at one endpoint for one type, and gives on what it hears with our ids.
class MultiPort::Relay final : public MessageHandler {
 public:
  Relay(std::size_t index, std::size_t count, MessageType type, MessageHandler& to) : index_(index), count_(count), type_(type), to_(to) {}
  MessageType type() const { return type_; }

  void on_message(const Incoming& message) override { to_.on_message(message); }
  void on_started(const Incoming& first) override { to_.on_started(first); }
  void on_abandoned(Eid source, Tag tag, Abandoned why) override { to_.on_abandoned(source, tag, why); }
  void on_sent(SendId id, bool delivered) override { to_.on_sent(id * count_ + index_, delivered); }
  void on_drop(Drop why) override { to_.on_drop(why); }

 private:
  std::size_t index_;
  std::size_t count_;
  MessageType type_;
  MessageHandler& to_;
};

MultiPort::MultiPort(std::vector<Endpoint*> endpoints, Chooser chooser) : endpoints_(std::move(endpoints)), chooser_(std::move(chooser)) {
  BENCH_ASSERT(!endpoints_.empty(), "a port of something");
}

MultiPort::~MultiPort() {
  for (const auto& relay : relays_) {
    for (Endpoint* endpoint : endpoints_) endpoint->set_handler(relay->type(), nullptr, 0);
  }
}

std::size_t MultiPort::unit_max() const {
  std::size_t smallest = endpoints_.front()->unit_max();
  for (const Endpoint* one : endpoints_) smallest = std::min(smallest, one->unit_max());
  return smallest;
}

void MultiPort::set_unit(std::size_t unit) {
  for (Endpoint* one : endpoints_) one->set_unit(unit);
}

void MultiPort::set_handler(MessageType type, MessageHandler* handler, std::size_t size_max) {
  for (Endpoint* endpoint : endpoints_) endpoint->set_handler(type, nullptr, 0);
  std::erase_if(relays_, [&](const auto& relay) { return relay->type() == type; });
  if (handler == nullptr) return;
  for (std::size_t index = 0; index < endpoints_.size(); ++index) {
    relays_.push_back(std::make_unique<Relay>(index, endpoints_.size(), type, *handler));
    endpoints_[index]->set_handler(type, relays_.back().get(), size_max);
  }
}

std::size_t MultiPort::choose(Eid eid) const { return std::min(chooser_(eid), endpoints_.size() - 1); }

std::optional<Tag> MultiPort::take_tag(Eid peer) {
  if (peer != kNullEid) return at(peer).take_tag(peer);
  unsigned free = 0xFF;
  for (Endpoint* one : endpoints_) free &= one->tags().free(peer);
  if (free == 0) return std::nullopt;
  const auto value = static_cast<std::uint8_t>(std::countr_zero(free));
  for (Endpoint* one : endpoints_) one->tags().take(peer, value);
  return Tag{value, true};
}

void MultiPort::release_tag(Eid peer, Tag tag) {
  if (peer != kNullEid) return at(peer).release_tag(peer, tag);
  for (Endpoint* one : endpoints_) one->release_tag(peer, tag);
}

SendId MultiPort::send(Outgoing message) {
  const std::size_t index = choose(message.destination);
  return endpoints_[index]->send(std::move(message)) * endpoints_.size() + index;
}

}  // namespace fb::mctp
