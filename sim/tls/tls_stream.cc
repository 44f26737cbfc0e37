#include "sim/tls/tls_stream.h"

#include <fmt/format.h>
#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/tls/bio.h"

namespace fb::tls {

namespace {

constexpr std::size_t kRecordMax = 16384;
/// Records that are gathered before they are sent: a call of the kernel costs more than a copy that is still in the cache.
constexpr std::size_t kBacklogEnough = 64u << 10;
constexpr std::size_t kBacklogMax = 512u << 10;  // above this, OpenSSL waits

/// Clearing an empty queue of errors costs half a microsecond.
void forget_errors() {
  if (ERR_peek_error() != 0) ERR_clear_error();
}

}  // namespace

TlsStream::TlsStream(std::shared_ptr<HostState> state) : state_(std::move(state)) {}

TlsStream::~TlsStream() = default;

Result<void> TlsStream::connect(const Endpoint& local, const Endpoint& to, Key key, net::StreamHandler& handler) {
  handler_ = &handler;
  key_ = std::move(key);
  auto inner = state_->inner.connect(local, to, *this);
  if (!inner) return Failure{inner.error()};
  inner_ = std::move(inner).value();
  return {};
}

void TlsStream::accept(std::unique_ptr<net::Stream> inner, TlsListener& listener) {
  server_ = true;
  tcp_open_ = true;
  listener_ = &listener;
  inner_ = std::move(inner);
  state_->world.loop().schedule_after(patience_, state_->options.handshake_timeout);
  inner_->set_handler(this);
}

// ------------------------------------------------------------------------------ the inner stream

void TlsStream::on_connected() {
  tcp_open_ = true;
  state_->world.loop().schedule_after(patience_, state_->options.handshake_timeout);
  start();
  advance();
}

void TlsStream::on_readable() {
  dry_ = false;
  if (phase_ == State::handshaking) {
    start();
    advance();
    return;
  }
  if (phase_ == State::open && handler_ != nullptr) handler_->on_readable();
}

void TlsStream::on_writable() {
  if (phase_ == State::over) return;
  flush_backlog();
  if (phase_ != State::open || !backlog_.empty()) return;
  if (std::exchange(read_blocked_, false)) raise(kReadable);
  if (std::exchange(wants_writable_, false) && handler_ != nullptr) handler_->on_writable();
}

void TlsStream::on_flush() {
  if (handler_ != nullptr) handler_->on_flush();
}

void TlsStream::on_end(const net::StreamEnd& end) {
  if (phase_ == State::over) return;
  if (phase_ == State::handshaking && tcp_open_) {
    const std::string& words = alert_received_ >= 0 ? reason() : end.text;
    fail_handshake(words);
    return;
  }
  fail(end.kind, end.text);
}

int TlsStream::bio_read(MutableBytes into) {
  if (inner_ == nullptr) return kBioFailed;
  // What has come short once is not asked again before it calls: that would cost a system call.
  if (dry_) return inner_->finished() ? 0 : kBioLater;
  const std::array<MutableBytes, 1> parts{into};
  const std::size_t size = inner_->receive(parts);
  dry_ = size < into.size();
  if (size == 0) return inner_->finished() ? 0 : kBioLater;
  if (!std::exchange(peer_spoke_, true)) {
    constexpr std::uint8_t kAlert = 21, kHandshake = 22;
    if (into[0] != kHandshake && (server_ || into[0] != kAlert)) {
      note_ = fmt::format("the peer does not speak TLS: its first byte is {:02X}h", into[0]);
      return kBioFailed;
    }
  }
  return static_cast<int>(size);
}

int TlsStream::bio_write(ByteView bytes) {
  if (inner_ == nullptr) return kBioFailed;
  if (backlog_.size() > kBacklogMax) return kBioLater;
  backlog_.append(bytes);
  return static_cast<int>(bytes.size());
}

void TlsStream::flush_backlog() {
  if (inner_ == nullptr || !backlog_.flush(*inner_)) return;
  if (finish_asked_ && phase_ == State::open && !std::exchange(inner_finished_, true)) inner_->finish();
}

// --------------------------------------------------------------------------------- the handshake

void TlsStream::start() {
  if (ssl_ != nullptr) return;
  ssl_.reset(SSL_new(server_ ? state_->server.get() : state_->client.get()));
  BENCH_ASSERT(ssl_ != nullptr, "OpenSSL makes a connection");
  SSL_set_app_data(ssl_.get(), this);
  BIO* const bio = make_bio(*this);
  SSL_set_bio(ssl_.get(), bio, bio);
  if (server_) {
    SSL_set_accept_state(ssl_.get());
  } else {
    SSL_set_connect_state(ssl_.get());
    const std::string suite(name_of(key_->suite));
    const bool other = departs("client.no_sha256");
    BENCH_ASSERT(SSL_set_ciphersuites(ssl_.get(), other ? "TLS_CHACHA20_POLY1305_SHA256" : suite.c_str()) == 1, "OpenSSL knows the suite");
  }
}

// May destroy this stream.
void TlsStream::advance() {
  ERR_clear_error();
  if (!server_ && !early_data_sent_ && departs("client.early_data")) send_early_data();
  const int result = SSL_do_handshake(ssl_.get());
  if (result != 1 && stays_silent()) return;
  flush_backlog();
  if (result == 1) {
    if (acceptable()) {
      established();
    } else {
      fail_handshake(note_);
    }
    return;
  }
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return;
  fail_handshake(reason());
}

/// Deviations of a side that does not end what it has to.
bool TlsStream::stays_silent() {
  if (!state_->options.departs) return false;
  const int why = ERR_GET_REASON(ERR_peek_error());
  const bool stays = server_ ? (why == SSL_R_BINDER_DOES_NOT_VERIFY && departs("server.stays.binder")) ||
                                   (no_psk_offered_ && departs("server.stays.no_psk"))
                             : why == SSL_R_UNSUPPORTED_PROTOCOL && departs("client.stays.version");
  if (!stays) return false;
  backlog_ = {};
  state_->world.loop().cancel(patience_);
  return true;
}

void TlsStream::send_early_data() {
  early_data_sent_ = true;
  const std::uint8_t byte = 0;
  std::size_t sent = 0;
  SSL_write_early_data(ssl_.get(), &byte, 1, &sent);
}

bool TlsStream::acceptable() {
  const auto agreed = session();
  if (SSL_session_reused(ssl_.get()) != 1 || !agreed) {
    note_ = "the handshake came about without the pre-shared key";
  } else if (agreed->group.empty() && !state_->options.psk_ke) {
    note_ = "the peer chose psk_ke, which is switched off";
  } else if (!agreed->group.empty() && !state_->options.psk_dhe_ke) {
    note_ = "the peer chose psk_dhe_ke, which is switched off";
  }
  return note_.empty();
}

// May destroy this stream.
void TlsStream::established() {
  phase_ = State::open;
  state_->world.loop().cancel(patience_);
  ++(server_ ? state_->counters.accepted : state_->counters.connected);
  if (state_->world.trace().on()) {
    const auto agreed = session();
    trace("tls.handshake", fmt::format("{} for \"{}\": {}, {}{}", server_ ? "accepted" : "connected", agreed->identity,
                                       name_of(agreed->suite), agreed->group.empty() ? "psk_ke" : "psk_dhe_ke ", agreed->group));
  }
  if (server_) {
    std::exchange(listener_, nullptr)->complete(*this);
    return;
  }
  if (finish_asked_) {
    finish_asked_ = false;
    finish();
  }
  std::uint8_t then = 0;
  if (SSL_has_pending(ssl_.get()) == 1 || !dry_) then |= kReadable;
  if (std::exchange(wants_writable_, false)) then |= kWritable;
  if (then != 0) raise(then);
  if (handler_ != nullptr) handler_->on_connected();
}

void TlsStream::timed_out() { fail_handshake(fmt::format("not complete within {}", to_string(state_->options.handshake_timeout))); }

// Without the peer's address: whoever reports it knows that, and a failure has the same words wherever it is seen.
std::string TlsStream::reason() const {
  const auto alert = [](int code) { return fmt::format("alert {} ({})", code, SSL_alert_desc_string_long(code)); };
  if (alert_received_ >= 0) return "the peer sent " + alert(alert_received_);
  std::string words = note_;
  if (words.empty() && ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    words = "the peer closed the connection without a close_notify";
  } else if (words.empty()) {
    const char* const known = ERR_reason_error_string(ERR_peek_error());
    words = known != nullptr ? known : "the peer closed the connection";
  }
  if (alert_sent_ >= 0) words += "; sent " + alert(alert_sent_);
  return words;
}

void TlsStream::fail_handshake(const std::string& words) {
  ++state_->counters.failed;
  fail(net::StreamEnd::Kind::failed, "TLS handshake failed: " + words);
}

void TlsStream::fail(net::StreamEnd::Kind kind, std::string text) {
  if (phase_ == State::over) return;
  phase_ = State::over;
  state_->world.loop().cancel(patience_);
  end_ = {kind, std::move(text)};
  trace("tls.end", end_.text);
  give_inner_away(Linger::Until::finished);
  raised_ = 0;
  raise(kEnd);
}

void TlsStream::give_inner_away(Linger::Until until) {
  if (inner_ == nullptr) return;
  local_ = inner_->local();
  peer_ = inner_->peer();
  if (!tcp_open_) {
    inner_.reset();
    return;
  }
  state_->lingerers.add(std::exchange(inner_, nullptr), std::exchange(backlog_, {}), until);
}

// ---------------------------------------------------------------------------- told by its events

void TlsStream::raise(std::uint8_t what) {
  raised_ |= what;
  if (!signal_.scheduled()) state_->world.loop().schedule_after(signal_, {});
}

// Any handler may destroy this stream.
void TlsStream::signal() {
  const std::uint8_t what = std::exchange(raised_, std::uint8_t{0});
  const Lifetime::Watch watch(lifetime_);
  if ((what & kReadable) != 0 && phase_ == State::open && handler_ != nullptr) handler_->on_readable();
  if (watch.gone()) return;
  if ((what & kWritable) != 0 && phase_ == State::open && handler_ != nullptr) handler_->on_writable();
  if (watch.gone()) return;
  if ((what & kEnd) == 0) return;
  if (listener_ != nullptr) {
    if (state_->refused) state_->refused(peer_, end_.text);
    std::exchange(listener_, nullptr)->drop(*this);
    return;
  }
  if (handler_ == nullptr) {
    raised_ |= kEnd;  // for the next handler
    return;
  }
  handler_->on_end(end_);
}

void TlsStream::trace(std::string_view label, std::string_view text) {
  if (!state_->world.trace().on()) return;
  TraceEvent event;
  event.kind = label == kTlsKeylogLabel ? TraceKind::note : TraceKind::state;
  event.time = state_->world.now();
  event.actor = state_->options.name;
  event.label = label;
  event.text = text;
  event.source = local();
  event.destination = peer();
  state_->world.trace().emit(event);
}

void TlsStream::on_alert(bool received, int code) {
  if (code == SSL3_AD_CLOSE_NOTIFY) return;
  (received ? alert_received_ : alert_sent_) = code;
}

void TlsStream::on_secret(std::string_view line) {
  if (state_->keylog) state_->keylog(line);
  trace(kTlsKeylogLabel, line);
}

// ------------------------------------------------------------------------------------- its user

void TlsStream::set_handler(net::StreamHandler* handler) {
  handler_ = handler;
  if (handler == nullptr) return;
  if (phase_ == State::open && (SSL_has_pending(ssl_.get()) == 1 || !dry_ || peer_finished_)) {
    raise(kReadable);
  }
  if (raised_ != 0) raise(raised_);
}

std::size_t TlsStream::receive(std::span<const MutableBytes> into) {
  if (phase_ != State::open) return 0;
  std::size_t total = 0;
  for (const MutableBytes part : into) {
    std::size_t filled = 0;
    while (filled < part.size()) {
      std::size_t size = 0;
      forget_errors();
      const int result = SSL_read_ex(ssl_.get(), part.data() + filled, part.size() - filled, &size);
      if (result == 1) {
        filled += size;
        continue;
      }
      total += filled;
      const int error = SSL_get_error(ssl_.get(), result);
      if (error == SSL_ERROR_WANT_WRITE) {
        read_blocked_ = true;
      } else if (error == SSL_ERROR_ZERO_RETURN) {
        if (!std::exchange(peer_finished_, true)) raise(kReadable);
      } else if (error != SSL_ERROR_WANT_READ) {
        // What came before it has been given out.
        fail(net::StreamEnd::Kind::failed, "TLS ended: " + reason());
        return total;
      }
      if (!backlog_.empty()) flush_backlog();  // the answer to a KeyUpdate
      return total;
    }
    total += filled;
  }
  return total;
}

bool TlsStream::write_record(ByteView plain) {
  forget_errors();
  std::size_t size = 0;
  if (SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &size) == 1) {
    BENCH_ASSERT(size == plain.size(), "a record goes whole");
    return true;
  }
  fail(net::StreamEnd::Kind::failed, "TLS ended: " + reason());
  return false;
}

