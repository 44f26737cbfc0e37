// Data of commands over NVMe/TCP: R2T, H2CData, C2HData, SUCCESS.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "conformance/monitors/by_cid.h"
#include "conformance/monitors/judge.h"
#include "conformance/monitors/per_index.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sqe.h"

namespace fb::monitors {

namespace {

using nvme::DataDirection;
using nvme::SglDescriptor;
using nvme::SglType;
using tcp::PduType;
namespace flag = tcp::pdu_flags;

constexpr std::size_t kReservedTail = 20;

class TcpData final : public Judge {
 public:
  using Judge::Judge;
  unsigned hears() const override { return heard::tcp_capsules | heard::data_pdus; }

  void on_command(const CommandSeen& seen) override {
    if (!seen.queue.certain()) return;
    const View<nvme::SqeLayout> sqe{seen.sqe};
    const std::uint16_t cid = sqe.get(nvme::sqe::cid);
    State& state = state_of(seen.queue);
    state.succeeded.remove(cid);
    Transfer& made = state.open.put(cid);
    made.direction = nvme::direction_of(seen.sqe[0] == nvme::kFabricsOpcode ? seen.sqe[4] : seen.sqe[0]);
    made.brings_data = always_brings_data(seen);
    const SglDescriptor sgl = SglDescriptor::parse(sqe.get(nvme::sqe::sgl1));
    made.length = sgl.length;
    made.in_capsule = sgl.type_byte() == SglDescriptor::in_capsule(0, 0).type_byte();
    made.by_transport = sgl.type_byte() == SglDescriptor::transport(0).type_byte();
    if (made.in_capsule || made.by_transport) judged(Rule::tcp_capsule_data);
    if (made.in_capsule && sgl.address + sgl.length != seen.data.size()) {
      say(Rule::tcp_capsule_data, seen.at, seen.queue,
          fmt::format("command {} has {} bytes in its capsule, its SGL says {} from {}", cid, seen.data.size(), sgl.length, sgl.address));
    } else if (made.by_transport && !seen.data.empty()) {
      say(Rule::tcp_capsule_data, seen.at, seen.queue,
          fmt::format("command {} has {} bytes in its capsule, its SGL says that they come later", cid, seen.data.size()));
    }
  }

  void on_completion(const CompletionSeen& seen) override {
    if (!seen.queue.certain()) return;
    State& state = state_of(seen.queue);
    const std::uint16_t cid = View<nvme::CqeLayout>{seen.cqe}.get(nvme::cqe::cid);
    judged(Rule::tcp_success_alone);
    if (state.succeeded.has(cid)) {
      return say(Rule::tcp_success_alone, seen.at, seen.queue, fmt::format("a response to command {}, whose C2HData had SUCCESS", cid));
    }
    judge_missing(seen, cid, state.open.find(cid));
    state.open.erase(cid);
  }

  void on_pdu(const PduSeen& seen) override {
    if (seen.broken || !seen.flow.agreed() || !seen.flow.queue->certain() || seen.header.size() < tcp::DataPdu::size) return;
    judge_reserved(seen);
    switch (seen.type()) {
      case PduType::r2t:
        return seen.to_controller ? void() : on_r2t(seen);
      case PduType::h2c_data:
        return seen.to_controller ? on_h2c(seen) : void();
      case PduType::c2h_data:
        return seen.to_controller ? void() : on_c2h(seen);
      default:
        return;
    }
  }

 private:
  struct Request {
    std::uint16_t ttag = 0;
    std::uint32_t offset = 0, length = 0, sent = 0;
  };
  struct Transfer {
    DataDirection direction = DataDirection::none;
    std::uint32_t length = 0;
    bool in_capsule = false, by_transport = false;
    bool brings_data = false;       // whenever it succeeds
    std::uint32_t asked = 0;        // by R2Ts, from 0 on
    std::vector<Request> requests;  // not answered to their end
    std::uint32_t arrived = 0;      // of C2HData
    bool last = false;
    void clear() {
      asked = arrived = 0;
      requests.clear();
      last = false;
    }
  };
  struct State {
    ByCid<Transfer> open;
    CidSet succeeded;  // by SUCCESS, and not used again since
  };

  State& state_of(const Queue& queue) { return states_[queue.index]; }

  // A command that is not finished, or nothing.
  Transfer* transfer_of(const PduSeen& seen, std::uint16_t cid) { return state_of(*seen.flow.queue).open.find(cid); }

  [[gnu::cold]] void blame(Rule rule, const PduSeen& seen, std::string text) { say(rule, seen.at, *seen.flow.queue, std::move(text)); }

