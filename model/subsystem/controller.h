// One controller of an emulated subsystem: its association with a host, its properties, and the
// execution of admin and I/O commands.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/subsystem/event_queue.h"
#include "model/subsystem/firmware.h"
#include "model/subsystem/namespace.h"
#include "model/subsystem/observer.h"
#include "model/subsystem/queue.h"
#include "model/subsystem/reservations.h"
#include "model/subsystem/state.h"
#include "model/subsystem/timestamp.h"
#include "wire/nvme/copy.h"
#include "wire/nvme/directives.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/lockdown.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/persistent_events.h"
#include "wire/nvme/protection.h"

namespace fb::subsystem {

class Subsystem;
class ZoneTable;

/// Who is at the other end of an association.
struct HostIdentity {
  std::array<std::uint8_t, 16> hostid = {};
  std::string hostnqn;
  /// The name under which it found the subsystem.
  std::string subnqn;
};

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
  struct Features {
    std::uint32_t arbitration = 0;
    std::uint32_t power = 0;
    std::uint16_t temperature_over = 0x157;
    std::uint16_t temperature_under = 0;
    std::uint32_t recovery = 0;
    std::uint32_t write_cache = 1;
    std::uint16_t queues = 0;
    std::uint32_t atomicity = 0;
    std::uint32_t events = 0;
    std::uint32_t kato_ms = 0;
    std::uint8_t retry_delays = 0;      ///< Host Behavior Support, ACRE
    std::uint8_t extended_formats = 0;  ///< the same, LBAFEE
    std::uint16_t copy_formats = 0;     ///< the same, CDFE
    std::uint32_t command_sets = 0;
    std::uint16_t lba_status_interval = 0;  ///< LSIRI, units of 100 ms
  };
  Features default_features() const;
  static void store_feature(Features& to, std::uint8_t fid, std::uint32_t value);
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

  // keep alive: keep_alive.cc
  bool keep_alive_runs() const;
  void restart_keep_alive();
  void on_keep_alive_due();
  void keep_alive(const Command& command);
  void on_idle();
  void on_io_loss_due();
  void watch_idleness();
  std::uint32_t rounded_kato(std::uint32_t kato_ms) const;

  // error_log.cc
  struct ErrorFacts {
    std::uint16_t sqid = 0xFFFF;
    std::uint16_t cid = 0xFFFF;
    nvme::Status status;
    std::uint64_t lba = 0;
    std::uint32_t nsid = 0;
    std::uint8_t opcode = 0;
    std::uint8_t csi = 0;
  };
  void add_error(const ErrorFacts& facts);
  void clear_errors() { errors_valid_ = 0; }

  // admin.cc
  bool io_supported(std::uint8_t opcode) const;
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

  // admin_firmware.cc
  void firmware_download(const Command& command);
  void firmware_download_data(const Command& command);
  void firmware_commit(const Command& command);
  void reset_firmware();

  // admin_format.cc
  void format(const Command& command);

  // io_reservations.cc
  /// Whose registrations it makes: those of its host.
  HostId reservation_host() const;
  ReservationFaults reservation_faults() const;
  /// False: the reservation of another host is in the way, and the command has been answered.
  bool reservation_allows(const Command& command, const Namespace& ns, Access access);
  void reservation(const Command& command);
  void reservation_data(const Command& command);
  void reservation_register(const Command& command, Namespace& ns, std::uint64_t current, std::uint64_t key);
  bool register_refused(const ReservationTable& table, const HostId& host, std::uint64_t key) const;
  void reservation_acquire(const Command& command, Namespace& ns, std::uint64_t current, std::uint64_t victim);
  void reservation_release(const Command& command, Namespace& ns, std::uint64_t current);
  void reservation_report(const Command& command, const Namespace& ns);
  Bytes reservation_status(const Namespace& ns, bool extended, std::uint64_t room) const;
  void abort_preempted(std::uint32_t nsid, const ReservationEffects& effects);
  void announce_reservation(const Namespace& ns, const ReservationEffects& effects);
  void end_registrations();
  void set_reservation_feature(const Command& command, nvme::FeatureId fid, std::uint32_t value);

  // admin_namespace.cc
  void namespace_management(const Command& command);
  void namespace_management_data(const Command& command);
  bool endurance_fits(const Command& command, const View<nvme::IdentifyNamespace>& asked, NamespaceOptions& made);
  std::uint64_t room_for(const NamespaceOptions& made) const;
  void delete_namespace(const Command& command);
  void namespace_attachment(const Command& command);
  void namespace_attachment_data(const Command& command);
  bool attach_one(const Command& command, Namespace& ns, std::uint16_t cntlid);

