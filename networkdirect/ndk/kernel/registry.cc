#include "networkdirect/ndk/kernel/registry.h"

#include <algorithm>

#include <fmt/format.h>

namespace fb::ndk {

Registry::Registry(Kernel& kernel) : kernel_(kernel) {}
Registry::~Registry() = default;

Result<void> Registry::add(std::string_view name, NET_IFINDEX index, const NDIS_NDK_PROVIDER_CHARACTERISTICS& characteristics,
                           const NDIS_MINIPORT_ADAPTER_NDK_ATTRIBUTES& attributes, NDIS_HANDLE context) {
  const auto refuse = [&](std::string_view why) { return Failure{Problem{fmt::format("NDK provider '{}': {}", name, why)}}; };
  if (name.empty()) return refuse("it has no name");
  if (find(name) != nullptr) return refuse("the name is taken");
  if (find(index) != nullptr) return refuse(fmt::format("interface index {} is taken", index));
  if (characteristics.Header.Type != NDIS_OBJECT_TYPE_NDK_PROVIDER_CHARACTERISTICS ||
      characteristics.Header.Size < sizeof characteristics || characteristics.Header.Revision == 0) {
    return refuse("its characteristics have another type or size, or no revision");
  }
  if (characteristics.Flags != 0) return refuse("its characteristics have flags, and none are defined");
  if (characteristics.OpenNDKAdapterHandler == nullptr || characteristics.CloseNDKAdapterHandler == nullptr) {
    return refuse("it lacks a handler");
  }
  if (attributes.Header.Type != NDIS_OBJECT_TYPE_MINIPORT_ADAPTER_NDK_ATTRIBUTES || attributes.Header.Size < sizeof attributes) {
    return refuse("its attributes have another type or size");
  }
  if (attributes.NdkCapabilities == nullptr) return refuse("it tells no capabilities");
  auto entry = std::make_unique<Entry>();
  entry->facts.name = name;
  entry->facts.index = index;
  entry->facts.enabled = attributes.Enabled != 0;
  entry->facts.capabilities = *attributes.NdkCapabilities;
  entry->characteristics = characteristics;
  entry->context = context;
  entries_.emplace(name, std::move(entry));
  return {};
}

bool Registry::remove(std::string_view name) {
  const auto found = entries_.find(name);
  if (found == entries_.end() || found->second->facts.open > 0) return false;
  entries_.erase(found);
  return true;
}

std::vector<Registry::Miniport> Registry::miniports() const {
  std::vector<Miniport> all;
  for (const auto& [name, entry] : entries_) all.push_back(entry->facts);
  return all;
}

Registry::Entry* Registry::find(std::string_view name) {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : found->second.get();
}

Registry::Entry* Registry::find(NET_IFINDEX index) {
  const auto found = std::ranges::find_if(entries_, [&](const auto& entry) { return entry.second->facts.index == index; });
  return found == entries_.end() ? nullptr : found->second.get();
}

NTSTATUS Registry::set_state(std::string_view name, bool enabled, std::function<void(bool)> done) {
  kernel_.check_irql(PASSIVE_LEVEL, "OID_NDK_SET_STATE");
  Entry* const entry = find(name);
  if (entry == nullptr) return STATUS_INVALID_PARAMETER;
  Miniport& facts = entry->facts;
  const auto waiting = std::exchange(entry->on_disabled, nullptr);
  facts.enabled = enabled;
  facts.disabling = !enabled && facts.open > 0;
  if (facts.disabling) {
    // Whoever asked before for the same is told when it is so.
    entry->on_disabled = [waiting, done = std::move(done)](bool off) {
      if (waiting) waiting(off);
      if (done) done(off);
    };
    return STATUS_PENDING;
  }
  if (waiting) waiting(!enabled);
  return STATUS_SUCCESS;
}

NDIS_STATUS Registry::open(std::string_view name, NDK_VERSION version, NDK_ADAPTER** adapter) {
  kernel_.check_irql(PASSIVE_LEVEL, "NdkOpenAdapter");
  return open(find(name), version, Way::name, adapter);
}

NDIS_STATUS Registry::open(Entry* entry, NDK_VERSION version, Way way, NDK_ADAPTER** adapter) {
  if (entry == nullptr || !entry->facts.enabled) return NDIS_STATUS_ADAPTER_NOT_READY;
  NDIS_OPEN_NDK_ADAPTER_PARAMETERS parameters = {};
  parameters.Version = version;
  const NDIS_STATUS status = entry->characteristics.OpenNDKAdapterHandler(entry->context, &parameters, adapter);
  if (status != NDIS_STATUS_SUCCESS) return status;
  ++entry->facts.open;
  opened_[*adapter] = {entry, way};
  return status;
}

void Registry::close(NDK_ADAPTER* adapter) { close(adapter, Way::name, "NdkCloseAdapter"); }

void Registry::close(NDK_ADAPTER* adapter, Way way, std::string_view function) {
  kernel_.check_irql(PASSIVE_LEVEL, function);
  const auto found = opened_.find(adapter);
  if (found == opened_.end() || found->second.way != way) {
    kernel_.report(kernel_rule::kNotOpen, function,
                   found == opened_.end() ? "the adapter is not open" : "the adapter was opened by another way");
    return;
  }
  Entry& entry = *found->second.entry;
  // Known as open until it is not: closing runs the world.
  entry.characteristics.CloseNDKAdapterHandler(entry.context, adapter);
  opened_.erase(adapter);
  if (--entry.facts.open > 0 || !entry.facts.disabling) return;
  entry.facts.disabling = false;
  if (const auto done = std::exchange(entry.on_disabled, nullptr)) done(true);
}

NTSTATUS WINAPI Registry::wsk_open(PWSK_CLIENT client, NDK_VERSION version, NET_IFINDEX index, NDK_ADAPTER** adapter) {
  auto& registry = *static_cast<Registry*>(client);
  registry.kernel_.check_irql(PASSIVE_LEVEL, "WskOpenNdkAdapter");
  return registry.open(registry.find(index), version, Way::wsk, adapter);
}

VOID WINAPI Registry::wsk_close(PWSK_CLIENT client, NDK_ADAPTER* adapter) {
  static_cast<Registry*>(client)->close(adapter, Way::wsk, "WskCloseNdkAdapter");
}

const WSK_PROVIDER_NDK_DISPATCH& Registry::wsk_dispatch() {
  static constexpr WSK_PROVIDER_NDK_DISPATCH dispatch = {&Registry::wsk_open, &Registry::wsk_close};
  return dispatch;
}

}  // namespace fb::ndk
