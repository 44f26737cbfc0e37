// Everything that a user of a host may ask of a namespace, with controllers that declare odd limits: what is reported, read and
// stored is compared with a copy of the blocks that the case keeps.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/rng.h"
#include "conformance/cases/nvme/host_scene.h"
#include "model/subsystem/subsystem.h"
#include "wire/fabrics/property.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_namespace.h"

namespace fb::conformance {

namespace {

namespace id_ctrl = nvme::id_ctrl;
constexpr std::uint8_t kSetFeatures = 0x09, kNumberOfQueues = 0x07;
constexpr std::uint8_t kControllerPage = 0x01, kNamespacePage = 0x00, kCommandSetPage = 0x06;  // CNS

/// What the bench's controller says of itself; all of it is less than it can do.
struct Announced {
  unsigned mdts = 0;    ///< 0: as it is
  unsigned mpsmin = 0;  ///< the unit of MDTS and its like is 4 KiB << MPSMIN
  unsigned vsl = 0, wzsl = 0, wusl = 0;
  unsigned range_blocks = 0, total_blocks = 0, ranges = 0;  ///< of Copy; 0: as they are
  unsigned entries = 0;                                     ///< CAP.MQES + 1; 0: as it is
  unsigned in_capsule = 0;                                  ///< bytes of IOCCSZ behind the entry; 0: as they are
  unsigned submission_queues = 1, completion_queues = 1;    ///< granted
  host::ProtectionUse protection = host::ProtectionUse::controller;
};

constexpr auto kByHost = host::ProtectionUse::host;
/// Unequal numbers, odd ones, exact fits and the least that there can be.
constexpr Announced kDeclarations[] = {
    {},
    {.mdts = 1, .vsl = 1, .wzsl = 2, .wusl = 3, .range_blocks = 3, .total_blocks = 7, .ranges = 2, .entries = 3, .in_capsule = 512},
    {.mdts = 2,
     .mpsmin = 1,
     .vsl = 3,
     .wzsl = 1,
     .wusl = 2,
     .range_blocks = 1,
     .total_blocks = 5,
     .ranges = 128,
     .entries = 2,
     .in_capsule = 496,
     .submission_queues = 3,
     .completion_queues = 2},
    {.mdts = 3,
     .wusl = 1,
     .range_blocks = 16,
     .total_blocks = 16,
     .ranges = 1,
     .entries = 17,
     .in_capsule = 4096,
     .submission_queues = 2,
     .completion_queues = 4,
     .protection = kByHost},
    {.mdts = 5,
     .mpsmin = 2,
     .vsl = 2,
     .range_blocks = 100,
     .total_blocks = 37,
     .ranges = 5,
     .entries = 64,
     .in_capsule = 528,
     .submission_queues = 4,
     .completion_queues = 4,
     .protection = kByHost},
};

/// Formats of all kinds, LBAs above 2^32, an odd number of blocks.
void many_formats(EmbeddedSetup& setup) {
  setup.subsystem.metadata = true;
  setup.subsystem.mdts = 8;
  setup.subsystem.namespace_management.capacity_bytes = std::uint64_t{1} << 50;
  constexpr std::uint64_t kManyBlocks = (std::uint64_t{1} << 33) + 5;
  setup.namespaces.clear();
  setup.namespaces.push_back({.nsid = 1, .blocks = kManyBlocks});
  setup.namespaces.push_back({.nsid = 2, .block_bytes = 4096, .blocks = 5001});
  setup.namespaces.push_back({.nsid = 3, .blocks = kManyBlocks, .metadata_bytes = 8, .protection_type = 1});
  setup.namespaces.push_back({.nsid = 5, .blocks = 3001, .metadata_bytes = 16, .protection_type = 1, .protection_first = true});
  setup.namespaces.push_back({.nsid = 8, .block_bytes = 4096, .blocks = 3001, .metadata_bytes = 64});
  setup.namespaces.push_back({.nsid = 9, .block_bytes = 4096, .blocks = 3001, .metadata_bytes = 8, .protection_type = 3});
}
const arranged a_user_of_every_command{"a user of the host who asks for every command", &many_formats};

bool is_identify(const CommandContext& command, std::uint8_t cns) {
  return command.qid == 0 && command.sqe[0] == opcode::kIdentify && command.sqe[40] == cns;
}

void declare(HostBench& bench, const Announced& declared) {
  bench.script = {};
  bench.script.property_read = [&declared](std::uint32_t offset, std::uint64_t& value) {
    if (offset != fabrics::property::cap) return;
    auto cap = record_from_integer<fabrics::Cap>(value);
    cap.set(fabrics::cap::mpsmin, declared.mpsmin);
    const auto entries = static_cast<unsigned>(cap.get(fabrics::cap::mqes).count());
    if (declared.entries != 0) cap.set(fabrics::cap::mqes, ZeroBased<std::uint16_t>::of(std::min(declared.entries, entries)));
    value = integer_of(cap);
  };
  bench.script.data_out = [&declared](const CommandContext& command, MutableBytes data) {
    if (data.size() < nvme::kIdentifySize) return;
    if (is_identify(command, kControllerPage)) {
      MutableView<nvme::IdentifyController> page{data};
      if (declared.mdts != 0) page.set(id_ctrl::mdts, declared.mdts);
      // A controller that takes less in a capsule ends the connection over more.
      const std::uint32_t takes = View<nvme::IdentifyController>{data}.get(id_ctrl::ioccsz);
      const std::uint32_t wanted = (static_cast<std::uint32_t>(nvme::kSqeSize) + declared.in_capsule) / 16;
      if (declared.in_capsule != 0) page.set(id_ctrl::ioccsz, std::min(wanted, takes));
    }
    if (is_identify(command, kCommandSetPage) && command.sqe[47] == 0) {
      MutableView<nvme::IdentifyControllerNvm> page{data};
      page.set(nvme::id_ctrl_nvm::vsl, declared.vsl)
          .set(nvme::id_ctrl_nvm::wzsl, declared.wzsl)
          .set(nvme::id_ctrl_nvm::wusl, declared.wusl);
    }
    if (is_identify(command, kNamespacePage) && declared.ranges != 0) {
      MutableView<nvme::IdentifyNamespace> page{data};
      page.set(nvme::id_ns::mssrl, declared.range_blocks).set(nvme::id_ns::mcl, declared.total_blocks);
      page.set(nvme::id_ns::msrc, ZeroBased<std::uint8_t>::of(declared.ranges));
    }
  };
  bench.script.completion = [&declared](const CommandContext& command, MutableBytes cqe) {
    if (command.qid == 0 && command.sqe[0] == kSetFeatures && command.sqe[40] == kNumberOfQueues) {
      store_le<std::uint32_t>(cqe.data(), (declared.submission_queues - 1) | (declared.completion_queues - 1) << 16);
    }
    return Answer::send;
  };
}

/// What a namespace holds by now.
struct Content {
  std::map<std::uint64_t, Bytes> written;  ///< by LBA; all else is zero
  std::set<std::uint64_t> bad;
};

/// A namespace as its user and its medium have it.
class Copybook {
 public:
  Copybook(HostBench& bench, Check& check, host::Namespace& space, subsystem::Namespace& medium, Content& content, std::uint64_t seed)
      : bench_(bench),
        check_(check),
        space_(space),
        medium_(medium),
        random_(seed, "nsid " + std::to_string(space.nsid())),
        copy_(content.written),
        bad_(content.bad) {}

