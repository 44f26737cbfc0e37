// Packets that a careless device takes.
#include "model/deviations/deviation.h"
#include "sim/rdma/softroce/fault_points.h"

namespace fb::deviations {

DEVIATION(rdma_takes_bad_icrc, "rdma.icrc.bad-dropped", Product::rdma, "executes packets with a wrong ICRC",
          departs(softroce::Departure::accept_bad_icrc));

}  // namespace fb::deviations
