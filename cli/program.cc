#include "cli/program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

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

}  // namespace

std::vector<std::string> own_environment() {
  std::vector<std::string> found;
  for (char** at = environ; *at != nullptr; ++at) found.emplace_back(*at);
  return found;
}

pid_t start_program(std::vector<std::string> words, std::vector<std::string> environment,
                    const std::string& errors) {
  const std::vector<char*> argv = pointers_to(words);
  const std::vector<char*> envp = pointers_to(environment);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (!errors.empty()) {
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  }
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &files, &attributes, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) throw UserError(words.front() + ": " + std::strerror(error));
  return child;
}

}  // namespace fb::cli
