// The objects of a provider as objects of COM.
#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

constexpr GUID kNobodysInterface = {0x5EED5EED, 0x1234, 0x4321, {0xFA, 0xB0, 1, 2, 3, 4, 5, 6}};

/// One of each kind that an adapter makes, and itself.
template <class Visit>
void each_object(ProviderBench& bench, Visit&& visit) {
  NdEnd& end = bench.nd().a();
  const auto queue = end.completion_queue();
  const auto region = end.empty_region();
  const auto window = end.window();
  const auto pair = end.queue_pair(*queue);
  const auto connector = end.connector();
  const auto listener = end.listener(bench.nd().fresh_port());
  visit("the provider", bench.nd().provider(), IID_IND2Provider, false);
  visit("the adapter", end.adapter(), IID_IND2Adapter, false);
  visit("a completion queue", *queue, IID_IND2CompletionQueue, true);
  visit("a region", *region, IID_IND2MemoryRegion, true);
  visit("a window", *window, IID_IND2MemoryWindow, false);
  visit("a queue pair", *pair, IID_IND2QueuePair, false);
  visit("a connector", *connector, IID_IND2Connector, true);
  visit("a listener", *listener, IID_IND2Listener, true);
}

ULONG references(IUnknown& object) {
  object.AddRef();
  return object.Release();
}

}  // namespace

CONFORMANCE_CASE(nd_every_object_is_an_unknown, "networkdirect.objects.unknown", roles::provider) {
  each_object(bench, [&](std::string_view what, IUnknown& object, REFIID, bool) {
    NdRef<IUnknown> first, second;
    says(check, std::string("IUnknown of ").append(what), object.QueryInterface(IID_IUnknown, first.out()), {S_OK});
    says(check, std::string("IUnknown of ").append(what), object.QueryInterface(IID_IUnknown, second.out()), {S_OK});
    check.that(first.get() == second.get(), std::string(what) + " has one IUnknown");
  });
}

CONFORMANCE_CASE(nd_every_object_has_its_interfaces, "networkdirect.objects.interfaces", roles::provider) {
  each_object(bench, [&](std::string_view what, IUnknown& object, REFIID own, bool overlapped) {
    const auto has = [&](std::string_view which, REFIID asked) {
      void* found = nullptr;
      const ULONG before = references(object);
      if (!says(check, std::string(which).append(" of ").append(what), object.QueryInterface(asked, &found), {S_OK})) return;
      // Another pointer counts for itself. One that comes without a reference of its own is not given back.
      const ULONG after = references(object);
      const bool same = found == &object;
      if (same) check.equal(std::string("references after QueryInterface of ").append(what), after, before + 1);
      if (found != nullptr && (!same || after > before)) static_cast<IUnknown*>(found)->Release();
    };
    has("the own interface", own);
    if (overlapped) has("IND2Overlapped", IID_IND2Overlapped);
  });
}

CONFORMANCE_CASE(nd_no_object_has_any_interface, "networkdirect.objects.foreign-interface", roles::provider) {
  each_object(bench, [&](std::string_view what, IUnknown& object, REFIID own, bool) {
    const bool is_pair = own == IID_IND2QueuePair;
    for (const GUID& foreign : {kNobodysInterface, is_pair ? IID_IND2Adapter : IID_IND2QueuePair}) {
      NdRef<IUnknown> found;
      says(check, std::string("a foreign interface of ").append(what), object.QueryInterface(foreign, found.out()), {E_NOINTERFACE});
      check.that(found.get() == nullptr, std::string(what) + " gives no pointer with it");
    }
  });
}

