#include "model/transport/loopback.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <vector>

#include "model/transport/rdma_rules.h"
#include "sim/rdma/verbs_types.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sgl.h"
#include "wire/nvme/sqe.h"

namespace fb::transport {

namespace {

class Wire;
class LoopbackHostChannel;
class LoopbackControllerChannel;

constexpr std::size_t kResponseSize = 16;

}  // namespace

/// What the fabric, its listeners and its connections have in common.
struct LoopbackFabric::Shared {
  struct ListenerState {
    ControllerAcceptor* acceptor = nullptr;
    ControllerFabricOptions options;
    TransportHooks* hooks = nullptr;
    std::uint32_t connections = 0;
  };

  World& world;
  ControllerFabricOptions options;
  TransportHooks* host_hooks = nullptr;
  std::map<Endpoint, std::shared_ptr<ListenerState>> listeners;
};

namespace {

using Shared = LoopbackFabric::Shared;
using ListenerState = LoopbackFabric::Shared::ListenerState;

/// Something that travels. A queue of these is what a direction of a connection consists of.
struct Message {
  enum class Kind : std::uint8_t {
    request,
    capsule,
    pulled,
    disconnect,  // to the controller
    accepted,
    rejected,
    unreachable,
    response,
    disconnected,  // to the host
    broken,        // either way
  } kind = Kind::broken;
  std::uint16_t value = 0;  ///< pulled: slot; rejected: CM reason; accepted: CRQSIZE
  std::uint64_t epoch = 0;  ///< pulled: which use of the slot
  ResponseFacts facts;
  Bytes data;
  const char* why = "";
};

/// One connection: what is on its way in either direction, and the two ends while they exist.
class Wire final : public std::enable_shared_from_this<Wire> {
 public:
  Wire(std::shared_ptr<Shared> fabric, const Endpoint& target, LoopbackHostChannel& host_end)
      : shared(std::move(fabric)), to(target), host(&host_end) {}
  ~Wire() {
    if (listener != nullptr) --listener->connections;
  }

  void send_to_controller(Message message) {
    to_controller.push_back(std::move(message));
    wake(controller_timer);
  }
  void send_to_host(Message message) {
    to_host.push_back(std::move(message));
    wake(host_timer);
  }
  void wake_controller() {
    if (!to_controller.empty()) wake(controller_timer);
  }
  /// Nothing passes any more; each end that is there is told.
  void break_off(const char* why) {
    if (ended) return;
    ended = true;
    to_controller.clear();
    to_host.clear();
    Message message;
    message.why = why;
    if (host != nullptr) send_to_host(message);
    if (controller != nullptr) send_to_controller(message);
  }
  /// The memory that a key of the host stands for; empty when it may not be used so.
  MutableBytes host_memory(const KeyedSegment& segment, std::size_t bytes, Direction direction);
  bool invalidate(std::uint32_t key);

  std::shared_ptr<Shared> shared;
  Endpoint to;
  std::shared_ptr<ListenerState> listener;
  LoopbackHostChannel* host;
  LoopbackControllerChannel* controller = nullptr;
  bool ended = false;

 private:
  void wake(Event& timer) {
    if (!timer.scheduled()) shared->world.loop().schedule_after(timer, Duration::ns(0));
  }
  void deliver_to_controller();
  void deliver_to_host();
  void open(const Message& request);

  std::deque<Message> to_controller;
  std::deque<Message> to_host;
  Timer<Wire, &Wire::deliver_to_controller> controller_timer{"loopback.to_controller", *this};
  Timer<Wire, &Wire::deliver_to_host> host_timer{"loopback.to_host", *this};
};

class LoopbackHostChannel final : public HostChannel {
 public:
  LoopbackHostChannel(std::shared_ptr<Shared> shared, HostChannelHandler& handler) : shared_(std::move(shared)), handler_(handler) {}
  ~LoopbackHostChannel() override { hang_up(); }

  void connect(const Endpoint& to, const ChannelOptions& options) override {
    hang_up();
    options_ = options;
    slots_.assign(options.entries, {});
    wire_ = std::make_shared<Wire>(shared_, to, *this);
    Message request;
    request.kind = Message::Kind::request;
    request.data = make_queue_request(options, shared_->host_hooks);
    wire_->send_to_controller(std::move(request));
  }

