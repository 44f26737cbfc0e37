// What a careless connection manager answers to requests.
#include "model/deviations/deviation.h"
#include "sim/rdma/softroce/cm_fault_points.h"

namespace fb::deviations {

DEVIATION(cm_no_listener_other_reason, "cm.req.no-listener", Product::cm, "rejects a request that nobody listens for with another reason",
          Departs{softroce::cm_departure::kNoListenerReason});
DEVIATION(cm_no_listener_silent, "cm.req.no-listener", Product::cm, "does not answer a request that nobody listens for",
          Departs{softroce::cm_departure::kNoListenerSilent});

}  // namespace fb::deviations
