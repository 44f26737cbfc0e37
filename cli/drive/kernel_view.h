// What the kernel shows of its NVMe host, below /sys/class/nvme.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fb::drive {

struct Controller {
  std::string name;       ///< nvme0
  std::string transport;  ///< tcp, rdma, pcie ...
  std::string subnqn;
  std::string state;  ///< live, connecting, resetting, deleting ...
  bool discovery = false;
};

std::vector<Controller> controllers();

/// Where the target of a controller is. To be asked of live ones alone: Linux 6.1 falls over a socket that is being closed.
std::string traddr_of(const std::string& controller);

/// The first line of an attribute of the controller; empty when there is none, or no such controller.
std::string attribute(const std::string& controller, const std::string& name);
/// Gives an attribute a value; the error, or 0.
int set_attribute(const std::string& controller, const std::string& name, const std::string& value);

/// Where the kernel takes orders to connect.
inline constexpr const char* kFabrics = "/dev/nvme-fabrics";
/// Connects, with options as the kernel names them and commas between; the name of the controller. Throws Refused.
std::string make_controller(const std::string& options);

/// A block device of a namespace. With native multipath it is that of the subsystem, which stands for all its paths.
struct Disk {
  std::string node;  ///< /dev/nvme0n1
  std::uint32_t nsid = 0;
};
std::vector<Disk> disks_of(const std::string& controller);

/// Whether controllers of one subsystem are paths to the same block devices.
bool joins_paths();

/// Whether the kernel's host has DH-HMAC-CHAP: its fabrics device takes secrets without, too.
bool can_authenticate();

}  // namespace fb::drive
