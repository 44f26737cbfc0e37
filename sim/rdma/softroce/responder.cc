// SEND and WRITE in order, acknowledgements and NAKs. Reads, atomics and duplicates are in
// responder_reads.cc.
#include "sim/rdma/softroce/finer_fault_points.h"
#include "sim/rdma/softroce/responder.h"

#include <algorithm>

namespace fb::softroce {

using rdma::CompletionStatus;
using roce::NakCode;
using roce::psn_add;

RcResponder::RcResponder(QpCore& core, std::uint32_t max_receive_sges) : core_(core), receive_sges_(max_receive_sges) {}

void RcResponder::start() {
  expected_psn_ = core_.path.receive_psn & roce::kPsnMask;
  ack_psn_ = psn_add(expected_psn_, roce::kPsnMask);
  // A deviation serves a read where none was agreed; it needs a place for it.
  const bool some = core_.departs(Departure::responder_qp_rights_unchecked);
  accepted_.resize(std::max<std::size_t>(core_.path.responder_resources, some ? 1 : 0));
  running_ = true;
}

void RcResponder::stop() {
  running_ = false;
  ack_wanted_ = late_nak_ = false;
  responses_due_ = 0;
  core_.s.world.loop().cancel(ack_timer_);
}

void RcResponder::flush_held_receive() {
  if (!receive_held_ || departs(core_, finer::kResponderHeldReceiveLost)) return;
  complete_held(CompletionStatus::flushed);
}

void RcResponder::on_request(const InPacket& packet) {
  const std::int32_t distance = roce::psn_distance(packet.psn, expected_psn_);
  if (distance > 0) {
    on_gap();
    return;
  }
  if (distance < 0) {
    on_duplicate(packet);
    return;
  }
  if (!core_.departs(Departure::responder_nak_stays_armed)) nak_sent_ = false;
  if (!departs(core_, finer::kResponderRnrWaitStays)) rnr_waiting_ = false;
  late_nak_ = false;
  switch (packet.facts->kind) {
    case roce::OpcodeKind::send:
      on_send(packet);
      break;
    case roce::OpcodeKind::write:
      on_write(packet);
      break;
    case roce::OpcodeKind::read_request:
      on_read(packet);
      break;
    default:
      on_atomic(packet);
      break;
  }
  if (running_ && work_due()) core_.want_work();
}

void RcResponder::on_gap() {
  ++(rnr_waiting_ ? core_.s.counters.drop_while_not_ready : core_.s.counters.drop_out_of_sequence);
  if (rnr_waiting_) {
    if (core_.departs(Departure::responder_rnr_then_sequence_nak)) sequence_nak();
    return;
  }
  if (core_.departs(Departure::responder_no_sequence_nak)) return;
  if (nak_sent_ && !core_.departs(Departure::responder_nak_sequence_twice)) return;
  nak_sent_ = true;
  sequence_nak();
}

bool RcResponder::sequence_fits(const InPacket& packet, Message kind) {
  if (packet.facts->first) {
    if (message_ == Message::none) return true;
    if (!core_.departs(Departure::responder_first_inside_message)) return false;
    flush_held_receive();
    message_ = Message::none;
    return true;
  }
  if (message_ == kind) return true;
  if (message_ != Message::none || !core_.departs(Departure::responder_middle_without_first)) {
    return false;
  }
  write_left_ = write_length_ = static_cast<std::uint32_t>(packet.payload.size());
  write_rkey_ = 0;
  return kind == Message::send && hold_receive(packet);
}

/// Takes the receive that a message needs. Without one: RNR NAK, and the PSN stays.
bool RcResponder::hold_receive(const InPacket& packet) {
  if (packet.facts->first) received_bytes_ = 0;
  if (receive_held_) return true;
  if (core_.s.hooks != nullptr && packet.facts->first) {
    const SoftHooks::Receiver receiver = core_.s.hooks->receiver();
    if (receiver == SoftHooks::Receiver::broken) {
      refuse(packet, NakCode::remote_operational_error, "the queue pair has failed");
      return false;
    }
    if (receiver == SoftHooks::Receiver::not_ready) {
      not_ready(packet.psn);
      return false;
    }
  }
  if (!core_.take_receive(receive_, receive_sges_)) {
    if (!core_.departs(Departure::responder_no_rnr_nak)) not_ready(packet.psn);
    return false;
  }
  receive_held_ = true;
  return true;
}

void RcResponder::on_send(const InPacket& packet) {
  if (!sequence_fits(packet, Message::send)) {
    if (running_ && !rnr_waiting_) refuse(packet, NakCode::invalid_request, "SEND out of place");
    return;
  }
  const std::size_t n = packet.payload.size();
  const bool length_fits = packet.facts->last ? n <= core_.mtu : n == core_.mtu;
  const bool empty_last = packet.facts->last && !packet.facts->first && n == 0;
  if ((!length_fits && !core_.departs(Departure::responder_short_middle_accepted)) ||
      (empty_last && !core_.departs(Departure::responder_empty_last_accepted))) {
    refuse(packet, NakCode::invalid_request, "SEND packet of wrong length");
    return;
  }
  if (!hold_receive(packet) || !place_send(packet)) return;
  message_ = Message::send;
  if (!packet.facts->last) {
    accept_packet(packet);
    return;
  }
  if (packet.facts->ieth && !core_.departs(Departure::responder_invalidate_ignored)) {
    auto key = View<roce::Ieth>{packet.headers}.get(roce::ieth::rkey);
    if (departs(core_, finer::kResponderInvalidatesByIndex)) key = core_.s.memory.current_key(key);
    const bool any_domain = departs(core_, finer::kResponderInvalidatesAnyDomain);
    const std::uint32_t domain = any_domain ? core_.s.memory.domain_of(key) : core_.s.domain;
    if (!core_.s.memory.invalidate(domain, key, core_.s.number)) {
      // An error of the responder alone: no NAK, the completion says it.
      core_.mark("rc.invalidate.refused");
      complete_held(CompletionStatus::remote_invalid_request);
      core_.enter_error("SEND with invalidate names a key that cannot be invalidated");
      return;
    }
  }
  complete_message(packet, rdma::CompletionOpcode::receive);
  accept_packet(packet);
}

bool RcResponder::place_send(const InPacket& packet) {
  const std::size_t n = packet.payload.size();
  if (received_bytes_ + n > receive_.length) {
    if (core_.departs(Departure::responder_send_overflow_cut)) return true;
    complete_held(CompletionStatus::local_length_error);
    refuse(packet, NakCode::invalid_request, "SEND longer than the receive");
    return false;
  }
  const std::span<const rdma::Sge> sges{receive_sges_.data(), receive_.sge_count};
  if (!scatter_sges(core_, sges, received_bytes_, packet.payload)) {
    complete_held(CompletionStatus::local_protection_error);
    refuse(packet, NakCode::remote_operational_error, "receive with a bad SGE");
    return false;
  }
  received_bytes_ += static_cast<std::uint32_t>(n);
  return true;
}

void RcResponder::on_write(const InPacket& packet) {
  if (!sequence_fits(packet, Message::write)) {
    if (running_) refuse(packet, NakCode::invalid_request, "RDMA WRITE out of place");
    return;
  }
  if (packet.facts->first && !begin_write(packet)) return;
  if (!write_length_fits(packet)) {
    refuse(packet, NakCode::invalid_request, "RDMA WRITE packet of wrong length");
    return;
  }
  const bool takes_receive = packet.facts->last && (packet.facts->immdt || core_.departs(Departure::responder_write_completes_receive));
  if (takes_receive && !hold_receive(packet)) return;  // the whole packet comes again
  if (!place_write(packet)) return;
  message_ = Message::write;
  if (packet.facts->last) {
    if (takes_receive) {
      complete_message(packet, rdma::CompletionOpcode::receive_rdma_with_immediate);
    } else {
      msn_ = psn_add(msn_, core_.departs(Departure::responder_msn_not_counted) ? 0 : 1);
      message_ = Message::none;
    }
  }
  accept_packet(packet);
}

bool RcResponder::begin_write(const InPacket& packet) {
  if (!rdma::allows(core_.rights, rdma::Access::remote_write) && !core_.departs(Departure::responder_qp_rights_unchecked)) {
    refuse(packet, NakCode::invalid_request, "RDMA WRITE is not allowed on the queue pair");
    return false;
  }
  const View<roce::Reth> reth{packet.headers};
  write_address_ = reth.get(roce::reth::va);
  write_rkey_ = reth.get(roce::reth::rkey);
  write_length_ = write_left_ = reth.get(roce::reth::dmalen);
  if (write_length_ > roce::kMaxMessageBytes) {
    refuse(packet, NakCode::invalid_request, "RDMA WRITE longer than 2^31");
    return false;
  }
  const bool check = write_length_ > 0 || core_.departs(Departure::responder_zero_length_checks_key);
  if (!check) return true;
  const std::uint32_t length = departs(core_, finer::kResponderRangeByPacket) ? std::min(write_length_, core_.mtu) : write_length_;
  const auto found =
      core_.s.memory.find(core_.s.domain, write_rkey_, write_address_, length, rdma::Access::remote_write, core_.s.hooks, core_.s.number);
  if (found.check == KeyCheck::ok) return true;
  if (found.check == KeyCheck::unknown_key && core_.departs(Departure::responder_rkey_unchecked)) {
    return true;
  }
  access_refused(packet, "RDMA WRITE refused by key, domain, right or range");
  return false;
}

bool RcResponder::write_length_fits(const InPacket& packet) const {
  const std::size_t n = packet.payload.size();
  if (core_.departs(Departure::responder_write_length_unchecked)) return n <= core_.mtu;
  if (!packet.facts->last) return n == core_.mtu && write_left_ > n;
  return n == write_left_ && n <= core_.mtu && (n > 0 || packet.facts->first);
}

bool RcResponder::place_write(const InPacket& packet) {
  const std::size_t n = packet.payload.size();
  if (n == 0) return true;
  // Looked up for each packet: the region may have been invalidated since the first.
  const auto found =
      core_.s.memory.find(core_.s.domain, write_rkey_, write_address_, n, rdma::Access::remote_write, core_.s.hooks, core_.s.number);
  if (found.check != KeyCheck::ok) {
    if (found.check != KeyCheck::unknown_key || !core_.departs(Departure::responder_rkey_unchecked)) {
      access_refused(packet, "RDMA WRITE refused by key, domain, right or range");
      return false;
    }
  } else {
    // The last byte goes last: programs on other threads wait for it to change.
    std::memcpy(found.data, packet.payload.data(), n - 1);
    __atomic_store_n(found.data + n - 1, packet.payload[n - 1], __ATOMIC_RELEASE);
    if (core_.departs(Departure::responder_write_stray_byte)) found.data[0] ^= 1;
  }
  write_address_ += n;
  write_left_ -= std::min(write_left_, static_cast<std::uint32_t>(n));
  return true;
}

/// The last packet of a message with a receive has been executed.
void RcResponder::complete_message(const InPacket& packet, rdma::CompletionOpcode opcode) {
  rdma::Completion completion;
  completion.id = receive_.id;
  completion.opcode = opcode;
  completion.solicited = packet.solicited && (packet.facts->first || !departs(core_, finer::kSolicitedByFirstPacket));
  completion.byte_length = opcode == rdma::CompletionOpcode::receive ? received_bytes_ : write_length_;
  if (core_.departs(Departure::responder_length_counts_pad)) {
    completion.byte_length = (completion.byte_length + 3) & ~3u;
  }
  if (packet.facts->immdt) {
    // Behind the RETH where there is one.
    const ByteView at = packet.headers.subspan(packet.headers.size() - roce::ImmDt::size);
    completion.has_immediate = true;
    completion.immediate = View<roce::ImmDt>{at}.get(roce::immdt::immdt);
    if (core_.departs(Departure::responder_immediate_byte_swapped)) {
      completion.immediate = __builtin_bswap32(completion.immediate);
    }
  }
  if (packet.facts->ieth && !core_.departs(Departure::responder_invalidate_not_reported)) {
    completion.has_invalidate = true;
    completion.invalidated_rkey = View<roce::Ieth>{packet.headers}.get(roce::ieth::rkey);
  }
  receive_held_ = false;
  message_ = Message::none;
  msn_ = psn_add(msn_, core_.departs(Departure::responder_msn_not_counted) ? 0 : 1);
  if (opcode == rdma::CompletionOpcode::receive_rdma_with_immediate && core_.departs(Departure::responder_write_immediate_no_completion)) {
    return;
  }
  core_.complete_receive(completion);
}

void RcResponder::complete_held(CompletionStatus status) {
  rdma::Completion completion;
  completion.id = receive_.id;
  completion.status = status;
  completion.opcode = rdma::CompletionOpcode::receive;
  receive_held_ = false;
  message_ = Message::none;
  core_.complete_receive(completion);
}

void RcResponder::accept_packet(const InPacket& packet) {
  expected_psn_ = psn_add(expected_psn_, 1);
  if (expected_psn_ == 0 && core_.departs(Departure::responder_psn_wraps_to_one)) expected_psn_ = 1;
  ack_psn_ = packet.psn;
  if (packet.ack_request && !core_.departs(Departure::responder_ack_missing)) ack_wanted_ = true;
}

/// A deviation: a duplicate that is executed as if it were new.
void RcResponder::depart_execute_again(const InPacket& packet) {
  const std::uint32_t expected = expected_psn_;
  const std::uint32_t ack = ack_psn_;
  if (!packet.facts->first || !packet.facts->last || message_ != Message::none) return;
  if (packet.facts->kind == roce::OpcodeKind::send) {
    on_send(packet);
  } else {
    on_write(packet);
  }
  expected_psn_ = expected;
  ack_psn_ = ack;
}

void RcResponder::put_aeth(MutableBytes to, std::uint8_t syndrome) const {
  if (core_.departs(Departure::responder_syndrome_reserved)) syndrome |= 0x40;
  MutableView<roce::Aeth>{to}.set(roce::aeth::syndrome, syndrome).set(roce::aeth::msn, msn_);
}

void RcResponder::send_ack(std::uint32_t psn, std::uint8_t syndrome) {
  const MutableBytes rest = core_.open({.opcode = roce::Opcode::acknowledge, .psn = psn});
  put_aeth(rest, syndrome);
  core_.commit_packet();
}

void RcResponder::send_pending() {
  if (late_nak_) {
    late_nak_ = false;
    ack_wanted_ = false;
    send_ack(late_nak_psn_, late_nak_syndrome_);
  }
  if (!ack_wanted_) return;
  ack_wanted_ = false;
  ++core_.s.counters.acks_sent;
  send_ack(ack_psn_, roce::kAckSyndrome);
}

void RcResponder::work() {
  if (!running_) return;
  serve(core_.s.options.read_burst_packets);
  if (!running_) return;
  if (responses_due_ > 0) {
    core_.want_work();
    return;
  }
  const Duration delay = core_.s.options.ack_delay;
  if (delay > Duration{} && ack_wanted_ && !late_nak_) {
    if (!ack_timer_.scheduled()) core_.s.world.loop().schedule_after(ack_timer_, delay);
    return;
  }
  send_pending();
}

void RcResponder::on_ack_timer() {
  if (responses_due_ == 0) send_pending();
}

void RcResponder::nak_when_allowed(std::uint32_t psn, std::uint8_t syndrome) {
  serve(core_.s.options.read_burst_packets);
  if (!running_) return;
  late_nak_ = true;
  late_nak_psn_ = psn;
  late_nak_syndrome_ = syndrome;
  if (responses_due_ == 0) {
    send_pending();
  } else {
    core_.want_work();
  }
}

void RcResponder::sequence_nak() {
  ++core_.s.counters.sequence_naks_sent;
  core_.mark("rc.nak.sequence.sent");
  const bool wrong = core_.departs(Departure::responder_nak_wrong_psn);
  nak_when_allowed(wrong ? psn_add(expected_psn_, 1) : expected_psn_, roce::nak_syndrome(NakCode::psn_sequence_error));
}

void RcResponder::not_ready(std::uint32_t psn) {
  ++core_.s.counters.rnr_naks_sent;
  core_.mark("rc.rnr.sent");
  rnr_waiting_ = true;
  std::uint8_t code = core_.path.min_rnr_timer_code;
  if (core_.departs(Departure::responder_rnr_wrong_timer)) code = static_cast<std::uint8_t>(code ^ 1);
  nak_when_allowed(psn, roce::rnr_syndrome(code));
}

void RcResponder::refuse(const InPacket& packet, NakCode code, std::string_view why) {
  while (running_ && responses_due_ > 0) serve(core_.s.options.read_burst_packets);
  if (!running_) return;
  ++core_.s.counters.fatal_naks_sent;
  core_.mark("rc.nak.fatal.sent");
  ack_wanted_ = late_nak_ = false;
  send_ack(packet.psn, roce::nak_syndrome(code));
  if (core_.departs(Departure::responder_stays_usable_after_nak)) {
    message_ = Message::none;
    expected_psn_ = psn_add(expected_psn_, 1);
    return;
  }
  core_.enter_error(why);
}

void RcResponder::access_refused(const InPacket& packet, std::string_view why) {
  if (core_.departs(Departure::responder_no_access_nak)) {
    core_.enter_error(why);
    return;
  }
  const bool wrong = core_.departs(Departure::responder_wrong_access_nak);
  refuse(packet, wrong ? NakCode::invalid_request : NakCode::remote_access_error, why);
}

}  // namespace fb::softroce
