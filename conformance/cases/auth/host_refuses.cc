// What a host does not take from a controller, and what it does then.
#include "conformance/cases/auth/host_common.h"
#include "conformance/runner/embedded_controller.h"

namespace fb::conformance {

using namespace auth_cases;

namespace {

using C = AuthChallenge;
using S = AuthSuccess1;
constexpr auto kPayload = AuthFailure::incorrect_payload;
constexpr auto kMessage = AuthFailure::incorrect_message;
constexpr auto kFailed = AuthFailure::failed;

}  // namespace

CONFORMANCE_CASE(host_refuses_another_transaction, "auth.host.refuses.t-id", roles::host, host_with{"dhchap", &host_with_secret},
                 reaches{"subsystem.auth.failed"}) {
  expect_failure2(bench, check, changing<C>([](C& c) { ++c.t_id; }), {kPayload, kMessage});
  for (const unsigned bit : {7u, 8u, 15u}) {
    bench.product().disconnect().wait_for(30_s);
    bench.forget_seen();
    const auto flip = [bit](C& c) { c.t_id = static_cast<std::uint16_t>(c.t_id ^ 1u << bit); };
    expect_failure2(bench, check, changing<C>(flip), {kPayload, kMessage});
  }
}

CONFORMANCE_CASE(host_refuses_success_of_another_transaction, "auth.host.refuses.t-id", roles::host,
                 host_with{"dhchap", &host_with_secret}) {
  for (const unsigned bit : {0u, 7u, 8u, 15u}) {
    const auto flip = [bit](S& s) { s.t_id = static_cast<std::uint16_t>(s.t_id ^ 1u << bit); };
    // The controller is content by then: what counts is that the host is not.
    expect_failure2(bench, check, changing<S>(flip), {kPayload, kMessage});
    bench.product().disconnect().wait_for(30_s);
    bench.forget_seen();
  }
}

CONFORMANCE_CASE(host_refuses_challenge_of_another_length, "auth.host.refuses.hl", roles::host, host_with{"dhchap", &host_with_secret},
                 reaches{"subsystem.auth.failed"}) {
  expect_failure2(bench, check, changing<C>([](C& c) { c.hl = 20; }), {kPayload});
}

CONFORMANCE_CASE(host_refuses_hash_that_it_did_not_offer, "auth.host.refuses.hash", roles::host,
                 arranged{"a host that offers SHA-256",
                          [](EmbeddedSetup& setup) {
                            host_with_secret(setup);
                            setup.connect.authentication.hashes = {AuthHash::sha_256};
                          }},
                 reaches{"subsystem.auth.failed"}) {
  const auto other = [](C& c) {
    c.hash = static_cast<std::uint8_t>(AuthHash::sha_384);
    c.hl = 48;
    c.challenge.resize(48, 0x42);
  };
  expect_failure2(bench, check, changing<C>(other), {kPayload, AuthFailure::hash_not_usable});
}

CONFORMANCE_CASE(host_refuses_group_that_it_did_not_offer, "auth.host.refuses.group", roles::host,
                 arranged{"a host that offers 2048 bits", &host_with_group}, reaches{"subsystem.auth.failed"}) {
  const auto other = [](C& c) {
    c.group = static_cast<std::uint8_t>(DhGroup::null);
    c.dh_value.clear();
  };
  expect_failure2(bench, check, changing<C>(other), {kPayload, AuthFailure::group_not_usable});
}

CONFORMANCE_CASE(host_refuses_sequence_number_0, "auth.host.refuses.seqnum", roles::host, host_with{"dhchap", &host_with_secret},
                 reaches{"subsystem.auth.failed"}) {
  expect_failure2(bench, check, changing<C>([](C& c) { c.seqnum = 0; }), {kPayload});
}

CONFORMANCE_CASE(host_refuses_challenge_without_dh_value, "auth.host.refuses.dh-missing", roles::host,
                 host_with{"dhchap", &host_with_group}, reaches{"subsystem.auth.failed"}) {
  expect_failure2(bench, check, changing<C>([](C& c) { c.dh_value.clear(); }), {kPayload});
}

CONFORMANCE_CASE(host_refuses_dh_value_0, "auth.host.refuses.dh-zero", roles::host, host_with{"dhchap", &host_with_group},
                 reaches{"subsystem.auth.failed"}) {
  expect_failure2(bench, check, changing<C>([](C& c) { c.dh_value.assign(256, 0); }), {kPayload});
}

CONFORMANCE_CASE(host_refuses_dh_value_1, "auth.host.refuses.dh-one", roles::host, host_with{"dhchap", &host_with_group},
                 reaches{"subsystem.auth.failed"}) {
  expect_failure2(bench, check, changing<C>([](C& c) { c.dh_value = small_number(256, 1); }), {kPayload});
}

CONFORMANCE_CASE(host_refuses_largest_dh_value, "auth.host.refuses.dh-largest", roles::host, host_with{"dhchap", &host_with_group},
                 reaches{"subsystem.auth.failed"}) {
  const auto largest = [](C& c) { c.dh_value = largest_dh_value(1); };
  expect_failure2(bench, check, changing<C>(largest), {kPayload});
}

CONFORMANCE_CASE(host_refuses_truncated_challenge, "auth.host.refuses.truncated", roles::host, host_with{"dhchap", &host_with_secret},
                 reaches{"subsystem.auth.failed"}) {
  const auto beyond = [](Bytes& bytes) {
    // DHVLEN says more than fits into any message.
    if (decoded<C>(bytes)) store_le<std::uint16_t>(bytes.data() + 10, 0xFFFC);
  };
  expect_failure2(bench, check, beyond, {kPayload});
}

CONFORMANCE_CASE(host_refuses_success_instead_of_challenge, "auth.host.refuses.order", roles::host, host_with{"dhchap", &host_with_secret},
                 reaches{"subsystem.auth.failed"}) {
  const auto early = [](Bytes& bytes) {
    if (const auto challenge = decoded<C>(bytes)) bytes = encoded(S{challenge->t_id, 32, 0, Bytes(32)});
  };
  expect_failure2(bench, check, early, {kMessage});
  bench.product().disconnect().wait_for(30_s);
  bench.forget_seen();
  // The other way round, behind its Reply.
  Bytes first;
  const auto again = [&](Bytes& bytes) {
    if (decoded<C>(bytes)) first = bytes;
    if (decoded<S>(bytes) && !first.empty()) bytes = first;
  };
  expect_failure2(bench, check, again, {kMessage});
}

CONFORMANCE_CASE(host_refuses_success_of_another_length, "auth.host.refuses.success1-hl", roles::host,
                 host_with{"dhchap", &host_with_secret}) {
  // The controller is content by then: what counts is that the host is not.
  expect_failure2(bench, check, changing<S>([](S& s) { s.hl = 20; }), {kPayload});
}

CONFORMANCE_CASE(host_refuses_wrong_response, "auth.host.refuses.response", roles::host, host_with{"dhchap", &mutual_host}) {
  expect_failure2(bench, check, changing<S>([](S& s) { s.response[7] ^= 0x10; }), {kFailed});
}

CONFORMANCE_CASE(host_refuses_silence_of_the_controller, "auth.host.refuses.no-response", roles::host, host_with{"dhchap", &mutual_host}) {
  const auto mute = [](S& s) {
    s.rvalid = 0;
    s.response.assign(s.response.size(), 0);
  };
  expect_failure2(bench, check, changing<S>(mute), {kFailed, kPayload});
}

// ---- and then ----

CONFORMANCE_CASE(host_says_why_it_refuses, "auth.host.failure.failure2", roles::host, host_with{"dhchap", &host_with_secret}) {
  ControllerSays says(bench, changing<C>([](C& c) { c.seqnum = 0; }));
  bench.product().connect({}).wait_for(30_s);
  check.precondition(!says.messages.empty(), "the host fetches the Challenge");
  check.precondition(host_messages<AuthReply>(bench).empty(), "the host refuses it");
  check.that(!host_messages<AuthFailureReport>(bench).empty(), "AUTH_Failure2 follows", "the host says nothing");
}

CONFORMANCE_CASE(host_leaves_after_its_refusal, "auth.host.failure.disconnect", roles::host, host_with{"dhchap", &host_with_secret}) {
  ControllerSays says(bench, changing<C>([](C& c) { c.seqnum = 0; }));
  bench.script.departs = [](std::string_view point) { return point == auth::point::failure_stays; };
  bench.product().connect({}).wait_for(30_s);
  check.precondition(!host_messages<AuthFailureReport>(bench).empty(), "the host refuses");
  const auto gone = [&] {
    for (const auto& [id, controller] : bench.subsystem().controllers()) {
      if (controller->in_association()) return false;
    }
    return true;
  };
  bench.run_until(gone, kEndSoon);
  check.that(gone(), "the host ends the connection", "it is still there");
  expect_nothing_else(bench, check);
}

CONFORMANCE_CASE(host_stops_at_failure1, "auth.host.failure.failure1", roles::host,
                 host_with{"dhchap",
                           [](EmbeddedSetup& setup) {
                             host_with_secret(setup);
                             setup.connect.authentication.secret = auth::Secret(Bytes(32, 1), std::nullopt);
                           }},
                 reaches{"subsystem.auth.failed"}) {
  const auto outcome = bench.product().connect({}).wait_for(30_s);
  check.precondition(!host_messages<AuthReply>(bench).empty(), "the host replies");
  check.that(!outcome || !outcome->ok, "the host does not connect");
  expect_nothing_else(bench, check);
  check.between<std::size_t>("attempts in half a minute", bench.fabrics_commands(kConnect).size(), 1, 5);
}

}  // namespace fb::conformance
