// Hosts that choose the wrong path, repeat what they should not, or do not listen.
#include "base/bytes.h"
#include "model/deviations/deviation.h"
#include "wire/nvme/cqe.h"

namespace fb::deviations {

namespace {

/// Does not read the ANA log after a notice.
class IgnoresAnaNotices final : public host::HostHooks {
 public:
  void capsule_in(std::uint16_t qid, ByteView capsule) override {
    // Of other responses the third byte means something else, but then nobody asks.
    if (qid == 0 && capsule.size() >= nvme::CqeLayout::size) named_ = capsule[2];
  }
  bool departs(std::string_view point) override { return point == "host.event.log.unread" && named_ == 0x0C; }

 private:
  std::uint8_t named_ = 0;
};

/// Aborts name another command than the one without an answer.
class AbortsAnother final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes) override {
    if (qid == 0 && sqe[0] == 0x08) sqe[42] ^= 0x11;
  }
};

}  // namespace

#define HOST(name, requirement, what, point) DEVIATION(name, requirement, Product::host, what, Departs{point})

HOST(host_takes_any_path, "nvme.host.ana.optimized", "a non-optimized path is as good as another", "host.ana.state.ignored");
HOST(host_learns_no_ana_states, "nvme.host.ana.initial", "the ANA log of a new path has no consequence", "host.ana.state.ignored");
HOST(host_uses_inaccessible_paths, "nvme.host.ana.inaccessible", "commands go to an inaccessible path", "host.ana.state.ignored");
HOST(host_uses_lost_paths, "nvme.host.ana.persistent-loss", "commands go to a path that is lost for good", "host.ana.state.ignored");
HOST(host_uses_changing_paths, "nvme.host.ana.change-path", "commands go to a path while it changes", "host.ana.state.ignored");
HOST(host_does_not_wait_for_ana, "nvme.host.ana.change-wait", "a command is repeated without delay, and given up, while its paths change",
     "host.ana.state.ignored");
HOST(host_gives_up_inaccessible_paths, "nvme.host.ana.all-inaccessible",
     "a command is repeated without delay, and given up, while no path is accessible", "host.ana.state.ignored");
DEVIATION(host_never_returns_to_a_path, "nvme.host.ana.failback", Product::host, "a path that was inaccessible once is not used again",
          hooks<IgnoresAnaNotices>());
HOST(host_hears_of_one_ana_change, "nvme.host.ana.failback", "the ANA log is read with RAE = 1", "host.event.log.rae");
HOST(host_reports_ana_statuses, "nvme.host.path-error.ana", "an ANA status is reported though there is another path",
     "host.path_error.reported");
HOST(host_reports_path_errors, "nvme.host.path-error.internal", "a path error is reported though there is another path",
     "host.path_error.reported");
HOST(host_takes_path_errors_for_success, "nvme.host.path-error.internal", "a path error is reported as success", "host.status.ignored");
HOST(host_repeats_path_errors_with_dnr, "nvme.host.path-error.dnr", "a command that met a path error is repeated although DNR is set",
     "host.retry.dnr.ignored");
HOST(host_reports_lost_writes_as_done, "nvme.host.path-loss.data", "writes under way are reported as done when their path is lost",
     "host.queue.loss.success");
HOST(host_fails_over_too_early, "nvme.host.path-loss.quiesce", "writes go to another controller before the old one has stopped",
     "host.failover.early");
HOST(host_ignores_retry_delays, "nvme.host.retry.delay", "the delay that CRD names is not kept", "host.retry.crd.ignored");
HOST(host_repeats_after_a_timeout, "nvme.host.timeout.once", "a command without an answer is sent again while the first still runs",
     "host.timeout.resubmitted");
DEVIATION(host_aborts_another_command, "nvme.host.abort.names", Product::host, "Abort names another command than the one without an answer",
          hooks<AbortsAnother>());
HOST(host_sends_too_many_aborts, "nvme.host.abort.limit", "more Aborts outstanding than ACL allows", "host.abort.limit.ignored");
HOST(host_takes_transient_errors_for_success, "nvme.host.retry.transient", "a transient transport error is reported as success",
     "host.status.ignored");
HOST(host_finds_no_new_namespaces, "nvme.host.namespaces.appear", "namespaces are not read again after a notice",
     "host.event.rescan.omitted");
HOST(host_keeps_namespaces_that_are_gone, "nvme.host.namespaces.gone", "a namespace that is gone is still addressed",
     "host.event.rescan.omitted");
HOST(host_keeps_the_size_of_namespaces, "nvme.host.namespaces.size", "a namespace that changed is not asked about",
     "host.event.rescan.omitted");
HOST(host_asks_for_too_many_events, "nvme.host.aer.limit", "more Asynchronous Event Requests than AERL allows", "host.aer.too_many");
HOST(host_enables_events_that_are_not_claimed, "nvme.host.aer.claimed", "events are enabled that OAES does not claim",
     "host.aer.config.unsupported");

#undef HOST

}  // namespace fb::deviations
