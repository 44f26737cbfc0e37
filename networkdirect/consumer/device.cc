// The device: what the adapter tells about itself, and the making of objects.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "base/result.h"
#include "networkdirect/consumer/listener.h"
#include "networkdirect/consumer/memory.h"
#include "networkdirect/consumer/window.h"

namespace fb::networkdirect {

namespace {

using namespace consumer;

constexpr ULONG kInlineMost = 1024;

ND2_ADAPTER_INFO query(Shared& s) {
  ND2_ADAPTER_INFO info = {};
  info.InfoVersion = s.departs("adapter.info_version") ? 3 : ND_VERSION_2;
  ULONG bytes = sizeof info;
  HRESULT status = s.adapter.Query(&info, &bytes);
  if (FAILED(status) && s.departs("adapter.info_version")) {
    info.InfoVersion = ND_VERSION_2;
    bytes = sizeof info;
    status = s.adapter.Query(&info, &bytes);
  }
  if (FAILED(status)) {
    throw UserError(fmt::format("the NetworkDirect adapter tells nothing about itself: status 0x{:08x}", static_cast<unsigned>(status)));
  }
  return info;
}

rdma::DeviceLimits limits_of(const ND2_ADAPTER_INFO& info) {
  rdma::DeviceLimits limits;
  const ULONG sges = std::min({info.MaxInitiatorSge, info.MaxReceiveSge, info.MaxReadSge, ULONG{SgeList::kMost}});
  limits.max_sges = std::max<ULONG>(sges, 1);
  limits.max_reads = std::min(info.MaxInboundReadLimit, info.MaxOutboundReadLimit);
  limits.max_message_bytes = info.MaxTransferLength;
  limits.max_inline_bytes = std::min(info.MaxInlineDataSize, kInlineMost);
  limits.max_queue_entries = std::min({info.MaxReceiveQueueDepth, info.MaxInitiatorQueueDepth, info.MaxCompletionQueueDepth});
  if (info.MaxSharedReceiveQueueDepth > 0) {
    limits.max_queue_entries = std::min<ULONG>(limits.max_queue_entries, info.MaxSharedReceiveQueueDepth);
  }
  limits.max_fast_register_bytes = 0;
  limits.fast_registration = false;
  limits.chosen_key_bytes = false;
  limits.remote_invalidation = false;
  limits.immediate_data = false;
  limits.atomics = false;
  return limits;
}

IpAddress address_of(Shared& s) {
  ULONG bytes = 0;
  s.adapter.QueryAddressList(nullptr, &bytes);
  // In whole words: the list holds pointers.
  std::vector<std::uint64_t> storage(bytes / sizeof(std::uint64_t) + 1);
  auto* const list = reinterpret_cast<SOCKET_ADDRESS_LIST*>(storage.data());
  bytes = static_cast<ULONG>(storage.size() * sizeof(std::uint64_t));
  const HRESULT status = s.adapter.QueryAddressList(list, &bytes);
  if (FAILED(status) || list->iAddressCount < 1) throw UserError("the NetworkDirect adapter has no address");
  const IpAddress& wanted = s.options.address;
  const SOCKET_ADDRESS* const entries = list->Address;
  for (INT i = 0; i < list->iAddressCount; ++i) {
    const IpAddress address = SocketAddress::read(entries[i].lpSockaddr).address;
    if (wanted == IpAddress() || wanted == address) return address;
  }
  throw UserError("the NetworkDirect adapter has not the address " + to_string(wanted));
}

bool chooses_addresses(Shared& s) {
  Com<IND2MemoryRegion> region;
  if (FAILED(s.adapter.CreateMemoryRegion(IID_IND2MemoryRegion, s.mailbox->file(), region.out()))) return false;
  Com<IFabricbenchMemoryRegion> chooser;
  const bool chooses = SUCCEEDED(region->QueryInterface(IID_IFabricbenchMemoryRegion, chooser.out()));
  if (s.departs("adapter.released_first")) *s.late.emplace_back().out() = region.leave();
  return chooses;
}

class NetworkDirectDevice final : public rdma::Device {
 public:
  NetworkDirectDevice(World& world, IND2Adapter& adapter, const ConsumerOptions& options) : s_(world, adapter, options) {
    s_.info = query(s_);
    s_.limits = limits_of(s_.info);
    s_.address = address_of(s_);
    s_.mailbox = Mailbox::open(world, adapter, options.hooks);
    s_.chooses_addresses = chooses_addresses(s_);
    adapter.AddRef();
  }
  ~NetworkDirectDevice() override {
    s_.mailbox->abandon();
    if (!s_.departs("adapter.released_first")) s_.late.clear();
    if (s_.departs("adapter.leaked")) return;
    IND2Adapter& adapter = s_.adapter;
    adapter.Release();
    if (s_.departs("adapter.released_twice")) adapter.Release();
    ULONG bytes = 0;
    if (s_.departs("adapter.used_after_release")) adapter.Query(nullptr, &bytes);
  }

