// `fabricbench mctp proxy`: between somebody's requester and somebody's drive on two serial lines.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/common.h"

namespace fb::cli {

void add_mctp_proxy(CLI::App& group, Outcome& outcome);

}  // namespace fb::cli
