// The requester against a raw peer: recovery, waits, counters and statuses, with virtual time to
// the nanosecond.
#include <ostream>

#include "tests/sim/rdma/softroce/raw_peer.h"

namespace fb::softroce {
namespace {

using rdma::CompletionStatus;
using rdma::QpState;
using rdma::SendOpcode;
using roce::Opcode;

constexpr std::uint32_t kPsn = 0x200;  // first PSN that the device sends
constexpr std::uint32_t kMtu = 1024;
const Duration kLink = Duration::us(5);

RawPacket answer(std::uint32_t psn, std::uint8_t syndrome) {
  RawPacket p;
  p.opcode = Opcode::acknowledge;
  p.psn = psn;
  p.headers = aeth(syndrome, 1);
  p.ack_request = false;
  return p;
}
RawPacket ack(std::uint32_t psn) { return answer(psn, 0x1F); }
RawPacket response(Opcode opcode, std::uint32_t psn, Bytes payload) {
  RawPacket p;
  p.opcode = opcode;
  p.psn = psn;
  if (opcode != Opcode::read_response_middle) p.headers = aeth(0x1F, 1);
  p.payload = std::move(payload);
  p.ack_request = false;
  return p;
}
std::vector<std::uint32_t> psns(const std::vector<SeenPacket>& seen) {
  std::vector<std::uint32_t> all;
  for (const SeenPacket& s : seen) all.push_back(s.psn - kPsn);
  return all;
}
using Numbers = std::vector<std::uint32_t>;

struct Requester : testing::Test {
  explicit Requester(const RigOptions& o = {}) : rig(o) {}
  void send(std::uint32_t length, std::uint64_t id = 1) { ASSERT_TRUE(rig.dut.post(SendOpcode::send, id, 0, length)); }
  void read(std::uint32_t length, std::uint64_t id = 1) {
    ASSERT_TRUE(rig.dut.post(SendOpcode::rdma_read, id, 0, length, [](auto& r) {
      r.remote_address = 0x10000;
      r.rkey = 0x1234;
    }));
  }
  /// Runs for a time in which no timer of the device fires.
  void run() { rig.world->run_for(Duration::us(100)); }
  std::vector<SeenPacket> after(const std::vector<RawPacket>& packets) {
    rig.peer.seen.clear();
    for (const RawPacket& p : packets) rig.peer.send(p);
    run();
    return rig.peer.seen;
  }
  RawRig rig;
};

TEST_F(Requester, SendsFirstMiddleLastAndAsksForAnAck) {
  send(2 * kMtu + 5);
  run();
  const auto& seen = rig.peer.seen;
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].opcode, Opcode::send_first);
  EXPECT_EQ(seen[1].opcode, Opcode::send_middle);
  EXPECT_EQ(seen[2].opcode, Opcode::send_last);
  EXPECT_EQ(psns(seen), (Numbers{0, 1, 2}));
  EXPECT_FALSE(seen[0].ack_request || seen[1].ack_request);
  EXPECT_TRUE(seen[2].ack_request);
  EXPECT_EQ(seen[0].qpn, RawPeer::kQpn);
  EXPECT_TRUE(rig.dut.sends().empty());
  EXPECT_TRUE(after({ack(kPsn + 2)}).empty());
  EXPECT_EQ(rig.dut.sends().size(), 1u);
  EXPECT_TRUE(rig.settle());
}

TEST_F(Requester, AnUnsignaledWriteLeavesTheAckToTheSendBehindIt) {
  rig.dut.post(SendOpcode::rdma_write, 1, 0, 16, [](auto& r) { r.signaled = false; });
  send(16, 2);
  run();
  ASSERT_EQ(rig.peer.seen.size(), 2u);
  EXPECT_FALSE(rig.peer.seen[0].ack_request);
  EXPECT_TRUE(rig.peer.seen[1].ack_request);
  after({ack(kPsn + 1)});
  const auto sent = rig.dut.sends();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].id, 2u);
}

