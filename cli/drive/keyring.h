// The kernel's keys for NVMe/TCP with TLS: its keyring ".nvme".
#pragma once

#include <string>

#include "base/bytes.h"

namespace fb::drive {

/// The module nvme_keyring makes it.
bool has_nvme_keyring();

/// Puts a TLS PSK there, in place of one with the same identity. Throws Refused.
void put_psk(const std::string& identity, ByteView key);

}  // namespace fb::drive
