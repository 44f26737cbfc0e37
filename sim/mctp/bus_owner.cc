#include "sim/mctp/bus_owner_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sim/mctp/fault_points.h"

namespace fb::mctp {

using control::Command;
using control::Completion;

namespace {
constexpr int kDiscoveryRounds = 8;
constexpr std::uint8_t kVendorsMax = 8;  // sets that are asked for
}  // namespace

BusOwner::BusOwner(World& world, Bridge& bridge, std::size_t port, const BusOwnerOptions& options)
    : world_(world), bridge_(bridge), port_(port), options_(options) {
  BENCH_ASSERT(options.parallel >= 1 && options.parallel <= 8, "there are eight tags");
}

BusOwner::~BusOwner() = default;

// ------------------------------------------------------------------------------------------- jobs

void BusOwner::start(std::unique_ptr<Job> job) {
  jobs_.push_back(std::move(job));
  begin_next();
}

void BusOwner::enumerate(std::vector<PhysicalAddress> addresses, Then then) {
  auto job = std::make_unique<Job>();
  job->addresses.assign(addresses.begin(), addresses.end());
  job->then = std::move(then);
  start(std::move(job));
}

void BusOwner::look_at(const PhysicalAddress& address, Assigning assigning, Eid wanted, Then then) {
  auto job = std::make_unique<Job>();
  job->addresses.assign(1, address);
  job->assigning = assigning;
  job->wanted = wanted;
  job->then = std::move(then);
  start(std::move(job));
}

void BusOwner::discover(Then then) {
  auto job = std::make_unique<Job>();
  job->kind = JobKind::discover;
  job->then = std::move(then);
  start(std::move(job));
}

void BusOwner::learn_behind(Eid bridge, Then then) {
  auto job = std::make_unique<Job>();
  job->kind = JobKind::learn;
  job->bridge = bridge;
  job->then = std::move(then);
  start(std::move(job));
}

void BusOwner::update_bridges(Then then) {
  auto job = std::make_unique<Job>();
  job->kind = JobKind::update;
  job->changed = true;
  job->then = std::move(then);
  start(std::move(job));
}

Op<EnumerationReport> BusOwner::as_op(std::string_view what, const std::function<void(Then)>& begin) {
  auto [promise, op] = make_op<EnumerationReport>(world_, fmt::format("{}: {}", bridge_.endpoint(port_).name(), what));
  auto shared = std::make_shared<Promise<EnumerationReport>>(std::move(promise));
  begin([shared](const EnumerationReport& report) { shared->settle(report); });
  return op;
}

Op<EnumerationReport> BusOwner::enumerate(std::vector<PhysicalAddress> addresses) {
  return as_op("enumeration", [&](Then then) { enumerate(std::move(addresses), std::move(then)); });
}

Op<EnumerationReport> BusOwner::discover() {
  return as_op("discovery", [&](Then then) { discover(std::move(then)); });
}

Op<EnumerationReport> BusOwner::learn_behind(Eid bridge) {
  return as_op("reading a bridge's table", [&](Then then) { learn_behind(bridge, std::move(then)); });
}

Op<EnumerationReport> BusOwner::update_bridges() {
  return as_op("routing updates", [&](Then then) { update_bridges(std::move(then)); });
}

void BusOwner::begin_next() {
  if (current_ != nullptr || jobs_.empty()) return;
  current_ = std::move(jobs_.front());
  jobs_.pop_front();
  switch (current_->kind) {
    case JobKind::discover:
      return prepare();
    case JobKind::learn:
      return read_table(current_->bridge, 0);
    case JobKind::enumerate:
    case JobKind::update:
      return proceed();
  }
}

// Starts what may run beside what runs, and ends the job when nothing is left.
void BusOwner::proceed() {
  Job& job = *current_;
  while (visits_.size() < options_.parallel && !job.addresses.empty()) {
    const PhysicalAddress address = job.addresses.front();
    job.addresses.pop_front();
    visit(address);
  }
  while (visits_.size() < options_.parallel && !job.eids.empty()) {
    const Eid eid = job.eids.front();
    job.eids.pop_front();
    visit_behind(eid, job.bridge);
  }
  if (!visits_.empty()) return;
  if (job.kind == JobKind::discover && job.rounds > 0) return discover_more();
  if (job.changed && options_.updates_bridges && !departs(departure::kOwnerNoUpdates)) {
    job.changed = false;
    queue_updates();
  }
  if (!job.updates.empty()) return send_update();
  finish();
}

void BusOwner::finish() {
  const std::unique_ptr<Job> done = std::move(current_);
  begin_next();
  if (done->then) done->then(done->report);
}

// -------------------------------------------------------------------------------------- discovery

void BusOwner::prepare() {
  current_->rounds = kDiscoveryRounds;
  requester().ask_all(Command::prepare_for_discovery, {}, options_.discovery_window,
                      while_alive([this](const std::vector<ControlReply>&) { discover_more(); }));
}

// Until nobody answers that has not been found: one that was busy may answer the next time.
void BusOwner::discover_more() {
  --current_->rounds;
  requester().ask_all(Command::endpoint_discovery, {}, options_.discovery_window,
                      while_alive([this](const std::vector<ControlReply>& replies) {
                        std::set<PhysicalAddress> seen;
                        for (const ControlReply& reply : replies) {
                          if (seen.insert(reply.from).second) {
                            current_->addresses.push_back(reply.from);
                          }
                        }
                        current_->seen.insert(current_->seen.end(), seen.begin(), seen.end());
                        if (seen.empty()) {
                          current_->rounds = 0;
                          forget_unseen();
                        }
                        proceed();
                      }));
}

// ------------------------------------------------------------------------------------ one address

Eid BusOwner::known_at(const PhysicalAddress& address) const {
  for (const auto& [eid, one] : bridge_.known()) {
    if (one.port == port_ && one.behind == kNullEid && one.address == address) return eid;
  }
  return kNullEid;
}

ControlPeer BusOwner::peer_of(const Visit& visit) {
  return {visit.found.eid, visit.behind == kNullEid ? visit.address : PhysicalAddress{}};
}

void BusOwner::visit(const PhysicalAddress& address) {
  ++current_->report.looked_at;
  auto made = std::make_unique<Visit>();
  Visit& visit = *made;
  visit.address = address;
  visits_.push_back(std::move(made));
  requester().ask({kNullEid, address}, Command::get_endpoint_id, {},
                  while_alive([this, &visit](const ControlReply& reply) { on_eid(visit, reply); }));
}

void BusOwner::on_eid(Visit& visit, const ControlReply& reply) {
  const auto response = reply.as<control::GetEidResponse>();
  if (reply.end != ControlEnd::answered) {
    forget_at(visit.address);
    if (departs(departure::kOwnerStops)) current_->addresses.clear();
    return end_visit(visit);
  }
  ++current_->report.found;
  if (!response) {
    ++current_->report.faulty;
    return end_visit(visit);
  }
  const Eid has = response->get(control::get_eid_response::eid);
  visit.found.is_bridge = response->get(control::get_eid_response::endpoint_type) == control::EndpointType::bridge;
  const Eid known = known_at(visit.address);
  const auto id_type = response->get(control::get_eid_response::id_type);
  EidPool& pool = bridge_.pool();
  if (current_->wanted != kNullEid && !departs(departure::kOwnerIgnoresWish)) {
    const Eid wanted = current_->wanted;
    const bool taken = known != wanted && (pool.is_taken(wanted) || wanted == bridge_.eid());
    if (taken || (known != kNullEid && known != wanted)) return refuse(visit);
    pool.mark(wanted);
    visit.offered = wanted;
    return give_eid(visit, wanted);
  }
  const Assigning assigning = departs(departure::kOwnerAssignsAlways) ? Assigning::always : current_->assigning;
  if (assigning != Assigning::always && may_keep(visit, has)) {
    pool.mark(has);
    visit.found.eid = has;
    bridge_.endpoint(port_).set_route(has, has, visit.address);
    return ask_types(visit);
  }
  if (assigning == Assigning::never) return refuse(visit);
  const bool forgets = departs(departure::kOwnerForgetful) && has == kNullEid;
  if (known != kNullEid && !forgets) return give_eid(visit, known);
  const bool keeps = options_.keeps_static && id_type == control::IdType::static_same;
  const bool free_to_keep = !pool.is_taken(has) || departs(departure::kOwnerStaticBlind);
  if (keeps && has >= kFirstEid && free_to_keep && has != bridge_.eid()) {
    pool.mark(has);
    visit.offered = has;
    return give_eid(visit, has);
  }
  auto free = pool.take(world_.now());
  if (!free && departs(departure::kOwnerOverflows)) free = pool.first();
  if (!free) {
    ++current_->report.no_eid_left;
    return end_visit(visit);
  }
  visit.offered = *free;
  give_eid(visit, *free);
}

/// The EID that a device has is one that it can go on with.
bool BusOwner::may_keep(const Visit& visit, Eid has) const {
  if (has < kFirstEid || has == kBroadcastEid || has == bridge_.eid()) return false;
  return known_at(visit.address) == has || !bridge_.pool().is_taken(has);
}

void BusOwner::refuse(Visit& visit) {
  ++current_->report.faulty;
  end_visit(visit);
}

void BusOwner::give_eid(Visit& visit, Eid eid) {
  const auto operation = options_.force ? control::SetOperation::force : control::SetOperation::set;
  requester().ask({kNullEid, visit.address}, Command::set_endpoint_id, {static_cast<std::uint8_t>(operation), eid},
                  while_alive([this, &visit](const ControlReply& reply) { on_assigned(visit, reply); }));
}

void BusOwner::on_assigned(Visit& visit, const ControlReply& reply) {
  EidPool& pool = bridge_.pool();
  const auto response = reply.as<control::SetEidResponse>();
  const bool rejected = response && response->get(control::set_eid_response::assignment) == control::Assignment::rejected;
  const bool blind = departs(rejected ? departure::kOwnerIgnoresRejection : departure::kOwnerKeepsOffer);
  const Eid said = response ? response->get(control::set_eid_response::eid) : Eid{kNullEid};
  const Eid now = blind && visit.offered != kNullEid ? visit.offered : said;
  const bool elsewhere = now != visit.offered && bridge_.known().contains(now) && bridge_.known().at(now).address != visit.address;
  const bool reserved = now < kFirstEid && !departs(departure::kOwnerReservedTaken);
  if (now == kNullEid || reserved || now == kBroadcastEid || elsewhere) {
    if (visit.offered != kNullEid) pool.give_back(visit.offered);
    ++current_->report.faulty;
    return end_visit(visit);
  }
  // What the endpoint says counts, whether it is what it was given or not.
  if (visit.offered != kNullEid && now != visit.offered) {
    pool.give_back(visit.offered);
  }
  pool.mark(now);
  ++(rejected ? current_->report.rejected : current_->report.assigned);
  visit.found.eid = now;
  if (response->get(control::set_eid_response::pool) == control::PoolState::needed) {
    visit.pool_wanted = response->get(control::set_eid_response::pool_size);
  }
  const auto old = bridge_.known().find(now);
  if (old != bridge_.known().end()) {
    visit.found.pool_first = old->second.pool_first;
    visit.found.pool_size = old->second.pool_size;
  }
  // From here on it is spoken to by its EID.
  bridge_.endpoint(port_).set_route(now, now, visit.address);
  if (visit.pool_wanted > 0 && !departs(departure::kOwnerNoPools)) return give_pool(visit);
  ask_types(visit);
}

void BusOwner::give_pool(Visit& visit) {
  EidPool& pool = bridge_.pool();
  // A bridge that was reset gets what it had.
  std::optional<Eid> first;
  if (visit.found.pool_size > 0) {
    first = visit.found.pool_first;
  } else {
    std::uint8_t size = visit.pool_wanted;
    while (size > 0 && !(first = pool.take_range(world_.now(), size))) --size;
    visit.found.pool_size = size;
  }
  if (!first) {
    ++current_->report.no_eid_left;
    return ask_types(visit);
  }
  visit.found.pool_first = *first;
  requester().ask(peer_of(visit), Command::allocate_endpoint_ids, {0, visit.found.pool_size, *first},
                  while_alive([this, &visit](const ControlReply& reply) {
                    const auto response = reply.as<control::AllocateResponse>();
                    const bool taken = response && response->get(control::allocate_response::status) == control::Assignment::accepted;
                    if (!taken && !departs(departure::kOwnerPoolBlind)) {
                      for (unsigned at = 0; at < visit.found.pool_size; ++at) {
                        bridge_.pool().give_back(static_cast<Eid>(visit.found.pool_first + at));
                      }
                      visit.found.pool_size = 0;
                      visit.found.pool_first = kNullEid;
                    }
                    ask_types(visit);
                  }));
}

// -------------------------------------------------------------------------------- what it is

void BusOwner::ask_types(Visit& visit) {
  requester().ask(peer_of(visit), Command::get_message_type_support, {}, while_alive([this, &visit](const ControlReply& reply) {
                    const auto response = reply.as<control::CountResponse>();
                    const std::size_t count = response ? response->get(control::count_response::count) : 0;
                    const bool exact = reply.ok() && reply.message.size() == control::CountResponse::size + count;
                    if (exact || (response && departs(departure::kOwnerTypesUncounted))) {
                      const ByteView list = ByteView(reply.message).subspan(control::CountResponse::size);
                      visit.found.types.assign(list.begin(), list.end());
                    }
                    ask_uuid(visit);
                  }));
}

void BusOwner::ask_uuid(Visit& visit) {
  if (!options_.asks_uuid) return ask_versions(visit);
  requester().ask(peer_of(visit), Command::get_endpoint_uuid, {}, while_alive([this, &visit](const ControlReply& reply) {
                    const auto response = reply.as<control::UuidResponse>();
                    if (!response && departs(departure::kOwnerUuidNeeded)) return end_visit(visit);
                    if (response) {
                      const auto uuid = response->get(control::uuid_response::uuid);
                      // Drives are known that all have zeros there: that tells nobody apart.
                      const bool nil = std::all_of(uuid.begin(), uuid.end(), [](std::uint8_t byte) { return byte == 0; });
                      if (!nil || departs(departure::kOwnerUuidNil)) {
                        visit.found.uuid.emplace();
                        std::copy(uuid.begin(), uuid.end(), visit.found.uuid->begin());
                      }
                    }
                    ask_versions(visit);
                  }));
}

void BusOwner::ask_versions(Visit& visit) {
  if (!options_.asks_versions) return ask_vendors(visit, 0);
  requester().ask(peer_of(visit), Command::get_version_support, {control::kVersionOfBase},
                  while_alive([this, &visit](const ControlReply& reply) {
                    if (const auto response = reply.as<control::CountResponse>()) {
                      ByteView rest = ByteView(reply.message).subspan(control::CountResponse::size);
                      for (; rest.size() >= 4; rest = rest.subspan(4)) {
                        visit.found.versions.push_back({rest[0], rest[1], rest[2], rest[3]});
                      }
                    }
                    ask_vendors(visit, 0);
                  }));
}

void BusOwner::ask_vendors(Visit& visit, std::uint8_t selector) {
  const auto& types = visit.found.types;
  const bool has_some = std::any_of(types.begin(), types.end(), [](std::uint8_t type) {
    return type == static_cast<std::uint8_t>(MessageType::vendor_pci) || type == static_cast<std::uint8_t>(MessageType::vendor_iana);
  });
  if (!has_some || selector >= kVendorsMax) return record(visit);
  requester().ask(peer_of(visit), Command::get_vendor_support, {selector}, while_alive([this, &visit, selector](const ControlReply& reply) {
                    const auto response = reply.as<control::VendorResponse>();
                    if (!response) return record(visit);
                    VendorSupport vendor;
                    vendor.format = response->get(control::vendor_response::format);
                    const std::size_t size = vendor.format == control::VendorFormat::pci ? 2 : 4;
                    const ByteView rest = ByteView(reply.message).subspan(control::VendorResponse::size);
                    if (rest.size() != size + 2) return record(visit);
                    for (std::size_t at = 0; at < size; ++at) vendor.vendor = vendor.vendor << 8 | rest[at];
                    vendor.command_set = load_be<std::uint16_t>(&rest[size]);
                    visit.found.vendors.push_back(vendor);
                    const std::uint8_t next = response->get(control::vendor_response::next);
                    // One that does not count upwards would be asked for ever.
                    const bool rises = next > selector || departs(departure::kOwnerVendorEndless);
                    if (!rises || next == control::kSelectorEnd) return record(visit);
                    ask_vendors(visit, next);
                  }));
}

void BusOwner::record(Visit& visit) {
  KnownEndpoint& found = visit.found;
  found.network = bridge_.options().network;
  found.port = port_;
  found.bus = bridge_.endpoint(port_).name();
  found.address = visit.address;
  found.behind = visit.behind;
  RoutingEntry route;
  route.port = static_cast<std::uint8_t>(port_);
  route.binding = bridge_.endpoint(port_).binding().facts().binding;
  route.medium = bridge_.endpoint(port_).binding().facts().medium;
  route.address = visit.address;
  if (visit.behind == kNullEid) {
    route.first = found.eid;
    route.type = found.is_bridge ? control::RouteType::bridge : control::RouteType::endpoint;
    bridge_.add_route(route);
    if (found.pool_size > 0) {
      route.type = control::RouteType::range;
      route.first = found.pool_first;
      route.size = found.pool_size;
      bridge_.add_route(route);
    }
  }
  bridge_.known()[found.eid] = found;
  current_->changed = true;
  end_visit(visit);
}

void BusOwner::end_visit(Visit& visit) {
  std::erase_if(visits_, [&](const auto& one) { return one.get() == &visit; });
  proceed();
}

// After Prepare for Endpoint Discovery everybody who is there has answered.
void BusOwner::forget_unseen() {
  std::vector<PhysicalAddress> gone;
  const std::vector<PhysicalAddress>& seen = current_->seen;
  for (const auto& [eid, one] : bridge_.known()) {
    const bool ours = one.port == port_ && one.behind == kNullEid;
    if (ours && std::find(seen.begin(), seen.end(), one.address) == seen.end()) {
      gone.push_back(one.address);
    }
  }
  for (const PhysicalAddress& address : gone) forget_at(address);
}

void BusOwner::forget_at(const PhysicalAddress& address) {
  const Eid eid = known_at(address);
  if (eid == kNullEid) return;
  ++current_->report.lost;
  current_->changed = true;
  const Duration reclaim = departs(departure::kOwnerReclaim) ? Duration{} : bridge_.endpoint(port_).binding().facts().reclaim;
  forget(eid, world_.now() + reclaim);
}

void BusOwner::remove(Eid eid) {
  if (bridge_.known().contains(eid)) forget(eid, world_.now());
}

void BusOwner::forget(Eid eid, Instant usable) {
  const KnownEndpoint gone = bridge_.known().at(eid);
  bridge_.known().erase(eid);
  if (!departs(departure::kOwnerKeepsRoutes)) bridge_.remove_routes(eid, 1);
  const auto free = [&](Eid one) {
    if (usable <= world_.now() || departs(departure::kOwnerReclaimedFirst)) {
      bridge_.pool().give_back(one);
    } else {
      bridge_.pool().reclaim(one, usable);
    }
  };
  free(eid);
  if (gone.pool_size == 0) return;
  bridge_.remove_routes(gone.pool_first, gone.pool_size);
  for (unsigned at = 0; at < gone.pool_size; ++at) {
    const Eid behind = static_cast<Eid>(gone.pool_first + at);
    bridge_.known().erase(behind);
    free(behind);
  }
}

}  // namespace fb::mctp
