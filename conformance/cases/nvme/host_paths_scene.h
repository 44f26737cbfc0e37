// A host with two paths to the namespaces of one subsystem: two controllers, each behind a port of its own.
#pragma once

#include <functional>

#include "conformance/cases/nvme/host_scene.h"
#include "conformance/runner/embedded_controller.h"
#include "wire/fabrics/connect.h"

namespace fb::conformance {

/// Of the namespaces of the bench.
inline constexpr std::uint32_t kAnaGroup = 1;
/// Where the cases read and write: hosts that look for partitions do not come here.
inline constexpr std::uint64_t kPathLba = 4000;

/// The controllers, by the ports of the bench that they are behind.
struct TwoPaths {
  std::uint16_t first = 0;
  std::uint16_t second = 0;
  std::uint16_t of_port(std::uint16_t portid) const { return portid == 1 ? first : second; }
};

inline void pause(HostBench& bench, Duration time) {
  bench.run_until([] { return false; }, time);
}

/// The association that came through this port of the bench; 0 without one.
inline std::uint16_t controller_of_port(HostBench& bench, std::uint16_t portid) {
  for (const auto& [cntlid, controller] : bench.subsystem().controllers()) {
    const bool here = controller->port() != nullptr && controller->port()->options().portid == portid;
    if (here && controller->in_association()) return cntlid;
  }
  return 0;
}

/// `before_second` is called between the two associations.
inline TwoPaths connect_two_paths(HostBench& bench, Check& check, const HostUnderTest::Request& request = {},
                                  const std::function<void()>& before_second = {}) {
  if (!bench.product().joins_paths()) throw NotOffered{"needs a host that takes two associations for paths to one namespace"};
  const subsystem::Namespace* const space = bench.subsystem().find_namespace(bench.nsid());
  check.precondition(space != nullptr && space->shared() && space->block_bytes() == 512,
                     "namespace 1 is a shared one with blocks of 512 bytes");
  bench.connect_product(request);
  if (before_second) before_second();
  HostUnderTest::Request other = request;
  other.at = bench.open_port(2);
  const HostOutcome connected = bench.product().connect(other).wait();
  if (!connected.ok) throw CannotArrange{"the host does not connect a second time: " + connected.text};
  const TwoPaths paths{controller_of_port(bench, 1), controller_of_port(bench, 2)};
  check.precondition(paths.first != 0 && paths.second != 0, "two associations, one through each port");
  pause(bench, 2_s);
  return paths;
}

inline bool is_at_path_lba(ByteView sqe) { return lba_of(sqe) >= kPathLba && lba_of(sqe) < kPathLba + 256; }

/// Reads and writes at kPathLba that came to this controller; to any of them where it is 0.
inline std::vector<const SeenCommand*> path_commands(const HostBench& bench, std::uint16_t cntlid) {
  std::vector<const SeenCommand*> found;
  for (const SeenCommand& seen : bench.commands()) {
    const bool moves = seen.opcode() == opcode::kRead || seen.opcode() == opcode::kWrite;
    const bool here = cntlid == 0 || seen.cntlid == cntlid;
    if (seen.qid != 0 && moves && here && is_at_path_lba(seen.sqe.bytes())) found.push_back(&seen);
  }
  return found;
}

/// Writes blocks at kPathLba and reads them back, one command after the other.
inline void write_and_read(HostBench& bench, Check& check, unsigned count, std::string_view when) {
  for (unsigned i = 0; i < count; ++i) {
    Bytes& data = bench.keep(host_pattern(512));
    Bytes& back = bench.keep(Bytes(512));
    data[0] = static_cast<std::uint8_t>(i);
    const auto written = bench.product().write(bench.nsid(), kPathLba + i, data).wait_for(120_s);
    check.require(written.has_value(), "a write ends " + std::string(when), "it does not");
    check.require_success(*written, "write " + std::string(when));
    const auto read = bench.product().read(bench.nsid(), kPathLba + i, back).wait_for(120_s);
    check.require(read.has_value(), "a read ends " + std::string(when), "it does not");
    check.require_success(*read, "read " + std::string(when));
    check.bytes("data read back " + std::string(when), back, data);
  }
}

inline std::uint32_t kato_of(const HostBench& bench, std::uint16_t cntlid) {
  for (const SeenCommand* seen : bench.fabrics_commands(0x01)) {
    if (seen->cntlid == cntlid && seen->qid == 0) return seen->as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::kato);
  }
  return 0;
}

/// When a controller that fell silent has certainly stopped: Base 9.6.2, without any sign from the controller.
inline Instant certainly_stopped(HostBench& bench, std::uint16_t cntlid) {
  const auto& options = bench.subsystem().options();
  const Duration unit = Duration::ms(100) * std::max<std::int64_t>(options.kas, 1);
  const Duration kato = Duration::ms(kato_of(bench, cntlid));
  const Duration katt = unit * ((kato.count_ns() + unit.count_ns() - 1) / unit.count_ns());
  Instant last;
  for (const SeenCommand& seen : bench.commands()) {
    if (seen.cntlid != cntlid) continue;
    const bool starts = seen.fctype() == 0x01 && seen.qid == 0;
    const bool keeps = seen.qid == 0 && seen.opcode() == opcode::kKeepAlive;
    if (starts || keeps || options.traffic_based_keep_alive) last = std::max(last, seen.at);
  }
  return last + katt * (options.traffic_based_keep_alive ? 3 : 2) + Duration::ms(options.cqt_ms);
}

inline bool reads_ana_log(const HostBench& bench, std::uint16_t cntlid) {
  for (const SeenCommand* seen : admin_commands(bench, opcode::kGetLog)) {
    if ((seen->cdw(10) & 0xFF) == 0x0C && seen->cntlid == cntlid) return true;
  }
  return false;
}

}  // namespace fb::conformance
