#include "model/subsystem/authentication.h"

#include <algorithm>

#include "model/auth/psk.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/port.h"
#include "model/subsystem/subsystem.h"
#include "wire/fabrics/auth.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/discovery_log.h"

namespace fb::subsystem {

namespace {

namespace as = fabrics::auth_sqe;
namespace sc = nvme::sc;
using fabrics::FabricsType;

/// Without keep alive a transaction has two minutes.
constexpr Duration kTransactionTime = Duration::s(120);
/// So long the last message has to reach the host before the connection ends.
constexpr Duration kFarewell = Duration::ms(10);

FabricsType type_of(const Command& command) { return command.as<fabrics::AnyFabricsSqe>().get(fabrics::sqe::fctype); }

/// Only TCP has a secure channel that a PSK is made for.
bool offers_tls(const Queue& queue) {
  return queue.port().options().facts.trtype == static_cast<std::uint8_t>(fabrics::TransportType::tcp);
}

auth::ControllerAuthConfig config_of(const Queue& queue, Controller& controller) {
  const SubsystemOptions& options = controller.subsystem().options();
  const AuthenticationOptions& wanted = options.authentication;
  auth::ControllerAuthConfig config;
  config.hostnqn = controller.host().hostnqn;
  config.subnqn = controller.connected_as();
  if (const auth::SecretPair* pair = auth::secrets_of(wanted.secrets, config.hostnqn)) {
    config.host_secret = pair->host;
    config.controller_secret = pair->controller;
  }
  config.hashes = wanted.hashes;
  config.groups = wanted.groups;
  const bool possible = wanted.secure_channel && offers_tls(queue) && queue.qid() == fabrics::kAdminQueue;
  config.new_tls_psk = possible && !queue.secured();
  config.replace_tls_psk = possible && queue.secured();
  return config;
}

/// Where a PSK came from an earlier transaction, that one counts.
bool has_to(const Queue& queue, Controller& controller) {
  const auto shown = auth::PskIdentity::parse(queue.identity());
  if (shown && shown->origin == auth::PskOrigin::generated) return false;
  const AuthenticationOptions& options = controller.subsystem().options().authentication;
  return options.required && (options.io_queues || queue.qid() == fabrics::kAdminQueue);
}

}  // namespace

bool is_authentication(const Command& command) {
  return command.opcode() == nvme::kFabricsOpcode &&
         (type_of(command) == FabricsType::authentication_send || type_of(command) == FabricsType::authentication_receive);
}

Authentication::Authentication(Queue& queue, Controller& controller)
    : queue_(queue),
      controller_(controller),
      required_(has_to(queue, controller)),
      machine_(config_of(queue, controller), controller.subsystem().nonces(),
               [&hooks = controller.subsystem().hooks()](std::string_view point) { return hooks.departs(point); }) {
  if (required_) arm_timer();
}

Authentication::~Authentication() { stop(); }

void Authentication::stop() {
  Loop& loop = queue_.port().world().loop();
  loop.cancel(timer_);
  loop.cancel(end_timer_);
}

bool Authentication::departs(std::string_view point) const { return controller_.subsystem().departs(point); }

std::uint16_t Authentication::authreq() const {
  if (departs(auth::point::required_reserved)) return 0xFFF8 | fabrics::authreq_bits::authentication_transaction;
  if (!required_ || departs(auth::point::required_unannounced)) return 0;
  const bool channel = controller_.subsystem().options().authentication.secure_channel && offers_tls(queue_) &&
                       queue_.qid() == fabrics::kAdminQueue && !queue_.secured();
  return channel ? fabrics::authreq_bits::secure_channel : fabrics::authreq_bits::authentication_transaction;
}

bool Authentication::due() const {
  if (departs(auth::point::required_ignored)) return false;
  if (departs(auth::point::required_io_ignored) && queue_.qid() != fabrics::kAdminQueue) return false;
  return !machine_.authenticated() && (required_ || machine_.reason() != auth::AuthFailure::none);
}

void Authentication::on_command(const Command& command) {
  const auto sqe = command.as<fabrics::AuthSqe>();
  if (sqe.get(as::secp) != fabrics::kNvmeSecurityProtocol && queue_.refuse(command, check::auth_secp)) {
    return;
  }
  const bool specific = sqe.get(as::spsp0) == fabrics::kNvmeSecuritySpecific && sqe.get(as::spsp1) == fabrics::kNvmeSecuritySpecific;
  if (!specific && queue_.refuse(command, check::auth_spsp)) return;
  if (sqe.get(as::length) == 0 && queue_.refuse(command, check::auth_length)) return;
  if (type_of(command) == FabricsType::authentication_send) return send(command);
  receive(command);
}

void Authentication::send(const Command& command) {
  const std::uint32_t length = command.as<fabrics::AuthSqe>().get(as::length);
  if (length > fabrics::kAuthMessageMax && queue_.refuse(command, check::auth_length)) return;
  if (queue_.stage(command, length)) queue_.pull(command);
}

void Authentication::on_data(const Command& command) {
  const ByteView message = command.data();
  const bool negotiates = fabrics::auth_message_of(message) == fabrics::AuthMessage::negotiate;
  const bool idle = machine_.state() == auth::ControllerAuth::State::idle;
  // What belongs to no transaction of an authenticated queue: late, after one that timed out.
  if (idle && machine_.authenticated()) {
    if (!negotiates && queue_.refuse(command, check::auth_sequence)) return;
  }
  note("from host", message);
  if (idle && negotiates) arm_timer();
  machine_.on_message(message);
  queue_.complete(command, sc::success);
  if (queue_.alive()) after_message();
}

void Authentication::receive(const Command& command) {
  if (!machine_.message_due() && queue_.refuse(command, check::auth_sequence)) return;
  const std::uint32_t length = command.as<fabrics::AuthSqe>().get(as::length);
  if (!queue_.stage(command, length)) return;
  Bytes message = machine_.take_message().value_or(Bytes{});
  note("to host", message);
  if (departs(auth::point::receive_short)) message.resize(message.size() / 2);
  const MutableBytes out = command.data();
  const std::size_t fits = std::min(message.size(), out.size());
  std::copy_n(message.begin(), fits, out.begin());
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(fits), out.end(), std::uint8_t{0});
  queue_.complete_with_data(command, length);
  if (queue_.alive()) after_message();
}

