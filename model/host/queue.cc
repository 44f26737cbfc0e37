#include "model/host/queue.h"

#include <bit>

#include "model/host/fault_points.h"
#include "wire/fabrics/connect.h"

namespace fb::host {

namespace {

/// What a command that got no answer is completed with.
nvme::Cqe unanswered(std::uint16_t cid) {
  nvme::Cqe cqe;
  cqe.set(nvme::cqe::cid, cid).set(nvme::cqe::status, nvme::sc::host_pathing_error);
  return cqe;
}

bool is_connect(const nvme::Sqe& sqe) {
  return sqe.get(nvme::sqe::opcode) == nvme::kFabricsOpcode &&
         sqe.as<fabrics::AnyFabricsSqe>().get(fabrics::sqe::fctype) == fabrics::FabricsType::connect;
}

bool asked_for_no_flow_control(const nvme::Sqe& sqe) {
  return (sqe.as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::cattr) & fabrics::cattr_bits::disable_sq_flow_control) != 0;
}

}  // namespace

Command::~Command() { BENCH_ASSERT(place_ == Place::none, "a command is not destroyed while its queue has it"); }

Queue::Queue(World& world, transport::HostFabric& fabric, QueueHandler& handler, const QueueOptions& options)
    : world_(world), handler_(handler), options_(options), channel_(fabric.make_channel(*this)), slots_(options.entries) {
  BENCH_ASSERT(options.entries >= 2, "a submission queue has at least two entries");
  slot_bits_ = static_cast<unsigned>(std::bit_width(options.entries - 1u));
  free_.reserve(options.entries);
  for (std::uint16_t slot = options.entries; slot-- > 0;) free_.push_back(slot);
  read_departures();
}

Queue::~Queue() {
  channel_.reset();
  state_ = State::ended;
  fail_all();
}

void Queue::read_departures() {
  departures_.overfills = asked(point::queue_overfilled);
  departures_.overfills_without_flow_control = asked(point::queue_overfilled_without_flow_control);
  departures_.uses_sqhd_always = asked(point::queue_sqhd_always_used);
  departures_.assumes_no_flow_control = asked(point::queue_flow_control_assumed_off);
  departures_.reuses_cid = asked(point::queue_cid_reused);
  departures_.accepts_any_cid = asked(point::queue_any_cid_accepted);
  departures_.loss_is_success = asked(point::queue_loss_is_success);
  departures_.any = options_.hooks != nullptr;
}

bool Queue::asked(std::string_view name) const { return options_.hooks != nullptr && options_.hooks->departs(name); }

void Queue::open(const Endpoint& to) {
  BENCH_ASSERT(state_ == State::idle, "a queue is opened once");
  state_ = State::connecting;
  transport::ChannelOptions channel;
  channel.qid = options_.qid;
  channel.entries = options_.entries;
  channel.cntlid = options_.cntlid;
  channel.in_capsule_bytes = options_.in_capsule_bytes;
  channel.remote_invalidate = options_.remote_invalidate;
  channel.secured = options_.secured;
  channel.hostnqn = options_.hostnqn;
  channel.subnqn = options_.subnqn;
  channel_->connect(to, channel);
}

void Queue::close() {
  if (state_ == State::closing || state_ == State::ended) return;
  const bool was_open = state_ != State::idle;
  state_ = State::closing;
  world_.loop().cancel(timer_);
  if (was_open) {
    channel_->disconnect();
  } else {
    transport::ChannelEnd end;
    end.kind = transport::ChannelEnd::Kind::closed;
    on_end(end);
  }
}

bool Queue::submit(Command& command) {
  if (state_ != State::connected) return false;
  BENCH_ASSERT(!command.pending(), "a command is submitted once at a time");
  command.queue_ = this;
  command.fused_ = nullptr;
  ++counters_.submitted;
  // Nobody overtakes those who wait, except what must not wait.
  if ((first_waiting_ == nullptr || command.urgent) && room(command.urgent) > 0) {
    transmit(command);
  } else {
    enqueue(command);
  }
  return true;
}

bool Queue::submit_fused(Command& first, Command& second) {
  if (state_ != State::connected || options_.entries - 1u - options_.reserve < 2) return false;
  BENCH_ASSERT(!first.pending() && !second.pending(), "a command is submitted once at a time");
  first.sqe.set(nvme::sqe::fuse, nvme::Fuse::first);
  second.sqe.set(nvme::sqe::fuse, nvme::Fuse::second);
  first.queue_ = second.queue_ = this;
  first.fused_ = &second;
  second.fused_ = nullptr;
  counters_.submitted += 2;
  enqueue(first);
  enqueue(second);
  pump();
  return true;
}

