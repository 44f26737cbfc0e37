// The MCTP seam: one endpoint of one network, as a message type (control, NVMe-MI) uses it. A simulated
// endpoint on a bus, a serial line and the kernel's AF_MCTP implement it.
//
// A message is the whole body, from the byte with IC and type to its last: as the specifications draw
// it. Packets, sequence numbers and bindings are the port's own; what a message type has to know of them
// (NVMe-MI counts bad packets, pauses between two and sends from the nth on again) is said in these calls.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "wire/mctp/packet.h"

namespace fb::mctp {

/// Where a device is on its medium: 1 byte on SMBus (8-bit form, R/W bit 0), 2 on PCIe (bus, device and
/// function), none on a serial line. Compared as a whole; empty means "as the EID is routed".
struct PhysicalAddress {
  std::array<std::uint8_t, 2> bytes{};
  std::uint8_t size = 0;
  auto operator<=>(const PhysicalAddress&) const = default;
};

/// A message tag with its owner bit, as the packets of that message carry it.
struct Tag {
  std::uint8_t value = 0;  ///< 0 to 7
  bool owner = false;      ///< the sender of this message chose it
  auto operator<=>(const Tag&) const = default;
};

/// A message, or its first packet. `body` is valid only during the call.
struct Incoming {
  Eid source = 0;
  Eid destination = 0;  ///< as sent: ours, null or broadcast
  Tag tag;
  PhysicalAddress from;
  ByteView body;
};

/// Why a packet was dropped before it could be a part of a message (DSP0236 8.8).
enum class Drop : std::uint8_t {
  unexpected_part,  ///< middle or end without a start
  physical_layer,   ///< PEC, FCS, framing, lengths
  unexpected_tag,   ///< an answer to nothing
  unknown_destination,
  no_route,
  header_version,
  unit_unsupported,  ///< larger than we take, or a part that is not the last is below 64
  message_type,
  too_short,
};

/// Why a message that had begun came to nothing (DSP0236 8.8).
enum class Abandoned : std::uint8_t {
  restarted,  ///< a new start with the same source and tag
  timed_out,  ///< the next packet stayed away
  out_of_sequence,
  unit_changed,  ///< a middle part of another size than the first
  too_long,      ///< more than its type allows
};

/// A message on its way out.
struct Outgoing {
  Eid destination = 0;
  PhysicalAddress to;  ///< empty: as the EID is routed
  Eid source = 0;      ///< null takes the port's own; an answer to a null EID may say otherwise
  Tag tag;
  std::size_t unit = kBaselineUnit;  ///< most bytes of payload in a packet
  Bytes body;
};

/// Names a message on its way out; never 0, never used twice.
using SendId = std::uint64_t;

/// One message type's listener.
class MessageHandler {
 public:
  virtual void on_message(const Incoming& message) = 0;
  /// The first of several packets has come; `body` is what that one brought.
  virtual void on_started(const Incoming& first) { (void)first; }
  /// What had begun with on_started() came to nothing.
  virtual void on_abandoned(Eid source, Tag tag, Abandoned why) { (void)source, (void)tag, (void)why; }
  /// The last packet of a message has left, or the medium gave it up (`delivered` false).
  virtual void on_sent(SendId id, bool delivered) { (void)id, (void)delivered; }
  /// A packet was dropped on the way in. Told to every handler of the port: nobody knows whose it was.
  virtual void on_drop(Drop why) { (void)why; }

 protected:
  ~MessageHandler() = default;
};

class Port {
 public:
  virtual ~Port() = default;

  /// Null while none is assigned.
  virtual Eid eid() const = 0;
  /// The largest payload of a packet that this port can send and take.
  virtual std::size_t unit_max() const = 0;
  /// The largest payload that it takes now; packets beyond are dropped. Baseline until changed.
  virtual void set_unit(std::size_t unit) = 0;

  /// One handler a type; null takes it off. `size_max` bounds the body of an incoming message.
  virtual void set_handler(MessageType type, MessageHandler* handler, std::size_t size_max) = 0;

  /// A tag towards `peer` whose answer is expected, the lowest that is free; none when all eight are
  /// taken. Answers come until it is released.
  virtual std::optional<Tag> take_tag(Eid peer) = 0;
  virtual void release_tag(Eid peer, Tag tag) = 0;

  /// Queues `message`; its packets leave one after the other, as the medium takes them. Messages of
  /// different tags may mix.
  virtual SendId send(Outgoing message) = 0;
  /// Stops between two packets, until resumed. Unknown and finished ids are left alone.
  virtual void hold(SendId id) = 0;
  virtual void resume(SendId id) = 0;
  /// Nothing more of it leaves. on_sent() does not follow.
  virtual void withdraw(SendId id) = 0;
  /// Packets of it that have left; 0 for unknown ids.
  virtual std::size_t packets_sent(SendId id) const = 0;
};

}  // namespace fb::mctp