std::size_t TlsStream::send(std::span<const ByteView> parts) {
  if (phase_ == State::over || finish_asked_) return 0;
  std::size_t offered = 0;
  for (const ByteView part : parts) offered += part.size();
  if (phase_ == State::open && !backlog_.empty()) flush_backlog();
  if (phase_ != State::open || !backlog_.empty()) {
    if (offered > 0) wants_writable_ = true;
    return 0;
  }
  const std::size_t taken = write_parts(parts);
  if (phase_ != State::open) return taken;
  flush_backlog();
  if (taken < offered) wants_writable_ = true;
  return taken;
}

std::size_t TlsStream::write_parts(std::span<const ByteView> parts) {
  std::size_t taken = 0;
  std::size_t gathered = 0;
  const auto stuck = [this] { return backlog_.size() >= kBacklogEnough && !backlog_.flush(*inner_); };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ByteView rest = parts[i];
    while (!rest.empty()) {
      const bool whole = rest.size() >= kRecordMax || i + 1 == parts.size();
      if (gathered == 0 && whole) {
        const ByteView record = rest.first(std::min(rest.size(), kRecordMax));
        if (!write_record(record)) return taken;
        taken += record.size();
        rest = rest.subspan(record.size());
        if (stuck()) return taken;
        continue;
      }
      if (gathered_.empty()) gathered_.resize(kRecordMax);
      const std::size_t size = std::min(rest.size(), kRecordMax - gathered);
      std::copy_n(rest.data(), size, gathered_.data() + gathered);
      gathered += size;
      rest = rest.subspan(size);
      if (gathered < kRecordMax) continue;
      if (!write_record(gathered_)) return taken;
      taken += std::exchange(gathered, std::size_t{0});
      if (stuck()) return taken;
    }
  }
  if (gathered > 0 && write_record(ByteView(gathered_).first(gathered))) taken += gathered;
  return taken;
}

