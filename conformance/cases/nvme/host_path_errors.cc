// What a host does with the errors of one of two paths, and with its loss.
#include <map>

#include "conformance/cases/nvme/host_paths_scene.h"

namespace fb::conformance {

namespace {

/// Attempts on one path after which nobody need wait for the next.
constexpr unsigned kForEver = 500;

/// The controller that the first command at kPathLba comes to answers all of these with this status.
struct OneRefuses {
  std::uint16_t victim = 0;
  std::map<std::uint16_t, unsigned> attempts;  ///< by controller

  void begin(HostBench& bench, nvme::Status status, bool every_path = false) {
    victim = 0;
    attempts.clear();
    bench.script.admission = [this, &bench, status, every_path](const CommandContext& command) -> std::optional<nvme::Status> {
      if (!is_io(command, opcode::kRead) || !is_at_path_lba(command.sqe)) return std::nullopt;
      const std::uint16_t cntlid = command.controller->cntlid();
      if (victim == 0) victim = cntlid;
      ++attempts[cntlid];
      if (cntlid != victim && !every_path) return std::nullopt;
      bench.mark("bench.refused");
      return status;
    };
  }
};

void takes_the_other_path(HostBench& bench, Check& check, const std::vector<nvme::Status>& statuses) {
  connect_two_paths(bench, check);
  write_and_read(bench, check, 1, "before");
  Bytes& data = bench.keep(host_pattern(512));
  data[0] = 0;
  for (const nvme::Status status : statuses) {
    const std::string said = words(status);
    bench.step("one path answers " + said);
    OneRefuses refusing;
    refusing.begin(bench, status);
    Bytes& back = bench.keep(Bytes(512));
    Op<nvme::Status> read = bench.product().read(bench.nsid(), kPathLba, back);
    bench.run_until([&] { return read.settled() || refusing.attempts[refusing.victim] >= kForEver; }, 120_s);
    check.require(read.settled(), "the read ends after " + said, "it does not");
    check.require_success(read.value(), "read after " + said);
    check.bytes("data of the read after " + said, back, data);
    bench.script = {};
    pause(bench, 5_s);
  }
}

}  // namespace

CONFORMANCE_CASE(host_takes_the_other_path_after_an_ana_status, "nvme.host.path-error.ana", roles::host, reaches{"bench.refused"}) {
  // The last of them takes the path away for good.
  takes_the_other_path(bench, check, {sc::ana_inaccessible, sc::ana_transition, sc::ana_persistent_loss});
}

CONFORMANCE_CASE(host_takes_the_other_path_after_a_path_error, "nvme.host.path-error.internal", roles::host, reaches{"bench.refused"}) {
  takes_the_other_path(bench, check, {sc::internal_path_error, sc::controller_pathing_error});
}

CONFORMANCE_CASE(host_repeats_no_path_error_that_has_dnr, "nvme.host.path-error.dnr", roles::host, reaches{"bench.refused"}) {
  connect_two_paths(bench, check);
  OneRefuses refusing;
  refusing.begin(bench, sc::internal_path_error.with_dnr(), true);
  Bytes& back = bench.keep(Bytes(512));
  Op<nvme::Status> read = bench.product().read(bench.nsid(), kPathLba, back);
  bench.run_until([&] { return read.settled(); }, 60_s);
  check.precondition(!refusing.attempts.empty(), "the read arrives");
  for (const auto& [cntlid, attempts] : refusing.attempts) {
    check.equal("attempts on controller " + std::to_string(cntlid), attempts, 1u);
  }
  check.require(read.settled(), "the read ends", "it does not");
  check.refused(read.value(), "what the host reports");
  bench.script = {};
}

CONFORMANCE_CASE(host_loses_no_write_with_a_path, "nvme.host.path-loss.data", roles::host, lasts(26_s),
                 furnished([](EmbeddedSetup& setup) { setup.subsystem.io_latency = 2_ms; })) {
  constexpr std::size_t kWrites = 24;
  const TwoPaths paths = connect_two_paths(bench, check);
  for (const std::uint16_t portid : {std::uint16_t{1}, std::uint16_t{2}}) {
    bench.step("the association through port " + std::to_string(portid) + " ends, with writes under way");
    bench.forget_seen();
    std::vector<Bytes*> data;
    std::vector<Op<nvme::Status>> writes;
    for (std::size_t i = 0; i < kWrites; ++i) {
      Bytes& one = bench.keep(host_pattern(4096));
      one[0] = static_cast<std::uint8_t>(i);
      one[1] = static_cast<std::uint8_t>(portid);
      data.push_back(&one);
      writes.push_back(bench.product().write(bench.nsid(), kPathLba + 8 * i, one));
    }
    const std::uint16_t victim = paths.of_port(portid);
    pause(bench, 1_ms);
    subsystem::Controller* const controller = bench.subsystem().find_controller(victim);
    check.precondition(controller != nullptr && controller->in_association(), "the association is there");
    controller->end_association("the bench ends the association");
    for (std::size_t i = 0; i < kWrites; ++i) {
      const auto written = writes[i].wait_for(300_s);
      check.require(written.has_value(), "each write ends", "one never does");
      if (!written->ok()) continue;
      Bytes& back = bench.keep(Bytes(data[i]->size()));
      const auto read = bench.product().read(bench.nsid(), kPathLba + 8 * i, back).wait_for(300_s);
      check.require(read.has_value() && read->ok(), "the data can be read on the other path");
      check.bytes("what was acknowledged", back, *data[i]);
    }
    // One path after the other: the first has to be back before the second goes.
    const bool back = bench.run_until([&] { return controller_of_port(bench, portid) != 0; }, 60_s);
    if (portid == 1) check.precondition(back, "the host connects again through the port that it lost");
    pause(bench, 2_s);
  }
}

namespace {

void waits_until_silence_is_an_end(HostBench& bench, Check& check, std::uint32_t kato_ms = 5000) {
  constexpr Duration kTolerance = Duration::ms(50);
  std::uint16_t silent = 0;
  // Nor does it give the association up: no end of a connection tells the host that it has noticed.
  bench.script.departs = [](std::string_view point) { return point == "sub.kato.never"; };
  bench.script.admission = [&](const CommandContext& command) -> std::optional<nvme::Status> {
    if (silent == 0 && is_io(command, opcode::kWrite) && is_at_path_lba(command.sqe)) {
      silent = command.controller->cntlid();
      bench.mark("bench.silent");
    }
    return std::nullopt;
  };
  bench.script.completion = [&](const CommandContext& command, MutableBytes) {
    const bool mute = command.controller != nullptr && silent != 0 && command.controller->cntlid() == silent;
    return mute ? Answer::withhold : Answer::send;
  };
  const TwoPaths paths = connect_two_paths(bench, check, {.kato_ms = kato_ms});
  check.precondition(kato_of(bench, paths.first) != 0 && kato_of(bench, paths.second) != 0, "the host asks for a keep alive timeout");
  Bytes& data = bench.keep(host_pattern(512));
  Op<nvme::Status> write = bench.product().write(bench.nsid(), kPathLba, data);
  const auto elsewhere = [&]() -> const SeenCommand* {
    for (const SeenCommand* seen : path_commands(bench, 0)) {
      if (seen->cntlid != silent && seen->cntlid != 0) return seen;
    }
    return nullptr;
  };
  bench.run_until([&] { return write.settled() || elsewhere() != nullptr; }, 200_s);
  check.precondition(silent != 0, "the write arrives");
  const SeenCommand* const second = elsewhere();
  check.precondition(second != nullptr || write.settled(), "the write is repeated elsewhere, or given up");
  const Instant stopped = certainly_stopped(bench, silent);
  check.that(second == nullptr || second->at + kTolerance >= stopped, "no write to another controller before the silent one has stopped",
             second == nullptr ? "" : to_string(stopped - second->at) + " too early");
  bench.script = {};
  write.wait_for(300_s);
}

/// What changes blocks, beside Write. The last one leaves blocks that cannot be read.
struct Change {
  std::string_view name;
  std::uint8_t opcode;
  Op<nvme::Status> (*start)(host::Namespace&);
};
constexpr Change kChanges[] = {
    {"Write Zeroes", 0x08, [](host::Namespace& space) { return space.write_zeroes(kPathLba, 8); }},
    {"Dataset Management", 0x09, [](host::Namespace& space) { return space.deallocate(kPathLba, 8); }},
    {"Copy", 0x19,
     [](host::Namespace& space) {
       return space.copy({{kPathLba - 100, 8}}, kPathLba);
     }},
    {"Write Uncorrectable", 0x04, [](host::Namespace& space) { return space.write_uncorrectable(kPathLba, 8); }}};

host::Namespace& shared_space(HostBench& bench, Check& check) {
  for (host::Namespace* space : bench.emulated_host().namespaces()) {
    if (space->nsid() == bench.nsid() && space->paths().all().size() >= 2) return *space;
  }
  check.inconclusive("the host does not join the two paths");
}

/// The controller that gets the command falls silent. Another one is not to get it before the first has stopped.
void repeats_late(HostBench& bench, Check& check, host::Namespace& space, const Change& change) {
  constexpr Duration kTolerance = Duration::ms(50);
  std::uint16_t silent = 0;
  bench.script.departs = [](std::string_view point) { return point == "sub.kato.never"; };
  bench.script.admission = [&](const CommandContext& command) -> std::optional<nvme::Status> {
    if (silent == 0 && is_io(command, change.opcode)) {
      silent = command.controller->cntlid();
      bench.mark("bench.silent");
    }
    return std::nullopt;
  };
  bench.script.completion = [&](const CommandContext& command, MutableBytes) {
    const bool mute = command.controller != nullptr && silent != 0 && command.controller->cntlid() == silent;
    return mute ? Answer::withhold : Answer::send;
  };
  const Instant begun = bench.world().now();
  Op<nvme::Status> doing = change.start(space);
  const auto elsewhere = [&]() -> const SeenCommand* {
    for (const SeenCommand* seen : io_commands(bench, change.opcode)) {
      if (seen->at >= begun && seen->cntlid != silent && seen->cntlid != 0) return seen;
    }
    return nullptr;
  };
  bench.run_until([&] { return doing.settled() || elsewhere() != nullptr; }, 200_s);
  check.precondition(silent != 0, "the command arrives");
  const SeenCommand* const second = elsewhere();
  check.precondition(second != nullptr || doing.settled(), "the command is repeated elsewhere, or given up");
  const Instant stopped = certainly_stopped(bench, silent);
  check.that(second == nullptr || second->at + kTolerance >= stopped,
             "no " + std::string(change.name) + " to another controller before the silent one has stopped",
             second == nullptr ? "" : to_string(stopped - second->at) + " too early");
  bench.script = {};
  doing.wait_for(300_s);
  const bool back = bench.run_until([&] { return controller_of_port(bench, 1) != 0 && controller_of_port(bench, 2) != 0; }, 120_s);
  check.precondition(back, "the host connects again");
  pause(bench, 5_s);
}

}  // namespace

CONFORMANCE_CASE(host_waits_before_it_repeats_changes_elsewhere, "nvme.host.path-loss.changes", roles::host, reaches{"bench.silent"},
                 arranged("a user who changes blocks in every way", [](EmbeddedSetup&) {})) {
  connect_two_paths(bench, check, {.kato_ms = 5000});
  host::Namespace& space = shared_space(bench, check);
  for (const Change& change : kChanges) {
    bench.step(std::string(change.name));
    repeats_late(bench, check, space, change);
  }
}

CONFORMANCE_CASE(host_waits_as_long_as_kas_and_cqt_say, "nvme.host.path-loss.granularity", roles::host, reaches{"bench.silent"},
                 lasts(200_s), furnished([](EmbeddedSetup& setup) {
                   setup.subsystem.kas = 149;       // KATO of 15 s is a little more than one unit: KATT is two, 29.8 s
                   setup.subsystem.cqt_ms = 14000;  // longer than a host waits where CQT is 0
                 })) {
  waits_until_silence_is_an_end(bench, check, 15'000);
}

CONFORMANCE_CASE(host_waits_before_it_repeats_writes_elsewhere, "nvme.host.path-loss.quiesce", roles::host, reaches{"bench.silent"},
                 lasts(200_s)) {
  waits_until_silence_is_an_end(bench, check);
}

CONFORMANCE_CASE(host_waits_longer_where_traffic_keeps_alive, "nvme.host.path-loss.quiesce", roles::host, reaches{"bench.silent"},
                 lasts(200_s), furnished([](EmbeddedSetup& setup) { setup.subsystem.traffic_based_keep_alive = true; })) {
  waits_until_silence_is_an_end(bench, check);
}

}  // namespace fb::conformance
