// What one says to the host, and what it says when something did not work.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/ip.h"
#include "base/time.h"
#include "model/auth/policy.h"
#include "model/host/commands.h"
#include "model/host/hooks.h"
#include "model/transport/host_channel.h"
#include "wire/fabrics/connect.h"
#include "wire/nvme/identify.h"
#include "wire/nvme/protection.h"
#include "wire/nvme/status.h"

namespace fb::host {

/// Why an association did not come about, or is no more.
struct HostError {
  enum class Kind : std::uint8_t {
    transport,       ///< no connection, or it was lost: see end
    refused,         ///< Connect was answered with `status`
    command,         ///< a command of the initialisation failed with `status`
    timeout,         ///< no answer, or not ready in time
    violation,       ///< the controller broke a rule
    authentication,  ///< it, or we, could not be authenticated
    unsupported,     ///< it needs, or lacks, what this host cannot do without
    closed           ///< we left
  };
  Kind kind = Kind::transport;
  std::string text;
  nvme::Status status = {};
  transport::ChannelEnd end = {};
  fabrics::InvalidParameter parameter = {};  ///< with Connect Invalid Parameters
  /// Another attempt with the same parameters would end the same way.
  bool permanent = false;
};

struct HostOptions {
  std::string hostnqn = "nqn.2014-08.org.nvmexpress:uuid:6ab9bd21-3c85-4b61-a6d0-5d4b6f2f7c01";
  HostId hostid = {0x6a, 0xb9, 0xbd, 0x21, 0x3c, 0x85, 0x4b, 0x61, 0xa6, 0xd0, 0x5d, 0x4b, 0x6f, 0x2f, 0x7c, 0x01};
  HostHooks* hooks = nullptr;
  /// Challenges and the like for authentication; the host makes its own where there are none.
  std::shared_ptr<auth::NonceSource> nonces = {};
  /// The name of this host in the trace.
  std::string actor = "host";
};

/// In-band authentication (DH-HMAC-CHAP) with one subsystem.
struct AuthenticationOptions {
  std::optional<auth::Secret> secret = {};
  /// The controller has to authenticate too.
  std::optional<auth::Secret> controller_secret = {};
  std::vector<auth::AuthHash> hashes = auth::all_hashes();
  std::vector<auth::DhGroup> groups = auth::all_groups();
  /// Authenticates also where nobody asks. So does who wants the controller to authenticate.
  bool required = false;
  /// A demand for a secure channel (AUTHREQ.ASCR) is met by making a PSK on an admin queue without TLS;
  /// on_psk gets it, and where it was stored every queue of the association is connected with it.
  bool secure_channel = false;
  std::function<void(const auth::GeneratedPsk&)> on_psk = {};
  /// Asks for that secure channel also where the controller asks for authentication alone, or nothing.
  bool secure_channel_required = false;
};

/// What a host's connections to a subsystem are secured with.
enum class TlsUse : std::uint8_t {
  never,
  always,  ///< each queue, with the key of the two names
};

/// Who makes and checks protection information, where a namespace has it.
enum class ProtectionUse : std::uint8_t {
  controller,  ///< it inserts and checks; where the metadata holds nothing else, buffers hold data alone
  host,        ///< buffers hold whole blocks: the host writes the tags into them, and checks what it reads
};

struct ConnectOptions {
  Endpoint to = {};
  std::string subnqn = {};
  std::uint16_t cntlid = fabrics::kAnyController;
  std::uint16_t io_queues = 1;  ///< none for a discovery controller
  std::uint16_t queue_entries = 128;
  std::uint16_t admin_entries = 32;
  std::uint32_t kato_ms = 5000;
  /// After a loss, how long a controller that reports no CQT is given to stop (Base 9.6.2).
  Duration quiesce_unreported = Duration::s(10);
  /// After a loss, another controller of the subsystem is asked to reset the lost one (Base 9.6.2.2).
  bool cross_controller_reset = true;
  bool disable_sq_flow_control = false;
  bool individual_queue_deletion = false;
  bool remote_invalidate = true;
  std::uint32_t in_capsule_max_bytes = 16384;   ///< where the controller takes as much
  std::uint32_t transfer_max_bytes = 1u << 20;  ///< where MDTS allows more
  std::uint16_t async_events = 4;               ///< where AERL allows as many
  bool scan_namespaces = true;
  AuthenticationOptions authentication = {};
  TlsUse tls = TlsUse::never;
  ProtectionUse protection = ProtectionUse::controller;

