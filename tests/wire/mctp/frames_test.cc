#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/rng.h"
#include "wire/mctp/control.h"
#include "wire/mctp/crc.h"
#include "wire/mctp/packet.h"
#include "wire/mctp/serial.h"
#include "wire/mctp/smbus.h"
#include "wire/mctp/vdm.h"

namespace fb::mctp {
namespace {

constexpr std::array<std::uint8_t, 9> kDigits{'1', '2', '3', '4', '5', '6', '7', '8', '9'};
static_assert(pec(kDigits) == 0xF4);
static_assert(fcs(kDigits) == 0x6F91);

const std::string kZeros14 = "0000000000000000000000000000";
// Read NVMe-MI Data Structure as a packet from EID 8 to EID 9, and Get Endpoint ID to the null EID.
const Bytes kReadPacket = from_hex("010908c88408" + kZeros14 + "e2000607");
const Bytes kGetEidPacket = from_hex("010008c8008002");

// ------------------------------------------------------------------------------------------ SMBus

TEST(Smbus, FramesAsTheVectorsHaveThem) {
  Bytes frame;
  smbus::encode(frame, 0x3A, 0x20, kReadPacket);
  EXPECT_EQ(to_hex(frame), "3a0f1921010908c88408" + kZeros14 + "e2000607c5");
  smbus::encode(frame, 0x3A, 0x20, kGetEidPacket);
  EXPECT_EQ(to_hex(frame), "3a0f0821010008c800800256");
  const auto decoded = smbus::decode(frame);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->destination, 0x3A);
  EXPECT_EQ(decoded->source, 0x20);
  EXPECT_EQ(to_hex(decoded->packet), to_hex(kGetEidPacket));
}

smbus::Fault smbus_fault(Bytes frame, bool mend = true) {
  if (mend) frame.back() = pec(ByteView(frame).first(frame.size() - 1));
  const auto decoded = smbus::decode(frame);
  EXPECT_FALSE(decoded.ok());
  return decoded.ok() ? smbus::Fault::too_short : decoded.error();
}

TEST(Smbus, EveryFaultHasItsName) {
  Bytes good;
  smbus::encode(good, 0x3A, 0x20, kGetEidPacket);
  const auto with = [&](std::size_t at, std::uint8_t value) {
    Bytes changed = good;
    changed[at] = value;
    return changed;
  };
  EXPECT_EQ(smbus_fault(with(1, 0x0E)), smbus::Fault::command);
  EXPECT_EQ(smbus_fault(with(2, 7)), smbus::Fault::count);
  EXPECT_EQ(smbus_fault(with(2, 9)), smbus::Fault::count);
  EXPECT_EQ(smbus_fault(with(3, 0x20)), smbus::Fault::source);
  EXPECT_EQ(smbus_fault(with(7, 0xC9), false), smbus::Fault::pec);
  for (std::size_t size = 0; size < 9; ++size) {
    const auto cut = smbus::decode(ByteView(good).first(size));
    ASSERT_FALSE(cut.ok());
    EXPECT_EQ(cut.error(), smbus::Fault::too_short);
  }
  // Any single bit that is turned over is noticed.
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes changed = good;
    changed[bit / 8] = static_cast<std::uint8_t>(changed[bit / 8] ^ 1u << bit % 8);
    EXPECT_FALSE(smbus::decode(changed).ok()) << bit;
  }
}

TEST(Smbus, AddressesThatTheBusKeepsAreNotGivenAway) {
  EXPECT_TRUE(smbus::assignable(smbus::kNvmeEndpointAddress));
  EXPECT_TRUE(smbus::assignable(0x20));
  for (const int address : {0x00, 0x0E, 0x10, 0x18, 0x50, 0x6E, 0xC2, 0xF0, 0xFE, 0x3B}) {
    EXPECT_FALSE(smbus::assignable(static_cast<std::uint8_t>(address))) << address;
  }
}

// ----------------------------------------------------------------------------------------- serial

struct Deframed {
  std::vector<std::string> packets;
  std::vector<serial::Fault> faults;
};

Deframed deframe(ByteView bytes, serial::Deframer deframer = serial::Deframer{}) {
  Deframed out;
  for (const std::uint8_t byte : bytes) {
    const auto step = deframer.push(byte);
    if (step == serial::Deframer::Step::packet) out.packets.push_back(to_hex(deframer.packet()));
    if (step == serial::Deframer::Step::fault) out.faults.push_back(deframer.fault());
  }
  return out;
}

