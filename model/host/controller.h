// One association: admin queue, I/O queues, initialisation, keep alive, events, recovery.
//
// Everything happens in events of the world. After the first connection has succeeded, a loss leads to
// further attempts with growing delays until controller_loss_timeout; a refusal that would only repeat
// itself ends the controller. Commands that were on their way when an association was lost complete
// as not answered; resubmit_after() says when the old controller has certainly stopped executing them.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "base/result.h"
#include "model/auth/host_auth.h"
#include "model/host/controller_state.h"
#include "model/host/queue.h"
#include "model/host/types.h"
#include "sim/core/op.h"
#include "wire/nvme/events.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/logs.h"

namespace fb::host {

class Controller;

/// What Identify, the properties and Connect say, as far as the host acts on it.
struct ControllerFacts {
  std::uint64_t cap = 0;
  std::uint32_t vs = 0;
  std::uint16_t cntlid = 0;
  Bytes identify;  ///< Identify Controller, 4096 bytes
  std::string subnqn;
  std::uint32_t max_transfer = 4096;
  /// Limits of commands without data, in bytes; 0 for none.
  std::uint64_t verify_max = 0;
  std::uint64_t write_zeroes_max = 0;
  std::uint64_t write_uncorrectable_max = 0;
  bool zoned = false;  ///< the Zoned Namespace command set is selected
  /// Of Zone Append, data and all; 0 where there is no such command.
  std::uint64_t append_max = 0;
  std::uint16_t io_entries = 2;
  std::uint32_t in_capsule_bytes = 0;
  std::uint16_t io_queues = 0;  ///< connected
  bool traffic_keep_alive = false;
  bool ana = false;
  bool discovery = false;
  bool retry_delays = false;  ///< ACRE was accepted: CRD counts
  Duration crd[3];
  Duration ana_transition;
  Duration keep_alive_time;  ///< KATT: what was asked for, rounded up as the controller does
  Duration quiesce;          ///< CQT, or what is waited where it is not reported
  std::uint16_t oncs = 0;
  std::uint16_t fuses = 0;
  std::uint16_t ofcs = 0;
  std::uint32_t oaes = 0;
  std::uint8_t ciu = 0;           ///< of the instance, as the random number
  std::uint64_t cirn = 0;         ///< 0: the controller does not tell its instances apart
  unsigned reset_limit = 0;       ///< CCRL
  bool extended_formats = false;  ///< CTRATT.ELBAS
  unsigned abort_limit = 1;
  unsigned event_limit = 1;
};

class ControllerListener {
 public:
  virtual void on_state(Controller& controller, ControllerState state) { (void)controller, (void)state; }
  /// An asynchronous event; its log page has been read (and is `log`).
  virtual void on_event(Controller& controller, const nvme::Event& event, ByteView log) { (void)controller, (void)event, (void)log; }
  /// The list of namespaces, or one of them, has changed.
  virtual void on_namespaces(Controller& controller) { (void)controller; }
  virtual void on_ana(Controller& controller) { (void)controller; }
  /// The controller broke a rule, and the host goes on; the first time for a queue of an association.
  virtual void on_tolerated(Controller& controller, std::string_view what) { (void)controller, (void)what; }

 protected:
  ~ControllerListener() = default;
};

class Controller final : private QueueHandler {
 public:
  Controller(World& world, transport::HostFabric& fabric, const HostOptions& host, ConnectOptions options, ControllerListener& listener);
  ~Controller();

  using Outcome = Result<Controller*, HostError>;
  /// Starts the first attempt. Settles when live, or when it has failed for good.
  Op<Outcome> connect();
  /// Orderly: drains I/O, sets CC.SHN, waits for CSTS.SHST, disconnects.
  Op<Result<void, HostError>> shutdown();
  /// A controller reset; settles when live again.
  Op<Result<void, HostError>> reset();
  /// Authenticates every queue once more. A failure ends the association.
  Op<Result<void, HostError>> reauthenticate();
  /// Takes the connections down without a word to the controller.
  void disconnect();
  /// Settles when the controller is in `state` (at once when it is).
  Op<ControllerState> reached(ControllerState state);

