// PCIe commands: configuration space, memory and I/O of a controller's function.
#include "conformance/cases/mi/commands.h"
#include "model/drive/drive.h"

namespace fb::conformance {
namespace {

using mi::MessageKind;
using mi::Opcode;
using mi::PcieOpcode;

constexpr std::size_t kSpace = 4096;
constexpr std::uint8_t kBar0 = 0x10;
constexpr std::uint8_t kInterruptLine = 0x3C;

template <PcieOpcode Command>
std::optional<std::string> offers_pcie(const Declared& declared) {
  if (declared.endpoint.supports({MessageKind::pcie_command, static_cast<std::uint8_t>(Command)})) return std::nullopt;
  return "the product does not offer " + std::string(mi::name_of(Command));
}
bool listed(const EndpointBench& bench, PcieOpcode command) {
  return bench.declared().supports({MessageKind::pcie_command, static_cast<std::uint8_t>(command)});
}

/// An endpoint may block ranges of an address space (Access Denied), and need not serve a function whose link is down or
/// that is in reset (PCIe Inaccessible). Then there is nothing to judge: INCONCLUSIVE.
const MiAnswer& reached(Check& check, const MiAnswer& answer, std::string_view what) {
  const bool blocked = answer.answered() && answer.mic_good &&
                       (answer.status() == mi::Status::access_denied || answer.status() == mi::Status::pcie_inaccessible);
  if (blocked) check.inconclusive(fmt::format("{}: {}", what, answer.describe()));
  return answer;
}

bool is_done(const MiAnswer& answer) { return answer.answered() && answer.mic_good && answer.status() == mi::Status::success; }

/// Bytes of the configuration space; INCONCLUSIVE without them.
Bytes configuration_at(EndpointBench& bench, Check& check, std::uint16_t cntlid, std::uint16_t offset, std::uint16_t length) {
  const MiAnswer answer = bench.pcie(cntlid, PcieOpcode::configuration_read, offset, length);
  precondition(check, answer, "PCIe Configuration Read");
  check.precondition(answer.data().size() >= length, "PCIe Configuration Read returns what was asked for");
  return {answer.data().begin(), answer.data().begin() + length};
}

/// One of the six base addresses, as the configuration space shows it.
struct BaseAddress {
  unsigned number = 0;
  bool io = false;
};
/// Those that have a value; upper halves of 64-bit ones are left out.
std::vector<BaseAddress> base_addresses(EndpointBench& bench, Check& check, std::uint16_t cntlid) {
  const Bytes bytes = configuration_at(bench, check, cntlid, kBar0, 24);
  std::vector<BaseAddress> found;
  for (unsigned i = 0; i < 6; ++i) {
    const auto value = load_le<std::uint32_t>(&bytes[4 * i]);
    if (value == 0) continue;
    const bool io = (value & 1) != 0;
    found.push_back({i, io});
    if (!io && (value & 6) == 4) ++i;
  }
  return found;
}

std::size_t padded(std::size_t bytes) { return (bytes + 3) / 4 * 4; }

/// Success with as many bytes as were asked for, in whole dwords; they are `expected`.
bool read_is(Check& check, const MiAnswer& answer, ByteView expected, const std::string& what) {
  if (!success_with(check, reached(check, answer, what), padded(expected.size()), what)) return false;
  check.that(answer.body[5] == 0 && answer.body[6] == 0 && answer.body[7] == 0, "reserved bytes are zero behind the status");
  return check.bytes(what, answer.data().first(expected.size()), expected);
}

/// A piece holds what the whole space held before and holds behind it. A register that changes meanwhile may hold anything.
void same_but_registers_that_change(EndpointBench& bench, Check& check, std::uint16_t cntlid, ByteView piece, ByteView before,
                                    std::size_t offset, const std::string& what) {
  if (std::equal(piece.begin(), piece.end(), before.begin() + static_cast<std::ptrdiff_t>(offset))) return;
  const Bytes after = configuration_at(bench, check, cntlid, 0, kSpace);
  Bytes seen(piece.begin(), piece.end());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (before[offset + i] != after[offset + i]) seen[i] = after[offset + i];
  }
  check.bytes("configuration space in " + what, seen, ByteView{after}.subspan(offset, seen.size()));
}

}  // namespace