  void run(unsigned rounds) {
    for (unsigned round = 0; round < rounds; ++round) {
      step(round % 8);
    }
  }
  /// What is not whole blocks cannot be asked for.
  void refuse_parts() {
    const auto sent = [&] { return std::ranges::count_if(bench_.commands(), [](const SeenCommand& seen) { return seen.qid != 0; }); };
    const auto before = sent();
    for (const std::size_t bytes : {block() / 2, block() + 4}) {
      Bytes& data = bench_.keep(Bytes(bytes));
      const std::string what = " of " + std::to_string(bytes) + " bytes";
      ends_with(space_.read(0, data), sc::invalid_field, "read" + what);
      ends_with(space_.write(0, data), sc::invalid_field, "write" + what);
      ends_with(space_.compare(0, data), sc::invalid_field, "Compare" + what);
    }
    check_.equal("commands that are sent for parts of blocks", sent(), before);
  }

 private:
  std::size_t block() const { return space_.block_bytes(); }
  std::size_t data_bytes() const { return medium_.layout().data_bytes; }

  /// Near the beginning, around LBA 2^32 and at the end; short and long.
  std::uint64_t draw_lba(std::uint64_t count) {
    constexpr std::uint64_t k32 = std::uint64_t{1} << 32;
    const std::uint64_t last = medium_.blocks() - count;
    const std::uint64_t around = random_.below(3);
    const std::uint64_t away = random_.below(40);
    if (around == 1 && medium_.blocks() > k32 + 1000) return k32 - 20 + away;
    return around == 2 ? last - std::min(away, last) : std::min(away, last);
  }
  std::uint64_t draw_count() {
    const std::uint64_t bytes = random_.below(3) == 0 ? random_.below(150'000) : random_.below(20'000);
    return 1 + bytes / block();
  }
  Bytes& draw_data(std::uint64_t count) {
    Bytes made(count * block());
    for (std::size_t i = 0; i + 8 <= made.size(); i += 8) store_le<std::uint64_t>(&made[i], random_.next());
    return bench_.keep(std::move(made));
  }

