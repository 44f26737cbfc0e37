// Identify, log pages, features, asynchronous events.
#include <gtest/gtest.h>

#include "tests/model/subsystem/rig.h"
#include "wire/nvme/events.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/logs.h"

namespace fb::subsystem::test {
namespace {

namespace sc = nvme::sc;
using nvme::AdminOpcode;
using nvme::Cns;

struct AdminRig : Rig {
  explicit AdminRig(SubsystemOptions options = {}) : Rig(std::move(options)), session(start()) {}
  Line& admin() { return session.admin; }
  Reply fetch(Cns cns, std::uint32_t nsid = 0) { return admin().fetch(identify(cns, nsid).bytes(), 4096); }
  Reply log(unsigned lid, std::size_t length, std::uint64_t offset = 0, bool rae = false, unsigned lsp = 0) {
    return admin().fetch(get_log(lid, length, offset, rae, lsp).bytes(), length);
  }
  void add_namespace(std::uint32_t nsid, std::uint32_t group = 1) {
    NamespaceOptions options;
    options.nsid = nsid;
    options.ana_group = group;
    ASSERT_TRUE(disk->add_namespace(std::move(options)));
  }
  Session session;
};

TEST(Identify, Controller) {
  AdminRig rig;
  const Reply reply = rig.fetch(Cns::controller);
  ASSERT_TRUE(reply.status().ok());
  const View<nvme::IdentifyController> id{reply.data};
  namespace f = nvme::id_ctrl;
  EXPECT_EQ(id.get(f::cntlid), rig.session.cntlid);
  EXPECT_EQ(text_of(ByteView{id.get(f::subnqn)}), kDefaultSubsystemNqn);
  EXPECT_EQ(id.get(f::cntrltype), nvme::ControllerType::io);
  EXPECT_EQ(id.get(f::ver), 0x20000u);
  EXPECT_GE(id.get(f::ioccsz), 4u);
  EXPECT_EQ(id.get(f::iorcsz), 1u);
  EXPECT_NE(id.get(f::maxcmd), 0);
  EXPECT_NE(id.get(f::kas), 0);
  EXPECT_EQ(id.get(f::ofcs), nvme::ofcs_bits::disconnect);
  EXPECT_GE(id.get(f::nn), 1u);
}

TEST(Identify, NamespaceAndItsNames) {
  AdminRig rig;
  const Reply reply = rig.fetch(Cns::identify_namespace, 1);
  const View<nvme::IdentifyNamespace> ns{reply.data};
  EXPECT_EQ(ns.get(nvme::id_ns::nsze), 1024u);
  EXPECT_GE(ns.get(nvme::id_ns::ncap), ns.get(nvme::id_ns::nuse));
  EXPECT_EQ(nvme::lba_format_at(reply.data, nvme::format_in_use(reply.data)).get(nvme::lba_format::lbads), 9);
  const Reply names = rig.fetch(Cns::namespace_id_descriptors, 1);
  nvme::NamespaceIdWalk walk(names.data);
  nvme::NamespaceId name;
  std::vector<nvme::NamespaceIdType> seen;
  while (walk.next(name)) {
    EXPECT_EQ(name.id.size(), nvme::namespace_id_length(name.type));
    seen.push_back(name.type);
  }
  EXPECT_FALSE(walk.damaged());
  EXPECT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen.back(), nvme::NamespaceIdType::csi);
  // The names outlive a restart of the target.
  AdminRig other;
  EXPECT_EQ(other.fetch(Cns::namespace_id_descriptors, 1).data, names.data);
}

TEST(Identify, InactiveAndInvalidNamespaces) {
  AdminRig rig;
  EXPECT_EQ(rig.fetch(Cns::identify_namespace, 7).data, Bytes(4096));
  EXPECT_EQ(rig.fetch(Cns::namespace_id_descriptors, 7).code(), sc::invalid_field);
  EXPECT_EQ(rig.fetch(Cns::identify_namespace, 0).code(), sc::invalid_namespace_or_format);
  EXPECT_EQ(rig.fetch(Cns::identify_namespace, 5000).code(), sc::invalid_namespace_or_format);
  // What all namespaces have in common is for those who may make one.
  const Reply common = rig.fetch(Cns::identify_namespace, 0xFFFFFFFF);
  EXPECT_TRUE(common.status().ok());
  const View<nvme::IdentifyNamespace> ns{common.data};
  EXPECT_EQ(ns.get(nvme::id_ns::nsze), 0u);
  EXPECT_EQ(ns.get(nvme::id_ns::nlbaf).count(), kBlockFormats.size());
  SubsystemOptions options;
  options.namespace_management.supported = false;
  AdminRig fixed(options);
  EXPECT_EQ(fixed.fetch(Cns::identify_namespace, 0xFFFFFFFF).code(), sc::invalid_namespace_or_format);
  EXPECT_EQ(fixed.fetch(Cns::allocated_namespace_list).code(), sc::invalid_field);
}

TEST(Identify, Lists) {
  AdminRig rig;
  rig.add_namespace(9);
  rig.add_namespace(4);
  const auto list = [&](Cns cns, std::uint32_t after) { return nvme::read_namespace_list(rig.fetch(cns, after).data); };
  EXPECT_EQ(list(Cns::active_namespace_list, 0), (std::vector<std::uint32_t>{1, 4, 9}));
  EXPECT_EQ(list(Cns::active_namespace_list, 4), (std::vector<std::uint32_t>{9}));
  EXPECT_EQ(list(Cns::command_set_active_namespace_list, 1), (std::vector<std::uint32_t>{4, 9}));
  EXPECT_EQ(rig.fetch(Cns::active_namespace_list, 0xFFFFFFFE).code(), sc::invalid_namespace_or_format);
  const auto controllers = nvme::read_controller_list(rig.fetch(Cns::controller_list).data);
  EXPECT_EQ(controllers, (std::vector<std::uint16_t>{rig.session.cntlid}));
}

TEST(Identify, OtherSelectors) {
  AdminRig rig;
  EXPECT_TRUE(rig.fetch(Cns::command_set_namespace, 1).status().ok());
  EXPECT_TRUE(rig.fetch(Cns::command_set_controller).status().ok());
  const Reply independent = rig.fetch(Cns::independent_namespace, 1);
  EXPECT_EQ(View<nvme::IdentifyNamespaceIndependent>{independent.data}.get(nvme::id_ns_independent::nstat), nvme::kNstatReady);
  EXPECT_EQ(nvme::command_set_combination(rig.fetch(Cns::command_set_combinations).data, 0), 1u);
  EXPECT_EQ(rig.fetch(static_cast<Cns>(0x99)).code(), sc::invalid_field);
  EXPECT_EQ(rig.fetch(Cns::controller, 5).code(), sc::invalid_field);
  EXPECT_EQ(rig.admin().fetch(identify(Cns::controller).bytes(), 512).code(), sc::data_sgl_length_invalid);
  nvme::Sqe zoned = identify(Cns::command_set_controller);
  zoned.set(nvme::sqe::cdw11, 2u << 24);
  EXPECT_EQ(rig.admin().fetch(zoned.bytes(), 4096).code(), sc::invalid_io_command_set);
}

TEST(Log, EffectsAgreeWithWhatIsExecuted) {
  AdminRig rig;
  Line io = rig.start_io(rig.session);
  const Reply effects = rig.log(5, 4096);
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    if (opcode == 0x7F) continue;
    const bool admin_claimed = effects.data[opcode * 4] & 1;
    if (opcode != static_cast<unsigned>(AdminOpcode::async_event_request)) {
      const Reply reply = rig.admin().send(command(static_cast<std::uint8_t>(opcode)).bytes());
      EXPECT_EQ(reply.code() != sc::invalid_opcode, admin_claimed) << "admin " << opcode;
    }
    const bool io_claimed = effects.data[1024 + opcode * 4] & 1;
    const Reply reply = io.send(command(static_cast<std::uint8_t>(opcode), 1).bytes(), Bytes(512));
    EXPECT_EQ(reply.code() != sc::invalid_opcode, io_claimed) << "I/O " << opcode;
  }
}

