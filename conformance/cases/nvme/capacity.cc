// Capacity Management. What a case makes it deletes again.
#include "conformance/cases/nvme/endurance_scene.h"

namespace fb::conformance {

namespace {

namespace eg = nvme::endurance_group;
using nvme::CapacityOperation;

constexpr auto kManaged = claims_ctratt<nvme::ctratt_bits::endurance_groups | nvme::ctratt_bits::variable_capacity_management>;
constexpr auto kDeletes = claims_ctratt<nvme::ctratt_bits::delete_endurance_group>;
constexpr auto kDeletesSets = claims_ctratt<nvme::ctratt_bits::nvm_sets | nvme::ctratt_bits::delete_nvm_set>;
/// A real product may round up to its granularity; no product is as small as this.
constexpr std::uint64_t kBytes = std::uint64_t{1} << 30;

/// Which of those made is there; the rest of the products that cannot make any is not judged.
bool lists(const std::vector<std::uint16_t>& ids, std::uint16_t id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }
void needs_room(EnduranceScene& scene, Check& check) {
  check.precondition(scene.manager.unallocated_bytes() >= kBytes, "a gibibyte is in no endurance group");
}

const furnished with_two_groups_at_most{[](EmbeddedSetup& setup) {
  set_up_groups(setup);
  setup.subsystem.endurance.groups_max = 2;
}};

}  // namespace

CONFORMANCE_CASE(endurance_groups_are_made, "nvme.capacity.create", roles::controller, needs(kManaged), needs(kDeletes),
                 needs(is_version_2), having_groups) {
  EnduranceScene scene(bench, check);
  needs_room(scene, check);
  const std::uint64_t before = scene.manager.unallocated_bytes();
  const auto reply = scene.manage(CapacityOperation::create_endurance_group, 0, kBytes);
  check.require_success(reply, "Capacity Management");
  const auto group = static_cast<std::uint16_t>(reply.dw0() & 0xFFFF);
  check.that(lists(scene.groups(), group), "the group is in the list", std::to_string(group));
  const std::uint64_t got = scene.counter(group, eg::tegcap);
  check.that(got == 0 || got >= kBytes, "TEGCAP, where it is reported, is no less than was asked for", std::to_string(got));
  // By how much depends on the adjustment factor and on the granularity of the product.
  const std::uint64_t after = scene.manager.unallocated_bytes();
  check.that(after < before, "UNVMCAP is lower", std::to_string(after) + " after " + std::to_string(before));
  check.precondition_success(scene.manage(CapacityOperation::delete_endurance_group, group), "Capacity Management");
}

CONFORMANCE_CASE(capacity_is_limited, "nvme.capacity.room", roles::controller, needs(kManaged), needs(is_version_2), having_groups,
                 reaches{"capacity.room"}) {
  EnduranceScene scene(bench, check);
  const std::uint64_t left = scene.manager.unallocated_bytes();
  check.status(scene.manage(CapacityOperation::create_endurance_group, 0, left + kBytes), sc::insufficient_capacity);
}

CONFORMANCE_CASE(endurance_groups_are_limited, "nvme.capacity.identifier", roles::controller, needs(kManaged), needs(is_version_2),
                 with_two_groups_at_most) {
  EnduranceScene scene(bench, check);
  needs_room(scene, check);
  const unsigned last = bench.declared().identify().get(nvme::id_ctrl::endgidmax);
  check.precondition(scene.groups().size() == last, "there are ENDGIDMAX groups already");
  check.status(scene.manage(CapacityOperation::create_endurance_group, 0, kBytes), sc::identifier_unavailable);
  if (!kDeletesSets(bench.declared())) {
    const auto reply = scene.manage(CapacityOperation::create_nvm_set, 1, 4096);
    const auto sets = scene.sets();
    check.that(std::none_of(sets.begin(), sets.end(), [](const auto& one) { return one.id == 0; }), "no NVM set has identifier 0h",
               "one has it");
    if (reply.ok()) (void)scene.manage(CapacityOperation::delete_nvm_set, static_cast<std::uint16_t>(reply.dw0()));
  }
}

CONFORMANCE_CASE(unknown_capacity_cannot_be_deleted, "nvme.capacity.unknown", roles::controller, needs(kManaged), needs(kDeletes),
                 needs(is_version_2), having_groups, reaches{"capacity.element"}) {
  EnduranceScene scene(bench, check);
  const auto groups = scene.groups();
  std::uint16_t group = 1;
  while (lists(groups, group)) ++group;
  check.status(scene.manage(CapacityOperation::delete_endurance_group, group), sc::invalid_field);
}

CONFORMANCE_CASE(unknown_capacity_operations_are_refused, "nvme.capacity.operation", roles::controller, needs(kManaged),
                 needs(is_version_2), having_groups, reaches{"capacity.operation"}) {
  EnduranceScene scene(bench, check);
  check.refused(scene.manage(static_cast<CapacityOperation>(9), 0, kBytes), "operation 9h");
}

CONFORMANCE_CASE(endurance_groups_are_deleted, "nvme.capacity.delete", roles::controller, needs(kManaged), needs(kDeletes),
                 needs(manages_namespaces), needs(is_version_2), having_groups) {
  EnduranceScene scene(bench, check);
  needs_room(scene, check);
  const std::uint64_t before = scene.manager.unallocated_bytes();
  const std::uint16_t group = scene.made(CapacityOperation::create_endurance_group, 0, kBytes);
  const bool sets = (bench.declared().identify().get(nvme::id_ctrl::ctratt) & nvme::ctratt_bits::nvm_sets) != 0;
  const std::uint16_t set = sets ? scene.made(CapacityOperation::create_nvm_set, group, kBytes / 2) : std::uint16_t{0};
  const auto created = scene.create_in(group, set);
  check.precondition_success(created, "Namespace Management");
  const std::uint64_t meanwhile = scene.manager.unallocated_bytes(), held = scene.counter(group, eg::tegcap);
  check.require_success(scene.manage(CapacityOperation::delete_endurance_group, group), "Capacity Management");
  check.that(!lists(scene.groups(), group), "the group is gone", "it is listed");
  check.that(!scene.manager.allocated(created.dw0()), "its namespace is gone", "it is listed");
  // What was taken counts by the adjustment factor, what is given back is TEGCAP, where that is reported.
  check.equal("UNVMCAP", scene.manager.unallocated_bytes(), one_of(before, held == 0 ? before : meanwhile + held));
}

CONFORMANCE_CASE(nvm_sets_are_made, "nvme.capacity.set.create", roles::controller, needs(kManaged), needs(kDeletes), needs(kDeletesSets),
                 needs(is_version_2), having_groups) {
  EnduranceScene scene(bench, check);
  needs_room(scene, check);
  const std::uint16_t group = scene.made(CapacityOperation::create_endurance_group, 0, kBytes);
  const auto reply = scene.manage(CapacityOperation::create_nvm_set, group, kBytes / 2);
  check.require_success(reply, "Capacity Management");
  const auto sets = scene.sets();
  const auto set = std::find_if(sets.begin(), sets.end(), [&](const auto& one) { return one.id == (reply.dw0() & 0xFFFF); });
  check.require(set != sets.end(), "the NVM set is in the list");
  check.equal("ENDGID", unsigned{set->group}, unsigned{group});
  check.that(set->bytes >= kBytes / 2, "TNVMSETCAP is no less than was asked for", std::to_string(set->bytes));
  // A second one in the same group, and a namespace in that.
  const auto second = scene.manage(CapacityOperation::create_nvm_set, group, kBytes / 4);
  if (second.ok() && !manages_namespaces(bench.declared())) {
    const auto created = scene.create_in(group, static_cast<std::uint16_t>(second.dw0()));
    if (created.ok()) {
      const Bytes page = scene.manager.page(nvme::Cns::allocated_namespace, created.dw0());
      const View<nvme::IdentifyNamespace> made{page};
      check.equal("NVMSETID of a namespace in the second set of a group", unsigned{made.get(nvme::id_ns::nvmsetid)}, second.dw0() & 0xFFFF);
      check.equal("ENDGID of that namespace", unsigned{made.get(nvme::id_ns::endgid)}, unsigned{group});
    }
  }
  check.precondition_success(scene.manage(CapacityOperation::delete_endurance_group, group), "Capacity Management");
}

CONFORMANCE_CASE(nvm_sets_are_deleted, "nvme.capacity.set.delete", roles::controller, needs(kManaged), needs(kDeletes), needs(kDeletesSets),
                 needs(manages_namespaces), needs(is_version_2), having_groups) {
  EnduranceScene scene(bench, check);
  needs_room(scene, check);
  const std::uint16_t group = scene.made(CapacityOperation::create_endurance_group, 0, kBytes);
  const std::uint16_t set = scene.made(CapacityOperation::create_nvm_set, group, kBytes / 2);
  const auto created = scene.create_in(group, set);
  check.precondition_success(created, "Namespace Management");
  check.require_success(scene.manage(CapacityOperation::delete_nvm_set, set), "Capacity Management");
  const auto sets = scene.sets();
  check.that(std::none_of(sets.begin(), sets.end(), [set](const auto& one) { return one.id == set; }), "the NVM set is gone",
             "it is listed");
  check.that(!scene.manager.allocated(created.dw0()), "its namespace is gone", "it is listed");
  check.precondition_success(scene.manage(CapacityOperation::delete_endurance_group, group), "Capacity Management");
}

}  // namespace fb::conformance
