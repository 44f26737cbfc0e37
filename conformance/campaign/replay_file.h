// A recipe as a file: which world, what its workers do, which faults strike, and what came of it.
#pragma once

#include "conformance/campaign/judge.h"
#include "conformance/campaign/recipe.h"

namespace fb::conformance {

struct ReplayFile {
  Recipe recipe;
  std::string signature;     ///< what went wrong when it was written
  std::uint64_t digest = 0;  ///< of that world
};

std::string to_json(const ReplayFile& file);
/// `source` names the text in Problems. One that another version wrote is refused.
Result<ReplayFile> parse_replay_file(std::string_view text, const std::string& source);
/// Whether the text is one at all, and not another file of ours.
bool is_replay_file(std::string_view text);

}  // namespace fb::conformance
