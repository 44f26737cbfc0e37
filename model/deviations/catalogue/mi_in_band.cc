// NVMe-MI in band that is not what it should be: what comes back for NVMe-MI Send and Receive, and what may be tunneled.
#include <algorithm>

#include "model/deviations/alter.h"
#include "model/deviations/catalogue/mi_shapes.h"
#include "wire/fabrics/property.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sqe.h"

namespace fb::deviations {
namespace {

using mi::DataType;
using mi::Opcode;
namespace departure = mi::departure;

constexpr std::size_t kData = mi::kResponseMin;  // where data begins

// ---- NVMe-MI Send and Receive as admin commands ----

bool is_receive(const CommandContext& command) { return is_admin(command, static_cast<std::uint8_t>(nvme::AdminOpcode::nvme_mi_receive)); }
bool is_send(const CommandContext& command) { return is_admin(command, static_cast<std::uint8_t>(nvme::AdminOpcode::nvme_mi_send)); }
std::uint32_t cdw_of(const CommandContext& command, unsigned number) { return load_le<std::uint32_t>(command.sqe.data() + 4 * number); }
bool receives(const CommandContext& command, Opcode opcode) {
  return is_receive(command) && (cdw_of(command, 11) & 0xFF) == static_cast<std::uint32_t>(opcode);
}

std::optional<nvme::Status> knows_no_send(const CommandContext& command) {
  if (is_send(command)) return nvme::sc::invalid_opcode.with_dnr();
  return std::nullopt;
}

Answer errors_of_nvme(const CommandContext& command, MutableBytes cqe) {
  MutableView<nvme::CqeLayout> entry{cqe};
  const bool tunneled = (is_receive(command) || is_send(command)) && entry.get(nvme::cqe::status).ok();
  if (!tunneled || (entry.get(nvme::cqe::dw0) & 0xFF) == 0) return Answer::send;
  entry.set(nvme::cqe::dw0, 0u).set(nvme::cqe::status, nvme::sc::invalid_field.with_dnr());
  return Answer::send;
}
Answer response_without_status(const CommandContext& command, MutableBytes cqe) {
  MutableView<nvme::CqeLayout> entry{cqe};
  const bool good = is_receive(command) && entry.get(nvme::cqe::status).ok() && (entry.get(nvme::cqe::dw0) & 0xFF) == 0;
  if (good) entry.set(nvme::cqe::dw0, entry.get(nvme::cqe::dw0) >> 8 & 0xFFFF00);
  return Answer::send;
}
Answer failures_have_dw0(const CommandContext& command, MutableBytes cqe) {
  MutableView<nvme::CqeLayout> entry{cqe};
  if (is_receive(command) && !entry.get(nvme::cqe::status).ok()) entry.set(nvme::cqe::dw0, 0x02u);
  return Answer::send;
}

void information_of_the_controller_asked(const CommandContext& command, MutableBytes data) {
  const bool information = receives(command, Opcode::read_data_structure) && cdw_of(command, 12) >> 24 == 3;
  if (information && data.size() >= 8) store_le(&data[6], load_le<std::uint16_t>(&command.sqe[2]));
}

/// Now and then the data of the command before.
class MixesUpData final : public subsystem::SubsystemHooks {
 public:
  void data_out(const CommandContext& command, MutableBytes data) override {
    if (!receives(command, Opcode::vpd_read)) return;
    const Bytes now(data.begin(), data.end());
    if (++count_ % 4 == 0 && last_.size() == now.size()) std::copy(last_.begin(), last_.end(), data.begin());
    last_ = now;
  }

 private:
  unsigned count_ = 0;
  Bytes last_;
};

/// A controller that is disabled once has no NVMe-MI any more.
class LosesItAtReset final : public subsystem::SubsystemHooks {
 public:
  bool property_write(std::uint32_t offset, std::uint64_t& value) override {
    if (offset == fabrics::property::cc && (value & 1) == 0) lost_ = true;
    return true;
  }
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (lost_ && is_receive(command)) return nvme::sc::internal_error;
    return std::nullopt;
  }

