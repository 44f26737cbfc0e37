// Hosts that carry out what their users ask for, but for a detail.
#include <set>

#include "model/deviations/deviation.h"
#include "wire/fabrics/transports.h"
#include "wire/nvme/opcodes.h"

namespace fb::deviations {

namespace {

constexpr std::size_t kNsid = 4, kSlba = 40, kRangeSlba = 8;
constexpr std::uint8_t kFlush = 0x00, kWrite = 0x01, kRead = 0x02, kCompare = 0x05, kDeallocate = 0x09, kCopy = 0x19;
constexpr std::uint8_t kZoneSend = 0x79, kZoneReceive = 0x7A;

bool is_io(std::uint16_t qid, ByteView sqe, std::uint8_t opcode) { return qid != 0 && sqe[0] == opcode; }
void add_one(std::uint8_t* place) { store_le<std::uint64_t>(place, load_le<std::uint64_t>(place) + 1); }

/// The destination of a Copy is one block further on.
class CopiesBehind final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes) override {
    if (is_io(qid, sqe, kCopy)) add_one(&sqe[kSlba]);
  }
};

/// So is the range of a Dataset Management.
class DeallocatesBehind final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes data) override {
    if (is_io(qid, sqe, kDeallocate) && data.size() > kRangeSlba) add_one(&data[kRangeSlba]);
  }
};

/// A Read or a Compare that is sent again is for the blocks behind.
class RepeatsElsewhere final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes) override {
    if (!is_io(qid, sqe, kRead) && !is_io(qid, sqe, kCompare)) return;
    if (!sent_.insert(load_le<std::uint64_t>(&sqe[kSlba])).second) add_one(&sqe[kSlba]);
  }

 private:
  std::set<std::uint64_t> sent_;
};

/// KATO is asked for in a controller's memory alone: Keep Alive is left out if it is longer than ten seconds.
class KeepsShortTimeoutsAlive final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes) override {
    constexpr std::size_t kKato = 48;
    constexpr std::uint32_t kTenSeconds = 10'000;
    const bool connect = sqe[0] == nvme::kFabricsOpcode && sqe[4] == 0x01;
    if (connect && qid == 0) long_ = load_le<std::uint32_t>(&sqe[kKato]) > kTenSeconds;
  }
  bool departs(std::string_view point) override { return long_ && point == "host.keep_alive.late"; }

 private:
  bool long_ = false;
};

/// Records behind the first 64 KiB are those of the beginning.
class ReadsRecordsAgain final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes) override {
    constexpr std::size_t kLpo = 48;
    if (qid == 0 && sqe[0] == 0x02 && sqe[40] == 0x70) store_le<std::uint64_t>(&sqe[kLpo], load_le<std::uint64_t>(&sqe[kLpo]) & 0xFFFF);
  }
};

/// I/O counts as a sign of life, whatever CTRATT says.
class CountsItsIo final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes) override {
    io_ = io_ || (qid != 0 && sqe[0] != nvme::kFabricsOpcode);
  }
  bool departs(std::string_view point) override { return io_ && point == "host.keep_alive.late"; }

 private:
  bool io_ = false;
};

/// Commands that change blocks, but for Write, are repeated at once.
class WaitsWithWritesAlone final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes) override {
    if (qid != 0 && sqe[0] != nvme::kFabricsOpcode) writes_ = sqe[0] == kWrite;
  }
  bool departs(std::string_view point) override { return !writes_ && point == "host.failover.early"; }

 private:
  bool writes_ = true;
};

/// The list of namespaces is not asked for again from its last one on.
class ReadsOneNamespaceList final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes) override {
    constexpr std::uint8_t kActiveList = 0x02;
    const bool list = qid == 0 && sqe[0] == 0x06 && sqe[40] == kActiveList;
    if (list && load_le<std::uint32_t>(&sqe[kNsid]) != 0) store_le<std::uint32_t>(&sqe[kNsid], 0xFFFFFFFD);
  }
};

