// RoCEv2: packets taken apart, connections known by their CM exchange, request messages put together. It
// follows each direction as a responder would: in PSN order, repetitions left out, a gap closed by what is
// sent again.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "conformance/evidence/kept_packet.h"
#include "conformance/evidence/observer.h"
#include "sim/rdma/softroce/icrc.h"
#include "wire/rdma/cm_messages.h"

namespace fb::evidence {

class Dissector;

class RoceReader {
 public:
  explicit RoceReader(Dissector& dissector) : dissector_(dissector) {}
  void on_packet(const TraceEvent& event, Sight& at);
  void finish();
  /// Whether its receiver finds nothing wrong with the ICRC.
  bool integrity_holds(const TraceEvent& event);

 private:
  using Key = std::pair<IpAddress, std::uint32_t>;
  static constexpr std::size_t kConnectionsMax = 65'536;

  /// What is done with a packet that comes early: it is read all the same, not at all, or kept.
  enum class Early : std::uint8_t { read, left, kept };
  /// Whether it was read.
  bool read(const TraceEvent& event, Sight& at, Early early);
  bool comes_early(const RdmaHalf& half, const RocePacketSeen& seen) const;
  [[gnu::noinline]] bool keep(const RdmaHalf& half, const RocePacketSeen& seen, const TraceEvent& event);
  /// Reads what no longer comes early, and what has waited until `packet`.
  [[gnu::noinline]] void release(std::uint64_t packet);
  bool icrc_good(const TraceEvent& event, const Sight& at);
  RdmaHalf* half_of(const IpAddress& from, const IpAddress& to, std::uint32_t qpn);
  RdmaHalf* new_half(const Key& to);
  void pair_by_answer(RdmaHalf& answered_to, const RocePacketSeen& seen, const IpAddress& from);
  void acknowledged(RdmaHalf& half, const RocePacketSeen& seen);
  void place(RdmaHalf& half, RocePacketSeen& seen) const;
  void follow(RdmaHalf& half, const RocePacketSeen& seen);
  void begin(RdmaHalf& half, const RocePacketSeen& seen) const;
  void finish(RdmaHalf& half, const RocePacketSeen& seen, ByteView whole);
  void capsule(RdmaHalf& half, const RdmaMessageSeen& message);
  [[gnu::cold]] void lose_track(RdmaHalf& half, const Sight& at);

  void on_cm(const RocePacketSeen& seen);
  void on_req(const RocePacketSeen& seen);
  void on_rep(const RocePacketSeen& seen);
  void on_end(const RocePacketSeen& seen, cm::Attribute attribute);
  RdmaConnection* connection_of(const IpAddress& a, const IpAddress& b, std::uint32_t id_of_a, std::uint32_t id_of_b);

  Dissector& dissector_;
  softroce::IcrcChecker icrc_[2];  // one for each direction: they remember the last one
  std::uint64_t packets_ = 0;
  std::vector<std::unique_ptr<RdmaHalf>> halves_;
  std::map<Key, RdmaHalf*> by_queue_pair_;
  static constexpr std::size_t kRecent = 32;
  std::array<RdmaHalf*, kRecent> recent_ = {};  // by queue pair: the directions that are mostly asked for
  std::vector<std::unique_ptr<RdmaConnection>> connections_;
  std::map<std::pair<IpAddress, std::uint32_t>, RdmaConnection*> by_active_id_;
  bool said_unknown_ = false;
  // Of captures: packets that come early, by the direction that they are in.
  using Kept = std::deque<std::unique_ptr<KeptPacket>>;
  std::map<std::size_t, Kept> kept_;
};

}  // namespace fb::evidence
