// One queue: a transport channel, and what NVMe knows about it. Commands come in here, are held here
// while they last, and every completion leaves here.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "model/subsystem/checks.h"
#include "model/subsystem/hooks.h"
#include "model/transport/controller_channel.h"
#include "sim/core/loop.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {

class Authentication;
class Port;
class Queue;

/// A command in progress, as the model passes it around.
struct Command {
  Queue* queue;
  transport::ArrivedCommand* arrived;

  ByteView bytes() const { return arrived->sqe; }
  template <class L>
  View<L> as() const {
    return View<L>{arrived->sqe};
  }
  std::uint8_t opcode() const { return arrived->sqe[0]; }
  std::uint16_t cid() const { return load_le<std::uint16_t>(arrived->sqe.data() + 2); }
  std::uint32_t nsid() const { return load_le<std::uint32_t>(arrived->sqe.data() + 4); }
  MutableBytes data() const { return arrived->data; }
};

/// Why a command has not been completed yet.
enum class Phase : std::uint8_t {
  none,        ///< not a command at this time
  running,     ///< being executed by the caller
  pulling,     ///< its data is on its way
  delayed,     ///< waits for its latency to pass
  fused,       ///< the first half waits for the second
  fused_data,  ///< has its data; the other half does not yet
  event,       ///< an Asynchronous Event Request
  withheld,    ///< executed; a hook holds the completion back
};

class Queue final : public transport::ControllerChannelHandler {
 public:
  Queue(Port& port, std::unique_ptr<transport::ControllerChannel> channel);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  Port& port() { return port_; }
  const Port& port() const { return port_; }
  transport::ControllerChannel& channel() { return *channel_; }
  /// Null before Connect and after the association has ended.
  Controller* controller() const { return controller_; }
  std::uint16_t qid() const { return qid_; }
  bool alive() const { return alive_; }
  /// The channel is a secure one.
  bool secured() const { return channel_->secured(); }
  std::string_view identity() const { return channel_->identity(); }
  /// Null where nobody has to authenticate.
  Authentication* authentication() { return authentication_.get(); }
  void set_authentication(std::unique_ptr<Authentication> authentication);
  bool individually_deletable() const { return individually_deletable_; }
  CommandContext context(const Command& command) const;

  // ---- the association ----

  struct Terms {
    std::uint16_t qid = 0;
    std::uint32_t entries = 32;
    bool flow_control = true;
    bool individually_deletable = false;
  };
  void attach(Controller& controller, const Terms& terms);
  /// The queue carries one Admin command from a management endpoint: no Connect, no host.
  void attach_management(Controller& controller);
  bool out_of_band() const { return out_of_band_; }
  /// The controller lets go of the queue without closing the connection.
  void detach() { controller_ = nullptr; }
  /// Ends the connection; commands are void. The controller is not told.
  void close(std::string_view why);
  /// After Disconnect: nothing is executed any more; the host ends the connection, or a timer does.
  void retire();

  // ---- answering ----

  /// A check failed. True: the command has been answered; false: go on as if it had passed.
  bool refuse(const Command& command, const Check& check) { return refuse(command, check, check.status); }
  bool refuse(const Command& command, const Check& check, nvme::Status status);
  /// Makes room for the command's data. False: the command has been answered.
  bool stage(const Command& command, std::size_t bytes);
  /// Fetches the data; Controller::on_data() or on_connect_data() follows, maybe at once.
  void pull(const Command& command);
  void complete(const Command& command, nvme::Status status, std::uint64_t dwords = 0);
  /// Sends these bytes, which nobody ever changes, without staging; then success.
  void complete_with_constant(const Command& command, ByteView data);
  /// Sends the first `bytes` of the staged data, then success.
  void complete_with_data(const Command& command, std::size_t bytes, std::uint64_t dwords = 0, nvme::Status status = nvme::sc::success);
  /// A Connect response: its own SQHD rule, no error log entry.
  void complete_connect(const Command& command, nvme::Status status, std::uint32_t dw0);
  /// Gives the command back without an answer.
  void discard(const Command& command);

  // ---- commands that last ----

