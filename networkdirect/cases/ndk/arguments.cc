// Calls with an argument that is none, requests at both sides of limits that no consumer reaches with ordinary adapters, and logical
// addresses around a mapping. Only for the project's provider: another one need not survive them, and has other limits.
#include <array>
#include <cstring>

#include "networkdirect/cases/ndk/scene.h"
#include "networkdirect/ndk/kernel/extension.h"

namespace fb::conformance {
namespace {

constexpr NdkTerms kSmall = {.behaviour = "MaxTransferLength=5000,MaxRegistrationSize=200000,MaxWindowSize=6000"};
constexpr ULONG kPage = PAGE_SIZE;

/// Addresses that are none, for calls that take one.
template <class Call>
void wrong_addresses(Check& check, std::string_view function, const NdkAddress& right, Call&& call) {
  refused(check, std::string(function) + " of no address", call(nullptr, right.length));
  for (const ULONG length : {ULONG{0}, ULONG{1}, right.length - 1}) {
    NdkAddress same = right;
    refused(check, std::string(function) + " of an address with the length " + words(length), call(same.get(), length));
  }
  NdkAddress other = right;
  other.get()->sa_family = AF_UNIX;
  refused(check, std::string(function) + " of an address of another family", call(other.get(), other.length));
  other.get()->sa_family = NdkAddress(right).get()->sa_family ^ 1;
  refused(check, std::string(function) + " of an address of a neighbouring family", call(other.get(), other.length));
}

template <class Call>
void wrong_rooms(Check& check, std::string_view function, Call&& call) {
  NdkAddress room;
  refused(check, std::string(function) + " without a length", call(room.get(), nullptr));
  ULONG length = room.length;
  refused(check, std::string(function) + " without room", call(nullptr, &length));
}

/// A threshold beyond the depth of a shared receive queue.
void wrong_threshold(NdkBench& ndk, Check& check) {
  NDK_SRQ* const queue = shared_queue_of(ndk, ndk.a().pd(), 8);
  const auto modify = [&](ULONG depth, ULONG threshold) {
    return ndk.request([&](auto c, PVOID x) { return queue->Dispatch->NdkModifySrq(queue, depth, threshold, c, x); });
  };
  says(check, "NdkModifySrq with the depth as the threshold", modify(0, 8), {STATUS_SUCCESS});
  refused(check, "NdkModifySrq with a threshold beyond the depth", modify(0, 9));
  says(check, "NdkModifySrq with the new depth as the threshold", modify(6, 6), {STATUS_SUCCESS});
  refused(check, "NdkModifySrq with a threshold beyond the new depth", modify(6, 7));
  const auto create = [&](ULONG depth, ULONG threshold) {
    NDK_PD* const domain = ndk.a().pd();
    return ndk
        .create<NDK_SRQ>([&](auto c, PVOID x, NDK_SRQ** p) {
          return domain->Dispatch->NdkCreateSrq(domain, depth, 1, threshold, nullptr, nullptr, nullptr, c, x, p);
        })
        .end();
  };
  says(check, "NdkCreateSrq with the depth as the threshold", create(8, 8), {STATUS_SUCCESS});
  refused(check, "NdkCreateSrq with a threshold beyond the depth", create(8, 9));
}

/// 4000 and some more bytes, in two pieces.
std::array<NDK_SGE, 2> pieces(const NdkSide& side, ULONG length) {
  return {side.memory->sge(3, 4000), side.memory->sge(9000, length - 4000)};
}

}  // namespace

CONFORMANCE_CASE(ndk_objects_refuse_what_is_none, "ndk.srq.limits", roles::provider, arranged("wrong arguments")) {
  NdkBench& ndk = bench.ndk();
  wrong_threshold(ndk, check);
  NDK_ADAPTER* const adapter = ndk.a().adapter();
  NDK_PD* const domain = ndk.a().pd();
  NdkQueue& queue = ndk.a().queue(8);
  NDK_ADAPTER_INFO info = {};
  refused(check, "NdkQueryAdapterInfo without a size", adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, nullptr));
  NDK_EXTENSION_INTERFACE found = {};
  GUID known = ndk::kChosenAddressExtension, other = known;
  ++other.Data4[7];
  refused(check, "NdkQueryExtension of nothing", adapter->Dispatch->NdkQueryExtension(&adapter->Header, nullptr, {1, 0}, &found));
  refused(check, "NdkQueryExtension of another one", adapter->Dispatch->NdkQueryExtension(&adapter->Header, &other, {1, 0}, &found));
  for (const NDK_VERSION version : {NDK_VERSION{0, 0}, NDK_VERSION{2, 0}, NDK_VERSION{1, 1}}) {
    refused(check, "NdkQueryExtension of another version", adapter->Dispatch->NdkQueryExtension(&adapter->Header, &known, version, &found));
  }
  refused(check, "NdkQueryExtension without room", adapter->Dispatch->NdkQueryExtension(&adapter->Header, &known, {1, 0}, nullptr));
  refused(check, "NdkQueryExtension of a queue", queue.cq->Dispatch->NdkQueryExtension(&queue.cq->Header, &known, {1, 0}, &found));
  for (const ULONG depth : {ULONG{0}, ndk.a().info().MaxCqDepth + 1}) {
    refused(check, "NdkResizeCq to " + words(depth) + " entries",
            ndk.request([&](auto c, PVOID x) { return queue.cq->Dispatch->NdkResizeCq(queue.cq, depth, c, x); }));
  }
  for (const bool first : {true, false}) {
    refused(check, "NdkCreateQp without a queue",
            ndk.create<NDK_QP>([&](auto c, PVOID x, NDK_QP** p) {
                 return domain->Dispatch->NdkCreateQp(domain, first ? nullptr : queue.cq, first ? queue.cq : nullptr, nullptr, 1, 1, 1, 1,
                                                      0, c, x, p);
               })
                .end());
  }
  for (const int missing : {0, 1, 2}) {
    NDK_SRQ* const shared = shared_queue_of(ndk, domain);
    refused(check, "NdkCreateQpWithSrq without a queue",
            ndk.create<NDK_QP>([&](auto c, PVOID x, NDK_QP** p) {
                 return domain->Dispatch->NdkCreateQpWithSrq(domain, missing == 0 ? nullptr : queue.cq, missing == 1 ? nullptr : queue.cq,
                                                             missing == 2 ? nullptr : shared, nullptr, 1, 1, 0, c, x, p);
               })
                .end());
  }
  refused(check, "NdkCreateListener without a callback",
          ndk.create<NDK_LISTENER>([&](auto c, PVOID x, NDK_LISTENER** p) {
               return adapter->Dispatch->NdkCreateListener(adapter, nullptr, nullptr, c, x, p);
             })
              .end());
  NDK_SRQ* const shared = shared_queue_of(ndk, domain);
  refused(check, "NdkSrqReceive without its buffers", shared->Dispatch->NdkSrqReceive(shared, nullptr, nullptr, 1));
  // Mappings.
  NdkMemory& memory = ndk.a().plain_memory(kPage);
  NdkLam& lam = ndk.keep(std::make_unique<NdkLam>());
  refused(check, "NdkBuildLAM of nothing", build(ndk, ndk.a(), nullptr, kPage, lam));
  ULONG offset = 0;
  refused(check, "NdkBuildLAM without a size", ndk.request([&](auto c, PVOID x) {
    return adapter->Dispatch->NdkBuildLAM(adapter, &memory.mdl, kPage, c, x, lam.get(), nullptr, &offset);
  }));
  adapter->Dispatch->NdkReleaseLAM(adapter, nullptr);
  NdkLam& mapping = mapped(ndk, check, ndk.a(), &memory.mdl, kPage);
  adapter->Dispatch->NdkReleaseLAM(adapter, mapping.get());
  adapter->Dispatch->NdkReleaseLAM(adapter, mapping.get());
}

