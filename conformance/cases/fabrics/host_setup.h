// What the cases on how a host sets its queues up share.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "conformance/runner/host_bench.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/property.h"

namespace fb::conformance::host_setup {

inline constexpr std::uint8_t kFabrics = 0x7F;                                            // opcode
inline constexpr std::uint8_t kPropertySet = 0x00, kConnect = 0x01, kPropertyGet = 0x04;  // FCTYPE
inline constexpr std::uint8_t kIdentify = 0x06, kSetFeatures = 0x09, kKeepAlive = 0x18;   // admin
inline constexpr std::uint8_t kWrite = 0x01, kRead = 0x02;                                // I/O

/// Lets the host try, with a controller that looks away: what it says is judged by the case alone.
inline void let_it_connect(HostBench& bench, const HostUnderTest::Request& request = {}) {
  bench.script.refuses = [](const CommandContext&, subsystem::Refusal&) { return false; };
  bench.product().connect(request).wait_for(30_s);
}

inline bool is_connect(const CommandContext& command) { return command.sqe[0] == kFabrics && command.sqe[4] == kConnect; }

inline std::vector<const SeenCommand*> connects_of(const HostBench& bench, bool io) {
  std::vector<const SeenCommand*> found;
  for (const SeenCommand* seen : bench.fabrics_commands(kConnect)) {
    if ((seen->as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::qid) != 0) == io) found.push_back(seen);
  }
  return found;
}

inline bool has_data(const SeenCommand& connect) { return connect.data.size() == fabrics::ConnectData::size; }
inline View<fabrics::ConnectData> data_of(const SeenCommand& connect) { return View<fabrics::ConnectData>{connect.data}; }

inline bool all_zero(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t one) { return one == 0; });
}
inline void zero(Check& check, std::string_view what, ByteView bytes) {
  check.that(all_zero(bytes), std::string(what) + " are 0", "they are not");
}

/// Writes of CC that set EN.
inline std::vector<const SeenCommand*> enables(const HostBench& bench) {
  std::vector<const SeenCommand*> found;
  for (const SeenCommand* seen : bench.fabrics_commands(kPropertySet)) {
    if (seen->cdw(11) == fabrics::property::cc && (seen->cdw(12) & 1) != 0) found.push_back(seen);
  }
  return found;
}

/// `field` of CAP is read as `value`.
template <class Field>
void with_cap(std::uint32_t offset, std::uint64_t& value, const Field& field, std::uint64_t wanted) {
  if (offset != fabrics::property::cap) return;
  auto cap = record_from_integer<fabrics::Cap>(value);
  cap.set(field, wanted);
  value = integer_of(cap);
}

}  // namespace fb::conformance::host_setup
