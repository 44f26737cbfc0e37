// Memory that is registered again and again, mappings of every length, tokens that messages take back, and moderation that begins
// anew.
#include <array>

#include "conformance/cases/access_sweep.h"
#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

constexpr ULONG kReads = NDK_MR_FLAG_ALLOW_REMOTE_READ;
constexpr ULONG kWrites = NDK_MR_FLAG_ALLOW_REMOTE_WRITE;
constexpr ULONG kLocal = NDK_MR_FLAG_ALLOW_LOCAL_WRITE;

/// An MDL of the case's own, which stays as long as providers may look at it.
MDL& describe(NdkBench& ndk, NdkMemory& memory, std::size_t first, std::size_t length) {
  MDL& mdl = ndk.keep(std::make_unique<MDL>());
  MmInitializeMdl(&mdl, memory.at(first), length);
  return mdl;
}

/// Makes one access on a connection of its own.
SweepEnd perform(NdkBench& ndk, Check& check, const SweepAccess& access) {
  NdkConnection& c = ndk.connect();
  const MutableBytes mine = c.a.memory->bytes;
  for (std::size_t i = 0; i < access.length; ++i) mine[8192 + i] = static_cast<std::uint8_t>(i * 31 + access.length);
  const NdkStatus status = conformance::access(ndk, check, c, access.read, access.address, access.token, access.length);
  SweepEnd end;
  end.good = status == STATUS_SUCCESS;
  end.denied = status == STATUS_ACCESS_VIOLATION || status == STATUS_REMOTE_RESOURCES;
  end.status = words(status);
  end.data.assign(mine.begin() + 8192, mine.begin() + 8192 + access.length);
  return end;
}

/// Registers memory of b as a fast region with all remote rights.
struct FastPiece {
  FastPiece(NdkBench& ndk, Check& check, std::uintptr_t where)
      : memory(ndk.b().plain_memory(PAGE_SIZE)), lam(mapped(ndk, check, ndk.b(), &memory.mdl, PAGE_SIZE)), base(where) {}
  void open(NdkBench& ndk, Check& check, NdkSide& side) {
    const NdkStatus called = side.qp->Dispatch->NdkFastRegister(side.qp, ndk_tag(base), region, lam.count(), lam.pages(), lam.offset,
                                                                PAGE_SIZE, ndk_tag(base), NDK_OP_FLAG_ALLOW_REMOTE_READ);
    check.require(called == STATUS_SUCCESS, "NdkFastRegister is taken", "it answered " + words(called));
    const NDK_RESULT_EX result = next_result(ndk, check, side, "the registration");
    check.require(says(check, "the registration", result.Status, {STATUS_SUCCESS}), "the region is registered");
  }
  UINT32 token() const { return region->Dispatch->NdkGetRemoteTokenFromMr(region); }
  NdkMemory& memory;
  NdkLam& lam;
  NDK_MR* region = nullptr;
  std::uintptr_t base;
};

NdkStatus send_invalidating(NdkSide& side, UINT32 token, ULONG flags) {
  const NDK_SGE one = side.memory->sge(0, 16);
  return side.qp->Dispatch->NdkSendAndInvalidate(side.qp, ndk_tag(6), &one, 1, flags, token);
}

}  // namespace

CONFORMANCE_CASE(ndk_a_region_is_what_it_was_registered_as_last, "ndk.mr.again", roles::provider) {
  NdkBench& ndk = bench.ndk();
  struct Turn {
    std::size_t first;
    std::uint32_t length;
    ULONG flags;
  };
  NdkMemory& memory = ndk.b().plain_memory(1200 * PAGE_SIZE);
  NDK_MR* const region = ndk.b().region();
  // More rights and fewer by turns, of more bytes and of fewer.
  for (const Turn& turn : {Turn{100, 5000, kReads | kWrites}, Turn{PAGE_SIZE + 3, 700, kReads}, Turn{0, 9000, kWrites},
                           Turn{77, 64, kLocal}, Turn{50, 4'500'001, kReads}, Turn{5, 8100, kReads | kWrites}}) {
    MDL& mdl = describe(ndk, memory, turn.first, turn.length);
    const NdkStatus registered =
        ndk.request([&](auto c, PVOID x) { return region->Dispatch->NdkRegisterMr(region, &mdl, turn.length, turn.flags, c, x); });
    check.require(says(check, "NdkRegisterMr once more", registered, {STATUS_SUCCESS}), "the region is registered");
    const SweepWindow shown = {memory.bytes, turn.first, turn.length, memory.address(turn.first),
                               region->Dispatch->NdkGetRemoteTokenFromMr(region)};
    const bool reads = (turn.flags & kReads) != 0, writes = (turn.flags & kWrites) == kWrites;
    const auto make = [&](const SweepAccess& access) { return perform(ndk, check, access); };
    const std::string what = "of a region with the flags " + words(turn.flags);
    // The first and the last bytes.
    for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{turn.length} - 64}) {
      judge_access(check, shown, what, {true, shown.address + at, shown.token, 64}, reads, make);
      judge_access(check, shown, what, {false, shown.address + at, shown.token, 64}, writes, make);
    }
    judge_access(check, shown, "beyond its last byte", {reads, shown.address + turn.length - 1, shown.token, 2}, false, make);
    judge_access(check, shown, "before its first byte", {reads, shown.address - 1, shown.token, 2}, false, make);
    const NdkStatus gone = ndk.request([&](auto c, PVOID x) { return region->Dispatch->NdkDeregisterMr(region, c, x); });
    check.require(says(check, "NdkDeregisterMr", gone, {STATUS_SUCCESS}), "the region is free");
  }
}

