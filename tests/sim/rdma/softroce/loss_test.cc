// One packet lost, at every position, in either direction, for each kind of message: the data is
// right and there is one completion.
#include <ostream>

#include "tests/sim/rdma/softroce/rig.h"

namespace fb::softroce {
namespace {

using rdma::CompletionStatus;
using rdma::SendOpcode;

struct LoseOne final : net::LinkFilter {
  std::string link;
  std::uint64_t ordinal = 0;
  std::uint64_t count = 1;
  net::Verdict verdict = net::Verdict::dropped();
  int hits = 0;
  net::Verdict on_packet(net::PacketContext& packet) override {
    if (packet.link != link || packet.ordinal < ordinal || packet.ordinal >= ordinal + count) {
      return net::Verdict::pass();
    }
    ++hits;
    return verdict;
  }
};

class Loss : public testing::TestWithParam<SendOpcode> {
 protected:
  static constexpr std::uint32_t kLength = 5 * 256 + 17;

  /// One message of six packets between two that are small, with the filter in place.
  static void run(LoseOne& filter) {
    RigOptions o;
    o.mtu_code = 1;
    o.psn_a = 0xFFFFFD;
    Rig rig(o);
    rig.a.fill(1);
    rig.b.fill(2);
    store_le<std::uint64_t>(&rig.b.memory[0x8000], 5);
    const Bytes remote = rig.b.memory;
    rig.network.set_filter(&filter);
    for (std::uint64_t i = 0; i < 3; ++i) rig.b.post_receive(i, 0x4000 + 0x1000 * i, 0x1000);
    const SendOpcode opcode = GetParam();
    const bool atomic = opcode == SendOpcode::fetch_and_add;
    ASSERT_TRUE(rig.a.post(SendOpcode::send, 1, 0, 4));
    ASSERT_TRUE(rig.a.post_to(rig.b, opcode, 2, 0x100, atomic ? 8 : kLength, atomic ? 0x8000 : 0x2000, [](auto& r) {
      r.swap_or_add = 3;
      r.immediate = 77;
    }));
    ASSERT_TRUE(rig.a.post(SendOpcode::send, 3, 0x10, 4));
    ASSERT_TRUE(rig.settle());
    const auto sent = rig.a.sends();
    ASSERT_EQ(sent.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(sent[i].id, i + 1);
      EXPECT_EQ(sent[i].status, CompletionStatus::success);
    }
    const bool takes_receive = opcode == SendOpcode::send || opcode == SendOpcode::rdma_write_with_immediate;
    const auto received = rig.b.receives();
    ASSERT_EQ(received.size(), takes_receive ? 3u : 2u);
    EXPECT_TRUE(same(rig.b.bytes(0x4000, 4), rig.a.bytes(0, 4)));
    EXPECT_TRUE(same(rig.b.bytes(takes_receive ? 0x6000 : 0x5000, 4), rig.a.bytes(0x10, 4)));
    switch (opcode) {
      case SendOpcode::send:
        EXPECT_EQ(received[1].byte_length, kLength);
        EXPECT_TRUE(same(rig.b.bytes(0x5000, kLength), rig.a.bytes(0x100, kLength)));
        break;
      case SendOpcode::rdma_read:
        EXPECT_TRUE(same(rig.a.bytes(0x100, kLength), ByteView{remote}.subspan(0x2000, kLength)));
        break;
      case SendOpcode::fetch_and_add:
        EXPECT_EQ(load_le<std::uint64_t>(&rig.b.memory[0x8000]), 8u);
        EXPECT_EQ(load_le<std::uint64_t>(&rig.a.memory[0x100]), 5u);
        break;
      default:
        EXPECT_TRUE(same(rig.b.bytes(0x2000, kLength), rig.a.bytes(0x100, kLength)));
        break;
    }
  }
};

TEST_P(Loss, EveryPacketOfEitherDirectionOnce) {
  for (const char* link : {"a->b", "b->a"}) {
    for (std::uint64_t ordinal = 0; ordinal < 9; ++ordinal) {
      for (std::uint64_t count = 1; count <= 3; ++count) {
        SCOPED_TRACE(std::string(link) + " " + std::to_string(ordinal) + "+" + std::to_string(count));
        LoseOne filter;
        filter.link = link;
        filter.ordinal = ordinal;
        filter.count = count;
        run(filter);
      }
    }
  }
}

TEST_P(Loss, EveryPacketDuplicatedOrOvertaken) {
  for (const char* link : {"a->b", "b->a"}) {
    for (std::uint64_t ordinal = 0; ordinal < 9; ++ordinal) {
      for (int kind = 0; kind < 3; ++kind) {
        SCOPED_TRACE(std::string(link) + " " + std::to_string(ordinal) + " " + std::to_string(kind));
        LoseOne filter;
        filter.link = link;
        filter.ordinal = ordinal;
        filter.verdict = kind == 0   ? net::Verdict::duplicated()
                         : kind == 1 ? net::Verdict::duplicated(Duration::us(50))
                                     : net::Verdict::delayed(Duration::us(50));
        run(filter);
      }
    }
  }
}

class RequestLoss : public testing::TestWithParam<SendOpcode> {};

TEST_P(RequestLoss, IsReportedAndDoesNotWaitForTheTimer) {
  RigOptions o;
  o.mtu_code = 1;
  Rig rig(o);
  LoseOne filter;
  filter.link = "a->b";
  filter.ordinal = 2;
  rig.network.set_filter(&filter);
  rig.b.post_receive(1, 0, 0x1000);
  rig.a.post_to(rig.b, GetParam(), 1, 0x100, 1297, 0x2000);
  rig.settle();
  EXPECT_EQ(filter.hits, 1);
  EXPECT_EQ(rig.a.sends().size(), 1u);
  EXPECT_EQ(rig.a.device->counters().ack_timeouts, 0u);
  EXPECT_EQ(rig.b.device->counters().sequence_naks_sent, 1u);
  EXPECT_LT(rig.world->now(), Instant{} + Duration::us(100));
}

INSTANTIATE_TEST_SUITE_P(Messages, RequestLoss,
                         testing::Values(SendOpcode::send, SendOpcode::rdma_write, SendOpcode::rdma_write_with_immediate));

INSTANTIATE_TEST_SUITE_P(Messages, Loss,
                         testing::Values(SendOpcode::send, SendOpcode::rdma_write, SendOpcode::rdma_write_with_immediate,
                                         SendOpcode::rdma_read, SendOpcode::fetch_and_add));

}  // namespace
}  // namespace fb::softroce
