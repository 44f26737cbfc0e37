#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "base/ip_scope.h"
#include "base/suggest.h"
#include "base/bytes.h"
#include "base/ip.h"
#include "base/lifetime.h"
#include "base/peek.h"
#include "base/result.h"
#include "base/rng.h"
#include "base/time.h"
#include "base/wrap.h"

namespace fb {
namespace {

using namespace literals;

constexpr std::uint8_t kSample[] = {1, 2, 3, 4, 5, 6, 7, 8};
static_assert(load_le<std::uint32_t>(kSample) == 0x04030201);
static_assert(load_be<std::uint64_t>(kSample) == 0x0102030405060708);

TEST(Bytes, OrderHoldsAtRunTime) {
  volatile int offset = 1;  // keeps the load out of constant evaluation, and unaligned
  EXPECT_EQ(load_le<std::uint16_t>(kSample + offset), 0x0302);
  EXPECT_EQ(load_be<std::uint32_t>(kSample + offset), 0x02030405u);
  std::uint8_t out[8] = {};
  store_be<std::uint32_t>(out + 1, 0xA1B2C3D4);
  EXPECT_EQ(to_hex(out), "00a1b2c3d4000000");
}

TEST(Bytes, HexRoundTrip) {
  EXPECT_EQ(to_hex(from_hex("00 Ff\n7a")), "00ff7a");
  EXPECT_TRUE(from_hex("0g").empty());
  EXPECT_TRUE(from_hex("123").empty());
}

TEST(Time, AddingForeverSaturates) {
  EXPECT_EQ(Instant::at_ns(5) + Duration::forever(), Instant::never());
  EXPECT_EQ(to_string(1500_us), "1.500 ms");
  EXPECT_EQ(to_string(2_s), "2.000 s");
}

TEST(Rng, StreamsDependOnSeedAndNameOnly) {
  Rng a(7, "link/loss"), b(7, "link/loss"), c(7, "link/delay"), d(8, "link/loss");
  const auto first = a.next();
  EXPECT_EQ(first, b.next());
  EXPECT_NE(first, c.next());
  EXPECT_NE(first, d.next());
}

TEST(Rng, BelowStaysBelowAndReachesAll) {
  Rng rng(1);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(rng.below(7));
  EXPECT_EQ(seen.size(), 7u);
  EXPECT_EQ(*seen.rbegin(), 6u);
}

TEST(Ip, LinkLocalAddressesHaveAnInterface) {
  const auto address = IpAddress::parse("[fe80::1%lo]");
  ASSERT_TRUE(address);
  EXPECT_NE(scope_of(*address), 0u);
  EXPECT_EQ(to_string(*address), "fe80::1%lo");
  EXPECT_EQ(to_string(without_scope(*address)), "fe80::1");
  EXPECT_EQ(with_scope(without_scope(*address), scope_of(*address)), *address);
  EXPECT_EQ(IpAddress::parse("fe80::1%1"), IpAddress::parse("fe80::1%lo")) << "lo is the first interface";
  for (const char* bad : {"fe80::1%no-such-interface", "fe80::1%", "fd00::1%lo", "127.0.0.1%lo"})
    EXPECT_FALSE(IpAddress::parse(bad)) << bad;
  const auto plain = *IpAddress::parse("fd00:0:1:2::1");
  EXPECT_EQ(with_scope(plain, 5), plain) << "of other addresses these bytes are the subnet";
}

TEST(Suggest, NamesTheNearestWord) {
  const std::vector<std::string_view> words = {"fabrics", "nvme",   "rdma",    "tcp",
                                               "--suite", "--seed", "kato_ms", "connect_refuses_sqsize_zero"};
  EXPECT_EQ(nearest_word("fabric", words), "fabrics");
  EXPECT_EQ(nearest_word("fabircs", words), "fabrics");
  EXPECT_EQ(nearest_word("rmda", words), "rdma");
  EXPECT_EQ(nearest_word("--suit", words), "--suite");
  EXPECT_EQ(nearest_word("kato", words), "kato_ms") << "the beginning of one word";
  EXPECT_EQ(nearest_word("sed", {"seeds", "steps"}), "seeds") << "letters left out of one word";
  EXPECT_EQ(nearest_word("connect-refuses-sqsize-zero", words), "connect_refuses_sqsize_zero");
  for (const char* far : {"", "x", "golf", "something-else", "no-such-suite"}) EXPECT_EQ(nearest_word(far, words), "") << far;
  EXPECT_EQ(did_you_mean("fabric", words), "; did you mean 'fabrics'?");
  EXPECT_EQ(did_you_mean("golf", words), "");
}

TEST(Ip, ParsesAndPrints) {
  EXPECT_EQ(to_string(*IpAddress::parse("127.0.0.2")), "127.0.0.2");
  EXPECT_EQ(to_string(Endpoint{*IpAddress::parse("[fd00::1]"), 4420}), "[fd00::1]:4420");
  EXPECT_FALSE(IpAddress::parse("300.1.1.1"));
  EXPECT_TRUE(IpAddress::parse("10.0.0.1")->is_v4());
  EXPECT_FALSE(IpAddress::parse("fd00::1")->is_v4());
}

TEST(Result, WrongAccessIsAnAssertion) {
  Result<int> bad = Failure{Problem{"no"}};
  EXPECT_FALSE(bad.ok());
  EXPECT_THROW((void)bad.value(), AssertionFailure);
}

// ---- Lifetime ----

struct Mortal {
  std::unique_ptr<Mortal>* holder = nullptr;
  int depth = 0;
  Lifetime lifetime;