  std::string where(std::string_view what, std::uint64_t lba, std::uint64_t count) const {
    return std::string(what) + " of " + std::to_string(count) + " blocks at LBA " + std::to_string(lba) + " of namespace " +
           std::to_string(space_.nsid());
  }
  void ends_with(Op<nvme::Status> op, nvme::Status expected, const std::string& what) {
    const auto status = op.wait_for(120_s);
    check_.require(status.has_value(), what + " ends", "it does not");
    check_.precondition(!same_code(*status, nvme::Status::make(3, 0x70)), "the connections last");
    check_.that(same_code(*status, expected), what + ": " + nvme::to_string(expected), nvme::to_string(*status));
  }

  /// Data of a block in the copy.
  ByteView copy_of(std::uint64_t lba) const {
    static const Bytes kZeroes(4096);
    const auto found = copy_.find(lba);
    return found == copy_.end() ? ByteView(kZeroes).first(data_bytes()) : ByteView(found->second);
  }
  void keep(std::uint64_t lba, ByteView blocks) {
    for (std::size_t at = 0; at < blocks.size(); at += block(), ++lba) {
      const ByteView data = blocks.subspan(at, data_bytes());
      copy_[lba].assign(data.begin(), data.end());
    }
  }
  void zero(std::uint64_t lba, std::uint64_t count) { copy_.erase(copy_.lower_bound(lba), copy_.lower_bound(lba + count)); }

  /// The medium has what the copy has, there and in the blocks around.
  void compare_medium(std::uint64_t lba, std::uint64_t count, const std::string& what) {
    const std::uint64_t first = lba - std::min<std::uint64_t>(lba, 4), end = std::min(lba + count + 4, medium_.blocks());
    Bytes one(medium_.block_bytes());
    for (std::uint64_t at = first; at < end; ++at) {
      if (bad_.contains(at)) continue;
      check_.precondition(medium_.read(at, one).ok(), "the bench reads its medium");
      const ByteView expected = copy_of(at);
      const bool same = std::equal(expected.begin(), expected.end(), one.begin());
      check_.that(same, "the block at LBA " + std::to_string(at) + " after " + what, "another content");
      if (!same) return;
    }
  }
  void read_back(std::uint64_t lba, std::uint64_t count) {
    Bytes& in = bench_.keep(Bytes(count * block(), 0xEE));
    const std::string what = where("read", lba, count);
    ends_with(space_.read(lba, in), {}, what);
    for (std::uint64_t i = 0; i < count; ++i) {
      const ByteView expected = copy_of(lba + i);
      const bool same = std::equal(expected.begin(), expected.end(), in.begin() + static_cast<std::ptrdiff_t>(i * block()));
      check_.that(same, "the data of LBA " + std::to_string(lba + i) + " in a " + what, "other data");
      if (!same) return;
    }
  }

  void write(std::uint64_t lba, std::uint64_t count) {
    Bytes& data = draw_data(count);
    const std::string what = where("write", lba, count);
    ends_with(space_.write(lba, data), {}, what);
    keep(lba, data);
    compare_medium(lba, count, what);
  }

