#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "model/subsystem/block_store.h"
#include "model/subsystem/namespace.h"
#include "model/subsystem/write_cache.h"

namespace fb::subsystem {
namespace {

struct TemporaryFile {
  TemporaryFile() {
    char name[] = "/tmp/fabricbench-store-XXXXXX";
    const int fd = ::mkstemp(name);
    if (fd >= 0) ::close(fd);
    path = name;
  }
  ~TemporaryFile() { std::filesystem::remove(path); }
  std::string path;
};

/// Random writes, zeroings and reads against a plain array.
void model_check(BlockStore& store, std::uint64_t seed) {
  Rng rng(seed);
  Bytes expected(store.bytes());
  for (int step = 0; step < 400; ++step) {
    const std::uint64_t offset = rng.below(expected.size());
    const std::size_t length = static_cast<std::size_t>(rng.below(std::min<std::uint64_t>(20000, expected.size() - offset)) + 1);
    const auto at = expected.begin() + static_cast<std::ptrdiff_t>(offset);
    const auto end = at + static_cast<std::ptrdiff_t>(length);
    if (rng.chance(1, 2)) {
      Bytes data(length);
      rng.fill(data);
      ASSERT_TRUE(store.write(offset, data));
      std::copy(data.begin(), data.end(), at);
    } else if (rng.chance(1, 2)) {
      ASSERT_TRUE(store.zero(offset, length));
      std::fill(at, end, std::uint8_t{0});
    } else {
      Bytes data(length, 0xEE);
      ASSERT_TRUE(store.read(offset, data));
      ASSERT_TRUE(std::equal(at, end, data.begin()));
    }
  }
  Bytes all(expected.size());
  ASSERT_TRUE(store.read(0, all));
  EXPECT_EQ(all, expected);
}

TEST(MemoryStore, BehavesLikeAnArray) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    model_check(*make_memory_store(3 * 1024 * 1024 + 512), seed);
  }
}

TEST(MemoryStore, ATebibyteCostsWhatIsWritten) {
  constexpr std::uint64_t kTebibyte = std::uint64_t{1} << 40;
  const auto store = make_memory_store(kTebibyte);
  EXPECT_EQ(store->bytes_held(), 0u);
  const Bytes data(4096, 7);
  for (std::uint64_t i = 0; i < 16; ++i) {
    ASSERT_TRUE(store->write(i * (kTebibyte / 16), data));
  }
  EXPECT_EQ(store->bytes_held(), 16u * 4096);
  ASSERT_TRUE(store->zero(0, kTebibyte));
  EXPECT_EQ(store->bytes_held(), 0u);
}

TEST(FileStore, BehavesLikeAnArrayAndStaysInTheFile) {
  TemporaryFile file;
  auto store = open_file_store(file.path, 1024 * 1024);
  ASSERT_TRUE(store);
  model_check(**store, 5);
  Bytes before(1024 * 1024);
  ASSERT_TRUE((*store)->read(0, before));
  ASSERT_TRUE((*store)->flush());
  store = open_file_store(file.path, 1024 * 1024);
  Bytes after(1024 * 1024);
  ASSERT_TRUE((*store)->read(0, after));
  EXPECT_EQ(before, after);
}

TEST(FileStore, WhatWasFlushedSurvivesAKilledProcess) {
  TemporaryFile file;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto store = open_file_store(file.path, 1024 * 1024);
    const Bytes data(8192, 0x5C);
    if (store && (*store)->write(4096, data) && (*store)->flush()) {
      [[maybe_unused]] const auto told = ::write(ready[1], "x", 1);
    }
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  auto store = open_file_store(file.path, 1024 * 1024);
  ASSERT_TRUE(store);
  Bytes found(8192);
  ASSERT_TRUE((*store)->read(4096, found));
  EXPECT_EQ(found, Bytes(8192, 0x5C));
}

// ---- a writer that is killed ----

constexpr std::uint32_t kSlots = 64, kSlotBytes = 4096;

struct WriterStep {
  std::uint64_t slot = 0;
  std::uint64_t count = 1;
  bool zeroes = false;
  bool flushes = false;  ///< after it
};

std::vector<WriterStep> writer_script(std::uint64_t seed) {
  Rng rng(seed, "writer");
  std::vector<WriterStep> made(600);
  for (WriterStep& step : made) {
    step.count = rng.between(1, 16);
    step.slot = rng.below(kSlots - step.count + 1);
    step.zeroes = rng.chance(1, 8);
    step.flushes = rng.chance(1, 5);
  }
  return made;
}

