#include "conformance/runner/kernel_peer.h"

#include <utility>

namespace fb::conformance {

namespace {
constexpr std::size_t kMessageMax = 65536;
}

KernelPeer::KernelPeer(World& world, std::uint32_t network, mctp::Eid product, mctp::KernelCalls* calls)
    : world_(world), product_(product) {
  auto opened = mctp::AfMctpPort::open(world, {.network = network}, calls);
  if (!opened) throw UserError(opened.error().text);
  port_ = std::move(opened).value();
  port_->set_handler(mctp::MessageType::control, this, kMessageMax);
  port_->set_handler(mctp::MessageType::nvme_mi, this, kMessageMax);
}

KernelPeer::~KernelPeer() {
  for (const auto& tag : kernel_tags_) {
    if (tag) port_->release_tag(product_, *tag);
  }
}

void KernelPeer::send_message(ByteView body, const MctpTerms& terms) {
  auto& tag = kernel_tags_[terms.tag & 7u];
  if (tag) port_->release_tag(product_, *tag);
  tag = port_->take_tag(product_);
  if (!tag) throw CannotArrange{"no message tag is left"};
  mctp::Outgoing message;
  message.destination = product_;
  message.tag = *tag;
  message.body.assign(body.begin(), body.end());
  taken_.reset();
  port_->send(std::move(message));
  world_.run_until([&] { return taken_.has_value(); }, Duration::s(1));
  if (!taken_.value_or(false)) throw CannotArrange{port_->last_problem()};
}

void KernelPeer::on_sent(mctp::SendId, bool delivered) { taken_ = delivered; }

void KernelPeer::on_message(const mctp::Incoming& message) {
  SeenMessage seen;
  seen.first = seen.last = world_.now();
  seen.from = message.from;
  seen.source = message.source;
  seen.destination = message.destination;
  seen.owner = message.tag.owner;
  seen.tag = message.tag.value;
  for (std::size_t ours = 0; ours < kernel_tags_.size(); ++ours) {
    if (!message.tag.owner && kernel_tags_[ours] && kernel_tags_[ours]->value == message.tag.value) {
      seen.tag = static_cast<std::uint8_t>(ours);
      break;
    }
  }
  seen.body.assign(message.body.begin(), message.body.end());
  messages_.push_back(std::move(seen));
}

std::optional<SeenMessage> KernelPeer::next_message(Duration limit) {
  if (!world_.run_until([&] { return !messages_.empty(); }, limit)) return std::nullopt;
  SeenMessage message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

}  // namespace fb::conformance
