// NVMe/RDMA on devices that lack what devices under other programming interfaces lack.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/transport/rdma_rules.h"
#include "tests/model/transport/rdma_bench.h"

namespace fb::transport {
namespace {

using testing::Devices;
using testing::HostQueue;
using testing::pattern;
using testing::RdmaBench;
using testing::SoftDevices;

/// A queue pair of the host's that keeps keys as they are, and counts what is asked of it.
struct PlainQueuePair final : rdma::QueuePair {
  explicit PlainQueuePair(std::unique_ptr<rdma::QueuePair> q, std::size_t& f, bool k) : qp(std::move(q)), fast(f), keeps(k) {}
  std::uint32_t number() const override { return qp->number(); }
  rdma::QpState state() const override { return qp->state(); }
  bool post_send(const rdma::SendRequest& request) override {
    rdma::SendRequest made = request;
    if (request.opcode == rdma::SendOpcode::fast_register) {
      ++fast;
      if (keeps) made.key_byte = static_cast<std::uint8_t>(request.region->rkey());
    }
    return qp->post_send(made);
  }
  bool post_receive(const rdma::ReceiveRequest& request) override { return qp->post_receive(request); }
  void connect(const Endpoint& to, const rdma::ConnectionParameters& p) override { qp->connect(to, p); }
  void confirm() override { qp->confirm(); }
  void refuse(std::uint16_t reason, ByteView data) override { qp->refuse(reason, data); }
  void disconnect() override { qp->disconnect(); }
  void fail() override { qp->fail(); }
  std::unique_ptr<rdma::QueuePair> qp;
  std::size_t& fast;
  bool keeps;
};

/// A device of whom `change` says what it cannot do.
struct PlainDevice final : rdma::Device {
  explicit PlainDevice(rdma::Device& d) : device(d), now(d.limits()) {}
  rdma::DeviceLimits limits() const override { return now; }
  IpAddress address() const override { return device.address(); }
  std::unique_ptr<rdma::ProtectionDomain> allocate_protection_domain() override { return device.allocate_protection_domain(); }
  std::unique_ptr<rdma::CompletionQueue> create_completion_queue(std::uint32_t entries) override {
    return device.create_completion_queue(entries);
  }
  std::unique_ptr<rdma::SharedReceiveQueue> create_shared_receive_queue(rdma::ProtectionDomain& domain, std::uint32_t entries,
                                                                        rdma::SharedReceiveHandler* handler) override {
    return device.create_shared_receive_queue(domain, entries, handler);
  }
  std::unique_ptr<rdma::QueuePair> create_queue_pair(rdma::ProtectionDomain& domain, const rdma::QueuePairOptions& options) override {
    auto qp = device.create_queue_pair(domain, options);
    if (!wraps) return qp;
    return std::make_unique<PlainQueuePair>(std::move(qp), fast_registrations, !now.chosen_key_bytes);
  }
  Result<std::unique_ptr<rdma::Listener>> listen(std::uint16_t port, rdma::ListenHandler& handler) override {
    return device.listen(port, handler);
  }
  rdma::Device& device;
  rdma::DeviceLimits now;
  bool wraps = false;
  std::size_t fast_registrations = 0;
};

struct PlainDevices final : Devices {
  explicit PlainDevices(World& world) : soft(world), host_device(soft.host()), target_device(soft.target()) { host_device.wraps = true; }
  rdma::Device& host() override { return host_device; }
  rdma::Device& target() override { return target_device; }
  SoftDevices soft;
  PlainDevice host_device, target_device;
};

template <auto Change>
std::unique_ptr<Devices> make(World& world) {
  auto made = std::make_unique<PlainDevices>(world);
  Change(*made);
  return made;
}

PlainDevices& of(RdmaBench& bench) { return static_cast<PlainDevices&>(*bench.devices); }

/// Writes and reads through several slots, some of them twice; everything arrives.
void exchange(RdmaBench& bench, HostQueue& host) {
  Bytes out = pattern(1, 9000), in(9000), again(5000);
  host.write(0, out);
  host.read(1, in, 5);
  bench.run();
  EXPECT_EQ(bench.last_queue().written, out);
  EXPECT_EQ(in, pattern(5, 9000));
  host.read(1, again, 6);
  bench.run();
  EXPECT_EQ(again, pattern(6, 5000));
  EXPECT_EQ(host.answers.size(), 3u);
  EXPECT_EQ(host.released.size(), 3u);
  EXPECT_TRUE(host.ends.empty());
}

bool any_invalidated(const HostQueue& host) {
  return std::any_of(host.answers.begin(), host.answers.end(), [](const auto& answer) { return answer.facts.invalidated; });
}

/// The subtype of the SGL descriptor of the last command: 0xF asks to invalidate.
unsigned subtype(RdmaBench& bench) { return bench.last_queue().last_sqe[39] & 0xFu; }

TEST(RdmaLimits, AllThereIs) {
  RdmaBench bench(make<[](PlainDevices&) {}>);
  auto host = bench.connect(1);
  exchange(bench, *host);
  EXPECT_TRUE(any_invalidated(*host));
  EXPECT_EQ(subtype(bench), 0xFu);
  EXPECT_EQ(of(bench).host_device.fast_registrations, 3u);
}

TEST(RdmaLimits, HostWhoseKeysStay) {
  RdmaBench bench(make<[](PlainDevices& devices) { devices.host_device.now.chosen_key_bytes = false; }>);
  auto host = bench.connect(1);
  exchange(bench, *host);
  EXPECT_TRUE(any_invalidated(*host));
  EXPECT_EQ(of(bench).host_device.fast_registrations, 3u);
}

TEST(RdmaLimits, HostThatHearsOfNoInvalidationDoesNotAskForIt) {
  RdmaBench bench(make<[](PlainDevices& devices) { devices.host_device.now.remote_invalidation = false; }>);
  auto host = bench.connect(1);
  exchange(bench, *host);
  EXPECT_FALSE(any_invalidated(*host));
  EXPECT_EQ(subtype(bench), 0u);
}

TEST(RdmaLimits, HostWithoutFastRegistrationRegistersForEachCommand) {
  RdmaBench bench(make<[](PlainDevices& devices) { devices.host_device.now.fast_registration = false; }>);
  auto host = bench.connect(1);
  exchange(bench, *host);
  EXPECT_EQ(of(bench).host_device.fast_registrations, 0u);
  EXPECT_EQ(subtype(bench), 0u);
  // What a command was given is taken back with it: the memory of an answered command is out of reach.
  Bytes gone(64);
  host->read(2, gone, 7);
  bench.run();
  nvme::Sqe stale{ByteView{bench.last_queue().last_sqe}};
  bench.last_queue().data_source = [](MutableBytes data) { std::fill(data.begin(), data.end(), std::uint8_t{0xEE}); };
  stale.set(nvme::sqe::cid, 9);
  host->raw(stale);
  bench.run();
  EXPECT_EQ(gone, pattern(7, 64));
  EXPECT_EQ(host->ends.size() + bench.last_queue().ended.size(), 2u);
}

TEST(RdmaLimits, MoreThanFastRegionsHoldIsRegisteredWhole) {
  RdmaBench bench(make<[](PlainDevices& devices) { devices.host_device.now.max_fast_register_bytes = 8192; }>);
  auto host = bench.connect(1);
  exchange(bench, *host);
  EXPECT_EQ(of(bench).host_device.fast_registrations, 1u);
}

TEST(RdmaLimits, ExposedMemoryWithoutFastRegistration) {
  RdmaBench bench(make<[](PlainDevices& devices) { devices.host_device.now.fast_registration = false; }>);
  auto host = bench.connect(1);
  Bytes data(4096);
  const HostChannel::RemoteBuffer buffer = host->channel->expose(3, data);
  nvme::Sqe sqe = HostQueue::make(testing::kRead, 3, data.size(), 4);
  write_sgl(sqe.mutable_bytes(), nvme::SglDescriptor::keyed(buffer.address, 4096, buffer.key).bytes());
  host->channel->send(3, sqe.mutable_bytes(), {Direction::from_controller, data, false, true});
  bench.run();
  EXPECT_EQ(data, pattern(4, 4096));
}

TEST(RdmaLimits, DisconnectWithCommandsInProgress) {
  RdmaBench bench(make<[](PlainDevices& devices) { devices.host_device.now.fast_registration = false; }>);
  auto host = bench.connect(1);
  {
    Bytes data(4096);
    bench.last_queue().hold_pushed = true;
    host->read(0, data, 1);
    bench.run();
    host.reset();
  }
  bench.run();
  EXPECT_EQ(bench.last_queue().ended.size(), 1u);
}

TEST(RdmaLimits, ControllerThatCannotInvalidateAnswersPlainly) {
  RdmaBench bench(make<[](PlainDevices& devices) { devices.target_device.now.remote_invalidation = false; }>);
  auto host = bench.connect(1);
  exchange(bench, *host);
  EXPECT_EQ(subtype(bench), 0xFu);
  EXPECT_FALSE(any_invalidated(*host));
}

}  // namespace
}  // namespace fb::transport
