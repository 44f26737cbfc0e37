// Cross-Controller Reset: the command, log page 1Eh of its operations, log page 1Fh of controllers whose hosts were lost, and
// what tells one instance of a controller from the next.
#pragma once

#include <vector>

#include "model/subsystem/controller_part.h"
#include "sim/core/loop.h"
#include "wire/nvme/cross_controller_reset.h"

namespace fb::subsystem {

class CrossControllerReset : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  bool supported() const;
  bool lost_host_supported() const;
  void execute(const Command& command);
  /// `remove`: entries of completed operations go when they have been reported.
  Bytes log(bool remove);
  Bytes lost_host_log() const;
  void clear_lost_hosts();

  /// What Identify says: CIU, CIRN, CCRL.
  std::uint8_t uniquifier() const;
  std::uint64_t random_number() const;
  std::uint8_t limit() const;

  /// The controller becomes ready; it gets a host.
  void on_ready();
  void on_connected();
  /// A Controller Level Reset of this controller.
  void on_reset();
  /// The association of another controller with the same host was lost, and no host said so.
  void on_lost_host(std::uint16_t cntlid, std::uint8_t ciu);
  /// This one's was: others of the host are told.
  void tell_lost();

 private:
  friend class Controller;

  bool instance_matches(const Controller* impacted, std::uint8_t ciu, std::uint64_t cirn) const;
  void reset_impacted(Controller& impacted);
  nvme::CcrEntry* entry_of(std::uint16_t icid);
  void complete_operation(std::size_t index);
  void on_operation_due();
  void renew_random_number();

  struct Operation {
    nvme::CcrEntry entry;
    Instant due;
  };
  std::vector<Operation> operations_;      ///< in the order of their commands
  std::vector<nvme::LostHostEntry> lost_;  ///< oldest first
  std::uint8_t ciu_ = 0;
  std::uint64_t cirn_ = 0;
  unsigned renewals_ = 0;
  Timer<CrossControllerReset, &CrossControllerReset::on_operation_due> timer_{"subsystem.cross_controller_reset", *this};
};

}  // namespace fb::subsystem
