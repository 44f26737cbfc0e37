// A program on the product posts work requests; the bench holds each packet that leaves against what was posted, and answers.
#pragma once

#include <vector>

#include "conformance/cases/rdma/asking.h"
#include "conformance/cases/rdma/conversation.h"

namespace fb::conformance::asker {

using rdma::CompletionOpcode;
using rdma::CompletionStatus;
using rdma::SendOpcode;
using roce::Opcode;

inline constexpr SendOpcode kOpcodes[] = {SendOpcode::send,
                                          SendOpcode::send_with_immediate,
                                          SendOpcode::send_with_invalidate,
                                          SendOpcode::rdma_write,
                                          SendOpcode::rdma_write_with_immediate,
                                          SendOpcode::rdma_read,
                                          SendOpcode::compare_and_swap,
                                          SendOpcode::fetch_and_add};

inline bool is_atomic(SendOpcode opcode) { return opcode == SendOpcode::compare_and_swap || opcode == SendOpcode::fetch_and_add; }
inline bool is_answered(SendOpcode opcode) { return opcode == SendOpcode::rdma_read || is_atomic(opcode); }

inline CompletionOpcode completion_of(SendOpcode opcode) {
  switch (opcode) {
    case SendOpcode::rdma_write:
    case SendOpcode::rdma_write_with_immediate:
      return CompletionOpcode::rdma_write;
    case SendOpcode::rdma_read:
      return CompletionOpcode::rdma_read;
    case SendOpcode::compare_and_swap:
      return CompletionOpcode::compare_and_swap;
    case SendOpcode::fetch_and_add:
      return CompletionOpcode::fetch_and_add;
    default:
      return CompletionOpcode::send;
  }
}

/// A work request as posted, and what must come of it.
struct Posted {
  rdma::SendRequest request;
  Bytes bytes;  ///< of a SEND or WRITE
  std::size_t length = 0;
  std::vector<std::size_t> where;  ///< in the memory: offset and length of each piece
  std::uint32_t first = 0, packets = 1;
};

/// The product asks, the bench answers.
class Asker {
 public:
  Asker(RdmaBench& bench, Check& check, const RcConnection& connection, std::size_t mtu)
      : c(connection), bench_(bench), check_(check), mtu_(mtu), memory_(&bench.product().memory(20 * mtu)) {
    for (std::size_t i = 0; i < memory_->bytes.size(); ++i) memory_->bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
    image_ = memory_->bytes;
  }

  RcConnection c;

  /// Posts a request over so many pieces; odd lengths, in no order.
  Posted post(SendOpcode opcode, std::size_t length, std::size_t pieces, bool signaled = true, bool solicited = false) {
    Posted posted;
    if (is_atomic(opcode)) length = 8;
    posted.length = length;
    rdma::SendRequest& request = posted.request;
    request.id = 0x1122334400000000u + next_id_++;
    request.opcode = opcode;
    request.signaled = signaled;
    request.solicited = solicited;
    request.remote_address = 0x0102030405060000u + request.id % 0x1000;
    request.rkey = 0xA1B2C300u + static_cast<std::uint32_t>(request.id % 251);
    request.immediate = 0xC0FFEE00u + static_cast<std::uint32_t>(request.id % 253);
    request.invalidate_rkey = 0x0BADC000u + static_cast<std::uint32_t>(request.id % 255);
    request.compare = 0x1112131415161718u + request.id;
    request.swap_or_add = 0x2122232425262728u + request.id;
    std::vector<rdma::Sge> sges;
    const std::size_t each = length / pieces;
    for (std::size_t i = 0; i < pieces; ++i) {
      const std::size_t n = i + 1 == pieces ? length - each * (pieces - 1) : each;
      if (n == 0) continue;
      const std::size_t at = ((pieces - i) * 4 * mtu_ + 3 * i + 1) % (memory_->bytes.size() - 4 * mtu_);
      sges.push_back(memory_->region->sge(at, static_cast<std::uint32_t>(n)));
      posted.where.insert(posted.where.end(), {at, n});
      if (!is_answered(opcode))
        posted.bytes.insert(posted.bytes.end(), image_.begin() + static_cast<std::ptrdiff_t>(at),
                            image_.begin() + static_cast<std::ptrdiff_t>(at + n));
    }
    request.sges = sges;
    posted.first = next_;
    posted.packets = is_atomic(opcode) ? 1 : roce::packets_of(length, static_cast<std::uint32_t>(mtu_));
    next_ += posted.packets;
    check_.precondition(c.queue->post_send(request), "a work request is taken");
    request.sges = {};
    return posted;
  }

