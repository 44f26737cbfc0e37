// Get LBA Status, its log page, feature and event.
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/fault_points.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/lba_status.h"
#include "wire/nvme/logs.h"

namespace fb::deviations {

namespace {

using nvme::AdminOpcode;
namespace departure = subsystem::departure;

bool is_of(const CommandContext& command, AdminOpcode opcode, unsigned low_byte) {
  return is_admin(command, static_cast<std::uint8_t>(opcode)) && (cdw10_of(command) & 0xFF) == low_byte;
}
bool reads_log(const CommandContext& command) {
  return is_of(command, AdminOpcode::get_log_page, static_cast<unsigned>(nvme::LogPage::lba_status));
}
bool uses_feature(const CommandContext& command, AdminOpcode opcode) {
  return is_of(command, opcode, static_cast<unsigned>(nvme::FeatureId::lba_status_information));
}
std::optional<nvme::Status> has_no_log(const CommandContext& command) {
  if (!reads_log(command)) return {};
  return nvme::sc::invalid_log_page;
}
std::optional<nvme::Status> has_no_feature(const CommandContext& command) {
  if (!uses_feature(command, AdminOpcode::get_features)) return {};
  return nvme::sc::invalid_field;
}
void has_no_notice(const CommandContext& command, MutableBytes data) {
  if (identifies(command, nvme::Cns::controller) && data.size() == nvme::kIdentifySize) {
    data[nvme::id_ctrl::oaes.offset + 1] &= 0xDF;
  }
}
void says_too_short(const CommandContext& command, MutableBytes data) {
  if (reads_log(command) && data.size() >= nvme::LbaStatusLogHeader::size) store_le(data.data(), std::uint32_t{24});
}
void tells_of_others(const CommandContext& command, MutableBytes data) {
  constexpr std::size_t kElement = nvme::LbaStatusLogHeader::size;
  if (reads_log(command) && data.size() >= kElement + nvme::LbaStatusElement::size) {
    store_le(data.data() + kElement, std::uint32_t{777});
  }
}
void recommends_nothing(const CommandContext& command, MutableBytes data) {
  constexpr std::size_t kElement = nvme::LbaStatusLogHeader::size;
  if (reads_log(command) && data.size() >= kElement + nvme::LbaStatusElement::size) {
    data[kElement + nvme::lba_status_element::ratype.offset] = 0x33;
  }
}
Answer answers_nothing(const CommandContext& command, MutableBytes cqe) {
  if (uses_feature(command, AdminOpcode::set_features)) store_le(cqe.data(), std::uint32_t{0});
  return Answer::send;
}

}  // namespace

DEVIATION(lba_status_without_log, "nvme.lba-status.claim", Product::controller, "has no log page of unrecoverable blocks",
          hooks<Answering, &has_no_log>());
DEVIATION(lba_status_without_feature, "nvme.lba-status.claim", Product::controller, "has no attributes of unrecoverable blocks",
          hooks<Answering, &has_no_feature>());
DEVIATION(lba_status_without_notice, "nvme.lba-status.claim", Product::controller, "claims no notice of unrecoverable blocks",
          hooks<AlteringDataOut, &has_no_notice>());
DEVIATION(lba_status_finds_nothing, "nvme.lba-status.marked", Product::controller, "finds no spoilt blocks",
          Departs{departure::lba_status_blind});
DEVIATION(lba_status_never_forgets, "nvme.lba-status.rewritten", Product::controller, "goes on calling blocks lost that have been written",
          Departs{departure::lba_status_kept});
DEVIATION(lba_status_does_not_look, "nvme.lba-status.scan", Product::controller, "scans nothing", Departs{departure::lba_status_no_scan});
DEVIATION(lba_status_from_the_first_block, "nvme.lba-status.start", Product::controller, "reports blocks from the first on",
          Departs{departure::lba_status_from_zero});
DEVIATION(lba_status_up_to_the_end, "nvme.lba-status.end", Product::controller, "reports blocks up to the last",
          Departs{departure::lba_status_to_the_end});
DEVIATION(lba_status_descends, "nvme.lba-status.order", Product::controller, "reports the last blocks first",
          Departs{departure::lba_status_order});
DEVIATION(lba_status_counts_too_many, "nvme.lba-status.room", Product::controller, "counts entries that it does not give",
          Departs{departure::lba_status_count});
DEVIATION(lba_status_calls_a_part_whole, "nvme.lba-status.room", Product::controller, "calls a list complete that was cut short",
          Departs{departure::lba_status_complete});
DEVIATION(lba_status_never_complete, "nvme.lba-status.complete", Product::controller, "calls every list incomplete",
          Departs{departure::lba_status_incomplete});
DEVIATION(lba_status_behind_the_end, "nvme.lba-status.out-of-range", Product::controller, "says success to ranges behind the end",
          Tolerate{"lba_status.range"});
DEVIATION(lba_status_by_any_action, "nvme.lba-status.action", Product::controller, "says success to reserved actions",
          Tolerate{"lba_status.action"});
DEVIATION(lba_status_of_no_namespace, "nvme.lba-status.inactive", Product::controller, "has a status of blocks in no namespace",
          Tolerate{"io.nsid.inactive"});
DEVIATION(lba_status_log_too_short, "nvme.lba-status.log", Product::controller, "gives its log page a length that is too small",
          hooks<AlteringDataOut, &says_too_short>());
DEVIATION(lba_status_log_of_others, "nvme.lba-status.log", Product::controller, "tells of blocks in namespaces that are not attached",
          hooks<AlteringDataOut, &tells_of_others>());
DEVIATION(lba_status_log_recommends_nothing, "nvme.lba-status.log", Product::controller, "recommends a reserved action",
          hooks<AlteringDataOut, &recommends_nothing>());
DEVIATION(lba_status_log_changes, "nvme.lba-status.log.kept", Product::controller, "changes its log page while a host reads it",
          Departs{departure::lba_status_log_live});
DEVIATION(lba_status_log_uncounted, "nvme.lba-status.log.generation", Product::controller, "does not count what is new in its log page",
          Departs{departure::lba_status_generation});
DEVIATION(lba_status_log_insists, "nvme.lba-status.log.failure", Product::controller, "asks for the same scan again and again",
          Departs{departure::lba_status_failure_stays});
DEVIATION(lba_status_silent, "nvme.lba-status.event", Product::controller, "does not announce lost blocks",
          Departs{departure::lba_status_silent});
DEVIATION(lba_status_hasty, "nvme.lba-status.event.interval", Product::controller, "announces lost blocks at once",
          Departs{departure::lba_status_early});
DEVIATION(lba_status_forced, "nvme.lba-status.event.disabled", Product::controller, "announces lost blocks to hosts that did not ask",
          Departs{departure::event_mask_ignored});
DEVIATION(lba_status_poll_interval_set, "nvme.lba-status.feature", Product::controller, "says that hosts can set the poll interval",
          Departs{departure::lba_status_poll_interval});
DEVIATION(lba_status_attributes_untold, "nvme.lba-status.feature", Product::controller, "answers no attributes to Set Features",
          hooks<AlteringCompletions, &answers_nothing>());

}  // namespace fb::deviations