TEST_F(Requester, OneAckCompletesSeveral) {
  for (std::uint64_t i = 0; i < 5; ++i) send(10, i);
  run();
  after({ack(kPsn + 3)});
  EXPECT_EQ(rig.dut.sends().size(), 4u);
  // An older one means nothing, nor does one for what was never sent.
  after({ack(kPsn + 1), ack(kPsn + 5), ack(kPsn + 0x7FFFFF)});
  EXPECT_TRUE(rig.dut.sends().empty());
  EXPECT_EQ(rig.counters().drop_old_response, 1u);
  EXPECT_EQ(rig.counters().drop_ghost_ack, 2u);
  after({ack(kPsn + 4)});
  EXPECT_EQ(rig.dut.sends().size(), 1u);
}

TEST_F(Requester, AnyCreditCodeIsAnAck) {
  for (std::uint8_t code = 0; code < 32; ++code) send(1, code);
  run();
  std::vector<RawPacket> acks;
  for (std::uint8_t code = 0; code < 32; ++code) acks.push_back(answer(kPsn + code, code));
  after(acks);
  EXPECT_EQ(rig.dut.sends().size(), 32u);
}

TEST_F(Requester, SequenceNakGoesBackOnce) {
  for (std::uint64_t i = 0; i < 4; ++i) send(10, i);
  run();
  EXPECT_EQ(psns(after({answer(kPsn + 1, 0x60)})), (Numbers{1, 2, 3}));
  EXPECT_EQ(rig.dut.sends().size(), 1u);  // a NAK acknowledges what is before it
  // The same again, without progress between, is a copy.
  EXPECT_TRUE(after({answer(kPsn + 1, 0x60)}).empty());
  after({ack(kPsn + 2)});
  EXPECT_EQ(psns(after({answer(kPsn + 3, 0x60)})), (Numbers{3}));
}

class RnrCodes : public testing::TestWithParam<int> {};

TEST_P(RnrCodes, WaitsExactlyAsLongAsAsked) {
  const auto code = static_cast<std::uint8_t>(GetParam());
  RawRig rig;
  rig.dut.post(SendOpcode::send, 1, 0, 10);
  rig.dut.post(SendOpcode::send, 2, 0, 10);
  rig.world->run_for(kLink);
  rig.peer.seen.clear();
  rig.peer.send(answer(kPsn, roce::rnr_syndrome(code)));
  const Instant arrives = rig.world->now() + kLink;
  rig.world->run_until([&] { return rig.peer.seen.size() == 2; }, Duration::s(2));
  ASSERT_EQ(rig.peer.seen.size(), 2u);
  EXPECT_EQ(rig.peer.seen[0].psn, kPsn);
  EXPECT_EQ(rig.peer.seen[0].time - (arrives + kLink), roce::rnr_delay(code));
  EXPECT_EQ(rig.counters().ack_timeouts, 0u);
}
INSTANTIATE_TEST_SUITE_P(All, RnrCodes, testing::Range(0, 32));

TEST_F(Requester, InTheRnrWaitTimeoutsAndSequenceNaksMeanNothing) {
  send(10, 1);
  send(10, 2);
  run();
  EXPECT_TRUE(after({answer(kPsn, 0x20), answer(kPsn, 0x60)}).empty());
  EXPECT_EQ(rig.counters().drop_ignored_nak, 1u);
  rig.peer.seen.clear();
  rig.world->run_for(Duration::ms(650));
  EXPECT_TRUE(rig.peer.seen.empty());
  rig.world->run_for(Duration::ms(6));
  EXPECT_EQ(psns(rig.peer.seen).size(), 2u);
}

