// Acknowledgements, responses, and recovery: how the requester learns what became of its requests.
#include <algorithm>

#include "sim/rdma/softroce/finer_fault_points.h"
#include "sim/rdma/softroce/requester.h"

namespace fb::softroce {

using rdma::CompletionStatus;
using rdma::SendOpcode;
using roce::Opcode;
using roce::psn_add;
using roce::psn_before;

namespace {

rdma::CompletionOpcode completion_opcode(SendOpcode opcode) {
  switch (opcode) {
    case SendOpcode::rdma_write:
    case SendOpcode::rdma_write_with_immediate:
      return rdma::CompletionOpcode::rdma_write;
    case SendOpcode::rdma_read:
      return rdma::CompletionOpcode::rdma_read;
    case SendOpcode::compare_and_swap:
      return rdma::CompletionOpcode::compare_and_swap;
    case SendOpcode::fetch_and_add:
      return rdma::CompletionOpcode::fetch_and_add;
    case SendOpcode::fast_register:
      return rdma::CompletionOpcode::fast_register;
    case SendOpcode::local_invalidate:
      return rdma::CompletionOpcode::local_invalidate;
    default:
      return rdma::CompletionOpcode::send;
  }
}

}  // namespace

rdma::Completion RcRequester::completion_of(const Entry& e, CompletionStatus status) const {
  rdma::Completion completion;
  completion.id = e.id;
  completion.status = status;
  completion.opcode = completion_opcode(e.opcode);
  if (status == CompletionStatus::success && is_read_like(e)) completion.byte_length = e.length;
  return completion;
}

void RcRequester::on_response(const InPacket& packet) {
  if (!running_) return;
  if (psn_before(packet.psn, una_psn_)) {
    ++core_.s.counters.drop_old_response;
    if (core_.departs(Departure::requester_old_ack_resets_retries)) retries_left_ = retry_limit();
    return;
  }
  if (!psn_before(packet.psn, sent_end_psn_)) {
    ++core_.s.counters.drop_ghost_ack;
    core_.mark("rc.ghost_ack.ignored");
    if (core_.departs(Departure::requester_obeys_ghost_ack)) acknowledge_before(sent_end_psn_);
    return;
  }
  switch (packet.facts->kind) {
    case roce::OpcodeKind::acknowledge:
      on_acknowledge(packet);
      break;
    case roce::OpcodeKind::read_response:
      on_read_response(packet);
      break;
    default:
      on_atomic_response(packet);
      break;
  }
  if (!running_) return;
  retire();
  settle_ack_timer();
  if (can_send()) core_.want_work();
}

void RcRequester::on_acknowledge(const InPacket& packet) {
  const std::uint8_t syndrome = View<roce::Aeth>{packet.headers}.get(roce::aeth::syndrome);
  const std::uint8_t value = roce::value_of_syndrome(syndrome);
  switch (roce::kind_of_syndrome(syndrome)) {
    case roce::SyndromeKind::ack:
      if (!acknowledge_before(psn_add(packet.psn, 1))) implied_nak();
      if (running_ && una_psn_ != next_psn_ && departs(core_, finer::kRequesterResendsOnPartialAck)) {
        rewind();
      }
      return;
    case roce::SyndromeKind::rnr_nak:
      ++core_.s.counters.rnr_naks_received;
      on_rnr_nak(packet.psn, value);
      return;
    case roce::SyndromeKind::nak:
      on_nak(packet.psn, value);
      return;
    case roce::SyndromeKind::reserved:
      if (reach_head(packet.psn)) fail_head(CompletionStatus::bad_response, "reserved AETH syndrome");
      return;
  }
}

void RcRequester::on_nak(std::uint32_t psn, std::uint8_t code) {
  CompletionStatus status = CompletionStatus::bad_response;
  std::string_view why = "NAK with a reserved code";
  switch (static_cast<roce::NakCode>(code)) {
    case roce::NakCode::psn_sequence_error:
      ++core_.s.counters.sequence_naks_received;
      on_sequence_nak(psn);
      return;
    case roce::NakCode::invalid_request:
      status = CompletionStatus::remote_invalid_request;
      why = "NAK invalid request received";
      break;
    case roce::NakCode::remote_access_error:
      status = CompletionStatus::remote_access_error;
      why = "NAK remote access error received";
      break;
    case roce::NakCode::remote_operational_error:
      status = CompletionStatus::remote_operation_error;
      why = "NAK remote operational error received";
      break;
    default:
      break;
  }
  ++core_.s.counters.fatal_naks_received;
  if (!reach_head(psn)) return;
  if (core_.departs(Departure::requester_wrong_status)) status = CompletionStatus::general_error;
  if (core_.departs(Departure::requester_stays_usable_after_nak)) {
    Entry& e = at(head_);
    if (is_read_like(e)) --reads_in_flight_;
    if (psn_before(sent_end_psn_, psn_add(e.last_psn, 1))) sent_end_psn_ = psn_add(e.last_psn, 1);
    progress(psn_add(e.last_psn, 1));
    core_.complete_send(completion_of(e, status));
    ++head_;
    if (static_cast<std::int32_t>(send_ - head_) < 0) send_ = head_;
    return;
  }
  fail_head(status, why);
}

/// Everything before `psn` is acknowledged by what was received for `psn`. True when the request
/// that `psn` belongs to now stands at the head.
bool RcRequester::reach_head(std::uint32_t psn) {
  if (!acknowledge_before(psn)) {
    implied_nak();
    return false;
  }
  retire();
  return running_;
}

void RcRequester::on_sequence_nak(std::uint32_t psn) {
  if (core_.departs(Departure::requester_ignores_sequence_nak)) return;
  if (one_nak_obeyed_ && departs(core_, finer::kRequesterObeysOneSequenceNak)) return;
  if (rnr_waiting_ && psn == rnr_psn_) {
    ++core_.s.counters.drop_ignored_nak;
    core_.mark("rc.nak.sequence.ignored_in_rnr_wait");
    return;
  }
  if (!reach_head(psn)) return;
  // A responder says it once; a second one without progress is a copy of the first.
  if (rnr_waiting_ || recovering_) {
    ++core_.s.counters.drop_ignored_nak;
    return;
  }
  core_.mark("rc.nak.sequence.obeyed");
  if (!spend_retry()) return;
  recovering_ = true;
  one_nak_obeyed_ = true;
  if (core_.departs(Departure::requester_resends_one_packet_only)) {
    const std::uint32_t resume_psn = next_psn_;
    const std::uint32_t resume_send = send_;
    rewind();
    Entry& e = at(send_);
    if (e.started && !is_local(e)) send_packet(e);
    next_psn_ = resume_psn;
    send_ = resume_send;
    return;
  }
  rewind();
}

void RcRequester::on_rnr_nak(std::uint32_t psn, std::uint8_t timer_code) {
  if (!reach_head(psn)) return;
  if (rnr_waiting_) {
    ++core_.s.counters.drop_ignored_nak;
    return;
  }
  if (rnr_retries_left_ == 0) {
    if (!core_.departs(Departure::requester_rnr_retry_one_more) || recovering_) {
      fail_head(CompletionStatus::rnr_retry_exceeded, "RNR retries exceeded");
      return;
    }
    recovering_ = true;
  } else if (core_.path.rnr_retry_count < 7 || departs(core_, finer::kRequesterRnrSevenIsFinite)) {
    --rnr_retries_left_;
  }
  core_.mark("rc.rnr.wait");
  rnr_waiting_ = true;
  rnr_psn_ = psn;
  Duration wait = roce::rnr_delay(timer_code);
  if (core_.departs(Departure::requester_rnr_timer_halved)) wait = wait / 2;
  if (core_.departs(Departure::requester_rnr_timer_ignored)) wait = Duration{};
  core_.s.world.loop().schedule_after(rnr_timer_, wait);  // on_response() ends that of the acknowledgement
}

void RcRequester::on_rnr_timer() {
  rnr_waiting_ = false;
  rewind();
  pump();
}

bool RcRequester::read_opcode_fits(const Entry& e, const InPacket& packet) const {
  const bool begins = packet.psn == e.request_psn;
  const bool ends = packet.psn == e.last_psn;
  if (packet.facts->last != ends) return false;
  // After asking again, responses to either request may arrive; what counts is their place.
  return e.asked_again || packet.facts->first == begins;
}

void RcRequester::on_read_response(const InPacket& packet) {
  if (!reach_head(packet.psn)) return;
  Entry& e = at(head_);
  if (e.opcode != SendOpcode::rdma_read) {
    if (departs(core_, finer::kRequesterTakesAnyResponse)) {
      acknowledge_before(psn_add(packet.psn, 1));
      return;
    }
    fail_head(CompletionStatus::bad_response, "read response for another kind of request");
    return;
  }
  const std::uint32_t offset = offset_of(e, packet.psn);
  const bool aeth_fits =
      !packet.facts->aeth || roce::kind_of_syndrome(View<roce::Aeth>{packet.headers}.get(roce::aeth::syndrome)) == roce::SyndromeKind::ack;
  const bool fits = read_opcode_fits(e, packet) && packet.payload.size() == std::min(core_.mtu, e.length - offset);
  if ((!fits && !departs(core_, finer::kRequesterTakesAnyLength)) || !aeth_fits) {
    fail_head(CompletionStatus::bad_response, "read response of wrong kind or length");
    return;
  }
  if (!scatter_sges(core_, sges_of(head_), offset, packet.payload)) {
    fail_head(CompletionStatus::local_access_error, "read response cannot be placed");
    return;
  }
  progress(psn_add(packet.psn, 1));
  if (packet.psn == e.last_psn) finish_head();
}

void RcRequester::on_atomic_response(const InPacket& packet) {
  if (!reach_head(packet.psn)) return;
  Entry& e = at(head_);
  if (!is_atomic(e)) {
    fail_head(CompletionStatus::bad_response, "atomic response for another kind of request");
    return;
  }
  std::uint64_t original = View<roce::AtomicAckEth>{packet.headers.subspan(roce::Aeth::size)}.get(roce::atomicacketh::origremdt);
  if (departs(core_, finer::kRequesterAtomicResultSwapped)) {
    original = __builtin_bswap64(original);
  }
  std::uint8_t bytes[8];
  store_le<std::uint64_t>(bytes, original);
  if (!scatter_sges(core_, sges_of(head_), 0, bytes)) {
    fail_head(CompletionStatus::local_access_error, "atomic result cannot be placed");
    return;
  }
  progress(psn_add(packet.psn, 1));
  finish_head();
}

/// Everything before `limit` is acknowledged. False when a read or atomic before it still misses
/// its response; then it stands at the head.
bool RcRequester::acknowledge_before(std::uint32_t limit) {
  while (psn_before(una_psn_, limit)) {
    retire();
    if (!running_) return true;
    Entry& e = at(head_);
    BENCH_ASSERT(head_ != tail_ && e.started && !is_local(e), "an unacknowledged PSN has a request");
    if (is_read_like(e)) return false;
    if (psn_before(e.last_psn, limit)) {
      progress(psn_add(e.last_psn, 1));
      finish_head();
      if (core_.departs(Departure::requester_ack_completes_one)) return true;
    } else {
      const bool skips = departs(core_, finer::kRequesterPartialAckSkips);
      progress(skips ? psn_add(limit, 1) : limit);
    }
  }
  retire();
  return true;
}

void RcRequester::implied_nak() {
  if (recovering_ || rnr_waiting_ || core_.departs(Departure::requester_no_implied_nak)) return;
  ++core_.s.counters.implied_naks;
  core_.mark("rc.nak.implied");
  if (!spend_retry()) return;
  recovering_ = true;
  rewind();
}

void RcRequester::progress(std::uint32_t una) {
  una_psn_ = una;
  if (psn_before(next_psn_, una)) {
    // What was about to be sent again has been acknowledged after all.
    next_psn_ = una;
  }
  if (!departs(core_, finer::kRequesterRetriesNotReloaded)) retries_left_ = retry_limit();
  if (!departs(core_, finer::kRequesterRnrRetriesNotReloaded)) {
    rnr_retries_left_ = core_.path.rnr_retry_count;
  }
  recovering_ = false;
  if (rnr_waiting_ && psn_before(rnr_psn_, una)) {
    rnr_waiting_ = false;
    core_.s.world.loop().cancel(rnr_timer_);
  }
  if (departs(core_, finer::kRequesterTimerNotRestarted)) return;
  ack_deadline_ = core_.s.world.now() + roce::ack_timeout(core_.path.ack_timeout_code);
}

/// Completes local operations that have become the oldest, and fails on one that cannot be done.
void RcRequester::retire() {
  while (running_ && head_ != tail_) {
    Entry& e = at(head_);
    if (e.error != CompletionStatus::success) {
      fail_head(e.error, "a work request cannot be executed");
      return;
    }
    if (!e.done) return;
    finish_head();
  }
}

void RcRequester::finish_head() {
  Entry& e = at(head_);
  if (is_read_like(e)) --reads_in_flight_;
  if (e.signaled) {
    core_.complete_send(completion_of(e, CompletionStatus::success));
    if (core_.departs(Departure::requester_completes_twice)) {
      core_.complete_send(completion_of(e, CompletionStatus::success));
    }
  }
  ++head_;
  if (static_cast<std::int32_t>(send_ - head_) < 0) send_ = head_;
}

void RcRequester::fail_head(CompletionStatus status, std::string_view why) {
  BENCH_ASSERT(head_ != tail_, "there is a request to fail");
  core_.complete_send(completion_of(at(head_), status));
  ++head_;
  core_.enter_error(why);
}

std::uint32_t RcRequester::retry_limit() const {
  std::uint32_t limit = core_.path.retry_count;
  if (core_.departs(Departure::requester_retry_one_more)) ++limit;
  if (limit > 0 && core_.departs(Departure::requester_retry_one_less)) --limit;
  return limit;
}

bool RcRequester::spend_retry() {
  if (core_.s.options.endless_retry_seven && core_.path.retry_count == 7) return true;
  if (retries_left_ > 0) {
    --retries_left_;
    return true;
  }
  fail_head(CompletionStatus::retry_exceeded, "retries exceeded");
  return false;
}

/// Go back to the oldest unacknowledged packet.
void RcRequester::rewind() {
  ++core_.s.counters.rewinds;
  next_psn_ = una_psn_;
  send_ = head_;
  packets_without_ack_request_ = 0;
}

void RcRequester::arm_ack_timer() {
  Duration timeout = roce::ack_timeout(core_.path.ack_timeout_code);
  if (timeout == Duration::forever() && departs(core_, finer::kTimeoutZeroEnds)) timeout = roce::ack_timeout(8);
  if (timeout == Duration::forever() || core_.departs(Departure::requester_never_times_out)) return;
  if (core_.departs(Departure::requester_timeout_too_early)) timeout = timeout / 4;
  ack_deadline_ = core_.s.world.now() + timeout;
  core_.s.world.loop().schedule(ack_timer_, ack_deadline_);
}

/// Nothing in flight: no timer. Otherwise a scheduled timer is left where it is; it looks at the
/// deadline when it fires.
void RcRequester::settle_ack_timer() {
  if (una_psn_ == next_psn_ || rnr_waiting_) {
    core_.s.world.loop().cancel(ack_timer_);
  } else if (!ack_timer_.scheduled()) {
    arm_ack_timer();
  }
}

void RcRequester::on_ack_timer() {
  if (core_.s.world.now() < ack_deadline_) {
    core_.s.world.loop().schedule(ack_timer_, ack_deadline_);
    return;
  }
  if (una_psn_ == next_psn_) return;
  ++core_.s.counters.ack_timeouts;
  core_.mark("rc.ack_timeout");
  retire();
  if (!running_ || !spend_retry()) return;
  recovering_ = false;
  rewind();
  pump();
  settle_ack_timer();
}

}  // namespace fb::softroce
