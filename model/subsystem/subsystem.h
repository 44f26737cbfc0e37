// An emulated NVM subsystem: namespaces, ANA groups, hosts that may connect, and the controllers of
// those that did. It accepts connections through Ports.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/subsystem/controller.h"
#include "model/subsystem/directives.h"
#include "model/subsystem/endurance.h"
#include "model/subsystem/lockdown.h"
#include "model/subsystem/management.h"
#include "model/subsystem/namespace.h"
#include "model/subsystem/options.h"
#include "model/subsystem/persistent_log.h"
#include "model/subsystem/placement.h"
#include "model/subsystem/port.h"
#include "model/subsystem/sanitize.h"
#include "model/subsystem/security.h"
#include "model/subsystem/self_test.h"
#include "model/subsystem/telemetry.h"
#include "wire/nvme/logs.h"

namespace fb::subsystem {

class DiscoveryService;

/// WCTEMP and CCTEMP, in kelvins.
inline constexpr std::uint16_t kWarningTemperature = 343;
inline constexpr std::uint16_t kCriticalTemperature = 353;

class Subsystem {
 public:
  Subsystem(World& world, SubsystemOptions options, SubsystemHooks* hooks = nullptr);
  /// The subsystem of a discovery service: no namespaces, no I/O queues.
  Subsystem(World& world, SubsystemOptions options, SubsystemHooks* hooks, DiscoveryService& discovery);
  ~Subsystem();
  Subsystem(const Subsystem&) = delete;
  Subsystem& operator=(const Subsystem&) = delete;

  World& world() { return world_; }
  const SubsystemOptions& options() const { return options_; }
  SubsystemHooks& hooks() { return *hooks_; }
  /// Nobody looks at what goes in and out, or changes it.
  bool unhooked() const { return hooks_ == &no_hooks(); }
  /// Challenges and the like for authentication.
  auth::NonceSource& nonces() { return *nonces_; }
  /// The service whose subsystem this is, or nullptr.
  DiscoveryService* discovery() { return discovery_; }
  bool has_version(unsigned major, unsigned minor) const { return options_.version >= fabrics::version(major, minor, 0); }

  // ---- namespaces ----

  /// options.nsid 0 takes the lowest free one. Hosts are told. Fails when the NSID is taken or beyond
  /// namespaces_max.
  Result<Namespace*> add_namespace(NamespaceOptions options);
  /// `by` is not told: its host deleted the namespace by a command.
  bool remove_namespace(std::uint32_t nsid, const Controller* by = nullptr);
  bool resize_namespace(std::uint32_t nsid, std::uint64_t blocks);
  Namespace* find_namespace(std::uint32_t nsid);
  /// The first so many of kBlockFormats can be had.
  std::size_t block_formats() const;
  /// By ascending NSID.
  const std::map<std::uint32_t, std::unique_ptr<Namespace>>& namespaces() const { return namespaces_; }
  /// Controllers that see the namespace are told.
  void namespace_changed(std::uint32_t nsid);
  /// Attaches a namespace to a controller or takes it away; its host is told.
  void set_attached(Namespace& ns, Controller& controller, bool attached);
  /// A controller has got a host. Of the dynamic model, it sees what is attached to all, and what the host's earlier
  /// controllers had by command.
  void welcome(Controller& controller);
  /// What so many bytes take of the capacity.
  std::uint64_t bytes_taken(std::uint64_t bytes) const;
  std::uint64_t bytes_of(const Namespace& ns) const { return bytes_taken(ns.capacity() * ns.block_bytes()); }
  /// Bytes of the namespaces that there are, and in all (TNVMCAP).
  std::uint64_t allocated_bytes() const;
  std::uint64_t capacity_bytes() const;
  /// Lowest NSID that is free; 0: as many namespaces as may be are there.
  std::uint32_t free_nsid() const;
  /// Namespaces that had this NSID and are gone.
  std::uint32_t incarnations(std::uint32_t nsid) const;

