// Memory of the own side, by every kind of request that touches it: both ends of its region, each bit of its token, and tokens of
// registrations that are over.
#include <array>

#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

constexpr std::size_t kRoom = 3 * PAGE_SIZE;
constexpr std::size_t kFirst = PAGE_SIZE + 5;
constexpr std::uint32_t kLength = 1031;

constexpr std::array<std::pair<NdkUse, std::string_view>, 5> kUses = {{{NdkUse::send, "a Send from "},
                                                                       {NdkUse::receive, "a Receive into "},
                                                                       {NdkUse::shared_receive, "a shared Receive into "},
                                                                       {NdkUse::read, "a Read into "},
                                                                       {NdkUse::write, "a Write from "}}};

/// A region over a piece of memory that the rest of its pages surrounds.
struct Piece {
  Piece(NdkBench& bench, NdkEnd& end) : ndk(bench), room(end.plain_memory(kRoom)), region(end.region()) {}
  NdkStatus make(std::size_t first = kFirst) {
    MDL& mdl = ndk.keep(std::make_unique<MDL>());
    MmInitializeMdl(&mdl, room.at(first), kLength);
    const NdkStatus status =
        ndk.request([&](auto c, PVOID x) { return region->Dispatch->NdkRegisterMr(region, &mdl, kLength, kNdkAllRights, c, x); });
    if (status != STATUS_SUCCESS) throw CannotArrange{"NdkRegisterMr answered " + words(status)};
    local = region->Dispatch->NdkGetLocalTokenFromMr(region);
    remote = region->Dispatch->NdkGetRemoteTokenFromMr(region);
    return status;
  }
  void drop(Check& check) {
    arranged_by(check, "NdkDeregisterMr", ndk.request([&](auto c, PVOID x) { return region->Dispatch->NdkDeregisterMr(region, c, x); }));
  }
  NDK_SGE sge(std::ptrdiff_t offset, ULONG length, UINT32 token) const {
    NDK_SGE made = {};
    made.VirtualAddress = room.bytes.data() + kFirst + offset;
    made.Length = length;
    made.MemoryRegionToken = token;
    return made;
  }
  NdkBench& ndk;
  NdkMemory& room;
  NDK_MR* region;
  UINT32 local = 0, remote = 0;
};

/// How the passive side's use of this piece of memory ends, on a connection of its own.
NdkStatus use(NdkBench& ndk, Check& check, NdkUse how, const NDK_SGE& piece) {
  NdkShared* const shared = how == NdkUse::shared_receive ? &ndk.b().shared_receive_queue(4) : nullptr;
  return use_memory(ndk, check, ndk.connect({.b = {.shared = shared}}), shared == nullptr ? nullptr : shared->srq, how, piece);
}

void judge(Check& check, const std::string& what, NdkStatus status, bool allowed) {
  if (allowed) {
    says(check, what, status, {STATUS_SUCCESS});
  } else {
    refused(check, what, status);
  }
}

}  // namespace

CONFORMANCE_CASE(ndk_a_region_has_two_ends_for_its_owner, "ndk.mr.local-bounds", roles::provider) {
  struct Try {
    std::ptrdiff_t offset;
    ULONG length;
    bool allowed;
  };
  constexpr auto n = static_cast<std::ptrdiff_t>(kLength);
  NdkBench& ndk = bench.ndk();
  for (const auto& [how, name] : kUses) {
    for (const Try& one : {Try{0, 1, true}, Try{n - 1, 1, true}, Try{0, kLength, true}, Try{-1, 1, false}, Try{-1, 2, false},
                           Try{n, 1, false}, Try{n - 1, 2, false}, Try{0, kLength + 1, false}, Try{1, kLength, false}}) {
      Piece piece(ndk, ndk.b());
      piece.make();
      const Bytes before(piece.room.bytes.begin(), piece.room.bytes.end());
      const std::string what = std::string(name) + words(one.length) + " bytes from byte " + std::to_string(one.offset) + " of a region";
      judge(check, what, use(ndk, check, how, piece.sge(one.offset, one.length, piece.local)), one.allowed);
      check.bytes("the memory before the region after " + what, ByteView(piece.room.bytes).first(kFirst), ByteView(before).first(kFirst));
      check.bytes("the memory behind the region after " + what, ByteView(piece.room.bytes).subspan(kFirst + kLength),
                  ByteView(before).subspan(kFirst + kLength));
    }
  }
}

CONFORMANCE_CASE(ndk_each_bit_of_a_local_token_counts, "ndk.mr.local-token", roles::provider) {
  NdkBench& ndk = bench.ndk();
  Piece piece(ndk, ndk.b());
  piece.make();
  const Bytes before(piece.room.bytes.begin(), piece.room.bytes.end());
  unsigned first = 0;
  for (const auto& [how, name] : kUses) {
    for (unsigned bit = first++ % 4; bit < 32; bit += 4) {
      const std::string what = std::string(name) + "memory under a token that differs in bit " + std::to_string(bit);
      judge(check, what, use(ndk, check, how, piece.sge(0, 64, piece.local ^ UINT32{1} << bit)), false);
      check.bytes("the memory after " + what, piece.room.bytes, before);
    }
    judge(check, std::string(name) + "memory under its token", use(ndk, check, how, piece.sge(500, 64, piece.local)), true);
    std::copy(before.begin(), before.end(), piece.room.bytes.begin());
  }
}

CONFORMANCE_CASE(ndk_tokens_end_with_their_registration, "ndk.mr.deregister", roles::provider) {
  NdkBench& ndk = bench.ndk();
  Piece piece(ndk, ndk.b());
  const Bytes before(piece.room.bytes.begin(), piece.room.bytes.end());
  std::vector<std::pair<UINT32, UINT32>> earlier;
  const auto none_is_good = [&](std::string_view when) {
    for (const auto& [local, remote] : earlier) {
      for (const auto& [how, name] : kUses) {
        if (local == piece.local && when != "once it is deregistered") continue;
        judge(check, std::string(name) + "memory under a token of an earlier registration, " + std::string(when),
              use(ndk, check, how, piece.sge(0, 32, local)), false);
      }
      if (remote == piece.remote && when != "once it is deregistered") continue;
      for (const bool read : {true, false}) {
        NdkConnection& c = ndk.connect();
        refused(check,
                std::string(read ? "a Read" : "a Write") + " of the peer with a token of an earlier registration, " + std::string(when),
                access(ndk, check, c, read, piece.room.address(kFirst), remote));
      }
      check.bytes("the memory " + std::string(when), piece.room.bytes, before);
    }
  };
  for (int round = 0; round < 3; ++round) {
    piece.make();
    none_is_good("while it is registered anew");
    judge(check, "a Send from memory that is registered", use(ndk, check, NdkUse::send, piece.sge(0, 32, piece.local)), true);
    earlier.emplace_back(piece.local, piece.remote);
    piece.drop(check);
    none_is_good("once it is deregistered");
  }
}

}  // namespace fb::conformance
