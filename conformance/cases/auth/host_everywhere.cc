// What holds for one hash, group, queue or transaction of a host holds for all of them: the bench asks with Challenges of its own
// and computes every answer by the reference.
#include "conformance/cases/auth/host_common.h"
#include "conformance/runner/embedded_controller.h"

namespace fb::conformance {

using namespace auth_cases;

namespace {

using Transaction = OwnTransactions::Transaction;

/// Where a case looks at each queue.
constexpr std::uint16_t kQueues = 4;

const std::pair<std::uint8_t, std::uint8_t> kCombinations[] = {{1, 0}, {2, 0}, {3, 0}, {1, 1}, {2, 1}, {3, 1},
                                                               {1, 2}, {2, 2}, {3, 2}, {1, 3}, {2, 4}, {3, 5}};

bool offers(const AuthNegotiate& negotiate, std::uint8_t hash, std::uint8_t group) {
  return std::any_of(negotiate.protocols.begin(), negotiate.protocols.end(), [&](const auto& offer) {
    return std::ranges::find(offer.hashes, hash) != offer.hashes.end() && std::ranges::find(offer.groups, group) != offer.groups.end();
  });
}

/// What the host offers when it may choose.
AuthNegotiate offer_of(HostBench& bench, Check& check) {
  bench.product().connect({}).wait_for(30_s);
  const AuthNegotiate offered = first_message<AuthNegotiate>(bench, check, "an AUTH_Negotiate arrives");
  bench.product().disconnect().wait_for(30_s);
  bench.forget_seen();
  return offered;
}

void judge_reply(Check& check, const Transaction& of, std::uint16_t qid, const std::string& hostnqn, const std::string& subnqn,
                 bool both_ways) {
  const std::string where = " on queue " + std::to_string(qid);
  const AuthReply& reply = *of.reply;
  check.equal("T_ID of the Reply" + where, reply.t_id, of.negotiate.t_id);
  check.equal("HL of the Reply" + where, reply.hl, of.challenge.hl);
  check.equal("CVALID" + where, reply.cvalid, both_ways ? 1u : 0u);
  check.equal("DHVLEN of the Reply" + where, reply.dh_value.size(), reference::group_bytes(of.challenge.group));
  if (of.challenge.group != 0 && !reply.dh_value.empty()) {
    check.that(usable_dh_value(of.challenge.group, reply.dh_value), "the DH value" + where + " is from 2 to p - 2");
  }
  check.bytes("R1" + where, reply.response, OwnTransactions::first(of, hostnqn, subnqn, key_of(host_secret(), hostnqn)).of_host());
}

/// A host that can do everything; the bench's controller leaves the group to the case.
void any_host(EmbeddedSetup& setup) { host_with_secret(setup); }

/// Connects with each combination that the host offers, on the queues of a case.
void works_with_each(HostBench& bench, Check& check, bool both_ways) {
  const AuthNegotiate offered = offer_of(bench, check);
  unsigned done = 0;
  for (const auto& [hash, group] : kCombinations) {
    if (!offers(offered, hash, group)) continue;
    OwnTransactions own(bench, hash, group);
    const auto outcome = bench.product().connect({}).wait_for(30_s);
    check.that(outcome && outcome->ok,
               "the host connects with " + std::string(name_of(static_cast<AuthHash>(hash))) + " and " +
                   std::string(name_of(static_cast<DhGroup>(group))),
               outcome ? outcome->text : "no outcome");
    for (auto one = own.all().begin(); one != own.all().end(); ++one) {
      const auto& [qid, transaction] = *one;
      // A host may give an attempt up and connect once more; what it connected with is the last of each queue.
      const bool is_last = std::none_of(one + 1, own.all().end(), [&](const auto& later) { return later.first == one->first; });
      if (!is_last && !transaction.reply) continue;
      check.require(transaction.reply.has_value(), "a Reply to each Challenge");
      judge_reply(check, transaction, qid, own.hostnqn(), bench.nqn(), both_ways);
      if (both_ways && is_last) {
        const auto ends = host_messages<AuthSuccess2>(bench, qid);
        check.that(!ends.empty() && ends.back().t_id == transaction.negotiate.t_id,
                   "AUTH_Success2 with the T_ID of the transaction, queue " + std::to_string(qid),
                   ends.empty() ? "none" : "T_ID " + std::to_string(ends.back().t_id));
      }
      ++done;
    }
    bench.product().disconnect().wait_for(30_s);
    bench.forget_seen();
  }
  check.precondition(done != 0, "the host offers a hash and a group");
}

/// One wrong R2; the host must not connect.
void refuses(HostBench& bench, Check& check, std::uint8_t hash, std::uint8_t group, std::string_view what,
             const std::function<void(const OwnTransactions&, const Transaction&, AuthSuccess1&)>& change) {
  OwnTransactions own(bench, hash, group);
  own.on_success1 = change;
  const auto outcome = bench.product().connect({}).wait_for(30_s);
  check.precondition(!own.all().empty(), "the host fetches the Challenge");
  check.that(!outcome || !outcome->ok, "the host does not connect: " + std::string(what), "it connected");
  const auto said = said_by_host(bench);
  const auto report = said.empty() ? std::nullopt : decoded<AuthFailureReport>(said.back());
  check.that(report && report->from_host && report->rcodeex == static_cast<std::uint8_t>(AuthFailure::failed),
             "AUTH_Failure2, RCODEEX 01h: " + std::string(what), said.empty() ? "nothing" : message_words(said.back()));
  bench.product().disconnect().wait_for(30_s);
  bench.forget_seen();
}

struct NearMiss {
  std::string_view what;
  void (*alter)(reference::Response&);
};
constexpr NearMiss kNearMisses[] = {
    {"another last byte of the key", [](reference::Response& r) { r.key.back() ^= 1; }},
    {"another last byte of C2", [](reference::Response& r) { r.challenge.back() ^= 1; }},
    {"another S2, by its high byte", [](reference::Response& r) { r.seqnum ^= 0x80000000; }},
    {"another T_ID", [](reference::Response& r) { r.t_id ^= 0x8000; }},
    {"another SC_C", [](reference::Response& r) { r.sc_c = 2; }},
    {"a host NQN without its last character", [](reference::Response& r) { r.hostnqn.pop_back(); }},
    {"a subsystem NQN without its last character", [](reference::Response& r) { r.subnqn.pop_back(); }},
    {"the two NQNs in each other's place", [](reference::Response& r) { std::swap(r.hostnqn, r.subnqn); }},
};

}  // namespace

CONFORMANCE_CASE(host_works_with_every_hash_and_group, "auth.host.reply.every", roles::host, host_with{"dhchap", &any_host}) {
  works_with_each(bench, check, false);
}

CONFORMANCE_CASE(host_works_both_ways_with_every_hash_and_group, "auth.host.mutual.every", roles::host, host_with{"dhchap", &mutual_host}) {
  works_with_each(bench, check, true);
}

CONFORMANCE_CASE(host_refuses_each_near_miss_of_a_response, "auth.host.refuses.near-miss", roles::host, host_with{"dhchap", &mutual_host}) {
  const AuthNegotiate offered = offer_of(bench, check);
  const std::uint8_t group = offers(offered, 1, 0) ? 0 : 1;
  check.precondition(offers(offered, 1, group), "the host offers SHA-256");
  for (const NearMiss& near : kNearMisses) {
    refuses(bench, check, 1, group, near.what, [&](const OwnTransactions& own, const Transaction& of, AuthSuccess1& success) {
      if (!of.reply) return;
      reference::Response altered = OwnTransactions::second(of, own.hostnqn(), bench.nqn(), key_of(controller_secret(), bench.nqn()));
      near.alter(altered);
      success.response = altered.of_controller();
    });
  }
  refuses(bench, check, 1, group, "R1 sent back as R2", [](const OwnTransactions&, const Transaction& of, AuthSuccess1& success) {
    if (of.reply) success.response = of.reply->response;
  });
  for (const std::uint8_t hash : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}}) {
    if (!offers(offered, hash, group)) continue;
    const std::size_t length = reference::hash_bytes(hash);
    for (const std::size_t byte : {std::size_t{0}, std::size_t{16}, length - 16, length - 1}) {
      refuses(bench, check, hash, group, "another byte " + std::to_string(byte) + " of R2",
              [&](const OwnTransactions&, const Transaction&, AuthSuccess1& success) { success.response[byte] ^= 1; });
    }
  }
}

