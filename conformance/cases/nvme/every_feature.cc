// Every feature: which there are, what is saved, what a reset restores, and whose a value is.
#include <fmt/format.h>

#include "conformance/cases/nvme/scene.h"
#include "wire/nvme/features.h"
#include "wire/nvme/logs.h"

namespace fb::conformance {

namespace {

using nvme::FeatureId;
using nvme::FeatureSelect;
namespace bits = nvme::feature_capability_bits;

constexpr std::uint32_t kUnder = 1u << 20;

/// A feature of a controller that is a value, with two values that do no harm.
struct Sample {
  FeatureId id;
  std::uint32_t one, other;
  std::uint32_t fields;      ///< bits of the value that are the host's
  std::uint32_t select = 0;  ///< in CDW11 of Get and Set: one of several values of the feature
};
constexpr Sample kSamples[] = {
    {FeatureId::arbitration, 3, 5, 7},
    {FeatureId::temperature_threshold, 0x0181, 0x0172, 0xFFFF},
    {FeatureId::temperature_threshold, 0x00A5, 0x005A, 0xFFFF, kUnder},
    {FeatureId::error_recovery, 0x0123, 0x0321, 0xFFFF},
    {FeatureId::volatile_write_cache, 1, 0, 1},
    {FeatureId::write_atomicity, 1, 0, 1},
    {FeatureId::async_event_configuration, 0x01, 0x04, 0xFF},
    // Report intervals that are longer than any poll interval.
    {FeatureId::lba_status_information, 0x1234, 0x2345, 0xFFFF},
    {FeatureId::endurance_group_event, 0x0001'0000, 0x0004'0000, 0x00FF'0000, 1},
    {FeatureId::endurance_group_event, 0x0004'0000, 0x0001'0000, 0x00FF'0000, 2},
};

std::string named(const Sample& sample) {
  const std::string name(nvme::feature_name(static_cast<std::uint8_t>(sample.id)));
  return sample.select == 0 ? name : fmt::format("{}, CDW11 {:X}h", name, sample.select);
}

host::RawReply get(RawAssociation& association, const Sample& sample, FeatureSelect select) {
  return association.admin().send(host::get_features(sample.id, select, sample.select)).wait();
}
host::RawReply set(RawAssociation& association, const Sample& sample, std::uint32_t value, bool save = false) {
  auto command = host::set_features(sample.id, sample.select | value);
  command.set(nvme::features_sqe::sv, save);
  return association.admin().send(command).wait();
}

/// What a case does with one feature, and what it has found.
struct Tried {
  const Sample* sample;
  std::uint32_t first = 0, normal = 0, saved = 0;  ///< current, default and saved at the beginning
  std::uint32_t one = 0, other = 0;                ///< both differ from what is saved
  bool saveable = false;
};

class EveryFeature {
 public:
  EveryFeature(Check& check, RawAssociation& association) : check_(check), association_(association) {
    for (const Sample& sample : kSamples) {
      const auto capabilities = get(association, sample, FeatureSelect::capabilities);
      if (!capabilities.ok() || (capabilities.dw0() & bits::changeable) == 0) continue;
      // A product without sensors has no thresholds that count.
      const auto now = get(association, sample, FeatureSelect::current);
      if (!now.ok()) continue;
      Tried tried{.sample = &sample, .first = now.dw0() & sample.fields};
      tried.saveable = (capabilities.dw0() & bits::saveable) != 0;
      tried.normal = value(tried, FeatureSelect::default_value);
      tried.saved = value(tried, FeatureSelect::saved);
      const bool taken = sample.one == tried.saved;
      tried.one = taken ? sample.other : sample.one;
      tried.other = taken ? sample.one : sample.other;
      tried_.push_back(tried);
    }
    check.precondition(!tried_.empty(), "there is a feature that can be changed");
  }

  std::vector<Tried>& all() { return tried_; }
  std::uint32_t value(const Tried& tried, FeatureSelect select) { return value_of(association_, tried, select); }
  std::uint32_t value_of(RawAssociation& association, const Tried& tried, FeatureSelect select) {
    const auto reply = get(association, *tried.sample, select);
    check_.require_success(reply, "Get Features, " + named(*tried.sample));
    return reply.dw0() & tried.sample->fields;
  }
  void judge(const Tried& tried, FeatureSelect select, std::string_view which, std::uint32_t expected) {
    check_.equal(fmt::format("{} value of {}", which, named(*tried.sample)), value(tried, select), expected);
  }
  void set_all(bool save, std::uint32_t Tried::*what) {
    for (const Tried& tried : tried_) {
      check_.success(set(association_, *tried.sample, tried.*what, save && tried.saveable), "Set Features, " + named(*tried.sample));
    }
  }
  void reset() {
    association_.disable();
    association_.enable();
  }
  void restore() {
    set_all(true, &Tried::saved);
    set_all(false, &Tried::first);
  }

 private:
  Check& check_;
  RawAssociation& association_;
  std::vector<Tried> tried_;
};

Bytes feature_effects(Check& check, RawAssociation& association) {
  auto command = host::get_log(nvme::LogPage::feature_effects, nvme::FeatureEffects::size);
  command.set(nvme::get_log_sqe::rae, true);
  const auto reply = association.admin().send(command, nvme::FeatureEffects::size).wait();
  check.precondition_success(reply, "Get Log Page 12h");
  return reply.data;
}
View<nvme::FeatureEffect> effect_of(const Bytes& log, unsigned fid) {
  return element<nvme::FeatureEffect>(log, nvme::feature_effects::fids, fid);
}

const furnished with_all_features{[](EmbeddedSetup& setup) {
  setup.subsystem.saveable_features = true;
  setup.subsystem.endurance.groups = 2;
  setup.subsystem.lba_status = {};
}};
const needs selects{claims_oncs<nvme::oncs_bits::save_and_select>};
/// Host Behavior Support as far as the product claims what it enables.
struct Behavior {
  std::uint8_t retries = 0, formats = 0;
  std::uint16_t copies = 0;
  bool operator==(const Behavior&) const = default;
};
Behavior claimed_behavior(const Declared& declared) {
  // Formats 2h and 3h of Copy have to be enabled; the first two do not.
  constexpr unsigned kEnabled = 0xC;
  const auto identify = declared.identify();
  const bool copies = (identify.get(nvme::id_ctrl::oncs) & nvme::oncs_bits::copy) != 0;
  const bool formats = (identify.get(nvme::id_ctrl::ctratt) & nvme::ctratt_bits::extended_lba_formats) != 0;
  const unsigned formats_of_copy = copies ? identify.get(nvme::id_ctrl::cdfs) & kEnabled : 0u;
  return {1, static_cast<std::uint8_t>(formats ? 1 : 0), static_cast<std::uint16_t>(formats_of_copy)};
}
/// All, each alone, all but one, and none.
std::vector<Behavior> behaviors(const Behavior& all) {
  std::vector<Behavior> rounds = {all, {all.retries, 0, 0}, {0, all.formats, 0}, {0, all.formats, all.copies}};
  for (unsigned bit = 0; bit < 16; ++bit) {
    if ((all.copies >> bit & 1) != 0) rounds.push_back({0, 0, static_cast<std::uint16_t>(1u << bit)});
  }
  rounds.push_back({});
  return rounds;
}

/// A feature that nothing here knows; beside those that the product may have in its own right.
constexpr unsigned kVendorFeatures = 0xC0;

std::optional<std::string> protects_two_namespaces(const Declared& declared) {
  if (const auto why = has_two_namespaces(declared)) return why;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::nwpc) & nvme::nwpc_bits::write_protect) != 0) return {};
  return "NWPC bit 0 is clear";
}

}  // namespace

