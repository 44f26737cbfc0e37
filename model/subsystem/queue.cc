#include "model/subsystem/queue.h"

#include <algorithm>
#include <utility>

#include "model/subsystem/association_fault_points.h"
#include "model/subsystem/authentication.h"
#include "model/subsystem/connect.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/port.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/sqe.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/opcodes.h"

namespace fb::subsystem {

namespace sc = nvme::sc;

namespace {
/// How long a host may take to end the connection of a queue that it disconnected.
constexpr Duration kRetirement = Duration::s(1);
/// From the connection to a Connect that succeeds.
constexpr Duration kConnectTime = Duration::s(60);
}  // namespace

Queue::Queue(Port& port, std::unique_ptr<transport::ControllerChannel> channel)
    : port_(port),
      channel_(std::move(channel)),
      hooks_(port.hooks()),
      hooked_(&hooks_ != &no_hooks()),
      entries_(std::max<std::uint32_t>(channel_->entries(), 2)) {
  channel_->set_handler(this);
  port_.world().loop().schedule_after(idle_timer_, kConnectTime);
}

Queue::~Queue() {
  if (controller_ != nullptr) controller_->forget(*this);
}

CommandContext Queue::context(const Command& command) const {
  std::uint16_t qid = qid_;
  if (controller_ == nullptr && is_connect(command)) {
    qid = command.as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::qid);
  }
  return {qid, command.bytes(), controller_};
}

// ---- the association ----

void Queue::attach(Controller& controller, const Terms& terms) {
  controller_ = &controller;
  qid_ = terms.qid;
  entries_ = terms.entries;
  flow_control_ = terms.flow_control;
  port_.world().loop().cancel(idle_timer_);
  individually_deletable_ = terms.individually_deletable;
}

void Queue::attach_management(Controller& controller) {
  attach(controller, {});
  out_of_band_ = true;
  controller.add_management_queue(*this);
}

void Queue::set_authentication(std::unique_ptr<Authentication> authentication) { authentication_ = std::move(authentication); }

void Queue::close(std::string_view why) {
  if (!alive_) return;
  alive_ = false;
  controller_ = nullptr;
  void_commands();
  if (port_.world().trace().on()) {
    port_.world().trace().emit({.kind = TraceKind::state,
                                .time = port_.world().now(),
                                .actor = "target",
                                .label = "queue.closed",
                                .text = why,
                                .bytes = {},
                                .source = channel_->local(),
                                .destination = channel_->peer(),
                                .ip = {}});
  }
  channel_->close();
  port_.reap_later();
}

void Queue::retire() {
  if (!alive_) return;
  retired_ = true;
  controller_ = nullptr;
  discard_all();
  port_.world().loop().schedule_after(idle_timer_, kRetirement);
}

void Queue::on_idle() { close(retired_ ? "disconnected queue" : "no Connect"); }

void Queue::on_end(std::string_view why) {
  if (!alive_) return;
  alive_ = false;
  void_commands();
  Controller* const controller = std::exchange(controller_, nullptr);
  port_.reap_later();
  if (controller != nullptr) controller->on_queue_lost(*this, why);
}

void Queue::void_commands() {
  slots_.clear();
  first_ = last_ = kNoSlot;
  outstanding_ = 0;
  fused_first = nullptr;
  port_.world().loop().cancel(delay_timer_);
  port_.world().loop().cancel(idle_timer_);
  if (authentication_ != nullptr) authentication_->stop();
}

// ---- arrivals ----

void Queue::link(transport::ArrivedCommand& arrived) {
  if (arrived.index >= slots_.size()) slots_.resize(std::size_t{arrived.index} + 1);
  Slot& slot = slots_[arrived.index];
  BENCH_ASSERT(slot.phase == Phase::none, "a channel gave a command twice");
  slot = {&arrived, Phase::running, last_, kNoSlot, {}};
  (last_ == kNoSlot ? first_ : slots_[last_].next) = arrived.index;
  last_ = arrived.index;
  ++outstanding_;
}

void Queue::unlink(std::uint16_t index) {
  Slot& slot = slots_[index];
  BENCH_ASSERT(slot.phase != Phase::none, "a command is answered twice");
  (slot.previous == kNoSlot ? first_ : slots_[slot.previous].next) = slot.next;
  (slot.next == kNoSlot ? last_ : slots_[slot.next].previous) = slot.previous;
  if (fused_first == slot.command) fused_first = nullptr;
  if (slot.partner != nullptr) slots_[slot.partner->index].partner = nullptr;
  slot.partner = nullptr;
  slot.phase = Phase::none;
  slot.command = nullptr;
  --outstanding_;
}

