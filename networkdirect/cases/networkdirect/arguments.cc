// Calls with an argument that is none, and requests at both sides of limits that no program reaches with ordinary adapters. Behind a
// third-party provider they are skipped: it need not survive the former, and has other limits.
#include <array>
#include <cstring>

#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

constexpr NdTerms kSmall = {.behaviour = "document,MaxTransferLength=5000,MaxRegistrationSize=200000,MaxWindowSize=6000"};

/// Addresses that are none, for calls that take one.
template <class Call>
void wrong_addresses(Check& check, std::string_view method, const NdAddress& right, Call&& call) {
  refused(check, std::string(method) + " of no address", call(nullptr, right.length()));
  for (const ULONG length : {ULONG{0}, ULONG{1}, ULONG{15}, right.length() - 1}) {
    refused(check, std::string(method) + " of an address with the length " + std::to_string(length), call(right.get(), length));
  }
  NdAddress other = right;
  other.room()->sa_family = AF_UNIX;
  refused(check, std::string(method) + " of an address of another family", call(other.get(), other.length()));
  other.room()->sa_family = right.get()->sa_family ^ 1;
  refused(check, std::string(method) + " of an address of a neighbouring family", call(other.get(), other.length()));
}

/// Lengths of answers that are none.
template <class Call>
void wrong_rooms(Check& check, std::string_view method, Call&& call) {
  std::array<std::uint64_t, 32> room = {};
  refused(check, std::string(method) + " without a length", call(room.data(), nullptr));
  ULONG length = 1 << 10;
  refused(check, std::string(method) + " without room", call(nullptr, &length));
}

}  // namespace

CONFORMANCE_CASE(nd_makers_refuse_what_is_none, "networkdirect.objects.created-interface", roles::provider, arranged("wrong arguments")) {
  NdEnd& end = bench.nd().a();
  IND2Adapter& adapter = end.adapter();
  NdRef<IUnknown> made;
  refused(check, "CreateMemoryWindow as a listener", adapter.CreateMemoryWindow(IID_IND2Listener, made.out()));
  const auto queue = end.completion_queue();
  refused(check, "CreateOverlappedFile without room", adapter.CreateOverlappedFile(nullptr));
  for (const HANDLE none : {HANDLE{}, reinterpret_cast<HANDLE>(std::uintptr_t{0x7FF0}), INVALID_HANDLE_VALUE}) {
    refused(check, "CreateCompletionQueue with no file", adapter.CreateCompletionQueue(IID_IND2CompletionQueue, none, 4, 0, 0, made.out()));
    refused(check, "CreateMemoryRegion with no file", adapter.CreateMemoryRegion(IID_IND2MemoryRegion, none, made.out()));
    refused(check, "CreateSharedReceiveQueue with no file",
            adapter.CreateSharedReceiveQueue(IID_IND2SharedReceiveQueue, none, 4, 1, 0, 0, 0, made.out()));
    refused(check, "CreateConnector with no file", adapter.CreateConnector(IID_IND2Connector, none, made.out()));
    refused(check, "CreateListener with no file", adapter.CreateListener(IID_IND2Listener, none, made.out()));
  }
  const auto beyond = [&](ULONG threshold) {
    return adapter.CreateSharedReceiveQueue(IID_IND2SharedReceiveQueue, end.file(), 4, 1, threshold, 0, 0, made.out());
  };
  says(check, "a shared receive queue with its depth as the threshold", beyond(4), {ND_SUCCESS});
  refused(check, "a shared receive queue with a threshold beyond its depth", beyond(5));
  refused(check, "CreateCompletionQueue without room",
          adapter.CreateCompletionQueue(IID_IND2CompletionQueue, end.file(), 4, 0, 0, nullptr));
  refused(check, "CreateMemoryRegion without room", adapter.CreateMemoryRegion(IID_IND2MemoryRegion, end.file(), nullptr));
  refused(check, "CreateMemoryWindow without room", adapter.CreateMemoryWindow(IID_IND2MemoryWindow, nullptr));
  refused(check, "CreateConnector without room", adapter.CreateConnector(IID_IND2Connector, end.file(), nullptr));
  refused(check, "CreateListener without room", adapter.CreateListener(IID_IND2Listener, end.file(), nullptr));
  refused(check, "CreateQueuePair without room",
          adapter.CreateQueuePair(IID_IND2QueuePair, queue.get(), queue.get(), nullptr, 1, 1, 1, 1, 0, nullptr));
  wrong_rooms(check, "Query", [&](void* room, ULONG* length) { return adapter.Query(static_cast<ND2_ADAPTER_INFO*>(room), length); });
  wrong_rooms(check, "QueryAddressList of an adapter",
              [&](void* room, ULONG* length) { return adapter.QueryAddressList(static_cast<SOCKET_ADDRESS_LIST*>(room), length); });
  IND2Provider& provider = bench.nd().provider();
  wrong_rooms(check, "QueryAddressList of the provider",
              [&](void* room, ULONG* length) { return provider.QueryAddressList(static_cast<SOCKET_ADDRESS_LIST*>(room), length); });
  UINT64 id = 0;
  const NdAddress own(end.address());
  wrong_addresses(check, "ResolveAddress", own,
                  [&](const struct sockaddr* address, ULONG length) { return provider.ResolveAddress(address, length, &id); });
  refused(check, "ResolveAddress without room", provider.ResolveAddress(own.get(), own.length(), nullptr));
  refused(check, "OpenAdapter without room", provider.OpenAdapter(IID_IND2Adapter, end.info().AdapterId, nullptr));
  refused(check, "QueryInterface without room", adapter.QueryInterface(IID_IND2Adapter, nullptr));
  // Ids begin at the first one, and end with the addresses.
  std::vector<UINT64> ids;
  for (NdEnd* one : {&bench.nd().a(), &bench.nd().b()}) ids.push_back(one->info().AdapterId);
  for (const UINT64 other : {std::min(ids[0], ids[1]) - 1, std::max(ids[0], ids[1]) + 1}) {
    refused(check, "OpenAdapter of a neighbouring id", provider.OpenAdapter(IID_IND2Adapter, other, made.out()));
  }
}

