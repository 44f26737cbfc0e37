#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "base/or_throw.h"
#include "cli/common.h"
#include "cli/document.h"
#include "cli/drive/linux_host.h"
#include "cli/driver_options.h"
#include "cli/host_discover.h"
#include "cli/host_nbft.h"
#include "cli/host_session.h"
#include "cli/io_run.h"
#include "cli/load_run.h"
#include "cli/usage.h"
#include "sim/capture/pcapng.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/zones.h"

namespace fb::cli {

namespace {

using Json = nlohmann::ordered_json;

/// ", 64 zones of 1 MiB"; nothing for a namespace without zones.
std::string zones_text(const host::Namespace& space) {
  const host::ZoneGeometry& zones = space.facts().zones;
  if (zones.zone_blocks == 0) return {};
  std::string text =
      fmt::format(", {} zones of {}", space.blocks() / zones.zone_blocks, size_text(zones.zone_blocks * space.block_bytes()));
  if (zones.max_active != 0) text += fmt::format(", {} active", zones.max_active);
  if (zones.max_open != 0) text += fmt::format(", {} open", zones.max_open);
  if (zones.zrwa_blocks != 0) text += fmt::format(", write areas of {}", size_text(std::uint64_t{zones.zrwa_blocks} * space.block_bytes()));
  return text;
}

/// "131072 blocks of 512 bytes, 64 MiB"
std::string space_text(const host::Namespace& space) {
  const host::NamespaceFacts& facts = space.facts();
  if (facts.key_value()) return fmt::format("keys of up to {} bytes with values, {}", facts.pairs.key_max, size_text(facts.pairs.bytes));
  return fmt::format("{} blocks of {} bytes, {}{}", space.blocks(), space.block_bytes(), size_text(space.blocks() * space.block_bytes()),
                     zones_text(space));
}

Json namespaces_json(HostSession& session) {
  Json all = Json::array();
  for (const host::Namespace* space : session.host().namespaces()) {
    const host::ZoneGeometry& zones = space->facts().zones;
    all.push_back(
        {{"nsid", space->nsid()}, {"blocks", space->blocks()}, {"block_bytes", space->block_bytes()}, {"zone_blocks", zones.zone_blocks}});
  }
  return all;
}

int run_connect(HostSession& session, bool json) {
  const host::Controller& controller = session.connect();
  if (json) {
    print_document({{"subnqn", controller.facts().subnqn},
                    {"cntlid", controller.facts().cntlid},
                    {"io_queues", controller.facts().io_queues},
                    {"io_entries", controller.facts().io_entries},
                    {"namespaces", namespaces_json(session)}});
    return 0;
  }
  fmt::print("connected to {}\n  controller {}, {} I/O queues of {} entries\n", controller.facts().subnqn, controller.facts().cntlid,
             controller.facts().io_queues, controller.facts().io_entries);
  for (const host::Namespace* space : session.host().namespaces()) {
    fmt::print("  namespace {}: {}\n", space->nsid(), space_text(*space));
  }
  return 0;
}

/// Every field: a number, or bytes as text where they are text, otherwise as hexadecimal digits.
Json identify_json(ByteView bytes) {
  Json json = Json::object();
  nvme::IdentifyController::for_each([&](auto field) {
    using F = decltype(field);
    if constexpr (F::is_bytes) {
      const ByteView content{F::get(bytes.data())};
      std::string text = text_of(content);
      const bool printable = std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7F; });
      json[std::string(F::name)] = printable ? text : to_hex(content);
    } else {
      json[std::string(F::name)] = F::get_raw(bytes.data());
    }
  });
  return json;
}

