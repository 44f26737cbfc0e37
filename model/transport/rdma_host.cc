#include "model/transport/rdma_host.h"

#include <algorithm>
#include <utility>

#include "model/transport/rdma_rules.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sgl.h"
#include "wire/nvme/sqe.h"

namespace fb::transport {

namespace {

constexpr std::size_t kResponseSize = 16;
/// Receive buffers are larger than a response, so that one that is too long is seen and named.
constexpr std::size_t kReceiveSize = 64;
constexpr std::size_t kInlineMost = 256;
constexpr std::size_t kPoolLargest = 8u << 20;

/// No more than the command needs: a controller that writes where it should read is found out.
rdma::Access access_for(Direction direction) {
  using rdma::Access;
  return direction == Direction::to_controller     ? Access::remote_read
         : direction == Direction::from_controller ? Access::local_write | Access::remote_write
                                                   : Access::local_write | Access::remote_write | Access::remote_read;
}

}  // namespace

RdmaHostFabric::RdmaHostFabric(World& world, rdma::Device& device, TransportHooks* hooks)
    : world_(world),
      device_(device),
      hooks_(hooks),
      limits_(device.limits()),
      domain_(device.allocate_protection_domain()),
      pool_(*domain_, kPoolLargest),
      graveyard_(world) {}

std::unique_ptr<HostChannel> RdmaHostFabric::make_channel(HostChannelHandler& handler) {
  return std::make_unique<RdmaHostChannel>(*this, handler);
}

RdmaHostChannel::RdmaHostChannel(RdmaHostFabric& fabric, HostChannelHandler& handler) : fabric_(fabric), handler_(handler) {}

RdmaHostChannel::~RdmaHostChannel() { bury(); }

// ---- connection ----

void RdmaHostChannel::connect(const Endpoint& to, const ChannelOptions& options) {
  bury();
  options_ = options;
  state_ = State::connecting;
  slots_.clear();
  slots_.resize(options.entries);
  waiting_.clear();
  if (!open_link()) {
    fabric_.world_.loop().schedule_after(fail_soon_, Duration::ns(0));
    return;
  }
  const Bytes private_data = make_queue_request(options, fabric_.hooks_);
  rdma::ConnectionParameters parameters;
  parameters.private_data = private_data;
  const std::uint32_t reads = std::min<std::uint32_t>(fabric_.limits_.max_reads, 255);
  parameters.responder_resources =
      departs(fabric_.hooks_, "rdma.host.request.responder_resources") ? std::uint8_t{0} : static_cast<std::uint8_t>(reads);
  parameters.initiator_depth = departs(fabric_.hooks_, "rdma.host.request.initiator_depth") ? std::uint8_t{4} : std::uint8_t{0};
  link_->qp().connect(to, parameters);
}

bool RdmaHostChannel::open_link() {
  const std::uint32_t entries = options_.entries;
  LinkOptions link;
  // A command takes at most a registration, a SEND and an invalidation.
  link.send_entries = std::min(fabric_.limits_.max_queue_entries, entries * 3 + 32);
  link.receive_entries = entries + 1;
  link_ = RdmaLink::make(fabric_.world_, fabric_.device_, *fabric_.domain_, link, *this);
  if (link_ == nullptr) return false;
  receives_ = fabric_.pool_.acquire(kReceiveSize * (entries + 1));
  inline_max_ = std::min<std::size_t>(fabric_.limits_.max_inline_bytes, kInlineMost);
  inline_ = fabric_.pool_.acquire(kInlineMost);
  for (std::uint32_t i = 0; i <= entries; ++i) post_receive(i);
  return true;
}

void RdmaHostChannel::post_receive(std::uint32_t index) {
  const rdma::Sge sge = receives_->sge(index * kReceiveSize, kReceiveSize);
  rdma::ReceiveRequest request;
  request.id = RdmaLink::receive_id(index);
  request.sges = {&sge, 1};
  if (!link_->qp().post_receive(request)) link_->break_off("the receive queue takes no buffer");
}

void RdmaHostChannel::on_established(const rdma::ConnectionFacts& facts) {
  if (fabric_.hooks_ != nullptr) fabric_.hooks_->private_data_in("rep", facts.private_data);
  if (state_ != State::connecting) return;
  state_ = State::connected;
  const Record<fabrics::RdmaAccept> accept{facts.private_data};
  link_->start();
  handler_.on_connected({accept.get(fabrics::rdma_accept::crqsize), facts.responder_resources});
}

void RdmaHostChannel::on_rejected(std::uint16_t reason, ByteView private_data) {
  if (fabric_.hooks_ != nullptr) fabric_.hooks_->private_data_in("rej", private_data);
  end(refused_end(reason, private_data));
}

void RdmaHostChannel::on_unreachable() { end(ChannelEnd::Kind::unreachable, "the controller's address does not answer"); }

void RdmaHostChannel::on_disconnected() {
  if (state_ == State::disconnecting) return end(ChannelEnd::Kind::closed, "disconnected");
  end(ChannelEnd::Kind::lost, "the controller disconnected");
}

void RdmaHostChannel::on_broken(std::string_view why) {
  // The flushed queue of a disconnect of ours is not a loss.
  if (state_ == State::disconnecting) return;
  end(ChannelEnd::Kind::lost, std::string(why));
}

void RdmaHostChannel::disconnect() {
  if (state_ != State::connecting && state_ != State::connected) return;
  if (link_ == nullptr) return;
  state_ = State::disconnecting;
  link_->qp().disconnect();
}

void RdmaHostChannel::fail_soon() { end(ChannelEnd::Kind::lost, "the RDMA device has no resources for another queue pair"); }

void RdmaHostChannel::end(ChannelEnd::Kind kind, std::string text) {
  ChannelEnd why;
  why.kind = kind;
  why.text = std::move(text);
  end(std::move(why));
}

/// The last thing that a callback does: the handler may destroy the channel.
void RdmaHostChannel::end(ChannelEnd why) {
  if (state_ == State::ended || state_ == State::idle) return;
  if (link_ != nullptr && why.kind == ChannelEnd::Kind::lost) link_->take_down();
  state_ = State::ended;
  handler_.on_end(why);
}

void RdmaHostChannel::bury() {
  fabric_.world_.loop().cancel(fail_soon_);
  if (link_ == nullptr) return;
  link_->orphan();
  link_->take_down();
  auto grave = std::make_unique<BuriedLink>();
  grave->pool = &fabric_.pool_;
  for (Slot& slot : slots_) {
    slot.whole.reset();  // its memory is the caller's
    if (slot.capsule != nullptr) grave->buffers.push_back(slot.capsule);
    if (slot.region != nullptr) grave->regions.push_back(std::move(slot.region));
  }
  for (RegisteredPool::Buffer* buffer : raw_) {
    if (buffer != nullptr) grave->buffers.push_back(buffer);
  }
  raw_.clear();
  grave->buffers.push_back(std::exchange(receives_, nullptr));
  grave->buffers.push_back(std::exchange(inline_, nullptr));
  grave->link = std::move(link_);
  fabric_.graveyard_.bury(std::move(grave));
  slots_.clear();
  state_ = State::idle;
}

// ---- commands out ----

std::uint64_t RdmaHostChannel::address_of(const Slot& slot) const {
  if (slot.whole != nullptr) return slot.whole->address();
  // A name of its own for each slot's memory, with room for the 24 bits of a keyed length.
  return (std::uint64_t{options_.qid} + 1) << 40 | std::uint64_t{index_of(slot)} << 24;
}

bool RdmaHostChannel::send(std::uint16_t slot_index, MutableBytes sqe, const HostTransfer& transfer) {
  if (state_ != State::connected) return false;
  BENCH_ASSERT(slot_index < slots_.size(), "slot beyond the queue");
  BENCH_ASSERT(transfer.data.size() <= nvme::SglDescriptor::kKeyedLengthMax, "a keyed length has 24 bits");
  Slot& slot = slots_[slot_index];
  BENCH_ASSERT(!slot.releasing && slot.capsule == nullptr, "the slot is in use");
  TransportHooks* hooks = fabric_.hooks_;
  const MutableBytes data = transfer.data;
  bool in_capsule = false;
  if (transfer.keep_dptr) {
    if (!data.empty() && !slot.registered) register_slot(slot, data, Direction::none);
  } else {
    std::size_t room = options_.in_capsule_bytes;
    if (hooks != nullptr && hooks->departs("rdma.host.capsule.admin_in_capsule")) room = 4096;
    if (hooks != nullptr && hooks->departs("rdma.host.capsule.too_long")) room += 4096;
    in_capsule = transfer.direction == Direction::to_controller && transfer.allow_in_capsule && !data.empty() && data.size() <= room;
    if (!in_capsule && !data.empty()) register_slot(slot, data, transfer.direction);
    slot.data = data;
    put_dptr(sqe, slot, in_capsule);
  }
  slot.cid = View<nvme::SqeLayout>{sqe}.get(nvme::sqe::cid);
  slot.outstanding = true;
  slot.raw_sgl = transfer.keep_dptr;
  emit(slot, sqe, in_capsule ? ByteView{data} : ByteView{});
  return true;
}

void RdmaHostChannel::put_dptr(MutableBytes sqe, const Slot& slot, bool in_capsule) const {
  auto length = static_cast<std::uint32_t>(slot.data.size());
  if (in_capsule) return write_sgl(sqe, nvme::SglDescriptor::in_capsule(0, length).bytes());
  if (length == 0) return write_sgl(sqe, nvme::SglDescriptor::keyed(0, 0, 0).bytes());
  if (departs(fabric_.hooks_, "rdma.host.sgl.keyed_length")) length /= 2;
  const bool invalidate = options_.remote_invalidate && fabric_.limits_.remote_invalidation && slot.whole == nullptr;
  write_sgl(sqe, nvme::SglDescriptor::keyed(address_of(slot), length, slot.key, invalidate).bytes());
}

/// Chooses the new key; the work request is posted by progress().
void RdmaHostChannel::register_slot(Slot& slot, MutableBytes data, Direction direction) {
  const rdma::DeviceLimits& limits = fabric_.limits_;
  const bool fast = limits.fast_registration && data.size() <= limits.max_fast_register_bytes;
  if (slot.whole != nullptr) {
    slot.whole.reset();
    slot.registered = false;
  }
  if (!fast) {
    if (slot.registered && !slot.to_register) {
      slot.to_invalidate = true;
      slot.stale_key = slot.key;
    }
    slot.whole = fabric_.domain_->register_memory(data, access_for(direction));
    slot.key = slot.whole->rkey();
    slot.data = data;
    slot.direction = direction;
    slot.registered = true;
    slot.to_register = false;
    return;
  }
  if (slot.region == nullptr) {
    slot.region = fabric_.domain_->allocate_fast_region(fabric_.limits_.max_fast_register_bytes);
  }
  if (slot.registered && !slot.to_register) {
    slot.to_invalidate = true;
    slot.stale_key = slot.key;
  }
  ++slot.key_byte;
  slot.key = slot.region->rkey();
  if (limits.chosen_key_bytes) slot.key = (slot.key & 0xFFFFFF00u) | slot.key_byte;
  slot.data = data;
  slot.direction = direction;
  slot.registered = true;
  slot.to_register = true;
}

ByteView RdmaHostChannel::hooked(ByteView capsule) {
  World& world = fabric_.world_;
  if (fabric_.hooks_ != nullptr) {
    scratch_.assign(capsule.begin(), capsule.end());
    fabric_.hooks_->capsule_out(options_.qid, scratch_);
    capsule = scratch_;
  }
  if (world.trace().on()) trace_capsule(world, "host", true, true, options_.qid, capsule);
  return capsule;
}

void RdmaHostChannel::emit(Slot& slot, ByteView sqe, ByteView data) {
  ByteView capsule = sqe;
  const bool copied = !data.empty();
  if (copied) {
    slot.capsule = fabric_.pool_.acquire(sqe.size() + data.size());
    const MutableBytes memory = slot.capsule->memory;
    std::copy(sqe.begin(), sqe.end(), memory.begin());
    std::copy(data.begin(), data.end(), memory.begin() + static_cast<std::ptrdiff_t>(sqe.size()));
    capsule = memory.first(sqe.size() + data.size());
  }
  if (fabric_.hooks_ != nullptr || fabric_.world_.trace().on()) capsule = hooked(capsule);
  slot.capsule_bytes = static_cast<std::uint32_t>(capsule.size());
  slot.to_send = true;
  // Inline at once where that is possible; otherwise from a buffer that lives until it is sent.
  constexpr std::uint32_t kWorst = 3;
  const bool direct = capsule.size() <= inline_max_ && waiting_.empty() && link_->room() >= kWorst;
  if (direct) {
    if (slot.capsule != nullptr) fabric_.pool_.release(std::exchange(slot.capsule, nullptr));
    return progress(slot, capsule);
  }
  if (slot.capsule == nullptr || slot.capsule->memory.size() < capsule.size()) {
    if (slot.capsule != nullptr) fabric_.pool_.release(slot.capsule);
    slot.capsule = fabric_.pool_.acquire(capsule.size());
  }
  if (slot.capsule->memory.data() != capsule.data()) {
    std::copy(capsule.begin(), capsule.end(), slot.capsule->memory.begin());
  }
  submit(slot);
}

/// Posts what the slot has to post, or lines it up behind others that wait.
void RdmaHostChannel::submit(Slot& slot) {
  constexpr std::uint32_t kWorst = 3;
  if (slot.waiting) return;
  if (!waiting_.empty() || link_->room() < kWorst) {
    slot.waiting = true;
    waiting_.push_back(index_of(slot));
    return;
  }
  progress(slot, slot.capsule == nullptr ? ByteView{} : ByteView{slot.capsule->memory}.first(slot.capsule_bytes));
}

void RdmaHostChannel::progress(Slot& slot, ByteView capsule) {
  if (slot.to_invalidate) {
    slot.to_invalidate = false;
    // Ahead of a new registration nobody waits for it.
    const bool again = slot.to_register;
    rdma::SendRequest request;
    request.opcode = rdma::SendOpcode::local_invalidate;
    request.invalidate_rkey = slot.stale_key;
    request.signaled = !again;
    link_->post(request, again ? WorkKind::none : WorkKind::local_invalidate, index_of(slot));
  }
  if (slot.to_register) {
    slot.to_register = false;
    rdma::SendRequest request;
    request.opcode = rdma::SendOpcode::fast_register;
    request.signaled = false;
    request.region = slot.region.get();
    request.memory = slot.data;
    request.iova = address_of(slot);
    request.access = access_for(slot.direction);
    request.key_byte = slot.key_byte;
    link_->post(request, WorkKind::none, index_of(slot));
  }
  if (slot.to_send) {
    slot.to_send = false;
    post_capsule(capsule, slot.capsule, WorkKind::send, index_of(slot));
  }
}

void RdmaHostChannel::post_capsule(ByteView capsule, RegisteredPool::Buffer* buffer, WorkKind kind, std::uint32_t index) {
  rdma::SendRequest request;
  request.opcode = rdma::SendOpcode::send;
  request.inline_data = buffer == nullptr;
  request.signaled = buffer != nullptr;
  if (buffer == nullptr) {
    // Copied at post time, so that one buffer serves all.
    std::copy(capsule.begin(), capsule.end(), inline_->memory.begin());
    buffer = inline_;
  }
  const rdma::Sge sge = buffer->sge(0, capsule.size());
  request.sges = {&sge, 1};
  link_->post(request, request.inline_data ? WorkKind::none : kind, index);
}

void RdmaHostChannel::drain_waiting() {
  constexpr std::uint32_t kWorst = 3;
  std::size_t done = 0;
  while (done < waiting_.size() && link_->room() >= kWorst) {
    Slot& slot = slots_[waiting_[done++]];
    slot.waiting = false;
    progress(slot, slot.capsule == nullptr ? ByteView{} : ByteView{slot.capsule->memory}.first(slot.capsule_bytes));
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(done));
}

bool RdmaHostChannel::send_raw(ByteView capsule) {
  if (state_ != State::connected || link_->room() < 4) return false;
  capsule = hooked(capsule);
  if (capsule.size() <= inline_max_) {
    post_capsule(capsule, nullptr, WorkKind::none, 0);
    return true;
  }
  RegisteredPool::Buffer* buffer = fabric_.pool_.acquire(capsule.size());
  std::copy(capsule.begin(), capsule.end(), buffer->memory.begin());
  auto place = std::find(raw_.begin(), raw_.end(), nullptr);
  if (place == raw_.end()) place = raw_.insert(raw_.end(), nullptr);
  *place = buffer;
  post_capsule(buffer->memory.first(capsule.size()), buffer, WorkKind::raw, static_cast<std::uint32_t>(place - raw_.begin()));
  return true;
}

HostChannel::RemoteBuffer RdmaHostChannel::expose(std::uint16_t slot_index, MutableBytes data) {
  if (state_ != State::connected) return {};
  BENCH_ASSERT(slot_index < slots_.size(), "slot beyond the queue");
  Slot& slot = slots_[slot_index];
  register_slot(slot, data, Direction::none);
  submit(slot);
  return {address_of(slot), slot.key};
}

// ---- responses in ----

bool RdmaHostChannel::release(std::uint16_t slot_index, const ResponseFacts&) {
  BENCH_ASSERT(slot_index < slots_.size(), "slot beyond the queue");
  Slot& slot = slots_[slot_index];
  slot.outstanding = false;
  if (slot.whole != nullptr && !departs(fabric_.hooks_, "rdma.host.invalidate.no_local")) {
    slot.whole.reset();
    slot.registered = false;
  }
  if (state_ != State::connected) return true;
  // Without local invalidation the key stays valid until the slot registers anew.
  if (slot.to_register) slot.to_register = slot.registered = false;  // never got to the device
  if (slot.registered && slot.whole == nullptr && !departs(fabric_.hooks_, "rdma.host.invalidate.no_local")) {
    slot.stale_key = slot.key;
    slot.releasing = slot.invalidating = slot.to_invalidate = true;
    submit(slot);
    return false;
  }
  slot.releasing = slot.capsule != nullptr;
  return !slot.releasing;
}

/// Something of a slot is done: tells its owner when it was all.
void RdmaHostChannel::settle(Slot& slot) {
  if (!slot.releasing || slot.invalidating || slot.capsule != nullptr) return;
  slot.releasing = false;
  handler_.on_released(index_of(slot));
}

void RdmaHostChannel::on_completion(WorkKind kind, std::uint32_t index, const rdma::Completion& completion) {
  if (state_ == State::ended || state_ == State::disconnecting) return;
  if (completion.status != rdma::CompletionStatus::success) {
    // What was flushed follows from an error that is reported of its own.
    if (completion.status == rdma::CompletionStatus::flushed) return;
    const char* what = kind == WorkKind::receive ? "receiving a response" : "a work request";
    return end(ChannelEnd::Kind::lost, std::string(what) + " failed: " + std::string(name_of(completion.status)));
  }
  if (kind == WorkKind::receive) return arrive(index, completion);
  if (kind == WorkKind::raw) {
    fabric_.pool_.release(std::exchange(raw_[index], nullptr));
  } else if (kind == WorkKind::send) {
    Slot& slot = slots_[index];
    fabric_.pool_.release(std::exchange(slot.capsule, nullptr));
    if (!waiting_.empty()) drain_waiting();
    return settle(slot);
  } else if (kind == WorkKind::local_invalidate) {
    Slot& slot = slots_[index];
    slot.registered = slot.invalidating = false;
    if (!waiting_.empty()) drain_waiting();
    return settle(slot);
  }
  if (!waiting_.empty()) drain_waiting();
}

void RdmaHostChannel::arrive(std::uint32_t index, const rdma::Completion& completion) {
  const ByteView capsule = ByteView{receives_->memory}.subspan(index * kReceiveSize, completion.byte_length);
  World& world = fabric_.world_;
  if (fabric_.hooks_ != nullptr) fabric_.hooks_->capsule_in(options_.qid, capsule);
  if (world.trace().on()) trace_capsule(world, "host", false, false, options_.qid, capsule);
  const bool takes_longer = capsule.size() > kResponseSize && departs(fabric_.hooks_, "rdma.host.response.length");
  if (capsule.size() != kResponseSize && !takes_longer) {
    return end(ChannelEnd::Kind::lost, "a response capsule of " + std::to_string(capsule.size()) + " bytes instead of 16");
  }
  const std::uint16_t cid = View<nvme::CqeLayout>{capsule}.get(nvme::cqe::cid);
  if (completion.has_invalidate && !take_invalidation(cid, completion.invalidated_rkey) &&
      !departs(fabric_.hooks_, "rdma.host.invalidate.ignore_bogus")) {
    world.trace().mark("transport.host.bogus_invalidation");
    return end(ChannelEnd::Kind::lost,
               "bogus remote invalidation: a response invalidated a key "
               "that is not its command's");
  }
  // The buffer goes back first, so that a command sent from the handler finds a receive for its
  // response; its bytes stay, because nothing arrives before the next event.
  post_receive(index);
  handler_.on_response(capsule, {completion.has_invalidate, completion.invalidated_rkey});
}

/// True when the response to `cid` may have invalidated `key`.
bool RdmaHostChannel::take_invalidation(std::uint16_t cid, std::uint32_t key) {
  const auto answers = [&](const Slot& slot) { return slot.outstanding && slot.cid == cid; };
  auto found = slots_.begin();
  // Most callers number their commands by slot.
  if (cid < slots_.size() && answers(slots_[cid])) {
    found += cid;
  } else {
    found = std::find_if(slots_.begin(), slots_.end(), answers);
  }
  if (found != slots_.end() && !found->raw_sgl) {
    if (!found->registered || found->key != key) return false;
    found->registered = false;
    return true;
  }
  // A hand-made SGL may name any memory that was exposed on this queue.
  for (Slot& slot : slots_) {
    if (slot.registered && slot.key == key) return slot.registered = false, true;
  }
  return false;
}

}  // namespace fb::transport
