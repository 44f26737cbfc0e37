#include "bindings/machine.h"

#include "base/assert.h"
#include "base/or_throw.h"
#include "model/proxy/tcp_proxy.h"
#include "sim/net/udp_port.h"
#include "sim/rdma/softroce/icrc.h"

namespace fb::python {

namespace {

/// Of a machine whose packets and streams something else shows.
net::RealHostOptions untraced() {
  net::RealHostOptions options;
  options.streams_traced = options.datagrams_traced = false;
  options.segmentation = false;  // every datagram has the same IP header, which a filter relies on
  return options;
}

}  // namespace

Fabric::Fabric(Box& box, const net::LinkOptions& links, std::unique_ptr<Faults> faults)
    : network_(box.world(), links), control_(box), faults_(std::move(faults)) {
  if (faults_ != nullptr) {
    network_faults_ = std::make_unique<fault::NetworkFaults>(*faults_->points, &softroce::reseal);
    control_.set_next(network_faults_.get(), network_faults_.get());
  }
  network_.set_filter(&control_);
  network_.set_stream_filter(&control_);
}

Machine::Machine(Box& box, Fabric& fabric, std::string name, const IpAddress& address)
    : world_(box.world()), fabric_(&fabric), name_(std::move(name)), address_(address) {
  sim_ = &fabric.network().add_host(name_, address);
}

Machine::Machine(Box& box, std::string name, const net::LocalHost& local, bool hidden)
    : world_(box.world()), name_(std::move(name)), address_(local.address), local_(local), hidden_(hidden) {}

net::StreamHost& Machine::streams() {
  if (sim_ != nullptr) return *sim_;
  if (streams_ != nullptr) return *streams_;
  if (hidden_ && !local_.own_link()) {
    streams_ = std::make_unique<net::RealHost>(world_, untraced());
  } else {
    streams_ = or_throw(net::open_local_streams(world_, local_));
  }
  return *streams_;
}

net::DatagramHost& Machine::datagrams() {
  if (sim_ != nullptr) return *sim_;
  if (datagrams_ != nullptr) return *datagrams_;
  if (!hidden_) {
    datagrams_ = or_throw(net::open_local_host(world_, local_));
    return *datagrams_;
  }
  if (local_.own_link()) throw UserError("address: faults in real time need an address of this machine, not an Ethernet link");
  unfiltered_ = std::make_unique<net::RealHost>(world_, untraced());
  auto filtered = std::make_unique<net::FilteredHost>(
      world_, *unfiltered_,
      net::FilteredHostOptions{"host->target", "target->host", std::string(proxy::actors::towards_controller),
                               std::string(proxy::actors::controller)});
  filtered_ = filtered.get();
  datagrams_ = std::move(filtered);
  return *datagrams_;
}

void Machine::set_packet_faults(net::LinkFilter& faults) {
  BENCH_ASSERT(hidden_, "packets of a machine in a world without faults are not filtered");
  datagrams();
  filtered_->set_filter(&faults);
}

softroce::SoftRoceDevice& Machine::device(std::unique_ptr<softroce::SoftHooks> hooks) {
  if (device_ != nullptr) return *device_;
  hooks_ = std::move(hooks);
  if (fabric_ != nullptr && fabric_->points() != nullptr) {
    hooks_ = std::make_unique<faults::FaultyDevice>(*fabric_->points(), name_, std::move(hooks_));
  }
  softroce::SoftRoceOptions options;
  options.name = name_;
  options.address = address_;
  options.mtu_code_max = mtu_code_max_;
  options.hooks = hooks_.get();
  device_ = or_throw(softroce::make_softroce(world_, datagrams(), options));
  return *device_;
}

rdma::Device& Machine::rdma(std::unique_ptr<softroce::SoftHooks> hooks) {
  if (layers_ == nullptr) layers_ = std::make_unique<conformance::DeviceLayers>(world_, device(std::move(hooks)), layer_);
  return layers_->top();
}

TlsEnd::TlsEnd(Machine& machine, const std::string& psks, const std::string& name, transport::ChannelSecurity security)
    : keys(or_throw(auth::PskStore::parse(psks, "psks"))) {
  transport::TlsSideOptions options;
  options.name = name;
  options.security = security;
  side = std::make_unique<transport::TlsSide>(machine.world(), machine.streams(), keys, options);
}

}  // namespace fb::python
