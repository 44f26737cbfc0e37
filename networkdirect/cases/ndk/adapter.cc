// Adapters: which versions open, what they tell, what every object has in common.
#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

/// One of each kind that an adapter makes, and itself.
template <class Visit>
void each_object(NdkBench& bench, Visit&& visit) {
  NdkEnd& end = bench.a();
  NdkQueue& queue = end.queue();
  visit("the adapter", end.adapter()->Header, NdkObjectTypeAdapter);
  visit("a protection domain", end.pd()->Header, NdkObjectTypePd);
  visit("a completion queue", queue.cq->Header, NdkObjectTypeCq);
  visit("a region", end.region()->Header, NdkObjectTypeMr);
  visit("a window", end.window()->Header, NdkObjectTypeMw);
  visit("a queue pair", end.queue_pair(queue)->Header, NdkObjectTypeQp);
  visit("a shared receive queue", end.shared_receive_queue().srq->Header, NdkObjectTypeSrq);
  visit("a connector", end.connector()->Header, NdkObjectTypeConnector);
  visit("a listener", end.idle_listener().listener->Header, NdkObjectTypeListener);
  visit("a shared endpoint", end.endpoint(0)->Header, NdkObjectTypeSharedEndpoint);
}

template <class Table>
bool complete(const Table& table) {
  const auto* entries = reinterpret_cast<void* const*>(&table);
  return std::all_of(entries, entries + sizeof table / sizeof(void*), [](void* entry) { return entry != nullptr; });
}

NdkStatus query(NDK_ADAPTER* adapter, NDK_ADAPTER_INFO* info, ULONG* size) {
  return adapter->Dispatch->NdkQueryAdapterInfo(adapter, info, size);
}

}  // namespace

CONFORMANCE_CASE(ndk_major_versions_are_negotiated, "ndk.adapter.open-major", roles::provider) {
  NDK_ADAPTER* adapter = nullptr;
  check.equal("open of version 3.0", NdkStatus(bench.ndk().a().provider().open({3, 0}, &adapter)), NdkStatus(NDIS_STATUS_BAD_VERSION));
}

CONFORMANCE_CASE(ndk_minor_versions_are_negotiated, "ndk.adapter.open-minor", roles::provider) {
  NDK_ADAPTER* adapter = nullptr;
  check.equal("open of version 2.9", NdkStatus(bench.ndk().a().provider().open({2, 9}, &adapter)), NdkStatus(NDIS_STATUS_BAD_VERSION));
}

CONFORMANCE_CASE(ndk_the_highest_minor_version_is_given, "ndk.adapter.open-highest", roles::provider) {
  ndk::Provider& provider = bench.ndk().a().provider();
  NDK_ADAPTER* adapter = nullptr;
  check.require(provider.open({2, 0}, &adapter) == NDIS_STATUS_SUCCESS, "an adapter of version 2.0 or above opens");
  check.equal("major version", adapter->Header.Version.Major, 2);
  check.equal("minor version", adapter->Header.Version.Minor, 1);
  provider.close(adapter);
}

CONFORMANCE_CASE(ndk_headers_have_the_version, "ndk.adapter.header-version", roles::provider) {
  each_object(bench.ndk(), [&](std::string_view what, const NDK_OBJECT_HEADER& header, NDK_OBJECT_TYPE) {
    check.equal("major version of " + std::string(what), header.Version.Major, 2);
    check.equal("minor version of " + std::string(what), header.Version.Minor, 1);
  });
}

CONFORMANCE_CASE(ndk_headers_have_the_type, "ndk.adapter.header-type", roles::provider) {
  each_object(bench.ndk(), [&](std::string_view what, const NDK_OBJECT_HEADER& header, NDK_OBJECT_TYPE type) {
    check.equal("type of " + std::string(what), static_cast<int>(header.ObjectType), static_cast<int>(type));
  });
}

CONFORMANCE_CASE(ndk_headers_have_a_reserve, "ndk.adapter.header-reserved", roles::provider) {
  each_object(bench.ndk(), [&](std::string_view what, const NDK_OBJECT_HEADER& header, NDK_OBJECT_TYPE) {
    for (const PVOID word : header.NdkReserved.rf) check.that(word == nullptr, "the reserved part of " + std::string(what) + " is zero");
  });
}

CONFORMANCE_CASE(ndk_tables_are_complete, "ndk.adapter.tables", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkEnd& end = ndk.a();
  NdkQueue& queue = end.queue();
  check.that(complete(*end.adapter()->Dispatch), "the table of an adapter has no null");
  check.that(complete(*end.pd()->Dispatch), "the table of a protection domain has no null");
  check.that(complete(*queue.cq->Dispatch), "the table of a completion queue has no null");
  check.that(complete(*end.region()->Dispatch), "the table of a region has no null");
  check.that(complete(*end.window()->Dispatch), "the table of a window has no null");
  check.that(complete(*end.queue_pair(queue)->Dispatch), "the table of a queue pair has no null");
  check.that(complete(*end.shared_receive_queue().srq->Dispatch), "the table of a shared receive queue has no null");
  check.that(complete(*end.connector()->Dispatch), "the table of a connector has no null");
  check.that(complete(*end.idle_listener().listener->Dispatch), "the table of a listener has no null");
  check.that(complete(*end.endpoint(0)->Dispatch), "the table of a shared endpoint has no null");
}

