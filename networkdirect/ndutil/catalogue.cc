#include "networkdirect/ndutil/catalogue.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <ws2spi.h>
#include <ws2tcpip.h>

namespace fb::ndutil {

namespace {

/// The whole catalogue of the system. It may grow between the two calls.
std::optional<std::vector<WSAPROTOCOL_INFOW>> all_entries(INT& error) {
  DWORD bytes = 0;
  error = 0;
  if (WSCEnumProtocols(nullptr, nullptr, &bytes, &error) != SOCKET_ERROR) return std::vector<WSAPROTOCOL_INFOW>();
  while (error == WSAENOBUFS) {
    std::vector<WSAPROTOCOL_INFOW> entries(bytes / sizeof(WSAPROTOCOL_INFOW) + 1);
    bytes = static_cast<DWORD>(entries.size() * sizeof(WSAPROTOCOL_INFOW));
    const int count = WSCEnumProtocols(nullptr, entries.data(), &bytes, &error);
    if (count != SOCKET_ERROR) {
      entries.resize(static_cast<std::size_t>(count));
      return entries;
    }
  }
  return std::nullopt;
}

std::wstring path_of(GUID id) {
  WCHAR path[MAX_PATH] = {};  // Wine says that all is well and writes nothing
  INT chars = MAX_PATH;
  INT error = 0;
  if (WSCGetProviderPath(&id, path, &chars, &error) != 0) return {};
  path[MAX_PATH - 1] = 0;
  return path;
}

std::wstring variable(const wchar_t* name) {
  std::wstring value;
  DWORD chars = GetEnvironmentVariableW(name, nullptr, 0);
  while (chars > value.size()) {  // another thread may make it longer meanwhile
    value.resize(chars);
    chars = GetEnvironmentVariableW(name, value.data(), static_cast<DWORD>(value.size()));
  }
  value.resize(chars);
  return value;
}

void add(std::vector<ProviderEntry>& found, ProviderEntry entry) {
  entry.library = expand_environment(entry.path);
  const auto same = [&entry](const ProviderEntry& other) { return same_provider(entry, other); };
  if (std::none_of(found.begin(), found.end(), same)) found.push_back(std::move(entry));
}

void add_named_in_environment(std::vector<ProviderEntry>& found) {
  const std::wstring list = variable(kLibrariesVariable);
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(L';', begin), list.size());
    std::wstring item = list.substr(begin, end - begin);
    begin = end + 1;
    std::optional<GUID> id;
    const std::size_t equals = item.find(L"}=");
    if (item.starts_with(L'{') && equals != std::wstring::npos) {
      id = parse_guid(std::wstring_view(item).substr(0, equals + 1));
      if (!id) continue;
      item.erase(0, equals + 2);
    }
    if (item.empty()) continue;
    add(found, {id ? *id : default_provider_id(item), ND_VERSION_2, item, {}, {}, false});
  }
}

void append_hex(std::wstring& text, std::uint32_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) text += L"0123456789ABCDEF"[value >> shift & 0xF];
}

/// `digits` hexadecimal digits are taken from the front; false when there are none.
bool take_hex(std::wstring_view& text, int digits, std::uint32_t& value) {
  value = 0;
  for (int i = 0; i < digits; ++i) {
    if (text.empty()) return false;
    const std::size_t digit = std::wstring_view(L"0123456789abcdef0123456789ABCDEF").find(text.front());
    if (digit == std::wstring_view::npos) return false;
    value = value << 4 | static_cast<std::uint32_t>(digit % 16);
    text.remove_prefix(1);
  }
  return true;
}

