// The Connect command: everything that is checked before a queue belongs to a controller.
#pragma once

#include "model/subsystem/queue.h"

namespace fb::subsystem {

/// A Connect capsule arrived. Fetches its data; finish_connect() follows.
void start_connect(const Command& command);
void finish_connect(const Command& command);

bool is_connect(const Command& command);

}  // namespace fb::subsystem
