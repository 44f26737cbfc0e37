// Inside of sim/tls: the BIO between OpenSSL and the inner stream.
#pragma once

#include <openssl/bio.h>

namespace fb::tls {

class TlsStream;

/// What bio_read() and bio_write() return when nothing goes now.
inline constexpr int kBioLater = -2;
inline constexpr int kBioFailed = -1;

BIO* make_bio(TlsStream& stream);

}  // namespace fb::tls
