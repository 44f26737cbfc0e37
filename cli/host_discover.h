// Lists what discovery services offer: that of a URL, or all that are announced on the local network.
#pragma once

#include "cli/host_session.h"

namespace fb::cli {

struct DiscoverArguments {
  HostArguments host;  ///< its URL may be mdns:
  bool persistent = false;
  bool no_referrals = false;
};

/// The exit code: 1 where a service of several could not be asked.
int run_discover(const DiscoverArguments& arguments);

}  // namespace fb::cli
