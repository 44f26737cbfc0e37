// A program that takes lines on its standard input and answers in lines on its standard output. In real time.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "sim/core/world.h"

namespace fb::conformance {

class DriverListener {
 public:
  virtual void on_line(std::string_view line) = 0;
  /// Nothing more comes: it has ended, or closed its output. `why` in words.
  virtual void on_end(const std::string& why) = 0;

 protected:
  ~DriverListener() = default;
};

/// Whom a bench makes requests of.
class Driver {
 public:
  virtual ~Driver() = default;
  /// Never waits for it to read.
  virtual void send(std::string_view line) = 0;
  /// Says that nothing more comes, and steps the world until it has ended; false when `limit` has passed first.
  virtual bool end(Duration limit) = 0;
};

class DriverProcess final : public Driver, private FdHandler {
 public:
  /// Starts `command` by /bin/sh, in a process group of its own: an interrupted terminal does not reach it, so that the
  /// bench can tell it what to do about that. Its standard error is ours.
  /// \throws UserError when there can be no further process.
  DriverProcess(World& world, const std::string& command, DriverListener& listener);
  /// Ends its input, where end() has not, and gives it three seconds to tidy up; kills whoever is left of its group.
  ~DriverProcess() override;
  DriverProcess(const DriverProcess&) = delete;
  DriverProcess& operator=(const DriverProcess&) = delete;

  void send(std::string_view line) override;
  bool end(Duration limit) override;

 private:
  void on_readable() override;
  void on_writable() override;
  void wait_a_moment(int looks);
  void close_input();
  void close_output(const std::string& why);
  void watch_input();
  /// Whether the process has ended; `status_` is then what waitpid(2) says.
  bool reap();
  std::string why_it_ended();

  World& world_;
  RealLoop& loop_;
  DriverListener& listener_;
  pid_t child_ = 0;
  bool reaped_ = false;
  bool had_time_ = false;
  int status_ = 0;
  int input_ = -1;  // a socket: a program that is gone makes no SIGPIPE of it
  int output_ = -1;
  std::string unsent_;
  std::string unread_;
};

}  // namespace fb::conformance
