// The device: what it tells about itself, what it tells by itself, and the making of objects.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "sim/net/udp_socket.h"
#include "sim/rdma/verbs/device_list.h"
#include "sim/rdma/verbs/listener.h"
#include "sim/rdma/verbs/translate.h"
#include "sim/rdma/verbs/verbs_device.h"

namespace fb::verbs {

namespace {

// As much as commands of the fabric fit in without their data.
constexpr std::uint32_t kInlineMost = 256;

/// What a queue pair takes inline: drivers say it only when one is made.
std::uint32_t inline_bytes_of(ibv_context& context) {
  const Owned<ibv_pd> domain(ibv_alloc_pd(&context));
  const Owned<ibv_cq> queue(ibv_create_cq(&context, 2, nullptr, nullptr, 0));
  if (domain == nullptr || queue == nullptr) return 0;
  for (std::uint32_t bytes = kInlineMost; bytes >= 64; bytes /= 2) {
    ibv_qp_init_attr wanted = {};
    wanted.send_cq = wanted.recv_cq = queue.get();
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = bytes};
    const Owned<ibv_qp> probe(ibv_create_qp(domain.get(), &wanted));
    if (probe != nullptr) return bytes;
  }
  return 0;
}

class Device final : public rdma::Device, FdHandler {
 public:
  explicit Device(World& world) : s_(world) {}
  ~Device() override {
    if (events_ != nullptr) s_.loop.unwatch(s_.context->async_fd);
  }
  Result<void> open(const VerbsOptions& options);

  rdma::DeviceLimits limits() const override { return s_.limits; }
  IpAddress address() const override { return s_.address; }

  std::unique_ptr<rdma::ProtectionDomain> allocate_protection_domain() override {
    Owned<ibv_pd> object(ibv_alloc_pd(s_.context.get()));
    if (object == nullptr) throw_problem(s_, "no protection domain", errno);
    return std::make_unique<Domain>(s_, std::move(object));
  }

  std::unique_ptr<rdma::CompletionQueue> create_completion_queue(std::uint32_t entries) override {
    return CompletionQueue::make(s_, entries);
  }

  std::unique_ptr<rdma::SharedReceiveQueue> create_shared_receive_queue(rdma::ProtectionDomain& domain, std::uint32_t entries,
                                                                        rdma::SharedReceiveHandler* handler) override {
    const std::uint32_t depth = std::clamp(entries, 1u, s_.limits.max_queue_entries);
    ibv_srq_init_attr wanted = {};  // comes back with what the driver made of it, which may be more
    wanted.attr.max_wr = depth;
    wanted.attr.max_sge = s_.limits.max_sges;
    Owned<ibv_srq> object(ibv_create_srq(static_cast<Domain&>(domain).object(), &wanted));
    if (object == nullptr) return nullptr;
    return std::make_unique<SharedQueue>(s_, std::move(object), depth, handler);
  }

  std::unique_ptr<rdma::QueuePair> create_queue_pair(rdma::ProtectionDomain& domain, const rdma::QueuePairOptions& options) override {
    return QueuePair::make(s_, static_cast<Domain&>(domain), options);
  }

  Result<std::unique_ptr<rdma::Listener>> listen(std::uint16_t port, rdma::ListenHandler& handler) override {
    auto made = std::make_unique<Listener>(s_, handler);
    const int error = made->open(port);
    if (error == 0) return std::unique_ptr<rdma::Listener>(std::move(made));
    const std::string at = to_string(Endpoint{s_.address, port});
    return Failure{Problem{fmt::format("verbs:{}: cannot listen on {}: {}", s_.name, at, words_of(error))}};
  }

 private:
  Result<void> check_address(const DeviceFacts& facts);
  void on_readable() override;
  void on_event(const ibv_async_event& event);
  void fail_all();

