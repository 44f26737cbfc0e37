// Features field by field: what a product keeps, it keeps whole, and each part apart.
#include <fmt/format.h>

#include <optional>

#include "conformance/cases/nvme/scene.h"
#include "conformance/runner/arranger.h"
#include "wire/nvme/features.h"

namespace fb::conformance {

namespace {

using nvme::FeatureId;

host::RawReply get(RawAssociation& association, FeatureId id, std::uint32_t cdw11 = 0) {
  return association.admin().send(host::get_features(id, nvme::FeatureSelect::current, cdw11)).wait();
}
host::RawReply set(RawAssociation& association, FeatureId id, std::uint32_t value) {
  return association.admin().send(host::set_features(id, value)).wait();
}

std::optional<std::string> protects_namespaces(const Declared& declared) {
  const auto bit = nvme::nwpc_bits::write_protect;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::nwpc) & bit) != 0) return {};
  return "NWPC bit 0 is clear";
}

/// Who names no warning temperature may do without a threshold for cold.
std::optional<std::string> has_warning_temperature(const Declared& declared) {
  if (!declared.known || declared.identify().get(nvme::id_ctrl::wctemp) != 0) return {};
  return "WCTEMP is 0: there need be no under temperature threshold";
}

constexpr std::uint32_t kUnder = 1u << 20;

std::uint32_t threshold(Check& check, RawAssociation& association, std::uint32_t type) {
  const auto reply = get(association, FeatureId::temperature_threshold, type);
  check.precondition_success(reply, "Get Features, Temperature Threshold");
  return reply.dw0() & 0xFFFF;
}
void set_threshold(Check& check, RawAssociation& association, std::uint32_t value) {
  check.precondition_success(set(association, FeatureId::temperature_threshold, value), "Set Features, Temperature Threshold");
}
nvme::Status protect(RawAssociation& association, std::uint32_t nsid, std::uint32_t state) {
  auto command = host::set_features(FeatureId::namespace_write_protection, state);
  command.set(nvme::sqe::nsid, nsid);
  return association.admin().send(command).wait().status();
}
std::uint8_t attributes(Check& check, RawAssociation& association, std::uint32_t nsid) {
  const auto page = association.admin().send(host::identify(nvme::Cns::identify_namespace, nsid), 4096).wait();
  check.precondition_success(page, "Identify Namespace");
  return static_cast<std::uint8_t>(View<nvme::IdentifyNamespace>{page.data}.get(nvme::id_ns::nsattr));
}
/// The same of the structure that all command sets share; nothing where the product has none.
std::optional<std::uint8_t> shared_attributes(RawAssociation& association, std::uint32_t nsid) {
  const auto page = association.admin().send(host::identify(nvme::Cns::independent_namespace, nsid), 4096).wait();
  if (!page.ok()) return std::nullopt;
  return static_cast<std::uint8_t>(View<nvme::IdentifyNamespaceIndependent>{page.data}.get(nvme::id_ns_independent::nsattr));
}

}  // namespace

CONFORMANCE_CASE(thresholds_of_heat_and_cold_are_apart, "nvme.features.thresholds-apart", roles::controller,
                 needs(has_warning_temperature)) {
  constexpr std::uint32_t kHot = 390, kCold = 90;
  RawAssociation& association = bench.associate();
  const std::uint32_t over = threshold(check, association, 0), under = threshold(check, association, kUnder);
  set_threshold(check, association, kHot);
  // Without a sensor a product has nothing to compare a threshold with.
  check.precondition(threshold(check, association, 0) == kHot, "the product keeps thresholds");
  set_threshold(check, association, kUnder | kCold);
  check.equal("the under temperature threshold", threshold(check, association, kUnder), kCold);
  check.equal("the over temperature threshold", threshold(check, association, 0), kHot);
  set_threshold(check, association, kUnder | under);
  set_threshold(check, association, over);
}

