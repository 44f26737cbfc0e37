// The Key Value command set: List, and what formats, resets and Identify have to do with pairs.
#include <algorithm>

#include "model/subsystem/controller.h"
#include "model/subsystem/kv_fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_namespace.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
using nvme::KvKey;

std::vector<KvKey> KeyValueCommands::keys_to_list(const Command& command, Namespace& ns) {
  const KeyValueStore& pairs = pairs_of(ns);
  const KvKey from = key_of(command);
  const bool there = pairs.find(from) != nullptr;
  std::vector<KvKey> keys = pairs.keys_from(from);
  if (departs(departure::kv_list_deleted) && last_deleted_.length != 0) keys.push_back(last_deleted_);
  if (there && departs(departure::kv_list_start)) keys.erase(keys.begin());
  if (keys.size() > 1 && departs(departure::kv_list_gap)) keys.pop_back();
  if (keys.size() > 1 && departs(departure::kv_list_twice)) keys.push_back(keys.back());
  if (departs(departure::kv_list_order)) {
    reversed_ = !reversed_;
    if (reversed_ && keys.size() > 2) std::reverse(keys.begin() + 1, keys.end());
  }
  if (departs(departure::kv_list_lengths)) {
    for (KvKey& key : keys) key.length = nvme::kKvKeyMax;
  }
  return keys;
}

namespace {

/// A deviation: without what fills an entry up to 4 bytes.
void write_packed(MutableBytes place, const std::vector<KvKey>& keys) {
  std::fill(place.begin(), place.end(), std::uint8_t{0});
  std::size_t at = nvme::KvListHeader::size;
  std::uint32_t count = 0;
  for (const KvKey& key : keys) {
    const std::size_t bytes = nvme::list_entry_bytes(key.length);
    if (at + bytes > place.size()) break;
    store_le(place.data() + at, std::uint16_t{key.length});
    std::copy_n(key.bytes.begin(), key.length, place.begin() + static_cast<std::ptrdiff_t>(at + nvme::KvListEntryHeader::size));
    at += bytes;
    ++count;
  }
  if (place.size() >= nvme::KvListHeader::size) store_le(place.data(), count);
}

/// A deviation: one more than the list has, with as much of its key as there is room for.
void add_cut_key(MutableBytes place, const std::vector<KvKey>& keys, std::size_t written) {
  std::size_t at = nvme::KvListHeader::size;
  for (std::size_t i = 0; i < written; ++i) at += nvme::list_entry_step(keys[i].length);
  if (written >= keys.size() || at + nvme::KvListEntryHeader::size > place.size()) return;
  store_le(place.data() + at, std::uint16_t{keys[written].length});
  at += nvme::KvListEntryHeader::size;
  const std::size_t bytes = std::min<std::size_t>(place.size() - at, keys[written].length);
  std::copy_n(keys[written].bytes.begin(), bytes, place.begin() + static_cast<std::ptrdiff_t>(at));
  store_le(place.data(), static_cast<std::uint32_t>(written + 1));
}

}  // namespace

void KeyValueCommands::list(const Command& command, Namespace& ns) {
  Queue& queue = *command.queue;
  const std::size_t room = command.as<nvme::KvSqe>().get(nvme::kv_sqe::size);
  if (!controller_.transfer_fits(room) && queue.refuse(command, check::io_mdts)) return;
  const KeyValueStore& pairs = pairs_of(ns);
  if (pairs.count() == 0 && departs(departure::kv_list_empty)) return queue.complete(command, sc::key_does_not_exist);
  if (pairs.find(key_of(command)) == nullptr && departs(departure::kv_list_missing)) {
    return queue.complete(command, sc::key_does_not_exist);
  }
  const std::vector<KvKey> keys = keys_to_list(command, ns);
  if (room == 0) return queue.complete(command, sc::success);
  if (!queue.stage(command, room)) return;
  const MutableBytes out = command.data().first(room);
  std::size_t written = nvme::write_kv_list(out, keys);
  std::size_t end = nvme::KvListHeader::size;
  for (std::size_t i = 0; i < written; ++i) end += nvme::list_entry_step(keys[i].length);
  if (written != 0 && end >= room && departs(departure::kv_list_exact)) {
    written = nvme::write_kv_list(out, {keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(written - 1)});
  }
  if (departs(departure::kv_list_packed)) write_packed(out, keys);
  if (departs(departure::kv_list_cut)) add_cut_key(out, keys, written);
  if (departs(departure::kv_list_count) && out.size() >= 4) store_le(out.data(), static_cast<std::uint32_t>(keys.size()));
  queue.complete_with_data(command, room);
}

