// Asymmetric namespace access: what a controller says of its groups, and what their states do to commands.
#include <algorithm>
#include <array>
#include <map>

#include "conformance/cases/nvme/reservation_scene.h"
#include "conformance/runner/arranger.h"
#include "conformance/runner/embedded_controller.h"
#include "wire/nvme/copy.h"
#include "wire/nvme/events.h"
#include "wire/nvme/features.h"

namespace fb::conformance {

namespace {

namespace id = nvme::id_ctrl;
using nvme::AnaState;
using nvme::FeatureId;
using nvme::LogPage;

std::optional<std::string> reports_no_ana(const Declared& declared) {
  if (!declared.known || reports_ana(declared)) return {};
  return "CMIC bit 3 (ANA reporting) is set";
}
/// As many that their list takes more than two pages of memory.
constexpr std::uint32_t kManyNamespaces = 4200;
/// The bit of ANACAP for a state; 0: there is no such state.
unsigned capability_of(AnaState state) {
  switch (state) {
    case AnaState::optimized:
      return nvme::anacap_bits::optimized;
    case AnaState::non_optimized:
      return nvme::anacap_bits::non_optimized;
    case AnaState::inaccessible:
      return nvme::anacap_bits::inaccessible;
    case AnaState::persistent_loss:
      return nvme::anacap_bits::persistent_loss;
    case AnaState::change:
      return nvme::anacap_bits::change;
  }
  return 0;
}
std::string words(AnaState state) { return std::to_string(static_cast<unsigned>(state)); }

struct AnaLog {
  std::uint64_t change_count = 0;
  std::vector<nvme::AnaGroup> groups;
  const nvme::AnaGroup* find(std::uint32_t group) const {
    const auto at = std::find_if(groups.begin(), groups.end(), [group](const auto& one) { return one.id == group; });
    return at == groups.end() ? nullptr : &*at;
  }
};

/// The log as far as one transfer takes it; INCONCLUSIVE where that is not all of it.
AnaLog read_ana(ControllerBench& bench, Check& check, RawAssociation& association, std::uint8_t lsp = 0) {
  const std::uint64_t most = bench.declared().transfer_max();
  const auto bytes = static_cast<std::uint32_t>(most == 0 ? 65536 : std::min<std::uint64_t>(most, 65536));
  auto command = host::get_log(LogPage::ana, bytes);
  command.set(nvme::get_log_sqe::lsp, lsp);
  const auto reply = association.admin().send(command, bytes).wait();
  check.precondition_success(reply, "Get Log Page, ANA");
  nvme::AnaWalk walk(reply.data);
  AnaLog log{walk.change_count(), {}};
  for (nvme::AnaGroup group; walk.next(group);) log.groups.push_back(group);
  check.precondition(!walk.damaged(), "the log fits into one transfer");
  return log;
}

/// The log with Return Groups Only is the log without the namespaces.
void agrees_without_namespaces(ControllerBench& bench, Check& check, RawAssociation& association) {
  const AnaLog all = read_ana(bench, check, association);
  const AnaLog groups = read_ana(bench, check, association, nvme::kAnaGroupsOnly);
  // A product may be changing just now.
  check.precondition(groups.change_count == all.change_count, "no group changes between the reads");
  check.require(groups.groups.size() == all.groups.size(), "as many groups with their namespaces and without");
  for (std::size_t i = 0; i < all.groups.size(); ++i) {
    const std::string which = " of group " + std::to_string(all.groups[i].id);
    check.equal("group identifier", groups.groups[i].id, all.groups[i].id);
    check.equal("change count" + which, groups.groups[i].change_count, all.groups[i].change_count);
    check.that(groups.groups[i].state == all.groups[i].state, "the same state" + which, words(groups.groups[i].state));
  }
}

/// What the product says now, not what was learnt of it before the cases.
Bytes claims_of(Check& check, RawAssociation& association) {
  const auto page = association.admin().send(host::identify(nvme::Cns::controller), 4096).wait();
  check.precondition_success(page, "Identify Controller");
  return page.data;
}
std::vector<std::uint32_t> active_namespaces(Check& check, RawAssociation& association) {
  const auto list = association.admin().send(host::identify(nvme::Cns::active_namespace_list), 4096).wait();
  check.precondition_success(list, "Identify, active namespace list");
  return nvme::read_namespace_list(list.data);
}
std::uint32_t group_of(Check& check, RawAssociation& association, std::uint32_t nsid) {
  const auto page = association.admin().send(host::identify(nvme::Cns::identify_namespace, nsid), 4096).wait();
  check.precondition_success(page, "Identify Namespace");
  return View<nvme::IdentifyNamespace>{page.data}.get(nvme::id_ns::anagrpid);
}

void without_ana(EmbeddedSetup& setup) { setup.subsystem.ana = false; }
void with_ana(EmbeddedSetup& setup) {
  setup.subsystem.ana = true;
  setup.subsystem.reservations = true;
}
void with_two_groups(EmbeddedSetup& setup) {
  setup.subsystem.ana = true;
  if (setup.namespaces.size() < 2) setup.namespaces.emplace_back().blocks = 4096;
  setup.namespaces[1].ana_group = 2;
}

std::optional<std::string> has_two_groups(const Declared& declared) {
  const auto& all = declared.namespaces;
  if (!declared.known || (all.size() >= 2 && all[0].ana_group != all[1].ana_group)) return {};
  return "the first two namespaces are not in two ANA groups";
}

/// A product whose group changes its state when it is told to, and is optimized again behind the case.
class AnaScene : public IoScene {
 public:
  AnaScene(ControllerBench& bench, Check& check) : IoScene(bench), bench_(bench), check_(check) {
    group = group_of(check, association, nsid);
  }
  ~AnaScene() {
    if (bench_.embedded()) become(AnaState::optimized);  // a real one is put back by its own program
  }
  AnaScene(const AnaScene&) = delete;
  AnaScene& operator=(const AnaScene&) = delete;

