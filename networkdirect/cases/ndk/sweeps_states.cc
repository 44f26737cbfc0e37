// Calls on connectors in every state, what is left of objects when they go, and pages that lie anywhere.
#include <array>

#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

constexpr UINT64 kBase = 0x7000'0000;
constexpr ULONG kBoth = NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE;

/// Calls on a connector that this state of it does not have. Each is refused.
class Refusals {
 public:
  Refusals(NdkBench& ndk, Check& check, NdkConnection& connection) : ndk_(ndk), check_(check), c_(connection) {
    nobody_.kernel = &ndk.kernel();
  }

  void connect(std::string_view state, NdkSide& side, NDK_QP* qp) {
    NdkAddress from(side.end->address()), to(c_.b.end->address(), c_.port);
    NDK_CONNECTOR* const connector = side.connector;
    refuses("NdkConnect", state, ndk_.begin([&](auto done, PVOID x) {
      return connector->Dispatch->NdkConnect(connector, qp, from.get(), from.length, to.get(), to.length, 1, 1, nullptr, 0, done, x);
    }));
    if (side.end != &ndk_.a()) return;
    NDK_SHARED_ENDPOINT* const endpoint = side.end->endpoint(0);
    refuses("NdkConnectWithSharedEndpoint", state, ndk_.begin([&](auto done, PVOID x) {
      return connector->Dispatch->NdkConnectWithSharedEndpoint(connector, qp, endpoint, to.get(), to.length, 1, 1, nullptr, 0, done, x);
    }));
  }
  void complete(std::string_view state, NDK_CONNECTOR* connector) {
    refuses("NdkCompleteConnect", state, ndk_.begin([&](auto done, PVOID x) {
      return connector->Dispatch->NdkCompleteConnect(connector, &NdkSide::on_disconnect, &nobody_, done, x);
    }));
    if (ndk_.terms().version.Major < 2) return;
    refuses("NdkCompleteConnectEx", state, ndk_.begin([&](auto done, PVOID x) {
      return connector->Dispatch->NdkCompleteConnectEx(connector, &NdkSide::on_disconnect_ex, &nobody_, done, x);
    }));
  }
  void accept(std::string_view state, NDK_CONNECTOR* connector, NDK_QP* qp) {
    refuses("NdkAccept", state, ndk_.begin([&](auto done, PVOID x) {
      return connector->Dispatch->NdkAccept(connector, qp, 1, 1, nullptr, 0, &NdkSide::on_disconnect, &nobody_, done, x);
    }));
    if (ndk_.terms().version.Major < 2) return;
    refuses("NdkAcceptEx", state, ndk_.begin([&](auto done, PVOID x) {
      return connector->Dispatch->NdkAcceptEx(connector, qp, 1, 1, nullptr, 0, &NdkSide::on_disconnect_ex, &nobody_, done, x);
    }));
  }
  void reject(std::string_view state, NDK_CONNECTOR* connector) {
    refused(check_, "NdkReject of a connector " + std::string(state), connector->Dispatch->NdkReject(connector, nullptr, 0));
  }
  void disconnect(std::string_view state, NDK_CONNECTOR* connector) {
    refuses("NdkDisconnect", state, ndk_.begin([&](auto done, PVOID x) { return connector->Dispatch->NdkDisconnect(connector, done, x); }));
  }
  void data(std::string_view state, NDK_CONNECTOR* connector) {
    ULONG length = 0;
    refused(check_, "NdkGetConnectionData of a connector " + std::string(state),
            connector->Dispatch->NdkGetConnectionData(connector, nullptr, nullptr, nullptr, &length));
  }
  int events() const { return nobody_.disconnected; }

 private:
  void refuses(std::string_view what, std::string_view state, NdkAnswer& answer) {
    refused(check_, std::string(what) + " of a connector " + std::string(state), ndk_.finish(answer, Duration::ms(1)));
  }
  NdkBench& ndk_;
  Check& check_;
  NdkConnection& c_;
  NdkSide nobody_;
};

