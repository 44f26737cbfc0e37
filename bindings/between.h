// The faults of a world in real time. Over TCP a proxy stands in front of each controller that the world's hosts connect to; over
// RDMA the packets of the hosts' machines pass a filter.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/box.h"
#include "bindings/machine.h"
#include "model/proxy/tcp_proxy.h"
#include "sim/net/stream.h"

namespace fb::python {

class Between {
 public:
  /// UserError names the first fault of the plan or schedule that can be caused over neither transport, and those that can.
  Between(Box& box, std::unique_ptr<Faults> faults);

  /// Where a host on `from` connects to instead of `to`. UserError where nobody can listen there, and for faults that cannot be
  /// caused over that transport (fabrics::kTcp, kRdma).
  Endpoint entrance(const Endpoint& to, Machine& from, std::string_view transport);
  /// Entries of discovery logs that lead hosts past the proxies, and the like, in words.
  const std::vector<std::string>& remarks() const { return remarks_; }
  Faults& faults() { return *faults_; }

 private:
  Result<void> can_cause(std::string_view transport) const;

  World& world_;
  std::unique_ptr<Faults> faults_;
  std::unique_ptr<net::StreamHost> streams_;
  std::optional<fault::NetworkFaults> packets_;  // over RDMA
  std::vector<std::string> remarks_;
  std::map<std::pair<Endpoint, IpAddress>, std::unique_ptr<proxy::TcpProxy>> proxies_;
};

}  // namespace fb::python
