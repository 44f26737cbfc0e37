#include "conformance/runner/rdma_bench.h"

#include <algorithm>
#include <atomic>

#include "sim/rdma/verbs/device_list.h"
#include "sim/rdma/verbs/verbs_device.h"

namespace fb::conformance {

namespace {

constexpr Duration kHandshake = Duration::s(10);
/// A goodbye that has not come by then does not come.
constexpr Duration kGoodbye = Duration::ms(20);
/// From the usual PSNs of cases, 10h and 20h, to their end.
constexpr std::uint32_t kNearWrap = roce::kPsnMask - 0x21;

template <class T>
T found(Result<T>&& result) {
  if (!result) throw UserError(result.error().text);
  return std::move(result).value();
}

/// The device's address in the bench's family: what connections come to.
IpAddress address_beside(const std::string& device, const IpAddress& bench) {
  for (const verbs::DeviceFacts& one : found(verbs::list_devices())) {
    if (one.name != device) continue;
    const auto at = std::find_if(one.addresses.begin(), one.addresses.end(),
                                 [&](const IpAddress& address) { return address.is_v4() == bench.is_v4(); });
    if (at != one.addresses.end()) return *at;
  }
  return {};
}

/// Ids of connections and queue pairs that no case has used before with this product. It runs one case at a time.
std::uint32_t unused_ids(std::uint64_t nonce) {
  constexpr std::uint32_t kOfOneBench = 0x400, kFirst = 0x1000, kRoom = 0xFF0000;
  static std::atomic<std::uint32_t> given{0};
  const auto base = static_cast<std::uint32_t>(mix64(nonce) % kRoom);
  return kFirst + (base + kOfOneBench * given++) % kRoom;
}

/// The `number`th further address of the bench's, which the product does not have.
IpAddress next_address(const IpAddress& first, std::uint8_t number, const IpAddress& product, std::size_t at) {
  auto bytes = first.bytes();
  const auto next = [&] {
    bytes[at] = static_cast<std::uint8_t>(bytes[at] % 254 + 1);
    return first.is_v4() ? IpAddress::v4(bytes[12], bytes[13], bytes[14], bytes[15]) : IpAddress::v6(bytes);
  };
  IpAddress made = first;
  for (std::uint8_t i = 0; i < number; ++i) {
    made = next();
    if (made == product) made = next();
  }
  return made;
}

}  // namespace

RdmaBench::Emulated::Emulated(World& world, const Environment& environment)
    : network(world, environment.setup()),
      hooks(environment.deviations->soft_hooks()),
      device(world, network.product, DeviceOptions{"product", environment.setup().product_address, hooks.get()}, environment.setup()) {}

RdmaBench::Real::Real(World& world, const Product& product)
    : local(product.local), device(found(verbs::open_device(world, {product.device, address_beside(product.device, local.address)}))) {}

RdmaBench::RdmaBench(World& world, const Environment& environment) : Bench(world), near_wrap_(environment.around().near_wrap) {
  const Product& product = *environment.product;
  if (product.embedded) {
    emulated_ = std::make_unique<Emulated>(world, environment);
    address_ = emulated_->network.product.address();
    peer_address_ = emulated_->network.bench.address();
  } else if (!product.device.empty()) {
    real_ = std::make_unique<Real>(world, product);
    address_ = address_beside(product.device, product.local.address);
    peer_address_ = product.local.address;
  } else {
    throw UserError("no adapter for an RDMA device at " + product.url);
  }
  user_ = std::make_unique<VerbsUser>(world, embedded() ? emulated_->device.top() : *real_->device);
  peer_ = make_peer(peer_address_);
  if (environment.around().other_connection) keep_another_connection();
  if (!embedded()) peer_->begin_ids_at(unused_ids(product.nonce));
}

RdmaBench::~RdmaBench() = default;

/// A program of its own on the product's device, with a connection that stays.
void RdmaBench::keep_another_connection() {
  constexpr std::uint16_t kOtherPort = 7999;
  other_user_ = std::make_unique<VerbsUser>(world(), embedded() ? emulated_->device.top() : *real_->device);
  other_user_->listen(kOtherPort);
  RawRoce& other = another_peer();
  other.begin_ids_at(0x5000);  // of the same channel adapter as the case's peer, which begins at the usual ones
  RawRequest request;
  request.port = kOtherPort;
  request.mtu_code = 1;  // which the smallest port carries
  if (!other.connect(request)) throw CannotArrange{"the product did not accept another connection"};
  VerbsQueue* const queue = other_user_->accepted();
  if (queue == nullptr || !queue->wait_event(ConnectionEvent::established, kHandshake)) {
    throw CannotArrange{"the product did not take another connection as established"};
  }
}

std::unique_ptr<RawRoce> RdmaBench::make_peer(const IpAddress& at) {
  if (embedded()) {
    auto made = std::make_unique<RawRoce>(world(), emulated_->network.bench, at, address_);
    if (near_wrap_) made->move_psns(kNearWrap);
    return made;
  }
  net::LocalHost local = real_->local;
  local.address = at;
  auto& host = real_->hosts.emplace_back(found(net::open_local_host(world(), local)));
  return std::make_unique<RawRoce>(world(), *host, at, address_);
}

RawRoce& RdmaBench::another_peer(std::size_t differing_byte) {
  const auto number = static_cast<std::uint8_t>(1 + more_peers_.size());
  const IpAddress own = next_address(peer_address_, number, address_, differing_byte);
  if (embedded()) emulated_->network.bench.add_address(own);
  RawRoce& made = *more_peers_.emplace_back(make_peer(own));
  if (!embedded()) made.begin_ids_at(peer_->fresh_id() + 0x200);
  return made;
}

void RdmaBench::finish() {
  if (embedded()) return;
  user_.reset();
  peer_->answer_goodbyes(kGoodbye);
  for (const auto& one : more_peers_) one->answer_goodbyes(kGoodbye);
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

RcConnection RdmaBench::connect_from_product(rdma::ConnectionParameters parameters, const RawRoce::RawReply& reply,
                                             const QueueTerms& terms) {
  RcConnection made;
  made.queue = &user_->connect({peer_address_, kPlainPort}, parameters, terms);
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
