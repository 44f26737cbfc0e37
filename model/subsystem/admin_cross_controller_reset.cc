#include "model/subsystem/admin_cross_controller_reset.h"

#include <algorithm>
#include <string>

#include "model/subsystem/controller.h"
#include "model/subsystem/cross_reset_fault_points.h"
#include "model/subsystem/subsystem.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
using nvme::CcrEntry;
using nvme::CcrRetry;
using nvme::CcrStatus;
using nvme::LostHostEntry;

namespace {

/// More of a host's controllers are not told of a loss: each may answer with a Cross-Controller Reset.
constexpr unsigned kTold = 4;

std::uint32_t reply_of(bool irs, bool validated, bool initiated) {
  Record<nvme::CrossControllerResetReply> reply;
  reply.set(nvme::ccr_reply::irs, irs).set(nvme::ccr_reply::v, validated).set(nvme::ccr_reply::clri, initiated);
  return load_le<std::uint32_t>(reply.bytes().data());
}

}  // namespace

bool CrossControllerReset::supported() const {
  const bool claimed = subsystem_.discovery() == nullptr || departs(departure::ccr_in_discovery);
  return claimed && (subsystem_.options().cross_controller_reset.supported() || departs(departure::ccr_in_discovery));
}

bool CrossControllerReset::lost_host_supported() const {
  return subsystem_.discovery() == nullptr && supported() && subsystem_.options().cross_controller_reset.lost_host_log;
}

// ---- instances ----

std::uint8_t CrossControllerReset::uniquifier() const { return supported() && !departs(departure::ccr_ciu_zero) ? ciu_ : std::uint8_t{0}; }

std::uint64_t CrossControllerReset::random_number() const {
  if (!supported() || departs(departure::ccr_cirn_zero)) return 0;
  if (departs(departure::ccr_cirn_each)) return cirn_ + static_cast<std::uint64_t>(subsystem_.world().now().count_ns());
  return departs(departure::ccr_cirn_shared) ? 0x5555 : cirn_;
}

std::uint8_t CrossControllerReset::limit() const {
  if (!supported()) return 0;
  return departs(departure::ccr_limit_one) ? std::uint8_t{1} : subsystem_.options().cross_controller_reset.limit;
}

void CrossControllerReset::renew_random_number() {
  const std::string name = "subsystem.instance/" + subsystem_.options().nqn + '/' + std::to_string(controller_.cntlid());
  Rng rng = subsystem_.world().stream(name + '/' + std::to_string(renewals_++));
  if (ciu_ == 0) ciu_ = static_cast<std::uint8_t>(1 + rng.below(255));
  const std::uint64_t drawn = rng.next() | 1;
  cirn_ = departs(departure::ccr_cirn_counts) ? 1000 + renewals_ : drawn;
}

void CrossControllerReset::on_ready() {
  if (!supported()) return;
  if (!departs(departure::ccr_cirn_stays) || cirn_ == 0) renew_random_number();
  if (departs(departure::ccr_ciu_stays)) return;
  for (unsigned i = departs(departure::ccr_ciu_twice) ? 2 : 1; i > 0; --i) ciu_ = ciu_ == 0xFF ? std::uint8_t{1} : std::uint8_t(ciu_ + 1);
}

void CrossControllerReset::on_connected() {
  if (supported()) renew_random_number();
}

// ---- the command ----

CcrEntry* CrossControllerReset::entry_of(std::uint16_t icid) {
  const auto found = std::ranges::find_if(operations_, [icid](const Operation& one) { return one.entry.icid == icid; });
  return found != operations_.end() ? &found->entry : nullptr;
}

/// The command is for the instance that there is now.
bool CrossControllerReset::instance_matches(const Controller* impacted, std::uint8_t ciu, std::uint64_t cirn) const {
  if (impacted == nullptr || !impacted->in_association()) return false;
  const CrossControllerReset& there = impacted->cross_reset_;
  const std::uint64_t compared = departs(departure::ccr_low_cirn) ? 0xFFFFFFFF : ~std::uint64_t{0};
  const bool same_host = impacted->host().hostnqn == controller_.host().hostnqn || departs(departure::ccr_any_host);
  const bool any = departs(departure::ccr_any_instance);
  const bool same_ciu = there.uniquifier() == ciu || any || departs(departure::ccr_any_ciu);
  const bool same_cirn = (there.random_number() & compared) == (cirn & compared) || any || departs(departure::ccr_any_cirn);
  return same_host && same_ciu && same_cirn;
}

void CrossControllerReset::reset_impacted(Controller& impacted) {
  if (departs(departure::ccr_no_reset)) return;
  if (departs(departure::ccr_all_reset)) {
    for (const auto& [cntlid, one] : subsystem_.controllers()) {
      const bool of_host = one->in_association() && one->host().hostnqn == controller_.host().hostnqn;
      if (of_host && one.get() != &controller_) one->on_cross_reset();
    }
  }
  impacted.on_cross_reset();
}

