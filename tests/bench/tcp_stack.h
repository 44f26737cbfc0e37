// The benchmarks' stack over NVMe/TCP, on whatever streams it is given.
#pragma once

#include <memory>

#include "model/transport/tcp_controller.h"
#include "model/transport/tcp_host.h"
#include "tests/bench/stack.h"

namespace fb::bench {

struct TcpTargetSide : TargetSide {
  TcpTargetSide(World& w, net::StreamHost& host, const IpAddress& address, const Options& options,
                const transport::TcpControllerOptions& tcp = {})
      : TargetSide(w, address, options,
                   [&](transport::ControllerFabricOptions fabric, auto& acceptor) {
                     fabric.port = 0;
                     auto made = transport::TcpControllerFabric::start(w, host, address, fabric, tcp, acceptor);
                     BENCH_ASSERT(made.ok(), "the address can be listened on");
                     return std::move(made).value();
                   }),
        tcp_fabric(static_cast<transport::TcpControllerFabric&>(*listener)) {}
  transport::TcpControllerFabric& tcp_fabric;
};

struct TcpHostSide : HostSide {
  TcpHostSide(World& w, net::StreamHost& host, const IpAddress& address, const Endpoint& target, const transport::TcpHostOptions& tcp = {})
      : HostSide(w, target, std::make_unique<transport::TcpHostFabric>(w, host, address, tcp)),
        tcp_fabric(static_cast<transport::TcpHostFabric&>(*fabric)) {}
  transport::TcpHostFabric& tcp_fabric;
};

}  // namespace fb::bench
