// What the cases on providers of NDK share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conformance/runner/ndk_bench.h"
#include "conformance/runner/provider_bench.h"

namespace fb::conformance {

/// How long a case waits for what should not come.
constexpr Duration kNdkQuiet = Duration::ms(40);

/// The status is one of these.
inline bool says(Check& check, std::string_view what, NdkStatus got, std::vector<NTSTATUS> legal) {
  return check.equal(what, got, OneOf<NTSTATUS>{std::move(legal)});
}

/// The status is any failure.
inline bool refused(Check& check, std::string_view what, NdkStatus got) {
  return check.that(got.failed(), std::string(what) + " is refused", "it answered " + words(got));
}

/// A call that sets the scene.
inline void arranged_by(Check& check, std::string_view what, NdkStatus called) {
  if (called.failed()) check.inconclusive(std::string(what) + " answered " + words(called));
}

/// The next result of a side, which there must be.
inline NDK_RESULT_EX next_result(NdkBench& bench, Check& check, NdkSide& side, std::string_view what, Duration limit = Duration::s(30)) {
  const auto found = bench.result(side, limit);
  check.require(found.has_value(), std::string(what) + " has a result", "the queue stayed empty");
  return *found;
}

/// The next result of a side has one of these statuses.
inline bool ends_as(NdkBench& bench, Check& check, NdkSide& side, std::string_view what, std::vector<NTSTATUS> legal) {
  return says(check, what, next_result(bench, check, side, what).Status, std::move(legal));
}

/// The next result of a side is a failure.
inline bool ends_badly(NdkBench& bench, Check& check, NdkSide& side, std::string_view what) {
  return refused(check, what, next_result(bench, check, side, what).Status);
}

/// A posted request was refused by its function, or by its result: providers may leave it to the card.
inline bool refused_somehow(NdkBench& bench, Check& check, NdkSide& side, std::string_view what, NdkStatus posted) {
  if (posted.failed()) return refused(check, what, posted);
  return ends_badly(bench, check, side, what);
}

/// From two sides that nobody has connected yet to a connection.
inline void establish(NdkBench& bench, Check& check, NdkConnection& c, const NdkConnectTerms& terms = {}) {
  check.require(!NdkStatus(bench.begin_connect(c, terms).said).failed(), "NdkConnect is taken");
  check.require(bench.asked(c), "the request reaches the listener");
  check.require(!NdkStatus(bench.begin_accept(c, terms).said).failed(), "NdkAccept is taken");
  check.require(bench.finish(*c.connecting) == STATUS_SUCCESS, "NdkConnect completes with STATUS_SUCCESS");
  check.require(bench.finish(bench.begin_complete(c)) == STATUS_SUCCESS, "NdkCompleteConnect completes with STATUS_SUCCESS");
  check.require(bench.finish(*c.accepting) == STATUS_SUCCESS, "NdkAccept completes with STATUS_SUCCESS");
}

/// Sends of 16 bytes from a to b, with a receive for each; nobody takes the results of b.
inline void deliver(NdkBench& bench, Check& check, NdkConnection& c, int messages = 1, ULONG flags = 0) {
  for (int i = 0; i < messages; ++i) {
    arranged_by(check, "NdkReceive", c.b.receive(static_cast<std::uintptr_t>(100 + i)));
    arranged_by(check, "NdkSend", c.a.send(1, 0, 16, flags | NDK_OP_FLAG_SILENT_SUCCESS));
  }
  bench.pass(kNdkQuiet);
}

/// How a Read or a Write of a ends, that goes to memory of b.
inline NdkStatus access(NdkBench& bench, Check& check, NdkConnection& c, bool read, UINT64 address, UINT32 token, ULONG length = 16) {
  const NdkStatus called = read ? c.a.read(1, 8192, length, address, token) : c.a.write(1, 8192, length, address, token);
  check.require(called == STATUS_SUCCESS, read ? "NdkRead is taken" : "NdkWrite is taken", "it answered " + words(called));
  return next_result(bench, check, c.a, read ? "the Read" : "the Write").Status;
}

/// A connection of which a has a request that its own provider cannot serve.
inline NdkStatus send_bad_token(NdkConnection& c, ULONG flags = 0) {
  NDK_SGE bad = c.a.memory->sge(0, 8);
  bad.MemoryRegionToken ^= 0x5500;
  return c.a.qp->Dispatch->NdkSend(c.a.qp, ndk_tag(5), &bad, 1, flags);
}

/// The ways in which a queue pair comes to use memory of its own side.
enum class NdkUse : std::uint8_t { send, receive, shared_receive, read, write };

/// How the use of this piece of memory by the passive side of a fresh connection ends.
inline NdkStatus use_memory(NdkBench& bench, Check& check, NdkConnection& c, NDK_SRQ* shared, NdkUse how, const NDK_SGE& piece) {
  NDK_QP* const qp = c.b.qp;
  const UINT64 there = c.a.memory->address(100);
  NdkStatus posted;
  switch (how) {
    case NdkUse::send:
      arranged_by(check, "NdkReceive", c.a.receive(1, 0, 4096));
      posted = qp->Dispatch->NdkSend(qp, ndk_tag(2), &piece, 1, 0);
      break;
    case NdkUse::receive:
    case NdkUse::shared_receive:
      posted = how == NdkUse::receive ? qp->Dispatch->NdkReceive(qp, ndk_tag(2), &piece, 1)
                                      : shared->Dispatch->NdkSrqReceive(shared, ndk_tag(2), &piece, 1);
      if (!posted.failed()) arranged_by(check, "NdkSend", c.a.send(1, 100, piece.Length));
      break;
    case NdkUse::read:
      posted = qp->Dispatch->NdkRead(qp, ndk_tag(2), &piece, 1, there, c.a.memory->remote, 0);
      break;
    case NdkUse::write:
      posted = qp->Dispatch->NdkWrite(qp, ndk_tag(2), &piece, 1, there, c.a.memory->remote, 0);
      break;
  }
  if (posted.failed()) return posted;
  return next_result(bench, check, c.b, "the request").Status;
}

// ---- objects in a protection domain of the case's choice

inline NDK_PD* another_domain(NdkBench& bench, NdkEnd& end) {
  NDK_ADAPTER* const adapter = end.adapter();
  return bench.make<NDK_PD>("NdkCreatePd", [&](auto c, PVOID x, NDK_PD** p) { return adapter->Dispatch->NdkCreatePd(adapter, c, x, p); });
}
inline NDK_MR* region_of(NdkBench& bench, NDK_PD* domain, bool fast) {
  return bench.make<NDK_MR>("NdkCreateMr",
                            [&](auto c, PVOID x, NDK_MR** p) { return domain->Dispatch->NdkCreateMr(domain, fast ? 1 : 0, c, x, p); });
}
inline NDK_MW* window_of(NdkBench& bench, NDK_PD* domain) {
  return bench.make<NDK_MW>("NdkCreateMw", [&](auto c, PVOID x, NDK_MW** p) { return domain->Dispatch->NdkCreateMw(domain, c, x, p); });
}
inline NDK_SRQ* shared_queue_of(NdkBench& bench, NDK_PD* domain, ULONG depth = 8, ULONG sges = 2) {
  return bench.make<NDK_SRQ>("NdkCreateSrq", [&](auto c, PVOID x, NDK_SRQ** p) {
    return domain->Dispatch->NdkCreateSrq(domain, depth, sges, 0, nullptr, nullptr, nullptr, c, x, p);
  });
}

/// A mapping of memory to logical addresses.
struct NdkLam {
  explicit NdkLam(std::size_t bytes = 64 * 8) : room(bytes / sizeof(std::uint64_t)), size(static_cast<ULONG>(bytes)) {}
  std::vector<std::uint64_t> room;
  ULONG size;
  ULONG offset = 0;
  NDK_LOGICAL_ADDRESS_MAPPING* get() { return reinterpret_cast<NDK_LOGICAL_ADDRESS_MAPPING*>(room.data()); }
  ULONG count() { return get()->AdapterPageCount; }
  /// All of them: the structure declares one.
  const NDK_LOGICAL_ADDRESS* pages() {
    return reinterpret_cast<const NDK_LOGICAL_ADDRESS*>(room.data() + offsetof(NDK_LOGICAL_ADDRESS_MAPPING, AdapterPageArray) / 8);
  }
};

inline NdkStatus build(NdkBench& bench, NdkEnd& end, MDL* mdl, SIZE_T length, NdkLam& lam) {
  return bench.request([&](auto c, PVOID x) {
    return end.adapter()->Dispatch->NdkBuildLAM(end.adapter(), mdl, length, c, x, lam.get(), &lam.size, &lam.offset);
  });
}

/// Mapped as a scene; it stays with the bench, since a provider may write to it late.
inline NdkLam& mapped(NdkBench& bench, Check& check, NdkEnd& end, MDL* mdl, SIZE_T length) {
  NdkLam& lam = bench.keep(std::make_unique<NdkLam>());
  arranged_by(check, "NdkBuildLAM", build(bench, end, mdl, length, lam));
  return lam;
}

}  // namespace fb::conformance