TEST(RequesterRnr, RetriesAreCountedExactly) {
  for (std::uint8_t count = 0; count < 7; ++count) {
    RigOptions o;
    o.rnr_retry_count = count;
    RawRig rig(o);
    int sent = 0;
    rig.peer.on_seen = [&](const SeenPacket& p) {
      ++sent;
      rig.peer.send(answer(p.psn, 0x21));
    };
    rig.dut.post(SendOpcode::send, 1, 0, 10);
    EXPECT_TRUE(rig.settle());
    EXPECT_EQ(sent, 1 + count);
    const auto completions = rig.dut.sends();
    ASSERT_EQ(completions.size(), 1u);
    EXPECT_EQ(completions[0].status, CompletionStatus::rnr_retry_exceeded);
    EXPECT_EQ(rig.dut.qp->state(), QpState::error);
  }
}

TEST(RequesterRnr, SevenIsForEver) {
  RawRig rig;
  int sent = 0;
  rig.peer.on_seen = [&](const SeenPacket& p) {
    if (++sent <= 1000) rig.peer.send(answer(p.psn, 0x21));
  };
  rig.dut.post(SendOpcode::send, 1, 0, 10);
  rig.world->run_until([&] { return sent > 1000; }, Duration::s(10));
  EXPECT_EQ(sent, 1001);
  EXPECT_EQ(rig.dut.qp->state(), QpState::ready_to_send);
}

TEST(RequesterRetry, CountAndTimesAreExact) {
  for (std::uint8_t count = 0; count <= 7; ++count) {
    RigOptions o;
    o.retry_count = count;
    o.ack_timeout_code = 14;
    RawRig rig(o);
    rig.dut.post(SendOpcode::send, 1, 0, 10);
    EXPECT_TRUE(rig.settle());
    ASSERT_EQ(rig.peer.seen.size(), 1u + count);
    for (std::size_t i = 1; i < rig.peer.seen.size(); ++i) {
      EXPECT_EQ(rig.peer.seen[i].time - rig.peer.seen[i - 1].time, Duration::ns(4096 << 14));
      EXPECT_TRUE(rig.peer.seen[i].ack_request);
    }
    const auto completions = rig.dut.sends();
    ASSERT_EQ(completions.size(), 1u);
    EXPECT_EQ(completions[0].status, CompletionStatus::retry_exceeded);
    EXPECT_EQ(rig.world->now() - rig.peer.seen.back().time, Duration::ns(4096 << 14) - kLink);
  }
}

TEST(RequesterRetry, SevenIsForEverWhenAskedToBeLikeRxe) {
  RigOptions o;
  o.engine.endless_retry_seven = true;
  RawRig rig(o);
  rig.dut.post(SendOpcode::send, 1, 0, 10);
  rig.world->run_for(Duration::s(1));
  EXPECT_GT(rig.peer.seen.size(), 200u);
  EXPECT_EQ(rig.dut.qp->state(), QpState::ready_to_send);
}

TEST(RequesterRetry, TimeoutCodeZeroIsNever) {
  RigOptions o;
  o.ack_timeout_code = 0;
  RawRig rig(o);
  rig.dut.post(SendOpcode::send, 1, 0, 10);
  EXPECT_TRUE(rig.settle());
  EXPECT_EQ(rig.peer.seen.size(), 1u);
}

TEST(RequesterRetry, ProgressReloadsTheCountersAndRestartsTheTimer) {
  RigOptions o;
  o.retry_count = 1;
  o.ack_timeout_code = 10;
  RawRig rig(o);
  const Duration timeout = roce::ack_timeout(10);
  for (std::uint64_t i = 0; i < 3; ++i) rig.dut.post(SendOpcode::send, i, 0, 10);
  // One acknowledgement just before each timeout would pass: none fires.
  for (std::uint32_t i = 0; i < 2; ++i) {
    rig.world->run_for(timeout - Duration::us(20));
    rig.peer.send(ack(kPsn + i));
    rig.world->run_for(Duration::us(6));
  }
  EXPECT_EQ(rig.counters().ack_timeouts, 0u);
  // Two rounds with one timeout each: not two retries in a row.
  rig.world->run_for(timeout);
  EXPECT_EQ(rig.counters().ack_timeouts, 1u);
  rig.peer.send(ack(kPsn + 2));
  rig.world->run_for(Duration::us(20));
  rig.dut.post(SendOpcode::send, 9, 0, 10);
  rig.world->run_for(timeout + Duration::us(20));
  EXPECT_EQ(rig.counters().ack_timeouts, 2u);
  EXPECT_EQ(rig.dut.qp->state(), QpState::ready_to_send);
  rig.settle();
  EXPECT_EQ(rig.dut.qp->state(), QpState::error);
  EXPECT_EQ(rig.counters().ack_timeouts, 3u);
}