  Duration connect_timeout = Duration::s(10);
  Duration admin_timeout = Duration::s(60);
  Duration io_timeout = Duration::s(30);
  /// How long an aborted command still has before the controller is reset.
  Duration abort_grace = Duration::s(10);
  /// After a loss: first delay, doubled up to the second, until the third has passed.
  Duration reconnect_delay = Duration::ms(500);
  Duration reconnect_delay_max = Duration::s(10);
  Duration controller_loss_timeout = Duration::s(600);
  /// Controller Busy in the first Connect.
  Duration busy_delay = Duration::s(1);
  unsigned busy_retries = 5;
  /// Attempts of one I/O command after the first.
  unsigned command_retries = 5;
  /// How long I/O waits when every path is inaccessible.
  Duration no_path_timeout = Duration::s(60);
};

/// The zones of a zoned namespace.
struct ZoneGeometry {
  std::uint64_t zone_blocks = 0;
  std::uint32_t max_active = 0;  ///< 0: any number
  std::uint32_t max_open = 0;    ///< 0: any number
  std::uint32_t extension_bytes = 0;
  bool read_across = false;
  bool variable_capacity = false;
  std::uint32_t zrwa_blocks = 0;       ///< of a Zone Random Write Area; 0: the namespace has none
  std::uint32_t zrwa_granularity = 0;  ///< blocks that an area is committed in
  std::uint32_t zrwa_max = 0;          ///< NUMZRWA as it stands
  bool zrwa_flush = false;             ///< Flush Explicit ZRWA Range
  bool operator==(const ZoneGeometry&) const = default;
};

/// The formats of a key value namespace. Which one is in use, a controller does not say.
struct KeyValueGeometry {
  std::uint64_t bytes = 0;  ///< NSZE
  std::size_t key_max = 0;  ///< of the widest format
  std::uint64_t value_max = 0;
  bool operator==(const KeyValueGeometry&) const = default;
};

/// What one Copy may take.
struct CopyLimits {
  std::uint32_t range_blocks = 0;
  std::uint32_t total_blocks = 0;
  std::uint32_t ranges = 0;
  bool operator==(const CopyLimits&) const = default;
};

/// What a controller says of a namespace.
struct NamespaceFacts {
  std::uint32_t nsid = 0;
  std::uint64_t blocks = 0;
  std::uint32_t block_bytes = 512;  ///< of a block in the host's buffers
  nvme::BlockLayout layout;         ///< of a block on the wire
  ProtectionUse protection = ProtectionUse::controller;
  std::uint32_t ana_group = 0;
  bool shared = false;
  /// The strongest identifier it has (UUID, NGUID, EUI-64), type first; empty without any.
  Bytes identity;
  std::uint8_t lba_format = 0;
  nvme::CommandSet command_set = nvme::CommandSet::nvm;
  ZoneGeometry zones = {};      ///< of a zoned namespace
  KeyValueGeometry pairs = {};  ///< of a key value namespace
  CopyLimits copy = {};
  bool key_value() const { return command_set == nvme::CommandSet::key_value; }
  bool zoned() const { return command_set == nvme::CommandSet::zoned; }
  /// The controller inserts and strips the tags.
  bool strips() const { return protection == ProtectionUse::controller && layout.tuple_alone(); }
  bool operator==(const NamespaceFacts&) const = default;
};

/// The answer to an admin command.
struct AdminReply {
  bool answered = false;  ///< false: the connection ended first, or was never there
  nvme::Cqe cqe = {};
  Bytes data = {};                                          ///< the command's buffer afterwards
  nvme::StatusFamily family = nvme::StatusFamily::unknown;  ///< of the command, by which its status is named

  nvme::Status status() const { return cqe.get(nvme::cqe::status).of(family); }
  bool ok() const { return answered && status().ok(); }
  std::uint32_t dw0() const { return cqe.get(nvme::cqe::dw0); }
  std::uint64_t value() const { return std::uint64_t{cqe.get(nvme::cqe::dw1)} << 32 | cqe.get(nvme::cqe::dw0); }
};

}  // namespace fb::host
