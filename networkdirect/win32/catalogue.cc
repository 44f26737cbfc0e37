// The Winsock catalogue as far as providers of NetworkDirect are in it. On Windows it is a part of the registry, one for
// the machine, and takes an administrator to change. Here it is a text file:
//
// - named by FABRICBENCH_PROVIDERS where that is set, so that tests, and runs side by side, have catalogues of their own
//   and CI writes nothing into anybody's home;
// - otherwise the user's, in the usual place for configuration, so that an installed provider is found by every program
//   of that user, across processes, as programs expect, and without an administrator.
//
// A list in the environment alone would do for finding providers but not for installing them: that must outlive the
// process. Changes are made under a lock file, in a copy that then replaces the file, so that readers need no lock.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "networkdirect/win32/kernel.h"
#include "ws2spi.h"

namespace fb::win32 {

namespace {

struct Provider {
  GUID id = {};
  std::string path;
  std::vector<WSAPROTOCOL_INFOW> entries;
};

constexpr DWORD kFirstEntry = 1001;
// What every catalogue has: entries that somebody who looks for NetworkDirect has to pass over.
constexpr GUID kSystem = {0x2F0C5A11, 0x7B3E, 0x4C55, {0x8D, 0x10, 0x3A, 0x6E, 0x52, 0x91, 0xC4, 0x77}};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::filesystem::path catalogue_path() {
  const std::string named = variable("FABRICBENCH_PROVIDERS");
  if (!named.empty()) return named;
  const std::string config = variable("XDG_CONFIG_HOME");
  const std::filesystem::path base = config.empty() ? std::filesystem::path(variable("HOME")) / ".config" : std::filesystem::path(config);
  return base / "fabricbench" / "networkdirect-providers";
}

std::string print(const GUID& id) {
  char text[40];
  std::snprintf(text, sizeof(text), "{%08X-%04X-%04X-%02X%02X-%02X%02X%02X%02X%02X%02X}", id.Data1, id.Data2, id.Data3, id.Data4[0],
                id.Data4[1], id.Data4[2], id.Data4[3], id.Data4[4], id.Data4[5], id.Data4[6], id.Data4[7]);
  return text;
}

std::optional<GUID> parse_guid(const std::string& text) {
  GUID id = {};
  unsigned short w[2] = {};
  unsigned char b[8] = {};
  int end = 0;
  if (std::sscanf(text.c_str(), "{%8X-%4hX-%4hX-%2hhX%2hhX-%2hhX%2hhX%2hhX%2hhX%2hhX%2hhX}%n", &id.Data1, &w[0], &w[1], &b[0], &b[1], &b[2],
                  &b[3], &b[4], &b[5], &b[6], &b[7], &end) != 11 ||
      text.size() != 38 || end != 38) {
    return std::nullopt;
  }
  id.Data2 = w[0];
  id.Data3 = w[1];
  std::copy(std::begin(b), std::end(b), id.Data4);
  return id;
}

/// The numbers of an entry, with the names that they have in the file.
struct Member {
  const char* name;
  DWORD (*get)(const WSAPROTOCOL_INFOW&);
  void (*set)(WSAPROTOCOL_INFOW&, DWORD);
};

#define MEMBER(name, field)                                                                \
  Member {                                                                                 \
    name, [](const WSAPROTOCOL_INFOW& e) { return static_cast<DWORD>(e.field); },          \
        [](WSAPROTOCOL_INFOW& e, DWORD n) { e.field = static_cast<decltype(e.field)>(n); } \
  }
const Member kMembers[] = {
    MEMBER("id", dwCatalogEntryId),          MEMBER("service1", dwServiceFlags1),
    MEMBER("service2", dwServiceFlags2),     MEMBER("service3", dwServiceFlags3),
    MEMBER("service4", dwServiceFlags4),     MEMBER("flags", dwProviderFlags),
    MEMBER("chain", ProtocolChain.ChainLen), MEMBER("version", iVersion),
    MEMBER("family", iAddressFamily),        MEMBER("address_max", iMaxSockAddr),
    MEMBER("address_min", iMinSockAddr),     MEMBER("socket_type", iSocketType),
    MEMBER("protocol", iProtocol),           MEMBER("protocol_offset", iProtocolMaxOffset),
    MEMBER("byte_order", iNetworkByteOrder), MEMBER("security", iSecurityScheme),
    MEMBER("message_bytes", dwMessageSize),
};
#undef MEMBER

std::string print(const WSAPROTOCOL_INFOW& entry) {
  std::ostringstream line;
  line << "entry" << std::hex;
  for (const Member& member : kMembers) line << ' ' << member.name << "=0x" << member.get(entry);
  line << " name=" << to_narrow(entry.szProtocol);
  return line.str();
}

std::optional<WSAPROTOCOL_INFOW> parse_entry(const std::string& line) {
  WSAPROTOCOL_INFOW entry = {};
  const std::size_t name = line.find(" name=");
  if (name == std::string::npos) return std::nullopt;
  const std::wstring protocol = to_wide(line.substr(name + 6));
  if (protocol.size() > WSAPROTOCOL_LEN) return std::nullopt;
  std::copy(protocol.begin(), protocol.end(), entry.szProtocol);
  std::istringstream words(line.substr(0, name));
  std::string word;
  words >> word;
  while (words >> word) {
    const std::size_t equals = word.find("=0x");
    if (equals == std::string::npos) return std::nullopt;
    const auto* member =
        std::find_if(std::begin(kMembers), std::end(kMembers), [&](const Member& m) { return word.compare(0, equals, m.name) == 0; });
    DWORD value = 0;
    const char* last = word.data() + word.size();
    const auto [end, error] = std::from_chars(word.data() + equals + 3, last, value, 16);
    if (member == std::end(kMembers) || error != std::errc() || end != last) return std::nullopt;
    member->set(entry, value);
  }
  return entry;
}

// Empty when the file is not one of ours; no file is an empty catalogue.
std::optional<std::vector<Provider>> read(const std::filesystem::path& path) {
  std::vector<Provider> providers;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    if (line.starts_with("provider ")) {
      const std::size_t space = line.find(' ', 9);
      const auto id = parse_guid(line.substr(9, space == std::string::npos ? space : space - 9));
      if (!id || space == std::string::npos) return std::nullopt;
      providers.push_back({*id, line.substr(space + 1), {}});
      continue;
    }
    auto entry = line.starts_with("entry ") && !providers.empty() ? parse_entry(line) : std::nullopt;
    if (!entry) return std::nullopt;
    entry->ProviderId = providers.back().id;
    providers.back().entries.push_back(*entry);
  }
  return providers;
}

bool write(const std::filesystem::path& path, const std::vector<Provider>& providers) {
  const std::filesystem::path copy = path.string() + ".new";
  {
    std::ofstream file(copy, std::ios::trunc);
    file << "# NetworkDirect providers: a library, and its entries as WSAPROTOCOL_INFOW has them\n";
    for (const Provider& provider : providers) {
      file << "provider " << print(provider.id) << ' ' << provider.path << '\n';
      for (const WSAPROTOCOL_INFOW& entry : provider.entries) file << print(entry) << '\n';
    }
    if (!file.flush()) return false;
  }
  std::error_code error;
  std::filesystem::rename(copy, path, error);
  return !error;
}

/// One process at a time changes a catalogue.
class ChangeLock {
 public:
  explicit ChangeLock(const std::filesystem::path& path) {
    std::error_code error;
    if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
    descriptor_ = open((path.string() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor_ < 0) return;
    while (flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ChangeLock(const ChangeLock&) = delete;
  ChangeLock& operator=(const ChangeLock&) = delete;
  ~ChangeLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

WSAPROTOCOL_INFOW system_entry(DWORD id, int type, int protocol, const wchar_t* name) {
  WSAPROTOCOL_INFOW entry = {};
  entry.dwServiceFlags1 =
      type == SOCK_STREAM ? XP1_GUARANTEED_DELIVERY | XP1_GUARANTEED_ORDER | XP1_GRACEFUL_CLOSE : XP1_CONNECTIONLESS | XP1_MESSAGE_ORIENTED;
  entry.dwProviderFlags = PFL_MATCHES_PROTOCOL_ZERO;
  entry.ProviderId = kSystem;
  entry.dwCatalogEntryId = id;
  entry.ProtocolChain.ChainLen = BASE_PROTOCOL;
  entry.iVersion = 2;
  entry.iAddressFamily = AF_INET;
  entry.iMaxSockAddr = entry.iMinSockAddr = INT{sizeof(SOCKADDR_IN)};
  entry.iSocketType = type;
  entry.iProtocol = protocol;
  wcscpy_s(entry.szProtocol, name);
  return entry;
}

std::vector<WSAPROTOCOL_INFOW> all_entries(const std::vector<Provider>& providers) {
  std::vector<WSAPROTOCOL_INFOW> entries = {system_entry(1, SOCK_STREAM, IPPROTO_TCP, L"TCP/IP"),
                                            system_entry(2, SOCK_DGRAM, IPPROTO_UDP, L"UDP/IP")};
  for (const Provider& provider : providers) entries.insert(entries.end(), provider.entries.begin(), provider.entries.end());
  return entries;
}

bool asked_for(const WSAPROTOCOL_INFOW& entry, const INT* protocols) {
  if (protocols == nullptr) return true;
  for (; *protocols != 0; ++protocols) {
    if (entry.iProtocol == *protocols) return true;
  }
  return false;
}

int answer(LPINT error, int code) {
  SetLastError(static_cast<DWORD>(code));
  if (error != nullptr) *error = code;
  return code == 0 ? 0 : SOCKET_ERROR;
}

auto find_provider(std::vector<Provider>& providers, const GUID& id) {
  return std::find_if(providers.begin(), providers.end(), [&id](const Provider& p) { return p.id == id; });
}

int install(const GUID& id, const std::string& library, const WSAPROTOCOL_INFOW* entries, DWORD count) {
  const std::filesystem::path path = catalogue_path();
  const ChangeLock lock(path);
  if (!lock) return WSAEACCES;
  auto providers = read(path);
  if (!providers) return WSANO_RECOVERY;
  if (find_provider(*providers, id) != providers->end() || id == kSystem) return WSANO_RECOVERY;
  DWORD next = kFirstEntry;
  for (const Provider& provider : *providers) {
    for (const WSAPROTOCOL_INFOW& entry : provider.entries) next = std::max(next, entry.dwCatalogEntryId + 1);
  }
  Provider made = {id, library, {entries, entries + count}};
  for (WSAPROTOCOL_INFOW& entry : made.entries) {
    entry.dwCatalogEntryId = next++;
    entry.szProtocol[WSAPROTOCOL_LEN] = 0;
    std::replace_if(
        std::begin(entry.szProtocol), std::end(entry.szProtocol), [](wchar_t c) { return c != 0 && c < L' '; }, L' ');
  }
  providers->push_back(std::move(made));
  return write(path, *providers) ? 0 : WSAEACCES;
}

int deinstall(const GUID& id) {
  const std::filesystem::path path = catalogue_path();
  const ChangeLock lock(path);
  if (!lock) return WSAEACCES;
  auto providers = read(path);
  if (!providers) return WSANO_RECOVERY;
  const auto at = find_provider(*providers, id);
  if (at == providers->end()) return WSAEINVAL;
  providers->erase(at);
  return write(path, *providers) ? 0 : WSAEACCES;
}

}  // namespace

}  // namespace fb::win32

using namespace fb::win32;

int WSCEnumProtocols(LPINT protocols, LPWSAPROTOCOL_INFOW entries, LPDWORD entries_bytes, LPINT error) {
  if (entries_bytes == nullptr || error == nullptr) return answer(error, WSAEFAULT);
  const auto providers = read(catalogue_path());
  if (!providers) return answer(error, WSANO_RECOVERY);
  std::vector<WSAPROTOCOL_INFOW> all = all_entries(*providers);
  std::erase_if(all, [protocols](const WSAPROTOCOL_INFOW& entry) { return !asked_for(entry, protocols); });
  const auto needed = static_cast<DWORD>(all.size() * sizeof(WSAPROTOCOL_INFOW));
  if (entries == nullptr || *entries_bytes < needed) {
    *entries_bytes = needed;
    return answer(error, WSAENOBUFS);
  }
  std::copy(all.begin(), all.end(), entries);
  return static_cast<int>(all.size());
}

int WSCGetProviderPath(const GUID* provider, LPWSTR path, LPINT path_chars, LPINT error) {
  if (provider == nullptr || path_chars == nullptr || error == nullptr) return answer(error, WSAEFAULT);
  auto providers = read(catalogue_path());
  if (!providers) return answer(error, WSANO_RECOVERY);
  const auto at = find_provider(*providers, *provider);
  if (at == providers->end()) return answer(error, WSAEINVAL);
  const std::wstring wide = to_wide(at->path);
  const INT needed = static_cast<INT>(wide.size() + 1);
  if (path == nullptr || *path_chars < needed) {
    *path_chars = needed;
    return answer(error, WSAEFAULT);
  }
  *path_chars = needed;
  std::copy_n(wide.c_str(), wide.size() + 1, path);
  return 0;
}

int WSCInstallProvider(const GUID* provider, LPCWSTR path, const WSAPROTOCOL_INFOW* entries, DWORD count, LPINT error) {
  if (provider == nullptr || path == nullptr || entries == nullptr || error == nullptr) return answer(error, WSAEFAULT);
  const std::string library = to_narrow(path);
  if (count == 0 || library.empty() || library.find('\n') != std::string::npos || library.size() >= MAX_PATH) {
    return answer(error, WSAEINVAL);
  }
  const int code = install(*provider, library, entries, count);
  if (code == 0) announce_catalogue_change();
  return answer(error, code);
}

int WSCDeinstallProvider(const GUID* provider, LPINT error) {
  if (provider == nullptr || error == nullptr) return answer(error, WSAEFAULT);
  const int code = deinstall(*provider);
  if (code == 0) announce_catalogue_change();
  return answer(error, code);
}
