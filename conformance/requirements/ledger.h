// The requirement ledger: what the specifications ask for, in our own words, with the section it comes
// from and the set of legal answers. The entries are YAML files in this folder.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fb::conformance {

struct Requirement {
  std::string id;  ///< stable for ever: "fabrics.connect.sqsize.minimum"
  std::string document;
  std::string revision;
  std::string section;
  std::string level;  ///< mandatory, recommended, informative
  std::vector<std::string> roles;
  std::string profile;  ///< where revisions differ: which ones say so
  std::string text;
  std::vector<std::string> answers;
  std::string confidence;  ///< confirmed, read, memory
  std::string state;       ///< todo or exception for entries without a case; empty otherwise
  std::string reason;
};

/// Every entry, by id.
std::span<const Requirement> ledger();

/// The entry of that id, or nullptr.
const Requirement* find_requirement(std::string_view id);

/// The first word of an id is its suite: "fabrics".
std::string_view suite_of(std::string_view requirement);

namespace detail {
const std::vector<Requirement>& ledger_data();
}  // namespace detail

}  // namespace fb::conformance
