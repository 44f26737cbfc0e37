#include "model/mi/reporter.h"

#include <algorithm>
#include <utility>

#include "model/mi/fault_points.h"
#include "model/subsystem/subsystem.h"

namespace fb::mi {

using subsystem::Change;

namespace {
/// Events whose cause this model does not have are not claimed.
constexpr EventId kSupported[] = {EventId::controller_ready,  EventId::controller_fatal,    EventId::shutdown_status,
                                  EventId::controller_enable, EventId::namespace_attribute, EventId::composite_temperature,
                                  EventId::drive_life_used,   EventId::available_spare,     EventId::smart_warnings,
                                  EventId::pcie_link_active};
constexpr std::uint8_t kGenerationMask = 0x1F;
constexpr std::uint8_t kRetryMask = 0x07;
}  // namespace

Reporter::Reporter(World& world, Device& device, EndpointHooks& hooks, unsigned retries_max, std::function<void(const Bytes&)> send)
    : world_(world), device_(device), hooks_(hooks), retries_max_(retries_max), send_(std::move(send)) {
  device_.subsystem().add_observer(*this);
}

Reporter::~Reporter() { device_.subsystem().remove_observer(*this); }

bool Reporter::is_supported(std::uint8_t id) {
  return std::find(std::begin(kSupported), std::end(kSupported), static_cast<EventId>(id)) != std::end(kSupported);
}

std::vector<EventState> Reporter::supported() const {
  std::vector<EventState> states;
  for (const EventId id : kSupported) {
    const auto code = static_cast<std::uint8_t>(id);
    states.push_back({code, (enabled_ >> code & 1) != 0});
  }
  return states;
}

bool Reporter::any_enabled() const { return enabled_ != 0; }

Bytes Reporter::synchronize(const std::vector<EventState>& events, const ReportingTerms& terms) {
  for (const EventState& event : events) {
    const std::uint32_t bit = std::uint32_t{1} << event.id;
    enabled_ = event.enabled ? enabled_ | bit : enabled_ & ~bit;
  }
  terms_ = terms;
  unacknowledged_ = false;
  world_.loop().cancel(timer_);
  std::erase_if(pending_, [&](const Occurrence& item) { return (enabled_ >> item.id & 1) == 0; });
  return take_pending();
}

Bytes Reporter::acknowledge() {
  if (!departs(departure::event_after_ack)) {
    unacknowledged_ = false;
    world_.loop().cancel(timer_);
  }
  return take_pending();
}

void Reporter::reset() {
  enabled_ = 0;
  terms_ = {};
  pending_.clear();
  unacknowledged_ = false;
  world_.loop().cancel(timer_);
}

/// The list for a response: what is in it needs no message any more.
Bytes Reporter::take_pending() {
  OccurrenceList list;
  if (!pending_.empty()) generation_ = (generation_ + 1) & kGenerationMask;
  list.generation = generation_;
  list.items = std::exchange(pending_, {});
  return make_occurrence_list(list);
}

bool Reporter::attributed(std::uint16_t cntlid) const {
  if (cntlid == 0) return true;
  switch (device_.function_kind(cntlid)) {
    case FunctionKind::physical:
      return terms_.physical;
    case FunctionKind::virtual_function:
      return terms_.virtual_functions;
    default:
      return terms_.controllers;
  }
}

void Reporter::occur(EventId id, std::uint16_t cntlid, EventScope scope, std::uint32_t context) {
  const auto code = static_cast<std::uint8_t>(id);
  const bool enabled = (enabled_ >> code & 1) != 0;
  const bool wanted = enabled || (departs(departure::event_disabled_sent) && any_enabled());
  if (!wanted || departs(departure::event_not_sent)) return;
  // Not attributed to a controller, an event is the subsystem's.
  Occurrence item{code, context, scope, {}};
  if (cntlid != 0 && attributed(cntlid)) {
    item.context = cntlid;
    item.scope = EventScope::controller;
  }
  if (std::find(pending_.begin(), pending_.end(), item) != pending_.end()) return;
  pending_.push_back(std::move(item));
  if (unacknowledged_ || timer_.scheduled()) return;  // one message at a time; the ACK brings the rest
  world_.loop().schedule_after(timer_, terms_.delay);
}

void Reporter::on_due() {
  if (unacknowledged_) {
    sent_.retry = static_cast<std::uint8_t>((sent_.retry + 1) & kRetryMask);
    if (departs(departure::event_generation)) sent_.generation = (sent_.generation + 1) & kGenerationMask;
  } else {
    if (pending_.empty()) return;
    generation_ = (generation_ + 1) & kGenerationMask;
    sent_ = {generation_, 0, false, std::exchange(pending_, {})};
    unacknowledged_ = true;
  }
  arm_retry();
  world_.trace().mark(sent_.retry == 0 ? "mi.event.sent" : "mi.event.repeated");
  send_(make_occurrence_list(sent_));
}

void Reporter::arm_retry() {
  if (terms_.retry_delay == Duration{} || sent_.retry >= retries_max_) return;
  if (departs(departure::event_not_repeated)) return;
  world_.loop().schedule_after(timer_, terms_.retry_delay);
}

void Reporter::on_link_changed(std::uint8_t port) { occur(EventId::pcie_link_active, 0, EventScope::port, port); }

void Reporter::on_change(Change what, std::uint16_t cntlid) {
  switch (what) {
    case Change::ready:
      return occur(EventId::controller_ready, cntlid);
    case Change::fatal:
      return occur(EventId::controller_fatal, cntlid);
    case Change::shutdown:
      return occur(EventId::shutdown_status, cntlid);
    case Change::enable:
      return occur(EventId::controller_enable, cntlid);
    case Change::namespaces:
      return occur(EventId::namespace_attribute, 0);
    case Change::temperature:
      return occur(EventId::composite_temperature, 0);
    case Change::life_used:
      return occur(EventId::drive_life_used, 0);
    case Change::spare:
      return occur(EventId::available_spare, 0);
    case Change::warning:
      return occur(EventId::smart_warnings, cntlid);
    case Change::firmware:
      return occur(EventId::firmware_activated, 0);
    case Change::subsystem_reset:
    case Change::controller_list:
    case Change::sanitize:
      return;
  }
}

}  // namespace fb::mi
