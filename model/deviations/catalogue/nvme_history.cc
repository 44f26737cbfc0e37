// Telemetry and the persistent event log.
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/fault_points.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/persistent_events.h"
#include "wire/nvme/telemetry.h"

namespace fb::deviations {

namespace {

using nvme::AdminOpcode;
using nvme::LogPage;
namespace departure = subsystem::departure;
namespace tm = nvme::telemetry;
namespace pl = nvme::persistent_log;

bool is(const CommandContext& command, AdminOpcode opcode) { return is_admin(command, static_cast<std::uint8_t>(opcode)); }
bool reads(const CommandContext& command, LogPage page) {
  return is(command, AdminOpcode::get_log_page) && (cdw10_of(command) & 0xFF) == static_cast<std::uint32_t>(page);
}
bool reads_head(const CommandContext& command, LogPage page) {
  return reads(command, page) && load_le<std::uint64_t>(command.sqe.data() + 48) == 0;
}
bool reads_telemetry(const CommandContext& command) {
  return reads_head(command, LogPage::telemetry_host) || reads_head(command, LogPage::telemetry_controller);
}
void names_no_log(const CommandContext& command, MutableBytes data) {
  if (reads_telemetry(command) && !data.empty()) data[0] = 0;
}
void areas_shrink(const CommandContext& command, MutableBytes data) {
  if (reads_telemetry(command) && data.size() >= 512) store_le(data.data() + tm::da2lb.offset, std::uint16_t{0});
}
void counts_no_hours(const CommandContext& command, MutableBytes data) {
  if (reads_head(command, LogPage::persistent_event) && data.size() >= 512) store_le(data.data() + pl::poh.offset, std::uint64_t{0});
}
std::optional<nvme::Status> no_telemetry(const CommandContext& command) {
  if (!reads(command, LogPage::telemetry_host)) return {};
  return nvme::sc::invalid_log_page;
}
void pages_differ(const CommandContext& command, MutableBytes data) {
  if (reads_head(command, LogPage::telemetry_controller) && data.size() >= 512) data[tm::tcdgn.offset] ^= 0x55;
}
std::optional<nvme::Status> last_block_lost(const CommandContext& command) {
  if (!reads(command, LogPage::telemetry_host) || load_le<std::uint32_t>(command.sqe.data() + 48) < 8 * 512) return {};
  return nvme::sc::invalid_field;
}
void never_available(const CommandContext& command, MutableBytes data) {
  if (reads_telemetry(command) && data.size() >= 512) data[tm::tcda.offset] = 0;
}
/// Retaining the event acknowledges it all the same.
class NeverRetains final : public subsystem::SubsystemHooks {
 public:
  void data_out(const CommandContext& command, MutableBytes data) override {
    if (!reads_head(command, LogPage::telemetry_controller) || data.size() < 512) return;
    if (read_) data[tm::tcda.offset] = 0;
    read_ = true;
  }

