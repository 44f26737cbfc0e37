// What the objects of one device share.
#pragma once

#include <map>
#include <string>

#include "base/assert.h"
#include "base/ip.h"
#include "sim/core/world.h"
#include "sim/rdma/verbs/owned.h"
#include "sim/rdma/verbs_types.h"

namespace fb::verbs {

class QueuePair;

struct Shared {
  explicit Shared(World& w) : world(w), loop(*w.real_loop()) {}

  /// Null for one that is gone: completions may outlive their queue pair.
  QueuePair* queue_pair(std::uint32_t number) const {
    const auto found = queue_pairs.find(number);
    return found == queue_pairs.end() ? nullptr : found->second;
  }

  World& world;
  RealLoop& loop;
  std::string name;
  IpAddress address;
  Owned<ibv_context> context;
  Owned<rdma_event_channel> channel;
  rdma::DeviceLimits limits;
  std::map<std::uint32_t, QueuePair*> queue_pairs;  // by number
};

/// An error of the surroundings that the interface has no other word for.
[[noreturn]] void throw_problem(const Shared& shared, std::string_view what, int error);

/// From now on the descriptor never makes us wait.
void set_nonblocking(int fd);

}  // namespace fb::verbs