  /// Read is Retrieve in the Key Value command set, and the value of a key may be empty. The length of the key is where the upper
  /// half of an LBA would be, which is hardly ever so large.
  static bool may_retrieve(ByteView sqe) {
    const std::uint32_t upper = View<nvme::SqeLayout>{sqe}.get(nvme::sqe::cdw11);
    return (upper & 0xFF) != 0 && (upper & 0xFF) <= 16 && upper < 1u << 16;
  }
  /// Log pages do not: one with an action may have nothing to bring.
  static bool always_brings_data(const CommandSeen& seen) {
    constexpr auto kRead = static_cast<std::uint8_t>(nvme::IoOpcode::read);
    constexpr auto kIdentify = static_cast<std::uint8_t>(nvme::AdminOpcode::identify);
    if (!seen.queue.qid.has_value() || seen.sqe[0] != (*seen.queue.qid == 0 ? kIdentify : kRead)) return false;
    return *seen.queue.qid == 0 || !may_retrieve(seen.sqe);
  }

  void judge_missing(const CompletionSeen& seen, std::uint16_t cid, const Transfer* transfer) {
    if (transfer == nullptr || !transfer->brings_data || !transfer->by_transport || transfer->length == 0 || transfer->last) return;
    if (!View<nvme::CqeLayout>{seen.cqe}.get(nvme::cqe::status).ok()) return;
    judged(Rule::tcp_c2h_last);
    say(Rule::tcp_c2h_last, seen.at, seen.queue,
        fmt::format("command {} succeeded, and no C2HData with LAST_PDU came; {} of {} bytes did", cid, transfer->arrived,
                    transfer->length));
  }

  /// Bytes 23:20 of all three, and the transfer tag of C2HData, which answers no R2T.
  void judge_reserved(const PduSeen& seen) {
    const bool c2h = seen.type() == PduType::c2h_data && !seen.to_controller;
    judged(c2h ? Rule::tcp_c2h_reserved : seen.type() == PduType::r2t ? Rule::tcp_r2t_reserved : Rule::tcp_h2c_reserved);
    std::uint32_t reserved = load_le<std::uint32_t>(&seen.header[kReservedTail]);
    if (c2h) reserved |= load_le<std::uint16_t>(&seen.header[tcp::data_pdu::ttag.offset]);
    if (reserved == 0) [[likely]]
      return;
    const bool r2t = seen.type() == PduType::r2t && !seen.to_controller, h2c = seen.type() == PduType::h2c_data && seen.to_controller;
    if (!c2h && !r2t && !h2c) return;
    say(c2h   ? Rule::tcp_c2h_reserved
        : r2t ? Rule::tcp_r2t_reserved
              : Rule::tcp_h2c_reserved,
        seen.at, fmt::format("reserved bytes of {} are {:08X}h", tcp::name_of(seen.type()), reserved));
  }

  void on_r2t(const PduSeen& seen) {
    const View<tcp::DataPdu> pdu{seen.header};
    const std::uint16_t cid = pdu.get(tcp::data_pdu::cccid);
    const std::uint32_t offset = pdu.get(tcp::data_pdu::offset), length = pdu.get(tcp::data_pdu::length);
    Transfer* const transfer = transfer_of(seen, cid);
    judged(Rule::tcp_r2t_command);
    if (transfer == nullptr) return blame(Rule::tcp_r2t_command, seen, fmt::format("an R2T for command {}, which is not outstanding", cid));
    const bool writes = transfer->direction == DataDirection::host_to_controller || transfer->direction == DataDirection::bidirectional;
    if (!writes || transfer->in_capsule) {
      return blame(Rule::tcp_r2t_command, seen,
                   fmt::format("an R2T for command {}, {}", cid, writes ? "whose data was in its capsule" : "which writes nothing"));
    }
    if (!transfer->by_transport) return;
    judged(Rule::tcp_r2t_range, Rule::tcp_r2t_limit);
    if (offset != transfer->asked || length == 0 || length > transfer->length - std::min(transfer->length, offset)) {
      return blame(Rule::tcp_r2t_range, seen,
                   fmt::format("an R2T for {} bytes from {} of command {}, which has {} bytes, {} of them asked for", length, offset, cid,
                               transfer->length, transfer->asked));
    }
    transfer->asked += length;
    transfer->requests.push_back({pdu.get(tcp::data_pdu::ttag), offset, length, 0});
    if (transfer->requests.size() > std::uint64_t{seen.flow.maxr2t} + 1) {
      blame(Rule::tcp_r2t_limit, seen,
            fmt::format("{} R2Ts of command {} are open, MAXR2T is {}", transfer->requests.size(), cid, seen.flow.maxr2t));
    }
  }

