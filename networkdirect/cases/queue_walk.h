// A random history of requests over several connections, whatever the programming interface, against a reference that knows no
// more than the rules: every request that speaks has one result, in the order of its queue, with its own contexts; every byte is
// where the requests have left it; a queue gives as many results as it has; what ends with its connection is cancelled, in order.
//
// An interface is a type with
//   MutableBytes memory(std::size_t end)                               ends 0 and 1, kSweepBytes each
//   WalkLine line(std::size_t)                                 what its queue pairs take
//   bool receive(std::size_t line, std::size_t end, tag, pieces)       false: refused
//   bool post(std::size_t line, std::size_t end, const WalkRequest&)
//   bool post_badly(std::size_t line, std::size_t end, tag)            a request that must fail
//   std::size_t queues()                                       completion queues of each end, at most 2
//   std::vector<WalkResult> take(std::size_t end, std::size_t queue, std::uint32_t most)
//   void settle()                                              time in which what was posted ends; in real time, perhaps
//   bool resize(std::size_t end, std::size_t queue, std::uint32_t depth)
//   void flush(std::size_t line, std::size_t end)                      of a queue pair that is made, and not connected
//   void make(std::size_t line), void establish(std::size_t line)
//   void end(std::size_t line, std::size_t end, WalkEnd)               by that end; both give back what they have
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "conformance/cases/transfer_sweep.h"

namespace fb::conformance {

/// Of each completion queue.
inline constexpr std::uint32_t kWalkQueue = 150;

struct WalkLine {
  std::uint32_t depth = 4, receive_depth = 4;
  SweepLimits limits;
  bool shared = false;                                 ///< with the shared receive queue of its end; receive_depth is that queue's
  std::size_t initiator_queue = 0, receive_queue = 0;  ///< where their results come
};

struct WalkRequest : SweepRequest {
  bool deferred = false;
};

struct WalkResult {
  std::size_t line = SIZE_MAX;  ///< by the context of its queue pair
  std::uint64_t tag = 0;
  bool good = false, cancelled = false;
  std::string status;
  bool typed = true;              ///< the result tells its kind
  std::optional<SweepKind> kind;  ///< nothing: a receive
  std::uint32_t bytes = 0;        ///< of a receive
};

enum class WalkEnd : std::uint8_t { disconnect, flush, close, failure };
inline constexpr std::array<std::string_view, 4> kWalkEnds = {"a disconnection", "a flush", "the close of a queue pair",
                                                              "a request that fails"};

struct WalkTerms {
  std::size_t lines = 3;
  int rounds = 200;
  std::uint64_t seed = 1;
  bool deferred = false;           ///< requests wait for one that does not
  bool resizes = false;            ///< queues get other depths
  std::vector<WalkEnd> ends = {};  ///< how connections end
};

template <class Api>
class QueueWalk {
 public:
  QueueWalk(Api& api, Check& check, const WalkTerms& terms)
      : api_(api), check_(check), terms_(terms), rng_(terms.seed), lanes_(terms.lines) {
    for (std::size_t end = 0; end < 2; ++end) {
      rng_.fill(api_.memory(end));
      expected_[end].assign(api_.memory(end).begin(), api_.memory(end).end());
      for (std::uint32_t slot = 0; slot < kSlots; ++slot) free_slots_[end].push_back(slot);
    }
  }

  void run() {
    for (std::size_t line = 0; line < lanes_.size(); ++line) begin(line);
    for (int round = 0; round < terms_.rounds; ++round) {
      batch();
      for (std::size_t end = 0; end < 2; ++end) {
        for (std::size_t q = 0; q < api_.queues(); ++q) {
          if (terms_.resizes && rng_.chance(1, 3)) resize(end, q);
          if (rng_.chance(2, 3)) take(end, q, 1 + below(rng_.chance(1, 4) ? kWalkQueue : 6));
          if (queue(end, q).present + kBatch > queue(end, q).depth || rng_.chance(1, 6)) take_all(end, q);
        }
      }
      if (!terms_.ends.empty() && rng_.chance(1, 12)) end_one();
    }
    take_all();
  }

