// What is left of objects when they go, of every kind and with requests in every state.
#include <array>
#include <functional>

#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

/// Something that an object of the bench has pending, and how the object goes.
struct Waiting {
  std::string what;
  HRESULT called = ND_PENDING;
  std::unique_ptr<NdRequest> request;
  std::vector<HRESULT> legal;
};

// STATUS_ADDRESS_ALREADY_ASSOCIATED: it is bound already.
constexpr HRESULT kAlreadyAssociated = static_cast<HRESULT>(0xC0000238);

/// A call that an earlier connection may stand in the way of, as long as transports keep its numbers.
template <class Call>
HRESULT in_the_end(NdBench& nd, Call&& call) {
  for (int i = 0; i < 24; ++i) {
    const HRESULT called = call();
    if (called != ND_ADDRESS_ALREADY_EXISTS && called != ND_SHARING_VIOLATION) return called;
    nd.pass(Duration::s(5));
  }
  return call();
}

NdStatus deregistered(ProviderBench& bench, IND2MemoryRegion& region) {
  NdRequest request;
  const HRESULT called = region.Deregister(&request);
  return ended(bench, called, request, region);
}

/// A window over the first bytes of a side's memory.
void bind_window(ProviderBench& bench, Check& check, NdSide& side, IND2MemoryWindow& window) {
  const HRESULT called = side.qp->Bind(nd_tag(9), side.memory->region.get(), &window, side.memory->bytes.data(), 64, ND_OP_FLAG_ALLOW_READ);
  check.require(called == ND_SUCCESS, "Bind is taken", "it answered " + words(NdStatus(called)));
  ends_as(bench, check, side, "the Bind", {ND_SUCCESS});
}

}  // namespace

CONFORMANCE_CASE(nd_whatever_is_released_is_cancelled, "networkdirect.overlapped.release-cancels", roles::provider) {
  NdBench& nd = bench.nd();
  NdEnd& end = nd.b();
  const auto other = end.completion_queue();
  std::vector<Waiting> waiting;
  const auto begin = [&](std::string what, std::vector<HRESULT> legal, auto&& call) {
    Waiting& made = waiting.emplace_back(Waiting{std::move(what), ND_PENDING, std::make_unique<NdRequest>(), std::move(legal)});
    made.called = call(&*made.request);
    check.require(made.called == ND_PENDING, made.what + " is pending", "it answered " + words(NdStatus(made.called)));
  };
  const std::vector<HRESULT> cancelled = {ND_CANCELED};
  // The connections first: they take what the listeners below would.
  const auto asking = nd.ask();
  const auto connected = nd.connect();
  const auto bereft = nd.connect();
  begin("NotifyDisconnect", {ND_CANCELED, ND_SUCCESS}, [&](OVERLAPPED* o) { return connected->b.connector->NotifyDisconnect(o); });
  begin("NotifyDisconnect without a queue pair", {ND_CANCELED, ND_SUCCESS},
        [&](OVERLAPPED* o) { return bereft->a.connector->NotifyDisconnect(o); });
  auto queue = end.completion_queue();
  for (const ULONG type : {ULONG{ND_CQ_NOTIFY_ANY}, ULONG{ND_CQ_NOTIFY_SOLICITED}, ULONG{ND_CQ_NOTIFY_ERRORS}, ULONG{ND_CQ_NOTIFY_ANY}}) {
    begin("Notify of type " + std::to_string(type), cancelled, [&](OVERLAPPED* o) { return queue->Notify(type, o); });
  }
  auto listener = end.listener(nd.fresh_port());
  std::array<NdRef<IND2Connector>, 3> connectors;
  for (auto& connector : connectors) {
    connector = end.connector();
    begin("GetConnectionRequest", cancelled, [&](OVERLAPPED* o) { return listener->GetConnectionRequest(connector.get(), o); });
  }
  NdRef<IND2SharedReceiveQueue> shared;
  if (end.info().MaxSharedReceiveQueueDepth >= 8) {
    shared = end.shared_receive_queue(8, 1);
    ND2_SGE into = asking->b.memory->sge(0, 64);
    for (int i = 0; i < 3; ++i) arranged_by(check, "Receive", shared->Receive(nullptr, &into, 1));
    for (int i = 0; i < 2; ++i) begin("Notify of a shared receive queue", cancelled, [&](OVERLAPPED* o) { return shared->Notify(o); });
  }
  queue.release();
  listener.release();
  shared.release();
  connected->b.connector.release();
  bereft->a.qp.release();
  asking->a.connector.release();
  for (Waiting& one : waiting)
    says(check, one.what + " of an object that was released", ended(bench, one.called, *one.request, *other), one.legal);
  says(check, "Connect of a connector that was released", ended(bench, ND_PENDING, asking->connecting, *other), cancelled);
  // Nobody hears of them again.
  nd.pass(kNdQuiet);
  const auto fresh = nd.connect();
  message_crosses(bench, check, fresh->a, fresh->b);
}

