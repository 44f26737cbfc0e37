// The management endpoint buffer: its own commands, and commands that leave their data there.
#include "conformance/cases/mi/commands.h"
#include "conformance/runner/managed_setup.h"
#include "model/drive/drive.h"

namespace fb::conformance {
namespace {

using mi::MessageKind;
using mi::Opcode;

constexpr std::uint8_t code_of(Opcode opcode) { return static_cast<std::uint8_t>(opcode); }

/// The part of the buffer that one message can hold.
std::uint32_t usable(const EndpointBench& bench) { return std::min<std::uint32_t>(bench.declared().buffer_bytes(), mi::kDataMax); }

/// Fills the part of the buffer that one message can hold. INCONCLUSIVE when that does not succeed.
Bytes filled(EndpointBench& bench, Check& check, unsigned seed) {
  const Bytes data = pattern_of(usable(bench), seed);
  precondition(check, buffer_write(bench, 0, data), "Management Endpoint Buffer Write");
  return data;
}
bool buffer_is(EndpointBench& bench, Check& check, ByteView expected, std::string_view what) {
  const MiAnswer answer = buffer_read(bench, 0, static_cast<std::uint32_t>(expected.size()));
  if (!success(check, answer, "Management Endpoint Buffer Read")) return false;
  return check.bytes(what, answer.data(), expected);
}

/// The commands that may use the buffer; nothing when the list is no list.
std::optional<std::vector<mi::SupportedCommand>> buffer_list(EndpointBench& bench) {
  const MiAnswer answer = bench.command(Opcode::read_data_structure, static_cast<std::uint32_t>(mi::DataType::buffer_commands) << 24);
  if (!answer.ok()) return std::nullopt;
  return mi::parse_command_list(answer.data());
}
std::vector<mi::SupportedCommand> listed(EndpointBench& bench, Check& check) {
  auto list = buffer_list(bench);
  if (!list) check.inconclusive("the list of commands that may use the buffer cannot be read");
  return std::move(*list);
}
bool contains(const std::vector<mi::SupportedCommand>& list, MessageKind kind, std::uint8_t opcode) {
  return std::find(list.begin(), list.end(), mi::SupportedCommand{kind, opcode}) != list.end();
}

/// Commands that change nothing, each as a good request but for the buffer that it asks for.
struct Harmless {
  std::string name;
  mi::SupportedCommand command;
  Bytes message;
};
std::vector<Harmless> harmless_commands(EndpointBench& bench, Check& check) {
  const MiTerms terms{.in_buffer = true};
  const std::uint16_t cntlid = a_controller(bench, check);
  std::vector<Harmless> made;
  const auto mi_command = [&](Opcode opcode, std::uint32_t nmd0, std::uint32_t nmd1) {
    made.push_back(
        {std::string(mi::name_of(opcode)), {MessageKind::mi_command, code_of(opcode)}, mi_message(code_of(opcode), nmd0, nmd1, {}, terms)});
  };
  mi_command(Opcode::read_data_structure, 0, 0);
  mi_command(Opcode::subsystem_health_poll, 0, 0);
  mi_command(Opcode::controller_health_poll, 0x87000000, 0);
  mi_command(Opcode::configuration_set, 2, 0);
  mi_command(Opcode::configuration_get, 2, 0);
  mi_command(Opcode::vpd_read, 0, 16);
  mi_command(Opcode::buffer_read, 0, 16);
  const auto admin = [&](std::string name, const nvme::Sqe& sqe, std::uint32_t dlen) {
    made.push_back({std::move(name), {MessageKind::admin_command, sqe.bytes()[0]}, admin_message(cntlid, sqe, 0, dlen, {}, terms)});
  };
  admin("Identify", identify_controller_command(), 64);
  admin("Get Log Page", log_command(2, 0, 512, nvme::kAllNamespaces), 512);
  if (bench.declared().supports({MessageKind::pcie_command, 0})) {
    made.push_back({"PCIe Configuration Read", {MessageKind::pcie_command, 0}, pcie_message(cntlid, 0, 0, 16, 0, {}, terms)});
  }
  return made;
}

/// Every command that is not on the list, asking for the buffer.
std::vector<std::pair<std::string, MiAnswer>> ask_unlisted(EndpointBench& bench, Check& check) {
  const std::vector<mi::SupportedCommand> list = listed(bench, check);
  std::vector<std::pair<std::string, MiAnswer>> answers;
  for (const Harmless& one : harmless_commands(bench, check)) {
    if (!contains(list, one.command.kind, one.command.opcode)) answers.emplace_back(one.name, bench.request(one.message));
  }
  check.precondition(!answers.empty(), "there is a command that may not use the buffer");
  return answers;
}

struct InBuffer {
  std::string name;
  Bytes direct;     ///< data that the message carried
  MiAnswer answer;  ///< to the same command with the buffer
};
/// The same command without and with the buffer, of those that are on the list.
std::vector<InBuffer> both_ways(EndpointBench& bench, Check& check, unsigned seed) {
  const std::vector<mi::SupportedCommand> list = listed(bench, check);
  std::vector<InBuffer> made;
  const auto room = [&](std::size_t bytes) { return bytes <= bench.declared().buffer_bytes(); };
  if (contains(list, MessageKind::mi_command, code_of(Opcode::vpd_read)) && room(100)) {
    const MiAnswer direct = vpd_read(bench, 3, 100);
    precondition(check, direct, "VPD Read");
    filled(bench, check, seed);
    made.push_back({"VPD Read", {direct.data().begin(), direct.data().end()}, vpd_read(bench, 3, 100, {.in_buffer = true})});
  }
  if (contains(list, MessageKind::admin_command, 0x06) && room(260)) {
    const std::uint16_t cntlid = a_controller(bench, check);
    const Bytes page = identity(bench, check, cntlid);
    filled(bench, check, seed + 1);
    made.push_back({"Identify",
                    {page.begin(), page.begin() + 256},
                    bench.admin(cntlid, identify_controller_command(), 0, 256, {}, {.in_buffer = true})});
  }
  check.precondition(!made.empty(), "there is a command that may leave its data in the buffer");
  return made;
}

}  // namespace

CONFORMANCE_CASE(the_buffer_keeps_what_is_written, "mi.buffer.write.read-back", roles::endpoint, needs(endpoint_buffer)) {
  const std::uint32_t size = usable(bench);
  Bytes expected = filled(bench, check, 1);
  if (!buffer_is(bench, check, expected, "the whole buffer")) return;
  unsigned seed = 1;
  for (const auto& [offset, length] : {std::pair{0u, 4u}, {4u, 4u}, {size / 2, 64u}, {size - 4, 4u}, {8u, 256u}}) {
    if (offset > size || size - offset < length) continue;
    const Bytes data = pattern_of(length, ++seed);
    std::copy(data.begin(), data.end(), expected.begin() + offset);
    success_with(check, buffer_write(bench, offset, data), 0, fmt::format("{} bytes at {}", length, offset));
    buffer_is(bench, check, expected, fmt::format("the buffer after {} bytes at {}", length, offset));
  }
  for (const std::uint32_t piece : {1u, 3u, 64u, 1000u}) {
    for (std::uint32_t at = piece; at < size; at += std::max(piece, size / 5)) {
      const std::uint32_t length = std::min(piece, size - at);
      const MiAnswer answer = buffer_read(bench, at, length);
      if (!success(check, answer, fmt::format("{} bytes from {}", length, at))) continue;
      check.bytes(fmt::format("{} bytes from {}", length, at), answer.data(), ByteView{expected}.subspan(at, length));
      check.equal("NMRESP", answer.nmresp(), 0u);
    }
  }
}

CONFORMANCE_CASE(no_bytes_of_the_buffer_succeed, "mi.buffer.access.nothing", roles::endpoint, needs(endpoint_buffer)) {
  const Bytes expected = filled(bench, check, 2);
  for (const std::uint32_t offset : {0u, 1u, usable(bench) / 2, usable(bench) - 1}) {
    success_with(check, buffer_read(bench, offset, 0), 0, fmt::format("read of no bytes at {}", offset));
    success_with(check, buffer_write(bench, offset, {}), 0, fmt::format("write of no bytes at {}", offset));
  }
  buffer_is(bench, check, expected, "the buffer afterwards");
}

CONFORMANCE_CASE(accesses_behind_the_buffer_are_refused, "mi.buffer.access.offset", roles::endpoint, needs(endpoint_buffer)) {
  const Bytes expected = filled(bench, check, 3);
  const std::uint32_t size = bench.declared().buffer_bytes();
  for (const std::uint32_t offset : {size, size + 1, size + 4096, 0x80000000u, 0xFFFFFFFCu}) {
    if (offset < size) continue;
    refused_at(check, buffer_read(bench, offset, 4), 8, fmt::format("read at {:#x}", offset));
    refused_at(check, buffer_write(bench, offset, Bytes(4, 0x11)), 8, fmt::format("write at {:#x}", offset));
  }
  buffer_is(bench, check, expected, "the buffer afterwards");
}

CONFORMANCE_CASE(accesses_beyond_the_buffer_are_refused, "mi.buffer.access.length", roles::endpoint, needs(endpoint_buffer)) {
  const Bytes expected = filled(bench, check, 4);
  const std::uint32_t size = bench.declared().buffer_bytes();
  check.precondition(size >= 64, "the buffer has 64 bytes");
  for (const auto& [offset, length] :
       {std::pair{0u, size + 1}, {0u, size + 4}, {size - 4, 8u}, {size - 1, 2u}, {4u, size}, {0u, 0x80000000u}, {4u, 0xFFFFFFFCu}}) {
    refused_at(check, buffer_read(bench, offset, length), 12, fmt::format("read of {:#x} at {:#x}", length, offset));
  }
  if (size > mi::kDataMax) {
    refused_at(check, buffer_read(bench, 0, mi::kDataMax + 4), 12, "read of more than a message holds");
  }
  for (const std::uint32_t inside : {4u, 16u, 64u}) {
    refused_at(check, buffer_write(bench, size - inside, Bytes(inside + 4, 0x22)), 12,
               fmt::format("write of {} bytes, {} of them inside", inside + 4, inside));
  }
  buffer_is(bench, check, expected, "the buffer afterwards");
  const MiAnswer last = buffer_read(bench, size - 4, 4);
  success_with(check, last, 4, "the last four bytes");
}

CONFORMANCE_CASE(a_buffer_write_with_other_data_is_refused, "mi.buffer.write.data", roles::endpoint, needs(endpoint_buffer)) {
  const Bytes expected = filled(bench, check, 5);
  for (const auto& [length, given] : {std::pair{8u, 4u}, {8u, 12u}, {8u, 0u}, {4u, 8u}, {0u, 4u}, {64u, 60u}, {64u, 68u}}) {
    const MiAnswer answer = bench.command(Opcode::buffer_write, 0, length, Bytes(given, 0x33));
    refused(check, answer, mi::Status::invalid_data_size, fmt::format("DLEN {} with {} bytes", length, given));
  }
  buffer_is(bench, check, expected, "the buffer afterwards");
}

CONFORMANCE_CASE(a_buffer_read_takes_no_data, "mi.buffer.read.request-data", roles::endpoint, needs(endpoint_buffer)) {
  const Bytes whole = mi_message(code_of(Opcode::buffer_read), 0, 16);
  for (const std::size_t size : {8u, 12u}) {
    refused(check, bench.request(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))), mi::Status::invalid_command_size,
            fmt::format("a buffer read of {} bytes", size));
  }
  for (const std::size_t bytes : {4u, 16u}) {
    size_refused(check, bench.command(Opcode::buffer_read, 0, 16, Bytes(bytes)), fmt::format("a buffer read with {} bytes", bytes));
  }
  serves(bench, check, "a request after the refusals");
}