/// A message each way.
void messages_cross(NdkBench& ndk, Check& check, NdkConnection& c) {
  for (auto [from, to] : {std::pair{&c.a, &c.b}, std::pair{&c.b, &c.a}}) {
    arranged_by(check, "NdkReceive", to->receive(71, 32768, 4096));
    check.require(from->send(72, 3, 100) == STATUS_SUCCESS, "NdkSend is taken");
    ends_as(ndk, check, *from, "the Send", {STATUS_SUCCESS});
    ends_as(ndk, check, *to, "the Receive", {STATUS_SUCCESS});
    check.bytes("the message", ByteView(to->memory->bytes).subspan(32768, 100), ByteView(from->memory->bytes).subspan(3, 100));
  }
}

NdkStatus disconnected(NdkBench& ndk, NDK_CONNECTOR* connector) {
  return ndk.request([&](auto c, PVOID x) { return connector->Dispatch->NdkDisconnect(connector, c, x); });
}

}  // namespace

CONFORMANCE_CASE(ndk_connectors_refuse_what_their_state_does_not_have, "ndk.connector.complete-early", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.prepare();
  Refusals refuse(ndk, check, c);
  NDK_QP *const spare_a = ndk.a().queue_pair(ndk.a().queue()), *const spare_b = ndk.b().queue_pair(ndk.b().queue());
  const auto no_peer = [&](std::string_view state, NDK_CONNECTOR* connector, NDK_QP* qp) {
    refuse.complete(state, connector);
    refuse.accept(state, connector, qp);
    refuse.reject(state, connector);
    refuse.disconnect(state, connector);
    refuse.data(state, connector);
  };
  no_peer("that is new", c.a.connector, spare_a);
  arranged_by(check, "NdkConnect", ndk.begin_connect(c).said);
  refuse.connect("that asks", c.a, spare_a);
  no_peer("that asks", c.a.connector, spare_a);
  check.require(ndk.asked(c), "the request reaches the listener");
  refuse.connect("with a request", c.b, spare_b);
  refuse.complete("with a request", c.b.connector);
  refuse.disconnect("with a request", c.b.connector);
  arranged_by(check, "NdkAccept", ndk.begin_accept(c).said);
  refuse.connect("that has accepted", c.b, spare_b);
  no_peer("that has accepted", c.b.connector, spare_b);
  check.require(ndk.finish(*c.connecting) == STATUS_SUCCESS, "NdkConnect completes with STATUS_SUCCESS");
  refuse.connect("with a reply", c.a, spare_a);
  refuse.accept("with a reply", c.a.connector, spare_a);
  refuse.disconnect("with a reply", c.a.connector);
  check.require(ndk.finish(ndk.begin_complete(c)) == STATUS_SUCCESS, "NdkCompleteConnect completes with STATUS_SUCCESS");
  check.require(ndk.finish(*c.accepting) == STATUS_SUCCESS, "NdkAccept completes with STATUS_SUCCESS");
  for (auto [side, spare] : {std::pair{&c.a, spare_a}, std::pair{&c.b, spare_b}}) {
    refuse.connect("that is connected", *side, spare);
    refuse.complete("that is connected", side->connector);
    refuse.accept("that is connected", side->connector, spare);
    refuse.reject("that is connected", side->connector);
    refuse.data("that is connected", side->connector);
  }
  // Nothing of all that changed anything.
  messages_cross(ndk, check, c);
  says(check, "NdkDisconnect", disconnected(ndk, c.a.connector), {STATUS_SUCCESS});
  ndk.pass(kNdkQuiet);
  check.equal("disconnect events of the other side", c.b.disconnected, 1);
  check.equal("disconnect events of who is refused", refuse.events(), 0);
  refuse.connect("that was disconnected", c.a, spare_a);
  no_peer("that was disconnected", c.a.connector, spare_a);
  refuse.connect("whose peer has disconnected", c.b, spare_b);
  refuse.complete("whose peer has disconnected", c.b.connector);
  refuse.accept("whose peer has disconnected", c.b.connector, spare_b);
  refuse.reject("whose peer has disconnected", c.b.connector);
}

