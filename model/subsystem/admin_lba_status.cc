// Get LBA Status, log page 0Eh and feature 15h: which blocks may not be recoverable, and how a host gets to know.
#include <algorithm>
#include <utility>

#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/lba_status.h"

namespace fb::subsystem {

namespace ls = nvme::lba_status_sqe;
using nvme::LbaStatusAction;
using nvme::LbaStatusCondition;

namespace {

constexpr std::int64_t kIntervalMs = 100;

}  // namespace

void LbaStatusCommands::get_lba_status(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::GetLbaStatusSqe>();
  Namespace* ns = nullptr;
  if (!controller_.io_.find_namespace(command, ns)) return;
  if (ns == nullptr) return queue.complete(command, nvme::sc::success);
  if (!controller_.io_.check_path(command, *ns)) return;
  const LbaStatusAction action = sqe.get(ls::atype);
  const bool known = action == LbaStatusAction::scan || action == LbaStatusAction::tracked;
  if (!known && queue.refuse(command, check::lba_status_action)) return;
  std::uint64_t slba = sqe.get(ls::slba);
  const std::uint64_t length = sqe.get(ls::rl);
  const bool inside = slba < ns->blocks() && ns->in_range(slba, length);
  if (!inside && queue.refuse(command, check::lba_status_range)) return;
  slba = std::min(slba, ns->blocks());
  const std::uint64_t rest = ns->blocks() - slba;
  const bool to_the_end = length == 0 || departs(departure::lba_status_to_the_end);
  std::uint64_t count = to_the_end ? rest : std::min(length, rest);
  if (departs(departure::lba_status_from_zero)) count += std::exchange(slba, 0);
  if (action == LbaStatusAction::scan && !departs(departure::lba_status_no_scan) && ns->scan(slba, count)) {
    subsystem_.lba_status_changed(*ns);
  }
  std::vector<nvme::LbaStatus> found;
  if (!departs(departure::lba_status_blind)) found = ns->unrecoverable(slba, count);
  if (departs(departure::lba_status_order)) std::reverse(found.begin(), found.end());

  // What a host has room for may be more than can ever be moved.
  const std::uint64_t asked = sqe.get(ls::mndw).count() * 4;
  const std::uint8_t mdts = subsystem_.options().mdts;
  const std::uint64_t most = mdts == 0 ? 1u << 24 : std::uint64_t{4096} << mdts;
  const auto bytes = static_cast<std::size_t>(std::min(asked, most));
  if (!queue.stage(command, bytes)) return;
  Bytes list(std::max(bytes, nvme::LbaStatusListHeader::size));
  const std::size_t shown = nvme::write_lba_statuses(list, found);
  const bool whole = shown == found.size() || departs(departure::lba_status_complete);
  const bool complete = whole && !departs(departure::lba_status_incomplete);
  MutableView<nvme::LbaStatusListHeader> header{MutableBytes{list}.first(nvme::LbaStatusListHeader::size)};
  header.set(nvme::lba_status_list::cmpc, complete ? LbaStatusCondition::complete : LbaStatusCondition::incomplete);
  if (departs(departure::lba_status_count)) header.set(nvme::lba_status_list::nlsd, found.size());
  std::copy_n(list.begin(), bytes, command.data().begin());
  queue.complete_with_data(command, bytes);
}

// ---- log page 0Eh ----

Bytes LbaStatusCommands::make_lba_status_log() const {
  std::vector<nvme::LbaStatusRanges> elements;
  for (const auto& [nsid, ns] : subsystem_.namespaces()) {
    if (!controller_.sees(*ns)) continue;
    nvme::LbaStatusRanges one;
    one.nsid = nsid;
    BlockRanges ranges;
    for (const nvme::LbaStatus& lost : ns->unrecoverable(0, ns->blocks())) ranges.add(lost.first, lost.count);
    if (const auto failed = media_failures_.find(nsid); failed != media_failures_.end()) {
      one.action = LbaStatusAction::scan;
      failed->second.visit_in(0, ns->blocks(), [&](std::uint64_t first, std::uint64_t count) { ranges.add(first, count); });
    }
    ranges.visit_in(0, ns->blocks(), [&one](std::uint64_t first, std::uint64_t count) {
      for (; count > nvme::kLbaRangeMax; first += nvme::kLbaRangeMax, count -= nvme::kLbaRangeMax) {
        one.ranges.push_back({first, nvme::kLbaRangeMax});
      }
      one.ranges.push_back({first, count});
    });
    if (!one.ranges.empty()) elements.push_back(std::move(one));
  }
  const bool counts = !departs(departure::lba_status_generation);
  return nvme::make_lba_status_log(counts ? lba_status_generation_ : std::uint16_t{0}, elements);
}

/// From its first read with RAE = 1 on the page stays what it is, up to the first with RAE = 0.
Bytes LbaStatusCommands::log_lba_status(const Command& command) {
  const bool retain = command.as<nvme::GetLogPageSqe>().get(nvme::get_log_sqe::rae);
  if (command.queue->out_of_band()) return make_lba_status_log();
  const bool live = departs(departure::lba_status_log_live);
  if (retain && !lba_status_page_.empty() && !live) return lba_status_page_;
  Bytes page = make_lba_status_log();
  lba_status_news_ = false;
  if (retain) lba_status_page_ = page;
  return page;
}

/// The host has read the page, and its contents may change again.
void LbaStatusCommands::release_lba_status() {
  lba_status_page_.clear();
  if (!departs(departure::lba_status_failure_stays)) media_failures_.clear();
  subsystem_.world().loop().cancel(lba_status_timer_);
}

void LbaStatusCommands::reset_lba_status() {
  lba_status_page_.clear();
  lba_status_news_ = false;
  subsystem_.world().loop().cancel(lba_status_timer_);
}

// ---- what is told ----

void Controller::on_lba_status(const Namespace& ns) {
  if (!associated_ || !subsystem_.options().lba_status.supported || !sees(ns)) return;
  if (std::exchange(lba_status_.lba_status_news_, true)) return;
  ++lba_status_.lba_status_generation_;
  const std::int64_t units = departs(departure::lba_status_early) ? 0 : features_.lba_status_interval;
  Loop& loop = subsystem_.world().loop();
  if (!lba_status_.lba_status_timer_.scheduled()) loop.schedule_after(lba_status_.lba_status_timer_, Duration::ms(units * kIntervalMs));
}

void Controller::on_media_failure(const Namespace& ns, std::uint64_t slba, std::uint64_t count) {
  if (!associated_ || !subsystem_.options().lba_status.supported || !sees(ns)) return;
  lba_status_.media_failures_[ns.nsid()].add(slba, count);
  if (!std::exchange(lba_status_.lba_status_news_, true)) ++lba_status_.lba_status_generation_;
  subsystem_.world().loop().cancel(lba_status_.lba_status_timer_);
  lba_status_.announce_lba_status();
}

void LbaStatusCommands::announce_lba_status() {
  const bool asked = (controller_.features_.events & nvme::event_config_bits::lba_status) != 0;
  if ((!asked && !departs(departure::event_mask_ignored)) || departs(departure::lba_status_silent)) return;
  controller_.raise({nvme::EventType::notice, nvme::event_info::notice_lba_status, static_cast<std::uint8_t>(nvme::LogPage::lba_status)});
}

// ---- feature 15h ----

std::uint32_t LbaStatusCommands::lba_status_attributes(const ControllerFeatures& from) const {
  Record<nvme::LbaStatusAttributes> attributes;
  attributes.set(nvme::lba_status_attributes::lsiri, from.lba_status_interval)
      .set(nvme::lba_status_attributes::lsipi, subsystem_.options().lba_status.poll_interval);
  return static_cast<std::uint32_t>(integer_of(attributes));
}

/// The report interval is never shorter than the poll interval, which is the product's own.
void LbaStatusCommands::set_lba_status_attributes(const Command& command, std::uint32_t value) {
  const auto asked = record_from_integer<nvme::LbaStatusAttributes>(value);
  const std::uint16_t own = subsystem_.options().lba_status.poll_interval;
  const std::uint16_t interval = std::max<std::uint16_t>(asked.get(nvme::lba_status_attributes::lsiri), own);
  controller_.feature_commands_.keep_feature(command, static_cast<std::uint8_t>(nvme::FeatureId::lba_status_information), interval);
  const bool obeys = departs(departure::lba_status_poll_interval);
  command.queue->complete(command, nvme::sc::success, obeys ? value : lba_status_attributes(controller_.features_));
}

}  // namespace fb::subsystem