CONFORMANCE_CASE(the_buffer_has_a_list, "mi.buffer.commands.list", roles::endpoint, needs(endpoint_buffer)) {
  const auto list = buffer_list(bench);
  check.require(list.has_value(), "the list of commands that may use the buffer can be read");
  auto sorted = *list;
  std::sort(sorted.begin(), sorted.end());
  check.that(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "each command is listed once");
  for (const mi::SupportedCommand& one : *list) {
    check.that(one.kind == MessageKind::mi_command || one.kind == MessageKind::admin_command || one.kind == MessageKind::pcie_command,
               "commands are of MI, Admin or PCIe", fmt::format("NMIMT {}", static_cast<unsigned>(one.kind)));
  }
  const MiAnswer optional = bench.command(Opcode::read_data_structure,
                                          static_cast<std::uint32_t>(mi::DataType::supported_commands) << 24 | a_controller(bench, check));
  const auto offered = mi::parse_command_list(optional.data());
  check.require(optional.ok() && offered.has_value(), "the optional commands can be read", optional.describe());
  for (const Opcode opcode : {Opcode::buffer_read, Opcode::buffer_write}) {
    check.that(contains(*offered, MessageKind::mi_command, code_of(opcode)),
               fmt::format("{} is among the optional commands", mi::name_of(opcode)));
  }
}

