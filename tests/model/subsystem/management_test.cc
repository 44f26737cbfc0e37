// Namespaces that hosts make and attach, sanitize operations, self-tests.
#include <gtest/gtest.h>

#include <set>

#include "tests/model/subsystem/management_session.h"
#include "wire/nvme/identify_controller.h"

namespace fb::subsystem::test {
namespace {

namespace sc = nvme::sc;
using nvme::Cns;
using nvme::IoOpcode;

std::vector<std::uint32_t> active(Managing& host) {
  return nvme::read_namespace_list(host.admin.fetch(identify(Cns::active_namespace_list).bytes(), 4096).data);
}
using Ids = std::vector<std::uint32_t>;

TEST(BlockRanges, KeepWhatIsInThem) {
  BlockRanges ranges;
  EXPECT_TRUE(ranges.empty());
  ranges.add(10, 10);
  ranges.add(30, 10);
  EXPECT_EQ(ranges.size(), 20u);
  EXPECT_EQ(ranges.count_in(0, 100), 20u);
  EXPECT_EQ(ranges.count_in(15, 20), 10u);
  EXPECT_FALSE(ranges.touches(20, 10));
  EXPECT_FALSE(ranges.touches(15, 0));
  ranges.add(20, 10);  // closes the gap
  EXPECT_EQ(ranges.size(), 30u);
  ranges.add(5, 100);
  EXPECT_EQ(ranges.size(), 100u);
  ranges.remove(50, 10);
  EXPECT_EQ(ranges.size(), 90u);
  EXPECT_EQ(ranges.count_in(45, 20), 10u);
  ranges.remove(0, 7);
  ranges.remove(100, 50);
  EXPECT_EQ(ranges.size(), 83u);
  ranges.add(200, 0);
  EXPECT_EQ(ranges.size(), 83u);
  // As a plain set of numbers has it.
  BlockRanges drawn;
  std::set<std::uint64_t> model;
  std::uint64_t seed = 12345;
  for (int i = 0; i < 2000; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t first = seed >> 33 & 127, count = seed >> 45 & 31;
    const bool adds = (seed >> 60 & 1) != 0;
    adds ? drawn.add(first, count) : drawn.remove(first, count);
    for (std::uint64_t b = first; b < first + count; ++b) adds ? (void)model.insert(b) : (void)model.erase(b);
    ASSERT_EQ(drawn.size(), model.size());
    std::uint64_t inside = 0;
    for (std::uint64_t b = 40; b < 90; ++b) inside += model.contains(b);
    ASSERT_EQ(drawn.count_in(40, 50), inside);
  }
}

TEST(Namespaces, ComeAndGoByCommand) {
  Rig rig;
  Managing host(rig, {});
  const Reply made = host.create({.nsze = 128, .ncap = 128});
  ASSERT_TRUE(made.status().ok());
  EXPECT_EQ(made.dw0(), 2u);
  EXPECT_EQ(active(host), (Ids{1}));
  EXPECT_EQ(host.read(2, 0).code(), sc::invalid_field);
  EXPECT_TRUE(host.attach(2, {host.cntlid}).status().ok());
  EXPECT_EQ(active(host), (Ids{1, 2}));
  EXPECT_TRUE(host.write(2, 127, 0x11).status().ok());
  EXPECT_EQ(host.write(2, 128, 0x11).code(), sc::lba_out_of_range);
  EXPECT_TRUE(host.admin.send(manage(1, 2).bytes()).status().ok());
  EXPECT_EQ(active(host), (Ids{1}));
  EXPECT_EQ(host.read(2, 0).code(), sc::invalid_field);
  EXPECT_EQ(host.create().dw0(), 2u);
  EXPECT_TRUE(host.attach(2, {host.cntlid}).status().ok());
  EXPECT_EQ(host.read(2, 0).data[0], 0);
}

// A host that comes back gets another controller, and what it had.
TEST(Namespaces, AttachmentsFollowTheirHost) {
  Rig rig;
  ConnectWords bob;
  bob.hostnqn = "nqn.2026-11.org.fabricbench:bob";
  {
    Managing host(rig, {}), other(rig, bob);
    const std::uint32_t nsid = host.create().dw0();
    EXPECT_TRUE(host.attach(nsid, {host.cntlid}).status().ok());
    EXPECT_TRUE(host.detach(1, {host.cntlid}).status().ok());
    EXPECT_EQ(active(host), (Ids{2}));
    EXPECT_EQ(active(other), (Ids{1}));
    host.leave();
    other.leave();
  }
  Managing again(rig, {}), other(rig, bob);
  EXPECT_EQ(active(again), (Ids{2}));
  EXPECT_EQ(active(other), (Ids{1}));
  EXPECT_TRUE(again.attach(1, {again.cntlid}).status().ok());
  EXPECT_TRUE(again.detach(2, {again.cntlid}).status().ok());
  again.leave();
  Managing third(rig, {});
  EXPECT_EQ(active(third), (Ids{1}));
}

TEST(Namespaces, StaticControllersKeepTheirs) {
  SubsystemOptions options;
  options.controllers = ControllerModel::static_controllers;
  Rig rig(options);
  ConnectWords words;
  words.cntlid = 2;
  Managing host(rig, words);
  const std::uint32_t nsid = host.create().dw0();
  EXPECT_TRUE(host.attach(nsid, {2, 3}).status().ok());
  host.leave();
  ConnectWords bob = words;
  bob.hostnqn = "nqn.2026-11.org.fabricbench:bob";
  bob.cntlid = 3;
  Managing other(rig, bob);
  EXPECT_EQ(active(other), (Ids{1, 2})) << "whoever its host is";
  bob.cntlid = 4;
  Managing third(rig, bob);
  EXPECT_EQ(active(third), (Ids{1}));
}

TEST(Namespaces, PrivateOnesHaveOneController) {
  Rig rig;
  ASSERT_TRUE(rig.disk->add_namespace({.nsid = 5, .blocks = 64, .shared = false}));
  Managing first(rig, {}), second(rig, {});
  EXPECT_EQ(active(first), (Ids{1, 5}));
  EXPECT_EQ(active(second), (Ids{1}));
  EXPECT_EQ(second.attach(5, {second.cntlid}).code(), sc::namespace_is_private);
  first.leave();
  EXPECT_EQ(active(second), (Ids{1})) << "it is not given away while a host is at it";
  Managing third(rig, {});
  EXPECT_EQ(active(third), (Ids{1, 5}));
  EXPECT_TRUE(third.detach(5, {third.cntlid}).status().ok());
  Managing fourth(rig, {});
  EXPECT_EQ(active(fourth), (Ids{1})) << "it was given away by command";
  EXPECT_TRUE(fourth.attach(5, {second.cntlid}).status().ok());
  EXPECT_EQ(active(second), (Ids{1, 5}));
  ASSERT_TRUE(rig.disk->add_namespace({.nsid = 6, .blocks = 64, .shared = false}));
  EXPECT_EQ(active(second), (Ids{1, 5, 6})) << "made while hosts are there";
}

// What is on its way to a namespace that is deleted reaches no other one.
TEST(Namespaces, DeletedWhileDataIsOnItsWay) {
  for (const auto opcode : {IoOpcode::write, IoOpcode::compare}) {
    Rig rig;
    Managing host(rig, {});
    const std::uint32_t nsid = host.create().dw0();
    host.attach(nsid, {host.cntlid});
    host.io.wire().hold_pulls = true;
    const auto cid = host.io.post(rw(opcode, 0, 1, nsid).bytes(), Bytes(512, 0x99));
    ASSERT_TRUE(host.admin.send(manage(1, nsid).bytes()).status().ok());
    host.io.deliver();
    const std::optional<Reply> reply = host.io.reply(cid);
    ASSERT_TRUE(reply.has_value());
    EXPECT_EQ(reply->code(), sc::invalid_field);
    Bytes first(512, 1);
    EXPECT_TRUE(rig.disk->find_namespace(1)->read(0, first).ok());
    EXPECT_EQ(first, Bytes(512));
  }
}

TEST(Namespaces, CapacityIsCounted) {
  SubsystemOptions options;
  options.namespace_management.capacity_bytes = 1 << 20;  // 1,024 blocks are in use
  Rig rig(options);
  Managing host(rig, {});
  const auto free = [&] {
    const Bytes page = host.admin.fetch(identify(Cns::controller).bytes(), 4096).data;
    EXPECT_EQ(load_le<std::uint64_t>(page.data() + nvme::id_ctrl::tnvmcap.offset), 1u << 20);
    return load_le<std::uint64_t>(page.data() + nvme::id_ctrl::unvmcap.offset);
  };
  EXPECT_EQ(free(), 1u << 19);
  EXPECT_EQ(host.create({.nsze = 1025, .ncap = 1025}).code(), sc::namespace_insufficient_capacity);
  EXPECT_TRUE(host.create({.nsze = 1u << 30, .ncap = 1024}).status().ok()) << "thin";
  EXPECT_EQ(free(), 0u);
  EXPECT_EQ(host.create({.nsze = 1, .ncap = 1}).code(), sc::namespace_insufficient_capacity);
  EXPECT_EQ(host.create({.nsze = ~std::uint64_t{0}, .ncap = 1}).code(), sc::namespace_insufficient_capacity);
  host.admin.send(manage(1, 2).bytes());
  EXPECT_EQ(free(), 1u << 19);
}

TEST(Namespaces, ThinOnesTellWhatIsInUse) {
  Rig rig;
  Managing host(rig, {});
  const std::uint32_t nsid = host.create({.nsze = 1000, .ncap = 10}).dw0();
  host.attach(nsid, {host.cntlid});
  EXPECT_TRUE(host.write(nsid, 900, 1, 10).status().ok());
  EXPECT_TRUE(host.write(nsid, 900, 2, 10).status().ok()) << "the same blocks";
  EXPECT_EQ(host.write(nsid, 0, 1).code(), sc::capacity_exceeded);
  EXPECT_EQ(rig.disk->find_namespace(nsid)->blocks_in_use(), 10u);
  EXPECT_TRUE(host.io.send(rw(IoOpcode::write_zeroes, 900, 4, nsid).bytes()).status().ok());
  EXPECT_EQ(rig.disk->find_namespace(nsid)->blocks_in_use(), 6u);
  EXPECT_TRUE(host.write(nsid, 0, 1, 4).status().ok());
  EXPECT_TRUE(host.admin.send(format(nsid, 1).bytes()).status().ok());
  EXPECT_EQ(rig.disk->find_namespace(nsid)->capacity(), 1u) << "blocks of eight times the size";
  EXPECT_EQ(rig.disk->find_namespace(nsid)->blocks_in_use(), 0u);
}

// The list is done from its beginning to the first entry that cannot be.
TEST(Namespaces, ListsEndAtTheirFirstFault) {
  Rig rig;
  Managing host(rig, {}), other(rig, {});
  const std::uint32_t nsid = host.create().dw0();
  EXPECT_EQ(host.attach(nsid, {host.cntlid, 999, other.cntlid}).code(), sc::controller_list_invalid);
  EXPECT_EQ(active(host), (Ids{1, 2}));
  EXPECT_EQ(active(other), (Ids{1}));
  Bytes list = controllers({host.cntlid});
  store_le(list.data(), std::uint16_t{2048});
  EXPECT_EQ(host.admin.send(attachment(1, nsid).bytes(), list).code(), sc::controller_list_invalid);
}

TEST(Namespaces, FlushAndFormatOfAllReachWhatIsAttached) {
  Rig rig;
  Managing host(rig, {});
  const std::uint32_t nsid = host.create().dw0();
  host.attach(nsid, {host.cntlid});
  host.write(nsid, 0, 0x5A);
  host.detach(nsid, {host.cntlid});
  EXPECT_TRUE(host.admin.send(format(nvme::kAllNamespaces, 0).bytes()).status().ok());
  EXPECT_TRUE(host.io.send(command(IoOpcode::flush, nvme::kAllNamespaces).bytes()).status().ok());
  EXPECT_EQ(host.admin.send(format(nsid, 0).bytes()).code(), sc::invalid_field);
  host.attach(nsid, {host.cntlid});
  EXPECT_EQ(host.read(nsid, 0).data[0], 0x5A);
}

struct SanitizeRig : Rig {
  explicit SanitizeRig(SubsystemOptions options = {}) : Rig(std::move(options)), host(*this, {}) {}
  Record<nvme::SanitizeLog> log() { return Record<nvme::SanitizeLog>{host.log(0x81, 512).data}; }
  nvme::Status say(const nvme::Sqe& sqe) { return host.admin.send(sqe.bytes()).code(); }
  Managing host;
};
namespace sl = nvme::sanitize_log;

TEST(Sanitize, TellsItsProgress) {
  SanitizeRig rig;
  EXPECT_EQ(rig.log().get(sl::sos), nvme::SanitizeState::never);
  EXPECT_TRUE(rig.log().get(sl::gde));
  rig.host.write(1, 0, 0x11);
  EXPECT_FALSE(rig.log().get(sl::gde));
  EXPECT_TRUE(rig.say(sanitize(3, false, 4)).ok());
  rig.world->run_for(Duration::s(25));
  auto log = rig.log();
  EXPECT_EQ(log.get(sl::sos), nvme::SanitizeState::in_progress);
  EXPECT_EQ(log.get(sl::passes), 2u);
  EXPECT_NEAR(log.get(sl::sprog), 0x10000 * 25 / 40, 8);
  EXPECT_FALSE(log.get(sl::gde));
  rig.world->run_for(Duration::s(15));
  log = rig.log();
  EXPECT_EQ(log.get(sl::sos), nvme::SanitizeState::completed);
  EXPECT_EQ(log.get(sl::passes), 4u);
  EXPECT_EQ(log.get(sl::sprog), nvme::kSanitizeNoProgress);
  EXPECT_EQ(log.get(sl::scdw10), 0x43u);
  EXPECT_EQ(log.get(sl::eto), 160u);
  EXPECT_TRUE(log.get(sl::gde));
  EXPECT_EQ(rig.host.read(1, 0).data[0], 0);
}

// What was under way when it began does nothing.
TEST(Sanitize, BeginsWhileDataIsOnItsWay) {
  SanitizeRig rig;
  rig.host.io.wire().hold_pulls = true;
  const auto write = rig.host.io.post(rw(IoOpcode::write, 0, 1).bytes(), Bytes(512, 0x99));
  nvme::Sqe first = rw(IoOpcode::compare, 8, 1), second = rw(IoOpcode::write, 8, 1);
  first.set(nvme::sqe::fuse, 1u);
  second.set(nvme::sqe::fuse, 2u);
  const auto compare = rig.host.io.post(first.bytes(), Bytes(512));
  const auto fused = rig.host.io.post(second.bytes(), Bytes(512, 0x98));
  EXPECT_TRUE(rig.say(sanitize(2)).ok());
  while (!rig.host.io.wire().pulling.empty()) rig.host.io.deliver();
  EXPECT_EQ(rig.host.io.reply(write)->code(), sc::sanitize_in_progress);
  EXPECT_EQ(rig.host.io.reply(compare)->code(), sc::sanitize_in_progress);
  EXPECT_EQ(rig.host.io.reply(fused)->code(), sc::aborted_failed_fused);
  Bytes data(4608, 1);
  EXPECT_TRUE(rig.disk->find_namespace(1)->read(0, data).ok());
  EXPECT_EQ(data, Bytes(4608));
}

TEST(Sanitize, FlushByVersion) {
  for (const bool newer : {true, false}) {
    SubsystemOptions options;
    if (!newer) options.version = fabrics::version(1, 4, 0);
    SanitizeRig rig(options);
    rig.say(sanitize(2));
    const nvme::Status status = rig.host.io.send(command(IoOpcode::flush, 1).bytes()).code();
    EXPECT_EQ(status, newer ? sc::success : sc::sanitize_in_progress);
  }
}

TEST(Sanitize, IsGoneWhereThereIsNoneOfIt) {
  SubsystemOptions options;
  options.sanitize = {.block_erase = false, .crypto_erase = false, .overwrite = false};
  options.self_test.supported = false;
  SanitizeRig rig(options);
  EXPECT_EQ(rig.say(sanitize(2)), sc::invalid_opcode);
  EXPECT_EQ(rig.host.log(0x81, 512).code(), sc::invalid_log_page);
  EXPECT_EQ(rig.say(get_feature(0x17)), sc::invalid_field);
  EXPECT_EQ(rig.say(self_test(1)), sc::invalid_opcode);
  EXPECT_EQ(rig.host.log(6, 564).code(), sc::invalid_log_page);
}

/// A store that cannot be erased.
struct Stubborn final : BlockStore {
  std::uint64_t bytes() const override { return inner->bytes(); }
  Result<void> read(std::uint64_t at, MutableBytes to) override { return inner->read(at, to); }
  Result<void> write(std::uint64_t at, ByteView from) override { return inner->write(at, from); }
  Result<void> zero(std::uint64_t, std::uint64_t) override { return Failure{Problem{"no"}}; }
  Result<void> flush() override { return {}; }
  std::uint64_t bytes_held() const override { return inner->bytes_held(); }
  std::unique_ptr<BlockStore> inner = make_memory_store(64 * 512);
};

TEST(Sanitize, FailsWhereTheStoreDoes) {
  Rig rig;
  NamespaceOptions stubborn{.blocks = 64};
  stubborn.store = std::make_unique<Stubborn>();
  ASSERT_TRUE(rig.disk->add_namespace(std::move(stubborn)));
  Managing host(rig, {});
  EXPECT_TRUE(host.admin.send(sanitize(2).bytes()).status().ok());
  rig.world->run_for(Duration::s(10));
  EXPECT_EQ(rig.disk->sanitizer().state(), nvme::SanitizeState::failed);
  EXPECT_EQ(host.read(1, 0).code(), sc::sanitize_failed);
}

TEST(SelfTest, KeepsTwentyResults) {
  SubsystemOptions options;
  options.power_on_hours = 7;
  SanitizeRig rig(options);
  for (unsigned i = 0; i < 23; ++i) {
    EXPECT_TRUE(rig.say(self_test(1 + i % 2, 1)).ok());
    EXPECT_EQ(rig.say(self_test(1)), sc::self_test_in_progress);
    rig.world->run_for(Duration::s(600));
  }
  const Record<nvme::SelfTestLog> log{rig.host.log(6, 564).data};
  for (unsigned i = 0; i < 20; ++i) {
    const auto result = element<nvme::SelfTestResult>(log.bytes(), nvme::self_test_log::results, i);
    EXPECT_EQ(result.get(nvme::self_test_result::code), 1 + i % 2);
    EXPECT_EQ(result.get(nvme::self_test_result::result), 0u);
    EXPECT_EQ(result.get(nvme::self_test_result::nsid), 1u);
  }
  const auto newest = element<nvme::SelfTestResult>(log.bytes(), nvme::self_test_log::results, 0);
  EXPECT_EQ(newest.get(nvme::self_test_result::poh), 10u) << "3.8 hours later";
}

TEST(SelfTest, AnotherControllersResetIsNothingToIt) {
  Rig rig;
  Managing host(rig, {}), other(rig, {});
  EXPECT_TRUE(host.admin.send(self_test(1).bytes()).status().ok());
  other.reset();
  EXPECT_TRUE(rig.disk->self_tests().running());
  host.leave();
  EXPECT_FALSE(rig.disk->self_tests().running());
}

TEST(SelfTest, OfTheControllerAloneNoNamespaceMatters) {
  SanitizeRig rig;
  EXPECT_TRUE(rig.say(self_test(1)).ok());
  EXPECT_TRUE(rig.say(format(1, 0)).ok());
  EXPECT_TRUE(rig.disk->self_tests().running());
  EXPECT_TRUE(rig.say(manage(1, nvme::kAllNamespaces)).ok());
  EXPECT_TRUE(rig.disk->self_tests().running());
}

}  // namespace
}  // namespace fb::subsystem::test
