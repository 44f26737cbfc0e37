// For QueueWalk: programs on a consumer of a programming interface, whatever the interface; the other end are programs on a plain
// device. A line of the consumer ends as its program, or its peer, will have it.
#pragma once

#include "networkdirect/cases/consumer_trouble.h"
#include "networkdirect/cases/queue_walk.h"

namespace fb::conformance {

class ConsumerWalk {
 public:
  ConsumerWalk(ConsumerStage& stage, Check& check) : stage_(stage), check_(check) {
    NdProgramTerms terms;
    terms.queue_entries = kDepth;
    terms.sges = kSges;
    const rdma::DeviceLimits limits = stage.program(terms).device().limits();
    limits_.sges = limits_.read_sges = limits_.receive_sges = std::min(limits.max_sges, kSges);
    limits_.inline_bytes = std::min(limits.max_inline_bytes, kSweepInline);
    bytes_.resize(kSweepBytes);
    region_ = program().domain().register_memory(bytes_, NdProgram::kAll);
    peer_memory_ = &stage.peer().memory(kSweepBytes);
    stage.peer_listens({.hold = true});
  }
  ~ConsumerWalk() {
    // Before their memory.
    for (const Line& own : lines_) {
      if (own.line != nullptr) program().let_go(*own.line);
    }
    program().pass(Duration::ms(40));
  }
  ConsumerWalk(const ConsumerWalk&) = delete;
  ConsumerWalk& operator=(const ConsumerWalk&) = delete;

  MutableBytes memory(std::size_t end) { return end == 0 ? MutableBytes(bytes_) : MutableBytes(peer_memory_->bytes); }
  WalkLine line(std::size_t) const { return {kDepth, kDepth, limits_}; }
  std::size_t queues() const { return 1; }

  bool receive(std::size_t i, std::size_t end, std::uint64_t tag, const std::vector<SweepPiece>& pieces) {
    const auto sges = list(end, pieces);
    return qp(i, end).post_receive({tag, sges});
  }
  bool post(std::size_t i, std::size_t end, const WalkRequest& asked) {
    const auto sges = list(end, asked.pieces);
    rdma::SendRequest request;
    request.id = asked.tag;
    request.opcode = asked.kind == SweepKind::send    ? rdma::SendOpcode::send
                     : asked.kind == SweepKind::write ? rdma::SendOpcode::rdma_write
                                                      : rdma::SendOpcode::rdma_read;
    request.sges = sges;
    request.signaled = !asked.silent;
    request.solicited = asked.solicited;
    request.fence = asked.fence;
    request.inline_data = asked.copied;
    request.remote_address = region(1 - end).address() + asked.remote;
    request.rkey = region(1 - end).rkey();
    return qp(i, end).post_send(request);
  }
  bool post_badly(std::size_t i, std::size_t end, std::uint64_t tag) {
    WalkRequest astray;
    astray.kind = SweepKind::write;
    astray.tag = tag;
    astray.pieces = {{0, 16}};
    astray.remote = kSweepBytes - 15;
    return post(i, end, astray);
  }

  std::vector<WalkResult> take(std::size_t end, std::size_t, std::uint32_t most) {
    std::vector<WalkResult> made;
    if (end == 1) {
      look_at_peers();
      while (made.size() < most && !of_peers_.empty()) {
        made.push_back(std::move(of_peers_.front()));
        of_peers_.pop_front();
      }
      return made;
    }
    std::vector<rdma::Completion> found(most);
    const std::size_t count = program().queue().poll(found);
    for (std::size_t n = 0; n < count; ++n) {
      std::size_t of = SIZE_MAX;
      for (std::size_t i = 0; i < lines_.size(); ++i) {
        if (found[n].qp_context == lines_[i].line && found[n].qp_number == lines_[i].line->qp().number()) of = i;
      }
      made.push_back(read(of, found[n]));
    }
    return made;
  }

