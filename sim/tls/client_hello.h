// Inside of sim/tls: what a server must know of a ClientHello before OpenSSL goes through it.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"

namespace fb::tls {

struct ClientHello {
  bool tls_1_3 = false;
  std::vector<std::uint16_t> suites;
  std::optional<std::vector<ByteView>> identities;  ///< nothing: no pre-shared key is offered
  bool psk_ke = false;
  bool psk_dhe_ke = false;
};

/// Views into the ClientHello. Fields that are malformed read as absent: OpenSSL refuses them itself.
ClientHello read_client_hello(SSL* ssl);

}  // namespace fb::tls
