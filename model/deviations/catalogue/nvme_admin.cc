// Opcodes, Abort, asynchronous events, asymmetric access.
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "wire/nvme/events.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/opcodes.h"

namespace fb::deviations {

namespace {

using nvme::AdminOpcode;
using nvme::Event;

bool takes_reserved_admin_opcode(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "admin.opcode" || opcode_of(command) < 0x20;
}

bool takes_queue_creation(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "admin.opcode" || opcode_of(command) > 0x05;
}

/// Replaces one event by another.
template <std::uint8_t FromInfo>
Answer another_event(const CommandContext& command, MutableBytes cqe, Event instead) {
  if (!is_admin(command, static_cast<std::uint8_t>(AdminOpcode::async_event_request))) {
    return Answer::send;
  }
  MutableView<nvme::CqeLayout> entry{cqe};
  const Event event = Event::from_dw0(entry.get(nvme::cqe::dw0));
  const bool ours = entry.get(nvme::cqe::status).ok() && event.type == nvme::EventType::notice && event.info == FromInfo;
  if (ours) entry.set(nvme::cqe::dw0, instead.dw0());
  return Answer::send;
}

constexpr auto kNamespace = nvme::event_info::notice_namespace_attribute;
constexpr auto kAna = nvme::event_info::notice_ana_change;
constexpr auto kChangedList = static_cast<std::uint8_t>(nvme::LogPage::changed_namespaces);
constexpr auto kAnaLog = static_cast<std::uint8_t>(nvme::LogPage::ana);

Answer namespace_event_without_log(const CommandContext& command, MutableBytes cqe) {
  return another_event<kNamespace>(command, cqe, {nvme::EventType::notice, kNamespace, 0});
}
Answer namespace_event_as_error(const CommandContext& command, MutableBytes cqe) {
  return another_event<kNamespace>(command, cqe, {nvme::EventType::error, kNamespace, kChangedList});
}
Answer ana_event_with_other_log(const CommandContext& command, MutableBytes cqe) {
  return another_event<kAna>(command, cqe, {nvme::EventType::notice, kAna, kChangedList});
}
Answer ana_event_as_namespace_event(const CommandContext& command, MutableBytes cqe) {
  return another_event<kAna>(command, cqe, {nvme::EventType::notice, kNamespace, kAnaLog});
}

}  // namespace

DEVIATION(admin_opcode_unknown_succeeds, "nvme.opcode.admin-unknown", Product::controller, "an unknown admin command succeeds",
          hooks<Refusing, &takes_reserved_admin_opcode>());
DEVIATION(io_opcode_unknown_succeeds, "nvme.opcode.io-unknown", Product::controller, "an unknown I/O command succeeds",
          Tolerate{"io.opcode"});
DEVIATION(queue_creation_succeeds, "nvme.opcode.create-queue", Product::controller, "queues can be created and deleted as over PCIe",
          hooks<Refusing, &takes_queue_creation>());
DEVIATION(abort_claims_success, "nvme.abort.unknown", Product::controller, "Abort says it aborted a command that does not exist",
          Departs{"sub.abort.claims"});
DEVIATION(abort_without_effect, "nvme.abort.aer", Product::controller, "Abort says it aborted, and the command stays outstanding",
          Departs{"sub.abort.ineffective"});
DEVIATION(event_requests_unlimited, "nvme.aer.limit", Product::controller, "takes any number of Asynchronous Event Requests",
          Tolerate{"aer.limit"});
DEVIATION(event_requests_limited_otherwise, "nvme.aer.limit", Product::controller, "refuses a request beyond the limit with another status",
          AnswerWith{"aer.limit", nvme::sc::invalid_field});
DEVIATION(namespace_event_names_no_log, "nvme.aer.namespace-changed", Product::controller, "a namespace event names log page 00h",
          hooks<AlteringCompletions, &namespace_event_without_log>());
DEVIATION(namespace_event_is_an_error, "nvme.aer.namespace-changed", Product::controller, "a namespace change is announced as an error",
          hooks<AlteringCompletions, &namespace_event_as_error>());
DEVIATION(events_without_pause, "nvme.aer.masked-until-read", Product::controller, "events are sent again before their log has been read",
          Departs{"sub.event.repeated"});
DEVIATION(events_never_again, "nvme.aer.masked-until-read", Product::controller, "reading the log does not let events through again",
          Departs{"sub.event.not_rearmed"});
DEVIATION(event_cleared_by_retaining_read, "nvme.aer.retain", Product::controller, "a read with RAE 1 clears the event",
          Departs{"sub.event.rae"});
DEVIATION(events_in_spite_of_their_mask, "nvme.aer.disabled", Product::controller, "events are sent although they are switched off",
          Departs{"sub.event.mask"});
DEVIATION(ana_event_names_another_log, "nvme.aer.ana-change", Product::controller, "an ANA event names the changed namespace list",
          hooks<AlteringCompletions, &ana_event_with_other_log>());
DEVIATION(ana_event_is_a_namespace_event, "nvme.aer.ana-change", Product::controller, "an ANA change is announced as a namespace change",
          hooks<AlteringCompletions, &ana_event_as_namespace_event>());
DEVIATION(ana_inaccessible_ignored, "nvme.ana.inaccessible", Product::controller, "executes commands in an inaccessible group",
          Tolerate{"io.ana.inaccessible"});
DEVIATION(ana_inaccessible_not_ready, "nvme.ana.inaccessible", Product::controller,
          "says of an inaccessible group that the namespace is not ready",
          AnswerWith{"io.ana.inaccessible", nvme::sc::namespace_not_ready});
DEVIATION(ana_loss_ignored, "nvme.ana.persistent-loss", Product::controller, "executes commands in a persistently lost group",
          Tolerate{"io.ana.persistent_loss"});
DEVIATION(ana_change_ignored, "nvme.ana.change", Product::controller, "executes commands during an ANA transition",
          Tolerate{"io.ana.change"});

}  // namespace fb::deviations
