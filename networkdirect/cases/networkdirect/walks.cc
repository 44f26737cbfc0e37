// Random histories: several queue pairs on one completion queue, over many turns of every queue.
#include <array>

#include "networkdirect/cases/networkdirect/scene.h"
#include "networkdirect/cases/queue_fill.h"
#include "networkdirect/cases/queue_walk.h"

namespace fb::conformance {
namespace {

struct NdWalkTerms {
  bool shared = false;   ///< some of the queue pairs share their receives
  bool windows = false;  ///< peers use windows of the memory
  bool apart = false;    ///< requests and receives end in different completion queues
  std::array<std::uint32_t, 3> depths = {5, 8, 13};
  std::uint32_t shared_depth = 11;
};

/// For QueueWalk.
class NdWalk {
 public:
  NdWalk(ProviderBench& bench, Check& check, const NdWalkTerms& terms) : bench_(bench), check_(check), terms_(terms) {
    for (std::size_t end = 0; end < 2; ++end) {
      for (std::size_t q = 0; q < queues(); ++q) queues_[end][q] = at(end).completion_queue(std::max(kWalkQueue, terms.shared_depth + 20));
      memories_[end] = at(end).memory(kSweepBytes);
      if (terms.shared) shared_[end] = at(end).shared_receive_queue(terms.shared_depth);
    }
    const ND2_ADAPTER_INFO a = nd().a().info(), b = nd().b().info();
    limits_.sges = limits_.receive_sges = std::min({a.MaxInitiatorSge, b.MaxInitiatorSge, a.MaxReceiveSge, b.MaxReceiveSge, ULONG{5}});
    limits_.read_sges = std::min({a.MaxReadSge, b.MaxReadSge, ULONG{limits_.sges}});
    limits_.inline_bytes = std::min({a.MaxInlineDataSize, b.MaxInlineDataSize, ULONG{kSweepInline}});
    window_bytes_ = std::min<std::size_t>({a.MaxWindowSize, b.MaxWindowSize, 100'003});
    for (std::uint32_t& depth : terms_.depths) {
      depth = std::min({ULONG{depth}, a.MaxInitiatorQueueDepth, b.MaxInitiatorQueueDepth, a.MaxReceiveQueueDepth, b.MaxReceiveQueueDepth});
    }
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
    const ND2_SGE* const first = sges.empty() ? nullptr : sges.data();
    if (line(i).shared) return shared_[end]->Receive(nd_tag(tag), first, count) == ND_SUCCESS;
    return side(i, end).qp->Receive(nd_tag(tag), first, count) == ND_SUCCESS;
  }

  bool post(std::size_t i, std::size_t end, const WalkRequest& request) {
    const auto sges = list(end, request.pieces, request.copied);
    const auto count = static_cast<ULONG>(sges.size());
    const ND2_SGE* const first = sges.empty() ? nullptr : sges.data();
    const ULONG flags = (request.silent ? ND_OP_FLAG_SILENT_SUCCESS : 0) | (request.fence ? ND_OP_FLAG_READ_FENCE : 0) |
                        (request.solicited ? ND_OP_FLAG_SEND_AND_SOLICIT_EVENT : 0) | (request.copied ? ND_OP_FLAG_INLINE : 0);
    IND2QueuePair& qp = *side(i, end).qp;
    const UINT64 to = memories_[1 - end]->address(request.remote);
    void* const tag = nd_tag(request.tag);
    const UINT32 token = token_for(i, end, request);
    switch (request.kind) {
      case SweepKind::send:
        return qp.Send(tag, first, count, flags) == ND_SUCCESS;
      case SweepKind::write:
        return qp.Write(tag, first, count, to, token, flags) == ND_SUCCESS;
      case SweepKind::read:
        return qp.Read(tag, first, count, to, token, flags) == ND_SUCCESS;
    }
    return false;
  }
  bool post_badly(std::size_t i, std::size_t end, std::uint64_t tag) {
    NdMemory& there = *memories_[1 - end];
    ND2_SGE mine = memories_[end]->sge(0, 16);
    return side(i, end).qp->Write(nd_tag(tag), &mine, 1, there.address(kSweepBytes - 15), there.region->GetRemoteToken(), 0) == ND_SUCCESS;
  }

  std::size_t queues() const { return terms_.apart ? 2 : 1; }
  std::vector<WalkResult> take(std::size_t end, std::size_t q, std::uint32_t most) {
    std::vector<ND2_RESULT> results(most);
    const ULONG count = queues_[end][q]->GetResults(results.data(), most);
    check_.require(count <= most, "a queue gives no more results than it is asked for", "it gives " + std::to_string(count));
    std::vector<WalkResult> made;
    for (ULONG i = 0; i < count; ++i) made.push_back(read(end, results[i]));
    return made;
  }

  void settle() { nd().pass(Duration::ms(2)); }
  bool resize(std::size_t end, std::size_t q, std::uint32_t depth) { return queues_[end][q]->Resize(depth) == ND_SUCCESS; }

  void make(std::size_t i) {
    if (lines_.size() <= i) lines_.resize(i + 1);
    Line& line = lines_[i];
    line.windows.clear();
    if (line.c != nullptr) {
      line.c.reset();
      nd().pass(Duration::ms(1));
      for (std::size_t q = 0; q < queues(); ++q) {
        check_.that(take(0, q, 1).empty() && take(1, q, 1).empty(), "nothing comes of queue pairs that are gone",
                    "there is another result");
      }
    }
    line.c = nd().prepare();
    for (std::size_t end = 0; end < 2; ++end) side(i, end).qp = queue_pair(i, end);
  }
  void flush(std::size_t i, std::size_t end) {
    side(i, end).qp->Flush();
    nd().pass(Duration::ms(1));
  }
  void establish(std::size_t i) {
    conformance::establish(bench_, check_, *lines_[i].c);
    if (!terms_.windows) return;
    for (std::size_t end = 0; end < 2; ++end) {
      for (const bool reads : {true, false}) bind(i, end, reads);
    }
  }

  void end(std::size_t i, std::size_t by, WalkEnd way) {
    NdSide &own = side(i, by), &other = side(i, 1 - by);
    if (way == WalkEnd::disconnect) disconnect(own);
    if (way == WalkEnd::flush) own.qp->Flush();
    nd().pass(kNdQuiet);
    disconnect(own);
    disconnect(other);
    for (NdSide* each : {&own, &other}) each->qp->Flush();
    nd().pass(kNdQuiet);
  }

 private:
  struct Line {
    std::unique_ptr<NdConnection> c;
    std::vector<NdRef<IND2MemoryWindow>> windows;
    std::array<std::array<UINT32, 2>, 2> tokens = {};  ///< by ends: for Writes, for Reads
  };

  NdBench& nd() { return bench_.nd(); }
  NdEnd& at(std::size_t end) { return end == 0 ? nd().a() : nd().b(); }
  NdSide& side(std::size_t i, std::size_t end) { return end == 0 ? lines_[i].c->a : lines_[i].c->b; }
  static void* context(std::size_t i, std::size_t end) { return nd_tag((end == 0 ? 0xA00u : 0xB00u) + i); }
  std::vector<ND2_SGE> list(std::size_t end, const std::vector<SweepPiece>& pieces, bool copied) {
    std::vector<ND2_SGE> made;
    for (const SweepPiece& piece : pieces) {
      made.push_back(memories_[end]->sge(piece.offset, piece.length));
      if (copied) made.back().MemoryRegionToken = 0;
    }
    return made;
  }

  NdRef<IND2QueuePair> queue_pair(std::size_t i, std::size_t end) {
    const WalkLine n = line(i);
    IND2CompletionQueue *const receives = queues_[end][n.receive_queue].get(), *const initiators = queues_[end][n.initiator_queue].get();
    IND2Adapter& adapter = at(end).adapter();
    NdRef<IND2QueuePair> made;
    if (n.shared) {
      arranged_by(check_, "CreateQueuePairWithSrq",
                  adapter.CreateQueuePairWithSrq(IID_IND2QueuePair, receives, initiators, shared_[end].get(), context(i, end), n.depth,
                                                 n.limits.sges, limits_.inline_bytes, made.out()));
    } else {
      arranged_by(check_, "CreateQueuePair",
                  adapter.CreateQueuePair(IID_IND2QueuePair, receives, initiators, context(i, end), n.receive_depth, n.depth,
                                          n.limits.receive_sges, n.limits.sges, limits_.inline_bytes, made.out()));
    }
    return made;
  }

  WalkResult read(std::size_t end, const ND2_RESULT& result) const {
    WalkResult made;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (result.QueuePairContext == context(i, end)) made.line = i;
    }
    made.tag = reinterpret_cast<std::uintptr_t>(result.RequestContext);
    made.good = result.Status == ND_SUCCESS;
    made.cancelled = result.Status == ND_CANCELED;
    made.status = words(NdStatus(result.Status));
    made.bytes = result.BytesTransferred;
    if (result.RequestType == Nd2RequestTypeSend) made.kind = SweepKind::send;
    if (result.RequestType == Nd2RequestTypeWrite) made.kind = SweepKind::write;
    if (result.RequestType == Nd2RequestTypeRead) made.kind = SweepKind::read;
    return made;
  }

  // ---- windows: one over the first part for Reads, one over the last for Writes

  std::size_t window_at(bool reads) const { return reads ? 1 : kSweepBytes - window_bytes_ - 1; }
  void bind(std::size_t i, std::size_t end, bool reads) {
    auto window = at(end).window();
    IND2QueuePair& qp = *side(i, end).qp;
    arranged_by(check_, "Bind",
                qp.Bind(nd_tag(2), memories_[end]->region.get(), window.get(), memory(end).data() + window_at(reads), window_bytes_,
                        reads ? ND_OP_FLAG_ALLOW_READ : ND_OP_FLAG_ALLOW_WRITE));
    std::vector<WalkResult> bound;
    nd().wait_until([&] { return !(bound = take(end, line(i).initiator_queue, 1)).empty(); }, kNdSoon);
    check_.require(!bound.empty() && bound[0].good && bound[0].line == i, "a window is bound", "it is not");
    lines_[i].tokens[static_cast<std::size_t>(end)][reads] = window->GetRemoteToken();
    lines_[i].windows.push_back(std::move(window));
  }
  UINT32 token_for(std::size_t i, std::size_t end, const WalkRequest& request) const {
    const bool reads = request.kind == SweepKind::read;
    const std::size_t first = window_at(reads), length = total(request.pieces);
    const bool inside = length > 0 && request.remote >= first && request.remote + length <= first + window_bytes_;
    if (!terms_.windows || !inside || request.tag % 4 == 0) return memories_[1 - end]->region->GetRemoteToken();
    return lines_[i].tokens[static_cast<std::size_t>(1 - end)][reads];
  }

  void disconnect(NdSide& s) {
    NdRequest request;
    const HRESULT called = s.connector->Disconnect(&request);
    ended(bench_, called, request, *s.connector);
  }

  ProviderBench& bench_;
  Check& check_;
  NdWalkTerms terms_;
  SweepLimits limits_;
  std::size_t window_bytes_ = 0;
  std::array<std::unique_ptr<NdMemory>, 2> memories_;
  std::array<std::array<NdRef<IND2CompletionQueue>, 2>, 2> queues_;
  std::array<NdRef<IND2SharedReceiveQueue>, 2> shared_;
  std::vector<Line> lines_;
};

void walk(ProviderBench& bench, Check& check, const NdWalkTerms& terms, WalkTerms history) {
  for (int seed = 0; seed < 3; ++seed, ++history.seed) {
    NdWalk api(bench, check, terms);
    QueueWalk(api, check, history).run();
  }
}

}  // namespace

CONFORMANCE_CASE(nd_any_history_has_its_results, "networkdirect.completion.result-context", roles::provider) {
  walk(bench, check, {.windows = true}, {.seed = 11});
}

CONFORMANCE_CASE(nd_any_history_of_shared_receives_has_its_results, "networkdirect.shared.context", roles::provider) {
  check.precondition(bench.nd().b().info().MaxSharedReceiveQueueDepth != 0, "the adapter has shared receive queues");
  walk(bench, check, {.shared = true}, {.seed = 21, .ends = {WalkEnd::disconnect}});
}

CONFORMANCE_CASE(nd_any_history_is_flushed, "networkdirect.queue.flush-all", roles::provider) {
  walk(bench, check, {.apart = true}, {.seed = 31, .ends = {WalkEnd::flush, WalkEnd::disconnect, WalkEnd::failure}});
}

CONFORMANCE_CASE(nd_any_history_outlives_other_depths, "networkdirect.completion.resize-keeps", roles::provider) {
  check.precondition((bench.nd().b().info().AdapterFlags & ND_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED) != 0, "queues get other depths");
  walk(bench, check, {.apart = true}, {.seed = 41, .resizes = true});
}

CONFORMANCE_CASE(nd_shared_queues_are_filled_to_their_depth, "networkdirect.shared.context", roles::provider) {
  const ULONG most = std::min(bench.nd().a().info().MaxSharedReceiveQueueDepth, bench.nd().b().info().MaxSharedReceiveQueueDepth);
  check.precondition(most != 0, "the adapter has shared receive queues");
  const ULONG depth = std::min(most, ULONG{300});
  NdWalk api(bench, check, {.shared = true, .depths = {depth, 1, 1}, .shared_depth = depth});
  check.precondition(api.line(0).depth == depth, "queues are as deep as shared receive queues");
  QueueFill(api, check).run(1);
}

CONFORMANCE_CASE(nd_queues_are_filled_to_their_depth, "networkdirect.queue.full-initiator", roles::provider) {
  NdWalk api(bench, check, {.apart = true, .depths = {17, 100, 65}});
  QueueFill(api, check).run(3);
}

}  // namespace fb::conformance
