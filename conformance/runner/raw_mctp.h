// The bench's own voice on an MCTP medium: packets by hand, messages cut and put together by the letter of
// DSP0236 1.3.1, 8.3 to 8.9, with nothing of the code that products are made of.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/world.h"
#include "sim/mctp/binding.h"

namespace fb::conformance {

/// A packet as a case says it: what is not set is what a good request of one packet has.
struct MctpPacket {
  std::uint8_t reserved = 0;  ///< upper half of byte 0
  std::uint8_t version = 1;
  mctp::Eid destination = mctp::kNullEid;
  mctp::Eid source = mctp::kNullEid;
  bool som = true;
  bool eom = true;
  std::uint8_t sequence = 0;
  bool owner = true;
  std::uint8_t tag = 0;
  Bytes payload = {};
};
Bytes to_bytes(const MctpPacket& packet);
/// The packets of a message: each with the fields of `like`, `unit` bytes of payload in all but the last.
std::vector<MctpPacket> cut(ByteView body, const MctpPacket& like, std::size_t unit = mctp::kBaselineUnit);

/// A packet that came.
struct SeenPacket {
  Instant at;
  mctp::PhysicalAddress from;
  MctpPacket packet;
  /// "packet of 64 bytes, SOM, sequence 0, tag 3, from 9 to 8".
  std::string describe() const;
};

/// A message that came, whole. `packets` is empty where a kernel put it together.
struct SeenMessage {
  Instant first, last;
  mctp::PhysicalAddress from;
  mctp::Eid source = 0;
  mctp::Eid destination = 0;
  bool owner = false;
  std::uint8_t tag = 0;
  Bytes body;
  std::vector<SeenPacket> packets;

  std::uint8_t type() const { return body.empty() ? 0xFF : body[0] & 0x7F; }
};

/// A message to say.
struct MctpTerms {
  std::uint8_t tag = 0;
  bool owner = true;
  std::optional<mctp::Eid> destination = {};  ///< nothing: the product's
  std::size_t unit = mctp::kBaselineUnit;
};

/// Who can say and hear whole messages. Times are of the world.
class MctpPeer {
 public:
  virtual ~MctpPeer() = default;
  virtual void send_message(ByteView body, const MctpTerms& terms = {}) = 0;
  /// The next message that nobody has taken; nothing when none comes within `limit`.
  virtual std::optional<SeenMessage> next_message(Duration limit) = 0;
  /// Puts a message back, so that it is the next.
  virtual void untake(SeenMessage message) = 0;
};

/// Packets and messages on one attachment to a medium.
class RawMctp final : public MctpPeer, private mctp::PacketSink {
 public:
  /// `send_frame` puts any bytes on the medium, on_packet_sent() following.
  RawMctp(World& world, mctp::Binding& binding, mctp::Eid eid, std::function<void(Bytes)> send_frame = {});
  ~RawMctp() override;
  RawMctp(const RawMctp&) = delete;
  RawMctp& operator=(const RawMctp&) = delete;

  mctp::Eid eid() const { return eid_; }
  void set_eid(mctp::Eid eid) { eid_ = eid; }
  /// Where everything goes from now on.
  void set_product(mctp::Eid eid, const mctp::PhysicalAddress& at) {
    product_ = eid;
    to_ = at;
  }
  mctp::Binding& binding() { return binding_; }
  /// From now on tags and sequence numbers are others on the medium than a case says: those that it begins with are near
  /// their wrap. The case does not notice.
  void begin_near_wrap() { near_wrap_ = true; }

  /// A good packet of one from us to the product.
  MctpPacket packet(Bytes payload = {}) const {
    MctpPacket made;
    made.destination = product_;
    made.source = eid_;
    made.payload = std::move(payload);
    return made;
  }
  /// In the order of these calls, one after the other.
  void send(const MctpPacket& packet) { send_bytes(to_bytes(packet)); }
  /// Any bytes as a packet.
  void send_bytes(Bytes packet);
  /// Any bytes as a frame of the medium.
  void send_frame(Bytes frame);
  void send_message(ByteView body, const MctpTerms& terms = {}) override;

  std::optional<SeenPacket> next_packet(Duration limit);
  std::optional<SeenMessage> next_message(Duration limit) override;
  void untake(SeenMessage message) override { messages_.push_front(std::move(message)); }
  /// All that has been said has left, or was given up.
  bool quiet() const { return waiting_.empty() && !sending_; }
  void wait_until_said(Duration limit = Duration::s(10));

  /// Every packet that has come, oldest first.
  const std::vector<SeenPacket>& packets() const { return packets_; }
  /// What came and is no part of a sound message, each with the rule that it breaks.
  const std::vector<std::string>& faults() const { return faults_; }
  /// Frames that came damaged: PEC, FCS, lengths.
  unsigned damaged() const { return damaged_; }
  /// Packets of ours that nobody acknowledged.
  unsigned undelivered() const { return undelivered_; }
  /// Forgets what has come and was not taken.
  void forget();

  /// Called with every whole message, before it can be taken; true takes it.
  std::function<bool(const SeenMessage&)> on_message;

 private:
  struct Said {
    Bytes bytes;
    bool frame = false;
  };
  void on_packet(const mctp::PhysicalAddress& from, ByteView packet) override;
  void on_damaged() override { ++damaged_; }
  void on_packet_sent(bool delivered) override;
  void say_next();
  void put_together(const SeenPacket& seen);
  void fault(const SeenPacket& seen, const std::string& why);

  World& world_;
  mctp::Binding& binding_;
  mctp::Eid eid_;
  mctp::Eid product_ = mctp::kNullEid;
  mctp::PhysicalAddress to_;
  std::function<void(Bytes)> send_frame_;
  std::deque<Said> waiting_;
  bool sending_ = false;
  bool near_wrap_ = false;
  std::vector<SeenPacket> packets_;
  std::size_t taken_ = 0;  // packets that next_packet() has given
  std::vector<SeenMessage> begun_;
  std::deque<SeenMessage> messages_;
  std::vector<std::string> faults_;
  unsigned damaged_ = 0;
  unsigned undelivered_ = 0;
};

}  // namespace fb::conformance