void Authentication::note(std::string_view direction, ByteView message) {
  Subsystem& subsystem = controller_.subsystem();
  if (!subsystem.tracing()) return;
  subsystem.trace_state("auth.message", "queue " + std::to_string(queue_.qid()) + " " + std::string(direction) + ": " +
                                            fabrics::describe_auth_message(message));
}

/// A message went in or out: has the transaction ended?
void Authentication::after_message() {
  Loop& loop = queue_.port().world().loop();
  if (machine_.completed() != completed_) {
    completed_ = machine_.completed();
    loop.cancel(timer_);
    queue_.port().world().trace().mark("subsystem.auth.done");
    const AuthenticationOptions& options = controller_.subsystem().options().authentication;
    if (machine_.psk() && options.on_psk) options.on_psk(*machine_.psk());
  }
  if (!machine_.failed() || end_timer_.scheduled()) return;
  loop.cancel(timer_);
  queue_.port().world().trace().mark("subsystem.auth.failed");
  // Whoever was authenticated before loses what it has under way.
  if (completed_ > 0) controller_.deny_all(queue_);
  if (!departs(auth::point::failure_stays)) loop.schedule_after(end_timer_, kFarewell);
}

void Authentication::arm_timer() {
  if (departs(auth::point::timeout_never)) return;
  const std::uint32_t kato_ms = controller_.kato_ms();
  queue_.port().world().loop().schedule_after(timer_, kato_ms != 0 ? Duration::ms(kato_ms) : kTransactionTime);
}

void Authentication::on_timeout() {
  machine_.time_out();
  queue_.port().world().trace().mark("subsystem.auth.timeout");
  if (machine_.failed()) on_end();
}

void Authentication::on_end() { controller_.drop_queue(queue_, "authentication failed"); }

}  // namespace fb::subsystem
