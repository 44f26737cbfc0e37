// An rdma::Device in a few hundred lines: queue pairs of one process, connected by copying. Work
// requests are executed one an event, in order; keys, ranges, rights and lengths are really checked.
// Isolates the tests of the transport from the softroce device.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/core/world.h"
#include "sim/rdma/device.h"

namespace fb::fake {

using namespace rdma;

class FakeDevice;
class FakeQueuePair;

/// Devices by address, and the events of all of them in one line.
class Network {
 public:
  explicit Network(World& w) : world(w) {}
  void later(std::function<void()> call) {
    calls_.push_back(std::move(call));
    arm();
  }

  World& world;
  std::map<IpAddress, FakeDevice*> devices;
  std::map<std::uint32_t, FakeQueuePair*> queue_pairs;
  std::uint32_t next_qpn = 0x11;
  std::uint64_t executed = 0;  ///< work requests executed on a connection
  /// When that many were executed, the next one meets a dead connection. Both ends fail.
  std::uint64_t dies_after = ~std::uint64_t{0};

 private:
  void arm() {
    if (!timer_.scheduled() && !calls_.empty()) {
      world.loop().schedule_after(timer_, Duration::ns(100));
    }
  }
  void run() {
    const auto call = std::move(calls_.front());
    calls_.pop_front();
    call();
    arm();
  }
  std::deque<std::function<void()>> calls_;
  Timer<Network, &Network::run> timer_{"fake.network", *this};
};

class FakeRegion final : public MemoryRegion {
 public:
  FakeRegion(FakeDevice& device, MutableBytes memory, Access access, bool fast);
  ~FakeRegion() override;
  std::uint32_t lkey() const override { return key; }
  std::uint32_t rkey() const override { return key; }
  std::uint64_t address() const override { return iova; }
  std::size_t length() const override { return memory.size(); }
  MutableBytes at(std::uint64_t address, std::size_t bytes, Access wanted) const {
    if (!valid || !allows(access, wanted)) return {};
    const std::uint64_t offset = address - iova;
    if (offset > memory.size() || bytes > memory.size() - offset) return {};
    return memory.subspan(offset, bytes);
  }

  FakeDevice& device;
  MutableBytes memory;
  Access access;
  bool fast;
  bool valid;
  std::uint32_t key = 0;
  std::uint64_t iova = 0;
};

class FakeCq final : public CompletionQueue {
 public:
  FakeCq(Network& network, std::uint32_t entries) : network_(network), entries_(entries) {}
  ~FakeCq() override { *alive_ = false; }
  std::size_t poll(std::span<Completion> out) override {
    const std::size_t n = std::min(out.size(), queue_.size());
    for (std::size_t i = 0; i < n; ++i) {
      out[i] = queue_.front();
      queue_.pop_front();
    }
    return n;
  }
  void request_notify(CompletionHandler& handler, bool) override {
    handler_ = &handler;
    wake();
  }
  void cancel_notify() override { handler_ = nullptr; }
  void push(const Completion& completion) {
    overflowed = overflowed || queue_.size() >= entries_;
    queue_.push_back(completion);
    wake();
  }
  bool overflowed = false;

 private:
  void wake() {
    if (handler_ == nullptr || queue_.empty() || waking_) return;
    waking_ = true;
    network_.later([this, alive = alive_] {
      if (!*alive) return;
      waking_ = false;
      if (handler_ != nullptr && !queue_.empty()) std::exchange(handler_, nullptr)->on_completions();
    });
  }
  Network& network_;
  std::size_t entries_;
  std::deque<Completion> queue_;
  CompletionHandler* handler_ = nullptr;
  bool waking_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

struct PostedReceive {
  std::uint64_t id = 0;
  std::vector<Sge> sges;
};

class FakeSrq final : public SharedReceiveQueue {
 public:
  explicit FakeSrq(std::uint32_t e) : entries(e) {}
  bool post_receive(const ReceiveRequest& request) override;
  void arm_limit(std::uint32_t) override {}
  std::uint32_t entries;
  std::deque<PostedReceive> queue;
  std::vector<FakeQueuePair*> starved;
};

class FakePd final : public ProtectionDomain {
 public:
  explicit FakePd(FakeDevice& d) : device(d) {}
  std::unique_ptr<MemoryRegion> register_memory(MutableBytes memory, Access access) override {
    return std::make_unique<FakeRegion>(device, memory, access, false);
  }
  std::unique_ptr<MemoryRegion> register_memory_at(std::uint64_t iova, MutableBytes memory, Access access) override {
    auto region = std::make_unique<FakeRegion>(device, memory, access, false);
    region->iova = iova;
    return region;
  }
  std::unique_ptr<MemoryRegion> allocate_fast_region(std::size_t) override {
    return std::make_unique<FakeRegion>(device, MutableBytes{}, Access::none, true);
  }
  FakeDevice& device;
};

class FakeQueuePair final : public QueuePair {
 public:
  FakeQueuePair(FakeDevice& device, const QueuePairOptions& options);
  ~FakeQueuePair() override;
  std::uint32_t number() const override { return number_; }
  QpState state() const override { return state_; }
  bool post_send(const SendRequest& request) override;
  bool post_receive(const ReceiveRequest& request) override;
  void connect(const Endpoint& to, const ConnectionParameters& parameters) override;
  // Replies are not held here.
  void confirm() override {}
  void refuse(std::uint16_t, ByteView) override {}
  void disconnect() override;
  void fail() override { enter_error(); }

