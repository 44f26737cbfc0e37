// Requests of every kind, length and shape over one connection, whatever the programming interface: every byte of the memory of
// both ends is held against what the requests should have left there, and every result against its request. Lengths lie on both
// sides of packet borders, lists have buffers of unequal length in no order, and queues are so shallow that they wrap many times.
//
// An interface is a type with
//   MutableBytes memory(int end)                                    ends 0 and 1, kSweepBytes each
//   SweepLimits limits()
//   bool receive(int end, tag, pieces)                              false: refused
//   bool post(int end, const SweepRequest&)
//   std::optional<SweepResult> result(int end, bool of_receive)     the next one; nothing after a while
//   bool quiet()                                                    nothing comes at either end
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "conformance/runner/check.h"

namespace fb::conformance {

inline constexpr std::size_t kSweepBytes = 1 << 18;
/// Of both queues of both queue pairs. Odd, so that a slot does not always have the same kind of request.
inline constexpr std::uint32_t kSweepDepth = 5;
inline constexpr std::uint32_t kSweepInline = 64;

struct SweepPiece {
  std::uint32_t offset = 0, length = 0;
};

enum class SweepKind : std::uint8_t { send, write, read };
inline std::string_view name_of(SweepKind kind) { return kind == SweepKind::send ? "Send" : kind == SweepKind::write ? "Write" : "Read"; }

struct SweepRequest {
  SweepKind kind = SweepKind::send;
  std::uint64_t tag = 0;
  std::vector<SweepPiece> pieces;
  std::uint32_t remote = 0;  ///< offset at the other end; not of a Send
  bool copied = false;       ///< inline
  bool silent = false, fence = false, solicited = false;
};

struct SweepResult {
  std::uint64_t tag = 0;
  bool good = false;
  std::string status;
  std::optional<SweepKind> kind;       ///< nothing: a receive
  std::optional<std::uint32_t> bytes;  ///< where the interface gives a number that means something
  bool own_queue_pair = true;
  bool solicited = false;
};

struct SweepLimits {
  std::uint32_t sges = 1, read_sges = 1, receive_sges = 1, inline_bytes = 0;
};

inline std::uint32_t total(const std::vector<SweepPiece>& pieces) {
  std::uint32_t sum = 0;
  for (const SweepPiece& piece : pieces) sum += piece.length;
  return sum;
}

inline std::string words_of(const SweepRequest& request) {
  return std::string(request.copied ? "inline " : "") + std::string(name_of(request.kind)) + " of " +
         std::to_string(total(request.pieces)) + " bytes in " + std::to_string(request.pieces.size()) + " buffers";
}

template <class Api>
class TransferSweep {
 public:
  TransferSweep(Api& api, Check& check) : api_(api), check_(check) {
    for (int end = 0; end < 2; ++end) {
      MutableBytes memory = api_.memory(end);
      // No two pages alike.
      const std::size_t start = 101 * static_cast<std::size_t>(end);
      for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint8_t>(i * 7 + i / 251 + (i >> 12) + start);
      expected_[end].assign(memory.begin(), memory.end());
    }
  }

  /// All of it, from both ends.
  void run() {
    for (int from = 0; from < 2; ++from) {
      lengths(from);
      lists(from);
      inline_data(from);
      bursts(from);
    }
  }

  void lengths(int from) {
    for (const std::uint32_t length :
         {1u, 2u, 3u, 4u, 5u, 255u, 256u, 257u, 1023u, 1024u, 1025u, 2048u, 4095u, 4096u, 4097u, 5121u, 8192u, 16385u, 65537u, 0u}) {
      for (const SweepKind kind : {SweepKind::send, SweepKind::write, SweepKind::read}) one(from, kind, length, 1, 1, false);
    }
  }

  void lists(int from) {
    const SweepLimits limits = api_.limits();
    const std::uint32_t most = std::max(limits.sges, limits.receive_sges);
    for (const std::uint32_t count : {2u, 3u, 4u, 7u, most - 1, most}) {
      if (count < 2 || count > most) continue;
      for (const std::uint32_t length : {count, 4095u + count, 9001u}) {
        one(from, SweepKind::send, length, std::min(count, limits.sges), std::min(count, limits.receive_sges), false);
        if (count <= limits.sges) one(from, SweepKind::write, length, count, 1, false);
        if (count <= limits.read_sges) one(from, SweepKind::read, length, count, 1, false);
      }
      // Few to many and many to few: the borders of buffers at the two ends are not the same.
      one(from, SweepKind::send, 6007, 1, std::min(count, limits.receive_sges), false);
      one(from, SweepKind::send, 6011, std::min(count, limits.sges), 1, false);
    }
  }

