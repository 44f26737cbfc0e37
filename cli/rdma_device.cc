#include "cli/rdma_device.h"

#include "cli/common.h"
#include "sim/rdma/verbs/device_list.h"
#include "sim/rdma/verbs/verbs_device.h"
#include "wire/fabrics/transports.h"

namespace fb::cli {

namespace {
constexpr std::string_view kVerbs = "verbs:";
}  // namespace

std::string RdmaDeviceArguments::verbs_name() const { return name.substr(kVerbs.size()); }

void add_rdma_device(CLI::App& command, RdmaDeviceArguments& arguments) {
  command.add_option("--device", arguments.name, "RDMA device: softroce, or verbs:NAME (see fabricbench devices)")
      ->type_name("DEVICE")
      ->capture_default_str();
}

void check_rdma_device(const RdmaDeviceArguments& arguments, const net::LocalHost& local) {
  if (arguments.software()) return;
  if (!arguments.name.starts_with(kVerbs) || arguments.verbs_name().empty()) {
    throw UserError("--device '" + arguments.name + "': no such device; known are softroce and verbs:NAME");
  }
  if (local.own_link()) {
    throw UserError("--device " + arguments.name + " is on this machine's network, --local l2:... or packet:... is not");
  }
}

void choose_own_device(const RdmaDeviceArguments& arguments, conformance::Product& product) {
  if (arguments.software()) return;
  if (product.embedded || product.transport != fabrics::kRdma || !product.device.empty()) {
    throw UserError("--device " + arguments.name + " is not for a product at " + product.url + ": the bench has no RDMA device there");
  }
  check_rdma_device(arguments, product.local);
  static_cast<void>(or_throw(verbs::open_context(arguments.verbs_name())));  // a run without it would judge nothing
  product.own_device = arguments.verbs_name();
}

OpenRdmaDevice::OpenRdmaDevice(World& world, const std::string& name, const RdmaDeviceArguments& arguments, const net::LocalHost& local,
                               softroce::SoftHooks* hooks) {
  if (!arguments.software()) {
    if (hooks != nullptr) throw UserError("--deviation: one of them belongs to the software RDMA device, not to " + arguments.name);
    device_ = or_throw(verbs::open_device(world, {.name = arguments.verbs_name(), .address = local.address}));
    return;
  }
  host_ = or_throw(net::open_local_host(world, local));
  softroce::SoftRoceOptions options;
  options.name = name;
  options.address = local.address;
  options.hooks = hooks;
  // Peers take two devices with one GUID for one that restarted: each process has one of its own.
  options.ca_guid = nonce() | 1;
  device_ = or_throw(softroce::make_softroce(world, *host_, options));
}

}  // namespace fb::cli