CONFORMANCE_CASE(nd_queues_refuse_what_is_none, "networkdirect.window.bind-range", roles::provider, arranged("wrong arguments")) {
  NdEnd& end = bench.nd().a();
  const auto queue = end.completion_queue();
  for (const ULONG type : {ULONG{ND_CQ_NOTIFY_SOLICITED} + 1, ~ULONG{0}}) {
    NdRequest request;
    refused(check, "Notify with the type " + std::to_string(type), queue->Notify(type, &request));
  }
  refused(check, "Notify without an OVERLAPPED", queue->Notify(ND_CQ_NOTIFY_ANY, nullptr));
  check.equal("results without room", queue->GetResults(nullptr, 4), ULONG{0});
  USHORT group = 7;
  KAFFINITY affinity = 7;
  refused(check, "GetNotifyAffinity without a group", queue->GetNotifyAffinity(nullptr, &affinity));
  refused(check, "GetNotifyAffinity without an affinity", queue->GetNotifyAffinity(&group, nullptr));
  NdRef<IND2SharedReceiveQueue> shared;
  says(check, "CreateSharedReceiveQueue",
       end.adapter().CreateSharedReceiveQueue(IID_IND2SharedReceiveQueue, end.file(), 8, 2, 3, 0, 1, shared.out()), {ND_SUCCESS});
  check.require(shared.get() != nullptr, "there is a shared receive queue");
  says(check, "GetNotifyAffinity of a shared receive queue", shared->GetNotifyAffinity(&group, &affinity), {ND_SUCCESS});
  check.equal("the group", unsigned{group}, 0u);
  check.equal("the affinity", static_cast<std::uint64_t>(affinity), std::uint64_t{1});
  refused(check, "GetNotifyAffinity of a shared queue without a group", shared->GetNotifyAffinity(nullptr, &affinity));
  refused(check, "GetNotifyAffinity of a shared queue without an affinity", shared->GetNotifyAffinity(&group, nullptr));
  refused(check, "Notify of a shared queue without an OVERLAPPED", shared->Notify(nullptr));
  refused(check, "a shared Receive without its buffers", shared->Receive(nullptr, nullptr, 1));
  refused(check, "Modify with a threshold beyond the depth", shared->Modify(0, 9));
  refused(check, "Modify with a threshold beyond the new depth", shared->Modify(6, 7));
  says(check, "Modify with the depth as the threshold", shared->Modify(6, 6), {ND_SUCCESS});
  const auto c = bench.nd().connect();
  refused(check, "Send without its buffers", c->a.qp->Send(nullptr, nullptr, 1, 0));
  refused(check, "Receive without its buffers", c->a.qp->Receive(nullptr, nullptr, 1));
  const auto window = end.window();
  const MutableBytes bytes = c->a.memory->bytes;
  for (IUnknown* const none :
       {static_cast<IUnknown*>(nullptr), static_cast<IUnknown*>(c->a.queue.get()), static_cast<IUnknown*>(&*c->b.connector)}) {
    refused(check, "Invalidate of no window", c->a.qp->Invalidate(nullptr, none, 0));
    refused(check, "Bind of no window", c->a.qp->Bind(nullptr, c->a.memory->region.get(), none, bytes.data(), 64, ND_OP_FLAG_ALLOW_READ));
    refused(check, "Bind in no region", c->a.qp->Bind(nullptr, none, window.get(), bytes.data(), 64, ND_OP_FLAG_ALLOW_READ));
  }
  refused(check, "Bind beyond its region",
          c->a.qp->Bind(nullptr, c->a.memory->region.get(), window.get(), bytes.data() + 1, bytes.size(), ND_OP_FLAG_ALLOW_READ));
  message_crosses(bench, check, c->a, c->b);
}

