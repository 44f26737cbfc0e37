// What a script does to links by hand: cut them, drop the next packets, look at each. What passes goes on to the
// faults of a plan.
#pragma once

#include <pybind11/pybind11.h>

#include <map>
#include <string>

#include "bindings/box.h"
#include "sim/net/link_filter.h"
#include "sim/net/stream_filter.h"

namespace fb::python {

class LinkControl final : public net::LinkFilter, public net::StreamFilter {
 public:
  explicit LinkControl(Box& box) : box_(box) {}
  /// Both may be null.
  void set_next(net::LinkFilter* packets, net::StreamFilter* segments) { next_ = packets, next_stream_ = segments; }

  /// One direction, by its name "host->target".
  struct Direction {
    Instant cut_until;       ///< nothing passes
    std::uint64_t drop = 0;  ///< so many packets more
    std::uint64_t dropped = 0;
    Instant reset_until;  ///< connections break at their next segment
    py::object watch;     ///< called with each packet
  };
  Direction& direction(const std::string& name) { return directions_[name]; }

  net::Verdict on_packet(net::PacketContext& packet) override;
  net::SegmentVerdict on_segment(const net::SegmentContext& segment) override;

 private:
  void ask(Direction& direction, net::PacketContext& packet, net::Verdict& verdict);
  Box& box_;
  net::LinkFilter* next_ = nullptr;
  net::StreamFilter* next_stream_ = nullptr;
  std::map<std::string, Direction, std::less<>> directions_;
};

}  // namespace fb::python
