// A world of a campaign again, from its file.
#pragma once

#include <string>

#include "conformance/campaign/replay_file.h"

namespace fb::cli {

/// The file; UserError when it is none.
conformance::ReplayFile read_replay_file(const std::string& path);

/// Runs it, prints its digest and its story, or one JSON document, and leaves its packets in
/// FOLDER/captures/world.pcapng and a page with the exchange in FOLDER/index.html where a folder is named. `times` runs,
/// of which the last that failed as the file says, or else the last, is told. The exit code of the verdict: red where any fails.
int replay_world(const std::string& path, const std::string& report, bool json, unsigned times);

}  // namespace fb::cli
