// The side that asks: what it sends, when it sends it again, what it makes of the answers. The
// product is the passive side of the connection here, so that the bench's REQ sets its timeout, its
// retry counts and its first PSN.
#include "conformance/cases/rdma/exchange.h"

namespace fb::conformance {
namespace {

using rdma::CompletionStatus;
using roce::Opcode;

constexpr RawRequest kDefaults = {};

/// Longest wait for something that a retransmission timer of this connection brings about.
Duration timer_limit(const RawRequest& request) { return roce::ack_timeout(request.ack_timeout) * 4 + Duration::ms(1); }

void post_send(RdmaBench& bench, const RcConnection& c, std::uint64_t id, std::uint32_t length = 16) {
  auto& memory = bench.product().memory(length);
  rdma::SendRequest request;
  request.id = id;
  c.queue->post_send(request, memory, 0, length);
}

/// A READ by the product from somewhere of the peer's.
VerbsMemory& post_read(RdmaBench& bench, const RcConnection& c, std::uint64_t id, std::uint32_t length) {
  auto& memory = bench.product().memory(length);
  rdma::SendRequest request;
  request.id = id;
  request.opcode = rdma::SendOpcode::rdma_read;
  request.remote_address = 0x5000;
  request.rkey = 0x1234;
  c.queue->post_send(request, memory, 0, length);
  return memory;
}

RocePacket read_response(const RcConnection& c, Opcode opcode, std::uint32_t psn, Bytes payload) {
  RocePacket packet = c.facts.acknowledge(psn, 1);
  packet.opcode = opcode;
  if (opcode == Opcode::read_response_middle) packet.aeth.reset();
  packet.payload = std::move(payload);
  return packet;
}

/// The next packet is a request with the ordinal-th PSN of the product.
std::optional<RocePacket> request_seen(RdmaBench& bench, Check& check, const RcConnection& c, std::uint32_t ordinal, std::string_view what,
                                       Duration limit = kAnswerTime) {
  const std::uint32_t psn = roce::psn_add(c.facts.receive_psn, ordinal);
  auto packet = next_request(bench, psn, limit);
  expect(check, packet && packet->psn == psn, what, "a request with " + words_of_psn(psn), packet ? packet->describe() : "silence");
  return packet;
}

bool completed(Check& check, const RcConnection& c, std::uint64_t id, CompletionStatus status, Duration limit, std::string_view what) {
  const auto completion = c.queue->wait_send(limit);
  if (!completion) return expect(check, false, what, "a completion", "none");
  return check.equal(what, completion->id, id) && check.equal(what, completion->status, status);
}

void acknowledge(RdmaBench& bench, const RcConnection& c, std::uint32_t ordinal, std::uint8_t syndrome = roce::kAckSyndrome) {
  bench.peer().send(c.facts.acknowledge(roce::psn_add(c.facts.receive_psn, ordinal), ordinal + 1, syndrome));
}

/// Answers `times` requests in a row with RNR NAK (10 microseconds each).
void refuse_for_now(RdmaBench& bench, Check& check, const RcConnection& c, int times) {
  for (int i = 0; i < times; ++i) {
    if (!request_seen(bench, check, c, 0, "the request, again after each RNR NAK")) return;
    acknowledge(bench, c, 0, roce::rnr_syndrome(1));
  }
}

/// A READ of four packets of which the responses in [lost, lost + count) do not arrive.
void lose_responses(RdmaBench& bench, Check& check, std::uint32_t lost, std::uint32_t count) {
  const RcConnection c = bench.connect_to_product({}, kSmallPackets);
  VerbsMemory& memory = post_read(bench, c, 1, 1024);
  const Bytes data = pattern(1024);
  request_seen(bench, check, c, 0, "the READ request");
  const auto respond = [&](std::uint32_t from, std::uint32_t asked_from) {
    for (std::uint32_t i = from; i < 4; ++i) {
      if (asked_from == 0 && i >= lost && i < lost + count) continue;
      const Opcode opcode = i == 3 ? (asked_from == 3 ? Opcode::read_response_only : Opcode::read_response_last)
                                   : (i == asked_from ? Opcode::read_response_first : Opcode::read_response_middle);
      bench.peer().send(read_response(c, opcode, roce::psn_add(c.facts.receive_psn, i), copy(part(data, i * kSmallMtu, kSmallMtu))));
    }
  };
  respond(0, 0);
  const auto again = request_seen(bench, check, c, lost, "the READ request for the rest", timer_limit(kSmallPackets));
  if (!again) return;
  check.require(again->reth.has_value(), "the request is a READ", again->describe());
  check.equal("address of the rest", again->reth->get(roce::reth::va), 0x5000 + lost * kSmallMtu);
  check.equal("length of the rest", again->reth->get(roce::reth::dmalen), 1024 - lost * kSmallMtu);
  respond(lost, lost);
  completed(check, c, 1, CompletionStatus::success, kAnswerTime, "completion of the READ");
  check.bytes("what was read", memory.bytes, data);
}

void fatal_nak(RdmaBench& bench, Check& check, std::uint8_t syndrome, CompletionStatus status) {
  const auto c = bench.connect_to_product();
  for (std::uint64_t id = 1; id <= 3; ++id) post_send(bench, c, id);
  // One that completes in silence if it succeeds: that it was flushed is reported all the same.
  rdma::SendRequest silent;
  silent.id = 4;
  silent.signaled = false;
  c.queue->post_send(silent, bench.product().memory(16), 0, 16);
  for (std::uint32_t i = 0; i < 4; ++i) request_seen(bench, check, c, i, "a request");
  acknowledge(bench, c, 0, syndrome);
  completed(check, c, 1, status, kAnswerTime, "completion of the refused request");
  completed(check, c, 2, CompletionStatus::flushed, kAnswerTime, "completion of the next request");
  completed(check, c, 3, CompletionStatus::flushed, kAnswerTime, "completion of the last request that is signaled");
  completed(check, c, 4, CompletionStatus::flushed, kAnswerTime, "completion of the last request, which is not signaled");
  check.equal("state of the queue pair", c.queue->state(), rdma::QpState::error);
}

}  // namespace

CONFORMANCE_CASE(requests_have_consecutive_psns, "rdma.requester.psn-start", roles::requester) {
  const auto c = bench.connect_to_product({}, {.psn = 0xABCDEF, .mtu_code = 1});
  post_send(bench, c, 1);
  post_read(bench, c, 2, 3 * kSmallMtu);
  post_send(bench, c, 3, 2 * kSmallMtu);
  // A READ takes as many PSNs as it has responses.
  for (const std::uint32_t ordinal : {0u, 1u, 4u, 5u}) {
    request_seen(bench, check, c, ordinal, "the next request");
  }
}

CONFORMANCE_CASE(unacknowledged_requests_are_sent_again, "rdma.requester.timeout", roles::requester, reaches{"rc.ack_timeout"}) {
  const auto c = bench.connect_to_product();
  post_send(bench, c, 1);
  const auto first = request_seen(bench, check, c, 0, "the request");
  const auto second = request_seen(bench, check, c, 0, "the request again", timer_limit(kDefaults));
  if (!first || !second) return;
  const Duration timeout = roce::ack_timeout(kDefaults.ack_timeout);
  check.between("time until the request comes again", second->at - first->at, timeout - bench.jitter(), timeout * 4 + bench.jitter());
  acknowledge(bench, c, 0);
  completed(check, c, 1, CompletionStatus::success, kAnswerTime, "completion after all");
}

CONFORMANCE_CASE(a_request_fails_after_its_retries, "rdma.requester.retry-count", roles::requester, reaches{"rc.ack_timeout"}) {
  constexpr RawRequest kThree = {.retry_count = 3};
  const auto c = bench.connect_to_product({}, kThree);
  post_send(bench, c, 1);
  completed(check, c, 1, CompletionStatus::retry_exceeded, timer_limit(kThree) * 5, "completion of a request that nobody answers");
  check.equal("packets with the request", bench.peer().inbox().size(), 4);
  check.equal("state of the queue pair", c.queue->state(), rdma::QpState::error);
}

CONFORMANCE_CASE(a_sequence_nak_sends_everything_from_there_again, "rdma.requester.sequence-nak", roles::requester,
                 reaches{"rc.nak.sequence.obeyed"}) {
  const auto c = bench.connect_to_product();
  for (std::uint64_t id = 1; id <= 4; ++id) post_send(bench, c, id);
  for (std::uint32_t i = 0; i < 4; ++i) request_seen(bench, check, c, i, "a request");
  acknowledge(bench, c, 1, kSequenceNak);
  completed(check, c, 1, CompletionStatus::success, kAnswerTime, "the request before the NAK's PSN");
  for (std::uint32_t i = 1; i < 4; ++i) {
    request_seen(bench, check, c, i, "a request from the NAK's PSN on");
  }
  acknowledge(bench, c, 3);
  for (std::uint64_t id = 2; id <= 4; ++id) {
    completed(check, c, id, CompletionStatus::success, kAnswerTime, "a request that was sent again");
  }
}

CONFORMANCE_CASE(an_rnr_nak_is_waited_for, "rdma.requester.rnr-wait", roles::requester, reaches{"rc.rnr.wait"}) {
  const auto c = bench.connect_to_product();
  std::uint32_t ordinal = 0;
  constexpr std::uint8_t kCodes[] = {1, 12, 20, 31, 0};
  for (const std::uint8_t code : kCodes) {
    post_send(bench, c, ordinal);
    request_seen(bench, check, c, ordinal, "the request");
    const Instant told = bench.world().now();
    acknowledge(bench, c, ordinal, roce::rnr_syndrome(code));
    const Duration wanted = roce::rnr_delay(code);
    const auto next = [&] { return request_seen(bench, check, c, ordinal, "the request again", wanted * 2 + timer_limit(kDefaults)); };
    auto again = next();
    // A slow bench answers when the request has come again by its timer: that copy left before the NAK arrived.
    if (again && bench.jitter() != Duration{} && again->at - told <= bench.jitter()) again = next();
    if (!again) return;
    check.between("wait after the RNR NAK", again->at - told, wanted, Duration::forever());
    acknowledge(bench, c, ordinal);
    completed(check, c, ordinal, CompletionStatus::success, kAnswerTime, "completion of the request");
    ++ordinal;
  }
}

CONFORMANCE_CASE(without_rnr_retries_a_request_fails_at_once, "rdma.requester.rnr-retry", roles::requester,
                 beyond_interfaces("the interface has one status for all timeouts")) {
  const auto c = bench.connect_to_product({}, {.rnr_retry_count = 0});
  post_send(bench, c, 1);
  refuse_for_now(bench, check, c, 1);
  completed(check, c, 1, CompletionStatus::rnr_retry_exceeded, kAnswerTime, "completion after the first RNR NAK");
}

CONFORMANCE_CASE(rnr_retries_are_counted, "rdma.requester.rnr-retry", roles::requester, reaches{"rc.rnr.wait"},
                 beyond_interfaces("the interface has one status for all timeouts")) {
  const auto c = bench.connect_to_product({}, {.rnr_retry_count = 2});
  post_send(bench, c, 1);
  refuse_for_now(bench, check, c, 3);
  completed(check, c, 1, CompletionStatus::rnr_retry_exceeded, kAnswerTime, "completion after the third RNR NAK");
}

CONFORMANCE_CASE(an_acknowledgement_of_nothing_sent_is_ignored, "rdma.requester.ghost-ack", roles::requester,
                 reaches{"rc.ghost_ack.ignored"}) {
  const auto c = bench.connect_to_product();
  post_send(bench, c, 1);
  request_seen(bench, check, c, 0, "the request");
  for (const std::uint32_t ordinal : {5u, 1u}) {
    acknowledge(bench, c, ordinal);
    expect(check, !c.queue->wait_send(Duration::ms(10)), "completions after an ACK of a later PSN", "none", "a completion");
  }
  acknowledge(bench, c, 0);
  completed(check, c, 1, CompletionStatus::success, kAnswerTime, "completion after the right ACK");
}

CONFORMANCE_CASE(a_lost_middle_response_is_asked_for_again, "rdma.requester.read-lost", roles::requester) {
  lose_responses(bench, check, 1, 1);
}

CONFORMANCE_CASE(a_lost_last_response_is_asked_for_again, "rdma.requester.read-lost", roles::requester) {
  lose_responses(bench, check, 3, 1);
}

CONFORMANCE_CASE(invalid_request_completes_as_such, "rdma.requester.nak-status", roles::requester) {
  fatal_nak(bench, check, kInvalidRequest, CompletionStatus::remote_invalid_request);
}

CONFORMANCE_CASE(remote_access_error_completes_as_such, "rdma.requester.nak-status", roles::requester,
                 beyond_interfaces("the interface has one status for both sides' refusals of a Send")) {
  fatal_nak(bench, check, kAccessError, CompletionStatus::remote_access_error);
}

CONFORMANCE_CASE(remote_operational_error_completes_as_such, "rdma.requester.nak-status", roles::requester) {
  fatal_nak(bench, check, kOperationalError, CompletionStatus::remote_operation_error);
}

}  // namespace fb::conformance
