#include "model/library/front_management.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "model/library/front.h"
#include "wire/mi/message.h"

namespace fb::library {

namespace {

// The numbers of the header are those of sim/mctp/port.h.
static_assert(static_cast<int>(mctp::Abandoned::too_long) == FB_MI_TOO_LONG);
static_assert(static_cast<int>(mctp::Abandoned::out_of_sequence) == FB_MI_OUT_OF_SEQUENCE);
static_assert(static_cast<int>(mctp::Drop::too_short) == FB_MI_TOO_SHORT);
static_assert(static_cast<int>(mctp::Drop::no_route) == FB_MI_NO_ROUTE);

constexpr std::uint32_t kSendMax = 1u << 16;

}  // namespace

FrontManagement::FrontManagement(Front& front, mctp::Port& port, std::function<void(bool)> reset)
    : front_(front), port_(port), reset_(std::move(reset)) {
  const std::uint32_t most = front_.table().mi_bytes;
  port_.set_handler(mctp::MessageType::nvme_mi, this, most != 0 ? most : mi::kMessageMax);
}

FrontManagement::~FrontManagement() { port_.set_handler(mctp::MessageType::nvme_mi, nullptr, 0); }

// ---- to the library ----

void FrontManagement::give(const char* name, void (*to)(void*, const fb_mi_message*), const mctp::Incoming& message) {
  front_.after_call([this, name, to, message, body = Bytes(message.body.begin(), message.body.end())] {
    fb_mi_message made = {};
    made.eid = message.source;
    made.self = message.destination;
    made.tag = message.tag.value;
    made.tag_owner = message.tag.owner ? 1 : 0;
    std::copy(message.from.bytes.begin(), message.from.bytes.end(), made.address);
    made.address_bytes = message.from.size;
    made.bytes = static_cast<std::uint32_t>(body.size());
    made.body = body.data();
    front_.call(name, [&] { to(front_.product_, &made); });
  });
}

void FrontManagement::on_message(const mctp::Incoming& message) { give("mi_message()", front_.table().mi_message, message); }

void FrontManagement::on_started(const mctp::Incoming& first) {
  if (front_.table().mi_started != nullptr) give("mi_started()", front_.table().mi_started, first);
}

void FrontManagement::on_abandoned(mctp::Eid source, mctp::Tag tag, mctp::Abandoned why) {
  if (front_.table().mi_abandoned == nullptr) return;
  front_.after_call([this, source, tag, why] {
    front_.call("mi_abandoned()",
                [&] { front_.table().mi_abandoned(front_.product_, source, tag.value, tag.owner ? 1 : 0, static_cast<int>(why)); });
  });
}

void FrontManagement::on_sent(mctp::SendId id, bool delivered) {
  if (front_.table().mi_sent == nullptr) return;
  front_.after_call(
      [this, id, delivered] { front_.call("mi_sent()", [&] { front_.table().mi_sent(front_.product_, id, delivered ? 1 : 0); }); });
}

void FrontManagement::on_drop(mctp::Drop why) {
  if (front_.table().mi_dropped == nullptr) return;
  front_.after_call(
      [this, why] { front_.call("mi_dropped()", [&] { front_.table().mi_dropped(front_.product_, static_cast<int>(why)); }); });
}

// ---- services ----

std::uint64_t FrontManagement::send(const fb_mi_message* message) {
  const fb_mi_message asked = *message;
  if (asked.tag > 7 || asked.unit < mctp::kBaselineUnit || asked.bytes == 0 || asked.bytes > kSendMax ||
      asked.address_bytes > sizeof(asked.address)) {
    front_.blame(fmt::format("mi_send() of {} bytes with tag {}, unit {} and {} bytes of address: not 1 to {}, 0 to 7, {} or more, 0 to {}",
                             asked.bytes, asked.tag, asked.unit, asked.address_bytes, kSendMax, mctp::kBaselineUnit,
                             sizeof(asked.address)));
    return 0;
  }
  body_.resize(asked.bytes);
  std::memcpy(body_.data(), asked.body, asked.bytes);
  mctp::Outgoing made;
  made.destination = asked.eid;
  made.source = asked.self;
  std::copy(std::begin(asked.address), std::end(asked.address), made.to.bytes.begin());
  made.to.size = asked.address_bytes;
  made.tag = {asked.tag, asked.tag_owner != 0};
  made.unit = asked.unit;
  made.body = std::move(body_);
  return port_.send(std::move(made));
}

void FrontManagement::set_unit(std::uint32_t unit) {
  if (unit < mctp::kBaselineUnit || unit > port_.unit_max()) {
    return front_.blame(fmt::format("mi_set_unit({}): not {} to {}", unit, mctp::kBaselineUnit, port_.unit_max()));
  }
  port_.set_unit(unit);
}

std::int32_t FrontManagement::take_tag(std::uint8_t eid) {
  const auto tag = port_.take_tag(eid);
  return tag ? tag->value : -1;
}

}  // namespace fb::library
