// Every I/O command that names blocks, in every namespace, at both sides of every limit.
#include <fmt/format.h>

#include "conformance/cases/nvme/copy_scene.h"
#include "conformance/cases/nvme/every_space.h"
#include "conformance/cases/nvme/zone_scene.h"

namespace fb::conformance {

namespace {

using nvme::IoOpcode;

std::string named(const Space& space, IoOpcode opcode) {
  return std::string(nvme::io_opcode_name(static_cast<std::uint8_t>(opcode))) + ", " + space.name();
}

std::optional<std::string> has_no_transfer_limit(const Declared& declared) {
  if (!declared.known || declared.transfer_max() == 0) return {};
  return "MDTS is not 0: transfers are limited";
}

constexpr std::uint64_t kLow = 5;
constexpr std::uint32_t kLowBlocks = 3;

/// Each bit of an address that names a block which the namespace does not have.
template <class Judge>
void for_each_high_bit(const Space& space, Judge&& judge) {
  for (unsigned bit = 32; bit < 64; ++bit) {
    const std::uint64_t lba = (std::uint64_t{1} << bit) | kLow;
    if (lba >= space.blocks) judge(bit, lba);
  }
}

void write_in_pieces(Check& check, const Space& space, std::uint64_t lba, ByteView data, std::uint64_t most) {
  const std::size_t step = static_cast<std::size_t>(most == 0 ? data.size() : std::min<std::uint64_t>(most, data.size())) /
                           space.block_bytes * space.block_bytes;
  for (std::size_t at = 0; at < data.size(); at += step) {
    const ByteView piece = data.subspan(at, std::min(step, data.size() - at));
    check.precondition_success(space.write(lba + at / space.block_bytes, piece), "Write");
  }
}
Bytes read_in_pieces(Check& check, const Space& space, std::uint64_t lba, std::size_t bytes, std::uint64_t most) {
  const std::size_t step =
      static_cast<std::size_t>(most == 0 ? bytes : std::min<std::uint64_t>(most, bytes)) / space.block_bytes * space.block_bytes;
  Bytes all;
  while (all.size() < bytes) {
    const auto count = static_cast<std::uint32_t>(std::min(step, bytes - all.size()) / space.block_bytes);
    const auto reply = space.read(lba + all.size() / space.block_bytes, count);
    check.require_success(reply, "Read");
    all.insert(all.end(), reply.data.begin(), reply.data.end());
  }
  return all;
}

host::RawReply deallocate(const Space& space, ByteView ranges, std::uint32_t count) {
  return space.io->send(host::deallocate(space.nsid, count), ranges).wait();
}

bool claims(ControllerBench& bench, std::uint16_t bit) { return (bench.declared().identify().get(nvme::id_ctrl::oncs) & bit) != 0; }

/// Blocks that Write Uncorrectable has marked, from block kMarked on, and their neighbours.
class MarkedBlocks {
 public:
  static constexpr std::uint64_t kMarked = 1;
  MarkedBlocks(Check& check, const Space& space, std::uint64_t most) : check_(check), space_(space), most_(most) {}

  /// False: so many cannot be marked at once.
  bool mark(std::uint32_t count) {
    write_in_pieces(check_, space_, 0, pattern(0x3A, count + 2, space_.block_bytes), most_);
    return space_.send(IoOpcode::write_uncorrectable, kMarked, count).ok();
  }
  void readable(std::uint64_t lba, const std::string& what) { check_.success(space_.read(lba, 1), name(lba, what)); }
  void unreadable(std::uint64_t lba, const std::string& what) { check_.refused(space_.read(lba, 1), name(lba, what)); }
  /// As it is found, for whoever comes next.
  void restore(std::uint32_t count) { write_in_pieces(check_, space_, 0, pattern(0x3B, count + 2, space_.block_bytes), most_); }

