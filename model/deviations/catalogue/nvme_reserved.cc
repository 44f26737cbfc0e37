// Data structures, log pages and completions of controllers: bits that nobody has defined, and fields that do not agree.
#include <algorithm>

#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/sqe.h"

namespace fb::deviations {

namespace {

using nvme::Cns;
using nvme::LogPage;
using subsystem::SubsystemHooks;
namespace id = nvme::id_ctrl;

bool on_discovery(const CommandContext& command) {
  return command.controller != nullptr && command.controller->subsystem().discovery() != nullptr;
}
bool identifies_io(const CommandContext& command, Cns cns) { return identifies(command, cns) && !on_discovery(command); }

/// Sets and clears bits of one byte of a page.
template <Cns Which, std::size_t At, std::uint8_t Set, std::uint8_t Clear = 0>
void identify_byte(const CommandContext& command, MutableBytes data) {
  if (!identifies_io(command, Which) || data.size() <= At) return;
  data[At] = static_cast<std::uint8_t>((data[At] & ~Clear) | Set);
}
template <std::size_t At, std::uint8_t Set>
void discovery_identify_byte(const CommandContext& command, MutableBytes data) {
  if (on_discovery(command) && identifies(command, Cns::controller) && data.size() > At) data[At] |= Set;
}
template <std::size_t At, std::uint8_t Set, std::uint8_t Clear = 0>
constexpr Effect controller_byte() {
  return hooks<AlteringDataOut, &identify_byte<Cns::controller, At, Set, Clear>>();
}
template <std::size_t At, std::uint8_t Set, std::uint8_t Clear = 0>
constexpr Effect namespace_byte() {
  return hooks<AlteringDataOut, &identify_byte<Cns::identify_namespace, At, Set, Clear>>();
}
template <std::size_t At, std::uint8_t Set, std::uint8_t Clear = 0>
constexpr Effect independent_byte() {
  return hooks<AlteringDataOut, &identify_byte<Cns::independent_namespace, At, Set, Clear>>();
}

template <auto Field, std::uint64_t Value>
void controller_field(const CommandContext& command, MutableBytes data) {
  if (identifies_io(command, Cns::controller)) MutableView<nvme::IdentifyController>{data}.set(Field, Value);
}

/// Warnings come at a higher temperature than what is critical.
void warns_late(const CommandContext& command, MutableBytes data) {
  if (identifies_io(command, Cns::controller)) MutableView<nvme::IdentifyController>{data}.set(id::wctemp, 360u).set(id::cctemp, 350u);
}

/// The descriptor of a type becomes zeroes.
template <nvme::NamespaceIdType Type>
void names_with_zeroes(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, Cns::namespace_id_descriptors)) return;
  for (std::size_t at = 0; at + 4 <= data.size() && data[at + 1] != 0; at += 4u + data[at + 1]) {
    const std::size_t end = std::min<std::size_t>(at + 4 + data[at + 1], data.size());
    if (data[at] == static_cast<std::uint8_t>(Type)) std::ranges::fill(data.subspan(at + 4, end - at - 4), std::uint8_t{0});
  }
}

std::optional<nvme::Status> checks_cntid(const CommandContext& command) {
  const bool given = identifies(command, Cns::controller) && cdw10_of(command) >> 16 != 0;
  return given ? std::optional(nvme::sc::invalid_field) : std::nullopt;
}

bool reads_log(const CommandContext& command, LogPage page) {
  return is_admin(command, static_cast<std::uint8_t>(nvme::AdminOpcode::get_log_page)) && !on_discovery(command) &&
         (cdw10_of(command) & 0xFF) == static_cast<std::uint32_t>(page);
}
std::uint32_t log_offset(const CommandContext& command) { return load_le<std::uint32_t>(command.sqe.data() + 48); }

template <LogPage Page, std::size_t At, std::uint8_t Set, std::uint8_t Clear = 0>
void log_byte(const CommandContext& command, MutableBytes data) {
  if (!reads_log(command, Page)) return;
  const std::size_t offset = log_offset(command);
  if (At < offset || At - offset >= data.size()) return;
  data[At - offset] = static_cast<std::uint8_t>((data[At - offset] & ~Clear) | Set);
}

