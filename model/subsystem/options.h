// What an emulated subsystem, its ports and its discovery service are made of.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/auth/policy.h"
#include "model/subsystem/block_store.h"
#include "model/transport/controller_channel.h"
#include "wire/fabrics/discovery_log.h"
#include "wire/fabrics/property.h"
#include "wire/nvme/protection.h"

namespace fb::subsystem {

enum class ControllerModel : std::uint8_t { dynamic_controllers, static_controllers };

inline constexpr const char* kDefaultSubsystemNqn = "nqn.2026-11.org.fabricbench:subsystem.1";

/// In-band authentication (DH-HMAC-CHAP). Without secrets there is none.
struct AuthenticationOptions {
  std::vector<auth::SecretPair> secrets;
  /// Every host has to authenticate; false: those may that have a secret here.
  bool required = true;
  /// I/O queues have to authenticate too; false: the admin queue alone does, and AUTHREQ is 0 on the others.
  bool io_queues = true;
  std::vector<auth::AuthHash> hashes = auth::all_hashes();  ///< by preference
  std::vector<auth::DhGroup> groups = auth::all_groups();
  /// The admin queue's transaction is to make a PSK for a TLS channel (AUTHREQ.ASCR).
  bool secure_channel = false;
  std::function<void(const auth::GeneratedPsk&)> on_psk = {};

  bool enabled() const { return !secrets.empty(); }
};

/// Firmware Image Download and Firmware Commit.
struct FirmwareOptions {
  std::uint8_t slots = 3;  ///< 1 to 7; 0: no such commands
  bool slot_1_read_only = true;
  bool activates_at_once = true;       ///< FRMW bit 4: commit action 3 needs no reset
  bool needs_subsystem_reset = false;  ///< a controller reset activates nothing
  std::uint8_t granularity = 0xFF;     ///< FWUG: units of 4 KiB; FFh: any dwords
  std::uint64_t image_max = 4 << 20;   ///< bytes
};

/// Copy.
struct CopyOptions {
  std::uint8_t formats = 0xF;         ///< CDFS: descriptor formats 0h to 3h, a bit each; 0: no such command
  std::uint16_t range_blocks = 256;   ///< MSSRL
  std::uint32_t total_blocks = 1024;  ///< MCL
  std::uint8_t ranges = 16;           ///< MSRC + 1, at most 128
};

/// Namespace Management and Namespace Attachment.
struct NamespaceManagementOptions {
  bool supported = true;
  /// TNVMCAP in bytes; more where the namespaces that are there from the beginning need more. What is created lies in
  /// sparse memory, whatever the capacity.
  std::uint64_t capacity_bytes = std::uint64_t{1} << 40;
  bool thin_provisioning = true;      ///< a namespace's capacity (NCAP) may be below its size (NSZE)
  std::uint32_t attachments_max = 0;  ///< MAXCNA: namespaces attached to one controller; 0: any number
  /// A namespace takes whole multiples of so many bytes of the capacity (CTRATT.NSGRAN and CNS 16h); 0: what it needs.
  std::uint64_t granularity_bytes = 0;
};

/// Sanitize. Durations are those of a whole operation; an overwrite takes one for each pass.
struct SanitizeOptions {
  bool block_erase = true;
  bool crypto_erase = true;
  bool overwrite = true;
  bool no_deallocate_inhibited = false;  ///< NDI: blocks are deallocated afterwards, whatever the command says
  Duration block_erase_time = Duration::s(4);
  Duration crypto_erase_time = Duration::s(2);
  Duration overwrite_time = Duration::s(10);
  /// After an operation hosts may look at the media, from version 2.1 on (SANICAP.VERS); then the media are deallocated.
  bool verification = true;
  Duration deallocate_time = Duration::s(1);

