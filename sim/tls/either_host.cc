#include "sim/tls/either_host.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace fb::tls {

namespace {

constexpr std::uint8_t kHandshakeRecord = 22;

/// A stream whose first byte has been looked at: it is given out first.
class Resumed final : public net::Stream {
 public:
  Resumed(World& world, std::unique_ptr<net::Stream> inner, std::uint8_t first) : world_(world), inner_(std::move(inner)), first_(first) {}
  ~Resumed() override { world_.loop().cancel(wake_); }

  void set_handler(net::StreamHandler* handler) override {
    handler_ = handler;
    inner_->set_handler(handler);
    if (pending_ && handler != nullptr && !wake_.scheduled()) world_.loop().schedule_after(wake_, {});
  }
  std::size_t receive(std::span<const MutableBytes> into) override {
    if (!pending_) return inner_->receive(into);
    for (std::size_t i = 0; i < into.size(); ++i) {
      if (into[i].empty()) continue;
      into[i][0] = first_;
      pending_ = false;
      // The rest of this part and the parts behind it.
      const std::array<MutableBytes, 1> rest{into[i].subspan(1)};
      std::size_t got = rest[0].empty() ? 0 : inner_->receive(rest);
      if (got == rest[0].size() && i + 1 < into.size()) got += inner_->receive(into.subspan(i + 1));
      return got + 1;
    }
    return 0;
  }
  bool finished() const override { return !pending_ && inner_->finished(); }
  std::size_t send(std::span<const ByteView> parts) override { return inner_->send(parts); }
  void request_flush() override { inner_->request_flush(); }
  void finish() override { inner_->finish(); }
  void abort() override { inner_->abort(); }
  void close() override { inner_->close(); }
  Endpoint local() const override { return inner_->local(); }
  Endpoint peer() const override { return inner_->peer(); }

 private:
  void wake() {
    if (pending_ && handler_ != nullptr) handler_->on_readable();
  }

  World& world_;
  std::unique_ptr<net::Stream> inner_;
  net::StreamHandler* handler_ = nullptr;
  std::uint8_t first_;
  bool pending_ = true;
  Timer<Resumed, &Resumed::wake> wake_{"tls.first_byte", *this};
};

}  // namespace

/// The host under the TLS host: gives it the streams that begin as TLS does, and the others to whoever
/// listens.
class EitherHost::Sorter final : public net::StreamHost {
 public:
  Sorter(World& world, net::StreamHost& inner, const Options& options)
      : world_(world), inner_(inner), patience_(options.handshake_timeout), most_(options.handshakes_max) {}

  void expect_plain_for(net::StreamAcceptor& acceptor) { plain_ = &acceptor; }
  Result<std::unique_ptr<net::Stream>> connect(const Endpoint& local, const Endpoint& to, net::StreamHandler& handler) override {
    return inner_.connect(local, to, handler);
  }
  Result<std::unique_ptr<net::StreamListener>> listen(const Endpoint& local, net::StreamAcceptor& acceptor) override;

 private:
  class Listener;
  class Newcomer;
  World& world_;
  net::StreamHost& inner_;
  Duration patience_;
  std::size_t most_;
  net::StreamAcceptor* plain_ = nullptr;
};

/// A stream that has said nothing yet.
class EitherHost::Sorter::Newcomer final : net::StreamHandler {
 public:
  Newcomer(Listener& listener, std::unique_ptr<net::Stream> stream);
  ~Newcomer();
  bool over() const { return stream_ == nullptr; }

 private:
  void on_connected() override {}
  void on_readable() override;
  void on_writable() override {}
  void on_flush() override {}
  void on_end(const net::StreamEnd&) override { leave(); }
  void leave();

  Listener& listener_;
  std::unique_ptr<net::Stream> stream_;
  Timer<Newcomer, &Newcomer::leave> timer_{"tls.first_byte", *this};
};

