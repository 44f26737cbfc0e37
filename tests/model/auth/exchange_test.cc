// The two machines against each other, and each against what no peer should say.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/auth/controller_auth.h"
#include "model/auth/formulas.h"
#include "model/auth/host_auth.h"

namespace fb::auth {
namespace {

using fabrics::AuthChallenge;
using fabrics::AuthFailureReport;
using fabrics::AuthMessage;
using fabrics::AuthNegotiate;
using fabrics::AuthReply;
using fabrics::AuthSuccess1;
using State = ControllerAuth::State;

const Secret kHostSecret(Bytes(32, 0x11), AuthHash::sha_256);
const Secret kControllerSecret(Bytes(48, 0x22), AuthHash::sha_384);

struct Rig {
  std::unique_ptr<World> world = World::make_virtual(3);
  std::unique_ptr<NonceSource> host_nonces = make_nonces(*world, "host");
  std::unique_ptr<NonceSource> controller_nonces = make_nonces(*world, "controller");
  HostAuthConfig host{"nqn.2026-11.org.example:host",
                      "nqn.2026-11.org.example:disk",
                      kHostSecret,
                      std::nullopt,
                      all_hashes(),
                      {DhGroup::null},
                      SecureChannel::none};
  ControllerAuthConfig controller{
      "nqn.2026-11.org.example:host", "nqn.2026-11.org.example:disk", kHostSecret, kControllerSecret, all_hashes(), all_groups()};
  std::vector<Bytes> said;

