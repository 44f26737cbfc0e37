#include "model/transport/tcp_controller_channel.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "model/transport/rdma_rules.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/sqe.h"
#include "wire/nvme/cqe.h"

namespace fb::transport {

namespace {

using tcp::FatalStatus;
using tcp::PduType;

bool is_connect(ByteView sqe) {
  return sqe[0] == nvme::kFabricsOpcode && View<fabrics::AnyFabricsSqe>{sqe}.get(fabrics::sqe::fctype) == fabrics::FabricsType::connect;
}

}  // namespace

TcpControllerChannel::TcpControllerChannel(TcpControllerFabric& fabric, std::unique_ptr<net::Stream> stream)
    : fabric_(fabric), link_(fabric.shared_, TcpSide::controller, *this) {
  ++fabric_.connections_;
  link_.start(std::move(stream));
  world().loop().schedule_after(greeting_, fabric_.tcp_.greeting_timeout);
}

TcpControllerChannel::~TcpControllerChannel() {
  --fabric_.connections_;
  if (!connected_) fabric_.not_idle(*this);
  link_.close();
  for (std::uint32_t i = 0; i < commands_; ++i) fabric_.pool_.release(command_at(i).staging);
}

std::uint32_t TcpControllerChannel::entries() const {
  // The connection says nothing of the queue: Connect is held against the subsystem's bounds.
  return std::max(fabric_.options_.admin_entries_max, fabric_.options_.io_entries_max);
}

bool TcpControllerChannel::overlooks(std::string_view check) { return departs(hooks(), check); }

// ---- the connection ----

std::optional<PduFault> TcpControllerChannel::check_greeting(const PduIn& pdu) {
  const auto req = pdu.as<tcp::IcReq>();
  if (req.get(tcp::ic_req::pfv) != 0 && !overlooks("tcp.ic_req.pfv")) {
    return PduFault{FatalStatus::invalid_header_field, 8, "tcp.ic_req.pfv", "ICReq has an unknown PFV"};
  }
  if (req.get(tcp::ic_req::hpda) > tcp::kAlignmentMax && !overlooks("tcp.ic_req.hpda")) {
    return PduFault{FatalStatus::invalid_header_field, 10, "tcp.ic_req.hpda", "ICReq has an HPDA above 31"};
  }
  return std::nullopt;
}

void TcpControllerChannel::greet(const PduIn& pdu) {
  const auto req = pdu.as<tcp::IcReq>();
  const TcpControllerOptions& options = fabric_.tcp_;
  const bool header = options.header_digest && req.get(tcp::ic_req::hdgst_enable);
  const bool data = options.data_digest && req.get(tcp::ic_req::ddgst_enable);
  maxr2t_ = req.get(tcp::ic_req::maxr2t);
  Record<tcp::IcResp> resp;
  resp.set(tcp::pdu::type, PduType::ic_resp)
      .set(tcp::ic_resp::cpda, options.cpda)
      .set(tcp::ic_resp::hdgst_enable, header)
      .set(tcp::ic_resp::ddgst_enable, data)
      .set(tcp::ic_resp::maxh2cdata, options.maxh2cdata);
  link_.send(resp.bytes());
  greeted_ = true;
  link_.set_digests(header, data);
  const std::uint8_t hpda = std::min(req.get(tcp::ic_req::hpda), tcp::kAlignmentMax);
  link_.set_alignment(departs(hooks(), "tcp.c2h_data.alignment") ? 4 : tcp::alignment_of(hpda), tcp::alignment_of(options.cpda));
  world().loop().cancel(greeting_);
  if (adopted_) return;  // a second ICReq that was let through
  adopted_ = true;
  fabric_.adopt(*this);
}

void TcpControllerChannel::give_up() {
  world().trace().mark("transport.tcp.no_icreq");
  world().loop().cancel(greeting_);
  link_.close();
  ended_ = true;
  fabric_.discard(*this);
}

void TcpControllerChannel::evict() {
  world().trace().mark("transport.tcp.evicted");
  fabric_.not_idle(*this);
  link_.close();
  ended_ = true;
  void_commands();
  if (handler_ != nullptr) handler_->on_end("more connections than there is room for");
}

/// The last thing that a callback does: the handler may let go of the channel.
void TcpControllerChannel::on_link_end(const net::StreamEnd& end, const PduFault*) {
  if (ended_) return;
  ended_ = true;
  if (!connected_) fabric_.not_idle(*this);
  void_commands();
  if (!adopted_) return fabric_.discard(*this);
  const std::string why = term_text_.empty() ? end.text : term_text_;
  if (handler_ != nullptr) handler_->on_end(why);
}

void TcpControllerChannel::close() {
  if (ended_) return;
  ended_ = true;
  if (!connected_) fabric_.not_idle(*this);
  link_.close();
  void_commands();
}

void TcpControllerChannel::void_commands() {
  for (std::uint32_t i = 0; i < commands_; ++i) {
    command_at(i).in_use = false;
  }
  requests_.clear();
  free_requests_.clear();
}

// ---- commands ----

TcpControllerChannel::Command* TcpControllerChannel::take_command() {
  if (free_commands_ == nullptr) {
    // Twice the entries: a command whose host stopped in the middle of its data keeps its place.
    const std::uint32_t most = entries() * 2;
    if (commands_ >= most) return nullptr;
    chunks_.push_back(std::make_unique<Command[]>(kChunk));
    const std::uint32_t end = std::min<std::uint32_t>(commands_ + kChunk, most);
    for (std::uint32_t i = end; i-- > commands_;) {
      Command& command = chunks_.back()[i % kChunk];
      command.channel = this;
      command.index = static_cast<std::uint16_t>(i);
      command.next_free = free_commands_;
      free_commands_ = &command;
    }
    commands_ = end;
  }
  Command* command = free_commands_;
  free_commands_ = command->next_free;
  return command;
}

/// The subsystem is done with the command.
void TcpControllerChannel::finish_command(Command& command) {
  command.in_use = false;
  command.in_capsule = {};
  // While the host sends data that was asked for, or ours is on its way, the memory stays.
  if (command.r2ts == 0 && command.sending == 0) free_command(command);
}

void TcpControllerChannel::free_command(Command& command) {
  if (!requests_.empty()) forget_requests(command);
  fabric_.pool_.release(std::exchange(command.staging, {}));
  command.data = {};
  command.next_free = free_commands_;
  free_commands_ = &command;
}

void TcpControllerChannel::forget_requests(const Command& command) {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i].command != &command) continue;
    requests_[i].command = nullptr;
    free_requests_.push_back(static_cast<std::uint16_t>(i));
  }
}

