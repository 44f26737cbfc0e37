// A host of ours and somebody's product, in real time, with faults between them.
#pragma once

#include <memory>
#include <string>

#include "conformance/campaign/scene.h"
#include "conformance/live/live_judge.h"
#include "conformance/runner/product.h"
#include "model/transport/host_channel.h"
#include "sim/fault/points.h"

namespace fb::conformance {

/// The way to the product: over TCP through a proxy, over RDMA by packets of a device of ours.
class ProductLine {
 public:
  /// `url` is tcp://ADDRESS:PORT/NQN or rdma://ADDRESS:PORT/NQN. UserError for another, and where an address of this machine
  /// cannot be had.
  static std::unique_ptr<ProductLine> open(World& world, const std::string& url, fault::Points& points);
  virtual ~ProductLine() = default;

  World& world() { return world_; }
  const FabricUrl& product() const { return product_; }
  /// Connects past the faults.
  virtual std::unique_ptr<transport::HostFabric> quiet_fabric() = 0;
  /// Connects to entrance(), under the faults. From now on there is nothing quiet any more.
  virtual std::unique_ptr<transport::HostFabric> fabric(const FabricShape& shape) = 0;
  virtual Endpoint entrance() const = 0;
  virtual live::LiveJudgeOptions judging() const = 0;
  virtual void close() = 0;

 protected:
  ProductLine(World& world, FabricUrl product) : world_(world), product_(std::move(product)) {}
  World& world_;
  FabricUrl product_;
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