CONFORMANCE_CASE(ndk_connectors_refuse_what_is_none, "ndk.connector.source", roles::provider, arranged("wrong arguments")) {
  NdkBench& ndk = bench.ndk();
  NDK_ADAPTER* const adapter = ndk.a().adapter();
  NdkConnection& c = ndk.prepare();
  const NdkAddress own(ndk.a().address()), there(ndk.b().address(), c.port);
  NdkListening& listening = ndk.a().idle_listener();
  const auto listen = [&](PSOCKADDR address, ULONG length) {
    return ndk.request(
        [&](auto done, PVOID x) { return listening.listener->Dispatch->NdkListen(listening.listener, address, length, done, x); });
  };
  ULONG room_length = 64;
  NdkAddress room;
  refused(check, "NdkGetLocalAddress of a listener that listens nowhere",
          listening.listener->Dispatch->NdkGetLocalAddress(listening.listener, room.get(), &room_length));
  wrong_addresses(check, "NdkListen", own, listen);
  wrong_addresses(check, "NdkCreateSharedEndpoint", own, [&](PSOCKADDR address, ULONG length) {
    return ndk
        .create<NDK_SHARED_ENDPOINT>([&](auto done, PVOID x, NDK_SHARED_ENDPOINT** p) {
          return adapter->Dispatch->NdkCreateSharedEndpoint(adapter, address, length, done, x, p);
        })
        .end();
  });
  NDK_SHARED_ENDPOINT* const endpoint = ndk.a().endpoint(0);
  wrong_rooms(check, "NdkGetLocalAddress of a shared endpoint",
              [&](PSOCKADDR address, ULONG* length) { return endpoint->Dispatch->NdkGetLocalAddress(endpoint, address, length); });
  struct Ask {
    NDK_QP* qp;
    PSOCKADDR from, to;
    ULONG from_length, to_length;
    PVOID data = nullptr;
    ULONG bytes = 0;
  };
  const auto connect = [&](const Ask& ask) {
    return ndk.request([&](auto done, PVOID x) {
      return c.a.connector->Dispatch->NdkConnect(c.a.connector, ask.qp, ask.from, ask.from_length, ask.to, ask.to_length, 1, 1, ask.data,
                                                 ask.bytes, done, x);
    });
  };
  const auto connect_shared = [&](NDK_QP* qp, NDK_SHARED_ENDPOINT* from, ULONG bytes) {
    return ndk.request([&](auto done, PVOID x) {
      NdkAddress to = there;
      return c.a.connector->Dispatch->NdkConnectWithSharedEndpoint(c.a.connector, qp, from, to.get(), to.length, 1, 1, nullptr, bytes, done,
                                                                   x);
    });
  };
  NdkAddress from = own, to = there;
  wrong_addresses(check, "NdkConnect from", own, [&](PSOCKADDR address, ULONG length) {
    return connect({c.a.qp, address, to.get(), length, to.length});
  });
  wrong_addresses(check, "NdkConnect to", there, [&](PSOCKADDR address, ULONG length) {
    return connect({c.a.qp, from.get(), address, from.length, length});
  });
  NdkAddress nowhere(ndk.a().address().is_v4() ? IpAddress::v4(0, 0, 0, 0) : IpAddress(), c.port), no_port(ndk.b().address(), 0);
  NdkAddress foreign(ndk.b().address());
  refused(check, "NdkConnect from an address of nobody here", connect({c.a.qp, foreign.get(), to.get(), foreign.length, to.length}));
  refused(check, "NdkConnect to no address", connect({c.a.qp, from.get(), nowhere.get(), from.length, nowhere.length}));
  refused(check, "NdkConnect to no port", connect({c.a.qp, from.get(), no_port.get(), from.length, no_port.length}));
  refused(check, "NdkConnect of no queue pair", connect({nullptr, from.get(), to.get(), from.length, to.length}));
  refused(check, "NdkConnect of another adapter's queue pair", connect({c.b.qp, from.get(), to.get(), from.length, to.length}));
  refused(check, "NdkConnect with data that are none", connect({c.a.qp, from.get(), to.get(), from.length, to.length, nullptr, 8}));
  refused(check, "NdkConnectWithSharedEndpoint of no queue pair", connect_shared(nullptr, endpoint, 0));
  refused(check, "NdkConnectWithSharedEndpoint of no endpoint", connect_shared(c.a.qp, nullptr, 0));
  refused(check, "NdkConnectWithSharedEndpoint with data that are none", connect_shared(c.a.qp, endpoint, 8));
  establish(ndk, check, c);
  NDK_CONNECTOR* const connector = c.a.connector;
  wrong_rooms(check, "NdkGetLocalAddress",
              [&](PSOCKADDR address, ULONG* length) { return connector->Dispatch->NdkGetLocalAddress(connector, address, length); });
  wrong_rooms(check, "NdkGetPeerAddress",
              [&](PSOCKADDR address, ULONG* length) { return connector->Dispatch->NdkGetPeerAddress(connector, address, length); });
  NdkConnection& replied = ndk.reply();
  NDK_CONNECTOR* const holding = replied.a.connector;
  std::uint8_t byte = 0;
  says(check, "NdkGetConnectionData of nothing", holding->Dispatch->NdkGetConnectionData(holding, nullptr, nullptr, nullptr, nullptr),
       {STATUS_SUCCESS});
  refused(check, "NdkGetConnectionData without a length",
          holding->Dispatch->NdkGetConnectionData(holding, nullptr, nullptr, &byte, nullptr));
  refused(check, "NdkReject with data that are none", holding->Dispatch->NdkReject(holding, nullptr, 8));
  NdkConnection& asked = ndk.ask();
  const auto accept = [&](NDK_QP* qp, ULONG bytes) {
    return ndk.request([&](auto done, PVOID x) {
      return asked.b.connector->Dispatch->NdkAccept(asked.b.connector, qp, 1, 1, nullptr, bytes, nullptr, nullptr, done, x);
    });
  };
  refused(check, "NdkAccept of no queue pair", accept(nullptr, 0));
  refused(check, "NdkAccept of another adapter's queue pair", accept(asked.a.qp, 0));
  refused(check, "NdkAccept with data that are none", accept(asked.b.qp, 8));
}

