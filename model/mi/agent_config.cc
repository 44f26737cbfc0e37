// Configuration Get and Configuration Set.
#include <algorithm>

#include "model/mi/agent.h"
#include "model/mi/fault_points.h"
#include "model/mi/reporter.h"

namespace fb::mi {

namespace {
constexpr std::uint16_t kUnitMin = 64;
}

void Agent::configuration_get(Exchange& exchange) {
  const auto asked = exchange.as<UnitConfiguration>();
  const auto id = static_cast<ConfigurationId>(asked.get(configuration::id));
  const std::uint8_t port = asked.get(configuration::portid);
  const bool bus = id == ConfigurationId::smbus_frequency || id == ConfigurationId::transmission_unit;
  if (in_band_ && bus && refuse(exchange, check::config_prohibited)) return;
  switch (id) {
    case ConfigurationId::smbus_frequency:
      if (!device_.has_port(port)) {
        if (!refuse(exchange, check::config_frequency_port)) finish(exchange, 0, {});
        return;
      }
      if (device_.port(port).type != PortType::two_wire && refuse(exchange, check::config_frequency_port)) {
        return;
      }
      return finish(exchange, device_.port_state(port).frequency, {});
    case ConfigurationId::health_status_change:
      return finish(exchange, 0, {});
    case ConfigurationId::transmission_unit:
      if (!device_.has_port(port)) {
        if (!refuse(exchange, check::config_unit_port)) finish(exchange, 0, {});
        return;
      }
      return finish(exchange, device_.port_state(port).unit, {});
    case ConfigurationId::async_event:
      if (!events_offered() || reporter_ == nullptr) break;
      return finish(exchange, 0, make_event_list(reporter_->supported()));
  }
  if (!refuse(exchange, check::config_id)) finish(exchange, 0, {});
}

void Agent::configuration_set(Exchange& exchange) {
  const auto id = static_cast<ConfigurationId>(exchange.as<Configuration>().get(configuration::id));
  const bool bus = id == ConfigurationId::smbus_frequency || id == ConfigurationId::transmission_unit;
  if (in_band_ && bus && refuse(exchange, check::config_prohibited)) return;
  switch (id) {
    case ConfigurationId::smbus_frequency:
      return set_frequency(exchange);
    case ConfigurationId::health_status_change:
      if (!departs(departure::config_not_kept)) {
        clear_changes(exchange.as<HealthConfiguration>().get(configuration::clear));
      }
      return finish(exchange, 0, {});
    case ConfigurationId::transmission_unit:
      return set_unit(exchange);
    case ConfigurationId::async_event:
      if (!events_offered() || reporter_ == nullptr) break;
      return set_events(exchange);
  }
  if (!refuse(exchange, check::config_id)) finish(exchange, 0, {});
}

void Agent::set_frequency(Exchange& exchange) {
  const auto asked = exchange.as<FrequencyConfiguration>();
  const std::uint8_t port = asked.get(configuration::portid);
  const std::uint8_t frequency = asked.get(configuration::sfreq);
  if (!device_.has_port(port)) {
    if (!refuse(exchange, check::config_frequency_port)) finish(exchange, 0, {});
    return;
  }
  const DevicePort& facts = device_.port(port);
  if (facts.type != PortType::two_wire && refuse(exchange, check::config_frequency_port)) return;
  const bool known = frequency >= kFrequency100k && frequency <= facts.frequency_max;
  if (!known && refuse(exchange, check::config_frequency)) return;
  if (!departs(departure::config_not_kept)) device_.port_state(port).frequency = frequency;
  finish(exchange, 0, {});
}

void Agent::set_unit(Exchange& exchange) {
  const auto asked = exchange.as<UnitConfiguration>();
  const std::uint8_t port = asked.get(configuration::portid);
  const std::uint16_t unit = asked.get(configuration::unit);
  if (!device_.has_port(port)) {
    if (!refuse(exchange, check::config_unit_port)) finish(exchange, 0, {});
    return;
  }
  const bool legal = unit >= kUnitMin && unit <= device_.port(port).unit_max;
  if (!legal && refuse(exchange, check::config_unit)) return;
  if (!departs(departure::config_not_kept)) device_.port_state(port).unit = unit;
  finish(exchange, 0, {});
}

void Agent::set_events(Exchange& exchange) {
  const ByteView data = exchange.data_behind(MiRequest::size);
  if (data.size() < EventListHeader::size) {
    if (!refuse(exchange, check::config_event_data)) finish(exchange, 0, {});
    return;
  }
  if (View<EventListHeader>{data}.get(event_list::total_length) != data.size() && refuse(exchange, check::config_event_data)) {
    return;
  }
  std::optional<ListFault> fault;
  const std::vector<EventState> events = parse_event_list(data, fault);
  const auto place = [](std::size_t offset) { return ParameterError{static_cast<std::uint16_t>(MiRequest::size + offset), 0}; };
  if (fault && refuse(exchange, check::config_event_list, place(fault->offset))) return;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::size_t at = EventListHeader::size + i * EventItem::size + event_item::id.offset;
    if (!Reporter::is_supported(events[i].id)) {
      if (!refuse(exchange, check::config_event_list, place(at))) finish(exchange, 0, {});
      return;
    }
  }
  if (events.empty()) return finish(exchange, 0, reporter_->acknowledge());
  const auto asked = exchange.as<EventConfiguration>();
  finish(exchange, 0,
         reporter_->synchronize(events, {.delay = Duration::s(asked.get(configuration::aemd)),
                                         .retry_delay = Duration::ms(100 * asked.get(configuration::aerd)),
                                         .controllers = asked.get(configuration::encfa),
                                         .physical = asked.get(configuration::enpfa),
                                         .virtual_functions = asked.get(configuration::envfa)}));
}

}  // namespace fb::mi
