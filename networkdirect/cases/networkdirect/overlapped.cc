// Overlapped requests: their packets, their events, their results, and how they are cancelled.
#include <array>

#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

/// An event that is reset by hand.
class Event {
 public:
  explicit Event(bool set = false) : handle_(CreateEventW(nullptr, TRUE, set ? TRUE : FALSE, nullptr)) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { CloseHandle(handle_); }
  HANDLE handle() const { return handle_; }
  HANDLE with_low_bit() const { return reinterpret_cast<HANDLE>(reinterpret_cast<std::uintptr_t>(handle_) | 1); }
  bool set() const { return WaitForSingleObject(handle_, 0) == WAIT_OBJECT_0; }

 private:
  HANDLE handle_;
};

/// A region of the active end with its memory, registered by a request that the case looks at.
struct Registration {
  Registration(ProviderBench& bench, NdEnd& e) : end(e), memory(bench.nd().memory().take(4096)), region(e.empty_region()) {}
  void make(ProviderBench& bench, Check& check) {
    called = region->Register(memory.data(), memory.size(), ND_MR_FLAG_ALLOW_LOCAL_WRITE, &request);
    check.require(ended(bench, called, request, *region) == ND_SUCCESS, "Register completes with ND_SUCCESS");
    bench.nd().pass(kNdQuiet);
  }
  NdEnd& end;
  MutableBytes memory;
  NdRequest request;
  NdRef<IND2MemoryRegion> region;
  HRESULT called = ND_UNSUCCESSFUL;
};

/// Requests that stay pending on a completion queue.
template <std::size_t N>
struct Pending {
  Pending(ProviderBench& bench, Check& check) : end(bench.nd().a()), queue(end.completion_queue()) {
    for (NdRequest& request : requests) {
      check.precondition(queue->Notify(ND_CQ_NOTIFY_ANY, &request) == ND_PENDING, "Notify on an idle queue is pending");
    }
  }
  NdEnd& end;
  std::array<NdRequest, N> requests;
  NdRef<IND2CompletionQueue> queue;
};

}  // namespace

CONFORMANCE_CASE(nd_a_pending_request_has_one_packet, "networkdirect.overlapped.pending-packet", roles::provider) {
  Registration r(bench, bench.nd().a());
  r.make(bench, check);
  const auto packets = r.end.packets();
  if (r.called != ND_PENDING) return;  // another rule's business
  check.equal("packets of a registration", packets.size(), std::size_t{1});
  for (const NdPacket& packet : packets) {
    check.that(packet.overlapped == &r.request, "the packet is that of the request");
    check.that(packet.good, "the packet is that of a success");
  }
}

CONFORMANCE_CASE(nd_a_success_in_the_call_has_no_packet, "networkdirect.overlapped.success-packet", roles::provider) {
  Registration r(bench, bench.nd().a());
  r.make(bench, check);
  check.equal("packets of a registration", r.end.packets().size(), r.called == ND_PENDING ? std::size_t{1} : std::size_t{0});
}

CONFORMANCE_CASE(nd_a_failed_call_has_no_packet, "networkdirect.overlapped.failure-packet", roles::provider) {
  NdRequest request;
  NdEnd& end = bench.nd().a();
  const auto region = end.empty_region();
  const auto connector = end.connector();
  std::size_t pending = 0;
  for (const HRESULT called : {region->Register(nullptr, 0, 0, &request), connector->CompleteConnect(&request),
                               connector->NotifyDisconnect(&request), connector->Disconnect(&request)}) {
    if (called == ND_PENDING) ++pending;
  }
  bench.nd().pass(kNdQuiet);
  check.equal("packets", end.packets().size(), pending);
}

CONFORMANCE_CASE(nd_the_event_is_set_at_the_end, "networkdirect.overlapped.event", roles::provider) {
  Event event;
  Registration r(bench, bench.nd().a());
  r.request->hEvent = event.handle();
  r.make(bench, check);
  if (r.called == ND_PENDING) check.that(event.set(), "the event is set");
}

CONFORMANCE_CASE(nd_the_event_is_reset_at_the_start, "networkdirect.overlapped.event-reset", roles::provider) {
  NdRequest request;
  Event event(true);
  NdEnd& end = bench.nd().a();
  const auto queue = end.completion_queue();
  request->hEvent = event.handle();
  check.precondition(queue->Notify(ND_CQ_NOTIFY_ANY, &request) == ND_PENDING, "Notify on an idle queue is pending");
  check.that(!event.set(), "the event is not set while the request is pending");
  queue->CancelOverlappedRequests();
  bench.nd().pass(kNdQuiet);
  check.that(event.set(), "the event is set when the request was cancelled");
}

CONFORMANCE_CASE(nd_the_low_bit_keeps_the_packet_away, "networkdirect.overlapped.low-bit", roles::provider) {
  Event event;
  Registration r(bench, bench.nd().a());
  r.request->hEvent = event.with_low_bit();
  r.make(bench, check);
  check.equal("packets", r.end.packets().size(), std::size_t{0});
  if (r.called == ND_PENDING) check.that(event.set(), "the event is set");
}

