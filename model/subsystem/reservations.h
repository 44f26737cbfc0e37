// Reservations of one namespace (base specification, Reservations): who is registered with which key, who holds
// what, and what follows from each command. Identity is the host's, whichever controllers it has. No transport, no
// controllers: these are told what to do by the effects.
//
// What a command must not do (an Objection) and doing it are apart, so that a product may do it all the same.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/bytes.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/reservation.h"

namespace fb::subsystem {

using HostId = std::array<std::uint8_t, 16>;

enum class Access : std::uint8_t { read, write };

enum class Objection : std::uint8_t {
  none,
  key,          ///< not registered, or with another key
  held,         ///< by another host, or with another type
  type,         ///< that of a Release is not that of the reservation
  unknown_key,  ///< nobody is registered with the key that is to be preempted
  zero_key,     ///< nothing is to be preempted, and not all registrants hold the reservation
};

struct ReservationEffects {
  struct Notice {
    HostId host = {};
    nvme::ReservationNotice what = nvme::ReservationNotice::empty;
    bool operator==(const Notice&) const = default;
  };
  std::vector<Notice> notices;
  /// Other hosts whose registration was preempted.
  std::vector<HostId> preempted;
};

/// What a table gets wrong; all false in an honest one.
struct ReservationFaults {
  bool acquires_nothing = false;
  bool outlives_holder = false;
  bool dies_with_any = false;
  bool preempts_no_holder = false;
  bool preempts_no_registrants = false;
  bool clears_no_registrants = false;
  bool anybody_releases = false;
  bool releases_nothing = false;
  bool tells_every_release = false;
  bool keeps_release_of_all = false;
  bool keeps_change_of_type = false;
  bool generation_stays = false;
  bool generation_runs = false;
};

class ReservationTable {
 public:
  struct Registrant {
    HostId host = {};
    std::uint64_t key = 0;
    bool operator==(const Registrant&) const = default;
  };

  /// A reservation is held.
  bool held() const { return type_ != nvme::ReservationType::none; }
  nvme::ReservationType type() const { return type_; }
  /// In the order of their registration.
  const std::vector<Registrant>& registrants() const { return registrants_; }
  bool registered(const HostId& host) const { return find(host) != nullptr; }
  /// Holds the reservation, alone or as one of all registrants.
  bool holds(const HostId& host) const;
  bool allows(const HostId& host, Access access) const;
  std::uint32_t generation() const { return generation_; }
  /// Persist through power loss (PTPL).
  bool persists() const { return persists_; }
  void set_persists(bool on) { persists_ = on; }
  /// Notifications that are masked (feature 82h).
  std::uint32_t mask() const { return mask_; }
  void set_mask(std::uint32_t mask) { mask_ = mask; }

  Objection may_register(const HostId& host, std::uint64_t key) const;
  Objection may_unregister(const HostId& host, std::uint64_t key, bool ignore_key) const;
  Objection may_replace(const HostId& host, std::uint64_t key, bool ignore_key) const;
  Objection may_acquire(const HostId& host, std::uint64_t key, nvme::ReservationType type) const;
  Objection may_preempt(const HostId& host, std::uint64_t key, std::uint64_t victim) const;
  Objection may_release(const HostId& host, std::uint64_t key, nvme::ReservationType type) const;
  Objection may_clear(const HostId& host, std::uint64_t key) const;

  /// Registers, or replaces the key.
  void register_key(const HostId& host, std::uint64_t key, const ReservationFaults& faults = {});
  ReservationEffects unregister(const HostId& host, const ReservationFaults& faults = {});
  void acquire(const HostId& host, nvme::ReservationType type, const ReservationFaults& faults = {});
  ReservationEffects preempt(const HostId& host, std::uint64_t victim, nvme::ReservationType type, const ReservationFaults& faults = {});
  ReservationEffects release(const HostId& host, const ReservationFaults& faults = {});
  ReservationEffects clear(const HostId& host, const ReservationFaults& faults = {});

  /// Power is lost: what does not persist is gone.
  void on_power_loss();
  /// Nothing is registered or held any more, and nobody is told.
  void forget_all();

 private:
  const Registrant* find(const HostId& host) const;
  bool any_with(std::uint64_t key) const;
  Objection check_key(const HostId& host, std::uint64_t key) const;
  void hold(const HostId& host, nvme::ReservationType type);
  void count(const ReservationFaults& faults) { generation_ += faults.generation_stays ? 0 : 1; }
  /// To all registrants but `host`.
  void tell_others(ReservationEffects& effects, const HostId& host, nvme::ReservationNotice what) const;
  /// Ends registrations with this key, or with any where `all`; that of `host` too unless it is spared.
  void preempt_registrants(ReservationEffects& effects, const HostId& host, std::uint64_t victim, bool all, bool spare);

  std::vector<Registrant> registrants_;
  nvme::ReservationType type_ = nvme::ReservationType::none;
  HostId holder_ = {};  ///< while a reservation is held, and not by all registrants
  std::uint32_t generation_ = 0;
  bool persists_ = false;
  std::uint32_t mask_ = 0;
};

/// The reservation notification pages of one controller: what has not been read yet, oldest first.
class ReservationLog {
 public:
  void add(nvme::ReservationNotice what, std::uint32_t nsid);
  /// The oldest page; an empty one where there is none.
  Bytes page(bool counted = true) const;
  void pop();
  void clear();

 private:
  struct Entry {
    std::uint64_t count;
    nvme::ReservationNotice what;
    std::uint32_t nsid;
  };
  /// The page that is read, and as many more as NALP can tell of. What comes then is counted and lost.
  static constexpr std::size_t kEntriesMax = 256;
  std::deque<Entry> entries_;
  std::uint64_t count_ = 0;
};

}  // namespace fb::subsystem
