// What an endpoint says of itself in the control protocol: identity, versions, message types, and the commands
// that it does not have.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/cases/mctp/exchange.h"
#include "conformance/runner/managed_setup.h"

namespace fb::conformance {
namespace {

std::optional<std::string> an_identity(const Declared& declared) {
  if (declared.endpoint.uuid) return std::nullopt;
  return "the product does not support Get Endpoint UUID";
}

Bytes uuid_now(EndpointBench& bench, Check& check) {
  const ControlAnswer answer = bench.control(Command::get_endpoint_uuid);
  if (!completion_is(check, answer, Completion::success, "Get Endpoint UUID")) return {};
  return {answer.data().begin(), answer.data().end()};
}

bool digit(unsigned nibble) { return nibble <= 9; }
/// One or two decimal digits, as version numbers have them.
bool is_number(std::uint8_t byte) {
  const unsigned high = byte >> 4;
  return (digit(high) || high == 0xF) && digit(byte & 0xF);
}

/// The list of a version answer; empty when it is none.
std::vector<Bytes> versions(Check& check, const ControlAnswer& answer, const std::string& what) {
  const ByteView data = answer.data();
  if (!check.that(data.size() >= 5, what + " lists a version", answer.describe())) return {};
  if (!check.equal("bytes behind the completion code, " + what, data.size(), 1 + data[0] * std::size_t{4})) return {};
  std::vector<Bytes> found;
  for (std::size_t at = 1; at < data.size(); at += 4)
    found.emplace_back(data.begin() + static_cast<std::ptrdiff_t>(at), data.begin() + static_cast<std::ptrdiff_t>(at + 4));
  return found;
}

void are_well_formed(Check& check, const std::vector<Bytes>& list, const std::string& what) {
  for (const Bytes& one : list) {
    const std::string said = fmt::format("{} {:02X} {:02X} {:02X} {:02X}", what, one[0], one[1], one[2], one[3]);
    check.that(is_number(one[0]), "major number in decimal digits", said);
    check.that(is_number(one[1]), "minor number in decimal digits", said);
    check.that(one[2] == 0xFF || is_number(one[2]), "update number in decimal digits, or FFh", said);
    const bool letter = (one[3] >= 'a' && one[3] <= 'z') || (one[3] >= 'A' && one[3] <= 'Z');
    check.that(one[3] == 0 || letter, "alpha is 0 or a letter", said);
  }
}

ControlAnswer ask_version(EndpointBench& bench, unsigned type) {
  return bench.control(Command::get_version_support, {static_cast<std::uint8_t>(type)});
}

}  // namespace

// ---- identity ----

CONFORMANCE_CASE(a_uuid_is_said_or_not_supported, "mctp.control.uuid.answered", roles::endpoint, needs(control_messages)) {
  completion_is(check, bench.control(Command::get_endpoint_uuid), one_of(Completion::success, Completion::unsupported_command),
                "Get Endpoint UUID");
}

CONFORMANCE_CASE(who_has_a_uuid_says_it_each_time, "mctp.control.uuid.offered", roles::endpoint, needs(control_messages),
                 needs(an_identity)) {
  for (int round = 0; round < 3; ++round) {
    completion_is(check, bench.control(Command::get_endpoint_uuid), Completion::success, "Get Endpoint UUID");
  }
}

CONFORMANCE_CASE(a_uuid_has_sixteen_bytes, "mctp.control.uuid.size", roles::endpoint, needs(control_messages), needs(an_identity)) {
  check.equal("bytes of the UUID", uuid_now(bench, check).size(), 16);
}

CONFORMANCE_CASE(a_uuid_is_not_nil, "mctp.control.uuid.value", roles::endpoint, needs(control_messages), needs(an_identity)) {
  const Bytes uuid = uuid_now(bench, check);
  check.precondition(!uuid.empty(), "a UUID is said");
  for (const std::uint8_t nothing : octets<0x00, 0xFF>) {
    check.that(uuid != Bytes(uuid.size(), nothing), fmt::format("a UUID that is not all {:02X}h", nothing), words_of_bytes(uuid));
  }
}

CONFORMANCE_CASE(a_uuid_never_changes, "mctp.control.uuid.stable", roles::endpoint, needs(an_identity), needs(packets)) {
  const Bytes first = uuid_now(bench, check);
  check.bytes("the UUID asked again", uuid_now(bench, check), first);
  for (const mctp::Eid eid : octets<0x21, 0xB3>) {
    bench.assign(eid);
    check.bytes("the UUID with another EID", uuid_now(bench, check), first);
  }
  for (const std::uint8_t instance : octets<0, 17, 31>) {
    const ControlAnswer answer = bench.control(Command::get_endpoint_uuid, {}, {.instance = instance, .tag = 6});
    check.bytes("the UUID in another exchange", answer.data(), first);
  }
}

// ---- versions ----

CONFORMANCE_CASE(base_and_control_versions_are_listed, "mctp.control.version.base", roles::endpoint, needs(control_messages)) {
  for (const unsigned type : {0xFFu, 0x00u}) {
    const ControlAnswer answer = ask_version(bench, type);
    const std::string what = fmt::format("versions of {:02X}h", type);
    if (!completion_is(check, answer, Completion::success, what)) continue;
    const auto list = versions(check, answer, what);
    check.that(std::any_of(list.begin(), list.end(), [](const Bytes& one) { return one[0] == 0xF1 || one[0] == 0x01; }),
               what + " have a 1.x", "none");
    are_well_formed(check, list, what);
  }
}

CONFORMANCE_CASE(the_version_of_nvme_mi_is_listed, "mctp.control.version.nvme-mi", roles::endpoint, needs(control_messages)) {
  const ControlAnswer answer = ask_version(bench, mi::kNvmeMiType);
  if (!completion_is(check, answer, Completion::success, "versions of 04h")) return;
  are_well_formed(check, versions(check, answer, "versions of 04h"), "versions of 04h");
}

CONFORMANCE_CASE(versions_of_unsupported_types_are_refused, "mctp.control.version.unsupported", roles::endpoint, needs(control_messages)) {
  const auto& known = bench.declared().message_types;
  for (unsigned type = 1; type < 0xFF; ++type) {
    if (type == mi::kNvmeMiType || type == 0x7E || type == 0x7F) continue;
    if (std::find(known.begin(), known.end(), type) != known.end()) continue;
    const auto legal = type < 0x80 ? one_of(Completion::command_specific) : one_of(Completion::command_specific, Completion::invalid_data);
    if (!completion_is(check, ask_version(bench, type), legal, fmt::format("versions of {:02X}h, which is not supported", type))) {
      return;
    }
  }
}

// ---- message types ----

CONFORMANCE_CASE(the_message_types_are_counted_right, "mctp.control.types.count", roles::endpoint, needs(control_messages)) {
  const ControlAnswer answer = bench.control(Command::get_message_type_support);
  if (!completion_is(check, answer, Completion::success, "Get Message Type Support")) return;
  check.require(!answer.data().empty(), "there is a count", answer.describe());
  check.equal("types behind the count", answer.data().size() - 1, answer.data()[0]);
}

CONFORMANCE_CASE(nvme_mi_is_among_the_message_types, "mctp.control.types.list", roles::endpoint, needs(control_messages)) {
  const ControlAnswer answer = bench.control(Command::get_message_type_support);
  if (!completion_is(check, answer, Completion::success, "Get Message Type Support")) return;
  check.require(!answer.data().empty(), "there is a list", answer.describe());
  const ByteView list = answer.data().subspan(1);
  check.equal("times that 04h is listed", std::count(list.begin(), list.end(), mi::kNvmeMiType), 1);
  for (const std::uint8_t type : list) {
    check.that(type != 0, "MCTP control (00h) is not listed: every endpoint has it, and mctpd up to 2.6 lists it all the same",
               "it is listed");
    check.that(type <= 0x7F, "a message type has seven bits", words(type));
    check.equal(fmt::format("times that {:02X}h is listed", type), std::count(list.begin(), list.end(), type), 1);
  }
}

CONFORMANCE_CASE(every_listed_type_has_a_version, "mctp.control.types.versions", roles::endpoint, needs(control_messages)) {
  const ControlAnswer answer = bench.control(Command::get_message_type_support);
  check.precondition(answer.ok() && answer.data().size() > 1, "the product lists message types");
  for (const std::uint8_t type : answer.data().subspan(1)) {
    if (type == 0x7E || type == 0x7F) continue;  // what vendors define has versions of their making
    completion_is(check, ask_version(bench, type), Completion::success, fmt::format("versions of {:02X}h, which is listed", type));
  }
}

CONFORMANCE_CASE(vendor_support_comes_to_an_end, "mctp.control.vendor", roles::endpoint, needs(control_messages)) {
  unsigned selector = 0;
  for (unsigned step = 0;; ++step) {
    const ControlAnswer answer = bench.control(Command::get_vendor_support, {static_cast<std::uint8_t>(selector)});
    const std::string what = fmt::format("vendor support {}", selector);
    // It is optional, as a whole; and without capability sets there is none to return.
    if (step == 0) {
      const auto legal = one_of(Completion::success, Completion::unsupported_command, Completion::invalid_data);
      if (!completion_is(check, answer, legal, what)) return;
      if (!answer.ok()) return;
    } else if (!completion_is(check, answer, Completion::success, what)) {
      return;
    }
    const ByteView data = answer.data();
    check.require(data.size() >= 2, what + " has a selector and a format", answer.describe());
    if (!check.equal("vendor ID format of " + what, data[1], one_of(0, 1))) return;
    check.equal("bytes of " + what, data.size(), data[1] == 0 ? 6 : 8);
    if (data[0] == mctp::control::kSelectorEnd) return;
    if (!check.equal("selector behind " + what, data[0], selector + 1)) return;
    ++selector;
  }
}

CONFORMANCE_CASE(every_vendor_is_listed, "mctp.control.vendor.list", roles::endpoint, needs(control_messages),
                 arranged("messages of three vendors", [](EmbeddedSetup& setup) {
                   using mctp::control::VendorFormat;
                   setup.managed->drive.node.vendors = {
                       {VendorFormat::pci, 0x1B4B, 0x0102}, {VendorFormat::iana, 0x96A1B2C3, 0xD4E5}, {VendorFormat::pci, 0x8086, 0x0007}};
                 })) {
  const Bytes expected[] = {{1, 0, 0x1B, 0x4B, 0x01, 0x02}, {2, 1, 0x96, 0xA1, 0xB2, 0xC3, 0xD4, 0xE5}, {0xFF, 0, 0x80, 0x86, 0x00, 0x07}};
  for (std::uint8_t selector = 0; selector < 3; ++selector) {
    const ControlAnswer answer = bench.control(Command::get_vendor_support, {selector});
    const std::string what = fmt::format("vendor support {}", selector);
    if (completion_is(check, answer, Completion::success, what)) check.bytes(what, answer.data(), expected[selector]);
  }
  for (const std::uint8_t selector : octets<3, 4, 0x80, 0xFF>) {
    const ControlAnswer answer = bench.control(Command::get_vendor_support, {selector});
    check.that(answer.answered() && !answer.ok(), fmt::format("vendor support {}, behind the last, is refused", selector),
               answer.describe());
  }
}

CONFORMANCE_CASE(every_version_is_listed, "mctp.control.version.list", roles::endpoint, needs(control_messages),
                 arranged("six versions of the base, and a type with two", [](EmbeddedSetup& setup) {
                   mctp::DeviceOptions& node = setup.managed->drive.node;
                   node.base_versions = {{0xF1, 0xF0, 0xFF, 0}, {0xF1, 0xF1, 0xFF, 0}, {0xF1, 0xF2, 0xFF, 0},
                                         {0xF1, 0xF3, 0xF0, 0}, {0xF1, 0xF3, 0xF1, 0}, {0xF1, 0xF3, 0xF2, 'a'}};
                   node.types.push_back({0x05, {{0xF1, 0xF0, 0xF2, 0}, {0xF1, 0xF1, 0xF0, 0}}});
                 })) {
  const Bytes base = {6,    0xF1, 0xF0, 0xFF, 0,    0xF1, 0xF1, 0xFF, 0,    0xF1, 0xF2, 0xFF, 0,
                      0xF1, 0xF3, 0xF0, 0,    0xF1, 0xF3, 0xF1, 0,    0xF1, 0xF3, 0xF2, 'a'};
  const Bytes other = {2, 0xF1, 0xF0, 0xF2, 0, 0xF1, 0xF1, 0xF0, 0};
  for (const auto& [type, list] : {std::pair{0xFFu, base}, {0x00u, base}, {0x05u, other}}) {
    const ControlAnswer answer = ask_version(bench, type);
    const std::string what = fmt::format("versions of {:02X}h", type);
    if (completion_is(check, answer, Completion::success, what)) check.bytes(what, answer.data(), list);
  }
  const ControlAnswer types = bench.control(Command::get_message_type_support);
  if (completion_is(check, types, Completion::success, "Get Message Type Support")) {
    const auto listed = [&](std::uint8_t type) { return std::count(types.data().begin(), types.data().end(), type) != 0; };
    check.that(listed(0x05) && listed(mi::kNvmeMiType), "both types are listed", types.describe());
  }
}

namespace {

// As many as a response of 64 bytes holds.
constexpr std::uint8_t kVersionsMost = 14, kTypesMost = 59, kVendorsMany = 40;

void as_many_as_fit(EmbeddedSetup& setup) {
  mctp::DeviceOptions& node = setup.managed->drive.node;
  std::erase_if(node.types, [](const mctp::TypeSupport& one) { return one.type != mi::kNvmeMiType; });
  node.base_versions.clear();
  for (std::uint8_t i = 0; i < kVersionsMost; ++i) {
    node.base_versions.push_back({0xF1, 0xF3, static_cast<std::uint8_t>(i < 10 ? 0xF0 + i : i + 6), 0});
  }
  for (std::uint8_t type = 0x08; node.types.size() < kTypesMost; ++type) node.types.push_back({type, {{0xF1, 0xF0, 0xFF, 0}}});
  for (std::uint8_t i = 0; i < kVendorsMany; ++i) {
    node.vendors.push_back({mctp::control::VendorFormat::pci, std::uint32_t{0x1000} + i, static_cast<std::uint16_t>(0x2000 + 3 * i)});
  }
}

}  // namespace

CONFORMANCE_CASE(as_many_versions_are_listed_as_fit, "mctp.control.version.list", roles::endpoint, needs(control_messages),
                 arranged("fourteen versions of the base", &as_many_as_fit)) {
  for (const unsigned type : {0xFFu, 0x00u}) {
    const ControlAnswer answer = ask_version(bench, type);
    const std::string what = fmt::format("versions of {:02X}h", type);
    if (!completion_is(check, answer, Completion::success, what)) continue;
    const auto list = versions(check, answer, what);
    if (!check.equal("number of " + what, list.size(), std::size_t{kVersionsMost})) continue;
    for (std::size_t i = 0; i < list.size(); ++i) {
      check.equal(fmt::format("update number {} of {}", i, what), list[i][2], i < 10 ? 0xF0 + i : i + 6);
    }
  }
}

CONFORMANCE_CASE(as_many_message_types_are_listed_as_fit, "mctp.control.types.list", roles::endpoint, needs(control_messages),
                 arranged("59 message types", &as_many_as_fit)) {
  const ControlAnswer answer = bench.control(Command::get_message_type_support);
  if (!completion_is(check, answer, Completion::success, "Get Message Type Support")) return;
  check.require(answer.data().size() == 1u + kTypesMost, "59 types are listed", answer.describe());
  const ByteView list = answer.data().subspan(1);
  check.equal("count of types", answer.data()[0], kTypesMost);
  check.equal("times that 04h is listed", std::count(list.begin(), list.end(), mi::kNvmeMiType), 1);
  check.equal("times that 00h is listed", std::count(list.begin(), list.end(), 0), 0);
  for (std::uint8_t type = 0x08; type < 0x08 + kTypesMost - 1; ++type) {
    check.equal(fmt::format("times that {:02X}h is listed", type), std::count(list.begin(), list.end(), type), 1);
    completion_is(check, ask_version(bench, type), Completion::success, fmt::format("versions of {:02X}h, which is listed", type));
  }
}

CONFORMANCE_CASE(many_vendors_are_listed, "mctp.control.vendor.list", roles::endpoint, needs(control_messages),
                 arranged("forty vendors", &as_many_as_fit)) {
  for (std::uint8_t selector = 0; selector < kVendorsMany; ++selector) {
    const ControlAnswer answer = bench.control(Command::get_vendor_support, {selector});
    const std::string what = fmt::format("vendor support {}", selector);
    if (!completion_is(check, answer, Completion::success, what)) return;
    const unsigned set = 0x2000u + 3u * selector;
    const Bytes expected = {static_cast<std::uint8_t>(selector + 1 == kVendorsMany ? 0xFF : selector + 1),
                            0,
                            0x10,
                            selector,
                            static_cast<std::uint8_t>(set >> 8),
                            static_cast<std::uint8_t>(set & 0xFF)};
    if (selector == 0) {
      // In whichever order the bytes of the ID are: that is judged.
      const ByteView data = answer.data();
      const bool ours = data.size() > 3 && (data[2] | data[3]) == 0x10;
      check.precondition(ours, "the endpoint lists the vendors that were arranged");
    }
    check.bytes(what, answer.data(), expected);
  }
  const ControlAnswer behind = bench.control(Command::get_vendor_support, {kVendorsMany});
  check.that(behind.answered() && !behind.ok(), "vendor support behind the last is refused", behind.describe());
}

// ---- the network, and rates ----

CONFORMANCE_CASE(the_network_is_named, "mctp.control.network", roles::endpoint, needs(control_messages),
                 arranged("a network with a name", [](EmbeddedSetup& setup) {
                   mctp::control::Uuid uuid;
                   for (std::size_t i = 0; i < uuid.size(); ++i) uuid[i] = static_cast<std::uint8_t>(0x30 + i);
                   setup.managed->drive.node.network = uuid;
                 })) {
  const ControlAnswer answer = bench.control(Command::get_network_id);
  if (!completion_is(check, answer, Completion::success, "Get Network ID")) return;
  Bytes expected(16);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<std::uint8_t>(0x30 + i);
  check.bytes("the network's name", answer.data(), expected);
}

CONFORMANCE_CASE(no_network_is_no_command, "mctp.control.network.none", roles::endpoint, needs(control_messages)) {
  const ControlAnswer answer = bench.control(Command::get_network_id);
  if (!completion_is(check, answer, one_of(Completion::success, Completion::unsupported_command), "Get Network ID")) return;
  if (answer.ok()) check.equal("bytes of the network's name", answer.data().size(), 16u);
}

CONFORMANCE_CASE(rates_are_told_and_taken, "mctp.control.rate", roles::endpoint, needs(control_messages),
                 arranged("a rate that can be limited", [](EmbeddedSetup& setup) {
                   setup.managed->drive.node.rates = {.buffer = 0x01020304,
                                                      .receive_max = 0x11121314,
                                                      .limit_max = 100'000,
                                                      .limit_min = 5'000,
                                                      .burst_max = 4'096,
                                                      .burst = 2'048,
                                                      .rate = 50'000};
                 })) {
  using namespace mctp::control;
  const auto query = [&](std::uint32_t burst, std::uint32_t rate, const std::string& what) {
    const ControlAnswer answer = bench.control(Command::query_rate_limit);
    if (!completion_is(check, answer, Completion::success, "Query Rate Limit " + what)) return;
    Record<RateResponse> expected;
    expected.set(rate_response::buffer, 0x01020304u)
        .set(rate_response::receive_max, 0x11121314u)
        .set(rate_response::limit_max, 100'000u)
        .set(rate_response::limit_min, 5'000u)
        .set(rate_response::burst_max, 4'096u)
        .set(rate_response::burst, burst)
        .set(rate_response::rate, rate)
        .set(rate_response::supported, true);
    check.bytes("Query Rate Limit " + what, answer.data(), ByteView{expected.bytes()}.subspan(4));
  };
  const auto request = [&](std::uint32_t rate, std::uint32_t burst = 1'024) {
    Record<RateRequest> asked;
    asked.set(rate_request::burst, burst).set(rate_request::rate, rate);
    const ByteView data = ByteView{asked.bytes()}.subspan(3);
    return bench.control(Command::request_tx_rate_limit, Bytes{data.begin(), data.end()});
  };
  query(2'048, 50'000, "at first");
  for (const std::uint32_t rate : {5'000u, 100'000u, 20'000u}) {
    const std::string what = fmt::format("of {} packets a second", rate);
    const ControlAnswer answer = request(rate);
    if (!completion_is(check, answer, Completion::success, "a limit " + what)) continue;
    Record<TxRateResponse> expected;
    expected.set(tx_rate_response::burst, 1'024u).set(tx_rate_response::rate, rate);
    check.bytes("the answer to a limit " + what, answer.data(), ByteView{expected.bytes()}.subspan(4));
    query(1'024, rate, "behind a limit " + what);
  }
  for (const std::uint32_t rate : {4'999u, 100'001u}) {
    completion_is(check, request(rate), Completion::invalid_data, fmt::format("a limit of {} packets a second", rate));
  }
  query(1'024, 20'000, "behind limits that were refused");
  for (const std::uint32_t burst : {4'097u, 0xFFFFFFu}) {
    const std::string what = fmt::format("a limit with a burst of {}, above 4096", burst);
    const ControlAnswer answer = request(20'000, burst);
    if (!completion_is(check, answer, one_of(Completion::success, Completion::invalid_data), what) || !answer.ok()) continue;
    check.require(answer.message->body.size() >= TxRateResponse::size, what + " is answered whole", answer.describe());
    check.that(View<TxRateResponse>{answer.message->body}.get(tx_rate_response::burst) <= 4'096, what + " has none above that in effect",
               answer.describe());
  }
}

// ---- commands of others ----

CONFORMANCE_CASE(commands_of_bridges_are_refused, "mctp.control.bridge-only", roles::endpoint, needs(control_messages)) {
  const ControlAnswer own = bench.control(Command::get_endpoint_id);
  check.precondition(own.ok() && own.data().size() >= 2, "Get Endpoint ID says a type");
  if ((own.data()[1] >> 4 & 3) != 0) check.inconclusive("the product is a bridge");
  const std::pair<Command, Bytes> theirs[] = {
      {Command::resolve_endpoint_id, {bench.eid()}},
      {Command::allocate_endpoint_ids, {0, 1, 0x40}},
      {Command::get_routing_table, {0}},
      {Command::query_hop, {bench.eid(), mi::kNvmeMiType}},
  };
  for (const auto& [command, data] : theirs) {
    completion_is(check, bench.control(command, data), Completion::unsupported_command,
                  std::string(mctp::control::name_of(command)) + " to a simple endpoint");
  }
  serves(bench, check, "a request afterwards");
}

CONFORMANCE_CASE(interfaces_are_counted_right, "mctp.control.interfaces", roles::endpoint, needs(control_messages)) {
  const ControlAnswer answer = bench.control(Command::query_supported_interfaces);
  if (!completion_is(check, answer, one_of(Completion::success, Completion::unsupported_command), "Query Supported Interfaces")) {
    return;
  }
  if (!answer.ok()) return;
  const ByteView data = answer.data();
  check.require(!data.empty(), "there is a count", answer.describe());
  check.between("interfaces", data[0], std::uint8_t{1}, std::uint8_t{29});
  check.require(data.size() == 1 + data[0] * std::size_t{2}, "two bytes an interface",
                fmt::format("{} bytes for {}", data.size() - 1, data[0]));
  bool own = false;
  for (std::size_t at = 2; at < data.size(); at += 2) own = own || data[at] == bench.eid();
  check.that(own, "the interface that it was asked on has its EID", words_of_bytes(Bytes(data.begin(), data.end())));
}

// ---- time ----

namespace {

void in_time(EndpointBench& bench, Check& check) {
  const std::pair<Command, Bytes> asked[] = {{Command::get_endpoint_id, {}},
                                             {Command::get_message_type_support, {}},
                                             {Command::get_version_support, {0xFF}},
                                             {static_cast<Command>(0xEF), {}}};
  for (const auto& [command, data] : asked) {
    bench.peer().send_message(control_message(command, data), {.tag = 1});
    bench.peer().wait_until_said();
    const Instant said = bench.world().now();
    const auto answer = bench.peer().next_message(Duration::s(3));
    check.require(answer.has_value(), "a control request is answered", "no answer");
    check.that(answer->first - said <= bench.answer_within(), "the answer has come within " + words(bench.answer_within()),
               words(answer->first - said));
  }
}

}  // namespace

CONFORMANCE_CASE(answers_come_within_100_ms_on_smbus, "mctp.smbus.answer-time", roles::endpoint, needs(control_messages)) {
  in_time(bench, check);
}
CONFORMANCE_CASE(answers_come_within_100_ms_on_a_serial_line, "mctp.serial.answer-time", roles::endpoint, needs(control_messages)) {
  in_time(bench, check);
}
CONFORMANCE_CASE(answers_come_within_120_ms_on_pci_express, "mctp.vdm.answer-time", roles::endpoint, needs(control_messages)) {
  in_time(bench, check);
}

}  // namespace fb::conformance
