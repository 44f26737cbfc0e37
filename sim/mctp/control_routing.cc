// The responder's commands about other endpoints and about rates.
#include <algorithm>
#include <utility>

#include "sim/mctp/control_responder.h"

namespace fb::mctp {

using control::Completion;

namespace {

// What a response holds behind its header, the next handle and the count.
constexpr std::size_t kEntriesMax = control::kMessageMax - control::RoutingResponse::size;

template <class L>
Bytes data_of(const Record<L>& record) {
  const ByteView data = record.bytes().subspan(control::kResponseHeader);
  return {data.begin(), data.end()};
}

void append(Bytes& out, const PhysicalAddress& address) {
  out.insert(out.end(), address.bytes.begin(), address.bytes.begin() + address.size);
}

// Units are told in steps of 16 bytes above the baseline.
std::uint16_t unit_steps(std::size_t unit) { return static_cast<std::uint16_t>(unit <= kBaselineUnit ? 0 : (unit - kBaselineUnit) / 16); }

}  // namespace

ControlResponder::Answer ControlResponder::resolve_eid(const Incoming& message) {
  const Eid eid = View<control::ResolveEid>{message.body}.get(control::resolve_eid::eid);
  const auto found = device_.routing()->resolve(port_, eid);
  if (!found) return refuse(Completion::invalid_data);
  Bytes data{found->bridge};
  append(data, found->address);
  return {Completion::success, std::move(data), false, {}};
}

ControlResponder::Answer ControlResponder::allocate(const Incoming& message) {
  const View<control::Allocate> request{message.body};
  const auto operation = request.get(control::allocate::operation);
  if (static_cast<unsigned>(operation) > 2) return refuse(Completion::invalid_data);
  const auto made =
      device_.routing()->allocate(port_, operation, request.get(control::allocate::count), request.get(control::allocate::first));
  if (made.completion != Completion::success) return refuse(made.completion);
  Record<control::AllocateResponse> response;
  response.set(control::allocate_response::status, made.status)
      .set(control::allocate_response::pool_size, made.pool_size)
      .set(control::allocate_response::first, made.first);
  return {Completion::success, data_of(response), false, {}};
}

ControlResponder::Answer ControlResponder::update_routes(const Incoming& message) {
  const View<control::RoutingUpdate> request{message.body};
  const BindingFacts& facts = endpoint_.binding().facts();
  const std::size_t step = control::UpdateEntry::size + facts.address_size;
  ByteView rest = message.body.subspan(control::RoutingUpdate::size);
  if (rest.size() != step * request.get(control::routing_update::count)) {
    return refuse(Completion::invalid_length);
  }
  std::vector<RoutingEntry> entries;
  for (; !rest.empty(); rest = rest.subspan(step)) {
    const View<control::UpdateEntry> wire{rest};
    RoutingEntry entry;
    entry.type = wire.get(control::update_entry::type);
    entry.size = wire.get(control::update_entry::size);
    entry.first = wire.get(control::update_entry::first);
    entry.port = static_cast<std::uint8_t>(port_ & 0x1F);
    entry.binding = facts.binding;
    entry.medium = facts.medium;
    entry.address.size = facts.address_size;
    std::copy_n(rest.begin() + control::UpdateEntry::size, facts.address_size, entry.address.bytes.begin());
    const bool range_fits = entry.size > 0 && entry.first + entry.size <= kBroadcastEid;
    if (static_cast<unsigned>(entry.type) > 3 || !range_fits || entry.first == kNullEid) {
      return refuse(Completion::invalid_data);
    }
    entries.push_back(entry);
  }
  if (!device_.routing()->update_routes(port_, entries)) return refuse(Completion::command_specific);
  return {};
}

// A handle is the number of the first entry that the answer shall hold.
ControlResponder::Answer ControlResponder::get_routes(const Incoming& message) {
  const std::size_t handle = View<control::GetRouting>{message.body}.get(control::get_routing::handle);
  const std::vector<RoutingEntry> routes = device_.routing()->routes();
  if (handle > 0 && handle >= routes.size()) return refuse(Completion::invalid_data);
  Bytes entries;
  std::size_t at = handle;
  for (; at < routes.size(); ++at) {
    const RoutingEntry& one = routes[at];
    if (entries.size() + control::TableEntry::size + one.address.size > kEntriesMax) break;
    Record<control::TableEntry> wire;
    wire.set(control::table_entry::size, one.size)
        .set(control::table_entry::first, one.first)
        .set(control::table_entry::type, one.type)
        .set(control::table_entry::is_static, one.is_static)
        .set(control::table_entry::port, one.port)
        .set(control::table_entry::binding, one.binding)
        .set(control::table_entry::medium, one.medium)
        .set(control::table_entry::address_size, one.address.size);
    entries.insert(entries.end(), wire.bytes().begin(), wire.bytes().end());
    append(entries, one.address);
  }
  Record<control::RoutingResponse> response;
  response.set(control::routing_response::next, at >= routes.size() ? std::size_t{control::kHandleEnd} : at)
      .set(control::routing_response::count, at - handle);
  Bytes data = data_of(response);
  data.insert(data.end(), entries.begin(), entries.end());
  return {Completion::success, std::move(data), false, {}};
}

ControlResponder::Answer ControlResponder::query_hop(const Incoming& message) {
  const View<control::QueryHop> request{message.body};
  const Eid target = request.get(control::query_hop::target);
  if (target == kNullEid || target == kBroadcastEid) return refuse(Completion::invalid_data);
  const auto hop = device_.routing()->hop(port_, target);
  if (!hop) return refuse(Completion::invalid_data);
  Record<control::QueryHopResponse> response;
  response.set(control::query_hop_response::next, hop->next)
      .set(control::query_hop_response::type, request.get(control::query_hop::type))
      .set(control::query_hop_response::incoming, unit_steps(hop->incoming))
      .set(control::query_hop_response::outgoing, unit_steps(hop->outgoing));
  return {Completion::success, data_of(response), false, {}};
}

ControlResponder::Answer ControlResponder::resolve_uuid(const Incoming& message) {
  const View<control::ResolveUuid> request{message.body};
  control::Uuid uuid;
  std::copy_n(request.get(control::resolve_uuid::uuid).begin(), uuid.size(), uuid.begin());
  const std::size_t handle = request.get(control::resolve_uuid::handle);
  const std::vector<RoutingEntry> found = device_.routing()->resolve_uuid(uuid);
  if (handle > 0 && handle >= found.size()) return refuse(Completion::invalid_data);
  Bytes entries;
  std::size_t at = handle;
  for (; at < found.size(); ++at) {
    const RoutingEntry& one = found[at];
    if (entries.size() + control::UuidEntry::size + one.address.size > kEntriesMax) break;
    Record<control::UuidEntry> wire;
    wire.set(control::uuid_entry::eid, one.first)
        .set(control::uuid_entry::binding, one.binding)
        .set(control::uuid_entry::medium, one.medium)
        .set(control::uuid_entry::address_size, one.address.size);
    entries.insert(entries.end(), wire.bytes().begin(), wire.bytes().end());
    append(entries, one.address);
  }
  Record<control::RoutingResponse> response;
  response.set(control::routing_response::next, at >= found.size() ? std::size_t{control::kHandleEnd} : at)
      .set(control::routing_response::count, at - handle);
  Bytes data = data_of(response);
  data.insert(data.end(), entries.begin(), entries.end());
  return {Completion::success, std::move(data), false, {}};
}

// ------------------------------------------------------------------------------------------ rates

ControlResponder::Answer ControlResponder::query_rates(const Incoming&) {
  const RateLimits& rates = *device_.options().rates;
  Record<control::RateResponse> response;
  response.set(control::rate_response::buffer, rates.buffer)
      .set(control::rate_response::receive_max, rates.receive_max)
      .set(control::rate_response::limit_max, rates.limit_max)
      .set(control::rate_response::limit_min, rates.limit_min)
      .set(control::rate_response::burst_max, rates.burst_max)
      .set(control::rate_response::burst, rates.burst)
      .set(control::rate_response::rate, rates.rate)
      .set(control::rate_response::supported, true);
  return {Completion::success, data_of(response), false, {}};
}

ControlResponder::Answer ControlResponder::request_tx_rate(const Incoming& message) {
  const View<control::RateRequest> request{message.body};
  RateLimits& rates = *device_.options().rates;
  const std::uint32_t rate = request.get(control::rate_request::rate);
  if (rate < rates.limit_min || rate > rates.limit_max) return refuse(Completion::invalid_data);
  rates.burst = std::min(request.get(control::rate_request::burst), rates.burst_max);
  rates.rate = rate;
  Record<control::TxRateResponse> response;
  response.set(control::tx_rate_response::burst, rates.burst).set(control::tx_rate_response::rate, rates.rate);
  return {Completion::success, data_of(response), false, {}};
}

ControlResponder::Answer ControlResponder::update_rate(const Incoming& message) {
  // The sender says what it limits itself to; there is nothing to refuse.
  (void)message;
  return {};
}

ControlResponder::Answer ControlResponder::get_interfaces(const Incoming&) {
  const std::vector<Endpoint*>& ports = device_.ports();
  const std::size_t count = std::min<std::size_t>(ports.size(), 29);
  Bytes data{static_cast<std::uint8_t>(count)};
  for (std::size_t at = 0; at < count; ++at) {
    data.push_back(static_cast<std::uint8_t>(ports[at]->binding().facts().binding));
    data.push_back(ports[at]->eid());
  }
  return {Completion::success, std::move(data), false, {}};
}

}  // namespace fb::mctp