TEST(Log, SupportedPagesAgreeWithWhatIsAnswered) {
  AdminRig rig;
  const Reply pages = rig.log(0, 1024);
  for (unsigned lid = 0; lid < 256; ++lid) {
    const bool claimed = pages.data[lid * 4] & 1;
    // Telemetry comes in blocks, and persistent events in a context.
    nvme::Sqe read = get_log(lid, 512);
    if (lid == 0x0D) read.edit<nvme::GetLogPageSqe>().set(nvme::get_log_sqe::lsp, 1u);
    const Reply reply = rig.admin().fetch(read.bytes(), 512);
    EXPECT_EQ(reply.status().ok(), claimed) << lid;
    EXPECT_EQ(reply.code() == sc::invalid_log_page, !claimed) << lid;
  }
}

TEST(Log, FeaturesAgreeWithWhatIsAnswered) {
  AdminRig rig;
  const Reply page = rig.log(0x12, 1024);
  for (unsigned fid = 0; fid < 256; ++fid) {
    const bool claimed = page.data[fid * 4] & 1;
    const bool of_namespace = nvme::is_namespace_feature(static_cast<nvme::FeatureId>(fid));
    const Reply reply = rig.admin().fetch(get_feature(fid, 0, 1, of_namespace ? 1 : 0).bytes(), 512);
    EXPECT_EQ(reply.status().ok(), claimed) << fid;
  }
}

