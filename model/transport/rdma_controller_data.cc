// Data and responses of the controller side: staging, RDMA READs, and the chain of RDMA WRITEs and the
// SEND that ends a command.
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "model/transport/rdma_controller_channel.h"

namespace fb::transport {

namespace {

/// How much too much is written by the departure that writes too much.
constexpr std::uint32_t kBeyond = 16;
/// Data of small reads that is posted ahead of their SENDs: as much as one train of a socket holds. Packets of one size behind each
/// other cost the kernel one call and one route; data and SENDs by turns cost it as many as there are reads.
constexpr std::uint32_t kGatheredBytes = 15 * 4096;

}  // namespace

nvme::Status RdmaControllerChannel::stage(ArrivedCommand& arrived, std::size_t bytes) {
  Command& command = own(arrived);
  if (!command.in_use) return nvme::sc::internal_error;
  command.data = {};
  command.pushed = 0;
  if (bytes > fabric_.options_.transfer_bytes_max) return nvme::sc::invalid_field;
  const SglLimits limits{capsule_room_, fabric_.options_.msdbd};
  const nvme::Status status = read_sgl(command.sqe, command.in_capsule, limits, bytes, hooks(), command.plan);
  if (!status.ok()) {
    command.plan = {};
    return status;
  }
  if (bytes == 0) return status;
  if (command.plan.kind == SglPlan::Kind::in_capsule && command.plan.offset + bytes <= command.in_capsule.size()) {
    // The data is used where it arrived; the receive buffer is the command's until it is answered.
    const std::size_t head = receive_memory(command.receive).size() - capsule_room_;
    command.data = receive_memory(command.receive).subspan(head + command.plan.offset, bytes);
    return status;
  }
  const std::size_t room = bytes + (hooks() != nullptr ? kBeyond : 0);
  if (command.staging != nullptr && command.staging->memory.size() < room) {
    fabric_.pool_->release(std::exchange(command.staging, nullptr));
  }
  if (command.staging == nullptr) command.staging = fabric_.pool_->acquire(room);
  command.data = command.staging->memory.first(bytes);
  if (hooks() != nullptr) {
    // Where a check is left out, less may arrive than the command works on, or more leave.
    const MutableBytes all = command.staging->memory.first(room);
    std::fill(all.begin(), all.end(), std::uint8_t{0});
  }
  return status;
}

// ---- data from the host ----

void RdmaControllerChannel::pull(ArrivedCommand& arrived) {
  Command& command = own(arrived);
  if (!command.in_use || ended_) return;
  if (reads_of(command) == 0) return handler_->on_pulled(command);
  if (first_pull_ == nullptr && post_reads(command)) return;
  command.waits = true;
  command.next_waiting = nullptr;
  (last_pull_ != nullptr ? last_pull_->next_waiting : first_pull_) = &command;
  last_pull_ = &command;
}

/// RDMA READs that the command's data takes.
std::uint32_t RdmaControllerChannel::reads_of(const Command& command) const {
  if (command.plan.kind != SglPlan::Kind::keyed) return 0;
  std::uint32_t reads = 0;
  std::size_t sum = 0;
  for (std::uint32_t i = 0; i < command.plan.segments && sum < command.data.size(); ++i) {
    const std::uint32_t length = segment_of(command.plan, command.in_capsule, i).length;
    sum += length;
    if (length > 0) ++reads;
  }
  return reads;
}

/// Posts the RDMA READs of a command, the last of them signaled. False when they must wait for room. The host serves only so many
/// at a time: the device holds them to that.
bool RdmaControllerChannel::post_reads(Command& command) {
  std::uint32_t reads = reads_of(command);
  if (first_waiting_ != nullptr || room() < reads) return false;
  command.reads = reads;
  std::size_t done = 0;
  for (std::uint32_t i = 0; reads > 0; ++i) {
    const KeyedSegment segment = segment_of(command.plan, command.in_capsule, i);
    const std::size_t length = std::min(std::size_t{segment.length}, command.data.size() - done);
    if (length == 0) continue;
    const rdma::Sge sge = command.staging->sge(done, length);
    rdma::SendRequest request;
    request.opcode = rdma::SendOpcode::rdma_read;
    request.sges = {&sge, 1};
    request.remote_address = segment.address & address_mask_;
    request.rkey = segment.key;
    request.signaled = --reads == 0;
    link_->post(request, request.signaled ? WorkKind::read : WorkKind::none, command.index);
    done += length;
  }
  return true;
}

void RdmaControllerChannel::drain_pulls() {
  while (first_pull_ != nullptr && post_reads(*first_pull_)) {
    Command& command = *first_pull_;
    first_pull_ = command.next_waiting;
    if (first_pull_ == nullptr) last_pull_ = nullptr;
    command.waits = false;
  }
}

// ---- data to the host, and responses ----

void RdmaControllerChannel::push(ArrivedCommand& arrived, std::size_t bytes) {
  Command& command = own(arrived);
  BENCH_ASSERT(bytes <= command.data.size() || !command.in_use, "push() of more than was staged");
  if (command.plan.kind == SglPlan::Kind::keyed) command.pushed = static_cast<std::uint32_t>(bytes);
}

void RdmaControllerChannel::respond(ArrivedCommand& arrived, ByteView cqe) {
  Command& command = own(arrived);
  if (!command.in_use || ended_) return;
  ResponseContext& context = fabric_.acquire_context();
  plan_response(context, command);
  World& world = fabric_.world_;
  if (hooks() != nullptr) {
    depart_response(context, command);
    scratch_.assign(cqe.begin(), cqe.end());
    if (hooks()->departs("rdma.response.longer")) scratch_.resize(scratch_.size() + 4);
    hooks()->capsule_out(request_.qid, scratch_);
    cqe = scratch_;
  }
  if (world.trace().on()) trace_capsule(world, "target", false, true, request_.qid, cqe);
  context.capsule = fabric_.pool_->acquire(cqe.size());
  context.capsule_bytes = static_cast<std::uint32_t>(cqe.size());
  std::copy(cqe.begin(), cqe.end(), context.capsule->memory.begin());
  // The receive buffer first: the host may send the next command as soon as it has the response.
  finish_command(command);
  submit(context);
}

void RdmaControllerChannel::drop(ArrivedCommand& arrived) {
  Command& command = own(arrived);
  if (!command.in_use || ended_) return;
  finish_command(command);
}

void RdmaControllerChannel::send_extra(ByteView cqe) {
  if (ended_) return;
  ResponseContext& context = fabric_.acquire_context();
  Command none;
  plan_response(context, none);
  if (fabric_.world_.trace().on()) {
    trace_capsule(fabric_.world_, "target", false, true, request_.qid, cqe);
  }
  context.capsule = fabric_.pool_->acquire(cqe.size());
  context.capsule_bytes = static_cast<std::uint32_t>(cqe.size());
  std::copy(cqe.begin(), cqe.end(), context.capsule->memory.begin());
  submit(context);
}

/// The honest response: the data in the order of the SGL, then one SEND that invalidates the key of the
/// last descriptor where the host asked for it.
void RdmaControllerChannel::plan_response(ResponseContext& context, Command& command) {
  context.segments = 0;
  context.data_bytes = 0;
  context.invalidates = false;
  context.data_last = context.data_again = context.split = false;
  context.fence = command.reads > 0;
  if (command.plan.kind == SglPlan::Kind::keyed) {
    // An answer ahead of the host's data (an abort) carries none.
    const std::uint32_t bytes = context.fence ? 0 : command.pushed;
    for (std::uint32_t i = 0; i < command.plan.segments && context.data_bytes < bytes; ++i) {
      KeyedSegment segment = segment_of(command.plan, command.in_capsule, i);
      segment.length = std::min(segment.length, bytes - context.data_bytes);
      if (segment.length == 0) continue;
      context.data_bytes += segment.length;
      context.segment[context.segments++] = segment;
    }
    context.invalidates = command.plan.last.invalidate;
    context.invalidated_key = command.plan.last.key;
  }
  // Reads that are still under way write into the staging memory: it stays with the command then.
  context.staging = command.reads > 0 ? nullptr : std::exchange(command.staging, nullptr);
}

void RdmaControllerChannel::depart_response(ResponseContext& context, const Command& command) {
  TransportHooks& asked = *hooks();
  const bool keyed = command.plan.kind == SglPlan::Kind::keyed;
  if (keyed && asked.departs("rdma.invalidate.never")) {
    context.invalidates = false;
    if (!left_ && context.segments > 0) left_ = context.segment[0];
  }
  if (keyed && asked.departs("rdma.invalidate.not_asked")) context.invalidates = true;
  if (keyed && asked.departs("rdma.invalidate.first_key")) {
    context.invalidated_key = command.plan.first.key;
  }
  if (context.invalidates && asked.departs("rdma.invalidate.wrong_key")) {
    // A key of another command in progress is valid and yet wrong; without one, a key of nobody.
    context.invalidated_key ^= 0x80u;
    for (std::uint32_t i = 0; i < commands_; ++i) {
      const Command& other = command_at(i);
      if (&other == &command || !other.in_use) continue;
      SglPlan plan;
      const SglLimits limits{capsule_room_, fabric_.options_.msdbd};
      const nvme::Status status = read_sgl(other.sqe, other.in_capsule, limits, 0, nullptr, plan);
      if (status.ok() && plan.kind == SglPlan::Kind::keyed && plan.last.length > 0) {
        context.invalidated_key = plan.last.key;
      }
    }
  }
  if (context.segments > 0) {
    context.data_last = asked.departs("rdma.data.after_response");
    context.data_again = asked.departs("rdma.data.again_after_response");
    KeyedSegment& last = context.segment[context.segments - 1];
    if (asked.departs("rdma.data.left_key") && left_) {
      last.address = left_->address;
      last.key = left_->key;
      last.length = std::min(last.length, left_->length);
    }
    if (asked.departs("rdma.data.beyond_length")) {
      last.length += kBeyond;
      context.data_bytes += kBeyond;
    }
    if (asked.departs("rdma.data.short")) {
      context.data_bytes -= last.length - last.length / 2;
      last.length /= 2;
    }
  }
  context.split = asked.departs("rdma.response.two_sends");
}

std::uint32_t RdmaControllerChannel::needs(const ResponseContext& context) const {
  return context.segments * (context.data_again ? 2 : 1) + (context.split ? 2 : 1);
}

/// What the send queue takes beside the SENDs that are owed.
std::uint32_t RdmaControllerChannel::room() const { return link_->room() - gathered_; }

void RdmaControllerChannel::submit(ResponseContext& context) {
  if (first_waiting_ == nullptr && room() >= needs(context)) return post_response(context);
  (last_waiting_ != nullptr ? last_waiting_->next : first_waiting_) = &context;
  last_waiting_ = &context;
}

void RdmaControllerChannel::drain_responses() {
  while (first_waiting_ != nullptr && room() >= needs(*first_waiting_)) {
    ResponseContext& context = *first_waiting_;
    first_waiting_ = context.next;
    if (first_waiting_ == nullptr) last_waiting_ = nullptr;
    post_response(context);
  }
}

/// Posts the writes of a response. With `last`, the last of them completes the response.
void RdmaControllerChannel::post_writes(const ResponseContext& context, bool last) {
  std::size_t done = 0;
  for (std::uint32_t i = 0; i < context.segments; ++i) {
    const KeyedSegment& segment = context.segment[i];
    const rdma::Sge sge = context.staging->sge(done, segment.length);
    rdma::SendRequest request;
    request.opcode = rdma::SendOpcode::rdma_write;
    request.sges = {&sge, 1};
    request.remote_address = segment.address & address_mask_;
    request.rkey = segment.key;
    request.signaled = last && i + 1 == context.segments;
    link_->post(request, request.signaled ? WorkKind::send : WorkKind::none, context.index);
    done += segment.length;
  }
}

/// The data at once, and the SEND behind the data of the other responses of this turn: in real time, where packets cost calls.
void RdmaControllerChannel::post_response(ResponseContext& context) {
  context.next = nullptr;
  (last_sent_ != nullptr ? last_sent_->next : first_sent_) = &context;
  last_sent_ = &context;
  if (!context.data_last) post_writes(context, false);
  if (first_gathered_ == nullptr) first_gathered_ = &context;
  gathered_ += needs(context) - (context.data_last ? 0 : context.segments);
  gathered_bytes_ += context.data_bytes;
  if (fabric_.world_.real_loop() == nullptr || gathered_bytes_ >= kGatheredBytes) return post_sends();
  if (!sends_.scheduled()) fabric_.world_.loop().schedule(sends_, fabric_.world_.now());
}

void RdmaControllerChannel::post_sends() {
  fabric_.world_.loop().cancel(sends_);
  if (ended_) return;
  gathered_ = gathered_bytes_ = 0;
  for (const ResponseContext* context = std::exchange(first_gathered_, nullptr); context != nullptr; context = context->next) {
    post_send(*context);
  }
}

void RdmaControllerChannel::post_send(const ResponseContext& context) {
  const bool writes_follow = context.data_last || context.data_again;
  std::uint32_t sent = 0;
  for (int part = context.split ? 0 : 1; part < 2; ++part) {
    const std::uint32_t bytes = part == 0 ? context.capsule_bytes / 2 : context.capsule_bytes - sent;
    const rdma::Sge sge = context.capsule->sge(sent, bytes);
    sent += bytes;
    rdma::SendRequest request;
    // A device that cannot answers plainly, which is a controller's right: the host invalidates then.
    const bool invalidates = context.invalidates && part == 1 && fabric_.limits_.remote_invalidation;
    request.opcode = invalidates ? rdma::SendOpcode::send_with_invalidate : rdma::SendOpcode::send;
    request.invalidate_rkey = context.invalidated_key;
    request.sges = {&sge, 1};
    request.fence = context.fence;
    request.signaled = part == 1 && !writes_follow;
    link_->post(request, request.signaled ? WorkKind::send : WorkKind::none, context.index);
  }
  if (writes_follow) post_writes(context, true);
}

}  // namespace fb::transport
