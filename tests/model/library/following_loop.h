// The loop of a world inside a library: its time is what the bench says.
#pragma once

#include "sim/core/loop.h"

namespace fb::library {

class FollowingLoop final : public Loop {
 public:
  Instant now() const override { return now_; }
  bool is_virtual() const override { return true; }
  Step step(Instant limit) override {
    if (next_deadline() > limit || next_deadline() > now_) return Step::limit;
    run_first();
    return Step::ran;
  }
  void follow(Instant now) { now_ = now; }
  Instant next() const { return next_deadline(); }

 private:
  Instant now_;
};

}  // namespace fb::library
