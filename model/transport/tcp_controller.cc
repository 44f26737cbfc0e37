#include "model/transport/tcp_controller.h"

#include <algorithm>

#include "base/assert.h"
#include "model/transport/tcp_controller_channel.h"
#include "wire/fabrics/transports.h"

namespace fb::transport {

TcpControllerFabric::TcpControllerFabric(World& world, const ControllerFabricOptions& options, const TcpControllerOptions& tcp,
                                         ControllerAcceptor& acceptor, TransportHooks* hooks)
    : shared_(world, hooks), options_(options), tcp_(tcp), acceptor_(acceptor) {}

TcpControllerFabric::~TcpControllerFabric() = default;

Result<std::unique_ptr<TcpControllerFabric>> TcpControllerFabric::start(World& world, net::StreamHost& host, const IpAddress& local,
                                                                        const ControllerFabricOptions& options,
                                                                        const TcpControllerOptions& tcp, ControllerAcceptor& acceptor,
                                                                        TransportHooks* hooks) {
  std::unique_ptr<TcpControllerFabric> fabric(new TcpControllerFabric(world, options, tcp, acceptor, hooks));
  auto listener = host.listen({local, options.port}, *fabric);
  if (!listener) return Failure{listener.error()};
  fabric->listener_ = std::move(listener).value();
  return fabric;
}

ControllerFabricFacts TcpControllerFabric::facts() const {
  constexpr std::uint32_t kSgl = 1u, kLongerSgl = 1u << 18, kOffset = 1u << 20, kTransport = 1u << 21;
  ControllerFabricFacts facts;
  facts.name = fabrics::kTcp;
  facts.trtype = 3;
  facts.in_capsule_bytes = options_.in_capsule_bytes;
  facts.msdbd = 1;
  facts.security = tcp_.security;
  facts.sgls = kSgl | kLongerSgl | kTransport | (options_.in_capsule_bytes > 0 ? kOffset : 0);
  return facts;
}

void TcpControllerFabric::on_stream(std::unique_ptr<net::Stream> stream) {
  const bool full = connections_ >= options_.connections_max;
  if (!greeting_.empty() && (full || greeting_.size() >= tcp_.greetings_max)) {
    greeting_.front()->give_up();
  } else if (full && !idle_.empty()) {
    idle_.front()->evict();
  } else if (full) {
    shared_.world.trace().mark("transport.tcp.too_many");
    return;
  }
  greeting_.push_back(std::make_unique<TcpControllerChannel>(*this, std::move(stream)));
}

void TcpControllerFabric::adopt(TcpControllerChannel& channel) {
  const auto found = std::find_if(greeting_.begin(), greeting_.end(), [&](const auto& c) { return c.get() == &channel; });
  BENCH_ASSERT(found != greeting_.end(), "a channel is adopted once");
  std::unique_ptr<TcpControllerChannel> owned = std::move(*found);
  greeting_.erase(found);
  idle_.push_back(&channel);
  acceptor_.on_channel(std::move(owned));
}

void TcpControllerFabric::discard(TcpControllerChannel& channel) {
  const auto found = std::find_if(greeting_.begin(), greeting_.end(), [&](const auto& c) { return c.get() == &channel; });
  BENCH_ASSERT(found != greeting_.end(), "a channel is discarded once");
  dead_.push_back(std::move(*found));
  greeting_.erase(found);
  if (!bury_.scheduled()) shared_.world.loop().schedule_after(bury_, Duration());
}

void TcpControllerFabric::bury() { dead_.clear(); }

}  // namespace fb::transport
