// Every call of a management requester: the bytes that it sends, and what it makes of answers that are as they should be, shorter,
// longer, counted wrongly, or out of order. The bytes are spelt here as the tables of NVMe-MI have them.
#include <fmt/format.h>

#include <functional>
#include <memory>

#include "conformance/runner/management_requester_bench.h"
#include "wire/nvme/sqe.h"

namespace fb::conformance {
namespace {

using mi::Requester;
using mi::Status;

Bytes operator+(Bytes a, ByteView b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Bytes little(std::uint64_t value, std::size_t bytes) {
  Bytes made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::uint8_t>(value >> (8 * i));
  return made;
}
/// `count` bytes, no two neighbours of which are equal.
Bytes mixed(std::size_t count, unsigned first = 1) {
  Bytes made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = static_cast<std::uint8_t>(first + 3 * i);
  return made;
}

// ---- requests ----

constexpr std::uint8_t kMi = 1, kAdmin = 2, kPcie = 4;

Bytes head(std::uint8_t kind, std::uint8_t opcode, std::uint8_t slot = 0, std::uint8_t flags = 0) {
  return {0x84, static_cast<std::uint8_t>(kind << 3 | slot), flags, 0, opcode};
}
Bytes mi_bytes(std::uint8_t opcode, std::uint32_t nmd0, std::uint32_t nmd1 = 0, ByteView data = {}, std::uint8_t slot = 0,
               std::uint8_t flags = 0) {
  return head(kMi, opcode, slot, flags) + Bytes(3) + little(nmd0, 4) + little(nmd1, 4) + data;
}
/// Bytes 5 to 67 of an Admin command; CDW4 and CDW5 are never used.
struct AdminBytes {
  std::uint8_t opcode, flags;
  std::uint16_t cntlid;
  std::uint32_t nsid, cdw2, cdw3, dofst, dlen;
  std::array<std::uint32_t, 6> cdw10;
};
Bytes admin_bytes(const AdminBytes& one, ByteView data = {}, std::uint8_t slot = 0) {
  Bytes made = head(kAdmin, one.opcode, slot) + Bytes{one.flags} + little(one.cntlid, 2) + little(one.nsid, 4) + little(one.cdw2, 4) +
               little(one.cdw3, 4) + Bytes(8) + little(one.dofst, 4) + little(one.dlen, 4) + Bytes(8);
  for (const std::uint32_t dword : one.cdw10) made = std::move(made) + little(dword, 4);
  return std::move(made) + data;
}
Bytes pcie_bytes(std::uint8_t opcode, std::uint16_t cntlid, std::uint16_t length, std::uint8_t bar, std::uint64_t offset,
                 ByteView data = {}) {
  return head(kPcie, opcode) + Bytes(1) + little(cntlid, 2) + little(length, 2) + Bytes{bar, 0} + little(offset, 8) + data;
}

/// Each dword of the command has another value.
nvme::Sqe full_command() {
  nvme::Sqe sqe;
  sqe.set(nvme::sqe::opcode, 0xC2)
      .set(nvme::sqe::nsid, 0x01020304)
      .set(nvme::sqe::cdw2, 0x11121314)
      .set(nvme::sqe::cdw3, 0x21222324)
      .set(nvme::sqe::cdw10, 0xA1A2A3A4)
      .set(nvme::sqe::cdw11, 0xB1B2B3B4)
      .set(nvme::sqe::cdw12, 0xC1C2C3C4)
      .set(nvme::sqe::cdw13, 0xD1D2D3D4)
      .set(nvme::sqe::cdw14, 0xE1E2E3E4)
      .set(nvme::sqe::cdw15, 0xF1F2F3F4);
  return sqe;
}
constexpr std::array<std::uint32_t, 6> kFull = {0xA1A2A3A4, 0xB1B2B3B4, 0xC1C2C3C4, 0xD1D2D3D4, 0xE1E2E3E4, 0xF1F2F3F4};

struct Call {
  std::string what;
  std::function<void(Requester&)> make;
  Bytes bytes;
};

constexpr mctp::Eid kPeer = kPlayedEid;

std::vector<Call> structure_calls() {
  return {
      {"the subsystem's information", [](Requester& r) { r.read_subsystem(kPeer); }, mi_bytes(0x00, 0)},
      {"information of port 5", [](Requester& r) { r.read_port(kPeer, 5); }, mi_bytes(0x00, 0x01050000)},
      {"the list of controllers from 1234h on", [](Requester& r) { r.read_controllers(kPeer, 0x1234); }, mi_bytes(0x00, 0x02001234)},
      {"information of controller 2345h", [](Requester& r) { r.read_controller(kPeer, 0x2345); }, mi_bytes(0x00, 0x03002345)},
      {"the commands of controller 3456h", [](Requester& r) { r.read_optional_commands(kPeer, 0x3456); }, mi_bytes(0x00, 0x04003456)},
      {"the commands with a buffer", [](Requester& r) { r.read_buffer_commands(kPeer); }, mi_bytes(0x00, 0x05000000)},
      {"the subsystem's health", [](Requester& r) { r.poll_subsystem(kPeer, false); }, mi_bytes(0x01, 0)},
      {"the subsystem's health, clearing", [](Requester& r) { r.poll_subsystem(kPeer, true); }, mi_bytes(0x01, 0, 0x80000000)},
  };
}

std::vector<Call> poll_calls() {
  std::vector<Call> calls;
  const auto add = [&](std::string what, Requester::PollTerms terms, std::uint32_t nmd0, std::uint32_t nmd1) {
    calls.push_back(
        {"controllers' health, " + what, [terms](Requester& r) { r.poll_controllers(kPeer, terms); }, mi_bytes(0x02, nmd0, nmd1)});
  };
  Requester::PollTerms none;
  none.first = 0;
  none.entries_max = 1;
  none.all = none.plain = none.physical = none.virtual_functions = none.clear = false;
  none.selection = 0;
  const auto with = [&](auto change) {
    Requester::PollTerms terms = none;
    change(terms);
    return terms;
  };
  add("of none", none, 0, 0);
  add("from 4321h on", with([](auto& terms) { terms.first = 0x4321; }), 0x00004321, 0);
  add("at most 17", with([](auto& terms) { terms.entries_max = 17; }), 0x00100000, 0);
  add("of all", with([](auto& terms) { terms.all = true; }), 0x80000000, 0);
  add("of plain functions", with([](auto& terms) { terms.plain = true; }), 0x01000000, 0);
  add("of physical functions", with([](auto& terms) { terms.physical = true; }), 0x02000000, 0);
  add("of virtual functions", with([](auto& terms) { terms.virtual_functions = true; }), 0x04000000, 0);
  add("clearing", with([](auto& terms) { terms.clear = true; }), 0, 0x80000000);
  for (unsigned bit = 0; bit < 5; ++bit) {
    add(fmt::format("selection {}", bit), with([&](auto& terms) { terms.selection = static_cast<std::uint8_t>(1u << bit); }), 0, 1u << bit);
  }
  return calls;
}

std::vector<Call> configuration_calls() {
  using mi::ConfigurationId;
  std::vector<Call> calls = {
      {"the frequency of port 6", [](Requester& r) { r.get_configuration(kPeer, ConfigurationId::smbus_frequency, 6); },
       mi_bytes(0x04, 0x06000001)},
      {"the unit of port 7", [](Requester& r) { r.get_configuration(kPeer, ConfigurationId::transmission_unit, 7); },
       mi_bytes(0x04, 0x07000003)},
      {"frequency 3 for port 9", [](Requester& r) { r.set_frequency(kPeer, 9, 3); }, mi_bytes(0x03, 0x09000301)},
      {"unit 251 for port 10", [](Requester& r) { r.set_unit(kPeer, 10, 251); }, mi_bytes(0x03, 0x0A000003, 251)},
      {"clearing of changes", [](Requester& r) { r.clear_health(kPeer, 0x12345678); }, mi_bytes(0x03, 2, 0x12345678)},
      {"the supported events", [](Requester& r) { r.supported_events(kPeer); }, mi_bytes(0x04, 4)},
      {"the acknowledgement of events", [](Requester& r) { r.acknowledge_events(kPeer); }, mi_bytes(0x03, 4, 0, Bytes{0, 0, 5, 0, 5})},
  };
  for (unsigned bit = 0; bit < 3; ++bit) {
    const Requester::EventTerms terms{
        .delay_s = 0x21, .retry_100ms = 0x43, .controllers = bit == 0, .physical = bit == 1, .virtual_functions = bit == 2};
    calls.push_back({fmt::format("events of functions {}", bit),
                     [terms](Requester& r) {
                       r.synchronize_events(kPeer, {{6, true}, {9, false}}, terms);
                     },
                     mi_bytes(0x03, 0x00214304 | 1u << (24 + bit), 0, Bytes{2, 0, 11, 0, 5, 3, 6, 0x80, 3, 9, 0})});
  }
  return calls;
}

std::vector<Call> data_calls() {
  return {
      {"VPD Read", [](Requester& r) { r.read_vpd(kPeer, 0x1122, 0x3344); }, mi_bytes(0x05, 0x1122, 0x3344)},
      {"VPD Write", [](Requester& r) { r.write_vpd(kPeer, 0x2211, mixed(13)); }, mi_bytes(0x06, 0x2211, 13, mixed(13))},
      {"Reset", [](Requester& r) { r.reset_subsystem(kPeer, 0); }, mi_bytes(0x07, 0)},
      {"Reset of type 5", [](Requester& r) { r.reset_subsystem(kPeer, 5); }, mi_bytes(0x07, 0x05000000)},
      {"SES Receive", [](Requester& r) { r.receive_ses(kPeer, 0x0A, 0x4455); }, mi_bytes(0x08, 0x0A, 0x4455)},
      {"SES Send", [](Requester& r) { r.send_ses(kPeer, mixed(9)); }, mi_bytes(0x09, 0, 9, mixed(9))},
      {"Management Endpoint Buffer Read", [](Requester& r) { r.read_buffer(kPeer, 0x12345, 0x234); }, mi_bytes(0x0A, 0x12345, 0x234)},
      {"Management Endpoint Buffer Write", [](Requester& r) { r.write_buffer(kPeer, 0x54321, mixed(7)); },
       mi_bytes(0x0B, 0x54321, 7, mixed(7))},
      {"Shutdown", [](Requester& r) { r.shut_down(kPeer); }, mi_bytes(0x0C, 0)},
      {"abrupt Shutdown", [](Requester& r) { r.shut_down(kPeer, true); }, mi_bytes(0x0C, 0x01000000)},
      {"a command in slot 1", [](Requester& r) { r.command(kPeer, mi::Opcode::vpd_read, 0x01234567, 0x89ABCDEF, {}, {.slot = 1}); },
       mi_bytes(0x05, 0x01234567, 0x89ABCDEF, {}, 1)},
      {"a command with auto pause", [](Requester& r) { r.command(kPeer, mi::Opcode::vpd_read, 1, 2, {}, {.auto_pause = true}); },
       mi_bytes(0x05, 1, 2, {}, 0, 0x02)},
      {"a command with the buffer", [](Requester& r) { r.command(kPeer, mi::Opcode::vpd_read, 1, 2, {}, {.in_buffer = true}); },
       mi_bytes(0x05, 1, 2, {}, 0, 0x01)},
  };
}

std::vector<Call> tunnel_calls() {
  return {
      {"an Admin command", [](Requester& r) { r.admin(kPeer, 0x4142, full_command(), {.dofst = 0x514, .dlen = 0x618, .flags = 3}); },
       admin_bytes({0xC2, 3, 0x4142, 0x01020304, 0x11121314, 0x21222324, 0x514, 0x618, kFull})},
      {"an Admin command in slot 1 with data",
       [](Requester& r) { r.admin(kPeer, 0x4142, full_command(), {.flags = 1, .command = {.slot = 1}}, mixed(24)); },
       admin_bytes({0xC2, 1, 0x4142, 0x01020304, 0x11121314, 0x21222324, 0, 24, kFull}, mixed(24), 1)},
      {"Identify", [](Requester& r) { r.identify(kPeer, 0x2324, nvme::Cns::identify_namespace, 0x0A0B0C0D); },
       admin_bytes({0x06, 1, 0x2324, 0x0A0B0C0D, 0, 0, 0, 4096, {}})},
      {"a part of Identify", [](Requester& r) { r.identify(kPeer, 0x2324, nvme::Cns::controller, 0, 512, 256); },
       admin_bytes({0x06, 3, 0x2324, 0, 0, 0, 512, 256, {1}})},
      {"Get Features", [](Requester& r) { r.get_feature(kPeer, 0x2526, 0x0B, 0x31323334); },
       admin_bytes({0x0A, 1, 0x2526, 0, 0, 0, 0, 4096, {0x0B, 0x31323334}})},
      {"Set Features", [](Requester& r) { r.set_feature(kPeer, 0x2728, 0x0E, 0x41424344, mixed(8)); },
       admin_bytes({0x09, 0, 0x2728, 0, 0, 0, 0, 8, {0x0E, 0x41424344}}, mixed(8))},
      {"PCIe Configuration Read", [](Requester& r) { r.pcie(kPeer, 0x3132, mi::PcieOpcode::configuration_read, 0x123, 0x45); },
       pcie_bytes(0, 0x3132, 0x45, 0, 0x123)},
      {"PCIe Memory Write", [](Requester& r) { r.pcie(kPeer, 0x3334, mi::PcieOpcode::memory_write, 0x123456789ABC, 8, 5, mixed(8)); },
       pcie_bytes(3, 0x3334, 8, 5, 0x123456789ABC, mixed(8))},
  };
}

// ---- answers ----

/// An answer of the endpoint: what is behind its status, and its data.
struct Said {
  std::string what;
  std::uint32_t nmresp = 0;
  Bytes data = {};
};

/// A call that makes a value of its answer: the good answer, the value in bytes, and answers that are none.
struct Reader {
  std::string what;
  /// Starts the call; the function that comes back has its value, or nothing.
  std::function<std::function<std::optional<Bytes>()>(Requester&)> start;
  Said good;
  Bytes value;
  std::vector<Said> lies = {};
  bool admin = false;
};

Bytes value_of(const Bytes& value) { return value; }
template <class L>
Bytes value_of(const Record<L>& value) {
  return {value.bytes().begin(), value.bytes().end()};
}
template <class L>
Bytes value_of(const std::vector<Record<L>>& value) {
  Bytes made;
  for (const Record<L>& one : value) made = std::move(made) + one.bytes();
  return made;
}
Bytes value_of(const std::vector<std::uint16_t>& value) {
  Bytes made;
  for (const std::uint16_t one : value) made = std::move(made) + little(one, 2);
  return made;
}
Bytes value_of(const std::vector<mi::SupportedCommand>& value) {
  Bytes made;
  for (const mi::SupportedCommand& one : value) made = std::move(made) + Bytes{static_cast<std::uint8_t>(one.kind), one.opcode};
  return made;
}
Bytes value_of(const std::vector<mi::EventState>& value) {
  Bytes made;
  for (const mi::EventState& one : value) made = std::move(made) + Bytes{one.id, static_cast<std::uint8_t>(one.enabled)};
  return made;
}
Bytes value_of(const mi::OccurrenceList& value) {
  Bytes made = {value.generation, value.retry, static_cast<std::uint8_t>(value.overflow)};
  for (const mi::Occurrence& one : value.items) {
    made = std::move(made) + Bytes{one.id} + little(one.context, 4) + Bytes{static_cast<std::uint8_t>(one.scope)} + one.specific;
  }
  return made;
}

template <class Ask>
auto reading(Ask ask) {
  return [ask](Requester& requester) {
    auto op = std::make_shared<decltype(ask(requester))>(ask(requester));
    return std::function<std::optional<Bytes>()>([op]() -> std::optional<Bytes> {
      const auto answer = op->wait();
      if (!answer.ok()) return std::nullopt;
      return value_of(*answer.value);
    });
  };
}

Bytes shorter(Bytes data) {
  data.pop_back();
  return data;
}
/// Data whose length the answer states: stated too small, too large, and not all there.
Reader stated(std::string what, decltype(Reader::start) start, const Bytes& data, const Bytes& value) {
  const auto size = static_cast<std::uint32_t>(data.size());
  return {std::move(what),
          std::move(start),
          {"", size, data},
          value,
          {{"one byte less than it states", size, shorter(data)},
           {"a length of one less", size - 1, data},
           {"a length of one more", size + 1, data},
           {"no data", 0, {}}}};
}
/// Data whose length follows from the request.
Reader asked(std::string what, decltype(Reader::start) start, const Bytes& data, bool admin = false) {
  return {std::move(what),
          std::move(start),
          {"", 0, data},
          data,
          {{"one byte less", 0, shorter(data)}, {"four bytes more", 0, data + Bytes(4)}, {"no data", 0, {}}},
          admin};
}

std::vector<Reader> structure_readers() {
  const Bytes list = {3, 0, 0x21, 0x01, 0x22, 0x01, 0x21, 0x02}, commands = {3, 0, 0x08, 0x07, 0x10, 0xC0, 0x20, 0x05};
  const Bytes plain = [] {
    Bytes made(32);
    made[0] = 2;
    made[1] = 2;
    return made;
  }();
  std::vector<Reader> all = {
      stated("the subsystem's information", reading([](Requester& r) { return r.read_subsystem(kPeer); }), plain, plain),
      stated("information of a port", reading([](Requester& r) { return r.read_port(kPeer, 1); }), mixed(32), mixed(32)),
      stated("information of a controller", reading([](Requester& r) { return r.read_controller(kPeer, 1); }), Bytes(32), Bytes(32)),
      stated("the list of controllers", reading([](Requester& r) { return r.read_controllers(kPeer, 0x121); }), list,
             Bytes(list.begin() + 2, list.end())),
      stated("the commands of a controller", reading([](Requester& r) { return r.read_optional_commands(kPeer, 1); }), commands,
             {1, 0x07, 2, 0xC0, 4, 0x05}),
      stated("the commands with a buffer", reading([](Requester& r) { return r.read_buffer_commands(kPeer); }), commands,
             {1, 0x07, 2, 0xC0, 4, 0x05}),
  };
  for (const std::size_t reader : {3u, 4u, 5u}) {
    for (const std::uint8_t count : {std::uint8_t{2}, std::uint8_t{4}}) {
      Bytes other = all[reader].good.data;
      other[0] = count;
      all[reader].lies.push_back({fmt::format("a count of {}", count), 8, other});
    }
  }
  // Each place that can be out of order, and identifiers in front of the first that was asked for.
  for (const Bytes& wrong : {Bytes{3, 0, 0x22, 0x01, 0x21, 0x01, 0x21, 0x02}, Bytes{3, 0, 0x21, 0x01, 0x21, 0x02, 0x22, 0x01},
                             Bytes{3, 0, 0x21, 0x01, 0x21, 0x01, 0x21, 0x02}, Bytes{3, 0, 0x21, 0x01, 0x22, 0x01, 0x22, 0x01},
                             Bytes{3, 0, 0x20, 0x01, 0x22, 0x01, 0x21, 0x02}}) {
    all[3].lies.push_back({"identifiers out of order", 8, wrong});
  }
  return all;
}

std::vector<Reader> other_readers() {
  const Bytes two = mixed(32, 5);
  Reader controllers{
      "controllers' health",
      reading([](Requester& r) { return r.poll_controllers(kPeer, {}); }),
      {"", 2u << 16, two},
      two,
      {{"one byte less", 2u << 16, shorter(two)}, {"one entry announced", 1u << 16, two}, {"three entries announced", 3u << 16, two}}};
  const Bytes states = {2, 0, 11, 0, 5, 3, 6, 0x80, 3, 9, 0x00};
  const auto changed = [&](std::size_t at, std::uint8_t value) {
    Bytes made = states;
    made[at] = value;
    return made;
  };
  Reader events{"the supported events",
                reading([](Requester& r) { return r.supported_events(kPeer); }),
                {"", 0, states},
                {6, 1, 9, 0},
                {{"one byte less", 0, shorter(states)},
                 {"one byte more", 0, states + Bytes(1)},
                 {"one event announced", 0, changed(0, 1)},
                 {"three events announced", 0, changed(0, 3)},
                 {"version 1", 0, changed(1, 1)},
                 {"a total length of one less", 0, changed(2, 10)},
                 {"a header of another length", 0, changed(4, 6)},
                 {"an item of another length", 0, changed(5, 4)}}};
  Reader page = stated("an enclosure's page", reading([](Requester& r) { return r.receive_ses(kPeer, 1, 64); }), mixed(17), mixed(17));
  page.lies.pop_back();  // a page may be empty
  // Overflow, retry 3 of generation 11; an event of a controller with two bytes of its own, and one of the subsystem.
  const Bytes list = {2, 0, 27, 0, 0x80, 7, 0x5B, 9, 2, 0, 6, 0x21, 0x43, 0x65, 0x07, 1, 0xAA, 0xBB, 9, 0, 0, 9, 5, 0, 0, 0, 0};
  const auto altered = [&](std::size_t at, std::uint8_t value) {
    Bytes made = list;
    made[at] = value;
    return made;
  };
  Reader occurrences{"events that occurred",
                     reading([](Requester& r) { return r.acknowledge_events(kPeer); }),
                     {"", 0, list},
                     {11, 3, 1, 6, 0x21, 0x43, 0x65, 0x07, 1, 0xAA, 0xBB, 9, 5, 0, 0, 0, 0},
                     {{"one byte less", 0, shorter(list)},
                      {"one byte more", 0, list + Bytes(1)},
                      {"one event announced", 0, altered(0, 1)},
                      {"three events announced", 0, altered(0, 3)},
                      {"version 1", 0, altered(1, 1)},
                      {"a total length of one more", 0, altered(2, 28)},
                      {"a header of another length", 0, altered(5, 8)},
                      {"an item header of another length", 0, altered(7, 8)},
                      {"specific data of another length", 0, altered(8, 3)},
                      {"specific data beyond the end", 0, altered(8, 0xF0)}}};
  Reader health = asked("the subsystem's health", reading([](Requester& r) { return r.poll_subsystem(kPeer, false); }), mixed(8));
  std::vector<Reader> all = {
      std::move(health),
      std::move(controllers),
      std::move(events),
      std::move(occurrences),
      asked("VPD", reading([](Requester& r) { return r.read_vpd(kPeer, 3, 21); }), mixed(21)),
      asked("the buffer", reading([](Requester& r) { return r.read_buffer(kPeer, 5, 19); }), mixed(19)),
      std::move(page),
      asked("a part of Identify", reading([](Requester& r) { return r.identify(kPeer, 1, nvme::Cns::controller, 0, 4032, 256); }),
            mixed(64), true)};
  return all;
}

}  // namespace

CONFORMANCE_CASE(every_call_has_its_bytes, "mi.requester.fields", roles::management_requester) {
  std::vector<Call> calls;
  for (std::vector<Call>& some : std::array{structure_calls(), poll_calls(), configuration_calls(), data_calls(), tunnel_calls()}) {
    for (Call& one : some) calls.push_back(std::move(one));
  }
  for (const Call& call : calls) {
    call.make(bench.product());
    const SeenMessage request = bench.request();
    check.bytes("the request for " + call.what, request.body, ManagementRequesterBench::with_check(call.bytes));
    bench.answer(request, bench.response_to(request, Status::internal_error));
  }
}

CONFORMANCE_CASE(every_answer_is_held_against_its_form, "mi.requester.odd-lengths", roles::management_requester, sends_malformed) {
  std::vector<Reader> readers = structure_readers();
  for (Reader& one : other_readers()) readers.push_back(std::move(one));
  for (const Reader& reader : readers) {
    const auto read = [&](const Said& said, Status status) {
      const auto value = reader.start(bench.product());
      const SeenMessage request = bench.request();
      const bool admin = reader.admin && status == Status::success;
      bench.answer(request,
                   admin ? bench.admin_response_to(request, said.data) : bench.response_to(request, status, said.data, said.nmresp));
      return value();
    };
    const auto good = read(reader.good, Status::success);
    if (check.that(good.has_value(), "a good answer about " + reader.what + " is taken", "it is not")) {
      check.bytes("what was read of " + reader.what, *good, reader.value);
    }
    for (const Said& lie : reader.lies) {
      const std::string what = "an answer about " + reader.what + " with " + lie.what;
      check.that(!read(lie, Status::success).has_value(), what + " is not taken", "it is");
    }
    check.that(!read(reader.good, Status::internal_error).has_value(), "an error is no answer about " + reader.what, "it is taken");
  }
}

}  // namespace fb::conformance
