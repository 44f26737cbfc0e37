// Where the frames of a host on raw Ethernet go in and out.
#pragma once

#include <sys/socket.h>

#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace fb::net {

/// A socket that does not block; recv() on its descriptor gives one frame.
class L2Socket {
 public:
  /// A pair of unix datagram sockets. `path` is made anew, and removed at the end; `peer` need not be there yet. The
  /// Problem names the path: it is none, somebody has it open, there is a file of that name.
  static Result<std::unique_ptr<L2Socket>> on_unix_sockets(const std::string& path, const std::string& peer);

  /// An interface of this machine, in promiscuous mode. What else uses the interface hears the same frames: the machine
  /// itself should have no address there. The Problem names the interface: there is none, or this process may not
  /// (CAP_NET_RAW).
  static Result<std::unique_ptr<L2Socket>> on_interface(const std::string& name);

  L2Socket(int fd, const sockaddr_storage& peer, socklen_t peer_size) : fd_(fd), peer_(peer), peer_size_(peer_size) {}
  ~L2Socket();
  L2Socket(const L2Socket&) = delete;
  L2Socket& operator=(const L2Socket&) = delete;

  int fd() const { return fd_; }
  /// 0, or the error.
  int send(ByteView frame) const;

 private:
  int fd_;
  sockaddr_storage peer_;
  socklen_t peer_size_;
  std::string path_ = {};  ///< to be removed
};

}  // namespace fb::net
