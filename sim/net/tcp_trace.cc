#include "sim/net/tcp_trace.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/ip_scope.h"
#include "base/rng.h"
#include "sim/net/trace_labels.h"

namespace fb::net {

namespace {

constexpr std::uint8_t kShift = 7;
constexpr std::uint16_t kWindow = 0xFFFF;
constexpr std::uint16_t kMss = 1460;
// So much in one direction without a word in the other gets an acknowledgement of its own.
constexpr std::uint64_t kUnacknowledgedMax = 1 << 20;

// The same at both ends of a connection.
std::uint32_t isn_of(const Endpoint& from, const Endpoint& to) {
  std::uint64_t mixed = from.port * 0x10000u + to.port;
  for (const Endpoint* end : {&from, &to}) {
    const auto& bytes = end->address.bytes();
    mixed = mix64(mixed ^ load_be<std::uint64_t>(bytes.data()));
    mixed = mix64(mixed ^ load_be<std::uint64_t>(&bytes[8]));
  }
  return static_cast<std::uint32_t>(mixed >> 32);
}

}  // namespace

TcpTrace::TcpTrace(World& world, const Endpoint& local, const Endpoint& peer, const TcpTraceOptions& options)
    : world_(world), options_(options) {
  ends(local, peer);
}

void TcpTrace::ends(const Endpoint& local, const Endpoint& peer) {
  local_ = {without_scope(local.address), local.port};
  peer_ = {without_scope(peer.address), peer.port};
  ours_.isn = isn_of(local_, peer_);
  theirs_.isn = isn_of(peer_, local_);
}

void TcpTrace::show_handshake(bool we_began) {
  const Side& first = we_began ? ours_ : theirs_;
  const Side& second = we_began ? theirs_ : ours_;
  emit(we_began, first.isn, 0, tcp_flag::syn, {});
  emit(!we_began, second.isn, first.isn + 1, tcp_flag::syn | tcp_flag::ack, {});
  emit(we_began, first.isn + 1, second.isn + 1, tcp_flag::ack, {});
}

void TcpTrace::show_refused() {
  emit(true, ours_.isn, 0, tcp_flag::syn, {});
  emit(false, 0, ours_.isn + 1, tcp_flag::rst | tcp_flag::ack, {});
}

void TcpTrace::received(std::span<const MutableBytes> parts, std::size_t size) {
  if (shows()) {
    const std::vector<ByteView> views(parts.begin(), parts.end());
    show(theirs_, ours_, false, views, size);
  }
  theirs_.bytes += size;
}

void TcpTrace::show(Side& from, Side& to, bool we_send, std::span<const ByteView> parts, std::size_t size) {
  if (size == 0) return;
  ByteView bytes = parts[0].first(std::min(size, parts[0].size()));
  if (bytes.size() < size) {
    room_.clear();
    for (const ByteView part : parts) {
      const ByteView taken = part.first(std::min(part.size(), size - room_.size()));
      room_.insert(room_.end(), taken.begin(), taken.end());
    }
    bytes = room_;
  }
  emit(we_send, from.next(), to.next(), tcp_flag::ack | tcp_flag::psh, bytes);
  to.unacknowledged = 0;
  from.unacknowledged += size;
  if (from.unacknowledged < kUnacknowledgedMax) return;
  from.unacknowledged = 0;
  emit(!we_send, to.next(), static_cast<std::uint32_t>(from.next() + size), tcp_flag::ack, {});
}

void TcpTrace::finished(bool by_us) {
  Side& from = by_us ? ours_ : theirs_;
  Side& to = by_us ? theirs_ : ours_;
  if (from.finished) return;
  if (shows()) {
    emit(by_us, from.next(), to.next(), tcp_flag::fin | tcp_flag::ack, {});
    emit(!by_us, to.next(), from.next() + 1, tcp_flag::ack, {});
  }
  from.finished = true;
}

void TcpTrace::reset(bool by_us) {
  if (!shows()) return;
  const Side& from = by_us ? ours_ : theirs_;
  const Side& to = by_us ? theirs_ : ours_;
  emit(by_us, from.next(), to.next(), tcp_flag::rst | tcp_flag::ack, {});
}

void TcpTrace::emit(bool we_send, std::uint32_t seq, std::uint32_t ack, std::uint8_t flags, ByteView bytes) {
  TcpFacts tcp;
  tcp.seq = seq;
  tcp.ack = ack;
  tcp.flags = flags;
  tcp.window = (flags & tcp_flag::rst) != 0 ? std::uint16_t{0} : kWindow;
  if ((flags & tcp_flag::syn) != 0) {
    tcp.mss = kMss;
    tcp.window_shift = kShift;
  }
  TraceEvent event;
  event.kind = TraceKind::packet;
  event.time = world_.now();
  event.actor = we_send ? options_.local : options_.peer;
  event.label = net::kTcpLabel;
  event.bytes = bytes;
  event.source = we_send ? local_ : peer_;
  event.destination = we_send ? peer_ : local_;
  event.tcp = &tcp;
  world_.trace().emit(event);
}

}  // namespace fb::net
