#include "cli/drive/keyring.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>

#include "cli/drive/refused.h"

namespace fb::drive {

namespace {

/// Nobody can search for a keyring that he is not linked to; the list of all keys names it:
/// "0a1b2c3d I------     1 perm 1f0b0000     0     0 keyring   .nvme: empty".
std::optional<std::int32_t> nvme_keyring() {
  std::ifstream list("/proc/keys");
  for (std::string line; std::getline(list, line);) {
    if (line.find(" keyring   .nvme:") == std::string::npos) continue;
    std::uint32_t serial = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), serial, 16);
    if (error == std::errc()) return static_cast<std::int32_t>(serial);
  }
  return std::nullopt;
}

}  // namespace

bool has_nvme_keyring() { return nvme_keyring().has_value(); }

void put_psk(const std::string& identity, ByteView key) {
  const auto keyring = nvme_keyring();
  if (!keyring) throw Refused("the kernel has no keyring .nvme");
  if (syscall(SYS_add_key, "psk", identity.c_str(), key.data(), key.size(), *keyring) < 0) {
    throw Refused(std::string("the keyring .nvme accepts no key: ") + std::strerror(errno));
  }
}

}  // namespace fb::drive
