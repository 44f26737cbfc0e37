#include "sim/mctp/assembly.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "base/rng.h"
#include "sim/mctp/binding.h"
#include "sim/mctp/fault_points.h"

namespace fb::mctp {
namespace {

constexpr Eid kUs = 9;
const PhysicalAddress kFrom = smbus_address(0x20);

struct Sink final : AssemblySink {
  Belongs belongs(Eid destination, const PhysicalAddress&, ByteView) override {
    if (destination == 50) return Belongs::elsewhere;
    if (destination == 51) return Belongs::no_route;
    return destination == kUs || destination == kNullEid || destination == kBroadcastEid ? Belongs::here : Belongs::nowhere;
  }
  bool expects(Eid source, Tag tag) override { return expected.contains({source, tag.value}); }
  std::size_t size_max(std::uint8_t type) override { return type == 4 ? max : 0; }
  bool tolerates(std::string_view point) override { return tolerated == point; }
  void on_message(const Incoming& message) override {
    messages.push_back(to_hex(message.body.first(1)) + ":" + std::to_string(message.body.size()));
    last.assign(message.body.begin(), message.body.end());
  }
  void on_started(const Incoming&) override { ++started; }
  void on_abandoned(std::uint8_t, Eid, Tag, Abandoned why) override { abandoned.push_back(why); }
  void on_drop(Drop why) override { drops.push_back(why); }

  std::set<std::pair<Eid, std::uint8_t>> expected;
  std::size_t max = 4224;
  std::string_view tolerated;
  std::vector<std::string> messages;
  Bytes last;
  int started = 0;
  std::vector<Abandoned> abandoned;
  std::vector<Drop> drops;
};

struct Part {
  Eid source = 8;
  Eid destination = kUs;
  bool som = true;
  bool eom = true;
  std::uint8_t sequence = 0;
  bool owner = true;
  std::uint8_t tag = 0;
  std::uint8_t version = 1;
  std::size_t size = 64;
  std::uint8_t type = 4;
};

Bytes packet_of(const Part& part) {
  Record<PacketHeader> head;
  head.set(packet::version, part.version)
      .set(packet::destination, part.destination)
      .set(packet::source, part.source)
      .set(packet::som, part.som)
      .set(packet::eom, part.eom)
      .set(packet::sequence, part.sequence)
      .set(packet::tag_owner, part.owner)
      .set(packet::tag, part.tag);
  Bytes bytes(head.bytes().begin(), head.bytes().end());
  bytes.resize(kHeaderSize + part.size, 0xAA);
  if (part.som && part.size > 0) bytes[kHeaderSize] = part.type;
  return bytes;
}

class Assembling : public ::testing::Test {
 protected:
  void put(const Part& part, Assembler& into) { into.on_packet(now, kFrom, packet_of(part)); }
  void put(const Part& part) { put(part, assembler); }
  static Part first(std::uint8_t tag = 0) { return {.eom = false, .tag = tag}; }
  static Part middle(std::uint8_t sequence, std::uint8_t tag = 0) { return {.som = false, .eom = false, .sequence = sequence, .tag = tag}; }
  static Part last(std::uint8_t sequence, std::uint8_t tag = 0, std::size_t size = 10) {
    return {.som = false, .sequence = sequence, .tag = tag, .size = size};
  }
  void expect_drop(const Part& part, Drop why) {
    const std::uint64_t before = assembler.counters().dropped(why);
    sink.drops.clear();
    put(part);
    EXPECT_EQ(sink.drops, std::vector<Drop>{why}) << name_of(why);
    EXPECT_EQ(assembler.counters().dropped(why), before + 1) << name_of(why);
    EXPECT_TRUE(sink.messages.empty());
  }

