// What each violation is answered with and how it completes; what is dropped without a word.
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

/// What a case may refer to.
struct Keys {
  std::uint64_t va;
  std::uint32_t rkey;
  std::uint32_t other_domain;
  std::uint64_t other_va;
  std::uint32_t read_only;
  std::uint64_t read_only_va;
};

struct Violation {
  const char* name;
  std::function<std::vector<RawPacket>(const Keys&)> packets;
  std::uint8_t syndrome;                                 ///< of the one NAK
  std::uint32_t nak_psn = kPsn;                          ///< which names this PSN
  CompletionStatus receive = CompletionStatus::flushed;  ///< status of the posted receive
  std::uint8_t depth = 16;
  Access rights = Access::none;  ///< none: as the connection gives
};
std::ostream& operator<<(std::ostream& out, const Violation& v) { return out << v.name; }

RawPacket packet(Opcode opcode, std::uint32_t psn, Bytes headers = {}, std::size_t payload = 0) {
  RawPacket p;
  p.opcode = opcode;
  p.psn = psn;
  p.headers = std::move(headers);
  p.payload = Bytes(payload, 0x5A);
  return p;
}

const Violation kViolations[] = {
    {"send_middle_without_first", [](const Keys&) { return std::vector{packet(Opcode::send_middle, kPsn, {}, kMtu)}; }, 0x61},
    {"send_last_without_first", [](const Keys&) { return std::vector{packet(Opcode::send_last, kPsn, {}, 8)}; }, 0x61},
    {"write_middle_without_first", [](const Keys&) { return std::vector{packet(Opcode::write_middle, kPsn, {}, kMtu)}; }, 0x61},
    {"send_first_inside_send",
     [](const Keys&) {
       return std::vector{packet(Opcode::send_first, kPsn, {}, kMtu), packet(Opcode::send_first, kPsn + 1, {}, kMtu)};
     },
     0x61, kPsn + 1},
    {"write_only_inside_send",
     [](const Keys& k) {
       return std::vector{packet(Opcode::send_first, kPsn, {}, kMtu), packet(Opcode::write_only, kPsn + 1, reth(k.va, k.rkey, 4), 4)};
     },
     0x61, kPsn + 1},
    {"send_middle_inside_write",
     [](const Keys& k) {
       return std::vector{packet(Opcode::write_first, kPsn, reth(k.va, k.rkey, 3000), kMtu),
                          packet(Opcode::send_middle, kPsn + 1, {}, kMtu)};
     },
     0x61, kPsn + 1},
    {"read_inside_write",
     [](const Keys& k) {
       return std::vector{packet(Opcode::write_first, kPsn, reth(k.va, k.rkey, 3000), kMtu),
                          packet(Opcode::read_request, kPsn + 1, reth(k.va, k.rkey, 16))};
     },
     0x61, kPsn + 1},
    {"send_first_shorter_than_mtu", [](const Keys&) { return std::vector{packet(Opcode::send_first, kPsn, {}, kMtu - 4)}; }, 0x61},
    {"send_middle_shorter_than_mtu",
     [](const Keys&) {
       return std::vector{packet(Opcode::send_first, kPsn, {}, kMtu), packet(Opcode::send_middle, kPsn + 1, {}, 32)};
     },
     0x61, kPsn + 1},
    {"send_last_empty",
     [](const Keys&) {
       return std::vector{packet(Opcode::send_first, kPsn, {}, kMtu), packet(Opcode::send_last, kPsn + 1)};
     },
     0x61, kPsn + 1},
    {"send_only_larger_than_mtu", [](const Keys&) { return std::vector{packet(Opcode::send_only, kPsn, {}, kMtu + 4)}; }, 0x61},
    {"send_longer_than_receive",
     [](const Keys&) {
       return std::vector{packet(Opcode::send_first, kPsn, {}, kMtu), packet(Opcode::send_last, kPsn + 1, {}, kMtu)};
     },
     0x61, kPsn + 1, CompletionStatus::local_length_error},
    {"write_shorter_than_reth", [](const Keys& k) { return std::vector{packet(Opcode::write_only, kPsn, reth(k.va, k.rkey, 8), 4)}; },
     0x61},
    {"write_longer_than_reth", [](const Keys& k) { return std::vector{packet(Opcode::write_only, kPsn, reth(k.va, k.rkey, 4), 8)}; }, 0x61},
    {"write_first_of_one_packet",
     [](const Keys& k) { return std::vector{packet(Opcode::write_first, kPsn, reth(k.va, k.rkey, kMtu), kMtu)}; }, 0x61},
    {"write_last_too_long",
     [](const Keys& k) {
       return std::vector{packet(Opcode::write_first, kPsn, reth(k.va, k.rkey, kMtu + 4), kMtu),
                          packet(Opcode::write_last, kPsn + 1, {}, 8)};
     },
     0x61, kPsn + 1},
    {"write_last_too_short",
     [](const Keys& k) {
       return std::vector{packet(Opcode::write_first, kPsn, reth(k.va, k.rkey, kMtu + 8), kMtu),
                          packet(Opcode::write_last, kPsn + 1, {}, 4)};
     },
     0x61, kPsn + 1},
    {"write_middle_at_the_end",
     [](const Keys& k) {
       return std::vector{packet(Opcode::write_first, kPsn, reth(k.va, k.rkey, 2 * kMtu), kMtu),
                          packet(Opcode::write_middle, kPsn + 1, {}, kMtu)};
     },
     0x61, kPsn + 1},
    {"write_longer_than_2_31",
     [](const Keys& k) { return std::vector{packet(Opcode::write_first, kPsn, reth(k.va, k.rkey, 0x80000001), kMtu)}; }, 0x61},
    {"read_longer_than_2_31", [](const Keys& k) { return std::vector{packet(Opcode::read_request, kPsn, reth(k.va, k.rkey, 0x80000001))}; },
     0x61},
    {"write_pad_count_wrong",
     [](const Keys& k) {
       auto p = packet(Opcode::write_only, kPsn, reth(k.va, k.rkey, 6), 6);
       p.pad_count = 1;
       return std::vector{p};
     },
     0x61},
    {"write_unknown_key", [](const Keys& k) { return std::vector{packet(Opcode::write_only, kPsn, reth(k.va, k.rkey + 0x100000, 4), 4)}; },
     0x62},
    {"write_wrong_key_byte", [](const Keys& k) { return std::vector{packet(Opcode::write_only, kPsn, reth(k.va, k.rkey ^ 1, 4), 4)}; },
     0x62},
    {"write_key_of_another_domain",
     [](const Keys& k) { return std::vector{packet(Opcode::write_only, kPsn, reth(k.other_va, k.other_domain, 4), 4)}; }, 0x62},
    {"write_below_region", [](const Keys& k) { return std::vector{packet(Opcode::write_only, kPsn, reth(k.va - 1, k.rkey, 4), 4)}; }, 0x62},
    {"write_above_region",
     [](const Keys& k) { return std::vector{packet(Opcode::write_only, kPsn, reth(k.va + (1 << 16) - 3, k.rkey, 4), 4)}; }, 0x62},
    {"write_address_overflow",
     [](const Keys& k) { return std::vector{packet(Opcode::write_only, kPsn, reth(~std::uint64_t{0} - 1, k.rkey, 4), 4)}; }, 0x62},
    {"write_whole_range_is_checked_at_first",
     [](const Keys& k) { return std::vector{packet(Opcode::write_first, kPsn, reth(k.va + 64000, k.rkey, 4096), kMtu)}; }, 0x62},
    {"write_without_right",
     [](const Keys& k) { return std::vector{packet(Opcode::write_only, kPsn, reth(k.read_only_va, k.read_only, 4), 4)}; }, 0x62},
    {"atomic_without_right",
     [](const Keys& k) { return std::vector{packet(Opcode::fetch_and_add, kPsn, atomic_eth(k.read_only_va, k.read_only, 1, 0))}; }, 0x62},
    {"read_unknown_key", [](const Keys& k) { return std::vector{packet(Opcode::read_request, kPsn, reth(k.va, 0x99, 4))}; }, 0x62},
    {"read_above_region", [](const Keys& k) { return std::vector{packet(Opcode::read_request, kPsn, reth(k.va + 1, k.rkey, 1 << 16))}; },
     0x62},
    {"atomic_unaligned",
     [](const Keys& k) { return std::vector{packet(Opcode::compare_and_swap, kPsn, atomic_eth(k.va + 4, k.rkey, 1, 0))}; }, 0x61},
    {"atomic_above_region",
     [](const Keys& k) { return std::vector{packet(Opcode::fetch_and_add, kPsn, atomic_eth(k.va + (1 << 16), k.rkey, 1, 0))}; }, 0x62},
    {"read_where_none_are_served", [](const Keys& k) { return std::vector{packet(Opcode::read_request, kPsn, reth(k.va, k.rkey, 4))}; },
     0x61, kPsn, CompletionStatus::flushed, 0},
    {"atomic_where_none_are_served",
     [](const Keys& k) { return std::vector{packet(Opcode::fetch_and_add, kPsn, atomic_eth(k.va, k.rkey, 1, 0))}; }, 0x61, kPsn,
     CompletionStatus::flushed, 0},
    {"write_immediate_unknown_key",
     [](const Keys& k) { return std::vector{packet(Opcode::write_only_with_immediate, kPsn, reth(k.va, 0x77, 4) + word(5), 4)}; }, 0x62},
};

