// JSON documents that the command prints and leaves: each names the version of its schema, and reports the program that made them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace fb::conformance {

/// The content with "schema_version" in front. The number rises when a key goes or changes its meaning; a new key needs none.
nlohmann::ordered_json versioned(nlohmann::ordered_json content, int version = 1);

/// {"name", "version", "commit", "ledger", "compiler"}
nlohmann::ordered_json tool_json();

/// The commit that the program was built from, with "-dirty" behind it where files were changed; "unknown" outside of a clone.
std::string_view tool_commit();
/// "g++ 12.2.0"
std::string tool_compiler();
/// What `fabricbench --version` prints.
std::string version_text();

}  // namespace fb::conformance
