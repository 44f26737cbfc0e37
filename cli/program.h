// Programs that the command starts.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace fb::cli {

/// This process's environment, as NAME=VALUE.
std::vector<std::string> own_environment();
void set_variable(std::vector<std::string>& environment, const std::string& name, const std::string& value);

/// A directory of our own that goes with its owner.
class PrivateDirectory {
 public:
  /// `purpose` is a part of its name.
  explicit PrivateDirectory(const std::string& purpose);
  ~PrivateDirectory();
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// What a program has instead of our own streams.
struct ProgramStreams {
  int input = -1, output = -1, errors = -1;  ///< open files; -1: ours
};

/// Starts a program, found on PATH, with the signals let through that the command itself blocks or ignores. Its
/// complaints go to the file `errors`, where that is named. Throws UserError that names the program.
pid_t start_program(std::vector<std::string> words, std::vector<std::string> environment,
                    const std::string& errors = {});
/// The same with these streams.
pid_t start_program(std::vector<std::string> words, std::vector<std::string> environment, const ProgramStreams& streams);

}  // namespace fb::cli