  /// Any admin command, live or not (the queue must be connected).
  template <class L>
  Op<AdminReply> admin(const Record<L>& command) {
    return admin_op(as_sqe(command), {}, transport::Direction::none);
  }
  template <class L>
  Op<AdminReply> admin(const Record<L>& command, std::size_t bytes) {
    return admin_op(as_sqe(command), Bytes(bytes), transport::Direction::from_controller);
  }
  template <class L>
  Op<AdminReply> admin(const Record<L>& command, ByteView data) {
    return admin_op(as_sqe(command), Bytes(data.begin(), data.end()), transport::Direction::to_controller);
  }
  /// The whole of a log page, in parts where it is longer than a transfer.
  Op<AdminReply> read_log(nvme::LogPage page, std::uint32_t length, std::uint8_t lsp = 0);

  using Then = std::function<void(AdminReply&)>;
  /// The same without waiting: for engines above. `then` may be called from inside.
  void call_admin(const nvme::Sqe& sqe, Bytes data, transport::Direction direction, Then then);
  void call_log(nvme::LogPage page, std::uint32_t length, std::uint8_t lsp, Then then);

  /// Sends an I/O command on one of the queues, in turn. False when not live.
  bool submit(Command& command);
  /// One I/O queue of the association, for pairs that must share it; null when not live.
  Queue* io_queue(std::size_t index);
  std::size_t io_queue_count() const { return io_.size(); }
  std::uint32_t io_load() const;

  ControllerState state() const { return state_; }
  bool live() const { return state_ == ControllerState::live; }
  const ControllerFacts& facts() const { return facts_; }
  const ConnectOptions& options() const { return options_; }
  const HostOptions& host() const { return host_; }
  const std::vector<NamespaceFacts>& namespaces() const { return namespaces_; }
  nvme::AnaState ana_state(std::uint32_t group) const;
  /// A path error told us so before the log did; reads the log again.
  void note_ana_state(std::uint32_t group, nvme::AnaState state);
  /// Not earlier than this may a command that changes something, unanswered when the association was
  /// lost, be sent again: two KATT after the last Keep Alive (three after the loss with traffic based
  /// keep alive) and CQT, or at once after a reset or shutdown that the controller confirmed (Base 9.6.2).
  Instant resubmit_after() const { return quiet_at_; }
  /// The instance whose association was lost executes nothing any more: a Cross-Controller Reset has succeeded.
  void note_stopped(Instant lost_at);
  /// When the association was lost.
  Instant lost_at() const { return lost_at_; }
  /// Why the last attempt failed or the association was lost.
  const HostError& error() const { return error_; }
  /// Why a namespace that is listed cannot be used, of the last scan; empty when all can.
  const std::string& unusable_namespace() const { return unusable_namespace_; }
  unsigned attempts() const { return attempts_; }
  std::uint64_t keep_alives_sent() const { return keep_alives_sent_; }
  bool departs(std::string_view name) const { return host_.hooks != nullptr && host_.hooks->departs(name); }
  /// Reads the list of namespaces again; on_namespaces() follows when something changed.
  void rescan();
  World& world() { return world_; }

 private:
  class AdminCall;
  class Ghost;
  struct LogRead;
  struct AuthRun;
  struct Scan;
  /// The log page of an event, piece by piece.
  struct EventRead {
    nvme::Event event;
    unsigned pages_left;
    unsigned failures = 0;
  };
  /// What the controller failed to tell without saying that it never will: it is asked again a little
  /// later, since no further notice comes of what has not been read. Counts are of failures in a row.
  struct Unread {
    bool ana = false;
    bool namespaces = false;
    std::vector<EventRead> events;
    unsigned ana_failures = 0;
    unsigned scan_failures = 0;
  };

  // QueueHandler
  void on_queue_connected(Queue& queue, const transport::ChannelFacts& facts) override;
  void on_queue_end(Queue& queue, const transport::ChannelEnd& end) override;
  Duration on_queue_timeout(Queue& queue, Command& command) override;
  void on_queue_violation(Queue& queue, std::string_view what) override;
  void on_queue_tolerated(Queue& queue, std::string_view what) override;