TEST(Serial, FramesAsTheVectorsHaveThem) {
  Bytes frame;
  serial::encode(frame, kReadPacket);
  EXPECT_EQ(to_hex(frame), "7e0118010908c88408" + kZeros14 + "e2000607d5577e");
  frame.clear();
  serial::encode(frame, kGetEidPacket);
  EXPECT_EQ(to_hex(frame), "7e0107010008c80080022bc17e");
  EXPECT_EQ(deframe(frame).packets, std::vector<std::string>{to_hex(kGetEidPacket)});
}

// Frames that Linux 6.1 sent on a serial line, as tests/data keeps them; those of the second file hold escapes.
TEST(Serial, ReadsAndWritesWhatAKernelSends) {
  for (const char* name : {"/mctp-serial-frames.txt", "/linux-6.1-mctp-frames.txt"}) {
    std::ifstream file(std::string(FABRICBENCH_TEST_DATA) + name);
    ASSERT_TRUE(file.is_open()) << name;
    std::size_t frames = 0;
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line[0] == '#') continue;
      const Bytes raw = from_hex(line);
      const Deframed found = deframe(raw);
      ASSERT_EQ(found.packets.size(), 1u) << line;
      EXPECT_TRUE(found.faults.empty());
      Bytes again;
      serial::encode(again, from_hex(found.packets[0]));
      EXPECT_EQ(to_hex(again), to_hex(raw));
      ++frames;
    }
    EXPECT_GE(frames, 7u) << name;
  }
}

TEST(Serial, EscapesFlagsAndEscapes) {
  Bytes packet = from_hex("010908c8");
  for (int i = 0; i < 40; ++i) {
    packet.push_back(0x7E);
    packet.push_back(0x7D);
  }
  Bytes frame;
  serial::encode(frame, packet);
  EXPECT_EQ(frame.size(), packet.size() + 80 + serial::kOverhead);
  EXPECT_EQ(frame[2], packet.size()) << "the count is of what is not escaped";
  EXPECT_EQ(deframe(frame).packets, std::vector<std::string>{to_hex(packet)});
}

TEST(Serial, EveryFaultHasItsNameAndTheNextFrameIsFound) {
  Bytes good;
  serial::encode(good, kGetEidPacket);
  const std::vector<std::string> found{to_hex(kGetEidPacket)};
  const auto expect = [&](Bytes bad, serial::Fault fault) {
    bad.insert(bad.end(), good.begin(), good.end());
    const Deframed out = deframe(bad, serial::Deframer{68});
    EXPECT_EQ(out.packets, found) << serial::name_of(fault);
    ASSERT_FALSE(out.faults.empty()) << serial::name_of(fault);
    EXPECT_EQ(out.faults[0], fault) << serial::name_of(fault);
  };
  const auto with = [&](std::size_t at, std::uint8_t value) {
    Bytes changed = good;
    changed[at] = value;
    return changed;
  };
  expect(with(1, 0x02), serial::Fault::revision);
  expect(with(2, 0), serial::Fault::count);
  expect(with(2, 69), serial::Fault::count);
  expect(with(6, 0xC9), serial::Fault::fcs);
  expect(with(2, 6), serial::Fault::end);
  expect(with(5, serial::kEscape), serial::Fault::escape);
  expect(Bytes(good.begin(), good.begin() + 6), serial::Fault::truncated);
}

TEST(Serial, FlagsMayBeSharedAndNoiseBetweenFramesIsPassedOver) {
  Bytes line = from_hex("00ff41");
  serial::encode(line, kGetEidPacket);
  line.pop_back();  // its last flag is the next one's first
  serial::encode(line, kReadPacket);
  line.push_back(0x55);
  serial::encode(line, kGetEidPacket);
  const Deframed out = deframe(line);
  EXPECT_EQ(out.packets, (std::vector<std::string>{to_hex(kGetEidPacket), to_hex(kReadPacket), to_hex(kGetEidPacket)}));
  EXPECT_TRUE(out.faults.empty());
}

