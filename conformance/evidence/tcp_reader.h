// TCP streams put in order, and NVMe/TCP PDUs cut out of them. Segments may come out of order, twice, or
// not at all; a direction that lacks bytes is picked up again where a PDU plainly begins.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "conformance/evidence/dissector.h"
#include "conformance/evidence/kept_packet.h"
#include "conformance/evidence/observer.h"
#include "conformance/evidence/tls_opener.h"

namespace fb::evidence {

class TcpReader {
 public:
  explicit TcpReader(Dissector& dissector) : dissector_(dissector) {}
  void on_segment(const TraceEvent& event, Sight& at);
  void finish();
  UnreadConnections unread() const;

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
    bool spoke = false;    // carried bytes
    std::uint32_t next = 0;
    std::map<std::uint32_t, Bytes> later;  // what came early, by distance from the first of them
    std::uint32_t later_base = 0;
    std::size_t later_bytes = 0;
    Bytes pending;                                         // the beginning of a PDU
    std::size_t ruled_out = 0;                             // hunting: bytes of `pending` at which no PDU begins
    std::size_t hunted = 0;                                // hunting in vain: bytes
    Bytes head;                                            // of a PDU whose data is passed over
    std::size_t to_pass = 0, passed_plen = 0, passed = 0;  // `passed`: bytes of its data
    std::deque<std::unique_ptr<KeptPacket>> kept;          // acknowledge what is yet to be seen
  };
  struct Connection {
    Direction way[2];
    Content content = Content::unknown;
    bool opened = false;            // the SYN was seen
    bool begins_otherwise = false;  // foreign, by its first bytes
    Direction* by_host = nullptr;   // which of them is said by the host, once that is known
    TcpFlow flow;
    std::unique_ptr<TlsOpener> tls;
  };
  using Key = std::pair<Endpoint, Endpoint>;
  /// PDUs that follow each other.
  enum class Chain : std::uint8_t { none, open, holds };

  Direction& direction_of(const Endpoint& from, const Endpoint& to);
  [[gnu::noinline]] Direction& look_up(const Endpoint& from, const Endpoint& to);
  [[gnu::cold]] void on_syn(Direction& direction, const TcpFacts& tcp);
  [[gnu::cold]] void forget_connections();
  static Key key_of(const Endpoint& from, const Endpoint& to) { return from < to ? Key{from, to} : Key{to, from}; }
  /// What a segment means that is not a SYN.
  void read(Direction& direction, const TraceEvent& event, Sight& at);
  void take(Direction& direction, std::uint32_t seq, ByteView bytes, Sight& at);
  [[gnu::cold]] void keep(Direction& direction, std::uint32_t seq, ByteView bytes);
  [[gnu::cold]] void drain(Direction& direction, Sight& at);
  [[gnu::cold]] void skip_gap(Direction& direction, Sight& at);
  /// Bytes of the stream, in order.
  void deliver(Direction& direction, ByteView bytes, Sight& at);
  /// The same behind TLS, where there is any.
  void deliver_plain(Direction& direction, ByteView bytes, Sight& at);
  bool recognise(Direction& direction, ByteView bytes, const Sight& at);
  bool looks_like_pdu(const Direction& direction, ByteView bytes) const;
  /// Bytes used; 0 when the PDU is not whole.
  std::size_t frame(Direction& direction, ByteView bytes, Sight& at);
  void pdu(Direction& direction, ByteView bytes, std::size_t plen, bool broken, Sight& at);
  /// Data of the PDU with that header, `from` bytes behind its first.
  void tell_data(const Direction& direction, ByteView header, std::size_t from, ByteView bytes, const Sight& at);
  [[gnu::cold]] void learn(TcpFlow& flow, const PduSeen& seen);
  void begin_flow(Connection& connection);
  [[gnu::cold]] void told_missing(const Direction& direction, const Sight& at, std::string_view what);
  bool is_nvme_port(std::uint16_t port) const;
  bool port_tells(const Direction& direction) const;

  // Of captures: what a connection carries is not told by its port alone (tcp_recognition.cc).
  /// Whether it is known what the connection carries; `pending` then begins with what is to be framed.
  [[gnu::noinline]] bool sort_out(Direction& direction, ByteView bytes, const Sight& at);
  bool sort_out_beginning(Direction& direction, const Sight& at);
  bool begins_tls(Direction& direction, ByteView bytes, const Sight& at);
  void open_tls(Direction& direction, ByteView bytes, Sight& at);
  [[gnu::noinline]] bool hunt(Direction& direction, ByteView bytes);
  Chain chain_at(const Direction& direction, ByteView bytes, unsigned wanted) const;
  void carries_nvme(Direction& direction, bool by_host, const Sight& at);
  void carries_other(Connection& connection, bool by_its_beginning);

  // Segments that acknowledge what is yet to be seen (tcp_kept.cc).
  bool comes_early(const Direction& direction, const TcpFacts& tcp) const;
  [[gnu::noinline]] bool keep_early(Direction& direction, const TraceEvent& event, const Sight& at);
  /// Reads what no longer comes early, and what has waited until `packet`.
  [[gnu::noinline]] void release(Connection& connection, std::uint64_t packet);
  [[gnu::noinline]] void expire(std::uint64_t packet);

  Dissector& dissector_;
  std::map<Key, std::unique_ptr<Connection>> connections_;
  static constexpr std::size_t kRecent = 8;
  static std::size_t place_of(const Endpoint& from, const Endpoint& to) { return (from.port ^ to.port) % kRecent; }
  std::array<Connection*, kRecent> recent_ = {};     // by their ports: what is mostly asked for again
  std::vector<std::unique_ptr<Connection>> former_;  // queues of theirs are still named
  std::set<Endpoint> controllers_;
  std::vector<Connection*> keeping_;  // with packets that are kept
  UnreadConnections forgotten_;
  std::size_t flows_ = 0;
};

}  // namespace fb::evidence
