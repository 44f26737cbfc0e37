// What a host says when it is asked to authenticate.
#include "conformance/cases/auth/host_common.h"
#include "conformance/runner/embedded_controller.h"

namespace fb::conformance {

using namespace auth_cases;

namespace {

/// Lets the host connect as far as it gets; what it said is judged.
void let_it_try(HostBench& bench) { bench.product().connect({}).wait_for(30_s); }

std::vector<const SeenCommand*> auth_commands(HostBench& bench, Check& check) {
  std::vector<const SeenCommand*> found;
  for (const SeenCommand& seen : bench.commands()) {
    if (seen.fctype() == kSend || seen.fctype() == kReceive) found.push_back(&seen);
  }
  check.precondition(!found.empty(), "the host sends authentication commands");
  return found;
}

/// Identifiers that no revision can give a meaning: the lists end before them, and 00h is no hash.
constexpr std::uint8_t kNoHash = 0x00;
constexpr std::uint8_t kNeverAnId = 0xFF;

/// Base 2.4 (TP4201) has more groups than the text whose rules these are.
bool is_group_of_base_2_4(std::uint8_t id) { return (id & 0x0F) <= 1 && id >= 0x10 && id <= 0x31; }

/// A revision newer than the ledger may have given a meaning to what it knows as reserved.
template <class Known>
void expect_known(Check& check, std::string_view what, const std::vector<std::uint8_t>& ids, Known known) {
  constexpr std::uint8_t kFirstOfVendors = 0xE0;
  for (const std::uint8_t id : ids) {
    if (id >= kFirstOfVendors || known(id)) continue;
    check.inconclusive(std::string(what) + " " + words(id) + " is reserved up to Base 2.4; a newer revision may define it");
  }
}

/// AUTHREQ of every Connect response.
void announce(HostBench& bench, std::uint16_t authreq) {
  bench.script.completion = [authreq](const CommandContext& command, MutableBytes cqe) {
    if (command.sqe[0] == 0x7F && command.sqe[4] == kConnect) {
      store_le<std::uint16_t>(cqe.data() + 2, authreq);
    }
    return Answer::send;
  };
}

}  // namespace

CONFORMANCE_CASE(host_without_secret_stops, "auth.host.demand.no-secret", roles::host, furnished{&demanding}) {
  const auto outcome = bench.product().connect({}).wait_for(30_s);
  check.that(!outcome || !outcome->ok, "the host reports that it did not connect");
  expect_nothing_else(bench, check);
}

CONFORMANCE_CASE(host_authenticates_before_anything_else, "auth.host.demand.first", roles::host, host_with{"dhchap", &host_with_secret}) {
  let_it_try(bench);
  const auto admin = bench.commands(0);
  check.precondition(!host_messages<AuthReply>(bench).empty(), "the host replies to a Challenge");
  // Up to the Receive that brings Success1.
  unsigned receives = 0;
  for (const SeenCommand* seen : admin) {
    if (receives == 2) break;
    if (seen->fctype() == kReceive) ++receives;
    const bool allowed = seen->fctype() == kConnect || seen->fctype() == kSend || seen->fctype() == kReceive;
    check.that(allowed, "nothing but authentication before its end",
               "opcode " + words(seen->opcode()) + ", FCTYPE " + words(seen->fctype()));
  }
  check.equal("Authentication Receive commands", receives, 2u);
}

CONFORMANCE_CASE(host_authenticates_its_admin_queue, "auth.host.demand.admin-queue", roles::host, host_with{"dhchap", &host_with_secret}) {
  const auto outcome = bench.product().connect({}).wait_for(30_s);
  check.that(outcome && outcome->ok, "the host connects", outcome ? outcome->text : "no outcome");
  check.that(!host_messages<AuthNegotiate>(bench, 0).empty(), "AUTH_Negotiate on the admin queue");
}

CONFORMANCE_CASE(host_authenticates_each_io_queue, "auth.host.demand.io-queue", roles::host, host_with{"dhchap", &host_with_secret}) {
  bench.product().connect({.io_queues = 2}).wait_for(30_s);
  check.precondition(!host_messages<AuthNegotiate>(bench, 0).empty(), "the host authenticates");
  for (const std::uint16_t qid : {std::uint16_t{1}, std::uint16_t{2}}) {
    check.precondition(!bench.commands(qid).empty(), "I/O queues connect");
    // More than one where the host made more than one association.
    check.that(!host_messages<AuthReply>(bench, qid).empty(), "a transaction on I/O queue " + std::to_string(qid), "there was none");
  }
}

CONFORMANCE_CASE(host_has_no_tls_to_offer, "auth.host.demand.secure-channel", roles::host, host_with{"dhchap", &host_with_secret}) {
  announce(bench, fabrics::authreq_bits::secure_channel);
  const auto outcome = bench.product().connect({}).wait_for(30_s);
  check.that(!outcome || !outcome->ok, "the host does not connect", "it connected");
  check.that(said_by_host(bench).empty(), "the host begins no transaction that it cannot finish");
  expect_nothing_else(bench, check);
}

CONFORMANCE_CASE(host_names_the_security_protocol, "auth.host.command.secp", roles::host, host_with{"dhchap", &host_with_secret}) {
  let_it_try(bench);
  for (const SeenCommand* seen : auth_commands(bench, check)) {
    check.equal("SECP", seen->as<fabrics::AuthSqe>().get(fabrics::auth_sqe::secp), fabrics::kNvmeSecurityProtocol);
  }
}

CONFORMANCE_CASE(host_sets_the_specific_fields, "auth.host.command.spsp", roles::host, host_with{"dhchap", &host_with_secret}) {
  let_it_try(bench);
  for (const SeenCommand* seen : auth_commands(bench, check)) {
    const auto sqe = seen->as<fabrics::AuthSqe>();
    check.equal("SPSP0", sqe.get(fabrics::auth_sqe::spsp0), fabrics::kNvmeSecuritySpecific);
    check.equal("SPSP1", sqe.get(fabrics::auth_sqe::spsp1), fabrics::kNvmeSecuritySpecific);
  }
}

CONFORMANCE_CASE(host_says_how_long_its_message_is, "auth.host.command.length", roles::host, host_with{"dhchap", &host_with_secret}) {
  let_it_try(bench);
  for (const SeenCommand* seen : auth_commands(bench, check)) {
    const std::uint32_t length = seen->as<fabrics::AuthSqe>().get(fabrics::auth_sqe::length);
    const std::uint32_t least = seen->fctype() == kSend ? 8u : 16u;
    check.that(length >= least, seen->fctype() == kSend ? "TL covers a message" : "AL has room for a message", words(length));
  }
}

// ---- AUTH_Negotiate ----

CONFORMANCE_CASE(host_offers_known_hashes, "auth.host.negotiate.hashes", roles::host, host_with{"dhchap", &host_with_secret}) {
  let_it_try(bench);
  const auto negotiate = first_message<AuthNegotiate>(bench, check, "an AUTH_Negotiate arrives");
  check.require(!negotiate.protocols.empty(), "a protocol descriptor");
  const auto& hashes = negotiate.protocols.front().hashes;
  check.between<std::size_t>("HALEN", hashes.size(), 1, fabrics::kAuthListMax);
  for (const std::uint8_t id : hashes) {
    check.that(id != kNoHash && id != kNeverAnId, "HashID is none that is reserved", words(id));
  }
  expect_known(check, "hash", hashes, [](std::uint8_t id) { return id <= 3; });
}

CONFORMANCE_CASE(host_offers_known_groups, "auth.host.negotiate.groups", roles::host, host_with{"dhchap", &host_with_secret}) {
  let_it_try(bench);
  const auto negotiate = first_message<AuthNegotiate>(bench, check, "an AUTH_Negotiate arrives");
  check.require(!negotiate.protocols.empty(), "a protocol descriptor");
  const auto& groups = negotiate.protocols.front().groups;
  check.between<std::size_t>("DHLEN", groups.size(), 1, fabrics::kAuthListMax);
  for (const std::uint8_t id : groups) {
    check.that(id != kNeverAnId, "DHgID is none that is reserved", words(id));
  }
  expect_known(check, "DH group", groups, [](std::uint8_t id) { return id <= 5 || is_group_of_base_2_4(id); });
}

CONFORMANCE_CASE(host_offers_this_protocol, "auth.host.negotiate.protocol", roles::host, host_with{"dhchap", &host_with_secret}) {
  let_it_try(bench);
  const auto negotiate = first_message<AuthNegotiate>(bench, check, "an AUTH_Negotiate arrives");
  check.require(!negotiate.protocols.empty(), "NAPD is at least 1", "0");
  // Others may stand beside it.
  const bool offered = std::ranges::any_of(negotiate.protocols, [](const auto& protocol) {
    return protocol.authid == static_cast<std::uint8_t>(fabrics::AuthProtocolId::dh_hmac_chap);
  });
  check.that(offered, "AuthID 01h is among the descriptors", words(negotiate.protocols.front().authid));
}

CONFORMANCE_CASE(host_sends_every_descriptor, "auth.host.negotiate.descriptors", roles::host, host_with{"dhchap", &host_with_secret}) {
  let_it_try(bench);
  const auto said = said_by_host(bench);
  check.precondition(!said.empty() && said.front().size() >= fabrics::AuthNegotiateHead::size, "an AUTH_Negotiate arrives");
  const std::size_t napd = said.front()[7];
  const std::size_t needed = 8 + napd * fabrics::kAuthProtocolDescriptorBytes;
  check.that(said.front().size() >= needed, "the message holds NAPD descriptors",
             std::to_string(said.front().size()) + " bytes for " + std::to_string(napd));
}

CONFORMANCE_CASE(host_asks_for_no_secure_channel, "auth.host.negotiate.sc-c", roles::host, host_with{"dhchap", &host_with_secret}) {
  let_it_try(bench);
  const auto negotiate = first_message<AuthNegotiate>(bench, check, "an AUTH_Negotiate arrives");
  check.equal("SC_C", negotiate.sc_c, static_cast<std::uint8_t>(auth::SecureChannel::none));
}

CONFORMANCE_CASE(host_leaves_reserved_bytes_zero, "auth.host.negotiate.reserved", roles::host, host_with{"dhchap", &host_with_secret}) {
  let_it_try(bench);
  const auto said = said_by_host(bench);
  check.precondition(!said.empty() && decoded<AuthNegotiate>(said.front()).has_value(), "an AUTH_Negotiate arrives");
  const auto at = first_reserved_set<fabrics::AuthNegotiateHead>(said.front());
  check.that(!at.has_value(), "reserved bytes are 0", at ? "byte " + std::to_string(*at) : "");
}

// ---- Reply ----

CONFORMANCE_CASE(host_keeps_its_transaction, "auth.host.reply.t-id", roles::host, host_with{"dhchap", &host_with_secret}) {
  let_it_try(bench);
  const auto negotiate = first_message<AuthNegotiate>(bench, check, "an AUTH_Negotiate arrives");
  const auto reply = first_message<AuthReply>(bench, check, "a Reply arrives");
  check.equal("T_ID", reply.t_id, negotiate.t_id);
}

CONFORMANCE_CASE(host_reply_has_the_length_of_the_hash, "auth.host.reply.hl", roles::host, host_with{"dhchap", &host_with_secret}) {
  ControllerSays says(bench);
  let_it_try(bench);
  check.precondition(!says.messages.empty(), "the host fetches the Challenge");
  const auto challenge = decoded<AuthChallenge>(says.messages.front());
  check.precondition(challenge.has_value(), "a Challenge was sent");
  check.equal("HL", first_message<AuthReply>(bench, check, "a Reply arrives").hl, challenge->hl);
}

CONFORMANCE_CASE(host_response_is_right, "auth.host.reply.response", roles::host, host_with{"dhchap", &host_with_secret}) {
  ControllerSays says(bench);
  let_it_try(bench);
  const auto negotiate = first_message<AuthNegotiate>(bench, check, "an AUTH_Negotiate arrives");
  const auto reply = first_message<AuthReply>(bench, check, "a Reply arrives");
  const auto challenge = decoded<AuthChallenge>(says.messages.front());
  check.precondition(challenge.has_value() && !bench.fabrics_commands(kConnect).empty(), "a Challenge");
  const View<fabrics::ConnectData> connect{bench.fabrics_commands(kConnect).front()->data};
  const std::string hostnqn = fabrics::terminated_text(connect.get(fabrics::connect_data::hostnqn)).value_or("");
  check.bytes("R1", reply.response,
              reference::Response{challenge->hash,
                                  key_of(host_secret(), hostnqn),
                                  challenge->challenge,
                                  {},
                                  challenge->seqnum,
                                  negotiate.t_id,
                                  negotiate.sc_c,
                                  hostnqn,
                                  bench.nqn()}
                  .of_host());
}

CONFORMANCE_CASE(host_response_is_right_with_a_group, "auth.host.reply.response-dh", roles::host, host_with{"dhchap", &host_with_group}) {
  ControllerSays says(bench);
  const auto outcome = bench.product().connect({}).wait_for(30_s);
  check.precondition(says.messages.size() >= 2, "the host fetches the answer to its Reply");
  check.that(decoded<AuthSuccess1>(says.messages[1]).has_value(), "R1 over the augmented challenge",
             fabrics::describe_auth_message(says.messages[1]));
  check.that(outcome && outcome->ok, "the host connects", outcome ? outcome->text : "no outcome");
}

CONFORMANCE_CASE(host_challenges_nobody_unasked, "auth.host.reply.cvalid", roles::host, host_with{"dhchap", &host_with_secret}) {
  let_it_try(bench);
  const auto reply = first_message<AuthReply>(bench, check, "a Reply arrives");
  check.equal("CVALID", reply.cvalid, 0u);
  check.equal("C2", reply.challenge, Bytes(reply.challenge.size()));
}

CONFORMANCE_CASE(host_has_no_dh_value_for_the_null_group, "auth.host.reply.dh-null", roles::host, host_with{"dhchap", &host_with_secret}) {
  let_it_try(bench);
  const auto reply = first_message<AuthReply>(bench, check, "a Reply arrives");
  check.equal("DHVLEN", reply.dh_value.size(), 0u);
}

CONFORMANCE_CASE(host_has_a_usable_dh_value, "auth.host.reply.dh-value", roles::host, host_with{"dhchap", &host_with_group}) {
  let_it_try(bench);
  const auto reply = first_message<AuthReply>(bench, check, "a Reply arrives");
  check.equal("DHVLEN modulo 4", reply.dh_value.size() % 4, 0u);
  check.that(usable_dh_value(1, reply.dh_value), "the DH value is none of 0, 1 and p - 1, and below p");
}

// ---- both ways ----

CONFORMANCE_CASE(host_challenges_the_controller, "auth.host.mutual.cvalid", roles::host, host_with{"dhchap", &mutual_host}) {
  let_it_try(bench);
  check.equal("CVALID", first_message<AuthReply>(bench, check, "a Reply arrives").cvalid, 1u);
}

CONFORMANCE_CASE(host_has_a_sequence_number, "auth.host.mutual.seqnum", roles::host, host_with{"dhchap", &mutual_host}) {
  let_it_try(bench);
  check.that(first_message<AuthReply>(bench, check, "a Reply arrives").seqnum != 0, "S2 is not 0");
}

CONFORMANCE_CASE(host_challenge_is_another_than_the_controllers, "auth.host.mutual.c2-differs", roles::host,
                 host_with{"dhchap", &mutual_host}) {
  ControllerSays says(bench);
  let_it_try(bench);
  const auto reply = first_message<AuthReply>(bench, check, "a Reply arrives");
  const auto challenge = decoded<AuthChallenge>(says.messages.front());
  check.precondition(challenge.has_value(), "a Challenge was sent");
  check.that(reply.challenge != challenge->challenge, "C2 differs from C1");
}

CONFORMANCE_CASE(host_challenges_are_fresh, "auth.host.mutual.c2-fresh", roles::host, host_with{"dhchap", &mutual_host}) {
  let_it_try(bench);
  const auto admin = host_messages<AuthReply>(bench, 0), io = host_messages<AuthReply>(bench, 1);
  check.precondition(!admin.empty() && !io.empty(), "two transactions");
  check.that(admin.front().challenge != io.front().challenge, "C2 of every transaction is new");
}

CONFORMANCE_CASE(host_says_that_it_is_content, "auth.host.mutual.success2", roles::host, host_with{"dhchap", &mutual_host}) {
  const auto outcome = bench.product().connect({}).wait_for(30_s);
  check.precondition(!host_messages<AuthReply>(bench).empty(), "a Reply arrives");
  check.that(!host_messages<AuthSuccess2>(bench).empty(), "Success2 follows Success1",
             fabrics::describe_auth_message(said_by_host(bench).back()));
  check.that(outcome && outcome->ok, "the host connects", outcome ? outcome->text : "no outcome");
}

CONFORMANCE_CASE(host_success2_keeps_its_transaction, "auth.host.mutual.success2-t-id", roles::host, host_with{"dhchap", &mutual_host}) {
  let_it_try(bench);
  const auto negotiate = first_message<AuthNegotiate>(bench, check, "an AUTH_Negotiate arrives");
  const auto success = first_message<AuthSuccess2>(bench, check, "a Success2 arrives");
  check.equal("T_ID", success.t_id, negotiate.t_id);
}

CONFORMANCE_CASE(host_authenticates_after_a_loss, "auth.host.demand.reconnect", roles::host, host_with{"dhchap", &host_with_secret}) {
  bench.connect_product();
  bench.forget_seen();
  bench.subsystem().end_associations("for the case");
  const bool again = bench.run_until([&] { return !bench.fabrics_commands(kConnect).empty(); }, 60_s);
  check.precondition(again, "the host comes back");
  bench.world().run_for(5_s);
  check.that(!host_messages<AuthReply>(bench, 0).empty(), "a transaction on the new admin queue");
  check.that(!host_messages<AuthReply>(bench, 1).empty(), "a transaction on the new I/O queue");
}

}  // namespace fb::conformance