  // ---- zones: what happens to them without a command; hosts are told ----

  void make_zone_read_only(Namespace& ns, std::size_t index);
  void take_zone_offline(Namespace& ns, std::size_t index);
  /// False: the zone is not active, or the namespace has no excursions.
  bool zone_excursion(Namespace& ns, std::size_t index);
  /// Attributes Reset Zone Recommended and Finish Zone Recommended.
  void recommend_zone(Namespace& ns, std::size_t index, std::uint8_t attributes);
  void zone_changed(const Namespace& ns, std::size_t index);
  /// A controller has shut down. Zones are as after a reset when all have.
  void on_shutdown_done();

  // ---- blocks that are lost; hosts are told ----

  /// A medium error that the product has found by itself.
  void damage_blocks(Namespace& ns, std::uint64_t slba, std::uint64_t count);
  /// The failure of a part of the medium: which blocks are lost shows when somebody looks.
  void fail_media(Namespace& ns, std::uint64_t slba, std::uint64_t count);
  /// More of a namespace's blocks are known to be unrecoverable.
  void lba_status_changed(const Namespace& ns);

  // ---- asymmetric access ----

  /// For hosts that come through port `portid`; 0: through any. Hosts are told.
  void set_ana_state(std::uint32_t group, nvme::AnaState state, std::uint16_t portid = 0);
  nvme::AnaState ana_state(std::uint32_t group, std::uint16_t portid) const;
  /// The group that changed last; 0 before any did.
  std::uint32_t ana_latest() const { return ana_latest_; }
  std::uint64_t ana_change_count() const { return ana_changes_; }
  std::uint64_t ana_group_change_count(std::uint32_t group) const;

  // ---- health ----

  /// Composite temperature in kelvins; hosts are told when a threshold is passed.
  void set_temperature(std::uint16_t kelvins);
  std::uint16_t temperature() const { return temperature_; }
  void set_critical_warning(std::uint8_t bits);
  std::uint8_t critical_warning() const { return critical_warning_; }
  /// As SMART tells them, in percent; what is used may pass 100.
  void set_percentage_used(std::uint8_t percent);
  std::uint8_t percentage_used() const { return percentage_used_; }
  void set_available_spare(std::uint8_t percent);
  std::uint8_t available_spare() const { return available_spare_; }

  Telemetry& telemetry() { return telemetry_; }
  PersistentLog& persistent_log() { return persistent_log_; }
  EnduranceGroups& endurance() { return endurance_; }
  const EnduranceGroups& endurance() const { return endurance_; }
  /// Flexible Data Placement.
  Placement& placement() { return placement_; }
  const Placement& placement() const { return placement_; }

  // ---- firmware, security, directives ----

  FirmwareSlots& firmware() { return firmware_; }
  SecurityResponder& security() { return security_; }
  Lockdown& lockdown() { return lockdown_; }
  Directives& directives() { return directives_; }

  // ---- sanitize, self-test ----

  Sanitizer& sanitizer() { return sanitizer_; }
  SelfTests& self_tests() { return self_tests_; }
  std::uint64_t power_on_hours() const;

  // ---- hosts ----

  bool host_allowed(std::string_view hostnqn) const;
  void allow_any_host(bool on);
  void allow_host(std::string hostnqn);
  void disallow_host(std::string_view hostnqn);
  /// Connect is answered with Connect Restart Discovery from now on.
  void set_moved(bool moved) { moved_ = moved; }
  bool moved() const { return moved_; }

  // ---- controllers ----

  const std::map<std::uint16_t, std::unique_ptr<Controller>>& controllers() const { return controllers_; }
  Controller* find_controller(std::uint16_t cntlid);
  /// Dynamic model: a controller with a new identifier, or nullptr when there is none left.
  Controller* make_controller();
  /// Static model: any that is free, or nullptr.
  Controller* free_controller();
  /// Ends every association; what NSSR does.
  void reset_subsystem();
  /// Power is lost and comes back: as a reset, and what does not persist is gone.
  void power_cycle();
  /// What power_cycle() does to volatile write caches.
  void lose_caches();
  void reset_subsystem_later();
  /// Into the persistent event log; null: all controllers that have a host.
  void record_reset(const Controller* one);
  void end_associations(std::string_view why);
  /// Destroys the controllers of ended associations (dynamic model) in an event of its own.
  void reap_later();

