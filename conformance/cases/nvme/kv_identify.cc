// What a controller says of key value namespaces, and which commands and features it has for them.
#include "conformance/cases/nvme/kv_scene.h"

namespace fb::conformance {

namespace {

using nvme::Cns;
namespace id = nvme::id_ns_kv;
namespace independent = nvme::id_ns_independent;

Bytes page_of(Check& check, host::RawQueue& admin, const Record<nvme::IdentifySqe>& command) {
  const auto reply = admin.send(command, nvme::kIdentifySize).wait();
  check.require_success(reply, "Identify");
  return reply.data;
}

/// The descriptor of a type in the list of descriptors; empty without one.
Bytes descriptor(ByteView page, nvme::NamespaceIdType type) {
  nvme::NamespaceIdWalk walk{page};
  for (nvme::NamespaceId one; walk.next(one);) {
    if (one.type == type) return Bytes(one.id.begin(), one.id.end());
  }
  return {};
}

/// What the namespace's own page and the independent one both have.
template <class Field, class Other>
void agree(ControllerBench& bench, Check& check, std::string_view what, const Field& own, const Other& common) {
  KvScene scene(bench, check);
  const auto reply = scene.admin().send(host::identify(Cns::independent_namespace, scene.nsid), nvme::kIdentifySize).wait();
  check.precondition_success(reply, "Identify of CNS 08h");
  const Bytes page = scene.page();
  check.equal(std::string(what), View<nvme::IdentifyNamespaceKv>{page}.get(own),
              View<nvme::IdentifyNamespaceIndependent>{reply.data}.get(common));
}

bool all_zero(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

Bytes effects_of(Check& check, host::RawQueue& admin, std::uint8_t csi) {
  auto command = host::get_log(nvme::LogPage::commands_effects, nvme::CommandEffects::size);
  command.set(nvme::get_log_sqe::csi, csi);
  const auto reply = admin.send(command, nvme::CommandEffects::size).wait();
  check.require_success(reply, "Get Log Page");
  return reply.data;
}

bool supported(ByteView log, nvme::KvOpcode opcode) {
  return element<nvme::CommandEffect>(log, nvme::command_effects::iocs, nvme::opcode_of(opcode)).get(nvme::command_effect::csupp);
}

const needs kEffects{claims_lpa<nvme::lpa_bits::commands_effects>};

}  // namespace

CONFORMANCE_CASE(key_value_namespace_names_its_command_set, "nvme.kv.identify.csi", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const Bytes page = page_of(check, scene.admin(), host::identify(Cns::namespace_id_descriptors, scene.nsid));
  const Bytes csi = descriptor(page, nvme::NamespaceIdType::csi);
  check.equal("CSI of the namespace", csi.empty() ? -1 : int{csi[0]}, int{kPairsSet});
}

CONFORMANCE_CASE(list_of_key_value_namespaces_has_just_those, "nvme.kv.identify.list", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const auto ids = nvme::read_namespace_list(page_of(check, scene.admin(), identify_pairs(Cns::command_set_active_namespace_list)));
  for (const host::NamespaceFacts& facts : bench.declared().namespaces) {
    check.that(std::find(ids.begin(), ids.end(), facts.nsid) == ids.end(), "the list has no other namespace");
  }
  check.that(std::find(ids.begin(), ids.end(), scene.nsid) != ids.end(), "the list has the namespace of the case");
}

CONFORMANCE_CASE(list_of_key_value_namespaces_has_all, "nvme.kv.identify.list.all", roles::controller, key_value_namespaces, two_of_pairs) {
  KvScene scene(bench, check);
  const auto ids = nvme::read_namespace_list(page_of(check, scene.admin(), identify_pairs(Cns::command_set_active_namespace_list)));
  for (const host::NamespaceFacts& facts : bench.declared().key_value_namespaces) {
    check.that(std::find(ids.begin(), ids.end(), facts.nsid) != ids.end(), "the list has each key value namespace");
  }
}

CONFORMANCE_CASE(combination_has_key_values, "nvme.kv.identify.combination", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  auto command = host::identify(Cns::command_set_combinations);
  command.set(nvme::identify_sqe::cntid, 0xFFFF);
  const Bytes page = page_of(check, scene.admin(), command);
  bool has = false;
  for (std::size_t i = 0; i < nvme::kCommandSetCombinationsMax; ++i) {
    has = has || (nvme::command_set_combination(page, i) >> kPairsSet & 1) != 0;
  }
  check.that(has, "a combination has the bit of the Key Value command set", "none has");
}

CONFORMANCE_CASE(key_value_page_is_of_key_value_namespaces, "nvme.kv.identify.other-set", roles::controller, key_value_namespaces, pairs,
                 needs(has_namespace)) {
  KvScene scene(bench, check);
  const auto reply = scene.admin().send(identify_pairs(Cns::command_set_namespace, bench.nsid()), nvme::kIdentifySize).wait();
  check.status(reply, sc::invalid_io_command_set, "the page of a namespace without keys");
}

CONFORMANCE_CASE(key_value_namespace_has_no_page_of_blocks, "nvme.kv.identify.blocks", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  auto command = host::identify(Cns::command_set_namespace, scene.nsid);
  command.set(nvme::identify_sqe::csi, 0u);
  check.status(scene.admin().send(command, nvme::kIdentifySize).wait(), sc::invalid_io_command_set, "CNS 05h with CSI 00h");
}

CONFORMANCE_CASE(key_value_namespace_has_no_lba_formats, "nvme.kv.identify.lba-formats", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const auto reply = scene.admin().send(host::identify(Cns::identify_namespace, scene.nsid), nvme::kIdentifySize).wait();
  check.status(reply, sc::invalid_io_command_set, "CNS 00h");
}

CONFORMANCE_CASE(key_value_controller_page_is_empty, "nvme.kv.identify.controller", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const Bytes page = page_of(check, scene.admin(), identify_pairs(Cns::command_set_controller));
  check.that(all_zero(page), "the page is zero filled", "it is not");
}

CONFORMANCE_CASE(key_value_size_is_in_bytes, "nvme.kv.identify.size", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const std::size_t length = static_cast<std::size_t>(std::min<std::uint64_t>(scene.value_max(), 4096));
  scene.put(key_of(0x21, 4), 0x21, length);
  const Bytes page = scene.page();
  const std::uint64_t nsze = View<nvme::IdentifyNamespaceKv>{page}.get(id::nsze);
  check.that(nsze >= length + 4, "NSZE is at least what is stored", "NSZE is " + std::to_string(nsze));
}

CONFORMANCE_CASE(key_value_utilization_is_within_the_size, "nvme.kv.identify.utilization", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  scene.put(key_of(0x22, 4), 0x22);
  const Bytes page = scene.page();
  const View<nvme::IdentifyNamespaceKv> view{page};
  check.that(view.get(id::nuse) <= view.get(id::nsze), "NUSE is at most NSZE", "NUSE is " + std::to_string(view.get(id::nuse)));
}

CONFORMANCE_CASE(key_value_formats_have_short_keys, "nvme.kv.identify.key-max", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  for (const auto& format : scene.formats()) {
    check.that(format.get(nvme::kv_format::kml) <= nvme::kKvKeyMax, "KV Key Max Length is at most 16",
               "it is " + std::to_string(format.get(nvme::kv_format::kml)));
  }
}

CONFORMANCE_CASE(every_key_value_format_can_be_selected, "nvme.kv.identify.formats", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  check.that(scene.formats().size() <= nvme::kKvFormatsMax, "NKVF says at most 16 formats", "it says more");
  const auto oacs = bench.declared().identify().get(nvme::id_ctrl::oacs);
  if ((oacs & nvme::oacs_bits::format_nvm) == 0) return;
  for (std::size_t i = 0; i < scene.formats().size(); ++i) {
    const auto& format = scene.formats()[i];
    // Both 0: valid, and not available now.
    if (format.get(nvme::kv_format::kml) == 0 && format.get(nvme::kv_format::vml) == 0 && i + 1 < scene.formats().size()) continue;
    check.success(scene.format(i), "Format NVM to KV format " + std::to_string(i));
  }
}

CONFORMANCE_CASE(key_value_page_has_clear_reserved_bytes, "nvme.kv.identify.reserved", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const Bytes page = scene.page();
  const std::pair<std::size_t, std::size_t> reserved[] = {{8, 16}, {29, 32}, {40, 43}, {328, 3840}};
  for (const auto& [from, to] : reserved) {
    check.that(all_zero(ByteView{page}.subspan(from, to - from)),
               "bytes " + std::to_string(from) + " to " + std::to_string(to - 1) + " are 0", "they are not");
  }
}

CONFORMANCE_CASE(key_value_page_has_the_nguid, "nvme.kv.identify.nguid", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const Bytes names = page_of(check, scene.admin(), host::identify(Cns::namespace_id_descriptors, scene.nsid));
  const Bytes nguid = descriptor(names, nvme::NamespaceIdType::nguid);
  const Bytes page = scene.page();
  const ByteView own = View<nvme::IdentifyNamespaceKv>{page}.get(id::nguid);
  if (nguid.empty() || all_zero(own)) throw CannotArrange{"the namespace has no NGUID"};
  check.bytes("NGUID", own, nguid);
}

CONFORMANCE_CASE(key_value_page_has_the_eui64, "nvme.kv.identify.eui64", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const Bytes names = page_of(check, scene.admin(), host::identify(Cns::namespace_id_descriptors, scene.nsid));
  const Bytes eui64 = descriptor(names, nvme::NamespaceIdType::eui64);
  const Bytes page = scene.page();
  const ByteView own = View<nvme::IdentifyNamespaceKv>{page}.get(id::eui64);
  if (eui64.empty() || all_zero(own)) throw CannotArrange{"the namespace has no EUI64"};
  check.bytes("EUI64", own, eui64);
}

CONFORMANCE_CASE(key_value_page_agrees_about_sharing, "nvme.kv.identify.nmic", roles::controller, key_value_namespaces, pairs) {
  agree(bench, check, "NMIC", id::nmic, independent::nmic);
}
CONFORMANCE_CASE(key_value_page_agrees_about_reservations, "nvme.kv.identify.rescap", roles::controller, key_value_namespaces, pairs) {
  agree(bench, check, "RESCAP", id::rescap, independent::rescap);
}
CONFORMANCE_CASE(key_value_page_agrees_about_the_ana_group, "nvme.kv.identify.anagrpid", roles::controller, key_value_namespaces, pairs) {
  agree(bench, check, "ANAGRPID", id::anagrpid, independent::anagrpid);
}
CONFORMANCE_CASE(key_value_page_agrees_about_attributes, "nvme.kv.identify.nsattr", roles::controller, key_value_namespaces, pairs) {
  agree(bench, check, "NSATTR", id::nsattr, independent::nsattr);
}

CONFORMANCE_CASE(effects_log_has_key_value_commands, "nvme.kv.effects", roles::controller, key_value_namespaces, pairs, kEffects) {
  KvScene scene(bench, check);
  const Bytes log = effects_of(check, scene.admin(), kPairsSet);
  for (const nvme::KvOpcode opcode :
       {nvme::KvOpcode::store, nvme::KvOpcode::retrieve, nvme::KvOpcode::remove, nvme::KvOpcode::exist, nvme::KvOpcode::list}) {
    check.that(supported(log, opcode), std::string(nvme::kv_opcode_name(nvme::opcode_of(opcode))) + " is supported", "it is not");
  }
}

CONFORMANCE_CASE(effects_log_of_blocks_has_no_lists_of_keys, "nvme.kv.effects.nvm", roles::controller, key_value_namespaces, pairs,
                 kEffects) {
  KvScene scene(bench, check);
  const Bytes log = effects_of(check, scene.admin(), 0);
  for (const nvme::KvOpcode opcode : {nvme::KvOpcode::list, nvme::KvOpcode::remove, nvme::KvOpcode::exist}) {
    check.that(!supported(log, opcode), std::string(nvme::kv_opcode_name(nvme::opcode_of(opcode))) + " is not in the NVM command set's log",
               "it is");
  }
}

CONFORMANCE_CASE(key_value_commands_need_their_set_selected, "nvme.kv.commands.unselected", roles::controller, key_value_namespaces,
                 pairs) {
  std::uint32_t nsid = 0;
  const KvKey key = key_of(0x31, 4);
  {
    KvScene scene(bench, check);
    nsid = scene.nsid;
    scene.put(key, 0x31);
  }
  RawAssociation& other = bench.associate({.enable = false});
  auto cc = record_from_integer<fabrics::Cc>(other.enabling_cc());
  cc.set(fabrics::cc::css, fabrics::CommandSetSelected::nvm);
  other.set_property(fabrics::property::cc, integer_of(cc));
  if (!other.wait_csts(1, 1, 20_s)) throw CannotArrange{"the controller is not ready with CC.CSS 000b"};
  host::RawQueue& io = other.open_io();
  check.refused(io.send(host::kv_exist(nsid, key)).wait(), "Exist");
  check.refused(io.send(host::kv_list(nsid, key, 512), 512).wait(), "List");
}

// ---- commands of other command sets ----

namespace {

/// The command set does not have the command, or the namespace is not one of the command's set.
const OneOf<nvme::Status> kNotHere = one_of(sc::invalid_opcode, sc::invalid_namespace_or_format);

}  // namespace

CONFORMANCE_CASE(key_value_namespace_has_no_block_commands, "nvme.kv.commands.blocks", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  check.status(scene.io->send(host::write_zeroes(scene.nsid, 0, 1)).wait(), kNotHere, "Write Zeroes");
  check.status(scene.io->send(host::verify(scene.nsid, 0, 1)).wait(), kNotHere, "Verify");
  check.status(scene.io->send(host::write_uncorrectable(scene.nsid, 0, 1)).wait(), kNotHere, "Write Uncorrectable");
}

CONFORMANCE_CASE(block_namespace_has_no_key_value_commands, "nvme.kv.commands.other-set", roles::controller, key_value_namespaces, pairs,
                 needs(has_namespace)) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x32, 4);
  check.status(scene.io->send(host::kv_exist(bench.nsid(), key)).wait(), kNotHere, "Exist");
  check.status(scene.io->send(host::kv_delete(bench.nsid(), key)).wait(), kNotHere, "Delete");
  check.status(scene.io->send(host::kv_list(bench.nsid(), key, 512), 512).wait(), kNotHere, "List");
}

CONFORMANCE_CASE(flush_of_a_key_value_namespace, "nvme.kv.flush", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  scene.put(key_of(0x33, 4), 0x33);
  check.success(scene.io->send(host::flush(scene.nsid)).wait(), "Flush");
}

CONFORMANCE_CASE(key_value_commands_are_not_fused, "nvme.kv.fused", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x34, 4);
  auto command = host::kv_store(scene.nsid, key, 16);
  command.set(nvme::sqe::fuse, nvme::Fuse::first);
  const Bytes value = value_of(0x34, 16);
  check.refused(scene.io->send(command, value).wait(), "Store with FUSE 01b");
}

}  // namespace fb::conformance
