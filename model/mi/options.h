// What a managed device and its endpoints are made of.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/time.h"
#include "model/subsystem/options.h"
#include "wire/mi/data_structures.h"
#include "wire/mi/vpd.h"

namespace fb::mi {

/// A subsystem as a drive with PCI Express has it: controllers 1 and 2 are there whether or not a host is,
/// and it has a vendor.
subsystem::SubsystemOptions drive_options();

enum class Revision : std::uint8_t { r1_0, r1_0a, r1_1, r1_2, r2_0, r2_1 };
constexpr std::uint8_t major_of(Revision revision) { return revision >= Revision::r2_0 ? 2 : 1; }
constexpr std::uint8_t minor_of(Revision revision) {
  switch (revision) {
    case Revision::r1_1:
    case Revision::r2_1:
      return 1;
    case Revision::r1_2:
      return 2;
    default:
      return 0;
  }
}

/// SMBus frequencies as the configuration numbers them.
inline constexpr std::uint8_t kFrequency100k = 1;
inline constexpr std::uint8_t kFrequency400k = 2;
inline constexpr std::uint8_t kFrequency1M = 3;

/// One port of the device: a PCI Express port, or a two-wire (SMBus) one.
struct DevicePort {
  PortType type = PortType::pcie;
  std::uint16_t unit_max = 250;  ///< MMTUS
  std::uint8_t frequency_max = kFrequency400k;
  std::uint8_t vpd_address = 0xA6;  ///< 8-bit form, 0: none
  std::uint8_t endpoint_address = 0x3A;
  bool basic_management = true;
  std::uint8_t link_speeds = 0x0F;  ///< as SLSV
  std::uint8_t link_speed = 4;
  std::uint8_t link_width = 4;
};

enum class FunctionKind : std::uint8_t { plain, physical, virtual_function };

struct DeviceOptions {
  Revision revision = Revision::r2_0;
  /// Ports by PORTID.
  std::vector<DevicePort> ports = {{.type = PortType::pcie}, {.type = PortType::two_wire}};
  VpdFacts vpd = {};              ///< serial and capacity are filled in where they are empty
  unsigned vpd_updates_max = 64;  ///< more get VPD Updates Exceeded
  bool vpd_writable = true;
  bool reset_supported = true;
  bool shutdown_supported = true;
  bool pcie_commands = true;
  bool pcie_locked = false;  ///< PCIe commands beyond reading the configuration space are denied
  bool enclosure = false;    ///< SES Send and Receive; a storage device has none
  std::uint16_t device_id = 0x0001;
  std::uint16_t subsystem_id = 0x0001;
  std::map<std::uint16_t, FunctionKind> functions = {};  ///< by controller; plain where absent
  /// Controller 0 stands for the one with the lowest identifier where there is none: what tools ask for
  /// that were not told a controller.
  bool controller_zero_is_lowest = false;
};

/// What to do with a message of a reserved kind.
enum class ReservedKind : std::uint8_t { discard, invalid_opcode };

/// More Processing Required as no good endpoint sends it, for who wants to see what a requester does with it.
struct MoreProcessingOptions {
  unsigned count = 1;                      ///< for one command
  bool endless = false;                    ///< they come for ever, and the response never
  Duration interval = Duration::ms(100);   ///< between two of them
  std::optional<std::uint16_t> time = {};  ///< MPRT, whatever is true
};

struct EndpointOptions {
  std::uint8_t port = 1;              ///< PORTID
  std::uint32_t buffer_bytes = 4096;  ///< management endpoint buffer; 0: none
  bool auto_pause = true;             ///< CIAP, from 1.2 on
  bool events = true;                 ///< asynchronous events, from 2.0 on

  /// Time between the arrival of a command and its response.
  Duration latency = {};
  /// Commands that take their time, by kind and opcode.
  std::map<SupportedCommand, Duration> durations = {};
  /// Commands that Abort cannot stop while they are processed (2.1); before, everything can be aborted.
  std::vector<SupportedCommand> unabortable = {};
  /// More Processing Required is sent when the response is not there by then (1.2).
  Duration more_processing_after = Duration::ms(90);
  MoreProcessingOptions more_processing = {};

  // Where the documents leave a choice, or were not to be had.
  ReservedKind reserved_kind = ReservedKind::discard;
  bool auto_pause_refused = false;          ///< CIAP where it is not supported: Invalid Parameter, not ignored
  bool timeout_flag = false;                ///< bit 5 of Get State, as early revisions have it
  std::uint16_t pause_result = 0;           ///< CPSR of Pause and Resume; early revisions set bits
  bool replay_inserts_header = true;        ///< a replay from the middle begins with the message header
  bool list_start_in_byte_10 = true;        ///< libnvme puts the first controller of a list there
  bool set_features_without_length = true;  ///< libnvme sends Set Features' data with DLEN 0
  bool reset_keeps_changes = false;         ///< changed flags outlive an endpoint reset
  unsigned event_retries_max = 7;
};

}  // namespace fb::mi