 private:
  static constexpr std::uint32_t kBatch = 60;                // results that a batch may have, and the end of a line
  static constexpr std::uint32_t kSlot = 1024, kSlots = 96;  // where receives put what comes
  static constexpr std::uint32_t kFirstPlace = kSlot * kSlots;
  using Pieces = std::vector<SweepPiece>;

  struct Posted {
    std::uint64_t tag;
    Pieces pieces;
    std::uint32_t slot;
  };
  struct Awaited {
    std::uint64_t tag;
    std::optional<SweepKind> kind;
    std::uint32_t bytes = 0;
    std::string text;
    bool done = false;  // it was given time to end, with success
  };
  /// One end of a line.
  struct Lane {
    std::deque<std::pair<std::uint64_t, bool>> used;  // of the initiator queue: tags, and whether they are silent
    std::deque<Awaited> initiated, received;
    std::deque<Posted> receives;
    std::uint32_t receives_used = 0;
    bool waiting = false;  // what is deferred
  };
  struct Effect {
    std::size_t end;
    Pieces pieces;
    Bytes data;
  };

  /// What becomes of requests that were not done when their connection ended.
  enum class Fate : std::uint8_t { unsaid, fails, cancelled };
  struct Queue {
    std::uint32_t present = 0, depth = kWalkQueue;
  };

  Queue& queue(std::size_t end, std::size_t q) { return queues_[static_cast<std::size_t>(end)][q]; }
  Lane& lane(std::size_t line, std::size_t end) { return lanes_[line][static_cast<std::size_t>(end)]; }
  std::deque<Posted>& receives(std::size_t line, std::size_t end) {
    return api_.line(line).shared ? shared_[end] : lane(line, end).receives;
  }
  std::uint32_t& receives_used(std::size_t line, std::size_t end) {
    return api_.line(line).shared ? shared_used_[end] : lane(line, end).receives_used;
  }

  void begin(std::size_t line) {
    api_.make(line);
    if (!terms_.ends.empty() && rng_.chance(1, 2)) {
      flush_unconnected(line);
      api_.make(line);
    }
    // Before there is a connection, too.
    for (std::size_t end = 0; end < 2; ++end) {
      for (std::uint32_t i = below(3); i > 0; --i) post_receive(line, end);
    }
    api_.establish(line);
  }

  /// Twice, since the second time begins where the first ended.
  void flush_unconnected(std::size_t line) {
    if (api_.line(line).shared) return;
    take_all();
    const std::size_t end = static_cast<std::size_t>(below(1));
    for (int turn = 0; turn < 2; ++turn) {
      for (std::uint32_t i = 1 + below(4); i > 0; --i) post_receive(line, end);
      cancel_receives(line, end, " at a flush without a connection");
      api_.flush(line, end);
      gather(end, " at a flush without a connection", Fate::cancelled);
    }
    lane(line, end) = {};
  }

  void cancel_receives(std::size_t line, std::size_t end, const std::string& what) {
    Lane& own = lane(line, end);
    for (const Posted& each : std::exchange(own.receives, {})) {
      await(line, end, {each.tag, std::nullopt, 0, "a Receive" + what});
      free_slots_[end].push_back(each.slot);
    }
  }

  // ---- what is posted

  void batch() {
    next_place_ = kFirstPlace + below(64);
    sender_[0] = sender_[1] = SIZE_MAX;
    for (std::uint64_t i = rng_.between(1, 8); i > 0; --i) {
      const std::size_t line = rng_.below(lanes_.size());
      const std::size_t end = static_cast<std::size_t>(rng_.below(2));
      if (rng_.chance(2, 5)) {
        post_receive(line, end);
      } else {
        // One draw after the other: compilers differ in the order of arguments.
        const bool deferred = terms_.deferred && rng_.chance(1, 3);
        post_request(line, end, static_cast<SweepKind>(rng_.below(3)), deferred);
      }
    }
    for (std::size_t line = 0; line < lanes_.size(); ++line) {
      for (std::size_t end = 0; end < 2; ++end) {
        if (lane(line, end).waiting) post_request(line, end, SweepKind::write, false);
      }
    }
    finish();
  }

