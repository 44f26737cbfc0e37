#include "conformance/evidence/tcp_reader.h"

#include <algorithm>

#include "conformance/evidence/dissector.h"
#include "wire/tcp/kickstart.h"

namespace fb::evidence {

namespace {

constexpr std::size_t kConnectionsMax = 65'536;
constexpr std::size_t kLaterMax = 8 << 20;
constexpr std::size_t kPduMax = 64 << 20;
constexpr std::uint16_t kNvmePort = 4420, kDiscoveryPort = 8009;
constexpr std::uint8_t kTlsHandshake = 0x16, kTlsMajor = 0x03;

std::int32_t distance(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b); }

}  // namespace

bool TcpReader::is_nvme_port(std::uint16_t port) const {
  const auto& further = dissector_.options().tcp_ports;
  return port == kNvmePort || port == kDiscoveryPort || std::find(further.begin(), further.end(), port) != further.end();
}

bool TcpReader::port_tells(const Direction& direction) const {
  return is_nvme_port(direction.to.port) || is_nvme_port(direction.from.port) || controllers_.count(direction.to) != 0 ||
         controllers_.count(direction.from) != 0;
}

inline TcpReader::Direction& TcpReader::direction_of(const Endpoint& from, const Endpoint& to) {
  if (Connection* const recent = recent_[place_of(from, to)]; recent != nullptr) {
    // Mostly the ports differ, and tell which way it is.
    Direction& said_before = recent->way[recent->way[0].from.port == from.port ? 0 : 1];
    if (said_before.from == from && said_before.to == to) return said_before;
  }
  return look_up(from, to);
}

TcpReader::Direction& TcpReader::look_up(const Endpoint& from, const Endpoint& to) {
  auto& slot = connections_[key_of(from, to)];
  if (slot == nullptr) {
    slot = std::make_unique<Connection>();
    for (const int way : {0, 1}) {
      Direction& direction = slot->way[way];
      direction.connection = slot.get();
      direction.other = &slot->way[1 - way];
      direction.from = way == 0 ? from : to;
      direction.to = way == 0 ? to : from;
    }
  }
  recent_[place_of(from, to)] = slot.get();
  return slot->way[slot->way[0].from == from ? 0 : 1];
}

void TcpReader::on_syn(Direction& direction, const TcpFacts& tcp) {
  if (direction.known) return;
  Connection& connection = *direction.connection;
  const bool answer = (tcp.flags & tcp_flag::ack) != 0;
  direction.known = true;
  direction.next = tcp.seq + 1;
  connection.by_host = answer ? direction.other : &direction;
  connection.opened = connection.opened || !answer;
}

void TcpReader::forget_connections() {
  forgotten_ = unread();
  connections_.clear();
  keeping_.clear();
  recent_ = {};
}

void TcpReader::on_segment(const TraceEvent& event, Sight& at) {
  ++dissector_.count().tcp;
  at.from.become_ip(event.source.address, event.source.port);
  at.to.become_ip(event.destination.address, event.destination.port);
  const TcpFacts& tcp = *event.tcp;
  if (connections_.size() >= kConnectionsMax) forget_connections();
  if (!keeping_.empty()) expire(at.packet);
  Direction* said = &direction_of(event.source, event.destination);
  // The same ports again, or a SYN that is sent again.
  const bool syn = (tcp.flags & tcp_flag::syn) != 0;
  if (syn && said->known && said->next != tcp.seq + 1 && (tcp.flags & tcp_flag::ack) == 0) {
    release(*said->connection, kForEver);
    if (said->connection->flow.queue != nullptr) dissector_.end_queue(at, *said->connection->flow.queue);
    former_.push_back(std::move(connections_[key_of(event.source, event.destination)]));
    recent_ = {};
    said = &direction_of(event.source, event.destination);
  }
  dissector_.tell<heard::segments>([&](Observer& observer) { observer.on_segment({at, tcp, event.bytes.size()}); });
  Direction& direction = *said;
  if (syn) return on_syn(direction, tcp);
  if (dissector_.options().capture && keep_early(direction, event, at)) return;
  read(direction, event, at);
  if (!direction.connection->way[0].kept.empty() || !direction.connection->way[1].kept.empty()) release(*direction.connection, at.packet);
}