void TlsStream::request_flush() {
  if (inner_ != nullptr && phase_ != State::over) inner_->request_flush();
}

void TlsStream::finish() {
  if (phase_ == State::over || std::exchange(finish_asked_, true)) return;
  if (phase_ != State::open) return;  // when it is
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  flush_backlog();
}

void TlsStream::abort() {
  handler_ = nullptr;
  raised_ = 0;
  phase_ = State::over;
  state_->world.loop().cancel(signal_);
  state_->world.loop().cancel(patience_);
  if (inner_ == nullptr) return;
  local_ = inner_->local();
  peer_ = inner_->peer();
  inner_.reset();
}

// As with TCP, what arrived and was not fetched turns an orderly end into a reset.
bool TlsStream::unread_data() {
  std::uint8_t byte = 0;
  std::size_t size = 0;
  ERR_clear_error();
  const int result = SSL_peek_ex(ssl_.get(), &byte, 1, &size);
  if (result == 1) return true;
  const int error = SSL_get_error(ssl_.get(), result);
  return error == SSL_ERROR_SSL || error == SSL_ERROR_SYSCALL;
}

void TlsStream::close() {
  if (phase_ != State::open || unread_data()) {
    abort();
    return;
  }
  finish();
  handler_ = nullptr;
  raised_ = 0;
  phase_ = State::over;
  state_->world.loop().cancel(signal_);
  give_inner_away(Linger::Until::sent);
}

std::optional<Session> TlsStream::session() const {
  if (ssl_ == nullptr || SSL_is_init_finished(ssl_.get()) != 1 || !key_) return std::nullopt;
  Session agreed{key_->identity, key_->suite, {}};
  EVP_PKEY* shared = nullptr;
  if (SSL_get_peer_tmp_key(ssl_.get(), &shared) == 1) {
    EVP_PKEY_free(shared);
    const int group = static_cast<int>(SSL_get_negotiated_group(ssl_.get()));
    const char* const name = SSL_group_to_name(ssl_.get(), group);
    agreed.group = name != nullptr ? name : "a group";
  }
  return agreed;
}

}  // namespace fb::tls
