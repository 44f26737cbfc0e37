// What holds for one hash, group, queue or transaction holds for all of them.
#include <map>

#include "conformance/cases/auth/common.h"
#include "wire/fabrics/connect.h"

namespace fb::conformance {

using namespace auth_cases;

namespace {

namespace prop = fabrics::property;

/// Further I/O queues of a case that look at each.
constexpr unsigned kQueues = 4;

/// Each hash with the small groups; each large group with one hash.
std::vector<std::pair<AuthHash, DhGroup>> combinations() {
  std::vector<std::pair<AuthHash, DhGroup>> made;
  for (const AuthHash hash : auth::all_hashes()) {
    for (const DhGroup group : {DhGroup::null, DhGroup::ffdhe2048, DhGroup::ffdhe3072}) made.emplace_back(hash, group);
  }
  made.emplace_back(AuthHash::sha_256, DhGroup::ffdhe4096);
  made.emplace_back(AuthHash::sha_384, DhGroup::ffdhe6144);
  made.emplace_back(AuthHash::sha_512, DhGroup::ffdhe8192);
  return made;
}

/// Offers one hash and one group. False where the product takes none of them, or no later transaction of a queue.
bool negotiated(Exchange& exchange, Check& check, AuthHash hash, bool later = false) {
  exchange.negotiate.protocols[0].hashes = {static_cast<std::uint8_t>(hash)};
  const host::RawReply sent = exchange.send(encoded(exchange.negotiate));
  if (later && sent.answered() && nvme::same_code(sent.status(), sc::command_sequence_error)) return false;
  check.require_success(sent, "status of Authentication Send");
  const Bytes bytes = exchange.ask();
  if (const auto report = decoded<AuthFailureReport>(bytes)) {
    const auto reason = static_cast<AuthFailure>(report->rcodeex);
    check.that(reason == AuthFailure::hash_not_usable || reason == AuthFailure::group_not_usable, "RCODEEX of what is not usable",
               message_words(bytes));
    return false;
  }
  const auto challenge = decoded<AuthChallenge>(bytes);
  check.require(challenge.has_value(), "a Challenge or an AUTH_Failure1", message_words(bytes));
  exchange.challenge = *challenge;
  check.equal("HashID", challenge->hash, static_cast<std::uint8_t>(hash));
  check.equal("HL", challenge->hl, reference::hash_bytes(challenge->hash));
  check.equal("DHgID", challenge->group, exchange.negotiate.protocols[0].groups[0]);
  check.equal("DHVLEN", challenge->dh_value.size(), reference::group_bytes(challenge->group));
  return true;
}

/// The rest of a transaction; R2 is judged where the controller's secret is known.
void finish(Exchange& exchange, Check& check, bool both_ways) {
  exchange.make_reply(both_ways);
  const AuthSuccess1 success = exchange.get_success1();
  check.equal("T_ID of Success1", success.t_id, exchange.negotiate.t_id);
  check.equal("HL of Success1", success.hl, exchange.challenge.hl);
  check.equal("RVALID", success.rvalid, both_ways ? 1u : 0u);
  if (!both_ways) return;
  check.bytes("R2", success.response, exchange.expected_response());
  exchange.say(encoded(AuthSuccess2{exchange.negotiate.t_id}));
}

/// Connected I/O queues that have to authenticate and have not, of as many as the product grants, up to kQueues. Those whose
/// Connect response has AUTHREQ 0 are not refused without.
std::vector<host::RawQueue*> connected_io_queues(Check& check, RawAssociation& association, std::uint32_t nsid) {
  std::vector<host::RawQueue*> queues;
  constexpr std::uint32_t kAsked = (kQueues - 1) << 16 | (kQueues - 1);
  const auto granted = association.admin().send(host::set_features(nvme::FeatureId::number_of_queues, kAsked)).wait();
  const unsigned most = granted.ok() ? std::min((granted.dw0() & 0xFFFF) + 1, kQueues) : 1;
  for (std::uint16_t qid = 1; qid <= most; ++qid) {
    host::RawQueue& queue = association.io_transport(qid);
    const host::RawReply reply = queue.send(association.io_connect(qid)).wait();
    if (qid > 1 && !reply.ok()) break;
    check.precondition_success(reply, "Connect of an I/O queue");
    if (reply.as<fabrics::ConnectReply>().get(fabrics::connect_reply::authreq) != 0) {
      queues.push_back(&queue);
    } else {
      check.success(queue.send(host::flush(nsid)).wait(), "Flush on an I/O queue whose Connect response has AUTHREQ 0");
    }
  }
  return queues;
}

/// Challenges of transactions of every kind: first and repeated, on each queue, in a second association.
std::vector<AuthChallenge> challenges(ControllerBench& bench, Check& check, std::vector<std::uint16_t>* transactions = nullptr) {
  std::vector<AuthChallenge> seen;
  const auto run = [&](host::RawQueue& queue) {
    Exchange exchange(bench, check, queue);
    const host::RawReply sent = exchange.send(encoded(exchange.negotiate));
    // A product need not take a second transaction on a queue.
    if (!sent.ok()) return;
    const auto challenge = decoded<AuthChallenge>(exchange.ask());
    check.require(challenge.has_value(), "a Challenge");
    seen.push_back(exchange.challenge = *challenge);
    if (transactions != nullptr) transactions->push_back(exchange.negotiate.t_id);
    exchange.make_reply();
    exchange.get_success1();
  };
  for (unsigned i = 0; i < 2; ++i) {
    RawAssociation& association = bench.associate({.enable = false, .authenticate = false});
    run(association.admin());
    association.enable();
    std::vector<host::RawQueue*> queues = connected_io_queues(check, association, bench.nsid());
    for (host::RawQueue* queue : queues) run(*queue);
    run(association.admin());
    run(association.admin());
    if (!queues.empty()) {
      run(*queues.front());
      run(*queues.back());
    }
    for (host::RawQueue* queue : queues) queue->disconnect();
    association.admin().disconnect();
    bench.world().run_for(1_s);
  }
  return seen;
}

/// Secrets as users write them: bytes from 20h on.
constexpr char kPlainSecret[] = "DHHC-1:00:ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj/jBqb2:";
constexpr char kSecret384[] = "DHHC-1:02:ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj9AQUJDREVGR0hJSktMTU5PhcdKRQ==:";
constexpr char kSecret512[] = "DHHC-1:03:ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj9AQUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVpbXF1eXzc59hc=:";

template <const auto& Host, const auto& Controller>
void with_secrets(EmbeddedSetup& setup) {
  setup.subsystem.authentication.secrets =
      auth::parse_secrets(std::string(Host) + " " + Controller + "\n", "the secrets of the bench").value();
}
constexpr char kNoSecret[] = "";

/// A host whose name differs from the bench's by its last character, and one whose name is longer.
const std::string& near_host(bool longer) {
  static const std::string other = [] {
    std::string name(kBenchHostNqn);
    name.back() = name.back() == '0' ? '1' : '0';
    return name;
  }();
  static const std::string more = "nqn.2026-11.org.example:host-1";
  return longer ? more : other;
}
/// Each host has a secret of its own; one has none.
void secret_of_each_host(EmbeddedSetup& setup) {
  setup.subsystem.authentication.secrets = {{std::string(kBenchHostNqn), host_secret(), controller_secret()},
                                            {"nqn.2026-11.org.example:host-10", host_secret(), {}},
                                            {near_host(true), auth::Secret(Bytes(32, 0x77), std::nullopt), {}}};
}

/// A transaction in the name of this host with this secret; whether it is good.
bool is_taken(ControllerBench& bench, Check& check, const std::string& hostnqn, const auth::Secret& secret) {
  host::HostId hostid = kBenchHostId;
  if (hostnqn != kBenchHostNqn) hostid.back() ^= static_cast<std::uint8_t>(hostnqn.back() | 0x80);
  RawAssociation& association = bench.associate({.enable = false, .authenticate = false, .hostnqn = hostnqn, .hostid = hostid});
  Exchange exchange(bench, check, association.admin());
  exchange.get_challenge();
  exchange.make_reply();
  reference::Response response = exchange.first_response();
  response.hostnqn = hostnqn;
  response.key = key_of(secret, hostnqn);
  exchange.reply.response = response.of_host();
  exchange.say(encoded(exchange.reply));
  const Bytes bytes = exchange.ask();
  if (decoded<AuthSuccess1>(bytes)) return true;
  const auto report = decoded<AuthFailureReport>(bytes);
  check.that(report && report->rcodeex == static_cast<std::uint8_t>(AuthFailure::failed), "AUTH_Failure1, RCODEEX 01h",
             message_words(bytes));
  return false;
}

/// The embedded product has the secrets that the case wrote.
void expect_known_secrets(ControllerBench& bench, Check& check, std::uint8_t host_hash, std::size_t host_bytes,
                          std::uint8_t controller_hash = 0, std::size_t controller_bytes = 0) {
  if (!bench.embedded()) return;
  const auto expect = [&](const std::optional<auth::Secret>& secret, std::uint8_t hash, std::size_t count) {
    check.equal("a secret of this side is known", secret.has_value(), count != 0);
    if (count == 0) return;
    Bytes bytes(count);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(0x20 + i);
    check.require(secret.has_value(), "a secret of each side");
    check.bytes("bytes of the secret", Bytes(secret->bytes().begin(), secret->bytes().end()), bytes);
    check.equal("hash of the secret", secret->transform() ? static_cast<unsigned>(*secret->transform()) : 0u, hash);
  };
  expect(bench.authentication().secret, host_hash, host_bytes);
  expect(bench.authentication().controller_secret, controller_hash, controller_bytes);
}

void works_with_its_secrets(ControllerBench& bench, Check& check) {
  const bool both_ways = bench.authentication().controller_secret.has_value();
  for (const AuthHash hash : auth::all_hashes()) {
    Exchange exchange(bench, check, connected_queue(bench));
    exchange.negotiate.protocols[0].groups = ids({DhGroup::null, DhGroup::ffdhe2048});
    exchange.negotiate.protocols[0].hashes = {static_cast<std::uint8_t>(hash), 1};
    exchange.get_challenge();
    finish(exchange, check, both_ways);
  }
}

/// Commands of each kind, none of which is executed before authentication.
void expect_all_refused(Check& check, host::RawQueue& queue, bool admin, std::uint32_t nsid, std::string_view when) {
  const auto either = one_of(sc::authentication_required, sc::command_sequence_error);
  const auto refused = [&](const host::RawReply& reply, const std::string& what) {
    // An admin queue of a controller that is not enabled has another reason besides.
    if (admin) {
      check.status(reply, either, what + " " + std::string(when));
    } else {
      check.status(reply, sc::authentication_required, what + " " + std::string(when));
    }
  };
  if (admin) {
    check.status(queue.send(host::property_get(prop::cap)).wait(), sc::authentication_required, "Property Get " + std::string(when));
    check.status(queue.send(host::property_set(prop::cc, 0)).wait(), sc::authentication_required, "Property Set " + std::string(when));
    refused(queue.send(host::identify(nvme::Cns::controller), 4096).wait(), "Identify");
    refused(queue.send(host::keep_alive()).wait(), "Keep Alive");
    refused(queue.send(host::get_log(nvme::LogPage::smart, 512), 512).wait(), "Get Log Page");
    refused(queue.send(host::get_features(nvme::FeatureId::number_of_queues)).wait(), "Get Features");
    return;
  }
  refused(queue.send(host::flush(nsid)).wait(), "Flush");
  refused(queue.send(host::read(nsid, 0, 1), 4096).wait(), "Read");
}

}  // namespace

CONFORMANCE_CASE(auth_works_with_every_hash_and_group, "auth.controller.support.every", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.done"}) {
  const bool both_ways = bench.authentication().controller_secret.has_value();
  unsigned done = 0;
  for (const auto& [hash, group] : combinations()) {
    Exchange exchange(bench, check, connected_queue(bench), group);
    if (!negotiated(exchange, check, hash)) continue;
    finish(exchange, check, both_ways);
    ++done;
    if (!both_ways || group != DhGroup::null) continue;
    // A host that asks for no R2 learns HL all the same.
    Exchange one_way(bench, check, connected_queue(bench), group);
    if (negotiated(one_way, check, hash)) finish(one_way, check, false);
  }
  check.precondition(done != 0, "the product's policy admits a hash and a group");
  // On one queue every transaction has the hash and the group of its own offer.
  host::RawQueue& queue = connected_queue(bench);
  Exchange(bench, check, queue).run();
  for (const auto& [hash, group] : combinations()) {
    Exchange exchange(bench, check, queue, group);
    if (!negotiated(exchange, check, hash, true)) break;
    finish(exchange, check, both_ways);
  }
}

CONFORMANCE_CASE(auth_works_on_every_queue, "auth.controller.demand.every-queue", roles::controller, authenticates{&demanding},
                 reaches{"auth.required", "subsystem.auth.done"}) {
  const bool both_ways = bench.authentication().controller_secret.has_value();
  RawAssociation& association = bench.associate();
  const std::vector<host::RawQueue*> queues = connected_io_queues(check, association, bench.nsid());
  check.precondition(!queues.empty(), "the controller asks for authentication on an I/O queue");
  for (host::RawQueue* queue : queues) {
    // All those before have authenticated.
    expect_all_refused(check, *queue, false, bench.nsid(), "before authentication of I/O queue " + std::to_string(queue->options().qid));
    Exchange exchange(bench, check, *queue);
    exchange.get_challenge();
    finish(exchange, check, both_ways);
    check.success(queue->send(host::flush(bench.nsid())).wait(), "Flush after it");
  }
}

CONFORMANCE_CASE(auth_refuses_commands_meanwhile, "auth.controller.demand.meanwhile", roles::controller, authenticates{&demanding},
                 reaches{"auth.required"}) {
  const auto watch = [&](host::RawQueue& queue, bool admin) {
    Exchange exchange(bench, check, queue);
    expect_all_refused(check, queue, admin, bench.nsid(), "before AUTH_Negotiate");
    exchange.say(encoded(exchange.negotiate));
    expect_all_refused(check, queue, admin, bench.nsid(), "after AUTH_Negotiate");
    const auto challenge = decoded<AuthChallenge>(exchange.ask());
    check.require(challenge.has_value(), "a Challenge");
    exchange.challenge = *challenge;
    expect_all_refused(check, queue, admin, bench.nsid(), "after the Challenge");
    exchange.make_reply();
    exchange.get_success1();
  };
  RawAssociation& association = bench.associate({.enable = false, .authenticate = false});
  watch(association.admin(), true);
  check.success(association.admin().send(host::property_get(prop::vs)).wait(), "Property Get at the end");
  association.enable();
  const std::vector<host::RawQueue*> queues = connected_io_queues(check, association, bench.nsid());
  if (queues.empty()) return;
  watch(*queues.back(), false);
  check.success(queues.back()->send(host::flush(bench.nsid())).wait(), "Flush at the end");
}

CONFORMANCE_CASE(auth_never_repeats_a_challenge, "auth.controller.challenge.fresh-everywhere", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.done"}) {
  const std::vector<AuthChallenge> seen = challenges(bench, check);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    for (std::size_t before = 0; before < i; ++before) {
      // Of random values no half is the same either.
      const std::size_t half = std::min(seen[i].challenge.size(), seen[before].challenge.size()) / 2;
      const bool same = std::equal(seen[i].challenge.begin(), seen[i].challenge.begin() + static_cast<std::ptrdiff_t>(half),
                                   seen[before].challenge.begin()) ||
                        std::equal(seen[i].challenge.end() - static_cast<std::ptrdiff_t>(half), seen[i].challenge.end(),
                                   seen[before].challenge.end() - static_cast<std::ptrdiff_t>(half));
      check.that(!same, "C1 of every transaction is random",
                 "that of transaction " + std::to_string(i + 1) + " is that of transaction " + std::to_string(before + 1));
    }
    const std::vector<std::uint8_t>& c1 = seen[i].challenge;
    std::map<std::uint8_t, unsigned> counts;
    for (const std::uint8_t byte : c1) ++counts[byte];
    const bool dull = std::any_of(counts.begin(), counts.end(), [&](const auto& one) { return one.second > c1.size() / 2; });
    check.that(!dull, "C1 is random", "most of its bytes are equal");
  }
}

