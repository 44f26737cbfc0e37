// What the persistent event log records.
#include "conformance/cases/nvme/persistent_scene.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/telemetry.h"

namespace fb::conformance {

namespace {

using Type = nvme::PersistentEventType;

std::optional<std::string> formats(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oacs) & nvme::oacs_bits::format_nvm) != 0) return {};
  return "OACS bit 1 (Format NVM) is clear";
}
std::optional<std::string> commits_firmware(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oacs) & nvme::oacs_bits::firmware) != 0) return {};
  return "OACS bit 2 (Firmware Commit) is clear";
}

/// What was recorded while `act` ran, in a product that records `type`.
template <class Act>
std::vector<KeptEvent> recorded(PersistentScene& scene, Type type, Act&& act) {
  scene.needs_type(type);
  const auto before = scene.events();
  act();
  return new_events(before, scene.events());
}

std::string seen_instead(const std::vector<KeptEvent>& events) {
  std::string text = std::to_string(events.size()) + " new events";
  for (const KeptEvent& event : events) text += ", " + std::to_string(static_cast<unsigned>(event.type));
  return text;
}

const furnished having_everything{[](EmbeddedSetup& setup) {
  setup.subsystem.persistent_log = {};
  setup.subsystem.timestamp = true;
  setup.subsystem.telemetry = {};
}};
const arranged with_log{"what a real product would lose data, firmware or time by",
                        [](EmbeddedSetup& setup) { setup.subsystem.persistent_log = {}; }};

}  // namespace

CONFORMANCE_CASE(resets_are_recorded, "nvme.persistent.reset", roles::controller, needs(kClaimsPersistentLog), having_everything) {
  PersistentScene scene(bench, check);
  const auto judge = [&](Manager& manager, std::string_view what) {
    const auto events = recorded(scene, Type::power_on_or_reset, [&] {
      manager.association.disable();
      manager.association.enable();
    });
    const std::size_t first = nvme::ResetEvent::size;
    const auto* const event = find_event(events, Type::power_on_or_reset, first, [&](const KeptEvent& one) {
      for (std::size_t at = first; at + nvme::ControllerResetDescriptor::size <= one.data.size();
           at += nvme::ControllerResetDescriptor::size) {
        if (load_le<std::uint16_t>(one.data.data() + at) == manager.cntlid()) return true;
      }
      return false;
    });
    check.that(event != nullptr, "the reset of " + std::string(what) + " is recorded", seen_instead(events));
    return event != nullptr ? *event : KeptEvent{};
  };
  judge(scene.manager, "the controller");
  Manager other(bench, check);
  const KeptEvent event = judge(other, "another controller");
  constexpr auto kVirtual = nvme::oacs_bits::virtualization;
  if ((bench.declared().identify().get(nvme::id_ctrl::oacs) & kVirtual) != 0 || event.data.empty()) return;
  const std::size_t listed = (event.data.size() - nvme::ResetEvent::size) / nvme::ControllerResetDescriptor::size;
  check.that(listed >= 2, "the event has a descriptor of each controller", std::to_string(listed));
}

CONFORMANCE_CASE(firmware_commits_are_recorded, "nvme.persistent.firmware", roles::controller, needs(kClaimsPersistentLog),
                 needs(commits_firmware), having_everything) {
  PersistentScene scene(bench, check);
  // The firmware that runs is told to go on running.
  const auto log = scene.admin().send(host::get_log(nvme::LogPage::firmware_slot, 512), 512).wait();
  check.precondition_success(log, "Get Log Page, Firmware Slot");
  const unsigned slot = log.data[0] & 7;
  const auto action = nvme::CommitAction::activate;
  const auto events = recorded(scene, Type::firmware_commit, [&] {
    check.precondition_success(scene.admin().send(host::firmware_commit(slot, action)).wait(), "Firmware Commit");
  });
  const auto* const event = find_event(events, Type::firmware_commit, nvme::FirmwareEvent::size, [&](const KeptEvent& one) {
    const auto data = one.as<nvme::FirmwareEvent>();
    return data.get(nvme::firmware_event::slot) == slot && data.get(nvme::firmware_event::sc) == 0 &&
           data.get(nvme::firmware_event::action) == static_cast<unsigned>(action);
  });
  check.that(event != nullptr, "Firmware Commit is recorded with its slot, action and status", seen_instead(events));
}

namespace {

std::vector<KeptEvent> set_time(PersistentScene& scene, Check& check) {
  return recorded(scene, Type::timestamp_change, [&] {
    Bytes value(nvme::Timestamp::size);
    store_le(value.data(), std::uint32_t{1'000'000});
    for (int i = 0; i < 2; ++i) {
      check.precondition_success(scene.admin().send(host::set_features(nvme::FeatureId::timestamp, 0), value).wait(),
                                 "Set Features, Timestamp");
    }
  });
}

}  // namespace

