// Linux seals the records of NVMe/TCP in its kernel and leaves the handshake to somebody in user space: this is that
// somebody, for a guest that has no package of one. It answers what the kernel asks over the generic netlink family
// "handshake": takes the socket, does a handshake of TLS 1.3 with a key of the keyring ".nvme", gives the socket its
// traffic keys and the kernel its status. The TLS PSK is derived here from the interchange form, with OpenSSL alone,
// so that both sides do not share a mistake.
//
//   tls_agent serve                               says "serving", then a line for each handshake, until it is ended
//   tls_agent key KEY HOSTNQN SUBNQN VERSION      puts a TLS PSK into the keyring; prints its number and identity
//   tls_agent clear                               takes all keys out of it
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/tls.h>
#include <netinet/tcp.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fb::interop {

namespace {

// Debian 12's headers are those of a kernel before linux/handshake.h.
constexpr const char* kFamily = "handshake";
constexpr const char* kGroup = "tlshd";
constexpr std::uint32_t kTlsHandler = 1;
enum Command : std::uint8_t { kReady = 1, kAccept = 2, kDone = 3 };
enum AcceptAttribute : std::uint16_t { kSocket = 1, kHandler = 2, kMessage = 3, kTimeout = 4, kAuthentication = 5, kPeer = 6 };
enum DoneAttribute : std::uint16_t { kStatus = 1, kDoneSocket = 2, kRemote = 3 };
constexpr std::uint32_t kClientHello = 1;
constexpr std::uint32_t kByPsk = 2;

constexpr const char* kKeyring = ".nvme";
constexpr const char* kKeyType = "psk";
constexpr int kDefaultTimeoutMs = 10000;

using Body = std::vector<std::uint8_t>;
using KeySerial = std::int32_t;

class AgentFailure : public std::runtime_error {
 public:
  explicit AgentFailure(const std::string& what, int number = EIO) : std::runtime_error(what), number_(number) {}
  int number() const { return number_; }

