// One controller of an emulated subsystem: its association with a host and its properties. Each group of admin and I/O commands
// is a part with a header of its own.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/subsystem/controller_features.h"
#include "model/subsystem/controller_parts.h"
#include "model/subsystem/event_queue.h"
#include "model/subsystem/host_identity.h"
#include "model/subsystem/namespace.h"
#include "model/subsystem/observer.h"
#include "model/subsystem/queue.h"
#include "model/subsystem/reservations.h"
#include "model/subsystem/state.h"
#include "model/subsystem/timestamp.h"
#include "wire/nvme/features.h"
#include "wire/nvme/logs.h"

namespace fb::subsystem {

class Subsystem;
class ZoneTable;

class Controller {
 public:
  Controller(Subsystem& subsystem, std::uint16_t cntlid);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  Subsystem& subsystem() { return subsystem_; }
  std::uint16_t cntlid() const { return cntlid_; }
  ControllerState state() const { return state_; }
  bool ready() const { return state_ == ControllerState::ready; }
  bool in_association() const { return associated_; }
  /// The admin queue's connection is a secure one.
  bool secured() const;
  const HostIdentity& host() const { return host_; }
  Port* port() const { return port_; }
  const std::string& connected_as() const { return host_.subnqn; }
  std::uint32_t kato_ms() const { return features_.kato_ms; }
  /// I/O queues that the host may have now.
  std::uint16_t queues_granted() const { return features_.queues; }

  // ---- the association ----

  void begin_association(Queue& admin, HostIdentity host, std::uint32_t kato_ms, bool individual_deletion);
  void add_io_queue(Queue& queue) { io_queues_.push_back(&queue); }
  Queue* io_queue(std::uint16_t qid) const;
  const std::vector<Queue*>& io_queues() const { return io_queues_; }
  /// Closes every connection. In the dynamic model the controller ceases to exist, in an event of
  /// its own.
  void end_association(std::string_view why);
  void on_queue_lost(Queue& queue, std::string_view why);
  /// Closes this queue alone, with the consequences of its loss; the admin queue with everything.
  void drop_queue(Queue& queue, std::string_view why);
  /// Commands under way complete with Operation Denied: on this queue, on all for the admin queue.
  void deny_all(Queue& queue);
  /// The queue object goes away.
  void forget(Queue& queue);
  /// A queue of one command that came out of band; it is no part of an association.
  void add_management_queue(Queue& queue) { management_queues_.push_back(&queue); }
  /// A fatal error of the host's making: CSTS.CFS, then the end of the association.
  void fail_association(std::string_view why);
  /// NSSR, from whichever controller: everything ends; CSTS.NSSRO stays.
  void on_subsystem_reset();
  /// Cross-Controller Reset, from another controller of the subsystem.
  void on_cross_reset();

  // ---- commands; each is answered, held or discarded ----

  void on_fabrics(const Command& command);
  void on_admin(const Command& command);
  void on_io(const Command& command);
  /// The data of an earlier admin or I/O command has arrived.
  void on_data(const Command& command);
  /// A command other than Fabrics was fetched.
  void on_traffic() { traffic_ = true; }

  /// Adds an error log entry where the status deserves one; gives the status with M set then.
  nvme::Status log_error(const Command& command, nvme::Status status);

  // ---- what happens around it ----

  void raise(const nvme::Event& event);
  void on_namespace_changed(std::uint32_t nsid);
  void on_ana_changed(nvme::AnaState state);
  void on_discovery_changed();
  /// What hosts have registered is another.
  void on_hosts_changed();
  void on_temperature();
  /// Bits of the critical warning that were not set before.
  void on_critical_warning(std::uint8_t news);
  /// Firmware is about to be activated without a reset.
  void on_firmware_activation();
  void on_reservation_notice(std::uint32_t nsid, nvme::ReservationNotice what);
  /// The subsystem has captured telemetry by itself.
  void on_telemetry();
  /// Bits of an endurance group's critical warning that were not set before.
  void on_endurance_warning(std::uint16_t group, std::uint8_t news);
  /// A sanitize operation begins on the subsystem, or has ended so.
  void on_sanitize_begun();
  void on_sanitize_ended(std::uint8_t event_info);
  /// A zone has changed by itself, or by something that hosts are told of.
  void on_zone_changed(std::uint32_t nsid, std::uint64_t start);
  /// More blocks of a namespace are known to be unrecoverable.
  void on_lba_status(const Namespace& ns);
  /// A part of the medium has failed, and nobody knows yet which of these blocks are lost.
  void on_media_failure(const Namespace& ns, std::uint64_t slba, std::uint64_t count);

  // ---- what management sees and does: properties.cc ----

  /// CAP, VS, CC, CSTS ...: false where no property stands. `bytes` is its size.
  bool property_value(std::uint32_t offset, std::uint64_t& value, unsigned& bytes) const;
  /// A write to CC, CSTS or NSSR that did not come over Fabrics; others are ignored.
  void write_register(std::uint32_t offset, std::uint32_t value);
  std::uint32_t csts() const;
  /// The controller shuts down as if CC.SHN had been written; false when it is down already.
  bool shut_down();
  /// As the SMART log tells it.
  std::uint8_t smart_warning() const;
  bool admin_supported(std::uint8_t opcode) const;
  bool feature_supported(std::uint8_t fid) const;
  std::uint32_t sanitize_capabilities() const;
  /// Log page 02h, and the Timestamp feature, as they are now.
  Bytes log_smart() const;
  Record<nvme::Timestamp> timestamp() const;

 private:
  ControllerFeatures default_features() const;
  static void store_feature(ControllerFeatures& to, std::uint8_t fid, std::uint32_t value);
  void end_management(std::string_view why);
  /// As after power on: disabled, CC and CSTS zero.
  void leave_all_states();

