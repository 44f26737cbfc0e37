#include "model/transport/tcp_host.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.h"
#include "model/transport/rdma_rules.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sgl.h"
#include "wire/nvme/sqe.h"
#include "wire/nvme/status_codes.h"

namespace fb::transport {

namespace {

namespace flag = tcp::pdu_flags;
using net::StreamEnd;
using nvme::SglDescriptor;
using tcp::FatalStatus;
using tcp::PduType;

constexpr std::uint32_t kMaxH2cDataLeast = 4096;
/// In the cookie of a PDU, beside its slot: the last one that answers an R2T.
constexpr std::uint32_t kEndsRequest = 1u << 30;

PduFault bad_field(std::uint32_t offset, std::string_view check, std::string_view text) {
  return {FatalStatus::invalid_header_field, offset, check, text};
}

ChannelEnd::Kind kind_of(StreamEnd::Kind kind, bool greeted) {
  switch (kind) {
    case StreamEnd::Kind::refused:
      return ChannelEnd::Kind::refused;
    case StreamEnd::Kind::unreachable:
      return ChannelEnd::Kind::unreachable;
    case StreamEnd::Kind::reset:
    case StreamEnd::Kind::failed:
      break;
  }
  return greeted ? ChannelEnd::Kind::lost : ChannelEnd::Kind::refused;
}

/// Whether the data length of a command is an allocation length: the controller may return less.
bool allocates(ByteView sqe, bool admin) {
  constexpr std::uint8_t kVendorSpecific = 0xC0;
  using nvme::AdminOpcode, nvme::IoOpcode;
  if (sqe[0] == nvme::kFabricsOpcode) return static_cast<nvme::FabricsType>(sqe[4]) == nvme::FabricsType::authentication_receive;
  const auto is_one_of = [&](auto... codes) { return ((sqe[0] == static_cast<std::uint8_t>(codes)) || ...); };
  if (!admin) return is_one_of(IoOpcode::reservation_report, IoOpcode::io_management_receive, IoOpcode::zone_management_receive);
  return sqe[0] >= kVendorSpecific ||
         is_one_of(AdminOpcode::security_receive, AdminOpcode::directive_receive, AdminOpcode::nvme_mi_receive);
}

/// Changes the state of a channel, and says so; tcp_host_states.h lists the ways.
template <class State>
void move(World& world, State& state, State to) {
  constexpr std::string_view kNames[] = {"idle", "connecting", "greeting", "connected", "ended"};
  if (world.trace().on()) {
    const std::string text =
        std::string(kNames[static_cast<std::size_t>(state)]) + " -> " + std::string(kNames[static_cast<std::size_t>(to)]);
    TraceEvent event;
    event.kind = TraceKind::state;
    event.time = world.now();
    event.actor = "host";
    event.label = "nvme-tcp.state";
    event.text = text;
    world.trace().emit(event);
  }
  state = to;
}

}  // namespace

TcpHostFabric::TcpHostFabric(World& world, net::StreamHost& host, const IpAddress& local, const TcpHostOptions& options,
                             TransportHooks* hooks)
    : shared_(world, hooks), host_(host), local_(local), options_(options) {}

std::unique_ptr<HostChannel> TcpHostFabric::make_channel(HostChannelHandler& handler) {
  return std::make_unique<TcpHostChannel>(*this, handler);
}

TcpHostChannel::TcpHostChannel(TcpHostFabric& fabric, HostChannelHandler& handler) : fabric_(fabric), handler_(handler) {}

TcpHostChannel::~TcpHostChannel() {
  if (link_) link_->close();
}

bool TcpHostChannel::overlooks(std::string_view check) { return departs_at(check); }

/// Departures of the host stand under a name of their own: "tcp.host.r2t.limit".
bool TcpHostChannel::departs_at(std::string_view point) const { return fabric_.shared_.hooks != nullptr && ask_hooks(point); }

bool TcpHostChannel::ask_hooks(std::string_view point) const {
  return fabric_.shared_.hooks->departs(std::string("tcp.host").append(point.substr(3)));
}

// ---- connection ----

void TcpHostChannel::connect(const Endpoint& to, const ChannelOptions& options) {
  options_ = options;
  move(fabric_.shared_.world, state_, State::connecting);
  slots_.assign(options.entries, {});
  slot_mask_ = std::bit_ceil(slots_.size()) - 1;
  term_text_.clear();
  World& world = fabric_.shared_.world;
  TcpLinkOwner& owner = *this;
  link_ = std::make_unique<TcpLink>(fabric_.shared_, TcpSide::host, owner);
  link_->set_qid(options.qid);
  Result<net::StreamHost*> host = &fabric_.host_;
  if (options.secured) {
    host = fabric_.secure_ != nullptr ? fabric_.secure_->streams_for(options.hostnqn, options.subnqn)
                                      : Failure{Problem{"this host has no TLS keys"}};
  }
  auto stream =
      host ? host.value()->connect({fabric_.local_, 0}, to, link_->handler()) : Result<std::unique_ptr<net::Stream>>(Failure{host.error()});
  if (!stream) {
    soon_text_ = stream.error().text;
    world.loop().schedule_after(fail_soon_, Duration());
    return;
  }
  link_->start(std::move(stream).value());
  world.loop().schedule_after(timeout_, fabric_.options_.connect_timeout);
}

void TcpHostChannel::fail_soon() { end({.kind = ChannelEnd::Kind::unreachable, .text = soon_text_}); }

void TcpHostChannel::on_timeout() {
  if (state_ != State::connecting && state_ != State::greeting) return;
  const bool greeting = state_ == State::greeting;
  if (greeting && departs_at("tcp.ic_resp.timeout")) return;
  link_->close();
  end({.kind = ChannelEnd::Kind::unreachable, .text = greeting ? "no ICResp in time" : "the controller's address does not answer"});
}

void TcpHostChannel::on_link_open() {
  if (state_ != State::connecting) return;
  move(fabric_.shared_.world, state_, State::greeting);
  greet();
}

void TcpHostChannel::greet() {
  const TcpHostOptions& options = fabric_.options_;
  Record<tcp::IcReq> request;
  request.set(tcp::pdu::type, PduType::ic_req)
      .set(tcp::ic_req::hpda, options.hpda)
      .set(tcp::ic_req::hdgst_enable, options.header_digest)
      .set(tcp::ic_req::ddgst_enable, options.data_digest)
      .set(tcp::ic_req::maxr2t, options.maxr2t);
  if (departs_at("tcp.ic_req.pfv")) request.set(tcp::ic_req::pfv, 1u);
  if (departs_at("tcp.ic_req.hpda")) request.set(tcp::ic_req::hpda, tcp::kAlignmentMax + 1u);
  link_->send(request.bytes());
  if (departs_at("tcp.early_capsule")) {
    Record<tcp::CapsuleCmd> early;
    early.set(tcp::pdu::type, PduType::capsule_cmd);
    link_->send(early.bytes());
  }
}

std::optional<PduFault> TcpHostChannel::greeted(const PduIn& pdu) {
  const auto resp = pdu.as<tcp::IcResp>();
  const TcpHostOptions& asked = fabric_.options_;
  const bool header = resp.get(tcp::ic_resp::hdgst_enable);
  const bool data = resp.get(tcp::ic_resp::ddgst_enable);
  const std::uint8_t cpda = resp.get(tcp::ic_resp::cpda);
  const struct {
    bool wrong;
    std::uint32_t offset;
    std::string_view check, text;
  } checks[] = {
      {resp.get(tcp::ic_resp::pfv) != 0, 8, "tcp.ic_resp.pfv", "ICResp has an unknown PFV"},
      {cpda > tcp::kAlignmentMax, 10, "tcp.ic_resp.cpda", "ICResp has a CPDA above 31"},
      {(header && !asked.header_digest) || (data && !asked.data_digest), 11, "tcp.ic_resp.digest",
       "ICResp enables a digest that was not asked for"},
      {resp.get(tcp::ic_resp::maxh2cdata) < kMaxH2cDataLeast || resp.get(tcp::ic_resp::maxh2cdata) % 4 != 0, 12, "tcp.ic_resp.maxh2cdata",
       "ICResp has an impossible MAXH2CDATA"},
  };
  for (const auto& check : checks) {
    if (check.wrong && !overlooks(check.check)) return bad_field(check.offset, check.check, check.text);
  }
  if (asked.digest_required && (header != asked.header_digest || data != asked.data_digest)) {
    return PduFault{.check = "tcp.ic_resp.declined", .text = "the controller declined a digest that is required", .silent = true};
  }
  maxh2cdata_ = std::max(resp.get(tcp::ic_resp::maxh2cdata) / 4 * 4, 4u);
  const bool always = departs_at("tcp.digest.always");
  link_->set_digests(always || header, departs_at("tcp.digest.together") ? header : data);
  const bool aligned = !departs_at("tcp.capsule.alignment");
  link_->set_alignment(tcp::alignment_of(aligned ? std::min(cpda, tcp::kAlignmentMax) : std::uint8_t{0}),
                       tcp::alignment_of(std::min(asked.hpda, tcp::kAlignmentMax)));
  fabric_.shared_.world.loop().cancel(timeout_);
  move(fabric_.shared_.world, state_, State::connected);
  handler_.on_connected({});
  return std::nullopt;
}

void TcpHostChannel::disconnect() {
  if (state_ == State::idle || state_ == State::ended) return;
  if (state_ != State::connected) fabric_.shared_.world.loop().cancel(timeout_);
  link_->close();
  // on_end() comes from an event of its own, as with any other fabric.
  soon_text_.clear();
  move(fabric_.shared_.world, state_, State::ended);
  fabric_.shared_.world.loop().schedule_after(fail_soon_, Duration());
}

void TcpHostChannel::on_link_end(const StreamEnd& why, const PduFault*) {
  const bool connected = state_ == State::connected;
  ChannelEnd ended{.kind = kind_of(why.kind, connected), .text = why.text};
  if (!term_text_.empty()) ended.text = term_text_;
  if (connected && departs_at("tcp.lost.completes")) complete_all();
  end(std::move(ended));
}

/// For the departure that takes the end of the connection for the end of its commands.
void TcpHostChannel::complete_all() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].outstanding || slots_[i].moved == 0) continue;
    nvme::Cqe cqe;
    cqe.set(nvme::cqe::cid, slots_[i].cid);
    deliver(cqe.bytes());
  }
}