CONFORMANCE_CASE(timestamp_changes_are_recorded, "nvme.persistent.timestamp", roles::controller, needs(kClaimsPersistentLog),
                 needs(claims_oncs<nvme::oncs_bits::timestamp>), having_everything) {
  PersistentScene scene(bench, check);
  const auto events = set_time(scene, check);
  // The second change comes from what the first one set.
  const auto* const event = find_event(events, Type::timestamp_change, nvme::TimestampEvent::size, [&](const KeptEvent& one) {
    const auto before = load_le<std::uint32_t>(one.data.data());
    return before >= 1'000'000 && before < 1'060'000;
  });
  check.that(event != nullptr, "the change is recorded with the timestamp before it", seen_instead(events));
}

CONFORMANCE_CASE(timestamp_changes_are_no_set_feature_events, "nvme.persistent.timestamp.feature", roles::controller,
                 needs(kClaimsPersistentLog), needs(claims_oncs<nvme::oncs_bits::timestamp>), having_everything) {
  PersistentScene scene(bench, check);
  const auto events = set_time(scene, check);
  const auto* const event = find_event(events, Type::set_feature, 8, [](const KeptEvent& one) {
    return one.data[4] == static_cast<std::uint8_t>(nvme::FeatureId::timestamp);
  });
  check.that(event == nullptr, "there is no event 0Bh of the timestamp", "there is one");
}

CONFORMANCE_CASE(namespace_creations_are_recorded, "nvme.persistent.namespace.create", roles::controller, needs(kClaimsPersistentLog),
                 needs(manages_namespaces), having_everything) {
  PersistentScene scene(bench, check);
  std::uint32_t nsid = 0;
  const auto events = recorded(scene, Type::change_namespace, [&] { nsid = scene.manager.made({.nsze = 4096, .ncap = 4096}); });
  const auto* const event = find_event(events, Type::change_namespace, nvme::NamespaceEvent::size, [&](const KeptEvent& one) {
    const auto data = one.as<nvme::NamespaceEvent>();
    return data.get(nvme::namespace_event::nsid) == nsid && data.get(nvme::namespace_event::nsze) == 4096u &&
           (data.get(nvme::namespace_event::cdw10) & 15) == 0;
  });
  check.that(event != nullptr, "the creation is recorded with NSID and NSZE", seen_instead(events));
  check.precondition_success(scene.manager.remove(nsid), "Namespace Management, delete");
}

CONFORMANCE_CASE(namespace_deletions_are_recorded, "nvme.persistent.namespace.delete", roles::controller, needs(kClaimsPersistentLog),
                 needs(manages_namespaces), having_everything) {
  PersistentScene scene(bench, check);
  const std::uint32_t nsid = scene.manager.made();
  const auto events = recorded(scene, Type::change_namespace,
                               [&] { check.precondition_success(scene.manager.remove(nsid), "Namespace Management, delete"); });
  const auto* const event = find_event(events, Type::change_namespace, nvme::NamespaceEvent::size, [&](const KeptEvent& one) {
    const auto data = one.as<nvme::NamespaceEvent>();
    return data.get(nvme::namespace_event::nsid) == nsid && (data.get(nvme::namespace_event::cdw10) & 15) == 1;
  });
  check.that(event != nullptr, "the deletion is recorded with its NSID", seen_instead(events));
}

namespace {

std::vector<KeptEvent> format_recorded(PersistentScene& scene, ControllerBench& bench, Check& check, Type type) {
  return recorded(scene, type,
                  [&] { check.precondition_success(scene.admin().send(format_unchanged(bench.declared())).wait(), "Format NVM"); });
}

}  // namespace

CONFORMANCE_CASE(format_starts_are_recorded, "nvme.persistent.format.start", roles::controller, needs(formats), with_log) {
  PersistentScene scene(bench, check);
  const auto events = format_recorded(scene, bench, check, Type::format_start);
  const auto* const event = find_event(events, Type::format_start, nvme::FormatStartEvent::size, [&](const KeptEvent& one) {
    return one.as<nvme::FormatStartEvent>().get(nvme::format_start_event::nsid) == bench.nsid();
  });
  check.that(event != nullptr, "the start of the format is recorded", seen_instead(events));
}

CONFORMANCE_CASE(format_ends_are_recorded, "nvme.persistent.format.end", roles::controller, needs(formats), with_log) {
  PersistentScene scene(bench, check);
  const auto events = format_recorded(scene, bench, check, Type::format_completion);
  const auto* const event = find_event(events, Type::format_completion, nvme::FormatEndEvent::size, [&](const KeptEvent& one) {
    const auto data = one.as<nvme::FormatEndEvent>();
    return data.get(nvme::format_end_event::nsid) == bench.nsid() && data.get(nvme::format_end_event::status).ok();
  });
  check.that(event != nullptr, "the end of the format is recorded", seen_instead(events));
}

namespace {

std::vector<KeptEvent> sanitize_recorded(PersistentScene& scene, ControllerBench& bench, Check& check, Type type) {
  return recorded(scene, type, [&] {
    check.precondition_success(scene.admin().send(host::sanitize(nvme::SanitizeAction::block_erase)).wait(), "Sanitize");
    bench.world().run_for(Duration::s(60));
  });
}

}  // namespace

