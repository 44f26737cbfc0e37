// Firmware update, Format NVM, security commands.
#include <algorithm>

#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/fault_points.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/opcodes.h"
#include "wire/nvme/sqe.h"

namespace fb::deviations {

namespace {

using nvme::AdminOpcode;
namespace departure = subsystem::departure;

bool is(const CommandContext& command, AdminOpcode opcode) { return is_admin(command, static_cast<std::uint8_t>(opcode)); }
unsigned action_of(const CommandContext& command) { return cdw10_of(command) >> 3 & 7; }

std::optional<nvme::Status> activations_refused(const CommandContext& command) {
  if (!is(command, AdminOpcode::firmware_commit) || action_of(command) != 2) return {};
  return nvme::sc::invalid_firmware_image;
}
std::optional<nvme::Status> nothing_at_once(const CommandContext& command) {
  if (!is(command, AdminOpcode::firmware_commit) || action_of(command) != 3) return {};
  return nvme::sc::success;
}
std::optional<nvme::Status> replacements_lost(const CommandContext& command) {
  if (!is(command, AdminOpcode::firmware_commit) || action_of(command) != 0) return {};
  return nvme::sc::success;
}
/// Pieces have to come from the first on.
std::optional<nvme::Status> ascending_pieces_alone(const CommandContext& command) {
  if (!is(command, AdminOpcode::firmware_download)) return {};
  const std::uint32_t offset = load_le<std::uint32_t>(command.sqe.data() + 44);
  if (offset != 2 * 1024) return {};
  return nvme::sc::invalid_field;
}
std::optional<nvme::Status> all_is_not_formatted(const CommandContext& command) {
  const std::uint32_t nsid = load_le<std::uint32_t>(command.sqe.data() + 4);
  if (!is(command, AdminOpcode::format_nvm) || nsid != 0xFFFFFFFF) return {};
  return nvme::sc::success;
}
std::optional<nvme::Status> no_mail(const CommandContext& command) {
  if (!is(command, AdminOpcode::security_send)) return {};
  return nvme::sc::success;
}

void claims_no_cryptographic_erase(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::controller) || data.size() != nvme::kIdentifySize) return;
  data[nvme::id_ctrl::fna.offset] &= static_cast<std::uint8_t>(~nvme::fna_bits::crypto_erase);
}
void slot_of_another(const CommandContext& command, MutableBytes data) {
  if (is(command, AdminOpcode::get_log_page) && (cdw10_of(command) & 0xFF) == 3 && !data.empty()) data[0] = 2;
}
void no_active_slot(const CommandContext& command, MutableBytes data) {
  if (is(command, AdminOpcode::get_log_page) && (cdw10_of(command) & 0xFF) == 3 && !data.empty()) data[0] &= 0xF8;
}
/// Where the log names a slot as the next one at all: not the one that was committed.
void next_is_the_active_slot(const CommandContext& command, MutableBytes data) {
  if (!is(command, AdminOpcode::get_log_page) || (cdw10_of(command) & 0xFF) != 3 || data.empty()) return;
  const unsigned active = data[0] & 7u;
  if ((data[0] >> 4 & 7) != 0) data[0] = static_cast<std::uint8_t>(active << 4 | active);
}
void last_bytes(const CommandContext& command, MutableBytes data) {
  if (!is(command, AdminOpcode::security_receive) || data.size() > 64) return;
  std::rotate(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(data.size() / 2), data.end());
}
/// All but the first controller keep their firmware.
void others_keep_theirs(const CommandContext& command, MutableBytes data) {
  if (!is(command, AdminOpcode::identify) || (cdw10_of(command) & 0xFF) != 1 || data.size() < 72) return;
  const std::uint16_t cntlid = load_le<std::uint16_t>(data.data() + nvme::id_ctrl::cntlid.offset);
  if (cntlid % 2 == 0) put_text(data.subspan(nvme::id_ctrl::fr.offset, 8), "1.0", ' ');
}

}  // namespace

DEVIATION(firmware_log_names_another_slot, "nvme.firmware.log", Product::controller, "the firmware log calls an empty slot the active one",
          hooks<AlteringDataOut, &slot_of_another>());
DEVIATION(firmware_log_without_an_active_slot, "nvme.firmware.log", Product::controller, "the firmware log has no active slot",
          hooks<AlteringDataOut, &no_active_slot>());
DEVIATION(firmware_of_any_slot, "nvme.firmware.commit.slot", Product::controller, "takes commits to slots that are not there",
          Tolerate{"firmware.commit.slot"});
DEVIATION(firmware_slot_is_a_field, "nvme.firmware.commit.slot", Product::controller, "calls a wrong slot an invalid field",
          AnswerWith{"firmware.commit.slot", nvme::sc::invalid_field});
DEVIATION(firmware_replaces_the_read_only_slot, "nvme.firmware.commit.read-only", Product::controller,
          "replaces the image of its read-only slot", Tolerate{"firmware.commit.slot"});
DEVIATION(firmware_activates_nothing, "nvme.firmware.commit.empty", Product::controller, "activates an empty slot",
          Tolerate{"firmware.commit.image"});
DEVIATION(firmware_commits_nothing, "nvme.firmware.commit.nothing", Product::controller, "commits an image though none was downloaded",
          Tolerate{"firmware.commit.image"});
DEVIATION(firmware_takes_any_image, "nvme.firmware.commit.invalid", Product::controller, "commits what is no image",
          Tolerate{"firmware.commit.image"});
DEVIATION(firmware_bad_image_is_a_field, "nvme.firmware.commit.invalid", Product::controller, "calls what is no image an invalid field",
          AnswerWith{"firmware.commit.image", nvme::sc::invalid_field});
