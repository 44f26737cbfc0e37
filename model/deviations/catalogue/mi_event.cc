// Asynchronous events that are not sent, not ended, or not what they should be.
#include <set>

#include "model/deviations/deviation.h"
#include "model/deviations/endpoint_speech.h"
#include "model/drive/drive.h"
#include "model/mi/fault_points.h"
#include "wire/mi/control.h"
#include "wire/mi/events.h"

namespace fb::deviations {

using mi::MessageContext;
using mi::Opcode;
using mi::Status;

namespace {

constexpr std::uint8_t kEvents = static_cast<std::uint8_t>(mi::ConfigurationId::async_event);

bool is_get(const MessageContext& message) { return is_mi(message, Opcode::configuration_get) && (nmd0_of(message) & 0xFF) == kEvents; }
bool is_set(const MessageContext& message) { return is_mi(message, Opcode::configuration_set) && (nmd0_of(message) & 0xFF) == kEvents; }
/// How many events an enable list names.
unsigned items_of(const MessageContext& message) { return request_byte(message, mi::MiRequest::size); }
/// A message of the endpoint's own, with its list from byte 4 on.
bool is_event(const Bytes& body) { return body.size() >= 11 && body[1] == 0x28; }

void list_longer_than_it_is(const MessageContext& message, Bytes& body) {
  if (is_get(message) && is_success(body) && body.size() > 10) body[8 + 2] = static_cast<std::uint8_t>(body[8 + 2] + 3);
}
void an_event_twice(const MessageContext& message, Bytes& body) {
  if (is_get(message) && is_success(body) && body.size() > 8 + 10) body[8 + 5 + 3 + 1] = body[8 + 5 + 1];
}
void reserved_bits_in_items(const MessageContext& message, Bytes& body) {
  if (is_get(message) && is_success(body) && body.size() > 8 + 7) body[8 + 5 + 2] |= 0x10;
}
std::optional<Status> lists_without_effect(const MessageContext& message) {
  if (!is_set(message) || items_of(message) == 0) return std::nullopt;
  return Status::success;
}
/// A list with items is all that is enabled; what it does not name, is not.
class ListsReplace final : public mi::EndpointHooks {
 public:
  void response(const MessageContext& message, Bytes& body) override {
    if (!is_success(body)) return;
    if (is_set(message) && items_of(message) != 0) {
      on_.clear();
      for (std::size_t at = mi::MiRequest::size + 5; at + 2 < message.request.size(); at += 3) {
        if ((message.request[at + 2] & 0x80) != 0) on_.insert(message.request[at + 1]);
      }
    }
    if (!is_get(message)) return;
    for (std::size_t at = 8 + 5; at + 2 < body.size(); at += 3) body[at + 2] = on_.contains(body[at + 1]) ? 0x80 : 0x00;
  }

 private:
  std::set<std::uint8_t> on_;
};
/// After a reset the events are as before.
class EnabledStays final : public mi::EndpointHooks {
 public:
  std::optional<Status> admission(const MessageContext& message) override {
    after_ = after_ || is_mi(message, Opcode::reset);
    return std::nullopt;
  }
  void response(const MessageContext& message, Bytes& body) override {
    if (after_ && is_get(message) && is_success(body) && body.size() > 8 + 7) body[8 + 7] |= 0x80;
  }

