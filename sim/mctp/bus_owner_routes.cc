// The owner's dealings with the routing tables of bridges on its bus: it reads them to learn who is behind,
// and tells each bridge about everybody else.
#include <algorithm>

#include "sim/mctp/bus_owner_jobs.h"
#include "sim/mctp/fault_points.h"

namespace fb::mctp {

using control::Command;

namespace {

void append_entry(Bytes& out, const RoutingEntry& entry) {
  Record<control::UpdateEntry> wire;
  wire.set(control::update_entry::type, entry.type)
      .set(control::update_entry::size, entry.size)
      .set(control::update_entry::first, entry.first);
  out.insert(out.end(), wire.bytes().begin(), wire.bytes().end());
  out.insert(out.end(), entry.address.bytes.begin(), entry.address.bytes.begin() + entry.address.size);
}

// Neighbours with the same way become one range.
bool extends(const RoutingEntry& range, const RoutingEntry& next) {
  return range.type == control::RouteType::range && next.type == control::RouteType::range && range.address == next.address &&
         range.first + range.size == next.first && range.size + next.size < 256;
}

}  // namespace

// ---------------------------------------------------------------------------------------- reading

void BusOwner::read_table(Eid bridge, std::uint8_t handle) {
  requester().ask({bridge, {}}, Command::get_routing_table, {handle},
                  while_alive([this, bridge](const ControlReply& reply) { take_table(bridge, reply); }));
}

// The bridge on our bus through which `eid` is reached: itself, or the one in front of it.
const KnownEndpoint* BusOwner::outermost(Eid eid) const {
  const auto& known = bridge_.known();
  auto found = known.find(eid);
  if (found != known.end() && found->second.behind != kNullEid) {
    found = known.find(found->second.behind);
  }
  return found == known.end() ? nullptr : &found->second;
}

void BusOwner::take_table(Eid bridge, const ControlReply& reply) {
  Job& job = *current_;
  const auto response = reply.as<control::RoutingResponse>();
  const KnownEndpoint* const known = outermost(bridge);
  if (!response || known == nullptr) {
    ++job.report.faulty;
    return proceed();
  }
  const EidPool given(known->pool_first, known->pool_size);
  ByteView rest = ByteView(reply.message).subspan(control::RoutingResponse::size);
  for (unsigned left = response->get(control::routing_response::count); left > 0; --left) {
    const auto entry = View<control::TableEntry>::over(rest);
    const std::size_t size = entry ? control::TableEntry::size + entry->get(control::table_entry::address_size) : 0;
    if (!entry || rest.size() < size) {
      ++job.report.faulty;
      break;
    }
    rest = rest.subspan(size);
    const Eid eid = entry->get(control::table_entry::first);
    // Ranges say only that there is room; endpoints have entries of their own.
    const bool one = entry->get(control::table_entry::type) == control::RouteType::endpoint ||
                     entry->get(control::table_entry::type) == control::RouteType::bridge;
    const bool new_one = !bridge_.known().contains(eid) && std::find(job.eids.begin(), job.eids.end(), eid) == job.eids.end();
    if (departs(departure::kOwnerLearnsNothing)) continue;
    if (one && given.holds(eid) && new_one) job.eids.push_back(eid);
  }
  const std::uint8_t next = response->get(control::routing_response::next);
  ++job.rounds;
  if (next != control::kHandleEnd && next != 0 && job.rounds < 256) {
    return read_table(bridge, next);
  }
  proceed();
}

void BusOwner::visit_behind(Eid eid, Eid bridge) {
  const KnownEndpoint* const front = outermost(bridge);
  if (front == nullptr) return;  // it has gone meanwhile
  ++current_->report.looked_at;
  auto made = std::make_unique<Visit>();
  Visit& visit = *made;
  visit.behind = front->eid;
  visit.address = front->address;
  visit.found.eid = eid;
  visits_.push_back(std::move(made));
  requester().ask({eid, {}}, Command::get_endpoint_id, {}, while_alive([this, &visit](const ControlReply& reply) {
                    const auto response = reply.as<control::GetEidResponse>();
                    if (!response) return end_visit(visit);
                    ++current_->report.found;
                    visit.found.is_bridge = response->get(control::get_eid_response::endpoint_type) == control::EndpointType::bridge;
                    ask_types(visit);
                  }));
}

// ---------------------------------------------------------------------------------------- telling

std::vector<RoutingEntry> BusOwner::routes_for(const KnownEndpoint& bridge) {
  const PhysicalAddress ours = bridge_.endpoint(port_).binding().address();
  std::vector<RoutingEntry> told;
  RoutingEntry owner;
  owner.type = control::RouteType::bridge;
  owner.first = bridge_.eid();
  owner.address = ours;
  told.push_back(owner);
  std::vector<RoutingEntry> table = bridge_.routes();
  std::sort(table.begin(), table.end(),
            [](const RoutingEntry& a, const RoutingEntry& b) { return a.first != b.first ? a.first < b.first : a.size < b.size; });
  for (RoutingEntry entry : table) {
    const bool its_own = entry.port == port_ && entry.address == bridge.address;
    if (its_own) continue;
    if (entry.port != port_) {
      // Everybody on our other buses is behind us.
      entry.address = ours;
      entry.type = control::RouteType::range;
    }
    if (extends(told.back(), entry)) {
      told.back().size = static_cast<std::uint8_t>(told.back().size + entry.size);
    } else {
      told.push_back(entry);
    }
  }
  return told;
}

void BusOwner::queue_updates() {
  const std::size_t address_size = bridge_.endpoint(port_).binding().facts().address_size;
  const std::size_t room = (control::kMessageMax - control::RoutingUpdate::size) / (control::UpdateEntry::size + address_size);
  for (const auto& [eid, one] : bridge_.known()) {
    if (!one.is_bridge || one.port != port_ || one.behind != kNullEid) continue;
    const std::vector<RoutingEntry> told = routes_for(one);
    for (std::size_t at = 0; at < told.size(); at += room) {
      const std::size_t count = std::min(room, told.size() - at);
      Bytes data{static_cast<std::uint8_t>(count)};
      for (std::size_t entry = at; entry < at + count; ++entry) append_entry(data, told[entry]);
      current_->updates.emplace_back(eid, std::move(data));
    }
  }
}

void BusOwner::send_update() {
  Job& job = *current_;
  auto [bridge, data] = std::move(job.updates.front());
  job.updates.pop_front();
  requester().ask({bridge, {}}, Command::routing_information_update, std::move(data), while_alive([this](const ControlReply& reply) {
                    if (!reply.ok()) ++current_->report.faulty;
                    proceed();
                  }));
}

}  // namespace fb::mctp
