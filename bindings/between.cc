#include "bindings/between.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/or_throw.h"
#include "model/proxy/faults.h"
#include "sim/net/udp_port.h"
#include "sim/rdma/softroce/icrc.h"
#include "wire/fabrics/transports.h"

namespace fb::python {

Between::Between(Box& box, std::unique_ptr<Faults> faults)
    : world_(box.world()),
      faults_(std::move(faults)),
      // The proxies show what passes.
      streams_(std::make_unique<net::RealHost>(world_, net::RealHostOptions{.streams_traced = false})) {
  if (!can_cause(fabrics::kRdma)) or_throw(can_cause(fabrics::kTcp));
}

Result<void> Between::can_cause(std::string_view transport) const {
  if (auto reached = proxy::reaches(faults_->plan, transport); !reached) return reached;
  const auto places = proxy::places_of_proxy(transport);
  for (const fault::Decision& decision : faults_->schedule.decisions) {
    if (std::find(places.begin(), places.end(), decision.place) != places.end()) continue;
    return Failure{Problem{fmt::format("a schedule in real time: over {} there is no place '{}' between a host and a controller", transport,
                                       to_string(decision.place))}};
  }
  return {};
}

Endpoint Between::entrance(const Endpoint& to, Machine& from, std::string_view transport) {
  or_throw(can_cause(transport));
  if (transport == fabrics::kRdma) {
    if (!packets_) packets_.emplace(*faults_->points, &softroce::reseal);
    from.set_packet_faults(*packets_);
    return to;
  }
  // A discovery log that came through a proxy leads to the proxy.
  for (const auto& [key, made] : proxies_) {
    if (made->at(0) == to) return to;
  }
  auto& proxy = proxies_[{to, from.address()}];
  if (proxy == nullptr) {
    proxy::ProxyOptions options;
    options.routes = {{{from.address(), 0}, to}};
    options.from = from.address();
    options.faults = faults_->points.get();
    proxy = or_throw(proxy::TcpProxy::start(world_, *streams_, options));
    proxy->on_remark = [this](const std::string& text) { remarks_.push_back(text); };
  }
  return proxy->at(0);
}

}  // namespace fb::python
