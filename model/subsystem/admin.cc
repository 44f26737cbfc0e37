// Admin commands: which there are, Abort, Asynchronous Event Request, and where the others go.
#include <algorithm>

#include "model/subsystem/admin_table.h"
#include "model/subsystem/command_fault_points.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/cross_reset_fault_points.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/discovery.h"
#include "model/subsystem/management.h"
#include "model/subsystem/registration_fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
using nvme::AdminOpcode;

bool Controller::executes_commands() const {
  if (ready()) return true;
  const bool down = state_ == ControllerState::shutting_down || state_ == ControllerState::shut_down;
  return down && rdy_ && departs(departure::shutdown_ignored);
}

bool Controller::admin_supported(std::uint8_t opcode) const {
  const AdminCommand* const known = AdminCommand::find(opcode);
  return known != nullptr && known->supported(*this);
}

bool Controller::transfer_fits(std::uint64_t bytes) const {
  const std::uint8_t mdts = subsystem_.options().mdts;
  return mdts == 0 || bytes <= std::uint64_t{4096} << mdts;
}

void Controller::on_admin(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::SqeLayout>();
  if (!queue.out_of_band() && !executes_commands() && queue.refuse(command, check::admin_ready)) return;
  if (sqe.get(nvme::sqe::psdt) != nvme::Psdt::sgl && queue.refuse(command, check::command_psdt)) {
    return;
  }
  if (sqe.get(nvme::sqe::fuse) != nvme::Fuse::normal && queue.refuse(command, check::admin_fuse)) {
    return;
  }
  if (!admin_supported(command.opcode()) && queue.refuse(command, check::admin_opcode)) return;
  if (!lockdown_.lockdown_permits(command, nvme::LockdownScope::admin_command, command.opcode())) return;
  if (subsystem_.sanitizer().refuses() && !sanitize_.permitted_while_sanitizing(command) &&
      !sanitize_.sanitize_permits(command, check::sanitize_admin, check::sanitize_failed_admin)) {
    return;
  }
  const AdminCommand* const known = AdminCommand::find(command.opcode());
  known != nullptr ? known->execute(*this, command) : queue.complete(command, sc::success);  // a deviation went on
}

/// Aborts a command that is held; of a fused pair, the other half fails with it.
void Controller::abort_held(const Command& victim) {
  Queue& queue = *victim.queue;
  transport::ArrivedCommand* const partner = queue.partner(victim);
  queue.complete(victim, sc::abort_requested);
  if (partner != nullptr && queue.alive()) {
    queue.complete({&queue, partner}, sc::aborted_failed_fused);
  }
}

void Controller::abort(const Command& command) {
  Queue& queue = *command.queue;
  if (command.nsid() != 0 && queue.refuse(command, check::nsid_unused)) return;
  const auto sqe = command.as<nvme::AbortSqe>();
  const std::uint16_t sqid = sqe.get(nvme::abort_sqe::sqid);
  const std::uint16_t cid = sqe.get(nvme::abort_sqe::abort_cid);
  std::uint64_t not_done = nvme::kAbortNotDone;
  const bool of_admin = sqid == 0 || departs(departure::abort_any_queue);
  Queue* const victim_queue = of_admin ? admin_queue_ : io_queue(sqid);
  transport::ArrivedCommand* const victim = victim_queue != nullptr ? victim_queue->find(cid) : nullptr;
  if (victim != nullptr) {
    not_done = 0;
    if (!departs(departure::abort_ineffective)) abort_held({victim_queue, victim});
  }
  if (departs(departure::abort_claims)) not_done = 0;
  queue.complete(command, sc::success, not_done);
}

// ---- NVMe-MI in band ----

namespace {

InBandRequest in_band_request(const Command& command, std::uint16_t cntlid) {
  const auto sqe = command.as<nvme::SqeLayout>();
  const auto opcode = static_cast<AdminOpcode>(command.opcode());
  return {cntlid,
          opcode == AdminOpcode::nvme_mi_send,
          {sqe.get(nvme::sqe::cdw10), sqe.get(nvme::sqe::cdw11), sqe.get(nvme::sqe::cdw12), sqe.get(nvme::sqe::cdw13)},
          {}};
}

}  // namespace