CONFORMANCE_CASE(nd_a_failure_has_a_failed_packet, "networkdirect.overlapped.failed-packet", roles::provider) {
  Pending<1> p(bench, check);
  p.queue->CancelOverlappedRequests();
  const auto packets = p.end.packets(1);
  check.require(packets.size() == 1, "there is one packet");
  check.that(packets[0].overlapped == &p.requests[0], "the packet is that of the request");
  check.that(!packets[0].good, "the packet is that of a failure");
}

CONFORMANCE_CASE(nd_the_result_is_the_status, "networkdirect.overlapped.result", roles::provider) {
  Pending<1> p(bench, check);
  p.queue->CancelOverlappedRequests();
  bench.nd().wait_until([&] { return !p.requests[0].pending(); }, kNdSoon);
  // As often as it is asked.
  for (int i = 0; i < 2; ++i) {
    says(check, "GetOverlappedResult of a cancelled request", p.queue->GetOverlappedResult(&p.requests[0], FALSE), {ND_CANCELED});
  }
  Registration r(bench, p.end);
  r.make(bench, check);
  if (r.called == ND_PENDING) {
    says(check, "GetOverlappedResult of a registration", r.region->GetOverlappedResult(&r.request, FALSE), {ND_SUCCESS});
  }
}

CONFORMANCE_CASE(nd_the_result_may_be_pending, "networkdirect.overlapped.result-pending", roles::provider) {
  Pending<1> p(bench, check);
  says(check, "GetOverlappedResult of a pending request", p.queue->GetOverlappedResult(&p.requests[0], FALSE), {ND_PENDING});
}

CONFORMANCE_CASE(nd_the_result_is_known_elsewhere, "networkdirect.overlapped.result-elsewhere", roles::provider) {
  Pending<1> p(bench, check);
  const auto region = p.end.empty_region();
  says(check, "GetOverlappedResult on another object", region->GetOverlappedResult(&p.requests[0], FALSE), {ND_PENDING});
  p.queue->CancelOverlappedRequests();
  bench.nd().wait_until([&] { return !p.requests[0].pending(); }, kNdSoon);
  says(check, "GetOverlappedResult on another object", region->GetOverlappedResult(&p.requests[0], FALSE), {ND_CANCELED});
}

CONFORMANCE_CASE(nd_a_result_can_be_waited_for, "networkdirect.overlapped.wait", roles::provider) {
  Event event;
  const auto c = bench.nd().prepare();
  c->connecting->hEvent = event.handle();
  const NdAddress nobody(c->b.end->address(), bench.nd().fresh_port());
  const HRESULT called = ask_for(c->a, nobody, c->connecting);
  check.precondition(called == ND_PENDING, "Connect is pending");
  // Which of the codes of a Connect that fails is another rule's business.
  const NdStatus waited = c->a.connector->GetOverlappedResult(&c->connecting, TRUE);
  says(check, "a Connect to nobody", waited,
       {ND_CONNECTION_REFUSED, ND_IO_TIMEOUT, ND_TIMEOUT, ND_HOST_UNREACHABLE, ND_NETWORK_UNREACHABLE});
  says(check, "the same without a wait", c->a.connector->GetOverlappedResult(&c->connecting, FALSE), {waited.code});
}

CONFORMANCE_CASE(nd_cancelled_requests_are_there_in_order, "networkdirect.overlapped.cancel-order", roles::provider) {
  Pending<5> p(bench, check);
  says(check, "CancelOverlappedRequests", p.queue->CancelOverlappedRequests(), {ND_SUCCESS});
  const auto packets = p.end.packets();
  check.require(packets.size() == p.requests.size(), "every packet is there when the call returns");
  for (std::size_t i = 0; i < packets.size(); ++i) {
    check.that(packets[i].overlapped == &p.requests[i], "the packets are in the order of the requests");
  }
}

CONFORMANCE_CASE(nd_cancelled_requests_say_so, "networkdirect.overlapped.cancel-code", roles::provider) {
  Pending<2> p(bench, check);
  p.queue->CancelOverlappedRequests();
  for (NdRequest& request : p.requests) {
    says(check, "a cancelled request", ended(bench, ND_PENDING, request, *p.queue), {ND_CANCELED});
  }
}

CONFORMANCE_CASE(nd_nothing_can_be_cancelled, "networkdirect.overlapped.cancel-nothing", roles::provider) {
  NdEnd& end = bench.nd().a();
  const auto listener = end.listener(bench.nd().fresh_port());
  says(check, "a completion queue", end.completion_queue()->CancelOverlappedRequests(), {ND_SUCCESS});
  says(check, "a region", end.empty_region()->CancelOverlappedRequests(), {ND_SUCCESS});
  says(check, "a connector", end.connector()->CancelOverlappedRequests(), {ND_SUCCESS});
  says(check, "a listener", listener->CancelOverlappedRequests(), {ND_SUCCESS});
  bench.nd().pass(kNdQuiet);
  check.equal("packets", end.packets().size(), std::size_t{0});
}

CONFORMANCE_CASE(nd_what_is_released_is_cancelled, "networkdirect.overlapped.release-cancels", roles::provider) {
  Pending<2> p(bench, check);
  const auto other = p.end.completion_queue();
  p.queue.release();
  for (NdRequest& request : p.requests) {
    says(check, "a request on a queue that was released", ended(bench, ND_PENDING, request, *other), {ND_CANCELED});
  }
}

}  // namespace fb::conformance