 private:
  int number_;
};

[[noreturn]] void fail_with_errno(const std::string& what) {
  const int number = errno;
  throw AgentFailure(what + ": " + std::strerror(number), number);
}

[[noreturn]] void fail_with_openssl(const std::string& what, int number = EACCES) {
  std::array<char, 256> text{};
  const unsigned long error = ERR_peek_last_error();
  ERR_error_string_n(error, text.data(), text.size());
  const char* reason = ERR_reason_error_string(error);
  throw AgentFailure(what + ": " + (reason != nullptr ? reason : text.data()), number);
}

/// A file descriptor that goes with its scope.
class Descriptor {
 public:
  Descriptor(int fd, const std::string& what) : fd_(fd) {
    if (fd_ < 0) fail_with_errno(what);
  }
  ~Descriptor() { close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

template <auto Free>
struct FreedBy {
  template <typename Thing>
  void operator()(Thing* thing) const {
    Free(thing);
  }
};
template <typename Thing, auto Free>
using Owned = std::unique_ptr<Thing, FreedBy<Free>>;

// ---- keys ----

long keyctl(int what, unsigned long a, unsigned long b = 0, unsigned long c = 0, unsigned long d = 0) {
  return syscall(SYS_keyctl, what, a, b, c, d);
}

unsigned long pointer(const void* to) { return reinterpret_cast<unsigned long>(to); }

/// Nobody can search for a keyring that he is not linked to; the list of all keys names it.
KeySerial nvme_keyring() {
  std::ifstream list("/proc/keys");
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    std::string serial, word, type, description;
    words >> serial;
    for (int column = 0; column < 6; ++column) words >> word;
    words >> type >> description;
    if (type == "keyring" && description == std::string(kKeyring) + ":") {
      return static_cast<KeySerial>(std::stoul(serial, nullptr, 16));
    }
  }
  throw AgentFailure("there is no keyring .nvme: the module nvme_keyring makes it", ENOKEY);
}

struct Psk {
  KeySerial serial = 0;
  std::string identity;
  Body bytes;
};

/// Type, owner, group and rights stand in front of the description, with semicolons.
std::string description_of(KeySerial serial) {
  std::array<char, 4096> text{};
  const long size = keyctl(KEYCTL_DESCRIBE, static_cast<unsigned long>(serial), pointer(text.data()), text.size());
  if (size < 0) fail_with_errno("a key cannot be described");
  std::string_view rest(text.data());
  for (int field = 0; field < 4; ++field) rest.remove_prefix(std::min(rest.find(';'), rest.size() - 1) + 1);
  return std::string(rest);
}

Psk key_of(KeySerial serial) {
  Psk psk{serial, description_of(serial), Body(256)};
  const long size = keyctl(KEYCTL_READ, static_cast<unsigned long>(serial), pointer(psk.bytes.data()), psk.bytes.size());
  if (size < 0) fail_with_errno("a key cannot be read");
  if (size != 32 && size != 48) throw AgentFailure("a TLS PSK has 32 or 48 bytes, not " + std::to_string(size), ENOKEY);
  psk.bytes.resize(static_cast<std::size_t>(size));
  return psk;
}

/// In what the kernel linked to this process when it gave the request away. It also finds keys whose names only begin
/// like this one.
std::optional<Psk> find_key(const std::string& identity) {
  const long serial =
      keyctl(KEYCTL_SEARCH, static_cast<unsigned long>(KEY_SPEC_PROCESS_KEYRING), pointer(kKeyType), pointer(identity.c_str()), 0);
  if (serial < 0) return std::nullopt;
  Psk psk = key_of(static_cast<KeySerial>(serial));
  if (psk.identity != identity) return std::nullopt;
  return psk;
}

// ---- the derivation of TLS PSKs (NVMe/TCP 1.1, 3.6.1.3) ----

const char* digest_of(std::size_t key_bytes) { return key_bytes == 32 ? "SHA256" : "SHA384"; }

OSSL_PARAM text_parameter(const char* name, const char* value) {
  return OSSL_PARAM_construct_utf8_string(name, const_cast<char*>(value), 0);
}
OSSL_PARAM bytes_parameter(const char* name, std::string_view value) {
  return OSSL_PARAM_construct_octet_string(name, const_cast<char*>(value.data()), value.size());
}
OSSL_PARAM bytes_parameter(const char* name, const Body& value) {
  return OSSL_PARAM_construct_octet_string(name, const_cast<std::uint8_t*>(value.data()), value.size());
}

Body run_kdf(const char* name, const char* digest, int mode, std::vector<OSSL_PARAM> parameters, std::size_t size) {
  parameters.push_back(text_parameter(OSSL_KDF_PARAM_DIGEST, digest));
  parameters.push_back(OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode));
  parameters.push_back(OSSL_PARAM_construct_end());
  const Owned<EVP_KDF, EVP_KDF_free> kdf(EVP_KDF_fetch(nullptr, name, nullptr));
  const Owned<EVP_KDF_CTX, EVP_KDF_CTX_free> context(EVP_KDF_CTX_new(kdf.get()));
  Body out(size);
  if (context == nullptr || EVP_KDF_derive(context.get(), out.data(), out.size(), parameters.data()) != 1) {
    fail_with_openssl(name);
  }
  return out;
}

/// HKDF-Expand-Label of RFC 8446.
Body expand_label(const char* digest, const Body& secret, std::string_view label, std::string_view context, std::size_t size) {
  return run_kdf("TLS13-KDF", digest, EVP_KDF_HKDF_MODE_EXPAND_ONLY,
                 {bytes_parameter(OSSL_KDF_PARAM_KEY, secret), bytes_parameter(OSSL_KDF_PARAM_PREFIX, "tls13 "),
                  bytes_parameter(OSSL_KDF_PARAM_LABEL, label), bytes_parameter(OSSL_KDF_PARAM_DATA, context)},
                 size);
}

Body extract(const char* digest, const Body& input) {
  return run_kdf("HKDF", digest, EVP_KDF_HKDF_MODE_EXTRACT_ONLY, {bytes_parameter(OSSL_KDF_PARAM_KEY, input)}, input.size());
}

std::string to_base64(std::span<const std::uint8_t> bytes) {
  Body text((bytes.size() + 2) / 3 * 4 + 1);
  EVP_EncodeBlock(text.data(), bytes.data(), static_cast<int>(bytes.size()));
  return {text.begin(), text.end() - 1};
}

struct ConfiguredKey {
  bool transformed = false;
  Body bytes;
};

/// "NVMeTLSkey-1:hh:BASE64:"; a CRC-32 stands behind the key.
ConfiguredKey parse_interchange(std::string_view text) {
  constexpr std::string_view kPrefix = "NVMeTLSkey-1:";
  if (!text.starts_with(kPrefix) || text.size() < 20 || text.back() != ':') throw AgentFailure("no key in its interchange form");
  const std::string_view transform = text.substr(kPrefix.size(), 2);
  const std::string base64(text.substr(kPrefix.size() + 3, text.size() - kPrefix.size() - 4));
  ConfiguredKey key{transform != "00", Body(base64.size())};
  const int size = EVP_DecodeBlock(key.bytes.data(), reinterpret_cast<const std::uint8_t*>(base64.data()), static_cast<int>(base64.size()));
  // Three bytes come of each four characters, padding counted: 36 bytes have none, 52 have two characters of it.
  if (size != 36 && size != 54) throw AgentFailure("a key has 32 or 48 bytes");
  key.bytes.resize(size == 36 ? 32 : 48);
  return key;
}

Psk derive(std::string_view text, const std::string& hostnqn, const std::string& subnqn, const std::string& version) {
  const ConfiguredKey configured = parse_interchange(text);
  const std::size_t size = configured.bytes.size();
  const char* digest = digest_of(size);
  const std::string number = size == 32 ? "01" : "02";
  const Body retained =
      configured.transformed ? expand_label(digest, extract(digest, configured.bytes), "HostNQN", hostnqn, size) : configured.bytes;
  std::string identity = "NVMe" + version + "R" + number + " " + hostnqn + " " + subnqn;
  std::string context = identity;
  if (version == "1") {
    const std::string names = hostnqn + " " + subnqn + " NVMe-over-Fabrics";
    std::array<std::uint8_t, EVP_MAX_MD_SIZE> mac{};
    unsigned mac_size = 0;
    if (HMAC(EVP_get_digestbyname(digest), retained.data(), static_cast<int>(size), reinterpret_cast<const std::uint8_t*>(names.data()),
             names.size(), mac.data(), &mac_size) == nullptr) {
      fail_with_openssl("HMAC");
    }
    const std::string shown = to_base64({mac.data(), mac_size});
    identity += " " + shown;
    context = number + " " + shown;
  } else if (version != "0") {
    throw AgentFailure("identities have version 0 or 1");
  }
  return {0, identity, expand_label(digest, extract(digest, retained), "nvme-tls-psk", context, size)};
}

int put_key(std::span<char*> arguments) {
  const Psk psk = derive(arguments[2], arguments[3], arguments[4], arguments[5]);
  const long serial = syscall(SYS_add_key, kKeyType, psk.identity.c_str(), psk.bytes.data(), psk.bytes.size(), nvme_keyring());
  if (serial < 0) fail_with_errno("the keyring takes no key");
  std::printf("%ld %s\n", serial, psk.identity.c_str());
  return 0;
}

int clear_keys() {
  if (keyctl(KEYCTL_CLEAR, static_cast<unsigned long>(nvme_keyring())) != 0) fail_with_errno("the keyring keeps its keys");
  return 0;
}

// ---- generic netlink ----

struct Attribute {
  std::uint16_t type = 0;
  std::span<const std::uint8_t> value;
  std::uint32_t number() const {
    std::uint32_t read = 0;
    if (value.size() < sizeof read) throw AgentFailure("a short attribute");
    std::memcpy(&read, value.data(), sizeof read);
    return read;
  }
  /// The low half of a number, for an attribute that has only that.
  std::uint16_t half() const {
    std::uint16_t read = 0;
    if (value.size() < sizeof read) throw AgentFailure("a short attribute");
    std::memcpy(&read, value.data(), sizeof read);
    return read;
  }
  std::string text() const { return {value.begin(), std::find(value.begin(), value.end(), 0)}; }
};

std::vector<Attribute> attributes_in(std::span<const std::uint8_t> bytes) {
  std::vector<Attribute> found;
  while (bytes.size() >= NLA_HDRLEN) {
    nlattr head{};
    std::memcpy(&head, bytes.data(), sizeof head);
    if (head.nla_len < NLA_HDRLEN || head.nla_len > bytes.size()) throw AgentFailure("an attribute beyond its message");
    found.push_back({static_cast<std::uint16_t>(head.nla_type & NLA_TYPE_MASK), bytes.subspan(NLA_HDRLEN, head.nla_len - NLA_HDRLEN)});
    bytes = bytes.subspan(std::min<std::size_t>(NLA_ALIGN(head.nla_len), bytes.size()));
  }
  return found;
}

Attribute wanted(const std::vector<Attribute>& all, std::uint16_t type) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const Attribute& one) { return one.type == type; });
  if (at == all.end()) throw AgentFailure("attribute " + std::to_string(type) + " is missing");
  return *at;
}