  /// The packets that say `posted`, from packet `from` on, field by field. A READ is one packet.
  bool asked(const Posted& posted, std::string_view what, std::uint32_t from = 0) {
    const bool read = posted.request.opcode == SendOpcode::rdma_read;
    for (std::uint32_t i = from; i < (read ? from + 1 : posted.packets); ++i) {
      const auto packet = next_packet(bench_, check_, what, "a request");
      if (!packet || !right(*packet, posted, i, what)) return false;
    }
    return true;
  }

  /// Answers the newest packet of `posted`, and everything before it.
  void answer(const Posted& posted) {
    const std::uint32_t messages = messages_ += 1;
    if (posted.request.opcode == SendOpcode::rdma_read) {
      const Bytes data = pattern(posted.length, static_cast<std::uint8_t>(posted.first));
      for (std::uint32_t i = 0; i < posted.packets; ++i) respond(posted, i, data, messages);
      store(posted, data);
    } else if (is_atomic(posted.request.opcode)) {
      RocePacket packet = response(c, Opcode::atomic_acknowledge, posted.first, {}, messages);
      packet.atomic_ack.emplace();
      const std::uint64_t original = 0xF1E2D3C4B5A69788u + posted.first;
      packet.atomic_ack->set(roce::atomicacketh::origremdt, original);
      bench_.peer().send(packet);
      Bytes data(8);
      store_le<std::uint64_t>(data.data(), original);
      store(posted, data);
    } else {
      acknowledge(bench_, c, posted.first + posted.packets - 1, messages);
    }
  }
  void respond(const Posted& posted, std::uint32_t i, const Bytes& data, std::uint32_t messages) {
    const bool begins = i == 0, ends = i + 1 == posted.packets;
    const Opcode opcode = ends ? (begins ? Opcode::read_response_only : Opcode::read_response_last)
                               : (begins ? Opcode::read_response_first : Opcode::read_response_middle);
    const std::size_t offset = i * mtu_;
    bench_.peer().send(response(c, opcode, posted.first + i, copy(part(data, offset, std::min(mtu_, data.size() - offset))), messages));
  }
  /// What an answer brings goes into the pieces of its request.
  void store(const Posted& posted, const Bytes& data) {
    std::size_t from = 0;
    for (std::size_t i = 0; i < posted.where.size(); i += 2) {
      std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(from), posted.where[i + 1],
                  image_.begin() + static_cast<std::ptrdiff_t>(posted.where[i]));
      from += posted.where[i + 1];
    }
  }
  void skip_message() { ++messages_; }

  bool completed(const Posted& posted, std::string_view what, CompletionStatus status = CompletionStatus::success) {
    if (!posted.request.signaled && status == CompletionStatus::success) return true;
    const auto seen = c.queue->wait_send(kAnswerTime);
    if (!expect(check_, seen.has_value(), what, "a completion", "none")) return false;
    check_.equal(what, seen->status, status);
    check_.equal("the request that completes", seen->id, posted.request.id);
    check_.equal("its queue pair", seen->qp_number, c.queue->qp().number());
    if (status != CompletionStatus::success) return true;
    check_.that(seen->opcode == completion_of(posted.request.opcode), "the completion reports the operation", "another one");
    if (is_answered(posted.request.opcode)) check_.equal("its length", seen->byte_length, static_cast<std::uint32_t>(posted.length));
    return true;
  }
  /// Nothing else completes or is sent, and memory holds what the answers brought.
  bool rest(std::string_view what) {
    expect(check_, !c.queue->wait_send(Duration::ms(1)), what, "no further completion", "one more");
    expect(check_, bench_.peer().silent_for(Duration::ms(1)), what, "no further packet", "one more");
    return check_.bytes(what, memory_->bytes, image_);
  }
  std::uint32_t messages() const { return messages_; }