void TcpReader::read(Direction& direction, const TraceEvent& event, Sight& at) {
  const TcpFacts& tcp = *event.tcp;
  TcpFlow& flow = direction.connection->flow;
  if (at.fate == Fate::forged) {
    if (flow.queue != nullptr) dissector_.end_queue(at, *flow.queue);
    return;
  }
  // What is acknowledged and was not seen: the capture lacks it, or has it later. Nobody is judged by its absence.
  Direction& other = *direction.other;
  const bool acknowledges = (tcp.flags & tcp_flag::ack) != 0;
  if (acknowledges && other.known && distance(tcp.ack, other.next) > 1) {
    other.whole = false;
    if (flow.queue != nullptr) flow.queue->whole = false;
  }
  if (!event.bytes.empty()) take(direction, tcp.seq, event.bytes, at);
  // It is not to be waited for when there is more behind it.
  if (!other.later.empty() && acknowledges && distance(tcp.ack, other.later_base) > 0 && distance(other.later_base, other.next) > 0) {
    skip_gap(other, at);
  }
  if ((tcp.flags & (tcp_flag::fin | tcp_flag::rst)) != 0 && flow.queue != nullptr) dissector_.end_queue(at, *flow.queue);
}

void TcpReader::take(Direction& direction, std::uint32_t seq, ByteView bytes, Sight& at) {
  direction.spoke = true;
  if (direction.connection->content == Content::foreign) return;
  if (!direction.known) {
    direction.known = true;
    direction.whole = false;
    direction.hunting = true;
    direction.next = seq;
  }
  std::int32_t ahead = distance(seq, direction.next);
  if (ahead < 0) {
    const auto old = static_cast<std::size_t>(-static_cast<std::int64_t>(ahead));
    if (old >= bytes.size()) return;  // said before
    bytes = bytes.subspan(old);
    ahead = 0;
  }
  if (ahead > 0) {
    keep(direction, seq, bytes);
    if (direction.later_bytes > kLaterMax) skip_gap(direction, at);
    return;
  }
  direction.next += static_cast<std::uint32_t>(bytes.size());
  deliver(direction, bytes, at);
  if (!direction.later.empty()) drain(direction, at);
}

void TcpReader::keep(Direction& direction, std::uint32_t seq, ByteView bytes) {
  if (direction.later.empty()) direction.later_base = seq;
  if (distance(seq, direction.later_base) < 0) {
    // Distances count from the first of them.
    std::map<std::uint32_t, Bytes> moved;
    for (auto& [at, kept] : direction.later) moved.emplace(at + (direction.later_base - seq), std::move(kept));
    direction.later = std::move(moved);
    direction.later_base = seq;
  }
  Bytes& kept = direction.later[seq - direction.later_base];
  if (kept.size() >= bytes.size()) return;
  direction.later_bytes += bytes.size() - kept.size();
  kept.assign(bytes.begin(), bytes.end());
}

void TcpReader::drain(Direction& direction, Sight& at) {
  while (!direction.later.empty()) {
    const auto first = direction.later.begin();
    const std::uint32_t seq = direction.later_base + first->first;
    const std::int32_t ahead = distance(seq, direction.next);
    if (ahead > 0) break;
    const Bytes kept = std::move(first->second);
    direction.later.erase(first);
    direction.later_bytes -= std::min(direction.later_bytes, kept.size());
    const auto old = static_cast<std::size_t>(-static_cast<std::int64_t>(ahead));
    if (old >= kept.size()) continue;
    direction.next += static_cast<std::uint32_t>(kept.size() - old);
    deliver(direction, ByteView(kept).subspan(old), at);
  }
  if (!direction.later.empty() && direction.later.begin()->first != 0) {
    const std::uint32_t first = direction.later.begin()->first;
    std::map<std::uint32_t, Bytes> moved;
    for (auto& [from, kept] : direction.later) moved.emplace(from - first, std::move(kept));
    direction.later = std::move(moved);
    direction.later_base += first;
  }
}

void TcpReader::told_missing(const Direction& direction, const Sight& at, std::string_view what) {
  dissector_.remark("packet " + std::to_string(at.packet) + ": TCP " + to_string(direction.from) + " -> " + to_string(direction.to) + ": " +
                    std::string(what));
}

void TcpReader::skip_gap(Direction& direction, Sight& at) {
  if (direction.later.empty()) return;
  Connection& connection = *direction.connection;
  if (connection.content == Content::nvme) told_missing(direction, at, "segments are missing");
  if (connection.tls != nullptr) {
    told_missing(direction, at, "segments are missing, so that TLS cannot be opened behind them");
    carries_other(connection, false);
  }
  direction.next = direction.later_base;
  direction.pending.clear();
  direction.ruled_out = 0;
  direction.to_pass = 0;
  direction.hunting = true;
  direction.whole = false;
  connection.flow.certain[0] = connection.flow.certain[1] = false;
  if (connection.flow.queue != nullptr) connection.flow.queue->whole = false;
  drain(direction, at);
}

