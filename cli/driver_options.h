// What every driver has: how a bench gets to it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/drive/driver.h"

namespace fb::cli {

struct DriverArguments {
  std::string listen, connect, token_file;
};

/// --listen, --connect and --token-file.
void add_driver_options(CLI::App& command, DriverArguments& arguments);
/// Serves over standard input and output, listens, or joins who listens elsewhere.
int run_driver(const DriverArguments& arguments, const drive::Serving& serving);

}  // namespace fb::cli
