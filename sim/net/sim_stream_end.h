// Inside of simulated streams: a connection is two ends and the two lanes of bytes between them. The
// bytes lie in the lane's ring from send() to receive(): a segment on its way is only a range of it.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/world.h"
#include "sim/net/network.h"
#include "sim/net/sim_stream.h"
#include "sim/net/stream.h"

namespace fb::net::stream_detail {

/// Bytes at the positions [begin, end) of a stream. Grows to what was ever held at once.
class Ring {
 public:
  /// Appends at `end`; `begin` is the first position that is still needed.
  void append(std::uint64_t begin, std::uint64_t end, ByteView bytes);
  void copy(std::uint64_t at, MutableBytes to) const;
  /// The bytes in one piece: where they lie, or gathered in `room` when they wrap.
  ByteView view(std::uint64_t at, std::size_t size, Bytes& room) const;

 private:
  void grow(std::uint64_t begin, std::uint64_t end, std::size_t needed);
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::size_t capacity_ = 0;  // a power of two
};

/// One direction of a connection. Positions count the stream's bytes from 0; the FIN takes the one
/// behind the last.
struct Lane {
  Ring ring;
  // The sender's: taken >= sent >= acked.
  std::uint64_t taken = 0;
  std::uint64_t sent = 0;
  std::uint64_t acked = 0;
  std::uint64_t edge = 0;  // up to here the receiver has said that it has room
  bool fin_queued = false;
  bool fin_sent = false;
  // The receiver's: delivered >= read.
  std::uint64_t delivered = 0;
  std::uint64_t read = 0;
  std::uint64_t advertised = 0;  // the edge that was last sent
  bool fin_delivered = false;
  Instant clock;  // nothing arrives before what was sent before it
};

/// A segment on its way; lives in the pool.
class Segment final : public Event {
 public:
  explicit Segment(Streams& streams) : Event("net.tcp.segment"), streams_(streams) {}
  End* to = nullptr;
  std::uint8_t flags = 0;
  std::uint64_t offset = 0;
  std::size_t size = 0;
  std::uint64_t ack = 0;
  std::uint64_t edge = 0;
  bool repeat = false;  // it was lost: this event is its retransmission
  Instant arrival;
  Segment* next_free = nullptr;

 private:
  void fire() override;
  Streams& streams_;
};

struct Connection;
class Handle;

class End {
 public:
  End(Streams& streams, Connection& connection, End& peer, Lane& out, Lane& in);

  void open(SimHost& host, network_detail::Link* link, const Endpoint& local, const Endpoint& remote, std::uint32_t isn);
  void begin_connect(Handle& handle, StreamHandler& handler);
  void arrive(const Segment& segment);
  void send_again(Segment& segment);
  /// Nothing happens here any more, and nobody holds it.
  bool done() const;

  void set_handler(StreamHandler* handler);
  std::size_t receive(std::span<const MutableBytes> into);
  bool finished() const { return in_.fin_delivered && in_.read == in_.delivered; }
  std::size_t send(std::span<const ByteView> parts);
  void request_flush();
  void finish();
  void abort();
  void close();

  const Endpoint& local() const { return local_; }
  const Endpoint& remote() const { return remote_; }
  Connection& connection() { return connection_; }
  End& peer() { return peer_; }

 private:
  enum class State : std::uint8_t { none, syn_sent, syn_received, open, over };
  enum Raised : std::uint8_t { kConnected = 1, kReadable = 2, kWritable = 4, kEnd = 8 };

  void on_syn(const Segment& segment);
  bool accept();
  void on_ack(const Segment& segment);
  void on_data(const Segment& segment);
  void on_fin();
  void transmit();
  bool judged(std::uint8_t flags, std::size_t size, SegmentVerdict& verdict);
  void post(std::uint8_t flags, std::uint64_t offset, std::size_t size, const SegmentVerdict& verdict = {});
  void acknowledge();
  void update_window();
  void send_reset();
  void break_connection();
  void over(StreamEnd::Kind kind, std::string text);
  void let_go();
  void raise(std::uint8_t what);
  void signal();
  void flush_due();
  void ack_due();
  void connect_due();
  void vanished(std::size_t size);
  std::size_t room() const;
  std::uint64_t ack_position() const { return in_.delivered + (in_.fin_delivered ? 1u : 0u); }
  std::uint64_t window_edge();
  void trace(const Segment& segment, TraceKind kind, std::string_view text);
  TcpFacts facts(const Segment& segment) const;

