// Operations that go on in the background: device self-tests with their results, and sanitize operations.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "conformance/oracle/subjects.h"
#include "wire/nvme/logs.h"

namespace fb::oracle {

namespace {

using nvme::AdminOpcode;
using nvme::IoOpcode;
using nvme::LogPage;
using nvme::SanitizeState;
using nvme::SelfTestCode;
using nvme::SelfTestOutcome;

/// The log page that an answer brings from its start on; nothing for other pages, or where less came.
ByteView whole_log(const Exchange& one, LogPage page, std::size_t length) {
  if (!one.ok() || !one.is(AdminOpcode::get_log_page)) return {};
  const auto get = one.command<nvme::GetLogPageSqe>();
  const bool meant = get.get(nvme::get_log_sqe::lid) == static_cast<std::uint8_t>(page) && nvme::log_offset(get) == 0;
  return meant && !get.get(nvme::get_log_sqe::ot) ? one.data_in(length) : ByteView{};
}

/// Each self-test that begins adds one result when it ends, and nothing else does.
class SelfTests final : public Subject {
 public:
  using Subject::Subject;

  void on_command(const Exchange& one) override {
    last_ = one.began;
    note_cause(one);
    if (!one.is(AdminOpcode::device_self_test)) return;
    states_.try_emplace(one.controller);
    for (auto& [controller, state] : states_) {
      if (controller->subsystem != one.controller->subsystem) continue;
      state.touched = one.began;
      // Whether controllers have their self-tests in common is their own choice.
      if (controller != one.controller || state.open != 0) state.known = false;
    }
    ++states_[one.controller].open;
  }
  void on_abandoned(const Exchange& one) override {
    last_ = one.ended;
    if (!one.is(AdminOpcode::device_self_test)) return;
    State& state = states_[one.controller];
    state.lost = true;
    state.open -= state.open != 0 ? 1 : 0;
  }
  void on_answer(const Exchange& one) override {
    last_ = one.ended;
    if (one.is(AdminOpcode::device_self_test)) return on_started(one);
    if (one.is(AdminOpcode::nvme_mi_send) || one.is(AdminOpcode::firmware_commit)) return on_unsure(one.controller->subsystem);
    const ByteView log = whole_log(one, LogPage::self_test, nvme::SelfTestLog::size);
    if (!log.empty()) on_log(one, log);
  }
  void on_controller_end(const Controller& controller) override {
    states_.erase(&controller);
    each(controller.subsystem, [](State& state) { state.causes.insert(SelfTestOutcome::aborted_by_reset); });
  }
  void on_reset(const Controller& controller) override {
    each(controller.subsystem, [](State& state) { state.causes.insert(SelfTestOutcome::aborted_by_reset); });
  }
  void on_unsure(const Subsystem* subsystem) override {
    each(subsystem, [&](State& state) {
      state.known = false;
      state.touched = last_;
    });
  }

 private:
  static constexpr std::size_t kResult = nvme::SelfTestResult::size;
  struct Test {
    unsigned code = 0;
    std::uint32_t nsid = 0;
  };
  struct State {
    bool known = false, lost = false;
    unsigned open = 0;  // commands under way
    unsigned operation = 0, percent = 0;
    std::uint32_t nsid = 0;                 // of the operation, where it is known
    std::vector<Test> started = {};         // since the log was read
    std::set<SelfTestOutcome> causes = {};  // what may have ended a test since then
    std::set<std::uint32_t> formatted = {};
    Bytes results = {};
    std::uint64_t touched = 0, packet = 0;
  };

  template <class Visit>
  void each(const Subsystem* subsystem, Visit&& visit) {
    for (auto& [controller, state] : states_) {
      if (subsystem == nullptr || controller->subsystem == subsystem) visit(state);
    }
  }
  /// Of outcomes that say why a test was aborted.
  void note_cause(const Exchange& one) {
    std::optional<SelfTestOutcome> cause;
    if (one.is(AdminOpcode::sanitize)) cause = SelfTestOutcome::aborted_by_sanitize;
    if (one.is(AdminOpcode::format_nvm)) cause = SelfTestOutcome::aborted_by_format;
    const bool removes =
        one.is(AdminOpcode::namespace_management) || one.is(AdminOpcode::namespace_attachment) || one.is(AdminOpcode::capacity_management);
    if (removes) cause = SelfTestOutcome::aborted_by_removal;
    const bool aborts =
        one.is(AdminOpcode::device_self_test) && one.command<nvme::SelfTestSqe>().get(nvme::self_test_sqe::stc) == SelfTestCode::abort;
    if (aborts) cause = SelfTestOutcome::aborted_by_command;
    if (one.is(nvme::FabricsType::property_set)) cause = SelfTestOutcome::aborted_by_reset;
    if (!cause) return;
    each(one.controller->subsystem, [&](State& state) {
      state.causes.insert(*cause);
      if (one.is(AdminOpcode::format_nvm)) state.formatted.insert(one.nsid());
    });
  }