CONFORMANCE_CASE(ndk_mappings_have_the_pages_of_their_length, "ndk.lam.offset", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NDK_ADAPTER* const adapter = ndk.a().adapter();
  NdkMemory& memory = ndk.a().plain_memory(6 * PAGE_SIZE);
  constexpr SIZE_T page = PAGE_SIZE;
  for (const ULONG offset : {0u, 1u, 100u, PAGE_SIZE - 1u}) {
    for (const SIZE_T length : {SIZE_T{1}, page - offset, page - offset + 1, page, page + 1, 2 * page, 3 * page - offset, 3 * page + 5}) {
      // The memory goes on behind it, in the same MDL or in the next.
      for (const bool chained : {false, true}) {
        MDL& mdl = describe(ndk, memory, offset, chained ? page - offset : 5 * page);
        if (chained) mdl.Next = &describe(ndk, memory, page, 4 * page);
        const std::string what = " of " + std::to_string(length) + " bytes from byte " + words(offset) + " of a page";
        const auto pages = static_cast<ULONG>((offset + length + page - 1) / page);
        ULONG size = 0, at = 0;
        ndk.request([&](auto c, PVOID x) { return adapter->Dispatch->NdkBuildLAM(adapter, &mdl, length, c, x, nullptr, &size, &at); });
        const ULONG needed = size;
        check.require(
            needed >= offsetof(NDK_LOGICAL_ADDRESS_MAPPING, AdapterPageArray) + pages * sizeof(NDK_LOGICAL_ADDRESS) && needed <= 64 * 8,
            "NdkBuildLAM tells the size of a mapping" + what, "it is " + words(needed));
        // A byte too few, and exactly so many.
        NdkLam& cramped = ndk.keep(std::make_unique<NdkLam>());
        cramped.size = needed - 1;
        says(check, "NdkBuildLAM with a byte too few" + what, build(ndk, ndk.a(), &mdl, length, cramped), {STATUS_BUFFER_TOO_SMALL});
        check.equal("the size" + what, cramped.size, needed);
        NdkLam& lam = ndk.keep(std::make_unique<NdkLam>());
        lam.size = needed;
        check.require(
            says(check, "NdkBuildLAM with the size that it told" + what, build(ndk, ndk.a(), &mdl, length, lam), {STATUS_SUCCESS}),
            "there is a mapping");
        check.equal("offset of the first byte" + what, lam.offset, offset);
        // More is not forbidden.
        check.that(lam.count() >= pages, "the mapping has a page for each that the bytes touch" + what, words(lam.count()) + " pages");
        for (ULONG i = 0; i < std::min(lam.count(), pages); ++i) {
          check.equal("offset of a page" + what, lam.pages()[i].QuadPart % PAGE_SIZE, LONGLONG{0});
        }
        adapter->Dispatch->NdkReleaseLAM(adapter, lam.get());
      }
    }
  }
}