CONFORMANCE_CASE(ndk_requests_refuse_what_is_none, "ndk.fast.pages", roles::provider, arranged("wrong arguments")) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect({.a = {.depth = 64}});
  NDK_QP* const qp = c.a.qp;
  const NDK_QP_DISPATCH& table = *qp->Dispatch;
  const UINT64 there = c.b.memory->address();
  const UINT32 token = c.b.memory->remote;
  refused(check, "NdkSend without its buffers", table.NdkSend(qp, nullptr, nullptr, 1, 0));
  refused(check, "NdkWrite without its buffers", table.NdkWrite(qp, nullptr, nullptr, 1, there, token, 0));
  refused(check, "NdkRead without its buffers", table.NdkRead(qp, nullptr, nullptr, 1, there, token, 0));
  refused(check, "NdkReceive without its buffers", table.NdkReceive(qp, nullptr, nullptr, 1));
  NDK_MW* const window = ndk.a().window();
  const NdkMemory& memory = *c.a.memory;
  refused(check, "NdkBind of no window",
          table.NdkBind(qp, nullptr, memory.region, nullptr, memory.at(0), 64, NDK_OP_FLAG_ALLOW_REMOTE_READ));
  refused(check, "NdkBind in no region", table.NdkBind(qp, nullptr, nullptr, window, memory.at(0), 64, NDK_OP_FLAG_ALLOW_REMOTE_READ));
  NDK_MR* const empty = ndk.a().region();
  refused(check, "NdkBind in an empty region", table.NdkBind(qp, nullptr, empty, window, memory.at(0), 64, NDK_OP_FLAG_ALLOW_REMOTE_READ));
  refused(check, "NdkInvalidate of nothing", table.NdkInvalidate(qp, nullptr, nullptr, 0));
  refused(check, "NdkInvalidate of a queue pair", table.NdkInvalidate(qp, nullptr, &qp->Header, 0));
  refused(check, "NdkInvalidate of a region that is empty", table.NdkInvalidate(qp, nullptr, &empty->Header, 0));
  refused(check, "NdkInvalidate of a fast region that is not initialized",
          table.NdkInvalidate(qp, nullptr, &ndk.a().region(true)->Header, 0));

  // Fast registration of 9000 bytes from byte 100 of a page.
  NDK_MR* const fast = ndk.a().fast_region(8);
  NdkMemory& plain = ndk.a().plain_memory(8 * PAGE_SIZE);
  MDL& mdl = ndk.keep(std::make_unique<MDL>());
  MmInitializeMdl(&mdl, plain.at(100), 9000);
  NdkLam& lam = mapped(ndk, check, ndk.a(), &mdl, 9000);
  std::array<NDK_LOGICAL_ADDRESS, 3> pages = {};
  for (ULONG i = 0; i < 3; ++i) std::memcpy(&pages[i], &lam.pages()[i], sizeof pages[i]);
  const auto post = [&](NDK_MR* region, const NDK_LOGICAL_ADDRESS* list, ULONG count, ULONG offset, SIZE_T length) {
    return NdkStatus(table.NdkFastRegister(qp, ndk_tag(8), region, count, list, offset, length, ndk_tag(0x40000000u + offset % kPage),
                                           NDK_OP_FLAG_ALLOW_REMOTE_READ));
  };
  NDK_MR* const two_pages = ndk.a().fast_region(2);
  refused(check, "NdkFastRegister of more pages than the region has", post(two_pages, pages.data(), 3, 100, 64));
  refused(check, "NdkFastRegister of no region", post(nullptr, pages.data(), 3, 100, 9000));
  refused(check, "NdkFastRegister of pages that are none", post(fast, nullptr, 3, 100, 9000));
  refused(check, "NdkFastRegister of no page", post(fast, pages.data(), 0, 100, 0));
  refused(check, "NdkFastRegister with an offset beyond the page", post(fast, pages.data(), 3, kPage, 64));
  refused(check, "NdkFastRegister before the mapping", post(fast, pages.data(), 3, 99, 64));
  refused(check, "NdkFastRegister beyond the mapping", post(fast, pages.data(), 3, 100, 9001));
  for (const LONGLONG distance : {LONGLONG{1}, LONGLONG{PAGE_SIZE} * 64, LONGLONG{1} << 40, -pages[0].QuadPart, -pages[0].QuadPart - 1}) {
    auto others = pages;
    others[1].QuadPart += distance;
    if (distance < 0) others[1].QuadPart = pages[0].QuadPart + distance;
    refused(check, "NdkFastRegister of a page that is none", post(fast, others.data(), 3, 100, 9000));
  }
  says(check, "NdkFastRegister of all of the mapping", post(fast, pages.data(), 3, 100, 9000), {STATUS_SUCCESS});
  ends_as(ndk, check, c.a, "the registration", {STATUS_SUCCESS});
  // No further page is looked at than those of the length.
  NDK_MR* const second = ndk.a().fast_region(8);
  auto beyond = pages;
  beyond[1].QuadPart = 1;
  says(check, "NdkFastRegister of a part of the first page", post(second, beyond.data(), 3, 100, 64), {STATUS_SUCCESS});
  ends_as(ndk, check, c.a, "the registration", {STATUS_SUCCESS});
  deliver(ndk, check, c);
  ends_as(ndk, check, c.b, "a Receive after all that", {STATUS_SUCCESS});
}