  /// Connected to `peer`; the handler hears of it.
  void establish(FakeQueuePair& peer, const ConnectionFacts& facts, Bytes private_data);
  void notify(std::function<void(FakeQueuePair&)> call);
  void wake();
  void enter_error();
  void fail_loudly(const char* why);
  /// The two ends part; neither waits for the other's receive buffers any more.
  FakeQueuePair* part();

  QueuePairOptions options;
  FakeQueuePair* peer = nullptr;
  std::uint32_t reads_served = 0;  ///< responder resources of this side
  std::string last_error;

 private:
  struct Work {
    SendRequest request;
    std::vector<Sge> sges;
    Bytes inlined;
  };
  void run();
  bool execute(Work& work);
  bool gather(const Work& work, Bytes& out);
  bool scatter(const std::vector<Sge>& sges, ByteView data);
  std::optional<CompletionStatus> deliver_send(const Work& work, const Bytes& data);
  void complete(const Work& work, CompletionStatus status, std::uint32_t bytes = 0);
  void flush();

  FakeDevice& device_;
  std::uint32_t number_;
  QpState state_ = QpState::init;
  std::deque<Work> sends_;
  std::deque<PostedReceive> receives_;
  bool running_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class FakeListener final : public Listener {
 public:
  FakeListener(FakeDevice& d, std::uint16_t p, ListenHandler& h) : device(d), port(p), handler(h) {}
  ~FakeListener() override;
  Endpoint local() const override;
  FakeDevice& device;
  std::uint16_t port;
  ListenHandler& handler;
};

class FakeRequest final : public ConnectionRequest {
 public:
  FakeRequest(Network& n, std::uint32_t q) : network(n), qpn(q) {}
  ~FakeRequest() override {
    if (!answered) reject(reject_reason::consumer_defined, {});
  }
  const ConnectionFacts& facts() const override { return made; }
  void accept(QueuePair& qp, const ConnectionParameters& parameters) override;
  void reject(std::uint16_t reason, ByteView data) override;
  Network& network;
  std::uint32_t qpn;
  ConnectionFacts made;
  Bytes private_data;
  bool answered = false;
};

class FakeDevice final : public Device {
 public:
  FakeDevice(Network& n, const IpAddress& a) : network(n), address_(a) { n.devices[a] = this; }
  ~FakeDevice() override { network.devices.erase(address_); }
  DeviceLimits limits() const override { return device_limits; }
  IpAddress address() const override { return address_; }
  std::unique_ptr<ProtectionDomain> allocate_protection_domain() override { return std::make_unique<FakePd>(*this); }
  std::unique_ptr<CompletionQueue> create_completion_queue(std::uint32_t entries) override {
    return std::make_unique<FakeCq>(network, entries);
  }
  std::unique_ptr<SharedReceiveQueue> create_shared_receive_queue(ProtectionDomain&, std::uint32_t entries,
                                                                  SharedReceiveHandler*) override {
    return std::make_unique<FakeSrq>(entries);
  }
  std::unique_ptr<QueuePair> create_queue_pair(ProtectionDomain&, const QueuePairOptions& options) override {
    if (queue_pairs_left == 0) return nullptr;
    --queue_pairs_left;
    return std::make_unique<FakeQueuePair>(*this, options);
  }
  Result<std::unique_ptr<Listener>> listen(std::uint16_t port, ListenHandler& handler) override {
    if (listeners.contains(port)) return Failure{Problem{"port taken"}};
    auto made = std::make_unique<FakeListener>(*this, port, handler);
    listeners[port] = made.get();
    return std::unique_ptr<Listener>(std::move(made));
  }
  FakeRegion* region(std::uint32_t key) {
    const auto found = regions.find(key >> 8);
    return found != regions.end() && found->second->key == key ? found->second : nullptr;
  }

