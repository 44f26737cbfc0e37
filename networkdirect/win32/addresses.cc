// Addresses as text.
#include <algorithm>
#include <charconv>
#include <optional>

#include <net/if.h>

#include "networkdirect/win32/kernel.h"
#include "ws2tcpip.h"

namespace fb::win32 {

namespace {

int refuse(int error) {
  WSASetLastError(error);
  return SOCKET_ERROR;
}

bool started() {
  const Lock lock(kernel().lock);
  return kernel().winsock_users > 0;
}

template <typename T>
std::optional<T> number(const std::string& text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<SOCKADDR_INET> parse_v4(std::string text) {
  SOCKADDR_INET address = {};
  address.Ipv4.sin_family = AF_INET;
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos) {
    const auto port = number<std::uint16_t>(text.substr(colon + 1));
    if (!port) return std::nullopt;
    address.Ipv4.sin_port = htons(*port);
    text.resize(colon);
  }
  if (inet_pton(AF_INET, text.c_str(), &address.Ipv4.sin_addr) != 1) return std::nullopt;
  return address;
}

std::optional<SOCKADDR_INET> parse_v6(std::string text) {
  SOCKADDR_INET address = {};
  address.Ipv6.sin6_family = AF_INET6;
  if (!text.empty() && text.front() == '[') {
    const std::size_t bracket = text.find(']');
    if (bracket == std::string::npos) return std::nullopt;
    const std::string rest = text.substr(bracket + 1);
    if (!rest.empty()) {
      const auto port = rest.front() == ':' ? number<std::uint16_t>(rest.substr(1)) : std::nullopt;
      if (!port) return std::nullopt;
      address.Ipv6.sin6_port = htons(*port);
    }
    text = text.substr(1, bracket - 1);
  }
  const std::size_t percent = text.find('%');
  if (percent != std::string::npos) {
    const std::string scope = text.substr(percent + 1);
    const auto index = number<std::uint32_t>(scope);
    address.Ipv6.sin6_scope_id = index ? *index : if_nametoindex(scope.c_str());
    if (!index && address.Ipv6.sin6_scope_id == 0) return std::nullopt;
    text.resize(percent);
  }
  if (inet_pton(AF_INET6, text.c_str(), &address.Ipv6.sin6_addr) != 1) return std::nullopt;
  return address;
}

int parse(const std::string& text, INT family, LPSOCKADDR address, LPINT address_bytes) {
  if (!started()) return refuse(WSANOTINITIALISED);
  if (address_bytes == nullptr) return refuse(WSAEFAULT);
  if (family != AF_INET && family != AF_INET6) return refuse(WSAEINVAL);
  const auto parsed = family == AF_INET ? parse_v4(text) : parse_v6(text);
  if (!parsed) return refuse(WSAEINVAL);
  const INT size = family == AF_INET ? INT{sizeof(SOCKADDR_IN)} : INT{sizeof(SOCKADDR_IN6)};
  if (*address_bytes < size || address == nullptr) {
    *address_bytes = size;
    return refuse(WSAEFAULT);
  }
  *address_bytes = size;
  std::copy_n(reinterpret_cast<const char*>(&*parsed), size, reinterpret_cast<char*>(address));
  return 0;
}

std::optional<std::string> print(const SOCKADDR* given, DWORD bytes) {
  SOCKADDR_INET address = {};
  if (given == nullptr || bytes < sizeof(ADDRESS_FAMILY)) return std::nullopt;
  std::copy_n(reinterpret_cast<const char*>(given), std::min<std::size_t>(bytes, sizeof(address)), reinterpret_cast<char*>(&address));
  char text[INET6_ADDRSTRLEN] = {};
  if (address.si_family == AF_INET && bytes >= sizeof(SOCKADDR_IN)) {
    inet_ntop(AF_INET, &address.Ipv4.sin_addr, text, sizeof(text));
    const unsigned port = ntohs(address.Ipv4.sin_port);
    return port == 0 ? std::string(text) : std::string(text) + ':' + std::to_string(port);
  }
  if (address.si_family == AF_INET6 && bytes >= sizeof(SOCKADDR_IN6)) {
    inet_ntop(AF_INET6, &address.Ipv6.sin6_addr, text, sizeof(text));
    std::string out = text;
    if (address.Ipv6.sin6_scope_id != 0) out += '%' + std::to_string(address.Ipv6.sin6_scope_id);
    const unsigned port = ntohs(address.Ipv6.sin6_port);
    return port == 0 ? out : '[' + out + "]:" + std::to_string(port);
  }
  return std::nullopt;
}

template <typename Char>
int print_to(const SOCKADDR* address, DWORD bytes, Char* text, LPDWORD text_chars) {
  if (!started()) return refuse(WSANOTINITIALISED);
  if (text_chars == nullptr) return refuse(WSAEFAULT);
  const auto printed = print(address, bytes);
  if (!printed) return refuse(WSAEINVAL);
  const auto needed = static_cast<DWORD>(printed->size() + 1);
  if (text == nullptr || *text_chars < needed) {
    *text_chars = needed;
    return refuse(WSAEFAULT);
  }
  *text_chars = needed;
  std::copy_n(printed->c_str(), needed, text);
  return 0;
}

}  // namespace

}  // namespace fb::win32

using namespace fb::win32;

INT WSAStringToAddressW(LPWSTR text, INT family, LPWSAPROTOCOL_INFOW, LPSOCKADDR address, LPINT address_bytes) {
  return text == nullptr ? refuse(WSAEFAULT) : parse(to_narrow(text), family, address, address_bytes);
}

INT WSAStringToAddressA(LPSTR text, INT family, LPVOID, LPSOCKADDR address, LPINT address_bytes) {
  return text == nullptr ? refuse(WSAEFAULT) : parse(text, family, address, address_bytes);
}

INT WSAAddressToStringW(LPSOCKADDR address, DWORD address_bytes, LPWSAPROTOCOL_INFOW, LPWSTR text, LPDWORD text_chars) {
  return print_to(address, address_bytes, text, text_chars);
}

INT WSAAddressToStringA(LPSOCKADDR address, DWORD address_bytes, LPVOID, LPSTR text, LPDWORD text_chars) {
  return print_to(address, address_bytes, text, text_chars);
}

INT InetPtonW(INT family, LPCWSTR text, PVOID address) {
  if (text == nullptr || address == nullptr) return refuse(WSAEFAULT);
  const int answer = inet_pton(family, to_narrow(text).c_str(), address);
  return answer < 0 ? refuse(WSAEAFNOSUPPORT) : answer;
}

LPCWSTR InetNtopW(INT family, const VOID* address, LPWSTR text, size_t text_chars) {
  char narrow[INET6_ADDRSTRLEN] = {};
  if (inet_ntop(family, address, narrow, sizeof(narrow)) == nullptr) {
    WSASetLastError(WSAEAFNOSUPPORT);
    return nullptr;
  }
  const std::string printed = narrow;
  if (text == nullptr || text_chars <= printed.size()) {
    SetLastError(ERROR_INVALID_PARAMETER);
    return nullptr;
  }
  std::copy_n(printed.c_str(), printed.size() + 1, text);
  return text;
}
