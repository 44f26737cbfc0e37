// Namespaces and ranges of blocks in every I/O command that has them, and what hints may do.
#include "conformance/cases/nvme/scene.h"

namespace fb::conformance {

namespace {

namespace oncs = nvme::oncs_bits;
namespace rw = nvme::rw_sqe;

constexpr std::uint64_t kLba = 640;
constexpr std::uint64_t kLastOfAll = 0xFFFFFFFFFFFFFFFF;

/// What a namespace identifier that means no namespace here is answered with.
const auto kNoNamespace = one_of(sc::invalid_namespace_or_format, sc::invalid_field);

bool claims(ControllerBench& bench, std::uint16_t bit) { return (bench.declared().identify().get(nvme::id_ctrl::oncs) & bit) != 0; }

/// One block of each I/O command that the product has, to the first block of that namespace.
void send_each(ControllerBench& bench, Check& check, IoScene& scene, std::uint32_t nsid) {
  const Bytes block = pattern(0x66, 1, scene.block_bytes);
  const auto judge = [&](std::string_view name, const host::RawReply& reply) {
    check.status(reply, kNoNamespace, std::string(name) + ", namespace " + words(nsid));
  };
  judge("Read", scene.io.send(host::read(nsid, 0, 1), scene.block_bytes).wait());
  judge("Write", scene.io.send(host::write(nsid, 0, 1), block).wait());
  if (claims(bench, oncs::compare)) judge("Compare", scene.io.send(host::compare(nsid, 0, 1), block).wait());
  if (claims(bench, oncs::write_zeroes)) judge("Write Zeroes", scene.io.send(host::write_zeroes(nsid, 0, 1)).wait());
  if (claims(bench, oncs::verify)) judge("Verify", scene.io.send(host::verify(nsid, 0, 1)).wait());
  if (claims(bench, oncs::write_uncorrectable)) {
    judge("Write Uncorrectable", scene.io.send(host::write_uncorrectable(nsid, 0, 1)).wait());
  }
  if (claims(bench, oncs::dataset_management)) {
    const auto range = host::dsm_range(0, 1);
    judge("Dataset Management", scene.io.send(host::deallocate(nsid, 1), range.bytes()).wait());
  }
}

const furnished with_small_commands{[](EmbeddedSetup& setup) {
  setup.subsystem.verify_limit = 2;
  setup.subsystem.write_zeroes_limit = 3;
}};

/// The blocks hold what they held.
void is_unchanged(Check& check, IoScene& scene, std::uint64_t lba, ByteView before, std::string_view what) {
  const auto after = scene.read(lba, static_cast<std::uint32_t>(before.size() / scene.block_bytes));
  if (check.success(after, "Read of " + std::string(what))) check.bytes(what, after.data, before);
}

}  // namespace

CONFORMANCE_CASE(commands_to_missing_namespaces_are_refused, "nvme.namespace.invalid-commands", roles::controller, needs(has_namespace)) {
  IoScene scene(bench);
  const auto list = scene.association.admin().send(host::identify(nvme::Cns::active_namespace_list), 4096).wait();
  check.precondition_success(list, "Identify, active namespace list");
  const Bytes before = scene.prepare(check, 0, 0x31, 1);
  for (const std::uint32_t nsid : {lowest_inactive(list.data), 0xFFFFFFFEu, 0u}) {
    send_each(bench, check, scene, nsid);
    check.status(scene.io.send(host::flush(nsid)).wait(), kNoNamespace, "Flush, namespace " + words(nsid));
  }
  is_unchanged(check, scene, 0, before, "the first block of a namespace that is there");
}

CONFORMANCE_CASE(commands_to_all_namespaces_are_refused, "nvme.namespace.broadcast", roles::controller, needs(has_namespace),
                 reaches{"io.nsid.broadcast"}) {
  IoScene scene(bench);
  const Bytes before = scene.prepare(check, 0, 0x32, 1);
  send_each(bench, check, scene, nvme::kAllNamespaces);
  is_unchanged(check, scene, 0, before, "the first block");
}

CONFORMANCE_CASE(each_namespace_has_its_own_end, "nvme.namespace.each-size", roles::controller, needs(has_two_namespaces),
                 reaches{"io.lba.range"}) {
  IoScene scene(bench);
  for (const host::NamespaceFacts& one : bench.declared().namespaces) {
    const std::size_t bytes = one.layout.bytes();
    const std::string where = " of namespace " + std::to_string(one.nsid);
    const auto read = [&](std::uint64_t lba) { return scene.io.send(host::read(one.nsid, lba, 1), bytes).wait(); };
    const auto last = read(one.blocks - 1);
    const bool path = last.answered() && last.status().sct() == static_cast<unsigned>(nvme::StatusCodeType::path);
    if (path) continue;  // its group cannot be reached here
    check.success(last, "Read of the last block" + where);
    check.status(read(one.blocks), sc::lba_out_of_range, "Read behind the last block" + where);
  }
}

CONFORMANCE_CASE(write_range_does_not_wrap_around, "nvme.write.range-overflow", roles::controller, needs(has_namespace),
                 reaches{"io.lba.range"}) {
  IoScene scene(bench);
  const Bytes before = scene.prepare(check, 0, 0x33, 2);
  const Bytes data = pattern(0x99, 2, scene.block_bytes);
  check.status(scene.write(kLastOfAll, data), sc::lba_out_of_range, "Write of the last block of all and one more");
  is_unchanged(check, scene, 0, before, "the first blocks");
}

CONFORMANCE_CASE(compare_beyond_the_end_is_refused, "nvme.compare.out-of-range", roles::controller, needs(has_namespace),
                 needs(claims_oncs<oncs::compare>), reaches{"io.lba.range"}) {
  IoScene scene(bench);
  Bytes data = scene.prepare(check, scene.blocks - 1, 0x34, 1);
  data.resize(data.size() * 2);
  check.status(scene.compare(scene.blocks - 1, data), sc::lba_out_of_range, "Compare across the end");
  check.status(scene.compare(kLastOfAll, data), sc::lba_out_of_range, "Compare that wraps around");
}

CONFORMANCE_CASE(write_zeroes_beyond_the_end_is_refused, "nvme.write-zeroes.out-of-range", roles::controller, needs(has_namespace),
                 needs(claims_oncs<oncs::write_zeroes>), reaches{"io.lba.range"}) {
  IoScene scene(bench);
  const auto zeroes = [&](std::uint64_t lba) { return scene.io.send(host::write_zeroes(scene.nsid, scene.at(lba), 2)).wait(); };
  check.status(zeroes(scene.blocks - 1), sc::lba_out_of_range, "Write Zeroes across the end");
  check.status(zeroes(kLastOfAll), sc::lba_out_of_range, "Write Zeroes that wraps around");
}

CONFORMANCE_CASE(write_uncorrectable_beyond_the_end_is_refused, "nvme.write-uncorrectable.out-of-range", roles::controller,
                 needs(has_namespace), needs(claims_oncs<oncs::write_uncorrectable>), reaches{"io.lba.range"}) {
  IoScene scene(bench);
  const auto spoil = [&](std::uint64_t lba) { return scene.io.send(host::write_uncorrectable(scene.nsid, scene.at(lba), 2)).wait(); };
  check.status(spoil(scene.blocks - 1), sc::lba_out_of_range, "Write Uncorrectable across the end");
  check.status(spoil(kLastOfAll), sc::lba_out_of_range, "Write Uncorrectable that wraps around");
}

CONFORMANCE_CASE(write_zeroes_takes_the_largest_count, "nvme.write-zeroes.largest", roles::controller, needs(has_namespace),
                 needs(claims_oncs<oncs::write_zeroes>)) {
  constexpr std::uint32_t kMost = 65536;
  IoScene scene(bench);
  check.precondition(scene.blocks > kLba + kMost + 1, "the namespace is larger than 65,536 blocks");
  const std::uint64_t end = kLba + kMost;
  const Bytes first = scene.prepare(check, kLba - 1, 0x37, 2);
  const Bytes last = scene.prepare(check, end - 1, 0x38, 2);
  const auto reply = scene.io.send(host::write_zeroes(scene.nsid, scene.at(kLba), kMost)).wait();
  check.precondition(!nvme::same_code(reply.status(), sc::invalid_field), "the product zeroes so many blocks at once");
  check.require_success(reply, "Write Zeroes of 65,536 blocks");
  const Bytes zeroes(scene.data_bytes);
  for (const std::uint64_t lba : {kLba, kLba + kMost / 2, end - 1}) {
    const auto block = scene.read(lba, 1);
    if (!check.success(block, "Read")) continue;
    check.bytes("data of block " + std::to_string(lba), ByteView{block.data}.first(scene.data_bytes), zeroes);
  }
  is_unchanged(check, scene, kLba - 1, scene.block(first, 0), "the block before");
  is_unchanged(check, scene, end, scene.block(last, 1), "the block behind");
}

CONFORMANCE_CASE(deallocating_zeroes_are_zeroes, "nvme.write-zeroes.deallocated", roles::controller, needs(has_namespace),
                 needs(claims_oncs<oncs::write_zeroes>)) {
  IoScene scene(bench);
  scene.prepare(check, kLba, 0x39, 2);
  auto command = host::write_zeroes(scene.nsid, scene.at(kLba), 2);
  command.set(rw::deac, true);
  const auto zeroed = scene.io.send(command).wait();
  const unsigned dlfeat = bench.declared().identify_namespace().get(nvme::id_ns::dlfeat);
  const bool takes_it = (dlfeat & nvme::dlfeat_bits::write_zeroes_deallocates) != 0;
  const bool refused = zeroed.answered() && nvme::same_code(zeroed.status(), sc::invalid_field);
  check.precondition(takes_it || !refused, "the product takes DEAC (DLFEAT bit 3)");
  check.require_success(zeroed, "Write Zeroes with DEAC");
  const auto after = scene.read(kLba, 2);
  if (!check.status(after, one_of(sc::success, sc::deallocated_or_unwritten), "Read") || !after.ok()) return;
  for (const std::size_t i : {0u, 1u}) {
    const ByteView data = scene.block(after.data, i).first(scene.data_bytes);
    const bool zero = std::all_of(data.begin(), data.end(), [](std::uint8_t byte) { return byte == 0; });
    check.that(zero, "a block reads as zeroes", words(data.first(std::min<std::size_t>(data.size(), 16))));
  }
}

CONFORMANCE_CASE(dataset_hints_keep_the_data, "nvme.dataset.hints", roles::controller, needs(has_namespace),
                 needs(claims_oncs<oncs::dataset_management>)) {
  IoScene scene(bench);
  const Bytes before = scene.prepare(check, kLba, 0x3A, 4);
  auto command = host::deallocate(scene.nsid, 1);
  command.set(nvme::dsm_sqe::ad, false).set(nvme::dsm_sqe::idr, true).set(nvme::dsm_sqe::idw, true);
  const auto range = host::dsm_range(scene.at(kLba), 4);
  check.success(scene.io.send(command, range.bytes()).wait(), "Dataset Management of hints");
  is_unchanged(check, scene, kLba, before, "the blocks of the range");
}

CONFORMANCE_CASE(empty_dataset_range_takes_nothing, "nvme.dataset.empty-range", roles::controller, needs(has_namespace),
                 needs(claims_oncs<oncs::dataset_management>)) {
  IoScene scene(bench);
  const Bytes before = scene.prepare(check, kLba, 0x3B, 4);
  const auto range = host::dsm_range(scene.at(kLba), 0);
  check.precondition(scene.io.send(host::deallocate(scene.nsid, 1), range.bytes()).wait().answered(), "Dataset Management is answered");
  is_unchanged(check, scene, kLba, before, "the blocks at an empty range");
}

CONFORMANCE_CASE(hints_of_reads_and_writes_are_accepted, "nvme.read.hints", roles::controller, needs(has_namespace)) {
  constexpr std::uint8_t kSequentialAndRare = 1u << 6 | 2u;
  IoScene scene(bench);
  const std::uint32_t count = scene.count(1);
  const Bytes data = pattern(0x3C, count, scene.block_bytes);
  auto write = host::write(scene.nsid, scene.at(kLba), count);
  write.set(rw::lr, true).set(rw::dsm, kSequentialAndRare);
  check.success(scene.io.send(write, data).wait(), "Write with hints");
  auto read = host::read(scene.nsid, scene.at(kLba), count);
  read.set(rw::lr, true).set(rw::dsm, kSequentialAndRare);
  const auto reply = scene.io.send(read, data.size()).wait();
  if (check.success(reply, "Read with hints")) check.bytes("the data", reply.data, data);
}

// Some products wait for the other command of the pair, and never answer.
CONFORMANCE_CASE(reserved_fuse_is_refused, "nvme.fused.reserved", roles::controller, needs(has_namespace), budget{10_s},
                 reaches{"command.fuse.reserved"}) {
  IoScene scene(bench);
  auto command = host::read(scene.nsid, scene.at(0), 1);
  command.set(nvme::sqe::fuse, nvme::Fuse::reserved);
  check.refused(scene.io.send(command, scene.block_bytes).wait(), "Read with FUSE 11b");
}

CONFORMANCE_CASE(reserved_psdt_is_refused, "nvme.psdt.reserved", roles::controller, needs(has_namespace), sends_malformed,
                 reaches{"command.psdt"}) {
  IoScene scene(bench);
  host::RawCommand command{.sqe = host::as_sqe(host::flush(scene.nsid)), .keep_dptr = true};
  command.sqe.set(nvme::sqe::psdt, nvme::Psdt::reserved);
  check.refused(scene.io.send_command(command).wait(), "Flush with PSDT 11b");
}

CONFORMANCE_CASE(force_unit_access_is_accepted, "nvme.read.fua", roles::controller, needs(has_namespace)) {
  IoScene scene(bench);
  const std::uint32_t count = scene.count(1);
  const Bytes data = pattern(0x3D, count, scene.block_bytes);
  auto write = host::write(scene.nsid, scene.at(kLba), count);
  write.set(rw::fua, true);
  check.success(scene.io.send(write, data).wait(), "Write with FUA");
  auto read = host::read(scene.nsid, scene.at(kLba), count);
  read.set(rw::fua, true);
  const auto reply = scene.io.send(read, data.size()).wait();
  if (check.success(reply, "Read with FUA")) check.bytes("the data", reply.data, data);
}

CONFORMANCE_CASE(write_above_mdts_is_not_done, "nvme.write.mdts", roles::controller, needs(has_namespace), needs(limits_transfers)) {
  IoScene scene(bench);
  const std::uint64_t blocks = bench.declared().transfer_max() / scene.block_bytes + 1;
  check.precondition(blocks < 65536 && blocks < scene.blocks, "MDTS is below what a command can ask for here");
  const Bytes before = scene.prepare(check, 0, 0x3E, 1);
  const auto reply = scene.write(0, pattern(0x77, static_cast<std::size_t>(blocks), scene.block_bytes));
  check.require_status(reply, one_of(sc::invalid_field), "Write of one block above MDTS");
  is_unchanged(check, scene, 0, before, "the first block");
}

CONFORMANCE_CASE(size_limits_of_commands_hold, "nvme.limits.command-size", roles::controller, with_small_commands, needs(has_namespace),
                 needs(is_version_2), reaches{"io.size_limit"}) {
  IoScene scene(bench);
  const auto page = scene.association.admin().send(host::identify(nvme::Cns::command_set_controller), nvme::kIdentifySize).wait();
  check.precondition_success(page, "CNS 06h");
  const View<nvme::IdentifyControllerNvm> limits{page.data};
  const std::uint64_t unit = std::uint64_t{4096} << bench.declared().capabilities().get(fabrics::cap::mpsmin);
  bool any = false;
  const auto judge = [&](std::string_view name, unsigned limit, auto&& command) {
    if (limit == 0 || limit > 20) return;
    const std::uint64_t blocks = (unit << limit) / scene.block_bytes + 1;
    if (blocks > 65536 || blocks > scene.blocks) return;
    any = true;
    check.status(scene.io.send(command(scene.nsid, 0, static_cast<std::uint32_t>(blocks))).wait(), sc::invalid_field,
                 std::string(name) + " above its limit");
  };
  // A product that claims the command in ONCS as well means a size that is done without delay, and no limit.
  if (!claims(bench, oncs::verify)) judge("Verify", limits.get(nvme::id_ctrl_nvm::vsl), host::verify);
  if (!claims(bench, oncs::write_zeroes)) judge("Write Zeroes", limits.get(nvme::id_ctrl_nvm::wzsl), host::write_zeroes);
  check.precondition(any, "VSL or WZSL names a limit");
}

CONFORMANCE_CASE(fused_halves_are_of_one_range, "nvme.fused.ranges", roles::controller, needs(has_namespace),
                 needs(fuses_compare_and_write), reaches{"fused.range"}) {
  IoScene scene(bench);
  const Bytes before = scene.prepare(check, kLba, 0x3F, 2);
  auto compare = host::compare(scene.nsid, scene.at(kLba), 1);
  compare.set(nvme::sqe::fuse, nvme::Fuse::first);
  for (unsigned bit = 0; bit < 64; ++bit) {
    auto write = host::write(scene.nsid, scene.at(kLba) ^ (std::uint64_t{1} << bit), 1);
    write.set(nvme::sqe::fuse, nvme::Fuse::second);
    auto compared = scene.io.send(compare, scene.block(before, 0));
    auto written = scene.io.send(write, pattern(0x78, 1, scene.block_bytes));
    check.precondition(compared.wait().answered(), "Compare is answered");
    check.refused(written.wait(), "Write of a block whose address differs in bit " + std::to_string(bit));
  }
  is_unchanged(check, scene, kLba, before, "the blocks");
  if (bench.declared().namespaces.size() < 2) return;
  const host::NamespaceFacts& other = bench.declared().namespaces[1];
  if (other.nsid == scene.nsid || other.blocks <= kLba) return;
  auto elsewhere = host::write(other.nsid, kLba, 1);
  elsewhere.set(nvme::sqe::fuse, nvme::Fuse::second);
  auto compared_again = scene.io.send(compare, scene.block(before, 0));
  auto written_elsewhere = scene.io.send(elsewhere, pattern(0x7A, 1, other.layout.bytes()));
  check.precondition(compared_again.wait().answered(), "Compare is answered");
  check.refused(written_elsewhere.wait(), "Write to another namespace");
}

CONFORMANCE_CASE(fused_halves_are_of_one_length, "nvme.fused.lengths", roles::controller, needs(has_namespace),
                 needs(fuses_compare_and_write), reaches{"fused.range"}) {
  IoScene scene(bench);
  const Bytes before = scene.prepare(check, kLba, 0x3E, 2);
  auto compare = host::compare(scene.nsid, scene.at(kLba), 1);
  compare.set(nvme::sqe::fuse, nvme::Fuse::first);
  auto write = host::write(scene.nsid, scene.at(kLba), 2);
  write.set(nvme::sqe::fuse, nvme::Fuse::second);
  auto compared = scene.io.send(compare, scene.block(before, 0));
  auto written = scene.io.send(write, pattern(0x79, 2, scene.block_bytes));
  check.precondition(compared.wait().answered(), "Compare is answered");
  check.refused(written.wait(), "Write of more blocks than were compared");
  is_unchanged(check, scene, kLba, before, "the blocks");
}

CONFORMANCE_CASE(only_compare_and_write_is_fused, "nvme.fused.operation", roles::controller, needs(has_namespace),
                 needs(fuses_compare_and_write), reaches{"fused.operation"}) {
  IoScene scene(bench);
  const Bytes before = scene.prepare(check, kLba, 0x40, 1);
  auto read = host::read(scene.nsid, scene.at(kLba), 1);
  read.set(nvme::sqe::fuse, nvme::Fuse::first);
  auto write = host::write(scene.nsid, scene.at(kLba), 1);
  write.set(nvme::sqe::fuse, nvme::Fuse::second);
  auto first = scene.io.send(read, scene.block_bytes);
  auto second = scene.io.send(write, pattern(0x79, 1, scene.block_bytes));
  check.refused(first.wait(), "Read as the first half");
  check.refused(second.wait(), "Write behind it");
  is_unchanged(check, scene, kLba, before, "the block");
}

CONFORMANCE_CASE(controllers_see_the_same_data, "nvme.write.controllers", roles::controller, needs(has_namespace)) {
  IoScene one(bench);
  IoScene other(bench);
  check.precondition(one.association.cntlid() != other.association.cntlid(), "there are two controllers");
  // The identifier may be that of another, private namespace there.
  check.precondition((bench.declared().identify_namespace().get(nvme::id_ns::nmic) & nvme::nmic_bits::shared) != 0,
                     "the namespace is a shared one");
  check.precondition_success(other.read(kLba, 2), "Read through the other controller");
  for (const unsigned mark : {0x41u, 0x42u}) {
    const Bytes data = one.prepare(check, kLba, static_cast<std::uint8_t>(mark), 2);
    is_unchanged(check, other, kLba, data, "what the other controller wrote");
  }
}

CONFORMANCE_CASE(verify_tells_good_blocks_from_bad_ones, "nvme.verify.finds", roles::controller, needs(has_namespace),
                 needs(claims_oncs<oncs::verify>), needs(claims_oncs<oncs::write_uncorrectable>)) {
  IoScene scene(bench);
  scene.prepare(check, kLba, 0x43, 4);
  const auto verify = [&](std::uint64_t lba) { return scene.io.send(host::verify(scene.nsid, scene.at(lba), 2)).wait(); };
  check.success(verify(kLba), "Verify of blocks that were written");
  check.precondition_success(scene.io.send(host::write_uncorrectable(scene.nsid, scene.at(kLba + 1), 1)).wait(), "Write Uncorrectable");
  const auto bad = verify(kLba);
  scene.prepare(check, kLba, 0x44, 4);
  check.refused(bad, "Verify of a spoilt block");
}

CONFORMANCE_CASE(compare_tells_spoilt_blocks, "nvme.compare.unreadable", roles::controller, needs(has_namespace),
                 needs(claims_oncs<oncs::compare>), needs(claims_oncs<oncs::write_uncorrectable>)) {
  IoScene scene(bench);
  const Bytes data = scene.prepare(check, kLba, 0x47, 4);
  check.precondition_success(scene.io.send(host::write_uncorrectable(scene.nsid, scene.at(kLba + 1), 1)).wait(), "Write Uncorrectable");
  const auto bad = scene.compare(kLba, data);
  scene.prepare(check, kLba, 0x48, 4);
  check.refused(bad, "Compare with a spoilt block");
}

CONFORMANCE_CASE(write_uncorrectable_leaves_its_neighbours, "nvme.write-uncorrectable.neighbours", roles::controller, needs(has_namespace),
                 needs(claims_oncs<oncs::write_uncorrectable>)) {
  IoScene scene(bench);
  const Bytes before = scene.prepare(check, kLba, 0x45, 4);
  check.precondition_success(scene.io.send(host::write_uncorrectable(scene.nsid, scene.at(kLba + 1), 2)).wait(), "Write Uncorrectable");
  is_unchanged(check, scene, kLba, scene.block(before, 0), "the block before");
  is_unchanged(check, scene, kLba + 3, scene.block(before, 3), "the block behind");
  scene.prepare(check, kLba, 0x46, 4);
}

}  // namespace fb::conformance
