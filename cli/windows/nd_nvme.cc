// NVMe over RDMA over NetworkDirect, as two programs for Windows: one has an emulated subsystem, the other is a host that
// connects, writes, reads back and compares. Providers are those of the helper library.
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>

#include <ndsupport.h>

#include "model/host/host.h"
#include "model/subsystem/observer.h"
#include "model/subsystem/target.h"
#include "model/transport/rdma_controller.h"
#include "model/transport/rdma_host.h"
#include "networkdirect/consumer/networkdirect_device.h"
#include "networkdirect/provider/addresses.h"

namespace fb {
namespace {

constexpr std::string_view kUsage =
    "nd_nvme serve ADDRESS: has a subsystem there until a host has come and gone\n"
    "nd_nvme check LOCAL REMOTE [ROUNDS]: connects to it, writes, reads and compares\n";
constexpr std::uint64_t kBlocks = 8192;
constexpr std::size_t kBlock = 512;
constexpr Duration kPatience = Duration::s(60);

/// A device on the provider that has the address.
class NetworkDirect {
 public:
  NetworkDirect(World& world, std::string_view text) {
    const auto address = IpAddress::parse(text);
    if (!address) throw UserError("'" + std::string(text) + "' is no address");
    if (NdStartup() != ND_SUCCESS) throw UserError("NdStartup failed");
    sockaddr_storage room = {};
    ULONG length = sizeof room;
    networkdirect::put_endpoint({*address, 0}, reinterpret_cast<sockaddr*>(&room), &length);
    IND2Adapter* adapter = nullptr;
    const HRESULT status =
        NdOpenAdapter(IID_IND2Adapter, reinterpret_cast<const sockaddr*>(&room), length, reinterpret_cast<void**>(&adapter));
    if (status != ND_SUCCESS) {
      char code[16];
      std::snprintf(code, sizeof code, "0x%08lX", static_cast<unsigned long>(status));
      throw UserError("no adapter on " + std::string(text) + ": " + code);
    }
    device_ = networkdirect::make_networkdirect_device(world, *adapter, {.address = *address});
    adapter->Release();
  }
  NetworkDirect(const NetworkDirect&) = delete;
  NetworkDirect& operator=(const NetworkDirect&) = delete;
  ~NetworkDirect() {
    device_.reset();
    NdCleanup();
  }
  rdma::Device& device() { return *device_; }

 private:
  std::unique_ptr<rdma::Device> device_;
};

/// Counts hosts by the controllers that come and go.
class Visits final : public subsystem::SubsystemObserver {
 public:
  explicit Visits(subsystem::Subsystem& disk) : disk_(disk) { disk_.add_observer(*this); }
  ~Visits() { disk_.remove_observer(*this); }
  bool over() const { return came_ && disk_.controllers().empty(); }

 private:
  void on_change(subsystem::Change, std::uint16_t) override { came_ = came_ || !disk_.controllers().empty(); }
  subsystem::Subsystem& disk_;
  bool came_ = false;
};

int serve(const char* address) {
  const auto world = World::make_real(1);
  NetworkDirect here(*world, address);
  std::unique_ptr<transport::RdmaControllerFabric> listener;  // outlives the target's channels
  subsystem::Target target(*world);
  subsystem::Subsystem& disk = target.add_subsystem({});
  subsystem::NamespaceOptions space;
  space.blocks = kBlocks;
  if (!disk.add_namespace(std::move(space)).ok()) throw UserError("no room for a namespace");
  subsystem::PortOptions port;
  port.traddr = address;
  target.add_port(port);
  auto started = transport::RdmaControllerFabric::start(*world, here.device(), {}, target.acceptor());
  if (!started) throw UserError(started.error().text);
  listener = std::move(started).value();
  target.set_listener(1, *listener);
  const Visits visits(disk);
  std::printf("serving %s on %s\n", disk.options().nqn.c_str(), to_string(listener->local()).c_str());
  std::fflush(stdout);
  if (!world->run_until([&] { return visits.over(); }, kPatience)) throw UserError("no host came and went");
  std::puts("the host has gone");
  return 0;
}

/// Writes of any size, several at once, and all of it read back.
void exercise(host::Namespace& space, int rounds) {
  Rng rng(7, "work");
  Bytes expected(kBlocks * kBlock);
  if (!space.write_zeroes(0, kBlocks).wait().ok()) throw UserError("Write Zeroes failed");
  for (int round = 0; round < rounds; ++round) {
    std::vector<Bytes> memory;
    std::vector<Op<nvme::Status>> writes;
    std::uint64_t at = 0;
    for (int i = 0; i < 6; ++i) {
      const std::uint64_t blocks = rng.between(1, rng.chance(1, 6) ? 1000 : 32);
      at += rng.below(150);
      Bytes& data = memory.emplace_back(blocks * kBlock);
      rng.fill(data);
      std::ranges::copy(data, expected.begin() + static_cast<std::ptrdiff_t>(at * kBlock));
      writes.push_back(space.write(at, data));
      at += blocks;
    }
    for (auto& write : writes) {
      if (!write.wait().ok()) throw UserError("a write failed");
    }
  }
  Bytes back(expected.size());
  if (!space.read(0, back).wait().ok()) throw UserError("the read failed");
  if (back != expected) throw UserError("what was read is not what was written");
}

int check(const char* local, std::string_view remote, int rounds) {
  const auto world = World::make_real(2);
  NetworkDirect here(*world, local);
  const auto to = IpAddress::parse(remote);
  if (!to) throw UserError("'" + std::string(remote) + "' is no address");
  transport::RdmaHostFabric fabric(*world, here.device());
  host::Host host(*world, fabric, host::HostOptions{});
  host::ConnectOptions options;
  options.to = {*to, 4420};
  options.subnqn = subsystem::SubsystemOptions{}.nqn;
  options.io_queues = 2;
  const auto outcome = host.connect(options).wait();
  if (!outcome.ok()) throw UserError("no connection: " + outcome.error().text);
  std::printf("connected to %s, controller %u\n", options.subnqn.c_str(), static_cast<unsigned>(outcome.value()->facts().cntlid));
  host::Namespace* const space = host.find(options.subnqn, 1);
  if (space == nullptr) throw UserError("there is no namespace");
  exercise(*space, rounds);
  std::printf("%llu bytes written and read back the same\n", static_cast<unsigned long long>(kBlocks * kBlock));
  if (!outcome.value()->shutdown().wait().ok()) throw UserError("the controller did not shut down");
  return 0;
}

int run(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "serve" && argc == 3) return serve(argv[2]);
  int rounds = 8;
  if (argc == 5) {
    const std::string_view text = argv[4];
    if (std::from_chars(text.data(), text.data() + text.size(), rounds).ec != std::errc()) rounds = 0;
  }
  if (what == "check" && (argc == 4 || argc == 5) && rounds > 0) return check(argv[2], argv[3], rounds);
  std::fputs(kUsage.data(), stderr);
  return 2;
}

}  // namespace
}  // namespace fb

int main(int argc, char** argv) {
  try {
    return fb::run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "nd_nvme: %s\n", failure.what());
    return 1;
  }
}
