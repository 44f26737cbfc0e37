// Format NVM.
#include "conformance/cases/nvme/scene.h"
#include "conformance/runner/embedded_controller.h"
#include "wire/nvme/features.h"

namespace fb::conformance {

namespace {

const arranged with_formattable_namespaces{"namespaces that may be formatted", [](EmbeddedSetup& setup) { setup.subsystem.format = true; }};
/// Enough blocks that an I/O scene can be had on them, of either size.
constexpr std::uint64_t kBlocks = 16384;

std::optional<std::string> formats(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oacs) & nvme::oacs_bits::format_nvm) != 0) return {};
  return "OACS bit 1 (Format NVM) is clear";
}

/// A product that formats all its namespaces at once may do so whatever NSID it is told.
std::optional<std::string> formats_one(const Declared& declared) {
  if (!declared.known) return {};
  if ((declared.identify().get(nvme::id_ctrl::fna) & nvme::fna_bits::format_all_namespaces) == 0) return {};
  return "FNA bit 0 is set: all namespaces are formatted at once";
}

host::RawReply format(RawAssociation& association, std::uint32_t nsid, unsigned lbaf = 0) {
  return association.admin().send(host::format_nvm(nsid, lbaf)).wait();
}

Bytes identity(RawAssociation& association, Check& check, std::uint32_t nsid) {
  const auto reply = association.admin().send(host::identify(nvme::Cns::identify_namespace, nsid), 4096).wait();
  check.precondition_success(reply, "Identify Namespace");
  return reply.data;
}

std::uint32_t add_namespace(ControllerBench& bench) {
  const auto added = bench.subsystem().add_namespace({.blocks = kBlocks});
  BENCH_ASSERT(added.ok(), "the arranged product has room for a namespace");
  return (*added)->nsid();
}

}  // namespace

CONFORMANCE_CASE(format_erases_what_was_written, "nvme.format.erases", roles::controller, with_formattable_namespaces) {
  IoScene scene(bench);
  const Bytes first = scene.prepare(check, 0, 0x31, 8);
  const Bytes last = scene.prepare(check, scene.blocks - 8, 0x47, 8);
  if (!check.success(format(scene.association, scene.nsid), "Format NVM")) return;
  is_gone(check, scene.read(0, 8), first, "what was written first");
  is_gone(check, scene.read(scene.blocks - 8, 8), last, "what was written last");
}

CONFORMANCE_CASE(format_sets_the_block_size, "nvme.format.block-size", roles::controller, with_formattable_namespaces) {
  IoScene scene(bench);
  const Bytes before = identity(scene.association, check, scene.nsid);
  const std::uint64_t capacity = scene.blocks * scene.block_bytes;
  const std::size_t formats = View<nvme::IdentifyNamespace>{before}.get(nvme::id_ns::nlbaf).count();
  check.precondition(formats >= 2, "there are two LBA formats");
  for (const unsigned lbaf : {1u, 0u}) {
    const std::string what = "LBA format " + std::to_string(lbaf);
    if (!check.success(format(scene.association, scene.nsid, lbaf), "Format NVM to " + what)) return;
    const Bytes now = identity(scene.association, check, scene.nsid);
    check.equal("format in use after " + what, nvme::format_in_use(now), lbaf);
    const std::uint32_t block_bytes = 1u << nvme::lba_format_at(now, lbaf).get(nvme::lba_format::lbads);
    const std::uint64_t blocks = View<nvme::IdentifyNamespace>{now}.get(nvme::id_ns::nsze);
    check.require(blocks >= 1 && blocks <= capacity / block_bytes, "NSZE in blocks of the format", std::to_string(blocks));
    const Bytes data = pattern(0x55, 1, block_bytes);
    check.success(scene.io.send(host::write(scene.nsid, scene.at(blocks - 1), 1), data).wait(), "Write of the last block in " + what);
    const auto read = scene.io.send(host::read(scene.nsid, scene.at(blocks - 1), 1), block_bytes).wait();
    if (check.success(read, "Read in " + what)) check.bytes("the block", read.data, data);
    check.status(scene.io.send(host::read(scene.nsid, scene.at(blocks), 1), block_bytes).wait(), sc::lba_out_of_range,
                 "Read beyond the end in " + what);
  }
}

CONFORMANCE_CASE(format_of_one_namespace_leaves_the_others, "nvme.format.one", roles::controller, with_formattable_namespaces) {
  IoScene scene(bench);
  const Bytes kept = scene.prepare(check, 16, 0x61, 4);
  const std::uint32_t other = add_namespace(bench);
  if (!check.success(format(scene.association, other), "Format NVM")) return;
  const auto read = scene.read(16, 4);
  if (check.success(read, "Read of the other namespace")) check.bytes("its data", read.data, kept);
}

