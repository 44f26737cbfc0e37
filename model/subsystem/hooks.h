// Where the emulated subsystem speaks. The honest model calls these and goes on as the
// specification says; deviations, cases that play a misbehaving controller, and scripts override
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/time.h"
#include "model/transport/hooks.h"
#include "wire/nvme/status.h"

namespace fb::subsystem {

class Controller;

/// A command as the hooks see it.
struct CommandContext {
  std::uint16_t qid = 0;
  ByteView sqe;                      ///< 64 bytes
  Controller* controller = nullptr;  ///< null before Connect
};

/// Why the honest model is about to refuse a command. Each check of the model has a stable name
/// ("connect.sqsize.minimum"), so that a deviation can say just which one it leaves out.
struct Refusal {
  std::string_view check;
  nvme::Status status;
  /// Connect only: where the fault is (IPO) and whether that counts in the data (IATTR.IPS).
  std::uint16_t parameter_offset = 0;
  bool parameter_in_data = false;
};

class SubsystemHooks : public transport::TransportHooks {
 public:
  /// A check failed. May change the refusal; returning false makes the model go on as if the check
  /// had passed.
  virtual bool refuses(const CommandContext& command, Refusal& refusal) {
    (void)command;
    (void)refusal;
    return true;
  }
  /// A command was fetched, before any check. A status answers it at once without executing it.
  virtual std::optional<nvme::Status> admission(const CommandContext& command) {
    (void)command;
    return std::nullopt;
  }
  /// A command that the product executes by itself, known to the model or not: the bytes that move, in the direction
  /// of its opcode (and 0 where the opcode says that none do). Nothing leaves it to the model.
  virtual std::optional<std::size_t> own_command(const CommandContext& command) {
    (void)command;
    return std::nullopt;
  }
  struct Executed {
    nvme::Status status;
    std::uint64_t dwords = 0;  ///< DW0 and DW1 of the completion
  };
  /// Executes it: `data` came from the host, or goes there where the status is a success.
  virtual Executed execute(const CommandContext& command, MutableBytes data) {
    (void)command;
    (void)data;
    return {};
  }
  /// Further time between the arrival of an I/O command and its execution.
  virtual Duration latency(const CommandContext& command) {
    (void)command;
    return {};
  }
  /// A property is read: `value` may be changed.
  virtual void property_read(std::uint32_t offset, std::uint64_t& value) {
    (void)offset;
    (void)value;
  }
  /// A property is written: `value` may be changed; false ignores the write (but answers success).
  virtual bool property_write(std::uint32_t offset, std::uint64_t& value) {
    (void)offset;
    (void)value;
    return true;
  }
  /// A Connect arrived on a queue with this PSK identity; empty without TLS.
  virtual void queue_secured(std::uint16_t qid, std::string_view identity) {
    (void)qid;
    (void)identity;
  }
  /// Data on its way to the host (Identify, log pages, read data ...).
  virtual void data_out(const CommandContext& command, MutableBytes data) {
    (void)command;
    (void)data;
  }
  /// Data that came from the host, before it takes effect.
  virtual void data_in(const CommandContext& command, MutableBytes data) {
    (void)command;
    (void)data;
  }
  /// What to do with a completion on its way out.
  enum class Answer : std::uint8_t { send, withhold, send_twice, disconnect_instead };
  virtual Answer completion(const CommandContext& command, MutableBytes cqe) {
    (void)command;
    (void)cqe;
    return Answer::send;
  }
};

/// Of a product that nobody looks into: they change nothing.
inline SubsystemHooks& no_hooks() {
  static SubsystemHooks honest;
  return honest;
}

}  // namespace fb::subsystem
