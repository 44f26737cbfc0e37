// Controllers and hosts that differ from the usual ones in what the specification leaves to them: no case
// may find fault with any of them. A case that a kind of product has no use for is skipped, or says why it
// cannot tell.
#include "tests/conformance/suite/legal_variant.h"

namespace fb::conformance {
namespace {

struct Variant {
  std::string_view name;
  void (*vary)(EmbeddedSetup&);
  bool hosts = false;  ///< is one of hosts too
  /// Of discovery controllers of a role of their own, whose cases register several hosts and read logs by port.
  bool discovers = true;
};

constexpr Variant kVariants[] = {
    {"of_version_1_4", [](EmbeddedSetup& s) { s.subsystem.version = fabrics::version(1, 4, 0); }},
    {"of_version_2_1", [](EmbeddedSetup& s) { s.subsystem.version = fabrics::version(2, 1, 0); }},
    {"with_static_controllers", [](EmbeddedSetup& s) { s.subsystem.controllers = subsystem::ControllerModel::static_controllers; }},
    {"that_demands_a_keep_alive_timeout", [](EmbeddedSetup& s) { s.subsystem.kato_required = true; }},
    {"that_authenticates_the_admin_queue_alone", [](EmbeddedSetup& s) { s.subsystem.authentication.io_queues = false; }},
    {"that_completes_the_newest_event_request", [](EmbeddedSetup& s) { s.subsystem.newest_event_request_first = true; }},
    {"that_keeps_sq_flow_control", [](EmbeddedSetup& s) { s.subsystem.flow_control_may_be_off = false; }},
    {"that_loses_the_association_with_a_queue", [](EmbeddedSetup& s) { s.subsystem.individual_queue_deletion = false; }},
    {"without_optional_commands",
     [](EmbeddedSetup& s) {
       s.subsystem.compare = s.subsystem.write_uncorrectable = s.subsystem.dataset_management = false;
       s.subsystem.write_zeroes = s.subsystem.verify = s.subsystem.fused_compare_and_write = false;
       s.subsystem.namespace_write_protect = s.subsystem.volatile_write_cache = false;
       s.subsystem.format = s.subsystem.security = s.subsystem.reservations = s.subsystem.metadata = false;
       s.subsystem.firmware_update.slots = 0;
       s.subsystem.copy.formats = 0;
       s.subsystem.namespace_management.supported = s.subsystem.self_test.supported = false;
       s.subsystem.sanitize = {.block_erase = false, .crypto_erase = false, .overwrite = false};
       s.subsystem.timestamp = s.subsystem.saveable_features = s.subsystem.telemetry.supported = false;
       s.subsystem.persistent_log.supported = s.subsystem.directives.supported = s.subsystem.lockdown.supported = false;
       s.subsystem.lba_status.supported = false;
     }},
    {"with_endurance_groups_of_its_own",
     [](EmbeddedSetup& s) {
       s.subsystem.endurance = {.groups = 3};
       s.subsystem.telemetry = {.area_1_end = 1, .area_2_end = 1, .area_3_end = 1};
     }},
    {"with_two_streams", [](EmbeddedSetup& s) { s.subsystem.directives.streams = 2; }},
    {"without_streams", [](EmbeddedSetup& s) { s.subsystem.directives.streams = 0; }},
    {"with_limits_of_its_namespaces",
     [](EmbeddedSetup& s) {
       for (subsystem::NamespaceOptions& one : s.namespaces) {
         one.limits = {.atomic_power_fail = 16,
                       .boundary_power_fail = 64,
                       .optimal_boundary = 256,
                       .write_granularity = 8,
                       .write_alignment = 8,
                       .optimal_write = 32};
       }
     }},
    {"that_copies_one_range_at_once",
     [](EmbeddedSetup& s) { s.subsystem.copy = {.formats = 1, .range_blocks = 8, .total_blocks = 8, .ranges = 1}; }},
    {"with_full_namespaces_of_its_own",
     [](EmbeddedSetup& s) {
       s.subsystem.namespace_management = {.capacity_bytes = 1 << 20, .thin_provisioning = false};
       for (subsystem::NamespaceOptions& one : s.namespaces) one.shared = false;
     }},
    {"whose_namespaces_come_in_steps", [](EmbeddedSetup& s) { s.subsystem.namespace_management.granularity_bytes = 1 << 20; }},
    {"that_crypto_erases_alone",
     [](EmbeddedSetup& s) {
       s.subsystem.sanitize = {
           .block_erase = false, .overwrite = false, .no_deallocate_inhibited = true, .crypto_erase_time = Duration::s(5)};
       s.subsystem.self_test = {.short_time = Duration::s(120), .extended_minutes = 600};
     }},
    {"with_seven_slots_that_need_a_subsystem_reset",
     [](EmbeddedSetup& s) {
       s.subsystem.firmware_update = {
           .slots = 7, .slot_1_read_only = false, .activates_at_once = false, .needs_subsystem_reset = true, .granularity = 1};
     }},
    {"that_forgets_what_was_not_flushed",
     [](EmbeddedSetup& s) {
       s.subsystem.power_loss_forgets = true;
       s.subsystem.atomic_power_fail_blocks = 16;
     }},
    {"without_ana_and_reset", [](EmbeddedSetup& s) { s.subsystem.ana = s.subsystem.subsystem_reset = false; }},
    {"with_one_small_queue",
     [](EmbeddedSetup& s) {
       s.subsystem.io_queues_max = 1;
       s.subsystem.io_entries_max = 16;
     }},
    {"with_the_least_limits",
     [](EmbeddedSetup& s) {
       s.subsystem.abort_limit = s.subsystem.aer_limit = 1;
       s.subsystem.error_entries = 1;
       s.subsystem.reservations_persist = false;
     }},
    {"that_moves_8_kib_at_most", [](EmbeddedSetup& s) { s.subsystem.mdts = 1; }},
    {"with_coarse_keep_alive", [](EmbeddedSetup& s) { s.subsystem.kas = 100; }},
    {"with_traffic_based_keep_alive", [](EmbeddedSetup& s) { s.subsystem.traffic_based_keep_alive = true; }},
    {"without_keep_alive", [](EmbeddedSetup& s) { s.subsystem.kas = 0; }},
    {"without_a_transfer_limit", [](EmbeddedSetup& s) { s.subsystem.mdts = 0; }},
    {"that_knows_one_host",
     [](EmbeddedSetup& s) {
       s.subsystem.allow_any_host = false;
       s.subsystem.allowed_hosts = {std::string(kBenchHostNqn)};
     },
     false, false},
    {"that_takes_host_identifier_0", [](EmbeddedSetup& s) { s.subsystem.allow_zero_hostid = true; }},
    {"with_generous_limits",
     [](EmbeddedSetup& s) {
       s.subsystem.admin_entries_max = 128;
       s.subsystem.io_entries_max = 1024;
       s.subsystem.abort_limit = s.subsystem.aer_limit = 16;
       s.subsystem.error_entries = 256;
       s.subsystem.cqt_ms = 5000;
     }},
    {"whose_discovery_is_not_persistent", [](EmbeddedSetup& s) { s.discovery.persistent = false; }},
    {"whose_discovery_lists_itself",
     [](EmbeddedSetup& s) {
       s.discovery.unique_nqn = "nqn.2026-11.org.example:discovery";
       s.discovery.list_itself = true;
     }},
    {"that_ends_an_association_at_once", [](EmbeddedSetup& s) { s.subsystem.io_loss_grace = Duration(); }},
    {"with_slow_media", [](EmbeddedSetup& s) { s.subsystem.io_latency = Duration::ms(20); }},
    {"with_one_sgl_descriptor", [](EmbeddedSetup& s) { s.fabric.msdbd = 1; }},
    {"that_takes_its_time",
     [](EmbeddedSetup& s) {
       s.subsystem.enable_delay = Duration::s(2);
       s.subsystem.disable_delay = Duration::ms(500);
       s.subsystem.shutdown_delay = Duration::s(1);
     }},
    {"with_metadata_everywhere",
     [](EmbeddedSetup& s) {
       for (auto& space : s.namespaces) space.metadata_bytes = 16;
     }},
    {"with_protection_information_everywhere",
     [](EmbeddedSetup& s) {
       for (auto& space : s.namespaces) space.metadata_bytes = space.protection_type ? space.metadata_bytes : 8;
       for (auto& space : s.namespaces) space.protection_type = space.protection_type ? space.protection_type : 1;
     }},
    {"of_4096_byte_blocks",
     [](EmbeddedSetup& s) {
       s.namespaces.clear();
       s.namespaces.resize(1);
       s.namespaces[0].block_bytes = 4096;
       s.namespaces[0].blocks = 16384;
     }},
    {"without_in_capsule_data", [](EmbeddedSetup& s) { s.fabric.in_capsule_bytes = 0; }},
    {"far_away", [](EmbeddedSetup& s) { s.link.latency = Duration::ms(20); }},
    {"with_mtu_256", [](EmbeddedSetup& s) { s.mtu_code_max = 1; }},
    {"with_many_small_tcp_pdus",
     [](EmbeddedSetup& s) {
       s.tcp.maxh2cdata = 4096;
       s.tcp.r2t_bytes = 1024;
       s.tcp.c2h_data_bytes = 512;
       s.tcp.success_flag = false;
     }},
    {"that_declines_digests", [](EmbeddedSetup& s) { s.tcp.header_digest = s.tcp.data_digest = false; }},
    {"that_aligns_to_128_bytes",
     [](EmbeddedSetup& s) {
       s.tcp.cpda = 31;
       s.tcp_host.hpda = 31;
     },
     true},
    {"with_digests_and_more_r2ts",
     [](EmbeddedSetup& s) {
       s.tcp_host.header_digest = s.tcp_host.data_digest = true;
       s.tcp_host.maxr2t = 3;
       s.tcp.r2t_bytes = 512;
     },
     true},
};

class Variants : public ::testing::TestWithParam<Variant> {};

TEST_P(Variants, HaveNoFault) {
  const auto concerns = [](const CaseInfo& info) {
    const bool discovers = info.role == Role::cdc || info.role == Role::ddc;
    return !manages(info.role) && !programs(info.role) && (info.role != Role::host || GetParam().hosts) &&
           (!discovers || GetParam().discovers);
  };
  expect_no_fault(GetParam().name, GetParam().vary, concerns, 2.0 / 3);
}

INSTANTIATE_TEST_SUITE_P(, Variants, ::testing::ValuesIn(kVariants), [](const auto& variant) { return std::string(variant.param.name); });

}  // namespace
}  // namespace fb::conformance
