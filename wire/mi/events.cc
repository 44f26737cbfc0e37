#include "wire/mi/events.h"

#include <algorithm>

namespace fb::mi {

std::string_view name_of(EventId id) {
  constexpr std::string_view kNames[] = {"Controller Ready",
                                         "Controller Fatal Status",
                                         "Shutdown Status",
                                         "Controller Enable",
                                         "Namespace Attribute Changed",
                                         "Firmware Activated",
                                         "Composite Temperature",
                                         "Percentage Drive Life Used",
                                         "Available Spare",
                                         "SMART Warnings",
                                         "Telemetry Controller-Initiated Data",
                                         "PCIe Link Active",
                                         "Sanitize Failure Mode",
                                         "Namespace Sanitize Failure Mode",
                                         "Power Threshold"};
  const auto at = static_cast<std::size_t>(id);
  if (at < std::size(kNames)) return kNames[at];
  return at >= 0xC0 ? "Vendor Specific" : "Reserved";
}

Bytes make_event_list(const std::vector<EventState>& events) {
  Bytes made(EventListHeader::size + events.size() * EventItem::size);
  MutableView<EventListHeader>{made}
      .set(event_list::numae, events.size())
      .set(event_list::total_length, made.size())
      .set(event_list::header_length, EventListHeader::size);
  MutableBytes rest = MutableBytes{made}.subspan(EventListHeader::size);
  for (const EventState& event : events) {
    MutableView<EventItem>{rest}
        .set(event_item::length, EventItem::size)
        .set(event_item::id, event.id)
        .set(event_item::enabled, event.enabled);
    rest = rest.subspan(EventItem::size);
  }
  return made;
}

std::vector<EventState> parse_event_list(ByteView bytes, std::optional<ListFault>& fault) {
  fault.reset();
  const auto refuse = [&](std::size_t offset, std::string_view what) {
    fault = ListFault{offset, what};
    return std::vector<EventState>{};
  };
  const auto head = View<EventListHeader>::over(bytes);
  if (!head) return refuse(0, "shorter than its header");
  if (head->get(event_list::version) != 0) return refuse(event_list::version.offset, "version");
  if (head->get(event_list::header_length) != EventListHeader::size) {
    return refuse(event_list::header_length.offset, "header length");
  }
  if (head->get(event_list::total_length) != bytes.size()) {
    return refuse(event_list::total_length.offset, "total length");
  }
  std::vector<EventState> events;
  std::size_t at = EventListHeader::size;
  for (unsigned i = 0; i < head->get(event_list::numae); ++i) {
    const auto item = View<EventItem>::over(bytes.subspan(at));
    if (!item) return refuse(event_list::numae.offset, "more items announced than there are");
    if (item->get(event_item::length) != EventItem::size) return refuse(at, "item length");
    events.push_back({static_cast<std::uint8_t>(item->get(event_item::id)), item->get(event_item::enabled)});
    at += EventItem::size;
  }
  if (at != bytes.size()) return refuse(event_list::numae.offset, "bytes behind the last item");
  return events;
}

Bytes make_occurrence_list(const OccurrenceList& list) {
  Bytes made(OccurrenceListHeader::size);
  for (const Occurrence& item : list.items) {
    Record<OccurrenceItem> record;
    record.set(occurrence::header_length, OccurrenceItem::size)
        .set(occurrence::specific_length, item.specific.size())
        .set(occurrence::id, item.id)
        .set(occurrence::context, item.context)
        .set(occurrence::scope, static_cast<unsigned>(item.scope));
    made.insert(made.end(), record.bytes().begin(), record.bytes().end());
    made.insert(made.end(), item.specific.begin(), item.specific.end());
  }
  MutableView<OccurrenceListHeader>{made}
      .set(occurrence_list::numaeo, list.items.size())
      .set(occurrence_list::total_length, made.size())
      .set(occurrence_list::overflow, list.overflow)
      .set(occurrence_list::header_length, OccurrenceListHeader::size)
      .set(occurrence_list::retry, list.retry)
      .set(occurrence_list::generation, list.generation);
  return made;
}

OccurrenceList parse_occurrence_list(ByteView bytes, std::optional<ListFault>& fault) {
  fault.reset();
  const auto refuse = [&](std::size_t offset, std::string_view what) {
    fault = ListFault{offset, what};
    return OccurrenceList{};
  };
  const auto head = View<OccurrenceListHeader>::over(bytes);
  if (!head) return refuse(0, "shorter than its header");
  if (head->get(occurrence_list::version) != 0) return refuse(occurrence_list::version.offset, "version");
  if (head->get(occurrence_list::header_length) != OccurrenceListHeader::size) {
    return refuse(occurrence_list::header_length.offset, "header length");
  }
  if (head->get(occurrence_list::total_length) != bytes.size()) {
    return refuse(occurrence_list::total_length.offset, "total length");
  }
  OccurrenceList list;
  list.generation = head->get(occurrence_list::generation);
  list.retry = head->get(occurrence_list::retry);
  list.overflow = head->get(occurrence_list::overflow);
  std::size_t at = OccurrenceListHeader::size;
  for (unsigned i = 0; i < head->get(occurrence_list::numaeo); ++i) {
    const auto item = View<OccurrenceItem>::over(bytes.subspan(at));
    if (!item) return refuse(occurrence_list::numaeo.offset, "more items announced than there are");
    if (item->get(occurrence::header_length) != OccurrenceItem::size) return refuse(at, "item header length");
    const std::size_t specific = item->get(occurrence::specific_length);
    const std::size_t size = OccurrenceItem::size + specific + item->get(occurrence::vendor_length);
    if (bytes.size() - at < size) return refuse(at + occurrence::specific_length.offset, "item length");
    const ByteView data = bytes.subspan(at + OccurrenceItem::size, specific);
    list.items.push_back({item->get(occurrence::id),
                          item->get(occurrence::context),
                          static_cast<EventScope>(item->get(occurrence::scope)),
                          {data.begin(), data.end()}});
    at += size;
  }
  if (at != bytes.size()) return refuse(occurrence_list::numaeo.offset, "bytes behind the last item");
  return list;
}

}  // namespace fb::mi
