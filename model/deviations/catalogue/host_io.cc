// Hosts that are careless with their connections.
#include "model/deviations/deviation.h"

namespace fb::deviations {

#define HOST(name, requirement, what, point) \
  DEVIATION(name, requirement, Product::host, what, Departs{point})

HOST(host_keyed_length_wrong, "fabrics.host.keyed-length",
     "the descriptor is longer than the data", "rdma.host.sgl.keyed_length");
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

#undef HOST

}  // namespace fb::deviations
