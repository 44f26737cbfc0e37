// Store, Retrieve, Exist and Delete.
#include "conformance/cases/nvme/kv_scene.h"

namespace fb::conformance {

namespace {

namespace so = nvme::store_bits;

}  // namespace

// ---- Store ----

CONFORMANCE_CASE(stored_value_is_retrieved, "nvme.kv.store.value", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x41, 4);
  const Bytes value = value_of(0x41, 200);
  check.require_success(scene.store(key, value), "Store");
  scene.holds(key, value);
}

CONFORMANCE_CASE(values_of_odd_sizes_are_whole, "nvme.kv.value.odd", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x42, 4);
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{255}, std::size_t{511}, std::size_t{4095}, std::size_t{4097}}) {
    if (size > scene.value_max()) continue;
    const Bytes value = value_of(static_cast<std::uint8_t>(size), size);
    check.require_success(scene.store(key, value), "Store");
    scene.holds(key, value, "a value of " + std::to_string(size) + " bytes");
  }
}

CONFORMANCE_CASE(stored_value_replaces_another, "nvme.kv.store.overwrite", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x43, 4);
  scene.put(key, 0x43, 100);
  const Bytes value = value_of(0x9A, 100);
  check.require_success(scene.store(key, value), "Store");
  scene.holds(key, value);
}

CONFORMANCE_CASE(shorter_value_replaces_a_longer_one, "nvme.kv.store.shorter", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x44, 4);
  scene.put(key, 0x44, 200);
  const Bytes value = value_of(0x9B, 60);
  check.precondition_success(scene.store(key, value), "Store");
  const auto reply = scene.retrieve(key, 200);
  check.require_success(reply, "Retrieve");
  check.equal("size of the value", reply.dw0(), 60u);
}

CONFORMANCE_CASE(value_without_bytes_is_a_value, "nvme.kv.store.empty", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x45, 4);
  check.require_success(scene.store(key, {}), "Store with VS 0");
  const auto reply = scene.retrieve(key, 64);
  check.require_success(reply, "Retrieve");
  check.equal("size of the value", reply.dw0(), 0u);
}

CONFORMANCE_CASE(key_without_a_value_exists, "nvme.kv.exist.empty", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x46, 4);
  check.precondition_success(scene.store(key, {}), "Store with VS 0");
  scene.has(key);
}

CONFORMANCE_CASE(store_that_must_not_replace_finds_the_key, "nvme.kv.store.new", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x47, 4);
  scene.put(key, 0x47);
  check.status(scene.store(key, value_of(0x9C, 40), so::must_not_exist), sc::key_exists, "Store with SO bit 9");
  // Of two at once one finds the key, whichever comes first; the data of the first takes longer.
  const KvKey other = key_of(0x4C, 4);
  const std::uint64_t limit = bench.declared().transfer_max();
  const std::uint64_t most = limit == 0 ? scene.value_max() : std::min(limit, scene.value_max());
  const Bytes longer = value_of(0x4C, static_cast<std::size_t>(std::min<std::uint64_t>(most, 32768))), shorter = value_of(0x4D, 40);
  auto first = scene.io->send(host::kv_store(scene.nsid, other, longer.size(), so::must_not_exist), longer);
  auto second = scene.io->send(host::kv_store(scene.nsid, other, shorter.size(), so::must_not_exist), shorter);
  const auto one = first.wait(), two = second.wait();
  check.that(one.ok() != two.ok(), "of two Stores with SO bit 9 at once one succeeds", one.ok() ? "both succeed" : "none succeeds");
  if (one.ok() != two.ok()) scene.holds(other, one.ok() ? longer : shorter, "the value of the one that succeeded");
}

CONFORMANCE_CASE(store_that_must_not_replace_leaves_the_value, "nvme.kv.store.new.kept", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x48, 4);
  const Bytes value = scene.put(key, 0x48);
  check.precondition(!scene.store(key, value_of(0x9D, 40), so::must_not_exist).ok(), "the Store is refused");
  scene.holds(key, value);
}

