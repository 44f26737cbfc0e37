// Reservations: the commands, and what they mean for others.
#pragma once

#include "model/subsystem/controller_part.h"
#include "model/subsystem/reservations.h"

namespace fb::subsystem {

class ReservationCommands : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  /// False: the reservation of another host is in the way, and the command has been answered.
  bool reservation_allows(const Command& command, const Namespace& ns, Access access);
  void reservation(const Command& command);
  void reservation_data(const Command& command);
  void end_registrations();

 private:
  friend class Controller;

  /// Whose registrations it makes: those of its host.
  HostId reservation_host() const;
  ReservationFaults reservation_faults() const;
  bool register_refused(const ReservationTable& table, const HostId& host, std::uint64_t key) const;
  void reservation_register(const Command& command, Namespace& ns, std::uint64_t current, std::uint64_t key);
  void reservation_acquire(const Command& command, Namespace& ns, std::uint64_t current, std::uint64_t victim);
  void reservation_release(const Command& command, Namespace& ns, std::uint64_t current);
  void reservation_report(const Command& command, const Namespace& ns);
  Bytes reservation_status(const Namespace& ns, bool extended, std::uint64_t room) const;
  void abort_preempted(std::uint32_t nsid, const ReservationEffects& effects);
  void announce_reservation(const Namespace& ns, const ReservationEffects& effects);
};

}  // namespace fb::subsystem
