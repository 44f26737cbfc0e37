// A world in real time on an address of ours, with what the transports need there: a software RDMA
// device, streams. Each is opened when it is first asked for.
#pragma once

#include <memory>
#include <string>

#include "sim/core/world.h"
#include "sim/net/local_host.h"
#include "sim/rdma/softroce/softroce.h"

namespace fb::cli {

class RealSession {
 public:
  RealSession(std::string name, const net::LocalHost& local, softroce::SoftHooks* hooks = nullptr);
  ~RealSession();

  World& world() { return *world_; }
  const IpAddress& address() const { return local_.address; }
  /// Takes UDP port 4791 of the address; UserError when that does not work.
  softroce::SoftRoceDevice& device();
  /// UserError where there is no TCP (raw Ethernet).
  net::StreamHost& streams();

 private:
  std::string name_;
  net::LocalHost local_;
  softroce::SoftHooks* hooks_;
  std::unique_ptr<World> world_;
  std::unique_ptr<net::DatagramHost> host_;
  std::unique_ptr<softroce::SoftRoceDevice> device_;
  std::unique_ptr<net::StreamHost> streams_;
};

}  // namespace fb::cli
