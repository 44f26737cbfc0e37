// A discovery service: a subsystem without namespaces whose controllers serve the discovery log page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/subsystem/subsystem.h"

namespace fb::subsystem {

class DiscoveryService {
 public:
  DiscoveryService(World& world, DiscoveryOptions options, SubsystemHooks* hooks = nullptr);

  const DiscoveryOptions& options() const { return options_; }
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

  /// The whole log page as this host may see it.
  Bytes log_for(std::string_view hostnqn);

 private:
  void append_entry(Bytes& log, const Port& port, Subsystem& subsystem);
  void append_referral(Bytes& log, const Referral& referral);

  DiscoveryOptions options_;
  std::vector<Port*> ports_;
  std::vector<Referral> referrals_;
  std::uint64_t generation_ = 1;
  Subsystem subsystem_;
};

}  // namespace fb::subsystem