  // ---- management ----

  /// What commands that come out of band belong to, in place of a port of the fabric.
  Port& management_port() { return management_port_; }

  /// Told of every change until it is removed. It may not add or remove observers in the call.
  void add_observer(SubsystemObserver& observer) { observers_.push_back(&observer); }
  void remove_observer(SubsystemObserver& observer) { std::erase(observers_, &observer); }
  void tell(Change what, std::uint16_t cntlid = 0) const {
    for (SubsystemObserver* observer : observers_) observer->on_change(what, cntlid);
  }
  /// What Identify Controller says; all zero where nobody manages.
  ManagementFacts& management_facts() { return management_facts_; }
  /// Who serves NVMe-MI Send and Receive; null: there are no such commands.
  void set_in_band_management(InBandManagement* management) { in_band_ = management; }
  InBandManagement* in_band_management() const { return in_band_; }

  void set_watcher(DiscoveryService* watcher) { watcher_ = watcher; }
  void trace_state(std::string_view label, const std::string& text);
  bool tracing() { return world_.trace().on(); }
  bool departs(std::string_view point) { return !unhooked() && hooks_->departs(point); }

  Bytes& scratch() { return scratch_; }

 private:
  void offer(Namespace& ns, Controller& controller);
  void reap();
  void on_reset_due() { reset_subsystem(); }

  struct AnaGroupState {
    std::map<std::uint16_t, nvme::AnaState> by_port;  ///< port 0: all others
    std::uint64_t changes = 0;
  };

  World& world_;
  SubsystemOptions options_;
  SubsystemHooks* hooks_;
  std::unique_ptr<auth::NonceSource> nonces_;
  DiscoveryService* discovery_ = nullptr;
  DiscoveryService* watcher_ = nullptr;
  std::map<std::uint32_t, std::unique_ptr<Namespace>> namespaces_;
  std::map<std::uint32_t, AnaGroupState> ana_groups_;
  std::uint64_t ana_changes_ = 0;
  std::uint32_t ana_latest_ = 0;
  std::uint16_t temperature_ = 310;
  unsigned thermal_excursion_ = 0;  ///< 1: above the warning temperature, 2: above the critical one
  std::uint8_t critical_warning_ = 0;
  std::uint8_t percentage_used_ = 0;
  std::uint8_t available_spare_ = 100;
  FirmwareSlots firmware_;
  SecurityResponder security_;
  std::uint64_t power_losses_ = 0;
  std::map<std::uint32_t, std::uint32_t> incarnations_;  ///< by NSID
  std::uint64_t capacity_ = 0;
  Lockdown lockdown_{options_.lockdown};
  Directives directives_{options_.directives};
  Telemetry telemetry_{*this};
  PersistentLog persistent_log_{*this};
  EnduranceGroups endurance_{*this, options_.endurance, capacity_};
  Placement placement_{*this};
  Sanitizer sanitizer_{*this};
  SelfTests self_tests_{*this};
  bool moved_ = false;
  std::map<std::uint16_t, std::unique_ptr<Controller>> controllers_;
  std::uint16_t next_cntlid_ = 1;
  Bytes scratch_;
  std::vector<SubsystemObserver*> observers_;
  InBandManagement* in_band_ = nullptr;
  Port management_port_;
  ManagementFacts management_facts_;
  Timer<Subsystem, &Subsystem::reap> reaper_{"subsystem.reap", *this};
  Timer<Subsystem, &Subsystem::on_reset_due> reset_timer_{"subsystem.nssr", *this};
};

}  // namespace fb::subsystem
