// A host of the command line: a session in real time, the fabric, and one association.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "cli/authentication.h"
#include "cli/common.h"
#include "cli/rdma_device.h"
#include "cli/real_session.h"
#include "cli/tls_options.h"
#include "conformance/runner/product.h"
#include "model/host/discovery_client.h"
#include "model/host/host.h"

namespace fb::cli {

struct HostArguments {
  std::string url;
  std::string local;
  std::string hostnqn;
  std::optional<host::HostId> hostid = {};
  std::uint32_t nsid = 0;      ///< 0: the first
  bool header_digest = false;  ///< TCP
  bool data_digest = false;    ///< TCP
  AuthenticationArguments authentication;
  TlsArguments tls;
  RdmaDeviceArguments device;
  std::string capture;
  bool busy_poll = false;  ///< never sleep
  std::string like;        ///< profile
  bool json = false;
};

/// What the user may have meant instead, when nothing answers at that URL.
std::string transport_hint(const std::string& url);

class HostSession final : private host::ControllerListener {
 public:
  explicit HostSession(const HostArguments& arguments);
  ~HostSession();

  World& world() { return session_.world(); }
  host::Host& host() { return *host_; }
  const conformance::FabricUrl& url() const { return url_; }

  /// The name in the URL, or the subsystem that the discovery service lists: at the URL's address if it
  /// is there, otherwise the first.
  std::string subsystem_nqn();
  /// Asks the service of the URL: the well-known name, or the one in the URL. What could not be asked of
  /// those that it refers to is said on standard error.
  host::DiscoveryResult discover(bool follow_referrals = true);
  /// The same, then stays and calls `on_log` with the first log and each that differs, until interrupted.
  void watch(bool follow_referrals, const std::function<void(const host::DiscoveryResult&)>& on_log);
  /// UserError, with the reason, when there is no association to be had.
  host::Controller& connect(std::uint16_t queue_entries = 128, std::uint16_t io_queues = 1);
  /// The namespace that was asked for.
  host::Namespace& name_space();
  /// Says on standard error when the association is lost and when it is back.
  void report_losses() { reporting_ = true; }
  unsigned losses() const { return losses_; }

 private:
  void on_state(host::Controller& controller, host::ControllerState state) override;
  void on_tolerated(host::Controller& controller, std::string_view what) override;
  /// With what may help.
  std::string hinted(const std::string& error) const;
  host::DiscoveryOptions discovery_options(bool follow_referrals) const;
  host::DiscoveryResult ask(host::DiscoveryClient& client, const host::DiscoveryOptions& options);

  conformance::FabricUrl url_;
  std::uint32_t nsid_;
  int identity_version_;
  RealSession session_;
  CaptureFile capture_;
  SignalWatcher signals_;
  std::optional<auth::PskStore> keys_;
  std::unique_ptr<transport::TlsSide> tls_;
  bool tls_always_ = false;
  std::unique_ptr<host::HostHooks> hooks_;  ///< null is honest
  std::unique_ptr<transport::HostFabric> fabric_;
  std::unique_ptr<host::Host> host_;
  std::string nqn_;
  Endpoint to_;  ///< where the subsystem is: the URL's address, or what discovery says
  host::AuthenticationOptions authentication_;
  bool reporting_ = false;
  bool lost_ = false;
  unsigned losses_ = 0;
  std::set<std::string> warned_;
};

/// Runs `body` with a session: its exit code, that of an interrupt, or UserError with the URL and what may help.
template <class Body>
int guarded(const HostArguments& arguments, Body&& body) {
  try {
    HostSession session(arguments);
    return body(session);
  } catch (const WaitFailure& failure) {
    if (failure.end() == WaitEnd::interrupted) return exit_code::interrupted;
    throw UserError(arguments.url + ": " + failure.what() + transport_hint(arguments.url));
  }
}

}  // namespace fb::cli
