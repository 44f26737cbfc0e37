// Connection requests that a careless host sends.
#include "model/deviations/deviation.h"

namespace fb::deviations {

DEVIATION(host_request_other_qid, "fabrics.host.request.io-queue", Product::host,
          "names another queue in the connection request than in Connect", Departs{"rdma.host.request.qid"});
DEVIATION(host_request_other_size, "fabrics.host.request.io-queue", Product::host,
          "names another queue size in the connection request than in Connect", Departs{"rdma.host.request.hsqsize"});

}  // namespace fb::deviations
