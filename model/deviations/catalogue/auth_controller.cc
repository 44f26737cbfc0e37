// Authentication by controllers: what they let through, and what they get wrong.
#include "model/auth/fault_points.h"
#include "model/auth/formulas.h"
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "wire/fabrics/auth.h"

namespace fb::deviations {

namespace at = auth::point;

namespace {

bool sends_auth(const CommandContext& command) { return command.sqe[0] == 0x7F && command.sqe[4] == 0x05; }

/// An AUTH_Negotiate that offers one hash and one group: the policy of a controller that lacks `Id`
/// makes it one that offers nothing.
template <std::size_t CountAt, std::size_t ListAt, std::uint8_t Id>
void lacks(const CommandContext& command, MutableBytes data) {
  if (!sends_auth(command) || data.size() < 72 || data[0] != 0 || data[1] != 0) return;
  if (data[8 + CountAt] == 1 && data[8 + ListAt] == Id) data[8 + ListAt] = 0x55;
}

/// After authentication too.
std::optional<nvme::Status> never_satisfied(const CommandContext& command) {
  const bool property_get = command.sqe[0] == 0x7F && command.sqe[4] == 0x04;
  if (!property_get) return std::nullopt;
  return nvme::sc::authentication_required;
}

/// The second transaction on a queue has no room.
class NoSecondTime final : public subsystem::SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (!sends_auth(command) || ++sends_ <= 2) return std::nullopt;
    return nvme::sc::internal_error;
  }

 private:
  unsigned sends_ = 0;
};

/// Admin commands are executed at any time, Fabrics commands are not.
bool lets_admin_commands_pass(const CommandContext& command, Refusal& refusal) {
  const bool due = refusal.check == "auth.required" || refusal.check == "admin.controller.ready";
  return !due || command.sqe[0] == 0x7F;
}

}  // namespace

#define CONTROLLER(name, requirement, what, point) DEVIATION(name, requirement, Product::controller, what, Departs{point})

CONTROLLER(auth_demands_silently, "auth.controller.demand.announced", "refuses commands without having said why", at::required_unannounced);
CONTROLLER(auth_announces_in_vain, "auth.controller.demand.announced", "demands authentication and executes commands without it",
           at::required_ignored);
CONTROLLER(auth_sets_reserved_bits, "auth.controller.demand.reserved", "sets reserved bits of AUTHREQ", at::required_reserved);
CONTROLLER(auth_optional_for_fabrics, "auth.controller.demand.fabrics-command", "executes Property Get and Set before authentication",
           at::required_ignored);
DEVIATION(auth_optional_for_admin, "auth.controller.demand.admin-command", Product::controller,
          "executes admin commands before authentication", hooks<Refusing, &lets_admin_commands_pass>());
CONTROLLER(auth_inherited_by_io_queues, "auth.controller.demand.io-queue", "takes I/O queues for authenticated with the admin queue",
           at::required_io_ignored);
DEVIATION(auth_any_secp, "auth.controller.command.secp", Product::controller, "takes any security protocol", Tolerate{"auth.secp"});
DEVIATION(auth_any_spsp, "auth.controller.command.spsp", Product::controller, "does not look at SPSP0 and SPSP1", Tolerate{"auth.spsp"});
DEVIATION(auth_of_no_bytes, "auth.controller.command.length", Product::controller, "takes Authentication Send of no bytes",
          Tolerate{"auth.length"});
CONTROLLER(auth_half_a_message, "auth.controller.command.receive", "returns half of each message", at::receive_short);
DEVIATION(auth_host_of_the_subsystems_name, "auth.controller.connect.same-nqn", Product::controller, "lets a host of its own name connect",
          Tolerate{"connect.hostnqn.subsystem"});
DEVIATION(auth_never_satisfied, "auth.controller.success.commands", Product::controller, "goes on refusing commands after authentication",
          hooks<Answering, &never_satisfied>());
DEVIATION(auth_never_satisfied_both_ways, "auth.controller.mutual.commands", Product::controller,
          "goes on refusing commands after bidirectional authentication", hooks<Answering, &never_satisfied>());
