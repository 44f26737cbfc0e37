// The Error Information log: an entry for each command that fails with the More bit, and none for anything else.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "conformance/oracle/subjects.h"
#include "wire/nvme/logs.h"

namespace fb::oracle {

namespace {

using nvme::AdminOpcode;
namespace entry = nvme::error_entry;

constexpr std::size_t kFailedKept = 4096;
constexpr std::uint16_t kNoQueue = 0xFFFF;

struct Failed {
  std::uint16_t sqid = 0, cid = 0;
  nvme::Status status;
  bool io = false;
  std::uint8_t opcode = 0;
  std::uint32_t nsid = 0;
  std::uint64_t slba = 0, blocks = 0;
  std::uint64_t began = 0, ended = 0;
  bool more = false;
};

struct Entry {
  std::uint64_t count = 0;
  View<nvme::ErrorEntry> view;
};

class Errors final : public Subject {
 public:
  using Subject::Subject;

  void on_command(const Exchange& one) override {
    State& state = states_[one.controller];
    if (is_smart(one)) state.counting[one.number] = state.more;
    ++state.open[{*one.queue->qid, one.command().get(nvme::sqe::cid)}];
    ++state.outstanding;
  }

  void on_answer(const Exchange& one) override {
    State& state = states_[one.controller];
    close(state, one);
    if (!one.ok()) keep(state, one);
    if (is_log(one) && one.ok()) on_log(state, one);
    if (is_smart(one)) on_smart(state, one);
  }

  void on_abandoned(const Exchange& one) override {
    State& state = states_[one.controller];
    state.counting.erase(one.number);
    close(state, one);
    // It may have failed, or fail yet.
    state.newest.reset();
    state.entries.reset();
  }

  void on_controller_end(const Controller& controller) override { states_.erase(&controller); }

  void on_reset(const Controller& controller) override {
    states_[&controller].newest.reset();
    states_[&controller].entries.reset();
  }

  void on_unsure(const Subsystem* subsystem) override {
    for (auto& [controller, state] : states_) {
      if (subsystem != nullptr && controller->subsystem != subsystem) continue;
      state.newest.reset();
      state.entries.reset();
      state.counting.clear();
    }
  }

 private:
  struct Counted {  // what the SMART log said
    std::uint64_t value = 0;
    std::uint64_t more = 0, outstanding = 0;  // when it was answered
  };
  struct State {
    std::deque<Failed> failures;
    std::map<std::pair<std::uint16_t, std::uint16_t>, unsigned> open;
    std::uint64_t outstanding = 0, more = 0, failed = 0;
    std::optional<std::uint64_t> newest;  // count of the newest entry when the log was read last
    std::uint64_t read_ended = 0;
    std::map<std::uint64_t, std::uint64_t> counting;  // reads of the SMART log under way: failures with More before
    std::optional<Counted> entries;
  };

  static bool is_page(const Exchange& one, nvme::LogPage page, std::size_t bytes) {
    if (!one.is(AdminOpcode::get_log_page)) return false;
    const auto get = one.command<nvme::GetLogPageSqe>();
    return get.get(nvme::get_log_sqe::lid) == static_cast<std::uint8_t>(page) && nvme::log_offset(get) == 0 &&
           nvme::log_length(get) >= bytes && !get.get(nvme::get_log_sqe::ot);
  }
  static bool is_log(const Exchange& one) { return is_page(one, nvme::LogPage::error_information, nvme::ErrorEntry::size); }
  static bool is_smart(const Exchange& one) { return is_page(one, nvme::LogPage::smart, nvme::SmartLog::size); }

  static void close(State& state, const Exchange& one) {
    const auto open = state.open.find({*one.queue->qid, one.command().get(nvme::sqe::cid)});
    if (open == state.open.end()) return;
    if (--open->second == 0) state.open.erase(open);
    --state.outstanding;
  }