CONFORMANCE_CASE(nd_connections_refuse_what_is_none, "networkdirect.connection.caller-data-large", roles::provider,
                 arranged("wrong arguments")) {
  NdEnd& end = bench.nd().a();
  NdRequest request;
  const auto c = bench.nd().prepare();
  const NdAddress own(end.address()), there = listening_at(*c);
  const auto connector = end.connector();
  wrong_addresses(check, "Bind of a connector", own,
                  [&](const struct sockaddr* address, ULONG length) { return connector->Bind(address, length); });
  NdRef<IND2Listener> listener;
  arranged_by(check, "CreateListener", end.adapter().CreateListener(IID_IND2Listener, end.file(), listener.out()));
  wrong_addresses(check, "Bind of a listener", own,
                  [&](const struct sockaddr* address, ULONG length) { return listener->Bind(address, length); });
  IND2Connector& asking = *c->a.connector;
  wrong_addresses(check, "Connect", there, [&](const struct sockaddr* address, ULONG length) {
    return asking.Connect(c->a.qp.get(), address, length, 1, 1, nullptr, 0, &request);
  });
  const auto connect = [&](IUnknown* pair, const void* data, ULONG bytes, OVERLAPPED* overlapped) {
    return asking.Connect(pair, there.get(), there.length(), 1, 1, data, bytes, overlapped);
  };
  refused(check, "Connect of no queue pair", connect(nullptr, nullptr, 0, &request));
  refused(check, "Connect of a completion queue", connect(c->a.queue.get(), nullptr, 0, &request));
  refused(check, "Connect of another adapter's queue pair", connect(c->b.qp.get(), nullptr, 0, &request));
  refused(check, "Connect with data that are nowhere", connect(c->a.qp.get(), nd_tag(4096), 8, &request));
  refused(check, "Connect with data at null", connect(c->a.qp.get(), nullptr, 8, &request));
  refused(check, "Connect with data over the end of all addresses", connect(c->a.qp.get(), nd_tag(~std::uintptr_t{0} - 3), 8, &request));
  const std::string long_data(end.info().MaxCallerData + 1, 'x');
  refused(check, "Connect with too much data", connect(c->a.qp.get(), long_data.data(), static_cast<ULONG>(long_data.size()), &request));
  refused(check, "Connect without an OVERLAPPED", connect(c->a.qp.get(), nullptr, 0, nullptr));
  refused(check, "GetConnectionRequest for no connector", c->listener->GetConnectionRequest(nullptr, &request));
  refused(check, "GetConnectionRequest for a queue", c->listener->GetConnectionRequest(c->b.queue.get(), &request));
  refused(check, "GetConnectionRequest for another adapter's connector", c->listener->GetConnectionRequest(connector.get(), &request));
  refused(check, "GetConnectionRequest without an OVERLAPPED", c->listener->GetConnectionRequest(c->b.connector.get(), nullptr));
  wrong_rooms(check, "GetLocalAddress of a listener",
              [&](void* room, ULONG* length) { return c->listener->GetLocalAddress(static_cast<struct sockaddr*>(room), length); });
  // Nothing of it left anything behind.
  establish(bench, check, *c);
  for (NdConnection::Side* const side : {&c->a, &c->b}) {
    IND2Connector& connected = *side->connector;
    wrong_rooms(check, "GetLocalAddress",
                [&](void* room, ULONG* length) { return connected.GetLocalAddress(static_cast<struct sockaddr*>(room), length); });
    wrong_rooms(check, "GetPeerAddress",
                [&](void* room, ULONG* length) { return connected.GetPeerAddress(static_cast<struct sockaddr*>(room), length); });
    refused(check, "GetPrivateData without a length", connected.GetPrivateData(nullptr, nullptr));
    refused(check, "NotifyDisconnect without an OVERLAPPED", connected.NotifyDisconnect(nullptr));
    refused(check, "Disconnect without an OVERLAPPED", connected.Disconnect(nullptr));
    refused(check, "GetOverlappedResult of nothing", connected.GetOverlappedResult(nullptr, FALSE));
  }
  message_crosses(bench, check, c->a, c->b);
  const auto replied = bench.nd().reply();
  refused(check, "CompleteConnect without an OVERLAPPED", replied->a.connector->CompleteConnect(nullptr));
  const auto asked = bench.nd().ask();
  refused(check, "Accept of no queue pair", asked->b.connector->Accept(nullptr, 1, 1, nullptr, 0, &request));
  refused(check, "Accept of another adapter's queue pair", asked->b.connector->Accept(asked->a.qp.get(), 1, 1, nullptr, 0, &request));
  refused(check, "Accept without an OVERLAPPED", asked->b.connector->Accept(asked->b.qp.get(), 1, 1, nullptr, 0, nullptr));
  refused(check, "Accept with data that are nowhere", asked->b.connector->Accept(asked->b.qp.get(), 1, 1, nd_tag(4096), 8, &request));
  refused(check, "Reject with data that are nowhere", asked->b.connector->Reject(nd_tag(4096), 8));
  const auto region = end.empty_region();
  refused(check, "Register without an OVERLAPPED", region->Register(c->a.memory->bytes.data(), 64, 0, nullptr));
  refused(check, "Deregister without an OVERLAPPED", c->a.memory->region->Deregister(nullptr));
}

