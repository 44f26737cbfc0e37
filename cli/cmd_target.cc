#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "cli/authentication.h"
#include "cli/common.h"
#include "cli/real_session.h"
#include "conformance/runner/product.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/target.h"
#include "model/transport/rdma_controller.h"
#include "model/transport/tcp_controller.h"

namespace fb::cli {

namespace {

struct TargetArguments {
  std::vector<std::string> listen;
  std::string local;
  std::vector<std::string> namespaces;
  std::vector<std::string> deviations;
  std::vector<std::string> allowed_hosts;
  std::string nqn = subsystem::kDefaultSubsystemNqn;
  AuthenticationArguments authentication;
  bool busy_poll = false;
};

// One listener: the devices are per address, the listeners per port of a device.
struct Listening {
  conformance::FabricUrl url;
  std::unique_ptr<transport::ControllerFabric> fabric;
};

std::unique_ptr<transport::ControllerFabric> listen(RealSession& session, const conformance::FabricUrl& url,
                                                    transport::ControllerAcceptor& acceptor,
                                                    transport::TransportHooks* hooks) {
  transport::ControllerFabricOptions options;
  options.port = url.to.port;
  if (url.transport == "rdma") {
    return or_throw(transport::RdmaControllerFabric::start(session.world(), session.device(), options,
                                                           acceptor, hooks));
  }
  return or_throw(transport::TcpControllerFabric::start(session.world(), session.streams(),
                                                        url.to.address, options, {}, acceptor, hooks));
}

// SIZE[,file=PATH][,bs=512|4096]
subsystem::NamespaceOptions namespace_from(const std::string& text) {
  const auto wrong = [&](const std::string& why) {
    return UserError("--namespace '" + text + "': " + why);
  };
  std::string_view rest = text;
  std::string file;
  subsystem::NamespaceOptions options;
  std::size_t comma = rest.find(',');
  const std::uint64_t bytes = or_throw(parse_size(rest.substr(0, comma)));
  while (comma != std::string_view::npos) {
    rest = rest.substr(comma + 1);
    comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    if (part.starts_with("file=") && part.size() > 5) {
      file = part.substr(5);
    } else if (part == "bs=512" || part == "bs=4096") {
      options.block_bytes = part == "bs=512" ? 512 : 4096;
    } else {
      throw wrong("after the size stand file=PATH and bs=512 or bs=4096");
    }
  }
  if (bytes % options.block_bytes != 0) throw wrong("no whole number of blocks");
  options.blocks = bytes / options.block_bytes;
  if (!file.empty()) options.store = or_throw(subsystem::open_file_store(file, bytes));
  return options;
}

int run_target(const TargetArguments& arguments) {
  std::vector<conformance::FabricUrl> urls;
  for (const std::string& url : arguments.listen) urls.push_back(or_throw(conformance::parse_fabric_url(url)));
  const IpAddress address = urls.front().to.address;
  const auto chosen = or_throw(deviations::DeviationSet::of_names(arguments.deviations));
  const auto hooks = chosen.subsystem_hooks();
  const auto soft_hooks = chosen.soft_hooks();
  for (const conformance::FabricUrl& url : urls) {
    if (url.to.address != address) {
      throw UserError("--listen: all listeners of one target share one address, " + to_string(address));
    }
  }

  net::LocalHost local{.address = address};
  if (!arguments.local.empty()) local = or_throw(net::parse_local_host(arguments.local));
  if (local.address != address) {
    throw UserError("--local: not the address of --listen, " + to_string(address));
  }

  RealSession session("target", local, soft_hooks.get());
  World& world = session.world();
  if (arguments.busy_poll) world.real_loop()->set_busy_poll(true);
  std::vector<Listening> listeners;  // outlive the target's channels
  subsystem::Target target(world, hooks.get());
  subsystem::SubsystemOptions options;
  options.nqn = arguments.nqn;
  options.allow_any_host = arguments.allowed_hosts.empty();
  options.allowed_hosts = arguments.allowed_hosts;
  options.authentication.secrets = arguments.authentication.secrets();
  options.authentication.hashes = arguments.authentication.chosen_hashes();
  options.authentication.groups = arguments.authentication.chosen_groups();
  subsystem::Subsystem& disk = target.add_subsystem(options);
  for (const std::string& text : arguments.namespaces) {
    auto added = disk.add_namespace(namespace_from(text));
    if (!added) throw UserError("--namespace: " + added.error().text);
  }
  std::uint16_t portid = 0;
  for (const conformance::FabricUrl& url : urls) {
    subsystem::PortOptions port;
    port.portid = ++portid;
    port.traddr = to_string(address);
    port.trsvcid = std::to_string(url.to.port);
    port.family = address.is_v4() ? subsystem::AddressFamily::ipv4 : subsystem::AddressFamily::ipv6;
    target.add_port(port);
    listeners.push_back({url, listen(session, url, target.acceptor(portid), hooks.get())});
    target.set_listener(portid, *listeners.back().fabric);
  }
  const SignalWatcher signals([&] { world.interrupt(); });
  for (const Listening& one : listeners) {
    std::printf("listening %s %s\n", conformance::url_text(one.url.transport, one.url.to).c_str(),
                arguments.nqn.c_str());
  }
  std::fflush(stdout);
  try {
    for (;;) world.run_for(Duration::s(3600));
  } catch (const WaitFailure&) {
    // A signal: the destructors end the associations in order.
  }
  return 0;
}

}  // namespace

void add_target(CLI::App& app, Outcome& outcome) {
  auto* command = app.add_subcommand("target", "Serve an emulated subsystem over RoCEv2 and TCP");
  command->footer(
      "Examples:\n"
      "  fabricbench target --listen rdma://127.0.0.2:4420 --namespace 64M\n"
      "  fabricbench target --listen tcp://127.0.0.1:4420 --namespace 64M\n"
      "  fabricbench target --listen rdma://127.0.0.2:4420 --namespace 1G,file=disk.img,bs=4096");
  auto arguments = std::make_shared<TargetArguments>();
  command->add_option("--listen", arguments->listen, "rdma://ADDRESS:PORT or tcp://ADDRESS:PORT; may be repeated")
      ->required()
      ->type_name("URL");
  command->add_option("--local", arguments->local, "l2:PATH,PEER,ADDRESS: raw Ethernet over unix sockets")
      ->type_name("HOST");
  command
      ->add_option("--namespace", arguments->namespaces,
                   "SIZE[,file=PATH][,bs=512|4096]; may be repeated")
      ->type_name("SPEC")
      ->allow_extra_args(false);
  command->add_option("--deviation", arguments->deviations, "Misbehave in this named way")
      ->type_name("NAME");
  command->add_option("--nqn", arguments->nqn, "Name of the subsystem")->type_name("NQN");
  command->add_option("--allow-host", arguments->allowed_hosts, "Only these hosts may connect")
      ->type_name("NQN");
  add_authentication(*command, arguments->authentication);
  command->add_flag("--busy-poll", arguments->busy_poll, "Never sleep: lower latency, a whole core");
  command->callback([arguments, &outcome] { outcome.code = run_target(*arguments); });
}

}  // namespace fb::cli
