// The namespaces of a subsystem, what room there is for more, and which controllers they are attached to.
#include <algorithm>
#include <utility>

#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"

namespace fb::subsystem {

Result<Namespace*> Subsystem::add_namespace(NamespaceOptions options) {
  if (options.nsid == 0) {
    options.nsid = 1;
    while (namespaces_.contains(options.nsid)) ++options.nsid;
  }
  const std::uint32_t nsid = options.nsid;
  if (nsid > options_.namespaces_max) {
    return Failure{Problem{"namespace " + std::to_string(nsid) + " is beyond the limit of " + std::to_string(options_.namespaces_max)}};
  }
  if (namespaces_.contains(nsid)) {
    return Failure{Problem{"namespace " + std::to_string(nsid) + " is there already"}};
  }
  if (options.ana_group == 0 || options.ana_group > options_.ana_groups_max) {
    return Failure{Problem{"ANA group " + std::to_string(options.ana_group) + " of namespace " + std::to_string(nsid) + " does not exist"}};
  }
  if (options_.endurance.supported()) {
    if (options.endurance_group == 0) options.endurance_group = endurance_.first_group();
    if (!endurance_.has(options.endurance_group)) {
      return Failure{Problem{"endurance group " + std::to_string(options.endurance_group) + " of namespace " + std::to_string(nsid) +
                             " does not exist"}};
    }
    if (options.nvm_set == 0) options.nvm_set = endurance_.first_set_of(options.endurance_group);
  }
  if (options.zones.zone_blocks != 0 && (!options_.zoned.supported || !has_version(2, 0))) {
    return Failure{Problem{"namespace " + std::to_string(nsid) + " is zoned, which the subsystem does not support"}};
  }
  const bool pairs = options.key_value_bytes != 0;
  const std::size_t pair_format = options.key_value_format;
  if (pairs && (!options_.key_value.supported || !has_version(2, 0) || pair_format >= options_.key_value.formats.size())) {
    return Failure{Problem{"namespace " + std::to_string(nsid) + " is a key value namespace, which the subsystem does not support"}};
  }
  const std::vector<std::uint16_t> handles = options.placement_handles;
  if (const std::string wrong = placement_.objection(options.endurance_group, handles); !wrong.empty()) {
    return Failure{Problem{"namespace " + std::to_string(nsid) + ": " + wrong}};
  }
  auto made = std::make_unique<Namespace>(options_.nqn, std::move(options));
  if (find_format(made->layout()) >= block_formats()) {
    return Failure{Problem{"namespace " + std::to_string(nsid) + " has a block format that the subsystem lacks"}};
  }
  Namespace* const ns = made.get();
  if (pairs) ns->pairs()->set_format(options_.key_value.formats[pair_format]);
  if (options_.power_loss_forgets) ns->cache_writes();
  namespaces_[nsid] = std::move(made);
  placement_.add(*ns, handles);
  capacity_ = std::max(capacity_, allocated_bytes());
  if (ns->store().bytes_held() != 0) sanitizer_.note_write();
  if (ns->attachments().offered()) {
    for (const auto& [id, controller] : controllers_) {
      if (controller->in_association()) offer(*ns, *controller);
    }
  }
  namespace_changed(nsid);
  return ns;
}

std::size_t Subsystem::block_formats() const {
  if (!options_.metadata) return kPlainFormats;
  return has_version(2, 0) ? kBlockFormats.size() : kExtendedFormats;
}

bool Subsystem::remove_namespace(std::uint32_t nsid, const Controller* by) {
  const auto found = namespaces_.find(nsid);
  if (found == namespaces_.end()) return false;
  self_tests_.on_namespace_removed(nsid);
  if (!departs(departure::streams_outlive_namespace)) directives_.forget(nsid);
  endurance_.note_removed(*found->second);
  placement_.remove(nsid);
  const Attachments attachments = found->second->attachments();
  namespaces_.erase(found);
  ++incarnations_[nsid];
  for (const auto& [id, controller] : controllers_) {
    if (attachments.has(id) && controller.get() != by) controller->on_namespace_changed(nsid);
  }
  tell(Change::namespaces);
  return true;
}

bool Subsystem::resize_namespace(std::uint32_t nsid, std::uint64_t blocks) {
  Namespace* const ns = find_namespace(nsid);
  if (ns == nullptr) return false;
  ns->resize(blocks);
  namespace_changed(nsid);
  return true;
}

Namespace* Subsystem::find_namespace(std::uint32_t nsid) {
  const auto found = namespaces_.find(nsid);
  return found == namespaces_.end() ? nullptr : found->second.get();
}

void Subsystem::namespace_changed(std::uint32_t nsid) {
  const Namespace* const ns = find_namespace(nsid);
  for (const auto& [id, controller] : controllers_) {
    if (ns != nullptr && ns->attachments().has(id)) controller->on_namespace_changed(nsid);
  }
  tell(Change::namespaces);
}

std::uint32_t Subsystem::incarnations(std::uint32_t nsid) const {
  const auto found = incarnations_.find(nsid);
  return found == incarnations_.end() ? 0 : found->second;
}

std::uint32_t Subsystem::free_nsid() const {
  std::uint32_t nsid = 1;
  for (const auto& [id, ns] : namespaces_) {
    if (id != nsid) break;
    ++nsid;
  }
  return nsid <= options_.namespaces_max ? nsid : 0;
}

std::uint64_t Subsystem::bytes_taken(std::uint64_t bytes) const {
  const std::uint64_t step = options_.namespace_management.granularity_bytes;
  return step == 0 ? bytes : (bytes + step - 1) / step * step;
}

std::uint64_t Subsystem::allocated_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [nsid, ns] : namespaces_) bytes += bytes_of(*ns);
  return bytes;
}