CONFORMANCE_CASE(ndk_a_window_goes_with_its_queue_pair, "ndk.mr.deregister-bound", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  NDK_MR* const region = c.b.memory->region;
  const auto deregister = [&] {
    return ndk.request([&](auto done, PVOID x) { return region->Dispatch->NdkDeregisterMr(region, done, x); });
  };
  std::array<NDK_MW*, 3> windows;
  for (NDK_MW*& window : windows) {
    window = ndk.b().window();
    arranged_by(check, "NdkBind",
                c.b.qp->Dispatch->NdkBind(c.b.qp, ndk_tag(4), region, window, c.b.memory->at(64), 64, NDK_OP_FLAG_ALLOW_REMOTE_READ));
    ends_as(ndk, check, c.b, "the Bind", {STATUS_SUCCESS});
  }
  refused(check, "NdkDeregisterMr with windows", deregister());
  ndk.finish(ndk.close(c.b.connector));
  ndk.finish(ndk.close(c.b.qp));
  says(check, "NdkDeregisterMr when the queue pair of every window is gone", deregister(), {STATUS_SUCCESS});
  const auto again = ndk.request([&](auto done, PVOID x) {
    return region->Dispatch->NdkRegisterMr(region, &c.b.memory->mdl, c.b.memory->bytes.size(), kNdkAllRights, done, x);
  });
  says(check, "NdkRegisterMr once more", again, {STATUS_SUCCESS});
  says(check, "NdkDeregisterMr once more", deregister(), {STATUS_SUCCESS});
  refused(check, "NdkDeregisterMr of what is not registered", deregister());
}

CONFORMANCE_CASE(ndk_what_is_closed_gives_its_port_back, "ndk.endpoint.busy", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.prepare();
  constexpr std::uint16_t kFrom = 50777;
  enum class End : std::uint8_t { close, reject, disconnect, peer };
  const auto endpoint_at = [&](std::uint16_t port) -> auto& {
    return ndk.create<NDK_SHARED_ENDPOINT>([&](auto done, PVOID x, NDK_SHARED_ENDPOINT** p) {
      NdkAddress at(ndk.a().address(), port);
      return ndk.a().adapter()->Dispatch->NdkCreateSharedEndpoint(ndk.a().adapter(), at.get(), at.length, done, x, p);
    });
  };
  for (const bool shared : {false, true}) {
    for (const End how : {End::close, End::reject, End::disconnect, End::peer, End::close}) {
      c.a.connector = ndk.a().connector();
      c.a.qp = ndk.a().queue_pair(*c.a.queue);
      c.b.qp = ndk.b().queue_pair(*c.b.queue);
      NDK_SHARED_ENDPOINT* endpoint = nullptr;
      if (shared) {
        const auto& creation = endpoint_at(kFrom);
        check.require(says(check, "NdkCreateSharedEndpoint at a port that was used before", creation.end(), {STATUS_SUCCESS}),
                      "there is an endpoint");
        endpoint = creation.made();
        NdkAddress to(ndk.b().address(), c.port);
        c.connecting = &ndk.begin([&](auto done, PVOID x) {
          return c.a.connector->Dispatch->NdkConnectWithSharedEndpoint(c.a.connector, c.a.qp, endpoint, to.get(), to.length, 1, 1, nullptr,
                                                                       0, done, x);
        });
      } else {
        ndk.begin_connect(c, {.source_port = kFrom});
      }
      check.require(c.connecting->said == STATUS_PENDING, "NdkConnect from a port that was used before",
                    "it answered " + words(NdkStatus(c.connecting->said)));
      refused(check, "NdkCreateSharedEndpoint at a port that is in use", endpoint_at(kFrom).end());
      check.require(ndk.asked(c), "the request reaches the listener");
      if (how == End::reject) {
        arranged_by(check, "NdkReject", c.b.connector->Dispatch->NdkReject(c.b.connector, nullptr, 0));
        says(check, "NdkConnect", ndk.finish(*c.connecting), {STATUS_CONNECTION_REFUSED});
      } else if (how != End::close) {
        arranged_by(check, "NdkAccept", ndk.begin_accept(c).said);
        check.require(ndk.finish(*c.connecting) == STATUS_SUCCESS, "NdkConnect completes with STATUS_SUCCESS");
        check.require(ndk.finish(ndk.begin_complete(c)) == STATUS_SUCCESS, "NdkCompleteConnect completes with STATUS_SUCCESS");
        check.require(ndk.finish(*c.accepting) == STATUS_SUCCESS, "NdkAccept completes with STATUS_SUCCESS");
        messages_cross(ndk, check, c);
        says(check, "NdkDisconnect", disconnected(ndk, (how == End::disconnect ? c.a : c.b).connector), {STATUS_SUCCESS});
      }
      for (NdkSide* side : {&c.a, &c.b}) {
        ndk.finish(ndk.close(side->connector));
        ndk.finish(ndk.close(side->qp));
      }
      if (endpoint != nullptr) {
        refused(check, "NdkCreateSharedEndpoint at the port of an endpoint whose connectors are closed", endpoint_at(kFrom).end());
        ndk.finish(ndk.close(endpoint));
      }
      ndk.pass(kNdkQuiet);
    }
  }
  const auto& last = endpoint_at(kFrom);
  says(check, "NdkCreateSharedEndpoint when all is closed", last.end(), {STATUS_SUCCESS});
}

