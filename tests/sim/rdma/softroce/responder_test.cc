// The responder against a raw peer: order, acknowledgements, RNR, replay.
#include <ostream>

#include "tests/sim/rdma/softroce/raw_peer.h"

namespace fb::softroce {
namespace {

using rdma::Access;
using rdma::CompletionStatus;
using rdma::QpState;
using roce::Opcode;

constexpr std::uint32_t kPsn = 0x100;
constexpr std::uint32_t kMtu = 1024;

RawPacket packet(Opcode opcode, std::uint32_t psn, Bytes headers = {}, std::size_t payload = 0) {
  RawPacket p;
  p.opcode = opcode;
  p.psn = psn;
  p.headers = std::move(headers);
  p.payload = Bytes(payload, 0x5A);
  return p;
}

TEST(Responder, AcceptsWhatItMustNotLookAt) {
  RawRig rig;
  for (int i = 0; i < 6; ++i) rig.dut.post_receive(1, 0, 100);
  RawPacket p[6];
  for (std::uint32_t i = 0; i < 6; ++i) p[i] = packet(Opcode::send_only, kPsn + i, {}, 5);
  p[0].pkey = 0x7FFF;
  p[1].migreq = true;
  p[2].fecn = true;
  p[3].reserved_bits = true;
  p[4].pad_byte = 0xEE;
  p[5].udp_source = 0xC123;
  for (std::uint32_t i = 0; i < 6; ++i) {
    const auto seen = rig.exchange({p[i]});
    ASSERT_EQ(seen.size(), 1u) << i;
    EXPECT_EQ(seen[0].psn, kPsn + i);
  }
  EXPECT_EQ(rig.dut.receives().size(), 6u);
}

TEST(Responder, ForeignAddressIsDropped) {
  RawRig rig;
  auto& third = rig.network.add_host("third", IpAddress::v4(10, 0, 0, 3));
  RawPeer stranger(*rig.world, third);
  stranger.device_address = rig.peer.device_address;
  stranger.device_qpn = rig.peer.device_qpn;
  rig.dut.post_receive(1, 0, 100);
  stranger.send(packet(Opcode::send_only, kPsn, {}, 16));
  rig.settle();
  EXPECT_EQ(rig.counters().drop_foreign_address, 1u);
  EXPECT_TRUE(rig.dut.receives().empty());
}

TEST(Responder, GapIsReportedOncePerGap) {
  RawRig rig;
  for (int i = 0; i < 8; ++i) rig.dut.post_receive(1, 0, 100);
  auto send = [&](std::uint32_t psn) { return packet(Opcode::send_only, psn, {}, 4); };
  auto seen = rig.exchange({send(kPsn + 1), send(kPsn + 2)});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].syndrome(), 0x60);
  EXPECT_EQ(seen[0].psn, kPsn);
  EXPECT_TRUE(rig.exchange({send(kPsn + 3)}).empty());
  seen = rig.exchange({send(kPsn)});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].syndrome(), 0x1F);
  seen = rig.exchange({send(kPsn + 5)});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].syndrome(), 0x60);
  EXPECT_EQ(seen[0].psn, kPsn + 1);
}

TEST(Responder, HalfTheRangeIsNewAndHalfIsOld) {
  RawRig rig;
  rig.dut.post_receive(1, 0, 100);
  auto seen = rig.exchange({packet(Opcode::send_only, kPsn + 0x7FFFFF, {}, 4)});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].syndrome(), 0x60);
  seen = rig.exchange({packet(Opcode::send_only, kPsn + 0x800000, {}, 4)});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].syndrome(), 0x1F);  // as any duplicate
  EXPECT_TRUE(rig.dut.receives().empty());
}

TEST(Responder, DuplicatesAreAcknowledgedWithTheNewestPsn) {
  RawRig rig;
  for (int i = 0; i < 8; ++i) rig.dut.post_receive(1, 0, 100);
  for (std::uint32_t i = 0; i < 3; ++i) {
    RawPacket p = packet(Opcode::send_only, kPsn + i, {}, 4);
    p.ack_request = i == 2;
    EXPECT_EQ(rig.exchange({p}).size(), i == 2 ? 1u : 0u);  // none unasked
  }
  EXPECT_EQ(rig.dut.receives().size(), 3u);
  rig.dut.memory[0] = 0x11;
  const auto seen = rig.exchange({packet(Opcode::send_only, kPsn, {}, 4)});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].psn, kPsn + 2);
  EXPECT_EQ(seen[0].msn(), 3u);
  EXPECT_TRUE(rig.dut.receives().empty());
  EXPECT_EQ(rig.dut.memory[0], 0x11);
  EXPECT_EQ(rig.counters().duplicate_requests, 1u);
}