  // admin_sanitize.cc
  void sanitize(const Command& command);
  bool sanitize_allowed(const Command& command);
  bool permitted_while_sanitizing(const Command& command) const;
  bool verifies_sanitized_media() const;
  void verification_read(const Command& command);
  bool sanitize_permits(const Command& command, const Check& running, const Check& failed);
  Bytes log_sanitize() const;

  // admin_self_test.cc
  void self_test(const Command& command);
  Bytes log_self_test() const;

  // admin_directives.cc
  void directive(const Command& command);
  bool directive_supported(nvme::DirectiveType type) const;
  bool streams_enabled(std::uint32_t nsid) const;
  Bytes directive_parameters(std::uint32_t nsid) const;
  Bytes stream_parameters(std::uint32_t nsid) const;
  Bytes stream_status(std::uint32_t nsid) const;
  void enable_directive(const Command& command);
  void send_streams(const Command& command);
  void allocate_streams(const Command& command);
  bool directive_ok(const Command& command);
  void use_stream(const Command& command);
  void reset_directives();

  // admin_lockdown.cc
  void lockdown(const Command& command);
  bool prohibitable(nvme::LockdownScope scope, std::uint8_t code) const;
  bool lockdown_permits(const Command& command, nvme::LockdownScope scope, std::uint8_t code);

  // admin_capacity.cc
  void capacity_management(const Command& command);
  void create_capacity(const Command& command, std::uint64_t room, std::uint16_t group);

  // admin_lba_status.cc
  void get_lba_status(const Command& command);
  Bytes log_lba_status(const Command& command);
  Bytes make_lba_status_log() const;
  void release_lba_status();
  void reset_lba_status();
  void announce_lba_status();
  std::uint32_t lba_status_attributes(const Features& from) const;
  void set_lba_status_attributes(const Command& command, std::uint32_t value);

  // admin_security.cc
  void security(const Command& command);
  void security_data(const Command& command);

  // admin_identify.cc
  void identify(const Command& command);
  bool identify_page(const Command& command, MutableBytes page);
  bool identify_namespace_page(const Command& command, MutableBytes page);
  bool identify_list_page(const Command& command, MutableBytes page);
  bool identify_allocated_page(const Command& command, MutableBytes page);
  bool identify_controllers_page(const Command& command, MutableBytes page);
  bool identify_format_page(const Command& command, MutableBytes page);
  void fill_granularity(MutableBytes page) const;
  void fill_identify_controller(MutableBytes page) const;
  void fill_io_controller(MutableBytes page) const;
  void fill_identify_namespace(const Namespace& ns, MutableBytes page) const;
  void fill_nvm_namespace(const Namespace* ns, MutableBytes page) const;
  /// Null: what namespaces have that hosts make.
  void fill_zoned_namespace(const Namespace* ns, MutableBytes page) const;
  void fill_common_namespace(MutableBytes page) const;
  void fill_namespace_ids(const Namespace& ns, MutableBytes page) const;
  void fill_common_independent(MutableBytes page) const;
  void fill_independent(const Namespace& ns, MutableBytes page) const;
  std::uint32_t optional_events() const;

  // admin_log.cc
  bool log_supported(std::uint8_t lid) const;
  void get_log_page(const Command& command);
  void acknowledge_log(std::uint8_t lid, std::uint16_t group, std::uint32_t nsid);
  bool log_of_namespace(const Command& command);
  Bytes log_page(const Command& command, std::uint8_t lid);
  Bytes log_supported_pages() const;
  Bytes log_errors() const;
  Bytes log_firmware() const;
  Bytes log_changed_namespaces() const;
  Bytes log_effects(std::uint8_t command_set) const;
  Bytes log_changed_zones(std::uint32_t nsid) const;
  Bytes log_ana(bool groups_only) const;
  Bytes log_feature_effects() const;

  // admin_log_requests.cc
  bool log_request_ok(const Command& command, nvme::LogPage page);
  bool persistent_context_ok(const Command& command, nvme::PersistentLogAction action);
  Bytes log_persistent(const Command& command);
  Bytes log_endurance_events() const;
  Bytes log_lockdown(const Command& command) const;
  void record(nvme::PersistentEventType type, ByteView data);
  void record_firmware(const Command& command, std::string_view before, std::string_view wanted, nvme::Status status);
  void record_feature(const Command& command, std::uint32_t dw0 = 0);
  void record_namespace(const Command& command, const Namespace* ns);

