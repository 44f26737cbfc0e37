// Hosts that carry out what their users ask for, but for a detail.
#include <set>

#include "model/deviations/deviation.h"
#include "wire/nvme/opcodes.h"

namespace fb::deviations {

namespace {

constexpr std::size_t kSlba = 40, kRangeSlba = 8;
constexpr std::uint8_t kRead = 0x02, kCompare = 0x05, kDeallocate = 0x09, kCopy = 0x19;

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

#undef HOST

}  // namespace fb::deviations
