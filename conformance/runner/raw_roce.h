// The raw level of RoCEv2: a peer that says anything on UDP port 4791 and hands out what comes back. It
// keeps no queue pair state, answers nothing by itself and corrects nothing. Its ICRC is computed by a
// bit-by-bit routine of its own, so that it shares no mistake with the device under test.
//
//   RawRoce peer(world, host, our_address, their_address);
//   auto c = peer.connect(4420, {.private_data = ...});            // REQ, REP, RTU by hand
//   peer.send(c->request(roce::Opcode::send_only, 0, bytes));      // PSN = first + 0
//   auto ack = peer.wait_packet(10_ms);                            // or: peer.silent_for(1_s)
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "sim/core/op.h"
#include "sim/net/datagram.h"
#include "wire/rdma/cm_messages.h"
#include "wire/rdma/headers.h"
#include "wire/rdma/mad.h"
#include "wire/rdma/psn.h"
#include "wire/rdma/syndrome.h"

namespace fb::conformance {

/// One RoCE packet: to be sent, or as received. Headers stand in a packet when they are set; a sender
/// may set the wrong ones. The pad count follows the payload unless `padcnt` says otherwise.
struct RocePacket {
  roce::Opcode opcode = roce::Opcode::send_only;
  std::uint32_t qpn = 0;  ///< destination
  std::uint32_t psn = 0;
  bool ackreq = false;
  bool se = false;
  bool migreq = true;
  bool fecn = false;
  bool becn = false;
  std::uint8_t tver = 0;
  std::uint16_t pkey = roce::kDefaultPkey;
  std::optional<std::uint8_t> padcnt = {};
  std::optional<Record<roce::Deth>> deth = {};
  std::optional<Record<roce::Reth>> reth = {};
  std::optional<Record<roce::AtomicEth>> atomic = {};
  std::optional<Record<roce::Aeth>> aeth = {};
  std::optional<Record<roce::AtomicAckEth>> atomic_ack = {};
  std::optional<Record<roce::ImmDt>> immediate = {};
  std::optional<Record<roce::Ieth>> ieth = {};
  Bytes payload = {};
  Instant at = {};        ///< received packets: when
  bool icrc_good = true;  ///< received packets: by our own computation
  Bytes pad = {};         ///< received packets: the pad bytes

  std::uint8_t syndrome() const { return aeth ? aeth->get(roce::aeth::syndrome) : 0xFF; }
  std::uint32_t msn() const { return aeth ? aeth->get(roce::aeth::msn) : 0xFFFFFFFF; }
  /// "NAK PSN sequence error, PSN 5" and the like, for verdicts.
  std::string describe() const;
};

/// BTH to pad, without the ICRC.
Bytes to_bytes(const RocePacket& packet);
/// Nothing when the bytes (with the ICRC) are too few for their opcode's headers.
std::optional<RocePacket> parse_roce(ByteView udp_payload);
/// The ICRC of a packet (BTH to pad) between these end points.
std::uint32_t icrc_of(const Endpoint& source, const Endpoint& destination, const IpFacts& ip, ByteView packet);

/// What a REQ says; the defaults are those of a good NVMe host.
struct RawRequest {
  std::uint16_t port = 4420;
  Bytes private_data = {};
  std::uint32_t comm_id = 0;  ///< 0: a fresh one
  std::uint32_t qpn = 0;      ///< 0: a fresh one
  std::uint32_t psn = 0x10;   ///< the PSN that the other side starts with
  std::uint64_t ca_guid = 0x0200000000001234;
  std::uint8_t responder_resources = 16;
  std::uint8_t initiator_depth = 16;
  std::uint8_t mtu_code = 5;
  std::uint8_t ack_timeout = 14;
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry_count = 7;
  std::uint8_t cm_timeout = 18;
};

/// A connection made by hand, either side.
struct RawConnectionFacts {
  std::uint32_t local_comm_id = 0;
  std::uint32_t remote_comm_id = 0;
  std::uint32_t local_qpn = 0;
  std::uint32_t remote_qpn = 0;
  std::uint32_t send_psn = 0;     ///< the PSN of our first request
  std::uint32_t receive_psn = 0;  ///< the PSN of their first request
  std::uint64_t tid = 0;
  cm::Mad reply;  ///< the REP (active side) or REQ (passive side) as it came

