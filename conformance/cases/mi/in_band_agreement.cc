// A management endpoint and the in-band tunnel of the same drive: what both say alike, and what each keeps for itself.
#include <functional>

#include <fmt/format.h>

#include "conformance/cases/mi/structures.h"
#include "model/drive/drive.h"
#include "model/mi/in_band.h"
#include "model/subsystem/subsystem.h"

namespace fb::conformance {
namespace {

using mi::DataType;
using mi::Opcode;
namespace bits = mi::change_bits;

constexpr std::uint32_t kClearStatus = 1u << 31;
constexpr std::uint32_t kAll = 1u << 31, kEvery = 7u << 24, kMost = 254u << 16, kClearFlags = 1u << 31;

const arranged both_ways("a drive that is asked in band and out of band", [](EmbeddedSetup& setup) { setup.managed->in_band = true; });

/// NVMe-MI Send or Receive of the drive's first controller.
subsystem::InBandAnswer in_band(EndpointBench& bench, Opcode opcode, std::uint32_t nmd0 = 0, std::uint32_t nmd1 = 0) {
  subsystem::Subsystem& disk = bench.drive().subsystem();
  const auto code = static_cast<std::uint8_t>(opcode);
  return disk.in_band_management()->on_request(
      {disk.controllers().begin()->first, mi::InBand::is_send(code), {0x0804, code, nmd0, nmd1}, {}});
}

/// The same status, NMRESP and data, but for the bytes of `but`.
void same(EndpointBench& bench, Check& check, Opcode opcode, std::uint32_t nmd0, std::uint32_t nmd1,
          const std::vector<std::size_t>& but = {}) {
  const std::string what = fmt::format("{} with NMD0 {:08x}h and NMD1 {:08x}h", mi::name_of(opcode), nmd0, nmd1);
  const MiAnswer out = bench.command(opcode, nmd0, nmd1);
  if (!check.that(out.answered(), what + " is answered out of band", out.describe())) return;
  const subsystem::InBandAnswer in = in_band(bench, opcode, nmd0, nmd1);
  check.equal("DW0 of " + what, in.dw0, load_le<std::uint32_t>(&out.body[4]));
  Bytes expected(out.data().begin(), out.data().end());
  expected.resize((expected.size() + 3) / 4 * 4);
  Bytes seen = in.data;
  for (const std::size_t at : but) {
    if (at < seen.size() && at < expected.size()) seen[at] = expected[at];
  }
  check.bytes("data of " + what, seen, expected);
}

}  // namespace

CONFORMANCE_CASE(structures_are_the_same_in_band, "mi.in-band.same", roles::endpoint, both_ways) {
  constexpr std::uint32_t kList = 2u << 24, kController = 3u << 24, kPort = 1u << 24;
  same(bench, check, Opcode::read_data_structure, 0, 0);
  // What a port's endpoint has beyond a controller: automatic pause and events, and a buffer.
  for (const std::uint32_t port : {0u, 1u, 2u, 0xFFu})
    same(bench, check, Opcode::read_data_structure, kPort | port << 16, 0, {1, 4, 5, 6, 7});
  for (const std::uint32_t id : {0u, 1u, 2u, 3u, 0xFFFFu}) {
    same(bench, check, Opcode::read_data_structure, kList | id, 0);
    same(bench, check, Opcode::read_data_structure, kController | id, 0);
  }
  for (const std::uint32_t type : {6u, 0x80u, 0xFFu}) same(bench, check, Opcode::read_data_structure, type << 24, 0);
  const auto size = static_cast<std::uint32_t>(bench.drive().device().vpd().size());
  for (const std::uint32_t offset : {0u, 1u, 7u, size / 2, size - 1, size, size + 1}) {
    for (const std::uint32_t length : {0u, 1u, 3u, 8u, size - std::min(offset, size), size + 1 - std::min(offset, size), 0xFFFFu}) {
      same(bench, check, Opcode::vpd_read, offset, length);
    }
  }
  same(bench, check, Opcode::configuration_get, 2, 0);
  for (const std::uint32_t id : {0u, 5u, 0xBFu}) same(bench, check, Opcode::configuration_set, id, 0);
  for (const std::uint32_t type : {2u, 0x80u, 0xFFu}) {
    same(bench, check, Opcode::reset, type << 24, 0);
    same(bench, check, Opcode::shutdown, type << 24, 0);
  }
  for (const auto opcode : {Opcode::ses_receive, static_cast<Opcode>(0x0D), static_cast<Opcode>(0xBF)}) same(bench, check, opcode, 0, 0);
}

CONFORMANCE_CASE(health_is_the_same_in_band, "mi.in-band.same", roles::endpoint, both_ways) {
  subsystem::Subsystem& disk = bench.drive().subsystem();
  const std::vector<std::function<void()>> events = {[] {},
                                                     [&] { disk.set_temperature(341); },
                                                     [&] { disk.set_critical_warning(0x0A); },
                                                     [&] { disk.set_percentage_used(254); },
                                                     [&] { disk.set_available_spare(3); },
                                                     [&] { bench.drive().device().set_link(0, false); },
                                                     [&] { disk.set_percentage_used(255); }};
  for (const auto& event : events) {
    event();
    same(bench, check, Opcode::subsystem_health_poll, 0, 0);
    same(bench, check, Opcode::controller_health_poll, kAll | kEvery | kMost, 0);
    same(bench, check, Opcode::controller_health_poll, kEvery | kMost, 0x1F);
    same(bench, check, Opcode::controller_health_poll, kEvery | kMost | 2, 0x02);
    same(bench, check, Opcode::controller_health_poll, kEvery, 0x1F);
  }
}

namespace {

std::uint16_t out_of_band_changes(EndpointBench& bench, Check& check, bool clear) {
  const MiAnswer answer = bench.command(Opcode::subsystem_health_poll, 0, clear ? kClearStatus : 0);
  check.require(answer.ok() && answer.data().size() == 8, "the poll has eight bytes", answer.describe());
  return load_le<std::uint16_t>(&answer.data()[4]);
}
std::uint16_t in_band_changes(EndpointBench& bench, Check& check, bool clear) {
  const auto answer = in_band(bench, Opcode::subsystem_health_poll, 0, clear ? kClearStatus : 0);
  check.require(answer.dw0 == 0 && answer.data.size() == 8, "the poll has eight bytes in band", words(answer.dw0));
  return load_le<std::uint16_t>(&answer.data[4]);
}
/// How many controllers are told of as changed, by each mechanism.
std::size_t changed_out_of_band(EndpointBench& bench, std::uint32_t more = 0) {
  return bench.command(Opcode::controller_health_poll, kEvery | kMost, 0x02 | more).nmresp() >> 16;
}
std::size_t changed_in_band(EndpointBench& bench, std::uint32_t more = 0) {
  return in_band(bench, Opcode::controller_health_poll, kEvery | kMost, 0x02 | more).dw0 >> 24;
}

}  // namespace

CONFORMANCE_CASE(changes_are_kept_for_each_mechanism, "mi.in-band.independent", roles::endpoint, both_ways) {
  subsystem::Subsystem& disk = bench.drive().subsystem();
  std::uint16_t kelvins = 320;
  const auto begin = [&] {
    out_of_band_changes(bench, check, true);
    in_band_changes(bench, check, true);
    changed_out_of_band(bench, kClearFlags);
    changed_in_band(bench, kClearFlags);
    disk.set_temperature(++kelvins);
  };
  begin();
  in_band_changes(bench, check, true);
  check.equal("CTEMP out of band after CS in band", out_of_band_changes(bench, check, false) & bits::ctemp, bits::ctemp);
  begin();
  out_of_band_changes(bench, check, true);
  check.equal("CTEMP in band after CS out of band", in_band_changes(bench, check, false) & bits::ctemp, bits::ctemp);
  begin();
  in_band(bench, Opcode::configuration_set, 2, 0x1FFF);
  check.equal("CTEMP in band after Configuration Set in band", in_band_changes(bench, check, false) & bits::ctemp, 0);
  check.equal("CTEMP out of band after Configuration Set in band", out_of_band_changes(bench, check, false) & bits::ctemp, bits::ctemp);
  begin();
  success(check, bench.command(Opcode::configuration_set, 2, 0x1FFF), "Configuration Set out of band");
  check.equal("CTEMP in band after Configuration Set out of band", in_band_changes(bench, check, false) & bits::ctemp, bits::ctemp);
  begin();
  const std::size_t all = disk.controllers().size();
  check.equal("controllers in band with CCF", changed_in_band(bench, kClearFlags), all);
  check.equal("controllers in band after CCF in band", changed_in_band(bench), 0u);
  check.equal("controllers out of band after CCF in band", changed_out_of_band(bench, kClearFlags), all);
  begin();
  check.equal("controllers out of band with CCF", changed_out_of_band(bench, kClearFlags), all);
  check.equal("controllers in band after CCF out of band", changed_in_band(bench), all);
}

}  // namespace fb::conformance