CONFORMANCE_CASE(store_that_must_not_replace_makes_a_key, "nvme.kv.store.new.stored", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x49, 4);
  const Bytes value = value_of(0x49, 40);
  check.require_success(scene.store(key, value, so::must_not_exist), "Store with SO bit 9");
  scene.holds(key, value);
}

CONFORMANCE_CASE(store_that_must_replace_finds_no_key, "nvme.kv.store.replace", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  check.status(scene.store(key_of(0x4A, 4), value_of(0x4A, 40), so::must_exist), sc::key_does_not_exist, "Store with SO bit 8");
}

CONFORMANCE_CASE(store_that_must_replace_makes_no_key, "nvme.kv.store.replace.none", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x4B, 4);
  check.precondition(!scene.store(key, value_of(0x4B, 40), so::must_exist).ok(), "the Store is refused");
  scene.lacks(key);
}

CONFORMANCE_CASE(store_that_must_replace_replaces, "nvme.kv.store.replace.stored", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x4C, 4);
  scene.put(key, 0x4C);
  const Bytes value = value_of(0x9E, 44);
  check.require_success(scene.store(key, value, so::must_exist), "Store with SO bit 8");
  scene.holds(key, value);
}

CONFORMANCE_CASE(store_without_compression, "nvme.kv.store.no-compression", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x4D, 4);
  const Bytes value = value_of(0x4D, 128);
  check.require_success(scene.store(key, value, so::no_compression), "Store with SO bit 10");
  scene.holds(key, value);
}

// ---- Retrieve ----

CONFORMANCE_CASE(retrieve_returns_the_size, "nvme.kv.retrieve.size", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x51, 4);
  scene.put(key, 0x51, 77);
  const auto reply = scene.retrieve(key, 256);
  check.require_success(reply, "Retrieve");
  check.equal("DW0", reply.dw0(), 77u);
}

CONFORMANCE_CASE(retrieve_with_little_room_succeeds, "nvme.kv.retrieve.short", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x52, 4);
  scene.put(key, 0x52, 200);
  check.success(scene.retrieve(key, 64), "Retrieve of 64 bytes of 200");
  check.success(scene.retrieve(key, 196), "Retrieve of 196 bytes of 200");
}

CONFORMANCE_CASE(retrieve_with_little_room_has_the_beginning, "nvme.kv.retrieve.short.data", roles::controller, key_value_namespaces,
                 pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x53, 4);
  const Bytes value = scene.put(key, 0x53, 200);
  const auto reply = scene.retrieve(key, 64);
  check.precondition_success(reply, "Retrieve");
  check.bytes("the first 64 bytes", ByteView{reply.data}.first(64), ByteView{value}.first(64));
}

CONFORMANCE_CASE(retrieve_with_little_room_has_the_whole_size, "nvme.kv.retrieve.short.size", roles::controller, key_value_namespaces,
                 pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x54, 4);
  scene.put(key, 0x54, 200);
  const auto reply = scene.retrieve(key, 64);
  check.precondition_success(reply, "Retrieve");
  check.equal("DW0", reply.dw0(), 200u);
}

CONFORMANCE_CASE(retrieve_without_room_has_the_size, "nvme.kv.retrieve.none", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x55, 4);
  scene.put(key, 0x55, 120);
  const auto reply = scene.retrieve(key, 0);
  check.require_success(reply, "Retrieve with HBS 0");
  check.equal("DW0", reply.dw0(), 120u);
}

CONFORMANCE_CASE(retrieve_of_raw_data, "nvme.kv.retrieve.raw", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x56, 4);
  scene.put(key, 0x56, 64);
  check.success(scene.retrieve(key, 256, nvme::retrieve_bits::raw), "Retrieve with RO bit 8");
}

CONFORMANCE_CASE(retrieve_finds_no_key, "nvme.kv.retrieve.missing", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  scene.put(key_of(0x57, 4), 0x57);
  check.status(scene.retrieve(key_of(0x58, 4), 64), sc::key_does_not_exist, "Retrieve");
}

