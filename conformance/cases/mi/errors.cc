// Error responses: their form, which status says what, and where they say the fault is.
#include "conformance/cases/mi/structures.h"

namespace fb::conformance {
namespace {

struct Wrong {
  std::string what;
  Bytes body;
};

constexpr std::uint8_t kReservedOpcode = 0x5A;

Bytes resized(Bytes body, std::ptrdiff_t by) {
  body.resize(static_cast<std::size_t>(static_cast<std::ptrdiff_t>(body.size()) + by));
  return body;
}

/// Requests that get one of the errors without a location, in each kind of command.
std::vector<Wrong> without_location(EndpointBench& bench) {
  const std::uint16_t cntlid = controllers_of(bench).front();
  std::vector<Wrong> wrong = {{"a reserved MI opcode", mi_message(kReservedOpcode)},
                              {"a health poll that is a dword short", resized(mi_message(1), -4)}};
  // Queues, Abort, Asynchronous Event Request, Keep Alive, Doorbell Buffer Config: nothing of out of band.
  for (const auto opcode : std::initializer_list<std::uint8_t>{0x00, 0x01, 0x04, 0x05, 0x08, 0x0C, 0x18, 0x7C}) {
    nvme::Sqe sqe;
    sqe.set(nvme::sqe::opcode, opcode);
    wrong.push_back({"Admin opcode " + words(opcode), admin_message(cntlid, sqe, 0, 0)});
  }
  if (bench.declared().supports({mi::MessageKind::pcie_command, 0})) {
    wrong.push_back({"a reserved PCIe opcode", pcie_message(cntlid, kReservedOpcode, 0, 4)});
  }
  return wrong;
}

/// One wrong parameter each, and where it stands.
struct Misplaced {
  std::string what;
  mi::Opcode opcode;
  std::uint32_t nmd0;
  mi::ParameterError at;
};

std::vector<Misplaced> with_location(EndpointBench& bench) {
  constexpr std::uint32_t kMaxrent = 255u << 16, kAllFunctions = 0x87000000;
  std::vector<Misplaced> wrong = {
      {"a reserved data structure type", mi::Opcode::read_data_structure, 0x06000000, {11, 0}},
      {"the last data structure type", mi::Opcode::read_data_structure, 0xFF000000, {11, 0}},
      {"a port that is not there", mi::Opcode::read_data_structure, structure_of(mi::DataType::port_information, 0, 0xFF), {10, 0}},
      {"256 entries of controller health", mi::Opcode::controller_health_poll, kAllFunctions | kMaxrent, {10, 0}},
      {"configuration 0", mi::Opcode::configuration_get, 0, {8, 0}},
      {"a reserved configuration", mi::Opcode::configuration_get, 0x56, {8, 0}},
      {"the last reserved configuration", mi::Opcode::configuration_get, 0xBF, {8, 0}},
      {"setting a reserved configuration", mi::Opcode::configuration_set, 0x56, {8, 0}},
  };
  const auto ids = controllers_of(bench);
  std::uint16_t unknown = 0xFFEF;
  while (std::find(ids.begin(), ids.end(), unknown) != ids.end()) --unknown;
  wrong.push_back({"a controller that is not there",
                   mi::Opcode::read_data_structure,
                   structure_of(mi::DataType::controller_information, unknown),
                   {8, 0}});
  return wrong;
}

/// MI commands that every product has, with parameters that are good, and no request data.
std::vector<Wrong> without_data(EndpointBench& bench) {
  const std::uint32_t unit = static_cast<std::uint32_t>(mi::ConfigurationId::transmission_unit) | std::uint32_t{bench.port()} << 24;
  constexpr std::uint32_t kAllControllers = 0x87000000;
  constexpr auto kHealthChange = static_cast<std::uint32_t>(mi::ConfigurationId::health_status_change);
  const auto code = [](mi::Opcode opcode) { return static_cast<std::uint8_t>(opcode); };
  return {{"Read NVMe-MI Data Structure", mi_message(code(mi::Opcode::read_data_structure))},
          {"NVM Subsystem Health Status Poll", mi_message(code(mi::Opcode::subsystem_health_poll))},
          {"Controller Health Status Poll", mi_message(code(mi::Opcode::controller_health_poll), kAllControllers)},
          {"Configuration Set of nothing", mi_message(code(mi::Opcode::configuration_set), kHealthChange)},
          {"Configuration Get of the transmission unit", mi_message(code(mi::Opcode::configuration_get), unit)},
          {"VPD Read", mi_message(code(mi::Opcode::vpd_read), 0, 16)}};
}

}  // namespace

CONFORMANCE_CASE(errors_without_a_location_are_eight_bytes, "mi.error.generic", roles::endpoint) {
  for (const Wrong& wrong : without_location(bench)) {
    const MiAnswer answer = bench.request(wrong.body);
    check.require(answer.answered() && answer.mic_good, wrong.what + " is answered", answer.describe());
    check.that(answer.status() != mi::Status::success && answer.status() != mi::Status::invalid_parameter,
               wrong.what + " is refused without a location", answer.describe());
    check.equal("bytes of the answer to " + wrong.what + ", without the check", answer.body.size(), mi::kResponseMin);
    zero(check, ByteView{answer.body}.subspan(5), "bytes behind the status in the answer to " + wrong.what);
  }
}

CONFORMANCE_CASE(invalid_parameters_are_located_at_their_lowest_byte_and_bit, "mi.error.location", roles::endpoint) {
  for (const Misplaced& wrong : with_location(bench)) {
    const MiAnswer answer = bench.command(wrong.opcode, wrong.nmd0);
    invalid_parameter(check, answer, wrong.at, wrong.what);
    check.equal("bytes of the answer to " + wrong.what + ", without the check", answer.body.size(), mi::kResponseMin);
    if (answer.body.size() > 5) check.equal("bits 7:3 of byte 5 in the answer to " + wrong.what, answer.body[5] & 0xF8, 0);
  }
  serves(bench, check, "a good request afterwards");
}

CONFORMANCE_CASE(reserved_opcodes_are_invalid, "mi.command.opcode", roles::endpoint) {
  const bool ses = bench.declared().supports({mi::MessageKind::mi_command, 0x08});
  for (unsigned opcode = ses ? 0x0D : 0x08; opcode < 0xC0; ++opcode) {
    if (opcode > 0x09 && opcode < 0x0D) continue;  // optional ones
    const MiAnswer answer = bench.request(mi_message(static_cast<std::uint8_t>(opcode)), {.slot = opcode % 2});
    if (!status_is(check, answer, mi::Status::invalid_opcode, "MI opcode " + words(opcode))) return;
  }
  serves(bench, check, "a good request afterwards");
}

CONFORMANCE_CASE(commands_that_are_too_short_have_an_invalid_size, "mi.command.size.short", roles::endpoint, sends_malformed) {
  for (const Wrong& good : without_data(bench)) {
    for (const int dwords : {1, 2}) {
      const MiAnswer answer = bench.request(resized(good.body, -4 * dwords));
      status_is(check, answer, mi::Status::invalid_command_size, good.what + ", short of " + std::to_string(dwords) + " dwords");
    }
    success(check, bench.request(good.body), good.what + " of the right size");
  }
  // What has not even an opcode may be discarded.
  const Bytes whole = mi_message(static_cast<std::uint8_t>(mi::Opcode::read_data_structure));
  for (const std::ptrdiff_t bytes : {4, 5, 7}) {
    const MiAnswer answer = bench.request(Bytes(whole.begin(), whole.begin() + bytes), {.within = Duration::s(1)});
    const std::string what = "a request of " + std::to_string(bytes) + " bytes";
    if (answer.answered()) status_is(check, answer, mi::Status::invalid_command_size, what);
    serves(bench, check, "a request after " + what);
  }
}

// Whether what follows a command that takes no data is data or not, the documents leave to the reader.
CONFORMANCE_CASE(commands_that_are_too_long_are_refused, "mi.command.size.long", roles::endpoint) {
  for (const Wrong& good : without_data(bench)) {
    for (const int bytes : {4, 8, 64}) {
      const MiAnswer answer = bench.request(resized(good.body, bytes));
      status_is(check, answer, one_of(mi::Status::invalid_command_size, mi::Status::invalid_data_size),
                good.what + " and " + std::to_string(bytes) + " bytes more");
    }
    success(check, bench.request(good.body), good.what + " of the right size");
  }
}

// What is written is what is there already, so that a careless product does no harm.
CONFORMANCE_CASE(vpd_write_needs_as_much_data_as_it_says, "mi.command.data.vpd", roles::endpoint, needs(offers<mi::Opcode::vpd_write>)) {
  constexpr std::uint32_t kLength = 16;
  const MiAnswer before = bench.command(mi::Opcode::vpd_read, 0, kVpdBytes);
  precondition(check, before, "VPD Read");
  for (const std::uint32_t given : {0u, 4u, 12u, 20u, 32u}) {
    const ByteView data = before.data().first(given);
    status_is(check, bench.command(mi::Opcode::vpd_write, 0, kLength, data), mi::Status::invalid_data_size,
              "VPD Write of 16 bytes with " + std::to_string(given));
  }
  const MiAnswer after = bench.command(mi::Opcode::vpd_read, 0, kVpdBytes);
  success(check, after, "VPD Read afterwards");
  check.bytes("vital product data afterwards", after.data(), before.data());
}

CONFORMANCE_CASE(buffer_write_needs_as_much_data_as_it_says, "mi.command.data.buffer", roles::endpoint, needs(endpoint_buffer)) {
  constexpr std::uint32_t kLength = 16;
  const Bytes pattern(64, 0xA5);
  for (const std::uint32_t given : {0u, 4u, 12u, 20u, 32u}) {
    status_is(check, bench.command(mi::Opcode::buffer_write, 0, kLength, ByteView{pattern}.first(given)), mi::Status::invalid_data_size,
              "a write of 16 bytes to the buffer with " + std::to_string(given));
  }
  success(check, bench.command(mi::Opcode::buffer_write, 0, kLength, ByteView{pattern}.first(kLength)), "a write of 16 bytes with 16");
}

CONFORMANCE_CASE(every_status_is_one_of_the_table, "mi.error.status", roles::endpoint) {
  std::vector<Wrong> all = without_location(bench);
  for (const Misplaced& wrong : with_location(bench)) {
    all.push_back({wrong.what, mi_message(static_cast<std::uint8_t>(wrong.opcode), wrong.nmd0)});
  }
  for (const Wrong& good : without_data(bench)) {
    all.push_back(good);
    all.push_back({good.what + " and a dword more", resized(good.body, 4)});
  }
  constexpr std::uint8_t kVendorFirst = 0xE0;
  for (const Wrong& one : all) {
    const MiAnswer answer = bench.request(one.body);
    check.require(answer.answered() && answer.body.size() >= mi::kResponseMin, one.what + " is answered", answer.describe());
    const auto status = static_cast<std::uint8_t>(answer.status());
    check.that(mi::is_defined(answer.status()) || status >= kVendorFirst,
               "the status of the answer to " + one.what + " is not a reserved one", words(status));
  }
}

}  // namespace fb::conformance
