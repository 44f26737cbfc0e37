// Values of features that are saved, and the timestamp.
#include "conformance/cases/nvme/scene.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/features.h"

namespace fb::conformance {

namespace {

using nvme::FeatureId;
using nvme::FeatureSelect;
namespace ts = nvme::timestamp;

const furnished with_saveable_features{[](EmbeddedSetup& setup) { setup.subsystem.saveable_features = true; }};
const furnished with_timestamp{[](EmbeddedSetup& setup) { setup.subsystem.timestamp = true; }};
void with_static_controllers(EmbeddedSetup& setup) {
  setup.subsystem.controllers = subsystem::ControllerModel::static_controllers;
  setup.subsystem.saveable_features = setup.subsystem.subsystem_reset = true;
}

/// Features of a controller, a value and another one that do no harm.
struct Harmless {
  FeatureId id;
  std::uint32_t one, other;
};
constexpr Harmless kHarmless[] = {
    {FeatureId::async_event_configuration, nvme::event_config_bits::namespace_attribute, 0},
    {FeatureId::write_atomicity, 1, 0},
    {FeatureId::error_recovery, 20, 0},
};

/// A feature that can be saved, and what was saved of it before: put back at the end.
class SavedScene {
 public:
  SavedScene(ControllerBench& bench, Check& check, const AssociationOptions& options = {})
      : association_(&bench.associate(options)), check_(check) {
    for (const Harmless& one : kHarmless) {
      const auto capabilities = get(one.id, FeatureSelect::capabilities);
      constexpr auto kNeeded = nvme::feature_capability_bits::saveable | nvme::feature_capability_bits::changeable;
      if (!capabilities.ok() || (capabilities.dw0() & kNeeded) != kNeeded) continue;
      feature_ = &one;
      before_ = value(FeatureSelect::saved);
      value_ = before_ == one.one ? one.other : one.one;
      return;
    }
    check.precondition(false, "a feature of the controller can be saved");
  }

  RawAssociation& association() { return *association_; }
  /// The controller that has the values, after its host has connected again.
  void rejoin(RawAssociation& association) { association_ = &association; }
  std::uint32_t before() const { return before_; }
  std::uint32_t value() const { return value_; }

  host::RawReply get(FeatureId id, FeatureSelect select) { return association_->admin().send(host::get_features(id, select)).wait(); }
  std::uint32_t value(FeatureSelect select) {
    const auto reply = get(feature_->id, select);
    check_.precondition_success(reply, "Get Features");
    return reply.dw0();
  }
  host::RawReply set(std::uint32_t value, bool save) {
    auto command = host::set_features(feature_->id, value);
    command.set(nvme::features_sqe::sv, save);
    return association_->admin().send(command).wait();
  }
  bool save() { return check_.success(set(value_, true), "Set Features that saves"); }
  void reset() {
    association_->disable();
    association_->enable();
  }
  void restore() { check_.precondition_success(set(before_, true), "Set Features with the earlier value"); }

 private:
  RawAssociation* association_;
  Check& check_;
  const Harmless* feature_ = nullptr;
  std::uint32_t before_ = 0, value_ = 0;
};

std::optional<std::string> has_static_controllers(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::fcatt) & nvme::fcatt_bits::static_controllers) != 0) {
    return {};
  }
  return "FCATT bit 0 is clear: controllers are dynamic";
}

constexpr std::uint64_t kSomeTime = 1'800'000'000'123;
constexpr std::int64_t kSlackMs = 1000;

host::RawReply set_timestamp(RawAssociation& association, std::uint64_t ms) {
  Record<nvme::Timestamp> value;
  value.set(ts::low, ms & 0xFFFFFFFF).set(ts::high, ms >> 32);
  return association.admin().send(host::set_features(FeatureId::timestamp, 0), Bytes(value.bytes().begin(), value.bytes().end())).wait();
}
host::RawReply get_timestamp(RawAssociation& association) {
  return association.admin().send(host::get_features(FeatureId::timestamp), nvme::Timestamp::size).wait();
}
Record<nvme::Timestamp> timestamp_of(RawAssociation& association, Check& check) {
  const auto reply = get_timestamp(association);
  check.require_success(reply, "Get Features, Timestamp");
  return Record<nvme::Timestamp>{reply.data};
}
std::uint64_t ms_of(const Record<nvme::Timestamp>& value) { return std::uint64_t{value.get(ts::high)} << 32 | value.get(ts::low); }

}  // namespace

CONFORMANCE_CASE(saving_a_feature_sets_it, "nvme.saved.current", roles::controller, needs(claims_oncs<nvme::oncs_bits::save_and_select>),
                 with_saveable_features) {
  SavedScene scene(bench, check);
  if (!scene.save()) return;
  check.equal("current value", scene.value(FeatureSelect::current), scene.value());
  scene.restore();
}

