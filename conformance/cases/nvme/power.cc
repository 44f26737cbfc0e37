// What survives a loss of power and what resets leave alone: flushes, FUA, the volatile write cache and its feature.
#include "conformance/cases/nvme/reset.h"
#include "conformance/cases/nvme/scene.h"
#include "conformance/runner/arranger.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/features.h"

namespace fb::conformance {

namespace {

using fabrics::ShutdownNotification;
using nvme::FeatureId;

/// So many Writes that a product that forgets some of them is not lucky with all.
constexpr unsigned kWrites = 32;
constexpr std::uint64_t kLba = 512;
constexpr std::uint32_t kAtomic = 8;
constexpr std::uint32_t kAtomicMost = kAtomic;
constexpr std::uint8_t kOld = 0x11, kNew = 0x83;

void with_cache(EmbeddedSetup& setup) { setup.subsystem.volatile_write_cache = setup.subsystem.power_loss_forgets = true; }

/// The emulated product has a cache that forgets; real ones are taken as they are.
struct cached {
  void apply(CaseOptions& options) const { options.arrange = &with_cache; }
};

const arranges with_power_losses{{Request::power_cycle}, &with_cache};
const arranged with_another_namespace{"a loss of power, and a namespace of its own", &with_cache};
const arranges with_fua_commands{{Request::power_cycle}, [](EmbeddedSetup& setup) {
                                   with_cache(setup);
                                   setup.subsystem.write_zeroes = setup.subsystem.compare = true;
                                   setup.subsystem.verify = true;
                                 }};
const arranged without_cache{"a loss of power", [](EmbeddedSetup& setup) {
                               with_cache(setup);
                               setup.subsystem.volatile_write_cache = false;
                             }};
const arranged with_subsystem_reset{"a cache that forgets", [](EmbeddedSetup& setup) {
                                      with_cache(setup);
                                      setup.subsystem.subsystem_reset = true;
                                    }};
const arranges with_atomic_writes{{Request::power_cycle}, [](EmbeddedSetup& setup) {
                                    with_cache(setup);
                                    setup.subsystem.atomic_power_fail_blocks = kAtomic;
                                  }};

std::optional<std::string> has_cache(const Declared& declared) {
  const auto bit = nvme::vwc_bits::present;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::vwc) & bit) != 0) return {};
  return "VWC bit 0 is clear: no volatile write cache";
}

std::optional<std::string> has_fua_commands(const Declared& declared) {
  constexpr unsigned kNeeded = nvme::oncs_bits::write_zeroes | nvme::oncs_bits::compare | nvme::oncs_bits::verify;
  if (auto why = has_namespace(declared)) return why;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oncs) & kNeeded) == kNeeded) return {};
  return "ONCS lacks Write Zeroes, Compare or Verify";
}

std::optional<std::string> has_atomic_writes(const Declared& declared) {
  if (auto why = has_namespace(declared)) return why;
  if (!declared.known || declared.identify().get(nvme::id_ctrl::awupf).count() > 1) return {};
  return "AWUPF is 0";
}

