#include "networkdirect/library/machine_fabric.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <random>
#include <string_view>

#include "sim/net/local_host.h"
#include "networkdirect/library/device_thread.h"
#include "networkdirect/library/interfaces.h"
#include "networkdirect/library/own_ports.h"
#include "sim/rdma/softroce/softroce.h"

namespace fb::networkdirect {

namespace {

// Programs register and bind some hundred megabytes in one piece.
constexpr std::uint32_t kLargestWindow = 1u << 30;
// 40.96 ms between attempts of a sender whose peer has no receive: it gives up after about a quarter of a second.
constexpr std::uint8_t kRnrTimerCode = 24;

std::uint64_t drawn() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

class ThreadedPlace final : public Place {
 public:
  ThreadedPlace(bool busy_poll, ProviderHooks& hooks) : strand_(drawn(), busy_poll), hooks_(hooks) {}
  ~ThreadedPlace() override {
    strand_.call([&] {
      device_.reset();
      host_.reset();
    });
  }

  Result<bool> open(const IpAddress& address, const std::vector<Endpoint>& own_ports) {
    Result<bool> opened = true;
    strand_.call([&] {
      auto host = net::open_local_host(strand_.world(), {.address = address});
      if (!host) {
        opened = Failure{host.error()};
        return;
      }
      host_ = std::move(host).value();
      if (!own_ports.empty()) host_ = with_own_ports(std::move(host_), own_ports);
      softroce::SoftRoceOptions options;
      options.name = "networkdirect";
      options.address = address;
      options.connections.min_rnr_timer_code = kRnrTimerCode;
      options.limits.max_fast_register_bytes = kLargestWindow;
      // Peers take two devices with one GUID for one that restarted.
      options.ca_guid = drawn() | 1;
      auto device = softroce::make_softroce(strand_.world(), *host_, options);
      if (device) {
        device_ = std::move(device).value();
      } else {
        opened = Failure{device.error()};
      }
    });
    return opened;
  }

  World& world() override { return strand_.world(); }
  rdma::Device& device() override { return *device_; }
  Strand& strand() override { return strand_; }
  ProviderHooks* hooks() override { return &hooks_; }

 private:
  ThreadStrand strand_;
  ProviderHooks& hooks_;
  std::unique_ptr<net::DatagramHost> host_;
  std::unique_ptr<rdma::Device> device_;
};

class MachineFabric final : public Fabric {
 public:
  explicit MachineFabric(const MachineOptions& options)
      : addresses_(options.addresses.empty() ? addresses_of_interfaces() : options.addresses),
        own_ports_(options.own_ports),
        busy_poll_(options.busy_poll),
        hooks_(options.behaviour) {}

  std::vector<IpAddress> addresses() override { return addresses_; }
  Result<std::shared_ptr<Place>> open(const IpAddress& address) override {
    const std::lock_guard lock(lock_);
    auto& place = places_[address];
    if (place == nullptr) {
      auto made = std::make_shared<ThreadedPlace>(busy_poll_, hooks_);
      auto opened = made->open(address, own_ports_);
      if (!opened) return Failure{opened.error()};
      place = std::move(made);
    }
    return std::shared_ptr<Place>(place);
  }

 private:
  const std::vector<IpAddress> addresses_;
  const std::vector<Endpoint> own_ports_;
  const bool busy_poll_;
  Behaves hooks_;
  std::mutex lock_;
  std::map<IpAddress, std::shared_ptr<Place>> places_;
};

/// "127.0.0.2:14791" or "[::1]:14791".
std::optional<Endpoint> place_of(std::string_view text) {
  const std::size_t colon = std::min(text.rfind(':'), text.size());
  const auto address = IpAddress::parse(text.substr(0, colon));
  if (!address || colon == text.size()) return std::nullopt;
  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port == 0) return std::nullopt;
  return Endpoint{*address, port};
}

}  // namespace

Result<MachineOptions> options_of_environment() {
  MachineOptions options;
  const char* const list = std::getenv("FABRICBENCH_ND_ADDRESSES");
  for (std::string_view rest = list == nullptr ? "" : list; !rest.empty();) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view entry = rest.substr(0, end);
    if (const auto address = IpAddress::parse(entry)) {
      options.addresses.push_back(*address);
    } else if (const auto place = place_of(entry)) {
      options.addresses.push_back(place->address);
      options.own_ports.push_back(*place);
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const char* const busy = std::getenv("FABRICBENCH_ND_BUSY_POLL");
  options.busy_poll = busy != nullptr && std::string_view(busy) == "1";
  if (const char* const behaviour = std::getenv("FABRICBENCH_ND_BEHAVIOUR")) {
    auto parsed = parse_behaviour(behaviour);
    if (!parsed) return Failure{Problem{"FABRICBENCH_ND_BEHAVIOUR: " + parsed.error().text}};
    options.behaviour = std::move(parsed).value();
  }
  return options;
}

std::shared_ptr<Fabric> make_machine_fabric(const MachineOptions& options) { return std::make_shared<MachineFabric>(options); }

}  // namespace fb::networkdirect