void TcpHostChannel::end(ChannelEnd ended) {
  if (state_ == State::idle) return;
  if (state_ == State::ended) {
    ended.kind = ChannelEnd::Kind::closed;
    ended.text = "disconnected";
  }
  move(fabric_.shared_.world, state_, State::idle);
  fabric_.shared_.world.loop().cancel(timeout_);
  fabric_.shared_.world.loop().cancel(fail_soon_);
  handler_.on_end(ended);
}

// ---- commands out ----

std::size_t TcpHostChannel::in_capsule_room(ByteView sqe) const {
  if (options_.qid == 0 || sqe[0] == nvme::kFabricsOpcode) return tcp::kAdminInCapsuleMax;
  return options_.in_capsule_bytes;
}

bool TcpHostChannel::send(std::uint16_t index, MutableBytes sqe, const HostTransfer& transfer) {
  if (state_ != State::connected) return false;
  BENCH_ASSERT(index < slots_.size(), "slot beyond the queue");
  const auto bytes = static_cast<std::uint32_t>(transfer.data.size());
  const bool outward = transfer.direction == Direction::to_controller;
  std::size_t room = in_capsule_room(sqe);
  if (departs_at("tcp.capsule.too_long")) room = transfer.data.size();
  const bool inside = outward && transfer.allow_in_capsule && !transfer.keep_dptr && bytes > 0 && bytes <= room;
  if (!transfer.keep_dptr) {
    const auto sgl = inside ? SglDescriptor::in_capsule(0, bytes) : SglDescriptor::transport(bytes);
    write_sgl(sqe, sgl.bytes());
  }
  Slot& slot = slots_[index];
  slot = {};
  slot.data = transfer.data;
  slot.direction = transfer.direction;
  slot.cid = load_le<std::uint16_t>(sqe.data() + 2);
  slot.outstanding = true;
  slot.in_capsule = inside;
  slot.may_be_short = allocates(sqe, options_.qid == 0);

  Record<tcp::CapsuleCmd> header;
  header.set(tcp::pdu::type, PduType::capsule_cmd).set(tcp::capsule_cmd::sqe, ByteView(sqe));
  ByteView data = inside ? ByteView(transfer.data) : ByteView{};
  World& world = fabric_.shared_.world;
  if (TransportHooks* hooks = fabric_.shared_.hooks; hooks != nullptr || world.trace().on()) {
    Bytes capsule(sqe.begin(), sqe.end());
    capsule.insert(capsule.end(), data.begin(), data.end());
    const Bytes before = capsule;
    if (hooks != nullptr) hooks->capsule_out(options_.qid, capsule);
    if (world.trace().on()) trace_capsule(world, "host", true, true, options_.qid, capsule);
    if (capsule != before) return send_capsule(capsule);
  }
  if (inside) ++slot.sending;
  link_->send(header.bytes(), data, inside ? index + 1u : 0u);
  return true;
}