  void inline_data(int from) {
    const std::uint32_t most = std::min(api_.limits().inline_bytes, kSweepInline);
    if (most == 0) return;
    for (const std::uint32_t length : {1u, most / 2, most - 1, most, 0u}) {
      for (const std::uint32_t count : {1u, 2u, 3u, 5u, api_.limits().sges}) {
        if (count > 1 && (count > length || count > api_.limits().sges)) continue;
        for (const SweepKind kind : {SweepKind::send, SweepKind::write}) one(from, kind, length, count, 1, true);
      }
    }
  }

  /// As many requests as the queue takes, before anybody looks; and again, so that each slot meets each kind.
  void bursts(int from) {
    const SweepLimits limits = api_.limits();
    const std::uint32_t copied = std::min(limits.inline_bytes, kSweepInline);
    for (std::uint32_t round = 0; round < 8; ++round) {
      std::vector<SweepRequest> requests;
      for (std::uint32_t i = 0; i < kSweepDepth; ++i) {
        const auto kind = static_cast<SweepKind>((i + round) % 3);
        const bool fits = kind != SweepKind::read && copied > 0 && (i + round) % 2 == 0;
        const std::uint32_t length = fits ? 1 + (i * 13 + round) % copied : 700 * i + round * 129 + 1;
        const std::uint32_t most = kind == SweepKind::read ? limits.read_sges : limits.sges;
        SweepRequest made = request(kind, length, 1 + (i + round) % std::max(1u, std::min(most, 3u)), fits);
        // Silent ones are reported by nobody, unless the last of all is one.
        made.silent = i + 1 < kSweepDepth && (i * round) % 3 == 1;
        made.fence = (i + round) % 4 == 3;
        made.solicited = kind == SweepKind::send && round % 2 == 0;
        requests.push_back(std::move(made));
      }
      exchange(from, requests, 1);
    }
  }

 private:
  void one(int from, SweepKind kind, std::uint32_t length, std::uint32_t count, std::uint32_t receive_count, bool copied) {
    exchange(from, {request(kind, length, count, copied)}, receive_count);
  }

  /// Buffers of one length each and the rest, the later ones before the earlier ones in memory.
  std::vector<SweepPiece> split(std::uint32_t length, std::uint32_t count, std::uint32_t area) {
    std::vector<SweepPiece> pieces;
    if (length == 0) return pieces;
    count = std::clamp(count, 1u, length);
    std::uint32_t left = length, end = area + length + 64 * count;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t piece = i + 1 == count ? left : std::max(1u, std::min(left - (count - 1 - i), length / count + i * 3));
      pieces.push_back({end - piece, piece});
      end -= piece + 1 + (i & 31);
      left -= piece;
    }
    return pieces;
  }

  /// Each request has places of its own in a part of the memory, which wraps.
  std::uint32_t place(std::uint32_t length) {
    const std::uint32_t needed = length + 64 * 33 + 9;
    if (next_ + needed > kSweepBytes) next_ = 17;
    return std::exchange(next_, next_ + needed);
  }

  SweepRequest request(SweepKind kind, std::uint32_t length, std::uint32_t count, bool copied) {
    SweepRequest made;
    made.kind = kind;
    made.tag = ++tag_;
    made.pieces = split(length, count, place(length));
    made.remote = place(length);
    made.copied = copied;
    return made;
  }

