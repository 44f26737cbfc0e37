// An MCTP bus with managed drives and a management controller that sends them NVMe-MI requests.
#pragma once

#include <fabricbench/types.h>

#include <string>
#include <vector>

namespace fabricbench {

struct DriveOptions {
  /// A kind of drive of `fabricbench list --drives`; empty: the usual one.
  std::string kind = {};
  std::vector<std::string> deviations = {};
};

struct FABRICBENCH_API MiReply {
  bool answered = false;
  std::uint8_t status = 0xFF;  ///< NVMe-MI status of the response
  std::string text;            ///< its name, or why there is no answer
  Bytes message;               ///< the response from its header on, without its check

  bool ok() const { return answered && status == 0; }
};

class FABRICBENCH_API Bus {
 public:
  struct FABRICBENCH_INSIDE Part;
  /// Attaches a drive and assigns an endpoint identifier to it, which it returns.
  std::uint8_t add_drive(const DriveOptions& options = {});
  /// An NVMe-MI command of the MI command set.
  MiReply command(std::uint8_t eid, std::uint8_t opcode, std::uint32_t nmd0 = 0, std::uint32_t nmd1 = 0, const Bytes& data = {});
  /// Any request from its header on; the check is added.
  MiReply request(std::uint8_t eid, const Bytes& body);
  /// An admin command through the drive, with room for `length` bytes of its data.
  MiReply admin(std::uint8_t eid, std::uint16_t cntlid, const Command& command, std::uint32_t length = 0);

 private:
  friend class World;
  explicit Bus(Part& part) : part_(&part) {}
  Part* part_;
};

}  // namespace fabricbench
