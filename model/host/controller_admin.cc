// Commands of the controller itself and of its users; deadlines, Abort, keep alive.
#include "model/host/controller_admin.h"

#include "model/host/fault_points.h"
#include "wire/fabrics/disconnect.h"

namespace fb::host {

namespace {

/// Failures that are worth another try of an initialisation command.
bool is_transient(nvme::Status status) {
  return same_code(status, nvme::sc::internal_error) || same_code(status, nvme::sc::command_interrupted) ||
         same_code(status, nvme::sc::transient_transport_error) || same_code(status, nvme::sc::admin_command_media_not_ready) ||
         same_code(status, nvme::sc::namespace_not_ready);
}

constexpr unsigned kStepAttempts = 3;

std::string_view command_name(const nvme::Sqe& sqe) {
  const std::uint8_t opcode = sqe.get(nvme::sqe::opcode);
  return opcode == nvme::kFabricsOpcode
             ? nvme::fabrics_type_name(static_cast<std::uint8_t>(sqe.as<fabrics::AnyFabricsSqe>().get(fabrics::sqe::fctype)))
             : nvme::admin_opcode_name(opcode);
}

}  // namespace

void Controller::call(Queue* queue, const nvme::Sqe& sqe, Bytes data, transport::Direction direction, Duration timeout, bool urgent,
                      Then then) {
  auto made = std::make_unique<AdminCall>(*this, std::move(then));
  AdminCall& command = *made;
  command.sqe = sqe;
  command.data = std::move(data);
  command.transfer.direction = direction;
  command.transfer.data = command.data;
  command.timeout = timeout;
  command.urgent = urgent;
  calls_.push_back(std::move(made));
  command.place = std::prev(calls_.end());
  if (queue != nullptr && queue->submit(command)) return;
  finish_call(command, nvme::Cqe{}, false);
}

void Controller::finish_call(AdminCall& call, const nvme::Cqe& cqe, bool answered) {
  const std::unique_ptr<AdminCall> held = std::move(*call.place);
  calls_.erase(call.place);
  AdminReply reply;
  reply.answered = answered;
  reply.cqe = cqe;
  reply.family = nvme::status_family(held->sqe.get(nvme::sqe::opcode));
  reply.data = std::move(held->data);
  if (keep_alive_call_ == held.get()) keep_alive_call_ = nullptr;
  if (held->then) held->then(reply);
}

void Controller::call_here(const nvme::Sqe& sqe, Bytes data, transport::Direction direction, Then then) {
  call(admin_.get(), sqe, std::move(data), direction, {}, false, [this, epoch = epoch_, next = std::move(then)](AdminReply& reply) {
    if (epoch == epoch_) next(reply);
  });
}

void Controller::step(const nvme::Sqe& sqe, Bytes data, transport::Direction direction, Then then, bool tolerate) {
  struct Attempt {
    nvme::Sqe sqe;
    Bytes data;
    unsigned left = kStepAttempts;
  };
  auto attempt = std::make_shared<Attempt>(Attempt{sqe, data, kStepAttempts});
  auto check = std::make_shared<Then>();
  // The continuation holds itself only weakly: the call under way holds it.
  *check = [this, attempt, direction, tolerate, next = std::move(then), weak = std::weak_ptr<Then>(check)](AdminReply& reply) {
    if (!reply.answered) return;  // the end of the queue follows
    if (!reply.ok() && departs(point::failure_unreported)) return;
    const bool repeats =
        is_transient(reply.status()) && (!reply.status().dnr() || departs(point::dnr_ignored)) && !departs(point::step_unrepeated);
    if (!reply.ok() && repeats && --attempt->left > 0) {
      const auto again = weak.lock();
      call_here(attempt->sqe, attempt->data, direction, [again](AdminReply& second) { (*again)(second); });
      return;
    }
    if (!reply.ok() && (!tolerate || departs(point::optional_required))) return fail_step(command_name(attempt->sqe), reply.status());
    next(reply);
  };
  call_here(sqe, std::move(data), direction, [check](AdminReply& reply) { (*check)(reply); });
}

void Controller::fail_step(std::string_view what, nvme::Status status) {
  HostError error;
  error.kind = HostError::Kind::command;
  error.status = status;
  error.permanent = status.dnr();
  error.text = std::string(what) + " failed: " + nvme::to_string(status);
  fail(std::move(error));
}

Op<AdminReply> Controller::admin_op(const nvme::Sqe& sqe, Bytes data, transport::Direction direction) {
  auto made = make_op<AdminReply>(world_, std::string(command_name(sqe)) + " to " + options_.subnqn);
  auto promise = std::make_shared<Promise<AdminReply>>(std::move(made.promise));
  call(admin_.get(), sqe, std::move(data), direction, {}, false, [promise](AdminReply& reply) { promise->settle(std::move(reply)); });
  return made.op;
}

void Controller::call_admin(const nvme::Sqe& sqe, Bytes data, transport::Direction direction, Then then) {
  call(admin_.get(), sqe, std::move(data), direction, {}, false, std::move(then));
}

// ---- Log pages ----

Op<AdminReply> Controller::read_log(nvme::LogPage page, std::uint32_t length, std::uint8_t lsp) {
  auto made = make_op<AdminReply>(world_, "log page of " + options_.subnqn);
  auto promise = std::make_shared<Promise<AdminReply>>(std::move(made.promise));
  call_log(page, length, lsp, [promise](AdminReply& reply) { promise->settle(std::move(reply)); });
  return made.op;
}

void Controller::call_log(nvme::LogPage page, std::uint32_t length, std::uint8_t lsp, Then then) {
  auto read = std::make_shared<LogRead>();
  read->page = page;
  read->lsp = lsp;
  read->length = (length + 3) & ~std::uint32_t{3};
  read->part = std::min(read->length, facts_.max_transfer & ~std::uint32_t{3});
  read->retain = departs(point::event_log_rae);
  read->then = std::move(then);
  continue_log(std::move(read));
}

void Controller::continue_log(std::shared_ptr<LogRead> read) {
  const auto offset = static_cast<std::uint32_t>(read->data.size());
  const std::uint32_t bytes = std::min(read->part, read->length - offset);
  auto command = get_log(read->page, bytes, offset);
  // Only the last part clears the event.
  const bool last = offset + bytes == read->length;
  command.set(nvme::get_log_sqe::lsp, read->lsp).set(nvme::get_log_sqe::rae, !last || read->retain);
  if (facts_.discovery) command.set(nvme::sqe::nsid, 0);
  // Somebody above waits for this one: an association that ends meanwhile leaves it unanswered.
  call(admin_.get(), as_sqe(command), Bytes(bytes), transport::Direction::from_controller, {}, false,
       [this, read, last, epoch = epoch_](AdminReply& reply) {
         reply.answered = reply.answered && epoch == epoch_;
         if (!reply.ok()) {
           read->then(reply);
           return;
         }
         read->data.insert(read->data.end(), reply.data.begin(), reply.data.end());
         if (!last) {
           continue_log(read);
           return;
         }
         reply.data = std::move(read->data);
         read->then(reply);
       });
}

// ---- Deadlines ----

Duration Controller::on_queue_timeout(Queue& queue, Command& command) {
  const std::string where = " on queue " + std::to_string(queue.qid());
  HostError error;
  error.kind = HostError::Kind::timeout;
  const bool fabrics_command = command.sqe.get(nvme::sqe::opcode) == nvme::kFabricsOpcode;
  const bool is_io = queue.qid() != 0 && !fabrics_command;
  error.text =
      "no answer to " + std::string(is_io ? nvme::io_opcode_name(command.sqe.get(nvme::sqe::opcode)) : command_name(command.sqe)) + where;
  if (&command == keep_alive_call_) {
    if (departs(point::keep_alive_unwatched)) return Duration::forever();
    world_.trace().mark("host.keep_alive.lost");
    fail(std::move(error));
    return Duration::forever();
  }
  if (!live() || fabrics_command) {
    fail(std::move(error));
    return Duration::forever();
  }
  if (command.timeouts() == 1) {
    world_.trace().mark("host.command.timeout");
    note(error.text + ": Abort");
    if (departs(point::timeout_resubmitted)) resubmit_too_early(queue, command);
    abort_command(queue, command);
    return options_.abort_grace;
  }
  start_reset(error.text);
  return Duration::forever();
}

void Controller::abort_command(Queue& queue, Command& command) {
  // The grace passes all the same.
  if (aborts_out_ >= facts_.abort_limit && !departs(point::abort_limit_ignored)) return;
  ++aborts_out_;
  // Whatever Abort says, the command itself is answered, or runs out of its grace.
  call(admin_.get(), as_sqe(host::abort(queue.qid(), command.cid())), {}, transport::Direction::none, {}, true,
       [this](AdminReply&) { --aborts_out_; });
}

/// For a deviation.
void Controller::resubmit_too_early(Queue& queue, const Command& command) {
  if (queue.qid() == 0) return;
  ghosts_.push_back(std::make_unique<Ghost>());
  Ghost& ghost = *ghosts_.back();
  ghost.sqe = command.sqe;
  ghost.transfer = command.transfer;
  ghost.timeout = Duration::forever();
  queue.submit(ghost);
}

// ---- Keep alive ----

Duration Controller::keep_alive_interval() const {
  const Duration kato = Duration::ms(options_.kato_ms);
  if (departs(point::keep_alive_late)) return kato + kato / 2;
  return facts_.traffic_keep_alive ? kato / 4 : kato / 2;
}

void Controller::start_keep_alive() {
  keep_alive_sent_at_ = world_.now();  // the controller's timer starts no later than now
  if (options_.kato_ms == 0 || departs(point::keep_alive_omitted)) return;
  world_.loop().schedule_after(keep_alive_timer_, keep_alive_interval());
}

void Controller::on_keep_alive_timer() {
  if (!admin_ || !admin_->connected()) return;
  std::uint64_t traffic = admin_->counters().submitted;
  for (const auto& queue : io_) traffic += queue->counters().submitted;
  const bool seen = traffic != traffic_seen_;
  const bool counts = facts_.traffic_keep_alive && seen && !departs(point::keep_alive_late);
  if (keep_alive_call_ == nullptr && !counts) {
    ++keep_alives_sent_;
    ++traffic;
    keep_alive_sent_at_ = world_.now();
    world_.trace().mark("host.keep_alive.sent");
    call(admin_.get(), keep_alive(), {}, transport::Direction::none, Duration::ms(options_.kato_ms), true, [](AdminReply&) {});
    // The newest call is the last one, unless it could not be sent.
    if (!calls_.empty() && calls_.back()->sqe.get(nvme::sqe::opcode) == static_cast<std::uint8_t>(nvme::AdminOpcode::keep_alive)) {
      keep_alive_call_ = calls_.back().get();
    }
  }
  traffic_seen_ = traffic;
  world_.loop().schedule_after(keep_alive_timer_, keep_alive_interval());
}

}  // namespace fb::host