  void finish() {
    for (const Effect& effect : std::exchange(effects_, {})) put(effect);
    api_.settle();
    settle_until([this] { return is_as_expected(0) && is_as_expected(1); });
    for (auto& line : lanes_) {
      for (Lane& each : line) {
        for (Awaited& awaited : each.initiated) awaited.done = true;
        for (Awaited& awaited : each.received) awaited.done = true;
      }
    }
    compare("after requests");
  }

  /// In real time a provider may need longer than once; a result or a byte that never comes ends the wait.
  template <class Condition>
  void settle_until(const Condition& holds) {
    for (int turn = 0; turn < 200 && !holds(); ++turn) api_.settle();
  }
  bool is_as_expected(std::size_t end) {
    const MutableBytes memory = api_.memory(end);
    return std::equal(memory.begin(), memory.end(), expected_[end].begin(), expected_[end].end());
  }

  void compare(std::string_view when) {
    for (std::size_t end = 0; end < 2; ++end) {
      check_.require(check_.bytes("memory of end " + std::to_string(end) + " " + std::string(when), api_.memory(end), expected_[end]),
                     "every byte is where it should be");
    }
  }

  void post_receive(std::size_t line, std::size_t end) {
    if (receives_used(line, end) >= api_.line(line).receive_depth || free_slots_[end].empty()) return;
    const std::uint32_t slot = free_slots_[end].front();
    free_slots_[end].pop_front();
    const auto count = static_cast<std::uint32_t>(rng_.between(0, api_.line(line).limits.receive_sges));
    Pieces pieces = cut(kSlot * slot, kSlot, count);
    check_.require(api_.receive(line, end, next_tag(true), pieces), "a queue that is not full takes a Receive");
    receives(line, end).push_back({tag_, std::move(pieces), slot});
    ++receives_used(line, end);
  }

  /// Pieces of any length in `room` bytes from `first` on.
  Pieces cut(std::uint32_t first, std::uint32_t room, std::uint32_t count) {
    Pieces pieces;
    const std::uint32_t part = count == 0 ? 0 : room / count;
    for (std::uint32_t i = 0; i < count; ++i) {
      pieces.push_back({first + i * part + below(8), 1 + below(part - 9)});
    }
    if (rng_.chance(1, 2)) std::reverse(pieces.begin(), pieces.end());
    return pieces;
  }

  std::uint64_t next_tag(bool receive) {
    tag_ += 2;
    tag_ = (tag_ & ~std::uint64_t{1}) | (receive ? 1 : 0);
    return tag_;
  }

