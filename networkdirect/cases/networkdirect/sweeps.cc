// Rules about data and access, over every kind of request, both ends of every range, each bit of a token and each set of rights.
#include <array>

#include "conformance/cases/access_sweep.h"
#include "networkdirect/cases/networkdirect/scene.h"
#include "conformance/cases/transfer_sweep.h"

namespace fb::conformance {
namespace {

constexpr std::size_t kRoom = 3 * 4096;
constexpr std::size_t kFirst = 4096 + 5;
constexpr std::uint32_t kLength = 1031;
constexpr ULONG kReadWrite = ND_OP_FLAG_ALLOW_READ | ND_OP_FLAG_ALLOW_WRITE;

/// For TransferSweep: a connection of shallow queues, whose queue pairs have contexts of their own.
class NdSweep {
 public:
  explicit NdSweep(NdBench& bench, bool shared = false) : bench_(bench) {
    const ND2_ADAPTER_INFO a = bench.a().info(), b = bench.b().info();
    limits_.sges = std::min({a.MaxInitiatorSge, b.MaxInitiatorSge, ULONG{9}});
    limits_.read_sges = std::min({a.MaxReadSge, b.MaxReadSge, ULONG{limits_.sges}});
    limits_.receive_sges = std::min({a.MaxReceiveSge, b.MaxReceiveSge, ULONG{9}});
    limits_.inline_bytes = std::min({a.MaxInlineDataSize, b.MaxInlineDataSize, ULONG{kSweepInline}});
    const ULONG sges = limits_.sges = limits_.receive_sges = std::min(limits_.sges, limits_.receive_sges);
    limits_.read_sges = std::min<ULONG>(limits_.read_sges, sges);
    NdConnectTerms terms;
    terms.a = {.depth = kSweepDepth, .sges = sges, .inline_bytes = limits_.inline_bytes, .context = nd_tag(0xA1)};
    terms.b = {.depth = kSweepDepth, .sges = sges, .inline_bytes = limits_.inline_bytes, .context = nd_tag(0xB1)};
    if (shared) {
      limits_.receive_sges = std::min(sges, ULONG{2});
      for (auto [own, end] : {std::pair{&shared_[0], &bench.a()}, std::pair{&shared_[1], &bench.b()}}) {
        *own = end->shared_receive_queue(kSweepDepth);
      }
      terms.a.shared = shared_[0].get();
      terms.b.shared = shared_[1].get();
    }
    c_ = bench.connect(terms);
    memories_[0] = bench.a().memory(kSweepBytes);
    memories_[1] = bench.b().memory(kSweepBytes);
  }

