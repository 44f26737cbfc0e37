// Hosts that are careless with their connections.
#include <algorithm>

#include "model/deviations/deviation.h"

namespace fb::deviations {

namespace {
/// Departs at a point of the transport for the commands of I/O queues alone.
class DescribesHalf final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes, MutableBytes) override { qid_ = qid; }
  bool departs(std::string_view point) override { return qid_ != 0 && point == "rdma.host.sgl.keyed_length"; }

 private:
  std::uint16_t qid_ = 0;
};

/// The upper half of an SLBA is lost.
class CutsAddresses final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes) override {
    if (qid != 0 && (sqe[0] == 0x01 || sqe[0] == 0x02)) store_le<std::uint32_t>(sqe.data() + 44, 0);
  }
};

/// Data of a write behind the first 64 KiB are other ones.
class SpoilsLongWrites final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes data) override {
    if (qid != 0 && sqe[0] == 0x01 && data.size() > 65536) data.back() ^= 1;
  }
};

/// Of a discovery log no more than the header and 30 records are asked for.
class ReadsFirstRecords final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes) override {
    if (qid != 0 || sqe[0] != 0x02 || sqe[40] != 0x70) return;
    constexpr std::uint32_t kBytes = 31 * 1024;
    const std::uint32_t dwords = load_le<std::uint32_t>(sqe.data() + 42);
    const std::uint64_t offset = load_le<std::uint64_t>(sqe.data() + 48);
    if (offset + (dwords + 1) * std::uint64_t{4} <= kBytes) return;
    store_le<std::uint64_t>(sqe.data() + 48, std::min<std::uint64_t>(offset, kBytes - 1024));
    store_le<std::uint16_t>(sqe.data() + 42, 1024 / 4 - 1);
    store_le<std::uint16_t>(sqe.data() + 44, 0);
  }
};

}  // namespace

#define HOST(name, requirement, what, point) DEVIATION(name, requirement, Product::host, what, Departs{point})

DEVIATION(host_keyed_length_wrong, "fabrics.host.keyed-length", Product::host, "the descriptor of an I/O command is shorter than its data",
          hooks<DescribesHalf>());
HOST(host_capsule_oversized, "fabrics.host.capsule-size", "in-capsule data beyond IOCCSZ", "host.capsule.oversized");
HOST(host_overfills_its_queue, "fabrics.host.flow-control.bound", "as many commands outstanding as the queue has entries",
     "host.queue.overfilled");
DEVIATION(host_cuts_addresses, "nvme.host.data.everywhere", Product::host, "sends the lower half of an SLBA", hooks<CutsAddresses>());
DEVIATION(host_spoils_long_writes, "nvme.host.data.everywhere", Product::host, "writes other data behind 64 KiB",
          hooks<SpoilsLongWrites>());
HOST(host_takes_errors_for_success, "nvme.host.status.every", "an error status is reported as success", "host.status.ignored");
DEVIATION(host_reads_first_records, "fabrics.host.discovery.every-record", Product::host, "reads the first records of a discovery log",
          hooks<ReadsFirstRecords>());
HOST(host_waits_half_a_second, "fabrics.host.init.ready-time", "gives a controller half a second to become ready", "host.ready.impatient");
HOST(host_omits_keep_alive, "fabrics.host.keep-alive.sent", "no Keep Alive is ever sent", "host.keep_alive.omitted");
HOST(host_keep_alive_late, "fabrics.host.keep-alive.sent", "Keep Alive is sent after one and a half times KATO", "host.keep_alive.late");
HOST(host_loss_is_success, "fabrics.host.io-connection-lost", "commands are reported as done when the connection is lost",
     "host.queue.loss.success");
HOST(host_circles_in_referrals, "fabrics.host.discovery.referral-loop", "referrals are followed in a circle",
     "host.discovery.referral.loop");
HOST(host_ignores_genctr, "fabrics.host.discovery.genctr", "a log that changed while it was read is used", "host.discovery.genctr.ignored");
HOST(host_uses_any_trsvcid, "fabrics.host.discovery.trsvcid", "an entry whose service id is no decimal number is used",
     "host.discovery.trsvcid.any");
HOST(host_uses_entries_of_any_transport, "fabrics.host.discovery.trtype", "an entry of another transport is used",
     "host.discovery.trtype.any");
HOST(host_listens_once, "fabrics.host.events.after-reset", "no Asynchronous Event Requests after a Controller Reset or a loss",
     "host.aer.first_only");
HOST(host_uses_one_mdts, "fabrics.host.paths.limits", "MDTS of one path is used for all", "host.paths.one_mdts");
HOST(host_takes_longer_responses, "fabrics.host.response.length", "a response capsule of more than 16 bytes is taken for a completion",
     "rdma.host.response.length");
HOST(host_never_reconnects, "fabrics.host.reconnect", "a lost association is neither made again nor reported", "host.reconnect.omitted");
HOST(host_ignores_silent_keep_alive, "fabrics.host.keep-alive.lost", "a Keep Alive without an answer has no consequence",
     "host.keep_alive.unwatched");
HOST(host_ignores_bogus_invalidation, "fabrics.host.invalidate.bogus", "the invalidation of another command's key has no consequence",
     "rdma.host.invalidate.ignore_bogus");
HOST(host_leaves_keys_valid, "fabrics.host.invalidate.ignored", "memory of a finished command stays open to the controller",
     "rdma.host.invalidate.no_local");

#undef HOST

}  // namespace fb::deviations
