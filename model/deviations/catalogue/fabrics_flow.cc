// SQ flow control, Disconnect, lost queues, and the keep alive timer.
#include "model/deviations/catalogue/tolerance.h"

namespace fb::deviations {

namespace {

/// A host whose keep alive timeout expired is never let in again.
class NoWayBackAfterExpiry final : public SubsystemHooks {
 public:
  bool departs(std::string_view point) override {
    if (point == "sub.kato.connections") expired_ = true;
    return false;
  }
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (expired_ && is_connect(command)) return nvme::sc::controller_busy;
    return std::nullopt;
  }

 private:
  bool expired_ = false;
};

}  // namespace

DEVIATION(sqhd_never_moves, "fabrics.flow-control.on", Product::controller, "answers every command with the same SQHD",
          Departs{"sub.sqhd.constant"});
DEVIATION(sqhd_claims_no_flow_control, "fabrics.flow-control.on", Product::controller, "says SQHD FFFFh to a host that wants flow control",
          Departs{"sub.connect.sqhd"});
DEVIATION(sqhd_without_flow_control, "fabrics.flow-control.off", Product::controller, "fills in SQHD where flow control is off",
          Departs{"sub.sqhd.disabled"});
DEVIATION(queue_takes_too_many_commands, "fabrics.flow-control.overfill", Product::controller,
          "executes more commands than the queue holds", Departs{"sub.sq.overfill"});
DEVIATION(disconnect_takes_admin_queue, "fabrics.disconnect.admin-queue", Product::controller, "disconnects the admin queue",
          Tolerate{"disconnect.admin_queue"});
DEVIATION(disconnect_unclaimed_is_carried_out, "fabrics.disconnect.unsupported", Product::controller,
          "carries out Disconnect without claiming it", Tolerate{"disconnect.supported"});
DEVIATION(disconnect_takes_any_recfmt, "fabrics.disconnect.recfmt", Product::controller, "ignores the record format of Disconnect",
          Tolerate{"disconnect.recfmt"});
DEVIATION(disconnect_leaves_queue, "fabrics.disconnect.last-response", Product::controller, "goes on serving a disconnected queue",
          Departs{"sub.disconnect.stays"});
DEVIATION(disconnect_ends_association, "fabrics.disconnect.last-response", Product::controller,
          "ends the association at the Disconnect of one queue", Departs{"sub.disconnect.all"});
DEVIATION(disconnect_without_answer, "fabrics.disconnect.last-response", Product::controller, "does not answer Disconnect",
          Departs{"sub.disconnect.silent"});
DEVIATION(association_outlives_io_queue, "fabrics.association.io-queue-lost", Product::controller,
          "keeps the association when an I/O queue is lost", Departs{"sub.association.io_loss"});

DEVIATION(keep_alive_never_expires, "fabrics.keep-alive.expires", Product::controller, "never ends a silent association",
          Departs{"sub.kato.never"});
DEVIATION(keep_alive_expires_early, "fabrics.keep-alive.expires", Product::controller, "ends a silent association after half the timeout",
          Departs{"sub.kato.early"});
DEVIATION(keep_alive_leaves_connections, "fabrics.keep-alive.expires", Product::controller, "leaves the connections open after the timeout",
          Departs{"sub.kato.connections"});
DEVIATION(keep_alive_is_ineffective, "fabrics.keep-alive.keeps", Product::controller, "answers Keep Alive without restarting the timer",
          Departs{"sub.keep_alive.ineffective"});
DEVIATION(keep_alive_takes_zero, "fabrics.keep-alive.zero", Product::controller, "lets the keep alive timer be switched off",
          Tolerate{"feature.kato.zero"});
DEVIATION(keep_alive_is_not_rounded, "fabrics.keep-alive.rounding", Product::controller, "keeps the timeout as it was asked for",
          Departs{"sub.kato.not_rounded"});
DEVIATION(keep_alive_locks_out, "fabrics.keep-alive.reconnect-after", Product::controller,
          "is busy for ever once a keep alive timeout expired", hooks<NoWayBackAfterExpiry>());
DEVIATION(keep_alive_expiry_not_logged, "fabrics.keep-alive.error-log", Product::controller,
          "makes no error log entry for a keep alive expiry", Departs{"sub.kato.no_log"});

}  // namespace fb::deviations
