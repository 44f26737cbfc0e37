// Memory windows.
#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

constexpr ULONG kBoth = ND_OP_FLAG_ALLOW_READ | ND_OP_FLAG_ALLOW_WRITE;

/// A connection, and at its passive side a region without remote rights and a window.
struct Scene {
  explicit Scene(ProviderBench& b, ULONG flags = ND_MR_FLAG_ALLOW_LOCAL_WRITE)
      : bench(b), c(b.nd().connect()), memory(c->b.end->memory(8192, flags)), window(c->b.end->window()) {}

  UINT64 at(std::size_t offset) const { return memory->address(offset); }
  HRESULT post_bind(IND2MemoryWindow& w, std::size_t offset, SIZE_T length, ULONG flags) {
    return c->b.qp->Bind(nd_tag(21), memory->region.get(), &w, memory->bytes.data() + offset, length, flags);
  }
  bool bind(Check& check, IND2MemoryWindow& w, std::size_t offset, SIZE_T length, ULONG flags) {
    return says(check, "Bind", post_bind(w, offset, length, flags), {ND_SUCCESS}) && ends_as(bench, check, c->b, "Bind", {ND_SUCCESS});
  }
  void bound(Check& check, std::size_t offset, SIZE_T length, ULONG flags) {
    check.require(bind(check, *window, offset, length, flags), "the window is bound");
  }
  void invalidated(Check& check) {
    check.require(says(check, "Invalidate", c->b.qp->Invalidate(nullptr, window.get(), 0), {ND_SUCCESS}), "Invalidate is taken");
    ends_as(bench, check, c->b, "Invalidate", {ND_SUCCESS});
  }
  /// Refused in the call, or by the result.
  void not_bound(Check& check, std::string_view what, HRESULT called) {
    refused(check, what, called == ND_SUCCESS ? NdStatus(next_result(bench, check, c->b, what).Status) : NdStatus(called));
  }
  NdStatus access_of(Check& check, bool read, std::size_t offset, ULONG length = 16) {
    return access(bench, check, *c, read, at(offset), window->GetRemoteToken(), length);
  }

  ProviderBench& bench;
  std::unique_ptr<NdConnection> c;
  std::unique_ptr<NdMemory> memory;
  NdRef<IND2MemoryWindow> window;
};

}  // namespace

