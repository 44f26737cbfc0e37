// What a controller declares of itself, found out before a case by a host that behaves: applicability
// is decided from this, never from how a case fails.
#pragma once

#include <cstdint>
#include <string>

#include "wire/fabrics/connect.h"
#include "wire/fabrics/property.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_namespace.h"

namespace fb::conformance {

struct Declared {
  bool known = false;     ///< false: the product could not be asked; then every case applies
  std::string why = {};   ///< when not known
  bool embedded = true;
  std::uint64_t cap = 0;
  std::uint32_t vs = 0;
  std::uint32_t nsid = 0;          ///< the first active namespace; 0: none
  std::uint32_t block_bytes = 512; ///< of that namespace
  std::uint64_t blocks = 0;
  std::uint32_t in_capsule_bytes = 0;
  std::uint16_t io_queues = 0;     ///< granted when one asked for 64
  /// What a host asks for that leaves the choice of controller to the product: FFFEh where controllers are
  /// static.
  std::uint16_t any_cntlid = fabrics::kAnyController;
  std::uint32_t usual_kato_ms = 0;  ///< 0, but for a product that takes no host without a keep alive timeout
  bool mutual_authentication = false;  ///< the bench knows the controller's secret too
  Bytes controller = Bytes(4096);
  Bytes name_space = Bytes(4096);

  View<nvme::IdentifyController> identify() const { return View<nvme::IdentifyController>{controller}; }
  View<nvme::IdentifyNamespace> identify_namespace() const {
    return View<nvme::IdentifyNamespace>{name_space};
  }
  Record<fabrics::Cap> capabilities() const { return record_from_integer<fabrics::Cap>(cap); }
  /// Entries of the largest I/O queue.
  std::uint32_t queue_entries_max() const {
    return static_cast<std::uint32_t>(capabilities().get(fabrics::cap::mqes).count());
  }
  /// Most bytes of one transfer; 0: no limit.
  std::uint64_t transfer_max() const {
    const std::uint8_t mdts = identify().get(nvme::id_ctrl::mdts);
    if (mdts == 0) return 0;
    return std::uint64_t{1} << (mdts + 12 + capabilities().get(fabrics::cap::mpsmin));
  }
  bool version_at_least(unsigned mjr, unsigned mnr) const {
    return vs >= fabrics::version(mjr, mnr, 0);
  }
};

}  // namespace fb::conformance
