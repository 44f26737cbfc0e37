// Misbehaviours of both sides of DH-HMAC-CHAP: the points at which the state machines ask departs(),
// each with what it breaks.
#pragma once

#include <functional>
#include <string_view>

#include "base/fault_point.h"

namespace fb::auth {

/// Whether a side misbehaves at a point of that name. Empty: never.
using Departs = std::function<bool(std::string_view point)>;

// clang-format off

// The controller's checks that may be left out ...
#define FB_AUTH_CONTROLLER_FAULT_POINTS(X)                                                               \
  X(negotiate_payload, "auth.negotiate.payload", "a truncated AUTH_Negotiate is taken")                \
  X(negotiate_sc_c, "auth.negotiate.sc_c", "any SC_C is taken")                                        \
  X(negotiate_protocol, "auth.negotiate.protocol", "any authentication protocol is taken")             \
  X(negotiate_hash, "auth.negotiate.hash", "SHA-256 is used although it was not offered")              \
  X(negotiate_group, "auth.negotiate.group", "the NULL group is used although it was not offered")     \
  X(negotiate_null_group, "auth.negotiate.null_group", "NULL may be offered for a secure channel")     \
  X(negotiate_first_only, "auth.negotiate.first_only", "only the first descriptor is looked at")       \
  X(sequence, "auth.sequence", "a message out of order is ignored")                                    \
  X(reply_payload, "auth.reply.payload", "a truncated Reply is refused as a failed response")          \
  X(reply_t_id, "auth.reply.t_id", "the T_ID of a Reply is not compared")                              \
  X(reply_hl, "auth.reply.hl", "the HL of a Reply is not compared")                                    \
  X(reply_cvalid, "auth.reply.cvalid", "any CVALID is taken")                                          \
  X(reply_dh_missing, "auth.reply.dh_missing", "a Reply without DH value is taken")                    \
  X(reply_dh_length, "auth.reply.dh_length", "a DH value of a wrong length is taken")                  \
  X(reply_dh_zero, "auth.reply.dh_zero", "a DH value of 0 is taken")                                   \
  X(reply_dh_one, "auth.reply.dh_one", "a DH value of 1 is taken")                                     \
  X(reply_dh_largest, "auth.reply.dh_largest", "a DH value of p - 1 is taken")                         \
  X(reply_c2_repeats_c1, "auth.reply.c2", "C2 may equal C1")                                           \
  X(reply_response, "auth.reply.response", "any R1 is taken")                                          \
  X(success2_t_id, "auth.success2.t_id", "the T_ID of a Success2 is not compared")                     \
  X(failure2_ignored, "auth.failure2.ignored", "AUTH_Failure2 is ignored")                             \
  /* ... and what it says. */                                                                          \
  X(challenge_t_id, "auth.challenge.t_id", "a Challenge carries another T_ID")                         \
  X(challenge_hl, "auth.challenge.hl", "HL of a Challenge is 16")                                      \
  X(challenge_hash, "auth.challenge.hash", "a Challenge names a hash that was not offered")            \
  X(challenge_group, "auth.challenge.group", "a Challenge names a group that was not offered")         \
  X(challenge_seqnum, "auth.challenge.seqnum", "S1 is 0")                                              \
  X(challenge_seqnum_stays, "auth.challenge.seqnum_stays", "S1 is the same in every transaction")      \
  X(challenge_repeats, "auth.challenge.repeats", "C1 is the same in every transaction")                \
  X(challenge_dh_one, "auth.challenge.dh_one", "the controller's DH value is 1")                       \
  X(challenge_dh_short, "auth.challenge.dh_short", "DHVLEN is not a multiple of 4")                    \
  X(challenge_dh_null, "auth.challenge.dh_null", "a Challenge with the NULL group has a DH value")     \
  X(challenge_reserved, "auth.challenge.reserved", "reserved bytes of a Challenge are set")            \
  X(success1_t_id, "auth.success1.t_id", "a Success1 carries another T_ID")                            \
  X(success1_hl, "auth.success1.hl", "HL of a Success1 is 16")                                         \
  X(success1_rvalid, "auth.success1.rvalid", "RVALID is 0 although R2 was asked for")                  \
  X(success1_rvalid_unasked, "auth.success1.unasked", "RVALID is 1 although nothing was asked")        \
  X(success1_response, "auth.success1.response", "R2 is computed as a host would")                     \
  X(success1_early, "auth.success1.early", "the controller does not wait for Success2")                \
  X(failure1_t_id, "auth.failure1.t_id", "an AUTH_Failure1 carries another T_ID")                      \
  X(failure1_rcode, "auth.failure1.rcode", "RCODE is 2")                                               \
  X(failure1_reason, "auth.failure1.reason", "RCODEEX is always 'authentication failed'")              \
  /* What the subsystem around the machine does. */                                                    \
  X(required_ignored, "auth.required.ignored", "commands are executed before authentication")          \
  X(required_io_ignored, "auth.required.io", "an I/O queue needs no authentication of its own")        \
  X(required_unannounced, "auth.required.unannounced", "AUTHREQ is 0 although authentication is due")  \
  X(required_reserved, "auth.required.reserved", "reserved bits of AUTHREQ are set")                   \
  X(failure_stays, "auth.failure.stays", "the connection stays after a failure")                       \
  X(timeout_never, "auth.timeout.never", "a transaction never times out")                              \
  X(receive_short, "auth.receive.short", "Authentication Receive returns half of a message")           \
  X(reply_response_prefix, "auth.reply.response_prefix", "16 bytes of R1 are compared")                \
  X(reply_t_id_low, "auth.reply.t_id_low", "the low byte of a T_ID is compared")                       \
  X(reply_shared_stripped, "auth.reply.shared_stripped", "leading zero bytes of g^xy are dropped")     \
  X(reply_c2_prefix, "auth.reply.c2_prefix", "C2 may not begin as C1 does")                            \
  X(key_sha_256, "auth.key.sha_256", "every secret is transformed with SHA-256")                       \
  X(challenge_again, "auth.challenge.again", "C1 and S1 stay the same when a host authenticates again") \
  X(timeout_again, "auth.timeout.again", "a second transaction that times out ends the connection")

#define FB_AUTH_HOST_FAULT_POINTS(X)                                                                     \
  /* Checks that may be left out ... */                                                                \
  X(host_takes_t_id, "host.auth.takes.t_id", "the T_ID of answers is not compared")                    \
  X(host_takes_hl, "host.auth.takes.hl", "the HL of a Challenge is not compared")                      \
  X(host_takes_hash, "host.auth.takes.hash", "a hash that was not offered is used")                    \
  X(host_takes_group, "host.auth.takes.group", "a group that was not offered is used")                 \
  X(host_takes_seqnum, "host.auth.takes.seqnum", "S1 = 0 is taken")                                    \
  X(host_takes_no_dh, "host.auth.takes.no_dh", "a Challenge without DH value is taken")                \
  X(host_takes_dh_zero, "host.auth.takes.dh_zero", "a DH value of 0 is taken")                         \
  X(host_takes_dh_one, "host.auth.takes.dh_one", "a DH value of 1 is taken")                           \
  X(host_takes_dh_largest, "host.auth.takes.dh_largest", "a DH value of p - 1 is taken")               \
  X(host_takes_message, "host.auth.takes.message", "a message out of order is taken for a success")    \
  X(host_takes_truncated, "host.auth.takes.truncated", "a truncated answer is asked for again")        \
  X(host_takes_success1_hl, "host.auth.takes.success1_hl", "the HL of a Success1 is not compared")     \
  X(host_takes_response, "host.auth.takes.response", "any R2 is taken")                                \
  X(host_takes_no_response, "host.auth.takes.no_response", "a Success1 without R2 is taken")           \
  /* ... and what it says. */                                                                          \
  X(host_negotiate_hash, "host.auth.negotiate.hash", "a reserved hash is offered")                     \
  X(host_negotiate_group, "host.auth.negotiate.group", "a reserved group is offered")                  \
  X(host_negotiate_empty, "host.auth.negotiate.empty", "HALEN is 0")                                   \
  X(host_negotiate_protocol, "host.auth.negotiate.protocol", "a reserved AuthID is offered")           \
  X(host_negotiate_napd, "host.auth.negotiate.napd", "NAPD counts a descriptor that is not there")     \
  X(host_negotiate_sc_c, "host.auth.negotiate.sc_c", "SC_C asks for a TLS PSK on every queue")         \
  X(host_negotiate_reserved, "host.auth.negotiate.reserved", "reserved bytes are set")                 \
  X(host_reply_t_id, "host.auth.reply.t_id", "a Reply carries another T_ID")                           \
  X(host_reply_hl, "host.auth.reply.hl", "HL of a Reply is 16")                                        \
  X(host_reply_response, "host.auth.reply.response", "R1 is computed as a controller would")           \
  X(host_reply_unasked, "host.auth.reply.unasked", "CVALID is 1 in a unidirectional transaction")      \
  X(host_reply_cvalid, "host.auth.reply.cvalid", "CVALID is 0 although R2 is wanted")                  \
  X(host_reply_seqnum, "host.auth.reply.seqnum", "S2 is 0 although R2 is wanted")                      \
  X(host_reply_c2, "host.auth.reply.c2", "C2 is C1")                                                   \
  X(host_reply_c2_repeats, "host.auth.reply.c2_repeats", "C2 is the same in every transaction")        \
  X(host_reply_dh_one, "host.auth.reply.dh_one", "the host's DH value is 1")                           \
  X(host_reply_dh_null, "host.auth.reply.dh_null", "a Reply with the NULL group has a DH value")       \
  X(host_success2_omitted, "host.auth.success2.omitted", "Success2 is not sent")                       \
  X(host_success2_t_id, "host.auth.success2.t_id", "a Success2 carries another T_ID")                  \
  X(host_failure2_omitted, "host.auth.failure2.omitted", "AUTH_Failure2 is not sent")                  \
  X(host_failure2_reason, "host.auth.failure2.reason", "RCODEEX is 2, whatever the reason")            \
  X(host_failure_ignored, "host.auth.failure.ignored", "the host goes on after a failure")             \
  X(host_failure1_ignored, "host.auth.failure1.ignored", "AUTH_Failure1 is taken for a success")       \
  X(host_send_secp, "host.auth.command.secp", "SECP is 0")                                             \
  X(host_send_spsp, "host.auth.command.spsp", "SPSP0 and SPSP1 are 0")                                 \
  X(host_send_length, "host.auth.command.length", "TL and AL are 0")                                   \
  X(host_impatient, "host.auth.impatient", "other commands are sent before authentication is done")    \
  X(host_omits_admin, "host.auth.admin.omitted", "the admin queue is used without authentication")     \
  X(host_omits_io, "host.auth.io.omitted", "I/O queues are used without authentication")               \
  X(host_takes_response_prefix, "host.auth.takes.response_prefix", "16 bytes of R2 are compared")      \
  X(host_takes_failure_late, "host.auth.takes.failure_late", "AUTH_Failure1 after a Reply is ignored") \
  X(host_refuses_leading_zero, "host.auth.refuses.leading_zero", "a DH value with a leading zero byte is refused")

namespace point {
#define FB_AUTH_POINT(id, name, breaks) inline constexpr std::string_view id = name;
FB_AUTH_CONTROLLER_FAULT_POINTS(FB_AUTH_POINT)
FB_AUTH_HOST_FAULT_POINTS(FB_AUTH_POINT)
#undef FB_AUTH_POINT
}  // namespace point

inline constexpr FaultPoint kAuthFaultPoints[] = {
#define FB_AUTH_POINT(id, name, breaks) {name, breaks},
FB_AUTH_CONTROLLER_FAULT_POINTS(FB_AUTH_POINT)
FB_AUTH_HOST_FAULT_POINTS(FB_AUTH_POINT)
#undef FB_AUTH_POINT
};

// clang-format on

}  // namespace fb::auth
