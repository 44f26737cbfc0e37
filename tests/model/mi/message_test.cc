// What a message must be to be looked at, and what is discarded without a word.
#include <gtest/gtest.h>

#include "tests/model/mi/rig.h"

namespace fb::mi {
namespace {

using test::kDriveEid;
using test::mi_message;
using test::Rig;
using test::RigOptions;

Bytes good() { return mi_message(Opcode::read_data_structure); }
Bytes with_check(Bytes body) {
  append_mic(body);
  return body;
}

struct Discard {
  const char* what;
  Bytes message;
  std::uint16_t flag;  ///< that Get State shows
};

std::vector<Discard> discards() {
  std::vector<Discard> list;
  Bytes wrong = with_check(good());
  wrong.back() ^= 1;
  list.push_back({"a wrong check", wrong, error_flag::bmice});
  Bytes zero = with_check(good());
  store_le(&zero[16], std::uint32_t{0});
  list.push_back({"a check of zero", zero, error_flag::bmice});
  Bytes big = with_check(good());
  std::reverse(big.begin() + 16, big.end());
  list.push_back({"a check in big endian", big, error_flag::bmice});
  Bytes short_of = good();
  list.push_back({"no check", short_of, error_flag::bmice});
  Bytes plain = good();
  plain[0] &= 0x7F;
  list.push_back({"no integrity bit", with_check(plain), 0});
  Bytes back = good();
  back[1] |= 0x80;
  list.push_back({"the direction of a response", with_check(back), 0});
  for (const unsigned kind : {3u, 5u, 6u, 7u, 8u, 12u, 15u}) {
    Bytes reserved = good();
    reserved[1] = static_cast<std::uint8_t>(kind << 3);
    list.push_back({"a reserved kind", with_check(reserved), 0});
  }
  list.push_back({"nothing but a header", with_check(from_hex("84080000")), 0});
  list.back().what = nullptr;  // answered: see below
  list.pop_back();
  list.push_back({"less than a header and a check", from_hex("84080000"), 0});
  return list;
}

TEST(Message, DiscardedWithoutAWord) {
  Rig rig;
  for (const Discard& entry : discards()) {
    const auto answers = rig.exchange_raw(entry.message);
    EXPECT_TRUE(answers.empty()) << entry.what;
    EXPECT_EQ(rig.flags(0, true) & entry.flag, entry.flag) << entry.what;
    EXPECT_EQ(rig.flags(1, true) & entry.flag, entry.flag) << entry.what;
    EXPECT_EQ(rig.state().get(slot_status::ssta), SlotState::idle) << entry.what;
    EXPECT_EQ(rig.exchange(good()).size(), 1u) << "the next request is served after " << entry.what;
  }
}

// Everything of several packets too: the slot is idle again afterwards.
TEST(Message, ABadCheckInAMessageOfManyPacketsFreesItsSlot) {
  Rig rig;
  Bytes message = with_check(mi_message(Opcode::vpd_write, 0, 200, Bytes(200, 1)));
  message.back() ^= 1;
  EXPECT_TRUE(rig.exchange_raw(message).empty());
  EXPECT_EQ(rig.flags(0, true), error_flag::bmice);
  EXPECT_EQ(rig.device.vpd_updates(), 0u);
  EXPECT_EQ(rig.exchange(good()).size(), 1u);
}

TEST(Message, ReservedKindsMayBeAnswered) {
  RigOptions options;
  options.endpoint.reserved_kind = ReservedKind::invalid_opcode;
  Rig rig(options);
  Bytes reserved = good();
  reserved[1] = 3 << 3;
  const auto answers = rig.exchange(reserved);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(to_hex(answers[0]), "8498000003000000");
}

TEST(Message, ShortCommandsAreRefused) {
  Rig rig;
  for (std::size_t size = 5; size < 16; ++size) {
    Bytes body = good();
    body.resize(size);
    const auto answers = rig.exchange(body);
    ASSERT_EQ(answers.size(), 1u) << size;
    EXPECT_EQ(to_hex(answers[0]), "8488000005000000") << size;
  }
  const auto bare = rig.exchange(from_hex("84080000"));
  ASSERT_EQ(bare.size(), 1u);
  EXPECT_EQ(to_hex(bare[0]), "8488000005000000");
}

TEST(Message, LongCommandsAreRefused) {
  Rig rig;
  const Opcode plain[] = {Opcode::read_data_structure,
                          Opcode::subsystem_health_poll,
                          Opcode::controller_health_poll,
                          Opcode::configuration_get,
                          Opcode::configuration_set,
                          Opcode::vpd_read,
                          Opcode::reset,
                          Opcode::shutdown,
                          Opcode::buffer_read};
  for (const Opcode opcode : plain) {
    for (const std::size_t extra : {1u, 4u, 100u}) {
      const auto answers = rig.exchange(mi_message(opcode, 3, 64, Bytes(extra)));
      ASSERT_EQ(answers.size(), 1u);
      EXPECT_EQ(answers[0][4], 0x05) << name_of(opcode);
    }
  }
  EXPECT_EQ(rig.disk.find_controller(1)->csts(), 0u) << "nothing was reset or shut down";
}

// The response repeats kind and slot, has no reserved bits and a good check, for every kind and both slots.
TEST(Message, HeadersOfResponses) {
  Rig rig;
  for (unsigned slot = 0; slot < 2; ++slot) {
    for (const unsigned kind : {0u, 1u, 2u, 4u}) {
      Bytes body(72);
      body[0] = 0x84;
      body[1] = static_cast<std::uint8_t>(kind << 3 | slot);
      body[4] = 0xBF;  // of no use to anybody
      if (kind == 0) body.resize(8);
      const auto answers = rig.exchange(body);
      ASSERT_EQ(answers.size(), 1u);
      EXPECT_EQ(answers[0][0], 0x84);
      EXPECT_EQ(answers[0][1], 0x80 | kind << 3 | slot);
      EXPECT_EQ(answers[0][2], 0);
      EXPECT_EQ(answers[0][3], 0);
      EXPECT_EQ(answers[0][4], 0x03);
      EXPECT_EQ(answers[0].size(), 8u);
    }
  }
}

TEST(Message, EveryUnknownOpcode) {
  Rig rig;
  for (unsigned opcode = 0x0D; opcode < 0x100; ++opcode) {
    const auto answers = rig.exchange(mi_message(static_cast<std::uint8_t>(opcode)));
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(to_hex(answers[0]), "8488000003000000") << opcode;
  }
}

TEST(Message, AnswersCarryTheTagOfTheRequest) {
  Rig rig;
  for (std::uint8_t tag = 0; tag < 8; ++tag) {
    rig.packets.seen.clear();
    std::vector<mctp::Tag> taken;
    std::optional<mctp::Tag> mine;
    while (!mine) {
      const auto next = rig.requester_end.take_tag(kDriveEid);
      ASSERT_TRUE(next);
      if (next->value == tag)
        mine = next;
      else
        taken.push_back(*next);
    }
    ASSERT_EQ(rig.exchange(good(), 1, *mine).size(), 1u);
    for (const auto& packet : rig.packets.from(kDriveEid)) {
      EXPECT_EQ(packet.tag(), tag);
      EXPECT_FALSE(packet.owner());
    }
    rig.requester_end.release_tag(kDriveEid, *mine);
    for (const mctp::Tag other : taken) rig.requester_end.release_tag(kDriveEid, other);
  }
}

// Captured from an unmodified libnvme-mi 1.3, answered as it needs it.
TEST(Message, WhatLibnvmeSends) {
  RigOptions options;
  options.device.controller_zero_is_lowest = true;
  Rig rig(options);
  const auto send = [&](const char* hex) {
    const auto answers = rig.exchange_raw(from_hex(hex));
    EXPECT_EQ(answers.size(), 1u) << hex;
    return answers.empty() ? Bytes(8, 0xFF) : answers[0];
  };
  const std::string zero24(48, '0'), zero8(16, '0');
  const Bytes probe = send(("8410000006010000" + zero24 + "48000000" + zero8 + "01" + std::string(46, '0') + "56d3712e").c_str());
  EXPECT_EQ(probe.size(), 20u + 72u);
  EXPECT_EQ(send("84080000000000000000000000000000e2000607").size(), 40u);
  EXPECT_EQ(to_hex(send("84080000000000000000000200000000badf2477")),
            "8488000000060000"
            "020001000200");
  EXPECT_EQ(to_hex(send("84080000010000000000000000000080aaef81b4")).substr(0, 16), "8488000000000000");
  // A list that is to begin at 5, which it says in the wrong byte: none there.
  EXPECT_EQ(to_hex(send("84080000000000000000050200000000d483e12a")),
            "8488000000020000"
            "0000");
  EXPECT_EQ(to_hex(send("8408000003000000010200010000"
                        "0000a937bff5")),
            "8488000000000000");
  EXPECT_EQ(rig.device.port_state(1).frequency, kFrequency400k);
  EXPECT_EQ(to_hex(send("84080000030000000300000"
                        "1fa0000007ee7a539")),
            "8488000000000000");
  EXPECT_EQ(rig.device.port_state(1).unit, 250);
  rig.requester_end.set_unit(250);
  const Bytes smart = send(("84100000"
                            "02010000"
                            "ffffffff" +
                            std::string(40, '0') + "00020000" + zero8 + "02007f00" + std::string(40, '0') + "0f8fb4ce")
                               .c_str());
  EXPECT_EQ(smart.size(), 20u + 512u);
}

}  // namespace
}  // namespace fb::mi