/// A capsule as bytes, in a PDU that is right for it.
bool TcpHostChannel::send_capsule(ByteView capsule) {
  Record<tcp::CapsuleCmd> header;
  const std::size_t head = std::min(capsule.size(), nvme::kSqeSize);
  header.set(tcp::pdu::type, PduType::capsule_cmd).set(tcp::capsule_cmd::sqe, capsule.first(head));
  link_->send_copy(header.bytes(), capsule.subspan(head));
  return true;
}

bool TcpHostChannel::send_raw(ByteView capsule) {
  if (state_ != State::connected) return false;
  World& world = fabric_.shared_.world;
  if (world.trace().on()) trace_capsule(world, "host", true, true, options_.qid, capsule);
  return send_capsule(capsule);
}

/// Memory of a host is out of reach over TCP: there is nothing that a hand-made SGL could name.
HostChannel::RemoteBuffer TcpHostChannel::expose(std::uint16_t, MutableBytes) { return {}; }

void TcpHostChannel::send_data(std::uint16_t index, const Request& request) {
  Slot& slot = slots_[index];
  std::uint32_t most = maxh2cdata_;
  if (departs_at("tcp.h2c_data.too_long")) most = request.length;
  Record<tcp::DataPdu> header;
  for (std::uint32_t done = 0; done < request.length;) {
    const std::uint32_t part = std::min(most, request.length - done);
    const bool last = done + part == request.length;
    header.set(tcp::pdu::type, PduType::h2c_data)
        .set(tcp::pdu::flags, last ? flag::last_pdu : std::uint8_t{0})
        .set(tcp::data_pdu::cccid, slot.cid)
        .set(tcp::data_pdu::ttag, request.ttag)
        .set(tcp::data_pdu::offset, request.offset + done)
        .set(tcp::data_pdu::length, part);
    ++slot.sending;
    link_->send(header.bytes(), ByteView(slot.data).subspan(request.offset + done, part), (index + 1u) | (last ? kEndsRequest : 0));
    done += part;
  }
}