  /// Goes `depth` calls down, where `end` may destroy this. True when it did.
  bool descend(bool end) {
    const Lifetime::Watch watch(lifetime);
    if (depth-- > 0) {
      const bool inner = descend(end);
      EXPECT_EQ(inner, watch.gone());
      return watch.gone();
    }
    if (end) holder->reset();
    return watch.gone();
  }
};

TEST(Lifetime, EveryNestedWatchHearsOfTheEnd) {
  for (const bool end : {false, true}) {
    auto mortal = std::make_unique<Mortal>();
    mortal->holder = &mortal;
    mortal->depth = 3;
    EXPECT_EQ(mortal->descend(end), end);
    EXPECT_EQ(mortal == nullptr, end);
    if (!end) {
      mortal->depth = 0;
      EXPECT_TRUE(mortal->descend(true)) << "watches that are over have left the list";
    }
  }
}

TEST(Wrap, LinesOfEightyColumns) {
  const std::string forty(40, 'x'), hundred(100, 'y');
  EXPECT_EQ(wrap("", 4), "");
  EXPECT_EQ(wrap("    a b", 2), "    a b\n");
  EXPECT_EQ(wrap(forty + " " + forty.substr(1), 2), forty + " " + forty.substr(1) + "\n") << "80 columns fit";
  EXPECT_EQ(wrap(forty + " " + forty + " z", 2), forty + "\n  " + forty + " z\n");
  EXPECT_EQ(wrap("    " + hundred + " z", 4), "    " + hundred + "\n    z\n") << "no empty line before a word that is too long";
}

TEST(Peek, MemoryThatIsThereAndMemoryThatIsNot) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const two = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(two, MAP_FAILED);
  auto* const first = static_cast<std::uint8_t*>(two);
  for (std::size_t i = 0; i < page; ++i) first[i] = static_cast<std::uint8_t>(i * 7);
  ASSERT_EQ(munmap(first + page, page), 0);
  for (const auto peek : {&peek_memory, &peek_memory_through_a_pipe}) {
    Bytes seen(page);
    EXPECT_TRUE(peek(first, seen));
    EXPECT_TRUE(std::equal(seen.begin(), seen.end(), first));
    Bytes few(16);
    EXPECT_FALSE(peek(first + page, few));
    EXPECT_FALSE(peek(first + page - 8, few)) << "the second half is gone";
    EXPECT_FALSE(peek(nullptr, few));
  }
  munmap(two, page);
}

}  // namespace
}  // namespace fb
