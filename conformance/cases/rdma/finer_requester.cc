// Finer rules of the side that asks: what its packets are made of, its completions, and its counters and timers when
// some of what it asked for is done. The product is the passive side of the connection, as in requester.cc.
#include <numeric>

#include "conformance/cases/rdma/asking.h"

namespace fb::conformance {
namespace {

using rdma::CompletionStatus;
using rdma::SendOpcode;
using roce::Opcode;

/// The next packet is a request with this ordinal.
std::optional<RocePacket> seen(RdmaBench& bench, Check& check, const RcConnection& c, std::uint32_t ordinal, std::string_view what,
                               Duration limit = kAnswerTime) {
  const std::uint32_t psn = roce::psn_add(c.facts.receive_psn, ordinal);
  auto packet = next_request(bench, psn, limit);
  const bool holds = packet && packet->psn == psn;
  if (!expect(check, holds, what, "a request with " + words_of_psn(psn), packet ? packet->describe() : "silence")) return std::nullopt;
  return packet;
}

std::optional<rdma::Completion> completed(Check& check, const RcConnection& c, std::uint64_t id, std::string_view what,
                                          Duration limit = kAnswerTime) {
  const auto completion = c.queue->wait_send(limit);
  if (!expect(check, completion.has_value(), what, "a completion", "none")) return std::nullopt;
  check.equal(what, completion->id, id);
  check.equal(what, completion->status, CompletionStatus::success);
  return completion;
}

/// Some of what a real device had in flight when it went back to an earlier packet.
void let_pass(RdmaBench& bench) {
  bench.world().run_for(Duration::ms(2));
  bench.peer().inbox().clear();
}

}  // namespace

CONFORMANCE_CASE(a_message_is_gathered_from_its_pieces, "rdma.requester.gather", roles::requester) {
  const auto c = bench.connect_to_product({}, {.mtu_code = 1, .ack_timeout = 18});
  auto& memory = bench.product().memory(2048);
  std::iota(memory.bytes.begin() + 1000, memory.bytes.end(), std::uint8_t{3});
  const rdma::Sge pieces[] = {memory.region->sge(1200, 200), memory.region->sge(100, 301), memory.region->sge(1700, 89)};
  rdma::SendRequest request = to_there(SendOpcode::send, 1);
  request.sges = pieces;
  check.precondition(c.queue->post_send(request), "a request of three pieces is taken");
  Bytes wanted = copy(part(memory.bytes, 1200, 200));
  for (const ByteView more : {part(memory.bytes, 100, 301), part(memory.bytes, 1700, 89)})
    wanted.insert(wanted.end(), more.begin(), more.end());
  Bytes sent;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto packet = seen(bench, check, c, i, "a packet of the SEND");
    if (!packet) return;
    sent.insert(sent.end(), packet->payload.begin(), packet->payload.end());
  }
  check.bytes("bytes of the message", sent, wanted);
  acknowledge(bench, c, 2, 1);
  completed(check, c, 1, "completion of the SEND");
}

CONFORMANCE_CASE(a_read_is_scattered_over_its_pieces, "rdma.requester.read-scatter", roles::requester,
                 beyond_networkdirect("the interface reads into one piece")) {
  const auto c = bench.connect_to_product({}, {.mtu_code = 1, .ack_timeout = 18});
  auto& memory = bench.product().memory(2048);
  const rdma::Sge pieces[] = {memory.region->sge(1200, 200), memory.region->sge(100, 301), memory.region->sge(1700, 89)};
  rdma::SendRequest request = to_there(SendOpcode::rdma_read, 1);
  request.sges = pieces;
  if (!c.queue->post_send(request)) check.inconclusive("the device takes no READ of three pieces");
  Bytes image = memory.bytes;
  if (!seen(bench, check, c, 0, "the READ request")) return;
  const Bytes data = pattern(590);
  bench.peer().send(response(c, Opcode::read_response_first, 0, copy(part(data, 0, kSmallMtu))));
  bench.peer().send(response(c, Opcode::read_response_middle, 1, copy(part(data, kSmallMtu, kSmallMtu))));
  bench.peer().send(response(c, Opcode::read_response_last, 2, copy(part(data, 2 * kSmallMtu, 590 - 2 * kSmallMtu))));
  completed(check, c, 1, "completion of the READ");
  std::copy_n(data.begin(), 200, image.begin() + 1200);
  std::copy_n(data.begin() + 200, 301, image.begin() + 100);
  std::copy_n(data.begin() + 501, 89, image.begin() + 1700);
  check.bytes("the pieces, and what lies around them", memory.bytes, image);
}