/// Every read of the error log makes an entry.
class LogsItsReaders final : public SubsystemHooks {
 public:
  void data_out(const CommandContext& command, MutableBytes data) override {
    if (!reads_log(command, LogPage::error_information) || data.size() < nvme::ErrorEntry::size || log_offset(command) != 0) return;
    std::copy_backward(data.begin(), data.end() - nvme::ErrorEntry::size, data.end());
    MutableView<nvme::ErrorEntry>{data.first(nvme::ErrorEntry::size)}
        .set(nvme::error_entry::error_count, 1000 + ++reads_)
        .set(nvme::error_entry::status, nvme::sc::invalid_field);
  }

 private:
  std::uint64_t reads_ = 0;
};

/// Entries of what went well.
void logs_success(const CommandContext& command, MutableBytes data) {
  if (!reads_log(command, LogPage::error_information) || data.size() < nvme::ErrorEntry::size || log_offset(command) != 0) return;
  MutableView<nvme::ErrorEntry>{data.first(nvme::ErrorEntry::size)}
      .set(nvme::error_entry::error_count, 9u)
      .set(nvme::error_entry::status, nvme::Status{});
}

/// The dwords of completions keep what was there.
template <std::uint8_t Opcode, bool Io, std::uint32_t Dw0, std::uint32_t Dw1>
Answer stale_dwords(const CommandContext& command, MutableBytes cqe) {
  if (command.sqe[0] != Opcode || (command.qid != 0) != Io) return Answer::send;
  store_le(cqe.data(), load_le<std::uint32_t>(cqe.data()) | Dw0);
  store_le(cqe.data() + 4, load_le<std::uint32_t>(cqe.data() + 4) | Dw1);
  return Answer::send;
}
template <nvme::FabricsType Type, std::uint32_t Dw0, std::uint32_t Dw1>
Answer stale_fabrics_dwords(const CommandContext& command, MutableBytes cqe) {
  if (command.sqe[0] != nvme::kFabricsOpcode || command.sqe[4] != static_cast<std::uint8_t>(Type)) return Answer::send;
  if (!nvme::Cqe{cqe}.get(nvme::cqe::status).ok()) return Answer::send;
  store_le(cqe.data(), load_le<std::uint32_t>(cqe.data()) | Dw0);
  store_le(cqe.data() + 4, load_le<std::uint32_t>(cqe.data() + 4) | Dw1);
  return Answer::send;
}

Answer stale_feature(const CommandContext& command, MutableBytes cqe) {
  if (is_admin(command, 0x0A) && (cdw10_of(command) & 0xFF) == 0x06) cqe[1] |= 0x40;
  return Answer::send;
}
Answer stale_refusal(const CommandContext& command, MutableBytes cqe) {
  const bool connect = command.sqe[0] == nvme::kFabricsOpcode && command.sqe[4] == static_cast<std::uint8_t>(nvme::FabricsType::connect);
  if (connect && !nvme::Cqe{cqe}.get(nvme::cqe::status).ok()) cqe[3] = 0x33;
  return Answer::send;
}

/// A refusal asks for a delay that nobody announced.
Answer delays_without_time(const CommandContext&, MutableBytes cqe) {
  nvme::Cqe entry{cqe};
  const nvme::Status status = entry.get(nvme::cqe::status);
  if (!status.ok()) MutableView<nvme::CqeLayout>{cqe}.set(nvme::cqe::status, status.with_crd(1));
  return Answer::send;
}

/// A controller that has no use for a field refuses nothing that is in it, or gives other data.
void looks_at_metadata_pointers(const CommandContext& command, MutableBytes data) {
  if (is_io(command, 0x02) && load_le<std::uint64_t>(command.sqe.data() + 16) != 0 && !data.empty()) data[0] ^= 0xFF;
}

std::optional<nvme::Status> has_doorbells(const CommandContext& command) {
  return is_admin(command, 0x7C) ? std::optional(nvme::Status{}) : std::nullopt;
}

}  // namespace

DEVIATION(identify_oaes_reserved, "nvme.identify.controller.reserved", Product::controller, "sets a reserved bit of OAES",
          controller_byte<92, 0x01>());