/// A message of a family of generic netlink.
class Message {
 public:
  Message(std::uint16_t family, std::uint8_t command) : bytes_(NLMSG_HDRLEN + GENL_HDRLEN) {
    header_.nlmsg_type = family;
    header_.nlmsg_flags = NLM_F_REQUEST;
    bytes_[NLMSG_HDRLEN] = command;
    bytes_[NLMSG_HDRLEN + 1] = 1;
  }
  Message& add(std::uint16_t type, const void* value, std::size_t size) {
    nlattr head{};
    head.nla_len = static_cast<std::uint16_t>(NLA_HDRLEN + size);
    head.nla_type = type;
    const std::size_t at = bytes_.size();
    bytes_.resize(at + NLA_ALIGN(head.nla_len));
    std::memcpy(&bytes_[at], &head, sizeof head);
    std::memcpy(&bytes_[at + NLA_HDRLEN], value, size);
    return *this;
  }
  Message& add(std::uint16_t type, std::uint32_t value) { return add(type, &value, sizeof value); }
  void send(int netlink, bool acknowledged = false) {
    if (acknowledged) header_.nlmsg_flags |= NLM_F_ACK;
    header_.nlmsg_len = static_cast<std::uint32_t>(bytes_.size());
    std::memcpy(bytes_.data(), &header_, sizeof header_);
    if (::send(netlink, bytes_.data(), bytes_.size(), 0) < 0) fail_with_errno("netlink");
  }

