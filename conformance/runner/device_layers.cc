#include "conformance/runner/device_layers.h"

#include <optional>

#include "conformance/runner/nd_bench.h"
#include "networkdirect/ndk/consumer/ndk_device.h"
#include "networkdirect/ndk/provider/provider.h"
#include "networkdirect/consumer/networkdirect_device.h"
#include "networkdirect/provider/provider.h"

namespace fb::conformance {

namespace {

class NetworkDirectLayers {
 public:
  NetworkDirectLayers(World& world, rdma::Device& below) {
    networkdirect::make_provider(networkdirect::make_fixed_fabric({networkdirect::make_inline_place(world, below, &behaves_)}),
                                 IID_IND2Provider, provider_.out());
    const NdAddress at(below.address());
    UINT64 id = 0;
    if (FAILED(provider_->ResolveAddress(at.get(), at.length(), &id)) ||
        FAILED(provider_->OpenAdapter(IID_IND2Adapter, id, adapter_.out()))) {
      throw UserError("the NetworkDirect provider opens no adapter on " + to_string(below.address()));
    }
    device_ = networkdirect::make_networkdirect_device(world, *adapter_);
  }
  rdma::Device& device() { return *device_; }

 private:
  // Both answers and both orders, by the seed: a consumer stands both.
  networkdirect::Behaves behaves_{{.answers = networkdirect::Answers::drawn, .order = networkdirect::Order::drawn}};
  NdRef<IND2Provider> provider_;
  NdRef<IND2Adapter> adapter_;
  std::unique_ptr<rdma::Device> device_;
};

class NdkLayers {
 public:
  NdkLayers(World& world, rdma::Device& below) : provider_(world, kernel_, below, {}) {
    if (provider_.open({2, 1}, &adapter_) != NDIS_STATUS_SUCCESS) {
      throw UserError("the NDK provider opens no adapter on " + to_string(below.address()));
    }
    ndk::ConsumerOptions options;
    options.address = below.address();
    device_ = ndk::make_ndk_device(world, *adapter_, options);
  }
  NdkLayers(const NdkLayers&) = delete;
  NdkLayers& operator=(const NdkLayers&) = delete;
  ~NdkLayers() {
    device_.reset();
    provider_.close(adapter_);
  }
  rdma::Device& device() { return *device_; }

 private:
  ndk::Kernel kernel_;
  ndk::Provider provider_;
  NDK_ADAPTER* adapter_ = nullptr;
  std::unique_ptr<rdma::Device> device_;
};

}  // namespace

/// One of them.
struct DeviceLayers::Interfaces {
  std::optional<NetworkDirectLayers> networkdirect;
  std::optional<NdkLayers> ndk;
};

DeviceLayers::DeviceLayers(World& world, rdma::Device& below, DeviceLayer layer)
    : interfaces_(std::make_unique<Interfaces>()), top_(&below) {
  if (layer == DeviceLayer::networkdirect) top_ = &interfaces_->networkdirect.emplace(world, below).device();
  if (layer == DeviceLayer::ndk) top_ = &interfaces_->ndk.emplace(world, below).device();
}

DeviceLayers::~DeviceLayers() = default;

}  // namespace fb::conformance