TEST(Serial, PeersDifferInHowTheyUnescape) {
  // 41h behind an escape: refused, or turned into 61h. 7Eh can be read by all.
  const Bytes packet = from_hex("0109087e61");
  Bytes frame;
  serial::encode(frame, packet);
  Bytes odd = frame;  // 61h sent as 7D 41
  odd.insert(odd.begin() + 8, 0x7D);
  ASSERT_EQ(odd[9], 0x61);
  odd[9] = 0x41;
  EXPECT_EQ(deframe(odd).faults, std::vector<serial::Fault>{serial::Fault::escape});
  for (const auto how : {serial::Unescape::any, serial::Unescape::set_bit}) {
    EXPECT_EQ(deframe(odd, serial::Deframer(255, how)).packets, std::vector<std::string>{to_hex(packet)});
    EXPECT_EQ(deframe(frame, serial::Deframer(255, how)).packets, std::vector<std::string>{to_hex(packet)});
  }
}

// ------------------------------------------------------------------------------------------- PCIe

TEST(Vdm, CarriesPacketsOfEveryLength) {
  for (std::size_t size = 1; size <= 70; ++size) {
    Bytes packet = from_hex("010908c8");
    for (std::size_t i = 0; i < size; ++i) packet.push_back(static_cast<std::uint8_t>(i));
    Bytes frame;
    vdm::encode(frame, vdm::Route::by_id, 0x0100, 0x0208, packet);
    EXPECT_EQ(frame.size() % 4, 0u);
    EXPECT_EQ(frame.size(), 16 + (size + 3) / 4 * 4);
    EXPECT_EQ(frame[0], 0x72);
    EXPECT_EQ(frame[3], (size + 3) / 4);
    EXPECT_EQ(frame[6] >> 4, (4 - size % 4) % 4);
    EXPECT_EQ(frame[7], 0x7F);
    EXPECT_EQ(load_be<std::uint16_t>(&frame[10]), 0x1AB4);
    const auto decoded = vdm::decode(frame);
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(decoded->requester, 0x0100);
    EXPECT_EQ(decoded->target, 0x0208);
    EXPECT_EQ(to_hex(decoded->packet), to_hex(packet));
  }
}

TEST(Vdm, EveryFaultHasItsName) {
  Bytes good;
  vdm::encode(good, vdm::Route::to_root, 0x0100, 0, kGetEidPacket);
  const auto expect = [&](std::size_t at, std::uint8_t value, vdm::Fault fault) {
    Bytes changed = good;
    changed[at] = value;
    const auto decoded = vdm::decode(changed);
    ASSERT_FALSE(decoded.ok()) << vdm::name_of(fault);
    EXPECT_EQ(decoded.error(), fault) << vdm::name_of(fault);
  };
  expect(0, 0x74, vdm::Fault::route);
  expect(7, 0x7E, vdm::Fault::message_code);
  expect(11, 0xB5, vdm::Fault::vendor);
  expect(6, 0x11, vdm::Fault::vdm_code);
  expect(2, 0x80, vdm::Fault::digest);
  expect(2, 0x40, vdm::Fault::digest);
  expect(3, 2, vdm::Fault::length);
  expect(15, 0x88, vdm::Fault::padding);  // a start that is not the end has none
  const auto cut = vdm::decode(ByteView(good).first(15));
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error(), vdm::Fault::too_short);
}

// ---------------------------------------------------------------------------------------- control

TEST(Control, RequestsAndResponsesAreWrittenAsTheirSection) {
  const Bytes request = control::make_request(control::Command::set_endpoint_id, 5, from_hex("0109"));
  EXPECT_EQ(to_hex(request), "0085010109");
  EXPECT_EQ(to_hex(control::make_response(request, control::Completion::success, from_hex("000900"))), "00050100000900");
  EXPECT_EQ(to_hex(control::make_response(request, control::Completion::invalid_data, from_hex("00"))), "00050102")
      << "no data with an error";
  EXPECT_EQ(control::describe_message(request), "Set Endpoint ID (01h) request 5");
  EXPECT_EQ(control::describe_message(from_hex("00050102")), "Set Endpoint ID (01h) response 5 invalid data (02h)");
  EXPECT_EQ(control::describe_message(from_hex("0005")), "control message cut short");
}