 private:
  bool read_ = false;
};

bool heads(const CommandContext& command, MutableBytes data) {
  return reads_head(command, LogPage::persistent_event) && data.size() >= 512;
}
void without_size(const CommandContext& command, MutableBytes data) {
  if (identifies(command, nvme::Cns::controller) && data.size() == nvme::kIdentifySize) {
    store_le(data.data() + nvme::id_ctrl::pels.offset, std::uint32_t{0});
  }
}
void names_another_subsystem(const CommandContext& command, MutableBytes data) {
  if (heads(command, data)) data[pl::subnqn.offset] ^= 1;
}
void supports_nothing(const CommandContext& command, MutableBytes data) {
  if (heads(command, data)) std::fill_n(data.begin() + pl::seb.offset, pl::seb.size, std::uint8_t{0});
}
/// Without a context the last one is read.
bool reads_without_context(const CommandContext&, Refusal& refusal) { return refusal.check != "log.persistent.context"; }

}  // namespace

DEVIATION(telemetry_claimed_alone, "nvme.telemetry.claim", Product::controller, "claims telemetry that it does not have",
          hooks<Answering, &no_telemetry>());
DEVIATION(telemetry_without_identifier, "nvme.telemetry.identifier", Product::controller, "does not name the log in its first byte",
          hooks<AlteringDataOut, &names_no_log>());
DEVIATION(telemetry_areas_shrink, "nvme.telemetry.areas", Product::controller, "ends area 2 before area 1",
          hooks<AlteringDataOut, &areas_shrink>());
DEVIATION(telemetry_of_any_length, "nvme.telemetry.length", Product::controller, "gives telemetry in any length",
          Tolerate{"log.telemetry.blocks"});
DEVIATION(telemetry_from_anywhere, "nvme.telemetry.offset", Product::controller, "gives telemetry from any byte on",
          Tolerate{"log.telemetry.blocks"});
DEVIATION(telemetry_uncounted, "nvme.telemetry.create", Product::controller, "does not count captures",
          Departs{departure::telemetry_generation});
DEVIATION(telemetry_captures_each_read, "nvme.telemetry.stable", Product::controller, "captures anew at every read",
          Departs{departure::telemetry_recaptures});
DEVIATION(telemetry_cut, "nvme.telemetry.blocks", Product::controller, "refuses to give the last block",
          hooks<Answering, &last_block_lost>());
DEVIATION(telemetry_pages_differ, "nvme.telemetry.same", Product::controller, "counts differently in its two pages",
          hooks<AlteringDataOut, &pages_differ>());
DEVIATION(telemetry_never_available, "nvme.telemetry.controller", Product::controller, "never says that data is available",
          hooks<AlteringDataOut, &never_available>());
DEVIATION(telemetry_unannounced, "nvme.telemetry.event", Product::controller, "does not announce its captures",
          Departs{departure::telemetry_silent});
DEVIATION(telemetry_announced_to_all, "nvme.telemetry.event.disabled", Product::controller,
          "announces its captures whether asked to or not", Departs{departure::event_mask_ignored});
DEVIATION(telemetry_available_for_ever, "nvme.telemetry.acknowledge", Product::controller, "goes on saying that data is available",
          Departs{departure::telemetry_available_stays});
DEVIATION(telemetry_not_retained, "nvme.telemetry.retain", Product::controller, "takes every read for an acknowledgement",
          hooks<NeverRetains>());
DEVIATION(telemetry_lost_in_resets, "nvme.telemetry.persistent", Product::controller, "loses its captures with an NVM subsystem reset",
          Departs{departure::telemetry_forgets});
DEVIATION(persistent_log_without_size, "nvme.persistent.claim", Product::controller, "has a log of size 0",
          hooks<AlteringDataOut, &without_size>());
DEVIATION(persistent_log_of_another, "nvme.persistent.header", Product::controller, "names another subsystem",
          hooks<AlteringDataOut, &names_another_subsystem>());
DEVIATION(persistent_log_without_hours, "nvme.persistent.hours", Product::controller, "has 0 in Power On Hours",
          hooks<AlteringDataOut, &counts_no_hours>());
DEVIATION(persistent_log_counts_too_many, "nvme.persistent.length", Product::controller, "counts an event too many",
          Departs{departure::persistent_count});
DEVIATION(persistent_log_too_short, "nvme.persistent.length", Product::controller, "says a length that cuts the last event off",
          Departs{departure::persistent_length});
DEVIATION(persistent_log_supports_nothing, "nvme.persistent.supported", Product::controller, "says that it supports no events",
          hooks<AlteringDataOut, &supports_nothing>());
DEVIATION(persistent_log_without_context, "nvme.persistent.context.none", Product::controller, "is read without a context",
          hooks<Refusing, &reads_without_context>());
DEVIATION(persistent_context_over_another, "nvme.persistent.context.again", Product::controller, "establishes a context where there is one",
          Tolerate{"log.persistent.established"});
DEVIATION(persistent_context_stays, "nvme.persistent.context.released", Product::controller, "keeps a context that was released",
          Departs{departure::persistent_held});
DEVIATION(persistent_context_lives, "nvme.persistent.context.stable", Product::controller, "lets new events into a context",
          Departs{departure::persistent_live});
DEVIATION(persistent_log_forgets, "nvme.persistent.kept", Product::controller, "empties its log with an NVM subsystem reset",
          Departs{departure::persistent_forgets});
DEVIATION(persistent_generation_stays, "nvme.persistent.generation", Product::controller, "does not change the generation",
          Departs{departure::persistent_generation});
DEVIATION(resets_not_recorded, "nvme.persistent.reset", Product::controller, "does not record resets",
          Departs{departure::persistent_no_reset});
DEVIATION(firmware_not_recorded, "nvme.persistent.firmware", Product::controller, "does not record Firmware Commit",
          Departs{departure::persistent_no_firmware});
DEVIATION(timestamps_not_recorded, "nvme.persistent.timestamp", Product::controller, "does not record changes of the timestamp",
          Departs{departure::persistent_no_timestamp});
DEVIATION(timestamps_recorded_as_features, "nvme.persistent.timestamp.feature", Product::controller,
          "records changes of the timestamp as Set Features commands", Departs{departure::persistent_timestamp_feature});
DEVIATION(creations_not_recorded, "nvme.persistent.namespace.create", Product::controller, "does not record namespace changes",
          Departs{departure::persistent_no_namespace});
DEVIATION(deletions_not_recorded, "nvme.persistent.namespace.delete", Product::controller, "does not record namespace changes",
          Departs{departure::persistent_no_namespace});
DEVIATION(format_starts_not_recorded, "nvme.persistent.format.start", Product::controller, "does not record the start of a format",
          Departs{departure::persistent_no_format_start});
DEVIATION(format_ends_not_recorded, "nvme.persistent.format.end", Product::controller, "does not record the end of a format",
          Departs{departure::persistent_no_format_end});
DEVIATION(sanitize_starts_not_recorded, "nvme.persistent.sanitize.start", Product::controller,
          "does not record the start of a sanitize operation", Departs{departure::persistent_no_sanitize_start});
DEVIATION(sanitize_ends_not_recorded, "nvme.persistent.sanitize.end", Product::controller,
          "does not record the end of a sanitize operation", Departs{departure::persistent_no_sanitize_end});
DEVIATION(telemetry_not_recorded, "nvme.persistent.telemetry", Product::controller, "does not record captures of telemetry",
          Departs{departure::persistent_no_telemetry});
DEVIATION(thermal_excursions_not_recorded, "nvme.persistent.thermal", Product::controller, "does not record thermal excursions",
          Departs{departure::persistent_no_thermal});
DEVIATION(health_not_recorded, "nvme.persistent.snapshot", Product::controller, "does not record its health",
          Departs{departure::persistent_no_snapshot});
DEVIATION(features_not_recorded, "nvme.persistent.feature", Product::controller, "does not record Set Features",
          Departs{departure::persistent_no_feature});

}  // namespace fb::deviations
