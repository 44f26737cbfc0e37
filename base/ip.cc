#include "base/ip.h"

#include <algorithm>
#include <charconv>

#if defined(_WIN32)
#include <ws2tcpip.h>
#include <iphlpapi.h>
#else
#include <arpa/inet.h>
#include <net/if.h>
#endif
#include <fmt/format.h>

#include "base/ip_scope.h"

namespace fb {

namespace {

constexpr std::size_t kScopeAt = 4, kScopeSize = 4;

bool is_link_local(const IpAddress& address) { return address.bytes()[0] == 0xFE && (address.bytes()[1] & 0xC0) == 0x80; }

/// The index of "eth0", or "2"; 0: no such interface.
std::uint32_t interface_index(const std::string& name) {
  std::uint32_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error == std::errc() && end == name.data() + name.size()) return index;
  return if_nametoindex(name.c_str());
}

}  // namespace

std::uint32_t scope_of(const IpAddress& address) { return is_link_local(address) ? load_be<std::uint32_t>(&address.bytes()[kScopeAt]) : 0; }

IpAddress without_scope(const IpAddress& address) { return scope_of(address) == 0 ? address : with_scope(address, 0); }

IpAddress with_scope(const IpAddress& address, std::uint32_t index) {
  if (!is_link_local(address)) return address;
  auto bytes = address.bytes();
  store_be<std::uint32_t>(&bytes[kScopeAt], index);
  return IpAddress::v6(bytes);
}

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  if (text.size() > 2 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
  }
  const std::size_t percent = text.find('%');
  const std::string copy(text.substr(0, percent));
  std::array<std::uint8_t, 16> bytes = {};
  if (percent == std::string_view::npos && inet_pton(AF_INET, copy.c_str(), bytes.data()) == 1) {
    return v4(bytes[0], bytes[1], bytes[2], bytes[3]);
  }
  if (inet_pton(AF_INET6, copy.c_str(), bytes.data()) != 1) return std::nullopt;
  const IpAddress address = v6(bytes);
  if (percent == std::string_view::npos) return address;
  const std::uint32_t index = interface_index(std::string(text.substr(percent + 1)));
  if (index == 0 || !is_link_local(address)) return std::nullopt;
  return with_scope(address, index);
}

std::string to_string(const IpAddress& address) {
  const auto& bytes = address.bytes();
  if (address.is_v4()) {
    return fmt::format("{}.{}.{}.{}", bytes[12], bytes[13], bytes[14], bytes[15]);
  }
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(AF_INET6, without_scope(address).bytes().data(), text, sizeof text);
  const std::uint32_t scope = scope_of(address);
  if (scope == 0) return text;
  char name[IF_NAMESIZE] = {};
  return fmt::format("{}%{}", text, if_indextoname(scope, name) != nullptr ? std::string(name) : std::to_string(scope));
}

std::string to_string(const Endpoint& endpoint) {
  return endpoint.address.is_v4() ? fmt::format("{}:{}", to_string(endpoint.address), endpoint.port)
                                  : fmt::format("[{}]:{}", to_string(endpoint.address), endpoint.port);
}

}  // namespace fb
