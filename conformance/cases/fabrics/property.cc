// Property Get and Property Set.
#include "conformance/cases/fabrics/common.h"

namespace fb::conformance {

using namespace fabrics_cases;

namespace {

/// A Property Get of any size at any offset.
host::RawReply get(Check& check, RawAssociation& association, std::uint32_t offset, unsigned size) {
  auto command = host::property_get(offset, fabrics::PropertySize::four);
  command.set(fabrics::property_sqe::size, size);
  return answered(check, association.admin().send(command).wait());
}

/// A shall of the text. SPDK answers with the code of Connect.
const auto kNoSuchProperty = one_of(sc::invalid_field);

}  // namespace

CONFORMANCE_CASE(cap_shows_values_that_fabrics_fixes, "fabrics.property.cap", roles::controller) {
  RawAssociation& association = bench.associate({.enable = false});
  const host::RawReply reply = get(check, association, prop::cap, 1);
  check.require_success(reply, "Property Get of CAP with 8 bytes");
  const auto cap = record_from_integer<fabrics::Cap>(reply.value());
  check.equal("CAP.CQR", cap.get(fabrics::cap::cqr), true);
  check.equal("CAP.DSTRD", cap.get(fabrics::cap::dstrd), 0u);
  check.that(cap.get(fabrics::cap::mqes).count() >= 2, "CAP.MQES is at least 1", "it is 0");
  check.that(cap.get(fabrics::cap::mpsmax) >= cap.get(fabrics::cap::mpsmin), "CAP.MPSMAX is not below CAP.MPSMIN",
             words(cap.get(fabrics::cap::mpsmax)));
  check.that(cap.get(fabrics::cap::css) != 0, "CAP.CSS names what CC.CSS can select", "it is 0");
}

CONFORMANCE_CASE(vs_cc_csts_read_after_connect, "fabrics.property.vs-cc-csts", roles::controller) {
  RawAssociation& association = any_controller(bench);
  const host::RawReply vs = get(check, association, prop::vs, 0);
  const host::RawReply cc = get(check, association, prop::cc, 0);
  const host::RawReply csts = get(check, association, prop::csts, 0);
  check.success(vs, "Property Get of VS");
  check.success(cc, "Property Get of CC");
  check.success(csts, "Property Get of CSTS");
  check.that(vs.dw0() >= fabrics::version(1, 2, 0), "VS is a version with Fabrics", words(vs.dw0()));
  check.equal("upper half of VS", vs.value() >> 32, 0u);
  check.equal("upper half of CC", cc.value() >> 32, 0u);
  check.equal("upper half of CSTS", csts.value() >> 32, 0u);
  check.equal("CC.EN after Connect", cc.value() & 1, 0u);
  check.equal("CSTS.RDY after Connect", csts.value() & 1, 0u);
}

CONFORMANCE_CASE(crto_is_readable, "fabrics.property.crto", roles::controller, needs{&version_2}) {
  RawAssociation& association = bench.associate({.enable = false});
  const host::RawReply reply = get(check, association, prop::crto, 0);
  check.require_success(reply, "Property Get of CRTO");
  const auto crto = record_from_integer<fabrics::Crto>(reply.value() & 0xFFFFFFFF);
  check.that(crto.get(fabrics::crto::crwmt) >= crto.get(fabrics::crto::crimt), "CRTO.CRWMT is not below CRTO.CRIMT",
             "CRWMT " + words(crto.get(fabrics::crto::crwmt)) + ", CRIMT " + words(crto.get(fabrics::crto::crimt)));
}

CONFORMANCE_CASE(property_get_refuses_reserved_offset, "fabrics.property.unknown-offset", roles::controller, reaches{"property.offset"}) {
  RawAssociation& association = bench.associate({.enable = false});
  constexpr std::uint32_t kIntms = 0x0C, kDoorbell = 0x1000, kNowhere = 0xFFFFFFF0;
  for (const std::uint32_t offset : {kIntms, kDoorbell, kNowhere}) {
    check.status(get(check, association, offset, 0), kNoSuchProperty, "Property Get at " + words(offset));
  }
}

CONFORMANCE_CASE(property_get_refuses_offset_inside_property, "fabrics.property.inside-offset", roles::controller,
                 reaches{"property.offset"}) {
  RawAssociation& association = bench.associate({.enable = false});
  // It is the host that is told to begin where a property does. A controller may see two dwords in a qword, as over
  // PCIe; what it gives then is what stands there.
  const host::RawReply half = get(check, association, prop::cap + 4, 0);
  if (half.ok()) {
    check.equal("upper half of CAP", half.value(), association.property(prop::cap) >> 32);
  } else {
    check.status(half, kNoSuchProperty, "upper half of CAP");
  }
  check.status(get(check, association, prop::vs + 2, 0), kNoSuchProperty, "the middle of VS");
}

CONFORMANCE_CASE(property_get_refuses_reserved_size, "fabrics.property.attrib-size", roles::controller, reaches{"property.attrib"}) {
  RawAssociation& association = bench.associate({.enable = false});
  const std::uint64_t before = association.property(prop::cc);
  for (unsigned size = 2; size < 8; ++size) {
    for (const std::uint32_t offset : {prop::cap, prop::vs, prop::cc, prop::csts}) {
      check.status(get(check, association, offset, size), kNoSuchProperty, "Property Get at " + words(offset) + " of size " + words(size));
    }
    auto command = host::property_set(prop::cc, association.enabling_cc());
    command.set(fabrics::property_sqe::size, size);
    check.status(answered(check, association.admin().send(command).wait()), kNoSuchProperty, "Property Set of CC of size " + words(size));
  }
  check.equal("CC afterwards", association.property(prop::cc), before);
}

CONFORMANCE_CASE(property_get_refuses_wrong_width, "fabrics.property.wrong-width", roles::controller, reaches{"property.size"}) {
  RawAssociation& association = bench.associate({.enable = false});
  check.status(get(check, association, prop::vs, 1), kNoSuchProperty, "VS with 8 bytes");
  check.status(get(check, association, prop::csts, 1), kNoSuchProperty, "CSTS with 8 bytes");
}

CONFORMANCE_CASE(read_only_property_keeps_its_value, "fabrics.property.read-only", roles::controller, reaches{"property.read_only"}) {
  RawAssociation& association = any_controller(bench);
  const std::uint64_t before = association.property(prop::vs);
  const host::RawReply reply = answered(check, association.set_property(prop::vs, before ^ 0x00010100));
  check.status(reply, one_of(sc::invalid_field, sc::success), "Property Set of VS");
  check.equal("VS afterwards", association.property(prop::vs), before);
}

CONFORMANCE_CASE(nssr_without_signature_resets_nothing, "fabrics.property.nssr-value", roles::controller) {
  RawAssociation& association = bench.associate();
  const bool feature = bench.declared().capabilities().get(fabrics::cap::nssrs);
  // Values that have a part of the signature.
  const std::vector<std::uint32_t> values = feature ? std::vector<std::uint32_t>{0x4E564D66, 0x00004D65, 0x12344D65, 0x4E560000, 0x654D564E}
                                                    : std::vector<std::uint32_t>{fabrics::kNssrValue};
  for (const std::uint32_t value : values) {
    answered(check, association.set_property(prop::nssr, value));
    bench.world().run_for(100_ms);
    expect_association(check, association);
    check.equal("CSTS.RDY after " + words(value), association.property(prop::csts) & 1, 1u);
  }
}

CONFORMANCE_CASE(fabrics_command_takes_sgl_form, "fabrics.psdt.fabrics-command", roles::controller) {
  RawAssociation& association = bench.associate({.enable = false});
  for (const nvme::Psdt form : {nvme::Psdt::sgl, nvme::Psdt::sgl_metadata_sgl}) {
    host::RawCommand command = with_sgl(host::as_sqe(host::property_get(prop::vs)), nvme::SglDescriptor::keyed(0, 0, 0));
    command.sqe.set(nvme::sqe::psdt, form);
    const auto legal = form == nvme::Psdt::sgl ? one_of(sc::success) : one_of(sc::success, sc::invalid_field);
    check.status(answered(check, association.admin().send_command(command).wait()), legal,
                 "Property Get with PSDT " + words(static_cast<unsigned>(form)));
  }
}

CONFORMANCE_CASE(reserved_fabrics_type_is_refused, "fabrics.command.reserved-fctype", roles::controller, reaches{"fabrics.fctype"}) {
  RawAssociation& association = bench.associate({.enable = false});
  for (const unsigned type : {0x02u, 0x7Fu}) {
    auto command = host::property_get(prop::vs);
    command.set(fabrics::sqe::fctype, type);
    check.status(answered(check, association.admin().send(command).wait()), one_of(sc::invalid_field, sc::invalid_opcode),
                 "FCTYPE " + words(type));
  }
}

CONFORMANCE_CASE(property_command_on_io_queue_is_refused, "fabrics.command.property-on-io-queue", roles::controller,
                 reaches{"fabrics.io_queue"}) {
  RawAssociation& association = bench.associate();
  host::RawQueue& queue = association.open_io();
  const auto refusals = one_of(sc::invalid_field, sc::invalid_opcode);
  check.status(answered(check, queue.send(host::property_get(prop::vs)).wait()), refusals, "Property Get on an I/O queue");
  check.status(answered(check, queue.send(host::property_set(prop::cc, 0)).wait()), refusals, "Property Set on an I/O queue");
  check.equal("CSTS.RDY afterwards", association.property(prop::csts) & 1, 1u);
}

}  // namespace fb::conformance