void Controller::management_command(const Command& command) {
  Queue& queue = *command.queue;
  InBandManagement* const management = subsystem_.in_band_management();
  if (management == nullptr) return queue.complete(command, sc::success);  // a deviation went on
  const InBandRequest request = in_band_request(command, cntlid_);
  const std::size_t incoming = request.send ? management->data_bytes(request) : 0;
  if (incoming != 0) {
    if (queue.stage(command, incoming)) queue.pull(command);
    return;
  }
  const InBandAnswer answer = management->on_request(request);
  if (!answer.status.ok() || answer.data.empty()) {
    return queue.complete(command, answer.status, answer.dw0);
  }
  if (!queue.stage(command, answer.data.size())) return;
  std::copy(answer.data.begin(), answer.data.end(), command.data().begin());
  queue.complete_with_data(command, answer.data.size(), answer.dw0);
}

void Controller::management_data(const Command& command) {
  InBandRequest request = in_band_request(command, cntlid_);
  request.data = command.data();
  InBandManagement* const management = subsystem_.in_band_management();
  if (management == nullptr) return command.queue->complete(command, sc::internal_error);
  const InBandAnswer answer = management->on_request(request);
  command.queue->complete(command, answer.status, answer.dw0);
}

// ---- asynchronous events ----

void Controller::event_request(const Command& command) {
  Queue& queue = *command.queue;
  if (command.nsid() != 0 && queue.refuse(command, check::nsid_unused)) return;
  if (queue.count(Phase::event) >= subsystem_.options().aer_limit && queue.refuse(command, check::aer_limit)) {
    return;
  }
  if (departs(departure::aer_answered_at_once)) {
    const nvme::Event event{nvme::EventType::notice, nvme::event_info::notice_namespace_attribute,
                            static_cast<std::uint8_t>(nvme::LogPage::changed_namespaces)};
    return queue.complete(command, sc::success, event.dw0());
  }
  queue.hold(command, Phase::event);
  deliver_events();
}

void Controller::raise(const nvme::Event& event) {
  if (!associated_) return;
  if (departs(departure::event_lost) && (admin_queue_ == nullptr || admin_queue_->oldest(Phase::event) == nullptr)) {
    return;
  }
  events_.raise(event);
  deliver_events();
}

void Controller::deliver_events() {
  const bool repeat = departs(departure::event_repeated);
  while (admin_queue_ != nullptr && events_.deliverable(repeat)) {
    transport::ArrivedCommand* const request =
        subsystem_.options().newest_event_request_first ? admin_queue_->newest(Phase::event) : admin_queue_->oldest(Phase::event);
    if (request == nullptr) return;
    nvme::Event event = *events_.take(repeat);
    if (departs(departure::event_types_shared)) events_.mask_all(event);
    if (departs(departure::aer_wrong_log)) event.lid = static_cast<std::uint8_t>(event.lid + 1);
    if (departs(departure::aer_wrong_type)) event.type = nvme::EventType::vendor;
    const Command command{admin_queue_, request};
    admin_queue_->hold(command, Phase::running);
    admin_queue_->complete(command, sc::success, event.dwords());
    if (repeat) events_.raise(event);
    if (repeat) return;
  }
}

std::uint32_t IdentifyCommand::optional_events() const {
  if (DiscoveryService* const discovery = subsystem_.discovery()) {
    // Without a keep alive timeout there is no lasting association that an event could be sent on.
    if (!discovery->options().persistent || controller_.features_.kato_ms == 0) return 0;
    const bool hosts = discovery->central().registers && !departs(departure::cdc_events_missing);
    return nvme::event_config_bits::discovery_log | (hosts ? nvme::event_config_bits::host_discovery : 0u);
  }
  std::uint32_t events = nvme::event_config_bits::namespace_attribute;
  if (subsystem_.options().ana) events |= nvme::event_config_bits::ana_change;
  const FirmwareOptions& firmware = subsystem_.options().firmware_update;
  if (firmware.slots != 0 && firmware.activates_at_once) events |= nvme::event_config_bits::firmware_activation;
  if (subsystem_.options().telemetry.supported) events |= nvme::event_config_bits::telemetry;
  if (subsystem_.options().endurance.supported()) events |= nvme::event_config_bits::endurance_group;
  if (subsystem_.options().lba_status.supported) events |= nvme::event_config_bits::lba_status;
  if (subsystem_.options().zoned.supported) events |= nvme::event_config_bits::zone_descriptor;
  const CrossControllerReset& resets = controller_.cross_reset_;
  if (resets.supported() && !departs(departure::ccr_event_unclaimed)) events |= nvme::event_config_bits::cross_controller_reset;
  if (resets.lost_host_supported() && !departs(departure::ccr_lost_unclaimed)) events |= nvme::event_config_bits::lost_host;
  return events;
}

