#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/ip_scope.h"
#include "base/suggest.h"
#include "cli/authentication.h"
#include "cli/cmd_drive.h"
#include "cli/common.h"
#include "cli/control/control_socket.h"
#include "cli/control/target_control.h"
#include "cli/control/target_words.h"
#include "cli/document.h"
#include "cli/mdns.h"
#include "cli/rdma_device.h"
#include "cli/real_session.h"
#include "cli/tls_options.h"
#include "cli/usage.h"
#include "conformance/runner/product.h"
#include "conformance/runner/profiles.h"
#include "model/deviations/deviation.h"
#include "model/deviations/shown.h"
#include "model/subsystem/check_options.h"
#include "model/subsystem/leniency.h"
#include "model/subsystem/target.h"
#include "model/transport/rdma_controller.h"
#include "model/transport/tcp_controller.h"
#include "model/transport/transfer_limit.h"
#include "wire/fabrics/transports.h"

namespace fb::cli {

namespace {

/// The name of a centralized discovery controller unless somebody says otherwise.
constexpr std::string_view kCdcNqn = "nqn.2026-11.org.fabricbench:cdc";

struct TargetArguments {
  std::vector<std::string> listen;
  std::vector<std::string> discovery_listen;
  std::string discovery_nqn;
  std::vector<std::string> referrals;
  std::string local;
  std::vector<std::string> namespaces;
  std::vector<std::string> deviations;
  std::string like;
  std::vector<std::string> allowed_hosts;
  std::string nqn = subsystem::kDefaultSubsystemNqn;
  AuthenticationArguments authentication;
  std::string nvme_version = "2.0";
  bool busy_poll = false;
  std::uint16_t io_queues = 16;       ///< that a host is granted at most
  std::uint16_t queue_entries = 128;  ///< of an I/O queue at most: CAP.MQES + 1
  bool lenient = false;
  std::uint8_t cross_resets = 0;        ///< CCRL; 0: no Cross-Controller Reset
  std::uint16_t placement_handles = 0;  ///< Flexible Data Placement with so many reclaim unit handles; 0: none
  std::string leniency;                 ///< names with commas between them; empty: all
  bool json = false;
  TlsArguments tls;
  RdmaDeviceArguments device;
  std::string capture;
  std::string control;
  bool mdns = false;
  bool cdc = false;
};

/// The sockets of a target, all of one address.
class TargetSockets final : public TargetListeners {
 public:
  /// Of every listener of the target.
  struct Terms {
    transport::TransportHooks* hooks = nullptr;
    transport::TlsSide* tls = nullptr;
    transport::ChannelSecurity security = transport::ChannelSecurity::none;
    std::vector<std::string_view> left_out;  ///< checks
  };

  TargetSockets(RealSession& session, const IpAddress& address, bool tls_alone)
      : session_(session), address_(address), tls_alone_(tls_alone) {}
  /// Before the first listener. The target goes before its sockets.
  void begin(subsystem::Target& target, Terms terms) {
    target_ = &target;
    terms_ = std::move(terms);
  }

  conformance::FabricUrl parse(const std::string& text, bool discovery_only) const {
    const auto port = discovery_only ? conformance::UrlPort::known : conformance::UrlPort::chosen;
    conformance::FabricUrl url = or_throw(conformance::parse_fabric_url(text, port));
    if (url.to.address != address_) throw UserError("all listeners of one target share one address, " + to_string(address_) + ": " + text);
    if (url.transport != fabrics::kTcp && tls_alone_) throw UserError(text + ": TLS is of NVMe/TCP");
    return url;
  }

  void add(const conformance::FabricUrl& url, bool discovery_only);
  void add(const std::string& url, bool discovery_only) override { add(parse(url, discovery_only), discovery_only); }
  void remove(const std::string& url) override;
  std::vector<Listener> list() const override;

 private:
  struct Open {
    Listener listener;
    std::unique_ptr<transport::ControllerFabric> fabric;
  };

  std::unique_ptr<transport::ControllerFabric> listen(const conformance::FabricUrl& url, transport::ControllerAcceptor& acceptor);
  std::uint16_t free_portid() const;