bool Queue::overfilled() const {
  if (!flow_control_) return outstanding_ >= std::max<std::uint32_t>(entries_, 2);
  const std::uint32_t lost = departs(departure::queue_short) ? 2 : 1;
  return fetched_ - reported_ > std::max<std::uint32_t>(entries_, 2) - lost;
}

void Queue::overfill() {
  port_.world().trace().mark("subsystem.sq.overfilled");
  if (controller_ != nullptr) {
    controller_->fail_association("submission queue overfilled");
  }
  if (alive_) close("submission queue overfilled");
}

const transport::ArrivedCommand* Queue::same_cid(const Command& command) const {
  const std::uint16_t cid = command.cid();
  for (std::uint16_t at = first_; at != kNoSlot; at = slots_[at].next) {
    if (slots_[at].command == command.arrived) continue;
    if (load_le<std::uint16_t>(slots_[at].command->sqe.data() + 2) == cid) return slots_[at].command;
  }
  return nullptr;
}

void Queue::on_command(transport::ArrivedCommand& arrived) {
  if (!alive_) return;
  link(arrived);
  const Command command{this, &arrived};
  if (retired_) return discard(command);
  ++fetched_;
  if (overfilled() && !departs(departure::overfill_tolerated)) return overfill();
  const auto status = hooked_ ? hooks_.admission(context(command)) : std::nullopt;
  if (status) {
    if (is_connect(command)) return complete_connect(command, *status, 0);
    return complete(command, *status);
  }
  if (outstanding_ > 1 && same_cid(command) != nullptr && refuse(command, check::cid_unique)) return;
  dispatch(command);
}

void Queue::dispatch(const Command& command) {
  const bool connect = is_connect(command);
  if (controller_ == nullptr) {
    if (connect) return start_connect(command);
    if (!refuse(command, check::before_connect)) complete(command, sc::success);
    return;
  }
  if (connect) {
    // Going on would give the queue a second owner: what is left out is only the refusal.
    if (!refuse(command, check::connect_once)) complete_connect(command, sc::success, 0);
    return;
  }
  if (authentication_ != nullptr) {
    if (is_authentication(command)) return authentication_->on_command(command);
    if (authentication_->due() && refuse(command, check::auth_required)) return;
  }
  if (command.opcode() == nvme::kFabricsOpcode) return controller_->on_fabrics(command);
  if (!out_of_band_) controller_->on_traffic();
  if (hooked_ && begin_own(command)) return;
  if (qid_ == fabrics::kAdminQueue) return controller_->on_admin(command);
  controller_->on_io(command);
}

bool Queue::begin_own(const Command& command) {
  const std::optional<std::size_t> bytes = hooks_.own_command(context(command));
  if (!bytes) return false;
  const nvme::DataDirection direction = nvme::direction_of(command.opcode());
  const bool moves = *bytes > 0 && direction != nvme::DataDirection::none;
  if (moves && !stage(command, *bytes)) return true;
  if (moves && direction == nvme::DataDirection::host_to_controller) {
    slots_[command.arrived->index].own = true;
    pull(command);
  } else {
    execute_own(command);
  }
  return true;
}

void Queue::execute_own(const Command& command) {
  const SubsystemHooks::Executed executed = hooks_.execute(context(command), command.data());
  const bool sends = nvme::direction_of(command.opcode()) == nvme::DataDirection::controller_to_host;
  if (executed.status.ok() && sends) return complete_with_data(command, command.data().size(), executed.dwords);
  complete(command, executed.status, executed.dwords);
}

void Queue::on_pulled(transport::ArrivedCommand& arrived) {
  if (!alive_) return;
  const Command command{this, &arrived};
  Slot& slot = slots_[arrived.index];
  if (slot.phase == Phase::withheld) return;  // aborted meanwhile; a hook holds that answer back
  BENCH_ASSERT(slot.phase == Phase::pulling, "data for a command that asked for none");
  slot.phase = Phase::running;
  if (!arrived.fault.ok() && !fused(command)) return fail_damaged(command);
  if (hooked_) hooks_.data_in(context(command), command.data());
  if (is_connect(command)) return finish_connect(command);
  if (controller_ == nullptr) return discard(command);
  if (slot.own) return execute_own(command);
  if (is_authentication(command)) return authentication_->on_data(command);
  controller_->on_data(command);
}

/// The data met an error on its way: the command does nothing (TCP: a wrong data digest).
void Queue::fail_damaged(const Command& command) {
  port_.world().trace().mark("subsystem.damaged_data");
  if (is_connect(command)) return complete_connect(command, command.arrived->fault, 0);
  complete(command, command.arrived->fault);
}

// ---- answering ----

