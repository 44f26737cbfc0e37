// Packets in, messages out (DSP0236 1.3.1, sections 8.5 to 8.9). No I/O and no clock: the time comes with
// each call. Every packet that is not used and every message that comes to nothing has its counter, and
// is told to the sink.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "sim/mctp/port.h"

namespace fb::mctp {

inline constexpr std::size_t kDrops = 9;
inline constexpr std::size_t kAbandons = 5;
std::string_view name_of(Drop why);
std::string_view name_of(Abandoned why);

struct AssemblyOptions {
  std::size_t unit = kBaselineUnit;         ///< the largest payload that is taken
  Duration packet_gap = Duration::ms(100);  ///< a message whose next packet stays away longer is dead
  std::size_t assemblies_max = 32;          ///< begun at once; the one that has waited longest gives way
  bool address_in_key = false;              ///< always; otherwise only where the source EID is null
  /// As Linux does it: a second start drops both messages, a wrong sequence number only its packet, parts
  /// may have any size, 64 KiB a message, and six seconds from the first packet to the last.
  bool as_linux = false;
};

/// Where a packet belongs, by its destination.
enum class Belongs : std::uint8_t {
  here,
  elsewhere,  ///< it was handed on
  nowhere,    ///< to an EID that is not ours
  no_route,   ///< to an EID that this bridge knows no way to
};

/// What an assembler asks and tells.
class AssemblySink {
 public:
  /// Asked for every packet whose header is sound.
  virtual Belongs belongs(Eid destination, const PhysicalAddress& from, ByteView packet) = 0;
  /// Whether an answer from `source` with this tag is awaited.
  virtual bool expects(Eid source, Tag tag) = 0;
  /// Most bytes of a message of this type; 0 when the type is not supported.
  virtual std::size_t size_max(std::uint8_t type) = 0;
  /// A rule is broken. True lets the packet pass all the same: a deliberate deviation.
  virtual bool tolerates(std::string_view point) {
    (void)point;
    return false;
  }
  virtual void on_message(const Incoming& message) = 0;
  virtual void on_started(const Incoming& first) = 0;
  virtual void on_abandoned(std::uint8_t type, Eid source, Tag tag, Abandoned why) = 0;
  virtual void on_drop(Drop why) = 0;

 protected:
  ~AssemblySink() = default;
};

struct AssemblyCounters {
  std::uint64_t packets = 0;    ///< all that came
  std::uint64_t forwarded = 0;  ///< belonged elsewhere
  std::uint64_t used = 0;       ///< became a part of a message, whatever became of that
  std::uint64_t messages = 0;
  std::uint64_t bad_source = 0;      ///< dropped: the source EID was the broadcast EID
  std::uint64_t too_long_whole = 0;  ///< dropped: a message of one packet, above what its type allows
  std::array<std::uint64_t, kDrops> drops{};
  std::array<std::uint64_t, kAbandons> abandoned{};
  /// Packets that ended a message by what was wrong with them; they are in neither sum above.
  std::uint64_t spoilers = 0;

  std::uint64_t dropped(Drop why) const { return drops[static_cast<std::size_t>(why)]; }
  std::uint64_t ended(Abandoned why) const { return abandoned[static_cast<std::size_t>(why)]; }
};

class Assembler {
 public:
  explicit Assembler(AssemblySink& sink, const AssemblyOptions& options = {}) : sink_(sink), options_(options) {}

  void on_packet(Instant now, const PhysicalAddress& from, ByteView packet);
  /// The medium says that something was damaged.
  void on_damaged() { drop(Drop::physical_layer); }
  void on_deadline(Instant now);
  std::optional<Instant> deadline() const;

  const AssemblyOptions& options() const { return options_; }
  void set_unit(std::size_t unit) { options_.unit = unit; }
  /// Everything that has begun is forgotten, without a word.
  void clear() { assemblies_.clear(); }
  /// Messages that have begun, and the bytes they hold.
  std::size_t open() const { return assemblies_.size(); }
  std::size_t bytes_held() const;
  const AssemblyCounters& counters() const { return counters_; }

 private:
  struct Header {
    Eid destination = 0;
    Eid source = 0;
    Tag tag;
    bool som = false;
    bool eom = false;
    std::uint8_t sequence = 0;
  };
  struct Assembly {
    Eid source = 0;
    Eid destination = 0;
    Tag tag;
    PhysicalAddress from;
    std::uint8_t type = 0;
    std::uint8_t next_sequence = 0;
    std::size_t unit = 0;  // payload of the first packet
    std::size_t size_max = 0;
    Instant deadline;
    Bytes body;
  };

  bool admit(const Header& header, const PhysicalAddress& from, ByteView packet);
  void start(Instant now, const Header& header, const PhysicalAddress& from, ByteView payload);
  void proceed(Instant now, std::size_t index, const Header& header, ByteView payload);
  std::optional<Abandoned> spoils(const Assembly& assembly, const Header& header, ByteView payload);
  std::size_t find(const Header& header, const PhysicalAddress& from) const;
  Assembly take(std::size_t index);
  void abandon(std::size_t index, Abandoned why);
  void deliver(const Header& header, const PhysicalAddress& from, ByteView body);
  bool drop(Drop why);
  Bytes spare();

  AssemblySink& sink_;
  AssemblyOptions options_;
  std::vector<Assembly> assemblies_;  // by age: the oldest first
  std::vector<Bytes> spares_;
  AssemblyCounters counters_;
};

}  // namespace fb::mctp
