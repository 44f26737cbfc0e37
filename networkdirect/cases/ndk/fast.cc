// Fast registration.
#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

constexpr UINT64 kBase = 0x40000000;
constexpr ULONG kBoth = NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE;

/// A connection, and pages of the passive side to register.
struct Fast {
  Fast(NdkBench& bench, Check& c) : ndk(bench), check(c), connection(bench.connect()), side(connection.b) {
    memory = &ndk.b().plain_memory(4 * PAGE_SIZE);
    lam = &mapped(ndk, check, ndk.b(), &memory->mdl, memory->bytes.size());
  }
  NdkStatus post(NDK_MR* region, ULONG pages, SIZE_T length, UINT64 base, ULONG flags) {
    return side.qp->Dispatch->NdkFastRegister(side.qp, ndk_tag(8), region, pages, lam->pages(), lam->offset, length,
                                              ndk_tag(static_cast<std::uintptr_t>(base)), flags);
  }
  void registered(NDK_MR* region, ULONG flags) {
    check.require(post(region, lam->count(), memory->bytes.size(), kBase + lam->offset, flags) == STATUS_SUCCESS,
                  "NdkFastRegister is taken");
    ends_as(ndk, check, side, "the registration", {STATUS_SUCCESS});
  }
  void refuses(std::string_view what, NdkStatus posted) { refused_somehow(ndk, check, side, what, posted); }
  NdkStatus read(UINT32 token, UINT64 at = 0) { return access(ndk, check, connection, true, kBase + lam->offset + at, token); }
  NdkStatus write(UINT32 token) { return access(ndk, check, connection, false, kBase + lam->offset, token); }

  NdkBench& ndk;
  Check& check;
  NdkConnection& connection;
  NdkSide& side;
  NdkMemory* memory = nullptr;
  NdkLam* lam = nullptr;
};

UINT32 token_of(NDK_MR* region) { return region->Dispatch->NdkGetRemoteTokenFromMr(region); }

}  // namespace

CONFORMANCE_CASE(ndk_pages_have_a_limit, "ndk.fast.limit", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NDK_MR* const region = ndk.a().region(true);
  const ULONG pages = ndk.a().info().FRMRPageCount + 1;
  says(check, "NdkInitializeFastRegisterMr with too many pages",
       ndk.request([&](auto c, PVOID x) { return region->Dispatch->NdkInitializeFastRegisterMr(region, pages, 1, c, x); }),
       {STATUS_IMPLEMENTATION_LIMIT});
}

CONFORMANCE_CASE(ndk_a_region_has_its_pages, "ndk.fast.pages", roles::provider) {
  Fast fast(bench.ndk(), check);
  fast.refuses("NdkFastRegister of more pages than the region has",
               fast.post(fast.ndk.b().fast_region(2), fast.lam->count(), PAGE_SIZE, kBase + fast.lam->offset, kBoth));
}

CONFORMANCE_CASE(ndk_base_and_offset_agree, "ndk.fast.offset", roles::provider) {
  Fast fast(bench.ndk(), check);
  fast.refuses("NdkFastRegister with another offset in the base address",
               fast.post(fast.ndk.b().fast_region(), fast.lam->count(), PAGE_SIZE, kBase + fast.lam->offset + 24, kBoth));
}

CONFORMANCE_CASE(ndk_a_registration_fits_its_pages, "ndk.fast.length", roles::provider) {
  Fast fast(bench.ndk(), check);
  fast.refuses("NdkFastRegister of more bytes than the pages have",
               fast.post(fast.ndk.b().fast_region(), 2, 2 * PAGE_SIZE + 1, kBase + fast.lam->offset, kBoth));
}

CONFORMANCE_CASE(ndk_remote_rights_want_remote_access, "ndk.fast.remote", roles::provider) {
  Fast fast(bench.ndk(), check);
  NDK_MR* const local = fast.ndk.b().fast_region(8, false);
  const NdkStatus posted = fast.post(local, fast.lam->count(), PAGE_SIZE, kBase + fast.lam->offset, NDK_OP_FLAG_ALLOW_REMOTE_READ);
  const NdkStatus end = posted.failed() ? posted : NdkStatus(next_result(fast.ndk, check, fast.side, "the registration").Status);
  says(check, "NdkFastRegister with remote rights", end, {STATUS_ACCESS_VIOLATION});
}

CONFORMANCE_CASE(ndk_a_registration_gives_its_rights, "ndk.fast.rights", roles::provider) {
  Fast fast(bench.ndk(), check);
  NDK_MR* const region = fast.ndk.b().fast_region();
  fast.registered(region, NDK_OP_FLAG_ALLOW_REMOTE_READ);
  says(check, "a Read", fast.read(token_of(region)), {STATUS_SUCCESS});
  refused(check, "a Write", fast.write(token_of(region)));
}

CONFORMANCE_CASE(ndk_plain_regions_are_not_fast, "ndk.fast.plain", roles::provider) {
  Fast fast(bench.ndk(), check);
  NDK_MR* const plain = fast.ndk.b().memory(4096).region;
  fast.refuses("NdkFastRegister of a plain region", fast.post(plain, fast.lam->count(), PAGE_SIZE, kBase + fast.lam->offset, kBoth));
}

