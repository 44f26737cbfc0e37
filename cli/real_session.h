// A world in real time with one software RDMA device on an address of ours.
#pragma once

#include <memory>
#include <string>

#include "sim/core/world.h"
#include "sim/net/local_host.h"
#include "sim/rdma/softroce/softroce.h"

namespace fb::cli {

class RealSession {
 public:
  /// Takes UDP port 4791 of `local`; UserError when that does not work.
  RealSession(const std::string& name, const net::LocalHost& local, softroce::SoftHooks* hooks = nullptr);
  ~RealSession();

  World& world() { return *world_; }
  softroce::SoftRoceDevice& device() { return *device_; }

 private:
  std::unique_ptr<World> world_;
  std::unique_ptr<net::DatagramHost> host_;
  std::unique_ptr<softroce::SoftRoceDevice> device_;
};

}  // namespace fb::cli
