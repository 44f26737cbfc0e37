#include "sim/mctp/network.h"

#include <gtest/gtest.h>

#include <chrono>

namespace fb::mctp {
namespace {

control::Uuid uuid_of(std::uint8_t number) {
  control::Uuid uuid{};
  uuid[0] = 0xFB;
  uuid[15] = number;
  return uuid;
}

DeviceOptions drive(std::uint8_t number) {
  DeviceOptions device;
  device.uuid = uuid_of(number);
  device.types = {{0x04, {{0xF1, 0xF2, 0xFF, 0}}}};
  return device;
}

struct Inbox final : MessageHandler {
  void on_message(const Incoming& message) override {
    sources.push_back(message.source);
    bodies.emplace_back(message.body.begin(), message.body.end());
    tags.push_back(message.tag);
  }
  void on_sent(SendId id, bool delivered) override { sent.push_back({id, delivered}); }
  std::vector<Eid> sources;
  std::vector<Bytes> bodies;
  std::vector<Tag> tags;
  std::vector<std::pair<SendId, bool>> sent;
};

// A message of `size` bytes from the owner and an answer of as many.
void expect_round_trip(Network& network, SimpleDevice& device, std::size_t size) {
  World& world = network.world();
  Inbox at_owner;
  Inbox at_device;
  Port& port = network.port();
  port.set_handler(MessageType::nvme_mi, &at_owner, 4224);
  device.endpoint().set_handler(MessageType::nvme_mi, &at_device, 4224);
  const Eid eid = device.endpoint().eid();
  const auto tag = port.take_tag(eid);
  ASSERT_TRUE(tag.has_value());
  Outgoing out;
  out.destination = eid;
  out.tag = *tag;
  out.body = Bytes(size, 0x5A);
  out.body[0] = 0x84;
  const Bytes body = out.body;
  const SendId id = port.send(std::move(out));
  world.run_until([&] { return !at_device.bodies.empty(); }, Duration::s(10));
  ASSERT_EQ(at_device.bodies.size(), 1u);
  EXPECT_EQ(at_device.bodies[0], body);
  ASSERT_EQ(at_device.sources[0], network.owner().eid());
  Outgoing answer;
  answer.destination = at_device.sources[0];
  answer.tag = {tag->value, false};
  answer.body = body;
  device.endpoint().send(std::move(answer));
  world.run_until([&] { return !at_owner.bodies.empty(); }, Duration::s(10));
  ASSERT_EQ(at_owner.bodies.size(), 1u);
  EXPECT_EQ(at_owner.bodies[0], body);
  EXPECT_EQ(at_owner.sources[0], eid);
  ASSERT_EQ(at_owner.sent.size(), 1u);
  EXPECT_EQ(at_owner.sent[0], std::make_pair(id, true));
  port.release_tag(eid, *tag);
  port.set_handler(MessageType::nvme_mi, nullptr, 0);
  device.endpoint().set_handler(MessageType::nvme_mi, nullptr, 0);
}

TEST(Network, TwoEndpointsOnASegment) {
  const auto world = World::make_virtual(1);
  Network network(*world);
  const std::size_t bus = network.add_smbus();
  SimpleDevice& first = network.add_endpoint(bus, smbus_address(0x3A), drive(1));
  SimpleDevice& second = network.add_endpoint(bus, smbus_address(0x3C), drive(2));
  const EnumerationReport report = network.enumerate();
  EXPECT_EQ(report.found, 2u);
  EXPECT_EQ(report.assigned, 2u);
  EXPECT_EQ(report.faulty, 0u);
  EXPECT_EQ(first.endpoint().eid(), 9);
  EXPECT_EQ(second.endpoint().eid(), 10);
  const KnownEndpoint& known = network.known().at(9);
  EXPECT_EQ(known.uuid, uuid_of(1));
  EXPECT_EQ(known.types, std::vector<std::uint8_t>{4});
  EXPECT_EQ(known.address, smbus_address(0x3A));
  EXPECT_EQ(known.versions.size(), 4u);
  expect_round_trip(network, first, 1000);
  expect_round_trip(network, second, 64);
}

TEST(Network, EveryMediumInOneNetwork) {
  const auto world = World::make_virtual(1);
  Network network(*world);
  const std::size_t smbus = network.add_smbus({.clock_hz = 400'000});
  const std::size_t pcie = network.add_pcie();
  const std::size_t serial = network.add_serial();
  SimpleDevice& a = network.add_endpoint(smbus, smbus_address(0x3A), drive(1));
  SimpleDevice& b = network.add_endpoint(pcie, pcie_address(0x0100), drive(2));
  SimpleDevice& c = network.add_endpoint(serial, {}, drive(3));
  const EnumerationReport report = network.enumerate();
  EXPECT_EQ(report.assigned, 3u);
  for (SimpleDevice* one : {&a, &b, &c}) {
    EXPECT_NE(one->endpoint().eid(), kNullEid);
    expect_round_trip(network, *one, 300);
  }
  EXPECT_TRUE(b.control().responder().discovered());
}

TEST(Network, BridgesWithBusesBehindThem) {
  const auto world = World::make_virtual(1);
  Network network(*world);
  const std::size_t top = network.add_smbus();
  SimpleDevice& near = network.add_endpoint(top, smbus_address(0x30), drive(1));
  BridgeNode& bridge = network.add_bridge(top, smbus_address(0x40), {.name = "b1", .pool_size = 20});
  const std::size_t behind = network.add_smbus_behind(bridge);
  SimpleDevice& far = network.add_endpoint(behind, smbus_address(0x3A), drive(2));
  BridgeNode& inner = network.add_bridge(behind, smbus_address(0x42), {.name = "b2", .pool_size = 5});
  const std::size_t deep = network.add_smbus_behind(inner);
  SimpleDevice& farthest = network.add_endpoint(deep, smbus_address(0x3A), drive(3));
  const EnumerationReport report = network.enumerate();
  EXPECT_EQ(report.faulty, 0u);
  EXPECT_EQ(network.known().size(), 5u);
  for (SimpleDevice* one : {&near, &far, &farthest}) {
    const Eid eid = one->endpoint().eid();
    ASSERT_NE(eid, kNullEid);
    ASSERT_TRUE(network.known().contains(eid));
    EXPECT_EQ(network.known().at(eid).uuid, one->device().options().uuid);
    expect_round_trip(network, *one, 200);
  }
  EXPECT_EQ(network.known().at(far.endpoint().eid()).behind, bridge.bridge->eid());
  EXPECT_EQ(network.known().at(farthest.endpoint().eid()).behind, bridge.bridge->eid());
  EXPECT_GT(bridge.bridge->counters().forwarded, 0u);
}

TEST(Network, TwoHundredEndpointsAreEnumeratedInUnderASecond) {
  const auto begin = std::chrono::steady_clock::now();
  const auto world = World::make_virtual(1);
  Network network(*world);
  for (int bus = 0; bus < 2; ++bus) {
    const std::size_t segment = network.add_smbus();
    std::uint8_t address = 0x22;
    for (int at = 0; at < 100; ++at, address = static_cast<std::uint8_t>(address + 2)) {
      while (!smbus::assignable(address)) address = static_cast<std::uint8_t>(address + 2);
      network.add_endpoint(segment, smbus_address(address), drive(static_cast<std::uint8_t>(bus * 100 + at)));
    }
  }
  const EnumerationReport report = network.enumerate();
  EXPECT_EQ(report.assigned, 200u);
  EXPECT_EQ(network.known().size(), 200u);
  const auto wall = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(std::chrono::duration_cast<std::chrono::milliseconds>(wall).count(), 1000);
  RecordProperty("virtual_ms", static_cast<int>(world->now().count_ns() / 1'000'000));
  RecordProperty("wall_ms", static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(wall).count()));
}

// One port on two buses.
// The bytes of DSP0239 in every table that names a medium.
TEST(Network, TablesNameTheirMedia) {
  struct Row {
    const char* what;
    std::size_t (*add)(Network&);
    PhysicalAddress at;
    std::uint8_t binding, medium;
  };
  const Row rows[] = {
      {"100 kHz", [](Network& n) { return n.add_smbus({.clock_hz = 100'000}); }, smbus_address(0x3A), 0x01, 0x01},
      {"400 kHz", [](Network& n) { return n.add_smbus({.clock_hz = 400'000}); }, smbus_address(0x3A), 0x01, 0x04},
      {"1 MHz", [](Network& n) { return n.add_smbus({.clock_hz = 1'000'000}); }, smbus_address(0x3A), 0x01, 0x05},
      {"3.4 MHz", [](Network& n) { return n.add_smbus({.clock_hz = 3'400'000}); }, smbus_address(0x3A), 0x01, 0x06},
      {"PCI Express", [](Network& n) { return n.add_pcie(); }, pcie_address(0x0100), 0x02, 0x0B},
      {"serial", [](Network& n) { return n.add_serial(); }, {}, 0x05, 0x24},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const auto world = World::make_virtual(1);
    Network network(*world);
    SimpleDevice& device = network.add_endpoint(row.add(network), row.at, drive(1));
    network.enumerate();
    const ControlPeer owner{network.owner().eid(), {}};
    const auto table = device.control().requester().ask(owner, control::Command::get_routing_table, {0}).wait();
    ASSERT_TRUE(table.ok());
    ASSERT_GE(table.message.size(), 12u);
    EXPECT_EQ(table.message[6 + 3], row.binding);
    EXPECT_EQ(table.message[6 + 4], row.medium);
    EXPECT_EQ(table.message[6 + 5], row.at.size);
    const auto uuid = uuid_of(1);
    Bytes asked(uuid.begin(), uuid.end());
    asked.push_back(0);
    const auto resolved = device.control().requester().ask(owner, control::Command::resolve_uuid, asked).wait();
    ASSERT_TRUE(resolved.ok());
    ASSERT_GE(resolved.message.size(), 10u);
    EXPECT_EQ(resolved.message[6], device.endpoint().eid());
    EXPECT_EQ(resolved.message[7], row.binding);
    EXPECT_EQ(resolved.message[8], row.medium);
  }
}

TEST(MultiPort, TagsForAnybodyAreOfAllEndpoints) {
  const auto world = World::make_virtual(1);
  Network network(*world);
  SimpleDevice& here = network.add_endpoint(network.add_smbus(), smbus_address(0x3A), drive(1));
  SimpleDevice& there = network.add_endpoint(network.add_smbus(), smbus_address(0x3A), drive(2));
  network.enumerate();
  Port& port = network.port();
  // One that is out towards a single peer is not given for anybody, nor the other way round.
  const auto single = port.take_tag(there.endpoint().eid());
  ASSERT_TRUE(single);
  std::vector<Tag> taken;
  while (const auto tag = port.take_tag(kNullEid)) {
    EXPECT_NE(tag->value, single->value);
    taken.push_back(*tag);
  }
  EXPECT_EQ(taken.size(), 7u);
  port.release_tag(there.endpoint().eid(), *single);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(port.take_tag(there.endpoint().eid()).has_value(), i == 0);
  EXPECT_TRUE(port.take_tag(here.endpoint().eid()));
  for (const Tag tag : taken) port.release_tag(kNullEid, tag);
  EXPECT_TRUE(port.take_tag(kNullEid));
}

TEST(MultiPort, GoesWhereTheEidIs) {
  const auto world = World::make_virtual(1);
  Network network(*world);
  std::vector<SimpleDevice*> devices;
  for (int at = 0; at < 2; ++at) {
    devices.push_back(&network.add_endpoint(network.add_smbus(), smbus_address(0x3A), drive(static_cast<std::uint8_t>(at))));
  }
  network.enumerate();
  Port& port = network.port();
  EXPECT_EQ(port.eid(), 8);
  EXPECT_EQ(port.unit_max(), 250u);
  Inbox inbox;
  port.set_handler(MessageType::nvme_mi, &inbox, 4224);
  Inbox at_device[2];
  std::vector<SendId> ids;
  for (std::size_t at = 0; at < 2; ++at) {
    devices[at]->endpoint().set_handler(MessageType::nvme_mi, &at_device[at], 4224);
    Outgoing out;
    out.destination = devices[at]->endpoint().eid();
    out.tag = {0, true};
    out.body = Bytes(300, 0x84);
    ids.push_back(port.send(out));
  }
  EXPECT_NE(ids[0], ids[1]);
  port.hold(ids[0]);
  world->run_until([&] { return port.packets_sent(ids[1]) == 2; }, Duration::s(1));
  EXPECT_EQ(port.packets_sent(ids[0]), 1u) << "what was on the bus when it was held";
  port.withdraw(ids[1]);
  port.resume(ids[0]);
  world->run_until_idle();
  EXPECT_EQ(inbox.sent, (std::vector<std::pair<SendId, bool>>{{ids[0], true}}));
  EXPECT_EQ(at_device[0].bodies.size(), 1u);
  EXPECT_TRUE(at_device[1].bodies.empty());
  port.set_handler(MessageType::nvme_mi, nullptr, 0);
}

// Everybody talks with everybody over media that lose, damage and double: every message ends for its sender,
// what arrives is whole, nothing is left over, and the same seed is the same run.
class Troubled final : public FrameFilter {
 public:
  explicit Troubled(Rng rng) : rng_(rng) {}
  FrameVerdict on_frame(FrameContext& context) override {
    switch (rng_.below(40)) {
      case 0:
        return {.drop = true};
      case 1:
        return {.nack = true};
      case 2:
        return {.duplicates = 1};
      case 3: {
        // The links of PCI Express mend what is damaged.
        if (context.medium.find("pcie") != std::string_view::npos) return {};
        const std::size_t at = rng_.below(context.frame.size());
        context.frame[at] = static_cast<std::uint8_t>(rng_.next() >> 56);
        return {.corrupted = true};
      }
      default:
        return {};
    }
  }

 private:
  Rng rng_;
};

struct Outcome {
  std::uint64_t digest = 0;
  std::size_t arrived = 0;
  bool operator==(const Outcome&) const = default;
};

Outcome talk(std::uint64_t seed) {
  const auto world = World::make_virtual(seed);
  Network network(*world);
  const std::size_t smbus = network.add_smbus({.clock_hz = 1'000'000});
  const std::size_t pcie = network.add_pcie();
  const std::size_t serial = network.add_serial();
  std::vector<SimpleDevice*> devices;
  for (std::uint8_t at = 0; at < 3; ++at) {
    const auto address = static_cast<std::uint8_t>(0x30 + 2 * at);
    devices.push_back(&network.add_endpoint(smbus, smbus_address(address), drive(at)));
  }
  devices.push_back(&network.add_endpoint(pcie, pcie_address(0x0100), drive(10)));
  devices.push_back(&network.add_endpoint(serial, {}, drive(11)));
  network.enumerate();
  Troubled filter(world->stream("trouble"));
  for (std::size_t at = 0; at < network.segments(); ++at) network.segment(at).set_filter(&filter);
  std::vector<Inbox> boxes(devices.size() + 1);
  Port& owner = network.port();
  for (std::size_t at = 0; at < devices.size(); ++at) {
    devices[at]->endpoint().set_handler(MessageType::nvme_mi, &boxes[at], 4224);
  }
  owner.set_handler(MessageType::nvme_mi, &boxes.back(), 4224);
  Rng rng = world->stream("talk");
  std::vector<std::size_t> sent(boxes.size());
  for (int step = 0; step < 120; ++step) {
    const std::size_t from = rng.below(boxes.size());
    const std::size_t to = rng.below(devices.size());
    if (from == to) continue;
    Outgoing out;
    out.destination = devices[to]->endpoint().eid();
    out.tag = {static_cast<std::uint8_t>(rng.below(8)), true};
    // Not from the same place: over the owner, which hands it on.
    if (from < 3) out.to = to < 3 ? devices[to]->binding().address() : smbus_address(0x20);
    out.body = Bytes(1 + rng.below(700), static_cast<std::uint8_t>(step));
    out.body[0] = 0x04;
    Port& port = from < devices.size() ? static_cast<Port&>(devices[from]->endpoint()) : owner;
    port.send(std::move(out));
    ++sent[from];
    world->run_for(Duration::us(static_cast<std::int64_t>(rng.below(5000))));
  }
  EXPECT_TRUE(world->run_until_idle());
  Outcome outcome;
  outcome.digest = world->digest();
  for (std::size_t at = 0; at < boxes.size(); ++at) {
    EXPECT_EQ(boxes[at].sent.size(), sent[at]) << "every message ends for its sender, seed " << seed;
    outcome.arrived += boxes[at].bodies.size();
    for (const Bytes& body : boxes[at].bodies) {
      for (std::size_t byte = 2; byte < body.size(); ++byte) {
        EXPECT_EQ(body[byte], body[1]);
      }
    }
  }
  for (SimpleDevice* device : devices) {
    EXPECT_EQ(device->endpoint().queued(), 0u);
    EXPECT_EQ(device->endpoint().assembler().open(), 0u);
  }
  owner.set_handler(MessageType::nvme_mi, nullptr, 0);
  return outcome;
}

TEST(Network, TroubledMediaLeaveNothingBehind) {
  std::size_t arrived = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Outcome outcome = talk(seed);
    arrived += outcome.arrived;
    if (seed % 20 != 0) continue;
    EXPECT_EQ(talk(seed), outcome) << seed;
  }
  EXPECT_GT(arrived, 60u * 30);
}

TEST(Bus, NetworksAreApart) {
  const auto world = World::make_virtual(1);
  Bus bus(*world);
  std::vector<SimpleDevice*> devices;
  for (const std::uint32_t number : {1u, 2u}) {
    Network& network = bus.add_network({.number = number, .name = "net" + std::to_string(number)});
    const std::size_t segment = network.add_smbus();
    devices.push_back(&network.add_endpoint(segment, smbus_address(0x3A), drive(static_cast<std::uint8_t>(number))));
  }
  for (const auto& network : bus.networks()) network->enumerate();
  EXPECT_EQ(devices[0]->endpoint().eid(), 9);
  EXPECT_EQ(devices[1]->endpoint().eid(), 9) << "EIDs are the network's own";
  EXPECT_EQ(bus.find(2)->known().at(9).network, 2u);
  EXPECT_EQ(bus.find(2)->known().at(9).uuid, uuid_of(2));
  EXPECT_EQ(bus.find(3), nullptr);
}

}  // namespace
}  // namespace fb::mctp