 private:
  std::string name(std::uint64_t lba, const std::string& what) const {
    return fmt::format("Read of block {} {}, {}", lba, what, space_.name());
  }
  Check& check_;
  const Space& space_;
  const std::uint64_t most_;
};

/// The commands that write blocks, with their claims; each writes `count` blocks at `lba`.
host::RawReply rewrite(const Space& space, IoOpcode opcode, std::uint64_t lba, std::uint32_t count) {
  constexpr std::uint64_t kSource = 400;
  if (opcode != IoOpcode::copy) return space.send(opcode, lba, count, space.data_of(opcode, 0x3C, count));
  const Bytes source = nvme::write_copy_source({.slba = kSource, .blocks = count}, 0, {});
  return space.io->send(host::copy(space.nsid, lba, 1), source).wait();
}

/// Neither MDTS nor ZASL.
const furnished without_transfer_limit{[](EmbeddedSetup& setup) {
  add_zoned_namespaces(setup);
  setup.subsystem.mdts = setup.subsystem.zoned.append_limit = 0;
}};

/// A namespace with addresses of more than 32 bits, and of more than 4 GiB.
std::optional<std::string> has_a_large_namespace(const Declared& declared) {
  constexpr auto large = [](const host::NamespaceFacts& facts) { return facts.blocks > std::uint64_t{1} << 32; };
  if (!declared.known || std::any_of(declared.namespaces.begin(), declared.namespaces.end(), large)) return {};
  return "no namespace has more than 2^32 blocks";
}
const furnished with_a_large_namespace{[](EmbeddedSetup& setup) {
  constexpr std::uint64_t kBlocks = std::uint64_t{1} << 34;
  if (!setup.namespaces.empty()) setup.namespaces.front().blocks = std::max(setup.namespaces.front().blocks, kBlocks);
}};

/// What each command does at an address of which one bit is set, while other data is at the address without it.
class FarBlocks {
 public:
  FarBlocks(Check& check, const Space& space, std::uint16_t oncs, unsigned bit)
      : check_(check),
        space_(space),
        oncs_(oncs),
        far_(kLow + (std::uint64_t{1} << bit)),
        where_(fmt::format("LBA with bit {}, {}", bit, space.name())) {
    check_.precondition_success(space_.write(kLow, low_), "Write of the low blocks");
  }
  void judge() {
    check_.success(space_.write(far_, high_), "Write, " + where_);
    both_hold("Write");
    if (has(nvme::oncs_bits::compare)) {
      check_.success(space_.send(IoOpcode::compare, far_, kLowBlocks, high_), "Compare of equal data, " + where_);
      check_.status(space_.send(IoOpcode::compare, far_, kLowBlocks, low_), sc::compare_failure,
                    "Compare of the low blocks' data, " + where_);
    }
    if (has(nvme::oncs_bits::copy) && space_.metadata_bytes == 0) judge_copies();
    if (has(nvme::oncs_bits::write_uncorrectable)) judge_marks();
    if (has(nvme::oncs_bits::write_zeroes)) {
      check_.success(space_.send(IoOpcode::write_zeroes, far_, kLowBlocks), "Write Zeroes, " + where_);
      holds(check_, space_, kLow, low_, "the low blocks after Write Zeroes, " + where_);
    }
    if (has(nvme::oncs_bits::dataset_management)) {
      check_.success(deallocate(space_, host::dsm_range(far_, kLowBlocks).bytes(), 1), "Dataset Management, " + where_);
      holds(check_, space_, kLow, low_, "the low blocks after Dataset Management, " + where_);
    }
  }

 private:
  bool has(std::uint16_t bit) const { return (oncs_ & bit) != 0; }
  void both_hold(std::string_view after) {
    holds(check_, space_, far_, high_, fmt::format("the blocks after {}, {}", after, where_));
    holds(check_, space_, kLow, low_, fmt::format("the low blocks after {}, {}", after, where_));
  }
  void judge_copies() {
    constexpr std::uint64_t kElsewhere = 200;
    const auto copied = [&](std::uint64_t from, std::uint64_t to) {
      const Bytes source = nvme::write_copy_source({.slba = from, .blocks = kLowBlocks}, 0, {});
      check_.success(space_.io->send(host::copy(space_.nsid, to, 1), source).wait(), "Copy, " + where_);
    };
    copied(far_, kElsewhere);
    holds(check_, space_, kElsewhere, high_, "the destination of a Copy, source " + where_);
    copied(kLow, far_);
    holds(check_, space_, far_, low_, "the destination of a Copy, " + where_);
    copied(kElsewhere, far_);
    both_hold("Copy");
  }
  void judge_marks() {
    check_.success(space_.send(IoOpcode::write_uncorrectable, far_, kLowBlocks), "Write Uncorrectable, " + where_);
    holds(check_, space_, kLow, low_, "the low blocks after Write Uncorrectable, " + where_);
    check_.refused(space_.read(far_, kLowBlocks), "Read of blocks that are marked, " + where_);
    if (has(nvme::oncs_bits::verify)) {
      check_.refused(space_.send(IoOpcode::verify, far_, kLowBlocks), "Verify of blocks that are marked, " + where_);
      check_.success(space_.send(IoOpcode::verify, kLow, kLowBlocks), "Verify of the low blocks, " + where_);
    }
    check_.success(space_.write(far_, high_), "Write of blocks that are marked, " + where_);
    both_hold("Write Uncorrectable and Write");
  }