void CrossControllerReset::execute(const Command& command) {
  namespace fields = nvme::ccr_sqe;
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::CrossControllerResetSqe>();
  const std::uint16_t icid = sqe.get(fields::icid);
  const std::uint8_t ciu = sqe.get(fields::ciu);
  const std::uint64_t cirn = sqe.get(fields::cirn);
  if (command.nsid() != 0 && queue.refuse(command, check::nsid_unused)) return;
  if (icid == controller_.cntlid() && queue.refuse(command, check::ccr_itself)) return;
  if (icid == controller_.cntlid()) return queue.complete(command, sc::success, reply_of(true, false, false));
  const CcrEntry* const earlier = entry_of(icid);
  const bool running = earlier != nullptr && earlier->status == CcrStatus::in_progress;
  if (running && queue.refuse(command, check::ccr_running)) return;
  const auto counts = [&](const Operation& one) {
    return one.entry.status == CcrStatus::in_progress || departs(departure::ccr_limit_completed);
  };
  const auto count = static_cast<std::size_t>(std::ranges::count_if(operations_, counts));
  const std::size_t most = limit() - (departs(departure::ccr_limit_less) ? 1u : 0u);
  if (count >= most && queue.refuse(command, check::ccr_limit)) return;
  if (earlier == nullptr && operations_.size() >= nvme::kControllerEntriesMax && queue.refuse(command, check::ccr_log_full)) return;
  if (!running && !departs(departure::ccr_replaced_kept)) {
    std::erase_if(operations_, [icid](const Operation& one) { return one.entry.icid == icid; });
  }
  const CrossControllerResetOptions& options = subsystem_.options().cross_controller_reset;
  Controller* const impacted = subsystem_.find_controller(icid);
  const bool there = impacted != nullptr && impacted->in_association();
  if (impacted == nullptr && departs(departure::ccr_unknown_refused)) return queue.complete(command, sc::invalid_field);
  if (impacted != nullptr && !there && departs(departure::ccr_gone_refused)) return queue.complete(command, sc::invalid_field);
  const bool matches = instance_matches(impacted, ciu, cirn);
  if (there && !matches && departs(departure::ccr_mismatch_fails)) return queue.complete(command, sc::invalid_field);
  std::erase_if(lost_, [&](const LostHostEntry& one) { return one.cntlid == icid && one.ciu == ciu; });
  if (departs(departure::ccr_source_reset)) {
    const std::vector<Queue*> own = controller_.io_queues();
    for (Queue* io : own) io->close("a deviation");
  }
  if (matches && options.reaches_others) reset_impacted(*impacted);
  const bool immediate = !matches || (options.reaches_others && options.time == Duration{});
  const bool entry_too = immediate && departs(departure::ccr_entry_too);
  if (immediate) {
    const bool validated = matches ? !departs(departure::ccr_reply_v) : there && departs(departure::ccr_mismatch_v);
    const bool initiated = matches ? !departs(departure::ccr_reply_clri) : there && departs(departure::ccr_mismatch_clri);
    std::uint32_t reply = reply_of(!(matches && departs(departure::ccr_reply_swapped)), validated, initiated);
    if (departs(departure::ccr_reply_reserved)) reply |= 1u << 3;
    if (departs(departure::ccr_event_too)) {
      controller_.raise({nvme::EventType::notice, nvme::event_info::notice_cross_controller_reset,
                         static_cast<std::uint8_t>(nvme::LogPage::cross_controller_reset)});
    }
    if (!entry_too) return queue.complete(command, sc::success, reply);
    operations_.push_back({{icid, ciu, nvme::kNoAlternateController, CcrStatus::success, true, true, CcrRetry::no}, {}});
    return queue.complete(command, sc::success, reply);
  }
  CcrEntry entry{.icid = icid, .ciu = ciu};
  if (departs(departure::ccr_entry_icid)) entry.icid = controller_.cntlid();
  if (departs(departure::ccr_entry_ciu)) entry.ciu = static_cast<std::uint8_t>(ciu + 1);
  if (!departs(departure::ccr_entry_missing)) operations_.push_back({entry, subsystem_.world().now() + options.time});
  if (!timer_.scheduled()) subsystem_.world().loop().schedule_after(timer_, options.time);
  queue.complete(command, sc::success, reply_of(false, false, false));
}

void CrossControllerReset::on_operation_due() {
  Loop& loop = subsystem_.world().loop();
  if (departs(departure::ccr_never_completes)) return;
  const Instant now = subsystem_.world().now();
  Instant next = Instant::never();
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    if (operations_[i].entry.status != CcrStatus::in_progress) continue;
    if (operations_[i].due <= now)
      complete_operation(i);
    else
      next = std::min(next, operations_[i].due);
  }
  if (next != Instant::never()) loop.schedule(timer_, next);
}