 private:
  bool right(const RocePacket& packet, const Posted& posted, std::uint32_t i, std::string_view what) {
    const rdma::SendRequest& request = posted.request;
    const bool read = request.opcode == SendOpcode::rdma_read;
    const bool whole = read || is_atomic(request.opcode);
    const bool first = i == 0, last = whole || i + 1 == posted.packets;
    const Extra extra = request.opcode == SendOpcode::send_with_immediate || request.opcode == SendOpcode::rdma_write_with_immediate
                            ? Extra::immediate
                        : request.opcode == SendOpcode::send_with_invalidate ? Extra::invalidate
                                                                             : Extra::none;
    const bool write = request.opcode == SendOpcode::rdma_write || request.opcode == SendOpcode::rdma_write_with_immediate;
    const Opcode opcode = read                                             ? Opcode::read_request
                          : request.opcode == SendOpcode::compare_and_swap ? Opcode::compare_and_swap
                          : request.opcode == SendOpcode::fetch_and_add    ? Opcode::fetch_and_add
                                                                           : opcode_at(write, extra, first, last);
    const std::uint32_t psn = roce::psn_add(c.facts.receive_psn, posted.first + i);
    if (!expect(check_, packet.opcode == opcode && packet.psn == psn, what,
                std::string(roce::facts_of(opcode).name) + ", " + words_of_psn(psn), packet.describe()))
      return false;
    check_.equal("its queue pair", packet.qpn, c.facts.local_qpn);
    check_.equal("its P_Key", packet.pkey & 0x7FFF, 0x7FFF);
    check_.equal("its transport version", +packet.tver, 0);
    check_.that(packet.icrc_good, "its ICRC is right", "it is not");
    check_.equal("its solicited event", packet.se, last && !whole && request.solicited);
    if (last && (request.signaled || whole)) check_.that(packet.ackreq, "the last packet asks for an acknowledgement", "it does not");
    const std::size_t offset = i * mtu_;
    if (packet.reth) {
      check_.equal("its address", packet.reth->get(roce::reth::va), request.remote_address + (read ? offset : 0));
      check_.equal("its key", packet.reth->get(roce::reth::rkey), request.rkey);
      check_.equal("its DMA length", packet.reth->get(roce::reth::dmalen), static_cast<std::uint32_t>(posted.length - (read ? offset : 0)));
    }
    if (packet.atomic) {
      check_.equal("its address", packet.atomic->get(roce::atomiceth::va), request.remote_address);
      check_.equal("its key", packet.atomic->get(roce::atomiceth::rkey), request.rkey);
      check_.equal("what it swaps in or adds", packet.atomic->get(roce::atomiceth::swapdt), request.swap_or_add);
      if (opcode == Opcode::compare_and_swap)
        check_.equal("what it compares with", packet.atomic->get(roce::atomiceth::cmpdt), request.compare);
    }
    if (packet.immediate) check_.equal("its immediate data", packet.immediate->get(roce::immdt::immdt), request.immediate);
    if (packet.ieth) check_.equal("the key that it invalidates", packet.ieth->get(roce::ieth::rkey), request.invalidate_rkey);
    const Bytes wanted = whole ? Bytes{} : copy(part(posted.bytes, offset, std::min(mtu_, posted.bytes.size() - offset)));
    check_.bytes("its pad bytes", packet.pad, Bytes((4 - wanted.size() % 4) % 4, 0));
    return check_.bytes("its bytes", packet.payload, wanted);
  }

  RdmaBench& bench_;
  Check& check_;
  std::size_t mtu_;
  VerbsMemory* memory_;
  Bytes image_;
  std::uint64_t next_id_ = 1;
  std::uint32_t next_ = 0;
  std::uint32_t messages_ = 0;
};

/// The ACK timeout of these cases: 4.3 s, which no case waits for.
inline constexpr RawRequest kPatient = {.mtu_code = 1, .ack_timeout = 20};

inline RawRequest patient(std::uint8_t mtu_code) {
  RawRequest request = kPatient;
  request.mtu_code = mtu_code;
  return request;
}

}  // namespace fb::conformance::asker
