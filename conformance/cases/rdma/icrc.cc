// The invariant CRC.
#include "conformance/runner/rdma_bench.h"

namespace fb::conformance {

CONFORMANCE_CASE(packet_with_bad_icrc_changes_nothing, "rdma.icrc.bad-dropped", roles::responder, sends_malformed) {
  const RcConnection connection = bench.connect_to_product();
  const Bytes payload = {1, 2, 3, 4, 5};
  const RocePacket packet = connection.request(roce::Opcode::send_only, 0, payload);

  bench.step("SEND with a wrong ICRC");
  bench.peer().send(packet, {.good_icrc = false});
  check.that(bench.peer().silent_for(1_s), "no answer to a packet with a wrong ICRC", "an answer");
  check.that(connection.queue->quiet_for(1_ms), "the packet is not executed", "a receive completion");

  bench.step("the same packet with the right ICRC");
  bench.peer().send(packet);
  const auto ack = bench.peer().wait_packet(roce::Opcode::acknowledge, 1_s);
  check.require(ack.has_value(), "the right packet is acknowledged", "silence");
  check.equal("PSN of the acknowledgement", ack->psn, connection.facts.send_psn);
  const auto completion = connection.queue->wait_receive(1_s);
  check.require(completion.has_value(), "the right packet completes a receive");
  check.equal("bytes received", completion->byte_length, payload.size());
  check.bytes("data received", bench.product().received(completion->id, payload.size()), payload);
}

}  // namespace fb::conformance