CONFORMANCE_CASE(auth_challenges_name_their_transaction_everywhere, "auth.controller.challenge.t-id", roles::controller,
                 authenticates{&demanding}, reaches{"subsystem.auth.done"}) {
  std::vector<std::uint16_t> transactions;
  const std::vector<AuthChallenge> seen = challenges(bench, check, &transactions);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    check.equal("T_ID in the Challenge of transaction " + std::to_string(i + 1), seen[i].t_id, transactions[i]);
  }
}

CONFORMANCE_CASE(auth_sequence_numbers_move_on_everywhere, "auth.controller.challenge.seqnum-everywhere", roles::controller,
                 authenticates{&demanding}, reaches{"subsystem.auth.done"}) {
  const std::vector<AuthChallenge> seen = challenges(bench, check);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    check.that(seen[i].seqnum != 0, "S1 is not 0");
    if (i > 0) {
      check.that(seen[i].seqnum != seen[i - 1].seqnum, "S1 is another in the next transaction",
                 words(seen[i].seqnum) + " in transactions " + std::to_string(i) + " and " + std::to_string(i + 1));
    }
  }
}

CONFORMANCE_CASE(auth_finds_an_offer_anywhere_in_a_list, "auth.controller.negotiate.positions", roles::controller,
                 authenticates{&demanding}) {
  Exchange plain(bench, check, connected_queue(bench), DhGroup::ffdhe2048);
  plain.negotiate.protocols[0].hashes = {1};
  plain.get_challenge();
  // Identifiers that are reserved stand around the one that is not.
  for (const std::size_t place : {std::size_t{1}, std::size_t{2}, std::size_t{15}, std::size_t{29}}) {
    Exchange exchange(bench, check, connected_queue(bench));
    auto& offer = exchange.negotiate.protocols[0];
    offer.hashes.assign(fabrics::kAuthListMax, 0x55);
    offer.groups.assign(fabrics::kAuthListMax, 0x55);
    offer.hashes[place] = 1;
    offer.groups[place] = static_cast<std::uint8_t>(DhGroup::ffdhe2048);
    exchange.judges_support = true;
    exchange.get_challenge();
    check.equal("HashID", exchange.challenge.hash, 1u);
    check.equal("DHgID", exchange.challenge.group, static_cast<std::uint8_t>(DhGroup::ffdhe2048));
    finish(exchange, check, false);
  }
}