Bytes slot_content(std::uint32_t number) {
  Bytes data(kSlotBytes);
  for (std::size_t at = 0; at < data.size(); at += 4) store_le(data.data() + at, number);
  return data;
}

/// Goes through its script and tells the number of steps that are flushed.
[[noreturn]] void write_until_killed(BlockStore& store, std::uint64_t seed, int tell) {
  std::uint32_t number = 0;
  for (const WriterStep& step : writer_script(seed)) {
    ++number;
    Bytes data;
    for (std::uint64_t i = 0; i < step.count; ++i) {
      const Bytes one = slot_content(number);
      data.insert(data.end(), one.begin(), one.end());
    }
    const std::uint64_t at = step.slot * kSlotBytes;
    const bool done = step.zeroes ? store.zero(at, data.size()).ok() : store.write(at, data).ok();
    if (!done || (step.flushes && !store.flush())) ::_exit(3);
    if (step.flushes && ::write(tell, &number, sizeof number) != sizeof number) ::_exit(3);
  }
  for (;;) ::pause();
}

/// Kills a writer when it has told of `flushes` flushes, at once or a little later, and looks at what it left.
void kill_writer(std::uint64_t seed, std::uint64_t flushes, unsigned later_us, bool cached) {
  TemporaryFile file;
  constexpr std::uint64_t kBytes = std::uint64_t{kSlots} * kSlotBytes;
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto store = open_file_store(file.path, kBytes);
    if (!store) ::_exit(3);
    std::unique_ptr<BlockStore> used = std::move(store).value();
    if (cached) used = make_write_cache(std::move(used));
    write_until_killed(*used, seed, pipe_ends[1]);
  }
  ::close(pipe_ends[1]);
  std::uint32_t safe = 0;
  for (std::uint64_t i = 0; i < flushes; ++i) {
    ASSERT_EQ(::read(pipe_ends[0], &safe, sizeof safe), static_cast<ssize_t>(sizeof safe));
  }
  if (later_us > 0) ::usleep(later_us);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the writer was still at work";
  std::uint32_t more = 0;
  while (::read(pipe_ends[0], &more, sizeof more) == static_cast<ssize_t>(sizeof more)) safe = more;
  ::close(pipe_ends[0]);

  auto store = open_file_store(file.path, kBytes);
  ASSERT_TRUE(store);
  const std::vector<WriterStep> script = writer_script(seed);
  for (std::uint64_t slot = 0; slot < kSlots; ++slot) {
    // The last content that was flushed, and whatever came after it.
    std::vector<std::uint32_t> legal = {0};
    for (std::uint32_t number = 1; number <= script.size(); ++number) {
      const WriterStep& step = script[number - 1];
      if (slot < step.slot || slot >= step.slot + step.count) continue;
      if (number <= safe) legal.clear();
      legal.push_back(step.zeroes ? 0 : number);
    }
    Bytes found(kSlotBytes);
    ASSERT_TRUE((*store)->read(slot * kSlotBytes, found));
    const bool known = std::any_of(legal.begin(), legal.end(), [&](std::uint32_t number) { return found == slot_content(number); });
    ASSERT_TRUE(known) << "seed " << seed << ", flushed to step " << safe << ": slot " << slot << " begins with "
                       << load_le<std::uint32_t>(found.data());
  }
}

TEST(FileStore, WhatWasFlushedIsThereWheneverTheWriterIsKilled) {
  Rng rng(11, "kills");
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    const std::uint64_t flushes = rng.between(1, 60);
    const auto later_us = static_cast<unsigned>(rng.below(3) * rng.below(400));
    kill_writer(seed, flushes, later_us, seed % 2 == 0);
    if (HasFatalFailure()) return;
  }
}

// ---- the write cache ----