DEVIATION(identify_fna_reserved, "nvme.identify.controller.reserved", Product::controller, "sets a reserved bit of FNA",
          controller_byte<524, 0x80>());
DEVIATION(identify_oncs_reserved, "nvme.identify.controller.reserved", Product::controller, "sets a reserved bit of ONCS",
          controller_byte<521, 0x80>());
DEVIATION(identify_bytes_reserved, "nvme.identify.controller.reserved", Product::controller, "leaves a byte set between SUBNQN and IOCCSZ",
          controller_byte<1500, 0x5A>());
DEVIATION(identify_end_reserved, "nvme.identify.controller.reserved", Product::controller, "leaves a byte set behind the Fabrics fields",
          controller_byte<2047, 0x01>());
DEVIATION(identify_discovery_reserved, "nvme.identify.discovery.reserved", Product::controller,
          "a discovery controller leaves reserved bytes set", hooks<AlteringDataOut, &discovery_identify_byte<600, 0x10>>());
DEVIATION(identify_power_reserved, "nvme.identify.power-states.reserved", Product::controller, "sets reserved bits of power state 0",
          controller_byte<2048 + 31, 0x20>());
DEVIATION(identify_namespace_bits_reserved, "nvme.identify.namespace.reserved", Product::controller, "sets a reserved bit of NMIC",
          namespace_byte<30, 0x80>());
DEVIATION(identify_namespace_bytes_reserved, "nvme.identify.namespace.reserved", Product::controller,
          "leaves reserved bytes of a namespace set", namespace_byte<97, 0x01>());
DEVIATION(identify_format_reserved, "nvme.identify.namespace.reserved", Product::controller, "sets reserved bits of LBA format 0",
          namespace_byte<131, 0x40>());
DEVIATION(identify_independent_reserved, "nvme.identify.independent.reserved", Product::controller,
          "sets a reserved bit of the independent NSFEAT", independent_byte<0, 0x01>());
DEVIATION(identify_set_namespace_reserved, "nvme.identify.command-set.reserved", Product::controller,
          "leaves the end of the command set's namespace page set",
          hooks<AlteringDataOut, &identify_byte<Cns::command_set_namespace, 4095, 1>>());
DEVIATION(identify_set_controller_reserved, "nvme.identify.command-set.reserved", Product::controller,
          "leaves the end of the command set's controller page set",
          hooks<AlteringDataOut, &identify_byte<Cns::command_set_controller, 100, 1>>());
DEVIATION(identify_warns_late, "nvme.identify.temperatures", Product::controller, "WCTEMP is above CCTEMP",
          hooks<AlteringDataOut, &warns_late>());
DEVIATION(identify_without_host_ids, "nvme.identify.attributes", Product::controller, "CTRATT denies 128-bit host identifiers",
          controller_byte<96, 0, 0x01>());
DEVIATION(identify_domain_without_number, "nvme.identify.attributes", Product::controller,
          "CTRATT has several domains, the controller none", controller_byte<97, 0x04>());
DEVIATION(identify_groups_without_number, "nvme.identify.attributes", Product::controller,
          "CTRATT has NVM sets, and no identifier for them", controller_byte<96, 0x04>());
DEVIATION(identify_recovery_levels_without_any, "nvme.identify.attributes", Product::controller,
          "CTRATT has read recovery levels, and RRLS none of them", controller_byte<96, 0x08>());
DEVIATION(identify_discovery_events, "nvme.identify.events", Product::controller, "an I/O controller announces discovery log changes",
          controller_byte<95, 0x80>());
DEVIATION(identify_group_events, "nvme.identify.events", Product::controller, "announces events of endurance groups, and has none",
          controller_byte<93, 0x40>());
DEVIATION(identify_erases_what_it_refuses, "nvme.identify.format-attributes", Product::controller, "FNA has SENS together with FNVMBS",
          controller_byte<524, 0x0A>());
DEVIATION(identify_protects_for_good_alone, "nvme.identify.format-attributes", Product::controller,
          "NWPC has a state without the basic one", controller_byte<531, 0x04, 0x01>());
DEVIATION(identify_shared_is_private, "nvme.identify.sharing", Product::controller,
          "NMIC says that a namespace of every controller is private", namespace_byte<30, 0, 0x01>());