  Shared s_;
  std::unique_ptr<CmEvents> events_;
};

Result<void> Device::open(const VerbsOptions& options) {
  s_.name = options.name;
  s_.address = options.address;
  auto context = open_context(options.name);
  if (!context) return Failure{context.error()};
  s_.context = std::move(context).value();
  const auto facts = facts_of(*s_.context);
  if (!facts) return Failure{facts.error()};
  if (facts->transport == "iWARP") {
    return Failure{Problem{fmt::format("verbs:{}: an iWARP device; its connections are not those of InfiniBand and RoCE", options.name)}};
  }
  if (!facts->active) return Failure{Problem{fmt::format("verbs:{}: its port is not active (is its network interface up?)", options.name)}};
  ibv_device_attr attributes = {};
  ibv_port_attr port = {};
  const int error = ibv_query_device(s_.context.get(), &attributes);
  if (error != 0 || ibv_query_port(s_.context.get(), 1, &port) != 0) {
    return Failure{Problem{fmt::format("verbs:{}: the device tells nothing about itself: {}", options.name, words_of(error))}};
  }
  s_.limits = limits_of(attributes, port, inline_bytes_of(*s_.context));
  s_.channel.reset(rdma_create_event_channel());
  if (s_.channel == nullptr) {
    return Failure{
        Problem{fmt::format("verbs:{}: no connection manager: {} (modprobe rdma_ucm; the mode of /dev/infiniband/rdma_cm "
                            "says who may); {}",
                            options.name, words_of(errno), how_to_make_one())}};
  }
  if (auto checked = check_address(*facts); !checked) return checked;
  events_ = std::make_unique<CmEvents>(s_);
  set_nonblocking(s_.context->async_fd);
  s_.loop.watch(s_.context->async_fd, *this);
  return {};
}

/// The connection manager chooses the device by the address: it must be this one.
Result<void> Device::check_address(const DeviceFacts& facts) {
  struct Nobody final : CmOwner {
    void on_cm_event(CmEvent) override {}
  } nobody;
  const Owned<rdma_cm_id> id = make_identifier(s_, nobody);
  net::socket_detail::SocketAddress at(Endpoint{s_.address, 0});
  const bool bound = id != nullptr && rdma_bind_addr(id.get(), at.get()) == 0;
  if (bound && id->verbs != nullptr && s_.name == ibv_get_device_name(id->verbs->device)) return {};
  std::string has;
  for (const IpAddress& one : facts.addresses) has += (has.empty() ? "" : ", ") + to_string(one);
  return Failure{Problem{
      fmt::format("verbs:{}: {} is no address of the device{}", s_.name, to_string(s_.address), has.empty() ? "" : "; it has " + has)}};
}

void Device::on_readable() {
  ibv_async_event event = {};
  while (ibv_get_async_event(s_.context.get(), &event) == 0) {
    on_event(event);
    ibv_ack_async_event(&event);
  }
  if (errno == EAGAIN || errno == EINTR) return;
  // The device is gone, and its descriptor would be readable for ever.
  s_.loop.unwatch(s_.context->async_fd);
  fail_all();
}

void Device::fail_all() {
  for (const auto& [number, qp] : s_.queue_pairs) qp->broken();
}

void Device::on_event(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      if (QueuePair* const qp = s_.queue_pair(event.element.qp->qp_num)) qp->broken();
      return;
    case IBV_EVENT_COMM_EST:
      if (QueuePair* const qp = s_.queue_pair(event.element.qp->qp_num)) qp->data_came_first();
      return;
    case IBV_EVENT_CQ_ERR:
      return static_cast<CompletionQueue*>(event.element.cq->cq_context)->overrun();
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return static_cast<SharedQueue*>(event.element.srq->srq_context)->limit_reached();
    case IBV_EVENT_DEVICE_FATAL:
      return fail_all();
    default:
      return;
  }
}

}  // namespace

Result<std::unique_ptr<rdma::Device>> open_device(World& world, const VerbsOptions& options) {
  BENCH_ASSERT(world.real_loop() != nullptr, "a real device needs a real clock");
  auto device = std::make_unique<Device>(world);
  if (auto opened = device->open(options); !opened) return Failure{opened.error()};
  return std::unique_ptr<rdma::Device>(std::move(device));
}

}  // namespace fb::verbs
