// `target drive` and `mctp drive`: make happen to a product what no host or requester can, for `run --arrange`.
#include "cli/common.h"
#include "cli/cmd_drive.h"
#include "cli/drive/nvmet.h"
#include "cli/driver_options.h"
#include "cli/told_product.h"
#include "cli/usage.h"

namespace fb::cli {

namespace {

constexpr const char* kStart = "fabricbench run --dut URL --arrange COMMAND";

struct DriveArguments {
  DriverArguments driver;
  std::string control;
  std::string configfs = drive::Nvmet::kConfigfs;
};

std::string arrange_exit_codes() { return exit_codes("the session ended in order", "the product could not be put back"); }

}  // namespace

void add_target_drive(CLI::App& target, Outcome& outcome) {
  CLI::App* const command = target.add_subcommand("drive", "Make happen to a target what no host can, for a bench");
  set_help(*command,
           "  fabricbench run --dut tcp://127.0.0.1:4420 --arrange 'fabricbench target drive --control unix:disk.sock'\n"
           "  fabricbench run --dut tcp://192.0.2.7:4420 --arrange 'ssh root@lab fabricbench target drive'\n",
           "With --control it is a target of ours; without, the NVMe target of this machine's Linux (nvmet), which needs root. It is "
           "started by the bench, with which it exchanges JSON lines over standard input and output, and puts back at the end what it "
           "changed.\n" +
               arrange_exit_codes());
  auto arguments = std::make_shared<DriveArguments>();
  CLI::Option* const control =
      command->add_option("--control", arguments->control, "What 'fabricbench target' was given")->type_name("unix:PATH");
  command->add_option("--configfs", arguments->configfs, "Where nvmet is configured")
      ->type_name("PATH")
      ->capture_default_str()
      ->excludes(control);
  add_driver_options(*command, arguments->driver);
  command->callback([arguments, &outcome] {
    const auto adapter = [arguments]() -> std::unique_ptr<drive::Adapter> {
      if (!arguments->control.empty()) return std::make_unique<ToldProduct>(arguments->control);
      return std::make_unique<drive::Nvmet>(arguments->configfs);
    };
    outcome.code = run_driver(arguments->driver, {.name = "fabricbench target drive", .start = kStart, .adapter = adapter});
  });
}

void add_mctp_drive(CLI::App& mctp, Outcome& outcome) {
  CLI::App* const command = mctp.add_subcommand("drive", "Make happen to a drive of 'mctp serve' what no requester can, for a bench");
  set_help(*command, "  fabricbench run --dut serial:/dev/pts/7 --arrange 'fabricbench mctp drive --control unix:bus.sock'\n",
           arrange_exit_codes());
  auto arguments = std::make_shared<DriveArguments>();
  command->add_option("--control", arguments->control, "What 'fabricbench mctp serve' was given")->required()->type_name("unix:PATH");
  add_driver_options(*command, arguments->driver);
  command->callback([arguments, &outcome] {
    const auto adapter = [arguments] { return std::make_unique<ToldProduct>(arguments->control); };
    outcome.code = run_driver(arguments->driver, {.name = "fabricbench mctp drive", .start = kStart, .adapter = adapter});
  });
}

}  // namespace fb::cli