CONFORMANCE_CASE(unlisted_commands_may_not_use_the_buffer, "mi.buffer.unlisted.refused", roles::endpoint, needs(endpoint_buffer)) {
  for (const auto& [name, answer] : ask_unlisted(bench, check)) {
    refused(check, answer, mi::Status::invalid_parameter, name + " with the buffer");
  }
  serves(bench, check, "a request after the refusals");
}

CONFORMANCE_CASE(unlisted_commands_point_at_the_buffer_bit, "mi.buffer.unlisted.location", roles::endpoint, needs(endpoint_buffer)) {
  for (const auto& [name, answer] : ask_unlisted(bench, check)) refused_at(check, answer, 2, name + " with the buffer");
}

CONFORMANCE_CASE(response_data_stands_in_the_buffer, "mi.buffer.response", roles::endpoint, needs(endpoint_buffer)) {
  for (const InBuffer& one : both_ways(bench, check, 6)) {
    if (!success(check, one.answer, one.name + " with the buffer")) continue;
    const bool admin = one.name == "Identify";
    check.equal("bytes of the response to " + one.name, one.answer.body.size(), admin ? mi::AdminResponse::size : mi::kResponseMin);
  }
  // The buffer holds the data of the last of them, and of each when it is the only one.
  const std::vector<InBuffer> last = both_ways(bench, check, 8);
  buffer_is(bench, check, last.back().direct, "the data of " + last.back().name + " in the buffer");
}

