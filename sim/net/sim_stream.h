// TCP between simulated hosts. Not TCP's algorithms but what they show to a user and to a capture:
// handshake, refusal, segments with the link's latency and bandwidth, a receive window, a bounded send
// buffer, half-close and reset. Segments arrive in order; a lost one is late by the retransmission
// timeout, with everything behind it.
//
// As with real TCP, closing a stream with bytes that were not received resets it, and so do bytes that
// arrive after close().
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace fb::net {

/// Of a host; connections take them when they begin.
struct StreamOptions {
  std::size_t send_buffer = 256 << 10;     ///< bytes that send() took and nobody has acknowledged
  std::size_t receive_window = 512 << 10;  ///< bytes that arrived and receive() has not fetched
  Duration connect_timeout = Duration::s(3);
  Duration retransmission = Duration::ms(200);  ///< what the loss of a segment costs; doubles
  Duration ack_delay = Duration::us(20);        ///< how long an acknowledgement waits for data to ride on
};

/// What a host's streams did; sums of both sides in the network's.
struct StreamCounters {
  std::uint64_t connections = 0;  ///< begun by connect()
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;  ///< connections that nobody listened for, at the side that asked
  std::uint64_t unreachable = 0;
  std::uint64_t segments = 0;  ///< sent, with data
  std::uint64_t bytes = 0;     ///< in them
  std::uint64_t acks = 0;      ///< sent, without data
  std::uint64_t resets = 0;    ///< sent
  std::uint64_t lost = 0;      ///< lost by a filter and sent again
  std::uint64_t delayed = 0;   ///< late or held back by a filter

  StreamCounters& operator+=(const StreamCounters& other);
};

}  // namespace fb::net