std::uint64_t Subsystem::capacity_bytes() const { return capacity_; }

// ---- zones ----

void Subsystem::zone_changed(const Namespace& ns, std::size_t index) {
  for (const auto& [id, controller] : controllers_) {
    if (ns.attachments().has(id)) controller->on_zone_changed(ns.nsid(), ns.zones()->start_of(index));
  }
}

void Subsystem::make_zone_read_only(Namespace& ns, std::size_t index) {
  ns.zones()->make_read_only(index);
  zone_changed(ns, index);
}

void Subsystem::take_zone_offline(Namespace& ns, std::size_t index) {
  ns.zones()->take_offline(index);
  zone_changed(ns, index);
}

bool Subsystem::zone_excursion(Namespace& ns, std::size_t index) {
  if (!ns.zones()->options().excursions || !ns.zones()->excursion(index)) return false;
  zone_changed(ns, index);
  return true;
}

void Subsystem::recommend_zone(Namespace& ns, std::size_t index, std::uint8_t attributes) {
  ns.zones()->recommend(index, attributes);
  zone_changed(ns, index);
}

void Subsystem::on_shutdown_done() {
  const bool all = std::all_of(controllers_.begin(), controllers_.end(), [](const auto& entry) {
    return !entry.second->in_association() || entry.second->state() == ControllerState::shut_down;
  });
  if (!all || departs(departure::zone_shutdown_keeps_open)) return;
  for (const auto& [nsid, ns] : namespaces_) {
    if (ns->zoned()) ns->zones()->on_subsystem_reset();
  }
}

// ---- blocks that are lost ----

void Subsystem::lba_status_changed(const Namespace& ns) {
  for (const auto& [id, controller] : controllers_) controller->on_lba_status(ns);
}

void Subsystem::damage_blocks(Namespace& ns, std::uint64_t slba, std::uint64_t count) {
  if (ns.damage(slba, count, true)) lba_status_changed(ns);
}

void Subsystem::fail_media(Namespace& ns, std::uint64_t slba, std::uint64_t count) {
  ns.damage(slba, count, false);
  for (const auto& [id, controller] : controllers_) controller->on_media_failure(ns, slba, count);
}

// ---- attachment ----

void Subsystem::set_attached(Namespace& ns, Controller& controller, bool attached) {
  Attachments& attachments = ns.attachments();
  attachments.set(controller.cntlid(), attached);
  attachments.withdraw();
  if (options_.controllers == ControllerModel::dynamic_controllers && controller.in_association()) {
    const std::string& host = controller.host().hostnqn;
    const bool still = std::any_of(controllers_.begin(), controllers_.end(), [&](const auto& entry) {
      return entry.second->in_association() && entry.second->host().hostnqn == host && attachments.has(entry.first);
    });
    attachments.set_host(host, still);
  }
  if (!departs(departure::nsa_silent)) controller.on_namespace_changed(ns.nsid());
  tell(Change::namespaces);
}

/// A private namespace that nobody has yet.
void Subsystem::offer(Namespace& ns, Controller& controller) {
  if (!ns.attachments().none()) return;
  ns.attachments().set(controller.cntlid(), true);
}

void Subsystem::welcome(Controller& controller) {
  const bool remembers = options_.controllers == ControllerModel::dynamic_controllers;
  for (const auto& [nsid, ns] : namespaces_) {
    Attachments& attachments = ns->attachments();
    const bool had = remembers && attachments.host_has(controller.host().hostnqn);
    if (!ns->shared()) {
      if (had || attachments.offered()) offer(*ns, controller);
    } else if (remembers) {
      attachments.set(controller.cntlid(), had);
    }
  }
}

}  // namespace fb::subsystem