int run_identify(HostSession& session, bool json) {
  const host::Controller& controller = session.connect();
  if (json) {
    print_document({{"controller", identify_json(controller.facts().identify)}, {"namespaces", namespaces_json(session)}});
    return 0;
  }
  fmt::print("{}\n", describe<nvme::IdentifyController>(controller.facts().identify));
  for (const host::Namespace* space : session.host().namespaces()) {
    if (space->facts().key_value()) {
      fmt::print("namespace {}: {}\n", space->nsid(), space_text(*space));
      continue;
    }
    fmt::print("namespace {}: nsze={} block={}{}\n", space->nsid(), space->blocks(), space->block_bytes(), zones_text(*space));
  }
  return 0;
}

struct ReadWriteArguments {
  HostArguments host;
  std::uint64_t lba = 0;
  std::uint64_t blocks = 1;
  std::string file;
};

void report_blocks(const HostArguments& arguments, const char* did, std::uint64_t blocks, std::uint64_t lba) {
  if (arguments.json)
    print_document({{"did", did}, {"blocks", blocks}, {"lba", lba}});
  else
    fmt::print("{} {} block{} {} LBA {}\n", did, blocks, blocks == 1 ? "" : "s", std::string_view(did) == "read" ? "from" : "at", lba);
}

int run_read(HostSession& session, const ReadWriteArguments& arguments) {
  session.connect();
  host::Namespace& space = session.name_space();
  if (arguments.blocks > space.blocks()) {
    throw UserError(fmt::format("--blocks {}: namespace {} has {} blocks", arguments.blocks, space.nsid(), space.blocks()));
  }
  Bytes data(arguments.blocks * space.block_bytes());
  const nvme::Status status = space.read(arguments.lba, data).wait();
  if (!status.ok()) throw UserError("read: " + nvme::to_string(status));
  or_throw(capture::write_atomically(arguments.file, data));
  report_blocks(arguments.host, "read", arguments.blocks, arguments.lba);
  return 0;
}

void check_whole_blocks(const std::string& file, std::size_t bytes, const host::Namespace& space) {
  if (bytes != 0 && bytes % space.block_bytes() == 0) return;
  throw UserError(fmt::format("{}: {} bytes are not a whole number of blocks of {} bytes", file, bytes, space.block_bytes()));
}

int run_write(HostSession& session, const ReadWriteArguments& arguments) {
  std::ifstream file(arguments.file, std::ios::binary);
  if (!file) throw UserError(arguments.file + ": cannot be read");
  Bytes data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  session.connect();
  host::Namespace& space = session.name_space();
  check_whole_blocks(arguments.file, data.size(), space);
  const nvme::Status status = space.write(arguments.lba, data).wait();
  if (!status.ok()) throw UserError("write: " + nvme::to_string(status));
  report_blocks(arguments.host, "wrote", data.size() / space.block_bytes(), arguments.lba);
  return 0;
}

struct ZoneArguments {
  HostArguments host;
  std::uint64_t lba = 0;
  std::string action;
  bool all = false;
  bool random = false;
  std::string file;
};

/// It has a Zone Random Write Area.
bool has_area(const nvme::ZoneFacts& zone) { return (zone.attributes & nvme::zone_attribute_bits::zrwa_valid) != 0; }

int run_zones(HostSession& session, const ZoneArguments& arguments) {
  session.connect();
  const host::ZoneReport report = session.name_space().report_zones(arguments.lba).wait();
  if (!report.status.ok()) throw UserError("report of zones: " + nvme::to_string(report.status));
  if (arguments.host.json) {
    Json zones = Json::array();
    for (const nvme::ZoneFacts& zone : report.zones) {
      Json one = {{"start", zone.start}, {"capacity", zone.capacity}, {"write_pointer", nullptr}, {"state", nvme::name_of(zone.state)}};
      one["zrwa"] = has_area(zone);
      if (zone.write_pointer != nvme::kNoWritePointer) one["write_pointer"] = zone.write_pointer;
      zones.push_back(std::move(one));
    }
    print_document({{"zones", std::move(zones)}});
    return 0;
  }
  fmt::print("{:>12} {:>12} {:>12}  state\n", "start", "capacity", "pointer");
  for (const nvme::ZoneFacts& zone : report.zones) {
    const bool valid = zone.write_pointer != nvme::kNoWritePointer;
    fmt::print("{:>12} {:>12} {:>12}  {}{}\n", zone.start, zone.capacity, valid ? std::to_string(zone.write_pointer) : "-",
               nvme::name_of(zone.state), has_area(zone) ? ", random write area" : "");
  }
  return 0;
}