  void post_request(std::size_t line, std::size_t end, SweepKind kind, bool deferred) {
    Lane& own = lane(line, end);
    const WalkLine terms = api_.line(line);
    if (own.used.size() + (deferred ? 2 : 1) > terms.depth) return;
    auto& targets = receives(line, 1 - end);
    // Whose message comes first to a shared queue is not said: one sender a batch.
    const bool may_send = !targets.empty() && (!terms.shared || sender_[1 - end] == SIZE_MAX || sender_[1 - end] == line);
    if (kind == SweepKind::send && !may_send) kind = SweepKind::write;
    WalkRequest request;
    request.kind = kind;
    request.deferred = deferred;
    const SweepLimits& limits = terms.limits;
    request.copied = kind != SweepKind::read && limits.inline_bytes > 0 && rng_.chance(1, 4);
    std::uint32_t length = below(rng_.chance(1, 5) && next_place_ < kSweepBytes / 2 ? 6000 : 600);
    if (request.copied) length = below(limits.inline_bytes);
    if (kind == SweepKind::send) {
      const std::uint32_t room = total(targets.front().pieces);
      length = std::min(length, rng_.chance(1, 3) ? room : below(room));
    }
    if (rng_.chance(1, 12)) length = 0;
    const std::uint32_t most = kind == SweepKind::read ? limits.read_sges : limits.sges;
    request.pieces = spread(length, static_cast<std::uint32_t>(rng_.between(1, most)));
    request.remote = place(length);
    request.silent = !loud_ && own.used.size() + 1 < terms.depth && rng_.chance(1, 3);
    request.fence = rng_.chance(1, 6);
    request.solicited = kind == SweepKind::send && rng_.chance(1, 4);
    request.tag = next_tag(false);
    Bytes data(length);
    rng_.fill(data);
    const std::size_t source = kind == SweepKind::read ? 1 - end : end;
    const Pieces there = {{request.remote, length}};
    write_both({source, kind == SweepKind::read ? there : request.pieces, data});
    check_.require(api_.post(line, end, request), "a queue that is not full takes a request: " + words_of(request));
    if (request.copied) write_both({end, request.pieces, Bytes(length, 0x5A)});
    own.used.emplace_back(request.tag, request.silent);
    if (!request.silent) await(line, end, {request.tag, kind, 0, words_of(request)});
    own.waiting = deferred;
    if (kind != SweepKind::send) {
      effects_.push_back({kind == SweepKind::read ? end : 1 - end, kind == SweepKind::read ? request.pieces : there, std::move(data)});
      return;
    }
    sender_[1 - end] = line;
    Posted target = std::move(targets.front());
    targets.pop_front();
    await(line, 1 - end, {target.tag, std::nullopt, length, "the Receive of " + words_of(request)});
    free_slots_[1 - end].push_back(target.slot);
    effects_.push_back({1 - end, std::move(target.pieces), std::move(data)});
  }

  std::uint32_t below(std::uint32_t most) { return static_cast<std::uint32_t>(rng_.below(std::uint64_t{most} + 1)); }

  void await(std::size_t line, std::size_t end, Awaited awaited) {
    const WalkLine terms = api_.line(line);
    ++queue(end, awaited.kind ? terms.initiator_queue : terms.receive_queue).present;
    Lane& own = lane(line, end);
    (awaited.kind ? own.initiated : own.received).push_back(std::move(awaited));
  }

  std::uint32_t place(std::uint32_t length) {
    const std::uint32_t at = next_place_;
    next_place_ += length + 1 + static_cast<std::uint32_t>(rng_.below(9));
    return at;
  }

  /// `length` bytes in so many pieces, or as many as there can be.
  Pieces spread(std::uint32_t length, std::uint32_t count) {
    Pieces pieces;
    count = std::min(count, length);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t piece = i + 1 == count ? length : 1 + below(length - (count - i));
      pieces.push_back({place(piece), piece});
      length -= piece;
    }
    return pieces;
  }

  void write_both(const Effect& what) {
    put(what);
    MutableBytes memory = api_.memory(what.end);
    for (const SweepPiece& piece : what.pieces) {
      std::copy_n(expected_[what.end].begin() + piece.offset, piece.length, memory.begin() + piece.offset);
    }
  }

  void put(const Effect& what) {
    std::size_t at = 0;
    for (const SweepPiece& piece : what.pieces) {
      const std::size_t bytes = std::min<std::size_t>(piece.length, what.data.size() - at);
      std::copy_n(what.data.begin() + static_cast<std::ptrdiff_t>(at), bytes, expected_[what.end].begin() + piece.offset);
      at += bytes;
    }
  }

  // ---- what comes back

  void resize(std::size_t end, std::size_t q) {
    Queue& own = queue(end, q);
    const std::uint32_t least = std::max<std::uint32_t>(own.present, 1);
    const std::uint32_t depth = rng_.chance(1, 2) ? least : least + below(kWalkQueue - least);
    check_.require(api_.resize(end, q, depth), "a queue gets any depth that its results have room in",
                   "with " + std::to_string(own.present) + " results it refuses the depth " + std::to_string(depth));
    own.depth = depth;
    // Deep enough for what comes next.
    if (depth < own.present + kBatch && rng_.chance(1, 2)) widen(end, q);
  }
  void widen(std::size_t end, std::size_t q) {
    if (std::exchange(queue(end, q).depth, kWalkQueue) == kWalkQueue) return;
    check_.require(api_.resize(end, q, kWalkQueue), "a queue gets deeper");
  }

