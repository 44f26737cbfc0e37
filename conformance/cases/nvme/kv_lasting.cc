// What befalls pairs: other namespaces and queues, resets, Format NVM, write protection, reservations; and how much room they take.
#include "conformance/cases/nvme/kv_scene.h"
#include "conformance/cases/nvme/reset.h"
#include "conformance/runner/embedded_controller.h"
#include "wire/nvme/reservation.h"

namespace fb::conformance {

namespace {

constexpr std::uint64_t kReservationKey = 0x4B56'4B45'5921'0001;

std::optional<std::string> formats_pairs(const Declared& declared) {
  if (const auto why = has_pairs(declared)) return why;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oacs) & nvme::oacs_bits::format_nvm) != 0) return {};
  return "OACS bit 1 (Format NVM) is clear";
}
std::optional<std::string> protects_pairs(const Declared& declared) {
  if (const auto why = has_pairs(declared)) return why;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::nwpc) & 1) != 0) return {};
  return "NWPC bit 0 is clear";
}
std::optional<std::string> reserves_pairs(const Declared& declared) {
  if (const auto why = has_pairs(declared)) return why;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oncs) & nvme::oncs_bits::reservations) != 0) return {};
  return "ONCS bit 5 (reservations) is clear";
}

/// Another host holds a reservation of the scene's namespace while this lives.
class PairsHolder {
 public:
  PairsHolder(ControllerBench& bench, Check& check, std::uint32_t nsid, nvme::ReservationType type) : nsid_(nsid) {
    AssociationOptions other;
    other.hostid.fill(0x4B);
    RawAssociation& association = bench.associate(other);
    select_pairs(association);
    io_ = &association.open_io();
    const auto keys = host::reservation_keys(0, kReservationKey);
    check.precondition_success(io_->send(host::reservation_register(nsid, nvme::RegisterAction::register_key), keys).wait(),
                               "Reservation Register");
    const auto acquire = host::reservation_acquire(nsid, nvme::AcquireAction::acquire, type);
    check.precondition_success(io_->send(acquire, host::reservation_keys(kReservationKey, 0)).wait(), "Reservation Acquire");
  }
  ~PairsHolder() {
    const auto leave = host::reservation_register(nsid_, nvme::RegisterAction::unregister_key);
    io_->send(leave, host::reservation_keys(kReservationKey, 0)).wait();
  }
  PairsHolder(const PairsHolder&) = delete;
  PairsHolder& operator=(const PairsHolder&) = delete;

 private:
  std::uint32_t nsid_;
  host::RawQueue* io_ = nullptr;
};

/// The namespace of the scene is write protected while this lives.
class ProtectedPairs {
 public:
  ProtectedPairs(KvScene& scene, Check& check) : scene_(scene) {
    check.precondition_success(set(nvme::WriteProtection::write_protected), "Set Features 84h");
  }
  ~ProtectedPairs() { set(nvme::WriteProtection::none); }
  ProtectedPairs(const ProtectedPairs&) = delete;
  ProtectedPairs& operator=(const ProtectedPairs&) = delete;

 private:
  host::RawReply set(nvme::WriteProtection how) {
    auto command = host::set_features(nvme::FeatureId::namespace_write_protection, static_cast<std::uint32_t>(how));
    command.set(nvme::sqe::nsid, scene_.nsid);
    return scene_.admin().send(command).wait();
  }
  KvScene& scene_;
};

}  // namespace

// ---- elsewhere ----

CONFORMANCE_CASE(namespaces_have_pairs_of_their_own, "nvme.kv.namespaces", roles::controller, key_value_namespaces, two_of_pairs) {
  KvScene first(bench, check, 0), second(bench, check, 1);
  const KvKey key = key_of(0xA1, 4);
  const Bytes one = first.put(key, 0xA1);
  second.lacks(key, "the key in the other namespace");
  const Bytes two = second.put(key, 0xB1, 44);
  first.holds(key, one, "the value in the first namespace");
  second.holds(key, two, "the value in the second namespace");
}

