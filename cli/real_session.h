// A world in real time on an address of ours, with what the transports need there: an RDMA device,
// streams. Each is opened when it is first asked for.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/rdma_device.h"

namespace fb::cli {

class RealSession {
 public:
  RealSession(std::string name, const net::LocalHost& local, const RdmaDeviceArguments& device, softroce::SoftHooks* hooks = nullptr);
  ~RealSession();

  World& world() { return *world_; }
  const IpAddress& address() const { return local_.address; }
  /// UserError when it cannot be had.
  rdma::Device& device();
  /// UserError where there is no TCP (raw Ethernet).
  net::StreamHost& streams();

 private:
  std::string name_;
  net::LocalHost local_;
  RdmaDeviceArguments chosen_;
  softroce::SoftHooks* hooks_;
  std::unique_ptr<World> world_;
  std::optional<OpenRdmaDevice> device_;
  std::unique_ptr<net::StreamHost> streams_;
};

}  // namespace fb::cli
