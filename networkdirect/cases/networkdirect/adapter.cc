// Finding adapters, opening them, and what they say of themselves.
#include <algorithm>
#include <cstring>

#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

constexpr IpAddress kForeign = IpAddress::v4(192, 0, 2, 77);

/// The id that an address resolves to.
UINT64 id_of(ProviderBench& bench, const NdEnd& end, std::uint16_t port = 0) {
  const NdAddress at(end.address(), port);
  UINT64 id = 0;
  const NdStatus status = bench.nd().provider().ResolveAddress(at.get(), at.length(), &id);
  return status.failed() ? 0 : id;
}

}  // namespace

CONFORMANCE_CASE(nd_a_short_list_is_left_alone, "networkdirect.provider.list-short", roles::provider) {
  IND2Provider& provider = bench.nd().provider();
  ULONG needed = 0;
  says(check, "QueryAddressList without a buffer", provider.QueryAddressList(nullptr, &needed), {ND_BUFFER_OVERFLOW});
  check.require(needed > 8, "the size of the list is said");
  Bytes room(needed + 8, 0xA5);
  ULONG given = needed - 1;
  says(check, "QueryAddressList with a byte too few",
       provider.QueryAddressList(reinterpret_cast<SOCKET_ADDRESS_LIST*>(room.data()), &given), {ND_BUFFER_OVERFLOW});
  check.equal("size that is said then", given, needed);
  check.bytes("the buffer", room, Bytes(room.size(), 0xA5));
}

CONFORMANCE_CASE(nd_a_port_plays_no_part, "networkdirect.provider.resolve-port", roles::provider) {
  const UINT64 plain = id_of(bench, bench.nd().a());
  for (const unsigned port : {1u, 4420u, 65535u}) {
    check.equal("adapter id with a port", id_of(bench, bench.nd().a(), static_cast<std::uint16_t>(port)), plain);
  }
}

CONFORMANCE_CASE(nd_a_foreign_address_resolves_to_nothing, "networkdirect.provider.resolve-foreign", roles::provider) {
  const NdAddress foreign(kForeign);
  UINT64 id = 0;
  says(check, "ResolveAddress of a foreign address", bench.nd().provider().ResolveAddress(foreign.get(), foreign.length(), &id),
       {ND_INVALID_ADDRESS});
}

CONFORMANCE_CASE(nd_an_unknown_id_opens_nothing, "networkdirect.provider.open-id", roles::provider) {
  const UINT64 unknown = id_of(bench, bench.nd().a()) ^ 0x5A5A'0000'A5A5'0000;
  check.precondition(unknown != id_of(bench, bench.nd().b()), "there is an id that no address has");
  NdRef<IND2Adapter> adapter;
  says(check, "OpenAdapter of an unknown id", bench.nd().provider().OpenAdapter(IID_IND2Adapter, unknown, adapter.out()),
       {ND_INVALID_PARAMETER, ND_INVALID_PARAMETER_2});
}

CONFORMANCE_CASE(nd_the_version_of_the_information_stays, "networkdirect.adapter.info-version", roles::provider) {
  bool known = false;
  for (const ULONG version : {ULONG{ND_VERSION_2}, ULONG{1}}) {
    ND2_ADAPTER_INFO info = {};
    info.InfoVersion = version;
    ULONG bytes = sizeof info;
    if (bench.nd().a().adapter().Query(&info, &bytes) != ND_SUCCESS) continue;
    known = true;
    check.equal("InfoVersion", info.InfoVersion, version);
  }
  check.that(known, "one of the versions is known");
}

CONFORMANCE_CASE(nd_no_version_that_does_not_exist, "networkdirect.adapter.info-unknown-version", roles::provider) {
  ND2_ADAPTER_INFO info = {};
  info.InfoVersion = 0x7EED;
  ULONG bytes = sizeof info;
  refused(check, "Query in an unknown version", bench.nd().a().adapter().Query(&info, &bytes));
}