// ---------------------------------------------------------------------------------------- content

bool TcpReader::looks_like_pdu(const Direction& direction, ByteView bytes) const {
  if (bytes.size() < tcp::kCommonHeaderBytes) return false;
  const View<tcp::CommonHeader> common{bytes};
  const std::uint32_t plen = common.get(tcp::pdu::plen);
  const std::uint8_t hlen = common.get(tcp::pdu::hlen), pdo = common.get(tcp::pdu::pdo);
  const Direction* const by_host = direction.connection->by_host;
  const tcp::PduShape* shape = tcp::shape_of(bytes[0]);
  const bool kickstart = tcp::is_kickstart(bytes[0]);
  if (shape == nullptr && !kickstart) return false;
  const bool to_controller = kickstart ? tcp::is_kickstart_request(bytes[0]) : shape->to_controller;
  if (by_host != nullptr && to_controller != (by_host == &direction)) return false;
  // Too little is known of its form to begin with it.
  if (kickstart && direction.connection->content != Content::nvme) return false;
  if (kickstart) return common.get(tcp::pdu::flags) == 0 && hlen >= tcp::kCommonHeaderBytes && plen >= hlen && plen <= tcp::kKickstartMax;
  if (hlen != shape->hlen || (common.get(tcp::pdu::flags) & ~shape->flags) != 0) return false;
  if (plen < shape->hlen || plen > kPduMax || pdo > plen) return false;
  const bool ends = shape->type == tcp::PduType::h2c_term_req || shape->type == tcp::PduType::c2h_term_req;
  if (ends) return plen <= tcp::kTermReqMax;
  if ((!shape->data || pdo == 0) && plen > shape->hlen + tcp::kDigestBytes) return false;
  return pdo == 0 || (pdo >= shape->hlen && pdo % 4 == 0);
}

// Whether this connection is one of NVMe/TCP that can be read. In a capture more is asked of it: sort_out().
bool TcpReader::recognise(Direction& direction, ByteView bytes, const Sight& at) {
  Connection& connection = *direction.connection;
  const bool told_by_port = port_tells(direction);
  if (bytes.size() >= 2 && bytes[0] == kTlsHandshake && bytes[1] == kTlsMajor) {
    connection.content = Content::foreign;
    connection.flow.encrypted = true;
    ++dissector_.count().encrypted;
    dissector_.tell<heard::unread>([&](Observer& observer) { observer.on_unread(at); });
    if (told_by_port) told_missing(direction, at, "is encrypted (TLS) and was not read");
    return false;
  }
  const bool plain = looks_like_pdu(direction, bytes);
  const bool begins = plain && (bytes[0] == 0 || bytes[0] == 1) && direction.whole;
  if (!begins && !told_by_port) {
    if (bytes.size() >= tcp::kCommonHeaderBytes || bytes[0] > 1) connection.content = Content::foreign;
    return false;
  }
  if (!plain && direction.hunting) return false;
  connection.content = Content::nvme;
  if (connection.by_host == nullptr) {
    const bool by_host =
        plain ? tcp::shape_of(bytes[0])->to_controller : is_nvme_port(direction.to.port) || controllers_.count(direction.to) != 0;
    connection.by_host = by_host ? &direction : direction.other;
  }
  begin_flow(connection);
  if (!connection.flow.from_start) told_missing(direction, at, "its beginning is missing");
  return true;
}

void TcpReader::begin_flow(Connection& connection) {
  ++dissector_.count().tcp_connections;
  TcpFlow& flow = connection.flow;
  const Direction& by_host = *connection.by_host;
  const Direction& by_controller = *by_host.other;
  flow.index = flows_++;
  flow.host = Party::ip(by_host.from);
  flow.controller = Party::ip(by_host.to);
  flow.certain[1] = by_host.known && by_host.whole;
  flow.certain[0] = by_controller.known && by_controller.whole;
  flow.from_start = connection.opened && flow.certain[0] && flow.certain[1];
  flow.queue = &dissector_.new_queue();
  flow.queue->tcp = true;
  flow.queue->host = flow.host;
  flow.queue->controller = flow.controller;
  flow.queue->from_start = flow.from_start;
  flow.queue->whole = flow.from_start;
  controllers_.insert(by_host.to);
}

