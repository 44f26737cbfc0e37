// CC and CSTS: the state machine of enable, reset and shutdown; the values of the properties.
#include <string>
#include <utility>

#include "model/subsystem/kv_fault_points.h"
#include "model/subsystem/association_fault_points.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/discovery.h"
#include "model/subsystem/subsystem.h"
#include "model/subsystem/zrwa_fault_points.h"
#include "wire/fabrics/property.h"

namespace fb::subsystem {

namespace {

namespace prop = fabrics::property;
using fabrics::ShutdownNotification;

/// Bits of CC that are defined.
constexpr std::uint32_t kCcMask = 0x01FFFFF1;

/// CSTS.SHST as it is kept.
constexpr std::uint8_t kShstNone = 0;
constexpr std::uint8_t kShstBusy = 1;
constexpr std::uint8_t kShstDone = 2;

}  // namespace

bool Controller::step(ControllerEvent event) {
  const std::optional<ControllerState> to = next_state(state_, event);
  if (!to) return false;
  if (subsystem_.tracing()) {
    subsystem_.trace_state("controller.state",
                           std::to_string(cntlid_) + ": " + std::string(name_of(state_)) + " -> " + std::string(name_of(*to)));
  }
  const std::uint32_t before = csts();
  state_ = *to;
  tell_csts(before);
  return true;
}

void Controller::tell_csts(std::uint32_t before) const {
  const auto was = record_from_integer<fabrics::Csts>(before);
  const auto is = record_from_integer<fabrics::Csts>(csts());
  if (was.get(fabrics::csts::rdy) != is.get(fabrics::csts::rdy)) tell(Change::ready);
  if (was.get(fabrics::csts::cfs) != is.get(fabrics::csts::cfs)) tell(Change::fatal);
  if (was.get(fabrics::csts::shst) != is.get(fabrics::csts::shst)) tell(Change::shutdown);
}

bool Controller::configuration_ok(std::uint32_t value) const {
  const auto cc = record_from_integer<fabrics::Cc>(value);
  const auto offered = record_from_integer<fabrics::Cap>(cap());
  const auto css = cc.get(fabrics::cc::css);
  const bool profile = (offered.get(fabrics::cap::css) & fabrics::cap_css_bits::io_command_sets) != 0;
  if (css != fabrics::CommandSetSelected::nvm && !(css == fabrics::CommandSetSelected::all && profile)) {
    return false;
  }
  if (cc.get(fabrics::cc::ams) != 0) return false;
  const auto mps = cc.get(fabrics::cc::mps);
  if (mps < offered.get(fabrics::cap::mpsmin) || mps > offered.get(fabrics::cap::mpsmax)) {
    return false;
  }
  if (subsystem_.discovery() != nullptr) return true;  // no I/O queues to size
  return cc.get(fabrics::cc::iosqes) == fabrics::kIoSqEntrySizeLog2 && cc.get(fabrics::cc::iocqes) == fabrics::kIoCqEntrySizeLog2;
}

void Controller::arm_ready() {
  if (departs(departure::rdy_never)) return;
  subsystem_.world().loop().schedule_after(ready_timer_, subsystem_.options().enable_delay);
}

void Controller::write_cc(std::uint32_t value) {
  const auto before = record_from_integer<fabrics::Cc>(cc_);
  const auto after = record_from_integer<fabrics::Cc>(value & kCcMask);
  const bool was_enabled = before.get(fabrics::cc::en);
  const bool enabled = after.get(fabrics::cc::en);
  if (was_enabled && !enabled && departs(departure::cc_en_sticks)) return;
  cc_ = value & kCcMask;
  if (was_enabled != enabled) tell(Change::enable);
  if (was_enabled && !enabled) return start_reset();
  if (!was_enabled && enabled) {
    if (state_ == ControllerState::resetting) finish_reset();
    if (!step(ControllerEvent::enable)) return;  // still shutting down: only a reset helps
    shst_ = kShstNone;
    if (subsystem_.discovery() == nullptr || features_.kato_ms != 0) {
      subsystem_.world().loop().cancel(idle_timer_);
    }
    if (!configuration_ok(cc_) && !departs(departure::cfs_not_set)) {
      step(ControllerEvent::fail);
    } else {
      arm_ready();
    }
  }
  const ShutdownNotification shn = after.get(fabrics::cc::shn);
  const bool asked = shn == ShutdownNotification::normal || shn == ShutdownNotification::abrupt;
  if (asked && shn != before.get(fabrics::cc::shn) && step(ControllerEvent::shutdown)) {
    subsystem_.world().loop().cancel(ready_timer_);
    subsystem_.world().loop().cancel(io_loss_timer_);
    if (!departs(departure::kato_after_shutdown)) subsystem_.world().loop().cancel(keep_alive_.kato_timer_);
    if (departs(departure::shst_never)) return;
    shst_ = kShstBusy;
    tell(Change::shutdown);
    subsystem_.world().loop().schedule_after(shutdown_timer_, subsystem_.options().shutdown_delay);
  }
}

void Controller::enter_ready() {
  if (!step(ControllerEvent::enabled)) return;
  rdy_ = true;
  cross_reset_.on_ready();
  tell(Change::ready);
  keep_alive_.restart_keep_alive();
}

void Controller::start_reset() {
  Loop& loop = subsystem_.world().loop();
  loop.cancel(ready_timer_);
  loop.cancel(shutdown_timer_);
  loop.cancel(keep_alive_.kato_timer_);
  loop.cancel(io_loss_timer_);
  step(ControllerEvent::reset);
  subsystem_.world().trace().mark("subsystem.controller.reset");
  clear_for_reset();
  if (departs(departure::cache_lost_at_reset)) subsystem_.lose_caches();
  if (departs(departure::reset_drops_admin)) return end_association("controller reset");
  if (subsystem_.options().disable_delay == Duration{}) return finish_reset();
  loop.schedule_after(reset_timer_, subsystem_.options().disable_delay);
}

void Controller::clear_for_reset() {
  firmware_.reset_firmware();
  subsystem_.self_tests().on_controller_reset(cntlid_);
  if (departs(departure::sanitize_reset)) subsystem_.sanitizer().forget();
  if (departs(departure::nsa_reset)) {
    for (const auto& [nsid, ns] : subsystem_.namespaces()) ns->attachments().forget(cntlid_);
  }
  if (admin_queue_ != nullptr) {
    if (departs(departure::reset_answers_aer)) {
      while (transport::ArrivedCommand* const request = admin_queue_->oldest(Phase::event)) {
        admin_queue_->hold({admin_queue_, request}, Phase::running);
        admin_queue_->complete({admin_queue_, request}, nvme::sc::abort_requested);
      }
    }
    admin_queue_->discard_all();
  }
  if (!departs(departure::reset_keeps_io_queues)) {
    const std::vector<Queue*> queues = std::exchange(io_queues_, {});
    for (Queue* queue : queues) queue->close("controller reset");
  }
  if (!departs(departure::event_reset)) events_.reset();
  changed_namespaces_.clear();
  changed_zones_.clear();
  if (departs(departure::zrwa_controller_reset)) {
    for (const auto& [nsid, ns] : subsystem_.namespaces()) {
      for (std::size_t i = 0; ns->zoned() && i < ns->zones()->count(); ++i) ns->zones()->release_random(i);
    }
  }
  if (departs(departure::zone_reset_controller_closes)) {
    for (const auto& [nsid, ns] : subsystem_.namespaces()) {
      if (ns->zoned()) ns->zones()->initialize(true);
    }
  }
  key_values_.on_reset();
  reservation_log_.clear();
  if (departs(departure::reservation_reset_loses)) reservations_.end_registrations();
  error_log_.clear_errors();
  genctr_known_ = false;
  temperature_alarm_ = false;
  directives_.reset_directives();
  placement_.on_reset();
  cross_reset_.on_reset();
  logs_.persistent_context_.clear();
  endurance_wanted_.clear();
  endurance_pending_.clear();
  lba_status_.reset_lba_status();
  registration_.on_reset();
  timestamp_.restart(subsystem_.world().now());
  if (!departs(departure::reset_keeps_features)) {
    // The keep alive timeout belongs to the association, not to the controller's features.
    const std::uint32_t kato_ms = features_.kato_ms;
    features_ = saved_;
    features_.kato_ms = kato_ms;
    if (subsystem_.discovery() != nullptr && kato_ms != 0) {
      features_.events |= nvme::event_config_bits::discovery_log;
    }
  }
}

void Controller::finish_reset() {
  subsystem_.world().loop().cancel(reset_timer_);
  if (!step(ControllerEvent::reset_done)) return;
  const std::uint32_t before = csts();
  if (!departs(departure::rdy_stays)) rdy_ = false;
  if (!departs(departure::shst_not_cleared)) shst_ = kShstNone;
  cc_ = 0;
  tell_csts(before);
  subsystem_.record_reset(this);
  if (!associated_) return;
  watch_idleness();
  if (departs(departure::kato_before_ready)) keep_alive_.restart_keep_alive();
}

void Controller::finish_shutdown() {
  if (!step(ControllerEvent::shutdown_done)) return;
  // A normal shutdown and an abrupt one promise the same for what was acknowledged.
  if (!departs(departure::cache_lost_at_shutdown)) {
    for (const auto& [nsid, ns] : subsystem_.namespaces()) ns->flush();
  }
  shst_ = kShstDone;
  subsystem_.on_shutdown_done();
  tell(Change::shutdown);
  if (associated_) watch_idleness();
}

bool Controller::zoned_selected() const {
  if (!subsystem_.options().zoned.supported) return false;
  if (departs(departure::zone_unselected)) return true;
  const bool all = record_from_integer<fabrics::Cc>(cc_).get(fabrics::cc::css) == fabrics::CommandSetSelected::all;
  return all && (features_.command_sets == 0 || departs(departure::zone_profile_ignored));
}

bool Controller::profile_restricts() const { return cc_enabled() && features_.command_sets != 0; }

bool Controller::key_values_selected() const {
  if (!subsystem_.options().key_value.supported) return false;
  if (departs(departure::kv_unselected)) return true;
  const bool all = record_from_integer<fabrics::Cc>(cc_).get(fabrics::cc::css) == fabrics::CommandSetSelected::all;
  return all && features_.command_sets == 0;
}

bool Controller::has_command_set(std::uint8_t csi) const {
  if (csi == static_cast<std::uint8_t>(nvme::CommandSet::key_value)) return key_values_selected();
  if (csi == static_cast<std::uint8_t>(nvme::CommandSet::zoned)) return zoned_selected();
  return csi == static_cast<std::uint8_t>(nvme::CommandSet::nvm);
}

bool Controller::shut_down() {
  auto cc = record_from_integer<fabrics::Cc>(cc_);
  cc.set(fabrics::cc::shn, ShutdownNotification::none);
  cc_ = static_cast<std::uint32_t>(integer_of(cc));
  cc.set(fabrics::cc::shn, ShutdownNotification::normal);
  const std::uint8_t before = shst_;
  write_cc(static_cast<std::uint32_t>(integer_of(cc)));
  return shst_ != before;
}

void Controller::write_register(std::uint32_t offset, std::uint32_t value) {
  const bool resettable = subsystem_.options().subsystem_reset && subsystem_.discovery() == nullptr;
  if (offset == prop::cc) write_cc(value);
  if (offset == prop::csts && resettable && record_from_integer<fabrics::Csts>(value).get(fabrics::csts::nssro)) {
    nssro_ = false;
  }
  if (offset == prop::nssr && resettable && value == fabrics::kNssrValue) {
    subsystem_.reset_subsystem_later();
  }
}

std::uint64_t Controller::cap() const {
  const SubsystemOptions& options = subsystem_.options();
  const bool discovery = subsystem_.discovery() != nullptr;
  const bool version_2 = subsystem_.has_version(2, 0) && !discovery;
  std::uint8_t css = fabrics::cap_css_bits::nvm;
  if (version_2) css |= fabrics::cap_css_bits::io_command_sets;
  Record<fabrics::Cap> cap;
  cap.set(fabrics::cap::mqes, options.io_entries_max - 1u)
      .set(fabrics::cap::cqr, true)
      .set(fabrics::cap::to, options.ready_timeout)
      .set(fabrics::cap::nssrs, options.subsystem_reset && !discovery)
      .set(fabrics::cap::css, css)
      .set(fabrics::cap::mpsmax, discovery ? 0u : 4u)
      .set(fabrics::cap::crwms, version_2);
  return integer_of(cap);
}

std::uint32_t Controller::csts() const {
  Record<fabrics::Csts> csts;
  const bool enabled = record_from_integer<fabrics::Cc>(cc_).get(fabrics::cc::en);
  csts.set(fabrics::csts::rdy, rdy_ || (!enabled && departs(departure::rdy_without_enable)))
      .set(fabrics::csts::cfs, state_ == ControllerState::failed)
      .set(fabrics::csts::shst, shst_)
      .set(fabrics::csts::nssro, nssro_);
  return static_cast<std::uint32_t>(integer_of(csts));
}

/// False where no property stands.
bool Controller::property_value(std::uint32_t offset, std::uint64_t& value, unsigned& bytes) const {
  const bool discovery = subsystem_.discovery() != nullptr;
  bytes = 4;
  value = 0;
  switch (offset) {
    case prop::cap:
      bytes = 8;
      value = cap();
      return true;
    case prop::vs:
      value = subsystem_.options().version;
      return true;
    case prop::cc:
      value = departs(departure::cc_not_cleared) ? 0 : cc_;
      return true;
    case prop::csts:
      value = csts();
      return true;
    case prop::nssr:
      return subsystem_.options().subsystem_reset && !discovery;
    case prop::crto: {
      if (discovery || !subsystem_.has_version(2, 0)) return false;
      Record<fabrics::Crto> crto;
      crto.set(fabrics::crto::crwmt, subsystem_.options().ready_timeout);  // CRIMT is 0 without CAP.CRMS.CRIMS
      value = integer_of(crto);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace fb::subsystem