  // Life (controller.cc)
  void move(ControllerEvent event);
  void note(std::string_view text);
  /// What note() says, kept for who asks why a namespace is not there.
  void note_unusable(std::string text);
  void start_attempt();
  void open_admin();
  void secure(QueueOptions& queue) const;
  void fail(HostError error);
  void give_up(HostError error);
  void schedule_attempt();
  void close_queues();
  void bury(std::unique_ptr<Queue> queue);
  void reap();
  void on_buried_gone();
  void settle_waiters();
  void on_attempt_timer();
  void on_step_timer();

  // Reset and shutdown (controller_end.cc)
  void start_reset(std::string_view why);
  void poll_disabled();
  void drained();
  void send_shutdown();
  void poll_shutdown();
  void disconnect_io_queues();
  void finish_shutdown();

  // Initialisation (controller_init.cc)
  void connect_admin();
  Bytes connect_bytes(std::uint16_t qid, std::uint16_t entries, nvme::Sqe& sqe);
  void on_admin_connected(AdminReply& reply);
  HostError refusal(const AdminReply& reply, std::uint16_t qid) const;
  void read_properties();
  void enable(Duration limit);
  std::uint32_t configuration() const;
  void poll_ready();
  Duration ready_limit() const;

  // Authentication (controller_authenticate.cc)
  using AuthEnd = std::function<void(std::optional<HostError>)>;
  /// What AUTHREQ asks for on this queue, then `then`; a failure ends the attempt.
  void authenticate(Queue& queue, std::uint16_t authreq, std::function<void()> then);
  std::optional<HostError> cannot_authenticate(std::uint16_t authreq) const;
  void run_authentication(Queue& queue, auth::SecureChannel channel, AuthEnd end);
  void send_auth_message(std::shared_ptr<AuthRun> run, auth::HostStep step);
  void fetch_auth_message(std::shared_ptr<AuthRun> run);
  void finish_auth(std::shared_ptr<AuthRun> run);
  void auth_command_failed(std::shared_ptr<AuthRun> run, const AdminReply& reply, std::string_view what);
  void connect_again_over_tls();
  void reauthenticate_next(std::size_t index);
  void end_reauthentication(std::optional<HostError> error);
  void cut_reauthentication(std::string_view why);

  // Initialisation, second half (controller_configure.cc)
  void identify_controller();
  void on_identified(AdminReply& reply);
  std::optional<HostError> take_identify(const Bytes& data);
  void read_command_limits();
  void choose_command_set();
  void take_combinations(ByteView page);
  void read_zoned_limits();
  void read_zoned_commands();
  void ask_queues();
  void connect_next_io_queue();
  void on_io_connected(Queue& queue, AdminReply& reply);
  void announce_behavior();
  void configure_events();
  void read_state_of_namespaces();
  void become_live();
  /// A command of the initialisation: a failure ends the attempt, unless `tolerate`.
  void step(const nvme::Sqe& sqe, Bytes data, transport::Direction direction, Then then, bool tolerate = false);
  void fail_step(std::string_view what, nvme::Status status);
  template <class L>
  void step(const Record<L>& command, Then then, bool tolerate = false) {
    step(as_sqe(command), {}, transport::Direction::none, std::move(then), tolerate);
  }
  template <class L>
  void step_read(const Record<L>& command, std::size_t bytes, Then then, bool tolerate = false) {
    step(as_sqe(command), Bytes(bytes), transport::Direction::from_controller, std::move(then), tolerate);
  }

  // Commands, keep alive (controller_admin.cc)
  Op<AdminReply> admin_op(const nvme::Sqe& sqe, Bytes data, transport::Direction direction);
  void call(Queue* queue, const nvme::Sqe& sqe, Bytes data, transport::Direction direction, Duration timeout, bool urgent, Then then);
  /// Only while the association of now lasts.
  void call_here(const nvme::Sqe& sqe, Bytes data, transport::Direction direction, Then then);
  void finish_call(AdminCall& call, const nvme::Cqe& cqe, bool answered);
  void continue_log(std::shared_ptr<LogRead> read);
  void abort_command(Queue& queue, Command& command);
  void resubmit_too_early(Queue& queue, const Command& command);
  void start_keep_alive();
  void on_keep_alive_timer();
  Duration keep_alive_interval() const;
  Instant quiet_after_loss() const;

