// Random histories: several queue pairs on one completion queue, over many turns of every queue.
#include <array>

#include "networkdirect/cases/ndk/scene.h"
#include "networkdirect/cases/queue_fill.h"
#include "networkdirect/cases/queue_walk.h"

namespace fb::conformance {
namespace {

struct NdkWalkTerms {
  bool shared = false;   ///< some of the queue pairs share their receives
  bool windows = false;  ///< peers use windows of the memory
  bool apart = false;    ///< requests and receives end in different completion queues
  std::array<std::uint32_t, 3> depths = {5, 8, 13};
  std::uint32_t shared_depth = 11;
};

/// For QueueWalk.
class NdkWalk {
 public:
  NdkWalk(NdkBench& bench, Check& check, const NdkWalkTerms& terms) : bench_(bench), check_(check), terms_(terms) {
    for (std::size_t end = 0; end < 2; ++end) {
      for (std::size_t q = 0; q < queues(); ++q) queues_[end][q] = &at(end).queue(std::max(kWalkQueue, terms.shared_depth + 20));
      memories_[end] = &at(end).memory(kSweepBytes);
      if (!terms.shared) continue;
      // Much deeper than it was made: providers keep room for no more than a few times as many.
      shared_[end] = &at(end).shared_receive_queue(11);
      NDK_SRQ* const srq = shared_[end]->srq;
      if (terms.shared_depth == 11) continue;
      const NdkStatus deeper =
          bench.request([&](auto c, PVOID x) { return srq->Dispatch->NdkModifySrq(srq, terms.shared_depth, 0, c, x); });
      arranged_by(check, "NdkModifySrq", deeper);
    }
    const NDK_ADAPTER_INFO info = bench.a().info();
    limits_.sges = limits_.receive_sges = std::min({info.MaxInitiatorRequestSge, info.MaxReceiveRequestSge, ULONG{5}});
    limits_.read_sges = std::min<ULONG>(info.MaxReadRequestSge, limits_.sges);
    limits_.inline_bytes = std::min<ULONG>(info.MaxInlineDataSize, kSweepInline);
    window_bytes_ = std::min<std::size_t>(info.MaxWindowSize, 100'003);
    for (std::uint32_t& depth : terms_.depths) depth = std::min({ULONG{depth}, info.MaxInitiatorQueueDepth, info.MaxReceiveQueueDepth});
  }

  MutableBytes memory(std::size_t end) { return memories_[end]->bytes; }
  WalkLine line(std::size_t i) const {
    const bool apart = terms_.apart && i != 2;
    WalkLine made{terms_.depths[i % 3], terms_.depths[i % 3], limits_, terms_.shared && i != 1, apart ? i % 2 : 0, apart ? 1 - i % 2 : 0};
    // Requests of many buffers and Receives of few, the other way round, and many of both.
    if (i % 3 == 0) made.limits.receive_sges = std::min(limits_.receive_sges, 1u);
    if (i % 3 == 1) {
      made.limits.sges = std::min(limits_.sges, 1u);
      made.limits.read_sges = std::min(limits_.read_sges, made.limits.sges);
    }
    if (!made.shared) return made;
    made.receive_depth = terms_.shared_depth;
    made.limits.receive_sges = std::min(limits_.receive_sges, 2u);
    return made;
  }

  bool receive(std::size_t i, std::size_t end, std::uint64_t tag, const std::vector<SweepPiece>& pieces) {
    const auto sges = list(end, pieces, false);
    const auto count = static_cast<ULONG>(sges.size());
    const NDK_SGE* const first = sges.empty() ? nullptr : sges.data();
    if (line(i).shared) return shared_[end]->srq->Dispatch->NdkSrqReceive(shared_[end]->srq, ndk_tag(tag), first, count) == STATUS_SUCCESS;
    NDK_QP* const qp = side(i, end).qp;
    return qp->Dispatch->NdkReceive(qp, ndk_tag(tag), first, count) == STATUS_SUCCESS;
  }

  bool post(std::size_t i, std::size_t end, const WalkRequest& request) {
    const auto sges = list(end, request.pieces, request.copied);
    const auto count = static_cast<ULONG>(sges.size());
    const NDK_SGE* const first = sges.empty() ? nullptr : sges.data();
    const ULONG flags = (request.silent ? NDK_OP_FLAG_SILENT_SUCCESS : 0) | (request.fence ? NDK_OP_FLAG_READ_FENCE : 0) |
                        (request.solicited ? NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT : 0) | (request.copied ? NDK_OP_FLAG_INLINE : 0) |
                        (request.deferred ? NDK_OP_FLAG_DEFER : 0);
    NDK_QP* const qp = side(i, end).qp;
    const UINT64 to = memories_[1 - end]->address(request.remote);
    const PVOID tag = ndk_tag(request.tag);
    const UINT32 token = token_for(i, end, request);
    switch (request.kind) {
      case SweepKind::send:
        return qp->Dispatch->NdkSend(qp, tag, first, count, flags) == STATUS_SUCCESS;
      case SweepKind::write:
        return qp->Dispatch->NdkWrite(qp, tag, first, count, to, token, flags) == STATUS_SUCCESS;
      case SweepKind::read:
        return qp->Dispatch->NdkRead(qp, tag, first, count, to, token, flags) == STATUS_SUCCESS;
    }
    return false;
  }
  bool post_badly(std::size_t i, std::size_t end, std::uint64_t tag) {
    const NdkMemory& there = *memories_[1 - end];
    NDK_QP* const qp = side(i, end).qp;
    const NDK_SGE mine = memories_[end]->sge(0, 16);
    return qp->Dispatch->NdkWrite(qp, ndk_tag(tag), &mine, 1, there.address(kSweepBytes - 15), there.remote, 0) == STATUS_SUCCESS;
  }

  std::size_t queues() const { return terms_.apart ? 2 : 1; }
  std::vector<WalkResult> take(std::size_t end, std::size_t q, std::uint32_t most) {
    NDK_CQ* const cq = queues_[end][q]->cq;
    std::vector<NDK_RESULT_EX> results(most);
    std::vector<NDK_RESULT> plain(most);
    const bool extended = cq->Dispatch->NdkGetCqResultsEx != nullptr && ++turn_ % 3 != 0;
    const ULONG count =
        extended ? cq->Dispatch->NdkGetCqResultsEx(cq, results.data(), most) : cq->Dispatch->NdkGetCqResults(cq, plain.data(), most);
    check_.require(count <= most, "a queue gives no more results than it is asked for", "it gives " + words(count));
    std::vector<WalkResult> made;
    for (ULONG i = 0; i < count; ++i) {
      if (!extended) {
        results[i].Status = plain[i].Status;
        results[i].BytesTransferred = plain[i].BytesTransferred;
        results[i].QPContext = plain[i].QPContext;
        results[i].RequestContext = plain[i].RequestContext;
      }
      made.push_back(read(end, results[i], extended));
    }
    return made;
  }

  void settle() { bench_.pass(Duration::ms(2)); }
  bool resize(std::size_t end, std::size_t q, std::uint32_t depth) {
    NDK_CQ* const cq = queues_[end][q]->cq;
    return bench_.request([&](auto c, PVOID x) { return cq->Dispatch->NdkResizeCq(cq, depth, c, x); }) == STATUS_SUCCESS;
  }

  void make(std::size_t i) {
    if (lines_.size() <= i) lines_.resize(i + 1);
    if (lines_[i].c != nullptr) bury(lines_[i]);
    NdkConnection& c = bench_.prepare();
    lines_[i].c = &c;
    lines_[i].closed = nullptr;
    for (std::size_t end = 0; end < 2; ++end) {
      NdkSide& s = side(i, end);
      s.memory = memories_[end];
      s.qp = queue_pair(i, end);
    }
  }
  void flush(std::size_t i, std::size_t end) {
    NDK_QP* const qp = side(i, end).qp;
    qp->Dispatch->NdkFlush(qp);
    bench_.pass(Duration::ms(1));
  }
  void establish(std::size_t i) {
    conformance::establish(bench_, check_, *lines_[i].c);
    if (!terms_.windows) return;
    for (std::size_t end = 0; end < 2; ++end) {
      for (const bool reads : {true, false}) bind(i, end, reads);
    }
  }

  void end(std::size_t i, std::size_t by, WalkEnd way) {
    NdkSide &s = side(i, by), &other = side(i, 1 - by);
    if (way == WalkEnd::disconnect) disconnect(s);
    if (way == WalkEnd::flush) s.qp->Dispatch->NdkFlush(s.qp);
    if (way == WalkEnd::close) {
      bench_.close(s.qp);
      lines_[i].closed = &s;
    }
    bench_.pass(kNdkQuiet);
    if (way != WalkEnd::close) disconnect(s);
    disconnect(other);
    other.qp->Dispatch->NdkFlush(other.qp);
    bench_.pass(kNdkQuiet);
  }

 private:
  struct Line {
    NdkConnection* c = nullptr;
    NdkSide* closed = nullptr;                         ///< whose queue pair is closed already
    std::array<std::array<UINT32, 2>, 2> tokens = {};  ///< by ends: for Writes, for Reads
  };

  NdkEnd& at(std::size_t end) { return end == 0 ? bench_.a() : bench_.b(); }
  NdkSide& side(std::size_t i, std::size_t end) { return end == 0 ? lines_[i].c->a : lines_[i].c->b; }
  static PVOID context(std::size_t i, std::size_t end) { return ndk_tag((end == 0 ? 0xA00u : 0xB00u) + i); }
  std::vector<NDK_SGE> list(std::size_t end, const std::vector<SweepPiece>& pieces, bool copied) {
    std::vector<NDK_SGE> made;
    for (const SweepPiece& piece : pieces) {
      made.push_back(memories_[end]->sge(piece.offset, piece.length));
      if (copied) made.back().MemoryRegionToken = 0;
    }
    return made;
  }

  NDK_QP* queue_pair(std::size_t i, std::size_t end) {
    const WalkLine n = line(i);
    NDK_PD* const domain = at(end).pd();
    NDK_CQ* const receives = queues_[end][n.receive_queue]->cq;
    NDK_CQ* const initiators = queues_[end][n.initiator_queue]->cq;
    return bench_.make<NDK_QP>("NdkCreateQp", [&](auto c, PVOID x, NDK_QP** p) {
      if (n.shared) {
        return domain->Dispatch->NdkCreateQpWithSrq(domain, receives, initiators, shared_[end]->srq, context(i, end), n.depth,
                                                    n.limits.sges, limits_.inline_bytes, c, x, p);
      }
      return domain->Dispatch->NdkCreateQp(domain, receives, initiators, context(i, end), n.receive_depth, n.depth, n.limits.receive_sges,
                                           n.limits.sges, limits_.inline_bytes, c, x, p);
    });
  }

  WalkResult read(std::size_t end, const NDK_RESULT_EX& result, bool typed) const {
    WalkResult made;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (result.QPContext == context(i, end)) made.line = i;
    }
    made.tag = reinterpret_cast<std::uintptr_t>(result.RequestContext);
    made.good = result.Status == STATUS_SUCCESS;
    made.cancelled = result.Status == STATUS_CANCELLED;
    made.status = words(NdkStatus(result.Status));
    made.bytes = result.BytesTransferred;
    made.typed = typed;
    if (result.Type == NdkOperationTypeSend) made.kind = SweepKind::send;
    if (result.Type == NdkOperationTypeWrite) made.kind = SweepKind::write;
    if (result.Type == NdkOperationTypeRead) made.kind = SweepKind::read;
    return made;
  }

