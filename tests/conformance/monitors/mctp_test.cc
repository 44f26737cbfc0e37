// MCTP and NVMe-MI: each rule hears what breaks it. The "host" is the requester, EID 8; the "controller" EID 9.
#include "tests/conformance/monitors/wire.h"
#include "wire/mctp/control.h"
#include "wire/mi/control.h"

namespace fb::monitors {
namespace {

#define EXPECT_HEARD(wire, rule, host) EXPECT_TRUE((wire).heard(rule, host)) << (wire).all()
#define EXPECT_SILENT(wire) EXPECT_TRUE((wire).monitors.findings().empty()) << (wire).all()

constexpr std::uint8_t kSom = 0x80, kEom = 0x40, kOwner = 0x08;
constexpr std::uint8_t sequence(unsigned number) { return static_cast<std::uint8_t>((number & 3) << 4); }

Bytes poll(bool response, std::uint8_t slot = 0, std::uint8_t status = 0) {
  Bytes made(response ? 16 : 16);
  made[0] = 0x84;
  made[1] = static_cast<std::uint8_t>((response ? 0x80 : 0) | 1 << 3 | slot);
  made[4] = response ? status : std::uint8_t{1};
  return made;
}
Bytes more(std::uint8_t kind = 1) {
  Bytes made(8);
  made[0] = 0x84;
  made[1] = static_cast<std::uint8_t>(0x80 | kind << 3);
  made[4] = 1;
  return made;
}
Bytes primitive(bool response, std::uint8_t tag) {
  Bytes made(8);
  made[0] = 0x84;
  made[1] = response ? 0x80 : 0;
  made[4] = response ? 0 : 3;
  made[5] = tag;
  return made;
}
Bytes control(bool request, std::uint8_t instance, std::uint8_t command) {
  Bytes made = {0, static_cast<std::uint8_t>((request ? 0x80 : 0) | instance), command};
  if (!request) made.push_back(0);
  return made;
}

TEST(MctpRules, AGoodExchangeIsSilent) {
  MctpWire wire;
  wire.message(true, 1, control(true, 3, 2));
  wire.message(false, 1, control(false, 3, 2));
  wire.management(true, 2, poll(false));
  wire.management(false, 2, more());
  wire.management(false, 2, poll(true));
  wire.management(true, 2, poll(false, 1));
  wire.management(true, 3, primitive(false, 9));
  wire.management(false, 3, primitive(true, 9));
  wire.management(false, 2, poll(true, 1));
  for (unsigned i = 0; i < 6; ++i) {
    const auto ends = static_cast<std::uint8_t>((i == 0 ? kSom : 0) | (i == 5 ? kEom : 0));
    Bytes payload(i == 5 ? 10 : 64);
    payload[0] = 0x7E;
    wire.packet(true, ends | kOwner | sequence(i), payload);
  }
  EXPECT_SILENT(wire);
  EXPECT_EQ(wire.monitors.dissector().counts().mi_messages, 7u);
}

TEST(MctpRules, Headers) {
  MctpWire version;
  version.packet(true, kSom | kEom | kOwner, Bytes(4, 0x7E), 2);
  EXPECT_HEARD(version, Rule::mctp_version, true);
  MctpWire reserved;
  reserved.packet(false, kSom | kEom, Bytes(4, 0x7E), 0x11);
  EXPECT_HEARD(reserved, Rule::mctp_reserved, false);
  MctpWire eid;
  eid.packet(true, kSom | kEom | kOwner, Bytes(4, 0x7E), 1, 0xFF);
  EXPECT_HEARD(eid, Rule::mctp_eid, true);
}

TEST(MctpRules, AssignedEids) {
  const auto assign = [](std::uint8_t operation, std::uint8_t eid) { return Bytes{0x00, 0x80, 0x01, operation, eid}; };
  for (const unsigned eid : {0u, 1u, 7u, 255u}) {
    MctpWire wire;
    wire.message(true, 1, assign(0, static_cast<std::uint8_t>(eid)));
    EXPECT_HEARD(wire, Rule::mctp_assigned_eid, true);
  }
  MctpWire good;
  for (const unsigned eid : {8u, 254u}) good.message(true, 1, assign(1, static_cast<std::uint8_t>(eid)));
  good.message(true, 2, assign(2, 0));  // back to its own
  good.message(true, 3, assign(3, 0));  // its Discovered flag
  EXPECT_SILENT(good);
}

TEST(MctpRules, PacketsOfAMessage) {
  MctpWire stray;
  stray.packet(false, sequence(1), Bytes(64));
  EXPECT_HEARD(stray, Rule::mctp_start, false);
  MctpWire skips;
  skips.packet(false, kSom, Bytes(64, 0x7E));
  skips.packet(false, sequence(2), Bytes(64));
  EXPECT_HEARD(skips, Rule::mctp_sequence, false);
  MctpWire unit;
  unit.packet(false, kSom, Bytes(64, 0x7E));
  unit.packet(false, sequence(1), Bytes(60));
  EXPECT_HEARD(unit, Rule::mctp_unit, false);
}

TEST(MctpRules, CapturesWithGapsAreSilent) {
  MctpWire capture(false);
  capture.packet(false, sequence(1), Bytes(64));
  capture.packet(false, kSom, Bytes(64, 0x7E));
  capture.packet(false, sequence(3), Bytes(64));
  capture.message(false, 5, control(false, 3, 2));
  EXPECT_SILENT(capture);
}

TEST(MctpRules, Answers) {
  MctpWire unasked;
  unasked.message(false, 5, control(false, 3, 2));
  EXPECT_HEARD(unasked, Rule::mctp_answer, false);
  MctpWire instance;
  instance.message(true, 1, control(true, 3, 2));
  instance.message(false, 1, control(false, 4, 2));
  EXPECT_HEARD(instance, Rule::mctp_control_instance, false);
  MctpWire command;
  command.message(true, 1, control(true, 3, 2));
  command.message(false, 1, control(false, 3, 1));
  EXPECT_HEARD(command, Rule::mctp_control_command, false);
  MctpWire bits;
  bits.message(true, 1, control(false, 3, 2));
  EXPECT_HEARD(bits, Rule::mctp_control_bits, true);
  MctpWire integrity;
  Bytes checked = control(true, 3, 2);
  checked[0] = 0x80;
  integrity.message(true, 1, checked);
  EXPECT_HEARD(integrity, Rule::mctp_control_one, true);
}

TEST(ManagementRules, Messages) {
  MctpWire check;
  check.message(true, 1, poll(false));
  EXPECT_HEARD(check, Rule::mi_integrity, true);
  MctpWire direction;
  direction.management(true, 1, poll(true));
  EXPECT_HEARD(direction, Rule::mi_direction, true);

  const auto answered = [](Bytes answer) {
    MctpWire wire;
    wire.management(true, 1, poll(false));
    wire.management(false, 1, std::move(answer));
    return wire.monitors.findings().empty() ? Rule{} : wire.monitors.findings()[0].rule;
  };
  Bytes kind = poll(true);
  kind[1] = 0x90;
  EXPECT_EQ(answered(kind), Rule::mi_kind);
  EXPECT_EQ(answered(poll(true, 1)), Rule::mi_slot);
  EXPECT_EQ(answered({0x84, 0x88, 0, 0, 0, 0}), Rule::mi_size);
  Bytes reserved = poll(true);
  reserved[3] = 1;
  EXPECT_EQ(answered(reserved), Rule::mi_reserved);
  EXPECT_EQ(answered(poll(true, 0, 0x60)), Rule::mi_status);
  Bytes long_one = more();
  long_one.resize(12);
  EXPECT_EQ(answered(long_one), Rule::mi_more_form);
}

TEST(ManagementRules, StructuresStay) {
  const auto subsystem = [](bool response, std::uint8_t ports) {
    Bytes made(response ? 40 : 16);
    made[0] = 0x84;
    made[1] = response ? 0x88 : 0x08;
    if (response) made[5] = 32;
    if (response) made[8] = ports;
    return made;
  };
  MctpWire wire;
  for (const std::uint8_t ports : {std::uint8_t{1}, std::uint8_t{1}}) {
    wire.management(true, 1, subsystem(false, 0));
    wire.management(false, 1, subsystem(true, ports));
  }
  EXPECT_SILENT(wire);
  wire.management(true, 1, subsystem(false, 0));
  wire.management(false, 1, subsystem(true, 2));
  EXPECT_HEARD(wire, Rule::oracle_mi_structures, false);
}

TEST(ManagementRules, Slots) {
  MctpWire wire;
  wire.management(true, 1, poll(false));
  wire.management(true, 2, poll(false));
  EXPECT_HEARD(wire, Rule::mi_one_command, true);
  MctpWire patient;
  patient.management(true, 1, poll(false));
  patient.wait(Duration::s(1));
  patient.management(true, 2, poll(false));
  EXPECT_SILENT(patient);
  MctpWire twice;
  twice.management(true, 1, poll(false));
  twice.management(false, 1, more());
  twice.management(false, 1, more());
  EXPECT_HEARD(twice, Rule::mi_more_once, false);
  MctpWire tag;
  tag.management(true, 1, primitive(false, 9));
  tag.management(false, 1, primitive(true, 8));
  EXPECT_HEARD(tag, Rule::mi_primitive_tag, false);
}

}  // namespace
}  // namespace fb::monitors
