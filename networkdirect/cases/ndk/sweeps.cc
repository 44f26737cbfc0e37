// Rules about data and access, over every kind of request, both ends of every range, each bit of a token and each set of rights.
#include <array>

#include "conformance/cases/access_sweep.h"
#include "networkdirect/cases/ndk/scene.h"
#include "conformance/cases/transfer_sweep.h"

namespace fb::conformance {
namespace {

constexpr std::size_t kRoom = 3 * PAGE_SIZE;
constexpr std::size_t kFirst = PAGE_SIZE + 5;
constexpr std::uint32_t kLength = 1031;
constexpr ULONG kReadWrite = NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE;

/// For TransferSweep: a connection of shallow queues, whose queue pairs have contexts of their own.
class NdkSweep {
 public:
  explicit NdkSweep(NdkBench& bench, bool shared = false) : bench_(bench) {
    const NDK_ADAPTER_INFO a = bench.a().info();
    limits_.sges = limits_.receive_sges = std::min({a.MaxInitiatorRequestSge, a.MaxReceiveRequestSge, ULONG{9}});
    limits_.read_sges = std::min<ULONG>(a.MaxReadRequestSge, limits_.sges);
    limits_.inline_bytes = std::min<ULONG>(a.MaxInlineDataSize, kSweepInline);
    NdkConnectTerms terms;
    terms.a = {.depth = kSweepDepth, .sges = limits_.sges, .inline_bytes = limits_.inline_bytes, .context = ndk_tag(0xA1)};
    terms.b = {.depth = kSweepDepth, .sges = limits_.sges, .inline_bytes = limits_.inline_bytes, .context = ndk_tag(0xB1)};
    if (shared) {
      limits_.receive_sges = std::min(limits_.receive_sges, 2u);
      terms.a.shared = &bench.a().shared_receive_queue(kSweepDepth);
      terms.b.shared = &bench.b().shared_receive_queue(kSweepDepth);
    }
    c_ = &bench.connect(terms);
    c_->a.shared = terms.a.shared;
    c_->b.shared = terms.b.shared;
    c_->a.memory = &bench.a().memory(kSweepBytes);
    c_->b.memory = &bench.b().memory(kSweepBytes);
  }

  MutableBytes memory(int end) { return side(end).memory->bytes; }
  SweepLimits limits() const { return limits_; }
  bool receive(int end, std::uint64_t tag, const std::vector<SweepPiece>& pieces) {
    const auto sges = list(end, pieces, false);
    const auto count = static_cast<ULONG>(sges.size());
    NdkSide& s = side(end);
    if (s.shared != nullptr) {
      return s.shared->srq->Dispatch->NdkSrqReceive(s.shared->srq, ndk_tag(tag), sges.data(), count) == STATUS_SUCCESS;
    }
    return s.qp->Dispatch->NdkReceive(s.qp, ndk_tag(tag), sges.data(), count) == STATUS_SUCCESS;
  }
  bool post(int end, const SweepRequest& request) {
    const auto sges = list(end, request.pieces, request.copied);
    const auto count = static_cast<ULONG>(sges.size());
    const NDK_SGE* const first = sges.empty() ? nullptr : sges.data();
    const ULONG flags = (request.silent ? NDK_OP_FLAG_SILENT_SUCCESS : 0) | (request.fence ? NDK_OP_FLAG_READ_FENCE : 0) |
                        (request.solicited ? NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT : 0) | (request.copied ? NDK_OP_FLAG_INLINE : 0);
    NDK_QP* const qp = side(end).qp;
    const NdkMemory& there = *side(1 - end).memory;
    const PVOID tag = ndk_tag(request.tag);
    switch (request.kind) {
      case SweepKind::send:
        return qp->Dispatch->NdkSend(qp, tag, first, count, flags) == STATUS_SUCCESS;
      case SweepKind::write:
        return qp->Dispatch->NdkWrite(qp, tag, first, count, there.address(request.remote), there.remote, flags) == STATUS_SUCCESS;
      case SweepKind::read:
        return qp->Dispatch->NdkRead(qp, tag, first, count, there.address(request.remote), there.remote, flags) == STATUS_SUCCESS;
    }
    return false;
  }
  std::optional<SweepResult> result(int end, bool) {
    const auto found = bench_.result(side(end), Duration::s(10));
    if (!found) return std::nullopt;
    SweepResult made;
    made.tag = reinterpret_cast<std::uintptr_t>(found->RequestContext);
    made.good = found->Status == STATUS_SUCCESS;
    made.status = words(NdkStatus(found->Status));
    made.own_queue_pair = found->QPContext == ndk_tag(end == 0 ? 0xA1 : 0xB1);
    switch (found->Type) {
      case NdkOperationTypeSend:
        made.kind = SweepKind::send;
        break;
      case NdkOperationTypeWrite:
        made.kind = SweepKind::write;
        break;
      case NdkOperationTypeRead:
        made.kind = SweepKind::read;
        break;
      case NdkOperationTypeReceive:
        made.bytes = found->BytesTransferred;
        break;
      default:
        made.own_queue_pair = false;
        break;
    }
    return made;
  }
  bool quiet() { return bench_.quiet(c_->a, Duration::ms(1)) && bench_.quiet(c_->b, Duration::ms(1)); }

