// What a key value namespace holds.
#include "model/subsystem/key_values.h"

#include <gtest/gtest.h>

namespace fb::subsystem {
namespace {

nvme::KvKey key(std::initializer_list<std::uint8_t> bytes) { return nvme::KvKey::of(Bytes(bytes)); }

TEST(KeyValueStore, counts_keys_and_values) {
  KeyValueStore pairs(100, {});
  pairs.store(key({1}), Bytes(10));
  pairs.store(key({1, 2}), Bytes(20));
  EXPECT_EQ(pairs.used(), 33u);
  pairs.store(key({1}), Bytes(4));
  EXPECT_EQ(pairs.used(), 27u);
  EXPECT_TRUE(pairs.remove(key({1, 2})));
  EXPECT_FALSE(pairs.remove(key({1, 2})));
  EXPECT_EQ(pairs.used(), 5u);
  pairs.clear();
  EXPECT_EQ(pairs.used(), 0u);
  EXPECT_EQ(pairs.count(), 0u);
}

TEST(KeyValueStore, admits_what_has_room_in_place_of_the_old_value) {
  KeyValueStore pairs(100, {});
  pairs.store(key({1}), Bytes(60));
  EXPECT_TRUE(pairs.admits(key({2}), 38));
  EXPECT_FALSE(pairs.admits(key({2}), 39));
  EXPECT_TRUE(pairs.admits(key({1}), 99));
  EXPECT_FALSE(pairs.admits(key({1}), 100));
}

TEST(KeyValueStore, tells_keys_apart_by_length) {
  KeyValueStore pairs(100, {});
  pairs.store(key({1}), Bytes{7});
  pairs.store(key({1, 0}), Bytes{8});
  EXPECT_EQ(*pairs.find(key({1})), Bytes{7});
  EXPECT_EQ(*pairs.find(key({1, 0})), Bytes{8});
  EXPECT_EQ(pairs.find(key({1, 0, 0})), nullptr);
}

TEST(KeyValueStore, lists_from_a_key_or_from_the_next) {
  KeyValueStore pairs(100, {});
  for (const nvme::KvKey& one : {key({9}), key({3}), key({5})}) pairs.store(one, {});
  EXPECT_EQ(pairs.keys_from(key({5})), (std::vector<nvme::KvKey>{key({5}), key({9})}));
  EXPECT_EQ(pairs.keys_from(key({4})), (std::vector<nvme::KvKey>{key({5}), key({9})}));
  EXPECT_EQ(pairs.keys_from({}).size(), 3u);
  EXPECT_TRUE(pairs.keys_from(key({10})).empty());
}

}  // namespace
}  // namespace fb::subsystem
