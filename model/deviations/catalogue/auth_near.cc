// Authentication that is right in most cases: with the first queue, hash or transaction, or of values that differ in their first
// bytes. Controllers and hosts, and keys of TLS.
#include <algorithm>
#include <array>

#include "model/auth/fault_points.h"
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"

namespace fb::deviations {

namespace at = auth::point;

namespace {

bool sends_auth(const CommandContext& command) { return command.sqe[0] == 0x7F && command.sqe[4] == 0x05; }

/// The connection ends some Keep Alives after the queue has authenticated, as if a timer went on.
class EndsLater final : public subsystem::SubsystemHooks {
 public:
  Answer completion(const CommandContext& command, MutableBytes) override {
    const bool keep_alive = command.qid == 0 && command.sqe[0] == 0x18;
    return keep_alive && ++keep_alives_ > 3 ? Answer::disconnect_instead : Answer::send;
  }

 private:
  unsigned keep_alives_ = 0;
};

/// An R1 of 64 bytes that is wrong by the time it is compared.
void spoils_long_responses(const CommandContext& command, MutableBytes data) {
  if (sends_auth(command) && data.size() >= 80 && data[0] == 1 && data[1] == 2 && data[6] == 64) data[16 + 63] ^= 1;
}

/// The lists of an AUTH_Negotiate after 16 identifiers.
void looks_at_sixteen(const CommandContext& command, MutableBytes data) {
  if (!sends_auth(command) || data.size() < 72 || data[0] != 0 || data[1] != 0) return;
  for (const std::size_t count_at : {std::size_t{8 + 2}, std::size_t{8 + 3}}) data[count_at] = std::min<std::uint8_t>(data[count_at], 16);
}

/// I/O queues after the first are taken for authenticated.
bool asks_the_first_io_queue(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "auth.required" || command.qid < 2;
}

/// A queue is open as soon as a Challenge has gone out on it.
class OpensWithChallenge final : public subsystem::SubsystemHooks {
 public:
  bool refuses(const CommandContext& command, Refusal& refusal) override {
    return refusal.check != "auth.required" || !open_[command.qid % open_.size()];
  }
  void data_out(const CommandContext& command, MutableBytes data) override {
    const bool received = command.sqe[0] == 0x7F && command.sqe[4] == 0x06;
    if (received && data.size() > 2 && data[0] == 1 && data[1] == 1) open_[command.qid % open_.size()] = true;
  }

 private:
  std::array<bool, 64> open_ = {};
};

/// A host that looks at what it sends: AUTH_Negotiate and Reply messages.
class OwnMessages : public host::HostHooks {
 protected:
  static bool is_message(ByteView sqe, ByteView data, std::uint8_t type, std::uint8_t id) {
    return sqe[0] == 0x7F && sqe[4] == 0x05 && data.size() >= 8 && data[0] == type && data[1] == id;
  }
};

/// R1 of this many bytes is wrong.
template <std::uint8_t Length>
class SpoilsResponses final : public OwnMessages {
 public:
  void command_out(std::uint16_t, MutableBytes sqe, MutableBytes data) override {
    if (is_message(sqe, data, 1, 2) && data[6] == Length) data[16 + Length - 1] ^= 1;
  }
};

/// From the second time on that each queue authenticates.
class RepeatsChallenges final : public OwnMessages {
 public:
  bool departs(std::string_view point) override { return transactions_ > 3 && point == at::host_reply_c2_repeats; }
  void command_out(std::uint16_t, MutableBytes sqe, MutableBytes data) override { transactions_ += is_message(sqe, data, 0, 0); }

 private:
  unsigned transactions_ = 0;
};

/// The first two I/O queues authenticate.
class OmitsLaterQueues final : public host::HostHooks {
 public:
  bool departs(std::string_view point) override { return point == at::host_omits_io && ++asked_ > 2; }

