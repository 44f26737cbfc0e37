// Read NVMe-MI Data Structure in band: each structure, and what it agrees with.
#include <fmt/ranges.h>

#include <set>

#include "conformance/cases/mi/in_band.h"
#include "wire/nvme/identify_misc.h"

namespace fb::conformance {
namespace {

using mi::DataType;
using mi::Opcode;
using mi::Status;

constexpr std::size_t kStructure = 32;

bool all_zero(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}
void zero(Check& check, ByteView bytes, const std::string& what) { check.that(all_zero(bytes), what + " are zero", words(bytes)); }

/// 32 bytes, in a buffer of as many; the case ends without them.
Bytes whole(InBandScene& scene, Check& check, const std::string& what, DataType type, std::uint16_t cntlid = 0, std::uint8_t port = 0) {
  const InBandAnswer answer = scene.structure(type, cntlid, port, {.room = kStructure});
  check.require(tunneled_success(check, answer, what), what + " is returned", answer.describe());
  check.equal("response data length of " + what, answer.nmresp(), kStructure);
  check.require(answer.reply.data.size() == kStructure, "a buffer of 32 bytes holds " + what, words(answer.reply.data));
  return answer.reply.data;
}
/// Read NVMe-MI Data Structure is optional in band.
void reads_structures(InBandScene& scene, Check& check) {
  needed(check, scene.structure(DataType::subsystem_information), "Read NVMe-MI Data Structure");
}
unsigned ports_of(InBandScene& scene, Check& check) {
  const Bytes info = structure_of(scene, check, DataType::subsystem_information);
  check.require(!info.empty(), "NMRESP is the length of NVM Subsystem Information", "it is 0");
  return info[0] + 1u;
}

}  // namespace

CONFORMANCE_CASE(subsystem_information_in_band_is_32_bytes, "mi.in-band.read-ds.subsystem", roles::controller, needs(tunnels),
                 having_in_band) {
  InBandScene scene(bench);
  reads_structures(scene, check);
  const Bytes info = whole(scene, check, "subsystem information", DataType::subsystem_information);
  const unsigned major = info[1], minor = info[2];
  check.that((major == 1 && minor >= 1 && minor <= 2) || (major == 2 && minor <= 9), "the revision is one of NVMe-MI with Send and Receive",
             fmt::format("{}.{}", major, minor));
  zero(check, ByteView{info}.subspan(4), "reserved bytes of subsystem information");
}

namespace {

void judge_pcie(Check& check, ByteView data, const std::string& of) {
  check.that(data[8] <= 5, "MPS" + of + " is one of 128 to 4096 bytes", words(data[8]));
  check.that(data[10] == 0 || (data[10] <= 7 && (data[9] >> (data[10] - 1) & 1) != 0), "CLS" + of + " is a supported speed",
             words(data[10]));
  check.that(data[12] <= data[11], "the link" + of + " is not wider than it can be", words(data[12]));
}
void judge_two_wire(Check& check, ByteView data, const std::string& of) {
  check.that(data[9] <= 3, "MVPDFREQ" + of + " is a frequency", words(data[9]));
  check.equal("reserved bits of byte 12" + of, data[12] & 0xFE, 0);
}

}  // namespace

CONFORMANCE_CASE(ports_in_band_are_those_of_the_subsystem, "mi.in-band.read-ds.port", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  reads_structures(scene, check);
  const unsigned ports = ports_of(scene, check);
  for (unsigned port = 0; port < ports; ++port) {
    const std::string of = fmt::format(" of port {}", port);
    const Bytes info = whole(scene, check, "information" + of, DataType::port_information, 0, static_cast<std::uint8_t>(port));
    check.that(info[0] <= 2, "PRTTYP" + of + " is inactive, PCIe or two-wire", words(info[0]));
    check.equal("reserved bits of PRTCAP" + of, info[1] & 0xFC, 0);
    zero(check, ByteView{info}.subspan(14), "reserved bytes" + of);
    const auto unit = load_le<std::uint16_t>(&info[2]);
    check.that(unit == 0 || unit >= 64, "MMTUS" + of + " is 0 or at least 64", words(unit));
    if (info[0] == 1) judge_pcie(check, info, of);
    if (info[0] == 2) judge_two_wire(check, info, of);
  }
  for (unsigned port = ports; port < 256; ++port) {
    const InBandAnswer answer = scene.structure(DataType::port_information, 0, static_cast<std::uint8_t>(port));
    if (!tunneled_is(check, answer, one_of(Status::invalid_parameter), fmt::format("information of port {}", port))) return;
  }
}

CONFORMANCE_CASE(the_controller_list_in_band_begins_where_it_is_asked, "mi.in-band.read-ds.controllers", roles::controller, needs(tunnels),
                 having_in_band) {
  InBandScene scene(bench), second(bench), third(bench);
  reads_structures(scene, check);
  const auto all = controllers_of(scene, check);
  check.that(std::is_sorted(all.begin(), all.end(), std::less_equal<>()), "identifiers ascend", fmt::format("{}", fmt::join(all, ", ")));
  for (const InBandScene* one : {&scene, &second, &third}) {
    const bool there = std::find(all.begin(), all.end(), one->association.cntlid()) != all.end();
    check.that(there, fmt::format("the list has controller {}", one->association.cntlid()), fmt::format("{}", fmt::join(all, ", ")));
  }
  std::set<std::uint16_t> starts = {0, 1, 0x00FF, 0x0100, 0xFFEF};
  for (const std::uint16_t id : all) starts.insert({id, static_cast<std::uint16_t>(id + 1)});
  for (const std::uint16_t start : starts) {
    const std::string what = fmt::format("the controller list from {}", start);
    const InBandAnswer answer = scene.structure(DataType::controller_list, start);
    if (!tunneled_success(check, answer, what)) continue;
    std::vector<std::uint16_t> expected;
    std::copy_if(all.begin(), all.end(), std::back_inserter(expected), [&](std::uint16_t id) { return id >= start; });
    const Bytes list = mi::make_controller_list(expected);
    check.bytes(what, answer.data(list.size()), list);
  }
}

CONFORMANCE_CASE(controller_information_in_band_agrees_with_identify, "mi.in-band.read-ds.controller", roles::controller, needs(tunnels),
                 having_in_band) {
  InBandScene scene(bench), second(bench);
  reads_structures(scene, check);
  const unsigned ports = ports_of(scene, check);
  for (InBandScene* one : {&scene, &second}) {
    const auto identify = one->association.admin().send(host::identify(nvme::Cns::controller), 4096).wait();
    check.precondition_success(identify, "Identify Controller");
    const View<nvme::IdentifyController> own{identify.data};
    const std::string of = fmt::format(" of controller {}", one->association.cntlid());
    const Bytes info = whole(scene, check, "information" + of, DataType::controller_information, one->association.cntlid());
    const View<mi::ControllerInfo> view{info};
    check.that(view.get(mi::controller_info::portid) < ports, "PORTID" + of + " is a port of the subsystem", words(info[0]));
    zero(check, ByteView{info}.subspan(1, 4), "bytes 1 to 4" + of);
    check.equal("reserved bits of PRII" + of, info[5] & 0xFE, 0);
    zero(check, ByteView{info}.subspan(17), "bytes behind 16" + of);
    check.equal("VID" + of, view.get(mi::controller_info::vid), own.get(nvme::id_ctrl::vid));
    check.equal("SSVID" + of, view.get(mi::controller_info::ssvid), own.get(nvme::id_ctrl::ssvid));
  }
  const auto all = controllers_of(scene, check);
  for (const auto id : {std::uint16_t{0xFFF0}, std::uint16_t{0xFFFF}, static_cast<std::uint16_t>(all.back() + 0x100)}) {
    const InBandAnswer answer = scene.structure(DataType::controller_information, id);
    tunneled_is(check, answer, one_of(Status::invalid_parameter), fmt::format("information of controller {}", id));
  }
}

namespace {

/// A form of the command that does nothing even where it is there.
InBandAnswer harmless(InBandScene& scene, Opcode opcode) {
  constexpr std::uint32_t kReservedType = 0xFF000000;
  const bool ends = opcode == Opcode::reset || opcode == Opcode::shutdown;
  const bool sends = ends || opcode == Opcode::vpd_write || opcode == Opcode::ses_send || opcode == Opcode::configuration_set;
  const std::uint32_t nmd0 = ends ? kReservedType : opcode == Opcode::configuration_get || opcode == Opcode::configuration_set ? 2 : 0;
  return scene.say(sends, static_cast<std::uint8_t>(opcode), nmd0, 0);
}

}  // namespace

CONFORMANCE_CASE(optional_commands_in_band_are_those_listed, "mi.in-band.read-ds.optional", roles::controller, needs(tunnels),
                 having_in_band) {
  InBandScene scene(bench);
  reads_structures(scene, check);
  const Bytes data = structure_of(scene, check, DataType::supported_commands, scene.association.cntlid());
  check.require(data.size() >= 2 && data.size() >= 2u + 2u * load_le<std::uint16_t>(data.data()), "the list is as long as it says",
                words(data.size()));
  std::set<std::uint8_t> listed;
  for (std::size_t i = 0; i < load_le<std::uint16_t>(data.data()); ++i) {
    const std::uint8_t kind = data[2 + 2 * i], opcode = data[3 + 2 * i];
    check.equal(fmt::format("command type of entry {}, an NVMe-MI command", i), kind, 0x08);
    if (opcode < 0xC0) listed.insert(opcode);
  }
  for (const Opcode opcode : {Opcode::vpd_write, Opcode::reset, Opcode::ses_receive, Opcode::ses_send, Opcode::shutdown}) {
    const bool there = listed.contains(static_cast<std::uint8_t>(opcode));
    const InBandAnswer answer = harmless(scene, opcode);
    const std::string what = fmt::format("{}, which is {}listed,", mi::name_of(opcode), there ? "" : "not ");
    if (check.success(answer.reply, "NVMe status of " + what)) check.equal(what + " is an invalid opcode", answer.missing(), !there);
  }
  for (const Opcode opcode : {Opcode::buffer_read, Opcode::buffer_write}) {
    check.that(!listed.contains(static_cast<std::uint8_t>(opcode)), "no command of a buffer is listed");
  }
  for (const Opcode opcode : {Opcode::configuration_get, Opcode::configuration_set}) {
    if (!listed.contains(static_cast<std::uint8_t>(opcode))) continue;
    check.that(!harmless(scene, opcode).missing(), fmt::format("{}, which is listed, is there", mi::name_of(opcode)));
  }
}

CONFORMANCE_CASE(reserved_structures_are_refused_in_band, "mi.in-band.read-ds.type", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  reads_structures(scene, check);
  // Type 05h is of an endpoint's buffer, which a controller does not have.
  for (unsigned type = 5; type < 256; ++type) {
    const InBandAnswer answer = scene.receive(Opcode::read_data_structure, type << 24);
    if (!tunneled_is(check, answer, one_of(Status::invalid_parameter), fmt::format("data structure type {:02x}h", type))) return;
  }
}

}  // namespace fb::conformance
