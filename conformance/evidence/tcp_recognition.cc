// What a connection of a capture carries. Everybody's traffic is in there, on any port: NVMe/TCP is what begins with ICReq or
// ICResp, and where the beginning is not there, what is a chain of PDUs.
#include <algorithm>

#include "conformance/evidence/dissector.h"
#include "conformance/evidence/tcp_reader.h"
#include "wire/tcp/kickstart.h"

namespace fb::evidence {

namespace {

constexpr std::size_t kPendingMax = 4 << 20;  // what a chain may have in front of its second PDU
constexpr std::size_t kHuntedMax = 16 << 20;  // of one direction, before it is given up
constexpr std::uint8_t kTlsFirst = 0x14, kTlsHandshake = 0x16, kTlsLast = 0x17, kTlsMajor = 0x03;
constexpr std::size_t kTlsHeader = 5, kTlsRecordMax = (16 << 10) + 256;

bool is_tls_record(ByteView bytes) {
  return bytes.size() >= kTlsHeader && bytes[0] >= kTlsFirst && bytes[0] <= kTlsLast && bytes[1] == kTlsMajor && bytes[2] <= 4 &&
         load_be<std::uint16_t>(&bytes[3]) <= kTlsRecordMax;
}

/// Whether a connection can begin so. On a port of NVMe/TCP one of the two lengths may be wrong: a rule looks at it.
bool opens(ByteView bytes, tcp::PduType type, bool port_tells) {
  const View<tcp::CommonHeader> common{bytes};
  if (common.get(tcp::pdu::type) != type) return false;
  const bool hlen = common.get(tcp::pdu::hlen) == tcp::IcReq::size, plen = common.get(tcp::pdu::plen) == tcp::IcReq::size;
  return port_tells ? hlen || plen : hlen && plen && common.get(tcp::pdu::pdo) == 0;
}

}  // namespace

void TcpReader::carries_nvme(Direction& direction, bool by_host, const Sight& at) {
  Connection& connection = *direction.connection;
  connection.content = Content::nvme;
  connection.by_host = by_host ? &direction : direction.other;
  begin_flow(connection);
  if (!connection.flow.from_start) told_missing(direction, at, "its beginning is missing");
}

void TcpReader::carries_other(Connection& connection, bool by_its_beginning) {
  connection.content = Content::foreign;
  connection.begins_otherwise = by_its_beginning;
  connection.tls.reset();
  for (Direction& direction : connection.way) direction.pending = {};
}

bool TcpReader::begins_tls(Direction& direction, ByteView bytes, const Sight& at) {
  Connection& connection = *direction.connection;
  const bool handshake = bytes.size() >= 2 && bytes[0] == kTlsHandshake && bytes[1] == kTlsMajor;
  const bool begins = !direction.hunting && direction.whole && handshake;
  if (!direction.pending.empty() || (!begins && !(direction.hunting && is_tls_record(bytes)))) return false;
  connection.flow.encrypted = true;
  ++dissector_.count().encrypted;
  const bool from_client = connection.by_host == &direction;
  if (begins && from_client && dissector_.options().tls_keys != nullptr) {
    connection.tls = std::make_unique<TlsOpener>(*dissector_.options().tls_keys);
    return true;
  }
  if (port_tells(direction)) {
    told_missing(direction, at, begins ? "is encrypted (TLS) and was not read" : "is encrypted (TLS), and its beginning is missing");
  }
  carries_other(connection, false);
  return true;
}

void TcpReader::open_tls(Direction& direction, ByteView bytes, Sight& at) {
  Connection& connection = *direction.connection;
  Bytes plain;
  const bool opened_before = connection.tls->opened();
  const bool goes_on = connection.tls->feed(connection.by_host == &direction, bytes, plain);
  if (!opened_before && connection.tls->opened()) ++dissector_.count().decrypted;
  if (!plain.empty()) deliver_plain(direction, plain, at);
  if (goes_on || connection.tls == nullptr) return;
  if (port_tells(direction) || connection.tls->opened()) {
    told_missing(direction, at, "is encrypted (TLS) and was not read: " + connection.tls->why());
  }
  if (connection.flow.queue != nullptr) connection.flow.queue->whole = false;
  carries_other(connection, false);
}

bool TcpReader::sort_out(Direction& direction, ByteView bytes, const Sight& at) {
  if (direction.hunting) {
    if (!hunt(direction, bytes)) return false;
    if (direction.connection->content == Content::unknown) {
      carries_nvme(direction, tcp::shape_of(direction.pending[0])->to_controller, at);
    }
    return true;
  }
  direction.pending.insert(direction.pending.end(), bytes.begin(), bytes.end());
  return sort_out_beginning(direction, at);
}

// The first bytes of a direction, which were all seen. Only the host can be the first to speak, but its first packet may be
// missing.
bool TcpReader::sort_out_beginning(Direction& direction, const Sight& at) {
  Connection& connection = *direction.connection;
  const ByteView bytes = direction.pending;
  const bool by_host = connection.by_host == &direction;
  const auto expected = by_host ? tcp::PduType::ic_req : tcp::PduType::ic_resp;
  if (bytes[0] == static_cast<std::uint8_t>(expected)) {
    if (bytes.size() < tcp::kCommonHeaderBytes) return false;
    if (opens(bytes, expected, port_tells(direction))) {
      carries_nvme(direction, by_host, at);
      return true;
    }
  }
  carries_other(connection, true);
  return false;
}

// Leaves in `pending` what begins with a PDU. One PDU in a row is enough where the port or the connection tells already, and
// where a segment begins; anywhere else it takes two.
bool TcpReader::hunt(Direction& direction, ByteView bytes) {
  Connection& connection = *direction.connection;
  const bool expected = connection.content == Content::nvme || port_tells(direction);
  Bytes& pending = direction.pending;
  const std::size_t segment = pending.size();
  pending.insert(pending.end(), bytes.begin(), bytes.end());
  std::size_t at = direction.ruled_out;
  for (; at < pending.size(); ++at) {
    const unsigned wanted = expected && at == segment ? 1 : 2;
    const Chain chain = chain_at(direction, ByteView(pending).subspan(at), wanted);
    if (chain == Chain::none) continue;
    if (chain == Chain::open && pending.size() - at <= kPendingMax) {
      direction.ruled_out = at;
      return false;
    }
    if (chain == Chain::open) continue;
    pending.erase(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(at));
    direction.ruled_out = direction.hunted = 0;
    direction.hunting = false;
    return true;
  }
  direction.hunted += pending.size();
  pending.clear();
  direction.ruled_out = 0;
  if (connection.content == Content::unknown && direction.hunted > kHuntedMax) carries_other(connection, false);
  return false;
}

TcpReader::Chain TcpReader::chain_at(const Direction& direction, ByteView bytes, unsigned wanted) const {
  constexpr unsigned kPlain = 3;  // more are not looked at
  // Most bytes begin no PDU: that is seen at once.
  if (tcp::shape_of(bytes[0]) == nullptr && !tcp::is_kickstart(bytes[0])) return Chain::none;
  std::optional<bool> to_controller;
  unsigned count = 0;
  while (!bytes.empty() && count < kPlain) {
    if (bytes.size() < tcp::kCommonHeaderBytes) break;
    if (!looks_like_pdu(direction, bytes)) return Chain::none;
    const tcp::PduShape* const shape = tcp::shape_of(bytes[0]);
    const bool way = shape != nullptr ? shape->to_controller : tcp::is_kickstart_request(bytes[0]);
    if (to_controller.value_or(way) != way) return Chain::none;
    to_controller = way;
    ++count;
    bytes = bytes.subspan(std::min<std::size_t>(bytes.size(), View<tcp::CommonHeader>{bytes}.get(tcp::pdu::plen)));
  }
  return count >= wanted ? Chain::holds : Chain::open;
}

UnreadConnections TcpReader::unread() const {
  UnreadConnections unread = forgotten_;
  const auto look = [&](const Connection& connection) {
    const bool read = connection.content == Content::nvme || connection.flow.encrypted;
    if (read || (!connection.way[0].spoke && !connection.way[1].spoke)) return;
    ++(connection.begins_otherwise ? unread.other : unread.unknown);
  };
  for (const auto& [key, connection] : connections_) look(*connection);
  for (const auto& connection : former_) look(*connection);
  return unread;
}

}  // namespace fb::evidence