  void on_h2c(const PduSeen& seen) {
    const View<tcp::DataPdu> pdu{seen.header};
    const std::uint16_t cid = pdu.get(tcp::data_pdu::cccid), ttag = pdu.get(tcp::data_pdu::ttag);
    const std::uint32_t offset = pdu.get(tcp::data_pdu::offset), length = pdu.get(tcp::data_pdu::length);
    // A command that the controller has given up may still be answered by what is on its way.
    Transfer* const transfer = transfer_of(seen, cid);
    if (transfer == nullptr) return;
    if (!transfer->by_transport && transfer->requests.empty()) return;
    judged(Rule::tcp_h2c_unasked);
    const auto named = [&](const Request& request) { return request.ttag == ttag; };
    const auto request = std::find_if(transfer->requests.begin(), transfer->requests.end(), named);
    if (request == transfer->requests.end()) {
      return blame(Rule::tcp_h2c_unasked, seen, fmt::format("H2CData for command {} with TTAG {}, which no R2T has", cid, ttag));
    }
    judged(Rule::tcp_h2c_limit, Rule::tcp_h2c_range, Rule::tcp_h2c_order, Rule::tcp_h2c_last);
    if (seen.flow.maxh2cdata != 0 && length > seen.flow.maxh2cdata) {
      return blame(Rule::tcp_h2c_limit, seen, fmt::format("H2CData with {} bytes, MAXH2CDATA is {}", length, seen.flow.maxh2cdata));
    }
    if (offset < request->offset || offset + std::uint64_t{length} > std::uint64_t{request->offset} + request->length) {
      return blame(Rule::tcp_h2c_range, seen,
                   fmt::format("H2CData with {} bytes from {} for an R2T of {} from {}", length, offset, request->length, request->offset));
    }
    if (offset != request->offset + request->sent) {
      return blame(Rule::tcp_h2c_order, seen, fmt::format("DATAO {} where {} is next", offset, request->offset + request->sent));
    }
    request->sent += length;
    const bool last = (seen.common.get(tcp::pdu::flags) & flag::last_pdu) != 0;
    if (last != (request->sent == request->length)) {
      return blame(Rule::tcp_h2c_last, seen,
                   fmt::format("LAST_PDU is {} after {} of {} bytes", last ? "set" : "clear", request->sent, request->length));
    }
    if (last) transfer->requests.erase(request);
  }

  void on_c2h(const PduSeen& seen) {
    const View<tcp::DataPdu> pdu{seen.header};
    const std::uint16_t cid = pdu.get(tcp::data_pdu::cccid);
    const std::uint32_t offset = pdu.get(tcp::data_pdu::offset), length = pdu.get(tcp::data_pdu::length);
    const std::uint8_t flags = seen.common.get(tcp::pdu::flags);
    judged(Rule::tcp_c2h_command);
    Transfer* const transfer = transfer_of(seen, cid);
    if (transfer == nullptr) {
      return blame(Rule::tcp_c2h_command, seen, fmt::format("C2HData for command {}, which is not outstanding", cid));
    }
    const bool reads = transfer->direction == DataDirection::controller_to_host || transfer->direction == DataDirection::bidirectional;
    if (!reads) return blame(Rule::tcp_c2h_command, seen, fmt::format("C2HData for command {}, which reads nothing", cid));
    judged(Rule::tcp_c2h_last, Rule::tcp_c2h_order, Rule::tcp_c2h_range);
    if (transfer->last) return blame(Rule::tcp_c2h_last, seen, fmt::format("C2HData for command {} behind LAST_PDU", cid));
    if (offset != transfer->arrived) {
      return blame(Rule::tcp_c2h_order, seen, fmt::format("DATAO {} of command {} where {} is next", offset, cid, transfer->arrived));
    }
    if (transfer->by_transport && offset + std::uint64_t{length} > transfer->length) {
      return blame(Rule::tcp_c2h_range, seen,
                   fmt::format("C2HData with {} bytes from {} for command {}, which asks for {}", length, offset, cid, transfer->length));
    }
    transfer->arrived += length;
    transfer->last = (flags & flag::last_pdu) != 0;
    if (transfer->by_transport && !transfer->last && transfer->arrived == transfer->length) {
      return blame(Rule::tcp_c2h_last, seen, fmt::format("all {} bytes of command {} are there, LAST_PDU is clear", transfer->length, cid));
    }
    if ((flags & flag::success) == 0) return;
    judged(Rule::tcp_success_alone, Rule::tcp_success_flow);
    if (!transfer->last) return blame(Rule::tcp_success_alone, seen, fmt::format("SUCCESS without LAST_PDU for command {}", cid));
    if (seen.flow.queue->flow_control.value_or(false)) {
      return blame(Rule::tcp_success_flow, seen, fmt::format("SUCCESS for command {} on a queue with flow control", cid));
    }
    State& state = state_of(*seen.flow.queue);
    state.succeeded.add(cid);
    state.open.erase(cid);
  }

  PerIndex<State> states_;
};

}  // namespace

std::unique_ptr<Judge> judge_of_tcp_data(Findings& findings, bool complete) { return std::make_unique<TcpData>(findings, complete); }

}  // namespace fb::monitors
