// The Changed Namespace List of each controller, against the commands of others that change namespaces.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "conformance/oracle/subjects.h"
#include "wire/nvme/events.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/logs.h"

namespace fb::oracle {

namespace {

using nvme::AdminOpcode;
using nvme::FeatureId;

constexpr unsigned kDelete = 1, kDetach = 1;

class ChangedNamespaces final : public Subject {
 public:
  using Subject::Subject;

  void on_command(const Exchange& one) override {
    if (is_list(one)) ++states_[one.controller].reading;
    if (may_change(one)) ++open_[one.controller->subsystem];
  }
  void on_abandoned(const Exchange& one) override {
    if (is_list(one)) forget(states_[one.controller]);
    if (!may_change(one)) return;
    end_change(one);
    lost_.insert(one.controller->number);
    each(one.controller->subsystem, [](State& state, const Controller&) { forget(state); });
  }
  void on_answer(const Exchange& one) override {
    if (!complete_ || one.subsystem().discovery) return;
    State& state = states_[one.controller];
    if (is_list(one)) return on_list(state, one);
    if (one.is(AdminOpcode::identify)) on_identify(state, one);
    if (one.is(AdminOpcode::set_features) && one.ok()) on_feature(state, one);
    if (one.is(AdminOpcode::async_event_request) && one.ok()) on_event(state, one);
    if (!may_change(one)) return;
    end_change(one);
    on_changed(one);
  }
  void on_controller_end(const Controller& controller) override { states_.erase(&controller); }
  void on_reset(const Controller& controller) override { states_.erase(&controller); }
  void on_unsure(const Subsystem* subsystem) override {
    each(subsystem, [](State& state, const Controller&) { forget(state); });
  }

 private:
  using Ids = std::set<std::uint32_t>;
  struct State {
    std::optional<Ids> active = {};  // of the controller
    Ids must = {};                   // changed by commands to other controllers since the list was read
    bool wanted = false;             // Namespace Attribute Notices are enabled
    unsigned reading = 0, reads = 0;
    bool announced = false;
    std::uint64_t touched = 0;
  };

  static bool is_list(const Exchange& one) {
    return one.is(AdminOpcode::get_log_page) &&
           one.command<nvme::GetLogPageSqe>().get(nvme::get_log_sqe::lid) == static_cast<std::uint8_t>(nvme::LogPage::changed_namespaces);
  }
  /// Commands that change what Identify says of namespaces, or may.
  static bool may_change(const Exchange& one) {
    if (!one.admin() || one.fabrics()) return false;
    switch (static_cast<AdminOpcode>(one.sqe[0])) {
      case AdminOpcode::get_log_page:
      case AdminOpcode::identify:
      case AdminOpcode::abort:
      case AdminOpcode::get_features:
      case AdminOpcode::async_event_request:
      case AdminOpcode::keep_alive:
      case AdminOpcode::security_receive:
      case AdminOpcode::directive_receive:
      case AdminOpcode::get_lba_status:
      case AdminOpcode::device_self_test:
        return false;
      case AdminOpcode::set_features:
        return fid_of(one) == FeatureId::namespace_write_protection;
      default:
        return true;
    }
  }
  static FeatureId fid_of(const Exchange& one) {
    return static_cast<FeatureId>(one.command<nvme::SetFeaturesSqe>().get(nvme::features_sqe::fid));
  }

  template <class Visit>
  void each(const Subsystem* subsystem, Visit&& visit) {
    for (auto& [controller, state] : states_) {
      if (subsystem == nullptr || controller->subsystem == subsystem) visit(state, *controller);
    }
  }
  static void forget(State& state) {
    state.active.reset();
    state.must.clear();
    state.announced = false;
    ++state.reads;
  }

  void end_change(const Exchange& one) {
    unsigned& open = open_[one.controller->subsystem];
    open -= open != 0 ? 1 : 0;
  }

  void on_changed(const Exchange& one) {
    each(one.controller->subsystem, [&](State& state, const Controller& controller) {
      state.touched = one.ended;
      const bool told = state.wanted && state.reading == 0 && &controller != one.controller;
      if (one.ok() && told && changes(one, state, controller)) state.must.insert(one.nsid());
      if (one.is(AdminOpcode::namespace_attachment) || one.is(AdminOpcode::namespace_management)) state.active.reset();
    });
  }
  /// For sure, what this controller has of the namespace.
  static bool changes(const Exchange& one, const State& state, const Controller& controller) {
    const bool active = state.active && state.active->count(one.nsid()) != 0;
    if (one.is(AdminOpcode::format_nvm)) return active;
    if (one.is(AdminOpcode::namespace_management)) {
      return active && one.command<nvme::NamespaceManagementSqe>().get(nvme::namespace_management_sqe::sel) == kDelete;
    }
    if (!one.is(AdminOpcode::namespace_attachment)) return false;
    const bool detaches = one.command<nvme::NamespaceAttachmentSqe>().get(nvme::namespace_attachment_sqe::sel) == kDetach;
    const auto listed = nvme::read_controller_list(one.data_out());
    return detaches && active && std::find(listed.begin(), listed.end(), controller.cntlid) != listed.end();
  }

