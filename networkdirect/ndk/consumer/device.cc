// The device: what the adapter tells about itself, and the making of objects.
#include <algorithm>

#include <fmt/format.h>

#include "networkdirect/ndk/consumer/listener.h"
#include "networkdirect/ndk/kernel/extension.h"

namespace fb::ndk {

namespace {

using namespace consumer;

constexpr ULONG kInlineMost = 1024;

void read_adapter(Shared& s) {
  const NDK_VERSION provider = s.adapter.Header.Version;
  const NDK_VERSION wanted = s.options.version;
  const bool older = provider.Major < wanted.Major || (provider.Major == wanted.Major && provider.Minor < wanted.Minor);
  s.version = older ? provider : wanted;
  ULONG size = sizeof s.info;
  const NTSTATUS status = s.adapter.Dispatch->NdkQueryAdapterInfo(&s.adapter, &s.info, &size);
  if (status != STATUS_SUCCESS) {
    throw UserError(fmt::format("the NDK adapter tells nothing about itself: status 0x{:08x}", static_cast<unsigned>(status)));
  }
  const NDK_ADAPTER_INFO& info = s.info;
  rdma::DeviceLimits& limits = s.limits;
  limits.max_sges = std::max(std::min({info.MaxInitiatorRequestSge, info.MaxReceiveRequestSge, info.MaxReadRequestSge}), ULONG{1});
  limits.max_reads = std::min(info.MaxInboundReadLimit, info.MaxOutboundReadLimit);
  limits.max_message_bytes = info.MaxTransferLength;
  limits.max_inline_bytes = std::min(info.MaxInlineDataSize, kInlineMost);
  limits.max_queue_entries = std::min({info.MaxReceiveQueueDepth, info.MaxInitiatorQueueDepth, info.MaxCqDepth});
  if (info.MaxSrqDepth > 0) limits.max_queue_entries = std::min(limits.max_queue_entries, info.MaxSrqDepth);
  // One page may be lost to the offset in the first.
  const std::uint64_t fast = std::uint64_t{info.FRMRPageCount > 0 ? info.FRMRPageCount - 1 : 0} << PAGE_SHIFT;
  limits.max_fast_register_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(fast, 1u << 31));
  limits.fast_registration = fast > 0;
  limits.chosen_key_bytes = false;
  limits.remote_invalidation = s.knows(1, 2);
  limits.immediate_data = false;
  limits.atomics = false;
}

void look_for_extension(Shared& s) {
  GUID id = kChosenAddressExtension;
  NDK_EXTENSION_INTERFACE found = {};
  if (s.adapter.Dispatch->NdkQueryExtension(&s.adapter.Header, &id, kChosenAddressVersion, &found) != STATUS_SUCCESS) return;
  s.register_at = static_cast<const ChosenAddressDispatch*>(found.Dispatch)->RegisterMrAt;
}

class NdkDevice final : public rdma::Device {
 public:
  explicit NdkDevice(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  rdma::DeviceLimits limits() const override { return shared_->limits; }
  IpAddress address() const override { return shared_->options.address; }

  std::unique_ptr<rdma::ProtectionDomain> allocate_protection_domain() override {
    auto core = make_object<DomainCore>(shared_);
    core->open();
    core->await("the creation of a protection domain");
    if (core->settled() && !core->ready()) {
      throw UserError(fmt::format("the NDK provider makes no protection domain: status 0x{:08x}", static_cast<unsigned>(core->status())));
    }
    return std::make_unique<Domain>(std::move(core), shared_);
  }
  std::unique_ptr<rdma::CompletionQueue> create_completion_queue(std::uint32_t entries) override {
    auto core = make_object<CompletionCore>(shared_);
    core->open(entries);
    core->await("the creation of a completion queue");
    if (core->settled() && !core->ready()) return nullptr;
    return std::make_unique<consumer::CompletionQueue>(std::move(core));
  }
  std::unique_ptr<rdma::SharedReceiveQueue> create_shared_receive_queue(rdma::ProtectionDomain& domain, std::uint32_t entries,
                                                                        rdma::SharedReceiveHandler* handler) override {
    if (shared_->info.MaxSrqDepth == 0) return nullptr;
    auto core = make_object<SharedQueueCore>(static_cast<Domain&>(domain).core(), shared_, handler);
    core->open(entries);
    core->await("the creation of a shared receive queue");
    if (core->settled() && !core->ready()) return nullptr;
    return std::make_unique<SharedQueue>(std::move(core));
  }
  std::unique_ptr<rdma::QueuePair> create_queue_pair(rdma::ProtectionDomain& domain, const rdma::QueuePairOptions& options) override {
    auto core = make_object<QueuePairCore>(static_cast<Domain&>(domain).core(), shared_, options);
    core->open();
    core->await("the creation of a queue pair");
    auto made = std::make_unique<consumer::QueuePair>(core);
    if (core->settled() && !core->ready()) return nullptr;
    return made;
  }
  Result<std::unique_ptr<rdma::Listener>> listen(std::uint16_t port, rdma::ListenHandler& handler) override {
    auto core = make_object<ListenerCore>(shared_, port, handler);
    core->open();
    core->await("the beginning of listening");
    const std::string where = to_string(Endpoint{shared_->options.address, port});
    auto made = std::make_unique<consumer::Listener>(core);
    if (!core->settled()) {
      return Failure{Problem{"the NDK provider pends listening on " + where + ", which cannot be waited for inside an event"}};
    }
    if (!core->ready()) {
      return Failure{
          Problem{fmt::format("the NDK provider does not listen on {}: status 0x{:08x}", where, static_cast<unsigned>(core->status()))}};
    }
    return std::unique_ptr<rdma::Listener>(std::move(made));
  }

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace

std::unique_ptr<rdma::Device> make_ndk_device(World& world, NDK_ADAPTER& adapter, const ConsumerOptions& options) {
  auto shared = std::make_shared<Shared>(world, adapter, options);
  read_adapter(*shared);
  look_for_extension(*shared);
  return std::make_unique<NdkDevice>(std::move(shared));
}

}  // namespace fb::ndk
