// Reading and writing the vital product data.
#include "conformance/cases/mi/commands.h"
#include "conformance/runner/managed_setup.h"
#include "model/drive/drive.h"

namespace fb::conformance {
namespace {

using mi::Opcode;

/// Reads [from, to) in pieces of `piece` bytes and holds each against the image.
void read_in_pieces(EndpointBench& bench, Check& check, ByteView image, std::size_t from, std::size_t to, std::size_t piece) {
  for (std::size_t at = from; at < to; at += piece) {
    const std::size_t size = std::min(piece, to - at);
    const MiAnswer answer = vpd_read(bench, static_cast<std::uint16_t>(at), static_cast<std::uint16_t>(size));
    const std::string what = fmt::format("{} bytes from {}", size, at);
    if (!success(check, answer, what)) return;
    if (!check.bytes(what, answer.data(), image.subspan(at, size))) return;
  }
}

/// Four bytes that are part of no area: the last ones. INCONCLUSIVE where the records reach as far.
std::uint16_t spare_bytes_of(Check& check, const Bytes& image) {
  const std::vector<ByteView> records = mi::vpd_records(image);
  const bool behind = !records.empty() && records.back().data() + records.back().size() + 4 <= image.data() + image.size();
  check.precondition(behind, "the VPD has four bytes behind its last record");
  return static_cast<std::uint16_t>(image.size() - 4);
}

/// Writes wear the memory out: some must be left. Identify Controller may say how many there are.
void enough_updates_left(EndpointBench& bench, Check& check) {
  constexpr unsigned kValid = 0x80, kEnough = 8;
  const Bytes page = identity(bench, check, a_controller(bench, check));
  const unsigned updates = View<nvme::IdentifyController>{page}.get(nvme::id_ctrl::vwci);
  check.precondition((updates & kValid) == 0 || (updates & 0x7F) >= kEnough, "the VPD takes a few more updates");
}

void unchanged(EndpointBench& bench, Check& check, const Bytes& image) {
  check.bytes("VPD after the refusals", whole_vpd(bench, check), image);
}

}  // namespace

CONFORMANCE_CASE(vpd_is_the_same_in_any_pieces, "mi.vpd.read.pieces", roles::endpoint) {
  constexpr std::uint16_t first = 256;  // every VPD has as many
  const MiAnswer whole = vpd_read(bench, 0, first);
  if (!success_with(check, whole, first, "the first 256 bytes")) return;
  check.equal("NMRESP", whole.nmresp(), 0u);
  const Bytes image = whole_vpd(bench, check);
  for (const std::size_t piece : {3u, 7u, 64u, 100u, 255u}) read_in_pieces(bench, check, image, 0, first, piece);
  read_in_pieces(bench, check, image, 0, 32, 1);
  read_in_pieces(bench, check, image, image.size() - 32, image.size(), 1);
  read_in_pieces(bench, check, image, 1, image.size(), std::min<std::size_t>(image.size() - 1, mi::kDataMax));
}

CONFORMANCE_CASE(vpd_read_of_nothing_succeeds, "mi.vpd.read.nothing", roles::endpoint) {
  const std::uint32_t size = vpd_size(bench, check);
  for (const std::uint32_t offset : {0u, 1u, size / 2, size - 1, size}) {
    if (offset > 0xFFFF) continue;
    const MiAnswer answer = vpd_read(bench, static_cast<std::uint16_t>(offset), 0);
    success_with(check, answer, 0, fmt::format("no bytes from {}", offset));
  }
}

namespace {

/// Offset and length together go beyond the end, which is an error of the length; the offset alone does so too.
void refused_behind(Check& check, const MiAnswer& answer, const std::string& what) {
  if (!refused(check, answer, mi::Status::invalid_parameter, what)) return;
  check.equal("parameter error location of " + what, answer.error_at(), one_of(mi::ParameterError{8, 0}, mi::ParameterError{12, 0}));
}

}  // namespace

CONFORMANCE_CASE(vpd_read_behind_the_end_is_refused, "mi.vpd.read.offset", roles::endpoint, needs(revision_1_2)) {
  const std::uint32_t size = vpd_size(bench, check);
  check.precondition(size < 0x10000, "there are offsets behind the end");
  for (const std::uint32_t offset : {size, size + 1, size + 255, 0xFFFFu}) {
    if (offset > 0xFFFF) continue;
    for (const std::uint16_t length : {std::uint16_t{1}, std::uint16_t{64}}) {
      refused_behind(check, vpd_read(bench, static_cast<std::uint16_t>(offset), length), fmt::format("{} bytes from {}", length, offset));
    }
  }
  serves(bench, check, "a request after the refusals");
}

CONFORMANCE_CASE(vpd_read_beyond_the_end_is_refused, "mi.vpd.read.length", roles::endpoint) {
  const std::uint32_t size = vpd_size(bench, check);
  for (const std::uint32_t offset : {0u, 1u, size / 2, size - 1}) {
    for (const std::uint32_t beyond : {1u, 64u}) {
      const std::uint32_t length = size - offset + beyond;
      if (length > 0xFFFF) continue;
      refused_at(check, vpd_read(bench, static_cast<std::uint16_t>(offset), static_cast<std::uint16_t>(length)), 12,
                 fmt::format("{} bytes from {}", length, offset));
    }
  }
  const MiAnswer last = vpd_read(bench, static_cast<std::uint16_t>(size - 1), 1);
  success_with(check, last, 1, "the last byte");
}

CONFORMANCE_CASE(vpd_read_takes_no_data, "mi.vpd.read.request-data", roles::endpoint) {
  const Bytes whole = mi_message(static_cast<std::uint8_t>(Opcode::vpd_read), 0, 16);
  for (const std::size_t size : {8u, 12u}) {
    refused(check, bench.request(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))), mi::Status::invalid_command_size,
            fmt::format("VPD Read of {} bytes", size));
  }
  for (const std::size_t bytes : {4u, 16u}) {
    size_refused(check, bench.command(Opcode::vpd_read, 0, 16, Bytes(bytes)), fmt::format("VPD Read with {} bytes", bytes));
  }
  serves(bench, check, "a request after the refusals");
}

