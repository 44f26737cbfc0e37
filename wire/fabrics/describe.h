// One line for a command or a completion, for traces and reports. Any bytes can be described.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "wire/nvme/sgl.h"
#include "wire/nvme/status.h"

namespace fb::fabrics {

/// "Connect qid=1 sqsize=31 cid=2 keyed(addr=0x1000 len=1024 key=0x7)". Fields that are zero are
/// left out unless the command is about them. `admin` says on which kind of queue it came.
std::string describe_command(ByteView sqe, bool admin);

/// The name alone: "Connect", "Identify", "Read".
std::string_view command_name(ByteView sqe, bool admin);

/// "cid=2 sqhd=1 Connect Invalid Parameters (1/82h) DNR dw0=0x2c". `family` is that of the
/// command that it answers.
std::string describe_completion(ByteView cqe, nvme::StatusFamily family = nvme::StatusFamily::unknown);

/// "keyed(addr=0x1000 len=1024 key=0x7 invalidate)", "in-capsule(offset=0 len=512)".
std::string describe_sgl(const nvme::SglDescriptor& descriptor);

/// "CC"; "reserved" for others.
std::string_view property_name(std::uint32_t offset);

}  // namespace fb::fabrics
