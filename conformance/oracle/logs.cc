// Log pages: which there are, what they say of the commands, and generations that follow what they count.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "conformance/oracle/subjects.h"
#include "wire/fabrics/discovery_log.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/logs.h"

namespace fb::oracle {

namespace {

using nvme::AdminOpcode;
using nvme::IoOpcode;
using nvme::LogPage;

/// Whether an I/O command may be refused because of its namespace, although the controller has it.
bool depends_on_namespace(std::uint8_t opcode) {
  switch (static_cast<IoOpcode>(opcode)) {
    case IoOpcode::reservation_register:
    case IoOpcode::reservation_report:
    case IoOpcode::reservation_acquire:
    case IoOpcode::reservation_release:
    case IoOpcode::zone_management_send:
    case IoOpcode::zone_management_receive:
    case IoOpcode::zone_append:
    case IoOpcode::fabrics:
      return true;
    default:
      return false;
  }
}

class Logs final : public Subject {
 public:
  using Subject::Subject;

  void on_command(const Exchange& one) override {
    if (renews(one)) forget(*one.controller->subsystem);
  }
  void on_abandoned(const Exchange& one) override {
    if (renews(one)) forget(*one.controller->subsystem);
  }
  void on_controller_end(const Controller& controller) override { states_.erase(&controller); }
  void on_reset(const Controller& controller) override { states_.erase(&controller); }
  void on_unsure(const Subsystem* subsystem) override {
    for (auto& [controller, state] : states_) {
      if (subsystem == nullptr || controller->subsystem == subsystem) state.supported = state.effects = {};
    }
  }

  void on_answer(const Exchange& one) override {
    if (one.fabrics()) return;
    if (renews(one)) forget(*one.controller->subsystem);
    State& state = states_[one.controller];
    judge_opcode(state, one);
    if (!one.is(AdminOpcode::get_log_page)) return;
    const auto get = one.command<nvme::GetLogPageSqe>();
    judge_page(state, one, get);
    if (!one.ok() || get.get(nvme::get_log_sqe::ot)) return;
    const std::uint64_t offset = nvme::log_offset(get), length = std::min(nvme::log_length(get), one.length);
    const ByteView data = one.data_in(length);
    if (data.empty()) return;
    switch (static_cast<LogPage>(get.get(nvme::get_log_sqe::lid))) {
      case LogPage::supported_pages:
        if (offset == 0 && data.size() >= nvme::SupportedPages::size) state.supported.assign(data.begin(), data.end());
        return;
      case LogPage::commands_effects:
        if (offset == 0 && data.size() >= nvme::CommandEffects::size && get.get(nvme::get_log_sqe::csi) == 0) {
          state.effects.assign(data.begin(), data.end());
        }
        return;
      case LogPage::ana:
        if (offset == 0 && get.get(nvme::get_log_sqe::lsp) == 0) on_ana(state, one, data);
        return;
      case LogPage::discovery:
        return on_discovery(state, offset, data);
      default:
        return;
    }
  }

 private:
  struct State {
    Bytes supported, effects;
    // The last read of the ANA log.
    std::uint64_t ana_count = 0, ana_ended = 0;
    std::map<std::uint32_t, nvme::AnaGroup> groups = {};
    // Of the discovery log: the generation that was read last, its number of records, and the records where all were read.
    bool has_generation = false;
    std::uint64_t generation = 0, records = 0;
    Bytes whole;
  };

  /// Commands behind which the controller may have other commands and log pages.
  static bool renews(const Exchange& one) {
    return one.is(AdminOpcode::firmware_commit) || one.is(AdminOpcode::lockdown) || one.is(AdminOpcode::nvme_mi_send) ||
           one.is(AdminOpcode::set_features) || one.is(nvme::FabricsType::property_set);
  }
  void forget(const Subsystem& subsystem) {
    for (auto& [controller, state] : states_) {
      if (controller->subsystem == &subsystem) state.supported = state.effects = {};
    }
  }

