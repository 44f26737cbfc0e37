#include "model/proxy/paced_pipe.h"

#include <algorithm>

namespace fb::proxy {

namespace {

constexpr std::size_t kSegmentBytes = 1460;              // as on simulated links
constexpr Duration kRetransmission = Duration::ms(200);  // for the first loss; doubles with each
constexpr Duration kBetweenPieces = Duration::us(200);   // so that their receiver sees two
constexpr std::uint32_t kLossesMax = 10;

Duration stall_of(std::uint32_t lost) { return kRetransmission * ((std::int64_t{1} << std::min(lost, kLossesMax)) - 1); }

}  // namespace

net::SegmentVerdict PacedPipe::ask(std::size_t size, std::uint8_t flags) {
  net::SegmentContext context;
  context.link = lane_.name;
  context.link_index = lane_.index;
  context.ordinal = lane_.ordinal++;
  context.now = world_.now();
  context.source = source_;
  context.destination = destination_;
  context.flags = flags;
  context.offset = offset_;
  context.size = size;
  return faults_.on_segment(context);
}

PacedPipe::Piece& PacedPipe::piece_due(Instant due, bool alone) {
  const bool joins = !alone && !pieces_.empty() && pieces_.back().due == due && !pieces_.back().alone;
  if (!joins) pieces_.push_back({.bytes = {}, .sent = 0, .due = due, .alone = alone, .then = Then::nothing});
  return pieces_.back();
}

void PacedPipe::push(ByteView bytes) {
  while (!bytes.empty() && !ended_) {
    const std::size_t size = std::min(bytes.size(), kSegmentBytes);
    const net::SegmentVerdict verdict = ask(size, tcp_flag::ack | tcp_flag::psh);
    const bool cut = verdict.size != 0 && verdict.size < size;
    const std::size_t taken = cut ? verdict.size : size;
    last_due_ = std::max(last_due_, world_.now() + verdict.delay + stall_of(verdict.lost));
    if (verdict.hold > Duration{}) lane_.held_until = std::max(lane_.held_until, world_.now() + verdict.hold);
    Piece& piece = piece_due(last_due_, cut);
    if (verdict.reset) {
      piece.then = Then::reset;
      ended_ = true;
      break;
    }
    piece.bytes.insert(piece.bytes.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
    if (cut) last_due_ = last_due_ + kBetweenPieces;
    bytes = bytes.subspan(taken);
    offset_ += taken;
    queued_ += taken;
  }
  pump();
}

void PacedPipe::finish() {
  if (ended_) return;
  ended_ = true;
  const net::SegmentVerdict verdict = ask(0, tcp_flag::ack | tcp_flag::fin);
  last_due_ = std::max(last_due_, world_.now() + verdict.delay + stall_of(verdict.lost));
  if (verdict.hold > Duration{}) lane_.held_until = std::max(lane_.held_until, world_.now() + verdict.hold);
  piece_due(last_due_, true).then = verdict.reset ? Then::reset : Then::finish;
  pump();
}

void PacedPipe::pump() {
  while (!pieces_.empty()) {
    Piece& piece = pieces_.front();
    const Instant due = std::max(piece.due, lane_.held_until);
    if (due > world_.now()) {
      world_.loop().schedule(timer_, due);
      return;
    }
    if (!leave(piece)) return;
  }
}

/// False: there is no room, or nothing more is to leave.
bool PacedPipe::leave(Piece& piece) {
  const ByteView rest = ByteView(piece.bytes).subspan(piece.sent);
  const std::size_t sent = rest.empty() ? 0 : outlet_.send(rest);
  piece.sent += sent;
  queued_ -= sent;
  if (sent < rest.size()) return false;
  const Then then = piece.then;
  pieces_.pop_front();
  if (then == Then::nothing) return true;
  pieces_.clear();
  queued_ = 0;
  then == Then::finish ? outlet_.finish() : outlet_.reset();
  return false;
}

}  // namespace fb::proxy