 private:
  bool after_ = false;
};

void events_as_responses(const MessageContext&, Bytes& body) {
  if (is_event(body)) body[1] = 0xA8;
}
void events_of_slot_1(const MessageContext&, Bytes& body) {
  if (is_event(body)) body[1] = 0x29;
}
void events_of_version_1(const MessageContext&, Bytes& body) {
  if (is_event(body)) body[4 + 1] = 1;
}
void events_longer_than_they_are(const MessageContext&, Bytes& body) {
  if (is_event(body)) ++body[4 + 2];
}
void life_as_spare(const MessageContext&, Bytes& body) {
  constexpr std::size_t kId = 4 + 7 + 3;
  if (is_event(body) && body.size() > kId && body[kId] == 0x07) body[kId] = 0x08;
}
void retries_not_counted(const MessageContext&, Bytes& body) {
  if (is_event(body)) body[4 + 6] &= 0xF8;
}
void one_generation(const MessageContext&, Bytes& body) {
  if (is_event(body)) body[4 + 6] = static_cast<std::uint8_t>((body[4 + 6] & 7) | 1 << 3);
}
void nothing_with_acknowledgements(const MessageContext& message, Bytes& body) {
  if (!is_set(message) || items_of(message) != 0 || !is_success(body) || body.size() < 8 + 7) return;
  body.resize(8 + 7);
  body[8] = 0;
  body[8 + 2] = 7;
}
bool takes_any_version(const MessageContext& message, mi::Refusal& refusal) {
  return refusal.check != "mi.config.event.list" || request_byte(message, mi::MiRequest::size + 1) == 0;
}

/// The first two messages of every event do not leave.
class Late final : public mi::EndpointHooks {
 public:
  Delivery message_out(const MessageContext&, Bytes& bytes) override {
    if (bytes.size() < 15 || bytes[1] != 0x28) return Delivery::send;
    return (bytes[4 + 6] & 7) < 2 ? Delivery::withhold : Delivery::send;
  }
};
/// What occurs while it is paused is never sent.
class ForgetsWhilePaused final : public mi::EndpointHooks {
 public:
  void response(const MessageContext& message, Bytes&) override {
    paused_ = paused_ || (message.kind() == mi::MessageKind::control_primitive && message.request.size() > 4 &&
                          message.opcode() == static_cast<std::uint8_t>(mi::Primitive::pause));
  }
  Delivery message_out(const MessageContext&, Bytes& bytes) override {
    return paused_ && bytes.size() > 2 && bytes[1] == 0x28 ? Delivery::withhold : Delivery::send;
  }

