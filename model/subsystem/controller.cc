#include "model/subsystem/controller.h"

#include <algorithm>
#include <utility>

#include "model/subsystem/cross_reset_fault_points.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/discovery.h"
#include "model/subsystem/subsystem.h"
#include "wire/fabrics/property.h"

namespace fb::subsystem {

ControllerPart::ControllerPart(Controller& controller) : controller_(controller), subsystem_(controller.subsystem()) {}

bool ControllerPart::departs(std::string_view point) const { return controller_.departs(point); }

SubsystemHooks& ControllerPart::hooks() const { return controller_.hooks(); }

Controller::Controller(Subsystem& subsystem, std::uint16_t cntlid)
    : subsystem_(subsystem), cntlid_(cntlid), features_(default_features()), saved_(features_) {}

Controller::~Controller() {
  end_association("the controller is gone");
  end_management("the controller is gone");
}

bool Controller::departs(std::string_view point) const { return subsystem_.departs(point); }

SubsystemHooks& Controller::hooks() const { return subsystem_.hooks(); }

ControllerFeatures Controller::default_features() const {
  ControllerFeatures features;
  features.queues = subsystem_.options().io_queues_max;
  features.write_cache = subsystem_.options().volatile_write_cache ? 1 : 0;
  features.lba_status_interval = subsystem_.options().lba_status.poll_interval;
  return features;
}

// ---- the association ----

bool Controller::secured() const { return admin_queue_ != nullptr && admin_queue_->secured(); }

void Controller::begin_association(Queue& admin, HostIdentity host, std::uint32_t kato_ms, bool individual_deletion) {
  BENCH_ASSERT(!associated_, "a controller has one host at a time");
  associated_ = true;
  admin_queue_ = &admin;
  port_ = &admin.port();
  host_ = std::move(host);
  subsystem_.welcome(*this);
  individual_deletion_ = individual_deletion;
  leave_all_states();
  if (departs(departure::feature_save_leaves)) saved_ = default_features();
  features_ = saved_;
  features_.kato_ms = keep_alive_.rounded_kato(kato_ms);
  timestamp_.restart(subsystem_.world().now());
  cross_reset_.on_connected();
  logs_.persistent_context_.clear();
  endurance_wanted_.clear();
  endurance_pending_.clear();
  lba_status_.reset_lba_status();
  changed_namespaces_.clear();
  reservation_log_.clear();
  genctr_known_ = false;
  if (subsystem_.discovery() != nullptr && kato_ms != 0) {
    features_.events |= nvme::event_config_bits::discovery_log;
  }
  subsystem_.trace_state("association.begin", "controller " + std::to_string(cntlid_) + " with " + host_.hostnqn);
  traffic_ = false;
  watch_idleness();
  if (departs(departure::kato_before_ready)) keep_alive_.restart_keep_alive();
  registration_.begin_association();
}

Queue* Controller::io_queue(std::uint16_t qid) const {
  for (Queue* queue : io_queues_) {
    if (queue->qid() == qid) return queue;
  }
  return nullptr;
}

void Controller::end_association(std::string_view why) {
  if (!associated_) return;
  if (departs(departure::reservation_leave_loses)) reservations_.end_registrations();
  associated_ = false;
  directives_.reset_directives();
  Loop& loop = subsystem_.world().loop();
  for (Event* event :
       {static_cast<Event*>(&ready_timer_), static_cast<Event*>(&reset_timer_), static_cast<Event*>(&shutdown_timer_),
        static_cast<Event*>(&keep_alive_.kato_timer_), static_cast<Event*>(&idle_timer_), static_cast<Event*>(&io_loss_timer_),
        static_cast<Event*>(&lba_status_.lba_status_timer_), static_cast<Event*>(&cross_reset_.timer_)}) {
    loop.cancel(*event);
  }
  Queue* const admin = std::exchange(admin_queue_, nullptr);
  const std::vector<Queue*> queues = std::exchange(io_queues_, {});
  if (admin != nullptr) admin->close(why);
  for (Queue* queue : queues) queue->close(why);
  subsystem_.trace_state("association.end", "controller " + std::to_string(cntlid_) + ": " + std::string(why));
  subsystem_.world().trace().mark("subsystem.association.ended");
  port_ = nullptr;
  leave_all_states();
  firmware_.reset_firmware();
  key_values_.on_end();
  subsystem_.self_tests().on_controller_reset(cntlid_);
  events_.reset();
  cross_reset_.operations_.clear();
  cross_reset_.lost_.clear();
  registration_.end_association();
  subsystem_.reap_later();
}

void Controller::leave_all_states() {
  const std::uint32_t before = csts();
  Loop& loop = subsystem_.world().loop();
  for (Event* event : {static_cast<Event*>(&ready_timer_), static_cast<Event*>(&reset_timer_), static_cast<Event*>(&shutdown_timer_)}) {
    loop.cancel(*event);
  }
  const bool enabled = cc_enabled();
  state_ = ControllerState::disabled;
  cc_ = 0;
  rdy_ = false;
  shst_ = 0;
  if (enabled) tell(Change::enable);
  tell_csts(before);
}

void Controller::on_queue_lost(Queue& queue, std::string_view why) {
  if (&queue == admin_queue_) {
    admin_queue_ = nullptr;
    const bool used = state_ == ControllerState::enabling || state_ == ControllerState::ready || state_ == ControllerState::failed;
    if (used || departs(departure::lost_host_orderly)) cross_reset_.tell_lost();
    if (!departs(departure::admin_loss_tolerated)) end_association(why);
    return;
  }
  std::erase(io_queues_, &queue);
  const bool individual = subsystem_.options().individual_queue_deletion && (individual_deletion_ || queue.individually_deletable());
  if (individual || departs(departure::io_loss_tolerated)) return;
  const bool leaving = state_ == ControllerState::shutting_down || state_ == ControllerState::shut_down;
  Loop& loop = subsystem_.world().loop();
  if (!leaving && !io_loss_timer_.scheduled()) {
    loop.schedule_after(io_loss_timer_, subsystem_.options().io_loss_grace);
  }
}

void Controller::drop_queue(Queue& queue, std::string_view why) {
  if (&queue == admin_queue_) return end_association(why);
  queue.close(why);
  on_queue_lost(queue, why);
}

void Controller::deny_all(Queue& queue) {
  if (&queue == admin_queue_) {
    const std::vector<Queue*> queues = io_queues_;
    for (Queue* io : queues) io->abort_all(nvme::sc::operation_denied, nullptr);
  }
  queue.abort_all(nvme::sc::operation_denied, nullptr);
}

void Controller::on_io_loss_due() {
  cross_reset_.tell_lost();
  end_association("an I/O queue was lost");
}

void Controller::on_cross_reset() {
  subsystem_.world().trace().mark("subsystem.controller.cross_reset");
  subsystem_.record_reset(this);
  if (departs(departure::lost_host_ccr)) cross_reset_.tell_lost();
  if (departs(departure::ccr_io_survives)) {
    if (admin_queue_ != nullptr) admin_queue_->discard_all();
    return;
  }
  end_association("Cross-Controller Reset");
}

void Controller::forget(Queue& queue) {
  if (&queue == admin_queue_) admin_queue_ = nullptr;
  std::erase(io_queues_, &queue);
  std::erase(management_queues_, &queue);
}

void Controller::end_management(std::string_view why) {
  const std::vector<Queue*> queues = std::exchange(management_queues_, {});
  for (Queue* queue : queues) queue->close(why);
}

void Controller::tell(Change what) const { subsystem_.tell(what, cntlid_); }

void Controller::fail_association(std::string_view why) {
  step(ControllerEvent::fail);
  end_association(why);
}

void Controller::on_subsystem_reset() {
  const bool alone = !associated_;
  end_association("NVM subsystem reset");
  if (alone) {
    leave_all_states();
    firmware_.reset_firmware();
  }
  end_management("NVM subsystem reset");
  nssro_ = true;
  error_log_.clear_errors();
}

/// The limit of silence has passed: a host that never enables, or a discovery host that said KATO 0.
void Controller::on_idle() {
  World& world = subsystem_.world();
  DiscoveryService* const discovery = subsystem_.discovery();
  if (discovery != nullptr && features_.kato_ms == 0) {
    const std::uint64_t fetched = admin_queue_ != nullptr ? admin_queue_->commands_fetched() : 0;
    if (fetched == idle_mark_) return end_association("no activity");
    idle_mark_ = fetched;
    world.loop().schedule_after(idle_timer_, discovery->options().activity_limit);
    return;
  }
  if (!cc_enabled()) end_association("not enabled in time");
}

void Controller::watch_idleness() {
  Loop& loop = subsystem_.world().loop();
  DiscoveryService* const discovery = subsystem_.discovery();
  if (discovery != nullptr && features_.kato_ms == 0) {
    idle_mark_ = admin_queue_ != nullptr ? admin_queue_->commands_fetched() : 0;
    loop.schedule_after(idle_timer_, discovery->options().activity_limit);
  } else if (subsystem_.options().enable_limit > Duration{}) {
    loop.schedule_after(idle_timer_, subsystem_.options().enable_limit);
  }
}

}  // namespace fb::subsystem
