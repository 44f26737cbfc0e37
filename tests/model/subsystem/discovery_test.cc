#include <gtest/gtest.h>

#include "tests/model/subsystem/rig.h"
#include "wire/fabrics/discovery_log.h"
#include "wire/nvme/identify_controller.h"

namespace fb::subsystem::test {
namespace {

namespace sc = nvme::sc;
namespace de = fabrics::discovery_entry;
namespace dh = fabrics::discovery_header;

ConnectWords discovery_words(std::uint32_t kato = 0) {
  ConnectWords words;
  words.subnqn = std::string(fabrics::kDiscoveryNqn);
  words.kato = kato;
  return words;
}

Bytes read_log(Line& admin, std::size_t length = 8192) { return admin.fetch(get_log(0x70, length).bytes(), length).data; }

TEST(Discovery, ListsWhatTheHostMayUse) {
  Rig rig;
  SubsystemOptions secret;
  secret.nqn = "nqn.2026-11.org.fabricbench:secret";
  secret.allow_any_host = false;
  Subsystem& hidden = rig.target.add_subsystem(secret);
  rig.target.discovery().add_referral({.traddr = "192.0.2.99"});
  auto session = rig.start(discovery_words());
  const Bytes log = read_log(session.admin);
  const View<fabrics::DiscoveryHeader> header{log};
  EXPECT_EQ(header.get(dh::recfmt), 0);
  ASSERT_EQ(header.get(dh::numrec), 2u);
  const View<fabrics::DiscoveryEntry> disk{fabrics::discovery_entry_at(log, 0)};
  EXPECT_EQ(disk.get(de::subtype), fabrics::SubsystemType::nvm);
  EXPECT_EQ(text_of(ByteView{disk.get(de::subnqn)}), kDefaultSubsystemNqn);
  EXPECT_EQ(text_of(ByteView{disk.get(de::traddr)}), "192.0.2.1");
  EXPECT_EQ(fabrics::decimal_port(ByteView{disk.get(de::trsvcid)}), 4420);
  EXPECT_EQ(disk.get(de::cntlid), 0xFFFF);
  EXPECT_GE(disk.get(de::asqsz), 32);
  const View<fabrics::DiscoveryEntry> referral{fabrics::discovery_entry_at(log, 1)};
  EXPECT_EQ(referral.get(de::subtype), fabrics::SubsystemType::referral);
  hidden.allow_host(kHostNqn);
  const Bytes after = read_log(session.admin);
  EXPECT_EQ(View<fabrics::DiscoveryHeader>{after}.get(dh::numrec), 3u);
  EXPECT_EQ(View<fabrics::DiscoveryHeader>{after}.get(dh::genctr), header.get(dh::genctr) + 1);
}

TEST(Discovery, AReadInPartsIsOfOneGenerationOrRestarts) {
  Rig rig;
  auto session = rig.start(discovery_words());
  EXPECT_TRUE(session.admin.fetch(get_log(0x70, 1024).bytes(), 1024).status().ok());
  EXPECT_TRUE(session.admin.fetch(get_log(0x70, 1024, 1024).bytes(), 1024).status().ok());
  rig.target.discovery().changed();
  EXPECT_EQ(session.admin.fetch(get_log(0x70, 1024, 1024).bytes(), 1024).code(), sc::discover_restart);
  EXPECT_TRUE(session.admin.fetch(get_log(0x70, 1024).bytes(), 1024).status().ok());
  EXPECT_TRUE(session.admin.fetch(get_log(0x70, 1024, 1024).bytes(), 1024).status().ok());
}

TEST(Discovery, WhatItsControllersDoNotDo) {
  Rig rig;
  auto session = rig.start(discovery_words());
  Line& admin = session.admin;
  EXPECT_EQ(admin.send(command(nvme::AdminOpcode::keep_alive).bytes()).code(), sc::invalid_opcode);
  EXPECT_EQ(admin.send(command(nvme::AdminOpcode::async_event_request).bytes()).code(), sc::invalid_opcode);
  EXPECT_EQ(admin.send(command(nvme::AdminOpcode::abort).bytes()).code(), sc::invalid_opcode);
  EXPECT_EQ(admin.fetch(identify(nvme::Cns::identify_namespace, 1).bytes(), 4096).code(), sc::invalid_field);
  EXPECT_EQ(admin.fetch(get_log(2, 512).bytes(), 512).code(), sc::invalid_log_page);
  EXPECT_EQ(admin.send(property_get(fabrics::property::crto, 0)).code(), sc::invalid_field);
  EXPECT_EQ(admin.send(property_get(fabrics::property::nssr, 0)).code(), sc::invalid_field);
  Record<fabrics::DisconnectSqe> disconnect;
  disconnect.set(fabrics::sqe::opcode, 0x7Fu).set(fabrics::sqe::fctype, 8u);
  EXPECT_EQ(admin.send(disconnect.bytes()).code(), sc::invalid_opcode);
  Line io = rig.open(1);
  ConnectWords words = discovery_words();
  words.qid = 1;
  words.cntlid = session.cntlid;
  const Reply refused = Rig::connect(io, words);
  EXPECT_EQ(refused.code(), sc::connect_invalid_parameters);
  EXPECT_EQ(refused.dw0(), 42u);
  const Reply id = admin.fetch(identify(nvme::Cns::controller).bytes(), 4096);
  const View<nvme::IdentifyController> facts{id.data};
  EXPECT_EQ(facts.get(nvme::id_ctrl::cntrltype), nvme::ControllerType::discovery);
  EXPECT_EQ(facts.get(nvme::id_ctrl::nn), 0u);
  EXPECT_EQ(facts.get(nvme::id_ctrl::oaes), 0u) << "no event is ever sent on it";
}

TEST(Discovery, PersistentHostsAreToldOfChanges) {
  Rig rig;
  auto session = rig.start(discovery_words(10000));
  Line& admin = session.admin;
  const Reply id = admin.fetch(identify(nvme::Cns::controller).bytes(), 4096);
  EXPECT_EQ(View<nvme::IdentifyController>{id.data}.get(nvme::id_ctrl::oaes), 1u << 31);
  EXPECT_EQ(admin.send(get_feature(0x0B).bytes()).dw0(), 1u << 31);
  const auto request = admin.post(command(nvme::AdminOpcode::async_event_request).bytes());
  rig.target.discovery().add_referral({.traddr = "192.0.2.98"});
  EXPECT_EQ(admin.reply(request)->dw0(), 0x0070F002u);
  EXPECT_TRUE(admin.send(command(nvme::AdminOpcode::keep_alive).bytes()).status().ok());
  rig.world->run_for(Duration::ms(10002));
  EXPECT_TRUE(admin.closed());
}

TEST(Discovery, WithoutPersistenceKatoIsRefused) {
  DiscoveryOptions options;
  options.persistent = false;
  options.unique_nqn = "nqn.2026-11.org.fabricbench:discovery.7";
  Rig rig({}, nullptr, options);
  Line line = rig.open();
  const Reply refused = Rig::connect(line, discovery_words(5000));
  EXPECT_EQ(refused.code(), sc::connect_invalid_parameters);
  EXPECT_EQ(refused.dw0(), 48u);
  ConnectWords unique = discovery_words();
  unique.subnqn = options.unique_nqn;
  EXPECT_TRUE(Rig::connect(line, unique).status().ok());
}

TEST(Discovery, SilenceEndsANonPersistentAssociation) {
  Rig rig;
  auto session = rig.start(discovery_words());
  for (int i = 0; i < 4; ++i) {
    rig.world->run_for(Duration::s(100));
    EXPECT_FALSE(session.admin.closed());
    read_log(session.admin);
  }
  rig.world->run_for(Duration::s(241));
  EXPECT_TRUE(session.admin.closed());
}

}  // namespace
}  // namespace fb::subsystem::test