CONFORMANCE_CASE(ndk_the_privileged_token_gathers_and_scatters, "ndk.lam.privileged", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NDK_PD* const domain = ndk.a().pd();
  const ULONG most = std::min({ndk.a().info().MaxInitiatorRequestSge, ndk.a().info().MaxReceiveRequestSge, ULONG{3}});
  NdkConnection& c = ndk.connect({.a = {.sges = most}, .b = {.sges = most}});
  NdkMemory& memory = ndk.a().plain_memory(4 * PAGE_SIZE);
  for (std::size_t i = 0; i < memory.bytes.size(); ++i) memory.bytes[i] = static_cast<std::uint8_t>(i * 5 + i / 253);
  for (const ULONG offset : {0u, 1000u, PAGE_SIZE - 3u}) {
    const SIZE_T length = std::size_t{most} * PAGE_SIZE - offset - 7;
    NdkLam& lam = mapped(ndk, check, ndk.a(), &describe(ndk, memory, offset, length), length);
    check.require(lam.count() == most && lam.offset == offset, "a mapping has the pages of its length");
    // Each page is a buffer of its own, the last is not whole.
    std::vector<NDK_SGE> pieces(most);
    for (ULONG i = 0; i < most; ++i) {
      const ULONG first = i == 0 ? offset : 0, end = i + 1 == most ? PAGE_SIZE - 7 : PAGE_SIZE;
      pieces[i].LogicalAddress.QuadPart = lam.pages()[i].QuadPart + first;
      pieces[i].Length = end - first;
      domain->Dispatch->NdkGetPrivilegedMemoryRegionToken(domain, &pieces[i].MemoryRegionToken);
    }
    const std::string what = " at an offset of " + words(offset);
    arranged_by(check, "NdkReceive", c.b.receive(1, 0, 16384));
    const NdkStatus sent = c.a.qp->Dispatch->NdkSend(c.a.qp, ndk_tag(2), pieces.data(), most, 0);
    check.require(sent == STATUS_SUCCESS, "NdkSend is taken" + what, "it answered " + words(sent));
    ends_as(ndk, check, c.a, "the Send" + what, {STATUS_SUCCESS});
    check.equal("bytes of the message" + what, SIZE_T{next_result(ndk, check, c.b, "the Receive").BytesTransferred}, length);
    check.bytes("the message" + what, ByteView(c.b.memory->bytes).first(length), ByteView(memory.bytes).subspan(offset, length));
    for (std::size_t i = 0; i < length; ++i) c.b.memory->bytes[20000 + i] = static_cast<std::uint8_t>(i * 3 + offset);
    Bytes expected(memory.bytes.begin(), memory.bytes.end());
    std::copy_n(c.b.memory->bytes.begin() + 20000, length, expected.begin() + offset);
    const NdkStatus read =
        c.a.qp->Dispatch->NdkRead(c.a.qp, ndk_tag(3), pieces.data(), most, c.b.memory->address(20000), c.b.memory->remote, 0);
    check.require(read == STATUS_SUCCESS, "NdkRead is taken" + what, "it answered " + words(read));
    ends_as(ndk, check, c.a, "the Read" + what, {STATUS_SUCCESS});
    check.bytes("the memory after a Read" + what, memory.bytes, expected);
  }
}

CONFORMANCE_CASE(ndk_a_fast_region_takes_all_its_pages, "ndk.fast.pages", roles::provider) {
  NdkBench& ndk = bench.ndk();
  constexpr std::uintptr_t kBase = 0x7200'0000'0000;
  for (const ULONG pages : {1u, 2u, 5u, std::min<ULONG>(ndk.b().info().FRMRPageCount, 16)}) {
    NdkConnection& c = ndk.connect();
    NDK_MR* const region = ndk.b().fast_region(pages);
    NdkMemory& memory = ndk.b().plain_memory(std::size_t{pages + 1} * PAGE_SIZE);
    NdkLam& lam = mapped(ndk, check, ndk.b(), &memory.mdl, memory.bytes.size());
    const std::string what = " of a fast region of " + words(pages) + " pages";
    const auto open = [&](ULONG count, ULONG offset, SIZE_T length) -> NdkStatus {
      return c.b.qp->Dispatch->NdkFastRegister(c.b.qp, ndk_tag(7), region, count, lam.pages(), offset, length, ndk_tag(kBase + offset),
                                               NDK_OP_FLAG_ALLOW_REMOTE_READ);
    };
    for (const ULONG offset : {0u, 1u, PAGE_SIZE - 1u}) {
      const NdkStatus called = open(pages, offset, std::size_t{pages} * PAGE_SIZE - offset);
      check.require(called == STATUS_SUCCESS, "NdkFastRegister of all pages" + what, "it answered " + words(called));
      ends_as(ndk, check, c.b, "the registration of all pages" + what, {STATUS_SUCCESS});
      for (const std::uintptr_t at : {std::uintptr_t{offset}, std::uintptr_t{pages} * PAGE_SIZE - 1}) {
        says(check, "a Read" + what, access(ndk, check, c, true, kBase + at, region->Dispatch->NdkGetRemoteTokenFromMr(region), 1),
             {STATUS_SUCCESS});
        check.bytes("what it brought", ByteView(c.a.memory->bytes).subspan(8192, 1), ByteView(memory.bytes).subspan(at, 1));
      }
      arranged_by(check, "NdkInvalidate", c.b.qp->Dispatch->NdkInvalidate(c.b.qp, nullptr, &region->Header, 0));
      ends_as(ndk, check, c.b, "the Invalidate", {STATUS_SUCCESS});
    }
    refused_somehow(ndk, check, c.b, "NdkFastRegister of one page more" + what, open(pages + 1, 0, PAGE_SIZE));
  }
}