TEST(Responder, DuplicateInsideAMessageNeitherAdvancesNorRestartsIt) {
  RawRig rig;
  rig.dut.post_receive(1, 0, 4000);
  RawPacket first = packet(Opcode::send_first, kPsn, {}, kMtu);
  RawPacket middle = packet(Opcode::send_middle, kPsn + 1, {}, kMtu);
  RawPacket last = packet(Opcode::send_last, kPsn + 2, {}, 10);
  rig.exchange({first, middle, first, middle, last});
  const auto received = rig.dut.receives();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].byte_length, 2 * kMtu + 10);
}

TEST(Responder, AcknowledgementsOfABatchAreOne) {
  RawRig rig;
  for (int i = 0; i < 8; ++i) rig.dut.post_receive(1, 0, 100);
  std::vector<RawPacket> packets;
  for (std::uint32_t i = 0; i < 8; ++i) packets.push_back(packet(Opcode::send_only, kPsn + i, {}, 4));
  const auto seen = rig.exchange(packets);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].psn, kPsn + 7);
  EXPECT_EQ(seen[0].msn(), 8u);
}

TEST(Responder, AckDelayHoldsBackForItsTimeAtMost) {
  RigOptions o;
  o.engine.ack_delay = Duration::us(100);
  RawRig rig(o);
  rig.dut.post_receive(1, 0, 100);
  const Instant sent = rig.world->now();
  const auto seen = rig.exchange({packet(Opcode::send_only, kPsn, {}, 4)});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].time - sent, Duration::us(110));  // two link times more
}

TEST(Responder, ZeroLengthNeedsNoKey) {
  RawRig rig;
  auto seen = rig.exchange({packet(Opcode::write_only, kPsn, reth(0x1234, 0xBAD, 0))});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].syndrome(), 0x1F);
  seen = rig.exchange({packet(Opcode::read_request, kPsn + 1, reth(0x1234, 0xBAD, 0))});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].opcode, Opcode::read_response_only);
  EXPECT_EQ(seen[0].psn, kPsn + 1);
  EXPECT_EQ(seen[0].msn(), 2u);
}

TEST(Responder, ReceiverNotReady) {
  RigOptions o;
  o.min_rnr_timer_code = 14;
  RawRig rig(o);
  auto send = [&](std::uint32_t psn) { return packet(Opcode::send_only, psn, {}, 4); };
  auto seen = rig.exchange({send(kPsn), send(kPsn + 1), send(kPsn + 2)});
  ASSERT_EQ(seen.size(), 1u);  // silence behind the RNR NAK
  EXPECT_EQ(seen[0].syndrome(), 0x20 | 14);
  EXPECT_EQ(seen[0].psn, kPsn);
  EXPECT_EQ(seen[0].msn(), 0u);
  EXPECT_EQ(rig.counters().drop_while_not_ready, 2u);
  seen = rig.exchange({send(kPsn)});  // still none
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].syndrome(), 0x20 | 14);
  rig.dut.post_receive(1, 0, 100);
  seen = rig.exchange({send(kPsn)});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].syndrome(), 0x1F);
  EXPECT_EQ(rig.dut.receives().size(), 1u);
}

TEST(Responder, WriteWithImmediateIsRefusedAtThePacketThatNeedsTheReceive) {
  RawRig rig;
  const std::uint64_t va = rig.dut.region->address();
  const std::uint32_t rkey = rig.dut.region->rkey();
  const RawPacket first = packet(Opcode::write_first, kPsn, reth(va, rkey, kMtu + 4), kMtu);
  const RawPacket last = packet(Opcode::write_last_with_immediate, kPsn + 1, word(9), 4);
  auto seen = rig.exchange({first, last});
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back().syndrome(), 0x21);
  EXPECT_EQ(seen.back().psn, kPsn + 1);
  rig.dut.post_receive(5, 0, 0);
  seen = rig.exchange({last});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].syndrome(), 0x1F);
  const auto received = rig.dut.receives();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].immediate, 9u);
  EXPECT_EQ(received[0].byte_length, kMtu + 4);
}

