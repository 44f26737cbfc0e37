#include "sim/fault/network_faults.h"

#include <gtest/gtest.h>

#include "sim/core/world.h"
#include "sim/net/vanish.h"

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
  net::SegmentVerdict whole_segment() {
    net::SegmentContext context;
    context.link = "a->b";
    context.now = world->now();
    context.size = bytes.size();
    return faults->on_segment(context);
  }
  Duration segment() { return whole_segment().delay; }

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

TEST(NetworkFaults, PacketsAboveTheMtuOfAPathVanishAndSmallOnesPass) {
  LinkUnder link("packet:a->b#1 mtu 1048");
  link.bytes.resize(1001);  // 1049 bytes with the headers of IPv6 and UDP
  EXPECT_EQ(link.packet(), Duration()) << "before its decision";
  EXPECT_EQ(link.packet(), Duration::forever());
  link.bytes.resize(1000);
  EXPECT_EQ(link.packet(), Duration());
  link.bytes.resize(9000);
  link.world->run_for(Duration::s(100));
  EXPECT_EQ(link.packet(), Duration::forever()) << "it lasts";
  net::PacketContext back{"b->a", 1, 0, link.world->now(), {}, {}, link.bytes};
  EXPECT_FALSE(link.faults->on_packet(back).drop) << "a direction alone";
  link.points->disarm();
  EXPECT_EQ(link.packet(), Duration());
}

TEST(NetworkFaults, SegmentsAboveTheMtuOfAPathVanish) {
  LinkUnder link("segment:a->b#0 segment_mtu 1059");
  EXPECT_TRUE(link.whole_segment().lost == net::kVanishes);
  link.bytes.resize(999);
  EXPECT_FALSE(link.whole_segment().lost == net::kVanishes);
  link.bytes.resize(1000);
  link.points->disarm();
  EXPECT_FALSE(link.whole_segment().lost == net::kVanishes);
}

TEST(NetworkFaults, NoHostGetsOverAPathThatIsTooSmall) {
  Schedule schedule;
  schedule.decisions.push_back(*parse_decision("segment:a->b#3 segment_mtu 1500"));
  EXPECT_EQ(schedule.beyond({}), "a path loses every packet above 1500 bytes: whatever needs larger ones is never delivered");
  EXPECT_EQ(tell(schedule.decisions[0]), "packets above 1500 bytes vanish from segment 3 from a to b on");
}

TEST(NetworkFaults, NothingStrikesOnceThePointsAreDisarmed) {
  LinkUnder link("packet:a->b#0 throttle 500");
  EXPECT_EQ(link.packet(), Duration::ms(2));
  link.points->disarm();
  EXPECT_EQ(link.packet(), Duration());
}

}  // namespace
}  // namespace fb::fault
