// A D-Bus daemon of our own, which goes with its owner: what is published on it is seen by nobody but the programs that
// are told its address.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace fb::cli {

class DbusDaemon {
 public:
  /// Starts dbus-daemon with its socket in `directory`, and waits until it takes connections. Throws UserError when it
  /// is missing or does not start.
  explicit DbusDaemon(const std::filesystem::path& directory);
  ~DbusDaemon();
  DbusDaemon(const DbusDaemon&) = delete;
  DbusDaemon& operator=(const DbusDaemon&) = delete;

  /// For DBUS_SYSTEM_BUS_ADDRESS.
  const std::string& address() const { return address_; }

 private:
  void end();

  std::string address_;
  pid_t process_ = 0;
};

}  // namespace fb::cli