TEST(RequesterRetry, OldAcksDoNotReloadTheCounter) {
  RigOptions o;
  o.retry_count = 2;
  RawRig rig(o);
  rig.peer.on_seen = [&](const SeenPacket&) { rig.peer.send(ack(kPsn - 1)); };
  rig.dut.post(SendOpcode::send, 1, 0, 10);
  rig.settle();
  EXPECT_EQ(rig.peer.seen.size(), 3u);
}

struct FatalNak {
  std::uint8_t syndrome;
  CompletionStatus status;
};
TEST(RequesterErrors, FatalNaksHaveTheirStatus) {
  const FatalNak kCases[] = {{0x61, CompletionStatus::remote_invalid_request}, {0x62, CompletionStatus::remote_access_error},
                             {0x63, CompletionStatus::remote_operation_error}, {0x64, CompletionStatus::bad_response},
                             {0x7F, CompletionStatus::bad_response},           {0x40, CompletionStatus::bad_response}};
  for (const FatalNak& c : kCases) {
    RawRig rig;
    rig.dut.post_receive(50, 0, 10);
    for (std::uint64_t i = 0; i < 5; ++i) {
      rig.dut.post(SendOpcode::send, i, 0, 10, [&](auto& r) { r.signaled = i % 2 == 0; });
    }
    rig.world->run_for(Duration::us(20));
    rig.exchange({answer(kPsn + 2, c.syndrome)});
    const auto sent = rig.dut.sends();
    // 0 succeeded; 1 too, unsignaled; 2 failed; 3 and 4 are flushed in order, signaled or not.
    ASSERT_EQ(sent.size(), 4u);
    EXPECT_EQ(sent[0].status, CompletionStatus::success);
    EXPECT_EQ(sent[1].id, 2u);
    EXPECT_EQ(sent[1].status, c.status);
    EXPECT_EQ(sent[2].id, 3u);
    EXPECT_EQ(sent[3].id, 4u);
    EXPECT_EQ(sent[3].status, CompletionStatus::flushed);
    EXPECT_EQ(rig.dut.receives().size(), 1u);
    EXPECT_EQ(rig.dut.qp->state(), QpState::error);
    EXPECT_EQ(rig.dut.errors, 1);
    // What is posted now is flushed at once.
    EXPECT_TRUE(rig.dut.post(SendOpcode::rdma_write, 77, 0, 0));
    EXPECT_TRUE(rig.dut.post_receive(78, 0, 0));
    const auto late = rig.dut.sends();
    ASSERT_EQ(late.size(), 1u);
    EXPECT_EQ(late[0].status, CompletionStatus::flushed);
    EXPECT_EQ(rig.dut.receives().size(), 1u);
  }
}

