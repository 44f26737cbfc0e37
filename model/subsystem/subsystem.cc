#include "model/subsystem/subsystem.h"

#include <algorithm>
#include <utility>

#include "model/subsystem/fault_points.h"
#include "model/subsystem/discovery.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/property.h"

namespace fb::subsystem {

namespace {
/// Between the answer to an NSSR write and the reset itself, so that the answer gets out.
constexpr Duration kResetNotice = Duration::ms(1);
}  // namespace

Subsystem::Subsystem(World& world, SubsystemOptions options, SubsystemHooks* hooks)
    : world_(world),
      options_(std::move(options)),
      hooks_(hooks != nullptr ? hooks : &no_hooks()),
      nonces_(auth::make_nonces(world, "subsystem.auth/" + options_.nqn)),
      firmware_(options_.firmware_update, options_.firmware),
      capacity_(options_.namespace_management.capacity_bytes),
      management_port_(world, *hooks_, {}) {
  // ZASL is never above MDTS.
  if (options_.mdts != 0) options_.zoned.append_limit = std::min(options_.zoned.append_limit, options_.mdts);
  if (options_.controllers != ControllerModel::static_controllers) return;
  for (const std::uint16_t cntlid : options_.static_cntlids) {
    controllers_[cntlid] = std::make_unique<Controller>(*this, cntlid);
  }
}

Subsystem::Subsystem(World& world, SubsystemOptions options, SubsystemHooks* hooks, DiscoveryService& discovery)
    : Subsystem(world, std::move(options), hooks) {
  discovery_ = &discovery;
}

Subsystem::~Subsystem() = default;

void Subsystem::trace_state(std::string_view label, const std::string& text) {
  if (!tracing()) return;
  world_.trace().emit({.kind = TraceKind::state,
                       .time = world_.now(),
                       .actor = "target",
                       .label = label,
                       .text = text,
                       .bytes = {},
                       .source = {},
                       .destination = {},
                       .ip = {}});
}

// ---- asymmetric access ----

void Subsystem::set_ana_state(std::uint32_t group, nvme::AnaState state, std::uint16_t portid) {
  AnaGroupState& entry = ana_groups_[group];
  if (portid == 0) entry.by_port.clear();
  entry.by_port[portid] = state;
  if (!departs(departure::ana_count_stays)) ++ana_changes_;
  entry.changes = departs(departure::ana_group_count_stays) ? 1 : ana_changes_;
  ana_latest_ = group;
  trace_state("ana.state", "group " + std::to_string(group) + ": " + std::string(nvme::name_of(state)));
  for (const auto& [id, controller] : controllers_) {
    const Port* const port = controller->port();
    if (port != nullptr && (portid == 0 || port->options().portid == portid)) {
      controller->on_ana_changed(state);
    }
  }
}

nvme::AnaState Subsystem::ana_state(std::uint32_t group, std::uint16_t portid) const {
  const auto found = ana_groups_.find(group);
  if (found == ana_groups_.end()) return nvme::AnaState::optimized;
  const auto& by_port = found->second.by_port;
  auto at = by_port.find(portid);
  if (at == by_port.end()) at = by_port.find(0);
  return at == by_port.end() ? nvme::AnaState::optimized : at->second;
}

std::uint64_t Subsystem::ana_group_change_count(std::uint32_t group) const {
  const auto found = ana_groups_.find(group);
  return found == ana_groups_.end() ? 0 : found->second.changes;
}

// ---- health ----

void Subsystem::set_temperature(std::uint16_t kelvins) {
  if (kelvins != temperature_) {
    temperature_ = kelvins;
    tell(Change::temperature);
  }
  for (const auto& [id, controller] : controllers_) controller->on_temperature();
  const unsigned passed = temperature_ >= kCriticalTemperature ? 2 : temperature_ >= kWarningTemperature ? 1 : 0;
  if (passed > thermal_excursion_) {
    const unsigned threshold = passed == 2 ? kCriticalTemperature : kWarningTemperature;
    Record<nvme::ThermalEvent> event;
    event.set(nvme::thermal_event::over, std::min(temperature_ - threshold, 255u)).set(nvme::thermal_event::threshold, passed);
    persistent_log_.add(nvme::PersistentEventType::thermal_excursion, event.bytes());
  }
  thermal_excursion_ = passed;
}

void Subsystem::set_percentage_used(std::uint8_t percent) {
  if (std::exchange(percentage_used_, percent) != percent) tell(Change::life_used);
}

void Subsystem::set_available_spare(std::uint8_t percent) {
  if (std::exchange(available_spare_, percent) != percent) tell(Change::spare);
}

void Subsystem::set_critical_warning(std::uint8_t bits) {
  const auto news = static_cast<std::uint8_t>(bits & ~critical_warning_);
  if (std::exchange(critical_warning_, bits) != bits) tell(Change::warning);
  for (const auto& [id, controller] : controllers_) controller->on_critical_warning(news);
}

std::uint64_t Subsystem::power_on_hours() const {
  constexpr std::int64_t kHour = 3'600'000;
  return options_.power_on_hours + static_cast<std::uint64_t>(world_.now().count_ns() / 1'000'000 / kHour);
}

// ---- hosts ----

bool Subsystem::host_allowed(std::string_view hostnqn) const {
  return options_.allow_any_host ||
         std::find(options_.allowed_hosts.begin(), options_.allowed_hosts.end(), hostnqn) != options_.allowed_hosts.end();
}

void Subsystem::allow_any_host(bool on) {
  if (options_.allow_any_host == on) return;
  options_.allow_any_host = on;
  if (watcher_ != nullptr) watcher_->changed();
}

void Subsystem::allow_host(std::string hostnqn) {
  options_.allowed_hosts.push_back(std::move(hostnqn));
  if (watcher_ != nullptr) watcher_->changed();
}

void Subsystem::disallow_host(std::string_view hostnqn) {
  std::erase(options_.allowed_hosts, hostnqn);
  std::vector<Controller*> losers;
  for (const auto& [id, controller] : controllers_) {
    if (controller->in_association() && controller->host().hostnqn == hostnqn && !host_allowed(hostnqn)) {
      losers.push_back(controller.get());
    }
  }
  for (Controller* controller : losers) controller->end_association("host no longer allowed");
  if (watcher_ != nullptr) watcher_->changed();
}

// ---- controllers ----

Controller* Subsystem::find_controller(std::uint16_t cntlid) {
  const auto found = controllers_.find(cntlid);
  return found == controllers_.end() ? nullptr : found->second.get();
}

Controller* Subsystem::make_controller() {
  std::size_t alive = 0;
  for (const auto& [id, controller] : controllers_) alive += controller->in_association() ? 1 : 0;
  if (alive >= options_.controllers_max) return nullptr;
  if (controllers_.size() >= fabrics::kFirstReservedController - 1u) return nullptr;
  // Identifiers go round, so that one just given up is not soon given out again.
  while (controllers_.contains(next_cntlid_) || next_cntlid_ == 0 || next_cntlid_ >= fabrics::kFirstReservedController) {
    next_cntlid_ = next_cntlid_ >= fabrics::kFirstReservedController ? std::uint16_t{1} : static_cast<std::uint16_t>(next_cntlid_ + 1);
  }
  const std::uint16_t cntlid = next_cntlid_++;
  auto& slot = controllers_[cntlid];
  slot = std::make_unique<Controller>(*this, cntlid);
  tell(Change::controller_list);
  return slot.get();
}

Controller* Subsystem::free_controller() {
  for (const auto& [id, controller] : controllers_) {
    if (!controller->in_association()) return controller.get();
  }
  return nullptr;
}

void Subsystem::end_associations(std::string_view why) {
  for (const auto& [id, controller] : controllers_) controller->end_association(why);
}

void Subsystem::record_reset(const Controller* one) {
  namespace cr = nvme::controller_reset;
  if (!options_.persistent_log.supported) return;
  Bytes event(nvme::ResetEvent::size);
  put_text(event, firmware_.running(), ' ');
  for (const auto& [id, controller] : controllers_) {
    if (controller.get() != one && !controller->in_association()) continue;
    Record<nvme::ControllerResetDescriptor> reset;
    reset.set(cr::cntlid, id)
        .set(cr::in_progress, sanitizer_.running() ? 2u : 0u)
        .set(cr::power_cycles, power_losses_)
        .set(cr::since_power_on_ms, static_cast<std::uint64_t>(world_.now().count_ns() / 1'000'000))
        .set(cr::timestamp, ByteView{controller->timestamp().bytes()});
    event.insert(event.end(), reset.bytes().begin(), reset.bytes().end());
  }
  persistent_log_.add(nvme::PersistentEventType::power_on_or_reset, event, one);
}

void Subsystem::reset_subsystem() {
  world_.trace().mark("subsystem.reset");
  record_reset(nullptr);
  if (departs(departure::persistent_forgets)) persistent_log_.clear();
  if (departs(departure::telemetry_forgets)) telemetry_.forget();
  if (departs(departure::lockdown_reset)) lockdown_.lift_all();
  trace_state("subsystem.reset", options_.nqn);
  for (const auto& [id, controller] : controllers_) controller->on_subsystem_reset();
  if (departs(departure::cache_lost_at_nssr)) lose_caches();
  for (const auto& [nsid, ns] : namespaces_) {
    if (ns->zoned() && !departs(departure::zone_nssr_keeps_open)) ns->zones()->on_subsystem_reset();
  }
  self_tests_.on_subsystem_reset();
  if (departs(departure::sanitize_power)) sanitizer_.forget();
  sanitizer_.on_subsystem_reset();
  if (!departs(departure::firmware_never_runs) && firmware_.on_reset(true)) tell(Change::firmware);
  if (departs(departure::reservation_nssr_loses)) {
    for (const auto& [nsid, ns] : namespaces_) ns->reservations().forget_all();
  }
  tell(Change::subsystem_reset);
}

void Subsystem::lose_caches() {
  Rng rng = world_.stream("subsystem.power/" + options_.nqn + '/' + std::to_string(power_losses_++));
  for (const auto& [nsid, ns] : namespaces_) {
    AtomicUnit atomic = ns->atomic_unit(options_.atomic_power_fail_blocks);
    if (departs(departure::power_tears)) atomic.blocks = 1;
    ns->lose_power(rng, atomic);
    if (ns->zoned() && departs(departure::zone_power_rewinds)) ns->zones()->initialize(true);
  }
}

void Subsystem::power_cycle() {
  world_.trace().mark("subsystem.power_cycle");
  lose_caches();
  for (const auto& [nsid, ns] : namespaces_) {
    ReservationTable& table = ns->reservations();
    const bool keeps = !table.persists() && departs(departure::reservation_power_keeps);
    const bool loses = table.persists() && departs(departure::reservation_power_loses);
    if (!keeps) table.on_power_loss();
    if (loses) table.forget_all();
  }
  if (!departs(departure::lockdown_power)) lockdown_.lift_all();
  reset_subsystem();
  // Of a reset by NSSR there is nothing to tell.
  for (const auto& [id, controller] : controllers_) {
    Record<fabrics::Csts> clear;
    clear.set(fabrics::csts::nssro, true);
    controller->write_register(fabrics::property::csts, static_cast<std::uint32_t>(integer_of(clear)));
  }
}

void Subsystem::reset_subsystem_later() { world_.loop().schedule_after(reset_timer_, kResetNotice); }

void Subsystem::reap_later() {
  if (options_.controllers == ControllerModel::static_controllers) return;
  if (!reaper_.scheduled()) world_.loop().schedule(reaper_, world_.now());
}

void Subsystem::reap() {
  const std::size_t gone = std::erase_if(controllers_, [this](const auto& entry) {
    if (entry.second->in_association()) return false;
    for (const auto& [nsid, ns] : namespaces_) ns->attachments().forget(entry.first);
    return true;
  });
  if (gone != 0) tell(Change::controller_list);
}

}  // namespace fb::subsystem