CONFORMANCE_CASE(ndk_a_fast_region_has_one_token, "ndk.fast.token", roles::provider) {
  Fast fast(bench.ndk(), check);
  NDK_MR* const region = fast.ndk.b().fast_region();
  const UINT32 token = token_of(region);
  for (int round = 0; round < 3; ++round) {
    fast.registered(region, kBoth);
    check.equal("the token", token_of(region), token);
    says(check, "a Read with the first token", fast.read(token), {STATUS_SUCCESS});
    arranged_by(check, "NdkInvalidate", fast.side.qp->Dispatch->NdkInvalidate(fast.side.qp, nullptr, &region->Header, 0));
    ends_as(fast.ndk, check, fast.side, "the Invalidate", {STATUS_SUCCESS});
  }
}

CONFORMANCE_CASE(ndk_the_base_address_is_the_consumers, "ndk.fast.base", roles::provider) {
  Fast fast(bench.ndk(), check);
  NDK_MR* const region = fast.ndk.b().fast_region();
  fast.registered(region, kBoth);
  fast.memory->bytes[5000] = 0x5B;
  says(check, "a Read", fast.read(token_of(region), 5000), {STATUS_SUCCESS});
  check.equal("the byte that was read", fast.connection.a.memory->bytes[8192], std::uint8_t{0x5B});
}

CONFORMANCE_CASE(ndk_an_invalidated_region_serves_nobody, "ndk.fast.invalidate", roles::provider) {
  Fast fast(bench.ndk(), check);
  NDK_MR* const region = fast.ndk.b().fast_region();
  fast.registered(region, kBoth);
  says(check, "a Read", fast.read(token_of(region)), {STATUS_SUCCESS});
  arranged_by(check, "NdkInvalidate", fast.side.qp->Dispatch->NdkInvalidate(fast.side.qp, nullptr, &region->Header, 0));
  ends_as(fast.ndk, check, fast.side, "the Invalidate", {STATUS_SUCCESS});
  refused(check, "a Read afterwards", fast.read(token_of(region)));
}

CONFORMANCE_CASE(ndk_plain_regions_are_not_invalidated, "ndk.fast.invalidate-plain", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  refused_somehow(ndk, check, c.b, "NdkInvalidate of a plain region",
                  c.b.qp->Dispatch->NdkInvalidate(c.b.qp, nullptr, &c.b.memory->region->Header, 0));
  if ((ndk.b().info().AdapterFlags & NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED) == 0) return;
  NdkConnection& other = ndk.connect();
  refused_somehow(ndk, check, other.b, "a Read that is to invalidate the plain region that it reads into",
                  other.b.read(7, 100, 64, other.a.memory->address(), other.a.memory->remote, NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE));
}

CONFORMANCE_CASE(ndk_what_is_not_valid_is_not_invalidated, "ndk.fast.invalidate-twice", roles::provider) {
  Fast fast(bench.ndk(), check);
  NDK_MR* const region = fast.ndk.b().fast_region();
  fast.registered(region, kBoth);
  const auto invalidate = [&] { return NdkStatus(fast.side.qp->Dispatch->NdkInvalidate(fast.side.qp, nullptr, &region->Header, 0)); };
  arranged_by(check, "NdkInvalidate", invalidate());
  ends_as(fast.ndk, check, fast.side, "the Invalidate", {STATUS_SUCCESS});
  fast.refuses("NdkInvalidate once more", invalidate());
}

CONFORMANCE_CASE(ndk_plain_regions_are_not_initialized, "ndk.fast.plain-initialize", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NDK_MR* const plain = ndk.a().region();
  refused(check, "NdkInitializeFastRegisterMr of a plain region",
          ndk.request([&](auto c, PVOID x) { return plain->Dispatch->NdkInitializeFastRegisterMr(plain, 4, 1, c, x); }));
}

CONFORMANCE_CASE(ndk_fast_regions_are_initialized_once, "ndk.fast.initialize-once", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NDK_MR* const region = ndk.a().region(true);
  const auto initialize = [&](ULONG pages) {
    return ndk.request([&](auto c, PVOID x) { return region->Dispatch->NdkInitializeFastRegisterMr(region, pages, 1, c, x); });
  };
  says(check, "NdkInitializeFastRegisterMr", initialize(4), {STATUS_SUCCESS});
  for (const ULONG pages : {4u, 8u}) refused(check, "NdkInitializeFastRegisterMr of a region that is initialized", initialize(pages));
  NDK_MR* const other = ndk.a().region(true);
  const auto begin = [&]() -> const NdkAnswer& {
    return ndk.begin([&](auto c, PVOID x) { return other->Dispatch->NdkInitializeFastRegisterMr(other, 4, 1, c, x); });
  };
  const NdkAnswer &first = begin(), &second = begin();
  says(check, "NdkInitializeFastRegisterMr", ndk.finish(first), {STATUS_SUCCESS});
  refused(check, "NdkInitializeFastRegisterMr before the first one has ended", ndk.finish(second));
}

CONFORMANCE_CASE(ndk_fast_regions_are_initialized_first, "ndk.fast.uninitialized", roles::provider) {
  Fast fast(bench.ndk(), check);
  fast.refuses("NdkFastRegister of a region that is not initialized",
               fast.post(fast.ndk.b().region(true), 1, PAGE_SIZE, kBase + fast.lam->offset, kBoth));
}

}  // namespace fb::conformance
