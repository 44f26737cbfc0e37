// Resets that leave something behind, and shutdowns that do not.
#include "model/deviations/deviation.h"
#include "model/deviations/endpoint_speech.h"
#include "model/drive/drive.h"
#include "model/mi/fault_points.h"
#include "wire/mi/control.h"
#include "wire/mi/health.h"

namespace fb::deviations {

using mi::MessageContext;
using mi::Opcode;
using mi::Status;

namespace {

std::optional<Status> resets_in_slot_1_lost(const MessageContext& message) {
  if (!is_mi(message, Opcode::reset) || message.slot() != 1) return std::nullopt;
  return Status::success;
}
std::optional<Status> shutdown_lost(const MessageContext& message) {
  if (!is_mi(message, Opcode::shutdown)) return std::nullopt;
  return Status::success;
}
std::optional<Status> abrupt_shutdown_unknown(const MessageContext& message) {
  if (!is_mi(message, Opcode::shutdown) || nmd0_of(message) >> 24 != 1) return std::nullopt;
  return Status::invalid_parameter;
}

/// Whether there has been a reset.
class AfterReset : public mi::EndpointHooks {
 public:
  std::optional<Status> admission(const MessageContext& message) override {
    after_ = after_ || is_mi(message, Opcode::reset);
    return std::nullopt;
  }
  void response(const MessageContext& message, Bytes& body) override {
    if (after_ && body.size() >= mi::kResponseMin) change(message, body);
  }

 protected:
  virtual void change(const MessageContext& message, Bytes& body) = 0;

 private:
  bool after_ = false;
};
bool is_primitive(const MessageContext& message, mi::Primitive primitive) {
  return message.kind() == mi::MessageKind::control_primitive && message.opcode() == static_cast<std::uint8_t>(primitive);
}

class FlagsStay final : public AfterReset {
  void change(const MessageContext& message, Bytes& body) override {
    if (is_primitive(message, mi::Primitive::get_state)) body[6] |= mi::error_flag::bmice;
  }
};
class ResetNeverCleared final : public AfterReset {
  void change(const MessageContext& message, Bytes& body) override {
    if (is_primitive(message, mi::Primitive::get_state)) body[7] |= 0x40;
  }
};
class PromisesReplay final : public AfterReset {
  void change(const MessageContext& message, Bytes& body) override {
    if (is_primitive(message, mi::Primitive::replay)) body[6] |= 1;
  }
};
class FrequencyStays final : public AfterReset {
  void change(const MessageContext& message, Bytes& body) override {
    if (is_mi(message, Opcode::configuration_get) && (nmd0_of(message) & 0xFF) == 1) body[5] = mi::kFrequency400k;
  }
};
class ChangesStay final : public AfterReset {
  void change(const MessageContext& message, Bytes& body) override {
    if (!is_mi(message, Opcode::subsystem_health_poll) || body.size() < 16) return;
    body[8 + 5] |= mi::change_bits::ctemp >> 8;
  }
};
/// The link shows as up whatever it is.
void link_always_up(const MessageContext& message, Bytes& body) {
  if (is_mi(message, Opcode::subsystem_health_poll) && is_success(body) && body.size() > 8) body[8] |= 0x08;
}
/// Resets once the other slot is done.
class WaitsToReset final : public mi::EndpointHooks {
 public:
  Duration delay(const MessageContext& message) override { return is_mi(message, Opcode::reset) ? Duration::ms(80) : Duration{}; }
};

}  // namespace

DEVIATION(reset_answered, "mi.reset.silent", Product::endpoint, "answers Reset", Departs{mi::departure::reset_answers});
DEVIATION(reset_without_effect, "mi.reset.silent", Product::endpoint, "takes Reset for done", Departs{mi::departure::reset_ignored});
DEVIATION(reset_in_slot_1_lost, "mi.reset.both-slots", Product::endpoint, "does not reset from command slot 1",
          hooks<SomeNotServed, &resets_in_slot_1_lost>());
DEVIATION(reset_of_any_type, "mi.reset.type", Product::endpoint, "resets the subsystem whatever type it is asked for",
          Tolerate{"mi.reset.type"});
DEVIATION(reset_type_located_elsewhere, "mi.reset.type", Product::endpoint, "points at the first dword when the type of a reset is wrong",
          AnswerMi{"mi.reset.type", Status::invalid_parameter, {8, 0}});
DEVIATION(reset_of_any_size, "mi.reset.request.size", Product::endpoint, "takes Reset of any size", Tolerate{"mi.command.size"});
DEVIATION(reset_keeps_pause, "mi.reset.slots", Product::endpoint, "stays paused over a reset", Departs{mi::departure::reset_keeps_pause});
DEVIATION(reset_keeps_flags, "mi.reset.slots", Product::endpoint, "keeps its error flags over a reset", hooks<FlagsStay>());
DEVIATION(reset_not_told, "mi.reset.nssro", Product::endpoint, "does not tell of a subsystem reset", Departs{mi::departure::reset_no_flag});
DEVIATION(reset_told_for_ever, "mi.reset.nssro", Product::endpoint, "never forgets a subsystem reset", hooks<ResetNeverCleared>());
DEVIATION(reset_after_what_is_running, "mi.reset.running", Product::endpoint, "answers what is running before it resets",
          hooks<WaitsToReset>());
DEVIATION(reset_keeps_replay, "mi.reset.replay", Product::endpoint, "promises a replay after a reset", hooks<PromisesReplay>());
DEVIATION(reset_keeps_unit, "mi.reset.unit", Product::endpoint, "keeps the transmission unit over a reset",
          Departs{mi::departure::reset_keeps_unit});
DEVIATION(reset_keeps_frequency, "mi.reset.frequency", Product::endpoint, "keeps its frequency over a reset", hooks<FrequencyStays>());
DEVIATION(reset_keeps_changes, "mi.reset.changes", Product::endpoint, "keeps the composite status over a reset", hooks<ChangesStay>());
DEVIATION(silent_without_pcie, "mi.reset.link-down", Product::endpoint, "serves nothing while PCI Express is down",
          Departs{mi::departure::link_silences});
DEVIATION(link_always_up, "mi.reset.link-down", Product::endpoint, "says that the link is up when it is not",
          hooks<ResponseChanged, &link_always_up>());
DEVIATION(shutdown_without_effect, "mi.reset.shutdown.done", Product::endpoint, "takes Shutdown for done",
          hooks<SomeNotServed, &shutdown_lost>());
DEVIATION(abrupt_shutdown_refused, "mi.reset.shutdown.done", Product::endpoint, "refuses abrupt shutdowns",
          hooks<SomeNotServed, &abrupt_shutdown_unknown>());
DEVIATION(shutdown_of_any_type, "mi.reset.shutdown.type", Product::endpoint, "shuts down whatever type it is asked for",
          Tolerate{"mi.shutdown.type"});
DEVIATION(shutdown_type_located_elsewhere, "mi.reset.shutdown.type", Product::endpoint,
          "points at the first dword when the type of a shutdown is wrong",
          AnswerMi{"mi.shutdown.type", Status::invalid_parameter, {8, 0}});

}  // namespace fb::deviations
