// Memory windows.
#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

NdkStatus bind(NdkSide& side, const NdkMemory& memory, NDK_MW* window, std::size_t offset, SIZE_T length, ULONG flags) {
  return side.qp->Dispatch->NdkBind(side.qp, ndk_tag(6), memory.region, window, memory.at(offset), length, flags);
}

/// Bound at the passive side to the 256 bytes at 1024.
NDK_MW* bound(NdkBench& ndk, Check& check, NdkConnection& c, ULONG flags) {
  NDK_MW* const window = ndk.b().window();
  arranged_by(check, "NdkBind", bind(c.b, *c.b.memory, window, 1024, 256, flags));
  arranged_by(check, "NdkBind", next_result(ndk, check, c.b, "the Bind").Status);
  return window;
}

UINT32 token_of(NDK_MW* window) { return window->Dispatch->NdkGetRemoteTokenFromMw(window); }

}  // namespace

CONFORMANCE_CASE(ndk_a_window_lies_in_its_region, "ndk.mw.range", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  const std::size_t near_end = c.b.memory->bytes.size() - 100;
  refused_somehow(ndk, check, c.b, "NdkBind beyond the region",
                  bind(c.b, *c.b.memory, ndk.b().window(), near_end, 200, NDK_OP_FLAG_ALLOW_REMOTE_READ));
}

CONFORMANCE_CASE(ndk_a_window_has_no_more_rights_than_its_region, "ndk.mw.rights", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  const NdkMemory& readable = ndk.b().memory(4096, NDK_MR_FLAG_ALLOW_LOCAL_READ);
  refused_somehow(ndk, check, c.b, "NdkBind for Writes to a region that is read alone",
                  bind(c.b, readable, ndk.b().window(), 0, 256, NDK_OP_FLAG_ALLOW_REMOTE_WRITE));
}

CONFORMANCE_CASE(ndk_a_window_belongs_to_its_queue_pair, "ndk.mw.queue", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  NdkConnection& other = ndk.connect();
  NDK_MW* const window = bound(ndk, check, c, NDK_OP_FLAG_ALLOW_REMOTE_READ);
  const UINT64 address = c.b.memory->address(1024);
  says(check, "a Read over its connection", access(ndk, check, c, true, address, token_of(window)), {STATUS_SUCCESS});
  refused(check, "a Read over another", access(ndk, check, other, true, address, token_of(window)));
}

CONFORMANCE_CASE(ndk_a_window_gives_its_rights, "ndk.mw.grants", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  NDK_MW* const window = bound(ndk, check, c, NDK_OP_FLAG_ALLOW_REMOTE_READ);
  const UINT64 address = c.b.memory->address(1024);
  says(check, "a Read", access(ndk, check, c, true, address, token_of(window)), {STATUS_SUCCESS});
  refused(check, "a Write", access(ndk, check, c, false, address, token_of(window)));
}

CONFORMANCE_CASE(ndk_an_invalidated_window_serves_nobody, "ndk.mw.invalidate", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  NDK_MW* const window = bound(ndk, check, c, NDK_OP_FLAG_ALLOW_REMOTE_READ);
  const UINT32 token = token_of(window);
  arranged_by(check, "NdkReceive", c.a.receive(1));
  arranged_by(check, "NdkInvalidate", c.b.qp->Dispatch->NdkInvalidate(c.b.qp, ndk_tag(7), &window->Header, 0));
  ends_as(ndk, check, c.b, "the Invalidate", {STATUS_SUCCESS});
  arranged_by(check, "NdkRead", c.a.read(9, 8192, 16, c.b.memory->address(1024), token));
  NDK_RESULT_EX result = next_result(ndk, check, c.a, "the Read");
  // The Receive may be cancelled first; only what the Read says counts.
  if (result.RequestContext != ndk_tag(9)) result = next_result(ndk, check, c.a, "the Read");
  refused(check, "a Read through a window that was invalidated", result.Status);
  // On another queue pair that is refused, or it closes the window as well.
  NdkConnection &own = ndk.connect(), &other = ndk.connect();
  NDK_MW* const second = bound(ndk, check, own, NDK_OP_FLAG_ALLOW_REMOTE_READ);
  const UINT32 open = token_of(second);
  NdkStatus ended = other.b.qp->Dispatch->NdkInvalidate(other.b.qp, ndk_tag(7), &second->Header, 0);
  if (!ended.failed()) ended = next_result(ndk, check, other.b, "an Invalidate on another queue pair").Status;
  if (!ended.failed()) {
    refused(check, "a Read through a window that was invalidated on another queue pair",
            access(ndk, check, own, true, own.b.memory->address(1024), open));
  }
}

