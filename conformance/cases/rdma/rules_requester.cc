// The side that asks, further rules: the form of its requests, their order, and when they are complete. The product
// is the passive side of the connection, as in requester.cc.
#include "conformance/cases/rdma/asking.h"

namespace fb::conformance {
namespace {

using rdma::CompletionStatus;
using rdma::SendOpcode;
using roce::Opcode;

bool completed(Check& check, const RcConnection& c, std::uint64_t id, std::string_view what) {
  const auto completion = c.queue->wait_send(kAnswerTime);
  if (!completion) return expect(check, false, what, "a completion", "none");
  return check.equal(what, completion->id, id) && check.equal(what, completion->status, CompletionStatus::success);
}

/// The packets of one message are First, Middle, Last, full but for the last one, and carry `bytes`.
void message_seen(RdmaBench& bench, Check& check, const RcConnection& c, const Bytes& bytes, std::initializer_list<Opcode> opcodes) {
  Bytes seen;
  for (const Opcode opcode : opcodes) {
    const auto packet = next_packet(bench, check, "a packet of the message", std::string(roce::facts_of(opcode).name));
    if (!packet) return;
    const bool holds = packet->opcode == opcode;
    expect(check, holds, "opcode of a packet", std::string(roce::facts_of(opcode).name), packet->describe());
    check.equal("bytes in a packet", packet->payload.size(), std::min(kSmallMtu, bytes.size() - seen.size()));
    if (packet->reth) {
      check.equal("address in the RETH", packet->reth->get(roce::reth::va), kThere);
      check.equal("key in the RETH", packet->reth->get(roce::reth::rkey), kKey);
      check.equal("length in the RETH", packet->reth->get(roce::reth::dmalen), bytes.size());
    }
    seen.insert(seen.end(), packet->payload.begin(), packet->payload.end());
  }
  check.bytes("bytes of the message", seen, bytes);
  acknowledge(bench, c, static_cast<std::uint32_t>(opcodes.size()) - 1, 1);
  completed(check, c, 1, "completion of the message");
}

}  // namespace

CONFORMANCE_CASE(a_long_send_is_first_middle_last, "rdma.requester.packets", roles::requester) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  const VerbsMemory& memory = post(bench, c, to_there(SendOpcode::send, 1), 3 * kSmallMtu - 20);
  message_seen(bench, check, c, memory.bytes, {Opcode::send_first, Opcode::send_middle, Opcode::send_last});
}

CONFORMANCE_CASE(a_long_write_is_first_middle_last, "rdma.requester.packets", roles::requester) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  const VerbsMemory& memory = post(bench, c, to_there(SendOpcode::rdma_write, 1), 3 * kSmallMtu - 20);
  message_seen(bench, check, c, memory.bytes, {Opcode::write_first, Opcode::write_middle, Opcode::write_last});
}

CONFORMANCE_CASE(a_message_keeps_to_a_smaller_path_mtu, "rdma.requester.packets", roles::requester, reaches{"cm.req.smaller_mtu"}) {
  constexpr std::uint8_t kSmall = 1;
  RcConnection c;
  c.queue = &bench.product().connect({bench.peer_address(), kNvmePort}, RdmaBench::good_parameters());
  const auto req = bench.peer().wait_mad(cm::Attribute::req, Duration::s(10));
  check.precondition(req.has_value(), "the product sent no connection request");
  cm::Mad rej = bench.peer().make_rej(*req, rdma::reject_reason::invalid_mtu, {});
  const Bytes offered{kSmall};
  rej.message<cm::Rej>().set(cm::rej::info_length, 1).set(cm::rej::info, ByteView{offered});
  bench.peer().send_mad(rej);
  const auto again = bench.peer().wait_mad(cm::Attribute::req, Duration::s(1));
  const bool smaller = again && cm::message_of<cm::Req>(again->bytes()).get(cm::req::path_mtu) == kSmall;
  check.precondition(smaller, "the product asks again for the path MTU that the REJ names, which is its own choice");
  c.facts = bench.peer().accept(*again, {.responder_resources = 16});
  check.precondition(c.queue->wait_event(ConnectionEvent::established, Duration::s(10)), "the connection is established");
  const VerbsMemory& memory = post(bench, c, to_there(SendOpcode::send, 1), 3 * kSmallMtu - 20);
  message_seen(bench, check, c, memory.bytes, {Opcode::send_first, Opcode::send_middle, Opcode::send_last});
}

