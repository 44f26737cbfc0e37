// Endurance groups and NVM sets.
#include <fmt/format.h>

#include "conformance/cases/nvme/endurance_scene.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"

namespace fb::conformance {

namespace {

namespace eg = nvme::endurance_group;

constexpr auto kHasSets = claims_ctratt<nvme::ctratt_bits::nvm_sets>;
const arranged with_warnings{"warnings of endurance groups", &set_up_groups};
constexpr std::uint8_t kSpare = nvme::endurance_warning_bits::spare;
constexpr std::uint8_t kReadOnly = nvme::endurance_warning_bits::read_only;

/// Hosts may have deleted all groups and sets of a product that lets them make their own.
bool may_have_none(const Declared& declared) {
  return (declared.identify().get(nvme::id_ctrl::ctratt) & nvme::ctratt_bits::variable_capacity_management) != 0;
}
bool holds(const std::vector<std::uint16_t>& ids, std::uint16_t id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }
bool ascends(const std::vector<std::uint16_t>& ids) {
  return std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) == ids.end();
}

}  // namespace

CONFORMANCE_CASE(endurance_groups_have_information, "nvme.endurance.claim", roles::controller, needs(kHasGroups), needs(is_version_2),
                 having_groups) {
  EnduranceScene scene(bench, check);
  const auto groups = scene.groups();
  for (const std::uint16_t group : groups) {
    check.success(scene.information(group), "Get Log Page 09h of group " + std::to_string(group));
  }
}

CONFORMANCE_CASE(endurance_group_list_ascends, "nvme.endurance.list", roles::controller, needs(kHasGroups), needs(is_version_2),
                 having_groups) {
  EnduranceScene scene(bench, check);
  const auto groups = scene.groups();
  const unsigned last = bench.declared().identify().get(nvme::id_ctrl::endgidmax);
  check.that(ascends(groups), "the identifiers ascend");
  for (const std::uint16_t group : groups) {
    check.that(group != 0 && group <= last, "identifiers are 1 to ENDGIDMAX", std::to_string(group));
  }
  if (groups.empty()) return;
  const auto from = static_cast<std::uint16_t>(groups.front() + 1);
  const auto rest = scene.groups(from);
  const bool behind = std::all_of(rest.begin(), rest.end(), [from](std::uint16_t id) { return id >= from; });
  check.that(behind && rest.size() + 1 == groups.size(), "the list begins with the identifier asked for",
             std::to_string(rest.size()) + " entries");
}

CONFORMANCE_CASE(namespaces_are_in_endurance_groups, "nvme.endurance.namespace", roles::controller, needs(kHasGroups), needs(is_version_2),
                 needs(has_namespace), having_groups) {
  EnduranceScene scene(bench, check);
  const auto groups = scene.groups();
  for (const host::NamespaceFacts& facts : bench.declared().namespaces) {
    const Bytes page = scene.manager.page(nvme::Cns::identify_namespace, facts.nsid);
    const std::uint16_t group = View<nvme::IdentifyNamespace>{page}.get(nvme::id_ns::endgid);
    check.that(holds(groups, group), fmt::format("ENDGID of namespace {} is in the list", facts.nsid), std::to_string(group));
  }
}

CONFORMANCE_CASE(unknown_endurance_groups_have_no_information, "nvme.endurance.unknown", roles::controller, needs(kHasGroups),
                 needs(is_version_2), having_groups, reaches{"log.endurance.group"}) {
  EnduranceScene scene(bench, check);
  const auto groups = scene.groups();
  std::uint16_t group = 1;
  while (holds(groups, group)) ++group;
  check.status(scene.information(group), sc::invalid_field);
}

