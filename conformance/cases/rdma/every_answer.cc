// Every answer that there is to a work request: each NAK, credit, timer, count and response, in place and out of it.
#include "conformance/cases/rdma/asker.h"

namespace fb::conformance {
namespace {

using namespace asker;

}  // namespace

CONFORMANCE_CASE(each_nak_fails_the_request_that_it_names, "rdma.requester.every-nak", roles::requester,
                 beyond_interfaces("the interface has one status for both sides' refusals of a Send")) {
  constexpr std::uint32_t kCount = 4;
  for (std::uint8_t value = 1; value < 32; ++value) {
    for (std::uint32_t named = 0; named < kCount; ++named) {
      // All places of the codes that are defined, one of each that is reserved.
      if (value > 3 && named != value % kCount) continue;
      const auto c = bench.connect_to_product({}, kPatient);
      bench.peer().inbox().clear();
      for (std::uint64_t id = 0; id < kCount; ++id) post(bench, c, to_there(SendOpcode::send, 50 + id), 16);
      for (std::uint32_t i = 0; i < kCount; ++i) {
        if (!next_packet(bench, check, "a SEND", "a SEND")) return;
      }
      acknowledge(bench, c, named, named, static_cast<std::uint8_t>(0x60 | value));
      const std::string what = "after NAK " + std::to_string(value) + " of request " + std::to_string(named);
      for (std::uint32_t i = 0; i < kCount; ++i) {
        const auto seen = c.queue->wait_send(kAnswerTime);
        if (!expect(check, seen.has_value(), what, "a completion of each request", "none")) return;
        check.equal(what, seen->id, 50 + i);
        constexpr CompletionStatus kOf[] = {CompletionStatus::success, CompletionStatus::remote_invalid_request,
                                            CompletionStatus::remote_access_error, CompletionStatus::remote_operation_error};
        if (i < named) {
          check.equal(what, seen->status, CompletionStatus::success);
        } else if (i == named) {
          if (value < 4) check.equal(what, seen->status, kOf[value]);
          check.that(seen->status != CompletionStatus::success, what, "the request succeeds");
        } else {
          check.equal(what, seen->status, CompletionStatus::flushed);
        }
      }
      expect(check, bench.peer().silent_for(Duration::ms(5)), what, "silence", "a packet");
    }
  }
}

CONFORMANCE_CASE(an_ack_is_an_ack_with_any_credits, "rdma.requester.every-credit", roles::requester) {
  const auto c = bench.connect_to_product({}, kPatient);
  bench.peer().inbox().clear();
  for (std::uint8_t credits = 0; credits < 32; ++credits) {
    post(bench, c, to_there(SendOpcode::send, credits), 16);
    if (!next_packet(bench, check, "a SEND", "a SEND")) return;
    acknowledge(bench, c, credits, credits + 1u, credits);
    const auto seen = c.queue->wait_send(kAnswerTime);
    if (!expect(check, seen.has_value(), "after an ACK with credit code " + std::to_string(credits), "a completion", "none")) return;
    check.equal("its status", seen->status, CompletionStatus::success);
    check.equal("its request", seen->id, std::uint64_t{credits});
  }
}

CONFORMANCE_CASE(each_rnr_timer_is_waited_for, "rdma.requester.every-rnr-timer", roles::requester, reaches{"rc.rnr.wait"}) {
  // In hundredths of a millisecond, by code.
  constexpr std::uint32_t kTimes[] = {65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
                                      256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  const auto c = bench.connect_to_product({}, {.mtu_code = 1, .ack_timeout = 19});
  bench.peer().inbox().clear();
  for (std::uint8_t code = 0; code < 32; ++code) {
    post(bench, c, to_there(SendOpcode::send, code), 16);
    if (!next_packet(bench, check, "a SEND", "a SEND")) return;
    acknowledge(bench, c, code, code, static_cast<std::uint8_t>(0x20 | code));
    const Instant from = bench.world().now();
    const Duration time = Duration::us(10) * kTimes[code];
    const auto again = bench.peer().wait_packet(time * 4 + Duration::ms(100));
    if (!expect(check, again && again->psn == roce::psn_add(c.facts.receive_psn, code),
                "after an RNR NAK with timer code " + std::to_string(code), "the SEND again", again ? again->describe() : "silence")) {
      return;
    }
    check.between("time until the SEND comes again, with timer code " + std::to_string(code), again->at - from, time - bench.jitter(),
                  time * 2 + Duration::ms(50));
    acknowledge(bench, c, code, code + 1u);
    if (!c.queue->wait_send(kAnswerTime)) return;
  }
}

CONFORMANCE_CASE(each_ack_timeout_is_kept, "rdma.requester.every-timeout", roles::requester, lasts(Duration::s(30)),
                 reaches{"rc.ack_timeout"}, furnished(&on_a_near_network)) {
  for (const std::uint8_t code :
       {std::uint8_t{8}, std::uint8_t{12}, std::uint8_t{14}, std::uint8_t{15}, std::uint8_t{17}, std::uint8_t{19}}) {
    for (std::uint8_t retries : {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{3}, std::uint8_t{7}}) {
      if (code > 15 && retries > 1) continue;
      const auto c = bench.connect_to_product({}, {.ack_timeout = code, .retry_count = retries});
      bench.peer().inbox().clear();
      const Duration time = roce::ack_timeout(code);
      const std::string what = "with timeout code " + std::to_string(code) + " and " + std::to_string(retries) + " retries";
      post(bench, c, to_there(SendOpcode::send, 5), 16);
      Instant last = bench.world().now();
      unsigned copies = 0;
      while (const auto packet = bench.peer().wait_packet(time * 5 + Duration::ms(20))) {
        if (copies++ > 0)
          check.between("time between copies " + what, packet->at - last, time - bench.jitter(),
                        time * 4 + Duration::ms(10) + bench.jitter());
        last = packet->at;
        if (copies > 20) break;
      }
      check.equal("copies of an unanswered SEND " + what, copies, retries + 1u);
      const auto end = c.queue->wait_send(kAnswerTime);
      if (!expect(check, end.has_value(), "after the retries", "a completion", "none")) return;
      check.equal("its status", end->status, CompletionStatus::retry_exceeded);
      check.between("time until it fails " + what, bench.world().now() - last, time * 9 / 10 - bench.jitter(),
                    time * 5 + Duration::ms(100));
    }
  }
}

CONFORMANCE_CASE(an_ack_timeout_of_0_never_ends, "rdma.requester.timeout-none", roles::requester) {
  const auto c = bench.connect_to_product({}, {.mtu_code = 1, .ack_timeout = 0, .retry_count = 1});
  bench.peer().inbox().clear();
  for (std::uint32_t i = 0; i < 2; ++i) {
    post(bench, c, to_there(SendOpcode::send, i), 16);
    if (!next_packet(bench, check, "a SEND", "a SEND")) return;
    check.that(bench.peer().silent_for(Duration::s(8)), "nothing is repeated when the ACK timeout is 0", "a packet");
    acknowledge(bench, c, i, i + 1);
    const auto done = c.queue->wait_send(kAnswerTime);
    check.that(done && done->status == CompletionStatus::success, "the SEND completes when it is acknowledged", "it does not");
  }
}

CONFORMANCE_CASE(each_count_of_rnr_retries_is_kept, "rdma.requester.every-rnr-count", roles::requester, reaches{"rc.rnr.wait"},
                 beyond_interfaces("the interface has one status for all timeouts")) {
  for (std::uint8_t retries = 0; retries < 7; ++retries) {
    const auto c = bench.connect_to_product({}, {.mtu_code = 1, .ack_timeout = 19, .rnr_retry_count = retries});
    bench.peer().inbox().clear();
    post(bench, c, to_there(SendOpcode::send, 5), 16);
    unsigned copies = 0;
    while (copies < 12 && bench.peer().wait_packet(kAnswerTime)) {
      ++copies;
      acknowledge(bench, c, 0, 0, roce::rnr_syndrome(1));
    }
    check.equal("copies of a SEND with " + std::to_string(retries) + " RNR retries", copies, retries + 1u);
    const auto end = c.queue->wait_send(kAnswerTime);
    if (!expect(check, end.has_value(), "after the RNR retries", "a completion", "none")) return;
    check.equal("its status", end->status, CompletionStatus::rnr_retry_exceeded);
  }
}

CONFORMANCE_CASE(each_wrong_response_fails_its_read, "rdma.requester.every-wrong-response", roles::requester, sends_malformed,
                 beyond_interfaces("the interface has one status for all errors of this side")) {
  constexpr Opcode kF = Opcode::read_response_first, kM = Opcode::read_response_middle, kL = Opcode::read_response_last,
                   kO = Opcode::read_response_only;
  struct Row {
    std::size_t length;
    std::vector<std::pair<Opcode, std::size_t>> answers;  ///< the last of them is wrong
  };
  constexpr std::size_t m = kSmallMtu;
  const Row rows[] = {{16, {{kF, 16}}},
                      {16, {{kM, 16}}},
                      {16, {{kL, 16}}},
                      {16, {{kO, 15}}},
                      {16, {{kO, 17}}},
                      {16, {{kO, 20}}},
                      {16, {{kO, 0}}},
                      {m, {{kF, m}}},
                      {m, {{kO, m - 1}}},
                      {m, {{kO, m - 4}}},
                      {m, {{kO, m + 4}}},
                      {2 * m, {{kO, m}}},
                      {2 * m, {{kL, m}}},
                      {2 * m, {{kM, m}}},
                      {2 * m, {{kF, m - 4}}},
                      {2 * m, {{kF, m + 4}}},
                      {2 * m, {{kF, m}, {kO, m}}},
                      {2 * m, {{kF, m}, {kF, m}}},
                      {2 * m, {{kF, m}, {kM, m}}},
                      {2 * m, {{kF, m}, {kL, m - 4}}},
                      {2 * m, {{kF, m}, {kL, m + 4}}},
                      {3 * m, {{kF, m}, {kL, m}}},
                      {3 * m, {{kF, m}, {kF, m}}},
                      {3 * m, {{kF, m}, {kM, m - 4}}},
                      {2 * m + 9, {{kF, m}, {kM, m}, {kL, 8}}},
                      {2 * m + 9, {{kF, m}, {kM, m}, {kL, 12}}}};
  for (const Row& row : rows) {
    const auto c = bench.connect_to_product({}, kPatient);
    bench.peer().inbox().clear();
    auto& memory = bench.product().memory(4 * m);
    const Bytes before = memory.bytes;
    c.queue->post_send(to_there(SendOpcode::rdma_read, 5), memory, 16, static_cast<std::uint32_t>(row.length));
    if (!next_packet(bench, check, "a READ", "a READ request")) return;
    std::string what = "a READ of " + std::to_string(row.length) + " bytes answered by";
    for (std::size_t i = 0; i < row.answers.size(); ++i) {
      const auto& [opcode, size] = row.answers[i];
      bench.peer().send(response(c, opcode, static_cast<std::uint32_t>(i), pattern(size)));
      what += " " + std::string(roce::facts_of(opcode).name) + " of " + std::to_string(size);
    }
    const auto end = c.queue->wait_send(kAnswerTime);
    check.that(!end || end->status != CompletionStatus::success, what + " does not succeed", "it does");
    if (end) check.equal("status of " + what, end->status, CompletionStatus::bad_response);
    check.bytes("memory before it", part(memory.bytes, 0, 16), part(before, 0, 16));
    check.bytes("memory behind it", part(memory.bytes, 16 + row.length, 64), part(before, 16 + row.length, 64));
  }
}

CONFORMANCE_CASE(answers_out_of_the_window_change_nothing, "rdma.requester.every-ghost", roles::requester, sends_malformed) {
  const auto c = bench.connect_to_product({}, kPatient);
  bench.peer().inbox().clear();
  auto& memory = bench.product().memory(64);
  const Bytes before = memory.bytes;
  std::uint32_t ordinal = 0;
  for (; ordinal < 3; ++ordinal) {
    post(bench, c, to_there(SendOpcode::send, ordinal), 16);
    if (!next_packet(bench, check, "a SEND", "a SEND")) return;
    acknowledge(bench, c, ordinal, ordinal + 1);
    if (!c.queue->wait_send(kAnswerTime)) return;
  }
  post(bench, c, to_there(SendOpcode::send, 8), 16);
  c.queue->post_send(to_there(SendOpcode::rdma_read, 9), memory, 0, 32);
  if (!next_packet(bench, check, "a SEND", "a SEND")) return;
  if (!next_packet(bench, check, "a READ", "a READ request")) return;
  // Before what is open, and behind what was sent; far away in both directions.
  for (const std::uint32_t far : {1u, 2u, 3u, 0x1000u, 0x7FFFFEu, 0x800000u, 0x800004u, 0xFFFFF0u}) {
    for (const std::uint32_t at : {ordinal - far, ordinal + far}) {
      if ((at & roce::kPsnMask) == ordinal || (at & roce::kPsnMask) == ordinal + 1) continue;
      acknowledge(bench, c, at, 3);
      acknowledge(bench, c, at, 3, roce::rnr_syndrome(1));
      for (std::uint8_t nak = 0; nak < 4; ++nak) acknowledge(bench, c, at, 3, static_cast<std::uint8_t>(0x60 | nak));
      bench.peer().send(response(c, Opcode::read_response_only, at, pattern(32)));
      RocePacket atomic = response(c, Opcode::atomic_acknowledge, at, {});
      atomic.atomic_ack.emplace();
      bench.peer().send(atomic);
    }
  }
  expect(check, !c.queue->wait_send(Duration::ms(5)), "after answers to what is not open", "no completion", "a completion");
  expect(check, bench.peer().silent_for(Duration::ms(5)), "after answers to what is not open", "silence", "a packet");
  check.bytes("memory after them", memory.bytes, before);
  bench.peer().send(response(c, Opcode::read_response_only, ordinal + 1, pattern(32), 5));
  const auto sent = c.queue->wait_send(kAnswerTime);
  check.that(sent && sent->status == CompletionStatus::success, "the right answer completes the SEND before the READ", "it does not");
  const auto end = c.queue->wait_send(kAnswerTime);
  if (!expect(check, end.has_value(), "after the right answer", "a completion", "none")) return;
  check.equal("its status", end->status, CompletionStatus::success);
  check.bytes("what it brought", part(memory.bytes, 0, 32), pattern(32));
}

}  // namespace fb::conformance
