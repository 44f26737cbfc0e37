// AUTH_Negotiate and the Challenge that answers it.
#include "conformance/cases/auth/common.h"

namespace fb::conformance {

using namespace auth_cases;

namespace {

constexpr std::uint8_t kReserved = 0x55;

bool among(std::uint8_t id, const std::vector<std::uint8_t>& offered) {
  return std::find(offered.begin(), offered.end(), id) != offered.end();
}

void making_keys(EmbeddedSetup& setup) {
  demanding(setup);
  setup.subsystem.authentication.secure_channel = true;
}

/// Offers `hash` alone, and `group` where there is one, and follows the transaction to its end.
void complete_with(ControllerBench& bench, Check& check, AuthHash hash, std::optional<DhGroup> group) {
  Exchange exchange(bench, check, connected_queue(bench), group);
  exchange.negotiate.protocols[0].hashes = {static_cast<std::uint8_t>(hash)};
  exchange.judges_support = true;
  exchange.get_challenge();
  check.equal("HashID", exchange.challenge.hash, static_cast<std::uint8_t>(hash));
  if (group) check.equal("DHgID", exchange.challenge.group, static_cast<std::uint8_t>(*group));
  exchange.make_reply();
  exchange.get_success1();
}

}  // namespace

CONFORMANCE_CASE(auth_refuses_unknown_hashes, "auth.controller.negotiate.hash", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  Exchange exchange(bench, check, connected_queue(bench));
  exchange.negotiate.protocols[0].hashes = {kReserved};
  exchange.refused(encoded(exchange.negotiate), {AuthFailure::hash_not_usable});
}

CONFORMANCE_CASE(auth_refuses_unknown_groups, "auth.controller.negotiate.group", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  Exchange exchange(bench, check, connected_queue(bench));
  exchange.negotiate.protocols[0].groups = {kReserved};
  exchange.refused(encoded(exchange.negotiate), {AuthFailure::group_not_usable});
}

CONFORMANCE_CASE(auth_refuses_unknown_protocols, "auth.controller.negotiate.protocol", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  Exchange exchange(bench, check, connected_queue(bench));
  exchange.negotiate.protocols[0].authid = kReserved;
  exchange.refused(encoded(exchange.negotiate), {AuthFailure::protocol_not_usable});
}

CONFORMANCE_CASE(auth_refuses_reserved_secure_channel, "auth.controller.negotiate.secure-channel-reserved", roles::controller,
                 authenticates{&demanding}, reaches{"subsystem.auth.failed"}) {
  for (const std::uint8_t sc_c : {std::uint8_t{0x01}, std::uint8_t{0xFF}}) {
    Exchange exchange(bench, check, connected_queue(bench), DhGroup::ffdhe2048);
    exchange.negotiate.sc_c = sc_c;
    exchange.refused(encoded(exchange.negotiate), {AuthFailure::secure_channel_mismatch, AuthFailure::incorrect_payload});
  }
}

CONFORMANCE_CASE(auth_refuses_secure_channel_on_io_queues, "auth.controller.negotiate.secure-channel-io", roles::controller,
                 authenticates{&demanding}, reaches{"subsystem.auth.failed"}) {
  RawAssociation& association = bench.associate();
  host::RawQueue& queue = association.io_transport();
  check.precondition_success(queue.send(association.io_connect()).wait(), "Connect of the I/O queue");
  Exchange exchange(bench, check, queue, DhGroup::ffdhe2048);
  exchange.negotiate.sc_c = static_cast<std::uint8_t>(auth::SecureChannel::new_tls_psk);
  exchange.refused(encoded(exchange.negotiate), {AuthFailure::secure_channel_mismatch});
}

CONFORMANCE_CASE(auth_takes_a_secure_channel_only_where_it_may, "auth.controller.negotiate.secure-channel-io", roles::controller,
                 arranged{"a subsystem that makes keys for TLS", &making_keys}, reaches{"subsystem.auth.failed"}, over_tcp) {
  using auth::SecureChannel;
  const auto refuses = [&](host::RawQueue& queue, SecureChannel channel) {
    Exchange exchange(bench, check, queue, DhGroup::ffdhe2048);
    exchange.negotiate.sc_c = static_cast<std::uint8_t>(channel);
    exchange.refused(encoded(exchange.negotiate), {AuthFailure::secure_channel_mismatch});
  };
  bench.step("REPLACETLSPSK on an admin queue without TLS");
  refuses(connected_queue(bench), SecureChannel::replace_tls_psk);
  for (const SecureChannel channel : {SecureChannel::new_tls_psk, SecureChannel::replace_tls_psk}) {
    bench.step(channel == SecureChannel::new_tls_psk ? "NEWTLSPSK on an I/O queue" : "REPLACETLSPSK on an I/O queue");
    RawAssociation& association = bench.associate({.enable = false, .authenticate = false});
    Exchange(bench, check, association.admin()).run();
    association.enable();
    host::RawQueue& queue = association.io_transport();
    check.precondition_success(queue.send(association.io_connect()).wait(), "Connect of the I/O queue");
    refuses(queue, channel);
    association.admin().disconnect();
    bench.world().run_for(1_s);
  }
}

CONFORMANCE_CASE(auth_refuses_null_group_for_secure_channel, "auth.controller.negotiate.secure-channel-null", roles::controller,
                 arranged{"a subsystem that makes keys for TLS", &making_keys}, reaches{"subsystem.auth.failed"}, over_tcp) {
  Exchange exchange(bench, check, connected_queue(bench));
  exchange.negotiate.sc_c = static_cast<std::uint8_t>(auth::SecureChannel::new_tls_psk);
  exchange.negotiate.protocols[0].groups = ids({DhGroup::null, DhGroup::ffdhe2048});
  exchange.refused(encoded(exchange.negotiate), {AuthFailure::group_not_usable});
}

CONFORMANCE_CASE(auth_refuses_truncated_negotiate, "auth.controller.negotiate.truncated", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  Exchange exchange(bench, check, connected_queue(bench));
  Bytes message = encoded(exchange.negotiate);
  message[7] = 2;  // NAPD: the second descriptor is not there
  exchange.refused(message, {AuthFailure::incorrect_payload});
}

CONFORMANCE_CASE(auth_refuses_overlong_list, "auth.controller.negotiate.list-length", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  // HALEN and DHLEN: there is room for 30.
  for (const std::size_t place : {std::size_t{8 + 2}, std::size_t{8 + 3}}) {
    for (const unsigned length : {31u, 0xFFu}) {
      Exchange exchange(bench, check, connected_queue(bench));
      Bytes message = encoded(exchange.negotiate);
      message[place] = static_cast<std::uint8_t>(length);
      exchange.refused(message, {AuthFailure::incorrect_payload, AuthFailure::hash_not_usable, AuthFailure::group_not_usable,
                                 AuthFailure::protocol_not_usable});
    }
  }
}

CONFORMANCE_CASE(auth_uses_second_descriptor, "auth.controller.negotiate.second-descriptor", roles::controller, authenticates{&demanding}) {
  Exchange exchange(bench, check, connected_queue(bench));
  fabrics::AuthProtocol other = exchange.negotiate.protocols[0];
  other.authid = kReserved;
  exchange.negotiate.protocols.insert(exchange.negotiate.protocols.begin(), other);
  exchange.run();
}

CONFORMANCE_CASE(auth_works_with_sha_256, "auth.controller.support.sha-256", roles::controller, authenticates{&demanding}) {
  complete_with(bench, check, AuthHash::sha_256, {});
}

CONFORMANCE_CASE(auth_works_with_ffdhe2048, "auth.controller.support.ffdhe2048", roles::controller, authenticates{&demanding}) {
  complete_with(bench, check, AuthHash::sha_256, DhGroup::ffdhe2048);
}

CONFORMANCE_CASE(auth_works_with_ffdhe3072, "auth.controller.support.ffdhe3072", roles::controller, authenticates{&demanding}) {
  complete_with(bench, check, AuthHash::sha_256, DhGroup::ffdhe3072);
}

// ---- the Challenge ----

CONFORMANCE_CASE(auth_chooses_an_offered_hash, "auth.controller.challenge.hash", roles::controller, authenticates{&demanding}) {
  for (const std::uint8_t hash : {std::uint8_t{1}, std::uint8_t{2}}) {
    Exchange exchange(bench, check, connected_queue(bench));
    exchange.negotiate.protocols[0].hashes = {hash, 1};
    exchange.get_challenge();
    check.that(among(exchange.challenge.hash, exchange.negotiate.protocols[0].hashes), "HashID is one of those offered",
               words(exchange.challenge.hash));
  }
}

CONFORMANCE_CASE(auth_chooses_an_offered_group, "auth.controller.challenge.group", roles::controller, authenticates{&demanding}) {
  for (const DhGroup group : {DhGroup::null, DhGroup::ffdhe2048, DhGroup::ffdhe3072}) {
    Exchange exchange(bench, check, connected_queue(bench), group);
    exchange.get_challenge();
    check.equal("DHgID, where one was offered", exchange.challenge.group, static_cast<std::uint8_t>(group));
  }
}

CONFORMANCE_CASE(auth_challenge_names_its_transaction, "auth.controller.challenge.t-id", roles::controller, authenticates{&demanding}) {
  for (const std::uint16_t t_id : {std::uint16_t{0}, std::uint16_t{0x1234}, std::uint16_t{0xFFFF}}) {
    Exchange exchange(bench, check, connected_queue(bench));
    exchange.negotiate.t_id = t_id;
    check.equal("T_ID", exchange.get_challenge().t_id, t_id);
  }
}

CONFORMANCE_CASE(auth_challenge_has_the_length_of_its_hash, "auth.controller.challenge.hl", roles::controller, authenticates{&demanding}) {
  Exchange exchange(bench, check, connected_queue(bench));
  const AuthChallenge& challenge = exchange.get_challenge();
  check.equal("HL", challenge.hl, static_cast<std::uint8_t>(reference::hash_bytes(challenge.hash)));
}

CONFORMANCE_CASE(auth_challenge_has_a_sequence_number, "auth.controller.challenge.seqnum", roles::controller, authenticates{&demanding}) {
  Exchange exchange(bench, check, connected_queue(bench));
  check.that(exchange.get_challenge().seqnum != 0, "S1 is not 0");
}

CONFORMANCE_CASE(auth_sequence_numbers_move, "auth.controller.challenge.seqnum-moves", roles::controller, authenticates{&demanding}) {
  Exchange first(bench, check, connected_queue(bench)), second(bench, check, connected_queue(bench));
  const std::uint32_t one = first.get_challenge().seqnum;
  const std::uint32_t two = second.get_challenge().seqnum;
  check.that(one != two, "S1 of two transactions differs", "both have " + words(one));
}

CONFORMANCE_CASE(auth_challenges_are_fresh, "auth.controller.challenge.fresh", roles::controller, authenticates{&demanding}) {
  std::vector<Bytes> seen;
  for (int i = 0; i < 4; ++i) {
    Exchange exchange(bench, check, connected_queue(bench));
    exchange.get_challenge();
    const bool repeated = std::find(seen.begin(), seen.end(), exchange.challenge.challenge) != seen.end();
    check.that(!repeated, "C1 of every transaction is new");
    seen.push_back(exchange.challenge.challenge);
  }
}

CONFORMANCE_CASE(auth_challenge_has_a_dh_value_of_the_group, "auth.controller.challenge.dh-length", roles::controller,
                 authenticates{&demanding}) {
  Exchange exchange(bench, check, connected_queue(bench), DhGroup::ffdhe2048);
  const std::size_t length = exchange.get_challenge().dh_value.size();
  check.that(length != 0, "DHVLEN is not 0 with a DH group");
  check.equal("DHVLEN modulo 4", length % 4, 0u);
}

CONFORMANCE_CASE(auth_challenge_of_null_group_has_no_dh_value, "auth.controller.challenge.dh-null", roles::controller,
                 authenticates{&demanding}) {
  Exchange exchange(bench, check, connected_queue(bench), DhGroup::null);
  check.equal("DHVLEN with the NULL group", exchange.get_challenge().dh_value.size(), 0u);
}

CONFORMANCE_CASE(auth_challenge_has_a_usable_dh_value, "auth.controller.challenge.dh-value", roles::controller, authenticates{&demanding}) {
  Exchange exchange(bench, check, connected_queue(bench), DhGroup::ffdhe2048);
  exchange.get_challenge();
  check.that(usable_dh_value(1, exchange.challenge.dh_value), "the DH value is none of 0, 1 and p - 1, and below p");
}

CONFORMANCE_CASE(auth_challenge_leaves_reserved_bytes_zero, "auth.controller.challenge.reserved", roles::controller,
                 authenticates{&demanding}) {
  Exchange exchange(bench, check, connected_queue(bench));
  exchange.say(encoded(exchange.negotiate));
  const Bytes message = exchange.ask();
  check.require(decoded<AuthChallenge>(message).has_value(), "a Challenge");
  const auto at = first_reserved_set<fabrics::AuthChallengeHead>(message);
  check.that(!at.has_value(), "reserved bytes are 0", at ? "byte " + std::to_string(*at) : "");
}

}  // namespace fb::conformance
