// `fabricbench host drive --listen`: sessions of the driver protocol over TCP.
#pragma once

#include <string>

#include "cli/drive/driver.h"

namespace fb::drive {

/// Listens at ADDRESS:PORT or [ADDRESS]:PORT, says so in a line on standard output, and serves each connection as serve()
/// does, in a process of its own: a session begins without a program being started. Until SIGINT or SIGTERM, which end the
/// sessions, too. Throws UserError when it cannot listen there. Who can connect drives this machine's host, as root.
int serve_sessions(const std::string& address, const Options& options);

}  // namespace fb::drive