CONFORMANCE_CASE(nd_requests_are_as_long_as_the_adapter_allows, "networkdirect.queue.many-bytes", roles::provider,
                 arranged("an adapter with small limits")) {
  const auto c = bench.nd(kSmall).connect();
  const ULONG most = c->a.end->info().MaxTransferLength;
  check.require(most == 5000, "the adapter declares its limit", "it declares " + std::to_string(most));
  const UINT64 there = c->b.memory->address(20000);
  const UINT32 token = c->b.memory->region->GetRemoteToken();
  for (const ULONG length : {most, most + 1}) {
    const HRESULT expected = length == most ? ND_SUCCESS : ND_BUFFER_OVERFLOW;
    const std::string bytes = " of " + std::to_string(length) + " bytes";
    ND2_SGE out[] = {c->a.memory->sge(3, 4000), c->a.memory->sge(9000, length - 4000)};
    ND2_SGE into[] = {c->b.memory->sge(30000, 1000), c->b.memory->sge(40000, length - 1000)};
    says(check, "Receive" + bytes, c->b.qp->Receive(nd_tag(1), into, 2), {expected});
    says(check, "Send" + bytes, c->a.qp->Send(nd_tag(2), out, 2, 0), {expected});
    says(check, "Write" + bytes, c->a.qp->Write(nd_tag(3), out, 2, there, token, 0), {expected});
    says(check, "Read" + bytes, c->a.qp->Read(nd_tag(4), out, 2, there, token, 0), {expected});
    if (length != most) continue;
    for (const std::string_view what : {"the Send", "the Write", "the Read"}) ends_as(bench, check, c->a, what, {ND_SUCCESS});
    const ND2_RESULT came = next_result(bench, check, c->b, "the Receive");
    check.equal("bytes that came", came.BytesTransferred, most);
    check.bytes("the first of them", ByteView(c->b.memory->bytes).subspan(30000, 1000), ByteView(c->a.memory->bytes).subspan(3, 1000));
  }
}