  /// Whole blocks that Compare takes: those of the copy, one of them changed where `differs`.
  Bytes& compared(std::uint64_t lba, std::uint64_t count, bool differs) {
    Bytes& data = bench_.keep(Bytes(count * block()));
    // Metadata that is no protection information is compared too: it is what was read.
    ends_with(space_.read(lba, data), {}, where("read", lba, count));
    if (differs) data[random_.below(count) * block() + random_.below(data_bytes())] ^= 1;
    return data;
  }

  void compare(std::uint64_t lba, std::uint64_t count) {
    for (const bool differs : {false, true}) {
      const nvme::Status expected = differs ? sc::compare_failure : nvme::Status();
      Bytes& data = compared(lba, count, differs);
      ends_with(space_.compare(lba, data), expected, where(differs ? "Compare with other data" : "Compare", lba, count));
    }
  }

  void compare_and_write(std::uint64_t lba, std::uint64_t count) {
    count = std::min({count, std::uint64_t{space_.max_transfer() / (block() + 64)}, std::uint64_t{16}});
    if (count == 0) return;
    const auto& all = space_.paths().all();
    host::Queue* const queue = all.empty() ? nullptr : all.front().controller->io_queue(0);
    if (queue == nullptr || queue->entries() < 3) return;
    for (const bool differs : {true, false}) {
      Bytes& data = draw_data(count);
      Bytes& expected = compared(lba, count, differs);
      const std::string what = where("fused Compare and Write", lba, count);
      const auto both = space_.compare_and_write(lba, expected, data).wait_for(120_s);
      check_.require(both.has_value(), what + " ends", "it does not");
      check_.that(both->first.ok() != differs && both->second.ok() != differs, what + (differs ? " with other data fails" : " succeeds"),
                  nvme::to_string(both->first) + ", " + nvme::to_string(both->second));
      if (!differs) keep(lba, data);
      compare_medium(lba, count, what);
    }
  }

  void copy(std::uint64_t count) {
    // Sources in the first blocks, in an order of their own; the destination behind them.
    std::vector<host::BlockRun> from;
    std::vector<Bytes> moved;
    for (std::uint64_t runs = 1 + random_.below(4); runs > 0; --runs) {
      const std::uint64_t lba = random_.below(100);
      const std::uint64_t length = 1 + random_.below(std::min<std::uint64_t>(count, 40));
      from.push_back({lba, length});
      for (std::uint64_t i = 0; i < length; ++i) {
        const ByteView data = copy_of(lba + i);
        moved.emplace_back(data.begin(), data.end());
      }
    }
    const std::uint64_t to = 200 + random_.below(1000);
    const std::string what = where("Copy", to, moved.size());
    ends_with(space_.copy(from, to), {}, what);
    for (std::size_t i = 0; i < moved.size(); ++i) copy_[to + i] = moved[i];
    compare_medium(to, moved.size(), what);
  }

  void spoil(std::uint64_t lba, std::uint64_t count) {
    ends_with(space_.write_uncorrectable(lba, count), {}, where("Write Uncorrectable", lba, count));
    for (std::uint64_t at = lba; at < lba + count; ++at) bad_.insert(at);
    compare_medium(lba, count, "Write Uncorrectable");
    for (const std::uint64_t at : {lba, lba + count - 1}) {
      Bytes& one = bench_.keep(Bytes(block()));
      ends_with(space_.read(at, one), sc::unrecovered_read_error, where("read behind Write Uncorrectable", at, 1));
      ends_with(space_.verify(at, 1), sc::unrecovered_read_error, where("Verify behind Write Uncorrectable", at, 1));
    }
    for (std::uint64_t at = lba; at < lba + count; ++at) bad_.erase(at);
    write(lba, count);
    ends_with(space_.verify(lba, count), {}, where("Verify", lba, count));
  }

  void step(unsigned kind) {
    const std::uint64_t count = draw_count();
    const std::uint64_t lba = draw_lba(count);
    switch (kind) {
      case 0:
        return write(lba, count);
      case 1:
        return read_back(lba, count);
      case 2:
        return compare(lba, count);
      case 3: {
        const std::string what = where("Write Zeroes", lba, count);
        ends_with(space_.write_zeroes(lba, count), {}, what);
        zero(lba, count);
        return compare_medium(lba, count, what);
      }
      case 4: {
        const std::string what = where("Dataset Management", lba, count);
        ends_with(space_.deallocate(lba, count), {}, what);
        zero(lba, count);
        return compare_medium(lba, count, what);
      }
      case 5:
        return copy(count);
      case 6:
        return spoil(lba, std::min<std::uint64_t>(count, 50));
      default:
        return compare_and_write(lba, count);
    }
  }