TEST(Log, RangesAndNamespaces) {
  AdminRig rig;
  const Reply whole = rig.log(2, 512);
  ASSERT_TRUE(whole.status().ok());
  const Reply part = rig.log(2, 256, 256);
  EXPECT_TRUE(std::equal(part.data.begin(), part.data.end(), whole.data.begin() + 256));
  EXPECT_TRUE(rig.log(2, 1024).status().ok());  // beyond the page: zeroes
  EXPECT_EQ(rig.log(2, 512, 516).code(), sc::invalid_field);
  EXPECT_EQ(rig.log(2, 64, 2).code(), sc::invalid_field);
  nvme::Sqe one = get_log(2, 512);
  one.set(nvme::sqe::nsid, 1u);
  EXPECT_EQ(rig.admin().fetch(one.bytes(), 512).code(), sc::invalid_field);
  EXPECT_EQ(rig.log(0x55, 512).code(), sc::invalid_log_page);
  EXPECT_EQ(rig.log(2, 2u << 20).code(), sc::invalid_field);
}

TEST(Log, Ana) {
  AdminRig rig;
  rig.add_namespace(8, 2);
  rig.add_namespace(3, 1);
  rig.disk->set_ana_state(2, nvme::AnaState::non_optimized);
  const Reply reply = rig.log(0x0C, 512);
  nvme::AnaWalk walk(reply.data);
  nvme::AnaGroup group;
  ASSERT_TRUE(walk.next(group));
  EXPECT_EQ(group.id, 1u);
  EXPECT_EQ(group.state, nvme::AnaState::optimized);
  EXPECT_EQ(group.namespaces, (std::vector<std::uint32_t>{1, 3}));
  ASSERT_TRUE(walk.next(group));
  EXPECT_EQ(group.id, 2u);
  EXPECT_EQ(group.state, nvme::AnaState::non_optimized);
  EXPECT_EQ(group.namespaces, (std::vector<std::uint32_t>{8}));
  EXPECT_FALSE(walk.next(group));
  EXPECT_EQ(walk.change_count(), 1u);
  const Reply groups_reply = rig.log(0x0C, 512, 0, false, 1);
  nvme::AnaWalk groups(groups_reply.data);
  ASSERT_TRUE(groups.next(group));
  EXPECT_TRUE(group.namespaces.empty());
}