void TcpControllerChannel::drop(ArrivedCommand& arrived) {
  Command& command = own(arrived);
  if (command.in_use) finish_command(command);
}

// ---- PDUs in ----

std::optional<PduFault> TcpControllerChannel::on_header(PduIn& pdu) {
  if (hooks() != nullptr) hooks()->pdu_in(qid_, pdu.header);
  if (pdu.type == PduType::h2c_term_req) {
    if (pdu.data_bytes <= term_data_.size()) pdu.data = MutableBytes(term_data_).first(pdu.data_bytes);
    return std::nullopt;
  }
  if (greeted_ == (pdu.type == PduType::ic_req)) {
    const std::string_view check = greeted_ ? "tcp.ic_req.second" : "tcp.ic_req.first";
    if (overlooks(check)) return std::nullopt;
    return PduFault{FatalStatus::sequence_error, 0, check, greeted_ ? "a second ICReq" : "a PDU before ICReq"};
  }
  switch (pdu.type) {
    case PduType::ic_req:
      return check_greeting(pdu);
    case PduType::capsule_cmd:
      return place_capsule(pdu);
    case PduType::h2c_data:
      return place_data(pdu);
    default:
      return std::nullopt;
  }
}

std::optional<PduFault> TcpControllerChannel::on_pdu(const PduIn& pdu) {
  if (!greeted_ && pdu.type != PduType::ic_req) return std::nullopt;  // overlooked
  switch (pdu.type) {
    case PduType::ic_req:
      greet(pdu);
      return std::nullopt;
    case PduType::capsule_cmd:
      arrive(pdu);
      return std::nullopt;
    case PduType::h2c_data:
      return data_done(pdu);
    case PduType::h2c_term_req: {
      const auto term = pdu.as<tcp::TermReq>();
      term_text_ = "the host ended the connection: " + tcp::name_of(term.get(tcp::term_req::fes), true) + ", FEI " +
                   std::to_string(term.get(tcp::term_req::fei));
      if (overlooks("tcp.term_req.received")) return std::nullopt;
      return PduFault{.check = "tcp.term_req.received", .text = "H2CTermReq", .silent = true};
    }
    default:
      return std::nullopt;
  }
}