  void take_all() {
    for (std::size_t end = 0; end < 2; ++end) {
      for (std::size_t q = 0; q < api_.queues(); ++q) take_all(end, q);
    }
  }
  void take_all(std::size_t end, std::size_t q) {
    while (queue(end, q).present > 0) take(end, q, 1 + below(39));
    check_.that(api_.take(end, q, 4).empty(), "there are no more results than requests", "there is another");
    widen(end, q);
  }

  void take(std::size_t end, std::size_t q, std::uint32_t most) {
    const std::uint32_t present = queue(end, q).present, wanted = std::min(most, present);
    std::vector<WalkResult> results = api_.take(end, q, most);
    settle_until([&] {
      if (results.size() >= wanted) return true;
      const std::vector<WalkResult> late = api_.take(end, q, wanted - static_cast<std::uint32_t>(results.size()));
      results.insert(results.end(), late.begin(), late.end());
      return results.size() >= wanted;
    });
    check_.require(check_.equal("results of a queue with " + std::to_string(present) + ", asked for " + std::to_string(most),
                                results.size(), std::size_t{wanted}),
                   "a queue gives what it has");
    for (const WalkResult& result : results) judge(end, q, result);
  }

  Awaited awaited_by(std::size_t end, std::size_t q, const WalkResult& result) {
    check_.require(result.line < lanes_.size(), "a result is of one of the queue pairs", "it is of none");
    const WalkLine terms = api_.line(result.line);
    Lane& own = lane(result.line, end);
    const bool receive = (result.tag & 1) != 0;
    auto& among = receive ? own.received : own.initiated;
    check_.require(!among.empty(), "each request has one result", "there is one more");
    check_.require(q == (receive ? terms.receive_queue : terms.initiator_queue), "results come to their queue", "one came to another");
    Awaited first = std::move(among.front());
    among.pop_front();
    --queue(end, q).present;
    check_.require(check_.equal("request of the result of " + first.text, result.tag, first.tag), "results are in order");
    if (result.typed) check_.that(result.kind == first.kind, "the result of " + first.text + " is of this kind", "it is of another");
    if (receive) {
      --receives_used(result.line, end);
    } else {
      while (own.used.front().first != result.tag) own.used.pop_front();
      own.used.pop_front();
    }
    return first;
  }

  void judge(std::size_t end, std::size_t q, const WalkResult& result) {
    const Awaited first = awaited_by(end, q, result);
    check_.require(result.good, first.text + " succeeds", "it ended as " + result.status);
    if (!first.kind) check_.equal("bytes in the result of " + first.text, result.bytes, first.bytes);
  }

  // ---- ends

  void end_one() {
    const std::size_t line = rng_.below(lanes_.size());
    loud_ = true;
    next_place_ = kFirstPlace;
    // Whether the last silent ones have ended is not said.
    for (std::size_t end = 0; end < 2; ++end) post_request(line, end, SweepKind::write, false);
    finish();
    // Bytes may be there before the result of what moved them.
    for (int i = 0; i < 5; ++i) api_.settle();
    if (rng_.chance(1, 2)) take_all();
    const std::size_t by = static_cast<std::size_t>(rng_.below(2));
    const WalkEnd way = terms_.ends[rng_.below(terms_.ends.size())];
    const std::string what = " at " + std::string(kWalkEnds[static_cast<std::size_t>(way)]);
    // Some are on their way: it is not said how far they come.
    next_place_ = kFirstPlace;
    const std::uint64_t tail = way == WalkEnd::failure ? 0 : rng_.below(4);
    for (std::uint64_t i = 0; i < tail; ++i) post_request(line, by, rng_.chance(1, 2) ? SweepKind::write : SweepKind::read, false);
    if (way == WalkEnd::failure) {
      check_.require(api_.post_badly(line, by, next_tag(false)), "a request is taken");
      await(line, by, {tag_, SweepKind::write, 0, "a Write that fails"});
      lane(line, by).used.emplace_back(tag_, false);
    }
    for (std::size_t end = 0; end < 2; ++end) {
      if (!api_.line(line).shared) cancel_receives(line, end, what);
    }
    api_.end(line, by, way);
    for (std::size_t end = 0; end < 2; ++end) gather(end, what, way == WalkEnd::failure && end == by ? Fate::fails : Fate::unsaid);
    if (way != WalkEnd::close) post_after(line, what);
    for (const Effect& effect : std::exchange(effects_, {})) forget(effect);
    compare("after" + what.substr(3));
    lane(line, 0) = {};
    lane(line, 1) = {};
    loud_ = false;
    begin(line);
  }