  bool send(std::uint16_t slot, MutableBytes sqe, const HostTransfer& transfer) override {
    if (!connected_) return false;
    BENCH_ASSERT(slot < slots_.size(), "slot beyond the queue");
    const MutableBytes data = transfer.data;
    BENCH_ASSERT(data.size() <= nvme::SglDescriptor::kKeyedLengthMax, "a keyed length has 24 bits");
    const bool in_capsule = !transfer.keep_dptr && transfer.allow_in_capsule && !data.empty() &&
                            transfer.direction == Direction::to_controller && data.size() <= options_.in_capsule_bytes;
    if (!in_capsule && !data.empty() && slots_[slot].key == 0) {
      register_slot(slot, data, transfer.direction);
    }
    Message message;
    message.kind = Message::Kind::capsule;
    if (!transfer.keep_dptr) {
      const Slot& s = slots_[slot];
      const auto length = static_cast<std::uint32_t>(data.size());
      write_sgl(sqe, in_capsule     ? nvme::SglDescriptor::in_capsule(0, length).bytes()
                     : data.empty() ? nvme::SglDescriptor::keyed(0, 0, 0).bytes()
                                    : nvme::SglDescriptor::keyed(s.address, length, s.key, options_.remote_invalidate).bytes());
    }
    message.data.reserve(sqe.size() + (in_capsule ? data.size() : 0));
    message.data.assign(sqe.begin(), sqe.end());
    if (in_capsule) message.data.insert(message.data.end(), data.begin(), data.end());
    emit(std::move(message));
    return true;
  }

  bool send_raw(ByteView capsule) override {
    if (!connected_) return false;
    Message message;
    message.kind = Message::Kind::capsule;
    message.data.assign(capsule.begin(), capsule.end());
    emit(std::move(message));
    return true;
  }

  bool release(std::uint16_t slot, const ResponseFacts&) override {
    slots_[slot].key = 0;
    return true;
  }

  RemoteBuffer expose(std::uint16_t slot, MutableBytes data) override {
    register_slot(slot, data, Direction::none);
    return {slots_[slot].address, slots_[slot].key};
  }

  void disconnect() override {
    if (!wire_ || wire_->ended) return;
    connected_ = false;
    Message message;
    message.kind = Message::Kind::disconnect;
    wire_->send_to_controller(message);
    message.kind = Message::Kind::disconnected;
    wire_->send_to_host(std::move(message));
  }

  MutableBytes memory(const KeyedSegment& segment, std::size_t bytes, Direction direction) {
    for (Slot& slot : slots_) {
      if (slot.key == 0 || slot.key != segment.key) continue;
      const bool allowed = slot.direction == Direction::none || slot.direction == direction;
      const std::uint64_t offset = segment.address - slot.address;
      if (!allowed || offset > slot.data.size() || bytes > slot.data.size() - offset) return {};
      return slot.data.subspan(offset, bytes);
    }
    return {};
  }
  bool invalidate(std::uint32_t key) {
    for (Slot& slot : slots_) {
      if (slot.key != 0 && slot.key == key) return slot.key = 0, true;
    }
    return false;
  }

  /// The last thing that a call does: the handler may destroy this channel.
  void deliver(const Message& message) {
    switch (message.kind) {
      case Message::Kind::accepted:
        if (shared_->host_hooks != nullptr) shared_->host_hooks->private_data_in("rep", message.data);
        connected_ = true;
        return handler_.on_connected({message.value, 0});
      case Message::Kind::rejected:
        if (shared_->host_hooks != nullptr) shared_->host_hooks->private_data_in("rej", message.data);
        return end(refused_end(message.value, message.data));
      case Message::Kind::unreachable:
        return end({ChannelEnd::Kind::unreachable, 0, 0, "no answer from " + to_string(wire_->to)});
      case Message::Kind::response:
        return respond(message);
      case Message::Kind::disconnected:
        return end({ChannelEnd::Kind::closed, 0, 0, "disconnected"});
      default:
        return end({ChannelEnd::Kind::lost, 0, 0, message.why});
    }
  }

 private:
  struct Slot {
    MutableBytes data;
    std::uint64_t address = 0;
    std::uint32_t key = 0;  ///< 0: not registered
    std::uint8_t key_byte = 0;
    Direction direction = Direction::none;
  };

