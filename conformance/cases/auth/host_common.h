// What the host cases share: a host that has secrets, a controller that demands authentication, and what
// passed between them.
#pragma once

#include "conformance/cases/auth/common.h"
#include "conformance/runner/host_bench.h"
#include "wire/fabrics/auth.h"
#include "wire/fabrics/connect.h"

namespace fb::conformance::auth_cases {

inline constexpr std::uint8_t kConnect = 0x01, kSend = 0x05, kReceive = 0x06;

/// Both sides know the host's secret; the NULL group alone.
inline void host_with_secret(EmbeddedSetup& setup) {
  demanding(setup);
  setup.subsystem.authentication.groups = {DhGroup::null};
  setup.connect.authentication.secret = host_secret();
}
/// With a group of 2048 bits, and nothing else.
inline void host_with_group(EmbeddedSetup& setup) {
  host_with_secret(setup);
  setup.subsystem.authentication.groups = {DhGroup::ffdhe2048};
  setup.connect.authentication.groups = {DhGroup::ffdhe2048};
}
/// The host wants the controller to authenticate too.
inline void mutual_host(EmbeddedSetup& setup) {
  host_with_secret(setup);
  setup.connect.authentication.controller_secret = controller_secret();
}

/// Messages that the host has sent on a queue, oldest first.
inline std::vector<Bytes> said_by_host(HostBench& bench, std::uint16_t qid = 0) {
  std::vector<Bytes> messages;
  for (const SeenCommand* seen : bench.commands(qid)) {
    if (seen->fctype() == kSend) messages.push_back(seen->data);
  }
  return messages;
}

template <class Message>
std::vector<Message> host_messages(HostBench& bench, std::uint16_t qid = 0) {
  std::vector<Message> found;
  for (const Bytes& bytes : said_by_host(bench, qid)) {
    if (auto message = decoded<Message>(bytes)) found.push_back(std::move(*message));
  }
  return found;
}

/// The first message of a kind; INCONCLUSIVE when the host never got so far.
template <class Message>
Message first_message(HostBench& bench, Check& check, std::string_view what) {
  const auto found = host_messages<Message>(bench);
  check.precondition(!found.empty(), what);
  return found.front();
}

/// Keeps what the bench's controller says, and lets a case change it.
struct ControllerSays {
  explicit ControllerSays(HostBench& at, std::function<void(Bytes&)> change = {}) : alter(std::move(change)), bench(at) {
    bench.script.data_out = [this](const CommandContext& command, MutableBytes data) {
      if (command.sqe[0] != 0x7F || command.sqe[4] != kReceive) return;
      Bytes message(data.begin(), data.end());
      if (alter) {
        alter(message);
        message.resize(data.size());
        std::copy(message.begin(), message.end(), data.begin());
      }
      messages.push_back(std::move(message));
    };
  }
  ~ControllerSays() { bench.script.data_out = {}; }
  ControllerSays(const ControllerSays&) = delete;
  ControllerSays& operator=(const ControllerSays&) = delete;
  std::function<void(Bytes&)> alter;
  std::vector<Bytes> messages;
  HostBench& bench;
};

/// Changes the messages of one kind.
template <class Message>
std::function<void(Bytes&)> changing(std::function<void(Message&)> change) {
  return [change](Bytes& bytes) {
    auto message = decoded<Message>(bytes);
    if (!message) return;
    change(*message);
    bytes = encoded(*message);
  };
}

/// The bench's controller asks with Challenges of the case's own, so that every value of a transaction is known, and answers as
/// the formulas of the reference have it. What the host replies is for the case to judge: the controller itself takes anything.
class OwnTransactions {
 public:
  struct Transaction {
    AuthNegotiate negotiate;
    AuthChallenge challenge;
    Bytes exponent;
    std::optional<AuthReply> reply;
    Bytes shared() const {
      if (challenge.group == 0 || !reply) return {};
      return reference::dh_power(challenge.group, reply->dh_value, exponent);
    }
  };
  /// Hash and group of every Challenge, which a host must have offered.
  OwnTransactions(HostBench& bench, std::uint8_t of_hash, std::uint8_t of_group) : hash(of_hash), group(of_group), bench_(bench) {
    bench.script.departs = [](std::string_view point) { return point.starts_with("auth.reply.") && !point.ends_with("_prefix"); };
    bench.script.data_out = [this](const CommandContext& command, MutableBytes data) {
      if (command.sqe[0] == 0x7F && command.sqe[4] == kReceive) say(command.qid, data);
    };
  }

  ~OwnTransactions() { bench_.script.departs = {}, bench_.script.data_out = {}; }
  OwnTransactions(const OwnTransactions&) = delete;
  OwnTransactions& operator=(const OwnTransactions&) = delete;

