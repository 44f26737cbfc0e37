// A peer that knows what must come of its requests: memory, receives, completions, and every field of the answers. A case says
// what is sent; the conversation sends it in packets, and holds what comes back against its own reading of the transport.
#pragma once

#include <deque>
#include <numeric>
#include <vector>

#include "conformance/cases/rdma/exchange.h"

namespace fb::conformance {

inline constexpr std::string_view kAllKinds = "the interface has no atomics and no immediate data";

/// What a SEND or WRITE carries beside its bytes.
enum class Extra : std::uint8_t { none, immediate, invalidate };

struct Message {
  bool write = false;
  Extra extra = Extra::none;
  Bytes bytes = {};
  Remote to = {};          ///< of a WRITE
  std::uint32_t word = 0;  ///< immediate data, or the key to invalidate
  bool solicited = false;
  bool ask_each = false;  ///< each packet asks for an acknowledgement, not the last one alone
};

inline roce::Opcode opcode_at(bool write, Extra extra, bool first, bool last) {
  using roce::Opcode;
  if (!last) return write ? (first ? Opcode::write_first : Opcode::write_middle) : (first ? Opcode::send_first : Opcode::send_middle);
  if (extra == Extra::immediate) {
    return write ? (first ? Opcode::write_only_with_immediate : Opcode::write_last_with_immediate)
                 : (first ? Opcode::send_only_with_immediate : Opcode::send_last_with_immediate);
  }
  if (extra == Extra::invalidate) return first ? Opcode::send_only_with_invalidate : Opcode::send_last_with_invalidate;
  return write ? (first ? Opcode::write_only : Opcode::write_last) : (first ? Opcode::send_only : Opcode::send_last);
}

/// The packets of a message whose first has this ordinal.
inline std::vector<RocePacket> packets_for(const RcConnection& c, std::uint32_t ordinal, const Message& message, std::size_t mtu) {
  const std::uint32_t count = roce::packets_of(message.bytes.size(), static_cast<std::uint32_t>(mtu));
  std::vector<RocePacket> packets;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t offset = i * mtu;
    const bool first = i == 0, last = i + 1 == count;
    RocePacket packet = c.request(opcode_at(message.write, message.extra, first, last), ordinal + i,
                                  copy(part(message.bytes, offset, std::min(mtu, message.bytes.size() - offset))));
    packet.ackreq = last || message.ask_each;
    packet.se = last && message.solicited;
    if (message.write && first) packet = with_reth(packet, message.to);
    if (last && message.extra == Extra::immediate) {
      packet.immediate.emplace();
      packet.immediate->set(roce::immdt::immdt, message.word);
    }
    if (last && message.extra == Extra::invalidate) {
      packet.ieth.emplace();
      packet.ieth->set(roce::ieth::rkey, message.word);
    }
    packets.push_back(std::move(packet));
  }
  return packets;
}

/// Lengths on both sides of each packet border.
inline std::vector<std::size_t> lengths_around(std::size_t mtu) {
  return {0, 1, 2, 3, 4, 5, mtu - 1, mtu, mtu + 1, 2 * mtu - 1, 2 * mtu, 2 * mtu + 1, 3 * mtu + 2};
}

/// Numbers that look drawn, the same in every run.
class Drawn {
 public:
  explicit Drawn(std::uint32_t seed) : state_(seed * 2654435761u + 1) {}
  std::uint32_t below(std::uint32_t limit) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_ % limit;
  }

 private:
  std::uint32_t state_;
};

/// One connection to the product, which executes.
class Conversation {
 public:
  /// Memory for WRITEs, READs and atomics, and receives of three pieces with gaps between them.
  Conversation(RdmaBench& bench, Check& check, const RcConnection& connection, std::size_t mtu, std::uint32_t receives)
      : c(connection),
        bench_(bench),
        check_(check),
        mtu_(mtu),
        memory_(&bench.product().memory(kBytes(mtu))),
        image_(memory_->bytes),
        buffers_(&bench.product().memory(std::size_t{receives} * stride())),
        buffer_image_(buffers_->bytes) {
    for (std::uint32_t i = 0; i < receives; ++i) post_receive(i);
  }

  RcConnection c;