TEST(Responder, ReadResponsesAndReplays) {
  RigOptions o;
  o.mtu_code = 1;
  o.psn_a = 0xFFFFFE;
  o.depth = 2;
  RawRig rig(o);
  rig.dut.fill(3);
  const std::uint64_t va = rig.dut.region->address();
  const std::uint32_t rkey = rig.dut.region->rkey();
  const std::uint32_t psn = 0xFFFFFE;
  auto seen = rig.exchange({packet(Opcode::read_request, psn, reth(va + 3, rkey, 900))});
  ASSERT_EQ(seen.size(), 4u);
  const Opcode opcodes[] = {Opcode::read_response_first, Opcode::read_response_middle, Opcode::read_response_middle,
                            Opcode::read_response_last};
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(seen[i].opcode, opcodes[i]);
    EXPECT_EQ(seen[i].psn, roce::psn_add(psn, i));
    EXPECT_TRUE(same(seen[i].payload, rig.dut.bytes(3 + 256 * i, i < 3 ? 256 : 132)));
  }
  EXPECT_EQ(seen[0].msn(), 1u);
  // From the third packet on, wholly and in part; the data is read anew.
  rig.dut.memory[3 + 512] ^= 0xFF;
  seen = rig.exchange({packet(Opcode::read_request, 0, reth(va + 3 + 512, rkey, 388))});
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].opcode, Opcode::read_response_first);
  EXPECT_EQ(seen[1].opcode, Opcode::read_response_last);
  EXPECT_EQ(seen[0].psn, 0u);
  EXPECT_TRUE(same(seen[0].payload, rig.dut.bytes(3 + 512, 256)));
  seen = rig.exchange({packet(Opcode::read_request, 0, reth(va + 3 + 512, rkey, 100))});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].opcode, Opcode::read_response_only);
  // Outside what is remembered: silence.
  EXPECT_TRUE(rig.exchange({packet(Opcode::read_request, 0, reth(va + 3 + 256, rkey, 388))}).empty());
  EXPECT_TRUE(rig.exchange({packet(Opcode::read_request, 0, reth(va + 3 + 512, rkey, 389))}).empty());
  EXPECT_TRUE(rig.exchange({packet(Opcode::read_request, 0, reth(va + 3 + 512, rkey ^ 1, 388))}).empty());
  EXPECT_EQ(rig.counters().drop_unknown_duplicate, 3u);
  // Two more reads push it out.
  rig.exchange({packet(Opcode::read_request, 2, reth(va, rkey, 4))});
  EXPECT_EQ(rig.exchange({packet(Opcode::read_request, psn, reth(va + 3, rkey, 900))}).size(), 4u);
  rig.exchange({packet(Opcode::read_request, 3, reth(va, rkey, 4))});
  EXPECT_TRUE(rig.exchange({packet(Opcode::read_request, psn, reth(va + 3, rkey, 900))}).empty());
  EXPECT_EQ(rig.dut.qp->state(), QpState::ready_to_send);
}

TEST(Responder, NothingStandsInsideATrainOfReadResponses) {
  RigOptions o;
  o.mtu_code = 1;
  o.engine.read_burst_packets = 4;
  RawRig rig(o);
  const std::uint64_t va = rig.dut.region->address();
  const std::uint32_t rkey = rig.dut.region->rkey();
  rig.dut.post_receive(1, 0, 100);
  // A read of 40 packets, a SEND behind it, and a gap behind that: all answers after the train.
  const auto seen = rig.exchange({packet(Opcode::read_request, kPsn, reth(va, rkey, 40 * 256)), packet(Opcode::send_only, kPsn + 40, {}, 4),
                                  packet(Opcode::send_only, kPsn + 42, {}, 4)});
  ASSERT_EQ(seen.size(), 41u);
  for (std::uint32_t i = 0; i < 40; ++i) EXPECT_EQ(seen[i].psn, kPsn + i);
  EXPECT_EQ(seen[40].syndrome(), 0x60);
  EXPECT_EQ(seen[40].psn, kPsn + 41);
}

