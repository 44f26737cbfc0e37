#include "sim/rdma/softroce/queue_pair.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/rdma/softroce/finer_fault_points.h"

namespace fb::softroce {

using rdma::QpState;

SoftQueuePair::SoftQueuePair(QueuePairOwner& owner, const QpCore::Surroundings& surroundings, std::uint32_t number,
                             const rdma::QueuePairOptions& options, const rdma::DeviceLimits& limits)
    : QpCore(surroundings),
      owner_(owner),
      number_(number),
      send_queue_(static_cast<SoftCompletionQueue*>(options.send_queue)),
      receive_queue_(static_cast<SoftCompletionQueue*>(options.receive_queue)),
      shared_(static_cast<SoftSharedReceiveQueue*>(options.shared_receive_queue)),
      context_(options.context),
      handler_(options.handler),
      receives_(shared_ != nullptr ? 0 : options.receive_entries - (softroce::departs(*this, finer::kQueueOneShorter) ? 1 : 0),
                options.max_receive_sges),
      requester_(*this, {options.send_entries, options.max_send_sges, limits.max_inline_bytes}),
      responder_(*this, shared_ != nullptr ? shared_->max_sges() : options.max_receive_sges) {}

SoftQueuePair::~SoftQueuePair() {
  owner_.connections().forget(*this);
  owner_.forget(*this);
}

bool SoftQueuePair::post_send(const rdma::SendRequest& request) {
  if (state_ != QpState::ready_to_send && state_ != QpState::error) return false;
  if (!requester_.post(request)) return false;
  if (state_ == QpState::error) {
    requester_.stop_and_flush();
  } else {
    want_work();
  }
  return true;
}

bool SoftQueuePair::post_receive(const rdma::ReceiveRequest& request) {
  if (shared_ != nullptr) return false;
  if (state_ == QpState::error) {
    rdma::Completion completion;
    completion.id = request.id;
    completion.status = rdma::CompletionStatus::flushed;
    completion.opcode = rdma::CompletionOpcode::receive;
    complete_receive(completion);
    return true;
  }
  return receives_.push(request);
}

void SoftQueuePair::connect(const Endpoint& to, const rdma::ConnectionParameters& parameters) {
  owner_.connections().connect(*this, to, parameters);
}
void SoftQueuePair::disconnect() { owner_.connections().disconnect(*this); }
void SoftQueuePair::fail() { stop_and_flush("failed by its owner"); }
void SoftQueuePair::to_error() { stop_and_flush("connection ended"); }

void SoftQueuePair::to_ready_to_receive(const PathFacts& facts) {
  if (state_ != QpState::init) return;
  path = facts;
  // A peer may name any code; what does not exist or does not fit becomes what does.
  const unsigned code = std::clamp<unsigned>(facts.mtu_code, 1, owner_.mtu_code());
  mtu = roce::mtu_bytes(code);
  rights = rdma::Access::remote_write;
  if (facts.responder_resources > 0) {
    rights = rights | rdma::Access::remote_read | rdma::Access::remote_atomic;
  }
  peer_ = {facts.peer, roce::kUdpPort};
  icrc_ = IcrcPath(owner_.port().local(), peer_);
  responder_.start();
  set_state(QpState::ready_to_receive, "path known");
}

void SoftQueuePair::to_ready_to_send(const PathFacts& facts) {
  if (state_ != QpState::ready_to_receive) return;
  path = facts;
  requester_.start();
  set_state(QpState::ready_to_send, "may send");
}

void SoftQueuePair::established(const rdma::ConnectionFacts& facts) {
  established_ = true;
  report({Report::Kind::established, 0, facts, {facts.private_data.begin(), facts.private_data.end()}});
}
void SoftQueuePair::accepted(const rdma::ConnectionFacts& facts) {
  report({Report::Kind::accepted, 0, facts, {facts.private_data.begin(), facts.private_data.end()}});
}
void SoftQueuePair::rejected(std::uint16_t reason, ByteView private_data) {
  report({Report::Kind::rejected, reason, {}, {private_data.begin(), private_data.end()}});
}
void SoftQueuePair::unreachable() { report({Report::Kind::unreachable, 0, {}, {}}); }
void SoftQueuePair::disconnected() { report({Report::Kind::disconnected, 0, {}, {}}); }

MutableBytes SoftQueuePair::begin_packet(std::size_t bytes) {
  outgoing_ = owner_.port().begin(peer_, bytes + roce::kIcrcBytes);
  return outgoing_.payload.first(bytes);
}

void SoftQueuePair::commit_packet() {
  MutableBytes payload = outgoing_.payload;
  if (s.hooks != nullptr) s.hooks->packet_out(payload.first(payload.size() - roce::kIcrcBytes));
  seal_icrc(icrc_, payload, outgoing_.ip);
  if (departs(Departure::send_bad_icrc)) payload.back() ^= 0x01;
  ++s.counters.packets_sent;
  s.counters.bytes_sent += payload.size();
  owner_.port().commit();
}

/// What departures make of a completion; false when they swallow it.
bool SoftQueuePair::depart_completion(rdma::Completion& completion) {
  using rdma::CompletionOpcode;
  using rdma::CompletionStatus;
  const auto told = [this](std::string_view point) { return softroce::departs(*this, point); };
  const bool with_immediate = completion.opcode == CompletionOpcode::receive_rdma_with_immediate;
  const bool receive = completion.opcode == CompletionOpcode::receive || with_immediate;
  const bool too_short = completion.status == CompletionStatus::local_length_error;
  if (too_short && told(finer::kCompletionTooShortFlushed)) {
    completion.status = CompletionStatus::flushed;
  }
  if (receive && told(finer::kCompletionReceivesMixedUp)) {
    completion.opcode = with_immediate ? CompletionOpcode::receive : CompletionOpcode::receive_rdma_with_immediate;
  }
  if (told(finer::kCompletionOtherQueuePair)) ++completion.qp_number;
  const bool read = completion.opcode == CompletionOpcode::rdma_read;
  if (read && told(finer::kCompletionReadLonger)) completion.byte_length += 8;
  if (!receive && told(finer::kCompletionAllSends)) completion.opcode = CompletionOpcode::send;
  const bool flushed = completion.status == CompletionStatus::flushed;
  if (flushed && told(receive ? finer::kCompletionFlushedReceivesVanish : finer::kCompletionFlushedSendsVanish)) {
    return false;
  }
  constexpr unsigned kRound = 65;
  return ++completions_[receive ? 1 : 0] != kRound ||
         !told(receive ? finer::kCompletionReceivesEndAfterRound : finer::kCompletionSendsEndAfterRound);
}

void SoftQueuePair::push(rdma::CompletionQueue* queue, rdma::Completion& completion) {
  completion.qp_number = number_;
  completion.qp_context = context_;
  if (queue == nullptr) return;
  if (s.hooks != nullptr && !depart_completion(completion)) return;
  if (static_cast<SoftCompletionQueue*>(queue)->push(completion) || overrun_) return;
  if (softroce::departs(*this, finer::kOverrunUnnoticed)) return;
  // Not from here: an engine is in the middle of its work.
  overrun_ = true;
  s.world.trace().mark("rdma.cq.overrun");
  want_work();
}
void SoftQueuePair::complete_send(rdma::Completion completion) { push(send_queue_, completion); }
void SoftQueuePair::complete_receive(rdma::Completion completion) { push(receive_queue_, completion); }

bool SoftQueuePair::take_receive(ReceiveEntry& entry, std::span<rdma::Sge> sges) {
  return shared_ != nullptr ? shared_->pop(entry, sges) : receives_.pop(entry, sges);
}

void SoftQueuePair::stop_and_flush(std::string_view why) {
  if (state_ == QpState::error) return;
  set_state(QpState::error, why);
  requester_.stop_and_flush();
  responder_.stop();
  if (departs(Departure::responder_flush_missing)) return;
  responder_.flush_held_receive();
  // Receives of a shared queue stay there for the others.
  ReceiveEntry entry;
  std::array<rdma::Sge, 64> sges;
  rdma::Completion completion;
  completion.status = rdma::CompletionStatus::flushed;
  completion.opcode = rdma::CompletionOpcode::receive;
  while (shared_ == nullptr && receives_.pop(entry, sges)) {
    completion.id = entry.id;
    complete_receive(completion);
  }
}

void SoftQueuePair::enter_error(std::string_view why) {
  if (state_ == QpState::error) return;
  stop_and_flush(why);
  report({Report::Kind::failed, 0, {}, {}});
}

void SoftQueuePair::on_packet(const InPacket& packet) {
  if (packet.facts->is_response()) {
    requester_.on_response(packet);
    return;
  }
  if (!established_) owner_.connections().data_before_rtu(number_);
  responder_.on_request(packet);
}

void SoftQueuePair::work() {
  if (overrun_) enter_error("completion queue overrun");
  if (state_ == QpState::error) return;
  // Requests first: what they carry is waited for, an acknowledgement seldom is.
  requester_.pump();
  if (state_ != QpState::error && responder_.work_due()) responder_.work();
}

void SoftQueuePair::depart_answer_unknown(std::uint32_t psn) {
  MutableBytes rest = open({.opcode = roce::Opcode::acknowledge, .psn = psn});
  MutableView<roce::Aeth>{rest}.set(roce::aeth::syndrome, roce::nak_syndrome(roce::NakCode::invalid_request));
  commit_packet();
}

void SoftQueuePair::set_state(QpState state, std::string_view why) {
  const QpState before = state_;
  state_ = state;
  if (!s.world.trace().on()) return;
  const std::string text = fmt::format("qp 0x{:06x} {} -> {}: {}", number_, rdma::name_of(before), rdma::name_of(state), why);
  TraceEvent event;
  event.kind = TraceKind::state;
  event.time = s.world.now();
  event.actor = owner_.name();
  event.label = "qp.state";
  event.text = text;
  s.world.trace().emit(event);
}

void SoftQueuePair::report(Report report) {
  if (handler_ == nullptr) return;
  reports_.push_back(std::move(report));
  if (!deliver_event_.scheduled()) s.world.loop().schedule(deliver_event_, s.world.now());
}

void SoftQueuePair::deliver() {
  const Report report = std::move(reports_.front());
  reports_.pop_front();
  if (!reports_.empty()) s.world.loop().schedule(deliver_event_, s.world.now());
  rdma::ConnectionFacts facts = report.facts;
  facts.private_data = report.private_data;
  // The handler may destroy this queue pair: nothing is touched after it.
  switch (report.kind) {
    case Report::Kind::established:
      handler_->on_established(*this, facts);
      return;
    case Report::Kind::accepted:
      handler_->on_accepted(*this, facts);
      return;
    case Report::Kind::rejected:
      handler_->on_rejected(*this, report.reason, report.private_data);
      return;
    case Report::Kind::unreachable:
      handler_->on_unreachable(*this);
      return;
    case Report::Kind::disconnected:
      handler_->on_disconnected(*this);
      return;
    case Report::Kind::failed:
      handler_->on_queue_error(*this);
      return;
  }
}

}  // namespace fb::softroce
