// Amounts of bytes, and times, as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace fb {

/// "64M", "512", "4KiB"; the Problem names the text.
Result<std::uint64_t> parse_size(std::string_view text);
/// "64 MiB", "1.5 GiB".
std::string size_text(std::uint64_t bytes);

/// "1500us", "250ms", "2s", "30m", "2h"; the Problem names the text.
Result<Duration> parse_duration(std::string_view text);

}  // namespace fb