  // ---- windows: one over the first part for Reads, one over the last for Writes

  std::size_t window_at(bool reads) const { return reads ? 1 : kSweepBytes - window_bytes_ - 1; }
  void bind(std::size_t i, std::size_t end, bool reads) {
    NdkSide& s = side(i, end);
    NDK_MW* const window = at(end).window();
    const ULONG rights = reads ? NDK_OP_FLAG_ALLOW_REMOTE_READ : NDK_OP_FLAG_ALLOW_REMOTE_WRITE;
    arranged_by(check_, "NdkBind",
                s.qp->Dispatch->NdkBind(s.qp, ndk_tag(2), memories_[end]->region, window, memories_[end]->at(window_at(reads)),
                                        window_bytes_, rights));
    std::vector<WalkResult> bound;
    bench_.wait_until([&] { return !(bound = take(end, line(i).initiator_queue, 1)).empty(); }, Duration::s(1));
    check_.require(!bound.empty() && bound[0].good && bound[0].line == i, "a window is bound", "it is not");
    lines_[i].tokens[static_cast<std::size_t>(end)][reads] = window->Dispatch->NdkGetRemoteTokenFromMw(window);
  }
  UINT32 token_for(std::size_t i, std::size_t end, const WalkRequest& request) const {
    const bool reads = request.kind == SweepKind::read;
    const std::size_t first = window_at(reads), length = total(request.pieces);
    const bool inside = length > 0 && request.remote >= first && request.remote + length <= first + window_bytes_;
    if (!terms_.windows || !inside || request.tag % 4 == 0) return memories_[1 - end]->remote;
    return lines_[i].tokens[static_cast<std::size_t>(1 - end)][reads];
  }

