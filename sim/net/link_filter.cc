#include "sim/net/link_filter.h"

#include <string>

#include "sim/core/world.h"

namespace fb::net {

Rng& RandomLoss::stream_of(const PacketContext& packet) {
  if (streams_.size() <= packet.link_index) streams_.resize(packet.link_index + 1);
  auto& stream = streams_[packet.link_index];
  if (!stream) stream = world_.stream("link/" + std::string(packet.link) + "/loss");
  return *stream;
}

Verdict RandomLoss::on_packet(PacketContext& packet) {
  Rng& rng = stream_of(packet);
  const auto hit = [&rng](Ratio ratio) { return rng.chance(ratio.numerator, ratio.denominator); };
  // All chances are drawn whatever the first ones say: a change of one ratio moves no other fault.
  Verdict verdict;
  verdict.drop = hit(options_.drop);
  const bool duplicate = hit(options_.duplicate);
  const bool delay = hit(options_.delay);
  const bool corrupt = hit(options_.corrupt);
  const std::uint64_t where = rng.next();
  if (verdict.drop) return verdict;
  const auto span = static_cast<std::uint64_t>(options_.max_delay.count_ns());
  if (duplicate) verdict.duplicates = 1;
  if (delay && span > 0) {
    // A delayed and duplicated packet: the copy stays in time and the original comes late.
    verdict.delay = Duration::ns(static_cast<std::int64_t>(1 + where % span));
  }
  if (corrupt && !packet.payload.empty()) {
    const std::size_t at = static_cast<std::size_t>(where >> 16) % packet.payload.size();
    const auto mask = static_cast<std::uint8_t>((where & 0xFF) == 0 ? 0x80 : where & 0xFF);
    packet.payload[at] = static_cast<std::uint8_t>(packet.payload[at] ^ mask);
    verdict.corrupted = true;
  }
  return verdict;
}

}  // namespace fb::net
