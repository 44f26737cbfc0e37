// A host of ours and somebody's product, in real time, with a proxy between them in which faults strike.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/campaign/scene.h"
#include "conformance/runner/product.h"
#include "model/proxy/tcp_proxy.h"
#include "model/transport/host_channel.h"
#include "sim/net/udp_port.h"

namespace fb::conformance {

/// The way to the product.
class ProductLine {
 public:
  /// `url` is tcp://ADDRESS:PORT/NQN. UserError for another, and where nothing can listen here.
  ProductLine(World& world, const std::string& url, fault::Points& points);

  World& world() { return world_; }
  net::StreamHost& streams() { return streams_; }
  const FabricUrl& product() const { return product_; }
  /// Where hosts come to.
  Endpoint entrance() const { return proxy_->at(0); }
  /// Of the product and of the entrance.
  std::vector<std::uint16_t> ports() const;
  void close() { proxy_->close(); }

 private:
  World& world_;
  FabricUrl product_;
  net::RealHost streams_;
  std::unique_ptr<proxy::TcpProxy> proxy_;
};

class ProductScene final : public Scene {
 public:
  ProductScene(ProductLine& line, FabricShape shape);
  ~ProductScene() override;

  /// Meets the product without faults, and leaves zeroes where it will be watched: the first blocks of its first namespace.
  /// UserError where it cannot be reached, or has no such namespace.
  void prepare();

  const FabricShape& shape() const override { return shape_; }
  std::size_t hosts() const override { return 1; }
  host::Host& host(std::size_t) override { return *host_; }
  host::ConnectOptions connect_options(std::size_t path) const override;
  host::Namespace* watched(std::size_t host) override;
  bool can(Deed deed) const override;
  /// What a product says of its atomicity may hold for a namespace, or across a boundary: one block is never torn.
  bool atomic(std::uint32_t blocks) const override { return blocks == 1; }
  Duration patience() const override { return Duration::s(60); }

 private:
  ProductLine& line_;
  FabricShape shape_;
  std::uint32_t nsid_ = 0;
  std::uint16_t oncs_ = 0;
  std::unique_ptr<transport::HostFabric> fabric_;
  std::unique_ptr<host::Host> host_;
};

}  // namespace fb::conformance
