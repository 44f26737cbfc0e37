// Connect, beyond connect.cc: what careless controllers let through, and what they get wrong in the
// answer.
#include "model/deviations/catalogue/tolerance.h"
#include "wire/fabrics/connect.h"

namespace fb::deviations {

namespace sc = nvme::sc;

namespace {

struct SqsizeZeroOnIoQueue final : ToleratesOnQueue {
  SqsizeZeroOnIoQueue() : ToleratesOnQueue("connect.sqsize.minimum", false) {}
};
struct UnknownSubnqnOnAdminQueue final : ToleratesOnQueue {
  UnknownSubnqnOnAdminQueue() : ToleratesOnQueue("connect.subnqn.known", true) {}
};
struct UnterminatedSubnqn final : ToleratesChain {
  UnterminatedSubnqn() : ToleratesChain({"connect.subnqn.terminated", "connect.subnqn.syntax", "connect.subnqn.known"}) {}
};
struct UnterminatedHostnqn final : ToleratesChain {
  UnterminatedHostnqn() : ToleratesChain({"connect.hostnqn.terminated", "connect.hostnqn.syntax"}) {}
};
struct ReservedCntlid final : ToleratesChain {
  ReservedCntlid() : ToleratesChain({"connect.cntlid.reserved", "connect.cntlid.dynamic"}) {}
};
struct QidBeyondLimit final : ToleratesChain {
  QidBeyondLimit() : ToleratesChain({"connect.qid.transport", "connect.io.qid.range", "connect.io.qid.granted"}) {}
  bool refuses(const CommandContext& command, Refusal& refusal) override {
    // Over TCP nothing is said of the queue before Connect: the range is the first to find it.
    if (refusal.check == "connect.io.qid.range") arm();
    return ToleratesChain::refuses(command, refusal);
  }
};

/// A queue above CAP.MQES is taken by the transport and by Connect.
struct QueueAboveMqes final : ToleratesChain {
  QueueAboveMqes() : ToleratesChain({"connect.sqsize.io"}) {}
  bool departs(std::string_view point) override { return point == "rdma.reject.hsqsize_maximum"; }
};

/// An I/O Connect with another SUBNQN counts for the subsystem of the controller.
class OtherSubnqnOnIoQueue final : public SubsystemHooks {
 public:
  bool refuses(const CommandContext& command, Refusal& refusal) override {
    if (refusal.check != "connect.subnqn.known" || command.qid == 0) return true;
    refusal.status = sc::success;
    return true;
  }
};

/// The fault is named in the wrong place.
class PointsAtQid final : public SubsystemHooks {
 public:
  bool refuses(const CommandContext& command, Refusal& refusal) override {
    if (refusal.check == "connect.sqsize.minimum" && command.qid == 0) {
      refusal.parameter_offset = fabrics::connect_sqe::qid.offset;
    }
    return true;
  }
};

/// As large as CAP.MQES says is one too many.
class LargestQueueRefused final : public SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (!is_connect(command) || command.qid == 0) return std::nullopt;
    const View<fabrics::ConnectSqe> sqe{command.sqe};
    if (sqe.get(fabrics::connect_sqe::sqsize).count() < 128) return std::nullopt;
    return sc::connect_invalid_parameters;
  }
};

/// Once an admin connection was lost, nobody gets in any more.
class NoWayBack final : public SubsystemHooks {
 public:
  bool departs(std::string_view point) override {
    if (point == "sub.association.admin_loss") lost_ = true;
    return false;
  }
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (lost_ && is_connect(command)) return sc::controller_busy;
    return std::nullopt;
  }

 private:
  bool lost_ = false;
};

}  // namespace

DEVIATION(connect_not_first, "fabrics.connect.first", Product::controller, "executes commands before Connect",
          Tolerate{"command.before_connect"});
DEVIATION(connect_takes_any_recfmt, "fabrics.connect.recfmt", Product::controller, "ignores the record format of Connect",
          Tolerate{"connect.recfmt"});
DEVIATION(connect_points_at_qid, "fabrics.connect.sqsize.minimum", Product::controller, "names QID where SQSIZE is wrong",
          hooks<PointsAtQid>());
DEVIATION(connect_takes_io_sqsize_zero, "fabrics.connect.sqsize.minimum-io", Product::controller, "accepts an I/O queue of one entry",
          hooks<SqsizeZeroOnIoQueue>());
DEVIATION(connect_takes_queue_above_mqes, "fabrics.connect.sqsize.above-mqes", Product::controller,
          "accepts an I/O queue larger than CAP.MQES allows", hooks<QueueAboveMqes>());
DEVIATION(connect_refuses_largest_queue, "fabrics.connect.sqsize.mqes", Product::controller,
          "refuses an I/O queue as large as CAP.MQES allows", hooks<LargestQueueRefused>());
DEVIATION(connect_takes_unknown_subnqn, "fabrics.connect.subnqn.unknown", Product::controller,
          "connects a host that asked for another subsystem", hooks<UnknownSubnqnOnAdminQueue>());
DEVIATION(connect_takes_unterminated_subnqn, "fabrics.connect.subnqn.unterminated", Product::controller,
          "accepts a SUBNQN without a terminator", hooks<UnterminatedSubnqn>());
