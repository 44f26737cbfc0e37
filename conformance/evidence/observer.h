// What a dissector tells: packets, messages, PDUs and capsules with their fields, each with where it was
// seen. An observer overrides what it wants to hear. Views and references are valid during the call, the
// flows that they name as long as the dissector.
#pragma once

#include <algorithm>
#include <optional>

#include "base/bytes.h"
#include "conformance/evidence/flows.h"
#include "conformance/evidence/sight.h"
#include "sim/core/trace.h"
#include "wire/mctp/packet.h"
#include "wire/nvme/cqe.h"
#include "wire/rdma/headers.h"
#include "wire/rdma/mad.h"
#include "wire/tcp/pdu.h"

namespace fb::evidence {

/// A RoCEv2 packet of any kind. Header pointers are null where the opcode has no such header.
struct RocePacketSeen {
  // One is made for every packet: a constructor sets its members, where an aggregate's room would be cleared first.
  RocePacketSeen(const Sight& seen_at, const roce::OpcodeFacts& of_opcode, ByteView bytes)
      : at(seen_at), facts(of_opcode), bth(bytes), packet(bytes) {}

  const Sight& at;
  const roce::OpcodeFacts& facts;
  View<roce::Bth> bth;
  ByteView packet;        ///< UDP payload, with the ICRC
  ByteView payload = {};  ///< between the headers and the pad
  ByteView pad = {};
  const std::uint8_t* reth = nullptr;
  const std::uint8_t* atomic = nullptr;
  const std::uint8_t* aeth = nullptr;
  const std::uint8_t* ieth = nullptr;
  const std::uint8_t* deth = nullptr;
  bool icrc_good = true;
  RdmaHalf* half = nullptr;            ///< of connected queue pairs: towards the receiver
  PsnOrder order = PsnOrder::unknown;  ///< of requests
  std::uint32_t expected = 0;          ///< the PSN that would have been next; with order ahead and repeated
  std::uint32_t psn() const { return bth.get(roce::bth::psn); }
};

/// A request message of RDMA that is complete.
struct RdmaMessageSeen {
  const Sight& at;  ///< of its last packet
  const RdmaHalf& half;
  roce::OpcodeKind kind;  ///< send, write, read_request, atomic_request
  std::uint32_t first_psn = 0;
  std::uint64_t length = 0;  ///< bytes carried; asked for, of a READ
  ByteView payload;          ///< of a SEND
  std::uint64_t va = 0;
  std::uint32_t rkey = 0;
  std::optional<std::uint32_t> invalidates = {};
};

/// A management datagram of the connection manager.
struct CmSeen {
  const Sight& at;
  cm::Attribute attribute;
  ByteView mad;  ///< 256 bytes
};

/// A TCP segment with or without bytes, before reassembly.
struct SegmentSeen {
  const Sight& at;
  const TcpFacts& tcp;
  std::size_t bytes;
};

/// An NVMe/TCP PDU with the lengths that its header claims. What does not frame is `broken`, and its
/// direction is not followed from there on.
struct PduSeen {
  // A constructor for the same reason as above.
  PduSeen(const Sight& seen_at, TcpFlow& of_flow, bool by_host, ByteView bytes, bool is_broken)
      : at(seen_at),
        flow(of_flow),
        to_controller(by_host),
        broken(is_broken),
        common(bytes),
        pdu(bytes),
        header(bytes.first(std::min<std::size_t>(common.get(tcp::pdu::hlen), bytes.size()))) {}

