// Subcommands of `target` and `mctp`.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/common.h"

namespace fb::cli {

void add_target_drive(CLI::App& target, Outcome& outcome);
void add_mctp_drive(CLI::App& mctp, Outcome& outcome);

}  // namespace fb::cli
