// Telemetry: captures of the subsystem's state that a host asks for (log page 07h), and one that the subsystem makes
// by itself (08h) and keeps until a host has acknowledged it. What the blocks hold is a product's own affair.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "wire/nvme/telemetry.h"

namespace fb::subsystem {

class Subsystem;

class Telemetry {
 public:
  explicit Telemetry(Subsystem& subsystem) : subsystem_(subsystem) {}

  void capture_for_host();
  /// Hosts that want to know are told. At most 128 characters of the reason are kept.
  void capture_by_controller(std::string_view reason);
  /// A host has read log page 08h without retaining the event.
  void acknowledge() { available_ = false; }
  bool available() const { return available_; }
  /// For products that lose their capture.
  void forget();

  Bytes host_log() const;
  Bytes controller_log() const;

 private:
  struct Capture {
    std::uint8_t generation = 0;
    Bytes blocks;
    Bytes reason;
  };
  void fill(Capture& capture, std::string_view reason) const;
  Bytes log(const Capture& capture, std::uint8_t lid) const;

  Subsystem& subsystem_;
  Capture host_;
  Capture controller_;
  bool available_ = false;
};

}  // namespace fb::subsystem
