#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>

#include "base/rng.h"
#include "model/subsystem/block_store.h"
#include "model/subsystem/namespace.h"

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
    const std::size_t length =
        static_cast<std::size_t>(rng.below(std::min<std::uint64_t>(20000, expected.size() - offset)) + 1);
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