// All of DSP0239 1.11.1, by its numbers.
TEST(Control, IdsAreThoseOfDsp0239) {
  using control::BindingId;
  using control::MediumId;
  const std::pair<BindingId, int> bindings[] = {
      {BindingId::smbus, 0x01}, {BindingId::pcie_vdm, 0x02}, {BindingId::usb, 0x03}, {BindingId::kcs, 0x04},  {BindingId::serial, 0x05},
      {BindingId::i3c, 0x06},   {BindingId::mmbi, 0x07},     {BindingId::pcc, 0x08}, {BindingId::ucie, 0x09}, {BindingId::vendor, 0xFF},
  };
  for (const auto& [id, number] : bindings) EXPECT_EQ(static_cast<int>(id), number);
  const std::pair<MediumId, int> media[] = {
      {MediumId::unspecified, 0x00},      {MediumId::smbus_100k, 0x01}, {MediumId::smbus_or_i2c_100k, 0x02},
      {MediumId::i2c_100k, 0x03},         {MediumId::fast_400k, 0x04},  {MediumId::fast_plus_1m, 0x05},
      {MediumId::high_speed_3400k, 0x06}, {MediumId::pcie_1_1, 0x08},   {MediumId::pcie_2_0, 0x09},
      {MediumId::pcie_2_1, 0x0A},         {MediumId::pcie_3, 0x0B},     {MediumId::pcie_4, 0x0C},
      {MediumId::pcie_5, 0x0D},           {MediumId::pcie_6, 0x0E},     {MediumId::pci, 0x0F},
      {MediumId::usb_1_1, 0x10},          {MediumId::usb_2_0, 0x11},    {MediumId::usb_3_0, 0x12},
      {MediumId::nc_si_rbt, 0x18},        {MediumId::ucie, 0x19},       {MediumId::pcc, 0x1A},
      {MediumId::kcs_legacy, 0x20},       {MediumId::kcs_pci, 0x21},    {MediumId::serial_host_legacy, 0x22},
      {MediumId::serial_host_pci, 0x23},  {MediumId::serial, 0x24},     {MediumId::i3c_basic, 0x30},
      {MediumId::pcie_6_flit, 0x40},
  };
  for (const auto& [id, number] : media) EXPECT_EQ(static_cast<int>(id), number);
  const std::pair<MessageType, int> types[] = {
      {MessageType::control, 0x00}, {MessageType::pldm, 0x01},    {MessageType::nc_si, 0x02},      {MessageType::ethernet, 0x03},
      {MessageType::nvme_mi, 0x04}, {MessageType::spdm, 0x05},    {MessageType::secured, 0x06},    {MessageType::cxl_fm_api, 0x07},
      {MessageType::cxl_cci, 0x08}, {MessageType::pcie_mi, 0x09}, {MessageType::vendor_pci, 0x7E}, {MessageType::vendor_iana, 0x7F},
  };
  for (const auto& [type, number] : types) EXPECT_EQ(static_cast<int>(type), number);
}

TEST(Control, VersionsAreBcd) {
  EXPECT_EQ(to_string(control::Version{0xF1, 0xF3, 0xF1, 0}), "1.3.1");
  EXPECT_EQ(to_string(control::Version{0xF1, 0xF0, 0xFF, 0}), "1.0");
  EXPECT_EQ(to_string(control::Version{0x10, 0xF2, 0xFF, 'a'}), "10.2a");
  EXPECT_EQ(to_string(control::Version{0x01, 0xFA, 0xFF, 0}), "01.fah");
}

// ------------------------------------------------------------------------------------- any bytes

TEST(Frames, AnyBytesAreTakenApartWithoutHarm) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Rng rng(seed, "frames");
    Bytes bytes(rng.below(300));
    rng.fill(bytes);
    if (rng.chance(1, 2) && bytes.size() > 2) bytes[1] = smbus::kCommandCode;
    if (rng.chance(1, 2)) bytes.insert(bytes.begin(), {serial::kFlag, serial::kRevision});
    if (const auto frame = smbus::decode(bytes)) {
      Bytes again;
      smbus::encode(again, frame->destination, frame->source, frame->packet);
      EXPECT_EQ(again, bytes);
    }
    if (const auto frame = vdm::decode(bytes)) {
      EXPECT_GE(frame->packet.size(), kHeaderSize);
    }
    const Deframed out = deframe(bytes);
    EXPECT_LE(out.packets.size() + out.faults.size(), bytes.size());
    EXPECT_FALSE(control::describe_message(bytes).empty());
  }
}

}  // namespace
}  // namespace fb::mctp