CONFORMANCE_CASE(a_write_announces_its_length, "rdma.requester.write", roles::requester) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  const VerbsMemory& memory = post(bench, c, to_there(SendOpcode::rdma_write, 1), 2 * kSmallMtu);
  message_seen(bench, check, c, memory.bytes, {Opcode::write_first, Opcode::write_last});
}

CONFORMANCE_CASE(a_read_asks_for_what_was_posted, "rdma.requester.read", roles::requester) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  const VerbsMemory& memory = post(bench, c, to_there(SendOpcode::rdma_read, 1), 2 * kSmallMtu);
  const auto packet = next_packet(bench, check, "the READ", "a READ request");
  if (!packet) return;
  check.require(packet->opcode == Opcode::read_request && packet->reth.has_value(), "it is a READ request", packet->describe());
  check.equal("address in the RETH", packet->reth->get(roce::reth::va), kThere);
  check.equal("key in the RETH", packet->reth->get(roce::reth::rkey), kKey);
  check.equal("length in the RETH", packet->reth->get(roce::reth::dmalen), 2 * kSmallMtu);
  const Bytes data = pattern(2 * kSmallMtu);
  bench.peer().send(response(c, Opcode::read_response_first, 0, copy(part(data, 0, kSmallMtu))));
  bench.peer().send(response(c, Opcode::read_response_last, 1, copy(part(data, kSmallMtu, kSmallMtu))));
  completed(check, c, 1, "completion of the READ");
  check.bytes("what was read", memory.bytes, data);
}

CONFORMANCE_CASE(an_acknowledgement_is_asked_for, "rdma.requester.ack-request", roles::requester) {
  const RawRequest request = kSmallPackets;
  const auto c = bench.connect_to_product({}, request);
  post(bench, c, to_there(SendOpcode::send, 1), 2 * kSmallMtu);
  // The last packet: what is asked of an earlier one does not tell that the request is done.
  const std::uint32_t last = roce::psn_add(c.facts.receive_psn, 1);
  bool asked = false;
  // The first copy, or the one that the timer brings.
  while (const auto packet = bench.peer().wait_packet(roce::ack_timeout(request.ack_timeout) * 4)) {
    asked = asked || (packet->ackreq && packet->psn == last);
    if (asked || bench.peer().received() > 16) break;
  }
  check.that(asked, "the last packet of a request that is to complete has AckReq", "it never has");
}

CONFORMANCE_CASE(no_more_reads_than_the_peer_serves, "rdma.requester.read-depth", roles::requester) {
  constexpr unsigned kServed = 2;
  const auto c = bench.connect_to_product({}, {.responder_resources = kServed, .ack_timeout = 18});
  for (std::uint64_t id = 0; id < 4; ++id) post(bench, c, to_there(SendOpcode::rdma_read, id), 16);
  unsigned reads = 0;
  while (const auto packet = bench.peer().wait_packet(kAnswerTime)) reads += packet->opcode == Opcode::read_request;
  check.between("READs in flight", reads, 1u, kServed);
  bench.peer().send(response(c, Opcode::read_response_only, 0, pattern(16)));
  const auto next = next_packet(bench, check, "after the answer to the first READ", "the next READ request");
  if (next) expect(check, next->opcode == Opcode::read_request, "after an answer", "a READ request", next->describe());
}

