// Bridges that tell their tables, units and neighbours wrongly.
#include "model/deviations/catalogue/mctp_shapes.h"
#include "model/deviations/deviation.h"

namespace fb::deviations {
namespace {

using mctp::control::Command;

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

BRIDGE(bridge_tells_one_page, "mctp.bridge.routing.whole", "the routing table ends with its first answer",
       hooks<ControlAnswers<&ends_with_the_first_page>>());
BRIDGE(bridge_skips_between_pages, "mctp.bridge.routing.whole", "an entry is lost between two answers of the routing table",
       hooks<ControlAnswers<&skips_an_entry>>());
BRIDGE(bridge_tells_units_low_byte_first, "mctp.bridge.hop.unit", "the units of Query Hop are sent low byte first",
       hooks<ControlAnswers<&units_low_byte_first>>());
BRIDGE(bridge_knows_no_uuid, "mctp.bridge.uuid", "no UUID is known", hooks<ControlAnswers<&nobody_has_it>>());

}  // namespace fb::deviations
