// What a host may find after a loss of power, whatever it was doing: a scripted load is cut after every command. The
// book that says what is legal is kept from the commands and their answers alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "tests/model/subsystem/media_session.h"

namespace fb::subsystem::test {
namespace {

using nvme::IoOpcode;

constexpr std::uint32_t kBlocks = 48;  ///< few, so that writes lie over each other
constexpr std::uint32_t kBlockBytes = 512;

enum class Kind : std::uint8_t { write, zeroes, deallocate, uncorrectable, flush, flush_all, read_fua, cache_off, cache_on, reset };

struct Step {
  Kind kind = Kind::flush;
  std::uint64_t slba = 0;
  std::uint32_t count = 0;
  bool fua = false;
};

std::vector<Step> script(std::uint64_t seed, unsigned steps) {
  Rng rng(seed, "script");
  constexpr Kind kOften[] = {Kind::write,    Kind::write,     Kind::write, Kind::write, Kind::write,         Kind::zeroes, Kind::deallocate,
                             Kind::flush,    Kind::read_fua,  Kind::write, Kind::write, Kind::uncorrectable, Kind::write,  Kind::cache_off,
                             Kind::cache_on, Kind::flush_all, Kind::write, Kind::write, Kind::reset};
  std::vector<Step> made;
  for (unsigned i = 0; i < steps; ++i) {
    Step step;
    step.kind = kOften[rng.below(std::size(kOften))];
    step.count = static_cast<std::uint32_t>(rng.between(1, 12));
    step.slba = rng.below(kBlocks - step.count + 1);
    step.fua = rng.chance(1, 5);
    made.push_back(step);
  }
  return made;
}

/// Values of a block: the number of the step that wrote it; those below do not come from a write.
constexpr int kZero = -1, kUnreadable = -2;

/// What may be read of each block, by what was said and answered.
class Book {
 public:
  explicit Book(std::uint32_t atomic_blocks) : atomic_blocks_(atomic_blocks), history_(kBlocks, {kZero}) {}

  /// The last value of each block, the older ones that a loss of power may bring back before it.
  void changed(const Step& step, int value, bool lasting) {
    if (value >= 0) writes_[value] = step;
    for (std::uint64_t b = step.slba; b < step.slba + step.count; ++b) {
      history_[b].push_back(value);
      if (lasting) settle(b);
    }
  }
  /// What was asked for and never answered may have been done.
  void asked(const Step& step, int value) { changed(step, value, false); }
  void committed(const Step& step) {
    for (std::uint64_t b = step.slba; b < step.slba + step.count; ++b) settle(b);
  }
  void flushed() {
    for (std::uint64_t b = 0; b < kBlocks; ++b) settle(b);
  }

  /// `found` is what was read of each block. `forgetful`: power was lost since.
  void judge(const std::vector<int>& found, bool forgetful, const std::string& where) const {
    for (std::uint64_t b = 0; b < kBlocks; ++b) {
      const std::vector<int>& legal = history_[b];
      const bool ok = forgetful ? std::find(legal.begin(), legal.end(), found[b]) != legal.end() : legal.back() == found[b];
      ASSERT_TRUE(ok) << where << ": block " << b << " holds " << found[b] << ", the last was " << legal.back();
    }
    for (const auto& [value, step] : writes_) {
      if (step.count > atomic_blocks_) continue;
      bool seen = false;
      for (std::uint64_t b = step.slba; b < step.slba + step.count; ++b) seen = seen || found[b] == value;
      for (std::uint64_t b = step.slba; b < step.slba + step.count && seen; ++b) {
        ASSERT_FALSE(older(b, found[b], value)) << where << ": write " << value << " is torn at block " << b;
      }
    }
  }

 private:
  /// In the history of the block, `a` stands before `b` and nowhere behind it.
  bool older(std::uint64_t block, int a, int b) const {
    const std::vector<int>& all = history_[block];
    const auto at_b = std::find(all.begin(), all.end(), b);
    return at_b != all.end() && std::find(at_b, all.end(), a) == all.end();
  }
  void settle(std::uint64_t b) { history_[b] = {history_[b].back()}; }