  // Events, namespaces, ANA (controller_events.cc)
  void arm_events();
  void send_event_request();
  void on_async_event(const AdminReply& reply);
  void read_event_log(const nvme::Event& event);
  void read_event_page(EventRead read);
  void on_event_log(EventRead read, AdminReply& reply);
  void scan(std::function<void()> then);
  void scan_list(std::shared_ptr<Scan> scan, std::uint32_t after);
  void scan_next(std::shared_ptr<Scan> scan);
  void finish_scan(std::shared_ptr<Scan> scan);
  bool scan_missed(Scan& scan, std::uint32_t nsid, const AdminReply& reply);
  void scan_tags(std::shared_ptr<Scan> scan, NamespaceFacts facts);
  void take_layout(std::shared_ptr<Scan> scan, NamespaceFacts facts);
  void scan_descriptors(std::shared_ptr<Scan> scan, NamespaceFacts facts);
  void scan_zones(std::shared_ptr<Scan> scan, NamespaceFacts facts);
  void scan_pairs(std::shared_ptr<Scan> scan, NamespaceFacts facts);
  void read_ana(std::function<void()> then);
  std::uint32_t ana_log_length() const;
  void take_ana(ByteView log);
  bool may_read_again(std::string_view what, nvme::Status why, unsigned& failures);
  void read_again();

  World& world_;
  transport::HostFabric& fabric_;
  const HostOptions& host_;
  ConnectOptions options_;
  ControllerListener& listener_;

  ControllerState state_ = ControllerState::idle;
  ControllerFacts facts_;
  std::vector<NamespaceFacts> namespaces_;
  std::vector<std::pair<std::uint32_t, nvme::AnaState>> ana_;  ///< by group, ascending
  HostError error_;
  Unread unread_;
  unsigned epoch_ = 0;  ///< counts associations; steps of an older one fall silent
  unsigned attempts_ = 0;
  unsigned busy_ = 0;
  bool was_live_ = false;
  bool concatenated_ = false;  ///< queues go over TLS with the PSK that authentication made
  bool ana_reading_ = false;
  bool scanning_ = false;
  bool scan_again_ = false;

  std::unique_ptr<Queue> admin_;
  std::vector<std::unique_ptr<Queue>> io_;
  std::vector<std::pair<std::unique_ptr<Queue>, Instant>> buried_;  ///< closing; until when
  std::size_t next_io_ = 0;
  std::uint16_t io_wanted_ = 0;
  bool io_waits_for_buried_ = false;
  std::list<std::unique_ptr<AdminCall>> calls_;
  std::list<std::unique_ptr<Ghost>> ghosts_;
  unsigned aborts_out_ = 0;
  unsigned events_out_ = 0;
  Command* keep_alive_call_ = nullptr;

  Instant lost_at_;
  Instant quiet_at_;
  Instant keep_alive_sent_at_;
  Instant step_deadline_;
  Duration delay_;
  std::uint64_t traffic_seen_ = 0;
  std::uint64_t keep_alives_sent_ = 0;
  enum class Polling : std::uint8_t { none, transport, ready, disabled, drain, shutdown, bye };
  Polling polling_ = Polling::none;
  Duration poll_interval_;

  Promise<Outcome> connect_promise_;
  std::vector<Promise<Result<void, HostError>>> reset_promises_;
  std::vector<Promise<Result<void, HostError>>> shutdown_promises_;
  std::vector<Promise<Result<void, HostError>>> reauthentication_promises_;
  std::vector<std::pair<ControllerState, Promise<ControllerState>>> state_promises_;
  std::optional<HostError> leave_error_;

  Timer<Controller, &Controller::on_attempt_timer> attempt_timer_{"host.attempt", *this};
  Timer<Controller, &Controller::on_step_timer> step_timer_{"host.step", *this};
  Timer<Controller, &Controller::on_keep_alive_timer> keep_alive_timer_{"host.keep_alive", *this};
  Timer<Controller, &Controller::read_again> unread_timer_{"host.unread", *this};
  Timer<Controller, &Controller::reap> reap_timer_{"host.reap", *this};
  std::string unusable_namespace_;
};

}  // namespace fb::host
