// Deterministic random numbers. Streams are derived from (seed, name), so that a new consumer never
// shifts the draws of the others. No floating point: chances are ratios.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace fb {

/// 64-bit FNV-1a; the same on every machine and compiler.
constexpr std::uint64_t hash_name(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : name) {
    hash ^= static_cast<std::uint8_t>(c);
    hash *= 0x100000001B3u;
  }
  return hash;
}

/// One step of splitmix64: a bijective mix of 64 bits.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// xoshiro256**, seeded by splitmix64.
class Rng {
 public:
  explicit constexpr Rng(std::uint64_t seed) {
    for (auto& word : state_) {
      seed += 0x9E3779B97F4A7C15u;
      word = mix64(seed);
    }
  }
  /// The stream that belongs to `name` under `seed`.
  constexpr Rng(std::uint64_t seed, std::string_view name) : Rng(mix64(seed) ^ hash_name(name)) {}

  constexpr std::uint64_t next() {
    const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  /// Uniform in [0, bound). bound > 0.
  constexpr std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t limit = ~std::uint64_t{0} - (~std::uint64_t{0} % bound + 1) % bound;
    std::uint64_t draw = next();
    while (draw > limit) draw = next();
    return draw % bound;
  }

  /// Uniform in [low, high], both included.
  constexpr std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + below(high - low + 1); }

  /// True in `numerator` of `denominator` draws.
  constexpr bool chance(std::uint64_t numerator, std::uint64_t denominator) { return below(denominator) < numerator; }

  void fill(MutableBytes bytes) {
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(next() >> 56);
  }

 private:
  static constexpr std::uint64_t rotate(std::uint64_t x, int k) { return x << k | x >> (64 - k); }
  std::uint64_t state_[4] = {};
};

}  // namespace fb
