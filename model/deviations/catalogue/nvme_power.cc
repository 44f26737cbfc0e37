// What products lose with power, and with resets that should lose nothing.
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/fault_points.h"
#include "wire/nvme/features.h"
#include "wire/nvme/opcodes.h"

namespace fb::deviations {

namespace {

namespace departure = subsystem::departure;

constexpr std::uint32_t kAll = 0xFFFFFFFF;

std::optional<nvme::Status> all_is_not_flushed(const CommandContext& command) {
  const bool flush = is_io(command, static_cast<std::uint8_t>(nvme::IoOpcode::flush));
  if (!flush || load_le<std::uint32_t>(command.sqe.data() + 4) != kAll) return {};
  return nvme::sc::success;
}
std::optional<nvme::Status> cache_feature_stays(const CommandContext& command) {
  if (!is_admin(command, static_cast<std::uint8_t>(nvme::AdminOpcode::set_features))) return {};
  if ((cdw10_of(command) & 0xFF) != static_cast<std::uint8_t>(nvme::FeatureId::volatile_write_cache)) return {};
  return nvme::sc::success;
}

}  // namespace

#define POWER(name, requirement, what, ...) DEVIATION(name, "nvme.power." requirement, Product::controller, what, __VA_ARGS__)

POWER(power_takes_flushed_data, "flush", "says success to Flush and flushes nothing", Departs{departure::flush_skipped});
POWER(power_takes_flushed_namespaces, "flush-all", "says success to Flush of all namespaces and flushes none",
      hooks<Answering, &all_is_not_flushed>());
POWER(power_takes_fua_writes, "fua", "caches what is written with FUA", Departs{departure::fua_ignored});
POWER(power_takes_fua_zeroes, "fua-zeroes", "caches what is cleared with FUA", Departs{departure::fua_ignored});
POWER(power_takes_fua_reads, "fua-read", "reads with FUA and leaves the data in the cache", Departs{departure::fua_ignored});
POWER(power_takes_what_was_not_cached, "cache-off", "goes on caching when its cache is switched off", Departs{departure::cache_stays_on});
POWER(power_cache_off_is_a_word, "cache-off", "says success to feature 06h and does nothing", hooks<Answering, &cache_feature_stays>());
POWER(power_has_a_hidden_cache, "cache-absent", "has a volatile write cache and says that it has none", Departs{departure::cache_stays_on});
POWER(power_shutdown_flushes_nothing, "shutdown", "completes a shutdown without flushing", Departs{departure::cache_lost_at_shutdown});
POWER(power_abrupt_shutdown_flushes_nothing, "shutdown-abrupt", "completes an abrupt shutdown without flushing",
      Departs{departure::cache_lost_at_shutdown});
POWER(power_reset_empties_the_cache, "reset", "loses at a controller reset what is in its cache", Departs{departure::cache_lost_at_reset});
POWER(power_subsystem_reset_empties_the_cache, "subsystem-reset", "loses at an NVM subsystem reset what is in its cache",
      Departs{departure::cache_lost_at_nssr});
POWER(power_tears_small_writes, "atomic", "loses parts of writes of at most AWUPF blocks", Departs{departure::power_tears});
POWER(power_cache_feature_stays, "cache-feature", "says success to feature 06h and keeps the value",
      hooks<Answering, &cache_feature_stays>());
POWER(power_cache_feature_without_cache, "cache-feature-absent", "has feature 06h without a volatile write cache", Tolerate{"feature.fid"});

#undef POWER

}  // namespace fb::deviations
