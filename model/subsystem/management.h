// The two ways by which NVMe-MI meets a subsystem. Out of band, an Admin command comes from a management
// endpoint and is executed by the very code that serves a host's admin queue. In band, NVMe-MI Send and
// Receive come on an admin queue and are given to whoever serves them.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/bytes.h"
#include "model/subsystem/port.h"
#include "wire/nvme/status.h"

namespace fb::subsystem {

class Controller;
class ManagedChannel;
class Subsystem;

struct ManagedAnswer {
  nvme::Status status;
  std::uint64_t dwords = 0;  ///< DW0, and DW1 above it
  Bytes data;                ///< to the requester; empty unless the command succeeded
};

/// An Admin command in progress. Destroying it forgets the answer, not what it has done already.
class ManagedCommand {
 public:
  /// `data` goes to the controller; none is expected back then.
  ManagedCommand(Port& port, Controller& controller, ByteView sqe, Bytes data);
  ~ManagedCommand();
  ManagedCommand(const ManagedCommand&) = delete;
  ManagedCommand& operator=(const ManagedCommand&) = delete;

  /// Executes it. Most commands are answered before this returns.
  void start();
  /// Nothing while it lasts. A command that the controller gave up, because it was reset or is gone,
  /// has been aborted.
  const std::optional<ManagedAnswer>& answer() const { return answer_; }
  /// Called in an event of its own when the answer comes after start() has returned.
  void on_answered(std::function<void()> call) { then_ = std::move(call); }

 private:
  friend class ManagedChannel;
  void settle(ManagedAnswer answer);
  void tell();

  Port& port_;
  std::array<std::uint8_t, 64> sqe_ = {};
  std::optional<ManagedAnswer> answer_;
  std::function<void()> then_;
  bool starting_ = false;
  ManagedChannel* channel_ = nullptr;  ///< the queue's
  std::unique_ptr<Queue> queue_;
  Timer<ManagedCommand, &ManagedCommand::tell> timer_{"subsystem.management.answer", *this};
};

/// NVMe-MI Send (1Dh) or Receive (1Eh) as it came on an admin queue.
struct InBandRequest {
  std::uint16_t cntlid = 0;
  bool send = false;
  std::array<std::uint32_t, 4> dwords = {};  ///< CDW10 to CDW13
  ByteView data;                             ///< Send only
};

struct InBandAnswer {
  nvme::Status status;
  std::uint32_t dw0 = 0;
  Bytes data;  ///< Receive only
};

/// What Identify Controller says of the management of its subsystem.
struct ManagementFacts {
  std::uint8_t nvmsr = 0;  ///< storage device, enclosure
  std::uint8_t vwci = 0;   ///< VPD write cycles that are left
  std::uint8_t mec = 0;    ///< kinds of ports with a management endpoint
};

/// Serves NVMe-MI Send and Receive. The subsystem owns the interface: it knows no NVMe-MI.
class InBandManagement {
 public:
  /// Bytes that come along with this Send.
  virtual std::size_t data_bytes(const InBandRequest& request) = 0;
  virtual InBandAnswer on_request(const InBandRequest& request) = 0;

 protected:
  ~InBandManagement() = default;
};

}  // namespace fb::subsystem
