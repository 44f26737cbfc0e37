#include "model/subsystem/check_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "wire/fabrics/nqn.h"
#include "wire/nvme/kv.h"

namespace fb::subsystem {

namespace {

/// 4 KiB to the power of 19 are 2 GiB: what the transports move with one command at most.
constexpr std::uint64_t kLargestMdts = 19;
/// Sizes in bytes have 63 bits.
constexpr std::uint64_t kLargestNamespace = std::uint64_t{1} << 62;
constexpr std::uint16_t kLargestCntlid = 0xFFEF;
constexpr std::array kVersions = {fabrics::version(1, 4, 0), fabrics::version(2, 0, 0), fabrics::version(2, 1, 0)};

/// The first thing that is wrong.
class Checked {
 public:
  void within(const char* field, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
    if (value < low || value > high) refuse(fmt::format("{}: {} is outside {} to {}", field, value, low, high));
  }
  void text(const char* field, const std::string& value, std::size_t most) {
    const bool ascii = std::ranges::all_of(value, [](char c) { return c >= 0x20 && c < 0x7F; });
    if (value.size() > most || !ascii) refuse(fmt::format("{}: '{}' is not at most {} characters of ASCII", field, value, most));
  }
  void name(const char* field, const std::string& value) {
    if (!fabrics::valid_nqn(value)) {
      refuse(fmt::format("{}: '{}' is not an NVMe qualified name, such as nqn.2026-01.org.example:disk1", field, value));
    }
  }
  void that(bool holds, const std::string& why) {
    if (!holds) refuse(why);
  }
  Result<void> result() const {
    if (first_.empty()) return {};
    return Failure{Problem{first_}};
  }