void TcpReader::deliver(Direction& direction, ByteView bytes, Sight& at) {
  Connection& connection = *direction.connection;
  if (connection.content == Content::foreign || direction.ended) return;
  if (connection.tls != nullptr) return open_tls(direction, bytes, at);
  if (dissector_.options().capture && connection.content == Content::unknown && begins_tls(direction, bytes, at)) {
    if (connection.tls != nullptr) open_tls(direction, bytes, at);
    return;
  }
  deliver_plain(direction, bytes, at);
}

void TcpReader::deliver_plain(Direction& direction, ByteView bytes, Sight& at) {
  const Connection& connection = *direction.connection;
  if (connection.content == Content::foreign || direction.ended) return;
  Bytes sorted_out;
  if (dissector_.options().capture && (connection.content == Content::unknown || direction.hunting)) {
    if (!sort_out(direction, bytes, at)) return;
    sorted_out = std::exchange(direction.pending, {});
    bytes = sorted_out;
  }
  if (direction.to_pass > 0) {
    const std::size_t passed = std::min(direction.to_pass, bytes.size());
    direction.to_pass -= passed;
    tell_data(direction, direction.head, direction.passed, bytes.first(passed), at);
    direction.passed += passed;
    bytes = bytes.subspan(passed);
    if (direction.to_pass > 0) return;
    pdu(direction, direction.head, direction.passed_plen, false, at);
  }
  Bytes& pending = direction.pending;
  const bool gathered = !pending.empty();
  if (gathered) {
    pending.insert(pending.end(), bytes.begin(), bytes.end());
    if (pending.size() < tcp::kCommonHeaderBytes) return;
    const std::uint32_t plen = View<tcp::CommonHeader>{pending}.get(tcp::pdu::plen);
    const bool short_of = connection.content == Content::nvme && !direction.hunting && plen > pending.size() && plen <= kPduMax;
    if (short_of) return;
    bytes = pending;
  }
  const std::size_t all = bytes.size();
  while (!bytes.empty() && !direction.ended && connection.content != Content::foreign) {
    const std::size_t step = frame(direction, bytes, at);
    if (step == 0) break;
    bytes = bytes.subspan(step);
  }
  if (direction.ended || connection.content == Content::foreign) {
    pending = {};
  } else if (gathered) {
    pending.erase(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(all - bytes.size()));
  } else if (!bytes.empty()) {
    pending.assign(bytes.begin(), bytes.end());
  }
}

// Called in one place, for every PDU.
[[gnu::always_inline]] inline std::size_t TcpReader::frame(Direction& direction, ByteView bytes, Sight& at) {
  const Connection& connection = *direction.connection;
  if (direction.hunting) {
    // A PDU mostly begins where a segment begins; otherwise this one is left out.
    if (!looks_like_pdu(direction, bytes)) return bytes.size();
    if (connection.content != Content::nvme && !recognise(direction, bytes, at)) return bytes.size();
    direction.hunting = false;
  }
  if (bytes.size() < tcp::kCommonHeaderBytes) return 0;
  if (connection.content == Content::unknown && !recognise(direction, bytes, at)) {
    return connection.content == Content::foreign ? bytes.size() : 0;
  }
  const View<tcp::CommonHeader> common{bytes};
  const std::uint32_t plen = common.get(tcp::pdu::plen);
  const std::uint8_t hlen = common.get(tcp::pdu::hlen);
  if (hlen < tcp::kCommonHeaderBytes || plen < hlen || plen > kPduMax) {
    pdu(direction, bytes, bytes.size(), true, at);
    direction.ended = true;
    return bytes.size();
  }
  if (bytes.size() >= plen) {
    pdu(direction, bytes.first(plen), plen, false, at);
    return plen;
  }
  const auto type = common.get(tcp::pdu::type);
  const std::uint8_t pdo = common.get(tcp::pdu::pdo);
  const bool data = type == tcp::PduType::h2c_data || type == tcp::PduType::c2h_data;
  const bool digest = (common.get(tcp::pdu::flags) & tcp::pdu_flags::ddgstf) != 0;
  if (!data || digest || pdo < hlen || bytes.size() < pdo) return 0;
  // Data without a digest is nobody's concern here: only its length is.
  direction.head.assign(bytes.begin(), bytes.begin() + pdo);
  direction.to_pass = plen - bytes.size();
  direction.passed_plen = plen;
  direction.passed = bytes.size() - pdo;
  tell_data(direction, direction.head, 0, bytes.subspan(pdo), at);
  return bytes.size();
}