 private:
  nlmsghdr header_{};
  Body bytes_;
};

/// What the kernel says next: the command, and what its attributes are read from. An error is thrown.
struct Received {
  std::uint8_t command = 0;
  Body bytes;
  std::vector<Attribute> attributes() const { return attributes_in(std::span(bytes).subspan(NLMSG_HDRLEN + GENL_HDRLEN)); }
};

Received receive(int netlink) {
  Received got{0, Body(16384)};
  const ssize_t size = recv(netlink, got.bytes.data(), got.bytes.size(), 0);
  if (size < 0) fail_with_errno("netlink");
  nlmsghdr head{};
  if (static_cast<std::size_t>(size) < sizeof head) throw AgentFailure("netlink: a short message");
  std::memcpy(&head, got.bytes.data(), sizeof head);
  got.bytes.resize(std::min<std::size_t>(head.nlmsg_len, static_cast<std::size_t>(size)));
  if (head.nlmsg_type == NLMSG_ERROR) {
    nlmsgerr said{};
    std::memcpy(&said, &got.bytes[NLMSG_HDRLEN], std::min(sizeof said, got.bytes.size() - NLMSG_HDRLEN));
    errno = -said.error;
    if (said.error != 0) fail_with_errno("the kernel");
    return got;
  }
  if (got.bytes.size() < NLMSG_HDRLEN + GENL_HDRLEN) throw AgentFailure("netlink: a short message");
  got.command = got.bytes[NLMSG_HDRLEN];
  return got;
}

