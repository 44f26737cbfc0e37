#include "wire/fabrics/rdma_private_data.h"

namespace fb::fabrics {

std::string_view name_of(RdmaRejectStatus status) {
  switch (status) {
    case RdmaRejectStatus::invalid_private_data_length:
      return "Invalid Private Data Length";
    case RdmaRejectStatus::invalid_recfmt:
      return "Invalid RECFMT";
    case RdmaRejectStatus::invalid_qid:
      return "Invalid Queue ID";
    case RdmaRejectStatus::invalid_hsqsize:
      return "Invalid HSQSIZE";
    case RdmaRejectStatus::invalid_hrqsize:
      return "Invalid HRQSIZE";
    case RdmaRejectStatus::no_resources:
      return "No RDMA Resources";
    case RdmaRejectStatus::invalid_ird:
      return "Invalid IRD";
    case RdmaRejectStatus::invalid_ord:
      return "Invalid ORD";
    case RdmaRejectStatus::invalid_cntlid:
      return "Invalid CNTLID";
  }
  return "Reserved";
}

}  // namespace fb::fabrics