// ---- around the commands ----

bool KeyValueCommands::supported(std::uint8_t opcode) const {
  if (opcode == nvme::opcode_of(nvme::KvOpcode::exist) && departs(departure::kv_effects_missing)) return false;
  if (!nvme::kv_opcode_name(opcode).empty()) return true;
  const auto common = static_cast<nvme::IoOpcode>(opcode);
  const bool reserves = common == nvme::IoOpcode::reservation_register || common == nvme::IoOpcode::reservation_report ||
                        common == nvme::IoOpcode::reservation_acquire || common == nvme::IoOpcode::reservation_release;
  return common == nvme::IoOpcode::flush || (reserves && subsystem_.options().reservations);
}

bool KeyValueCommands::format_fits(const Command& command, std::size_t index) {
  return index < subsystem_.options().key_value.formats.size() || !command.queue->refuse(command, check::kv_format);
}

void KeyValueCommands::format_one(const Command& command, Namespace& ns) {
  namespace fq = nvme::format_sqe;
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::FormatSqe>();
  const std::size_t index = sqe.get(fq::lbafl) | static_cast<unsigned>(sqe.get(fq::lbafu)) << 4;
  constexpr unsigned kCryptographicErase = 2;
  if (sqe.get(fq::ses) > kCryptographicErase && queue.refuse(command, check::format_erase)) return;
  if (!format_fits(command, index)) return;
  if (ns.write_protection() != 0 && queue.refuse(command, check::format_write_protected)) return;
  if (!controller_.io_.check_path(command, ns) || !controller_.reservations_.reservation_allows(command, ns, Access::write)) return;
  Record<nvme::FormatStartEvent> began;
  began.set(nvme::format_start_event::nsid, ns.nsid())
      .set(nvme::format_start_event::fna, nvme::fna_bits::crypto_erase)
      .set(nvme::format_start_event::cdw10, command.as<nvme::SqeLayout>().get(nvme::sqe::cdw10));
  controller_.logs_.record(nvme::PersistentEventType::format_start, began.bytes());
  format(ns, index);
  Record<nvme::FormatEndEvent> ended;
  ended.set(nvme::format_end_event::nsid, ns.nsid()).set(nvme::format_end_event::status, sc::success);
  controller_.logs_.record(nvme::PersistentEventType::format_completion, ended.bytes());
  queue.complete(command, sc::success);
  subsystem_.namespace_changed(ns.nsid());
}

void KeyValueCommands::format(Namespace& ns, std::size_t index) {
  const std::vector<KeyValueFormat>& formats = subsystem_.options().key_value.formats;
  const bool first = index >= formats.size() || departs(departure::kv_format_first);
  ns.pairs()->set_format(formats[first ? 0 : index]);
  if (!departs(departure::kv_format_keeps)) ns.pairs()->clear();
}

void KeyValueCommands::set_delete_fails(Namespace& ns, bool on) {
  ns.pairs()->set_delete_fails(on);
  if (!departs(departure::kv_feature_shared)) return;
  for (const auto& [nsid, other] : subsystem_.namespaces()) {
    if (other->key_value()) other->pairs()->set_delete_fails(on);
  }
}

std::uint64_t KeyValueCommands::bytes_in_use(const Namespace& ns) const {
  const KeyValueStore& pairs = *ns.pairs();
  std::uint64_t used = pairs.used();
  const auto amount = [&](const std::map<std::uint32_t, std::uint64_t>& from) {
    const auto found = from.find(ns.nsid());
    return found == from.end() ? 0 : found->second;
  };
  if (departs(departure::kv_nuse_kept)) used += amount(nuse_above_);
  if (departs(departure::kv_nuse_overwrite)) used -= std::min(used, amount(nuse_below_));
  if (departs(departure::kv_nuse_values)) {
    for (const KvKey& key : pairs.keys_from({})) used -= key.length;
  }
  if (departs(departure::kv_nuse_stays)) used = 0;
  if (departs(departure::kv_nuse_above)) used = pairs.bytes() + 1;
  return used;
}

