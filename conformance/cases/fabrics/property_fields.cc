// Properties: what they reserve, how they agree with each other, every place where there is none, and CC written out of turn.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/cases/fabrics/common.h"
#include "conformance/cases/reserved.h"

namespace fb::conformance {

using namespace fabrics_cases;

namespace {

// Of CAP: bits 63:62 and 23:19, and bits 5:1 of CSS.
constexpr ReservedBits kCap[] = {{"CAP", 0, 8, 0xC000000000F80000}, {"CAP.CSS", 0, 8, 0x000007C000000000}};
constexpr ReservedBits kCc[] = {{"CC", 0, 4, 0xFE00000E}};
constexpr ReservedBits kCsts[] = {{"CSTS", 0, 4, 0xFFFFFF80}};

template <class T>
Bytes bytes_of(T value) {
  Bytes made(sizeof value);
  store_le(made.data(), value);
  return made;
}

host::RawReply get(Check& check, RawAssociation& association, std::uint32_t offset, fabrics::PropertySize size) {
  return answered(check, association.admin().send(host::property_get(offset, size)).wait(), fmt::format("Property Get at {:X}h", offset));
}

/// Invalid Field it is; SPDK says what it says of Connect.
const auto kNoSuchProperty = one_of(sc::invalid_field, sc::connect_invalid_parameters);

std::optional<std::string> no_subsystem_shutdown(const Declared& declared) {
  if (!declared.capabilities().get(fabrics::cap::nsss)) return std::nullopt;
  return "CAP.NSSS is set: the write would shut the subsystem down";
}

}  // namespace

CONFORMANCE_CASE(properties_reserve_what_is_reserved, "fabrics.property.reserved", roles::controller) {
  RawAssociation& association = bench.associate({.enable = false});
  const auto vs = static_cast<std::uint32_t>(association.property(prop::vs));
  const auto judge = [&](std::string_view when) {
    bench.step(when);
    check_reserved(check, "CAP", bytes_of(association.property(prop::cap)), kCap, vs);
    check_reserved(check, "CC", bytes_of(static_cast<std::uint32_t>(association.property(prop::cc))), kCc, vs);
    const auto csts = static_cast<std::uint32_t>(association.property(prop::csts));
    check_reserved(check, "CSTS", bytes_of(csts), kCsts, vs);
    check.that((csts >> 2 & 3) != 3, "CSTS.SHST is not reserved", "11b");
  };
  judge("before the controller is enabled");
  association.enable();
  judge("while it is enabled");
}

CONFORMANCE_CASE(cap_agrees_with_itself, "fabrics.property.cap-agreement", roles::controller) {
  RawAssociation& association = bench.associate({.enable = false});
  const auto vs = static_cast<std::uint32_t>(association.property(prop::vs));
  const auto cap = record_from_integer<fabrics::Cap>(association.property(prop::cap));
  check.that(!cap.get(fabrics::cap::nsss) || cap.get(fabrics::cap::nssrs), "CAP.NSSS is set only with CAP.NSSRS");
  check.that(!cap.get(fabrics::cap::nsses) || cap.get(fabrics::cap::nsss), "CAP.NSSES is set only with CAP.NSSS");
  check.that(!cap.get(fabrics::cap::nsss) || cap.get(fabrics::cap::cps) != 0, "CAP.CPS is not 0 with CAP.NSSS");
  // What these announce is in properties that Fabrics reserve. Boot Partitions (BPS) can be read by log page 15h too.
  check.equal("CAP.PMRS", cap.get(fabrics::cap::pmrs), false);
  check.equal("CAP.CMBS", cap.get(fabrics::cap::cmbs), false);
  if (vs >= fabrics::version(2, 0, 0)) check.equal("CAP.CRMS.CRWMS since 2.0", cap.get(fabrics::cap::crwms), true);
}

CONFORMANCE_CASE(version_is_one_that_exists, "fabrics.property.version", roles::controller) {
  RawAssociation& association = bench.associate({.enable = false});
  const auto vs = static_cast<std::uint32_t>(association.property(prop::vs));
  const unsigned major = vs >> 16, minor = vs >> 8 & 0xFF;
  // 1.0 to 1.2 have no Fabrics; 1.2.1 has.
  check.that((major == 1 && minor >= 2 && minor <= 4) || major >= 2, "VS.MJR and VS.MNR name a revision of the specification",
             fmt::format("{}.{}", major, minor));
}

CONFORMANCE_CASE(ready_timeouts_are_not_too_short, "fabrics.property.ready-timeout", roles::controller) {
  RawAssociation& association = bench.associate({.enable = false});
  const auto vs = static_cast<std::uint32_t>(association.property(prop::vs));
  const auto cap = record_from_integer<fabrics::Cap>(association.property(prop::cap));
  const unsigned limit = cap.get(fabrics::cap::to);
  if (vs >= fabrics::version(2, 0, 0)) {
    const auto reply = get(check, association, prop::crto, fabrics::PropertySize::four);
    check.precondition(reply.ok(), "CRTO is readable");
    const auto crto = record_from_integer<fabrics::Crto>(reply.value() & 0xFFFFFFFF);
    const unsigned with_media = crto.get(fabrics::crto::crwmt);
    check.that(limit >= std::min(with_media, 0xFFu), "CAP.TO is not below CRTO.CRWMT, or FFh where that is larger",
               fmt::format("CAP.TO {}, CRTO.CRWMT {}", limit, with_media));
    if (!cap.get(fabrics::cap::crims)) check.equal("CRTO.CRIMT without CAP.CRMS.CRIMS", crto.get(fabrics::crto::crimt), 0);
  }
  if (limit != 0) expect_enable(check, association);
}

CONFORMANCE_CASE(no_property_at_any_other_offset, "fabrics.property.every-offset", roles::controller, reaches{"property.offset"}) {
  constexpr std::uint32_t kEnd = 0x1000;
  // What may be read with four bytes. The halves of CAP and NSSR without its feature: see "fabrics.property.inside-offset".
  constexpr std::uint32_t kKnown[] = {prop::cap, prop::cap + 4, prop::vs, prop::cc, prop::csts, prop::nssr, prop::crto};
  RawAssociation& association = bench.associate({.enable = false});
  const bool shutdown = record_from_integer<fabrics::Cap>(association.property(prop::cap)).get(fabrics::cap::nsss);
  unsigned wrong = 0;
  for (std::uint32_t offset = 0; offset <= kEnd && wrong < 8; offset += 4) {
    if (std::find(std::begin(kKnown), std::end(kKnown), offset) != std::end(kKnown) || (shutdown && offset == prop::nssd)) continue;
    const auto reply = get(check, association, offset, fabrics::PropertySize::four);
    wrong += !check.status(reply, kNoSuchProperty, fmt::format("Property Get of 4 bytes at {:X}h", offset));
  }
  bench.step("inside dwords");
  for (const std::uint32_t start : {prop::cap, prop::vs, prop::cc, prop::csts}) {
    for (std::uint32_t offset = start + 1; offset < start + 4; ++offset) {
      const auto reply = get(check, association, offset, fabrics::PropertySize::four);
      check.status(reply, kNoSuchProperty, fmt::format("Property Get of 4 bytes at {:X}h", offset));
    }
  }
  expect_association(check, association);
}

CONFORMANCE_CASE(subsystem_shutdown_needs_its_feature, "fabrics.property.nssd", roles::controller, needs{&no_subsystem_shutdown}) {
  RawAssociation& association = bench.associate();
  check.status(get(check, association, prop::nssd, fabrics::PropertySize::four), kNoSuchProperty, "Property Get of NSSD");
  for (const std::uint32_t value : {fabrics::kNssdNormal, fabrics::kNssdAbrupt}) {
    check.status(answered(check, association.set_property(prop::nssd, value)), kNoSuchProperty, "Property Set of NSSD");
  }
  bench.world().run_for(100_ms);
  const auto csts = record_from_integer<fabrics::Csts>(association.property(prop::csts) & 0xFFFFFFFF);
  check.equal("CSTS.RDY afterwards", csts.get(fabrics::csts::rdy), true);
  check.equal("CSTS.SHST afterwards", static_cast<unsigned>(csts.get(fabrics::csts::shst)), 0u);
}

CONFORMANCE_CASE(cc_changed_while_enabled_leaves_a_way_back, "fabrics.property.cc-while-enabled", roles::controller) {
  struct Change {
    std::string_view what;
    unsigned shift, mask, value;
  };
  // Hosts must not do this. AMS is left alone where the value is none that the product offers: anything may come of that.
  constexpr Change kChanges[] = {{"CC.MPS", 7, 0xF, 15}, {"CC.CSS", 4, 0x7, 5}, {"CC.IOSQES", 16, 0xF, 7}, {"CC.IOCQES", 20, 0xF, 5}};
  for (const Change& change : kChanges) {
    RawAssociation& association = bench.associate();
    const std::uint32_t good = association.enabling_cc();
    const std::uint32_t altered = (good & ~(change.mask << change.shift)) | change.value << change.shift;
    bench.step(change.what);
    const auto reply = association.set_property(prop::cc, altered);
    if (!reply.answered()) continue;  // it ended the association
    check.status(reply, one_of(sc::success, sc::invalid_field, sc::connect_invalid_parameters, sc::command_sequence_error),
                 fmt::format("Property Set of another {} while enabled", change.what));
    const auto csts = association.admin().send(host::property_get(prop::csts)).wait();
    if (!csts.answered()) continue;
    check.success(csts, fmt::format("Property Get of CSTS after another {}", change.what));
    bench.step("reset");
    expect_disable(check, association);
    expect_enable(check, association);
    check.success(answered(check, association.admin().send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait()),
                  fmt::format("Identify after another {} and a reset", change.what));
  }
}

}  // namespace fb::conformance
