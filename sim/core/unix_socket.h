// Unix sockets in the file system at which other processes reach a real world.
#pragma once

#include <string>

#include "base/result.h"

namespace fb {

/// A non-blocking listener of `type` (SOCK_STREAM, SOCK_SEQPACKET) at `path`, which is made and which only its owner may
/// open (0600). A socket that a process left there which was killed is taken over; anything else that is there is a
/// Problem, as is a path that is too long. The caller closes the descriptor and unlinks the path.
Result<int> listen_at(const std::string& path, int type);
/// A blocking connection to what listens there. The caller closes it.
Result<int> connect_to(const std::string& path, int type);

}  // namespace fb