void CrossControllerReset::complete_operation(std::size_t index) {
  CcrEntry& entry = operations_[index].entry;
  const bool works = subsystem_.options().cross_controller_reset.reaches_others;
  if (works) {
    entry.status = CcrStatus::success;
    entry.validated = !departs(departure::ccr_entry_v);
    entry.reset_initiated = !departs(departure::ccr_entry_clri);
    if (departs(departure::ccr_entry_retry)) entry.retry = CcrRetry::anywhere;
  } else {
    entry.status = departs(departure::ccr_failed_success) ? CcrStatus::success : CcrStatus::failed;
    entry.validated = departs(departure::ccr_failed_v);
    entry.retry = CcrRetry::elsewhere;
    if (departs(departure::ccr_failed_alternate)) entry.acid = controller_.cntlid();
  }
  const bool asked = (controller_.features_.events & nvme::event_config_bits::cross_controller_reset) != 0;
  if (!asked && !departs(departure::ccr_event_unasked)) return;
  if (departs(departure::ccr_event_missing) || (index > 0 && departs(departure::ccr_event_once))) return;
  const auto page = departs(departure::ccr_event_log) ? nvme::LogPage::lost_host : nvme::LogPage::cross_controller_reset;
  controller_.raise({nvme::EventType::notice, nvme::event_info::notice_cross_controller_reset, static_cast<std::uint8_t>(page)});
}

// ---- the logs ----

Bytes CrossControllerReset::log(bool remove) {
  const auto completed = [&](const Operation& one) {
    return one.entry.status != CcrStatus::in_progress || departs(departure::ccr_progress_removed);
  };
  const bool removes = (remove && !departs(departure::ccr_not_removed)) || departs(departure::ccr_read_removes);
  if (removes && departs(departure::ccr_removed_first)) std::erase_if(operations_, completed);
  std::vector<CcrEntry> entries;
  for (const Operation& one : operations_) entries.push_back(one.entry);
  if (departs(departure::ccr_log_shared)) {
    for (const auto& [cntlid, other] : subsystem_.controllers()) {
      if (other.get() == &controller_) continue;
      for (const Operation& one : other->cross_reset_.operations_) entries.push_back(one.entry);
    }
  }
  Bytes page = nvme::make_ccr_log(entries);
  if (departs(departure::ccr_log_count) && !entries.empty()) --page[0];
  if (departs(departure::ccr_log_rest)) page.back() = 1;
  if (removes) std::erase_if(operations_, completed);
  return page;
}

Bytes CrossControllerReset::lost_host_log() const {
  std::vector<LostHostEntry> entries = lost_;
  if (departs(departure::lost_host_order)) std::ranges::reverse(entries);
  if (departs(departure::lost_host_itself)) entries.push_back({controller_.cntlid(), 1, ciu_});
  return nvme::make_lost_host_log(entries);
}

void CrossControllerReset::clear_lost_hosts() {
  if (!departs(departure::lost_host_kept)) lost_.clear();
}

void CrossControllerReset::on_reset() {
  if (!departs(departure::ccr_reset_kept)) {
    std::erase_if(operations_, [](const Operation& one) { return one.entry.status != CcrStatus::in_progress; });
  }
  if (!departs(departure::lost_host_reset)) lost_.clear();
}

// ---- hosts that were lost ----

void CrossControllerReset::tell_lost() {
  if (!lost_host_supported() || !controller_.in_association() || departs(departure::lost_host_silent)) return;
  unsigned told = 0;
  for (const auto& [cntlid, other] : subsystem_.controllers()) {
    const bool same = other->in_association() && other->host().hostnqn == controller_.host().hostnqn;
    if (other.get() == &controller_ || (!same && !departs(departure::lost_host_others))) continue;
    other->cross_reset_.on_lost_host(controller_.cntlid(), ciu_);
    if (++told == kTold) return;
  }
}

void CrossControllerReset::on_lost_host(std::uint16_t cntlid, std::uint8_t ciu) {
  LostHostEntry entry{.cntlid = cntlid, .losses = 1, .ciu = departs(departure::lost_host_ciu) ? std::uint8_t(ciu_ + 1) : ciu};
  const auto known = std::ranges::find_if(lost_, [cntlid](const LostHostEntry& one) { return one.cntlid == cntlid; });
  if (known != lost_.end() && !departs(departure::lost_host_twice)) {
    if (!departs(departure::lost_host_count)) entry.losses = known->losses == 0xFF ? known->losses : std::uint8_t(known->losses + 1);
    lost_.erase(known);
  }
  lost_.push_back(entry);
  if (lost_.size() > nvme::kControllerEntriesMax) lost_.erase(lost_.begin());
  const bool asked = (controller_.features_.events & nvme::event_config_bits::lost_host) != 0;
  if (!(asked ? !departs(departure::lost_host_event_missing) : departs(departure::lost_host_event_unasked))) return;
  controller_.raise({nvme::EventType::notice, nvme::event_info::notice_lost_host, static_cast<std::uint8_t>(nvme::LogPage::lost_host)});
}

}  // namespace fb::subsystem
