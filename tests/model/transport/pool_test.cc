#include <gtest/gtest.h>

#include "model/transport/registered_pool.h"
#include "tests/model/transport/fake_rdma.h"

namespace fb::transport {
namespace {

TEST(RegisteredPool, BuffersAreApartAndReused) {
  auto world = World::make_virtual(1);
  fake::Network network(*world);
  fake::FakeDevice device(network, IpAddress::v4(10, 0, 0, 1));
  auto domain = device.allocate_protection_domain();
  RegisteredPool pool(*domain, 1u << 20);
  EXPECT_EQ(pool.largest(), 1u << 20);
  Rng rng(1, "pool");
  std::vector<std::pair<RegisteredPool::Buffer*, std::uint8_t>> used;
  for (int i = 0; i < 20000; ++i) {
    if (used.size() > 60 || (!used.empty() && rng.chance(1, 2))) {
      const std::size_t at = rng.below(used.size());
      const auto [buffer, mark] = used[at];
      EXPECT_EQ(buffer->memory.front(), mark);
      EXPECT_EQ(buffer->memory.back(), mark);
      pool.release(buffer);
      used.erase(used.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      const std::size_t bytes = std::size_t{1} << rng.below(21);
      RegisteredPool::Buffer* buffer = pool.acquire(bytes);
      EXPECT_GE(buffer->memory.size(), bytes);
      const auto mark = static_cast<std::uint8_t>(i);
      buffer->memory.front() = buffer->memory.back() = mark;
      used.emplace_back(buffer, mark);
    }
  }
  for (const auto& [buffer, mark] : used) pool.release(buffer);
  EXPECT_EQ(pool.bytes_used(), 0u);
  EXPECT_LE(pool.bytes_held(), RegisteredPool::kKeepBytes + (8u << 20));
}

TEST(RegisteredPool, GivesIdleMemoryBack) {
  auto world = World::make_virtual(1);
  fake::Network network(*world);
  fake::FakeDevice device(network, IpAddress::v4(10, 0, 0, 1));
  auto domain = device.allocate_protection_domain();
  RegisteredPool pool(*domain, 1u << 20);
  std::vector<RegisteredPool::Buffer*> used;
  for (int i = 0; i < 200; ++i) used.push_back(pool.acquire(1u << 20));
  EXPECT_EQ(pool.bytes_held(), 200u << 20);
  for (auto* buffer : used) pool.release(buffer);
  EXPECT_LE(pool.bytes_held(), RegisteredPool::kKeepBytes + (1u << 20));
}

}  // namespace
}  // namespace fb::transport