CONFORMANCE_CASE(nd_objects_are_made_as_what_was_asked_for, "networkdirect.objects.created-interface", roles::provider) {
  NdEnd& end = bench.nd().a();
  NdRef<IUnknown> made;
  const auto none = [&](std::string_view what, HRESULT called) {
    says(check, what, called, {E_NOINTERFACE});
    check.that(made.get() == nullptr, "there is no pointer with it");
  };
  none("CreateMemoryWindow", end.adapter().CreateMemoryWindow(kNobodysInterface, made.out()));
  none("CreateMemoryRegion", end.adapter().CreateMemoryRegion(kNobodysInterface, end.file(), made.out()));
  none("CreateConnector", end.adapter().CreateConnector(IID_IND2Listener, end.file(), made.out()));
  none("CreateListener", end.adapter().CreateListener(IID_IND2Connector, end.file(), made.out()));
}

CONFORMANCE_CASE(nd_the_last_release_is_the_last, "networkdirect.objects.count", roles::provider) {
  NdEnd& end = bench.nd().a();
  check.equal("Release of a completion queue", end.completion_queue().release(), ULONG{0});
  check.equal("Release of a region", end.empty_region().release(), ULONG{0});
  check.equal("Release of a window", end.window().release(), ULONG{0});
  check.equal("Release of a connector", end.connector().release(), ULONG{0});
  auto queue = end.completion_queue();
  queue->AddRef();
  check.equal("Release of the second reference", queue->Release(), ULONG{1});
  const auto c = bench.nd().reply();
  check.equal("Release of a connector whose Connect has completed", c->a.connector.release(), ULONG{0});
}

CONFORMANCE_CASE(nd_the_adapter_may_go_first, "networkdirect.objects.adapter-first", roles::provider) {
  const NdAddress at(bench.nd().a().address());
  UINT64 id = 0;
  arranged_by(check, "ResolveAddress", bench.nd().provider().ResolveAddress(at.get(), at.length(), &id));
  NdRef<IND2Adapter> adapter;
  arranged_by(check, "OpenAdapter", bench.nd().provider().OpenAdapter(IID_IND2Adapter, id, adapter.out()));
  HANDLE file = nullptr;
  arranged_by(check, "CreateOverlappedFile", adapter->CreateOverlappedFile(&file));
  const MutableBytes memory = bench.nd().memory().take(4096);
  {
    NdRef<IND2MemoryRegion> region;
    arranged_by(check, "CreateMemoryRegion", adapter->CreateMemoryRegion(IID_IND2MemoryRegion, file, region.out()));
    adapter.release();
    NdRequest request, back;
    const HRESULT called = region->Register(memory.data(), memory.size(), 0, &request);
    if (says(check, "Register", ended(bench, called, request, *region), {ND_SUCCESS})) {
      says(check, "Deregister", ended(bench, region->Deregister(&back), back, *region), {ND_SUCCESS});
    }
  }
  CloseHandle(file);
}

CONFORMANCE_CASE(nd_objects_go_in_any_order, "networkdirect.objects.any-order", roles::provider) {
  for (int order = 0; order < 4; ++order) {
    auto c = bench.nd().connect();
    NdRequest noticed;
    const HRESULT waiting = c->a.connector->NotifyDisconnect(&noticed);
    arranged_by(check, "NotifyDisconnect", waiting);
    ND2_SGE into = c->b.memory->sge(0, 64);
    arranged_by(check, "Receive", c->b.qp->Receive(nullptr, &into, 1));
    for (int step = 0; step < 4; ++step) {
      switch ((order + step) % 4) {
        case 0:
          check.equal("Release of the queue pair", c->b.qp.release(), ULONG{0});
          break;
        case 1:
          check.equal("Release of the connector", c->b.connector.release(), ULONG{0});
          break;
        case 2:
          check.equal("Release of the completion queue", c->b.queue.release(), ULONG{0});
          break;
        default:
          check.equal("Release of the region", c->b.memory->region.release(), ULONG{0});
          break;
      }
    }
    says(check, "NotifyDisconnect of the peer", ended(bench, waiting, noticed, *c->a.connector), {ND_SUCCESS});
  }
}

}  // namespace fb::conformance
