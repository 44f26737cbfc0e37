// What the cases on the commands of a host share.
#pragma once

#include <vector>

#include "conformance/runner/host_bench.h"

namespace fb::conformance {

namespace opcode {
inline constexpr std::uint8_t kGetLog = 0x02, kIdentify = 0x06, kEventRequest = 0x0C;  // admin
inline constexpr std::uint8_t kWrite = 0x01, kRead = 0x02;                             // I/O
}  // namespace opcode

inline std::vector<const SeenCommand*> admin_commands(const HostBench& bench, std::uint8_t which) {
  std::vector<const SeenCommand*> found;
  for (const SeenCommand* seen : bench.commands_of(which)) {
    if (seen->qid == 0) found.push_back(seen);
  }
  return found;
}

inline std::vector<const SeenCommand*> io_commands(const HostBench& bench, std::uint8_t which) {
  std::vector<const SeenCommand*> found;
  for (const SeenCommand* seen : bench.commands_of(which)) {
    if (seen->qid != 0) found.push_back(seen);
  }
  return found;
}

inline bool is_io(const CommandContext& command, std::uint8_t which) {
  return command.qid != 0 && command.sqe[0] == which;
}
inline std::uint64_t lba_of(ByteView sqe) { return load_le<std::uint64_t>(sqe.data() + 40); }
inline std::uint32_t blocks_of(const SeenCommand& seen) { return (seen.cdw(12) & 0xFFFF) + 1; }

inline Bytes host_pattern(std::size_t bytes) {
  Bytes data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  return data;
}

/// Reads or writes, however it ends.
inline void attempt(HostBench& bench, std::uint8_t which, std::uint32_t nsid, std::uint64_t lba, std::size_t bytes) {
  Bytes& data = bench.keep(host_pattern(bytes));
  Op<nvme::Status> doing =
      which == opcode::kRead ? bench.product().read(nsid, lba, data) : bench.product().write(nsid, lba, data);
  doing.wait_for(10_s);
}

}  // namespace fb::conformance
