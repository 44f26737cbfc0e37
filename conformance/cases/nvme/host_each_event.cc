// Events of every type: what the host reads, and what its user hears.
#include <algorithm>
#include <array>

#include "conformance/cases/nvme/host_scene.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/events.h"
#include "wire/nvme/logs.h"

namespace fb::conformance {

namespace {

using nvme::Event;
using nvme::EventType;
namespace info = nvme::event_info;

constexpr std::uint8_t kErrors = 0x01, kSmart = 0x02, kFirmwareSlots = 0x03, kChangedNamespaces = 0x04, kAnaLog = 0x0C,
                       kReservations = 0x80;

constexpr std::array<Event, 9> kEvents = {{{EventType::error, info::error_persistent_internal, kErrors},
                                           {EventType::error, info::error_transient_internal, kErrors},
                                           {EventType::smart, info::smart_reliability, kSmart},
                                           {EventType::smart, info::smart_temperature, kSmart},
                                           {EventType::smart, info::smart_spare, kSmart},
                                           {EventType::notice, info::notice_namespace_attribute, kChangedNamespaces},
                                           {EventType::notice, info::notice_firmware_activation, kFirmwareSlots},
                                           {EventType::notice, info::notice_ana_change, kAnaLog},
                                           {EventType::command_set, info::command_set_reservation, kReservations}}};

/// Counts what the host tells its user.
class Told final : public host::ControllerListener {
 public:
  explicit Told(host::Host& host) : host_(host) { host_.add_listener(*this); }
  /// A case may leave at a check.
  ~Told() { host_.remove_listener(*this); }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;
  void on_event(host::Controller&, const Event& event, ByteView log) override {
    events.push_back(event);
    logs.emplace_back(log.begin(), log.end());
  }
  std::vector<Event> events;
  std::vector<Bytes> logs;

 private:
  host::Host& host_;
};

constexpr std::array<nvme::ReservationNotice, 3> kHostNotices = {nvme::ReservationNotice::registration_preempted,
                                                                 nvme::ReservationNotice::reservation_released,
                                                                 nvme::ReservationNotice::reservation_preempted};

std::size_t clearing_reads(const HostBench& bench, std::uint8_t lid) {
  const auto logs = admin_commands(bench, opcode::kGetLog);
  return static_cast<std::size_t>(std::count_if(
      logs.begin(), logs.end(), [&](const SeenCommand* seen) { return (seen->cdw(10) & 0xFF) == lid && (seen->cdw(10) >> 15 & 1) == 0; }));
}

}  // namespace

CONFORMANCE_CASE(host_tells_of_each_event, "nvme.host.aer.each", roles::host,
                 arranged("events that the bench makes up, and a user who hears of them", [](EmbeddedSetup&) {})) {
  check.precondition(bench.subsystem().options().ana, "the controllers report ANA");
  bench.connect_product();
  Told told(bench.emulated_host());
  // Twice: an event that was not cleared, or a request that is missing, shows the second time.
  for (unsigned round = 0; round < 2; ++round) {
    for (const Event& event : kEvents) {
      const std::string which = nvme::to_string(event) + (round == 0 ? "" : ", once more");
      bench.forget_seen();
      told.events.clear();
      for (const host::Controller* one : bench.emulated_host().controllers()) {
        subsystem::Controller* const controller = bench.subsystem().find_controller(one->facts().cntlid);
        check.precondition(controller != nullptr, "the association is there");
        controller->raise(event);
      }
      bench.run_until([] { return false; }, 3_s);
      check.equal("reads with RAE 0 of the log page of " + which, clearing_reads(bench, event.lid), std::size_t{1});
      check.equal("new Asynchronous Event Requests after " + which, admin_commands(bench, opcode::kEventRequest).size(), std::size_t{1});
      check.equal("events that the user hears of after " + which, told.events.size(), std::size_t{1});
      if (!told.events.empty()) check.that(told.events.front() == event, "the event is " + which, nvme::to_string(told.events.front()));
    }
  }
  // Of several types at once: one comes while the log page of another is read.
  const Event together[] = {{EventType::notice, info::notice_ana_change, kAnaLog},
                            {EventType::smart, info::smart_spare, kSmart},
                            {EventType::error, info::error_transient_internal, kErrors}};
  bench.forget_seen();
  told.events.clear();
  for (const host::Controller* one : bench.emulated_host().controllers()) {
    subsystem::Controller* const controller = bench.subsystem().find_controller(one->facts().cntlid);
    check.precondition(controller != nullptr, "the association is there");
    for (const Event& event : together) controller->raise(event);
  }
  bench.run_until([] { return false; }, 3_s);
  for (const Event& event : together) {
    check.equal("reads with RAE 0 of the log page of " + nvme::to_string(event) + ", with others at once", clearing_reads(bench, event.lid),
                std::size_t{1});
  }
  check.equal("events that the user hears of, of several at once", told.events.size(), std::size(together));
}

CONFORMANCE_CASE(host_reads_every_reservation_notification, "nvme.host.aer.notifications", roles::host,
                 arranged("notifications that the bench makes up, and a user who hears of them", [](EmbeddedSetup&) {})) {
  bench.connect_product();
  Told told(bench.emulated_host());
  const auto controllers = bench.emulated_host().controllers();
  subsystem::Controller* const controller =
      controllers.empty() ? nullptr : bench.subsystem().find_controller(controllers.front()->facts().cntlid);
  check.precondition(controller != nullptr, "the association is there");
  for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}}) {
    told.logs.clear();
    for (std::size_t i = 0; i < count; ++i) controller->on_reservation_notice(bench.nsid(), kHostNotices[i % kHostNotices.size()]);
    bench.run_until([] { return false; }, 3_s);
    std::vector<nvme::ReservationNotice> heard;
    for (const Bytes& log : told.logs) {
      if (log.size() < nvme::ReservationNotification::size) continue;
      const View<nvme::ReservationNotification> page{log};
      if (page.get(nvme::reservation_notification::lpc) != 0) heard.push_back(page.get(nvme::reservation_notification::rnlpt));
    }
    const std::string which = " of " + std::to_string(count) + " at once";
    check.equal("notifications that the user hears of" + which, heard.size(), count);
    for (std::size_t i = 0; i < std::min(count, heard.size()); ++i) {
      const bool same = heard[i] == kHostNotices[i % kHostNotices.size()];
      check.that(same, "notification " + std::to_string(i + 1) + which + " is the one that was sent", "another one");
    }
  }
}

}  // namespace fb::conformance