  MutableBytes memory(int end) { return memories_[end]->bytes; }
  SweepLimits limits() const { return limits_; }
  bool receive(int end, std::uint64_t tag, const std::vector<SweepPiece>& pieces) {
    const auto sges = list(end, pieces, false);
    const auto count = static_cast<ULONG>(sges.size());
    const auto& shared = shared_[static_cast<std::size_t>(end)];
    if (shared.get() != nullptr) return shared->Receive(nd_tag(tag), sges.data(), count) == ND_SUCCESS;
    return side(end).qp->Receive(nd_tag(tag), sges.data(), count) == ND_SUCCESS;
  }
  bool post(int end, const SweepRequest& request) {
    const auto sges = list(end, request.pieces, request.copied);
    const auto count = static_cast<ULONG>(sges.size());
    const ND2_SGE* const first = sges.empty() ? nullptr : sges.data();
    const ULONG flags = (request.silent ? ND_OP_FLAG_SILENT_SUCCESS : 0) | (request.fence ? ND_OP_FLAG_READ_FENCE : 0) |
                        (request.solicited ? ND_OP_FLAG_SEND_AND_SOLICIT_EVENT : 0) | (request.copied ? ND_OP_FLAG_INLINE : 0);
    IND2QueuePair& qp = *side(end).qp;
    NdMemory& there = *memories_[1 - end];
    const UINT32 token = there.region->GetRemoteToken();
    switch (request.kind) {
      case SweepKind::send:
        return qp.Send(nd_tag(request.tag), first, count, flags) == ND_SUCCESS;
      case SweepKind::write:
        return qp.Write(nd_tag(request.tag), first, count, there.address(request.remote), token, flags) == ND_SUCCESS;
      case SweepKind::read:
        return qp.Read(nd_tag(request.tag), first, count, there.address(request.remote), token, flags) == ND_SUCCESS;
    }
    return false;
  }
  std::optional<SweepResult> result(int end, bool) {
    const auto found = bench_.result(side(end), Duration::s(10));
    if (!found) return std::nullopt;
    SweepResult made;
    made.tag = reinterpret_cast<std::uintptr_t>(found->RequestContext);
    made.good = found->Status == ND_SUCCESS;
    made.status = words(NdStatus(found->Status));
    made.own_queue_pair = found->QueuePairContext == nd_tag(end == 0 ? 0xA1 : 0xB1);
    switch (found->RequestType) {
      case Nd2RequestTypeSend:
        made.kind = SweepKind::send;
        break;
      case Nd2RequestTypeWrite:
        made.kind = SweepKind::write;
        break;
      case Nd2RequestTypeRead:
        made.kind = SweepKind::read;
        break;
      case Nd2RequestTypeReceive:
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
  NdSide& side(int end) { return end == 0 ? c_->a : c_->b; }
  std::vector<ND2_SGE> list(int end, const std::vector<SweepPiece>& pieces, bool copied) {
    std::vector<ND2_SGE> made;
    for (const SweepPiece& piece : pieces) {
      made.push_back(memories_[end]->sge(piece.offset, piece.length));
      if (copied) made.back().MemoryRegionToken = 0;
    }
    return made;
  }

  NdBench& bench_;
  SweepLimits limits_;
  std::array<NdRef<IND2SharedReceiveQueue>, 2> shared_;
  std::unique_ptr<NdConnection> c_;
  std::unique_ptr<NdMemory> memories_[2];
};

/// Makes accesses of the active side; after each that fails there is a fresh connection.
class NdAccess {
 public:
  explicit NdAccess(NdBench& bench) : bench_(bench) { renew(); }
  NdConnection& connection() { return *c_; }
  /// Called for each connection: windows are bound on one.
  std::function<void()> renewed;

  SweepEnd operator()(const SweepAccess& access) {
    const MutableBytes mine = c_->a.memory->bytes;
    for (std::size_t i = 0; i < access.length; ++i) mine[8192 + i] = static_cast<std::uint8_t>(++fill_ * 31);
    ND2_SGE sge = c_->a.memory->sge(8192, access.length);
    IND2QueuePair& qp = *c_->a.qp;
    const HRESULT called = access.read ? qp.Read(nd_tag(1), &sge, 1, access.address, access.token, 0)
                                       : qp.Write(nd_tag(1), &sge, 1, access.address, access.token, 0);
    SweepEnd end;
    NdStatus status = called;
    if (called == ND_SUCCESS) {
      const auto result = bench_.result(c_->a, Duration::s(30));
      status = result ? NdStatus(result->Status) : NdStatus(ND_PENDING);
    }
    end.good = status == ND_SUCCESS;
    end.denied = status == ND_ACCESS_VIOLATION || status == ND_REMOTE_ERROR;
    end.status = words(status);
    end.data.assign(mine.begin() + 8192, mine.begin() + 8192 + access.length);
    if (!end.good) renew();
    return end;
  }

 private:
  void renew() {
    c_ = bench_.connect();
    if (renewed) renewed();
  }
  NdBench& bench_;
  std::unique_ptr<NdConnection> c_;
  std::uint32_t fill_ = 0;
};

/// A region over a piece of memory that the rest of a page surrounds.
struct Piece {
  Piece(ProviderBench& bench, NdEnd& end, ULONG flags) : region(end.empty_region()) {
    window.room = bench.nd().memory().take(kRoom);
    for (std::size_t i = 0; i < kRoom; ++i) window.room[i] = static_cast<std::uint8_t>(i * 3 + i / 256);
    NdRequest request;
    const HRESULT called = region->Register(window.room.data() + kFirst, kLength, flags, &request);
    if (ended(bench, called, request, *region) != ND_SUCCESS) throw CannotArrange{"Register fails"};
    window.first = kFirst;
    window.length = kLength;
    window.address = remote_address(window.room.data() + kFirst);
    window.token = region->GetRemoteToken();
    window.network_order = true;
  }
  ND2_SGE sge(std::ptrdiff_t offset, ULONG length) { return {window.room.data() + kFirst + offset, length, region->GetLocalToken()}; }
  NdRef<IND2MemoryRegion> region;
  SweepWindow window;
};

std::string rights_of(ULONG flags) {
  std::string text = "of a region with the rights";
  if ((flags & ND_MR_FLAG_ALLOW_LOCAL_WRITE) != 0) text += " local write";
  if ((flags & ND_MR_FLAG_ALLOW_REMOTE_READ) != 0) text += " remote read";
  if ((flags & ND_MR_FLAG_ALLOW_REMOTE_WRITE) == ND_MR_FLAG_ALLOW_REMOTE_WRITE) text += " remote write";
  if ((flags & ND_MR_FLAG_RDMA_READ_SINK) != 0) text += " read sink";
  return text;
}

constexpr std::array<ULONG, 7> kRights = {
    0u,
    ND_MR_FLAG_ALLOW_LOCAL_WRITE,
    ND_MR_FLAG_ALLOW_REMOTE_READ,
    ND_MR_FLAG_ALLOW_LOCAL_WRITE | ND_MR_FLAG_ALLOW_REMOTE_READ,
    ND_MR_FLAG_ALLOW_REMOTE_WRITE,
    ND_MR_FLAG_ALLOW_REMOTE_WRITE | ND_MR_FLAG_ALLOW_REMOTE_READ,
    ND_MR_FLAG_ALLOW_LOCAL_WRITE | ND_MR_FLAG_RDMA_READ_SINK,
};

/// A window of the passive side, bound again on each connection.
struct BoundWindow {
  BoundWindow(ProviderBench& b, Check& c, ULONG rights, ULONG region = ND_MR_FLAG_ALLOW_LOCAL_WRITE)
      : bench(b), check(c), flags(rights), piece(b, b.nd().b(), region), access(b.nd()), window(b.nd().b().window()) {
    shown = piece.window;
    shown.first += 64;
    shown.length = 521;
    shown.address += 64;
    access.renewed = [this] { bind(); };
    bind();
  }
  void bind() {
    const auto c = &access.connection().b;
    // One that was bound on a queue pair that is gone, or in error, is invalid; another is as good.
    window = bench.nd().b().window();
    const HRESULT called =
        c->qp->Bind(nd_tag(9), piece.region.get(), window.get(), piece.window.room.data() + shown.first, shown.length, flags);
    check.require(called == ND_SUCCESS, "Bind is taken", "it answered " + words(NdStatus(called)));
    const ND2_RESULT result = next_result(bench, check, *c, "the Bind");
    says(check, "the Bind", result.Status, {ND_SUCCESS});
    check.equal("type of the result of a Bind", result.RequestType, Nd2RequestTypeBind);
    check.that(result.RequestContext == nd_tag(9), "the result of a Bind has its context");
    shown.token = window->GetRemoteToken();
  }
  ProviderBench& bench;
  Check& check;
  ULONG flags;
  Piece piece;
  NdAccess access;
  NdRef<IND2MemoryWindow> window;
  SweepWindow shown;  ///< with the token of the newest binding
};

}  // namespace

CONFORMANCE_CASE(nd_requests_of_every_shape_move_their_bytes, "networkdirect.queue.buffers", roles::provider) {
  NdSweep api(bench.nd());
  TransferSweep(api, check).run();
}

CONFORMANCE_CASE(nd_shared_receives_of_every_shape_take_their_bytes, "networkdirect.shared.context", roles::provider) {
  check.precondition(bench.nd().a().info().MaxSharedReceiveQueueDepth >= kSweepDepth, "the adapter has shared receive queues");
  NdSweep api(bench.nd(), true);
  TransferSweep sweep(api, check);
  for (const int from : {0, 1}) {
    sweep.lengths(from);
    sweep.lists(from);
    sweep.bursts(from);
  }
}

CONFORMANCE_CASE(nd_a_region_has_two_ends_for_peers, "networkdirect.memory.range-remote", roles::provider) {
  NdAccess access(bench.nd());
  const Piece piece(bench, bench.nd().b(), kNdAllRights);
  sweep_edges(check, piece.window, access);
}

CONFORMANCE_CASE(nd_a_region_has_two_ends_for_its_owner, "networkdirect.memory.range-local", roles::provider) {
  struct Try {
    std::ptrdiff_t offset;
    ULONG length;
    bool allowed;
  };
  const auto n = static_cast<ULONG>(kLength);
  for (const Try& one : {Try{0, 1, true}, Try{n - 1, 1, true}, Try{0, n, true}, Try{-1, 1, false}, Try{-1, 2, false}, Try{n, 1, false},
                         Try{n - 1, 2, false}, Try{0, n + 1, false}, Try{1, n, false}}) {
    const auto c = bench.nd().connect();
    Piece piece(bench, bench.nd().a(), kNdAllRights);
    const Bytes before(piece.window.room.begin(), piece.window.room.end());
    ND2_SGE sge = piece.sge(one.offset, one.length), into = c->b.memory->sge(0, 4096);
    const std::string what = std::to_string(one.length) + " bytes from byte " + std::to_string(one.offset) + " of a region";
    arranged_by(check, "Receive", c->b.qp->Receive(nullptr, &into, 1));
    check.require(says(check, "Send of " + what, c->a.qp->Send(nullptr, &sge, 1, 0), {ND_SUCCESS}), "the call is taken");
    if (!ends_as(bench, check, c->a, "a Send of " + what, {one.allowed ? ND_SUCCESS : ND_ACCESS_VIOLATION})) continue;
    // As the place where a message is put.
    const auto d = bench.nd().connect();
    Piece sink(bench, bench.nd().b(), kNdAllRights);
    ND2_SGE place = sink.sge(one.offset, one.length), out = d->a.memory->sge(77, one.length);
    arranged_by(check, "Receive", d->b.qp->Receive(nullptr, &place, 1));
    arranged_by(check, "Send", d->a.qp->Send(nullptr, &out, 1, 0));
    const HRESULT status = next_result(bench, check, d->b, "a Receive of " + what).Status;
    Bytes expected = before;
    if (one.allowed) {
      says(check, "a Receive of " + what, status, {ND_SUCCESS});
      std::copy_n(d->a.memory->bytes.begin() + 77, one.length, expected.begin() + static_cast<std::ptrdiff_t>(kFirst) + one.offset);
    } else {
      refused(check, "a Receive of " + what, status);
    }
    // What lies within the region may have been written when the rest was refused.
    const ByteView room(sink.window.room);
    if (one.allowed) check.bytes("the memory after a Receive of " + what, room, expected);
    check.bytes("the memory before the region", room.first(kFirst), ByteView(before).first(kFirst));
    check.bytes("the memory behind the region", room.subspan(kFirst + kLength), ByteView(before).subspan(kFirst + kLength));
  }
}

CONFORMANCE_CASE(nd_each_bit_of_a_token_counts, "networkdirect.queue.remote-error", roles::provider) {
  NdAccess access(bench.nd());
  const Piece piece(bench, bench.nd().b(), kNdAllRights);
  sweep_tokens(check, piece.window, access);
}

CONFORMANCE_CASE(nd_regions_have_the_rights_that_they_were_given, "networkdirect.memory.remote-rights", roles::provider) {
  NdAccess access(bench.nd());
  for (const ULONG flags : kRights) {
    const Piece piece(bench, bench.nd().b(), flags);
    sweep_rights(check, piece.window, rights_of(flags), (flags & ND_MR_FLAG_ALLOW_REMOTE_READ) != 0,
                 (flags & ND_MR_FLAG_ALLOW_REMOTE_WRITE) == ND_MR_FLAG_ALLOW_REMOTE_WRITE, access);
  }
}

CONFORMANCE_CASE(nd_a_region_is_what_it_was_registered_as_last, "networkdirect.memory.register-again", roles::provider) {
  struct Turn {
    std::size_t first;
    std::uint32_t length;
    ULONG flags;
  };
  constexpr ULONG kReads = ND_MR_FLAG_ALLOW_REMOTE_READ, kWrites = ND_MR_FLAG_ALLOW_REMOTE_WRITE;
  NdAccess access(bench.nd());
  const MutableBytes room = bench.nd().memory().take(std::size_t{5} << 20);
  for (std::size_t i = 0; i < room.size(); ++i) room[i] = static_cast<std::uint8_t>(i * 3 + i / 256);
  const auto region = bench.nd().b().empty_region();
  // More rights and fewer by turns, of more bytes and of fewer.
  for (const Turn& turn : {Turn{100, 5000, kReads | kWrites}, Turn{4099, 700, kReads}, Turn{0, 9000, kWrites}, Turn{77, 64, 0},
                           Turn{50, 4'500'001, kReads}, Turn{5, 8100, kReads | kWrites}}) {
    NdRequest request, back;
    const HRESULT called = region->Register(room.data() + turn.first, turn.length, turn.flags, &request);
    check.require(says(check, "Register once more", ended(bench, called, request, *region), {ND_SUCCESS}), "the region is registered");
    const SweepWindow shown = {room, turn.first, turn.length, remote_address(room.data() + turn.first), region->GetRemoteToken()};
    const bool reads = (turn.flags & kReads) != 0, writes = (turn.flags & kWrites) == kWrites;
    const std::string what = rights_of(turn.flags);
    // The first and the last bytes.
    for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{turn.length} - 64}) {
      judge_access(check, shown, what, {true, shown.address + at, shown.token, 64}, reads, access);
      judge_access(check, shown, what, {false, shown.address + at, shown.token, 64}, writes, access);
    }
    judge_access(check, shown, "beyond its last byte", {reads, shown.address + turn.length - 1, shown.token, 2}, false, access);
    judge_access(check, shown, "before its first byte", {reads, shown.address - 1, shown.token, 2}, false, access);
    const HRESULT dropped = region->Deregister(&back);
    check.require(says(check, "Deregister", ended(bench, dropped, back, *region), {ND_SUCCESS}), "the region is free");
  }
}

CONFORMANCE_CASE(nd_regions_are_written_with_the_right_alone, "networkdirect.memory.local-rights", roles::provider) {
  for (const ULONG flags : kRights) {
    const bool writes = (flags & ND_MR_FLAG_ALLOW_LOCAL_WRITE) != 0;
    const auto c = bench.nd().connect();
    Piece from(bench, bench.nd().a(), flags), to(bench, bench.nd().b(), flags);
    ND2_SGE out = from.sge(3, 100), into = c->b.memory->sge(0, 4096), place = to.sge(3, 100), sent = c->a.memory->sge(0, 100);
    // Reading one's own memory needs no right.
    arranged_by(check, "Receive", c->b.qp->Receive(nullptr, &into, 1));
    arranged_by(check, "Send", c->a.qp->Send(nullptr, &out, 1, 0));
    ends_as(bench, check, c->a, "a Send " + rights_of(flags), {ND_SUCCESS});
    ends_as(bench, check, c->b, "its Receive", {ND_SUCCESS});
    check.bytes("the bytes sent", ByteView(c->b.memory->bytes).first(100), ByteView(from.window.room).subspan(kFirst + 3, 100));
    arranged_by(check, "Receive", c->b.qp->Receive(nullptr, &place, 1));
    arranged_by(check, "Send", c->a.qp->Send(nullptr, &sent, 1, 0));
    const Bytes before(to.window.room.begin(), to.window.room.end());
    const HRESULT status = next_result(bench, check, c->b, "a Receive").Status;
    if (writes) {
      says(check, "a Receive " + rights_of(flags), status, {ND_SUCCESS});
      check.bytes("what was received", ByteView(to.window.room).subspan(kFirst + 3, 100), ByteView(c->a.memory->bytes).first(100));
    } else {
      refused(check, "a Receive " + rights_of(flags), status);
      check.bytes("the memory", to.window.room, before);
    }
  }
}

CONFORMANCE_CASE(nd_a_window_has_two_ends, "networkdirect.window.range", roles::provider) {
  BoundWindow w(bench, check, kReadWrite);
  sweep_edges(check, w.shown, w.access);
}

CONFORMANCE_CASE(nd_windows_have_the_rights_that_they_were_given, "networkdirect.window.rights", roles::provider) {
  for (const ULONG flags : {ULONG{0}, ULONG{ND_OP_FLAG_ALLOW_READ}, ULONG{ND_OP_FLAG_ALLOW_WRITE}, kReadWrite}) {
    // The rights of the region are for its own token.
    for (const ULONG region : {ULONG{ND_MR_FLAG_ALLOW_LOCAL_WRITE}, kNdAllRights | ND_MR_FLAG_ALLOW_LOCAL_WRITE}) {
      BoundWindow w(bench, check, flags, region);
      sweep_rights(check, w.shown, "of a window with the flags " + std::to_string(flags), (flags & ND_OP_FLAG_ALLOW_READ) != 0,
                   (flags & ND_OP_FLAG_ALLOW_WRITE) != 0, w.access);
    }
  }
}

CONFORMANCE_CASE(nd_each_bit_of_the_token_of_a_window_counts, "networkdirect.window.access", roles::provider) {
  BoundWindow w(bench, check, kReadWrite);
  sweep_tokens(check, w.shown, w.access);
}

CONFORMANCE_CASE(nd_windows_are_bound_within_both_ends, "networkdirect.window.bind-range", roles::provider) {
  struct Try {
    std::ptrdiff_t offset;
    SIZE_T length;
    bool allowed;
  };
  const auto n = static_cast<std::ptrdiff_t>(kLength);
  for (const Try& one : {Try{0, kLength, true}, Try{n - 1, 1, true}, Try{0, 1, true}, Try{-1, 1, false}, Try{-1, 2, false},
                         Try{n, 1, false}, Try{n - 1, 2, false}, Try{0, kLength + 1, false}, Try{1, kLength, false}}) {
    const auto c = bench.nd().connect();
    const Piece piece(bench, bench.nd().b(), ND_MR_FLAG_ALLOW_LOCAL_WRITE);
    const auto window = c->b.end->window();
    const HRESULT called =
        c->b.qp->Bind(nd_tag(3), piece.region.get(), window.get(), piece.window.room.data() + kFirst + one.offset, one.length, kReadWrite);
    const NdStatus status = called == ND_SUCCESS ? NdStatus(next_result(bench, check, c->b, "the Bind").Status) : NdStatus(called);
    const std::string what = "Bind of " + std::to_string(one.length) + " bytes from byte " + std::to_string(one.offset) + " of a region";
    if (one.allowed) {
      says(check, what, status, {ND_SUCCESS});
    } else {
      refused(check, what, status);
    }
  }
}

CONFORMANCE_CASE(nd_windows_are_bound_with_rights_of_their_region, "networkdirect.window.bind-rights", roles::provider) {
  for (const ULONG flags : kRights) {
    for (const ULONG asked : {ULONG{ND_OP_FLAG_ALLOW_READ}, ULONG{ND_OP_FLAG_ALLOW_WRITE}, kReadWrite}) {
      const auto c = bench.nd().connect();
      const Piece piece(bench, bench.nd().b(), flags);
      const auto window = c->b.end->window();
      const HRESULT called = c->b.qp->Bind(nd_tag(3), piece.region.get(), window.get(), piece.window.room.data() + kFirst, 64, asked);
      const NdStatus status = called == ND_SUCCESS ? NdStatus(next_result(bench, check, c->b, "the Bind").Status) : NdStatus(called);
      const bool allowed = (asked & ND_OP_FLAG_ALLOW_WRITE) == 0 || (flags & ND_MR_FLAG_ALLOW_LOCAL_WRITE) != 0;
      const std::string what = "Bind with the flags " + std::to_string(asked) + " " + rights_of(flags);
      if (allowed) {
        says(check, what, status, {ND_SUCCESS});
      } else {
        refused(check, what, status);
      }
    }
  }
}

CONFORMANCE_CASE(nd_a_window_is_bound_many_times, "networkdirect.window.rebind", roles::provider) {
  // More than a byte of the token can tell apart.
  constexpr int kTimes = 300;
  NdAccess access(bench.nd());
  const Piece piece(bench, bench.nd().b(), ND_MR_FLAG_ALLOW_LOCAL_WRITE);
  const auto window = access.connection().b.end->window();
  UINT32 last = 0;
  for (int i = 0; i < kTimes; ++i) {
    NdSide& side = access.connection().b;
    const std::size_t at = static_cast<std::size_t>(i) % 500;
    std::uint8_t* const memory = piece.window.room.data() + kFirst + at;
    check.require(side.qp->Bind(nd_tag(1), piece.region.get(), window.get(), memory, 16, kReadWrite) == ND_SUCCESS, "Bind is taken");
    ends_as(bench, check, side, "a Bind", {ND_SUCCESS});
    const UINT32 token = window->GetRemoteToken();
    check.that(token != last, "each binding has another token than the last", "it is the same");
    last = token;
    SweepWindow shown = piece.window;
    shown.first = kFirst + at;
    shown.address = remote_address(memory);
    if (!judge_access(check, shown, "of a window that was bound again", {i % 2 == 0, shown.address, token, 16}, true, access)) return;
    check.require(side.qp->Invalidate(nd_tag(2), window.get(), 0) == ND_SUCCESS, "Invalidate is taken");
    const ND2_RESULT result = next_result(bench, check, side, "the Invalidate");
    says(check, "the Invalidate", result.Status, {ND_SUCCESS});
    check.that(result.RequestContext == nd_tag(2), "the result of an Invalidate has its context");
    check.equal("type of the result of an Invalidate", result.RequestType, Nd2RequestTypeInvalidate);
  }
  NdSide& side = access.connection().b;
  check.require(side.qp->Bind(nd_tag(1), piece.region.get(), window.get(), piece.window.room.data() + kFirst, 16, kReadWrite) == ND_SUCCESS,
                "Bind is taken");
  ends_as(bench, check, side, "a Bind", {ND_SUCCESS});
  judge_access(check, piece.window, "with the token of an earlier binding", {true, piece.window.address, last, 8}, false, access);
}

CONFORMANCE_CASE(nd_each_window_keeps_its_region, "networkdirect.memory.deregister-bound", roles::provider) {
  const auto c = bench.nd().connect();
  const Piece piece(bench, bench.nd().b(), ND_MR_FLAG_ALLOW_LOCAL_WRITE);
  std::array<NdRef<IND2MemoryWindow>, 3> windows;
  for (auto& window : windows) {
    window = c->b.end->window();
    check.precondition(
        c->b.qp->Bind(nullptr, piece.region.get(), window.get(), piece.window.room.data() + kFirst, 64, kReadWrite) == ND_SUCCESS,
        "Bind is taken");
    ends_as(bench, check, c->b, "a Bind", {ND_SUCCESS});
  }
  std::size_t left = windows.size();
  for (auto& window : windows) {
    NdRequest request;
    const HRESULT called = piece.region->Deregister(&request);
    says(check, "Deregister with " + std::to_string(left--) + " windows", ended(bench, called, request, *piece.region), {ND_DEVICE_BUSY});
    check.precondition(c->b.qp->Invalidate(nullptr, window.get(), 0) == ND_SUCCESS, "Invalidate is taken");
    ends_as(bench, check, c->b, "an Invalidate", {ND_SUCCESS});
  }
  NdRequest request;
  const HRESULT called = piece.region->Deregister(&request);
  says(check, "Deregister without windows", ended(bench, called, request, *piece.region), {ND_SUCCESS});
}

}  // namespace fb::conformance
