// One queue pair of the host: commands in, completions out. Owns command identifiers, SQ flow control,
// the commands that wait for room, and deadlines; the channel below owns data and the connection.
//
// Nothing is allocated per command: a Command belongs to its caller, from submit() until on_complete().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/host/hooks.h"
#include "model/transport/host_channel.h"
#include "sim/core/world.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sqe.h"

namespace fb::host {

class Queue;

/// A command on its way. The caller fills the public fields, submits, and gets on_complete() once.
class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command();

  nvme::Sqe sqe;
  transport::HostTransfer transfer;
  /// Zero: the queue's own. forever() for commands that wait for events.
  Duration timeout;
  /// May use the places that are kept back for Keep Alive and Abort.
  bool urgent = false;
  /// Success may bring less data than there is room for.
  bool may_be_short = false;

  /// The answer. `answered` is false when the connection ended first: then `cqe` carries Host Pathing
  /// Error and it is not known whether the command was executed. The command may be submitted again,
  /// or destroyed, in this call.
  virtual void on_complete(const nvme::Cqe& cqe, bool answered) = 0;

  bool pending() const { return place_ != Place::none; }
  /// Identifier of a command that was sent.
  std::uint16_t cid() const { return cid_; }
  bool sent() const { return place_ == Place::sent; }
  /// How often its deadline has passed since it was sent.
  unsigned timeouts() const { return timeouts_; }

 private:
  friend class Queue;
  enum class Place : std::uint8_t { none, waiting, sent };
  Command* next_ = nullptr;
  Command* previous_ = nullptr;
  Command* fused_ = nullptr;  ///< the second half that must follow at once
  Queue* queue_ = nullptr;
  Instant sent_at_;
  Instant deadline_;
  std::uint16_t slot_ = 0;
  std::uint16_t cid_ = 0;
  unsigned timeouts_ = 0;
  Place place_ = Place::none;
};

class QueueHandler {
 public:
  virtual void on_queue_connected(Queue& queue, const transport::ChannelFacts& facts) = 0;
  /// The connection is gone. After this call every command is completed as not answered: by then
  /// the owner knows when the controller has certainly stopped.
  virtual void on_queue_end(Queue& queue, const transport::ChannelEnd& end) = 0;
  /// A deadline has passed. Returns how long the command has from now on.
  virtual Duration on_queue_timeout(Queue& queue, Command& command) = 0;
  /// The controller broke a rule that leaves the queue in doubt (a response for no command, an
  /// impossible SQHD). The queue goes on; its owner should not.
  virtual void on_queue_violation(Queue& queue, std::string_view what) = 0;
  /// The controller broke a rule that does no harm; the first time for this queue. The queue goes on, and so may its owner.
  virtual void on_queue_tolerated(Queue& queue, std::string_view what) { (void)queue, (void)what; }

 protected:
  ~QueueHandler() = default;
};

struct QueueOptions {
  std::uint16_t qid = 0;
  std::uint16_t entries = 32;
  std::uint16_t cntlid = 0;
  std::uint32_t in_capsule_bytes = 0;
  bool remote_invalidate = true;
  bool secured = false;  ///< see transport::ChannelOptions
  std::string hostnqn = {};
  std::string subnqn = {};
  Duration command_timeout = Duration::s(30);
  /// Places that only urgent commands may take.
  std::uint16_t reserve = 0;
  HostHooks* hooks = nullptr;
};

struct QueueCounters {
  std::uint64_t submitted = 0;
  std::uint64_t completed = 0;
  std::uint64_t stray_responses = 0;
  std::uint64_t timeouts = 0;
  /// Commands ended by SUCCESS in C2HData although SQ flow control is on: those responses have no SQHD.
  std::uint64_t without_sqhd = 0;
  /// Reads and Identifies answered with Success although not all their data came.
  std::uint64_t without_data = 0;
};

class Queue final : private transport::HostChannelHandler {
 public:
  Queue(World& world, transport::HostFabric& fabric, QueueHandler& handler, const QueueOptions& options);
  /// Pending commands are completed as not answered. Not to be destroyed from inside a callback.
  ~Queue();

  /// on_queue_connected() or on_queue_end() follows.
  void open(const Endpoint& to);
  /// Orderly disconnect; commands are completed as not answered when the channel has ended, and
  /// on_queue_end() follows. Safe in any state.
  void close();

