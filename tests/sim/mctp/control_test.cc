#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"
#include "sim/mctp/fault_points.h"
#include "sim/mctp/network.h"

namespace fb::mctp {
namespace {

using control::Command;

// Sends what it is told, byte for byte, and keeps what comes back.
struct Raw final : MessageHandler {
  void on_message(const Incoming& message) override {
    answers.push_back(to_hex(message.body));
    tags.push_back(message.tag);
    sources.push_back(message.source);
    destinations.push_back(message.destination);
  }
  std::vector<std::string> answers;
  std::vector<Tag> tags;
  std::vector<Eid> sources;
  std::vector<Eid> destinations;
};

DeviceOptions device_options() {
  DeviceOptions device;
  device.uuid = control::Uuid{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  device.types = {{0x04, {{0xF1, 0xF2, 0xFF, 0}}}, {0x7E, {}}};
  device.vendors = {{control::VendorFormat::pci, 0x1AB4, 0x0102}, {control::VendorFormat::iana, 0x00012345, 0xABCD}};
  return device;
}

struct Hooks final : EndpointHooks {
  bool departs(std::string_view point) override { return point == name; }
  std::string_view name;
};

// A raw sender at 20h with EID 8, a device at 3Ah with EID 9.
template <class Attach>
class RigOn {
 public:
  explicit RigOn(const DeviceOptions& options) : device(options), control(endpoint, device) {
    sender.set_handler(MessageType::control, &raw, 4096);
  }
  std::string ask(const std::string& hex, Eid to = 9, Eid from = kNullEid) { return ask_with(hex, {0, true}, to, from); }
  std::string ask_with(const std::string& hex, Tag tag, Eid to = 9, Eid from = kNullEid) {
    raw.answers.clear();
    const Eid peer = to == kBroadcastEid ? kNullEid : to;
    take_until(peer, tag.value);
    Outgoing out;
    out.destination = to;
    out.to = media.to();
    out.source = from;
    out.tag = tag;
    out.body = from_hex(hex);
    sender.send(std::move(out));
    world->run_until_idle();
    sender.release_tag(peer, {tag.value, true});
    if (raw.answers.empty()) return "";
    EXPECT_EQ(raw.answers.size(), 1u);
    return raw.answers[0];
  }

  /// Takes this tag of the eight, and no other.
  void take_until(Eid peer, std::uint8_t value) {
    std::vector<Tag> others;
    while (const auto taken = sender.take_tag(peer)) {
      if (taken->value == value) break;
      others.push_back(*taken);
    }
    for (const Tag other : others) sender.release_tag(peer, other);
  }

  std::unique_ptr<World> world = World::make_virtual(1);
  Attach media{*world};
  Endpoint sender{*world, media.sender(), {.name = "sender", .eid = 8}};
  Endpoint endpoint{*world, media.device(), {.name = "device", .eid = 9}};
  ControlDevice device;
  Control control;
  Raw raw;
};

struct OnSmbus {
  explicit OnSmbus(World& world) : segment(world, {}), a(segment.attach("a", 0x20)), b(segment.attach("b", 0x3A)) {}
  Binding& sender() { return *a; }
  Binding& device() { return *b; }
  PhysicalAddress to() const { return smbus_address(0x3A); }
  SmbusSegment segment;
  std::unique_ptr<SmbusPort> a;
  std::unique_ptr<SmbusPort> b;
};
struct OnPcie {
  explicit OnPcie(World& world) : fabric(world, {}), a(fabric.attach("a", 0, true)), b(fabric.attach("b", 0x0100)) {}
  Binding& sender() { return *a; }
  Binding& device() { return *b; }
  PhysicalAddress to() const { return pcie_address(0x0100); }
  PcieFabric fabric;
  std::unique_ptr<PciePort> a;
  std::unique_ptr<PciePort> b;
};
using Rig = RigOn<OnSmbus>;

struct Row {
  const char* what;
  const char* request;
  const char* answer;
};

TEST(ControlResponder, EveryCommandOfASimpleEndpoint) {
  static const Row kRows[] = {
      {"Get EID", "008002", "00000200090000"},
      {"its instance ID comes back", "009F02", "001f0200090000"},
      {"Get EID with data", "00800200", "00000203"},
      {"UUID", "008003", "000003000102030405060708090a0b0c0d0e0f10"},
      {"UUID with data", "00800300", "00000303"},
      {"version of the base", "008004ff", "0000040004f1f0ff00f1f1ff00f1f2ff00f1f3f100"},
      {"version of control", "00800400", "0000040004f1f0ff00f1f1ff00f1f2ff00f1f3f100"},
      {"version of NVMe-MI", "00800404", "0000040001f1f2ff00"},
      {"version of what is not there", "00800401", "00000480"},
      {"version without a type", "008004", "00000403"},
      {"types", "008005", "0000050002047e"},
      {"types with data", "00800500", "00000503"},
      {"first vendor", "00800600", "0000060001001ab40102"},
      {"last vendor", "00800601", "00000600ff0100012345abcd"},
      {"no such vendor", "00800602", "00000602"},
      {"vendor without selector", "008006", "00000603"},
      {"resolve", "00800709", "00000705"},
      {"allocate", "008008000000", "00000805"},
      {"routing update", "00800900", "00000905"},
      {"routing table", "00800a00", "00000a05"},
      {"prepare on SMBus", "00800b", "00000b05"},
      {"discovery on SMBus", "00800c", "00000c05"},
      {"notify", "00800d", "00000d05"},
      {"network", "00800e", "00000e05"},
      {"hop", "00800f0904", "00000f05"},
      {"resolve UUID", "0080100102030405060708090a0b0c0d0e0f1000", "00001005"},
      {"rates without support", "008011", "00001105"},
      {"interfaces", "008014", "00001400010109"},
      {"unknown", "008015", "00001505"},
      {"unknown with data", "0080ef01020304", "0000ef05"},
      {"transport's own", "0080f00102", "0000f005"},
      {"Set EID reset, no static one", "0080010200", "00000102"},
      {"Set Discovered on SMBus", "0080010300", "00000102"},
      {"EID 0", "0080010000", "00000102"},
      {"EID FF", "00800100ff", "00000102"},
      {"a reserved EID", "0080010007", "00000102"},
      {"Set EID cut short", "00800100", "00000103"},
      {"Set EID too long", "008001000900", "00000103"},
      {"Set EID to what it has", "0080010009", "00000100000900"},
      {"by force", "0080010109", "00000100000900"},
  };
  for (const Row& row : kRows) {
    Rig rig(device_options());
    EXPECT_EQ(rig.ask(row.request), row.answer) << row.what;
    if (!rig.raw.tags.empty()) {
      EXPECT_FALSE(rig.raw.tags[0].owner) << row.what;
      EXPECT_EQ(rig.raw.sources[0], 9) << row.what;
      EXPECT_EQ(rig.raw.destinations[0], 8) << row.what;
    }
  }
}

TEST(ControlResponder, WhatDoesNotGoTogetherIsPassedOverInSilence) {
  Rig rig(device_options());
  EXPECT_EQ(rig.ask("808002"), "") << "IC";
  EXPECT_EQ(rig.ask("000002"), "") << "a response with the owner's bit";
  EXPECT_EQ(rig.ask("004002"), "") << "D without Rq";
  EXPECT_EQ(rig.ask("00C002"), "") << "a datagram has no answer";
  EXPECT_EQ(rig.ask("0080"), "") << "cut short";
  EXPECT_EQ(rig.ask_with("008002", {0, false}), "") << "a request without the owner's bit";
  EXPECT_EQ(rig.control.responder().counters().malformed, 4u);
  EXPECT_EQ(rig.control.responder().counters().datagrams, 1u);
  EXPECT_EQ(rig.endpoint.assembly().dropped(Drop::unexpected_tag), 1u);
  EXPECT_NE(rig.ask("008002"), "") << "and then it goes on";
}

TEST(ControlResponder, EveryTagAndEveryInstanceComesBack) {
  Rig rig(device_options());
  for (std::uint8_t tag = 0; tag < 8; ++tag) {
    rig.raw.tags.clear();
    rig.ask_with("009102", {tag, true});
    ASSERT_EQ(rig.raw.tags.size(), 1u);
    EXPECT_EQ(rig.raw.tags[0], (Tag{tag, false}));
  }
  for (int instance = 0; instance < 32; ++instance) {
    char text[8];
    std::snprintf(text, sizeof text, "00%02x02", 0x80 | instance);
    const std::string answer = rig.ask(text);
    std::snprintf(text, sizeof text, "00%02x02", instance);
    EXPECT_EQ(answer.substr(0, 6), text);
  }
}

TEST(ControlResponder, NullEidsAreAnsweredWhereTheyCameFrom) {
  Rig rig(device_options());
  rig.sender.set_eid(kNullEid);
  EXPECT_EQ(rig.ask("008002", kNullEid), "00000200090000");
  EXPECT_EQ(rig.raw.destinations.back(), kNullEid);
  EXPECT_EQ(rig.raw.sources.back(), 9);
  rig.endpoint.set_eid(kNullEid);
  EXPECT_EQ(rig.ask("008002", kNullEid), "00000200000000");
  EXPECT_EQ(rig.raw.sources.back(), kNullEid);
}

TEST(ControlResponder, TheOldEidIsNotHeardAnyMore) {
  Rig rig(device_options());
  EXPECT_EQ(rig.ask("008001001e"), "00000100001e00");
  EXPECT_EQ(rig.raw.sources.back(), 9) << "the answer comes from where the request went";
  EXPECT_EQ(rig.endpoint.eid(), 30);
  EXPECT_EQ(rig.ask("008002", 9), "");
  EXPECT_EQ(rig.ask("008002", 30), "000002001e0000");
  const auto& owner = rig.control.responder().owner();
  ASSERT_TRUE(owner.has_value());
  EXPECT_EQ(owner->eid, 8);
  EXPECT_EQ(owner->address, smbus_address(0x20));
}

TEST(ControlResponder, SwitchesOfOpenPoints) {
  DeviceOptions options = device_options();
  options.policy.refuses_reserved_eids = false;
  options.policy.answers_from_old_eid = false;
  Rig rig(options);
  // The answer comes from the new EID, so that it is awaited from there.
  const auto tag = rig.sender.take_tag(7);
  EXPECT_EQ(rig.ask("0080010007"), "00000100000700");
  EXPECT_EQ(rig.raw.sources.back(), 7);
  rig.sender.release_tag(7, *tag);
}

TEST(ControlResponder, StaticEids) {
  DeviceOptions options = device_options();
  options.static_eid = 40;
  Rig rig(options);
  EXPECT_EQ(rig.ask("008002", 40), "00000200280200") << "static, and it is what it has";
  EXPECT_EQ(rig.ask("0080010032", 40), "00000100003200");
  EXPECT_EQ(rig.ask("008002", 50), "00000200320300") << "static, and it has another";
  EXPECT_EQ(rig.ask("0080010200", 50), "00000100002800");
  EXPECT_EQ(rig.endpoint.eid(), 40);
}

TEST(ControlResponder, DiscoveryOnPcie) {
  RigOn<OnPcie> rig(device_options());
  EXPECT_FALSE(rig.control.responder().discovered());
  EXPECT_EQ(rig.ask("00800c"), "00000c00");
  EXPECT_EQ(rig.ask("0080010009"), "00000100000900");
  EXPECT_EQ(rig.ask("00800c"), "") << "discovered endpoints are silent";
  EXPECT_EQ(rig.control.responder().counters().silent, 1u);
  EXPECT_EQ(rig.ask("00800b"), "00000b00");
  EXPECT_EQ(rig.endpoint.eid(), 9) << "the EID stays";
  EXPECT_EQ(rig.ask("00800c"), "00000c00");
  EXPECT_EQ(rig.ask("0080010300"), "00000100000900") << "Set Discovered";
  EXPECT_EQ(rig.ask("00800c"), "");
}

TEST(ControlResponder, RateLimits) {
  DeviceOptions options = device_options();
  options.rates = RateLimits{};
  Rig rig(options);
  EXPECT_EQ(rig.ask("008011"),
            "0000110000001000001000000010000000000400001000001000"
            "0010000001");
  EXPECT_EQ(rig.ask("00801200080000008000"), "000012000000080000008000");
  EXPECT_EQ(rig.ask("00801200080000000001"), "00001202") << "below what is possible";
  EXPECT_EQ(rig.ask("00801300080000008000"), "00001300");
}

TEST(ControlResponder, OneThingAtATime) {
  DeviceOptions options = device_options();
  options.policy.answer_after = Duration::ms(20);
  for (const bool answers : {true, false}) {
    options.policy.busy_is_answered = answers;
    Rig rig(options);
    Outgoing out;
    out.destination = 9;
    out.to = smbus_address(0x3A);
    for (int at = 0; at < 2; ++at) {
      const auto tag = rig.sender.take_tag(9);
      out.tag = *tag;
      out.body = from_hex(at == 0 ? "008002" : "008103");
      rig.sender.send(out);
    }
    rig.world->run_until_idle();
    if (!answers) {
      EXPECT_EQ(rig.raw.answers, std::vector<std::string>{"00000200090000"});
      continue;
    }
    // NOT_READY is late as any answer is.
    EXPECT_EQ(rig.raw.answers, (std::vector<std::string>{"00000200090000", "00010304"}));
    EXPECT_EQ(rig.control.responder().counters().busy, 1u);
  }
}

TEST(ControlResponder, AnEidFromASecondOwnerIsRefusedUnlessForced) {
  const auto world = World::make_virtual(1);
  OnSmbus first(*world);
  OnSmbus second(*world);
  DeviceOptions options = device_options();
  options.one_eid = true;
  ControlDevice device(options);
  Endpoint left(*world, *first.b, {.name = "left"});
  Endpoint right(*world, *second.b, {.name = "right"});
  Control at_left(left, device);
  Control at_right(right, device);
  ControlDevice owners;
  Endpoint owner_a(*world, *first.a, {.name = "a", .eid = 8});
  Endpoint owner_b(*world, *second.a, {.name = "b", .eid = 8});
  Control a(owner_a, owners);
  Control b(owner_b, owners);
  const ControlPeer there{kNullEid, smbus_address(0x3A)};
  EXPECT_EQ(to_hex(a.requester().ask(there, Command::set_endpoint_id, {0, 9}).wait().data()), "000900");
  EXPECT_EQ(right.eid(), 9) << "one EID for all ports";
  EXPECT_EQ(to_hex(b.requester().ask(there, Command::set_endpoint_id, {0, 20}).wait().data()), "100900");
  EXPECT_EQ(left.eid(), 9);
  EXPECT_EQ(to_hex(b.requester().ask(there, Command::set_endpoint_id, {1, 20}).wait().data()), "001400");
  EXPECT_EQ(left.eid(), 20);
}

TEST(ControlResponder, EveryControlDepartureShows) {
  struct Case {
    std::string_view point;
    const char* request;
    const char* honest;
    const char* departing;
  };
  static const Case kCases[] = {
      {departure::kControlClass, "000002", "", "00000200090000"},
      {departure::kControlIc, "808002", "", "00000200090000"},
      {departure::kControlLength, "00800200", "00000203", "00000200090000"},
      {departure::kControlUnknownSilent, "008015", "00001505", ""},
      {departure::kControlDatagramAnswered, "00c002", "", "00000200090000"},
      {departure::kControlEidRange, "00800100ff", "00000102", "0000010000ff00"},
      {departure::kControlVersionType, "00800401", "00000480", "0000040004f1f0ff00f1f1ff00f1f2ff00f1f3f100"},
      {departure::kControlBridgeOnly, "00800709", "00000705", "00000700"},
      {departure::kControlDiscoveryAnywhere, "00800b", "00000b05", "00000b00"},
  };
  for (const Case& one : kCases) {
    Rig honest(device_options());
    EXPECT_EQ(honest.ask(one.request), one.honest) << one.point;
    Rig departing(device_options());
    Hooks hooks;
    hooks.name = one.point;
    departing.endpoint.set_hooks(&hooks);
    EXPECT_EQ(departing.ask(one.request), one.departing) << one.point;
  }
  Rig keeps(device_options());
  Hooks hooks;
  hooks.name = departure::kControlEidKept;
  keeps.endpoint.set_hooks(&hooks);
  EXPECT_EQ(keeps.ask("008001001e"), "00000100001e00");
  EXPECT_EQ(keeps.endpoint.eid(), 9);
  RigOn<OnPcie> again(device_options());
  hooks.name = departure::kControlDiscovered;
  again.endpoint.set_hooks(&hooks);
  again.control.responder().set_discovered(true);
  EXPECT_EQ(again.ask("00800c"), "00000c00");
}

TEST(ControlResponder, ADepartingEndpointTakesAnEidFromAnybody) {
  const auto world = World::make_virtual(1);
  OnSmbus first(*world);
  OnSmbus second(*world);
  DeviceOptions options = device_options();
  options.one_eid = true;
  ControlDevice device(options);
  Endpoint left(*world, *first.b, {.name = "left"});
  Endpoint right(*world, *second.b, {.name = "right"});
  Control at_left(left, device);
  Control at_right(right, device);
  Hooks hooks;
  hooks.name = departure::kControlForeignOwner;
  right.set_hooks(&hooks);
  ControlDevice owners;
  Endpoint owner_a(*world, *first.a, {.name = "a", .eid = 8});
  Endpoint owner_b(*world, *second.a, {.name = "b", .eid = 8});
  Control a(owner_a, owners);
  Control b(owner_b, owners);
  const ControlPeer there{kNullEid, smbus_address(0x3A)};
  a.requester().ask(there, Command::set_endpoint_id, {0, 9}).wait();
  EXPECT_EQ(to_hex(b.requester().ask(there, Command::set_endpoint_id, {0, 20}).wait().data()), "001400");
}

TEST(ControlResponder, FaultPointsHaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const FaultPoint& point : kFaultPoints) {
    EXPECT_TRUE(names.insert(point.name).second) << point.name;
    EXPECT_TRUE(point.name.starts_with("mctp.")) << point.name;
    EXPECT_FALSE(point.breaks.empty()) << point.name;
  }
}

TEST(ControlResponder, HooksMayChangeOrKeepBackAnAnswer) {
  struct Changing final : EndpointHooks {
    bool control_answer(ByteView request, Bytes& answer) override {
      if (request[2] == 0x03) return false;
      answer[1] |= 0x20;  // a reserved bit
      return true;
    }
  } hooks;
  Rig rig(device_options());
  rig.endpoint.set_hooks(&hooks);
  EXPECT_EQ(rig.ask("008002"), "00200200090000");
  EXPECT_EQ(rig.ask("008003"), "");
}

// --------------------------------------------------------------------------------------- requester

struct Pair {
  std::unique_ptr<World> world = World::make_virtual(1);
  OnSmbus media{*world};
  Endpoint owner{*world, *media.a, {.name = "owner", .eid = 8}};
  Endpoint endpoint{*world, *media.b, {.name = "endpoint", .eid = 9}};
  ControlDevice owners;
  ControlDevice device{device_options()};
  Control asks{owner, owners};
  std::unique_ptr<Control> answers = std::make_unique<Control>(endpoint, device);
  const ControlPeer peer{9, smbus_address(0x3A)};
};

// Loses the first few control answers.
struct Losing final : EndpointHooks {
  bool control_answer(ByteView request, Bytes&) override {
    instances.push_back(request[1] & 0x1F);
    return instances.size() > lost;
  }
  std::size_t lost = 0;
  std::vector<std::uint8_t> instances;
};

TEST(ControlRequester, ARetryHasTheSameInstance) {
  Pair pair;
  Losing hooks;
  hooks.lost = 2;
  pair.endpoint.set_hooks(&hooks);
  const ControlReply reply = pair.asks.requester().ask(pair.peer, Command::get_endpoint_id).wait();
  EXPECT_TRUE(reply.ok());
  EXPECT_EQ(reply.tries, 3);
  EXPECT_EQ(hooks.instances, (std::vector<std::uint8_t>{0, 0, 0}));
  EXPECT_GE(pair.world->now() - Instant{}, Duration::ms(600));
  pair.asks.requester().ask(pair.peer, Command::get_endpoint_id).wait();
  EXPECT_EQ(hooks.instances.back(), 1) << "the next request has the next";
}

TEST(ControlRequester, GivesUpAfterItsLastTry) {
  Pair pair;
  Losing hooks;
  hooks.lost = 100;
  pair.endpoint.set_hooks(&hooks);
  const ControlReply reply = pair.asks.requester().ask(pair.peer, Command::get_endpoint_id).wait();
  EXPECT_EQ(reply.end, ControlEnd::no_answer);
  EXPECT_EQ(reply.tries, 3);
  EXPECT_LT(pair.world->now() - Instant{}, Duration::s(1));
  // Its tag is free again.
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(pair.owner.take_tag(9).has_value());
}

TEST(ControlRequester, KnowsWhenNobodyIsThere) {
  Pair pair;
  const ControlReply reply = pair.asks.requester().ask({kNullEid, smbus_address(0x44)}, Command::get_endpoint_id).wait();
  EXPECT_EQ(reply.end, ControlEnd::not_delivered);
  EXPECT_EQ(pair.media.segment.counters().absent, 9u) << "one try and eight more";
}

TEST(ControlRequester, OneAtATimeToAPeerAndSeveralBesides) {
  Pair pair;
  auto& requester = pair.asks.requester();
  auto first = requester.ask(pair.peer, Command::get_endpoint_id);
  auto second = requester.ask(pair.peer, Command::get_endpoint_uuid);
  auto absent = requester.ask({kNullEid, smbus_address(0x44)}, Command::get_endpoint_id);
  EXPECT_EQ(requester.counters().tries, 2u) << "the second waits for the first";
  EXPECT_TRUE(first.wait().ok());
  EXPECT_TRUE(second.wait().ok());
  EXPECT_EQ(absent.wait().end, ControlEnd::not_delivered);
  EXPECT_EQ(pair.answers->responder().counters().busy, 0u);
}

TEST(ControlRequester, StraysAreNoAnswers) {
  Pair pair;
  struct Twisting final : EndpointHooks {
    bool control_answer(ByteView, Bytes& answer) override {
      std::uint8_t& byte = answer[static_cast<std::size_t>(at)];
      byte = static_cast<std::uint8_t>(byte ^ bits);
      return true;
    }
    int at = 0;
    std::uint8_t bits = 0;
  } hooks;
  pair.endpoint.set_hooks(&hooks);
  std::uint64_t strays = 0;
  const std::vector<std::pair<int, int>> twists{{0, 0x80}, {1, 0x80}, {1, 0x40}, {1, 0x01}, {2, 0x01}};
  for (const auto& [at, bits] : twists) {
    hooks.at = at;
    hooks.bits = static_cast<std::uint8_t>(bits);
    const ControlReply reply = pair.asks.requester().ask(pair.peer, Command::get_endpoint_id).wait();
    EXPECT_EQ(reply.end, ControlEnd::no_answer) << at << " " << bits;
    strays += 3;
    EXPECT_EQ(pair.asks.requester().counters().strays, strays);
  }
}

TEST(ControlRequester, ADatagramAsksForNothing) {
  Pair pair;
  pair.asks.requester().tell(pair.peer, Command::get_endpoint_id);
  EXPECT_TRUE(pair.world->run_until_idle());
  EXPECT_EQ(pair.answers->responder().counters().datagrams, 1u);
  EXPECT_EQ(pair.answers->responder().counters().answers, 0u);
}

TEST(ControlRequester, EverybodyIsAskedAtOnce) {
  const auto world = World::make_virtual(1);
  Network network(*world);
  const std::size_t pcie = network.add_pcie();
  for (std::uint16_t at = 1; at <= 12; ++at) {
    network.add_endpoint(pcie, pcie_address(static_cast<std::uint16_t>(at << 8)), device_options());
  }
  auto& requester = network.owner().control(0).requester();
  const auto replies = requester.ask_all(Command::endpoint_discovery, {}, Duration::ms(130)).wait();
  EXPECT_EQ(replies.size(), 12u);
  for (const ControlReply& reply : replies) EXPECT_TRUE(reply.ok());
}

// --------------------------------------------------------------------------------------- any bytes

TEST(ControlResponder, AnyRequestIsAnsweredInOnePacketOrNotAtAll) {
  Rig rig(device_options());
  std::uint64_t answered = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Rng rng(seed, "control");
    Bytes body(1 + rng.below(64));
    rng.fill(body);
    body[0] = rng.chance(9, 10) ? 0x00 : 0x80;
    if (body.size() > 1 && rng.chance(3, 4)) body[1] = static_cast<std::uint8_t>(0x80 | (body[1] & 0x3F));
    if (body.size() > 2 && rng.chance(3, 4)) body[2] = static_cast<std::uint8_t>(rng.below(0x16));
    const std::string answer = rig.ask(to_hex(body), rig.endpoint.eid());
    if (answer.empty()) continue;
    ++answered;
    ASSERT_LE(answer.size(), 2 * control::kMessageMax);
    ASSERT_EQ(answer.substr(0, 2), "00");
    ASSERT_EQ(std::stoi(answer.substr(2, 2), nullptr, 16), body[1] & 0x1F);
    ASSERT_EQ(std::stoi(answer.substr(4, 2), nullptr, 16), body[2]);
    const int code = std::stoi(answer.substr(6, 2), nullptr, 16);
    ASSERT_TRUE(code == 0 || answer.size() == 8u) << "an error carries its code alone";
  }
  EXPECT_GT(answered, 500u);
}

}  // namespace
}  // namespace fb::mctp