  bool supported() const { return block_erase || crypto_erase || overwrite; }
};

/// The zones of a zoned namespace, counted in blocks.
struct ZoneOptions {
  std::uint64_t zone_blocks = 0;       ///< ZSZE; 0: the namespace is not zoned
  std::uint64_t capacity = 0;          ///< that a zone can hold; 0: its size
  std::uint32_t max_active = 0;        ///< 0: any number
  std::uint32_t max_open = 0;          ///< 0: any number; at most as many as may be active
  std::uint8_t extension_units = 0;    ///< descriptor extensions of so many times 64 bytes
  bool read_across = false;            ///< reads may cross the boundaries of zones
  bool variable_capacity = false;      ///< a reset may change the capacity of a zone
  bool excursions = false;             ///< active zones may become full by themselves
  std::uint16_t zrwa_blocks = 0;       ///< ZRWASZ: blocks of a Zone Random Write Area; 0: there are none
  std::uint16_t zrwa_granularity = 1;  ///< ZRWAFG: blocks that an area is committed in
  std::uint32_t zrwa_count = 0;        ///< areas that there may be at once; 0: one for each zone
  bool zrwa_flush = true;              ///< Flush Explicit ZRWA Range
};

/// The Zoned Namespace command set.
struct ZonedOptions {
  bool supported = false;
  bool append = true;             ///< Zone Append
  std::uint8_t append_limit = 0;  ///< ZASL, as MDTS; at most as much
  /// Zones of namespaces that hosts make, in blocks of 512 bytes.
  ZoneOptions made = {.zone_blocks = 2048, .max_active = 12, .max_open = 6, .extension_units = 1};
};

/// A format of a key value namespace, which Format NVM selects by number.
struct KeyValueFormat {
  std::uint16_t key_max = 16;         ///< bytes, at most 16
  std::uint32_t value_max = 1 << 16;  ///< bytes
  std::uint32_t keys_max = 0;         ///< 0: any number
};

/// The Key Value command set.
struct KeyValueOptions {
  bool supported = false;
  std::vector<KeyValueFormat> formats = {{}};  ///< 1 to 16
};

/// Device Self-test, one operation at a time in the subsystem.
struct SelfTestOptions {
  bool supported = true;
  Duration short_time = Duration::s(30);
  std::uint16_t extended_minutes = 10;  ///< EDSTT
};

/// Telemetry logs. An area begins with block 1 and ends with the block that stands here.
struct TelemetryOptions {
  bool supported = true;
  std::uint16_t area_1_end = 1;
  std::uint16_t area_2_end = 3;
  std::uint16_t area_3_end = 8;
};

/// Persistent event log.
struct PersistentLogOptions {
  bool supported = true;
  std::uint32_t size = 1;  ///< PELS: units of 64 KiB; the oldest events make room
};

/// Directive Send and Directive Receive.
struct DirectiveOptions {
  bool supported = true;
  std::uint16_t streams = 16;      ///< MSL; 0: the Identify directive alone
  std::uint32_t write_blocks = 8;  ///< SWS
  std::uint16_t granularity = 16;  ///< SGS
};

/// Lockdown: what can be prohibited. Ascending.
struct LockdownOptions {
  bool supported = true;
  std::vector<std::uint8_t> commands = {0x0D, 0x10, 0x11, 0x15, 0x80, 0x81, 0x84};
  std::vector<std::uint8_t> features = {0x02, 0x04, 0x06, 0x84};
};

/// Get LBA Status, with its log page and feature.
struct LbaStatusOptions {
  bool supported = true;
  std::uint16_t poll_interval = 10;  ///< LSIPI, units of 100 ms
};

/// Endurance groups 1 to `groups` share the capacity; each namespace is in one of them.
struct EnduranceOptions {
  std::uint16_t groups = 0;
  std::uint16_t groups_max = 8;   ///< ENDGIDMAX
  bool nvm_sets = false;          ///< NVM set n is in group n at first, with all its capacity
  bool managed = false;           ///< Capacity Management: groups and sets are made and deleted by command
  std::uint64_t group_bytes = 0;  ///< of each group; 0: all the capacity, in equal shares

