// Drives that differ from the usual one in what the specifications leave to them: no case may find fault with any.
#include <gtest/gtest.h>

#include "conformance/runner/managed_setup.h"
#include "conformance/runner/runner.h"

namespace fb::conformance {
namespace {

struct Variant {
  std::string_view name;
  void (*vary)(ManagedSetup&);
};

void of_revision(ManagedSetup& s, mi::Revision revision) {
  s.drive.device.revision = revision;
  const auto digit = [](std::uint8_t value) { return static_cast<std::uint8_t>(0xF0 | value); };
  s.drive.node.types[0].versions = {{digit(mi::major_of(revision)), digit(mi::minor_of(revision)), 0xFF, 0}};
}

constexpr Variant kVariants[] = {
    {"of_revision_1_0a", [](ManagedSetup& s) { of_revision(s, mi::Revision::r1_0a); }},
    {"of_revision_1_1", [](ManagedSetup& s) { of_revision(s, mi::Revision::r1_1); }},
    {"of_revision_1_2", [](ManagedSetup& s) { of_revision(s, mi::Revision::r1_2); }},
    {"of_revision_2_1", [](ManagedSetup& s) { of_revision(s, mi::Revision::r2_1); }},
    {"without_options",
     [](ManagedSetup& s) {
       s.drive.device.reset_supported = s.drive.device.shutdown_supported = false;
       s.drive.device.pcie_commands = s.drive.device.vpd_writable = false;
       s.drive.endpoint.buffer_bytes = 0;
       s.drive.endpoint.auto_pause = s.drive.endpoint.events = false;
       s.drive.node.uuid.reset();
     }},
    {"with_a_small_buffer", [](ManagedSetup& s) { s.drive.endpoint.buffer_bytes = 512; }},
    {"with_a_large_buffer", [](ManagedSetup& s) { s.drive.endpoint.buffer_bytes = 65536; }},
    {"that_refuses_auto_pause",
     [](ManagedSetup& s) {
       s.drive.endpoint.auto_pause = false;
       s.drive.endpoint.auto_pause_refused = true;
     }},
    {"with_the_baseline_unit_only",
     [](ManagedSetup& s) {
       for (mi::DevicePort& port : s.drive.device.ports) port.unit_max = 64;
     }},
    {"of_one_frequency",
     [](ManagedSetup& s) {
       for (mi::DevicePort& port : s.drive.device.ports) port.frequency_max = mi::kFrequency100k;
     }},
    {"of_1_mhz",
     [](ManagedSetup& s) {
       for (mi::DevicePort& port : s.drive.device.ports) port.frequency_max = mi::kFrequency1M;
     }},
    {"without_basic_management",
     [](ManagedSetup& s) {
       for (mi::DevicePort& port : s.drive.device.ports) port.basic_management = false;
     }},
    {"with_three_ports",
     [](ManagedSetup& s) { s.drive.device.ports.push_back({.type = mi::PortType::pcie}); }},
    {"with_controllers_1_and_5", [](ManagedSetup& s) { s.drive.subsystem.static_cntlids = {1, 5}; }},
    {"with_controller_0", [](ManagedSetup& s) { s.drive.subsystem.static_cntlids = {0}; }},
    {"with_many_controllers",
     [](ManagedSetup& s) {
       s.drive.subsystem.static_cntlids.clear();
       for (std::uint16_t id = 1; id <= 40; ++id) s.drive.subsystem.static_cntlids.push_back(id);
     }},
    {"with_virtual_functions",
     [](ManagedSetup& s) {
       s.drive.device.functions = {{1, mi::FunctionKind::physical}, {2, mi::FunctionKind::virtual_function}};
     }},
    {"that_is_slow", [](ManagedSetup& s) { s.drive.endpoint.latency = Duration::ms(60); }},
    {"that_answers_reserved_kinds", [](ManagedSetup& s) { s.drive.endpoint.reserved_kind = mi::ReservedKind::invalid_opcode; }},
    {"with_early_pause_results", [](ManagedSetup& s) { s.drive.endpoint.pause_result = 0x0003; }},
    {"without_libnvmes_indulgences",
     [](ManagedSetup& s) {
       s.drive.endpoint.list_start_in_byte_10 = false;
       s.drive.endpoint.set_features_without_length = false;
     }},
    {"that_keeps_changes_through_a_reset", [](ManagedSetup& s) { s.drive.endpoint.reset_keeps_changes = true; }},
    {"that_keeps_its_eid", [](ManagedSetup& s) { s.drive.reset_keeps_eid = true; }},
    {"that_takes_reserved_eids", [](ManagedSetup& s) { s.drive.node.policy.refuses_reserved_eids = false; }},
    {"that_answers_from_its_new_eid", [](ManagedSetup& s) { s.drive.node.policy.answers_from_old_eid = false; }},
    {"that_is_silent_when_busy", [](ManagedSetup& s) { s.drive.node.policy.busy_is_answered = false; }},
    {"that_takes_its_time_with_control", [](ManagedSetup& s) { s.drive.node.policy.answer_after = Duration::ms(50); }},
    {"with_more_message_types",
     [](ManagedSetup& s) {
       s.drive.node.types.push_back({0x05, {{0xF1, 0xF1, 0xFF, 0}}});
       s.drive.node.types.push_back({0x7E, {{0xF1, 0xF0, 0xFF, 0}}});
       s.drive.node.vendors = {{mctp::control::VendorFormat::pci, 0x1234, 1}, {mctp::control::VendorFormat::iana, 0x9999, 2}};
     }},
    {"of_base_1_0", [](ManagedSetup& s) { s.drive.node.base_versions = {{0xF1, 0xF0, 0xFF, 0}}; }},
    {"on_fast_media",
     [](ManagedSetup& s) {
       s.smbus.clock_hz = 1'000'000;
       s.serial.baud = 3'000'000;
     }},
    {"on_slow_media",
     [](ManagedSetup& s) {
       s.smbus.stretch_per_byte = Duration::us(50);
       s.serial.baud = 57'600;
     }},
    {"on_media_without_timing", [](ManagedSetup& s) { s.smbus.timing = s.serial.timing = s.pcie.timing = false; }},
};

class DriveVariants : public ::testing::TestWithParam<Variant> {};

TEST_P(DriveVariants, HaveNoFault) {
  RunOptions options;
  options.evidence = false;
  options.product.vary = [](EmbeddedSetup& setup) { GetParam().vary(*setup.managed); };
  std::vector<const CaseInfo*> cases = all_cases();
  std::erase_if(cases, [](const CaseInfo* info) { return info->role != Role::endpoint; });
  const RunResult run = run_cases(cases, options);
  std::size_t passed = 0;
  for (const CaseResult& result : run.cases) {
    passed += result.verdict == Verdict::pass;
    const bool fine = result.verdict == Verdict::pass || result.verdict == Verdict::skip ||
                      result.verdict == Verdict::inconclusive;
    EXPECT_TRUE(fine) << result.info->name << " over " << result.transport << ": " << result.reason;
  }
  EXPECT_GT(passed, run.cases.size() * 3 / 5);
}

INSTANTIATE_TEST_SUITE_P(, DriveVariants, ::testing::ValuesIn(kVariants),
                         [](const auto& variant) { return std::string(variant.param.name); });

}  // namespace
}  // namespace fb::conformance
