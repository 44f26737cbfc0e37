// Bridges that look into messages, and tables that they tell wrongly.
#include <array>

#include "model/deviations/catalogue/mctp_shapes.h"
#include "model/deviations/deviation.h"

namespace fb::deviations {
namespace {

using mctp::control::Command;

/// What belongs to no message that has begun is dropped as it comes in.
class KeepsMessagesAlone final : public mctp::EndpointHooks {
 public:
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override {
    constexpr std::uint8_t kStart = 0x80, kEnd = 0x40, kOwnerAndTag = 0x0F;
    if (packet.size() < mctp::kHeaderSize) return;
    bool& begun = begun_[packet[3] & kOwnerAndTag];
    const bool start = (packet[3] & kStart) != 0;
    if (!start && !begun) return packet.clear();
    begun = (packet[3] & kEnd) == 0;
  }

 private:
  std::array<bool, 16> begun_ = {};
};

/// Answers of the control protocol that nobody asked for end here.
void consumes_control(Bytes& packet) {
  const bool response = packet.size() > 6 && (packet[3] & 0x88) == 0x80 && (packet[4] & 0x7F) == 0 && (packet[5] & 0x1F) == 0x11;
  if (response) packet.clear();
}
class ConsumesControl final : public mctp::EndpointHooks {
 public:
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override { consumes_control(packet); }
};

void ends_with_the_first_page(ByteView request, Bytes& answer) {
  if (shape::is(request, Command::get_routing_table) && shape::succeeded(answer)) answer[4] = mctp::control::kHandleEnd;
}
void skips_an_entry(ByteView request, Bytes& answer) {
  const bool more = shape::is(request, Command::get_routing_table) && shape::succeeded(answer) && answer[4] != mctp::control::kHandleEnd;
  if (more) ++answer[4];
}
void units_low_byte_first(ByteView request, Bytes& answer) {
  if (shape::is(request, Command::query_hop) && shape::succeeded(answer)) answer[6] = answer[8] = 0x01;
}
void nobody_has_it(ByteView request, Bytes& answer) {
  if (!shape::is(request, Command::resolve_uuid) || !shape::succeeded(answer)) return;
  answer.resize(6);
  answer[5] = 0;
}

}  // namespace

#define BRIDGE(name, requirement, what, ...) DEVIATION(name, requirement, Product::bus, what, __VA_ARGS__)

BRIDGE(bridge_puts_messages_together, "mctp.bridge.packets", "a bridge drops packets that belong to no message",
       hooks<KeepsMessagesAlone>());
BRIDGE(bridge_consumes_control_messages, "mctp.bridge.packets", "a bridge takes control responses for other endpoints",
       hooks<ConsumesControl>());
BRIDGE(bridge_tells_one_page, "mctp.bridge.routing.whole", "the routing table ends with its first answer",
       hooks<ControlAnswers<&ends_with_the_first_page>>());
BRIDGE(bridge_skips_between_pages, "mctp.bridge.routing.whole", "an entry is lost between two answers of the routing table",
       hooks<ControlAnswers<&skips_an_entry>>());
BRIDGE(bridge_tells_units_low_byte_first, "mctp.bridge.hop.unit", "the units of Query Hop are sent low byte first",
       hooks<ControlAnswers<&units_low_byte_first>>());
BRIDGE(bridge_knows_no_uuid, "mctp.bridge.uuid", "no UUID is known", hooks<ControlAnswers<&nobody_has_it>>());

}  // namespace fb::deviations