  VerbsMemory& memory() { return *memory_; }
  std::uint32_t next_ordinal() const { return next_; }
  Remote place(std::size_t offset, std::size_t length) const {
    return {memory_->address() + offset, memory_->rkey(), static_cast<std::uint32_t>(length)};
  }

  void send(const Message& message) {
    const std::vector<RocePacket> packets = packets_for(c, next_, message, mtu_);
    for (const RocePacket& packet : packets) bench_.peer().send(packet);
    sent_ = packets;
    next_ += static_cast<std::uint32_t>(packets.size());
    for (std::size_t i = 0; i < packets.size(); ++i) answers_.push_back({Answer::Kind::ack, {}, messages_ + (i + 1 == packets.size())});
    ++messages_;
    apply(message);
  }
  /// Bytes of the memory, which a WRITE at `offset` shall put there.
  void write(std::size_t offset, Bytes bytes, Extra extra = Extra::none, std::uint32_t word = 0, bool ask_each = false) {
    const Remote to = place(offset, bytes.size());
    send({.write = true, .extra = extra, .bytes = std::move(bytes), .to = to, .word = word, .ask_each = ask_each});
  }
  void read(std::size_t offset, std::size_t length) {
    ++messages_;
    sent_ = {read_request(c, next_, place(offset, length))};
    bench_.peer().send(sent_.front());
    expect_read(offset, length);
    next_ += roce::packets_of(length, static_cast<std::uint32_t>(mtu_));
  }
  void atomic(std::size_t offset, bool swap, std::uint64_t operand, std::uint64_t compare) {
    RocePacket packet = c.request(swap ? roce::Opcode::compare_and_swap : roce::Opcode::fetch_and_add, next_);
    packet.atomic.emplace();
    packet.atomic->set(roce::atomiceth::va, memory_->address() + offset)
        .set(roce::atomiceth::rkey, memory_->rkey())
        .set(roce::atomiceth::swapdt, operand)
        .set(roce::atomiceth::cmpdt, compare);
    sent_ = {packet};
    bench_.peer().send(packet);
    const auto original = load_le<std::uint64_t>(&image_[offset]);
    const bool stores = !swap || original == compare;
    if (stores) store_le<std::uint64_t>(&image_[offset], swap ? operand : original + operand);
    Bytes value(8);
    store_be<std::uint64_t>(value.data(), original);
    answers_.push_back({Answer::Kind::atomic, value, ++messages_});
    ++next_;
  }
  /// The current contents of eight bytes of the memory.
  std::uint64_t number_at(std::size_t offset) const { return load_le<std::uint64_t>(&image_[offset]); }

  /// Everything that was sent is answered, in order, field by field; memory and receives hold what they must; nothing else
  /// came.
  bool settle(std::string_view what) {
    while (answered_ < answers_.size()) {
      if (!take_answer(what)) return false;
    }
    if (std::optional<RocePacket> more = take(Duration::ms(1))) {
      return expect(check_, false, what, "no packet beside the answers", more->describe());
    }
    if (!check_.bytes(what, memory_->bytes, image_)) return false;
    return completions(what) && check_.bytes(what, buffers_->bytes, buffer_image_);
  }

  /// The newest request again: nothing is executed twice, and it is answered.
  bool again(std::string_view what) {
    for (const RocePacket& packet : sent_) bench_.peer().send(packet);
    const roce::OpcodeKind kind = roce::facts_of(sent_.front().opcode).kind;
    if (kind == roce::OpcodeKind::send || kind == roce::OpcodeKind::write) {
      // However many of them asked, the newest PSN is acknowledged.
      std::optional<RocePacket> ack = take(kAnswerTime);
      if (!expect(check_,
                  ack && ack->opcode == roce::Opcode::acknowledge && ack->syndrome() >> 5 == 0 && ack->psn == psn(next_ - 1) &&
                      ack->msn() == (messages_ & roce::kPsnMask),
                  what, "ACK of the newest PSN", ack ? ack->describe() : "silence")) {
        return false;
      }
      while (take(Duration::ms(1))) {
      }
      return settle(what);
    }
    answered_ -= kind == roce::OpcodeKind::read_request
                     ? roce::packets_of(sent_.front().reth->get(roce::reth::dmalen), static_cast<std::uint32_t>(mtu_))
                     : 1;
    return settle(what);
  }