// ---- Exist ----

CONFORMANCE_CASE(exist_finds_no_key, "nvme.kv.exist.missing", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  scene.put(key_of(0x59, 4), 0x59);
  scene.lacks(key_of(0x5A, 4));
}

CONFORMANCE_CASE(exist_compares_whole_keys, "nvme.kv.exist.prefix", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x5B, 4);
  scene.put(KvKey::of(key.view().first(3)), 0x5B);
  scene.lacks(key, "a key that begins with one that exists");
}

// ---- Delete ----

CONFORMANCE_CASE(deleted_key_is_gone, "nvme.kv.delete.gone", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x61, 4);
  scene.put(key, 0x61);
  check.require_success(scene.remove(key), "Delete");
  scene.lacks(key);
  check.status(scene.retrieve(key, 64), sc::key_does_not_exist, "Retrieve");
}

CONFORMANCE_CASE(delete_leaves_other_keys, "nvme.kv.delete.others", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x62, 4);
  const KvKey prefix = KvKey::of(key.view().first(3));
  KvKey neighbour = key;
  neighbour.bytes[3] ^= 1;
  const Bytes value = scene.put(key, 0x62);
  const Bytes other = scene.put(neighbour, 0x72);
  scene.put(prefix, 0x82);
  scene.drop(prefix);
  scene.holds(key, value, "a key that begins with the deleted one");
  scene.holds(neighbour, other, "another such key");
}

CONFORMANCE_CASE(deleted_key_can_be_stored_again, "nvme.kv.delete.again", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0x63, 4);
  scene.put(key, 0x63);
  scene.drop(key);
  const Bytes value = value_of(0x9F, 52);
  check.require_success(scene.store(key, value), "Store");
  scene.holds(key, value);
  scene.drop(key);
  const Bytes last = value_of(0x9B, 36);
  check.require_success(scene.store(key, last, so::must_not_exist), "Store with SO bit 9 of a key that was deleted");
  scene.holds(key, last);
}

// ---- feature 20h ----

CONFORMANCE_CASE(key_value_configuration_is_there, "nvme.kv.feature", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  check.success(scene.delete_fails(), "Get Features 20h");
}

namespace {

/// Products may be unable to change the feature.
void configure(KvScene& scene, Check& check, bool on) { check.precondition_success(scene.set_delete_fails(on), "Set Features 20h"); }

}  // namespace

CONFORMANCE_CASE(key_value_configuration_is_kept, "nvme.kv.feature.value", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  for (const bool on : {true, false, true}) {
    configure(scene, check, on);
    const auto reply = scene.delete_fails();
    check.require_success(reply, "Get Features 20h");
    check.equal("EDNEK", reply.dw0() & 1, on ? 1u : 0u);
  }
  configure(scene, check, false);
}

CONFORMANCE_CASE(delete_of_no_key_fails, "nvme.kv.delete.missing.error", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  configure(scene, check, true);
  const auto reply = scene.remove(key_of(0x64, 4));
  configure(scene, check, false);
  check.status(reply, sc::key_does_not_exist, "Delete with EDNEK set");
}

CONFORMANCE_CASE(delete_of_no_key_succeeds, "nvme.kv.delete.missing.success", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  configure(scene, check, false);
  check.success(scene.remove(key_of(0x65, 4)), "Delete with EDNEK cleared");
}

CONFORMANCE_CASE(key_value_configuration_is_of_one_namespace, "nvme.kv.feature.namespace", roles::controller, key_value_namespaces,
                 two_of_pairs) {
  KvScene scene(bench, check);
  const std::uint32_t other = bench.declared().key_value_namespaces[1].nsid;
  check.precondition_success(scene.set_delete_fails(false, other), "Set Features 20h");
  configure(scene, check, true);
  const auto reply = scene.delete_fails(other);
  configure(scene, check, false);
  check.require_success(reply, "Get Features 20h of the other namespace");
  check.equal("EDNEK of the other namespace", reply.dw0() & 1, 0u);
}

}  // namespace fb::conformance
