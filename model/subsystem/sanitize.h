// The sanitize operation of a subsystem (base specification, Sanitize Operations): one at a time, on all namespaces,
// whatever happens to its controllers meanwhile.
#pragma once

#include <cstdint>

#include "sim/core/world.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {

class Controller;
class Namespace;
class Subsystem;

struct SanitizeRequest {
  nvme::SanitizeAction action = nvme::SanitizeAction::block_erase;
  bool unrestricted = false;   ///< AUSE
  bool no_deallocate = false;  ///< NDAS
  bool verify = false;         ///< EMVS
  bool of_host = true;         ///< by a controller's admin queue, which is told of the end
  unsigned passes = 1;
  std::uint32_t cdw10 = 0;
  std::uint32_t cdw11 = 0;
};

class Sanitizer {
 public:
  explicit Sanitizer(Subsystem& subsystem) : subsystem_(subsystem) {}

  bool running() const { return state_ == nvme::SanitizeState::in_progress; }
  /// An operation has failed, and nobody has recovered from that.
  bool failure_mode() const { return failure_mode_; }
  /// Only another operation that succeeds leads out of the failure.
  bool restricted() const { return failure_mode_ && !request_.unrestricted; }
  /// Most commands are refused.
  bool refuses() const { return running() || failure_mode_; }

  /// The media can be looked at, and nothing else.
  bool verifying() const { return phase_ == nvme::SanitizePhase::media_verification; }
  /// Where the operation is, and where the last one failed.
  nvme::SanitizePhase phase() const { return phase_; }
  nvme::SanitizePhase failed_in() const { return failed_in_; }
  /// A reset has taken the verification of media away (MVCNCLD).
  bool verification_cancelled() const { return cancelled_; }

  void start(const SanitizeRequest& request, const Controller& by);
  /// From the verification of media on: they are deallocated, and the operation ends.
  void deallocate();
  void on_subsystem_reset();
  void exit_failure_mode();
  /// A medium that cannot be sanitized: the next operation fails.
  void fail_next() { fails_ = true; }

  nvme::SanitizeState state() const { return state_; }
  /// As SPROG tells it.
  std::uint16_t progress() const;
  /// Of an overwrite.
  unsigned passes_done() const;
  std::uint32_t cdw10() const { return request_.cdw10; }
  void set_cdw10(std::uint32_t cdw10) { request_.cdw10 = cdw10; }
  /// Nothing has been written since the last operation that succeeded, or ever (GDE).
  bool erased() const { return erased_; }
  void note_write() { erased_ = false; }

  /// NODRM of the Sanitize Config feature.
  bool warns() const { return warns_; }
  void set_warns(bool on) { warns_ = on; }

  /// Without result: for products that do not go on after a reset.
  void forget();

 private:
  Duration pass_time() const;
  Duration elapsed() const;
  void finish();
  void complete();
  void tell(std::uint8_t event_info) const;
  bool erase(Namespace& ns) const;

  Subsystem& subsystem_;
  SanitizeRequest request_;
  nvme::SanitizeState state_ = nvme::SanitizeState::never;
  bool failure_mode_ = false;
  bool fails_ = false;
  bool erased_ = true;
  bool warns_ = false;
  nvme::SanitizePhase phase_ = nvme::SanitizePhase::idle;
  nvme::SanitizePhase failed_in_ = nvme::SanitizePhase::idle;
  bool cancelled_ = false;
  std::uint16_t by_ = 0;  ///< the controller that was told to begin
  Instant started_;
  Timer<Sanitizer, &Sanitizer::finish> timer_{"subsystem.sanitize", *this};
};

}  // namespace fb::subsystem
