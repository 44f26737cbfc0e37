// Options that choose cases, the same for every command that does.
#pragma once

#include "cli/common.h"
#include "conformance/runner/runner.h"

namespace fb::cli {

void add_selection(CLI::App& command, conformance::Selection& selection);

}  // namespace fb::cli
