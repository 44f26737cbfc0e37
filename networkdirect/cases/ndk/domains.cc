// Protection domains: what is made in one is of no use in another, for every use of memory and every object.
#include <array>
#include <optional>

#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

constexpr UINT64 kBase = 0x7000'0000;
constexpr ULONG kLength = 48;
constexpr std::size_t kPlace = 8192;  // of the bytes that nobody else uses

/// Nothing: the peer uses it, in a Read or in a Write.
struct Use {
  std::optional<NdkUse> own;
  bool read = false;
  std::string_view what;
};
constexpr std::array<Use, 7> kUses = {{{NdkUse::send, false, "a Send from"},
                                       {NdkUse::receive, false, "a Receive into"},
                                       {NdkUse::shared_receive, false, "a shared Receive into"},
                                       {NdkUse::read, false, "a Read into"},
                                       {NdkUse::write, false, "a Write from"},
                                       {std::nullopt, true, "the peer's Read of"},
                                       {std::nullopt, false, "the peer's Write to"}}};

NdkMemory& memory_in(NdkBench& ndk, Check& check, NdkEnd& end, NDK_PD* domain) {
  NdkMemory& memory = end.plain_memory(std::size_t{1} << 16);
  memory.region = region_of(ndk, domain, false);
  const NdkStatus registered = ndk.request([&](auto c, PVOID x) {
    return memory.region->Dispatch->NdkRegisterMr(memory.region, &memory.mdl, memory.bytes.size(), kNdkAllRights, c, x);
  });
  arranged_by(check, "NdkRegisterMr", registered);
  memory.local = memory.region->Dispatch->NdkGetLocalTokenFromMr(memory.region);
  memory.remote = memory.region->Dispatch->NdkGetRemoteTokenFromMr(memory.region);
  return memory;
}

/// A connection whose passive side has its queue pair in this domain.
NdkConnection& connect_in(NdkBench& ndk, Check& check, NDK_PD* domain, NDK_SRQ* shared = nullptr) {
  NdkConnection& c = ndk.prepare();
  NDK_CQ* const cq = c.b.queue->cq;
  c.b.qp = ndk.make<NDK_QP>("NdkCreateQp", [&](auto done, PVOID x, NDK_QP** p) {
    if (shared != nullptr) {
      return domain->Dispatch->NdkCreateQpWithSrq(domain, cq, cq, shared, ndk_tag(9), 16, 2, 0, done, x, p);
    }
    return domain->Dispatch->NdkCreateQp(domain, cq, cq, ndk_tag(9), 16, 16, 2, 2, 0, done, x, p);
  });
  establish(ndk, check, c);
  return c;
}

/// How the use of this memory of the passive side ends.
NdkStatus use(NdkBench& ndk, Check& check, NdkConnection& c, NDK_SRQ* shared, const Use& how, NdkMemory& memory) {
  if (!how.own) return access(ndk, check, c, how.read, memory.address(kPlace), memory.remote, kLength);
  return use_memory(ndk, check, c, shared, *how.own, memory.sge(kPlace, kLength));
}

}  // namespace

CONFORMANCE_CASE(ndk_tokens_keep_to_their_domain, "ndk.pd.tokens", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkEnd& end = ndk.b();
  const std::array<NDK_PD*, 2> domains = {end.pd(), another_domain(ndk, end)};
  for (const std::size_t of_pair : {0u, 1u}) {
    for (const std::size_t of_memory : {0u, 1u}) {
      for (const Use& how : kUses) {
        NDK_SRQ* const shared = how.own == NdkUse::shared_receive ? shared_queue_of(ndk, domains[of_pair]) : nullptr;
        NdkConnection& c = connect_in(ndk, check, domains[of_pair], shared);
        NdkMemory& memory = memory_in(ndk, check, end, domains[of_memory]);
        const Bytes before(memory.bytes.begin(), memory.bytes.end()), peer(c.a.memory->bytes.begin(), c.a.memory->bytes.end());
        const NdkStatus status = use(ndk, check, c, shared, how, memory);
        const std::string with = std::string(how.what) +
                                 (of_pair == of_memory ? " memory of the own protection domain" : " memory of another protection domain");
        if (of_pair == of_memory) {
          says(check, with, status, {STATUS_SUCCESS});
          continue;
        }
        refused(check, with, status);
        ndk.pass(Duration::ms(1));
        check.bytes("the memory after " + with, memory.bytes, before);
        check.bytes("the peer's memory after " + with, c.a.memory->bytes, peer);
      }
    }
  }
}

