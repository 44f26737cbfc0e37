// How outstanding requests end when nobody will serve them.
#include <set>

#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

constexpr std::uintptr_t kReceives = 4;

/// A connection whose passive side has receives outstanding and flushes them.
NdkConnection& flushed(NdkBench& ndk, Check& check) {
  NdkConnection& c = ndk.connect();
  for (std::uintptr_t i = 0; i < kReceives; ++i) arranged_by(check, "NdkReceive", c.b.receive(30 + i));
  c.b.qp->Dispatch->NdkFlush(c.b.qp);
  return c;
}

NdkStatus disconnected(NdkBench& ndk, NdkSide& side) {
  return ndk.request([&](auto c, PVOID x) { return side.connector->Dispatch->NdkDisconnect(side.connector, c, x); });
}

}  // namespace

CONFORMANCE_CASE(ndk_a_flush_ends_requests, "ndk.qp.flush", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = flushed(ndk, check);
  ends_badly(ndk, check, c.b, "a Receive that was flushed");
}

CONFORMANCE_CASE(ndk_what_is_flushed_is_cancelled, "ndk.qp.flush-code", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = flushed(ndk, check);
  ends_as(ndk, check, c.b, "a Receive that was flushed", {STATUS_CANCELLED});
}

CONFORMANCE_CASE(ndk_nothing_is_lost_by_a_flush, "ndk.qp.flush-all", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = flushed(ndk, check);
  for (std::uintptr_t i = 0; i < kReceives; ++i) next_result(ndk, check, c.b, "a Receive that was flushed");
  check.that(ndk.quiet(c.b), "there is no result more", "there is a result");
  // What is left when the peer has ended the connection, of both queues.
  NdkConnection& ended = ndk.connect();
  for (std::uintptr_t i = 0; i < kReceives; ++i) arranged_by(check, "NdkReceive", ended.b.receive(30 + i));
  for (std::uintptr_t i = 0; i < 3; ++i) arranged_by(check, "NdkSend", ended.b.send(40 + i));
  arranged_by(check, "NdkDisconnect", disconnected(ndk, ended.a));
  check.precondition(ndk.wait_until([&] { return ended.b.disconnected > 0; }), "the passive side hears of the end");
  ended.b.qp->Dispatch->NdkFlush(ended.b.qp);
  std::set<PVOID> back;
  for (std::uintptr_t i = 0; i < kReceives + 3; ++i) {
    const NDK_RESULT_EX result = next_result(ndk, check, ended.b, "each request that was left when the peer ended the connection");
    check.that(back.insert(result.RequestContext).second, "each of them ends once", "one ended twice");
  }
  check.that(ndk.quiet(ended.b), "there is no result more", "there is a result");
}

CONFORMANCE_CASE(ndk_a_flush_keeps_the_order, "ndk.qp.flush-order", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = flushed(ndk, check);
  for (std::uintptr_t i = 0; i < kReceives; ++i) {
    const NDK_RESULT_EX result = next_result(ndk, check, c.b, "a Receive that was flushed");
    check.that(result.RequestContext == ndk_tag(30 + i), "what is flushed ends in its order");
  }
}

CONFORMANCE_CASE(ndk_a_failure_cancels_what_follows, "ndk.qp.failure-flushes", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  arranged_by(check, "NdkReceive", c.a.receive(51));
  arranged_by(check, "NdkWrite", c.a.write(52, 0, 16, c.b.memory->address(), c.b.memory->remote ^ 0x550000));
  arranged_by(check, "NdkWrite", c.a.write(53, 0, 16, c.b.memory->address(), c.b.memory->remote));
  // One queue has the results of both, in any order between them.
  int cancelled = 0;
  for (int i = 0; i < 3; ++i) {
    const NDK_RESULT_EX result = next_result(ndk, check, c.a, "each of them");
    if (result.RequestContext == ndk_tag(52)) {
      refused(check, "a Write with a token that is none", result.Status);
    } else {
      says(check, "what was posted behind it", result.Status, {STATUS_CANCELLED});
      ++cancelled;
    }
  }
  check.equal("requests that were cancelled", cancelled, 2);
}

CONFORMANCE_CASE(ndk_requests_after_the_end_are_not_lost, "ndk.qp.after-end", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  arranged_by(check, "NdkDisconnect", disconnected(ndk, c.a));
  refused_somehow(ndk, check, c.a, "NdkSend after the end", c.a.send(1));
}

CONFORMANCE_CASE(ndk_receives_after_the_end_are_not_lost, "ndk.qp.receive-after-end", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  arranged_by(check, "NdkDisconnect", disconnected(ndk, c.a));
  refused_somehow(ndk, check, c.a, "NdkReceive after the end", c.a.receive(1));
}

}  // namespace fb::conformance
