#include "cli/dbus_daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "base/result.h"
#include "cli/program.h"

namespace fb::cli {

namespace {

/// Waits until the daemon says its address: its socket is there before it takes connections. False when it ends before
/// that, or says nothing in time.
bool says_its_address(int output) {
  constexpr int kPatience_ms = 10'000;
  char last = 0;
  while (last != '\n') {
    pollfd readable{output, POLLIN, 0};
    const int ready = ::poll(&readable, 1, kPatience_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0 || read(output, &last, 1) != 1) return false;
  }
  return true;
}

}  // namespace

DbusDaemon::DbusDaemon(const std::filesystem::path& directory) {
  const std::filesystem::path socket = directory / "dbus";
  const std::filesystem::path config = directory / "dbus.conf";
  const std::filesystem::path errors = directory / "dbus.errors";
  address_ = "unix:path=" + socket.string();
  std::ofstream(config) << "<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\" "
                           "\"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n"
                           "<busconfig><type>session</type><listen>"
                        << address_
                        << "</listen><policy context=\"default\"><allow user=\"*\"/><allow own=\"*\"/>"
                           "<allow send_type=\"method_call\"/><allow send_type=\"signal\"/>"
                           "<allow send_type=\"method_return\"/><allow send_type=\"error\"/>"
                           "<allow receive_type=\"method_call\"/><allow receive_type=\"signal\"/>"
                           "<allow receive_type=\"method_return\"/><allow receive_type=\"error\"/>"
                           "</policy></busconfig>\n";
  // A file takes its complaints, for they come as long as it lives.
  OpenFile complaints(open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  Pipe output = make_pipe();
  // It goes with us even when we are killed.
  process_ = start_program(
      {"setpriv", "--pdeathsig", "TERM", "dbus-daemon", "--nofork", "--nopidfile", "--print-address", "--config-file=" + config.string()},
      own_environment(), {.output = output.write_end.fd(), .errors = complaints.fd()});
  output.write_end.close();
  if (says_its_address(output.read_end.fd())) return;
  end();
  std::string why;
  std::getline(std::ifstream(errors), why);
  throw UserError("dbus-daemon does not start: " + (why.empty() ? "it says nothing" : why));
}

DbusDaemon::~DbusDaemon() { end(); }

void DbusDaemon::end() {
  kill(process_, SIGTERM);
  waitpid(process_, nullptr, 0);
}

}  // namespace fb::cli