TEST_F(Requester, ReadIsAskedForAgainFromTheMissingResponse) {
  const Bytes full(kMtu, 0x11);
  read(3 * kMtu + 8);
  run();
  ASSERT_EQ(rig.peer.seen.size(), 1u);
  EXPECT_EQ(to_hex(rig.peer.seen[0].headers),
            "0000000000010000"
            "00001234"
            "00000c08" +
                std::string());
  // The second response is lost; the third says so before any timer.
  auto seen = after({response(Opcode::read_response_first, kPsn, full), response(Opcode::read_response_middle, kPsn + 2, full)});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].opcode, Opcode::read_request);
  EXPECT_EQ(seen[0].psn, kPsn + 1);
  const View<roce::Reth> again{seen[0].headers};
  EXPECT_EQ(again.get(roce::reth::va), 0x10000u + kMtu);
  EXPECT_EQ(again.get(roce::reth::dmalen), 2 * kMtu + 8);
  EXPECT_EQ(rig.counters().implied_naks, 1u);
  after({response(Opcode::read_response_first, kPsn + 1, Bytes(kMtu, 0x22)),
         response(Opcode::read_response_middle, kPsn + 2, Bytes(kMtu, 0x33)),
         response(Opcode::read_response_last, kPsn + 3, Bytes(8, 0x44))});
  const auto sent = rig.dut.sends();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].byte_length, 3 * kMtu + 8);
  EXPECT_EQ(rig.dut.memory[0], 0x11);
  EXPECT_EQ(rig.dut.memory[kMtu], 0x22);
  EXPECT_EQ(rig.dut.memory[2 * kMtu], 0x33);
  EXPECT_EQ(rig.dut.memory[3 * kMtu + 7], 0x44);
}

TEST_F(Requester, AnAckBehindAReadImpliesThatItsResponseIsLost) {
  read(8, 1);
  send(8, 2);
  run();
  const auto seen = after({ack(kPsn + 1)});
  EXPECT_EQ(psns(seen), (Numbers{0, 1}));
  EXPECT_TRUE(rig.dut.sends().empty());
  // Both are answered in the end.
  after({response(Opcode::read_response_only, kPsn, Bytes(8, 1)), ack(kPsn + 1)});
  EXPECT_EQ(rig.dut.sends().size(), 2u);
}

TEST_F(Requester, AReadResponseAcknowledgesWhatIsBeforeIt) {
  send(8, 1);
  read(8, 2);
  run();
  after({response(Opcode::read_response_only, kPsn + 1, Bytes(8, 1))});
  EXPECT_EQ(rig.dut.sends().size(), 2u);
}

TEST(RequesterErrors, BadResponses) {
  const Bytes full(kMtu, 1);
  const std::vector<std::vector<RawPacket>> kCases = {
      {response(Opcode::read_response_only, kPsn, full)},                                                          // more is to come
      {response(Opcode::read_response_middle, kPsn, full)},                                                        // not begun
      {response(Opcode::read_response_first, kPsn, Bytes(kMtu - 4, 1))},                                           // too short
      {response(Opcode::read_response_first, kPsn, full), response(Opcode::read_response_first, kPsn + 1, full)},  // begun twice
      {response(Opcode::read_response_first, kPsn, full), response(Opcode::read_response_last, kPsn + 1, full)},   // ends too early
  };
  for (const auto& packets : kCases) {
    RawRig rig;
    rig.dut.post(SendOpcode::rdma_read, 1, 0, 3 * kMtu);
    rig.world->run_for(Duration::us(20));
    rig.exchange(packets);
    const auto sent = rig.dut.sends();
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].status, CompletionStatus::bad_response);
    EXPECT_EQ(rig.dut.qp->state(), QpState::error);
  }
}

TEST(RequesterErrors, LocalKeysAreChecked) {
  RawRig rig;
  rig.dut.post(SendOpcode::send, 1, 0, 16);
  rdma::Sge sge = rig.dut.region->sge(0, 100);
  sge.length = 1 << 20;
  rdma::SendRequest request;
  request.id = 2;
  request.sges = {&sge, 1};
  ASSERT_TRUE(rig.dut.qp->post_send(request));
  rig.dut.post(SendOpcode::send, 3, 0, 16);
  rig.world->run_for(Duration::us(20));
  EXPECT_EQ(rig.dut.qp->state(), QpState::ready_to_send);  // the first is still under way
  rig.exchange({ack(kPsn)});
  const auto sent = rig.dut.sends();
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0].status, CompletionStatus::success);
  EXPECT_EQ(sent[1].status, CompletionStatus::local_protection_error);
  EXPECT_EQ(sent[2].status, CompletionStatus::flushed);
}