  void settle() {
    program().pass(Duration::ms(2));
    look_at_peers();
  }
  bool resize(std::size_t, std::size_t, std::uint32_t) { return true; }
  void make(std::size_t i) {
    if (lines_.size() <= i) lines_.resize(i + 1);
    if (lines_[i].line != nullptr) {
      program().let_go(*std::exchange(lines_[i].line, nullptr));
      lines_[i].peer->qp().disconnect();
      settle();
      of_peers_.clear();
    }
    lines_[i] = {&program().line(), &stage_.peer().make_queue({.send_entries = kDepth, .receive_entries = kDepth})};
  }
  void flush(std::size_t i, std::size_t end) {
    qp(i, end).fail();
    settle();
  }
  void establish(std::size_t i) {
    const Line& own = lines_[i];
    own.line->qp().connect(stage_.peer_at(), nd_parameters());
    auto& requests = stage_.peer().requests();
    program().wait("the request", [&] { return !requests.empty(); });
    requests.front()->accept(own.peer->qp(), nd_parameters());
    requests.pop_front();
    program().wait("an answer", [&] { return own.line->answered(); });
    check_.require(own.line->established == 1, "the program is connected", "it is not");
    check_.require(own.peer->wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected", "it is not");
  }
  void end(std::size_t i, std::size_t by, WalkEnd way) {
    if (way == WalkEnd::disconnect) qp(i, by).disconnect();
    if (way == WalkEnd::flush) qp(i, by).fail();
    program().pass(Duration::ms(40));
    for (const std::size_t end : {by, 1 - by}) qp(i, end).disconnect();
    program().pass(Duration::ms(40));
    for (const std::size_t end : {by, 1 - by}) qp(i, end).fail();
    settle();
  }

 private:
  static constexpr std::uint32_t kDepth = 11, kSges = 3;
  struct Line {
    NdLine* line = nullptr;
    VerbsQueue* peer = nullptr;
  };

  NdProgram& program() { return stage_.program(); }
  rdma::QueuePair& qp(std::size_t i, std::size_t end) { return end == 0 ? lines_[i].line->qp() : lines_[i].peer->qp(); }
  rdma::MemoryRegion& region(std::size_t end) { return end == 0 ? *region_ : *peer_memory_->region; }
  std::vector<rdma::Sge> list(std::size_t end, const std::vector<SweepPiece>& pieces) {
    std::vector<rdma::Sge> made;
    for (const SweepPiece& piece : pieces) made.push_back(region(end).sge(piece.offset, piece.length));
    return made;
  }

  void look_at_peers() {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i].peer == nullptr) continue;
      for (rdma::CompletionQueue* queue : {&lines_[i].peer->send_queue(), &lines_[i].peer->receive_queue()}) {
        std::array<rdma::Completion, 32> found;
        for (std::size_t n = queue->poll(found); n > 0; n = queue->poll(found)) {
          for (std::size_t k = 0; k < n; ++k) of_peers_.push_back(read(i, found[k]));
        }
      }
    }
  }

  static WalkResult read(std::size_t line, const rdma::Completion& found) {
    WalkResult made;
    made.line = line;
    made.tag = found.id;
    made.good = found.status == rdma::CompletionStatus::success;
    made.cancelled = found.status == rdma::CompletionStatus::flushed;
    made.status = std::string(rdma::name_of(found.status));
    made.bytes = found.byte_length;
    if (found.opcode == rdma::CompletionOpcode::send) made.kind = SweepKind::send;
    if (found.opcode == rdma::CompletionOpcode::rdma_write) made.kind = SweepKind::write;
    if (found.opcode == rdma::CompletionOpcode::rdma_read) made.kind = SweepKind::read;
    return made;
  }

  ConsumerStage& stage_;
  Check& check_;
  SweepLimits limits_;
  Bytes bytes_;
  std::unique_ptr<rdma::MemoryRegion> region_;
  VerbsMemory* peer_memory_ = nullptr;
  std::vector<Line> lines_;
  std::deque<WalkResult> of_peers_;
};

/// Histories on one stage, and what becomes of them.
inline void sweep_histories(ConsumerStage& stage, Check& check, std::uint64_t seed) {
  ConsumerWalk api(stage, check);
  QueueWalk(api, check, {.rounds = 120, .seed = seed, .ends = {WalkEnd::disconnect, WalkEnd::flush, WalkEnd::failure}}).run();
}

}  // namespace fb::conformance