// Writes are asked for with a controller that there is not: an opcode that is known all the same does no
// harm.
CONFORMANCE_CASE(pcie_commands_are_listed, "mi.pcie.support.listed", roles::endpoint) {
  const std::uint16_t cntlid = a_controller(bench, check);
  const std::uint16_t nobody = unknown_controllers(bench).front();
  bool any = false;
  for (unsigned code = 0; code < 6; ++code) {
    const auto opcode = static_cast<PcieOpcode>(code);
    any = any || listed(bench, opcode);
    const bool writes = (code & 1) != 0;
    const MiAnswer answer = bench.pcie(writes ? nobody : cntlid, opcode, 0, 4, code >= 4 ? 2 : 0, writes ? ByteView{Bytes(4)} : ByteView{});
    if (!listed(bench, opcode)) {
      refused(check, answer, mi::Status::invalid_opcode, mi::name_of(opcode));
    } else if (answer.answered()) {
      check.that(answer.status() != mi::Status::invalid_opcode, std::string(mi::name_of(opcode)) + " is known", answer.describe());
    } else {
      check.fails(mi::name_of(opcode), {"an answer"}, answer.describe());
    }
  }
  if (any) check.that(listed(bench, PcieOpcode::configuration_read), "PCIe Configuration Read is listed");
  for (unsigned code = 6; code < 0x100; ++code) {
    refused(check, bench.pcie(cntlid, static_cast<PcieOpcode>(code), 0, 0), mi::Status::invalid_opcode,
            fmt::format("PCIe command {:02x}h", code));
  }
}

CONFORMANCE_CASE(configuration_space_names_the_device, "mi.pcie.configuration.identity", roles::endpoint, needs(pcie_commands)) {
  for (const std::uint16_t cntlid : bench.declared().controllers) {
    const MiAnswer info =
        bench.command(Opcode::read_data_structure, cntlid | static_cast<std::uint32_t>(mi::DataType::controller_information) << 24);
    precondition(check, info, "Controller Information");
    check.precondition(info.data().size() >= mi::ControllerInfo::size, "Controller Information has 32 bytes");
    const View<mi::ControllerInfo> facts{info.data()};
    const Bytes head = configuration_at(bench, check, cntlid, 0, 64);
    // A virtual function of SR-IOV has FFFFh for both.
    if (load_le<std::uint32_t>(&head[0]) != 0xFFFFFFFF) {
      check.equal("vendor", load_le<std::uint16_t>(&head[0]), facts.get(mi::controller_info::vid));
      check.equal("device", load_le<std::uint16_t>(&head[2]), facts.get(mi::controller_info::did));
    }
    check.equal("programming interface", head[9], one_of(0x02, 0x03));  // 03h: an administrative controller
    check.equal("class", load_le<std::uint16_t>(&head[10]), 0x0108);
    check.equal("subsystem vendor", load_le<std::uint16_t>(&head[0x2C]), facts.get(mi::controller_info::ssvid));
    check.equal("subsystem", load_le<std::uint16_t>(&head[0x2E]), facts.get(mi::controller_info::ssid));
  }
}

CONFORMANCE_CASE(configuration_space_is_read_in_any_pieces, "mi.pcie.configuration.pieces", roles::endpoint, needs(pcie_commands)) {
  const std::uint16_t cntlid = a_controller(bench, check);
  const Bytes head = configuration_at(bench, check, cntlid, 0, 64);
  const auto read = [&](std::uint16_t offset, std::uint16_t length) {
    return bench.pcie(cntlid, PcieOpcode::configuration_read, offset, length);
  };
  for (std::uint16_t length = 1; length <= 8; ++length) {
    for (std::uint16_t offset = 0; offset < 8; ++offset) {
      const auto at = static_cast<std::uint16_t>(8 * length - 8 + offset);
      if (std::size_t{at} + length > head.size()) continue;
      read_is(check, read(at, length), ByteView{head}.subspan(at, length), fmt::format("{} bytes from {}", length, at));
    }
  }
  Bytes whole;
  for (const auto& [offset, length] : {std::pair{0, 4096}, {4095, 1}, {4092, 4}, {1, 4095}, {256, 1024}, {256, 4}, {2047, 2}, {3, 300}}) {
    const std::string what = fmt::format("{} bytes from {}", length, offset);
    const MiAnswer answer = read(static_cast<std::uint16_t>(offset), static_cast<std::uint16_t>(length));
    const bool all = success_with(check, reached(check, answer, what), padded(static_cast<std::size_t>(length)), what);
    if (offset == 0 && all) {
      check.bytes("the head of all of it", answer.data().first(64), head);
      whole.assign(answer.data().begin(), answer.data().end());
    }
    if (!all || whole.empty()) continue;
    const ByteView piece = answer.data().first(static_cast<std::size_t>(length));
    same_but_registers_that_change(bench, check, cntlid, piece, whole, static_cast<std::size_t>(offset), what);
  }
  success_with(check, read(0, 0), 0, "no bytes");
}

