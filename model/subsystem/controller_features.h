// The values of features that one controller keeps.
#pragma once

#include <cstdint>

namespace fb::subsystem {

/// Features whose values are numbers: as they are now, or as they were saved.
struct ControllerFeatures {
  std::uint32_t arbitration = 0;
  std::uint32_t power = 0;
  std::uint16_t temperature_over = 0x157;
  std::uint16_t temperature_under = 0;
  std::uint32_t recovery = 0;
  std::uint32_t write_cache = 1;
  std::uint16_t queues = 0;
  std::uint32_t atomicity = 0;
  std::uint32_t events = 0;
  std::uint32_t kato_ms = 0;
  std::uint8_t retry_delays = 0;      ///< Host Behavior Support, ACRE
  std::uint8_t extended_formats = 0;  ///< the same, LBAFEE
  std::uint16_t copy_formats = 0;     ///< the same, CDFE
  std::uint32_t command_sets = 0;
  std::uint16_t lba_status_interval = 0;  ///< LSIRI, units of 100 ms
};

}  // namespace fb::subsystem