  std::uint32_t atomic_blocks_;
  std::vector<std::vector<int>> history_;
  std::map<int, Step> writes_;
};

class Load {
 public:
  /// `luck` chooses what a loss of power takes.
  Load(std::uint32_t atomic_blocks, bool cached, std::uint64_t luck)
      : book(atomic_blocks), cached_(cached), rig_(options(atomic_blocks, cached)), session_(rig_.start()), io_(rig_.start_io(session_)) {
    // Each loss draws from a stream of its own; with an empty cache nothing is lost.
    for (std::uint64_t i = 0; i < luck; ++i) rig_.disk->lose_caches();
  }

  /// Step `number` of the script; `answered` false: its data never comes.
  void run(const Step& step, int number, bool answered) {
    const bool lasting = !cached_ || step.fua;
    const IoOpcode opcode = step.kind == Kind::zeroes ? IoOpcode::write_zeroes : IoOpcode::write;
    nvme::Sqe made = rw(opcode, step.slba, step.count);
    if (step.fua) made.set(nvme::sqe::cdw12, (step.count - 1) | 1u << 30);
    const auto send = [&](Bytes data) { ASSERT_TRUE(io_.send(made.bytes(), std::move(data)).status().ok()); };
    switch (step.kind) {
      case Kind::write:
        if (!answered) {
          io_.wire().hold_pulls = true;
          io_.post(made.bytes(), value(number, step));
          return book.asked(step, number);
        }
        send(value(number, step));
        return book.changed(step, number, lasting);
      case Kind::zeroes:
        send({});
        return book.changed(step, kZero, lasting);
      case Kind::deallocate: {
        made = command(IoOpcode::dataset_management, 1);
        made.set(nvme::sqe::cdw10, 0u).set(nvme::sqe::cdw11, 4u);
        Bytes range(16);
        store_le(range.data() + 4, step.count);
        store_le(range.data() + 8, step.slba);
        send(std::move(range));
        return book.changed(step, kZero, !cached_);
      }
      case Kind::uncorrectable:
        made = rw(IoOpcode::write_uncorrectable, step.slba, step.count);
        send({});
        return book.changed(step, kUnreadable, true);
      case Kind::flush:
      case Kind::flush_all:
        made = command(IoOpcode::flush, step.kind == Kind::flush ? 1 : nvme::kAllNamespaces);
        send({});
        return book.flushed();
      case Kind::read_fua: {
        nvme::Sqe read = rw(IoOpcode::read, step.slba, step.count);
        read.set(nvme::sqe::cdw12, (step.count - 1) | 1u << 30);
        if (io_.fetch(read.bytes(), step.count * kBlockBytes).status().ok()) book.committed(step);
        return;
      }
      case Kind::cache_off:
      case Kind::cache_on:
        if (!subsystem_has_cache()) return;
        ASSERT_TRUE(session_.admin.send(set_feature(6, step.kind == Kind::cache_on ? 1 : 0).bytes()).status().ok());
        cached_ = step.kind == Kind::cache_on;
        if (!cached_) book.flushed();
        return;
      case Kind::reset:
        session_.admin.send(property_set(0x14, 0x00460000));
        rig_.world->run_for(Duration::ms(2));
        rig_.enable(session_.admin);
        io_ = rig_.start_io(session_);
        cached_ = subsystem_has_cache();
        return;
    }
  }

  void lose_power() {
    rig_.disk->power_cycle();
    rig_.world->run_for(Duration::ms(1));
    session_ = rig_.start();
    io_ = rig_.start_io(session_);
  }

  std::vector<int> find() {
    std::vector<int> found;
    for (std::uint64_t b = 0; b < kBlocks; ++b) {
      const Reply reply = io_.fetch(rw(IoOpcode::read, b, 1).bytes(), kBlockBytes);
      found.push_back(reply.status().ok() ? of_block(reply.data, b) : kUnreadable);
    }
    return found;
  }

  Book book;

 private:
  static SubsystemOptions options(std::uint32_t atomic_blocks, bool cached) {
    SubsystemOptions made;
    made.power_loss_forgets = true;
    made.volatile_write_cache = cached;
    made.atomic_power_fail_blocks = atomic_blocks;
    return made;
  }
  bool subsystem_has_cache() const { return rig_.disk->options().volatile_write_cache; }
  /// Every word of a block says which write it is of, and where it lies.
  static Bytes value(int number, const Step& step) {
    Bytes data(std::size_t{step.count} * kBlockBytes);
    for (std::size_t at = 0; at < data.size(); at += 4) {
      const std::uint64_t lba = step.slba + at / kBlockBytes;
      store_le(data.data() + at, static_cast<std::uint32_t>(static_cast<std::uint32_t>(number + 1) << 8 | lba));
    }
    return data;
  }
  static int of_block(ByteView data, std::uint64_t lba) {
    const auto first = load_le<std::uint32_t>(data.data());
    for (std::size_t at = 0; at < data.size(); at += 4) {
      if (load_le<std::uint32_t>(data.data() + at) != first) return -100;  // of two writes
    }
    if (first == 0) return kZero;
    return (first & 0xFF) == lba ? static_cast<int>(first >> 8) - 1 : -101;
  }

