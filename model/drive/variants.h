// Drives that differ from the usual one in what the specifications leave to them. Each is legal: no case of the suite
// may find fault with it. `fabricbench mctp exec|serve --drive NAME` puts them before any program.
#pragma once

#include <span>
#include <string_view>

#include "model/drive/drive.h"

namespace fb::mi {

struct DriveVariant {
  std::string_view name;
  std::string_view what;  ///< one line for people, beginning after "a drive"
  void (*vary)(DriveOptions&);
};

/// All of them, in the order of a list for people.
std::span<const DriveVariant> drive_variants();
/// Null for a name that nobody knows.
const DriveVariant* find_drive_variant(std::string_view name);

}  // namespace fb::mi
