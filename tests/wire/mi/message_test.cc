#include "wire/mi/message.h"

#include <gtest/gtest.h>

#include "wire/mi/control.h"
#include "wire/mi/data_structures.h"
#include "wire/mi/health.h"
#include "wire/mi/tunnels.h"

namespace fb::mi {
namespace {

struct Vector {
  const char* what;
  std::string body;
  const char* check;
};

std::string zeroes(std::size_t bytes) { return std::string(2 * bytes, '0'); }

// Requests as an unmodified libnvme-mi 1.3 sends them, and responses; computed apart from this code.
const Vector kVectors[] = {
    {"Read Data Structure, subsystem",
     "84080000"
     "00000000"
     "00000000"
     "00000000",
     "e2000607"},
    {"subsystem health poll",
     "84080000"
     "01000000"
     "00000000"
     "00000000",
     "d2d47736"},
    {"subsystem health poll, clear",
     "84080000"
     "01000000"
     "00000000"
     "00000080",
     "aaef81b4"},
    {"Configuration Get, unit",
     "84080000"
     "04000000"
     "03000000"
     "00000000",
     "4bd78519"},
    {"its response",
     "84880000"
     "00400000",
     "fdd512e5"},
    {"Invalid Parameter at byte 8",
     "84880000"
     "04000800",
     "6fa741c4"},
    {"Invalid Opcode",
     "84880000"
     "03000000",
     "1ddc5540"},
    {"More Processing Required",
     "84880000"
     "01000500",
     "37061aa2"},
    {"Get State",
     "84000000"
     "035a0000",
     "21beef3b"},
    {"its response",
     "84800000"
     "005a0000",
     "ec39a3ac"},
    {"probe",
     "84100000"
     "06010000" +
         zeroes(24) + "48000000" + zeroes(8) + "01" + zeroes(23),
     "56d3712e"},
    {"port 1",
     "84080000"
     "00000000"
     "00000101"
     "00000000",
     "570427d0"},
    {"controller 3",
     "84080000"
     "00000000"
     "03000003"
     "00000000",
     "7f377194"},
    {"list from 5, where libnvme says it",
     "84080000"
     "00000000"
     "00000502"
     "00000000",
     "d483e12a"},
    {"frequency",
     "84080000"
     "03000000"
     "01020001"
     "00000000",
     "a937bff5"},
    {"unit 250",
     "84080000"
     "03000000"
     "03000001"
     "fa000000",
     "7ee7a539"},
    {"health change, bit 8",
     "84080000"
     "03000000"
     "02000000"
     "00010000",
     "8214ad63"},
    {"SMART log",
     "84100000"
     "02010000"
     "ffffffff" +
         zeroes(20) + "00020000" + zeroes(8) + "02007f00" + zeroes(20),
     "0f8fb4ce"},
};

TEST(Message, IntegrityCheckVectors) {
  for (const Vector& vector : kVectors) {
    Bytes message = from_hex(vector.body);
    append_mic(message);
    EXPECT_EQ(to_hex(message), vector.body + vector.check) << vector.what;
    EXPECT_TRUE(mic_ok(message)) << vector.what;
    for (std::size_t at = 0; at < message.size(); ++at) {
      message[at] ^= 0x20;
      EXPECT_FALSE(mic_ok(message)) << vector.what << " byte " << at;
      message[at] ^= 0x20;
    }
  }
}

TEST(Message, IntegrityCheckOfTheUsualText) {
  const std::string text = "123456789";
  EXPECT_EQ(mic_of(ByteView{reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}), 0xE3069283u);
  EXPECT_FALSE(mic_ok({})) << "nothing has no check";
}

TEST(Message, HeaderBits) {
  Record<MessageHeader> made;
  made.set(header::ic, true).set(header::mt, kNvmeMiType).set(header::nmimt, MessageKind::mi_command);
  EXPECT_EQ(to_hex(made.bytes()), "84080000");
  made.set(header::ror, true).set(header::csi, 1u);
  EXPECT_EQ(to_hex(made.bytes()), "84890000");
  made.set(header::nmimt, MessageKind::admin_command).set(header::csi, 0u);
  EXPECT_EQ(made.bytes()[1], 0x90);
  made.set(header::nmimt, MessageKind::pcie_command).set(header::ror, false);
  EXPECT_EQ(made.bytes()[1], 0x20);
  made.set(header::nmimt, MessageKind::async_event);
  EXPECT_EQ(made.bytes()[1], 0x28);
  made.set(header::ciap, true).set(header::meb, true);
  EXPECT_EQ(made.bytes()[2], 0x03);
  EXPECT_EQ(MessageHeader::reserved_bits(1), 0x06);
  EXPECT_EQ(MessageHeader::reserved_bits(2), 0xFC);
  EXPECT_EQ(MessageHeader::reserved_bits(3), 0xFF);
}

TEST(Message, FieldsOfTheRequests) {
  const Bytes frequency = from_hex("84080000030000000102000100000000");
  const View<FrequencyConfiguration> view{frequency};
  EXPECT_EQ(view.get(configuration::id), 1);
  EXPECT_EQ(view.get(configuration::sfreq), 2);
  EXPECT_EQ(view.get(configuration::portid), 1);
  Record<ControllerHealthPoll> poll;
  poll.set(controller_poll::all, true)
      .set(controller_poll::incf, true)
      .set(controller_poll::sctlid, 0x0102u)
      .set(controller_poll::maxrent, ZeroBased<std::uint8_t>::of(3))
      .set(controller_poll::ccf, true)
      .set(controller_poll::cwarn, true);
  EXPECT_EQ(to_hex(poll.view().bytes().subspan(8)), "0201028110000080");
  Record<EventConfiguration> events;
  events.set(configuration::aerd, 10u).set(configuration::aemd, 2u).set(configuration::envfa, true);
  EXPECT_EQ(to_hex(events.view().bytes().subspan(8, 4)), "000a0204");
  Record<AdminRequest> admin;
  admin.set(admin_request::ctlid, 7u).set(admin_request::dlen, 72u).set(admin_request::cdw10, 1u);
  EXPECT_EQ(admin.bytes()[6], 7);
  EXPECT_EQ(admin.bytes()[32], 72);
  EXPECT_EQ(admin.bytes()[44], 1);
}

TEST(Message, StatusAndOpcodeNames) {
  EXPECT_EQ(name_of(Status::invalid_parameter), "Invalid Parameter");
  EXPECT_EQ(name_of(Status{0x09}), "Reserved");
  EXPECT_EQ(name_of(Status{0xE0}), "Vendor Specific");
  EXPECT_FALSE(is_defined(Status{0x2B}));
  EXPECT_TRUE(is_defined(Status{0xFF}));
  EXPECT_EQ(name_of(Opcode::shutdown), "Shutdown");
  EXPECT_EQ(name_of(Opcode{0x0D}), "Reserved");
  EXPECT_EQ(name_of(Primitive::replay), "Replay");
}

TEST(Message, AnyBytesCanBeDescribed) {
  for (std::size_t size = 0; size < 80; ++size) {
    for (unsigned kind = 0; kind < 256; ++kind) {
      Bytes bytes(size, 0xFF);
      if (size > 1) bytes[1] = static_cast<std::uint8_t>(kind);
      EXPECT_FALSE(describe(bytes).empty());
    }
  }
  EXPECT_EQ(describe(from_hex("84880000"
                              "04000800")),
            "MI response slot=0h Invalid Parameter at byte 8 bit 0 (8 bytes)");
}

TEST(Control, SlotStatusBits) {
  Record<SlotStatus> status;
  status.set(slot_status::ssta, SlotState::transmit).set(slot_status::pflg, true).set(slot_status::bmice, true);
  EXPECT_EQ(integer_of(status), 0x8013u);
  std::uint16_t all = 0;
  for (unsigned bit = 3; bit <= 14; ++bit) all = static_cast<std::uint16_t>(all | 1u << bit);
  EXPECT_EQ(all, error_flag::cmnics | error_flag::bmice | error_flag::twpkt | error_flag::utunt | error_flag::bhvs | error_flag::udstid |
                     error_flag::itu | error_flag::umep | error_flag::ospsn | error_flag::buemt | error_flag::bpopl | error_flag::nssro);
}

TEST(DataStructures, Lists) {
  const std::uint16_t ids[] = {1, 0x0203};
  EXPECT_EQ(to_hex(make_controller_list(ids)), "020001000302");
  EXPECT_EQ(parse_controller_list(make_controller_list(ids)), (std::vector<std::uint16_t>{1, 0x0203}));
  EXPECT_FALSE(parse_controller_list(from_hex("03000100")));
  EXPECT_FALSE(parse_controller_list(from_hex("00")));
  const SupportedCommand commands[] = {{MessageKind::mi_command, 6}, {MessageKind::admin_command, 0x84}};
  EXPECT_EQ(to_hex(make_command_list(commands)), "020008061084");
  EXPECT_EQ(parse_command_list(make_command_list(commands))->at(1), commands[1]);
}

// The positions of Configuration Set 02h have no gap behind SHST; the composite status has one.
TEST(Health, ClearPositions) {
  const std::uint16_t bits[] = {0x0001, 0x0002, 0x0004, 0x0010, 0x0020, 0x0040, 0x0080, 0x0100, 0x0200, 0x0400, 0x0800, 0x1000, 0x2000};
  for (unsigned position = 0; position < kClearBits; ++position) {
    EXPECT_EQ(change_bit_of_clear(position), bits[position]) << position;
  }
  EXPECT_EQ(change_bit_of_clear(kClearBits), 0);
}

TEST(Health, CelsiusCode) {
  const std::pair<std::uint16_t, std::uint8_t> cases[] = {{273, 0x00}, {310, 0x25}, {399, 0x7E}, {400, 0x7F}, {500, 0x7F},
                                                          {272, 0xFF}, {214, 0xC5}, {213, 0xC4}, {0, 0xC4},   {65535, 0x7F}};
  for (const auto& [kelvins, code] : cases) EXPECT_EQ(celsius_code(kelvins), code) << kelvins;
}

TEST(Tunnels, AdminPolicies) {
  const std::uint8_t prohibited[] = {0x00, 0x01, 0x04, 0x05, 0x08, 0x0C, 0x18, 0x19, 0x1A, 0x1D, 0x1E, 0x21, 0x22, 0x25,
                                     0x29, 0x38, 0x39, 0x3D, 0x3E, 0x41, 0x42, 0x45, 0x7C, 0x7F, 0x85, 0x88, 0x89};
  for (const std::uint8_t opcode : prohibited) EXPECT_EQ(admin_policy(opcode), Policy::prohibited) << +opcode;
  for (const int opcode : {0x02, 0x06, 0x0A}) {
    EXPECT_EQ(admin_policy(static_cast<std::uint8_t>(opcode)), Policy::mandatory);
  }
  for (const int opcode : {0x09, 0x0D, 0x10, 0x11, 0x14, 0x15, 0x1C, 0x20, 0x24, 0x80, 0x81, 0x82, 0x84, 0x86, 0xC0, 0xFF}) {
    EXPECT_EQ(admin_policy(static_cast<std::uint8_t>(opcode)), Policy::optional) << +opcode;
  }
  EXPECT_EQ(feature_policy(0x07), Policy::prohibited);
  EXPECT_EQ(feature_policy(0x02), Policy::optional);
  EXPECT_EQ(feature_policy(0x7E), Policy::optional);
}

}  // namespace
}  // namespace fb::mi
