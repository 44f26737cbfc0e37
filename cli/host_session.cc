#include "cli/host_session.h"
#include "conformance/runner/profiles.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "base/ip_scope.h"
#include "base/result.h"
#include "model/transport/rdma_host.h"
#include "model/transport/tcp_host.h"
#include "sim/net/resolve.h"
#include "wire/fabrics/transports.h"

namespace fb::cli {

namespace {

using conformance::url_text;

// A target that does not answer at all is given up after this; CM alone would try for a minute.
constexpr Duration kPatience = Duration::s(30);
// Less, so that the message names the command that is not answered.
constexpr Duration kCommandPatience = Duration::s(20);

/// Null where no known peer is played.
std::unique_ptr<host::HostHooks> open_hooks(const HostArguments& arguments, const std::string& transport) {
  if (arguments.like.empty()) return nullptr;
  return or_throw(conformance::personality(arguments.like, {deviations::Product::host}, {transport})).host_hooks();
}

std::unique_ptr<transport::HostFabric> open_fabric(RealSession& session, const HostArguments& arguments, std::string_view transport,
                                                   transport::TlsSide* tls, host::HostHooks* hooks) {
  if (transport == fabrics::kRdma) {
    if (arguments.header_digest || arguments.data_digest) {
      throw UserError("--hdr-digest and --data-digest are for NVMe/TCP (tcp://...), not " + arguments.url);
    }
    return std::make_unique<transport::RdmaHostFabric>(session.world(), session.device(), hooks);
  }
  transport::TcpHostOptions options;
  options.header_digest = arguments.header_digest;
  options.data_digest = arguments.data_digest;
  options.digest_required = true;
  if (tls != nullptr) options.connect_timeout = kHandshakePatience;
  auto fabric = std::make_unique<transport::TcpHostFabric>(session.world(), session.streams(), session.address(), options, hooks);
  fabric->set_secure_streams(tls);
  return fabric;
}

net::LocalHost local_of(const HostArguments& arguments, const conformance::FabricUrl& url) {
  const bool software = arguments.device.software();
  if (!software && url.transport != fabrics::kRdma)
    throw UserError("--device " + arguments.device.name + " is for NVMe/RDMA: " + arguments.url);
  if (!software && !arguments.capture.empty()) {
    throw UserError("--capture: the packets of " + arguments.device.name + " are sent by the kernel; record them with dumpcap");
  }
  net::LocalHost local =
      local_host(arguments.local, url.to, software && url.transport == fabrics::kRdma ? RocePort::own : RocePort::kernels);
  check_rdma_device(arguments.device, local);
  return local;
}

/// Null without TLS.
std::unique_ptr<transport::TlsSide> open_tls(RealSession& session, const HostArguments& arguments, std::optional<auth::PskStore>& keys,
                                             const conformance::FabricUrl& url) {
  check_tls_transport(arguments.tls, url.transport, arguments.url);
  if (!keys) return nullptr;
  transport::TlsSideOptions options{.name = "host.tls", .identity_version = arguments.tls.identity_version};
  options.tls.handshake_timeout = kHandshakePatience;
  return std::make_unique<transport::TlsSide>(session.world(), session.streams(), *keys, options);
}

/// What this host authenticates with, on both queues' side of the association.
host::AuthenticationOptions authentication_of(const AuthenticationArguments& arguments, std::string_view hostnqn) {
  host::AuthenticationOptions options;
  options.hashes = arguments.chosen_hashes();
  options.groups = arguments.chosen_groups();
  const auto secrets = arguments.secrets();
  if (secrets.empty()) return options;
  const auth::SecretPair* pair = auth::secrets_of(secrets, hostnqn);
  if (pair == nullptr) {
    throw UserError(fmt::format("{}: no secret for {}", arguments.secret_file, hostnqn));
  }
  options.secret = pair->host;
  options.controller_secret = pair->controller;
  return options;
}

}  // namespace

std::string transport_hint(const std::string& text) {
  const auto url = conformance::parse_fabric_url(text, conformance::UrlPort::known);
  if (!url || url->transport != fabrics::kRdma || !net::accepts_tcp(url->to)) return {};
  return " (that port accepts TCP connections: did you mean tcp://...?)";
}

HostSession::HostSession(const HostArguments& arguments)
    : url_(or_throw(conformance::parse_fabric_url(arguments.url, conformance::UrlPort::known))),
      nsid_(arguments.nsid),
      identity_version_(arguments.tls.identity_version),
      session_("host", local_of(arguments, url_), arguments.device),
      capture_(session_.world(), arguments.capture, "fabricbench host " + arguments.url),
      signals_([this] { session_.world().interrupt(); }),
      keys_(tls_keys(arguments.tls)),
      tls_(open_tls(session_, arguments, keys_, url_)),
      hooks_(open_hooks(arguments, url_.transport)),
      fabric_(open_fabric(session_, arguments, url_.transport, tls_.get(), hooks_.get())) {
  world().set_patience(kPatience);
  if (arguments.busy_poll) world().real_loop()->set_busy_poll(true);
  host::HostOptions options;
  options.hooks = hooks_.get();
  if (!arguments.hostnqn.empty()) options.hostnqn = arguments.hostnqn;
  if (arguments.hostid) options.hostid = *arguments.hostid;
  authentication_ = authentication_of(arguments.authentication, options.hostnqn);
  tls_always_ = arguments.tls.on;
  if (arguments.tls.concatenated) {
    if (!authentication_.secret) {
      throw UserError("--tls-concat needs a secret to generate a key from: --dhchap-secret-file FILE");
    }
    authentication_.secure_channel = authentication_.secure_channel_required = true;
    authentication_.on_psk = [this](const auth::GeneratedPsk& made) { tls_->keep(made); };
  }
  host_ = std::make_unique<host::Host>(world(), *fabric_, options);
  host_->add_listener(*this);
}

HostSession::~HostSession() {
  host_->remove_listener(*this);
  try {
    host_->shutdown_all().wait_for(Duration::s(2));
  } catch (const WaitFailure&) {
    // Interrupted once more: then without a farewell.
  }
}

std::string HostSession::hinted(const std::string& error) const { return error + transport::identity_hint(error, identity_version_); }

host::DiscoveryOptions HostSession::discovery_options(bool follow_referrals) const {
  host::DiscoveryOptions options;
  options.to = url_.to;
  if (!url_.nqn.empty()) options.subnqn = url_.nqn;
  options.follow_referrals = follow_referrals;
  options.admin_timeout = kCommandPatience;
  options.authentication = authentication_;
  options.authentication.secure_channel = options.authentication.secure_channel_required = false;
  if (tls_always_) options.tls = host::TlsUse::always;
  return options;
}

host::DiscoveryResult HostSession::ask(host::DiscoveryClient& client, const host::DiscoveryOptions& options) {
  auto outcome = client.discover(options).wait();
  if (!outcome) {
    const std::string url = url_text(url_.transport, url_.to);
    throw UserError(fmt::format("{}: {}{}", url, hinted(outcome.error().text), transport_hint(url)));
  }
  for (const host::HostError& error : outcome->unreachable) {
    std::fprintf(stderr, "a referral could not be followed: %s\n", error.text.c_str());
  }
  return outcome.value();
}

host::DiscoveryResult HostSession::discover(bool follow_referrals) {
  host::DiscoveryClient client(*host_);
  return ask(client, discovery_options(follow_referrals));
}

void HostSession::watch(bool follow_referrals, const std::function<void(const host::DiscoveryResult&)>& on_log) {
  host::DiscoveryClient client(*host_);
  client.set_on_change(on_log);
  host::DiscoveryOptions options = discovery_options(follow_referrals);
  options.persistent = true;
  report_losses();
  on_log(ask(client, options));
  while (client.persistent_controller() != nullptr) world().run_for(Duration::s(1));
  throw UserError(url_text(url_.transport, url_.to) + ": the discovery service disconnected");
}

std::string HostSession::subsystem_nqn() {
  if (!nqn_.empty()) return nqn_;
  nqn_ = url_.nqn;
  to_ = url_.to;
  if (nqn_.empty()) {
    const host::DiscoveryResult found = discover();
    const host::DiscoveredEntry* chosen = nullptr;
    const Endpoint here{without_scope(url_.to.address), url_.to.port};
    for (const host::DiscoveredEntry& entry : found.entries) {
      if (!entry.usable || entry.subtype != fabrics::SubsystemType::nvm) continue;
      if (chosen == nullptr || (entry.to == here && chosen->to != here)) chosen = &entry;
    }
    if (chosen != nullptr) {
      // What the entry asks of us is known now: that we cannot do it is better said here.
      const auto possible = host::options_for(*host_, *chosen, {.authentication = authentication_});
      if (!possible) throw UserError(possible.error().text + " (--tls --psk-file)");
      nqn_ = chosen->subnqn;
      to_ = {with_scope(chosen->to.address, scope_of(url_.to.address)), chosen->to.port};
    }
  }
  if (nqn_.empty()) {
    throw UserError(url_text(url_.transport, url_.to) + ": its discovery service lists no subsystem for this host");
  }
  return nqn_;
}

host::Controller& HostSession::connect(std::uint16_t queue_entries, std::uint16_t io_queues) {
  host::ConnectOptions options;
  options.subnqn = subsystem_nqn();
  options.to = to_;
  options.queue_entries = queue_entries;
  options.io_queues = io_queues;
  options.admin_timeout = kCommandPatience;
  options.authentication = authentication_;
  if (tls_always_) options.tls = host::TlsUse::always;
  if (tls_) options.connect_timeout = kHandshakePatience;
  auto outcome = host_->connect(options).wait();
  if (!outcome) {
    const std::string url = url_text(url_.transport, to_);
    throw UserError(fmt::format("{}: {}{}", url, hinted(outcome.error().text), transport_hint(url)));
  }
  host::Controller& controller = *outcome.value();
  if (const std::uint16_t granted = controller.facts().io_queues; granted < io_queues) {
    std::fprintf(stderr, "the controller granted %u of the %u I/O queues\n", unsigned{granted}, unsigned{io_queues});
  }
  return controller;
}

host::Namespace& HostSession::name_space() {
  for (host::Namespace* one : host_->namespaces()) {
    if (nsid_ == 0 || one->nsid() == nsid_) return *one;
  }
  std::string why;
  for (const host::Controller* controller : host_->controllers()) {
    if (!controller->unusable_namespace().empty()) why = " (" + controller->unusable_namespace() + ")";
  }
  const std::string url = url_text(url_.transport, url_.to);
  throw UserError((nsid_ == 0 ? url + ": the subsystem has no namespace" : fmt::format("{}: no namespace {}", url, nsid_)) + why);
}

void HostSession::on_state(host::Controller& controller, host::ControllerState state) {
  if (state == host::ControllerState::recovering && !lost_) {
    lost_ = true;
    ++losses_;
    if (reporting_) std::fprintf(stderr, "lost the association: %s; reconnecting\n", controller.error().text.c_str());
  }
  if (state == host::ControllerState::live && lost_) {
    lost_ = false;
    if (reporting_) std::fprintf(stderr, "reconnected\n");
  }
}

/// Once for each rule: a controller that breaks it does so on every queue, which the text names at its end.
void HostSession::on_tolerated(host::Controller&, std::string_view what) {
  if (!warned_.insert(std::string(what.substr(0, what.find(" (queue")))).second) return;
  std::fprintf(stderr, "warning: %.*s; continuing\n", static_cast<int>(what.size()), what.data());
}

}  // namespace fb::cli
