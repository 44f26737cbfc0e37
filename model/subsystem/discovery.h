// A discovery service: a subsystem without namespaces whose controllers serve the discovery log page.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/subsystem/discovery_registry.h"
#include "model/subsystem/subsystem.h"

namespace fb::subsystem {

class DiscoveryService {
 public:
  DiscoveryService(World& world, DiscoveryOptions options, SubsystemHooks* hooks = nullptr);
  ~DiscoveryService();

  const DiscoveryOptions& options() const { return options_; }
  /// What it has of centralized discovery: nothing, until somebody says otherwise.
  const CentralizedOptions& central() const { return central_; }
  void set_central(CentralizedOptions central) { central_ = std::move(central); }
  /// To be exposed on ports.
  Subsystem& subsystem() { return subsystem_; }
  /// The well-known name, or the unique one.
  bool answers_to(std::string_view nqn) const;

  /// Subsystems exposed on these ports are listed. The port must outlive the service, or be removed.
  void add_port(Port& port);
  void remove_port(Port& port);
  void add_referral(Referral referral);
  void clear_referrals();
  /// Something that the log tells of has changed: GENCTR counts it, and hosts are told.
  void changed();
  std::uint64_t generation();

  /// Who reads the log, the log specific parameter, and at which port; null: out of band.
  struct Reader {
    std::string_view hostnqn;
    std::uint8_t lsp = 0;
    const Port* port = nullptr;
  };
  /// The whole log page as this host may see it.
  Bytes log_for(const Reader& reader);
  Bytes log_for(std::string_view hostnqn) { return log_for(Reader{hostnqn}); }

  DiscoveryRegistry& registry() { return registry_; }
  /// What is registered has changed: counters count it, and hosts are told.
  void registered(const DiscoveryRegistry::Changes& changes, bool added);
  /// An association of a host of that name has begun, or has ended.
  void connectivity_changed(std::string_view hostnqn);

 private:
  void append_entry(Bytes& log, const Port& port, Subsystem& subsystem);
  void append_referral(Bytes& log, const Referral& referral);
  /// Whether LSP asks for it and this service honors it.
  bool honors(const Reader& reader, std::uint8_t bit) const;
  static void extend_entries(Bytes& log);
  bool lists(const Reader& reader, const Port& port, Subsystem& subsystem);
  std::uint8_t flags_for(const Reader& reader);

  DiscoveryOptions options_;
  std::vector<Port*> ports_;
  std::vector<Referral> referrals_;
  std::uint64_t generation_ = 1;
  Subsystem subsystem_;
  CentralizedOptions central_;
  DiscoveryRegistry registry_{subsystem_, central_};
};

}  // namespace fb::subsystem
