// TCP streams put in order, and NVMe/TCP PDUs cut out of them. Segments may come out of order, twice, or
// not at all; a direction that lacks bytes is picked up again where a PDU plainly begins.
#pragma once

#include <array>
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
  struct Connection;
  struct Direction {
    Endpoint from, to;
    Connection* connection = nullptr;
    Direction* other = nullptr;
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
    Direction way[2];
    Content content = Content::unknown;
    bool opened = false;          // the SYN was seen
    Direction* by_host = nullptr;  // which of them is said by the host, once that is known
    TcpFlow flow;
  };
  using Key = std::pair<Endpoint, Endpoint>;

  Direction& direction_of(const Endpoint& from, const Endpoint& to);
  [[gnu::noinline]] Direction& look_up(const Endpoint& from, const Endpoint& to);
  [[gnu::cold]] void on_syn(Direction& direction, const TcpFacts& tcp);
  void take(Direction& direction, std::uint32_t seq, ByteView bytes, Sight& at);
  [[gnu::cold]] void keep(Direction& direction, std::uint32_t seq, ByteView bytes);
  [[gnu::cold]] void drain(Direction& direction, Sight& at);
  [[gnu::cold]] void skip_gap(Direction& direction, Sight& at);
  void deliver(Direction& direction, ByteView bytes, Sight& at);
  bool recognise(Direction& direction, ByteView bytes, const Sight& at);
  bool looks_like_pdu(const Direction& direction, ByteView bytes) const;
  /// Bytes used; 0 when the PDU is not whole.
  std::size_t frame(Direction& direction, ByteView bytes, Sight& at);
  void pdu(Direction& direction, ByteView bytes, std::size_t plen, bool broken, Sight& at);
  [[gnu::cold]] void learn(TcpFlow& flow, const PduSeen& seen);
  void begin_flow(Connection& connection);
  [[gnu::cold]] void told_missing(const Direction& direction, const Sight& at, std::string_view what);

  Dissector& dissector_;
  std::map<Key, std::unique_ptr<Connection>> connections_;
  static constexpr std::size_t kRecent = 8;
  static std::size_t place_of(const Endpoint& from, const Endpoint& to) { return (from.port ^ to.port) % kRecent; }
  std::array<Connection*, kRecent> recent_ = {};  // by their ports: what is mostly asked for again
  std::vector<std::unique_ptr<Connection>> former_;  // queues of theirs are still named
  std::set<Endpoint> controllers_;
  std::size_t flows_ = 0;
};

}  // namespace fb::evidence