CONFORMANCE_CASE(queues_have_the_same_pairs, "nvme.kv.queues", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  host::RawQueue& other = scene.association.open_io(bench.io_qid(1));
  const KvKey key = key_of(0xA2, 4);
  const Bytes value = value_of(0xA2, 60);
  check.require_success(other.send(host::kv_store(scene.nsid, key, value.size()), value).wait(), "Store on the second queue");
  scene.holds(key, value);
}

CONFORMANCE_CASE(pairs_outlive_a_reset, "nvme.kv.reset", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0xA3, 4);
  const Bytes value = scene.put(key, 0xA3);
  scene.io = &reset_controller(bench, scene.association, *scene.io);
  select_pairs(scene.association);
  scene.holds(key, value, "the value after a controller reset");
}

CONFORMANCE_CASE(pairs_outlive_an_association, "nvme.kv.association", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0xA4, 4);
  const Bytes value = scene.put(key, 0xA4);
  scene.admin().disconnect();
  bench.world().run_for(kSettled);
  scene.rejoin();
  scene.holds(key, value, "the value in another association");
}

CONFORMANCE_CASE(key_value_configuration_outlives_a_reset, "nvme.kv.feature.reset", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  // A saveable feature has its saved or default value after a reset.
  if ((bench.declared().identify().get(nvme::id_ctrl::oncs) & nvme::oncs_bits::save_and_select) != 0) {
    auto command = host::get_features(nvme::FeatureId::key_value_configuration, nvme::FeatureSelect::capabilities);
    command.set(nvme::sqe::nsid, scene.nsid);
    const auto capabilities = scene.admin().send(command).wait();
    const bool saveable = (capabilities.dw0() & nvme::feature_capability_bits::saveable) != 0;
    check.precondition(capabilities.ok() && !saveable, "feature 20h is not saveable");
  }
  check.precondition_success(scene.set_delete_fails(true), "Set Features 20h");
  scene.io = &reset_controller(bench, scene.association, *scene.io);
  select_pairs(scene.association);
  const auto reply = scene.delete_fails();
  check.precondition_success(scene.set_delete_fails(false), "Set Features 20h");
  check.require_success(reply, "Get Features 20h");
  check.equal("EDNEK after a controller reset", reply.dw0() & 1, 1u);
}

// ---- Format NVM ----

CONFORMANCE_CASE(format_erases_pairs, "nvme.kv.format.erases", roles::controller, key_value_namespaces, needs(formats_pairs)) {
  KvScene scene(bench, check);
  const KvKey keys[] = {key_of(0xA5, 1), key_of(0xA6, scene.key_max())};
  for (const KvKey& key : keys) scene.put(key, 0xA5);
  check.require_success(scene.format(0), "Format NVM");
  for (const KvKey& key : keys) {
    if (key.length <= scene.formats()[0].get(nvme::kv_format::kml)) scene.lacks(key, "a key from before Format NVM");
  }
}

CONFORMANCE_CASE(format_beyond_the_last_is_refused, "nvme.kv.format.index", roles::controller, key_value_namespaces, needs(formats_pairs)) {
  KvScene scene(bench, check);
  if (scene.formats().size() >= nvme::kKvFormatsMax) throw CannotArrange{"there are 16 formats"};
  check.status(scene.format(scene.formats().size()), sc::invalid_format, "Format NVM to the format after the last");
}

// ---- room ----

CONFORMANCE_CASE(utilization_counts_keys_and_values, "nvme.kv.utilization", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  std::uint64_t bytes = 0;
  for (std::uint8_t i = 0; i < 8; ++i) {
    const KvKey key = key_of(static_cast<std::uint8_t>(0xA8 + i), scene.key_max());
    scene.put(key, i, 200u + i);
    bytes += key.length + 200u + i;
  }
  const std::uint64_t used = scene.in_use();
  check.that(used >= bytes, "NUSE is at least what keys and values have",
             "NUSE is " + std::to_string(used) + " with " + std::to_string(bytes));
}

