// Hosts that have lost a controller and have another one: Cross-Controller Reset, and when they repeat a write.
#include <functional>
#include <map>

#include "conformance/cases/nvme/host_paths_scene.h"
#include "wire/nvme/cross_controller_reset.h"
#include "wire/nvme/identify_controller.h"

namespace fb::conformance {

namespace {

constexpr std::uint8_t kCrossReset = 0x38;
constexpr std::uint8_t kResetLog = 0x1E;

void with_ccr(EmbeddedSetup& setup) { setup.subsystem.cross_controller_reset.limit = 4; }
void with_slow_ccr(EmbeddedSetup& setup) { setup.subsystem.cross_controller_reset = {.limit = 4, .time = Duration::s(2)}; }
void with_endless_ccr(EmbeddedSetup& setup) { setup.subsystem.cross_controller_reset = {.limit = 4, .time = Duration::s(90)}; }
void with_failing_ccr(EmbeddedSetup& setup) {
  with_ccr(setup);
  setup.subsystem.cross_controller_reset.reaches_others = false;
}

/// A controller falls silent with a write under way, and the host finds out. Keeps what Identify has told of each instance.
class SilentController {
 public:
  struct Told {
    std::uint8_t ciu = 0;
    std::uint64_t cirn = 0;
  };
  /// Changes what goes out to the host.
  using Alter = std::function<void(const CommandContext&, MutableBytes)>;

  SilentController(HostBench& bench, Check& check, Alter alter = {}) : bench_(bench), check_(check) {
    // Nor does it notice that the host has gone: it could go on executing.
    bench.script.departs = [](std::string_view point) {
      return point == "sub.kato.never" || point == "sub.association.admin_loss" || point == "sub.association.io_loss";
    };
    bench.script.admission = [this](const CommandContext& command) -> std::optional<nvme::Status> {
      if (silent == 0 && is_io(command, opcode::kWrite) && is_at_path_lba(command.sqe)) {
        silent = command.controller->cntlid();
        bench_.mark("bench.silent");
      }
      return std::nullopt;
    };
    bench.script.completion = [this](const CommandContext& command, MutableBytes) {
      const bool mute = silent != 0 && command.controller != nullptr && command.controller->cntlid() == silent;
      return mute ? Answer::withhold : Answer::send;
    };
    bench.script.data_out = [this, alter](const CommandContext& command, MutableBytes data) {
      if (alter) alter(command, data);
      const bool whole = is_identify(command) && data.size() == nvme::kIdentifySize;
      if (!whole || command.controller == nullptr) return;
      const View<nvme::IdentifyController> page{data};
      told[command.controller->cntlid()] = {page.get(nvme::id_ctrl::ciu), page.get(nvme::id_ctrl::cirn)};
    };
  }
  SilentController(const SilentController&) = delete;
  SilentController& operator=(const SilentController&) = delete;
  ~SilentController() { bench_.script = {}; }

  static bool is_identify(const CommandContext& command) {
    return command.qid == 0 && command.sqe[0] == opcode::kIdentify && command.sqe[40] == 1;
  }
  static bool is_reset_log(const CommandContext& command) {
    return command.qid == 0 && command.sqe[0] == opcode::kGetLog && command.sqe[40] == kResetLog;
  }

  /// The write, until it comes to another controller or the host ends it.
  void run() {
    const TwoPaths paths = connect_two_paths(bench_, check_, {.kato_ms = 5000});
    check_.precondition(kato_of(bench_, paths.first) != 0 && kato_of(bench_, paths.second) != 0, "the host asks for a keep alive timeout");
    Bytes& data = bench_.keep(host_pattern(512));
    Op<nvme::Status> write = bench_.product().write(bench_.nsid(), kPathLba, data);
    bench_.run_until([&] { return write.settled() || elsewhere() != nullptr; }, 200_s);
    check_.precondition(silent != 0, "the write arrives");
    check_.precondition(elsewhere() != nullptr || write.settled(), "the write is repeated elsewhere, or given up");
    stopped = certainly_stopped(bench_, silent);
  }

  const SeenCommand* elsewhere() const {
    for (const SeenCommand* seen : path_commands(bench_, 0)) {
      if (seen->cntlid != silent && seen->cntlid != 0) return seen;
    }
    return nullptr;
  }
  std::vector<const SeenCommand*> resets() const { return admin_commands(bench_, kCrossReset); }
  /// The first one; hosts that send none are for another case.
  const SeenCommand& need_reset() const {
    const auto all = resets();
    check_.precondition(!all.empty(), "the host asks for a Cross-Controller Reset");
    return *all.front();
  }
  void repeated_not_before(Instant earliest, std::string_view what) const {
    constexpr Duration kTolerance = Duration::ms(50);
    const SeenCommand* const second = elsewhere();
    check_.that(second == nullptr || second->at + kTolerance >= std::min(earliest, stopped), what,
                second == nullptr ? "" : to_string(std::min(earliest, stopped) - second->at) + " too early");
  }

  std::uint16_t silent = 0;
  std::map<std::uint16_t, Told> told;
  Instant stopped;  ///< by time alone

