#include "wire/rdma/syndrome.h"

namespace fb::roce {

std::string_view name_of_syndrome(std::uint8_t syndrome) {
  switch (kind_of_syndrome(syndrome)) {
    case SyndromeKind::ack:
      return "ACK";
    case SyndromeKind::rnr_nak:
      return "RNR NAK";
    case SyndromeKind::reserved:
      return "reserved syndrome";
    case SyndromeKind::nak:
      break;
  }
  switch (static_cast<NakCode>(value_of_syndrome(syndrome))) {
    case NakCode::psn_sequence_error:
      return "NAK PSN sequence error";
    case NakCode::invalid_request:
      return "NAK invalid request";
    case NakCode::remote_access_error:
      return "NAK remote access error";
    case NakCode::remote_operational_error:
      return "NAK remote operational error";
    case NakCode::invalid_rd_request:
      return "NAK invalid RD request";
  }
  return "NAK reserved code";
}

}  // namespace fb::roce
