// The Key Value command set: Store, Retrieve, Delete and Exist.
#include "model/subsystem/io_key_values.h"

#include <algorithm>

#include "model/subsystem/controller.h"
#include "model/subsystem/kv_fault_points.h"
#include "model/subsystem/subsystem.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace kv = nvme::kv_sqe;
namespace so = nvme::store_bits;
using nvme::IoOpcode;
using nvme::KvKey;
using nvme::KvOpcode;

namespace {

KvOpcode opcode_of(const Command& command) { return static_cast<KvOpcode>(command.opcode()); }

std::size_t size_of(const Command& command) { return command.as<nvme::KvSqe>().get(kv::size); }

bool has_option(const Command& command, std::uint8_t bit) { return (command.as<nvme::KvSqe>().get(kv::options) & bit) != 0; }

/// Of no other command set here.
bool is_only_key_value(const Command& command) {
  const KvOpcode opcode = opcode_of(command);
  return opcode == KvOpcode::list || opcode == KvOpcode::remove || opcode == KvOpcode::exist;
}

bool is_common(const Command& command) {
  switch (static_cast<IoOpcode>(command.opcode())) {
    case IoOpcode::flush:
    case IoOpcode::reservation_register:
    case IoOpcode::reservation_report:
    case IoOpcode::reservation_acquire:
    case IoOpcode::reservation_release:
      return true;
    default:
      return false;
  }
}

const Check& length_check(KvOpcode opcode) {
  switch (opcode) {
    case KvOpcode::store:
      return check::kv_store_length;
    case KvOpcode::retrieve:
      return check::kv_retrieve_length;
    case KvOpcode::remove:
      return check::kv_delete_length;
    case KvOpcode::exist:
      return check::kv_exist_length;
    default:
      return check::kv_list_length;
  }
}

bool begins_with(const KvKey& key, const KvKey& prefix) {
  return key.length >= prefix.length && std::equal(prefix.bytes.begin(), prefix.bytes.begin() + prefix.length, key.bytes.begin());
}

}  // namespace

Namespace* KeyValueCommands::key_value_namespace(const Command& command) const {
  Namespace* const ns = controller_.active_namespace(command.nsid());
  return ns != nullptr && ns->key_value() ? ns : nullptr;
}

KeyValueStore& KeyValueCommands::pairs_of(Namespace& ns) const {
  if (departs(departure::kv_namespaces_one)) {
    for (const auto& [nsid, other] : subsystem_.namespaces()) {
      if (other->key_value()) return *other->pairs();
    }
  }
  return *ns.pairs();
}

bool KeyValueCommands::concerns(const Command& command) const {
  if (!subsystem_.options().key_value.supported) return false;
  if (key_value_namespace(command) == nullptr) return is_only_key_value(command) && controller_.key_values_selected();
  const bool flush = static_cast<IoOpcode>(command.opcode()) == IoOpcode::flush;
  return !is_common(command) || (flush && departs(departure::kv_flush));
}

void KeyValueCommands::start(const Command& command) {
  Queue& queue = *command.queue;
  Namespace* ns = nullptr;
  if (!controller_.io_.find_namespace(command, ns)) return;
  if (ns == nullptr || !ns->key_value()) {
    if (!queue.refuse(command, check::kv_namespace)) queue.complete(command, sc::success);
    return;
  }
  if (nvme::kv_opcode_name(command.opcode()).empty()) {
    if (!queue.refuse(command, check::kv_opcode)) queue.complete(command, sc::success);
    return;
  }
  if (!controller_.io_.check_path(command, *ns) || !reservation_permits(command, *ns)) return;
  if (!key_fits(command, pairs_of(*ns))) return;
  switch (opcode_of(command)) {
    case KvOpcode::store:
      return store(command, *ns);
    case KvOpcode::retrieve:
      return retrieve(command, *ns);
    case KvOpcode::remove:
      return delete_key(command, *ns);
    case KvOpcode::exist:
      return exist(command, *ns);
    case KvOpcode::list:
      return list(command, *ns);
  }
}

void KeyValueCommands::take_data(const Command& command) {
  Namespace* const ns = key_value_namespace(command);
  if (ns == nullptr || opcode_of(command) != KvOpcode::store) return command.queue->complete(command, sc::success);
  store_data(command, *ns, command.data().first(std::min(size_of(command), command.data().size())));
}