TEST(Features, DefaultsAndKinds) {
  AdminRig rig;
  for (const unsigned fid : {1u, 2u, 4u, 5u, 6u, 7u, 0x0Au, 0x0Bu, 0x0Fu}) {
    EXPECT_TRUE(rig.admin().send(get_feature(fid).bytes()).status().ok()) << fid;
    EXPECT_TRUE(rig.admin().send(get_feature(fid, 1).bytes()).status().ok()) << fid;
    const bool of_the_association = fid == 7 || fid == 0x0F;
    EXPECT_EQ(rig.admin().send(get_feature(fid, 3).bytes()).dw0() & 1, of_the_association ? 0u : 1u) << fid;
  }
  EXPECT_EQ(rig.admin().send(get_feature(1, 5).bytes()).code(), sc::invalid_field);
  EXPECT_EQ(rig.admin().send(get_feature(0x33).bytes()).code(), sc::invalid_field);
  EXPECT_TRUE(rig.admin().send(set_feature(1, 0x07).bytes()).status().ok());
  EXPECT_EQ(rig.admin().send(get_feature(1).bytes()).dw0(), 7u);
  EXPECT_EQ(rig.admin().send(get_feature(1, 1).bytes()).dw0(), 0u);
  EXPECT_EQ(rig.admin().send(set_feature(7, 0, 0, true).bytes()).code(), sc::feature_not_saveable);
  EXPECT_EQ(rig.admin().send(set_feature(1, 7, 1).bytes()).code(), sc::feature_not_namespace_specific);
  EXPECT_EQ(rig.admin().send(set_feature(1, 7, 999).bytes()).code(), sc::invalid_namespace_or_format);
  EXPECT_EQ(rig.admin().send(set_feature(2, 3).bytes()).code(), sc::invalid_field);
  EXPECT_EQ(rig.admin().send(set_feature(0x19, 1).bytes()).code(), sc::io_command_set_combination_rejected);
}

