#include "sim/mctp/control_responder.h"

#include <algorithm>
#include <utility>

#include "sim/mctp/fault_points.h"

namespace fb::mctp {

using control::Command;
using control::Completion;

namespace {

// Answers that may wait for the medium; a flood of requests holds no more memory than this.
constexpr std::size_t kLeavingMax = 8;

ByteView data_of(const Incoming& message) { return message.body.subspan(control::kRequestHeader); }

template <class L>
Bytes data_of(const Record<L>& record) {
  const ByteView data = record.bytes().subspan(control::kResponseHeader);
  return {data.begin(), data.end()};
}

bool is_bridges(Command command) {
  switch (command) {
    case Command::resolve_endpoint_id:
    case Command::allocate_endpoint_ids:
    case Command::routing_information_update:
    case Command::get_routing_table:
    case Command::query_hop:
    case Command::resolve_uuid:
    case Command::discovery_notify:
      return true;
    default:
      return false;
  }
}

}  // namespace

// The bounds are those of the data. A request of another length gets CC 03h before anything is done.
const std::array<ControlResponder::Row, 20> ControlResponder::kRows = {{
    {Command::set_endpoint_id, 2, 2, &ControlResponder::set_eid},
    {Command::get_endpoint_id, 0, 0, &ControlResponder::get_eid},
    {Command::get_endpoint_uuid, 0, 0, &ControlResponder::get_uuid},
    {Command::get_version_support, 1, 1, &ControlResponder::get_versions},
    {Command::get_message_type_support, 0, 0, &ControlResponder::get_types},
    {Command::get_vendor_support, 1, 1, &ControlResponder::get_vendors},
    {Command::resolve_endpoint_id, 1, 1, &ControlResponder::resolve_eid},
    {Command::allocate_endpoint_ids, 3, 3, &ControlResponder::allocate},
    {Command::routing_information_update, 1, 61, &ControlResponder::update_routes},
    {Command::get_routing_table, 1, 1, &ControlResponder::get_routes},
    {Command::prepare_for_discovery, 0, 0, &ControlResponder::prepare},
    {Command::endpoint_discovery, 0, 0, &ControlResponder::discover},
    {Command::discovery_notify, 0, 0, &ControlResponder::discovery_notify},
    {Command::get_network_id, 0, 0, &ControlResponder::get_network},
    {Command::query_hop, 2, 2, &ControlResponder::query_hop},
    {Command::resolve_uuid, 17, 17, &ControlResponder::resolve_uuid},
    {Command::query_rate_limit, 0, 0, &ControlResponder::query_rates},
    {Command::request_tx_rate_limit, 7, 7, &ControlResponder::request_tx_rate},
    {Command::update_rate_limit, 7, 7, &ControlResponder::update_rate},
    {Command::query_supported_interfaces, 0, 0, &ControlResponder::get_interfaces},
}};

ControlResponder::ControlResponder(Endpoint& endpoint, ControlDevice& device)
    : endpoint_(endpoint), device_(device), port_(device.add_port(endpoint)) {}

void ControlResponder::reset() {
  owner_.reset();
  set_discovered(false);
  due_.clear();
  leaving_.clear();
  endpoint_.world().loop().cancel(timer_);
}

bool ControlResponder::is_sound(const Incoming& message, bool& datagram) {
  const auto head = View<control::RequestHeader>::over(message.body);
  if (!head) return false;
  if (head->get(control::header::ic) && !endpoint_.departs(departure::kControlIc)) return false;
  datagram = head->get(control::header::datagram);
  return head->get(control::header::request) || endpoint_.departs(departure::kControlClass);
}

void ControlResponder::on_request(const Incoming& message) {
  bool datagram = false;
  if (!is_sound(message, datagram)) {
    ++counters_.malformed;
    return;
  }
  ++counters_.requests;
  const bool busy = !due_.empty() || leaving_.size() >= kLeavingMax;
  if (busy) {
    ++counters_.busy;
    const bool room = leaving_.size() < kLeavingMax;
    if (device_.options().policy.busy_is_answered && room && !datagram) {
      reply(message, refuse(Completion::not_ready));
    }
    return;
  }
  const Answer answer = answer_to(message);
  if (datagram) {
    ++counters_.datagrams;
    if (!endpoint_.departs(departure::kControlDatagramAnswered)) return;
  }
  if (answer.silent) {
    ++counters_.silent;
    return;
  }
  reply(message, answer);
}

bool ControlResponder::supported(Command command) const {
  const DeviceOptions& device = device_.options();
  if (is_bridges(command)) return device_.routing() != nullptr;
  switch (command) {
    case Command::get_endpoint_uuid:
      return device.uuid.has_value();
    case Command::get_vendor_support:
      return !device.vendors.empty();
    case Command::get_network_id:
      return device.network.has_value();
    case Command::prepare_for_discovery:
    case Command::endpoint_discovery:
      return endpoint_.binding().facts().discovery || endpoint_.departs(departure::kControlDiscoveryAnywhere);
    case Command::query_rate_limit:
    case Command::request_tx_rate_limit:
    case Command::update_rate_limit:
      return device.rates.has_value();
    case Command::query_supported_interfaces:
      return device.policy.supports_interfaces;
    default:
      return true;
  }
}

ControlResponder::Answer ControlResponder::answer_to(const Incoming& message) {
  const Command command = View<control::RequestHeader>{message.body}.get(control::header::command);
  const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& one) { return one.command == command; });
  if (row == kRows.end() || !supported(command)) {
    if (endpoint_.departs(departure::kControlUnknownSilent)) return silence();
    if (is_bridges(command) && endpoint_.departs(departure::kControlBridgeOnly)) return {};
    return refuse(Completion::unsupported_command);
  }
  const std::size_t size = data_of(message).size();
  if (size < row->size_min) return refuse(Completion::invalid_length);
  if (size > row->size_max && !endpoint_.departs(departure::kControlLength)) {
    return refuse(Completion::invalid_length);
  }
  return (this->*row->handle)(message);
}