  /// The rest of the newest READ again, from its response `skipped` on.
  bool again_from(std::uint32_t skipped, std::string_view what) {
    const auto& reth = *sent_.front().reth;
    const auto length = reth.get(roce::reth::dmalen);
    const std::uint32_t count = roce::packets_of(length, static_cast<std::uint32_t>(mtu_));
    const auto offset = static_cast<std::uint32_t>(skipped * mtu_);
    bench_.peer().send(
        read_request(c, next_ - count + skipped, {reth.get(roce::reth::va) + offset, reth.get(roce::reth::rkey), length - offset}));
    answered_ -= count - skipped;
    restarted_ = answered_;
    const bool holds = settle(what);
    restarted_ = kNowhere;
    return holds;
  }

 private:
  struct Answer {
    enum class Kind : std::uint8_t { ack, read, atomic };
    Kind kind;
    Bytes data;
    std::uint32_t msn = 0;
    bool first = false, last = false;  ///< of a READ
  };
  struct Received {
    std::uint64_t id;
    std::uint32_t length;
    bool write;
    Extra extra;
    std::uint32_t word;
  };
  static constexpr std::size_t kNowhere = ~std::size_t{0};
  static std::size_t kBytes(std::size_t mtu) { return 6 * mtu + 64; }
  std::size_t stride() const { return 5 * mtu_ + 96; }
  std::uint32_t psn(std::uint32_t ordinal) const { return roce::psn_add(c.facts.send_psn, ordinal); }

  /// Where byte `at` of a receive lies: three pieces, not in the order of their addresses.
  struct Piece {
    std::size_t offset, length;
  };
  std::array<Piece, 3> pieces(std::uint64_t id) const {
    const std::size_t base = static_cast<std::size_t>(id) * stride();
    return {{{base + 4 * mtu_, 37}, {base + 3, mtu_ + 1}, {base + mtu_ + 16, 2 * mtu_ + 5}}};
  }
  void post_receive(std::uint64_t id) {
    std::array<rdma::Sge, 3> sges;
    const auto where = pieces(id);
    for (std::size_t i = 0; i < 3; ++i) sges[i] = buffers_->region->sge(where[i].offset, static_cast<std::uint32_t>(where[i].length));
    check_.precondition(c.queue->qp().post_receive({id, sges}), "a receive of three pieces is taken");
  }

