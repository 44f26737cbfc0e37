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
  bool unrestricted = false;    ///< AUSE
  bool no_deallocate = false;   ///< NDAS
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

  void start(const SanitizeRequest& request, const Controller& by);
  void exit_failure_mode() { failure_mode_ = false; }
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
  bool erase(Namespace& ns) const;

  Subsystem& subsystem_;
  SanitizeRequest request_;
  nvme::SanitizeState state_ = nvme::SanitizeState::never;
  bool failure_mode_ = false;
  bool fails_ = false;
  bool erased_ = true;
  bool warns_ = false;
  Instant started_;
  Timer<Sanitizer, &Sanitizer::finish> timer_{"subsystem.sanitize", *this};
};

}  // namespace fb::subsystem