  static void on_identify(State& state, const Exchange& one) {
    const auto command = one.command<nvme::IdentifySqe>();
    const ByteView page = one.data_in(nvme::kIdentifySize);
    const auto cns = static_cast<nvme::Cns>(command.get(nvme::identify_sqe::cns));
    const bool whole = cns == nvme::Cns::active_namespace_list && one.nsid() == 0;
    if (!one.ok() || page.empty() || !whole || state.touched >= one.began) return;
    const auto listed = nvme::read_namespace_list(page);
    state.active = Ids(listed.begin(), listed.end());
  }
  static void on_feature(State& state, const Exchange& one) {
    if (fid_of(one) != FeatureId::async_event_configuration) return;
    const std::uint32_t value = one.command<nvme::SetFeaturesSqe>().get(nvme::features_sqe::cdw11);
    state.wanted = (value & nvme::event_config_bits::namespace_attribute) != 0;
  }
  static void on_event(State& state, const Exchange& one) {
    const nvme::Event event = nvme::Event::from_dw0(one.answer().get(nvme::cqe::dw0));
    const bool meant = event.type == nvme::EventType::notice && event.info == nvme::event_info::notice_namespace_attribute;
    // An event that was kept may be about what was read before.
    state.announced = state.announced || (meant && state.reads == 0 && state.reading == 0);
  }

  void on_list(State& state, const Exchange& one) {
    state.reading -= state.reading != 0 ? 1 : 0;
    const auto get = one.command<nvme::GetLogPageSqe>();
    if (!one.ok()) return;
    const ByteView page = one.data_in(nvme::kIdentifySize);
    const bool whole = nvme::log_offset(get) == 0 && !get.get(nvme::get_log_sqe::ot) && !page.empty();
    if (whole) judge(state, one, page);
    ++state.reads;
    state.announced = false;
    state.must.clear();
  }

  void judge(State& state, const Exchange& one, ByteView page) {
    judged(Rule::oracle_identify_list);
    std::vector<std::uint32_t> listed;
    for (std::size_t at = 0; at + 4 <= page.size(); at += 4) listed.push_back(load_le<std::uint32_t>(&page[at]));
    const auto end = std::find(listed.begin(), listed.end(), 0u);
    const bool trailing = std::any_of(end, listed.end(), [](std::uint32_t nsid) { return nsid != 0; });
    listed.erase(end, listed.end());
    const bool overflow = listed.size() == 1 && listed[0] == nvme::kTooManyChangedNamespaces;
    const bool ordered = std::adjacent_find(listed.begin(), listed.end(), std::greater_equal<>()) == listed.end();
    if (trailing || !ordered || (!overflow && !listed.empty() && listed.back() >= 0xFFFFFFFE)) {
      return say(Rule::oracle_identify_list,
                 fmt::format("the changed namespace list is {}{}", fmt::join(listed, ", "), trailing ? " and has more behind a zero" : ""));
    }
    // What goes on at the same time, or may go on yet, may be in it or not.
    if (overflow || state.touched >= one.began || open_[one.controller->subsystem] != 0 || !lost_.empty()) return;
    if (state.announced && listed.empty()) {
      say(Rule::oracle_identify_list, "the changed namespace list is empty after the event that announces a change");
    }
    for (const std::uint32_t nsid : state.must) {
      if (std::binary_search(listed.begin(), listed.end(), nsid)) continue;
      say(Rule::oracle_identify_list, fmt::format("the changed namespace list lacks {:#x}, which another controller has changed", nsid));
    }
  }

  std::map<const Controller*, State, ByNumber> states_;
  std::map<const Subsystem*, unsigned, ByNumber> open_;  // changes under way
  std::set<std::uint64_t> lost_;                         // controllers with changes that were never answered
};

}  // namespace

std::unique_ptr<Subject> follow_changed_namespaces(Reporter& reporter, bool complete) {
  return std::make_unique<ChangedNamespaces>(reporter, complete);
}

}  // namespace fb::oracle
