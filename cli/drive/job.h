// Work in processes of their own. Who asks a block device whose controller is silent waits in the kernel and cannot be
// killed: a thread there would keep the whole program from ending. A child keeps nobody but itself.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fb::drive {

using Limit = std::chrono::milliseconds;

/// A function in a child process, which says one line. The child ends with its owner, as far as the kernel lets it.
class Job {
 public:
  /// The process that begins it has one thread.
  explicit Job(const std::function<std::string()>& work);
  ~Job();
  Job(Job&& other) noexcept;
  Job& operator=(Job&&) = delete;

  /// Readable when there is something to receive().
  int fd() const { return fd_; }
  /// Takes in what is there. True once the line is whole, or the child has gone without one.
  bool receive();
  /// The line; nothing while it is not whole.
  std::optional<std::string> line() const;
  /// receive() until it is true, or the time is over.
  bool wait(Limit limit);

 private:
  pid_t child_ = -1;
  int fd_ = -1;
  std::string said_;
  bool ended_ = false;
};

/// What a program came to.
struct Ended {
  int status = -1;     ///< its exit code; -1: it was ended by a signal, or late
  bool late = false;   ///< it had not ended in time, and was killed
  std::string output;  ///< both of its streams
  bool ok() const { return status == 0; }
  /// One line: what it said last, or how it ended.
  std::string why() const;
};

/// Runs a program that is found on PATH; no shell sees the words.
Ended run(const std::vector<std::string>& words, Limit limit);

/// Sleeps a little, for those who wait until something is there.
void pause_a_little();

/// Calls `done` now and then until it is true; false when the time is over.
bool wait_until(const std::function<bool()>& done, Limit limit);

}  // namespace fb::drive