  void register_slot(std::uint16_t slot, MutableBytes data, Direction direction) {
    Slot& s = slots_[slot];
    s.data = data;
    s.direction = direction;
    s.address = (std::uint64_t{options_.qid} + 1) << 40 | std::uint64_t{slot} << 24;
    s.key = (std::uint32_t{slot} + 1) << 8 | ++s.key_byte;
  }
  void emit(Message message) {
    TransportHooks* hooks = shared_->host_hooks;
    if (hooks != nullptr) hooks->capsule_out(options_.qid, message.data);
    World& world = shared_->world;
    if (world.trace().on()) trace_capsule(world, "host", true, true, options_.qid, message.data);
    wire_->send_to_controller(std::move(message));
  }
  void respond(const Message& message) {
    World& world = shared_->world;
    if (shared_->host_hooks != nullptr) shared_->host_hooks->capsule_in(options_.qid, message.data);
    if (world.trace().on()) trace_capsule(world, "host", false, false, options_.qid, message.data);
    if (message.data.size() != kResponseSize) {
      wire_->break_off("a response capsule is not 16 bytes long");
      return;
    }
    handler_.on_response(message.data, message.facts);
  }
  void end(ChannelEnd end) {
    connected_ = false;
    hang_up();
    handler_.on_end(end);
  }
  void hang_up();

  std::shared_ptr<Shared> shared_;
  HostChannelHandler& handler_;
  ChannelOptions options_;
  std::shared_ptr<Wire> wire_;
  std::vector<Slot> slots_;
  bool connected_ = false;
};

class LoopbackControllerChannel final : public ControllerChannel {
 public:
  LoopbackControllerChannel(std::shared_ptr<Wire> wire, const QueueRequest& request)
      : wire_(std::move(wire)), request_(request), pool_(request.entries) {
    for (std::size_t i = pool_.size(); i-- > 0;) {
      pool_[i].index = static_cast<std::uint16_t>(i);
      pool_[i].channel = this;
      free_.push_back(&pool_[i]);
    }
  }
  ~LoopbackControllerChannel() override { close(); }

  void set_handler(ControllerChannelHandler* handler) override { handler_ = handler; }

  nvme::Status stage(ArrivedCommand& arrived, std::size_t bytes) override {
    Command& command = own(arrived);
    if (wire_ == nullptr) return nvme::sc::internal_error;
    const ControllerFabricOptions& options = wire_->listener->options;
    if (bytes > options.transfer_bytes_max) return nvme::sc::invalid_field;
    const SglLimits limits{request_.qid == 0 ? 0 : options.in_capsule_bytes, options.msdbd};
    const nvme::Status status = read_sgl(command.sqe, command.in_capsule, limits, bytes, hooks(), command.plan);
    command.data = {};
    if (!status.ok()) return status;
    command.staging.resize(bytes);
    command.data = command.staging;
    if (command.plan.kind == SglPlan::Kind::in_capsule) {
      const ByteView from = command.in_capsule.subspan(command.plan.offset);
      std::copy_n(from.begin(), std::min(from.size(), bytes), command.data.begin());
    }
    return status;
  }

  void pull(ArrivedCommand& arrived) override {
    Command& command = own(arrived);
    if (wire_ == nullptr) return;
    if (command.plan.kind != SglPlan::Kind::keyed || command.data.empty()) {
      return handler_->on_pulled(command);
    }
    if (!move(command, command.data.size(), Direction::to_controller)) return;
    Message message;
    message.kind = Message::Kind::pulled;
    message.value = command.index;
    message.epoch = command.epoch;
    wire_->send_to_controller(std::move(message));
  }

  void push(ArrivedCommand& arrived, std::size_t bytes) override {
    Command& command = own(arrived);
    BENCH_ASSERT(bytes <= command.data.size(), "push() of more than was staged");
    if (command.plan.kind == SglPlan::Kind::keyed) move(command, bytes, Direction::from_controller);
  }

  void respond(ArrivedCommand& arrived, ByteView cqe) override {
    Command& command = own(arrived);
    Message message;
    message.kind = Message::Kind::response;
    message.data.assign(cqe.begin(), cqe.end());
    if (command.plan.kind == SglPlan::Kind::keyed && command.plan.last.invalidate) {
      message.facts = {true, command.plan.last.key};
    }
    drop(command);
    if (wire_ == nullptr || wire_->ended) return;
    if (hooks() != nullptr) hooks()->capsule_out(request_.qid, message.data);
    World& world = wire_->shared->world;
    if (world.trace().on()) {
      trace_capsule(world, "target", false, true, request_.qid, message.data);
    }
    if (message.facts.invalidated && !wire_->invalidate(message.facts.invalidated_key)) {
      return wire_->break_off("the key to be invalidated is not valid");
    }
    wire_->send_to_host(std::move(message));
  }

  void send_extra(ByteView cqe) override {
    if (wire_ == nullptr || wire_->ended) return;
    Message message;
    message.kind = Message::Kind::response;
    message.data.assign(cqe.begin(), cqe.end());
    wire_->send_to_host(std::move(message));
  }