/// An R2T is outstanding until the last of its data has left, whatever is queued for those after it.
void TcpHostChannel::on_sent(std::uint32_t cookie) {
  const std::size_t index = (cookie & ~kEndsRequest) - 1;
  if (index >= slots_.size()) return;
  Slot& slot = slots_[index];
  BENCH_ASSERT(slot.sending > 0, "more PDUs left than were sent");
  if ((cookie & kEndsRequest) != 0 && slot.r2ts > 0) --slot.r2ts;
  if (--slot.sending > 0 || !slot.releasing) return;
  slot.releasing = false;
  handler_.on_released(static_cast<std::uint16_t>(index));
}

bool TcpHostChannel::release(std::uint16_t index, const ResponseFacts&) {
  BENCH_ASSERT(index < slots_.size(), "slot beyond the queue");
  Slot& slot = slots_[index];
  slot.outstanding = false;
  if (state_ != State::connected) return true;
  slot.releasing = slot.sending > 0;
  return !slot.releasing;
}

// ---- PDUs in ----

TcpHostChannel::Slot* TcpHostChannel::slot_of(std::uint16_t cid) {
  // Queues put the slot into the low bits of the identifier.
  const std::size_t low = cid & slot_mask_;
  if (low < slots_.size() && slots_[low].outstanding && slots_[low].cid == cid) return &slots_[low];
  for (Slot& slot : slots_) {
    if (slot.outstanding && slot.cid == cid) return &slot;
  }
  return nullptr;
}

std::optional<PduFault> TcpHostChannel::on_header(PduIn& pdu) {
  if (TransportHooks* hooks = fabric_.shared_.hooks) hooks->pdu_in(options_.qid, pdu.header);
  if (pdu.type == PduType::c2h_term_req) {
    if (pdu.data_bytes <= term_data_.size()) pdu.data = MutableBytes(term_data_).first(pdu.data_bytes);
    return std::nullopt;
  }
  const bool greeting = state_ == State::greeting;
  if (greeting != (pdu.type == PduType::ic_resp)) {
    if (overlooks("tcp.sequence")) return std::nullopt;
    return PduFault{FatalStatus::sequence_error, 0, "tcp.sequence", greeting ? "a PDU before ICResp" : "a second ICResp"};
  }
  if (pdu.type == PduType::c2h_data) return place_data(pdu);
  return std::nullopt;
}