CONFORMANCE_CASE(vpd_memory_and_vpd_read_agree, "mi.vpd.smbus.memory", roles::endpoint) {
  const std::uint8_t address = bench.declared().two_wire_info(bench.port()).get(mi::port_info::cvpdaddr);
  check.precondition(address != 0, "the port has a VPD address");
  const Bytes image = whole_vpd(bench, check);
  const bool wide = image.size() > 256;
  constexpr std::size_t kPage = 32;
  for (std::size_t at = 0; at < image.size(); at += kPage) {
    Bytes where;
    if (wide) where.push_back(static_cast<std::uint8_t>(at >> 8));
    where.push_back(static_cast<std::uint8_t>(at & 0xFF));
    const std::size_t size = std::min(kPage, image.size() - at);
    const auto read = bench.smbus_read(address, where, size);
    if (!check.that(read.has_value(), "the memory acknowledges its address")) return;
    check.bytes(fmt::format("memory from {}", at), *read, ByteView{image}.subspan(at, size));
  }
  // One read goes on over the borders of pages.
  for (const std::size_t at : {std::size_t{0}, std::size_t{30}, std::size_t{63}, std::size_t{127}}) {
    Bytes where;
    if (wide) where.push_back(0);
    where.push_back(static_cast<std::uint8_t>(at));
    const std::size_t size = std::min(std::size_t{128}, image.size() - at);
    const auto read = bench.smbus_read(address, where, size);
    if (!check.that(read.has_value(), "the memory acknowledges its address")) return;
    check.bytes(fmt::format("{} bytes of memory from {}", size, at), *read, ByteView{image}.subspan(at, size));
  }
}