  // admin_features.cc
  bool saveable(std::uint8_t fid) const;
  bool feature_acceptable(const Command& command, std::uint8_t fid, std::uint32_t value);
  void get_features(const Command& command);
  void set_features(const Command& command);
  bool temperature_ok(const Command& command, std::uint32_t cdw11);
  void set_features_data(const Command& command);
  void set_feature_value(const Command& command, std::uint8_t fid);
  void keep_feature(const Command& command, std::uint8_t fid, std::uint32_t value);
  void set_timestamp(const Command& command);
  void set_endurance_events(const Command& command, std::uint32_t value);
  void set_kato(const Command& command, std::uint32_t kato_ms);
  void set_queues(const Command& command, std::uint32_t value);
  void set_write_protection(const Command& command, std::uint32_t value);
  std::uint32_t feature_value(const Features& from, std::uint8_t fid, std::uint32_t cdw11, std::uint32_t nsid) const;
  bool feature_addresses_namespace(const Command& command, std::uint8_t fid);

  /// What is attached to this controller; null: nothing of that identifier.
  Namespace* active_namespace(std::uint32_t nsid) const;
  bool sees(const Namespace& ns) const;
  bool attached(const Namespace& ns) const;
  /// The host has selected a combination with the Zoned Namespace command set.
  bool zoned_selected() const;
  /// The command set is there and has been selected.
  bool has_command_set(std::uint8_t csi) const;
  /// Of all command sets the host has selected a combination without zones.
  bool profile_restricts() const;

  // io.cc, io_fused.cc
  struct Target {
    Namespace* ns = nullptr;  ///< null only when a deviation skipped the check
    std::uint64_t slba = 0;
    std::uint32_t blocks = 0;
    bool in_range = false;
    bool strips = false;    ///< the controller inserts and strips protection information
    bool remaps = false;    ///< reference tags are to say where Zone Append has put the blocks
    std::size_t bytes = 0;  ///< that Read, Write and Compare move
  };
  void start_io(const Command& command);
  bool find_namespace(const Command& command, Namespace*& ns);
  bool check_path(const Command& command, const Namespace& ns);
  /// What this controller's port has to the namespace's ANA group; optimized where there is no ANA.
  nvme::AnaState ana_state_of(const Namespace& ns) const;
  /// An attached namespace that cannot be reached here now; null: there is none.
  const Namespace* unreachable_namespace() const;
  bool check_io(const Command& command, Target& target);
  Target target_of(const Command& command, Namespace* ns);
  bool find_target(const Command& command, Target& target);
  void read(const Command& command, const Target& target);
  void write(const Command& command);
  void compare(const Command& command);
  bool compare_data(const Command& command, const Target& target);
  void write_zeroes(const Command& command, const Target& target);
  void write_uncorrectable(const Command& command, const Target& target);
  void verify(const Command& command, const Target& target);
  void flush(const Command& command);
  void dataset_management(const Command& command, Namespace* ns);
  void dataset_management_data(const Command& command);
  bool writable(const Command& command, const Namespace* ns);

  void store(const Command& command, const Target& target, MutableBytes whole, std::uint64_t result);

  // io_zones.cc, io_zone_reports.cc
  bool zone_takes(const Command& command, Namespace& ns, std::uint64_t slba, std::uint64_t blocks);
  bool zone_readable(const Command& command, const Namespace& ns, std::uint64_t slba, std::uint64_t blocks);
  bool zone_deallocates(const Command& command, const Namespace& ns, std::uint64_t slba, std::uint64_t blocks);
  void zone_written(Namespace& ns, std::uint64_t slba, std::uint64_t blocks);
  bool zone_has_resources(const Command& command, ZoneTable& zones, std::size_t index, bool opens, std::size_t waits);
  void zone_command(const Command& command);
  void zone_append(const Command& command, Namespace& ns);
  void zone_append_data(const Command& command);
  void zone_send(const Command& command, Namespace& ns);
  void zone_send_data(const Command& command);
  void zone_act(const Command& command, Namespace& ns, const std::vector<std::size_t>& chosen);
  nvme::Status zone_step(const Command& command, Namespace& ns, std::size_t index, std::uint64_t& result);
  void zone_receive(const Command& command, Namespace& ns);
  std::vector<std::size_t> zones_to_report(const Command& command, const ZoneTable& zones) const;

