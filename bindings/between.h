// The faults of a world in real time: a proxy stands in front of each controller that the world's hosts connect to.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/box.h"
#include "bindings/machine.h"
#include "model/proxy/tcp_proxy.h"
#include "sim/net/stream.h"

namespace fb::python {

class Between {
 public:
  /// UserError names the first fault of the plan or schedule that no proxy can cause, and those that it can.
  Between(Box& box, std::unique_ptr<Faults> faults);

  /// Where a host at `from` connects to instead of `to`. UserError where nobody can listen there.
  Endpoint entrance(const Endpoint& to, const IpAddress& from);
  /// Entries of discovery logs that lead hosts past the proxies, and the like, in words.
  const std::vector<std::string>& remarks() const { return remarks_; }
  Faults& faults() { return *faults_; }

 private:
  World& world_;
  std::unique_ptr<Faults> faults_;
  std::unique_ptr<net::StreamHost> streams_;
  std::vector<std::string> remarks_;
  std::map<std::pair<Endpoint, IpAddress>, std::unique_ptr<proxy::TcpProxy>> proxies_;
};

}  // namespace fb::python
