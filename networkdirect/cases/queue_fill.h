// Queues that are as full as they were made, whatever the programming interface: of every kind of request as many at once as a queue
// takes, each with bytes of its own. Whatever was taken has its result, in order, and moves its bytes.
//
// The interface is that of QueueWalk.
#pragma once

#include "networkdirect/cases/queue_walk.h"

namespace fb::conformance {

template <class Api>
class QueueFill {
 public:
  QueueFill(Api& api, Check& check) : api_(api), check_(check) {}

  void run(std::size_t lines) {
    for (std::size_t line = 0; line < lines; ++line) {
      api_.make(line);
      // Half of the Receives wait for the connection, or all.
      for (std::size_t end = 0; end < 2; ++end) receives(line, end, 0, early(line));
      api_.establish(line);
    }
    for (int round = 0; round < 2; ++round) {
      for (std::size_t line = 0; line < lines; ++line) {
        for (std::size_t end = 0; end < 2; ++end) {
          sends(line, end, round == 0 ? early(line) : 0);
          moves(line, end, SweepKind::write);
          moves(line, end, SweepKind::read);
        }
      }
    }
    for (std::size_t line = 0; line < lines; ++line) {
      if (!api_.line(line).shared) flush(line);
    }
  }

 private:
  static constexpr std::uint32_t kPiece = 64, kMost = 512;
  /// More than queues are made for, which a provider may have room for.
  static constexpr std::uint32_t kBeyond = 8;
  static constexpr std::uint32_t kInto = 0, kFrom = kPiece * kMost, kTo = 2 * kPiece * kMost;

  static std::uint64_t receive_tag(std::uint32_t i) { return 2 * std::uint64_t{i} + 1001; }
  static std::uint64_t request_tag(std::uint32_t i) { return 2 * std::uint64_t{i} + 2000; }

  std::uint32_t early(std::size_t line) const { return api_.line(line).receive_depth / (line % 2 == 0 ? 1 : 2); }

  std::uint8_t next_byte() {
    ++fill_;
    return static_cast<std::uint8_t>(fill_ * 37 + fill_ / 256);
  }

  void receives(std::size_t line, std::size_t end, std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t i = first; i < last; ++i) {
      check_.require(api_.receive(line, end, receive_tag(i), {{kInto + i * kPiece, kPiece}}),
                     "a queue takes as many Receives as it was made for", "it refused number " + std::to_string(i + 1));
    }
  }

  /// A message for each Receive, whose bytes are gone when the next is posted where they are copied in the call.
  void sends(std::size_t line, std::size_t end, std::uint32_t waiting) {
    const WalkLine terms = api_.line(line);
    const std::uint32_t count = terms.receive_depth;
    receives(line, 1 - end, waiting, count);
    const MutableBytes mine = api_.memory(end);
    const bool copied = terms.limits.inline_bytes > 0;
    Bytes expected(api_.memory(1 - end).begin(), api_.memory(1 - end).end());
    for (std::uint32_t i = 0; i < count; ++i) {
      WalkRequest request;
      request.kind = SweepKind::send;
      request.tag = request_tag(i);
      request.copied = copied;
      request.pieces = {{kFrom + (copied ? 0 : i * kPiece), 1 + i % (copied ? std::min(terms.limits.inline_bytes, kPiece) : kPiece)}};
      for (std::uint32_t at = 0; at < request.pieces[0].length; ++at) {
        const auto byte = next_byte();
        mine[request.pieces[0].offset + at] = expected[kInto + i * kPiece + at] = byte;
      }
      post(line, end, request, i);
    }
    // Both sides look at their queues: a provider may do its work there.
    std::vector<WalkResult> sent, received;
    for (int turn = 0; turn < 200 && (sent.size() < count || received.size() < count); ++turn) {
      api_.settle();
      drain(end, terms.initiator_queue, sent);
      drain(1 - end, terms.receive_queue, received);
    }
    judge(line, sent, count, "a Send", request_tag);
    judge(line, received, count, "a Receive", receive_tag);
    check_.require(check_.bytes("memory of the Receives", api_.memory(1 - end), expected), "every byte is where it should be");
  }