CONTROLLER(auth_success2_t_id_unchecked, "auth.controller.mutual.success2-t-id", "takes a Success2 of another transaction",
           at::success2_t_id);
CONTROLLER(auth_waits_for_ever, "auth.controller.timeout.initial", "waits without limit for the rest of a transaction", at::timeout_never);
DEVIATION(auth_once_only, "auth.controller.again.accepted", Product::controller, "answers a second transaction with an internal error",
          hooks<NoSecondTime>());
CONTROLLER(auth_again_failure_stays, "auth.controller.again.failure", "stays connected after a failed second transaction",
           at::failure_stays);

// ---- Negotiate ----

CONTROLLER(auth_any_hash, "auth.controller.negotiate.hash", "goes on with a hash that was not offered", at::negotiate_hash);
CONTROLLER(auth_one_reason_for_all, "auth.controller.negotiate.hash", "says 'authentication failed' whatever the reason is",
           at::failure1_reason);
CONTROLLER(auth_any_group, "auth.controller.negotiate.group", "goes on with a group that was not offered", at::negotiate_group);
CONTROLLER(auth_any_protocol, "auth.controller.negotiate.protocol", "goes on with a protocol that was not offered", at::negotiate_protocol);
CONTROLLER(auth_any_sc_c, "auth.controller.negotiate.secure-channel-reserved", "does not look at SC_C", at::negotiate_sc_c);
CONTROLLER(auth_any_sc_c_on_io, "auth.controller.negotiate.secure-channel-io", "does not look at SC_C on I/O queues", at::negotiate_sc_c);
CONTROLLER(auth_null_for_tls, "auth.controller.negotiate.secure-channel-null", "takes the NULL group for a secure channel",
           at::negotiate_null_group);
CONTROLLER(auth_truncated_negotiate, "auth.controller.negotiate.truncated", "goes on with a truncated AUTH_Negotiate",
           at::negotiate_payload);
CONTROLLER(auth_overlong_list, "auth.controller.negotiate.list-length", "goes on with a list that is too long", at::negotiate_payload);
CONTROLLER(auth_first_descriptor_only, "auth.controller.negotiate.second-descriptor", "looks at the first descriptor alone",
           at::negotiate_first_only);
DEVIATION(auth_lacks_sha_256, "auth.controller.support.sha-256", Product::controller, "does not know SHA-256",
          hooks<AlteringDataIn, &lacks<2, 4, 1>>());
DEVIATION(auth_lacks_ffdhe2048, "auth.controller.support.ffdhe2048", Product::controller, "does not know the group of 2048 bits",
          hooks<AlteringDataIn, &lacks<3, 34, 1>>());
DEVIATION(auth_lacks_ffdhe3072, "auth.controller.support.ffdhe3072", Product::controller, "does not know the group of 3072 bits",
          hooks<AlteringDataIn, &lacks<3, 34, 2>>());

// ---- Challenge ----

CONTROLLER(auth_chooses_other_hash, "auth.controller.challenge.hash", "chooses a hash that was not offered", at::challenge_hash);
CONTROLLER(auth_chooses_other_group, "auth.controller.challenge.group", "chooses a group that was not offered", at::challenge_group);
CONTROLLER(auth_challenge_t_id, "auth.controller.challenge.t-id", "sends a Challenge with another T_ID", at::challenge_t_id);
CONTROLLER(auth_challenge_hl, "auth.controller.challenge.hl", "sends a Challenge with a wrong HL", at::challenge_hl);
CONTROLLER(auth_challenge_seqnum, "auth.controller.challenge.seqnum", "sends S1 = 0", at::challenge_seqnum);
CONTROLLER(auth_challenge_seqnum_stays, "auth.controller.challenge.seqnum-moves", "uses one sequence number for ever",
           at::challenge_seqnum_stays);