CONFORMANCE_CASE(cold_shows_in_the_critical_warning, "nvme.temperature.cold", roles::controller, needs(has_warning_temperature)) {
  RawAssociation& association = bench.associate();
  const auto smart = [&] {
    const auto log = host::get_log(nvme::LogPage::smart, nvme::SmartLog::size);
    const auto reply = association.admin().send(log, nvme::SmartLog::size).wait();
    check.precondition_success(reply, "Get Log Page 02h");
    return Record<nvme::SmartLog>{reply.data};
  };
  const auto warned = [&] { return (smart().get(nvme::smart::cw) & nvme::smart_warning_bits::temperature) != 0; };
  const std::uint32_t kelvin = smart().get(nvme::smart::ctemp);
  check.precondition(kelvin > 10, "the product knows its temperature");
  check.precondition(!warned(), "there is no warning yet");
  const std::uint32_t before = threshold(check, association, kUnder);
  set_threshold(check, association, kUnder | (kelvin + 5));
  check.precondition(threshold(check, association, kUnder) == kelvin + 5, "the product keeps thresholds");
  bool seen = false;
  for (unsigned i = 0; i < 20 && !seen; ++i) {
    seen = warned();
    if (!seen) bench.world().run_for(500_ms);
  }
  check.that(seen, "bit 1 of the critical warning is set below the under temperature threshold", "it stays clear");
  set_threshold(check, association, kUnder | before);
}