std::optional<PduFault> TcpControllerChannel::place_capsule(PduIn& pdu) {
  const ByteView sqe = pdu.as<tcp::CapsuleCmd>().get(tcp::capsule_cmd::sqe);
  // Fabrics commands may bring as much on an I/O queue as on the admin queue.
  const bool io = connected_ && qid_ != 0 && sqe[0] != nvme::kFabricsOpcode;
  const std::size_t admin_most = overlooks("tcp.capsule.admin_room") ? 4096 : tcp::kAdminInCapsuleMax;
  const std::size_t most = io ? fabric_.options_.in_capsule_bytes : admin_most;
  if (pdu.data_bytes > most && !overlooks("tcp.capsule.room")) {
    return PduFault{FatalStatus::limit_exceeded, 0, "tcp.capsule.room", "more data in a capsule than the queue takes"};
  }
  arriving_ = take_command();
  if (arriving_ == nullptr) {
    return PduFault{FatalStatus::sequence_error, 0, "tcp.capsule.entries", "more commands than the queue has entries"};
  }
  // Whatever was overlooked: no more memory than a command can move.
  if (pdu.data_bytes > 0 && pdu.data_bytes <= fabric_.options_.transfer_bytes_max) {
    arriving_->staging = fabric_.pool_.acquire(pdu.data_bytes);
    pdu.data = arriving_->staging;
  }
  return std::nullopt;
}

void TcpControllerChannel::arrive(const PduIn& pdu) {
  Command& command = *std::exchange(arriving_, nullptr);
  const ByteView sqe = pdu.as<tcp::CapsuleCmd>().get(tcp::capsule_cmd::sqe);
  std::copy(sqe.begin(), sqe.end(), command.sqe.begin());
  command.in_capsule = command.staging;
  command.capsule_data = static_cast<std::uint32_t>(command.staging.size());
  command.data = {};
  command.tag = 0;
  command.next = nullptr;
  command.fault = {};
  if (!pdu.data_good && !overlooks("tcp.pdu.ddgst")) command.fault = nvme::sc::transient_transport_error;
  command.cid = load_le<std::uint16_t>(sqe.data() + 2);
  command.pushed = command.pulled = command.asked = command.r2ts = command.sending = 0;
  command.in_use = true;
  if (is_connect(command.sqe)) {
    qid_ = View<fabrics::ConnectSqe>{command.sqe}.get(fabrics::connect_sqe::qid);
    if (!connected_) fabric_.not_idle(*this);
    connected_ = true;
    link_.set_qid(qid_);
  }
  if (hooks() != nullptr || world().trace().on()) {
    Bytes capsule(sqe.begin(), sqe.end());
    capsule.insert(capsule.end(), command.in_capsule.begin(), command.in_capsule.end());
    if (hooks() != nullptr) hooks()->capsule_in(qid_, capsule);
    if (world().trace().on()) trace_capsule(world(), "target", true, false, qid_, capsule);
  }
  BENCH_ASSERT(handler_ != nullptr, "a channel needs its handler before its first command");
  handler_->on_command(command);
}

