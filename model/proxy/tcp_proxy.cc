#include "model/proxy/tcp_proxy.h"

#include <algorithm>

#include "model/proxy/pair.h"

namespace fb::proxy {

namespace {

constexpr std::size_t kRoomBytes = 512u << 10;  // of one receive
constexpr std::size_t kToldMax = 100;

bool is_any(const IpAddress& address) { return address == IpAddress{} || address == IpAddress::v4(0, 0, 0, 0); }

}  // namespace

TcpProxy::TcpProxy(World& world, net::StreamHost& streams, const ProxyOptions& options)
    : world_(world), streams_(streams), options_(options), room_(kRoomBytes) {
  if (options.faults != nullptr) faults_ = std::make_unique<FaultSites>(*options.faults);
}

TcpProxy::~TcpProxy() = default;

Result<std::unique_ptr<TcpProxy>> TcpProxy::start(World& world, net::StreamHost& streams, const ProxyOptions& options) {
  std::unique_ptr<TcpProxy> made(new TcpProxy(world, streams, options));
  for (Route& route : made->options_.routes) {
    net::StreamHost& from_hosts = options.from_hosts != nullptr ? *options.from_hosts : streams;
    auto listener = from_hosts.listen(route.listen, *made);
    if (!listener) return Failure{listener.error()};
    route.listen = (*listener)->local();
    made->listeners_.push_back(std::move(listener).value());
  }
  return made;
}

const Route& TcpProxy::route_of(const Endpoint& local) const {
  const auto exact = std::ranges::find_if(options_.routes, [&](const Route& one) { return one.listen == local; });
  if (exact != options_.routes.end()) return *exact;
  const auto by_port = std::ranges::find_if(options_.routes, [&](const Route& one) { return one.listen.port == local.port; });
  return by_port != options_.routes.end() ? *by_port : options_.routes.front();
}

// A listener on all addresses is found where this host has found it.
std::vector<Renamed> TcpProxy::names_for(const Endpoint& local) const {
  std::vector<Renamed> names;
  for (const Route& route : options_.routes) {
    names.push_back({route.to, {is_any(route.listen.address) ? local.address : route.listen.address, route.listen.port}});
  }
  return names;
}

void TcpProxy::on_stream(std::unique_ptr<net::Stream> stream) {
  ++counters_.connections;
  const Endpoint local = stream->local();
  pairs_.push_back(std::make_unique<Pair>(*this, std::move(stream), route_of(local), names_for(local)));
}

void TcpProxy::remark(const std::string& text) {
  if (told_.size() >= kToldMax || std::ranges::find(told_, text) != told_.end()) return;
  told_.push_back(text);
  if (on_remark) on_remark(text);
}

void TcpProxy::bury() {
  std::erase_if(pairs_, [](const auto& pair) { return pair->over(); });
}

void TcpProxy::close() {
  listeners_.clear();
  for (const auto& pair : pairs_) pair->close();
  bury();
}

}  // namespace fb::proxy