/// kWrites runs of blocks, each written by itself.
class PowerScene {
 public:
  PowerScene(ControllerBench& bench, Check& check, std::uint32_t blocks = 4) : bench_(bench), check_(check), blocks_(blocks) {
    host_.emplace(bench);
    const std::uint64_t most = bench.declared().transfer_max();
    if (most != 0) blocks_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks_, most / host_->block_bytes));
    if (host_->blocks < kLba + kWrites * kAtomicMost) throw CannotArrange{"the namespace is too small"};
  }

  IoScene& host() { return *host_; }
  RawAssociation& association() { return host_->association; }
  std::uint32_t blocks() const { return blocks_; }
  std::uint64_t lba(unsigned i) const { return kLba + std::uint64_t{i} * kAtomicMost; }
  Bytes data(unsigned i, std::uint8_t mark) const { return pattern(static_cast<std::uint8_t>(mark + i), blocks_, host_->block_bytes); }
  std::size_t bytes() const { return std::size_t{blocks_} * host_->block_bytes; }

  void write(std::uint8_t mark, bool fua = false) {
    for (unsigned i = 0; i < kWrites; ++i) {
      auto command = host::write(host_->nsid, lba(i), blocks_);
      command.set(nvme::rw_sqe::fua, fua);
      check_.precondition_success(host_->io.send(command, data(i, mark)).wait(), "Write");
    }
  }
  void flush() { check_.precondition_success(host_->io.send(host::flush(host_->nsid)).wait(), "Flush"); }
  /// Old data that no loss of power can take away.
  void settle() {
    write(kOld);
    flush();
  }
  /// A command for each run that is to put its data on the medium.
  void commit(unsigned i, Record<nvme::ReadWriteSqe> command, std::string_view what) {
    command.set(nvme::rw_sqe::fua, true);
    const bool compares = command.get(nvme::sqe::opcode) == static_cast<std::uint8_t>(nvme::IoOpcode::compare);
    const bool reads = command.get(nvme::sqe::opcode) == static_cast<std::uint8_t>(nvme::IoOpcode::read);
    auto sent = compares ? host_->io.send(command, data(i, kNew)) : reads ? host_->io.send(command, bytes()) : host_->io.send(command);
    check_.precondition_success(sent.wait(), what);
  }

  void lose_power() {
    bench_.arranger().power_cycle();
    rejoin();
  }
  /// The association has gone.
  void rejoin() { host_.emplace(bench_); }
  /// A reset has taken the I/O queue, the association is there.
  void reset() { again_ = &reset_controller(bench_, host_->association, host_->io); }

  host::RawReply read(unsigned i) {
    host::RawQueue& queue = again_ != nullptr ? *again_ : host_->io;
    return queue.send(host::read(host_->nsid, lba(i), blocks_), bytes()).wait();
  }
  /// Every run holds what was written last.
  void nothing_is_lost() {
    for (unsigned i = 0; i < kWrites; ++i) {
      const auto reply = read(i);
      if (!check_.success(reply, "Read")) return;
      check_.bytes("what was written, run " + std::to_string(i), reply.data, data(i, kNew));
    }
  }
  void shut_down(ShutdownNotification how) {
    RawAssociation& association = host_->association;
    auto cc = record_from_integer<fabrics::Cc>(association.property(fabrics::property::cc));
    cc.set(fabrics::cc::shn, how);
    check_.precondition_success(association.set_property(fabrics::property::cc, integer_of(cc)), "Property Set of CC.SHN");
    constexpr std::uint32_t kShst = 0xC, kComplete = 0x8;
    check_.precondition(association.wait_csts(kShst, kComplete, 10_s), "the shutdown completes");
  }

 private:
  ControllerBench& bench_;
  Check& check_;
  std::uint32_t blocks_;
  std::optional<IoScene> host_;
  host::RawQueue* again_ = nullptr;
};

host::RawReply set_cache(RawAssociation& association, std::uint32_t value) {
  return association.admin().send(host::set_features(FeatureId::volatile_write_cache, value)).wait();
}
host::RawReply get_cache(RawAssociation& association) {
  return association.admin().send(host::get_features(FeatureId::volatile_write_cache)).wait();
}

}  // namespace

CONFORMANCE_CASE(flushed_data_survives_a_loss_of_power, "nvme.power.flush", roles::controller, with_power_losses, needs(has_namespace),
                 reaches{"subsystem.power_cycle"}) {
  PowerScene scene(bench, check);
  scene.settle();
  scene.write(kNew);
  scene.flush();
  scene.lose_power();
  scene.nothing_is_lost();
}

CONFORMANCE_CASE(flush_of_all_namespaces_reaches_each, "nvme.power.flush-all", roles::controller, with_another_namespace,
                 reaches{"subsystem.power_cycle"}) {
  const auto added = bench.subsystem().add_namespace({.blocks = 4096});
  BENCH_ASSERT(added.ok(), "the arranged product has room for a namespace");
  const std::uint32_t other = (*added)->nsid();
  const std::size_t block_bytes = (*added)->block_bytes();
  const auto there = [&](unsigned i) { return pattern(static_cast<std::uint8_t>(kNew - i), 1, block_bytes); };
  PowerScene scene(bench, check);
  scene.settle();
  scene.write(kNew);
  for (unsigned i = 0; i < kWrites; ++i) {
    check.precondition_success(scene.host().io.send(host::write(other, i, 1), there(i)).wait(), "Write");
  }
  if (!check.success(scene.host().io.send(host::flush(nvme::kAllNamespaces)).wait(), "Flush of all")) return;
  scene.lose_power();
  scene.nothing_is_lost();
  for (unsigned i = 0; i < kWrites; ++i) {
    const auto reply = scene.host().io.send(host::read(other, i, 1), block_bytes).wait();
    if (!check.success(reply, "Read")) return;
    check.bytes("what was written to the other namespace", reply.data, there(i));
  }
}

