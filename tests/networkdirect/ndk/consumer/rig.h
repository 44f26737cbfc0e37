// Two ends on NDK devices of one world.
#pragma once

#include <memory>
#include <optional>

#include "sim/net/network.h"
#include "sim/rdma/softroce/softroce.h"
#include "tests/networkdirect/ndk/consumer/end.h"
#include "tests/networkdirect/ndk/consumer/providers.h"

namespace fb::ndk::testing {

struct RigOptions {
  bool shared_queue = false;
  ConsumerHooks* hooks = nullptr;
  bool misuse = false;  ///< the test itself is a user that does what is wrong
  bool notify_inside_arm = false;
};

struct DeviceRig {
  explicit DeviceRig(const Way& way, const RigOptions& o = {}) : options(o) {
    if (way.delay_us > 0) pender.emplace(*world, Duration::us(way.delay_us));
    for (int i = 0; i < 2; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      softroce::SoftRoceOptions soft;
      soft.name = name;
      soft.address = IpAddress::v4(10, 0, 0, static_cast<std::uint8_t>(i + 1));
      devices[i] = softroce::make_softroce(*world, network.add_host(name, soft.address), soft).value();
      const AnyProviderOptions any{.strict = o.hooks == nullptr && !o.misuse, .notify_inside_arm = o.notify_inside_arm};
      providers[i] = std::make_unique<AnyProvider>(*world, kernel, *devices[i], way, pender ? &*pender : nullptr, any);
      ConsumerOptions consumer{.address = soft.address, .version = way.version, .spare_fast_regions = 4, .hooks = o.hooks};
      ndk[i] = make_ndk_device(*world, providers[i]->adapter(), consumer);
    }
    a = std::make_unique<End>(*ndk[0], o.shared_queue);
    b = std::make_unique<End>(*ndk[1], o.shared_queue);
  }
  ~DeviceRig() {
    a.reset();
    b.reset();
    const bool clean = end();
    EXPECT_TRUE(clean || options.hooks != nullptr);
  }
  void run() { world->run_until_idle(Duration::s(300)); }
  void connect() {
    b->listen();
    a->make_qp();
    EXPECT_TRUE(a->post_receive(1, 0, 4096));
    a->connect({b->device.address(), 4420});
    run();
  }
  /// Everything is closed: true when nothing is left with the providers.
  bool end() {
    ndk[0].reset();
    ndk[1].reset();
    run();
    return providers[0]->close() + providers[1]->close() == 0 && kernel.findings().empty();
  }

  RigOptions options;
  std::unique_ptr<World> world = World::make_virtual(1);
  net::SimNetwork network{*world};
  std::optional<Pender> pender;
  std::unique_ptr<softroce::SoftRoceDevice> devices[2];
  Kernel kernel;
  std::unique_ptr<AnyProvider> providers[2];
  std::unique_ptr<rdma::Device> ndk[2];
  std::unique_ptr<End> a, b;
};

}  // namespace fb::ndk::testing