DEVIATION(connect_takes_unterminated_hostnqn, "fabrics.connect.hostnqn.unterminated", Product::controller,
          "accepts a HOSTNQN without a terminator", hooks<UnterminatedHostnqn>());
DEVIATION(connect_refuses_the_longest_hostnqn, "fabrics.connect.hostnqn.longest", Product::controller,
          "refuses a host whose name has 223 bytes", Departs{"sub.connect.name.short"});
DEVIATION(connect_takes_empty_hostnqn, "fabrics.connect.hostnqn.empty", Product::controller, "accepts a host without a name",
          Tolerate{"connect.hostnqn.syntax"});
DEVIATION(connect_takes_any_host, "fabrics.connect.host-not-allowed", Product::controller, "ignores the list of hosts that may connect",
          Tolerate{"connect.host.allowed"});
DEVIATION(connect_takes_chosen_cntlid, "fabrics.connect.cntlid.dynamic", Product::controller,
          "lets the host name a controller in the dynamic model", Tolerate{"connect.cntlid.dynamic"});
DEVIATION(connect_takes_reserved_cntlid, "fabrics.connect.cntlid.reserved", Product::controller, "accepts a reserved controller identifier",
          hooks<ReservedCntlid>());
DEVIATION(connect_gives_any_static_controller, "fabrics.connect.cntlid.static-any", Product::controller,
          "chooses a controller in the static model", Tolerate{"connect.cntlid.static"});
DEVIATION(connect_steals_controller, "fabrics.connect.cntlid.static-busy", Product::controller, "takes a static controller from its host",
          Tolerate{"connect.controller.free"});
DEVIATION(connect_makes_up_static_controllers, "fabrics.connect.cntlid.static-unknown", Product::controller,
          "gives some controller where the one asked for is not there", Tolerate{"connect.cntlid.exists"});
DEVIATION(connect_runs_out_of_controllers, "fabrics.connect.cntlid.left", Product::controller,
          "gives a controller that is taken where none is left", Tolerate{"connect.controller.left"});
DEVIATION(connect_gives_reserved_cntlid, "fabrics.connect.cntlid.allocated", Product::controller,
          "allocates a reserved controller identifier", Departs{"sub.cntlid.reserved"});
DEVIATION(identify_names_other_cntlid, "fabrics.connect.cntlid.allocated", Product::controller,
          "reports another controller identifier in Identify", Departs{"sub.cntlid.identify"});
DEVIATION(connect_gives_one_cntlid_twice, "fabrics.connect.cntlid.unique", Product::controller,
          "gives every association the same controller identifier", Departs{"sub.cntlid.reused"});
DEVIATION(connect_sets_reserved_authreq, "fabrics.connect.authreq", Product::controller, "sets reserved bits of AUTHREQ",
          Departs{"sub.connect.authreq"});
DEVIATION(connect_takes_qid_beyond_limit, "fabrics.connect.qid.above-limit", Product::controller,
          "connects a queue beyond the number of queues", hooks<QidBeyondLimit>());
DEVIATION(connect_takes_qid_in_use, "fabrics.connect.qid.duplicate", Product::controller, "connects a second queue of the same identifier",
          Tolerate{"connect.io.qid.exists"});
DEVIATION(connect_takes_second_connect, "fabrics.connect.twice-on-one-queue", Product::controller, "accepts a second Connect on a queue",
          Tolerate{"connect.queue.connected"});
DEVIATION(connect_takes_io_queue_before_enable, "fabrics.connect.io-before-enable", Product::controller,
          "connects I/O queues of a disabled controller", Tolerate{"connect.io.ready"});
DEVIATION(connect_ignores_io_hostnqn, "fabrics.connect.io-other-hostnqn", Product::controller,
          "does not compare the HOSTNQN of an I/O Connect", Tolerate{"connect.io.hostnqn"});
DEVIATION(connect_ignores_io_subnqn, "fabrics.connect.io-other-subnqn", Product::controller,
          "does not compare the SUBNQN of an I/O Connect", hooks<OtherSubnqnOnIoQueue>());
DEVIATION(connect_io_without_association, "fabrics.connect.io-ended-association", Product::controller,
          "connects an I/O queue to a controller that nobody uses any more", Tolerate{"connect.io.cntlid"});
DEVIATION(connect_ignores_io_cntlid, "fabrics.connect.io-other-cntlid", Product::controller,
          "connects an I/O queue to some controller or other", Tolerate{"connect.io.cntlid"});
DEVIATION(connect_ignores_io_hostid, "fabrics.connect.io-other-hostid", Product::controller,
          "does not compare the HOSTID of an I/O Connect", Tolerate{"connect.io.hostid"});
DEVIATION(connect_fails_with_invalid_field, "fabrics.connect.no-invalid-field", Product::controller,
          "answers a KATO that is too large with Invalid Field in Command", AnswerWith{"connect.kato.maximum", sc::invalid_field});
DEVIATION(connect_failure_is_logged, "fabrics.connect.no-error-log", Product::controller,
          "makes an error log entry for a Connect that failed", Departs{"sub.connect.error_log"});
DEVIATION(connect_never_again, "fabrics.association.reconnect", Product::controller, "is busy for ever once a host has left",
          hooks<NoWayBack>());

}  // namespace fb::deviations
