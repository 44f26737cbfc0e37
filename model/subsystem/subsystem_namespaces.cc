// The namespaces of a subsystem, what room there is for more, and which controllers they are attached to.
#include <algorithm>
#include <utility>

#include "model/subsystem/departures.h"
#include "model/subsystem/subsystem.h"

namespace fb::subsystem {

Result<Namespace*> Subsystem::add_namespace(NamespaceOptions options) {
  if (options.nsid == 0) {
    options.nsid = 1;
    while (namespaces_.contains(options.nsid)) ++options.nsid;
  }
  const std::uint32_t nsid = options.nsid;
  if (nsid > options_.namespaces_max) {
    return Failure{Problem{"namespace " + std::to_string(nsid) + " is beyond the limit of " +
                           std::to_string(options_.namespaces_max)}};
  }
  if (namespaces_.contains(nsid)) {
    return Failure{Problem{"namespace " + std::to_string(nsid) + " is there already"}};
  }
  if (options.ana_group == 0 || options.ana_group > options_.ana_groups_max) {
    return Failure{Problem{"ANA group " + std::to_string(options.ana_group) +
                           " of namespace " + std::to_string(nsid) + " does not exist"}};
  }
  auto made = std::make_unique<Namespace>(options_.nqn, std::move(options));
  if (find_format(made->layout()) >= block_formats()) {
    return Failure{Problem{"namespace " + std::to_string(nsid) + " has a block format that the subsystem lacks"}};
  }
  Namespace* const ns = made.get();
  if (options_.power_loss_forgets) ns->cache_writes();
  namespaces_[nsid] = std::move(made);
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

std::uint64_t Subsystem::allocated_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [nsid, ns] : namespaces_) bytes += ns->capacity() * ns->block_bytes();
  return bytes;
}

std::uint64_t Subsystem::capacity_bytes() const { return capacity_; }

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
