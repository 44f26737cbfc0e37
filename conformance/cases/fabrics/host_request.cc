// What a host says in the connection requests of its queues.
#include "conformance/runner/host_bench.h"
#include "wire/fabrics/rdma_private_data.h"

namespace fb::conformance {

CONFORMANCE_CASE(host_request_names_its_io_queue, "fabrics.host.request.io-queue", roles::host, over_rdma) {
  // A controller that looks away: what the host says is judged here, not there.
  bench.script.refuses = [](const CommandContext&, subsystem::Refusal&) { return false; };
  bench.product().connect({.io_queues = 3, .queue_entries = 64}).wait_for(30_s);
  check.precondition(bench.requests().size() == 4, "four connection requests, for the admin queue and three I/O queues");

  for (std::uint16_t qid = 1; qid <= 3; ++qid) {
    const auto connects = bench.commands(qid);
    check.precondition(!connects.empty() && connects.front()->fctype() == 0x01, "the first command of an I/O queue is Connect");
    const auto request = View<fabrics::RdmaRequest>::over(bench.requests()[qid]);
    check.require(request.has_value(), "32 bytes of private data", "fewer");
    check.equal("QID in the request", request->get(fabrics::rdma_request::qid), qid);
    check.equal("HSQSIZE in the request", request->get(fabrics::rdma_request::hsqsize).raw(),
                connects.front()->as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::sqsize).raw());
  }
}

}  // namespace fb::conformance
