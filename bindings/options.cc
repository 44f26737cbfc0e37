#include "bindings/options.h"

#include <fmt/format.h>

#include "base/suggest.h"
#include "bindings/product_options.h"

namespace fb::python {

using subsystem::CopyOptions;
using subsystem::CrossControllerResetOptions;
using subsystem::DirectiveOptions;
using subsystem::EnduranceOptions;
using subsystem::FdpConfiguration;
using subsystem::FdpOptions;
using subsystem::FirmwareOptions;
using subsystem::KeyValueFormat;
using subsystem::KeyValueOptions;
using subsystem::LbaStatusOptions;
using subsystem::LockdownOptions;
using subsystem::NamespaceLimits;
using subsystem::NamespaceManagementOptions;
using subsystem::NamespaceOptions;
using subsystem::PersistentLogOptions;
using subsystem::SanitizeOptions;
using subsystem::SelfTestOptions;
using subsystem::SubsystemOptions;
using subsystem::TelemetryOptions;
using subsystem::ZonedOptions;
using subsystem::ZoneOptions;

#define FB_ROW(member) FB_OPTION(Row, member)

// The name of a structure in the stubs, and its rows.
#define FB_TABLE(S, stub_name, ...)                                           \
  namespace rows_of_##stub_name {                                             \
    using Row = S;                                                            \
    static std::vector<OptionRow<S>> rows() { return {__VA_ARGS__}; }         \
  }                                                                           \
  std::string_view Options<S>::name() { return #stub_name; }                  \
  const std::vector<OptionRow<S>>& Options<S>::rows() {                       \
    static const std::vector<OptionRow<S>> all = rows_of_##stub_name::rows(); \
    return all;                                                               \
  }

FB_TABLE(FirmwareOptions, FirmwareOptions, FB_ROW(slots), FB_ROW(slot_1_read_only), FB_ROW(activates_at_once),
         FB_ROW(needs_subsystem_reset), FB_ROW(granularity), FB_ROW(image_max))
FB_TABLE(CopyOptions, CopyOptions, FB_ROW(formats), FB_ROW(range_blocks), FB_ROW(total_blocks), FB_ROW(ranges))
FB_TABLE(NamespaceManagementOptions, NamespaceManagementOptions, FB_ROW(supported), FB_ROW(capacity_bytes), FB_ROW(thin_provisioning),
         FB_ROW(attachments_max), FB_ROW(granularity_bytes))
FB_TABLE(SanitizeOptions, SanitizeOptions, FB_ROW(block_erase), FB_ROW(crypto_erase), FB_ROW(overwrite), FB_ROW(no_deallocate_inhibited),
         FB_ROW(block_erase_time), FB_ROW(crypto_erase_time), FB_ROW(overwrite_time), FB_ROW(verification), FB_ROW(deallocate_time))
FB_TABLE(ZoneOptions, ZoneOptions, FB_ROW(zone_blocks), FB_ROW(capacity), FB_ROW(max_active), FB_ROW(max_open), FB_ROW(extension_units),
         FB_ROW(read_across), FB_ROW(variable_capacity), FB_ROW(excursions), FB_ROW(zrwa_blocks), FB_ROW(zrwa_granularity),
         FB_ROW(zrwa_count), FB_ROW(zrwa_flush))
FB_TABLE(ZonedOptions, ZonedOptions, FB_ROW(supported), FB_ROW(append), FB_ROW(append_limit), FB_ROW(made))
FB_TABLE(CrossControllerResetOptions, CrossControllerResetOptions, FB_ROW(limit), FB_ROW(time), FB_ROW(reaches_others),
         FB_ROW(lost_host_log))
FB_TABLE(KeyValueFormat, KeyValueFormat, FB_ROW(key_max), FB_ROW(value_max), FB_ROW(keys_max))
FB_TABLE(KeyValueOptions, KeyValueOptions, FB_ROW(supported), FB_ROW(formats))
FB_TABLE(SelfTestOptions, SelfTestOptions, FB_ROW(supported), FB_ROW(short_time), FB_ROW(extended_minutes))
FB_TABLE(TelemetryOptions, TelemetryOptions, FB_ROW(supported), FB_ROW(area_1_end), FB_ROW(area_2_end), FB_ROW(area_3_end))
FB_TABLE(PersistentLogOptions, PersistentLogOptions, FB_ROW(supported), FB_ROW(size))
FB_TABLE(DirectiveOptions, DirectiveOptions, FB_ROW(supported), FB_ROW(streams), FB_ROW(write_blocks), FB_ROW(granularity))
FB_TABLE(LockdownOptions, LockdownOptions, FB_ROW(supported), FB_ROW(commands), FB_ROW(features))
FB_TABLE(LbaStatusOptions, LbaStatusOptions, FB_ROW(supported), FB_ROW(poll_interval))
FB_TABLE(EnduranceOptions, EnduranceOptions, FB_ROW(groups), FB_ROW(groups_max), FB_ROW(nvm_sets), FB_ROW(managed), FB_ROW(group_bytes))
FB_TABLE(FdpConfiguration, FdpConfiguration, FB_ROW(reclaim_groups), FB_ROW(group_bits), FB_ROW(handles), FB_ROW(persistent_handles),
         FB_ROW(unit_bytes), FB_ROW(identifiers_max), FB_ROW(namespaces_max), FB_ROW(time_limit_s), FB_ROW(spare_units))
FB_TABLE(FdpOptions, FdpOptions, FB_ROW(configurations), FB_ROW(enabled), FB_ROW(events_max))

FB_TABLE(SubsystemOptions, SubsystemOptions, FB_ROW(nqn), FB_ROW(serial), FB_ROW(model), FB_ROW(firmware), FB_ROW(vid), FB_ROW(ssvid),
         FB_ROW(version), FB_ROW(controllers), FB_ROW(static_cntlids), FB_ROW(controllers_max), FB_ROW(allow_any_host),
         FB_ROW(allowed_hosts), FB_ROW(allow_zero_hostid), FB_ROW(io_queues_max), FB_ROW(admin_entries_max), FB_ROW(io_entries_max),
         FB_ROW(flow_control_may_be_off), FB_ROW(individual_queue_deletion), FB_ROW(mdts), FB_ROW(verify_limit), FB_ROW(write_zeroes_limit),
         FB_ROW(kas), FB_ROW(kato_max_ms), FB_ROW(kato_required), FB_ROW(traffic_based_keep_alive), FB_ROW(cqt_ms), FB_ROW(abort_limit),
         FB_ROW(aer_limit), FB_ROW(error_entries), FB_ROW(volatile_write_cache), FB_ROW(power_loss_forgets),
         FB_ROW(atomic_power_fail_blocks), FB_ROW(compare), FB_ROW(write_uncorrectable), FB_ROW(dataset_management), FB_ROW(write_zeroes),
         FB_ROW(verify), FB_ROW(fused_compare_and_write), FB_ROW(namespace_write_protect), FB_ROW(copy), FB_ROW(firmware_update),
         FB_ROW(format), FB_ROW(metadata), FB_ROW(security), FB_ROW(reservations), FB_ROW(reservations_persist),
         FB_ROW(namespace_management), FB_ROW(sanitize), FB_ROW(self_test), FB_ROW(saveable_features), FB_ROW(timestamp), FB_ROW(telemetry),
         FB_ROW(persistent_log), FB_ROW(directives), FB_ROW(lockdown), FB_ROW(lba_status), FB_ROW(endurance), FB_ROW(fdp), FB_ROW(zoned),
         FB_ROW(cross_controller_reset), FB_ROW(key_value), FB_ROW(power_on_hours), FB_ROW(atomic_compare_write_blocks),
         FB_ROW(subsystem_reset), FB_ROW(namespaces_max), FB_ROW(ana), FB_ROW(ana_transition_s), FB_ROW(ana_groups_max),
         FB_ROW(enable_delay), FB_ROW(disable_delay), FB_ROW(shutdown_delay), FB_ROW(ready_timeout), FB_ROW(enable_limit),
         FB_ROW(io_loss_grace), FB_ROW(io_latency))

FB_TABLE(NamespaceLimits, NamespaceLimits, FB_ROW(atomic_write), FB_ROW(atomic_power_fail), FB_ROW(atomic_compare_write), FB_ROW(boundary),
         FB_ROW(boundary_power_fail), FB_ROW(boundary_offset), FB_ROW(optimal_boundary), FB_ROW(write_granularity), FB_ROW(write_alignment),
         FB_ROW(deallocate_granularity), FB_ROW(deallocate_alignment), FB_ROW(optimal_write))
FB_TABLE(NamespaceOptions, NamespaceOptions, FB_ROW(nsid), FB_ROW(block_bytes), FB_ROW(blocks), FB_ROW(capacity), FB_ROW(ana_group),
         FB_ROW(endurance_group), FB_ROW(nvm_set), FB_ROW(placement_handles), FB_ROW(limits), FB_ROW(shared), FB_ROW(attached),
         FB_ROW(write_protected), FB_ROW(metadata_bytes), FB_ROW(protection_type), FB_ROW(protection_first), FB_ROW(guard),
         FB_ROW(storage_tag_bits), FB_ROW(zones), FB_ROW(key_value_bytes), FB_ROW(key_value_format), FB_ROW(uuid), FB_ROW(nguid),
         FB_ROW(eui64))

FB_TABLE(transport::ControllerFabricOptions, ListenerOptions, FB_ROW(port), FB_ROW(admin_entries_max), FB_ROW(io_entries_max),
         FB_ROW(io_queues_max), FB_ROW(in_capsule_bytes), FB_ROW(transfer_bytes_max), FB_ROW(msdbd), FB_ROW(connections_max),
         FB_ROW(receive_memory_max))
FB_TABLE(transport::TcpControllerOptions, TcpTargetOptions, FB_ROW(header_digest), FB_ROW(data_digest), FB_ROW(cpda), FB_ROW(maxh2cdata),
         FB_ROW(r2t_bytes), FB_ROW(c2h_data_bytes), FB_ROW(success_flag), FB_ROW(greeting_timeout), FB_ROW(greetings_max))
FB_TABLE(transport::TcpHostOptions, TcpHostOptions, FB_ROW(header_digest), FB_ROW(data_digest), FB_ROW(digest_required), FB_ROW(hpda),
         FB_ROW(maxr2t), FB_ROW(connect_timeout))
FB_TABLE(net::LinkOptions, LinkOptions, FB_ROW(latency), FB_ROW(mtu), FB_ROW(queue_bytes))

FB_TABLE(host::ConnectOptions, ConnectOptions, FB_ROW(cntlid), FB_ROW(io_queues), FB_ROW(queue_entries), FB_ROW(admin_entries),
         FB_ROW(kato_ms), FB_ROW(quiesce_unreported), FB_ROW(cross_controller_reset), FB_ROW(disable_sq_flow_control),
         FB_ROW(individual_queue_deletion), FB_ROW(remote_invalidate), FB_ROW(in_capsule_max_bytes), FB_ROW(transfer_max_bytes),
         FB_ROW(async_events), FB_ROW(scan_namespaces), FB_ROW(protection), FB_ROW(connect_timeout), FB_ROW(admin_timeout),
         FB_ROW(io_timeout), FB_ROW(abort_grace), FB_ROW(reconnect_delay), FB_ROW(reconnect_delay_max), FB_ROW(controller_loss_timeout),
         FB_ROW(busy_delay), FB_ROW(busy_retries), FB_ROW(command_retries), FB_ROW(no_path_timeout))

FB_TABLE(mi::EndpointOptions, EndpointOptions, FB_ROW(port), FB_ROW(buffer_bytes), FB_ROW(auto_pause), FB_ROW(events), FB_ROW(latency),
         FB_ROW(more_processing_after), FB_ROW(event_retries_max))
FB_TABLE(mi::DeviceOptions, DeviceOptions, FB_ROW(revision), FB_ROW(vpd_updates_max), FB_ROW(vpd_writable), FB_ROW(reset_supported),
         FB_ROW(shutdown_supported), FB_ROW(pcie_commands), FB_ROW(pcie_locked), FB_ROW(enclosure), FB_ROW(device_id), FB_ROW(subsystem_id),
         FB_ROW(controller_zero_is_lowest))
FB_TABLE(mi::RequesterOptions, RequesterOptions, FB_ROW(timeout), FB_ROW(more_processing_max), FB_ROW(more_processing_count_max),
         FB_ROW(reserved_checked), FB_ROW(acknowledge_events))
FB_TABLE(host::RawQueueOptions, RawQueueOptions, FB_ROW(qid), FB_ROW(entries), FB_ROW(cntlid), FB_ROW(in_capsule_bytes),
         FB_ROW(remote_invalidate))

namespace {

template <class S>
void add_table(py::dict& all) {
  py::dict table;
  for (const auto& row : Options<S>::rows()) table[py::str(std::string(row.name))] = row.type;
  all[py::str(std::string(Options<S>::name()))] = table;
}

}  // namespace

void no_such_option(std::string_view what, std::string_view name, const std::vector<std::string_view>& known) {
  const std::string_view nearest = nearest_word(name, known);
  throw py::type_error(nearest.empty() ? fmt::format("{}: no option '{}'", what, name)
                                       : fmt::format("{}: no option '{}'; is '{}' meant?", what, name, nearest));
}

py::dict option_tables() {
  py::dict all;
#define FB_ADD(S) add_table<S>(all);
  FB_OPTION_STRUCTURES(FB_ADD)
#undef FB_ADD
  return all;
}

}  // namespace fb::python
