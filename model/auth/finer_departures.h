// More of what departures.h lists: what is compared in part, and what holds for one transaction but not for the next.
#pragma once

#include "model/auth/departures.h"

namespace fb::auth {

// clang-format off
#define FB_AUTH_FINER_DEPARTURES(X)                                                                    \
  X(reply_response_prefix, "auth.reply.response_prefix", "16 bytes of R1 are compared")                \
  X(reply_t_id_low, "auth.reply.t_id_low", "the low byte of a T_ID is compared")                       \
  X(reply_shared_stripped, "auth.reply.shared_stripped", "leading zero bytes of g^xy are dropped")     \
  X(reply_c2_prefix, "auth.reply.c2_prefix", "C2 may not begin as C1 does")                            \
  X(key_sha_256, "auth.key.sha_256", "every secret is transformed with SHA-256")                       \
  X(challenge_again, "auth.challenge.again", "C1 and S1 stay the same when a host authenticates again")  \
  X(timeout_again, "auth.timeout.again", "a second transaction that times out ends the connection")    \
  X(host_takes_response_prefix, "host.auth.takes.response_prefix", "16 bytes of R2 are compared")      \
  X(host_takes_failure_late, "host.auth.takes.failure_late", "AUTH_Failure1 after a Reply is ignored") \
  X(host_refuses_leading_zero, "host.auth.refuses.leading_zero", "a DH value with a leading zero byte is refused")

namespace point {
#define FB_AUTH_POINT(id, name, breaks) inline constexpr std::string_view id = name;
FB_AUTH_FINER_DEPARTURES(FB_AUTH_POINT)
#undef FB_AUTH_POINT
}  // namespace point

inline constexpr DeparturePoint kFinerAuthDeparturePoints[] = {
#define FB_AUTH_POINT(id, name, breaks) {name, breaks},
FB_AUTH_FINER_DEPARTURES(FB_AUTH_POINT)
#undef FB_AUTH_POINT
};
// clang-format on

}  // namespace fb::auth