CONFORMANCE_CASE(pcie_data_is_padded_with_zeroes, "mi.pcie.padding", roles::endpoint, needs(pcie_commands)) {
  const std::uint16_t cntlid = a_controller(bench, check);
  for (const std::uint16_t offset : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{8}}) {
    for (const std::uint16_t length : {std::uint16_t{1}, std::uint16_t{2}, std::uint16_t{3}, std::uint16_t{5}, std::uint16_t{7}}) {
      const std::string what = fmt::format("{} bytes from {}", length, offset);
      const MiAnswer answer = bench.pcie(cntlid, PcieOpcode::configuration_read, offset, length);
      if (!success_with(check, reached(check, answer, what), padded(length), what)) continue;
      check.bytes("padding of " + what, answer.data().subspan(length), Bytes(padded(length) - length));
    }
  }
}

CONFORMANCE_CASE(configuration_space_ends_at_4_kib, "mi.pcie.configuration.range", roles::endpoint, needs(pcie_commands)) {
  const std::uint16_t cntlid = a_controller(bench, check);
  for (const auto& [offset, length] : {std::pair{4095, 2}, {4093, 4}, {4092, 8}, {1, 4096}, {2048, 2052}}) {
    const auto at = static_cast<std::uint64_t>(offset);
    const auto bytes = static_cast<std::uint16_t>(length);
    const std::string read = fmt::format("read of {} bytes from {}", length, offset);
    refused_at(check, reached(check, bench.pcie(cntlid, PcieOpcode::configuration_read, at, bytes), read), 12, read);
    if (!listed(bench, PcieOpcode::configuration_write) || length > 8) continue;
    const std::string write = fmt::format("write of {} bytes at {}", length, offset);
    const MiAnswer answer = bench.pcie(cntlid, PcieOpcode::configuration_write, at, bytes, 0, Bytes(padded(bytes)));
    refused_at(check, reached(check, answer, write), 12, write);
  }
  configuration_at(bench, check, cntlid, kSpace - 4, 4);
}

CONFORMANCE_CASE(configuration_space_can_be_written, "mi.pcie.configuration.write", roles::endpoint,
                 needs(offers_pcie<PcieOpcode::configuration_write>)) {
  const std::uint16_t cntlid = a_controller(bench, check);
  const Bytes before = configuration_at(bench, check, cntlid, 0, 64);
  const auto write = [&](std::uint16_t offset, std::uint8_t first, std::uint8_t second, std::uint16_t length) {
    const Bytes data = {first, second, 0, 0};
    return bench.pcie(cntlid, PcieOpcode::configuration_write, offset, length, 0, data);
  };
  Bytes expected = before;
  for (const unsigned line : {before[kInterruptLine] ^ 0xFFu, before[kInterruptLine] ^ 0x05u, before[kInterruptLine] + 0u}) {
    expected[kInterruptLine] = static_cast<std::uint8_t>(line);
    constexpr std::string_view kWhat = "write of the interrupt line";
    const MiAnswer answer = write(kInterruptLine, expected[kInterruptLine], 0xEE, 1);
    success_with(check, reached(check, answer, kWhat), 0, kWhat);
    check.bytes("configuration space after the write", configuration_at(bench, check, cntlid, 0, 64), expected);
  }
  const MiAnswer vendor = write(0, static_cast<std::uint8_t>(before[0] ^ 0xFF), static_cast<std::uint8_t>(before[1] ^ 0xFF), 2);
  success_with(check, reached(check, vendor, "write of the vendor"), 0, "write of the vendor");
  check.bytes("configuration space after all", configuration_at(bench, check, cntlid, 0, 64), before);
}