CONFORMANCE_CASE(auth_uses_a_secret_without_transform, "auth.controller.key.plain", roles::controller,
                 authenticates{&with_secrets<kPlainSecret, kNoSecret>}, reaches{"subsystem.auth.done"}) {
  expect_known_secrets(bench, check, 0, 32);
  works_with_its_secrets(bench, check);
}

CONFORMANCE_CASE(auth_transforms_a_secret_with_its_own_hash, "auth.controller.key.transform", roles::controller,
                 authenticates{&with_secrets<kSecret384, kSecret512>}, reaches{"subsystem.auth.done"}) {
  expect_known_secrets(bench, check, 2, 48, 3, 64);
  works_with_its_secrets(bench, check);
}

CONFORMANCE_CASE(auth_knows_each_host_by_its_own_secret, "auth.controller.key.each-host", roles::controller,
                 arranged{"a subsystem with a secret for each of several hosts", &secret_of_each_host}, reaches{"subsystem.auth.failed"}) {
  const auth::Secret other(Bytes(32, 0x77), std::nullopt);
  check.that(is_taken(bench, check, std::string(kBenchHostNqn), host_secret()), "a host with its secret: Success1");
  check.that(is_taken(bench, check, near_host(true), other), "another host with its secret: Success1");
  check.that(!is_taken(bench, check, std::string(kBenchHostNqn), other), "a host with the secret of another: AUTH_Failure1");
  check.that(!is_taken(bench, check, near_host(true), host_secret()), "another host with the secret of the first: AUTH_Failure1");
  check.that(!is_taken(bench, check, near_host(false), host_secret()), "a host without a secret whose name is near: AUTH_Failure1");
}

