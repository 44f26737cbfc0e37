// The Reply, what follows a good one, and how a transaction fails.
#include "conformance/cases/auth/common.h"
#include "wire/fabrics/connect.h"

namespace fb::conformance {

using namespace auth_cases;

namespace {

/// Runs up to the Reply, alters it, and expects a Failure1 for one of the reasons.
void refuses_reply(ControllerBench& bench, Check& check, std::optional<DhGroup> group, const std::function<void(Exchange&)>& alter,
                   std::initializer_list<AuthFailure> reasons) {
  Exchange exchange(bench, check, connected_queue(bench), group);
  exchange.get_challenge();
  exchange.make_reply();
  alter(exchange);
  exchange.refused(encoded(exchange.reply), reasons);
}

/// A DH value that may not be, with the g^xy that follows from it: only the value speaks against it.
void refuses_dh_value(ControllerBench& bench, Check& check, const Bytes& value, const Bytes& shared) {
  refuses_reply(bench, check, DhGroup::ffdhe2048,
                [&](Exchange& exchange) {
                  exchange.reply.dh_value = value;
                  exchange.set_shared(shared);
                  exchange.sign();
                },
                {AuthFailure::incorrect_payload});
}

constexpr std::size_t kGroupBytes = 256;

}  // namespace

CONFORMANCE_CASE(auth_refuses_wrong_response, "auth.controller.reply.response", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  refuses_reply(bench, check, {}, [](Exchange& e) { e.reply.response[0] ^= 0x80; }, {AuthFailure::failed});
}

CONFORMANCE_CASE(auth_refuses_wrong_response_with_group, "auth.controller.reply.response-dh", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  refuses_reply(bench, check, DhGroup::ffdhe2048,
                [](Exchange& e) {
                  // R1 over C1 itself, as if there were no group.
                  reference::Response plain = e.first_response();
                  plain.shared.clear();
                  e.reply.response = plain.of_host();
                },
                {AuthFailure::failed});
}

CONFORMANCE_CASE(auth_refuses_reply_of_another_length, "auth.controller.reply.hl", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  refuses_reply(bench, check, {},
                [](Exchange& e) {
                  e.reply.hl = static_cast<std::uint8_t>(e.reply.hl - 4);
                  e.reply.response.resize(e.reply.hl);
                  e.reply.challenge.resize(e.reply.hl);
                },
                {AuthFailure::incorrect_payload});
}

CONFORMANCE_CASE(auth_refuses_reply_of_another_transaction, "auth.controller.reply.t-id", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  refuses_reply(bench, check, {}, [](Exchange& e) { ++e.reply.t_id; }, {AuthFailure::incorrect_payload, AuthFailure::incorrect_message});
}

CONFORMANCE_CASE(auth_refuses_truncated_reply, "auth.controller.reply.truncated", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  for (const std::optional<DhGroup> group : {std::optional<DhGroup>{}, std::optional{DhGroup::ffdhe2048}}) {
    for (const std::size_t missing : {8u, 4u}) {
      Exchange exchange(bench, check, connected_queue(bench), group);
      exchange.get_challenge();
      Bytes message = encoded(exchange.make_reply());
      message.resize(message.size() - missing);
      exchange.refused(message, {AuthFailure::incorrect_payload});
    }
  }
}

CONFORMANCE_CASE(auth_refuses_reserved_cvalid, "auth.controller.reply.cvalid", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  refuses_reply(bench, check, {}, [](Exchange& e) { e.reply.cvalid = 0x7F; }, {AuthFailure::incorrect_payload});
}

CONFORMANCE_CASE(auth_refuses_reply_without_dh_value, "auth.controller.reply.dh-missing", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  refuses_dh_value(bench, check, {}, Bytes(kGroupBytes));
}

CONFORMANCE_CASE(auth_refuses_dh_value_of_odd_length, "auth.controller.reply.dh-length", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  refuses_reply(bench, check, DhGroup::ffdhe2048, [](Exchange& e) { e.reply.dh_value.insert(e.reply.dh_value.begin(), std::uint8_t{0}); },
                {AuthFailure::incorrect_payload});
}

CONFORMANCE_CASE(auth_refuses_dh_value_0, "auth.controller.reply.dh-zero", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  refuses_dh_value(bench, check, Bytes(kGroupBytes), Bytes(kGroupBytes));
}

CONFORMANCE_CASE(auth_refuses_dh_value_1, "auth.controller.reply.dh-one", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  refuses_dh_value(bench, check, small_number(kGroupBytes, 1), small_number(kGroupBytes, 1));
}

CONFORMANCE_CASE(auth_refuses_largest_dh_value, "auth.controller.reply.dh-largest", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  // (p - 1)^x is 1 or p - 1: whichever R1 fits, the value alone is reason enough.
  refuses_dh_value(bench, check, largest_dh_value(1), small_number(kGroupBytes, 1));
}

CONFORMANCE_CASE(auth_refuses_its_own_challenge, "auth.controller.reply.c2-equals-c1", roles::controller, authenticates{&demanding},
                 needs{&mutual}, reaches{"subsystem.auth.failed"}) {
  Exchange exchange(bench, check, connected_queue(bench));
  exchange.get_challenge();
  exchange.make_reply(true).challenge = exchange.challenge.challenge;
  exchange.refused(encoded(exchange.reply), {AuthFailure::failed});
}

// ---- order ----

CONFORMANCE_CASE(auth_begins_with_negotiate, "auth.controller.sequence.reply-first", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  Exchange exchange(bench, check, connected_queue(bench));
  exchange.reply.t_id = exchange.negotiate.t_id;
  exchange.reply.hl = 32;
  exchange.reply.response.assign(32, 1);
  exchange.reply.challenge.assign(32, 0);
  exchange.refused(encoded(exchange.reply), {AuthFailure::incorrect_message});
}

CONFORMANCE_CASE(auth_wants_a_reply_to_its_challenge, "auth.controller.sequence.success2-early", roles::controller,
                 authenticates{&demanding}, reaches{"subsystem.auth.failed"}) {
  Exchange exchange(bench, check, connected_queue(bench));
  exchange.get_challenge();
  exchange.refused(encoded(AuthSuccess2{exchange.negotiate.t_id}), {AuthFailure::incorrect_message});
}

CONFORMANCE_CASE(auth_refuses_unknown_messages, "auth.controller.sequence.unknown", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  {
    Exchange exchange(bench, check, connected_queue(bench));
    exchange.get_challenge();
    Bytes message(64, 0);
    message[0] = 0x01;
    message[1] = 0x55;
    store_le<std::uint16_t>(message.data() + 4, exchange.negotiate.t_id);
    exchange.refused(message, {AuthFailure::incorrect_message});
  }
  // A Reply that is good but for AUTH_TYPE.
  for (const std::uint8_t type : {std::uint8_t{0x00}, std::uint8_t{0x02}, std::uint8_t{0xFF}}) {
    Exchange exchange(bench, check, connected_queue(bench));
    exchange.get_challenge();
    Bytes message = encoded(exchange.make_reply());
    message[0] = type;
    exchange.refused(message, {AuthFailure::incorrect_message, AuthFailure::incorrect_payload});
  }
}

// ---- failure ----

CONFORMANCE_CASE(auth_failure_names_its_transaction, "auth.controller.failure.t-id", roles::controller, authenticates{&demanding}) {
  Exchange exchange(bench, check, connected_queue(bench));
  exchange.get_challenge();
  exchange.make_reply().response[3] ^= 1;
  exchange.say(encoded(exchange.reply));
  const auto report = decoded<AuthFailureReport>(exchange.ask());
  check.require(report.has_value(), "an AUTH_Failure1");
  check.equal("T_ID", report->t_id, exchange.negotiate.t_id);
}

CONFORMANCE_CASE(auth_failure_has_the_one_reason_code, "auth.controller.failure.rcode", roles::controller, authenticates{&demanding}) {
  Exchange exchange(bench, check, connected_queue(bench));
  exchange.negotiate.protocols[0].hashes = {0x55};
  exchange.say(encoded(exchange.negotiate));
  const auto report = decoded<AuthFailureReport>(exchange.ask());
  check.require(report.has_value(), "an AUTH_Failure1");
  check.equal("RCODE", report->rcode, fabrics::kAuthFailureReason);
}

CONFORMANCE_CASE(auth_failure_ends_the_connection, "auth.controller.failure.disconnect", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  Exchange exchange(bench, check, connected_queue(bench));
  exchange.get_challenge();
  exchange.make_reply().response[3] ^= 1;
  exchange.refused(encoded(exchange.reply), {AuthFailure::failed});
  exchange.expect_end("the connection ends after AUTH_Failure1");
  // Likewise on each I/O queue, of an association of its own, which may end with it.
  constexpr std::uint16_t kQueues = 3;
  for (std::uint16_t qid = 1; qid <= kQueues; ++qid) {
    RawAssociation& association = bench.associate();
    host::RawQueue& queue = association.io_transport(qid);
    const host::RawReply connected = queue.send(association.io_connect(qid)).wait();
    if (!connected.ok() || connected.as<fabrics::ConnectReply>().get(fabrics::connect_reply::authreq) == 0) break;
    Exchange own(bench, check, queue);
    own.get_challenge();
    own.make_reply().response[3] ^= 1;
    own.refused(encoded(own.reply), {AuthFailure::failed});
    own.expect_end("the connection of I/O queue " + std::to_string(qid) + " ends after AUTH_Failure1");
  }
}

CONFORMANCE_CASE(auth_failure2_ends_the_connection, "auth.controller.failure.failure2", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  Exchange exchange(bench, check, connected_queue(bench));
  exchange.get_challenge();
  AuthFailureReport report{true, exchange.negotiate.t_id};
  report.rcodeex = static_cast<std::uint8_t>(AuthFailure::incorrect_payload);
  exchange.send(encoded(report));
  exchange.expect_end("the connection ends after AUTH_Failure2");
}

// ---- success ----

CONFORMANCE_CASE(auth_success_names_its_transaction, "auth.controller.success.t-id", roles::controller, authenticates{&demanding}) {
  Exchange exchange(bench, check, connected_queue(bench));
  check.equal("T_ID", exchange.run().t_id, exchange.negotiate.t_id);
}

CONFORMANCE_CASE(auth_success_has_the_length_of_the_hash, "auth.controller.success.hl", roles::controller, authenticates{&demanding}) {
  Exchange exchange(bench, check, connected_queue(bench));
  const AuthSuccess1 success = exchange.run();
  check.equal("HL", success.hl, exchange.challenge.hl);
}

CONFORMANCE_CASE(auth_success_responds_to_no_one_unasked, "auth.controller.success.rvalid", roles::controller, authenticates{&demanding}) {
  Exchange exchange(bench, check, connected_queue(bench));
  check.equal("RVALID, where CVALID was 0", exchange.run().rvalid, 0u);
}

CONFORMANCE_CASE(auth_controller_responds_when_asked, "auth.controller.mutual.rvalid", roles::controller, authenticates{&demanding},
                 needs{&mutual}) {
  Exchange exchange(bench, check, connected_queue(bench));
  check.equal("RVALID, where CVALID was 1", exchange.run(true).rvalid, 1u);
}

CONFORMANCE_CASE(auth_controller_response_is_right, "auth.controller.mutual.response", roles::controller, authenticates{&demanding},
                 needs{&mutual}) {
  for (const DhGroup group : {DhGroup::null, DhGroup::ffdhe2048}) {
    Exchange exchange(bench, check, connected_queue(bench), group);
    const AuthSuccess1 success = exchange.run(true);
    check.bytes("R2", success.response, exchange.expected_response());
  }
}

CONFORMANCE_CASE(auth_controller_waits_for_success2, "auth.controller.mutual.success2", roles::controller, authenticates{&demanding},
                 needs{&mutual}) {
  Exchange exchange(bench, check, connected_queue(bench));
  exchange.get_challenge();
  exchange.make_reply(true);
  exchange.get_success1();
  // Anything but Success2 (or Failure2) is not the next message.
  exchange.refused(encoded(exchange.reply), {AuthFailure::incorrect_message});
}

CONFORMANCE_CASE(auth_controller_takes_failure2_for_success2, "auth.controller.mutual.failure2", roles::controller,
                 authenticates{&demanding}, needs{&mutual}, reaches{"subsystem.auth.failed"}) {
  Exchange exchange(bench, check, connected_queue(bench));
  exchange.get_challenge();
  exchange.make_reply(true);
  exchange.get_success1();
  AuthFailureReport report{true, exchange.negotiate.t_id};
  report.rcodeex = static_cast<std::uint8_t>(AuthFailure::failed);
  exchange.send(encoded(report));
  exchange.expect_end("the connection ends when the host does not accept R2");
}

CONFORMANCE_CASE(auth_opens_the_queue_both_ways, "auth.controller.mutual.commands", roles::controller, authenticates{&demanding},
                 needs{&mutual}, reaches{"subsystem.auth.done"}) {
  Exchange exchange(bench, check, connected_queue(bench), DhGroup::ffdhe2048);
  exchange.run(true);
  check.success(exchange.queue().send(host::property_get(fabrics::property::vs)).wait(), "Property Get after bidirectional authentication");
}

}  // namespace fb::conformance
