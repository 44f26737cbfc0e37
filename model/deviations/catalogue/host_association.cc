// Hosts that say the wrong thing while they make an association.
#include "model/deviations/deviation.h"

namespace fb::deviations {

#define HOST(name, requirement, what, point) DEVIATION(name, requirement, Product::host, what, Departs{point})

HOST(host_request_qid_wrong, "fabrics.host.request.private-data", "the connection request names another queue than Connect",
     "rdma.host.request.qid");
HOST(host_request_recfmt_wrong, "fabrics.host.request.private-data", "private data of an unknown record format",
     "rdma.host.request.recfmt");
HOST(host_connect_one_entry, "fabrics.host.connect.capsule", "Connect asks for a queue of one entry", "host.connect.sqsize.zero");
HOST(host_connect_nqn_unterminated, "fabrics.host.connect.capsule", "the names in Connect have no terminator",
     "host.connect.nqn.unterminated");
HOST(host_connect_property_first, "fabrics.host.connect.capsule", "a property is read before Connect", "host.connect.property_first");
HOST(host_io_connect_other_hostid, "fabrics.host.connect.io-identity", "an I/O queue connects with another host identifier",
     "host.io_connect.hostid");
HOST(host_io_connect_other_hostnqn, "fabrics.host.connect.io-identity", "an I/O queue connects under another name",
     "host.io_connect.hostnqn");
HOST(host_io_connect_any_cntlid, "fabrics.host.connect.io-identity", "an I/O queue connects to any controller", "host.io_connect.cntlid");
HOST(host_io_connect_kato, "fabrics.host.connect.io-kato", "an I/O Connect carries KATO", "host.io_connect.kato");
HOST(host_takes_reserved_cntlid, "fabrics.host.connect.cntlid-reserved", "uses a controller with a reserved identifier",
     "host.connect.cntlid.reserved");
HOST(host_takes_other_cntlid, "fabrics.host.connect.cntlid-mismatch", "does not compare the controller identifiers",
     "host.connect.cntlid.mismatch");
HOST(host_repeats_refused_connect, "fabrics.host.connect.no-blind-retry", "repeats a refused Connect for ever",
     "host.connect.refused.retried");
HOST(host_hammers_busy_controller, "fabrics.host.connect.busy-retry", "repeats Connect without delay", "host.connect.busy.hammered");
HOST(host_ignores_authreq, "fabrics.host.connect.auth-required", "goes on without authentication", "host.connect.authreq.ignored");
HOST(host_repeats_rejected_request, "fabrics.host.request.reject-reported", "repeats a rejected connection request for ever",
     "host.connect.reject.retried");
HOST(host_identifies_before_enable, "fabrics.host.init.order", "sends Identify before the controller is enabled",
     "host.identify.before_enable");
HOST(host_cc_iosqes, "fabrics.host.init.cc", "CC.IOSQES is not 6", "host.enable.iosqes");
HOST(host_cc_iocqes, "fabrics.host.init.cc", "CC.IOCQES is not 4", "host.enable.iocqes");
HOST(host_waits_for_ever, "fabrics.host.init.ready-timeout", "polls CSTS.RDY far beyond CAP.TO", "host.ready.forever");
HOST(host_io_before_ready, "fabrics.host.init.io-after-ready", "connects I/O queues before the controller is ready",
     "host.io_connect.before_ready");
HOST(host_number_of_queues_unasked, "fabrics.host.init.number-of-queues", "does not ask for the number of queues",
     "host.queues.number.unasked");
HOST(host_number_of_queues_ignored, "fabrics.host.init.number-of-queues", "connects more queues than were granted",
     "host.queues.number.ignored");
HOST(host_queue_above_mqes, "fabrics.host.init.queue-size", "asks for more entries than CAP.MQES allows",
     "host.io_connect.sqsize.above_mqes");
HOST(host_leaves_without_shutdown, "fabrics.host.shutdown", "leaves without a shutdown", "host.shutdown.omitted");

namespace {
// Asks for controller 1 although nobody named it.
class NamesAController final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes data) override {
    if (qid == 0 && sqe[0] == 0x7F && sqe[4] == 0x01 && data.size() >= 18) {
      store_le<std::uint16_t>(data.data() + 16, 1);
    }
  }
};
}  // namespace
DEVIATION(host_names_a_dynamic_controller, "fabrics.host.connect.dynamic-cntlid", Product::host, "asks for a controller by its identifier",
          hooks<NamesAController>());

#undef HOST

}  // namespace fb::deviations