  /// False when the queue is not connected (nothing happens then).
  bool submit(Command& command);
  /// Both, adjacent and in order; sets FUSE. False too where the queue never has room for both.
  bool submit_fused(Command& first, Command& second);
  /// Takes a command that was not sent yet out of the queue; false when it was sent.
  bool withdraw(Command& command);

  /// A controller reset has made an end of every command that was sent: they complete as not
  /// answered once their memory is back, and late responses to them are nobody's. The queue stays
  /// connected.
  void abandon_sent();

  /// What its channel waits for while it is being opened.
  std::string_view channel_awaits() const { return channel_ ? channel_->awaits() : std::string_view(); }
  std::uint16_t qid() const { return options_.qid; }
  std::uint16_t entries() const { return options_.entries; }
  bool connected() const { return state_ == State::connected; }
  bool ended() const { return state_ == State::ended; }
  bool flow_control() const { return flow_control_; }
  std::uint32_t outstanding() const { return outstanding_; }
  /// Sent and waiting together.
  std::uint32_t load() const { return outstanding_ + waiting_count_; }
  const QueueCounters& counters() const { return counters_; }
  /// "no response to Identify for 10 s", of the oldest command that waits for one; event requests do not count. Empty: none does.
  std::string awaited() const;
  const transport::ChannelEnd& end() const { return end_; }

 private:
  enum class State : std::uint8_t { idle, connecting, connected, closing, ended };
  struct Slot {
    Command* command = nullptr;
    std::uint16_t cid = 0;
    std::uint16_t generation = 0;
    bool answered = false;
    bool abandoned = false;
    nvme::Cqe cqe;
  };
  /// What this host does wrong on purpose; read once, so that the fast path tests one flag.
  struct Departures {
    bool any = false;
    bool overfills = false;
    bool overfills_without_flow_control = false;
    bool uses_sqhd_always = false;
    bool assumes_no_flow_control = false;
    bool reuses_cid = false;
    bool accepts_any_cid = false;
    bool loss_is_success = false;
  };

  void on_connected(const transport::ChannelFacts& facts) override;
  void on_response(ByteView cqe, const transport::ResponseFacts& facts) override;
  void on_released(std::uint16_t slot) override;
  void on_end(const transport::ChannelEnd& end) override;

  void read_departures();
  bool asked(std::string_view point) const;
  /// Commands that may still be sent.
  std::uint32_t room(bool urgent) const;
  void enqueue(Command& command);
  void unlink_waiting(Command& command);
  void pump();
  void transmit(Command& command);
  void depart(Command& command);
  std::uint16_t next_cid(Slot& slot, std::uint16_t index) const;
  Slot* slot_of(std::uint16_t cid);
  void take_missing_data(nvme::Cqe& cqe, const Slot& slot);
  void take_sqhd(const nvme::Cqe& cqe, const Slot& slot);
  void do_without_sqhd();
  void finish(Slot& slot);
  void fail_all();
  void fail(Command& command);
  void violation(std::string_view what);
  void arm(Instant deadline);
  void on_deadline();

  World& world_;
  QueueHandler& handler_;
  QueueOptions options_;
  std::unique_ptr<transport::HostChannel> channel_;
  State state_ = State::idle;
  bool established_ = false;  ///< Connect has been answered
  bool flow_control_ = true;
  Departures departures_;

  std::vector<Slot> slots_;
  std::vector<std::uint16_t> free_;  ///< a stack
  unsigned slot_bits_ = 0;
  std::uint32_t outstanding_ = 0;
  std::uint32_t unfetched_ = 0;  ///< sent and, as far as SQHD says, not fetched yet
  std::uint16_t sq_head_ = 0;
  bool sqhd_owed_ = false;  ///< answers came without SQHD since the last one

  Command* first_sent_ = nullptr;  ///< in the order in which they were sent
  Command* last_sent_ = nullptr;
  Command* first_waiting_ = nullptr;
  Command* last_waiting_ = nullptr;
  std::uint32_t waiting_count_ = 0;

  Timer<Queue, &Queue::on_deadline> timer_{"host.queue.deadline", *this};
  Instant armed_ = Instant::never();
  transport::ChannelEnd end_;
  QueueCounters counters_;
};

}  // namespace fb::host