/// Abort names queue 1, whatever queue the command was sent on.
class AbortsOnQueueOne final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes) override {
    constexpr std::size_t kSqid = 40;
    if (qid == 0 && sqe[0] == 0x08) store_le<std::uint16_t>(&sqe[kSqid], 1);
  }
};

/// H2CData is not split as soon as there is a second I/O queue.
class ForgetsMaxh2cdata final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes, MutableBytes) override { several_ = several_ || qid > 1; }
  bool departs(std::string_view point) override { return several_ && point == "tcp.host.h2c_data.too_long"; }

 private:
  bool several_ = false;
};

class FlushesTheFirst final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes) override {
    if (qid != 0 && sqe[0] == kFlush) store_le<std::uint32_t>(&sqe[kNsid], 1);
  }
};

/// MPS is 1 in the CC that sets SHN.
class ChangesPagesAtShutdown final : public host::HostHooks {
 public:
  void command_out(std::uint16_t, MutableBytes sqe, MutableBytes) override {
    constexpr std::size_t kOffset = 44, kValue = 48;
    constexpr std::uint32_t kCc = 0x14, kShn = 3u << 14, kMps = 1u << 7;
    const bool set = sqe[0] == nvme::kFabricsOpcode && sqe[4] == 0x00 && load_le<std::uint32_t>(&sqe[kOffset]) == kCc;
    const auto cc = load_le<std::uint32_t>(&sqe[kValue]);
    if (set && (cc & kShn) != 0) store_le<std::uint32_t>(&sqe[kValue], cc ^ kMps);
  }
};

/// Select All is 0 in Zone Management Send.
class ActsOnOneZone final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes) override {
    constexpr std::size_t kSelectAll = 53;
    if (is_io(qid, sqe, kZoneSend)) sqe[kSelectAll] &= static_cast<std::uint8_t>(~1u);
  }
};

/// A report that goes on begins with the first zone again.
class ReportsTheFirstZones final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes) override {
    if (is_io(qid, sqe, kZoneReceive)) store_le<std::uint64_t>(&sqe[kSlba], 0);
  }
};

}  // namespace

#define HOST(name, requirement, what, ...) DEVIATION(name, requirement, Product::host, what, __VA_ARGS__)

HOST(host_copies_behind, "nvme.host.operations.data", "Copy writes to the blocks behind those that were meant", hooks<CopiesBehind>());
HOST(host_deallocates_behind, "nvme.host.operations.data", "Dataset Management is for the blocks behind those that were meant",
     hooks<DeallocatesBehind>());
HOST(host_takes_failed_pieces_for_done, "nvme.host.operations.status", "a piece that failed is reported as done",
     Departs{"host.status.ignored"});
HOST(host_repeats_elsewhere, "nvme.host.operations.retry", "a command that is repeated is for the blocks behind",
     hooks<RepeatsElsewhere>());
HOST(host_repeats_lasting_failures, "nvme.host.operations.lasting", "a command that fails each time is repeated without end",
     Departs{"host.retry.unlimited"});
HOST(host_overlooks_changes, "nvme.host.namespaces.facts", "namespaces are not read again after a notice",
     Departs{"host.event.rescan.omitted"});
HOST(host_mixes_groups_up, "nvme.host.ana.groups", "commands go to a path whatever the state of the group is",
     Departs{"host.ana.state.ignored"});
HOST(host_retains_every_event, "nvme.host.aer.each", "log pages of events are read with RAE set", Departs{"host.event.log.rae"});
HOST(host_leaves_during_shutdown, "fabrics.host.shutdown.awaited", "leaves as soon as the shutdown has begun",
     Departs{"host.shutdown.unawaited"});
HOST(host_keeps_short_timeouts_alive, "fabrics.host.keep-alive.every", "Keep Alive is late if KATO is longer than ten seconds",
     hooks<KeepsShortTimeoutsAlive>());
