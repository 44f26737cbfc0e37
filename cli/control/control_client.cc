#include "cli/control/control_client.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/or_throw.h"
#include "sim/core/unix_socket.h"

namespace fb::cli {

ControlClient::ControlClient(const std::string& path) : path_(path), fd_(or_throw(connect_to(path, SOCK_STREAM))) {}

ControlClient::~ControlClient() { ::close(fd_); }

ControlClient::Document ControlClient::call(const Document& request) {
  std::string line = request.dump() + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t count = ::send(fd_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (count < 0) throw UserError(path_ + ": " + std::strerror(errno));
    sent += static_cast<std::size_t>(count);
  }
  std::string answer;
  char buffer[65536];
  while (answer.find('\n') == std::string::npos) {
    const ssize_t count = ::recv(fd_, buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw UserError(path_ + ": the product ended the connection without an answer");
    answer.append(buffer, static_cast<std::size_t>(count));
  }
  Document parsed = Document::parse(answer, nullptr, false);
  if (parsed.is_discarded() || !parsed.is_object()) throw UserError(path_ + ": what listens there does not speak JSON-RPC");
  return parsed;
}

}  // namespace fb::cli
