#include "conformance/runner/rdma_bench.h"

namespace fb::conformance {

namespace {
constexpr Duration kHandshake = Duration::s(10);
}  // namespace

RdmaBench::RdmaBench(World& world, const Environment& environment) : Bench(world) {
  if (!environment.product->embedded) {
    throw UserError("no adapter for an RDMA device at " + environment.product->url);
  }
  EmbeddedSetup setup = environment.setup();
  network_ = std::make_unique<EmbeddedNetwork>(world, setup);
  soft_hooks_ = environment.deviations->soft_hooks();
  device_ = std::make_unique<DeviceStack>(world, network_->product,
                                          DeviceOptions{"product", kProductAddress, soft_hooks_.get()}, setup);
  user_ = std::make_unique<VerbsUser>(world, device_->top());
  peer_ = std::make_unique<RawRoce>(world, network_->bench, kBenchAddress, kProductAddress);
}

RdmaBench::~RdmaBench() = default;

RawRoce& RdmaBench::another_peer() {
  const auto number = static_cast<std::uint8_t>(11 + more_peers_.size());
  const IpAddress own = IpAddress::v4(10, 0, 0, number);
  network_->bench.add_address(own);
  return *more_peers_.emplace_back(
      std::make_unique<RawRoce>(world(), network_->bench, own, kProductAddress));
}

RcConnection RdmaBench::connect_to_product(const ListenTerms& terms, const RawRequest& request) {
  if (!listening_) user_->listen(request.port, terms);
  listening_ = true;
  RcConnection made;
  const auto facts = peer_->connect(request);
  if (!facts) throw CannotArrange{"the product did not accept a good connection request"};
  made.facts = *facts;
  made.queue = user_->accepted();
  if (made.queue == nullptr || !made.queue->wait_event(ConnectionEvent::established, kHandshake)) {
    throw CannotArrange{"the product did not take the connection as established"};
  }
  return made;
}

RcConnection RdmaBench::connect_from_product(rdma::ConnectionParameters parameters,
                                             const RawRoce::RawReply& reply, const QueueTerms& terms) {
  RcConnection made;
  made.queue = &user_->connect({kBenchAddress, kPlainPort}, parameters, terms);
  const auto req = peer_->wait_mad(cm::Attribute::req, kHandshake);
  if (!req) throw CannotArrange{"the product sent no connection request"};
  made.facts = peer_->accept(*req, reply);
  if (!peer_->wait_mad(cm::Attribute::rtu, kHandshake)) throw CannotArrange{"the product sent no RTU"};
  if (!made.queue->wait_event(ConnectionEvent::established, kHandshake)) {
    throw CannotArrange{"the product did not take the connection as established"};
  }
  return made;
}

}  // namespace fb::conformance