  void hold(const Command& command, Phase phase);
  Phase phase(const Command& command) const { return slots_[command.arrived->index].phase; }
  /// The oldest command in this phase, or an empty one; and the newest.
  transport::ArrivedCommand* oldest(Phase phase) const;
  transport::ArrivedCommand* newest(Phase phase) const;
  unsigned count(Phase phase) const;
  /// The held command with this identifier, or nullptr.
  transport::ArrivedCommand* find(std::uint16_t cid) const;
  /// Commands for a namespace that are held, oldest first; and whether one is held still.
  std::vector<transport::ArrivedCommand*> held_of(std::uint32_t nsid) const;
  bool holds(const transport::ArrivedCommand* arrived) const;
  /// Executes `command` after `delay`; of those that are due together, the oldest first.
  void delay(const Command& command, Duration delay);
  /// All held commands are given back without an answer.
  void discard_all();
  /// All held commands are completed with `status`.
  void abort_all(nvme::Status status, const Command* except);

  /// The fused first half that waits for its second, at most one.
  transport::ArrivedCommand* fused_first = nullptr;
  /// From now on they are one operation.
  void fuse(const Command& first, const Command& second);
  /// Whether the command is half of one, even when the other half is gone.
  bool fused(const Command& command) const { return slots_[command.arrived->index].half != Half::none; }
  bool is_first_half(const Command& command) const { return slots_[command.arrived->index].half == Half::first; }
  /// The other half; nullptr when it is gone.
  transport::ArrivedCommand* partner(const Command& command) const { return slots_[command.arrived->index].partner; }

  std::uint32_t entries() const { return entries_; }
  std::uint64_t commands_fetched() const { return fetched_; }

  // ControllerChannelHandler
  void on_command(transport::ArrivedCommand& command) override;
  void on_pulled(transport::ArrivedCommand& command) override;
  void fail_damaged(const Command& command);
  void on_end(std::string_view why) override;

 private:
  enum class Half : std::uint8_t { none, first, second };
  struct Slot {
    transport::ArrivedCommand* command = nullptr;
    Phase phase = Phase::none;
    std::uint16_t previous = kNoSlot;
    std::uint16_t next = kNoSlot;
    Instant due;
    transport::ArrivedCommand* partner = nullptr;  ///< the other half of a fused operation
    Half half = Half::none;
    bool own = false;  ///< the hooks execute it
  };
  static constexpr std::uint16_t kNoSlot = 0xFFFF;

  Command command_of(transport::ArrivedCommand* arrived) { return {this, arrived}; }
  /// The delayed command that is due first; null without any.
  Slot* first_due();
  void link(transport::ArrivedCommand& arrived);
  void unlink(std::uint16_t index);
  bool overfilled() const;
  void overfill();
  /// The outstanding command that has the same identifier, or null.
  const transport::ArrivedCommand* same_cid(const Command& command) const;
  void dispatch(const Command& command);
  // Commands that the product's hooks execute.
  bool begin_own(const Command& command);
  void execute_own(const Command& command);
  std::uint16_t head() const;
  void emit(const Command& command, nvme::Status status, std::uint64_t dwords, std::uint16_t sqhd);
  void void_commands();
  void on_delay();
  void on_idle();
  bool departs(std::string_view point) const { return hooked_ && hooks_.departs(point); }

  Port& port_;
  std::unique_ptr<transport::ControllerChannel> channel_;
  SubsystemHooks& hooks_;
  const bool hooked_;  ///< somebody listens: asking nobody a dozen times a command has its price
  Controller* controller_ = nullptr;
  std::unique_ptr<Authentication> authentication_;
  std::uint16_t qid_ = 0;
  std::uint32_t entries_;
  bool flow_control_ = true;
  bool individually_deletable_ = false;
  bool alive_ = true;
  bool retired_ = false;
  bool out_of_band_ = false;
  std::uint64_t fetched_ = 0;   ///< commands taken out of the submission queue
  std::uint64_t reported_ = 0;  ///< the same when SQHD was last told to the host
  std::uint32_t outstanding_ = 0;
  std::vector<Slot> slots_;  ///< by ArrivedCommand::index
  std::uint16_t first_ = kNoSlot;
  std::uint16_t last_ = kNoSlot;
  Timer<Queue, &Queue::on_delay> delay_timer_{"subsystem.io.latency", *this};
  /// Runs before Connect, and after Disconnect.
  Timer<Queue, &Queue::on_idle> idle_timer_{"subsystem.queue.idle", *this};
};

}  // namespace fb::subsystem