CONFORMANCE_CASE(host_authenticates_every_io_queue, "auth.host.demand.every-io-queue", roles::host, host_with{"dhchap", &mutual_host}) {
  const AuthNegotiate offered = offer_of(bench, check);
  check.precondition(offers(offered, 1, 0) || offers(offered, 1, 1), "the host offers SHA-256 and a group of up to 2048 bits");
  OwnTransactions own(bench, 1, offers(offered, 1, 0) ? 0 : 1);
  const auto outcome = bench.product().connect({.io_queues = kQueues}).wait_for(30_s);
  check.precondition(!own.all().empty(), "the host fetches a Challenge");
  check.precondition(outcome && outcome->ok, "the host connects");
  for (std::uint16_t qid = 1; qid <= kQueues; ++qid) {
    if (bench.commands(qid).empty()) continue;  // it is content with fewer
    const bool replied =
        std::any_of(own.all().begin(), own.all().end(), [&](const auto& one) { return one.first == qid && one.second.reply; });
    check.that(replied, "a transaction on I/O queue " + std::to_string(qid), "there was none");
    const auto commands = bench.commands(qid);
    for (std::size_t i = 1; i < std::min<std::size_t>(commands.size(), 5); ++i) {
      check.that(commands[i]->fctype() == kSend || commands[i]->fctype() == kReceive,
                 "nothing else before its end on I/O queue " + std::to_string(qid), "opcode " + words(commands[i]->opcode()));
    }
  }
  for (const auto& [qid, transaction] : own.all()) {
    check.require(transaction.reply.has_value(), "a Reply to each Challenge");
    judge_reply(check, transaction, qid, own.hostnqn(), bench.nqn(), true);
  }
}