 private:
  HostBench& bench_;
  Check& check_;
};

void set_retry(const CommandContext& command, MutableBytes data, nvme::CcrRetry retry) {
  if (!SilentController::is_reset_log(command) || data.size() < 16) return;
  MutableView<nvme::CcrEntryLayout>{data.subspan(8, 8)}.set(nvme::ccr_entry::retry, retry);
}

}  // namespace

CONFORMANCE_CASE(host_names_the_instance_that_it_lost, "nvme.ccr.host.instance", roles::host, reaches{"bench.silent"}, lasts(200_s),
                 furnished(&with_ccr)) {
  SilentController scene(bench, check);
  scene.run();
  const auto reset = scene.need_reset().as<nvme::CrossControllerResetSqe>();
  check.equal("ICID", reset.get(nvme::ccr_sqe::icid), scene.silent);
  check.equal("CIU", reset.get(nvme::ccr_sqe::ciu), scene.told[scene.silent].ciu);
  check.equal("CIRN", reset.get(nvme::ccr_sqe::cirn), scene.told[scene.silent].cirn);
}

CONFORMANCE_CASE(host_asks_another_controller_for_a_reset, "nvme.ccr.host.asks", roles::host, reaches{"bench.silent"}, lasts(200_s),
                 furnished(&with_ccr)) {
  SilentController scene(bench, check);
  scene.run();
  const auto resets = scene.resets();
  check.require(!resets.empty(), "the host asks for a Cross-Controller Reset", "it sends none");
  check.that(resets.front()->cntlid != scene.silent, "it asks another controller than the lost one", "it asks the lost one");
}

CONFORMANCE_CASE(host_asks_nobody_who_cannot, "nvme.ccr.host.unclaimed", roles::host, reaches{"bench.silent"}, lasts(200_s),
                 furnished(&with_ccr)) {
  SilentController scene(bench, check, [](const CommandContext& command, MutableBytes data) {
    if (!SilentController::is_identify(command) || data.size() != nvme::kIdentifySize) return;
    MutableView<nvme::IdentifyController>{data}.set(nvme::id_ctrl::ccrl, 0u);
  });
  scene.run();
  check.equal("Cross-Controller Resets to controllers with CCRL 0", scene.resets().size(), std::size_t{0});
}

CONFORMANCE_CASE(host_waits_for_the_end_of_a_reset, "nvme.ccr.host.waits", roles::host, reaches{"bench.silent"}, lasts(200_s),
                 furnished(&with_slow_ccr)) {
  SilentController scene(bench, check);
  scene.run();
  scene.repeated_not_before(scene.need_reset().at + Duration::s(2), "no write elsewhere before the Cross-Controller Reset has succeeded");
}

CONFORMANCE_CASE(host_does_not_build_on_a_failed_reset, "nvme.ccr.host.failed", roles::host, reaches{"bench.silent"}, lasts(200_s),
                 furnished(&with_failing_ccr)) {
  SilentController scene(bench, check);
  scene.run();
  (void)scene.need_reset();
  scene.repeated_not_before(scene.stopped, "no write elsewhere before the silent controller has stopped");
}

CONFORMANCE_CASE(host_reads_the_reset_log, "nvme.ccr.host.reads", roles::host, reaches{"bench.silent"}, lasts(200_s),
                 furnished(&with_slow_ccr)) {
  SilentController scene(bench, check);
  scene.run();
  const SeenCommand& reset = scene.need_reset();
  const auto logs = admin_commands(bench, opcode::kGetLog);
  const bool read = std::ranges::any_of(logs, [&](const SeenCommand* seen) {
    return (seen->cdw(10) & 0xFF) == kResetLog && seen->cntlid == reset.cntlid && seen->at >= reset.at;
  });
  check.that(read, "the host reads log page 1Eh of the controller that it asked", "it does not");
}

CONFORMANCE_CASE(host_ignores_entries_of_others, "nvme.ccr.host.other-entries", roles::host, reaches{"bench.silent"}, lasts(200_s),
                 furnished(&with_endless_ccr)) {
  SilentController scene(bench, check, [](const CommandContext& command, MutableBytes data) {
    if (!SilentController::is_reset_log(command) || data.size() < 16) return;
    MutableView<nvme::CcrEntryLayout> entry{data.subspan(8, 8)};
    const auto icid = View<nvme::CcrEntryLayout>{data.subspan(8, 8)}.get(nvme::ccr_entry::icid);
    entry.set(nvme::ccr_entry::icid, static_cast<std::uint16_t>(icid ^ 0x0400)).set(nvme::ccr_entry::ccrs, nvme::CcrStatus::success);
  });
  scene.run();
  (void)scene.need_reset();
  scene.repeated_not_before(scene.stopped, "no write elsewhere on account of an entry of another controller");
}

CONFORMANCE_CASE(host_does_not_repeat_a_hopeless_reset, "nvme.ccr.host.no-retry", roles::host, reaches{"bench.silent"}, lasts(200_s),
                 furnished(&with_failing_ccr)) {
  SilentController scene(bench, check,
                         [](const CommandContext& command, MutableBytes data) { set_retry(command, data, nvme::CcrRetry::no); });
  scene.run();
  (void)scene.need_reset();
  check.equal("Cross-Controller Resets after a failure with RETRY 0, with the first", scene.resets().size(), std::size_t{1});
}

CONFORMANCE_CASE(host_goes_on_after_a_reset, "nvme.ccr.host.proceeds", roles::host, reaches{"bench.silent"}, lasts(200_s),
                 furnished(&with_ccr)) {
  SilentController scene(bench, check);
  scene.run();
  (void)scene.need_reset();
  const SeenCommand* const second = scene.elsewhere();
  check.precondition(second != nullptr, "the write is repeated elsewhere");
  check.that(second->at < scene.stopped, "the write is repeated before recovery by time ends", "it is not");
}

}  // namespace fb::conformance
