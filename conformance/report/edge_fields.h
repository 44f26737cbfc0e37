// The fields whose edges are counted: X(id, where it stands, its declaration). Fields of a bit or two have no
// edges worth a count.
#pragma once

#include "wire/fabrics/connect.h"
#include "wire/fabrics/property.h"
#include "wire/mctp/packet.h"
#include "wire/mi/message.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sqe.h"
#include "wire/rdma/cm_messages.h"
#include "wire/rdma/headers.h"
#include "wire/tcp/pdu.h"

#define FB_EDGE_FIELDS(X)                                                 \
  X(command_cid, "NVMe command", nvme::sqe::cid)                          \
  X(command_nsid, "NVMe command", nvme::sqe::nsid)                        \
  X(completion_cid, "NVMe completion", nvme::cqe::cid)                    \
  X(completion_sqhd, "NVMe completion", nvme::cqe::sqhd)                  \
  X(connect_recfmt, "Connect", fabrics::connect_sqe::recfmt)              \
  X(connect_qid, "Connect", fabrics::connect_sqe::qid)                    \
  X(connect_sqsize, "Connect", fabrics::connect_sqe::sqsize)              \
  X(connect_cattr, "Connect", fabrics::connect_sqe::cattr)                \
  X(connect_kato, "Connect", fabrics::connect_sqe::kato)                  \
  X(connect_cntlid, "Connect", fabrics::connect_data::cntlid)             \
  X(property_ofst, "Property Get and Set", fabrics::property_sqe::ofst)   \
  X(property_value, "Property Get and Set", fabrics::property_sqe::value) \
  X(rw_slba, "Read, Write and their kin", nvme::rw_sqe::slba)             \
  X(rw_nlb, "Read, Write and their kin", nvme::rw_sqe::nlb)               \
  X(rw_ilbrt, "Read, Write and their kin", nvme::rw_sqe::ilbrt)           \
  X(rw_lbat, "Read, Write and their kin", nvme::rw_sqe::lbat)             \
  X(rw_lbatm, "Read, Write and their kin", nvme::rw_sqe::lbatm)           \
  X(dsm_nr, "Dataset Management", nvme::dsm_sqe::nr)                      \
  X(admin_cdw10, "Admin command", nvme::sqe::cdw10)                       \
  X(admin_cdw11, "Admin command", nvme::sqe::cdw11)                       \
  X(admin_cdw12, "Admin command", nvme::sqe::cdw12)                       \
  X(bth_pkey, "RoCEv2 packet", roce::bth::pkey)                           \
  X(bth_destqp, "RoCEv2 packet", roce::bth::destqp)                       \
  X(bth_psn, "RoCEv2 packet", roce::bth::psn)                             \
  X(reth_va, "RDMA READ and WRITE", roce::reth::va)                       \
  X(reth_rkey, "RDMA READ and WRITE", roce::reth::rkey)                   \
  X(reth_dmalen, "RDMA READ and WRITE", roce::reth::dmalen)               \
  X(aeth_syndrome, "RDMA acknowledgement", roce::aeth::syndrome)          \
  X(aeth_msn, "RDMA acknowledgement", roce::aeth::msn)                    \
  X(ieth_rkey, "SEND with invalidate", roce::ieth::rkey)                  \
  X(cm_responder_resources, "CM REQ", cm::req::responder_resources)       \
  X(cm_initiator_depth, "CM REQ", cm::req::initiator_depth)               \
  X(cm_starting_psn, "CM REQ", cm::req::starting_psn)                     \
  X(cm_retry_count, "CM REQ", cm::req::retry_count)                       \
  X(cm_rnr_retry_count, "CM REQ", cm::req::rnr_retry_count)               \
  X(cm_ack_timeout, "CM REQ", cm::req::primary_ack_timeout)               \
  X(cm_response_timeout, "CM REQ", cm::req::remote_cm_timeout)            \
  X(cm_rep_responder_resources, "CM REP", cm::rep::responder_resources)   \
  X(cm_rep_initiator_depth, "CM REP", cm::rep::initiator_depth)           \
  X(cm_rep_starting_psn, "CM REP", cm::rep::starting_psn)                 \
  X(ic_req_pfv, "ICReq", tcp::ic_req::pfv)                                \
  X(ic_req_hpda, "ICReq", tcp::ic_req::hpda)                              \
  X(ic_req_maxr2t, "ICReq", tcp::ic_req::maxr2t)                          \
  X(ic_resp_pfv, "ICResp", tcp::ic_resp::pfv)                             \
  X(ic_resp_cpda, "ICResp", tcp::ic_resp::cpda)                           \
  X(ic_resp_maxh2cdata, "ICResp", tcp::ic_resp::maxh2cdata)               \
  X(pdu_hlen, "NVMe/TCP PDU", tcp::pdu::hlen)                             \
  X(pdu_pdo, "NVMe/TCP PDU", tcp::pdu::pdo)                               \
  X(pdu_plen, "NVMe/TCP PDU", tcp::pdu::plen)                             \
  X(data_cccid, "H2CData, C2HData and R2T", tcp::data_pdu::cccid)         \
  X(data_ttag, "H2CData, C2HData and R2T", tcp::data_pdu::ttag)           \
  X(data_offset, "H2CData, C2HData and R2T", tcp::data_pdu::offset)       \
  X(data_length, "H2CData, C2HData and R2T", tcp::data_pdu::length)       \
  X(mctp_destination, "MCTP packet", mctp::packet::destination)           \
  X(mctp_source, "MCTP packet", mctp::packet::source)                     \
  X(mctp_sequence, "MCTP packet", mctp::packet::sequence)                 \
  X(mctp_tag, "MCTP packet", mctp::packet::tag)                           \
  X(mi_opcode, "NVMe-MI command", mi::request::opcode)                    \
  X(mi_nmd0, "NVMe-MI command", mi::mi_request::nmd0)                     \
  X(mi_nmd1, "NVMe-MI command", mi::mi_request::nmd1)

namespace fb::conformance {

enum class EdgeFieldId : std::uint8_t {
#define FB_EDGE_ID(id, where, field) id,
  FB_EDGE_FIELDS(FB_EDGE_ID)
#undef FB_EDGE_ID
      count
};
inline constexpr std::size_t kEdgeFields = static_cast<std::size_t>(EdgeFieldId::count);

}  // namespace fb::conformance
