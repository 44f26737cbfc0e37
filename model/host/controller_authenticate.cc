// In-band authentication of the queues of an association, at their Connect and later.
#include "model/host/controller_admin.h"
#include "model/host/fault_points.h"
#include "wire/fabrics/auth_messages.h"
#include "wire/fabrics/property.h"
#include "wire/fabrics/transports.h"

namespace fb::host {

namespace {

using fabrics::authreq_bits::authentication_transaction;
using fabrics::authreq_bits::secure_channel;
namespace ap = auth::point;

HostError auth_error(std::string text) {
  HostError error;
  error.kind = HostError::Kind::authentication;
  error.text = std::move(text);
  error.permanent = true;
  return error;
}

}  // namespace

/// One transaction on one queue.
struct Controller::AuthRun {
  Queue& queue;
  auth::HostAuth machine;
  unsigned epoch;
  AuthEnd end;
};

std::optional<HostError> Controller::cannot_authenticate(std::uint16_t authreq) const {
  const AuthenticationOptions& options = options_.authentication;
  if ((authreq & (authentication_transaction | secure_channel)) == 0) return std::nullopt;
  if (!options.secret) {
    HostError error = auth_error("the controller requires authentication, and this host has no secret");
    error.kind = HostError::Kind::unsupported;
    return error;
  }
  if ((authreq & secure_channel) != 0 && (!options.secure_channel || fabric_.name() != fabrics::kTcp)) {
    return auth_error(
        "the controller requires a secure channel after authentication, and this host "
        "offers none");
  }
  return std::nullopt;
}

void Controller::authenticate(Queue& queue, std::uint16_t authreq, std::function<void()> then) {
  const AuthenticationOptions& options = options_.authentication;
  const bool admin = queue.qid() == fabrics::kAdminQueue;
  if (!departs(point::connect_authreq_ignored)) {
    if (std::optional<HostError> error = cannot_authenticate(authreq)) {
      fail(std::move(*error));
      return;
    }
  }
  const bool asked = (authreq & (authentication_transaction | secure_channel)) != 0;
  const bool plain_admin = admin && options_.tls == TlsUse::never && !concatenated_;
  const bool required = options.secure_channel_required && plain_admin;
  // A queue over TLS with a PSK that authentication made has authenticated with it.
  const bool wanted = asked || required || (!concatenated_ && (options.required || options.controller_secret.has_value()));
  if (required && (!options.secret || !options.secure_channel || fabric_.name() != fabrics::kTcp)) {
    fail(auth_error("a secure channel is required, and this host cannot make a key for it"));
    return;
  }
  if (!wanted || !options.secret || departs(admin ? ap::host_omits_admin : ap::host_omits_io)) {
    then();
    return;
  }
  const bool secures = plain_admin && ((authreq & secure_channel) != 0 || required) && !departs(point::concat_not_asked);
  const auto channel = secures ? auth::SecureChannel::new_tls_psk : auth::SecureChannel::none;
  run_authentication(queue, channel, [this, secures, next = std::move(then)](std::optional<HostError> error) {
    if (error && !departs(ap::host_failure_ignored)) {
      fail(std::move(*error));
      return;
    }
    if (secures && fabric_.secures() && !departs(point::concat_stays)) {
      return connect_again_over_tls();
    }
    next();
  });
}

/// The PSK is where the fabric finds it: the admin queue is connected once more, with it.
void Controller::connect_again_over_tls() {
  note("a PSK was made: connecting again over TLS");
  world_.trace().mark("host.tls.concatenated");
  ++epoch_;
  concatenated_ = true;
  bury(std::move(admin_));
  open_admin();
}

void Controller::run_authentication(Queue& queue, auth::SecureChannel channel, AuthEnd end) {
  const AuthenticationOptions& options = options_.authentication;
  auth::HostAuthConfig config{host_.hostnqn,  options_.subnqn, *options.secret, options.controller_secret,
                              options.hashes, options.groups,  channel};
  BENCH_ASSERT(host_.nonces != nullptr, "a Host gives its controllers nonces");
  auto run = std::make_shared<AuthRun>(
      AuthRun{queue, auth::HostAuth(std::move(config), *host_.nonces, [this](std::string_view at) { return departs(at); }), epoch_,
              std::move(end)});
  send_auth_message(run, run->machine.begin());
  if (departs(ap::host_impatient) && queue.qid() == fabrics::kAdminQueue) {
    call_here(as_sqe(property_get(fabrics::property::cap)), {}, transport::Direction::none, [](AdminReply&) {});
  }
}

void Controller::send_auth_message(std::shared_ptr<AuthRun> run, auth::HostStep step) {
  const bool failure = fabrics::auth_message_of(step.message) == fabrics::AuthMessage::failure2;
  if (failure && departs(ap::host_failure2_omitted)) return finish_auth(std::move(run));
  if (world_.trace().on()) {
    note("queue " + std::to_string(run->queue.qid()) + ": " + fabrics::describe_auth_message(step.message));
  }
  auto command = authentication_send(step.message.size());
  if (departs(ap::host_send_secp)) command.set(fabrics::auth_sqe::secp, 0);
  if (departs(ap::host_send_spsp)) {
    command.set(fabrics::auth_sqe::spsp0, 0).set(fabrics::auth_sqe::spsp1, 0);
  }
  if (departs(ap::host_send_length)) command.set(fabrics::auth_sqe::length, 0);
  call(&run->queue, as_sqe(command), std::move(step.message), transport::Direction::to_controller, options_.admin_timeout, true,
       [this, run, answered = step.answered](AdminReply& reply) {
         if (run->epoch != epoch_ || !reply.answered) return;  // the end of the queue follows
         if (!reply.ok()) return auth_command_failed(run, reply, "Authentication Send");
         if (answered) return fetch_auth_message(run);
         finish_auth(run);
       });
}

void Controller::fetch_auth_message(std::shared_ptr<AuthRun> run) {
  auto command = authentication_receive(fabrics::kAuthMessageMax);
  if (departs(ap::host_send_length)) command.set(fabrics::auth_sqe::length, 0);
  call(&run->queue, as_sqe(command), Bytes(fabrics::kAuthMessageMax), transport::Direction::from_controller, options_.admin_timeout, true,
       [this, run](AdminReply& reply) {
         if (run->epoch != epoch_ || !reply.answered) return;
         if (!reply.ok()) return auth_command_failed(run, reply, "Authentication Receive");
         if (world_.trace().on()) {
           note("queue " + std::to_string(run->queue.qid()) + ": " + fabrics::describe_auth_message(reply.data));
         }
         std::optional<auth::HostStep> step = run->machine.on_message(reply.data);
         if (step) return send_auth_message(run, std::move(*step));
         finish_auth(run);
       });
}

void Controller::auth_command_failed(std::shared_ptr<AuthRun> run, const AdminReply& reply, std::string_view what) {
  HostError error =
      auth_error(std::string(what) + " on queue " + std::to_string(run->queue.qid()) + " failed: " + nvme::to_string(reply.status()));
  error.status = reply.status();
  run->end(std::move(error));
}

void Controller::finish_auth(std::shared_ptr<AuthRun> run) {
  if (!run->machine.done()) {
    world_.trace().mark("host.auth.failed");
    run->end(auth_error("authentication on queue " + std::to_string(run->queue.qid()) + " failed: " + run->machine.why()));
    return;
  }
  world_.trace().mark("host.auth.done");
  if (run->machine.psk() && options_.authentication.on_psk) {
    options_.authentication.on_psk(*run->machine.psk());
  }
  run->end(std::nullopt);
}

// ---- once more ----

Op<Result<void, HostError>> Controller::reauthenticate() {
  auto made = make_op<Result<void, HostError>>(world_, "reauthentication with " + options_.subnqn);
  HostError error;
  error.kind = HostError::Kind::closed;
  error.text = "the controller is not live";
  if (live() && !options_.authentication.secret) {
    error = auth_error("this host has no secret to authenticate with");
  }
  if (!live() || !options_.authentication.secret) {
    made.promise.settle(Failure{std::move(error)});
    return made.op;
  }
  reauthentication_promises_.push_back(std::move(made.promise));
  if (reauthentication_promises_.size() == 1) reauthenticate_next(0);
  return made.op;
}

void Controller::reauthenticate_next(std::size_t index) {
  if (index > io_.size()) return end_reauthentication(std::nullopt);
  Queue& queue = index == 0 ? *admin_ : *io_[index - 1];
  run_authentication(queue, auth::SecureChannel::none, [this, index](std::optional<HostError> error) {
    if (error) {
      fail(std::move(*error));
      return;
    }
    reauthenticate_next(index + 1);
  });
}

void Controller::cut_reauthentication(std::string_view why) {
  HostError error;
  error.kind = HostError::Kind::closed;
  error.text = std::string(why);
  end_reauthentication(std::move(error));
}

void Controller::end_reauthentication(std::optional<HostError> error) {
  for (auto& promise : std::exchange(reauthentication_promises_, {})) {
    if (error) {
      promise.settle(Failure{*error});
    } else {
      promise.settle({});
    }
  }
}

}  // namespace fb::host
