// Keys and values at their limits, and List.
#include "conformance/cases/nvme/kv_scene.h"

namespace fb::conformance {

namespace {

/// One command of each kind with a key length of 17, a byte more than a command has room for.
template <class Command>
Record<nvme::KvSqe> too_long(Command command) {
  command.set(nvme::kv_sqe::kl, 17u);
  return command;
}

constexpr std::uint8_t kMarks[] = {0x71, 0x35, 0xC2, 0x08, 0x9D, 0x5E};

/// Keys of different lengths, each with a value.
std::vector<KvKey> put_keys(KvScene& scene) {
  std::vector<KvKey> keys;
  std::size_t length = 1;
  for (const std::uint8_t mark : kMarks) {
    keys.push_back(key_of(mark, std::min(length, scene.key_max())));
    scene.put(keys.back(), mark);
    length = length % 16 + 3;
  }
  return keys;
}

/// The list that has all keys: from whichever key comes first in the order of the controller.
std::vector<KvKey> longest_list(KvScene& scene, const std::vector<KvKey>& keys) {
  std::vector<KvKey> longest;
  for (const KvKey& key : keys) {
    auto list = scene.keys_from(key);
    if (list.size() > longest.size()) longest = std::move(list);
  }
  return longest;
}

/// Bytes of a list of the first `count` of these keys, without what fills the last one up.
std::size_t room_of(const std::vector<KvKey>& keys, std::size_t count) {
  std::size_t bytes = nvme::KvListHeader::size;
  for (std::size_t i = 0; i < count; ++i) {
    bytes += i + 1 < count ? nvme::list_entry_step(keys[i].length) : nvme::list_entry_bytes(keys[i].length);
  }
  return bytes;
}

std::size_t whole_dwords(std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; }

bool has(const std::vector<KvKey>& keys, const KvKey& key) { return std::find(keys.begin(), keys.end(), key) != keys.end(); }

}  // namespace

// ---- which keys are one ----

CONFORMANCE_CASE(keys_of_other_lengths_are_others, "nvme.kv.key.length", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  // The bytes of the longer key beyond the shorter one are 0, as they are in the command with the shorter one.
  Bytes bytes(scene.key_max());
  bytes[0] = 0x71;
  for (std::size_t length = 1; length <= scene.key_max(); ++length) {
    scene.put(KvKey::of(ByteView{bytes}.first(length)), static_cast<std::uint8_t>(length), 20 + length);
  }
  for (std::size_t length = 1; length <= scene.key_max(); ++length) {
    const Bytes value = value_of(static_cast<std::uint8_t>(length), 20 + length);
    scene.holds(KvKey::of(ByteView{bytes}.first(length)), value, "the value of " + std::to_string(length) + " bytes of key");
  }
}

CONFORMANCE_CASE(every_byte_of_a_stored_key_counts, "nvme.kv.key.bytes", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x72, scene.key_max());
  const Bytes value = scene.put(key, 0x72);
  for (std::size_t i = 0; i < key.length; ++i) {
    KvKey other = key;
    other.bytes[i] ^= 0x80;
    scene.lacks(other, "a key that differs in byte " + std::to_string(i));
  }
  scene.holds(key, value);
}

CONFORMANCE_CASE(last_byte_of_the_longest_key_counts, "nvme.kv.key.last-byte", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x73, scene.key_max());
  KvKey other = key;
  other.bytes[key.length - 1u] ^= 1;
  const Bytes first = scene.put(key, 0x73);
  const Bytes second = scene.put(other, 0x83);
  scene.holds(key, first);
  scene.holds(other, second, "the value of the other key");
}

CONFORMANCE_CASE(bytes_beyond_a_key_do_not_count, "nvme.kv.key.beyond", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x74, 3);
  scene.put(key, 0x74);
  KvKey same = key;
  same.bytes[3] = 0xEE;
  same.bytes[15] = 0xEE;
  scene.has(same, "the key with other bytes beyond its length");
}

