// Features: current, default and saved values, each in its scope, and what a Controller Reset restores.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "conformance/oracle/subjects.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_controller.h"

namespace fb::oracle {

namespace {

using nvme::AdminOpcode;
using nvme::FeatureId;
using nvme::FeatureSelect;

enum class Scope : std::uint8_t {
  controller,
  subsystem,  ///< or a namespace of it: all controllers see one value
  unclear,    ///< of this controller, and another one may change it
};

/// A feature whose value is in CDW11 of Set Features and in DW0 of the completion of Get Features.
struct Feature {
  FeatureId id;
  std::uint32_t bits;          ///< of the value
  std::uint32_t selector = 0;  ///< bits of CDW11 that choose among several values
  Scope scope = Scope::controller;
  bool of_namespace = false;
  bool restored = false;  ///< a Controller Reset restores the saved value, or else the default
  std::uint32_t all = 0;  ///< a selector that means all of them
};

/// Features of which DW0 of Set Features tells the value that it has given.
constexpr bool is_granted(FeatureId id) { return id == FeatureId::number_of_queues; }

constexpr Feature kFeatures[] = {
    {.id = FeatureId::arbitration, .bits = 0xFFFFFF07, .restored = true},
    {.id = FeatureId::power_management, .bits = 0x1F, .restored = true},
    {.id = FeatureId::temperature_threshold, .bits = 0xFFFF, .selector = 0x3F0000, .restored = true, .all = 0xF0000},
    {.id = FeatureId::error_recovery, .bits = 0xFFFF, .of_namespace = true, .restored = true},
    {.id = FeatureId::volatile_write_cache, .bits = 1, .restored = true},
    {.id = FeatureId::number_of_queues, .bits = 0xFFFFFFFF},
    {.id = FeatureId::write_atomicity, .bits = 1, .restored = true},
    {.id = FeatureId::async_event_configuration, .bits = 0x3F, .restored = true},
    {.id = FeatureId::host_controlled_thermal_management, .bits = 0xFFFFFFFF},
    {.id = FeatureId::non_operational_power_state, .bits = 1},
    {.id = FeatureId::sanitize_configuration, .bits = 1, .scope = Scope::unclear},
    {.id = FeatureId::endurance_group_event, .bits = 0xFF0000, .selector = 0xFFFF, .scope = Scope::unclear},
    {.id = FeatureId::software_progress_marker, .bits = 0xFF, .scope = Scope::unclear},
    {.id = FeatureId::reservation_notification_mask, .bits = 0xE, .of_namespace = true},
    {.id = FeatureId::reservation_persistence, .bits = 1, .scope = Scope::subsystem, .of_namespace = true},
    {.id = FeatureId::namespace_write_protection, .bits = 7, .scope = Scope::subsystem, .of_namespace = true},
};

const Feature* find(std::uint8_t fid) {
  for (const Feature& one : kFeatures) {
    if (static_cast<std::uint8_t>(one.id) == fid) return &one;
  }
  return nullptr;
}

/// A value of a feature, as far as it is known.
struct Register {
  std::optional<std::uint32_t> value = {};
  std::uint64_t packet = 0;  ///< that told it
  bool by_reset = false;
};

struct Values {
  Register current, preset, saved;
};

class Features final : public Subject {
 public:
  using Subject::Subject;

  void on_command(const Exchange& one) override {
    if (one.subsystem().discovery) return;
    if (one.is(AdminOpcode::set_features)) touch(one, one.began, 1);
  }

  void on_answer(const Exchange& one) override {
    if (one.subsystem().discovery) return;
    if (one.is(AdminOpcode::set_features)) return on_set(one);
    if (one.is(AdminOpcode::get_features)) return on_get(one);
    if (one.is(AdminOpcode::identify)) return on_identify(one);
    if (one.is(nvme::FabricsType::property_set)) touched_[place_of_reset(*one.controller)].last = one.ended;
    if (one.is(nvme::IoOpcode::reservation_register)) forget(one.subsystem(), FeatureId::reservation_persistence);
    const bool renews = one.is(AdminOpcode::namespace_management) || one.is(AdminOpcode::firmware_commit) ||
                        one.is(AdminOpcode::nvme_mi_send) || one.is(AdminOpcode::capacity_management) || one.is(AdminOpcode::sanitize);
    if (one.is(AdminOpcode::firmware_commit)) capabilities_.clear();
    if (renews) on_unsure(&one.subsystem());
  }

  void on_abandoned(const Exchange& one) override {
    if (!one.is(AdminOpcode::set_features) || one.subsystem().discovery) return;
    touch(one, one.ended, -1);
    if (const Feature* const feature = feature_of(one)) forget_all(one, *feature);
  }

  void on_controller(const Controller& controller) override {
    if (selects(controller.declared)) selecting_.insert(controller.number);
  }
  void on_controller_end(const Controller& controller) override {
    std::erase_if(values_, [&](const auto& of) { return of.first.controller == controller.number; });
    std::erase_if(touched_, [&](const auto& of) { return of.first.controller == controller.number; });
    std::erase_if(capabilities_, [&](const auto& of) { return of.first.controller == controller.number; });
  }

