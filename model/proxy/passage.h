// Faults that only somebody in between can cause, on PDUs that one side sends: late, in another order, with a changed field, or
// the last ones of their direction.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "sim/fault/points.h"

namespace fb::proxy {

class Passage {
 public:
  Passage(fault::Points& points, std::string side) : point_(points.at({fault::Site::passage, std::move(side)})) {}

  struct Verdict {
    Duration late;            ///< what follows passes meanwhile
    bool swap = false;        ///< it passes behind the next
    bool half_close = false;  ///< nothing of its direction passes behind it
    bool lost = false;
  };
  /// Asked about each PDU of this side, of all connections; changes its fields in place.
  Verdict on_pdu(Bytes& pdu, bool of_admin_queue, Instant now);

 private:
  fault::Point& point_;
  std::vector<fault::Decision> waiting_;  ///< for a PDU of their kind
  Instant starved_until_;
};

}  // namespace fb::proxy