CONFORMANCE_CASE(every_function_has_its_own_configuration, "mi.pcie.configuration.own", roles::endpoint,
                 needs(offers_pcie<PcieOpcode::configuration_write>), arranged("functions of two controllers")) {
  const auto& ids = bench.declared().controllers;
  check.precondition(ids.size() >= 2, "two controllers");
  constexpr std::string_view kWhat = "write of the interrupt line";
  for (const unsigned round : {0x20u, 0x50u}) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Bytes data = {static_cast<std::uint8_t>(round + i), 0, 0, 0};
      const MiAnswer answer = bench.pcie(ids[i], PcieOpcode::configuration_write, kInterruptLine, 1, 0, data);
      success_with(check, reached(check, answer, kWhat), 0, kWhat);
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      check.equal(fmt::format("interrupt line of controller {}", ids[i]), configuration_at(bench, check, ids[i], kInterruptLine, 1)[0],
                  round + i);
    }
  }
}

CONFORMANCE_CASE(pcie_commands_need_a_controller, "mi.pcie.controller", roles::endpoint, needs(pcie_commands)) {
  for (const std::uint16_t cntlid : unknown_controllers(bench)) {
    for (unsigned code = 0; code < 6; ++code) {
      const auto opcode = static_cast<PcieOpcode>(code);
      if (!listed(bench, opcode)) continue;
      const Bytes data((code & 1) != 0 ? 4 : 0);
      refused_at(check, bench.pcie(cntlid, opcode, 0, 4, code >= 4 ? 2 : 0, data), 6,
                 fmt::format("{} for controller {:#x}", mi::name_of(opcode), cntlid));
    }
  }
  configuration_at(bench, check, a_controller(bench, check), 0, 4);
}

CONFORMANCE_CASE(there_are_six_base_addresses, "mi.pcie.bar.reserved", roles::endpoint, needs(offers_pcie<PcieOpcode::memory_read>)) {
  const std::uint16_t cntlid = a_controller(bench, check);
  for (const std::uint8_t bar : {std::uint8_t{6}, std::uint8_t{7}}) {
    for (unsigned code = 2; code < 6; ++code) {
      const auto opcode = static_cast<PcieOpcode>(code);
      if (!listed(bench, opcode)) continue;
      const Bytes data((code & 1) != 0 ? 4 : 0);
      const std::string what = fmt::format("{} of base address {}", mi::name_of(opcode), bar);
      refused_at(check, reached(check, bench.pcie(cntlid, opcode, 0, 4, bar, data), what), 10, what);
    }
  }
  serves(bench, check, "a request after the refusals");
}

CONFORMANCE_CASE(base_addresses_are_memory_or_io, "mi.pcie.bar.kind", roles::endpoint, needs(offers_pcie<PcieOpcode::memory_read>)) {
  const std::uint16_t cntlid = a_controller(bench, check);
  const std::vector<BaseAddress> bars = base_addresses(bench, check, cntlid);
  check.precondition(!bars.empty(), "the function has a base address");
  for (const BaseAddress& bar : bars) {
    const PcieOpcode wrong = bar.io ? PcieOpcode::memory_read : PcieOpcode::io_read;
    if (!listed(bench, wrong)) continue;
    const std::string what = fmt::format("{} of base address {}", mi::name_of(wrong), bar.number);
    const MiAnswer answer = bench.pcie(cntlid, wrong, 0, 4, static_cast<std::uint8_t>(bar.number));
    refused_at(check, reached(check, answer, what), 10, what);
  }
  serves(bench, check, "a request after the refusals");
}