int open_netlink() { return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC); }

struct Family {
  std::uint16_t number = 0;
  std::uint32_t group = 0;
};

Family find_family() {
  const Descriptor netlink(open_netlink(), "netlink");
  Message(GENL_ID_CTRL, CTRL_CMD_GETFAMILY).add(CTRL_ATTR_FAMILY_NAME, kFamily, std::strlen(kFamily) + 1).send(netlink.get());
  const Received answer = receive(netlink.get());
  const std::vector<Attribute> all = answer.attributes();
  Family family{wanted(all, CTRL_ATTR_FAMILY_ID).half(), 0};
  for (const Attribute& entry : attributes_in(wanted(all, CTRL_ATTR_MCAST_GROUPS).value)) {
    const std::vector<Attribute> group = attributes_in(entry.value);
    if (wanted(group, CTRL_ATTR_MCAST_GRP_NAME).text() == kGroup) family.group = wanted(group, CTRL_ATTR_MCAST_GRP_ID).number();
  }
  if (family.group == 0) throw AgentFailure("the family handshake has no group tlshd");
  return family;
}

/// What the kernel wants to be done on a socket.
struct Request {
  int socket = -1;
  bool as_client = false;
  bool by_psk = false;
  int timeout_ms = kDefaultTimeoutMs;
  std::vector<KeySerial> keys;
};

Request accept_request(int netlink, const Family& family) {
  Message(family.number, kAccept).add(kHandler, kTlsHandler).send(netlink);
  Request request;
  const Received answer = receive(netlink);
  for (const Attribute& one : answer.attributes()) {
    switch (one.type) {
      case kSocket:
        request.socket = static_cast<int>(one.number());
        break;
      case kMessage:
        request.as_client = one.number() == kClientHello;
        break;
      case kTimeout:
        request.timeout_ms = static_cast<int>(one.number());
        break;
      case kAuthentication:
        request.by_psk = one.number() == kByPsk;
        break;
      case kPeer:
        request.keys.push_back(static_cast<KeySerial>(one.number()));
        break;
      default:
        break;
    }
  }
  return request;
}

// ---- the handshake ----

