// Multicast DNS through Avahi on the system bus: discovery services announce themselves, and hosts find them without an address
// (TP8009). The service type is _nvme-disc._tcp for NVMe/TCP and _nvme-disc._udp for
// NVMe/RDMA over UDP; its TXT record says the transport, p, and the name of the discovery subsystem, NQN.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/time.h"

struct sd_bus;

namespace fb::cli {

struct MdnsService {
  std::string name;       ///< of the instance, as people see it
  std::string transport;  ///< a name of transports.h
  Endpoint at;
  std::string nqn;   ///< of the discovery subsystem; empty: it did not say
  std::string host;  ///< who announces it; empty: this machine
};

/// Services are announced as long as this lives; they vanish when the process ends, however it ends.
class MdnsAnnouncement {
 public:
  /// UserError where there is no system bus, no Avahi, or a service that it refuses.
  explicit MdnsAnnouncement(const std::vector<MdnsService>& services);
  ~MdnsAnnouncement();
  MdnsAnnouncement(const MdnsAnnouncement&) = delete;
  MdnsAnnouncement& operator=(const MdnsAnnouncement&) = delete;

 private:
  struct CloseBus {
    void operator()(sd_bus* bus) const;
  };
  std::unique_ptr<sd_bus, CloseBus> bus_;
};

/// What is announced on the local network, in the order of names and addresses: what Avahi knows, and what answers within
/// `patience`. UserError where there is no system bus or no Avahi.
std::vector<MdnsService> mdns_services(Duration patience);

}  // namespace fb::cli
