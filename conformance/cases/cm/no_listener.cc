// Connection requests that nobody waits for.
#include "conformance/runner/rdma_bench.h"

namespace fb::conformance {

CONFORMANCE_CASE(request_without_listener_is_rejected, "cm.req.no-listener", roles::responder, reaches{"cm.rej.sent"}) {
  const cm::Mad request = bench.peer().make_req({.port = 4421});

  bench.step("REQ for a port that nobody listens on");
  bench.peer().send_mad(request);
  const auto answer = bench.peer().wait_mad(1_s);

  check.require(answer.has_value(), "the request is answered", "silence");
  check.equal("the answer", View<cm::MadHeader>{answer->bytes()}.get(cm::mad::attribute), cm::Attribute::rej);
  const auto rej = cm::message_of<cm::Rej>(answer->bytes());
  check.equal("REJ reason", rej.get(cm::rej::reason), rdma::reject_reason::invalid_service_id);
}

}  // namespace fb::conformance