CONFORMANCE_CASE(unknown_endurance_groups_have_no_events, "nvme.endurance.event.unknown", roles::controller, needs(kHasGroups),
                 needs(is_version_2), having_groups, reaches{"feature.endurance.group"}) {
  EnduranceScene scene(bench, check);
  const auto groups = scene.groups();
  std::uint16_t group = 1;
  while (holds(groups, group)) ++group;
  const auto known = host::set_features(nvme::FeatureId::endurance_group_event, groups.empty() ? 1u : groups.front());
  check.precondition(scene.admin().send(known).wait().ok(), "events of a group that is there can be configured");
  const auto unknown = host::set_features(nvme::FeatureId::endurance_group_event, group);
  check.refused(scene.admin().send(unknown).wait(), "Set Features of a group that is not there");
}

CONFORMANCE_CASE(endurance_groups_count_commands, "nvme.endurance.counts", roles::controller, needs(kHasGroups), needs(is_version_2),
                 needs(has_namespace), having_groups) {
  EnduranceScene scene(bench, check);
  const Bytes page = scene.manager.page(nvme::Cns::identify_namespace, bench.nsid());
  const std::uint16_t group = View<nvme::IdentifyNamespace>{page}.get(nvme::id_ns::endgid);
  const std::uint64_t reads = scene.counter(group, eg::hrc), writes = scene.counter(group, eg::hwc);
  const Bytes data = pattern(3, 1, bench.declared().block_bytes);
  for (int i = 0; i < 4; ++i) {
    check.precondition_success(scene.manager.io().send(host::write(bench.nsid(), 0, 1), data).wait(), "Write");
    check.precondition_success(scene.manager.io().send(host::read(bench.nsid(), 0, 1), data.size()).wait(), "Read");
  }
  check.that(scene.counter(group, eg::hrc) >= reads + 4, "host read commands grow by four");
  check.that(scene.counter(group, eg::hwc) >= writes + 4, "host write commands grow by four");
}

CONFORMANCE_CASE(endurance_group_capacity_adds_up, "nvme.endurance.capacity", roles::controller, needs(kHasGroups), needs(is_version_2),
                 having_groups) {
  EnduranceScene scene(bench, check);
  for (const std::uint16_t group : scene.groups()) {
    const std::uint64_t whole = scene.counter(group, eg::tegcap), left = scene.counter(group, eg::uegcap);
    // 0 says that the capacity is not reported.
    check.that(whole == 0 || left <= whole, "UEGCAP is not above TEGCAP", std::to_string(left) + " of " + std::to_string(whole));
  }
}

CONFORMANCE_CASE(namespaces_need_an_endurance_group, "nvme.endurance.create", roles::controller, needs(kHasGroups), needs(is_version_2),
                 needs(manages_namespaces), having_groups, reaches{"namespace.create.endurance_group"}) {
  EnduranceScene scene(bench, check);
  const auto groups = scene.groups();
  std::uint16_t group = 1;
  while (holds(groups, group)) ++group;
  check.refused(scene.create_in(group, 0), "Namespace Management");
}

CONFORMANCE_CASE(endurance_warnings_are_announced, "nvme.endurance.event", roles::controller, with_warnings) {
  EnduranceScene scene(bench, check);
  scene.listen(2, kSpare);
  auto request = scene.admin().send(host::async_event_request());
  bench.subsystem().endurance().set_warning(2, kSpare);
  const auto event = request.wait_for(kSoon);
  check.require(event.has_value(), "an event comes");
  check.equal("event", event->dw0() & 0xFFFFFF, 0x0F0602u);
  const Bytes page = scene.events();
  check.equal("groups listed", load_le<std::uint64_t>(page.data()), 1u);
  check.equal("group", unsigned{load_le<std::uint16_t>(page.data() + 8)}, 2u);
  const auto information = scene.information(2);
  check.require_success(information, "Get Log Page 09h");
  check.equal("Critical Warning of the group", unsigned{information.data[0]}, unsigned{kSpare});
}