void Controller::on_zone_changed(std::uint32_t nsid, std::uint64_t start) {
  if (!associated_ || !zoned_selected() || departs(departure::zone_silent)) return;
  const bool asked = (features_.events & nvme::event_config_bits::zone_descriptor) != 0;
  if (!asked && !departs(departure::zone_event_unasked)) return;
  std::vector<std::uint64_t>& list = changed_zones_[nsid];
  const auto at = std::lower_bound(list.begin(), list.end(), start);
  if (at == list.end() || *at != start) list.insert(at, start);
  raise({nvme::EventType::notice, nvme::event_info::notice_zone_descriptor, static_cast<std::uint8_t>(nvme::LogPage::changed_zones),
         departs(departure::zone_event_nsid) ? 0 : nsid});
}

void Controller::on_namespace_changed(std::uint32_t nsid) {
  if (!associated_ || departs(departure::subsystem_offline)) return;
  if (!departs(departure::changed_list_empty)) {
    const auto at = std::lower_bound(changed_namespaces_.begin(), changed_namespaces_.end(), nsid);
    if (at == changed_namespaces_.end() || *at != nsid) changed_namespaces_.insert(at, nsid);
  }
  if ((features_.events & nvme::event_config_bits::namespace_attribute) != 0 || departs(departure::event_mask_ignored)) {
    raise({nvme::EventType::notice, nvme::event_info::notice_namespace_attribute,
           static_cast<std::uint8_t>(nvme::LogPage::changed_namespaces)});
  }
}

void Controller::on_ana_changed(nvme::AnaState state) {
  if (state == nvme::AnaState::inaccessible && departs(departure::ana_notice_missing)) return;
  if ((features_.events & nvme::event_config_bits::ana_change) != 0 || departs(departure::event_mask_ignored)) {
    raise({nvme::EventType::notice, nvme::event_info::notice_ana_change, static_cast<std::uint8_t>(nvme::LogPage::ana)});
  }
}

void Controller::on_discovery_changed() {
  if (departs(departure::discovery_unannounced)) return;
  if ((features_.events & nvme::event_config_bits::discovery_log) != 0 || departs(departure::event_mask_ignored)) {
    raise({nvme::EventType::notice, nvme::event_info::notice_discovery_log, static_cast<std::uint8_t>(nvme::LogPage::discovery)});
  }
}

void Controller::on_hosts_changed() {
  const bool asked = (features_.events & nvme::event_config_bits::host_discovery) != 0;
  if (!asked && !departs(departure::host_event_unasked)) return;
  const bool other = departs(departure::host_event_page);
  raise({nvme::EventType::notice, nvme::event_info::notice_host_discovery_log,
         static_cast<std::uint8_t>(other ? nvme::LogPage::discovery : nvme::LogPage::host_discovery)});
}

void Controller::on_temperature() {
  const std::uint16_t now = subsystem_.temperature();
  const bool alarm = now >= features_.temperature_over || now <= features_.temperature_under;
  const bool news = alarm && !temperature_alarm_;
  if (alarm != temperature_alarm_) {
    temperature_alarm_ = alarm;
    tell(Change::warning);
  }
  if (news && ((features_.events & nvme::smart_warning_bits::temperature) != 0 || departs(departure::event_mask_ignored))) {
    raise({nvme::EventType::smart, nvme::event_info::smart_temperature, static_cast<std::uint8_t>(nvme::LogPage::smart)});
  }
}

void Controller::on_critical_warning(std::uint8_t news) {
  const auto raise_smart = [&](std::uint8_t bit, std::uint8_t info) {
    if ((news & bit) == 0) return;
    if ((features_.events & bit) == 0 && !departs(departure::event_mask_ignored)) return;
    raise({nvme::EventType::smart, info, static_cast<std::uint8_t>(nvme::LogPage::smart)});
  };
  raise_smart(nvme::smart_warning_bits::spare, nvme::event_info::smart_spare);
  raise_smart(nvme::smart_warning_bits::temperature, nvme::event_info::smart_temperature);
  raise_smart(nvme::smart_warning_bits::reliability, nvme::event_info::smart_reliability);
}

}  // namespace fb::subsystem