  void drop(ArrivedCommand& arrived) override {
    Command& command = own(arrived);
    ++command.epoch;
    command.data = {};
    command.plan = {};
    free_.push_back(&command);
    if (wire_ != nullptr) wire_->wake_controller();
  }

  void close() override {
    if (wire_ == nullptr) return;
    const std::shared_ptr<Wire> wire = std::move(wire_);
    wire_ = nullptr;
    wire->controller = nullptr;
    wire->break_off("the controller disconnected");
  }

  std::optional<std::uint16_t> requested_qid() const override { return request_.qid; }
  std::uint32_t entries() const override { return request_.entries; }
  Endpoint peer() const override { return {IpAddress::v4(127, 0, 0, 1), 0}; }
  Endpoint local() const override { return wire_ ? wire_->to : Endpoint{}; }

  bool can_take() const { return !free_.empty(); }

  /// The last thing that a call does: the handler may destroy this channel.
  void deliver(Message& message) {
    switch (message.kind) {
      case Message::Kind::capsule:
        return arrive(message);
      case Message::Kind::pulled:
        if (pool_[message.value].epoch == message.epoch) handler_->on_pulled(pool_[message.value]);
        return;
      case Message::Kind::disconnect:
        return end("the host disconnected");
      default:
        return end(message.why);
    }
  }

 private:
  struct Command final : ArrivedCommand {
    SglPlan plan;
    Bytes capsule;
    Bytes staging;
    std::uint64_t epoch = 0;
  };

  static Command& own(ArrivedCommand& command) { return static_cast<Command&>(command); }
  TransportHooks* hooks() const { return wire_ ? wire_->listener->hooks : nullptr; }

  void arrive(Message& message) {
    World& world = wire_->shared->world;
    if (hooks() != nullptr) hooks()->capsule_in(request_.qid, message.data);
    if (world.trace().on()) {
      trace_capsule(world, "target", true, false, request_.qid, message.data);
    }
    const std::size_t room = request_.qid == 0 ? 0 : wire_->listener->options.in_capsule_bytes;
    if (message.data.size() < nvme::kSqeSize || message.data.size() > nvme::kSqeSize + room) {
      return wire_->break_off("a command capsule has a wrong length");
    }
    Command& command = *free_.back();
    free_.pop_back();
    command.capsule = std::move(message.data);
    std::copy_n(command.capsule.begin(), nvme::kSqeSize, command.sqe.begin());
    command.in_capsule = ByteView{command.capsule}.subspan(nvme::kSqeSize);
    command.tag = 0;
    command.next = nullptr;
    handler_->on_command(command);
  }

  bool move(Command& command, std::size_t bytes, Direction direction) {
    if (wire_ == nullptr || wire_->ended) return false;
    std::size_t done = 0;
    for (std::size_t i = 0; i < command.plan.segments && done < bytes; ++i) {
      const KeyedSegment segment = segment_of(command.plan, command.in_capsule, i);
      const std::size_t length = std::min<std::size_t>(segment.length, bytes - done);
      if (length == 0) continue;
      const MutableBytes there = wire_->host_memory(segment, length, direction);
      if (there.empty()) return wire_->break_off("remote access error"), false;
      const MutableBytes here = command.data.subspan(done, length);
      if (direction == Direction::to_controller) {
        std::copy(there.begin(), there.end(), here.begin());
      } else {
        std::copy(here.begin(), here.end(), there.begin());
      }
      done += length;
    }
    return true;
  }

  void end(std::string_view why) {
    wire_->controller = nullptr;
    wire_ = nullptr;
    handler_->on_end(why);
  }

