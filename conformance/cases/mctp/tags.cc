// Message tags and their owner: what requests and answers carry.
#include <fmt/format.h>

#include "conformance/cases/mctp/exchange.h"

namespace fb::conformance {

CONFORMANCE_CASE(answers_carry_the_tag_of_their_request, "mctp.tag.echoed", roles::endpoint, needs(packets), as_found) {
  const Bytes requests[] = {kAnyRequest, long_request(bench, 64)};
  for (const Bytes& request : requests) {
    for (std::uint8_t tag = 0; tag < 8; ++tag) {
      for (const SeenPacket& seen : packets_of_answer(bench, check, request, 1, {.tag = tag})) {
        check.equal(fmt::format("tag of the answer to tag {}", tag), seen.packet.tag, tag);
      }
    }
  }
}

CONFORMANCE_CASE(answers_do_not_own_their_tag, "mctp.tag.owner", roles::endpoint, needs(packets), as_found) {
  for (const Bytes& request : {kAnyRequest, long_request(bench)}) {
    for (const SeenPacket& seen : packets_of_answer(bench, check, request, 1, {.tag = 3})) {
      check.equal("TO of a " + seen.describe(), seen.packet.owner, false);
    }
  }
}

CONFORMANCE_CASE(all_packets_of_an_answer_name_the_same_exchange, "mctp.tag.constant", roles::endpoint, needs(packets)) {
  for (const std::uint8_t tag : {std::uint8_t{0}, std::uint8_t{5}}) {
    for (const SeenPacket& seen : packets_of_answer(bench, check, long_request(bench), 3, {.tag = tag})) {
      check.equal("tag of a " + seen.describe(), seen.packet.tag, tag);
      check.equal("TO of a " + seen.describe(), seen.packet.owner, false);
      check.equal("source EID of a " + seen.describe(), seen.packet.source, bench.eid());
      check.equal("destination EID of a " + seen.describe(), seen.packet.destination, bench.peer().eid());
      check.that(seen.from == bench.address(), "all packets come from the product's address", "another address");
    }
  }
}

CONFORMANCE_CASE(who_does_not_own_its_tag_is_not_answered, "mctp.tag.unexpected", roles::endpoint, needs(packets)) {
  for (std::uint8_t tag = 0; tag < 8; ++tag) {
    bench.peer().send_message(kAnyRequest, {.tag = tag, .owner = false});
    bench.peer().send_message(long_request(bench, 64), {.tag = tag, .owner = false});
  }
  silence(bench, check, "answer to messages without the tag owner bit");
  serves(bench, check, "a good message afterwards");
}

}  // namespace fb::conformance
