#include "model/transport/rdma_controller_channel.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.h"
#include "wire/nvme/sqe.h"

namespace fb::transport {

namespace {

constexpr std::uint32_t kSendEntriesLeast = 64;

}  // namespace

/// What is left of a channel. Shared receive buffers that the queue pair had taken go back.
struct RdmaControllerFabric::Grave final : BuriedLink {
  ~Grave() override {
    if (!drains) return;
    link->drain([this](std::uint32_t index) {
      --fabric->shared_posted_;
      fabric->post_shared(index);
    });
  }
  RdmaControllerFabric* fabric = nullptr;
  bool drains = false;
};

RdmaControllerChannel::RdmaControllerChannel(RdmaControllerFabric& fabric, const QueueRequest& request, const rdma::ConnectionFacts& facts)
    : fabric_(fabric), request_(request), peer_(facts.peer) {
  const std::uint32_t most = std::min<std::uint32_t>(fabric.limits_.max_reads, 255);
  read_depth_ = std::clamp<std::uint32_t>(facts.responder_resources, 1, most);
  if (departs(fabric.hooks_, "rdma.data.address")) address_mask_ >>= 16;
  // A host whose bad sizes were let through on purpose still gets a queue that works.
  request_.entries = std::max(request_.entries, 1u);
  ++fabric_.connections_;
}

RdmaControllerChannel::~RdmaControllerChannel() {
  if (established_ || !departs(hooks(), "rdma.connection.abandoned")) --fabric_.connections_;
  if (link_ == nullptr) return;
  link_->orphan();
  link_->take_down();
  auto grave = std::make_unique<RdmaControllerFabric::Grave>();
  grave->fabric = &fabric_;
  grave->drains = shared_receives_;
  grave->pool = fabric_.pool_.get();
  const auto keep = [&](RegisteredPool::Buffer*& buffer) {
    if (buffer != nullptr) grave->buffers.push_back(std::exchange(buffer, nullptr));
  };
  for (ResponseContext* list : {first_sent_, first_waiting_}) {
    while (list != nullptr) {
      ResponseContext& context = *list;
      list = context.next;
      keep(context.capsule);
      keep(context.staging);
      fabric_.release_context(context);
    }
  }
  for (std::uint32_t i = 0; i < commands_; ++i) keep(command_at(i).staging);
  if (!ended_) void_commands();
  if (shared_receives_) fabric_.shared_wanted_ -= request_.entries;
  grave->block = std::move(receives_);
  grave->link = std::move(link_);
  fabric_.graveyard_.bury(std::move(grave));
}

// ---- connection ----

bool RdmaControllerChannel::open() {
  const bool room = !admin() || departs(hooks(), "rdma.capsule.admin_room");
  capsule_room_ = room ? fabric_.options_.in_capsule_bytes : 0;
  LinkOptions options;
  // Every command may have a write and a response under way. A response with more pieces finds its
  // room or waits for its turn; the longest there is must fit.
  options.send_entries = std::min(fabric_.limits_.max_queue_entries, std::max(std::bit_ceil(request_.entries) * 2, kSendEntriesLeast));
  options.receive_entries = request_.entries;
  shared_receives_ = !admin() && fabric_.shares_receives();
  if (shared_receives_) {
    options.shared = fabric_.shared_queue();
    if (options.shared == nullptr) return shared_receives_ = false;
  }
  link_ = RdmaLink::make(fabric_.world_, fabric_.device_, *fabric_.domain_, options, *this);
  if (link_ == nullptr) return shared_receives_ = false;
  if (shared_receives_) {
    fabric_.reserve_receives(request_.entries);
    return true;
  }
  const std::size_t size = nvme::kSqeSize + capsule_room_;
  receives_ = make_block(*fabric_.domain_, size * request_.entries);
  const std::uint32_t posted = departs(hooks(), "rdma.accept.receives") ? (request_.entries + 1) / 2 : request_.entries;
  for (std::uint32_t i = 0; i < posted; ++i) post_receive(i);
  return true;
}

void RdmaControllerChannel::accept(rdma::ConnectionRequest& request) {
  const Bytes private_data = make_queue_accept(request_, hooks());
  rdma::ConnectionParameters parameters;
  parameters.private_data = private_data;
  // The host reads nothing from us.
  parameters.responder_resources = departs(hooks(), "rdma.accept.responder_resources") ? std::uint8_t{4} : std::uint8_t{0};
  parameters.initiator_depth = static_cast<std::uint8_t>(read_depth_);
  request.accept(link_->qp(), parameters);
}

void RdmaControllerChannel::on_established(const rdma::ConnectionFacts&) {
  established_ = true;
  link_->start();
  fabric_.adopt(*this);
}

void RdmaControllerChannel::on_rejected(std::uint16_t reason, ByteView) {
  end("the host rejected the connection, reason " + std::to_string(reason));
}
void RdmaControllerChannel::on_unreachable() { end("the host does not answer"); }
void RdmaControllerChannel::on_disconnected() { end("the host disconnected"); }
void RdmaControllerChannel::on_broken(std::string_view why) { end(std::string(why)); }

/// The last thing that a callback does: the handler may destroy the channel.
void RdmaControllerChannel::end(std::string why) {
  if (ended_) return;
  ended_ = true;
  link_->take_down();
  void_commands();
  if (!established_) return fabric_.discard(*this);
  if (handler_ != nullptr) handler_->on_end(why);
}

void RdmaControllerChannel::close() {
  if (ended_) return;
  post_sends();
  ended_ = true;
  link_->take_down();
  void_commands();
}

/// The subsystem's commands are void. Their data memory stays until the queue pair is gone.
void RdmaControllerChannel::void_commands() {
  for (std::uint32_t i = 0; i < commands_; ++i) {
    Command& command = command_at(i);
    if (command.in_use && shared_receives_) fabric_.post_shared(command.receive);
    command.in_use = false;
  }
}

// ---- capsules in ----

MutableBytes RdmaControllerChannel::receive_memory(std::uint32_t index) const {
  const std::size_t size = nvme::kSqeSize + capsule_room_;
  if (shared_receives_) return {fabric_.shared_memory(index), size};
  return {receives_.memory.get() + index * size, size};
}

void RdmaControllerChannel::post_receive(std::uint32_t index) {
  if (shared_receives_) return fabric_.post_shared(index);
  const std::size_t size = nvme::kSqeSize + capsule_room_;
  const rdma::Sge sge = receives_.region->sge(index * size, static_cast<std::uint32_t>(size));
  rdma::ReceiveRequest request;
  request.id = RdmaLink::receive_id(index);
  request.sges = {&sge, 1};
  if (!link_->qp().post_receive(request)) link_->break_off("the receive queue takes no buffer");
}

RdmaControllerChannel::Command* RdmaControllerChannel::take_command() {
  if (free_commands_ == nullptr) {
    if (commands_ >= request_.entries) return nullptr;
    chunks_.push_back(std::make_unique<Command[]>(kChunk));
    const std::uint32_t end = std::min<std::uint32_t>(commands_ + kChunk, request_.entries);
    for (std::uint32_t i = end; i-- > commands_;) {
      Command& command = chunks_.back()[i % kChunk];
      command.channel = this;
      command.index = static_cast<std::uint16_t>(i);
      command.next_free = free_commands_;
      free_commands_ = &command;
    }
    commands_ = end;
  }
  Command* command = free_commands_;
  free_commands_ = command->next_free;
  return command;
}

void RdmaControllerChannel::on_completion(WorkKind kind, std::uint32_t index, const rdma::Completion& completion) {
  if (kind == WorkKind::receive && shared_receives_) --fabric_.shared_posted_;
  const bool good = completion.status == rdma::CompletionStatus::success;
  if (ended_ || !good) {
    if (kind == WorkKind::receive && shared_receives_) fabric_.post_shared(index);
    // What was flushed follows from an error that is reported of its own.
    if (ended_ || completion.status == rdma::CompletionStatus::flushed) return;
    if (kind == WorkKind::receive && completion.status == rdma::CompletionStatus::local_length_error) {
      return end("a command capsule is longer than the queue's capsules may be");
    }
    const char* what = kind == WorkKind::receive ? "receiving a capsule" : "a work request";
    return end(std::string(what) + " failed: " + std::string(name_of(completion.status)));
  }
  switch (kind) {
    case WorkKind::receive:
      return arrive(index, completion.byte_length);
    case WorkKind::read: {
      Command& command = command_at(index);
      command.reads = 0;
      drain_responses();
      drain_pulls();
      if (!command.in_use) return free_command(command);
      return handler_->on_pulled(command);
    }
    case WorkKind::send: {
      ResponseContext* context = first_sent_;
      BENCH_ASSERT(context != nullptr && context->index == index, "responses complete in order");
      first_sent_ = context->next;
      if (first_sent_ == nullptr) last_sent_ = nullptr;
      fabric_.release_context(*context);
      break;
    }
    default:
      break;
  }
  drain_responses();
  drain_pulls();
}

void RdmaControllerChannel::arrive(std::uint32_t index, std::uint32_t bytes) {
  const ByteView capsule = receive_memory(index).first(bytes);
  World& world = fabric_.world_;
  if (hooks() != nullptr) hooks()->capsule_in(request_.qid, capsule);
  if (world.trace().on()) trace_capsule(world, "target", true, false, request_.qid, capsule);
  if (bytes < nvme::kSqeSize && !departs(hooks(), "rdma.capsule.short")) {
    post_receive(index);
    world.trace().mark("transport.controller.short_capsule");
    return end("a command capsule of " + std::to_string(bytes) + " bytes");
  }
  Command* command = take_command();
  if (command != nullptr) return deliver(*command, index, bytes);
  // With receives of its own the queue would not have had one.
  post_receive(index);
  end("more commands than the queue has entries");
}

void RdmaControllerChannel::deliver(Command& command, std::uint32_t index, std::uint32_t bytes) {
  const MutableBytes capsule = receive_memory(index);
  const std::size_t head = std::min<std::size_t>(bytes, nvme::kSqeSize);
  std::copy_n(capsule.begin(), head, command.sqe.begin());
  std::fill(command.sqe.begin() + static_cast<std::ptrdiff_t>(head), command.sqe.end(), std::uint8_t{0});
  command.in_capsule = ByteView{capsule}.subspan(head, bytes - head);
  command.data = {};
  command.tag = 0;
  command.next = nullptr;
  command.receive = index;
  command.plan = {};
  command.pushed = 0;
  command.in_use = true;
  BENCH_ASSERT(handler_ != nullptr, "a channel needs its handler before its first command");
  handler_->on_command(command);
}

/// The subsystem is done with the command: its receive buffer takes the next capsule.
void RdmaControllerChannel::finish_command(Command& command) {
  command.in_use = false;
  command.data = {};
  command.in_capsule = {};
  if (command.waits) {
    Command** at = &first_pull_;
    Command* previous = nullptr;
    while (*at != &command) previous = *at, at = &(*at)->next_waiting;
    *at = command.next_waiting;
    if (last_pull_ == &command) last_pull_ = previous;
    command.waits = false;
  }
  post_receive(command.receive);
  // While the host is still being read from, the memory must stay.
  if (command.reads == 0) free_command(command);
}

void RdmaControllerChannel::free_command(Command& command) {
  if (command.staging != nullptr) fabric_.pool_->release(std::exchange(command.staging, nullptr));
  command.next_free = free_commands_;
  free_commands_ = &command;
}

}  // namespace fb::transport
