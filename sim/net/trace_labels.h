// What layers call themselves in traces of several layers.
#pragma once

#include <string_view>

namespace fb::net {

inline constexpr std::string_view kTcpLabel = "tcp";

}  // namespace fb::net
