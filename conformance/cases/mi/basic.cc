// The basic management command: block reads at SMBus address D4h, without MCTP. It is read here byte by byte.
#include "conformance/cases/mi/commands.h"
#include "conformance/runner/managed_setup.h"
#include "model/drive/drive.h"

namespace fb::conformance {
namespace {

constexpr std::uint8_t kAddress = 0xD4;
constexpr std::size_t kStatusBlock = 8, kIdentityBlock = 24;  // with length and check

std::optional<std::string> basic_management(const Declared& declared) {
  const EndpointFacts& facts = declared.endpoint;
  if (!facts.ports.empty() && facts.two_wire_info(facts.port).get(mi::port_info::nvmebms)) {
    return std::nullopt;
  }
  return "no basic management command (NVMEBMS is clear)";
}

/// CRC-8 of SMBus: x^8 + x^2 + x + 1, from 0, not reflected.
std::uint8_t crc8(ByteView bytes, std::uint8_t crc = 0) {
  for (const std::uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = static_cast<std::uint8_t>((crc & 0x80) != 0 ? crc << 1 ^ 0x07 : crc << 1);
  }
  return crc;
}

/// What a read with that command code returns; the case is left when nobody acknowledges.
Bytes read_block(EndpointBench& bench, Check& check, std::uint8_t code, std::size_t bytes) {
  const std::uint8_t write[] = {code};
  auto read = bench.smbus_read(kAddress, write, bytes);
  check.require(read.has_value(), "the basic management command is acknowledged");
  return std::move(*read);
}

constexpr std::uint8_t kArbitration = 0x80;

/// A first block read, which sets the arbitration bit: from then on the status does not change by itself.
void settle(EndpointBench& bench, Check& check) { read_block(bench, check, 0, kStatusBlock); }

void mirrors_the_poll(EndpointBench& bench, Check& check, const std::string& when) {
  constexpr std::uint8_t kFlags = 0x3C;  // functional, no reset required, the two links
  const Bytes poll = health(bench, check);
  const Bytes block = read_block(bench, check, 0, kStatusBlock);
  check.equal("flags " + when, block[1] & kFlags, poll[0] & kFlags);
  check.equal("warnings " + when, block[2], poll[1]);
  check.equal("temperature " + when, block[3], poll[2]);
  check.equal("life used " + when, block[4], poll[3]);
}

}  // namespace

CONFORMANCE_CASE(basic_management_is_where_the_port_says, "mi.basic.smbus.present", roles::endpoint) {
  const MiAnswer info = bench.command(mi::Opcode::read_data_structure,
                                      static_cast<std::uint32_t>(mi::DataType::port_information) << 24 | std::uint32_t{bench.port()} << 16);
  precondition(check, info, "Port Information");
  check.precondition(info.data().size() == mi::PortInfo::size, "Port Information has 32 bytes");
  const bool claimed = View<mi::TwoWirePortInfo>{info.data()}.get(mi::port_info::nvmebms);
  const std::uint8_t write[] = {0};
  check.equal("acknowledged", bench.smbus_read(kAddress, write, kStatusBlock).has_value(), claimed);
}

CONFORMANCE_CASE(basic_status_has_six_bytes, "mi.basic.smbus.status", roles::endpoint, needs(basic_management)) {
  settle(bench, check);
  const Bytes block = read_block(bench, check, 0, kStatusBlock);
  check.equal("length", block[0], 6);
  check.equal("bits that are always set", block[1] & 0x03, 3);
  check.equal("not ready", block[1] & 0x40, 0);
  check.that((block[2] & 0x80) != 0, "the reserved warning is not given");
  check.that(block[3] <= 0x81 || block[3] >= 0xC4, "the temperature is none of the reserved ones", fmt::format("{:02x}h", block[3]));
  check.equal("reserved bytes", load_le<std::uint16_t>(&block[5]), 0);
  check.bytes("the same block again", read_block(bench, check, 0, kStatusBlock), block);
}

CONFORMANCE_CASE(basic_identity_is_the_controllers, "mi.basic.smbus.identity", roles::endpoint, needs(basic_management)) {
  const Bytes page = identity(bench, check, a_controller(bench, check));
  const Bytes block = read_block(bench, check, 8, kIdentityBlock);
  check.equal("length", block[0], 22);
  check.equal("vendor", block[1] << 8 | block[2], View<nvme::IdentifyController>{page}.get(nvme::id_ctrl::vid) + 0);
  check.bytes("serial number", ByteView{block}.subspan(3, 20), ByteView{page}.subspan(4, 20));
}

CONFORMANCE_CASE(basic_blocks_have_a_check, "mi.basic.smbus.pec", roles::endpoint, needs(basic_management)) {
  for (const std::uint8_t code : {std::uint8_t{0}, std::uint8_t{8}}) {
    const std::size_t size = code == 0 ? kStatusBlock : kIdentityBlock;
    const Bytes block = read_block(bench, check, code, size);
    const std::uint8_t before[] = {kAddress, code, kAddress | 1};
    check.equal(fmt::format("check of block {}", code), block.back(), crc8(ByteView{block}.first(size - 1), crc8(before)));
  }
}

CONFORMANCE_CASE(basic_blocks_are_read_in_one, "mi.basic.smbus.whole", roles::endpoint, needs(basic_management)) {
  settle(bench, check);
  Bytes expected = read_block(bench, check, 0, kStatusBlock);
  const Bytes behind = read_block(bench, check, 8, kIdentityBlock);
  expected.insert(expected.end(), behind.begin(), behind.end());
  check.bytes("32 bytes from 0", read_block(bench, check, 0, expected.size()), expected);
}

CONFORMANCE_CASE(basic_arbitration_is_cleared_and_set, "mi.basic.smbus.arbitration", roles::endpoint, needs(basic_management)) {
  const auto bit = [&] { return read_block(bench, check, 0, kStatusBlock)[1] & kArbitration; };
  const auto send_byte = [&](std::uint8_t byte) {
    const std::uint8_t write[] = {byte};
    check.require(bench.smbus_read(kAddress, write, 0).has_value(), "Send Byte is acknowledged");
  };
  settle(bench, check);
  for (int round = 0; round < 3; ++round) {
    check.equal("arbitration bit behind a read without contention", bit(), kArbitration);
    send_byte(0xFF);
    check.equal("arbitration bit behind Send Byte FFh", bit(), 0);
    check.equal("arbitration bit behind the read that followed", bit(), kArbitration);
    // The identity is a block as well.
    send_byte(0xFF);
    read_block(bench, check, 8, kIdentityBlock);
    check.equal("arbitration bit behind a read of the identity", bit(), kArbitration);
    for (const unsigned other : {0x00u, 0x08u, 0x7Fu, 0xFEu}) {
      send_byte(static_cast<std::uint8_t>(other));
      check.equal(fmt::format("arbitration bit behind Send Byte {:02X}h", other), bit(), kArbitration);
    }
  }
}

CONFORMANCE_CASE(basic_status_follows_the_health_poll, "mi.basic.smbus.health", roles::endpoint, needs(basic_management),
                 arranged("a drive that changes")) {
  subsystem::Subsystem& disk = bench.drive().subsystem();
  mi::Device& device = bench.drive().device();
  mirrors_the_poll(bench, check, "at first");
  for (const int celsius : {-70, -60, -1, 0, 1, 85, 126, 127, 150}) {
    disk.set_temperature(static_cast<std::uint16_t>(273 + celsius));
    mirrors_the_poll(bench, check, fmt::format("at {} degrees", celsius));
  }
  device.set_sensor(mi::Sensor::stale);
  mirrors_the_poll(bench, check, "with a stale sensor");
  device.set_sensor(mi::Sensor::failed);
  mirrors_the_poll(bench, check, "with a broken sensor");
  device.set_sensor(mi::Sensor::good);
  for (unsigned bit = 0; bit < 7; ++bit) {
    disk.set_critical_warning(static_cast<std::uint8_t>(1u << bit));
    mirrors_the_poll(bench, check, fmt::format("with warning {}", bit));
  }
  for (const unsigned percent : {0u, 100u, 254u, 255u}) {
    disk.set_percentage_used(static_cast<std::uint8_t>(percent));
    mirrors_the_poll(bench, check, fmt::format("with {} percent used", percent));
  }
  device.set_functional(false);
  mirrors_the_poll(bench, check, "when not functional");
  device.set_functional(true);
  device.set_reset_required(true);
  mirrors_the_poll(bench, check, "when a reset is required");
  device.set_reset_required(false);
  device.set_link(0, false);
  mirrors_the_poll(bench, check, "with the link down");
}

}  // namespace fb::conformance