  void disconnect(NdkSide& s) {
    bench_.request([&](auto c, PVOID x) { return s.connector->Dispatch->NdkDisconnect(s.connector, c, x); });
  }
  void bury(Line& line) {
    for (NdkSide* s : {&line.c->a, &line.c->b}) {
      if (s->connector != nullptr) bench_.finish(bench_.close(s->connector));
      if (s != line.closed) bench_.finish(bench_.close(s->qp));
    }
    for (std::size_t end = 0; end < 2; ++end) {
      for (std::size_t q = 0; q < queues(); ++q) {
        check_.that(take(end, q, 1).empty(), "nothing comes of queue pairs that are closed", "there is another result");
      }
    }
  }

  NdkBench& bench_;
  Check& check_;
  NdkWalkTerms terms_;
  SweepLimits limits_;
  std::size_t window_bytes_ = 0;
  std::array<std::array<NdkQueue*, 2>, 2> queues_ = {};
  std::array<NdkMemory*, 2> memories_ = {};
  std::array<NdkShared*, 2> shared_ = {};
  std::vector<Line> lines_;
  unsigned turn_ = 0;
};

void walk(ProviderBench& bench, Check& check, const NdkWalkTerms& terms, WalkTerms history) {
  for (int seed = 0; seed < 3; ++seed, ++history.seed) {
    NdkWalk api(bench.ndk(), check, terms);
    QueueWalk(api, check, history).run();
  }
}

}  // namespace

CONFORMANCE_CASE(ndk_any_history_has_its_results, "ndk.cq.context", roles::provider) {
  walk(bench, check, {.windows = true}, {.seed = 11});
}

CONFORMANCE_CASE(ndk_any_history_of_shared_receives_has_its_results, "ndk.srq.context", roles::provider) {
  walk(bench, check, {.shared = true}, {.seed = 21, .ends = {WalkEnd::disconnect}});
}

CONFORMANCE_CASE(ndk_any_history_is_flushed_in_order, "ndk.qp.flush-order", roles::provider) {
  walk(bench, check, {.apart = true}, {.seed = 31, .ends = {WalkEnd::flush, WalkEnd::disconnect, WalkEnd::close, WalkEnd::failure}});
}

CONFORMANCE_CASE(ndk_any_history_outlives_other_depths, "ndk.cq.resize", roles::provider) {
  check.precondition((bench.ndk().b().info().AdapterFlags & NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED) != 0, "queues get other depths");
  walk(bench, check, {.apart = true}, {.seed = 41, .resizes = true});
}

CONFORMANCE_CASE(ndk_any_history_may_be_deferred, "ndk.qp.defer", roles::provider) {
  walk(bench, check, {.windows = true}, {.seed = 51, .deferred = true});
}

CONFORMANCE_CASE(ndk_shared_queues_are_filled_to_their_depth, "ndk.srq.context", roles::provider) {
  const ULONG depth = std::min(bench.ndk().b().info().MaxSrqDepth, ULONG{300});
  NdkWalk api(bench.ndk(), check, {.shared = true, .depths = {depth, 1, 1}, .shared_depth = depth});
  check.precondition(api.line(0).depth == depth, "queues are as deep as shared receive queues");
  QueueFill(api, check).run(1);
}

CONFORMANCE_CASE(ndk_queues_are_filled_to_their_depth, "ndk.qp.full-initiator", roles::provider) {
  NdkWalk api(bench.ndk(), check, {.apart = true, .depths = {17, 100, 65}});
  QueueFill(api, check).run(3);
}

}  // namespace fb::conformance
