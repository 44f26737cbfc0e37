#include "sim/mctp/medium.h"

namespace fb::mctp {

std::string to_string(const PhysicalAddress& address) {
  if (address.size == 0) return "-";
  return to_hex(ByteView(address.bytes).first(address.size));
}

void trace_packet(World& world, const MediumName& medium, std::string_view actor, control::BindingId binding, const PhysicalAddress& source,
                  ByteView packet, std::string_view text) {
  if (!world.trace().hears_wire()) return;
  MctpFacts facts;
  facts.bus = medium.bus;
  facts.binding = static_cast<std::uint8_t>(binding);
  facts.source = source.bytes;
  facts.address_size = source.size;
  facts.broadcast = packet.size() > 1 && packet[1] == kBroadcastEid;
  TraceEvent event;
  event.kind = TraceKind::packet;
  event.time = world.now();
  event.actor = actor;
  event.label = kTraceLabel;
  event.text = text;
  event.bytes = packet;
  event.mctp = &facts;
  world.trace().emit(event);
}

void trace_fault(World& world, std::string_view label, std::string_view actor, std::string_view text, ByteView frame) {
  if (!world.trace().hears_wire()) return;
  TraceEvent event;
  event.kind = TraceKind::fault;
  event.time = world.now();
  event.actor = actor;
  event.label = label;
  event.text = text;
  event.bytes = frame;
  world.trace().emit(event);
}

}  // namespace fb::mctp