int run_append(HostSession& session, const ZoneArguments& arguments) {
  std::ifstream file(arguments.file, std::ios::binary);
  if (!file) throw UserError(arguments.file + ": cannot be read");
  Bytes data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  session.connect();
  check_whole_blocks(arguments.file, data.size(), session.name_space());
  const host::ZoneAppended done = session.name_space().zone_append(arguments.lba, data).wait();
  if (!done.status.ok()) throw UserError("append: " + nvme::to_string(done.status));
  report_blocks(arguments.host, "appended", data.size() / session.name_space().block_bytes(), done.lba);
  return 0;
}

const std::map<std::string, nvme::ZoneSendAction> kZoneActions = {
    {"open", nvme::ZoneSendAction::open},       {"close", nvme::ZoneSendAction::close},
    {"finish", nvme::ZoneSendAction::finish},   {"reset", nvme::ZoneSendAction::reset},
    {"offline", nvme::ZoneSendAction::offline}, {"flush", nvme::ZoneSendAction::flush_explicit_zrwa}};

int run_zone(HostSession& session, const ZoneArguments& arguments) {
  session.connect();
  const nvme::ZoneSendAction action = kZoneActions.at(arguments.action);
  const nvme::Status status = session.name_space().zone_send(action, arguments.lba, arguments.all, arguments.random).wait();
  if (!status.ok()) throw UserError(arguments.action + ": " + nvme::to_string(status));
  if (arguments.host.json)
    print_document({{"action", arguments.action}, {"lba", arguments.lba}, {"all", arguments.all}});
  else
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
  std::uint16_t io_queues = 1;
  std::optional<std::uint16_t> placement;
  // A load instead of writing everything and reading it back.
  bool random = false;
  std::optional<unsigned> read_percent;
  std::string time;
  std::uint64_t rate = 0;

  bool is_load() const { return random || read_percent || !time.empty() || rate != 0; }
};

void print_figures(const char* what, const IoFigures& figures) {
  const std::int64_t us = std::max<std::int64_t>(figures.elapsed.count_ns() / 1000, 1);
  fmt::print("{:<6} {:>9} in {:>10}, {:>6} MB/s, {:>8} IO/s; latency {} median, {} 99 %\n", what, size_text(figures.bytes),
             to_string(figures.elapsed), figures.bytes / static_cast<std::uint64_t>(us),
             figures.commands * 1'000'000 / static_cast<std::uint64_t>(us), to_string(figures.latency_median),
             to_string(figures.latency_99));
}

