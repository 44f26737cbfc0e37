// Asynchronous Event Requests of one controller that are open side by side.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "conformance/runner/controller_bench.h"
#include "model/host/commands.h"

namespace fb::conformance {

/// Which of several requests an event completes is the controller's choice (NVMe Base 2.3, 5.2.2), so they are waited for
/// together.
class EventRequests {
 public:
  EventRequests(ControllerBench& bench, RawAssociation& association, std::size_t count) : bench_(&bench) {
    for (std::size_t i = 0; i < count; ++i) open_.push_back(association.admin().send(host::async_event_request()));
  }

  /// The reply to the request that was completed first of those that are open; nothing when none is within `limit`.
  std::optional<host::RawReply> next(Duration limit) {
    const auto settled = [this] {
      for (std::size_t i = 0; i < open_.size(); ++i) {
        if (open_[i].settled()) return i;
      }
      return open_.size();
    };
    bench_->world().run_until([&] { return settled() < open_.size(); }, limit);
    const std::size_t at = settled();
    if (at == open_.size()) return std::nullopt;
    auto reply = open_[at].wait();
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));
    return reply;
  }

 private:
  ControllerBench* bench_;
  std::vector<Op<host::RawReply>> open_;
};

}  // namespace fb::conformance
