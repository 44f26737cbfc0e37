// `fabricbench host drive`: the driver protocol over standard input and output. docs/user-guide.md describes it.
#pragma once

namespace fb::drive {

/// Serves until the input ends, and ends all associations that it made; the exit code of the program. With `verbose`,
/// standard error is told what nvme-cli does.
int serve(bool verbose);

}  // namespace fb::drive
