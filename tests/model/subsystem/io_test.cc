#include <gtest/gtest.h>

#include "tests/model/subsystem/rig.h"

namespace fb::subsystem::test {
namespace {

namespace sc = nvme::sc;
using nvme::IoOpcode;

Bytes pattern(std::size_t size, std::uint8_t seed) {
  Bytes made(size);
  for (std::size_t i = 0; i < size; ++i) {
    made[i] = static_cast<std::uint8_t>((i + seed) * 31 + (i >> 8));
  }
  return made;
}

struct IoRig : Rig {
  explicit IoRig(SubsystemOptions options = {}, SubsystemHooks* hooks = nullptr)
      : Rig(std::move(options), hooks), session(start()), io(start_io(session)) {}
  Reply write(std::uint64_t slba, const Bytes& data) {
    return io.send(test::rw(IoOpcode::write, slba, static_cast<std::uint32_t>(data.size() / 512)).bytes(), data);
  }
  Reply read(std::uint64_t slba, std::uint32_t blocks) { return io.fetch(test::rw(IoOpcode::read, slba, blocks).bytes(), blocks * 512); }
  Session session;
  Line io;
};

TEST(Io, WhatWasWrittenIsRead) {
  IoRig rig;
  const Bytes data = pattern(8 * 512, 3);
  EXPECT_TRUE(rig.write(100, data).status().ok());
  EXPECT_EQ(rig.read(100, 8).data, data);
  EXPECT_EQ(rig.read(108, 1).data, Bytes(512));
}

struct Case {
  const char* name;
  nvme::Sqe sqe;
  std::size_t room;
  nvme::Status status;
};

class Refused : public ::testing::TestWithParam<Case> {};

TEST_P(Refused, WithItsStatusAndDoNotRetry) {
  IoRig rig;
  const Reply reply = rig.io.send(GetParam().sqe.bytes(), Bytes(GetParam().room));
  EXPECT_EQ(nvme::to_string(reply.code().of(GetParam().status.family())), nvme::to_string(GetParam().status));
  EXPECT_TRUE(reply.status().dnr());
  EXPECT_TRUE(reply.status().more());
  // It can be found in the error log.
  const Reply log = rig.session.admin.fetch(get_log(1, 64).bytes(), 64);
  const View<nvme::ErrorEntry> entry{log.data};
  EXPECT_EQ(entry.get(nvme::error_entry::sqid), 1);
  EXPECT_EQ(entry.get(nvme::error_entry::cid), reply.cid());
  EXPECT_EQ(entry.get(nvme::error_entry::status).code(), GetParam().status);
}

nvme::Sqe edited(nvme::Sqe sqe, auto&& change) {
  change(sqe);
  return sqe;
}

INSTANTIATE_TEST_SUITE_P(
    Table, Refused,
    ::testing::Values(
        Case{"past_the_end", rw(IoOpcode::read, 1020, 5), 4096, sc::lba_out_of_range},
        Case{"lba_overflow", rw(IoOpcode::read, ~0ull, 2), 4096, sc::lba_out_of_range},
        Case{"write_past_the_end", rw(IoOpcode::write, 1024, 1), 4096, sc::lba_out_of_range},
        Case{"above_mdts", rw(IoOpcode::read, 0, 65536), 4096, sc::invalid_field},
        Case{"nsid_zero", rw(IoOpcode::read, 0, 1, 0), 4096, sc::invalid_namespace_or_format},
        Case{"nsid_inactive", rw(IoOpcode::read, 0, 1, 99), 4096, sc::invalid_field},
        Case{"nsid_beyond", rw(IoOpcode::read, 0, 1, 5000), 4096, sc::invalid_namespace_or_format},
        Case{"nsid_broadcast", rw(IoOpcode::read, 0, 1, 0xFFFFFFFF), 4096, sc::invalid_field},
        Case{"opcode", command(0x55, 1), 4096, sc::invalid_opcode},
        Case{"short_sgl", rw(IoOpcode::read, 0, 8), 512, sc::data_sgl_length_invalid},
        Case{"write_short_sgl", rw(IoOpcode::write, 0, 8), 512, sc::data_sgl_length_invalid},
        Case{"prp", edited(rw(IoOpcode::read, 0, 1), [](auto& s) { s.set(nvme::sqe::psdt, 0u); }), 4096, sc::invalid_field},
        Case{"fuse_reserved", edited(rw(IoOpcode::read, 0, 1), [](auto& s) { s.set(nvme::sqe::fuse, 3u); }), 4096, sc::invalid_field},
        Case{"fused_read", edited(rw(IoOpcode::read, 0, 1), [](auto& s) { s.set(nvme::sqe::fuse, 1u); }), 4096, sc::invalid_field},
        Case{"compare_differs", rw(IoOpcode::compare, 0, 1), 0, sc::data_sgl_length_invalid},
        Case{"dsm_out_of_range", edited(command(IoOpcode::dataset_management, 1), [](auto& s) { s.set(nvme::sqe::cdw11, 4u); }), 0,
             sc::data_sgl_length_invalid}),
    [](const auto& param) { return param.param.name; });

TEST(Io, CompareTellsEqualFromDifferent) {
  IoRig rig;
  Bytes data = pattern(1024, 9);
  rig.write(5, data);
  const auto compare = rw(IoOpcode::compare, 5, 2);
  EXPECT_TRUE(rig.io.send(compare.bytes(), data).status().ok());
  data[1000] ^= 1;
  EXPECT_EQ(rig.io.send(compare.bytes(), data).code(), sc::compare_failure);
}

TEST(Io, ZeroesAndDeallocatedBlocksReadAsZero) {
  IoRig rig;
  const Bytes data = pattern(16 * 512, 1);
  rig.write(0, data);
  EXPECT_TRUE(rig.io.send(rw(IoOpcode::write_zeroes, 2, 3).bytes()).status().ok());
  Bytes expected = data;
  std::fill(expected.begin() + 2 * 512, expected.begin() + 5 * 512, std::uint8_t{0});
  EXPECT_EQ(rig.read(0, 16).data, expected);
  // Two ranges: 8..9 and 15.
  Bytes ranges(32);
  store_le<std::uint32_t>(ranges.data() + 4, 2);
  store_le<std::uint64_t>(ranges.data() + 8, 8);
  store_le<std::uint32_t>(ranges.data() + 20, 1);
  store_le<std::uint64_t>(ranges.data() + 24, 15);
  nvme::Sqe dsm = command(IoOpcode::dataset_management, 1);
  dsm.set(nvme::sqe::cdw10, 1u).set(nvme::sqe::cdw11, 4u);
  EXPECT_TRUE(rig.io.send(dsm.bytes(), ranges).status().ok());
  std::fill(expected.begin() + 8 * 512, expected.begin() + 10 * 512, std::uint8_t{0});
  std::fill(expected.begin() + 15 * 512, expected.end(), std::uint8_t{0});
  EXPECT_EQ(rig.read(0, 16).data, expected);
  store_le<std::uint64_t>(ranges.data() + 24, 1024);
  EXPECT_EQ(rig.io.send(dsm.bytes(), ranges).code(), sc::lba_out_of_range);
}

TEST(Io, UncorrectableUntilWritten) {
  IoRig rig;
  rig.write(0, pattern(4 * 512, 1));
  EXPECT_TRUE(rig.io.send(rw(IoOpcode::write_uncorrectable, 1, 2).bytes()).status().ok());
  EXPECT_EQ(rig.read(0, 4).code(), sc::unrecovered_read_error);
  EXPECT_EQ(rig.io.send(rw(IoOpcode::verify, 2, 1).bytes()).code(), sc::unrecovered_read_error);
  EXPECT_TRUE(rig.io.send(rw(IoOpcode::verify, 3, 1).bytes()).status().ok());
  EXPECT_TRUE(rig.read(0, 1).status().ok());
  rig.write(1, Bytes(512, 7));
  EXPECT_TRUE(rig.read(1, 1).status().ok());
  EXPECT_EQ(rig.read(2, 1).code(), sc::unrecovered_read_error);
}

nvme::Sqe half(IoOpcode opcode, std::uint64_t slba, std::uint32_t blocks, unsigned fuse) {
  nvme::Sqe made = rw(opcode, slba, blocks);
  made.set(nvme::sqe::fuse, fuse);
  return made;
}

TEST(Fused, CompareAndWriteSucceedTogether) {
  IoRig rig;
  rig.write(4, Bytes(512, 1));
  const auto first = rig.io.post(half(IoOpcode::compare, 4, 1, 1).bytes(), Bytes(512, 1));
  EXPECT_TRUE(rig.io.replies().empty());
  const auto second = rig.io.post(half(IoOpcode::write, 4, 1, 2).bytes(), Bytes(512, 2));
  EXPECT_TRUE(rig.io.reply(first)->status().ok());
  EXPECT_TRUE(rig.io.reply(second)->status().ok());
  EXPECT_EQ(rig.read(4, 1).data, Bytes(512, 2));
}

TEST(Fused, AFailedCompareStopsTheWrite) {
  IoRig rig;
  rig.write(4, Bytes(512, 1));
  const auto first = rig.io.post(half(IoOpcode::compare, 4, 1, 1).bytes(), Bytes(512, 9));
  const auto second = rig.io.post(half(IoOpcode::write, 4, 1, 2).bytes(), Bytes(512, 2));
  EXPECT_EQ(rig.io.reply(first)->code(), sc::compare_failure);
  EXPECT_EQ(rig.io.reply(second)->code(), sc::aborted_failed_fused);
  EXPECT_EQ(rig.read(4, 1).data, Bytes(512, 1));
}

TEST(Fused, LoneHalvesAreMissingTheOther) {
  IoRig rig;
  const auto first = rig.io.post(half(IoOpcode::compare, 4, 1, 1).bytes(), Bytes(512));
  EXPECT_TRUE(rig.read(0, 1).status().ok());
  EXPECT_EQ(rig.io.reply(first)->code(), sc::aborted_missing_fused);
  EXPECT_EQ(rig.io.send(half(IoOpcode::write, 4, 1, 2).bytes(), Bytes(512, 3)).code(), sc::aborted_missing_fused);
  EXPECT_EQ(rig.read(4, 1).data, Bytes(512));
}

TEST(Fused, HalvesMustMeanTheSameBlocks) {
  IoRig rig;
  const auto first = rig.io.post(half(IoOpcode::compare, 4, 1, 1).bytes(), Bytes(512));
  const auto second = rig.io.post(half(IoOpcode::write, 5, 1, 2).bytes(), Bytes(512, 2));
  EXPECT_EQ(rig.io.reply(first)->code(), sc::invalid_field);
  EXPECT_EQ(rig.io.reply(second)->code(), sc::invalid_field);
  EXPECT_EQ(rig.read(5, 1).data, Bytes(512));
}

TEST(Fused, DataMayArriveLate) {
  IoRig rig;
  rig.io.wire().hold_pulls = true;
  const auto first = rig.io.post(half(IoOpcode::compare, 4, 1, 1).bytes(), Bytes(512));
  const auto second = rig.io.post(half(IoOpcode::write, 4, 1, 2).bytes(), Bytes(512, 2));
  ASSERT_EQ(rig.io.wire().pulling.size(), 2u);
  rig.io.deliver();
  EXPECT_FALSE(rig.io.reply(first));
  rig.io.deliver();
  EXPECT_TRUE(rig.io.reply(first)->status().ok());
  EXPECT_TRUE(rig.io.reply(second)->status().ok());
}

TEST(Io, PathStatusesFollowTheAnaState) {
  IoRig rig;
  const std::pair<nvme::AnaState, nvme::Status> table[] = {{nvme::AnaState::optimized, sc::success},
                                                           {nvme::AnaState::non_optimized, sc::success},
                                                           {nvme::AnaState::inaccessible, sc::ana_inaccessible},
                                                           {nvme::AnaState::persistent_loss, sc::ana_persistent_loss},
                                                           {nvme::AnaState::change, sc::ana_transition}};
  for (const auto& [state, status] : table) {
    rig.disk->set_ana_state(1, state);
    const Reply reply = rig.read(0, 1);
    EXPECT_EQ(reply.code(), status);
    EXPECT_FALSE(reply.status().dnr());
  }
}

TEST(Io, WriteProtection) {
  IoRig rig;
  EXPECT_TRUE(rig.session.admin.send(set_feature(0x84, 1, 1).bytes()).status().ok());
  EXPECT_EQ(rig.write(0, Bytes(512)).code(), sc::namespace_write_protected);
  EXPECT_TRUE(rig.session.admin.send(set_feature(0x84, 0, 1).bytes()).status().ok());
  EXPECT_TRUE(rig.write(0, Bytes(512)).status().ok());
}

TEST(Queue, OverfillIsFatal) {
  IoRig rig;
  rig.io.wire().hold_pulls = true;
  // 127 outstanding writes fill a queue of 128; no completion has moved the head meanwhile.
  for (int i = 0; i < 127; ++i) rig.io.post(rw(IoOpcode::write, 0, 1).bytes(), Bytes(512));
  EXPECT_FALSE(rig.io.closed());
  rig.io.post(rw(IoOpcode::write, 0, 1).bytes(), Bytes(512));
  EXPECT_TRUE(rig.io.closed());
  EXPECT_TRUE(rig.session.admin.closed());
}

TEST(Queue, CommandIdentifiersAreUnique) {
  IoRig rig;
  rig.io.wire().hold_pulls = true;
  nvme::Sqe write = rw(IoOpcode::write, 0, 1);
  write.set(nvme::sqe::cid, 500u);
  rig.io.post_raw(write.bytes(), Bytes(512));
  rig.io.post_raw(write.bytes(), Bytes(512));
  ASSERT_EQ(rig.io.replies().size(), 1u);
  EXPECT_EQ(rig.io.replies()[0].code(), sc::command_id_conflict);
}

TEST(Queue, DisconnectEndsOneQueue) {
  IoRig rig;
  Line other = rig.start_io(rig.session, 2);
  Record<fabrics::DisconnectSqe> sqe;
  sqe.set(fabrics::sqe::opcode, 0x7Fu).set(fabrics::sqe::fctype, 8u);
  Record<fabrics::DisconnectSqe> bad = sqe;
  bad.set(fabrics::disconnect_sqe::recfmt, 5u);
  EXPECT_EQ(rig.io.send(bad.bytes()).code(), sc::incompatible_format);
  EXPECT_EQ(rig.session.admin.send(sqe.bytes()).code(), sc::invalid_queue_type);
  EXPECT_TRUE(rig.io.send(sqe.bytes()).status().ok());
  rig.io.post(command(IoOpcode::flush, 1).bytes());
  EXPECT_TRUE(rig.io.replies().empty());
  EXPECT_TRUE(other.send(command(IoOpcode::flush, 1).bytes()).status().ok());
  rig.io.lose();
  EXPECT_FALSE(rig.session.admin.closed());
  Line again = rig.start_io(rig.session, 1);  // the identifier is free
  EXPECT_TRUE(again.send(command(IoOpcode::flush, 1).bytes()).status().ok());
}

TEST(Association, LossOfAnIoQueueEndsIt) {
  IoRig rig;
  rig.io.lose();
  rig.world->run_for(Duration::ms(1999));
  EXPECT_FALSE(rig.session.admin.closed()) << "the host may still reset or shut down";
  rig.world->run_for(Duration::ms(2));
  EXPECT_TRUE(rig.session.admin.closed());
}

TEST(Association, LossOfAnIoQueueIsForgivenByAReset) {
  IoRig rig;
  rig.io.lose();  // as Linux does it: first the queues, then CC
  EXPECT_TRUE(rig.session.admin.send(property_set(fabrics::property::cc, 0)).status().ok());
  rig.world->run_for(Duration::s(5));
  EXPECT_FALSE(rig.session.admin.closed());
}

TEST(Association, LossOfAnIoQueueIsForgivenByAShutdown) {
  IoRig rig;
  rig.io.lose();
  EXPECT_TRUE(rig.session.admin.send(property_set(fabrics::property::cc, 0x00464001)).status().ok());
  rig.world->run_for(Duration::s(5));
  EXPECT_FALSE(rig.session.admin.closed());
}

TEST(Association, LossOfAnIndividuallyDeletableQueueDoesNot) {
  IoRig rig;
  ConnectWords words;
  words.cattr = 8;
  Line other = rig.start_io(rig.session, 2, words);
  other.lose();
  EXPECT_FALSE(rig.session.admin.closed());
  EXPECT_FALSE(rig.io.closed());
}

nvme::Sqe abort_of(unsigned sqid, std::uint16_t cid) {
  nvme::Sqe made = command(nvme::AdminOpcode::abort);
  made.set(nvme::sqe::cdw10, sqid | std::uint32_t{cid} << 16);
  return made;
}

TEST(Abort, WhileDataIsOnItsWay) {
  IoRig rig;
  rig.io.wire().hold_pulls = true;
  const auto victim = rig.io.post(rw(IoOpcode::write, 0, 1).bytes(), Bytes(512, 9));
  EXPECT_EQ(rig.session.admin.send(abort_of(1, victim).bytes()).dw0(), 0u);
  EXPECT_EQ(rig.io.reply(victim)->code(), sc::abort_requested);
  rig.io.wire().hold_pulls = false;
  EXPECT_EQ(rig.read(0, 1).data, Bytes(512));
}

TEST(Abort, OfOneFusedHalfEndsBoth) {
  IoRig rig;
  rig.io.wire().hold_pulls = true;
  const auto first = rig.io.post(half(IoOpcode::compare, 4, 1, 1).bytes(), Bytes(512));
  const auto second = rig.io.post(half(IoOpcode::write, 4, 1, 2).bytes(), Bytes(512, 2));
  rig.io.deliver();
  EXPECT_EQ(rig.session.admin.send(abort_of(1, second).bytes()).dw0(), 0u);
  EXPECT_EQ(rig.io.reply(second)->code(), sc::abort_requested);
  EXPECT_EQ(rig.io.reply(first)->code(), sc::aborted_failed_fused);
  EXPECT_TRUE(rig.io.wire().pulling.empty());
}

TEST(Abort, HeldCommandsAreAborted) {
  SubsystemOptions options;
  options.io_latency = Duration::ms(5);
  IoRig rig(options);
  const auto victim = rig.io.post(rw(IoOpcode::write, 0, 1).bytes(), Bytes(512, 9));
  nvme::Sqe abort = command(nvme::AdminOpcode::abort);
  abort.set(nvme::sqe::cdw10, 1u | std::uint32_t{victim} << 16);
  const Reply reply = rig.session.admin.send(abort.bytes());
  EXPECT_TRUE(reply.status().ok());
  EXPECT_EQ(reply.dw0(), 0u);
  EXPECT_EQ(rig.io.reply(victim)->code(), sc::abort_requested);
  EXPECT_EQ(rig.session.admin.send(abort.bytes()).dw0(), 1u);
  rig.world->run_for(Duration::ms(20));
  const auto late = rig.io.post(rw(IoOpcode::read, 0, 1).bytes(), {}, 512);
  rig.world->run_for(Duration::ms(6));
  EXPECT_EQ(rig.io.reply(late)->data, Bytes(512));
}

}  // namespace
}  // namespace fb::subsystem::test
