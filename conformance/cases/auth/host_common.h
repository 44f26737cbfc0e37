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
    if (auto message = Message::parse(bytes)) found.push_back(std::move(*message));
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
  explicit ControllerSays(HostBench& bench, std::function<void(Bytes&)> change = {})
      : alter(std::move(change)) {
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
  std::function<void(Bytes&)> alter;
  std::vector<Bytes> messages;
};

/// Changes the messages of one kind.
template <class Message>
std::function<void(Bytes&)> changing(std::function<void(Message&)> change) {
  return [change](Bytes& bytes) {
    auto message = Message::parse(bytes);
    if (!message) return;
    change(*message);
    bytes = message->emit();
  };
}

/// Nothing but Connect and authentication has come.
inline void expect_nothing_else(HostBench& bench, Check& check) {
  for (const SeenCommand& seen : bench.commands()) {
    const bool allowed =
        seen.fctype() == kConnect || seen.fctype() == kSend || seen.fctype() == kReceive;
    check.that(allowed, "nothing but Connect and authentication commands",
               "opcode " + words(seen.opcode()) + ", FCTYPE " + words(seen.fctype()));
  }
}

/// The host answers what the bench's controller says with AUTH_Failure2 for one of these reasons, and
/// does not connect.
inline void expect_failure2(HostBench& bench, Check& check, std::function<void(Bytes&)> alter,
                            std::initializer_list<AuthFailure> reasons) {
  ControllerSays says(bench, std::move(alter));
  const auto outcome = bench.product().connect({}).wait_for(30_s);
  check.precondition(!says.messages.empty(), "the host fetches the message");
  const auto said = said_by_host(bench);
  const auto report = AuthFailureReport::parse(said.back());
  check.that(!outcome || !outcome->ok, "the host does not connect", "it connected");
  check.require(report.has_value() && report->from_host, "the host answers AUTH_Failure2",
                fabrics::describe_auth_message(said.back()));
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
