// PSKs that authentication with secure channel concatenation has made, in a PskStore for as long as they
// live: ten minutes, unless told otherwise (TCP transport 1.0, 3.6.1.4).
#pragma once

#include <deque>

#include "model/auth/policy.h"
#include "model/auth/psk.h"
#include "sim/core/world.h"

namespace fb::auth {

class GeneratedPsks {
 public:
  static constexpr Duration kLifetime = Duration::s(600);

  GeneratedPsks(World& world, PskStore& store, Duration lifetime = kLifetime);
  ~GeneratedPsks();
  GeneratedPsks(const GeneratedPsks&) = delete;
  GeneratedPsks& operator=(const GeneratedPsks&) = delete;

  /// Takes the place of an earlier one of the same host and subsystem. Fails where no cipher suite has
  /// the hash (SHA-512).
  Result<void> add(const GeneratedPsk& made);
  std::size_t alive() const { return entries_.size(); }
  bool keeps_for_ever = false;  ///< a deviation

 private:
  struct Entry {
    std::string identity;
    std::string hostnqn;
    std::string subnqn;
    Instant until;
  };
  void expire();
  void arm();

  World& world_;
  PskStore& store_;
  Duration lifetime_;
  std::deque<Entry> entries_;  ///< oldest first
  Timer<GeneratedPsks, &GeneratedPsks::expire> timer_{"auth.psk.lifetime", *this};
};

}  // namespace fb::auth
