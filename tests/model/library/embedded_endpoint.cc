#include "tests/model/library/embedded_endpoint.h"

#include <algorithm>
#include <utility>

namespace fb::library {

EmbeddedEndpoint::EmbeddedEndpoint(World& world, fb_bench& bench) : bench_(bench), subsystem_(world, options_.subsystem) {
  for (subsystem::NamespaceOptions& one : options_.namespaces) (void)subsystem_.add_namespace(std::move(one));
  device_ = std::make_unique<mi::Device>(subsystem_, options_.device);
  const auto kind = bench.mi_medium == FB_MI_PCIE ? mi::PortType::pcie : mi::PortType::two_wire;
  const auto port = std::ranges::find_if(options_.device.ports, [&](const auto& one) { return one.type == kind; });
  options_.endpoint.port = static_cast<std::uint8_t>(port - options_.device.ports.begin());
  endpoint_ = std::make_unique<mi::Endpoint>(world, *device_, *this, options_.endpoint);
  endpoint_->set_on_reset([this] { bench_.mi_reset(&bench_, 0); });
}

mctp::Incoming EmbeddedEndpoint::incoming(const fb_mi_message& message) {
  mctp::Incoming made;
  made.source = message.eid;
  made.destination = message.self;
  made.tag = {message.tag, message.tag_owner != 0};
  std::copy(std::begin(message.address), std::end(message.address), made.from.bytes.begin());
  made.from.size = message.address_bytes;
  made.body = ByteView(static_cast<const std::uint8_t*>(message.body), message.bytes);
  return made;
}

std::optional<mctp::Tag> EmbeddedEndpoint::take_tag(mctp::Eid peer) {
  const std::int32_t tag = bench_.mi_take_tag(&bench_, peer);
  if (tag < 0) return std::nullopt;
  return mctp::Tag{static_cast<std::uint8_t>(tag), true};
}

mctp::SendId EmbeddedEndpoint::send(mctp::Outgoing message) {
  fb_mi_message made = {};
  made.eid = message.destination;
  made.self = message.source;
  made.tag = message.tag.value;
  made.tag_owner = message.tag.owner ? 1 : 0;
  std::copy(message.to.bytes.begin(), message.to.bytes.end(), made.address);
  made.address_bytes = message.to.size;
  made.unit = static_cast<std::uint32_t>(message.unit);
  made.bytes = static_cast<std::uint32_t>(message.body.size());
  made.body = message.body.data();
  return bench_.mi_send(&bench_, &made);
}

}  // namespace fb::library