CONFORMANCE_CASE(vpd_write_is_read_back, "mi.vpd.write.stored", roles::endpoint, needs(offers<Opcode::vpd_write>)) {
  const Bytes image = whole_vpd(bench, check);
  const std::uint16_t spare = spare_bytes_of(check, image);
  enough_updates_left(bench, check);
  Bytes expected = image;
  for (std::size_t i = spare; i < expected.size(); ++i) expected[i] ^= 0xA5;
  const MiAnswer written = vpd_write(bench, spare, 4, ByteView{expected}.last(4));
  unless_read_only(bench, check, image, written);
  success_with(check, written, 0, "VPD Write of the last bytes");
  check.bytes("VPD after the write", whole_vpd(bench, check), expected);
  success_with(check, vpd_write(bench, spare, 4, ByteView{image}.last(4)), 0, "VPD Write of what was there");
  check.bytes("VPD as it was", whole_vpd(bench, check), image);
}

CONFORMANCE_CASE(vpd_is_written_in_any_pieces, "mi.vpd.write.pieces", roles::endpoint, needs(offers<Opcode::vpd_write>),
                 arranged("a VPD that may be written all over", [](EmbeddedSetup& setup) {
                   setup.managed->drive.device.vpd_writable = true;
                   setup.managed->drive.device.vpd.size = 600;
                 })) {
  Bytes image = whole_vpd(bench, check);
  unsigned seed = 1;
  for (const auto& [offset, length] : {std::pair{0u, 1u},
                                       {1u, 3u},
                                       {7u, 64u},
                                       {100u, 100u},
                                       {255u, 1u},
                                       {0u, 256u},
                                       {256u, 1u},
                                       {250u, 12u},
                                       {259u, 64u},
                                       {598u, 2u},
                                       {511u, 89u}}) {
    const Bytes data = pattern_of(length, ++seed);
    std::copy(data.begin(), data.end(), image.begin() + static_cast<std::ptrdiff_t>(offset));
    const MiAnswer answer = vpd_write(bench, static_cast<std::uint16_t>(offset), static_cast<std::uint16_t>(length), data);
    success_with(check, answer, 0, fmt::format("VPD Write of {} bytes at {}", length, offset));
    check.bytes(fmt::format("VPD after {} bytes at {}", length, offset), whole_vpd(bench, check), image);
  }
}

CONFORMANCE_CASE(vpd_outlives_a_reset, "mi.vpd.write.kept", roles::endpoint, needs(offers<Opcode::vpd_write>),
                 needs(offers<Opcode::reset>)) {
  const Bytes image = whole_vpd(bench, check);
  const std::uint16_t spare = spare_bytes_of(check, image);
  enough_updates_left(bench, check);
  Bytes expected = image;
  for (std::size_t i = spare; i < expected.size(); ++i) expected[i] ^= 0x5A;
  precondition(check, vpd_write(bench, spare, 4, ByteView{expected}.last(4)), "VPD Write");
  reset_and_return(bench, check);
  check.bytes("VPD after the reset", whole_vpd(bench, check), expected);
  precondition(check, vpd_write(bench, spare, 4, ByteView{image}.last(4)), "VPD Write of what was there");
}

CONFORMANCE_CASE(vpd_write_of_nothing_succeeds, "mi.vpd.write.nothing", roles::endpoint, needs(offers<Opcode::vpd_write>)) {
  const Bytes image = whole_vpd(bench, check);
  for (const std::size_t offset : {std::size_t{0}, image.size() / 2, image.size() - 1}) {
    const MiAnswer answer = vpd_write(bench, static_cast<std::uint16_t>(offset), 0, {});
    unless_read_only(bench, check, image, answer);
    success_with(check, answer, 0, fmt::format("no bytes at {}", offset));
  }
  unchanged(bench, check, image);
}

// Even a product that takes what it should refuse is left as it was: the data is what is there already.
CONFORMANCE_CASE(vpd_write_with_other_data_is_refused, "mi.vpd.write.data", roles::endpoint, needs(offers<Opcode::vpd_write>)) {
  const Bytes image = whole_vpd(bench, check);
  for (const auto& [length, given] : {std::pair{8u, 4u}, {8u, 12u}, {8u, 0u}, {4u, 8u}, {0u, 4u}, {64u, 60u}, {64u, 68u}}) {
    const MiAnswer answer = vpd_write(bench, 0, static_cast<std::uint16_t>(length), ByteView{image}.first(given));
    unless_read_only(bench, check, image, answer);
    refused(check, answer, mi::Status::invalid_data_size, fmt::format("DLEN {} with {} bytes", length, given));
  }
  unchanged(bench, check, image);
}

