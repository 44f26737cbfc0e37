#include "sim/tls/client_hello.h"

#include <algorithm>

namespace fb::tls {

namespace {

constexpr unsigned kPreSharedKey = 41;
constexpr unsigned kSupportedVersions = 43;
constexpr unsigned kPskModes = 45;
constexpr std::uint16_t kTls13 = 0x0304;
constexpr std::size_t kTicketAge = 4;

ByteView extension(SSL* ssl, unsigned type, bool& there) {
  const unsigned char* at = nullptr;
  std::size_t size = 0;
  there = SSL_client_hello_get0_ext(ssl, type, &at, &size) == 1;
  return there ? ByteView{at, size} : ByteView{};
}

ByteView extension(SSL* ssl, unsigned type) {
  bool there = false;
  return extension(ssl, type, there);
}

/// Behind a length of so many bytes; empty when it is not all there.
ByteView counted(ByteView& rest, std::size_t length_bytes) {
  if (rest.size() < length_bytes) return rest = {};
  const std::size_t size = length_bytes == 1 ? rest[0] : load_be<std::uint16_t>(rest.data());
  rest = rest.subspan(length_bytes);
  if (rest.size() < size) return rest = {};
  const ByteView part = rest.first(size);
  rest = rest.subspan(size);
  return part;
}

std::vector<std::uint16_t> words(ByteView bytes) {
  std::vector<std::uint16_t> read;
  for (; bytes.size() >= 2; bytes = bytes.subspan(2)) read.push_back(load_be<std::uint16_t>(bytes.data()));
  return read;
}

}  // namespace

ClientHello read_client_hello(SSL* ssl) {
  ClientHello hello;
  const unsigned char* suites = nullptr;
  const std::size_t suites_size = SSL_client_hello_get0_ciphers(ssl, &suites);
  hello.suites = words({suites, suites_size});

  ByteView rest = extension(ssl, kSupportedVersions);
  const std::vector<std::uint16_t> versions = words(counted(rest, 1));
  hello.tls_1_3 = std::find(versions.begin(), versions.end(), kTls13) != versions.end();
  rest = extension(ssl, kPskModes);
  for (const std::uint8_t mode : counted(rest, 1)) {
    hello.psk_ke = hello.psk_ke || mode == 0;
    hello.psk_dhe_ke = hello.psk_dhe_ke || mode == 1;
  }
  bool there = false;
  rest = extension(ssl, kPreSharedKey, there);
  if (!there) return hello;
  hello.identities.emplace();
  ByteView list = counted(rest, 2);
  while (!list.empty()) {
    const ByteView identity = counted(list, 2);
    if (identity.empty() || list.size() < kTicketAge) break;
    list = list.subspan(kTicketAge);
    hello.identities->push_back(identity);
  }
  return hello;
}

}  // namespace fb::tls
