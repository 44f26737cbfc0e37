#include "sim/mctp/control_requester.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/mctp/control_responder.h"
#include "sim/mctp/fault_points.h"

namespace fb::mctp {

namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

std::string words_for(const Endpoint& endpoint, const ControlPeer& peer, control::Command command) {
  return fmt::format("{}: {} to EID {} at {}", endpoint.name(), control::name_of(command), peer.eid, to_string(peer.to));
}

}  // namespace

ControlRequester::ControlRequester(Endpoint& endpoint, const ControlRequesterOptions& options) : endpoint_(endpoint), options_(options) {
  const BindingFacts& facts = endpoint.binding().facts();
  if (options_.retries < 0) options_.retries = facts.retries;
  if (options_.retry_after <= Duration{}) options_.retry_after = facts.retry_after;
}

ControlRequester::~ControlRequester() = default;

// -------------------------------------------------------------------------------------------- ask

void ControlRequester::ask(const ControlPeer& peer, control::Command command, Bytes data, Then then) {
  auto made = std::make_unique<Ask>();
  made->peer = peer;
  made->command = command;
  made->data = std::move(data);
  made->then = std::move(then);
  asks_.push_back(std::move(made));
  ++counters_.requests;
  begin_what_may();
}

Op<ControlReply> ControlRequester::ask(const ControlPeer& peer, control::Command command, Bytes data) {
  auto [promise, op] = make_op<ControlReply>(endpoint_.world(), words_for(endpoint_, peer, command));
  // A function must be copyable, and a promise is not.
  auto shared = std::make_shared<Promise<ControlReply>>(std::move(promise));
  ask(peer, command, std::move(data), [shared](const ControlReply& reply) { shared->settle(reply); });
  return op;
}

void ControlRequester::ask_all(control::Command command, Bytes data, Duration window,
                               std::function<void(const std::vector<ControlReply>&)> then) {
  auto made = std::make_unique<Ask>();
  made->peer.eid = kBroadcastEid;
  made->command = command;
  made->data = std::move(data);
  made->then_all = std::move(then);
  made->everybody = true;
  made->window = window;
  asks_.push_back(std::move(made));
  ++counters_.requests;
  begin_what_may();
}

Op<std::vector<ControlReply>> ControlRequester::ask_all(control::Command command, Bytes data, Duration window) {
  using Replies = std::vector<ControlReply>;
  const ControlPeer everybody{kBroadcastEid, {}};
  auto [promise, op] = make_op<Replies>(endpoint_.world(), words_for(endpoint_, everybody, command));
  auto shared = std::make_shared<Promise<Replies>>(std::move(promise));
  ask_all(command, std::move(data), window, [shared](const Replies& replies) { shared->settle(replies); });
  return op;
}

void ControlRequester::tell(const ControlPeer& peer, control::Command command, Bytes data) {
  Outgoing out;
  out.destination = peer.eid;
  out.to = peer.to;
  // Nobody answers: the tag need not be kept.
  out.tag = {next_datagram_tag_, true};
  next_datagram_tag_ = (next_datagram_tag_ + 1) & 7;
  std::uint8_t& instance = instances_[peer];
  out.body = control::make_request(command, instance, data, true);
  instance = static_cast<std::uint8_t>((instance + 1) % control::kInstances);
  endpoint_.send(std::move(out));
}

bool ControlRequester::peer_is_busy(std::size_t index) const {
  for (std::size_t at = 0; at < index; ++at) {
    if (asks_[at]->peer == asks_[index]->peer) return true;
  }
  return false;
}

