// What a key value namespace holds: values by their keys, and how many bytes they take (Key Value command set, "Theory of
// operation"). It is durable: neither a reset nor a loss of power changes it.
#pragma once

#include <map>
#include <vector>

#include "base/bytes.h"
#include "model/subsystem/options.h"
#include "wire/nvme/kv.h"

namespace fb::subsystem {

class KeyValueStore {
 public:
  KeyValueStore(std::uint64_t bytes, const KeyValueFormat& format) : bytes_(bytes), format_(format) {}

  std::uint64_t bytes() const { return bytes_; }
  /// Of keys and values.
  std::uint64_t used() const { return used_; }
  std::size_t count() const { return pairs_.size(); }
  const KeyValueFormat& format() const { return format_; }

  /// Null: there is no such key.
  const Bytes* find(const nvme::KvKey& key) const;
  /// There is room for the pair, in place of what its key has now.
  bool admits(const nvme::KvKey& key, std::size_t value_bytes) const;
  void store(const nvme::KvKey& key, ByteView value);
  bool remove(const nvme::KvKey& key);
  /// In a constant order, from this key on, or from the next where it does not exist.
  std::vector<nvme::KvKey> keys_from(const nvme::KvKey& key) const;
  void clear();
  void set_format(const KeyValueFormat& format) { format_ = format; }

  /// Feature 20h.
  bool delete_fails() const { return delete_fails_; }
  void set_delete_fails(bool on) { delete_fails_ = on; }

 private:
  std::uint64_t bytes_;
  KeyValueFormat format_;
  std::map<nvme::KvKey, Bytes> pairs_;
  std::uint64_t used_ = 0;
  bool delete_fails_ = false;
};

}  // namespace fb::subsystem
