// The virtual MCTP bus for programs that know nothing of it.
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/suggest.h"
#include "cli/cmd_drive.h"
#include "cli/common.h"
#include "cli/control/control_socket.h"
#include "cli/document.h"
#include "cli/drive_control.h"
#include "cli/mctp_bus.h"
#include "cli/mctp_counters.h"
#include "cli/mctp_proxy.h"
#include "cli/mctp_dbus.h"
#include "cli/program.h"
#include "cli/tls_options.h"
#include "cli/usage.h"
#include "conformance/runner/case.h"
#include "conformance/runner/profiles.h"
#include "sim/mctp/i2c_server.h"
#include "sim/mctp/socket_server.h"

namespace fb::cli {

namespace {

/// Where programs look for the system's D-Bus.
constexpr char kDbusVariable[] = "DBUS_SYSTEM_BUS_ADDRESS";

struct MctpArguments {
  MctpBusOptions bus;
  std::string size = "64M";
  std::string socket;
  std::string serial;
  std::string capture;
  std::string control;
  std::string counters;
  std::string drive;
  std::vector<std::string> deviations;
  std::string like;
  std::string kernel = "6.17";
  std::string latency;
  std::string more_count;
  std::string more_interval;
  std::string more_time;
  std::string network_id = "unsigned";
  bool dbus = false;
  bool strict = false;
  bool json = false;
  std::vector<std::string> program;
};

/// The preload library stands beside the command where both were built, and below lib where they are installed.
std::string preload_library() {
  const std::filesystem::path beside = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  constexpr const char* kName = "libfabricbench_mctp.so";
  for (const auto& folder : {beside, beside.parent_path() / "lib" / "fabricbench"}) {
    if (std::filesystem::exists(folder / kName)) return folder / kName;
  }
  throw UserError((beside / kName).string() + ": the preload library is missing");
}

/// "90ms", "2s", "1500us".
Duration duration_of(const char* option, const std::string& text) {
  const auto time = parse_duration(text);
  if (!time) throw UserError(fmt::format("{} {}: not a time such as 250ms or 2s", option, text));
  return *time;
}

/// What a drive says while a command takes its time, and how long that is.
void more_processing_options(const MctpArguments& arguments, MctpBusOptions& options) {
  constexpr std::int64_t kUnit_ms = 100;
  mi::MoreProcessingOptions& more = options.more_processing;
  if (arguments.more_count == "endless") {
    more.endless = true;
  } else if (!arguments.more_count.empty()) {
    const char* const end = arguments.more_count.data() + arguments.more_count.size();
    const auto [rest, error] = std::from_chars(arguments.more_count.data(), end, more.count);
    if (error != std::errc{} || rest != end || more.count == 0) {
      throw UserError("--more-processing-count " + arguments.more_count + ": neither a positive number nor 'endless'");
    }
  }
  if (!arguments.more_interval.empty()) more.interval = duration_of("--more-processing-interval", arguments.more_interval);
  if (!arguments.more_time.empty()) {
    const std::int64_t time_ms = duration_of("--more-processing-time", arguments.more_time).count_ms();
    if (time_ms % kUnit_ms != 0 || time_ms / kUnit_ms > 0xFFFF) {
      throw UserError("--more-processing-time " + arguments.more_time + ": not a multiple of 100ms up to 6553500ms");
    }
    more.time = static_cast<std::uint16_t>(time_ms / kUnit_ms);
  }
  if (!arguments.latency.empty()) {
    options.latency = duration_of("--latency", arguments.latency);
    return;
  }
  // A drive that answers at once never asks for more time: whoever wants to see it do so gets one that takes longer.
  bool wanted = more.count > 1 || more.time.has_value();
  for (const auto* chosen : options.deviations.chosen()) wanted = wanted || chosen->requirement.starts_with("mi.mpr.");
  if (wanted) options.latency = Duration::ms(250) + more.interval * static_cast<std::int64_t>(more.count);
}

MctpBusOptions bus_options(const MctpArguments& arguments) {
  MctpBusOptions options = arguments.bus;
  options.controller_zero = !arguments.strict;
  if (!arguments.drive.empty()) {
    options.variant = mi::find_drive_variant(arguments.drive);
    if (options.variant == nullptr) {
      std::vector<std::string_view> names;
      for (const mi::DriveVariant& variant : mi::drive_variants()) names.push_back(variant.name);
      throw UserError("--drive " + arguments.drive + ": no such drive" + did_you_mean(arguments.drive, names) +
                      " ('fabricbench list --drives' shows them)");
    }
  }
  const std::vector<std::string> media(conformance::kMedia.begin(), conformance::kMedia.end());
  std::vector<std::string> names =
      or_throw(deviations::DeviationSet::of_names(arguments.deviations, deviations::Product::endpoint)).names();
  options.deviations = or_throw(conformance::with_personality(std::move(names), arguments.like, {deviations::Product::endpoint}, media));
  for (const auto* chosen : options.deviations.chosen()) {
    if (chosen->product == deviations::Product::endpoint) continue;
    throw UserError(fmt::format("--deviation {}: a deviation of a {}, not of an endpoint", chosen->name, name_of(chosen->product)));
  }
  more_processing_options(arguments, options);
  options.namespace_bytes = or_throw(parse_size(arguments.size));
  if (options.namespace_bytes == 0 || options.namespace_bytes % 4096 != 0) {
    throw UserError("--namespace " + arguments.size + ": no whole number of blocks of 4 KiB");
  }
  return options;
}

mctp::KernelVersion kernel_of(const MctpArguments& arguments) {
  return arguments.kernel == "6.9" ? mctp::KernelVersion::v6_9 : mctp::KernelVersion::v6_17;
}

/// The preload library by a path that LD_PRELOAD can hold: blanks and colons separate its entries, and nothing quotes them.
std::string preload_path(const std::filesystem::path& directory) {
  const std::string library = preload_library();
  constexpr const char* kSeparators = " :\t";
  if (library.find_first_of(kSeparators) == std::string::npos) return library;
  const std::filesystem::path link = directory / "preload.so";
  std::error_code error;
  if (!std::filesystem::exists(link)) std::filesystem::create_symlink(library, link, error);
  if (error || link.string().find_first_of(kSeparators) != std::string::npos) {
    throw UserError(library +
                    ": LD_PRELOAD cannot contain a path with a space or a colon; install fabricbench elsewhere, or set TMPDIR to a folder "
                    "without one");
  }
  return link.string();
}

/// What a program needs to reach the bus, and the adapters where there are any.
std::vector<std::string> environment_with(const std::string& socket, const std::string& adapters, const std::filesystem::path& directory) {
  std::vector<std::string> made = own_environment();
  std::string preload = preload_path(directory);
  for (const std::string& entry : made) {
    if (entry.starts_with("LD_PRELOAD=") && entry.size() > 11) preload += ":" + entry.substr(11);
  }
  set_variable(made, "LD_PRELOAD", preload);
  set_variable(made, mctp::kSocketVariable, socket);
  if (!adapters.empty()) set_variable(made, mctp::kI2cVariable, adapters);
  return made;
}

/// Told by the kernel when the program has ended.
struct ProgramEnd final : FdHandler {
  void on_readable() override { ended = true; }
  bool ended = false;
};

/// The program's exit status, as a shell would say it.
int wait_for(World& world, pid_t child) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (fd < 0) throw UserError(std::string("pidfd_open: ") + std::strerror(errno));
  ProgramEnd end;
  world.real_loop()->watch(fd, end);
  const SignalWatcher signals([child] { kill(child, SIGTERM); });
  world.run_until([&] { return end.ended; }, Duration::s(365 * 24 * 3600));
  world.real_loop()->unwatch(fd);
  close(fd);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// What --dbus asks for; null without.
std::unique_ptr<MctpDbus> publish(World& world, MctpBus& bus, mctp::SocketServer& server, const std::filesystem::path& directory,
                                  const MctpArguments& arguments) {
  if (!arguments.dbus) return nullptr;
  return std::make_unique<MctpDbus>(
      world, bus, directory, arguments.network_id == "signed",
      [&server](std::uint32_t network, mctp::Eid eid, std::uint32_t mtu) { server.set_unit(network, eid, mtu - mctp::kHeaderSize); });
}

/// The adapters of --i2c, at a socket beside that of the bus; null without.
std::unique_ptr<mctp::I2cServer> serve_adapters(World& world, const MctpBus& bus, const std::string& socket) {
  if (bus.adapters().empty()) return nullptr;
  return or_throw(mctp::I2cServer::open(world, bus.adapters(), socket + ".i2c"));
}

std::vector<MctpDrive*> drives_of(const MctpBus& bus) {
  std::vector<MctpDrive*> drives;
  for (const auto& drive : bus.drives()) drives.push_back(drive.get());
  return drives;
}

int run_exec(const MctpArguments& arguments) {
  const auto world = World::make_real(nonce());
  const CaptureFile capture(*world, arguments.capture, "fabricbench mctp");
  CountersFile counters(arguments.counters);
  MctpBus bus(*world, bus_options(arguments));
  const PrivateDirectory directory("mctp");
  const auto server = or_throw(mctp::SocketServer::open(*world, bus.bus(), directory.path() / "bus", kernel_of(arguments)));
  const auto dbus = publish(*world, bus, *server, directory.path(), arguments);
  const auto adapters = serve_adapters(*world, bus, server->path());
  auto environment = environment_with(server->path(), adapters ? adapters->path() : "", directory.path());
  if (dbus) set_variable(environment, kDbusVariable, dbus->address());
  const ProgramStreams streams{.output = arguments.json ? STDERR_FILENO : -1};
  const int code = wait_for(*world, start_program(arguments.program, std::move(environment), streams));
  counters.write(drives_of(bus));
  if (arguments.json) {
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(counters_json(drives_of(bus)));
    json["exit_status"] = code;
    print_document(std::move(json));
  }
  return code;
}

/// Serves until a signal, or its control socket, ends it in order.
void serve_on(World& world, const std::vector<MctpDrive*>& drives, const std::string& control) {
  const DriveControl told(world, drives);
  std::unique_ptr<ControlSocket> socket;
  if (!control.empty()) socket = or_throw(ControlSocket::open(world, told.rpc(), control_path(control)));
  const SignalWatcher signals([&] { world.interrupt(); });
  flush_output();
  try {
    for (;;) world.run_for(Duration::s(3600));
  } catch (const WaitFailure&) {
    return;
  }
}

/// One drive on a serial line; there is no bus beside it.
int serve_serial(const MctpArguments& arguments) {
  const auto world = World::make_real(nonce());
  const CaptureFile capture(*world, arguments.capture, "fabricbench mctp");
  CountersFile counters(arguments.counters);
  SerialDrive served(*world, bus_options(arguments), arguments.serial);
  if (arguments.json) {
    print_document({{"url", "serial:" + served.peer_path()}, {"serial", served.drive().serial()}}, -1);
  } else {
    std::printf("serving serial:%s %s\n", served.peer_path().c_str(), served.drive().serial().c_str());
  }
  serve_on(*world, {&served.drive()}, arguments.control);
  counters.write({&served.drive()});
  return 0;
}

int run_serve(const MctpArguments& arguments) {
  if (arguments.serial.empty() == arguments.socket.empty()) {
    throw UserError("mctp serve needs either --socket or --serial");
  }
  if (!arguments.serial.empty()) {
    if (arguments.dbus) throw UserError("--dbus publishes a bus, and --serial serves a drive without one");
    if (arguments.bus.i2c) throw UserError("--i2c is for the drives of a bus, and --serial serves a drive without one");
    return serve_serial(arguments);
  }
  const auto world = World::make_real(nonce());
  const CaptureFile capture(*world, arguments.capture, "fabricbench mctp");
  CountersFile counters(arguments.counters);
  MctpBus bus(*world, bus_options(arguments));
  const auto server = or_throw(mctp::SocketServer::open(*world, bus.bus(), arguments.socket, kernel_of(arguments)));
  const auto adapters = serve_adapters(*world, bus, server->path());
  const PrivateDirectory directory("mctp");
  const auto dbus = publish(*world, bus, *server, directory.path(), arguments);
  nlohmann::ordered_json said = {
      {"endpoints", nlohmann::ordered_json::array()}, {"socket", server->path()}, {"preload", preload_path(directory.path())}};
  if (dbus) said["dbus"] = dbus->address();
  if (adapters) said["i2c"] = adapters->path();
  for (const auto& drive : bus.drives()) {
    said["endpoints"].push_back(
        {{"url", fmt::format("mctp:{},{}", drive->network(), drive->node().endpoint().eid())}, {"serial", drive->serial()}});
    if (arguments.json) continue;
    std::printf("endpoint mctp:%u,%u %s\n", drive->network(), drive->node().endpoint().eid(), drive->serial().c_str());
  }
  if (arguments.json) {
    print_document(std::move(said), -1);
  } else {
    std::printf("serving %s\nLD_PRELOAD=%s %s=%s", server->path().c_str(), preload_path(directory.path()).c_str(), mctp::kSocketVariable,
                server->path().c_str());
    if (dbus) std::printf(" %s=%s", kDbusVariable, dbus->address().c_str());
    if (adapters) std::printf(" %s=%s", mctp::kI2cVariable, adapters->path().c_str());
    std::printf("\n");
  }
  serve_on(*world, drives_of(bus), arguments.control);
  counters.write(drives_of(bus));
  return 0;
}

void add_bus_options(CLI::App& command, MctpArguments& arguments) {
  command.add_option("--network", arguments.bus.networks, "Number of the MCTP network; several: 1,2")
      ->delimiter(',')
      ->type_name("N")
      ->default_str("1");
  command.add_option("--endpoints", arguments.bus.endpoints, "Drives on each network, from EID 9 on")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--controllers", arguments.bus.controllers, "Controllers of each drive, from 1 on")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--namespace", arguments.size, "Size of NSID 1 of each drive")->type_name("SIZE")->capture_default_str();
  command.add_option("--capture", arguments.capture, "Write a capture of the bus here while it runs")->type_name("FILE");
  command.add_option("--counters", arguments.counters, "Write the requests to each drive here at the end, as JSON")->type_name("FILE");
  command.add_flag("--dbus", arguments.dbus, "Publish the endpoints on a D-Bus of its own, as the MCTP daemon does");
  command.add_flag("--i2c", arguments.bus.i2c,
                   "/dev/i2c-N of a program is drive N: basic management command at 6Ah, vital product data at 53h");
  command.add_flag("--timing", arguments.bus.timing, "Real bus speed: SMBus at 100 kHz, a serial line at 115,200 baud");
  command.add_option("--drive", arguments.drive, "Kind of every drive (list --drives)")->type_name("NAME");
  command.add_option("--like", arguments.like, "Every drive misbehaves as the profile says (a file NAME.yaml of --profile)")
      ->type_name("PROFILE");
  command.add_option("--deviation", arguments.deviations, "Every drive misbehaves in this named way (list --deviations)")
      ->type_name("NAME")
      ->delimiter(',');
  command.add_option("--latency", arguments.latency, "Every command takes so long; beyond 90ms the drive asks for more time")
      ->type_name("TIME");
  command
      .add_option("--more-processing-count", arguments.more_count,
                  "Number of More Processing Required responses to one command; endless: no final response")
      ->type_name("N");
  command.add_option("--more-processing-interval", arguments.more_interval, "Time between two of them (100ms)")->type_name("TIME");
  command.add_option("--more-processing-time", arguments.more_time, "Time that each of them requests")->type_name("TIME");
  command.add_flag("--strict-controllers", arguments.strict, "Controller 0, which nvme sends by default, does not exist");
  command.add_flag("--json", arguments.json, "Print the result as one JSON document");
}

void add_socket_options(CLI::App& command, MctpArguments& arguments) {
  command.add_option("--kernel", arguments.kernel, "The Linux that the sockets are like: before 6.17 none binds to a peer")
      ->check(one_of_texts({"6.9", "6.17"}))
      ->capture_default_str();
  command
      .add_option("--dbus-network-id", arguments.network_id,
                  "Type of NetworkId on D-Bus: that of mctpd, or that which libnvme before 3 reads")
      ->check(one_of_texts({"unsigned", "signed"}))
      ->capture_default_str();
}

}  // namespace