CONFORMANCE_CASE(ndk_a_bind_that_fails_changes_nothing, "ndk.mw.invalidate", roles::provider) {
  enum class Wrong : std::uint8_t { range, before, size, flag, rights, full };
  constexpr ULONG kBoth = NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE;
  NdkBench& ndk = bench.ndk();
  for (const Wrong wrong : {Wrong::range, Wrong::before, Wrong::size, Wrong::flag, Wrong::rights, Wrong::full}) {
    NdkConnection& c = ndk.connect({.b = {.depth = 4}});
    const NdkMemory &memory = ndk.b().memory(8192), &readable = ndk.b().memory(4096, NDK_MR_FLAG_ALLOW_LOCAL_READ);
    NDK_MW* const window = ndk.b().window();
    ULONG sent = 0;
    NdkStatus called;
    if (wrong == Wrong::range) called = bind(c.b, memory, window, 8192 - 8, 64, kBoth);
    if (wrong == Wrong::before)
      called = c.b.qp->Dispatch->NdkBind(c.b.qp, nullptr, memory.region, window, memory.bytes.data() - 8, 64, kBoth);
    if (wrong == Wrong::size) called = bind(c.b, memory, window, 0, 8193, kBoth);
    if (wrong == Wrong::flag) called = bind(c.b, memory, window, 0, 64, kBoth | 0x8000'0000u);
    if (wrong == Wrong::rights) called = bind(c.b, readable, window, 0, 64, NDK_OP_FLAG_ALLOW_REMOTE_WRITE);
    if (wrong == Wrong::full) {
      // The peer has no Receives yet. A queue may be deeper than it was made for.
      while (sent < 64 && c.b.send(30, 0, 4) == STATUS_SUCCESS) ++sent;
      if (sent == 64) continue;
      called = bind(c.b, memory, window, 0, 64, kBoth);
    }
    if (!called.failed()) continue;  // left to the card: the connection is over, or about to be
    for (ULONG i = 0; i < sent; ++i) {
      arranged_by(check, "NdkReceive", c.a.receive(40, 0, 4));
      next_result(ndk, check, c.a, "a Receive");
    }
    for (ULONG i = 0; i < sent; ++i) ends_as(ndk, check, c.b, "a Send", {STATUS_SUCCESS});
    const std::string what = " after a Bind that was refused, number " + std::to_string(static_cast<int>(wrong));
    check.require(says(check, "NdkBind" + what, bind(c.b, memory, window, 4096, 1024, kBoth), {STATUS_SUCCESS}), "NdkBind is taken");
    check.require(ends_as(ndk, check, c.b, "the Bind" + what, {STATUS_SUCCESS}), "the window is bound");
    const UINT32 token = token_of(window);
    says(check, "a Read through the window" + what, access(ndk, check, c, true, memory.address(4096), token, 1024), {STATUS_SUCCESS});
    arranged_by(check, "NdkInvalidate", c.b.qp->Dispatch->NdkInvalidate(c.b.qp, ndk_tag(7), &window->Header, 0));
    ends_as(ndk, check, c.b, "the Invalidate", {STATUS_SUCCESS});
    for (const NdkMemory* m : {&memory, &readable}) {
      if (m == &memory)
        refused(check, "a Read through a window that was invalidated", access(ndk, check, c, true, m->address(4096), token));
      says(check, "NdkDeregisterMr" + what,
           ndk.request([&](auto done, PVOID x) { return m->region->Dispatch->NdkDeregisterMr(m->region, done, x); }), {STATUS_SUCCESS});
    }
  }
}

CONFORMANCE_CASE(ndk_tokens_of_earlier_bindings_serve_nobody, "ndk.mw.invalidate", roles::provider) {
  constexpr ULONG kBoth = NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE;
  // Bound anew at another place, in another region, with other rights, on another queue pair.
  enum class Again : std::uint8_t { none, place, region, rights, pair };
  NdkBench& ndk = bench.ndk();
  for (const Again again : {Again::none, Again::place, Again::region, Again::rights, Again::pair}) {
    NdkConnection &c = ndk.connect(), &d = ndk.connect();
    const NdkMemory &first = ndk.b().memory(8192), &second = ndk.b().memory(8192);
    NDK_MW* const window = ndk.b().window();
    const auto bound_at = [&](NdkSide& side, const NdkMemory& m, std::size_t offset, ULONG flags) {
      check.require(bind(side, m, window, offset, 1024, flags) == STATUS_SUCCESS, "NdkBind is taken");
      check.require(ends_as(ndk, check, side, "the Bind", {STATUS_SUCCESS}), "the window is bound");
    };
    bound_at(c.b, first, 0, kBoth);
    const UINT32 token = token_of(window);
    says(check, "a Read through the window", access(ndk, check, c, true, first.address(0), token), {STATUS_SUCCESS});
    arranged_by(check, "NdkInvalidate", c.b.qp->Dispatch->NdkInvalidate(c.b.qp, ndk_tag(7), &window->Header, 0));
    ends_as(ndk, check, c.b, "the Invalidate", {STATUS_SUCCESS});
    NdkConnection& on = again == Again::pair ? d : c;
    const NdkMemory& m = again == Again::region ? second : first;
    const std::size_t at = again == Again::place ? 4096 : 0;
    if (again != Again::none) {
      bound_at(on.b, m, at, again == Again::rights ? NDK_OP_FLAG_ALLOW_REMOTE_READ : kBoth);
      says(check, "a Read through the window", access(ndk, check, on, true, m.address(at), token_of(window)), {STATUS_SUCCESS});
    }
    // The same place with the same token is the window that is open now, where a card gives each binding the same.
    if (again == Again::pair && token == token_of(window)) continue;
    const std::string what = " after binding number " + std::to_string(static_cast<int>(again));
    const Bytes before(first.bytes.begin(), first.bytes.end());
    refused(check, "a Write with the token of an earlier binding" + what, access(ndk, check, c, false, first.address(0), token));
    check.bytes("the memory" + what, first.bytes, before);
  }
}

}  // namespace fb::conformance