CONFORMANCE_CASE(every_feature_is_listed_or_refused, "nvme.features.every-identifier", roles::controller, needs(is_version_2), selects,
                 sends_malformed) {
  RawAssociation& association = bench.associate();
  const Bytes log = feature_effects(check, association);
  for (unsigned fid = 0; fid < 256; ++fid) {
    const auto effect = effect_of(log, fid);
    auto ask = host::get_features(static_cast<std::uint8_t>(fid), FeatureSelect::capabilities);
    auto alter = host::set_features(static_cast<std::uint8_t>(fid), 0);
    const bool of_namespace = (effect.get(nvme::feature_effect::fsp) & nvme::scope_bits::namespace_scope) != 0;
    if (of_namespace) ask.set(nvme::sqe::nsid, bench.nsid());
    const auto reply = association.admin().send(ask).wait();
    const std::string what = fmt::format("Get Features of {:02X}h", fid);
    if (effect.get(nvme::feature_effect::fsupp)) {
      const bool told = effect.get(nvme::feature_effect::fsp) != 0;  // 0: no scope is reported
      const bool specific = check.success(reply, what + ", which is listed") && (reply.dw0() & bits::namespace_specific) != 0;
      if (told && specific) check.that(of_namespace, what + ": a namespace specific feature has the scope of a namespace in FSP");
      continue;
    }
    check.status(reply, sc::invalid_field, what + ", which is not listed");
    if (fid >= kVendorFeatures) continue;
    check.status(association.admin().send(alter).wait(), sc::invalid_field,
                 fmt::format("Set Features of {:02X}h, which is not listed", fid));
  }
}