/// A handshake on a socket of the kernel's, and what the socket has to know afterwards.
class Handshake {
 public:
  explicit Handshake(const Request& request)
      : request_(request), context_(SSL_CTX_new(request.as_client ? TLS_client_method() : TLS_server_method())) {
    if (!request.by_psk) throw AgentFailure("only pre-shared keys are served", EOPNOTSUPP);
    if (request.as_client) choose(key_of(request.keys.empty() ? 0 : request.keys.front()));
    SSL_CTX* const c = context_.get();
    // No tickets: nothing but data is sealed with the traffic keys, so that the kernel begins with record 0.
    if (c == nullptr || SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION) != 1 || SSL_CTX_set_num_tickets(c, 0) != 1 ||
        SSL_CTX_set_ciphersuites(c, "TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256") != 1) {
      fail_with_openssl("OpenSSL");
    }
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_verify(c, request.as_client ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    SSL_CTX_set_keylog_callback(c, [](const SSL* ssl, const char* line) { of(ssl)->note_secret(line); });
    SSL_CTX_set_psk_use_session_callback(c, use_session);
    // Both modes of key exchange that NVMe/TCP has.
    SSL_CTX_set_options(c, SSL_OP_ALLOW_NO_DHE_KEX);
    if (!request.as_client) {
      SSL_CTX_set_client_hello_cb(c, on_client_hello, nullptr);
      SSL_CTX_set_psk_find_session_callback(c, find_session);
    }
    ssl_.reset(SSL_new(c));
    if (ssl_ == nullptr || SSL_set_fd(ssl_.get(), request.socket) != 1) fail_with_openssl("OpenSSL");
    SSL_set_app_data(ssl_.get(), this);
    if (psk_.serial != 0 && SSL_set_ciphersuites(ssl_.get(), suite()) != 1) fail_with_openssl("OpenSSL");
  }