CONFORMANCE_CASE(ndk_objects_keep_to_their_domain, "ndk.pd.objects", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkEnd& end = ndk.b();
  NDK_PD *const own = end.pd(), *const other = another_domain(ndk, end);
  // In the other domain: a window that is bound and a fast region that is valid, and the peer that uses them.
  NdkConnection& there = connect_in(ndk, check, other);
  NdkMemory& memory = memory_in(ndk, check, end, other);
  NDK_MW* const window = window_of(ndk, other);
  arranged_by(
      check, "NdkBind",
      there.b.qp->Dispatch->NdkBind(there.b.qp, ndk_tag(1), memory.region, window, memory.at(0), 64, NDK_OP_FLAG_ALLOW_REMOTE_READ));
  ends_as(ndk, check, there.b, "the Bind", {STATUS_SUCCESS});
  NdkMemory& pages = end.plain_memory(PAGE_SIZE);
  NdkLam& lam = mapped(ndk, check, end, &pages.mdl, pages.bytes.size());
  const auto fast_region = [&](NDK_PD* domain) {
    NDK_MR* const made = region_of(ndk, domain, true);
    const auto initialize = [&](auto c, PVOID x) { return made->Dispatch->NdkInitializeFastRegisterMr(made, 4, 1, c, x); };
    arranged_by(check, "NdkInitializeFastRegisterMr", ndk.request(initialize));
    return made;
  };
  const auto register_fast = [&](NdkSide& side, NDK_MR* region) -> NdkStatus {
    return side.qp->Dispatch->NdkFastRegister(side.qp, ndk_tag(2), region, lam.count(), lam.pages(), lam.offset, PAGE_SIZE,
                                              ndk_tag(kBase + lam.offset), NDK_OP_FLAG_ALLOW_REMOTE_READ);
  };
  NDK_MR *const fast = fast_region(other), *const unused = fast_region(other);
  arranged_by(check, "NdkFastRegister", register_fast(there.b, fast));
  ends_as(ndk, check, there.b, "the registration", {STATUS_SUCCESS});
  const UINT32 fast_token = fast->Dispatch->NdkGetRemoteTokenFromMr(fast);
  const auto both_are_open = [&](std::string_view after) {
    says(check, "a Read through the window after " + std::string(after),
         access(ndk, check, there, true, memory.address(), window->Dispatch->NdkGetRemoteTokenFromMw(window)), {STATUS_SUCCESS});
    says(check, "a Read of the fast region after " + std::string(after), access(ndk, check, there, true, kBase + lam.offset, fast_token),
         {STATUS_SUCCESS});
  };
  both_are_open("both were made");

  NDK_SRQ* const shared = shared_queue_of(ndk, other);
  NDK_CQ* const cq = end.queue().cq;
  refused(check, "NdkCreateQpWithSrq with a shared receive queue of another domain",
          ndk.create<NDK_QP>([&](auto c, PVOID x, NDK_QP** p) {
               return own->Dispatch->NdkCreateQpWithSrq(own, cq, cq, shared, nullptr, 8, 2, 0, c, x, p);
             })
              .end());

  const auto binds = [&](NdkSide& side, NdkMemory& of, NDK_MW* mw) -> NdkStatus {
    return side.qp->Dispatch->NdkBind(side.qp, ndk_tag(3), of.region, mw, of.at(0), 64, NDK_OP_FLAG_ALLOW_REMOTE_READ);
  };
  const auto attempt = [&](std::string_view what, auto&& post) {
    NdkConnection& here = connect_in(ndk, check, own);
    refused_somehow(ndk, check, here.b, what, post(here.b));
    both_are_open(what);
  };
  NdkMemory& mine = memory_in(ndk, check, end, own);
  attempt("NdkBind in a region of another domain", [&](NdkSide& side) { return binds(side, memory, window_of(ndk, own)); });
  attempt("NdkBind of a window of another domain", [&](NdkSide& side) { return binds(side, mine, window_of(ndk, other)); });
  attempt("NdkBind of window and region of another domain", [&](NdkSide& side) { return binds(side, memory, window_of(ndk, other)); });
  attempt("NdkFastRegister of a region of another domain", [&](NdkSide& side) { return register_fast(side, unused); });
  attempt("NdkInvalidate of a window of another domain",
          [&](NdkSide& side) -> NdkStatus { return side.qp->Dispatch->NdkInvalidate(side.qp, ndk_tag(4), &window->Header, 0); });
  attempt("NdkInvalidate of a fast region of another domain",
          [&](NdkSide& side) -> NdkStatus { return side.qp->Dispatch->NdkInvalidate(side.qp, ndk_tag(4), &fast->Header, 0); });
  NdkConnection& here = connect_in(ndk, check, own);
  arranged_by(check, "NdkReceive", here.b.receive(5));
  arranged_by(check, "NdkSendAndInvalidate", here.a.qp->Dispatch->NdkSendAndInvalidate(here.a.qp, ndk_tag(6), nullptr, 0, 0, fast_token));
  ends_badly(ndk, check, here.b, "the Receive of a Send that invalidates a region of another domain");
  both_are_open("a Send that invalidates it through another domain");
}

}  // namespace fb::conformance