 private:
  bool lost_ = false;
};

// ---- tunneled commands ----

/// The command is not there.
template <Opcode Which>
class Lacks final : public mi::EndpointHooks {
 public:
  std::optional<mi::Status> admission(const MessageContext& message) override {
    if (is_of(message, Which)) return mi::Status::invalid_opcode;
    return std::nullopt;
  }
};
/// The command succeeds and does nothing.
template <Opcode Which>
class Pretends final : public mi::EndpointHooks {
 public:
  std::optional<mi::Status> admission(const MessageContext& message) override {
    if (is_of(message, Which)) return mi::Status::success;
    return std::nullopt;
  }
};

void counts_from_the_entry(const MessageContext&, Bytes& body) {
  if (body[4] == static_cast<std::uint8_t>(mi::Status::invalid_parameter)) body[6] = static_cast<std::uint8_t>(body[6] + 40);
}
void data_with_errors(const MessageContext&, Bytes& body) {
  if (!succeeded(body)) body.resize(kData + 8, 0x5A);
}
void entries_untold(const MessageContext& message, Bytes& body) {
  if (answers(message, body, Opcode::controller_health_poll)) body[7] = 0;
}
void padded_with_rubbish(const MessageContext&, Bytes& body) {
  if (succeeded(body) && body.size() > kData) body.resize((body.size() + 3) / 4 * 4, 0x5A);
}
void a_dword_more(const MessageContext&, Bytes& body) {
  if (succeeded(body) && body.size() > kData) body.resize(body.size() + 4, 0x5A);
}
void says_what_it_can_clear(const MessageContext& message, Bytes& body) {
  if (is_of(message, Opcode::configuration_get) && succeeded(body)) store_le(&body[5], std::uint16_t{0x1FFF});
}
void list_without_its_first(const MessageContext& message, Bytes& body) {
  if (!reads(message, body, DataType::controller_list) || body.size() < kData + 4) return;
  if (load_le<std::uint16_t>(&body[kData + 2]) != load_le<std::uint16_t>(&message.request[8])) return;
  body.erase(body.begin() + kData + 2, body.begin() + kData + 4);
  --body[kData], body[5] = static_cast<std::uint8_t>(body[5] - 2);
}
void poll_without_its_first(const MessageContext& message, Bytes& body) {
  if (!answers(message, body, Opcode::controller_health_poll)) return;
  if (load_le<std::uint16_t>(&body[kData]) != load_le<std::uint16_t>(&message.request[8])) return;
  body.erase(body.begin() + kData, body.begin() + kData + mi::ControllerHealth::size);
  --body[7];
}
void spare_and_life_changed(const MessageContext& message, Bytes& body) {
  if (!answers(message, body, Opcode::controller_health_poll)) return;
  for (std::size_t at = kData; at + mi::ControllerHealth::size <= body.size(); at += mi::ControllerHealth::size)
    std::swap(body[at + 6], body[at + 7]);
}
void pages_without_a_length(const MessageContext& message, Bytes& body) {
  if (answers(message, body, Opcode::ses_receive)) body[5] = body[6] = 0;
}
bool buffer_commands(const MessageContext& message, std::string_view check) {
  return check == "mi.command.opcode" && (is_of(message, Opcode::buffer_read) || is_of(message, Opcode::buffer_write));
}
bool enclosure_commands(const MessageContext& message, std::string_view check) {
  return check == "mi.command.opcode" && (is_of(message, Opcode::ses_receive) || is_of(message, Opcode::ses_send));
}

// ---- beside a management endpoint ----

void other_data_in_band(const MessageContext& message, Bytes& body) {
  if (message.in_band && succeeded(body) && body.size() >= kData + 8) body.back() ^= 0x40;
}
/// CS of one mechanism is CS of the other.
class SharesChanges final : public mi::EndpointHooks {
 public:
  void response(const MessageContext& message, Bytes& body) override {
    if (!answers(message, body, Opcode::subsystem_health_poll)) return;
    constexpr std::uint8_t kClear = 0x80;
    if (cleared_[message.in_band]) store_le(&body[kData + 4], std::uint16_t{0});
    cleared_[message.in_band] = false;
    if ((message.request[15] & kClear) != 0) cleared_[!message.in_band] = true;
  }

 private:
  std::array<bool, 2> cleared_ = {};
};

}  // namespace

#define IN_BAND(name, requirement, what, ...) DEVIATION(name, requirement, Product::controller, what, __VA_ARGS__)

IN_BAND(nvme_mi_send_is_unknown, "mi.in-band.claim", "NVMe-MI Send is announced, and unknown", hooks<Answering, &knows_no_send>());
IN_BAND(no_vpd_in_band, "mi.in-band.mandatory", "VPD Read is not there in band", hooks<Lacks<Opcode::vpd_read>>());
IN_BAND(no_controller_poll_in_band, "mi.in-band.mandatory", "Controller Health Status Poll is not there in band",
        hooks<Lacks<Opcode::controller_health_poll>>());
IN_BAND(tunneled_errors_are_errors_of_nvme, "mi.in-band.error.status", "errors of tunneled commands are NVMe errors",
        hooks<AlteringCompletions, &errors_of_nvme>());
IN_BAND(error_locations_count_from_the_entry, "mi.in-band.error.location", "error locations count from the submission queue entry",
        alters_answers<&counts_from_the_entry>());
