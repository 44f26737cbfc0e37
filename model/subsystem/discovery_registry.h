// What is registered with a discovery controller (NVMe Base 2.1, 5.4.4): entries of hosts and of NVM subsystems, each with the
// entity that registered it, and the Host Discovery and AVE Discovery logs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/subsystem/centralized_options.h"
#include "model/subsystem/options.h"
#include "wire/fabrics/registration.h"

namespace fb::subsystem {

class Subsystem;

struct RegisteredEntry {
  std::string eid;      ///< of the entity
  std::string hostnqn;  ///< the name that the entity connected under
  fabrics::EntityType etype{};
  fabrics::EntryKeyType ektype{};
  bool extended = false;
  Bytes bytes;  ///< as it was registered: 1,024 bytes, or TEL

  bool of_host() const { return etype != fabrics::EntityType::direct; }
};

class DiscoveryRegistry {
 public:
  DiscoveryRegistry(Subsystem& subsystem, const CentralizedOptions& options) : subsystem_(subsystem), options_(options) {}

  const std::vector<RegisteredEntry>& entries() const { return entries_; }
  /// How many of these there is no record of yet.
  std::size_t news_in(const std::vector<RegisteredEntry>& entries) const;
  bool has_room(const std::vector<RegisteredEntry>& entries) const;

  struct Changes {
    bool hosts = false, subsystems = false;
    void add(const RegisteredEntry& entry) { (entry.of_host() ? hosts : subsystems) = true; }
  };
  Changes add(const std::vector<RegisteredEntry>& entries);
  Changes remove(const std::vector<RegisteredEntry>& entries);
  /// The record with the key of `old` becomes `now`.
  Changes update(const RegisteredEntry& old, const RegisteredEntry& now);
  /// Whatever the entity has registered, for one that is pulled: `entries` are all that it has now.
  Changes replace(std::string_view eid, const std::vector<RegisteredEntry>& entries);

  /// For deviations: what an entity that connected under this name has registered is dropped.
  void forget(std::string_view hostnqn);
  /// An entity of that name has come or gone: whether a log tells of it.
  Changes of_entity(std::string_view hostnqn) const;

  std::uint64_t host_generation() const { return host_generation_; }
  void count_hosts();
  /// The Host Discovery log for a host of that name.
  Bytes host_log(std::string_view hostnqn, bool all) const;
  Bytes ave_log() const;
  static Bytes pull_request_log();
  /// An entry of an NVM subsystem is an extended one.
  bool any_extended() const;
  /// Appends the entries of NVM subsystems to a Discovery log, as they are with EXTDLPE or without; gives their number.
  std::size_t append_subsystems(Bytes& log, bool extended) const;

 private:
  RegisteredEntry* find(const RegisteredEntry& like);
  const RegisteredEntry* find(const RegisteredEntry& like) const { return const_cast<DiscoveryRegistry*>(this)->find(like); }
  bool is_connected(const RegisteredEntry& entry) const;
  bool departs(std::string_view point) const;

  Subsystem& subsystem_;
  const CentralizedOptions& options_;
  std::vector<RegisteredEntry> entries_;
  std::uint64_t host_generation_ = 0;
};

}  // namespace fb::subsystem
