// What the cases about the Key Value command set share: a namespace of it, with a known format and nothing in it.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/cases/nvme/scene.h"
#include "wire/nvme/kv.h"

namespace fb::conformance {

using nvme::KvKey;

inline constexpr auto kPairsSet = static_cast<std::uint8_t>(nvme::CommandSet::key_value);

// ---- which products a case needs ----

inline std::optional<std::string> has_pairs(const Declared& declared) {
  if (!declared.known) return {};
  if (declared.key_value_namespaces.empty()) return "no key value namespace";
  constexpr unsigned kUnits = 3, kDwords = 2;
  if ((declared.identify().get(nvme::id_ctrl::sgls) & kUnits) == kDwords) return "SGLS asks for whole dwords, and values have any size";
  return {};
}
inline std::optional<std::string> has_two_of_pairs(const Declared& declared) {
  if (const auto why = has_pairs(declared)) return why;
  if (!declared.known || declared.key_value_namespaces.size() >= 2) return {};
  return "there are no two key value namespaces";
}
inline const needs pairs{has_pairs};
inline const needs two_of_pairs{has_two_of_pairs};

/// What the emulated product has: two namespaces, and two formats.
inline void add_key_value_namespaces(EmbeddedSetup& setup) {
  setup.subsystem.version = std::max(setup.subsystem.version, fabrics::version(2, 0, 0));
  setup.subsystem.key_value = {.supported = true, .formats = {{.value_max = 1 << 15}, {.key_max = 8, .value_max = 4096, .keys_max = 6}}};
  setup.namespaces.push_back({.key_value_bytes = 1 << 20});
  setup.namespaces.push_back({.key_value_bytes = 1 << 18});
}
inline const furnished key_value_namespaces{&add_key_value_namespaces};

// ---- a host at a key value namespace ----

/// Selects a combination of command sets that has key values.
inline void select_pairs(RawAssociation& association) {
  auto command = host::identify(nvme::Cns::command_set_combinations);
  command.set(nvme::identify_sqe::cntid, 0xFFFF);
  const auto page = association.admin().send(command, nvme::kIdentifySize).wait();
  if (!page.ok()) return;
  for (std::uint32_t i = 0; i < nvme::kCommandSetCombinationsMax; ++i) {
    if ((nvme::command_set_combination(page.data, i) >> kPairsSet & 1) == 0) continue;
    if (i == 0) return;  // the one in force
    association.admin().send(host::set_features(nvme::FeatureId::io_command_set_profile, i)).wait();
    return;
  }
}

inline Record<nvme::IdentifySqe> identify_pairs(nvme::Cns cns, std::uint32_t nsid = 0) {
  auto command = host::identify(cns, nsid);
  command.set(nvme::identify_sqe::csi, kPairsSet);
  return command;
}

/// `length` bytes that differ from those of another mark in the first byte.
inline KvKey key_of(std::uint8_t mark, std::size_t length) {
  Bytes bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::uint8_t>(mark + 29 * i);
  return KvKey::of(bytes);
}
inline Bytes value_of(std::uint8_t mark, std::size_t bytes) { return pattern(mark, 1, bytes); }

class KvScene {
 public:
  /// The `index`th key value namespace, empty, in the format with the longest keys and values.
  KvScene(ControllerBench& bench, Check& check, std::size_t index = 0) : association(bench.associate()), bench_(bench), check_(check) {
    const auto& all = bench.declared().key_value_namespaces;
    if (index >= all.size()) throw CannotArrange{"the product has no such key value namespace"};
    nsid = all[index].nsid;
    select_pairs(association);
    io = &association.open_io();
    begin();
  }

  host::RawQueue& admin() { return association.admin(); }
  const std::vector<Record<nvme::KvFormat>>& formats() const { return formats_; }
  std::size_t key_max() const { return formats_[format_].get(nvme::kv_format::kml); }
  std::uint64_t value_max() const { return formats_[format_].get(nvme::kv_format::vml); }

  // ---- commands, to be judged ----