  void on_started(const Exchange& one) {
    State& state = states_[one.controller];
    if (state.open == 0) state.known = false;
    state.open -= state.open != 0 ? 1 : 0;
    state.touched = one.ended;
    const SelfTestCode code = one.command<nvme::SelfTestSqe>().get(nvme::self_test_sqe::stc);
    if (!one.ok() || code == SelfTestCode::abort) return;
    state.started.push_back({static_cast<unsigned>(code), one.nsid()});
  }

  void on_log(const Exchange& one, ByteView log) {
    State& state = states_[one.controller];
    if (!complete_ || state.lost || state.open != 0 || state.touched >= one.began) return;
    const View<nvme::SelfTestLog> view{log};
    const ByteView results = view.get(nvme::self_test_log::results);
    const unsigned operation = view.get(nvme::self_test_log::operation), percent = view.get(nvme::self_test_log::percent);
    if (state.known) judge(state, operation, percent, results);
    state.known = true;
    // Of several that began, which one goes on is the one that began last.
    if (!state.started.empty()) state.nsid = state.started.back().nsid;
    state.operation = operation;
    state.percent = percent;
    state.started.clear();
    state.causes.clear();
    state.formatted.clear();
    state.results.assign(results.begin(), results.end());
    state.packet = one.packet;
  }

  void judge(const State& state, unsigned operation, unsigned percent, ByteView results) {
    judged(Rule::oracle_self_test);
    std::vector<Test> ended;
    if (state.operation != 0) ended.push_back({state.operation, state.nsid});
    ended.insert(ended.end(), state.started.begin(), state.started.end());
    if (operation != 0) {
      if (ended.empty() || ended.back().code != operation) {
        return say(Rule::oracle_self_test,
                   fmt::format("self-test {:X}h is going on, and by packet {} and the commands since it is {}", operation, state.packet,
                               ended.empty() ? "none" : fmt::format("{:X}h", ended.back().code)));
      }
      ended.pop_back();
    }
    if (operation != 0 && state.started.empty() && percent < state.percent) {
      say(Rule::oracle_self_test,
          fmt::format("{} percent of a self-test are done, and {} were by packet {}", percent, state.percent, state.packet));
    }
    const std::size_t added = std::min<std::size_t>(ended.size(), nvme::kSelfTestResults);
    for (std::size_t i = 0; i < added; ++i) {
      const Test& test = ended[ended.size() - 1 - i];
      const unsigned code = results[i * kResult] >> 4, expected = test.code;
      const bool unused = (results[i * kResult] & 0xF) == nvme::kSelfTestUnused;
      if (code == expected && !unused) {
        judge_result(state, test, View<nvme::SelfTestResult>{results.subspan(i * kResult, kResult)});
        continue;
      }
      return say(Rule::oracle_self_test, fmt::format("result {} is {} code {:X}h, and self-test {:X}h has ended", i,
                                                     unused ? "unused, with" : "of", code, expected));
    }
    const auto kept = results.begin() + static_cast<std::ptrdiff_t>(added * kResult);
    if (std::equal(kept, results.end(), state.results.begin())) return;
    say(Rule::oracle_self_test, fmt::format("results of self-tests are not those of packet {} behind {} new ones", state.packet, added));
  }

  /// An outcome that names a cause has one, and the namespace is that of the command.
  void judge_result(const State& state, const Test& test, const View<nvme::SelfTestResult>& result) {
    const auto outcome = static_cast<SelfTestOutcome>(result.get(nvme::self_test_result::result));
    const bool names_cause = (outcome >= SelfTestOutcome::aborted_by_command && outcome <= SelfTestOutcome::aborted_by_format) ||
                             outcome == SelfTestOutcome::aborted_by_sanitize;
    bool caused = !names_cause || state.causes.count(outcome) != 0;
    const bool of_one = test.nsid != 0 && test.nsid != nvme::kAllNamespaces;
    if (outcome == SelfTestOutcome::aborted_by_format && of_one) {
      caused = state.formatted.count(test.nsid) != 0 || state.formatted.count(nvme::kAllNamespaces) != 0;
    }
    if (!caused) {
      say(Rule::oracle_self_test, fmt::format("a self-test has result {:X}h, and nothing has happened since packet {} that causes it",
                                              static_cast<unsigned>(outcome), state.packet));
    }
    const bool valid = (result.get(nvme::self_test_result::valid) & nvme::self_test_valid_bits::nsid) != 0;
    const std::uint32_t nsid = result.get(nvme::self_test_result::nsid);
    if (valid && of_one && nsid != test.nsid) {
      say(Rule::oracle_self_test, fmt::format("the result of a self-test of namespace {:#x} names {:#x}", test.nsid, nsid));
    }
  }