  // io_cache.cc
  nvme::Status after_write(Namespace& ns, std::uint64_t slba, std::uint64_t count, bool fua);
  bool commit_before(const Command& command, const Target& target);
  nvme::Status set_write_cache(bool on);

  // io_copy.cc
  void copy(const Command& command);
  void copy_data(const Command& command);
  bool copy_format_enabled(unsigned format) const;
  Namespace* copy_source(const Command& command, std::uint32_t nsid);
  bool copy_compatible(const Command& command, const nvme::BlockLayout& from, const nvme::BlockLayout& to);
  bool check_copied(const Command& command, const nvme::CopySource& source, const nvme::BlockLayout& layout, ByteView blocks);
  bool tag_copied(const Command& command, const nvme::BlockLayout& layout, MutableBytes blocks);

  // io_protection.cc
  bool check_protection_order(const Command& command, const Target& target);
  bool check_blocks(const Command& command, const Target& target, ByteView whole);
  bool check_tags_from(const Command& command, const nvme::BlockLayout& layout, ByteView whole, const nvme::ProtectionChecks& checks,
                       nvme::ProtectionTags tags, std::uint64_t lba);
  void read_protected(const Command& command, const Target& target);
  bool take_protected(const Command& command, const Target& target, MutableBytes& whole);
  bool compare_protected(const Command& command, const Target& target);
  bool verify_protected(const Command& command, const Target& target);
  nvme::Status zero_protected(const Command& command, const Target& target);
  nvme::ProtectionTags expected_tags(const Command& command, const Namespace& ns) const;
  bool on_fuse(const Command& command);
  void break_fused(Queue& queue);
  bool compares_atomically(const Namespace* ns, std::uint64_t slba, std::uint64_t blocks) const;
  void start_fused(const Command& first, const Command& second);
  void on_fused_data(const Command& command);
  void count_io(Namespace& ns, std::size_t bytes, bool write);
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
  Features features_;
  Features saved_;  ///< the defaults, as far as nothing was saved
  TimestampClock timestamp_;
  std::map<std::uint16_t, std::uint8_t> endurance_wanted_;  ///< feature 18h, by endurance group
  bool traffic_ = false;
  std::uint64_t idle_mark_ = 0;

  FirmwareDownload download_;
  EventQueue events_;
  std::vector<std::uint32_t> changed_namespaces_;  ///< ascending
  ReservationLog reservation_log_;
  std::set<std::uint16_t> endurance_pending_;  ///< groups with events that nobody has read
  Bytes persistent_context_;                   ///< empty: there is none
  /// By NSID: the starts of changed zones, ascending.
  std::map<std::uint32_t, std::vector<std::uint64_t>> changed_zones_;
  bool temperature_alarm_ = false;
  std::uint16_t lba_status_generation_ = 0;
  bool lba_status_news_ = false;  ///< something that the host has not read
  Bytes lba_status_page_;         ///< what a host is reading; empty: nobody does
  /// By NSID: where a scan has been asked for, until the host has read so.
  std::map<std::uint32_t, BlockRanges> media_failures_;

  std::vector<std::array<std::uint8_t, 64>> errors_;  ///< a ring, at error_count_ % size
  std::uint64_t error_count_ = 0;
  std::uint64_t errors_valid_ = 0;

  /// What the host last saw of the discovery log, from its first byte on.
  std::uint64_t genctr_seen_ = 0;
  bool genctr_known_ = false;

  IoTotals counters_;

  Timer<Controller, &Controller::enter_ready> ready_timer_{"subsystem.controller.ready", *this};
  Timer<Controller, &Controller::finish_reset> reset_timer_{"subsystem.controller.reset", *this};
  Timer<Controller, &Controller::finish_shutdown> shutdown_timer_{"subsystem.controller.shutdown", *this};
  Timer<Controller, &Controller::on_keep_alive_due> kato_timer_{"subsystem.keep_alive", *this};
  Timer<Controller, &Controller::on_idle> idle_timer_{"subsystem.association.idle", *this};
  Timer<Controller, &Controller::on_io_loss_due> io_loss_timer_{"subsystem.association.io_lost", *this};
  Timer<Controller, &Controller::announce_lba_status> lba_status_timer_{"subsystem.lba_status", *this};
};

}  // namespace fb::subsystem