void TcpReader::tell_data(const Direction& direction, ByteView header, std::size_t from, ByteView bytes, const Sight& at) {
  if (header.size() < tcp::DataPdu::size || bytes.empty()) return;
  const View<tcp::DataPdu> data{header};
  const Connection& connection = *direction.connection;
  const DataSeen seen{at,
                      *connection.flow.queue,
                      connection.by_host == &direction,
                      data.get(tcp::data_pdu::cccid),
                      data.get(tcp::data_pdu::offset) + std::uint64_t{from},
                      bytes};
  dissector_.tell<heard::tcp_bytes>([&](Observer& observer) { observer.on_data(seen); });
}

void TcpReader::pdu(Direction& direction, ByteView bytes, std::size_t plen, bool broken, Sight& at) {
  ++dissector_.count().pdus;
  TcpFlow& flow = direction.connection->flow;
  PduSeen seen(at, flow, direction.connection->by_host == &direction, bytes, broken);
  const std::size_t hlen = seen.header.size(), pdo = seen.common.get(tcp::pdu::pdo);
  const std::size_t tail = seen.data_digest() ? tcp::kDigestBytes : 0;
  if (!broken && pdo >= hlen && pdo + tail <= plen) {
    seen.data_bytes = plen - tail - pdo;
    if (bytes.size() == plen) seen.data = bytes.subspan(pdo, seen.data_bytes);
  }
  if (!broken && !flow.agreed()) learn(flow, seen);
  const auto type = seen.type();
  const bool moves_data = type == tcp::PduType::h2c_data || type == tcp::PduType::c2h_data || type == tcp::PduType::r2t;
  const bool data = type == tcp::PduType::h2c_data || type == tcp::PduType::c2h_data;
  if (data && !broken && !seen.data.empty()) tell_data(direction, seen.header, 0, seen.data, at);
  const auto told = [&](Observer& observer) { observer.on_pdu(seen); };
  moves_data ? dissector_.tell<heard::data_pdus>(told) : dissector_.tell<heard::control_pdus>(told);
  if (broken) return;
  if (moves_data) {
    constexpr std::uint8_t kBoth = tcp::pdu_flags::success | tcp::pdu_flags::last_pdu;
    const bool stands_for_response = type == tcp::PduType::c2h_data && (seen.common.get(tcp::pdu::flags) & kBoth) == kBoth &&
                                     !seen.to_controller && hlen >= tcp::DataPdu::size;
    if (stands_for_response) dissector_.tell<heard::successes>([&](Observer& observer) { observer.on_success(seen); });
  } else if (type == tcp::PduType::capsule_cmd && seen.to_controller && hlen >= tcp::CapsuleCmd::size) {
    const bool together = seen.data.empty() || pdo == tcp::CapsuleCmd::size;  // nothing stands between command and data
    if (together) {
      dissector_.command(at, *flow.queue,
                         bytes.subspan(tcp::kCommonHeaderBytes, tcp::CapsuleCmd::size - tcp::kCommonHeaderBytes + seen.data.size()));
    } else {
      Bytes capsule(bytes.begin() + tcp::kCommonHeaderBytes, bytes.begin() + tcp::CapsuleCmd::size);
      capsule.insert(capsule.end(), seen.data.begin(), seen.data.end());
      dissector_.command(at, *flow.queue, capsule);
    }
  } else if (type == tcp::PduType::capsule_resp && !seen.to_controller && hlen >= tcp::CapsuleResp::size) {
    dissector_.completion(at, *flow.queue, bytes.subspan(tcp::kCommonHeaderBytes, 16));
  }
}

void TcpReader::learn(TcpFlow& flow, const PduSeen& seen) {
  if (seen.to_controller && seen.type() == tcp::PduType::ic_req && !flow.ic_req && seen.header.size() >= 16) {
    const std::uint8_t* const at = seen.header.data();
    flow.hpda = at[10];
    flow.asked_header_digest = (at[11] & 1) != 0;
    flow.asked_data_digest = (at[11] & 2) != 0;
    flow.maxr2t = load_le<std::uint32_t>(at + 12);
    flow.ic_req = true;
  }
  if (!seen.to_controller && seen.type() == tcp::PduType::ic_resp && !flow.ic_resp && seen.header.size() >= 16) {
    const std::uint8_t* const at = seen.header.data();
    flow.cpda = at[10];
    flow.header_digest = (at[11] & 1) != 0;
    flow.data_digest = (at[11] & 2) != 0;
    flow.maxh2cdata = load_le<std::uint32_t>(at + 12);
    flow.ic_resp = true;
  }
}

}  // namespace fb::evidence