  /// Runs a transaction to its end; `alter` may change what the controller says.
  template <class Alter>
  void run(HostAuth& h, ControllerAuth& c, Alter&& alter) {
    std::optional<HostStep> step = h.begin();
    while (step) {
      said.push_back(step->message);
      c.on_message(step->message);
      if (!step->answered) return;
      std::optional<Bytes> answer = c.take_message();
      ASSERT_TRUE(answer.has_value());
      alter(*answer);
      said.push_back(*answer);
      step = h.on_message(*answer);
    }
  }
  void run(HostAuth& h, ControllerAuth& c) {
    run(h, c, [](Bytes&) {});
  }
};

TEST(Exchange, EveryHashAndGroup) {
  for (const AuthHash hash : all_hashes()) {
    for (const DhGroup group : all_groups()) {
      for (const bool mutual : {false, true}) {
        Rig rig;
        rig.host.hashes = {hash};
        rig.host.groups = {group};
        if (mutual) rig.host.controller_secret = kControllerSecret;
        HostAuth h(rig.host, *rig.host_nonces);
        ControllerAuth c(rig.controller, *rig.controller_nonces);
        rig.run(h, c);
        EXPECT_TRUE(h.done()) << h.why();
        EXPECT_TRUE(c.authenticated());
        EXPECT_EQ(c.completed(), 1u);
        EXPECT_FALSE(h.psk().has_value());
        EXPECT_EQ(rig.said.size(), mutual ? 5u : 4u);
      }
    }
  }
}

TEST(Exchange, ControllerChoosesByItsOwnPreference) {
  Rig rig;
  rig.host.groups = {DhGroup::null, DhGroup::ffdhe2048, DhGroup::ffdhe3072};
  rig.controller.hashes = {AuthHash::sha_512, AuthHash::sha_256};
  rig.controller.groups = {DhGroup::ffdhe3072, DhGroup::null};
  HostAuth h(rig.host, *rig.host_nonces);
  ControllerAuth c(rig.controller, *rig.controller_nonces);
  rig.run(h, c);
  const auto challenge = AuthChallenge::parse(rig.said[1]);
  ASSERT_TRUE(challenge.has_value());
  EXPECT_EQ(challenge->hash, 3);
  EXPECT_EQ(challenge->group, 2);
  EXPECT_TRUE(h.done());
}

TEST(Exchange, SecureChannelMakesTheSamePskOnBothSides) {
  for (const bool mutual : {false, true}) {
    Rig rig;
    rig.host.secure_channel = SecureChannel::new_tls_psk;
    rig.host.groups = {DhGroup::null, DhGroup::ffdhe2048};
    rig.controller.new_tls_psk = true;
    if (mutual) rig.host.controller_secret = kControllerSecret;
    HostAuth h(rig.host, *rig.host_nonces);
    ControllerAuth c(rig.controller, *rig.controller_nonces);
    rig.run(h, c);
    ASSERT_TRUE(h.psk().has_value() && c.psk().has_value());
    EXPECT_EQ(h.psk()->psk, c.psk()->psk);
    EXPECT_EQ(h.psk()->psk.size(), 32u);
    const auto reply = AuthReply::parse(rig.said[2]);
    ASSERT_TRUE(reply.has_value());
    EXPECT_EQ(reply->cvalid, 1) << "C2 is needed for the PSK";
    EXPECT_EQ(reply->seqnum != 0, mutual) << "S2 = 0: no authentication of the controller";
  }
}

TEST(Exchange, AgainAfterTheFirst) {
  Rig rig;
  HostAuth first(rig.host, *rig.host_nonces), second(rig.host, *rig.host_nonces);
  ControllerAuth c(rig.controller, *rig.controller_nonces);
  rig.run(first, c);
  rig.run(second, c);
  EXPECT_EQ(c.completed(), 2u);
  const auto one = AuthChallenge::parse(rig.said[1]), two = AuthChallenge::parse(rig.said[5]);
  ASSERT_TRUE(one.has_value() && two.has_value());
  EXPECT_NE(one->challenge, two->challenge);
  EXPECT_EQ(two->seqnum, one->seqnum + 1);
}

TEST(Exchange, WrongSecretsFailOnTheSideThatChecks) {
  Rig rig;
  rig.host.secret = Secret(Bytes(32, 0x12), AuthHash::sha_256);
  HostAuth h(rig.host, *rig.host_nonces);
  ControllerAuth c(rig.controller, *rig.controller_nonces);
  rig.run(h, c);
  EXPECT_EQ(h.reason(), AuthFailure::failed);
  EXPECT_NE(h.why().find("Authentication failed"), std::string::npos);
  EXPECT_TRUE(c.failed());

  Rig mutual;
  mutual.host.controller_secret = Secret(Bytes(48, 0x23), AuthHash::sha_384);
  HostAuth h2(mutual.host, *mutual.host_nonces);
  ControllerAuth c2(mutual.controller, *mutual.controller_nonces);
  mutual.run(h2, c2);
  EXPECT_FALSE(h2.done());
  EXPECT_TRUE(c2.failed());
  EXPECT_FALSE(c2.authenticated());
  const auto report = AuthFailureReport::parse(mutual.said.back());
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->from_host);
  EXPECT_EQ(report->rcodeex, 1);

  Rig none;
  none.controller.host_secret.reset();
  HostAuth h3(none.host, *none.host_nonces);
  ControllerAuth c3(none.controller, *none.controller_nonces);
  none.run(h3, c3);
  EXPECT_EQ(h3.reason(), AuthFailure::failed);