CONFORMANCE_CASE(ndk_a_message_invalidates_one_of_several, "ndk.qp.invalidate-token", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  check.precondition(c.a.qp->Dispatch->NdkSendAndInvalidate != nullptr, "messages invalidate");
  std::array<std::unique_ptr<FastPiece>, 3> pieces;
  for (std::size_t i = 0; i < 3; ++i) {
    pieces[i] = std::make_unique<FastPiece>(ndk, check, 0x7100'0000'0000 + i * 16 * PAGE_SIZE);
    pieces[i]->region = ndk.b().fast_region();
    for (std::size_t at = 0; at < PAGE_SIZE; ++at) pieces[i]->memory.bytes[at] = static_cast<std::uint8_t>(at * 7 + i * 50);
  }
  // By turns, so that each is once the first, the second and the last that is valid; and some of the messages are silent.
  for (int round = 0; round < 3; ++round) {
    for (auto& piece : pieces) piece->open(ndk, check, c.b);
    for (std::size_t step = 0; step < 3; ++step) {
      const std::size_t which = (step * 2 + static_cast<std::size_t>(round)) % 3;
      const bool silent = step == 1;
      arranged_by(check, "NdkReceive", c.b.receive(40 + step));
      const NdkStatus sent = send_invalidating(c.a, pieces[which]->token(), silent ? NDK_OP_FLAG_SILENT_SUCCESS : 0);
      check.require(sent == STATUS_SUCCESS, "NdkSendAndInvalidate is taken", "it answered " + words(sent));
      if (!silent) ends_as(ndk, check, c.a, "the message", {STATUS_SUCCESS});
      const NDK_RESULT_EX came = next_result(ndk, check, c.b, "the Receive");
      says(check, "the Receive", came.Status, {STATUS_SUCCESS});
      check.that(came.RequestContext == ndk_tag(40 + step), "it is of this Receive", "it is of another");
      check.equal("the token that was invalidated", static_cast<UINT32>(came.TypeSpecificCompletionOutput), pieces[which]->token());
      for (std::size_t next = step + 1; next < 3; ++next) {
        FastPiece& valid = *pieces[(next * 2 + static_cast<std::size_t>(round)) % 3];
        says(check, "a Read of a region that nobody invalidated", access(ndk, check, c, true, valid.base + 9, valid.token(), 100),
             {STATUS_SUCCESS});
        check.bytes("what it brought", ByteView(c.a.memory->bytes).subspan(8192, 100), ByteView(valid.memory.bytes).subspan(9, 100));
      }
      check.that(ndk.quiet(c.a, Duration::us(10)), "there are no more results than requests", "there is another");
    }
  }
}

CONFORMANCE_CASE(ndk_moderation_begins_anew_with_each_callback, "ndk.cq.moderation", roles::provider) {
  NdkBench& ndk = bench.ndk();
  check.precondition((ndk.b().info().AdapterFlags & NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED) != 0, "queues can be moderated");
  NdkConnection& c = ndk.connect({.a = {.depth = 60}, .b = {.depth = 60}});
  NdkQueue& queue = *c.b.queue;
  says(check, "NdkControlCqInterruptModeration", queue.cq->Dispatch->NdkControlCqInterruptModeration(queue.cq, 500'000, 4),
       {STATUS_SUCCESS});
  const auto come = [&](int messages) {
    for (int i = 0; i < messages; ++i) {
      arranged_by(check, "NdkReceive", c.b.receive(1));
      arranged_by(check, "NdkSend", c.a.send(1, 0, 4, NDK_OP_FLAG_SILENT_SUCCESS));
    }
    ndk.pass(Duration::ms(1));
  };
  int expected = 0;
  // The interval passes, then the count is reached, one by one and all together, and so on.
  for (const int round : {0, 1, 2, 0, 0, 2, 1, 0}) {
    const std::string what = " in round " + words(expected + 1);
    queue.arm(NDK_CQ_NOTIFY_ANY);
    come(round == 2 ? 4 : 3);
    if (round != 2) {
      ndk.pass(Duration::ms(400));
      check.equal("callbacks too early" + what, queue.notified, expected);
      if (round == 1) come(1);
      if (round == 0) ndk.pass(Duration::ms(120));
    }
    if (!check.equal("callbacks" + what, queue.notified, ++expected)) return;
    queue.look();
    queue.results.clear();
  }
}

}  // namespace fb::conformance