DEVIATION(firmware_with_holes, "nvme.firmware.commit.gap", Product::controller, "commits an image with a hole",
          Departs{departure::firmware_holes});
DEVIATION(firmware_reserved_actions, "nvme.firmware.commit.action", Product::controller, "takes reserved commit actions",
          Tolerate{"firmware.commit.action"});
DEVIATION(firmware_overlap_is_taken, "nvme.firmware.download.overlap", Product::controller, "takes pieces that overlap",
          Tolerate{"firmware.download.overlap"});
DEVIATION(firmware_overlap_is_a_field, "nvme.firmware.download.overlap", Product::controller, "calls overlapping pieces an invalid field",
          AnswerWith{"firmware.download.overlap", nvme::sc::invalid_field});
DEVIATION(firmware_pieces_of_any_size, "nvme.firmware.download.granularity", Product::controller, "takes pieces below its granularity",
          Tolerate{"firmware.download.piece"});
DEVIATION(firmware_pieces_in_order_alone, "nvme.firmware.download.order", Product::controller, "refuses a piece that comes before its turn",
          hooks<Answering, &ascending_pieces_alone>());
DEVIATION(firmware_download_outlives_a_reset, "nvme.firmware.download.reset", Product::controller,
          "commits what was downloaded before a reset", Departs{departure::firmware_kept});
DEVIATION(firmware_replacement_lost, "nvme.firmware.replace", Product::controller, "says success to commit action 0 and stores nothing",
          hooks<Answering, &replacements_lost>());
DEVIATION(firmware_never_runs, "nvme.firmware.activate.reset", Product::controller, "activates no firmware by a reset",
          Departs{departure::firmware_never_runs});
DEVIATION(firmware_log_with_another_next_slot, "nvme.firmware.activate.reset", Product::controller,
          "names the active slot as the next one in the firmware log", hooks<AlteringDataOut, &next_is_the_active_slot>());
DEVIATION(firmware_revision_stays, "nvme.firmware.activate.reset", Product::controller,
          "keeps its first firmware revision in Identify Controller", Departs{departure::firmware_fr_stays});
DEVIATION(firmware_slots_cannot_be_activated, "nvme.firmware.activate.existing", Product::controller, "refuses commit action 2",
          hooks<Answering, &activations_refused>());
DEVIATION(firmware_runs_before_its_reset, "nvme.firmware.activate.before", Product::controller, "runs committed firmware before the reset",
          Departs{departure::firmware_runs_at_once});
DEVIATION(firmware_not_at_once, "nvme.firmware.activate.at-once", Product::controller, "says success to commit action 3 and does nothing",
          hooks<Answering, &nothing_at_once>());
DEVIATION(firmware_of_one_controller, "nvme.firmware.activate.all", Product::controller, "every second controller keeps its firmware",
          hooks<AlteringDataOut, &others_keep_theirs>());
DEVIATION(firmware_activation_is_silent, "nvme.firmware.event", Product::controller, "announces no activation",
          Departs{departure::firmware_silent});

DEVIATION(format_leaves_the_data, "nvme.format.erases", Product::controller, "formats without erasing",
          Departs{departure::format_keeps_data});
DEVIATION(format_leaves_the_block_size, "nvme.format.block-size", Product::controller, "formats to the same block size whatever it is told",
          Departs{departure::format_keeps_size});
DEVIATION(format_erases_all, "nvme.format.one", Product::controller, "formats all namespaces when told one",
          Departs{departure::format_all});
DEVIATION(format_of_all_does_nothing, "nvme.format.all", Product::controller, "says success to a format of all namespaces and does nothing",
          hooks<Answering, &all_is_not_formatted>());
DEVIATION(format_takes_any_format, "nvme.format.unknown", Product::controller, "takes LBA formats that are not there",
          Tolerate{"format.lbaf"});
DEVIATION(format_takes_protection, "nvme.format.protection", Product::controller, "takes protection information without metadata",
          Tolerate{"format.protection"});
DEVIATION(format_takes_any_erase, "nvme.format.erase-setting", Product::controller, "takes reserved secure erase settings",
          Tolerate{"format.erase"});
DEVIATION(format_of_nothing, "nvme.format.namespace", Product::controller, "says success to a format of a namespace that is not there",
          Tolerate{"format.nsid"});
DEVIATION(format_of_an_inactive_namespace, "nvme.format.namespace", Product::controller,
          "says success to a format of an inactive namespace", Tolerate{"format.nsid.inactive"});
DEVIATION(format_erases_what_is_protected, "nvme.format.write-protected", Product::controller,
          "formats a namespace that is write protected", Tolerate{"format.write_protected"});
DEVIATION(cryptographic_erase_unclaimed, "nvme.format.crypto", Product::controller, "erases cryptographically and does not claim it",
          hooks<AlteringDataOut, &claims_no_cryptographic_erase>());
DEVIATION(format_is_silent, "nvme.format.announced", Product::controller, "announces no changed namespaces", Departs{"sub.events.silent"});

DEVIATION(security_protocols_descend, "nvme.security.list", Product::controller, "lists its security protocols in descending order",
          Departs{departure::security_list_descends});
DEVIATION(security_information_unlisted, "nvme.security.list", Product::controller, "leaves protocol 00h out of its list",
          Departs{departure::security_unlisted});
DEVIATION(security_takes_any_protocol, "nvme.security.unknown", Product::controller, "takes security protocols that it does not have",
          Tolerate{"security.protocol"});
DEVIATION(security_answers_rotated, "nvme.security.short", Product::controller,
          "gives another part of the data to a short Security Receive", hooks<AlteringDataOut, &last_bytes>());
DEVIATION(security_send_lost, "nvme.security.kept", Product::controller, "says success to Security Send and forgets it",
          hooks<Answering, &no_mail>());

}  // namespace fb::deviations
