// Arbitrary messages and packets against a management endpoint and its subsystem: each is answered or
// dropped, no slot stays stuck, nothing crashes. The input is a little program.
#include <cstdint>

#include "model/mi/endpoint.h"
#include "model/mi/in_band.h"
#include "model/subsystem/subsystem.h"
#include "sim/mctp/endpoint.h"
#include "sim/mctp/smbus_segment.h"
#include "tests/fuzz/input.h"
#include "wire/mi/tunnels.h"

namespace {

using namespace fb;  // NOLINT: a program of its own
using fuzz::Input;

constexpr mctp::Eid kDrive = 9;

struct Listener final : mctp::MessageHandler {
  void on_message(const mctp::Incoming&) override { ++messages; }
  std::uint64_t messages = 0;
};

mi::DeviceOptions device_options(std::uint8_t kind) {
  mi::DeviceOptions made;
  made.revision = static_cast<mi::Revision>(kind % 6);
  made.enclosure = (kind & 8) != 0;
  made.controller_zero_is_lowest = (kind & 16) != 0;
  return made;
}

mi::EndpointOptions endpoint_options(std::uint8_t kind) {
  mi::EndpointOptions made;
  if ((kind & 1) != 0) made.latency = Duration::ms(150);
  if ((kind & 2) != 0) made.buffer_bytes = 0;
  if ((kind & 4) != 0) made.auto_pause_refused = true, made.auto_pause = false;
  if ((kind & 8) != 0) made.reserved_kind = mi::ReservedKind::invalid_opcode;
  made.timeout_flag = (kind & 16) != 0;
  made.replay_inserts_header = (kind & 32) == 0;
  return made;
}

struct Session {
  Session(std::uint8_t kind, std::uint8_t more)
      : world(World::make_virtual(1)),
        disk(*world, mi::drive_options()),
        device(disk, device_options(kind)),
        segment(*world, {.timing = (more & 64) != 0}),
        bmc_port(segment.attach("bmc", 0x20)),
        drive_port(segment.attach("drive", 0x3A)),
        bmc(*world, *bmc_port, {.name = "bmc", .eid = 8}),
        drive(*world, *drive_port, {.name = "drive", .eid = kDrive}),
        endpoint(*world, device, drive, endpoint_options(more)),
        tunnel(device) {
    bmc.set_route(kDrive, kDrive, mctp::smbus_address(0x3A));
    drive.set_route(8, 8, mctp::smbus_address(0x20));
    bmc.set_handler(mctp::MessageType::nvme_mi, &listener, 65536);
    (void)disk.add_namespace({.blocks = 64});
  }
  std::unique_ptr<World> world;
  subsystem::Subsystem disk;
  mi::Device device;
  mctp::SmbusSegment segment;
  std::unique_ptr<mctp::SmbusPort> bmc_port;
  std::unique_ptr<mctp::SmbusPort> drive_port;
  mctp::Endpoint bmc;
  mctp::Endpoint drive;
  Listener listener;
  mi::Endpoint endpoint;
  mi::InBand tunnel;
};

void send(Session& session, Bytes body, std::uint8_t tag) {
  if (body.empty()) return;
  session.bmc.send({.destination = kDrive,
                    .to = {},
                    .source = mctp::kNullEid,
                    .tag = {static_cast<std::uint8_t>(tag & 7), true},
                    .unit = 64,
                    .body = std::move(body)});
}

/// A message that looks like one: its kind and its fields are the input's, its check is right.
void message(Session& session, Input& in, mi::MessageKind kind, std::size_t size) {
  Bytes body(size);
  MutableView<mi::MessageHeader>{body}.set(mi::header::ic, true).set(mi::header::mt, mi::kNvmeMiType).set(mi::header::nmimt, kind);
  const std::uint8_t bits = in.byte();
  body[1] = static_cast<std::uint8_t>(body[1] | (bits & 1));
  body[2] = static_cast<std::uint8_t>(bits >> 1 & 3);
  for (std::size_t at = 4; at < size; ++at) {
    if (kind != mi::MessageKind::admin_command || at < 12 || at >= 28) body[at] = in.byte();
  }
  const Bytes data = in.bytes(in.byte());
  body.insert(body.end(), data.begin(), data.end());
  if ((bits & 8) != 0) body.resize(body.size() + std::size_t{in.byte()} * 16);
  mi::append_mic(body);
  send(session, std::move(body), static_cast<std::uint8_t>(bits >> 4));
}

void change_the_device(Session& session, Input& in) {
  const std::uint8_t value = in.byte();
  switch (in.byte() % 8) {
    case 0:
      session.disk.set_temperature(static_cast<std::uint16_t>(200 + value));
      break;
    case 1:
      session.disk.set_critical_warning(value);
      break;
    case 2:
      session.disk.set_percentage_used(value);
      break;
    case 3:
      session.device.set_link(0, (value & 1) != 0);
      break;
    case 4:
      session.disk.reset_subsystem();
      break;
    case 5:
      session.endpoint.reset();
      break;
    case 6:
      session.device.sanitized();
      break;
    default:
      session.device.set_vpd_locked((value & 1) != 0);
  }
}

void step(Session& session, Input& in) {
  switch (in.byte() % 10) {
    case 0:
      return send(session, in.bytes(in.byte()), in.byte());
    case 1:
    case 2:
      return message(session, in, mi::MessageKind::mi_command, mi::MiRequest::size);
    case 3:
    case 4:
      return message(session, in, mi::MessageKind::admin_command, mi::AdminRequest::size);
    case 5:
      return message(session, in, mi::MessageKind::pcie_command, mi::PcieRequest::size);
    case 6:
      return message(session, in, mi::MessageKind::control_primitive, mi::PrimitiveRequest::size);
    case 7: {
      Bytes packet = {1, kDrive, 8, in.byte()};
      const Bytes payload = in.bytes(in.byte() % 80);
      packet.insert(packet.end(), payload.begin(), payload.end());
      return session.bmc.send_packet(mctp::smbus_address(0x3A), packet);
    }
    case 8:
      return change_the_device(session, in);
    default:
      session.world->run_for(Duration::ms(in.byte()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, std::min<std::size_t>(size, 4096));
  const std::uint8_t kind = in.byte();
  Session session(kind, in.byte());
  while (!in.empty()) step(session, in);
  // Whatever came: after the packets' own time has passed and with nothing paused, both slots are idle.
  session.world->run_for(Duration::s(60));
  const std::uint8_t resume[] = {0x84, 0x00, 0, 0, 1, 0, 0, 0};
  Bytes last(std::begin(resume), std::end(resume));
  mi::append_mic(last);
  send(session, std::move(last), 0);
  session.world->run_for(Duration::s(60));
  for (unsigned slot = 0; slot < 2; ++slot) {
    BENCH_ASSERT(session.endpoint.slot_state(slot) == mi::SlotState::idle, "a slot is stuck");
  }
  return 0;
}
