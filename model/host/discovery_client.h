// Discovery: connects to discovery services, reads their log in parts until it holds still, follows
// referrals, and, when asked to stay, reads again on every change.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/host/host.h"
#include "wire/fabrics/discovery_log.h"

namespace fb::host {

struct DiscoveredEntry {
  fabrics::TransportType trtype{};
  fabrics::AddressFamily adrfam{};
  fabrics::SubsystemType subtype{};
  std::uint16_t portid = 0;
  std::uint16_t cntlid = 0;
  std::uint16_t asqsz = 0;
  std::uint8_t treq = 0;
  std::uint16_t eflags = 0;
  fabrics::TcpSecurity sectype{};  ///< TCP
  std::string subnqn;
  std::string traddr;
  std::string trsvcid;
  /// Where to connect to. Not usable: TRSVCID is no decimal port, TRADDR no address, or the transport
  /// is another one than our fabric's.
  bool usable = false;
  Endpoint to;
};

/// How to connect to what an entry lists, over this fabric. A secure channel that it requires is one that
/// we can make, or an error; over TCP, a host that has keys uses them whatever the entry says.
Result<ConnectOptions, HostError> options_for(Host& host, const DiscoveredEntry& entry, ConnectOptions options = {});

struct DiscoveryResult {
  std::uint64_t genctr = 0;              ///< of the first service
  std::vector<DiscoveredEntry> entries;  ///< referrals included, as they were listed
  unsigned services = 0;                 ///< asked
  unsigned log_reads = 0;                ///< whole logs read, repetitions included
  /// Referrals that could not be asked, and why.
  std::vector<HostError> unreachable;
};

struct DiscoveryOptions {
  Endpoint to;
  std::string subnqn = std::string(fabrics::kDiscoveryNqn);
  bool follow_referrals = true;
  unsigned referral_depth = 8;
  /// Stays connected (KATO as given) and reads the log again on change events.
  bool persistent = false;
  std::uint32_t kato_ms = 120'000;
  /// Longest Get Log Page.
  std::uint32_t part_bytes = 16384;
  /// For each command: longer, and the connection is given up.
  Duration admin_timeout = ConnectOptions{}.admin_timeout;
  /// Where a service asks for it. The well-known name stands for no one: a controller of that name is
  /// not asked to authenticate.
  AuthenticationOptions authentication = {};
  TlsUse tls = TlsUse::never;
};

class DiscoveryClient final : private ControllerListener {
 public:
  explicit DiscoveryClient(Host& host);
  ~DiscoveryClient();

  using Outcome = Result<DiscoveryResult, HostError>;
  /// One at a time. The client may go before its connections do: what they still answer is ignored.
  Op<Outcome> discover(const DiscoveryOptions& options);
  /// Persistent: called with every log that was read because of an event.
  void set_on_change(std::function<void(const DiscoveryResult&)> call) { on_change_ = std::move(call); }
  /// Ends a persistent connection.
  void leave();
  Controller* persistent_controller() const { return persistent_; }

 private:
  struct Service {
    Endpoint to;
    std::string subnqn;
    unsigned depth = 0;
    TlsUse tls = TlsUse::never;
  };
  struct Reading;

  void on_event(Controller& controller, const nvme::Event& event, ByteView log) override;
  void on_state(Controller& controller, ControllerState state) override;
  void read_again(Controller& controller);

  void ask_next();
  void read_header(std::shared_ptr<Reading> reading);
  void read_whole(std::shared_ptr<Reading> reading);
  void check_generation(std::shared_ptr<Reading> reading);
  void again(std::shared_ptr<Reading> reading);
  void finish_reading(std::shared_ptr<Reading> reading);
  void fail_reading(std::shared_ptr<Reading> reading, HostError error);
  bool failed(std::shared_ptr<Reading> reading, AdminReply& reply, bool& restart);
  void service_done(Controller& controller, DiscoveryResult result);
  void add_referrals(const DiscoveryResult& result, unsigned depth);
  void finish();
  bool seen(const Service& service) const;
  /// A callback that does nothing once the client has gone: who gave up waiting has ended it.
  template <class Call>
  auto while_alive(Call call) {
    return [alive = std::weak_ptr<int>(alive_), call = std::move(call)](auto& answer) {
      if (!alive.expired()) call(answer);
    };
  }
  DiscoveryResult parse(ByteView log) const;

  Host& host_;
  DiscoveryOptions options_;
  Promise<Outcome> promise_;
  DiscoveryResult result_;
  std::vector<Service> todo_;
  std::vector<Service> asked_;
  Service current_;
  Controller* persistent_ = nullptr;
  bool rereading_ = false;
  bool read_again_ = false;
  bool was_lost_ = false;
  std::function<void(const DiscoveryResult&)> on_change_;
  // Held weakly by the callbacks that the host keeps.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace fb::host
