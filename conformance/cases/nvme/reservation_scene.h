// What the reservation cases share: several hosts at one namespace, each with an identifier, a key and an I/O queue
// of its own. A scene ends as it began: with nobody registered.
#pragma once

#include <vector>

#include "conformance/cases/nvme/reset.h"
#include "conformance/cases/nvme/scene.h"
#include "wire/nvme/reservation.h"

namespace fb::conformance {

using nvme::AcquireAction;
using nvme::of_all_registrants;
using nvme::of_registrants_only;
using nvme::PersistChange;
using nvme::RegisterAction;
using nvme::ReleaseAction;
using nvme::ReservationType;

inline constexpr ReservationType kReservationTypes[] = {ReservationType::write_exclusive,
                                                        ReservationType::exclusive_access,
                                                        ReservationType::write_exclusive_registrants_only,
                                                        ReservationType::exclusive_access_registrants_only,
                                                        ReservationType::write_exclusive_all_registrants,
                                                        ReservationType::exclusive_access_all_registrants};

/// Bit `n` of RESCAP claims type `n`.
inline bool claims_type(const Declared& declared, ReservationType type) {
  return (declared.identify_namespace().get(nvme::id_ns::rescap) >> static_cast<unsigned>(type) & 1) != 0;
}

inline std::optional<std::string> has_reservations(const Declared& declared) {
  if (!declared.known) return {};
  if ((declared.identify().get(nvme::id_ctrl::oncs) & nvme::oncs_bits::reservations) == 0) {
    return "ONCS bit 5 (reservations) is clear";
  }
  if (declared.nsid == 0) return "no active namespace";
  if ((declared.identify_namespace().get(nvme::id_ns::nmic) & nvme::nmic_bits::shared) == 0) {
    return "NMIC bit 0 is clear: no other controller has the namespace";
  }
  constexpr unsigned kTypes = 0x7E;
  if ((declared.identify_namespace().get(nvme::id_ns::rescap) & kTypes) == 0) {
    return "RESCAP of the namespace claims no type";
  }
  return {};
}
template <ReservationType... Types>
std::optional<std::string> claims_types(const Declared& declared) {
  if (const auto why = has_reservations(declared)) return why;
  if (!declared.known || (claims_type(declared, Types) && ...)) return {};
  return "RESCAP of the namespace does not claim the type";
}
inline std::optional<std::string> persists_through_power_loss(const Declared& declared) {
  if (const auto why = has_reservations(declared)) return why;
  const auto rescap = declared.identify_namespace().get(nvme::id_ns::rescap);
  if (!declared.known || (rescap & nvme::rescap_bits::ptpl) != 0) return {};
  return "RESCAP bit 0 (persist through power loss) is clear";
}
inline const needs reservations{has_reservations};

/// What Reservation Report says.
struct ReservationReport {
  struct Entry {
    host::HostId hostid = {};
    std::uint64_t key = 0;
    bool holder = false;
    std::uint16_t cntlid = 0;
  };
  std::uint32_t generation = 0;
  ReservationType type = ReservationType::none;
  unsigned registrants = 0;
  bool persists = false;
  std::vector<Entry> entries;
};

class ReservationScene {
 public:
  /// Hosts count from 0.
  ReservationScene(ControllerBench& bench, Check& check, std::size_t hosts) : bench_(bench), check_(check) {
    for (std::size_t i = 0; i < hosts; ++i) hosts_.push_back(join(i));
    for (std::size_t i = 0; i < hosts; ++i) leave(i);  // what an earlier run left
    if (report().registrants != 0) throw CannotArrange{"others are registered at the namespace"};
  }
  ~ReservationScene() {
    for (std::size_t i = 0; i < hosts_.size(); ++i) leave(i);
  }
  ReservationScene(const ReservationScene&) = delete;
  ReservationScene& operator=(const ReservationScene&) = delete;

