// Authentication of whole associations, over the loopback fabric.
#include <gtest/gtest.h>

#include "sim/core/trace.h"
#include "tests/model/host/rig.h"

namespace fb::host {
namespace {

using auth::Secret;
const Secret kHostSecret(Bytes(32, 0x11), auth::AuthHash::sha_256);
const Secret kControllerSecret(Bytes(48, 0x22), std::nullopt);

subsystem::SubsystemOptions demanding() {
  subsystem::SubsystemOptions options;
  options.authentication.secrets = {{"*", kHostSecret, kControllerSecret}};
  options.authentication.groups = {auth::DhGroup::null, auth::DhGroup::ffdhe2048};
  return options;
}

ConnectOptions with_secret(const Rig& rig, bool mutual = false) {
  ConnectOptions options = rig.to();
  options.io_queues = 2;
  options.authentication.secret = kHostSecret;
  if (mutual) options.authentication.controller_secret = kControllerSecret;
  return options;
}

std::size_t sends(const Rig& rig) { return rig.hooks.count_fabrics(fabrics::FabricsType::authentication_send); }

TEST(Authentication, EveryQueueForItself) {
  for (const bool mutual : {false, true}) {
    for (const auth::DhGroup group : {auth::DhGroup::null, auth::DhGroup::ffdhe2048}) {
      auto options = demanding();
      options.authentication.groups = {group};
      Rig rig(options);
      rig.add_namespace();
      Controller* const controller = rig.connect(with_secret(rig, mutual));
      ASSERT_NE(controller, nullptr) << rig.last_error.text;
      EXPECT_EQ(sends(rig), mutual ? 9u : 6u) << "three queues";
      const Bytes data = rig.random(512, "data");
      Bytes written = data, read(512);
      EXPECT_TRUE(rig.ns().write(0, written).wait().ok());
      EXPECT_TRUE(rig.ns().read(0, read).wait().ok());
      EXPECT_EQ(read, data);
      EXPECT_TRUE(controller->shutdown().wait().ok());
    }
  }
}

TEST(Authentication, WithoutASecretTheHostStops) {
  Rig rig(demanding());
  EXPECT_EQ(rig.connect(), nullptr);
  EXPECT_EQ(rig.last_error.kind, HostError::Kind::unsupported);
  EXPECT_NE(rig.last_error.text.find("requires authentication"), std::string::npos);
  EXPECT_EQ(rig.hooks.commands.size(), 1u) << "nothing but Connect";
}

TEST(Authentication, WrongSecretsAreClearErrors) {
  Rig rig(demanding());
  ConnectOptions options = with_secret(rig);
  options.authentication.secret = Secret(Bytes(32, 0x99), std::nullopt);
  EXPECT_EQ(rig.connect(options), nullptr);
  EXPECT_EQ(rig.last_error.kind, HostError::Kind::authentication);
  EXPECT_NE(rig.last_error.text.find("Authentication failed"), std::string::npos) << rig.last_error.text;
  options = with_secret(rig, true);
  options.authentication.controller_secret = Secret(Bytes(32, 0x99), std::nullopt);
  EXPECT_EQ(rig.connect(options), nullptr);
  EXPECT_NE(rig.last_error.text.find("does not know the secret"), std::string::npos) << rig.last_error.text;
  options = with_secret(rig);
  options.authentication.hashes = {auth::AuthHash::sha_384};
  rig.disk->set_moved(false);
  EXPECT_NE(rig.connect(options), nullptr) << "the controller takes every hash";
  options.authentication.groups = {auth::DhGroup::ffdhe8192};
  EXPECT_EQ(rig.connect(options), nullptr);
  EXPECT_NE(rig.last_error.text.find("DH group not usable"), std::string::npos);
}

TEST(Authentication, OfTheControllerIsAskedForThoughNobodyAsks) {
  auto options = demanding();
  options.authentication.required = false;
  Rig rig(options);
  EXPECT_NE(rig.connect(), nullptr) << "who has no secret may come without";
  ConnectOptions mutual = with_secret(rig, true);
  EXPECT_NE(rig.connect(mutual), nullptr) << rig.last_error.text;
  EXPECT_EQ(sends(rig), 9u);

  Rig none;
  EXPECT_EQ(none.connect(with_secret(none, true)), nullptr);
  EXPECT_EQ(none.last_error.kind, HostError::Kind::authentication);
  EXPECT_NE(none.last_error.text.find("Authentication Send"), std::string::npos);
}

TEST(Authentication, AgainWhileLive) {
  Rig rig(demanding());
  Controller* const controller = rig.connect(with_secret(rig, true));
  ASSERT_NE(controller, nullptr) << rig.last_error.text;
  const std::size_t before = sends(rig);
  EXPECT_TRUE(controller->reauthenticate().wait().ok());
  EXPECT_EQ(sends(rig), before + 9);
  EXPECT_TRUE(controller->live());

  rig.hooks.departure = auth::point::success1_response;
  const auto failed = controller->reauthenticate().wait();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, HostError::Kind::authentication);
  controller->reached(ControllerState::gone).wait();
}

TEST(Authentication, AgainWithoutAnyIsAnError) {
  Rig rig;
  Controller* const controller = rig.connect();
  ASSERT_NE(controller, nullptr);
  EXPECT_FALSE(controller->reauthenticate().wait().ok());
  EXPECT_TRUE(controller->live());
}

TEST(Authentication, AfterALossAndAfterAReset) {
  Rig rig(demanding());
  ConnectOptions options = with_secret(rig);
  Controller* const controller = rig.connect(options);
  ASSERT_NE(controller, nullptr) << rig.last_error.text;
  rig.disk->end_associations("for the test");
  controller->reached(ControllerState::recovering).wait();
  controller->reached(ControllerState::live).wait();
  EXPECT_EQ(sends(rig), 12u);
  EXPECT_TRUE(controller->reset().wait().ok());
  EXPECT_EQ(sends(rig), 16u) << "the admin queue has stayed";
}

// Over TCP the conformance cases tls_host_asks_for_a_psk and tls_takes_the_psk_... see it made.
TEST(Authentication, OverRdmaNoSecureChannelIsMade) {
  auto options = demanding();
  std::size_t made = 0;
  options.authentication.secure_channel = true;
  options.authentication.on_psk = [&](const auth::GeneratedPsk&) { ++made; };
  Rig rig(options);
  ConnectOptions connect = with_secret(rig);
  connect.authentication.secure_channel = true;
  connect.authentication.on_psk = options.authentication.on_psk;
  ASSERT_NE(rig.connect(connect), nullptr) << rig.last_error.text;
  EXPECT_EQ(made, 0u);
  connect.authentication.secure_channel_required = true;
  EXPECT_EQ(rig.connect(connect), nullptr);
  EXPECT_NE(rig.last_error.text.find("secure channel"), std::string::npos);
}

TEST(Authentication, IsAFunctionOfTheSeed) {
  const auto run = [](std::uint64_t seed) {
    Rig rig(demanding(), seed);
    Bytes seen;
    rig.hooks.on_data_in = [&](ByteView data) { seen.insert(seen.end(), data.begin(), data.end()); };
    BENCH_ASSERT(rig.connect(with_secret(rig, true)) != nullptr, "it connects");
    return seen;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

/// Every word of the trace.
class Listening final : public TraceSink {
 public:
  void on_event(const TraceEvent& event) override {
    text.append(event.text);
    bytes.insert(bytes.end(), event.bytes.begin(), event.bytes.end());
  }
  std::string text;
  Bytes bytes;
};

TEST(Authentication, LeavesNoSecretInTheTrace) {
  Listening sink;  // outlives the world
  Rig rig(demanding());
  rig.world->trace().add_sink(sink);
  ASSERT_NE(rig.connect(with_secret(rig, true)), nullptr) << rig.last_error.text;
  EXPECT_NE(sink.text.find("DH-HMAC-CHAP_Challenge"), std::string::npos);
  const auto holds = [&](ByteView secret) {
    return std::search(sink.bytes.begin(), sink.bytes.end(), secret.begin(), secret.end()) != sink.bytes.end();
  };
  for (const Secret& secret : {kHostSecret, kControllerSecret}) {
    EXPECT_FALSE(holds(secret.bytes()));
    EXPECT_EQ(sink.text.find(secret.text().substr(10, 20)), std::string::npos);
    EXPECT_EQ(sink.text.find(to_hex(secret.bytes())), std::string::npos);
  }
  EXPECT_FALSE(holds(kHostSecret.key_of(rig.host->options().hostnqn)));
}

}  // namespace
}  // namespace fb::host
