// Logical addresses.
#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

/// 9000 bytes that begin 100 bytes into a page: three pages.
struct Described {
  explicit Described(NdkBench& ndk) : memory(ndk.a().plain_memory(4 * PAGE_SIZE)) { MmInitializeMdl(&mdl, memory.at(100), 9000); }
  NdkMemory& memory;
  MDL mdl = {};
};

NdkStatus query(NdkBench& ndk, MDL& mdl, ULONG* size) {
  ULONG offset = 0;
  return ndk.request([&](auto c, PVOID x) {
    return ndk.a().adapter()->Dispatch->NdkBuildLAM(ndk.a().adapter(), &mdl, 9000, c, x, nullptr, size, &offset);
  });
}

/// Sends bytes at a logical address with the privileged token.
NdkStatus send_logical(NdkBench& ndk, NdkConnection& c, LONGLONG address) {
  NDK_PD* const domain = ndk.a().pd();
  NDK_SGE sge = {};
  sge.LogicalAddress.QuadPart = address;
  sge.Length = 64;
  domain->Dispatch->NdkGetPrivilegedMemoryRegionToken(domain, &sge.MemoryRegionToken);
  return c.a.qp->Dispatch->NdkSend(c.a.qp, ndk_tag(9), &sge, 1, 0);
}

}  // namespace

CONFORMANCE_CASE(ndk_a_mapping_tells_its_size, "ndk.lam.size", roles::provider) {
  NdkBench& ndk = bench.ndk();
  Described what(ndk);
  ULONG size = 0;
  query(ndk, what.mdl, &size);
  const auto least = static_cast<ULONG>(offsetof(NDK_LOGICAL_ADDRESS_MAPPING, AdapterPageArray) + 3 * sizeof(NDK_LOGICAL_ADDRESS));
  check.that(size >= least, "the size has room for three pages", "it is " + words(size));
}

CONFORMANCE_CASE(ndk_a_mapping_wants_a_place, "ndk.lam.query", roles::provider) {
  NdkBench& ndk = bench.ndk();
  Described what(ndk);
  ULONG size = 0;
  says(check, "NdkBuildLAM without a place", query(ndk, what.mdl, &size), {STATUS_BUFFER_TOO_SMALL});
}

CONFORMANCE_CASE(ndk_a_mapping_tells_its_offset, "ndk.lam.offset", roles::provider) {
  struct Try {
    ULONG offset, length, pages;
  };
  NdkBench& ndk = bench.ndk();
  // Both sides of each border between pages.
  constexpr ULONG page = PAGE_SIZE;
  for (const Try& one : {Try{100, 9000, 3}, Try{0, page, 1}, Try{0, page + 1, 2}, Try{1, page, 2}, Try{1, page - 1, 1}, Try{page - 1, 1, 1},
                         Try{page - 1, 2, 2}, Try{page - 96, 97, 2}, Try{page - 1, page + 2, 3}}) {
    NdkMemory& memory = ndk.a().plain_memory(4 * PAGE_SIZE);
    MDL& mdl = ndk.keep(std::make_unique<MDL>());
    MmInitializeMdl(&mdl, memory.at(one.offset), one.length);
    NdkLam& lam = mapped(ndk, check, ndk.a(), &mdl, one.length);
    const std::string of = " of " + words(one.length) + " bytes from byte " + words(one.offset) + " of a page";
    check.equal("offset of the first byte" + of, lam.offset, one.offset);
    check.equal("pages" + of, lam.count(), one.pages);
  }
}

CONFORMANCE_CASE(ndk_a_mapping_has_whole_pages, "ndk.lam.aligned", roles::provider) {
  NdkBench& ndk = bench.ndk();
  Described what(ndk);
  NdkLam& lam = mapped(ndk, check, ndk.a(), &what.mdl, 9000);
  for (ULONG i = 0; i < std::min<ULONG>(lam.count(), 3); ++i) {
    check.equal("offset of a page", lam.pages()[i].QuadPart % PAGE_SIZE, LONGLONG{0});
  }
}