  void on_reset(const Controller& controller) override {
    touched_[place_of_reset(controller)].last = kNever;
    for (auto& [key, values] : values_) {
      const Feature* const feature = find(key.fid);
      if (key.controller != controller.number) continue;
      values.current = feature->restored ? values.saved : Register{};
      values.current.by_reset = true;
    }
  }

  void on_unsure(const Subsystem* subsystem) override {
    std::erase_if(values_, [&](const auto& of) { return subsystem == nullptr || of.first.subsystem == subsystem->number; });
    unsure_ = last_;
  }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  struct Key {
    std::uint64_t controller = 0;  // 0: of the subsystem
    std::uint64_t subsystem = 0;
    std::uint8_t fid = 0;
    std::uint32_t nsid = 0, selector = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Place {
    std::uint64_t controller = 0, subsystem = 0;
    std::uint8_t fid = 0;  // 0: a reset
    auto operator<=>(const Place&) const = default;
  };
  struct Touched {
    int open = 0;
    std::uint64_t last = 0;
  };

  static std::uint8_t fid_of(const Exchange& one) { return one.command<nvme::SetFeaturesSqe>().get(nvme::features_sqe::fid); }
  static const Feature* feature_of(const Exchange& one) { return find(fid_of(one)); }

  static Key key_of(const Exchange& one, const Feature& feature) {
    const std::uint32_t cdw11 = one.command<nvme::SetFeaturesSqe>().get(nvme::features_sqe::cdw11);
    const std::uint64_t owner = feature.scope == Scope::subsystem ? 0 : one.controller->number;
    return {owner, one.subsystem().number, static_cast<std::uint8_t>(feature.id), feature.of_namespace ? one.nsid() : 0,
            cdw11 & feature.selector};
  }

  /// Where changes of this feature are noted: with the controller, unless another one may change it.
  static Place place_of(const Exchange& one) {
    const Feature* const feature = feature_of(one);
    const bool own = feature == nullptr || feature->scope == Scope::controller;
    return {own ? one.controller->number : 0, one.subsystem().number, fid_of(one)};
  }

  static Place place_of_reset(const Controller& controller) { return {controller.number, controller.subsystem->number, 0}; }

  void touch(const Exchange& one, std::uint64_t order, int more) {
    Touched& touched = touched_[place_of(one)];
    touched.open += more;
    touched.last = order;
    last_ = order;
  }

  /// No change was under way while this command was, but for its own.
  bool alone(const Exchange& one) {
    last_ = one.ended;
    const Touched &touched = touched_[place_of(one)], &reset = touched_[place_of_reset(*one.controller)];
    const std::uint64_t began = one.is(AdminOpcode::set_features) ? one.began + 1 : one.began;
    return touched.open == 0 && touched.last < began && reset.last < one.began && unsure_ < one.began;
  }

  void forget(const Subsystem& subsystem, FeatureId id) {
    for (auto& [key, values] : values_) {
      if (key.subsystem == subsystem.number && key.fid == static_cast<std::uint8_t>(id)) values.current = values.saved = {};
    }
  }
  /// All values of a feature that a Set Features may mean.
  void forget_all(const Exchange& one, const Feature& feature) {
    for (auto& [key, values] : values_) {
      const bool others = feature.scope != Scope::controller;
      if (key.fid != static_cast<std::uint8_t>(feature.id) || key.subsystem != one.subsystem().number) continue;
      if (others || key.controller == one.controller->number) values.current = values.saved = {};
    }
  }

  static bool refused(const Exchange& one) {
    const nvme::Status status = one.status();
    return same_code(status, nvme::sc::invalid_field) || same_code(status, nvme::sc::feature_not_saveable) ||
           same_code(status, nvme::sc::feature_not_changeable) || same_code(status, nvme::sc::feature_not_namespace_specific);
  }

  /// The command gives a value other than the one that is known.
  bool is_another_value(const Exchange& one) const {
    const Feature* const feature = feature_of(one);
    if (feature == nullptr) return false;
    const auto known = values_.find(key_of(one, *feature));
    const std::uint32_t given = one.command<nvme::SetFeaturesSqe>().get(nvme::features_sqe::cdw11) & feature->bits;
    return known != values_.end() && known->second.current.value && *known->second.current.value != given;
  }

  /// Against what SEL = 011b said of the feature.
  void judge_capabilities(const Exchange& one) {
    namespace bits = nvme::feature_capability_bits;
    const auto known = capabilities_.find({one.controller->number, one.subsystem().number, fid_of(one)});
    if (known == capabilities_.end()) return;
    const bool saves = one.command<nvme::SetFeaturesSqe>().get(nvme::features_sqe::sv);
    const auto contradicts = [&](std::uint32_t bit, bool taken, bool refused, std::string_view name) {
      const bool claimed = (known->second & bit) != 0;
      judged(Rule::oracle_features);
      if (claimed ? !refused : !taken) return;
      say(Rule::oracle_features, fmt::format("Set Features of {:02X}h completes with {}, and its capabilities {} {}", fid_of(one),
                                             to_string(one.status()), claimed ? "are" : "are not", name));
    };
    // A feature that cannot be changed may be set to the value that it has.
    contradicts(bits::changeable, one.ok() && is_another_value(one), same_code(one.status(), nvme::sc::feature_not_changeable),
                "changeable");
    if (saves) contradicts(bits::saveable, one.ok(), same_code(one.status(), nvme::sc::feature_not_saveable), "saveable");
    const bool of_one = one.nsid() != 0 && one.nsid() != nvme::kAllNamespaces;
    const bool denied = same_code(one.status(), nvme::sc::feature_not_namespace_specific);
    if (of_one) contradicts(bits::namespace_specific, false, denied, "namespace specific");
  }
  /// Who does not claim Save and Select may not know SEL.
  static bool selects(ByteView controller) {
    return controller.size() >= nvme::kIdentifySize &&
           (View<nvme::IdentifyController>{controller}.get(nvme::id_ctrl::oncs) & nvme::oncs_bits::save_and_select) != 0;
  }
  void on_identify(const Exchange& one) {
    const bool asked = one.command<nvme::IdentifySqe>().get(nvme::identify_sqe::cns) == static_cast<std::uint8_t>(nvme::Cns::controller);
    if (one.ok() && asked && selects(one.data_in(nvme::kIdentifySize))) selecting_.insert(one.controller->number);
  }
  /// They are what the controller is, and stay.
  void on_capabilities(const Exchange& one) {
    if (selecting_.count(one.controller->number) == 0) return;
    const std::uint32_t got = one.answer().get(nvme::cqe::dw0);
    const Place place{one.controller->number, one.subsystem().number, fid_of(one)};
    if (const auto known = capabilities_.find(place); known != capabilities_.end()) {
      judged(Rule::oracle_features);
      if (known->second != got) {
        say(Rule::oracle_features,
            fmt::format("the capabilities of feature {:02X}h are {:#x} after {:#x}", fid_of(one), got, known->second));
      }
    }
    capabilities_[place] = got;
  }

  void on_set(const Exchange& one) {
    judge_capabilities(one);
    Touched& touched = touched_[place_of(one)];
    --touched.open;
    const Feature* const feature = feature_of(one);
    const bool sure = alone(one);
    touched.last = one.ended;
    if (feature == nullptr || (!one.ok() && refused(one) && sure)) return;
    const Key key = key_of(one, *feature);
    const auto command = one.command<nvme::SetFeaturesSqe>();
    const bool saves = command.get(nvme::features_sqe::sv);
    const bool several = (feature->all != 0 && (key.selector & feature->all) == feature->all) ||
                         (feature->of_namespace && one.nsid() == nvme::kAllNamespaces);
    if (!sure || !one.ok() || several || feature->scope == Scope::unclear) forget_all(one, *feature);
    if (!sure || !one.ok() || several) return;
    Values& values = values_[key];
    const std::uint32_t given = is_granted(feature->id) ? one.answer().get(nvme::cqe::dw0) : command.get(nvme::features_sqe::cdw11);
    values.current = {given & feature->bits, one.packet};
    if (saves) values.saved = values.current;
  }

  void on_get(const Exchange& one) {
    const Feature* const feature = feature_of(one);
    const FeatureSelect select = one.command<nvme::GetFeaturesSqe>().get(nvme::features_sqe::sel);
    if (one.ok() && select == FeatureSelect::capabilities) return on_capabilities(one);
    if (feature == nullptr || !one.ok() || !alone(one)) return;
    const Key key = key_of(one, *feature);
    if (feature->all != 0 && (key.selector & feature->all) == feature->all) return;
    if (feature->of_namespace && (one.nsid() == nvme::kAllNamespaces || one.nsid() == 0)) return;
    const std::uint32_t got = one.answer().get(nvme::cqe::dw0) & feature->bits;
    Values& values = values_[key];
    switch (select) {
      case FeatureSelect::current:
        return hold(one, values.current, got, values.current.by_reset ? Rule::oracle_features_reset : Rule::oracle_features);
      case FeatureSelect::default_value:
        return hold(one, values.preset, got, Rule::oracle_features_default);
      case FeatureSelect::saved:
        return hold(one, values.saved, got, Rule::oracle_features_saved);
      default:
        return;
    }
  }

  void hold(const Exchange& one, Register& known, std::uint32_t got, Rule rule) {
    if (known.value) judged(rule);
    if (known.value && *known.value != got) {
      say(rule, fmt::format("feature {:02X}h ({}) is {:#x}, and by packet {} it is {:#x}", fid_of(one), nvme::feature_name(fid_of(one)),
                            got, known.packet, *known.value));
    }
    known = {got, one.packet};
  }

  std::map<Key, Values> values_;
  std::map<Place, Touched> touched_;
  std::map<Place, std::uint32_t> capabilities_;
  std::set<std::uint64_t> selecting_;  // controllers that claim Save and Select
  std::uint64_t last_ = 0, unsure_ = 0;
};

}  // namespace

std::unique_ptr<Subject> follow_features(Reporter& reporter, bool complete) { return std::make_unique<Features>(reporter, complete); }

}  // namespace fb::oracle