DEVIATION(identify_is_alone, "nvme.identify.sharing", Product::controller, "CMIC says that there is one controller",
          controller_byte<76, 0, 0x02>());
DEVIATION(identify_namespace_in_a_set, "nvme.identify.namespace.agreement", Product::controller,
          "a namespace is in an NVM set, and there are none", namespace_byte<100, 0x01>());
DEVIATION(identify_namespace_dispersed_alone, "nvme.identify.namespace.agreement", Product::controller, "a private namespace is dispersed",
          namespace_byte<30, 0x02, 0x01>());
DEVIATION(identify_protection_unoffered, "nvme.identify.namespace.agreement", Product::controller, "DPS has a type that DPC does not",
          namespace_byte<29, 0x03>());
DEVIATION(identify_independent_reservations, "nvme.identify.independent.agreement", Product::controller, "the two pages differ in RESCAP",
          independent_byte<2, 0, 0x7F>());
DEVIATION(identify_independent_group, "nvme.identify.independent.agreement", Product::controller, "the two pages differ in ANAGRPID",
          independent_byte<4, 0x08>());
DEVIATION(identify_uuid_zero, "nvme.identify.names-nonzero", Product::controller, "the UUID of a namespace is zeroes",
          hooks<AlteringDataOut, &names_with_zeroes<nvme::NamespaceIdType::uuid>>());
DEVIATION(identify_nguid_zero, "nvme.identify.names-nonzero", Product::controller, "the NGUID of a namespace is zeroes",
          hooks<AlteringDataOut, &names_with_zeroes<nvme::NamespaceIdType::nguid>>());
DEVIATION(identify_checks_cntid, "nvme.identify.cntid-unused", Product::controller, "refuses Identify Controller with a CNTID",
          hooks<Answering, &checks_cntid>());
DEVIATION(completion_property_set_dwords, "nvme.completion.fabrics-dwords", Product::controller,
          "Property Set answers with what was set in DW0",
          hooks<AlteringCompletions, &stale_fabrics_dwords<nvme::FabricsType::property_set, 0x00460001, 0>>());
DEVIATION(completion_connect_dw1, "nvme.completion.fabrics-dwords", Product::controller, "Connect answers with garbage in DW1",
          hooks<AlteringCompletions, &stale_fabrics_dwords<nvme::FabricsType::connect, 0, 0xA5>>());
DEVIATION(completion_connect_authreq, "nvme.completion.fabrics-dwords", Product::controller,
          "Connect answers with a reserved bit of AUTHREQ",
          hooks<AlteringCompletions, &stale_fabrics_dwords<nvme::FabricsType::connect, 0x80000000, 0>>());
DEVIATION(identify_descriptor_reserved, "nvme.identify.descriptors-reserved", Product::controller,
          "leaves reserved bytes of a descriptor set", hooks<AlteringDataOut, &identify_byte<Cns::namespace_id_descriptors, 2, 1>>());
DEVIATION(identify_descriptors_end_reserved, "nvme.identify.descriptors-reserved", Product::controller,
          "leaves bytes set behind the descriptors", hooks<AlteringDataOut, &identify_byte<Cns::namespace_id_descriptors, 4000, 1>>());
DEVIATION(feature_bits_reserved, "nvme.features.reserved", Product::controller, "Get Features has reserved bits set",
          hooks<AlteringCompletions, &stale_feature>());
DEVIATION(completion_refusal_reserved, "nvme.completion.fabrics-dwords", Product::controller,
          "a refused Connect has reserved bytes of DW0 set", hooks<AlteringCompletions, &stale_refusal>());
DEVIATION(completion_abort_dwords, "nvme.completion.admin-dwords", Product::controller, "Abort answers with the identifier in DW0",
          hooks<AlteringCompletions, &stale_dwords<0x08, false, 0x77770000, 0>>());
DEVIATION(completion_identify_dw1, "nvme.completion.admin-dwords", Product::controller, "Identify answers with garbage in DW1",
          hooks<AlteringCompletions, &stale_dwords<0x06, false, 0, 0x1000>>());
DEVIATION(completion_flush_dwords, "nvme.completion.io-dwords", Product::controller, "Flush answers with garbage in DW0",
          hooks<AlteringCompletions, &stale_dwords<0x00, true, 0x5A, 0>>());
