// Programs that the command starts.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace fb::cli {

/// This process's environment, as NAME=VALUE.
std::vector<std::string> own_environment();

/// Starts a program, found on PATH, with the signals let through that the command itself blocks. Its
/// complaints go to the file `errors`, where that is named. Throws UserError that names the program.
pid_t start_program(std::vector<std::string> words, std::vector<std::string> environment,
                    const std::string& errors = {});

}  // namespace fb::cli