CONFORMANCE_CASE(format_of_all_formats_all, "nvme.format.all", roles::controller, with_formattable_namespaces) {
  IoScene scene(bench);
  const std::uint32_t other = add_namespace(bench);
  const Bytes here = scene.prepare(check, 16, 0x61, 4);
  const Bytes there = pattern(0x62, 4, 512);
  check.precondition_success(scene.io.send(host::write(other, 16, 4), there).wait(), "Write");
  const bool of_all = (bench.declared().identify().get(nvme::id_ctrl::fna) & nvme::fna_bits::no_broadcast_format) == 0;
  check.precondition(of_all, "FNA allows to format all namespaces at once");
  if (!check.success(format(scene.association, nvme::kAllNamespaces), "Format NVM of all")) return;
  is_gone(check, scene.read(16, 4), here, "the data of the first");
  is_gone(check, scene.io.send(host::read(other, 16, 4), there.size()).wait(), there, "the data of the second");
}

CONFORMANCE_CASE(format_refuses_an_unknown_format, "nvme.format.unknown", roles::controller, needs(formats), needs(has_namespace),
                 reaches{"format.lbaf"}) {
  RawAssociation& association = bench.associate();
  const View<nvme::IdentifyNamespace> ns = bench.declared().identify_namespace();
  const auto count = static_cast<unsigned>(ns.get(nvme::id_ns::nlbaf).count() + ns.get(nvme::id_ns::nulbaf));
  // The upper bits of the number do not count for every product, and what remains of it may be a format.
  check.precondition(count < 16, "there is a number of four bits without a format");
  for (const unsigned lbaf : {count, 15u}) check.status(format(association, bench.nsid(), lbaf), sc::invalid_format);
}

CONFORMANCE_CASE(format_refuses_protection_without_metadata, "nvme.format.protection", roles::controller, needs(formats),
                 needs(has_namespace), reaches{"format.protection"}) {
  RawAssociation& association = bench.associate();
  const unsigned lbaf = nvme::format_in_use(bench.declared().name_space);
  const auto metadata = nvme::lba_format_at(bench.declared().name_space, lbaf).get(nvme::lba_format::ms);
  check.precondition(metadata == 0, "the format in use has no metadata");
  for (const unsigned type : {1u, 2u, 3u}) {
    auto command = host::format_nvm(bench.nsid(), lbaf);
    command.set(nvme::format_sqe::pi, type);
    // A type that DPC does not report is wrong for two reasons.
    const bool offered = (View<nvme::IdentifyNamespace>{bench.declared().name_space}.get(nvme::id_ns::dpc) >> (type - 1) & 1) != 0;
    check.status(association.admin().send(command).wait(),
                 offered ? one_of(sc::invalid_format) : one_of(sc::invalid_format, sc::invalid_field),
                 "protection type " + std::to_string(type));
  }
}

CONFORMANCE_CASE(format_refuses_a_reserved_erase, "nvme.format.erase-setting", roles::controller, needs(formats), needs(has_namespace),
                 reaches{"format.erase"}) {
  RawAssociation& association = bench.associate();
  for (const unsigned setting : {3u, 7u}) {
    auto command = format_unchanged(bench.declared());
    command.set(nvme::format_sqe::ses, setting);
    check.refused(association.admin().send(command).wait(), "secure erase setting " + std::to_string(setting));
  }
}

CONFORMANCE_CASE(format_refuses_a_namespace_that_is_not_there, "nvme.format.namespace", roles::controller, needs(formats),
                 needs(formats_one)) {
  RawAssociation& association = bench.associate();
  const auto list = association.admin().send(host::identify(nvme::Cns::active_namespace_list), 4096).wait();
  check.precondition_success(list, "Identify");
  const std::uint32_t limit = bench.declared().identify().get(nvme::id_ctrl::nn);
  const std::uint32_t inactive = lowest_inactive(list.data);
  if (inactive <= limit) {
    check.status(format(association, inactive), one_of(sc::invalid_field, sc::invalid_namespace_or_format), "an inactive NSID");
  }
  check.status(format(association, 0), one_of(sc::invalid_namespace_or_format, sc::invalid_field), "NSID 0");
  if (limit < 0xFFFFFFF0) {
    check.status(format(association, limit + 1), one_of(sc::invalid_namespace_or_format, sc::invalid_field), "an NSID beyond NN");
  }
}

