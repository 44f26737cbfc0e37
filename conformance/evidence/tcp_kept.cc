// Segments of a capture that acknowledge what is yet to be seen: they are kept until it is.
#include <algorithm>

#include "conformance/evidence/tcp_reader.h"

namespace fb::evidence {

namespace {

constexpr std::size_t kKeptMax = 512;  // of a direction

std::int32_t distance(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b); }

}  // namespace

bool TcpReader::comes_early(const Direction& direction, const TcpFacts& tcp) const {
  const Direction& other = *direction.other;
  return (tcp.flags & tcp_flag::ack) != 0 && other.known && distance(tcp.ack, other.next) > 1;
}

// Sequence numbers keep the order within a direction: only what itself comes early is kept.
bool TcpReader::keep_early(Direction& direction, const TraceEvent& event, const Sight& at) {
  if (direction.connection->content == Content::foreign || !comes_early(direction, *event.tcp)) return false;
  if (std::find(keeping_.begin(), keeping_.end(), direction.connection) == keeping_.end()) keeping_.push_back(direction.connection);
  direction.kept.push_back(std::make_unique<KeptPacket>(event, at));
  if (direction.kept.size() > kKeptMax) release(*direction.connection, kForEver);
  return true;
}

void TcpReader::release(Connection& connection, std::uint64_t packet) {
  for (bool moved = true; moved;) {
    moved = false;
    for (Direction& direction : connection.way) {
      const auto may_be_read = [&](const std::unique_ptr<KeptPacket>& kept) {
        return kept->until < packet || !comes_early(direction, kept->tcp);
      };
      const auto found = std::find_if(direction.kept.begin(), direction.kept.end(), may_be_read);
      if (found == direction.kept.end()) continue;
      const std::unique_ptr<KeptPacket> first = std::move(*found);
      direction.kept.erase(found);
      read(direction, first->event, first->at);
      moved = true;
    }
  }
  if (connection.way[0].kept.empty() && connection.way[1].kept.empty()) std::erase(keeping_, &connection);
}

void TcpReader::expire(std::uint64_t packet) {
  const std::vector<Connection*> keeping = keeping_;
  for (Connection* const connection : keeping) {
    const auto waited = [&](const Direction& direction) { return !direction.kept.empty() && direction.kept.front()->until < packet; };
    if (waited(connection->way[0]) || waited(connection->way[1])) release(*connection, packet);
  }
}

void TcpReader::finish() {
  const std::vector<Connection*> keeping = keeping_;
  for (Connection* const connection : keeping) release(*connection, kForEver);
}

}  // namespace fb::evidence