CONFORMANCE_CASE(inline_data_is_taken_at_once, "rdma.requester.inline", roles::requester) {
  const auto c = bench.connect_to_product();
  auto& memory = bench.product().memory(32);
  const Bytes wanted = memory.bytes;
  rdma::SendRequest request = to_there(SendOpcode::send, 1);
  request.inline_data = true;
  if (!c.queue->post_send(request, memory, 0, 32)) check.inconclusive("the device takes no inline data");
  std::fill(memory.bytes.begin(), memory.bytes.end(), std::uint8_t{0xEE});
  const auto packet = seen(bench, check, c, 0, "the SEND");
  if (!packet) return;
  check.bytes("its bytes", packet->payload, wanted);
  acknowledge(bench, c, 0, 1);
  completed(check, c, 1, "completion of the SEND");
}

CONFORMANCE_CASE(atomics_are_asked_for_as_posted, "rdma.requester.atomic", roles::requester,
                 beyond_interfaces("the interface has no atomics")) {
  const auto c = bench.connect_to_product();
  auto& memory = bench.product().memory(16);
  constexpr std::uint64_t kOperand = 0x0102030405060708, kCompare = 0x1112131415161718;
  for (const auto opcode : {SendOpcode::fetch_and_add, SendOpcode::compare_and_swap}) {
    const bool swap = opcode == SendOpcode::compare_and_swap;
    const std::uint32_t ordinal = swap ? 1 : 0;
    rdma::SendRequest request = to_there(opcode, ordinal);
    request.swap_or_add = kOperand;
    request.compare = kCompare;
    const Bytes behind = copy(part(memory.bytes, 8, 8));
    c.queue->post_send(request, memory, 0, 8);
    const auto packet = seen(bench, check, c, ordinal, "the atomic");
    if (!packet) return;
    check.require(packet->opcode == (swap ? Opcode::compare_and_swap : Opcode::fetch_and_add) && packet->atomic,
                  "it is the atomic that was posted", packet->describe());
    check.equal("its address", packet->atomic->get(roce::atomiceth::va), kThere);
    check.equal("its key", packet->atomic->get(roce::atomiceth::rkey), kKey);
    check.equal("what it swaps in or adds", packet->atomic->get(roce::atomiceth::swapdt), kOperand);
    if (swap) check.equal("what it compares with", packet->atomic->get(roce::atomiceth::cmpdt), kCompare);
    constexpr std::uint64_t kOriginal = 0xA1A2A3A4A5A6A7A8;
    RocePacket answer = response(c, Opcode::atomic_acknowledge, ordinal, {}, ordinal + 1);
    answer.atomic_ack.emplace();
    answer.atomic_ack->set(roce::atomicacketh::origremdt, kOriginal);
    bench.peer().send(answer);
    const auto completion = completed(check, c, ordinal, "completion of the atomic");
    if (!completion) return;
    check.that(completion->opcode == (swap ? rdma::CompletionOpcode::compare_and_swap : rdma::CompletionOpcode::fetch_and_add),
               "the completion tells which atomic it was", "another operation");
    check.equal("the original value", load_le<std::uint64_t>(memory.bytes.data()), kOriginal);
    check.bytes("memory behind it", part(memory.bytes, 8, 8), behind);
  }
}