CONFORMANCE_CASE(every_feature_is_saved_by_itself, "nvme.saved.every", roles::controller, selects, with_all_features, sends_malformed) {
  EveryFeature features(check, bench.associate());
  features.set_all(true, &Tried::one);
  for (const Tried& tried : features.all()) {
    features.judge(tried, FeatureSelect::current, "current", tried.one);
    features.judge(tried, FeatureSelect::default_value, "default", tried.normal);
    features.judge(tried, FeatureSelect::saved, "saved", tried.saveable ? tried.one : tried.saved);
  }
  features.set_all(false, &Tried::other);
  for (const Tried& tried : features.all()) {
    features.judge(tried, FeatureSelect::current, "current", tried.other);
    features.judge(tried, FeatureSelect::saved, "saved", tried.saveable ? tried.one : tried.saved);
  }
  features.restore();
}

CONFORMANCE_CASE(reset_restores_every_feature, "nvme.features.every-reset", roles::controller, selects, with_all_features,
                 sends_malformed) {
  RawAssociation& association = bench.associate();
  EveryFeature features(check, association);
  features.set_all(true, &Tried::one);
  features.set_all(false, &Tried::other);
  Record<nvme::HostBehavior> behavior;
  behavior.set(nvme::host_behavior::acre, 1).set(nvme::host_behavior::lbafee, 1);
  (void)association.admin().send(host::set_features(FeatureId::host_behavior_support, 0), behavior.bytes()).wait();
  features.reset();
  const auto kept = association.admin().send(host::get_features(FeatureId::host_behavior_support), nvme::HostBehavior::size).wait();
  if (kept.ok()) check.bytes("Host Behavior Support after a reset", kept.data, Bytes(nvme::HostBehavior::size));
  for (const Tried& tried : features.all()) {
    features.judge(tried, FeatureSelect::current, "after a reset the current", tried.saveable ? tried.one : tried.normal);
    features.judge(tried, FeatureSelect::saved, "after a reset the saved", tried.saveable ? tried.one : tried.saved);
  }
  features.restore();
}

CONFORMANCE_CASE(every_value_is_of_one_controller, "nvme.features.every-controller", roles::controller, selects, needs(is_version_2),
                 sends_malformed) {
  RawAssociation& association = bench.associate();
  RawAssociation& other = bench.associate();
  const Bytes log = feature_effects(check, association);
  EveryFeature features(check, association);
  std::erase_if(features.all(), [&](const Tried& tried) {
    return effect_of(log, static_cast<unsigned>(tried.sample->id)).get(nvme::feature_effect::fsp) != nvme::scope_bits::controller;
  });
  check.precondition(!features.all().empty(), "there is a feature whose scope is the controller");
  for (const Tried& tried : features.all()) check.precondition_success(set(other, *tried.sample, tried.other), "Set Features");
  features.set_all(false, &Tried::one);
  const auto judge = [&](std::string_view when) {
    for (const Tried& tried : features.all()) {
      check.equal(fmt::format("{} of another controller {}", named(*tried.sample), when),
                  features.value_of(other, tried, FeatureSelect::current), tried.other);
    }
  };
  judge("after Set Features");
  features.reset();
  judge("after a reset");
}