  void judge_page(const State& state, const Exchange& one, const View<nvme::GetLogPageSqe>& get) {
    if (state.supported.empty() || get.get(nvme::get_log_sqe::uidx) != 0) return;
    const std::uint8_t lid = get.get(nvme::get_log_sqe::lid);
    const bool claimed = (load_le<std::uint32_t>(&state.supported[4u * lid]) & 1) != 0;
    judged(Rule::oracle_log_supported);
    if (claimed ? !nvme::same_code(one.status(), nvme::sc::invalid_log_page) : !one.ok()) return;
    say(Rule::oracle_log_supported, fmt::format("Get Log Page of {:02X}h, which Supported Log Pages {}, completes with {}", lid,
                                                claimed ? "claims" : "does not claim", to_string(one.status())));
  }

  void judge_opcode(const State& state, const Exchange& one) {
    if (state.effects.empty() || one.subsystem().discovery) return;
    if (!one.admin() && (one.controller->may_have_key_values || depends_on_namespace(one.sqe[0]))) return;
    const std::size_t at = (one.admin() ? 0u : 1024u) + 4u * one.sqe[0];
    const bool claimed = (load_le<std::uint32_t>(&state.effects[at]) & 1) != 0;
    judged(Rule::oracle_effects);
    if (claimed ? !nvme::same_code(one.status(), nvme::sc::invalid_opcode) : !one.ok()) return;
    say(Rule::oracle_effects, fmt::format("{} command {:02X}h, whose CSUPP is {}, completes with {}", one.admin() ? "Admin" : "I/O",
                                          one.sqe[0], claimed ? 1 : 0, to_string(one.status())));
  }

  void on_ana(State& state, const Exchange& one, ByteView data) {
    nvme::AnaWalk walk(data);
    std::map<std::uint32_t, nvme::AnaGroup> groups;
    judged(Rule::oracle_ana);
    std::uint32_t last = 0;
    std::set<std::uint32_t> members;
    for (nvme::AnaGroup group; walk.next(group);) {
      judge_group(one, group, last, members);
      last = group.id;
      groups[group.id] = group;
    }
    judge_group_count(one, groups.size());
    if (walk.damaged() || groups.size() != View<nvme::AnaHeader>{data}.get(nvme::ana_header::nagd)) return;
    const std::uint64_t count = walk.change_count();
    if (state.ana_ended != 0 && state.ana_ended < one.began) judge_ana(state, groups, count);
    state.groups = std::move(groups);
    state.ana_count = count;
    state.ana_ended = one.ended;
  }

  /// Groups ascend, and so do the namespaces of each; a namespace is in one group alone.
  void judge_group(const Exchange& one, const nvme::AnaGroup& group, std::uint32_t last, std::set<std::uint32_t>& members) {
    const auto& ids = group.namespaces;
    const bool ordered = std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) == ids.end();
    if (group.id <= last) say(Rule::oracle_ana, fmt::format("ANA group {} stands behind group {}", group.id, last));
    if (!ordered) say(Rule::oracle_ana, fmt::format("the namespaces of ANA group {} do not ascend", group.id));
    for (const std::uint32_t nsid : ids) {
      if (!members.insert(nsid).second) say(Rule::oracle_ana, fmt::format("namespace {:#x} is in two ANA groups", nsid));
    }
    if (one.controller->declared.size() < nvme::kIdentifySize) return;
    const View<nvme::IdentifyController> page{one.controller->declared};
    if (group.id > page.get(nvme::id_ctrl::anagrpmax)) {
      say(Rule::oracle_ana, fmt::format("ANA group {} is above ANAGRPMAX, which is {}", group.id, page.get(nvme::id_ctrl::anagrpmax)));
    }
  }
  void judge_group_count(const Exchange& one, std::size_t groups) {
    if (one.controller->declared.size() < nvme::kIdentifySize) return;
    const std::uint32_t most = View<nvme::IdentifyController>{one.controller->declared}.get(nvme::id_ctrl::nanagrpid);
    if (groups > most) say(Rule::oracle_ana, fmt::format("there are {} ANA groups, and NANAGRPID is {}", groups, most));
  }