class EitherHost::Sorter::Listener final : public net::StreamListener, net::StreamAcceptor {
 public:
  Listener(Sorter& sorter, net::StreamAcceptor& tls, net::StreamAcceptor& plain) : sorter_(sorter), tls_(tls), plain_(plain) {}
  ~Listener() override { world().loop().cancel(bury_); }
  Result<void> open(const Endpoint& local) {
    auto inner = sorter_.inner_.listen(local, *this);
    if (!inner) return Failure{inner.error()};
    inner_ = std::move(inner).value();
    return {};
  }
  Endpoint local() const override { return inner_->local(); }
  World& world() { return sorter_.world_; }
  Duration patience() const { return sorter_.patience_; }
  void sorted(std::unique_ptr<net::Stream> stream, std::uint8_t first) {
    auto whole = std::make_unique<Resumed>(world(), std::move(stream), first);
    (first == kHandshakeRecord ? tls_ : plain_).on_stream(std::move(whole));
  }
  /// Newcomers that are over go when the turn is.
  void bury_soon() {
    if (!bury_.scheduled()) world().loop().schedule_after(bury_, {});
  }
  void keep(std::unique_ptr<net::Stream> ended) { dead_.push_back(std::move(ended)); }

 private:
  void on_stream(std::unique_ptr<net::Stream> stream) override {
    if (newcomers_.size() >= sorter_.most_) newcomers_.erase(newcomers_.begin());  // the oldest gives way
    newcomers_.push_back(std::make_unique<Newcomer>(*this, std::move(stream)));
  }
  void bury() {
    std::erase_if(newcomers_, [](const auto& one) { return one->over(); });
    dead_.clear();
  }

  Sorter& sorter_;
  net::StreamAcceptor& tls_;
  net::StreamAcceptor& plain_;
  std::unique_ptr<net::StreamListener> inner_;
  std::vector<std::unique_ptr<Newcomer>> newcomers_;
  std::vector<std::unique_ptr<net::Stream>> dead_;
  Timer<Listener, &Listener::bury> bury_{"tls.bury_newcomers", *this};
};

EitherHost::Sorter::Newcomer::Newcomer(Listener& listener, std::unique_ptr<net::Stream> stream)
    : listener_(listener), stream_(std::move(stream)) {
  listener_.world().loop().schedule_after(timer_, listener_.patience());
  stream_->set_handler(this);
}

EitherHost::Sorter::Newcomer::~Newcomer() { listener_.world().loop().cancel(timer_); }

void EitherHost::Sorter::Newcomer::on_readable() {
  if (over()) return;
  std::array<std::uint8_t, 1> first = {};
  const std::array<MutableBytes, 1> into{MutableBytes(first)};
  if (stream_->receive(into) == 0) {
    if (stream_->finished()) leave();
    return;
  }
  listener_.world().loop().cancel(timer_);
  listener_.bury_soon();
  listener_.sorted(std::move(stream_), first[0]);
}

void EitherHost::Sorter::Newcomer::leave() {
  if (over()) return;
  listener_.world().loop().cancel(timer_);
  listener_.keep(std::move(stream_));
  listener_.bury_soon();
}

Result<std::unique_ptr<net::StreamListener>> EitherHost::Sorter::listen(const Endpoint& local, net::StreamAcceptor& acceptor) {
  auto listener = std::make_unique<Listener>(*this, acceptor, *plain_);
  if (auto open = listener->open(local); !open) return Failure{open.error()};
  return std::unique_ptr<net::StreamListener>(std::move(listener));
}

EitherHost::EitherHost(World& world, net::StreamHost& inner, Keys& keys, const Options& options)
    : sorter_(std::make_unique<Sorter>(world, inner, options)), tls_(world, *sorter_, keys, options), inner_(inner) {}

EitherHost::~EitherHost() = default;

Result<std::unique_ptr<net::Stream>> EitherHost::connect(const Endpoint& local, const Endpoint& to, net::StreamHandler& handler) {
  return inner_.connect(local, to, handler);
}

Result<std::unique_ptr<net::StreamListener>> EitherHost::listen(const Endpoint& local, net::StreamAcceptor& acceptor) {
  sorter_->expect_plain_for(acceptor);
  return tls_.listen(local, acceptor);
}

TlsStreamHost& EitherHost::tls() { return tls_; }

}  // namespace fb::tls