CONFORMANCE_CASE(ndk_nothing_comes_after_the_end, "ndk.qp.flush", roles::provider) {
  NdkBench& ndk = bench.ndk();
  enum class End : std::uint8_t { flush, disconnect, close };
  for (const End how : {End::flush, End::disconnect, End::close}) {
    NdkConnection& c = ndk.connect();
    for (std::uintptr_t i = 0; i < 3; ++i) arranged_by(check, "NdkReceive", c.b.receive(20 + i, 0, 4096));
    const Bytes before(c.b.memory->bytes.begin(), c.b.memory->bytes.end());
    if (how == End::flush) {
      c.b.qp->Dispatch->NdkFlush(c.b.qp);
    } else if (how == End::disconnect) {
      says(check, "NdkDisconnect", disconnected(ndk, c.b.connector), {STATUS_SUCCESS});
    } else {
      ndk.close(c.b.qp);
    }
    for (std::uintptr_t i = 0; i < 3; ++i) {
      const NDK_RESULT_EX result = next_result(ndk, check, c.b, "a Receive");
      says(check, "a Receive", result.Status, {STATUS_CANCELLED});
      check.that(result.RequestContext == ndk_tag(20 + i), "Receives are cancelled in their order", "they are not");
    }
    // What the peer sends now has nowhere to go.
    c.a.send(1, 777, 512);
    c.a.write(2, 777, 512, c.b.memory->address(8192), c.b.memory->remote);
    ndk.pass(Duration::s(1));
    check.bytes("memory of Receives that were cancelled", c.b.memory->bytes, before);
    check.that(ndk.quiet(c.b, Duration::ms(1)), "there are no more results than requests", "there is another");
  }
}

