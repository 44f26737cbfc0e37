// A unix socket at which other programs tell a product what to do: JSON-RPC 2.0, one request a line.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/control/rpc.h"
#include "sim/core/world.h"

namespace fb::cli {

/// "unix:/run/target.sock", or the path alone.
std::string control_path(const std::string& url);

class ControlSocket final : private FdHandler {
 public:
  /// A longer line is answered with an error, and ends its connection.
  static constexpr std::size_t kLineMax = 1u << 20;
  /// A client that does not read its answers is dropped beyond so many bytes.
  static constexpr std::size_t kUnreadMax = 16u << 20;
  static constexpr std::size_t kClientsMax = 64;

  /// Listens at `path`, which only its owner may open. The world is real; `rpc` outlives the socket. The process
  /// ignores SIGPIPE.
  static Result<std::unique_ptr<ControlSocket>> open(World& world, const Rpc& rpc, const std::string& path);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

 private:
  class Client;

  ControlSocket(World& world, const Rpc& rpc, std::string path, int fd);
  void on_readable() override;
  void drop(Client& client);

  World& world_;
  const Rpc& rpc_;
  std::string path_;
  int fd_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace fb::cli