bool Queue::withdraw(Command& command) {
  if (command.queue_ != this || command.place_ != Command::Place::waiting) return false;
  unlink_waiting(command);
  command.place_ = Command::Place::none;
  return true;
}

std::uint32_t Queue::room(bool urgent) const {
  std::uint32_t limit = options_.entries - 1u;
  if (departures_.any) {
    if (flow_control_ ? departures_.overfills : departures_.overfills_without_flow_control) {
      limit = options_.entries;
    }
  }
  std::uint32_t used = outstanding_;
  // Full means head = tail + 1, so the fetched but unanswered do not count; yet each of them still
  // needs a slot and a receive, so that neither bound may be passed.
  if (flow_control_ && !sqhd_owed_ && unfetched_ > used) used = unfetched_;
  const std::uint32_t kept = urgent ? 0u : options_.reserve;
  return used + kept < limit && !free_.empty() ? limit - kept - used : 0;
}

void Queue::enqueue(Command& command) {
  command.place_ = Command::Place::waiting;
  command.next_ = nullptr;
  command.previous_ = last_waiting_;
  (last_waiting_ != nullptr ? last_waiting_->next_ : first_waiting_) = &command;
  last_waiting_ = &command;
  ++waiting_count_;
}

void Queue::unlink_waiting(Command& command) {
  (command.previous_ != nullptr ? command.previous_->next_ : first_waiting_) = command.next_;
  (command.next_ != nullptr ? command.next_->previous_ : last_waiting_) = command.previous_;
  --waiting_count_;
}

void Queue::pump() {
  while (first_waiting_ != nullptr && state_ == State::connected) {
    Command& command = *first_waiting_;
    Command* const second = command.fused_;
    if (room(command.urgent) < (second != nullptr ? 2u : 1u)) return;
    unlink_waiting(command);
    transmit(command);
    if (second != nullptr && state_ == State::connected) {
      unlink_waiting(*second);
      transmit(*second);
    }
  }
}

std::uint16_t Queue::next_cid(Slot& slot, std::uint16_t index) const {
  // The generation in the high bits tells a late or doubled response from the answer to the slot's
  // next command. FFFFh is not used.
  std::uint16_t cid = 0;
  do {
    slot.generation = static_cast<std::uint16_t>(slot.generation + 1);
    cid = static_cast<std::uint16_t>(std::uint32_t{slot.generation} << slot_bits_ | index);
  } while (cid == 0xFFFF);
  return cid;
}

void Queue::transmit(Command& command) {
  const std::uint16_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  slot.cid = next_cid(slot, index);
  if (departures_.reuses_cid && first_sent_ != nullptr) slot.cid = first_sent_->cid_;
  slot.answered = false;
  slot.abandoned = false;
  slot.command = &command;
  command.slot_ = index;
  command.cid_ = slot.cid;
  command.timeouts_ = 0;
  command.place_ = Command::Place::sent;
  command.next_ = nullptr;
  command.previous_ = last_sent_;
  (last_sent_ != nullptr ? last_sent_->next_ : first_sent_) = &command;
  last_sent_ = &command;
  ++outstanding_;
  ++unfetched_;
  const Duration timeout = command.timeout == Duration() ? options_.command_timeout : command.timeout;
  command.sent_at_ = world_.now();
  command.deadline_ = timeout == Duration::forever() ? Instant::never() : command.sent_at_ + timeout;
  if (command.deadline_ < armed_) arm(command.deadline_);

  command.sqe.set(nvme::sqe::cid, slot.cid);
  if (options_.hooks != nullptr) {
    depart(command);
    const bool outward = command.transfer.direction == transport::Direction::to_controller;
    options_.hooks->command_out(options_.qid, command.sqe.mutable_bytes(), outward ? command.transfer.data : MutableBytes{});
    slot.cid = command.cid_ = command.sqe.get(nvme::sqe::cid);
  }
  // A channel that cannot send is about to say on_end(), which completes the command.
  channel_->send(index, command.sqe.mutable_bytes(), command.transfer);
}

