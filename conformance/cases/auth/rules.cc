// The end of a bidirectional transaction.
#include "conformance/cases/auth/common.h"

namespace fb::conformance {

using namespace auth_cases;

CONFORMANCE_CASE(auth_refuses_success2_of_another_transaction, "auth.controller.mutual.success2-t-id", roles::controller,
                 authenticates{&demanding}, needs{&mutual}, reaches{"subsystem.auth.failed"}) {
  Exchange exchange(bench, check, connected_queue(bench));
  exchange.get_challenge();
  exchange.make_reply(true);
  exchange.get_success1();
  const auto other = static_cast<std::uint16_t>(exchange.negotiate.t_id + 1);
  exchange.refused(encoded(AuthSuccess2{other}), {AuthFailure::incorrect_payload, AuthFailure::incorrect_message});
}

}  // namespace fb::conformance
