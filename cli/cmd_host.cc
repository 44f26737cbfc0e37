#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>

#include "cli/common.h"
#include "cli/drive/driver.h"
#include "cli/drive/sessions.h"
#include "cli/host_session.h"
#include "cli/io_run.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/zones.h"

namespace fb::cli {

namespace {

template <class Body>
int guarded(const HostArguments& arguments, Body&& body) {
  try {
    HostSession session(arguments);
    return body(session);
  } catch (const WaitFailure& failure) {
    if (failure.end() == WaitEnd::interrupted) return exit_code::interrupted;
    throw UserError(fmt::format("{}: {}", arguments.url, failure.what()));
  }
}

void print_log(const host::DiscoveryResult& result) {
  fmt::print("generation {}, {} entries\n", result.genctr, result.entries.size());
  for (const host::DiscoveredEntry& entry : result.entries) {
    const bool tls = entry.sectype != fabrics::TcpSecurity::none;
    const bool required = (entry.treq & fabrics::treq_bits::secure_channel_mask) ==
                          fabrics::treq_bits::secure_channel_required;
    fmt::print("  {:<9} {}:{}  {}{}\n",
               entry.subtype == fabrics::SubsystemType::nvm ? "subsystem"
               : entry.subtype == fabrics::SubsystemType::referral    ? "referral"
                                                                       : "discovery",
               entry.traddr, entry.trsvcid, entry.subnqn,
               !tls ? "" : required ? "  (TLS required)" : "  (TLS offered)");
  }
  std::fflush(stdout);
}

struct DiscoverArguments {
  HostArguments host;
  bool persistent = false;
  bool no_referrals = false;
};

int run_discover(HostSession& session, const DiscoverArguments& arguments) {
  if (!arguments.persistent) {
    print_log(session.discover(!arguments.no_referrals));
    return 0;
  }
  try {
    session.watch(!arguments.no_referrals, print_log);
  } catch (const WaitFailure& failure) {
    if (failure.end() != WaitEnd::interrupted) throw;
  }
  return 0;
}

/// ", 64 zones of 1 MiB"; nothing for a namespace without zones.
std::string zones_text(const host::Namespace& space) {
  const host::ZoneGeometry& zones = space.facts().zones;
  if (zones.zone_blocks == 0) return {};
  std::string text = fmt::format(", {} zones of {}", space.blocks() / zones.zone_blocks,
                                 size_text(zones.zone_blocks * space.block_bytes()));
  if (zones.max_active != 0) text += fmt::format(", {} active", zones.max_active);
  if (zones.max_open != 0) text += fmt::format(", {} open", zones.max_open);
  return text;
}

int run_connect(HostSession& session) {
  const host::Controller& controller = session.connect();
  fmt::print("connected to {}\n  controller {}, {} I/O queues of {} entries\n",
             controller.facts().subnqn, controller.facts().cntlid, controller.facts().io_queues,
             controller.facts().io_entries);
  for (const host::Namespace* space : session.host().namespaces()) {
    fmt::print("  namespace {}: {} blocks of {} bytes, {}{}\n", space->nsid(), space->blocks(),
               space->block_bytes(), size_text(space->blocks() * space->block_bytes()), zones_text(*space));
  }
  return 0;
}

int run_identify(HostSession& session) {
  const host::Controller& controller = session.connect();
  fmt::print("{}\n", describe<nvme::IdentifyController>(controller.facts().identify));
  for (const host::Namespace* space : session.host().namespaces()) {
    fmt::print("namespace {}: nsze={} block={}{}\n", space->nsid(), space->blocks(),
               space->block_bytes(), zones_text(*space));
  }
  return 0;
}

struct ReadWriteArguments {
  HostArguments host;
  std::uint64_t lba = 0;
  std::uint64_t blocks = 1;
  std::string file;
};

int run_read(HostSession& session, const ReadWriteArguments& arguments) {
  session.connect();
  host::Namespace& space = session.name_space();
  Bytes data(arguments.blocks * space.block_bytes());
  const nvme::Status status = space.read(arguments.lba, data).wait();
  if (!status.ok()) throw UserError("read: " + nvme::to_string(status));
  std::ofstream file(arguments.file, std::ios::binary);
  file.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  if (!file.flush()) throw UserError(arguments.file + ": cannot be written");
  fmt::print("read {} blocks from LBA {}\n", arguments.blocks, arguments.lba);
  return 0;
}

int run_write(HostSession& session, const ReadWriteArguments& arguments) {
  std::ifstream file(arguments.file, std::ios::binary);
  if (!file) throw UserError(arguments.file + ": cannot be read");
  Bytes data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  session.connect();
  host::Namespace& space = session.name_space();
  if (data.empty() || data.size() % space.block_bytes() != 0) {
    throw UserError(fmt::format("{}: {} bytes are no whole blocks of {}", arguments.file,
                                data.size(), space.block_bytes()));
  }
  const nvme::Status status = space.write(arguments.lba, data).wait();
  if (!status.ok()) throw UserError("write: " + nvme::to_string(status));
  fmt::print("wrote {} blocks at LBA {}\n", data.size() / space.block_bytes(), arguments.lba);
  return 0;
}

struct ZoneArguments {
  HostArguments host;
  std::uint64_t lba = 0;
  std::string action;
  bool all = false;
  std::string file;
};

int run_zones(HostSession& session, const ZoneArguments& arguments) {
  session.connect();
  const host::ZoneReport report = session.name_space().report_zones(arguments.lba).wait();
  if (!report.status.ok()) throw UserError("report of zones: " + nvme::to_string(report.status));
  fmt::print("{:>12} {:>12} {:>12}  state\n", "start", "capacity", "pointer");
  for (const nvme::ZoneFacts& zone : report.zones) {
    const bool valid = zone.write_pointer != nvme::kNoWritePointer;
    fmt::print("{:>12} {:>12} {:>12}  {}\n", zone.start, zone.capacity,
               valid ? std::to_string(zone.write_pointer) : "-", nvme::name_of(zone.state));
  }
  return 0;
}

int run_append(HostSession& session, const ZoneArguments& arguments) {
  std::ifstream file(arguments.file, std::ios::binary);
  if (!file) throw UserError(arguments.file + ": cannot be read");
  Bytes data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  session.connect();
  const host::ZoneAppended done = session.name_space().zone_append(arguments.lba, data).wait();
  if (!done.status.ok()) throw UserError("append: " + nvme::to_string(done.status));
  fmt::print("appended {} blocks at LBA {}\n", data.size() / session.name_space().block_bytes(), done.lba);
  return 0;
}

const std::map<std::string, nvme::ZoneSendAction> kZoneActions = {{"open", nvme::ZoneSendAction::open},
                                                                  {"close", nvme::ZoneSendAction::close},
                                                                  {"finish", nvme::ZoneSendAction::finish},
                                                                  {"reset", nvme::ZoneSendAction::reset},
                                                                  {"offline", nvme::ZoneSendAction::offline}};

int run_zone(HostSession& session, const ZoneArguments& arguments) {
  session.connect();
  const nvme::ZoneSendAction action = kZoneActions.at(arguments.action);
  const nvme::Status status = session.name_space().zone_send(action, arguments.lba, arguments.all).wait();
  if (!status.ok()) throw UserError(arguments.action + ": " + nvme::to_string(status));
  fmt::print("{}: done\n", arguments.action);
  return 0;
}

struct IoArguments {
  HostArguments host;
  std::string size = "64M";
  std::string block = "128K";
  std::uint16_t queue_depth = 32;
  std::uint64_t seed = 1;
  bool verify = false;
};

void print_figures(const char* what, const IoFigures& figures) {
  const std::int64_t us = std::max<std::int64_t>(figures.elapsed.count_ns() / 1000, 1);
  fmt::print("{:<6} {:>9} in {:>10}, {:>6} MB/s, {:>8} IO/s; latency {} median, {} 99 %\n", what,
             size_text(figures.bytes), to_string(figures.elapsed),
             figures.bytes / static_cast<std::uint64_t>(us),
             figures.commands * 1'000'000 / static_cast<std::uint64_t>(us),
             to_string(figures.latency_median), to_string(figures.latency_99));
}

int run_io(HostSession& session, const IoArguments& arguments) {
  IoOptions options;
  options.bytes = or_throw(parse_size(arguments.size));
  options.block_bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(or_throw(parse_size(arguments.block)), 1u << 30));
  options.queue_depth = arguments.queue_depth;
  options.seed = arguments.seed;
  options.verify = arguments.verify;
  options.show_progress = isatty(2) != 0;
  options.losses = [&session] { return session.losses(); };
  session.report_losses();
  session.connect();
  host::Namespace& space = session.name_space();
  if (space.facts().zoned()) {
    throw UserError(fmt::format("namespace {} is zoned: zones are written with write and append", space.nsid()));
  }
  if (options.bytes > space.blocks() * space.block_bytes()) {
    throw UserError(fmt::format("--size {}: the namespace has {}", arguments.size,
                                size_text(space.blocks() * space.block_bytes())));
  }
  IoRun run(session.world(), space, options);
  print_figures("write", run.write_all());
  if (run.repeated() > 0) {
    fmt::print("{} segment(s) written again: they were not flushed when the association was lost\n",
               run.repeated());
  }
  if (!run.failed()) print_figures("read", run.read_all());
  if (run.failed()) {
    std::fprintf(stderr, "fabricbench: %s\n", run.failure().c_str());
    return 1;
  }
  if (arguments.verify) fmt::print("verified: every block equal\n");
  return 0;
}

CLI::App* add_one(CLI::App& host, const char* name, const char* what, HostArguments& arguments,
                  const std::string& example) {
  CLI::App* command = host.add_subcommand(name, what);
  command->add_option("url", arguments.url, "rdma://ADDRESS[:PORT][/NQN] or tcp://...")->required()->type_name("URL");
  command
      ->add_option("--local", arguments.local,
                   "Our own address, or l2:PATH,PEER,ADDRESS or packet:INTERFACE,ADDRESS; RoCEv2 takes UDP port 4791 of it")
      ->type_name("HOST");
  add_rdma_device(*command, arguments.device);
  command->add_option("--hostnqn", arguments.hostnqn, "Name of this host")->type_name("NQN");
  command->add_flag("--hdr-digest", arguments.header_digest, "Header digests (TCP)");
  command->add_flag("--data-digest", arguments.data_digest, "Data digests (TCP)");
  add_authentication(*command, arguments.authentication);
  add_tls_host(*command, arguments.tls);
  command->add_flag("--tls-concat", arguments.tls.concatenated,
                    "TLS with a key that DH-HMAC-CHAP makes (--dhchap-secret-file)");
  command->add_option("--capture", arguments.capture, "Leave a capture here at the end, with the keys of TLS")
      ->type_name("FILE");
  command->footer("Example:\n  fabricbench host " + example);
  return command;
}

}  // namespace