CONFORMANCE_CASE(completions_tell_of_their_requests, "rdma.requester.completion", roles::requester) {
  const auto c = bench.connect_to_product();
  std::uint32_t ordinal = 0;
  const auto told = [&](rdma::CompletionOpcode opcode) {
    const auto completion = completed(check, c, ordinal, "completion of a request");
    if (!completion) return rdma::Completion{};
    check.that(completion->opcode == opcode, "the completion tells the operation of its request", "another one");
    check.equal("its queue pair", completion->qp_number, c.queue->qp().number());
    ++ordinal;
    return *completion;
  };
  for (const auto opcode : {SendOpcode::send, SendOpcode::rdma_write}) {
    post(bench, c, to_there(opcode, ordinal), 16);
    if (!seen(bench, check, c, ordinal, "a request")) return;
    acknowledge(bench, c, ordinal, ordinal + 1);
    told(opcode == SendOpcode::send ? rdma::CompletionOpcode::send : rdma::CompletionOpcode::rdma_write);
  }
  post(bench, c, to_there(SendOpcode::rdma_read, ordinal), 24);
  if (!seen(bench, check, c, ordinal, "a READ request")) return;
  bench.peer().send(response(c, Opcode::read_response_only, ordinal, pattern(24), ordinal + 1));
  const auto read = told(rdma::CompletionOpcode::rdma_read);
  if (bench.bare()) check.equal("length of the READ", read.byte_length, 24u);
}

CONFORMANCE_CASE(requests_go_round, "rdma.requester.goes-round", roles::requester) {
  constexpr std::uint32_t kEntries = 4, kMessages = 90;
  const auto c = bench.connect_to_product({.queue = {.send_entries = kEntries}});
  auto& memory = bench.product().memory(64);
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    const bool read = i % 3 == 2;
    memory.bytes[7] = static_cast<std::uint8_t>(i);
    const Bytes wanted = copy(part(memory.bytes, 0, 32));
    check.precondition(c.queue->post_send(to_there(read ? SendOpcode::rdma_read : SendOpcode::send, i), memory, read ? 32 : 0, 32),
                       "a request is taken while the queue is empty");
    const auto packet = seen(bench, check, c, i, "a request");
    if (!packet) return;
    if (read) {
      bench.peer().send(response(c, Opcode::read_response_only, i, pattern(32, static_cast<std::uint8_t>(i)), i + 1));
    } else {
      check.bytes("bytes of a SEND", packet->payload, wanted);
      acknowledge(bench, c, i, i + 1);
    }
    if (!completed(check, c, i, "completion of a request")) return;
    if (read) check.bytes("what a READ brought", part(memory.bytes, 32, 32), pattern(32, static_cast<std::uint8_t>(i)));
  }
}

CONFORMANCE_CASE(what_follows_a_partial_ack_is_sent_again, "rdma.requester.partial-ack", roles::requester) {
  const RawRequest request = kSmallPackets;
  const auto c = bench.connect_to_product({}, request);
  post(bench, c, to_there(SendOpcode::send, 1), 4 * kSmallMtu);
  for (std::uint32_t i = 0; i < 4; ++i) {
    if (!seen(bench, check, c, i, "a packet of the SEND")) return;
  }
  acknowledge(bench, c, 1, 0);
  const auto again = next_packet_within(bench, check, "after the timeout, with two packets acknowledged",
                                        "the third packet, or one before it", roce::ack_timeout(request.ack_timeout) * 5);
  if (!again) return;
  const auto ordinal = roce::psn_distance(again->psn, c.facts.receive_psn);
  check.that(ordinal >= 0 && ordinal <= 2, "what is sent again begins no later than behind the ACK", again->describe());
  acknowledge(bench, c, 3, 1);
  completed(check, c, 1, "completion of the SEND");
}

CONFORMANCE_CASE(progress_is_not_repeated, "rdma.requester.early-resend", roles::requester) {
  // 268 ms: a step of 180 is short of it, two are beyond it.
  const RawRequest request = {.ack_timeout = 16};
  const Duration step = roce::ack_timeout(request.ack_timeout) * 2 / 3;
  const auto c = bench.connect_to_product({}, request);
  for (std::uint64_t id = 0; id < 3; ++id) post(bench, c, to_there(SendOpcode::send, id), 16);
  for (std::uint32_t i = 0; i < 3; ++i) {
    if (!seen(bench, check, c, i, "a request")) return;
  }
  for (std::uint32_t i = 0; i < 2; ++i) {
    check.that(bench.peer().silent_for(step), "nothing is repeated while there is progress", "a packet");
    acknowledge(bench, c, i, i + 1);
    completed(check, c, i, "completion of a request");
  }
  check.that(bench.peer().silent_for(step), "nothing is repeated before the timeout since the last progress", "a packet");
  acknowledge(bench, c, 2, 3);
  completed(check, c, 2, "completion of the last request");
}