  std::map<const Controller*, State, ByNumber> states_;
  std::uint64_t last_ = 0;
};

/// The Sanitize Status log, which all controllers of a subsystem share.
class Sanitizing final : public Subject {
 public:
  using Subject::Subject;

  void on_command(const Exchange& one) override {
    if (one.is(AdminOpcode::sanitize)) states_[one.controller->subsystem] = {.touched = one.began};
  }
  void on_abandoned(const Exchange& one) override {
    if (one.is(AdminOpcode::sanitize)) states_[one.controller->subsystem] = {.touched = ~std::uint64_t{0}};
  }
  void on_answer(const Exchange& one) override {
    State& state = states_[one.controller->subsystem];
    if (one.is(AdminOpcode::sanitize)) return on_sanitize(state, one);
    if (one.is(IoOpcode::write) && one.ok()) state.written = std::max(state.written, one.began);
    if ((one.is(IoOpcode::write) || one.is(IoOpcode::read)) && one.ok() && one.began > state.ended) state.served = true;
    const ByteView log = whole_log(one, LogPage::sanitize_status, nvme::SanitizeLog::size);
    if (!log.empty()) on_log(state, one, View<nvme::SanitizeLog>{log});
  }
  void on_unsure(const Subsystem* subsystem) override {
    std::erase_if(states_, [&](const auto& of) { return subsystem == nullptr || of.first == subsystem; });
  }

 private:
  struct State {
    std::optional<std::uint32_t> command = {};  // CDW10 of the operation
    bool in_progress = false;                   // when the log was read
    bool served = false;                        // a command with user data succeeded that was sent after that
    std::uint64_t ended = 0;                    // that reading
    unsigned progress = 0;
    std::uint64_t written = 0;  // the last time that user data was written
    std::uint64_t touched = 0, packet = 0;
  };

  static void on_sanitize(State& state, const Exchange& one) {
    if (state.touched > one.began) return;  // mixed with another
    state.touched = one.ended;
    const auto action = one.command<nvme::SanitizeSqe>().get(nvme::sanitize_sqe::sanact);
    const bool starts = action == nvme::SanitizeAction::block_erase || action == nvme::SanitizeAction::overwrite ||
                        action == nvme::SanitizeAction::crypto_erase;
    if (one.ok() && starts) state.command = one.command().get(nvme::sqe::cdw10);
  }

  void on_log(State& state, const Exchange& one, const View<nvme::SanitizeLog>& log) {
    namespace sl = nvme::sanitize_log;
    if (!complete_ || state.touched >= one.began) return;
    const SanitizeState now = log.get(sl::sos);
    const unsigned progress = log.get(sl::sprog);
    const bool in_progress = now == SanitizeState::in_progress;
    judged(Rule::oracle_sanitize);
    if (!in_progress && progress != nvme::kSanitizeNoProgress) {
      say(Rule::oracle_sanitize, fmt::format("SPROG is {:X}h, and no sanitize operation is in progress", progress));
    }
    if (state.command && (log.get(sl::scdw10) != *state.command || now == SanitizeState::never)) {
      say(Rule::oracle_sanitize, fmt::format("SCDW10 is {:#x} in state {}, and the operation began with {:#x}", log.get(sl::scdw10),
                                             static_cast<unsigned>(now), *state.command));
    }
    if (log.get(sl::gde) && state.written > std::max(state.touched, state.ended) && !in_progress) {
      say(Rule::oracle_sanitize, "Global Data Erased is set, and user data was written since");
    }
    // Media that are verified can be read, and are deallocated afterwards.
    const bool verifies = (log.get(sl::scdw10) >> 10 & 1) != 0;
    if (in_progress && state.in_progress && !verifies) {
      if (state.served) {
        say(Rule::oracle_sanitize,
            fmt::format("a Read or Write succeeds, and a sanitize operation is in progress since packet {}", state.packet));
      }
      if (progress < state.progress) say(Rule::oracle_sanitize, fmt::format("SPROG is {} after {}", progress, state.progress));
    }
    state.in_progress = in_progress;
    state.progress = progress;
    state.served = false;
    state.ended = one.ended;
    state.packet = one.packet;
  }

  std::map<const Subsystem*, State, ByNumber> states_;
};

}  // namespace

std::unique_ptr<Subject> follow_self_tests(Reporter& reporter, bool complete) { return std::make_unique<SelfTests>(reporter, complete); }
std::unique_ptr<Subject> follow_sanitizing(Reporter& reporter, bool complete) { return std::make_unique<Sanitizing>(reporter, complete); }

}  // namespace fb::oracle