  Rig one_way;
  one_way.host.controller_secret = kControllerSecret;
  one_way.controller.controller_secret.reset();
  HostAuth h4(one_way.host, *one_way.host_nonces);
  ControllerAuth c4(one_way.controller, *one_way.controller_nonces);
  one_way.run(h4, c4);
  EXPECT_EQ(h4.reason(), AuthFailure::failed);
}

// ---- what the controller refuses ----

/// Runs the host's first message, altered, against a controller; gives the reason of its Failure1.
int refusal_of_negotiate(Rig& rig, void (*alter)(AuthNegotiate&)) {
  HostAuth h(rig.host, *rig.host_nonces);
  ControllerAuth c(rig.controller, *rig.controller_nonces);
  auto negotiate = AuthNegotiate::parse(h.begin().message);
  alter(*negotiate);
  c.on_message(negotiate->emit());
  const auto answer = c.take_message();
  const auto report = AuthFailureReport::parse(answer.value_or(Bytes{}));
  EXPECT_EQ(c.failed(), report.has_value());
  if (!report) return 0;
  EXPECT_EQ(report->t_id, negotiate->t_id);
  EXPECT_EQ(report->rcode, 1);
  return report->rcodeex;
}

TEST(ControllerRefuses, NegotiatesThatItCannotUse) {
  Rig rig;
  EXPECT_EQ(refusal_of_negotiate(rig, [](AuthNegotiate&) {}), 0);
  EXPECT_EQ(refusal_of_negotiate(rig, [](AuthNegotiate& n) { n.protocols[0].hashes = {0x55}; }), 4);
  EXPECT_EQ(refusal_of_negotiate(rig, [](AuthNegotiate& n) { n.protocols[0].hashes = {}; }), 4);
  EXPECT_EQ(refusal_of_negotiate(rig, [](AuthNegotiate& n) { n.protocols[0].groups = {9}; }), 5);
  EXPECT_EQ(refusal_of_negotiate(rig, [](AuthNegotiate& n) { n.protocols[0].groups = {}; }), 5);
  EXPECT_EQ(refusal_of_negotiate(rig, [](AuthNegotiate& n) { n.protocols[0].authid = 2; }), 2);
  EXPECT_EQ(refusal_of_negotiate(rig, [](AuthNegotiate& n) { n.protocols.clear(); }), 2);
  for (const int sc_c : {1, 2, 3, 0xFF}) {
    static std::uint8_t value;
    value = static_cast<std::uint8_t>(sc_c);
    EXPECT_EQ(refusal_of_negotiate(rig, [](AuthNegotiate& n) { n.sc_c = value; }), 3) << sc_c;
  }
  EXPECT_EQ(refusal_of_negotiate(
                rig, [](AuthNegotiate& n) { n.protocols.insert(n.protocols.begin(), {.authid = 0x77, .hashes = {1}, .groups = {0}}); }),
            0)
      << "the first usable descriptor is used";
  rig.controller.new_tls_psk = true;
  EXPECT_EQ(refusal_of_negotiate(rig, [](AuthNegotiate& n) { n.sc_c = 2; }), 5) << "NULL with TLS";
}

/// Runs a transaction in which the Reply is altered; gives the reason of the Failure1.
int refusal_of_reply(Rig& rig, const std::function<void(AuthReply&, const AuthChallenge&)>& alter) {
  HostAuth h(rig.host, *rig.host_nonces);
  ControllerAuth c(rig.controller, *rig.controller_nonces);
  c.on_message(h.begin().message);
  const Bytes challenge = *c.take_message();
  auto reply = AuthReply::parse(h.on_message(challenge)->message);
  alter(*reply, *AuthChallenge::parse(challenge));
  c.on_message(reply->emit());
  const auto answer = c.take_message();
  const auto report = AuthFailureReport::parse(answer.value_or(Bytes{}));
  return report ? report->rcodeex : 0;
}

TEST(ControllerRefuses, RepliesThatAreWrong) {
  Rig rig;
  rig.host.groups = {DhGroup::ffdhe2048};
  using R = AuthReply;
  using C = AuthChallenge;
  EXPECT_EQ(refusal_of_reply(rig, [](R&, const C&) {}), 0);
  EXPECT_EQ(refusal_of_reply(rig, [](R& r, const C&) { ++r.t_id; }), 6);
  EXPECT_EQ(refusal_of_reply(rig, [](R& r, const C&) { r.hl = 31; }), 6);
  EXPECT_EQ(refusal_of_reply(rig, [](R& r, const C&) { r.hl = 64; }), 6) << "truncated";
  EXPECT_EQ(refusal_of_reply(rig, [](R& r, const C&) { r.cvalid = 2; }), 6);
  EXPECT_EQ(refusal_of_reply(rig, [](R& r, const C&) { r.dh_value.clear(); }), 6);
  EXPECT_EQ(refusal_of_reply(rig, [](R& r, const C&) { r.dh_value.pop_back(); }), 6);
  EXPECT_EQ(refusal_of_reply(rig, [](R& r, const C&) { r.dh_value.assign(256, 0); }), 6);
  EXPECT_EQ(refusal_of_reply(rig, [](R& r, const C&) { r.dh_value = {0, 0, 0, 1}; }), 6);
  EXPECT_EQ(refusal_of_reply(rig, [](R& r, const C&) { r.dh_value = dh_largest(DhGroup::ffdhe2048); }), 6);
  EXPECT_EQ(refusal_of_reply(rig, [](R& r, const C&) { r.response[5] ^= 1; }), 1);
  EXPECT_EQ(refusal_of_reply(rig,
                             [](R& r, const C& c) {
                               r.cvalid = 1;
                               r.seqnum = 5;
                               r.challenge = c.challenge;
                             }),
            1);
  Rig null;
  EXPECT_EQ(refusal_of_reply(null, [](R& r, const C&) { r.dh_value.assign(256, 7); }), 6);
}

TEST(ControllerRefuses, MessagesOutOfOrder) {
  const auto unexpected = [](ControllerAuth& c, const Bytes& message) {
    c.on_message(message);
    const auto report = AuthFailureReport::parse(c.take_message().value_or(Bytes{}));
    return report ? report->rcodeex : 0;
  };
  Rig rig;
  const Bytes success2 = fabrics::AuthSuccess2{1}.emit();
  ControllerAuth fresh(rig.controller, *rig.controller_nonces);
  EXPECT_EQ(unexpected(fresh, success2), 7);
  ControllerAuth garbage(rig.controller, *rig.controller_nonces);
  EXPECT_EQ(unexpected(garbage, Bytes(64, 0xEE)), 7);
  ControllerAuth empty(rig.controller, *rig.controller_nonces);
  EXPECT_EQ(unexpected(empty, {}), 7);

  HostAuth h(rig.host, *rig.host_nonces);
  ControllerAuth asked(rig.controller, *rig.controller_nonces);
  asked.on_message(h.begin().message);
  asked.take_message();
  EXPECT_EQ(unexpected(asked, success2), 7);
  EXPECT_TRUE(asked.failed());
  EXPECT_FALSE(asked.take_message().has_value());

  Rig mutual;
  mutual.host.controller_secret = kControllerSecret;
  HostAuth h2(mutual.host, *mutual.host_nonces);
  ControllerAuth waiting(mutual.controller, *mutual.controller_nonces);
  waiting.on_message(h2.begin().message);
  waiting.on_message(h2.on_message(*waiting.take_message())->message);
  waiting.take_message();
  EXPECT_EQ(waiting.state(), State::success2_awaited);
  EXPECT_FALSE(waiting.authenticated());
  ControllerAuth again = waiting;
  EXPECT_EQ(unexpected(again, h2.begin().message), 7);
  waiting.on_message(fabrics::AuthSuccess2{static_cast<std::uint16_t>(h2.t_id() + 1)}.emit());
  EXPECT_EQ(AuthFailureReport::parse(*waiting.take_message())->rcodeex, 6);
}

TEST(ControllerTimesOut, ForGoodTheFirstTime) {
  Rig rig;
  HostAuth h(rig.host, *rig.host_nonces);
  ControllerAuth c(rig.controller, *rig.controller_nonces);
  c.on_message(h.begin().message);
  c.time_out();
  EXPECT_TRUE(c.failed());

  ControllerAuth later(rig.controller, *rig.controller_nonces);
  HostAuth good(rig.host, *rig.host_nonces), late(rig.host, *rig.host_nonces);
  rig.run(good, later);
  later.on_message(late.begin().message);
  later.time_out();
  EXPECT_TRUE(later.authenticated());
  EXPECT_EQ(later.state(), State::idle);
}

// ---- what the host refuses ----

/// Runs a transaction in which one of the controller's messages is altered.
int refusal_by_host(Rig& rig, const std::function<void(Bytes&)>& alter) {
  HostAuth h(rig.host, *rig.host_nonces);
  ControllerAuth c(rig.controller, *rig.controller_nonces);
  rig.said.clear();
  rig.run(h, c, alter);
  const auto report = AuthFailureReport::parse(rig.said.back());
  if (h.done()) return 0;
  if (!report || !report->from_host) return -1;
  EXPECT_TRUE(c.failed());
  return report->rcodeex;
}

std::function<void(Bytes&)> challenge_with(std::function<void(AuthChallenge&)> change) {
  return [change](Bytes& bytes) {
    auto challenge = AuthChallenge::parse(bytes);
    if (!challenge) return;
    change(*challenge);
    bytes = challenge->emit();
  };
}

std::function<void(Bytes&)> success1_with(std::function<void(AuthSuccess1&)> change) {
  return [change](Bytes& bytes) {
    auto success = AuthSuccess1::parse(bytes);
    if (!success) return;
    change(*success);
    bytes = success->emit();
  };
}

TEST(HostRefuses, ChallengesThatAreWrong) {
  Rig rig;
  rig.host.groups = {DhGroup::ffdhe2048};
  rig.host.hashes = {AuthHash::sha_256};
  using C = AuthChallenge;
  EXPECT_EQ(refusal_by_host(rig, [](Bytes&) {}), 0);
  EXPECT_EQ(refusal_by_host(rig, challenge_with([](C& c) { ++c.t_id; })), 6);
  EXPECT_EQ(refusal_by_host(rig, challenge_with([](C& c) { c.hl = 31; })), 6);
  EXPECT_EQ(refusal_by_host(rig, challenge_with([](C& c) { c.hash = 2; })), 6);
  EXPECT_EQ(refusal_by_host(rig, challenge_with([](C& c) { c.hash = 0x55; })), 6);
  EXPECT_EQ(refusal_by_host(rig, challenge_with([](C& c) { c.group = 2; })), 6);
  EXPECT_EQ(refusal_by_host(rig, challenge_with([](C& c) { c.group = 0x55; })), 6);
  EXPECT_EQ(refusal_by_host(rig, challenge_with([](C& c) { c.seqnum = 0; })), 6);
  EXPECT_EQ(refusal_by_host(rig, challenge_with([](C& c) { c.dh_value.clear(); })), 6);
  EXPECT_EQ(refusal_by_host(rig, challenge_with([](C& c) { c.dh_value.assign(256, 0); })), 6);
  EXPECT_EQ(refusal_by_host(rig, challenge_with([](C& c) { c.dh_value = {0, 0, 0, 1}; })), 6);
  EXPECT_EQ(refusal_by_host(rig, challenge_with([](C& c) { c.dh_value = dh_largest(DhGroup::ffdhe2048); })), 6);
  EXPECT_EQ(refusal_by_host(rig, [](Bytes& bytes) { bytes.resize(20); }), 6);
  EXPECT_EQ(refusal_by_host(rig, [](Bytes& bytes) { bytes.assign(4096, 0); }), 7);
  EXPECT_EQ(refusal_by_host(rig, [](Bytes& bytes) { bytes.clear(); }), 7);
  EXPECT_EQ(refusal_by_host(rig, [](Bytes& bytes) { bytes[1] = 3; }), 7) << "a Success1 too early";
}

TEST(HostRefuses, SuccessThatIsNone) {
  Rig rig;
  rig.host.controller_secret = kControllerSecret;
  using S = AuthSuccess1;
  EXPECT_EQ(refusal_by_host(rig, [](Bytes&) {}), 0);
  EXPECT_EQ(refusal_by_host(rig, success1_with([](S& s) { ++s.t_id; })), 6);
  EXPECT_EQ(refusal_by_host(rig, success1_with([](S& s) { s.hl = 16; })), 6);
  EXPECT_EQ(refusal_by_host(rig, success1_with([](S& s) { s.rvalid = 0; })), 1);
  EXPECT_EQ(refusal_by_host(rig, success1_with([](S& s) { s.response[0] ^= 1; })), 1);
}

TEST(Departures, HaveNamesOfTheirOwn) {
  std::vector<std::string_view> names;
  for (const FaultPoint& at : kAuthFaultPoints) names.push_back(at.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace fb::auth