CONFORMANCE_CASE(ndk_a_mapping_has_no_gaps, "ndk.lam.chain", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkMemory& memory = ndk.a().plain_memory(4 * PAGE_SIZE);
  MDL first, second;
  MmInitializeMdl(&first, memory.at(0), PAGE_SIZE);
  MmInitializeMdl(&second, memory.at(2 * PAGE_SIZE), PAGE_SIZE);
  first.Next = &second;
  NdkLam& lam = ndk.keep(std::make_unique<NdkLam>());
  says(check, "NdkBuildLAM of two pages that do not lie side by side", build(ndk, ndk.a(), &first, 2 * PAGE_SIZE, lam),
       {STATUS_INVALID_PARAMETER});
}

CONFORMANCE_CASE(ndk_a_released_mapping_is_none, "ndk.lam.release", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  NdkMemory& memory = ndk.a().plain_memory(PAGE_SIZE);
  NdkLam& lam = mapped(ndk, check, ndk.a(), &memory.mdl, PAGE_SIZE);
  const LONGLONG address = lam.pages()[0].QuadPart;
  ndk.a().adapter()->Dispatch->NdkReleaseLAM(ndk.a().adapter(), lam.get());
  arranged_by(check, "NdkReceive", c.b.receive(1));
  refused_somehow(ndk, check, c.a, "a Send from an address that was released", send_logical(ndk, c, address));
  // Each page of a longer one.
  for (ULONG page = 0; page < 3; ++page) {
    NdkConnection& d = ndk.connect();
    NdkMemory& more = ndk.a().plain_memory(3 * PAGE_SIZE);
    NdkLam& longer = mapped(ndk, check, ndk.a(), &more.mdl, 3 * PAGE_SIZE);
    check.require(longer.count() == 3, "a mapping has a page for each of the memory's");
    const LONGLONG at = longer.pages()[page].QuadPart;
    ndk.a().adapter()->Dispatch->NdkReleaseLAM(ndk.a().adapter(), longer.get());
    arranged_by(check, "NdkReceive", d.b.receive(1));
    refused_somehow(ndk, check, d.a, "a Send from page " + words(page) + " of a mapping that was released", send_logical(ndk, d, at));
  }
}

CONFORMANCE_CASE(ndk_the_privileged_token_takes_logical_addresses, "ndk.lam.privileged", roles::provider) {
  constexpr ULONG kPages = 3;
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  NdkMemory& memory = ndk.a().plain_memory(kPages * PAGE_SIZE);
  for (std::size_t i = 0; i < memory.bytes.size(); ++i) memory.bytes[i] = static_cast<std::uint8_t>(i * 3 + i / 256);
  memory.bytes[7] = 0xC3;
  NdkLam& lam = mapped(ndk, check, ndk.a(), &memory.mdl, memory.bytes.size());
  check.require(lam.count() == kPages && lam.offset == 0, "a mapping of whole pages has each of them");
  for (ULONG page = 0; page < kPages; ++page) {
    for (const ULONG at : {0u, 7u, PAGE_SIZE - 64u}) {
      const std::string what = " from byte " + words(at) + " of page " + words(page);
      arranged_by(check, "NdkReceive", c.b.receive(1, 0, 256));
      check.require(send_logical(ndk, c, lam.pages()[page].QuadPart + at) == STATUS_SUCCESS, "NdkSend is taken" + what);
      ends_as(ndk, check, c.a, "the Send" + what, {STATUS_SUCCESS});
      ends_as(ndk, check, c.b, "the Receive" + what, {STATUS_SUCCESS});
      const ByteView sent = ByteView(memory.bytes).subspan(std::size_t{page} * PAGE_SIZE + at, 64);
      check.bytes("bytes that came" + what, ByteView(c.b.memory->bytes).first(64), sent);
    }
  }
}

}  // namespace fb::conformance