CONFORMANCE_CASE(endurance_warnings_are_not_forced_on_hosts, "nvme.endurance.event.disabled", roles::controller, with_warnings) {
  EnduranceScene scene(bench, check);
  scene.listen(2, kSpare);
  auto request = scene.admin().send(host::async_event_request());
  bench.subsystem().endurance().set_warning(2, kReadOnly);
  bench.subsystem().endurance().set_warning(1, kSpare);
  check.that(!request.wait_for(kSilence).has_value(), "no event comes", "one came");
}

CONFORMANCE_CASE(endurance_events_end_with_a_read, "nvme.endurance.event.read", roles::controller, with_warnings) {
  EnduranceScene scene(bench, check);
  scene.listen(2, kSpare);
  bench.subsystem().endurance().set_warning(2, kSpare);
  check.precondition(load_le<std::uint64_t>(scene.events().data()) == 1, "the group is listed");
  check.precondition_success(scene.information(2, true), "Get Log Page 09h with RAE 1");
  check.equal("groups listed after a read with RAE 1", load_le<std::uint64_t>(scene.events().data()), 1u);
  check.precondition_success(scene.information(2, false), "Get Log Page 09h");
  check.equal("groups listed", load_le<std::uint64_t>(scene.events().data()), 0u);
  // Of several groups the one that was read leaves, and no other.
  scene.listen(1, kSpare);
  bench.subsystem().endurance().set_warning(2, 0);
  for (const std::uint16_t group : {std::uint16_t{1}, std::uint16_t{2}}) bench.subsystem().endurance().set_warning(group, kSpare);
  const auto listed = [&](std::vector<std::uint16_t> expected, std::string_view when) {
    const Bytes page = scene.events();
    check.equal(fmt::format("groups listed {}", when), load_le<std::uint64_t>(page.data()), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      check.equal(fmt::format("group {} {}", i + 1, when), load_le<std::uint16_t>(page.data() + 8 + 2 * i), expected[i]);
    }
  };
  listed({1, 2}, "with warnings of both");
  check.precondition_success(scene.information(1, false), "Get Log Page 09h");
  listed({2}, "after a read of the first group");
}

namespace {

Bytes smart(EnduranceScene& scene, Check& check) {
  const auto reply = scene.admin().send(host::get_log(nvme::LogPage::smart, 512), 512).wait();
  check.require_success(reply, "Get Log Page 02h");
  return reply.data;
}

}  // namespace

CONFORMANCE_CASE(health_sums_endurance_warnings_up, "nvme.endurance.smart", roles::controller, with_warnings) {
  EnduranceScene scene(bench, check);
  bench.subsystem().endurance().set_warning(1, kReadOnly);
  bench.subsystem().endurance().set_warning(2, kSpare);
  check.equal("byte 6", unsigned{smart(scene, check)[nvme::smart::egcws.offset]}, unsigned{kReadOnly | kSpare});
}

CONFORMANCE_CASE(warnings_of_all_groups_are_the_subsystems, "nvme.endurance.smart.all", roles::controller, with_warnings) {
  EnduranceScene scene(bench, check);
  bench.subsystem().endurance().set_warning(1, kSpare);
  check.precondition((smart(scene, check)[0] & kSpare) == 0, "a warning of one group is no critical warning");
  bench.subsystem().endurance().set_warning(2, kSpare);
  check.equal("available spare in the critical warning", smart(scene, check)[0] & unsigned{kSpare}, unsigned{kSpare});
}