bool Queue::refuse(const Command& command, const Check& check, nvme::Status status) {
  Refusal refusal{check.name, status, check.parameter_offset, check.parameter_in_data};
  const bool lets_pass = port_.is_lenient(check.name);
  if (!lets_pass && !hooks_.refuses(context(command), refusal)) return false;
  const transport::ArrivedCommand* const other = check.name == check::cid_unique.name ? same_cid(command) : nullptr;
  port_.report({.peer = channel_->peer(),
                .qid = is_connect(command) ? command.as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::qid) : qid_,
                .sqe = command.arrived->sqe,
                .data = command.data(),
                .same_cid = other == nullptr ? ByteView{} : ByteView(other->sqe),
                .check = check.name,
                .status = refusal.status,
                .parameter_offset = refusal.parameter_offset,
                .parameter_in_data = refusal.parameter_in_data,
                .let_pass = lets_pass});
  if (lets_pass) return false;
  port_.world().trace().mark(check.name);
  if (!is_connect(command)) {
    complete(command, refusal.status);
    return true;
  }
  const bool names_parameter = nvme::same_code(refusal.status, sc::connect_invalid_parameters);
  const fabrics::InvalidParameter at{refusal.parameter_offset, refusal.parameter_in_data};
  complete_connect(command, refusal.status, names_parameter ? at.dw0() : 0);
  return true;
}

bool Queue::stage(const Command& command, std::size_t bytes) {
  const nvme::Status status = channel_->stage(*command.arrived, bytes);
  if (!status.ok() && refuse(command, check::command_sgl, status.with_dnr())) return false;
  if (command.data().size() >= bytes) return true;
  complete(command, sc::success);  // a deviation went on without room for the data
  return false;
}

void Queue::pull(const Command& command) {
  slots_[command.arrived->index].phase = Phase::pulling;
  channel_->pull(*command.arrived);
}

void Queue::complete(const Command& command, nvme::Status status, std::uint64_t dwords) {
  if (!alive_) return;
  if (!status.ok() && controller_ != nullptr) status = controller_->log_error(command, status);
  emit(command, status, dwords, head());
}

void Queue::complete_with_data(const Command& command, std::size_t bytes, std::uint64_t dwords, nvme::Status status) {
  const MutableBytes out = command.data().first(std::min(bytes, command.data().size()));
  if (hooked_) hooks_.data_out(context(command), out);
  if (!out.empty()) channel_->push(*command.arrived, out.size());
  complete(command, status, dwords);
}

void Queue::complete_with_constant(const Command& command, ByteView data) {
  const nvme::Status status = channel_->push_constant(*command.arrived, data);
  if (!status.ok() && refuse(command, check::command_sgl, status.with_dnr())) return;
  complete(command, sc::success);
}

void Queue::complete_connect(const Command& command, nvme::Status status, std::uint32_t dw0) {
  if (!alive_) return;
  std::uint16_t sqhd = head();
  if (status.ok() && controller_ != nullptr) {
    if (!flow_control_) sqhd = nvme::kSqFlowControlDisabled;
    if (departs(departure::connect_flow_control)) sqhd = nvme::kSqFlowControlDisabled;
    if (departs(departure::connect_authreq)) dw0 |= 0xFFF80000u;
  }
  if (!status.ok() && controller_ != nullptr && departs(departure::connect_failed_logged)) {
    status = controller_->log_error(command, status);
  }
  emit(command, status, dw0, sqhd);
}

std::uint16_t Queue::head() const {
  if (!flow_control_) {
    return departs(departure::sqhd_without_flow_control) ? std::uint16_t{1} : std::uint16_t{0};
  }
  if (departs(departure::sqhd_constant)) return 1;
  const std::uint64_t ahead = departs(departure::sqhd_ahead) ? 1 : 0;
  return static_cast<std::uint16_t>((fetched_ + ahead) % entries_);
}

void Queue::emit(const Command& command, nvme::Status status, std::uint64_t dwords, std::uint16_t sqhd) {
  std::uint16_t cid = command.cid();
  if (departs(departure::cid_other)) ++cid;
  if (departs(departure::dnr_missing)) status = status.with_dnr(false);
  nvme::Cqe cqe;
  cqe.set(nvme::cqe::dw0, dwords & 0xFFFFFFFF)
      .set(nvme::cqe::dw1, dwords >> 32)
      .set(nvme::cqe::sqhd, sqhd)
      .set(nvme::cqe::cid, cid)
      .set(nvme::cqe::status, status);
  if (departs(departure::sqid_set)) cqe.set(nvme::cqe::sqid, qid_ + 1);
  auto answer = SubsystemHooks::Answer::send;
  if (hooked_) answer = hooks_.completion(context(command), cqe.mutable_bytes());
  if (answer == SubsystemHooks::Answer::withhold) return hold(command, Phase::withheld);
  if (answer == SubsystemHooks::Answer::disconnect_instead) {
    Controller* const controller = controller_;
    close("disconnected in place of a completion");
    if (controller != nullptr) controller->on_queue_lost(*this, "connection lost");
    return;
  }
  reported_ = fetched_;
  unlink(command.arrived->index);
  channel_->respond(*command.arrived, cqe.bytes());
  if (answer == SubsystemHooks::Answer::send_twice && alive_) channel_->send_extra(cqe.bytes());
}