  /// What is posted now is refused, or cancelled.
  void post_after(std::size_t line, const std::string& what) {
    for (std::size_t end = 0; end < 2; ++end) {
      for (std::uint32_t i = below(3); i > 0; --i) {
        if (!api_.line(line).shared && api_.receive(line, end, next_tag(true), {{0, 64}})) {
          await(line, end, {tag_, std::nullopt, 0, "a Receive after" + what.substr(3)});
          ++lane(line, end).receives_used;
        }
        WalkRequest late;
        late.kind = SweepKind::write;
        late.tag = next_tag(false);
        late.pieces = {{0, 64}};
        if (!api_.post(line, end, late)) continue;
        await(line, end, {tag_, late.kind, 0, "a Write after" + what.substr(3)});
        lane(line, end).used.emplace_back(tag_, false);
      }
    }
    api_.settle();
    for (std::size_t end = 0; end < 2; ++end) gather(end, what, Fate::cancelled);
  }

  /// All that was outstanding comes: what was done with success, the requests of the tail as far as they came, and the rest
  /// cancelled.
  void gather(std::size_t end, const std::string& what, Fate fate) {
    for (std::size_t q = 0; q < api_.queues(); ++q) {
      while (queue(end, q).present > 0) {
        const std::uint32_t most = 1 + below(8);
        std::vector<WalkResult> results;
        settle_until([&] { return !(results = api_.take(end, q, most)).empty(); });
        check_.require(!results.empty(), "all that was outstanding has a result" + what,
                       std::to_string(queue(end, q).present) + " have none");
        for (const WalkResult& result : results) judge_end(awaited_by(end, q, result), result, what, fate);
      }
      check_.that(api_.take(end, q, 4).empty(), "there are no more results than requests" + what, "there is another");
    }
  }

  void judge_end(const Awaited& awaited, const WalkResult& result, const std::string& what, Fate fate) {
    const std::string other = "it ended as " + result.status;
    if (awaited.done) {
      check_.that(result.good, awaited.text + " that was done before" + what.substr(3) + " succeeds", other);
    } else if (!awaited.kind || fate == Fate::cancelled) {
      check_.that(result.cancelled, awaited.text + " is cancelled", other);
    } else if (fate == Fate::fails) {
      check_.that(!result.good && !result.cancelled, awaited.text + " fails", other);
    } else {
      check_.that(result.cancelled || result.good, awaited.text + " succeeds, or is cancelled" + what, other);
    }
  }

  void forget(const Effect& effect) {
    const MutableBytes memory = api_.memory(effect.end);
    for (const SweepPiece& piece : effect.pieces) {
      std::copy_n(memory.begin() + piece.offset, piece.length, expected_[effect.end].begin() + piece.offset);
    }
  }

  Api& api_;
  Check& check_;
  WalkTerms terms_;
  Rng rng_;
  std::vector<std::array<Lane, 2>> lanes_;
  std::deque<Posted> shared_[2];
  std::uint32_t shared_used_[2] = {};
  std::deque<std::uint32_t> free_slots_[2];
  std::size_t sender_[2] = {SIZE_MAX, SIZE_MAX};
  std::array<std::array<Queue, 2>, 2> queues_;
  std::vector<Effect> effects_;
  Bytes expected_[2];
  std::uint64_t tag_ = 100;
  bool loud_ = false;  // nothing is silent
  std::uint32_t next_place_ = kFirstPlace;
};

}  // namespace fb::conformance