class Violations : public testing::TestWithParam<Violation> {};

TEST_P(Violations, OneNakThenError) {
  const Violation& v = GetParam();
  RigOptions o;
  o.mtu_code = 3;
  o.depth = v.depth;
  RawRig rig(o);
  Bytes other_memory(4096), read_only_memory(4096);
  auto other_domain = rig.dut.device->allocate_protection_domain();
  auto other = other_domain->register_memory(other_memory, o.access);
  auto read_only = rig.dut.domain->register_memory(read_only_memory, Access::remote_read);
  const Keys keys{rig.dut.region->address(), rig.dut.region->rkey(), other->rkey(),
                  other->address(),          read_only->rkey(),      read_only->address()};
  ASSERT_TRUE(rig.dut.post_receive(7, 0, 1500));
  ASSERT_TRUE(rig.dut.post_receive(8, 2000, 100));
  const Bytes before = rig.dut.memory;
  const auto packets = v.packets(keys);
  const auto seen = rig.exchange(packets);
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back().opcode, Opcode::acknowledge);
  EXPECT_EQ(seen.back().syndrome(), v.syndrome);
  EXPECT_EQ(seen.back().psn, v.nak_psn);
  for (std::size_t i = 0; i + 1 < seen.size(); ++i) EXPECT_EQ(seen[i].syndrome(), 0x1F);
  EXPECT_EQ(rig.dut.qp->state(), QpState::error);
  EXPECT_EQ(rig.dut.errors, 1);
  const auto received = rig.dut.receives();
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0].id, 7u);
  EXPECT_EQ(received[0].status, v.receive);
  EXPECT_EQ(received[1].id, 8u);
  EXPECT_EQ(received[1].status, CompletionStatus::flushed);
  if (v.syndrome == 0x62) {
    EXPECT_EQ(rig.dut.memory, before);
  }
  // In error everything is dropped.
  EXPECT_TRUE(rig.exchange({packet(Opcode::send_only, kPsn, {}, 4)}).empty());
  EXPECT_EQ(rig.counters().drop_qp_not_ready, 1u);
}

