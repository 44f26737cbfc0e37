#include "conformance/evidence/sight.h"

namespace fb::evidence {

std::string column_of(const Party& party) {
  switch (party.kind) {
    case Party::Kind::ip:
    case Party::Kind::queue_pair:
      return to_string(party.address);
    case Party::Kind::mctp:
      return "EID " + std::to_string(party.number);
    case Party::Kind::nobody:
      break;
  }
  return "?";
}

std::string to_string(const Party& party) {
  switch (party.kind) {
    case Party::Kind::ip:
      if (party.number == 0) return to_string(party.address);
      return to_string(Endpoint{party.address, static_cast<std::uint16_t>(party.number)});
    case Party::Kind::queue_pair:
      return to_string(party.address) + " QP " + std::to_string(party.number);
    case Party::Kind::mctp:
    case Party::Kind::nobody:
      break;
  }
  return column_of(party);
}

}  // namespace fb::evidence