void ControlRequester::begin_what_may() {
  for (std::size_t at = 0; at < asks_.size(); ++at) {
    Ask& ask = *asks_[at];
    if (ask.begun || peer_is_busy(at)) continue;
    // Answers to a broadcast come from any EID.
    const auto tag = endpoint_.take_tag(ask.everybody ? kNullEid : ask.peer.eid);
    if (!tag) continue;
    std::uint8_t& instance = instances_[ask.peer];
    ask.begun = true;
    ask.tag = *tag;
    ask.instance = instance;
    const bool same = endpoint_.departs(departure::kRequestSameInstance);
    instance = static_cast<std::uint8_t>((instance + (same ? 0 : 1)) % control::kInstances);
    send_try(ask);
  }
}

void ControlRequester::send_try(Ask& ask) {
  ++ask.tries;
  ++counters_.tries;
  ask.deadline = Instant::never();
  if (ask.tries > 1 && endpoint_.departs(departure::kRequestInstance)) {
    ask.instance = static_cast<std::uint8_t>((ask.instance + 1) % control::kInstances);
  }
  Outgoing out;
  out.destination = ask.peer.eid;
  out.to = ask.peer.to;
  out.tag = ask.tag;
  out.body = control::make_request(ask.command, ask.instance, ask.data);
  ask.sending = endpoint_.send(std::move(out));
}

void ControlRequester::on_sent(SendId id, bool delivered) {
  for (std::size_t at = 0; at < asks_.size(); ++at) {
    Ask& ask = *asks_[at];
    if (ask.sending != id) continue;
    ask.sending = 0;
    if (!delivered) {
      ControlReply reply;
      reply.end = ControlEnd::not_delivered;
      ++counters_.not_delivered;
      if (ask.everybody) {
        settle_all(at);
      } else {
        settle(at, std::move(reply));
      }
      return;
    }
    ask.last_sent = endpoint_.world().now();
    if (ask.tries == 1) ask.first_sent = ask.last_sent;
    const bool hasty = endpoint_.departs(departure::kRequestHasty);
    const Duration retry_after = hasty ? Duration::ms(20) : options_.retry_after;
    ask.deadline = ask.last_sent + (ask.everybody ? ask.window : retry_after);
    arm();
    return;
  }
}

// --------------------------------------------------------------------------------------- answered

std::size_t ControlRequester::find_answered(const Incoming& message) const {
  const View<control::ResponseHeader> head{message.body};
  for (std::size_t at = 0; at < asks_.size(); ++at) {
    const Ask& ask = *asks_[at];
    if (!ask.begun || ask.tag.value != message.tag.value) continue;
    const bool matches = ask.instance == head.get(control::header::instance) && ask.command == head.get(control::header::command);
    if (!matches && !endpoint_.departs(departure::kRequestUnmatched)) continue;
    if (ask.everybody) return at;
    const bool by_eid = ask.peer.eid != kNullEid && ask.peer.eid == message.source;
    const bool anywhere = ask.peer.to.size == 0 || ask.peer.to == kToRoot || endpoint_.departs(departure::kRequestAnyAddress);
    const bool by_address = ask.peer.eid == kNullEid && (anywhere || ask.peer.to == message.from);
    if (by_eid || by_address) return at;
  }
  return kNone;
}

void ControlRequester::on_response(const Incoming& message) {
  const auto head = View<control::ResponseHeader>::over(message.body);
  const bool form =
      head && !head->get(control::header::request) && !head->get(control::header::datagram) && !head->get(control::header::ic);
  const bool sound = form || (head && endpoint_.departs(departure::kRequestUnmatched));
  const std::size_t index = sound ? find_answered(message) : kNone;
  if (index == kNone) {
    ++counters_.strays;
    return;
  }
  Ask& ask = *asks_[index];
  ControlReply reply;
  reply.completion = head->get(control::response::completion);
  reply.message.assign(message.body.begin(), message.body.end());
  reply.source = message.source;
  reply.from = message.from;
  // On some media the answer is here before the request is known to have left.
  if (ask.sending == 0) reply.took = endpoint_.world().now() - ask.last_sent;
  ++counters_.answered;
  if (ask.everybody) {
    reply.tries = ask.tries;
    ask.replies.push_back(std::move(reply));
    return;
  }
  settle(index, std::move(reply));
}