CONFORMANCE_CASE(nd_the_information_fits_exactly, "networkdirect.adapter.info-size", roles::provider) {
  IND2Adapter& adapter = bench.nd().a().adapter();
  ULONG bytes = 0;
  says(check, "Query without a buffer", adapter.Query(nullptr, &bytes), {ND_BUFFER_OVERFLOW});
  check.equal("size that is said", bytes, ULONG{sizeof(ND2_ADAPTER_INFO)});
  ND2_ADAPTER_INFO info = {};
  info.InfoVersion = ND_VERSION_2;
  bytes = sizeof info - 1;
  says(check, "Query with a byte too few", adapter.Query(&info, &bytes), {ND_BUFFER_OVERFLOW});
  bytes = sizeof info;
  info.InfoVersion = ND_VERSION_2;
  says(check, "Query with room for the structure", adapter.Query(&info, &bytes), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_the_id_is_that_of_the_address, "networkdirect.adapter.info-id", roles::provider) {
  check.equal("AdapterId", bench.nd().a().info().AdapterId, id_of(bench, bench.nd().a()));
}

CONFORMANCE_CASE(nd_reads_have_no_more_buffers, "networkdirect.adapter.info-read-sge", roles::provider) {
  const ND2_ADAPTER_INFO info = bench.nd().a().info();
  check.between("MaxReadSge", info.MaxReadSge, ULONG{1}, info.MaxInitiatorSge);
}

CONFORMANCE_CASE(nd_inline_advice_can_be_followed, "networkdirect.adapter.info-inline", roles::provider) {
  const ND2_ADAPTER_INFO info = bench.nd().a().info();
  check.between("InlineRequestThreshold", info.InlineRequestThreshold, ULONG{0}, info.MaxInlineDataSize);
}

CONFORMANCE_CASE(nd_requests_carry_what_programs_say, "networkdirect.adapter.info-caller-data", roles::provider) {
  check.that(bench.nd().a().info().MaxCallerData >= 39, "MaxCallerData is at least 39");
}

CONFORMANCE_CASE(nd_replies_carry_what_programs_say, "networkdirect.adapter.info-callee-data", roles::provider) {
  check.that(bench.nd().a().info().MaxCalleeData >= 39, "MaxCalleeData is at least 39");
}

CONFORMANCE_CASE(nd_regions_may_be_large, "networkdirect.adapter.info-registration", roles::provider) {
  check.that(bench.nd().a().info().MaxRegistrationSize >= (SIZE_T{64} << 20), "MaxRegistrationSize is at least 64 MiB");
}

CONFORMANCE_CASE(nd_data_is_placed_in_order, "networkdirect.adapter.info-in-order", roles::provider) {
  check.that((bench.nd().a().info().AdapterFlags & ND_ADAPTER_FLAG_IN_ORDER_DMA_SUPPORTED) != 0,
             "ND_ADAPTER_FLAG_IN_ORDER_DMA_SUPPORTED is set");
}

CONFORMANCE_CASE(nd_an_adapter_lists_its_address, "networkdirect.adapter.address-list", roles::provider) {
  NdEnd& end = bench.nd().a();
  ULONG bytes = 0;
  end.adapter().QueryAddressList(nullptr, &bytes);
  std::vector<std::uint64_t> room(bytes / 8 + 2);
  auto* list = reinterpret_cast<SOCKET_ADDRESS_LIST*>(room.data());
  check.require(says(check, "QueryAddressList", end.adapter().QueryAddressList(list, &bytes), {ND_SUCCESS}), "there is a list");
  bool found = false;
  for (INT i = 0; i < list->iAddressCount; ++i) {
    SOCKET_ADDRESS entry;
    const std::size_t at = offsetof(SOCKET_ADDRESS_LIST, Address) + static_cast<std::size_t>(i) * sizeof entry;
    std::memcpy(&entry, reinterpret_cast<const char*>(list) + at, sizeof entry);
    NdAddress address;
    const auto length = std::min(static_cast<ULONG>(entry.iSockaddrLength), address.capacity());
    std::memcpy(address.room(), entry.lpSockaddr, length);
    found = found || address.address() == end.address();
  }
  check.that(found, "the address of the adapter is in its list");
}

CONFORMANCE_CASE(nd_a_queue_has_its_limit, "networkdirect.adapter.queue-depth", roles::provider) {
  NdEnd& end = bench.nd().a();
  const ULONG most = end.info().MaxCompletionQueueDepth;
  NdRef<IND2CompletionQueue> queue;
  says(check, "CreateCompletionQueue, too deep",
       end.adapter().CreateCompletionQueue(IID_IND2CompletionQueue, end.file(), most + 1, 0, 0, queue.out()),
       {ND_INVALID_PARAMETER_3, ND_INVALID_PARAMETER});
}

CONFORMANCE_CASE(nd_an_affinity_is_a_wish, "networkdirect.adapter.queue-affinity", roles::provider) {
  NdEnd& end = bench.nd().a();
  NdRef<IND2CompletionQueue> queue;
  says(check, "CreateCompletionQueue with an affinity",
       end.adapter().CreateCompletionQueue(IID_IND2CompletionQueue, end.file(), 16, 0, 1, queue.out()), {ND_SUCCESS});
}

}  // namespace fb::conformance