  /// A request with PSN send_psn + ordinal and AckReq.
  RocePacket request(roce::Opcode opcode, std::uint32_t ordinal, Bytes payload = {}) const;
  /// An acknowledgement of their PSN.
  RocePacket acknowledge(std::uint32_t psn, std::uint32_t msn, std::uint8_t syndrome = roce::kAckSyndrome) const;
};

class RawRoce final : private net::DatagramReceiver {
 public:
  /// Takes UDP port 4791 of `local`; throws UserError when it is taken.
  RawRoce(World& world, net::DatagramHost& host, const IpAddress& local, const IpAddress& peer);
  ~RawRoce();

  /// How a packet leaves.
  struct Sending {
    bool good_icrc = true;
    std::size_t cut = 0;  ///< bytes left off at the end, ICRC included
  };
  void send(const RocePacket& packet) { send(packet, Sending{}); }
  void send(const RocePacket& packet, const Sending& how);
  /// A packet (BTH to pad), with a good ICRC.
  void send_bytes(ByteView packet) { send_bytes(packet, Sending{}); }
  void send_bytes(ByteView packet, const Sending& how);

  /// The next packet that is not a MAD, within `limit`.
  std::optional<RocePacket> wait_packet(Duration limit);
  /// The same, skipping packets of other opcodes.
  std::optional<RocePacket> wait_packet(roce::Opcode opcode, Duration limit);
  /// True when no packet comes in `span` (and none is waiting).
  bool silent_for(Duration span);
  /// Packets that came and were not taken yet.
  std::deque<RocePacket>& inbox() { return packets_; }
  std::uint64_t received() const { return received_; }
  /// Packets that came with an ICRC that is not ours.
  std::uint64_t bad_icrc() const { return bad_icrc_; }

  /// Management datagrams.
  cm::Mad make_req(const RawRequest& request);
  void send_mad(const cm::Mad& mad) { send_mad(mad, roce::kGsiQkey); }
  void send_mad(const cm::Mad& mad, std::uint32_t qkey);
  std::optional<cm::Mad> wait_mad(Duration limit);
  std::optional<cm::Mad> wait_mad(cm::Attribute attribute, Duration limit);
  /// Where the span itself matters: in real time no longer than in virtual time.
  std::optional<cm::Mad> mad_within(Duration span);
  std::deque<cm::Mad>& mads() { return mads_; }

  /// REQ, wait for the REP, RTU. Nothing when the answer is not a REP; it is then the front of mads().
  std::optional<RawConnectionFacts> connect(const RawRequest& request, bool with_rtu = true);
  /// The facts of a REP that answers `req`.
  RawConnectionFacts facts_from(const cm::Mad& req, const cm::Mad& rep) const;
  void send_rtu(const RawConnectionFacts& connection);
  void send_dreq(const RawConnectionFacts& connection);
  /// Every DREQ that has come, and comes until there was none for a while, gets its DREP.
  void answer_goodbyes(Duration quiet);

  /// Passive side: what we say in a REP.
  struct RawReply {
    Bytes private_data = {};
    std::uint32_t psn = 0x20;
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 16;
    std::uint8_t rnr_retry_count = 7;
  };
  /// Answers a REQ that came with a REP; does not wait for the RTU.
  RawConnectionFacts accept(const cm::Mad& req, const RawReply& reply);
  /// The REP of such a connection, to be sent (again).
  cm::Mad make_rep(const RawConnectionFacts& connection, const RawReply& reply);
  cm::Mad make_rej(const cm::Mad& req, std::uint16_t reason, ByteView private_data);

  std::uint32_t fresh_id() { return next_id_++; }
  /// A product that outlives the case knows the ids of earlier ones for a while. At most 24 bits.
  void begin_ids_at(std::uint32_t first) { next_id_ = first; }
  /// PSNs that we announce are those of the case and so many.
  void move_psns(std::uint32_t by) { psn_offset_ = by; }
  World& world() { return world_; }

 private:
  void on_datagram(const net::Arrival& arrival) override;
  template <class Ready>
  bool run_until(Ready&& ready, Duration limit);

  World& world_;
  Endpoint local_;
  Endpoint peer_;
  std::unique_ptr<net::DatagramPort> port_;
  std::deque<RocePacket> packets_;
  std::deque<cm::Mad> mads_;
  std::uint64_t received_ = 0;
  std::uint64_t bad_icrc_ = 0;
  std::uint32_t next_id_ = 0x100;
  std::uint32_t gsi_psn_ = 0;
  std::uint32_t psn_offset_ = 0;
};

}  // namespace fb::conformance