TEST(WriteCache, BehavesLikeAnArray) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    model_check(*make_write_cache(make_memory_store(1024 * 1024 + 512)), seed);
    model_check(*make_write_cache(make_memory_store(1024 * 1024), {.bytes = 100'000, .writes = 5}), seed);
  }
}

TEST(WriteCache, KeepsOffTheMediumWhatWasNotFlushed) {
  auto memory = make_memory_store(64 * 512);
  BlockStore& medium = *memory;
  const auto cache = make_write_cache(std::move(memory));
  const auto on_medium = [&](std::uint64_t block) {
    Bytes data(512);
    EXPECT_TRUE(medium.read(block * 512, data));
    return data[0];
  };
  for (std::uint64_t block = 0; block < 8; ++block) {
    ASSERT_TRUE(cache->write(block * 512, Bytes(512, static_cast<std::uint8_t>(block + 1))));
  }
  ASSERT_TRUE(cache->write(3 * 512, Bytes(1024, 0x33)));
  EXPECT_EQ(cache->bytes_held(), 10u * 512);
  for (std::uint64_t block = 0; block < 8; ++block) EXPECT_EQ(on_medium(block), 0);
  ASSERT_TRUE(cache->flush_range(4 * 512, 512));
  constexpr std::uint8_t kRange[] = {0, 0, 0, 0x33, 0x33, 0, 0, 0};
  for (std::uint64_t block = 0; block < 8; ++block) EXPECT_EQ(on_medium(block), kRange[block]) << block;
  ASSERT_TRUE(cache->zero(6 * 512, 512));
  ASSERT_TRUE(cache->flush());
  constexpr std::uint8_t kAll[] = {1, 2, 3, 0x33, 0x33, 6, 0, 8};
  for (std::uint64_t block = 0; block < 8; ++block) EXPECT_EQ(on_medium(block), kAll[block]) << block;
  ASSERT_TRUE(cache->write(0, Bytes(64 * 512, 0x99)));
  for (std::uint64_t seed = 1; seed < 5; ++seed) {
    Rng rng(seed);
    cache->lose_power(rng, {.block_bytes = 512, .blocks = 1});
    Bytes seen(64 * 512), kept(64 * 512);
    ASSERT_TRUE(cache->read(0, seen));
    ASSERT_TRUE(medium.read(0, kept));
    EXPECT_EQ(seen, kept);
  }
}

TEST(WriteCache, TheSameDrawsLoseTheSame) {
  const auto after = [](std::uint64_t seed) {
    const auto cache = make_write_cache(make_memory_store(256 * 512));
    Rng writes(7), power(seed);
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t count = writes.between(1, 100);
      const std::uint64_t block = writes.below(256 - count + 1);
      Bytes data(count * 512);
      writes.fill(data);
      EXPECT_TRUE(writes.chance(1, 4) ? cache->zero(block * 512, data.size()) : cache->write(block * 512, data));
    }
    cache->lose_power(power, {.block_bytes = 512, .blocks = 8});
    Bytes all(256 * 512);
    EXPECT_TRUE(cache->read(0, all));
    return all;
  };
  EXPECT_EQ(after(1), after(1));
  EXPECT_NE(after(1), after(2));
}

TEST(FileStore, ABadPathIsNamed) {
  const auto store = open_file_store("/nowhere/at/all", 4096);
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().text.find("/nowhere/at/all"), std::string::npos);
}

TEST(NullStore, ReadsAsZero) {
  const auto store = make_null_store(std::uint64_t{1} << 50);
  ASSERT_TRUE(store->write(0, Bytes(16, 1)));
  Bytes data(16, 9);
  ASSERT_TRUE(store->read(0, data));
  EXPECT_EQ(data, Bytes(16));
}

TEST(Uncorrectable, RangesSplitAndMerge) {
  NamespaceOptions options;
  options.nsid = 1;
  options.blocks = 100;
  Namespace ns("family", std::move(options));
  std::vector<bool> bad(100);
  Rng rng(3);
  for (int step = 0; step < 500; ++step) {
    const std::uint64_t slba = rng.below(100);
    const std::uint64_t count = rng.below(100 - slba) + 1;
    const bool spoil = rng.chance(1, 2);
    if (spoil) {
      ns.write_uncorrectable(slba, count);
    } else {
      Bytes zeroes(count * 512);
      ASSERT_TRUE(ns.write(slba, zeroes).ok());
    }
    for (std::uint64_t i = slba; i < slba + count; ++i) bad[i] = spoil;
    for (std::uint64_t i = 0; i < 100; ++i) ASSERT_EQ(ns.uncorrectable(i, 1), bad[i]) << i;
    const std::uint64_t from = rng.below(100);
    const std::uint64_t length = rng.below(100 - from) + 1;
    bool any = false;
    for (std::uint64_t i = from; i < from + length; ++i) any = any || bad[i];
    ASSERT_EQ(ns.uncorrectable(from, length), any);
  }
}

}  // namespace
}  // namespace fb::subsystem