CONFORMANCE_CASE(the_rest_of_the_buffer_is_zero, "mi.buffer.zeroed", roles::endpoint, needs(endpoint_buffer)) {
  const std::vector<InBuffer> last = both_ways(bench, check, 10);
  precondition(check, last.back().answer, last.back().name + " with the buffer");
  const std::uint32_t size = usable(bench);
  check.precondition(size > last.back().direct.size(), "the buffer is larger than the data");
  const MiAnswer answer = buffer_read(bench, 0, size);
  precondition(check, answer, "Management Endpoint Buffer Read");
  check.precondition(answer.data().size() == size, "it returns what was asked for");
  const auto used = static_cast<std::uint32_t>(last.back().direct.size());
  check.bytes("the buffer behind the data", answer.data().subspan(used), Bytes(size - used));
}

CONFORMANCE_CASE(request_data_comes_from_the_buffer, "mi.buffer.request", roles::endpoint, needs(endpoint_buffer),
                 needs(offers<Opcode::vpd_write>), arranged("a VPD that may be written all over")) {
  const std::vector<mi::SupportedCommand> list = listed(bench, check);
  check.precondition(contains(list, MessageKind::mi_command, code_of(Opcode::vpd_write)), "VPD Write may use the buffer");
  Bytes image = whole_vpd(bench, check);
  const Bytes data = filled(bench, check, 12);
  const MiAnswer written = vpd_write(bench, 16, 32, {}, {.in_buffer = true});
  unless_read_only(bench, check, image, written);
  success_with(check, written, 0, "VPD Write from the buffer");
  std::copy_n(data.begin(), 32, image.begin() + 16);
  check.bytes("VPD after the write", whole_vpd(bench, check), image);
  refused(check, vpd_write(bench, 16, 32, Bytes(32, 0x44), {.in_buffer = true}),
          one_of(mi::Status::invalid_parameter, mi::Status::invalid_data_size), "VPD Write from the buffer, with data");
  check.bytes("VPD after the refusal", whole_vpd(bench, check), image);
}