CONFORMANCE_CASE(host_never_repeats_a_challenge, "auth.host.mutual.fresh-everywhere", roles::host,
                 arranged{"a host that authenticates again", &mutual_host}) {
  bench.connect_product({.io_queues = 2});
  check.precondition(!host_messages<AuthReply>(bench, 0).empty(), "the host authenticates");
  check.precondition(bench.product().reauthenticate().wait_for(30_s).has_value(), "the host authenticates again");
  check.precondition(bench.product().reauthenticate().wait_for(30_s).has_value(), "the host authenticates once more");
  std::vector<AuthReply> seen;
  for (const std::uint16_t qid : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{2}}) {
    const auto replies = host_messages<AuthReply>(bench, qid);
    check.that(replies.size() >= 3, "three transactions on queue " + std::to_string(qid), std::to_string(replies.size()));
    for (std::size_t i = 1; i < replies.size(); ++i) {
      check.that(replies[i].seqnum != replies[i - 1].seqnum, "S2 is another in the next transaction of queue " + std::to_string(qid));
    }
    seen.insert(seen.end(), replies.begin(), replies.end());
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    check.that(seen[i].seqnum != 0, "S2 is not 0");
    for (std::size_t before = 0; before < i; ++before) {
      const auto half = static_cast<std::ptrdiff_t>(seen[i].challenge.size() / 2);
      const bool same = std::equal(seen[i].challenge.begin(), seen[i].challenge.begin() + half, seen[before].challenge.begin()) ||
                        std::equal(seen[i].challenge.begin() + half, seen[i].challenge.end(), seen[before].challenge.begin() + half);
      check.that(!same, "C2 of every transaction is random", "two have an equal half");
    }
  }
}

