// What a filter does to the packets of a datagram host, both ways.
#include "sim/net/filtered_host.h"

#include <gtest/gtest.h>

#include <functional>

#include "sim/net/network.h"

namespace fb::net {
namespace {

const IpAddress kOurs = IpAddress::v4(10, 0, 0, 1), kTheirs = IpAddress::v4(10, 0, 0, 2);
constexpr std::uint16_t kPort = 4791;

struct Heard final : DatagramReceiver {
  void on_datagram(const Arrival& arrival) override {
    payloads.emplace_back(arrival.payload.begin(), arrival.payload.end());
    at.push_back(now());
  }
  void on_batch_end() override { ++batches; }
  std::function<Instant()> now;
  std::vector<Bytes> payloads;
  std::vector<Instant> at;
  int batches = 0;
};

struct Rule final : LinkFilter {
  Verdict on_packet(PacketContext& packet) override {
    links.emplace_back(packet.link);
    return decide(packet);
  }
  std::function<Verdict(PacketContext&)> decide = [](PacketContext&) { return Verdict::pass(); };
  std::vector<std::string> links;
};

struct Shown final : TraceSink {
  void on_event(const TraceEvent& event) override {
    if (event.actor == "hears" || event.actor == "speaks") events.emplace_back(std::string(event.actor), event.bytes.size());
  }
  std::vector<std::pair<std::string, std::size_t>> events;
};

struct Rig {
  Rig() {
    world->trace().add_sink(shown, TraceSink::Hears::wire);
    filtered.set_filter(&rule);
    ours.now = theirs.now = [this] { return world->now(); };
    port->set_receiver(&ours);
    other->set_receiver(&theirs);
  }
  ~Rig() { world->trace().remove_sink(shown); }
  void send(DatagramPort& from, const IpAddress& to, std::size_t size, std::uint8_t fill) {
    const Outgoing out = from.begin({to, kPort}, size);
    std::fill(out.payload.begin(), out.payload.end(), fill);
    from.commit();
    from.flush();
    world->run_for(Duration::ms(50));
  }

  Shown shown;
  std::unique_ptr<World> world = World::make_virtual(1);
  SimNetwork network{*world};
  SimHost& here = network.add_host("here", kOurs);
  SimHost& there = network.add_host("there", kTheirs);
  FilteredHost filtered{*world, here, {"out", "in", "hears", "speaks"}};
  Rule rule;
  Heard ours, theirs;
  std::unique_ptr<DatagramPort> port = std::move(filtered.open({kOurs, kPort})).value();
  std::unique_ptr<DatagramPort> other = std::move(there.open({kTheirs, kPort})).value();
};

TEST(FilteredHost, BothDirectionsPassTheFilterUnderTheirNames) {
  Rig rig;
  rig.send(*rig.port, kTheirs, 100, 1);
  rig.send(*rig.other, kOurs, 200, 2);
  EXPECT_EQ(rig.rule.links, (std::vector<std::string>{"out", "in"}));
  ASSERT_EQ(rig.theirs.payloads, (std::vector<Bytes>{Bytes(100, 1)}));
  ASSERT_EQ(rig.ours.payloads, (std::vector<Bytes>{Bytes(200, 2)}));
  EXPECT_EQ(rig.shown.events, (std::vector<std::pair<std::string, std::size_t>>{{"hears", 100}, {"speaks", 200}}));
}

TEST(FilteredHost, PacketsAreDroppedCutDoubledLateAndChanged) {
  for (const bool out : {true, false}) {
    const auto sent_under = [&](std::function<Verdict(PacketContext&)> decide) {
      Rig rig;
      rig.rule.decide = std::move(decide);
      const Instant begun = rig.world->now();
      out ? rig.send(*rig.port, kTheirs, 64, 7) : rig.send(*rig.other, kOurs, 64, 7);
      const Heard& heard = out ? rig.theirs : rig.ours;
      return std::pair(heard.payloads, heard.at.empty() ? Duration{} : heard.at.back() - begun);
    };
    EXPECT_TRUE(sent_under([](PacketContext&) { return Verdict::dropped(); }).first.empty());
    EXPECT_EQ(sent_under([](PacketContext&) { return Verdict::duplicated(); }).first.size(), 2u);
    EXPECT_EQ(sent_under([](PacketContext&) { return Verdict{.cut = 4}; }).first, (std::vector<Bytes>{Bytes(60, 7)}));
    EXPECT_EQ(sent_under([](PacketContext&) { return Verdict{.cut = 400}; }).first, (std::vector<Bytes>{Bytes()}));
    const auto late = sent_under([](PacketContext&) { return Verdict::delayed(Duration::ms(20)); });
    EXPECT_EQ(late.first, (std::vector<Bytes>{Bytes(64, 7)}));
    EXPECT_GE(late.second, Duration::ms(20));
    const auto changed = sent_under([](PacketContext& packet) {
      packet.payload[0] = 9;
      return Verdict::mutated();
    });
    ASSERT_EQ(changed.first.size(), 1u);
    EXPECT_EQ(changed.first[0][0], 9);
  }
}

TEST(FilteredHost, WithoutAFilterEverythingPasses) {
  Rig rig;
  rig.rule.decide = [](PacketContext&) { return Verdict::dropped(); };
  rig.filtered.set_filter(nullptr);
  rig.send(*rig.port, kTheirs, 10, 1);
  EXPECT_EQ(rig.theirs.payloads.size(), 1u);
}

}  // namespace
}  // namespace fb::net
