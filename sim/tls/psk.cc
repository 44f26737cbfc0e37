// The part of a TlsStream that deals with pre-shared keys.
#include <fmt/format.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>

#include "sim/tls/client_hello.h"
#include "sim/tls/tls_stream.h"

namespace fb::tls {

namespace {

constexpr std::size_t kShownMax = 300;

bool contains(const std::vector<std::uint16_t>& all, std::uint16_t one) { return std::find(all.begin(), all.end(), one) != all.end(); }

/// Bytes of a stranger, for a message.
std::string shown(ByteView text) {
  std::string out;
  for (const std::uint8_t c : text.first(std::min(text.size(), kShownMax))) {
    out += c >= 0x20 && c < 0x7F ? static_cast<char>(c) : '.';
  }
  return text.size() > kShownMax ? out + "..." : out;
}

std::string_view as_text(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace

// OpenSSL would choose the suite first and then find that the key does not go with it, and would name no
// better alert than handshake_failure for a stranger.
int TlsStream::on_client_hello(int* alert) {
  if (key_) return SSL_CLIENT_HELLO_SUCCESS;  // the second one, after a HelloRetryRequest
  const auto refuse = [&](int code, std::string why) {
    note_ = std::move(why);
    *alert = code;
    return SSL_CLIENT_HELLO_ERROR;
  };
  const ClientHello hello = read_client_hello(ssl_.get());
  if (!hello.tls_1_3 && departs("server.version")) return SSL_CLIENT_HELLO_SUCCESS;
  no_psk_offered_ = hello.tls_1_3 && !hello.identities;
  if (!hello.tls_1_3) return refuse(SSL_AD_PROTOCOL_VERSION, "the client does not offer TLS 1.3");
  if (!hello.identities) {
    return refuse(SSL_AD_HANDSHAKE_FAILURE, "the client offers no pre-shared key");
  }
  for (const ByteView identity : *hello.identities) {
    auto key = state_->keys.find(as_text(identity));
    if (!key && departs("server.identity")) {
      key = state_->keys.any();
      if (key) key->identity = as_text(identity);
    }
    if (!key) continue;
    const bool mandatory = key->suite == Suite::aes_128_gcm_sha256;
    if (!state_->enabled(key->suite) || (mandatory && departs("server.no_sha256"))) {
      note_ = fmt::format("the key goes with {}, which is switched off", name_of(key->suite));
    } else if (!contains(hello.suites, number_of(key->suite))) {
      note_ = fmt::format("the key goes with {}, which the client does not offer", name_of(key->suite));
    } else {
      note_.clear();
      key_ = std::move(key);
      break;
    }
  }
  if (!key_ && !note_.empty()) return refuse(SSL_AD_HANDSHAKE_FAILURE, note_);
  if (!key_) {
    const std::string first = hello.identities->empty() ? "" : shown(hello.identities->front());
    return refuse(SSL_AD_UNKNOWN_PSK_IDENTITY, fmt::format("no key for the identity \"{}\"", first));
  }
  const std::uint16_t strongest = number_of(Suite::aes_256_gcm_sha384);
  if (departs("server.other_hash") && contains(hello.suites, strongest)) {
    return refuse(SSL_AD_HANDSHAKE_FAILURE, "the key does not go with the strongest suite");
  }
  const std::string suite(name_of(key_->suite));
  bool good = SSL_set_ciphersuites(ssl_.get(), suite.c_str()) == 1;
  if (!state_->options.psk_dhe_ke) {
    if (!hello.psk_ke) return refuse(SSL_AD_HANDSHAKE_FAILURE, "the client does not offer psk_ke");
    // OpenSSL prefers psk_dhe_ke, unless the two sides have no group in common: a curve that TLS 1.3
    // does not have.
    good = good && SSL_set1_groups_list(ssl_.get(), "brainpoolP256r1") == 1;
  }
  const bool psk_ke = state_->options.psk_ke && !departs("server.no_psk_ke");
  if (!psk_ke && !hello.psk_dhe_ke) {
    return refuse(SSL_AD_HANDSHAKE_FAILURE, "the client does not offer psk_dhe_ke");
  }
  return good ? SSL_CLIENT_HELLO_SUCCESS : SSL_CLIENT_HELLO_ERROR;
}

SSL_SESSION* TlsStream::session_for(ByteView identity) { return key_ && as_text(identity) == key_->identity ? make_session() : nullptr; }

SSL_SESSION* TlsStream::make_session() {
  const std::uint16_t number = number_of(key_->suite);
  std::array<std::uint8_t, 2> id = {};
  store_be<std::uint16_t>(id.data(), number);
  const SSL_CIPHER* const suite = SSL_CIPHER_find(ssl_.get(), id.data());
  SSL_SESSION* const session = SSL_SESSION_new();
  const bool good = suite != nullptr && session != nullptr &&
                    SSL_SESSION_set1_master_key(session, key_->bytes.data(), key_->bytes.size()) == 1 &&
                    SSL_SESSION_set_cipher(session, suite) == 1 && SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1;
  if (good && !server_ && departs("client.early_data")) SSL_SESSION_set_max_early_data(session, 1024);
  if (good) return session;
  SSL_SESSION_free(session);
  return nullptr;
}

}  // namespace fb::tls
