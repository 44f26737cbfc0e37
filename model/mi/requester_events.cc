// Asynchronous events, as the requester sees them.
#include <utility>

#include "model/mi/requester.h"
#include "model/mi/requester_read.h"

namespace fb::mi {

namespace {

std::optional<OccurrenceList> occurrences(Reply& reply) {
  std::optional<ListFault> fault;
  OccurrenceList list = parse_occurrence_list(reply.data(), fault);
  if (fault) return violate<OccurrenceList>(reply, {"event.list", kResponseMin + fault->offset, 0, 0});
  return list;
}

}  // namespace

Op<Answer<std::vector<EventState>>> Requester::supported_events(mctp::Eid peer) {
  using States = std::vector<EventState>;
  return read_reply<States>(world_, get_configuration(peer, ConfigurationId::async_event), [](Reply& reply) -> std::optional<States> {
    std::optional<ListFault> fault;
    States states = parse_event_list(reply.data(), fault);
    if (fault) {
      const std::size_t at = kResponseMin + fault->offset;
      return violate<States>(reply, {"event.supported", at, 0, 0});
    }
    return states;
  });
}

Op<Answer<OccurrenceList>> Requester::synchronize_events(mctp::Eid peer, std::vector<EventState> events, EventTerms terms) {
  Record<EventConfiguration> made;
  made.set(configuration::id, static_cast<unsigned>(ConfigurationId::async_event))
      .set(configuration::aerd, terms.retry_100ms)
      .set(configuration::aemd, terms.delay_s)
      .set(configuration::encfa, terms.controllers)
      .set(configuration::enpfa, terms.physical)
      .set(configuration::envfa, terms.virtual_functions);
  const auto nmd0 = load_le<std::uint32_t>(&made.bytes()[8]);
  return read_reply<OccurrenceList>(world_, command(peer, Opcode::configuration_set, nmd0, 0, make_event_list(events)), occurrences);
}

Op<Answer<OccurrenceList>> Requester::acknowledge_events(mctp::Eid peer) {
  return read_reply<OccurrenceList>(
      world_, command(peer, Opcode::configuration_set, static_cast<std::uint32_t>(ConfigurationId::async_event), 0, make_event_list({})),
      occurrences);
}

void Requester::on_event_message(const mctp::Incoming& message) {
  const ByteView bytes = message.body;
  EventReport report{message.source, {}, std::nullopt};
  const bool is_event = bytes.size() >= kHeaderSize + kMicSize && View<MessageHeader>{bytes}.get(header::nmimt) == MessageKind::async_event;
  if (!is_event) {
    ++strays_;
    return;
  }
  const View<MessageHeader> head{bytes};
  if (!mic_ok(bytes) && !departs(departure::requester_event_any_mic)) {
    report.violation = Violation{"event.mic", bytes.size() - kMicSize, 0, 0};
  } else if (head.get(header::ror) || head.get(header::csi) != 0 || !head.get(header::ic)) {
    report.violation = Violation{"event.header", 1, bytes[1], 0x28};
  } else {
    std::optional<ListFault> fault;
    report.list = parse_occurrence_list(bytes.subspan(kHeaderSize, bytes.size() - kHeaderSize - kMicSize), fault);
    if (fault) report.violation = Violation{"event.list", kHeaderSize + fault->offset, 0, 0};
  }
  if (!report.violation) {
    // A generation that was seen already says nothing new.
    const auto seen = generations_.find(message.source);
    if (seen != generations_.end() && seen->second == report.list.generation && report.list.retry != 0 &&
        !departs(departure::requester_event_twice)) {
      report.list.items.clear();
    }
    generations_[message.source] = report.list.generation;
    // The acknowledgement may bring more, which the listener hears as well.
    if (options_.acknowledge_events && !departs(departure::requester_no_ack)) {
      const mctp::Eid peer = message.source;
      acknowledge_events(peer).on_settled([this, peer](const Answer<OccurrenceList>& answer) {
        if (answer.ok() && !answer.value->items.empty() && event_listener_) {
          event_listener_({peer, *answer.value, std::nullopt});
        }
      });
    }
  }
  if (event_listener_) event_listener_(report);
}

}  // namespace fb::mi
