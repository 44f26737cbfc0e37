// Where challenges, exponents, sequence numbers and transaction identifiers come from. In virtual time
// from the world's random streams, so that the same seed gives the same bytes; in real time from the
// system's generator.
#pragma once

#include <memory>
#include <string_view>

#include "model/auth/algorithms.h"
#include "sim/core/world.h"

namespace fb::auth {

class NonceSource {
 public:
  virtual ~NonceSource() = default;
  virtual void fill(MutableBytes bytes) = 0;

  Bytes bytes(std::size_t count);
  /// A Diffie-Hellman exponent of 256 bits.
  Bytes exponent();
  /// Random to begin with, then counting up; never 0.
  std::uint32_t sequence_number();
  std::uint16_t transaction();

 private:
  std::uint32_t sequence_ = 0;
  std::uint16_t transaction_ = 0;
  bool transaction_begun_ = false;
};

/// For one product of a world; `name` must be its own, or two products draw the same.
std::unique_ptr<NonceSource> make_nonces(World& world, std::string_view name);
/// Outside of any world: the system's generator.
std::unique_ptr<NonceSource> system_nonces();

}  // namespace fb::auth