// ---- time ----

CONFORMANCE_CASE(auth_has_its_time_and_no_more, "auth.controller.timeout.window", roles::controller, authenticates{&demanding}, lasts{40_s},
                 reaches{"subsystem.auth.done"}) {
  const Declared& declared = bench.declared();
  check.precondition(!declared.known || declared.identify().get(nvme::id_ctrl::kas) != 0, "the product has a keep alive timeout");
  constexpr std::uint32_t kKatoMs = 8000;
  // Every message comes late, and all of them in time.
  RawAssociation& association = bench.associate({.enable = false, .authenticate = false, .kato_ms = kKatoMs});
  Exchange exchange(bench, check, association.admin());
  bench.world().run_for(2_s);
  exchange.say(encoded(exchange.negotiate));
  bench.world().run_for(2_s);
  const auto challenge = decoded<AuthChallenge>(exchange.ask());
  check.require(challenge.has_value(), "a Challenge");
  exchange.challenge = *challenge;
  bench.world().run_for(3_s);
  check.require(!exchange.ended(), "the connection stays within KATO", "it ended");
  exchange.make_reply();
  exchange.get_success1();
  association.enable();
  // Whatever the controller timed is over.
  for (unsigned i = 0; i < 6; ++i) {
    bench.world().run_for(3_s);
    check.require_success(association.admin().send(host::keep_alive()).wait(), "Keep Alive after authentication");
  }
}

