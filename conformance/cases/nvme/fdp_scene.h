// What the cases about Flexible Data Placement share.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "conformance/cases/nvme/endurance_scene.h"
#include "conformance/runner/embedded_controller.h"
#include "wire/nvme/fdp.h"
#include "wire/nvme/identify_controller.h"

namespace fb::conformance {

inline constexpr auto kHasFdp = claims_ctratt<nvme::ctratt_bits::flexible_data_placement>;

/// Three endurance groups: the namespaces of the bench are in the first, the others are empty.
inline void set_up_fdp(EmbeddedSetup& setup) {
  setup.subsystem.version = fabrics::version(2, 1, 0);
  setup.subsystem.namespace_management.capacity_bytes = std::uint64_t{1} << 34;
  setup.subsystem.endurance = {.groups = 3, .group_bytes = std::uint64_t{1} << 30};
  setup.subsystem.directives = {};
  setup.subsystem.fdp.configurations = {{.reclaim_groups = 2,
                                         .group_bits = 3,
                                         .handles = 6,
                                         .persistent_handles = 2,
                                         .unit_bytes = 1 << 18,
                                         .identifiers_max = 4,
                                         .namespaces_max = 4},
                                        {.reclaim_groups = 1, .group_bits = 0, .handles = 4, .unit_bytes = 1 << 18, .identifiers_max = 4}};
}
inline const furnished having_fdp{&set_up_fdp};

/// A host that places data.
class FdpScene {
 public:
  using Handles = std::vector<std::uint16_t>;

  FdpScene(ControllerBench& bench, Check& check) : endurance(bench, check), manager(endurance.manager), bench_(bench), check_(check) {}
  FdpScene(const FdpScene&) = delete;
  FdpScene& operator=(const FdpScene&) = delete;
  /// A product that is not the bench's own is left as it was found.
  ~FdpScene() {
    if (bench_.embedded()) return;
    try {
      for (const std::uint32_t nsid : made_) (void)manager.remove(nsid);
      if (enabled_here_) (void)set(group_, false, 0);
    } catch (...) {  // the case has its verdict
    }
  }

  host::RawQueue& admin() { return manager.admin(); }
  host::RawQueue& io() { return manager.io(); }

  // ---- endurance groups ----

  std::uint32_t value(std::uint16_t group, nvme::FeatureSelect select = nvme::FeatureSelect::current) {
    const auto reply = admin().send(host::get_features(nvme::FeatureId::flexible_data_placement, select, group)).wait();
    check_.precondition_success(reply, "Get Features 1Dh");
    return reply.dw0();
  }
  host::RawReply set(std::uint16_t group, bool on, unsigned index) { return admin().send(host::set_fdp(group, on, index)).wait(); }
  /// The endurance groups that namespaces are in.
  std::vector<std::uint16_t> used_groups() {
    std::vector<std::uint16_t> used;
    for (const std::uint32_t nsid : manager.list(nvme::Cns::allocated_namespace_list)) {
      const Bytes page = manager.page(nvme::Cns::allocated_namespace, nsid);
      used.push_back(View<nvme::IdentifyNamespace>{page}.get(nvme::id_ns::endgid));
    }
    return used;
  }
  /// A group that is disabled, and has no namespaces; INCONCLUSIVE without one.
  std::uint16_t empty_group() {
    const auto used = used_groups();
    for (const std::uint16_t group : endurance.groups()) {
      if (!Manager::holds(used, group) && (value(group) & 1) == 0) return group;
    }
    throw CannotArrange{"there is no endurance group without namespaces in which Flexible Data Placement is disabled"};
  }
  /// A group that is disabled and has a namespace that is attached here; INCONCLUSIVE without one.
  std::uint16_t plain_group() {
    const Bytes page = manager.page(nvme::Cns::identify_namespace, bench_.nsid());
    const std::uint16_t group = View<nvme::IdentifyNamespace>{page}.get(nvme::id_ns::endgid);
    check_.precondition((value(group) & 1) == 0, "Flexible Data Placement is disabled in the group of the first namespace");
    return group;
  }
  /// A group that has it enabled, with its configuration. Enables it where no group has.
  std::uint16_t group(unsigned wanted_handles = 1) {
    if (group_ != 0) return group_;
    for (const std::uint16_t one : endurance.groups()) {
      const std::uint32_t now = value(one);
      if ((now & 1) == 0) continue;
      const auto log = configurations(one);
      const std::size_t index = now >> 8 & 0xFF;
      check_.precondition(index < log.configurations.size(), "the enabled configuration is in log page 20h");
      configuration = log.configurations[index];
      if (configuration.handles.size() < wanted_handles) continue;
      return group_ = one;
    }
    const std::uint16_t one = empty_group();
    const auto log = configurations(one);
    for (std::size_t index = 0; index < log.configurations.size(); ++index) {
      if (!log.configurations[index].valid || log.configurations[index].handles.size() < wanted_handles) continue;
      configuration = log.configurations[index];
      check_.precondition_success(set(one, true, static_cast<unsigned>(index)), "Set Features 1Dh");
      enabled_here_ = true;
      return group_ = one;
    }
    throw CannotArrange{"no configuration has " + std::to_string(wanted_handles) + " reclaim unit handles"};
  }
  void disable() { check_.precondition_success(set(group_, false, 0), "Set Features 1Dh"); }

