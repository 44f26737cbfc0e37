// Inside of sim/tls: one TLS connection. OpenSSL reads from and writes to the inner stream through a BIO
// of its own: incoming records go from the inner stream straight into OpenSSL's buffer, and decrypted
// into the caller's memory; outgoing small parts are gathered into records, and small records into one
// send().
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "base/lifetime.h"
#include "sim/tls/host_state.h"

namespace fb::tls {

class TlsStream;

/// Completes handshakes before its acceptor hears of a peer.
class TlsListener final : public net::StreamListener, net::StreamAcceptor {
 public:
  TlsListener(std::shared_ptr<HostState> state, net::StreamAcceptor& acceptor);
  ~TlsListener() override;
  Result<void> open(const Endpoint& local);
  Endpoint local() const override { return inner_->local(); }

  /// Gives the stream to the acceptor; it may be gone when this returns.
  void complete(TlsStream& stream);
  /// Destroys the stream.
  void drop(TlsStream& stream);

 private:
  void on_stream(std::unique_ptr<net::Stream> stream) override;
  std::unique_ptr<TlsStream> take(TlsStream& stream);

  std::shared_ptr<HostState> state_;
  net::StreamAcceptor& acceptor_;
  std::unique_ptr<net::StreamListener> inner_;
  std::vector<std::unique_ptr<TlsStream>> handshaking_;
};

class TlsStream final : public net::Stream, net::StreamHandler {
 public:
  explicit TlsStream(std::shared_ptr<HostState> state);
  ~TlsStream() override;
  Result<void> connect(const Endpoint& local, const Endpoint& to, Key key, net::StreamHandler& handler);
  void accept(std::unique_ptr<net::Stream> inner, TlsListener& listener);

  void set_handler(net::StreamHandler* handler) override;
  std::size_t receive(std::span<const MutableBytes> into) override;
  bool finished() const override { return peer_finished_; }
  std::size_t send(std::span<const ByteView> parts) override;
  void request_flush() override;
  void finish() override;
  void abort() override;
  void close() override;
  Endpoint local() const override { return inner_ != nullptr ? inner_->local() : local_; }
  Endpoint peer() const override { return inner_ != nullptr ? inner_->peer() : peer_; }
  std::string_view identity() const override {
    return phase_ != State::handshaking && key_ ? std::string_view(key_->identity) : std::string_view();
  }
  std::optional<Session> session() const;

  // What OpenSSL asks (context.cc).
  int bio_read(MutableBytes into);
  int bio_write(ByteView bytes);
  bool inner_ended() const { return inner_ == nullptr || (dry_ && inner_->finished()); }
  int on_client_hello(int* alert);
  SSL_SESSION* session_for(ByteView identity);
  const Key* key() const { return key_.has_value() ? &*key_ : nullptr; }
  SSL_SESSION* make_session();
  void on_alert(bool received, int code);
  void on_secret(std::string_view line);

 private:
  enum class State : std::uint8_t { handshaking, open, over };
  enum Raised : std::uint8_t { kConnected = 1, kReadable = 2, kWritable = 4, kEnd = 8 };

  void on_connected() override;
  void on_readable() override;
  void on_writable() override;
  void on_flush() override;
  void on_end(const net::StreamEnd& end) override;

  void start();
  void advance();
  bool acceptable();
  bool stays_silent();
  void send_early_data();
  void established();
  std::size_t write_parts(std::span<const ByteView> parts);
  bool write_record(ByteView plain);
  void flush_backlog();
  bool unread_data();
  void fail(net::StreamEnd::Kind kind, std::string text);
  void fail_handshake(const std::string& reason);
  std::string reason() const;
  bool departs(std::string_view point) const { return state_->options.departs && state_->options.departs(point); }
  void give_inner_away(Linger::Until until);
  void timed_out();
  void raise(std::uint8_t what);
  void signal();
  void trace(std::string_view label, std::string_view text);

  struct SslFree {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  std::shared_ptr<HostState> state_;
  TlsListener* listener_ = nullptr;  // until the acceptor has it
  net::StreamHandler* handler_ = nullptr;
  std::unique_ptr<net::Stream> inner_;
  Endpoint local_, peer_;  // when inner_ is gone
  std::optional<Key> key_;
  std::unique_ptr<SSL, SslFree> ssl_;
  State phase_ = State::handshaking;
  bool server_ = false;
  bool tcp_open_ = false;
  bool peer_spoke_ = false;
  bool dry_ = false;           // the inner stream had less than was asked for, and has not called since
  bool read_blocked_ = false;  // OpenSSL must write before it reads on
  bool peer_finished_ = false;
  bool finish_asked_ = false;
  bool inner_finished_ = false;
  bool early_data_sent_ = false;
  bool no_psk_offered_ = false;
  bool wants_writable_ = false;
  std::uint8_t raised_ = 0;
  std::string note_;  // why we refuse, in words better than OpenSSL's
  int alert_received_ = -1;
  int alert_sent_ = -1;
  net::StreamEnd end_;
  Backlog backlog_;
  Bytes gathered_;
  Lifetime lifetime_;  // a handler may destroy this
  Timer<TlsStream, &TlsStream::signal> signal_{"tls.signal", *this};
  Timer<TlsStream, &TlsStream::timed_out> patience_{"tls.handshake", *this};
};

}  // namespace fb::tls
