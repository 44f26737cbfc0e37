// What the cases about endurance groups, NVM sets and Capacity Management share.
#pragma once

#include <algorithm>
#include <vector>

#include "conformance/cases/nvme/namespace_scene.h"
#include "wire/nvme/endurance.h"

namespace fb::conformance {

template <std::uint32_t Bits>
std::optional<std::string> claims_ctratt(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::ctratt) & Bits) == Bits) return {};
  return "CTRATT does not have the bits " + std::to_string(Bits);
}
inline constexpr auto kHasGroups = claims_ctratt<nvme::ctratt_bits::endurance_groups>;

inline void set_up_groups(EmbeddedSetup& setup) {
  setup.subsystem.namespace_management.capacity_bytes = std::uint64_t{1} << 34;
  setup.subsystem.endurance = {.groups = 2, .nvm_sets = true, .managed = true, .group_bytes = std::uint64_t{1} << 32};
}
inline const furnished having_groups{&set_up_groups};

/// A host that looks at endurance groups.
class EnduranceScene {
 public:
  EnduranceScene(ControllerBench& bench, Check& check) : manager(bench, check), check_(check) {}

  host::RawQueue& admin() { return manager.admin(); }
  std::vector<std::uint16_t> groups(std::uint16_t from = 0) {
    const Bytes page = listed(nvme::Cns::endurance_group_list, from);
    const std::size_t count = std::min<std::size_t>(load_le<std::uint16_t>(page.data()), nvme::kEnduranceGroupsMax);
    std::vector<std::uint16_t> ids;
    for (std::size_t i = 1; i <= count; ++i) ids.push_back(load_le<std::uint16_t>(page.data() + 2 * i));
    return ids;
  }
  struct Set {
    std::uint16_t id = 0, group = 0;
    std::uint64_t bytes = 0;
    std::uint64_t left = 0;
  };
  std::vector<Set> sets(std::uint16_t from = 0) {
    const Bytes page = listed(nvme::Cns::nvm_set_list, from);
    std::vector<Set> found;
    for (std::size_t i = 0; i < std::min<std::size_t>(page[0], nvme::kNvmSetsMax); ++i) {
      const View<nvme::NvmSetEntry> entry{
          ByteView{page}.subspan(nvme::kNvmSetEntriesAt + i * nvme::NvmSetEntry::size, nvme::NvmSetEntry::size)};
      found.push_back({entry.get(nvme::nvm_set::nvmsetid), entry.get(nvme::nvm_set::endgid),
                       load_le<std::uint64_t>(entry.bytes().data() + nvme::nvm_set::tnvmsetcap.offset),
                       load_le<std::uint64_t>(entry.bytes().data() + nvme::nvm_set::unvmsetcap.offset)});
    }
    return found;
  }
  host::RawReply information(std::uint16_t group, bool retain = true) {
    auto command = host::get_log(nvme::LogPage::endurance_group, nvme::EnduranceGroupLog::size);
    command.set(nvme::get_log_sqe::lsi, group).set(nvme::get_log_sqe::rae, retain);
    return admin().send(command, nvme::EnduranceGroupLog::size).wait();
  }
  /// A counter of 16 bytes whose upper half nobody will see used.
  template <class Field>
  std::uint64_t counter(std::uint16_t group, const Field& field) {
    const auto reply = information(group);
    check_.require_success(reply, "Get Log Page 09h");
    return load_le<std::uint64_t>(reply.data.data() + field.offset);
  }
  Bytes events() {
    const auto reply = admin().send(host::get_log(nvme::LogPage::endurance_group_events, 64), 64).wait();
    check_.require_success(reply, "Get Log Page 0Fh");
    return reply.data;
  }
  void listen(std::uint16_t group, std::uint8_t warnings) {
    check_.precondition_success(
        admin().send(host::set_features(nvme::FeatureId::async_event_configuration, nvme::event_config_bits::endurance_group)).wait(),
        "Set Features, Asynchronous Event Configuration");
    check_.precondition_success(
        admin().send(host::set_features(nvme::FeatureId::endurance_group_event, group | std::uint32_t{warnings} << 16)).wait(),
        "Set Features, Endurance Group Event Configuration");
  }
  host::RawReply manage(nvme::CapacityOperation operation, std::uint16_t element, std::uint64_t bytes = 0) {
    return admin().send(host::capacity_management(operation, element, bytes)).wait();
  }
  /// Something that the case does not judge the making of.
  std::uint16_t made(nvme::CapacityOperation operation, std::uint16_t element, std::uint64_t bytes) {
    const auto reply = manage(operation, element, bytes);
    check_.precondition_success(reply, "Capacity Management");
    return static_cast<std::uint16_t>(reply.dw0() & 0xFFFF);
  }
  /// A namespace in there.
  host::RawReply create_in(std::uint16_t group, std::uint16_t set) {
    Bytes data = Manager::described({});
    MutableView<nvme::IdentifyNamespace>{data}.set(nvme::id_ns::endgid, group).set(nvme::id_ns::nvmsetid, set);
    return admin().send(host::create_namespace(), data).wait();
  }

  Manager manager;

 private:
  Bytes listed(nvme::Cns cns, std::uint16_t from) {
    auto command = host::identify(cns);
    command.set(nvme::identify_sqe::cnssid, from);
    const auto reply = admin().send(command, nvme::kIdentifySize).wait();
    check_.require_success(reply, "Identify");
    return reply.data;
  }

  Check& check_;
};

}  // namespace fb::conformance
