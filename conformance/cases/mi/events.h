// What the cases on asynchronous events share: enable lists by hand, and occurrence lists taken apart by
// hand.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "conformance/cases/mi/commands.h"
#include "wire/mi/events.h"

namespace fb::conformance {

using EventIds = std::set<unsigned>;

/// An enable list: 5 bytes of header, 3 an item.
inline Bytes enable_list(const std::vector<std::pair<unsigned, bool>>& items) {
  Bytes list = {static_cast<std::uint8_t>(items.size()), 0, static_cast<std::uint8_t>(5 + 3 * items.size()), 0, 5};
  for (const auto& [id, on] : items) {
    list.push_back(3);
    list.push_back(static_cast<std::uint8_t>(id));
    list.push_back(on ? 0x80 : 0x00);
  }
  return list;
}
struct EventDelays {
  unsigned first_s = 0;       ///< AEMD
  unsigned again_100ms = 10;  ///< AERD
  unsigned attributed = 0;    ///< ENCFA, ENPFA, ENVFA: the kinds of functions whose controllers are named
};
/// Configuration Set of asynchronous events with that list. Everything is attributed to the subsystem where nothing
/// else is said.
inline MiAnswer set_events(EndpointBench& bench, ByteView list, const EventDelays& delays = {}) {
  const std::uint32_t nmd0 = static_cast<std::uint32_t>(mi::ConfigurationId::async_event) | delays.again_100ms << 8 | delays.first_s << 16 |
                             delays.attributed << 24;
  return bench.command(mi::Opcode::configuration_set, nmd0, 0, list);
}
/// The delays are for lists with items alone.
inline MiAnswer acknowledge_events(EndpointBench& bench) { return set_events(bench, enable_list({}), {0, 0}); }

/// The events of Configuration Get; nothing when its data is no list.
struct EventTable {
  EventIds supported, enabled;
};
inline std::optional<EventTable> event_table(const MiAnswer& answer) {
  const ByteView data = answer.data();
  if (!answer.ok() || data.size() < 5 || data.size() != 5u + 3u * data[0]) return std::nullopt;
  EventTable table;
  for (std::size_t at = 5; at < data.size(); at += 3) {
    table.supported.insert(data[at + 1]);
    if ((data[at + 2] & 0x80) != 0) table.enabled.insert(data[at + 1]);
  }
  return table;
}
inline EventTable events_of(EndpointBench& bench, Check& check) {
  const auto table = event_table(configuration(bench, mi::ConfigurationId::async_event));
  if (!table) check.inconclusive("the supported events cannot be read");
  return *table;
}

/// An occurrence list.
struct Occurrences {
  unsigned generation = 0, retry = 0;
  std::vector<unsigned> ids;
  Bytes items;  ///< behind the header
};
/// Nothing when it is not sound; the case FAILs then, where `check` is given.
inline std::optional<Occurrences> occurrences_in(ByteView list, Check* check = nullptr) {
  const auto bad = [&](const std::string& why) -> std::optional<Occurrences> {
    if (check != nullptr) check->fails("occurrence list", {"a sound one"}, why);
    return std::nullopt;
  };
  if (list.size() < 7) return bad(fmt::format("{} bytes", list.size()));
  if (list[1] != 0) return bad(fmt::format("version {}", list[1]));
  if (list[5] != 7) return bad(fmt::format("a header of {} bytes", list[5]));
  const std::size_t total = list[2] + 256u * list[3] + 65536u * (list[4] & 0x7Fu);
  if (total != list.size()) return bad(fmt::format("a length of {} in {} bytes", total, list.size()));
  Occurrences found;
  found.generation = list[6] / 8u;
  found.retry = list[6] % 8u;
  found.items.assign(list.begin() + 7, list.end());
  std::size_t at = 7;
  for (unsigned i = 0; i < list[0]; ++i) {
    if (list.size() - at < 9 || list[at] != 9) return bad(fmt::format("no item at {}", at));
    found.ids.push_back(list[at + 3]);
    at += 9u + list[at + 1] + list[at + 2];
    if (at > list.size()) return bad("an item longer than the list");
  }
  if (at != list.size()) return bad(fmt::format("{} bytes behind the last item", list.size() - at));
  return found;
}

/// An event message that came, its list taken apart.
struct EventMessage {
  SeenMessage message;
  Occurrences list;
};
/// The next event message; the case FAILs when there is one that is not sound.
inline std::optional<EventMessage> next_event(EndpointBench& bench, Check& check, Duration within) {
  const Instant end = bench.world().now() + within;
  while (auto message = bench.messages().next_message(end - bench.world().now())) {
    const Bytes& body = message->body;
    const bool event = message->type() == mi::kNvmeMiType && body.size() > 2 && (body[1] & 0x78) == 0x28;
    if (!event) continue;
    check.that(mi::mic_ok(body), "the event has a good integrity check", mi::describe(body));
    check.that(message->owner, "the event has the tag owner bit");
    if (body.size() < mi::kHeaderSize + mi::kMicSize) return std::nullopt;
    const ByteView list = ByteView{body}.subspan(mi::kHeaderSize, body.size() - mi::kHeaderSize - mi::kMicSize);
    auto found = occurrences_in(list, &check);
    if (!found) return std::nullopt;
    return EventMessage{std::move(*message), std::move(*found)};
  }
  return std::nullopt;
}

/// Enables just these of what is supported, and forgets what has occurred. INCONCLUSIVE when one is not
/// supported.
inline void enable_only(EndpointBench& bench, Check& check, const EventIds& ids, const EventDelays& delays = {}) {
  const EventTable table = events_of(bench, check);
  std::vector<std::pair<unsigned, bool>> items;
  for (const unsigned id : table.supported) items.emplace_back(id, ids.contains(id));
  for (const unsigned id : ids) check.precondition(table.supported.contains(id), fmt::format("event {:02x}h is supported", id));
  precondition(check, set_events(bench, enable_list(items), delays), "enabling events");
}

}  // namespace fb::conformance
