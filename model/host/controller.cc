// The life of an association: attempts, losses, and taking connections down.
#include "model/host/controller.h"

#include <algorithm>

#include "model/host/controller_admin.h"
#include "model/host/fault_points.h"

namespace fb::host {

namespace {

/// A connection that does not end by itself is let go after this long.
constexpr Duration kBurialPatience = Duration::s(5);
/// What a host that hammers leaves between attempts: a storm, yet one that a simulation can afford.
constexpr Duration kHammerDelay = Duration::ms(1);
/// CM reject reason "consumer defined": the NVMe/RDMA status says why.
constexpr std::uint16_t kConsumerReject = 28;
constexpr std::uint16_t kNoResources = 6;

HostError transport_error(const transport::ChannelEnd& end) {
  HostError error;
  error.kind = HostError::Kind::transport;
  error.end = end;
  error.text = end.text.empty() ? "the connection ended" : end.text;
  error.permanent = end.kind == transport::ChannelEnd::Kind::refused && end.cm_reason == kConsumerReject && end.status != kNoResources;
  return error;
}

}  // namespace

Controller::Controller(World& world, transport::HostFabric& fabric, const HostOptions& host, ConnectOptions options,
                       ControllerListener& listener)
    : world_(world), fabric_(fabric), host_(host), options_(std::move(options)), listener_(listener), delay_(options_.reconnect_delay) {}

Controller::~Controller() {
  ++epoch_;
  state_ = ControllerState::gone;
  io_.clear();
  admin_.reset();
  buried_.clear();
}

void Controller::move(ControllerEvent event) {
  const std::optional<ControllerState> target = next_state(state_, event);
  BENCH_ASSERT(target.has_value(), "the state table allows this event here");
  if (world_.trace().on()) {
    note(std::string(name_of(state_)) + " -> " + std::string(name_of(*target)) + " (" + std::string(name_of(event)) + ")");
  }
  state_ = *target;
  settle_waiters();
  listener_.on_state(*this, state_);
}

void Controller::note_unusable(std::string text) {
  note(text);
  unusable_namespace_ = std::move(text);
}

void Controller::note(std::string_view text) {
  if (!world_.trace().on()) return;
  TraceEvent event;
  event.kind = TraceKind::state;
  event.time = world_.now();
  event.actor = host_.actor;
  event.label = "host.state";
  event.text = text;
  world_.trace().emit(event);
}

Op<Controller::Outcome> Controller::connect() {
  auto made = make_op<Outcome>(world_, "association with " + options_.subnqn);
  connect_promise_ = std::move(made.promise);
  start_attempt();
  return made.op;
}

Op<ControllerState> Controller::reached(ControllerState state) {
  auto made = make_op<ControllerState>(world_, "controller of " + options_.subnqn + " to be " + std::string(name_of(state)));
  if (state_ == state) {
    made.promise.settle(state);
  } else {
    state_promises_.emplace_back(state, std::move(made.promise));
  }
  return made.op;
}

void Controller::settle_waiters() {
  for (auto it = state_promises_.begin(); it != state_promises_.end();) {
    if (it->first != state_) {
      ++it;
      continue;
    }
    Promise<ControllerState> promise = std::move(it->second);
    it = state_promises_.erase(it);
    promise.settle(state_);
  }
}

void Controller::start_attempt() {
  ++epoch_;
  ++attempts_;
  move(ControllerEvent::attempt);
  // A PSK of an earlier association may be too old: another one is made.
  concatenated_ = false;
  open_admin();
}

/// Whether this queue goes over TLS, and with whose key.
void Controller::secure(QueueOptions& queue) const {
  queue.secured = options_.tls == TlsUse::always || concatenated_;
  if (queue.qid != 0 && departs(point::tls_io_plain)) queue.secured = false;
  queue.hostnqn = host_.hostnqn;
  queue.subnqn = options_.subnqn;
}

void Controller::open_admin() {
  QueueOptions queue;
  queue.entries = options_.admin_entries;
  queue.remote_invalidate = options_.remote_invalidate;
  queue.command_timeout = options_.admin_timeout;
  // Keep Alive and Abort must not wait behind the events and the questions of a user.
  queue.reserve = options_.admin_entries >= 8 ? 2 : 0;
  queue.hooks = host_.hooks;
  secure(queue);
  admin_ = std::make_unique<Queue>(world_, fabric_, static_cast<QueueHandler&>(*this), queue);
  polling_ = Polling::transport;
  world_.loop().schedule_after(step_timer_, options_.connect_timeout);
  admin_->open(options_.to);
}

void Controller::schedule_attempt() {
  const bool hammers = (error_.kind == HostError::Kind::refused && departs(point::connect_busy_hammered)) ||
                       (error_.kind == HostError::Kind::transport && departs(point::connect_reject_retried));
  if (hammers) {
    world_.loop().schedule_after(attempt_timer_, kHammerDelay);
    return;
  }
  if (!was_live_) {
    world_.loop().schedule_after(attempt_timer_, options_.busy_delay);
    return;
  }
  world_.loop().schedule_after(attempt_timer_, delay_);
  delay_ = std::min(delay_ * 2, options_.reconnect_delay_max);
}

void Controller::on_attempt_timer() {
  if (state_ == ControllerState::recovering) start_attempt();
}

void Controller::fail(HostError error) {
  switch (state_) {
    case ControllerState::idle:
    case ControllerState::recovering:
    case ControllerState::closing:
    case ControllerState::gone:
      return;
    case ControllerState::shutting_down:
      leave_error_ = std::move(error);
      finish_shutdown();
      return;
    default:
      break;
  }
  note("failed: " + error.text);
  end_reauthentication(error);
  world_.trace().mark("host.association.failed");
  const bool had_io = state_ == ControllerState::live || state_ == ControllerState::resetting;
  error_ = std::move(error);
  ++epoch_;
  if (had_io) {
    lost_at_ = world_.now();
    quiet_at_ = quiet_after_loss();
    delay_ = options_.reconnect_delay;
  }
  const bool busy = error_.kind == HostError::Kind::refused && same_code(error_.status, nvme::sc::controller_busy);
  bool again = false;
  if (was_live_) {
    again = !error_.permanent && world_.now() < lost_at_ + options_.controller_loss_timeout;
  } else if (busy) {
    again = busy_++ < options_.busy_retries || departs(point::connect_busy_hammered);
  }
  if (error_.kind == HostError::Kind::refused && !busy && departs(point::connect_refused_retried)) {
    again = true;
  }
  if (error_.kind == HostError::Kind::transport && error_.end.kind == transport::ChannelEnd::Kind::refused &&
      departs(point::connect_reject_retried)) {
    again = true;
  }
  if (!again) {
    give_up(error_);
    return;
  }
  move(ControllerEvent::lost);
  close_queues();
  if (was_live_ && departs(point::reconnect_omitted)) return;
  schedule_attempt();
}

void Controller::note_stopped(Instant lost_at) {
  if (lost_at == lost_at_) quiet_at_ = std::min(quiet_at_, world_.now());
}

Instant Controller::quiet_after_loss() const {
  if (options_.kato_ms == 0) return world_.now();
  const Duration katt = facts_.keep_alive_time;
  // What was sent may be under way for one timeout; the controller then takes as long again to
  // notice, or two times as long where any traffic counts.
  const Instant noticed = facts_.traffic_keep_alive ? world_.now() + katt * 3 : keep_alive_sent_at_ + katt * 2;
  return std::max(world_.now(), noticed) + facts_.quiesce;
}

void Controller::give_up(HostError error) {
  end_reauthentication(error);
  error_ = std::move(error);
  ++epoch_;
  move(ControllerEvent::close);
  close_queues();
  on_buried_gone();
}

void Controller::disconnect() {
  if (state_ == ControllerState::closing || state_ == ControllerState::gone) return;
  HostError error;
  error.kind = HostError::Kind::closed;
  error.text = "disconnected by this host";
  give_up(std::move(error));
}

void Controller::close_queues() {
  world_.loop().cancel(step_timer_);
  world_.loop().cancel(attempt_timer_);
  world_.loop().cancel(keep_alive_timer_);
  world_.loop().cancel(unread_timer_);
  unread_ = {};
  polling_ = Polling::none;
  io_waits_for_buried_ = false;
  std::vector<std::unique_ptr<Queue>> queues = std::move(io_);
  io_.clear();
  for (auto& queue : queues) bury(std::move(queue));
  if (admin_) bury(std::move(admin_));
}

void Controller::bury(std::unique_ptr<Queue> queue) {
  Queue& closing = *queue;
  buried_.emplace_back(std::move(queue), world_.now() + kBurialPatience);
  closing.close();
  // Never from here: it may be the queue itself that called.
  const Instant when = closing.ended() ? world_.now() : buried_.front().second;
  if (!reap_timer_.scheduled() || reap_timer_.deadline() > when) {
    world_.loop().schedule(reap_timer_, when);
  }
}

void Controller::reap() {
  // Destroying a queue completes its commands, which may lead to anything: take them out first.
  std::vector<std::unique_ptr<Queue>> dead;
  Instant next = Instant::never();
  for (auto it = buried_.begin(); it != buried_.end();) {
    if (it->first->ended() || it->second <= world_.now()) {
      dead.push_back(std::move(it->first));
      it = buried_.erase(it);
    } else {
      next = std::min(next, it->second);
      ++it;
    }
  }
  if (next != Instant::never()) world_.loop().schedule(reap_timer_, next);
  dead.clear();
  if (buried_.empty()) on_buried_gone();
}

void Controller::on_buried_gone() {
  if (!buried_.empty()) return;
  if (io_waits_for_buried_) {
    io_waits_for_buried_ = false;
    connect_next_io_queue();
    return;
  }
  if (state_ != ControllerState::closing) return;
  move(ControllerEvent::ended);
  if (connect_promise_) connect_promise_.settle(Failure{error_});
  for (auto& promise : std::exchange(reset_promises_, {})) promise.settle(Failure{error_});
  for (auto& promise : std::exchange(shutdown_promises_, {})) {
    if (leave_error_) {
      promise.settle(Failure{*leave_error_});
    } else {
      promise.settle({});
    }
  }
}

void Controller::on_step_timer() {
  switch (std::exchange(polling_, Polling::none)) {
    case Polling::transport: {
      if (departs("tcp.host.ic_resp.timeout")) return;  // the transport asks the same
      HostError error;
      error.kind = HostError::Kind::timeout;
      const std::string_view awaited = admin_ ? admin_->channel_awaits() : std::string_view();
      error.text = (awaited.empty() ? "no connection" : "no " + std::string(awaited)) + " within " + to_string(options_.connect_timeout);
      fail(std::move(error));
      return;
    }
    case Polling::ready:
      return poll_ready();
    case Polling::disabled:
      return poll_disabled();
    case Polling::drain:
      return drained();
    case Polling::shutdown:
      return poll_shutdown();
    case Polling::bye:
      return finish_shutdown();
    case Polling::none:
      return;
  }
}

// ---- What the queues say ----

void Controller::on_queue_connected(Queue& queue, const transport::ChannelFacts&) {
  if (admin_.get() == &queue) {
    world_.loop().cancel(step_timer_);
    connect_admin();
    return;
  }
  world_.loop().cancel(step_timer_);
  nvme::Sqe sqe;
  Bytes data = connect_bytes(queue.qid(), queue.entries(), sqe);
  call(&queue, sqe, std::move(data), transport::Direction::to_controller, options_.admin_timeout, false,
       [this, &queue, epoch = epoch_](AdminReply& reply) {
         if (epoch == epoch_ && reply.answered) on_io_connected(queue, reply);
       });
}

void Controller::on_queue_end(Queue& queue, const transport::ChannelEnd& end) {
  for (const auto& [buried, until] : buried_) {
    if (buried.get() == &queue) {
      world_.loop().schedule(reap_timer_, world_.now());
      return;
    }
  }
  const bool is_admin = admin_.get() == &queue;
  if (!is_admin) quiet_at_ = quiet_after_loss();
  if (!is_admin && state_ == ControllerState::shutting_down) return;
  if (!is_admin && state_ == ControllerState::resetting) return;  // it may close them first
  if (!is_admin && state_ == ControllerState::live && departs(point::queue_loss_ignored)) return;
  HostError error = transport_error(end);
  error.text += is_admin ? " (admin queue)" : " (I/O queue " + std::to_string(queue.qid()) + ")";
  if (const std::string awaited = queue.awaited(); !awaited.empty()) error.text += ": " + awaited;
  if (!is_admin && state_ == ControllerState::configuring && io_.size() > 1 && io_.back().get() == &queue &&
      end.kind == transport::ChannelEnd::Kind::refused) {
    // No room for one more: go on with those that there are.
    note("goes on with fewer I/O queues: " + error.text);
    io_wanted_ = static_cast<std::uint16_t>(io_.size() - 1);
    bury(std::move(io_.back()));
    io_.pop_back();
    connect_next_io_queue();
    return;
  }
  fail(std::move(error));
}

void Controller::on_queue_violation(Queue& queue, std::string_view what) {
  if (departs(point::queue_any_cid_accepted)) return;
  HostError error;
  error.kind = HostError::Kind::violation;
  error.text = std::string(what) + " on queue " + std::to_string(queue.qid());
  fail(std::move(error));
}

void Controller::on_queue_tolerated(Queue& queue, std::string_view what) {
  const std::string text = std::string(what) + " (queue " + std::to_string(queue.qid()) + ")";
  note("goes on: " + text);
  listener_.on_tolerated(*this, text);
}

// ---- I/O ----

bool Controller::submit(Command& command) {
  if (state_ != ControllerState::live || io_.empty()) return false;
  // In turn; a queue with nothing to do is as good as any.
  if (++next_io_ >= io_.size()) next_io_ = 0;
  return io_[next_io_]->submit(command);
}

Queue* Controller::io_queue(std::size_t index) { return live() && index < io_.size() ? io_[index].get() : nullptr; }

std::uint32_t Controller::io_load() const {
  std::uint32_t load = 0;
  for (const auto& queue : io_) load += queue->load();
  return load;
}

}  // namespace fb::host
