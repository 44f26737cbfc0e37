// TCP streams put in order, and NVMe/TCP PDUs cut out of them. Segments may come out of order, twice, or
// not at all; a direction that lacks bytes is picked up again where a PDU plainly begins.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "conformance/evidence/observer.h"

namespace fb::evidence {

class Dissector;

class TcpReader {
 public:
  explicit TcpReader(Dissector& dissector) : dissector_(dissector) {}
  void on_segment(const TraceEvent& event, Sight& at);

 private:
  enum class Content : std::uint8_t { unknown, nvme, foreign };
  struct Direction {
    Endpoint from, to;
    bool known = false;    // `next` is
    bool whole = true;     // nothing is missing from its first byte on
    bool hunting = false;  // looks for the beginning of a PDU
    bool ended = false;    // what follows cannot be framed
    std::uint32_t next = 0;
    std::map<std::uint32_t, Bytes> later;  // what came early, by distance from the first of them
    std::uint32_t later_base = 0;
    std::size_t later_bytes = 0;
    Bytes pending;         // the beginning of a PDU
    Bytes head;            // of a PDU whose data is passed over
    std::size_t to_pass = 0, passed_plen = 0;
  };
  struct Connection {
    Direction way[2];  // 0 is said by `first`
    Content content = Content::unknown;
    bool opened = false;               // the SYN was seen
    int host_way = -1;                 // which of them is said by the host; -1: unknown
    TcpFlow flow;
    bool said = false;
  };
  using Key = std::pair<Endpoint, Endpoint>;

  Connection& connection_of(const Endpoint& from, const Endpoint& to, int& way);
  void open(Connection& connection, const Sight& at);
  void take(Connection& connection, int way, std::uint32_t seq, ByteView bytes, Sight& at);
  [[gnu::cold]] void keep(Direction& way, std::uint32_t seq, ByteView bytes);
  [[gnu::cold]] void drain(Connection& connection, int way, Sight& at);
  [[gnu::cold]] void skip_gap(Connection& connection, int way, Sight& at);
  void deliver(Connection& connection, int way, ByteView bytes, Sight& at);
  bool recognise(Connection& connection, int way, ByteView bytes, const Sight& at);
  bool looks_like_pdu(const Connection& connection, int way, ByteView bytes) const;
  /// Bytes used; 0 when the PDU is not whole.
  std::size_t frame(Connection& connection, int way, ByteView bytes, Sight& at);
  void pdu(Connection& connection, int way, ByteView bytes, std::size_t plen, bool broken, Sight& at);
  void learn(TcpFlow& flow, const PduSeen& seen);
  void begin_flow(Connection& connection);
  [[gnu::cold]] void told_missing(Connection& connection, int way, const Sight& at, std::string_view what);

  Dissector& dissector_;
  std::map<Key, std::unique_ptr<Connection>> connections_;
  Connection* last_ = nullptr;  // which is mostly asked for again
  std::vector<std::unique_ptr<Connection>> former_;  // queues of theirs are still named
  std::set<Endpoint> controllers_;
  std::size_t flows_ = 0;
};

}  // namespace fb::evidence
