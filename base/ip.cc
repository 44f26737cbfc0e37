#include "base/ip.h"

#include <algorithm>

#if defined(_WIN32)
#include <ws2tcpip.h>
#else
#include <arpa/inet.h>
#endif
#include <fmt/format.h>

namespace fb {

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  if (text.size() > 2 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
  }
  const std::string copy(text);
  std::array<std::uint8_t, 16> bytes = {};
  if (inet_pton(AF_INET, copy.c_str(), bytes.data()) == 1) {
    return v4(bytes[0], bytes[1], bytes[2], bytes[3]);
  }
  if (inet_pton(AF_INET6, copy.c_str(), bytes.data()) == 1) return v6(bytes);
  return std::nullopt;
}

std::string to_string(const IpAddress& address) {
  const auto& bytes = address.bytes();
  if (address.is_v4()) {
    return fmt::format("{}.{}.{}.{}", bytes[12], bytes[13], bytes[14], bytes[15]);
  }
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(AF_INET6, bytes.data(), text, sizeof text);
  return text;
}

std::string to_string(const Endpoint& endpoint) {
  return endpoint.address.is_v4()
             ? fmt::format("{}:{}", to_string(endpoint.address), endpoint.port)
             : fmt::format("[{}]:{}", to_string(endpoint.address), endpoint.port);
}

}  // namespace fb