TEST(RequesterErrors, ReadsIntoMemoryWithoutTheRight) {
  RigOptions o;
  o.access = rdma::Access::remote_read;
  RawRig rig(o);
  rig.dut.post(SendOpcode::rdma_read, 1, 0, 8);
  rig.world->run_for(Duration::us(20));
  rig.exchange({response(Opcode::read_response_only, kPsn, Bytes(8, 1))});
  const auto sent = rig.dut.sends();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].status, CompletionStatus::local_access_error);
}

TEST(RequesterErrors, ReadsWhereThePeerServesNone) {
  RigOptions o;
  o.depth = 0;
  RawRig rig(o);
  rig.dut.post(SendOpcode::rdma_read, 1, 0, 8);
  rig.settle();
  const auto sent = rig.dut.sends();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].status, CompletionStatus::local_qp_operation_error);
  EXPECT_TRUE(rig.peer.seen.empty());
}

TEST(RequesterErrors, LocalOperations) {
  RawRig rig;
  auto fast = rig.dut.domain->allocate_fast_region(4096);
  rdma::SendRequest registration;
  registration.opcode = SendOpcode::fast_register;
  registration.region = fast.get();
  registration.memory = MutableBytes{rig.dut.memory}.first(4096);
  registration.key_byte = 9;
  ASSERT_TRUE(rig.dut.qp->post_send(registration));
  rdma::SendRequest invalidate;
  invalidate.id = 2;
  invalidate.opcode = SendOpcode::local_invalidate;
  invalidate.invalidate_rkey = (fast->rkey() & ~0xFFu) | 9;
  // It waits for everything before it.
  rig.dut.post(SendOpcode::send, 1, 0, 8);
  ASSERT_TRUE(rig.dut.qp->post_send(invalidate));
  rig.world->run_for(Duration::us(20));
  EXPECT_EQ(rig.dut.sends().size(), 1u);
  EXPECT_EQ(fast->length(), 4096u);
  rig.exchange({ack(kPsn)});
  auto sent = rig.dut.sends();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[1].opcode, rdma::CompletionOpcode::local_invalidate);
  EXPECT_EQ(fast->length(), 0u);
  // A free region cannot be invalidated.
  ASSERT_TRUE(rig.dut.qp->post_send(invalidate));
  rig.settle();
  sent = rig.dut.sends();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].status, CompletionStatus::local_qp_operation_error);
  EXPECT_EQ(rig.dut.qp->state(), QpState::error);
}

TEST(RequesterPost, LimitsAndStates) {
  RigOptions o;
  o.send_entries = 3;
  RawRig rig(o);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(rig.dut.post(SendOpcode::send, i, 0, 8));
  EXPECT_FALSE(rig.dut.post(SendOpcode::send, 3, 0, 8));
  rig.world->run_for(Duration::us(20));
  rig.exchange({ack(kPsn + 2)});
  EXPECT_FALSE(rig.dut.post(SendOpcode::send, 3, 0, 300, [](auto& r) { r.inline_data = true; }));
  EXPECT_FALSE(rig.dut.post(SendOpcode::fetch_and_add, 3, 0, 4));
  EXPECT_FALSE(rig.dut.post(SendOpcode::fast_register, 3, 0, 0));
  rdma::QueuePairOptions qpo;
  qpo.send_queue = rig.dut.send_cq.get();
  qpo.receive_queue = rig.dut.receive_cq.get();
  auto fresh = rig.dut.device->create_queue_pair(*rig.dut.domain, qpo);
  EXPECT_FALSE(fresh->post_send({}));
  EXPECT_TRUE(fresh->post_receive({}));
  EXPECT_EQ(fresh->state(), QpState::init);
}

}  // namespace
}  // namespace fb::softroce
