// A datagram host whose packets pass a filter both ways, as those of a simulated link do: the faults of a plan between an engine
// of ours and somebody's product, without a third machine.
//
// The world's trace shows what the other end hears and says: packets behind the filter, and packets before it.
#pragma once

#include <string>

#include "sim/core/world.h"
#include "sim/net/datagram.h"
#include "sim/net/link_filter.h"

namespace fb::net {

struct FilteredHostOptions {
  std::string out, in;        ///< names of the two directions, for the filter: "host->target"
  std::string hears, speaks;  ///< actors in the trace: of the packets that leave, and of those that arrive
};

class FilteredHost final : public DatagramHost {
 public:
  /// `inner` sends every datagram with the same IP facts, IpFacts{}: on a machine, without segmentation offload.
  FilteredHost(World& world, DatagramHost& inner, FilteredHostOptions options)
      : world_(world), inner_(inner), options_(std::move(options)) {}

  /// Null: everything passes. The filter outlives the ports, or is taken off.
  void set_filter(LinkFilter* filter) { filter_ = filter; }
  Result<std::unique_ptr<DatagramPort>> open(const Endpoint& local) override;

 private:
  friend class FilteredPort;
  World& world_;
  DatagramHost& inner_;
  FilteredHostOptions options_;
  LinkFilter* filter_ = nullptr;
  std::uint64_t sent_ = 0, received_ = 0;
};

}  // namespace fb::net
