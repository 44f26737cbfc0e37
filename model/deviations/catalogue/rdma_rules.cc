// What a careless device sends and takes: the departures that break the further rules.
#include "model/deviations/deviation.h"
#include "wire/rdma/headers.h"
#include "wire/rdma/psn.h"
#include "wire/rdma/syndrome.h"

namespace fb::deviations {

using softroce::Departure;

namespace {

using roce::Opcode;
using roce::OpcodeKind;

Opcode opcode_of(ByteView packet) { return View<roce::Bth>{packet}.get(roce::bth::opcode); }
bool is_datagram(ByteView packet) { return opcode_of(packet) == Opcode::ud_send_only; }
/// The AETH of an acknowledgement of this kind; nothing in other packets.
std::optional<MutableView<roce::Aeth>> aeth_of(MutableBytes packet, roce::SyndromeKind kind) {
  if (opcode_of(packet) != Opcode::acknowledge) return std::nullopt;
  MutableView<roce::Aeth> aeth{packet.subspan(roce::Bth::size)};
  if (roce::kind_of_syndrome(aeth.get(roce::aeth::syndrome)) != kind) return std::nullopt;
  return aeth;
}
void move_psn(MutableBytes packet, std::uint32_t by) {
  MutableView<roce::Bth> bth{packet};
  bth.set(roce::bth::psn, roce::psn_add(bth.get(roce::bth::psn), by));
}

/// Every packet that this function finds something to spoil in.
template <void (*Spoil)(MutableBytes packet)>
struct SpoilsPackets final : softroce::SoftHooks {
  void packet_out(MutableBytes packet) override {
    if (!is_datagram(packet)) Spoil(packet);
  }
};

void other_queue_pair(MutableBytes packet) {
  MutableView<roce::Bth> bth{packet};
  bth.set(roce::bth::destqp, bth.get(roce::bth::destqp) ^ 1u);
}
void other_partition(MutableBytes packet) { MutableView<roce::Bth>{packet}.set(roce::bth::pkey, 0x8001u); }
void other_version(MutableBytes packet) { MutableView<roce::Bth>{packet}.set(roce::bth::tver, 1u); }
void ack_of_one_less(MutableBytes packet) {
  if (aeth_of(packet, roce::SyndromeKind::ack)) move_psn(packet, roce::kPsnMask);
}
void ack_of_one_more(MutableBytes packet) {
  if (aeth_of(packet, roce::SyndromeKind::ack)) move_psn(packet, 1);
}
void nak_of_one_less(MutableBytes packet) {
  const auto aeth = aeth_of(packet, roce::SyndromeKind::nak);
  if (aeth && roce::value_of_syndrome(aeth->get(roce::aeth::syndrome)) != 0) move_psn(packet, roce::kPsnMask);
}
void rnr_nak_of_one_more(MutableBytes packet) {
  if (aeth_of(packet, roce::SyndromeKind::rnr_nak)) move_psn(packet, 1);
}
void double_msn(MutableBytes packet) {
  auto aeth = aeth_of(packet, roce::SyndromeKind::ack);
  if (aeth) aeth->set(roce::aeth::msn, aeth->get(roce::aeth::msn) * 2);
}
/// The length of a WRITE is that of its first packet.
void write_of_one_packet(MutableBytes packet) {
  if (opcode_of(packet) != Opcode::write_first) return;
  const std::size_t headers = roce::Bth::size + roce::Reth::size;
  MutableView<roce::Reth>{packet.subspan(roce::Bth::size)}.set(roce::reth::dmalen, packet.size() - headers);
}
void read_of_more(MutableBytes packet) {
  if (opcode_of(packet) != Opcode::read_request) return;
  MutableView<roce::Reth> reth{packet.subspan(roce::Bth::size)};
  reth.set(roce::reth::dmalen, reth.get(roce::reth::dmalen) + 4);
}
void read_under_other_key(MutableBytes packet) {
  if (opcode_of(packet) != Opcode::read_request) return;
  MutableView<roce::Reth> reth{packet.subspan(roce::Bth::size)};
  reth.set(roce::reth::rkey, __builtin_bswap32(reth.get(roce::reth::rkey)));
}
void swapped_word_behind_bth(MutableBytes packet) {
  const Opcode opcode = opcode_of(packet);
  if (opcode != Opcode::send_only_with_immediate && opcode != Opcode::send_only_with_invalidate) return;
  MutableView<roce::ImmDt> word{packet.subspan(roce::Bth::size)};
  word.set(roce::immdt::immdt, __builtin_bswap32(word.get(roce::immdt::immdt)));
}
/// READ responses all have the PSN of the first one.
void psn_of_first_response(MutableBytes packet) {
  if (opcode_of(packet) == Opcode::read_response_last) move_psn(packet, roce::kPsnMask);
}

}  // namespace

// Packets.
DEVIATION(rdma_wrong_pad_count, "rdma.bth.pad", Product::rdma, "the pad count has another lowest bit",
          departs(Departure::send_wrong_pad_count));
DEVIATION(rdma_addresses_other_queue_pair, "rdma.bth.sent", Product::rdma, "sends to another queue pair of the peer's",
          hooks<SpoilsPackets<&other_queue_pair>>());
DEVIATION(rdma_sends_in_other_partition, "rdma.bth.sent", Product::rdma, "sends in a partition of its own",
          hooks<SpoilsPackets<&other_partition>>());
DEVIATION(rdma_sends_other_version, "rdma.bth.sent", Product::rdma, "sends transport version 1", hooks<SpoilsPackets<&other_version>>());
DEVIATION(rdma_takes_foreign_addresses, "rdma.bth.address", Product::rdma, "executes packets from another address than the peer's",
          departs(Departure::accept_foreign_address));

// Acknowledgements and NAKs.
DEVIATION(rdma_duplicates_unacknowledged, "rdma.psn.duplicate-send", Product::rdma, "does not acknowledge duplicates",
          departs(Departure::responder_duplicate_not_acked));
DEVIATION(rdma_duplicate_ends_message, "rdma.psn.duplicate-inside", Product::rdma, "a duplicate makes it forget the message that it is in",
          departs(Departure::responder_duplicate_ends_message));
DEVIATION(rdma_reserved_syndrome, "rdma.ack.requested", Product::rdma, "acknowledges with a reserved syndrome",
          departs(Departure::responder_syndrome_reserved));
DEVIATION(rdma_acks_one_less, "rdma.ack.requested", Product::rdma, "acknowledges one packet less than it executed",
          hooks<SpoilsPackets<&ack_of_one_less>>());
DEVIATION(rdma_acks_next_psn, "rdma.ack.requested", Product::rdma, "acknowledges with the PSN that it expects next",
          hooks<SpoilsPackets<&ack_of_one_more>>());
DEVIATION(rdma_msn_counts_double, "rdma.ack.msn", Product::rdma, "the MSN counts each message twice", hooks<SpoilsPackets<&double_msn>>());
DEVIATION(rdma_counts_reads_late, "rdma.ack.msn-of-read", Product::rdma, "a READ counts when it ends",
          departs(Departure::responder_msn_read_late));
DEVIATION(rdma_nak_of_last_good_psn, "rdma.nak.psn", Product::rdma, "a fatal NAK has the PSN before the refused request",
          hooks<SpoilsPackets<&nak_of_one_less>>());
DEVIATION(rdma_rnr_nak_other_psn, "rdma.rnr.no-receive", Product::rdma, "the RNR NAK has the PSN behind the request",
          hooks<SpoilsPackets<&rnr_nak_of_one_more>>());
DEVIATION(rdma_rnr_then_sequence_nak, "rdma.rnr.then-silent", Product::rdma, "a sequence NAK for what follows a request without a receive",
          departs(Departure::responder_rnr_then_sequence_nak));

// Messages.
DEVIATION(rdma_takes_empty_last, "rdma.message.last-empty", Product::rdma, "accepts a SEND Last without payload",
          departs(Departure::responder_empty_last_accepted));
DEVIATION(rdma_immediate_swapped, "rdma.message.immediate", Product::rdma, "delivers immediate data in the other byte order",
          departs(Departure::responder_immediate_byte_swapped));
DEVIATION(rdma_write_immediate_swapped, "rdma.write.immediate", Product::rdma,
          "delivers the immediate data of a WRITE in the other byte order", departs(Departure::responder_immediate_byte_swapped));
DEVIATION(rdma_write_immediate_lost, "rdma.write.immediate", Product::rdma, "a WRITE with immediate completes nothing",
          departs(Departure::responder_write_immediate_no_completion));
DEVIATION(rdma_write_immediate_dropped, "rdma.rnr.write-immediate", Product::rdma,
          "drops a WRITE with immediate that it has no receive for", departs(Departure::responder_no_rnr_nak));
DEVIATION(rdma_write_stray_byte, "rdma.write.sizes", Product::rdma, "a WRITE stores a wrong byte",
          departs(Departure::responder_write_stray_byte));
DEVIATION(rdma_write_takes_receive, "rdma.write.sizes", Product::rdma, "a plain WRITE takes a receive",
          departs(Departure::responder_write_completes_receive));
DEVIATION(rdma_receives_vanish, "rdma.error.receives-flushed", Product::rdma, "posted receives vanish when the queue pair fails",
          departs(Departure::responder_flush_missing));

// Keys, reads and atomics.
DEVIATION(rdma_access_error_as_invalid_request, "rdma.key.unknown", Product::rdma, "refuses an unknown key as an invalid request",
          departs(Departure::responder_wrong_access_nak));
DEVIATION(rdma_access_error_silent, "rdma.key.unknown", Product::rdma, "fails without a NAK on an unknown key",
          departs(Departure::responder_no_access_nak));
DEVIATION(rdma_invalidate_unreported, "rdma.key.invalidate-reported", Product::rdma, "the completion does not name the invalidated key",
          departs(Departure::responder_invalidate_not_reported));
DEVIATION(rdma_empty_read_needs_key, "rdma.read.zero-length", Product::rdma, "checks the key of a READ of no bytes",
          departs(Departure::responder_zero_length_checks_key));
DEVIATION(rdma_read_response_psn, "rdma.read.response", Product::rdma, "the last response has the PSN before its own",
          hooks<SpoilsPackets<&psn_of_first_response>>());
DEVIATION(rdma_reads_without_right, "rdma.qp.rights", Product::rdma, "serves READs on a queue pair without the right",
          departs(Departure::responder_qp_rights_unchecked));
DEVIATION(rdma_atomic_not_stored, "rdma.atomic.once", Product::rdma, "an atomic does not change memory",
          departs(Departure::responder_atomic_not_stored));
DEVIATION(rdma_swap_not_stored, "rdma.atomic.compare-and-swap", Product::rdma, "a compare and swap does not swap",
          departs(Departure::responder_atomic_not_stored));
DEVIATION(rdma_swap_other_byte_order, "rdma.atomic.compare-and-swap", Product::rdma, "answers a compare and swap in the other byte order",
          departs(Departure::responder_atomic_little_endian));

// The requester.
DEVIATION(rdma_begins_with_middle, "rdma.requester.packets", Product::rdma, "long messages begin with Middle",
          departs(Departure::requester_wrong_opcode_sequence));
DEVIATION(rdma_packets_not_full, "rdma.requester.packets", Product::rdma, "packets before the last one are not full",
          departs(Departure::requester_short_middle));
DEVIATION(rdma_write_announces_packet, "rdma.requester.write", Product::rdma, "a WRITE announces the length of its first packet",
          hooks<SpoilsPackets<&write_of_one_packet>>());
DEVIATION(rdma_read_asks_for_more, "rdma.requester.read", Product::rdma, "a READ asks for more than was posted",
          hooks<SpoilsPackets<&read_of_more>>());
DEVIATION(rdma_read_key_swapped, "rdma.requester.read", Product::rdma, "the key of a READ is in the other byte order",
          hooks<SpoilsPackets<&read_under_other_key>>());
DEVIATION(rdma_never_asks_for_acks, "rdma.requester.ack-request", Product::rdma, "never sets AckReq",
          departs(Departure::requester_no_ack_request));
DEVIATION(rdma_ignores_read_depth, "rdma.requester.read-depth", Product::rdma, "has more READs in flight than the peer serves",
          departs(Departure::requester_read_depth_ignored));
DEVIATION(rdma_ignores_fence, "rdma.requester.fence", Product::rdma, "a fenced request does not wait for READs",
          departs(Departure::requester_fence_ignored));
DEVIATION(rdma_waits_for_timer, "rdma.requester.implied-nak", Product::rdma, "notices a missing response when its timer expires",
          departs(Departure::requester_no_implied_nak));
DEVIATION(rdma_old_ack_gives_retries, "rdma.requester.old-ack", Product::rdma, "takes an old ACK for progress",
          departs(Departure::requester_old_ack_resets_retries));
DEVIATION(rdma_one_ack_one_completion, "rdma.requester.coalesced-ack", Product::rdma,
          "an ACK completes one request, however many it is for", departs(Departure::requester_ack_completes_one));
DEVIATION(rdma_completes_twice, "rdma.requester.completes-once", Product::rdma, "a request completes twice",
          departs(Departure::requester_completes_twice));
DEVIATION(rdma_always_solicits, "rdma.requester.solicited", Product::rdma, "every packet is solicited",
          departs(Departure::solicited_on_every_packet));
DEVIATION(rdma_sends_immediate_swapped, "rdma.requester.immediate", Product::rdma, "sends immediate data in the other byte order",
          hooks<SpoilsPackets<&swapped_word_behind_bth>>());
DEVIATION(rdma_sends_key_swapped, "rdma.requester.invalidate", Product::rdma, "sends the key to invalidate in the other byte order",
          hooks<SpoilsPackets<&swapped_word_behind_bth>>());
DEVIATION(rdma_goes_on_after_nak, "rdma.requester.nak-status", Product::rdma, "goes on sending after a fatal NAK",
          departs(Departure::requester_stays_usable_after_nak));

}  // namespace fb::deviations
