// Inside of sim/tls: what a host's streams share, and what outlives a stream.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "sim/tls/library.h"
#include "sim/tls/tls_host.h"

namespace fb::tls {

/// Bytes on their way into an inner stream that had no room for them. Keeps its memory.
class Backlog {
 public:
  bool empty() const { return head_ == bytes_.size(); }
  std::size_t size() const { return bytes_.size() - head_; }
  ByteView view() const { return ByteView(bytes_).subspan(head_); }
  void append(ByteView more) { bytes_.insert(bytes_.end(), more.begin(), more.end()); }
  void consume(std::size_t count) {
    head_ += count;
    if (!empty()) return;
    bytes_.clear();
    head_ = 0;
  }
  /// Hands over as much as there is room for; true when all of it went.
  bool flush(net::Stream& into);

 private:
  Bytes bytes_;
  std::size_t head_ = 0;
};

class Lingerers;

/// An inner stream whose TLS stream is gone: it takes the last bytes to the peer.
class Linger final : net::StreamHandler {
 public:
  enum class Until : std::uint8_t {
    sent,     ///< then it closes
    finished  ///< half-closes, and waits for the peer to do so too: a reset would overtake an alert
  };
  Linger(Lingerers& owner, std::unique_ptr<net::Stream> stream, Backlog backlog, Until until);
  bool over() const { return stream_ == nullptr; }
  void begin();

 private:
  void on_connected() override {}
  void on_readable() override;
  void on_writable() override;
  void on_flush() override {}
  void on_end(const net::StreamEnd&) override { end(); }
  void too_long();
  void end();

  Lingerers& owner_;
  std::unique_ptr<net::Stream> stream_;
  Backlog backlog_;
  Until until_;
  Timer<Linger, &Linger::too_long> patience_{"tls.linger", *this};
};

class Lingerers {
 public:
  explicit Lingerers(World& world) : world_(world) {}
  void add(std::unique_ptr<net::Stream> stream, Backlog backlog, Linger::Until until);
  World& world() { return world_; }
  /// Takes a stream that has ended, and the Linger that held it, away after this turn.
  void bury_soon(std::unique_ptr<net::Stream> stream);

 private:
  void bury();
  World& world_;
  std::list<Linger> all_;
  std::vector<std::unique_ptr<net::Stream>> dead_;
  Timer<Lingerers, &Lingerers::bury> bury_{"tls.bury", *this};
};

struct ContextFree {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using Context = std::unique_ptr<SSL_CTX, ContextFree>;

struct HostState {
  HostState(World& w, net::StreamHost& i, Keys& k, const Options& o);
  bool departs(std::string_view point) const { return options.departs && options.departs(point); }
  std::vector<Group> groups(bool listening) const;
  bool enabled(Suite suite) const { return suite == Suite::aes_128_gcm_sha256 ? options.aes_128_gcm_sha256 : options.aes_256_gcm_sha384; }

  World& world;
  net::StreamHost& inner;
  Keys& keys;
  Options options;
  std::unique_ptr<Library> library;
  Context client;
  Context server;
  Counters counters;
  TlsStreamHost::Refusal refused;
  TlsStreamHost::KeylogLine keylog;
  Lingerers lingerers;
};

/// Contexts for the two roles, with every callback that a TlsStream answers.
Context make_context(const HostState& state, bool server);

/// As the wire has it.
std::uint16_t number_of(Suite suite);
std::string group_list(const std::vector<Group>& groups);

}  // namespace fb::tls
