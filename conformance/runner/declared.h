// What a controller or a management endpoint declares of itself, found out before a case by a host that behaves: applicability
// is decided from this, never from how a case fails.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/host/types.h"
#include "sim/rdma/verbs_types.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/property.h"
#include "wire/mi/data_structures.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_namespace.h"

namespace fb::conformance {

/// Of a management endpoint.
struct EndpointFacts {
  bool packets = true;            ///< the bench makes and sees single packets
  bool frames = true;             ///< and the frames of the medium
  bool media = true;              ///< the medium is emulated: whatever the bench wants happens on it
  bool control = true;            ///< MCTP control messages of the bench reach it
  bool answers = false;           ///< it has answered something, however wrong
  unsigned major = 0, minor = 0;  ///< of NVMe-MI; 0.0: it did not say
  std::vector<Bytes> ports = {};  ///< port information, 32 bytes each, by PORTID
  std::uint8_t port = 0;          ///< that of this endpoint
  std::vector<std::uint16_t> controllers = {};
  /// Optional commands of the first controller.
  std::vector<mi::SupportedCommand> optional = {};
  std::vector<std::uint8_t> message_types = {};
  bool uuid = false;
  bool status_reporting = false;  ///< Status Reporting Enhancements (NNSC): resets show in Get State

  bool at_least(unsigned mjr, unsigned mnr) const { return major > mjr || (major == mjr && minor >= mnr); }
  bool supports(const mi::SupportedCommand& command) const {
    return std::find(optional.begin(), optional.end(), command) != optional.end();
  }
  /// Zeros of a port that it has not described.
  View<mi::PortInfo> port_info(std::size_t number) const { return View<mi::PortInfo>{described(number)}; }
  View<mi::TwoWirePortInfo> two_wire_info(std::size_t number) const { return View<mi::TwoWirePortInfo>{described(number)}; }
  /// The first port of a kind.
  std::optional<std::uint8_t> port_of(mi::PortType type) const {
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (port_info(i).get(mi::port_info::prttyp) == type) return static_cast<std::uint8_t>(i);
    }
    return std::nullopt;
  }
  /// Bytes of the management endpoint buffer; 0: none.
  std::uint32_t buffer_bytes() const { return port_info(port).get(mi::port_info::mebs); }
  /// Most payload of a packet.
  std::uint16_t unit_max() const { return ports.empty() ? 64 : port_info(port).get(mi::port_info::mmtus); }

 private:
  ByteView described(std::size_t number) const {
    static constexpr std::array<std::uint8_t, mi::PortInfo::size> kNothing{};
    return number < ports.size() ? ByteView{ports[number]} : ByteView{kNothing};
  }
};

struct Declared {
  bool known = false;    ///< what the product says of itself could be read: it can be decided which cases apply
  std::string why = {};  ///< why not; of a controller also: why a host that behaves could not connect
  /// Of a controller that does not come so far: why no queue gets a transport connection, and why it is never ready. What waits
  /// for either would wait in vain.
  std::string no_transport = {}, not_ready = {};
  bool embedded = true;
  std::uint64_t cap = 0;
  std::uint32_t vs = 0;
  std::uint32_t nsid = 0;           ///< the first active namespace; 0: none
  std::uint32_t block_bytes = 512;  ///< of that namespace, on the wire
  std::uint64_t blocks = 0;
  /// All active ones of the NVM command set that a host can use, by ascending NSID.
  std::vector<host::NamespaceFacts> namespaces = {};
  /// Those of the Zoned Namespace command set, which the list above does not have.
  std::vector<host::NamespaceFacts> zoned_namespaces = {};
  /// Those of the Key Value command set.
  std::vector<host::NamespaceFacts> key_value_namespaces = {};
  bool zone_append = false;  ///< the log of commands and effects has Zone Append
  std::uint32_t in_capsule_bytes = 0;
  std::uint16_t io_queues = 0;  ///< granted when one asked for 64
  /// What a host asks for that leaves the choice of controller to the product: FFFEh where controllers are
  /// static.
  std::uint16_t any_cntlid = fabrics::kAnyController;
  /// False: a real product that says that it does not know the name of the discovery service.
  bool discovery = true;
  std::uint32_t usual_kato_ms = 0;     ///< 0, but for a product that takes no host without a keep alive timeout
  std::uint32_t features = 0;          ///< a bit for each identifier below 32 whose current value Get Features tells
  std::uint16_t kelvin = 0;            ///< composite temperature of the health log; 0: not known
  bool mutual_authentication = false;  ///< the bench knows the controller's secret too
  Bytes controller = Bytes(4096);
  Bytes name_space = Bytes(4096);
  EndpointFacts endpoint = {};
  rdma::DeviceLimits rdma = {};  ///< of an RDMA device

  View<nvme::IdentifyController> identify() const { return View<nvme::IdentifyController>{controller}; }
  View<nvme::IdentifyNamespace> identify_namespace() const { return View<nvme::IdentifyNamespace>{name_space}; }
  Record<fabrics::Cap> capabilities() const { return record_from_integer<fabrics::Cap>(cap); }
  bool has_feature(nvme::FeatureId id) const { return (features >> static_cast<unsigned>(id) & 1) != 0; }
  /// Entries of the largest I/O queue.
  std::uint32_t queue_entries_max() const { return static_cast<std::uint32_t>(capabilities().get(fabrics::cap::mqes).count()); }
  /// Most bytes of one transfer; 0: no limit.
  std::uint64_t transfer_max() const {
    const std::uint8_t mdts = identify().get(nvme::id_ctrl::mdts);
    if (mdts == 0) return 0;
    return std::uint64_t{1} << (mdts + 12 + capabilities().get(fabrics::cap::mpsmin));
  }
  bool version_at_least(unsigned mjr, unsigned mnr) const { return vs >= fabrics::version(mjr, mnr, 0); }
};

}  // namespace fb::conformance
