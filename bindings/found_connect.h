// Connecting to what a discovery service lists.
#pragma once

#include "bindings/host.h"

namespace fb::python {

/// Asks the service at `options.to`, and connects to the subsystem that it lists at that address, or else to the first.
Op<host::Controller::Outcome> connect_to_found(Box& box, HostSide& side, host::ConnectOptions options);

}  // namespace fb::python