CONFORMANCE_CASE(host_takes_dh_values_with_leading_zeros, "auth.host.reply.dh-leading-zero", roles::host,
                 host_with{"dhchap", &host_with_group}) {
  OwnTransactions own(bench, 1, 1);
  own.on_challenge = [](Transaction& made) {
    made.exponent = reference::exponent_with_leading_zero(1, {}, made.exponent);
    made.challenge.dh_value = reference::dh_public(1, made.exponent);
  };
  const auto outcome = bench.product().connect({}).wait_for(30_s);
  check.precondition(!own.all().empty(), "the host fetches the Challenge");
  check.that(outcome && outcome->ok, "the host connects", outcome ? outcome->text : "no outcome");
  for (const auto& [qid, transaction] : own.all()) {
    check.require(transaction.reply.has_value(), "a Reply");
    judge_reply(check, transaction, qid, own.hostnqn(), bench.nqn(), false);
  }
}

CONFORMANCE_CASE(host_compares_all_of_a_challenge, "auth.host.refuses.near-challenge", roles::host, host_with{"dhchap", &host_with_group},
                 reaches{"subsystem.auth.failed"}) {
  struct Change {
    std::string_view what;
    void (*alter)(AuthChallenge&);
  };
  static constexpr Change kChanges[] = {
      {"T_ID, by its high byte", [](AuthChallenge& c) { c.t_id ^= 0x8000; }},
      {"T_ID, by its low byte", [](AuthChallenge& c) { c.t_id ^= 0x0040; }},
      {"HL of SHA-384 with SHA-256",
       [](AuthChallenge& c) {
         c.hash = 1;
         c.hl = 48;
         c.challenge.resize(48, 0x42);
       }},
      {"HL of SHA-512 with SHA-256",
       [](AuthChallenge& c) {
         c.hash = 1;
         c.hl = 64;
         c.challenge.resize(64, 0x42);
       }},
      {"HL of SHA-256 with SHA-384",
       [](AuthChallenge& c) {
         c.hash = 2;
         c.hl = 32;
         c.challenge.resize(32, 0x42);
       }},
      {"a reserved hash", [](AuthChallenge& c) { c.hash = 0x44; }},
      {"a DH value of 0 of four bytes", [](AuthChallenge& c) { c.dh_value.assign(4, 0); }},
      {"a DH value of 1 of four bytes", [](AuthChallenge& c) { c.dh_value = small_number(4, 1); }},
  };
  for (const Change& change : kChanges) {
    ControllerSays says(bench, changing<AuthChallenge>([&](AuthChallenge& c) { change.alter(c); }));
    const auto outcome = bench.product().connect({}).wait_for(30_s);
    check.precondition(!says.messages.empty(), "the host fetches the Challenge");
    check.that(!outcome || !outcome->ok, "the host does not connect: " + std::string(change.what), "it connected");
    check.that(host_messages<AuthReply>(bench).empty(), "no Reply: " + std::string(change.what), "the host replies");
    const auto reports = host_messages<AuthFailureReport>(bench);
    check.that(!reports.empty() && reports.back().from_host, "AUTH_Failure2: " + std::string(change.what), "none");
    bench.product().disconnect().wait_for(30_s);
    bench.forget_seen();
  }
}

CONFORMANCE_CASE(host_stops_at_failure1_for_each_reason, "auth.host.failure.every-reason", roles::host,
                 host_with{"dhchap", &host_with_secret}) {
  for (const bool later : {false, true}) {
    for (std::uint8_t reason = 1; reason <= 7; ++reason) {
      unsigned fetched = 0;
      ControllerSays says(bench, [&](Bytes& bytes) {
        const bool due = later ? decoded<AuthSuccess1>(bytes).has_value() : decoded<AuthChallenge>(bytes).has_value();
        ++fetched;
        if (!due) return;
        AuthFailureReport report{false, static_cast<std::uint16_t>(two_bytes(bytes, 4))};
        report.rcodeex = reason;
        bytes = encoded(report);
      });
      const auto outcome = bench.product().connect({}).wait_for(30_s);
      check.precondition(fetched != 0, "the host fetches a message");
      check.that(!outcome || !outcome->ok, "the host does not connect after AUTH_Failure1, RCODEEX " + std::to_string(reason),
                 "it connected");
      expect_nothing_else(bench, check);
      bench.product().disconnect().wait_for(30_s);
      bench.forget_seen();
    }
  }
}

}  // namespace fb::conformance