 private:
  NdkSide& side(int end) { return end == 0 ? c_->a : c_->b; }
  std::vector<NDK_SGE> list(int end, const std::vector<SweepPiece>& pieces, bool copied) {
    std::vector<NDK_SGE> made;
    for (const SweepPiece& piece : pieces) {
      made.push_back(side(end).memory->sge(piece.offset, piece.length));
      if (copied) made.back().MemoryRegionToken = 0;
    }
    return made;
  }

  NdkBench& bench_;
  SweepLimits limits_;
  NdkConnection* c_ = nullptr;
};

/// Makes accesses of the active side; after each that fails there is a fresh connection.
class NdkAccess {
 public:
  explicit NdkAccess(NdkBench& bench) : bench_(bench) { renew(); }
  NdkConnection& connection() { return *c_; }
  /// Called for each connection: windows are bound on one.
  std::function<void()> renewed;

  SweepEnd operator()(const SweepAccess& access) {
    const MutableBytes mine = c_->a.memory->bytes;
    for (std::size_t i = 0; i < access.length; ++i) mine[8192 + i] = static_cast<std::uint8_t>(++fill_ * 31);
    NdkStatus status = access.read ? c_->a.read(1, 8192, access.length, access.address, access.token)
                                   : c_->a.write(1, 8192, access.length, access.address, access.token);
    if (status == STATUS_SUCCESS) {
      const auto result = bench_.result(c_->a, Duration::s(30));
      status = result ? NdkStatus(result->Status) : NdkStatus(STATUS_PENDING);
    }
    SweepEnd end;
    end.good = status == STATUS_SUCCESS;
    end.denied = status == STATUS_ACCESS_VIOLATION || status == STATUS_REMOTE_RESOURCES;
    end.status = words(status);
    end.data.assign(mine.begin() + 8192, mine.begin() + 8192 + access.length);
    if (!end.good) renew();
    return end;
  }