CONFORMANCE_CASE(a_fenced_request_waits_for_reads, "rdma.requester.fence", roles::requester) {
  const auto c = bench.connect_to_product({}, {.ack_timeout = 18});
  post(bench, c, to_there(SendOpcode::rdma_read, 1), 16);
  rdma::SendRequest fenced = to_there(SendOpcode::send, 2);
  fenced.fence = true;
  post(bench, c, fenced, 16);
  const auto read = next_packet(bench, check, "the READ", "a READ request");
  if (!read) return;
  check.equal("PSN of the READ", read->psn, c.facts.receive_psn);
  silence(bench, check, "the fenced SEND before the READ is answered");
  bench.peer().send(response(c, Opcode::read_response_only, 0, pattern(16)));
  const auto send = next_packet(bench, check, "the fenced SEND after the READ", "a SEND");
  if (send) check.equal("its PSN", send->psn, roce::psn_add(c.facts.receive_psn, 1));
}

CONFORMANCE_CASE(a_response_behind_a_missing_one_is_noticed, "rdma.requester.implied-nak", roles::requester, reaches{"rc.nak.implied"}) {
  const auto c = bench.connect_to_product({}, {.mtu_code = 1, .ack_timeout = 20});
  post(bench, c, to_there(SendOpcode::rdma_read, 1), 16);
  post(bench, c, to_there(SendOpcode::rdma_read, 2), 16);
  for (int i = 0; i < 2; ++i) {
    if (!next_packet(bench, check, "a READ", "a READ request")) return;
  }
  bench.step("the answer to the first READ is lost");
  bench.peer().send(response(c, Opcode::read_response_only, 1, pattern(16), 2));
  const auto again =
      next_packet(bench, check, "when the answer to the second READ comes first", "the first READ again, without waiting for the timer");
  if (again) check.equal("PSN of the READ", again->psn, c.facts.receive_psn);
}

CONFORMANCE_CASE(an_old_acknowledgement_is_no_progress, "rdma.requester.old-ack", roles::requester, reaches{"rc.ack_timeout"}) {
  constexpr unsigned kRetries = 2;
  const RawRequest request = {.retry_count = kRetries};
  const auto c = bench.connect_to_product({}, request);
  post(bench, c, to_there(SendOpcode::send, 1), 16);
  if (!next_packet(bench, check, "the first SEND", "a SEND")) return;
  acknowledge(bench, c, 0, 1);
  completed(check, c, 1, "completion of the first SEND");
  post(bench, c, to_there(SendOpcode::send, 2), 16);
  unsigned copies = 0;
  while (copies <= 3 * kRetries && bench.peer().wait_packet(roce::ack_timeout(request.ack_timeout) * 4)) {
    ++copies;
    acknowledge(bench, c, 0, 1);  // once more what was acknowledged before
  }
  check.between("copies of the second SEND, which nobody acknowledges", copies, 1u, kRetries + 1);
  const auto end = c.queue->wait_send(kAnswerTime);
  check.require(end.has_value(), "the second SEND fails after its retries", "no completion");
  check.equal("its status", end->status, CompletionStatus::retry_exceeded);
}