/// "50", "99.9".
std::string percentile_name(std::uint32_t thousandths) {
  std::string text = fmt::format("{}.{:03}", thousandths / 1000, thousandths % 1000);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

/// All in nanoseconds.
Json latency_json(const IoFigures& figures) {
  Json percentiles = Json::object(), histogram = Json::array();
  for (std::size_t i = 0; i < figures.latency_percentiles.size(); ++i) {
    percentiles[percentile_name(kPercentiles[i])] = figures.latency_percentiles[i].count_ns();
  }
  for (const IoFigures::Bucket& one : figures.histogram) histogram.push_back({{"below", one.below.count_ns()}, {"commands", one.commands}});
  return {{"min", figures.latency_least.count_ns()},
          {"mean", figures.latency_mean.count_ns()},
          {"max", figures.latency_max.count_ns()},
          {"percentiles", percentiles},
          {"histogram", histogram}};
}

Json figures_json(const IoFigures& figures) {
  return {{"commands", figures.commands},
          {"bytes", figures.bytes},
          {"seconds", static_cast<double>(figures.elapsed.count_ns()) / 1e9},
          {"latency_median_ns", figures.latency_median.count_ns()},
          {"latency_99_ns", figures.latency_99.count_ns()},
          {"latency_max_ns", figures.latency_max.count_ns()},
          {"latency_ns", latency_json(figures)}};
}

int print_io(IoRun& run, const IoArguments& arguments) {
  Json json = {{"write", figures_json(run.write_all())}, {"segments_repeated", run.repeated()}};
  if (!run.failed()) json["read"] = figures_json(run.read_all());
  json["verified"] = arguments.verify && !run.failed();
  json["failure"] = run.failure();
  print_document(json);
  return run.failed() ? exit_code::red : exit_code::good;
}

void print_timeline(const LoadFigures& figures) {
  fmt::print("{:>8} {:>10} {:>10} {:>12}\n", "second", "reads", "writes", "MB/s");
  for (std::size_t i = 0; i < figures.timeline.size(); ++i) {
    const LoadFigures::Second& one = figures.timeline[i];
    fmt::print("{:>8} {:>10} {:>10} {:>12.1f}\n", i, one.reads, one.writes, static_cast<double>(one.bytes) / 1e6);
  }
}

int run_load(HostSession& session, host::Namespace& space, const LoadOptions& options, bool as_json) {
  LoadRun run(session.world(), space, options);
  const LoadFigures figures = run.run();
  if (as_json) {
    Json timeline = Json::array();
    for (const LoadFigures::Second& one : figures.timeline) {
      timeline.push_back({{"reads", one.reads}, {"writes", one.writes}, {"bytes", one.bytes}});
    }
    print_document({{"write", figures_json(figures.writes)},
                    {"read", figures_json(figures.reads)},
                    {"timeline", timeline},
                    {"reads_compared", figures.verified},
                    {"verified", options.verify && !run.failed()},
                    {"failure", run.failure()}});
    return run.failed() ? exit_code::red : exit_code::good;
  }
  if (figures.writes.commands > 0) print_figures("write", figures.writes);
  if (figures.reads.commands > 0) print_figures("read", figures.reads);
  print_timeline(figures);
  if (run.failed()) {
    std::fprintf(stderr, "fabricbench: %s\n", run.failure().c_str());
    return exit_code::red;
  }
  if (options.verify) fmt::print("verified: {} reads of blocks that this run had written\n", figures.verified);
  return exit_code::good;
}

LoadOptions load_options(const IoArguments& arguments, const IoOptions& io) {
  LoadOptions options;
  options.bytes = io.bytes;
  options.block_bytes = io.block_bytes;
  options.queue_depth = io.queue_depth;
  options.seed = io.seed;
  options.verify = io.verify;
  options.random = arguments.random;
  options.read_percent = arguments.read_percent.value_or(100);
  options.rate = arguments.rate;
  if (arguments.time.empty()) return options;
  const auto time = parse_duration(arguments.time);
  if (!time || *time <= Duration{}) throw UserError("--time " + arguments.time + ": not a time such as 90s, 30m or 2h");
  options.time = *time;
  return options;
}

/// --size and --block-size are whole blocks, or less would be written than was asked for. Blocks with metadata (528 bytes) have no
/// round sizes: of these what is left over is left out.
void check_whole_blocks(const char* option, const std::string& text, std::uint64_t bytes, const host::Namespace& space) {
  const bool round = std::has_single_bit(std::uint64_t{space.block_bytes()});
  if (bytes % space.block_bytes() == 0 || (!round && bytes > space.block_bytes())) return;
  throw UserError(fmt::format("{} {}: not a whole number of blocks of {} bytes", option, text, space.block_bytes()));
}

/// Writes go where the placement identifier says: with the directive enabled, which is refused without Flexible Data Placement.
void direct_writes(host::Controller& controller, host::Namespace& space, std::uint16_t identifier) {
  const auto reply = controller.admin(host::enable_directive(space.nsid(), nvme::DirectiveType::data_placement, true)).wait();
  if (!reply.ok()) {
    throw UserError(
        fmt::format("--placement: namespace {} takes no Data Placement directive: {}", space.nsid(), nvme::to_string(reply.status())));
  }
  space.set_placement(identifier);
}

int run_io(HostSession& session, const IoArguments& arguments) {
  IoOptions options;
  options.bytes = or_throw(parse_size(arguments.size));
  options.block_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(or_throw(parse_size(arguments.block)), 1u << 30));
  options.queue_depth = arguments.queue_depth;
  options.seed = arguments.seed;
  options.verify = arguments.verify;
  options.show_progress = isatty(2) != 0;
  options.losses = [&session] { return session.losses(); };
  const LoadOptions load = load_options(arguments, options);
  session.report_losses();
  host::Controller& controller = session.connect(128, arguments.io_queues);
  host::Namespace& space = session.name_space();
  if (space.facts().zoned()) {
    throw UserError(fmt::format("namespace {} is zoned: zones are written with write and append", space.nsid()));
  }
  check_whole_blocks("--size", arguments.size, options.bytes, space);
  check_whole_blocks("--block-size", arguments.block, options.block_bytes, space);
  if (arguments.placement) direct_writes(controller, space, *arguments.placement);
  if (options.bytes > space.blocks() * space.block_bytes()) {
    throw UserError(fmt::format("--size {}: the namespace has {}", arguments.size, size_text(space.blocks() * space.block_bytes())));
  }
  if (arguments.is_load()) return run_load(session, space, load, arguments.host.json);
  IoRun run(session.world(), space, options);
  if (arguments.host.json) return print_io(run, arguments);
  print_figures("write", run.write_all());
  if (run.repeated() > 0) {
    fmt::print("{} segment(s) written again: they were not flushed when the association was lost\n", run.repeated());
  }
  if (!run.failed()) print_figures("read", run.read_all());
  if (run.failed()) {
    std::fprintf(stderr, "fabricbench: %s\n", run.failure().c_str());
    return 1;
  }
  if (arguments.verify) fmt::print("verified: every block equal\n");
  return 0;
}