  void expect_read(std::size_t offset, std::size_t length) {
    const std::uint32_t count = roce::packets_of(length, static_cast<std::uint32_t>(mtu_));
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::size_t at = i * mtu_;
      answers_.push_back(
          {Answer::Kind::read, copy(part(image_, offset + at, std::min(mtu_, length - at))), messages_, i == 0, i + 1 == count});
    }
  }

  void apply(const Message& message) {
    if (message.write && !message.bytes.empty() && message.to.rkey == memory_->rkey()) {
      std::copy(message.bytes.begin(), message.bytes.end(),
                image_.begin() + static_cast<std::ptrdiff_t>(message.to.address - memory_->address()));
    }
    if (message.write && message.extra == Extra::none) return;
    if (!message.write) {
      std::size_t from = 0;
      for (const Piece& piece : pieces(next_receive_)) {
        const std::size_t n = std::min(piece.length, message.bytes.size() - from);
        std::copy_n(message.bytes.begin() + static_cast<std::ptrdiff_t>(from), n,
                    buffer_image_.begin() + static_cast<std::ptrdiff_t>(piece.offset));
        from += n;
      }
    }
    due_.push_back({next_receive_++, static_cast<std::uint32_t>(message.bytes.size()), message.write, message.extra, message.word});
  }

  /// The next packet of this connection; those of others wait for theirs.
  std::optional<RocePacket> take(Duration limit) {
    std::deque<RocePacket> others;
    std::optional<RocePacket> found;
    while ((found = bench_.peer().wait_packet(limit)) && found->qpn != c.facts.local_qpn) others.push_back(*found);
    bench_.peer().inbox().insert(bench_.peer().inbox().begin(), others.begin(), others.end());
    return found;
  }

  bool take_answer(std::string_view what) {
    const auto packet = take(kAnswerTime);
    const std::string wanted = "the answer with " + words_of_psn(psn(static_cast<std::uint32_t>(answered_)));
    if (!packet) return expect(check_, false, what, wanted, "silence");
    const auto ahead = roce::psn_distance(packet->psn, psn(static_cast<std::uint32_t>(answered_)));
    // An acknowledgement stands for those before it, but for no READ or atomic.
    if (!expect(check_,
                ahead >= 0 && answered_ + static_cast<std::size_t>(ahead) < answers_.size() && packet->icrc_good && !packet->se &&
                    !packet->ackreq && packet->tver == 0 && (packet->pkey & 0x7FFF) == 0x7FFF,
                what, wanted, packet->describe())) {
      return false;
    }
    for (std::int32_t i = 0; i < ahead; ++i) {
      if (!expect(check_, answers_[answered_].kind == Answer::Kind::ack, what, wanted, packet->describe())) return false;
      ++answered_;
    }
    const Answer& answer = answers_[answered_];
    const bool begins = answer.first || answered_ == restarted_;
    const roce::Opcode opcode = answer.kind == Answer::Kind::ack      ? roce::Opcode::acknowledge
                                : answer.kind == Answer::Kind::atomic ? roce::Opcode::atomic_acknowledge
                                : begins ? (answer.last ? roce::Opcode::read_response_only : roce::Opcode::read_response_first)
                                         : (answer.last ? roce::Opcode::read_response_last : roce::Opcode::read_response_middle);
    ++answered_;
    if (!expect(check_, packet->opcode == opcode, what, std::string(roce::facts_of(opcode).name), packet->describe())) return false;
    if (packet->aeth) {
      check_.equal("kind of its syndrome", packet->syndrome() >> 5, 0);
      // What was executed meanwhile may be counted already.
      check_.between("its MSN", packet->msn(), answer.msn & roce::kPsnMask, messages_ & roce::kPsnMask);
    }
    if (answer.kind == Answer::Kind::read) {
      check_.equal("pad bytes", packet->pad.size(), (4 - answer.data.size() % 4) % 4);
      return check_.bytes(what, packet->payload, answer.data);
    }
    if (answer.kind == Answer::Kind::atomic)
      return check_.equal("original value", packet->atomic_ack->get(roce::atomicacketh::origremdt),
                          load_be<std::uint64_t>(answer.data.data()));
    return check_.equal("bytes that an ACK carries", packet->payload.size(), 0u);
  }

  bool completions(std::string_view what) {
    for (; !due_.empty(); due_.pop_front()) {
      const Received& wanted = due_.front();
      const auto seen = c.queue->wait_receive(kAnswerTime);
      if (!expect(check_, seen.has_value(), what, "a receive completion", "none")) return false;
      check_.equal(what, seen->status, rdma::CompletionStatus::success);
      check_.equal("the receive that it takes", seen->id, wanted.id);
      check_.equal("length that the completion reports", seen->byte_length, wanted.length);
      check_.equal("queue pair of the completion", seen->qp_number, c.queue->qp().number());
      check_.that(seen->opcode == (wanted.write ? rdma::CompletionOpcode::receive_rdma_with_immediate : rdma::CompletionOpcode::receive),
                  "the completion reports the operation", "another one");
      check_.equal("immediate data are reported", seen->has_immediate, wanted.extra == Extra::immediate);
      check_.equal("an invalidated key is reported", seen->has_invalidate, wanted.extra == Extra::invalidate);
      if (wanted.extra == Extra::immediate) check_.equal("immediate data", seen->immediate, wanted.word);
      if (wanted.extra == Extra::invalidate) check_.equal("key that was invalidated", seen->invalidated_rkey, wanted.word);
    }
    return nothing_received(check_, c, what);
  }

  RdmaBench& bench_;
  Check& check_;
  std::size_t mtu_;
  VerbsMemory* memory_;
  Bytes image_;
  VerbsMemory* buffers_;
  Bytes buffer_image_;
  std::uint32_t next_ = 0;
  std::uint32_t messages_ = 0;
  std::uint64_t next_receive_ = 0;
  std::vector<Answer> answers_;  ///< by ordinal
  std::size_t answered_ = 0;
  std::size_t restarted_ = kNowhere;
  std::deque<Received> due_;
  std::vector<RocePacket> sent_;
};

}  // namespace fb::conformance
