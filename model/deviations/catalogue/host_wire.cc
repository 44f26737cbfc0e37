// Hosts that break what the monitors check in every command, and no case provokes.
#include <algorithm>
#include <string_view>

#include "model/deviations/deviation.h"
#include "wire/fabrics/transports.h"
#include "wire/nvme/opcodes.h"

namespace fb::deviations {

namespace {

constexpr std::uint8_t kSqeBytes = 64, kPsdtMask = 0xC0;
constexpr std::size_t kSgl1 = 24, kSgl1Bytes = 16, kSqsize = 44, kHostNqn = 512;

bool is_fabrics(ByteView sqe) { return sqe[0] == nvme::kFabricsOpcode; }
bool is_connect(ByteView sqe) { return is_fabrics(sqe) && sqe[4] == 0x01; }
bool moves_data(ByteView sqe) { return nvme::direction_of(is_fabrics(sqe) ? sqe[4] : sqe[0]) != nvme::DataDirection::none; }

/// PSDT 00b in commands of the Fabrics kind, or in the others without data.
template <bool Fabrics>
class SaysPrp final : public host::HostHooks {
 public:
  // The transport has written PSDT by then.
  void capsule_out(std::uint16_t, Bytes& capsule) override {
    if (capsule.size() < kSqeBytes || is_fabrics(capsule) != Fabrics || (!Fabrics && moves_data(capsule))) return;
    capsule[1] = static_cast<std::uint8_t>(capsule[1] & ~kPsdtMask);
  }
};

/// 16 zero bytes in place of an empty descriptor.
class LeavesDescriptorsOut final : public host::HostHooks {
 public:
  void capsule_out(std::uint16_t, Bytes& capsule) override {
    if (capsule.size() < kSqeBytes || moves_data(capsule)) return;
    std::fill_n(capsule.begin() + kSgl1, kSgl1Bytes, std::uint8_t{0});
  }
};

/// The UUID form with the name of a machine.
class HasNoUuid final : public host::HostHooks {
 public:
  void command_out(std::uint16_t, MutableBytes sqe, MutableBytes data) override {
    constexpr std::string_view kName = "nqn.2014-08.org.nvmexpress:uuid:laptop";
    if (!is_connect(sqe) || data.size() < 2 * kHostNqn) return;
    std::fill_n(data.begin() + kHostNqn, 256, std::uint8_t{0});
    std::copy(kName.begin(), kName.end(), data.begin() + kHostNqn);
  }
};

/// A submission queue of more entries than the connection was made for.
class ConnectsBeyondHsqsize final : public host::HostHooks {
 public:
  void command_out(std::uint16_t, MutableBytes sqe, MutableBytes) override {
    if (!is_connect(sqe)) return;
    store_le<std::uint16_t>(&sqe[kSqsize], static_cast<std::uint16_t>(load_le<std::uint16_t>(&sqe[kSqsize]) + 16));
  }
};

}  // namespace

DEVIATION(host_says_prp_without_data, "fabrics.wire.psdt", Product::host, "commands without data say PRP in PSDT", hooks<SaysPrp<false>>());
DEVIATION(host_says_prp_in_fabrics_commands, "fabrics.wire.fabrics-psdt", Product::host, "Fabrics commands have PSDT 00b",
          hooks<SaysPrp<true>>());
DEVIATION(host_leaves_descriptors_out, "fabrics.wire.no-data-descriptor", Product::host,
          "commands without data have zeros for a descriptor", hooks<LeavesDescriptorsOut>());
DEVIATION(host_name_has_no_uuid, "fabrics.wire.hostnqn-uuid", Product::host, "the UUID form of its HOSTNQN has no UUID",
          hooks<HasNoUuid>());
DEVIATION(host_connects_beyond_hsqsize, "fabrics.wire.connect-hsqsize", Product::host, "SQSIZE of Connect is above HSQSIZE of the REQ",
          hooks<ConnectsBeyondHsqsize>(), fabrics::kRdma);

}  // namespace fb::deviations