CONFORMANCE_CASE(fua_writes_survive_a_loss_of_power, "nvme.power.fua", roles::controller, with_power_losses, needs(has_namespace),
                 reaches{"subsystem.power_cycle"}) {
  PowerScene scene(bench, check);
  scene.settle();
  scene.write(kNew, true);
  scene.lose_power();
  scene.nothing_is_lost();
}

CONFORMANCE_CASE(fua_zeroes_survive_a_loss_of_power, "nvme.power.fua-zeroes", roles::controller, with_fua_commands, needs(has_fua_commands),
                 reaches{"subsystem.power_cycle"}) {
  PowerScene scene(bench, check);
  scene.settle();
  for (unsigned i = 0; i < kWrites; ++i) {
    scene.commit(i, host::write_zeroes(scene.host().nsid, scene.lba(i), scene.blocks()), "Write Zeroes");
  }
  scene.lose_power();
  for (unsigned i = 0; i < kWrites; ++i) {
    const auto reply = scene.read(i);
    if (!check.success(reply, "Read")) return;
    check.bytes("zeroes, run " + std::to_string(i), reply.data, Bytes(scene.bytes()));
  }
}

CONFORMANCE_CASE(fua_reads_commit_what_they_read, "nvme.power.fua-read", roles::controller, with_fua_commands, needs(has_fua_commands),
                 reaches{"subsystem.power_cycle"}) {
  PowerScene scene(bench, check);
  scene.settle();
  scene.write(kNew);
  const std::uint32_t nsid = scene.host().nsid;
  for (unsigned i = 0; i < kWrites; ++i) {
    if (i % 3 == 0) scene.commit(i, host::read(nsid, scene.lba(i), scene.blocks()), "Read with FUA");
    if (i % 3 == 1) scene.commit(i, host::compare(nsid, scene.lba(i), scene.blocks()), "Compare with FUA");
    if (i % 3 == 2) scene.commit(i, host::verify(nsid, scene.lba(i), scene.blocks()), "Verify with FUA");
  }
  scene.lose_power();
  scene.nothing_is_lost();
}

CONFORMANCE_CASE(nothing_is_cached_while_the_cache_is_off, "nvme.power.cache-off", roles::controller, with_power_losses,
                 needs(has_namespace), reaches{"subsystem.power_cycle"}) {
  PowerScene scene(bench, check);
  scene.settle();
  check.precondition_success(set_cache(scene.association(), 0), "Set Features");
  scene.write(kNew);
  scene.lose_power();
  scene.nothing_is_lost();
  // What is in the cache when it is turned off is written to the medium.
  check.precondition_success(set_cache(scene.association(), 1), "Set Features");
  scene.settle();
  scene.write(kNew);
  check.precondition_success(set_cache(scene.association(), 0), "Set Features");
  scene.lose_power();
  scene.nothing_is_lost();
}

CONFORMANCE_CASE(nothing_is_lost_without_a_cache, "nvme.power.cache-absent", roles::controller, without_cache,
                 reaches{"subsystem.power_cycle"}) {
  PowerScene scene(bench, check);
  scene.settle();
  scene.write(kNew);
  scene.lose_power();
  scene.nothing_is_lost();
}

CONFORMANCE_CASE(shutdown_keeps_what_was_written, "nvme.power.shutdown", roles::controller, with_power_losses, needs(has_namespace),
                 reaches{"subsystem.power_cycle"}) {
  PowerScene scene(bench, check);
  scene.settle();
  scene.write(kNew);
  scene.shut_down(ShutdownNotification::normal);
  scene.lose_power();
  scene.nothing_is_lost();
}

CONFORMANCE_CASE(abrupt_shutdown_keeps_what_was_written, "nvme.power.shutdown-abrupt", roles::controller, with_power_losses,
                 needs(has_namespace), reaches{"subsystem.power_cycle"}) {
  PowerScene scene(bench, check);
  scene.settle();
  scene.write(kNew);
  scene.shut_down(ShutdownNotification::abrupt);
  scene.lose_power();
  scene.nothing_is_lost();
}

