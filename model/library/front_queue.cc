#include "model/library/front_queue.h"

#include <algorithm>
#include <utility>

#include "model/library/front.h"
#include "wire/fabrics/sqe.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/opcodes.h"

namespace fb::library {

namespace sc = nvme::sc;

namespace {

/// From the connection to a Connect that succeeds.
constexpr Duration kConnectTime = Duration::s(60);

bool is_fabrics(const transport::ArrivedCommand& arrived, fabrics::FabricsType type) {
  return arrived.sqe[0] == nvme::kFabricsOpcode && View<fabrics::AnyFabricsSqe>{arrived.sqe}.get(fabrics::sqe::fctype) == type;
}

std::uint16_t cid_of(const transport::ArrivedCommand& arrived) { return load_le<std::uint16_t>(arrived.sqe.data() + 2); }
}  // namespace

FrontQueue::FrontQueue(Front& front, std::unique_ptr<transport::ControllerChannel> channel)
    : front_(front), channel_(std::move(channel)), entries_(std::max<std::uint32_t>(channel_->entries(), 2)) {
  channel_->set_handler(this);
  front_.world_.loop().schedule_after(idle_timer_, kConnectTime);
}

// ---- the end ----

void FrontQueue::close(std::string_view why) {
  if (!alive_) return;
  alive_ = false;
  front_.world_.loop().cancel(idle_timer_);
  for (const transport::ArrivedCommand* arrived : outstanding_) front_.forget(arrived->tag);
  outstanding_.clear();
  if (front_.world_.trace().on()) {
    front_.world_.trace().emit({.kind = TraceKind::state,
                                .time = front_.world_.now(),
                                .actor = "target",
                                .label = "queue.closed",
                                .text = why,
                                .bytes = {},
                                .source = channel_->local(),
                                .destination = channel_->peer(),
                                .ip = {}});
  }
  channel_->close();
  front_.reap_later();
}

void FrontQueue::on_idle() { close(retired_ ? "disconnected queue" : "no Connect"); }

void FrontQueue::on_end(std::string_view) {
  if (!alive_) return;
  alive_ = false;
  front_.world_.loop().cancel(idle_timer_);
  for (const transport::ArrivedCommand* arrived : outstanding_) front_.forget(arrived->tag);
  outstanding_.clear();
  front_.reap_later();
  if (!connected_ || retired_) return;
  front_.after_call([&front = front_, controller = controller_, qid = qid_] { front.queue_gone(controller, qid); });
}

void FrontQueue::drop_commands(const transport::ArrivedCommand* except) {
  for (transport::ArrivedCommand* arrived : std::exchange(outstanding_, {})) {
    if (arrived == except) {
      outstanding_.push_back(arrived);
      continue;
    }
    front_.forget(arrived->tag);
    channel_->drop(*arrived);
  }
}

void FrontQueue::retire(const transport::ArrivedCommand& disconnect) {
  for (transport::ArrivedCommand* arrived : std::vector(outstanding_)) {
    if (!alive_ || arrived == &disconnect || !holds(*arrived)) continue;
    front_.forget(arrived->tag);
    complete(*arrived, sc::aborted_sq_deletion);
  }
  retired_ = true;
}

// ---- arrivals ----

bool FrontQueue::holds(const transport::ArrivedCommand& arrived) const { return std::ranges::count(outstanding_, &arrived) != 0; }

bool FrontQueue::same_cid(const transport::ArrivedCommand& arrived) const {
  return std::ranges::any_of(outstanding_, [&](const auto* other) { return other != &arrived && cid_of(*other) == cid_of(arrived); });
}

bool FrontQueue::overfilled() const {
  if (!flow_control_) return outstanding_.size() > entries_;
  return fetched_ - reported_ > entries_ - 1;
}

/// A host that sends more than there is room for has no association any more.
void FrontQueue::overfill() {
  front_.world_.trace().mark("library.sq.overfilled");
  const bool told = connected_ && !retired_;
  close("submission queue overfilled");
  if (told) front_.queue_gone(controller_, 0);
}

void FrontQueue::on_command(transport::ArrivedCommand& arrived) {
  if (!alive_) return;
  arrived.tag = 0;
  outstanding_.push_back(&arrived);
  front_.after_call([this, &arrived] {
    if (alive_ && holds(arrived)) take(arrived);
  });
}

void FrontQueue::take(transport::ArrivedCommand& arrived) {
  if (retired_) {
    std::erase(outstanding_, &arrived);
    return channel_->drop(arrived);
  }
  ++fetched_;
  if (overfilled()) return overfill();
  if (same_cid(arrived)) return complete(arrived, nvme::Status(sc::command_id_conflict).with_dnr());
  const bool connect = is_fabrics(arrived, fabrics::FabricsType::connect);
  if (connect && !connected_) return start_connect(arrived);
  if (connect || !connected_) return complete(arrived, nvme::Status(sc::command_sequence_error).with_dnr());
  if (is_fabrics(arrived, fabrics::FabricsType::property_get)) return property(arrived, false);
  if (is_fabrics(arrived, fabrics::FabricsType::property_set)) return property(arrived, true);
  if (is_fabrics(arrived, fabrics::FabricsType::disconnect)) return disconnect(arrived);
  const fb_handle handle = front_.add(*this, arrived);
  // The library's is a copy: a completion may give the slot to the next command while it still looks.
  const auto sqe = arrived.sqe;
  front_.call("command(): opcode " + std::to_string(sqe[0]) + " on queue " + std::to_string(qid_),
              [&] { front_.table().command(front_.product_, controller_, qid_, sqe.data(), handle); });
}

void FrontQueue::on_pulled(transport::ArrivedCommand& arrived) {
  if (!alive_) return;
  front_.after_call([this, &arrived, handle = arrived.tag] {
    if (!alive_ || !holds(arrived) || arrived.tag != handle) return;
    if (handle != 0) return front_.give_data(handle);
    if (!arrived.fault.ok()) return complete(arrived, arrived.fault);
    finish_connect(arrived);
  });
}

// ---- answers ----

std::uint16_t FrontQueue::head() const { return flow_control_ ? static_cast<std::uint16_t>(fetched_ % entries_) : std::uint16_t{0}; }

void FrontQueue::complete(transport::ArrivedCommand& arrived, nvme::Status status, std::uint64_t dwords) {
  nvme::Cqe cqe;
  cqe.set(nvme::cqe::dw0, dwords & 0xFFFFFFFF)
      .set(nvme::cqe::dw1, dwords >> 32)
      .set(nvme::cqe::cid, cid_of(arrived))
      .set(nvme::cqe::status, status);
  respond(arrived, cqe.bytes());
}

void FrontQueue::respond(transport::ArrivedCommand& arrived, ByteView cqe) {
  if (!alive_) return;
  const bool connect = is_fabrics(arrived, fabrics::FabricsType::connect);
  std::array<std::uint8_t, nvme::CqeLayout::size> entry;
  std::copy_n(cqe.begin(), entry.size(), entry.begin());
  const bool off = connect && !flow_control_ && connected_;
  store_le<std::uint16_t>(entry.data() + 8, off ? nvme::kSqFlowControlDisabled : head());
  store_le<std::uint16_t>(entry.data() + 10, 0);
  entry[14] = static_cast<std::uint8_t>(entry[14] & 0xFE);
  reported_ = fetched_;
  std::erase(outstanding_, &arrived);
  channel_->respond(arrived, entry);
}

}  // namespace fb::library