  Instant now;
  Sink sink;
  Assembler assembler{sink};
};

TEST_F(Assembling, OnePacket) {
  put({.size = 20});
  EXPECT_EQ(sink.messages, std::vector<std::string>{"04:20"});
  EXPECT_EQ(sink.started, 0);
}

TEST_F(Assembling, ManyPacketsWithAnyFirstNumber) {
  Part start = first();
  start.sequence = 2;
  put(start);
  for (const int number : {3, 0, 1, 2, 3}) put(middle(static_cast<std::uint8_t>(number)));
  put(last(0));
  EXPECT_EQ(sink.messages, std::vector<std::string>{"04:394"});
  EXPECT_EQ(sink.started, 1);
  EXPECT_EQ(assembler.open(), 0u);
}

TEST_F(Assembling, DropsBeforeAssembly) {
  expect_drop(middle(1), Drop::unexpected_part);
  expect_drop(last(1), Drop::unexpected_part);
  sink.drops.clear();
  assembler.on_damaged();
  EXPECT_EQ(sink.drops, std::vector<Drop>{Drop::physical_layer});
  expect_drop({.owner = false}, Drop::unexpected_tag);
  expect_drop({.destination = 10}, Drop::unknown_destination);
  expect_drop({.destination = 51}, Drop::no_route);
  for (const int version : {0, 2, 7, 15}) {
    expect_drop({.version = static_cast<std::uint8_t>(version)}, Drop::header_version);
  }
  expect_drop({.size = 65}, Drop::unit_unsupported);
  expect_drop({.eom = false, .size = 63}, Drop::unit_unsupported);
  expect_drop({.type = 1}, Drop::message_type);
  expect_drop({.eom = false, .type = 0x7E}, Drop::message_type);
  expect_drop({.size = 0}, Drop::too_short);
  put({.destination = 50});
  EXPECT_EQ(assembler.counters().forwarded, 1u);
  put({.source = kBroadcastEid});
  EXPECT_EQ(assembler.counters().bad_source, 1u);
  EXPECT_EQ(assembler.counters().used, 0u);
}

TEST_F(Assembling, ADroppedPacketNeitherStartsNorEndsAMessage) {
  put(first());
  expect_drop({.som = false, .eom = false, .sequence = 1, .version = 2}, Drop::header_version);
  expect_drop({.som = false, .eom = false, .sequence = 1, .size = 65}, Drop::unit_unsupported);
  expect_drop({.som = false, .eom = false, .sequence = 1, .size = 32}, Drop::unit_unsupported);
  put(last(1));
  EXPECT_EQ(sink.messages, std::vector<std::string>{"04:74"});
}

TEST_F(Assembling, AnswersAreTakenWhileExpected) {
  sink.expected.insert({8, 3});
  put({.owner = false, .tag = 3});
  EXPECT_EQ(sink.messages.size(), 1u);
  put({.owner = false, .tag = 2});
  put({.source = 10, .owner = false, .tag = 3});
  EXPECT_EQ(sink.drops, std::vector<Drop>(2, Drop::unexpected_tag));
}

TEST_F(Assembling, NullAndBroadcastDestinationsAreOurs) {
  put({.destination = kNullEid});
  put({.destination = kBroadcastEid});
  EXPECT_EQ(sink.messages.size(), 2u);
}

TEST_F(Assembling, ANewStartBeginsANewMessage) {
  put(first());
  put(first());
  put(last(1));
  EXPECT_EQ(sink.abandoned, std::vector<Abandoned>{Abandoned::restarted});
  EXPECT_EQ(sink.messages, std::vector<std::string>{"04:74"});
}

TEST_F(Assembling, ASinglePacketRestartsToo) {
  put(first());
  put({.size = 8});
  EXPECT_EQ(sink.abandoned, std::vector<Abandoned>{Abandoned::restarted});
  EXPECT_EQ(sink.messages, std::vector<std::string>{"04:8"});
  EXPECT_EQ(assembler.open(), 0u);
}

TEST_F(Assembling, AGapAndADuplicateKillTheMessage) {
  put(first());
  put(middle(2));
  EXPECT_EQ(sink.abandoned, std::vector<Abandoned>{Abandoned::out_of_sequence});
  put(last(3));
  EXPECT_EQ(sink.drops, std::vector<Drop>{Drop::unexpected_part});
  put(first());
  put(middle(1));
  put(middle(1));
  EXPECT_EQ(assembler.counters().ended(Abandoned::out_of_sequence), 2u);
  EXPECT_TRUE(sink.messages.empty());
}

TEST_F(Assembling, PartsHaveTheSizeOfTheFirst) {
  assembler.set_unit(128);
  Part start = first();
  start.size = 100;
  put(start);
  Part wrong = middle(1);
  wrong.size = 99;
  put(wrong);
  EXPECT_EQ(sink.abandoned, std::vector<Abandoned>{Abandoned::unit_changed});
  put(start);
  put(last(1, 0, 101));
  EXPECT_EQ(assembler.counters().ended(Abandoned::unit_changed), 2u);
  put(start);
  put(last(1, 0, 100));
  EXPECT_EQ(sink.messages, std::vector<std::string>{"04:200"});
}

TEST_F(Assembling, ThePacketThatStaysAway) {
  put(first());
  ASSERT_TRUE(assembler.deadline().has_value());
  EXPECT_EQ(*assembler.deadline(), now + Duration::ms(100));
  now = now + Duration::ms(99);
  put(middle(1));
  now = now + Duration::ms(99);
  put(middle(2));
  EXPECT_TRUE(sink.abandoned.empty()) << "each packet has its own time";
  now = now + Duration::ms(100);
  assembler.on_deadline(now);
  EXPECT_EQ(sink.abandoned, std::vector<Abandoned>{Abandoned::timed_out});
  EXPECT_FALSE(assembler.deadline().has_value());
  put(last(3));
  EXPECT_EQ(sink.drops, std::vector<Drop>{Drop::unexpected_part});
}

TEST_F(Assembling, WhatIsTooLongIsNotKept) {
  sink.max = 150;
  put(first());
  put(middle(1));
  put(middle(2));
  EXPECT_EQ(sink.abandoned, std::vector<Abandoned>{Abandoned::too_long});
  EXPECT_EQ(assembler.bytes_held(), 0u);
  sink.max = 63;
  put(first());
  EXPECT_EQ(assembler.counters().ended(Abandoned::too_long), 2u);
  put({.size = 64});
  EXPECT_EQ(assembler.counters().too_long_whole, 1u);
  EXPECT_TRUE(sink.messages.empty());
}

TEST_F(Assembling, SourcesTagsAndOwnersAreApart) {
  sink.expected.insert({8, 0});
  Part other = first();
  other.source = 20;
  Part answer = first();
  answer.owner = false;
  put(first(0));
  put(first(1));
  put(other);
  put(answer);
  EXPECT_EQ(assembler.open(), 4u);
  put(last(1, 0, 1));
  put(last(1, 1, 2));
  Part end = last(1, 0, 3);
  end.source = 20;
  put(end);
  end = last(1, 0, 4);
  end.owner = false;
  put(end);
  EXPECT_EQ(sink.messages, (std::vector<std::string>{"04:65", "04:66", "04:67", "04:68"}));
}

TEST_F(Assembling, NullSourcesAreToldApartByTheirAddresses) {
  Part start = first();
  start.source = kNullEid;
  Part end = last(1);
  end.source = kNullEid;
  assembler.on_packet(now, smbus_address(0x20), packet_of(start));
  assembler.on_packet(now, smbus_address(0x22), packet_of(start));
  EXPECT_EQ(assembler.open(), 2u);
  assembler.on_packet(now, smbus_address(0x22), packet_of(end));
  assembler.on_packet(now, smbus_address(0x24), packet_of(end));
  EXPECT_EQ(sink.messages.size(), 1u);
  EXPECT_EQ(sink.drops, std::vector<Drop>{Drop::unexpected_part});
  // With an EID the address does not matter, unless that is asked for.
  assembler.on_packet(now, smbus_address(0x20), packet_of(first()));
  assembler.on_packet(now, smbus_address(0x22), packet_of(last(1)));
  EXPECT_EQ(sink.messages.size(), 2u);
}

TEST_F(Assembling, MemoryIsBounded) {
  Assembler small(sink, {.assemblies_max = 4});
  for (int source = 8; source < 100; ++source) {
    put({.source = static_cast<Eid>(source), .eom = false}, small);
    EXPECT_LE(small.open(), 4u);
  }
  EXPECT_EQ(small.bytes_held(), 4 * 64u);
  EXPECT_EQ(small.counters().ended(Abandoned::timed_out), 88u);
}

TEST_F(Assembling, LinuxDiffers) {
  Assembler as_linux(sink, {.as_linux = true});
  // A second start costs both messages.
  put(first(), as_linux);
  put(first(), as_linux);
  put(last(1), as_linux);
  EXPECT_TRUE(sink.messages.empty());
  EXPECT_EQ(sink.drops, std::vector<Drop>{Drop::unexpected_part});
  // A wrong number costs its packet alone.
  put(first(), as_linux);
  put(middle(3), as_linux);
  put(last(1), as_linux);
  EXPECT_EQ(sink.messages, std::vector<std::string>{"04:74"});
  // Parts of any size.
  Part start = first();
  start.size = 30;
  put(start, as_linux);
  put(last(1, 0, 90), as_linux);
  EXPECT_EQ(sink.messages.back(), "04:120");
  // Six seconds from the first packet on.
  put(first(), as_linux);
  now = now + Duration::ms(5999);
  put(middle(1), as_linux);
  EXPECT_EQ(as_linux.open(), 1u);
  now = now + Duration::ms(1);
  as_linux.on_deadline(now);
  EXPECT_EQ(as_linux.open(), 0u);
}

// Each point lets just its own rule be broken.
TEST_F(Assembling, DeparturesPassOverTheirRule) {
  const auto with = [&](std::string_view point) { sink.tolerated = point; };
  with(departure::kVersion);
  put({.version = 2});
  with(departure::kDestination);
  put({.destination = 10});
  with(departure::kUnitAbove);
  put({.size = 65});
  EXPECT_EQ(sink.messages.size(), 3u);
  with(departure::kUnitBelow);
  put({.eom = false, .size = 10});
  put(last(1));
  EXPECT_EQ(sink.messages.size(), 4u);
  with(departure::kSequence);
  put(first());
  put(last(3));
  EXPECT_EQ(sink.messages.size(), 5u);
  with(departure::kKeySource);
  put(first());
  put({.source = 20, .som = false, .sequence = 1, .size = 8});
  EXPECT_EQ(sink.messages.size(), 6u);
  with(departure::kKeyTag);
  put(first());
  put({.som = false, .sequence = 1, .tag = 5, .size = 8});
  EXPECT_EQ(sink.messages.size(), 7u);
  with(departure::kRestart);
  put(first());
  put({.size = 8});
  put(last(1));
  EXPECT_EQ(sink.messages.back(), "04:74");
  with(departure::kGap);
  put(first());
  now = now + Duration::s(100);
  put(last(1));
  EXPECT_EQ(sink.messages.size(), 9u);
  EXPECT_TRUE(sink.drops.empty());
  EXPECT_TRUE(sink.abandoned.empty());
}

// --------------------------------------------------------------------------------- any packets

// Whatever comes: every packet is in exactly one counter, and memory stays in its bounds.
TEST_F(Assembling, EveryPacketIsAccountedFor) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Rng rng(seed, "assembly");
    Sink any;
    any.expected.insert({8, 1});
    any.max = 64 + rng.below(400);
    Assembler assembling(any, {.assemblies_max = 1 + rng.below(6), .as_linux = rng.chance(1, 4)});
    Instant time;
    for (int step = 0; step < 300; ++step) {
      time = time + Duration::ms(static_cast<std::int64_t>(rng.below(40)));
      if (rng.chance(1, 20)) {
        assembling.on_damaged();
        continue;
      }
      Bytes bytes;
      if (rng.chance(1, 10)) {
        bytes.resize(rng.below(80));
        rng.fill(bytes);
      } else {
        Part part;
        part.source = static_cast<Eid>(7 + rng.below(3));
        part.destination = rng.chance(1, 12) ? Eid{50} : Eid{kUs};
        part.som = rng.chance(1, 3);
        part.eom = rng.chance(1, 3);
        part.sequence = static_cast<std::uint8_t>(rng.below(4));
        part.owner = rng.chance(3, 4);
        part.tag = static_cast<std::uint8_t>(rng.below(2));
        part.size = rng.chance(3, 4) ? 64 : rng.below(70);
        bytes = packet_of(part);
      }
      assembling.on_packet(time, smbus_address(static_cast<std::uint8_t>(0x20 + 2 * rng.below(2))), bytes);
      ASSERT_LE(assembling.open(), assembling.options().assemblies_max);
      ASSERT_LE(assembling.bytes_held(), assembling.open() * (any.max + 64));
    }
    const AssemblyCounters& counters = assembling.counters();
    std::uint64_t sum = counters.forwarded + counters.used + counters.bad_source + counters.spoilers;
    for (std::size_t why = 0; why < kDrops; ++why) {
      if (static_cast<Drop>(why) != Drop::physical_layer) sum += counters.drops[why];
    }
    ASSERT_EQ(sum, counters.packets) << seed;
    ASSERT_EQ(counters.messages, any.messages.size());
    std::uint64_t abandoned = 0;
    for (const std::uint64_t one : counters.abandoned) abandoned += one;
    ASSERT_EQ(abandoned, any.abandoned.size());
    const std::uint64_t begun = static_cast<std::uint64_t>(any.started);
    ASSERT_LE(abandoned + assembling.open(), begun);
  }
}