void ControlRequester::settle(std::size_t index, ControlReply reply) {
  const std::unique_ptr<Ask> done = std::move(asks_[index]);
  asks_.erase(asks_.begin() + static_cast<std::ptrdiff_t>(index));
  reply.tries = done->tries;
  endpoint_.release_tag(done->peer.eid, done->tag);
  if (done->sending != 0) endpoint_.withdraw(done->sending);
  begin_what_may();
  arm();
  done->then(reply);
}

void ControlRequester::settle_all(std::size_t index) {
  const std::unique_ptr<Ask> done = std::move(asks_[index]);
  asks_.erase(asks_.begin() + static_cast<std::ptrdiff_t>(index));
  endpoint_.release_tag(kNullEid, done->tag);
  begin_what_may();
  arm();
  done->then_all(done->replies);
}

void ControlRequester::reset() {
  std::vector<std::unique_ptr<Ask>> gone = std::move(asks_);
  asks_.clear();
  arm();
  for (const auto& ask : gone) {
    if (ask->begun) endpoint_.release_tag(ask->everybody ? Eid{kNullEid} : ask->peer.eid, ask->tag);
    if (ask->sending != 0) endpoint_.withdraw(ask->sending);
  }
  for (const auto& ask : gone) {
    if (ask->everybody) {
      ask->then_all(ask->replies);
      continue;
    }
    ControlReply reply;
    reply.end = ControlEnd::no_answer;
    reply.tries = ask->tries;
    ++counters_.no_answer;
    ask->then(reply);
  }
}

// ----------------------------------------------------------------------------------------- timers

void ControlRequester::on_timer() {
  const Instant now = endpoint_.world().now();
  for (std::size_t at = 0; at < asks_.size(); ++at) {
    Ask& ask = *asks_[at];
    if (ask.deadline > now) continue;
    if (ask.everybody) {
      settle_all(at);
      break;
    }
    const bool instance_lives = now - ask.first_sent < endpoint_.binding().facts().instance_life;
    const int retries = endpoint_.departs(departure::kRequestOnce) ? 0 : options_.retries;
    if (ask.tries <= retries && instance_lives) {
      send_try(ask);
      continue;
    }
    ControlReply reply;
    reply.end = ControlEnd::no_answer;
    ++counters_.no_answer;
    settle(at, std::move(reply));
    break;  // the list has changed; arm() comes back at once where more is due
  }
  arm();
}

void ControlRequester::arm() {
  Instant first = Instant::never();
  for (const auto& ask : asks_) first = std::min(first, ask->deadline);
  Loop& loop = endpoint_.world().loop();
  if (first == Instant::never()) {
    loop.cancel(timer_);
  } else {
    loop.schedule(timer_, std::max(first, endpoint_.world().now()));
  }
}

// ------------------------------------------------------------------------------------------- both

Control::Control(Endpoint& endpoint, ControlDevice& device, const ControlRequesterOptions& options)
    : endpoint_(endpoint), responder_(std::make_unique<ControlResponder>(endpoint, device)), requester_(endpoint, options) {
  endpoint_.set_handler(MessageType::control, this, control::kMessageMax);
}

Control::~Control() { endpoint_.set_handler(MessageType::control, nullptr, 0); }

Op<ControlReply> Control::notify_owner() {
  const auto& owner = responder_->owner();
  ControlPeer peer;
  if (owner) peer = {owner->eid, owner->address};
  return requester_.ask(peer, control::Command::discovery_notify);
}

void Control::on_message(const Incoming& message) {
  if (message.tag.owner) {
    responder_->on_request(message);
  } else {
    requester_.on_response(message);
  }
}

void Control::on_sent(SendId id, bool delivered) {
  responder_->on_sent(id);
  requester_.on_sent(id, delivered);
}

}  // namespace fb::mctp