IN_BAND(error_locations_in_band_are_a_bit_off, "mi.in-band.error.location", "error locations name another bit",
        Departs{departure::pel_bit});
IN_BAND(errors_in_band_return_data, "mi.in-band.error.data", "an error returns data", alters_answers<&data_with_errors>());
IN_BAND(entries_in_band_are_not_counted, "mi.in-band.nmresp", "NMRESP lacks its highest byte", alters_answers<&entries_untold>());
IN_BAND(management_responses_are_shifted, "mi.in-band.nmresp", "NMRESP stands a byte too low",
        hooks<AlteringCompletions, &response_without_status>());
IN_BAND(padding_in_band_is_rubbish, "mi.in-band.data", "response data is not padded with zeros", alters_answers<&padded_with_rubbish>());
IN_BAND(data_in_band_is_too_long, "mi.in-band.data", "four bytes more than the response data are transferred",
        alters_answers<&a_dword_more>());
IN_BAND(failed_transfers_have_a_status, "mi.in-band.transfer", "DW0 of a command with an NVMe error is not zero",
        hooks<AlteringCompletions, &failures_have_dw0>());
IN_BAND(reserved_opcodes_succeed_in_band, "mi.in-band.opcode", "reserved opcodes succeed", Tolerate{"mi.command.opcode"});
IN_BAND(reserved_opcodes_are_parameters_in_band, "mi.in-band.opcode", "reserved opcodes are an Invalid Parameter",
        AnswerMi{"mi.command.opcode", mi::Status::invalid_parameter, {4, 0}});
IN_BAND(buffers_in_band, "mi.in-band.buffer", "buffer commands succeed in band", tolerates_some<&buffer_commands>());
IN_BAND(buses_are_configured_in_band, "mi.in-band.config.bus", "a bus can be configured in band", Tolerate{"mi.config.in_band"});
IN_BAND(any_configuration_in_band, "mi.in-band.config.reserved", "reserved configurations succeed", Tolerate{"mi.config.id"});
IN_BAND(the_health_configuration_has_a_value, "mi.in-band.config.health", "Configuration Get of Health Status Change returns something",
        alters_answers<&says_what_it_can_clear>());
IN_BAND(any_kind_in_band, "mi.in-band.kind", "messages of any kind succeed", Tolerate{"mi.command.nmimt"});
IN_BAND(either_way_in_band, "mi.in-band.direction", "NVMe-MI Send and Receive take each other's commands",
        Tolerate{"mi.in_band.direction"});
IN_BAND(buffer_bit_is_ignored_in_band, "mi.in-band.meb", "MEB is ignored", Tolerate{"mi.command.meb"});
IN_BAND(pause_bit_is_ignored_in_band, "mi.in-band.ciap", "CIAP is ignored", Tolerate{"mi.command.ciap"});
IN_BAND(header_is_ignored_in_band, "mi.in-band.header", "message type and ROR are ignored", Tolerate{"mi.in_band.header"});
IN_BAND(information_is_of_who_is_asked, "mi.in-band.any-controller", "Controller Information depends on the command that asks for it",
        hooks<AlteringDataOut, &information_of_the_controller_asked>());
IN_BAND(responses_in_band_are_mixed_up, "mi.in-band.together", "a command gets the data of the one before", hooks<MixesUpData>());
IN_BAND(a_reset_ends_nvme_mi, "mi.in-band.after-reset", "a controller that was disabled has no NVMe-MI", hooks<LosesItAtReset>());
IN_BAND(reserved_bytes_in_band, "mi.in-band.read-ds.subsystem", "reserved bytes are not zero", Departs{departure::ds_reserved});
IN_BAND(a_port_too_many_in_band, "mi.in-band.read-ds.port", "a port is announced that is not there", Departs{departure::ds_ports});
IN_BAND(lists_in_band_leave_out_their_start, "mi.in-band.read-ds.controllers", "the controller list begins behind the identifier asked for",
        alters_answers<&list_without_its_first>());
IN_BAND(lists_in_band_have_no_start, "mi.in-band.read-ds.controllers", "the controller list always begins with the first controller",
        Departs{departure::ds_start});
IN_BAND(another_vendor_in_band, "mi.in-band.read-ds.controller", "Controller Information has another vendor than Identify",
        Departs{departure::ds_vendor});
IN_BAND(controllers_in_band_that_are_not_there, "mi.in-band.read-ds.controller", "there is information of unknown controllers",
        Tolerate{"mi.read_ds.ctrlid"});
IN_BAND(optional_commands_in_band_are_invented, "mi.in-band.read-ds.optional", "commands are listed that are not supported",
        Departs{departure::ds_optional_lies});
