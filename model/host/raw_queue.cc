#include "model/host/raw_queue.h"

#include <algorithm>

namespace fb::host {

namespace {

/// Responses that wait for somebody to ask for them; a queue has at most 65,536 entries.
constexpr std::size_t kKeptMax = 2 * 65536;

std::string queue_text(std::uint16_t qid) { return " on queue " + std::to_string(qid); }

RawReply end_reply(const transport::ChannelEnd& end, Instant at) {
  RawReply reply;
  reply.end = end;
  reply.at = at;
  return reply;
}

}  // namespace

RawQueue::RawQueue(World& world, transport::HostFabric& fabric, const RawQueueOptions& options)
    : world_(world), options_(options), channel_(fabric.make_channel(*this)), next_cid_(options.first_cid) {
  for (std::uint16_t slot = options.entries; slot-- > 0;) free_slots_.push_back(slot);
}

RawQueue::~RawQueue() = default;

Op<RawConnection> RawQueue::connect_transport() {
  auto made = make_op<RawConnection>(world_, "transport connection" + queue_text(options_.qid));
  connecting_ = std::move(made.promise);
  transport::ChannelOptions channel;
  channel.qid = options_.qid;
  channel.entries = options_.entries;
  channel.cntlid = options_.cntlid;
  channel.in_capsule_bytes = options_.in_capsule_bytes;
  channel.remote_invalidate = options_.remote_invalidate;
  channel.secured = options_.secured;
  channel.hostnqn = options_.hostnqn;
  channel.subnqn = options_.subnqn;
  channel_->connect(options_.to, channel);
  return made.op;
}

std::optional<std::uint16_t> RawQueue::take_slot() {
  if (free_slots_.empty()) return std::nullopt;
  const std::uint16_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void RawQueue::start(RawCommand& command, Promise<RawReply> promise) {
  if (!command.keep_cid && command.sqe.get(nvme::sqe::cid) == 0) {
    // Not one that somebody has chosen by hand and that is under way still.
    const auto taken = [this] {
      return std::any_of(calls_.begin(), calls_.end(), [this](const Call& call) { return call.cid == next_cid_; });
    };
    const auto turn = [this] { next_cid_ = static_cast<std::uint16_t>(next_cid_ == 0xFFFE ? 1 : next_cid_ + 1); };
    for (std::size_t tries = 0; taken() && tries <= calls_.size(); ++tries) turn();
    command.sqe.set(nvme::sqe::cid, next_cid_);
    turn();
  }
  // The call is complete before the channel hears of it: the connection may end inside send().
  calls_.emplace_back();
  Call& call = calls_.back();
  call.cid = command.sqe.get(nvme::sqe::cid);
  call.family = nvme::status_family(command.sqe.get(nvme::sqe::opcode));
  call.data = std::move(command.data);
  call.promise = std::move(promise);
  call.slot = take_slot();
  const bool plain = command.direction == transport::Direction::none;
  BENCH_ASSERT(call.slot || plain, "a raw command with data needs a slot: ask for more entries");
  if (!call.slot) {
    channel_->send_raw(command.sqe.bytes());
    return;
  }
  transport::HostTransfer transfer;
  transfer.direction = command.direction;
  transfer.data = call.data;
  transfer.allow_in_capsule = command.allow_in_capsule;
  transfer.keep_dptr = command.keep_dptr;
  channel_->send(*call.slot, command.sqe.mutable_bytes(), transfer);
}

Op<RawReply> RawQueue::send_command(RawCommand command) {
  const nvme::Sqe& sqe = command.sqe;
  const std::uint8_t opcode = sqe.get(nvme::sqe::opcode);
  const std::string_view name = opcode == nvme::kFabricsOpcode
                                    ? nvme::fabrics_type_name(static_cast<std::uint8_t>(sqe.get(nvme::sqe::nsid) & 0xFF))
                                : options_.qid == 0 ? nvme::admin_opcode_name(opcode)
                                                    : nvme::io_opcode_name(opcode);
  auto made = make_op<RawReply>(world_, "response to " + std::string(name) + queue_text(options_.qid));
  if (end_ || !connected_) {
    made.promise.settle(end_reply(end_.value_or(transport::ChannelEnd{}), world_.now()));
    return made.op;
  }
  start(command, std::move(made.promise));
  return made.op;
}

void RawQueue::post(RawCommand command) {
  if (end_ || !connected_) return;
  start(command, {});
}

bool RawQueue::post_capsule(ByteView capsule) { return connected_ && !end_ && channel_->send_raw(capsule); }

Op<RawReply> RawQueue::send_capsule(ByteView capsule, std::uint16_t cid) {
  auto made = make_op<RawReply>(world_, "response to a capsule" + queue_text(options_.qid));
  if (end_ || !connected_) {
    made.promise.settle(end_reply(end_.value_or(transport::ChannelEnd{}), world_.now()));
    return made.op;
  }
  calls_.emplace_back();
  calls_.back().cid = cid;
  if (!capsule.empty()) calls_.back().family = nvme::status_family(capsule[0]);
  calls_.back().promise = std::move(made.promise);
  channel_->send_raw(capsule);
  return made.op;
}

Op<RawReply> RawQueue::next_response() {
  auto made = make_op<RawReply>(world_, "next response" + queue_text(options_.qid));
  if (!kept_.empty()) {
    made.promise.settle(std::move(kept_.front()));
    kept_.pop_front();
  } else if (end_) {
    made.promise.settle(end_reply(*end_, world_.now()));
  } else {
    waiting_.push_back(std::move(made.promise));
  }
  return made.op;
}

Op<transport::ChannelEnd> RawQueue::ended() {
  auto made = make_op<transport::ChannelEnd>(world_, "end of the connection" + queue_text(options_.qid));
  if (end_) {
    made.promise.settle(*end_);
  } else {
    end_waiting_.push_back(std::move(made.promise));
  }
  return made.op;
}

void RawQueue::disconnect() {
  if (!end_) channel_->disconnect();
}

RawQueue::Exposed& RawQueue::expose(Bytes data) {
  const std::optional<std::uint16_t> slot = take_slot();
  BENCH_ASSERT(slot.has_value(), "exposed memory needs a slot: ask for more entries");
  exposed_.push_back(std::make_unique<Exposed>());
  Exposed& made = *exposed_.back();
  made.data = std::move(data);
  const auto buffer = channel_->expose(*slot, made.data);
  made.address = buffer.address;
  made.key = buffer.key;
  exposed_slots_.push_back(*slot);
  return made;
}

void RawQueue::on_connected(const transport::ChannelFacts& facts) {
  connected_ = true;
  facts_ = facts;
  RawConnection connection;
  connection.connected = true;
  connection.facts = facts;
  connecting_.settle(std::move(connection));
}

void RawQueue::keep(RawReply reply) {
  while (!waiting_.empty()) {
    Promise<RawReply> promise = std::move(waiting_.front());
    waiting_.pop_front();
    if (!promise.wanted()) continue;  // gave up after a time limit
    promise.settle(std::move(reply));
    return;
  }
  if (end_) return kept_.push_back(std::move(reply));
  if (kept_.size() < kKeptMax) return kept_.push_back(std::move(reply));
  // A flood: nobody will ask for all of these, and the next ones only cost memory.
  channel_->disconnect();
  on_end({transport::ChannelEnd::Kind::lost, 0, 0, "responses without end, to commands that were not sent"});
}

void RawQueue::on_response(ByteView bytes, const transport::ResponseFacts& facts) {
  ++responses_;
  RawReply reply;
  reply.cqe = nvme::Cqe{bytes};
  reply.facts = facts;
  reply.at = world_.now();
  const std::uint16_t cid = reply.cqe.get(nvme::cqe::cid);
  const auto call =
      std::find_if(calls_.begin(), calls_.end(), [cid](const Call& candidate) { return candidate.cid == cid && !candidate.answered; });
  if (call == calls_.end()) {
    keep(std::move(reply));
    return;
  }
  reply.family = call->family;
  call->reply = std::move(reply);
  call->answered = true;
  if (!call->slot || channel_->release(*call->slot, facts)) settle(call);
}

void RawQueue::settle(std::list<Call>::iterator call) {
  if (call->slot) free_slots_.push_back(*call->slot);
  RawReply reply = std::move(call->reply);
  reply.data = std::move(call->data);
  Promise<RawReply> promise = std::move(call->promise);
  calls_.erase(call);
  if (promise) {
    promise.settle(std::move(reply));
  } else {
    keep(std::move(reply));
  }
}

void RawQueue::on_released(std::uint16_t slot) {
  const auto call =
      std::find_if(calls_.begin(), calls_.end(), [slot](const Call& candidate) { return candidate.answered && candidate.slot == slot; });
  if (call != calls_.end()) settle(call);
}

void RawQueue::on_end(const transport::ChannelEnd& end) {
  if (end_) return;
  end_ = end;
  connected_ = false;
  if (connecting_) {
    RawConnection connection;
    connection.end = end;
    connecting_.settle(std::move(connection));
  }
  std::list<Call> calls = std::move(calls_);
  calls_.clear();
  for (Call& call : calls) {
    // An answer that only waited for its memory is an answer.
    if (call.answered) {
      call.reply.data = std::move(call.data);
      if (call.promise) {
        call.promise.settle(std::move(call.reply));
      } else {
        keep(std::move(call.reply));
      }
    } else if (call.promise) {
      call.promise.settle(end_reply(end, world_.now()));
    }
  }
  while (!waiting_.empty()) {
    Promise<RawReply> promise = std::move(waiting_.front());
    waiting_.pop_front();
    promise.settle(end_reply(end, world_.now()));
  }
  for (auto& promise : end_waiting_) promise.settle(end);
  end_waiting_.clear();
}

}  // namespace fb::host
