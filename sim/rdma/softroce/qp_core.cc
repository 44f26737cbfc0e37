#include "sim/rdma/softroce/qp_core.h"

#include <algorithm>

#include "sim/rdma/softroce/finer_fault_points.h"

namespace fb::softroce {

MutableBytes QpCore::open(const OutPacket& out) {
  const roce::OpcodeFacts& facts = roce::facts_of(out.opcode);
  const std::size_t pad = (0 - out.payload_bytes) & 3;
  const std::size_t bytes = facts.header_bytes + out.payload_bytes + pad;
  const MutableBytes packet = begin_packet(bytes);
  std::fill_n(packet.begin(), facts.header_bytes, std::uint8_t{0});
  std::fill_n(packet.end() - static_cast<std::ptrdiff_t>(pad), pad, std::uint8_t{0});
  MutableView<roce::Bth> header{packet};
  header.set(roce::bth::opcode, out.opcode)
      .set(roce::bth::padcnt, pad)
      .set(roce::bth::pkey, roce::kDefaultPkey)
      .set(roce::bth::destqp, path.peer_qpn)
      .set(roce::bth::psn, out.psn);
  if (out.solicited) header.set(roce::bth::se, true);
  if (out.ack_request) header.set(roce::bth::ackreq, true);
  if (s.hooks != nullptr) [[unlikely]] {
    if (departs(Departure::solicited_on_every_packet)) header.set(roce::bth::se, true);
    if (departs(Departure::send_wrong_pad_count)) header.set(roce::bth::padcnt, pad ^ 1);
    if (pad > 0 && departs(Departure::send_nonzero_pad)) packet.back() = 0xFF;
  }
  return packet.subspan(roce::Bth::size);
}

namespace {

/// Calls use(piece of memory) for each SGE that the range touches.
template <class Use>
bool for_each_piece(const QpCore& core, std::span<const rdma::Sge> sges, std::uint32_t offset, std::size_t length, rdma::Access access,
                    Use&& use) {
  const bool reverse = departs(core, finer::kSgesInReverse);
  const bool any_domain = departs(core, finer::kSgesOfAnyDomain);
  for (std::size_t i = 0; i < sges.size(); ++i) {
    const rdma::Sge& sge = sges[reverse ? sges.size() - 1 - i : i];
    if (length == 0) return true;
    if (offset >= sge.length) {
      offset -= sge.length;
      continue;
    }
    const std::size_t n = std::min<std::size_t>(length, sge.length - offset);
    const std::uint32_t domain = any_domain ? core.s.memory.domain_of(sge.lkey) : core.s.domain;
    const auto found = core.s.memory.find(domain, sge.lkey, sge.address + offset, n, access);
    if (found.check != KeyCheck::ok) return false;
    use(found.data, n);
    length -= n;
    offset = 0;
  }
  return length == 0;
}

}  // namespace

bool gather_sges(const QpCore& core, std::span<const rdma::Sge> sges, std::uint32_t offset, MutableBytes to) {
  std::uint8_t* at = to.data();
  return for_each_piece(core, sges, offset, to.size(), rdma::Access::none, [&](const std::uint8_t* data, std::size_t n) {
    std::memcpy(at, data, n);
    at += n;
  });
}

bool scatter_sges(const QpCore& core, std::span<const rdma::Sge> sges, std::uint32_t offset, ByteView from) {
  const std::uint8_t* at = from.data();
  return for_each_piece(core, sges, offset, from.size(), rdma::Access::local_write, [&](std::uint8_t* data, std::size_t n) {
    std::memcpy(data, at, n);
    at += n;
  });
}

bool sges_readable(const QpCore& core, std::span<const rdma::Sge> sges, std::uint32_t offset, std::uint32_t length) {
  return for_each_piece(core, sges, offset, length, rdma::Access::none, [](std::uint8_t*, std::size_t) {});
}

}  // namespace fb::softroce
