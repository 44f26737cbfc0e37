#include "model/proxy/faults.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/fabrics/connect.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/opcodes.h"
#include "wire/nvme/sqe.h"
#include "wire/nvme/status_codes.h"
#include "wire/tcp/pdu.h"

namespace fb::proxy {

using fault::Decision;
using fault::Kind;
using fault::Site;

namespace {

nvme::Status status_of(const Decision& decision) {
  return nvme::Status::make(static_cast<unsigned>(decision.amount >> 8), static_cast<unsigned>(decision.amount & 0xFF));
}

bool is_reachable(const fault::KindFacts& facts, bool rdma) {
  switch (facts.site) {
    case Site::packet:
      return rdma;
    case Site::segment:
    case Site::pdu:
    case Site::admin:
    case Site::completion:
    case Site::media:
    case Site::passage:
      return !rdma;
    case Site::admission:
      return !rdma && facts.kind != Kind::fatal;
    default:
      return false;
  }
}

/// Why not, in words.
std::string_view obstacle_of(Site site) {
  switch (site) {
    case Site::packet:
      return "is for datagrams (NVMe/RDMA)";
    case Site::segment:
    case Site::pdu:
    case Site::passage:
      return "is for TCP connections (NVMe/TCP)";
    case Site::receive:
    case Site::key:
      return "is for an RDMA device";
    case Site::frame:
      return "is for an MCTP bus";
    case Site::step:
      return "is something that a host or a controller does itself";
    default:
      return "happens inside a controller";
  }
}

Bytes response_with(std::uint16_t cid, nvme::Status status, bool digest) {
  nvme::Cqe cqe;
  cqe.set(nvme::cqe::cid, cid).set(nvme::cqe::status, status);
  Record<tcp::CapsuleResp> response;
  response.set(tcp::pdu::type, tcp::PduType::capsule_resp).set(tcp::capsule_resp::cqe, cqe.bytes());
  return tcp::build_pdu(response.bytes(), {}, digest, false);
}

/// The command that a PDU of a controller completes.
struct Completed {
  std::uint16_t cid = 0;
  bool by_data = false;  ///< the last C2HData stands for the response
};

std::optional<Completed> completed_by(ByteView pdu) {
  if (pdu.size() >= tcp::CapsuleResp::size && pdu[0] == static_cast<std::uint8_t>(tcp::PduType::capsule_resp)) {
    const View<nvme::CqeLayout> cqe{View<tcp::CapsuleResp>{pdu}.get(tcp::capsule_resp::cqe)};
    return Completed{cqe.get(nvme::cqe::cid), false};
  }
  if (pdu.size() >= tcp::DataPdu::size && pdu[0] == static_cast<std::uint8_t>(tcp::PduType::c2h_data)) {
    const View<tcp::DataPdu> data{pdu};
    if ((data.get(tcp::pdu::flags) & tcp::pdu_flags::success) != 0) return Completed{data.get(tcp::data_pdu::cccid), true};
  }
  return std::nullopt;
}

/// A C2HData that leaves the completion to a response; gives whether header digests are in use.
bool without_success(Bytes& pdu) {
  pdu[1] = static_cast<std::uint8_t>(pdu[1] & ~tcp::pdu_flags::success);
  tcp::refresh_digests(pdu);
  return (pdu[1] & tcp::pdu_flags::hdgstf) != 0;
}

void change_status(Bytes& response, nvme::Status status) {
  nvme::Cqe cqe{View<tcp::CapsuleResp>{response}.get(tcp::capsule_resp::cqe)};
  cqe.set(nvme::cqe::status, status);
  std::ranges::copy(cqe.bytes(), response.begin() + decltype(tcp::capsule_resp::cqe)::offset);
  tcp::refresh_digests(response);
}

}  // namespace

std::vector<fault::Place> places_of_proxy(std::string_view transport) {
  if (transport == fabrics::kRdma) return {{Site::packet, "host->target"}, {Site::packet, "target->host"}};
  return {{Site::segment, "host->target"}, {Site::segment, "target->host"}, {Site::pdu, "host"},
          {Site::pdu, "target"},           {Site::admission, {}},           {Site::admin, {}},
          {Site::completion, {}},          {Site::media, "namespace"},      {Site::passage, "host"},
          {Site::passage, "target"}};
}

Result<void> reaches(const fault::Plan& plan, std::string_view transport) {
  const bool rdma = transport == fabrics::kRdma;
  for (const fault::Rule& rule : plan.rules) {
    const fault::KindFacts& facts = fault::facts_of(rule.kind);
    if (is_reachable(facts, rdma)) continue;
    const std::string at = plan.source.empty() ? "" : fmt::format("{}:{}: ", plan.source, rule.line);
    const std::string_view reached = rdma ? "drop, duplicate, delay, corrupt, forge, truncate, partition, hold, throttle and mtu"
                                          : "segment_*, pdu_*, r2t_late, response_late, keep_alive_lost, half_close, change_*, status, "
                                            "slow, admin_*, withhold, twice, disconnect, media_error and write_fault";
    return Failure{Problem{fmt::format("{}a proxy for {} cannot reach '{}': it {}; it reaches {}", at, rdma ? "NVMe/RDMA" : "NVMe/TCP",
                                       facts.name, obstacle_of(facts.site), reached)}};
  }
  return fault::fits(plan, places_of_proxy(transport));
}

FaultSites::FaultSites(fault::Points& points)
    : network(points),
      by_host(points, "host"),
      by_controller(points, "target"),
      from_host(points, "host"),
      from_controller(points, "target"),
      io(points.at({Site::admission, {}})),
      admin(points.at({Site::admin, {}})),
      completion(points.at({Site::completion, {}})),
      media(points.at({Site::media, "namespace"})) {}

fault::Point& CommandFaults::point_of(const Decision& decision) {
  return decision.place.site == Site::media ? sites_.media : decision.place.site == Site::admin ? sites_.admin : sites_.io;
}

Duration CommandFaults::on_command(ByteView bytes) {
  const View<nvme::SqeLayout> sqe{bytes};
  const std::uint8_t opcode = sqe.get(nvme::sqe::opcode);
  if (opcode == nvme::kFabricsOpcode) {
    const bool connects = bytes[4] == static_cast<std::uint8_t>(nvme::FabricsType::connect);
    if (connects) qid_ = View<fabrics::ConnectSqe>{bytes}.get(fabrics::connect_sqe::qid);
    return {};
  }
  Struck struck{.opcode = opcode, .status = {}, .by = {}, .withheld = {}};
  Duration late;
  if (qid_.value_or(0) != 0) {
    late = on_io(sqe, struck);
  } else {
    on_admin(struck);
  }
  outstanding_[sqe.get(nvme::sqe::cid)] = struck;
  return late;
}

Duration CommandFaults::on_io(const View<nvme::SqeLayout>& sqe, Struck& struck) {
  Duration late;
  if (sqe.get(nvme::sqe::fuse) != nvme::Fuse::normal) return late;
  for (const Decision& decision : sites_.io.next()) {
    if (decision.kind == Kind::status) {
      struck.status = status_of(decision);
      struck.by = decision;
    } else if (decision.kind == Kind::slow) {
      late = late + Duration::ns(static_cast<std::int64_t>(decision.amount));
      sites_.io.struck(decision);
    }
  }
  on_media(struck.opcode, struck);
  return late;
}

void CommandFaults::on_media(std::uint8_t opcode, Struck& struck) {
  const bool reads = opcode == static_cast<std::uint8_t>(nvme::IoOpcode::read);
  const bool writes = opcode == static_cast<std::uint8_t>(nvme::IoOpcode::write);
  if (!reads && !writes) return;
  for (const Decision& decision : sites_.media.next()) {
    if (decision.kind != (reads ? Kind::media_error : Kind::write_fault)) continue;
    struck.status = reads ? nvme::sc::unrecovered_read_error : nvme::sc::write_fault;
    struck.by = decision;
  }
}

void CommandFaults::on_admin(Struck& struck) {
  // An event that is lost has no remedy: nobody waits for it.
  if (struck.opcode == static_cast<std::uint8_t>(nvme::AdminOpcode::async_event_request)) return;
  for (const Decision& decision : sites_.admin.next()) {
    if (decision.kind == Kind::admin_status) {
      struck.status = status_of(decision);
      struck.by = decision;
    } else if (decision.kind == Kind::admin_withhold) {
      struck.withheld = decision;
    }
  }
}

bool CommandFaults::on_answer(Bytes pdu, std::vector<Bytes>& out) {
  const auto completed = completed_by(pdu);
  const auto found = completed ? outstanding_.find(completed->cid) : outstanding_.end();
  if (found == outstanding_.end()) {
    out.push_back(std::move(pdu));
    return true;
  }
  const Struck struck = found->second;
  outstanding_.erase(found);
  bool withhold = struck.withheld.has_value(), twice = false;
  if (withhold) sites_.admin.struck(*struck.withheld);
  if (qid_.value_or(0) != 0) {
    for (const Decision& decision : sites_.completion.next()) {
      sites_.completion.struck(decision);
      if (decision.kind == Kind::disconnect) return false;
      withhold = withhold || decision.kind == Kind::withhold;
      twice = twice || decision.kind == Kind::twice;
    }
  }
  Bytes response;
  if (completed->by_data) {
    if (!struck.status && !withhold && !twice) {
      out.push_back(std::move(pdu));
      return true;
    }
    response = response_with(completed->cid, {}, without_success(pdu));
    out.push_back(std::move(pdu));
  } else {
    response = std::move(pdu);
  }
  const View<nvme::CqeLayout> cqe{View<tcp::CapsuleResp>{response}.get(tcp::capsule_resp::cqe)};
  if (struck.status && cqe.get(nvme::cqe::status).ok() && !withhold) {
    change_status(response, *struck.status);
    point_of(*struck.by).struck(*struck.by);
  }
  if (withhold) return true;
  if (twice) out.push_back(response);
  out.push_back(std::move(response));
  return true;
}

}  // namespace fb::proxy