HOST(host_connects_above_small_mqes, "fabrics.host.queues.sizes", "an I/O queue is larger than CAP.MQES allows",
     Departs{"host.io_connect.sqsize.above_mqes"});
HOST(host_reads_records_again, "fabrics.host.discovery.reported", "records behind the first 64 KiB are those of the beginning",
     hooks<ReadsRecordsAgain>());

HOST(host_counts_its_io_as_keep_alive, "fabrics.host.keep-alive.beside-io", "Keep Alive is late while there is I/O", hooks<CountsItsIo>());
HOST(host_disconnects_unasked, "fabrics.host.disconnect.supported", "Disconnect is sent to a controller without it",
     Departs{"host.disconnect.unsupported"});
HOST(host_changes_pages_at_shutdown, "fabrics.host.cc.kept", "MPS changes in the CC that sets SHN", hooks<ChangesPagesAtShutdown>());
HOST(host_waits_with_writes_alone, "nvme.host.path-loss.changes", "commands that change blocks, but for Write, are repeated at once",
     hooks<WaitsWithWritesAlone>());
HOST(host_does_not_round_kato, "nvme.host.path-loss.granularity", "KATT is taken to be KATO, whatever KAS says",
     Departs{"host.keep_alive.time"});
HOST(host_reads_one_namespace_list, "nvme.host.namespaces.many", "namespaces behind the first 1,024 are not found",
     hooks<ReadsOneNamespaceList>());
HOST(host_takes_namespaces_by_nsid, "nvme.host.namespaces.identity", "a namespace with other identifiers is taken for the former one",
     Departs{"host.namespace.identity"});
HOST(host_flushes_the_first_namespace, "nvme.host.flush", "Flush names the first namespace", hooks<FlushesTheFirst>());
HOST(host_knows_sixteen_formats, "nvme.host.identify.lba-format", "the upper bits of FLBAS are ignored", Departs{"host.namespace.format"});
HOST(host_keeps_mdts_through_resets, "nvme.host.operations.anew", "MDTS is what it was before a Controller Reset",
     Departs{"host.reset.mdts"});
HOST(host_acts_on_one_zone, "nvme.host.zones.actions", "Zone Management Send never selects all zones", hooks<ActsOnOneZone>());
HOST(host_reports_the_first_zones, "nvme.host.zones.report", "a report that goes on begins with the first zone again",
     hooks<ReportsTheFirstZones>());

HOST(host_aborts_on_queue_one, "nvme.host.abort.queues", "Abort names queue 1, whatever queue the command was sent on",
     hooks<AbortsOnQueueOne>());
DEVIATION(host_forgets_maxh2cdata_of_several_queues, "tcp.host.h2cdata.each-queue", Product::host,
          "H2CData is not split as soon as there is a second I/O queue", hooks<ForgetsMaxh2cdata>(), fabrics::kTcp);
HOST(host_reads_one_notification, "nvme.host.aer.notifications", "the first of several reservation notifications alone is read",
     Departs{"host.event.one_notification"});
HOST(host_checks_no_tags, "nvme.host.protection.checked", "protection information that the host makes is not checked when it is read",
     Departs{"host.protection.unchecked"});

HOST(host_hammers_after_a_loss, "fabrics.host.reconnect.delay", "Connect is repeated without delay after a loss",
     Departs{"host.connect.busy.hammered"});
HOST(host_shuts_down_with_io, "fabrics.host.shutdown.drained", "CC.SHN is set while I/O commands are outstanding",
     Departs{"host.shutdown.undrained"});
HOST(host_floods_with_event_requests, "nvme.host.aer.failed", "an Asynchronous Event Request that failed is sent again at once",
     Departs{"host.aer.failed_repeated"});
HOST(host_looks_once, "nvme.host.namespaces.again", "a notice that comes while namespaces are read has no consequence",
     Departs{"host.event.rescan.once"});

#undef HOST

}  // namespace fb::deviations
