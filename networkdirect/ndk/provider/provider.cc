#include "networkdirect/ndk/provider/provider.h"

#include <algorithm>

#include <fmt/format.h>

#include "networkdirect/ndk/provider/adapter.h"

namespace fb::ndk {

namespace {

// A caller's data goes into the CM messages: a REQ has room for 56 bytes, a REP for 196. A refusal has less.
constexpr ULONG kCallerData = 56;
constexpr ULONG kCalleeData = 196;
constexpr ULONG kLargeRequest = 64 * 1024;
constexpr ULONG kVendor = 0xFABB;
constexpr NDK_VERSION kLastOfMajor1 = {1, 2};

NDK_ADAPTER_INFO info_of(const rdma::DeviceLimits& limits, const ProviderOptions& options) {
  NDK_ADAPTER_INFO info = {};
  info.Version = options.version;
  info.VendorId = kVendor;
  info.DeviceId = 1;
  info.MaxRegistrationSize = std::size_t{1} << 40;
  info.MaxWindowSize = limits.max_fast_register_bytes;
  info.FRMRPageCount = std::min<ULONG>(options.max_fast_register_pages, limits.max_fast_register_bytes >> PAGE_SHIFT);
  info.MaxInitiatorRequestSge = limits.max_sges;
  info.MaxReceiveRequestSge = limits.max_sges;
  info.MaxReadRequestSge = limits.max_sges;
  info.MaxTransferLength = limits.max_message_bytes;
  info.MaxInlineDataSize = limits.max_inline_bytes;
  info.MaxInboundReadLimit = std::min<ULONG>(limits.max_reads, 255);
  info.MaxOutboundReadLimit = info.MaxInboundReadLimit;
  info.MaxReceiveQueueDepth = limits.max_queue_entries;
  // A read that invalidates takes two places of the device's.
  info.MaxInitiatorQueueDepth = limits.fast_registration ? limits.max_queue_entries / 2 : limits.max_queue_entries;
  info.MaxSrqDepth = std::min<ULONG>(options.max_srq_depth, limits.max_queue_entries);
  info.MaxCqDepth = options.max_cq_depth;
  info.LargeRequestThreshold = kLargeRequest;
  info.MaxCallerData = kCallerData;
  info.MaxCalleeData = kCalleeData;
  info.AdapterFlags = NDK_ADAPTER_FLAG_IN_ORDER_DMA_SUPPORTED | NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED |
                      NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED | NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED;
  if (limits.fast_registration) info.AdapterFlags |= NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED;
  if (options.loopback) info.AdapterFlags |= NDK_ADAPTER_FLAG_LOOPBACK_CONNECTIONS_SUPPORTED;
  info.RdmaTechnology = options.technology;
  if (options.points.contains(departure::kNoResize)) info.AdapterFlags &= ~ULONG{NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED};
  if (options.points.contains(departure::kNoModeration)) info.AdapterFlags &= ~ULONG{NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED};
  if (options.points.contains(departure::kNoReadInvalidate)) {
    info.AdapterFlags &= ~ULONG{NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED};
  }
  lower(info, options);
  return info;
}

}  // namespace

std::string_view name_of(NDK_OBJECT_TYPE type) {
  constexpr std::array<std::string_view, NdkObjectTypeMax> kNames = {"Undefined", "Adapter",        "Qp",        "Cq",       "Mr", "Mw",
                                                                     "Pd",        "SharedEndpoint", "Connector", "Listener", "Srq"};
  return type < NdkObjectTypeMax ? kNames[type] : "?";
}

// ---------------------------------------------------------------- the card

/// Something that happens in an event of its own.
class Miniport::Coming final : public Event {
 public:
  Coming(Miniport& miniport, std::function<void()> what) : Event("ndk.provider"), miniport_(miniport), what_(std::move(what)) {}
  std::list<std::unique_ptr<Coming>>::iterator place;

