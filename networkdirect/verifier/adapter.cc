#include "networkdirect/verifier/adapter.h"

#include <utility>

#include <fmt/format.h>

#include "networkdirect/verifier/connections.h"
#include "networkdirect/verifier/memory.h"
#include "networkdirect/verifier/queue_pair.h"
#include "networkdirect/verifier/queues.h"

namespace fb::networkdirect::verifier {

namespace {

bool known(REFIID asked, REFIID own, bool overlapped) {
  return asked == IID_IUnknown || asked == own || (overlapped && asked == IID_IND2Overlapped);
}

/// Has the provider make an object, by its own interface, and hands out what `wrap` makes of it. `ask(iid, out)` is the call.
template <class Interface, class Ask, class Wrap>
HRESULT create(Call& call, REFIID iid, REFIID own, bool overlapped, VOID** out, Ask&& ask, Wrap&& wrap) {
  if (!call.given(out, "the place for the object")) return ND_INVALID_PARAMETER;
  *out = nullptr;
  VOID* made = nullptr;
  const bool wrapped = known(iid, own, overlapped);
  const HRESULT status = call.inner([&] { return ask(wrapped ? own : iid, &made); });
  if (FAILED(status) || made == nullptr) return status;
  if (!wrapped) {  // an interface of the provider's own, which nobody could watch
    call.inner([&] { return static_cast<IUnknown*>(made)->Release(); });
    return E_NOINTERFACE;
  }
  std::unique_ptr<Wrapper> wrapper;
  *out = wrap(*static_cast<Interface*>(made), wrapper);
  call.session().adopt(std::move(wrapper));
  return status;
}

template <class Facade, class... Arguments>
Facade* make(std::unique_ptr<Wrapper>& wrapper, Arguments&&... arguments) {
  auto made = std::make_unique<Facade>(std::forward<Arguments>(arguments)...);
  Facade* const pointer = made.get();
  wrapper = std::move(made);
  return pointer;
}

}  // namespace

HRESULT Provider::QueryAddressList(SOCKET_ADDRESS_LIST* list, ULONG* bytes) {
  Call call(*this, "QueryAddressList");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (!call.given(bytes, "the place for the length")) return ND_INVALID_PARAMETER_2;
  return call.inner([&] { return inner().QueryAddressList(list, bytes); });
}

HRESULT Provider::ResolveAddress(const struct sockaddr* address, ULONG length, UINT64* id) {
  Call call(*this, "ResolveAddress");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (!call.given(address, "the address")) return ND_INVALID_PARAMETER_1;
  if (!call.given(id, "the place for the adapter's id")) return ND_INVALID_PARAMETER_3;
  return call.inner([&] { return inner().ResolveAddress(address, length, id); });
}

HRESULT Provider::OpenAdapter(REFIID iid, UINT64 id, VOID** out) {
  Call call(*this, "OpenAdapter");
  if (!call.alive()) return ND_INVALID_HANDLE;
  auto state = std::make_shared<AdapterState>();
  return create<IND2Adapter>(
      call, iid, IID_IND2Adapter, false, out,
      [&](REFIID own, VOID** made) {
        const HRESULT status = inner().OpenAdapter(own, id, made);
        if (status == ND_SUCCESS && own == IID_IND2Adapter) {
          // What the consumer should know of its limits; whether it asks is its own affair.
          ULONG bytes = sizeof state->info;
          state->info.InfoVersion = ND_VERSION_2;
          state->info_known = static_cast<IND2Adapter*>(*made)->Query(&state->info, &bytes) == ND_SUCCESS;
        }
        return status;
      },
      [&](IND2Adapter& made, std::unique_ptr<Wrapper>& wrapper) { return make<Adapter>(wrapper, session(), state, made); });
}

HRESULT Adapter::CreateOverlappedFile(HANDLE* file) {
  Call call(*this, "CreateOverlappedFile");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (!call.given(file, "the place for the handle")) return ND_INVALID_PARAMETER_1;
  const HRESULT status = call.inner([&] { return inner().CreateOverlappedFile(file); });
  if (status == ND_SUCCESS) adapter()->files.insert(*file);
  return status;
}

HRESULT Adapter::Query(ND2_ADAPTER_INFO* info, ULONG* bytes) {
  Call call(*this, "Query");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (!call.given(bytes, "the place for the length")) return ND_INVALID_PARAMETER_2;
  if (info != nullptr && *bytes >= sizeof info->InfoVersion && info->InfoVersion != ND_VERSION_2 && info->InfoVersion != ND_VERSION_1) {
    call.find(Rule::info_version_wrong, fmt::format("{:#x}", info->InfoVersion));
  }
  return call.inner([&] { return inner().Query(info, bytes); });
}

HRESULT Adapter::QueryAddressList(SOCKET_ADDRESS_LIST* list, ULONG* bytes) {
  Call call(*this, "QueryAddressList");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (!call.given(bytes, "the place for the length")) return ND_INVALID_PARAMETER_2;
  return call.inner([&] { return inner().QueryAddressList(list, bytes); });
}

void Adapter::judge_file(Call& call, HANDLE file) {
  if (!adapter()->files.contains(file)) call.find(Rule::file_foreign, fmt::format("it is none of {} files", adapter()->files.size()));
}

HRESULT Adapter::CreateCompletionQueue(REFIID iid, HANDLE file, ULONG depth, USHORT group, KAFFINITY affinity, VOID** out) {
  Call call(*this, "CreateCompletionQueue");
  if (!call.alive()) return ND_INVALID_HANDLE;
  judge_file(call, file);
  call.limit("the depth", depth, adapter()->info.MaxCompletionQueueDepth);
  if (depth == 0) call.find(Rule::completion_queue_empty);
  CompletionQueue* wrapped = nullptr;
  const HRESULT status = create<IND2CompletionQueue>(
      call, iid, IID_IND2CompletionQueue, true, out,
      [&](REFIID own, VOID** made) { return inner().CreateCompletionQueue(own, file, depth, group, affinity, made); },
      [&](IND2CompletionQueue& made, auto& wrapper) {
        return wrapped = make<CompletionQueue>(wrapper, session(), adapter(), made, depth);
      });
  if (wrapped != nullptr) wrapped->state()->number = wrapped->number();
  return status;
}

HRESULT Adapter::CreateMemoryRegion(REFIID iid, HANDLE file, VOID** out) {
  Call call(*this, "CreateMemoryRegion");
  if (!call.alive()) return ND_INVALID_HANDLE;
  judge_file(call, file);
  // The extension is one object with the region, and has its reference count.
  const bool asks_more = iid == IID_IFabricbenchMemoryRegion;
  IFabricbenchMemoryRegion* extended = nullptr;
  const HRESULT status = create<IND2MemoryRegion>(
      call, asks_more ? IID_IND2MemoryRegion : iid, IID_IND2MemoryRegion, true, out,
      [&](REFIID own, VOID** made) {
        const HRESULT given = inner().CreateMemoryRegion(own, file, made);
        if (given != ND_SUCCESS || !(own == IID_IND2MemoryRegion)) return given;
        VOID* more = nullptr;
        if (static_cast<IND2MemoryRegion*>(*made)->QueryInterface(IID_IFabricbenchMemoryRegion, &more) == ND_SUCCESS) {
          static_cast<IND2MemoryRegion*>(*made)->Release();
          extended = static_cast<IFabricbenchMemoryRegion*>(more);
          *made = static_cast<IND2MemoryRegion*>(extended);
        }
        return given;
      },
      [&](IND2MemoryRegion& made, auto& wrapper) {
        return static_cast<IFabricbenchMemoryRegion*>(make<MemoryRegion>(wrapper, session(), adapter(), made, extended));
      });
  if (status == ND_SUCCESS && asks_more && extended == nullptr) {
    auto* const unwanted = static_cast<IUnknown*>(std::exchange(*out, nullptr));
    call.inner([&] { return unwanted->Release(); });
    return E_NOINTERFACE;
  }
  return status;
}

HRESULT Adapter::CreateMemoryWindow(REFIID iid, VOID** out) {
  Call call(*this, "CreateMemoryWindow");
  if (!call.alive()) return ND_INVALID_HANDLE;
  return create<IND2MemoryWindow>(
      call, iid, IID_IND2MemoryWindow, false, out, [&](REFIID own, VOID** made) { return inner().CreateMemoryWindow(own, made); },
      [&](IND2MemoryWindow& made, auto& wrapper) { return make<MemoryWindow>(wrapper, session(), adapter(), made); });
}

HRESULT Adapter::CreateSharedReceiveQueue(REFIID iid, HANDLE file, ULONG depth, ULONG sges, ULONG threshold, USHORT group,
                                          KAFFINITY affinity, VOID** out) {
  Call call(*this, "CreateSharedReceiveQueue");
  if (!call.alive()) return ND_INVALID_HANDLE;
  judge_file(call, file);
  call.limit("the depth", depth, adapter()->info.MaxSharedReceiveQueueDepth);
  call.limit("the number of buffers", sges, adapter()->info.MaxReceiveSge);
  call.limit("the threshold", threshold, depth);
  return create<IND2SharedReceiveQueue>(
      call, iid, IID_IND2SharedReceiveQueue, true, out,
      [&](REFIID own, VOID** made) { return inner().CreateSharedReceiveQueue(own, file, depth, sges, threshold, group, affinity, made); },
      [&](IND2SharedReceiveQueue& made, auto& wrapper) {
        return make<SharedReceiveQueue>(wrapper, session(), adapter(), made, depth, sges);
      });
}

/// `ask(iid, context, out)`. The provider's context is a number of ours.
template <class Ask>
HRESULT Adapter::create_queue_pair(Call& call, const std::shared_ptr<QueuePairState>& state, REFIID iid, VOID** out, Ask&& ask) {
  const ND2_ADAPTER_INFO& info = adapter()->info;
  call.limit("the depth of the initiator queue", state->initiator_depth, info.MaxInitiatorQueueDepth);
  call.limit("the number of an initiator's buffers", state->initiator_sges, info.MaxInitiatorSge);
  call.limit("the length of inline data", state->inline_bytes, info.MaxInlineDataSize);
  const std::uint64_t token = call.number();  // unique, as calls are
  QueuePair* wrapped = nullptr;
  const HRESULT status = create<IND2QueuePair>(
      call, iid, IID_IND2QueuePair, false, out,
      [&](REFIID own, VOID** made) { return ask(own, reinterpret_cast<void*>(static_cast<std::uintptr_t>(token)), made); },
      [&](IND2QueuePair& made, auto& wrapper) { return wrapped = make<QueuePair>(wrapper, session(), adapter(), made, state); });
  if (wrapped == nullptr) return status;
  state->number = wrapped->number();
  session().queue_pair_contexts[token] = state->context;
  ++state->receive_queue->queue_pairs;
  ++state->initiator_queue->queue_pairs;
  return status;
}

HRESULT Adapter::CreateQueuePair(REFIID iid, IUnknown* receive_queue, IUnknown* initiator_queue, VOID* context, ULONG receive_depth,
                                 ULONG initiator_depth, ULONG receive_sges, ULONG initiator_sges, ULONG inline_bytes, VOID** out) {
  Call call(*this, "CreateQueuePair");
  if (!call.alive()) return ND_INVALID_HANDLE;
  auto* const receives = static_cast<CompletionQueue*>(call.argument(receive_queue, Kind::completion_queue, "the receive queue"));
  if (receives == nullptr) return ND_INVALID_PARAMETER_2;
  auto* const initiators = static_cast<CompletionQueue*>(call.argument(initiator_queue, Kind::completion_queue, "the initiator queue"));
  if (initiators == nullptr) return ND_INVALID_PARAMETER_3;
  call.limit("the depth of the receive queue", receive_depth, adapter()->info.MaxReceiveQueueDepth);
  call.limit("the number of a Receive's buffers", receive_sges, adapter()->info.MaxReceiveSge);
  auto state = std::make_shared<QueuePairState>();
  state->context = context;
  state->receive_queue = receives->state();
  state->initiator_queue = initiators->state();
  state->receives = std::make_shared<ReceiveState>();
  state->receives->depth = receive_depth;
  state->receives->sges = receive_sges;
  state->initiator_depth = initiator_depth;
  state->initiator_sges = initiator_sges;
  state->inline_bytes = inline_bytes;
  return create_queue_pair(call, state, iid, out, [&](REFIID own, void* ours, VOID** made) {
    return inner().CreateQueuePair(own, &receives->inner(), &initiators->inner(), ours, receive_depth, initiator_depth, receive_sges,
                                   initiator_sges, inline_bytes, made);
  });
}

HRESULT Adapter::CreateQueuePairWithSrq(REFIID iid, IUnknown* receive_queue, IUnknown* initiator_queue, IUnknown* shared, VOID* context,
                                        ULONG initiator_depth, ULONG initiator_sges, ULONG inline_bytes, VOID** out) {
  Call call(*this, "CreateQueuePairWithSrq");
  if (!call.alive()) return ND_INVALID_HANDLE;
  auto* const receives = static_cast<CompletionQueue*>(call.argument(receive_queue, Kind::completion_queue, "the receive queue"));
  if (receives == nullptr) return ND_INVALID_PARAMETER_2;
  auto* const initiators = static_cast<CompletionQueue*>(call.argument(initiator_queue, Kind::completion_queue, "the initiator queue"));
  if (initiators == nullptr) return ND_INVALID_PARAMETER_3;
  auto* const pool = static_cast<SharedReceiveQueue*>(call.argument(shared, Kind::shared_receive_queue, "the shared receive queue"));
  if (pool == nullptr) return ND_INVALID_PARAMETER_4;
  auto state = std::make_shared<QueuePairState>();
  state->context = context;
  state->receive_queue = receives->state();
  state->initiator_queue = initiators->state();
  state->receives = pool->state();
  state->shared = true;
  state->initiator_depth = initiator_depth;
  state->initiator_sges = initiator_sges;
  state->inline_bytes = inline_bytes;
  return create_queue_pair(call, state, iid, out, [&](REFIID own, void* ours, VOID** made) {
    return inner().CreateQueuePairWithSrq(own, &receives->inner(), &initiators->inner(), &pool->inner(), ours, initiator_depth,
                                          initiator_sges, inline_bytes, made);
  });
}

HRESULT Adapter::CreateConnector(REFIID iid, HANDLE file, VOID** out) {
  Call call(*this, "CreateConnector");
  if (!call.alive()) return ND_INVALID_HANDLE;
  judge_file(call, file);
  return create<IND2Connector>(
      call, iid, IID_IND2Connector, true, out, [&](REFIID own, VOID** made) { return inner().CreateConnector(own, file, made); },
      [&](IND2Connector& made, auto& wrapper) { return make<Connector>(wrapper, session(), adapter(), made); });
}

HRESULT Adapter::CreateListener(REFIID iid, HANDLE file, VOID** out) {
  Call call(*this, "CreateListener");
  if (!call.alive()) return ND_INVALID_HANDLE;
  judge_file(call, file);
  return create<IND2Listener>(
      call, iid, IID_IND2Listener, true, out, [&](REFIID own, VOID** made) { return inner().CreateListener(own, file, made); },
      [&](IND2Listener& made, auto& wrapper) { return make<Listener>(wrapper, session(), adapter(), made); });
}

void Adapter::last_release(Call& call) {
  if (adapter()->children > 0) call.find(Rule::adapter_released_first, fmt::format("{} of its objects are left", adapter()->children));
}

}  // namespace fb::networkdirect::verifier