std::optional<PduFault> TcpHostChannel::on_pdu(const PduIn& pdu) {
  const bool early = pdu.type != PduType::ic_resp && pdu.type != PduType::c2h_term_req;
  if (state_ == State::greeting && early) return std::nullopt;  // overlooked
  switch (pdu.type) {
    case PduType::ic_resp:
      return state_ == State::greeting ? greeted(pdu) : std::nullopt;
    case PduType::capsule_resp:
      respond(pdu);
      return std::nullopt;
    case PduType::c2h_data:
      return data_done(pdu);
    case PduType::r2t:
      return request_to_transfer(pdu);
    case PduType::c2h_term_req: {
      const auto term = pdu.as<tcp::TermReq>();
      const std::uint32_t plen = term.get(tcp::pdu::plen);
      if (plen < tcp::TermReq::size || plen > tcp::kTermReqMax) return std::nullopt;  // overlooked
      term_text_ = "the controller ended the connection: " + tcp::name_of(term.get(tcp::term_req::fes), false) + ", FEI " +
                   std::to_string(term.get(tcp::term_req::fei));
      if (departs_at("tcp.term_req.ignored")) return std::nullopt;
      return PduFault{.check = "tcp.term_req.received", .text = "C2HTermReq", .silent = true};
    }
    default:
      return std::nullopt;
  }
}

std::optional<PduFault> TcpHostChannel::place_data(PduIn& pdu) {
  const auto head = pdu.as<tcp::DataPdu>();
  const std::uint32_t offset = head.get(tcp::data_pdu::offset);
  const std::uint32_t length = head.get(tcp::data_pdu::length);
  const bool last = (pdu.flags & flag::last_pdu) != 0;
  Slot* slot = slot_of(head.get(tcp::data_pdu::cccid));
  const auto fault = [&](bool wrong, FatalStatus fes, std::uint32_t fei, std::string_view check,
                         std::string_view text) -> std::optional<PduFault> {
    if (!wrong || overlooks(check)) return std::nullopt;
    return PduFault{fes, fei, check, text};
  };
  using enum FatalStatus;
  if (auto bad = fault(slot == nullptr, invalid_header_field, 8, "tcp.c2h_data.cccid", "C2HData for a command that is not outstanding")) {
    return bad;
  }
  if (auto bad = fault((pdu.flags & flag::success) != 0 && !last, invalid_header_field, 1, "tcp.c2h_data.success",
                       "C2HData with SUCCESS but without LAST_PDU")) {
    return bad;
  }
  if (slot == nullptr) return std::nullopt;
  const bool inward = slot->direction != Direction::to_controller && !slot->data.empty();
  const std::uint64_t end = std::uint64_t{offset} + length;
  if (auto bad = fault(!inward, sequence_error, 0, "tcp.c2h_data.direction", "C2HData for a command without data from the controller")) {
    return bad;
  }
  if (auto bad = fault(slot->last_seen, sequence_error, 0, "tcp.c2h_data.after_last", "C2HData after the one with LAST_PDU")) {
    return bad;
  }
  if (auto bad = fault(length != pdu.data_bytes, invalid_header_field, 16, "tcp.c2h_data.datal", "DATAL is not the length of the data")) {
    return bad;
  }
  const bool beyond = end > slot->data.size();
  if (auto bad = fault(beyond, data_out_of_range, 0, "tcp.c2h_data.range", "C2HData beyond the command's buffer")) {
    return bad;
  }
  if (auto bad =
          fault(offset != slot->moved, sequence_error, 0, "tcp.c2h_data.offset", "C2HData that does not continue the data before it")) {
    return bad;
  }
  if (offset > 0 && departs_at("tcp.c2h_data.first_only")) return std::nullopt;
  if (inward && !beyond && length == pdu.data_bytes) pdu.data = slot->data.subspan(offset, length);
  return std::nullopt;
}