CONFORMANCE_CASE(every_request_has_its_retries, "rdma.requester.retries-reloaded", roles::requester, reaches{"rc.ack_timeout"}) {
  const RawRequest request = {.retry_count = 1};
  const Duration limit = roce::ack_timeout(request.ack_timeout) * 5;
  const auto c = bench.connect_to_product({}, request);
  for (std::uint32_t i = 0; i < 4; ++i) {
    post(bench, c, to_there(SendOpcode::send, i), 16);
    if (!seen(bench, check, c, i, "a request")) return;
    if (!seen(bench, check, c, i, "the request again, without an answer", limit)) return;
    acknowledge(bench, c, i, i + 1);
    if (!completed(check, c, i, "completion of a request")) return;
  }
}

CONFORMANCE_CASE(every_request_has_its_rnr_retries, "rdma.requester.rnr-retries-reloaded", roles::requester, reaches{"rc.rnr.wait"}) {
  const auto c = bench.connect_to_product({}, {.ack_timeout = 18, .rnr_retry_count = 1});
  for (std::uint32_t i = 0; i < 4; ++i) {
    post(bench, c, to_there(SendOpcode::send, i), 16);
    if (!seen(bench, check, c, i, "a request")) return;
    acknowledge(bench, c, i, i, roce::rnr_syndrome(1));
    if (!seen(bench, check, c, i, "the request again, after an RNR NAK")) return;
    acknowledge(bench, c, i, i + 1);
    if (!completed(check, c, i, "completion of a request")) return;
  }
}

CONFORMANCE_CASE(seven_rnr_retries_never_end, "rdma.requester.rnr-retry-endless", roles::requester, reaches{"rc.rnr.wait"}) {
  const auto c = bench.connect_to_product({.rnr_retry_count = 7}, {.ack_timeout = 18, .rnr_retry_count = 7});
  post(bench, c, to_there(SendOpcode::send, 1), 16);
  for (int i = 0; i < 20; ++i) {
    if (!seen(bench, check, c, 0, "the request, again after each RNR NAK")) return;
    acknowledge(bench, c, 0, 0, roce::rnr_syndrome(1));
  }
  if (!seen(bench, check, c, 0, "the request once more")) return;
  acknowledge(bench, c, 0, 1);
  completed(check, c, 1, "completion of the request");
}

CONFORMANCE_CASE(a_second_sequence_nak_is_obeyed, "rdma.requester.sequence-nak-again", roles::requester,
                 reaches{"rc.nak.sequence.obeyed"}) {
  const auto c = bench.connect_to_product({}, {.ack_timeout = 19});
  for (std::uint32_t round = 0; round < 3; ++round) {
    const std::uint32_t first = 2 * round;
    for (std::uint32_t i = first; i < first + 2; ++i) post(bench, c, to_there(SendOpcode::send, i), 16);
    for (std::uint32_t i = first; i < first + 2; ++i) {
      if (!seen(bench, check, c, i, "a request")) return;
    }
    acknowledge(bench, c, first, first, kSequenceNak);
    if (!seen(bench, check, c, first, "the request of the NAK's PSN again")) return;
    let_pass(bench);
    acknowledge(bench, c, first + 1, first + 2);
    for (std::uint32_t i = first; i < first + 2; ++i) {
      if (!completed(check, c, i, "completion of a request")) return;
    }
  }
}

CONFORMANCE_CASE(a_read_response_completes_no_send, "rdma.requester.other-response", roles::requester) {
  for (const bool atomic : {false, true}) {
    const auto c = bench.connect_to_product({}, {.port = kPlainPort, .ack_timeout = 18});
    post(bench, c, to_there(SendOpcode::send, 1), 16);
    if (!seen(bench, check, c, 0, "the SEND")) return;
    RocePacket answer = response(c, atomic ? Opcode::atomic_acknowledge : Opcode::read_response_only, 0, atomic ? Bytes{} : pattern(16));
    if (atomic) answer.atomic_ack.emplace();
    bench.peer().send(answer);
    const auto completion = c.queue->wait_send(kAnswerTime);
    check.that(!completion || completion->status != CompletionStatus::success,
               "a SEND is not completed by " + std::string(atomic ? "an ATOMIC Acknowledge" : "a READ response"),
               "it completes with success");
  }
}

}  // namespace fb::conformance
