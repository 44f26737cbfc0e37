// What is called on adapters.
#include <algorithm>

#include <fmt/format.h>

#include "networkdirect/ndk/verifier/connections.h"

namespace fb::ndk::verifier {

Adapter::Adapter(Session& session, NDK_ADAPTER& inner) : NDK_ADAPTER{}, Wrapper(session, NdkObjectTypeAdapter, nullptr), inner_(inner) {
  Header.Version = inner.Header.Version;
  Header.ObjectType = NdkObjectTypeAdapter;
  Dispatch = &tables_of(Header.Version).adapter;
  ULONG size = sizeof info_;
  info_known_ = inner.Dispatch->NdkQueryAdapterInfo(&inner, &info_, &size) == STATUS_SUCCESS;
}

NTSTATUS Adapter::query_info(NDK_ADAPTER* ndk, NDK_ADAPTER_INFO* info, ULONG* size) {
  auto& adapter = of<Adapter>(ndk);
  Call call(adapter, "NdkQueryAdapterInfo", PASSIVE_LEVEL);
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  if (!call.given(size, "the place for the size")) return STATUS_INVALID_PARAMETER;
  return adapter.inner_.Dispatch->NdkQueryAdapterInfo(&adapter.inner_, info, size);
}

NTSTATUS Adapter::create_cq(NDK_ADAPTER* ndk, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK callback, PVOID callback_context,
                            GROUP_AFFINITY* affinity, NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_CQ** place) {
  auto& adapter = of<Adapter>(ndk);
  Call call(adapter, "NdkCreateCq");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  if (!call.given(reinterpret_cast<const void*>(callback), "the notification callback")) return STATUS_INVALID_PARAMETER;
  if (depth == 0) call.find(Rule::cq_depth_exceeded, "no entry");
  call.limit(Rule::cq_depth_exceeded, "the depth", depth, adapter.info_.MaxCqDepth);
  auto& made = adapter.session().make<CompletionQueue>(adapter, depth, callback, callback_context);
  return call.create(completion, context, place, made, [&](auto done, PVOID ours, NDK_CQ** inner) {
    return adapter.inner_.Dispatch->NdkCreateCq(&adapter.inner_, depth, &CompletionQueue::on_notify, &made, affinity, done, ours, inner);
  });
}

NTSTATUS Adapter::create_pd(NDK_ADAPTER* ndk, NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_PD** place) {
  auto& adapter = of<Adapter>(ndk);
  Call call(adapter, "NdkCreatePd");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  auto& made = adapter.session().make<ProtectionDomain>(adapter);
  adapter.domains.push_back(&made);
  return call.create(completion, context, place, made, [&](auto done, PVOID ours, NDK_PD** inner) {
    return adapter.inner_.Dispatch->NdkCreatePd(&adapter.inner_, done, ours, inner);
  });
}

NTSTATUS Adapter::create_endpoint(NDK_ADAPTER* ndk, PSOCKADDR address, ULONG length, NDK_FN_CREATE_COMPLETION completion, PVOID context,
                                  NDK_SHARED_ENDPOINT** place) {
  auto& adapter = of<Adapter>(ndk);
  Call call(adapter, "NdkCreateSharedEndpoint");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  if (!call.address(address, length, "the address")) return STATUS_INVALID_ADDRESS;
  auto& made = adapter.session().make<SharedEndpoint>(adapter);
  return call.create(completion, context, place, made, [&](auto done, PVOID ours, NDK_SHARED_ENDPOINT** inner) {
    return adapter.inner_.Dispatch->NdkCreateSharedEndpoint(&adapter.inner_, address, length, done, ours, inner);
  });
}

NTSTATUS Adapter::create_connector(NDK_ADAPTER* ndk, NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_CONNECTOR** place) {
  auto& adapter = of<Adapter>(ndk);
  Call call(adapter, "NdkCreateConnector");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  auto& made = adapter.session().make<Connector>(adapter);
  return call.create(completion, context, place, made, [&](auto done, PVOID ours, NDK_CONNECTOR** inner) {
    return adapter.inner_.Dispatch->NdkCreateConnector(&adapter.inner_, done, ours, inner);
  });
}

NTSTATUS Adapter::create_listener(NDK_ADAPTER* ndk, NDK_FN_CONNECT_EVENT_CALLBACK event, PVOID event_context,
                                  NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_LISTENER** place) {
  auto& adapter = of<Adapter>(ndk);
  Call call(adapter, "NdkCreateListener");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  if (!call.given(reinterpret_cast<const void*>(event), "the callback of requests")) return STATUS_INVALID_PARAMETER;
  auto& made = adapter.session().make<Listener>(adapter, event, event_context);
  return call.create(completion, context, place, made, [&](auto done, PVOID ours, NDK_LISTENER** inner) {
    return adapter.inner_.Dispatch->NdkCreateListener(&adapter.inner_, &Listener::on_connect, &made, done, ours, inner);
  });
}

// ---------------------------------------------------------------- mappings

Mapping* Adapter::mapping_of(LONGLONG page, bool& any) const {
  const auto at = pages_.find(page);
  any = at != pages_.end();
  return any && at->second.size() == 1 ? at->second.front() : nullptr;
}

Mapping* Adapter::mapping_of(const NDK_LOGICAL_ADDRESS* pages) const {
  const auto* const place = reinterpret_cast<const std::uint8_t*>(pages) - offsetof(NDK_LOGICAL_ADDRESS_MAPPING, AdapterPageArray);
  const auto at = by_place_.find(place);
  return at == by_place_.end() ? nullptr : at->second;
}

void Adapter::built(NDK_LOGICAL_ADDRESS_MAPPING* place) {
  if (free_.empty()) free_.push_back(mappings_.emplace_back(std::make_unique<Mapping>()).get());
  Mapping& made = *free_.back();
  free_.pop_back();
  made = {};
  made.place = place;
  made.adapter_context = place->AdapterContext;
  for (ULONG i = 0; i < place->AdapterPageCount; ++i) made.pages.push_back(place->AdapterPageArray[i].QuadPart);
  for (const LONGLONG page : made.pages) pages_[page].push_back(&made);
  by_place_[place] = &made;
  released_.erase(place);
}

void Adapter::forget(Mapping& mapping) {
  for (const LONGLONG page : mapping.pages) {
    const auto at = pages_.find(page);
    at->second.erase(std::ranges::find(at->second, &mapping));
    if (at->second.empty()) pages_.erase(at);
  }
  by_place_.erase(mapping.place);
  released_.insert(mapping.place);
  if (mapping.uses == 0) free_.push_back(&mapping);  // else somebody still refers to it
}

NTSTATUS Adapter::build_lam(NDK_ADAPTER* ndk, MDL* mdl, SIZE_T length, NDK_FN_REQUEST_COMPLETION completion, PVOID context,
                            NDK_LOGICAL_ADDRESS_MAPPING* mapping, ULONG* size, ULONG* offset) {
  auto& adapter = of<Adapter>(ndk);
  Call call(adapter, "NdkBuildLAM");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  if (!call.given(size, "the place for the size")) return STATUS_INVALID_PARAMETER;
  const auto copy = std::make_shared<MdlCopy>(mdl);
  if (!judge_mdl(call, *copy, length)) return STATUS_INVALID_PARAMETER;
  return call.request(
      completion, context,
      [&](auto done, PVOID ours) {
        return adapter.inner_.Dispatch->NdkBuildLAM(&adapter.inner_, copy->get(), length, done, ours, mapping, size, offset);
      },
      [&adapter, copy, mapping](NTSTATUS status) {
        Session& session = adapter.session();
        if (copy->changed()) session.add(Rule::mdl_changed_in_flight, adapter.name(), session.calls(), "before the mapping was built");
        if (status == STATUS_SUCCESS && mapping != nullptr) adapter.built(mapping);
      });
}

VOID Adapter::release_lam(NDK_ADAPTER* ndk, NDK_LOGICAL_ADDRESS_MAPPING* place) {
  auto& adapter = of<Adapter>(ndk);
  Call call(adapter, "NdkReleaseLAM");
  if (!call.alive() || !call.given(place, "the mapping")) return;
  const auto at = adapter.by_place_.find(place);
  if (at == adapter.by_place_.end()) {
    return call.find(adapter.released_.contains(place) ? Rule::lam_released_twice : Rule::lam_unknown);
  }
  Mapping& mapping = *at->second;
  if (mapping.uses > 0) call.find(Rule::lam_released_in_use, fmt::format("{} regions or requests use it", mapping.uses));
  bool changed = place->AdapterContext != mapping.adapter_context || place->AdapterPageCount != mapping.pages.size();
  for (std::size_t i = 0; i < mapping.pages.size() && !changed; ++i) {
    changed = place->AdapterPageArray[i].QuadPart != mapping.pages[i];
  }
  if (changed) {
    call.find(Rule::lam_changed);
    place->AdapterContext = mapping.adapter_context;
    place->AdapterPageCount = static_cast<ULONG>(mapping.pages.size());
    for (std::size_t i = 0; i < mapping.pages.size(); ++i) place->AdapterPageArray[i].QuadPart = mapping.pages[i];
  }
  adapter.forget(mapping);
  adapter.inner_.Dispatch->NdkReleaseLAM(&adapter.inner_, place);
}

}  // namespace fb::ndk::verifier
