// The boot table of NVMe-oF (NBFT): written from an association, shown, and connected to as an operating system does.
#pragma once

#include "cli/common.h"

namespace fb::cli {

/// `nbft` with its subcommands below `host`.
void add_nbft(CLI::App& host, Outcome& outcome);

}  // namespace fb::cli