CONFORMANCE_CASE(registers_can_be_read_out_of_band, "mi.pcie.memory.registers", roles::endpoint,
                 needs(offers_pcie<PcieOpcode::memory_read>)) {
  for (const std::uint16_t cntlid : bench.declared().controllers) {
    const Bytes page = identity(bench, check, cntlid);
    // CAP and VS do not change; what is behind them may.
    const MiAnswer whole = bench.pcie(cntlid, PcieOpcode::memory_read, 0, 12);
    if (!success_with(check, reached(check, whole, "CAP and VS"), 12, "CAP and VS")) continue;
    const Bytes registers(whole.data().begin(), whole.data().end());
    const std::uint32_t ver = View<nvme::IdentifyController>{page}.get(nvme::id_ctrl::ver);
    if (ver != 0) check.equal("VS", load_le<std::uint32_t>(&registers[8]), ver);
    // A command set is supported (CAP.CSS), and a queue has at least two entries (CAP.MQES).
    check.that(load_le<std::uint16_t>(registers.data()) != 0, "the lower half of CAP says how long a queue may be");
    check.that((load_le<std::uint32_t>(&registers[4]) & 0x1FE0) != 0, "the upper half of CAP names a command set");
    for (const auto& [offset, length] : {std::pair{8, 4}, {4, 4}, {0, 8}, {4, 8}}) {
      read_is(check, bench.pcie(cntlid, PcieOpcode::memory_read, static_cast<std::uint64_t>(offset), static_cast<std::uint16_t>(length)),
              ByteView{registers}.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length)),
              fmt::format("{} bytes from {}", length, offset));
    }
    if (!listed(bench, PcieOpcode::memory_write)) continue;
    // Values of NSSR that have a part of the signature reset nothing.
    const auto nssro = [&] {
      const MiAnswer csts = bench.pcie(cntlid, PcieOpcode::memory_read, 0x1C, 4);
      return is_done(csts) && csts.data().size() >= 4 ? load_le<std::uint32_t>(csts.data().data()) >> 4 & 1 : 0u;
    };
    const std::uint32_t before = nssro();
    for (const std::uint32_t value : {0x4E564D66u, 0x4D65u, 0x654D564Eu}) {
      Bytes data(4);
      store_le(data.data(), value);
      if (!is_done(bench.pcie(cntlid, PcieOpcode::memory_write, 0x20, 4, 0, data))) continue;
      bench.world().run_for(Duration::s(1));
      check.equal(fmt::format("CSTS.NSSRO after {:X}h in NSSR", value), nssro(), before);
    }
  }
}

CONFORMANCE_CASE(memory_far_away_is_refused, "mi.pcie.memory.range", roles::endpoint, needs(offers_pcie<PcieOpcode::memory_read>)) {
  const std::uint16_t cntlid = a_controller(bench, check);
  for (const std::uint64_t offset : {std::uint64_t{1} << 63, std::uint64_t{1} << 52, ~std::uint64_t{0}, ~std::uint64_t{3}}) {
    const std::string what = fmt::format("read from {:#x}", offset);
    refused_at(check, reached(check, bench.pcie(cntlid, PcieOpcode::memory_read, offset, 4), what), 12, what);
  }
  serves(bench, check, "a request after the refusals");
}

CONFORMANCE_CASE(memory_ends_where_it_says, "mi.pcie.memory.edge", roles::endpoint, needs(offers_pcie<PcieOpcode::memory_read>),
                 needs(offers_pcie<PcieOpcode::configuration_write>), arranged("base addresses that may be moved")) {
  const std::uint16_t cntlid = a_controller(bench, check);
  const Bytes before = configuration_at(bench, check, cntlid, kBar0, 4);
  precondition(check, bench.pcie(cntlid, PcieOpcode::configuration_write, kBar0, 4, 0, Bytes(4, 0xFF)), "sizing");
  const auto sized = load_le<std::uint32_t>(configuration_at(bench, check, cntlid, kBar0, 4).data());
  check.equal("the kind of base address 0 while it is sized", sized & 0xF, load_le<std::uint32_t>(before.data()) & 0xF);
  const std::uint32_t mask = sized & ~0xFu;
  precondition(check, bench.pcie(cntlid, PcieOpcode::configuration_write, kBar0, 4, 0, before), "the old address");
  check.precondition(mask != 0, "base address 0 can be sized");
  const std::uint64_t size = ~mask + 1u;
  const auto reads = [&](std::uint64_t offset, std::uint16_t length, std::string_view what) {
    success_with(check, reached(check, bench.pcie(cntlid, PcieOpcode::memory_read, offset, length), what), 4, what);
  };
  reads(size - 4, 4, "the last four bytes");
  reads(size - 1, 1, "the last byte");
  for (const auto& [offset, length] : {std::pair{size - 3, 4}, {size - 1, 2}, {size, 1}, {size - 64, 68}}) {
    const auto bytes = static_cast<std::uint16_t>(length);
    const std::string read = fmt::format("read of {} bytes from {:#x}", length, offset);
    refused_at(check, reached(check, bench.pcie(cntlid, PcieOpcode::memory_read, offset, bytes), read), 12, read);
    if (!listed(bench, PcieOpcode::memory_write)) continue;
    const std::string write = fmt::format("write of {} bytes at {:#x}", length, offset);
    const MiAnswer answer = bench.pcie(cntlid, PcieOpcode::memory_write, offset, bytes, 0, Bytes(padded(bytes)));
    refused_at(check, reached(check, answer, write), 12, write);
  }
}