  std::uint32_t nsid() const { return bench_.nsid(); }
  std::uint32_t block_bytes() const { return bench_.declared().block_bytes; }
  RawAssociation& association(std::size_t host) { return *hosts_[host].association; }
  host::RawQueue& io(std::size_t host) { return *hosts_[host].io; }
  static host::HostId hostid(std::size_t host) {
    host::HostId id = kBenchHostId;
    id.back() = static_cast<std::uint8_t>(0xA0 + host);
    return id;
  }
  static std::uint64_t key(std::size_t host) { return 0xFEDC'BA98'0000'0001 + host; }
  static constexpr std::uint64_t kOtherKey = 0x1234'5678'9ABC'DEF0;

  /// The host has lost its association, or gives it up: it comes with another.
  void rejoin(std::size_t host) { hosts_[host] = join(host); }
  /// Its controller is reset, and gets an I/O queue again.
  void reset(std::size_t host) { hosts_[host].io = &reset_controller(bench_, association(host), io(host)); }
  /// One more controller of the same host.
  RawAssociation& second_association(std::size_t host) { return bench_.associate({.hostid = hostid(host)}); }

  // ---- commands, to be judged ----

  host::RawReply register_key(std::size_t host, std::uint64_t key, PersistChange change = PersistChange::none) {
    return send(host, host::reservation_register(nsid(), RegisterAction::register_key, change), host::reservation_keys(0, key));
  }
  host::RawReply replace(std::size_t host, std::uint64_t current, std::uint64_t key, bool ignore = false) {
    auto command = host::reservation_register(nsid(), RegisterAction::replace_key);
    command.set(nvme::reservation_sqe::iekey, ignore);
    return send(host, command, host::reservation_keys(current, key));
  }
  host::RawReply unregister(std::size_t host, std::uint64_t current, bool ignore = false) {
    auto command = host::reservation_register(nsid(), RegisterAction::unregister_key);
    command.set(nvme::reservation_sqe::iekey, ignore);
    return send(host, command, host::reservation_keys(current, 0));
  }
  host::RawReply acquire(std::size_t host, ReservationType type, std::uint64_t current) {
    return send(host, host::reservation_acquire(nsid(), AcquireAction::acquire, type), host::reservation_keys(current, 0));
  }
  host::RawReply acquire(std::size_t host, ReservationType type) { return acquire(host, type, key(host)); }
  host::RawReply preempt(std::size_t host, std::uint64_t victim, ReservationType type) {
    return send(host, host::reservation_acquire(nsid(), AcquireAction::preempt, type), host::reservation_keys(key(host), victim));
  }
  host::RawReply release(std::size_t host, ReservationType type, std::uint64_t current) {
    return send(host, host::reservation_release(nsid(), ReleaseAction::release, type), host::reservation_key(current));
  }
  host::RawReply release(std::size_t host, ReservationType type) { return release(host, type, key(host)); }
  host::RawReply clear(std::size_t host, std::uint64_t current) {
    return send(host, host::reservation_release(nsid(), ReleaseAction::clear), host::reservation_key(current));
  }
  template <class L>
  host::RawReply send(std::size_t host, const Record<L>& command, ByteView data) {
    return io(host).send(command, data).wait();
  }
  host::RawReply read(std::size_t host, std::uint64_t lba) { return io(host).send(host::read(nsid(), lba, 1), block_bytes()).wait(); }
  host::RawReply write(std::size_t host, std::uint64_t lba, std::uint8_t mark) {
    return io(host).send(host::write(nsid(), lba, 1), pattern(mark, 1, block_bytes())).wait();
  }

  // ---- what is assumed to work ----

  void registered(std::size_t host, std::uint64_t key) { check_.precondition_success(register_key(host, key), "Reservation Register"); }
  /// The first `count` hosts, each with its key.
  void all_registered(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) registered(i, key(i));
  }
  /// The first `count` hosts are registered, and host 0 holds a reservation.
  void held(ReservationType type, std::size_t count = 1) {
    all_registered(count);
    check_.precondition_success(acquire(0, type), "Reservation Acquire");
  }
  ReservationReport report(std::size_t host = 0) {
    constexpr std::size_t kRoom = 64 * 17;
    const auto reply = io(host).send(host::reservation_report(nsid(), kRoom), kRoom).wait();
    check_.precondition_success(reply, "Reservation Report");
    return parse(reply.data);
  }
  static ReservationReport parse(ByteView data) {
    namespace st = nvme::reservation_status;
    namespace rc = nvme::registered_controller;
    const View<nvme::ReservationStatus> status{data.first(nvme::ReservationStatus::size)};
    ReservationReport report{status.get(st::gen), status.get(st::rtype), status.get(st::regstrnt), (status.get(st::ptpls) & 1) != 0, {}};
    constexpr std::size_t kEach = nvme::RegisteredController::size;
    for (std::size_t i = 0; i < report.registrants && kEach * (i + 2) <= data.size(); ++i) {
      const View<nvme::RegisteredController> entry{data.subspan(kEach * (i + 1), kEach)};
      ReservationReport::Entry one;
      const ByteView id = entry.get(rc::hostid);
      std::copy(id.begin(), id.end(), one.hostid.begin());
      one.key = entry.get(rc::rkey);
      one.holder = entry.get(rc::holder);
      one.cntlid = entry.get(rc::cntlid);
      report.entries.push_back(one);
    }
    return report;
  }

  // ---- judged by what is reported ----

  void is_registered(std::size_t host, std::uint64_t key) {
    const std::string who = "host " + std::to_string(host);
    for (const auto& entry : report().entries) {
      if (entry.hostid == hostid(host)) {
        check_.equal("key of " + who, entry.key, key);
        return;
      }
    }
    check_.that(false, who + " is registered", "it is not reported");
  }
  void is_not_registered(std::size_t host) {
    const std::string who = "host " + std::to_string(host);
    check_.that(!reported(host), who + " is not registered", "it is reported");
  }
  bool reported(std::size_t host) {
    const ReservationReport now = report();
    return std::any_of(now.entries.begin(), now.entries.end(), [&](const auto& entry) { return entry.hostid == hostid(host); });
  }
  void is_held(ReservationType type) { check_.equal("type of the reservation", report().type, type); }
  void is_held_by(std::size_t host, ReservationType type) {
    const ReservationReport now = report();
    check_.equal("type of the reservation", now.type, type);
    for (const auto& entry : now.entries) {
      if (entry.hostid == hostid(host)) {
        check_.that(entry.holder, "host " + std::to_string(host) + " holds the reservation", "its RCSTS says no");
        return;
      }
    }
    check_.that(false, "host " + std::to_string(host) + " holds the reservation", "it is not reported");
  }

 private:
  struct Host {
    RawAssociation* association = nullptr;
    host::RawQueue* io = nullptr;
  };
  Host join(std::size_t host) {
    RawAssociation& association = bench_.associate({.hostid = hostid(host)});
    return {&association, &association.open_io()};
  }
  void leave(std::size_t host) {
    if (io(host).has_ended()) return;
    auto command = host::reservation_register(nsid(), RegisterAction::unregister_key);
    command.set(nvme::reservation_sqe::iekey, true);
    io(host).send(command, host::reservation_keys(0, 0)).wait_for(kSoon);
  }

  ControllerBench& bench_;
  Check& check_;
  std::vector<Host> hosts_;
};

}  // namespace fb::conformance
