// The error information log of a controller.
#pragma once

#include <array>

#include "model/subsystem/controller_part.h"

namespace fb::subsystem {

/// What an entry says.
struct ErrorFacts {
  std::uint16_t sqid = 0xFFFF;
  std::uint16_t cid = 0xFFFF;
  nvme::Status status;
  std::uint64_t lba = 0;
  std::uint32_t nsid = 0;
  std::uint8_t opcode = 0;
  std::uint8_t csi = 0;
};

class ErrorLog : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  void add_error(const ErrorFacts& facts);
  Bytes log_errors() const;
  void clear_errors();

 private:
  friend class Controller;

  std::vector<std::array<std::uint8_t, 64>> errors_;  ///< a ring, at error_count_ % size
  std::uint64_t error_count_ = 0;
  std::uint64_t errors_valid_ = 0;
};

}  // namespace fb::subsystem
