// Controller reset and orderly shutdown.
#include "model/host/controller.h"
#include "model/host/controller_admin.h"
#include "model/host/fault_points.h"
#include "wire/fabrics/property.h"

namespace fb::host {

namespace {
constexpr Duration kPollFirst = Duration::us(500);
constexpr Duration kPollMax = Duration::ms(100);
constexpr Duration kShutdownPatience = Duration::s(10);
constexpr Duration kDisconnectPatience = Duration::s(2);

Record<fabrics::Csts> csts_of(const AdminReply& reply) { return record_from_integer<fabrics::Csts>(reply.value()); }
}  // namespace

// ---- Reset ----

Op<Result<void, HostError>> Controller::reset() {
  auto made = make_op<Result<void, HostError>>(world_, "controller reset of " + options_.subnqn);
  if (!live()) {
    HostError error;
    error.kind = HostError::Kind::closed;
    error.text = "the controller is not live";
    made.promise.settle(Failure{std::move(error)});
    return made.op;
  }
  reset_promises_.push_back(std::move(made.promise));
  start_reset("asked for");
  return made.op;
}

void Controller::start_reset(std::string_view why) {
  if (!live()) return;
  note("controller reset: " + std::string(why));
  world_.trace().mark("host.controller.reset");
  move(ControllerEvent::reset);
  ++epoch_;
  cut_reauthentication("a controller reset began");
  world_.loop().cancel(keep_alive_timer_);
  Record<fabrics::Cc> cc = record_from_integer<fabrics::Cc>(configuration());
  cc.set(fabrics::cc::en, false);
  step_deadline_ = world_.now() + ready_limit();
  poll_interval_ = kPollFirst;
  step(property_set(fabrics::property::cc, integer_of(cc)), [this](AdminReply&) { poll_disabled(); });
}

void Controller::poll_disabled() {
  step(property_get(fabrics::property::csts), [this](AdminReply& reply) {
    if (!csts_of(reply).get(fabrics::csts::rdy) || departs(point::reset_unawaited)) {
      // From here on nothing of the old commands is executed any more.
      quiet_at_ = world_.now();
      const unsigned epoch = epoch_;
      admin_->abandon_sent();
      std::vector<std::unique_ptr<Queue>> queues = std::move(io_);
      io_.clear();
      for (auto& queue : queues) bury(std::move(queue));
      if (epoch != epoch_) return;  // one of those who waited has ended the association
      move(ControllerEvent::disabled);
      read_properties();
      return;
    }
    if (world_.now() >= step_deadline_) {
      HostError error;
      error.kind = HostError::Kind::timeout;
      error.text = "CSTS.RDY stays 1 after CC.EN was set to 0";
      fail(std::move(error));
      return;
    }
    polling_ = Polling::disabled;
    world_.loop().schedule_after(step_timer_, poll_interval_);
    poll_interval_ = std::min(poll_interval_ * 2, kPollMax);
  });
}

// ---- Shutdown ----

Op<Result<void, HostError>> Controller::shutdown() {
  auto made = make_op<Result<void, HostError>>(world_, "shutdown of " + options_.subnqn);
  if (state_ == ControllerState::gone) {
    made.promise.settle({});
    return made.op;
  }
  shutdown_promises_.push_back(std::move(made.promise));
  if (state_ == ControllerState::shutting_down || state_ == ControllerState::closing) {
    return made.op;
  }
  if (!live()) {
    disconnect();
    return made.op;
  }
  move(ControllerEvent::leave);
  ++epoch_;
  cut_reauthentication("the association ends");
  step_deadline_ = world_.now() + options_.io_timeout;
  poll_interval_ = kPollFirst;
  drained();
  return made.op;
}

void Controller::drained() {
  if (io_load() > 0 && world_.now() < step_deadline_ && !departs(point::shutdown_undrained)) {
    polling_ = Polling::drain;
    world_.loop().schedule_after(step_timer_, poll_interval_);
    poll_interval_ = std::min(poll_interval_ * 2, kPollMax);
    return;
  }
  world_.loop().cancel(keep_alive_timer_);
  if (departs(point::shutdown_omitted)) {
    finish_shutdown();
    return;
  }
  send_shutdown();
}

void Controller::send_shutdown() {
  Record<fabrics::Cc> cc = record_from_integer<fabrics::Cc>(configuration());
  cc.set(fabrics::cc::shn, fabrics::ShutdownNotification::normal);
  // RTD3E says in microseconds how long a shutdown takes at most; 0 says nothing.
  Duration patience = kShutdownPatience;
  if (facts_.identify.size() == nvme::kIdentifySize) {
    const View<nvme::IdentifyController> id{facts_.identify};
    patience = std::max(patience, Duration::us(id.get(nvme::id_ctrl::rtd3e)));
  }
  step_deadline_ = world_.now() + patience;
  poll_interval_ = kPollFirst;
  step(property_set(fabrics::property::cc, integer_of(cc)), [this](AdminReply&) {
    if (departs(point::shutdown_commands_after)) {
      call_here(as_sqe(identify(nvme::Cns::controller)), Bytes(nvme::kIdentifySize), transport::Direction::from_controller,
                [](AdminReply&) {});
    }
    if (departs(point::disconnect_on_admin)) {
      call_here(as_sqe(host::disconnect()), {}, transport::Direction::none, [](AdminReply&) {});
    }
    poll_shutdown();
  });
}

void Controller::poll_shutdown() {
  step(property_get(fabrics::property::csts), [this](AdminReply& reply) {
    if (csts_of(reply).get(fabrics::csts::shst) == fabrics::ShutdownStatus::complete || departs(point::shutdown_unawaited)) {
      quiet_at_ = world_.now();
      disconnect_io_queues();
      return;
    }
    if (world_.now() >= step_deadline_) {
      HostError error;
      error.kind = HostError::Kind::timeout;
      error.text = "the shutdown is not complete in time";
      fail(std::move(error));
      return;
    }
    polling_ = Polling::shutdown;
    world_.loop().schedule_after(step_timer_, poll_interval_);
    poll_interval_ = std::min(poll_interval_ * 2, kPollMax);
  });
}

void Controller::disconnect_io_queues() {
  const bool offered = (facts_.ofcs & nvme::ofcs_bits::disconnect) != 0 || departs(point::disconnect_unsupported);
  if (!offered || io_.empty()) {
    finish_shutdown();
    return;
  }
  polling_ = Polling::bye;
  world_.loop().schedule_after(step_timer_, kDisconnectPatience);
  auto left = std::make_shared<std::size_t>(io_.size());
  for (auto& queue : io_) {
    // Neither an error nor silence keeps us: the connection goes down in any case.
    call(queue.get(), as_sqe(host::disconnect()), {}, transport::Direction::none, kDisconnectPatience * 2, false,
         [this, left, epoch = epoch_](AdminReply&) {
           if (epoch == epoch_ && --*left == 0) finish_shutdown();
         });
  }
}

void Controller::finish_shutdown() {
  if (state_ != ControllerState::shutting_down) return;
  error_ = {};
  error_.kind = HostError::Kind::closed;
  error_.text = "shut down by this host";
  ++epoch_;
  move(ControllerEvent::close);
  close_queues();
  // The last queue may be calling: let its callback return first.
  world_.loop().schedule(reap_timer_, world_.now());
}

}  // namespace fb::host