CONFORMANCE_CASE(one_acknowledgement_completes_all_before_it, "rdma.requester.coalesced-ack", roles::requester) {
  const auto c = bench.connect_to_product({}, {.ack_timeout = 18});
  for (std::uint64_t id = 1; id <= 3; ++id) post(bench, c, to_there(SendOpcode::send, id), 16);
  for (int i = 0; i < 3; ++i) {
    if (!next_packet(bench, check, "a SEND", "a SEND")) return;
  }
  acknowledge(bench, c, 2, 3);
  for (std::uint64_t id = 1; id <= 3; ++id) completed(check, c, id, "a request before the ACK's PSN");
  silence(bench, check, "what was acknowledged is not sent again");
  bench.step("an ACK right behind a NAK for the first of what it acknowledges");
  for (std::uint64_t id = 4; id <= 6; ++id) post(bench, c, to_there(SendOpcode::send, id), 16);
  for (int i = 0; i < 3; ++i) {
    if (!next_packet(bench, check, "a SEND", "a SEND")) return;
  }
  acknowledge(bench, c, 3, 3, kSequenceNak);
  acknowledge(bench, c, 5, 6);
  for (std::uint64_t id = 4; id <= 6; ++id) completed(check, c, id, "a request of a NAK and an ACK");
  // What was sent again for the NAK does not matter; the next request has the next PSN.
  while (bench.peer().wait_packet(Duration::ms(1))) {
  }
  post(bench, c, to_there(SendOpcode::send, 7), 16);
  const auto next = next_packet(bench, check, "the next request", "a SEND");
  if (!next) return;
  check.equal("PSN of the next request", next->psn, roce::psn_add(c.facts.receive_psn, 6));
  acknowledge(bench, c, 6, 7);
  completed(check, c, 7, "the next request");
}

CONFORMANCE_CASE(a_request_completes_once, "rdma.requester.completes-once", roles::requester) {
  const auto c = bench.connect_to_product();
  rdma::SendRequest unsignaled = to_there(SendOpcode::send, 1);
  unsignaled.signaled = false;
  post(bench, c, unsignaled, 16);
  post(bench, c, to_there(SendOpcode::send, 2), 16);
  for (int i = 0; i < 2; ++i) {
    if (!next_packet(bench, check, "a SEND", "a SEND")) return;
  }
  acknowledge(bench, c, 1, 2);
  completed(check, c, 2, "the first completion is that of the signaled request");
  expect(check, !c.queue->wait_send(Duration::ms(1)), "completions after that", "none", "another one");
}

CONFORMANCE_CASE(only_a_solicited_send_solicits, "rdma.requester.solicited", roles::requester) {
  const auto c = bench.connect_to_product({}, kSmallPackets);
  rdma::SendRequest loud = to_there(SendOpcode::send, 2);
  loud.solicited = true;
  post(bench, c, to_there(SendOpcode::send, 1), 16);
  post(bench, c, loud, 2 * kSmallMtu);
  for (const bool solicits : {false, false, true}) {
    const auto packet = next_packet(bench, check, "a packet of the SENDs", "a SEND");
    if (!packet) return;
    check.equal("SE of " + packet->describe(), packet->se, solicits);
  }
}

CONFORMANCE_CASE(immediate_data_is_sent_as_it_was_given, "rdma.requester.immediate", roles::requester,
                 beyond_interfaces("the interface has no immediate data")) {
  const auto c = bench.connect_to_product();
  rdma::SendRequest request = to_there(SendOpcode::send_with_immediate, 1);
  request.immediate = 0x11223344;
  post(bench, c, request, 16);
  const auto packet = next_packet(bench, check, "the SEND", "a SEND with immediate data");
  if (!packet) return;
  check.require(packet->opcode == Opcode::send_only_with_immediate && packet->immediate.has_value(), "it is a SEND with immediate data",
                packet->describe());
  check.equal("immediate data", packet->immediate->get(roce::immdt::immdt), request.immediate);
}

CONFORMANCE_CASE(the_key_to_invalidate_is_sent, "rdma.requester.invalidate", roles::requester,
                 beyond_networkdirect("NetworkDirect has no SEND with invalidate")) {
  const auto c = bench.connect_to_product();
  rdma::SendRequest request = to_there(SendOpcode::send_with_invalidate, 1);
  request.invalidate_rkey = 0xABCD0142;
  post(bench, c, request, 16);
  const auto packet = next_packet(bench, check, "the SEND", "a SEND with invalidate");
  if (!packet) return;
  check.require(packet->opcode == Opcode::send_only_with_invalidate && packet->ieth.has_value(), "it is a SEND with invalidate",
                packet->describe());
  check.equal("key in the IETH", packet->ieth->get(roce::ieth::rkey), request.invalidate_rkey);
}

}  // namespace fb::conformance
