#include "sim/fault/network_faults.h"

#include <gtest/gtest.h>

#include "sim/core/world.h"

namespace fb::fault {
namespace {

/// One direction of a link under a schedule of one decision, asked about packets and segments of 1,000 bytes.
struct LinkUnder {
  explicit LinkUnder(const char* decision) {
    schedule.decisions.push_back(*parse_decision(decision));
    points.emplace(*world, schedule);
    faults.emplace(*points);
  }
  Duration packet() {
    net::PacketContext context{"a->b", 0, ordinal++, world->now(), {}, {}, bytes};
    const net::Verdict verdict = faults->on_packet(context);
    return verdict.drop ? Duration::forever() : verdict.delay;
  }
  Duration segment() {
    net::SegmentContext context;
    context.link = "a->b";
    context.now = world->now();
    context.size = bytes.size();
    return faults->on_segment(context).delay;
  }

  std::unique_ptr<World> world = World::make_virtual(1);
  Schedule schedule;
  std::optional<Points> points;
  std::optional<NetworkFaults> faults;
  Bytes bytes = Bytes(1000);
  std::uint64_t ordinal = 0;
};

TEST(NetworkFaults, AThrottledLinkLetsSoMuchThroughForASecond) {
  LinkUnder link("packet:a->b#1 throttle 500");
  EXPECT_EQ(link.packet(), Duration());
  EXPECT_EQ(link.packet(), Duration::ms(2));
  EXPECT_EQ(link.packet(), Duration::ms(4));
  link.world->run_for(Duration::ms(3));
  EXPECT_EQ(link.packet(), Duration::ms(3));
  link.world->run_for(Duration::ms(500));
  EXPECT_EQ(link.packet(), Duration::ms(2));  // nobody was before it
  link.world->run_for(Duration::ms(500));
  EXPECT_EQ(link.packet(), Duration());
}

TEST(NetworkFaults, SegmentsOfAThrottledLinkWaitToo) {
  LinkUnder link("segment:a->b#0 segment_throttle 1000");
  EXPECT_EQ(link.segment(), Duration::ms(1));
  EXPECT_EQ(link.segment(), Duration::ms(2));
  link.world->run_for(Duration::s(1));
  EXPECT_EQ(link.segment(), Duration());
}

TEST(NetworkFaults, AHeldLinkDeliversAllAtOnce) {
  LinkUnder link("packet:a->b#0 hold 10000000");
  EXPECT_EQ(link.packet(), Duration::ms(10));
  link.world->run_for(Duration::ms(4));
  EXPECT_EQ(link.packet(), Duration::ms(6));
  link.world->run_for(Duration::ms(6));
  EXPECT_EQ(link.packet(), Duration());
}

TEST(NetworkFaults, ACutLinkIsCutInBothDirections) {
  LinkUnder link("packet:a->b#0 partition 10000000");
  EXPECT_EQ(link.packet(), Duration::forever());
  net::PacketContext back{"b->a", 1, 0, link.world->now(), {}, {}, link.bytes};
  EXPECT_TRUE(link.faults->on_packet(back).drop);
  link.world->run_for(Duration::ms(10));
  EXPECT_EQ(link.packet(), Duration());
}

TEST(NetworkFaults, NothingStrikesOnceThePointsAreDisarmed) {
  LinkUnder link("packet:a->b#0 throttle 500");
  EXPECT_EQ(link.packet(), Duration::ms(2));
  link.points->disarm();
  EXPECT_EQ(link.packet(), Duration());
}

}  // namespace
}  // namespace fb::fault
