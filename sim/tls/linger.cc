#include <array>
#include <utility>

#include "sim/tls/host_state.h"

namespace fb::tls {

namespace {
constexpr Duration kPatience = Duration::s(2);
}

bool Backlog::flush(net::Stream& into) {
  while (!empty()) {
    const std::array<ByteView, 1> parts{view()};
    const std::size_t size = into.send(parts);
    const bool all = size == parts[0].size();
    consume(size);
    if (!all) return false;
  }
  return true;
}

Linger::Linger(Lingerers& owner, std::unique_ptr<net::Stream> stream, Backlog backlog, Until until)
    : owner_(owner), stream_(std::move(stream)), backlog_(std::move(backlog)), until_(until) {}

void Linger::begin() {
  owner_.world().loop().schedule_after(patience_, kPatience);
  stream_->set_handler(this);
  on_writable();
}

void Linger::on_writable() {
  if (stream_ == nullptr || !backlog_.flush(*stream_)) return;
  if (until_ == Until::finished) {
    stream_->finish();
    on_readable();
    return;
  }
  stream_->close();
  end();
}

void Linger::on_readable() {
  if (stream_ == nullptr || until_ == Until::sent) return;
  std::array<std::uint8_t, 4096> room;
  const std::array<MutableBytes, 1> into{room};
  while (stream_->receive(into) == room.size()) {
  }
  if (!backlog_.empty() || !stream_->finished()) return;
  stream_->close();
  end();
}

void Linger::too_long() {
  stream_->abort();
  end();
}

// The stream goes later: it may be the caller.
void Linger::end() {
  if (stream_ == nullptr) return;
  owner_.world().loop().cancel(patience_);
  owner_.bury_soon(std::exchange(stream_, nullptr));
}

void Lingerers::add(std::unique_ptr<net::Stream> stream, Backlog backlog, Linger::Until until) {
  all_.emplace_back(*this, std::move(stream), std::move(backlog), until);
  all_.back().begin();
}

void Lingerers::bury_soon(std::unique_ptr<net::Stream> stream) {
  dead_.push_back(std::move(stream));
  if (!bury_.scheduled()) world_.loop().schedule_after(bury_, {});
}

void Lingerers::bury() {
  dead_.clear();
  all_.remove_if([](const Linger& linger) { return linger.over(); });
}

}  // namespace fb::tls
