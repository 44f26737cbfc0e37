// fabricbench.toml: what `fabricbench run` takes where the command line does not say otherwise.
//
//   [product]
//   dut = "tcp://192.0.2.7:4420"
//   waivers = "waivers.yaml"
//
//   [run]
//   suites = ["fabrics", "nvme"]
//   lanes = ["all"]
//
// [product] counts only where the command line names no product itself. Files are relative to the folder of the configuration.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace fb::cli {

inline constexpr const char* kRunConfigName = "fabricbench.toml";

/// Gives the options of `run` that were not on the command line their values from the file. Throws UserError that names file
/// and line.
void apply_run_config(CLI::App& command, const std::string& path);

}  // namespace fb::cli
