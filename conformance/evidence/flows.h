// What a dissector knows of each conversation: queue pairs, TCP connections, and the NVMe queues on them.
// Everything that is not certain is said to be unknown: rules are silent then.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/bytes.h"
#include "conformance/evidence/sight.h"

namespace fb::evidence {

/// Where a request packet stands in its queue pair's sequence.
enum class PsnOrder : std::uint8_t {
  unknown,  ///< nothing to compare it with
  next,
  repeated,  ///< said before
  ahead,     ///< something in between was not seen
};

/// An NVMe queue. It lives as long as the dissector.
struct Queue {
  std::size_t index = 0;  ///< dense, from 0, for tables beside it
  bool tcp = false;
  Party host;
  Party controller;
  bool from_start = false;  ///< nothing of its beginning is missing
  bool whole = true;        ///< nothing in it was missing so far
  bool ended = false;
  std::uint32_t requests[2] = {0, 0};     ///< RDMA: new packets without a gap before them; 1 of the host
  std::optional<std::uint16_t> qid = {};  ///< from a Connect command
  std::uint32_t entries = 0;              ///< of the submission queue; 0 = unknown
  bool asked_no_flow_control = false;     ///< CATTR of the Connect
  std::optional<bool> flow_control = {};  ///< of SQ heads; from the Connect's response
  std::optional<std::uint16_t> cntlid = {};
  std::optional<std::uint16_t> hsqsize = {};           ///< of the request that its connection began with (RDMA)
  std::optional<std::uint16_t> connect_cid = {};       ///< of a Connect that is not answered yet
  std::map<std::uint16_t, std::uint8_t> opcodes = {};  ///< of the last command with each CID
  /// Somebody broke a rule on it: what follows from that is not to be judged. Judges set it.
  bool suspect = false;
  bool certain() const { return from_start && whole && !ended && !suspect; }
};

struct RdmaConnection;

/// One direction of a connection: what is said to one queue pair.
struct RdmaHalf {
  Party to;
  Party from;                            ///< its queue pair when CM told, else the address alone
  RdmaHalf* back = nullptr;              ///< the other direction, where it is known
  RdmaConnection* connection = nullptr;  ///< where the CM exchange was seen
  bool by_host = false;                  ///< said by the side that connected
  bool psn_known = false;
  std::uint32_t first_psn = 0;  ///< as CM announced; with a connection
  std::uint32_t expected = 0;   ///< the next new request
  std::uint32_t highest = 0;    ///< the last PSN that any request took
  bool any = false;             ///< a request was seen
  bool whole = true;            ///< nothing was missing so far
  Queue* queue = nullptr;       ///< where it carries capsules
  bool adrift = true;           ///< no message can be followed until one begins
  std::uint32_t ahead = 0;      ///< packets since a gap
  std::uint32_t mtu = 0;        ///< 0 = unknown
  // The message that is under way.
  bool inside = false;
  std::uint8_t kind = 0;
  std::uint32_t message_psn = 0;
  std::uint64_t length = 0;
  std::uint64_t va = 0;
  std::uint32_t rkey = 0, dmalen = 0;
  Bytes collected = {};
  std::size_t index = 0;  ///< dense, from 0
};

struct RdmaConnection {
  std::uint32_t active_comm_id = 0, passive_comm_id = 0;
  IpAddress active, passive;
  std::uint32_t active_qpn = 0, passive_qpn = 0;
  std::uint32_t active_psn = 0, passive_psn = 0;
  std::uint64_t tid = 0;
  std::uint32_t mtu = 0;
  std::uint8_t reads_active_serves = 0, reads_active_asks = 0;  ///< responder resources, initiator depth
  std::uint8_t reads_passive_serves = 0, reads_passive_asks = 0;
  bool replied = false;
  std::uint16_t hsqsize = 0;  ///< of that data
  bool nvme = false;          ///< the private data of the request is NVMe's
  std::uint16_t port = 0;
  Queue* queue = nullptr;
};

/// A TCP connection that carries NVMe/TCP.
struct TcpFlow {
  std::size_t index = 0;
  Queue* queue = nullptr;
  Party host, controller;
  bool from_start = false;  ///< its SYN was seen
  bool encrypted = false;
  bool certain[2] = {false, false};      ///< by direction, 1 to the controller: nothing is missing so far
  bool ic_req = false, ic_resp = false;  ///< seen
  std::uint8_t hpda = 0, cpda = 0;
  std::uint32_t maxr2t = 0, maxh2cdata = 0;
  bool asked_header_digest = false, asked_data_digest = false;
  bool header_digest = false, data_digest = false;
  /// ICReq and ICResp were both seen: the parameters above hold.
  bool agreed() const { return ic_req && ic_resp; }
};

}  // namespace fb::evidence
