// Streams: which are enabled, allocated and open, and how many are left; and what Lockdown prohibits.
#include "wire/nvme/directives.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "conformance/oracle/subjects.h"
#include "wire/nvme/features.h"
#include "wire/nvme/lockdown.h"
#include "wire/nvme/logs.h"

namespace fb::oracle {

namespace {

using nvme::AdminOpcode;
using nvme::DirectiveType;
using nvme::IoOpcode;
namespace ds = nvme::directive_sqe;
namespace op = nvme::directive_operation;

/// Streams of a host in a namespace, whatever controllers it uses.
class Streams final : public Subject {
 public:
  using Subject::Subject;

  void on_command(const Exchange& one) override {
    if (changes(one)) begin(one);
    if (one.is(IoOpcode::write) || one.is(IoOpcode::zone_append)) on_write(one);
  }
  void on_abandoned(const Exchange& one) override {
    if (changes(one)) forget(one.controller->subsystem);
  }
  void on_answer(const Exchange& one) override {
    if (!complete_ || one.subsystem().discovery) return;
    last_ = std::max(last_, one.ended);
    if (one.is(AdminOpcode::directive_receive) && !allocates(one)) return on_receive(one);
    if (!changes(one)) return;
    on_change(one);
    touched_[one.controller->subsystem] = one.ended;
  }
  // A reset disables what no other controller of the host keeps; whether one does is not followed.
  void on_reset(const Controller& controller) override { forget(controller.subsystem); }
  void on_controller_end(const Controller& controller) override { forget(controller.subsystem); }
  void on_unsure(const Subsystem* subsystem) override { forget(subsystem); }

 private:
  using Key = std::tuple<std::uint64_t, std::array<std::uint8_t, 16>, std::uint32_t>;  // subsystem, host, namespace
  struct State {
    std::optional<bool> enabled = {};
    std::optional<std::uint16_t> allocated = {};
    std::set<std::uint16_t> written = {};  // streams that writes named since nothing was open
    bool all_known = false;                // and no others
  };

  static bool allocates(const Exchange& one) {
    const auto command = one.command<nvme::DirectiveSqe>();
    return one.is(AdminOpcode::directive_receive) && command.get(ds::dtype) == DirectiveType::streams &&
           command.get(ds::doper) == op::streams_allocate;
  }
  static bool changes(const Exchange& one) {
    return one.is(AdminOpcode::directive_send) || allocates(one) || one.is(AdminOpcode::namespace_management) ||
           one.is(AdminOpcode::format_nvm) || one.is(AdminOpcode::set_features) || one.is(AdminOpcode::sanitize) ||
           one.is(AdminOpcode::capacity_management) || one.is(AdminOpcode::nvme_mi_send);
  }
  static Key key_of(const Exchange& one) { return {one.subsystem().number, one.controller->hostid, one.nsid()}; }

  void begin(const Exchange& one) {
    touched_[one.controller->subsystem] = one.began;
    last_ = std::max(last_, one.began);
  }
  void forget(const Subsystem* subsystem) {
    std::erase_if(states_, [&](const auto& of) { return subsystem == nullptr || std::get<0>(of.first) == subsystem->number; });
    touched_[subsystem] = last_;
    forgotten_.insert(subsystem == nullptr ? 0 : subsystem->number);
  }
  bool steady(const Exchange& one) { return touched_[one.controller->subsystem] < one.began && touched_[nullptr] < one.began; }

  void on_change(const Exchange& one) {
    if (!one.is(AdminOpcode::directive_send) && !allocates(one)) return forget(one.controller->subsystem);
    if (!one.ok()) return;
    const bool all = one.nsid() == nvme::kAllNamespaces;
    State& state = states_[key_of(one)];
    if (allocates(one)) {
      state.allocated = static_cast<std::uint16_t>(one.answer().get(nvme::cqe::dw0));
      const std::uint16_t asked = one.command<nvme::AllocateStreamsSqe>().get(ds::nsr);
      judged(Rule::oracle_features);
      if (*state.allocated > asked) {
        say(Rule::oracle_features, fmt::format("Allocate Resources of {} streams gives {}", asked, *state.allocated));
      }
      // The others share fewer, and some of theirs may close.
      for (auto& [key, other] : states_) other.all_known = false;
      return;
    }
    const auto command = one.command<nvme::DirectiveSqe>();
    if (all) return forget(one.controller->subsystem);
    if (command.get(ds::dtype) == DirectiveType::identify) {
      const auto enable = one.command<nvme::EnableDirectiveSqe>();
      if (command.get(ds::doper) != op::identify_enable || enable.get(ds::tdtype) != DirectiveType::streams) return;
      // At first directives are disabled, and nothing is open.
      const bool was_off = state.enabled ? !*state.enabled : forgotten_.count(one.subsystem().number) == 0 && forgotten_.count(0) == 0;
      state = {.enabled = enable.get(ds::endir), .all_known = was_off};
      return;
    }
    if (command.get(ds::dtype) != DirectiveType::streams) return;
    if (command.get(ds::doper) == op::streams_release_identifier) state.written.erase(command.get(ds::dspec));
    if (command.get(ds::doper) == op::streams_release_resources) state.allocated = std::uint16_t{0};
  }

