// Namespaces in several ANA groups, whose states differ from each other and from port to port.
#include <array>

#include "conformance/cases/nvme/host_paths_scene.h"
#include "model/subsystem/subsystem.h"

namespace fb::conformance {

namespace {

using nvme::AnaState;

/// Numbers with gaps, and not in the order of the namespaces.
constexpr std::array<std::uint32_t, 5> kGroups = {7, 2, 32, 1, 5};

void five_groups(EmbeddedSetup& setup) {
  setup.namespaces.clear();
  for (std::uint32_t i = 0; i < kGroups.size(); ++i) {
    setup.namespaces.push_back({.nsid = i + 1, .blocks = 4096, .ana_group = kGroups[i]});
  }
}
const furnished namespaces_in_five_groups{&five_groups};

struct States {
  AnaState first, second;  ///< behind port 1 and port 2
};
constexpr auto kOptimized = AnaState::optimized, kOther = AnaState::non_optimized, kNone = AnaState::inaccessible;
/// One row a round, one place a group: each pair comes to each group, and neighbours differ.
constexpr std::array<States, 5> kPairs = {
    {{kOptimized, kOther}, {kOther, kOptimized}, {kNone, kOther}, {kOther, kNone}, {kOptimized, kNone}}};

}  // namespace

CONFORMANCE_CASE(host_keeps_ana_groups_apart, "nvme.host.ana.groups", roles::host, namespaces_in_five_groups) {
  check.precondition(bench.subsystem().options().ana, "the controllers report ANA");
  const TwoPaths paths = connect_two_paths(bench, check);
  const auto& spaces = bench.subsystem().namespaces();
  for (std::size_t round = 0; round < kPairs.size(); ++round) {
    bench.step("round " + std::to_string(round + 1));
    std::size_t index = round;
    for (const auto& [nsid, space] : spaces) {
      const States& states = kPairs[index++ % kPairs.size()];
      // The better one first, so that there is always a path.
      const bool first_is_better = states.first < states.second;
      bench.subsystem().set_ana_state(space->ana_group(), first_is_better ? states.first : states.second, first_is_better ? 1 : 2);
      bench.subsystem().set_ana_state(space->ana_group(), first_is_better ? states.second : states.first, first_is_better ? 2 : 1);
    }
    pause(bench, 3_s);
    bench.forget_seen();
    index = round;
    for (const auto& [nsid, space] : spaces) {
      const States& states = kPairs[index++ % kPairs.size()];
      const std::uint16_t right = states.first < states.second ? paths.first : paths.second;
      for (unsigned i = 0; i < 4; ++i) {
        Bytes& data = bench.keep(host_pattern(512));
        const auto written = bench.product().write(nsid, kPathLba + i, data).wait_for(120_s);
        check.require(written.has_value(), "a write to each namespace ends", "one does not");
        check.require_success(*written, "write to namespace " + std::to_string(nsid));
      }
      std::size_t wrong = 0, all = 0;
      for (const SeenCommand* seen : path_commands(bench, 0)) {
        if (seen->nsid() != nsid) continue;
        ++all;
        wrong += seen->cntlid != right;
      }
      check.precondition(all > 0, "the writes arrive");
      check.equal(
          "I/O commands of namespace " + std::to_string(nsid) + " (group " + std::to_string(space->ana_group()) + ") on the worse path",
          wrong, 0u);
    }
  }
}

}  // namespace fb::conformance