CONFORMANCE_CASE(sanitize_starts_are_recorded, "nvme.persistent.sanitize.start", roles::controller, with_log) {
  PersistentScene scene(bench, check);
  const auto events = sanitize_recorded(scene, bench, check, Type::sanitize_start);
  const auto* const event = find_event(events, Type::sanitize_start, nvme::SanitizeStartEvent::size, [&](const KeptEvent& one) {
    const auto data = one.as<nvme::SanitizeStartEvent>();
    return (data.get(nvme::sanitize_start_event::cdw10) & 7) == static_cast<unsigned>(nvme::SanitizeAction::block_erase) &&
           data.get(nvme::sanitize_start_event::sanicap) == bench.declared().identify().get(nvme::id_ctrl::sanicap);
  });
  check.that(event != nullptr, "the start of the operation is recorded", seen_instead(events));
}

CONFORMANCE_CASE(sanitize_ends_are_recorded, "nvme.persistent.sanitize.end", roles::controller, with_log) {
  PersistentScene scene(bench, check);
  const auto events = sanitize_recorded(scene, bench, check, Type::sanitize_completion);
  const auto* const event = find_event(events, Type::sanitize_completion, nvme::SanitizeEndEvent::size, [&](const KeptEvent& one) {
    const unsigned state = one.as<nvme::SanitizeEndEvent>().get(nvme::sanitize_end_event::sstat) & 7u;
    return state == 1 || state == 4;
  });
  check.that(event != nullptr, "the end of the operation is recorded", seen_instead(events));
}

CONFORMANCE_CASE(telemetry_captures_are_recorded, "nvme.persistent.telemetry", roles::controller, needs(kClaimsPersistentLog),
                 needs(claims_lpa<nvme::lpa_bits::telemetry>), having_everything) {
  PersistentScene scene(bench, check);
  const auto events = recorded(scene, Type::telemetry_created, [&] {
    auto command = host::get_log(nvme::LogPage::telemetry_host, nvme::kTelemetryBlock);
    command.set(nvme::get_log_sqe::lsp, nvme::kCreateTelemetry);
    check.precondition_success(scene.admin().send(command, nvme::kTelemetryBlock).wait(), "Get Log Page, telemetry");
  });
  const auto* const event =
      find_event(events, Type::telemetry_created, nvme::TelemetryHeader::size, [](const KeptEvent& one) { return one.data[0] == 7; });
  check.that(event != nullptr, "the capture is recorded with its header", seen_instead(events));
}

CONFORMANCE_CASE(thermal_excursions_are_recorded, "nvme.persistent.thermal", roles::controller, with_log) {
  PersistentScene scene(bench, check);
  const unsigned warning = bench.declared().identify().get(nvme::id_ctrl::wctemp);
  const auto events =
      recorded(scene, Type::thermal_excursion, [&] { bench.subsystem().set_temperature(static_cast<std::uint16_t>(warning + 3)); });
  const auto* const event = find_event(events, Type::thermal_excursion, nvme::ThermalEvent::size, [](const KeptEvent& one) {
    const auto data = one.as<nvme::ThermalEvent>();
    return data.get(nvme::thermal_event::over) == 3 && data.get(nvme::thermal_event::threshold) == 1;
  });
  check.that(event != nullptr, "the excursion is recorded", seen_instead(events));
}

CONFORMANCE_CASE(health_is_recorded_every_day, "nvme.persistent.snapshot", roles::controller, with_log, lasts{Duration::s(50 * 3600)}) {
  PersistentScene scene(bench, check);
  std::size_t found = 0;
  const auto events = recorded(scene, Type::smart_snapshot, [&] { bench.world().run_for(Duration::s(50 * 3600)); });
  for (const KeptEvent& event : events) {
    found += event.type == Type::smart_snapshot && event.data.size() == nvme::SmartLog::size ? 1 : 0;
  }
  check.that(found >= 2, "two snapshots of the health log in fifty hours", seen_instead(events));
}

CONFORMANCE_CASE(feature_changes_are_recorded, "nvme.persistent.feature", roles::controller, needs(kClaimsPersistentLog),
                 having_everything) {
  // The event is of the controller that carried the command out, which is not the first.
  (void)bench.associate();
  PersistentScene scene(bench, check);
  constexpr auto kFeature = nvme::FeatureId::temperature_threshold;
  const auto before = scene.admin().send(host::get_features(kFeature)).wait();
  check.precondition_success(before, "Get Features, Temperature Threshold");
  const std::uint32_t wanted = before.dw0() + 1;
  const auto events = recorded(scene, Type::set_feature, [&] {
    check.precondition_success(scene.admin().send(host::set_features(kFeature, wanted)).wait(), "Set Features");
  });
  const auto* const event = find_event(events, Type::set_feature, 12, [&](const KeptEvent& one) {
    return one.data[4] == static_cast<std::uint8_t>(kFeature) && load_le<std::uint32_t>(one.data.data() + 8) == wanted;
  });
  check.that(event != nullptr, "the change is recorded", seen_instead(events));
  if (event != nullptr) check.equal("controller of the event", event->cntlid, scene.manager.cntlid());
}

}  // namespace fb::conformance
