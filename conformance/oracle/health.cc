// SMART / Health Information and Endurance Group Information: what they count over a life never goes back.
#include <fmt/format.h>

#include <map>
#include <string_view>

#include "conformance/oracle/subjects.h"
#include "wire/nvme/endurance.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/persistent_events.h"

namespace fb::oracle {

namespace {

using nvme::AdminOpcode;
using nvme::LogPage;

struct CounterOfLife {
  std::string_view name;
  std::size_t offset, bytes;
};
template <class Field>
constexpr CounterOfLife counter(std::string_view name, const Field& field) {
  return {name, field.offset, Field::size};
}
constexpr CounterOfLife kCounters[] = {
    counter("Power On Hours", nvme::smart::poh),
    counter("Power Cycles", nvme::smart::pwrc),
    counter("Controller Busy Time", nvme::smart::cbt),
    counter("Unexpected Power Losses", nvme::smart::upl),
    counter("Media and Data Integrity Errors", nvme::smart::mdie),
    counter("Warning Composite Temperature Time", nvme::smart::wctt),
    counter("Critical Composite Temperature Time", nvme::smart::cctt),
    counter("Thermal Management Temperature 1 Transition Count", nvme::smart::tmt1tc),
    counter("Thermal Management Temperature 2 Transition Count", nvme::smart::tmt2tc),
    counter("Total Time For Thermal Management Temperature 1", nvme::smart::ttftmt1),
    counter("Total Time For Thermal Management Temperature 2", nvme::smart::ttftmt2),
};
constexpr CounterOfLife kOfGroups[] = {
    counter("Data Units Read", nvme::endurance_group::dur),
    counter("Data Units Written", nvme::endurance_group::duw),
    counter("Media Units Written", nvme::endurance_group::muw),
    counter("Host Read Commands", nvme::endurance_group::hrc),
    counter("Host Write Commands", nvme::endurance_group::hwc),
    counter("Media and Data Integrity Errors", nvme::endurance_group::mdie),
    counter("Number of Error Information Log Entries", nvme::endurance_group::neile),
};
constexpr std::size_t kPowerOnHours = 0;
static_assert(kCounters[kPowerOnHours].offset == nvme::smart::poh.offset);

/// The low half of a counter of 16 bytes says enough.
std::uint64_t value_at(ByteView log, std::size_t offset, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes && i < 8; ++i) value |= std::uint64_t{log[offset + i]} << (8 * i);
  return value;
}

class Health final : public Subject {
 public:
  using Subject::Subject;

  void on_answer(const Exchange& one) override {
    // A group that was deleted and made again counts from the beginning.
    if (one.is(AdminOpcode::capacity_management)) {
      std::erase_if(known_, [&](const auto& of) { return of.first.subsystem == one.subsystem().number && of.first.group != 0; });
    }
    if (!one.ok() || !one.is(AdminOpcode::get_log_page)) return;
    const auto get = one.command<nvme::GetLogPageSqe>();
    if (nvme::log_offset(get) != 0 || get.get(nvme::get_log_sqe::ot)) return;
    const auto page = static_cast<LogPage>(get.get(nvme::get_log_sqe::lid));
    const bool all = one.nsid() == 0 || one.nsid() == nvme::kAllNamespaces;
    if (page == LogPage::smart && all) on_smart(one);
    if (page == LogPage::persistent_event) on_persistent(one, get.get(nvme::get_log_sqe::lsp));
    if (page == LogPage::endurance_group) on_group(one, get.get(nvme::get_log_sqe::lsi));
  }
  void on_controller_end(const Controller& controller) override {
    std::erase_if(known_, [&](const auto& of) { return of.first.controller == controller.number; });
  }
  void on_unsure(const Subsystem* subsystem) override {
    std::erase_if(known_, [&](const auto& of) { return subsystem == nullptr || of.first.subsystem == subsystem->number; });
  }

 private:
  struct Reading {
    std::uint64_t value = 0, packet = 0, ended = 0;
  };
  struct Key {
    std::uint64_t subsystem = 0, controller = 0;  // 0: of all
    unsigned group = 0;
    std::size_t counter = 0;  // its place in the table
    auto operator<=>(const Key&) const = default;
  };
  static Key of_controller(const Exchange& one, std::size_t counter) {
    return {one.subsystem().number, one.controller->number, 0, counter};
  }

  void on_smart(const Exchange& one) {
    const ByteView log = one.data_in(nvme::SmartLog::size);
    if (log.empty()) return;
    for (std::size_t i = 0; i < std::size(kCounters); ++i) {
      hold(one, of_controller(one, i), value_at(log, kCounters[i].offset, kCounters[i].bytes), kCounters[i].name, "the SMART log");
    }
  }
  /// A context that is established by the command is of that time.
  void on_persistent(const Exchange& one, unsigned lsp) {
    const ByteView log = one.in.front();
    const auto action = static_cast<nvme::PersistentLogAction>(lsp & 3);
    const bool now = action == nvme::PersistentLogAction::establish_and_read;
    if (!now || log.size() < nvme::PersistentLogHeader::size) return;
    hold(one, of_controller(one, kPowerOnHours), value_at(log, nvme::persistent_log::poh.offset, 8), kCounters[kPowerOnHours].name,
         "the Persistent Event log");
  }
  void on_group(const Exchange& one, unsigned group) {
    const ByteView log = one.data_in(nvme::EnduranceGroupLog::size);
    if (log.empty() || group == 0) return;
    for (std::size_t i = 0; i < std::size(kOfGroups); ++i) {
      hold(one, {one.subsystem().number, 0, group, i}, value_at(log, kOfGroups[i].offset, kOfGroups[i].bytes), kOfGroups[i].name,
           fmt::format("the log of endurance group {}", group));
    }
  }

  void hold(const Exchange& one, const Key& key, std::uint64_t value, std::string_view name, std::string_view where) {
    Reading& known = known_[key];
    if (known.ended >= one.began) return;  // at the same time as another
    if (known.ended != 0) {
      judged(Rule::oracle_smart);
      if (value < known.value) {
        say(Rule::oracle_smart, fmt::format("{} of {} is {}, and by packet {} it was {}", name, where, value, known.packet, known.value));
      }
    }
    known = {value, one.packet, one.ended};
  }

  std::map<Key, Reading> known_;
};

}  // namespace

std::unique_ptr<Subject> follow_health(Reporter& reporter, bool complete) { return std::make_unique<Health>(reporter, complete); }

}  // namespace fb::oracle
