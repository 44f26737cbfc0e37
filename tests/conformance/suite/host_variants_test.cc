// Hosts that differ from the usual one in what the specification leaves to them, and controllers of the bench that
// differ from what the cases were written with, but for their blocks: no case for hosts may find fault with any.
#include "tests/conformance/suite/legal_variant.h"

namespace fb::conformance {
namespace {

struct Shape {
  std::string_view name;
  void (*vary)(EmbeddedSetup&);
};

constexpr Shape kShapes[] = {
    {"host_without_flow_control", [](EmbeddedSetup& s) { s.connect.disable_sq_flow_control = true; }},
    {"host_that_deletes_queues_one_by_one", [](EmbeddedSetup& s) { s.connect.individual_queue_deletion = true; }},
    {"host_that_invalidates_by_itself", [](EmbeddedSetup& s) { s.connect.remote_invalidate = false; }},
    {"host_without_data_in_capsules", [](EmbeddedSetup& s) { s.connect.in_capsule_max_bytes = 0; }},
    {"host_that_moves_4_kib_at_most", [](EmbeddedSetup& s) { s.connect.transfer_max_bytes = 4096; }},
    {"host_with_one_event_request", [](EmbeddedSetup& s) { s.connect.async_events = 1; }},
    {"host_with_a_small_admin_queue", [](EmbeddedSetup& s) { s.connect.admin_entries = 16; }},
    {"controller_of_version_1_4", [](EmbeddedSetup& s) { s.subsystem.version = fabrics::version(1, 4, 0); }},
    {"controller_of_version_2_1", [](EmbeddedSetup& s) { s.subsystem.version = fabrics::version(2, 1, 0); }},
    {"controller_that_keeps_flow_control", [](EmbeddedSetup& s) { s.subsystem.flow_control_may_be_off = false; }},
    {"controller_without_ana", [](EmbeddedSetup& s) { s.subsystem.ana = false; }},
    {"controller_that_takes_its_time",
     [](EmbeddedSetup& s) {
       s.subsystem.enable_delay = Duration::s(2);
       s.subsystem.disable_delay = Duration::ms(500);
     }},
    {"controller_far_away", [](EmbeddedSetup& s) { s.link.latency = Duration::ms(20); }},
    {"controller_without_in_capsule_data", [](EmbeddedSetup& s) { s.fabric.in_capsule_bytes = 0; }},
    {"controller_with_one_small_queue",
     [](EmbeddedSetup& s) {
       s.subsystem.io_queues_max = 1;
       s.subsystem.io_entries_max = 16;
     }},
};

/// Connecting, queues, commands. Zones need namespaces and versions of their own.
bool concerns(const CaseInfo& info) {
  return info.role == Role::host && (info.suite() == "fabrics" || info.suite() == "discovery" || info.suite() == "nvme") &&
         !info.requirement.starts_with("nvme.host.zones.");
}

class HostVariants : public ::testing::TestWithParam<Shape> {};

TEST_P(HostVariants, HaveNoFault) { expect_no_fault(GetParam().name, GetParam().vary, concerns, 2.0 / 3); }

INSTANTIATE_TEST_SUITE_P(, HostVariants, ::testing::ValuesIn(kShapes), [](const auto& shape) { return std::string(shape.param.name); });

}  // namespace
}  // namespace fb::conformance
