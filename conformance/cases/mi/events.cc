// Asynchronous events: which there are, when they are sent, and until when.
#include "conformance/cases/mi/events.h"
#include "conformance/runner/arranger.h"

#include "conformance/runner/managed_setup.h"
#include "model/drive/drive.h"
#include "model/subsystem/subsystem.h"

namespace fb::conformance {
namespace {

using mi::ConfigurationId;
using mi::Opcode;

constexpr unsigned kTemperature = 0x06, kLife = 0x07, kSpare = 0x08, kWarnings = 0x09;
constexpr Duration kSoon = Duration::s(1);

subsystem::Subsystem& disk_of(EndpointBench& bench) { return bench.drive().subsystem(); }

/// Another temperature than before.
void warm_up(EndpointBench& bench) { bench.arranger().warmer(); }

/// The event message, which has to come; the case is left without it.
EventMessage must_come(EndpointBench& bench, Check& check, std::string_view what, Duration within = kSoon) {
  auto event = next_event(bench, check, within);
  check.require(event.has_value(), std::string(what) + " is reported", "no event message came");
  return std::move(*event);
}
bool no_event(EndpointBench& bench, Check& check, std::string_view what, Duration within) {
  const auto event = next_event(bench, check, within);
  return check.that(!event.has_value(), std::string(what), "an event message came");
}
/// Acknowledges, and takes what the answer brings.
Occurrences acknowledged(EndpointBench& bench, Check& check) {
  const MiAnswer answer = acknowledge_events(bench);
  Occurrences none;
  if (!success(check, answer, "the acknowledgement") || answer.data().empty()) return none;
  return occurrences_in(answer.data(), &check).value_or(none);
}
bool has(const std::vector<unsigned>& ids, unsigned id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

/// What an occurrence is about: its scope, and the number of what it names there.
struct About {
  unsigned scope = 0;
  std::uint32_t context = 0;
};
About about(const EventMessage& event, Check& check) {
  check.require(event.list.items.size() >= mi::OccurrenceItem::size, "there is an occurrence");
  const View<mi::OccurrenceItem> item{event.list.items};
  return {item.get(mi::occurrence::scope) & 0x0Fu, item.get(mi::occurrence::context)};
}
constexpr unsigned scope_of(mi::EventScope scope) { return static_cast<unsigned>(scope); }

/// The controllers that its occurrences of this event name.
std::set<std::uint32_t> controllers_of(const Occurrences& list, unsigned id) {
  std::set<std::uint32_t> named;
  std::size_t at = 0;
  for (const unsigned each : list.ids) {
    const auto item = View<mi::OccurrenceItem>::over(ByteView{list.items}.subspan(std::min(at, list.items.size())));
    if (!item) break;
    const bool controller = (item->get(mi::occurrence::scope) & 0x0Fu) == scope_of(mi::EventScope::controller);
    if (each == id && controller) named.insert(item->get(mi::occurrence::context));
    at += 9u + list.items[at + 1] + list.items[at + 2];
  }
  return named;
}

/// The list is refused with one of these, and nothing is enabled by it.
void list_refused(EndpointBench& bench, Check& check, ByteView list, const OneOf<mi::Status>& legal, const std::string& what) {
  refused(check, set_events(bench, list), legal, what);
  check.that(events_of(bench, check).enabled.empty(), "nothing is enabled after " + what);
}

}  // namespace

CONFORMANCE_CASE(supported_events_are_listed, "mi.event.supported.list", roles::endpoint, needs(asynchronous_events)) {
  const MiAnswer answer = configuration(bench, ConfigurationId::async_event);
  if (!success(check, answer, "Configuration Get of the events")) return;
  const ByteView list = answer.data();
  check.require(list.size() >= 5, "there is a header of 5 bytes", fmt::format("{} bytes", list.size()));
  check.equal("version", list[1], 0);
  check.equal("length of the list", load_le<std::uint16_t>(&list[2]), list.size());
  check.equal("length of the header", list[4], 5);
  check.require(list.size() == 5u + 3u * list[0], "there are as many items as the header counts",
                fmt::format("{} in {} bytes", list[0], list.size()));
  check.that(list[0] != 0, "there is an event");
  EventIds seen;
  for (std::size_t at = 5; at < list.size(); at += 3) {
    check.equal(fmt::format("length of the item at {}", at), list[at], 3);
    const unsigned id = list[at + 1];
    check.that(id <= mi::kEventIdLast || id >= 0xC0, "the event is none of the reserved ones", fmt::format("{:02x}h", id));
    check.equal(fmt::format("reserved bits of event {:02x}h", id), list[at + 2] & 0x7F, 0);
    check.that(seen.insert(id).second, "each event is listed once", fmt::format("{:02x}h again", id));
  }
}

CONFORMANCE_CASE(events_are_off_after_a_reset, "mi.event.reset", roles::endpoint, needs(asynchronous_events),
                 needs(offers<Opcode::reset>)) {
  const EventTable before = events_of(bench, check);
  check.precondition(!before.supported.empty(), "there is an event");
  enable_only(bench, check, before.supported);
  check.precondition(!events_of(bench, check).enabled.empty(), "events can be enabled");
  reset_and_return(bench, check);
  check.that(events_of(bench, check).enabled.empty(), "no event is enabled after the reset");
}

CONFORMANCE_CASE(events_are_enabled_one_by_one, "mi.event.sync", roles::endpoint, needs(asynchronous_events)) {
  const EventIds supported = events_of(bench, check).supported;
  enable_only(bench, check, {});
  EventIds expected;
  const auto is_so = [&](const MiAnswer& answer, const std::string& what) {
    if (success(check, answer, what)) {
      check.equal("the NVMe Management Response of " + what, answer.nmresp(), 0u);
      if (!answer.data().empty()) occurrences_in(answer.data(), &check);
    }
    check.that(events_of(bench, check).enabled == expected, "the right events are enabled after " + what);
  };
  for (const unsigned id : supported) {
    expected.insert(id);
    is_so(set_events(bench, enable_list({{id, true}})), fmt::format("enabling {:02x}h", id));
  }
  is_so(acknowledge_events(bench), "an acknowledgement");
  for (const unsigned id : supported) {
    expected.erase(id);
    is_so(set_events(bench, enable_list({{id, false}})), fmt::format("disabling {:02x}h", id));
  }
  std::vector<std::pair<unsigned, bool>> all;
  for (const unsigned id : supported) all.emplace_back(id, true);
  expected = supported;
  is_so(set_events(bench, enable_list(all)), "enabling all");
  for (auto& item : all) item.second = false;
  expected.clear();
  is_so(set_events(bench, enable_list(all)), "disabling all");
}

CONFORMANCE_CASE(an_event_is_a_message, "mi.event.message", roles::endpoint, needs(asynchronous_events), arranges{{Request::temperature}}) {
  enable_only(bench, check, {kTemperature});
  warm_up(bench);
  const EventMessage event = must_come(bench, check, "the temperature");
  check.bytes("message header", ByteView{event.message.body}.first(4), Bytes{0x84, 0x28, 0x00, 0x00});
  check.that(event.list.ids == std::vector<unsigned>{kTemperature}, "it is about the temperature alone");
  check.equal("retry count", event.list.retry, 0u);
  if (bench.medium() != "kernel") {
    check.equal("source", event.message.source, bench.eid());
    check.equal("destination", event.message.destination, kBenchEid);
  }
  // The upper half of the byte that says whom it is about is reserved.
  check.require(event.list.items.size() >= 9, "there is an occurrence");
  check.equal("scope of the occurrence", event.list.items[8] & 0xF0, 0);
  acknowledged(bench, check);
  serves(bench, check, "a request afterwards");
}

CONFORMANCE_CASE(every_cause_is_reported, "mi.event.causes", roles::endpoint, needs(asynchronous_events),
                 arranged("a drive on which everything happens")) {
  subsystem::Subsystem& disk = disk_of(bench);
  mi::Device& device = bench.drive().device();
  struct Cause {
    unsigned id;
    std::function<void()> happens;
  };
  bool up = true;
  const std::vector<Cause> causes = {
      {0x00, [&] { disk.tell(subsystem::Change::ready, 1); }},
      {0x01, [&] { disk.tell(subsystem::Change::fatal, 1); }},
      {0x02, [&] { disk.tell(subsystem::Change::shutdown, 1); }},
      {0x03, [&] { disk.tell(subsystem::Change::enable, 1); }},
      {0x04, [&] { disk.tell(subsystem::Change::namespaces); }},
      {kTemperature, [&] { warm_up(bench); }},
      {kLife, [&] { disk.set_percentage_used(33); }},
      {kSpare, [&] { disk.set_available_spare(66); }},
      {kWarnings, [&] { disk.set_critical_warning(4); }},
      {0x0B, [&] { device.set_link(0, up = !up); }},
  };
  const EventIds supported = events_of(bench, check).supported;
  enable_only(bench, check, supported);
  unsigned looked_at = 0;
  for (const Cause& cause : causes) {
    if (!supported.contains(cause.id)) continue;
    cause.happens();
    ++looked_at;
    const auto event = next_event(bench, check, kSoon);
    const std::string what = std::string(mi::name_of(static_cast<mi::EventId>(cause.id)));
    if (!check.that(event.has_value(), what + " is reported", "no event message came")) continue;
    check.that(event->list.ids == std::vector<unsigned>{cause.id}, what + " is reported alone",
               fmt::format("{} occurrences, the first of {:02x}h", event->list.ids.size(),
                           event->list.ids.empty() ? 0xFFu : event->list.ids.front()));
    acknowledged(bench, check);
  }
  check.precondition(looked_at != 0, "an event is supported whose cause can be brought about");
}

CONFORMANCE_CASE(an_event_waits_for_its_delay, "mi.event.delay", roles::endpoint, needs(asynchronous_events),
                 arranges{{Request::temperature}}) {
  for (const unsigned delay : {3u, 1u, 0u}) {
    enable_only(bench, check, {kTemperature}, {.first_s = delay});
    const Instant before = bench.world().now();
    warm_up(bench);
    const EventMessage event = must_come(bench, check, "the temperature", Duration::s(delay) + Duration::s(10));
    check.between("time to the event", event.message.first - before, Duration{}, Duration::s(delay) + kSoon);
    acknowledged(bench, check);
  }
}

CONFORMANCE_CASE(an_event_is_sent_again, "mi.event.retry", roles::endpoint, needs(asynchronous_events), arranges{{Request::temperature}}) {
  for (const unsigned again : {10u, 3u, 25u}) {
    const Duration delay = Duration::ms(100) * again;
    enable_only(bench, check, {kTemperature}, {.again_100ms = again});
    warm_up(bench);
    const EventMessage first = must_come(bench, check, "the temperature");
    Instant last = first.message.first;
    // Three at least; where more come, they are counted to seven.
    for (unsigned retry = 1; retry <= 7; ++retry) {
      const auto event = next_event(bench, check, delay * 3 + kSoon);
      if (!event.has_value() && retry > 3) break;
      if (!check.that(event.has_value(), fmt::format("retry {} comes", retry), "no event message came")) break;
      check.equal("generation of the retry", event->list.generation, first.list.generation);
      check.equal("retry count", event->list.retry, retry);
      check.bytes("occurrences of the retry", event->list.items, first.list.items);
      check.between("time to the retry", event->message.first - last, delay * 8 / 10, delay * 2);
      last = event->message.first;
      // There is no number for an eighth.
      if (retry == 7) no_event(bench, check, "a message is repeated seven times at most", delay * 3 + kSoon);
    }
    acknowledged(bench, check);
    bench.silent(delay * 2);
  }
}

CONFORMANCE_CASE(an_acknowledged_event_is_over, "mi.event.ack.ends", roles::endpoint, needs(asynchronous_events),
                 arranges{{Request::temperature}}) {
  enable_only(bench, check, {kTemperature}, {.again_100ms = 5});
  warm_up(bench);
  must_come(bench, check, "the temperature");
  check.that(acknowledged(bench, check).ids.empty(), "the acknowledgement brings nothing new");
  no_event(bench, check, "the event is not sent again", Duration::s(5));
  warm_up(bench);
  must_come(bench, check, "the next temperature");
  must_come(bench, check, "the next temperature, again", Duration::s(2));
  acknowledged(bench, check);
  no_event(bench, check, "that event is not sent again either", Duration::s(5));
}

CONFORMANCE_CASE(newer_events_are_not_lost, "mi.event.ack.newer", roles::endpoint, needs(asynchronous_events),
                 arranges{{Request::temperature, Request::percentage_used}}) {
  enable_only(bench, check, {kTemperature, kLife}, {.again_100ms = 50});
  warm_up(bench);
  must_come(bench, check, "the temperature");
  bench.arranger().percentage_used(44);
  unsigned times = 0;
  const Occurrences rest = acknowledged(bench, check);
  if (has(rest.ids, kLife)) ++times;
  check.that(!has(rest.ids, kTemperature), "what was acknowledged does not come again");
  while (const auto event = next_event(bench, check, Duration::s(2))) {
    if (has(event->list.ids, kLife)) ++times;
    check.that(!has(event->list.ids, kTemperature), "what was acknowledged does not come again");
    acknowledged(bench, check);
    if (times > 3) break;
  }
  check.equal("reports of the newer event", times, 1u);
}

CONFORMANCE_CASE(every_event_has_its_generation, "mi.event.generation", roles::endpoint, needs(asynchronous_events),
                 arranges{{Request::temperature}}) {
  enable_only(bench, check, {kTemperature});
  std::optional<unsigned> last;
  for (int i = 0; i < 70; ++i) {
    warm_up(bench);
    const EventMessage event = must_come(bench, check, "the temperature");
    if (last) check.that(event.list.generation != *last, "the generation is another", fmt::format("{} twice", *last));
    last = event.list.generation;
    acknowledged(bench, check);
  }
}

CONFORMANCE_CASE(disabled_events_are_not_reported, "mi.event.disabled", roles::endpoint, needs(asynchronous_events),
                 arranges{{Request::temperature, Request::percentage_used, Request::available_spare, Request::critical_warning}}) {
  enable_only(bench, check, {kTemperature});
  bench.arranger().percentage_used(55);
  bench.arranger().available_spare(44);
  bench.arranger().critical_warning(8);
  no_event(bench, check, "only the temperature is reported", Duration::s(3));
  warm_up(bench);
  const EventMessage event = must_come(bench, check, "the temperature");
  check.that(event.list.ids == std::vector<unsigned>{kTemperature}, "it is about the temperature alone");
  acknowledged(bench, check);
  success(check, set_events(bench, enable_list({{kTemperature, false}})), "disabling");
  warm_up(bench);
  bench.arranger().percentage_used(56);
  no_event(bench, check, "nothing is reported when nothing is enabled", Duration::s(3));
}

CONFORMANCE_CASE(a_paused_endpoint_holds_its_events, "mi.event.paused", roles::endpoint, needs(asynchronous_events),
                 arranges{{Request::temperature}}) {
  // Whether it would be repeated soon or late: what was held is sent after Resume.
  for (const unsigned again : {5u, 200u}) {
    enable_only(bench, check, {kTemperature}, {.again_100ms = again});
    precondition(check, bench.primitive(mi::Primitive::pause), "Pause");
    warm_up(bench);
    no_event(bench, check, "no event is sent while paused", Duration::s(3));
    precondition(check, bench.primitive(mi::Primitive::resume), "Resume");
    const EventMessage event = must_come(bench, check, "the temperature", Duration::s(3));
    check.that(has(event.list.ids, kTemperature), "it is about the temperature");
    acknowledged(bench, check);
  }
}

CONFORMANCE_CASE(malformed_enable_lists_are_refused, "mi.event.list.malformed", roles::endpoint, needs(asynchronous_events)) {
  enable_only(bench, check, {});
  const EventIds supported = events_of(bench, check).supported;
  check.precondition(!supported.empty(), "there is an event");
  const Bytes good = enable_list({{*supported.begin(), true}});
  const auto wrong = one_of(mi::Status::invalid_parameter, mi::Status::invalid_data_size);
  const auto changed = [&](std::size_t at, unsigned value) {
    Bytes list = good;
    list[at] = static_cast<std::uint8_t>(value);
    return list;
  };
  list_refused(bench, check, changed(1, 1), wrong, "a list of version 1");
  for (const unsigned length : {0u, 4u, 6u}) {
    list_refused(bench, check, changed(4, length), wrong, fmt::format("a header length of {}", length));
  }
  for (const unsigned length : {0u, 5u, 7u, 9u, 11u}) {
    list_refused(bench, check, changed(2, length), wrong, fmt::format("a list length of {}", length));
  }
  for (const unsigned length : {0u, 2u, 4u}) {
    list_refused(bench, check, changed(5, length), wrong, fmt::format("an item length of {}", length));
  }
  for (const unsigned count : {2u, 255u}) {
    list_refused(bench, check, changed(0, count), wrong, fmt::format("a count of {}", count));
  }
  list_refused(bench, check, ByteView{good}.first(4), wrong, "half a header");
  list_refused(bench, check, ByteView{good}.first(7), wrong, "half an item");
  Bytes longer = good;
  longer.resize(longer.size() + 4);
  list_refused(bench, check, longer, wrong, "bytes behind the list");
  serves(bench, check, "a request after the refusals");
}

CONFORMANCE_CASE(unsupported_events_cannot_be_enabled, "mi.event.list.unknown", roles::endpoint, needs(asynchronous_events)) {
  enable_only(bench, check, {});
  const EventIds supported = events_of(bench, check).supported;
  check.precondition(!supported.empty(), "there is an event");
  for (unsigned id = 0; id < 0xC0; ++id) {
    if (supported.contains(id)) continue;
    list_refused(bench, check, enable_list({{id, true}}), one_of(mi::Status::invalid_parameter), fmt::format("enabling {:02x}h", id));
  }
  const Bytes second = enable_list({{*supported.begin(), true}, {0xBF, true}});
  list_refused(bench, check, second, one_of(mi::Status::invalid_parameter), "enabling one that there is and one that there is not");
  const MiAnswer answer = set_events(bench, second);
  if (answer.answered() && answer.status() == mi::Status::invalid_parameter) {
    // The item of the event that there is has nothing wrong.
    constexpr std::size_t kFirst = mi::MiRequest::size + mi::EventListHeader::size;
    const std::size_t at = answer.error_at().byte;
    check.that(at < kFirst || at >= kFirst + mi::EventItem::size, "the error is not located in the item of the event that there is",
               fmt::format("byte {}", at));
  }
}

CONFORMANCE_CASE(enabling_events_takes_a_list, "mi.event.list.missing", roles::endpoint, needs(asynchronous_events)) {
  enable_only(bench, check, {});
  const auto wrong = one_of(mi::Status::invalid_data_size, mi::Status::invalid_command_size, mi::Status::invalid_parameter);
  list_refused(bench, check, {}, wrong, "no list");
  serves(bench, check, "a request afterwards");
}

CONFORMANCE_CASE(enabling_more_loses_no_event, "mi.event.sync.newer", roles::endpoint, needs(asynchronous_events),
                 arranges{{Request::temperature}}) {
  enable_only(bench, check, {kTemperature}, {.first_s = 5});
  check.precondition(events_of(bench, check).supported.contains(kLife), "the drive's life is an event");
  warm_up(bench);
  unsigned times = 0;
  const MiAnswer answer = set_events(bench, enable_list({{kLife, true}}));
  if (success(check, answer, "enabling another event") && !answer.data().empty()) {
    const auto list = occurrences_in(answer.data(), &check);
    if (list && has(list->ids, kTemperature)) ++times;
  }
  while (const auto event = next_event(bench, check, Duration::s(8))) {
    if (has(event->list.ids, kTemperature)) ++times;
    acknowledged(bench, check);
    if (times > 3) break;
  }
  check.equal("reports of what occurred before another event was enabled", times, 1u);
  // Enabling takes the place of an acknowledgement: what occurs afterwards is reported.
  enable_only(bench, check, {kTemperature}, {.again_100ms = 50});
  warm_up(bench);
  must_come(bench, check, "the temperature");
  success(check, set_events(bench, enable_list({{kLife, true}}), {.again_100ms = 50}), "enabling another event before the acknowledgement");
  warm_up(bench);
  must_come(bench, check, "the next temperature", Duration::s(3));
  acknowledged(bench, check);
}

CONFORMANCE_CASE(events_name_controllers_where_that_is_enabled, "mi.event.attribution", roles::endpoint, needs(asynchronous_events),
                 arranged("controllers of every kind of function", [](EmbeddedSetup& setup) {
                   setup.managed->drive.subsystem.static_cntlids = {1, 2, 3};
                   setup.managed->drive.device.functions = {{2, mi::FunctionKind::physical}, {3, mi::FunctionKind::virtual_function}};
                 })) {
  constexpr unsigned kReady = 0x00;
  for (unsigned attributed = 0; attributed < 8; ++attributed) {
    enable_only(bench, check, {kReady}, {.attributed = attributed});
    for (const std::uint16_t cntlid : std::initializer_list<std::uint16_t>{1, 2, 3}) {
      const std::string what = fmt::format("the event of controller {} with the bits {}", cntlid, attributed);
      disk_of(bench).tell(subsystem::Change::ready, cntlid);
      const About said = about(must_come(bench, check, what), check);
      const bool named = (attributed >> (cntlid - 1) & 1) != 0;
      check.equal("scope of " + what, said.scope, scope_of(named ? mi::EventScope::controller : mi::EventScope::subsystem));
      if (named) check.equal("controller of " + what, said.context, cntlid);
      acknowledged(bench, check);
    }
  }
  // Changes of several controllers before the message is sent: it has an occurrence for each.
  enable_only(bench, check, {kReady}, {.first_s = 2, .attributed = 7});
  for (const std::uint16_t cntlid : std::initializer_list<std::uint16_t>{2, 3, 1}) disk_of(bench).tell(subsystem::Change::ready, cntlid);
  std::set<std::uint32_t> told;
  while (const auto event = next_event(bench, check, Duration::s(2) + kSoon)) {
    told.merge(controllers_of(event->list, kReady));
    told.merge(controllers_of(acknowledged(bench, check), kReady));
    if (told.size() >= 3) break;
  }
  check.that(told == std::set<std::uint32_t>{1, 2, 3}, "each of three controllers is named that become ready together",
             std::to_string(told.size()) + " are");
}

CONFORMANCE_CASE(link_events_name_their_port, "mi.event.port", roles::endpoint, needs(asynchronous_events),
                 arranged("two PCI Express ports",
                          [](EmbeddedSetup& setup) { setup.managed->drive.device.ports.push_back({.type = mi::PortType::pcie}); })) {
  constexpr unsigned kLink = 0x0B;
  enable_only(bench, check, {kLink});
  for (const std::uint8_t port : std::initializer_list<std::uint8_t>{2, 0}) {
    for (const bool active : {false, true}) {
      const std::string what = fmt::format("the link of port {} that goes {}", port, active ? "up" : "down");
      bench.drive().device().set_link(port, active);
      const About said = about(must_come(bench, check, what), check);
      check.equal("scope of " + what, said.scope, scope_of(mi::EventScope::port));
      check.equal("port of " + what, said.context, port);
      acknowledged(bench, check);
    }
  }
}

}  // namespace fb::conformance
