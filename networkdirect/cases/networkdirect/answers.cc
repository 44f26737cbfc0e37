// How requests are answered that can end in their call, each kind of them: a request that pends is told of once, by a packet and by
// its event; one that ends in its call has no packet. Its event may be set: Windows' skip modes spare the event of the file alone.
#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

/// An OVERLAPPED with an event of its own.
struct Watched {
  Watched() : event(CreateEventW(nullptr, TRUE, FALSE, nullptr)) { (&request)->hEvent = event; }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  ~Watched() { CloseHandle(event); }
  bool set() const { return WaitForSingleObject(event, 0) == WAIT_OBJECT_0; }
  HANDLE event;
  NdRequest request;
};

/// What a call said, and what it left behind.
void judge(ProviderBench& bench, Check& check, NdEnd& end, std::string_view what, HRESULT called, Watched& one, IND2Overlapped& on) {
  const NdStatus status = ended(bench, called, one.request, on);
  says(check, what, status, {ND_SUCCESS});
  bench.nd().pass(kNdQuiet);
  std::size_t packets = 0;
  for (const NdPacket& packet : end.packets()) packets += packet.overlapped == &one.request ? 1 : 0;
  const std::string how = called == ND_PENDING ? " that was pending" : " that ended in its call";
  check.equal("packets of " + std::string(what) + how, packets, std::size_t{called == ND_PENDING ? 1u : 0u});
  if (called == ND_PENDING) check.that(one.set(), "the event of " + std::string(what) + " is set");
}

/// Each kind of request that can end in its call, once.
void each_kind(ProviderBench& bench, Check& check) {
  NdEnd& end = bench.nd().b();
  {
    Watched registering, deregistering;
    const auto region = end.empty_region();
    const MutableBytes memory = bench.nd().memory().take(4096);
    judge(bench, check, end, "Register", region->Register(memory.data(), memory.size(), ND_MR_FLAG_ALLOW_LOCAL_WRITE, &registering.request),
          registering, *region);
    judge(bench, check, end, "Deregister", region->Deregister(&deregistering.request), deregistering, *region);
  }
  {
    Watched asking;
    const auto c = bench.nd().prepare();
    check.precondition(ask_for(c->a, listening_at(*c), c->connecting) == ND_PENDING, "Connect is pending");
    bench.nd().pass(kNdQuiet);
    judge(bench, check, end, "GetConnectionRequest", c->listener->GetConnectionRequest(c->b.connector.get(), &asking.request), asking,
          *c->listener);
    c->b.connector->Reject(nullptr, 0);
    bench.nd().wait_until([&] { return !c->connecting.pending(); });
  }
  Watched noticing, noticed, completing, disconnecting, told;
  const auto c = bench.nd().reply();
  const HRESULT completed = c->a.connector->CompleteConnect(&completing.request);
  judge(bench, check, *c->a.end, "CompleteConnect", completed, completing, *c->a.connector);
  check.precondition(ended(bench, ND_PENDING, c->accepting, *c->b.connector) == ND_SUCCESS, "Accept completes");
  end.packets();
  deliver(bench, check, *c);
  judge(bench, check, end, "Notify with a completion there", c->b.queue->Notify(ND_CQ_NOTIFY_ANY, &told.request), told, *c->b.queue);
  const HRESULT waiting = c->b.connector->NotifyDisconnect(&noticing.request);
  NdRequest first;
  const HRESULT parting = c->a.connector->Disconnect(&first);
  check.precondition(ended(bench, parting, first, *c->a.connector) == ND_SUCCESS, "Disconnect completes");
  judge(bench, check, end, "NotifyDisconnect", waiting, noticing, *c->b.connector);
  judge(bench, check, end, "NotifyDisconnect after the end", c->b.connector->NotifyDisconnect(&noticed.request), noticed, *c->b.connector);
  judge(bench, check, end, "Disconnect after the peer's", c->b.connector->Disconnect(&disconnecting.request), disconnecting,
        *c->b.connector);
}

}  // namespace

CONFORMANCE_CASE(nd_each_pending_request_is_told_once, "networkdirect.overlapped.each-pending", roles::provider) {
  each_kind(bench, check);
}

CONFORMANCE_CASE(nd_requests_that_end_in_their_call_are_not_told, "networkdirect.overlapped.each-at-once", roles::provider) {
  bench.nd({.behaviour = "document,answers=at-once"});
  each_kind(bench, check);
}

}  // namespace fb::conformance
