#include "model/proxy/passage.h"

#include <algorithm>
#include <optional>

#include "wire/nvme/cqe.h"
#include "wire/nvme/opcodes.h"
#include "wire/nvme/sqe.h"
#include "wire/tcp/pdu.h"

namespace fb::proxy {

using fault::Decision;
using fault::Kind;
using tcp::PduType;

namespace {

constexpr std::size_t kSqe = decltype(tcp::capsule_cmd::sqe)::offset;
constexpr std::size_t kCqe = decltype(tcp::capsule_resp::cqe)::offset;

struct Spot {
  std::size_t at, size;
};

bool is(ByteView pdu, PduType type) { return pdu[0] == static_cast<std::uint8_t>(type); }

bool is_data(ByteView pdu) { return is(pdu, PduType::h2c_data) || is(pdu, PduType::c2h_data) || is(pdu, PduType::r2t); }

/// A command of NVM sets with a first block.
bool has_blocks(ByteView pdu) {
  const std::uint8_t opcode = pdu[kSqe];
  return opcode == static_cast<std::uint8_t>(nvme::IoOpcode::read) || opcode == static_cast<std::uint8_t>(nvme::IoOpcode::write) ||
         opcode == static_cast<std::uint8_t>(nvme::IoOpcode::compare);
}

/// Where the field lies that this kind changes; nothing where the PDU has none.
std::optional<Spot> field_of(Kind kind, ByteView pdu, bool of_admin_queue) {
  const bool command = is(pdu, PduType::capsule_cmd), response = is(pdu, PduType::capsule_resp), data = is_data(pdu);
  // Fabrics commands make the connection itself.
  if (command && pdu[kSqe] == nvme::kFabricsOpcode) return std::nullopt;
  switch (kind) {
    case Kind::change_cid:
      if (command) return Spot{kSqe + decltype(nvme::sqe::cid)::offset, 2};
      if (response) return Spot{kCqe + decltype(nvme::cqe::cid)::offset, 2};
      return data ? std::optional(Spot{decltype(tcp::data_pdu::cccid)::offset, 2}) : std::nullopt;
    case Kind::change_ttag:
      return data ? std::optional(Spot{decltype(tcp::data_pdu::ttag)::offset, 2}) : std::nullopt;
    case Kind::change_offset:
      return data ? std::optional(Spot{decltype(tcp::data_pdu::offset)::offset, 4}) : std::nullopt;
    case Kind::change_length:
      return data ? std::optional(Spot{decltype(tcp::data_pdu::length)::offset, 4}) : std::nullopt;
    case Kind::change_sqhd:
      return response ? std::optional(Spot{kCqe + decltype(nvme::cqe::sqhd)::offset, 2}) : std::nullopt;
    case Kind::change_nsid:
      return command && !of_admin_queue ? std::optional(Spot{kSqe + decltype(nvme::sqe::nsid)::offset, 4}) : std::nullopt;
    case Kind::change_lba:
      return command && !of_admin_queue && has_blocks(pdu) ? std::optional(Spot{kSqe + decltype(nvme::sqe::cdw10)::offset, 8})
                                                           : std::nullopt;
    default:
      return std::nullopt;
  }
}

void add(Bytes& pdu, const Spot& spot, std::uint64_t amount) {
  for (std::size_t i = 0; i < spot.size; ++i) {
    amount += pdu[spot.at + i];
    pdu[spot.at + i] = static_cast<std::uint8_t>(amount);
    amount >>= 8;
  }
  tcp::refresh_digests(pdu);
}

/// Whole enough to look into.
bool is_whole(ByteView pdu) {
  if (pdu.size() < tcp::CommonHeader::size) return false;
  const tcp::PduShape* const shape = tcp::shape_of(pdu[0]);
  return shape != nullptr && pdu.size() >= shape->hlen;
}

bool is_exchange(ByteView pdu) { return is(pdu, PduType::ic_req) || is(pdu, PduType::ic_resp); }

bool is_keep_alive(ByteView pdu, bool of_admin_queue) {
  return of_admin_queue && is(pdu, PduType::capsule_cmd) && pdu[kSqe] == static_cast<std::uint8_t>(nvme::AdminOpcode::keep_alive);
}

}  // namespace

Passage::Verdict Passage::on_pdu(Bytes& pdu, bool of_admin_queue, Instant now) {
  for (const Decision& decision : point_.next()) waiting_.push_back(decision);
  Verdict verdict;
  if ((waiting_.empty() && now >= starved_until_) || !is_whole(pdu) || is_exchange(pdu)) return verdict;
  std::erase_if(waiting_, [&](const Decision& decision) {
    const Duration amount = Duration::ns(static_cast<std::int64_t>(decision.amount));
    switch (decision.kind) {
      case Kind::pdu_late:
        verdict.late = std::max(verdict.late, amount);
        break;
      case Kind::pdu_swap:
        verdict.swap = true;
        break;
      case Kind::half_close:
        verdict.half_close = true;
        break;
      case Kind::r2t_late:
      case Kind::response_late:
        if (!is(pdu, decision.kind == Kind::r2t_late ? PduType::r2t : PduType::capsule_resp)) return false;
        verdict.late = std::max(verdict.late, amount);
        break;
      case Kind::keep_alive_lost:
        if (!is_keep_alive(pdu, of_admin_queue)) return false;
        starved_until_ = std::max(starved_until_, now + amount);
        break;
      default: {
        const auto spot = field_of(decision.kind, pdu, of_admin_queue);
        if (!spot) return false;
        add(pdu, *spot, decision.amount);
      }
    }
    point_.struck(decision);
    return true;
  });
  verdict.lost = now < starved_until_ && is_keep_alive(pdu, of_admin_queue);
  return verdict;
}

}  // namespace fb::proxy