CONFORMANCE_CASE(auth_timeout_counts_for_the_whole_transaction, "auth.controller.timeout.whole", roles::controller,
                 authenticates{&demanding}, lasts{40_s}, reaches{"subsystem.auth.timeout"}) {
  const Declared& declared = bench.declared();
  check.precondition(!declared.known || declared.identify().get(nvme::id_ctrl::kas) != 0, "the product has a keep alive timeout");
  constexpr std::uint32_t kKatoMs = 8000;
  const std::uint32_t grain = std::max(declared.identify().get(nvme::id_ctrl::kas) * 100u, 100u);
  const Duration kept = Duration::ms((kKatoMs + grain - 1) / grain * grain);
  RawAssociation& association = bench.associate({.kato_ms = kKatoMs});
  host::RawQueue& io = association.io_transport();
  const host::RawReply connected = io.send(association.io_connect()).wait();
  check.precondition_success(connected, "Connect of the I/O queue");
  check.precondition(connected.as<fabrics::ConnectReply>().get(fabrics::connect_reply::authreq) != 0,
                     "the controller asks for authentication on an I/O queue");
  Exchange exchange(bench, check, io);
  exchange.say(encoded(exchange.negotiate));
  Duration gone;
  // The admin queue stays busy, so that nothing but the transaction can end.
  const auto wait = [&](Duration span) {
    for (Duration passed; passed < span && !exchange.ended(); passed = passed + 1_s) {
      bench.world().run_for(1_s);
      gone = gone + 1_s;
      if (exchange.ended()) break;
      check.precondition_success(association.admin().send(host::keep_alive()).wait(), "Keep Alive");
    }
  };
  wait(6_s);
  check.require(!exchange.ended(), "the connection stays within KATO", "it ended after " + to_string(gone));
  check.require(decoded<AuthChallenge>(exchange.ask()).has_value(), "a Challenge");
  wait(kept - 6_s + 4_s);
  check.that(exchange.ended(), "without a Reply the connection of an I/O queue ends after KATO",
             "it is still there after " + to_string(gone));
}