IN_BAND(structures_in_band_are_invented, "mi.in-band.read-ds.type", "reserved types of structures succeed", Tolerate{"mi.read_ds.dtyp"});
IN_BAND(kelvins_in_band, "mi.in-band.health.form", "the temperature of the subsystem is in kelvins",
        Departs{departure::health_temperature});
IN_BAND(warnings_in_band_are_not_inverted, "mi.in-band.health.form", "warnings are not inverted",
        Departs{departure::health_warning_polarity});
IN_BAND(nothing_changes_in_band, "mi.in-band.health.changes", "no change is ever told", Departs{departure::health_no_changes});
IN_BAND(changes_in_band_stay, "mi.in-band.health.clear", "CS clears nothing", Departs{departure::health_not_cleared});
IN_BAND(changes_in_band_go, "mi.in-band.health.clear", "every poll clears", Departs{departure::health_cleared_unasked});
IN_BAND(changes_in_band_are_cleared_elsewhere, "mi.in-band.health.clear.each", "Configuration Set clears by the positions of the status",
        Departs{departure::health_clears_wrong_bit});
IN_BAND(changes_in_band_are_not_configured, "mi.in-band.health.clear.each", "Configuration Set clears nothing",
        Departs{departure::config_not_kept});
IN_BAND(spare_in_band_is_life_used, "mi.in-band.poll.entries", "SPARE and PDLU have changed places",
        alters_answers<&spare_and_life_changed>());
IN_BAND(entries_in_band_with_rubbish, "mi.in-band.poll.entries", "reserved bytes of entries are not zero",
        Departs{departure::health_reserved});
IN_BAND(polls_in_band_leave_out_their_start, "mi.in-band.poll.range", "a poll begins behind SCTLID",
        alters_answers<&poll_without_its_first>());
IN_BAND(polls_in_band_have_no_end, "mi.in-band.poll.range", "MAXRENT is ignored", Departs{departure::poll_maximum_ignored});
IN_BAND(polls_in_band_of_every_kind, "mi.in-band.poll.filter", "INCF, INCPF and INCVF are ignored",
        Departs{departure::poll_filter_ignored});
IN_BAND(polls_in_band_of_every_change, "mi.in-band.poll.filter", "the selection of changes is ignored",
        Departs{departure::poll_selection_ignored});
IN_BAND(polls_in_band_clear_nothing, "mi.in-band.poll.clear", "CCF clears nothing", Departs{departure::poll_not_cleared});
IN_BAND(vpd_in_band_is_shifted, "mi.in-band.vpd.read", "VPD Read from an odd offset is a byte off", Departs{departure::vpd_chunk_shift});
IN_BAND(vpd_in_band_has_no_end, "mi.in-band.vpd.read", "VPD Read beyond the end succeeds", Tolerate{"mi.vpd.dlen"});
IN_BAND(vpd_in_band_has_a_wrong_sum, "mi.in-band.vpd.image", "the checksum of the common header is wrong",
        Departs{departure::vpd_checksum});
IN_BAND(vpd_in_band_is_not_written, "mi.in-band.vpd.write", "VPD Write does nothing", Departs{departure::vpd_write_lost});
IN_BAND(pages_in_band_have_no_length, "mi.in-band.ses.receive", "the length of an SES page is not told",
        alters_answers<&pages_without_a_length>());
IN_BAND(any_page_goes_in_band, "mi.in-band.ses.send", "control pages of any code succeed", Tolerate{"mi.ses.page"});
IN_BAND(pages_without_an_enclosure_in_band, "mi.in-band.ses.prohibited", "SES commands succeed without an enclosure",
        tolerates_some<&enclosure_commands>());
IN_BAND(any_shutdown_in_band, "mi.in-band.reset.type", "Shutdown of a reserved type is executed", Tolerate{"mi.shutdown.type"});
IN_BAND(any_reset_in_band, "mi.in-band.reset.type", "Reset of a reserved type is executed", Tolerate{"mi.reset.type"});
IN_BAND(shutdown_in_band_does_nothing, "mi.in-band.shutdown", "Shutdown shuts nothing down", hooks<Pretends<Opcode::shutdown>>());
IN_BAND(reset_in_band_does_nothing, "mi.in-band.reset.subsystem", "Reset resets nothing", Departs{departure::reset_ignored});

DEVIATION(mechanisms_share_their_changes, "mi.in-band.independent", Product::endpoint, "what one mechanism clears is clear in the other",
          hooks<SharesChanges>());
DEVIATION(another_drive_in_band, "mi.in-band.same", Product::endpoint, "data in band differs from that out of band",
          alters_answers<&other_data_in_band>());

}  // namespace fb::deviations