  /// Writes, or Reads, until there is no room.
  void moves(std::size_t line, std::size_t end, SweepKind kind) {
    const WalkLine terms = api_.line(line);
    const std::size_t source = kind == SweepKind::read ? 1 - end : end, target = 1 - source;
    for (std::uint32_t at = 0; at < kPiece * kMost; ++at) {
      api_.memory(source)[kFrom + at] = next_byte();
    }
    Bytes expected(api_.memory(target).begin(), api_.memory(target).end());
    std::uint32_t taken = 0;
    for (; taken < terms.depth + kBeyond; ++taken) {
      WalkRequest request;
      request.kind = kind;
      request.tag = request_tag(taken);
      const std::uint32_t from = kFrom + taken * kPiece, to = kTo + taken * kPiece;
      request.pieces = {{kind == SweepKind::read ? to : from, kPiece}};
      request.remote = kind == SweepKind::read ? from : to;
      if (taken >= terms.depth) {
        if (!api_.post(line, end, request)) break;
      } else {
        post(line, end, request, taken);
      }
      std::copy_n(api_.memory(source).begin() + from, kPiece, expected.begin() + to);
    }
    collect(line, end, terms.initiator_queue, taken, "a " + std::string(name_of(kind)), request_tag);
    check_.require(check_.bytes("memory that was moved to", api_.memory(target), expected), "every byte is where it should be");
  }

  /// As many Receives as there can be are cancelled.
  void flush(std::size_t line) {
    const std::uint32_t count = api_.line(line).receive_depth;
    for (std::size_t end = 0; end < 2; ++end) receives(line, end, 0, count);
    api_.end(line, 0, WalkEnd::flush);
    for (std::size_t end = 0; end < 2; ++end) collect(line, end, api_.line(line).receive_queue, count, "a Receive", receive_tag, true);
  }

  void post(std::size_t line, std::size_t end, const WalkRequest& request, std::uint32_t number) {
    check_.require(api_.post(line, end, request),
                   "a queue takes as many requests of the kind " + std::string(name_of(request.kind)) + " as it was made for",
                   "it refused number " + std::to_string(number + 1));
  }

  void drain(std::size_t end, std::size_t queue, std::vector<WalkResult>& results) {
    for (auto part = api_.take(end, queue, 16); !part.empty(); part = api_.take(end, queue, 16)) {
      results.insert(results.end(), part.begin(), part.end());
    }
  }

  template <class Tag>
  void collect(std::size_t line, std::size_t end, std::size_t queue, std::uint32_t count, const std::string& what, Tag&& tag,
               bool cancelled = false) {
    std::vector<WalkResult> results;
    for (int turn = 0; turn < 200 && results.size() < count; ++turn) {
      api_.settle();
      drain(end, queue, results);
    }
    judge(line, results, count, what, tag, cancelled);
  }

  template <class Tag>
  void judge(std::size_t line, const std::vector<WalkResult>& results, std::uint32_t count, const std::string& what, Tag&& tag,
             bool cancelled = false) {
    check_.require(check_.equal("results of " + std::to_string(count) + " requests, each " + what, results.size(), std::size_t{count}),
                   "whatever was taken has its result");
    for (std::uint32_t i = 0; i < count; ++i) {
      check_.require(check_.equal("request of a result", results[i].tag, tag(i)), "results are in order");
      check_.require(results[i].line == line, "a result is of its queue pair", "it is of another");
      check_.require(cancelled ? results[i].cancelled : results[i].good, what + (cancelled ? " is cancelled" : " succeeds"),
                     "it ended as " + results[i].status);
    }
  }

  Api& api_;
  Check& check_;
  std::uint32_t fill_ = 0;
};

}  // namespace fb::conformance
