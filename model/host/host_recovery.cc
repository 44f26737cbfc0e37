// What a host does when it has lost a controller: another one of the same subsystem is asked to reset it, so that writes need
// not wait until the lost one has certainly noticed (Base 2.3, 9.6.2.2). Time-based recovery goes on beside it: resubmit_after().
#include <algorithm>
#include <string>

#include "model/host/host.h"
#include "model/host/recovery_fault_points.h"
#include "wire/nvme/cross_controller_reset.h"

namespace fb::host {

namespace {
/// Other controllers that are asked after one another.
constexpr unsigned kAttemptsMax = 4;
}  // namespace

struct Host::Recovery {
  Controller* lost;
  Instant lost_at;
  std::uint16_t cntlid;
  std::uint8_t ciu;
  std::uint64_t cirn;
  Controller* source = nullptr;
  std::vector<const Controller*> tried = {};
  unsigned attempts = 0;
  std::uint16_t alternate = nvme::kNoAlternateController;
  bool over = false;
};

void Host::recover(Controller& lost) {
  const ControllerFacts& facts = lost.facts();
  const bool told_apart = facts.ciu != 0 || facts.cirn != 0;
  if (!told_apart || !lost.options().cross_controller_reset || lost.departs(point::reset_not_asked)) return;
  if (lost.resubmit_after() <= world_.now()) return;
  std::erase_if(recoveries_, [](const auto& one) { return one->over; });
  const auto same = [&](const auto& one) { return one->lost == &lost && one->lost_at == lost.lost_at(); };
  if (std::ranges::any_of(recoveries_, same)) return;
  auto recovery = std::make_shared<Recovery>(Recovery{&lost, lost.lost_at(), facts.cntlid, facts.ciu, facts.cirn});
  recoveries_.push_back(recovery);
  ask_for_reset(recovery);
}

void Host::ask_for_reset(const std::shared_ptr<Recovery>& recovery) {
  Controller* const last = recovery->source;
  recovery->source = nullptr;
  for (const auto& one : controllers_) {
    const bool serves = one->live() && one.get() != recovery->lost && one->options().subnqn == recovery->lost->options().subnqn;
    const bool able = one->facts().reset_limit != 0 || one->departs(point::reset_unclaimed);
    const bool fresh = std::ranges::find(recovery->tried, one.get()) == recovery->tried.end();
    if (!serves || !able) continue;
    if (one->departs(point::reset_again_anywhere) && last == one.get()) recovery->source = one.get();
    const bool named = recovery->alternate == nvme::kNoAlternateController || one->facts().cntlid == recovery->alternate;
    if (fresh && named && recovery->source == nullptr) recovery->source = one.get();
  }
  if (recovery->source == nullptr || ++recovery->attempts > kAttemptsMax) return end_recovery(*recovery, false);
  recovery->tried.push_back(recovery->source);
  world_.trace().mark("host.cross_controller_reset");
  std::uint64_t cirn = recovery->cirn;
  if (recovery->source->departs(point::reset_instance_wrong)) cirn = cirn << 32 | cirn >> 32;
  const std::uint8_t ciu = recovery->source->departs(point::reset_ciu_wrong) ? std::uint8_t{0} : recovery->ciu;
  recovery->source->call_admin(as_sqe(cross_controller_reset(recovery->cntlid, ciu, cirn)), {}, transport::Direction::none,
                               [this, recovery](AdminReply& reply) { on_reset_answer(recovery, reply); });
}

void Host::on_reset_answer(const std::shared_ptr<Recovery>& recovery, AdminReply& reply) {
  if (closing_ || recovery->over) return;
  if (!reply.ok()) {
    // One that runs already is as good: its log page will say how it ends.
    if (reply.answered && same_code(reply.status(), nvme::sc::ccr_in_progress)) return;
    return ask_for_reset(recovery);
  }
  const bool done = reply.cqe.as<nvme::CrossControllerResetReply>().get(nvme::ccr_reply::irs);
  if (done || recovery->source->departs(point::reset_completion_enough)) return end_recovery(*recovery, true);
  if (recovery->source->departs(point::reset_log_unread)) return;
  // It may have ended by now, and where no event tells the end, nothing else does.
  Controller& source = *recovery->source;
  source.call_log(nvme::LogPage::cross_controller_reset, nvme::kControllerEntriesBytes, 0, [this, &source](AdminReply& log) {
    if (!closing_ && log.ok()) take_reset_log(source, log.data);
  });
}

void Host::take_reset_log(Controller& source, ByteView log) {
  if (source.departs(point::reset_log_unread)) return;
  const auto entries = nvme::read_ccr_log(log);
  for (const auto& recovery : std::vector(recoveries_)) {
    if (recovery->over || recovery->source != &source) continue;
    const bool any = source.departs(point::reset_any_entry);
    const auto entry = std::ranges::find_if(
        entries, [&](const nvme::CcrEntry& one) { return any || (one.icid == recovery->cntlid && one.ciu == recovery->ciu); });
    if (entry == entries.end() || entry->status == nvme::CcrStatus::in_progress) continue;
    if (entry->status == nvme::CcrStatus::success || source.departs(point::reset_failure_enough)) {
      end_recovery(*recovery, true);
      continue;
    }
    recovery->alternate = entry->retry == nvme::CcrRetry::alternate ? entry->acid : nvme::kNoAlternateController;
    if (entry->retry == nvme::CcrRetry::no && !source.departs(point::reset_again_anywhere)) {
      end_recovery(*recovery, false);
    } else {
      ask_for_reset(recovery);
    }
  }
}

void Host::end_recovery(Recovery& recovery, bool stopped) {
  recovery.over = true;
  if (!stopped || recovery.lost->departs(point::reset_success_ignored)) return;
  recovery.lost->note_stopped(recovery.lost_at);
  for (auto& name_space : namespaces_) name_space->on_stopped(*recovery.lost);
}

void Host::forget_recovery(Recovery& recovery) {
  const bool lost = recovery.lost->state() == ControllerState::gone;
  const bool source = recovery.source != nullptr && recovery.source->state() == ControllerState::gone;
  if (lost || source) recovery.over = true;
}

}  // namespace fb::host
