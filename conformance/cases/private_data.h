// Private data of connections over any programming interface: contents and lengths for both sides of a limit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fb::conformance {

/// The most that a reject message of the connection manager holds.
inline constexpr std::uint32_t kRefusalData = 148;

inline std::string private_data(std::uint32_t bytes, char first) {
  std::string made;
  for (std::uint32_t i = 0; i < bytes; ++i) made += static_cast<char>(first + static_cast<char>(i % 23));
  return made;
}

/// Lengths up to the limit: few bytes, an odd number, one less than the limit, and the limit.
inline std::vector<std::uint32_t> lengths_up_to(std::uint32_t most) {
  std::vector<std::uint32_t> made = {0, 1, 2, 39};
  if (most > 40) made.push_back(most - 1);
  made.push_back(most);
  std::erase_if(made, [most](std::uint32_t length) { return length > most; });
  return made;
}

}  // namespace fb::conformance
