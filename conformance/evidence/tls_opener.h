// Opens the records of a TLS 1.3 connection with the secrets of a key log (SSLKEYLOGFILE), as a listener: what both sides said
// is read, nothing is checked but that a record is whole.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace fb::evidence {

/// Secrets by the random number of the ClientHello and their label.
class TlsKeys {
 public:
  /// Lines "LABEL RANDOM SECRET"; what is none is passed over.
  void add(std::string_view keylog);
  /// The whole key log once more, from where it grows while packets arrive; asked when a secret is not there.
  void reload_by(std::function<std::string()> reload) { reload_ = std::move(reload); }
  const Bytes* find(std::string_view label, ByteView client_random);
  std::size_t size() const { return secrets_.size(); }

 private:
  const Bytes* known(const std::string& key) const;
  std::map<std::string, Bytes> secrets_;  // "LABEL random in lower case"
  std::function<std::string()> reload_;
};

class TlsOpener {
 public:
  explicit TlsOpener(TlsKeys& keys) : keys_(keys) {}

  /// Further bytes of one direction. What they carry is appended to `plain`. False: this connection cannot be read, or not
  /// any further; why() says why.
  bool feed(bool by_client, ByteView bytes, Bytes& plain);
  const std::string& why() const { return why_; }
  /// A record of the application was opened.
  bool opened() const { return opened_; }

 private:
  struct Suite {
    std::uint16_t code;
    const char* cipher;
    const char* digest;
    std::size_t key_bytes, tag_bytes;
    bool ccm;
  };
  /// What protects the records of one direction at a time.
  struct Epoch {
    Bytes secret, key, iv;
    std::uint64_t sequence = 0;
  };
  struct Side {
    Bytes pending;
    Bytes hello;  // handshake messages in the clear, until the hello is read
    std::optional<Epoch> epoch;
    bool application = false;  // the epoch is one of the application's
  };

  static const Suite* suite_of(std::uint16_t code);
  bool record(bool by_client, ByteView header, ByteView body, Bytes& plain);
  bool read_hello(bool by_client);
  bool enter(Side& side, const char* label);
  std::optional<Epoch> epoch_of(Bytes secret) const;
  bool open(Epoch& epoch, ByteView header, ByteView body, Bytes& inner) const;
  bool open_in_some_epoch(bool by_client, ByteView header, ByteView body, Bytes& inner);
  bool give_up(std::string why);

  TlsKeys& keys_;
  Side sides_[2];  // 1: the client
  Bytes client_random_;
  const Suite* suite_ = nullptr;
  bool opened_ = false;
  std::string why_;
};

}  // namespace fb::evidence