  Streams& streams_;
  Connection& connection_;
  End& peer_;
  Lane& out_;
  Lane& in_;
  SimHost* host_ = nullptr;
  network_detail::Link* link_ = nullptr;
  Endpoint local_, remote_;
  StreamOptions options_;
  std::size_t mss_ = 0;
  std::uint32_t isn_ = 0;
  std::uint8_t window_shift_ = 0;
  State state_ = State::none;
  Handle* handle_ = nullptr;  // nullptr: nobody holds this end
  StreamHandler* handler_ = nullptr;
  StreamEnd why_;
  std::uint8_t raised_ = 0;
  bool armed_ = true;  // receive() has come up short since the last on_readable()
  bool end_signalled_ = false;
  bool end_told_ = false;
  bool wants_writable_ = false;
  bool owns_port_ = false;
  bool reset_sent_ = false;
  std::uint64_t unacknowledged_ = 0;
  std::uint32_t vanished_ = 0;  // times that the next segment was lost in a row
  Timer<End, &End::signal> signal_{"net.tcp.signal", *this};
  Timer<End, &End::flush_due> flush_{"net.tcp.flush", *this};
  Timer<End, &End::ack_due> ack_timer_{"net.tcp.ack", *this};
  Timer<End, &End::connect_due> connect_timer_{"net.tcp.connect", *this};
  Timer<End, &End::transmit> retransmit_{"net.tcp.retransmit", *this};

  friend class Handle;
  friend class Streams;
};

struct Connection {
  explicit Connection(Streams& streams) : client(streams, *this, server, up, down), server(streams, *this, client, down, up) {}
  Lane up, down;
  End client, server;
  std::size_t on_their_way = 0;  // segments
  bool dead = false;
  std::list<Connection>::iterator self;
};

/// What the user holds.
class Handle final : public Stream {
 public:
  explicit Handle(End& end) : end_(&end), local_(end.local()), peer_(end.remote()) {}
  ~Handle() override { abort(); }
  void set_handler(StreamHandler* handler) override {
    if (end_ != nullptr) end_->set_handler(handler);
  }
  std::size_t receive(std::span<const MutableBytes> into) override { return end_ != nullptr ? end_->receive(into) : 0; }
  bool finished() const override { return end_ != nullptr && end_->finished(); }
  std::size_t send(std::span<const ByteView> parts) override { return end_ != nullptr ? end_->send(parts) : 0; }
  void request_flush() override {
    if (end_ != nullptr) end_->request_flush();
  }
  void finish() override {
    if (end_ != nullptr) end_->finish();
  }
  void abort() override {
    if (end_ != nullptr) std::exchange(end_, nullptr)->abort();
  }
  void close() override {
    if (end_ != nullptr) std::exchange(end_, nullptr)->close();
  }
  Endpoint local() const override { return local_; }
  Endpoint peer() const override { return peer_; }

 private:
  End* end_;
  Endpoint local_, peer_;
};

class Listener final : public StreamListener {
 public:
  Listener(SimHost& host, const Endpoint& local, StreamAcceptor& acceptor);
  ~Listener() override;
  Endpoint local() const override { return local_; }
  StreamAcceptor& acceptor() { return acceptor_; }

 private:
  SimHost& host_;
  Endpoint local_;
  StreamAcceptor& acceptor_;
};

/// All connections of a network, and the pool of their segments.
class Streams {
 public:
  explicit Streams(SimNetwork& network) : network_(network) {}
  Connection& begin_connection();
  Segment& acquire();
  void release(Segment& segment);
  /// Takes the connection away soon, when nobody needs it any more.
  void consider(Connection& connection);
  void landed(Connection& connection);
  std::uint32_t next_isn();

  SimNetwork& network() { return network_; }
  World& world() { return network_.world_; }
  Bytes& gather_room() { return room_; }
  std::size_t pool_size() const { return pool_.size(); }
  std::size_t connections() const { return connections_.size(); }

 private:
  void bury();
  SimNetwork& network_;
  std::deque<Segment> pool_;
  Segment* first_free_ = nullptr;
  std::list<Connection> connections_;
  std::vector<Connection*> dead_;
  std::uint64_t isn_count_ = 0;
  Bytes room_;
  Timer<Streams, &Streams::bury> bury_{"net.tcp.bury", *this};
};

}  // namespace fb::net::stream_detail