CONFORMANCE_CASE(every_endpoint_has_a_buffer_of_its_own, "mi.buffer.own", roles::endpoint, over_buses, needs(endpoint_buffer),
                 arranged("a device of two endpoints", [](EmbeddedSetup& setup) { setup.managed->second_endpoint = true; })) {
  const Bytes first = filled(bench, check, 13);
  bench.peer().set_product(kSecondEndpointEid, product_address_on(bench.medium(), 1));
  buffer_is(bench, check, Bytes(first.size()), "the other endpoint's buffer");
  const Bytes second = filled(bench, check, 14);
  bench.peer().set_product(bench.eid(), bench.address());
  buffer_is(bench, check, first, "the first endpoint's buffer");
  bench.peer().set_product(kSecondEndpointEid, product_address_on(bench.medium(), 1));
  buffer_is(bench, check, second, "the other endpoint's buffer, when it was written");
}

CONFORMANCE_CASE(a_reset_empties_the_buffer, "mi.buffer.reset", roles::endpoint, needs(endpoint_buffer), needs(offers<Opcode::reset>)) {
  const Bytes before = filled(bench, check, 15);
  reset_and_return(bench, check);
  buffer_is(bench, check, Bytes(before.size()), "the buffer after the reset");
}

CONFORMANCE_CASE(a_sanitized_buffer_cannot_be_read, "mi.buffer.sanitized", roles::endpoint, needs(endpoint_buffer),
                 arranged("a sanitize operation")) {
  const Bytes before = filled(bench, check, 16);
  bench.drive().device().sanitized();
  for (const std::uint32_t offset : {0u, 64u}) {
    refused(check, buffer_read(bench, offset, 16), mi::Status::buffer_cleared, fmt::format("read at {}", offset));
  }
  serves(bench, check, "another request");
  // A write of a part does not bring back what was behind it.
  const std::size_t part = before.size() / 4;
  precondition(check, buffer_write(bench, 0, pattern_of(part, 18)), "Management Endpoint Buffer Write");
  const MiAnswer rest = buffer_read(bench, static_cast<std::uint32_t>(part), static_cast<std::uint32_t>(before.size() - part));
  if (rest.ok()) {
    const bool old = part != 0 && Bytes(rest.data().begin(), rest.data().end()) ==
                                      Bytes(before.begin() + static_cast<std::ptrdiff_t>(part), before.end());
    check.that(!old, "what was behind a write after the sanitize operation is gone", "the buffer still has it");
  }
  const Bytes again = filled(bench, check, 17);
  buffer_is(bench, check, again, "the buffer when it was written again");
}

}  // namespace fb::conformance
