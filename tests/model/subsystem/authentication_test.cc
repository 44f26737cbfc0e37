// What the controller does around the transactions: demands, statuses, time, ends.
#include <gtest/gtest.h>

#include "model/auth/host_auth.h"
#include "tests/model/subsystem/rig.h"
#include "wire/fabrics/auth.h"

namespace fb::subsystem::test {
namespace {

using auth::Secret;
const Secret kSecret(Bytes(32, 0x11), std::nullopt);

SubsystemOptions demanding() {
  SubsystemOptions options;
  options.authentication.secrets = {{kHostNqn, kSecret, kSecret}};
  options.authentication.groups = {auth::DhGroup::null};
  return options;
}

Bytes auth_command(fabrics::FabricsType type, std::size_t bytes, unsigned secp = 0xE9, unsigned spsp = 1) {
  Record<fabrics::AuthSqe> made;
  made.set(fabrics::sqe::opcode, 0x7Fu)
      .set(fabrics::sqe::fctype, type)
      .set(fabrics::auth_sqe::secp, secp)
      .set(fabrics::auth_sqe::spsp0, spsp)
      .set(fabrics::auth_sqe::spsp1, spsp)
      .set(fabrics::auth_sqe::length, static_cast<std::uint32_t>(bytes));
  return Bytes(made.bytes().begin(), made.bytes().end());
}
Reply say(Line& line, const Bytes& message) {
  return line.send(auth_command(fabrics::FabricsType::authentication_send, message.size()), message);
}
Reply ask(Line& line, std::size_t bytes = 4096) {
  return line.fetch(auth_command(fabrics::FabricsType::authentication_receive, bytes), bytes);
}

struct AuthRig : Rig {
  explicit AuthRig(SubsystemOptions options = demanding(), SubsystemHooks* hooks = nullptr)
      : Rig(std::move(options), hooks), nonces(auth::make_nonces(*world, "test")) {}
  auth::HostAuth host(bool mutual = false) {
    return {{kHostNqn,
             kDefaultSubsystemNqn,
             kSecret,
             mutual ? std::optional{kSecret} : std::nullopt,
             auth::all_hashes(),
             {auth::DhGroup::null},
             auth::SecureChannel::none},
            *nonces};
  }
  bool authenticate(Line& line, bool mutual = false) {
    auth::HostAuth machine = host(mutual);
    std::optional<auth::HostStep> step = machine.begin();
    while (step) {
      if (!say(line, step->message).status().ok()) return false;
      if (!step->answered) break;
      step = machine.on_message(ask(line).data);
    }
    return machine.done();
  }
  std::unique_ptr<auth::NonceSource> nonces;
};

Bytes get_vs() { return property_get(0x08, 0); }

TEST(SubsystemAuthentication, NothingElseBefore) {
  AuthRig rig;
  Line line = rig.open();
  const Reply connected = Rig::connect(line, {});
  EXPECT_TRUE(connected.status().ok());
  EXPECT_EQ(connected.dw0() >> 16, 2u) << "AUTHREQ.ATR";
  EXPECT_EQ(line.send(get_vs()).code(), nvme::sc::authentication_required);
  EXPECT_EQ(line.fetch(identify(nvme::Cns::controller).bytes(), 4096).code(), nvme::sc::authentication_required);
  EXPECT_TRUE(rig.authenticate(line));
  EXPECT_TRUE(line.send(get_vs()).status().ok());
}

TEST(SubsystemAuthentication, IoQueuesToo) {
  AuthRig rig;
  Line admin = rig.open();
  const Reply connected = Rig::connect(admin, {});
  ASSERT_TRUE(rig.authenticate(admin, true));
  rig.enable(admin);
  Line io = rig.start_io({admin, static_cast<std::uint16_t>(connected.dw0() & 0xFFFF)});
  EXPECT_EQ(io.fetch(rw(nvme::IoOpcode::read, 0, 1).bytes(), 512).code(), nvme::sc::authentication_required);
  EXPECT_TRUE(rig.authenticate(io));
  EXPECT_TRUE(io.fetch(rw(nvme::IoOpcode::read, 0, 1).bytes(), 512).status().ok());
}

TEST(SubsystemAuthentication, CommandsThatAreWrong) {
  AuthRig rig;
  Line line = rig.open();
  Rig::connect(line, {});
  const auto send = fabrics::FabricsType::authentication_send;
  const auto receive = fabrics::FabricsType::authentication_receive;
  EXPECT_EQ(line.send(auth_command(send, 72, 0x00), Bytes(72)).code(), nvme::sc::invalid_field);
  EXPECT_EQ(line.send(auth_command(send, 72, 0xE9, 0), Bytes(72)).code(), nvme::sc::invalid_field);
  EXPECT_EQ(line.send(auth_command(send, 0)).code(), nvme::sc::invalid_field);
  EXPECT_EQ(line.send(auth_command(send, 5000), Bytes(5000)).code(), nvme::sc::invalid_field);
  EXPECT_EQ(line.fetch(auth_command(receive, 0), 0).code(), nvme::sc::invalid_field);
  EXPECT_EQ(ask(line).code(), nvme::sc::command_sequence_error) << "no message is due";
  EXPECT_TRUE(rig.authenticate(line)) << "none of this has harmed the queue";

  AuthRig none{SubsystemOptions{}};
  Line plain = none.open();
  Rig::connect(plain, {});
  EXPECT_EQ(say(plain, Bytes(72)).code(), nvme::sc::invalid_field) << "no secrets: no such commands";
}

TEST(SubsystemAuthentication, FailureEndsTheConnection) {
  AuthRig rig;
  Line line = rig.open();
  Rig::connect(line, {});
  EXPECT_TRUE(say(line, fabrics::AuthSuccess2{5}.emit()).status().ok());
  const auto report = fabrics::AuthFailureReport::parse(ask(line).data);
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->rcodeex, 7);
  EXPECT_FALSE(line.closed()) << "the message has to get there";
  rig.world->run_for(Duration::ms(50));
  EXPECT_TRUE(line.closed());
  EXPECT_TRUE(rig.disk->controllers().empty());
}

TEST(SubsystemAuthentication, TimeIsTwoMinutesOrKato) {
  AuthRig rig;
  Line idle = rig.open();
  Rig::connect(idle, {});
  rig.world->run_for(Duration::s(119));
  EXPECT_FALSE(idle.closed());
  rig.world->run_for(Duration::s(2));
  EXPECT_TRUE(idle.closed());

  Line brief = rig.open();
  Rig::connect(brief, {.kato = 5000});
  auth::HostAuth machine = rig.host();
  rig.world->run_for(Duration::s(4));
  say(brief, machine.begin().message);
  rig.world->run_for(Duration::s(4));
  EXPECT_FALSE(brief.closed()) << "counts from the beginning of the transaction";
  rig.world->run_for(Duration::s(2));
  EXPECT_TRUE(brief.closed());
}

TEST(SubsystemAuthentication, ALateSecondTransactionIsForgotten) {
  AuthRig rig;
  Line line = rig.open();
  Rig::connect(line, {});
  ASSERT_TRUE(rig.authenticate(line));
  auth::HostAuth machine = rig.host();
  say(line, machine.begin().message);
  EXPECT_TRUE(line.send(get_vs()).status().ok()) << "commands go on meanwhile";
  const std::optional<auth::HostStep> reply = machine.on_message(ask(line).data);
  rig.world->run_for(Duration::s(121));
  ASSERT_FALSE(line.closed());
  EXPECT_EQ(say(line, reply->message).code(), nvme::sc::command_sequence_error);
  EXPECT_TRUE(rig.authenticate(line)) << "and a third one is good";
}

TEST(SubsystemAuthentication, AFailedSecondTransactionDeniesWhatIsUnderWay) {
  AuthRig rig;
  Line line = rig.open();
  Rig::connect(line, {});
  ASSERT_TRUE(rig.authenticate(line));
  rig.enable(line);
  const std::uint16_t event = line.post(command(nvme::AdminOpcode::async_event_request).bytes());
  auth::HostAuth machine = rig.host();
  say(line, machine.begin().message);
  std::optional<auth::HostStep> reply = machine.on_message(ask(line).data);
  reply->message[20] ^= 1;  // R1
  say(line, reply->message);
  ask(line);
  const auto denied = line.reply(event);
  ASSERT_TRUE(denied.has_value());
  EXPECT_EQ(denied->code(), nvme::sc::operation_denied);
  rig.world->run_for(Duration::ms(50));
  EXPECT_TRUE(line.closed());
}

TEST(SubsystemAuthentication, AHostOfTheSubsystemsNameIsNone) {
  AuthRig rig;
  Line line = rig.open();
  EXPECT_EQ(Rig::connect(line, {.hostnqn = kDefaultSubsystemNqn}).code(), nvme::sc::connect_invalid_host);
  Rig none;
  Line other = none.open();
  EXPECT_TRUE(Rig::connect(other, {.hostnqn = kDefaultSubsystemNqn}).status().ok());
}

TEST(SubsystemAuthentication, ReceiveCutsToWhatThereIsRoomFor) {
  AuthRig rig;
  Line line = rig.open();
  Rig::connect(line, {});
  auth::HostAuth machine = rig.host();
  say(line, machine.begin().message);
  const Reply cut = ask(line, 16);
  EXPECT_TRUE(cut.status().ok());
  EXPECT_EQ(cut.data.size(), 16u);
  EXPECT_EQ(fabrics::auth_message_of(cut.data), fabrics::AuthMessage::challenge);
}

}  // namespace
}  // namespace fb::subsystem::test