/// For a deviation.
void KeyValueCommands::lose_all() {
  for (const auto& [nsid, ns] : subsystem_.namespaces()) {
    if (ns->key_value()) ns->pairs()->clear();
  }
}

void KeyValueCommands::on_reset() {
  if (departs(departure::kv_reset_lost)) lose_all();
  if (!departs(departure::kv_feature_reset)) return;
  for (const auto& [nsid, ns] : subsystem_.namespaces()) {
    if (ns->key_value()) ns->pairs()->set_delete_fails(false);
  }
}

void KeyValueCommands::on_end() {
  if (departs(departure::kv_connect_lost)) lose_all();
}

/// False: the command has been answered, as the command set of the namespace is another one.
bool IdentifyCommand::key_value_page(const Command& command, const Namespace& ns, MutableBytes page) {
  const std::uint8_t csi = command.as<nvme::IdentifySqe>().get(nvme::identify_sqe::csi);
  const bool asks_pairs = csi == static_cast<std::uint8_t>(nvme::CommandSet::key_value);
  if (asks_pairs && !ns.key_value()) return !command.queue->refuse(command, check::kv_identify_namespace);
  if (!asks_pairs && command.queue->refuse(command, check::kv_identify_nvm)) return false;
  if (ns.key_value()) fill_key_value_namespace(&ns, page);
  return true;
}

void IdentifyCommand::fill_key_value_namespace(const Namespace* ns, MutableBytes page) const {
  namespace id = nvme::id_ns_kv;
  const SubsystemOptions& options = subsystem_.options();
  const std::vector<KeyValueFormat>& formats = options.key_value.formats;
  MutableView<nvme::IdentifyNamespaceKv> out{page};
  out.set(id::nkvf, ZeroBased<std::uint8_t>::of(formats.size() + (departs(departure::kv_format_last) ? 1 : 0)));
  Bytes independent(nvme::kIdentifySize);
  ns != nullptr ? fill_independent(*ns, independent) : fill_common_independent(independent);
  const View<nvme::IdentifyNamespaceIndependent> common{independent};
  out.set(id::rescap, common.get(nvme::id_ns_independent::rescap) ^ (departs(departure::kv_rescap) ? 1u : 0u));
  for (std::size_t i = 0; i < formats.size(); ++i) {
    edit_element<nvme::KvFormat>(page, id::kvf, i)
        .set(nvme::kv_format::kml, departs(departure::kv_format_key_max) ? std::uint16_t{32} : formats[i].key_max)
        .set(nvme::kv_format::vml, formats[i].value_max)
        .set(nvme::kv_format::mnk, formats[i].keys_max);
  }
  if (departs(departure::kv_reserved)) page[8] = 1;
  if (ns == nullptr) return;
  const nvme::AnaState state = controller_.io_.ana_state_of(*ns);
  const bool untold = state == nvme::AnaState::inaccessible || state == nvme::AnaState::persistent_loss;
  const std::uint64_t bytes = ns->pairs()->bytes();
  out.set(id::nsze, departs(departure::kv_nsze_blocks) ? bytes / 512 : bytes)
      .set(id::nuse, untold ? 0 : controller_.key_values_.bytes_in_use(*ns))
      .set(id::nmic, common.get(nvme::id_ns_independent::nmic) ^ (departs(departure::kv_nmic) ? 1u : 0u))
      .set(id::anagrpid, common.get(nvme::id_ns_independent::anagrpid) + (departs(departure::kv_anagrpid) ? 1u : 0u))
      .set(id::nsattr, common.get(nvme::id_ns_independent::nsattr) ^ (departs(departure::kv_nsattr) ? 1u : 0u))
      .set(id::nvmsetid, ns->nvm_set())
      .set(id::endgid, ns->endurance_group())
      .set(id::nguid, ByteView{ns->nguid()})
      .set(id::eui64, ByteView{ns->eui64()});
  if (departs(departure::kv_nguid)) page[id::nguid.offset] ^= 1;
  if (departs(departure::kv_eui64)) page[id::eui64.offset + 7] ^= 1;
}

}  // namespace fb::subsystem
