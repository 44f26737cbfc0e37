#include "sim/net/sim_stream_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/net/trace_labels.h"
#include "sim/net/vanish.h"

namespace fb::net::stream_detail {

namespace {

constexpr std::size_t kIpv4Headers = 40;  // IP and TCP
constexpr std::size_t kIpv6Headers = 60;
constexpr std::size_t kWindowField = 0xFFFF;
constexpr std::uint32_t kBackoffMax = 6;
constexpr std::uint32_t kRetransmissionsMax = 15;

std::size_t headers(const Endpoint& end) { return end.address.is_v4() ? kIpv4Headers : kIpv6Headers; }

}  // namespace

End::End(Streams& streams, Connection& connection, End& peer, Lane& out, Lane& in)
    : streams_(streams), connection_(connection), peer_(peer), out_(out), in_(in) {}

void End::open(SimHost& host, network_detail::Link* link, const Endpoint& local, const Endpoint& remote, std::uint32_t isn) {
  host_ = &host;
  link_ = link;
  local_ = local;
  remote_ = remote;
  options_ = host.stream_options_;
  isn_ = isn;
  BENCH_ASSERT(options_.send_buffer > 0 && options_.receive_window > 0, "a stream has room for bytes");
  while (options_.receive_window >> window_shift_ > kWindowField) ++window_shift_;
  BENCH_ASSERT(window_shift_ <= 14, "a TCP window is at most 1 GiB");
  // The smaller of both directions, as the two SYNs would have it.
  std::size_t mtu = host.mtu();
  if (link != nullptr) {
    mtu = std::min(link->options.mtu, host.network_.link_of(*link->to, host).options.mtu);
  }
  mss_ = mtu - headers(local);
}

bool End::done() const {
  if (handle_ != nullptr) return false;
  if (state_ == State::over || state_ == State::none) return true;
  return out_.fin_sent && out_.acked > out_.taken && in_.fin_delivered;
}

// --------------------------------------------------------------------------------- what the user asks

void End::begin_connect(Handle& handle, StreamHandler& handler) {
  handle_ = &handle;
  handler_ = &handler;
  owns_port_ = true;
  state_ = State::syn_sent;
  streams_.world().loop().schedule_after(connect_timer_, options_.connect_timeout);
  SegmentVerdict verdict;
  if (judged(tcp_flag::syn, 0, verdict)) post(tcp_flag::syn, 0, 0, verdict);
}

void End::set_handler(StreamHandler* handler) {
  handler_ = handler;
  if (!end_told_ && (in_.delivered > in_.read || finished())) {
    armed_ = false;
    raise(kReadable);
  }
  if (raised_ != 0) raise(raised_);
}

std::size_t End::receive(std::span<const MutableBytes> into) {
  if (end_told_) return 0;  // until then, what came before a reset can be fetched
  std::size_t total = 0;
  bool all = true;
  for (const MutableBytes part : into) {
    const std::size_t size = std::min(part.size(), static_cast<std::size_t>(in_.delivered - in_.read));
    if (size > 0) in_.ring.copy(in_.read, part.first(size));
    in_.read += size;
    total += size;
    all = size == part.size();
    if (!all) break;
  }
  if (total > 0 && state_ == State::open) update_window();
  if (!all) {
    armed_ = true;
    // The end came while bytes waited: it is told of by itself.
    if (in_.fin_delivered && !end_signalled_) {
      armed_ = false;
      end_signalled_ = true;
      raise(kReadable);
    }
  }
  return total;
}

std::size_t End::room() const {
  const auto used = static_cast<std::size_t>(out_.taken - std::min(out_.acked, out_.taken));
  return options_.send_buffer - std::min(options_.send_buffer, used);
}

std::size_t End::send(std::span<const ByteView> parts) {
  if (state_ == State::over || out_.fin_queued) return 0;
  std::size_t left = room();
  std::size_t total = 0;
  for (const ByteView part : parts) {
    const std::size_t size = std::min(part.size(), left);
    out_.ring.append(out_.read, out_.taken, part.first(size));
    out_.taken += size;
    total += size;
    left -= size;
    if (size < part.size()) {
      wants_writable_ = true;
      break;
    }
  }
  if (total > 0) transmit();
  return total;
}

void End::request_flush() {
  if (state_ == State::over || flush_.scheduled()) return;
  streams_.world().loop().schedule_after(flush_, {});
}

void End::finish() {
  if (state_ == State::over || out_.fin_queued) return;
  out_.fin_queued = true;
  transmit();
}

void End::abort() {
  handle_ = nullptr;
  handler_ = nullptr;
  streams_.world().loop().cancel(signal_);
  if (state_ == State::open || state_ == State::syn_received) send_reset();
  over(StreamEnd::Kind::reset, {});
  let_go();
}

void End::close() {
  const bool unread = in_.delivered > in_.read;
  if (state_ != State::open || unread) {
    abort();
    return;
  }
  handle_ = nullptr;
  handler_ = nullptr;
  raised_ = 0;
  streams_.world().loop().cancel(signal_);
  streams_.world().loop().cancel(flush_);
  finish();
  let_go();
}

// ------------------------------------------------------------------------------------ what arrives

void End::arrive(const Segment& segment) {
  if ((segment.flags & tcp_flag::rst) != 0) {
    if (state_ == State::syn_sent) {
      ++host_->stream_counters_.refused;
      over(StreamEnd::Kind::refused, fmt::format("{} refused the connection", to_string(remote_)));
    } else if (state_ != State::none) {
      over(StreamEnd::Kind::reset, fmt::format("{} reset the connection", to_string(remote_)));
    }
    return;
  }
  switch (state_) {
    case State::none:
      on_syn(segment);
      return;
    case State::over:
      if (!reset_sent_) send_reset();
      return;
    case State::syn_sent:
      streams_.world().loop().cancel(connect_timer_);
      state_ = State::open;
      out_.edge = segment.edge;
      acknowledge();
      raise(kConnected);
      transmit();
      return;
    case State::syn_received:
      if (!accept()) return;
      break;
    case State::open:
      break;
  }
  on_ack(segment);
  if (segment.size > 0 && state_ == State::open) on_data(segment);
  if ((segment.flags & tcp_flag::fin) != 0 && state_ == State::open) on_fin();
}

// The first segment at the other host: there the end begins.
void End::on_syn(const Segment& segment) {
  SimHost& host = *peer_.link_->to;
  network_detail::Link& back = host.network_.link_of(host, *peer_.host_);
  open(host, &back, peer_.remote_, peer_.local_, streams_.next_isn());
  out_.edge = segment.edge;
  const auto found = host.stream_ports_.find(local_);
  if (found == host.stream_ports_.end() || found->second == nullptr) {
    send_reset();
    over(StreamEnd::Kind::refused, {});
    return;
  }
  state_ = State::syn_received;
  SegmentVerdict verdict;
  constexpr std::uint8_t kSynAck = tcp_flag::syn | tcp_flag::ack;
  if (judged(kSynAck, 0, verdict)) post(kSynAck, 0, 0, verdict);
}

// The handshake is complete. False when the connection ended here.
bool End::accept() {
  const auto found = host_->stream_ports_.find(local_);
  if (found == host_->stream_ports_.end() || found->second == nullptr) {
    send_reset();
    over(StreamEnd::Kind::refused, {});
    return false;
  }
  state_ = State::open;
  ++host_->stream_counters_.accepted;
  auto handle = std::make_unique<Handle>(*this);
  handle_ = handle.get();
  found->second->acceptor().on_stream(std::move(handle));
  return state_ == State::open;
}

void End::on_ack(const Segment& segment) {
  out_.acked = std::max(out_.acked, segment.ack);
  out_.edge = std::max(out_.edge, segment.edge);
  transmit();
  if (wants_writable_ && state_ == State::open && room() >= (options_.send_buffer + 2) / 3) {
    wants_writable_ = false;
    raise(kWritable);
  }
  if (handle_ == nullptr) let_go();
}

void End::on_data(const Segment& segment) {
  if (handle_ == nullptr) {  // closed: nobody will ever fetch this
    send_reset();
    over(StreamEnd::Kind::reset, {});
    return;
  }
  BENCH_ASSERT(segment.offset == in_.delivered, "segments arrive in order");
  in_.delivered += segment.size;
  unacknowledged_ += segment.size;
  const std::size_t enough = std::min(options_.receive_window / 4, peer_.options_.send_buffer / 2);
  if (unacknowledged_ >= enough) {
    acknowledge();
  } else if (!ack_timer_.scheduled()) {
    streams_.world().loop().schedule_after(ack_timer_, options_.ack_delay);
  }
  if (armed_) {
    armed_ = false;
    raise(kReadable);
  }
}

void End::on_fin() {
  in_.fin_delivered = true;
  acknowledge();
  if (armed_) {
    armed_ = false;
    end_signalled_ = true;
    raise(kReadable);
  }
  if (handle_ == nullptr) let_go();
}

// ------------------------------------------------------------------------------------- what leaves

void End::transmit() {
  if (state_ != State::open || retransmit_.scheduled()) return;
  SegmentVerdict verdict;
  while (out_.sent < out_.taken && out_.sent < out_.edge) {
    std::size_t size = std::min({mss_, static_cast<std::size_t>(out_.taken - out_.sent), static_cast<std::size_t>(out_.edge - out_.sent)});
    if (!judged(tcp_flag::ack, size, verdict)) return;
    if (verdict.size > 0) size = std::min(size, verdict.size);
    if (verdict.lost == kVanishes) return vanished(size);
    vanished_ = 0;
    const std::uint64_t offset = out_.sent;
    out_.sent += size;
    ++host_->stream_counters_.segments;
    host_->stream_counters_.bytes += size;
    const bool last = out_.sent == out_.taken;
    post(last ? tcp_flag::ack | tcp_flag::psh : tcp_flag::ack, offset, size, verdict);
  }
  if (!out_.fin_queued || out_.fin_sent || out_.sent < out_.taken) return;
  constexpr std::uint8_t kFinAck = tcp_flag::fin | tcp_flag::ack;
  if (!judged(kFinAck, 0, verdict)) return;
  out_.fin_sent = true;
  post(kFinAck, out_.taken, 0, verdict);
}

// The segment is lost, and will be whenever it is sent: TCP repeats it ever more seldom, and then gives up.
void End::vanished(std::size_t size) {
  Segment& shown = streams_.acquire();
  shown.flags = tcp_flag::ack;
  shown.size = size;
  shown.offset = out_.sent;
  shown.ack = ack_position();
  shown.edge = window_edge();
  trace(shown, TraceKind::fault, "lost: above the MTU of the path");
  streams_.release(shown);
  if (vanished_ == kRetransmissionsMax) return over(StreamEnd::Kind::unreachable, "the peer acknowledges nothing: connection timed out");
  const Duration wait = options_.retransmission * (std::int64_t{1} << std::min(vanished_++, kBackoffMax));
  streams_.world().loop().schedule_after(retransmit_, wait);
}

// What the filter says; false when it broke the connection.
bool End::judged(std::uint8_t flags, std::size_t size, SegmentVerdict& verdict) {
  verdict = {};
  if (link_ == nullptr) return true;
  const std::uint64_t ordinal = link_->stream_ordinal++;
  StreamFilter* const filter = link_->stream_filter != nullptr ? link_->stream_filter : host_->network_.stream_filter_;
  if (filter == nullptr) return true;
  verdict = filter->on_segment({link_->name, link_->index, ordinal, streams_.world().now(), local_, remote_, flags, out_.sent, size});
  if (verdict.reset) {
    break_connection();
    return false;
  }
  StreamCounters& counters = host_->stream_counters_;
  counters.lost += verdict.lost == kVanishes ? 1 : verdict.lost;
  if (verdict.delay > Duration{} || verdict.hold > Duration{}) ++counters.delayed;
  return true;
}

void End::post(std::uint8_t flags, std::uint64_t offset, std::size_t size, const SegmentVerdict& verdict) {
  World& world = streams_.world();
  Segment& segment = streams_.acquire();
  segment.to = &peer_;
  segment.flags = flags;
  segment.offset = offset;
  segment.size = size;
  segment.ack = ack_position();
  segment.edge = window_edge();
  segment.repeat = verdict.lost > 0;
  unacknowledged_ = 0;
  if (ack_timer_.scheduled()) world.loop().cancel(ack_timer_);
  if (link_ == nullptr) {
    trace(segment, TraceKind::fault, "dropped: no host has this address");
    streams_.release(segment);
    return;
  }
  const Instant now = world.now();
  Instant sent = now;
  if (link_->options.bandwidth != 0) {
    sent = std::max(now, link_->wire_free) + network_detail::wire_time(size + headers(local_), link_->options.bandwidth);
    link_->wire_free = sent;
  }
  if (verdict.hold > Duration{}) {
    link_->stream_hold = std::max(link_->stream_hold, now + verdict.hold);
  }
  const std::uint32_t times = std::min(verdict.lost, kBackoffMax);
  const Duration again = options_.retransmission * ((std::int64_t{1} << times) - 1);
  out_.clock = segment.arrival = std::max(out_.clock, std::max(sent, link_->stream_hold) + link_->options.latency + verdict.delay + again);
  ++connection_.on_their_way;
  world.loop().fold((static_cast<std::uint64_t>(size) << 32) ^ offset ^ (static_cast<std::uint64_t>(flags) << 56) ^
                    (static_cast<std::uint64_t>(local_.port) << 16) ^ remote_.port);
  if (size > 0) {
    Bytes& room = streams_.gather_room();
    const ByteView bytes = out_.ring.view(offset, size, room);
    for (std::size_t at = 0; at < std::min<std::size_t>(size, 8); ++at) world.loop().fold(bytes[at]);
    if (size >= 8) world.loop().fold(load_le<std::uint64_t>(&bytes[size - 8]));
  }
  if (segment.repeat) {
    out_.clock = out_.clock + Duration::ns(1);  // the others are on the loop before it is sent again
    trace(segment, TraceKind::fault, "lost by filter");
    world.loop().schedule(segment, now + again);
    return;
  }
  trace(segment, TraceKind::packet, verdict.delay > Duration{} ? "delayed by filter" : "");
  world.loop().schedule(segment, segment.arrival);
}

void End::send_again(Segment& segment) {
  segment.repeat = false;
  trace(segment, TraceKind::packet, "sent again");
  streams_.world().loop().schedule(segment, segment.arrival);
}

void End::acknowledge() {
  ++host_->stream_counters_.acks;
  post(tcp_flag::ack, out_.sent + (out_.fin_sent ? 1u : 0u), 0);
}

void End::ack_due() {
  if (state_ == State::open && unacknowledged_ > 0) acknowledge();
}

// Tells a sender that may be waiting of the room that receive() has made, in steps worth a segment.
void End::update_window() {
  const std::size_t window = options_.receive_window;
  const std::uint64_t step = std::max<std::size_t>(std::min(std::max(2 * mss_, window / 4), window / 2), 1);
  if (in_.fin_delivered || in_.read + window < in_.advertised + step) return;
  acknowledge();
}

// The edge that the next segment announces: what the field can say of it, and never less than before.
std::uint64_t End::window_edge() {
  const std::uint64_t open = in_.read + options_.receive_window;
  std::uint64_t window = open - std::min(open, in_.delivered);
  if (state_ == State::open) {
    window = window >> window_shift_ << window_shift_;
  } else {
    window = std::min<std::uint64_t>(window, kWindowField);  // a SYN's is not scaled
  }
  in_.advertised = std::max(in_.advertised, in_.delivered + window);
  return in_.advertised;
}

void End::send_reset() {
  reset_sent_ = true;
  ++host_->stream_counters_.resets;
  post(tcp_flag::rst | tcp_flag::ack, out_.sent + (out_.fin_sent ? 1u : 0u), 0);
}

// As a middlebox does it: a reset to either side, in the name of the other.
void End::break_connection() {
  send_reset();
  if (peer_.state_ != State::none) {
    Segment& shown = streams_.acquire();
    shown.flags = tcp_flag::rst | tcp_flag::ack;
    shown.size = 0;
    shown.offset = peer_.out_.sent + (peer_.out_.fin_sent ? 1u : 0u);
    shown.ack = peer_.ack_position();
    shown.edge = shown.ack;
    peer_.trace(shown, TraceKind::packet, "reset by filter");
    streams_.release(shown);
  }
  over(StreamEnd::Kind::reset, "the connection was reset");
}

void Segment::fire() {
  Connection& connection = to->connection();
  if (repeat) {
    to->peer().send_again(*this);
    return;
  }
  to->arrive(*this);
  streams_.release(*this);
  streams_.landed(connection);
}

// ----------------------------------------------------------------------------------------- the end

void End::over(StreamEnd::Kind kind, std::string text) {
  if (state_ == State::over) return;
  state_ = State::over;
  Loop& loop = streams_.world().loop();
  loop.cancel(ack_timer_);
  loop.cancel(retransmit_);
  loop.cancel(connect_timer_);
  loop.cancel(flush_);
  raised_ &= kReadable;
  if (handle_ != nullptr) {
    why_ = {kind, std::move(text)};
    raise(kEnd);
  }
  let_go();
}

// Gives back the port when the connection is over, and the connection when nobody needs it.
void End::let_go() {
  if (owns_port_ && (state_ == State::over || done())) {
    owns_port_ = false;
    host_->stream_ports_.erase(local_);
  }
  streams_.consider(connection_);
}

void End::connect_due() {
  ++host_->stream_counters_.unreachable;
  over(StreamEnd::Kind::unreachable, fmt::format("no answer from {} within {}", to_string(remote_), to_string(options_.connect_timeout)));
}

void End::raise(std::uint8_t what) {
  raised_ |= what;
  if (handler_ != nullptr && !signal_.scheduled()) {
    streams_.world().loop().schedule_after(signal_, {});
  }
}

// Behind all that arrives at this instant. The handler may let go of the stream in any of these calls.
void End::signal() {
  const auto take = [this](std::uint8_t what) {
    if (handler_ == nullptr || (raised_ & what) == 0) return false;
    raised_ = static_cast<std::uint8_t>(raised_ & ~what);
    return true;
  };
  if (take(kConnected)) handler_->on_connected();
  if (take(kReadable)) handler_->on_readable();
  if (take(kWritable)) handler_->on_writable();
  if (take(kEnd)) {
    end_told_ = true;
    handler_->on_end(why_);
  }
}

void End::flush_due() {
  if (handler_ != nullptr) handler_->on_flush();
}

// --------------------------------------------------------------------------------------- the trace

TcpFacts End::facts(const Segment& segment) const {
  const bool syn = (segment.flags & tcp_flag::syn) != 0;
  TcpFacts facts;
  facts.seq = syn ? isn_ : static_cast<std::uint32_t>(isn_ + 1 + segment.offset);
  facts.flags = segment.flags;
  if ((segment.flags & tcp_flag::ack) != 0) {
    facts.ack = static_cast<std::uint32_t>(peer_.isn_ + 1 + segment.ack);
  }
  const std::uint64_t window = segment.edge - std::min(segment.edge, in_.delivered);
  facts.window = static_cast<std::uint16_t>(std::min<std::uint64_t>(syn ? window : window >> window_shift_, kWindowField));
  if (syn) {
    facts.mss = static_cast<std::uint16_t>(mss_);
    facts.window_shift = window_shift_;
  }
  if ((segment.flags & tcp_flag::rst) != 0) facts.window = 0;
  return facts;
}

void End::trace(const Segment& segment, TraceKind kind, std::string_view text) {
  World& world = streams_.world();
  if (!world.trace().hears_wire()) return;
  const TcpFacts tcp = facts(segment);
  TraceEvent event;
  event.kind = kind;
  event.time = world.now();
  event.actor = host_->name();
  event.label = net::kTcpLabel;
  event.text = text;
  event.bytes = out_.ring.view(segment.offset, segment.size, streams_.gather_room());
  event.source = local_;
  event.destination = remote_;
  event.tcp = &tcp;
  world.trace().emit(event);
}

}  // namespace fb::net::stream_detail