namespace {

/// What sizing says of an I/O space: all bits that can be set of its address.
std::size_t io_bytes(EndpointBench& bench, Check& check, std::uint16_t cntlid, std::uint8_t bar) {
  const auto at = static_cast<std::uint16_t>(kBar0 + 4 * bar);
  const Bytes before = configuration_at(bench, check, cntlid, at, 4);
  precondition(check, bench.pcie(cntlid, PcieOpcode::configuration_write, at, 4, 0, Bytes(4, 0xFF)), "sizing");
  const std::uint32_t mask = load_le<std::uint32_t>(configuration_at(bench, check, cntlid, at, 4).data()) & ~0x3u;
  precondition(check, bench.pcie(cntlid, PcieOpcode::configuration_write, at, 4, 0, before), "the old address");
  check.precondition(mask != 0, "the I/O space can be sized");
  return ~mask + 1u;
}

}  // namespace

CONFORMANCE_CASE(io_space_can_be_written, "mi.pcie.io.access", roles::endpoint, needs(offers_pcie<PcieOpcode::io_read>),
                 needs(offers_pcie<PcieOpcode::io_write>), needs(offers_pcie<PcieOpcode::configuration_write>),
                 arranged("an I/O space that only remembers")) {
  const std::uint16_t cntlid = a_controller(bench, check);
  std::optional<std::uint8_t> bar;
  for (const BaseAddress& one : base_addresses(bench, check, cntlid)) {
    if (one.io) bar = static_cast<std::uint8_t>(one.number);
  }
  check.precondition(bar.has_value(), "the function has I/O space");
  const std::size_t size_of_space = io_bytes(bench, check, cntlid, *bar);
  for (const std::size_t length : {std::size_t{4}, std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
    const Bytes data = pattern_of(padded(length), static_cast<unsigned>(0x40 + length));
    const auto at = static_cast<std::uint64_t>(size_of_space - length);
    const std::string what = fmt::format("the last {} bytes of the I/O space", length);
    success_with(check, bench.pcie(cntlid, PcieOpcode::io_write, at, static_cast<std::uint16_t>(length), *bar, data), 0,
                 "write of " + what);
    read_is(check, bench.pcie(cntlid, PcieOpcode::io_read, at, static_cast<std::uint16_t>(length), *bar), ByteView{data}.first(length),
            what);
  }
  Bytes expected(16, 0x11);
  const MiAnswer first = bench.pcie(cntlid, PcieOpcode::io_write, 0, 16, *bar, expected);
  success_with(check, reached(check, first, "I/O Write"), 0, "I/O Write");
  for (const auto& [offset, length] : {std::pair{0, 1}, {3, 2}, {4, 4}, {9, 3}, {15, 1}}) {
    const auto at = static_cast<std::uint16_t>(offset);
    const auto size = static_cast<std::uint16_t>(length);
    const Bytes data = pattern_of(padded(size), at + 1u);  // padding that is not zero
    std::copy_n(data.begin(), length, expected.begin() + offset);
    success_with(check, bench.pcie(cntlid, PcieOpcode::io_write, at, size, *bar, data), 0, "I/O Write");
    read_is(check, bench.pcie(cntlid, PcieOpcode::io_read, 0, 16, *bar), expected,
            fmt::format("I/O space after {} bytes at {}", length, offset));
    read_is(check, bench.pcie(cntlid, PcieOpcode::io_read, at, size, *bar), ByteView{expected}.subspan(at, size), "what was written");
  }
}

CONFORMANCE_CASE(pcie_writes_are_whole_dwords, "mi.pcie.write.data", roles::endpoint, needs(offers_pcie<PcieOpcode::configuration_write>)) {
  const std::uint16_t cntlid = a_controller(bench, check);
  const Bytes before = configuration_at(bench, check, cntlid, 0, 64);
  // What is there already, so that a product which takes it does no harm.
  const ByteView same = ByteView{before}.subspan(kInterruptLine, 4);
  for (const auto& [length, given] : {std::pair{1, 0}, {1, 8}, {4, 0}, {4, 8}, {2, 2}, {1, 1}, {0, 4}}) {
    Bytes data(same.begin(), same.end());
    data.resize(static_cast<std::size_t>(given));
    const std::string what = fmt::format("{} bytes with {} bytes of data", length, given);
    const MiAnswer answer =
        bench.pcie(cntlid, PcieOpcode::configuration_write, kInterruptLine, static_cast<std::uint16_t>(length), 0, data);
    refused(check, reached(check, answer, what), mi::Status::invalid_data_size, what);
  }
  check.bytes("configuration space afterwards", configuration_at(bench, check, cntlid, 0, 64), before);
}

CONFORMANCE_CASE(pcie_commands_have_three_dwords, "mi.pcie.request.size", roles::endpoint, needs(pcie_commands)) {
  const std::uint16_t cntlid = a_controller(bench, check);
  const Bytes whole = pcie_message(cntlid, static_cast<std::uint8_t>(PcieOpcode::configuration_read), 0, 4);
  for (const std::size_t size : {8u, 12u, 16u}) {
    refused(check, bench.request(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))), mi::Status::invalid_command_size,
            fmt::format("a PCIe command of {} bytes", size));
  }
  for (const std::size_t bytes : {4u, 16u}) {
    size_refused(check, bench.pcie(cntlid, PcieOpcode::configuration_read, 0, 4, 0, Bytes(bytes)),
                 fmt::format("a read with {} bytes", bytes));
  }
  configuration_at(bench, check, cntlid, 0, 4);
}

