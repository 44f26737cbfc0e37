// The keep alive timer, by command or by traffic.
#include <string>

#include "model/subsystem/association_fault_points.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/cross_reset_fault_points.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"

namespace fb::subsystem {

namespace {
/// What arrives exactly at the end of the timeout is still in time.
constexpr Duration kGrace = Duration::ms(1);
/// What a deviation makes of a timeout of 0.
constexpr std::uint32_t kDefaultKatoMs = 30'000;
}  // namespace

std::uint32_t KeepAlive::rounded_kato(std::uint32_t kato_ms) const {
  const SubsystemOptions& options = subsystem_.options();
  if (kato_ms == 0 && departs(departure::kato_zero)) kato_ms = kDefaultKatoMs;
  if (kato_ms == 0 || options.kas == 0) return 0;
  if (departs(departure::kato_not_rounded)) return kato_ms;
  const std::uint64_t grain = std::uint64_t{options.kas} * 100;
  const std::uint64_t rounded = (kato_ms + grain - 1) / grain * grain;
  return rounded > 0xFFFFFFFF ? kato_ms : static_cast<std::uint32_t>(rounded);
}

bool KeepAlive::keep_alive_runs() const {
  if (controller_.features_.kato_ms == 0) return false;
  if (controller_.state_ == ControllerState::ready) return true;
  const bool down = controller_.state_ == ControllerState::shutting_down || controller_.state_ == ControllerState::shut_down;
  return departs(down ? departure::kato_after_shutdown : departure::kato_before_ready);
}

void KeepAlive::restart_keep_alive() {
  Loop& loop = subsystem_.world().loop();
  if (!keep_alive_runs()) return loop.cancel(kato_timer_);
  Duration time = Duration::ms(controller_.features_.kato_ms);
  if (departs(departure::kato_early)) time = time / 2;
  if (!departs(departure::traffic_stays)) controller_.traffic_ = false;
  loop.schedule_after(kato_timer_, time + kGrace);
}

void KeepAlive::on_keep_alive_due() {
  if (departs(departure::kato_never)) return;
  if (subsystem_.options().traffic_based_keep_alive && controller_.traffic_ && !departs(departure::traffic_ignored)) {
    return restart_keep_alive();
  }
  subsystem_.world().trace().mark("subsystem.keep_alive.expired");
  if (!departs(departure::kato_no_log)) {
    controller_.error_log_.add_error({.status = nvme::sc::keep_alive_timer_expired});
  }
  if (!departs(departure::lost_host_keep_alive)) controller_.cross_reset_.tell_lost();
  controller_.step(ControllerEvent::fail);
  if (!departs(departure::kato_keeps_connections)) controller_.end_association("keep alive timeout");
}

void KeepAlive::keep_alive(const Command& command) {
  if (command.nsid() != 0 && command.queue->refuse(command, check::nsid_unused)) return;
  if (!departs(departure::keep_alive_ineffective)) restart_keep_alive();
  command.queue->complete(command, nvme::sc::success);
}

}  // namespace fb::subsystem
