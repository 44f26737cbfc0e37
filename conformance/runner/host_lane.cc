// What lanes put around the cases on hosts.
#include <algorithm>

#include "conformance/runner/embedded_controller.h"
#include "conformance/runner/host_bench.h"

namespace fb::conformance {

namespace {

constexpr Duration kGone = Duration::s(5);
constexpr Duration kReturn = Duration::s(120);
constexpr IpAddress kNeighbourAddress = IpAddress::v4(10, 0, 0, 4);
constexpr IpAddress kNeighbourAddress6 = IpAddress::v6({0xFD, 0x0B, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x04});

}  // namespace

/// Another host at the bench's controller.
class HostBench::Neighbour {
 public:
  Neighbour(World& world, net::SimHost& at, const EmbeddedSetup& setup)
      : side_(world, at, DeviceOptions{"neighbour", at.address()}, setup), host_(world, side_.fabric(), named()) {}

  void connect(host::ConnectOptions options) {
    options.kato_ms = 0;
    const auto outcome = host_.connect(std::move(options)).wait();
    if (!outcome) throw CannotArrange{"another host cannot connect: " + outcome.error().text};
  }
  Op<bool> leave() { return host_.shutdown_all(); }

 private:
  static host::HostOptions named() {
    host::HostOptions options;
    options.hostnqn = "nqn.2014-08.org.nvmexpress:uuid:c2a7f0de-41b5-4d6e-9a53-77d1e2b4a9f0";
    options.hostid = {0xc2, 0xa7, 0xf0, 0xde, 0x41, 0xb5, 0x4d, 0x6e, 0x9a, 0x53, 0x77, 0xd1, 0xe2, 0xb4, 0xa9, 0xf0};
    options.actor = "neighbour";
    return options;
  }
  EmbeddedHostFabric side_;
  host::Host host_;
};

void HostBench::begin_lane(const Environment& environment, const EmbeddedSetup& setup) {
  if (!around_.neighbour) return;
  const IpAddress& address = at_.address.is_v4() ? kNeighbourAddress : kNeighbourAddress6;
  neighbour_ = std::make_shared<Neighbour>(world(), network_->network.add_host("neighbour", address), environment.setup());
  host::ConnectOptions options = setup.connect;
  options.to = at_;
  neighbour_->connect(std::move(options));
  forget_seen();
}

/// Every connection ends without a word; the host makes new ones. What was seen before is forgotten, as if it had come now.
void HostBench::lose_and_return() {
  const std::size_t queues = connections_;
  forget_seen();
  for (const auto& [cntlid, controller] : subsystem().controllers()) controller->end_association("the lane loses it");
  const auto all_live = [&] {
    const auto controllers = host_->controllers();
    return connections_ >= queues && std::all_of(controllers.begin(), controllers.end(), [](const auto* one) { return one->live(); });
  };
  if (!run_until(all_live, kReturn)) throw CannotArrange{"the host does not come back after a loss"};
}

void HostBench::part_from_neighbour() {
  if (!neighbour_) return;
  Op<bool> gone = neighbour_->leave();
  world().run_until([&] { return gone.settled(); }, kGone);
}

}  // namespace fb::conformance
