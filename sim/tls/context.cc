// OpenSSL as TLS 1.3 with external PSKs alone, and the way from its callbacks to a TlsStream.
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>

#include "sim/tls/tls_stream.h"

namespace fb::tls {

namespace {

// Room for three records and a bit: what arrives together is fetched together.
constexpr std::size_t kReadBuffer = 64u << 10;
constexpr int kSecurityLevel = 2;

TlsStream* stream_of(const SSL* ssl) { return static_cast<TlsStream*>(SSL_get_app_data(ssl)); }

int on_hello(SSL* ssl, int* alert, void*) { return stream_of(ssl)->on_client_hello(alert); }

int find_session(SSL* ssl, const unsigned char* identity, std::size_t size, SSL_SESSION** session) {
  *session = stream_of(ssl)->session_for({identity, size});
  return 1;
}

int use_session(SSL* ssl, const EVP_MD*, const unsigned char** identity, std::size_t* size, SSL_SESSION** session) {
  TlsStream* const stream = stream_of(ssl);
  *session = stream->make_session();
  if (*session == nullptr) return 0;
  const std::string& name = stream->key()->identity;
  *identity = reinterpret_cast<const unsigned char*>(name.data());
  *size = name.size();
  return 1;
}

/// TLS 1.2, for a deviation: any key will do.
unsigned old_key(SSL*, const char*, unsigned char* key, unsigned most) {
  const unsigned size = std::min(most, 32u);
  std::fill_n(key, size, static_cast<unsigned char>(7));
  return size;
}

void on_info(const SSL* ssl, int where, int value) {
  if ((where & SSL_CB_ALERT) != 0) stream_of(ssl)->on_alert((where & SSL_CB_READ) != 0, value & 0xFF);
}

void on_keylog_line(const SSL* ssl, const char* line) { stream_of(ssl)->on_secret(line); }

}  // namespace

std::uint16_t number_of(Suite suite) { return suite == Suite::aes_128_gcm_sha256 ? 0x1301 : 0x1302; }

std::string_view name_of(Suite suite) { return suite == Suite::aes_128_gcm_sha256 ? "TLS_AES_128_GCM_SHA256" : "TLS_AES_256_GCM_SHA384"; }

std::string_view name_of(Group group) {
  switch (group) {
    case Group::secp256r1:
      return "secp256r1";
    case Group::secp384r1:
      return "secp384r1";
    case Group::x25519:
      return "x25519";
    case Group::ffdhe2048:
      return "ffdhe2048";
    case Group::ffdhe3072:
      return "ffdhe3072";
    case Group::ffdhe4096:
      return "ffdhe4096";
  }
  return "";
}

std::vector<Group> HostState::groups(bool listening) const {
  if (departs(listening ? "server.no_ffdhe3072" : "client.no_ffdhe3072")) return {Group::secp384r1};
  return options.groups;
}

std::string group_list(const std::vector<Group>& groups) {
  std::string list;
  for (const Group group : groups) {
    if (!list.empty()) list += ':';
    // OpenSSL's name of the first curve.
    list += group == Group::secp256r1 ? "P-256" : group == Group::x25519 ? "X25519" : name_of(group);
  }
  return list;
}

Context make_context(const HostState& state, bool server) {
  ERR_clear_error();
  Context context{SSL_CTX_new_ex(state.library->context(), nullptr, server ? TLS_server_method() : TLS_client_method())};
  SSL_CTX* const c = context.get();
  BENCH_ASSERT(c != nullptr, "OpenSSL makes a context");
  std::string suites;
  for (const Suite suite : {Suite::aes_256_gcm_sha384, Suite::aes_128_gcm_sha256}) {
    if (!state.enabled(suite)) continue;
    if (!suites.empty()) suites += ':';
    suites += name_of(suite);
  }
  // Whatever the system's configuration file says.
  const bool oldest = !server && state.departs("client.version_1_2");
  const bool old = oldest || state.departs(server ? "server.version" : "client.version");
  const bool good = SSL_CTX_set_min_proto_version(c, old ? TLS1_2_VERSION : TLS1_3_VERSION) == 1 &&
                    SSL_CTX_set_max_proto_version(c, oldest ? TLS1_2_VERSION : TLS1_3_VERSION) == 1 &&
                    SSL_CTX_set_ciphersuites(c, suites.c_str()) == 1 &&
                    SSL_CTX_set1_groups_list(c, group_list(state.groups(server)).c_str()) == 1 && SSL_CTX_set_num_tickets(c, 0) == 1 &&
                    SSL_CTX_set_max_early_data(c, 0) == 1;
  BENCH_ASSERT(good, "OpenSSL knows our suites and groups");
  SSL_CTX_set_security_level(c, kSecurityLevel);
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  SSL_CTX_clear_options(c, SSL_OP_ENABLE_MIDDLEBOX_COMPAT | SSL_OP_IGNORE_UNEXPECTED_EOF);
  std::uint64_t options = SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION;
  const bool psk_ke = state.options.psk_ke && !state.departs(server ? "server.no_psk_ke" : "client.no_psk_ke");
  if (psk_ke) options |= SSL_OP_ALLOW_NO_DHE_KEX;
  SSL_CTX_set_options(c, options);
  SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // A server that brings a certificate instead of the key is not believed: nobody vouches for it.
  SSL_CTX_set_verify(c, server ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_read_ahead(c, 1);
  SSL_CTX_set_default_read_buffer_len(c, kReadBuffer);
  SSL_CTX_set_info_callback(c, on_info);
  SSL_CTX_set_keylog_callback(c, on_keylog_line);
  if (old && server) {
    BENCH_ASSERT(SSL_CTX_set_cipher_list(c, "PSK-AES128-GCM-SHA256") == 1, "OpenSSL knows the suite");
    SSL_CTX_set_psk_server_callback(c, old_key);
  }
  if (server) {
    SSL_CTX_set_client_hello_cb(c, on_hello, nullptr);
    SSL_CTX_set_psk_find_session_callback(c, find_session);
  } else {
    SSL_CTX_set_psk_use_session_callback(c, use_session);
  }
  return context;
}

}  // namespace fb::tls