 private:
  void renew() {
    c_ = &bench_.connect();
    if (renewed) renewed();
  }
  NdkBench& bench_;
  NdkConnection* c_ = nullptr;
  std::uint32_t fill_ = 0;
};

/// A region over a piece of memory that the rest of its pages surrounds.
struct Piece {
  Piece(NdkBench& bench, NdkEnd& end, ULONG flags) : room(end.plain_memory(kRoom)), region(end.region()) {
    MDL& mdl = bench.keep(std::make_unique<MDL>());
    MmInitializeMdl(&mdl, room.at(kFirst), kLength);
    const NdkStatus status =
        bench.request([&](auto c, PVOID x) { return region->Dispatch->NdkRegisterMr(region, &mdl, kLength, flags, c, x); });
    if (status != STATUS_SUCCESS) throw CannotArrange{"NdkRegisterMr answered " + words(status)};
    local = region->Dispatch->NdkGetLocalTokenFromMr(region);
    window = {room.bytes, kFirst, kLength, room.address(kFirst), region->Dispatch->NdkGetRemoteTokenFromMr(region)};
  }
  NDK_SGE sge(std::ptrdiff_t offset, ULONG length) const {
    NDK_SGE made = {};
    made.VirtualAddress = room.bytes.data() + kFirst + offset;
    made.Length = length;
    made.MemoryRegionToken = local;
    return made;
  }
  NdkMemory& room;
  NDK_MR* region;
  UINT32 local = 0;
  SweepWindow window;
};

std::string rights_of(ULONG flags) {
  std::string text = "of a region with the rights";
  if ((flags & NDK_MR_FLAG_ALLOW_LOCAL_WRITE) != 0) text += " local write";
  if ((flags & NDK_MR_FLAG_ALLOW_REMOTE_READ) != 0) text += " remote read";
  if ((flags & NDK_MR_FLAG_ALLOW_REMOTE_WRITE) == NDK_MR_FLAG_ALLOW_REMOTE_WRITE) text += " remote write";
  if ((flags & NDK_MR_FLAG_RDMA_READ_SINK) != 0) text += " read sink";
  return text;
}

constexpr std::array<ULONG, 7> kRights = {
    0u,
    NDK_MR_FLAG_ALLOW_LOCAL_WRITE,
    NDK_MR_FLAG_ALLOW_REMOTE_READ,
    NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ,
    NDK_MR_FLAG_ALLOW_REMOTE_WRITE,
    NDK_MR_FLAG_ALLOW_REMOTE_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ,
    NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_RDMA_READ_SINK,
};

NdkStatus bind(NdkBench& ndk, Check& check, NdkSide& side, const Piece& piece, NDK_MW* window, std::ptrdiff_t offset, SIZE_T length,
               ULONG flags) {
  const NdkStatus called =
      side.qp->Dispatch->NdkBind(side.qp, ndk_tag(9), piece.region, window, piece.room.bytes.data() + kFirst + offset, length, flags);
  if (called.failed()) return called;
  const NDK_RESULT_EX result = next_result(ndk, check, side, "the Bind");
  check.equal("type of the result of a Bind", static_cast<int>(result.Type), static_cast<int>(NdkOperationTypeBind));
  check.that(result.RequestContext == ndk_tag(9), "the result of a Bind has its context");
  return result.Status;
}

NdkStatus invalidate(NdkBench& ndk, Check& check, NdkSide& side, NDK_OBJECT_HEADER& object) {
  const NdkStatus called = side.qp->Dispatch->NdkInvalidate(side.qp, ndk_tag(8), &object, 0);
  if (called.failed()) return called;
  const NDK_RESULT_EX result = next_result(ndk, check, side, "the Invalidate");
  check.equal("type of the result of an Invalidate", static_cast<int>(result.Type), static_cast<int>(NdkOperationTypeInvalidate));
  check.that(result.RequestContext == ndk_tag(8), "the result of an Invalidate has its context");
  return result.Status;
}

UINT32 token_of(NDK_MW* window) { return window->Dispatch->NdkGetRemoteTokenFromMw(window); }

/// A window of the passive side, bound again on each connection.
struct BoundWindow {
  BoundWindow(NdkBench& bench, Check& c, ULONG rights)
      : ndk(bench), check(c), flags(rights), piece(bench, bench.b(), NDK_MR_FLAG_ALLOW_LOCAL_WRITE), access(bench), shown(piece.window) {
    shown.first += 64;
    shown.length = 521;
    shown.address += 64;
    access.renewed = [this] { bind_again(); };
    bind_again();
  }
  void bind_again() {
    NDK_MW* const window = ndk.b().window();
    check.require(
        says(check, "the Bind", bind(ndk, check, access.connection().b, piece, window, 64, shown.length, flags), {STATUS_SUCCESS}),
        "the window is bound");
    shown.token = token_of(window);
  }
  NdkBench& ndk;
  Check& check;
  ULONG flags;
  Piece piece;
  NdkAccess access;
  SweepWindow shown;
};

/// A fast region of the passive side over a part of four pages, registered again on each connection.
struct FastWindow {
  static constexpr UINT64 kBase = 0x7000'0000'0000;
  FastWindow(NdkBench& bench, Check& c, ULONG rights)
      : ndk(bench), check(c), flags(rights), memory(bench.b().plain_memory(4 * PAGE_SIZE)), access(bench) {
    MDL& mdl = ndk.keep(std::make_unique<MDL>());
    MmInitializeMdl(&mdl, memory.at(kFirst), kBytes);
    lam = &mapped(ndk, check, ndk.b(), &mdl, kBytes);
    shown = {memory.bytes, kFirst, kBytes, kBase + lam->offset, 0};
    access.renewed = [this] { register_again(); };
    register_again();
  }
  void register_again() {
    region = ndk.b().fast_region();
    NdkSide& side = access.connection().b;
    const NdkStatus called = side.qp->Dispatch->NdkFastRegister(side.qp, ndk_tag(7), region, lam->count(), lam->pages(), lam->offset,
                                                                kBytes, ndk_tag(static_cast<std::uintptr_t>(shown.address)), flags);
    check.require(called == STATUS_SUCCESS, "NdkFastRegister is taken", "it answered " + words(called));
    const NDK_RESULT_EX result = next_result(ndk, check, side, "the registration");
    says(check, "the registration", result.Status, {STATUS_SUCCESS});
    check.equal("type of the result of a registration", static_cast<int>(result.Type), static_cast<int>(NdkOperationTypeFastRegister));
    check.that(result.RequestContext == ndk_tag(7), "the result of a registration has its context");
    shown.token = region->Dispatch->NdkGetRemoteTokenFromMr(region);
  }
  static constexpr std::uint32_t kBytes = PAGE_SIZE + 3001;  // over a page border
  NdkBench& ndk;
  Check& check;
  ULONG flags;
  NdkMemory& memory;
  NdkAccess access;
  NdkLam* lam = nullptr;
  NDK_MR* region = nullptr;  ///< of the newest registration
  SweepWindow shown;
};

/// What its owner receives into it: the right to write decides.
void receive_into(FastWindow& w) {
  NdkConnection& c = w.access.connection();
  NDK_SGE into = {};
  into.VirtualAddress = ndk_tag(static_cast<std::uintptr_t>(w.shown.address) + 5);
  into.Length = 64;
  into.MemoryRegionToken = w.region->Dispatch->NdkGetLocalTokenFromMr(w.region);
  const Bytes before(w.memory.bytes.begin(), w.memory.bytes.end());
  arranged_by(w.check, "NdkReceive", c.b.qp->Dispatch->NdkReceive(c.b.qp, ndk_tag(4), &into, 1));
  arranged_by(w.check, "NdkSend", c.a.send(1, 100, 64));
  const NdkStatus status = next_result(w.ndk, w.check, c.b, "a Receive").Status;
  const std::string what = "a Receive into a fast region with the flags " + std::to_string(w.flags);
  if ((w.flags & NDK_OP_FLAG_ALLOW_LOCAL_WRITE) != 0) {
    says(w.check, what, status, {STATUS_SUCCESS});
  } else if ((w.flags & NDK_OP_FLAG_RDMA_READ_SINK) == 0) {
    refused(w.check, what, status);
    w.check.bytes("the memory after " + what, w.memory.bytes, before);
  }
}

}  // namespace

CONFORMANCE_CASE(ndk_requests_of_every_shape_move_their_bytes, "ndk.qp.buffers", roles::provider) {
  NdkSweep api(bench.ndk());
  TransferSweep(api, check).run();
}

CONFORMANCE_CASE(ndk_shared_receives_of_every_shape_take_their_bytes, "ndk.srq.context", roles::provider) {
  NdkSweep api(bench.ndk(), true);
  TransferSweep sweep(api, check);
  for (const int from : {0, 1}) {
    sweep.lengths(from);
    sweep.lists(from);
    sweep.bursts(from);
  }
}

CONFORMANCE_CASE(ndk_a_region_has_two_ends, "ndk.mr.bounds", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkAccess access(ndk);
  const Piece piece(ndk, ndk.b(), kNdkAllRights);
  sweep_edges(check, piece.window, access);
}

CONFORMANCE_CASE(ndk_each_bit_of_a_token_counts, "ndk.cq.failure", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkAccess access(ndk);
  const Piece piece(ndk, ndk.b(), kNdkAllRights);
  sweep_tokens(check, piece.window, access);
}

CONFORMANCE_CASE(ndk_regions_have_the_rights_that_they_were_given, "ndk.mr.no-remote", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkAccess access(ndk);
  for (const ULONG flags : kRights) {
    const Piece piece(ndk, ndk.b(), flags);
    sweep_rights(check, piece.window, rights_of(flags), (flags & NDK_MR_FLAG_ALLOW_REMOTE_READ) != 0,
                 (flags & NDK_MR_FLAG_ALLOW_REMOTE_WRITE) == NDK_MR_FLAG_ALLOW_REMOTE_WRITE, access);
  }
}

CONFORMANCE_CASE(ndk_regions_are_written_with_the_right_alone, "ndk.mr.local-write", roles::provider) {
  NdkBench& ndk = bench.ndk();
  for (const ULONG flags : kRights) {
    const bool writes = (flags & NDK_MR_FLAG_ALLOW_LOCAL_WRITE) != 0;
    NdkConnection& c = ndk.connect();
    const Piece from(ndk, ndk.a(), flags), to(ndk, ndk.b(), flags);
    const NDK_SGE out = from.sge(3, 100), place = to.sge(3, 100);
    arranged_by(check, "NdkReceive", c.b.receive(1, 0, 4096));
    arranged_by(check, "NdkSend", c.a.qp->Dispatch->NdkSend(c.a.qp, nullptr, &out, 1, 0));
    ends_as(ndk, check, c.a, "a Send " + rights_of(flags), {STATUS_SUCCESS});
    ends_as(ndk, check, c.b, "its Receive", {STATUS_SUCCESS});
    check.bytes("the bytes sent", ByteView(c.b.memory->bytes).first(100), ByteView(from.room.bytes).subspan(kFirst + 3, 100));
    const Bytes before(to.room.bytes.begin(), to.room.bytes.end());
    const NdkStatus called = c.b.qp->Dispatch->NdkReceive(c.b.qp, nullptr, &place, 1);
    if (called.failed()) {
      check.that(!writes, "a Receive " + rights_of(flags) + " is taken", "it is refused");
      continue;
    }
    arranged_by(check, "NdkSend", c.a.send(1, 500, 100));
    const NTSTATUS status = next_result(ndk, check, c.b, "a Receive").Status;
    if (writes) {
      says(check, "a Receive " + rights_of(flags), status, {STATUS_SUCCESS});
      check.bytes("what was received", ByteView(to.room.bytes).subspan(kFirst + 3, 100), ByteView(c.a.memory->bytes).subspan(500, 100));
    } else {
      refused(check, "a Receive " + rights_of(flags), status);
      check.bytes("the memory", to.room.bytes, before);
    }
  }
}

CONFORMANCE_CASE(ndk_a_window_has_two_ends, "ndk.mw.range", roles::provider) {
  NdkBench& ndk = bench.ndk();
  BoundWindow w(ndk, check, kReadWrite);
  sweep_edges(check, w.shown, w.access);
  sweep_tokens(check, w.shown, w.access);
  struct Try {
    std::ptrdiff_t offset;
    SIZE_T length;
    bool allowed;
  };
  const auto n = static_cast<std::ptrdiff_t>(kLength);
  for (const Try& one : {Try{0, kLength, true}, Try{n - 1, 1, true}, Try{0, 1, true}, Try{-1, 1, false}, Try{-1, 2, false},
                         Try{n, 1, false}, Try{n - 1, 2, false}, Try{0, kLength + 1, false}, Try{1, kLength, false}}) {
    NdkConnection& c = ndk.connect();
    const Piece piece(ndk, ndk.b(), NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
    const NdkStatus status = bind(ndk, check, c.b, piece, ndk.b().window(), one.offset, one.length, kReadWrite);
    const std::string what = "NdkBind of " + std::to_string(one.length) + " bytes from byte " + std::to_string(one.offset) + " of a region";
    if (one.allowed) {
      says(check, what, status, {STATUS_SUCCESS});
    } else {
      refused(check, what, status);
    }
  }
}

CONFORMANCE_CASE(ndk_windows_have_the_rights_that_they_were_given, "ndk.mw.grants", roles::provider) {
  for (const ULONG flags : {ULONG{NDK_OP_FLAG_ALLOW_REMOTE_READ}, ULONG{NDK_OP_FLAG_ALLOW_REMOTE_WRITE}, kReadWrite}) {
    BoundWindow w(bench.ndk(), check, flags);
    sweep_rights(check, w.shown, "of a window with the flags " + std::to_string(flags), (flags & NDK_OP_FLAG_ALLOW_REMOTE_READ) != 0,
                 (flags & NDK_OP_FLAG_ALLOW_REMOTE_WRITE) == NDK_OP_FLAG_ALLOW_REMOTE_WRITE, w.access);
  }
}

CONFORMANCE_CASE(ndk_windows_are_bound_with_rights_of_their_region, "ndk.mw.rights", roles::provider) {
  NdkBench& ndk = bench.ndk();
  for (const ULONG flags : kRights) {
    for (const ULONG asked : {ULONG{NDK_OP_FLAG_ALLOW_REMOTE_READ}, ULONG{NDK_OP_FLAG_ALLOW_REMOTE_WRITE}, kReadWrite}) {
      NdkConnection& c = ndk.connect();
      const Piece piece(ndk, ndk.b(), flags);
      const NdkStatus status = bind(ndk, check, c.b, piece, ndk.b().window(), 0, 64, asked);
      const bool writes = (asked & NDK_OP_FLAG_ALLOW_REMOTE_WRITE) == NDK_OP_FLAG_ALLOW_REMOTE_WRITE;
      const std::string what = "NdkBind with the flags " + std::to_string(asked) + " " + rights_of(flags);
      if (writes && (flags & NDK_MR_FLAG_ALLOW_LOCAL_WRITE) == 0) {
        refused(check, what, status);
      } else {
        says(check, what, status, {STATUS_SUCCESS});
      }
    }
  }
}

CONFORMANCE_CASE(ndk_a_window_is_bound_many_times, "ndk.mw.invalidate", roles::provider) {
  // More than a byte of the token can tell apart.
  constexpr int kTimes = 300;
  NdkBench& ndk = bench.ndk();
  NdkAccess access(ndk);
  const Piece piece(ndk, ndk.b(), NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
  NDK_MW* const window = ndk.b().window();
  UINT32 last = 0;
  for (int i = 0; i < kTimes; ++i) {
    NdkSide& side = access.connection().b;
    const std::ptrdiff_t at = i % 500;
    check.require(says(check, "a Bind", bind(ndk, check, side, piece, window, at, 16, kReadWrite), {STATUS_SUCCESS}),
                  "the window is bound");
    last = token_of(window);
    SweepWindow shown = piece.window;
    shown.first += static_cast<std::size_t>(at);
    shown.address += static_cast<UINT64>(at);
    if (!judge_access(check, shown, "of a window that was bound again", {i % 2 == 0, shown.address, last, 16}, true, access)) return;
    says(check, "an Invalidate", invalidate(ndk, check, side, window->Header), {STATUS_SUCCESS});
  }
  judge_access(check, piece.window, "of a window that was invalidated", {true, piece.window.address, last, 8}, false, access);
}

CONFORMANCE_CASE(ndk_each_window_keeps_its_region, "ndk.mr.deregister-bound", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  const Piece piece(ndk, ndk.b(), NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
  const auto deregister = [&] {
    return ndk.request([&](auto done, PVOID x) { return piece.region->Dispatch->NdkDeregisterMr(piece.region, done, x); });
  };
  std::array<NDK_MW*, 3> windows;
  for (NDK_MW*& window : windows) {
    window = ndk.b().window();
    says(check, "a Bind", bind(ndk, check, c.b, piece, window, 0, 64, kReadWrite), {STATUS_SUCCESS});
  }
  for (NDK_MW* window : windows) {
    refused(check, "NdkDeregisterMr with a window", deregister());
    says(check, "an Invalidate", invalidate(ndk, check, c.b, window->Header), {STATUS_SUCCESS});
  }
  says(check, "NdkDeregisterMr without windows", deregister(), {STATUS_SUCCESS});
}

CONFORMANCE_CASE(ndk_a_fast_region_has_two_ends, "ndk.fast.base", roles::provider) {
  FastWindow w(bench.ndk(), check, kReadWrite);
  sweep_edges(check, w.shown, w.access);
  sweep_tokens(check, w.shown, w.access);
}

CONFORMANCE_CASE(ndk_fast_regions_have_the_rights_that_they_were_given, "ndk.fast.rights", roles::provider) {
  for (const ULONG flags : {ULONG{0}, ULONG{NDK_OP_FLAG_ALLOW_LOCAL_WRITE}, ULONG{NDK_OP_FLAG_RDMA_READ_SINK},
                            ULONG{NDK_OP_FLAG_ALLOW_REMOTE_READ}, ULONG{NDK_OP_FLAG_ALLOW_REMOTE_WRITE}, kReadWrite}) {
    FastWindow w(bench.ndk(), check, flags);
    sweep_rights(check, w.shown, "of a fast region with the flags " + std::to_string(flags), (flags & NDK_OP_FLAG_ALLOW_REMOTE_READ) != 0,
                 (flags & NDK_OP_FLAG_ALLOW_REMOTE_WRITE) == NDK_OP_FLAG_ALLOW_REMOTE_WRITE, w.access);
    receive_into(w);
  }
}

}  // namespace fb::conformance