 private:
  unsigned asked_ = 0;
};

}  // namespace

#define CONTROLLER(name, requirement, what, effect) DEVIATION(name, requirement, Product::controller, what, effect)
#define HOST(name, requirement, what, point) DEVIATION(name, requirement, Product::host, what, Departs{point})

DEVIATION(auth_demands_of_first_io_queue, "auth.controller.demand.every-queue", Product::controller,
          "takes I/O queues after the first for authenticated", hooks<Refusing, &asks_the_first_io_queue>());
DEVIATION(auth_opens_with_challenge, "auth.controller.demand.meanwhile", Product::controller,
          "executes commands once it has sent its Challenge", hooks<OpensWithChallenge>());
DEVIATION(auth_fails_with_sha_512, "auth.controller.support.every", Product::controller, "does not verify responses of SHA-512 rightly",
          hooks<AlteringDataIn, &spoils_long_responses>());
CONTROLLER(auth_responds_as_a_host, "auth.controller.support.every", "computes R2 as a host computes R1", Departs{at::success1_response});
DEVIATION(auth_looks_at_sixteen, "auth.controller.negotiate.positions", Product::controller, "looks at 16 identifiers of a list",
          hooks<AlteringDataIn, &looks_at_sixteen>());
CONTROLLER(auth_transforms_plain_secrets, "auth.controller.key.plain", "transforms a secret without a hash", Departs{at::key_sha_256});
CONTROLLER(auth_transforms_with_sha_256, "auth.controller.key.transform", "transforms every secret with SHA-256", Departs{at::key_sha_256});
CONTROLLER(auth_takes_any_secret, "auth.controller.key.each-host", "takes any R1 of any host", Departs{at::reply_response});
CONTROLLER(auth_again_with_old_challenge, "auth.controller.challenge.fresh-everywhere",
           "repeats its challenge when a host authenticates again", Departs{at::challenge_again});
CONTROLLER(auth_again_with_old_seqnum, "auth.controller.challenge.seqnum-everywhere",
           "repeats its sequence number when a host authenticates again", Departs{at::challenge_again});
CONTROLLER(auth_ends_later, "auth.controller.timeout.window", "ends the connection some time after authentication", hooks<EndsLater>());
CONTROLLER(auth_waits_on_io_queues, "auth.controller.timeout.whole", "waits without limit on an I/O queue", Departs{at::timeout_never});
CONTROLLER(auth_again_ends_in_time, "auth.controller.again.timeout", "ends the connection when a second transaction times out",
           Departs{at::timeout_again});
CONTROLLER(auth_takes_near_misses, "auth.controller.reply.near-miss", "takes any R1", Departs{at::reply_response});
CONTROLLER(auth_compares_a_prefix, "auth.controller.reply.every-byte", "compares 16 bytes of R1", Departs{at::reply_response_prefix});
CONTROLLER(auth_compares_low_t_id, "auth.controller.reply.t-id-whole", "compares the low byte of T_ID", Departs{at::reply_t_id_low});
CONTROLLER(auth_success2_low_t_id, "auth.controller.mutual.success2-t-id-whole", "compares the low byte of the T_ID of a Success2",
           Departs{at::reply_t_id_low});
CONTROLLER(auth_takes_other_hl, "auth.controller.reply.hl-other-hash", "does not compare HL with its hash", Departs{at::reply_hl});
CONTROLLER(auth_takes_dh_one_of_any_group, "auth.controller.reply.dh-every-group", "takes 1 as a DH value", Departs{at::reply_dh_one});
CONTROLLER(auth_strips_shared, "auth.controller.reply.dh-leading-zero", "drops leading zero bytes of g^xy",
           Departs{at::reply_shared_stripped});
CONTROLLER(auth_compares_c2_prefix, "auth.controller.reply.c2-near-c1", "compares 16 bytes of C2 with C1", Departs{at::reply_c2_prefix});

DEVIATION(host_auth_spoils_sha_512, "auth.host.reply.every", Product::host, "sends a wrong R1 with SHA-512", hooks<SpoilsResponses<64>>());
DEVIATION(host_auth_spoils_sha_384, "auth.host.mutual.every", Product::host, "sends a wrong R1 with SHA-384", hooks<SpoilsResponses<48>>());
DEVIATION(host_auth_omits_later_queues, "auth.host.demand.every-io-queue", Product::host, "authenticates its first two I/O queues alone",
          hooks<OmitsLaterQueues>());
DEVIATION(host_auth_again_repeats_c2, "auth.host.mutual.fresh-everywhere", Product::host,
          "uses one challenge whenever it authenticates again", hooks<RepeatsChallenges>());
HOST(host_auth_refuses_leading_zero, "auth.host.reply.dh-leading-zero", "refuses a DH value with a leading zero byte",
     at::host_refuses_leading_zero);
HOST(host_auth_takes_prefix, "auth.host.refuses.near-miss", "compares 16 bytes of R2", at::host_takes_response_prefix);
HOST(host_auth_takes_near_challenge, "auth.host.refuses.near-challenge", "does not compare HL with the hash", at::host_takes_hl);
HOST(host_auth_goes_on_after_late_failure, "auth.host.failure.every-reason", "ignores AUTH_Failure1 after its Reply",
     at::host_takes_failure_late);

CONTROLLER(tls_no_key_of_version_1, "auth.tls.identity.formula", "has no keys for identities of version 1",
           Departs{"tcp.tls.server.identity_v1"});
CONTROLLER(tls_no_plain_key_of_version_0, "auth.tls.identity.untransformed", "has no keys for identities of version 0",
           Departs{"tcp.tls.server.identity_v0"});
CONTROLLER(tls_takes_near_identities, "auth.tls.identity.near-miss", "does not look at the digest of an identity",
           Departs{"tcp.tls.server.digest"});
CONTROLLER(tls_stays_with_near_binders, "auth.tls.binder.every-byte", "leaves a client with a wrong binder connected",
           Departs{"tcp.tls.server.stays.binder"});
CONTROLLER(tls_other_generated_psk, "auth.tls.concat.formula", "does not keep the PSK that it makes", Departs{"tcp.tls.psk.forgotten"});
CONTROLLER(tls_no_psk_of_either_host, "auth.tls.concat.each-host", "keeps the PSK of no host", Departs{"tcp.tls.psk.forgotten"});

}  // namespace fb::deviations