std::optional<PduFault> TcpControllerChannel::place_data(PduIn& pdu) {
  const auto head = pdu.as<tcp::DataPdu>();
  const std::uint16_t ttag = head.get(tcp::data_pdu::ttag);
  const std::uint32_t offset = head.get(tcp::data_pdu::offset);
  const std::uint32_t length = head.get(tcp::data_pdu::length);
  Request* request = ttag < requests_.size() ? &requests_[ttag] : nullptr;
  if (request != nullptr && request->command == nullptr) request = nullptr;
  if (request == nullptr) {
    if (overlooks("tcp.h2c_data.ttag")) return std::nullopt;
    return PduFault{FatalStatus::invalid_header_field, 10, "tcp.h2c_data.ttag", "H2CData with a transfer tag that no R2T gave"};
  }
  const Command& command = *request->command;
  const std::uint64_t end = std::uint64_t{offset} + length;
  const std::uint64_t range_end = std::uint64_t{request->offset} + request->length;
  const bool last = (pdu.flags & tcp::pdu_flags::last_pdu) != 0;
  const bool below = offset < request->offset && !overlooks("tcp.h2c_data.below");
  const bool skips = offset != request->offset + request->received;
  const struct {
    bool wrong;
    FatalStatus fes;
    std::uint32_t fei;
    std::string_view check, text;
  } checks[] = {
      {head.get(tcp::data_pdu::cccid) != command.cid, FatalStatus::invalid_header_field, 8, "tcp.h2c_data.cccid",
       "H2CData whose CCCID is not that of its R2T"},
      {request->done(), FatalStatus::sequence_error, 0, "tcp.h2c_data.after_last", "H2CData after the last of its R2T"},
      {length != pdu.data_bytes, FatalStatus::invalid_header_field, 16, "tcp.h2c_data.datal", "DATAL is not the length of the data"},
      {length > fabric_.tcp_.maxh2cdata, FatalStatus::limit_exceeded, 0, "tcp.h2c_data.limit", "H2CData longer than MAXH2CDATA"},
      {below || end > range_end, FatalStatus::data_out_of_range, 0, "tcp.h2c_data.range", "H2CData outside of the range of its R2T"},
      {skips && (below || offset >= request->offset), FatalStatus::sequence_error, 0, "tcp.h2c_data.offset",
       "H2CData that does not continue the data before it"},
      {last && end != range_end && !overlooks("tcp.h2c_data.last_ends"), FatalStatus::sequence_error, 0, "tcp.h2c_data.early_last",
       "LAST_PDU before the end of the R2T"},
  };
  for (const auto& check : checks) {
    if (check.wrong && !overlooks(check.check)) {
      return PduFault{check.fes, check.fei, check.check, check.text};
    }
  }
  // Whatever was overlooked: nothing outside of the command's memory is written.
  if (end <= command.data.size() && length == pdu.data_bytes && !request->done()) {
    pdu.data = request->command->data.subspan(offset, length);
  }
  return std::nullopt;
}

std::optional<PduFault> TcpControllerChannel::data_done(const PduIn& pdu) {
  const auto head = pdu.as<tcp::DataPdu>();
  const std::uint16_t ttag = head.get(tcp::data_pdu::ttag);
  if (ttag >= requests_.size() || requests_[ttag].command == nullptr) return std::nullopt;
  Request& request = requests_[ttag];
  Command& command = *request.command;
  if (request.done()) return std::nullopt;  // overlooked
  if (!pdu.data_good && !overlooks("tcp.pdu.ddgst")) {
    world().trace().mark("transport.tcp.controller.damaged");
    command.fault = nvme::sc::transient_transport_error;
  }
  request.received = std::min(request.received + pdu.data_bytes, request.length);
  const bool last = (pdu.flags & tcp::pdu_flags::last_pdu) != 0;
  if (last && !request.done() && overlooks("tcp.h2c_data.last_ends")) request.received = request.length;
  if (!request.done()) return std::nullopt;
  command.pulled += request.length;
  --command.r2ts;
  if (!command.in_use) {
    if (command.r2ts == 0 && command.sending == 0) free_command(command);
    return std::nullopt;
  }
  if (command.pulled < command.data.size()) {
    ask(command);
    return std::nullopt;
  }
  forget_requests(command);
  handler_->on_pulled(command);
  return std::nullopt;
}

}  // namespace fb::transport