CONFORMANCE_CASE(key_of_one_byte, "nvme.kv.key.shortest", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x75, 1);
  const Bytes value = value_of(0x75, 30);
  check.require_success(scene.store(key, value), "Store");
  scene.holds(key, value);
}

CONFORMANCE_CASE(key_of_the_maximum_length, "nvme.kv.key.longest", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x76, scene.key_max());
  const Bytes value = value_of(0x76, 30);
  check.require_success(scene.store(key, value), "Store");
  scene.holds(key, value);
}

CONFORMANCE_CASE(store_needs_a_key, "nvme.kv.key.empty", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  check.refused(scene.store({}, value_of(0x77, 30)), "Store with KL 0");
}

// ---- keys that no command has room for ----

CONFORMANCE_CASE(store_refuses_17_bytes_of_key, "nvme.kv.key.too-long.store", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const Bytes value = value_of(0x78, 30);
  const auto command = too_long(host::kv_store(scene.nsid, key_of(0x78, 16), value.size()));
  check.status(scene.io->send(command, value).wait(), sc::invalid_field, "Store with KL 17");
}
CONFORMANCE_CASE(retrieve_refuses_17_bytes_of_key, "nvme.kv.key.too-long.retrieve", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const auto command = too_long(host::kv_retrieve(scene.nsid, key_of(0x79, 16), 64));
  check.status(scene.io->send(command, 64).wait(), sc::invalid_field, "Retrieve with KL 17");
}
CONFORMANCE_CASE(delete_refuses_17_bytes_of_key, "nvme.kv.key.too-long.delete", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  check.status(scene.io->send(too_long(host::kv_delete(scene.nsid, key_of(0x7A, 16)))).wait(), sc::invalid_field, "Delete with KL 17");
}
CONFORMANCE_CASE(exist_refuses_17_bytes_of_key, "nvme.kv.key.too-long.exist", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  check.status(scene.io->send(too_long(host::kv_exist(scene.nsid, key_of(0x7B, 16)))).wait(), sc::invalid_field, "Exist with KL 17");
}
CONFORMANCE_CASE(list_refuses_17_bytes_of_key, "nvme.kv.key.too-long.list", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const auto command = too_long(host::kv_list(scene.nsid, key_of(0x7C, 16), 64));
  check.status(scene.io->send(command, 64).wait(), sc::invalid_field, "List with KL 17");
}

// ---- the limits of a format ----

namespace {

/// The first format with keys shorter than a command has room for.
std::size_t narrow_format(const KvScene& scene) {
  for (std::size_t i = 0; i < scene.formats().size(); ++i) {
    const unsigned most = scene.formats()[i].get(nvme::kv_format::kml);
    if (most != 0 && most < nvme::kKvKeyMax) return i;
  }
  throw CannotArrange{"every format has keys of 16 bytes"};
}

}  // namespace

CONFORMANCE_CASE(key_beyond_the_format_is_refused, "nvme.kv.key.format", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const std::size_t narrow = narrow_format(scene);
  check.precondition_success(scene.format(narrow), "Format NVM");
  const std::size_t most = scene.formats()[narrow].get(nvme::kv_format::kml);
  check.status(scene.store(key_of(0x7D, most + 1), value_of(0x7D, 30)), sc::invalid_key_size, "Store");
}

CONFORMANCE_CASE(key_at_the_limit_of_the_format, "nvme.kv.format.selected", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const std::size_t narrow = narrow_format(scene);
  const auto& format = scene.formats()[narrow];
  check.precondition_success(scene.format(narrow), "Format NVM");
  check.success(scene.store(key_of(0x7E, format.get(nvme::kv_format::kml)), value_of(0x7E, 30)), "Store");
  check.refused(scene.store(key_of(0x7F, format.get(nvme::kv_format::kml) + 1u), value_of(0x7F, 30)), "Store of a longer key");
}

