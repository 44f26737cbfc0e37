// Connect: the size of the submission queue.
#include "conformance/runner/controller_bench.h"

namespace fb::conformance {

// SQSIZE is 0's based: 0 asks for a queue of one entry, below the minimum of two.
CONFORMANCE_CASE(connect_refuses_sqsize_zero, "fabrics.connect.sqsize.minimum", roles::controller,
                 reaches{"connect.sqsize.minimum"}) {
  auto& queue = bench.raw_queue();
  auto command = bench.connect_command();
  command.sqe.set(fabrics::connect_sqe::sqsize, 0);

  bench.step("Connect with SQSIZE 0");
  const auto reply = queue.send(command).wait();

  check.status(reply, one_of(sc::connect_invalid_parameters));
  check.equal("IPO", reply.as<fabrics::ConnectRefusal>().get(fabrics::connect_reply::ipo),
              fabrics::connect_sqe::sqsize.offset);
  check.equal("IATTR.IPS", reply.as<fabrics::ConnectRefusal>().get(fabrics::connect_reply::ips), false);
}

}  // namespace fb::conformance
