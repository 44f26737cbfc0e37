#include "conformance/evidence/said.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "wire/fabrics/describe.h"
#include "wire/fabrics/transports.h"
#include "wire/mctp/control.h"
#include "wire/mi/message.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sqe.h"
#include "wire/rdma/cm_messages.h"
#include "wire/rdma/psn.h"
#include "wire/rdma/syndrome.h"
#include "wire/tcp/kickstart.h"

namespace fb::evidence {

namespace {

void field(Said& said, std::string_view name, std::string value) { said.fields.push_back({std::string(name), std::move(value)}); }
template <std::integral T>
void field(Said& said, std::string_view name, T value) {
  field(said, name, std::to_string(value));
}

// "Connect qid=0 cid=3": the name, then words with an equals sign; the former is the label's, the latter are fields.
void fields_of(Said& said, std::string_view text) {
  while (!text.empty()) {
    std::size_t end = text.find(' ');
    const std::size_t bracket = text.find('(');
    if (bracket < end) {
      const std::size_t close = text.find(')', bracket);
      end = close == std::string_view::npos ? text.size() : text.find(' ', close);
    }
    const std::string_view word = text.substr(0, end);
    const std::size_t equals = word.find('=');
    const std::size_t open = word.find('(');
    if (equals != std::string_view::npos && (open == std::string_view::npos || equals < open)) {
      field(said, word.substr(0, equals), std::string(word.substr(equals + 1)));
    } else if (open != std::string_view::npos && open > 0) {
      field(said, word.substr(0, open), std::string(word.substr(open)));
    }
    text = end >= text.size() ? std::string_view{} : text.substr(end + 1);
  }
}

// "MI request slot=0h Read NVMe-MI Data Structure nmd0=0h (20 bytes)" without its fields and its length: what is asked
// and what is answered stand behind the slot.
std::string without_fields(std::string_view text) {
  text = text.substr(0, text.rfind(" ("));
  std::string label;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (word.find('=') == std::string_view::npos) {
      if (!label.empty()) label += ' ';
      label += word;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return label;
}

std::string_view words_of(TraceKind kind) {
  switch (kind) {
    case TraceKind::fault:
      return "fault";
    case TraceKind::state:
      return "state";
    case TraceKind::verdict:
      return "verdict";
    default:
      return "note";
  }
}

// Of the admin commands that are many: which structure, page or feature it is about.
std::string which(ByteView sqe) {
  using nvme::AdminOpcode;
  std::string_view name;
  switch (static_cast<AdminOpcode>(sqe[0])) {
    case AdminOpcode::identify:
      name = "CNS";
      break;
    case AdminOpcode::get_log_page:
      name = "LID";
      break;
    case AdminOpcode::get_features:
    case AdminOpcode::set_features:
      name = "FID";
      break;
    default:
      return {};
  }
  static_assert(nvme::identify_sqe::cns.offset == nvme::get_log_sqe::lid.offset);
  static_assert(nvme::features_sqe::fid.offset == nvme::get_log_sqe::lid.offset);
  return fmt::format(" {}={:02X}h", name, View<nvme::GetLogPageSqe>{sqe}.get(nvme::get_log_sqe::lid));
}

std::string command_label(ByteView sqe, bool admin) {
  std::string label(fabrics::command_name(sqe, admin));
  const View<nvme::SqeLayout> common{sqe};
  if (!admin && (sqe[0] == 1 || sqe[0] == 2)) {
    const View<nvme::ReadWriteSqe> rw{sqe};
    label += fmt::format(" SLBA={} NLB={}", rw.get(nvme::rw_sqe::slba), rw.get(nvme::rw_sqe::nlb).raw() + 1u);
  }
  if (admin) label += which(sqe);
  return label + fmt::format(" CID={}", common.get(nvme::sqe::cid));
}

/// Before Connect it is not known which queue a connection is for.
void queue_field(Said& said, const Queue& queue) {
  if (queue.qid) field(said, "queue", *queue.qid == 0 ? "admin" : "I/O " + std::to_string(*queue.qid));
}

}  // namespace

Said* SaidList::add(const Sight& at, std::string_view layer, std::string label) {
  if (said_.size() >= options_.entries_max) {
    ++left_out_;
    return nullptr;
  }
  Said& made = said_.emplace_back();
  made.time = at.time;
  made.packet = at.packet;
  made.from = column_of(at.from);
  made.to = column_of(at.to);
  if (made.from == made.to) tell_apart(made, at);
  made.actor = at.actor();
  made.layer = layer;
  made.label = std::move(label);
  made.struck = at.struck;
  return &made;
}

// Both ends have one address: the product is on this machine. Then a column stands for a role, or for an address with its port.
void SaidList::tell_apart(Said& said, const Sight& at) const {
  const bool from_listener = listeners_.count(at.from) != 0, to_listener = listeners_.count(at.to) != 0;
  if (from_listener == to_listener) {
    said.from = to_string(at.from);
    said.to = to_string(at.to);
    return;
  }
  const auto named = [](const Party& party, bool listens) {
    return listens ? "controller " + to_string(party) : "host " + column_of(party);
  };
  said.from = named(at.from, from_listener);
  said.to = named(at.to, to_listener);
}

Said* SaidList::last_of(const Sight& at, std::string_view layer) {
  if (said_.empty() || said_.back().packet != at.packet || said_.back().layer != layer) return nullptr;
  return &said_.back();
}

void SaidList::on_roce_packet(const RocePacketSeen& seen) {
  if (seen.facts.kind == roce::OpcodeKind::datagram && seen.payload.size() == cm::kMadBytes) return;  // told as CM
  const bool plain_ack = seen.facts.kind == roce::OpcodeKind::acknowledge && seen.aeth != nullptr &&
                         roce::kind_of_syndrome(*seen.aeth) == roce::SyndromeKind::ack;
  if (plain_ack && !options_.acknowledgements) return;
  std::string label(seen.facts.known() ? seen.facts.name : "unknown opcode");
  if (seen.aeth != nullptr && seen.facts.kind == roce::OpcodeKind::acknowledge) label = roce::name_of_syndrome(*seen.aeth);
  label += fmt::format(" PSN={}", seen.psn());
  if (seen.order == PsnOrder::repeated && seen.at.genuine()) label += " (again)";
  Said* const made = add(seen.at, fabrics::kRdma, std::move(label));
  if (made == nullptr) return;
  field(*made, "opcode", std::string(seen.facts.known() ? seen.facts.name : "unknown"));
  field(*made, "destination QP", seen.bth.get(roce::bth::destqp));
  field(*made, "PSN", seen.psn());
  if (seen.bth.get(roce::bth::ackreq)) field(*made, "AckReq", 1);
  if (seen.facts.payload) field(*made, "payload", seen.payload.size());
  if (seen.reth != nullptr) {
    const View<roce::Reth> reth{ByteView{seen.reth, roce::Reth::size}};
    field(*made, "VA", fmt::format("{:#x}", reth.get(roce::reth::va)));
    field(*made, "R_Key", fmt::format("{:#x}", reth.get(roce::reth::rkey)));
    field(*made, "DMA length", reth.get(roce::reth::dmalen));
  }
  if (seen.aeth != nullptr) {
    const View<roce::Aeth> aeth{ByteView{seen.aeth, roce::Aeth::size}};
    field(*made, "syndrome", std::string(roce::name_of_syndrome(*seen.aeth)));
    field(*made, "MSN", aeth.get(roce::aeth::msn));
  }
  if (seen.ieth != nullptr) field(*made, "invalidates", fmt::format("{:#x}", load_be<std::uint32_t>(seen.ieth)));
  if (!seen.icrc_good) field(*made, "ICRC", "wrong");
}

void SaidList::on_rdma_message(const RdmaMessageSeen& seen) {
  message_packet_ = seen.at.packet;
  Said* const packet = last_of(seen.at, fabrics::kRdma);
  if (packet == nullptr) return;
  field(*packet, "message", fmt::format("{} bytes from PSN {}", seen.length, seen.first_psn));
}

void SaidList::on_cm(const CmSeen& seen) {
  Said* const made = add(seen.at, "cm", std::string(cm::name_of(seen.attribute)));
  if (made != nullptr) fields_of(*made, cm::describe_mad(seen.mad));
}

void SaidList::on_segment(const SegmentSeen& seen) {
  const auto has = [&](std::uint8_t flag) { return (seen.tcp.flags & flag) != 0; };
  std::string label;
  if (has(tcp_flag::syn)) listeners_.insert(has(tcp_flag::ack) ? seen.at.from : seen.at.to);
  if (has(tcp_flag::syn)) label = has(tcp_flag::ack) ? "SYN ACK" : "SYN";
  if (has(tcp_flag::fin)) label = "FIN";
  if (has(tcp_flag::rst)) label = "RST";
  if (label.empty()) {
    if (!options_.segments && seen.at.struck.empty()) return;
    label = fmt::format("segment of {} bytes", seen.bytes);
  }
  Said* const made = add(seen.at, fabrics::kTcp, std::move(label));
  if (made == nullptr) return;
  field(*made, "from port", seen.at.from.number);
  field(*made, "to port", seen.at.to.number);
  field(*made, "SEQ", seen.tcp.seq);
  field(*made, "ACK", seen.tcp.ack);
  field(*made, "bytes", seen.bytes);
}

void SaidList::on_pdu(const PduSeen& seen) {
  listeners_.insert(seen.flow.controller);
  const std::string words = tcp::describe_pdu(seen.header);
  const std::size_t first = words.find(" ");
  std::string label = seen.broken ? "PDU that cannot be framed" : words.substr(0, std::min(first, words.size()));
  if (tcp::shape_of(seen.pdu[0]) == nullptr) label = words.substr(0, words.find(" plen="));
  if (tcp::is_kickstart(seen.pdu[0])) label = tcp::is_kickstart_request(seen.pdu[0]) ? "KDReq" : "KDResp";
  Said* const made = add(seen.at, fabrics::kTcp, std::move(label));
  if (made == nullptr) return;
  fields_of(*made, words);
  if (seen.header_digest()) field(*made, "header digest", "yes");
  if (seen.data_digest()) field(*made, "data digest", "yes");
  if (seen.data_bytes != 0) field(*made, "data", seen.data_bytes);
  queue_field(*made, *seen.flow.queue);
}

// A capsule is told by the packet or PDU that carried it: its words take over the label.
void SaidList::on_command(const CommandSeen& seen) {
  const bool admin = seen.queue.qid.value_or(0) == 0;
  Said* made = last_of(seen.at, seen.queue.tcp ? fabrics::kTcp : fabrics::kRdma);
  const std::string label = command_label(seen.sqe, admin);
  if (made == nullptr) {
    made = add(seen.at, "nvme", label);
  } else {
    made->label = (seen.queue.tcp ? "CapsuleCmd " : "SEND ") + label;
    made->layer = "nvme";
  }
  if (made == nullptr) return;
  field(*made, "command", std::string(fabrics::command_name(seen.sqe, admin)));
  fields_of(*made, fabrics::describe_command(seen.sqe, admin));
  if (!seen.data.empty()) field(*made, "in capsule", seen.data.size());
  if (!seen.queue.tcp) queue_field(*made, seen.queue);
}

void SaidList::on_completion(const CompletionSeen& seen) {
  const View<nvme::CqeLayout> cqe{seen.cqe};
  const nvme::Status status = seen.status();
  const std::string said = status.ok() ? "Success" : nvme::to_string(status);
  const std::string label = fmt::format("{} CID={}", said, cqe.get(nvme::cqe::cid));
  Said* made = last_of(seen.at, seen.queue.tcp ? fabrics::kTcp : fabrics::kRdma);
  if (made == nullptr) {
    made = add(seen.at, "nvme", label);
  } else {
    made->label = (seen.queue.tcp ? "CapsuleResp " : "SEND ") + label;
    made->layer = "nvme";
  }
  if (made == nullptr) return;
  field(*made, "status", said);
  field(*made, "cid", cqe.get(nvme::cqe::cid));
  field(*made, "sqhd", cqe.get(nvme::cqe::sqhd));
  field(*made, "dw0", fmt::format("{:#x}", cqe.get(nvme::cqe::dw0)));
  if (cqe.get(nvme::cqe::dw1) != 0) field(*made, "dw1", fmt::format("{:#x}", cqe.get(nvme::cqe::dw1)));
  if (!seen.queue.tcp) queue_field(*made, seen.queue);
}

void SaidList::on_mctp_packet(const MctpPacketSeen& seen) {
  const auto& header = seen.header;
  const bool som = header.get(mctp::packet::som), eom = header.get(mctp::packet::eom);
  std::string_view part = "middle";
  if (som && eom) part = "single";
  if (som && !eom) part = "first";
  if (!som && eom) part = "last";
  Said* const made = add(seen.at, "mctp",
                         fmt::format("{} packet SEQ={} TAG={}{}", part, header.get(mctp::packet::sequence), header.get(mctp::packet::tag),
                                     header.get(mctp::packet::tag_owner) ? " TO" : ""));
  if (made == nullptr) return;
  field(*made, "bus", seen.at.from.bus);
  field(*made, "source EID", header.get(mctp::packet::source));
  field(*made, "destination EID", header.get(mctp::packet::destination));
  field(*made, "version", header.get(mctp::packet::version));
  field(*made, "SOM", som ? 1 : 0);
  field(*made, "EOM", eom ? 1 : 0);
  field(*made, "sequence", header.get(mctp::packet::sequence));
  field(*made, "tag", header.get(mctp::packet::tag));
  field(*made, "tag owner", header.get(mctp::packet::tag_owner) ? 1 : 0);
  field(*made, "payload", seen.packet.size() - mctp::kHeaderSize);
}

void SaidList::on_mctp_message(const MctpMessageSeen& seen) {
  std::string words, label;
  std::string_view layer = "mctp";
  if (seen.type == mctp::MessageType::nvme_mi) {
    words = mi::describe(seen.message);
    label = without_fields(words);
    layer = "mi";
  } else if (seen.type == mctp::MessageType::control) {
    words = "Control " + mctp::control::describe_message(seen.message);
    // Up to the first field; what stands alone in front names the message.
    std::size_t end = words.find('=');
    if (end != std::string::npos) end = words.rfind(' ', end);
    label = words.substr(0, end);
  } else {
    label = words = fmt::format("message of type {:02X}h", static_cast<unsigned>(seen.type));
  }
  Said* made = last_of(seen.at, "mctp");
  if (made == nullptr) {
    made = add(seen.at, layer, std::move(label));
  } else {
    made->label = std::move(label);
    made->layer = layer;
  }
  if (made == nullptr) return;
  fields_of(*made, words);
  field(*made, "message bytes", seen.message.size());
  field(*made, "packets", seen.packets);
}

void SaidList::on_words(const WordsSeen& seen) {
  if (said_.size() >= options_.entries_max) {
    ++left_out_;
    return;
  }
  Said& made = said_.emplace_back();
  made.time = seen.time;
  made.packet = seen.packet;
  made.from = made.actor = seen.actor;
  made.layer = words_of(seen.kind);
  made.label = seen.text.empty() ? std::string(seen.label) : std::string(seen.text);
  if (!seen.label.empty()) field(made, "what", std::string(seen.label));
}

}  // namespace fb::evidence
