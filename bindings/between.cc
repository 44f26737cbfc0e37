#include "bindings/between.h"

#include <algorithm>

#include "base/or_throw.h"
#include "model/proxy/faults.h"
#include "sim/net/udp_port.h"

namespace fb::python {

Between::Between(Box& box, std::unique_ptr<Faults> faults)
    : world_(box.world()),
      faults_(std::move(faults)),
      // The proxies show what passes.
      streams_(std::make_unique<net::RealHost>(world_, net::RealHostOptions{.streams_traced = false})) {
  or_throw(proxy::reaches(faults_->plan));
  const auto places = proxy::places_of_proxy();
  for (const fault::Decision& decision : faults_->schedule.decisions) {
    if (std::find(places.begin(), places.end(), decision.place) == places.end()) {
      throw UserError("a schedule in real time: there is no place '" + to_string(decision.place) + "' between a host and a controller");
    }
  }
}

Endpoint Between::entrance(const Endpoint& to, const IpAddress& from) {
  // A discovery log that came through a proxy leads to the proxy.
  for (const auto& [key, made] : proxies_) {
    if (made->at(0) == to) return to;
  }
  auto& proxy = proxies_[{to, from}];
  if (proxy == nullptr) {
    proxy::ProxyOptions options;
    options.routes = {{{from, 0}, to}};
    options.from = from;
    options.faults = faults_->points.get();
    proxy = or_throw(proxy::TcpProxy::start(world_, *streams_, options));
    proxy->on_remark = [this](const std::string& text) { remarks_.push_back(text); };
  }
  return proxy->at(0);
}

}  // namespace fb::python
