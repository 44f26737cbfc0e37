// What the cases on the commands of a host share.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "conformance/runner/embedded_controller.h"
#include "conformance/runner/host_bench.h"

namespace fb::conformance {

namespace opcode {
inline constexpr std::uint8_t kGetLog = 0x02, kIdentify = 0x06, kEventRequest = 0x0C, kKeepAlive = 0x18;  // admin
inline constexpr std::uint8_t kWrite = 0x01, kRead = 0x02;                                                // I/O
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

inline bool is_io(const CommandContext& command, std::uint8_t which) { return command.qid != 0 && command.sqe[0] == which; }
inline std::uint64_t lba_of(ByteView sqe) { return load_le<std::uint64_t>(sqe.data() + 40); }
inline std::uint32_t blocks_of(const SeenCommand& seen) { return (seen.cdw(12) & 0xFFFF) + 1; }

/// The commands that are under way, by controller and queue. What ends without an answer is forgotten: a queue that is connected
/// anew, a controller that is reset or that another association is given.
class UnderWay {
 public:
  explicit UnderWay(std::function<bool(const CommandContext&)> counts) : counts_(std::move(counts)) {}

  /// To be called with each command that is admitted.
  void admitted(const CommandContext& command) {
    const std::uint16_t cntlid = controller_of(command);
    if (is_fabrics(command, 0x00) && load_le<std::uint32_t>(&command.sqe[44]) == 0x14 && (command.sqe[48] & 1) == 0) {
      std::erase_if(all_, [&](const Key& one) { return one.cntlid == cntlid; });
    }
    if (!counts_(command)) return;
    const Key key{cntlid, command.qid, load_le<std::uint16_t>(&command.sqe[2])};
    twice_ += std::count(all_.begin(), all_.end(), key) > 0;
    all_.push_back(key);
    most_ = std::max(most_, all_.size());
  }
  /// To be called with each completion.
  void completed(const CommandContext& command, ByteView cqe) {
    const Key key{controller_of(command), command.qid, load_le<std::uint16_t>(&command.sqe[2])};
    if (const auto at = std::find(all_.begin(), all_.end(), key); at != all_.end()) all_.erase(at);
    if (!is_fabrics(command, 0x01)) return;
    const std::uint16_t given = load_le<std::uint16_t>(cqe.data());
    std::erase_if(all_, [&](const Key& one) { return one.cntlid == given && (command.qid == 0 || one.qid == command.qid); });
  }
  unsigned twice() const { return twice_; }
  std::size_t most() const { return most_; }

 private:
  struct Key {
    std::uint16_t cntlid, qid, cid;
    bool operator==(const Key&) const = default;
  };
  static bool is_fabrics(const CommandContext& command, std::uint8_t fctype) { return command.sqe[0] == 0x7F && command.sqe[4] == fctype; }
  static std::uint16_t controller_of(const CommandContext& command) {
    return command.controller == nullptr ? std::uint16_t{0} : command.controller->cntlid();
  }
  std::function<bool(const CommandContext&)> counts_;
  std::vector<Key> all_;
  std::size_t most_ = 0;
  unsigned twice_ = 0;
};

/// The bench tells `under_way` of every command, until the script is another one.
inline void follow(HostBench& bench, UnderWay& under_way) {
  bench.script.admission = [&](const CommandContext& command) -> std::optional<nvme::Status> {
    under_way.admitted(command);
    return std::nullopt;
  };
  bench.script.completion = [&](const CommandContext& command, MutableBytes cqe) {
    under_way.completed(command, cqe);
    return Answer::send;
  };
}

/// For cases that count what a host sends: after a loss it may send the same again.
inline void needs_one_association(HostBench& bench, Check& check, std::size_t connections) {
  check.precondition(bench.connections() == connections, "the association lasts");
}

inline Bytes host_pattern(std::size_t bytes) {
  Bytes data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  return data;
}

/// Reads or writes, however it ends.
inline void attempt(HostBench& bench, std::uint8_t which, std::uint32_t nsid, std::uint64_t lba, std::size_t bytes) {
  Bytes& data = bench.keep(host_pattern(bytes));
  Op<nvme::Status> doing = which == opcode::kRead ? bench.product().read(nsid, lba, data) : bench.product().write(nsid, lba, data);
  doing.wait_for(10_s);
}

}  // namespace fb::conformance