  // ---- log pages ----

  host::RawReply log(nvme::LogPage page, std::uint16_t of, std::uint32_t length, unsigned lsp = 0) {
    return admin().send(host::get_fdp_log(page, of, length, lsp), length).wait();
  }
  Bytes configuration_bytes(std::uint16_t of) {
    const auto head = log(nvme::LogPage::fdp_configurations, of, nvme::FdpConfigurationsHeader::size);
    check_.require_success(head, "Get Log Page 20h");
    constexpr std::uint32_t kMost = 1 << 16;
    const std::uint32_t size = View<nvme::FdpConfigurationsHeader>{head.data}.get(nvme::fdp_configurations::sze);
    const std::uint32_t length = std::clamp<std::uint32_t>((size + 3) / 4 * 4, nvme::FdpConfigurationsHeader::size, kMost);
    const auto whole = log(nvme::LogPage::fdp_configurations, of, length);
    check_.require_success(whole, "Get Log Page 20h");
    return whole.data;
  }
  nvme::FdpConfigurationsLog configurations(std::uint16_t of) { return nvme::read_fdp_configurations(configuration_bytes(of)); }
  Bytes usage() {
    const auto length =
        static_cast<std::uint32_t>(nvme::HandleUsageHeader::size + configuration.handles.size() * nvme::HandleUsageDescriptor::size);
    const auto reply = log(nvme::LogPage::reclaim_unit_handle_usage, group_, length);
    check_.require_success(reply, "Get Log Page 21h");
    return reply.data;
  }
  nvme::ReclaimUnitHandleUse use_of(std::uint16_t handle) {
    const Bytes page = usage();
    return static_cast<nvme::ReclaimUnitHandleUse>(page[nvme::HandleUsageHeader::size + handle * nvme::HandleUsageDescriptor::size]);
  }
  template <class Field>
  std::uint64_t counter(const Field& field) {
    const auto reply = log(nvme::LogPage::fdp_statistics, group_, nvme::FdpStatistics::size);
    check_.require_success(reply, "Get Log Page 22h");
    return load_le<std::uint64_t>(reply.data.data() + field.offset);
  }
  std::vector<Record<nvme::FdpEvent>> events(bool of_host = true) {
    const auto reply = log(nvme::LogPage::fdp_events, group_, nvme::kFdpEventsSize, of_host ? nvme::kFdpHostEvents : 0u);
    check_.require_success(reply, "Get Log Page 23h");
    const std::size_t count = std::min<std::size_t>(load_le<std::uint32_t>(reply.data.data()), nvme::kFdpEventsMax);
    std::vector<Record<nvme::FdpEvent>> found;
    for (std::size_t i = 0; i < count; ++i) {
      found.emplace_back(ByteView{reply.data}.subspan(nvme::FdpEventsHeader::size + i * nvme::FdpEvent::size, nvme::FdpEvent::size));
    }
    return found;
  }

  // ---- feature 1Eh ----

  host::RawReply get_types(std::uint32_t nsid, std::uint16_t handle) {
    constexpr std::size_t kRoom = 2 * (nvme::kFdpEventTypesMax + 1);
    return admin().send(host::get_fdp_events(nsid, handle), kRoom).wait();
  }
  std::vector<Record<nvme::FdpEventSupport>> types(std::uint32_t nsid, std::uint16_t handle) {
    const auto reply = get_types(nsid, handle);
    check_.require_success(reply, "Get Features 1Eh");
    std::vector<Record<nvme::FdpEventSupport>> found;
    for (std::size_t i = 0; i < (reply.dw0() & 0xFF); ++i) found.emplace_back(ByteView{reply.data}.subspan(2 * i, 2));
    return found;
  }
  bool enabled(std::uint32_t nsid, std::uint16_t handle, nvme::FdpEventType type) {
    const auto all = types(nsid, handle);
    return std::any_of(all.begin(), all.end(), [type](const auto& one) {
      return one.get(nvme::fdp_event_support::fdpet) == type && one.get(nvme::fdp_event_support::fdpee);
    });
  }
  host::RawReply enable_event(std::uint32_t nsid, std::uint16_t handle, nvme::FdpEventType type, bool on = true) {
    return admin().send(host::set_fdp_events(nsid, handle, 1, on), Bytes{static_cast<std::uint8_t>(type)}).wait();
  }
  /// INCONCLUSIVE where the product does not have the type.
  void listen(std::uint32_t nsid, std::uint16_t handle, nvme::FdpEventType type) {
    const auto all = types(nsid, handle);
    const bool has =
        std::any_of(all.begin(), all.end(), [type](const auto& one) { return one.get(nvme::fdp_event_support::fdpet) == type; });
    check_.precondition(has, "the product has this type of event");
    check_.precondition_success(enable_event(nsid, handle, type), "Set Features 1Eh");
  }