void Queue::discard(const Command& command) {
  if (!alive_) return;
  unlink(command.arrived->index);
  channel_->drop(*command.arrived);
}

// ---- commands that last ----

void Queue::hold(const Command& command, Phase phase) { slots_[command.arrived->index].phase = phase; }

transport::ArrivedCommand* Queue::oldest(Phase phase) const {
  for (std::uint16_t at = first_; at != kNoSlot; at = slots_[at].next) {
    if (slots_[at].phase == phase) return slots_[at].command;
  }
  return nullptr;
}

transport::ArrivedCommand* Queue::newest(Phase phase) const {
  transport::ArrivedCommand* found = nullptr;
  for (std::uint16_t at = first_; at != kNoSlot; at = slots_[at].next) {
    if (slots_[at].phase == phase) found = slots_[at].command;
  }
  return found;
}

unsigned Queue::count(Phase phase) const {
  unsigned found = 0;
  for (std::uint16_t at = first_; at != kNoSlot; at = slots_[at].next) {
    if (slots_[at].phase == phase) ++found;
  }
  return found;
}

transport::ArrivedCommand* Queue::find(std::uint16_t cid) const {
  for (std::uint16_t at = first_; at != kNoSlot; at = slots_[at].next) {
    const Slot& slot = slots_[at];
    if (slot.phase == Phase::running) continue;
    if (load_le<std::uint16_t>(slot.command->sqe.data() + 2) == cid) return slot.command;
  }
  return nullptr;
}

std::vector<transport::ArrivedCommand*> Queue::held_of(std::uint32_t nsid) const {
  std::vector<transport::ArrivedCommand*> found;
  for (std::uint16_t at = first_; at != kNoSlot; at = slots_[at].next) {
    transport::ArrivedCommand* const arrived = slots_[at].command;
    if (holds(arrived) && load_le<std::uint32_t>(arrived->sqe.data() + 4) == nsid) found.push_back(arrived);
  }
  return found;
}

bool Queue::holds(const transport::ArrivedCommand* arrived) const {
  for (std::uint16_t at = first_; at != kNoSlot; at = slots_[at].next) {
    const Phase phase = slots_[at].phase;
    if (slots_[at].command == arrived) return phase != Phase::running && phase != Phase::withheld;
  }
  return false;
}

void Queue::delay(const Command& command, Duration delay) {
  Slot& slot = slots_[command.arrived->index];
  slot.phase = Phase::delayed;
  slot.due = port_.world().now() + delay;
  if (!delay_timer_.scheduled() || slot.due < delay_timer_.deadline()) {
    port_.world().loop().schedule(delay_timer_, slot.due);
  }
}

Queue::Slot* Queue::first_due() {
  Slot* first = nullptr;
  for (std::uint16_t at = first_; at != kNoSlot; at = slots_[at].next) {
    Slot& slot = slots_[at];
    if (slot.phase == Phase::delayed && (first == nullptr || slot.due < first->due)) first = &slot;
  }
  return first;
}

void Queue::on_delay() {
  while (alive_ && controller_ != nullptr) {
    Slot* const slot = first_due();
    if (slot == nullptr) return;
    if (slot->due > port_.world().now()) {
      port_.world().loop().schedule(delay_timer_, slot->due);
      return;
    }
    slot->phase = Phase::running;
    controller_->io_.start_io(command_of(slot->command));
  }
}

void Queue::discard_all() {
  for (std::uint16_t at = first_; alive_ && at != kNoSlot;) {
    Slot& slot = slots_[at];
    const std::uint16_t next = slot.next;
    if (slot.phase != Phase::running) discard(command_of(slot.command));
    at = next;
  }
  fused_first = nullptr;
}

void Queue::fuse(const Command& first, const Command& second) {
  Slot& a = slots_[first.arrived->index];
  Slot& b = slots_[second.arrived->index];
  a.half = Half::first;
  b.half = Half::second;
  a.partner = second.arrived;
  b.partner = first.arrived;
}

void Queue::abort_all(nvme::Status status, const Command* except) {
  for (std::uint16_t at = first_; alive_ && at != kNoSlot;) {
    Slot& slot = slots_[at];
    const std::uint16_t next = slot.next;
    if (except == nullptr || slot.command != except->arrived) {
      complete(command_of(slot.command), status);
    }
    at = next;
  }
}

}  // namespace fb::subsystem
