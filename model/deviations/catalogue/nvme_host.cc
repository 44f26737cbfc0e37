// Hosts that are careless with their commands, with errors, and with what a controller tells them.
#include "base/bytes.h"
#include "model/deviations/deviation.h"
#include "wire/fabrics/transports.h"
#include "wire/nvme/cqe.h"

namespace fb::deviations {

namespace {

/// Does not read the log page that an event names, where it is this one.
template <std::uint8_t Lid>
class IgnoresEventsOf final : public host::HostHooks {
 public:
  void capsule_in(std::uint16_t qid, ByteView capsule) override {
    // Of other responses the third byte means something else, but then nobody asks.
    if (qid == 0 && capsule.size() >= nvme::CqeLayout::size) named_ = capsule[2];
  }
  bool departs(std::string_view point) override { return point == "host.event.log.unread" && named_ == Lid; }

 private:
  std::uint8_t named_ = 0;
};

/// All I/O commands have one identifier.
class ReusesIdentifiers final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes) override {
    if (qid != 0 && sqe[0] != 0x7F) store_le<std::uint16_t>(sqe.data() + 2, 0x5A5);
  }
};

/// The first byte of the key in Delete of the Key Value command set is another one.
class DeletesOtherKeys final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes) override {
    constexpr std::uint8_t kDelete = 0x10;
    if (qid != 0 && sqe[0] == kDelete) sqe[8] ^= 0x55;
  }
};

/// Repeats what met a reservation, and never stops.
class RepeatsConflicts final : public host::HostHooks {
 public:
  bool departs(std::string_view point) override { return point == "host.retry.reservation_conflict" || point == "host.retry.unlimited"; }
};

}  // namespace

#define HOST(name, requirement, what, point) DEVIATION(name, requirement, Product::host, what, Departs{point})

HOST(host_asks_for_one_event_only, "nvme.host.aer.rearm", "no new Asynchronous Event Request after an event", "host.aer.not_rearmed");
DEVIATION(host_ignores_namespace_notices, "nvme.host.aer.read-log", Product::host, "the list of changed namespaces is not read",
          hooks<IgnoresEventsOf<0x04>>());
HOST(host_retains_events, "nvme.host.aer.read-log", "log pages are read with RAE = 1", "host.event.log.rae");
DEVIATION(host_ignores_ana_notices, "nvme.host.aer.ana", Product::host, "the ANA log is not read after a change",
          hooks<IgnoresEventsOf<0x0C>>());
HOST(host_ignores_dnr, "nvme.host.dnr", "a command is repeated although DNR is set", "host.retry.dnr.ignored");
DEVIATION(host_repeats_reservation_conflicts, "nvme.host.reservation-conflict", Product::host,
          "a command that met a reservation is repeated for ever", hooks<RepeatsConflicts>());
HOST(host_hears_of_one_reservation, "nvme.host.aer.reservation", "no new Asynchronous Event Request after a reservation notification",
     "host.aer.not_rearmed");
HOST(host_repeats_for_ever, "nvme.host.retry-bound", "a command is repeated without limit", "host.retry.unlimited");
HOST(host_ignores_mdts, "nvme.host.mdts", "transfers are not split to MDTS", "host.io.mdts.ignored");
HOST(host_says_prp_in_admin_commands, "nvme.host.psdt", "admin commands say PRP in PSDT", "host.sqe.psdt.admin");
HOST(host_says_prp_in_io_commands, "nvme.host.psdt", "I/O commands say PRP in PSDT", "host.sqe.psdt.io");
DEVIATION(host_reuses_identifiers, "nvme.host.cid-unique", Product::host, "every I/O command has the same identifier",
          hooks<ReusesIdentifiers>(),
          fabrics::kRdma);  // over TCP the R2Ts are already for nobody
HOST(host_completes_by_any_identifier, "nvme.host.unknown-cid", "a response for an unknown command completes some other",
     "host.queue.cid.any_accepted");
HOST(host_never_reports_a_failure, "nvme.host.failure.reported", "waits forever after a command of the initialization failed",
     "host.init.failure");
HOST(host_sends_each_step_once, "nvme.host.failure.repeated", "leaves when a command of the initialization fails for a moment",
     "host.init.unrepeated");
HOST(host_needs_optional_commands, "nvme.host.failure.optional", "leaves when an optional command of the initialization is refused",
     "host.init.optional");
HOST(host_forgets_what_it_could_not_read, "nvme.host.failure.later", "never reads what it could not read for a moment",
     "host.event.failed_read");
HOST(host_repeats_conditional_stores, "nvme.host.key-values.refused", "a Store with a condition is repeated after a loss",
     "host.kv.store.repeated");
DEVIATION(host_deletes_other_keys, "nvme.host.key-values.data", Product::host, "Delete names another key", hooks<DeletesOtherKeys>());

#undef HOST

}  // namespace fb::deviations