  void become(AnaState state) { bench_.arranger().ana_state(group, state); }
  AnaLog log() { return read_ana(bench_, check_, association); }
  template <class Command>
  host::RawReply admin(const Command& command, std::size_t bytes = 0) {
    return association.admin().send(command, bytes).wait();
  }

  std::uint32_t group = 0;

 private:
  ControllerBench& bench_;
  Check& check_;
};

struct Refused {
  AnaState state;
  nvme::Status status;
};
constexpr std::array kRefused{Refused{AnaState::inaccessible, sc::ana_inaccessible}, Refused{AnaState::change, sc::ana_transition},
                              Refused{AnaState::persistent_loss, sc::ana_persistent_loss}};
const arranges ana_group_that_changes{{Request::ana_state}, &with_ana};

}  // namespace

// ------------------------------------------------------------------------------------- what is said

CONFORMANCE_CASE(ana_claims_hold_together, "nvme.ana.claims", roles::controller, needs(reports_ana)) {
  const Bytes page = claims_of(check, bench.associate());
  const View<nvme::IdentifyController> claims{page};
  const std::uint32_t most = claims.get(id::anagrpmax), groups = claims.get(id::nanagrpid);
  check.that((claims.get(id::anacap) & nvme::anacap_bits::optimized) != 0, "ANACAP has the optimized state");
  check.that(claims.get(id::anatt) != 0, "ANATT is not 0", "0");
  check.that(most != 0, "ANAGRPMAX is not 0", "0");
  check.that(groups != 0 && groups <= most, "NANAGRPID is 1 to ANAGRPMAX", std::to_string(groups));
}

CONFORMANCE_CASE(ana_changes_can_be_announced, "nvme.ana.notices", roles::controller, needs(reports_ana)) {
  const Bytes page = claims_of(check, bench.associate());
  const View<nvme::IdentifyController> claims{page};
  check.that((claims.get(id::oaes) & nvme::event_config_bits::ana_change) != 0, "OAES has Asymmetric Namespace Access Change Notices");
}

CONFORMANCE_CASE(active_namespaces_are_in_ana_groups, "nvme.ana.group-id", roles::controller, needs(reports_ana), needs(has_namespace)) {
  RawAssociation& association = bench.associate();
  const std::uint32_t most = bench.declared().identify().get(id::anagrpmax);
  for (const std::uint32_t nsid : active_namespaces(check, association)) {
    const std::uint32_t group = group_of(check, association, nsid);
    check.that(group != 0 && group <= most, "ANAGRPID is 1 to ANAGRPMAX", std::to_string(group) + " of namespace " + std::to_string(nsid));
  }
}

CONFORMANCE_CASE(ana_log_and_identify_agree, "nvme.ana.membership", roles::controller, needs(reports_ana), needs(has_namespace),
                 furnished(&with_two_groups)) {
  RawAssociation& association = bench.associate();
  const AnaLog log = read_ana(bench, check, association);
  check.that(log.groups.size() <= bench.declared().identify().get(id::nanagrpid), "no more groups than NANAGRPID",
             std::to_string(log.groups.size()));
  for (const std::uint32_t nsid : active_namespaces(check, association)) {
    const std::uint32_t expected = group_of(check, association, nsid);
    std::string found;
    for (const nvme::AnaGroup& group : log.groups) {
      const auto& ids = group.namespaces;
      if (std::find(ids.begin(), ids.end(), nsid) != ids.end()) found += (found.empty() ? "" : ", ") + std::to_string(group.id);
    }
    check.equal("groups of namespace " + std::to_string(nsid) + " in the log", found, std::to_string(expected));
  }
}

CONFORMANCE_CASE(ana_log_beyond_a_transfer_is_whole, "nvme.ana.membership", roles::controller,
                 arranged("an ANA log longer than MDTS", [](EmbeddedSetup& setup) {
                   with_two_groups(setup);
                   setup.subsystem.mdts = 1;
                   setup.subsystem.namespaces_max = kManyNamespaces + 8;
                 })) {
  RawAssociation& association = bench.associate();
  for (std::uint32_t i = 0; i < kManyNamespaces; ++i) {
    const auto added = bench.subsystem().add_namespace({.blocks = 8, .ana_group = 1 + i % 2});
    BENCH_ASSERT(added.ok(), "the arranged product has room for a namespace");
  }
  std::map<std::uint32_t, std::uint32_t> expected;
  for (const auto& [nsid, ns] : bench.subsystem().namespaces()) expected[nsid] = ns->ana_group();
  const auto most = static_cast<std::size_t>(bench.declared().transfer_max());
  const std::size_t whole = nvme::AnaHeader::size + 2 * nvme::AnaGroupHeader::size + 4 * expected.size();
  check.precondition(most != 0 && whole > most, "the log takes more than one transfer");
  Bytes log;
  while (log.size() < whole) {
    const auto bytes = static_cast<std::uint32_t>(std::min(most, whole - log.size()));
    auto command = host::get_log(LogPage::ana, bytes, log.size());
    command.set(nvme::get_log_sqe::rae, true);
    const auto reply = association.admin().send(command, bytes).wait();
    check.require_success(reply, "Get Log Page, ANA, from byte " + std::to_string(log.size()));
    log.insert(log.end(), reply.data.begin(), reply.data.end());
  }
  nvme::AnaWalk walk(log);
  std::map<std::uint32_t, std::uint32_t> found;
  for (nvme::AnaGroup group; walk.next(group);) {
    for (const std::uint32_t nsid : group.namespaces) found[nsid] = group.id;
  }
  check.that(!walk.damaged(), "the log ends with a group");
  check.equal("namespaces in the log", found.size(), expected.size());
  check.that(found == expected, "every namespace is in its group");
  for (const std::uint32_t nsid : {1u, static_cast<std::uint32_t>(expected.size())}) {
    check.equal("ANAGRPID of namespace " + std::to_string(nsid), group_of(check, association, nsid), found[nsid]);
  }
}

CONFORMANCE_CASE(ana_states_are_those_claimed, "nvme.ana.states", roles::controller, needs(reports_ana)) {
  const unsigned claimed = bench.declared().identify().get(id::anacap);
  for (const nvme::AnaGroup& group : read_ana(bench, check, bench.associate()).groups) {
    check.that((claimed & capability_of(group.state)) != 0, "the state of group " + std::to_string(group.id) + " is in ANACAP",
               words(group.state));
  }
}

CONFORMANCE_CASE(ana_groups_alone_are_told_the_same, "nvme.ana.groups-only", roles::controller, needs(reports_ana)) {
  agrees_without_namespaces(bench, check, bench.associate());
}

CONFORMANCE_CASE(ana_is_absent_where_not_claimed, "nvme.ana.not-claimed", roles::controller, needs(reports_no_ana), needs(has_namespace),
                 furnished(&without_ana)) {
  RawAssociation& association = bench.associate();
  check.equal("ANAGRPID", group_of(check, association, bench.nsid()), 0u);
  const Bytes page = claims_of(check, association);
  const View<nvme::IdentifyController> claims{page};
  check.equal("ANATT", static_cast<unsigned>(claims.get(id::anatt)), 0u);
}

// ------------------------------------------------------------------------------------- changes

CONFORMANCE_CASE(ana_log_tells_the_new_state, "nvme.ana.log-state", roles::controller, ana_group_that_changes, needs(reports_ana),
                 needs(has_namespace)) {
  AnaScene scene(bench, check);
  for (const AnaState state : {AnaState::non_optimized, AnaState::inaccessible, AnaState::change, AnaState::optimized}) {
    scene.become(state);
    const AnaLog log = scene.log();
    const nvme::AnaGroup* const group = log.find(scene.group);
    check.require(group != nullptr, "the log has the group");
    check.that(group->state == state, "the log tells the state " + words(state), words(group->state));
  }
}

CONFORMANCE_CASE(ana_changes_are_counted, "nvme.ana.change-count", roles::controller, ana_group_that_changes, needs(reports_ana),
                 needs(has_namespace)) {
  AnaScene scene(bench, check);
  AnaLog before = scene.log();
  for (const AnaState state : {AnaState::non_optimized, AnaState::optimized}) {
    scene.become(state);
    const AnaLog after = scene.log();
    check.that(after.change_count > before.change_count, "the change count of the log grows", std::to_string(after.change_count));
    const nvme::AnaGroup *const was = before.find(scene.group), *const is = after.find(scene.group);
    check.require(was != nullptr && is != nullptr, "the log has the group");
    // 0 says that this group has no count of its own.
    const bool counts = was->change_count != 0 || is->change_count != 0;
    check.that(!counts || is->change_count > was->change_count, "the change count of the group grows", std::to_string(is->change_count));
    before = scene.log();
    check.equal("the change count of an unchanged log", before.change_count, after.change_count);
  }
}

CONFORMANCE_CASE(every_ana_state_is_announced, "nvme.ana.entry", roles::controller, ana_group_that_changes, needs(reports_ana),
                 needs(has_namespace)) {
  AnaScene scene(bench, check);
  check.precondition_success(scene.admin(host::set_features(FeatureId::async_event_configuration, nvme::event_config_bits::ana_change)),
                             "Set Features, Asynchronous Event Configuration");
  for (const AnaState state : {AnaState::non_optimized, AnaState::inaccessible, AnaState::optimized, AnaState::persistent_loss}) {
    auto request = scene.association.admin().send(host::async_event_request());
    scene.become(state);
    const auto reply = request.wait_for(kSoon);
    check.require(reply.has_value(), "a notice on entry to the state " + words(state));
    const auto event = nvme::Event::from_dw0(reply->dw0());
    check.equal("log page of the event", static_cast<unsigned>(event.lid), static_cast<unsigned>(lid_of(LogPage::ana)));
    check.equal("type of the event", static_cast<unsigned>(event.type), static_cast<unsigned>(nvme::EventType::notice));
    check.equal("information of the event", unsigned{event.info}, unsigned{nvme::event_info::notice_ana_change});
    scene.log();
  }
}

// ------------------------------------------------------------------------------------- what the states do

CONFORMANCE_CASE(non_optimized_groups_are_of_full_use, "nvme.ana.non-optimized", roles::controller, ana_group_that_changes,
                 needs(reports_ana), needs(has_namespace)) {
  AnaScene scene(bench, check);
  scene.become(AnaState::non_optimized);
  const Bytes data = pattern(3, 2, scene.block_bytes);
  check.success(scene.write(0, data), "Write");
  const auto reply = scene.read(0, 2);
  check.require_success(reply, "Read");
  check.that(std::equal(data.begin(), data.end(), reply.data.begin()), "what was written is read");
  check.success(scene.io.send(host::flush(scene.nsid)).wait(), "Flush");
}

CONFORMANCE_CASE(ana_states_are_of_groups, "nvme.ana.other-group", roles::controller, arranges{{Request::ana_state}, &with_two_groups},
                 needs(reports_ana), needs(has_two_groups)) {
  AnaScene scene(bench, check);
  scene.become(AnaState::inaccessible);
  check.status(scene.read(0, 1), sc::ana_inaccessible, "Read in the group");
  const auto other = bench.declared().namespaces.at(1);
  check.success(scene.io.send(host::read(other.nsid, 0, 1), other.layout.bytes()).wait(), "Read in another group");
  agrees_without_namespaces(bench, check, scene.association);
}

CONFORMANCE_CASE(no_command_reaches_an_inaccessible_group, "nvme.ana.commands", roles::controller, ana_group_that_changes,
                 needs(reports_ana), needs(has_namespace), reaches{"io.ana.inaccessible"}) {
  AnaScene scene(bench, check);
  const Bytes data = scene.prepare(check, 0, 5, 1);
  const std::uint16_t oncs = bench.declared().identify().get(id::oncs);
  for (const auto& [state, status] : kRefused) {
    scene.become(state);
    const std::string when = " in the state " + words(state);
    check.status(scene.write(0, pattern(6, 1, scene.block_bytes)), status, "Write" + when);
    if ((oncs & nvme::oncs_bits::compare) != 0) check.status(scene.compare(0, data), status, "Compare" + when);
    if ((oncs & nvme::oncs_bits::write_zeroes) != 0) {
      check.status(scene.io.send(host::write_zeroes(scene.nsid, scene.at(0), 1)).wait(), status, "Write Zeroes" + when);
    }
    if ((oncs & nvme::oncs_bits::verify) != 0) {
      check.status(scene.io.send(host::verify(scene.nsid, scene.at(0), 1)).wait(), status, "Verify" + when);
    }
    if ((oncs & nvme::oncs_bits::write_uncorrectable) != 0) {
      check.status(scene.io.send(host::write_uncorrectable(scene.nsid, scene.at(0), 1)).wait(), status, "Write Uncorrectable" + when);
    }
    check.status(scene.io.send(host::flush(scene.nsid)).wait(), status, "Flush" + when);
    if ((oncs & nvme::oncs_bits::dataset_management) != 0) {
      const auto range = host::dsm_range(scene.at(0), 1);
      check.status(scene.io.send(host::deallocate(scene.nsid, 1), range.bytes()).wait(), status, "Dataset Management" + when);
    }
    if ((oncs & nvme::oncs_bits::copy) != 0) {
      const Bytes source = nvme::write_copy_source({.slba = scene.at(8), .blocks = 1}, 0, {});
      check.status(scene.io.send(host::copy(scene.nsid, scene.at(0), 1), source).wait(), status, "Copy" + when);
    }
    if ((oncs & nvme::oncs_bits::reservations) != 0) {
      const auto registers = host::reservation_register(scene.nsid, nvme::RegisterAction::register_key);
      check.status(scene.io.send(registers, host::reservation_keys(0, 0x77)).wait(), status, "Reservation Register" + when);
      check.status(scene.io.send(host::reservation_report(scene.nsid, 128), 128).wait(), status, "Reservation Report" + when);
    }
    scene.become(AnaState::optimized);
  }
  const auto reply = scene.read(0, 1);
  check.require_success(reply, "Read after the group has come back");
  check.that(std::equal(data.begin(), data.end(), reply.data.begin()), "the refused commands have changed nothing");
}

CONFORMANCE_CASE(admin_commands_go_on_beside_an_inaccessible_group, "nvme.ana.admin", roles::controller, ana_group_that_changes,
                 needs(reports_ana), needs(has_namespace)) {
  AnaScene scene(bench, check);
  for (const auto& [state, status] : kRefused) {
    scene.become(state);
    const std::string when = " in the state " + words(state);
    check.success(scene.admin(host::identify(nvme::Cns::controller), 4096), "Identify Controller" + when);
    check.success(scene.admin(host::get_log(LogPage::smart, 512), 512), "Get Log Page, SMART" + when);
    check.success(scene.admin(host::get_features(FeatureId::number_of_queues)), "Get Features" + when);
    // A host that asked for no timer may be told so, whatever the group's state.
    const auto taken = one_of(sc::success, sc::keep_alive_timeout_invalid);
    if (!has_keep_alive(bench.declared())) check.status(scene.admin(host::keep_alive()), taken, "Keep Alive" + when);
  }
}

CONFORMANCE_CASE(capacity_of_an_inaccessible_namespace_is_not_told, "nvme.ana.capacity", roles::controller, ana_group_that_changes,
                 needs(reports_ana), needs(has_namespace)) {
  AnaScene scene(bench, check);
  scene.prepare(check, 0, 1, 4);
  for (const AnaState state : {AnaState::inaccessible, AnaState::persistent_loss}) {
    scene.become(state);
    const auto reply = scene.admin(host::identify(nvme::Cns::identify_namespace, scene.nsid), 4096);
    check.require_success(reply, "Identify Namespace in the state " + words(state));
    check.equal("NUSE", View<nvme::IdentifyNamespace>{reply.data}.get(nvme::id_ns::nuse), std::uint64_t{0});
    check.equal("NVMCAP", load_le<std::uint64_t>(reply.data.data() + nvme::id_ns::nvmcap.offset), std::uint64_t{0});
  }
}

CONFORMANCE_CASE(reservation_features_need_access, "nvme.ana.features", roles::controller, ana_group_that_changes, needs(reports_ana),
                 needs(has_namespace), needs(has_reservations), reaches{"io.ana.inaccessible"}) {
  AnaScene scene(bench, check);
  for (const auto& [state, status] : kRefused) {
    scene.become(state);
    const std::string when = " in the state " + words(state);
    for (const FeatureId fid : {FeatureId::reservation_notification_mask, FeatureId::reservation_persistence}) {
      auto get = host::get_features(fid);
      get.set(nvme::sqe::nsid, scene.nsid);
      check.status(scene.admin(get), status, "Get Features" + when);
      auto set = host::set_features(fid, 0);
      set.set(nvme::sqe::nsid, scene.nsid);
      check.status(scene.admin(set), status, "Set Features" + when);
    }
  }
}

CONFORMANCE_CASE(features_of_all_namespaces_need_access_to_all, "nvme.ana.features.all", roles::controller,
                 arranges{{Request::ana_state},
                          [](EmbeddedSetup& setup) {
                            with_two_groups(setup);
                            setup.subsystem.reservations = true;
                          }},
                 needs(reports_ana), needs(has_namespace), needs(has_reservations), reaches{"io.ana.inaccessible"}) {
  AnaScene scene(bench, check);
  scene.become(AnaState::inaccessible);
  auto set = host::set_features(FeatureId::reservation_notification_mask, 0);
  set.set(nvme::sqe::nsid, nvme::kAllNamespaces);
  check.status(scene.admin(set), sc::ana_inaccessible);
}

}  // namespace fb::conformance