  host::RawReply store(const KvKey& key, ByteView value, std::uint8_t options = 0) {
    const auto command = host::kv_store(nsid, key, value.size(), options);
    return value.empty() ? io->send(command).wait() : io->send(command, value).wait();
  }
  host::RawReply retrieve(const KvKey& key, std::size_t room, std::uint8_t options = 0) {
    const auto command = host::kv_retrieve(nsid, key, room, options);
    return room == 0 ? io->send(command).wait() : io->send(command, room).wait();
  }
  host::RawReply remove(const KvKey& key) { return io->send(host::kv_delete(nsid, key)).wait(); }
  host::RawReply exist(const KvKey& key) { return io->send(host::kv_exist(nsid, key)).wait(); }
  host::RawReply list(const KvKey& from, std::size_t room) { return io->send(host::kv_list(nsid, from, room), room).wait(); }
  host::RawReply format(std::size_t index) { return admin().send(host::format_nvm(nsid, static_cast<unsigned>(index))).wait(); }
  host::RawReply set_delete_fails(bool on, std::optional<std::uint32_t> other = {}) {
    auto command = host::set_features(nvme::FeatureId::key_value_configuration, on ? 1 : 0);
    command.set(nvme::sqe::nsid, other.value_or(nsid));
    return admin().send(command).wait();
  }
  host::RawReply delete_fails(std::optional<std::uint32_t> other = {}) {
    auto command = host::get_features(nvme::FeatureId::key_value_configuration);
    command.set(nvme::sqe::nsid, other.value_or(nsid));
    return admin().send(command).wait();
  }

  // ---- what is assumed to work ----

  Bytes page() {
    const auto reply = admin().send(identify_pairs(nvme::Cns::command_set_namespace, nsid), nvme::kIdentifySize).wait();
    check_.precondition_success(reply, "Identify of CNS 05h");
    return reply.data;
  }
  std::uint64_t in_use() { return View<nvme::IdentifyNamespaceKv>{page()}.get(nvme::id_ns_kv::nuse); }
  /// A pair that the case does not judge.
  Bytes put(const KvKey& key, std::uint8_t mark, std::size_t bytes = 40) {
    const Bytes value = value_of(mark, bytes);
    check_.precondition_success(store(key, value), "Store");
    return value;
  }
  void drop(const KvKey& key) { check_.precondition_success(remove(key), "Delete"); }
  std::vector<KvKey> keys_from(const KvKey& from, std::size_t room = 4096) {
    const auto reply = list(from, room);
    check_.precondition_success(reply, "List");
    const nvme::KvList keys = nvme::read_kv_list(reply.data);
    check_.precondition(keys.whole, "the list has as many keys as NRK says");
    return keys.keys;
  }

  // ---- judged ----

  /// The key has this value.
  void holds(const KvKey& key, ByteView value, std::string_view what = "the value") {
    const auto reply = retrieve(key, std::max<std::size_t>(value.size(), 4));
    if (!check_.success(reply, "Retrieve of " + std::string(what))) return;
    check_.equal("size of " + std::string(what), reply.dw0(), value.size());
    check_.bytes(what, ByteView{reply.data}.first(value.size()), value);
  }
  void has(const KvKey& key, std::string_view what = "the key") { check_.success(exist(key), "Exist of " + std::string(what)); }
  void lacks(const KvKey& key, std::string_view what = "the key") {
    check_.status(exist(key), sc::key_does_not_exist, "Exist of " + std::string(what));
  }

  /// A new association of the same host.
  void rejoin() {
    RawAssociation& again = bench_.associate();
    select_pairs(again);
    io = &again.open_io();
  }

  RawAssociation& association;
  host::RawQueue* io = nullptr;
  std::uint32_t nsid = 0;

 private:
  void begin() {
    const Bytes now = page();
    const View<nvme::IdentifyNamespaceKv> view{now};
    const std::size_t count = std::min<std::size_t>(view.get(nvme::id_ns_kv::nkvf).count(), nvme::kKvFormatsMax);
    for (std::size_t i = 0; i < count; ++i) {
      formats_.emplace_back(element<nvme::KvFormat>(now, nvme::id_ns_kv::kvf, i).bytes());
    }
    const auto worth = [this](std::size_t i) {
      return std::pair(formats_[i].get(nvme::kv_format::kml), formats_[i].get(nvme::kv_format::vml));
    };
    for (std::size_t i = 1; i < count; ++i) {
      if (worth(i) > worth(format_)) format_ = i;
    }
    if (key_max() < 4 || value_max() < 256) throw CannotArrange{"keys or values are too short for the cases"};
    const bool can = (bench_.declared().identify().get(nvme::id_ctrl::oacs) & nvme::oacs_bits::format_nvm) != 0;
    if (can) return check_.precondition_success(format(format_), "Format NVM");
    if (count != 1) throw CannotArrange{"which format is in use is not known, and there is no Format NVM"};
    for (int i = 0; i < 64; ++i) {
      const auto left = keys_from(key_of(0, 1));
      if (left.empty()) return;
      for (const KvKey& key : left) drop(key);
    }
    throw CannotArrange{"the namespace cannot be emptied"};
  }

  ControllerBench& bench_;
  Check& check_;
  std::vector<Record<nvme::KvFormat>> formats_;
  std::size_t format_ = 0;
};

}  // namespace fb::conformance
