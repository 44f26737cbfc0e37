// Hooks of the subsystem that consist of one function, for deviations that no table expresses:
//
//   bool lets_reads_through(const CommandContext& command, Refusal& refusal) { ... }
//   DEVIATION(..., hooks<Refusing, &lets_reads_through>());
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/subsystem/hooks.h"
#include "wire/nvme/identify.h"
#include "wire/nvme/opcodes.h"

namespace fb::deviations {

using subsystem::CommandContext;
using subsystem::Refusal;
using Answer = subsystem::SubsystemHooks::Answer;

inline std::uint8_t opcode_of(const CommandContext& command) { return command.sqe[0]; }
inline unsigned fuse_of(const CommandContext& command) { return command.sqe[1] & 3u; }
inline std::uint16_t cid_of(const CommandContext& command) { return load_le<std::uint16_t>(command.sqe.data() + 2); }
inline std::uint32_t cdw10_of(const CommandContext& command) { return load_le<std::uint32_t>(command.sqe.data() + 40); }
inline std::uint64_t slba_of(const CommandContext& command) { return load_le<std::uint64_t>(command.sqe.data() + 40); }
inline bool is_admin(const CommandContext& command, std::uint8_t opcode) { return command.qid == 0 && command.sqe[0] == opcode; }
inline bool identifies(const CommandContext& command, nvme::Cns cns) {
  return is_admin(command, static_cast<std::uint8_t>(nvme::AdminOpcode::identify)) &&
         (cdw10_of(command) & 0xFF) == static_cast<std::uint32_t>(cns);
}
inline bool is_io(const CommandContext& command, std::uint8_t opcode) { return command.qid != 0 && command.sqe[0] == opcode; }

/// Decides about refusals: false goes on as if the check had passed.
class Refusing final : public subsystem::SubsystemHooks {
 public:
  using Function = bool (*)(const CommandContext&, Refusal&);
  explicit Refusing(Function function) : function_(function) {}
  bool refuses(const CommandContext& command, Refusal& refusal) override { return function_(command, refusal); }

 private:
  Function function_;
};

/// Answers commands without executing them.
class Answering final : public subsystem::SubsystemHooks {
 public:
  using Function = std::optional<nvme::Status> (*)(const CommandContext&);
  explicit Answering(Function function) : function_(function) {}
  std::optional<nvme::Status> admission(const CommandContext& command) override { return function_(command); }

 private:
  Function function_;
};

/// Changes data on its way to the host.
class AlteringDataOut final : public subsystem::SubsystemHooks {
 public:
  using Function = void (*)(const CommandContext&, MutableBytes);
  explicit AlteringDataOut(Function function) : function_(function) {}
  void data_out(const CommandContext& command, MutableBytes data) override { function_(command, data); }

 private:
  Function function_;
};

/// Changes data that came from the host.
class AlteringDataIn final : public subsystem::SubsystemHooks {
 public:
  using Function = void (*)(const CommandContext&, MutableBytes);
  explicit AlteringDataIn(Function function) : function_(function) {}
  void data_in(const CommandContext& command, MutableBytes data) override { function_(command, data); }

 private:
  Function function_;
};

/// Changes completions, or what becomes of them.
class AlteringCompletions final : public subsystem::SubsystemHooks {
 public:
  using Function = Answer (*)(const CommandContext&, MutableBytes);
  explicit AlteringCompletions(Function function) : function_(function) {}
  Answer completion(const CommandContext& command, MutableBytes cqe) override { return function_(command, cqe); }

 private:
  Function function_;
};

}  // namespace fb::deviations