Queue::Slot* Queue::slot_of(std::uint16_t cid) {
  const std::size_t index = cid & ((1u << slot_bits_) - 1);
  if (index < slots_.size()) {
    Slot& slot = slots_[index];
    if (slot.command != nullptr && slot.cid == cid && !slot.answered) return &slot;
  }
  if (!departures_.any) return nullptr;
  // A hook may have changed the identifier: look for it the long way.
  for (Command* sent = first_sent_; sent != nullptr; sent = sent->next_) {
    Slot& slot = slots_[sent->slot_];
    if (!slot.answered && (slot.cid == cid || departures_.accepts_any_cid)) return &slot;
  }
  return nullptr;
}

void Queue::take_sqhd(const nvme::Cqe& cqe, const Slot& slot) {
  const std::uint16_t sqhd = cqe.get(nvme::cqe::sqhd);
  if (!established_) [[unlikely]] {
    if (is_connect(slot.command->sqe)) {
      established_ = true;
      if (sqhd == nvme::kSqFlowControlDisabled && cqe.get(nvme::cqe::status).ok() && asked_for_no_flow_control(slot.command->sqe)) {
        flow_control_ = departures_.uses_sqhd_always;
        return;
      }
      if (departures_.assumes_no_flow_control) flow_control_ = false;
    }
  }
  if (!flow_control_) return;  // then SQHD is reserved, and not looked at
  const std::uint32_t size = options_.entries;
  const std::uint32_t advance = (sqhd + size - sq_head_) % size;
  if (sqhd >= size || advance > unfetched_) {
    violation("SQHD points at an entry that was never sent");
    return;
  }
  sq_head_ = sqhd;
  // Without SQHD in some answers, more than a whole round may have been sent since the last.
  unfetched_ = (unfetched_ - advance) % size;
  sqhd_owed_ = false;
}

/// Success without the data: what is in the buffer is not what was asked for, and nobody may take it for that. Commands that name
/// an exact length: what others return may be shorter than their buffer.
void Queue::take_missing_data(nvme::Cqe& cqe, const Slot& slot) {
  if (!cqe.get(nvme::cqe::status).ok()) return;
  const std::uint8_t opcode = slot.command->sqe.get(nvme::sqe::opcode);
  const bool read = options_.qid != 0 && opcode == static_cast<std::uint8_t>(nvme::IoOpcode::read) && !slot.command->may_be_short;
  const bool identify = options_.qid == 0 && opcode == static_cast<std::uint8_t>(nvme::AdminOpcode::identify);
  if (!read && !identify) return;
  cqe.set(nvme::cqe::status, nvme::sc::data_transfer_error);
  if (counters_.without_data++ != 0) return;
  world_.trace().mark("host.queue.without_data");
  handler_.on_queue_tolerated(*this, read ? "the controller answered Read with Success although not all its data came"
                                          : "the controller answered Identify with Success although not all its data came");
}

/// SUCCESS in C2HData belongs to queues without SQ flow control. Nothing is taken from it: that the command was answered says
/// that its entry was fetched, and the next response capsule brings SQHD up to date.
void Queue::do_without_sqhd() {
  if (!flow_control_) return;
  sqhd_owed_ = true;
  if (counters_.without_sqhd++ != 0) return;
  world_.trace().mark("host.queue.without_sqhd");
  handler_.on_queue_tolerated(*this, "the controller set SUCCESS in C2HData although SQ flow control is on: the response has no SQHD");
}

void Queue::on_connected(const transport::ChannelFacts& facts) {
  if (state_ != State::connecting) return;
  state_ = State::connected;
  handler_.on_queue_connected(*this, facts);
}

void Queue::on_response(ByteView bytes, const transport::ResponseFacts& facts) {
  if (state_ == State::ended) return;
  if (bytes.size() < nvme::CqeLayout::size) {
    violation("a response capsule shorter than a completion");
    return;
  }
  nvme::Cqe cqe{bytes};
  Slot* const slot = slot_of(cqe.get(nvme::cqe::cid));
  if (slot == nullptr) {
    ++counters_.stray_responses;
    violation("a response for a command that is not outstanding");
    return;
  }
  if (facts.data_missing) take_missing_data(cqe, *slot);
  if (facts.success_flag) {
    do_without_sqhd();
  } else {
    take_sqhd(cqe, *slot);
  }
  slot->answered = true;
  slot->cqe = cqe;
  if (channel_->release(slot->command->slot_, facts)) finish(*slot);
}

void Queue::on_released(std::uint16_t index) {
  if (state_ == State::ended || index >= slots_.size()) return;
  Slot& slot = slots_[index];
  if (slot.command != nullptr && slot.answered) finish(slot);
}

