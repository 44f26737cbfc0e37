#include "model/drive/variants.h"

namespace fb::mi {

namespace {

void of_revision(DriveOptions& o, Revision revision) {
  o.device.revision = revision;
  const auto digit = [](std::uint8_t value) { return static_cast<std::uint8_t>(0xF0 | value); };
  o.node.types[0].versions = {{digit(major_of(revision)), digit(minor_of(revision)), 0xFF, 0}};
}

constexpr DriveVariant kVariants[] = {
    {"revision_1_0a", "of NVMe-MI 1.0a", [](DriveOptions& o) { of_revision(o, Revision::r1_0a); }},
    {"revision_1_1", "of NVMe-MI 1.1", [](DriveOptions& o) { of_revision(o, Revision::r1_1); }},
    {"revision_1_2", "of NVMe-MI 1.2", [](DriveOptions& o) { of_revision(o, Revision::r1_2); }},
    {"revision_2_1", "of NVMe-MI 2.1", [](DriveOptions& o) { of_revision(o, Revision::r2_1); }},
    {"without_options", "with no optional command, no buffer, no events, no auto pause, no UUID (F19)",
     [](DriveOptions& o) {
       o.device.reset_supported = o.device.shutdown_supported = false;
       o.device.pcie_commands = o.device.vpd_writable = false;
       o.endpoint.buffer_bytes = 0;
       o.endpoint.auto_pause = o.endpoint.events = false;
       o.node.uuid.reset();
       o.subsystem.firmware_update.slots = 0;
       o.subsystem.format = o.subsystem.security = false;
       o.subsystem.namespace_management.supported = o.subsystem.self_test.supported = false;
       o.subsystem.sanitize = {.block_erase = false, .crypto_erase = false, .overwrite = false};
     }},
    {"no_firmware_commands", "without firmware commands (F14)", [](DriveOptions& o) { o.subsystem.firmware_update.slots = 0; }},
    {"small_buffer", "whose management endpoint buffer has 512 bytes", [](DriveOptions& o) { o.endpoint.buffer_bytes = 512; }},
    {"large_buffer", "whose management endpoint buffer has 64 KiB", [](DriveOptions& o) { o.endpoint.buffer_bytes = 65536; }},
    {"refuses_auto_pause", "that refuses requests with the auto pause bit, which it does not offer",
     [](DriveOptions& o) {
       o.endpoint.auto_pause = false;
       o.endpoint.auto_pause_refused = true;
     }},
    {"baseline_unit_only", "whose packets carry 64 bytes and no more",
     [](DriveOptions& o) {
       for (DevicePort& port : o.device.ports) port.unit_max = 64;
     }},
    {"one_frequency", "whose two-wire port runs at 100 kHz alone",
     [](DriveOptions& o) {
       for (DevicePort& port : o.device.ports) port.frequency_max = kFrequency100k;
     }},
    {"fast_two_wire", "whose two-wire port runs at up to 1 MHz",
     [](DriveOptions& o) {
       for (DevicePort& port : o.device.ports) port.frequency_max = kFrequency1M;
     }},
    {"no_basic_management", "without the basic management command",
     [](DriveOptions& o) {
       for (DevicePort& port : o.device.ports) port.basic_management = false;
     }},
    {"three_ports", "with a second PCI Express port", [](DriveOptions& o) { o.device.ports.push_back({.type = PortType::pcie}); }},
    {"controllers_1_and_5", "whose controllers are 1 and 5, none 0 (F12)",
     [](DriveOptions& o) {
       o.subsystem.static_cntlids = {1, 5};
       o.device.controller_zero_is_lowest = false;
     }},
    {"controller_0", "whose only controller is 0", [](DriveOptions& o) { o.subsystem.static_cntlids = {0}; }},
    {"many_controllers", "with 40 controllers",
     [](DriveOptions& o) {
       o.subsystem.static_cntlids.clear();
       for (std::uint16_t id = 1; id <= 40; ++id) o.subsystem.static_cntlids.push_back(id);
     }},
    {"virtual_functions", "whose second controller is a virtual function",
     [](DriveOptions& o) {
       o.device.functions = {{1, FunctionKind::physical}, {2, FunctionKind::virtual_function}};
     }},
    {"denies_pcie_access", "that denies PCIe commands beyond reading the configuration space",
     [](DriveOptions& o) { o.device.pcie_locked = true; }},
    {"slow", "that takes 60 ms for every command (F11)", [](DriveOptions& o) { o.endpoint.latency = Duration::ms(60); }},
    {"answers_reserved_kinds", "that answers messages of reserved kinds: Invalid Command Opcode",
     [](DriveOptions& o) { o.endpoint.reserved_kind = ReservedKind::invalid_opcode; }},
    {"early_pause_results", "whose Pause and Resume tell the state of the slots, as revision 1.0 has it",
     [](DriveOptions& o) { o.endpoint.pause_result = 0x0003; }},
    {"without_libnvme_indulgences", "that takes nothing that libnvme does against the specification",
     [](DriveOptions& o) {
       o.endpoint.list_start_in_byte_10 = false;
       o.endpoint.set_features_without_length = false;
     }},
    {"keeps_changes_through_reset", "whose health changes outlive an endpoint reset",
     [](DriveOptions& o) { o.endpoint.reset_keeps_changes = true; }},
    {"keeps_its_eid", "that keeps a dynamic EID through an endpoint reset", [](DriveOptions& o) { o.reset_keeps_eid = true; }},
    {"takes_reserved_eids", "that takes the EIDs 1 to 7 when they are assigned",
     [](DriveOptions& o) { o.node.policy.refuses_reserved_eids = false; }},
    {"answers_from_its_new_eid", "that answers Set Endpoint ID from the new EID",
     [](DriveOptions& o) { o.node.policy.answers_from_old_eid = false; }},
    {"silent_when_busy", "that drops control requests while it is busy with one",
     [](DriveOptions& o) { o.node.policy.busy_is_answered = false; }},
    {"slow_control", "that takes 50 ms for every control request", [](DriveOptions& o) { o.node.policy.answer_after = Duration::ms(50); }},
    {"more_message_types", "that has SPDM and vendor messages beside NVMe-MI",
     [](DriveOptions& o) {
       o.node.types.push_back({0x05, {{0xF1, 0xF1, 0xFF, 0}}});
       o.node.types.push_back({0x7E, {{0xF1, 0xF0, 0xFF, 0}}});
       o.node.vendors = {{mctp::control::VendorFormat::pci, 0x1234, 1}, {mctp::control::VendorFormat::iana, 0x9999, 2}};
     }},
    {"base_1_0", "of the MCTP base specification 1.0",
     [](DriveOptions& o) {
       o.node.base_versions = {{0xF1, 0xF0, 0xFF, 0}};
     }},
};

}  // namespace

std::span<const DriveVariant> drive_variants() { return kVariants; }

const DriveVariant* find_drive_variant(std::string_view name) {
  for (const DriveVariant& variant : kVariants) {
    if (variant.name == name) return &variant;
  }
  return nullptr;
}

}  // namespace fb::mi