void add_mctp(CLI::App& app, Outcome& outcome) {
  auto* group = app.add_subcommand("mctp", "A virtual MCTP bus with NVMe-MI endpoints");
  group->require_subcommand(1);
  set_help(*group, "  fabricbench mctp exec -- nvme id-ctrl mctp:1,9:1\n");
  auto arguments = std::make_shared<MctpArguments>();

  auto* exec = group->add_subcommand("exec", "Run a program whose AF_MCTP sockets reach the bus");
  set_help(*exec,
           "  fabricbench mctp exec -- nvme id-ctrl mctp:1,9:1\n"
           "  fabricbench mctp exec --endpoints 8 -- python3 my_bmc_test.py\n",
           "Exit code: that of the program; 2 wrong use, wrong input or missing surroundings. With --json the program writes to standard "
           "error, and standard output is the JSON document.");
  add_bus_options(*exec, *arguments);
  add_socket_options(*exec, *arguments);
  exec->add_option("program", arguments->program, "The program and its arguments, after --")->required()->type_name("PROGRAM");
  exec->callback([arguments, &outcome] { outcome.code = run_exec(*arguments); });

  auto* serve = group->add_subcommand("serve", "Serve the bus on a unix socket, or a drive on a serial line, until SIGINT or SIGTERM");
  set_help(*serve,
           "  fabricbench mctp serve --socket /tmp/bus\n  fabricbench mctp serve --serial pty\n"
           "  fabricbench mctp serve --socket /tmp/bus --control unix:/tmp/bus.ctl\n",
           exit_codes("ended by SIGINT or SIGTERM", "the bench broke"));
  add_bus_options(*serve, *arguments);
  add_socket_options(*serve, *arguments);
  serve->add_option("--socket", arguments->socket, "Path of the socket")->type_name("PATH");
  serve->add_option("--serial", arguments->serial, "A serial port, a unix stream socket, or pty for a new pseudo-terminal")
      ->type_name("PATH");
  serve->add_option("--control", arguments->control, "Take JSON-RPC 2.0 at this unix socket, for its owner alone (fabricbench ctl)")
      ->type_name("unix:PATH");
  serve->callback([arguments, &outcome] { outcome.code = run_serve(*arguments); });
  add_mctp_proxy(*group, outcome);
  add_mctp_drive(*group, outcome);
}

}  // namespace fb::cli