void Queue::finish(Slot& slot) {
  Command& command = *slot.command;
  slot.command = nullptr;
  free_.push_back(command.slot_);
  (command.previous_ != nullptr ? command.previous_->next_ : first_sent_) = command.next_;
  (command.next_ != nullptr ? command.next_->previous_ : last_sent_) = command.previous_;
  command.place_ = Command::Place::none;
  --outstanding_;
  // Without flow control an answer is the only sign that an entry was taken.
  if (!flow_control_) unfetched_ = outstanding_;
  ++counters_.completed;
  const nvme::Cqe cqe = slot.cqe;
  command.on_complete(cqe, !slot.abandoned);  // may submit, close, or destroy the command
  if (first_waiting_ == nullptr) return;
  pump();
  if (state_ == State::connected && first_waiting_ != nullptr && outstanding_ == 0) {
    violation("SQHD leaves no room although no command is outstanding");
  }
}

std::string Queue::awaited() const {
  for (const Command* sent = first_sent_; sent != nullptr; sent = sent->next_) {
    const std::uint8_t opcode = sent->sqe.get(nvme::sqe::opcode);
    if (options_.qid == 0 && opcode == static_cast<std::uint8_t>(nvme::AdminOpcode::async_event_request)) continue;
    const std::string_view name = opcode == nvme::kFabricsOpcode ? nvme::fabrics_type_name(sent->sqe.bytes()[4])
                                  : options_.qid == 0            ? nvme::admin_opcode_name(opcode)
                                                                 : nvme::io_opcode_name(opcode);
    return "no response to " + std::string(name) + " for " + to_string(world_.now() - sent->sent_at_);
  }
  return {};
}

void Queue::abandon_sent() {
  for (std::uint16_t index = 0; index < slots_.size(); ++index) {
    Slot& slot = slots_[index];
    if (slot.command == nullptr || slot.answered) continue;
    slot.answered = true;
    slot.abandoned = true;
    slot.cqe = unanswered(slot.cid);
    if (channel_->release(index, {})) finish(slot);
  }
}

void Queue::on_end(const transport::ChannelEnd& end) {
  if (state_ == State::ended) return;
  state_ = State::ended;
  end_ = end;
  world_.loop().cancel(timer_);
  handler_.on_queue_end(*this, end);
  fail_all();
}

void Queue::fail_all() {
  while (first_sent_ != nullptr) {
    Command& command = *first_sent_;
    slots_[command.slot_].command = nullptr;
    first_sent_ = command.next_;
    if (first_sent_ != nullptr) first_sent_->previous_ = nullptr;
    --outstanding_;
    fail(command);
  }
  last_sent_ = nullptr;
  while (first_waiting_ != nullptr) {
    Command& command = *first_waiting_;
    unlink_waiting(command);
    fail(command);
  }
}

void Queue::fail(Command& command) {
  command.place_ = Command::Place::none;
  if (departures_.loss_is_success) {
    nvme::Cqe cqe;
    cqe.set(nvme::cqe::cid, command.cid_);
    command.on_complete(cqe, true);
    return;
  }
  command.on_complete(unanswered(command.cid_), false);
}

void Queue::violation(std::string_view what) {
  world_.trace().mark("host.queue.violation");
  handler_.on_queue_violation(*this, what);
}

void Queue::arm(Instant deadline) {
  armed_ = deadline;
  if (deadline == Instant::never()) {
    world_.loop().cancel(timer_);
  } else {
    world_.loop().schedule(timer_, deadline);
  }
}

void Queue::on_deadline() {
  const Instant now = world_.now();
  armed_ = Instant::never();
  // By slot, not by list: the handler may submit (Abort), and completions may come in between.
  for (Slot& slot : slots_) {
    if (slot.command == nullptr || slot.command->deadline_ > now) continue;
    // The response is here, but the transport never says that it is done with the command.
    if (slot.answered) return close();
    ++counters_.timeouts;
    ++slot.command->timeouts_;
    Command* const late = slot.command;
    const Duration more = handler_.on_queue_timeout(*this, *late);
    if (state_ != State::connected) return;
    if (slot.command == late) late->deadline_ = now + more;
  }
  Instant next = armed_;
  for (const Slot& slot : slots_) {
    if (slot.command != nullptr) next = std::min(next, slot.command->deadline_);
  }
  arm(next);
}

}  // namespace fb::host
