// NVMe-MI Send and Receive: what may be tunneled, and how the tunneled response comes back.
#include "conformance/cases/mi/in_band.h"

namespace fb::conformance {
namespace {

using mi::DataType;
using mi::Opcode;
using mi::Status;

constexpr std::uint32_t structure_type(unsigned type) { return type << 24; }

/// Commands in band with something that every product must refuse, and where it stands.
struct Faulty {
  std::string what;
  Opcode opcode;
  std::uint32_t nmd0 = 0, nmd1 = 0;
  std::vector<mi::ParameterError> at = {};
  bool send = false;
};
const std::vector<Faulty>& faulty_commands() {
  static const std::vector<Faulty> all = {
      {"Read NVMe-MI Data Structure of a reserved type", Opcode::read_data_structure, structure_type(0xFE), 0, {{11, 0}}},
      {"Read NVMe-MI Data Structure of port FFh", Opcode::read_data_structure, structure_type(1) | 0xFF0000, 0, {{10, 0}}},
      {"Read NVMe-MI Data Structure of controller FFF7h", Opcode::read_data_structure, structure_type(3) | 0xFFF7, 0, {{8, 0}}},
      {"Controller Health Status Poll of 256 entries", Opcode::controller_health_poll, chsp::kAll | chsp::kEvery | 0xFF0000, 0, {{10, 0}}},
      {"VPD Read of 16 bytes from FFF0h", Opcode::vpd_read, 0xFFF0, 16, {{12, 0}, {8, 0}}},
      {"Configuration Get of identifier BFh", Opcode::configuration_get, 0xBF, 0, {{8, 0}}},
      {"Configuration Set of identifier BFh", Opcode::configuration_set, 0xBF, 0, {{8, 0}}, true},
      {"Configuration Set of identifier 00h", Opcode::configuration_set, 0x00, 0, {{8, 0}}, true}};
  return all;
}
InBandAnswer say(InBandScene& scene, const Faulty& one) {
  return scene.say(one.send, static_cast<std::uint8_t>(one.opcode), one.nmd0, one.nmd1);
}

}  // namespace

CONFORMANCE_CASE(in_band_commands_are_there, "mi.in-band.claim", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  check.success(scene.receive(Opcode::subsystem_health_poll, 0, 0, {.room = mi::SubsystemHealth::size}).reply, "NVMe-MI Receive");
  check.success(scene.send(Opcode::configuration_set, 2).reply, "NVMe-MI Send");
}

CONFORMANCE_CASE(storage_devices_have_polls_and_vpd_in_band, "mi.in-band.mandatory", roles::controller, needs(tunnels),
                 needs(is_subsystem<kStorageDevice>), having_in_band) {
  InBandScene scene(bench);
  tunneled_success(check, scene.receive(Opcode::subsystem_health_poll, 0, 0, {.room = 8}), "NVM Subsystem Health Status Poll");
  tunneled_success(check, scene.receive(Opcode::controller_health_poll, chsp::kAll | chsp::kEvery), "Controller Health Status Poll");
  tunneled_success(check, scene.receive(Opcode::vpd_read, 0, 8, {.room = 8}), "VPD Read");
}

CONFORMANCE_CASE(errors_in_band_are_tunneled, "mi.in-band.error.status", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  for (const Faulty& one : faulty_commands()) {
    const InBandAnswer answer = say(scene, one);
    check.success(answer.reply, "NVMe status of " + one.what);
    check.that(answer.tunneled() != Status::success, "the tunneled status of " + one.what + " is an error", answer.describe());
  }
  check.success(scene.say(false, 0x7F, 0, 0).reply, "NVMe status of NVMe-MI Receive with a reserved opcode");
  check.success(scene.say(true, 0x7F, 0, 0).reply, "NVMe status of NVMe-MI Send with a reserved opcode");
}

CONFORMANCE_CASE(errors_in_band_have_their_place, "mi.in-band.error.location", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  for (const Faulty& one : faulty_commands()) {
    const InBandAnswer answer = say(scene, one);
    if (answer.missing()) continue;
    if (!tunneled_is(check, answer, one_of(Status::invalid_parameter), one.what)) continue;
    check.equal("parameter error location of " + one.what, answer.error_at(), OneOf<mi::ParameterError>{one.at});
    check.equal("reserved bits of DW0 of " + one.what, answer.reply.dw0() >> 11 & 0x1F, 0u);
  }
}

CONFORMANCE_CASE(errors_in_band_have_no_data, "mi.in-band.error.data", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  for (const Faulty& one : faulty_commands()) {
    if (one.send) continue;
    const InBandAnswer answer = say(scene, one);
    if (answer.ok() || !answer.reply.ok()) continue;
    check.bytes("buffer after " + one.what, answer.reply.data, Bytes(kMostRoom, kUntouched));
  }
}

CONFORMANCE_CASE(dw0_has_the_management_response, "mi.in-band.nmresp", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  InBandScene second(bench), third(bench);
  const InBandAnswer info = scene.structure(DataType::subsystem_information);
  needed(check, info, "Read NVMe-MI Data Structure");
  check.require(check.equal("NMRESP of NVM Subsystem Information", info.nmresp(), 32u), "NMRESP is the length of the data");
  const auto ids = controllers_of(scene, check);
  for (const DataType type : {DataType::subsystem_information, DataType::controller_information}) {
    const InBandAnswer answer = scene.structure(type, type == DataType::subsystem_information ? std::uint16_t{0} : ids.back());
    if (tunneled_success(check, answer, "a structure of 32 bytes")) check.equal("NMRESP of a structure of 32 bytes", answer.nmresp(), 32u);
  }
  const InBandAnswer list = scene.structure(DataType::controller_list);
  if (tunneled_success(check, list, "the controller list")) {
    const std::size_t used = 2 + 2 * ids.size();
    check.equal("NMRESP of the controller list", list.nmresp(), one_of(used, in_dwords(used), nvme::kIdentifySize));
  }
  for (std::uint32_t most = 0; most <= ids.size(); ++most) {
    const InBandAnswer poll = scene.receive(Opcode::controller_health_poll, chsp::kAll | chsp::kEvery | most << 16);
    const std::string what = fmt::format("a poll of {} controllers", most + 1);
    if (tunneled_success(check, poll, what))
      check.equal("NMRESP of " + what, poll.nmresp(), std::min<std::size_t>(most + 1, ids.size()) << 16);
  }
  const InBandAnswer health = scene.receive(Opcode::subsystem_health_poll, 0, 0, {.room = 8});
  if (tunneled_success(check, health, "the subsystem poll")) check.equal("NMRESP of the subsystem poll", health.nmresp(), 0u);
  const InBandAnswer vpd = scene.receive(Opcode::vpd_read, 0, 16, {.room = 16});
  if (tunneled_success(check, vpd, "VPD Read")) check.equal("NMRESP of VPD Read", vpd.nmresp(), 0u);
}

namespace {

/// A buffer of any size gets the data at its start, zeros up to a whole dword, and nothing else.
void placed(Check& check, const InBandAnswer& answer, ByteView data, const std::string& what) {
  if (!tunneled_success(check, answer, what)) return;
  Bytes expected(answer.reply.data.size(), kUntouched);
  std::copy(data.begin(), data.end(), expected.begin());
  std::fill(expected.begin() + static_cast<std::ptrdiff_t>(data.size()),
            expected.begin() + static_cast<std::ptrdiff_t>(in_dwords(data.size())), std::uint8_t{0});
  check.bytes("buffer after " + what, answer.reply.data, expected);
}

}  // namespace

CONFORMANCE_CASE(data_in_band_is_padded_to_dwords, "mi.in-band.data", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  InBandScene second(bench), third(bench);
  const auto ids = controllers_of(scene, check);
  for (std::size_t from = 0; from <= ids.size(); ++from) {
    const auto first = static_cast<std::uint16_t>(from < ids.size() ? ids[from] : ids.back() + 1);
    Bytes list = mi::make_controller_list(std::span{ids}.subspan(from));
    const std::string what = fmt::format("a list of {} controllers", ids.size() - from);
    const InBandAnswer larger = scene.structure(DataType::controller_list, first);
    // A Controller List may come with its unused entries, which are zero: all 4096 bytes of it.
    if ((larger.nmresp() & 0xFFFF) == nvme::kIdentifySize) list.resize(nvme::kIdentifySize);
    placed(check, scene.structure(DataType::controller_list, first, 0, {.room = in_dwords(list.size())}), list, what);
    placed(check, larger, list, what + " in a larger buffer");
  }
  const InBandAnswer whole = scene.receive(Opcode::vpd_read, 0, 64, {.room = 64});
  if (!tunneled_success(check, whole, "VPD Read")) return;
  for (const std::uint32_t length : {1u, 2u, 3u, 4u, 5u, 31u, 63u}) {
    const ByteView data = whole.data(length);
    const std::string what = fmt::format("VPD Read of {} bytes", length);
    placed(check, scene.receive(Opcode::vpd_read, 0, length, {.room = in_dwords(length)}), data, what);
    placed(check, scene.receive(Opcode::vpd_read, 0, length, {.room = 512}), data, what + " in a larger buffer");
  }
}

CONFORMANCE_CASE(errors_of_the_transfer_leave_dw0_zero, "mi.in-band.transfer", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  const struct {
    Opcode opcode;
    std::uint32_t nmd0, nmd1;
    std::size_t room;
  } kShort[] = {{Opcode::vpd_read, 0, 64, 32},
                {Opcode::controller_health_poll, chsp::kAll | chsp::kEvery, 0, 4},
                {Opcode::subsystem_health_poll, 0, 0, 4},
                {Opcode::read_data_structure, 0, 0, 28}};
  for (const auto& [opcode, nmd0, nmd1, room] : kShort) {
    const InBandAnswer answer = scene.receive(opcode, nmd0, nmd1, {.room = room});
    const std::string what = fmt::format("{} with room for {} bytes", mi::name_of(opcode), room);
    if (!check.that(answer.reply.answered(), what + " is answered", answer.describe())) return;
    if (!answer.reply.ok()) check.equal("DW0 of " + what, answer.reply.dw0(), 0u);
  }
  needed(check, scene.receive(Opcode::subsystem_health_poll, 0, 0, {.room = 8}), "a good command afterwards");
}

CONFORMANCE_CASE(reserved_opcodes_are_invalid_in_band, "mi.in-band.opcode", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  for (unsigned opcode = 0x0D; opcode < 0xC0; ++opcode) {
    for (const bool send : {false, true}) {
      const std::string what = fmt::format("{} with opcode {:02x}h", send ? "NVMe-MI Send" : "NVMe-MI Receive", opcode);
      if (!tunneled_is(check, scene.say(send, static_cast<std::uint8_t>(opcode), 0, 0), one_of(Status::invalid_opcode), what)) return;
    }
  }
}

CONFORMANCE_CASE(there_is_no_buffer_in_band, "mi.in-band.buffer", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  for (const Opcode opcode : {Opcode::buffer_read, Opcode::buffer_write}) {
    for (const bool send : {false, true}) {
      for (const std::uint32_t length : {0u, 4u, 16u}) {
        const auto answer = scene.say(send, static_cast<std::uint8_t>(opcode), 0, length, Bytes(length));
        not_done(check, answer, fmt::format("{} of {} bytes by NVMe-MI {}", mi::name_of(opcode), length, send ? "Send" : "Receive"));
      }
    }
  }
}

CONFORMANCE_CASE(a_bus_is_not_configured_in_band, "mi.in-band.config.bus", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  for (std::uint32_t port = 0; port < 4; ++port) {
    for (const std::uint32_t id : {1u, 3u}) {
      const std::string of = fmt::format(" of configuration {:02x}h of port {}", id, port);
      not_done(check, scene.receive(Opcode::configuration_get, port << 24 | id), "Configuration Get" + of);
      not_done(check, scene.send(Opcode::configuration_set, port << 24 | (id == 1 ? 1u << 8 : 0u) | id, id == 3 ? 64 : 0),
               "Configuration Set" + of);
    }
  }
}

CONFORMANCE_CASE(reserved_configurations_are_refused_in_band, "mi.in-band.config.reserved", roles::controller, needs(tunnels),
                 having_in_band) {
  InBandScene scene(bench);
  constexpr mi::ParameterError kIdentifier{8, 0};
  for (unsigned id = 0; id < 0xC0; ++id) {
    if (id >= 1 && id <= 4) continue;  // bus, health, and the events of later revisions
    for (const bool set : {false, true}) {
      const auto opcode = set ? Opcode::configuration_set : Opcode::configuration_get;
      const InBandAnswer answer = scene.say(set, static_cast<std::uint8_t>(opcode), id, 0);
      if (answer.missing()) continue;
      const std::string what = fmt::format("{} of configuration {:02x}h", mi::name_of(opcode), id);
      if (!tunneled_is(check, answer, one_of(Status::invalid_parameter), what)) return;
      if (!check.equal("parameter error location of " + what, answer.error_at(), kIdentifier)) return;
    }
  }
}

CONFORMANCE_CASE(the_health_configuration_reads_as_nothing_in_band, "mi.in-band.config.health", roles::controller, needs(tunnels),
                 having_in_band) {
  InBandScene scene(bench);
  for (const std::size_t room : {std::size_t{0}, std::size_t{16}}) {
    const InBandAnswer answer = scene.receive(Opcode::configuration_get, 2, 0, {.room = room});
    if (answer.missing() || !tunneled_success(check, answer, "Configuration Get of Health Status Change")) return;
    check.equal("NMRESP", answer.nmresp(), 0u);
    check.bytes("the buffer", answer.reply.data, Bytes(room, kUntouched));
  }
}

CONFORMANCE_CASE(only_mi_commands_are_tunneled, "mi.in-band.kind", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  for (std::uint32_t kind = 0; kind < 16; ++kind) {
    if (kind == 1) continue;
    const InBandTerms terms{.header = (kInBandHeader & ~0x7800u) | kind << 11};
    for (const std::uint8_t opcode : {std::uint8_t{0x00}, std::uint8_t{0x01}, std::uint8_t{0x02}, std::uint8_t{0x05}, std::uint8_t{0x06}}) {
      const auto answer = scene.say(false, opcode, 0, opcode == 5 ? 16 : 0, {}, terms);
      not_done(check, answer, fmt::format("NVMe-MI Receive of NMIMT {} with opcode {:02x}h", kind, opcode));
    }
    not_done(check, scene.send(Opcode::configuration_set, 2, 0, {}, terms), fmt::format("NVMe-MI Send of NMIMT {}", kind));
  }
}

CONFORMANCE_CASE(commands_go_the_way_that_is_theirs, "mi.in-band.direction", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  restart(scene.association);
  const std::uint16_t before = composite_of(scene, check);
  for (const auto& [opcode, nmd1] : std::initializer_list<std::pair<Opcode, std::uint32_t>>{{Opcode::read_data_structure, 0},
                                                                                            {Opcode::subsystem_health_poll, kClearStatus},
                                                                                            {Opcode::controller_health_poll, 0},
                                                                                            {Opcode::configuration_get, 0},
                                                                                            {Opcode::vpd_read, 0}}) {
    const std::uint32_t nmd0 = opcode == Opcode::configuration_get ? 2 : 0;
    not_done(check, scene.send(opcode, nmd0, nmd1), fmt::format("{} by NVMe-MI Send", mi::name_of(opcode)));
  }
  not_done(check, scene.receive(Opcode::configuration_set, 2, 0x1FFF, {.room = 0}), "Configuration Set by NVMe-MI Receive");
  not_done(check, scene.receive(Opcode::vpd_write, 0, 0, {.room = 0}), "VPD Write by NVMe-MI Receive");
  check.equal("state bits of the composite controller status afterwards", composite_of(scene, check) & 0x1FF, before & 0x1FF);
}

namespace {

/// Every kind of command with the bit of the header set: refused at that bit.
void header_bit_is_refused(InBandScene& scene, Check& check, std::uint32_t bit, const mi::ParameterError& at, std::string_view name) {
  const struct {
    bool send;
    Opcode opcode;
    std::uint32_t nmd0, nmd1;
  } kCommands[] = {{false, Opcode::read_data_structure, 0, 0},
                   {false, Opcode::subsystem_health_poll, 0, 0},
                   {false, Opcode::controller_health_poll, chsp::kAll | chsp::kEvery, 0},
                   {false, Opcode::vpd_read, 0, 16},
                   {true, Opcode::configuration_set, 2, 0}};
  for (const auto& [send, opcode, nmd0, nmd1] : kCommands) {
    const auto answer = scene.say(send, static_cast<std::uint8_t>(opcode), nmd0, nmd1, {}, {.header = kInBandHeader | bit});
    if (answer.missing()) continue;
    const std::string what = fmt::format("{} with {}", mi::name_of(opcode), name);
    if (!tunneled_is(check, answer, one_of(Status::invalid_parameter), what)) continue;
    check.equal("parameter error location of " + what, answer.error_at(), at);
  }
}

}  // namespace

CONFORMANCE_CASE(the_buffer_bit_is_refused_in_band, "mi.in-band.meb", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  header_bit_is_refused(scene, check, kMeb, {2, 0}, "MEB");
}

CONFORMANCE_CASE(automatic_pause_is_refused_in_band, "mi.in-band.ciap", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  const Bytes info = structure_of(scene, check, DataType::subsystem_information);
  check.precondition(info.size() >= 3 && (info[1] > 1 || info[2] >= 2), "revision 1.2 or later");
  header_bit_is_refused(scene, check, kCiap, {2, 1}, "CIAP");
}

CONFORMANCE_CASE(what_is_no_request_is_not_executed_in_band, "mi.in-band.header", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  for (const std::uint32_t header : {0x0800u, 0x0805u, 0x0806u, 0x087Eu, 0x080Cu, 0x8804u}) {
    const std::string what = fmt::format("a command with header {:04x}h", header);
    not_done(check, scene.receive(Opcode::subsystem_health_poll, 0, 0, {.header = header}), what);
    not_done(check, scene.receive(Opcode::vpd_read, 0, 16, {.header = header}), what);
    not_done(check, scene.send(Opcode::configuration_set, 2, 0, {}, {.header = header}), what);
  }
}

namespace {

/// What does not change by itself, and is the same whoever asks.
std::vector<Bytes> what_stays(InBandScene& scene, Check& check) {
  std::vector<Bytes> all;
  for (const std::uint16_t id : controllers_of(scene, check))
    all.push_back(structure_of(scene, check, DataType::controller_information, id));
  for (const DataType type : {DataType::subsystem_information, DataType::controller_list, DataType::port_information}) {
    all.push_back(structure_of(scene, check, type));
  }
  const InBandAnswer vpd = scene.receive(Opcode::vpd_read, 0, 256, {.room = 256});
  needed(check, vpd, "VPD Read");
  all.push_back(vpd.reply.data);
  return all;
}
void same(Check& check, const std::vector<Bytes>& now, const std::vector<Bytes>& before, std::string_view when) {
  check.require(now.size() == before.size(), fmt::format("as many controllers {} as before", when));
  for (std::size_t i = 0; i < now.size(); ++i) check.bytes(fmt::format("structure {} {}", i, when), now[i], before[i]);
}

}  // namespace

CONFORMANCE_CASE(any_controller_answers_for_all, "mi.in-band.any-controller", roles::controller, needs(tunnels), having_in_band) {
  InBandScene first(bench), second(bench), third(bench);
  const auto expected = what_stays(first, check);
  same(check, what_stays(second, check), expected, "through the second controller");
  same(check, what_stays(third, check), expected, "through the third controller");
  // Also where the other controllers are about to be told of.
  restart(second.association);
  for (InBandScene* scene : {&first, &third}) same(check, what_stays(*scene, check), expected, "after a reset of the second controller");
}

CONFORMANCE_CASE(commands_in_band_may_be_many_at_once, "mi.in-band.together", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  constexpr std::uint32_t kPieces = 8, kPiece = 16;
  const InBandAnswer whole = scene.receive(Opcode::vpd_read, 0, kPieces * kPiece, {.room = kPieces * kPiece});
  needed(check, whole, "VPD Read");
  host::RawQueue& admin = scene.association.admin();
  for (int round = 0; round < 3; ++round) {
    std::vector<Op<host::RawReply>> reads;
    std::vector<Op<host::RawReply>> identifies;
    for (std::uint32_t i = 0; i < kPieces; ++i) {
      const auto opcode = static_cast<std::uint8_t>(Opcode::vpd_read);
      reads.push_back(admin.send_command(in_band_command(false, opcode, i * kPiece, kPiece, {}, {.room = kPiece})));
      if (i % 4 == 0) identifies.push_back(admin.send(host::identify(nvme::Cns::controller), 4096));
    }
    for (std::uint32_t i = 0; i < kPieces; ++i) {
      const InBandAnswer answer{reads[i].wait()};
      const std::string what = fmt::format("piece {} of the VPD", i);
      if (tunneled_success(check, answer, what))
        check.bytes(what, answer.reply.data, whole.data(kPieces * kPiece).subspan(i * kPiece, kPiece));
    }
    for (auto& one : identifies) check.success(one.wait(), "Identify among them");
  }
}

CONFORMANCE_CASE(a_controller_answers_in_band_after_a_reset, "mi.in-band.after-reset", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  const auto expected = what_stays(scene, check);
  composite_of(scene, check, true);
  for (int round = 0; round < 2; ++round) {
    clear_changed_flags(scene, check);
    restart(scene.association);
    const InBandAnswer first = scene.receive(Opcode::subsystem_health_poll, 0, 0, {.room = mi::SubsystemHealth::size});
    check.require(tunneled_success(check, first, "the first command after the controller was enabled"), "commands go on", first.describe());
    same(check, what_stays(scene, check), expected, "after the controller was disabled and enabled");
    check.equal("RDY and CSTS in the composite status", composite_of(scene, check, true) & 0x0101, 0x0101);
    check.equal("the composite status once it was cleared", composite_of(scene, check) & 0x0101, 0);
  }
  InBandScene next(bench);
  const Bytes info = structure_of(next, check, DataType::subsystem_information);
  check.bytes("subsystem information in a new association", info, structure_of(scene, check, DataType::subsystem_information));
}

}  // namespace fb::conformance