  std::shared_ptr<Wire> wire_;
  QueueRequest request_;
  ControllerChannelHandler* handler_ = nullptr;
  std::vector<Command> pool_;
  std::vector<Command*> free_;
};

MutableBytes Wire::host_memory(const KeyedSegment& segment, std::size_t bytes, Direction direction) {
  return host == nullptr ? MutableBytes{} : host->memory(segment, bytes, direction);
}

bool Wire::invalidate(std::uint32_t key) { return host != nullptr && host->invalidate(key); }

void LoopbackHostChannel::hang_up() {
  connected_ = false;
  if (wire_ == nullptr) return;
  const std::shared_ptr<Wire> wire = std::move(wire_);
  wire_ = nullptr;
  wire->host = nullptr;
  // An orderly disconnect that is on its way still arrives.
  if (!wire->ended) {
    Message message;
    message.kind = Message::Kind::disconnect;
    wire->send_to_controller(std::move(message));
  }
}

void Wire::deliver_to_controller() {
  const auto keep = shared_from_this();
  for (std::size_t n = to_controller.size(); n > 0 && !to_controller.empty(); --n) {
    const Message::Kind kind = to_controller.front().kind;
    // Without a free command the capsule waits, as a SEND waits for a receive buffer.
    if (kind == Message::Kind::capsule && controller != nullptr && !controller->can_take()) return;
    Message message = std::move(to_controller.front());
    to_controller.pop_front();
    if (kind == Message::Kind::request) {
      open(message);
    } else if (controller != nullptr) {
      if (kind == Message::Kind::disconnect) ended = true;
      controller->deliver(message);
    }
  }
  wake_controller();
}

void Wire::deliver_to_host() {
  const auto keep = shared_from_this();
  while (!to_host.empty() && host != nullptr) {
    const Message message = std::move(to_host.front());
    to_host.pop_front();
    host->deliver(message);
  }
}

void Wire::open(const Message& request) {
  Message answer;
  const auto found = shared->listeners.find(to);
  if (found == shared->listeners.end()) {
    const bool alive =
        std::any_of(shared->listeners.begin(), shared->listeners.end(), [&](const auto& l) { return l.first.address == to.address; });
    answer.kind = alive ? Message::Kind::rejected : Message::Kind::unreachable;
    answer.value = rdma::reject_reason::invalid_service_id;
    return send_to_host(std::move(answer));
  }
  ListenerState& state = *found->second;
  if (state.hooks != nullptr) state.hooks->private_data_in("req", request.data);
  const auto refusal = check_queue_request(request.data, 128, state.options, state.connections, state.hooks);
  if (refusal) {
    answer.kind = Message::Kind::rejected;
    answer.value = rdma::reject_reason::consumer_defined;
    answer.data = make_queue_reject(refusal->status, state.hooks);
    return send_to_host(std::move(answer));
  }
  listener = found->second;
  ++listener->connections;
  const QueueRequest queue = read_queue_request(request.data);
  answer.kind = Message::Kind::accepted;
  answer.data = make_queue_accept(queue, listener->hooks);
  answer.value = Record<fabrics::RdmaAccept>(answer.data).get(fabrics::rdma_accept::crqsize);
  auto channel = std::make_unique<LoopbackControllerChannel>(shared_from_this(), queue);
  controller = channel.get();
  send_to_host(std::move(answer));
  listener->acceptor->on_channel(std::move(channel));
}

/// A listener; its connections may live on.
class LoopbackController final : public ControllerFabric {
 public:
  LoopbackController(std::shared_ptr<Shared> shared, const Endpoint& at, std::shared_ptr<ListenerState> state)
      : shared_(std::move(shared)), at_(at), state_(std::move(state)) {
    shared_->listeners.emplace(at_, state_);
  }
  ~LoopbackController() override { shared_->listeners.erase(at_); }
  ControllerFabricFacts facts() const override { return rdma_fabric_facts(state_->options); }
  Endpoint local() const override { return at_; }

 private:
  std::shared_ptr<Shared> shared_;
  Endpoint at_;
  std::shared_ptr<ListenerState> state_;
};

}  // namespace

LoopbackFabric::LoopbackFabric(World& world, ControllerFabricOptions options, TransportHooks* host_hooks)
    : shared_(new Shared{world, options, host_hooks, {}}) {}

LoopbackFabric::~LoopbackFabric() = default;

Result<std::unique_ptr<ControllerFabric>> LoopbackFabric::listen(const Endpoint& at, ControllerAcceptor& acceptor, TransportHooks* hooks) {
  return listen(at, acceptor, shared_->options, hooks);
}

Result<std::unique_ptr<ControllerFabric>> LoopbackFabric::listen(const Endpoint& at, ControllerAcceptor& acceptor,
                                                                 const ControllerFabricOptions& options, TransportHooks* hooks) {
  Endpoint where = at;
  if (where.port == 0) where.port = options.port;
  if (shared_->listeners.contains(where)) {
    return Failure{Problem{"port taken: " + to_string(where)}};
  }
  auto state = std::make_shared<ListenerState>();
  state->acceptor = &acceptor;
  state->options = options;
  state->hooks = hooks;
  return std::unique_ptr<ControllerFabric>(std::make_unique<LoopbackController>(shared_, where, std::move(state)));
}

std::unique_ptr<HostChannel> LoopbackFabric::make_channel(HostChannelHandler& handler) {
  return std::make_unique<LoopbackHostChannel>(shared_, handler);
}

}  // namespace fb::transport
