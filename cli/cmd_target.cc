#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/ip_scope.h"
#include "cli/authentication.h"
#include "cli/common.h"
#include "cli/rdma_device.h"
#include "cli/real_session.h"
#include "cli/tls_options.h"
#include "cli/usage.h"
#include "conformance/runner/product.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/check_options.h"
#include "model/subsystem/leniency.h"
#include "model/subsystem/target.h"
#include "model/transport/rdma_controller.h"
#include "model/transport/tcp_controller.h"
#include "model/transport/transfer_limit.h"

namespace fb::cli {

namespace {

struct TargetArguments {
  std::vector<std::string> listen;
  std::vector<std::string> discovery_listen;
  std::string discovery_nqn;
  std::vector<std::string> referrals;
  std::string local;
  std::vector<std::string> namespaces;
  std::vector<std::string> deviations;
  std::vector<std::string> allowed_hosts;
  std::string nqn = subsystem::kDefaultSubsystemNqn;
  AuthenticationArguments authentication;
  std::string nvme_version = "2.0";
  bool busy_poll = false;
  bool lenient = false;
  std::string leniency;  ///< names with commas between them; empty: all
  bool json = false;
  TlsArguments tls;
  RdmaDeviceArguments device;
  std::string capture;
};

// One listener: the devices are per address, the listeners per port of a device.
struct Listening {
  conformance::FabricUrl url;
  std::unique_ptr<transport::ControllerFabric> fabric;
};

std::unique_ptr<transport::ControllerFabric> listen(RealSession& session, const conformance::FabricUrl& url,
                                                    transport::ControllerAcceptor& acceptor,
                                                    transport::TransportHooks* hooks,
                                                    transport::TlsSide* tls,
                                                    transport::ChannelSecurity security) {
  transport::ControllerFabricOptions options;
  options.port = url.to.port;
  options.transfer_bytes_max = transport::kLargestTransfer;
  if (url.transport == "rdma") {
    return or_throw(transport::RdmaControllerFabric::start(session.world(), session.device(), options,
                                                           acceptor, hooks));
  }
  transport::TcpControllerOptions tcp;
  tcp.security = security;
  net::StreamHost& streams = tls != nullptr ? tls->listening() : session.streams();
  return or_throw(transport::TcpControllerFabric::start(session.world(), streams, url.to.address, options,
                                                        tcp, acceptor, hooks));
}

/// What stands behind SIZE in --namespace, in bytes where it is an amount of data.
struct NamespaceWords {
  std::string file;
  std::uint64_t zone = 0, zone_capacity = 0;
};

/// "active=12" and the like: the number behind `key`.
std::optional<std::uint64_t> amount(std::string_view part, std::string_view key) {
  if (!part.starts_with(key) || part.size() == key.size()) return std::nullopt;
  return or_throw(parse_size(part.substr(key.size())));
}

std::uint32_t count_of(std::uint64_t value, std::string_view key) {
  if (value > std::numeric_limits<std::uint32_t>::max())
    throw UserError("--namespace: " + std::string(key) + std::to_string(value) + " is too large");
  return static_cast<std::uint32_t>(value);
}

/// False: the word means nothing.
bool take_zone_word(std::string_view part, NamespaceWords& words, subsystem::ZoneOptions& zones) {
  if (const auto zone = amount(part, "zoned=")) {
    words.zone = *zone;
  } else if (const auto held = amount(part, "zcap=")) {
    words.zone_capacity = *held;
  } else if (const auto active = amount(part, "active=")) {
    zones.max_active = count_of(*active, "active=");
  } else if (const auto open = amount(part, "open=")) {
    zones.max_open = count_of(*open, "open=");
  } else if (const auto extension = amount(part, "zdes="); extension && *extension % 64 == 0 && *extension / 64 < 256) {
    zones.extension_units = static_cast<std::uint8_t>(*extension / 64);
  } else if (part == "razb") {
    zones.read_across = true;
  } else {
    return false;
  }
  return true;
}

// SIZE[,file=PATH][,bs=512|4096][,ms=8|16|64][,pi=1|2|3]
// [,zoned=SIZE[,zcap=SIZE][,active=N][,open=N][,zdes=BYTES][,razb]]
subsystem::NamespaceOptions namespace_from(const std::string& text) {
  const auto wrong = [&](const std::string& why) {
    return UserError("--namespace '" + text + "': " + why);
  };
  std::string_view rest = text;
  NamespaceWords words;
  subsystem::NamespaceOptions options;
  subsystem::ZoneOptions& zones = options.zones;
  std::size_t comma = rest.find(',');
  const std::uint64_t bytes = or_throw(parse_size(rest.substr(0, comma)));
  while (comma != std::string_view::npos) {
    rest = rest.substr(comma + 1);
    comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    if (part.starts_with("file=") && part.size() > 5) {
      words.file = part.substr(5);
    } else if (part == "bs=512" || part == "bs=4096") {
      options.block_bytes = part == "bs=512" ? 512 : 4096;
    } else if (part == "ms=8" || part == "ms=16" || part == "ms=64") {
      options.metadata_bytes = part == "ms=8" ? 8 : part == "ms=16" ? 16 : 64;
    } else if (part == "pi=1" || part == "pi=2" || part == "pi=3") {
      options.protection_type = static_cast<std::uint8_t>(part.back() - '0');
    } else if (!take_zone_word(part, words, zones)) {
      throw wrong("'" + std::string(part) +
                  "' is unknown; after the size, valid options are file=PATH, bs=512 or 4096, ms=8, 16 or 64, pi=1, 2 or 3, "
                  "and for a zoned namespace zoned=SIZE, zcap=SIZE, active=N, open=N, zdes=BYTES (a multiple of 64) and razb");
    }
  }
  if (bytes % options.block_bytes != 0) throw wrong("not a whole number of blocks");
  options.blocks = bytes / options.block_bytes;
  zones.zone_blocks = words.zone / options.block_bytes;
  zones.capacity = words.zone_capacity / options.block_bytes;
  if (words.zone == 0) {
    const bool limited = zones.max_active + zones.max_open + zones.extension_units != 0;
    if (limited || zones.read_across || words.zone_capacity != 0) {
      throw wrong("zcap=, active=, open=, zdes= and razb are for zones: add zoned=SIZE");
    }
  } else {
    if (zones.zone_blocks == 0 || options.blocks % zones.zone_blocks != 0) throw wrong("not a whole number of zones");
    if (zones.capacity > zones.zone_blocks) throw wrong("a zone cannot hold more than its size");
    if (zones.max_active != 0 && (zones.max_open == 0 || zones.max_open > zones.max_active)) {
      if (zones.max_open != 0) throw wrong("open= is at most active=");
      zones.max_open = zones.max_active;
    }
    // What a file keeps is its blocks: the states of zones would be lost.
    if (!words.file.empty()) throw wrong("a zoned namespace is in memory, not in a file");
  }
  if (options.protection_type != 0 && options.metadata_bytes == 0) options.metadata_bytes = 8;
  if (const auto fits = subsystem::check_options(options); !fits) throw wrong(fits.error().text);
  const std::uint64_t stored = options.blocks * (options.block_bytes + options.metadata_bytes);
  if (!words.file.empty()) options.store = or_throw(subsystem::open_file_store(words.file, stored));
  return options;
}

/// A host that asks for a name which is none gets Connect Invalid Parameters: better not to begin.
void check_nqn(const std::string& option, const std::string& name) {
  if (fabrics::valid_nqn(name)) return;
  throw UserError(option + " '" + name +
                  "' is no NVMe qualified name, and hosts could not connect; it has the form nqn.YYYY-MM.DOMAIN:NAME, for example "
                  "nqn.2026-01.org.example:" +
                  (name.empty() || name.find_first_of(" :") != std::string::npos ? "disk1" : name));
}

/// Everything that is known to be wrong before a socket is opened.
void check_names(const TargetArguments& arguments) {
  check_nqn("--nqn", arguments.nqn);
  for (const std::string& host : arguments.allowed_hosts) check_nqn("--allow-host", host);
  if (!arguments.discovery_nqn.empty()) check_nqn("--discovery-nqn", arguments.discovery_nqn);
  if (arguments.nqn == fabrics::kDiscoveryNqn || arguments.nqn == arguments.discovery_nqn) {
    throw UserError("--nqn " + arguments.nqn + " is the name of the discovery service; the subsystem needs one of its own");
  }
  if (arguments.namespaces.empty()) {
    throw UserError(
        "no --namespace: hosts would find no disk; add one (--namespace 64M), or use --namespace none if that is intended");
  }
  const bool none = std::ranges::find(arguments.namespaces, "none") != arguments.namespaces.end();
  if (none && arguments.namespaces.size() > 1) throw UserError("--namespace none cannot be combined with other namespaces");
}

/// "2.1": one of those that add_target() lets pass.
std::uint32_t version_from(const std::string& text) {
  return fabrics::version(static_cast<unsigned>(text.at(0) - '0'), static_cast<unsigned>(text.at(2) - '0'), 0);
}

subsystem::AddressFamily family_of(const IpAddress& address) {
  return address.is_v4() ? subsystem::AddressFamily::ipv4 : subsystem::AddressFamily::ipv6;
}

subsystem::Referral referral_from(const std::string& text) {
  const auto url = conformance::parse_fabric_url(text, conformance::UrlPort::known);
  if (!url) throw UserError("--referral " + url.error().text);
  subsystem::Referral made;
  if (!url->nqn.empty()) made.subnqn = url->nqn;
  made.traddr = to_string(without_scope(url->to.address));
  made.trsvcid = std::to_string(url->to.port);
  made.family = family_of(url->to.address);
  made.trtype = url->transport == "tcp" ? 3 : 1;
  return made;
}

/// What stands between the listeners and this machine's streams; null without TLS.
std::unique_ptr<transport::TlsSide> make_tls(RealSession& session, const TlsArguments& arguments,
                                             std::optional<auth::PskStore>& keys,
                                             transport::TransportHooks* hooks) {
  if (!keys) return nullptr;
  transport::TlsSideOptions options{.name = "target.tls"};
  options.tls.handshake_timeout = kHandshakePatience;
  if (!arguments.on) options.security = transport::ChannelSecurity::offered;
  if (hooks != nullptr) options.departs = [hooks](std::string_view at) { return hooks->departs(at); };
  auto side = std::make_unique<transport::TlsSide>(session.world(), session.streams(), *keys, options);
  side->on_refused([](const Endpoint& peer, const std::string& why) {
    std::fprintf(stderr, "refused %s: %s\n", to_string(peer).c_str(), why.c_str());
  });
  return side;
}

/// The checks that are left out, by the names of what users want to pass.
std::vector<std::string_view> checks_left_out(const TargetArguments& arguments) {
  std::vector<std::string_view> checks;
  if (!arguments.lenient) return checks;
  std::string known;
  for (const subsystem::Leniency& one : subsystem::leniencies()) {
    known += (known.empty() ? "" : ", ") + std::string(one.name);
    if (arguments.leniency.empty()) checks.insert(checks.end(), one.checks.begin(), one.checks.end());
  }
  if (arguments.leniency.empty()) return checks;
  for (const std::string& name : CLI::detail::split(arguments.leniency, ',')) {
    const subsystem::Leniency* const one = subsystem::find_leniency(name);
    if (one == nullptr) throw UserError("--lenient " + name + ": no such leniency; known are " + known);
    checks.insert(checks.end(), one->checks.begin(), one->checks.end());
  }
  return checks;
}

int run_target(const TargetArguments& arguments) {
  std::vector<conformance::FabricUrl> urls;
  for (const std::string& url : arguments.listen) urls.push_back(or_throw(conformance::parse_fabric_url(url)));
  for (const std::string& url : arguments.discovery_listen) {
    urls.push_back(or_throw(conformance::parse_fabric_url(url, conformance::UrlPort::known)));
  }
  std::vector<subsystem::Referral> referrals;
  for (const std::string& text : arguments.referrals) referrals.push_back(referral_from(text));
  check_names(arguments);
  const IpAddress address = urls.front().to.address;
  const auto left_out = checks_left_out(arguments);
  const auto chosen = or_throw(deviations::DeviationSet::of_names(arguments.deviations));
  const auto hooks = chosen.subsystem_hooks();
  const auto soft_hooks = chosen.soft_hooks();
  for (const conformance::FabricUrl& url : urls) {
    if (url.to.address != address) {
      throw UserError("--listen: all listeners of one target share one address, " + to_string(address));
    }
    check_tls_transport(arguments.tls, url.transport, conformance::url_text(url.transport, url.to));
  }
  std::optional<auth::PskStore> keys = tls_keys(arguments.tls);

  net::LocalHost local{.address = address};
  if (!arguments.local.empty()) local = or_throw(net::parse_local_host(arguments.local));
  if (local.address != address) {
    throw UserError("--local: not the address of --listen, " + to_string(address));
  }

  check_rdma_device(arguments.device, local);
  const auto over_rdma = [](const conformance::FabricUrl& url) { return url.transport == "rdma"; };
  if (!arguments.device.software() && std::ranges::none_of(urls, over_rdma)) {
    throw UserError("--device " + arguments.device.name + " is for NVMe/RDMA: " + arguments.listen.front());
  }

  RealSession session("target", local, arguments.device, soft_hooks.get());
  World& world = session.world();
  if (arguments.busy_poll) world.real_loop()->set_busy_poll(true);
  const CaptureFile capture(world, arguments.capture, "fabricbench target");
  const auto tls = make_tls(session, arguments.tls, keys, hooks.get());
  const auto security = tls == nullptr              ? transport::ChannelSecurity::none
                        : arguments.tls.on ? transport::ChannelSecurity::required
                                           : transport::ChannelSecurity::offered;
  std::vector<Listening> listeners;  // outlive the target's channels
  subsystem::DiscoveryOptions discovery;
  discovery.unique_nqn = arguments.discovery_nqn;
  subsystem::Target target(world, hooks.get(), discovery);
  subsystem::SubsystemOptions options;
  options.nqn = arguments.nqn;
  options.version = version_from(arguments.nvme_version);
  options.allow_any_host = arguments.allowed_hosts.empty();
  options.allowed_hosts = arguments.allowed_hosts;
  options.authentication.secrets = arguments.authentication.secrets();
  options.authentication.hashes = arguments.authentication.chosen_hashes();
  options.authentication.groups = arguments.authentication.chosen_groups();
  if (arguments.tls.concatenated) {
    if (options.authentication.secrets.empty()) {
      throw UserError("--tls-concat needs secrets to generate keys from: --dhchap-secret-file FILE");
    }
    options.authentication.secure_channel = true;
    options.authentication.on_psk = [&tls](const auth::GeneratedPsk& made) { tls->keep(made); };
  }
  std::vector<subsystem::NamespaceOptions> namespaces;
  for (const std::string& text : arguments.namespaces) {
    if (text == "none") break;
    namespaces.push_back(namespace_from(text));
    if (namespaces.back().zones.zone_blocks != 0) options.zoned.supported = true;
  }
  subsystem::Subsystem& disk = target.add_subsystem(options);
  for (subsystem::NamespaceOptions& one : namespaces) {
    auto added = disk.add_namespace(std::move(one));
    if (!added) throw UserError("--namespace: " + added.error().text);
  }
  std::uint16_t portid = 0;
  for (const conformance::FabricUrl& url : urls) {
    subsystem::PortOptions port;
    port.portid = ++portid;
    port.traddr = to_string(without_scope(address));
    port.trsvcid = std::to_string(url.to.port);
    port.family = family_of(address);
    subsystem::Port& added = target.add_port(port);
    if (portid > arguments.listen.size()) target.hide(added, disk);
    added.set_leniency(left_out);
    added.on_refused([](const subsystem::RefusedCommand& refused) {
      if (subsystem::worth_a_line(refused)) std::fprintf(stderr, "%s\n", subsystem::line_for(refused).c_str());
    });
    listeners.push_back({url, listen(session, url, target.acceptor(portid), hooks.get(), tls.get(), security)});
    target.set_listener(portid, *listeners.back().fabric);
  }
  for (const subsystem::Referral& referral : referrals) target.discovery().add_referral(referral);
  const SignalWatcher signals([&] { world.interrupt(); });
  const std::string name_of_discovery(target.discovery().subsystem().options().nqn);
  nlohmann::ordered_json said = nlohmann::ordered_json::array();
  for (const Listening& one : listeners) {
    const std::string url = conformance::url_text(one.url.transport, one.url.to);
    const bool serves_disk = &one - listeners.data() < std::ssize(arguments.listen);
    const std::string& name = serves_disk ? arguments.nqn : name_of_discovery;
    if (!arguments.json) std::printf("listening %s %s\n", url.c_str(), name.c_str());
    said.push_back({{"url", url}, {"nqn", name}, {"kind", serves_disk ? "subsystem" : "discovery"}});
  }
  if (arguments.json) std::puts(nlohmann::ordered_json{{"listeners", said}}.dump().c_str());
  flush_output();
  try {
    for (;;) world.run_for(Duration::s(3600));
  } catch (const WaitFailure&) {
    // A signal: the destructors end the associations in order.
  }
  return 0;
}

}  // namespace

void add_target(CLI::App& app, Outcome& outcome) {
  auto* command = app.add_subcommand("target", "Serve an emulated subsystem over NVMe/TCP and RoCEv2");
  set_help(
      *command,
      "  fabricbench target --listen rdma://127.0.0.2:4420 --namespace 64M\n"
      "  fabricbench target --listen tcp://127.0.0.1:4420 --namespace 64M\n"
      "  fabricbench target --listen tcp://127.0.0.1:4420 --namespace 64M --tls --psk-file keys\n"
      "  fabricbench target --listen tcp://127.0.0.1:4420 --discovery-listen tcp://127.0.0.1 --namespace 64M\n"
      "  fabricbench target --listen rdma://127.0.0.2:4420 --namespace 1G,file=disk.img,bs=4096\n"
      "  fabricbench target --listen rdma://192.0.2.7:4420 --device verbs:rxe0 --namespace 1G\n",
      exit_codes("ended by SIGINT or SIGTERM", "the bench broke"));
  auto arguments = std::make_shared<TargetArguments>();
  command->add_option("--listen", arguments->listen, "tcp://HOST:PORT or rdma://HOST:PORT; may be repeated")
      ->required()
      ->type_name("URL");
  command
      ->add_option("--discovery-listen", arguments->discovery_listen,
                   "Listener of the discovery service only; default port 8009 (TCP)")
      ->type_name("URL");
  command->add_option("--discovery-nqn", arguments->discovery_nqn,
                      "Unique NQN of the discovery service, beside the well-known one")
      ->type_name("NQN");
  command->add_option("--referral", arguments->referrals,
                      "Add a referral to this discovery service; may be repeated")
      ->type_name("URL");
  command->add_option("--local", arguments->local,
                      "Raw Ethernet: l2:PATH,PEER,ADDRESS over unix sockets, or packet:INTERFACE,ADDRESS on an interface")
      ->type_name("HOST");
  add_rdma_device(*command, arguments->device);
  command
      ->add_option(
          "--namespace", arguments->namespaces,
          "SIZE, with commas between: file=PATH, bs=512|4096, ms=8|16|64, pi=1|2|3, and zoned=SIZE with zcap=SIZE, active=N, open=N, "
          "zdes=BYTES, razb; may be repeated. Or none")
      ->type_name("SPEC")
      ->allow_extra_args(false);
  command->add_option("--deviation", arguments->deviations, "Misbehave in this way (list --deviations)")
      ->type_name("NAME")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--nqn", arguments->nqn, "NQN of the subsystem")->type_name("NQN")->capture_default_str();
  command->add_option("--nvme-version", arguments->nvme_version, "NVMe Base version that the subsystem reports: 1.4, 2.0 or 2.1")
      ->check(CLI::IsMember({"1.4", "2.0", "2.1"}))
      ->type_name("VERSION")
      ->capture_default_str();
  command->add_option("--allow-host", arguments->allowed_hosts, "Only these hosts may connect; may be repeated")
      ->type_name("NQN");
  std::string names;
  for (const subsystem::Leniency& one : subsystem::leniencies()) {
    names += (names.empty() ? "" : "; ") + std::string(one.name) + ": " + std::string(one.what);
  }
  CLI::Option* const lenient =
      command
          ->add_option("--lenient", arguments->leniency,
                       "Accept what the specification requires to be refused; without a name all of: " + names)
          ->type_name("NAME,...")
          ->expected(0, 1);
  add_authentication(*command, arguments->authentication);
  add_tls_target(*command, arguments->tls);
  command->add_option("--capture", arguments->capture, "Write a capture here at the end, with the TLS keys")
      ->type_name("FILE");
  command->add_flag("--busy-poll", arguments->busy_poll, "Never sleep: lower latency, one core fully used");
  command->add_flag("--json", arguments->json, "Print the listeners as one JSON document");
  command->callback([arguments, lenient, &outcome] {
    arguments->lenient = lenient->count() > 0;
    outcome.code = run_target(*arguments);
  });
}

}  // namespace fb::cli