CONTROLLER(auth_challenge_repeats, "auth.controller.challenge.fresh", "uses one challenge for ever", at::challenge_repeats);
CONTROLLER(auth_challenge_dh_odd, "auth.controller.challenge.dh-length", "sends a DH value of odd length", at::challenge_dh_short);
CONTROLLER(auth_challenge_dh_null, "auth.controller.challenge.dh-null", "sends a DH value with the NULL group", at::challenge_dh_null);
CONTROLLER(auth_challenge_dh_one, "auth.controller.challenge.dh-value", "sends 1 as its DH value", at::challenge_dh_one);
CONTROLLER(auth_challenge_reserved, "auth.controller.challenge.reserved", "sets reserved bytes of the Challenge", at::challenge_reserved);

// ---- Reply ----

CONTROLLER(auth_any_response, "auth.controller.reply.response", "takes any R1", at::reply_response);
CONTROLLER(auth_any_response_dh, "auth.controller.reply.response-dh", "takes any R1 with a DH group", at::reply_response);
CONTROLLER(auth_reply_hl, "auth.controller.reply.hl", "does not look at HL of the Reply", at::reply_hl);
CONTROLLER(auth_reply_t_id, "auth.controller.reply.t-id", "does not look at T_ID of the Reply", at::reply_t_id);
CONTROLLER(auth_reply_truncated, "auth.controller.reply.truncated", "takes a truncated Reply for a wrong one", at::reply_payload);
CONTROLLER(auth_reply_cvalid, "auth.controller.reply.cvalid", "takes any CVALID", at::reply_cvalid);
CONTROLLER(auth_reply_dh_missing, "auth.controller.reply.dh-missing", "takes a Reply without DH value", at::reply_dh_missing);
CONTROLLER(auth_reply_dh_length, "auth.controller.reply.dh-length", "takes a DH value of odd length", at::reply_dh_length);
CONTROLLER(auth_reply_dh_zero, "auth.controller.reply.dh-zero", "takes a DH value of 0", at::reply_dh_zero);
CONTROLLER(auth_reply_dh_one, "auth.controller.reply.dh-one", "takes a DH value of 1", at::reply_dh_one);
CONTROLLER(auth_reply_dh_largest, "auth.controller.reply.dh-largest", "takes a DH value of p - 1", at::reply_dh_largest);
CONTROLLER(auth_reply_own_challenge, "auth.controller.reply.c2-equals-c1", "responds to its own challenge", at::reply_c2_repeats_c1);
CONTROLLER(auth_any_beginning, "auth.controller.sequence.reply-first", "ignores a Reply without transaction", at::sequence);
CONTROLLER(auth_any_order, "auth.controller.sequence.success2-early", "ignores a message that is not the next one", at::sequence);
CONTROLLER(auth_any_message, "auth.controller.sequence.unknown", "ignores unknown messages", at::sequence);

// ---- failure and success ----

CONTROLLER(auth_failure_t_id, "auth.controller.failure.t-id", "sends AUTH_Failure1 with another T_ID", at::failure1_t_id);
CONTROLLER(auth_failure_rcode, "auth.controller.failure.rcode", "sends a reserved RCODE", at::failure1_rcode);
CONTROLLER(auth_failure_stays, "auth.controller.failure.disconnect", "stays connected after AUTH_Failure1", at::failure_stays);
CONTROLLER(auth_failure2_ignored, "auth.controller.failure.failure2", "ignores AUTH_Failure2", at::failure2_ignored);
CONTROLLER(auth_success_t_id, "auth.controller.success.t-id", "sends a Success1 with another T_ID", at::success1_t_id);
CONTROLLER(auth_success_hl, "auth.controller.success.hl", "sends a Success1 with a wrong HL", at::success1_hl);
CONTROLLER(auth_success_unasked, "auth.controller.success.rvalid", "sets RVALID although nobody asked", at::success1_rvalid_unasked);
CONTROLLER(auth_success_mute, "auth.controller.mutual.rvalid", "clears RVALID although R2 was asked for", at::success1_rvalid);
CONTROLLER(auth_success_response, "auth.controller.mutual.response", "computes R2 as a host computes R1", at::success1_response);
CONTROLLER(auth_success_early, "auth.controller.mutual.success2", "does not wait for Success2", at::success1_early);
CONTROLLER(auth_success_insists, "auth.controller.mutual.failure2", "stays connected although its R2 was refused", at::failure2_ignored);

#undef CONTROLLER

}  // namespace fb::deviations