CONFORMANCE_CASE(value_beyond_the_format_is_refused, "nvme.kv.value.too-long", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const std::uint64_t most = scene.value_max(), limit = bench.declared().transfer_max();
  constexpr std::uint64_t kLarge = 1 << 20;
  if (most >= kLarge || (limit != 0 && most >= limit)) throw CannotArrange{"the longest value is longer than a transfer"};
  const Bytes value = value_of(0x81, static_cast<std::size_t>(most) + 1);
  check.status(scene.store(key_of(0x81, 4), value), sc::invalid_value_size, "Store of a byte too much");
}

CONFORMANCE_CASE(value_of_the_maximum_length, "nvme.kv.value.longest", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const std::uint64_t most = scene.value_max(), limit = bench.declared().transfer_max();
  constexpr std::uint64_t kLarge = 1 << 20;
  if (most > kLarge || (limit != 0 && most > limit)) throw CannotArrange{"the longest value is longer than a transfer"};
  const KvKey key = key_of(0x82, 4);
  const Bytes value = value_of(0x82, static_cast<std::size_t>(most));
  check.require_success(scene.store(key, value), "Store");
  scene.holds(key, value);
}

CONFORMANCE_CASE(number_of_keys_is_limited, "nvme.kv.keys.maximum", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  constexpr std::uint32_t kFew = 256;
  for (std::size_t i = 0; i < scene.formats().size(); ++i) {
    const std::uint32_t most = scene.formats()[i].get(nvme::kv_format::mnk);
    if (most == 0 || most > kFew) continue;
    check.precondition_success(scene.format(i), "Format NVM");
    const auto key = [](std::uint32_t n) {
      const std::uint8_t bytes[] = {0x84, static_cast<std::uint8_t>(n >> 8), static_cast<std::uint8_t>(n)};
      return KvKey::of(bytes);
    };
    for (std::uint32_t n = 0; n < most; ++n) scene.put(key(n), 0x84, 4);
    check.refused(scene.store(key(most), value_of(0x85, 4)), "Store of one key more than Max Num Keys");
    // A key that is replaced counts once, and one that was deleted no more.
    check.success(scene.store(key(0), value_of(0x86, 4)), "Store that replaces one of as many keys");
    scene.drop(key(1));
    check.success(scene.store(key(most), value_of(0x85, 4)), "Store of a key in place of one that was deleted");
    check.refused(scene.store(key(1), value_of(0x87, 4)), "Store of one key more than Max Num Keys once more");
    return;
  }
  throw CannotArrange{"no format limits the number of keys to a few"};
}

// ---- List ----

CONFORMANCE_CASE(list_has_every_key, "nvme.kv.list.keys", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const auto keys = put_keys(scene);
  const auto list = longest_list(scene, keys);
  for (const KvKey& key : keys) check.that(has(list, key), "the list has each key", "one is missing");
}

CONFORMANCE_CASE(list_has_no_key_twice, "nvme.kv.list.once", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const auto keys = put_keys(scene);
  auto list = longest_list(scene, keys);
  std::sort(list.begin(), list.end());
  check.that(std::adjacent_find(list.begin(), list.end()) == list.end(), "each key stands once in the list", "one stands twice");
}

CONFORMANCE_CASE(list_begins_with_its_key, "nvme.kv.list.start", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  for (const KvKey& key : put_keys(scene)) {
    const auto list = scene.keys_from(key);
    check.that(!list.empty() && list.front() == key, "the first key is the one that the command names", "it is another");
  }
}

CONFORMANCE_CASE(lists_have_one_order, "nvme.kv.list.order", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const auto keys = put_keys(scene);
  for (const KvKey& key : keys) {
    check.that(scene.keys_from(key) == scene.keys_from(key), "two lists from one key are the same", "they are not");
  }
}

CONFORMANCE_CASE(list_from_no_key_succeeds, "nvme.kv.list.missing", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  put_keys(scene);
  const KvKey missing = key_of(0x70, 4);
  const auto first = scene.list(missing, 1024), second = scene.list(missing, 1024);
  check.require_success(first, "List from a key that does not exist");
  check.require_success(second, "the same once more");
  check.that(nvme::read_kv_list(first.data).keys == nvme::read_kv_list(second.data).keys, "the first key does not change", "it does");
}