TEST(Features, NumberOfQueues) {
  AdminRig rig;
  EXPECT_EQ(rig.admin().send(set_feature(7, 0xFFFF0000).bytes()).code(), sc::invalid_field);
  EXPECT_EQ(rig.admin().send(set_feature(7, 0x0003'0003).bytes()).dw0(), 0x0003'0003u);
  Line fifth = rig.open(5);
  ConnectWords words;
  words.qid = 5;
  words.cntlid = rig.session.cntlid;
  EXPECT_EQ(Rig::connect(fifth, words).code(), sc::connect_invalid_parameters);
  EXPECT_EQ(rig.admin().send(set_feature(7, 0x00FF'00FF).bytes()).dw0(), 0x000F'000Fu);
  EXPECT_TRUE(Rig::connect(fifth, words).status().ok());
  EXPECT_EQ(rig.admin().send(set_feature(7, 0x0003'0003).bytes()).code(), sc::command_sequence_error);
}

TEST(Features, HostIdentifier) {
  AdminRig rig;
  const Reply reply = rig.admin().fetch(get_feature(0x81, 0, 1).bytes(), 16);
  EXPECT_EQ(reply.data, Bytes(16, 0x77));
  EXPECT_EQ(rig.admin().fetch(get_feature(0x81, 0, 0).bytes(), 16).code(), sc::invalid_field);
  EXPECT_EQ(rig.admin().send(set_feature(0x81, 1).bytes(), Bytes(16)).code(), sc::command_sequence_error);
}

TEST(Features, HostBehaviorTravelsAsData) {
  AdminRig rig;
  Bytes wanted(512);
  wanted[0] = 1;
  EXPECT_TRUE(rig.admin().send(set_feature(0x16, 0).bytes(), wanted).status().ok());
  EXPECT_EQ(rig.admin().fetch(get_feature(0x16).bytes(), 512).data, wanted);
}

struct EventRig : AdminRig {
  std::uint16_t request() { return admin().post(command(AdminOpcode::async_event_request).bytes()); }
  void change() { disk->resize_namespace(1, 512); }
};

TEST(Events, OneIsToldAndThenMaskedUntilItsLogIsRead) {
  EventRig rig;
  rig.admin().send(set_feature(0x0B, 0x100).bytes());
  const auto first = rig.request();
  rig.change();
  EXPECT_EQ(rig.admin().reply(first)->dw0(), 0x00040002u);
  const auto second = rig.request();
  rig.change();
  EXPECT_FALSE(rig.admin().reply(second));
  const Reply kept = rig.log(4, 4096, 0, true);
  EXPECT_EQ(nvme::read_namespace_list(kept.data), (std::vector<std::uint32_t>{1}));
  rig.change();
  EXPECT_FALSE(rig.admin().reply(second));  // RAE = 1 did not clear it
  EXPECT_EQ(rig.log(4, 4096).data, kept.data);
  EXPECT_EQ(rig.log(4, 4096).data, Bytes(4096));
  rig.change();
  EXPECT_TRUE(rig.admin().reply(second));
}

TEST(Events, AreHeldUntilARequestComes) {
  EventRig rig;
  rig.admin().send(set_feature(0x0B, 0x100).bytes());
  rig.change();
  EXPECT_TRUE(rig.admin().reply(rig.request()));
}

TEST(Events, AreNotSentWhenMaskedByConfiguration) {
  EventRig rig;
  const auto request = rig.request();
  rig.change();
  rig.disk->set_ana_state(1, nvme::AnaState::non_optimized);
  rig.disk->set_temperature(400);
  EXPECT_FALSE(rig.admin().reply(request));
  rig.admin().send(set_feature(0x0B, 0x902).bytes());
  rig.disk->set_ana_state(1, nvme::AnaState::optimized);
  EXPECT_EQ(rig.admin().reply(request)->dw0(), 0x000C0302u);
  const auto other = rig.request();
  rig.disk->set_temperature(300);
  rig.disk->set_temperature(400);
  EXPECT_EQ(rig.admin().reply(other)->dw0(), 0x00020101u);
}

TEST(Events, RequestsAreLimitedAndCanBeAborted) {
  EventRig rig;
  std::vector<std::uint16_t> requests;
  for (int i = 0; i < 4; ++i) requests.push_back(rig.request());
  EXPECT_EQ(rig.admin().reply(rig.request())->code(), sc::async_event_request_limit_exceeded);
  nvme::Sqe abort = command(AdminOpcode::abort);
  abort.set(nvme::sqe::cdw10, std::uint32_t{requests[1]} << 16);
  EXPECT_EQ(rig.admin().send(abort.bytes()).dw0(), 0u);
  EXPECT_EQ(rig.admin().reply(requests[1])->code(), sc::abort_requested);
  rig.request();
  EXPECT_TRUE(rig.admin().replies().empty());
}

TEST(Namespaces, ComeAndGo) {
  AdminRig rig;
  Line io = rig.start_io(rig.session);
  rig.add_namespace(2);
  EXPECT_TRUE(io.fetch(rw(nvme::IoOpcode::read, 0, 1, 2).bytes(), 512).status().ok());
  EXPECT_TRUE(rig.disk->remove_namespace(2));
  EXPECT_FALSE(rig.disk->remove_namespace(2));
  EXPECT_EQ(io.fetch(rw(nvme::IoOpcode::read, 0, 1, 2).bytes(), 512).code(), sc::invalid_field);
  EXPECT_FALSE(rig.disk->add_namespace({.nsid = 5000}));
  EXPECT_FALSE(rig.disk->add_namespace({.nsid = 1}));
}

TEST(Namespaces, OneThatGoesWhileDataIsOnItsWay) {
  AdminRig rig;
  Line io = rig.start_io(rig.session);
  io.wire().hold_pulls = true;
  const auto cid = io.post(rw(nvme::IoOpcode::write, 0, 1).bytes(), Bytes(512));
  rig.disk->remove_namespace(1);
  io.deliver();
  EXPECT_TRUE(io.reply(cid));
}

}  // namespace
}  // namespace fb::subsystem::test
