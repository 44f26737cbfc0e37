#include "conformance/evidence/mctp_reader.h"

#include "conformance/evidence/dissector.h"

namespace fb::evidence {

namespace {

constexpr std::size_t kOpenMax = 1024;
constexpr std::size_t kMessageMax = 65'536;

}  // namespace

void MctpReader::disturbed() {
  open_.clear();
  disturbed_ = true;
}

void MctpReader::on_packet(const TraceEvent& event, Sight& at) {
  if (event.bytes.size() < mctp::kHeaderSize) {
    ++dissector_.count().broken;
    return;
  }
  ++dissector_.count().mctp;
  if (disturbed_ && at.fate == Fate::whole) at.fate = Fate::altered;
  disturbed_ = false;
  const View<mctp::PacketHeader> header{event.bytes};
  const std::uint32_t bus = event.mctp->bus;
  const std::uint8_t source = header.get(mctp::packet::source);
  const std::uint8_t destination = header.get(mctp::packet::destination);
  at.from = Party::mctp(bus, source);
  at.to = Party::mctp(bus, destination);
  dissector_.tell<heard::mctp>([&](Observer& observer) { observer.on_mctp_packet({at, header, event.bytes}); });
  const auto tag = static_cast<std::uint8_t>(event.bytes[3] & 0x0F);
  const auto physical = static_cast<std::uint16_t>(event.mctp->source[0] << 8 | event.mctp->source[1]);
  const Key key{bus, source, destination, tag, physical};
  const bool som = header.get(mctp::packet::som);
  const std::uint8_t sequence = header.get(mctp::packet::sequence);
  auto found = open_.find(key);
  if (som) {
    if (open_.size() >= kOpenMax) open_.clear();
    found = open_.insert_or_assign(key, Assembly{}).first;
  } else if (found == open_.end() || found->second.next != sequence || found->second.message.size() > kMessageMax) {
    if (found != open_.end()) open_.erase(found);
    return;
  }
  Assembly& assembly = found->second;
  const ByteView payload = event.bytes.subspan(mctp::kHeaderSize);
  assembly.message.insert(assembly.message.end(), payload.begin(), payload.end());
  assembly.next = (sequence + 1) & 3;
  ++assembly.packets;
  if (!header.get(mctp::packet::eom)) return;
  const Assembly whole = std::move(assembly);
  open_.erase(found);
  if (whole.message.empty()) return;
  ++dissector_.count().mctp_messages;
  MctpMessageSeen seen{.at = at,
                       .source = source,
                       .destination = destination,
                       .tag = header.get(mctp::packet::tag),
                       .tag_owner = header.get(mctp::packet::tag_owner),
                       .type = static_cast<mctp::MessageType>(whole.message[0] & 0x7F),
                       .integrity = (whole.message[0] & 0x80) != 0,
                       .message = whole.message,
                       .packets = whole.packets};
  if (seen.type == mctp::MessageType::nvme_mi) ++dissector_.count().mi_messages;
  dissector_.tell<heard::mctp>([&](Observer& observer) { observer.on_mctp_message(seen); });
}

}  // namespace fb::evidence
