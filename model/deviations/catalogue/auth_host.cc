// Authentication by hosts: what they say wrong, and what they take from a controller.
#include "model/auth/fault_points.h"
#include "model/deviations/deviation.h"

namespace fb::deviations {

namespace at = auth::point;

namespace {

/// The queues of the first association authenticate, later ones do not.
class ForgetsAfterLoss final : public host::HostHooks {
 public:
  bool departs(std::string_view point) override { return connects_ > 2 && (point == at::host_omits_admin || point == at::host_omits_io); }
  void command_out(std::uint16_t, MutableBytes sqe, MutableBytes) override {
    if (sqe[0] == 0x7F && sqe[4] == 0x01) ++connects_;
  }

 private:
  unsigned connects_ = 0;
};

}  // namespace

#define HOST(name, requirement, what, point) DEVIATION(name, requirement, Product::host, what, Departs{point})

HOST(host_auth_ignored, "auth.host.demand.no-secret", "goes on without authentication", "host.connect.authreq.ignored");
HOST(host_auth_impatient, "auth.host.demand.first", "sends other commands meanwhile", at::host_impatient);
HOST(host_auth_not_on_admin, "auth.host.demand.admin-queue", "does not authenticate the admin queue", at::host_omits_admin);
HOST(host_auth_not_on_io, "auth.host.demand.io-queue", "does not authenticate I/O queues", at::host_omits_io);
HOST(host_auth_claims_tls, "auth.host.demand.secure-channel", "asks for a key for TLS that it does not speak",
     "host.connect.authreq.ignored");
DEVIATION(host_auth_forgotten_after_loss, "auth.host.demand.reconnect", Product::host, "does not authenticate again after a loss",
          hooks<ForgetsAfterLoss>());
HOST(host_auth_secp, "auth.host.command.secp", "names no security protocol", at::host_send_secp);
HOST(host_auth_spsp, "auth.host.command.spsp", "leaves SPSP0 and SPSP1 at 0", at::host_send_spsp);
HOST(host_auth_length, "auth.host.command.length", "leaves TL and AL at 0", at::host_send_length);
HOST(host_auth_reserved_hash, "auth.host.negotiate.hashes", "offers a reserved hash", at::host_negotiate_hash);
HOST(host_auth_no_hash, "auth.host.negotiate.hashes", "offers no hash", at::host_negotiate_empty);
HOST(host_auth_reserved_group, "auth.host.negotiate.groups", "offers a reserved group", at::host_negotiate_group);
HOST(host_auth_reserved_protocol, "auth.host.negotiate.protocol", "offers a reserved protocol", at::host_negotiate_protocol);
HOST(host_auth_napd, "auth.host.negotiate.descriptors", "counts a descriptor too many", at::host_negotiate_napd);
HOST(host_auth_sc_c, "auth.host.negotiate.sc-c", "asks for a secure channel everywhere", at::host_negotiate_sc_c);
HOST(host_auth_reserved_bytes, "auth.host.negotiate.reserved", "sets reserved bytes", at::host_negotiate_reserved);
HOST(host_auth_reply_t_id, "auth.host.reply.t-id", "replies with another T_ID", at::host_reply_t_id);
HOST(host_auth_reply_hl, "auth.host.reply.hl", "replies with a wrong HL", at::host_reply_hl);
HOST(host_auth_reply_response, "auth.host.reply.response", "computes R1 as a controller computes R2", at::host_reply_response);
HOST(host_auth_reply_response_dh, "auth.host.reply.response-dh", "computes R1 as a controller computes R2, with a group",
     at::host_reply_response);
HOST(host_auth_reply_unasked, "auth.host.reply.cvalid", "sends a challenge to which it wants no response", at::host_reply_unasked);
HOST(host_auth_reply_dh_null, "auth.host.reply.dh-null", "sends a DH value with the NULL group", at::host_reply_dh_null);
HOST(host_auth_reply_dh_one, "auth.host.reply.dh-value", "sends 1 as its DH value", at::host_reply_dh_one);
HOST(host_auth_mutual_cvalid, "auth.host.mutual.cvalid", "forgets its challenge", at::host_reply_cvalid);
HOST(host_auth_mutual_seqnum, "auth.host.mutual.seqnum", "sends S2 = 0", at::host_reply_seqnum);
HOST(host_auth_mutual_c2, "auth.host.mutual.c2-differs", "sends C1 back as C2", at::host_reply_c2);
HOST(host_auth_mutual_c2_repeats, "auth.host.mutual.c2-fresh", "uses one challenge for ever", at::host_reply_c2_repeats);
HOST(host_auth_mutual_silent, "auth.host.mutual.success2", "does not send Success2", at::host_success2_omitted);
HOST(host_auth_mutual_t_id, "auth.host.mutual.success2-t-id", "sends a Success2 with another T_ID", at::host_success2_t_id);

HOST(host_auth_takes_t_id, "auth.host.refuses.t-id", "does not compare T_ID", at::host_takes_t_id);
HOST(host_auth_takes_hl, "auth.host.refuses.hl", "does not look at HL of the Challenge", at::host_takes_hl);
HOST(host_auth_takes_hash, "auth.host.refuses.hash", "uses a hash that it did not offer", at::host_takes_hash);
HOST(host_auth_takes_group, "auth.host.refuses.group", "uses a group that it did not offer", at::host_takes_group);
HOST(host_auth_takes_seqnum, "auth.host.refuses.seqnum", "takes S1 = 0", at::host_takes_seqnum);
HOST(host_auth_takes_no_dh, "auth.host.refuses.dh-missing", "takes a Challenge without DH value", at::host_takes_no_dh);
HOST(host_auth_takes_dh_zero, "auth.host.refuses.dh-zero", "takes a DH value of 0", at::host_takes_dh_zero);
HOST(host_auth_takes_dh_one, "auth.host.refuses.dh-one", "takes a DH value of 1", at::host_takes_dh_one);
HOST(host_auth_takes_dh_largest, "auth.host.refuses.dh-largest", "takes a DH value of p - 1", at::host_takes_dh_largest);
HOST(host_auth_takes_truncated, "auth.host.refuses.truncated", "takes a truncated Challenge for good", at::host_takes_truncated);
HOST(host_auth_takes_order, "auth.host.refuses.order", "takes any message for a success", at::host_takes_message);
HOST(host_auth_takes_success1_hl, "auth.host.refuses.success1-hl", "does not look at HL of Success1", at::host_takes_success1_hl);
HOST(host_auth_takes_response, "auth.host.refuses.response", "takes any R2", at::host_takes_response);
HOST(host_auth_takes_silence, "auth.host.refuses.no-response", "takes a Success1 without R2", at::host_takes_no_response);
HOST(host_auth_other_reason, "auth.host.refuses.response", "gives a wrong reason", at::host_failure2_reason);
HOST(host_auth_fails_silently, "auth.host.failure.failure2", "does not send AUTH_Failure2", at::host_failure2_omitted);
HOST(host_auth_goes_on, "auth.host.failure.disconnect", "goes on after its own AUTH_Failure2", at::host_failure_ignored);
HOST(host_auth_ignores_failure1, "auth.host.failure.failure1", "takes AUTH_Failure1 for a success", at::host_failure1_ignored);

#undef HOST

}  // namespace fb::deviations
