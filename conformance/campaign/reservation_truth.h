// Which host may hold the Write Exclusive reservation of a namespace, as far as the hosts' own commands tell; and so
// which writes had to be refused, and which had no reason to be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fb::conformance {

class ReservationTruth {
 public:
  using Tick = std::uint64_t;  ///< of the blocks' truth

  explicit ReservationTruth(std::size_t hosts) : hosts_(hosts) {}

  void begin_acquire(std::size_t host, Tick now);
  /// `began`: of this command. One that was not acknowledged may take effect at any time.
  void end_acquire(std::size_t host, bool acknowledged, Tick began, Tick now);
  void begin_release(std::size_t host);
  void end_release(std::size_t host, bool acknowledged, Tick began, Tick now);
  /// Nothing persists: only what is on its way may still become a reservation.
  void power_lost(Tick now);

  /// A write of `host` that began at `began` has succeeded, or was refused for a reservation: why that cannot be.
  std::optional<std::string> check_written(std::size_t host, Tick began) const;
  std::optional<std::string> check_refused(std::size_t host, Tick began) const;

 private:
  struct Host {
    unsigned acquiring = 0;
    bool lost = false;  ///< an acquire without an answer may be executed late
    bool may_hold = false;
    Tick may_until = 0;  ///< when it certainly ceased to
    bool holds = false;
    Tick holds_since = 0;
    unsigned releasing = 0;
    bool release_lost = false;  ///< a release without an answer, likewise
    Tick release_ended = 0;     ///< the last one
    Tick acquire_began = 0;     ///< the last one
  };
  std::vector<Host> hosts_;
};

}  // namespace fb::conformance