  void run() {
    const int flags = fcntl(request_.socket, F_GETFL);
    if (flags < 0 || fcntl(request_.socket, F_SETFL, flags | O_NONBLOCK) != 0) fail_with_errno("fcntl");
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(request_.timeout_ms);
    for (;;) {
      ERR_clear_error();
      const int done = request_.as_client ? SSL_connect(ssl_.get()) : SSL_accept(ssl_.get());
      if (done == 1) break;
      const int why = SSL_get_error(ssl_.get(), done);
      if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) explain(why);
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      pollfd waiting{request_.socket, static_cast<short>(why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT), 0};
      if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) == 0) throw AgentFailure("no answer", ETIMEDOUT);
    }
    if (SSL_session_reused(ssl_.get()) != 1) throw AgentFailure("the peer did not take the key", EACCES);
    if (fcntl(request_.socket, F_SETFL, flags) != 0) fail_with_errno("fcntl");
  }

  /// From here on the kernel seals and opens the records.
  void hand_over() {
    if (setsockopt(request_.socket, SOL_TCP, TCP_ULP, "tls", sizeof "tls") != 0) fail_with_errno("the kernel has no TLS");
    give_keys(TLS_TX, request_.as_client ? client_secret_ : server_secret_);
    give_keys(TLS_RX, request_.as_client ? server_secret_ : client_secret_);
  }

  KeySerial key() const { return psk_.serial; }
  std::string summary() const {
    const int group = static_cast<int>(SSL_get_negotiated_group(ssl_.get()));
    const char* name = group == NID_undef ? "no group" : OBJ_nid2sn(group);
    return psk_.identity + ", " + SSL_get_cipher_name(ssl_.get()) + ", " + (name != nullptr ? name : std::to_string(group));
  }

 private:
  static Handshake* of(const SSL* ssl) { return static_cast<Handshake*>(SSL_get_app_data(ssl)); }
  const char* suite() const { return psk_.bytes.size() == 32 ? "TLS_AES_128_GCM_SHA256" : "TLS_AES_256_GCM_SHA384"; }
  void choose(Psk psk) { psk_ = std::move(psk); }

  [[noreturn]] void explain(int why) {
    if (!refusal_.empty()) throw AgentFailure(refusal_, EACCES);
    if (why == SSL_ERROR_SYSCALL || ERR_peek_error() == 0) throw AgentFailure("the connection ended", ECONNRESET);
    fail_with_openssl("the handshake failed");
  }

  SSL_SESSION* session() {
    const std::array<std::uint8_t, 2> number{0x13, static_cast<std::uint8_t>(psk_.bytes.size() == 32 ? 0x01 : 0x02)};
    Owned<SSL_SESSION, SSL_SESSION_free> made(SSL_SESSION_new());
    const SSL_CIPHER* const cipher = SSL_CIPHER_find(ssl_.get(), number.data());
    const bool good = made != nullptr && cipher != nullptr &&
                      SSL_SESSION_set1_master_key(made.get(), psk_.bytes.data(), psk_.bytes.size()) == 1 &&
                      SSL_SESSION_set_cipher(made.get(), cipher) == 1 && SSL_SESSION_set_protocol_version(made.get(), TLS1_3_VERSION) == 1;
    return good ? made.release() : nullptr;
  }

  static int use_session(SSL* ssl, const EVP_MD*, const unsigned char** identity, std::size_t* size, SSL_SESSION** session) {
    Handshake* const self = of(ssl);
    *session = self->session();
    *identity = reinterpret_cast<const unsigned char*>(self->psk_.identity.data());
    *size = self->psk_.identity.size();
    return *session != nullptr ? 1 : 0;
  }

  static int find_session(SSL* ssl, const unsigned char* identity, std::size_t size, SSL_SESSION** session) {
    Handshake* const self = of(ssl);
    const std::string_view shown(reinterpret_cast<const char*>(identity), size);
    *session = shown == self->psk_.identity ? self->session() : nullptr;
    return 1;
  }

  /// The length of the key decides on the suite, and OpenSSL chooses the suite before it asks for the key.
  static int on_client_hello(SSL* ssl, int* alert, void*) {
    Handshake* const self = of(ssl);
    try {
      if (self->psk_.serial == 0) self->choose_from(ssl);
      if (self->psk_.serial != 0 && SSL_set_ciphersuites(ssl, self->suite()) == 1) return SSL_CLIENT_HELLO_SUCCESS;
    } catch (const AgentFailure& failure) {
      self->refusal_ = failure.what();
    }
    *alert = SSL_AD_UNKNOWN_PSK_IDENTITY;
    return SSL_CLIENT_HELLO_ERROR;
  }

  /// The first identity that the keyring has (RFC 8446 4.2.11): lengths in front of the list and of each identity,
  /// four bytes of age behind it.
  void choose_from(SSL* ssl) {
    const unsigned char* data = nullptr;
    std::size_t size = 0;
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_psk, &data, &size) != 1 || size < 2) {
      throw AgentFailure("the client offers no key");
    }
    const auto length_at = [&](std::size_t at) { return static_cast<std::size_t>(data[at] << 8 | data[at + 1]); };
    const std::size_t end = std::min(size, 2 + length_at(0));
    std::string offered;
    for (std::size_t at = 2; at + 2 <= end;) {
      const std::size_t length = length_at(at);
      if (at + 2 + length + 4 > end) break;
      offered.assign(reinterpret_cast<const char*>(data + at + 2), length);
      if (std::optional<Psk> found = find_key(offered)) return choose(std::move(*found));
      at += 2 + length + 4;
    }
    throw AgentFailure("the keyring has no key \"" + offered + "\"");
  }

  /// Lines of the key log: a label, the client's random number, a secret.
  void note_secret(std::string_view line) {
    const std::string_view label = line.substr(0, line.find(' '));
    const std::string secret(line.substr(line.rfind(' ') + 1));
    if (label != "CLIENT_TRAFFIC_SECRET_0" && label != "SERVER_TRAFFIC_SECRET_0") return;
    Body& kept = label.starts_with("CLIENT") ? client_secret_ : server_secret_;
    kept.clear();
    for (std::size_t at = 0; at + 2 <= secret.size(); at += 2) {
      kept.push_back(static_cast<std::uint8_t>(std::stoul(secret.substr(at, 2), nullptr, 16)));
    }
  }

  /// The kernel keeps the IV in two parts, salt and rest. The first record has number 0.
  template <typename Info>
  void fill_and_set(int direction, const Body& secret, std::uint16_t cipher) {
    const char* digest = digest_of(secret.size());
    Info info{};
    info.info.version = TLS_1_3_VERSION;
    info.info.cipher_type = cipher;
    const Body key = expand_label(digest, secret, "key", "", sizeof info.key);
    const Body iv = expand_label(digest, secret, "iv", "", sizeof info.salt + sizeof info.iv);
    std::memcpy(info.key, key.data(), key.size());
    std::memcpy(info.salt, iv.data(), sizeof info.salt);
    std::memcpy(info.iv, iv.data() + sizeof info.salt, sizeof info.iv);
    if (setsockopt(request_.socket, SOL_TLS, direction, &info, sizeof info) != 0) fail_with_errno("the kernel takes no keys");
  }

  void give_keys(int direction, const Body& secret) {
    if (secret.size() == 32) {
      fill_and_set<tls12_crypto_info_aes_gcm_128>(direction, secret, TLS_CIPHER_AES_GCM_128);
    } else if (secret.size() == 48) {
      fill_and_set<tls12_crypto_info_aes_gcm_256>(direction, secret, TLS_CIPHER_AES_GCM_256);
    } else {
      throw AgentFailure("OpenSSL told no traffic secret");
    }
  }

  const Request& request_;
  Psk psk_;
  std::string refusal_;
  Body client_secret_, server_secret_;
  Owned<SSL_CTX, SSL_CTX_free> context_;
  Owned<SSL, SSL_free> ssl_;
};

