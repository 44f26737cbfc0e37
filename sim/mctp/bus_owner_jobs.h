// What a bus owner works on: one job at a time, and inside it visits to addresses side by side.
#pragma once

#include <deque>
#include <utility>

#include "sim/mctp/bus_owner.h"

namespace fb::mctp {

enum class JobKind : std::uint8_t { enumerate, discover, learn, update };

struct BusOwner::Job {
  JobKind kind = JobKind::enumerate;
  std::deque<PhysicalAddress> addresses;
  Assigning assigning = Assigning::always;
  Eid wanted = kNullEid;  // what the one address is to get
  std::deque<Eid> eids;   // behind a bridge, still to be asked
  Eid bridge = kNullEid;
  int rounds = 0;
  std::vector<PhysicalAddress> seen;  // who has answered a discovery
  bool changed = false;               // the tables are not what they were
  std::deque<std::pair<Eid, Bytes>> updates;
  EnumerationReport report;
  Then then;
};

struct BusOwner::Visit {
  PhysicalAddress address;
  Eid behind = kNullEid;
  KnownEndpoint found;
  Eid offered = kNullEid;  // taken from the pool for it
  std::uint8_t pool_wanted = 0;
};

}  // namespace fb::mctp
