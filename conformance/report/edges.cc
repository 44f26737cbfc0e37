#include "conformance/report/edges.h"

#include <fmt/format.h>

namespace fb::conformance {

namespace {

using Id = EdgeFieldId;

constexpr EdgeFieldFacts kFacts[] = {
#define FB_EDGE_FACTS(id, where, field) {where, decltype(field)::name, decltype(field)::width},
    FB_EDGE_FIELDS(FB_EDGE_FACTS)
#undef FB_EDGE_FACTS
};

bool has_lba(std::uint8_t opcode) {
  switch (static_cast<nvme::IoOpcode>(opcode)) {
    case nvme::IoOpcode::write:
    case nvme::IoOpcode::read:
    case nvme::IoOpcode::write_uncorrectable:
    case nvme::IoOpcode::compare:
    case nvme::IoOpcode::write_zeroes:
    case nvme::IoOpcode::verify:
      return true;
    default:
      return false;
  }
}

}  // namespace

// Fields are named by their declarations in edge_fields.h, so that id and offset cannot disagree.
#define FB_EDGE_SEE(id, where, field) \
  case Id::id:                        \
    counts.see(Id::id, field, at);    \
    break;
static void see(EdgeCounts& counts, Id id, const std::uint8_t* at) {
  switch (id) {
    FB_EDGE_FIELDS(FB_EDGE_SEE)
    case Id::count:
      break;
  }
}
#undef FB_EDGE_SEE

static void see_all(EdgeCounts& counts, const std::uint8_t* at, std::initializer_list<Id> ids) {
  for (const Id id : ids) see(counts, id, at);
}

void EdgeCounts::add(const EdgeCounts& other) {
  for (std::size_t field = 0; field < kEdgeFields; ++field) {
    for (std::size_t edge = 0; edge < kEdgesOfField; ++edge) counts_[field][edge] += other.counts_[field][edge];
  }
}

void EdgeObserver::on_roce_packet(const evidence::RocePacketSeen& seen) {
  see_all(counts_, seen.packet.data(), {Id::bth_pkey, Id::bth_destqp, Id::bth_psn});
  if (seen.reth != nullptr) see_all(counts_, seen.reth, {Id::reth_va, Id::reth_rkey, Id::reth_dmalen});
  if (seen.aeth != nullptr) see_all(counts_, seen.aeth, {Id::aeth_syndrome, Id::aeth_msn});
  if (seen.ieth != nullptr) see(counts_, Id::ieth_rkey, seen.ieth);
}

void EdgeObserver::on_cm(const evidence::CmSeen& seen) {
  if (seen.mad.size() < cm::kMadBytes) return;
  const std::uint8_t* const message = seen.mad.data() + cm::kMadHeaderBytes;
  if (seen.attribute == cm::Attribute::req) {
    see_all(counts_, message,
            {Id::cm_responder_resources, Id::cm_initiator_depth, Id::cm_starting_psn, Id::cm_retry_count, Id::cm_rnr_retry_count,
             Id::cm_ack_timeout, Id::cm_response_timeout});
  } else if (seen.attribute == cm::Attribute::rep) {
    see_all(counts_, message, {Id::cm_rep_responder_resources, Id::cm_rep_initiator_depth, Id::cm_rep_starting_psn});
  }
}

void EdgeObserver::on_pdu(const evidence::PduSeen& seen) {
  if (seen.pdu.size() < tcp::kCommonHeaderBytes) return;
  see_all(counts_, seen.pdu.data(), {Id::pdu_hlen, Id::pdu_pdo, Id::pdu_plen});
  const tcp::PduShape* const shape = tcp::shape_of(static_cast<std::uint8_t>(seen.type()));
  if (shape == nullptr || seen.pdu.size() < shape->hlen) return;
  switch (seen.type()) {
    case tcp::PduType::ic_req:
      return see_all(counts_, seen.pdu.data(), {Id::ic_req_pfv, Id::ic_req_hpda, Id::ic_req_maxr2t});
    case tcp::PduType::ic_resp:
      return see_all(counts_, seen.pdu.data(), {Id::ic_resp_pfv, Id::ic_resp_cpda, Id::ic_resp_maxh2cdata});
    case tcp::PduType::h2c_data:
    case tcp::PduType::c2h_data:
    case tcp::PduType::r2t:
      return see_all(counts_, seen.pdu.data(), {Id::data_cccid, Id::data_ttag, Id::data_offset, Id::data_length});
    default:
      return;
  }
}

void EdgeObserver::on_command(const evidence::CommandSeen& seen) {
  if (seen.sqe.size() < nvme::kSqeSize) return;
  const std::uint8_t* const sqe = seen.sqe.data();
  const std::uint8_t opcode = sqe[0];
  see(counts_, Id::command_cid, sqe);
  if (opcode == nvme::kFabricsOpcode) {
    switch (static_cast<nvme::FabricsType>(sqe[4])) {
      case nvme::FabricsType::connect:
        see_all(counts_, sqe, {Id::connect_recfmt, Id::connect_qid, Id::connect_sqsize, Id::connect_cattr, Id::connect_kato});
        if (seen.data.size() >= fabrics::ConnectData::size) see(counts_, Id::connect_cntlid, seen.data.data());
        return;
      case nvme::FabricsType::property_set:
        see(counts_, Id::property_value, sqe);
        [[fallthrough]];
      case nvme::FabricsType::property_get:
        return see(counts_, Id::property_ofst, sqe);
      default:
        return;
    }
  }
  see(counts_, Id::command_nsid, sqe);
  if (!seen.queue.qid) return;
  if (*seen.queue.qid == 0) {
    see_all(counts_, sqe, {Id::admin_cdw10, Id::admin_cdw11, Id::admin_cdw12});
  } else if (has_lba(opcode)) {
    see_all(counts_, sqe, {Id::rw_slba, Id::rw_nlb, Id::rw_ilbrt, Id::rw_lbat, Id::rw_lbatm});
  } else if (opcode == static_cast<std::uint8_t>(nvme::IoOpcode::dataset_management)) {
    see(counts_, Id::dsm_nr, sqe);
  }
}

void EdgeObserver::on_completion(const evidence::CompletionSeen& seen) {
  if (seen.cqe.size() >= 16) see_all(counts_, seen.cqe.data(), {Id::completion_cid, Id::completion_sqhd});
}

void EdgeObserver::on_mctp_packet(const evidence::MctpPacketSeen& seen) {
  if (seen.packet.size() < mctp::kHeaderSize) return;
  see_all(counts_, seen.packet.data(), {Id::mctp_destination, Id::mctp_source, Id::mctp_sequence, Id::mctp_tag});
}

void EdgeObserver::on_mctp_message(const evidence::MctpMessageSeen& seen) {
  if (seen.type != mctp::MessageType::nvme_mi || seen.message.size() < mi::MiRequest::size) return;
  const View<mi::MessageHeader> header{seen.message};
  if (header.get(mi::header::ror) || header.get(mi::header::nmimt) != mi::MessageKind::mi_command) return;
  see_all(counts_, seen.message.data(), {Id::mi_opcode, Id::mi_nmd0, Id::mi_nmd1});
}

EdgeFieldFacts facts_of(EdgeFieldId id) { return kFacts[static_cast<std::size_t>(id)]; }

std::string edge_text(unsigned bits, std::size_t edge) {
  if (edge <= 1) return std::to_string(edge);
  const std::uint64_t max = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  return edge == 2 ? fmt::format("max - 1 ({:x}h)", max - 1) : fmt::format("max ({:x}h)", max);
}

}  // namespace fb::conformance
