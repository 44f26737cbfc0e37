// Requests that several of the NVMe-MI cases make, and what they read from the answers.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "conformance/cases/mi/exchange.h"
#include "wire/nvme/identify.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/logs.h"

namespace fb::conformance {

/// Read NVMe-MI Data Structure: NMD0.
constexpr std::uint32_t structure_of(mi::DataType type, std::uint16_t cntlid = 0, std::uint8_t port = 0) {
  return static_cast<std::uint32_t>(type) << 24 | std::uint32_t{port} << 16 | cntlid;
}
inline MiAnswer read_structure(EndpointBench& bench, mi::DataType type, std::uint16_t cntlid = 0, std::uint8_t port = 0,
                               const MiTerms& terms = {}) {
  return bench.command(mi::Opcode::read_data_structure, structure_of(type, cntlid, port), 0, {}, terms);
}

/// The product's controllers; INCONCLUSIVE without one.
inline std::vector<std::uint16_t> controllers_of(EndpointBench& bench) {
  const MiAnswer list = read_structure(bench, mi::DataType::controller_list);
  const auto ids = mi::parse_controller_list(list.data());
  if (!list.ok() || !ids || ids->empty()) throw CannotArrange{"no list of controllers: " + list.describe()};
  return *ids;
}

inline nvme::Sqe identify_controller_sqe() {
  nvme::Sqe sqe;
  sqe.set(nvme::sqe::opcode, 0x06).set(nvme::sqe::cdw10, static_cast<std::uint32_t>(nvme::Cns::controller));
  return sqe;
}
/// Identify Controller whole: the longest answer that every endpoint has, 65 packets of 64 bytes.
inline Bytes long_request(std::uint16_t cntlid, const MiTerms& terms = {}) {
  return admin_message(cntlid, identify_controller_sqe(), 0, nvme::kIdentifySize, {}, terms);
}
inline MiAnswer identify_controller(EndpointBench& bench, std::uint16_t cntlid, const MiTerms& terms = {}) {
  return bench.request(long_request(cntlid, terms), terms);
}
/// The SMART / Health log of a controller through the tunnel; INCONCLUSIVE without it.
inline Bytes smart_log(EndpointBench& bench, std::uint16_t cntlid) {
  constexpr std::uint32_t kDwords = nvme::SmartLog::size / 4 - 1;
  nvme::Sqe sqe;
  sqe.set(nvme::sqe::opcode, 0x02)
      .set(nvme::sqe::nsid, nvme::kAllNamespaces)
      .set(nvme::sqe::cdw10, kDwords << 16 | static_cast<std::uint32_t>(nvme::LogPage::smart));
  const MiAnswer log = bench.admin(cntlid, sqe, 0, nvme::SmartLog::size);
  if (!log.admin_ok() || log.admin_data().size() != nvme::SmartLog::size) {
    throw CannotArrange{"the SMART log: " + log.describe()};
  }
  return Bytes(log.admin_data().begin(), log.admin_data().end());
}

/// 256 bytes of vital product data, which every product has: five packets.
inline constexpr std::uint32_t kVpdBytes = 256;
inline Bytes vpd_request(const MiTerms& terms = {}, std::uint32_t bytes = kVpdBytes) {
  return mi_message(static_cast<std::uint8_t>(mi::Opcode::vpd_read), 0, bytes, {}, terms);
}

/// The emulated drive takes its time for VPD Read.
template <int Milliseconds>
void slow_vpd(EmbeddedSetup& setup) {
  setup.managed->drive.endpoint.durations[{mi::MessageKind::mi_command, static_cast<std::uint8_t>(mi::Opcode::vpd_read)}] =
      Duration::ms(Milliseconds);
}

inline bool all_zero(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}
inline bool zero(Check& check, ByteView bytes, std::string_view what) {
  return check.that(all_zero(bytes), std::string(what) + " are zero", words(bytes));
}

}  // namespace fb::conformance
