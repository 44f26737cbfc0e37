// Features: what was set is what is, and defaults do not move.
#include "conformance/cases/nvme/scene.h"
#include "wire/nvme/features.h"

namespace fb::conformance {

namespace {

using nvme::FeatureId;
using nvme::FeatureSelect;
constexpr FeatureId kEvents = FeatureId::async_event_configuration;

std::uint32_t value_of(Check& check, RawAssociation& association, FeatureSelect select) {
  const auto reply = association.admin().send(host::get_features(kEvents, select)).wait();
  check.precondition_success(reply, "Get Features, Asynchronous Event Configuration");
  return reply.dw0();
}
void set(Check& check, RawAssociation& association, std::uint32_t value) {
  check.precondition_success(association.admin().send(host::set_features(kEvents, value)).wait(),
                             "Set Features, Asynchronous Event Configuration");
}

/// An event that the product has; SMART warnings are events of every controller.
std::uint32_t some_event(const Declared& declared) {
  constexpr std::uint32_t kNamespaces = nvme::event_config_bits::namespace_attribute;
  const bool announces = (declared.identify().get(nvme::id_ctrl::oaes) & kNamespaces) != 0;
  return announces ? kNamespaces : nvme::smart_warning_bits::spare;
}

}  // namespace

CONFORMANCE_CASE(feature_is_what_was_set, "nvme.features.takes-effect", roles::controller) {
  RawAssociation& association = bench.associate();
  const std::uint32_t before = value_of(check, association, FeatureSelect::current);
  for (const std::uint32_t value : {some_event(bench.declared()), 0u}) {
    set(check, association, value);
    check.equal("Asynchronous Event Configuration", value_of(check, association, FeatureSelect::current), value);
  }
  set(check, association, before);
}

CONFORMANCE_CASE(default_is_not_the_current_value, "nvme.features.default", roles::controller,
                 needs(claims_oncs<nvme::oncs_bits::save_and_select>)) {
  RawAssociation& association = bench.associate();
  const std::uint32_t before = value_of(check, association, FeatureSelect::current);
  const std::uint32_t normal = value_of(check, association, FeatureSelect::default_value);
  const std::uint32_t event = some_event(bench.declared());
  set(check, association, normal == event ? 0 : event);
  check.equal("the default after Set Features", value_of(check, association, FeatureSelect::default_value), normal);
  set(check, association, before);
}

CONFORMANCE_CASE(reserved_selections_are_refused, "nvme.features.select-reserved", roles::controller,
                 needs(claims_oncs<nvme::oncs_bits::save_and_select>), reaches{"feature.select"}) {
  RawAssociation& association = bench.associate();
  for (const unsigned select : {4u, 7u}) {
    const auto command = host::get_features(FeatureId::number_of_queues, static_cast<FeatureSelect>(select));
    check.status(association.admin().send(command).wait(), sc::invalid_field, "SEL " + words(select));
  }
}

}  // namespace fb::conformance