  bool cached_;
  Rig rig_;
  Rig::Session session_;
  Line io_;
};

/// Cut after the first `steps` of the script; the last one may be on its way.
void cut(std::uint64_t seed, const std::vector<Step>& steps, std::size_t count, std::uint32_t atomic_blocks, bool cached) {
  const std::string where = "seed " + std::to_string(seed) + ", after " + std::to_string(count) + " commands";
  Load load(atomic_blocks, cached, seed + count);
  for (std::size_t i = 0; i < count; ++i) {
    const bool last = i + 1 == count;
    load.run(steps[i], static_cast<int>(i), !last || (seed + i) % 3 != 0);
    if (::testing::Test::HasFatalFailure()) return;
  }
  load.lose_power();
  load.book.judge(load.find(), true, where);
}

constexpr unsigned kSteps = 40;

TEST(PowerLoss, WhatIsPromisedIsReadWhereverTheLoadIsCut) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const std::vector<Step> steps = script(seed, kSteps);
    constexpr std::uint32_t kUnits[] = {1, 4, 12};
    for (std::size_t count = 1; count <= steps.size(); ++count) {
      cut(seed, steps, count, kUnits[seed % 3], true);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(PowerLoss, NothingIsLostWithoutACache) {
  for (std::uint64_t seed = 21; seed <= 22; ++seed) {
    const std::vector<Step> steps = script(seed, kSteps);
    for (std::size_t count = 1; count <= steps.size(); ++count) {
      cut(seed, steps, count, 1, false);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(PowerLoss, WithoutOneTheNewestIsRead) {
  for (std::uint64_t seed = 31; seed <= 34; ++seed) {
    Load load(4, true, 0);
    int number = 0;
    for (const Step& step : script(seed, 120)) {
      load.run(step, number++, true);
      load.book.judge(load.find(), false, "seed " + std::to_string(seed) + ", step " + std::to_string(number));
      if (HasFatalFailure()) return;
    }
  }
}

/// What is checked above can happen at all: old data comes back, and large writes are torn.
TEST(PowerLoss, ForgetsAndTearsWhereItMay) {
  bool forgotten = false, kept = false, torn = false;
  for (std::uint64_t luck = 0; luck < 24; ++luck) {
    Load load(4, true, luck);
    load.run({Kind::write, 0, 12, false}, 0, true);
    load.run({Kind::flush, 0, 1, false}, 1, true);
    load.run({Kind::write, 0, 12, false}, 2, true);
    load.lose_power();
    const std::vector<int> found = load.find();
    const auto count = std::count(found.begin(), found.begin() + 12, 0);
    forgotten = forgotten || count == 12;
    kept = kept || count == 0;
    torn = torn || (count != 0 && count != 12);
  }
  EXPECT_TRUE(forgotten);
  EXPECT_TRUE(kept);
  EXPECT_TRUE(torn);
}

TEST(PowerLoss, AFormatThatWasAnsweredIsDone) {
  SubsystemOptions options;
  options.power_loss_forgets = true;
  Rig rig(std::move(options));
  auto session = rig.start();
  Line io = rig.start_io(session);
  for (std::uint64_t i = 0; i < 16; ++i) io.send(rw(IoOpcode::write, i, 1).bytes(), Bytes(kBlockBytes, 0x77));
  io.send(command(IoOpcode::flush, 1).bytes());
  ASSERT_TRUE(session.admin.send(format(1, 0).bytes()).status().ok());
  rig.disk->power_cycle();
  rig.world->run_for(Duration::ms(1));
  session = rig.start();
  io = rig.start_io(session);
  for (std::uint64_t i = 0; i < 16; ++i) {
    EXPECT_EQ(io.fetch(rw(IoOpcode::read, i, 1).bytes(), kBlockBytes).data, Bytes(kBlockBytes)) << i;
  }
}

}  // namespace
}  // namespace fb::subsystem::test