CONFORMANCE_CASE(list_counts_keys_that_it_has, "nvme.kv.list.count", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const auto whole = longest_list(scene, put_keys(scene));
  check.precondition(whole.size() >= 4, "the list has four keys");
  const std::size_t room = whole_dwords(room_of(whole, 2));
  const auto reply = scene.list(whole.front(), room);
  check.require_success(reply, "List with room for two keys");
  const nvme::KvList list = nvme::read_kv_list(reply.data);
  check.that(list.count <= 2, "NRK is at most 2", "NRK is " + std::to_string(list.count));
}

CONFORMANCE_CASE(list_fills_its_room, "nvme.kv.list.full", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const auto whole = longest_list(scene, put_keys(scene));
  check.precondition(whole.size() >= 4, "the list has four keys");
  for (std::size_t count = 1; count <= 4; ++count) {
    const auto reply = scene.list(whole.front(), whole_dwords(room_of(whole, count)));
    check.require_success(reply, "List");
    check.equal("NRK with room for " + std::to_string(count), nvme::read_kv_list(reply.data).count, count);
  }
}

CONFORMANCE_CASE(list_has_whole_keys, "nvme.kv.list.whole", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const auto whole = longest_list(scene, put_keys(scene));
  check.precondition(whole.size() >= 4, "the list has four keys");
  // Room for the first key, and for the length of the second one and none of its bytes.
  const std::size_t room = whole_dwords(room_of(whole, 1)) + 4;
  if (room >= room_of(whole, 2)) throw CannotArrange{"the second key of the list is too short"};
  const auto reply = scene.list(whole.front(), room);
  check.require_success(reply, "List");
  check.equal("NRK", nvme::read_kv_list(reply.data).count, 1u);
}

CONFORMANCE_CASE(list_has_the_lengths_of_keys, "nvme.kv.list.length", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x91, 3);
  scene.put(key, 0x91);
  const auto reply = scene.list(key, 256);
  check.precondition_success(reply, "List");
  check.equal("KL of the first key", load_le<std::uint16_t>(reply.data.data() + nvme::KvListHeader::size), std::uint16_t{3});
}

CONFORMANCE_CASE(keys_of_a_list_are_padded, "nvme.kv.list.padding", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  // Two keys whose entries have 3 bytes, so that something fills up the first, whichever it is.
  const KvKey keys[] = {key_of(0x92, 1), key_of(0x93, 1)};
  for (const KvKey& key : keys) scene.put(key, 0x92);
  for (const KvKey& key : keys) {
    const auto reply = scene.list(key, 256);
    check.precondition_success(reply, "List");
    if (load_le<std::uint32_t>(reply.data.data()) != 2) continue;
    const std::uint8_t* const second = reply.data.data() + nvme::KvListHeader::size + 4;
    check.equal("KL of the second key", load_le<std::uint16_t>(second), std::uint16_t{1});
    check.equal("the second key", second[2], key == keys[0] ? keys[1].bytes[0] : keys[0].bytes[0]);
  }
}

CONFORMANCE_CASE(list_of_an_empty_namespace, "nvme.kv.list.empty", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const auto reply = scene.list(key_of(0x94, 4), 256);
  check.require_success(reply, "List");
  check.equal("NRK", nvme::read_kv_list(reply.data).count, 0u);
}

CONFORMANCE_CASE(list_has_no_deleted_key, "nvme.kv.list.deleted", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  auto keys = put_keys(scene);
  const KvKey gone = keys[2];
  scene.drop(gone);
  keys.erase(keys.begin() + 2);
  for (const KvKey& key : keys) check.that(!has(scene.keys_from(key), gone), "the list does not have the deleted key", "it does");
}

}  // namespace fb::conformance