// ---- the daemon ----

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

/// In a process of its own: the kernel links the keyring to it, and the socket goes with it.
void serve_one(const Family& family) {
  const Descriptor netlink(open_netlink(), "netlink");
  const Request request = accept_request(netlink.get(), family);
  const std::string side = request.as_client ? "client" : "server";
  Message done(family.number, kDone);
  done.add(kDoneSocket, static_cast<std::uint32_t>(request.socket));
  try {
    Handshake handshake(request);
    handshake.run();
    handshake.hand_over();
    done.add(kStatus, std::uint32_t{0}).add(kRemote, static_cast<std::uint32_t>(handshake.key()));
    say(side + " done: " + handshake.summary());
  } catch (const AgentFailure& failure) {
    done.add(kStatus, static_cast<std::uint32_t>(failure.number()));
    say(side + " failed: " + failure.what());
  }
  done.send(netlink.get(), true);
  receive(netlink.get());
}

[[noreturn]] void serve() {
  const Family family = find_family();
  const Descriptor netlink(open_netlink(), "netlink");
  sockaddr_nl local{};
  local.nl_family = AF_NETLINK;
  if (bind(netlink.get(), reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0 ||
      setsockopt(netlink.get(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &family.group, sizeof family.group) != 0) {
    fail_with_errno("the group tlshd");
  }
  std::signal(SIGCHLD, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  say("serving");
  for (;;) {
    if (receive(netlink.get()).command != kReady) continue;
    const pid_t child = fork();
    if (child < 0) fail_with_errno("fork");
    if (child > 0) continue;
    try {
      serve_one(family);
    } catch (const AgentFailure& failure) {
      // Whoever asked may have given up meanwhile: then there is nothing to accept.
      if (failure.number() != EAGAIN) say(std::string("failed: ") + failure.what());
    }
    _exit(0);
  }
}

int run(std::span<char*> arguments) {
  try {
    const std::string_view what = arguments.size() > 1 ? arguments[1] : "";
    if (what == "serve" && arguments.size() == 2) serve();
    if (what == "key" && arguments.size() == 6) return put_key(arguments);
    if (what == "clear" && arguments.size() == 2) return clear_keys();
  } catch (const AgentFailure& failure) {
    std::fprintf(stderr, "tls_agent: %s\n", failure.what());
    return 1;
  }
  std::fprintf(stderr, "usage: tls_agent serve | tls_agent key KEY HOSTNQN SUBNQN VERSION | tls_agent clear\n");
  return 2;
}

}  // namespace

}  // namespace fb::interop

int main(int count, char** arguments) { return fb::interop::run({arguments, static_cast<std::size_t>(count)}); }
