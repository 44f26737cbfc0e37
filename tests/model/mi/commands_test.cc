// The MI commands one by one: what they return, and where their errors say that the fault is.
#include <gtest/gtest.h>

#include "tests/model/mi/rig.h"
#include "wire/mi/vpd.h"

namespace fb::mi {
namespace {

using test::kDriveEid;
using test::mi_message;
using test::Rig;
using test::RigOptions;

struct Refused {
  const char* what;
  Opcode opcode;
  std::uint32_t nmd0;
  std::uint32_t nmd1;
  std::size_t data;  ///< bytes that follow
  const char* answer;
};

const Refused kRefused[] = {
    {"reserved structure", Opcode::read_data_structure, 0x06000000, 0, 0, "8488000004000b00"},
    {"reserved structure FFh", Opcode::read_data_structure, 0xFF000000, 0, 0, "8488000004000b00"},
    {"unknown port", Opcode::read_data_structure, 0x01020000, 0, 0, "8488000004000a00"},
    {"unknown controller", Opcode::read_data_structure, 0x03000007, 0, 0, "8488000004000800"},
    {"MAXRENT of 256", Opcode::controller_health_poll, 0x81FF0000, 0, 0, "8488000004000a00"},
    {"identifier 0", Opcode::configuration_get, 0x00, 0, 0, "8488000004000800"},
    {"identifier 05h", Opcode::configuration_get, 0x05, 0, 0, "8488000004000800"},
    {"identifier BFh", Opcode::configuration_get, 0xBF, 0, 0, "8488000004000800"},
    {"identifier 0 to set", Opcode::configuration_set, 0x00, 0, 0, "8488000004000800"},
    {"identifier 56h to set", Opcode::configuration_set, 0x56, 0, 0, "8488000004000800"},
    {"frequency 0", Opcode::configuration_set, 0x01000001, 0, 0, "8488000004000900"},
    {"frequency above the port's", Opcode::configuration_set, 0x01000301, 0, 0, "8488000004000900"},
    {"frequency of PCI Express", Opcode::configuration_set, 0x00000101, 0, 0, "8488000004000b00"},
    {"frequency of no port", Opcode::configuration_set, 0x05000101, 0, 0, "8488000004000b00"},
    {"frequency of PCI Express, read", Opcode::configuration_get, 0x00000001, 0, 0, "8488000004000b00"},
    {"unit below 64", Opcode::configuration_set, 0x01000003, 63, 0, "8488000004000c00"},
    {"unit above MMTUS", Opcode::configuration_set, 0x01000003, 251, 0, "8488000004000c00"},
    {"unit of no port", Opcode::configuration_set, 0x07000003, 64, 0, "8488000004000b00"},
    {"VPD offset", Opcode::vpd_read, 256, 1, 0, "8488000004000800"},
    {"VPD overrun", Opcode::vpd_read, 255, 2, 0, "8488000004000c00"},
    {"VPD length", Opcode::vpd_read, 0, 257, 0, "8488000004000c00"},
    {"VPD write offset", Opcode::vpd_write, 256, 4, 4, "8488000004000800"},
    {"VPD write overrun", Opcode::vpd_write, 254, 4, 4, "8488000004000c00"},
    {"VPD write, too little data", Opcode::vpd_write, 0, 8, 4, "8488000006000000"},
    {"VPD write, too much data", Opcode::vpd_write, 0, 4, 8, "8488000006000000"},
    {"reset type", Opcode::reset, 0x01000000, 0, 0, "8488000004000b00"},
    {"shutdown type", Opcode::shutdown, 0x02000000, 0, 0, "8488000004000b00"},
    {"buffer offset", Opcode::buffer_read, 4096, 4, 0, "8488000004000800"},
    {"buffer overrun", Opcode::buffer_read, 4092, 8, 0, "8488000004000c00"},
    {"buffer write offset", Opcode::buffer_write, 4096, 4, 4, "8488000004000800"},
    {"buffer write data", Opcode::buffer_write, 0, 8, 4, "8488000006000000"},
    {"SES on a drive", Opcode::ses_receive, 0, 64, 0, "8488000003000000"},
    {"SES on a drive", Opcode::ses_send, 0, 0, 0, "8488000003000000"},
};

TEST(Commands, ParameterErrorLocations) {
  Rig rig;
  const Bytes vpd = rig.device.vpd();
  for (const Refused& entry : kRefused) {
    const auto answers = rig.exchange(mi_message(entry.opcode, entry.nmd0, entry.nmd1, Bytes(entry.data, 1)));
    ASSERT_EQ(answers.size(), 1u) << entry.what;
    EXPECT_EQ(to_hex(answers[0]), entry.answer) << entry.what;
  }
  EXPECT_EQ(rig.device.vpd(), vpd);
  EXPECT_EQ(rig.device.port_state(1).unit, 64);
  EXPECT_EQ(rig.device.port_state(1).frequency, kFrequency100k);
}

TEST(Commands, PortInformation) {
  Rig rig;
  const auto pcie = rig.requester.read_port(kDriveEid, 0).wait();
  ASSERT_TRUE(pcie.ok());
  EXPECT_EQ(to_hex(pcie.value->bytes()), "0100fa0000000000010f040404" + std::string(38, '0'));
  const auto wire = rig.requester.read_port(kDriveEid, 1).wait();
  ASSERT_TRUE(wire.ok());
  EXPECT_EQ(to_hex(wire.value->bytes()), "0203fa0000100000a6023a0201" + std::string(38, '0'));
  rig.device.set_link(0, false);
  EXPECT_EQ(to_hex(rig.requester.read_port(kDriveEid, 0).wait().value->bytes()).substr(16, 10), "010f000400");
}

TEST(Commands, ControllerListFromAnywhere) {
  RigOptions options;
  options.subsystem.static_cntlids = {1, 3, 200};
  Rig rig(options);
  using List = std::vector<std::uint16_t>;
  EXPECT_EQ(*rig.requester.read_controllers(kDriveEid, 0).wait().value, (List{1, 3, 200}));
  EXPECT_EQ(*rig.requester.read_controllers(kDriveEid, 2).wait().value, (List{3, 200}));
  EXPECT_EQ(*rig.requester.read_controllers(kDriveEid, 200).wait().value, (List{200}));
  EXPECT_EQ(*rig.requester.read_controllers(kDriveEid, 201).wait().value, List{});
}

// What the list names is served, and what could be named and is not, is refused.
TEST(Commands, TheOptionalListTellsTheTruth) {
  for (const bool all : {true, false}) {
    RigOptions options;
    options.device.enclosure = all;
    options.device.reset_supported = options.device.shutdown_supported = options.device.pcie_commands = all;
    if (!all) options.endpoint.buffer_bytes = 0;
    Rig rig(options);
    const auto list = rig.requester.read_optional_commands(kDriveEid, 1).wait();
    ASSERT_TRUE(list.ok());
    EXPECT_TRUE(std::is_sorted(list.value->begin(), list.value->end()));
    const auto named = [&](MessageKind kind, std::uint8_t opcode) {
      return std::find(list.value->begin(), list.value->end(), SupportedCommand{kind, opcode}) != list.value->end();
    };
    for (unsigned code = 6; code < 256; ++code) {
      const auto opcode = static_cast<std::uint8_t>(code);
      // A reserved type keeps Reset and Shutdown from taking effect.
      const auto mi = rig.exchange(mi_message(opcode, 0x77000000, 0));
      ASSERT_EQ(mi.size(), 1u);
      EXPECT_EQ(mi[0][4] != 0x03, named(MessageKind::mi_command, opcode)) << code;
      Bytes admin(68);
      admin[0] = 0x84;
      admin[1] = 0x10;
      admin[4] = opcode;
      admin[6] = 1;
      const auto answered = rig.exchange(admin);
      ASSERT_EQ(answered.size(), 1u);
      const bool mandatory = admin_policy(opcode) == Policy::mandatory;
      EXPECT_EQ(answered[0][4] != 0x03, mandatory || named(MessageKind::admin_command, opcode)) << code;
      Bytes pcie(20);
      pcie[0] = 0x84;
      pcie[1] = 0x20;
      pcie[4] = opcode;
      pcie[6] = 1;
      EXPECT_EQ(rig.exchange(pcie)[0][4] != 0x03, named(MessageKind::pcie_command, opcode)) << code;
    }
  }
}

// ---- configuration ----

TEST(Configuration, FrequencyIsKeptUntilReset) {
  Rig rig;
  EXPECT_EQ(rig.requester.get_configuration(kDriveEid, ConfigurationId::smbus_frequency, 1).wait().nmresp(), kFrequency100k);
  EXPECT_TRUE(rig.requester.set_frequency(kDriveEid, 1, kFrequency400k).wait().ok());
  EXPECT_EQ(rig.requester.get_configuration(kDriveEid, ConfigurationId::smbus_frequency, 1).wait().nmresp(), kFrequency400k);
  rig.endpoint.reset();
  EXPECT_EQ(rig.requester.get_configuration(kDriveEid, ConfigurationId::smbus_frequency, 1).wait().nmresp(), kFrequency100k);
}

TEST(Configuration, UnitIsUsedFromTheNextResponse) {
  Rig rig;
  EXPECT_EQ(rig.requester.get_configuration(kDriveEid, ConfigurationId::transmission_unit, 1).wait().nmresp(), 64u);
  ASSERT_TRUE(rig.requester.set_unit(kDriveEid, 1, 128).wait().ok());
  EXPECT_EQ(rig.requester.get_configuration(kDriveEid, ConfigurationId::transmission_unit, 1).wait().nmresp(), 128u);
  rig.packets.seen.clear();
  ASSERT_TRUE(rig.requester.read_vpd(kDriveEid, 0, 256).wait().ok());
  const auto packets = rig.packets.from(test::kDriveEid);
  ASSERT_EQ(packets.size(), 3u);
  EXPECT_EQ(packets[0].payload().size(), 128u);
  EXPECT_EQ(packets[2].payload().size(), 12u);
  rig.endpoint.reset();
  rig.packets.seen.clear();
  ASSERT_TRUE(rig.requester.read_vpd(kDriveEid, 0, 256).wait().ok());
  EXPECT_EQ(rig.packets.from(test::kDriveEid).size(), 5u);
}

// ---- VPD ----

TEST(Vpd, ReadInAnyPieces) {
  Rig rig;
  EXPECT_FALSE(check_vpd(rig.device.vpd()));
  EXPECT_EQ(vpd_product_texts(rig.device.vpd())[4], rig.disk.options().serial);
  for (const std::size_t piece : {1u, 3u, 7u, 64u, 255u, 256u}) {
    const auto whole = rig.requester.read_whole_vpd(kDriveEid, 256, piece).wait();
    ASSERT_TRUE(whole.ok()) << piece;
    EXPECT_EQ(*whole.value, rig.device.vpd()) << piece;
  }
  const auto none = rig.requester.read_vpd(kDriveEid, 9999, 0).wait();
  EXPECT_TRUE(none.ok()) << "no data, no error";
}

TEST(Vpd, WritesLastAndWearOut) {
  RigOptions options;
  options.device.vpd_updates_max = 3;
  Rig rig(options);
  ASSERT_TRUE(rig.requester.write_vpd(kDriveEid, 250, {1, 2, 3}).wait().ok());
  EXPECT_TRUE(rig.requester.write_vpd(kDriveEid, 0, {}).wait().ok());
  EXPECT_EQ(rig.device.vpd_updates(), 1u) << "nothing written wears nothing";
  rig.endpoint.reset();
  EXPECT_EQ(*rig.requester.read_vpd(kDriveEid, 250, 3).wait().value, (Bytes{1, 2, 3}));
  ASSERT_TRUE(rig.requester.write_vpd(kDriveEid, 250, {4}).wait().ok());
  ASSERT_TRUE(rig.requester.write_vpd(kDriveEid, 250, {5}).wait().ok());
  EXPECT_EQ(rig.requester.write_vpd(kDriveEid, 250, {6}).wait().status(), Status::vpd_updates_exceeded);
  EXPECT_EQ(rig.device.vpd()[250], 5);
  rig.device.set_vpd_locked(true);
  EXPECT_EQ(rig.requester.write_vpd(kDriveEid, 250, {6}).wait().status(), Status::access_denied);
}

// ---- the endpoint buffer ----

TEST(Buffer, WriteAndRead) {
  Rig rig;
  Bytes pattern(4096);
  for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<std::uint8_t>(i * 31);
  ASSERT_TRUE(rig.requester.write_buffer(kDriveEid, 0, pattern).wait().ok());
  EXPECT_EQ(*rig.requester.read_buffer(kDriveEid, 0, 4096).wait().value, pattern);
  EXPECT_EQ(*rig.requester.read_buffer(kDriveEid, 101, 7).wait().value, Bytes(pattern.begin() + 101, pattern.begin() + 108));
  EXPECT_TRUE(rig.requester.read_buffer(kDriveEid, 0, 0).wait().ok());
  rig.endpoint.reset();
  EXPECT_EQ(*rig.requester.read_buffer(kDriveEid, 0, 4096).wait().value, Bytes(4096));
}

TEST(Buffer, ResponsesGoThere) {
  Rig rig;
  ASSERT_TRUE(rig.requester.write_buffer(kDriveEid, 0, Bytes(4096, 0xEE)).wait().ok());
  const Reply reply = rig.requester.command(kDriveEid, Opcode::vpd_read, 0, 100, {}, {.in_buffer = true, .timeout = {}}).wait();
  ASSERT_TRUE(reply.ok());
  EXPECT_TRUE(reply.data().empty());
  EXPECT_TRUE(View<MessageHeader>{reply.message}.get(header::meb));
  const Bytes buffer = *rig.requester.read_buffer(kDriveEid, 0, 4096).wait().value;
  EXPECT_TRUE(std::equal(buffer.begin(), buffer.begin() + 100, rig.device.vpd().begin()));
  EXPECT_EQ(Bytes(buffer.begin() + 100, buffer.end()), Bytes(3996)) << "the rest is zeroed";
}

TEST(Buffer, RequestDataComesFromThere) {
  Rig rig;
  ASSERT_TRUE(rig.requester.write_buffer(kDriveEid, 0, {9, 8, 7}).wait().ok());
  ASSERT_TRUE(rig.requester.command(kDriveEid, Opcode::vpd_write, 200, 3, {}, {.in_buffer = true, .timeout = {}}).wait().ok());
  EXPECT_EQ(*rig.requester.read_vpd(kDriveEid, 200, 3).wait().value, (Bytes{9, 8, 7}));
}

TEST(Buffer, OnlyForCommandsOfItsList) {
  Rig rig;
  const auto list = rig.requester.read_buffer_commands(kDriveEid).wait();
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list.value->size(), 9u);
  const Reply refused =
      rig.requester.command(kDriveEid, Opcode::subsystem_health_poll, 0, 0, {}, {.in_buffer = true, .timeout = {}}).wait();
  EXPECT_EQ(refused.status(), Status::invalid_parameter);
  EXPECT_EQ(refused.error_at(), (ParameterError{2, 0}));
  RigOptions none;
  none.endpoint.buffer_bytes = 0;
  Rig without(none);
  const Reply no_list = without.requester.command(kDriveEid, Opcode::read_data_structure, 0x05000000).wait();
  EXPECT_EQ(no_list.status(), Status::invalid_parameter);
  EXPECT_EQ(no_list.error_at(), (ParameterError{11, 0}));
  EXPECT_EQ(without.requester.read_buffer(kDriveEid, 0, 4).wait().reply.status(), Status::invalid_opcode);
}

TEST(Buffer, ClearedBySanitizeSaysSoUntilWritten) {
  Rig rig;
  ASSERT_TRUE(rig.requester.write_buffer(kDriveEid, 0, {1}).wait().ok());
  nvme::Sqe erase;
  erase.set(nvme::sqe::opcode, 0x84u).set(nvme::sqe::cdw10, 2u);
  ASSERT_TRUE(rig.requester.admin(kDriveEid, 1, erase, {}, {}).wait().admin_ok());
  EXPECT_EQ(rig.requester.read_buffer(kDriveEid, 0, 4).wait().reply.status(), Status::buffer_cleared);
  ASSERT_TRUE(rig.requester.write_buffer(kDriveEid, 2, {5}).wait().ok());
  EXPECT_EQ(*rig.requester.read_buffer(kDriveEid, 0, 4).wait().value, (Bytes{0, 0, 5, 0}));
}

// ---- the enclosure ----

TEST(Enclosure, PagesAndControl) {
  RigOptions options;
  options.device.enclosure = true;
  Rig rig(options);
  const auto supported = rig.requester.receive_ses(kDriveEid, 0, 64).wait();
  ASSERT_TRUE(supported.ok());
  EXPECT_EQ(to_hex(*supported.value), "00000003000102");
  EXPECT_EQ(rig.requester.receive_ses(kDriveEid, 0, 3).wait().value->size(), 3u);
  EXPECT_EQ(rig.requester.receive_ses(kDriveEid, 0x0A, 64).wait().reply.status(), Status::invalid_parameter);
  Bytes page = *rig.requester.receive_ses(kDriveEid, 2, 4096).wait().value;
  EXPECT_EQ(page.size(), 8u + 4 * 10);
  EXPECT_EQ(load_be<std::uint16_t>(&page[2]), page.size() - 4);
  page[8 + 4 * 2] = 0x80;      // select slot 1
  page[8 + 4 * 2 + 2] = 0x02;  // identify
  ASSERT_TRUE(rig.requester.send_ses(kDriveEid, page).wait().ok());
  EXPECT_TRUE(rig.device.enclosure()->identify_led(1));
  EXPECT_FALSE(rig.device.enclosure()->identify_led(0));
  EXPECT_TRUE(rig.requester.send_ses(kDriveEid, {}).wait().ok());
  page[5] = 9;
  EXPECT_EQ(rig.requester.send_ses(kDriveEid, page).wait().status(), Status::enclosure_transfer_refused);
  EXPECT_EQ(rig.requester.command(kDriveEid, Opcode::ses_send, 0, 9, Bytes(4)).wait().status(), Status::invalid_data_size);
  rig.device.enclosure()->set_available(false);
  EXPECT_EQ(rig.requester.receive_ses(kDriveEid, 0, 64).wait().reply.status(), Status::enclosure_unavailable);
}

// ---- Reset and Shutdown ----

TEST(Reset, HasNoAnswerAndResetsEverything) {
  Rig rig;
  ASSERT_TRUE(rig.requester.set_unit(kDriveEid, 1, 128).wait().ok());
  ASSERT_TRUE(rig.requester.primitive(kDriveEid, Primitive::pause).wait().ok());
  auto held = rig.requester.command(kDriveEid, Opcode::read_data_structure, 0, 0, {}, {.slot = 1, .timeout = {}});
  rig.world.run_for(Duration::ms(1));
  const Reply reset = rig.requester.reset_subsystem(kDriveEid).wait();
  EXPECT_EQ(reset.outcome, Outcome::timed_out);
  EXPECT_FALSE(held.settled() && held.value().ok());
  for (unsigned slot = 0; slot < 2; ++slot) {
    const auto state = rig.state(slot);
    EXPECT_EQ(state.get(slot_status::ssta), SlotState::idle);
    EXPECT_FALSE(state.get(slot_status::pflg));
    EXPECT_TRUE(state.get(slot_status::nssro));
  }
  EXPECT_EQ(rig.flags(0, true), error_flag::nssro);
  EXPECT_EQ(rig.flags(0), 0);
  EXPECT_EQ(rig.device.port_state(1).unit, 64);
  const auto health = rig.requester.poll_subsystem(kDriveEid, true).wait();
  EXPECT_EQ(health.value->get(subsystem_health::ccs), change_bits::nssro | change_bits::csts);
  const auto controllers = rig.requester.poll_controllers(kDriveEid, {}).wait();
  ASSERT_TRUE(controllers.ok());
  EXPECT_TRUE(controllers.value->at(0).get(controller_health::nssro));
}

TEST(Reset, EndsTheAssociationsOfHosts) {
  Rig rig;
  subsystem::test::ConnectWords words;
  words.cntlid = 1;
  auto session = rig.target_rig.start(words);
  (void)rig.requester.reset_subsystem(kDriveEid).wait();
  EXPECT_TRUE(session.admin.closed());
}

TEST(Reset, NotEverywhere) {
  RigOptions options;
  options.device.reset_supported = false;
  Rig rig(options);
  EXPECT_EQ(rig.requester.reset_subsystem(kDriveEid).wait().status(), Status::invalid_opcode);
}

TEST(Shutdown, ShowsInTheControllers) {
  for (const bool abrupt : {false, true}) {
    Rig rig;
    ASSERT_TRUE(rig.requester.shut_down(kDriveEid, abrupt).wait().ok());
    auto poll = rig.requester.poll_controllers(kDriveEid, {}).wait();
    ASSERT_TRUE(poll.ok());
    ASSERT_EQ(poll.value->size(), 2u);
    for (const auto& entry : *poll.value) EXPECT_EQ(entry.get(controller_health::shst), 1u);
    rig.world.run_for(Duration::ms(10));
    poll = rig.requester.poll_controllers(kDriveEid, {}).wait();
    for (const auto& entry : *poll.value) EXPECT_EQ(entry.get(controller_health::shst), 2u);
    const auto health = rig.requester.poll_subsystem(kDriveEid).wait();
    EXPECT_TRUE((health.value->get(subsystem_health::ccs) & change_bits::shst) != 0);
    (void)rig.requester.reset_subsystem(kDriveEid).wait();
    EXPECT_EQ(rig.requester.poll_controllers(kDriveEid, {}).wait().value->at(0).get(controller_health::shst), 0u);
  }
}

// ---- revisions ----

TEST(Revisions, WhatEachOffers) {
  const auto offers = [](Revision revision, Opcode opcode, std::uint32_t nmd0 = 0, std::uint32_t nmd1 = 0) {
    RigOptions options;
    options.device.revision = revision;
    Rig rig(options);
    return rig.exchange(mi_message(opcode, nmd0, nmd1)).at(0)[4] == 0;
  };
  EXPECT_FALSE(offers(Revision::r1_0, Opcode::buffer_read));
  EXPECT_TRUE(offers(Revision::r1_1, Opcode::buffer_read));
  EXPECT_FALSE(offers(Revision::r1_1, Opcode::shutdown));
  EXPECT_TRUE(offers(Revision::r1_2, Opcode::shutdown));
  EXPECT_FALSE(offers(Revision::r1_2, Opcode::configuration_get, 4));
  EXPECT_TRUE(offers(Revision::r2_0, Opcode::configuration_get, 4));
  for (const auto& [revision, text] : {std::pair{Revision::r1_0a, "01010000"}, std::pair{Revision::r1_1, "01010100"},
                                       std::pair{Revision::r1_2, "01010201"}, std::pair{Revision::r2_1, "01020101"}}) {
    RigOptions options;
    options.device.revision = revision;
    Rig rig(options);
    EXPECT_EQ(to_hex(rig.requester.read_subsystem(kDriveEid).wait().value->bytes()).substr(0, 8), text);
  }
}

}  // namespace
}  // namespace fb::mi