void ControlResponder::reply(const Incoming& message, const Answer& answer) {
  Bytes body = control::make_response(message.body, answer.completion, answer.data);
  EndpointHooks* const hooks = endpoint_.hooks();
  if (hooks != nullptr && !hooks->control_answer(message.body, body)) return;
  if (body.empty()) return;
  Outgoing out;
  out.destination = message.source;
  out.to = message.from;
  // On PCI Express what came to everybody is answered towards the root complex.
  if (message.destination == kBroadcastEid && endpoint_.binding().facts().discovery) {
    out.to = kToRoot;
  }
  out.source = answer.source.value_or(kNullEid);
  out.tag = {message.tag.value, false};
  out.body = std::move(body);
  const Duration after = device_.options().policy.answer_after;
  if (after <= Duration{}) return send(std::move(out));
  World& world = endpoint_.world();
  due_.push_back({world.now() + after, std::move(out)});
  if (!timer_.scheduled()) world.loop().schedule(timer_, due_.front().when);
}

void ControlResponder::send_due() {
  World& world = endpoint_.world();
  while (!due_.empty() && due_.front().when <= world.now()) {
    Outgoing out = std::move(due_.front().message);
    due_.pop_front();
    send(std::move(out));
  }
  if (!due_.empty()) world.loop().schedule(timer_, due_.front().when);
}

void ControlResponder::send(Outgoing message) {
  ++counters_.answers;
  leaving_.push_back(endpoint_.send(std::move(message)));
}

void ControlResponder::on_sent(SendId id) { std::erase(leaving_, id); }

// ------------------------------------------------------------------------------- identity and EID

ControlResponder::Answer ControlResponder::set_eid(const Incoming& message) {
  const View<control::SetEid> request{message.body};
  const DeviceOptions& device = device_.options();
  const Eid eid = request.get(control::set_eid::eid);
  switch (request.get(control::set_eid::operation)) {
    case control::SetOperation::reset:
      if (device.static_eid == kNullEid) return refuse(Completion::invalid_data);
      return accept_eid(message, device.static_eid, true);
    case control::SetOperation::set_discovered: {
      if (!endpoint_.binding().facts().discovery) return refuse(Completion::invalid_data);
      const Eid now = endpoint_.eid();
      set_discovered(true);
      return accept_eid(message, now, false);
    }
    case control::SetOperation::set:
    case control::SetOperation::force:
      break;
  }
  const bool reserved = eid < kFirstEid && device.policy.refuses_reserved_eids;
  if ((eid == kNullEid || eid == kBroadcastEid || reserved) && !endpoint_.departs(departure::kControlEidRange)) {
    return refuse(Completion::invalid_data);
  }
  const bool forced = request.get(control::set_eid::operation) == control::SetOperation::force;
  const auto owner = device_.assigned_by();
  const bool foreign = device.one_eid && owner && *owner != port_;
  if (foreign && !forced && !endpoint_.departs(departure::kControlForeignOwner)) {
    Record<control::SetEidResponse> response;
    response.set(control::set_eid_response::assignment, control::Assignment::rejected).set(control::set_eid_response::eid, endpoint_.eid());
    return {Completion::success, data_of(response), false, {}};
  }
  return accept_eid(message, eid, true);
}

