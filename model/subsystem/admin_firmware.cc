// Firmware Image Download and Firmware Commit.
#include <algorithm>

#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace fd = nvme::firmware_download_sqe;
namespace fc = nvme::firmware_commit_sqe;
using nvme::CommitAction;

namespace {

constexpr std::uint64_t kGranularityUnit = 4096;
constexpr std::uint8_t kAnyGranularity = 0xFF;

}  // namespace

void FirmwareCommands::firmware_download(const Command& command) {
  Queue& queue = *command.queue;
  const SubsystemOptions& options = subsystem_.options();
  const auto sqe = command.as<nvme::FirmwareDownloadSqe>();
  const std::uint64_t bytes = sqe.get(fd::numd).count() * std::uint64_t{4};
  const std::uint64_t offset = std::uint64_t{sqe.get(fd::ofst)} * 4;
  const std::uint8_t granularity = options.firmware_update.granularity;
  const std::uint64_t unit = granularity == 0 || granularity == kAnyGranularity ? 4 : granularity * kGranularityUnit;
  const bool fits = bytes % unit == 0 && offset % unit == 0 && controller_.transfer_fits(bytes);
  if (!fits && queue.refuse(command, check::firmware_piece)) return;
  if (queue.stage(command, static_cast<std::size_t>(bytes))) queue.pull(command);
}

void FirmwareCommands::firmware_download_data(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::FirmwareDownloadSqe>();
  const std::uint64_t offset = std::uint64_t{sqe.get(fd::ofst)} * 4;
  const auto taken = download_.add(offset, command.data(), subsystem_.options().firmware_update.image_max);
  if (taken == FirmwareDownload::Taken::overlaps && queue.refuse(command, check::firmware_overlap)) return;
  if (taken == FirmwareDownload::Taken::too_large && queue.refuse(command, check::firmware_piece)) return;
  queue.complete(command, sc::success);
}

void FirmwareCommands::firmware_commit(const Command& command) {
  Queue& queue = *command.queue;
  const FirmwareOptions& options = subsystem_.options().firmware_update;
  FirmwareSlots& slots = subsystem_.firmware();
  const auto sqe = command.as<nvme::FirmwareCommitSqe>();
  const CommitAction action = sqe.get(fc::ca);
  if (action > CommitAction::activate_at_once && queue.refuse(command, check::firmware_action)) return;
  const unsigned asked = sqe.get(fc::fs);
  const unsigned slot = asked == 0 ? slots.chosen() : asked;
  const bool replaces = action == CommitAction::replace || action == CommitAction::replace_and_activate ||
                        (action == CommitAction::activate_at_once && !download_.empty());
  const std::string before = slots.running();
  const auto finish = [&](nvme::Status status) {
    controller_.logs_.record_firmware(command, before, slots.revision(slot), status);
    queue.complete(command, status);
  };
  const bool slot_ok = replaces ? slots.writable(slot) : slots.exists(slot);
  if (!slot_ok && queue.refuse(command, check::firmware_slot)) return;
  if (!slots.exists(slot)) return queue.complete(command, sc::success);  // a deviation went on
  if (replaces) {
    Bytes image = download_.image();
    if (image.empty() && departs(departure::firmware_holes)) image = make_firmware_image("HOLED", 16);
    const std::optional<std::string> revision = firmware_revision(image);
    download_.clear();
    if (!revision && queue.refuse(command, check::firmware_image)) return;
    slots.store(slot, revision.value_or("INVALID"));
  } else if (slots.revision(slot).empty() && queue.refuse(command, check::firmware_image)) {
    return;
  }
  if (action == CommitAction::replace) return finish(sc::success);
  const bool at_once = action == CommitAction::activate_at_once;
  if ((at_once && options.activates_at_once) || departs(departure::firmware_runs_at_once)) {
    for (const auto& [id, controller] : subsystem_.controllers()) controller->on_firmware_activation();
    slots.activate(slot);
    subsystem_.tell(Change::firmware);
    return finish(sc::success);
  }
  slots.activate_at_reset(slot);
  // Accepted, and said so by a status that names what is needed still.
  if (options.needs_subsystem_reset) return finish(sc::firmware_needs_subsystem_reset);
  finish(at_once ? sc::firmware_needs_controller_reset : sc::success);
}

void Controller::on_firmware_activation() {
  if (departs(departure::firmware_silent)) return;
  if ((features_.events & nvme::event_config_bits::firmware_activation) == 0 && !departs(departure::event_mask_ignored)) {
    return;
  }
  raise({nvme::EventType::notice, nvme::event_info::notice_firmware_activation, static_cast<std::uint8_t>(nvme::LogPage::firmware_slot)});
}

/// A controller level reset: what was downloaded and not committed is void, what was committed runs.
void FirmwareCommands::reset_firmware() {
  if (!departs(departure::firmware_kept)) download_.clear();
  if (departs(departure::firmware_never_runs)) return;
  if (subsystem_.firmware().on_reset(false)) subsystem_.tell(Change::firmware);
}

}  // namespace fb::subsystem