  void on_write(const Exchange& one) {
    const auto command = one.command<nvme::ReadWriteSqe>();
    const auto found = states_.find(key_of(one));
    if (found == states_.end() || command.get(nvme::rw_sqe::dtype) != static_cast<unsigned>(DirectiveType::streams)) return;
    const auto stream = static_cast<std::uint16_t>(command.get(nvme::rw_sqe::dspec));
    if (stream != 0) found->second.written.insert(stream);
  }

  void on_receive(const Exchange& one) {
    const auto command = one.command<nvme::DirectiveSqe>();
    const ByteView data = one.in.front();
    if (!one.ok() || !steady(one) || one.nsid() == nvme::kAllNamespaces) return;
    const auto found = states_.find(key_of(one));
    if (found == states_.end()) return;
    const State& state = found->second;
    if (command.get(ds::dtype) == DirectiveType::identify && data.size() > nvme::directive_parameters::enabled.offset && state.enabled) {
      constexpr unsigned kBit = 1u << static_cast<unsigned>(DirectiveType::streams);
      const bool enabled = (data[nvme::directive_parameters::enabled.offset] & kBit) != 0;
      judged(Rule::oracle_features);
      if (enabled != *state.enabled) {
        say(Rule::oracle_features, fmt::format("Streams are {}abled in namespace {:#x} after they were {}abled", enabled ? "en" : "dis",
                                               one.nsid(), *state.enabled ? "en" : "dis"));
      }
    }
    if (command.get(ds::dtype) != DirectiveType::streams) return;
    if (command.get(ds::doper) == op::streams_return_parameters) return on_parameters(one, state, data);
    if (command.get(ds::doper) == op::streams_get_status) on_status(one, state, data);
  }

  void on_parameters(const Exchange& one, const State& state, ByteView data) {
    if (data.size() < nvme::StreamParameters::size) return;
    const View<nvme::StreamParameters> view{data.first(nvme::StreamParameters::size)};
    namespace sp = nvme::stream_parameters;
    const unsigned most = view.get(sp::msl), left = view.get(sp::nssa), mine = view.get(sp::nsa);
    judged(Rule::oracle_features);
    if (state.allocated && mine != *state.allocated) {
      say(Rule::oracle_features, fmt::format("NSA is {}, and {} streams are allocated", mine, *state.allocated));
    }
    if (left + mine > most) say(Rule::oracle_features, fmt::format("NSSA is {} and NSA {}, above MSL, which is {}", left, mine, most));
    judge_open(one, state, view.get(sp::nso), "NSO");
  }

  void judge_open(const Exchange& one, const State& state, std::size_t open, std::string_view what) {
    if (state.enabled && *state.enabled && state.all_known && open > state.written.size()) {
      say(Rule::oracle_features, fmt::format("{} says that {} streams are open in namespace {:#x}, and writes have named {}", what, open,
                                             one.nsid(), state.written.size()));
    }
  }

  void on_status(const Exchange& one, const State& state, ByteView data) {
    if (data.size() < 2) return;
    const std::size_t count = load_le<std::uint16_t>(&data[0]);
    judged(Rule::oracle_features);
    judge_open(one, state, count, "Get Status");
    unsigned last = 0;
    for (std::size_t i = 0; i < count && 4 + 2 * i <= data.size(); ++i) {
      const std::uint16_t stream = load_le<std::uint16_t>(&data[2 + 2 * i]);
      if (stream <= last) say(Rule::oracle_features, fmt::format("open stream {} stands behind {}", stream, last));
      last = stream;
      if (state.all_known && state.written.count(stream) == 0) {
        say(Rule::oracle_features,
            fmt::format("stream {} is open in namespace {:#x}, and no write has opened it since it was released", stream, one.nsid()));
      }
    }
  }

  std::map<Key, State> states_;
  std::map<const Subsystem*, std::uint64_t, ByNumber> touched_;
  std::set<std::uint64_t> forgotten_;  // subsystems that are not as they were at first; 0: any
  std::uint64_t last_ = 0;
};

/// Commands and features that Lockdown prohibits on the Admin Queue of any controller.
class Prohibitions final : public Subject {
 public:
  using Subject::Subject;

  void on_command(const Exchange& one) override {
    if (one.is(AdminOpcode::lockdown)) touched_[one.controller->subsystem] = one.began;
  }
  void on_abandoned(const Exchange& one) override {
    if (one.is(AdminOpcode::lockdown)) forget(one.controller->subsystem, one.ended);
  }
  void on_answer(const Exchange& one) override {
    if (!complete_ || one.subsystem().discovery || !one.admin()) return;
    last_ = std::max(last_, one.ended);
    if (one.is(AdminOpcode::lockdown)) return on_lockdown(one);
    if (one.is(AdminOpcode::nvme_mi_send)) return forget(one.controller->subsystem, one.ended);
    if (one.is(AdminOpcode::get_log_page)) on_log(one);
    judge(one, nvme::LockdownScope::admin_command, one.sqe[0]);
    if (!one.is(AdminOpcode::set_features)) return;
    judge(one, nvme::LockdownScope::set_features, one.command<nvme::SetFeaturesSqe>().get(nvme::features_sqe::fid));
  }
  void on_unsure(const Subsystem* subsystem) override { forget(subsystem, last_); }