  void judge_ana(const State& state, const std::map<std::uint32_t, nvme::AnaGroup>& groups, std::uint64_t count) {
    judged(Rule::oracle_ana);
    bool other = false;
    for (const auto& [id, group] : groups) {
      const auto then = state.groups.find(id);
      if (then == state.groups.end()) continue;
      const nvme::AnaGroup& was = then->second;
      // Whether namespaces that come and go count is not said.
      const bool moved = group.state != was.state;
      other = other || moved;
      // 0: the controller does not count.
      if (group.change_count == 0 || was.change_count == 0) continue;
      if (group.change_count < was.change_count || (moved && group.change_count == was.change_count)) {
        say(Rule::oracle_ana, fmt::format("ANA group {} has change count {} after {}, {}", id, group.change_count, was.change_count,
                                          moved ? "and another state" : "and the same state"));
      }
    }
    if (count < state.ana_count || (other && count == state.ana_count)) {
      say(Rule::oracle_ana, fmt::format("the ANA log has change count {} after {}, and its groups have {} states", count, state.ana_count,
                                        other ? "other" : "the same"));
    }
  }

  void on_discovery(State& state, std::uint64_t offset, ByteView data) {
    using Header = fabrics::DiscoveryHeader;
    if (offset != 0) return judge_records(state, offset, data);
    if (data.size() < 16) return;
    const std::uint64_t generation = load_le<std::uint64_t>(&data[0]), records = load_le<std::uint64_t>(&data[8]);
    judged(Rule::oracle_discovery);
    const bool same = state.has_generation && state.generation == generation;
    if (state.has_generation && generation < state.generation && state.generation != ~std::uint64_t{0}) {
      say(Rule::oracle_discovery, fmt::format("GENCTR is {} after {}", generation, state.generation));
    }
    if (same && records != state.records) {
      say(Rule::oracle_discovery, fmt::format("NUMREC is {} after {}, with the same GENCTR {}", records, state.records, generation));
    }
    const std::uint64_t size = Header::size * (records + 1);
    const bool whole = data.size() >= size && records < 4096;
    const ByteView log = whole ? data.first(static_cast<std::size_t>(size)) : ByteView{};
    if (whole && same && !state.whole.empty() && !std::equal(state.whole.begin(), state.whole.end(), log.begin(), log.end())) {
      say(Rule::oracle_discovery, fmt::format("records have changed, and GENCTR is still {}", generation));
    }
    if (!same) state.whole.clear();
    if (whole) state.whole.assign(log.begin(), log.end());
    state.has_generation = true;
    state.generation = generation;
    state.records = records;
  }

  /// What is read from an offset are records, with names.
  void judge_records(const State& state, std::uint64_t offset, ByteView data) {
    constexpr std::uint64_t kRecord = fabrics::DiscoveryHeader::size;
    constexpr std::size_t kSubnqn = 256;
    constexpr std::string_view kNqn = "nqn.";
    if (!state.has_generation || offset % kRecord != 0) return;
    for (std::uint64_t at = 0; at + kRecord <= data.size(); at += kRecord) {
      if ((offset + at) / kRecord > state.records) return;
      judged(Rule::oracle_discovery);
      const ByteView name = data.subspan(static_cast<std::size_t>(at) + kSubnqn, kNqn.size());
      if (std::equal(name.begin(), name.end(), kNqn.begin())) continue;
      return say(Rule::oracle_discovery, fmt::format("the discovery log has no record with a SUBNQN at offset {}", offset + at));
    }
  }

  std::map<const Controller*, State, ByNumber> states_;
};

}  // namespace

std::unique_ptr<Subject> follow_logs(Reporter& reporter, bool complete) { return std::make_unique<Logs>(reporter, complete); }

}  // namespace fb::oracle
