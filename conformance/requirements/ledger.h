// The requirement ledger: what the specifications ask for, in our own words, with the section it comes
// from and the set of legal answers. The entries are YAML files in this folder.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fb::conformance {

struct Requirement {
  std::string_view id;        ///< stable for ever: "fabrics.connect.sqsize.minimum"
  std::string_view document;  ///< its short name in conformance/documents.yaml
  std::string_view revision;
  std::string_view section;        ///< its number; several, with a comma between
  std::string_view section_title;  ///< of each, with a semicolon between; empty where one is not known
  std::string_view document_name;  ///< in full
  bool section_checked = false;    ///< the contents of this revision are known, and the section is one of them
  std::string_view since;          ///< the first revision that has the rule, where it is known
  std::string_view subject;        ///< what the id is about: "connect"
  std::string_view level;          ///< mandatory, recommended, informative
  std::span<const std::string_view> roles;
  std::string_view profile;               ///< where revisions differ: which ones say so
  std::span<const std::string_view> see;  ///< the same in other catalogues: "UNH-IOL NVMe-MI 1.4.1"
  std::string_view text;
  std::span<const std::string_view> answers;
  /// confirmed: somebody has looked the sentence up at this place; read: in the document, by an earlier reading; memory:
  /// no text was found.
  std::string_view confidence;
  std::string_view state;  ///< todo or exception for entries without a case; empty otherwise
  std::string_view reason;
};

/// Every entry, by id.
std::span<const Requirement> ledger();

/// Another text where an entry changed: "1a2b3c4d".
std::string ledger_version();

/// The entry of that id, or nullptr.
const Requirement* find_requirement(std::string_view id);

/// "NVMe Base 2.3, 8.1.26 Sanitize Operations".
std::string citation(const Requirement& requirement);

/// The first word of an id is its suite, "fabrics", but for the ids of discovery in other areas: "fabrics.discovery.many".
std::string_view suite_of(std::string_view requirement);

}  // namespace fb::conformance