INSTANTIATE_TEST_SUITE_P(Table, Violations, testing::ValuesIn(kViolations), [](const auto& made) { return std::string(made.param.name); });

struct Drop {
  const char* name;
  std::function<void(RawPacket&)> spoil;
  std::uint64_t SoftCounters::*counter;
};
std::ostream& operator<<(std::ostream& out, const Drop& d) { return out << d.name; }

const Drop kDrops[] = {
    {"bad_icrc", [](RawPacket& p) { p.bad_icrc = true; }, &SoftCounters::drop_bad_icrc},
    {"version", [](RawPacket& p) { p.tver = 1; }, &SoftCounters::drop_bad_version},
    {"pkey", [](RawPacket& p) { p.pkey = 0x1234; }, &SoftCounters::drop_bad_pkey},
    {"unknown_opcode", [](RawPacket& p) { p.opcode = static_cast<Opcode>(0x15); }, &SoftCounters::drop_unknown_opcode},
    {"uc_opcode", [](RawPacket& p) { p.opcode = static_cast<Opcode>(0x24); }, &SoftCounters::drop_unknown_opcode},
    {"ud_opcode",
     [](RawPacket& p) {
       p.opcode = Opcode::ud_send_only;
       p.headers = Bytes(8, 0);
     },
     &SoftCounters::drop_wrong_transport},
    {"unknown_qpn", [](RawPacket& p) { p.qpn = 0x654321; }, &SoftCounters::drop_unknown_qp},
    {"qpn_zero", [](RawPacket& p) { p.qpn = 0; }, &SoftCounters::drop_unknown_qp},
    {"shorter_than_headers",
     [](RawPacket& p) {
       p.opcode = Opcode::write_only;
       p.payload = Bytes(8, 0);
     },
     &SoftCounters::drop_bad_length},
    {"pad_longer_than_payload",
     [](RawPacket& p) {
       p.payload.clear();
       p.pad_count = 3;
     },
     &SoftCounters::drop_bad_length},
    {"read_request_with_payload",
     [](RawPacket& p) {
       p.opcode = Opcode::read_request;
       p.headers = reth(0, 0, 0);
     },
     &SoftCounters::drop_bad_length},
    {"cnp",
     [](RawPacket& p) {
       p.opcode = Opcode::congestion_notification;
       p.payload = Bytes(16, 0);
     },
     &SoftCounters::drop_congestion_notification},
};

class Drops : public testing::TestWithParam<Drop> {};

TEST_P(Drops, SilentlyCountedAndTheGoodPacketIsExecuted) {
  RawRig rig;
  rig.dut.post_receive(1, 0, 100);
  RawPacket p = packet(Opcode::send_only, kPsn, {}, 16);
  GetParam().spoil(p);
  EXPECT_TRUE(rig.exchange({p}).empty());
  EXPECT_EQ(rig.counters().*GetParam().counter, 1u);
  EXPECT_TRUE(rig.dut.receives().empty());
  const auto seen = rig.exchange({packet(Opcode::send_only, kPsn, {}, 16)});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].syndrome(), 0x1F);
  EXPECT_EQ(seen[0].msn(), 1u);
  EXPECT_EQ(rig.dut.receives().size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Table, Drops, testing::ValuesIn(kDrops), [](const auto& made) { return std::string(made.param.name); });

}  // namespace
}  // namespace fb::softroce