CONFORMANCE_CASE(locked_functions_still_tell_their_addresses, "mi.pcie.locked", roles::endpoint, needs(pcie_commands),
                 needs(offers_pcie<PcieOpcode::memory_read>), arranged("a function that is locked down")) {
  const std::uint16_t cntlid = a_controller(bench, check);
  const Bytes bars = configuration_at(bench, check, cntlid, kBar0, 24);
  bench.drive().device().function(cntlid)->set_locked(true);
  const MiAnswer told = bench.pcie(cntlid, PcieOpcode::configuration_read, kBar0, 24);
  if (success_with(check, told, padded(bars.size()), "base addresses")) read_is(check, told, bars, "base addresses");
  refused(check, bench.pcie(cntlid, PcieOpcode::configuration_write, kInterruptLine, 1, 0, Bytes(4)), mi::Status::access_denied,
          "PCIe Configuration Write");
  refused(check, bench.pcie(cntlid, PcieOpcode::memory_read, 0, 4), mi::Status::access_denied, "PCIe Memory Read");
  bench.drive().device().function(cntlid)->set_locked(false);
  success_with(check, bench.pcie(cntlid, PcieOpcode::memory_read, 0, 4), 4, "PCIe Memory Read, unlocked");
}

CONFORMANCE_CASE(functions_in_reset_are_served_or_inaccessible, "mi.pcie.inaccessible", roles::endpoint, needs(pcie_commands),
                 needs(offers_pcie<PcieOpcode::memory_read>), arranged("a function that is held in reset")) {
  const auto& controllers = bench.declared().controllers;
  check.precondition(controllers.size() >= 2, "there are two controllers");
  bench.drive().device().function(controllers[0])->set_accessible(false);
  for (const PcieOpcode opcode : {PcieOpcode::memory_read, PcieOpcode::configuration_read}) {
    const MiAnswer answer = bench.pcie(controllers[0], opcode, 0, 4);
    status_is(check, answer, one_of(mi::Status::success, mi::Status::pcie_inaccessible), mi::name_of(opcode));
    if (!answer.ok()) check.equal("bytes of the refusal", answer.body.size(), mi::kResponseMin);
  }
  const MiAnswer other = bench.pcie(controllers[1], PcieOpcode::memory_read, 0, 4);
  success_with(check, reached(check, other, "the other function"), 4, "the other function");
  serves(bench, check, "another request");
  bench.drive().device().function(controllers[0])->set_accessible(true);
  success_with(check, bench.pcie(controllers[0], PcieOpcode::memory_read, 0, 4), 4, "the function again");
}

}  // namespace fb::conformance
