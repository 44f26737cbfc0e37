// Posting and sending. What comes back is handled in requester_responses.cc.
#include "sim/rdma/softroce/finer_fault_points.h"
#include "sim/rdma/softroce/requester.h"

#include <algorithm>
#include <bit>

namespace fb::softroce {

using rdma::CompletionStatus;
using rdma::SendOpcode;
using roce::Opcode;

RcRequester::RcRequester(QpCore& core, const RequesterLimits& limits)
    : core_(core),
      limits_(limits),
      mask_(std::bit_ceil(std::max(limits.entries, 1u)) - 1),
      ring_(std::size_t{mask_} + 1),
      sges_((std::size_t{mask_} + 1) * limits.max_sges) {}

bool RcRequester::acceptable(const rdma::SendRequest& request, std::uint64_t length) const {
  const std::uint32_t entries = limits_.entries - (departs(core_, finer::kQueueOneShorter) ? 1 : 0);
  if (posted() == entries || request.sges.size() > limits_.max_sges) return false;
  if (length > roce::kMaxMessageBytes) return false;
  switch (request.opcode) {
    case SendOpcode::rdma_read:
      return !request.inline_data;
    case SendOpcode::compare_and_swap:
    case SendOpcode::fetch_and_add:
      return !request.inline_data && length == 8;
    case SendOpcode::fast_register:
      return request.region != nullptr && request.sges.empty();
    case SendOpcode::local_invalidate:
      return request.sges.empty();
    default:
      return !request.inline_data || length <= limits_.max_inline_bytes;
  }
}

bool RcRequester::post(const rdma::SendRequest& request) {
  std::uint64_t length = 0;
  for (const rdma::Sge& sge : request.sges) length += sge.length;
  if (!acceptable(request, length)) return false;
  Entry& e = at(tail_);
  e.id = request.id;
  e.opcode = request.opcode;
  e.error = CompletionStatus::success;
  e.signaled = request.signaled;
  e.solicited = request.solicited;
  e.fence = request.fence;
  e.inlined = request.inline_data && !departs(core_, finer::kRequesterInlineByReference);
  e.started = e.asked_again = e.done = false;
  e.length = static_cast<std::uint32_t>(length);
  e.sge_count = static_cast<std::uint32_t>(request.sges.size());
  e.remote_address = request.remote_address;
  e.rkey = request.rkey;
  e.immediate_or_key = request.opcode == SendOpcode::send_with_invalidate || request.opcode == SendOpcode::local_invalidate
                           ? request.invalidate_rkey
                           : request.immediate;
  e.compare = request.compare;
  e.swap_or_add = request.swap_or_add;
  if (request.opcode == SendOpcode::fast_register) {
    e.rkey = request.region->rkey();
    e.memory = request.memory;
    e.iova = request.iova;
    e.access = request.access;
    e.key_byte = request.key_byte;
    e.this_queue_only = request.this_queue_only;
  }
  std::copy(request.sges.begin(), request.sges.end(),
            sges_.begin() + static_cast<std::ptrdiff_t>(std::size_t{tail_ & mask_} * limits_.max_sges));
  if (e.inlined && length > 0) {
    if (inline_.empty()) inline_.resize(ring_.size() * limits_.max_inline_bytes);
    // The verbs do not look at the keys of inline data; here an address is nothing without one.
    if (!gather_sges(core_, request.sges, 0, inline_of(tail_).first(length))) return false;
  }
  ++tail_;
  return true;
}

void RcRequester::start() {
  una_psn_ = next_psn_ = sent_end_psn_ = core_.path.send_psn & roce::kPsnMask;
  retries_left_ = retry_limit();
  rnr_retries_left_ = core_.path.rnr_retry_count;
  running_ = true;
  if (send_ != tail_) core_.want_work();
}

void RcRequester::stop_and_flush() {
  running_ = false;
  rnr_waiting_ = false;
  core_.s.world.loop().cancel(ack_timer_);
  core_.s.world.loop().cancel(rnr_timer_);
  const bool silent = core_.departs(Departure::requester_flush_missing);
  const bool backwards = core_.departs(Departure::requester_flush_out_of_order);
  while (head_ != tail_) {
    const Entry& e = at(backwards ? --tail_ : head_++);
    if (!silent) core_.complete_send(completion_of(e, CompletionStatus::flushed));
  }
  send_ = head_ = tail_;
}

void RcRequester::pump() {
  while (can_send()) {
    Entry& e = at(send_);
    if (e.error != CompletionStatus::success) return;  // fails when it is the oldest
    if (!e.started) {
      if (!may_start(e)) return;
      begin_entry(e);
      if (e.error != CompletionStatus::success) {
        retire();
        return;
      }
    }
    if (is_local(e)) {
      ++send_;
      retire();
      continue;
    }
    if (outstanding() >= core_.s.options.window_packets) return;
    if (!send_packet(e)) {
      retire();
      return;
    }
  }
}

bool RcRequester::may_start(Entry& e) {
  if (e.fence && reads_in_flight_ > 0 && !core_.departs(Departure::requester_fence_ignored)) {
    return false;
  }
  if (e.opcode == SendOpcode::local_invalidate) return head_ == send_ || departs(core_, finer::kInvalidatesAtOnce);
  if (is_read_like(e)) {
    if (core_.path.initiator_depth == 0) {
      e.error = CompletionStatus::local_qp_operation_error;
      retire();
      return false;
    }
    if (reads_in_flight_ >= core_.path.initiator_depth && !core_.departs(Departure::requester_read_depth_ignored)) {
      return false;
    }
    // Half the PSN range is the most that may be outstanding.
    const std::uint32_t count = roce::packets_of(e.length, core_.mtu);
    if (outstanding() > 0 && outstanding() + count > roce::kPsnHalf) return false;
  }
  return true;
}

void RcRequester::begin_entry(Entry& e) {
  e.started = true;
  if (is_local(e)) {
    run_local(e);
    return;
  }
  std::uint32_t count = is_atomic(e) ? 1 : roce::packets_of(e.length, core_.mtu);
  if (e.opcode == SendOpcode::rdma_read && core_.departs(Departure::requester_read_takes_one_psn)) {
    count = 1;
  }
  e.first_psn = next_psn_;
  e.last_psn = roce::psn_add(next_psn_, count - 1);
  if (is_read_like(e)) ++reads_in_flight_;
}

void RcRequester::run_local(Entry& e) {
  MemoryTable& memory = core_.s.memory;
  const bool good =
      e.opcode == SendOpcode::local_invalidate
          ? memory.invalidate(core_.s.domain, e.immediate_or_key)
          : memory.fast_register(core_.s.domain, e.rkey, e.memory, e.iova, e.access, e.key_byte,
                                 e.this_queue_only && !departs(core_, finer::kKeyOfAnyQueue) ? core_.s.number : 0, core_.s.hooks);
  if (good) {
    e.done = true;
  } else {
    e.error = CompletionStatus::local_qp_operation_error;
  }
}

bool RcRequester::send_packet(Entry& e) {
  if (e.opcode == SendOpcode::rdma_read) {
    send_read(e);
  } else if (is_atomic(e)) {
    send_atomic(e);
  } else if (!send_data(e)) {
    return false;
  }
  if (next_psn_ == roce::psn_add(e.last_psn, 1)) ++send_;
  if (!ack_timer_.scheduled()) arm_ack_timer();
  return true;
}

roce::Opcode RcRequester::data_opcode(const Entry& e, bool first, bool last) const {
  if (core_.departs(Departure::requester_wrong_opcode_sequence) && first && !last) {
    return is_write(e) ? Opcode::write_middle : Opcode::send_middle;
  }
  if (!last) {
    if (is_write(e)) return first ? Opcode::write_first : Opcode::write_middle;
    return first ? Opcode::send_first : Opcode::send_middle;
  }
  switch (e.opcode) {
    case SendOpcode::send_with_immediate:
      return first ? Opcode::send_only_with_immediate : Opcode::send_last_with_immediate;
    case SendOpcode::send_with_invalidate:
      return first ? Opcode::send_only_with_invalidate : Opcode::send_last_with_invalidate;
    case SendOpcode::rdma_write:
      return first ? Opcode::write_only : Opcode::write_last;
    case SendOpcode::rdma_write_with_immediate:
      return first ? Opcode::write_only_with_immediate : Opcode::write_last_with_immediate;
    default:
      return first ? Opcode::send_only : Opcode::send_last;
  }
}

bool RcRequester::ack_needed(const Entry& e, bool last) {
  if (core_.departs(Departure::requester_no_ack_request)) return false;
  const std::uint32_t window = core_.s.options.window_packets;
  bool needed = ++packets_without_ack_request_ >= std::max(window / 4, 1u) || outstanding() + 1 >= window;
  if (last && !needed) {
    // The last packet of a message that nobody wants to hear of may leave it to the next message,
    // when that one follows at once.
    const bool again = next_psn_ != sent_end_psn_;
    const bool follows = send_ + 1 != tail_ && !is_local(at(send_ + 1)) && !at(send_ + 1).fence;
    needed = e.signaled || again || !follows;
  }
  if (needed) packets_without_ack_request_ = 0;
  return needed;
}

bool RcRequester::send_data(Entry& e) {
  const std::uint32_t offset = offset_of(e, next_psn_);
  std::uint32_t bytes = std::min(core_.mtu, e.length - offset);
  const bool first = next_psn_ == e.first_psn;
  const bool last = next_psn_ == e.last_psn;
  if (!e.inlined && !sges_readable(core_, sges_of(send_), offset, bytes)) {
    e.error = CompletionStatus::local_protection_error;
    return false;
  }
  if (!last && core_.departs(Departure::requester_short_middle)) bytes -= 4;
  const OutPacket out{.opcode = data_opcode(e, first, last),
                      .psn = next_psn_,
                      .ack_request = ack_needed(e, last),
                      .solicited = last && e.solicited,
                      .payload_bytes = bytes};
  MutableBytes rest = core_.open(out);
  const roce::OpcodeFacts& facts = roce::facts_of(out.opcode);
  if (facts.reth) {
    MutableView<roce::Reth>{rest}.set(roce::reth::va, e.remote_address).set(roce::reth::rkey, e.rkey).set(roce::reth::dmalen, e.length);
    rest = rest.subspan(roce::Reth::size);
  }
  if (facts.immdt || facts.ieth) {
    MutableView<roce::ImmDt>{rest}.set(roce::immdt::immdt, e.immediate_or_key);
    rest = rest.subspan(roce::ImmDt::size);
  }
  if (e.inlined && bytes > 0) {
    const MutableBytes data = inline_of(send_).subspan(offset, bytes);
    std::copy(data.begin(), data.end(), rest.begin());
  } else {
    gather_sges(core_, sges_of(send_), offset, rest.first(bytes));
  }
  core_.commit_packet();
  sent_until(roce::psn_add(next_psn_, 1));
  return true;
}

void RcRequester::send_read(Entry& e) {
  // A read of which a part has arrived is asked for again from the first missing response.
  std::uint32_t offset = offset_of(e, next_psn_);
  if (offset > 0 && core_.departs(Departure::requester_read_restarts_from_first)) offset = 0;
  e.asked_again = e.asked_again || next_psn_ != sent_end_psn_;
  e.request_psn = next_psn_;
  packets_without_ack_request_ = 0;
  MutableBytes rest = core_.open({.opcode = Opcode::read_request, .psn = next_psn_, .ack_request = true});
  MutableView<roce::Reth>{rest}
      .set(roce::reth::va, e.remote_address + offset)
      .set(roce::reth::rkey, e.rkey)
      .set(roce::reth::dmalen, e.length - offset);
  core_.commit_packet();
  sent_until(roce::psn_add(e.last_psn, 1));
}

void RcRequester::send_atomic(Entry& e) {
  const bool swap = e.opcode == SendOpcode::compare_and_swap;
  packets_without_ack_request_ = 0;
  MutableBytes rest =
      core_.open({.opcode = swap ? Opcode::compare_and_swap : Opcode::fetch_and_add, .psn = next_psn_, .ack_request = true});
  MutableView<roce::AtomicEth>{rest}
      .set(roce::atomiceth::va, e.remote_address)
      .set(roce::atomiceth::rkey, e.rkey)
      .set(roce::atomiceth::swapdt, e.swap_or_add)
      .set(roce::atomiceth::cmpdt, swap ? e.compare : std::uint64_t{0});
  core_.commit_packet();
  sent_until(roce::psn_add(next_psn_, 1));
}

void RcRequester::sent_until(std::uint32_t psn) {
  next_psn_ = psn;
  if (roce::psn_before(sent_end_psn_, psn)) sent_end_psn_ = psn;
}

}  // namespace fb::softroce
