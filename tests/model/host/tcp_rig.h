// A host and an emulated target over NVMe/TCP on simulated streams, and room for strangers who keep to
// nothing.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/host/discovery_client.h"
#include "model/host/host.h"
#include "model/subsystem/target.h"
#include "model/transport/tcp_controller.h"
#include "model/transport/tcp_host.h"
#include "sim/net/network.h"
#include "tests/model/subsystem/rig.h"
#include "tests/model/transport/tcp_peer.h"

namespace fb::host {

using transport::testing::TcpPeer;

struct TcpRigOptions {
  transport::ControllerFabricOptions bounds = {};
  transport::TcpControllerOptions controller = {};
  transport::TcpHostOptions host = {};
  subsystem::DiscoveryOptions discovery = {};
  transport::TransportHooks* controller_hooks = nullptr;
  std::uint64_t seed = 1;
};

struct TcpRig {
  explicit TcpRig(const TcpRigOptions& options = {})
      : world(World::make_virtual(options.seed)), target(std::make_unique<subsystem::Target>(*world, nullptr, options.discovery)) {
    disk = &target->add_subsystem({});
    subsystem::NamespaceOptions ns;
    ns.blocks = 4096;
    BENCH_ASSERT(disk->add_namespace(std::move(ns)).ok(), "room for a namespace");
    target->add_port({});
    listener = listen(*target, options.bounds, options.controller, options.controller_hooks);
    target->set_listener(1, *listener);
    fabric = std::make_unique<transport::TcpHostFabric>(*world, host_end, address(1), options.host);
    host = std::make_unique<Host>(*world, *fabric, HostOptions{});
  }
  ~TcpRig() {
    peers.clear();
    host.reset();
    target.reset();
  }

  static IpAddress address(std::uint8_t which) { return IpAddress::v4(10, 0, 0, which); }
  std::unique_ptr<transport::TcpControllerFabric> listen(subsystem::Target& served, const transport::ControllerFabricOptions& bounds,
                                                         const transport::TcpControllerOptions& tcp = {},
                                                         transport::TransportHooks* hooks = nullptr) {
    return transport::TcpControllerFabric::start(*world, target_end, address(2), bounds, tcp, served.acceptor(), hooks).value();
  }
  ConnectOptions to() const {
    ConnectOptions options;
    options.to = listener->local();
    options.subnqn = disk->options().nqn;
    return options;
  }
  Controller* connect(const ConnectOptions& options) {
    Controller::Outcome outcome = host->connect(options).wait();
    return outcome.ok() ? outcome.value() : nullptr;
  }
  Controller* connect() { return connect(to()); }
  Namespace& ns() {
    Namespace* found = host->find(disk->options().nqn, 1);
    BENCH_ASSERT(found != nullptr, "the test has such a namespace");
    return *found;
  }

  TcpPeer& stranger() {
    peers.push_back(std::make_unique<TcpPeer>());
    auto stream = stranger_end.connect({address(3), 0}, listener->local(), *peers.back());
    BENCH_ASSERT(stream.ok(), "a stranger has a port");
    peers.back()->start(std::move(stream).value());
    return *peers.back();
  }
  /// One that has a queue of its own: 0, or an I/O queue of controller `cntlid`.
  TcpPeer& guest(std::uint16_t qid = 0, std::uint16_t cntlid = 0xFFFF) {
    TcpPeer& peer = stranger();
    peer.send(transport::testing::ic_req_bytes());
    peer.send(connect_capsule(qid, cntlid));
    world->run_for(Duration::ms(1));
    return peer;
  }
  static Bytes connect_capsule(std::uint16_t qid, std::uint16_t cntlid) {
    subsystem::test::ConnectWords words;
    words.qid = qid;
    words.cntlid = cntlid;
    Bytes sqe = words.sqe();
    put_sgl(sqe, nvme::SglDescriptor::in_capsule(0, 1024));
    return tcp::build_pdu(transport::testing::capsule_header(sqe), words.data(), false, false);
  }
  static void put_sgl(MutableBytes sqe, const nvme::SglDescriptor& sgl) {
    const auto bytes = sgl.bytes();
    std::copy(bytes.begin(), bytes.end(), sqe.begin() + 24);
  }

  std::unique_ptr<World> world;
  net::SimNetwork network{*world};
  net::SimHost& host_end = network.add_host("host", address(1));
  net::SimHost& target_end = network.add_host("target", address(2));
  net::SimHost& stranger_end = network.add_host("stranger", address(3));
  std::unique_ptr<transport::TcpControllerFabric> listener;
  std::unique_ptr<subsystem::Target> target;
  subsystem::Subsystem* disk = nullptr;
  std::unique_ptr<transport::TcpHostFabric> fabric;
  std::unique_ptr<Host> host;
  std::vector<std::unique_ptr<TcpPeer>> peers;
};

}  // namespace fb::host