TEST(Responder, ReplayInTheMiddleOfTrainsKeepsTheOrder) {
  RigOptions o;
  o.mtu_code = 1;
  o.engine.read_burst_packets = 2;
  RawRig rig(o);
  const std::uint64_t va = rig.dut.region->address();
  const std::uint32_t rkey = rig.dut.region->rkey();
  const RawPacket one = packet(Opcode::read_request, kPsn, reth(va, rkey, 8 * 256));
  const RawPacket two = packet(Opcode::read_request, kPsn + 8, reth(va, rkey, 8 * 256));
  const auto seen = rig.exchange({one, two, one});
  // The duplicate asks for nothing that had left; each PSN once.
  ASSERT_EQ(seen.size(), 16u);
  for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(seen[i].psn, kPsn + i);
}

TEST(Responder, AtomicIsExecutedOnceAndReplayed) {
  RawRig rig;
  const std::uint64_t va = rig.dut.region->address();
  const std::uint32_t rkey = rig.dut.region->rkey();
  store_le<std::uint64_t>(rig.dut.memory.data(), 0x0102030405060708);
  const RawPacket add = packet(Opcode::fetch_and_add, kPsn, atomic_eth(va, rkey, 1, 0));
  for (int i = 0; i < 3; ++i) {
    const auto seen = rig.exchange({add});
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_EQ(seen[0].opcode, Opcode::atomic_acknowledge);
    EXPECT_EQ(seen[0].msn(), 1u);
    EXPECT_EQ(to_hex(ByteView{seen[0].headers}.subspan(4)), "0102030405060708");
  }
  EXPECT_EQ(load_le<std::uint64_t>(rig.dut.memory.data()), 0x0102030405060709u);
  EXPECT_EQ(rig.counters().atomics_replayed, 2u);
}

TEST(Responder, InvalidateOfABadKeyIsTheRespondersErrorAlone) {
  RawRig rig;
  rig.dut.post_receive(1, 0, 100);
  // Ordinary regions cannot be invalidated from afar.
  const auto seen = rig.exchange({packet(Opcode::send_only_with_invalidate, kPsn, word(rig.dut.region->rkey()), 16)});
  EXPECT_TRUE(seen.empty());
  EXPECT_EQ(rig.dut.qp->state(), QpState::error);
  const auto received = rig.dut.receives();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].status, CompletionStatus::remote_invalid_request);
}

TEST(Responder, BadReceiveSgeIsARemoteOperationalError) {
  RawRig rig;
  rdma::Sge sge = rig.dut.region->sge(0, 100);
  sge.lkey ^= 1;
  rig.dut.qp->post_receive({3, {&sge, 1}});
  const auto seen = rig.exchange({packet(Opcode::send_only, kPsn, {}, 16)});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].syndrome(), 0x63);
  const auto received = rig.dut.receives();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].status, CompletionStatus::local_protection_error);
}

TEST(Responder, RegionInvalidatedInsideAWriteIsNotTouchedAgain) {
  RawRig rig;
  Bytes memory(8192);
  auto region = rig.dut.domain->register_memory(memory, rig.options.access);
  const RawPacket first = packet(Opcode::write_first, kPsn, reth(region->address(), region->rkey(), 2000), kMtu);
  rig.exchange({first});
  EXPECT_EQ(memory[0], 0x5A);
  region.reset();
  const auto seen = rig.exchange({packet(Opcode::write_last, kPsn + 1, {}, 2000 - kMtu)});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].syndrome(), 0x62);
  EXPECT_EQ(memory[kMtu], 0);
}

TEST(Responder, CompletionQueueOverrunFailsTheQueuePair) {
  RigOptions o;
  o.completion_entries = 2;
  RawRig rig(o);
  for (int i = 0; i < 4; ++i) rig.dut.post_receive(1, 0, 100);
  for (std::uint32_t i = 0; i < 3; ++i) rig.peer.send(packet(Opcode::send_only, kPsn + i, {}, 4));
  rig.settle();
  EXPECT_EQ(rig.dut.qp->state(), QpState::error);
  EXPECT_EQ(rig.dut.errors, 1);
  EXPECT_EQ(rig.dut.receives().size(), 2u);
}

TEST(Responder, MsnCountsUnacknowledgedMessagesToo) {
  RawRig rig;
  std::uint32_t psn = kPsn;
  for (int i = 0; i < 300; ++i) {
    RawPacket p = packet(Opcode::write_only, psn++, reth(0, 0, 0));
    p.ack_request = i == 299;
    rig.peer.send(p);
  }
  rig.settle();
  ASSERT_EQ(rig.peer.seen.size(), 1u);
  EXPECT_EQ(rig.peer.seen[0].msn(), 300u);
}

}  // namespace
}  // namespace fb::softroce
