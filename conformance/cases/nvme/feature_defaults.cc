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

std::optional<std::string> protects_namespaces(const Declared& declared) {
  const auto bit = nvme::nwpc_bits::write_protect;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::nwpc) & bit) != 0) return {};
  return "NWPC bit 0 is clear";
}
Record<nvme::SetFeaturesSqe> protect(std::uint32_t nsid, std::uint32_t state) {
  auto command = host::set_features(FeatureId::namespace_write_protection, state);
  command.set(nvme::sqe::nsid, nsid);
  return command;
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
  if (protects_namespaces(bench.declared()) || bench.nsid() == 0) return;
  auto asked = host::get_features(FeatureId::namespace_write_protection, FeatureSelect::default_value);
  asked.set(nvme::sqe::nsid, bench.nsid());
  const auto usual = association.admin().send(asked).wait();
  if (!usual.ok() || !association.admin().send(protect(bench.nsid(), 1)).wait().ok()) return;
  const auto then = association.admin().send(asked).wait();
  check.precondition_success(association.admin().send(protect(bench.nsid(), 0)).wait(), "Set Features, Namespace Write Protection");
  check.precondition_success(then, "Get Features, Namespace Write Protection");
  check.equal("the default of Namespace Write Protection Config of a namespace that is protected", then.dw0(), usual.dw0());
}

CONFORMANCE_CASE(reserved_selections_are_refused, "nvme.features.select-reserved", roles::controller,
                 needs(claims_oncs<nvme::oncs_bits::save_and_select>), reaches{"feature.select"}) {
  RawAssociation& association = bench.associate();
  for (const unsigned select : {4u, 7u}) {
    const auto command = host::get_features(FeatureId::number_of_queues, static_cast<FeatureSelect>(select));
    check.status(association.admin().send(command).wait(), sc::invalid_field, "SEL " + words(select));
  }
}

CONFORMANCE_CASE(number_of_queues_reads_as_granted, "nvme.features.number-of-queues-get", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto granted = association.admin().send(host::set_features(FeatureId::number_of_queues, 0x00030003)).wait();
  check.precondition_success(granted, "Set Features, Number of Queues");
  const auto read = association.admin().send(host::get_features(FeatureId::number_of_queues)).wait();
  check.require_success(read, "Get Features, Number of Queues");
  check.equal("what Get Features reads", read.dw0(), granted.dw0());
}

CONFORMANCE_CASE(power_states_that_do_not_exist_are_refused, "nvme.features.power-state", roles::controller,
                 needs(has_feature<FeatureId::power_management>), reaches{"feature.power_state"}) {
  constexpr std::uint32_t kLast = 31;
  const std::uint64_t states = bench.declared().identify().get(nvme::id_ctrl::npss).count();
  check.precondition(states <= kLast, "NPSS leaves power states out");
  RawAssociation& association = bench.associate();
  check.precondition_success(association.admin().send(host::get_features(FeatureId::power_management)).wait(),
                             "Get Features, Power Management");
  for (auto state = static_cast<std::uint32_t>(states); state <= kLast; ++state) {
    check.refused(association.admin().send(host::set_features(FeatureId::power_management, state)).wait(),
                  "Set Features, power state " + words(state));
  }
}

CONFORMANCE_CASE(reserved_thresholds_are_refused, "nvme.features.temperature-reserved", roles::controller,
                 needs(has_feature<FeatureId::temperature_threshold>), reaches{"feature.temperature"}) {
  constexpr std::uint32_t kReservedSensor = 9u << 16 | 400, kReservedType = 3u << 20 | 400;
  RawAssociation& association = bench.associate();
  check.precondition_success(association.admin().send(host::get_features(FeatureId::temperature_threshold)).wait(),
                             "Get Features, Temperature Threshold");
  for (const std::uint32_t value : {kReservedSensor, kReservedType}) {
    check.status(association.admin().send(host::set_features(FeatureId::temperature_threshold, value)).wait(), sc::invalid_field,
                 "Set Features, Temperature Threshold " + words(value));
  }
}

CONFORMANCE_CASE(namespace_features_need_a_namespace, "nvme.features.namespace", roles::controller, needs(protects_namespaces),
                 reaches{"feature.nsid"}) {
  RawAssociation& association = bench.associate();
  const auto list = association.admin().send(host::identify(nvme::Cns::active_namespace_list), 4096).wait();
  check.precondition_success(list, "Identify, active namespace list");
  for (const std::uint32_t nsid : {lowest_inactive(list.data), 0u}) {
    check.status(association.admin().send(protect(nsid, 0)).wait(), one_of(sc::invalid_namespace_or_format, sc::invalid_field),
                 "Set Features, Namespace Write Protection of namespace " + words(nsid));
  }
}

CONFORMANCE_CASE(reserved_write_protection_is_refused, "nvme.features.write-protection-reserved", roles::controller,
                 needs(protects_namespaces), needs(has_namespace), reaches{"feature.write_protect"}) {
  RawAssociation& association = bench.associate();
  auto get = host::get_features(FeatureId::namespace_write_protection);
  get.set(nvme::sqe::nsid, bench.nsid());
  const auto before = association.admin().send(get).wait();
  check.precondition_success(before, "Get Features, Namespace Write Protection");
  check.refused(association.admin().send(protect(bench.nsid(), 5)).wait(), "state 5");
  const auto after = association.admin().send(get).wait();
  if (check.success(after, "Get Features")) check.equal("the state afterwards", after.dw0(), before.dw0());
}

CONFORMANCE_CASE(features_are_of_one_controller, "nvme.features.controllers", roles::controller) {
  RawAssociation& one = bench.associate();
  RawAssociation& other = bench.associate();
  check.precondition(one.cntlid() != other.cntlid(), "there are two controllers");
  const std::uint32_t before = value_of(check, one, FeatureSelect::current);
  const std::uint32_t others = value_of(check, other, FeatureSelect::current);
  const std::uint32_t event = some_event(bench.declared());
  set(check, one, before == event ? 0 : event);
  check.equal("the other controller's Asynchronous Event Configuration", value_of(check, other, FeatureSelect::current), others);
  set(check, one, before);
}

}  // namespace fb::conformance