CONFORMANCE_CASE(saved_value_reads_back, "nvme.saved.read", roles::controller, needs(claims_oncs<nvme::oncs_bits::save_and_select>),
                 with_saveable_features) {
  SavedScene scene(bench, check);
  if (!scene.save()) return;
  check.equal("saved value", scene.value(FeatureSelect::saved), scene.value());
  scene.restore();
}

CONFORMANCE_CASE(saved_value_returns_with_a_reset, "nvme.saved.reset", roles::controller,
                 needs(claims_oncs<nvme::oncs_bits::save_and_select>), with_saveable_features) {
  SavedScene scene(bench, check);
  if (!scene.save()) return;
  check.precondition_success(scene.set(scene.before(), false), "Set Features");
  scene.reset();
  check.equal("value after a reset", scene.value(FeatureSelect::current), scene.value());
  scene.restore();
}

CONFORMANCE_CASE(set_without_save_leaves_what_is_saved, "nvme.saved.set-alone", roles::controller,
                 needs(claims_oncs<nvme::oncs_bits::save_and_select>), with_saveable_features) {
  SavedScene scene(bench, check);
  check.precondition_success(scene.set(scene.value(), false), "Set Features");
  check.equal("saved value", scene.value(FeatureSelect::saved), scene.before());
}

CONFORMANCE_CASE(set_without_save_is_gone_after_a_reset, "nvme.saved.unsaved", roles::controller,
                 needs(claims_oncs<nvme::oncs_bits::save_and_select>), with_saveable_features) {
  SavedScene scene(bench, check);
  check.precondition_success(scene.set(scene.value(), false), "Set Features");
  scene.reset();
  check.equal("value after a reset", scene.value(FeatureSelect::current), scene.before());
}

CONFORMANCE_CASE(default_stays_when_a_value_is_saved, "nvme.saved.default", roles::controller,
                 needs(claims_oncs<nvme::oncs_bits::save_and_select>), with_saveable_features) {
  SavedScene scene(bench, check);
  const std::uint32_t before = scene.value(FeatureSelect::default_value);
  if (!scene.save()) return;
  check.equal("default value", scene.value(FeatureSelect::default_value), before);
  scene.restore();
}

CONFORMANCE_CASE(saved_value_of_what_cannot_be_saved_is_the_default, "nvme.saved.not-saveable", roles::controller,
                 needs(claims_oncs<nvme::oncs_bits::save_and_select>)) {
  RawAssociation& association = bench.associate();
  const auto get = [&](FeatureSelect select) {
    return association.admin().send(host::get_features(FeatureId::number_of_queues, select)).wait();
  };
  const auto capabilities = get(FeatureSelect::capabilities);
  check.precondition_success(capabilities, "Get Features with SEL 3");
  check.precondition((capabilities.dw0() & nvme::feature_capability_bits::saveable) == 0, "Number of Queues cannot be saved");
  const auto normal = get(FeatureSelect::default_value);
  check.precondition_success(normal, "Get Features with SEL 1");
  check.precondition_success(association.admin().send(host::set_features(FeatureId::number_of_queues, 0)).wait(), "Set Features");
  const auto saved = get(FeatureSelect::saved);
  check.require_success(saved, "Get Features with SEL 2");
  check.equal("saved value", saved.dw0(), normal.dw0());
}

CONFORMANCE_CASE(host_behavior_cannot_be_saved, "nvme.saved.host-behavior", roles::controller,
                 needs(claims_oncs<nvme::oncs_bits::save_and_select>)) {
  RawAssociation& association = bench.associate();
  const auto capabilities =
      association.admin().send(host::get_features(FeatureId::host_behavior_support, FeatureSelect::capabilities)).wait();
  check.precondition_success(capabilities, "Get Features with SEL 3");
  check.that((capabilities.dw0() & nvme::feature_capability_bits::saveable) == 0, "it is not saveable");
  auto command = host::set_features(FeatureId::host_behavior_support, 0);
  command.set(nvme::features_sqe::sv, true);
  check.status(association.admin().send(command, Bytes(nvme::HostBehavior::size)).wait(), sc::feature_not_saveable);
}

CONFORMANCE_CASE(saved_value_outlives_the_association, "nvme.saved.association", roles::controller,
                 needs(claims_oncs<nvme::oncs_bits::save_and_select>), needs(has_static_controllers), furnished{&with_static_controllers}) {
  SavedScene scene(bench, check, {.cntlid = bench.declared().any_cntlid});
  const std::uint16_t cntlid = scene.association().cntlid();
  if (!scene.save()) return;
  scene.association().admin().disconnect();
  bench.world().run_for(kSettled);
  scene.rejoin(bench.associate({.cntlid = cntlid}));
  check.equal("value for the next association", scene.value(FeatureSelect::current), scene.value());
  scene.restore();
}

