// Every kind of event, again and again: what was told once is told the next time too, as soon as its log page was read.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "conformance/cases/nvme/endurance_scene.h"
#include "conformance/cases/nvme/scene.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/events.h"
#include "wire/nvme/logs.h"

namespace fb::conformance {

namespace {

using nvme::EventType;
using nvme::LogPage;
namespace bits = nvme::event_config_bits;
namespace info = nvme::event_info;
namespace warning = nvme::smart_warning_bits;

constexpr unsigned kRounds = 3;
constexpr std::uint16_t kGroup = 2;

/// What happens inside the product so that the event is due, and what ends that again where it has an end.
struct Kind {
  std::string_view name;
  nvme::Event event;
  std::uint32_t enabled;
  void (*begin)(ControllerBench& bench, unsigned round);
  void (*end)(ControllerBench& bench) = nullptr;
  std::uint32_t log_bytes = 512;
};

constexpr nvme::Event health(std::uint8_t what) { return {EventType::smart, what, lid_of(LogPage::smart)}; }
constexpr nvme::Event notice(std::uint8_t what, LogPage page) { return {EventType::notice, what, lid_of(page)}; }

void calm_down(ControllerBench& bench) { bench.subsystem().set_critical_warning(0); }

const Kind kKinds[] = {
    {"a changed namespace", notice(info::notice_namespace_attribute, LogPage::changed_namespaces), bits::namespace_attribute,
     [](ControllerBench& bench, unsigned) {
       subsystem::Subsystem& subsystem = bench.subsystem();
       subsystem.resize_namespace(bench.nsid(), subsystem.find_namespace(bench.nsid())->blocks() - 8);
     },
     nullptr, 4096},
    {"a changed access state", notice(info::notice_ana_change, LogPage::ana), bits::ana_change,
     [](ControllerBench& bench, unsigned round) {
       bench.subsystem().set_ana_state(1, round % 2 == 0 ? nvme::AnaState::non_optimized : nvme::AnaState::optimized);
     }},
    {"a low spare", health(info::smart_spare), warning::spare,
     [](ControllerBench& bench, unsigned) { bench.subsystem().set_critical_warning(warning::spare); }, &calm_down},
    {"a degraded reliability", health(info::smart_reliability), warning::reliability,
     [](ControllerBench& bench, unsigned) { bench.subsystem().set_critical_warning(warning::reliability); }, &calm_down},
    {"heat", health(info::smart_temperature), warning::temperature,
     [](ControllerBench& bench, unsigned) {
       const unsigned limit = bench.declared().identify().get(nvme::id_ctrl::wctemp);
       bench.subsystem().set_temperature(static_cast<std::uint16_t>(limit + 5));
     },
     [](ControllerBench& bench) { bench.subsystem().set_temperature(bench.declared().kelvin); }},
    {"telemetry of the controller", notice(info::notice_telemetry, LogPage::telemetry_controller), bits::telemetry,
     [](ControllerBench& bench, unsigned) { bench.subsystem().telemetry().capture_by_controller("a case asked for it"); }},
    {"a warning of an endurance group", notice(info::notice_endurance_group, LogPage::endurance_group_events), bits::endurance_group,
     [](ControllerBench& bench, unsigned) { bench.subsystem().endurance().set_warning(kGroup, nvme::endurance_warning_bits::spare); },
     [](ControllerBench& bench) { bench.subsystem().endurance().set_warning(kGroup, 0); }, 64},
};

const arranged with_events_of_all_kinds{"namespaces, access states, health and groups that change", [](EmbeddedSetup& setup) {
                                          set_up_groups(setup);
                                          setup.subsystem.ana = true;
                                          setup.subsystem.telemetry.supported = true;
                                        }};

void enable(Check& check, RawAssociation& association, std::uint32_t events) {
  const auto configure = host::set_features(nvme::FeatureId::async_event_configuration, events);
  check.precondition_success(association.admin().send(configure).wait(), "Set Features, Asynchronous Event Configuration");
}

void acknowledge(Check& check, EnduranceScene& scene, const Kind& kind, bool retain = false) {
  // A group is off the list of groups with events once its own page was read.
  if (kind.enabled == bits::endurance_group) check.precondition_success(scene.information(kGroup, retain), "Get Log Page 09h");
  auto log = host::get_log(kind.event.lid, kind.log_bytes);
  log.set(nvme::get_log_sqe::rae, retain);
  check.precondition_success(scene.admin().send(log, kind.log_bytes).wait(), "Get Log Page");
}

/// A notice masks its type, and all others occur: each of these is sent once the one before it was acknowledged.
void each_notice_comes_in_turn(ControllerBench& bench, Check& check, EnduranceScene& scene) {
  std::vector<const Kind*> left;
  std::uint32_t all = 0;
  for (const Kind& kind : kKinds) {
    if (kind.event.type != EventType::notice) continue;
    left.push_back(&kind);
    all |= kind.enabled;
  }
  enable(check, scene.manager.association, all);
  auto request = scene.admin().send(host::async_event_request());
  const Kind* const first = left.front();
  first->begin(bench, kRounds);
  while (!left.empty()) {
    const std::string what = fmt::format("one of {} notices that are pending", left.size());
    const auto event = request.wait_for(kSoon);
    check.require(event.has_value(), what, "none comes");
    check.require_success(*event, what);
    const nvme::Event got = nvme::Event::from_dw0(event->dw0());
    const auto at = std::find_if(left.begin(), left.end(), [&](const Kind* kind) { return kind->event == got; });
    check.require(at != left.end(), what, fmt::format("{:06X}h", event->dw0() & 0xFFFFFF));
    if (*at == first) {
      for (const Kind* kind : left) {
        if (kind != first) kind->begin(bench, kRounds);
      }
      bench.world().run_for(kSilence);
    }
    acknowledge(check, scene, **at);
    left.erase(at);
    if (!left.empty()) request = scene.admin().send(host::async_event_request());
  }
  for (const Kind& kind : kKinds) {
    if (kind.end != nullptr) kind.end(bench);
  }
}

/// The cause ends, where it has an end, and comes again.
void cause_again(ControllerBench& bench, const Kind& kind, unsigned round) {
  if (kind.end != nullptr) kind.end(bench);
  kind.begin(bench, round);
}

}  // namespace

CONFORMANCE_CASE(every_event_comes_again, "nvme.aer.every-type", roles::controller, with_events_of_all_kinds) {
  EnduranceScene scene(bench, check);
  scene.listen(kGroup, nvme::endurance_warning_bits::spare);
  for (const Kind& kind : kKinds) {
    enable(check, scene.manager.association, kind.enabled);
    for (unsigned round = 0; round < kRounds; ++round) {
      const std::string what = fmt::format("event of {}, round {}", kind.name, round + 1);
      auto request = scene.admin().send(host::async_event_request());
      kind.begin(bench, round);
      const auto event = request.wait_for(kSoon);
      check.require(event.has_value(), what, "none comes");
      check.require_success(*event, what);
      check.equal(what, nvme::Event::from_dw0(event->dw0()), kind.event);
      acknowledge(check, scene, kind);
      if (kind.end != nullptr) kind.end(bench);
    }
  }
  each_notice_comes_in_turn(bench, check, scene);
}

CONFORMANCE_CASE(every_event_can_be_disabled, "nvme.aer.disabled", roles::controller, with_events_of_all_kinds) {
  EnduranceScene scene(bench, check);
  scene.listen(kGroup, nvme::endurance_warning_bits::spare);
  std::uint32_t all = 0;
  unsigned turn = 0;
  for (const Kind& kind : kKinds) all |= kind.enabled;
  for (const Kind& kind : kKinds) {
    // All the others are enabled.
    enable(check, scene.manager.association, all & ~kind.enabled);
    auto request = scene.admin().send(host::async_event_request());
    kind.begin(bench, 0);
    check.that(!request.wait_for(kSilence), fmt::format("no event of {}, which is disabled", kind.name), "an event comes");
    if (kind.end != nullptr) kind.end(bench);
    acknowledge(check, scene, kind);
    // The request is still held: it takes the event of another kind.
    const Kind& other = kKinds[kind.enabled == bits::ana_change ? 0 : 1];
    other.begin(bench, turn++);
    const auto event = request.wait_for(kSoon);
    check.require(event.has_value(), fmt::format("an event of {} comes", other.name), "none comes");
    check.equal(fmt::format("event of {}", other.name), nvme::Event::from_dw0(event->dw0()), other.event);
    acknowledge(check, scene, other);
  }
}

CONFORMANCE_CASE(every_event_is_retained, "nvme.aer.retain", roles::controller, with_events_of_all_kinds) {
  EnduranceScene scene(bench, check);
  scene.listen(kGroup, nvme::endurance_warning_bits::spare);
  for (const Kind& kind : kKinds) {
    enable(check, scene.manager.association, kind.enabled);
    auto first = scene.admin().send(host::async_event_request());
    unsigned round = 0;
    kind.begin(bench, round++);
    check.precondition(first.wait_for(kSoon).has_value(), fmt::format("an event of {} comes", kind.name));
    auto second = scene.admin().send(host::async_event_request());
    cause_again(bench, kind, round++);
    const bool waits = !second.wait_for(kSilence);
    if (!check.that(waits, fmt::format("no second event of {} before its log page is read", kind.name), "a second event came")) return;
    acknowledge(check, scene, kind, true);
    cause_again(bench, kind, round++);
    const bool retained = !second.wait_for(kSilence);
    if (!check.that(retained, fmt::format("no event of {} after a read with RAE 1", kind.name), "a second event came")) return;
    // Nor do the log pages of others acknowledge it.
    for (const Kind& other : kKinds) {
      if (other.event.lid != kind.event.lid) acknowledge(check, scene, other);
    }
    cause_again(bench, kind, round++);
    const bool kept = !second.wait_for(kSilence);
    if (!check.that(kept, fmt::format("no event of {} after reads of other log pages", kind.name), "a second event came")) return;
    acknowledge(check, scene, kind);
    // What came while the type was masked may be sent now.
    if (!second.wait_for(kSilence)) {
      cause_again(bench, kind, round++);
      check.require(second.wait_for(kSoon).has_value(), fmt::format("an event of {} comes after a read with RAE 0", kind.name),
                    "none came");
    }
    if (kind.end != nullptr) kind.end(bench);
    acknowledge(check, scene, kind);
  }
}

CONFORMANCE_CASE(events_end_with_a_read_before_they_are_sent, "nvme.aer.read-first", roles::controller, with_events_of_all_kinds) {
  EnduranceScene scene(bench, check);
  scene.listen(kGroup, nvme::endurance_warning_bits::spare);
  for (const Kind& kind : kKinds) {
    enable(check, scene.manager.association, kind.enabled);
    unsigned round = 0;
    kind.begin(bench, round++);
    if (kind.end != nullptr) kind.end(bench);
    acknowledge(check, scene, kind);
    auto request = scene.admin().send(host::async_event_request());
    const bool silent = !request.wait_for(kSilence);
    if (!check.that(silent, fmt::format("no event of {}, whose log page was read before", kind.name), "an event comes")) return;
    kind.begin(bench, round++);
    const auto event = request.wait_for(kSoon);
    check.require(event.has_value(), fmt::format("the next event of {} comes", kind.name), "none comes");
    check.equal(fmt::format("event of {}", kind.name), nvme::Event::from_dw0(event->dw0()), kind.event);
    if (kind.end != nullptr) kind.end(bench);
    acknowledge(check, scene, kind);
  }
}

CONFORMANCE_CASE(events_of_one_page_end_with_one_read, "nvme.aer.read-first", roles::controller, with_events_of_all_kinds) {
  EnduranceScene scene(bench, check);
  scene.listen(kGroup, nvme::endurance_warning_bits::spare);
  for (const Kind& first : kKinds) {
    for (const Kind& second : kKinds) {
      if (&first == &second) continue;
      // Both are pending, no request is there to take them, and one page is read.
      enable(check, scene.manager.association, first.enabled | second.enabled);
      first.begin(bench, 0);
      second.begin(bench, 0);
      for (const Kind* kind : {&first, &second}) {
        if (kind->end != nullptr) kind->end(bench);
      }
      acknowledge(check, scene, first);
      const bool same = first.event.lid == second.event.lid;
      const std::string which = fmt::format("{} and {}", first.name, second.name);
      auto request = scene.admin().send(host::async_event_request());
      const auto event = request.wait_for(kSilence);
      if (same) {
        if (!check.that(!event, "no event of " + which + ", whose log page was read", "an event comes")) return;
        first.begin(bench, 1);  // the request is to be free for the next pair
        check.precondition(request.wait_for(kSoon).has_value(), "the next event comes");
        if (first.end != nullptr) first.end(bench);
      } else {
        check.require(event.has_value(), "the second event of " + which + " comes, whose log page was not read", "none comes");
        check.equal("event of " + which, nvme::Event::from_dw0(event->dw0()), second.event);
      }
      acknowledge(check, scene, first);
      acknowledge(check, scene, second);
      // An access state that was turned round is turned back.
      for (const Kind* kind : {&first, &second}) {
        if (kind->enabled != bits::ana_change) continue;
        enable(check, scene.manager.association, 0);
        kind->begin(bench, 1);
      }
    }
  }
}

}  // namespace fb::conformance
