// Reads, atomics and duplicates: requests whose answer is more than an acknowledgement, and the
// replay of answers that were lost.
#include <algorithm>

#include "sim/rdma/softroce/finer_fault_points.h"
#include "sim/rdma/softroce/responder.h"

namespace fb::softroce {

using roce::NakCode;
using roce::Opcode;
using roce::psn_add;
using roce::psn_before;
using roce::psn_distance;

bool RcResponder::may_accept(const InPacket& packet, rdma::Access right) {
  if (message_ != Message::none) {
    refuse(packet, NakCode::invalid_request, "request inside a message");
    return false;
  }
  if (!rdma::allows(core_.rights, right) && !core_.departs(Departure::responder_qp_rights_unchecked)) {
    refuse(packet, NakCode::invalid_request, "operation is not allowed on the queue pair");
    return false;
  }
  if (responses_due_ >= accepted_.size()) {
    refuse(packet, NakCode::invalid_request, "more reads in flight than were agreed");
    return false;
  }
  return true;
}

RcResponder::Accepted& RcResponder::remember(std::uint32_t first_psn, std::uint32_t count) {
  if (accepted_count_ == accepted_.size()) {
    // The oldest is forgotten. It has been answered: no more are due than there are places.
    if (accepted_[accepted_first_].due) {
      accepted_[accepted_first_].due = false;
      --responses_due_;
    }
    accepted_first_ = accepted_first_ + 1 == accepted_.size() ? 0 : accepted_first_ + 1;
    --accepted_count_;
  }
  Accepted& accepted = accepted_[(accepted_first_ + accepted_count_) % accepted_.size()];
  ++accepted_count_;
  const bool atomic = accepted.atomic && departs(core_, finer::kResponderSlotStaysAtomic);
  accepted = Accepted{};
  accepted.atomic = atomic;
  accepted.first_psn = first_psn;
  accepted.last_psn = psn_add(first_psn, count - 1);
  return accepted;
}

void RcResponder::begin_train(Accepted& accepted, std::uint32_t psn, std::uint64_t address, std::uint32_t length) {
  if (!accepted.due) ++responses_due_;
  accepted.due = true;
  accepted.train_first_psn = accepted.train_next_psn = psn;
  accepted.train_last_psn = psn_add(psn, roce::packets_of(length, core_.mtu) - 1);
  accepted.train_address = address;
  accepted.train_length = length;
}

void RcResponder::on_read(const InPacket& packet) {
  if (!may_accept(packet, rdma::Access::remote_read)) return;
  const View<roce::Reth> reth{packet.headers};
  const std::uint64_t address = reth.get(roce::reth::va);
  const std::uint32_t rkey = reth.get(roce::reth::rkey);
  const std::uint32_t length = reth.get(roce::reth::dmalen);
  if (length > roce::kMaxMessageBytes) {
    refuse(packet, NakCode::invalid_request, "RDMA READ longer than 2^31");
    return;
  }
  if (length > 0 || core_.departs(Departure::responder_zero_length_checks_key)) {
    const std::uint32_t checked = departs(core_, finer::kResponderRangeByPacket) ? std::min(length, core_.mtu) : length;
    const auto found =
        core_.s.memory.find(core_.s.domain, rkey, address, checked, rdma::Access::remote_read, core_.s.hooks, core_.s.number);
    if (found.check != KeyCheck::ok) {
      access_refused(packet, "RDMA READ refused by key, domain, right or range");
      return;
    }
  }
  Accepted& accepted = remember(packet.psn, roce::packets_of(length, core_.mtu));
  accepted.address = address;
  accepted.rkey = rkey;
  accepted.length = length;
  begin_train(accepted, packet.psn, address, length);
  expected_psn_ = psn_add(accepted.last_psn, 1);
  const bool late = core_.departs(Departure::responder_msn_read_late);
  if (!core_.departs(Departure::responder_msn_not_counted) && !late) msn_ = psn_add(msn_, 1);
}

void RcResponder::on_atomic(const InPacket& packet) {
  if (!may_accept(packet, rdma::Access::remote_atomic)) return;
  const View<roce::AtomicEth> eth{packet.headers};
  const std::uint64_t address = eth.get(roce::atomiceth::va);
  if (address % 8 != 0 && !core_.departs(Departure::responder_atomic_alignment_unchecked)) {
    refuse(packet, NakCode::invalid_request, "atomic at an address that is not aligned to 8");
    return;
  }
  const auto found = core_.s.memory.find(core_.s.domain, eth.get(roce::atomiceth::rkey), address, 8, rdma::Access::remote_atomic,
                                         core_.s.hooks, core_.s.number);
  const bool unchecked = departs(core_, finer::kResponderAtomicKeyUnchecked);
  if (found.check != KeyCheck::ok && !unchecked) {
    access_refused(packet, "atomic refused by key, domain, right or range");
    return;
  }
  // The value in memory is an integer of this machine's byte order; the wire is big-endian.
  std::uint8_t nowhere[8] = {};
  std::uint8_t* const data = found.check == KeyCheck::ok ? found.data : nowhere;
  const std::uint64_t original = load_le<std::uint64_t>(data);
  const std::uint64_t operand = eth.get(roce::atomiceth::swapdt);
  const bool swap = packet.opcode == Opcode::compare_and_swap;
  std::uint64_t result = swap ? operand : original + operand;
  if (swap && original != eth.get(roce::atomiceth::cmpdt)) result = original;
  if (!core_.departs(Departure::responder_atomic_not_stored)) {
    store_le<std::uint64_t>(data, result);
  }
  Accepted& accepted = remember(packet.psn, 1);
  accepted.atomic = true;
  accepted.original = original;
  accepted.address = address;
  accepted.rkey = eth.get(roce::atomiceth::rkey);
  begin_train(accepted, packet.psn, address, 0);
  expected_psn_ = psn_add(expected_psn_, 1);
  if (!core_.departs(Departure::responder_msn_not_counted)) msn_ = psn_add(msn_, 1);
}

void RcResponder::on_duplicate(const InPacket& packet) {
  ++core_.s.counters.duplicate_requests;
  if (core_.departs(Departure::responder_duplicate_ends_message)) message_ = Message::none;
  if (packet.facts->kind == roce::OpcodeKind::read_request) {
    replay_read(packet);
  } else if (packet.facts->kind == roce::OpcodeKind::atomic_request) {
    replay_atomic(packet);
  } else if (packet.ack_request && !core_.departs(Departure::responder_duplicate_not_acked)) {
    // Said again with the newest PSN, however old the duplicate is.
    core_.mark("rc.duplicate.acknowledged");
    if (core_.departs(Departure::responder_duplicate_acks_own_psn)) {
      send_ack(packet.psn, roce::kAckSyndrome);
    } else {
      ack_wanted_ = true;
    }
    if (core_.departs(Departure::responder_duplicate_executed)) depart_execute_again(packet);
  }
  if (running_ && work_due()) core_.want_work();
}

void RcResponder::replay_read(const InPacket& packet) {
  if (core_.departs(Departure::responder_no_read_replay)) return;
  const View<roce::Reth> reth{packet.headers};
  const std::uint32_t length = reth.get(roce::reth::dmalen);
  for (std::size_t i = 0; i < accepted_count_; ++i) {
    Accepted& accepted = accepted_[(accepted_first_ + i) % accepted_.size()];
    if (accepted.atomic || psn_before(packet.psn, accepted.first_psn) || psn_before(accepted.last_psn, packet.psn)) {
      continue;
    }
    const std::uint32_t offset = static_cast<std::uint32_t>(psn_distance(packet.psn, accepted.first_psn)) * core_.mtu;
    const bool whole = offset == 0 && length == accepted.length;
    const bool unbounded = departs(core_, finer::kResponderReplayUnbounded);
    if (unbounded) accepted.rkey = reth.get(roce::reth::rkey);
    const bool any_key = departs(core_, finer::kReplayUnderAnyKey);
    const bool any_address = departs(core_, finer::kReplayUnderAnyAddress);
    if ((reth.get(roce::reth::rkey) != accepted.rkey && !any_key) || offset > accepted.length ||
        (length > accepted.length - offset && !unbounded) || (reth.get(roce::reth::va) != accepted.address + offset && !any_address) ||
        (!whole && core_.departs(Departure::responder_partial_replay_refused))) {
      break;
    }
    // What has not left yet will leave without being asked for again.
    if (accepted.due && !psn_before(packet.psn, accepted.train_next_psn)) return;
    ++core_.s.counters.reads_replayed;
    core_.mark("rc.read.replayed");
    accepted.replayed = true;
    begin_train(accepted, packet.psn, accepted.address + offset, length);
    // Trains behind this one start over, so that their responses follow without a gap.
    for (std::size_t k = i + 1; k < accepted_count_; ++k) {
      Accepted& later = accepted_[(accepted_first_ + k) % accepted_.size()];
      if (later.due) later.train_next_psn = later.train_first_psn;
    }
    return;
  }
  ++core_.s.counters.drop_unknown_duplicate;
}

void RcResponder::replay_atomic(const InPacket& packet) {
  for (std::size_t i = 0; i < accepted_count_; ++i) {
    Accepted& accepted = accepted_[(accepted_first_ + i) % accepted_.size()];
    if (!accepted.atomic || accepted.first_psn != packet.psn) continue;
    ++core_.s.counters.atomics_replayed;
    core_.mark("rc.atomic.replayed");
    if (core_.departs(Departure::responder_atomic_executed_twice)) {
      const View<roce::AtomicEth> eth{packet.headers};
      const auto found =
          core_.s.memory.find(core_.s.domain, accepted.rkey, accepted.address, 8, rdma::Access::remote_atomic, nullptr, core_.s.number);
      if (found.check == KeyCheck::ok) {
        accepted.original = load_le<std::uint64_t>(found.data);
        store_le<std::uint64_t>(found.data, accepted.original + eth.get(roce::atomiceth::swapdt));
      }
    }
    begin_train(accepted, packet.psn, accepted.address, 0);
    return;
  }
  ++core_.s.counters.drop_unknown_duplicate;
}

RcResponder::Accepted* RcResponder::first_due() {
  for (std::size_t i = 0; i < accepted_count_; ++i) {
    Accepted& accepted = accepted_[(accepted_first_ + i) % accepted_.size()];
    if (accepted.due) return &accepted;
  }
  return nullptr;
}

void RcResponder::serve(std::uint32_t packets) {
  while (packets > 0 && running_ && responses_due_ > 0) {
    Accepted* accepted = first_due();
    BENCH_ASSERT(accepted != nullptr, "what is due stands in the ring");
    while (packets > 0 && running_ && accepted->due) {
      --packets;
      if (accepted->atomic) {
        send_atomic_response(*accepted);
      } else {
        send_read_response(*accepted);
      }
    }
  }
}

void RcResponder::send_read_response(Accepted& accepted) {
  const std::uint32_t psn = accepted.train_next_psn;
  const bool first = psn == accepted.train_first_psn;
  const bool last = psn == accepted.train_last_psn;
  const std::uint32_t offset = static_cast<std::uint32_t>(psn_distance(psn, accepted.train_first_psn)) * core_.mtu;
  const std::uint32_t bytes = std::min(core_.mtu, accepted.train_length - offset);
  const std::uint8_t* data = nullptr;
  if (bytes > 0) {
    // The data is read now; the region may have been invalidated since the request came.
    const auto found = core_.s.memory.find(core_.s.domain, accepted.rkey, accepted.train_address + offset, bytes, rdma::Access::remote_read,
                                           core_.s.hooks, core_.s.number);
    if (found.check != KeyCheck::ok && accepted.answered && !core_.departs(Departure::responder_late_duplicate_fatal)) {
      // A late duplicate: the requester had its data, and the owner of the region knew it.
      ++core_.s.counters.drop_unknown_duplicate;
      end_train(accepted);
      return;
    }
    if (found.check != KeyCheck::ok) {
      ++core_.s.counters.fatal_naks_sent;
      send_ack(psn, roce::nak_syndrome(NakCode::remote_access_error));
      core_.enter_error("region vanished while a read was being answered");
      return;
    }
    data = found.data;
  }
  Opcode opcode = last ? (first ? Opcode::read_response_only : Opcode::read_response_last)
                       : (first ? Opcode::read_response_first : Opcode::read_response_middle);
  if (first && last && core_.departs(Departure::responder_wrong_read_opcode)) {
    opcode = Opcode::read_response_last;
  }
  const MutableBytes rest = core_.open({.opcode = opcode, .psn = psn, .payload_bytes = bytes});
  const bool aeth = roce::facts_of(opcode).aeth;
  if (last && core_.departs(Departure::responder_msn_read_late)) msn_ = psn_add(msn_, 1);
  if (aeth) put_aeth(rest, roce::kAckSyndrome);
  const MutableBytes payload = rest.subspan(aeth ? roce::Aeth::size : 0).first(bytes);
  if (bytes > 0) std::memcpy(payload.data(), data, bytes);
  if (bytes > 0 && core_.departs(Departure::responder_read_stale_data)) payload[0] ^= 0xFF;
  if (bytes > 0 && accepted.replayed && core_.departs(Departure::responder_replay_wrong_data)) {
    payload[0] ^= 0x55;
  }
  core_.commit_packet();
  // The response says what an acknowledgement of anything earlier would say.
  if (ack_wanted_ && psn_before(ack_psn_, psn)) ack_wanted_ = false;
  accepted.train_next_psn = psn_add(psn, 1);
  if (psn == accepted.last_psn) accepted.answered = true;
  if (last) end_train(accepted);
}

void RcResponder::end_train(Accepted& accepted) {
  accepted.due = false;
  --responses_due_;
}

void RcResponder::send_atomic_response(Accepted& accepted) {
  const MutableBytes rest = core_.open({.opcode = Opcode::atomic_acknowledge, .psn = accepted.first_psn});
  put_aeth(rest, roce::kAckSyndrome);
  std::uint64_t original = accepted.original;
  if (core_.departs(Departure::responder_atomic_little_endian)) {
    original = __builtin_bswap64(original);
  }
  MutableView<roce::AtomicAckEth>{rest.subspan(roce::Aeth::size)}.set(roce::atomicacketh::origremdt, original);
  core_.commit_packet();
  if (ack_wanted_ && psn_before(ack_psn_, accepted.first_psn)) ack_wanted_ = false;
  end_train(accepted);
}

}  // namespace fb::softroce