CONFORMANCE_CASE(nd_a_window_gives_access, "networkdirect.window.access", roles::provider) {
  Scene s(bench);
  s.bound(check, 4096, 1024, kBoth);
  says(check, "a Read through the window", s.access_of(check, true, 4096, 1024), {ND_SUCCESS});
  says(check, "a Write through the window", s.access_of(check, false, 4096, 1024), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_a_token_is_good_at_once, "networkdirect.window.token", roles::provider) {
  Scene s(bench);
  check.require(says(check, "Bind", s.post_bind(*s.window, 0, 1024, kBoth), {ND_SUCCESS}), "Bind is taken");
  const UINT32 early = s.window->GetRemoteToken();
  ends_as(bench, check, s.c->b, "Bind", {ND_SUCCESS});
  check.equal("the token after the completion", s.window->GetRemoteToken(), early);
  says(check, "a Read with the early token", access(bench, check, *s.c, true, s.at(0), early), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_a_window_has_its_rights, "networkdirect.window.rights", roles::provider) {
  for (const bool read : {false, true}) {
    Scene s(bench);
    s.bound(check, 0, 1024, read ? ND_OP_FLAG_ALLOW_WRITE : ND_OP_FLAG_ALLOW_READ);
    refused(check, read ? "a Read through a window for writing" : "a Write through a window for reading", s.access_of(check, read, 0));
  }
}

CONFORMANCE_CASE(nd_a_window_has_an_end, "networkdirect.window.range", roles::provider) {
  Scene s(bench);
  s.bound(check, 0, 1024, kBoth);
  says(check, "a Read of the whole window", s.access_of(check, true, 0, 1024), {ND_SUCCESS});
  refused(check, "a Read beyond the window", s.access_of(check, true, 1, 1024));
}

CONFORMANCE_CASE(nd_a_window_is_within_its_region, "networkdirect.window.bind-range", roles::provider) {
  Scene s(bench);
  s.not_bound(check, "a window beyond its region", s.post_bind(*s.window, 8192 - 8, 64, ND_OP_FLAG_ALLOW_READ));
}

CONFORMANCE_CASE(nd_a_window_for_writing_wants_local_write, "networkdirect.window.bind-rights", roles::provider) {
  Scene s(bench, 0);
  s.not_bound(check, "a window for writing in a region for reading", s.post_bind(*s.window, 0, 64, ND_OP_FLAG_ALLOW_WRITE));
}

CONFORMANCE_CASE(nd_a_window_may_have_no_right, "networkdirect.window.no-rights", roles::provider) {
  Scene s(bench);
  s.bind(check, *s.window, 0, 64, 0);
}

CONFORMANCE_CASE(nd_a_window_is_for_one_pair, "networkdirect.window.own-pair", roles::provider) {
  Scene s(bench);
  const auto other = bench.nd().connect();
  s.bound(check, 0, 1024, kBoth);
  refused(check, "a Read of another queue pair's peer", access(bench, check, *other, true, s.at(0), s.window->GetRemoteToken()));
  says(check, "a Read of the own peer", s.access_of(check, true, 0), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_windows_may_overlap, "networkdirect.window.overlap", roles::provider) {
  Scene s(bench);
  const auto second = s.c->b.end->window();
  s.bound(check, 0, 1024, kBoth);
  check.require(s.bind(check, *second, 512, 1024, kBoth), "the second window is bound");
  says(check, "a Read through the first", s.access_of(check, true, 512), {ND_SUCCESS});
  says(check, "a Read through the second", access(bench, check, *s.c, true, s.at(512), second->GetRemoteToken()), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_an_invalidated_window_is_closed, "networkdirect.window.invalidate", roles::provider) {
  Scene s(bench);
  s.bound(check, 0, 1024, kBoth);
  const UINT32 token = s.window->GetRemoteToken();
  s.invalidated(check);
  refused(check, "a Read through a window that was invalidated", access(bench, check, *s.c, true, s.at(0), token));
  // On another queue pair that is refused, or it closes the window as well.
  Scene own(bench);
  const auto other = bench.nd().connect();
  own.bound(check, 0, 1024, kBoth);
  NdStatus ended = other->b.qp->Invalidate(nullptr, own.window.get(), 0);
  if (!ended.failed()) ended = next_result(bench, check, other->b, "an Invalidate on another queue pair").Status;
  if (!ended.failed()) {
    refused(check, "a Read through a window that was invalidated on another queue pair", own.access_of(check, true, 0));
  }
}

CONFORMANCE_CASE(nd_what_is_not_bound_is_not_invalidated, "networkdirect.window.invalidate-unbound", roles::provider) {
  Scene s(bench);
  const HRESULT called = s.c->b.qp->Invalidate(nullptr, s.window.get(), 0);
  says(check, "Invalidate of a window that is not bound", called, {ND_SUCCESS, ND_INVALID_DEVICE_REQUEST});
  if (called == ND_SUCCESS) ends_as(bench, check, s.c->b, "Invalidate of a window that is not bound", {ND_INVALID_DEVICE_REQUEST});
}

CONFORMANCE_CASE(nd_a_window_is_bound_again, "networkdirect.window.rebind", roles::provider) {
  Scene s(bench);
  s.bound(check, 0, 1024, kBoth);
  s.invalidated(check);
  s.bound(check, 4096, 1024, kBoth);
  says(check, "a Read through the window", s.access_of(check, true, 4096, 1024), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_a_bind_that_fails_changes_nothing, "networkdirect.window.rebind", roles::provider) {
  enum class Wrong : std::uint8_t { range, before, size, flag, rights, full };
  for (const Wrong wrong : {Wrong::range, Wrong::before, Wrong::size, Wrong::flag, Wrong::rights, Wrong::full}) {
    constexpr ULONG kDepth = 4;
    NdConnectTerms terms;
    terms.b.depth = kDepth;
    const auto c = bench.nd().connect(terms);
    const auto memory = c->b.end->memory(8192, ND_MR_FLAG_ALLOW_LOCAL_WRITE), readable = c->b.end->memory(4096, 0);
    const auto window = c->b.end->window();
    const auto bind = [&](NdMemory& m, std::ptrdiff_t offset, SIZE_T length, ULONG flags) {
      return c->b.qp->Bind(nd_tag(21), m.region.get(), window.get(), m.bytes.data() + offset, length, flags);
    };
    const auto bound = [&](std::ptrdiff_t offset) {
      check.require(bind(*memory, offset, 1024, kBoth) == ND_SUCCESS, "Bind is taken");
      check.require(ends_as(bench, check, c->b, "Bind", {ND_SUCCESS}), "the window is bound");
    };
    const auto invalidated = [&] {
      check.require(c->b.qp->Invalidate(nullptr, window.get(), 0) == ND_SUCCESS, "Invalidate is taken");
      ends_as(bench, check, c->b, "Invalidate", {ND_SUCCESS});
    };
    bound(0);
    invalidated();
    ULONG sent = 0;
    HRESULT called = ND_SUCCESS;
    if (wrong == Wrong::range) called = bind(*memory, 8192 - 8, 64, kBoth);
    if (wrong == Wrong::before) called = bind(*memory, -8, 64, kBoth);
    if (wrong == Wrong::size) called = bind(*memory, 0, 8193, kBoth);
    if (wrong == Wrong::flag) called = bind(*memory, 0, 64, kBoth | 0x8000'0000u);
    if (wrong == Wrong::rights) called = bind(*readable, 0, 64, ND_OP_FLAG_ALLOW_WRITE);
    if (wrong == Wrong::full) {
      // The peer has no Receives yet. A queue may be deeper than it was made for.
      while (sent < 64 && c->b.qp->Send(nd_tag(30), nullptr, 0, 0) == ND_SUCCESS) ++sent;
      if (sent == 64) continue;
      called = bind(*memory, 0, 64, kBoth);
    }
    if (called == ND_SUCCESS) continue;  // left to the device: the connection is over, or about to be
    for (ULONG i = 0; i < sent; ++i) arranged_by(check, "Receive", c->a.qp->Receive(nullptr, nullptr, 0));
    for (ULONG i = 0; i < sent; ++i) ends_as(bench, check, c->b, "a Send", {ND_SUCCESS});
    for (ULONG i = 0; i < sent; ++i) next_result(bench, check, c->a, "a Receive");
    const std::string what = " after a Bind that was refused, number " + std::to_string(static_cast<int>(wrong));
    bound(4096);
    says(check, "a Read through the window" + what, access(bench, check, *c, true, memory->address(4096), window->GetRemoteToken(), 1024),
         {ND_SUCCESS});
    invalidated();
    for (NdMemory* m : {memory.get(), readable.get()}) {
      NdRequest request;
      const HRESULT dropped = m->region->Deregister(&request);
      says(check, "Deregister" + what, ended(bench, dropped, request, *m->region), {ND_SUCCESS});
    }
  }
}

CONFORMANCE_CASE(nd_tokens_of_earlier_bindings_are_closed, "networkdirect.window.invalidate", roles::provider) {
  // Bound anew at another place, in another region, with other rights, on another queue pair.
  enum class Again : std::uint8_t { none, place, region, rights, pair };
  for (const Again again : {Again::none, Again::place, Again::region, Again::rights, Again::pair}) {
    const auto c = bench.nd().connect(), d = bench.nd().connect();
    const auto first = c->b.end->memory(8192, ND_MR_FLAG_ALLOW_LOCAL_WRITE), second = c->b.end->memory(8192, ND_MR_FLAG_ALLOW_LOCAL_WRITE);
    const auto window = c->b.end->window();
    const auto bound = [&](NdConnection& on, NdMemory& m, std::size_t offset, ULONG flags) {
      const HRESULT called = on.b.qp->Bind(nd_tag(21), m.region.get(), window.get(), m.bytes.data() + offset, 1024, flags);
      check.require(called == ND_SUCCESS, "Bind is taken", "it answered " + words(NdStatus(called)));
      check.require(ends_as(bench, check, on.b, "Bind", {ND_SUCCESS}), "the window is bound");
    };
    bound(*c, *first, 0, kBoth);
    const UINT32 token = window->GetRemoteToken();
    says(check, "a Read through the window", access(bench, check, *c, true, first->address(0), token), {ND_SUCCESS});
    check.require(c->b.qp->Invalidate(nullptr, window.get(), 0) == ND_SUCCESS, "Invalidate is taken");
    ends_as(bench, check, c->b, "Invalidate", {ND_SUCCESS});
    NdConnection& on = again == Again::pair ? *d : *c;
    NdMemory& m = again == Again::region ? *second : *first;
    const std::size_t at = again == Again::place ? 4096 : 0;
    if (again != Again::none) {
      bound(on, m, at, again == Again::rights ? ND_OP_FLAG_ALLOW_READ : kBoth);
      says(check, "a Read through the window", access(bench, check, on, true, m.address(at), window->GetRemoteToken()), {ND_SUCCESS});
    }
    // The same place with the same token is the window that is open now, where a provider gives each binding the same.
    if (again == Again::pair && token == window->GetRemoteToken()) continue;
    const std::string what = " after binding number " + std::to_string(static_cast<int>(again));
    const Bytes before(first->bytes.begin(), first->bytes.end());
    refused(check, "a Write with the token of an earlier binding" + what, access(bench, check, *c, false, first->address(0), token));
    check.bytes("the memory" + what, first->bytes, before);
  }
}

}  // namespace fb::conformance
