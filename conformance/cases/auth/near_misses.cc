// Replies that are wrong by as little as can be: one byte, or one of the values that R1 is computed from.
#include "conformance/cases/auth/common.h"

namespace fb::conformance {

using namespace auth_cases;

namespace {

std::string other_end(std::string text) {
  text.back() = text.back() == 'z' ? 'y' : 'z';
  return text;
}

/// One value of R1 is another one; each is refused.
struct NearMiss {
  std::string_view what;
  void (*alter)(reference::Response&);
};

constexpr NearMiss kNearMisses[] = {
    {"another last byte of the key", [](reference::Response& r) { r.key.back() ^= 1; }},
    {"another first byte of the key", [](reference::Response& r) { r.key.front() ^= 0x80; }},
    {"a key without its last byte", [](reference::Response& r) { r.key.pop_back(); }},
    {"another last byte of C1", [](reference::Response& r) { r.challenge.back() ^= 1; }},
    {"another S1, by its low byte", [](reference::Response& r) { r.seqnum ^= 1; }},
    {"another S1, by its high byte", [](reference::Response& r) { r.seqnum ^= 0x80000000; }},
    {"another T_ID, by its low byte", [](reference::Response& r) { r.t_id ^= 1; }},
    {"another T_ID, by its high byte", [](reference::Response& r) { r.t_id ^= 0x8000; }},
    {"another SC_C", [](reference::Response& r) { r.sc_c = 2; }},
    {"another end of the host NQN", [](reference::Response& r) { r.hostnqn = other_end(r.hostnqn); }},
    {"a host NQN without its last character", [](reference::Response& r) { r.hostnqn.pop_back(); }},
    {"another end of the subsystem NQN", [](reference::Response& r) { r.subnqn = other_end(r.subnqn); }},
    {"a subsystem NQN without its last character", [](reference::Response& r) { r.subnqn.pop_back(); }},
    {"a subsystem NQN with a terminator", [](reference::Response& r) { r.subnqn.push_back('\0'); }},
    {"the two NQNs in each other's place", [](reference::Response& r) { std::swap(r.hostnqn, r.subnqn); }},
};

/// A transaction up to its Reply, with this hash alone where one is given.
Exchange& begin(Exchange& exchange, std::optional<AuthHash> hash = {}) {
  if (hash) exchange.negotiate.protocols[0].hashes = {static_cast<std::uint8_t>(*hash)};
  return exchange;
}

/// The product does not take this hash: nothing to see here.
bool takes(Exchange& exchange, Check& check) {
  exchange.say(encoded(exchange.negotiate));
  const Bytes bytes = exchange.ask();
  if (const auto challenge = decoded<AuthChallenge>(bytes)) {
    exchange.challenge = *challenge;
    return true;
  }
  const auto report = decoded<AuthFailureReport>(bytes);
  check.require(report.has_value(), "a Challenge or an AUTH_Failure1", message_words(bytes));
  return false;
}

void expect_refused(Exchange& exchange, Check& check, std::string_view what) {
  exchange.say(encoded(exchange.reply));
  const Bytes bytes = exchange.ask();
  const auto report = decoded<AuthFailureReport>(bytes);
  const bool refused = report && !report->from_host && report->rcodeex == static_cast<std::uint8_t>(AuthFailure::failed);
  check.that(refused, "R1 with " + std::string(what) + ": AUTH_Failure1, RCODEEX 01h", message_words(bytes));
}

}  // namespace

CONFORMANCE_CASE(auth_refuses_each_near_miss, "auth.controller.reply.near-miss", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  for (const std::optional<DhGroup> group : {std::optional<DhGroup>{}, std::optional{DhGroup::ffdhe2048}}) {
    for (const NearMiss& near : kNearMisses) {
      Exchange exchange(bench, check, connected_queue(bench), group);
      exchange.get_challenge();
      exchange.make_reply();
      reference::Response altered = exchange.first_response();
      near.alter(altered);
      // A key that ends in 0 is the same without it.
      if (altered.of_host() == exchange.reply.response) continue;
      exchange.reply.response = altered.of_host();
      expect_refused(exchange, check, near.what);
    }
  }
  Exchange exchange(bench, check, connected_queue(bench));
  exchange.get_challenge();
  exchange.make_reply();
  exchange.reply.response = exchange.first_response().of_controller();
  expect_refused(exchange, check, "the role of a controller");
}

CONFORMANCE_CASE(auth_compares_every_byte_of_a_response, "auth.controller.reply.every-byte", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  unsigned tried = 0;
  for (const AuthHash hash : auth::all_hashes()) {
    const std::size_t length = reference::hash_bytes(static_cast<std::uint8_t>(hash));
    for (const std::size_t byte :
         {std::size_t{0}, std::size_t{8}, std::size_t{16}, std::size_t{20}, length - 32, length - 16, length - 1}) {
      Exchange exchange(bench, check, connected_queue(bench));
      if (!takes(begin(exchange, hash), check)) break;
      exchange.make_reply();
      check.require(exchange.reply.response.size() == length, "the Challenge names the hash that was offered", "it names another");
      exchange.reply.response[byte] ^= 0x01;
      ++tried;
      expect_refused(exchange, check, "another byte " + std::to_string(byte) + " of " + std::to_string(length));
    }
  }
  check.precondition(tried != 0, "the product's policy admits a hash");
}

CONFORMANCE_CASE(auth_compares_the_whole_transaction_identifier, "auth.controller.reply.t-id-whole", roles::controller,
                 authenticates{&demanding}, reaches{"subsystem.auth.failed"}) {
  for (unsigned bit = 0; bit < 16; ++bit) {
    Exchange exchange(bench, check, connected_queue(bench));
    exchange.get_challenge();
    exchange.make_reply();
    exchange.reply.t_id = static_cast<std::uint16_t>(exchange.reply.t_id ^ 1u << bit);
    exchange.refused(encoded(exchange.reply), {AuthFailure::incorrect_payload, AuthFailure::incorrect_message});
  }
}

CONFORMANCE_CASE(auth_refuses_the_length_of_another_hash, "auth.controller.reply.hl-other-hash", roles::controller,
                 authenticates{&demanding}, reaches{"subsystem.auth.failed"}) {
  for (const std::uint8_t hl : {std::uint8_t{0}, std::uint8_t{16}, std::uint8_t{32}, std::uint8_t{48}, std::uint8_t{64}}) {
    Exchange exchange(bench, check, connected_queue(bench));
    if (exchange.get_challenge().hl == hl) continue;
    exchange.make_reply();
    exchange.reply.hl = hl;
    exchange.reply.response.resize(hl, 0x5A);
    exchange.reply.challenge.resize(hl);
    exchange.refused(encoded(exchange.reply), {AuthFailure::incorrect_payload});
  }
}

CONFORMANCE_CASE(auth_refuses_useless_dh_values_of_every_group, "auth.controller.reply.dh-every-group", roles::controller,
                 authenticates{&demanding}, reaches{"subsystem.auth.failed"}) {
  for (const DhGroup group : {DhGroup::ffdhe2048, DhGroup::ffdhe3072, DhGroup::ffdhe4096}) {
    const auto id = static_cast<std::uint8_t>(group);
    const std::size_t length = reference::group_bytes(id);
    for (const Bytes& value : {Bytes(length), small_number(length, 1), small_number(4, 1), Bytes(4), largest_dh_value(id)}) {
      Exchange exchange(bench, check, connected_queue(bench), group);
      if (!takes(exchange, check)) break;
      exchange.make_reply();
      exchange.reply.dh_value = value;
      // (p - 1)^x is 1 or p - 1: whichever R1 fits, the value alone is reason enough.
      const bool zero = std::all_of(value.begin(), value.end(), [](std::uint8_t byte) { return byte == 0; });
      exchange.set_shared(small_number(length, zero ? 0 : 1));
      exchange.sign();
      exchange.refused(encoded(exchange.reply), {AuthFailure::incorrect_payload});
    }
  }
}

CONFORMANCE_CASE(auth_takes_dh_values_with_leading_zeros, "auth.controller.reply.dh-leading-zero", roles::controller,
                 authenticates{&demanding}, reaches{"subsystem.auth.done"}) {
  for (const bool of_shared : {false, true}) {
    Exchange exchange(bench, check, connected_queue(bench), DhGroup::ffdhe2048);
    exchange.get_challenge();
    exchange.make_reply();
    const std::uint8_t group = exchange.challenge.group;
    exchange.set_exponent(
        reference::exponent_with_leading_zero(group, of_shared ? exchange.challenge.dh_value : Bytes{}, bench.nonces().exponent()));
    exchange.sign();
    exchange.say(encoded(exchange.reply));
    const Bytes bytes = exchange.ask();
    check.that(decoded<AuthSuccess1>(bytes).has_value(),
               of_shared ? "g^xy with a leading zero byte: Success1" : "a DH value with a leading zero byte: Success1",
               message_words(bytes));
  }
}

CONFORMANCE_CASE(auth_compares_c2_with_all_of_c1, "auth.controller.reply.c2-near-c1", roles::controller, authenticates{&demanding},
                 needs{&mutual}, reaches{"subsystem.auth.done"}) {
  for (const bool last : {false, true}) {
    Exchange exchange(bench, check, connected_queue(bench));
    exchange.get_challenge();
    exchange.make_reply(true).challenge = exchange.challenge.challenge;
    (last ? exchange.reply.challenge.back() : exchange.reply.challenge.front()) ^= 1;
    check.bytes("R2", exchange.get_success1().response, exchange.expected_response());
    exchange.say(encoded(AuthSuccess2{exchange.negotiate.t_id}));
  }
}

CONFORMANCE_CASE(auth_compares_all_of_a_success2, "auth.controller.mutual.success2-t-id-whole", roles::controller,
                 authenticates{&demanding}, needs{&mutual}, reaches{"subsystem.auth.failed"}) {
  for (unsigned bit = 0; bit < 16; ++bit) {
    Exchange exchange(bench, check, connected_queue(bench));
    exchange.get_challenge();
    exchange.make_reply(true);
    exchange.get_success1();
    const auto other = static_cast<std::uint16_t>(exchange.negotiate.t_id ^ 1u << bit);
    exchange.refused(encoded(AuthSuccess2{other}), {AuthFailure::incorrect_payload, AuthFailure::incorrect_message});
  }
}

}  // namespace fb::conformance