CONFORMANCE_CASE(utilization_counts_keys_without_values, "nvme.kv.utilization.keys", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  for (std::uint8_t i = 0; i < 8; ++i) {
    check.precondition_success(scene.store(key_of(static_cast<std::uint8_t>(0xB8 + i), scene.key_max()), {}), "Store with VS 0");
  }
  const std::uint64_t used = scene.in_use();
  check.that(used >= 8 * scene.key_max(), "NUSE is at least what the keys have", "NUSE is " + std::to_string(used));
}

CONFORMANCE_CASE(utilization_counts_a_longer_value, "nvme.kv.utilization.overwrite", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0xC1, 4);
  const std::size_t most = static_cast<std::size_t>(std::min<std::uint64_t>(scene.value_max(), 32768));
  scene.put(key, 0xC1, 16);
  scene.put(key, 0xC2, most);
  const std::uint64_t used = scene.in_use();
  check.that(used >= most + key.length, "NUSE is at least what the key and its new value have", "NUSE is " + std::to_string(used));
}

CONFORMANCE_CASE(utilization_shrinks_with_a_delete, "nvme.kv.utilization.delete", roles::controller, key_value_namespaces, pairs) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0xC3, 4);
  scene.put(key, 0xC3, static_cast<std::size_t>(std::min<std::uint64_t>(scene.value_max(), 32768)));
  const std::uint64_t before = scene.in_use();
  scene.drop(key);
  const std::uint64_t after = scene.in_use();
  check.that(after < before, "NUSE shrinks when a pair is deleted",
             "NUSE is " + std::to_string(after) + ", and was " + std::to_string(before));
}

namespace {

/// A namespace that is full: no other value of that size has room. The smallest there is.
struct FullScene {
  FullScene(ControllerBench& bench, Check& check) : scene(bench, check, smallest(bench)) {
    constexpr std::uint64_t kMost = 64;
    size = static_cast<std::size_t>(
        std::min<std::uint64_t>(scene.value_max(), bench.declared().transfer_max() == 0 ? 1 << 20 : bench.declared().transfer_max()));
    const Bytes page = scene.page();
    const std::uint64_t nsze = View<nvme::IdentifyNamespaceKv>{page}.get(nvme::id_ns_kv::nsze);
    if (nsze / size > kMost) throw CannotArrange{"the namespace is too large to be filled"};
    value = value_of(0xD1, size);
    for (std::uint8_t i = 0; i <= kMost && refused.status().ok(); ++i) {
      last = key_of(static_cast<std::uint8_t>(0x10 + i), 4);
      refused = scene.store(last, value);
    }
    check.precondition(!refused.status().ok(), "a Store is refused when the namespace is full");
  }
  static std::size_t smallest(ControllerBench& bench) {
    const auto& all = bench.declared().key_value_namespaces;
    const auto less = [](const host::NamespaceFacts& a, const host::NamespaceFacts& b) { return a.pairs.bytes < b.pairs.bytes; };
    return static_cast<std::size_t>(std::min_element(all.begin(), all.end(), less) - all.begin());
  }

  KvScene scene;
  std::size_t size = 0;
  Bytes value;
  KvKey last;
  host::RawReply refused;
};

}  // namespace

CONFORMANCE_CASE(full_namespace_takes_no_more, "nvme.kv.capacity", roles::controller, key_value_namespaces, pairs) {
  FullScene full(bench, check);
  check.status(full.refused, sc::capacity_exceeded, "Store into a full namespace");
  // When a real product has that room again is its own matter.
  if (!bench.embedded()) return;
  std::vector<KvKey> keys;
  for (std::uint8_t mark = 0x10; key_of(mark, 4) != full.last; ++mark) keys.push_back(key_of(mark, 4));
  check.success(full.scene.store(keys.back(), full.value), "Store that replaces a value of the same size in a full namespace");
  for (const KvKey& key : keys) check.success(full.scene.remove(key), "Delete in a full namespace");
  check.equal("NUSE of a namespace that was emptied", full.scene.in_use(), 0u);
  for (const KvKey& key : keys) check.success(full.scene.store(key, full.value), "Store into a namespace that was emptied");
  std::uint64_t used = 0;
  for (const KvKey& key : keys) {
    full.scene.put(key, 0x21, 16);
    used += key.length + 16u;
  }
  check.equal("NUSE after shorter values have replaced all", full.scene.in_use(), used);
}

