// Programs that the command starts.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <utility>
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

/// An open file of our own; programs do not have it but as one of their streams.
class OpenFile {
 public:
  explicit OpenFile(int fd = -1) : fd_(fd) {}
  ~OpenFile() { close(); }
  OpenFile(OpenFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept;
  /// -1: none.
  int fd() const { return fd_; }
  void close();

 private:
  int fd_;
};

struct Pipe {
  OpenFile read_end, write_end;
};
/// Throws UserError.
Pipe make_pipe();

/// Starts a program, found on PATH, with the signals let through that the command itself blocks or ignores. Throws
/// UserError that names the program.
pid_t start_program(std::vector<std::string> words, std::vector<std::string> environment, const ProgramStreams& streams = {});

}  // namespace fb::cli