CONFORMANCE_CASE(ndk_requests_are_as_long_as_the_adapter_allows, "ndk.mw.range", roles::provider,
                 arranged("an adapter with small limits")) {
  NdkBench& ndk = bench.ndk(kSmall);
  NdkShared& shared = ndk.b().shared_receive_queue();
  NdkConnection &c = ndk.connect(), &d = ndk.connect({.b = {.shared = &shared}});
  const ULONG most = ndk.a().info().MaxTransferLength;
  check.require(most == 5000, "the adapter declares its limit", "it declares " + words(most));
  const UINT64 there = c.b.memory->address(20000);
  const UINT32 token = c.b.memory->remote;
  for (const ULONG length : {most + 1, most}) {
    const auto judge = [&](std::string_view what, NdkStatus status) {
      const std::string bytes = std::string(what) + " of " + words(length) + " bytes";
      if (length == most) says(check, bytes, status, {STATUS_SUCCESS});
      if (length != most) refused(check, bytes, status);
    };
    const auto out = pieces(c.a, length), into = pieces(c.b, length), into_shared = pieces(d.b, length);
    judge("NdkReceive", c.b.qp->Dispatch->NdkReceive(c.b.qp, ndk_tag(1), into.data(), 2));
    judge("NdkSrqReceive", shared.srq->Dispatch->NdkSrqReceive(shared.srq, ndk_tag(1), into_shared.data(), 2));
    judge("NdkSend", c.a.qp->Dispatch->NdkSend(c.a.qp, ndk_tag(2), out.data(), 2, 0));
    judge("NdkWrite", c.a.qp->Dispatch->NdkWrite(c.a.qp, ndk_tag(3), out.data(), 2, there, token, 0));
    judge("NdkRead", c.a.qp->Dispatch->NdkRead(c.a.qp, ndk_tag(4), out.data(), 2, there, token, 0));
  }
  for (const std::string_view what : {"the Send", "the Write", "the Read"}) ends_as(ndk, check, c.a, what, {STATUS_SUCCESS});
  check.equal("bytes that came", next_result(ndk, check, c.b, "the Receive").BytesTransferred, most);
  const auto out = pieces(d.a, most);
  says(check, "NdkSend to a shared queue", d.a.qp->Dispatch->NdkSend(d.a.qp, ndk_tag(2), out.data(), 2, 0), {STATUS_SUCCESS});
  ends_as(ndk, check, d.a, "the Send", {STATUS_SUCCESS});
  check.equal("bytes that came", next_result(ndk, check, d.b, "the shared Receive").BytesTransferred, most);
  // Regions and windows.
  NdkMemory& large = ndk.a().plain_memory(300000);
  for (const SIZE_T length : {SIZE_T{200001}, SIZE_T{200000}}) {
    NDK_MR* const region = ndk.a().region();
    MDL& mdl = ndk.keep(std::make_unique<MDL>());
    MmInitializeMdl(&mdl, large.at(0), static_cast<ULONG>(length));
    const NdkStatus status =
        ndk.request([&](auto done, PVOID x) { return region->Dispatch->NdkRegisterMr(region, &mdl, length, kNdkAllRights, done, x); });
    if (length == 200000) says(check, "NdkRegisterMr of as much as the adapter allows", status, {STATUS_SUCCESS});
    if (length != 200000) refused(check, "NdkRegisterMr of a byte more", status);
  }
  NDK_MW* const window = ndk.a().window();
  const auto bind = [&](SIZE_T length) {
    return NdkStatus(c.a.qp->Dispatch->NdkBind(c.a.qp, ndk_tag(9), c.a.memory->region, window, c.a.memory->at(0), length,
                                               NDK_OP_FLAG_ALLOW_REMOTE_READ));
  };
  refused(check, "NdkBind of a byte more than the adapter allows", bind(6001));
  refused(check, "NdkBind beyond its region",
          c.a.qp->Dispatch->NdkBind(c.a.qp, ndk_tag(9), c.a.memory->region, window, c.a.memory->at(c.a.memory->bytes.size() - 63), 64,
                                    NDK_OP_FLAG_ALLOW_REMOTE_READ));
  says(check, "NdkBind of as much as the adapter allows", bind(6000), {STATUS_SUCCESS});
  ends_as(ndk, check, c.a, "the Bind", {STATUS_SUCCESS});
}

