// The CM exchange: which queue pairs belong together, which PSNs they begin with, who is the host.
#include "conformance/evidence/dissector.h"
#include "conformance/evidence/roce_reader.h"
#include "wire/fabrics/rdma_private_data.h"
#include "wire/rdma/psn.h"

namespace fb::evidence {

namespace {

// The private data of an NVMe host; of anybody else it is nearly always something else.
bool is_nvme(ByteView consumer) {
  const View<fabrics::RdmaRequest> request{consumer};
  if (request.get(fabrics::rdma_request::recfmt) != fabrics::kRdmaRecordFormat) return false;
  if (request.get(fabrics::rdma_request::hrqsize) == 0) return false;
  for (const std::uint8_t byte : consumer.subspan(10, fabrics::RdmaRequest::size - 10)) {
    if (byte != 0) return false;
  }
  return true;
}

}  // namespace

void RoceReader::on_cm(const RocePacketSeen& seen) {
  if (seen.payload.size() != cm::kMadBytes) return;
  const View<cm::MadHeader> header{seen.payload};
  if (header.get(cm::mad::management_class) != cm::kCmClass) return;
  ++dissector_.count().cm;
  const cm::Attribute attribute = header.get(cm::mad::attribute);
  const CmSeen told{seen.at, attribute, seen.payload};
  dissector_.tell<heard::cm>([&](Observer& observer) { observer.on_cm(told); });
  switch (attribute) {
    case cm::Attribute::req:
      return on_req(seen);
    case cm::Attribute::rep:
      return on_rep(seen);
    case cm::Attribute::rej:
    case cm::Attribute::dreq:
    case cm::Attribute::drep:
      return on_end(seen, attribute);
    default:
      return;
  }
}

void RoceReader::on_req(const RocePacketSeen& seen) {
  const auto req = cm::message_of<cm::Req>(seen.payload);
  const std::uint64_t tid = View<cm::MadHeader>{seen.payload}.get(cm::mad::tid);
  RdmaConnection*& known = by_active_id_[{seen.at.from.address, req.get(cm::req::local_comm_id)}];
  if (known != nullptr && known->tid == tid && known->active_qpn == req.get(cm::req::local_qpn)) return;
  if (connections_.size() >= kConnectionsMax) return;
  connections_.push_back(std::make_unique<RdmaConnection>());
  RdmaConnection& made = *connections_.back();
  known = &made;
  made.tid = tid;
  made.active = seen.at.from.address;
  made.passive = seen.at.to.address;
  made.active_comm_id = req.get(cm::req::local_comm_id);
  made.active_qpn = req.get(cm::req::local_qpn);
  made.active_psn = req.get(cm::req::starting_psn);
  made.mtu = roce::mtu_bytes(static_cast<unsigned>(req.get(cm::req::path_mtu)));
  made.reads_active_serves = req.get(cm::req::responder_resources);
  made.reads_active_asks = req.get(cm::req::initiator_depth);
  made.port = cm::port_of(req.get(cm::req::service_id)).value_or(0);
  const auto data = req.get(cm::req::private_data);
  const ByteView consumer = ByteView(data).subspan(cm::IpHeader::size);
  made.nvme = is_nvme(consumer);
  if (made.nvme) made.hsqsize = View<fabrics::RdmaRequest>{consumer}.get(fabrics::rdma_request::hsqsize).raw();
}

void RoceReader::on_rep(const RocePacketSeen& seen) {
  const auto rep = cm::message_of<cm::Rep>(seen.payload);
  const auto found = by_active_id_.find({seen.at.to.address, rep.get(cm::rep::remote_comm_id)});
  if (found == by_active_id_.end() || found->second->passive != seen.at.from.address) return;
  RdmaConnection& connection = *found->second;
  if (connection.replied) return;
  connection.replied = true;
  ++dissector_.count().rdma_connections;
  connection.passive_comm_id = rep.get(cm::rep::local_comm_id);
  connection.passive_qpn = rep.get(cm::rep::local_qpn);
  connection.passive_psn = rep.get(cm::rep::starting_psn);
  connection.reads_passive_serves = rep.get(cm::rep::responder_resources);
  connection.reads_passive_asks = rep.get(cm::rep::initiator_depth);
  RdmaHalf* const to_passive = new_half({connection.passive, connection.passive_qpn});
  RdmaHalf* const to_active = new_half({connection.active, connection.active_qpn});
  if (to_passive == nullptr || to_active == nullptr || to_passive == to_active) return;
  if (connection.nvme) {
    connection.queue = &dissector_.new_queue();
    connection.queue->host = Party::queue_pair(connection.active, connection.active_qpn);
    connection.queue->controller = Party::queue_pair(connection.passive, connection.passive_qpn);
    connection.queue->from_start = true;
    connection.queue->hsqsize = connection.hsqsize;
  }
  // Each side says with which PSN the other one is to begin.
  to_passive->first_psn = connection.passive_psn;
  to_active->first_psn = connection.active_psn;
  for (RdmaHalf* half : {to_passive, to_active}) {
    half->back = half == to_passive ? to_active : to_passive;
    half->connection = &connection;
    half->by_host = half == to_passive;
    half->from = half->back->to;
    half->expected = half->first_psn;
    half->psn_known = true;
    half->adrift = false;
    half->mtu = connection.mtu;
    half->queue = connection.queue;
  }
}

RdmaConnection* RoceReader::connection_of(const IpAddress& a, const IpAddress& b, std::uint32_t id_of_a, std::uint32_t id_of_b) {
  const auto fits = [&](const IpAddress& active, const IpAddress& passive, std::uint32_t active_id,
                        std::uint32_t passive_id) -> RdmaConnection* {
    const auto found = by_active_id_.find({active, active_id});
    if (found == by_active_id_.end() || found->second->passive != passive) return nullptr;
    RdmaConnection* const connection = found->second;
    return !connection->replied || connection->passive_comm_id == passive_id ? connection : nullptr;
  };
  if (RdmaConnection* connection = fits(a, b, id_of_a, id_of_b)) return connection;
  return fits(b, a, id_of_b, id_of_a);
}

void RoceReader::on_end(const RocePacketSeen& seen, cm::Attribute attribute) {
  const auto ids = cm::message_of<cm::Ids>(seen.payload);
  RdmaConnection* const connection =
      connection_of(seen.at.from.address, seen.at.to.address, ids.get(cm::ids::local_comm_id), ids.get(cm::ids::remote_comm_id));
  if (connection == nullptr || connection->queue == nullptr) return;
  // Whoever asks for the end may still be answered; both are silent about the queue from here on.
  if (attribute != cm::Attribute::rej || connection->replied) dissector_.end_queue(seen.at, *connection->queue);
}

}  // namespace fb::evidence