DEVIATION(completion_write_dw1, "nvme.completion.io-dwords", Product::controller, "Write answers with garbage in DW1",
          hooks<AlteringCompletions, &stale_dwords<0x01, true, 0, 0x5A>>());
DEVIATION(completion_delays_without_time, "nvme.completion.retry-delay", Product::controller, "refusals have CRD 1, and CRDT1 is 0",
          hooks<AlteringCompletions, &delays_without_time>());
DEVIATION(log_smart_reserved, "nvme.log.smart-reserved", Product::controller, "leaves a byte of the SMART log set",
          hooks<AlteringDataOut, &log_byte<LogPage::smart, 300, 1>>());
DEVIATION(log_error_reserved, "nvme.log.error-reserved", Product::controller, "leaves a byte of an error entry set",
          hooks<AlteringDataOut, &log_byte<LogPage::error_information, 50, 1>>());
DEVIATION(log_firmware_reserved, "nvme.log.firmware-reserved", Product::controller, "leaves a byte of the firmware slot log set",
          hooks<AlteringDataOut, &log_byte<LogPage::firmware_slot, 100, 1>>());
DEVIATION(log_ana_reserved, "nvme.log.ana-reserved", Product::controller, "leaves a byte of an ANA group descriptor set",
          hooks<AlteringDataOut, &log_byte<LogPage::ana, 16 + 20, 1>>());
DEVIATION(log_effects_reserved, "nvme.log.effects-reserved", Product::controller, "sets a reserved bit of the effects of Identify",
          hooks<AlteringDataOut, &log_byte<LogPage::commands_effects, 4 * 6 + 1, 0x10>>());
DEVIATION(log_pages_reserved, "nvme.log.effects-reserved", Product::controller, "sets a reserved bit of a supported log page",
          hooks<AlteringDataOut, &log_byte<LogPage::supported_pages, 4 * 2, 0x80>>());
DEVIATION(log_effects_of_nothing, "nvme.log.effects-unsupported", Product::controller, "names effects of a command that it does not have",
          hooks<AlteringDataOut, &log_byte<LogPage::commands_effects, 4 * 0x70, 0x02>>());
DEVIATION(log_no_active_firmware, "nvme.log.firmware-active", Product::controller, "no firmware slot is active",
          hooks<AlteringDataOut, &log_byte<LogPage::firmware_slot, 0, 0, 0xFF>>());
DEVIATION(log_active_firmware_beyond, "nvme.log.firmware-active", Product::controller, "a slot is active that there is not",
          hooks<AlteringDataOut, &log_byte<LogPage::firmware_slot, 0, 0x07, 0xFF>>());
DEVIATION(log_errors_of_readers, "nvme.log.error-phantom", Product::controller, "every read of the error log is an error",
          hooks<LogsItsReaders>());
DEVIATION(log_errors_of_success, "nvme.log.error-phantom", Product::controller, "the error log holds a success",
          hooks<AlteringDataOut, &logs_success>());
DEVIATION(identify_elpe_too_large, "nvme.log.error-capacity", Product::controller, "ELPE counts more entries than are kept",
          hooks<AlteringDataOut, &controller_field<id::elpe, 0x7F>>());
DEVIATION(identify_elpe_too_small, "nvme.log.error-capacity", Product::controller, "ELPE counts fewer entries than are kept",
          hooks<AlteringDataOut, &controller_field<id::elpe, 7>>());
DEVIATION(prps_are_taken, "nvme.psdt.prp", Product::controller, "takes any PSDT", Tolerate{"command.psdt"});
DEVIATION(metadata_pointer_changes_data, "nvme.mptr.unused", Product::controller, "a metadata pointer changes the data of a read",
          hooks<AlteringDataOut, &looks_at_metadata_pointers>());
DEVIATION(doorbells_are_configured, "nvme.opcode.memory-based", Product::controller, "succeeds in Doorbell Buffer Config",
          hooks<Answering, &has_doorbells>());
DEVIATION(doorbells_are_announced, "nvme.opcode.memory-based", Product::controller, "OACS announces Doorbell Buffer Config",
          controller_byte<257, 0x01>());

}  // namespace fb::deviations