  const Sight& at;  ///< of the segment that completed it
  TcpFlow& flow;
  bool to_controller;
  bool broken;
  View<tcp::CommonHeader> common;
  ByteView pdu;        ///< all of it, but for data that is not kept; of a broken one as much as is there
  ByteView header;     ///< its HLEN bytes
  ByteView data = {};  ///< empty where it came in several segments and no digest asks for it
  std::size_t data_bytes = 0;
  tcp::PduType type() const { return common.get(tcp::pdu::type); }
  bool header_digest() const { return (common.get(tcp::pdu::flags) & tcp::pdu_flags::hdgstf) != 0; }
  bool data_digest() const { return (common.get(tcp::pdu::flags) & tcp::pdu_flags::ddgstf) != 0; }
};

/// A command or a completion on a queue, whatever the transport.
struct CommandSeen {
  const Sight& at;
  Queue& queue;
  ByteView sqe;   ///< 64 bytes
  ByteView data;  ///< what follows it in the capsule
};
struct CompletionSeen {
  const Sight& at;
  Queue& queue;
  ByteView cqe;                                   ///< 16 bytes
  std::optional<std::uint32_t> invalidates = {};  ///< the key, of a SEND with invalidate
  std::optional<std::uint8_t> opcode = {};        ///< of the command, where that was seen
  nvme::Status status() const {
    const nvme::Status status = View<nvme::CqeLayout>{cqe}.get(nvme::cqe::status);
    return opcode ? status.of(*opcode) : status;
  }
};

/// Bytes of a command's data that an NVMe/TCP PDU carries, as they come: what a PDU has may come in several pieces.
struct DataSeen {
  const Sight& at;
  Queue& queue;
  bool to_controller;
  std::uint16_t cid = 0;
  std::uint64_t offset = 0;  ///< in the command's data
  ByteView bytes = {};
};

struct MctpPacketSeen {
  const Sight& at;
  View<mctp::PacketHeader> header;
  ByteView packet;
};

/// A message put together from its packets.
struct MctpMessageSeen {
  const Sight& at;  ///< of its last packet
  std::uint8_t source = 0;
  std::uint8_t destination = 0;
  std::uint8_t tag = 0;
  bool tag_owner = false;
  mctp::MessageType type = mctp::MessageType::control;
  bool integrity = false;
  ByteView message;  ///< from the byte with IC and type
  unsigned packets = 1;
};

/// Words between packets: faults, steps of a case, states.
struct WordsSeen {
  TraceKind kind;
  std::uint64_t packet;  ///< the next one
  Instant time;
  std::string_view actor, label, text;
};

/// What there is to hear, as bits: a dissector passes over those who do not listen.
namespace heard {
inline constexpr unsigned roce_packets = 1u << 0;
inline constexpr unsigned rdma_messages = 1u << 1;
inline constexpr unsigned cm = 1u << 2;
inline constexpr unsigned segments = 1u << 3;
inline constexpr unsigned data_pdus = 1u << 4;     ///< R2T, H2CData, C2HData
inline constexpr unsigned control_pdus = 1u << 5;  ///< the others
inline constexpr unsigned pdus = data_pdus | control_pdus;
inline constexpr unsigned rdma_capsules = 1u << 6;
inline constexpr unsigned tcp_capsules = 1u << 7;
inline constexpr unsigned capsules = rdma_capsules | tcp_capsules;
inline constexpr unsigned mctp = 1u << 8;
inline constexpr unsigned words = 1u << 9;
inline constexpr unsigned successes = 1u << 10;
inline constexpr unsigned tcp_bytes = 1u << 11;  ///< of data PDUs
inline constexpr unsigned unread = 1u << 12;
inline constexpr unsigned kinds = 13;
inline constexpr unsigned all = (1u << kinds) - 1;
}  // namespace heard

class Observer {
 public:
  virtual ~Observer() = default;
  /// Of `heard`; asked once.
  virtual unsigned hears() const { return heard::all; }
  virtual void on_roce_packet(const RocePacketSeen&) {}
  virtual void on_rdma_message(const RdmaMessageSeen&) {}
  virtual void on_cm(const CmSeen&) {}
  virtual void on_segment(const SegmentSeen&) {}
  virtual void on_pdu(const PduSeen&) {}
  /// A C2HData whose SUCCESS stands for a response; told behind on_pdu.
  virtual void on_success(const PduSeen&) {}
  /// In front of the PDU, which is told when all of it is there.
  virtual void on_data(const DataSeen&) {}
  /// There is traffic that cannot be read: what is exchanged in it is not known.
  virtual void on_unread(const Sight&) {}
  virtual void on_command(const CommandSeen&) {}
  virtual void on_completion(const CompletionSeen&) {}
  /// No more is heard of this queue: disconnected, reset, or lost track of.
  virtual void on_queue_end(const Sight&, Queue&) {}
  virtual void on_mctp_packet(const MctpPacketSeen&) {}
  virtual void on_mctp_message(const MctpMessageSeen&) {}
  virtual void on_words(const WordsSeen&) {}

  // Asked of captures, whose packets may stand in a wrong order by a little: false where something that belongs in front
  // has not been seen yet. What is not in order is told a little later, in any case.
  virtual bool command_in_order(const CommandSeen&) const { return true; }
  virtual bool completion_in_order(const CompletionSeen&) const { return true; }
  virtual bool message_in_order(const RdmaMessageSeen&) const { return true; }
};

}  // namespace fb::evidence