  HostBench& bench_;
  Check& check_;
  host::Namespace& space_;
  subsystem::Namespace& medium_;
  Rng random_;
  std::map<std::uint64_t, Bytes>& copy_;
  std::set<std::uint64_t>& bad_;
};

/// Zeroes, as if nothing had been written.
void erase(subsystem::Subsystem& subsystem) {
  for (const auto& [nsid, space] : subsystem.namespaces()) space->erase();
}

std::size_t pieces_of(HostBench& bench, std::uint8_t which) { return io_commands(bench, which).size(); }

/// An operation of so many blocks that it takes several commands.
struct Operation {
  std::string_view name;
  std::uint8_t opcode;
  Op<nvme::Status> (*start)(host::Namespace&, MutableBytes data);
};
constexpr std::uint64_t kPieceBlocks = 16, kPieces = 5;
constexpr Operation kOperations[] = {
    {"read", 0x02, [](host::Namespace& space, MutableBytes data) { return space.read(32, data); }},
    {"write", 0x01, [](host::Namespace& space, MutableBytes data) { return space.write(32, data); }},
    {"Compare", 0x05, [](host::Namespace& space, MutableBytes data) { return space.compare(32, data); }},
    {"Write Zeroes", 0x08, [](host::Namespace& space, MutableBytes) { return space.write_zeroes(32, kPieceBlocks * kPieces); }},
    {"Verify", 0x0C, [](host::Namespace& space, MutableBytes) { return space.verify(32, kPieceBlocks * kPieces); }},
    {"Write Uncorrectable", 0x04,
     [](host::Namespace& space, MutableBytes) { return space.write_uncorrectable(1000, kPieceBlocks * kPieces); }},
    {"Copy", 0x19,
     [](host::Namespace& space, MutableBytes) {
       return space.copy({{32, kPieceBlocks * kPieces}}, 2000);
     }},
};
const arranged limits_of_one_piece{"a controller that moves 16 blocks at once, and a user of every command", [](EmbeddedSetup& setup) {
                                     setup.subsystem.mdts = 1;
                                     setup.subsystem.verify_limit = setup.subsystem.write_zeroes_limit = 1;
                                     setup.subsystem.copy = {.formats = 1, .range_blocks = 16, .total_blocks = 16, .ranges = 1};
                                   }};
/// Statuses that no host repeats, and some that hosts may repeat: those have DNR.
constexpr nvme::Status kFinal[] = {nvme::Status::make(2, 0x81), nvme::Status::make(2, 0x80), nvme::Status::make(0, 0x06),
                                   nvme::Status::make(1, 0x82), nvme::Status::make(2, 0x87), nvme::Status::make(2, 0x86)};

host::Namespace& first_space(HostBench& bench, Check& check) {
  bench.script.data_out = [](const CommandContext& command, MutableBytes data) {
    if (is_identify(command, kCommandSetPage) && command.sqe[47] == 0) {
      MutableView<nvme::IdentifyControllerNvm>{data}.set(nvme::id_ctrl_nvm::wusl, 1u);
    }
  };
  bench.connect_product();
  bench.script = {};
  for (host::Namespace* space : bench.emulated_host().namespaces()) {
    if (space->nsid() == bench.nsid() && space->block_bytes() == 512) return *space;
  }
  check.inconclusive("the first namespace has no blocks of 512 bytes");
}

}  // namespace

CONFORMANCE_CASE(host_carries_out_every_operation, "nvme.host.operations.data", roles::host, a_user_of_every_command) {
  std::uint64_t seed = 1;
  std::map<std::uint32_t, Content> contents;
  erase(bench.subsystem());
  for (const Announced& declared : kDeclarations) {
    declare(bench, declared);
    bench.connect_options().protection = declared.protection;
    bench.connect_product({.io_queues = 3});
    for (host::Namespace* space : bench.emulated_host().namespaces()) {
      if (space->paths().all().empty()) continue;
      subsystem::Namespace* const medium = bench.subsystem().find_namespace(space->nsid());
      check.precondition(medium != nullptr, "the namespace is there");
      Copybook copybook(bench, check, *space, *medium, contents[space->nsid()], seed++);
      copybook.run(24);
      copybook.refuse_parts();
    }
    bench.product().disconnect().wait_for(30_s);
    bench.emulated_host().forget_gone();
  }
}

CONFORMANCE_CASE(host_learns_the_limits_of_a_controller_anew, "nvme.host.operations.anew", roles::host, a_user_of_every_command) {
  std::uint64_t seed = 100;
  std::map<std::uint32_t, Content> contents;
  erase(bench.subsystem());
  bench.connect_product({.io_queues = 3});
  const auto live = [&] {
    const auto controllers = bench.emulated_host().controllers();
    return !controllers.empty() && controllers.front()->live();
  };
  bool by_reset = true;
  for (const std::size_t next : {std::size_t{1}, std::size_t{4}, std::size_t{2}, std::size_t{3}}) {
    declare(bench, kDeclarations[next]);
    bench.step(by_reset ? "a Controller Reset" : "the association is lost");
    if (std::exchange(by_reset, !by_reset)) {
      const auto reset = bench.product().reset().wait_for(60_s);
      check.precondition(reset.has_value() && reset->ok, "the host resets the controller");
    } else {
      bench.subsystem().end_associations("the bench ends the association");
      bench.run_until([&] { return !live(); }, 10_s);
      check.precondition(bench.run_until(live, 120_s), "the host connects again");
    }
    // Time for what was under way; from then on everything keeps to what the host has read last.
    bench.run_until([] { return false; }, 3_s);
    for (host::Namespace* space : bench.emulated_host().namespaces()) {
      if (space->paths().all().empty()) continue;
      subsystem::Namespace* const medium = bench.subsystem().find_namespace(space->nsid());
      check.precondition(medium != nullptr, "the namespace is there");
      bench.forget_seen();
      Copybook(bench, check, *space, *medium, contents[space->nsid()], seed++).run(16);
      const std::uint64_t most = std::uint64_t{4096} << (kDeclarations[next].mpsmin + kDeclarations[next].mdts);
      for (const std::uint8_t which : {opcode::kRead, opcode::kWrite}) {
        for (const SeenCommand* seen : io_commands(bench, which)) {
          const std::uint64_t bytes = std::uint64_t{blocks_of(*seen)} * medium->layout().data_bytes;
          check.that(bytes <= most, "at most " + std::to_string(most) + " bytes in a command, as MDTS says now", std::to_string(bytes));
        }
      }
    }
  }
  bench.step("reads while the host connects again, to the same limits");
  bench.forget_seen();
  bench.subsystem().end_associations("the bench ends the association");
  check.precondition(bench.run_until([&] { return !bench.fabrics_commands(0x01).empty(); }, 120_s), "the host connects again");
  host::Namespace* const space = bench.emulated_host().find(bench.nqn(), 1);
  check.precondition(space != nullptr, "the namespace is there");
  std::vector<Op<nvme::Status>> reads;
  for (unsigned i = 0; i < 200 && !live(); ++i) {
    reads.push_back(space->read(0, bench.keep(Bytes(40'960))));
    bench.world().run_for(100_us);
  }
  for (auto& read : reads) {
    const auto ended = read.wait_for(120_s);
    check.that(ended.has_value() && ended->ok(), "a read succeeds that was asked for while the host connected again", "it does not");
  }
  for (const SeenCommand* seen : io_commands(bench, opcode::kRead)) {
    const std::uint64_t bytes = std::uint64_t{blocks_of(*seen)} * 512;
    check.that(bytes <= std::uint64_t{4096} << kDeclarations[3].mdts, "MDTS holds for what was asked for meanwhile", std::to_string(bytes));
  }
}

CONFORMANCE_CASE(host_reports_the_status_of_each_piece, "nvme.host.operations.status", roles::host, limits_of_one_piece) {
  host::Namespace& space = first_space(bench, check);
  Bytes& data = bench.keep(Bytes(kPieceBlocks * kPieces * 512));
  for (const Operation& operation : kOperations) {
    const std::string name(operation.name);
    bench.forget_seen();
    const auto whole = operation.start(space, data).wait_for(60_s);
    check.require(whole.has_value(), name + " ends", "it does not");
    check.precondition_success(*whole, name);
    const std::size_t pieces = pieces_of(bench, operation.opcode);
    check.precondition(pieces == kPieces, "a " + name + " of five times 16 blocks takes five commands");
    for (std::size_t failing = 0; failing < pieces; ++failing) {
      const nvme::Status status = kFinal[failing % std::size(kFinal)];
      std::size_t seen = 0;
      bench.script.admission = [&](const CommandContext& command) -> std::optional<nvme::Status> {
        if (!is_io(command, operation.opcode) || seen++ != failing) return std::nullopt;
        return status.with_dnr();
      };
      const auto ended = operation.start(space, data).wait_for(60_s);
      const std::string what = name + " whose piece " + std::to_string(failing) + " failed";
      check.require(ended.has_value(), what + " ends", "it does not");
      check.status(*ended, status, what);
      bench.script = {};
    }
  }
}

CONFORMANCE_CASE(host_repeats_the_piece_that_failed, "nvme.host.operations.retry", roles::host, limits_of_one_piece) {
  host::Namespace& space = first_space(bench, check);
  Bytes& data = bench.keep(host_pattern(kPieceBlocks * kPieces * 512));
  check.precondition_success(space.write(32, data).wait(), "write");
  for (const nvme::Status status : {sc::transient_transport_error, sc::command_interrupted, sc::namespace_not_ready, sc::internal_error}) {
    for (const Operation& operation : kOperations) {
      if (operation.opcode == 0x04 || operation.opcode == 0x08) continue;  // the data has to stay
      check.precondition_success(operation.start(space, data).wait(), operation.name);
      std::multiset<std::uint64_t> sent;
      std::size_t seen = 0;
      std::uint64_t again = 0;
      bench.script.admission = [&](const CommandContext& command) -> std::optional<nvme::Status> {
        if (!is_io(command, operation.opcode)) return std::nullopt;
        sent.insert(lba_of(command.sqe));
        if (seen++ != 2) return std::nullopt;
        again = lba_of(command.sqe);
        return status;
      };
      Bytes& back = operation.opcode == 0x02 ? bench.keep(Bytes(data.size())) : data;
      const std::string what = std::string(operation.name) + " with one " + nvme::to_string(status);
      const auto ended = operation.start(space, back).wait_for(120_s);
      check.require(ended.has_value(), what + " ends", "it does not");
      if (!ended->ok()) {  // hosts may give up at once
        check.status(*ended, status, what);
        continue;
      }
      check.bytes("data of " + what, back, data);
      for (const std::uint64_t lba : sent) {
        check.equal("commands at LBA " + std::to_string(lba) + " of " + what, sent.count(lba), std::size_t{lba == again ? 2u : 1u});
      }
    }
  }
  bench.script = {};
}

CONFORMANCE_CASE(host_reports_a_failure_that_lasts, "nvme.host.operations.lasting", roles::host, limits_of_one_piece) {
  host::Namespace& space = first_space(bench, check);
  Bytes& data = bench.keep(Bytes(kPieceBlocks * 512));
  constexpr unsigned kMost = 200;
  for (const nvme::Status status : {sc::internal_error, sc::command_interrupted, sc::namespace_not_ready, sc::data_transfer_error}) {
    unsigned attempts = 0;
    bench.script.admission = [&](const CommandContext& command) -> std::optional<nvme::Status> {
      if (!is_io(command, opcode::kWrite)) return std::nullopt;
      ++attempts;
      return status;
    };
    Op<nvme::Status> write = space.write(32, data);
    bench.run_until([&] { return write.settled() || attempts > kMost; }, 300_s);
    bench.script = {};
    const auto ended = write.wait_for(120_s);
    check.that(attempts <= kMost, "a write that meets " + nvme::to_string(status) + " each time is given up", "it goes on");
    check.require(ended.has_value(), "the write ends", "it does not");
    if (attempts <= kMost) check.status(*ended, status, "what is reported of a write that failed each time");
  }
}

}  // namespace fb::conformance
