#include "model/subsystem/key_values.h"

namespace fb::subsystem {

const Bytes* KeyValueStore::find(const nvme::KvKey& key) const {
  const auto found = pairs_.find(key);
  return found == pairs_.end() ? nullptr : &found->second;
}

bool KeyValueStore::admits(const nvme::KvKey& key, std::size_t value_bytes) const {
  const Bytes* const old = find(key);
  const std::uint64_t others = used_ - (old != nullptr ? key.length + old->size() : 0);
  return others + key.length + value_bytes <= bytes_;
}

void KeyValueStore::store(const nvme::KvKey& key, ByteView value) {
  remove(key);
  pairs_.emplace(key, Bytes(value.begin(), value.end()));
  used_ += key.length + value.size();
}

bool KeyValueStore::remove(const nvme::KvKey& key) {
  const auto found = pairs_.find(key);
  if (found == pairs_.end()) return false;
  used_ -= key.length + found->second.size();
  pairs_.erase(found);
  return true;
}

std::vector<nvme::KvKey> KeyValueStore::keys_from(const nvme::KvKey& key) const {
  std::vector<nvme::KvKey> keys;
  for (auto one = pairs_.lower_bound(key); one != pairs_.end(); ++one) keys.push_back(one->first);
  return keys;
}

void KeyValueStore::clear() {
  pairs_.clear();
  used_ = 0;
}

}  // namespace fb::subsystem
