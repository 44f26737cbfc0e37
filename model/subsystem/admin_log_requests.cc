// Log pages that take more than an offset and a length: telemetry, the persistent event log, endurance groups, and
// what is locked down.
#include <algorithm>

#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/endurance.h"
#include "wire/nvme/lockdown.h"
#include "wire/nvme/persistent_events.h"
#include "wire/nvme/telemetry.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace gl = nvme::get_log_sqe;
using nvme::LogPage;
using nvme::PersistentLogAction;

/// False: the command has been answered.
bool LogPages::log_request_ok(const Command& command, LogPage page) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::GetLogPageSqe>();
  const unsigned lsp = sqe.get(gl::lsp);
  switch (page) {
    case LogPage::telemetry_host:
    case LogPage::telemetry_controller: {
      const bool blocks = nvme::log_offset(sqe) % nvme::kTelemetryBlock == 0 && nvme::log_length(sqe) % nvme::kTelemetryBlock == 0;
      if (!blocks && queue.refuse(command, check::log_telemetry_blocks)) return false;
      const bool create = (lsp & nvme::kCreateTelemetry) != 0 || departs(departure::telemetry_recaptures);
      if (page == LogPage::telemetry_host && create) subsystem_.telemetry().capture_for_host();
      return true;
    }
    case LogPage::persistent_event:
      return persistent_context_ok(command, static_cast<PersistentLogAction>(lsp & 3));
    case LogPage::endurance_group:
      return subsystem_.endurance().has(sqe.get(gl::lsi)) || !queue.refuse(command, check::log_endurance_group);
    case LogPage::fdp_configurations:
    case LogPage::reclaim_unit_handle_usage:
    case LogPage::fdp_statistics:
    case LogPage::fdp_events:
      return controller_.placement_.log_ok(command, page);
    case LogPage::lockdown: {
      const unsigned scope = lsp & 0xF, contents = lsp >> 4 & 3;
      const bool known = scope != 1 && scope <= 4 && contents <= 2;
      return known || !queue.refuse(command, check::log_lockdown_selection);
    }
    default:
      return true;
  }
}

bool LogPages::persistent_context_ok(const Command& command, PersistentLogAction action) {
  Queue& queue = *command.queue;
  switch (action) {
    case PersistentLogAction::read:
      return !persistent_context_.empty() || !queue.refuse(command, check::log_persistent_context);
    case PersistentLogAction::establish_and_read:
      if (!persistent_context_.empty() && queue.refuse(command, check::log_persistent_established)) return false;
      break;
    case PersistentLogAction::release:
      if (!departs(departure::persistent_held)) persistent_context_.clear();
      queue.complete(command, sc::success);
      return false;
    case PersistentLogAction::establish_and_read_header:
      break;
  }
  persistent_context_ = subsystem_.persistent_log().report(controller_);
  return true;
}

Bytes LogPages::log_persistent(const Command& command) {
  const auto action = static_cast<PersistentLogAction>(command.as<nvme::GetLogPageSqe>().get(gl::lsp) & 3);
  if (departs(departure::persistent_live) && !persistent_context_.empty()) {
    persistent_context_ = subsystem_.persistent_log().report(controller_);
  }
  Bytes page = persistent_context_;
  const bool header_alone = action == PersistentLogAction::establish_and_read_header || page.empty();
  if (header_alone) page.resize(nvme::PersistentLogHeader::size);
  return page;
}

Bytes LogPages::log_endurance_events() const {
  Bytes page(8 + 2 * controller_.endurance_pending_.size());
  store_le(page.data(), static_cast<std::uint64_t>(controller_.endurance_pending_.size()));
  std::size_t at = 8;
  for (const std::uint16_t group : controller_.endurance_pending_) {
    store_le(page.data() + at, group);
    at += 2;
  }
  return page;
}

Bytes LogPages::log_lockdown(const Command& command) const {
  namespace ll = nvme::lockdown_log;
  const unsigned lsp = command.as<nvme::GetLogPageSqe>().get(gl::lsp);
  const auto scope = static_cast<nvme::LockdownScope>(lsp & 0xF);
  const auto contents = static_cast<nvme::LockdownContents>(lsp >> 4 & 3);
  std::vector<std::uint8_t> codes = subsystem_.lockdown().list(scope, contents);
  std::erase_if(codes, [&](std::uint8_t code) { return !controller_.lockdown_.prohibitable(scope, code); });
  if (departs(departure::lockdown_order)) std::reverse(codes.begin(), codes.end());
  const bool hides = contents != nvme::LockdownContents::prohibitable && departs(departure::lockdown_hidden);
  if (hides) codes.clear();
  codes.resize(std::min<std::size_t>(codes.size(), 255));
  Record<nvme::LockdownLog> log;
  log.set(ll::ss, scope).set(ll::cs, contents).set(ll::lngth, codes.size());
  std::copy(codes.begin(), codes.end(), log.mutable_bytes().begin() + ll::cfil.offset);
  return Bytes(log.bytes().begin(), log.bytes().end());
}

