// Hosts that are careless with their connections.
#include "model/deviations/deviation.h"

namespace fb::deviations {

namespace {
/// Departs at a point of the transport for the commands of I/O queues alone.
class DescribesHalf final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes, MutableBytes) override { qid_ = qid; }
  bool departs(std::string_view point) override {
    return qid_ != 0 && point == "rdma.host.sgl.keyed_length";
  }

 private:
  std::uint16_t qid_ = 0;
};
}  // namespace

#define HOST(name, requirement, what, point) \
  DEVIATION(name, requirement, Product::host, what, Departs{point})

DEVIATION(host_keyed_length_wrong, "fabrics.host.keyed-length", Product::host,
          "the descriptor of an I/O command is shorter than its data", hooks<DescribesHalf>());
HOST(host_capsule_oversized, "fabrics.host.capsule-size", "in-capsule data beyond IOCCSZ",
     "host.capsule.oversized");
HOST(host_overfills_its_queue, "fabrics.host.flow-control.bound",
     "as many commands outstanding as the queue has entries", "host.queue.overfilled");
HOST(host_omits_keep_alive, "fabrics.host.keep-alive.sent", "no Keep Alive is ever sent",
     "host.keep_alive.omitted");
HOST(host_keep_alive_late, "fabrics.host.keep-alive.sent",
     "Keep Alive is sent after one and a half times KATO", "host.keep_alive.late");
HOST(host_loss_is_success, "fabrics.host.io-connection-lost",
     "commands are reported as done when the connection is lost", "host.queue.loss.success");
HOST(host_circles_in_referrals, "fabrics.host.discovery.referral-loop",
     "referrals are followed in a circle", "host.discovery.referral.loop");
HOST(host_ignores_genctr, "fabrics.host.discovery.genctr",
     "a log that changed while it was read is used", "host.discovery.genctr.ignored");
HOST(host_uses_any_trsvcid, "fabrics.host.discovery.trsvcid",
     "an entry whose service id is no decimal number is used", "host.discovery.trsvcid.any");
HOST(host_never_reconnects, "fabrics.host.reconnect",
     "a lost association is neither made again nor reported", "host.reconnect.omitted");
HOST(host_ignores_silent_keep_alive, "fabrics.host.keep-alive.lost",
     "a Keep Alive without an answer has no consequence", "host.keep_alive.unwatched");
HOST(host_ignores_bogus_invalidation, "fabrics.host.invalidate.bogus",
     "the invalidation of another command's key has no consequence",
     "rdma.host.invalidate.ignore_bogus");
HOST(host_leaves_keys_valid, "fabrics.host.invalidate.ignored",
     "memory of a finished command stays open to the controller",
     "rdma.host.invalidate.no_local");

#undef HOST

}  // namespace fb::deviations