 private:
  using Key = std::tuple<std::uint64_t, nvme::LockdownScope, std::uint8_t>;  // subsystem, scope, code

  void forget(const Subsystem* subsystem, std::uint64_t order) {
    std::erase_if(prohibited_, [&](const auto& of) { return subsystem == nullptr || std::get<0>(of.first) == subsystem->number; });
    touched_[subsystem] = order;
    forgotten_.insert(subsystem == nullptr ? 0 : subsystem->number);
  }
  bool steady(const Exchange& one) { return touched_[one.controller->subsystem] < one.began && touched_[nullptr] < one.began; }
  void on_lockdown(const Exchange& one) {
    touched_[one.controller->subsystem] = one.ended;
    if (!one.ok()) return;
    const auto command = one.command<nvme::LockdownSqe>();
    if (command.get(nvme::lockdown_sqe::ifc) == nvme::LockdownInterface::out_of_band) return;
    const Key key{one.subsystem().number, command.get(nvme::lockdown_sqe::scp),
                  static_cast<std::uint8_t>(command.get(nvme::lockdown_sqe::ofi))};
    prohibited_[key] = command.get(nvme::lockdown_sqe::prhbt);
  }

  void judge(const Exchange& one, nvme::LockdownScope scope, std::uint8_t code) {
    const auto known = prohibited_.find({one.subsystem().number, scope, code});
    // Nothing is prohibited before a command does so.
    const bool first = known == prohibited_.end();
    if ((first && (forgotten_.count(one.subsystem().number) != 0 || forgotten_.count(0) != 0)) || !steady(one)) return;
    const bool prohibited = !first && known->second;
    const bool refused = nvme::same_code(one.status(), nvme::sc::prohibited_by_lockdown);
    judged(Rule::oracle_effects);
    // What is refused as a command may be allowed as a feature.
    const bool features = scope == nvme::LockdownScope::admin_command && one.is(AdminOpcode::set_features);
    if (prohibited ? !one.ok() : !refused || features) return;
    say(Rule::oracle_effects, fmt::format("{} {:02X}h, which is {}, completes with {}",
                                          scope == nvme::LockdownScope::set_features ? "Set Features of" : "Admin command", code,
                                          prohibited ? "prohibited" : "allowed", to_string(one.status())));
  }

  /// The list of what is prohibited on the Admin Queue.
  void on_log(const Exchange& one) {
    const auto get = one.command<nvme::GetLogPageSqe>();
    const ByteView log = one.data_in(nvme::LockdownLog::size);
    const bool meant = get.get(nvme::get_log_sqe::lid) == static_cast<std::uint8_t>(nvme::LogPage::lockdown) && nvme::log_offset(get) == 0;
    if (!one.ok() || !meant || get.get(nvme::get_log_sqe::ot) || log.empty() || !steady(one)) return;
    const unsigned lsp = get.get(nvme::get_log_sqe::lsp);
    const auto scope = static_cast<nvme::LockdownScope>(lsp & 0xF);
    if (static_cast<nvme::LockdownContents>(lsp >> 4 & 3) != nvme::LockdownContents::prohibited_in_band) return;
    const std::size_t count = View<nvme::LockdownLog>{log}.get(nvme::lockdown_log::lngth);
    const ByteView codes = log.subspan(nvme::lockdown_log::cfil.offset, std::min(count, log.size() - nvme::lockdown_log::cfil.offset));
    for (const auto& [key, prohibited] : prohibited_) {
      if (std::get<0>(key) != one.subsystem().number || std::get<1>(key) != scope) continue;
      judged(Rule::oracle_effects);
      if ((std::find(codes.begin(), codes.end(), std::get<2>(key)) != codes.end()) == prohibited) continue;
      say(Rule::oracle_effects, fmt::format("log page 14h {} {:02X}h, which is {}", prohibited ? "lacks" : "lists", std::get<2>(key),
                                            prohibited ? "prohibited" : "allowed"));
    }
  }

  std::map<Key, bool> prohibited_;
  std::map<const Subsystem*, std::uint64_t, ByNumber> touched_;
  std::set<std::uint64_t> forgotten_;  // subsystems of which this is not known from the beginning; 0: any
  std::uint64_t last_ = 0;
};

}  // namespace

std::unique_ptr<Subject> follow_streams(Reporter& reporter, bool complete) { return std::make_unique<Streams>(reporter, complete); }
std::unique_ptr<Subject> follow_lockdown(Reporter& reporter, bool complete) { return std::make_unique<Prohibitions>(reporter, complete); }

}  // namespace fb::oracle
