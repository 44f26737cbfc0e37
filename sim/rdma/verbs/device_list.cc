#include "sim/rdma/verbs/device_list.h"

#include <endian.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace fb::verbs {

namespace {

/// The kernel's list, for as long as a device of it is being opened.
class KernelList {
 public:
  KernelList() : list_(ibv_get_device_list(&count_)), error_(list_ == nullptr ? errno : 0) {}
  ~KernelList() {
    if (list_ != nullptr) ibv_free_device_list(list_);
  }
  KernelList(const KernelList&) = delete;
  KernelList& operator=(const KernelList&) = delete;

  std::span<ibv_device* const> devices() const { return {list_, list_ == nullptr ? 0 : static_cast<std::size_t>(count_)}; }
  /// Without the kernel's module there is no list; that is no device, not a failure.
  int error() const { return error_ == ENOSYS ? 0 : error_; }

 private:
  int count_ = 0;
  ibv_device** list_;
  int error_;
};

std::string names_of(const KernelList& list) {
  std::string names;
  for (ibv_device* device : list.devices()) names += (names.empty() ? "" : ", ") + std::string(ibv_get_device_name(device));
  return names;
}

Failure<Problem> cannot_open(std::string_view name, int error) {
  const bool forbidden = error == EACCES || error == EPERM;
  return Failure{Problem{
      fmt::format("verbs:{}: the device cannot be opened: {} ({}); {}", name, words_of(error),
                  forbidden ? "the mode of /dev/infiniband/uverbs* says who may" : "is there /dev/infiniband/uverbs*? modprobe ib_uverbs",
                  how_to_make_one())}};
}

std::uint32_t bytes_of(ibv_mtu mtu) { return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128u << mtu : 0; }

std::string_view transport_of(const ibv_context& context, const ibv_port_attr& port) {
  if (context.device->transport_type == IBV_TRANSPORT_IWARP) return "iWARP";
  return port.link_layer == IBV_LINK_LAYER_ETHERNET ? "RoCE" : "InfiniBand";
}

/// On RoCE an address is a GID of the port. The one made of the interface's hardware address counts for nothing.
std::vector<IpAddress> addresses_of(ibv_context& context, const ibv_port_attr& port) {
  std::vector<IpAddress> found;
  for (int index = 0; index < port.gid_tbl_len; ++index) {
    ibv_gid gid = {};
    if (ibv_query_gid(&context, 1, index, &gid) != 0) continue;
    std::array<std::uint8_t, 16> bytes;
    std::memcpy(bytes.data(), gid.raw, bytes.size());
    const IpAddress address = IpAddress::v6(bytes);
    const bool link_local = bytes[0] == 0xFE && (bytes[1] & 0xC0) == 0x80;
    if (address == IpAddress() || link_local || std::ranges::find(found, address) != found.end()) continue;
    found.push_back(address);
  }
  return found;
}

}  // namespace

std::string words_of(int error) {
  std::string text = std::strerror(error);
  if (text.size() > 1 && text[1] >= 'a' && text[1] <= 'z') text[0] = static_cast<char>(text[0] | 0x20);
  return text;
}

std::string_view how_to_make_one() {
  return "a software device is made with: modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0";
}

Result<Owned<ibv_context>> open_context(std::string_view name) {
  const KernelList list;
  if (list.error() != 0) return Failure{Problem{"the RDMA devices cannot be listed: " + words_of(list.error())}};
  for (ibv_device* device : list.devices()) {
    if (ibv_get_device_name(device) != name) continue;
    Owned<ibv_context> context(ibv_open_device(device));
    if (context == nullptr) return cannot_open(name, errno);
    return context;
  }
  const std::string names = names_of(list);
  return Failure{Problem{fmt::format("verbs:{}: no such device, {}; {}", name,
                                     names.empty() ? "this machine has none" : "there is " + names, how_to_make_one())}};
}

Result<DeviceFacts> facts_of(ibv_context& context) {
  DeviceFacts facts;
  facts.name = ibv_get_device_name(context.device);
  facts.node_guid = be64toh(ibv_get_device_guid(context.device));
  ibv_port_attr port = {};
  const int error = ibv_query_port(&context, 1, &port);
  if (error != 0) return Failure{Problem{fmt::format("verbs:{}: its port tells nothing: {}", facts.name, words_of(error))}};
  facts.transport = transport_of(context, port);
  facts.active = port.state == IBV_PORT_ACTIVE;
  facts.mtu_bytes = bytes_of(port.active_mtu);
  if (facts.transport == "RoCE") facts.addresses = addresses_of(context, port);
  return facts;
}

Result<std::vector<DeviceFacts>> list_devices() {
  const KernelList list;
  if (list.error() != 0) return Failure{Problem{"the RDMA devices cannot be listed: " + words_of(list.error())}};
  std::vector<DeviceFacts> found;
  for (ibv_device* device : list.devices()) {
    const Owned<ibv_context> context(ibv_open_device(device));
    if (context == nullptr) return cannot_open(ibv_get_device_name(device), errno);
    auto facts = facts_of(*context);
    if (!facts) return Failure{facts.error()};
    found.push_back(std::move(facts).value());
  }
  std::ranges::sort(found, {}, &DeviceFacts::name);
  return found;
}

}  // namespace fb::verbs