  RealSession& session_;
  IpAddress address_;
  bool tls_alone_;
  subsystem::Target* target_ = nullptr;
  Terms terms_;
  std::vector<Open> open_;
};

std::unique_ptr<transport::ControllerFabric> TargetSockets::listen(const conformance::FabricUrl& url,
                                                                   transport::ControllerAcceptor& acceptor) {
  transport::ControllerFabricOptions options;
  options.port = url.to.port;
  options.transfer_bytes_max = transport::kLargestTransfer;
  if (url.transport == fabrics::kRdma) {
    return or_throw(transport::RdmaControllerFabric::start(session_.world(), session_.device(), options, acceptor, terms_.hooks));
  }
  transport::TcpControllerOptions tcp;
  tcp.security = terms_.security;
  net::StreamHost& streams = terms_.tls != nullptr ? terms_.tls->listening() : session_.streams();
  return or_throw(transport::TcpControllerFabric::start(session_.world(), streams, url.to.address, options, tcp, acceptor, terms_.hooks));
}

std::uint16_t TargetSockets::free_portid() const {
  std::uint16_t portid = 1;
  while (std::ranges::any_of(open_, [&](const Open& one) { return one.listener.portid == portid; })) ++portid;
  return portid;
}

void TargetSockets::add(const conformance::FabricUrl& url, bool discovery_only) {
  subsystem::PortOptions options;
  options.portid = free_portid();
  options.traddr = to_string(without_scope(address_));
  options.trsvcid = std::to_string(url.to.port);
  options.family = family_of(address_);
  subsystem::Port& port = target_->add_port(options);
  if (discovery_only) {
    for (const auto& disk : target_->subsystems()) target_->hide(port, *disk);
  }
  port.set_leniency(terms_.left_out);
  // Who polls with a taken identifier does it again and again: what is let pass on a connection is worth one line.
  port.on_refused([told = std::string()](const subsystem::RefusedCommand& refused) mutable {
    if (!subsystem::worth_a_line(refused)) return;
    if (refused.let_pass && !refused.same_cid.empty()) {
      const std::string about = to_string(refused.peer) + " " + std::string(refused.check);
      if (about == told) return;
      told = about;
    }
    std::fprintf(stderr, "%s\n", subsystem::line_for(refused).c_str());
  });
  try {
    auto fabric = listen(url, target_->acceptor(options.portid));
    const std::string text = conformance::url_text(url.transport, {url.to.address, fabric->local().port});
    open_.push_back({{text, options.portid, discovery_only}, std::move(fabric)});
  } catch (const UserError&) {
    target_->remove_port(port);
    throw;
  }
  target_->set_listener(options.portid, *open_.back().fabric);
}

void TargetSockets::remove(const std::string& url) {
  const auto at = std::ranges::find_if(open_, [&](const Open& one) { return one.listener.url == url; });
  if (at == open_.end()) throw UserError("nothing listens at " + url);
  target_->remove_port(target_->port(at->listener.portid));
  open_.erase(at);
}

std::vector<TargetListeners::Listener> TargetSockets::list() const {
  std::vector<Listener> all;
  for (const Open& one : open_) all.push_back(one.listener);
  return all;
}

/// A host that asks for a name which is none gets Connect Invalid Parameters: better not to begin.
void check_nqn(const std::string& option, const std::string& name) {
  if (fabrics::valid_nqn(name)) return;
  throw UserError(option + " '" + name +
                  "' is no NVMe qualified name, and hosts could not connect; it has the form nqn.YYYY-MM.DOMAIN:NAME, for example "
                  "nqn.2026-01.org.example:" +
                  (name.empty() || name.find_first_of(" :.") != std::string::npos ? "disk1" : name));
}

/// A subsystem listens under one name, whatever a URL says.
conformance::FabricUrl listener_from(const std::string& option, const std::string& text, conformance::UrlPort port) {
  conformance::FabricUrl url = or_throw(conformance::parse_fabric_url(text, port));
  if (url.nqn.empty()) return url;
  throw UserError(option + " " + text + ": a listener has an address and a port, no NQN" +
                  (option == "--listen" ? ": the subsystem's is --nqn" : ""));
}

/// Everything that is known to be wrong before a socket is opened.
void check_names(const TargetArguments& arguments) {
  check_nqn("--nqn", arguments.nqn);
  for (const std::string& host : arguments.allowed_hosts) check_nqn("--allow-host", host);
  if (!arguments.discovery_nqn.empty()) check_nqn("--discovery-nqn", arguments.discovery_nqn);
  if (arguments.nqn == fabrics::kDiscoveryNqn || arguments.nqn == arguments.discovery_nqn) {
    throw UserError("--nqn " + arguments.nqn + " is the name of the discovery service; the subsystem needs one of its own");
  }
  if (arguments.cdc && (!arguments.namespaces.empty() || !arguments.control.empty() || !arguments.discovery_listen.empty())) {
    throw UserError(
        "--cdc: a centralized discovery controller has no subsystem of its own; leave out --namespace, --discovery-listen and "
        "--control");
  }
  if (arguments.namespaces.empty() && !arguments.cdc) {
    throw UserError("no --namespace: hosts would find no disk; add one (--namespace 64M), or use --namespace none if that is intended");
  }
  const bool none = std::ranges::find(arguments.namespaces, "none") != arguments.namespaces.end();
  if (none && arguments.namespaces.size() > 1) throw UserError("--namespace none cannot be combined with other namespaces");
}

/// "2.1": one of those that add_target() lets pass.
std::uint32_t version_from(const std::string& text) {
  return fabrics::version(static_cast<unsigned>(text.at(0) - '0'), static_cast<unsigned>(text.at(2) - '0'), 0);
}

/// What stands between the listeners and this machine's streams; null without TLS.
std::unique_ptr<transport::TlsSide> make_tls(RealSession& session, const TlsArguments& arguments, std::optional<auth::PskStore>& keys,
                                             transport::TransportHooks* hooks) {
  if (!keys) return nullptr;
  transport::TlsSideOptions options{.name = "target.tls"};
  options.tls.handshake_timeout = kHandshakePatience;
  if (!arguments.on) options.security = transport::ChannelSecurity::offered;
  if (hooks != nullptr) options.departs = [hooks](std::string_view at) { return hooks->departs(at); };
  auto side = std::make_unique<transport::TlsSide>(session.world(), session.streams(), *keys, options);
  side->on_refused(
      [](const Endpoint& peer, const std::string& why) { std::fprintf(stderr, "refused %s: %s\n", to_string(peer).c_str(), why.c_str()); });
  return side;
}

/// The checks that are left out, by the names of what users want to pass.
std::vector<std::string_view> checks_left_out(const TargetArguments& arguments) {
  std::vector<std::string_view> checks;
  if (!arguments.lenient) return checks;
  std::string known;
  std::vector<std::string_view> names;
  for (const subsystem::Leniency& one : subsystem::leniencies()) {
    names.push_back(one.name);
    known += (known.empty() ? "" : ", ") + std::string(one.name);
    if (arguments.leniency.empty()) checks.insert(checks.end(), one.checks.begin(), one.checks.end());
  }
  if (arguments.leniency.empty()) return checks;
  for (const std::string& name : CLI::detail::split(arguments.leniency, ',')) {
    const subsystem::Leniency* const one = subsystem::find_leniency(name);
    if (one == nullptr) throw UserError("--lenient " + name + ": no such leniency; known are " + known + did_you_mean(name, names));
    checks.insert(checks.end(), one->checks.begin(), one->checks.end());
  }
  return checks;
}

/// What a subsystem of these arguments is.
subsystem::SubsystemOptions subsystem_options(const TargetArguments& arguments, std::unique_ptr<transport::TlsSide>& tls) {
  subsystem::SubsystemOptions options;
  options.nqn = arguments.nqn;
  options.version = version_from(arguments.nvme_version);
  options.allow_any_host = arguments.allowed_hosts.empty();
  options.allowed_hosts = arguments.allowed_hosts;
  options.io_queues_max = arguments.io_queues;
  options.io_entries_max = arguments.queue_entries;
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
  return options;
}

/// One endurance group with Flexible Data Placement, in which each namespace has every reclaim unit handle.
void place_data(subsystem::SubsystemOptions& options, std::vector<subsystem::NamespaceOptions>& namespaces, std::uint16_t handles) {
  if (options.zoned.supported) throw UserError("--fdp: zoned namespaces cannot have Flexible Data Placement");
  if (options.version < fabrics::version(2, 0, 0)) throw UserError("--fdp needs --nvme-version 2.0 or 2.1");
  options.endurance.groups = 1;
  options.fdp.configurations = {{.handles = handles, .identifiers_max = static_cast<std::uint16_t>(2 * handles)}};
  options.fdp.enabled = {1};
  for (subsystem::NamespaceOptions& one : namespaces) {
    for (std::uint16_t handle = 0; handle < handles; ++handle) one.placement_handles.push_back(handle);
  }
}

subsystem::Subsystem& add_disk(subsystem::Target& target, subsystem::SubsystemOptions options, const TargetArguments& arguments) {
  std::vector<subsystem::NamespaceOptions> namespaces;
  for (const std::string& text : arguments.namespaces) {
    if (text == "none") break;
    namespaces.push_back(namespace_from(text));
    if (namespaces.back().zones.zone_blocks != 0) options.zoned.supported = true;
    if (namespaces.back().key_value_bytes != 0) options.key_value.supported = true;
  }
  options.cross_controller_reset.limit = arguments.cross_resets;
  if (arguments.placement_handles != 0) place_data(options, namespaces, arguments.placement_handles);
  subsystem::Subsystem& disk = target.add_subsystem(std::move(options));
  for (subsystem::NamespaceOptions& one : namespaces) {
    auto added = disk.add_namespace(std::move(one));
    if (!added) throw UserError("--namespace: " + added.error().text);
  }
  return disk;
}

void say_where(const TargetArguments& arguments, const TargetSockets& sockets, subsystem::Target& target) {
  const std::string name_of_discovery(target.discovery().subsystem().options().nqn);
  nlohmann::ordered_json said = nlohmann::ordered_json::array();
  for (const TargetListeners::Listener& one : sockets.list()) {
    const std::string& name = one.discovery_only ? name_of_discovery : arguments.nqn;
    if (!arguments.json) std::printf("listening %s %s\n", one.url.c_str(), name.c_str());
    said.push_back({{"url", one.url}, {"nqn", name}, {"kind", one.discovery_only ? "discovery" : "subsystem"}});
  }
  if (arguments.json) print_document({{"listeners", said}}, -1);
  flush_output();
}

/// What is announced: the listeners of the discovery service, or all where it has none of its own.
std::vector<MdnsService> announced(const TargetSockets& sockets, const std::string& discovery_nqn) {
  const std::vector<TargetListeners::Listener> all = sockets.list();
  const bool apart = std::ranges::any_of(all, &TargetListeners::Listener::discovery_only);
  std::vector<MdnsService> services;
  for (const TargetListeners::Listener& one : all) {
    if (apart && !one.discovery_only) continue;
    const conformance::FabricUrl url = or_throw(conformance::parse_fabric_url(one.url, conformance::UrlPort::known));
    services.push_back({"fabricbench " + to_string(url.to), url.transport, url.to, discovery_nqn, {}});
  }
  return services;
}

/// A target that can be told what to do while it serves.
struct Told {
  explicit Told(World& world) : subsystem(world) {}
  ToldSubsystem subsystem;
  std::optional<TargetControl> control;
  std::unique_ptr<ControlSocket> socket;
};

int run_target(const TargetArguments& arguments) {
  std::vector<conformance::FabricUrl> urls;
  for (const std::string& url : arguments.listen) urls.push_back(listener_from("--listen", url, conformance::UrlPort::chosen));
  for (const std::string& url : arguments.discovery_listen) {
    const bool chosen = url.ends_with(":0");
    urls.push_back(listener_from("--discovery-listen", url, chosen ? conformance::UrlPort::chosen : conformance::UrlPort::known));
  }
  std::vector<subsystem::Referral> referrals;
  for (const std::string& text : arguments.referrals) {
    try {
      referrals.push_back(referral_from(text));
    } catch (const UserError& wrong) {
      throw UserError(std::string("--") + wrong.what());
    }
  }
  check_names(arguments);
  const IpAddress address = urls.front().to.address;
  const auto left_out = checks_left_out(arguments);
  std::vector<std::string> transports;
  for (const conformance::FabricUrl& url : urls) transports.push_back(url.transport);
  using deviations::Product;
  const std::vector<Product> products = {Product::controller, Product::rdma, Product::cm};
  const auto chosen = or_throw(conformance::with_personality(arguments.deviations, arguments.like, products, transports));
  if (const auto shown = deviations::can_be_shown(chosen, products, transports); !shown) {
    throw UserError("--deviation " + shown.error().text);
  }
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
  const bool rdma = std::ranges::any_of(urls, [](const conformance::FabricUrl& url) { return url.transport == fabrics::kRdma; });
  if (!arguments.device.software() && !rdma) {
    throw UserError("--device " + arguments.device.name + " is for NVMe/RDMA: " + arguments.listen.front());
  }

  const bool controlled = !arguments.control.empty();
  ToldDevice told_device;
  const auto soft_hooks = chosen.soft_hooks();
  RealSession session("target", local, arguments.device, controlled ? &told_device : soft_hooks.get());
  World& world = session.world();
  if (arguments.busy_poll) world.real_loop()->set_busy_poll(true);
  const auto plain_hooks = chosen.subsystem_hooks();
  std::optional<Told> told;
  if (controlled) told.emplace(world);
  subsystem::SubsystemHooks* const hooks = told ? &told->subsystem : plain_hooks.get();
  const CaptureFile capture(world, arguments.capture, "fabricbench target");
  auto tls = make_tls(session, arguments.tls, keys, hooks);
  const auto security = tls == nullptr     ? transport::ChannelSecurity::none
                        : arguments.tls.on ? transport::ChannelSecurity::required
                                           : transport::ChannelSecurity::offered;
  TargetSockets sockets(session, address, arguments.tls.on);  // outlives the target's channels
  subsystem::DiscoveryOptions discovery;
  discovery.unique_nqn = arguments.discovery_nqn;
  if (arguments.cdc && discovery.unique_nqn.empty()) discovery.unique_nqn = kCdcNqn;
  discovery.list_itself = arguments.cdc;
  subsystem::Target target(world, hooks, discovery);
  if (arguments.cdc) {
    target.discovery().set_central({.centralized = true, .registers = true, .extended_entries = true, .unfiltered = true});
  }
  sockets.begin(target, {hooks, tls.get(), security, left_out});
  if (!arguments.cdc) add_disk(target, subsystem_options(arguments, tls), arguments);
  for (std::size_t i = 0; i < urls.size(); ++i) sockets.add(urls[i], arguments.cdc || i >= arguments.listen.size());
  for (const subsystem::Referral& referral : referrals) target.discovery().add_referral(referral);
  if (told) {
    ToldDevice* const device = rdma && arguments.device.software() ? &told_device : nullptr;
    told->control.emplace(TargetControl::Parts{target, told->subsystem, device, sockets, chosen.names(), referrals});
    told->socket = or_throw(ControlSocket::open(world, told->control->rpc(), control_path(arguments.control)));
  }
  std::optional<MdnsAnnouncement> announcement;
  if (arguments.mdns) announcement.emplace(announced(sockets, std::string(target.discovery().subsystem().options().nqn)));
  const SignalWatcher signals([&] { world.interrupt(); });
  say_where(arguments, sockets, target);
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
  set_help(*command,
           "  fabricbench target --listen rdma://127.0.0.2:4420 --namespace 64M\n"
           "  fabricbench target --listen tcp://127.0.0.1:4420 --namespace 64M\n"
           "  fabricbench target --listen tcp://127.0.0.1:4420 --namespace 64M --tls --psk-file keys\n"
           "  fabricbench target --listen tcp://127.0.0.1:4420 --discovery-listen tcp://127.0.0.1 --namespace 64M\n"
           "  fabricbench target --cdc --listen tcp://127.0.0.1:8009\n"
           "  fabricbench target --listen rdma://127.0.0.2:4420 --namespace 1G,file=disk.img,bs=4096\n"
           "  fabricbench target --listen rdma://192.0.2.7:4420 --device verbs:rxe0 --namespace 1G\n"
           "  fabricbench target --listen tcp://127.0.0.1:4420 --namespace 64M --control unix:/run/user/1000/disk.sock\n",
           exit_codes("ended by SIGINT or SIGTERM", "the bench broke"));
  auto arguments = std::make_shared<TargetArguments>();
  command
      ->add_option("--listen", arguments->listen,
                   "tcp://HOST:PORT or rdma://HOST:PORT; may be repeated; TCP port 0: the system chooses one")
      ->type_name("URL");
  command->add_option("--discovery-listen", arguments->discovery_listen, "Listener of the discovery service only; default port 8009 (TCP)")
      ->type_name("URL");
  command->add_option("--discovery-nqn", arguments->discovery_nqn, "Unique NQN of the discovery service, beside the well-known one")
      ->type_name("NQN");
  command->add_flag("--cdc", arguments->cdc,
                    "Serve a centralized discovery controller instead: hosts and discovery controllers register with it");
  command->add_option("--referral", arguments->referrals, "Add a referral to this discovery service; may be repeated")->type_name("URL");
  command
      ->add_option("--local", arguments->local,
                   "Raw Ethernet: l2:PATH,PEER,ADDRESS over unix sockets, or packet:INTERFACE,ADDRESS on an interface")
      ->type_name("HOST");
  add_rdma_device(*command, arguments->device);
  command
      ->add_option(
          "--namespace", arguments->namespaces,
          "SIZE, with commas between: file=PATH, bs=512|4096, ms=8|16|64, pi=1|2|3, kv, and zoned=SIZE with zcap=SIZE, active=N, open=N, "
          "zdes=BYTES, razb, zrwa=SIZE, zrwafg=SIZE, numzrwa=N; may be repeated. Or none")
      ->type_name("SPEC")
      ->allow_extra_args(false);
  command
      ->add_option("--fdp", arguments->placement_handles,
                   "Flexible Data Placement with so many reclaim unit handles in two reclaim groups; each namespace has all of them")
      ->check(CLI::Range(1, 128))
      ->type_name("HANDLES");
  command
      ->add_option("--cross-reset", arguments->cross_resets,
                   "Cross-Controller Reset and the log of lost hosts, with so many operations at a time (CCRL)")
      ->check(CLI::Range(1, 255))
      ->type_name("LIMIT");
  command->add_option("--deviation", arguments->deviations, "Misbehave in this way (list --deviations)")
      ->type_name("NAME")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--like", arguments->like, "Misbehave as this known peer does: linux-6.12, or a file NAME.yaml of --profile")
      ->type_name("PROFILE");
  command->add_option("--nqn", arguments->nqn, "NQN of the subsystem")->type_name("NQN")->capture_default_str();
  command->add_option("--nvme-version", arguments->nvme_version, "NVMe Base version that the subsystem reports: 1.4, 2.0 or 2.1")
      ->check(one_of_texts({"1.4", "2.0", "2.1"}))
      ->type_name("VERSION")
      ->capture_default_str();
  command->add_option("--allow-host", arguments->allowed_hosts, "Only these hosts may connect; may be repeated")->type_name("NQN");
  std::string names;
  for (const subsystem::Leniency& one : subsystem::leniencies()) {
    names += (names.empty() ? "" : "; ") + std::string(one.name) + ": " + std::string(one.what);
  }
  CLI::Option* const lenient = command
                                   ->add_option("--lenient", arguments->leniency,
                                                "Accept what the specification requires to be refused; without a name all of: " + names)
                                   ->type_name("NAME,...")
                                   ->expected(0, 1);
  add_authentication(*command, arguments->authentication);
  add_tls_target(*command, arguments->tls);
  command->add_option("--capture", arguments->capture, "Write a capture here while it runs, with the TLS keys")->type_name("FILE");
  command->add_option("--control", arguments->control, "Take JSON-RPC 2.0 at this unix socket, for its owner alone (fabricbench ctl)")
      ->type_name("unix:PATH");
  command->add_flag("--mdns", arguments->mdns, "Announce the discovery service by multicast DNS, through Avahi");
  command->add_option("--io-queues", arguments->io_queues, "I/O queues that a controller grants at most")
      ->check(CLI::Range(1, 65534))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--queue-entries", arguments->queue_entries, "Entries that an I/O queue has at most (CAP.MQES + 1)")
      ->check(CLI::Range(2, 65535))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--busy-poll", arguments->busy_poll, "Never sleep: lower latency, one core fully used");
  command->add_flag("--json", arguments->json, "Print the listeners as one JSON document");
  add_target_drive(*command, outcome);
  command->callback([arguments, lenient, command, &outcome] {
    if (!command->get_subcommands().empty()) return;
    if (arguments->listen.empty()) throw UserError("--listen is required");
    arguments->lenient = lenient->count() > 0;
    outcome.code = run_target(*arguments);
  });
}

}  // namespace fb::cli