  Check& check_;
  const Space& space_;
  const std::uint16_t oncs_;
  const std::uint64_t far_;
  const std::string where_;
  const Bytes low_ = pattern(0x2D, kLowBlocks, space_.block_bytes), high_ = pattern(0x2E, kLowBlocks, space_.block_bytes);
};

const needs has_deallocate{claims_oncs<nvme::oncs_bits::dataset_management>};

}  // namespace

CONFORMANCE_CASE(last_block_is_the_last_to_every_command, "nvme.range.boundary", roles::controller, needs(has_namespace)) {
  host::RawQueue& io = bench.associate().open_io();
  for (const Space& space : every_space(bench, io)) {
    const std::uint64_t last = space.blocks - 1;
    const Bytes before = pattern(0x21, 1, space.block_bytes), data = pattern(0x22, 1, space.block_bytes);
    check.precondition_success(space.write(last - 1, before), "Write of the block before the last");
    for (const auto& [opcode, claim] : claimed_block_commands(bench)) {
      const std::string what = named(space, opcode);
      check.success(space.send(opcode, last, 1, space.data_of(opcode, 0x22, 1)), what + ", the last block");
      check.status(space.send(opcode, last, 2, space.data_of(opcode, 0x22, 2)), sc::lba_out_of_range,
                   what + ", the last block and the next");
      check.status(space.send(opcode, last + 1, 1, space.data_of(opcode, 0x22, 1)), sc::lba_out_of_range,
                   what + ", the block after the last");
      if (opcode == IoOpcode::write || opcode == IoOpcode::read) {
        holds(check, space, last, data, "the last block of " + space.name());
      }
    }
    check.success(space.write(last, data), "Write of the last block of " + space.name() + " at the end");
    holds(check, space, last - 1, before, "the block before the last of " + space.name());
  }
}

CONFORMANCE_CASE(block_addresses_have_64_bits, "nvme.range.upper-bits", roles::controller, needs(has_namespace)) {
  host::RawQueue& io = bench.associate().open_io();
  for (const Space& space : every_space(bench, io)) {
    const Bytes before = pattern(0x23, kLowBlocks, space.block_bytes);
    check.precondition_success(space.write(kLow, before), "Write");
    for (const auto& [opcode, claim] : claimed_block_commands(bench)) {
      // Were the upper bits ignored, Compare would find what it compares.
      const std::uint8_t mark = opcode == IoOpcode::compare ? 0x23 : 0x24;
      for_each_high_bit(space, [&](unsigned bit, std::uint64_t lba) {
        check.status(space.send(opcode, lba, 1, space.data_of(opcode, mark, 1)), sc::lba_out_of_range,
                     fmt::format("{}, SLBA with bit {}", named(space, opcode), bit));
      });
      check.status(space.send(opcode, UINT64_MAX, 2, space.data_of(opcode, mark, 2)), sc::lba_out_of_range,
                   named(space, opcode) + ", SLBA of ones");
    }
    holds(check, space, kLow, before, "blocks whose addresses are the lower halves, " + space.name());
  }
}

CONFORMANCE_CASE(ranges_have_64_bit_addresses, "nvme.range.descriptor-bits", roles::controller, needs(has_namespace)) {
  host::RawQueue& io = bench.associate().open_io();
  const auto oncs = bench.declared().identify().get(nvme::id_ctrl::oncs);
  const bool copying = (oncs & nvme::oncs_bits::copy) != 0, deallocates = (oncs & nvme::oncs_bits::dataset_management) != 0;
  check.precondition(copying || deallocates, "the product has Copy or Dataset Management");
  for (const Space& space : every_space(bench, io)) {
    const Bytes before = pattern(0x25, kLowBlocks, space.block_bytes);
    check.precondition_success(space.write(kLow, before), "Write");
    const auto source = [](std::uint64_t lba) { return nvme::write_copy_source({.slba = lba, .blocks = 1}, 0, {}); };
    for_each_high_bit(space, [&](unsigned bit, std::uint64_t lba) {
      // To look at the ranges of advice is the controller's own choice; to act on others is not.
      if (deallocates) (void)deallocate(space, host::dsm_range(lba, kLowBlocks).bytes(), 1);
      if (!copying) return;
      const auto from = space.io->send(host::copy(space.nsid, kLow, 1), source(lba)).wait();
      check.status(from, sc::lba_out_of_range, fmt::format("Copy from an LBA with bit {}, {}", bit, space.name()));
      const auto to = space.io->send(host::copy(space.nsid, lba, 1), source(kLow + 100)).wait();
      check.status(to, sc::lba_out_of_range, fmt::format("Copy to an LBA with bit {}, {}", bit, space.name()));
    });
    holds(check, space, kLow, before, "blocks whose addresses are the lower halves, " + space.name());
  }
}

CONFORMANCE_CASE(high_addresses_are_of_their_own_blocks, "nvme.range.no-alias", roles::controller, with_a_large_namespace,
                 needs(has_namespace), needs(has_a_large_namespace)) {
  host::RawQueue& io = bench.associate().open_io();
  const auto oncs = bench.declared().identify().get(nvme::id_ctrl::oncs);
  for (const Space& space : every_space(bench, io)) {
    if (space.blocks <= std::uint64_t{1} << 32) continue;
    // From bit 20 on, the address in bytes may be above 32 bits.
    for (unsigned bit = 20; bit < 64 && (std::uint64_t{1} << bit) + kLow + kLowBlocks <= space.blocks; ++bit) {
      FarBlocks(check, space, oncs, bit).judge();
    }
  }
}

CONFORMANCE_CASE(marks_are_of_the_blocks_named, "nvme.write-uncorrectable.extent", roles::controller, needs(has_namespace),
                 needs(claims_oncs<nvme::oncs_bits::write_uncorrectable>)) {
  host::RawQueue& io = bench.associate().open_io();
  for (const Space& space : every_space(bench, io)) {
    MarkedBlocks blocks(check, space, bench.declared().transfer_max());
    const std::uint64_t first = MarkedBlocks::kMarked;
    for (const std::uint32_t count : {1u, 2u, 3u, 5u, 8u, 9u, 64u, 257u}) {
      if (!blocks.mark(count)) continue;
      const std::string after = fmt::format("after Write Uncorrectable of {} blocks from block 1", count);
      blocks.readable(first - 1, after);
      for (const std::uint64_t lba : {first, first + count / 2, first + count - 1}) blocks.unreadable(lba, after);
      blocks.readable(first + count, after);
      blocks.restore(count);
    }
  }
}

CONFORMANCE_CASE(marks_end_with_the_blocks_written, "nvme.write-uncorrectable.rewritten", roles::controller, needs(has_namespace),
                 needs(claims_oncs<nvme::oncs_bits::write_uncorrectable>)) {
  constexpr std::uint32_t kMany = 12;
  constexpr std::uint64_t kFirst = 4;
  host::RawQueue& io = bench.associate().open_io();
  for (const Space& space : every_space(bench, io)) {
    MarkedBlocks blocks(check, space, bench.declared().transfer_max());
    for (const auto& [opcode, claim] :
         {BlockCommand{IoOpcode::write, 0}, BlockCommand{IoOpcode::write_zeroes, nvme::oncs_bits::write_zeroes},
          BlockCommand{IoOpcode::copy, nvme::oncs_bits::copy}}) {
      if ((claim != 0 && !claims(bench, claim)) || (opcode == IoOpcode::copy && space.metadata_bytes != 0)) continue;
      for (const std::uint32_t count : {1u, 2u, 4u}) {
        if (!blocks.mark(kMany)) continue;
        const std::string after = fmt::format("after {} of {} blocks from block {}", named(space, opcode), count, kFirst);
        if (!check.success(rewrite(space, opcode, kFirst, count), named(space, opcode) + " to blocks that are marked")) continue;
        blocks.unreadable(kFirst - 1, after);
        for (std::uint64_t lba = kFirst; lba < kFirst + count; ++lba) blocks.readable(lba, after);
        blocks.unreadable(kFirst + count, after);
      }
    }
    blocks.restore(kMany);
  }
}

CONFORMANCE_CASE(transfers_of_exactly_mdts_are_whole, "nvme.transfer.mdts-every", roles::controller, needs(has_namespace),
                 needs(limits_transfers)) {
  host::RawQueue& io = bench.associate().open_io();
  const std::uint64_t most = bench.declared().transfer_max();
  const bool compares = (bench.declared().identify().get(nvme::id_ctrl::oncs) & nvme::oncs_bits::compare) != 0;
  bool any = false;
  for (const Space& space : every_space(bench, io)) {
    const std::uint64_t whole = most / space.block_bytes;
    if (whole + 1 > 65536 || whole + 1 > space.blocks) continue;
    any = true;
    const auto count = static_cast<std::uint32_t>(whole);
    Bytes data = pattern(0x26, count, space.block_bytes);
    check.success(space.write(0, data), "Write of MDTS, " + space.name());
    holds(check, space, 0, data, "MDTS of data, " + space.name());
    const auto longer = pattern(0x27, count + 1, space.block_bytes);
    check.status(space.write(0, longer), sc::invalid_field, "Write above MDTS, " + space.name());
    if (!io.connected()) return;  // the others would only say so once more
    check.status(space.read(0, count + 1), sc::invalid_field, "Read above MDTS, " + space.name());
    if (compares) {
      check.success(space.send(IoOpcode::compare, 0, count, data), "Compare of MDTS, " + space.name());
      space.spoil_last_bit(data);
      check.status(space.send(IoOpcode::compare, 0, count, data), sc::compare_failure,
                   "Compare of MDTS that differs in its last bit, " + space.name());
      check.status(space.send(IoOpcode::compare, 0, count + 1, longer), sc::invalid_field, "Compare above MDTS, " + space.name());
    }
  }
  check.precondition(any, "MDTS is below what a command can ask for");
}

CONFORMANCE_CASE(transfers_without_limit_are_taken, "nvme.transfer.unlimited", roles::controller, needs(has_namespace),
                 needs(has_no_transfer_limit), without_transfer_limit) {
  constexpr std::uint64_t kBytes = (4 << 20) + 4096;  // far beyond what a product has room for unless it was made for that
  host::RawQueue& io = bench.associate().open_io();
  const Space space = every_space(bench, io).front();
  const std::uint64_t count = std::min({kBytes / space.block_bytes, std::uint64_t{65536}, space.blocks});
  const Bytes data = pattern(0x28, static_cast<std::size_t>(count), space.block_bytes);
  check.success(space.write(0, data), "Write of " + std::to_string(data.size()) + " bytes");
  holds(check, space, 0, data, std::to_string(data.size()) + " bytes");
  if (find_zoned(bench.declared(), plainly_zoned) == nullptr || has_zone_append(bench.declared())) return;
  ZoneScene scene(bench, check, plainly_zoned, 1);
  const auto page = scene.admin().send(identify_zoned(nvme::Cns::command_set_controller), nvme::kIdentifySize).wait();
  check.precondition_success(page, "Identify");
  // ZASL 0 is as much as MDTS.
  if (View<nvme::IdentifyControllerZoned>{page.data}.get(nvme::id_ctrl_zoned::zasl) != 0) return;
  const std::uint64_t most = std::min({kBytes / scene.facts.layout.bytes(), std::uint64_t{65536}, scene.capacity(0)});
  const auto appended = scene.append(scene.zone(0), static_cast<std::uint32_t>(most));
  check.success(appended, fmt::format("Zone Append of {} blocks", most));
}

namespace {

/// How much of a Dataset Management command a controller acts on: what is beyond that it need not look at.
struct DeallocationLimits {
  std::uint64_t ranges = nvme::kDsmRangesMax;
  std::uint64_t range_blocks = ~std::uint64_t{0};
  std::uint64_t blocks = ~std::uint64_t{0};
};

DeallocationLimits deallocation_limits(host::RawQueue& admin) {
  DeallocationLimits found;
  const auto page = admin.send(host::identify(nvme::Cns::command_set_controller), nvme::kIdentifySize).wait();
  if (!page.ok()) return found;
  const View<nvme::IdentifyControllerNvm> view{page.data};
  if (const std::uint64_t most = view.get(nvme::id_ctrl_nvm::dmrl); most != 0) found.ranges = most;
  if (const std::uint64_t most = view.get(nvme::id_ctrl_nvm::dmrsl); most != 0) found.range_blocks = most;
  if (const std::uint64_t most = view.get(nvme::id_ctrl_nvm::dmsl); most != 0) found.blocks = most;
  return found;
}

}  // namespace

CONFORMANCE_CASE(every_deallocated_range_is_acted_on, "nvme.deallocate.every-range", roles::controller, needs(has_namespace),
                 has_deallocate) {
  RawAssociation& association = bench.associate();
  const DeallocationLimits limits = deallocation_limits(association.admin());
  host::RawQueue& io = association.open_io();
  const std::uint64_t most = bench.declared().transfer_max();
  bool any = false;
  for (const Space& space : every_space(bench, io)) {
    const std::uint32_t each = std::max<std::uint32_t>(4096 / space.block_bytes, 1);  // less may be too little to be worth it
    const std::uint64_t step = 2 * each;                                              // each is aligned as the first
    const std::uint64_t number = each > limits.range_blocks ? 0 : std::min(limits.ranges, limits.blocks / each);
    const std::uint64_t end = step * number;
    if (number < 2 || space.blocks < end) continue;
    any = true;
    const Bytes before = pattern(0x29, static_cast<std::size_t>(end), space.block_bytes);
    write_in_pieces(check, space, 0, before, most);
    Bytes ranges;
    for (std::uint64_t i = 0; i < number; ++i) {
      const auto range = host::dsm_range(step * i, each);
      ranges.insert(ranges.end(), range.bytes().begin(), range.bytes().end());
    }
    check.success(deallocate(space, ranges, static_cast<std::uint32_t>(number)),
                  fmt::format("Dataset Management of {} ranges, {}", number, space.name()));
    const Bytes after = read_in_pieces(check, space, 0, before.size(), most);
    unsigned gone = 0;
    std::string kept;
    const auto is_same = [&](std::uint64_t lba, std::uint64_t count) {
      const auto from = static_cast<std::ptrdiff_t>(lba * space.block_bytes);
      const auto to = static_cast<std::ptrdiff_t>((lba + count) * space.block_bytes);
      return std::equal(before.begin() + from, before.begin() + to, after.begin() + from);
    };
    for (std::uint64_t i = 0; i < number; ++i) {
      check.that(is_same(step * i + each, each), fmt::format("the blocks after range {} are unchanged, {}", i, space.name()));
      if (!is_same(step * i, each)) {
        ++gone;
      } else {
        kept += " " + std::to_string(i);
      }
    }
    // Who deallocates nothing of this size is free to do so; ranges of one shape are all the same to a controller.
    check.that(gone == 0 || kept.empty(), "ranges of equal shape are treated alike, " + space.name(), "not deallocated:" + kept);
  }
  check.precondition(any, "the controller acts on more than one range of a Dataset Management command");
}

CONFORMANCE_CASE(ranges_beyond_their_number_are_no_ranges, "nvme.deallocate.number", roles::controller, needs(has_namespace),
                 has_deallocate) {
  host::RawQueue& io = bench.associate().open_io();
  for (const Space& space : every_space(bench, io)) {
    const Bytes before = pattern(0x2A, 4, space.block_bytes);
    check.precondition_success(space.write(kLow, before), "Write");
    Bytes ranges(4096);
    for (std::size_t i = 0; i * nvme::DsmRange::size < ranges.size(); ++i) {
      const auto range = host::dsm_range(i == 0 ? 64 : kLow, 4);
      std::copy(range.bytes().begin(), range.bytes().end(), ranges.begin() + static_cast<std::ptrdiff_t>(i * range.bytes().size()));
    }
    check.success(deallocate(space, ranges, 1), "Dataset Management of one range in 4,096 bytes, " + space.name());
    holds(check, space, kLow, before, "blocks of ranges beyond NR, " + space.name());
  }
}

CONFORMANCE_CASE(fused_pairs_reach_their_limit, "nvme.fused.limit", roles::controller, needs(has_namespace),
                 needs(fuses_compare_and_write)) {
  host::RawQueue& io = bench.associate().open_io();
  const std::uint64_t most = bench.declared().transfer_max();
  const std::uint64_t unit = bench.declared().identify().get(nvme::id_ctrl::acwu).count();
  bool any = false;
  for (const Space& space : every_space(bench, io)) {
    if (unit > 256 || (most != 0 && unit * space.block_bytes > most) || unit >= space.blocks) continue;
    any = true;
    const auto count = static_cast<std::uint32_t>(unit);
    Bytes old = pattern(0x2B, count, space.block_bytes);
    const Bytes made = pattern(0x2C, count, space.block_bytes);
    check.precondition_success(space.write(0, old), "Write");
    auto compare = host::compare(space.nsid, 0, count), write = host::write(space.nsid, 0, count);
    compare.set(nvme::sqe::fuse, nvme::Fuse::first);
    write.set(nvme::sqe::fuse, nvme::Fuse::second);
    const auto judge = [&](ByteView expected, nvme::Status compared_as, bool writes, const std::string& what) {
      auto compared = io.send(compare, expected);
      auto written = io.send(write, made);
      check.status(compared.wait(), compared_as, "Compare of " + what);
      const auto second = written.wait();
      if (writes) {
        check.success(second, "Write of " + what);
      } else {
        check.status(second, sc::aborted_failed_fused, "Write of " + what);
      }
    };
    const std::string pair = fmt::format("a fused pair of ACWU + 1 = {} blocks, {}", count, space.name());
    space.spoil_last_bit(old);
    judge(old, sc::compare_failure, false, pair + ", whose last bit differs");
    space.spoil_last_bit(old);
    holds(check, space, 0, old, "the blocks of a pair that failed, " + space.name());
    judge(old, sc::success, true, pair);
    holds(check, space, 0, made, "the blocks of a pair that succeeded, " + space.name());
  }
  check.precondition(any, "ACWU is small enough to be tried");
}

CONFORMANCE_CASE(fused_pairs_above_their_limit_end_together, "nvme.fused.above-limit", roles::controller, needs(has_namespace),
                 needs(fuses_compare_and_write)) {
  host::RawQueue& io = bench.associate().open_io();
  const std::uint64_t most = bench.declared().transfer_max();
  const std::uint64_t unit = bench.declared().identify().get(nvme::id_ctrl::acwu).count();
  bool any = false;
  for (const Space& space : every_space(bench, io)) {
    const std::uint64_t above = unit + 1;
    if (above > 256 || (most != 0 && above * space.block_bytes > most) || above > space.blocks) continue;
    any = true;
    const auto count = static_cast<std::uint32_t>(above);
    const Bytes old = pattern(0x2F, count, space.block_bytes), made = pattern(0x30, count, space.block_bytes);
    check.precondition_success(space.write(0, old), "Write");
    auto compare = host::compare(space.nsid, 0, count), write = host::write(space.nsid, 0, count);
    compare.set(nvme::sqe::fuse, nvme::Fuse::first);
    write.set(nvme::sqe::fuse, nvme::Fuse::second);
    auto compared = io.send(compare, old);
    auto written = io.send(write, made);
    const std::string pair = fmt::format("a fused pair of ACWU + 2 = {} blocks, {}", count, space.name());
    const auto first = compared.wait_for(kSoon), second = written.wait_for(kSoon);
    check.require(first.has_value() && first->answered(), "Compare of " + pair + " is completed", "it is not");
    check.require(second.has_value() && second->answered(), "Write of " + pair + " is completed", "it is not");
    if (!first->ok()) check.that(!second->ok(), "Write of " + pair + " does not succeed without its Compare", "it succeeds");
    holds(check, space, 0, second->ok() ? made : old, "the blocks of " + pair);
    check.success(space.write(0, old), "Write after " + pair);
  }
  check.precondition(any, "a transfer of more blocks than ACWU can be tried");
}

}  // namespace fb::conformance
