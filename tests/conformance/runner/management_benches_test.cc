// The benches of NVMe-MI and MCTP: what the bench itself says and hears, over every medium.
#include <gtest/gtest.h>

#include "conformance/runner/bus_bench.h"
#include "conformance/runner/endpoint_bench.h"
#include "conformance/runner/management_requester_bench.h"
#include "model/drive/drive.h"

namespace fb::conformance {
namespace {

struct Scene {
  explicit Scene(std::string_view medium, void (*arrange)(EmbeddedSetup&) = nullptr)
      : world(World::make_virtual(1)), environment{&product, &honest, &declarations, arrange, medium} {}
  Product product;
  deviations::DeviationSet honest;
  DeclarationCache declarations;
  std::unique_ptr<World> world;
  Environment environment;
};

class OverMedia : public testing::TestWithParam<std::string_view> {};

TEST_P(OverMedia, TheDriveIsExplored) {
  Scene scene(GetParam());
  const Declared& found = scene.environment.declared();
  ASSERT_TRUE(found.known) << found.why;
  const EndpointFacts& facts = found.endpoint;
  EXPECT_EQ(facts.major, 2u);
  EXPECT_EQ(facts.ports.size(), 2u);
  EXPECT_EQ(facts.port, GetParam() == "pcie" ? 0 : 1);
  EXPECT_EQ(facts.controllers, (std::vector<std::uint16_t>{1, 2}));
  EXPECT_EQ(facts.buffer_bytes(), 4096u);
  EXPECT_EQ(facts.message_types, std::vector<std::uint8_t>{4});
  EXPECT_TRUE(facts.uuid);
  EXPECT_TRUE(offers<mi::Opcode::shutdown>(found) == std::nullopt);
  EXPECT_TRUE(offers<mi::Opcode::ses_send>(found).has_value());
}

TEST_P(OverMedia, LongMessagesBothWays) {
  Scene scene(GetParam());
  EndpointBench bench(*scene.world, scene.environment);
  nvme::Sqe identify;
  identify.set(nvme::sqe::opcode, 0x06).set(nvme::sqe::cdw10, 1);
  const MiAnswer answer = bench.admin(1, identify, 0, 4096);
  ASSERT_TRUE(answer.admin_ok()) << answer.describe();
  EXPECT_EQ(answer.admin_data().size(), 4096u);
  EXPECT_EQ(answer.message->packets.size(), (20u + 4096 + 4 + 63) / 64);
  EXPECT_TRUE(bench.peer().faults().empty());
  EXPECT_FALSE(bench.product_frames().empty());
  const Bytes pattern(4096, 0x5A);
  ASSERT_TRUE(bench.command(mi::Opcode::buffer_write, 0, 4096, pattern).ok());
  const MiAnswer read = bench.command(mi::Opcode::buffer_read, 0, 4096);
  ASSERT_TRUE(read.ok()) << read.describe();
  EXPECT_EQ(Bytes(read.data().begin(), read.data().end()), pattern);
  EXPECT_TRUE(bench.silent());
}

// Two EIDs of the bench are answered at once, with the same tag: their answers are put together apart.
TEST_P(OverMedia, TheBenchHearsForSeveralEids) {
  Scene scene(GetParam());
  EndpointBench bench(*scene.world, scene.environment);
  nvme::Sqe identify;
  identify.set(nvme::sqe::opcode, 0x06).set(nvme::sqe::cdw10, 1);
  std::vector<std::vector<MctpPacket>> requests;
  for (const unsigned slot : {0u, 1u}) {
    Bytes body = admin_message(1, identify, 0, 512, {}, {.slot = slot});
    mi::append_mic(body);
    MctpPacket like = bench.peer().packet();
    if (slot == 1) like.source = kOtherBenchEid;
    requests.push_back(cut(body, like));
  }
  for (std::size_t at = 0; at < requests[0].size(); ++at) {
    bench.peer().send(requests[0][at]);
    bench.peer().send(requests[1][at]);
  }
  std::vector<mctp::Eid> heard;
  while (const auto answer = bench.peer().next_message(Duration::s(1))) {
    EXPECT_EQ(answer->body.size(), 20u + 512 + 4);
    EXPECT_TRUE(mi::mic_ok(answer->body));
    heard.push_back(answer->destination);
  }
  EXPECT_EQ(heard.size(), 2u);
  EXPECT_NE(heard.front(), heard.back());
  EXPECT_TRUE(bench.peer().faults().empty()) << bench.peer().faults().front();
}

TEST_P(OverMedia, TheRequesterIsAnsweredByHand) {
  Scene scene(GetParam());
  ManagementRequesterBench bench(*scene.world, scene.environment);
  auto reply = bench.product().command(kPlayedEid, mi::Opcode::subsystem_health_poll);
  const auto request = bench.next_request();
  ASSERT_TRUE(request.has_value());
  EXPECT_TRUE(mi::mic_ok(request->body));
  bench.answer(*request, bench.response_to(*request, mi::Status::success, Bytes(8)));
  EXPECT_TRUE(reply.wait().ok());
}

TEST_P(OverMedia, PlayedDevicesAreEnumerated) {
  Scene scene(GetParam());
  BusBench bench(*scene.world, scene.environment);
  if (GetParam() != "serial") bench.add_device();
  const mctp::EnumerationReport report = bench.enumerate();
  EXPECT_EQ(report.assigned, GetParam() == "serial" ? 1u : 2u);
  EXPECT_EQ(report.faulty, 0u);
  EXPECT_EQ(bench.known().count(bench.device().eid()), 1u);
  EXPECT_TRUE(bench.device().raw().faults().empty());
}

INSTANTIATE_TEST_SUITE_P(Media, OverMedia, testing::Values("smbus", "serial", "pcie"));

TEST(EndpointBench, ASecondEndpointAndASecondController) {
  Scene scene("smbus", [](EmbeddedSetup& setup) { setup.managed->second_endpoint = true; });
  EndpointBench bench(*scene.world, scene.environment);
  RawMctp& other = bench.another_peer();
  Bytes poll = mi_message(0x01);
  mi::append_mic(poll);
  bench.peer().send_message(poll, {.tag = 2, .destination = kSecondEndpointEid});
  other.send_message(poll, {.tag = 2});
  EXPECT_TRUE(other.next_message(Duration::s(1)).has_value());
  EXPECT_EQ(bench.second_endpoint().options().port, 0);
}

TEST(RawMctp, WhatBreaksTheRulesIsNamed) {
  const auto world = World::make_virtual(1);
  mctp::Segment segment(*world, mctp::SmbusOptions{});
  RawMctp good(*world, segment.attach("a", mctp::smbus_address(0x20)), 8);
  RawMctp bad(*world, segment.attach("b", mctp::smbus_address(0x3A)), 9);
  bad.set_product(8, mctp::smbus_address(0x20));
  const auto faults_after = [&](std::vector<MctpPacket> packets) {
    good.forget();
    for (const MctpPacket& packet : packets) bad.send(packet);
    bad.wait_until_said();
    return good.faults().size();
  };
  const std::vector<MctpPacket> sound = cut(Bytes(200, 1), bad.packet());
  EXPECT_EQ(sound.size(), 4u);
  EXPECT_EQ(faults_after(sound), 0u);
  EXPECT_TRUE(good.next_message(Duration::s(1)).has_value());
  auto changed = sound;
  changed[2].sequence = 0;
  EXPECT_GE(faults_after(changed), 1u);
  changed = sound;
  changed[1].payload.resize(63);
  EXPECT_GE(faults_after(changed), 1u);
  changed = sound;
  changed[3].tag = 5;
  EXPECT_EQ(faults_after(changed), 1u);
  changed = sound;
  changed[1].som = true;
  EXPECT_GE(faults_after(changed), 1u);
  changed = sound;
  changed[0].version = 2;
  EXPECT_GE(faults_after(changed), 1u);
}

}  // namespace
}  // namespace fb::conformance