CONFORMANCE_CASE(ndk_info_has_the_version, "ndk.adapter.info", roles::provider) {
  NDK_ADAPTER* const adapter = bench.ndk().a().adapter();
  NDK_ADAPTER_INFO info = {};
  ULONG size = sizeof info;
  says(check, "NdkQueryAdapterInfo", query(adapter, &info, &size), {STATUS_SUCCESS});
  check.equal("major version", info.Version.Major, adapter->Header.Version.Major);
  check.equal("minor version", info.Version.Minor, adapter->Header.Version.Minor);
}

CONFORMANCE_CASE(ndk_limits_are_not_zero, "ndk.adapter.info-limits", roles::provider) {
  const NDK_ADAPTER_INFO info = bench.ndk().a().info();
  check.that(info.MaxRegistrationSize > 0, "MaxRegistrationSize is not zero");
  check.that(info.MaxInitiatorRequestSge > 0, "MaxInitiatorRequestSge is not zero");
  check.that(info.MaxReceiveRequestSge > 0, "MaxReceiveRequestSge is not zero");
  check.that(info.MaxTransferLength > 0, "MaxTransferLength is not zero");
  check.that(info.MaxReceiveQueueDepth > 0, "MaxReceiveQueueDepth is not zero");
  check.that(info.MaxInitiatorQueueDepth > 0, "MaxInitiatorQueueDepth is not zero");
  check.that(info.MaxCqDepth > 0, "MaxCqDepth is not zero");
}

CONFORMANCE_CASE(ndk_info_wants_room, "ndk.adapter.info-small", roles::provider) {
  NDK_ADAPTER* const adapter = bench.ndk().a().adapter();
  NDK_ADAPTER_INFO info = {};
  ULONG size = 40;
  says(check, "NdkQueryAdapterInfo with 40 bytes", query(adapter, &info, &size), {STATUS_BUFFER_TOO_SMALL});
  size = 0;
  says(check, "NdkQueryAdapterInfo without a buffer", query(adapter, nullptr, &size), {STATUS_BUFFER_TOO_SMALL});
}

CONFORMANCE_CASE(ndk_info_tells_its_size, "ndk.adapter.info-size", roles::provider) {
  ULONG size = 0;
  query(bench.ndk().a().adapter(), nullptr, &size);
  check.equal("size", size, ULONG{sizeof(NDK_ADAPTER_INFO)});
}

CONFORMANCE_CASE(ndk_fast_registration_takes_sixteen_pages, "ndk.adapter.info-fast-pages", roles::provider) {
  check.that(bench.ndk().a().info().FRMRPageCount >= 16, "FRMRPageCount is 16 or more");
}

CONFORMANCE_CASE(ndk_info_has_the_technology, "ndk.adapter.info-technology", roles::provider) {
  const int technology = bench.ndk({.version = {2, 0}}).a().info().RdmaTechnology;
  check.between("RdmaTechnology", technology, static_cast<int>(NdkiWarp), static_cast<int>(NdkRoCEv2));
}

CONFORMANCE_CASE(ndk_old_consumers_get_the_old_info, "ndk.adapter.info-old", roles::provider) {
  NDK_ADAPTER_INFO info = {};
  ULONG size = NDK_ADAPTER_INFO_SIZE_1;
  says(check, "NdkQueryAdapterInfo with 96 bytes", query(bench.ndk({.version = {1, 2}}).a().adapter(), &info, &size), {STATUS_SUCCESS});
  check.equal("major version", info.Version.Major, 1);
}

CONFORMANCE_CASE(ndk_nobody_has_an_undefined_extension, "ndk.adapter.extension", roles::provider) {
  NDK_ADAPTER* const adapter = bench.ndk().a().adapter();
  GUID nobodys = {0x5EED5EED, 0x1234, 0x4321, {0xFA, 0xB0, 1, 2, 3, 4, 5, 6}};
  NDK_EXTENSION_INTERFACE found = {};
  says(check, "NdkQueryExtension", adapter->Dispatch->NdkQueryExtension(&adapter->Header, &nobodys, {1, 0}, &found),
       {STATUS_NOT_SUPPORTED});
}

CONFORMANCE_CASE(ndk_the_close_of_an_adapter_waits, "ndk.adapter.close-waits", roles::provider) {
  NdkBench& ndk = bench.ndk({.answers = ndk::Answers::later});
  NdkEnd other(ndk, ndk.a().provider(), ndk.a().address(), {2, 1});
  NDK_MR* const region = other.region();
  const NdkAnswer& domain_closed = ndk.close(other.pd());
  const NdkAnswer& region_closed = ndk.close(region);
  const ndk::LeakReport left = other.provider().close(other.adapter());
  check.that(left.empty(), "nothing is left on the adapter");
  check.that(region_closed.done() && domain_closed.done(), "both closes have ended when the adapter is closed");
}

}  // namespace fb::conformance