CONFORMANCE_CASE(nvm_set_list_ascends, "nvme.nvm-sets.list", roles::controller, needs(kHasSets), needs(kHasGroups), needs(is_version_2),
                 having_groups) {
  EnduranceScene scene(bench, check);
  const auto groups = scene.groups();
  const unsigned last = bench.declared().identify().get(nvme::id_ctrl::nsetidmax);
  std::vector<std::uint16_t> ids;
  for (const auto& set : scene.sets()) {
    ids.push_back(set.id);
    check.that(set.id != 0 && set.id <= last, "identifiers are 1 to NSETIDMAX", std::to_string(set.id));
    check.that(holds(groups, set.group), "ENDGID is in the list of endurance groups", std::to_string(set.group));
  }
  check.that(!ids.empty() || may_have_none(bench.declared()), "there is an NVM set", "the list is empty");
  check.that(ascends(ids), "the identifiers ascend");
  // From each identifier on, and from one behind the last.
  for (unsigned from = 0; from <= std::min(ids.empty() ? 0u : ids.back() + 1u, 64u); ++from) {
    std::vector<std::uint16_t> expected, listed;
    std::copy_if(ids.begin(), ids.end(), std::back_inserter(expected), [&](std::uint16_t id) { return id >= from; });
    for (const auto& set : scene.sets(static_cast<std::uint16_t>(from))) listed.push_back(set.id);
    check.that(listed == expected, fmt::format("the list from {} on has the identifiers that are not below", from),
               fmt::format("{} of {}", listed.size(), expected.size()));
  }
}

CONFORMANCE_CASE(namespaces_are_in_nvm_sets, "nvme.nvm-sets.namespace", roles::controller, needs(kHasSets), needs(kHasGroups),
                 needs(is_version_2), needs(has_namespace), having_groups) {
  EnduranceScene scene(bench, check);
  const auto sets = scene.sets();
  for (const host::NamespaceFacts& facts : bench.declared().namespaces) {
    const Bytes page = scene.manager.page(nvme::Cns::identify_namespace, facts.nsid);
    const View<nvme::IdentifyNamespace> ns{page};
    const bool there = std::any_of(sets.begin(), sets.end(), [&](const auto& set) {
      return set.id == ns.get(nvme::id_ns::nvmsetid) && set.group == ns.get(nvme::id_ns::endgid);
    });
    check.that(there, fmt::format("NVMSETID of namespace {} is in the list, with its ENDGID", facts.nsid),
               std::to_string(ns.get(nvme::id_ns::nvmsetid)));
  }
}

namespace {

const arranged with_sets{"namespaces in endurance groups and NVM sets", &set_up_groups};
const arranged with_groups_alone{"namespaces in endurance groups", [](EmbeddedSetup& setup) {
                                   set_up_groups(setup);
                                   setup.subsystem.endurance.nvm_sets = setup.subsystem.endurance.managed = false;
                                 }};
constexpr std::uint16_t kFirst = 1, kSecond = 2;  // groups; all namespaces are in the first at the beginning

/// A namespace in that group that can be written to.
std::uint32_t made_in(EnduranceScene& scene, Check& check, std::uint16_t group, bool sets) {
  const auto created = scene.create_in(group, sets ? group : std::uint16_t{0});  // set n is in group n
  check.precondition_success(created, "Namespace Management, create");
  check.precondition_success(scene.manager.attach(created.dw0(), {scene.manager.cntlid()}), "Namespace Attachment");
  const Bytes page = scene.manager.page(nvme::Cns::identify_namespace, created.dw0());
  const View<nvme::IdentifyNamespace> ns{page};
  check.equal("ENDGID of the namespace", ns.get(nvme::id_ns::endgid), group);
  if (sets) check.equal("NVMSETID of the namespace", ns.get(nvme::id_ns::nvmsetid), group);
  return created.dw0();
}
std::uint64_t capacity_of(EnduranceScene& scene, std::uint32_t nsid) {
  return load_le<std::uint64_t>(scene.manager.page(nvme::Cns::identify_namespace, nsid).data() + nvme::id_ns::nvmcap.offset);
}
std::uint64_t unallocated(EnduranceScene& scene, Check& check, std::uint16_t set) {
  for (const auto& one : scene.sets()) {
    if (one.id == set) return one.left;
  }
  check.require(false, "the NVM set is listed", std::to_string(set));
  return 0;
}

}  // namespace