  bool supported() const { return groups != 0 || managed; }
};

/// One way in which an endurance group can place data: reclaim groups, and in each of them one open reclaim unit for each
/// reclaim unit handle.
struct FdpConfiguration {
  std::uint32_t reclaim_groups = 2;                   ///< NRG
  std::uint8_t group_bits = 2;                        ///< RGIF
  std::uint16_t handles = 8;                          ///< NRUH
  std::uint16_t persistent_handles = 0;               ///< the last so many are persistently isolated
  std::uint64_t unit_bytes = std::uint64_t{1} << 20;  ///< RUNS
  std::uint16_t identifiers_max = 8;                  ///< MAXPIDS + 1
  std::uint32_t namespaces_max = 16;                  ///< NNS
  std::uint32_t time_limit_s = 0;                     ///< ERUTL; 0: not reported, and there is none
  std::uint32_t spare_units = 4;                      ///< of a reclaim group, beyond its share of the capacity
};

/// Flexible Data Placement, with endurance groups that have no NVM sets.
struct FdpOptions {
  std::vector<FdpConfiguration> configurations;  ///< empty: no such capability
  /// Endurance groups in which the first configuration is enabled at the beginning.
  std::vector<std::uint16_t> enabled;
  std::uint32_t events_max = 63;  ///< events of a kind that are kept, at most 63

  bool supported() const { return !configurations.empty(); }
};

/// Cross-Controller Reset, and the log of controllers whose hosts were lost.
struct CrossControllerResetOptions {
  std::uint8_t limit = 0;  ///< CCRL: operations at a time; 0: no such command
  /// Of an operation; zero: it is over before the command completes.
  Duration time;
  /// False: other controllers cannot be asked or reset, and operations fail.
  bool reaches_others = true;
  bool lost_host_log = true;  ///< log page 1Fh

  bool supported() const { return limit != 0; }
};

struct SubsystemOptions {
  std::string nqn = kDefaultSubsystemNqn;
  std::string serial = "FB0000000001";
  std::string model = "fabricbench emulated controller";
  std::string firmware = "1.0";
  std::uint16_t vid = 0;    ///< PCI vendor of the product; 0 where there is no PCI Express
  std::uint16_t ssvid = 0;  ///< PCI subsystem vendor
  /// 1.4.0, 2.0.0 or 2.1.0; the oldest has no CRTO, no log pages 00h and 12h, no command set selection.
  std::uint32_t version = fabrics::version(2, 0, 0);

  ControllerModel controllers = ControllerModel::dynamic_controllers;
  std::vector<std::uint16_t> static_cntlids = {1, 2, 3, 4};
  std::uint32_t controllers_max = 4096;  ///< dynamic model
  bool allow_any_host = true;
  std::vector<std::string> allowed_hosts;
  bool allow_zero_hostid = false;  ///< TREQ.ZHIDS
  AuthenticationOptions authentication;

  std::uint16_t io_queues_max = 16;
  std::uint16_t admin_entries_max = 32;  ///< ASQSZ
  std::uint16_t io_entries_max = 128;    ///< CAP.MQES + 1
  bool flow_control_may_be_off = true;
  bool individual_queue_deletion = true;  ///< OFCS bit 0
  std::uint8_t mdts = 8;                  ///< in powers of two of 4 KiB; 0: no limit
  std::uint8_t verify_limit = 0;          ///< VSL, as MDTS
  std::uint8_t write_zeroes_limit = 0;    ///< WZSL, as MDTS

  std::uint16_t kas = 10;  ///< units of 100 ms; 0: no keep alive
  std::uint32_t kato_max_ms = 3'600'000;
  bool kato_required = false;  ///< refuse Connect with KATO 0 (many hosts send that)
  bool traffic_based_keep_alive = false;
  std::uint16_t cqt_ms = 1000;
  std::uint8_t abort_limit = 4;  ///< ACL + 1
  std::uint8_t aer_limit = 4;    ///< AERL + 1
  /// Which of several Asynchronous Event Requests an event completes is left to the controller: the newest, or the oldest.
  bool newest_event_request_first = false;
  std::uint16_t error_entries = 64;  ///< ELPE + 1, at most 256

