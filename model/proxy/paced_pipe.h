// One direction of a connection under the faults of TCP segments. A socket does not let its user touch segments, so that here
// bytes are cut into what segments would carry, and a fault is what TCP makes of it: time, or the end.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "sim/core/world.h"
#include "sim/net/stream_filter.h"

namespace fb::proxy {

/// A direction of the way between the hosts and the controllers, which all connections share.
struct Lane {
  std::string name;           ///< "host->target", as schedules call it
  std::size_t index = 0;      ///< dense
  std::uint64_t ordinal = 0;  ///< segments so far
  Instant held_until = {};    ///< nothing leaves before
};

class PacedPipe {
 public:
  class Outlet {
   public:
    /// Takes bytes as far as there is room; less than all: PacedPipe::on_writable() is to be called.
    virtual std::size_t send(ByteView bytes) = 0;
    virtual void finish() = 0;
    /// Both ends of the connection are to see a reset.
    virtual void reset() = 0;

   protected:
    ~Outlet() = default;
  };

  PacedPipe(World& world, net::StreamFilter& faults, Lane& lane, const Endpoint& source, const Endpoint& destination, Outlet& outlet)
      : world_(world), faults_(faults), lane_(lane), source_(source), destination_(destination), outlet_(outlet) {}

  void push(ByteView bytes);
  void finish();
  void on_writable() { pump(); }
  std::size_t queued() const { return queued_; }

 private:
  enum class Then : std::uint8_t { nothing, finish, reset };
  struct Piece {
    Bytes bytes;
    std::size_t sent = 0;
    Instant due;
    bool alone = false;  ///< it is not joined with what follows
    Then then = Then::nothing;
  };
  net::SegmentVerdict ask(std::size_t size, std::uint8_t flags);
  Piece& piece_due(Instant due, bool alone);
  void pump();
  bool leave(Piece& piece);

  World& world_;
  net::StreamFilter& faults_;
  Lane& lane_;
  Endpoint source_, destination_;
  Outlet& outlet_;
  std::deque<Piece> pieces_;
  std::size_t queued_ = 0;
  std::uint64_t offset_ = 0;
  Instant last_due_;
  bool ended_ = false;
  Timer<PacedPipe, &PacedPipe::pump> timer_{"proxy.pipe", *this};
};

}  // namespace fb::proxy