  static void keep(State& state, const Exchange& one) {
    const auto command = one.command<nvme::ReadWriteSqe>();
    Failed made{*one.queue->qid,
                command.get(nvme::sqe::cid),
                one.status(),
                !one.admin() && !one.fabrics(),
                one.sqe[0],
                one.nsid(),
                command.get(nvme::rw_sqe::slba),
                command.get(nvme::rw_sqe::nlb).count(),
                one.began,
                one.ended,
                one.status().more()};
    state.more += made.more ? 1 : 0;
    ++state.failed;
    state.failures.push_back(made);
    if (state.failures.size() <= kFailedKept) return;
    state.failures.pop_front();
    state.newest.reset();
  }

  void on_log(State& state, const Exchange& one) {
    const ByteView data = one.in.front();
    const std::uint64_t asked = nvme::log_length(one.command<nvme::GetLogPageSqe>());
    if (!one.in.holds(std::min<std::uint64_t>(asked, one.length))) return;
    std::vector<Entry> entries;
    bool ended = false;  // the log goes on behind an entry that was lost, and ends with those that were never used
    judged(Rule::oracle_error_order);
    constexpr std::size_t kEntry = nvme::ErrorEntry::size;
    for (std::size_t at = 0; at + kEntry <= data.size() && at + kEntry <= asked; at += kEntry) {
      const View<nvme::ErrorEntry> view{data.subspan(at, kEntry)};
      const std::uint64_t count = view.get(entry::error_count);
      if (count == 0) {
        ended = true;
        continue;
      }
      ended = false;
      if (!entries.empty() && count >= entries.back().count) {
        return say(Rule::oracle_error_order,
                   fmt::format("entry {} has error count {} behind {}", at / kEntry, count, entries.back().count));
      }
      entries.push_back({count, view});
    }
    compare(state, one, entries, ended);
    state.newest = entries.empty() ? 0 : entries.front().count;
    state.read_ended = one.ended;
  }

  /// The entries since the log was read last, against the commands that failed since.
  void compare(State& state, const Exchange& one, const std::vector<Entry>& entries, bool all_seen) {
    // With as many entries as commands failed with More, all of them are this controller's.
    const bool all_ours =
        complete_ && all_seen && !state.newest && entries.size() == state.more && state.more != 0 && state.failures.size() == state.failed;
    if (!state.newest && !all_ours) return;
    const std::uint64_t newest = state.newest.value_or(0), since = state.newest ? state.read_ended : 0;
    judged(Rule::oracle_error_entry, Rule::oracle_error_missing);
    std::set<std::size_t> told;
    const Failed* later = nullptr;
    for (const Entry& made : entries) {
      if (made.count <= newest) {
        all_seen = true;
        break;
      }
      const Failed* const meant = match(state, made, told);
      if (meant == nullptr) continue;
      const bool earlier = later == nullptr || later->sqid != meant->sqid || meant->began <= later->ended;
      if (!earlier) {
        say(Rule::oracle_error_order,
            fmt::format("the entry of command {} of queue {} is older than that of command {}, which failed before", meant->cid,
                        meant->sqid, later->cid));
      }
      later = meant;
    }
    if (!all_seen) return;
    for (std::size_t i = 0; i < state.failures.size(); ++i) {
      const Failed& failed = state.failures[i];
      if (!failed.more || failed.began <= since || failed.ended >= one.began || told.count(i) != 0) continue;
      say(Rule::oracle_error_missing, fmt::format("command {} of queue {} failed with {} and More set, and has no entry", failed.cid,
                                                  failed.sqid, to_string(failed.status)));
    }
  }

