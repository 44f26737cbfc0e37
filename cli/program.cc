#include "cli/program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/result.h"

namespace fb::cli {

namespace {

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// What happens to the streams of the program before it runs.
class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

pid_t spawn(std::vector<std::string>& words, std::vector<std::string>& environment, FileActions& files) {
  const std::vector<char*> argv = pointers_to(words);
  const std::vector<char*> envp = pointers_to(environment);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  sigset_t ignored;
  sigemptyset(&ignored);
  sigaddset(&ignored, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &ignored);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], files.get(), &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) throw UserError(words.front() + ": " + std::strerror(error));
  return child;
}

}  // namespace

std::vector<std::string> own_environment() {
  std::vector<std::string> found;
  for (char** at = environ; *at != nullptr; ++at) found.emplace_back(*at);
  return found;
}

void set_variable(std::vector<std::string>& environment, const std::string& name, const std::string& value) {
  std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(name + "="); });
  environment.push_back(name + "=" + value);
}

PrivateDirectory::PrivateDirectory(const std::string& purpose) {
  std::string name = (std::filesystem::temp_directory_path() / ("fabricbench-" + purpose + "-XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) throw UserError(name + ": " + std::strerror(errno));
  path_ = name;
}

PrivateDirectory::~PrivateDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  close();
  fd_ = std::exchange(other.fd_, -1);
  return *this;
}

void OpenFile::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw UserError(std::string("a pipe: ") + std::strerror(errno));
  return {OpenFile(ends[0]), OpenFile(ends[1])};
}

pid_t start_program(std::vector<std::string> words, std::vector<std::string> environment, const ProgramStreams& streams) {
  FileActions files;
  for (const auto& [ours, theirs] :
       {std::pair{streams.input, STDIN_FILENO}, std::pair{streams.output, STDOUT_FILENO}, std::pair{streams.errors, STDERR_FILENO}}) {
    if (ours >= 0) posix_spawn_file_actions_adddup2(files.get(), ours, theirs);
  }
  return spawn(words, environment, files);
}

}  // namespace fb::cli