CONFORMANCE_CASE(saved_value_survives_a_subsystem_reset, "nvme.saved.subsystem-reset", roles::controller,
                 arranged("controllers of the static model and an NVM subsystem reset", &with_static_controllers)) {
  SavedScene scene(bench, check, {.cntlid = fabrics::kAnyStaticController});
  const std::uint16_t cntlid = scene.association().cntlid();
  if (!scene.save()) return;
  bench.subsystem().reset_subsystem();
  bench.world().run_for(kSettled);
  scene.rejoin(bench.associate({.cntlid = cntlid}));
  check.equal("value after an NVM subsystem reset", scene.value(FeatureSelect::current), scene.value());
}

// ---- Timestamp ----

CONFORMANCE_CASE(timestamp_is_there_where_claimed, "nvme.timestamp.claim", roles::controller) {
  RawAssociation& association = bench.associate();
  const bool claimed = (bench.declared().identify().get(nvme::id_ctrl::oncs) & nvme::oncs_bits::timestamp) != 0;
  const auto reply = get_timestamp(association);
  // Some look at the length of the data before they look at the feature.
  if (claimed) {
    check.success(reply, "Get Features, Timestamp");
  } else {
    check.refused(reply, "Get Features, Timestamp");
  }
}

CONFORMANCE_CASE(timestamp_reads_as_set, "nvme.timestamp.set", roles::controller, needs(claims_oncs<nvme::oncs_bits::timestamp>),
                 with_timestamp) {
  RawAssociation& association = bench.associate();
  const Instant before = bench.world().now();
  if (!check.success(set_timestamp(association, kSomeTime), "Set Features, Timestamp")) return;
  const std::uint64_t got = ms_of(timestamp_of(association, check));
  const auto passed = static_cast<std::uint64_t>((bench.world().now() - before).count_ms());
  check.between("milliseconds", got, kSomeTime, kSomeTime + passed + kSlackMs);
}

CONFORMANCE_CASE(timestamp_goes_on, "nvme.timestamp.advances", roles::controller, needs(claims_oncs<nvme::oncs_bits::timestamp>),
                 with_timestamp) {
  RawAssociation& association = bench.associate();
  check.precondition_success(set_timestamp(association, kSomeTime), "Set Features, Timestamp");
  // Each value was read between the command and its answer; a busy machine makes more of three seconds.
  World& world = bench.world();
  const Instant before_first = world.now();
  const auto first = timestamp_of(association, check);
  const Instant after_first = world.now();
  world.run_for(Duration::s(3));
  const Instant before_second = world.now();
  const auto second = timestamp_of(association, check);
  const Instant after_second = world.now();
  const auto passed = static_cast<std::int64_t>(ms_of(second) - ms_of(first));
  const std::int64_t least = second.get(ts::synch) ? 0 : (before_second - after_first).count_ms() - kSlackMs;
  check.between("milliseconds in 3 s", passed, least, (after_second - before_first).count_ms() + kSlackMs);
}

CONFORMANCE_CASE(timestamp_tells_its_origin, "nvme.timestamp.origin", roles::controller, needs(claims_oncs<nvme::oncs_bits::timestamp>),
                 with_timestamp) {
  RawAssociation& association = bench.associate();
  check.precondition_success(set_timestamp(association, kSomeTime), "Set Features, Timestamp");
  check.equal("origin", static_cast<unsigned>(timestamp_of(association, check).get(ts::to)), nvme::kTimestampOfHost);
}

CONFORMANCE_CASE(timestamp_and_origin_are_reset_together, "nvme.timestamp.reset", roles::controller,
                 needs(claims_oncs<nvme::oncs_bits::timestamp>), with_timestamp) {
  RawAssociation& association = bench.associate();
  check.precondition_success(set_timestamp(association, kSomeTime), "Set Features, Timestamp");
  association.disable();
  association.enable();
  const auto value = timestamp_of(association, check);
  const bool kept = value.get(ts::to) == nvme::kTimestampOfHost;
  // A reset takes no ten minutes, and the time of a host is far beyond.
  constexpr std::uint64_t kTenMinutes = 600'000;
  if (kept) {
    check.that(ms_of(value) >= kSomeTime, "the time of the host goes on", std::to_string(ms_of(value)) + " ms");
  } else {
    check.equal("origin", static_cast<unsigned>(value.get(ts::to)), nvme::kTimestampSinceReset);
    check.that(ms_of(value) < kTenMinutes, "the time is that since the reset", std::to_string(ms_of(value)) + " ms");
  }
}

CONFORMANCE_CASE(timestamp_leaves_reserved_bits_clear, "nvme.timestamp.reserved", roles::controller,
                 needs(claims_oncs<nvme::oncs_bits::timestamp>), with_timestamp) {
  RawAssociation& association = bench.associate();
  check.precondition_success(set_timestamp(association, kSomeTime), "Set Features, Timestamp");
  const auto value = timestamp_of(association, check);
  check.equal("bits 7:4 of byte 6", value.bytes()[6] & 0xF0u, 0u);
  check.equal("byte 7", unsigned{value.bytes()[7]}, 0u);
}

}  // namespace fb::conformance
