// An emulated NVM subsystem on a machine of its own. It listens at port 4420 over NVMe/TCP and RoCEv2.
#pragma once

#include <fabricbench/types.h>

#include <string>
#include <vector>

namespace fabricbench {

struct SubsystemOptions {
  std::string name = "target";  ///< of its machine; faults and links name it
  std::string nqn = {};         ///< empty: the product's own
  std::string serial = {};
  std::string model = {};
  /// Ways in which it departs from the specifications: `fabricbench list --deviations`.
  std::vector<std::string> deviations = {};
};

struct NamespaceOptions {
  std::uint64_t blocks = 131072;
  std::uint32_t block_bytes = 512;  ///< or 4096
};

class FABRICBENCH_API Subsystem {
 public:
  struct FABRICBENCH_INSIDE Part;
  const std::string& nqn() const;
  const std::string& address() const;
  /// Its NSID: the lowest that is free.
  std::uint32_t add_namespace(const NamespaceOptions& options = {});
  void remove_namespace(std::uint32_t nsid);
  /// What the medium holds, without a command.
  Bytes stored(std::uint32_t nsid, std::uint64_t lba, std::uint64_t blocks = 1) const;
  void store(std::uint32_t nsid, std::uint64_t lba, const Bytes& data);

 private:
  friend class World;
  friend class Host;
  explicit Subsystem(Part& part) : part_(&part) {}
  Part* part_;
};

}  // namespace fabricbench