  bool volatile_write_cache = true;
  /// Data that was not flushed may be gone after Subsystem::power_cycle(); otherwise all of it survives.
  bool power_loss_forgets = false;
  std::uint32_t atomic_power_fail_blocks = 1;  ///< AWUPF + 1, at most 65,536
  bool compare = true;
  bool write_uncorrectable = true;
  bool dataset_management = true;
  bool write_zeroes = true;
  bool verify = true;
  bool fused_compare_and_write = true;
  bool namespace_write_protect = true;
  CopyOptions copy = {};
  FirmwareOptions firmware_update = {};
  bool format = true;    ///< Format NVM, each namespace by itself
  bool metadata = true;  ///< formats with metadata and protection information
  bool security = true;  ///< Security Send and Receive
  bool reservations = true;
  bool reservations_persist = true;  ///< RESCAP bit 0: they can be made to outlive a loss of power
  NamespaceManagementOptions namespace_management = {};
  SanitizeOptions sanitize = {};
  SelfTestOptions self_test = {};
  bool saveable_features = true;  ///< those that the specification does not deny it
  bool timestamp = true;
  TelemetryOptions telemetry = {};
  PersistentLogOptions persistent_log = {};
  DirectiveOptions directives = {};
  LockdownOptions lockdown = {};
  LbaStatusOptions lba_status = {};
  EnduranceOptions endurance = {};
  FdpOptions fdp = {};
  ZonedOptions zoned = {};
  CrossControllerResetOptions cross_controller_reset = {};
  KeyValueOptions key_value = {};
  std::uint64_t power_on_hours = 0;                 ///< at the beginning of the world
  std::uint16_t atomic_compare_write_blocks = 128;  ///< ACWU + 1
  bool subsystem_reset = true;                      ///< CAP.NSSRS
  std::uint32_t namespaces_max = 1024;              ///< NN

  bool ana = true;
  std::uint8_t ana_transition_s = 10;  ///< ANATT
  std::uint32_t ana_groups_max = 32;

  Duration enable_delay = Duration::ms(1);
  Duration disable_delay;
  Duration shutdown_delay = Duration::ms(1);
  std::uint8_t ready_timeout = 30;  ///< CAP.TO and CRTO, units of 500 ms
  /// An association whose controller is not enabled for so long is dropped.
  Duration enable_limit = Duration::s(180);
  /// What a host has left, after an I/O connection was lost, to reset or shut down the controller before
  /// the association ends. Linux takes its I/O queues away first and says so afterwards: without this
  /// time its reset waits a minute for the answer on an admin queue that has gone.
  Duration io_loss_grace = Duration::s(2);
  /// Time between the arrival of an I/O command and its execution.
  Duration io_latency;
};

/// An LBA format: what Format NVM chooses by number. Protection information is chosen beside it.
struct BlockFormat {
  std::uint32_t data_bytes = 512;
  std::uint16_t metadata_bytes = 0;  ///< always interleaved (extended LBA): fabrics have no metadata pointer
  nvme::ProtectionFormat guard = nvme::ProtectionFormat::guard_16;
  std::uint8_t storage_tag_bits = 0;

  /// With metadata there may be protection information in it.
  constexpr nvme::BlockLayout layout(std::uint8_t protection_type = 0, bool tuple_first = false) const {
    return {.data_bytes = data_bytes,
            .metadata_bytes = metadata_bytes,
            .protection_type = protection_type,
            .tuple_first = tuple_first,
            .guard = guard,
            .storage_tag_bits = storage_tag_bits};
  }
};

/// By number. The first two have no metadata; those from kExtendedFormats on are extended ones, which hosts have to
/// enable first.
inline constexpr std::array<BlockFormat, 11> kBlockFormats = {{
    {512, 0},
    {4096, 0},
    {512, 8},
    {4096, 8},
    {512, 16},
    {4096, 16},
    {512, 64},
    {4096, 64},
    {4096, 8, nvme::ProtectionFormat::guard_16, 16},
    {4096, 16, nvme::ProtectionFormat::guard_32, 32},
    {4096, 16, nvme::ProtectionFormat::guard_64, 0},
}};
/// The number of the format with this layout; kBlockFormats.size() when there is none.
constexpr std::size_t find_format(const nvme::BlockLayout& layout) {
  std::size_t index = 0;
  while (index < kBlockFormats.size() && kBlockFormats[index].layout(layout.protection_type, layout.tuple_first) != layout) {
    ++index;
  }
  return index;
}

inline constexpr std::size_t kPlainFormats = 2;
inline constexpr std::size_t kExtendedFormats = 8;

/// What a namespace says of its own about atomicity and good sizes. All in blocks.
struct NamespaceLimits {
  /// NAWUN, NAWUPF and NACWU, plus one; 0: those of the controller.
  std::uint32_t atomic_write = 0;
  std::uint32_t atomic_power_fail = 0;
  std::uint32_t atomic_compare_write = 0;
  /// NABSN + 1 and NABSPF + 1; 0: no boundary. A write across one may be torn there.
  std::uint32_t boundary = 0;
  std::uint32_t boundary_power_fail = 0;
  std::uint16_t boundary_offset = 0;   ///< NABO
  std::uint16_t optimal_boundary = 0;  ///< NOIOB
  /// NPWG, NPWA, NPDG, NPDA and NOWS, plus one; 0 in the first: nothing is said.
  std::uint32_t write_granularity = 0;
  std::uint32_t write_alignment = 1;
  std::uint32_t deallocate_granularity = 1;
  std::uint32_t deallocate_alignment = 1;
  std::uint32_t optimal_write = 1;

