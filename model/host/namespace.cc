// The way of one request: path, answer, another attempt.
#include "model/host/namespace.h"

#include <algorithm>

#include "model/host/fault_points.h"
#include "model/host/retry.h"

namespace fb::host {

namespace {

/// A request that was on its way when this many associations ended is the likely reason.
constexpr unsigned kLossesMax = 20;

nvme::AnaState state_of(nvme::Status status) {
  if (same_code(status, nvme::sc::ana_persistent_loss)) return nvme::AnaState::persistent_loss;
  if (same_code(status, nvme::sc::ana_transition)) return nvme::AnaState::change;
  return nvme::AnaState::inaccessible;
}

bool is_ana_status(nvme::Status status) {
  return same_code(status, nvme::sc::ana_persistent_loss) || same_code(status, nvme::sc::ana_inaccessible) ||
         same_code(status, nvme::sc::ana_transition);
}

}  // namespace

void IoRequest::on_complete(const nvme::Cqe& cqe, bool answered) { owner_->finished(*this, cqe, answered); }

/// The host's blocks come with tags: always in Compare, in Write where the controller does not make them.
bool Namespace::brings_tags(const IoRequest& request) const {
  if (request.opcode == nvme::IoOpcode::compare) return true;
  const bool writes = request.opcode == nvme::IoOpcode::write || request.opcode == nvme::IoOpcode::zone_append;
  return writes && facts_.protection == ProtectionUse::host;
}

bool IoRequest::changes() const {
  switch (opcode) {
    case nvme::IoOpcode::read:
    case nvme::IoOpcode::compare:
    case nvme::IoOpcode::verify:
    case nvme::IoOpcode::flush:
    case nvme::IoOpcode::zone_management_receive:
      return false;
    default:
      return true;
  }
}

unsigned Namespace::copy_format() const { return facts_.layout.guard == nvme::ProtectionFormat::guard_16 ? 0 : 1; }

nvme::Sqe Namespace::copy_command(const IoRequest& request) const {
  const unsigned format = copy_format();
  const std::size_t ranges = request.data.size() / nvme::copy_range_bytes(format);
  auto made = host::copy(facts_.nsid, request.lba, static_cast<std::uint32_t>(ranges), format);
  const nvme::BlockLayout& layout = facts_.layout;
  if (layout.is_protected()) {
    made.set(nvme::copy_sqe::read_pract, true)
        .set(nvme::copy_sqe::pract, true)
        .set(nvme::copy_sqe::read_prchk_guard, true)
        .set(nvme::copy_sqe::read_prchk_ref, layout.protection_type != 3);
  }
  nvme::Sqe sqe = as_sqe(made);
  if (layout.is_protected()) {
    nvme::set_command_tags(sqe.edit<nvme::SqeLayout>(), layout, {.reference = request.lba & layout.reference_mask()});
  }
  return sqe;
}

void Namespace::build(IoRequest& request) const {
  const std::uint32_t nsid = facts_.nsid;
  if (facts_.key_value() && request.opcode != nvme::IoOpcode::flush) return build_key_value(request);
  switch (request.opcode) {
    case nvme::IoOpcode::flush:
      request.sqe = host::flush(nsid);
      request.transfer = {};
      return;
    case nvme::IoOpcode::dataset_management:
      request.sqe = as_sqe(host::deallocate(nsid, static_cast<std::uint32_t>(request.data.size() / nvme::DsmRange::size)));
      break;
    case nvme::IoOpcode::copy:
      request.sqe = copy_command(request);
      break;
    case nvme::IoOpcode::zone_management_send:
      request.sqe = as_sqe(host::zone_send(nsid, {}, request.lba));
      request.sqe.set(nvme::sqe::cdw13, request.zone_order);
      break;
    case nvme::IoOpcode::zone_management_receive:
      request.sqe = as_sqe(host::zone_report(nsid, request.lba, request.data.size()));
      request.sqe.set(nvme::sqe::cdw13, request.zone_order);
      break;
    default:
      request.sqe = as_sqe(host::read(nsid, request.lba, request.blocks));
      request.sqe.set(nvme::sqe::opcode, static_cast<std::uint8_t>(request.opcode));
      if (facts_.layout.is_protected()) order_protection(request.sqe, request.opcode, request.lba);
      if (placement_ && (request.opcode == nvme::IoOpcode::write || request.opcode == nvme::IoOpcode::write_zeroes)) {
        request.sqe.edit<nvme::ReadWriteSqe>()
            .set(nvme::rw_sqe::dtype, static_cast<std::uint32_t>(nvme::DirectiveType::data_placement))
            .set(nvme::rw_sqe::dspec, *placement_);
      }
      break;
  }
  request.transfer = {};
  request.transfer.data = request.data;
  if (request.data.empty()) return;
  const auto opcode = static_cast<std::uint8_t>(request.opcode);
  const bool inward = nvme::direction_of(opcode) == nvme::DataDirection::host_to_controller;
  request.transfer.direction = inward ? transport::Direction::to_controller : transport::Direction::from_controller;
}

void Namespace::submit(IoRequest& request) {
  request.owner_ = this;
  request.controller_ = nullptr;
  request.attempts_ = 0;
  request.losses_ = 0;
  request.last_status_ = {};
  build(request);
  if (facts_.layout.is_protected() && brings_tags(request)) write_tags(request.lba, request.data);
  dispatch(request);
}

void Namespace::dispatch(IoRequest& request) {
  // A second attempt after an error prefers another path.
  Path* const path = paths_.choose(request.last_status_.ok() ? nullptr : request.controller_);
  if (path == nullptr) {
    if (closed_) {
      request.on_done(nvme::sc::host_pathing_error);
    } else {
      wait(request, world_.now());
    }
    return;
  }
  request.controller_ = path->controller;
  ++request.attempts_;
  if (!path->controller->submit(request)) {
    --request.attempts_;
    wait(request, world_.now() + Duration::ms(1));
  }
}

void Namespace::finished(IoRequest& request, const nvme::Cqe& cqe, bool answered) {
  const nvme::Status status = cqe.get(nvme::cqe::status).of(nvme::StatusFamily::command_set);
  if (answered && status.ok()) [[likely]] {
    request.result = std::uint64_t{cqe.get(nvme::cqe::dw1)} << 32 | cqe.get(nvme::cqe::dw0);
    if (facts_.protection == ProtectionUse::host && request.opcode == nvme::IoOpcode::read && !facts_.key_value()) {
      return request.on_done(check_tags(request));
    }
    request.on_done(status);
    return;
  }
  failed(request, status, answered);
}

void Namespace::failed(IoRequest& request, nvme::Status status, bool answered) {
  Controller& controller = *request.controller_;
  request.last_status_ = status;
  if (closed_) {
    request.on_done(status);
    return;
  }
  if (!answered) {
    // Only the deeds of the old association count against the limit, not the attempts.
    --request.attempts_;
    const bool appends = request.opcode == nvme::IoOpcode::zone_append && !controller.departs(point::zone_append_repeated);
    const bool stores = facts_.key_value() && nvme::opcode_of(nvme::KvOpcode::store) == static_cast<std::uint8_t>(request.opcode);
    const bool conditional = stores && request.key_value_options != 0 && !controller.departs(point::kv_store_repeated);
    const bool once = appends || conditional;
    if (once || ++request.losses_ > kLossesMax) {
      request.on_done(status);
      return;
    }
    ++retries_;
    world_.trace().mark("host.io.requeued");
    const bool hold = request.changes() && !controller.departs(point::failover_early);
    wait(request, hold ? controller.resubmit_after() : world_.now());
    return;
  }
  if (controller.departs(point::error_is_success)) {
    request.on_done(nvme::Status());
    return;
  }
  if (is_ana_status(status)) {
    // The log says it as well, a little later.
    if (Path* const path = paths_.find(controller)) {
      controller.note_ana_state(path->ana_group, state_of(status));
      paths_.refresh();
    }
  }
  const RetryDecision decision = decide_retry(status, request.attempts_, controller);
  if (decision.kind == RetryDecision::Kind::report) {
    request.on_done(status);
    return;
  }
  ++retries_;
  world_.trace().mark("host.io.retried");
  Duration delay = decision.delay;
  if (decision.kind == RetryDecision::Kind::other_path) {
    const Path* const other = paths_.choose(&controller);
    if (other != nullptr && other->controller != &controller) delay = Duration();
  }
  wait(request, world_.now() + delay);
}

// ---- Requests that wait ----

void Namespace::wait(IoRequest& request, Instant not_before) {
  request.not_before_ = not_before;
  link(request);
  schedule_kick();
}

void Namespace::on_stopped(const Controller& controller) {
  for (IoRequest* one = first_waiting_; one != nullptr; one = one->next_) {
    const bool held = one->controller_ == &controller && one->not_before_ > world_.now();
    if (held) one->not_before_ = std::min(one->not_before_, controller.resubmit_after());
  }
  schedule_kick();
}

void Namespace::link(IoRequest& request) {
  request.next_ = nullptr;
  request.previous_ = last_waiting_;
  (last_waiting_ != nullptr ? last_waiting_->next_ : first_waiting_) = &request;
  last_waiting_ = &request;
  ++waiting_count_;
}

void Namespace::unlink(IoRequest& request) {
  (request.previous_ != nullptr ? request.previous_->next_ : first_waiting_) = request.next_;
  (request.next_ != nullptr ? request.next_->previous_ : last_waiting_) = request.previous_;
  --waiting_count_;
}

nvme::Status Namespace::no_path_status() const {
  if (paths_.any(PathState::change)) return nvme::sc::ana_transition;
  if (paths_.any(PathState::inaccessible)) return nvme::sc::ana_inaccessible;
  for (const Path& path : paths_.all()) {
    if (path.controller->live()) return nvme::sc::ana_persistent_loss;
  }
  return nvme::sc::host_pathing_error;
}

void Namespace::schedule_kick() {
  if (first_waiting_ == nullptr) {
    stalled_ = false;
    world_.loop().cancel(timer_);
    return;
  }
  const bool path = paths_.usable();
  Instant when = Instant::never();
  if (path || !paths_.hope()) {
    stalled_ = false;
    for (IoRequest* r = first_waiting_; r != nullptr; r = r->next_) {
      when = std::min(when, path ? r->not_before_ : world_.now());
    }
  } else if (!paths_.any(PathState::down)) {
    // Only ANA keeps us: in change at most ANATT, else as long as we were told.
    if (!stalled_) {
      stalled_ = true;
      Duration limit = Duration::s(1);
      for (const Path& p : paths_.all()) {
        limit = std::max(limit, p.controller->options().no_path_timeout);
      }
      if (paths_.any(PathState::change) && !paths_.any(PathState::inaccessible)) {
        limit = paths_.transition_time();
      }
      stalled_until_ = world_.now() + limit;
    }
    when = stalled_until_;
  } else {
    stalled_ = false;  // a controller is on its way: its end or its return wakes us
  }
  if (when == Instant::never()) {
    world_.loop().cancel(timer_);
  } else if (!timer_.scheduled() || timer_.deadline() != when) {
    world_.loop().schedule(timer_, when);
  }
}

void Namespace::kick() {
  const Instant now = world_.now();
  const bool give_up = !paths_.hope() || (stalled_ && now >= stalled_until_);
  // Once around the list. Who is told may do anything, to other requests too: none is held on to meanwhile.
  for (std::size_t left = waiting_count_; left > 0 && first_waiting_ != nullptr; --left) {
    IoRequest& request = *first_waiting_;
    unlink(request);
    if (give_up && !paths_.usable()) {
      request.on_done(no_path_status());
    } else if (request.not_before_ <= now && paths_.usable()) {
      dispatch(request);
    } else {
      link(request);
    }
  }
  schedule_kick();
}

void Namespace::add_path(Controller& controller, const NamespaceFacts& facts) {
  facts_ = facts;
  paths_.add(controller, facts.ana_group);
  paths_changed();
}

bool Namespace::remove_path(const Controller& controller) {
  const bool removed = paths_.remove(controller);
  paths_changed();
  return removed;
}

void Namespace::paths_changed() {
  paths_.refresh();
  if (first_waiting_ != nullptr) {
    stalled_ = stalled_ && !paths_.usable();
    schedule_kick();
    if (paths_.usable() && timer_.scheduled() && timer_.deadline() > world_.now()) {
      // Those whose time has come need not wait for the timer of another.
      world_.loop().schedule(timer_, world_.now());
    }
  }
}

bool Namespace::has_path(const Controller& controller) const {
  const auto& all = paths_.all();
  return std::any_of(all.begin(), all.end(), [&](const Path& path) { return path.controller == &controller; });
}

void Namespace::close() {
  closed_ = true;
  paths_.all().clear();
  while (first_waiting_ != nullptr) {
    IoRequest& request = *first_waiting_;
    unlink(request);
    request.on_done(nvme::sc::host_pathing_error);
  }
  world_.loop().cancel(timer_);
}

bool Namespace::matches(const std::string& subnqn, const NamespaceFacts& facts) const {
  if (subnqn != subnqn_ || facts.nsid != facts_.nsid) return false;
  if (facts.identity != facts_.identity && !departs(point::namespace_identity)) return false;
  return facts.block_bytes == facts_.block_bytes;
}

std::uint32_t Namespace::max_transfer() const {
  std::uint32_t bytes = 1u << 24;
  for (const Path& path : paths_.all()) {
    if (path.controller->departs(point::mdts_ignored)) continue;
    // Before its first Identify a controller has said nothing yet.
    if (path.controller->facts().identify.empty()) continue;
    bytes = std::min(bytes, path.controller->facts().max_transfer);
    if (path.controller->departs(point::mdts_of_one_path)) break;
  }
  const std::uint64_t blocks = std::clamp<std::uint64_t>(bytes / facts_.block_bytes, 1, std::uint64_t{1} << 16);
  return static_cast<std::uint32_t>(blocks * facts_.block_bytes);
}

}  // namespace fb::host