  std::uint8_t hash, group;
  /// Change what is about to be sent.
  std::function<void(Transaction&)> on_challenge;
  std::function<void(const OwnTransactions&, const Transaction&, AuthSuccess1&)> on_success1;
  /// R1 and R2 of this.
  static reference::Response first(const Transaction& of, const std::string& hostnqn, const std::string& subnqn, const Bytes& key) {
    return {of.challenge.hash, key,   of.challenge.challenge, of.shared(), of.challenge.seqnum, of.negotiate.t_id, of.negotiate.sc_c,
            hostnqn,           subnqn};
  }
  static reference::Response second(const Transaction& of, const std::string& hostnqn, const std::string& subnqn, const Bytes& key) {
    reference::Response made = first(of, hostnqn, subnqn, key);
    made.challenge = of.reply->challenge;
    made.seqnum = of.reply->seqnum;
    return made;
  }
  /// Of all queues, in the order of their Challenges; those of a queue.
  const std::deque<std::pair<std::uint16_t, Transaction>>& all() const { return all_; }
  std::string hostnqn() const {
    const auto connects = bench_.fabrics_commands(kConnect);
    if (connects.empty()) return {};
    const View<fabrics::ConnectData> data{connects.back()->data};
    return fabrics::terminated_text(data.get(fabrics::connect_data::hostnqn)).value_or("");
  }

 private:
  void say(std::uint16_t qid, MutableBytes data) {
    Bytes message(data.begin(), data.end());
    if (decoded<AuthChallenge>(message)) {
      message = challenge(qid, message);
    } else if (decoded<AuthSuccess1>(message)) {
      message = success1(qid, message);
    }
    message.resize(data.size());
    std::copy(message.begin(), message.end(), data.begin());
  }
  Bytes challenge(std::uint16_t qid, const Bytes& message) {
    Transaction made;
    const auto negotiates = host_messages<AuthNegotiate>(bench_, qid);
    if (!negotiates.empty()) made.negotiate = negotiates.back();
    made.challenge = *decoded<AuthChallenge>(message);
    made.challenge.hash = hash;
    made.challenge.group = group;
    made.challenge.hl = static_cast<std::uint8_t>(reference::hash_bytes(hash));
    made.challenge.challenge.resize(made.challenge.hl, static_cast<std::uint8_t>(0x31 + all_.size()));
    made.exponent = Bytes(32, static_cast<std::uint8_t>(0x91 + all_.size()));
    made.challenge.dh_value = group == 0 ? Bytes{} : reference::dh_public(group, made.exponent);
    if (on_challenge) on_challenge(made);
    all_.emplace_back(qid, made);
    return encoded(made.challenge);
  }
  Bytes success1(std::uint16_t qid, const Bytes& message) {
    const auto of = std::find_if(all_.rbegin(), all_.rend(), [&](const auto& one) { return one.first == qid; });
    if (of == all_.rend()) return message;
    Transaction& transaction = of->second;
    const auto replies = host_messages<AuthReply>(bench_, qid);
    if (!replies.empty()) transaction.reply = replies.back();
    AuthSuccess1 success = *decoded<AuthSuccess1>(message);
    success.hl = transaction.challenge.hl;
    success.response.assign(success.hl, 0);
    const auto& secret = bench_.connect_options().authentication.controller_secret;
    if (success.rvalid == 1 && transaction.reply && secret) {
      success.response = second(transaction, hostnqn(), bench_.nqn(), key_of(*secret, bench_.nqn())).of_controller();
    }
    if (on_success1) on_success1(*this, transaction, success);
    return encoded(success);
  }

  HostBench& bench_;
  std::deque<std::pair<std::uint16_t, Transaction>> all_;
};

/// Nothing but Connect and authentication has come.
inline void expect_nothing_else(HostBench& bench, Check& check) {
  for (const SeenCommand& seen : bench.commands()) {
    const bool allowed = seen.fctype() == kConnect || seen.fctype() == kSend || seen.fctype() == kReceive;
    check.that(allowed, "nothing but Connect and authentication commands",
               "opcode " + words(seen.opcode()) + ", FCTYPE " + words(seen.fctype()));
  }
}

/// The host answers what the bench's controller says with AUTH_Failure2 for one of these reasons, and
/// does not connect.
inline void expect_failure2(HostBench& bench, Check& check, std::function<void(Bytes&)> alter, std::initializer_list<AuthFailure> reasons) {
  ControllerSays says(bench, std::move(alter));
  const auto outcome = bench.product().connect({}).wait_for(30_s);
  check.precondition(!says.messages.empty(), "the host fetches the message");
  const auto said = said_by_host(bench);
  const auto report = decoded<AuthFailureReport>(said.back());
  check.that(!outcome || !outcome->ok, "the host does not connect", "it connected");
  check.require(report.has_value() && report->from_host, "the host answers AUTH_Failure2", fabrics::describe_auth_message(said.back()));
  check.equal("RCODE", report->rcode, fabrics::kAuthFailureReason);
  bool holds = false;
  for (const AuthFailure reason : reasons) {
    holds = holds || report->rcodeex == static_cast<std::uint8_t>(reason);
  }
  check.that(holds, "RCODEEX says '" + std::string(name_of(*reasons.begin())) + "'",
             std::string(name_of(static_cast<AuthFailure>(report->rcodeex))));
  expect_nothing_else(bench, check);
}

}  // namespace fb::conformance::auth_cases
