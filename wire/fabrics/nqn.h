// NVMe qualified names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace fb::fabrics {

/// The name under which every discovery service answers.
inline constexpr std::string_view kDiscoveryNqn = "nqn.2014-08.org.nvmexpress.discovery";
inline constexpr std::string_view kUuidNqnPrefix = "nqn.2014-08.org.nvmexpress:uuid:";

inline constexpr std::size_t kNqnFieldSize = 256;
/// Longest name in bytes, without the terminator.
inline constexpr std::size_t kNqnBytesMax = 223;

/// Whether `text` is a name: "nqn.", a year and month, a reverse domain, and, unless it is the
/// discovery name, a colon and a string of the domain's owner; a UUID in the UUID form; UTF-8, at
/// most 223 bytes.
bool valid_nqn(std::string_view text);

/// The text of a name field up to its terminator; nothing when there is no terminator.
std::optional<std::string> terminated_text(ByteView field);

}  // namespace fb::fabrics