CONFORMANCE_CASE(full_namespace_keeps_what_it_has, "nvme.kv.capacity.kept", roles::controller, key_value_namespaces, pairs) {
  FullScene full(bench, check);
  const KvKey key = key_of(0x10, 4), small = key_of(0xF1, 4);
  full.scene.drop(key);
  const Bytes value = full.scene.put(small, 0xF1, 16);
  check.precondition_success(full.scene.store(key, full.value), "Store of what was deleted");
  if (full.scene.store(small, full.value).ok()) throw CannotArrange{"there is room still"};
  full.scene.holds(small, value, "the value that could not be replaced");
}

// ---- write protection and reservations ----

CONFORMANCE_CASE(write_protection_holds_for_store, "nvme.kv.protected.store", roles::controller, key_value_namespaces,
                 needs(protects_pairs)) {
  KvScene scene(bench, check);
  const ProtectedPairs guard(scene, check);
  check.status(scene.store(key_of(0xE1, 4), value_of(0xE1, 40)), sc::namespace_write_protected, "Store");
}

CONFORMANCE_CASE(write_protection_holds_for_delete, "nvme.kv.protected.delete", roles::controller, key_value_namespaces,
                 needs(protects_pairs)) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0xE2, 4);
  scene.put(key, 0xE2);
  const ProtectedPairs guard(scene, check);
  check.status(scene.remove(key), sc::namespace_write_protected, "Delete");
}

CONFORMANCE_CASE(write_protection_lets_keys_be_read, "nvme.kv.protected.retrieve", roles::controller, key_value_namespaces,
                 needs(protects_pairs)) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0xE3, 4);
  const Bytes value = scene.put(key, 0xE3);
  const ProtectedPairs guard(scene, check);
  scene.holds(key, value);
}

CONFORMANCE_CASE(reservation_guards_store, "nvme.kv.reservation.store", roles::controller, key_value_namespaces, needs(reserves_pairs)) {
  KvScene scene(bench, check);
  const PairsHolder holder(bench, check, scene.nsid, nvme::ReservationType::write_exclusive);
  check.status(scene.store(key_of(0xE4, 4), value_of(0xE4, 40)), sc::reservation_conflict, "Store");
}

CONFORMANCE_CASE(reservation_guards_delete, "nvme.kv.reservation.delete", roles::controller, key_value_namespaces, needs(reserves_pairs)) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0xE5, 4);
  scene.put(key, 0xE5);
  const PairsHolder holder(bench, check, scene.nsid, nvme::ReservationType::write_exclusive);
  check.status(scene.remove(key), sc::reservation_conflict, "Delete");
}

CONFORMANCE_CASE(exclusive_access_guards_retrieve, "nvme.kv.reservation.retrieve", roles::controller, key_value_namespaces,
                 needs(reserves_pairs)) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0xE6, 4);
  scene.put(key, 0xE6);
  const PairsHolder holder(bench, check, scene.nsid, nvme::ReservationType::exclusive_access);
  check.status(scene.retrieve(key, 64), sc::reservation_conflict, "Retrieve");
}

CONFORMANCE_CASE(write_exclusive_lets_keys_be_read, "nvme.kv.reservation.read", roles::controller, key_value_namespaces,
                 needs(reserves_pairs)) {
  KvScene scene(bench, check);
  const KvKey key = key_of(0xE7, 4);
  const Bytes value = scene.put(key, 0xE7);
  const PairsHolder holder(bench, check, scene.nsid, nvme::ReservationType::write_exclusive);
  scene.holds(key, value);
  scene.has(key);
  const auto listed = scene.list(key, 4096);
  if (!check.success(listed, "List")) return;
  const nvme::KvList keys = nvme::read_kv_list(listed.data);
  check.that(std::find(keys.keys.begin(), keys.keys.end(), key) != keys.keys.end(), "the list has the key", "it has not");
}

}  // namespace fb::conformance
