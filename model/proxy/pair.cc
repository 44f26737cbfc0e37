#include "model/proxy/pair.h"

#include <algorithm>
#include <utility>

#include "wire/fabrics/connect.h"
#include "wire/nvme/sqe.h"

namespace fb::proxy {

namespace {

// A segment of the trace fits into one IP packet, so that findings and captures count alike.
constexpr std::size_t kShownMax = 60'000;
constexpr std::size_t kBacklogMax = 4u << 20;   // under faults: so much waits, then a side is no longer read
constexpr unsigned kRoundsMax = 4;              // of one connection, before others have their turn
constexpr Duration kFarewell = Duration::s(1);  // a peer that takes nothing more

}  // namespace

// ------------------------------------------------------------------------------------------- one leg

void Pair::Leg::on_connected() {
  open_ = true;
  if (pair_.controller_view_) pair_.controller_view_->ends(stream_->local(), stream_->peer());
  if (pair_.controller_view_) pair_.controller_view_->handshake(true);
  on_writable();
  pair_.pull(pair_.other(*this));
}

void Pair::Leg::write(ByteView bytes) {
  if (backlog() == 0) {
    const std::size_t sent = open_ ? stream_->send({&bytes, 1}) : 0;
    bytes = bytes.subspan(sent);
    unsent_.clear();
    at_ = 0;
  }
  unsent_.insert(unsent_.end(), bytes.begin(), bytes.end());
}

void Pair::Leg::on_writable() {
  if (!open_ || pair_.over_) return;
  if (pipe_) {
    pipe_->on_writable();
  } else if (backlog() > 0) {
    const ByteView rest = ByteView(unsent_).subspan(at_);
    at_ += stream_->send({&rest, 1});
  }
  if (backlog() == 0) pair_.flushed(*this);
}

std::size_t Pair::Leg::send(ByteView bytes) {
  if (!open_ || pair_.over_) return 0;
  const std::size_t sent = stream_->send({&bytes, 1});
  net::TcpTrace& view = is_host_ ? pair_.host_view_ : *pair_.controller_view_;
  for (ByteView left = bytes.first(sent); !left.empty(); left = left.subspan(std::min(left.size(), kShownMax))) {
    const ByteView part = left.first(std::min(left.size(), kShownMax));
    view.sent({&part, 1}, part.size());
  }
  return sent;
}

// ------------------------------------------------------------------------------------------- the pair

Pair::Pair(TcpProxy& proxy, std::unique_ptr<net::Stream> host, const Route& route, std::vector<Renamed> names)
    : proxy_(proxy),
      world_(proxy.world_),
      faults_(proxy.faults_.get()),
      host_view_(world_, host->local(), host->peer(),
                 {.shown = true, .local = proxy.faults_ ? actors::towards_host : actors::controller, .peer = actors::host}) {
  host_.stream_ = std::move(host);
  host_.open_ = true;
  host_view_.handshake(false);
  if (!proxy.options_.keep_discovery) rewriter_.emplace(std::move(names));
  connect(route);
  if (over_) return;
  if (under_faults()) {
    commands_.emplace(*faults_);
    const Endpoint us = host_.stream_->local(), peer = host_.stream_->peer();
    controller_.pipe_.emplace(world_, faults_->network, faults_->to_controller, peer, us, controller_);
    host_.pipe_.emplace(world_, faults_->network, faults_->to_host, us, peer, host_);
    host_.whole_pdus_ = controller_.whole_pdus_ = true;
  }
  host_.stream_->set_handler(&host_);
}

Pair::~Pair() = default;

void Pair::connect(const Route& route) {
  if (under_faults()) {
    controller_view_.emplace(world_, Endpoint{proxy_.options_.from, 0}, route.to,
                             net::TcpTraceOptions{.shown = true, .local = actors::towards_controller, .peer = actors::controller});
  }
  const auto& towards = proxy_.options_.towards;
  Result<net::StreamHost*> streams = towards ? towards(host_.stream_->identity()) : Result<net::StreamHost*>(&proxy_.streams_);
  if (!streams) return unreachable(streams.error().text);
  auto stream = (*streams)->connect({proxy_.options_.from, 0}, route.to, controller_);
  if (stream) {
    controller_.stream_ = std::move(stream).value();
    return;
  }
  unreachable(stream.error().text);
}

void Pair::unreachable(const std::string& why) {
  ++proxy_.counters_.unreachable;
  proxy_.remark(why);
  reset_both();
}

void Pair::judge(const Leg& from, ByteView bytes) {
  auto& counters = proxy_.counters_;
  (from.is_host_ ? counters.to_controller_bytes : counters.to_host_bytes) += bytes.size();
  while (!bytes.empty()) {
    const ByteView part = bytes.first(std::min(bytes.size(), kShownMax));
    bytes = bytes.subspan(part.size());
    if (from.is_host_) {
      host_view_.received(part);
    } else if (controller_view_) {
      controller_view_->received(part);
    } else {
      host_view_.sent({&part, 1}, part.size());
    }
  }
}

void Pair::pull(Leg& from) {
  Leg& to = other(from);
  for (unsigned round = 0; round < kRoundsMax; ++round) {
    if (over_ || !to.open_ || !from.open_) return;
    const std::size_t waits = to.pipe_ ? to.pipe_->queued() : to.backlog();
    if (waits > (to.pipe_ ? kBacklogMax : 0)) return;  // on_writable() comes back to it
    const MutableBytes room(proxy_.room_);
    const std::size_t got = from.stream_->receive({&room, 1});
    if (got > 0) pass(from, room.first(got));
    if (over_) return;
    if (got < room.size()) {
      if (from.stream_->finished() && !std::exchange(from.finished_by_peer_, true)) peer_finished(from);
      return;
    }
  }
  world_.loop().schedule_after(again_, {});
}

void Pair::pull_again() {
  pull(host_);
  pull(controller_);
}

void Pair::pass(Leg& from, ByteView bytes) {
  if (under_faults()) {
    judge(from, bytes);
    pass_whole(from, bytes);
    return;
  }
  // Forwarded first: what is said in answer comes in a later call, so that the order is the same.
  pass_quietly(from, bytes);
  judge(from, bytes);
}

// -------------------------------------------------------------------------------------- a quiet proxy

void Pair::pass_quietly(Leg& from, ByteView bytes) {
  const bool looks = rewriter_ && !is_io_;
  if (from.is_host_) {
    if (looks) follow_host(bytes);
    controller_.write(bytes);
  } else if (looks) {
    pass_log_pages(bytes);
  } else {
    host_.write(bytes);
  }
}

void Pair::follow_host(ByteView bytes) {
  HeaderWalk& walk = host_.walk_;
  while (!bytes.empty() && !walk.lost()) {
    bytes = bytes.subspan(walk.advance(bytes));
    if (!walk.header().empty()) saw_header(walk.header());
  }
  if (walk.lost()) is_io_ = true;
}

void Pair::saw_header(ByteView header) {
  if (header.size() < tcp::CapsuleCmd::size || header[0] != static_cast<std::uint8_t>(tcp::PduType::capsule_cmd)) return;
  const ByteView sqe = View<tcp::CapsuleCmd>{header}.get(tcp::capsule_cmd::sqe);
  if (sqe[0] != nvme::kFabricsOpcode) {
    if (rewriter_) rewriter_->on_command(sqe);
  } else if (sqe[4] == static_cast<std::uint8_t>(nvme::FabricsType::connect)) {
    is_io_ = View<fabrics::ConnectSqe>{sqe}.get(fabrics::connect_sqe::qid) != fabrics::kAdminQueue;
  }
}

// While a log page is on its way, the controller's PDUs are looked at one by one; otherwise their headers pass by.
void Pair::pass_log_pages(ByteView bytes) {
  HeaderWalk& walk = controller_.walk_;
  while (!bytes.empty()) {
    if (!controller_.whole_pdus_ && rewriter_->waiting() && walk.between()) controller_.whole_pdus_ = true;
    if (controller_.whole_pdus_) return pass_whole(controller_, bytes);
    std::size_t passed = 0;
    do {
      passed += walk.advance(bytes.subspan(passed));
    } while (passed < bytes.size() && !(walk.between() && rewriter_->waiting()));
    host_.write(bytes.first(passed));
    bytes = bytes.subspan(passed);
  }
}

// ------------------------------------------------------------------------------------------ PDU by PDU

void Pair::pass_whole(Leg& from, ByteView bytes) {
  from.cutter_.feed(bytes);
  while (auto pdu = from.cutter_.next()) {
    on_pdu(from, std::move(*pdu));
    if (over_) return;
  }
  if (under_faults() || from.is_host_) return;
  // Quiet: nothing is asked for any more, and nothing of the next PDU is there.
  if (!rewriter_->waiting() && from.cutter_.held() == 0 && !from.cutter_.lost()) from.whole_pdus_ = false;
}

void Pair::on_pdu(Leg& from, Bytes pdu) {
  if (!from.is_host_) {
    std::vector<Bytes> out;
    if (rewriter_ && !is_io_ && rewriter_->waiting()) {
      const std::uint64_t before = rewriter_->renamed();
      rewriter_->take(std::move(pdu), out);
      proxy_.counters_.renamed_entries += rewriter_->renamed() - before;
      for (const std::string& past : rewriter_->past()) proxy_.remark("a discovery log entry leads past the proxy: " + past);
    } else {
      out.push_back(std::move(pdu));
    }
    deliver(host_, out);
    return;
  }
  saw_header(pdu);
  Duration late;
  if (pdu.size() >= tcp::CapsuleCmd::size && pdu[0] == static_cast<std::uint8_t>(tcp::PduType::capsule_cmd)) {
    late = commands_->on_command(View<tcp::CapsuleCmd>{pdu}.get(tcp::capsule_cmd::sqe));
  }
  if (late > Duration{}) {
    hold({world_.now() + late, std::move(pdu), &controller_, Late::Why::slow});
    return;
  }
  std::vector<Bytes> out{std::move(pdu)};
  deliver(controller_, out);
}

void Pair::deliver(Leg& to, std::vector<Bytes>& pdus) {
  if (!under_faults()) {
    for (const Bytes& pdu : pdus) to.write(pdu);
    return;
  }
  std::vector<Bytes> out;
  bool lives = true;
  for (Bytes& pdu : pdus) {
    if (!to.is_host_) {
      out.push_back(std::move(pdu));
    } else if (!commands_->on_answer(std::move(pdu), out)) {
      lives = false;
      break;
    }
  }
  (to.is_host_ ? faults_->by_controller : faults_->by_host).apply(out);
  for (Bytes& pdu : out) on_passage(to, std::move(pdu));
  if (!lives) reset_both();
}

void Pair::on_passage(Leg& to, Bytes pdu) {
  if (over_) return;
  const auto behind = std::ranges::find_if(late_, [&](const Late& one) { return one.to == &to && one.why == Late::Why::swapped; });
  Bytes first;
  if (behind != late_.end()) {
    first = std::move(behind->pdu);
    late_.erase(behind);
  }
  Passage& passage = to.is_host_ ? faults_->from_controller : faults_->from_host;
  const Passage::Verdict verdict = passage.on_pdu(pdu, !is_io_, world_.now());
  if (verdict.late > Duration{}) {
    hold({world_.now() + verdict.late, std::move(pdu), &to, Late::Why::late});
  } else if (verdict.swap && first.empty() && !verdict.half_close) {
    hold({world_.now() + kFarewell, std::move(pdu), &to, Late::Why::swapped});
  } else if (!verdict.lost) {
    to.pipe_->push(pdu);
  }
  if (!over_ && !first.empty()) to.pipe_->push(first);
  if (!over_ && verdict.half_close) to.pipe_->finish();
}

void Pair::hold(Late late) {
  if (!held_.scheduled() || held_.deadline() > late.due) world_.loop().schedule(held_, late.due);
  late_.push_back(std::move(late));
}

void Pair::held_due() {
  std::vector<Late> due;
  Instant next = Instant::never();
  std::erase_if(late_, [&](Late& one) {
    if (one.due > world_.now()) {
      next = std::min(next, one.due);
      return false;
    }
    due.push_back(std::move(one));
    return true;
  });
  if (next != Instant::never()) world_.loop().schedule(held_, next);
  for (Late& one : due) {
    if (over_) return;
    if (one.why != Late::Why::slow) {
      one.to->pipe_->push(one.pdu);
      continue;
    }
    std::vector<Bytes> pdus{std::move(one.pdu)};
    deliver(*one.to, pdus);
  }
}

// --------------------------------------------------------------------------------------------- the end

void Pair::peer_finished(Leg& from) {
  Leg& to = other(from);
  (from.is_host_ || !controller_view_ ? host_view_ : *controller_view_).finished(!from.is_host_ && !controller_view_);
  // What is no whole PDU passes on as it is.
  std::vector<Bytes> rest;
  if (rewriter_ && !from.is_host_) rewriter_->release(rest);
  if (from.whole_pdus_ && from.cutter_.held() > 0) rest.push_back(from.cutter_.take_rest());
  for (const Bytes& bytes : rest) to.pipe_ ? to.pipe_->push(bytes) : to.write(bytes);
  if (over_) return;
  if (to.pipe_) {
    to.pipe_->finish();
    return;
  }
  to.finishing_ = true;
  if (to.backlog() == 0) flushed(to);
}

/// Everything that was to leave on this leg has left.
void Pair::flushed(Leg& leg) {
  if (resetting_) return reset_both();
  if (leg.finishing_) finish_leg(leg);
  if (!over_) pull(other(leg));
}

void Pair::finish_leg(Leg& leg) {
  if (over_ || std::exchange(leg.finished_by_us_, true)) return;
  if (controller_view_) (leg.is_host_ ? host_view_ : *controller_view_).finished(true);
  leg.stream_->finish();
  if (host_.finished_by_us_ && controller_.finished_by_us_) {
    host_.stream_->close();
    controller_.stream_->close();
    finish_over();
  }
}

void Pair::ended(Leg& leg, const net::StreamEnd& end) {
  if (over_) return;
  const bool was_open = std::exchange(leg.open_, false);
  // Before it was open: nobody was there, or the handshake of TLS failed.
  if (!leg.is_host_ && !was_open) {
    ++proxy_.counters_.unreachable;
    proxy_.remark("no connection to the controller: " + end.text);
  }
  const bool by_local = !leg.is_host_ && !controller_view_;
  (leg.is_host_ || !controller_view_ ? host_view_ : *controller_view_).reset(by_local);
  // What the side said before it broke the connection is still delivered, if the other takes it.
  Leg& to = other(leg);
  if (!to.open_ || (to.pipe_ ? to.pipe_->queued() : to.backlog()) == 0) return reset_both();
  resetting_ = true;
  world_.loop().schedule_after(give_up_, kFarewell);
}

void Pair::reset_both() {
  if (over_) return;
  for (Leg* leg : {&host_, &controller_}) {
    if (leg->stream_ == nullptr) continue;
    if (leg->open_ && controller_view_) (leg->is_host_ ? host_view_ : *controller_view_).reset(true);
    leg->stream_->abort();
  }
  finish_over();
}

void Pair::close() {
  if (over_) return;
  for (Leg* leg : {&host_, &controller_}) {
    if (leg->stream_ != nullptr) leg->stream_->close();
  }
  finish_over();
}

void Pair::finish_over() {
  over_ = true;
  world_.loop().cancel(give_up_);
  world_.loop().cancel(held_);
  world_.loop().cancel(again_);
  world_.loop().schedule_after(proxy_.bury_, {});
}

}  // namespace fb::proxy