  bool atomic() const {
    return atomic_write != 0 || atomic_power_fail != 0 || atomic_compare_write != 0 || boundary != 0 || boundary_power_fail != 0;
  }
};

struct NamespaceOptions {
  std::uint32_t nsid = 0;           ///< 0: the lowest that is free
  std::uint32_t block_bytes = 512;  ///< data of a block, 512 or 4096
  std::uint64_t blocks = 131072;    ///< NSZE
  std::uint64_t capacity = 0;       ///< NCAP; 0: as NSZE
  std::uint32_t ana_group = 1;
  /// With endurance groups; 0: the first that there is.
  std::uint16_t endurance_group = 0;
  std::uint16_t nvm_set = 0;
  /// Reclaim unit handles of the placement handles 0, 1 ...; empty: the subsystem chooses one. With Flexible Data Placement
  /// enabled in the endurance group.
  std::vector<std::uint16_t> placement_handles = {};
  NamespaceLimits limits = {};
  /// False: one controller alone has it, of those of an administrator the first that comes.
  bool shared = true;
  /// To every controller that is there or comes; false: to those that Namespace Attachment names.
  bool attached = true;
  /// Namespaces that had this NSID before: each has names of its own.
  std::uint32_t incarnation = 0;
  bool write_protected = false;
  /// Metadata of a block and what is in it: one of kBlockFormats with block_bytes.
  std::uint16_t metadata_bytes = 0;
  std::uint8_t protection_type = 0;
  bool protection_first = false;  ///< the first bytes of the metadata
  nvme::ProtectionFormat guard = nvme::ProtectionFormat::guard_16;
  std::uint8_t storage_tag_bits = 0;
  /// With a zone size, the namespace is a zoned one.
  ZoneOptions zones = {};
  /// Of a key value namespace, for keys and values together; 0: it is none. Otherwise `blocks` does not count.
  std::uint64_t key_value_bytes = 0;
  std::uint8_t key_value_format = 0;
  /// All zero: derived from the subsystem's name and the NSID, so that they outlive a restart.
  std::array<std::uint8_t, 16> uuid = {};
  std::array<std::uint8_t, 16> nguid = {};
  std::array<std::uint8_t, 8> eui64 = {};
  /// Nothing: sparse memory.
  std::unique_ptr<BlockStore> store = nullptr;
};

struct DiscoveryOptions {
  /// A name of its own beside the well-known one.
  std::string unique_nqn;
  /// Explicit persistent connections: KATO, Keep Alive, Async Event Requests.
  bool persistent = true;
  /// Without keep alive: an association that is silent so long is dropped.
  Duration activity_limit = Duration::s(120);
  bool list_itself = false;  ///< an entry of SUBTYPE 3 for the service itself
  AuthenticationOptions authentication = {};
};

using fabrics::AddressFamily;

/// One subsystem port. Its facts go into Identify and the discovery log.
struct PortOptions {
  std::uint16_t portid = 1;
  std::string traddr = "192.0.2.1";
  std::string trsvcid = "4420";
  AddressFamily family = AddressFamily::ipv4;
  transport::ControllerFabricFacts facts = {};
};

/// A discovery service elsewhere.
struct Referral {
  std::string subnqn{fabrics::kDiscoveryNqn};
  std::string traddr;
  std::string trsvcid = "4420";
  AddressFamily family = AddressFamily::ipv4;
  std::uint8_t trtype = 1;
  std::uint16_t portid = 0;
  bool secure_channel_required = false;  ///< TREQ
};

}  // namespace fb::subsystem
