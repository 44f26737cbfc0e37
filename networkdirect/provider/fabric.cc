#include "networkdirect/provider/fabric.h"

namespace fb::networkdirect {

namespace {

class InlinePlace final : public Place {
 public:
  InlinePlace(World& world, rdma::Device& device, ProviderHooks* hooks)
      : world_(world), device_(device), hooks_(hooks), strand_(make_inline_strand(world)) {}
  World& world() override { return world_; }
  rdma::Device& device() override { return device_; }
  Strand& strand() override { return *strand_; }
  ProviderHooks* hooks() override { return hooks_; }

 private:
  World& world_;
  rdma::Device& device_;
  ProviderHooks* hooks_;
  std::unique_ptr<Strand> strand_;
};

class FixedFabric final : public Fabric {
 public:
  explicit FixedFabric(std::vector<std::shared_ptr<Place>> places) : places_(std::move(places)) {}
  std::vector<IpAddress> addresses() override {
    std::vector<IpAddress> found;
    for (const auto& place : places_) found.push_back(place->device().address());
    return found;
  }
  Result<std::shared_ptr<Place>> open(const IpAddress& address) override {
    for (const auto& place : places_) {
      if (place->device().address() == address) return place;
    }
    return Failure{Problem{"no device has the address " + to_string(address)}};
  }
  ProviderHooks* hooks() override { return places_.empty() ? nullptr : places_.front()->hooks(); }

 private:
  std::vector<std::shared_ptr<Place>> places_;
};

}  // namespace

std::shared_ptr<Place> make_inline_place(World& world, rdma::Device& device, ProviderHooks* hooks) {
  return std::make_shared<InlinePlace>(world, device, hooks);
}

std::unique_ptr<Fabric> make_fixed_fabric(std::vector<std::shared_ptr<Place>> places) {
  return std::make_unique<FixedFabric>(std::move(places));
}

}  // namespace fb::networkdirect