bool take(std::wstring_view& text, wchar_t c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

bool same_provider(const ProviderEntry& a, const ProviderEntry& b) {
  return a.id == b.id && a.version == b.version && a.library == b.library;
}

bool is_networkdirect(const WSAPROTOCOL_INFOW& entry) {
  return (entry.dwServiceFlags1 & ND_CATALOG_SERVICE_FLAGS) == ND_CATALOG_SERVICE_FLAGS &&
         (entry.dwProviderFlags & ND_CATALOG_PROVIDER_FLAGS) == ND_CATALOG_PROVIDER_FLAGS &&
         (entry.iAddressFamily == AF_INET || entry.iAddressFamily == AF_INET6) && entry.iSocketType == ND_CATALOG_SOCKET_TYPE &&
         entry.iProtocol == 0 && entry.iProtocolMaxOffset == 0 && entry.ProtocolChain.ChainLen == BASE_PROTOCOL;
}

std::optional<std::vector<ProviderEntry>> read_catalogue(INT* error) {
  INT reason = 0;
  auto entries = all_entries(error == nullptr ? reason : *error);
  if (!entries) return std::nullopt;
  std::vector<ProviderEntry> found;
  for (const WSAPROTOCOL_INFOW& entry : *entries) {
    if (!is_networkdirect(entry)) continue;
    // The interface's document says 2 for version 2, Microsoft's helper library the other: providers are installed with either.
    const int version = entry.iVersion == 2 ? ND_VERSION_2 : entry.iVersion;
    add(found, {entry.ProviderId, version, path_of(entry.ProviderId), {}, entry.szProtocol});
  }
  add_named_in_environment(found);
  return found;
}

WSAPROTOCOL_INFOW entry_of_version_2(const GUID& id, const std::wstring& name) {
  WSAPROTOCOL_INFOW entry = {};
  entry.dwServiceFlags1 = ND_CATALOG_SERVICE_FLAGS;
  entry.dwProviderFlags = ND_CATALOG_PROVIDER_FLAGS;
  entry.ProviderId = id;
  entry.ProtocolChain.ChainLen = BASE_PROTOCOL;
  entry.iVersion = ND_VERSION_2;
  entry.iAddressFamily = AF_INET6;
  entry.iMaxSockAddr = INT{sizeof(sockaddr_in6)};
  entry.iMinSockAddr = INT{sizeof(sockaddr_in)};
  entry.iSocketType = ND_CATALOG_SOCKET_TYPE;
  const std::size_t chars = std::min<std::size_t>(name.size(), WSAPROTOCOL_LEN);
  std::copy_n(name.begin(), chars, entry.szProtocol);
  return entry;
}

std::wstring expand_environment(const std::wstring& text) {
  std::wstring expanded(text.size() + 1, L'\0');
  for (;;) {
    const DWORD chars = ExpandEnvironmentStringsW(text.c_str(), expanded.data(), static_cast<DWORD>(expanded.size()));
    if (chars == 0) return text;
    const bool fits = chars <= expanded.size();
    expanded.resize(fits ? chars - 1 : chars);
    if (fits) return expanded;
  }
}

GUID default_provider_id(const std::wstring& path) {
  if (path.substr(path.find_last_of(L"/\\") + 1) == kOwnLibrary) return kOwnProvider;
  // FNV-1a of the path, once from the front and once from the back.
  std::uint64_t halves[2] = {0xCBF29CE484222325u, 0xCBF29CE484222325u};
  for (std::size_t i = 0; i < path.size(); ++i) {
    halves[0] = (halves[0] ^ static_cast<std::uint64_t>(path[i])) * 0x100000001B3u;
    halves[1] = (halves[1] ^ static_cast<std::uint64_t>(path[path.size() - 1 - i])) * 0x100000001B3u;
  }
  GUID id = {};
  static_assert(sizeof(id) == sizeof(halves));
  std::memcpy(&id, halves, sizeof(id));
  id.Data3 = static_cast<unsigned short>((id.Data3 & 0x0FFF) | 0x8000);  // RFC 9562: version 8, made by a rule of one's own
  id.Data4[0] = static_cast<unsigned char>((id.Data4[0] & 0x3F) | 0x80);
  return id;
}

std::optional<GUID> parse_guid(std::wstring_view text) {
  const bool braces = take(text, L'{');
  if (braces) {
    if (!text.ends_with(L'}')) return std::nullopt;
    text.remove_suffix(1);
  }
  std::uint32_t first = 0, second = 0, third = 0;
  if (!take_hex(text, 8, first) || !take(text, L'-') || !take_hex(text, 4, second) || !take(text, L'-') || !take_hex(text, 4, third) ||
      !take(text, L'-')) {
    return std::nullopt;
  }
  GUID id = {};
  id.Data1 = first;
  id.Data2 = static_cast<unsigned short>(second);
  id.Data3 = static_cast<unsigned short>(third);
  for (int i = 0; i < 8; ++i) {
    std::uint32_t byte = 0;
    if ((i == 2 && !take(text, L'-')) || !take_hex(text, 2, byte)) return std::nullopt;
    id.Data4[i] = static_cast<unsigned char>(byte);
  }
  return text.empty() ? std::optional(id) : std::nullopt;
}

std::wstring print_guid(const GUID& id) {
  std::wstring text = L"{";
  append_hex(text, id.Data1, 8);
  text += L'-';
  append_hex(text, id.Data2, 4);
  text += L'-';
  append_hex(text, id.Data3, 4);
  for (int i = 0; i < 8; ++i) {
    if (i == 0 || i == 2) text += L'-';
    append_hex(text, id.Data4[i], 2);
  }
  return text + L'}';
}

}  // namespace fb::ndutil
