// Which of two paths a host takes, by their ANA states.
#include "conformance/cases/nvme/host_paths_scene.h"

namespace fb::conformance {

namespace {

using nvme::AnaState;

constexpr unsigned kRounds = 16;
/// Commands that a host may need to find out about a state that no notice tells.
constexpr std::size_t kFindingOut = 3;
/// Attempts of one command while it waits for a path: a host that has a delay between them makes fewer.
constexpr std::size_t kFewAttempts = 100;

TwoPaths connect_ana_paths(HostBench& bench, Check& check, const std::function<void()>& before_second = {}) {
  check.precondition(bench.subsystem().options().ana, "the controllers report ANA");
  return connect_two_paths(bench, check, {}, before_second);
}

/// Whether hosts read the log after a notice is for another case.
void wait_for_log(HostBench& bench, Check& check, std::uint16_t cntlid) {
  check.precondition(bench.run_until([&] { return reads_ana_log(bench, cntlid); }, 30_s), "the host reads the ANA log after a notice");
  pause(bench, 2_s);
}

/// The first path changes its state, the host hears of it, and takes the other one.
void leaves_the_first_path(HostBench& bench, Check& check, AnaState state) {
  const TwoPaths paths = connect_ana_paths(bench, check);
  bench.forget_seen();
  // The other one is not the better path by itself.
  bench.subsystem().set_ana_state(kAnaGroup, AnaState::non_optimized, 2);
  bench.subsystem().set_ana_state(kAnaGroup, state, 1);
  wait_for_log(bench, check, paths.first);
  bench.forget_seen();
  write_and_read(bench, check, kRounds, "on the other path");
  check.equal("I/O commands on the path without access", path_commands(bench, paths.first).size(), 0u);
  pause(bench, 60_s);
  write_and_read(bench, check, kRounds, "a minute later");
  check.equal("I/O commands there a minute later", path_commands(bench, paths.first).size(), 0u);
}

/// No path is accessible for four seconds, well within ANATT of the bench's controllers.
void waits_for_a_path(HostBench& bench, Check& check, AnaState state) {
  connect_ana_paths(bench, check);
  write_and_read(bench, check, 1, "before");
  const Bytes data = [] {
    Bytes made = host_pattern(512);
    made[0] = 0;
    return made;
  }();
  // The second wait is as long as the first.
  for (int round = 0; round < 2; ++round) {
    bench.subsystem().set_ana_state(kAnaGroup, state);
    pause(bench, 1_s);
    bench.forget_seen();
    Bytes& back = bench.keep(Bytes(512));
    Op<nvme::Status> read = bench.product().read(bench.nsid(), kPathLba, back);
    bench.run_until([&] { return read.settled(); }, 4_s);
    const bool early = read.settled();
    const std::size_t attempts = path_commands(bench, 0).size();
    bench.subsystem().set_ana_state(kAnaGroup, AnaState::optimized);
    const auto ended = read.wait_for(120_s);
    check.that(attempts <= kFewAttempts, "few attempts, with a delay between them", std::to_string(attempts) + " in four seconds");
    check.require(ended.has_value(), "the read ends when there is a path again", "it does not");
    check.require_success(*ended, early ? "read, given up within ANATT" : "read");
    check.bytes("data of the read", back, data);
    pause(bench, 2_s);
  }
}

}  // namespace

CONFORMANCE_CASE(host_prefers_the_optimized_path, "nvme.host.ana.optimized", roles::host) {
  const TwoPaths paths = connect_ana_paths(bench, check);
  for (const std::uint16_t better : {std::uint16_t{2}, std::uint16_t{1}}) {
    const auto worse = static_cast<std::uint16_t>(3 - better);
    bench.step("port " + std::to_string(better) + " is the optimized one");
    bench.forget_seen();
    bench.subsystem().set_ana_state(kAnaGroup, AnaState::optimized, better);
    bench.subsystem().set_ana_state(kAnaGroup, AnaState::non_optimized, worse);
    wait_for_log(bench, check, paths.of_port(worse));
    bench.forget_seen();
    write_and_read(bench, check, kRounds, "on the optimized path");
    check.equal("I/O commands on the non-optimized path", path_commands(bench, paths.of_port(worse)).size(), 0u);
  }
}

CONFORMANCE_CASE(host_learns_ana_states_when_it_connects, "nvme.host.ana.initial", roles::host) {
  const TwoPaths paths = connect_ana_paths(bench, check, [&] { bench.subsystem().set_ana_state(kAnaGroup, AnaState::inaccessible, 2); });
  write_and_read(bench, check, kRounds, "on the path that is accessible");
  check.equal("I/O commands on the inaccessible path", path_commands(bench, paths.second).size(), 0u);
}

CONFORMANCE_CASE(host_leaves_an_inaccessible_path, "nvme.host.ana.inaccessible", roles::host, lasts(64_s)) {
  leaves_the_first_path(bench, check, AnaState::inaccessible);
}

CONFORMANCE_CASE(host_leaves_a_path_that_is_lost, "nvme.host.ana.persistent-loss", roles::host, lasts(64_s)) {
  leaves_the_first_path(bench, check, AnaState::persistent_loss);
}

CONFORMANCE_CASE(host_leaves_a_path_that_changes, "nvme.host.ana.change-path", roles::host) {
  const TwoPaths paths = connect_ana_paths(bench, check);
  // A notice need not tell of this state: a status may have to.
  bench.subsystem().set_ana_state(kAnaGroup, AnaState::change, 1);
  pause(bench, 1_s);
  bench.forget_seen();
  write_and_read(bench, check, kRounds, "on the other path");
  const std::size_t there = path_commands(bench, paths.first).size();
  check.that(there <= kFindingOut, "at most a few I/O commands on the path in change", std::to_string(there));
  bench.step("the path that the host prefers changes, and no event tells of it");
  bench.subsystem().set_ana_state(kAnaGroup, AnaState::optimized, 1);
  pause(bench, 2_s);
  bench.forget_seen();
  write_and_read(bench, check, kRounds, "on either path");
  const bool second = path_commands(bench, paths.second).size() > path_commands(bench, paths.first).size();
  bench.script.completion = [](const CommandContext& command, MutableBytes) {
    return command.qid == 0 && command.sqe[0] == opcode::kEventRequest ? Answer::withhold : Answer::send;
  };
  bench.subsystem().set_ana_state(kAnaGroup, AnaState::change, second ? 2 : 1);
  pause(bench, 1_s);
  bench.forget_seen();
  write_and_read(bench, check, kRounds, "on the other path, without an event");
  const std::size_t untold = path_commands(bench, second ? paths.second : paths.first).size();
  check.that(untold <= kFindingOut, "at most a few I/O commands on the path whose change a status tells", std::to_string(untold));
  bench.script = {};
}

CONFORMANCE_CASE(host_waits_while_ana_changes, "nvme.host.ana.change-wait", roles::host) {
  waits_for_a_path(bench, check, AnaState::change);
}

CONFORMANCE_CASE(host_waits_for_a_path_to_come_back, "nvme.host.ana.all-inaccessible", roles::host) {
  waits_for_a_path(bench, check, AnaState::inaccessible);
}

CONFORMANCE_CASE(host_uses_a_path_that_came_back, "nvme.host.ana.failback", roles::host) {
  const TwoPaths paths = connect_ana_paths(bench, check);
  bench.subsystem().set_ana_state(kAnaGroup, AnaState::inaccessible, 1);
  pause(bench, 2_s);
  write_and_read(bench, check, 4, "on the second path");
  bench.step("the second path goes, the first comes back");
  bench.subsystem().set_ana_state(kAnaGroup, AnaState::optimized, 1);
  bench.subsystem().set_ana_state(kAnaGroup, AnaState::inaccessible, 2);
  pause(bench, 2_s);
  bench.forget_seen();
  write_and_read(bench, check, 4, "on the path that came back");
  check.that(!path_commands(bench, paths.first).empty(), "commands on the path that came back", "none");
}

}  // namespace fb::conformance