  // ---- namespaces ----

  host::RawReply create(const Handles& handles, const Shape& shape = {}) {
    Bytes data = Manager::described(shape);
    MutableView<nvme::IdentifyNamespace>{data}.set(nvme::id_ns::endgid, group_);
    nvme::write_placement_handles(data, handles);
    const auto reply = admin().send(host::create_namespace(), data).wait();
    if (reply.ok()) made_.push_back(reply.dw0());
    return reply;
  }
  /// A namespace that is attached, which the case does not judge the creation of.
  std::uint32_t made(const Handles& handles, const Shape& shape = {}) {
    (void)group();
    const auto reply = create(handles, shape);
    check_.precondition_success(reply, "Namespace Management, create");
    check_.precondition_success(manager.attach(reply.dw0(), {manager.cntlid()}), "Namespace Attachment");
    return reply.dw0();
  }
  void remove(std::uint32_t nsid) {
    check_.precondition_success(manager.remove(nsid), "Namespace Management, delete");
    std::erase(made_, nsid);
  }

  // ---- the directive ----

  host::RawReply direct(std::uint32_t nsid, bool on = true) {
    return admin().send(host::enable_directive(nsid, nvme::DirectiveType::data_placement, on)).wait();
  }
  void directed(std::uint32_t nsid) { check_.precondition_success(direct(nsid), "Directive Send, Enable Directive"); }
  Bytes directives(std::uint32_t nsid) {
    constexpr auto kSize = nvme::DirectiveParameters::size;
    const auto command =
        host::directive_receive(nsid, nvme::DirectiveType::identify, nvme::directive_operation::identify_return_parameters, kSize);
    const auto reply = admin().send(command, kSize).wait();
    check_.require_success(reply, "Directive Receive, Return Parameters");
    return reply.data;
  }
  bool directive_bit(std::uint32_t nsid, std::size_t offset) { return (directives(nsid)[offset] >> 2 & 1) != 0; }

  // ---- I/O ----

  std::uint16_t id(unsigned reclaim_group, unsigned handle) const {
    return nvme::placement_id(reclaim_group, handle, configuration.group_bits);
  }
  host::RawReply write(std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks, std::optional<std::uint16_t> where,
                       std::uint8_t mark = 0x41) {
    auto command = host::write(nsid, lba, blocks);
    if (where) command.set(nvme::rw_sqe::dtype, 2u).set(nvme::rw_sqe::dspec, *where);
    return io().send(command, pattern(mark, blocks, kFirstBlockBytes)).wait();
  }
  void written(std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks, std::optional<std::uint16_t> where) {
    check_.precondition_success(write(nsid, lba, blocks, where), "Write");
  }
  host::RawReply status(std::uint32_t nsid, std::size_t bytes) {
    return io().send(host::reclaim_unit_handle_status(nsid, bytes), bytes).wait();
  }
  std::size_t status_bytes(std::size_t handles) const {
    return nvme::HandleStatusHeader::size + handles * configuration.reclaim_groups * nvme::HandleStatusDescriptor::size;
  }
  std::vector<nvme::HandleStatus> statuses(std::uint32_t nsid) {
    constexpr std::size_t kRoom = 4096;
    const auto reply = status(nsid, kRoom);
    check_.require_success(reply, "I/O Management Receive");
    return nvme::read_handle_statuses(reply.data);
  }
  /// Blocks that fit into the unit that the identifier means; a case leaves where it is not told.
  std::uint64_t left(std::uint32_t nsid, std::uint16_t where) {
    for (const nvme::HandleStatus& one : statuses(nsid)) {
      if (one.id == where) return one.blocks_left;
    }
    check_.require(false, "the placement identifier has a status", std::to_string(where));
    return 0;
  }
  host::RawReply update(std::uint32_t nsid, const std::vector<std::uint16_t>& ids) {
    Bytes list(2 * ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) store_le(list.data() + 2 * i, ids[i]);
    return io().send(host::reclaim_unit_handle_update(nsid, static_cast<std::uint32_t>(ids.size())), list).wait();
  }
  /// A placement handle that the namespace does not have; INCONCLUSIVE where every number is one.
  std::uint16_t invalid_handle(unsigned handles) {
    check_.precondition(configuration.group_bits == 0 || handles < 1u << (16 - configuration.group_bits),
                        "there is an invalid placement handle");
    return id(0, handles);
  }

  EnduranceScene endurance;
  Manager& manager;
  nvme::FdpConfigurationFacts configuration;

 private:
  ControllerBench& bench_;
  Check& check_;
  std::uint16_t group_ = 0;
  bool enabled_here_ = false;
  std::vector<std::uint32_t> made_;
};

}  // namespace fb::conformance