ControlResponder::Answer ControlResponder::accept_eid(const Incoming& message, Eid eid, bool takes) {
  Answer answer;
  if (device_.options().policy.answers_from_old_eid && message.destination != kNullEid) {
    answer.source = endpoint_.eid();
  }
  if (takes) {
    if (!endpoint_.departs(departure::kControlEidKept)) device_.assign(port_, eid);
    device_.remember_owner(port_);
    owner_ = Owner{message.source, message.from};
    set_discovered(true);
  }
  Record<control::SetEidResponse> response;
  response.set(control::set_eid_response::eid, eid);
  if (const RoutingFunctions* const routing = device_.routing(); routing != nullptr && routing->pool_size() > 0) {
    response.set(control::set_eid_response::pool, routing->pool_given() ? control::PoolState::allocated : control::PoolState::needed)
        .set(control::set_eid_response::pool_size, routing->pool_size());
  }
  answer.data = data_of(response);
  return answer;
}

ControlResponder::Answer ControlResponder::get_eid(const Incoming&) {
  const DeviceOptions& device = device_.options();
  Record<control::GetEidResponse> response;
  control::IdType type = control::IdType::dynamic_only;
  if (device.static_eid != kNullEid) {
    type = device.static_eid == endpoint_.eid() ? control::IdType::static_same : control::IdType::static_different;
  }
  response.set(control::get_eid_response::eid, endpoint_.eid())
      .set(control::get_eid_response::endpoint_type, device.bridge ? control::EndpointType::bridge : control::EndpointType::simple)
      .set(control::get_eid_response::id_type, type);
  return {Completion::success, data_of(response), false, {}};
}

ControlResponder::Answer ControlResponder::get_uuid(const Incoming&) {
  const control::Uuid& uuid = *device_.options().uuid;
  return {Completion::success, Bytes(uuid.begin(), uuid.end()), false, {}};
}

ControlResponder::Answer ControlResponder::get_network(const Incoming&) {
  const control::Uuid& uuid = *device_.options().network;
  return {Completion::success, Bytes(uuid.begin(), uuid.end()), false, {}};
}

ControlResponder::Answer ControlResponder::get_versions(const Incoming& message) {
  const std::uint8_t type = View<control::GetVersion>{message.body}.get(control::get_version::type);
  const DeviceOptions& device = device_.options();
  const std::vector<control::Version>* versions = nullptr;
  if (type == control::kVersionOfBase || type == 0 || endpoint_.departs(departure::kControlVersionType)) {
    versions = &device.base_versions;
  }
  for (const TypeSupport& one : device.types) {
    if (one.type == type) versions = &one.versions;
  }
  if (versions == nullptr) return refuse(Completion::command_specific);
  // A control message is one packet: what does not fit is left out.
  const std::size_t count = std::min<std::size_t>(versions->size(), 14);
  Bytes data{static_cast<std::uint8_t>(count)};
  for (std::size_t at = 0; at < count; ++at) {
    const control::Version& one = (*versions)[at];
    data.insert(data.end(), {one.major, one.minor, one.update, one.alpha});
  }
  return {Completion::success, std::move(data), false, {}};
}

ControlResponder::Answer ControlResponder::get_types(const Incoming&) {
  const std::vector<TypeSupport>& types = device_.options().types;
  const std::size_t count = std::min<std::size_t>(types.size(), 59);
  Bytes data{static_cast<std::uint8_t>(count)};
  for (std::size_t at = 0; at < count; ++at) data.push_back(types[at].type);
  return {Completion::success, std::move(data), false, {}};
}

ControlResponder::Answer ControlResponder::get_vendors(const Incoming& message) {
  const std::size_t selector = View<control::GetVendor>{message.body}.get(control::get_vendor::selector);
  const std::vector<VendorSupport>& vendors = device_.options().vendors;
  if (selector >= vendors.size()) return refuse(Completion::invalid_data);
  const VendorSupport& one = vendors[selector];
  Bytes data;
  data.push_back(selector + 1 == vendors.size() ? control::kSelectorEnd : static_cast<std::uint8_t>(selector + 1));
  data.push_back(static_cast<std::uint8_t>(one.format));
  const int bytes = one.format == control::VendorFormat::pci ? 2 : 4;
  for (int at = bytes - 1; at >= 0; --at) {
    data.push_back(static_cast<std::uint8_t>(one.vendor >> (8 * at) & 0xFF));
  }
  data.push_back(static_cast<std::uint8_t>(one.command_set >> 8));
  data.push_back(static_cast<std::uint8_t>(one.command_set & 0xFF));
  return {Completion::success, std::move(data), false, {}};
}

// -------------------------------------------------------------------------------------- discovery

ControlResponder::Answer ControlResponder::prepare(const Incoming&) {
  set_discovered(false);  // the EID stays
  return {};
}

ControlResponder::Answer ControlResponder::discover(const Incoming&) {
  if (discovered() && !endpoint_.departs(departure::kControlDiscovered)) return silence();
  return {};
}

ControlResponder::Answer ControlResponder::discovery_notify(const Incoming& message) {
  device_.routing()->on_discovery_notify(port_, message.from);
  return {};
}

}  // namespace fb::mctp