CONFORMANCE_CASE(keep_alive_timeout_that_is_set_is_not_cut, "nvme.features.keep-alive-set", roles::controller, needs(has_keep_alive)) {
  const std::uint32_t unit_ms = bench.declared().identify().get(nvme::id_ctrl::kas) * 100u;
  check.precondition(unit_ms > 0, "the product says its keep alive granularity");
  RawAssociation& association = bench.associate({.kato_ms = 60'000});
  // What is below the least that the product takes becomes the least; anything else goes up to the next unit.
  check.precondition_success(set(association, FeatureId::keep_alive_timer, unit_ms), "Set Features, Keep Alive Timer");
  const auto shortest = get(association, FeatureId::keep_alive_timer);
  check.require_success(shortest, "Get Features, Keep Alive Timer");
  const std::uint32_t asked_ms = 30'000 / unit_ms * unit_ms + unit_ms / 2;
  const std::uint32_t expected_ms = std::max(shortest.dw0(), (asked_ms + unit_ms - 1) / unit_ms * unit_ms);
  check.precondition_success(set(association, FeatureId::keep_alive_timer, asked_ms), "Set Features, Keep Alive Timer");
  const auto reply = get(association, FeatureId::keep_alive_timer);
  check.require_success(reply, "Get Features, Keep Alive Timer");
  check.equal(fmt::format("the timeout after {} ms were set", asked_ms), reply.dw0(), expected_ms);
}

CONFORMANCE_CASE(plain_features_are_kept_whole, "nvme.features.kept-whole", roles::controller,
                 needs(has_feature<FeatureId::error_recovery, FeatureId::write_atomicity>)) {
  constexpr struct {
    FeatureId id;
    std::uint32_t value, fields;
  } kPlain[] = {{FeatureId::error_recovery, 0x0101, 0xFFFF}, {FeatureId::write_atomicity, 1, 1}};
  RawAssociation& association = bench.associate();
  bool any = false;
  for (const auto& plain : kPlain) {
    const std::string name(nvme::feature_name(static_cast<std::uint8_t>(plain.id)));
    const auto before = get(association, plain.id);
    if (!before.ok() || !set(association, plain.id, plain.value).ok()) continue;
    any = true;
    const auto after = get(association, plain.id);
    if (check.success(after, "Get Features, " + name)) check.equal(name, after.dw0() & plain.fields, plain.value);
    check.precondition_success(set(association, plain.id, before.dw0()), "Set Features with the earlier value");
  }
  check.precondition(any, "the product lets Error Recovery or Write Atomicity be set");
}

CONFORMANCE_CASE(write_protection_shows_in_identify, "nvme.write-protection.attribute", roles::controller, needs(protects_namespaces),
                 needs(has_namespace)) {
  RawAssociation& association = bench.associate();
  check.precondition((attributes(check, association, bench.nsid()) & 1) == 0, "the namespace is not protected yet");
  check.precondition_success(protect(association, bench.nsid(), 1), "Set Features, Namespace Write Protection");
  const std::uint8_t during = attributes(check, association, bench.nsid());
  const auto shared = shared_attributes(association, bench.nsid());
  check.precondition_success(protect(association, bench.nsid(), 0), "Set Features that ends the protection");
  check.equal("NSATTR bit 0 of a protected namespace", during & 1, 1);
  if (shared) check.equal("NSATTR bit 0 of a protected namespace, CNS 08h", *shared & 1, 1);
  check.equal("NSATTR bit 0 afterwards", attributes(check, association, bench.nsid()) & 1, 0);
  const auto ended = shared_attributes(association, bench.nsid());
  if (ended) check.equal("NSATTR bit 0 afterwards, CNS 08h", *ended & 1, 0);
}

CONFORMANCE_CASE(write_protection_holds_for_all_that_write, "nvme.write-protection.all-writes", roles::controller,
                 needs(protects_namespaces), needs(has_namespace)) {
  constexpr std::uint64_t kLba = 40;
  IoScene scene(bench);
  const Bytes before = scene.prepare(check, kLba, 0x35, 2);
  check.precondition_success(protect(scene.association, scene.nsid, 1), "Set Features, Namespace Write Protection");
  const auto claims = [&](unsigned bit) { return (bench.declared().identify().get(nvme::id_ctrl::oncs) & bit) != 0; };
  const auto written = scene.write(kLba, pattern(0x36, 2, scene.block_bytes));
  std::optional<host::RawReply> zeroed, deallocated, uncorrectable;
  if (claims(nvme::oncs_bits::write_zeroes)) {
    zeroed = scene.io.send(host::write_zeroes(scene.nsid, scene.at(kLba), 2)).wait();
  }
  if (claims(nvme::oncs_bits::dataset_management)) {
    deallocated = scene.io.send(host::deallocate(scene.nsid, 1), host::dsm_range(scene.at(kLba), 2).bytes()).wait();
  }
  if (claims(nvme::oncs_bits::write_uncorrectable)) {
    uncorrectable = scene.io.send(host::write_uncorrectable(scene.nsid, scene.at(kLba), 2)).wait();
  }
  const auto read = scene.read(kLba, 2);
  check.precondition_success(protect(scene.association, scene.nsid, 0), "Set Features that ends the protection");
  check.status(written, sc::namespace_write_protected, "Write");
  if (zeroed) check.status(*zeroed, sc::namespace_write_protected, "Write Zeroes");
  if (deallocated) check.refused(*deallocated, "Dataset Management");
  if (uncorrectable) check.status(*uncorrectable, sc::namespace_write_protected, "Write Uncorrectable");
  if (check.success(read, "Read")) check.bytes("the protected blocks", read.data, before);
}

namespace {

/// What write protection outlasts.
struct Event {
  std::string_view name;
  void (*occur)(ControllerBench&, IoScene&);
};
constexpr Event kEvents[] = {
    {"a Controller Reset",
     [](ControllerBench&, IoScene& scene) {
       scene.association.disable();
       scene.association.enable();
     }},
    {"an NVM subsystem reset", [](ControllerBench& bench, IoScene&) { bench.arranger().subsystem_reset(); }},
    {"a power cycle", [](ControllerBench& bench, IoScene&) { bench.arranger().power_cycle(); }},
};

}  // namespace

CONFORMANCE_CASE(write_protection_outlives_resets, "nvme.write-protection.all-writes", roles::controller,
                 arranges{{Request::write_protect, Request::power_cycle, Request::subsystem_reset},
                          [](EmbeddedSetup& setup) { setup.subsystem.subsystem_reset = true; }},
                 needs(protects_namespaces), needs(has_namespace)) {
  constexpr std::uint64_t kLba = 44;
  for (const Event& event : kEvents) {
    std::optional<IoScene> scene(bench);
    check.precondition_success(protect(scene->association, scene->nsid, 1), "Set Features, Namespace Write Protection");
    event.occur(bench, *scene);
    scene.emplace(bench);
    const std::string after = " after " + std::string(event.name);
    const auto written = scene->write(kLba, pattern(0x37, 1, scene->block_bytes));
    std::optional<host::RawReply> zeroed;
    if (!claims_oncs<nvme::oncs_bits::write_zeroes>(bench.declared())) {
      zeroed = scene->io.send(host::write_zeroes(scene->nsid, scene->at(kLba), 1)).wait();
    }
    const std::uint8_t bits = attributes(check, scene->association, scene->nsid);
    auto command = host::get_features(FeatureId::namespace_write_protection);
    command.set(nvme::sqe::nsid, scene->nsid);
    const auto state = scene->association.admin().send(command).wait();
    check.precondition_success(protect(scene->association, scene->nsid, 0), "Set Features that ends the protection");
    check.status(written, sc::namespace_write_protected, "Write" + after);
    if (zeroed) check.status(*zeroed, sc::namespace_write_protected, "Write Zeroes" + after);
    check.equal("NSATTR bit 0" + after, bits & 1, 1);
    if (check.success(state, "Get Features" + after)) check.equal("WPS" + after, state.dw0() & 7, 1u);
    scene->association.admin().disconnect();
    bench.world().run_for(1_s);
  }
}

}  // namespace fb::conformance