/// Exist and List are neither reads nor writes of data.
bool KeyValueCommands::reservation_permits(const Command& command, const Namespace& ns) {
  const KvOpcode opcode = opcode_of(command);
  if (opcode == KvOpcode::exist || opcode == KvOpcode::list) return true;
  const bool ignored = (opcode == KvOpcode::store && departs(departure::kv_reserved_store)) ||
                       (opcode == KvOpcode::remove && departs(departure::kv_reserved_delete)) ||
                       (opcode == KvOpcode::retrieve && departs(departure::kv_reserved_retrieve));
  if (ignored) return true;
  const bool reads = opcode == KvOpcode::retrieve && !departs(departure::kv_reserved_reads);
  return controller_.reservations_.reservation_allows(command, ns, reads ? Access::read : Access::write);
}

bool KeyValueCommands::writable(const Command& command, const Namespace& ns) {
  return ns.write_protection() == 0 || !command.queue->refuse(command, check::kv_write_protected);
}

/// False: the command has been answered.
bool KeyValueCommands::key_fits(const Command& command, const KeyValueStore& pairs) {
  Queue& queue = *command.queue;
  const KvOpcode opcode = opcode_of(command);
  const std::size_t length = command.as<nvme::KvSqe>().get(kv::kl);
  if (length > nvme::kKvKeyMax && queue.refuse(command, length_check(opcode))) return false;
  const std::size_t most = pairs.format().key_max;
  if (length > most && queue.refuse(command, check::kv_key_size)) return false;
  // A list may begin anywhere.
  if (length == 0 && opcode != KvOpcode::list && queue.refuse(command, check::kv_key_empty)) return false;
  if (length == 1 && departs(departure::kv_key_one)) return !queue.refuse(command, check::kv_key_size);
  if (length == most && departs(departure::kv_key_longest)) return !queue.refuse(command, check::kv_key_size);
  return true;
}

KvKey KeyValueCommands::key_of(const Command& command) const {
  const auto sqe = command.as<nvme::KvSqe>();
  KvKey key = nvme::key_of(sqe);
  if (departs(departure::kv_key_beyond)) key.bytes = nvme::key_bytes_of(sqe);
  if (departs(departure::kv_key_short) && key.length == nvme::kKvKeyMax) key.bytes[nvme::kKvKeyMax - 1] = 0;
  if (departs(departure::kv_key_low)) std::fill_n(key.bytes.begin() + 8, 4, std::uint8_t{0});
  if (departs(departure::kv_key_padded)) key.length = nvme::kKvKeyMax;
  return key;
}

// ---- Store ----

/// What stands in the way of a Store. False: the command has been answered.
bool KeyValueCommands::store_permitted(const Command& command, Namespace& ns) {
  Queue& queue = *command.queue;
  KeyValueStore& pairs = pairs_of(ns);
  const KvKey key = key_of(command);
  const bool there = pairs.find(key) != nullptr;
  if (there && has_option(command, so::must_not_exist)) {
    if (departs(departure::kv_store_guarded)) pairs.store(key, {});
    if (queue.refuse(command, check::kv_store_exists)) return false;
  }
  if (!there && has_option(command, so::must_exist)) {
    if (departs(departure::kv_store_creates)) pairs.store(key, {});
    if (queue.refuse(command, check::kv_store_missing)) return false;
  }
  const std::uint32_t most = pairs.format().keys_max;
  if (!there && most != 0 && pairs.count() >= most && queue.refuse(command, check::kv_keys_max)) return false;
  if (pairs.admits(key, size_of(command))) return true;
  if (departs(departure::kv_capacity_lost)) pairs.remove(key);
  return !queue.refuse(command, check::kv_capacity);
}

void KeyValueCommands::store(const Command& command, Namespace& ns) {
  Queue& queue = *command.queue;
  const std::size_t size = size_of(command);
  const std::uint32_t most = pairs_of(ns).format().value_max;
  if (size > most && queue.refuse(command, check::kv_value_size)) return;
  if (size == most && departs(departure::kv_value_longest) && queue.refuse(command, check::kv_value_size)) return;
  if (!controller_.transfer_fits(size) && queue.refuse(command, check::io_mdts)) return;
  if (has_option(command, so::no_compression) && departs(departure::kv_store_plain)) return queue.complete(command, sc::invalid_field);
  if (!writable(command, ns) || !store_permitted(command, ns)) return;
  if (size == 0) return store_data(command, ns, {});
  if (queue.stage(command, size)) queue.pull(command);
}