 private:
  void refuse(const std::string& why) {
    if (first_.empty()) first_ = why;
  }
  std::string first_;
};

void check_placement(Checked& all, const SubsystemOptions& options) {
  const FdpOptions& fdp = options.fdp;
  if (!fdp.supported()) {
    all.that(fdp.enabled.empty(), "fdp.enabled: there is no configuration");
    return;
  }
  all.that(options.endurance.supported() && !options.endurance.nvm_sets, "fdp: needs endurance groups without NVM sets");
  all.that(options.version >= fabrics::version(2, 0, 0), "fdp: needs version 2.0 or later");
  all.that(options.directives.supported && options.namespace_management.supported, "fdp: needs directives and namespace_management");
  all.within("fdp.events_max", fdp.events_max, 1, 63);
  all.within("fdp.configurations", fdp.configurations.size(), 1, 256);
  for (const std::uint16_t group : fdp.enabled) all.within("fdp.enabled", group, 1, options.endurance.groups);
  for (const FdpConfiguration& one : fdp.configurations) {
    all.within("fdp.configurations.group_bits", one.group_bits, one.reclaim_groups > 1 ? 1 : 0, 15);
    all.within("fdp.configurations.reclaim_groups", one.reclaim_groups, 1, std::uint64_t{1} << one.group_bits);
    all.within("fdp.configurations.handles", one.handles, 1, std::min(128u, 1u << (16 - one.group_bits)));
    all.within("fdp.configurations.persistent_handles", one.persistent_handles, 0, one.handles);
    all.within("fdp.configurations.unit_bytes", one.unit_bytes, 1 << 16, kLargestNamespace);
    all.within("fdp.configurations.identifiers_max", one.identifiers_max, 1, std::uint64_t{one.reclaim_groups} * one.handles);
    all.within("fdp.configurations.namespaces_max", one.namespaces_max, 1, options.namespaces_max);
  }
}

}  // namespace

Result<void> check_options(const SubsystemOptions& options) {
  Checked all;
  all.name("nqn", options.nqn);
  all.that(options.nqn != fabrics::kDiscoveryNqn, "nqn: that is the name of the discovery service");
  for (const std::string& host : options.allowed_hosts) all.name("allowed_hosts", host);
  all.text("serial", options.serial, 20);
  all.text("model", options.model, 40);
  all.text("firmware", options.firmware, 8);
  all.that(std::ranges::find(kVersions, options.version) != kVersions.end(),
           fmt::format("version: {:#x} is not supported; known are 0x10400 (1.4), 0x20000 (2.0) and 0x20100 (2.1)", options.version));
  if (options.controllers == ControllerModel::static_controllers) {
    all.that(!options.static_cntlids.empty(), "static_cntlids: at least one");
    for (const std::uint16_t id : options.static_cntlids) all.within("static_cntlids", id, 1, kLargestCntlid);
    std::vector<std::uint16_t> sorted = options.static_cntlids;
    std::ranges::sort(sorted);
    all.that(std::ranges::adjacent_find(sorted) == sorted.end(), "static_cntlids: one occurs twice");
  }
  all.within("controllers_max", options.controllers_max, 1, kLargestCntlid);
  all.within("io_queues_max", options.io_queues_max, 1, 65534);
  all.within("admin_entries_max", options.admin_entries_max, 32, 4096);
  all.within("io_entries_max", options.io_entries_max, 2, 65535);
  all.within("mdts", options.mdts, 0, kLargestMdts);
  all.within("verify_limit", options.verify_limit, 0, kLargestMdts);
  all.within("write_zeroes_limit", options.write_zeroes_limit, 0, kLargestMdts);
  all.within("abort_limit", options.abort_limit, 1, 255);
  all.within("aer_limit", options.aer_limit, 1, 255);
  all.within("error_entries", options.error_entries, 1, 256);
  all.within("atomic_power_fail_blocks", options.atomic_power_fail_blocks, 1, 65536);
  all.within("atomic_compare_write_blocks", options.atomic_compare_write_blocks, 1, 65535);
  all.within("namespaces_max", options.namespaces_max, 1, 0xFFFFFFFE);
  all.within("ana_groups_max", options.ana_groups_max, 1, 65535);
  all.within("zoned.append_limit", options.zoned.append_limit, 0, kLargestMdts);
  check_placement(all, options);
  all.within("key_value.formats", options.key_value.formats.size(), 1, nvme::kKvFormatsMax);
  for (const KeyValueFormat& format : options.key_value.formats) {
    all.within("key_value.formats.key_max", format.key_max, 1, nvme::kKvKeyMax);
  }
  all.within("firmware_update.slots", options.firmware_update.slots, 1, 7);
  return all.result();
}

Result<void> check_options(const NamespaceOptions& options) {
  Checked all;
  all.that(options.nsid != 0xFFFFFFFF, "nsid: FFFFFFFFh stands for all namespaces");
  all.that(options.block_bytes == 512 || options.block_bytes == 4096,
           fmt::format("block_bytes: {} is neither 512 nor 4096", options.block_bytes));
  all.within("blocks", options.blocks, 1, kLargestNamespace / std::max(options.block_bytes + options.metadata_bytes, 1u));
  all.that(options.capacity <= options.blocks,
           fmt::format("capacity: {} blocks are more than the namespace has ({})", options.capacity, options.blocks));
  all.within("protection_type", options.protection_type, 0, 3);
  all.that(options.protection_type == 0 || options.metadata_bytes >= 8,
           "protection_type: protection information needs metadata of at least 8 bytes");
  all.within("key_value_bytes", options.key_value_bytes, 0, kLargestNamespace / 2);
  const bool plain = options.zones.zone_blocks == 0 && options.metadata_bytes == 0 && options.store == nullptr;
  all.that(options.key_value_bytes == 0 || plain, "key_value_bytes: a key value namespace has no blocks, zones or file");
  const ZoneOptions& zones = options.zones;
  if (zones.zone_blocks == 0) return all.result();
  all.that(zones.zone_blocks <= options.blocks && options.blocks % zones.zone_blocks == 0,
           fmt::format("zones.zone_blocks: {} blocks are not a whole number of zones of {}", options.blocks, zones.zone_blocks));
  all.that(zones.capacity <= zones.zone_blocks,
           fmt::format("zones.capacity: {} is more than a zone has ({})", zones.capacity, zones.zone_blocks));
  all.that(zones.max_active == 0 || zones.max_open <= zones.max_active,
           fmt::format("zones.max_open: {} is above max_active ({})", zones.max_open, zones.max_active));
  if (zones.zrwa_blocks == 0) return all.result();
  const std::uint64_t held = zones.capacity != 0 ? zones.capacity : zones.zone_blocks;
  all.that(zones.zrwa_blocks <= held, fmt::format("zones.zrwa_blocks: {} is more than a zone can hold ({})", zones.zrwa_blocks, held));
  all.that(zones.zrwa_granularity != 0 && zones.zrwa_blocks % zones.zrwa_granularity == 0,
           fmt::format("zones.zrwa_granularity: {} blocks are not a whole number of {}", zones.zrwa_blocks, zones.zrwa_granularity));
  all.that(zones.max_active == 0 || zones.zrwa_count <= zones.max_active,
           fmt::format("zones.zrwa_count: {} is above max_active ({})", zones.zrwa_count, zones.max_active));
  return all.result();
}

}  // namespace fb::subsystem