  rdma::DeviceLimits limits() const override { return s_.limits; }
  IpAddress address() const override { return s_.address; }

  std::unique_ptr<rdma::ProtectionDomain> allocate_protection_domain() override { return std::make_unique<Domain>(s_); }

  std::unique_ptr<rdma::CompletionQueue> create_completion_queue(std::uint32_t entries) override {
    ULONG depth = std::clamp<ULONG>(entries, 1, s_.info.MaxCompletionQueueDepth);
    if (s_.departs("completion_queue.too_deep")) depth = s_.info.MaxCompletionQueueDepth + 1;
    if (s_.departs("completion_queue.depth_zero")) depth = 0;
    if (s_.departs("completion_queue.shallow")) depth = 1;
    const HANDLE file = s_.departs("completion_queue.foreign_file") ? nullptr : s_.mailbox->file();
    Com<IND2CompletionQueue> object;
    s_.adapter.CreateCompletionQueue(IID_IND2CompletionQueue, file, depth, 0, 0, object.out());
    return object ? std::make_unique<consumer::CompletionQueue>(s_, std::move(object)) : nullptr;
  }

  /// Null as well when the adapter has none at all.
  std::unique_ptr<rdma::SharedReceiveQueue> create_shared_receive_queue(rdma::ProtectionDomain&, std::uint32_t entries,
                                                                        rdma::SharedReceiveHandler* handler) override {
    if (s_.info.MaxSharedReceiveQueueDepth == 0) return nullptr;
    const ULONG depth = std::clamp<ULONG>(entries, 1, s_.info.MaxSharedReceiveQueueDepth);
    const ULONG asked = s_.departs("shared_queue.too_deep") ? s_.info.MaxSharedReceiveQueueDepth + 1 : depth;
    Com<IND2SharedReceiveQueue> object;
    s_.adapter.CreateSharedReceiveQueue(IID_IND2SharedReceiveQueue, s_.mailbox->file(), asked, s_.limits.max_sges, 0, 0, 0, object.out());
    return object ? std::make_unique<SharedQueue>(s_, std::move(object), depth, handler) : nullptr;
  }

  std::unique_ptr<rdma::QueuePair> create_queue_pair(rdma::ProtectionDomain&, const rdma::QueuePairOptions& options) override {
    auto made = std::make_unique<consumer::QueuePair>(s_, options);
    if (made->object() == nullptr) return nullptr;
    return made;
  }

  std::unique_ptr<WindowRegion> create_window() {
    auto made = std::make_unique<consumer::Window>(s_);
    return made->object() == nullptr ? nullptr : std::move(made);
  }

  Result<std::unique_ptr<rdma::Listener>> listen(std::uint16_t port, rdma::ListenHandler& handler) override {
    auto made = std::make_unique<consumer::Listener>(s_, handler);
    const HRESULT status = made->open(port);
    if (FAILED(status)) {
      return Failure{Problem{fmt::format("the NetworkDirect provider does not listen on {}: status 0x{:08x}",
                                         to_string(Endpoint{s_.address, port}), static_cast<unsigned>(status))}};
    }
    return std::unique_ptr<rdma::Listener>(std::move(made));
  }

 private:
  Shared s_;
};

}  // namespace

std::unique_ptr<rdma::Device> make_networkdirect_device(World& world, IND2Adapter& adapter, const ConsumerOptions& options) {
  return std::make_unique<NetworkDirectDevice>(world, adapter, options);
}

std::unique_ptr<WindowRegion> create_memory_window(rdma::Device& device) {
  return static_cast<NetworkDirectDevice&>(device).create_window();
}

}  // namespace fb::networkdirect