CONFORMANCE_CASE(endurance_groups_count_apart, "nvme.endurance.counts", roles::controller, with_sets) {
  constexpr unsigned kReads = 7, kWrites = 3, kOthers = 11;
  EnduranceScene scene(bench, check);
  const std::uint32_t here = made_in(scene, check, kSecond, true);
  const std::uint64_t reads = scene.counter(kSecond, eg::hrc), writes = scene.counter(kSecond, eg::hwc);
  const std::uint64_t others = scene.counter(kFirst, eg::hwc), units_read = scene.counter(kSecond, eg::dur);
  const auto move = [&](std::uint32_t nsid, std::uint32_t block_bytes, unsigned written, unsigned read) {
    const Bytes data = pattern(5, 1, block_bytes);
    host::RawQueue& io = scene.manager.io();
    for (unsigned i = 0; i < written; ++i) check.precondition_success(io.send(host::write(nsid, i, 1), data).wait(), "Write");
    for (unsigned i = 0; i < read; ++i) check.precondition_success(io.send(host::read(nsid, i % kWrites, 1), data.size()).wait(), "Read");
  };
  move(here, kFirstBlockBytes, kWrites, 0);
  check.equal("data units read of the group after writes alone", scene.counter(kSecond, eg::dur), units_read);
  move(here, kFirstBlockBytes, 0, kReads);
  move(bench.nsid(), bench.declared().block_bytes, kOthers, kOthers);  // which is in the first group
  const auto judge = [&](std::string_view when) {
    check.equal(fmt::format("host read commands of the group {}", when), scene.counter(kSecond, eg::hrc), reads + kReads);
    check.equal(fmt::format("host write commands of the group {}", when), scene.counter(kSecond, eg::hwc), writes + kWrites);
    check.that(scene.counter(kFirst, eg::hwc) >= others + kOthers, fmt::format("host write commands of the other group {}", when));
  };
  judge("after reads and writes");
  check.precondition_success(scene.manager.remove(here), "Namespace Management, delete");
  judge("after the deletion of its namespace");
}

CONFORMANCE_CASE(namespaces_take_capacity_of_their_group, "nvme.endurance.capacity", roles::controller, with_groups_alone) {
  EnduranceScene scene(bench, check);
  const std::uint64_t left = scene.counter(kSecond, eg::uegcap), others = scene.counter(kFirst, eg::uegcap);
  std::vector<std::uint32_t> made;
  std::uint64_t taken = 0;
  for (unsigned i = 0; i < 2; ++i) {
    made.push_back(made_in(scene, check, kSecond, false));
    taken += capacity_of(scene, made.back());
    check.equal("UEGCAP with another namespace", scene.counter(kSecond, eg::uegcap), left - taken);
    check.equal("UEGCAP of the other group, whose namespaces are the same", scene.counter(kFirst, eg::uegcap), others);
  }
  for (const std::uint32_t nsid : made) check.precondition_success(scene.manager.remove(nsid), "Namespace Management, delete");
  check.equal("UEGCAP without them", scene.counter(kSecond, eg::uegcap), left);
}

CONFORMANCE_CASE(namespaces_take_capacity_of_their_set, "nvme.nvm-sets.capacity", roles::controller, with_sets) {
  EnduranceScene scene(bench, check);
  const std::uint64_t left = unallocated(scene, check, kSecond), others = unallocated(scene, check, kFirst);
  std::vector<std::uint32_t> made;
  std::uint64_t taken = 0;
  for (unsigned i = 0; i < 2; ++i) {
    made.push_back(made_in(scene, check, kSecond, true));
    taken += capacity_of(scene, made.back());
    check.equal("unallocated capacity with another namespace", unallocated(scene, check, kSecond), left - taken);
    check.equal("unallocated capacity of the other set, whose namespaces are the same", unallocated(scene, check, kFirst), others);
  }
  for (const std::uint32_t nsid : made) check.precondition_success(scene.manager.remove(nsid), "Namespace Management, delete");
  check.equal("unallocated capacity without them", unallocated(scene, check, kSecond), left);
}

}  // namespace fb::conformance