CONFORMANCE_CASE(nd_shared_receives_are_as_long_as_the_adapter_allows, "networkdirect.shared.many-bytes", roles::provider,
                 arranged("an adapter with small limits")) {
  NdEnd& end = bench.nd(kSmall).b();
  const auto shared = end.shared_receive_queue();
  NdConnectTerms terms;
  terms.b.shared = shared.get();
  const auto c = bench.nd().connect(terms);
  const ULONG most = end.info().MaxTransferLength;
  ND2_SGE at[] = {c->b.memory->sge(0, 1000), c->b.memory->sge(8000, most - 1000)};
  ND2_SGE beyond[] = {c->b.memory->sge(0, 1000), c->b.memory->sge(8000, most - 999)};
  says(check, "shared Receive of a byte too many", shared->Receive(nd_tag(1), beyond, 2), {ND_BUFFER_OVERFLOW});
  says(check, "shared Receive of all that is allowed", shared->Receive(nd_tag(2), at, 2), {ND_SUCCESS});
  ND2_SGE out = c->a.memory->sge(0, most);
  arranged_by(check, "Send", c->a.qp->Send(nd_tag(3), &out, 1, 0));
  ends_as(bench, check, c->a, "the Send", {ND_SUCCESS});
  const ND2_RESULT came = next_result(bench, check, c->b, "the Receive");
  check.equal("bytes that came", came.BytesTransferred, most);
  check.that(came.RequestContext == nd_tag(2), "the Receive is the one that was taken", "it is another");
}

CONFORMANCE_CASE(nd_regions_are_as_large_as_the_adapter_allows, "networkdirect.memory.register-large", roles::provider,
                 arranged("an adapter with small limits")) {
  NdEnd& end = bench.nd(kSmall).a();
  const MutableBytes memory = bench.nd().memory().take(300000);
  for (const SIZE_T length : {SIZE_T{200000}, SIZE_T{200001}}) {
    const auto region = end.empty_region();
    NdRequest request;
    const HRESULT called = region->Register(memory.data(), length, kNdAllRights, &request);
    const NdStatus status = ended(bench, called, request, *region);
    if (length == 200000) {
      says(check, "Register of as much as the adapter allows", status, {ND_SUCCESS});
    } else {
      refused(check, "Register of a byte more", status);
    }
  }
}

}  // namespace fb::conformance
