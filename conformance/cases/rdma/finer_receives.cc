// Finer rules of receives: their pieces, their completions, their order, and what becomes of them in the end.
#include "conformance/cases/rdma/exchange.h"

namespace fb::conformance {
namespace {

using rdma::CompletionStatus;
using roce::Opcode;

/// A WRITE under a key that does not exist: it ends the queue pair.
void end_by_bad_write(RdmaBench& bench, Check& check, const RcConnection& c, std::uint32_t ordinal) {
  bench.peer().send(write_only(c, ordinal, {0x1000, 0xDEADBE00, 16}, pattern(16)));
  check.precondition(bench.peer().wait_packet(kAnswerTime).has_value(), "a bad WRITE is refused");
}

}  // namespace

CONFORMANCE_CASE(a_datagram_does_not_disturb_a_connection, "rdma.bth.other-transport", roles::responder, reaches{"bench.dropped"}) {
  const auto c = bench.connect_to_product();
  RocePacket datagram = c.request(Opcode::ud_send_only, 0, pattern(32));
  datagram.deth.emplace();
  datagram.deth->set(roce::deth::qkey, 0x11111111u).set(roce::deth::srcqp, c.facts.local_qpn);
  bench.peer().send(datagram);
  silence(bench, check, "answer to a datagram on a reliable connection");
  nothing_received(check, c, "a datagram takes no receive");
  mark_dropped(bench, &softroce::SoftCounters::drop_wrong_transport);
  serves_send(bench, check, c, 0, 0, "a SEND after the datagram");
}

CONFORMANCE_CASE(a_gap_after_waiting_is_told, "rdma.rnr.then-gap", roles::responder, reaches{"rc.rnr.sent"}) {
  const auto c = bench.connect_to_product({.receives = 0});
  const Bytes bytes = pattern(32);
  bench.peer().send(c.request(Opcode::send_only, 0, bytes));
  const auto nak = next_packet(bench, check, "answer without a receive", "an RNR NAK");
  if (!nak) return;
  check.require(roce::kind_of_syndrome(nak->syndrome()) == roce::SyndromeKind::rnr_nak, "it is an RNR NAK", nak->describe());
  auto& buffer = bench.product().memory(256);
  for (std::uint64_t id = 0; id < 4; ++id) c.queue->post_receive(buffer, id, 64 * id, 64);
  bench.world().run_for(roce::rnr_delay(roce::value_of_syndrome(nak->syndrome())));
  bench.peer().send(c.request(Opcode::send_only, 0, bytes));
  acknowledged(bench, check, c, 0, "the same SEND when there is a receive");
  bench.peer().send(c.request(Opcode::send_only, 2, bytes));
  const auto gap = next_packet(bench, check, "answer to a SEND behind a gap", "a sequence NAK");
  if (!gap) return;
  check.equal("its syndrome", gap->syndrome(), kSequenceNak);
  check.equal("its PSN", gap->psn, roce::psn_add(c.facts.send_psn, 1));
}

CONFORMANCE_CASE(a_receive_that_is_too_short_fails, "rdma.message.too-long.status", roles::responder) {
  for (const std::uint32_t room : {128u, 256u, 257u, 515u}) {
    for (const std::uint32_t over : {1u, 4u}) {
      const auto c = bench.connect_to_product({.receives = 0}, kSmallPackets);
      bench.peer().inbox().clear();
      auto& memory = bench.product().memory(2048);
      for (std::uint64_t id = 0; id < 3; ++id) c.queue->post_receive(memory, id, 600 * id, room);
      const std::string what = "a SEND of " + std::to_string(room + over) + " bytes to a receive of " + std::to_string(room);
      bench.peer().send(c.request(Opcode::send_only, 0, pattern(32)));
      check.require(c.queue->wait_receive(kAnswerTime).has_value(), "a SEND that fits is delivered", "no receive completion");
      std::size_t offset = 0;
      for (std::uint32_t i = 1; offset < room + over; ++i, offset += kSmallMtu) {
        const std::size_t length = std::min<std::size_t>(kSmallMtu, room + over - offset);
        const bool first = i == 1, last = offset + length == room + over;
        const Opcode opcode = last ? (first ? Opcode::send_only : Opcode::send_last) : (first ? Opcode::send_first : Opcode::send_middle);
        bench.peer().send(c.request(opcode, i, pattern(length)));
      }
      const auto completion = c.queue->wait_receive(kAnswerTime);
      check.require(completion.has_value(), "the receive completes after " + what, "no receive completion");
      check.equal("the receive that it is", completion->id, 1u);
      check.equal("its status after " + what, completion->status,
                  one_of(CompletionStatus::local_length_error, CompletionStatus::local_qp_operation_error,
                         CompletionStatus::remote_invalid_request));
    }
  }
}

CONFORMANCE_CASE(a_send_fills_the_pieces_of_a_receive, "rdma.message.scatter", roles::responder) {
  const auto c = bench.connect_to_product({.receives = 0}, kSmallPackets);
  auto& buffer = bench.product().memory(2048);
  const rdma::Sge pieces[] = {buffer.region->sge(1000, 200), buffer.region->sge(100, 301), buffer.region->sge(1500, 99)};
  check.precondition(c.queue->qp().post_receive({7, pieces}), "a receive of three pieces is taken");
  Bytes image = buffer.bytes;
  const Bytes bytes = pattern(590);
  bench.peer().send(unacknowledged(c.request(Opcode::send_first, 0, copy(part(bytes, 0, kSmallMtu)))));
  bench.peer().send(unacknowledged(c.request(Opcode::send_middle, 1, copy(part(bytes, kSmallMtu, kSmallMtu)))));
  bench.peer().send(c.request(Opcode::send_last, 2, copy(part(bytes, 2 * kSmallMtu, 590 - 2 * kSmallMtu))));
  acknowledged(bench, check, c, 2, "a SEND of three packets");
  const auto completion = c.queue->wait_receive(kAnswerTime);
  check.require(completion.has_value(), "the SEND is delivered", "no receive completion");
  check.equal("length of the SEND", completion->byte_length, 590u);
  std::copy_n(bytes.begin(), 200, image.begin() + 1000);
  std::copy_n(bytes.begin() + 200, 301, image.begin() + 100);
  std::copy_n(bytes.begin() + 501, 89, image.begin() + 1500);
  check.bytes("the pieces, and what lies around them", buffer.bytes, image);
}

CONFORMANCE_CASE(a_receive_tells_of_its_send, "rdma.completion.receive", roles::responder) {
  const auto c = bench.connect_to_product();
  bench.peer().send(c.request(Opcode::send_only, 0, pattern(16)));
  acknowledged(bench, check, c, 0, "a SEND");
  const auto completion = c.queue->wait_receive(kAnswerTime);
  check.require(completion.has_value(), "the SEND is delivered", "no receive completion");
  check.that(completion->opcode == rdma::CompletionOpcode::receive, "the completion is of a SEND", "it says otherwise");
  check.equal("its queue pair", completion->qp_number, c.queue->qp().number());
  check.that(!completion->has_immediate, "it has no immediate data", "it says that it has");
  check.that(!completion->has_invalidate, "it invalidated no key", "it says that it did");
}

CONFORMANCE_CASE(a_receive_tells_of_its_write, "rdma.completion.receive", roles::responder,
                 beyond_interfaces("the interface has no immediate data")) {
  const auto c = bench.connect_to_product();
  auto& memory = bench.product().memory(64);
  RocePacket write = with_reth(c.request(Opcode::write_only_with_immediate, 0, pattern(64)), all_of(memory));
  write.immediate.emplace();
  bench.peer().send(write);
  acknowledged(bench, check, c, 0, "a WRITE with immediate data");
  const auto completion = c.queue->wait_receive(kAnswerTime);
  check.require(completion.has_value(), "the WRITE completes a receive", "no receive completion");
  check.that(completion->opcode == rdma::CompletionOpcode::receive_rdma_with_immediate, "the completion is of a WRITE with immediate data",
             "it says otherwise");
  check.equal("its queue pair", completion->qp_number, c.queue->qp().number());
}

CONFORMANCE_CASE(receives_go_round, "rdma.receive.goes-round", roles::responder) {
  constexpr std::uint32_t kEntries = 4, kMessages = 90;
  const auto c = bench.connect_to_product({.queue = {.receive_entries = kEntries}, .receives = 0});
  auto& buffer = bench.product().memory(64 * kMessages);
  for (std::uint64_t id = 0; id < 2; ++id) c.queue->post_receive(buffer, id, 64 * id, 64);
  for (std::uint32_t i = 0; i < kMessages - 2; ++i) {
    const Bytes bytes = pattern(32, static_cast<std::uint8_t>(i));
    bench.peer().send(c.request(Opcode::send_only, i, bytes));
    acknowledged(bench, check, c, i, "a SEND");
    const auto completion = c.queue->wait_receive(kAnswerTime);
    check.require(completion.has_value(), "every SEND is delivered", "no receive completion");
    check.equal("the receive that a SEND takes", completion->id, i);
    check.bytes("its bytes", part(buffer.bytes, 64 * i, 32), bytes);
    c.queue->post_receive(buffer, i + 2, 64 * (i + 2), 64);
  }
}

CONFORMANCE_CASE(the_receive_of_a_broken_message_comes_back, "rdma.error.receive-held", roles::responder, reaches{"rc.nak.fatal.sent"}) {
  const auto c = bench.connect_to_product({.receives = 4}, kSmallPackets);
  serves_send(bench, check, c, 0, 0, "a SEND before it");
  bench.peer().send(unacknowledged(c.request(Opcode::send_first, 1, pattern(kSmallMtu))));
  bench.world().run_for(Duration::ms(1));
  end_by_bad_write(bench, check, c, 2);
  for (std::uint64_t id = 1; id < 4; ++id) {
    const auto completion = c.queue->wait_receive(kAnswerTime);
    check.require(completion.has_value(), "every receive comes back", "no receive completion");
    check.equal("the receive that comes back", completion->id, id);
    check.that(completion->status != CompletionStatus::success, "it was not filled", "it completed with success");
  }
  nothing_received(check, c, "each comes back once");
}

CONFORMANCE_CASE(what_is_posted_in_error_is_flushed, "rdma.error.posted-later", roles::responder,
                 beyond_interfaces("the interface refuses requests on an ended connection")) {
  const auto c = bench.connect_to_product({.receives = 0});
  end_by_bad_write(bench, check, c, 0);
  check.precondition(c.queue->wait_state(rdma::QpState::error, kAnswerTime), "the queue pair is in error");
  auto& memory = bench.product().memory(256);
  for (std::uint64_t id = 1; id <= 2; ++id) {
    rdma::SendRequest request;
    request.id = id;
    check.that(c.queue->post_send(request, memory, 0, 16), "a request is taken in the error state", "it is refused");
    check.that(c.queue->post_receive(memory, 100 + id, 64, 64), "a receive is taken in the error state", "it is refused");
  }
  for (std::uint64_t id = 1; id <= 2; ++id) {
    const auto sent = c.queue->wait_send(kAnswerTime);
    const auto received = c.queue->wait_receive(kAnswerTime);
    check.require(sent.has_value(), "the request completes", "no completion");
    check.require(received.has_value(), "the receive completes", "no completion");
    check.equal("the request", sent->id, id);
    check.equal("its status", sent->status, CompletionStatus::flushed);
    check.equal("the receive", received->id, 100 + id);
    check.equal("its status", received->status, CompletionStatus::flushed);
  }
}

}  // namespace fb::conformance
