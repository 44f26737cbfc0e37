// Hooks: every named check can be left out or answered otherwise, and points of departure show.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/model/mi/rig.h"

namespace fb::mi {
namespace {

using test::kDriveEid;
using test::mi_message;
using test::Rig;
using test::RigOptions;

struct Misbehaving final : EndpointHooks {
  bool departs(std::string_view point) override {
    asked.insert(std::string(point));
    return point == departure;
  }
  bool refuses(const MessageContext&, Refusal& refusal) override {
    failed.insert(std::string(refusal.check));
    if (refusal.check == altered) refusal.status = Status{0xE0};
    return refusal.check != tolerated;
  }
  std::string_view departure;
  std::string_view tolerated;
  std::string_view altered;
  std::set<std::string> asked;
  std::set<std::string> failed;
};

TEST(Departures, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const FaultPoint& point : kEndpointFaultPoints) EXPECT_TRUE(names.insert(point.name).second) << point.name;
  for (const FaultPoint& point : kRequesterFaultPoints) EXPECT_TRUE(names.insert(point.name).second) << point.name;
  for (const Check& check : kChecks) EXPECT_TRUE(names.insert(check.name).second) << check.name;
}

/// Requests that between them fail many checks.
std::vector<Bytes> provocations() {
  std::vector<Bytes> all;
  for (const std::uint32_t word : {0x06000000u, 0x01090000u, 0x03000009u, 0xFFFFFFFFu}) {
    for (unsigned opcode = 0; opcode < 0x0E; ++opcode) {
      for (const std::uint32_t second : {0u, 0xFFFFu, 4u}) {
        all.push_back(mi_message(static_cast<std::uint8_t>(opcode), word, second));
        all.push_back(mi_message(static_cast<std::uint8_t>(opcode), word, second, Bytes(8, 1)));
      }
    }
  }
  for (std::uint8_t id = 0; id < 6; ++id) {
    for (const Opcode opcode : {Opcode::configuration_get, Opcode::configuration_set}) {
      all.push_back(mi_message(opcode, id | 0x0000F00u, 0xFFFF));
      all.push_back(mi_message(opcode, id | 0x7000000u, 0xFFFF));
      all.push_back(mi_message(opcode, id | 0x1000F00u, 0xFFFF, from_hex("0101090005030680")));
      all.push_back(mi_message(opcode, id | 0x1000F00u, 0xFFFF, from_hex("0101080005030680")));
    }
  }
  for (const unsigned kind : {0u, 2u, 3u, 4u}) {
    for (unsigned opcode = 0; opcode < 8; ++opcode) {
      for (const std::size_t size : {8u, 20u, 24u, 68u, 80u}) {
        for (const int fill : {0x00, 0x01, 0x77, 0xFF}) {
          Bytes body(size, static_cast<std::uint8_t>(fill));
          body[0] = 0x84;
          body[1] = static_cast<std::uint8_t>(kind << 3);
          body[2] = body[3] = 0;
          body[4] = static_cast<std::uint8_t>(opcode);
          if (size > 8 && fill != 0x77) body[6] = 1, body[7] = 0;
          all.push_back(std::move(body));
        }
      }
    }
  }
  return all;
}

// Leaving out any check never crashes, whatever comes; and the check shows up by its name.
TEST(Departures, EveryCheckMayBeLeftOut) {
  std::set<std::string> failed;
  for (const Check& check : kChecks) {
    Misbehaving hooks;
    hooks.tolerated = check.name;
    RigOptions options;
    options.hooks = &hooks;
    options.device.enclosure = true;
    options.endpoint.auto_pause = false;
    options.endpoint.auto_pause_refused = true;
    Rig rig(options);
    for (const Bytes& body : provocations()) {
      Bytes message = body;
      append_mic(message);
      auto op = rig.requester.send_raw({.peer = kDriveEid, .to = {}, .message = message, .tag = {}, .wait = Duration::ms(1)});
      (void)op.wait();
    }
    failed.insert(hooks.failed.begin(), hooks.failed.end());
  }
  EXPECT_GE(failed.size(), 35u) << "the provocations reach most of them";
}

TEST(Departures, EveryPointMayBeTaken) {
  std::set<std::string> asked;
  for (const FaultPoint& point : kEndpointFaultPoints) {
    Misbehaving hooks;
    hooks.departure = point.name;
    RigOptions options;
    options.hooks = &hooks;
    options.endpoint.durations[{MessageKind::mi_command, 0x05}] = Duration::ms(250);
    options.requester.more_processing_count_max = 1000;
    Rig rig(options);
    rig.requester.on_event([](const EventReport&) {});
    const auto limit = Duration::s(20);
    (void)rig.requester.synchronize_events(kDriveEid, {{6, true}}, {}).wait_for(limit);
    rig.disk.set_temperature(340);
    rig.disk.set_percentage_used(3);
    (void)rig.requester.read_controllers(kDriveEid, 1).wait_for(limit);
    (void)rig.requester.read_subsystem(kDriveEid).wait_for(limit);
    (void)rig.requester.read_controller(kDriveEid, 1).wait_for(limit);
    (void)rig.requester.read_optional_commands(kDriveEid, 1).wait_for(limit);
    (void)rig.requester.poll_subsystem(kDriveEid, true).wait_for(limit);
    (void)rig.requester.poll_subsystem(kDriveEid).wait_for(limit);
    (void)rig.requester.poll_controllers(kDriveEid, {.clear = true}).wait_for(limit);
    (void)rig.requester.poll_controllers(kDriveEid, {.all = false, .selection = 1}).wait_for(limit);
    Bytes damaged = mi_message(Opcode::vpd_write, 0, 200, Bytes(200));
    append_mic(damaged);
    damaged.back() ^= 1;
    (void)rig.requester.send_raw({.peer = kDriveEid, .message = damaged, .wait = Duration::ms(1)}).wait();
    (void)rig.requester.primitive(kDriveEid, Primitive::get_state).wait_for(limit);
    (void)rig.requester.primitive(kDriveEid, Primitive::abort).wait_for(limit);
    (void)rig.requester.command(kDriveEid, Opcode{0x70}).wait_for(limit);
    (void)rig.requester.clear_health(kDriveEid, 0xFFFF).wait_for(limit);
    (void)rig.requester.set_frequency(kDriveEid, 1, 2).wait_for(limit);
    (void)rig.requester.set_unit(kDriveEid, 1, 100).wait_for(limit);
    (void)rig.requester.write_buffer(kDriveEid, 0, {1, 2}).wait_for(limit);
    (void)rig.requester.read_buffer(kDriveEid, 1, 4).wait_for(limit);
    (void)rig.requester.command(kDriveEid, Opcode::vpd_read, 1, 40, {}, {.in_buffer = true}).wait_for(limit);
    (void)rig.requester.write_vpd(kDriveEid, 240, {1, 2}).wait_for(limit);
    auto slow = rig.requester.read_vpd(kDriveEid, 0, 256);
    auto beside = rig.requester.command(kDriveEid, Opcode::vpd_read, 0, 4, {}, {.slot = 1});
    rig.world.run_for(Duration::ms(5));
    (void)rig.requester.primitive(kDriveEid, Primitive::get_state, 0, 1).wait_for(limit);
    (void)rig.requester.primitive(kDriveEid, Primitive::pause).wait_for(limit);
    rig.disk.set_temperature(341);
    rig.world.run_for(Duration::ms(300));
    (void)rig.requester.primitive(kDriveEid, Primitive::resume).wait_for(limit);
    (void)rig.requester.primitive(kDriveEid, Primitive::resume).wait_for(limit);
    (void)slow.wait_for(limit);
    (void)beside.wait_for(limit);
    for (const int offset : {0, 1, 9}) {
      (void)rig.requester.replay(kDriveEid, 0, static_cast<std::uint8_t>(offset)).wait_for(limit);
    }
    (void)rig.requester.primitive(kDriveEid, Primitive::abort).wait_for(limit);
    (void)rig.requester.identify(kDriveEid, 2, nvme::Cns::controller, 0, 8, 16).wait_for(limit);
    (void)rig.requester.identify(kDriveEid, 1, nvme::Cns{0xFF}).wait_for(limit);
    (void)rig.requester.get_feature(kDriveEid, 1, 7).wait_for(limit);
    (void)rig.requester.set_feature(kDriveEid, 1, 4, 350).wait_for(limit);
    (void)rig.requester.pcie(kDriveEid, 1, PcieOpcode::configuration_read, 4, 3).wait_for(limit);
    (void)rig.exchange_raw(mi_message(Opcode::vpd_read));
    (void)rig.requester
        .send_raw({.peer = kDriveEid, .to = {}, .message = mi_message(std::uint8_t{0x70}), .tag = {}, .wait = Duration::ms(1)})
        .wait();
    (void)rig.requester.reset_subsystem(kDriveEid).wait_for(limit);
    rig.disk.set_temperature(342);
    rig.world.run_for(Duration::s(5));
    asked.insert(hooks.asked.begin(), hooks.asked.end());
  }
  for (const FaultPoint& point : kEndpointFaultPoints) {
    // Asked by the slave of the basic management command, beside the endpoint: the conformance case takes them.
    if (point.name.starts_with("mi.basic.")) continue;
    EXPECT_TRUE(asked.contains(std::string(point.name))) << point.name << " is asked nowhere on this way";
  }
}

TEST(Departures, AnotherStatus) {
  Misbehaving hooks;
  hooks.altered = check::read_ds_type.name;
  RigOptions options;
  options.hooks = &hooks;
  Rig rig(options);
  EXPECT_EQ(rig.exchange(mi_message(Opcode::read_data_structure, 0x07000000)).at(0)[4], 0xE0);
}

TEST(Departures, MessagesOnTheirWayOut) {
  struct Meddling final : EndpointHooks {
    std::optional<Status> admission(const MessageContext& message) override {
      if (message.opcode() != 0x01) return std::nullopt;
      return Status::internal_error;
    }
    void response(const MessageContext& message, Bytes& body) override {
      if (message.kind() == MessageKind::mi_command) body.push_back(0xAB);
    }
    Delivery message_out(const MessageContext& message, Bytes&) override {
      return message.kind() != MessageKind::mi_command ? Delivery::send
             : message.opcode() == 0x02                ? Delivery::withhold
             : message.opcode() == 0x04                ? Delivery::send_twice
                                                       : Delivery::send;
    }
    Duration delay(const MessageContext& message) override { return message.opcode() == 0x05 ? Duration::ms(70) : Duration{}; }
  } hooks;
  RigOptions options;
  options.hooks = &hooks;
  Rig rig(options);
  EXPECT_EQ(rig.exchange(mi_message(std::uint8_t{1})).at(0)[4], 0x02);
  EXPECT_EQ(rig.exchange(mi_message(std::uint8_t{1})).at(0).back(), 0xAB);
  EXPECT_TRUE(rig.exchange(mi_message(std::uint8_t{2})).empty());
  EXPECT_EQ(rig.state().get(slot_status::ssta), SlotState::idle) << "no slot is stuck";
  EXPECT_EQ(rig.exchange(mi_message(std::uint8_t{4}, 2), 2).size(), 2u);
  const Instant before = rig.world.now();
  EXPECT_EQ(rig.exchange(mi_message(std::uint8_t{5}, 0, 4)).size(), 1u);
  EXPECT_EQ((rig.world.now() - before).count_ms(), 70);
}

}  // namespace
}  // namespace fb::mi