CONFORMANCE_CASE(nd_a_window_goes_with_its_queue_pair, "networkdirect.memory.deregister", roles::provider) {
  for (const bool invalidated : {true, false}) {
    const auto c = bench.nd().connect();
    std::array<NdRef<IND2MemoryWindow>, 3> windows;
    for (auto& window : windows) {
      window = c->b.end->window();
      bind_window(bench, check, c->b, *window);
    }
    if (invalidated) {
      for (auto& window : windows) {
        check.require(c->b.qp->Invalidate(nd_tag(10), window.get(), 0) == ND_SUCCESS, "Invalidate is taken");
        ends_as(bench, check, c->b, "the Invalidate", {ND_SUCCESS});
      }
    } else {
      c->b.connector.release();
      c->b.qp.release();
      bench.nd().pass(kNdQuiet);
    }
    says(check, invalidated ? "Deregister when every window is invalidated" : "Deregister when the queue pair of every window is gone",
         deregistered(bench, *c->b.memory->region), {ND_SUCCESS});
  }
}

CONFORMANCE_CASE(nd_what_is_released_gives_its_address_back, "networkdirect.connection.disconnect", roles::provider) {
  NdBench& nd = bench.nd();
  const auto c = nd.prepare();
  const NdAddress from(c->a.end->address(), nd.fresh_port());
  enum class End : std::uint8_t { release, reject, refuse, disconnect, peer, queue_pair, cancel };
  for (const End how : {End::release, End::reject, End::refuse, End::disconnect, End::peer, End::queue_pair, End::cancel, End::release}) {
    // Always from one port to one port: a connection that lingers is in the way.
    c->a.connector = c->a.end->connector();
    c->b.connector = c->b.end->connector();
    c->a.qp = c->a.end->queue_pair(*c->a.queue);
    c->b.qp = c->b.end->queue_pair(*c->b.queue);
    c->a.results.clear();
    c->b.results.clear();
    NdRequest request, asking;
    const HRESULT asked = in_the_end(nd, [&]() -> HRESULT {
      const HRESULT bound = c->a.connector->Bind(from.get(), from.length());
      return bound == ND_SUCCESS || bound == kAlreadyAssociated ? ask_for(c->a, listening_at(*c), asking) : bound;
    });
    check.require(asked == ND_PENDING, "Connect from where another connector was", "it answered " + words(NdStatus(asked)));
    const HRESULT waited = c->listener->GetConnectionRequest(c->b.connector.get(), &request);
    check.require(ended(bench, waited, request, *c->listener) == ND_SUCCESS, "the request reaches the listener");
    if (how == End::reject) {
      says(check, "Reject", c->b.connector->Reject(nullptr, 0), {ND_SUCCESS});
      says(check, "Connect", ended(bench, asked, asking, *c->a.connector), {ND_CONNECTION_REFUSED});
    } else if (how == End::refuse) {
      NdRequest accepting;
      const HRESULT accepted = accept_on(c->b, accepting);
      check.require(ended(bench, asked, asking, *c->a.connector) == ND_SUCCESS, "Connect completes with ND_SUCCESS");
      says(check, "Reject of a reply", c->a.connector->Reject(nullptr, 0), {ND_SUCCESS});
      refused(check, "the Accept", ended(bench, accepted, accepting, *c->b.connector));
    } else if (how == End::cancel) {
      c->a.connector->CancelOverlappedRequests();
      says(check, "Connect", ended(bench, asked, asking, *c->a.connector), {ND_CANCELED});
    } else if (how != End::release) {
      NdRequest accepting, completing, leaving;
      const HRESULT accepted = accept_on(c->b, accepting);
      check.require(accepted == ND_PENDING, "Accept is pending", "it answered " + words(NdStatus(accepted)));
      check.require(ended(bench, asked, asking, *c->a.connector) == ND_SUCCESS, "Connect completes with ND_SUCCESS");
      const HRESULT called = c->a.connector->CompleteConnect(&completing);
      check.require(ended(bench, called, completing, *c->a.connector) == ND_SUCCESS, "CompleteConnect completes with ND_SUCCESS");
      check.require(ended(bench, accepted, accepting, *c->b.connector) == ND_SUCCESS, "Accept completes with ND_SUCCESS");
      message_crosses(bench, check, c->a, c->b);
      if (how == End::queue_pair) {
        c->a.qp.release();
      } else {
        NdSide& first = how == End::disconnect ? c->a : c->b;
        const HRESULT left = first.connector->Disconnect(&leaving);
        says(check, "Disconnect", ended(bench, left, leaving, *first.connector), {ND_SUCCESS});
      }
    } else {
      c->a.connector.release();
      says(check, "Connect", ended(bench, asked, asking, *c->b.connector), {ND_CANCELED});
    }
    c->a.connector.release();
    c->b.connector.release();
    c->b.qp.release();
    bench.nd().pass(kNdQuiet);
  }
}