CONFORMANCE_CASE(vpd_write_behind_the_end_is_refused, "mi.vpd.write.offset", roles::endpoint, needs(offers<Opcode::vpd_write>),
                 needs(revision_1_2)) {
  const Bytes image = whole_vpd(bench, check);
  check.precondition(image.size() < 0x10000, "there are offsets behind the end");
  for (const std::size_t offset : {image.size(), image.size() + 1, std::size_t{0xFFFF}}) {
    if (offset > 0xFFFF) continue;
    const MiAnswer answer = vpd_write(bench, static_cast<std::uint16_t>(offset), 4, ByteView{image}.last(4));
    unless_read_only(bench, check, image, answer);
    refused_behind(check, answer, fmt::format("4 bytes at {}", offset));
  }
  unchanged(bench, check, image);
}

CONFORMANCE_CASE(vpd_write_beyond_the_end_is_refused, "mi.vpd.write.length", roles::endpoint, needs(offers<Opcode::vpd_write>)) {
  const Bytes image = whole_vpd(bench, check);
  for (const std::size_t inside : {4u, 16u, 60u}) {
    // What lies inside is changed, so that a write of a part would be seen.
    Bytes data(inside + 4);
    for (std::size_t i = 0; i < inside; ++i) data[i] = static_cast<std::uint8_t>(image[image.size() - inside + i] ^ 0xFF);
    const MiAnswer answer =
        vpd_write(bench, static_cast<std::uint16_t>(image.size() - inside), static_cast<std::uint16_t>(data.size()), data);
    unless_read_only(bench, check, image, answer);
    refused_at(check, answer, 12, fmt::format("{} bytes, {} of them inside", data.size(), inside));
  }
  unchanged(bench, check, image);
}

CONFORMANCE_CASE(a_worn_vpd_takes_no_more, "mi.vpd.write.exceeded", roles::endpoint, needs(offers<Opcode::vpd_write>),
                 arranged("a VPD that takes four updates", [](EmbeddedSetup& setup) {
                   setup.managed->drive.device.vpd_writable = true;
                   setup.managed->drive.device.vpd_updates_max = 4;
                 })) {
  Bytes image = whole_vpd(bench, check);
  const auto vwci = [&] {
    return View<nvme::IdentifyController>{identity(bench, check, a_controller(bench, check))}.get(nvme::id_ctrl::vwci);
  };
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint8_t byte[] = {static_cast<std::uint8_t>(i + 1)};
    image.back() = byte[0];
    const MiAnswer answer = vpd_write(bench, static_cast<std::uint16_t>(image.size() - 1), 1, byte);
    success_with(check, answer, 0, fmt::format("update {}", i + 1));
    if ((vwci() & 0x80) != 0) check.equal(fmt::format("write cycles that VWCI has left after update {}", i + 1), vwci() & 0x7Fu, 3 - i);
  }
  const std::uint8_t byte[] = {0x77};
  for (int i = 0; i < 2; ++i) {
    refused(check, vpd_write(bench, static_cast<std::uint16_t>(image.size() - 1), 1, byte), mi::Status::vpd_updates_exceeded,
            "an update too many");
  }
  unchanged(bench, check, image);
}

CONFORMANCE_CASE(a_locked_vpd_stays_as_it_is, "mi.vpd.write.locked", roles::endpoint, needs(offers<Opcode::vpd_write>),
                 arranged("a VPD that is locked", [](EmbeddedSetup& setup) { setup.managed->drive.device.vpd_writable = true; })) {
  const Bytes image = whole_vpd(bench, check);
  const auto last = static_cast<std::uint16_t>(image.size() - 1);
  const std::uint8_t byte[] = {static_cast<std::uint8_t>(~image.back())};
  bench.drive().device().set_vpd_locked(true);
  refused(check, vpd_write(bench, last, 1, byte), mi::Status::access_denied, "VPD Write, locked");
  unchanged(bench, check, image);
  bench.drive().device().set_vpd_locked(false);
  success_with(check, vpd_write(bench, last, 1, byte), 0, "VPD Write, unlocked");
}

}  // namespace fb::conformance