void add_host(CLI::App& app, Outcome& outcome) {
  CLI::App* host = app.add_subcommand("host", "A host (initiator) over RoCEv2 or TCP");
  host->require_subcommand(1);
  host->footer("Examples:\n"
               "  fabricbench host io tcp://127.0.0.1:4420 --verify\n"
               "  fabricbench host io rdma://127.0.0.2:4420 --local 127.0.0.3 --verify\n"
               "  fabricbench host io rdma://192.0.2.7:4420 --device verbs:rxe0 --verify");

  const auto simple = [&](const char* name, const char* what, int (*run)(HostSession&)) {
    auto arguments = std::make_shared<HostArguments>();
    CLI::App* command = add_one(*host, name, what, *arguments,
                                std::string(name) + " rdma://127.0.0.2:4420 --local 127.0.0.3");
    command->callback([arguments, run, &outcome] {
      outcome.code = guarded(*arguments, run);
    });
  };
  auto find = std::make_shared<DiscoverArguments>();
  CLI::App* discover = add_one(*host, "discover", "List what a discovery service offers", find->host,
                               "discover tcp://127.0.0.1\n"
                               "Without a port: 8009 over TCP, 4420 over RDMA. NQN is the service's own name, if "
                               "it has one.");
  discover->add_flag("--persistent", find->persistent, "Stay connected and list again on every change");
  discover->add_flag("--no-referrals", find->no_referrals, "Do not ask the services that are referred to");
  discover->callback([find, &outcome] {
    outcome.code = guarded(find->host, [&](HostSession& s) { return run_discover(s, *find); });
  });
  simple("connect", "Connect, say what is there, disconnect", run_connect);
  simple("identify", "Show Identify Controller and the namespaces", run_identify);

  const auto transfer = [&](const char* name, const char* what, const std::string& example,
                            int (*run)(HostSession&, const ReadWriteArguments&)) {
    auto arguments = std::make_shared<ReadWriteArguments>();
    CLI::App* command = add_one(*host, name, what, arguments->host, example);
    command->add_option("--nsid", arguments->host.nsid, "Namespace; default: the first");
    command->add_option("--lba", arguments->lba, "First block");
    if (std::string_view(name) == "read") {
      command->add_option("--blocks", arguments->blocks, "How many")->check(CLI::Range(1, 1 << 24));
    }
    command->add_option("--file", arguments->file, "The data")->required()->type_name("FILE");
    command->callback([arguments, run, &outcome] {
      outcome.code =
          guarded(arguments->host, [&](HostSession& s) { return run(s, *arguments); });
    });
  };
  transfer("read", "Read blocks into a file",
           "read rdma://127.0.0.2:4420 --local 127.0.0.3 --blocks 8 --file out", run_read);
  transfer("write", "Write a file to blocks",
           "write rdma://127.0.0.2:4420 --local 127.0.0.3 --lba 8 --file in", run_write);

  const auto zone_command = [&](const char* name, const char* what, const std::string& example,
                                int (*run)(HostSession&, const ZoneArguments&)) {
    auto zone = std::make_shared<ZoneArguments>();
    CLI::App* command = add_one(*host, name, what, zone->host, example);
    command->add_option("--nsid", zone->host.nsid, "Namespace; default: the first");
    command->add_option("--lba", zone->lba, "First block of the zone");
    command->callback([zone, run, &outcome] {
      outcome.code = guarded(zone->host, [&](HostSession& s) { return run(s, *zone); });
    });
    return std::pair(command, zone);
  };
  zone_command("zones", "List the zones of a zoned namespace", "zones tcp://127.0.0.1:4420", run_zones);
  const auto [append, appended] =
      zone_command("append", "Append a file to a zone", "append tcp://127.0.0.1:4420 --lba 2048 --file in", run_append);
  append->add_option("--file", appended->file, "The data")->required()->type_name("FILE");
  const auto [zone, acted] = zone_command("zone", "Open, close, finish, reset a zone, or take it offline",
                                          "zone tcp://127.0.0.1:4420 --action reset --lba 2048", run_zone);
  zone->add_option("--action", acted->action, "What is to be done")->required()->check(CLI::IsMember(kZoneActions));
  zone->add_flag("--all", acted->all, "To all zones that it can be done to");

  auto arguments = std::make_shared<IoArguments>();
  CLI::App* io = add_one(*host, "io", "Write a seeded pattern and read it back", arguments->host,
                         "io rdma://127.0.0.2:4420 --local 127.0.0.3 --verify --size 256M");
  io->add_option("--nsid", arguments->host.nsid, "Namespace; default: the first");
  io->add_option("--size", arguments->size, "How much (64M)")->type_name("SIZE");
  io->add_option("--block-size", arguments->block, "Bytes of one command (128K)")->type_name("SIZE");
  io->add_option("--queue-depth", arguments->queue_depth, "Commands in flight (32)")
      ->check(CLI::Range(1, 1024));
  io->add_option("--seed", arguments->seed, "Of the pattern")
      ->check(check_seed);
  io->add_flag("--verify", arguments->verify, "Compare what is read with what was written");
  io->callback([arguments, &outcome] {
    outcome.code =
        guarded(arguments->host, [&](HostSession& s) { return run_io(s, *arguments); });
  });

  CLI::App* drive = host->add_subcommand("drive", "Drive this machine's Linux NVMe host for a bench");
  drive->footer("Takes root, nvme-cli and the kernel's modules; speaks over standard input and output. A bench elsewhere starts it:\n"
                "  fabricbench run --dut 'host:ssh root@lab fabricbench host drive' --transport tcp --local 192.0.2.8");
  auto options = std::make_shared<drive::Options>();
  drive->add_flag("--verbose", options->verbose, "Say on standard error what nvme-cli does");
  drive->add_flag("--tls", options->tls, "This machine has a program for TLS handshakes (tlshd): connect over TLS, too");
  auto listen = std::make_shared<std::string>();
  drive->add_option("--listen", *listen, "Serve whoever connects there over TCP, instead: each as a session of its own")
      ->type_name("ADDRESS:PORT");
  drive->callback([options, listen, &outcome] {
    outcome.code = listen->empty() ? drive::serve(*options) : drive::serve_sessions(*listen, *options);
  });
}

}  // namespace fb::cli
