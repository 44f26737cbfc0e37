// Plain memory for data in flight, in powers of two, shared by the connections of a fabric; what lies
// idle beyond a bound is given back.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/bytes.h"

namespace fb::transport {

class StagingPool {
 public:
  static constexpr std::size_t kSmallest = 512;
  static constexpr std::size_t kKeepBytes = 16u << 20;

  /// At least `bytes`, arbitrary content. The span covers what was asked for; give it back whole.
  MutableBytes acquire(std::size_t bytes);
  void release(MutableBytes memory);

  std::size_t bytes_used() const { return used_; }

 private:
  static std::size_t class_of(std::size_t bytes);

  std::array<std::vector<std::unique_ptr<std::uint8_t[]>>, 24> idle_;
  std::size_t idle_bytes_ = 0;
  std::size_t used_ = 0;
};

}  // namespace fb::transport