  // state and properties: properties.cc
  bool step(ControllerEvent event);
  void enter_ready();
  void start_reset();
  void finish_reset();
  void finish_shutdown();
  void write_cc(std::uint32_t value);
  bool configuration_ok(std::uint32_t value) const;
  bool cc_enabled() const { return (cc_ & 1) != 0; }
  void arm_ready();
  void clear_for_reset();
  std::uint64_t cap() const;
  void property_get(const Command& command);
  void property_set(const Command& command);
  void disconnect(const Command& command);
  bool executes_commands() const;

  // controller.cc
  void on_idle();
  void on_io_loss_due();
  void watch_idleness();

  // admin.cc
  /// Within MDTS.
  bool transfer_fits(std::uint64_t bytes) const;
  void abort(const Command& command);
  void abort_held(const Command& victim);
  void event_request(const Command& command);
  void management_command(const Command& command);
  void management_data(const Command& command);
  void tell(Change what) const;
  /// Tells what differs between CSTS now and `before`.
  void tell_csts(std::uint32_t before) const;
  void deliver_events();

  // admin_format.cc
  void format(const Command& command);

  /// What is attached to this controller; null: nothing of that identifier.
  Namespace* active_namespace(std::uint32_t nsid) const;
  bool sees(const Namespace& ns) const;
  bool attached(const Namespace& ns) const;
  /// The host has selected a combination with the Zoned Namespace command set.
  bool zoned_selected() const;
  /// The same with the Key Value command set.
  bool key_values_selected() const;
  /// The command set is there and has been selected.
  bool has_command_set(std::uint8_t csi) const;
  /// Of all command sets the host has selected a combination with the NVM command set alone.
  bool profile_restricts() const;

  friend class ControllerPart;
  friend struct AdminCommand;
  friend class IdentifyCommand;
  friend class LogPages;
  friend class FeatureCommands;
  friend class FirmwareCommands;
  friend class NamespaceCommands;
  friend class RegistrationCommands;
  friend class SanitizeCommands;
  friend class DirectiveCommands;
  friend class LbaStatusCommands;
  friend class LockdownCommand;
  friend class CapacityCommands;
  friend class CrossControllerReset;
  friend class SecurityCommands;
  friend class SelfTestCommand;
  friend class KeepAlive;
  friend class ErrorLog;
  friend class IoCommands;
  friend class KeyValueCommands;
  friend class CopyCommand;
  friend class PlacementCommands;
  friend class ReservationCommands;
  friend class ZoneCommands;
  friend class Queue;

  bool departs(std::string_view point) const;
  SubsystemHooks& hooks() const;

  Subsystem& subsystem_;
  std::uint16_t cntlid_;
  HostIdentity host_;
  bool associated_ = false;
  Port* port_ = nullptr;
  Queue* admin_queue_ = nullptr;
  std::vector<Queue*> io_queues_;
  std::vector<Queue*> management_queues_;
  bool individual_deletion_ = false;

  ControllerState state_ = ControllerState::disabled;
  std::uint32_t cc_ = 0;
  bool rdy_ = false;
  std::uint8_t shst_ = 0;
  bool nssro_ = false;
  ControllerFeatures features_;
  ControllerFeatures saved_;  ///< the defaults, as far as nothing was saved
  TimestampClock timestamp_;
  std::map<std::uint16_t, std::uint8_t> endurance_wanted_;  ///< feature 18h, by endurance group
  bool traffic_ = false;
  std::uint64_t idle_mark_ = 0;

  EventQueue events_;
  std::vector<std::uint32_t> changed_namespaces_;  ///< ascending
  ReservationLog reservation_log_;
  std::set<std::uint16_t> endurance_pending_;  ///< groups with events that nobody has read
  /// By NSID: the starts of changed zones, ascending.
  std::map<std::uint32_t, std::vector<std::uint64_t>> changed_zones_;
  bool temperature_alarm_ = false;

  /// What the host last saw of the discovery log, from its first byte on.
  std::uint64_t genctr_seen_ = 0;
  bool genctr_known_ = false;

  IoTotals counters_;

  IdentifyCommand identify_{*this};
  LogPages logs_{*this};
  FeatureCommands feature_commands_{*this};
  FirmwareCommands firmware_{*this};
  NamespaceCommands namespace_commands_{*this};
  RegistrationCommands registration_{*this};
  SanitizeCommands sanitize_{*this};
  DirectiveCommands directives_{*this};
  LbaStatusCommands lba_status_{*this};
  LockdownCommand lockdown_{*this};
  CapacityCommands capacity_{*this};
  SecurityCommands security_{*this};
  SelfTestCommand self_test_{*this};
  CrossControllerReset cross_reset_{*this};
  KeepAlive keep_alive_{*this};
  ErrorLog error_log_{*this};
  IoCommands io_{*this};
  CopyCommand copy_{*this};
  PlacementCommands placement_{*this};
  ReservationCommands reservations_{*this};
  ZoneCommands zones_{*this};
  KeyValueCommands key_values_{*this};

  Timer<Controller, &Controller::enter_ready> ready_timer_{"subsystem.controller.ready", *this};
  Timer<Controller, &Controller::finish_reset> reset_timer_{"subsystem.controller.reset", *this};
  Timer<Controller, &Controller::finish_shutdown> shutdown_timer_{"subsystem.controller.shutdown", *this};
  Timer<Controller, &Controller::on_idle> idle_timer_{"subsystem.association.idle", *this};
  Timer<Controller, &Controller::on_io_loss_due> io_loss_timer_{"subsystem.association.io_lost", *this};
};

}  // namespace fb::subsystem