CONFORMANCE_CASE(ndk_logical_addresses_have_two_ends, "ndk.lam.privileged", roles::provider, arranged("wrong arguments")) {
  NdkBench& ndk = bench.ndk();
  // 9000 bytes from byte 100 of a page; its neighbours in the logical space are mapped, too.
  NdkMemory& memory = ndk.a().plain_memory(16 * PAGE_SIZE);
  for (std::size_t i = 0; i < memory.bytes.size(); ++i) memory.bytes[i] = static_cast<std::uint8_t>(i * 3 + i / 256);
  std::array<NdkLam*, 3> lams = {};
  for (std::size_t i = 0; i < 3; ++i) {
    MDL& mdl = ndk.keep(std::make_unique<MDL>());
    MmInitializeMdl(&mdl, memory.at(i * 4 * PAGE_SIZE + 100), 9000);
    lams[i] = &mapped(ndk, check, ndk.a(), &mdl, 9000);
  }
  const LONGLONG begin = lams[1]->pages()[0].QuadPart + 100;
  check.precondition(lams[1]->pages()[1].QuadPart == lams[1]->pages()[0].QuadPart + PAGE_SIZE, "pages that lie side by side stay so");
  const ByteView described = ByteView(memory.bytes).subspan(4 * PAGE_SIZE + 100, 9000);
  struct Try {
    LONGLONG at;
    ULONG length;
    bool good;
  };
  for (const Try& one :
       {Try{0, 1, true}, Try{0, 9000, true}, Try{8999, 1, true}, Try{PAGE_SIZE - 110, 20, true}, Try{2 * PAGE_SIZE - 101, 2, true},
        Try{50, 2 * PAGE_SIZE, true}, Try{-1, 1, false}, Try{-1, 2, false}, Try{8999, 2, false}, Try{9000, 1, false}, Try{0, 9001, false},
        Try{1, 9000, false}, Try{PAGE_SIZE * 64, 1, false}, Try{LONGLONG{1} << 40, 64, false}, Try{0, ~ULONG{0}, false}}) {
    NdkConnection& c = ndk.connect();
    NDK_PD* const domain = ndk.a().pd();
    NDK_SGE sge = {};
    sge.LogicalAddress.QuadPart = begin + one.at;
    sge.Length = one.length;
    domain->Dispatch->NdkGetPrivilegedMemoryRegionToken(domain, &sge.MemoryRegionToken);
    arranged_by(check, "NdkReceive", c.b.receive(1, 0, 16000));
    const std::string what = "a Send of " + words(one.length) + " bytes from byte " + std::to_string(one.at) + " of a mapping";
    const NdkStatus posted = c.a.qp->Dispatch->NdkSend(c.a.qp, ndk_tag(9), &sge, 1, 0);
    if (!one.good) {
      refused_somehow(ndk, check, c.a, what, posted);
      continue;
    }
    says(check, what, posted, {STATUS_SUCCESS});
    ends_as(ndk, check, c.a, what, {STATUS_SUCCESS});
    ends_as(ndk, check, c.b, "the Receive of " + what, {STATUS_SUCCESS});
    check.bytes("bytes that came of " + what, ByteView(c.b.memory->bytes).first(one.length),
                described.subspan(static_cast<std::size_t>(one.at), one.length));
  }
}

}  // namespace fb::conformance