  Network& network;
  DeviceLimits device_limits;
  std::map<std::uint16_t, FakeListener*> listeners;
  std::map<std::uint32_t, FakeRegion*> regions;
  std::uint32_t next_index = 1;
  std::uint64_t next_address = 0x10000;
  std::uint32_t queue_pairs_left = ~0u;

 private:
  IpAddress address_;
};

// ---- implementation ----

inline FakeRegion::FakeRegion(FakeDevice& d, MutableBytes m, Access a, bool f) : device(d), memory(m), access(a), fast(f), valid(!f) {
  const std::uint32_t index = d.next_index++;
  key = index << 8;
  iova = d.next_address;
  d.next_address += (m.size() + 0xFFFF) & ~std::uint64_t{0xFFF};
  d.regions[index] = this;
}
inline FakeRegion::~FakeRegion() { device.regions.erase(key >> 8); }

inline bool FakeSrq::post_receive(const ReceiveRequest& request) {
  if (queue.size() >= entries) return false;
  queue.push_back({request.id, {request.sges.begin(), request.sges.end()}});
  for (FakeQueuePair* qp : std::exchange(starved, {})) qp->wake();
  return true;
}

inline FakeQueuePair::FakeQueuePair(FakeDevice& device, const QueuePairOptions& o)
    : options(o), device_(device), number_(device.network.next_qpn++) {
  device.network.queue_pairs[number_] = this;
}
inline FakeQueuePair::~FakeQueuePair() {
  *alive_ = false;
  device_.network.queue_pairs.erase(number_);
  if (FakeQueuePair* other = part()) {
    other->notify([](FakeQueuePair& qp) {
      qp.enter_error();
      qp.options.handler->on_disconnected(qp);
    });
  }
}
inline FakeQueuePair* FakeQueuePair::part() {
  if (peer == nullptr) return nullptr;
  const auto forget = [](FakeQueuePair& receiver, FakeQueuePair* sender) {
    auto* srq = static_cast<FakeSrq*>(receiver.options.shared_receive_queue);
    if (srq != nullptr) std::erase(srq->starved, sender);
  };
  forget(*this, peer);
  forget(*peer, this);
  peer->peer = nullptr;
  return std::exchange(peer, nullptr);
}

inline void FakeQueuePair::notify(std::function<void(FakeQueuePair&)> call) {
  device_.network.later([this, alive = alive_, call = std::move(call)] {
    if (*alive) call(*this);
  });
}

inline bool FakeQueuePair::post_send(const SendRequest& request) {
  if (state_ == QpState::init || sends_.size() >= options.send_entries) return false;
  Work work{request, {request.sges.begin(), request.sges.end()}, {}};
  if (request.inline_data && !gather(work, work.inlined)) return false;
  if (state_ == QpState::error) {
    complete(work, CompletionStatus::flushed);
    return true;
  }
  sends_.push_back(std::move(work));
  wake();
  return true;
}
inline bool FakeQueuePair::post_receive(const ReceiveRequest& request) {
  if (receives_.size() >= options.receive_entries) return false;
  receives_.push_back({request.id, {request.sges.begin(), request.sges.end()}});
  if (state_ == QpState::error) flush();
  if (peer != nullptr) peer->wake();
  return true;
}
inline void FakeQueuePair::wake() {
  if (running_ || sends_.empty() || state_ != QpState::ready_to_send) return;
  running_ = true;
  notify([](FakeQueuePair& qp) { qp.run(); });
}
inline void FakeQueuePair::run() {
  running_ = false;
  if (state_ != QpState::ready_to_send || sends_.empty()) return;
  if (peer == nullptr || device_.network.executed >= device_.network.dies_after) {
    if (peer != nullptr) peer->fail_loudly("dead connection");
    complete(sends_.front(), CompletionStatus::retry_exceeded);
    sends_.pop_front();
    return fail_loudly("retries exceeded");
  }
  ++device_.network.executed;
  if (execute(sends_.front())) sends_.pop_front();
  wake();
}

/// True when done; false when it has to wait for a receive buffer (or the queue pair failed).
inline bool FakeQueuePair::execute(Work& work) {
  const SendRequest& request = work.request;
  const auto bad = [&](CompletionStatus status, bool remote) {
    if (remote && peer != nullptr) peer->fail_loudly("bad request");
    complete(work, status);
    sends_.pop_front();
    fail_loudly("bad work request");
    return false;
  };
  FakeDevice& far = peer->device_;
  Bytes data;
  switch (request.opcode) {
    case SendOpcode::fast_register: {
      auto& region = static_cast<FakeRegion&>(*request.region);
      if (region.valid || !region.fast) return bad(CompletionStatus::local_qp_operation_error, false);
      region.memory = request.memory;
      region.iova = request.iova;
      region.access = request.access;
      region.key = (region.key & ~0xFFu) | request.key_byte;
      region.valid = true;
      break;
    }
    case SendOpcode::local_invalidate: {
      FakeRegion* region = device_.region(request.invalidate_rkey);
      if (region == nullptr || !region->valid || !region->fast) {
        return bad(CompletionStatus::local_qp_operation_error, false);
      }
      region->valid = false;
      break;
    }
    case SendOpcode::rdma_write: {
      if (!gather(work, data)) return bad(CompletionStatus::local_protection_error, false);
      if (data.empty()) break;
      FakeRegion* region = far.region(request.rkey);
      const MutableBytes to = region == nullptr ? MutableBytes{} : region->at(request.remote_address, data.size(), Access::remote_write);
      if (to.empty()) return bad(CompletionStatus::remote_access_error, true);
      std::copy(data.begin(), data.end(), to.begin());
      break;
    }
    case SendOpcode::rdma_read: {
      std::size_t bytes = 0;
      for (const Sge& sge : work.sges) bytes += sge.length;
      if (peer->reads_served == 0) return bad(CompletionStatus::remote_invalid_request, true);
      FakeRegion* region = far.region(request.rkey);
      const MutableBytes from = region == nullptr ? MutableBytes{} : region->at(request.remote_address, bytes, Access::remote_read);
      if (from.empty()) return bad(CompletionStatus::remote_access_error, true);
      if (!scatter(work.sges, from)) return bad(CompletionStatus::local_protection_error, false);
      break;
    }
    default: {
      if (!gather(work, data)) return bad(CompletionStatus::local_protection_error, false);
      const auto status = peer->deliver_send(work, data);
      if (!status) return false;
      if (*status != CompletionStatus::success) return bad(*status, false);
    }
  }
  complete(work, CompletionStatus::success);
  return true;
}

inline std::optional<CompletionStatus> FakeQueuePair::deliver_send(const Work& work, const Bytes& data) {
  auto* srq = static_cast<FakeSrq*>(options.shared_receive_queue);
  std::deque<PostedReceive>& queue = srq != nullptr ? srq->queue : receives_;
  if (queue.empty()) {
    if (srq != nullptr) srq->starved.push_back(peer);
    return std::nullopt;
  }
  const PostedReceive receive = queue.front();
  queue.pop_front();
  Completion completion;
  completion.id = receive.id;
  completion.opcode = CompletionOpcode::receive;
  completion.qp_number = number_;
  completion.byte_length = static_cast<std::uint32_t>(data.size());
  auto& cq = static_cast<FakeCq&>(*options.receive_queue);
  const auto refuse = [&](CompletionStatus status) {
    completion.status = status;
    cq.push(completion);
    fail_loudly("bad SEND");
    return CompletionStatus::remote_invalid_request;
  };
  std::size_t room = 0;
  for (const Sge& sge : receive.sges) room += sge.length;
  if (data.size() > room) return refuse(CompletionStatus::local_length_error);
  if (!scatter(receive.sges, data)) return refuse(CompletionStatus::local_protection_error);
  if (work.request.opcode == SendOpcode::send_with_invalidate) {
    FakeRegion* region = device_.region(work.request.invalidate_rkey);
    if (region == nullptr || !region->valid || !region->fast) {
      return refuse(CompletionStatus::local_qp_operation_error);
    }
    region->valid = false;
    completion.has_invalidate = true;
    completion.invalidated_rkey = work.request.invalidate_rkey;
  }
  cq.push(completion);
  return CompletionStatus::success;
}

inline bool FakeQueuePair::gather(const Work& work, Bytes& out) {
  if (!work.inlined.empty()) return out = work.inlined, true;
  for (const Sge& sge : work.sges) {
    FakeRegion* region = device_.region(sge.lkey);
    if (sge.length == 0) continue;
    const MutableBytes from = region == nullptr ? MutableBytes{} : region->at(sge.address, sge.length, Access::none);
    if (from.empty()) return false;
    out.insert(out.end(), from.begin(), from.end());
  }
  return true;
}
inline bool FakeQueuePair::scatter(const std::vector<Sge>& sges, ByteView data) {
  for (const Sge& sge : sges) {
    const std::size_t bytes = std::min<std::size_t>(sge.length, data.size());
    if (bytes == 0) continue;
    FakeRegion* region = device_.region(sge.lkey);
    const MutableBytes to = region == nullptr ? MutableBytes{} : region->at(sge.address, bytes, Access::local_write);
    if (to.empty()) return false;
    std::copy_n(data.begin(), bytes, to.begin());
    data = data.subspan(bytes);
  }
  return true;
}
inline void FakeQueuePair::complete(const Work& work, CompletionStatus status, std::uint32_t bytes) {
  if (!work.request.signaled && status == CompletionStatus::success) return;
  Completion completion;
  completion.id = work.request.id;
  completion.status = status;
  completion.qp_number = number_;
  completion.byte_length = bytes;
  static_cast<FakeCq&>(*options.send_queue).push(completion);
}
inline void FakeQueuePair::flush() {
  for (const Work& work : std::exchange(sends_, {})) complete(work, CompletionStatus::flushed);
  for (const PostedReceive& receive : std::exchange(receives_, {})) {
    Completion completion;
    completion.id = receive.id;
    completion.status = CompletionStatus::flushed;
    completion.opcode = CompletionOpcode::receive;
    static_cast<FakeCq&>(*options.receive_queue).push(completion);
  }
}
inline void FakeQueuePair::enter_error() {
  state_ = QpState::error;
  flush();
}
inline void FakeQueuePair::fail_loudly(const char* why) {
  if (state_ == QpState::error) return;
  last_error = why;
  enter_error();
  notify([](FakeQueuePair& qp) { qp.options.handler->on_queue_error(qp); });
}

inline void FakeQueuePair::connect(const Endpoint& to, const ConnectionParameters& parameters) {
  auto request = std::make_shared<FakeRequest>(device_.network, number_);
  request->private_data.assign(parameters.private_data.begin(), parameters.private_data.end());
  request->made.private_data = request->private_data;
  request->made.peer = {device_.address(), 50000};
  request->made.responder_resources = parameters.responder_resources;
  request->made.initiator_depth = parameters.initiator_depth;
  reads_served = parameters.responder_resources;
  notify([to, request](FakeQueuePair& qp) {
    const auto device = qp.device_.network.devices.find(to.address);
    if (device == qp.device_.network.devices.end()) {
      request->answered = true;
      return qp.options.handler->on_unreachable(qp);
    }
    const auto listener = device->second->listeners.find(to.port);
    if (listener == device->second->listeners.end()) {
      return request->reject(reject_reason::invalid_service_id, {});
    }
    auto given = std::make_unique<FakeRequest>(request->network, request->qpn);
    given->private_data = request->private_data;
    given->made = request->made;
    given->made.private_data = given->private_data;
    request->answered = true;
    listener->second->handler.on_connection_request(std::move(given));
  });
}
inline void FakeQueuePair::disconnect() {
  enter_error();
  notify([](FakeQueuePair& qp) { qp.options.handler->on_disconnected(qp); });
  FakeQueuePair* other = part();
  if (other == nullptr) return;
  other->notify([](FakeQueuePair& qp) {
    qp.enter_error();
    qp.options.handler->on_disconnected(qp);
  });
}
inline void FakeQueuePair::establish(FakeQueuePair& other, const ConnectionFacts& facts, Bytes private_data) {
  peer = &other;
  state_ = QpState::ready_to_send;
  notify([facts, data = std::move(private_data)](FakeQueuePair& qp) {
    ConnectionFacts told = facts;
    told.private_data = data;
    qp.options.handler->on_established(qp, told);
    qp.wake();
  });
}
inline void FakeRequest::accept(QueuePair& qp, const ConnectionParameters& parameters) {
  answered = true;
  const auto active = network.queue_pairs.find(qpn);
  auto& passive = static_cast<FakeQueuePair&>(qp);
  if (active == network.queue_pairs.end()) return passive.fail_loudly("the host is gone");
  passive.reads_served = parameters.responder_resources;
  ConnectionFacts facts = made;
  facts.responder_resources = parameters.responder_resources;
  facts.initiator_depth = parameters.initiator_depth;
  passive.establish(*active->second, made, private_data);
  active->second->establish(passive, facts, {parameters.private_data.begin(), parameters.private_data.end()});
}
inline void FakeRequest::reject(std::uint16_t reason, ByteView data) {
  answered = true;
  const auto active = network.queue_pairs.find(qpn);
  if (active == network.queue_pairs.end()) return;
  active->second->notify(
      [reason, copy = Bytes(data.begin(), data.end())](FakeQueuePair& qp) { qp.options.handler->on_rejected(qp, reason, copy); });
}
inline FakeListener::~FakeListener() { device.listeners.erase(port); }
inline Endpoint FakeListener::local() const { return {device.address(), port}; }

}  // namespace fb::fake