// Whole messages of several senders, mixed packet by packet: all arrive as they were sent.
TEST_F(Assembling, InterleavedMessagesArriveWhole) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed, "interleave");
    Sink any;
    Assembler assembling(any, {.unit = 256});
    struct Sender {
      Part part;
      std::size_t unit = 64;
      Bytes body;
      std::size_t at = 0;
    };
    std::vector<Sender> senders;
    std::multiset<std::string> sent;
    for (std::uint8_t tag = 0; tag < 8; ++tag) {
      Sender sender;
      sender.part.tag = tag;
      sender.part.sequence = static_cast<std::uint8_t>(rng.below(4));
      sender.unit = rng.between(64, 256);
      sender.body.resize(rng.between(1, 4000));
      rng.fill(sender.body);
      sender.body[0] = 4;
      sent.insert(to_hex(sender.body));
      senders.push_back(std::move(sender));
    }
    std::multiset<std::string> arrived;
    std::size_t seen = 0;
    while (!senders.empty()) {
      const std::size_t who = rng.below(senders.size());
      Sender& sender = senders[who];
      const std::size_t size = std::min(sender.unit, sender.body.size() - sender.at);
      sender.part.som = sender.at == 0;
      sender.part.eom = sender.at + size == sender.body.size();
      sender.part.size = 0;
      Bytes bytes = packet_of(sender.part);
      bytes.insert(bytes.end(), sender.body.begin() + static_cast<std::ptrdiff_t>(sender.at),
                   sender.body.begin() + static_cast<std::ptrdiff_t>(sender.at + size));
      sender.at += size;
      sender.part.sequence = (sender.part.sequence + 1) & 3;
      assembling.on_packet(Instant{}, kFrom, bytes);
      if (any.messages.size() > seen) {
        seen = any.messages.size();
        arrived.insert(to_hex(any.last));
      }
      if (sender.part.eom) senders.erase(senders.begin() + static_cast<std::ptrdiff_t>(who));
    }
    ASSERT_EQ(arrived, sent) << seed;
  }
}

}  // namespace
}  // namespace fb::mctp
