#include <gtest/gtest.h>

#include "base/rng.h"
#include "sim/mctp/fault_points.h"
#include "sim/mctp/hooks.h"
#include "sim/mctp/pcie_fabric.h"
#include "sim/mctp/serial_line.h"
#include "sim/mctp/smbus_segment.h"

namespace fb::mctp {
namespace {

// One side of a medium: what came, and when what was sent was over.
struct Side final : PacketSink {
  explicit Side(World& in) : world(in) {}
  void on_packet(const PhysicalAddress& from, ByteView packet) override {
    packets.push_back(to_hex(packet));
    senders.push_back(from);
    times.push_back(world.now());
  }
  void on_damaged() override { ++damaged; }
  void on_packet_sent(bool delivered) override {
    ends.push_back(delivered);
    end_times.push_back(world.now());
    if (again > 0) {
      --again;
      binding->send(to, repeated);
    }
  }
  World& world;
  std::vector<std::string> packets;
  std::vector<PhysicalAddress> senders;
  std::vector<Instant> times;
  int damaged = 0;
  std::vector<bool> ends;
  std::vector<Instant> end_times;
  // Sends the same once more when it has left.
  int again = 0;
  Binding* binding = nullptr;
  PhysicalAddress to;
  Bytes repeated;
};

const Bytes kPacket = from_hex("010908c8008002");

struct Smbus {
  explicit Smbus(const SmbusOptions& options = {}) : segment(*world, options) {
    a->set_sink(&at_a);
    b->set_sink(&at_b);
  }
  std::unique_ptr<World> world = World::make_virtual(1);
  SmbusSegment segment;
  std::unique_ptr<SmbusPort> a = segment.attach("a", 0x20);
  std::unique_ptr<SmbusPort> b = segment.attach("b", 0x3A);
  Side at_a{*world};
  Side at_b{*world};
};

// START, nine bits a byte, STOP: 12 bytes are 110 bits.
TEST(SmbusMedium, TimeIsThatOfTheClock) {
  const std::pair<std::uint32_t, std::int64_t> speeds[] = {{100'000, 1'100'000}, {400'000, 275'000}, {1'000'000, 110'000}};
  for (const auto& [clock, ns] : speeds) {
    Smbus bus({.clock_hz = clock});
    bus.a->send(smbus_address(0x3A), kPacket);
    bus.world->run_until_idle();
    ASSERT_EQ(bus.at_b.packets, std::vector<std::string>{to_hex(kPacket)});
    EXPECT_EQ(bus.at_b.senders[0], smbus_address(0x20));
    EXPECT_EQ(bus.at_b.times[0].count_ns(), ns);
    EXPECT_EQ(bus.at_a.ends, std::vector<bool>{true});
    EXPECT_EQ(bus.segment.counters().busy.count_ns(), ns);
  }
  Smbus stretched({.stretch_per_byte = Duration::us(10)});
  stretched.a->send(smbus_address(0x3A), kPacket);
  stretched.world->run_until_idle();
  EXPECT_EQ(stretched.at_b.times[0].count_ns(), 1'100'000 + 12 * 10'000);
  Smbus instant({.timing = false});
  instant.a->send(smbus_address(0x3A), kPacket);
  instant.world->run_until_idle();
  EXPECT_EQ(instant.at_b.times[0].count_ns(), 0);
}

TEST(SmbusMedium, BetweenTransfersTheBusIsFree) {
  Smbus bus;
  bus.at_a.binding = bus.a.get();
  bus.at_a.to = smbus_address(0x3A);
  bus.at_a.repeated = kPacket;
  bus.at_a.again = 2;
  bus.a->send(smbus_address(0x3A), kPacket);
  bus.world->run_until_idle();
  ASSERT_EQ(bus.at_b.times.size(), 3u);
  EXPECT_EQ((bus.at_b.times[1] - bus.at_b.times[0]).count_ns(), 1'100'000 + 4'700);
}

TEST(SmbusMedium, TheSmallestBytesWinAndNobodyStarves) {
  for (const bool fair : {true, false}) {
    Smbus bus({.fair = fair});
    const auto c = bus.segment.attach("c", 0x30);
    Side at_c(*bus.world);
    c->set_sink(&at_c);
    const auto low = bus.segment.attach("low", 0x12);
    Side at_low(*bus.world);
    low->set_sink(&at_low);
    // a talks to the lower address again and again; c wants to talk to the higher one.
    at_low.again = 0;
    bus.at_a.binding = bus.a.get();
    bus.at_a.to = smbus_address(0x12);
    bus.at_a.repeated = kPacket;
    bus.at_a.again = 5;
    bus.a->send(smbus_address(0x12), kPacket);
    c->send(smbus_address(0x3A), kPacket);
    bus.world->run_until_idle();
    EXPECT_EQ(at_low.packets.size(), 6u);
    ASSERT_EQ(bus.at_b.times.size(), 1u);
    EXPECT_LT(at_low.times[0], bus.at_b.times[0]) << "12h is below 3Ah";
    const bool before_second = bus.at_b.times[0] < at_low.times[1];
    EXPECT_EQ(before_second, fair);
    EXPECT_GE(bus.segment.counters().arbitrations_lost, 1u);
  }
}

TEST(SmbusMedium, APacketIsTriedNineTimes) {
  Smbus bus;
  bus.b->nack_next(8);
  bus.a->send(smbus_address(0x3A), kPacket);
  bus.world->run_until_idle();
  EXPECT_EQ(bus.at_b.packets.size(), 1u) << "the ninth is taken";
  EXPECT_EQ(bus.a->counters().retries, 8u);
  bus.b->nack_next(9);
  bus.a->send(smbus_address(0x3A), kPacket);
  bus.world->run_until_idle();
  EXPECT_EQ(bus.at_b.packets.size(), 1u);
  EXPECT_EQ(bus.at_a.ends, (std::vector<bool>{true, false}));
  EXPECT_EQ(bus.a->counters().given_up, 1u);
  bus.a->set_retries(12);
  bus.b->nack_next(12);
  bus.a->send(smbus_address(0x3A), kPacket);
  bus.world->run_until_idle();
  EXPECT_EQ(bus.at_b.packets.size(), 2u) << "a bridge tries more often";
}

TEST(SmbusMedium, AbsentDevicesDoNotAcknowledge) {
  Smbus bus;
  bus.a->send(smbus_address(0x50), kPacket);
  bus.world->run_until_idle();
  EXPECT_EQ(bus.at_a.ends, std::vector<bool>{false});
  EXPECT_EQ(bus.segment.counters().absent, 9u);
  bus.b->set_present(false);
  bus.a->send(smbus_address(0x3A), kPacket);
  bus.world->run_until_idle();
  EXPECT_EQ(bus.at_a.ends, (std::vector<bool>{false, false}));
  bus.b->set_present(true);
  EXPECT_TRUE(bus.b->move_to(0x52));
  EXPECT_FALSE(bus.a->move_to(0x52));
  bus.a->send(smbus_address(0x52), kPacket);
  bus.world->run_until_idle();
  EXPECT_EQ(bus.at_b.packets.size(), 1u);
}

TEST(SmbusMedium, ATakenBusIsWaitedFor) {
  Smbus bus;
  bus.segment.occupy(Duration::ms(5));
  EXPECT_TRUE(bus.segment.busy());
  bus.a->send(smbus_address(0x3A), kPacket);
  bus.world->run_until_idle();
  EXPECT_EQ(bus.at_b.times[0].count_ns(), 5'000'000 + 1'100'000);
  EXPECT_FALSE(bus.segment.busy());
}

TEST(SmbusMedium, DamageIsCountedByItsKind) {
  Smbus bus;
  const std::pair<const char*, smbus::Fault> frames[] = {
      {"3a0f0821010008c800800257", smbus::Fault::pec},
      {"3a0e0821010008c800800256", smbus::Fault::command},
      {"3a0f0721010008c800800256", smbus::Fault::count},
      {"3a0f08", smbus::Fault::too_short},
  };
  for (const auto& [frame, fault] : frames) {
    bus.a->send_frame(from_hex(frame));
    bus.world->run_until_idle();
    EXPECT_EQ(bus.b->counters().faults[static_cast<std::size_t>(fault)], 1u) << frame;
  }
  EXPECT_EQ(bus.at_b.damaged, 4);
  EXPECT_TRUE(bus.at_b.packets.empty());
}

// Bytes behind an offset, as an EEPROM has them.
struct Eeprom final : SmbusSlave {
  void on_write(ByteView bytes) override {
    writes.push_back(to_hex(bytes));
    if (!bytes.empty()) at = bytes[0];
  }
  Bytes on_read(std::size_t count) override {
    Bytes read;
    for (; read.size() < count && at < 8; ++at) read.push_back(static_cast<std::uint8_t>(0xE0 + at));
    return read;
  }
  std::vector<std::string> writes;
  std::size_t at = 0;
};

TEST(SmbusMedium, PlainSlavesAreReadAndWritten) {
  Smbus bus;
  Eeprom eeprom;
  bus.segment.set_slave(0xA6, &eeprom);
  EXPECT_FALSE(bus.segment.is_free(0xA6));
  std::vector<std::string> results;
  const auto then = [&](const std::optional<Bytes>& read) { results.push_back(read ? to_hex(*read) : "nack"); };
  const auto run = [&](std::uint8_t address, Bytes write, std::size_t read) {
    bus.a->transact(address, write, read, then);
    bus.world->run_until_idle();
  };
  run(0xA6, {2}, 4);
  // START, two bytes written, a repeated START with the address, four bytes read.
  EXPECT_EQ(bus.segment.counters().busy.count_ns(), (7 * 9 + 2) * 10'000);
  run(0xA6, {}, 4);
  run(0xA6, {0, 1, 2}, 0);
  run(0xD4, {0}, 6);
  run(0x3A, {0x0E, 1}, 0);
  run(0x3A, {}, 3);
  EXPECT_EQ(results, (std::vector<std::string>{"e2e3e4e5", "e6e7ffff", "", "nack", "", "nack"}));
  EXPECT_EQ(eeprom.writes, (std::vector<std::string>{"02", "000102"}));
  EXPECT_EQ(bus.at_b.damaged, 1) << "what was written to the MCTP device was no packet";
  // Packets go on beside it, and one to a plain slave is but bytes.
  bus.a->send(smbus_address(0x3A), kPacket);
  bus.world->run_until_idle();
  bus.a->send(smbus_address(0xA6), kPacket);
  bus.world->run_until_idle();
  EXPECT_EQ(bus.at_b.packets.size(), 1u);
  EXPECT_EQ(bus.at_a.ends, (std::vector<bool>{true, true}));
  EXPECT_TRUE(eeprom.writes.back().starts_with("0f0821" + to_hex(kPacket)));
  bus.segment.set_slave(0xA6, nullptr);
  run(0xA6, {}, 1);
  EXPECT_EQ(results.back(), "nack");
}

struct Twisting final : FrameFilter {
  FrameVerdict on_frame(FrameContext& context) override {
    if (context.ordinal == 0) return {.drop = true};
    if (context.ordinal == 1) return {.duplicates = 2};
    if (context.ordinal == 2) return {.nack = true};
    if (context.ordinal == 3) {
      context.frame.back() ^= 1;
      return {.corrupted = true};
    }
    return {};
  }
};

TEST(Media, AFilterDecidesAboutEachFrame) {
  Twisting filter;
  Smbus bus;
  bus.segment.set_filter(&filter);
  for (int at = 0; at < 4; ++at) {
    bus.a->send(smbus_address(0x3A), kPacket);
    bus.world->run_until_idle();
  }
  // Lost; three times; not acknowledged and damaged when tried again; and as it was.
  EXPECT_EQ(bus.at_b.packets.size(), 4u);
  EXPECT_EQ(bus.at_b.damaged, 1);
  EXPECT_EQ(bus.at_a.ends, std::vector<bool>(4, true));
}

// Frames pass the hooks of who sends and of who receives, whatever the medium.
struct Framing final : EndpointHooks {
  void frame_out(Bytes& frame) override {
    ++out;
    if (spoils) frame.back() ^= 0xFF;
  }
  void frame_in(Bytes& frame) override {
    ++in;
    if (mends) frame.back() ^= 0xFF;
    if (deaf) frame.clear();
  }
  bool departs(std::string_view point) override { return point == departing; }
  int out = 0, in = 0;
  bool spoils = false, mends = false, deaf = false;
  std::string_view departing;
};

TEST(Media, HooksStandBetweenPacketsAndFrames) {
  for (const int medium : {0, 1, 2}) {
    Smbus bus;
    PcieFabric fabric(*bus.world);
    const auto root = fabric.attach("root", 0, true);
    const auto device = fabric.attach("device", 0x0100);
    SerialLine line(*bus.world);
    Binding* const senders[] = {bus.a.get(), root.get(), &line.left()};
    Binding* const receivers[] = {bus.b.get(), device.get(), &line.right()};
    const PhysicalAddress to[] = {smbus_address(0x3A), pcie_address(0x0100), {}};
    Side here(*bus.world);
    Side there(*bus.world);
    senders[medium]->set_sink(&here);
    receivers[medium]->set_sink(&there);
    Framing speaking;
    Framing listening;
    senders[medium]->set_hooks(&speaking);
    receivers[medium]->set_hooks(&listening);
    const auto send = [&] {
      senders[medium]->send(to[medium], kPacket);
      bus.world->run_until_idle();
    };
    send();
    speaking.spoils = true;
    listening.mends = true;
    send();
    EXPECT_EQ(there.packets, std::vector<std::string>(2, to_hex(kPacket))) << medium;
    listening.deaf = true;
    send();
    EXPECT_EQ(there.packets.size(), 2u) << medium;
    EXPECT_EQ(there.damaged, 0) << medium;
    EXPECT_EQ(speaking.out, 3);
    EXPECT_EQ(listening.in, 3);
    EXPECT_EQ(speaking.in + listening.out, 0);
    EXPECT_EQ(here.ends.size(), 3u);
  }
}

TEST(SmbusMedium, ADepartingSenderGivesUpAtOnceOrForGood) {
  Smbus bus;
  Framing hooks;
  bus.a->set_hooks(&hooks);
  hooks.departing = departure::kSmbusRetry;
  bus.b->nack_next(1);
  bus.a->send(smbus_address(0x3A), kPacket);
  bus.world->run_until_idle();
  EXPECT_EQ(bus.at_a.ends, std::vector<bool>{false});
  hooks.departing = departure::kSmbusWedged;
  bus.b->nack_next(1);
  bus.a->send(smbus_address(0x3A), kPacket);
  bus.world->run_until_idle();
  EXPECT_EQ(bus.at_a.ends.size(), 1u) << "no end is ever told";
  EXPECT_TRUE(bus.at_b.packets.empty());
}

TEST(SerialMedium, BothWaysAtOnceAtTheLinesRate) {
  const auto world = World::make_virtual(1);
  SerialLine line(*world, {.baud = 9600});
  Side left(*world);
  Side right(*world);
  line.left().set_sink(&left);
  line.right().set_sink(&right);
  line.left().send({}, kPacket);
  line.right().send({}, kPacket);
  world->run_until_idle();
  ASSERT_EQ(left.packets.size(), 1u);
  ASSERT_EQ(right.packets.size(), 1u);
  EXPECT_EQ(right.times[0].count_ns(), 13 * 10 * 1'000'000'000LL / 9600);
  EXPECT_EQ(left.times[0], right.times[0]);
}

TEST(SerialMedium, NoiseCostsAtMostTheFrameThatItIsIn) {
  const auto world = World::make_virtual(1);
  SerialLine line(*world);
  Side right(*world);
  line.right().set_sink(&right);
  const std::size_t rounds = 300;
  for (std::uint64_t seed = 0; seed < rounds; ++seed) {
    Rng rng(seed, "noise");
    Bytes noise(rng.below(40));
    rng.fill(noise);
    line.left().disturb(noise);
    // Whatever the noise began ends with the first of these at the latest, as it may ask for 64 bytes.
    for (int at = 0; at < 16; ++at) {
      line.left().send({}, kPacket);
      world->run_until_idle();
    }
    ASSERT_FALSE(right.packets.empty());
    ASSERT_EQ(right.packets.back(), to_hex(kPacket));
    right.packets.clear();
  }
  EXPECT_EQ(static_cast<std::uint64_t>(right.damaged), line.right().counters().all_faults());
  EXPECT_GT(line.right().counters().packets, rounds * 14);
}

TEST(PcieMedium, ByIdToTheRootAndToAll) {
  const auto world = World::make_virtual(1);
  PcieFabric fabric(*world);
  const auto root = fabric.attach("root", 0, true);
  const auto one = fabric.attach("one", 0x0100);
  const auto two = fabric.attach("two", 0x0200);
  Side at_root(*world), at_one(*world), at_two(*world);
  root->set_sink(&at_root);
  one->set_sink(&at_one);
  two->set_sink(&at_two);
  const Bytes for_all = from_hex("01ff08c800800b");
  root->send({}, for_all);
  world->run_until_idle();
  EXPECT_EQ(at_one.packets, std::vector<std::string>{to_hex(for_all)});
  EXPECT_EQ(at_two.packets, at_one.packets);
  EXPECT_TRUE(at_root.packets.empty());
  one->send(kToRoot, kPacket);
  world->run_until_idle();
  EXPECT_EQ(at_root.senders, std::vector<PhysicalAddress>{pcie_address(0x0100)});
  one->send(pcie_address(0x0200), kPacket);
  world->run_until_idle();
  EXPECT_EQ(at_two.packets.size(), 2u);
  EXPECT_EQ(at_one.packets.size(), 1u);
  two->send(pcie_address(0x0300), kPacket);
  world->run_until_idle();
  EXPECT_EQ(two->counters().lost, 1u);
  EXPECT_EQ(at_two.ends, std::vector<bool>{true}) << "nobody hears of a lost message";
  one->send({}, for_all);
  world->run_until_idle();
  EXPECT_EQ(at_two.packets.size(), 2u) << "only the root complex reaches all";
  root->send({}, kPacket);
  world->run_until_idle();
  EXPECT_EQ(root->counters().lost, 1u);
  EXPECT_GT(at_one.times[0], Instant{});
}

// Any bytes on any medium: nothing but counters.
TEST(Media, AnyBytesAreSurvived) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed, "media");
    Smbus bus;
    PcieFabric fabric(*bus.world);
    const auto root = fabric.attach("root", 0, true);
    const auto device = fabric.attach("device", 0x0100);
    Side at_device(*bus.world);
    device->set_sink(&at_device);
    SerialLine line(*bus.world);
    Side right(*bus.world);
    line.right().set_sink(&right);
    for (int step = 0; step < 20; ++step) {
      Bytes bytes(rng.below(300));
      rng.fill(bytes);
      Bytes write = bytes;
      if (!write.empty()) write[0] = 0x3A;
      bus.a->send_frame(write);
      Bytes tlp = bytes;
      if (tlp.size() > 12 && rng.chance(1, 2)) {
        tlp[0] = 0x72;
        store_be<std::uint16_t>(&tlp[8], 0x0100);
      }
      root->send_frame(tlp);
      line.left().send_frame(bytes);
      bus.world->run_until_idle();
    }
    EXPECT_EQ(bus.at_a.ends.size(), 20u);
    EXPECT_EQ(at_device.packets.size() + static_cast<std::size_t>(at_device.damaged) + root->counters().lost, 20u);
  }
}

}  // namespace
}  // namespace fb::mctp
