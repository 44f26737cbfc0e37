// What captures of MCTP say: to our own reader, and to Debian's tshark with the dissector that comes with
// this project (its own knows no MCTP).
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <map>

#include "sim/capture/pcapng.h"
#include "sim/capture/reader.h"
#include "sim/mctp/network.h"

namespace fb::mctp {
namespace {

DeviceOptions drive() {
  DeviceOptions device;
  device.uuid = control::Uuid{0xFB, 1};
  device.types = {{0x04, {{0xF1, 0xF2, 0xFF, 0}}}};
  return device;
}

class Captured : public ::testing::Test {
 protected:
  Captured() {
    world->trace().add_sink(writer);
    Network network(*world);
    const std::size_t bus = network.add_smbus();
    const std::size_t fabric = network.add_pcie();
    SimpleDevice& a = network.add_endpoint(bus, smbus_address(0x3A), drive());
    network.add_endpoint(fabric, pcie_address(0x0100), drive());
    network.enumerate();
    Outgoing out;
    out.destination = a.endpoint().eid();
    out.tag = {0, true};
    // Read NVMe-MI Data Structure, and something longer.
    out.body = from_hex("84080000000000000000000000000000e2000607");
    network.port().send(out);
    out.body.resize(150, 0x11);
    network.port().send(out);
    world->run_until_idle();
    world->trace().remove_sink(writer);
  }

  std::unique_ptr<World> world = World::make_virtual(1);
  capture::PcapngWriter writer{{.title = "mctp"}};
};

TEST_F(Captured, OurReaderFindsThePackets) {
  const Bytes file = writer.bytes();
  capture::CaptureReader reader(file);
  capture::CapturedPacket packet;
  std::uint64_t packets = 0;
  std::map<std::uint32_t, int> buses;
  for (;;) {
    const auto got = reader.next(packet);
    ASSERT_TRUE(got.ok()) << got.error().text;
    if (!*got) break;
    ++packets;
    ASSERT_TRUE(packet.carried.mctp.has_value());
    ++buses[packet.carried.mctp->bus];
    EXPECT_GT(packet.carried.payload.size(), kHeaderSize);
    EXPECT_EQ(packet.carried.payload[0], kHeaderVersion);
    EXPECT_EQ(packet.as_event(0).mctp->address_size, packet.carried.mctp->bus == 100 ? 1 : 2);
  }
  EXPECT_EQ(packets, writer.packets());
  EXPECT_EQ(buses.size(), 2u);
  EXPECT_EQ(reader.skipped().other_protocol, 0u);
}

TEST_F(Captured, TsharkDissectsIt) {
  if (std::system("command -v tshark > /dev/null 2>&1") != 0) GTEST_SKIP() << "no tshark here";
  char name[] = "/tmp/mctp_capture_XXXXXX";
  const std::string folder = mkdtemp(name);
  ASSERT_TRUE(writer.write_file(folder + "/a.pcapng").ok());
  const std::string command = "LC_ALL=C tshark -n -X lua_script:" FABRICBENCH_TEST_DATA "/../../sim/capture/wireshark/mctp.lua -r '" +
                              folder +
                              "/a.pcapng' -T fields -E separator=, "
                              "-e frame.number -e mctp.version -e mctp_control.command -e nvme_mi.nmimt -e mctp.msg.size "
                              "-e _ws.malformed -e _ws.expert 2>/dev/null";
  std::FILE* const pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::uint64_t packets = 0, control = 0, mi = 0, long_ones = 0;
  char line[1024];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    ++packets;
    std::vector<std::string> values(1);
    for (const char* at = line; *at != '\0' && *at != '\n'; ++at) {
      if (*at == ',') {
        values.emplace_back();
      } else {
        values.back() += *at;
      }
    }
    values.resize(7);
    EXPECT_EQ(values[1], "1") << line;
    if (!values[2].empty()) ++control;
    if (!values[3].empty()) ++mi;
    if (values[4] == "150") ++long_ones;
    EXPECT_EQ(values[5], "") << line;
    // The comments of the file itself count as such.
    EXPECT_TRUE(values[6].empty() || values[6].starts_with("Expert Info (Comment")) << line;
  }
  EXPECT_EQ(pclose(pipe), 0);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(packets, writer.packets());
  EXPECT_GE(control, 20u);
  EXPECT_EQ(mi, 2u);
  EXPECT_EQ(long_ones, 1u) << "three packets were put together";
}

}  // namespace
}  // namespace fb::mctp