CONFORMANCE_CASE(format_spares_a_protected_namespace, "nvme.format.write-protected", roles::controller, with_formattable_namespaces,
                 reaches{"format.write_protected"}) {
  IoScene scene(bench);
  const Bytes kept = scene.prepare(check, 16, 0x61, 4);
  bench.subsystem().find_namespace(scene.nsid)->set_write_protection(1);
  const bool of_all = (bench.declared().identify().get(nvme::id_ctrl::fna) & nvme::fna_bits::no_broadcast_format) == 0;
  for (const std::uint32_t nsid : {scene.nsid, nvme::kAllNamespaces}) {
    if (nsid == nvme::kAllNamespaces && !of_all) continue;
    const std::string what = nsid == scene.nsid ? "Format NVM of the namespace" : "Format NVM of all namespaces";
    check.status(format(scene.association, nsid), sc::namespace_write_protected, what);
    const auto read = scene.read(16, 4);
    if (check.success(read, "Read after " + what)) check.bytes("its data after " + what, read.data, kept);
  }
}

CONFORMANCE_CASE(format_is_announced_to_others, "nvme.format.announced", roles::controller, with_formattable_namespaces) {
  RawAssociation& association = bench.associate();
  RawAssociation& other = bench.associate({.hostnqn = "nqn.2026-11.org.fabricbench:other"});
  const unsigned sharing = bench.declared().identify_namespace().get(nvme::id_ns::nmic);
  check.precondition((sharing & nvme::nmic_bits::shared) != 0, "the other controller has the namespace too");
  const auto enabled = nvme::event_config_bits::namespace_attribute;
  check.precondition_success(other.admin().send(host::set_features(nvme::FeatureId::async_event_configuration, enabled)).wait(),
                             "Set Features");
  auto request = other.admin().send(host::async_event_request());
  check.precondition_success(format(association, bench.nsid(), 1), "Format NVM");
  const auto event = request.wait_for(kSoon);
  check.require(event.has_value(), "an event comes at another controller");
  check.equal("event", event->dw0() & 0xFFFFFF, 0x040002u);
}

CONFORMANCE_CASE(format_of_all_announces_each, "nvme.format.announced", roles::controller, with_formattable_namespaces) {
  RawAssociation& association = bench.associate();
  RawAssociation& other = bench.associate({.hostnqn = "nqn.2026-11.org.fabricbench:other"});
  for (unsigned i = 0; i < 2; ++i) (void)add_namespace(bench);
  const auto active = [&](RawAssociation& of) {
    const auto list = of.admin().send(host::identify(nvme::Cns::active_namespace_list), 4096).wait();
    check.precondition_success(list, "Identify, active namespace list");
    return nvme::read_namespace_list(list.data);
  };
  const auto changed = [&] {
    const auto log = other.admin().send(host::get_log(nvme::LogPage::changed_namespaces, 4096), 4096).wait();
    check.precondition_success(log, "Get Log Page 04h");
    return nvme::read_namespace_list(log.data);
  };
  const auto formatted = active(association), seen = active(other);
  (void)changed();
  check.precondition_success(format(association, nvme::kAllNamespaces, 1), "Format NVM of all");
  bench.world().run_for(kSilence);
  const auto told = changed();
  for (const std::uint32_t nsid : formatted) {
    const auto has = [nsid](const std::vector<std::uint32_t>& list) { return std::find(list.begin(), list.end(), nsid) != list.end(); };
    if (has(seen)) check.that(has(told), "the changed list of another controller has namespace " + words(nsid), "it does not");
  }
}

CONFORMANCE_CASE(cryptographic_erase_is_as_claimed, "nvme.format.crypto", roles::controller, with_formattable_namespaces) {
  constexpr unsigned kCryptographic = 2;
  IoScene scene(bench);
  const auto page = scene.association.admin().send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait();
  check.precondition_success(page, "Identify Controller");
  const bool claimed = (View<nvme::IdentifyController>{page.data}.get(nvme::id_ctrl::fna) & nvme::fna_bits::crypto_erase) != 0;
  const Bytes data = scene.prepare(check, 0, 0x31, 8);
  auto command = host::format_nvm(scene.nsid, 0);
  command.set(nvme::format_sqe::ses, kCryptographic);
  const auto reply = scene.association.admin().send(command).wait();
  if (!claimed) return void(check.refused(reply, "cryptographic erase, with FNA bit 2 clear"));
  if (!check.success(reply, "cryptographic erase, with FNA bit 2 set")) return;
  is_gone(check, scene.read(0, 8), data, "what was written");
}

}  // namespace fb::conformance