void KeyValueCommands::store_data(const Command& command, Namespace& ns, ByteView value) {
  Queue& queue = *command.queue;
  // Things may have changed while the data was on its way.
  if (!writable(command, ns) || !store_permitted(command, ns)) return;
  KeyValueStore& pairs = pairs_of(ns);
  const KvKey key = key_of(command);
  subsystem_.sanitizer().note_write();
  Bytes stored(value.begin(), value.end());
  const Bytes* const old = pairs.find(key);
  bool lost = old != nullptr && departs(departure::kv_store_old);
  lost = lost || (value.empty() && departs(departure::kv_store_empty));
  lost = lost || (has_option(command, so::must_not_exist) && departs(departure::kv_store_unguarded));
  lost = lost || (has_option(command, so::must_exist) && departs(departure::kv_store_replaces));
  lost = lost || (queue.qid() > 1 && departs(departure::kv_queue_lost));
  if (departs(departure::kv_store_corrupt) && !stored.empty()) stored.back() = 0;
  if (departs(departure::kv_value_dwords)) stored.resize(stored.size() & ~std::size_t{3});
  if (old != nullptr && old->size() > stored.size() && departs(departure::kv_store_tail)) {
    stored.insert(stored.end(), old->begin() + static_cast<std::ptrdiff_t>(stored.size()), old->end());
  }
  if (old != nullptr && stored.size() > old->size()) nuse_below_[ns.nsid()] += stored.size() - old->size();
  if (const auto grave = deleted_.find(key); grave != deleted_.end() && departs(departure::kv_delete_returns)) stored = grave->second;
  if (!lost) pairs.store(key, stored);
  controller_.io_.count_io(ns, value.size(), true);
  queue.complete(command, sc::success);
}

// ---- Retrieve, Exist and Delete ----

void KeyValueCommands::retrieve(const Command& command, Namespace& ns) {
  Queue& queue = *command.queue;
  const std::size_t room = size_of(command);
  if (!controller_.transfer_fits(room) && queue.refuse(command, check::io_mdts)) return;
  if (departs(departure::kv_protected_retrieve) && !writable(command, ns)) return;
  const bool raw = has_option(command, nvme::retrieve_bits::raw);
  if (raw && departs(departure::kv_retrieve_raw)) return queue.complete(command, sc::invalid_field);
  if (room == 0 && departs(departure::kv_retrieve_none)) return queue.complete(command, sc::invalid_field);
  const Bytes* const value = pairs_of(ns).find(key_of(command));
  if (value == nullptr) {
    if (!queue.refuse(command, check::kv_retrieve_missing)) queue.complete(command, sc::success);
    return;
  }
  const bool cut = room < value->size();
  if (cut && departs(departure::kv_retrieve_refused)) return queue.complete(command, sc::invalid_field);
  const std::size_t bytes = std::min(room, value->size());
  std::size_t size = cut && departs(departure::kv_retrieve_room) ? room : value->size();
  if (departs(departure::kv_retrieve_size)) size = 0;
  controller_.io_.count_io(ns, bytes, false);
  if (bytes == 0) return queue.complete(command, sc::success, size);
  if (!queue.stage(command, bytes)) return;
  const std::size_t from = departs(departure::kv_retrieve_end) ? value->size() - bytes : 0;
  std::copy_n(value->begin() + static_cast<std::ptrdiff_t>(from), bytes, command.data().begin());
  queue.complete_with_data(command, bytes, size);
}

void KeyValueCommands::exist(const Command& command, Namespace& ns) {
  Queue& queue = *command.queue;
  const KeyValueStore& pairs = pairs_of(ns);
  const KvKey key = key_of(command);
  const Bytes* const value = pairs.find(key);
  bool there = value != nullptr && !(value->empty() && departs(departure::kv_exist_never));
  if (departs(departure::kv_exist_after)) {
    const auto keys = pairs.keys_from({});
    there = there || std::any_of(keys.begin(), keys.end(), [&](const KvKey& other) { return begins_with(key, other); });
  }
  if (there || !queue.refuse(command, check::kv_exist_missing)) queue.complete(command, sc::success);
}

void KeyValueCommands::delete_key(const Command& command, Namespace& ns) {
  Queue& queue = *command.queue;
  if (!departs(departure::kv_protected_delete) && !writable(command, ns)) return;
  KeyValueStore& pairs = pairs_of(ns);
  const KvKey key = key_of(command);
  const Bytes* const value = pairs.find(key);
  if (value == nullptr) {
    const bool fails = pairs.delete_fails() || departs(departure::kv_delete_always_fails);
    if (!fails || !queue.refuse(command, check::kv_delete_missing)) queue.complete(command, sc::success);
    return;
  }
  nuse_above_[ns.nsid()] += key.length + value->size();
  deleted_[key] = *value;
  last_deleted_ = key;
  if (!departs(departure::kv_delete_nothing)) pairs.remove(key);
  if (departs(departure::kv_delete_prefixed)) {
    for (const KvKey& other : pairs.keys_from({})) {
      if (begins_with(other, key)) pairs.remove(other);
    }
  }
  queue.complete(command, sc::success);
}

}  // namespace fb::subsystem
