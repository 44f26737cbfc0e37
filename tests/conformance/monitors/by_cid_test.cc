// The table of outstanding commands against a map, with identifiers as hosts choose them.
#include "conformance/monitors/by_cid.h"

#include <gtest/gtest.h>

#include <map>

#include "base/rng.h"

namespace fb::monitors {
namespace {

struct Entry {
  std::uint32_t value = 0;
  void clear() { value = 0; }
};

TEST(ByCid, agrees_with_a_map) {
  // Few identifiers, all of them, and a slot below a generation.
  for (const std::uint32_t mask : {0x000Fu, 0xFFFFu, 0xF00Fu}) {
    Rng random(mask);
    ByCid<Entry> table;
    std::map<std::uint16_t, std::uint32_t> model;
    for (std::uint32_t step = 0; step < 20'000; ++step) {
      const auto cid = static_cast<std::uint16_t>(random.below(0x10000) & mask);
      // Grows to hundreds, then shrinks again.
      if (random.below(10) < (step < 5'000 ? 7u : 3u)) {
        Entry& made = table.put(cid);
        ASSERT_EQ(made.value, 0u);
        made.value = model[cid] = step + 1;
      } else {
        ASSERT_EQ(table.erase(cid), model.erase(cid) != 0);
      }
      const auto asked = static_cast<std::uint16_t>(random.below(0x10000) & mask);
      const auto known = model.find(asked);
      const Entry* const found = table.find(asked);
      ASSERT_EQ(found != nullptr, known != model.end());
      if (found != nullptr) {
        ASSERT_EQ(found->value, known->second);
      }
      ASSERT_EQ(table.size(), model.size());
    }
    std::map<std::uint16_t, std::uint32_t> visited;
    table.each([&](std::uint16_t cid, const Entry& entry) { visited[cid] = entry.value; });
    EXPECT_EQ(visited, model);
  }
}

}  // namespace
}  // namespace fb::monitors
