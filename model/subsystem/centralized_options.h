// What a discovery controller has of centralized discovery (NVMe Base 2.1, 5.4.4 and 8.3.2).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/ip.h"

namespace fb::subsystem {

/// An Authentication Verification Entity that the AVE Discovery log lists.
struct AveOptions {
  std::string nqn;
  std::vector<Endpoint> at;
};

/// What a discovery controller is beside a list of subsystems.
struct CentralizedOptions {
  /// DCTYPE 2, with the commands and log pages that a centralized discovery controller must have.
  bool centralized = false;
  /// Discovery Information Management, and the Host Discovery log.
  bool registers = false;
  /// Entries that may be registered.
  std::size_t entries_max = 1024;
  /// EXTDLPES, PLEOS (of a direct one alone), ALLSUBES and ALLHOSTES.
  bool extended_entries = false;
  bool port_local = false;
  bool unfiltered = false;
  std::vector<AveOptions> aves = {};
};

}  // namespace fb::subsystem