  void exchange(int from, const std::vector<SweepRequest>& requests, std::uint32_t receive_count) {
    const int to = 1 - from;
    std::deque<std::pair<std::uint64_t, std::vector<SweepPiece>>> receives;
    for (const SweepRequest& each : requests) {
      if (each.kind != SweepKind::send) continue;
      const std::uint32_t length = total(each.pieces);
      auto pieces = split(std::max(length, 1u) + (each.tag % 3 == 0 ? 5 : 0), receive_count, each.remote);
      check_.require(api_.receive(to, ++tag_, pieces), "a Receive is taken");
      receives.emplace_back(tag_, std::move(pieces));
    }
    for (const SweepRequest& each : requests) {
      check_.require(api_.post(from, each), "a request is taken: " + words_of(each));
      if (each.copied) spoil(from, each);
    }
    for (const SweepRequest& each : requests) {
      if (!each.silent) initiated(from, each);
    }
    for (const SweepRequest& each : requests) {
      const Bytes data = take(each.kind == SweepKind::read ? to : from, each);
      if (each.kind == SweepKind::read) {
        put(from, each.pieces, data);
      } else if (each.kind == SweepKind::write) {
        put(to, {{each.remote, static_cast<std::uint32_t>(data.size())}}, data);
      } else {
        put(to, receives.front().second, data);
        received(to, each, receives.front().first, static_cast<std::uint32_t>(data.size()));
        receives.pop_front();
      }
    }
    if (++exchanges_ % 16 == 0) check_.that(api_.quiet(), "there are no more results than requests", "there is another");
    for (int end = 0; end < 2; ++end) {
      check_.bytes("memory of the " + std::string(end == from ? "requesting" : "other") + " side after " + words_of(requests.back()),
                   api_.memory(end), expected_[end]);
    }
  }

  /// Inline data are taken in the call.
  void spoil(int from, const SweepRequest& each) {
    MutableBytes memory = api_.memory(from);
    Bytes& held = spoiled_.emplace_back();
    for (const SweepPiece& piece : each.pieces) {
      for (std::uint32_t i = 0; i < piece.length; ++i) {
        held.push_back(memory[piece.offset + i]);
        expected_[from][piece.offset + i] = memory[piece.offset + i] ^= 0xA5;
      }
    }
  }

  Bytes take(int end, const SweepRequest& each) {
    if (each.copied) {
      Bytes held = std::move(spoiled_.front());
      spoiled_.pop_front();
      return held;
    }
    Bytes data;
    if (each.kind == SweepKind::read) {
      const auto first = expected_[end].begin() + each.remote;
      data.assign(first, first + total(each.pieces));
      return data;
    }
    for (const SweepPiece& piece : each.pieces) {
      const auto first = expected_[end].begin() + piece.offset;
      data.insert(data.end(), first, first + piece.length);
    }
    return data;
  }

  void put(int end, const std::vector<SweepPiece>& pieces, const Bytes& data) {
    std::size_t at = 0;
    for (const SweepPiece& piece : pieces) {
      const std::size_t bytes = std::min<std::size_t>(piece.length, data.size() - at);
      std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(at), bytes, expected_[end].begin() + piece.offset);
      at += bytes;
    }
  }

  void initiated(int from, const SweepRequest& each) {
    const auto result = api_.result(from, false);
    check_.require(result.has_value(), words_of(each) + " has a result", "the queue stayed empty");
    check_.require(result->good, words_of(each) + " succeeds", "it ended as " + result->status);
    check_.equal("request of the result of " + words_of(each), result->tag, each.tag);
    check_.that(result->kind == each.kind, "the result of " + words_of(each) + " is of this kind", "it is of another");
    check_.that(result->own_queue_pair, "the result of " + words_of(each) + " is of this queue pair", "it is of another");
    if (result->bytes) check_.equal("length in the result of " + words_of(each), *result->bytes, total(each.pieces));
  }

  void received(int to, const SweepRequest& each, std::uint64_t tag, std::uint32_t length) {
    const auto result = api_.result(to, true);
    check_.require(result.has_value(), "the Receive of " + words_of(each) + " has a result", "the queue stayed empty");
    check_.require(result->good, "the Receive of " + words_of(each) + " succeeds", "it ended as " + result->status);
    check_.equal("request of the result of a Receive", result->tag, tag);
    check_.that(!result->kind.has_value(), "the result is that of a Receive", "it is of another kind");
    check_.that(result->own_queue_pair, "the result of a Receive is of its queue pair", "it is of another");
    check_.equal("bytes that a Receive reports", result->bytes.value_or(length), length);
  }

  Api& api_;
  Check& check_;
  Bytes expected_[2];
  std::deque<Bytes> spoiled_;
  std::uint64_t tag_ = 100;
  std::uint32_t next_ = 17, exchanges_ = 0;
};

}  // namespace fb::conformance
