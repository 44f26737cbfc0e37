// Sessions of the driver protocol over TCP: `--listen` of a driver, and `--connect` of who stands in for it.
#pragma once

#include <string>

#include "cli/drive/driver.h"

namespace fb::drive {

/// Listens at ADDRESS:PORT or [ADDRESS]:PORT, says so in a line on standard output, and serves each connection as serve()
/// does, in a process of its own: a session begins without a program being started. Until SIGINT or SIGTERM, which end the
/// sessions, too. Who connects says the token in a line of its own first; who does not is disconnected. Without a token it
/// listens on loopback alone: who can connect drives the product, as root. Throws UserError when it cannot listen there.
int serve_sessions(const std::string& address, const std::string& token, const Serving& serving);

/// The other side: says the token, and passes standard input and output on, until either ends. Throws UserError when nobody
/// listens there.
int join_session(const std::string& address, const std::string& token);

}  // namespace fb::drive