 private:
  bool paused_ = false;
};

/// An answer to a list with items brings nothing, and what it would have brought never comes.
void nothing_with_lists(const MessageContext& message, Bytes& body) {
  if (!is_set(message) || items_of(message) == 0 || !is_success(body) || body.size() < 8 + 7) return;
  body.resize(8 + 7);
  body[8] = 0;
  body[8 + 2] = 7;
}
constexpr std::size_t kContext = 4 + 7 + 4, kScope = 4 + 7 + 8;
void events_of_the_subsystem(const MessageContext&, Bytes& body) {
  if (is_event(body) && body.size() > kScope && body[kScope] == 1) body[kScope] = body[kContext] = 0;
}
void events_of_the_first_controller(const MessageContext&, Bytes& body) {
  if (is_event(body) && body.size() > kScope && body[kScope] == 1) body[kContext] = 1;
}
void events_of_the_first_port(const MessageContext&, Bytes& body) {
  if (is_event(body) && body.size() > kScope && body[kScope] == 2) body[kContext] = 0;
}

}  // namespace

DEVIATION(event_list_length_wrong, "mi.event.supported.list", Product::endpoint, "gives its list of events another length",
          hooks<ResponseChanged, &list_longer_than_it_is>());
DEVIATION(event_listed_twice, "mi.event.supported.list", Product::endpoint, "lists an event twice",
          hooks<ResponseChanged, &an_event_twice>());
DEVIATION(event_list_reserved_set, "mi.event.supported.list", Product::endpoint, "sets reserved bits in its list of events",
          hooks<ResponseChanged, &reserved_bits_in_items>());
DEVIATION(events_stay_enabled, "mi.event.reset", Product::endpoint, "keeps its events enabled over a reset", hooks<EnabledStays>());
DEVIATION(event_lists_without_effect, "mi.event.sync", Product::endpoint, "enables nothing", hooks<SomeNotServed, &lists_without_effect>());
DEVIATION(event_lists_replace, "mi.event.sync", Product::endpoint, "disables the events that an enable list does not name",
          hooks<ListsReplace>());
DEVIATION(events_never_sent, "mi.event.message", Product::endpoint, "reports no event", Departs{mi::departure::event_not_sent});
DEVIATION(events_without_tag_owner, "mi.event.message", Product::endpoint, "sends events as if they were answers",
          Departs{mi::departure::event_tag});
DEVIATION(events_with_a_wrong_check, "mi.event.message", Product::endpoint, "sends events with a wrong check",
          Departs{mi::departure::event_integrity});
DEVIATION(events_say_they_respond, "mi.event.message", Product::endpoint, "sends events with the response bit",
          hooks<ResponseChanged, &events_as_responses>());
DEVIATION(events_name_slot_1, "mi.event.message", Product::endpoint, "sends events with a command slot",
          hooks<ResponseChanged, &events_of_slot_1>());
DEVIATION(events_of_another_version, "mi.event.message", Product::endpoint, "sends lists of version 1",
          hooks<ResponseChanged, &events_of_version_1>());
DEVIATION(events_with_another_length, "mi.event.message", Product::endpoint, "sends lists of another length",
          hooks<ResponseChanged, &events_longer_than_they_are>());
DEVIATION(life_reported_as_spare, "mi.event.causes", Product::endpoint, "reports the drive life as the available spare",
          hooks<ResponseChanged, &life_as_spare>());
DEVIATION(events_come_late, "mi.event.delay", Product::endpoint, "sends events seconds after their delay", hooks<Late>());
DEVIATION(events_not_repeated, "mi.event.retry", Product::endpoint, "sends no event a second time",
          Departs{mi::departure::event_not_repeated});
DEVIATION(repeated_events_look_new, "mi.event.retry", Product::endpoint, "gives a repeated event another generation number",
          Departs{mi::departure::event_generation});
DEVIATION(repeated_events_not_counted, "mi.event.retry", Product::endpoint, "does not count its retries",
          hooks<ResponseChanged, &retries_not_counted>());
DEVIATION(acknowledged_events_repeated, "mi.event.ack.ends", Product::endpoint, "sends events again that were acknowledged",
          Departs{mi::departure::event_after_ack});
DEVIATION(newer_events_lost, "mi.event.ack.newer", Product::endpoint, "loses what occurred before an acknowledgement",
          hooks<ResponseChanged, &nothing_with_acknowledgements>());
DEVIATION(events_of_one_generation, "mi.event.generation", Product::endpoint, "gives every event the same generation number",
          hooks<ResponseChanged, &one_generation>());
DEVIATION(disabled_events_reported, "mi.event.disabled", Product::endpoint, "reports events that are not enabled",
          Departs{mi::departure::event_disabled_sent});
DEVIATION(events_sent_while_paused, "mi.event.paused", Product::endpoint, "sends events while it is paused",
          Departs{mi::departure::event_paused});
DEVIATION(events_forgotten_while_paused, "mi.event.paused", Product::endpoint, "never sends what occurred while it was paused",
          hooks<ForgetsWhilePaused>());
DEVIATION(malformed_enable_lists_taken, "mi.event.list.malformed", Product::endpoint, "takes enable lists of any form",
          Tolerate{"mi.config.event.list"});
DEVIATION(enable_lists_of_any_version_taken, "mi.event.list.malformed", Product::endpoint, "takes enable lists of any version",
          hooks<SomeRefused, &takes_any_version>());
DEVIATION(enable_lists_are_an_error, "mi.event.list.malformed", Product::endpoint, "calls a malformed enable list an internal error",
          AnswerMi{"mi.config.event.list", Status::internal_error});
DEVIATION(unsupported_events_enabled, "mi.event.list.unknown", Product::endpoint, "takes events that it does not support",
          Tolerate{"mi.config.event.list"});
DEVIATION(events_enabled_without_a_list, "mi.event.list.missing", Product::endpoint, "takes a missing enable list",
          Tolerate{"mi.config.event.size"});
DEVIATION(events_lost_to_an_enable_list, "mi.event.sync.newer", Product::endpoint, "loses what occurred before an enable list",
          hooks<ResponseChanged, &nothing_with_lists>());
DEVIATION(events_name_no_controller, "mi.event.attribution", Product::endpoint, "never names the controller of an event",
          hooks<ResponseChanged, &events_of_the_subsystem>());
DEVIATION(events_name_the_first_controller, "mi.event.attribution", Product::endpoint, "names the first controller in every event",
          hooks<ResponseChanged, &events_of_the_first_controller>());
DEVIATION(link_events_name_the_first_port, "mi.event.port", Product::endpoint, "names the first port in every event of a link",
          hooks<ResponseChanged, &events_of_the_first_port>());

}  // namespace fb::deviations