// ---- what is recorded, and told ----

void LogPages::record(nvme::PersistentEventType type, ByteView data) { subsystem_.persistent_log().add(type, data, &controller_); }

void LogPages::record_firmware(const Command& command, std::string_view before, std::string_view wanted, nvme::Status status) {
  namespace fe = nvme::firmware_event;
  const auto sqe = command.as<nvme::FirmwareCommitSqe>();
  Record<nvme::FirmwareEvent> event;
  const MutableBytes bytes = event.mutable_bytes();
  put_text(bytes.subspan(fe::old_revision.offset, fe::old_revision.size), before, ' ');
  put_text(bytes.subspan(fe::new_revision.offset, fe::new_revision.size), wanted, ' ');
  event.set(fe::action, static_cast<std::uint8_t>(sqe.get(nvme::firmware_commit_sqe::ca)))
      .set(fe::slot, sqe.get(nvme::firmware_commit_sqe::fs))
      .set(fe::sct, status.sct())
      .set(fe::sc, status.sc());
  record(nvme::PersistentEventType::firmware_commit, event.bytes());
}

/// What a Set Features command changed, where the log keeps that feature.
void LogPages::record_feature(const Command& command, std::uint32_t dw0) {
  using nvme::FeatureId;
  namespace sf = nvme::set_feature_event;
  const auto sqe = command.as<nvme::SqeLayout>();
  const std::uint32_t cdw10 = sqe.get(nvme::sqe::cdw10);
  const auto fid = static_cast<FeatureId>(cdw10 & 0xFF);
  // Its changes have an event of their own: with this one only a deviation comes here.
  const bool misrecorded = fid == FeatureId::timestamp;
  const bool data = fid == FeatureId::host_behavior_support || misrecorded;
  if (fid != FeatureId::arbitration && fid != FeatureId::temperature_threshold && fid != FeatureId::volatile_write_cache &&
      fid != FeatureId::number_of_queues && fid != FeatureId::sanitize_configuration && !data) {
    return;
  }
  const ByteView memory = data ? ByteView{command.data()} : ByteView{};
  Record<nvme::SetFeatureEvent> layout;
  layout.set(sf::dwords, 2u).set(sf::completion, true).set(sf::bytes, memory.size());
  Bytes event(nvme::SetFeatureEvent::size + 12 + memory.size());
  std::copy(layout.bytes().begin(), layout.bytes().end(), event.begin());
  store_le(event.data() + 4, cdw10);
  store_le(event.data() + 8, sqe.get(nvme::sqe::cdw11));
  std::copy(memory.begin(), memory.end(), event.begin() + 12);
  store_le(event.data() + 12 + memory.size(), dw0);
  record(nvme::PersistentEventType::set_feature, event);
}

void LogPages::record_namespace(const Command& command, const Namespace* ns) {
  namespace ne = nvme::namespace_event;
  Record<nvme::NamespaceEvent> event;
  event.set(ne::cdw10, command.as<nvme::SqeLayout>().get(nvme::sqe::cdw10))
      .set(ne::nsid, ns != nullptr ? ns->nsid() : nvme::kAllNamespaces);
  if (ns != nullptr) {
    Bytes page(nvme::kIdentifySize);
    controller_.identify_.fill_identify_namespace(*ns, page);
    event.set(ne::nsze, ns->blocks())
        .set(ne::ncap, ns->capacity())
        .set(ne::flbas, page[26])
        .set(ne::dps, page[29])
        .set(ne::nmic, page[30])
        .set(ne::anagrpid, subsystem_.options().ana ? ns->ana_group() : 0u)
        .set(ne::nvmsetid, ns->nvm_set())
        .set(ne::endgid, ns->endurance_group());
  }
  record(nvme::PersistentEventType::change_namespace, event.bytes());
}

void Controller::on_telemetry() {
  if ((features_.events & nvme::event_config_bits::telemetry) == 0 && !departs(departure::event_mask_ignored)) return;
  raise({nvme::EventType::notice, nvme::event_info::notice_telemetry, static_cast<std::uint8_t>(LogPage::telemetry_controller)});
}

void Controller::on_endurance_warning(std::uint16_t group, std::uint8_t news) {
  const auto wanted = endurance_wanted_.find(group);
  const unsigned mask = wanted == endurance_wanted_.end() ? 0u : wanted->second;
  if ((news & mask) == 0 && !departs(departure::event_mask_ignored)) return;
  if (!endurance_pending_.insert(group).second) return;
  if ((features_.events & nvme::event_config_bits::endurance_group) == 0) return;
  raise({nvme::EventType::notice, nvme::event_info::notice_endurance_group, static_cast<std::uint8_t>(LogPage::endurance_group_events)});
}

}  // namespace fb::subsystem