  /// The command that an entry is about; nothing where that is not clear.
  const Failed* match(const State& state, const Entry& made, std::set<std::size_t>& told) {
    const std::uint16_t sqid = made.view.get(entry::sqid), cid = made.view.get(entry::cid);
    if (sqid == kNoQueue || cid == kNoQueue) return nullptr;
    const auto named = [&](const Failed& failed) { return failed.sqid == sqid && failed.cid == cid; };
    const Failed* best = nullptr;
    std::string why;
    std::size_t matches = 0;
    for (std::size_t i = 0; i < state.failures.size(); ++i) {
      const Failed& failed = state.failures[i];
      if (!named(failed)) continue;
      std::string differs = difference(made, failed);
      if (!differs.empty()) {
        why = std::move(differs);
        continue;
      }
      told.insert(i);
      best = &failed;
      ++matches;
    }
    if (matches != 0) return matches == 1 ? best : nullptr;
    // It may be about one whose completion is still to come.
    if (state.open.count({sqid, cid}) != 0) return nullptr;
    say(Rule::oracle_error_entry, fmt::format("the entry with error count {} names command {} of queue {}, {}", made.count, cid, sqid,
                                              why.empty() ? std::string("which did not fail") : why));
    return nullptr;
  }

  /// A status for which no transport can be the reason.
  static bool is_of_the_command(nvme::Status status) {
    return same_code(status, nvme::sc::invalid_opcode) || same_code(status, nvme::sc::invalid_namespace_or_format) ||
           same_code(status, nvme::sc::lba_out_of_range);
  }

  static std::string difference(const Entry& made, const Failed& failed) {
    const nvme::Status status = made.view.get(entry::status);
    if (!same_code(status, failed.status)) {
      return fmt::format("whose status was {}, with {}", to_string(failed.status), to_string(status.of(failed.opcode)));
    }
    const std::uint32_t nsid = made.view.get(entry::nsid);
    if (failed.io && nsid != failed.nsid) return fmt::format("whose NSID was {:#x}, with {:#x}", failed.nsid, nsid);
    const bool blocks = failed.io && (failed.opcode == 0x01 || failed.opcode == 0x02 || failed.opcode == 0x05);
    const std::uint64_t lba = made.view.get(entry::lba);
    if (blocks && lba != 0 && (lba < failed.slba || lba - failed.slba >= failed.blocks)) {
      return fmt::format("of LBAs {} to {}, with LBA {}", failed.slba, failed.slba + failed.blocks - 1, lba);
    }
    const std::uint8_t trtype = made.view.get(entry::trtype);
    if (trtype != 0 && is_of_the_command(failed.status)) {
      return fmt::format("whose status is no error of a transport, with TRTYPE {}", trtype);
    }
    const bool opcode_valid = made.view.get(entry::lpver) >= 1;
    if (opcode_valid && made.view.get(entry::opc) != failed.opcode) {
      return fmt::format("whose opcode was {:02X}h, with {:02X}h", failed.opcode, made.view.get(entry::opc));
    }
    return {};
  }

  void on_smart(State& state, const Exchange& one) {
    const auto found = state.counting.find(one.number);
    if (found == state.counting.end()) return;
    const std::uint64_t asked = found->second;
    state.counting.erase(found);
    const ByteView log = one.data_in(nvme::SmartLog::size);
    if (!one.ok() || log.empty()) return;
    const std::uint64_t value = load_le<std::uint64_t>(&log[nvme::smart::neile.offset]);
    if (state.entries) {
      const Counted& then = *state.entries;
      const std::uint64_t taken = then.more + then.outstanding;
      // There is no most: an error of no command makes an entry too, and so may a failure without More.
      const std::uint64_t least = then.value + (asked > taken ? asked - taken : 0);
      judged(Rule::oracle_error_count);
      if (value < least) {
        say(Rule::oracle_error_count,
            fmt::format("{} error log entries are counted; by the commands that failed with More since {} were, it is {} at least", value,
                        then.value, least));
      }
    }
    state.entries = Counted{value, state.more, state.outstanding};
  }

  template <class... Rules>
  void judged(Rules... rules) {
    (Subject::judged(rules), ...);
  }

  std::map<const Controller*, State, ByNumber> states_;
};

}  // namespace

std::unique_ptr<Subject> follow_errors(Reporter& reporter, bool complete) { return std::make_unique<Errors>(reporter, complete); }

}  // namespace fb::oracle