CONFORMANCE_CASE(auth_once_more_may_time_out, "auth.controller.again.timeout", roles::controller, authenticates{&demanding}, lasts{40_s},
                 reaches{"subsystem.auth.timeout"}) {
  constexpr std::uint32_t kKatoMs = 8000;
  RawAssociation& association = bench.associate({.kato_ms = kKatoMs});
  Exchange second(bench, check, association.admin());
  check.precondition_success(second.send(encoded(second.negotiate)), "a second AUTH_Negotiate");
  const auto challenge = decoded<AuthChallenge>(second.ask());
  check.precondition(challenge.has_value(), "a second Challenge");
  second.challenge = *challenge;
  for (unsigned i = 0; i < 10; ++i) {
    bench.world().run_for(2_s);
    const auto alive = association.admin().send(host::keep_alive()).wait();
    check.precondition(!alive.answered() || !same_code(alive.status(), sc::invalid_opcode), "the product has Keep Alive");
    check.require_success(alive, "Keep Alive while a second transaction waits");
  }
  second.make_reply();
  check.status(second.send(encoded(second.reply)), sc::command_sequence_error, "a Reply to a transaction that timed out");
  check.success(association.admin().send(host::keep_alive()).wait(), "Keep Alive after it");
}

}  // namespace fb::conformance
