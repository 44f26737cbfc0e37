// SMART / Health Information: how many commands, and how much data, were read and written.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "conformance/oracle/subjects.h"
#include "wire/nvme/kv.h"
#include "wire/nvme/logs.h"

namespace fb::oracle {

namespace {

using nvme::AdminOpcode;
using nvme::IoOpcode;

/// What a counter counts.
enum Counter : std::size_t { read_commands, written_commands, read_bytes, written_bytes, kCounters };

struct Amounts {
  std::uint64_t of[kCounters] = {0, 0, 0, 0};
  Amounts& operator+=(const Amounts& more) {
    for (std::size_t i = 0; i < kCounters; ++i) of[i] += more.of[i];
    return *this;
  }
  Amounts& operator-=(const Amounts& less) {
    for (std::size_t i = 0; i < kCounters; ++i) of[i] -= less.of[i];
    return *this;
  }
};

/// Commands that are counted for sure, that are under way, and that may have been counted although they failed.
struct Tally {
  Amounts done, open, failed;
};

struct FieldOfLog {
  std::string_view name;
  std::size_t offset;
  std::uint64_t unit;  ///< a value v stands for (v - 1, v] units
};
constexpr FieldOfLog kFields[kCounters] = {
    {"Host Read Commands", nvme::smart::hrc.offset, 1},
    {"Host Write Commands", nvme::smart::hwc.offset, 1},
    {"Data Units Read", nvme::smart::dur.offset, 512'000},
    {"Data Units Written", nvme::smart::duw.offset, 512'000},
};

/// What one exchange is counted for: at least, and at most.
struct Counted {
  Amounts least, most;
};

/// Retrieve and Store read and write data; how many bytes of it, depends on the value and its key.
Counted counted_pair(const Exchange& one) {
  Counted made;
  const bool stores = one.sqe[0] == nvme::opcode_of(nvme::KvOpcode::store);
  if (!stores && one.sqe[0] != nvme::opcode_of(nvme::KvOpcode::retrieve)) return made;
  made.most.of[stores ? written_commands : read_commands] = 1;
  made.most.of[stores ? written_bytes : read_bytes] = one.length + nvme::kKvKeyMax + 512'000;
  return made;
}

Counted counted(const Exchange& one) {
  Counted made;
  if (one.admin() || one.fabrics() || !one.length_known) return made;
  if (one.key_value) return counted_pair(one);
  const std::uint64_t blocks = std::uint64_t{one.command<nvme::ReadWriteSqe>().get(nvme::rw_sqe::nlb).raw()} + 1;
  // Metadata may travel with the data and is not counted; a controller may read and write for commands without data.
  constexpr std::uint64_t kBlockMax = 64 << 10;
  constexpr std::uint64_t kCopiedMax = std::uint64_t{256} << 16;
  const auto reads = [](Amounts& amounts, std::uint64_t bytes) {
    amounts.of[read_commands] = 1;
    amounts.of[read_bytes] = bytes;
  };
  const auto writes = [](Amounts& amounts, std::uint64_t bytes) {
    amounts.of[written_commands] = 1;
    amounts.of[written_bytes] = bytes;
  };
  switch (static_cast<IoOpcode>(one.sqe[0])) {
    case IoOpcode::read:
      reads(made.least, std::min(one.length, blocks << 9));
      reads(made.most, one.length);
      break;
    case IoOpcode::write:
    case IoOpcode::zone_append:
      writes(made.least, std::min(one.length, blocks << 9));
      writes(made.most, one.length);
      break;
    case IoOpcode::compare:
    case IoOpcode::verify:
      reads(made.most, blocks * kBlockMax);
      break;
    case IoOpcode::write_zeroes:
    case IoOpcode::write_uncorrectable:
    case IoOpcode::dataset_management:
      writes(made.most, blocks * kBlockMax);
      break;
    case IoOpcode::copy:
      reads(made.most, kCopiedMax * kBlockMax);
      writes(made.most, kCopiedMax * kBlockMax);
      break;
    default:
      break;
  }
  return made;
}

class Smart final : public Subject {
 public:
  using Subject::Subject;

  void on_command(const Exchange& one) override {
    if (is_log(one)) {
      began_[one.number] = {tallies_[one.controller].done, of_subsystem_[one.controller->subsystem]};
      return;
    }
    const Counted amounts = counted(one);
    tallies_[one.controller].open += amounts.most;
    of_subsystem_[one.controller->subsystem].open += amounts.most;
  }

  void on_answer(const Exchange& one) override {
    if (is_log(one)) return on_log(one);
    const Counted amounts = counted(one);
    close(one, amounts);
    const Amounts nothing;
    tallies_[one.controller].done += one.ok() ? amounts.least : nothing;
    // The most that it may be counted for.
    of_subsystem_[one.controller->subsystem].done += amounts.most;
  }

  void on_abandoned(const Exchange& one) override {
    began_.erase(one.number);
    if (is_log(one)) return;
    const Counted amounts = counted(one);
    close(one, amounts);
    // It may be carried out at any time from now on: what is counted above stands for that only until the next reading.
    of_subsystem_[one.controller->subsystem].failed += amounts.most;
  }

  void on_controller_end(const Controller& controller) override {
    tallies_.erase(&controller);
    anchors_.erase(&controller);
  }

  void on_unsure(const Subsystem* subsystem) override {
    std::erase_if(anchors_, [&](const auto& anchor) { return subsystem == nullptr || anchor.first->subsystem == subsystem; });
    // Readings that are under way began before.
    for (auto& [number, began] : began_) began.spoilt = true;
  }

 private:
  struct Began {
    Amounts least;  // done by this controller
    Tally most;     // of the subsystem
    bool spoilt = false;
  };
  struct Anchor {
    std::uint64_t low[kCounters], high[kCounters];  // what the counter stood at, in its smallest unit
    Amounts least_done, least_open;                 // when the log was returned
    Amounts most;                                   // when it was asked for
  };

  static bool is_log(const Exchange& one) {
    if (!one.is(AdminOpcode::get_log_page)) return false;
    const auto get = one.command<nvme::GetLogPageSqe>();
    const bool all = one.nsid() == 0 || one.nsid() == nvme::kAllNamespaces;
    return all && get.get(nvme::get_log_sqe::lid) == static_cast<std::uint8_t>(nvme::LogPage::smart) && nvme::log_offset(get) == 0 &&
           nvme::log_length(get) >= nvme::SmartLog::size && !get.get(nvme::get_log_sqe::ot);
  }

  void close(const Exchange& one, const Counted& amounts) {
    tallies_[one.controller].open -= amounts.most;
    of_subsystem_[one.controller->subsystem].open -= amounts.most;
  }

  static Amounts all_of(const Tally& tally) {
    Amounts sum = tally.done;
    sum += tally.open;
    sum += tally.failed;
    return sum;
  }

  void on_log(const Exchange& one) {
    const auto found = began_.find(one.number);
    if (found == began_.end()) return;
    const Began began = found->second;
    began_.erase(found);
    const ByteView log = one.data_in(nvme::SmartLog::size);
    if (!one.ok() || log.empty() || !complete_) return;
    const Controller* const controller = one.controller;
    Tally& mine = tallies_[controller];
    const Amounts most_now = all_of(of_subsystem_[controller->subsystem]);
    Anchor made;
    made.least_done = mine.done;
    made.least_open = mine.open;
    made.most = began.most.done;
    const auto anchor = anchors_.find(controller);
    const bool compare = anchor != anchors_.end() && !began.spoilt;
    bool counts = false;
    for (const FieldOfLog& field : kFields) counts = counts || load_le<std::uint64_t>(&log[field.offset]) != 0;
    for (std::size_t i = 0; i < kCounters; ++i) {
      const std::uint64_t value = load_le<std::uint64_t>(&log[kFields[i].offset]), unit = kFields[i].unit;
      made.high[i] = value * unit;
      made.low[i] = value == 0 ? 0 : (value - 1) * unit + 1;
      if (!compare) continue;
      const Anchor& then = anchor->second;
      const std::uint64_t taken = then.least_done.of[i] + then.least_open.of[i];
      const std::uint64_t least = then.low[i] + (began.least.of[i] > taken ? began.least.of[i] - taken : 0);
      const std::uint64_t most = then.high[i] + most_now.of[i] - then.most.of[i];
      judge(kFields[i], value, least, most, counts);
      made.low[i] = std::clamp(made.low[i], std::min(least, made.high[i]), made.high[i]);
      made.high[i] = std::clamp(made.high[i], made.low[i], std::max(most, made.low[i]));
    }
    if (!began.spoilt) anchors_[controller] = made;
  }

  void judge(const FieldOfLog& field, std::uint64_t value, std::uint64_t least, std::uint64_t most, bool counts) {
    judged(Rule::oracle_smart);
    const std::uint64_t from = (least + field.unit - 1) / field.unit, to = (most + field.unit - 1) / field.unit;
    if (value > to || (value < from && counts)) {
      say(Rule::oracle_smart, fmt::format("{} is {}; by the commands since the log was read before it is {}", field.name, value,
                                          from == to ? fmt::format("{}", from) : fmt::format("from {} to {}", from, to)));
    }
  }

  std::map<const Controller*, Tally, ByNumber> tallies_;      // done: at least
  std::map<const Subsystem*, Tally, ByNumber> of_subsystem_;  // done: at most
  std::map<const Controller*, Anchor, ByNumber> anchors_;
  std::map<std::uint64_t, Began> began_;
};

}  // namespace

std::unique_ptr<Subject> follow_smart(Reporter& reporter, bool complete) { return std::make_unique<Smart>(reporter, complete); }

}  // namespace fb::oracle
