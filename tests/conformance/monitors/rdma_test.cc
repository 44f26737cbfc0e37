// RDMA packets and the connection exchange: each rule hears what breaks it, from whoever breaks it.
#include "tests/conformance/monitors/wire.h"

namespace fb::monitors {
namespace {

using roce::Opcode;

constexpr std::size_t kMtu = 256;

#define EXPECT_HEARD(wire, rule, host) EXPECT_TRUE((wire).heard(rule, host)) << (wire).all()
#define EXPECT_SILENT(wire) EXPECT_TRUE((wire).monitors.findings().empty()) << (wire).all()

struct Rdma : testing::Test {
  Rdma() { wire.connect(); }
  RdmaWire wire;
};

TEST_F(Rdma, AGoodExchangeIsSilent) {
  wire.capsule(true, connect_command().bytes());
  wire.answer(false, Opcode::acknowledge, 100, 1);
  wire.capsule(false, completion(0, 1).bytes());
  wire.answer(true, Opcode::acknowledge, 200, 1);
  wire.capsule(true, command(2, 1, nvme::SglDescriptor::keyed(0x1000, 600, 7)).bytes());
  wire.request(false, Opcode::write_first, Bytes(kMtu), RdmaWire::reth(0x1000, 7, 600));
  wire.request(false, Opcode::write_middle, Bytes(kMtu));
  wire.request(false, Opcode::write_last, Bytes(600 - 2 * kMtu));
  wire.capsule(false, completion(1, 2).bytes());
  wire.answer(true, Opcode::acknowledge, 204, 3);
  EXPECT_SILENT(wire);
  EXPECT_EQ(wire.monitors.dissector().counts().completions, 2u);
}

TEST_F(Rdma, RepetitionsAreSilent) {
  wire.capsule(true, connect_command().bytes());
  wire.host_psn = 100;
  wire.capsule(true, connect_command().bytes());
  wire.answer(false, Opcode::acknowledge, 100, 1);
  wire.answer(false, Opcode::acknowledge, 100, 1);
  EXPECT_SILENT(wire);
}

TEST_F(Rdma, WhatTheLinkChangesIsNotTheSenders) {
  wire.spoil = true;
  wire.say(true, {.psn = 100, .payload = Bytes(64)}, "corrupted by filter");
  EXPECT_SILENT(wire);
  wire.say(true, {.psn = 100, .payload = Bytes(64)});
  EXPECT_HEARD(wire, Rule::rdma_icrc, true);
}

TEST_F(Rdma, IcrcOfWhoNeverHadOneIsNotJudgedInCaptures) {
  RdmaWire capture(false);
  capture.spoil = true;
  capture.connect();
  EXPECT_SILENT(capture);
}

TEST_F(Rdma, Version) {
  wire.say(true, {.psn = 100, .tver = 3, .payload = Bytes(64)});
  EXPECT_HEARD(wire, Rule::rdma_version, true);
}

TEST_F(Rdma, Pad) {
  wire.say(false, {.opcode = Opcode::send_first, .psn = 200, .padcnt = 1, .payload = Bytes(kMtu)});
  EXPECT_HEARD(wire, Rule::rdma_pad_count, false);
}

TEST_F(Rdma, Order) {
  wire.request(true, Opcode::send_last, Bytes(64));
  EXPECT_HEARD(wire, Rule::rdma_order, true);
  RdmaWire other;
  other.connect();
  other.request(false, Opcode::send_first, Bytes(kMtu));
  other.request(false, Opcode::send_only, Bytes(16));
  EXPECT_HEARD(other, Rule::rdma_order, false);
}

TEST_F(Rdma, Size) {
  wire.request(true, Opcode::send_first, Bytes(kMtu - 4));
  EXPECT_HEARD(wire, Rule::rdma_size, true);
  RdmaWire other;
  other.connect();
  other.request(true, Opcode::send_only, Bytes(kMtu + 4));
  EXPECT_HEARD(other, Rule::rdma_size, true);
}

TEST_F(Rdma, DmaLength) {
  wire.request(false, Opcode::write_only, Bytes(16), RdmaWire::reth(0x1000, 7, 20));
  EXPECT_HEARD(wire, Rule::rdma_dma_length, false);
}

TEST_F(Rdma, Psn) {
  wire.host_psn = 105;
  wire.capsule(true, connect_command().bytes());
  EXPECT_HEARD(wire, Rule::rdma_psn_first, true);
  RdmaWire other;
  other.connect();
  other.capsule(true, connect_command().bytes());
  other.host_psn += 3;
  other.capsule(true, command(2, 1).bytes());
  EXPECT_HEARD(other, Rule::rdma_psn_next, true);
}

TEST_F(Rdma, PsnOfRead) {
  wire.request(false, Opcode::read_request, {}, RdmaWire::reth(0x1000, 7, 600));
  wire.capsule(false, completion(0, 1).bytes());
  EXPECT_HEARD(wire, Rule::rdma_psn_of_read, false);
}

TEST_F(Rdma, Acknowledgements) {
  wire.capsule(true, connect_command().bytes());
  wire.answer(false, Opcode::acknowledge, 101, 1);
  EXPECT_HEARD(wire, Rule::rdma_ack_beyond, false);
  RdmaWire other;
  other.connect();
  other.capsule(true, connect_command().bytes());
  other.answer(false, Opcode::acknowledge, 100, 2);
  EXPECT_HEARD(other, Rule::rdma_msn, false);
  RdmaWire low;
  low.connect();
  low.capsule(true, connect_command().bytes());
  low.answer(false, Opcode::acknowledge, 100, 0);
  EXPECT_HEARD(low, Rule::rdma_msn, false);
}

TEST_F(Rdma, ReadResponses) {
  wire.capsule(false, completion(0, 1).bytes());
  wire.answer(true, Opcode::read_response_only, 200, 1, Bytes(8));
  EXPECT_HEARD(wire, Rule::rdma_read_asked, true);
  RdmaWire other;
  other.connect();
  other.request(false, Opcode::read_request, {}, RdmaWire::reth(0x1000, 7, 600));
  other.answer(true, Opcode::read_response_first, 200, 1, Bytes(kMtu));
  EXPECT_FALSE(other.heard(Rule::rdma_read_form, true)) << other.all();
  other.answer(true, Opcode::read_response_last, 201, 1, Bytes(88));
  EXPECT_HEARD(other, Rule::rdma_read_form, true);
}

TEST(RdmaConnections, Messages) {
  RdmaWire versions;
  cm::Mad odd = RdmaWire::req();
  odd.header().set(cm::mad::class_version, 3);
  versions.mad(true, odd);
  EXPECT_HEARD(versions, Rule::cm_mad, true);

  RdmaWire fields;
  cm::Mad mtu = RdmaWire::req();
  mtu.message<cm::Req>().set(cm::req::path_mtu, 9);
  fields.mad(true, mtu);
  EXPECT_HEARD(fields, Rule::cm_request, true);

  RdmaWire reply;
  reply.mad(true, RdmaWire::req());
  reply.mad(false, RdmaWire::rep(8));
  EXPECT_HEARD(reply, Rule::cm_rep_transaction, false);

  RdmaWire deep;
  deep.mad(true, RdmaWire::req());
  cm::Mad greedy = RdmaWire::rep();
  greedy.message<cm::Rep>().set(cm::rep::initiator_depth, 5);
  deep.mad(false, greedy);
  EXPECT_HEARD(deep, Rule::cm_rep_depth, false);
  deep.mad(false, RdmaWire::rep());
  EXPECT_HEARD(deep, Rule::cm_rep_again, false);

  RdmaWire early;
  early.mad(true, RdmaWire::req());
  early.mad(true, RdmaWire::pair(cm::Attribute::rtu, 1, 2, 7));
  EXPECT_HEARD(early, Rule::cm_rtu, true);

  RdmaWire accept;
  accept.mad(true, RdmaWire::req());
  cm::Mad format = RdmaWire::rep();
  format.message<cm::Rep>().set(cm::rep::private_data, Bytes(196, 1));
  accept.mad(false, format);
  EXPECT_HEARD(accept, Rule::rdma_accept_data, false);
}

TEST(RdmaConnections, AReplyBehindTheEndRepeatsNothing) {
  cm::Mad other = RdmaWire::rep();
  other.message<cm::Rep>().set(cm::rep::local_comm_id, 77);
  for (const bool active_ends : {true, false}) {
    RdmaWire late;
    late.connect();
    late.mad(active_ends, RdmaWire::pair(cm::Attribute::dreq, active_ends ? 1 : 2, active_ends ? 2 : 1, 9));
    late.mad(!active_ends, RdmaWire::pair(cm::Attribute::drep, active_ends ? 2 : 1, active_ends ? 1 : 2, 9));
    late.mad(true, RdmaWire::req());
    late.mad(false, other);
    EXPECT_SILENT(late);
  }
  RdmaWire alive;
  alive.connect();
  alive.mad(false, other);
  EXPECT_HEARD(alive, Rule::cm_rep_again, false);
}

TEST(RdmaConnections, Ends) {
  RdmaWire good;
  good.connect();
  good.mad(true, RdmaWire::pair(cm::Attribute::dreq, 1, 2, 9));
  good.mad(false, RdmaWire::pair(cm::Attribute::drep, 2, 1, 9));
  EXPECT_SILENT(good);
  good.mad(false, RdmaWire::pair(cm::Attribute::drep, 2, 1, 10));
  EXPECT_HEARD(good, Rule::cm_drep_transaction, false);
  good.mad(false, RdmaWire::pair(cm::Attribute::drep, 1, 2, 9));
  EXPECT_HEARD(good, Rule::cm_drep, false);
}

struct Keys : Rdma {
  Keys() {
    wire.capsule(true, connect_command().bytes());
    wire.capsule(false, completion(0, 1).bytes());
    wire.capsule(true, command(2, 1, nvme::SglDescriptor::keyed(0x1000, 512, 7, true)).bytes());
  }
  void write(std::uint64_t va, std::uint32_t key) { wire.request(false, Opcode::write_only, Bytes(64), RdmaWire::reth(va, key, 64)); }
};

TEST_F(Keys, Unknown) {
  write(0x1000, 8);
  EXPECT_HEARD(wire, Rule::rdma_key_unknown, false);
}
TEST_F(Keys, Range) {
  write(0x11F0, 7);
  EXPECT_HEARD(wire, Rule::rdma_key_range, false);
}
TEST_F(Keys, Direction) {
  wire.request(false, Opcode::read_request, {}, RdmaWire::reth(0x1000, 7, 64));
  EXPECT_HEARD(wire, Rule::rdma_key_direction, false);
}
TEST_F(Keys, Late) {
  wire.capsule(false, completion(1, 2).bytes());
  write(0x1000, 7);
  EXPECT_HEARD(wire, Rule::rdma_key_late, false);
}
TEST_F(Keys, Invalidate) {
  conformance::RocePacket packet{.opcode = Opcode::send_only_with_invalidate, .psn = wire.controller_psn};
  packet.ieth.emplace().set(roce::ieth::rkey, 9);
  const nvme::Cqe cqe = completion(1, 2);
  packet.payload.assign(cqe.bytes().begin(), cqe.bytes().end());
  wire.say(false, packet);
  EXPECT_HEARD(wire, Rule::rdma_invalidate, false);
}

}  // namespace
}  // namespace fb::monitors