CONFORMANCE_CASE(protection_is_of_each_namespace, "nvme.write-protection.each", roles::controller, needs(protects_two_namespaces),
                 sends_malformed) {
  RawAssociation& association = bench.associate();
  const auto& all = bench.declared().namespaces;
  const auto protect = [&](std::uint32_t nsid, std::uint32_t state) {
    auto command = host::set_features(FeatureId::namespace_write_protection, state);
    command.set(nvme::sqe::nsid, nsid);
    check.precondition_success(association.admin().send(command).wait(), "Set Features, Namespace Write Protection");
  };
  for (const host::NamespaceFacts& one : all) {
    protect(one.nsid, 1);
    for (const host::NamespaceFacts& each : all) {
      auto command = host::get_features(FeatureId::namespace_write_protection);
      command.set(nvme::sqe::nsid, each.nsid);
      const auto reply = association.admin().send(command).wait();
      check.require_success(reply, "Get Features, Namespace Write Protection");
      check.equal(fmt::format("protection of namespace {} while {} is protected", each.nsid, one.nsid), reply.dw0() & 7,
                  each.nsid == one.nsid ? 1u : 0u);
    }
    protect(one.nsid, 0);
  }
}

CONFORMANCE_CASE(features_that_change_are_changeable, "nvme.features.changeable", roles::controller, selects, with_all_features,
                 sends_malformed) {
  RawAssociation& association = bench.associate();
  bool any = false;
  for (const Sample& sample : kSamples) {
    const auto capabilities = get(association, sample, FeatureSelect::capabilities);
    const auto before = get(association, sample, FeatureSelect::current);
    if (!capabilities.ok() || !before.ok()) continue;
    any = true;
    const bool changeable = (capabilities.dw0() & bits::changeable) != 0;
    const std::uint32_t value = (before.dw0() & sample.fields) == sample.one ? sample.other : sample.one;
    const auto changed = set(association, sample, value);
    if (changeable) {
      check.success(changed, "Set Features, " + named(sample) + ", which is changeable");
    } else {
      check.status(changed, one_of(sc::feature_not_changeable, sc::invalid_field),
                   "Set Features of another value, " + named(sample) + ", which is not changeable");
    }
    if (changed.ok()) check.precondition_success(set(association, sample, before.dw0() & sample.fields), "Set Features, as before");
  }
  check.precondition(any, "there is a feature of the controller");
}

CONFORMANCE_CASE(host_behavior_reads_as_set, "nvme.features.host-behavior", roles::controller, sends_malformed) {
  namespace hb = nvme::host_behavior;
  const bool has_select = !claims_oncs<nvme::oncs_bits::save_and_select>(bench.declared());
  RawAssociation& association = bench.associate();
  const auto before = association.admin().send(host::get_features(FeatureId::host_behavior_support), nvme::HostBehavior::size).wait();
  check.precondition_success(before, "Get Features, Host Behavior Support");
  for (const Behavior& wanted : behaviors(claimed_behavior(bench.declared()))) {
    Record<nvme::HostBehavior> data;
    data.set(hb::acre, wanted.retries).set(hb::lbafee, wanted.formats).set(hb::cdfe, wanted.copies);
    const std::string what = fmt::format("ACRE {}, LBAFEE {}, CDFE {:X}h", wanted.retries, wanted.formats, wanted.copies);
    const auto done = association.admin().send(host::set_features(FeatureId::host_behavior_support, 0), data.bytes()).wait();
    if (!check.success(done, "Set Features, Host Behavior Support, " + what)) continue;
    const auto got = association.admin().send(host::get_features(FeatureId::host_behavior_support), nvme::HostBehavior::size).wait();
    if (!check.success(got, "Get Features, Host Behavior Support, " + what)) continue;
    const View<nvme::HostBehavior> is{got.data};
    check.equal("ACRE after " + what, unsigned{is.get(hb::acre)}, unsigned{wanted.retries});
    check.equal("LBAFEE after " + what, unsigned{is.get(hb::lbafee)}, unsigned{wanted.formats});
    check.equal("CDFE after " + what, unsigned{is.get(hb::cdfe)}, unsigned{wanted.copies});
    if (!has_select) continue;
    const auto ask = host::get_features(FeatureId::host_behavior_support, FeatureSelect::default_value);
    const auto normal = association.admin().send(ask, nvme::HostBehavior::size).wait();
    if (!check.success(normal, "Get Features, default Host Behavior Support")) continue;
    check.bytes("default Host Behavior Support after " + what, normal.data, Bytes(nvme::HostBehavior::size));
  }
}

}  // namespace fb::conformance
