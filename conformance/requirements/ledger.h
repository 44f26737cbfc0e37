// The requirement ledger: what the specifications ask for, in our own words, with the section it comes
// from and the set of legal answers. The entries are YAML files in this folder.
#pragma once

#include <span>
#include <string_view>

namespace fb::conformance {

struct Requirement {
  std::string_view id;  ///< stable for ever: "fabrics.connect.sqsize.minimum"
  std::string_view document;
  std::string_view revision;
  std::string_view section;
  std::string_view level;  ///< mandatory, recommended, informative
  std::span<const std::string_view> roles;
  std::string_view profile;  ///< where revisions differ: which ones say so
  std::span<const std::string_view> see;  ///< the same in other catalogues: "UNH-IOL NVMe-MI 1.4.1"
  std::string_view text;
  std::span<const std::string_view> answers;
  std::string_view confidence;  ///< confirmed, read, memory
  std::string_view state;       ///< todo or exception for entries without a case; empty otherwise
  std::string_view reason;
};

/// Every entry, by id.
std::span<const Requirement> ledger();

/// The entry of that id, or nullptr.
const Requirement* find_requirement(std::string_view id);

/// The first word of an id is its suite: "fabrics".
std::string_view suite_of(std::string_view requirement);

}  // namespace fb::conformance
