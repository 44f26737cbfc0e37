#include "sim/net/sim_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/net/sim_stream_end.h"

namespace fb::net {

StreamCounters& StreamCounters::operator+=(const StreamCounters& other) {
  connections += other.connections;
  accepted += other.accepted;
  refused += other.refused;
  unreachable += other.unreachable;
  segments += other.segments;
  bytes += other.bytes;
  acks += other.acks;
  resets += other.resets;
  lost += other.lost;
  delayed += other.delayed;
  return *this;
}

// ---------------------------------------------------------------------------------------- hosts

using stream_detail::Connection;
using stream_detail::Handle;
using stream_detail::Listener;

Result<Endpoint> SimHost::free_stream_port(const Endpoint& local) {
  if (std::find(addresses_.begin(), addresses_.end(), local.address) == addresses_.end()) {
    return Failure{Problem{fmt::format("TCP {}: host {} does not have this address", to_string(local), name_)}};
  }
  if (local.port != 0) {
    if (!stream_ports_.contains(local)) return local;
    return Failure{Problem{fmt::format("TCP {}: address already in use", to_string(local))}};
  }
  constexpr std::uint16_t kFirst = 49152;
  for (int tries = 0; tries < 0x10000 - kFirst; ++tries) {
    const Endpoint candidate{local.address, next_stream_port_};
    next_stream_port_ = candidate.port == 0xFFFF ? kFirst : static_cast<std::uint16_t>(candidate.port + 1);
    if (!stream_ports_.contains(candidate)) return candidate;
  }
  return Failure{Problem{fmt::format("TCP {}: no free port", to_string(local))}};
}

Result<std::unique_ptr<Stream>> SimHost::connect(const Endpoint& local, const Endpoint& to, StreamHandler& handler) {
  if (local.address.is_v4() != to.address.is_v4() || to.port == 0) {
    return Failure{Problem{fmt::format("TCP {}: cannot connect to {}", to_string(local), to_string(to))}};
  }
  auto port = free_stream_port(local);
  if (!port) return Failure{port.error()};
  stream_ports_.emplace(*port, nullptr);
  ++stream_counters_.connections;
  stream_detail::Streams& streams = *network_.streams_;
  Connection& connection = streams.begin_connection();
  connection.client.open(*this, network_.route(*this, to.address), *port, to, streams.next_isn());
  auto handle = std::make_unique<Handle>(connection.client);
  connection.client.begin_connect(*handle, handler);
  return std::unique_ptr<Stream>(std::move(handle));
}

Result<std::unique_ptr<StreamListener>> SimHost::listen(const Endpoint& local, StreamAcceptor& acceptor) {
  auto port = free_stream_port(local);
  if (!port) return Failure{port.error()};
  return std::unique_ptr<StreamListener>(std::make_unique<Listener>(*this, *port, acceptor));
}

void SimNetwork::set_stream_filter(const SimHost& from, const SimHost& to, StreamFilter* filter) {
  link_of(from, to).stream_filter = filter;
}

StreamCounters SimNetwork::stream_counters() const {
  StreamCounters sum;
  for (const auto& host : hosts_) sum += host->stream_counters();
  return sum;
}

std::size_t SimNetwork::segment_pool_size() const { return streams_->pool_size(); }
std::size_t SimNetwork::connections() const { return streams_->connections(); }

}  // namespace fb::net

namespace fb::net::stream_detail {

Listener::Listener(SimHost& host, const Endpoint& local, StreamAcceptor& acceptor) : host_(host), local_(local), acceptor_(acceptor) {
  host_.stream_ports_.emplace(local_, this);
}

Listener::~Listener() { host_.stream_ports_.erase(local_); }

// ----------------------------------------------------------------------------------------- ring

void Ring::grow(std::uint64_t begin, std::uint64_t end, std::size_t needed) {
  const std::size_t capacity = std::bit_ceil(std::max<std::size_t>(needed, 4096));
  auto bytes = std::make_unique_for_overwrite<std::uint8_t[]>(capacity);
  for (std::uint64_t at = begin; at < end;) {
    const std::size_t from = static_cast<std::size_t>(at) & (capacity_ - 1);
    const std::size_t to = static_cast<std::size_t>(at) & (capacity - 1);
    const std::size_t run = std::min({capacity_ - from, capacity - to, static_cast<std::size_t>(end - at)});
    std::copy_n(bytes_.get() + from, run, bytes.get() + to);
    at += run;
  }
  bytes_ = std::move(bytes);
  capacity_ = capacity;
}

void Ring::append(std::uint64_t begin, std::uint64_t end, ByteView bytes) {
  const std::size_t needed = static_cast<std::size_t>(end - begin) + bytes.size();
  if (needed > capacity_) grow(begin, end, needed);
  while (!bytes.empty()) {
    const std::size_t to = static_cast<std::size_t>(end) & (capacity_ - 1);
    const std::size_t run = std::min(capacity_ - to, bytes.size());
    std::copy_n(bytes.data(), run, bytes_.get() + to);
    bytes = bytes.subspan(run);
    end += run;
  }
}

void Ring::copy(std::uint64_t at, MutableBytes to) const {
  while (!to.empty()) {
    const std::size_t from = static_cast<std::size_t>(at) & (capacity_ - 1);
    const std::size_t run = std::min(capacity_ - from, to.size());
    std::copy_n(bytes_.get() + from, run, to.data());
    to = to.subspan(run);
    at += run;
  }
}

ByteView Ring::view(std::uint64_t at, std::size_t size, Bytes& room) const {
  if (size == 0) return {};
  const std::size_t from = static_cast<std::size_t>(at) & (capacity_ - 1);
  if (from + size <= capacity_) return {bytes_.get() + from, size};
  room.resize(std::max(room.size(), size));
  copy(at, MutableBytes(room).first(size));
  return ByteView(room).first(size);
}

// -------------------------------------------------------------------------------------- streams

Connection& Streams::begin_connection() {
  connections_.emplace_back(*this);
  Connection& made = connections_.back();
  made.self = std::prev(connections_.end());
  return made;
}

Segment& Streams::acquire() {
  if (first_free_ == nullptr) return pool_.emplace_back(*this);
  Segment& segment = *first_free_;
  first_free_ = std::exchange(segment.next_free, nullptr);
  return segment;
}

void Streams::release(Segment& segment) {
  segment.next_free = first_free_;
  first_free_ = &segment;
}

std::uint32_t Streams::next_isn() { return static_cast<std::uint32_t>(mix64(world().seed() ^ mix64(++isn_count_)) >> 32); }

void Streams::consider(Connection& connection) {
  if (connection.dead || connection.on_their_way > 0) return;
  if (!connection.client.done() || !connection.server.done()) return;
  connection.dead = true;
  dead_.push_back(&connection);
  // Not now: one of its ends may be the caller.
  if (!bury_.scheduled()) world().loop().schedule_after(bury_, {});
}

void Streams::landed(Connection& connection) {
  --connection.on_their_way;
  consider(connection);
}

void Streams::bury() {
  for (Connection* const connection : dead_) connections_.erase(connection->self);
  dead_.clear();
}

}  // namespace fb::net::stream_detail