CLI::App* add_one(CLI::App& host, const char* name, const char* what, HostArguments& arguments, const std::string& example) {
  CLI::App* command = host.add_subcommand(name, what);
  command->add_option("url", arguments.url, "tcp://HOST[:PORT][/NQN] or rdma://...")->required()->type_name("URL");
  command
      ->add_option("--local", arguments.local,
                   "The host's own address, or l2:PATH,PEER,ADDRESS or packet:INTERFACE,ADDRESS; RoCEv2 uses its UDP port 4791")
      ->type_name("HOST");
  add_rdma_device(*command, arguments.device);
  command->add_option("--hostnqn", arguments.hostnqn, "NQN of this host")->type_name("NQN");
  command->add_flag("--hdr-digest", arguments.header_digest, "Header digests (TCP)");
  command->add_flag("--data-digest", arguments.data_digest, "Data digests (TCP)");
  add_authentication(*command, arguments.authentication);
  add_tls_host(*command, arguments.tls);
  command->add_flag("--tls-concat", arguments.tls.concatenated, "TLS with a key generated by DH-HMAC-CHAP (--dhchap-secret-file)");
  command->add_option("--like", arguments.like, "Misbehave as this known peer does: linux-6.12, or a file NAME.yaml of --profile")
      ->type_name("PROFILE");
  command->add_option("--capture", arguments.capture, "Write a capture here at the end, with the TLS keys")->type_name("FILE");
  command->add_flag("--json", arguments.json, "Print the result as one JSON document");
  set_help(*command, "  fabricbench host " + example + "\n", exit_codes("success", "data differ, or the connection was lost"));
  return command;
}

}  // namespace