 private:
  void fire() override {
    const auto what = std::move(what_);
    miniport_.coming_.erase(place);  // this
    what();
  }
  Miniport& miniport_;
  std::function<void()> what_;
};

Miniport::Miniport(World& w, Kernel& k, rdma::Device& d, const ProviderOptions& o)
    : world(w),
      kernel(k),
      device(d),
      options(o),
      info(info_of(d.limits(), o)),
      ports(*this),
      random_(w.stream("ndk/provider/" + o.name + "/" + to_string(d.address()))) {}

Miniport::~Miniport() {
  coming_.clear();
  adapters.clear();
  coming_.clear();
}

Miniport::Way Miniport::next_way(bool by_card) {
  switch (options.answers) {
    case Answers::natural:
      return by_card ? Way::later : Way::at_once;
    case Answers::at_once:
      return Way::at_once;
    case Answers::later:
      return Way::later;
    case Answers::before_return:
      return Way::before_return;
    case Answers::random:
      break;
  }
  constexpr std::array<Way, 3> kWays = {Way::at_once, Way::before_return, Way::later};
  return kWays[random_.below(kWays.size())];
}

void Miniport::later(std::function<void()> what, Duration delay) {
  coming_.push_back(std::make_unique<Coming>(*this, std::move(what)));
  Coming& coming = *coming_.back();
  coming.place = std::prev(coming_.end());
  world.loop().schedule_after(coming, delay);
}

// ---------------------------------------------------------------- the provider

Provider::Provider(World& world, Kernel& kernel, rdma::Device& device, const ProviderOptions& options)
    : miniport_(std::make_unique<Miniport>(world, kernel, device, options)) {}

Provider::~Provider() = default;

NDIS_STATUS Provider::open(NDK_VERSION version, NDK_ADAPTER** adapter) {
  Miniport& m = *miniport_;
  m.kernel.check_irql(PASSIVE_LEVEL, "OpenNDKAdapterHandler");
  NDK_VERSION given = m.options.version;
  if (version.Major != given.Major) {
    if (given.Major == 2 && version.Major == kLastOfMajor1.Major) {
      given = kLastOfMajor1;
    } else if (!m.departs(departure::kOpenMajorUnchecked)) {
      return NDIS_STATUS_BAD_VERSION;
    }
  }
  if (version.Major == given.Major && version.Minor > given.Minor && !m.departs(departure::kOpenMinorUnchecked)) {
    return NDIS_STATUS_BAD_VERSION;
  }
  m.adapters.push_back(std::make_unique<provider::Adapter>(m, given));
  *adapter = m.adapters.back().get();
  return NDIS_STATUS_SUCCESS;
}

LeakReport Provider::close(NDK_ADAPTER* ndk) {
  constexpr std::string_view kFunction = "CloseNDKAdapterHandler";
  Miniport& m = *miniport_;
  m.kernel.check_irql(PASSIVE_LEVEL, kFunction);
  const auto found = std::ranges::find_if(m.adapters, [&](const auto& adapter) { return adapter.get() == ndk; });
  if (found == m.adapters.end()) {
    m.kernel.report(kernel_rule::kNotOpen, kFunction, "the adapter is not open");
    return {};
  }
  provider::Adapter& adapter = **found;
  const auto over = [&] { return adapter.idle() || m.departs(departure::kAdapterClosesEarly); };
  if (!over()) {
    if (m.world.loop().inside_event()) {
      m.kernel.report(kernel_rule::kCloseInEvent, kFunction,
                      "an adapter whose objects are not closed yet was closed where nobody can wait for them");
    } else {
      m.world.run_until(over, m.world.patience());
    }
  }
  LeakReport leaks;
  std::string text;
  for (int type = NdkObjectTypeAdapter + 1; type < NdkObjectTypeMax; ++type) {
    const auto object = static_cast<NDK_OBJECT_TYPE>(type);
    if (adapter.live(object) == 0) continue;
    leaks.push_back({object, adapter.live(object)});
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", adapter.live(object), name_of(object));
  }
  if (leaks.empty()) {
    // Callbacks that could not be waited for still need it.
    if (!adapter.idle()) return leaks;
    std::erase_if(m.adapters, [&](const auto& each) { return each.get() == ndk; });
    return leaks;
  }
  m.kernel.report(kernel_rule::kLeak, kFunction, fmt::format("adapter '{}' was closed with objects on it: {}", m.options.name, text));
  return leaks;
}

std::size_t Provider::open_adapters() const { return miniport_->adapters.size(); }

std::size_t Provider::live_objects() const {
  std::size_t count = 0;
  for (const auto& adapter : miniport_->adapters) count += adapter->live();
  return count;
}

// ---------------------------------------------------------------- NDIS

namespace {

NDIS_STATUS open_adapter(NDIS_HANDLE context, PNDIS_OPEN_NDK_ADAPTER_PARAMETERS parameters, NDK_ADAPTER** adapter) {
  return static_cast<Provider*>(context)->open(parameters->Version, adapter);
}

VOID close_adapter(NDIS_HANDLE context, NDK_ADAPTER* adapter) { static_cast<Provider*>(context)->close(adapter); }

template <class T>
void fill_header(T& structure, UCHAR type) {
  structure.Header.Type = type;
  structure.Header.Revision = 1;
  structure.Header.Size = sizeof structure;
}

}  // namespace

bool Provider::add_to(Registry& registry, std::string_view name, NET_IFINDEX index, bool enabled) {
  Miniport& m = *miniport_;
  NDIS_NDK_PROVIDER_CHARACTERISTICS characteristics = {};
  fill_header(characteristics, NDIS_OBJECT_TYPE_NDK_PROVIDER_CHARACTERISTICS);
  characteristics.OpenNDKAdapterHandler = &open_adapter;
  characteristics.CloseNDKAdapterHandler = &close_adapter;
  NDIS_NDK_CAPABILITIES capabilities = {};
  capabilities.Header.Revision = NDIS_NDK_CAPABILITIES_REVISION_1;
  capabilities.Header.Size = sizeof capabilities;
  constexpr ULONG kMany = 1u << 16;
  capabilities.MaxQpCount = capabilities.MaxCqCount = capabilities.MaxMrCount = capabilities.MaxPdCount = kMany;
  capabilities.MaxMwCount = capabilities.MaxSrqCount = kMany;
  capabilities.MaxInboundReadLimit = m.info.MaxInboundReadLimit;
  capabilities.MaxOutboundReadLimit = m.info.MaxOutboundReadLimit;
  capabilities.NdkInfo = &m.info;
  NDIS_MINIPORT_ADAPTER_NDK_ATTRIBUTES attributes = {};
  fill_header(attributes, NDIS_OBJECT_TYPE_MINIPORT_ADAPTER_NDK_ATTRIBUTES);
  attributes.Enabled = enabled ? 1 : 0;
  attributes.NdkCapabilities = &capabilities;
  return registry.add(name, index, characteristics, attributes, this).ok();
}

}  // namespace fb::ndk