CONFORMANCE_CASE(ndk_fast_pages_lie_anywhere, "ndk.fast.base", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  constexpr std::size_t kPages = 6;
  NdkMemory& memory = ndk.b().plain_memory(kPages * PAGE_SIZE);
  NdkLam& lam = mapped(ndk, check, ndk.b(), &memory.mdl, memory.bytes.size());
  check.require(lam.count() == kPages && lam.offset == 0, "a mapping of whole pages has each of them");
  NDK_MR* const region = ndk.b().fast_region(kPages);
  const UINT32 token = region->Dispatch->NdkGetRemoteTokenFromMr(region);
  Bytes expected(memory.bytes.begin(), memory.bytes.end());
  std::uint8_t fill = 0;
  std::uintptr_t base = static_cast<std::uintptr_t>(kBase);
  // More registrations than a queue pair has requests; pages in order, backwards, with gaps, and one alone.
  for (int round = 0; round < 24; ++round) {
    static constexpr std::array<std::array<std::size_t, 4>, 6> kOrders = {
        {{0, 1, 2, 3}, {3, 2, 1, 0}, {5, 0, 4, 1}, {1, 2, 0, 4}, {2, 3, 5, 4}, {4, 1, 3, 5}}};
    const auto& order = kOrders[static_cast<std::size_t>(round) % kOrders.size()];
    const auto count = static_cast<ULONG>(round % 5 == 4 ? 1 : 2 + round % 3);
    const ULONG offset = round % 2 == 0 ? 0 : 100;
    const SIZE_T length = std::size_t{count} * PAGE_SIZE - offset - (round % 4 == 3 ? 50u : 0u);
    std::vector<NDK_LOGICAL_ADDRESS> pages;
    for (ULONG i = 0; i < count; ++i) pages.push_back(lam.pages()[order[i]]);
    // Where byte `at` of the registration lies.
    const auto place = [&](std::size_t at) { return order[(at + offset) / PAGE_SIZE] * PAGE_SIZE + (at + offset) % PAGE_SIZE; };
    base += 16 * PAGE_SIZE;
    const NdkStatus posted =
        c.b.qp->Dispatch->NdkFastRegister(c.b.qp, ndk_tag(8), region, count, pages.data(), offset, length, ndk_tag(base + offset), kBoth);
    check.require(posted == STATUS_SUCCESS, "NdkFastRegister is taken", "it answered " + words(posted));
    ends_as(ndk, check, c.b, "the registration", {STATUS_SUCCESS});
    const std::string what = " of registration " + std::to_string(round);
    for (int turn = 0; turn < 3; ++turn) {
      // The owner writes all of it, and bytes beside it.
      for (std::size_t i = 0; i < memory.bytes.size(); ++i) {
        expected[i] = memory.bytes[i] = static_cast<std::uint8_t>(i * 3 + i / 256 + ++fill);
      }
      // A provider may look at scattered pages when it is called alone.
      c.b.queue->look();
      // The peer reads across each border of pages, and the first and the last byte.
      for (std::size_t at = 0; at < length; at += PAGE_SIZE / 2) {
        const auto bytes = static_cast<ULONG>(std::min<std::size_t>(length - at, PAGE_SIZE));
        says(check, "a Read" + what, access(ndk, check, c, true, base + offset + at, token, bytes), {STATUS_SUCCESS});
        Bytes wanted;
        for (std::size_t i = 0; i < bytes; ++i) wanted.push_back(expected[place(at + i)]);
        if (!check.bytes("what was read" + what, ByteView(c.a.memory->bytes).subspan(8192, bytes), wanted)) return;
      }
      // It writes, and the owner finds it, and nothing else.
      const std::size_t at = static_cast<std::size_t>(turn) * (length - 40) / 2;
      for (std::size_t i = 0; i < 40; ++i) expected[place(at + i)] = c.a.memory->bytes[8192 + i] = static_cast<std::uint8_t>(++fill * 5);
      says(check, "a Write" + what, access(ndk, check, c, false, base + offset + at, token, 40), {STATUS_SUCCESS});
      ndk.pass(Duration::us(100));
      check.that(!ndk.result(c.b, Duration::us(1)), "the owner has no results", "it has");
      if (!check.bytes("the owner's memory" + what, memory.bytes, expected)) return;
    }
    arranged_by(check, "NdkInvalidate", c.b.qp->Dispatch->NdkInvalidate(c.b.qp, nullptr, &region->Header, 0));
    ends_as(ndk, check, c.b, "the Invalidate", {STATUS_SUCCESS});
  }
}

}  // namespace fb::conformance