std::optional<PduFault> TcpHostChannel::data_done(const PduIn& pdu) {
  const auto head = pdu.as<tcp::DataPdu>();
  Slot* slot = slot_of(head.get(tcp::data_pdu::cccid));
  if (slot == nullptr) return std::nullopt;  // overlooked, or answered while its data came
  slot->moved = head.get(tcp::data_pdu::offset) + pdu.data_bytes;
  slot->damaged = slot->damaged || !pdu.data_good;
  slot->last_seen = (pdu.flags & flag::last_pdu) != 0;
  if (!pdu.data_good && departs_at("tcp.ddgst.fatal")) {
    return bad_field(0, "tcp.ddgst.fatal", "a wrong data digest");
  }
  const bool ignores_success = options_.qid != 0 && departs_at("tcp.c2h_data.success_ignored");
  if ((pdu.flags & flag::success) == 0 || ignores_success) return std::nullopt;
  const bool all = slot->moved == slot->data.size() || slot->may_be_short;
  if (!all && !overlooks("tcp.c2h_data.short_success")) {
    return PduFault{FatalStatus::sequence_error, 0, "tcp.c2h_data.short_success", "SUCCESS although not all the data has come"};
  }
  nvme::Cqe cqe;
  cqe.set(nvme::cqe::cid, slot->cid);
  deliver(cqe.bytes(), {.success_flag = true});
  return std::nullopt;
}

std::optional<PduFault> TcpHostChannel::request_to_transfer(const PduIn& pdu) {
  const auto head = pdu.as<tcp::DataPdu>();
  const Request request{head.get(tcp::data_pdu::ttag), head.get(tcp::data_pdu::offset), head.get(tcp::data_pdu::length)};
  Slot* slot = slot_of(head.get(tcp::data_pdu::cccid));
  if (slot == nullptr) {
    if (overlooks("tcp.r2t.cccid")) return std::nullopt;
    return bad_field(8, "tcp.r2t.cccid", "R2T for a command that is not outstanding");
  }
  const std::uint64_t end = std::uint64_t{request.offset} + request.length;
  const bool outward = slot->direction != Direction::from_controller && !slot->in_capsule;
  const struct {
    bool wrong;
    FatalStatus fes;
    std::uint32_t fei;
    std::string_view check, text;
  } checks[] = {
      {!outward || slot->data.empty(), FatalStatus::sequence_error, 0, "tcp.r2t.direction", "R2T for a command without data to fetch"},
      {request.length == 0, FatalStatus::invalid_header_field, 16, "tcp.r2t.length", "R2T for nothing"},
      {end > slot->data.size(), FatalStatus::data_out_of_range, 0, "tcp.r2t.range", "R2T beyond the command's buffer"},
      {request.offset != slot->moved, FatalStatus::sequence_error, 0, "tcp.r2t.offset", "R2T that does not continue the one before it"},
      {slot->r2ts > fabric_.options_.maxr2t, FatalStatus::limit_exceeded, 0, "tcp.r2t.limit", "more R2Ts than MAXR2T allows"},
  };
  for (const auto& check : checks) {
    if (check.wrong && !overlooks(check.check)) {
      return PduFault{check.fes, check.fei, check.check, check.text};
    }
  }
  // Whatever was overlooked: no byte outside of the buffer leaves.
  if (!outward || end > slot->data.size() || request.length == 0) return std::nullopt;
  slot->moved = static_cast<std::uint32_t>(end);
  ++slot->r2ts;
  send_data(index_of(*slot), request);
  return std::nullopt;
}

void TcpHostChannel::respond(const PduIn& pdu) { deliver(ByteView(pdu.as<tcp::CapsuleResp>().get(tcp::capsule_resp::cqe))); }

void TcpHostChannel::deliver(ByteView bytes, const ResponseFacts& facts) {
  nvme::Cqe cqe{bytes};
  World& world = fabric_.shared_.world;
  if (fabric_.shared_.hooks != nullptr) fabric_.shared_.hooks->capsule_in(options_.qid, cqe.bytes());
  if (world.trace().on()) trace_capsule(world, "host", false, false, options_.qid, cqe.bytes());
  const Slot* slot = slot_of(cqe.get(nvme::cqe::cid));
  if (slot != nullptr && slot->damaged && cqe.get(nvme::cqe::status).ok() && !departs_at("tcp.ddgst.ignored")) {
    world.trace().mark("transport.tcp.host.damaged");
    cqe.set(nvme::cqe::status, nvme::sc::transient_transport_error);
  }
  ResponseFacts all = facts;
  const bool missing =
      slot != nullptr && slot->direction == Direction::from_controller && !slot->may_be_short && slot->moved < slot->data.size();
  // A host that does not look is none that notices here.
  all.data_missing = missing && !departs_at("tcp.c2h_data.short_success") && !departs_at("tcp.lost.completes");
  handler_.on_response(cqe.bytes(), all);
}

}  // namespace fb::transport
