// What the RDMA of a host or a target of ours runs on.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "conformance/runner/product.h"
#include "sim/core/world.h"
#include "sim/net/local_host.h"
#include "sim/rdma/device.h"
#include "sim/rdma/softroce/softroce.h"

namespace fb::cli {

inline constexpr std::string_view kSoftRoce = "softroce";

struct RdmaDeviceArguments {
  std::string name{kSoftRoce};

  bool software() const { return name == kSoftRoce; }
  /// Of --device verbs:NAME.
  std::string verbs_name() const;
};

/// --device.
void add_rdma_device(CLI::App& command, RdmaDeviceArguments& arguments);

/// UserError for a name that is none, and for a device that this machine's kernel has beside a network of our own.
void check_rdma_device(const RdmaDeviceArguments& arguments, const net::LocalHost& local);

/// The bench's own side towards a product at rdma://... UserError for any other product, and as check_rdma_device().
void choose_own_device(const RdmaDeviceArguments& arguments, conformance::Product& product);

/// A device, and what it stands on.
class OpenRdmaDevice {
 public:
  /// The software device takes UDP port 4791 of the address. UserError when there is no such device or it is not for us.
  OpenRdmaDevice(World& world, const std::string& name, const RdmaDeviceArguments& arguments, const net::LocalHost& local,
                 softroce::SoftHooks* hooks);
  rdma::Device& get() { return *device_; }

 private:
  std::unique_ptr<net::DatagramHost> host_;
  std::unique_ptr<rdma::Device> device_;
};

}  // namespace fb::cli