CONFORMANCE_CASE(nd_nothing_comes_after_the_end, "networkdirect.queue.receive-after", roles::provider) {
  enum class End : std::uint8_t { flush, disconnect, failure };
  for (const End how : {End::flush, End::disconnect, End::failure}) {
    const auto c = bench.nd().connect();
    ND2_SGE into = c->b.memory->sge(0, 4096);
    for (std::uintptr_t i = 0; i < 3; ++i) arranged_by(check, "Receive", c->b.qp->Receive(nd_tag(20 + i), &into, 1));
    const Bytes before(c->b.memory->bytes.begin(), c->b.memory->bytes.end());
    NdRequest leaving;
    if (how == End::flush) {
      arranged_by(check, "Flush", c->b.qp->Flush());
    } else if (how == End::disconnect) {
      const HRESULT called = c->b.connector->Disconnect(&leaving);
      says(check, "Disconnect", ended(bench, called, leaving, *c->b.connector), {ND_SUCCESS});
    } else {
      ND2_SGE bad = c->b.memory->sge(0, 8);
      bad.MemoryRegionToken ^= kOtherToken;
      arranged_by(check, "Send", c->b.qp->Send(nd_tag(5), &bad, 1, 0));
      ends_badly(bench, check, c->b, "a Send with a wrong token");
    }
    for (std::uintptr_t i = 0; i < 3; ++i) {
      const ND2_RESULT result = next_result(bench, check, c->b, "a Receive");
      says(check, "a Receive", result.Status, {ND_CANCELED});
      check.that(result.RequestContext == nd_tag(20 + i), "Receives are cancelled in their order", "they are not");
    }
    // What the peer sends now has nowhere to go.
    ND2_SGE out = c->a.memory->sge(777, 512);
    c->a.qp->Send(nd_tag(1), &out, 1, 0);
    c->a.qp->Write(nd_tag(2), &out, 1, c->b.memory->address(8192), c->b.memory->region->GetRemoteToken(), 0);
    bench.nd().pass(Duration::s(1));
    check.bytes("memory of Receives that were cancelled", c->b.memory->bytes, before);
    check.that(bench.nd().quiet(c->b, Duration::ms(1)), "there are no more results than requests", "there is another");
    // Requests that come too late end as well, each once.
    arranged_by(check, "Receive", c->b.qp->Receive(nd_tag(31), &into, 1));
    ends_as(bench, check, c->b, "a Receive after the end", {ND_CANCELED});
  }
}

}  // namespace fb::conformance