CONFORMANCE_CASE(forced_writes_do_not_bring_old_data_back, "nvme.write.last-wins", roles::controller, cached{}, needs(has_namespace)) {
  // Writes that overlap, each the one before; then one is forced out, from either end.
  constexpr std::uint32_t kBlocks = 24, kEach = 4;
  IoScene scene(bench);
  const auto write = [&](std::uint32_t at, std::uint32_t count, std::uint8_t mark, bool fua, Bytes& model) {
    const Bytes data = pattern(mark, count, scene.block_bytes);
    auto command = host::write(scene.nsid, scene.at(kLba + at), count);
    command.set(nvme::rw_sqe::fua, fua);
    check.precondition_success(scene.io.send(command, data).wait(), "Write");
    std::copy(data.begin(), data.end(), model.begin() + static_cast<std::ptrdiff_t>(std::size_t{at} * scene.block_bytes));
  };
  std::uint8_t mark = 0;
  for (const bool upwards : {true, false}) {
    Bytes model(std::size_t{kBlocks} * scene.block_bytes);
    for (std::uint32_t at = 0; at < kBlocks; at += kEach) write(at, kEach, ++mark, false, model);
    for (std::uint32_t i = 0; i + kEach <= kBlocks; i += kEach / 2) {
      const std::uint32_t at = upwards ? i : kBlocks - kEach - i;
      write(at, kEach, ++mark, false, model);
    }
    for (const bool forced : {false, false, true}) write(upwards ? kBlocks - 1 : 0, 1, ++mark, forced, model);
    for (std::uint32_t at = 0; at < kBlocks; at += kEach) {
      const auto reply = scene.read(kLba + at, kEach);
      if (!check.success(reply, "Read")) return;
      check.bytes("the latest data, from block " + std::to_string(at) + " on", reply.data,
                  ByteView{model}.subspan(std::size_t{at} * scene.block_bytes, reply.data.size()));
    }
  }
}

CONFORMANCE_CASE(controller_reset_keeps_what_was_written, "nvme.power.reset", roles::controller, cached{}, needs(has_namespace)) {
  PowerScene scene(bench, check);
  scene.settle();
  scene.write(kNew);
  scene.reset();
  scene.nothing_is_lost();
}

CONFORMANCE_CASE(subsystem_reset_keeps_what_was_written, "nvme.power.subsystem-reset", roles::controller, with_subsystem_reset,
                 reaches{"subsystem.reset"}) {
  PowerScene scene(bench, check);
  scene.settle();
  scene.write(kNew);
  (void)scene.association().set_property(fabrics::property::nssr, fabrics::kNssrValue);
  bench.world().run_for(100_ms);
  bool reset = scene.association().admin().has_ended();
  if (!reset) {
    const host::RawReply csts = scene.association().admin().send(host::property_get(fabrics::property::csts)).wait();
    reset = !csts.answered() || (csts.ok() && (csts.value() & 1) == 0);
  }
  check.precondition(reset, "the subsystem is reset");
  scene.rejoin();
  scene.nothing_is_lost();
}

CONFORMANCE_CASE(power_loss_does_not_tear_small_writes, "nvme.power.atomic", roles::controller, with_atomic_writes,
                 needs(has_atomic_writes), reaches{"subsystem.power_cycle"}) {
  const auto unit = bench.declared().identify().get(nvme::id_ctrl::awupf).count();
  check.precondition(unit > 1, "AWUPF is above 0");
  PowerScene scene(bench, check, static_cast<std::uint32_t>(std::min<std::uint64_t>(unit, kAtomicMost)));
  scene.settle();
  scene.write(kNew);
  scene.lose_power();
  for (unsigned i = 0; i < kWrites; ++i) {
    const auto reply = scene.read(i);
    if (!check.success(reply, "Read")) return;
    const bool whole = reply.data == scene.data(i, kNew) || reply.data == scene.data(i, kOld);
    check.that(whole, "run " + std::to_string(i) + " is all new or all old", "it is of both");
  }
}

CONFORMANCE_CASE(write_cache_feature_is_kept, "nvme.power.cache-feature", roles::controller, needs(has_cache)) {
  RawAssociation& association = bench.associate();
  const auto before = get_cache(association);
  check.precondition_success(before, "Get Features");
  const std::uint32_t found = before.dw0() & 1;
  for (const std::uint32_t value : {1 - found, found}) {
    check.precondition_success(set_cache(association, value), "Set Features");
    const auto now = get_cache(association);
    if (check.success(now, "Get Features")) check.equal("WCE", now.dw0() & 1, value);
  }
}

CONFORMANCE_CASE(write_cache_feature_needs_a_cache, "nvme.power.cache-feature-absent", roles::controller, without_cache,
                 reaches{"feature.fid"}) {
  RawAssociation& association = bench.associate();
  check.status(get_cache(association), sc::invalid_field, "Get Features");
  check.status(set_cache(association, 0), sc::invalid_field, "Set Features");
}

}  // namespace fb::conformance