void add_host(CLI::App& app, Outcome& outcome) {
  CLI::App* host = app.add_subcommand("host", "A host (initiator) over NVMe/TCP or RoCEv2");
  host->require_subcommand(1);
  set_help(*host,
           "  fabricbench host io tcp://127.0.0.1:4420 --verify\n"
           "  fabricbench host io rdma://127.0.0.2:4420 --local 127.0.0.3 --verify\n"
           "  fabricbench host io rdma://192.0.2.7:4420 --device verbs:rxe0 --verify\n");

  const auto simple = [&](const char* name, const char* what, int (*run)(HostSession&, bool)) {
    auto arguments = std::make_shared<HostArguments>();
    CLI::App* command = add_one(*host, name, what, *arguments, std::string(name) + " rdma://127.0.0.2:4420 --local 127.0.0.3");
    command->callback([arguments, run, &outcome] {
      outcome.code = guarded(*arguments, [&](HostSession& session) { return run(session, arguments->json); });
    });
  };
  auto find = std::make_shared<DiscoverArguments>();
  CLI::App* discover = add_one(*host, "discover", "List what a discovery service offers", find->host,
                               "discover tcp://127.0.0.1\n"
                               "Default ports: 8009 over TCP, 4420 over RDMA. NQN is the unique NQN of the service, if "
                               "it has one. The URL mdns: stands for all services that are announced on the local network.");
  discover->add_flag("--persistent", find->persistent, "Stay connected and list again on every change");
  discover->add_flag("--no-referrals", find->no_referrals, "Do not follow referrals");
  discover->get_option("--json")->excludes("--persistent");
  discover->callback([find, &outcome] { outcome.code = run_discover(*find); });
  simple("connect", "Connect, list the namespaces, disconnect", run_connect);
  simple("identify", "Show Identify Controller and the namespaces", run_identify);

  const auto transfer = [&](const char* name, const char* what, const std::string& example,
                            int (*run)(HostSession&, const ReadWriteArguments&)) {
    auto arguments = std::make_shared<ReadWriteArguments>();
    CLI::App* command = add_one(*host, name, what, arguments->host, example);
    command->add_option("--nsid", arguments->host.nsid, "Namespace; default: the first")->type_name("N");
    command->add_option("--lba", arguments->lba, "First block [0]")->check(check_number)->type_name("LBA");
    if (std::string_view(name) == "read") {
      command->add_option("--blocks", arguments->blocks, "Number of blocks [1]")->check(CLI::Range(1, 1 << 24))->type_name("N");
    }
    command->add_option("--file", arguments->file, "The data")->required()->type_name("FILE");
    command->callback(
        [arguments, run, &outcome] { outcome.code = guarded(arguments->host, [&](HostSession& s) { return run(s, *arguments); }); });
  };
  transfer("read", "Read blocks into a file", "read rdma://127.0.0.2:4420 --local 127.0.0.3 --blocks 8 --file out", run_read);
  transfer("write", "Write a file to blocks", "write rdma://127.0.0.2:4420 --local 127.0.0.3 --lba 8 --file in", run_write);

  const auto zone_command = [&](const char* name, const char* what, const std::string& example,
                                int (*run)(HostSession&, const ZoneArguments&)) {
    auto zone = std::make_shared<ZoneArguments>();
    CLI::App* command = add_one(*host, name, what, zone->host, example);
    command->add_option("--nsid", zone->host.nsid, "Namespace; default: the first")->type_name("N");
    command->add_option("--lba", zone->lba, "First block of the zone [0]")->check(check_number)->type_name("LBA");
    command->callback([zone, run, &outcome] { outcome.code = guarded(zone->host, [&](HostSession& s) { return run(s, *zone); }); });
    return std::pair(command, zone);
  };
  zone_command("zones", "List the zones of a zoned namespace", "zones tcp://127.0.0.1:4420", run_zones);
  const auto [append, appended] =
      zone_command("append", "Append a file to a zone", "append tcp://127.0.0.1:4420 --lba 2048 --file in", run_append);
  append->add_option("--file", appended->file, "The data")->required()->type_name("FILE");
  const auto [zone, acted] = zone_command("zone", "Open, close, finish, reset a zone, take it offline, or commit its random write area",
                                          "zone tcp://127.0.0.1:4420 --action reset --lba 2048", run_zone);
  zone->add_option("--action", acted->action,
                   "open, close, finish, reset, offline, or flush: commit the random write area up to block --lba")
      ->required()
      ->check(one_of_texts({"open", "close", "finish", "reset", "offline", "flush"}))
      ->type_name("ACTION");
  zone->add_flag("--all", acted->all, "All zones in a state that the action applies to");
  zone->add_flag("--zrwa", acted->random, "With open: allocate a Zone Random Write Area");

  auto arguments = std::make_shared<IoArguments>();
  CLI::App* io = add_one(*host, "io", "Write a seeded pattern and read it back", arguments->host,
                         "io rdma://127.0.0.2:4420 --local 127.0.0.3 --verify --size 256M");
  io->add_option("--nsid", arguments->host.nsid, "Namespace; default: the first")->type_name("N");
  io->add_option("--size", arguments->size, "Bytes to write and read")->type_name("SIZE")->capture_default_str();
  io->add_option("--block-size", arguments->block, "Bytes of one command")->type_name("SIZE")->capture_default_str();
  io->add_option("--queue-depth", arguments->queue_depth, "Commands in flight")
      ->check(CLI::Range(1, 1024))
      ->type_name("N")
      ->capture_default_str();
  io->add_option("--placement", arguments->placement, "Placement identifier of the Writes (Flexible Data Placement)")
      ->check(CLI::Range(0, 65535))
      ->type_name("PID");
  io->add_option("--seed", arguments->seed, "Seed of the pattern")->check(check_seed)->type_name("N")->capture_default_str();
  io->add_flag("--verify", arguments->verify, "Compare what is read with what was written");
  io->add_option("--io-queues", arguments->io_queues, "I/O queues of the association")
      ->check(CLI::Range(1, 1024))
      ->type_name("N")
      ->capture_default_str();
  io->add_flag("--busy-poll", arguments->host.busy_poll, "Never sleep: lower latency, one core fully used");
  io->add_flag("--random", arguments->random, "A load at random places in --size");
  io->add_option("--read-percent", arguments->read_percent, "A load of reads and writes side by side; 100: reads alone")
      ->check(CLI::Range(0, 100))
      ->type_name("N");
  io->add_option("--time", arguments->time, "A load for this time (30s, 10m), over --size again and again")->type_name("TIME");
  io->add_option("--rate", arguments->rate, "A load of at most so many commands a second")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{100'000'000}))
      ->type_name("N");
  io->callback([arguments, &outcome] { outcome.code = guarded(arguments->host, [&](HostSession& s) { return run_io(s, *arguments); }); });

  add_nbft(*host, outcome);
  CLI::App* drive = host->add_subcommand("drive", "Drive this machine's Linux NVMe host for a bench");
  set_help(
      *drive, "  fabricbench run --dut 'host:ssh root@lab fabricbench host drive' --transport tcp --local 192.0.2.8\n",
      "It needs root, nvme-cli and the kernel's modules, and is started by the bench, with which it exchanges JSON lines over standard "
      "input and output.\n" +
          exit_codes("the session ended in order", "associations did not end"));
  auto options = std::make_shared<drive::HostOptions>();
  drive->add_flag("--verbose", options->verbose, "Log the calls of nvme-cli on standard error");
  drive->add_flag("--tls", options->tls, "This machine runs tlshd: connect over TLS, too");
  auto driver = std::make_shared<DriverArguments>();
  add_driver_options(*drive, *driver);
  drive->callback([options, driver, &outcome] {
    outcome.code =
        run_driver(*driver, {.name = "fabricbench host drive", .start = "fabricbench run --dut host:COMMAND", .adapter = [options] {
                               return std::make_unique<drive::LinuxHost>(*options);
                             }});
  });
}

}  // namespace fb::cli
