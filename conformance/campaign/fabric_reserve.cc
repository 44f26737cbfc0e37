// Reservations of a worker: commands that no Namespace has, sent once, on one path.
#include "conformance/campaign/fabric_worker.h"
#include "model/host/commands.h"

namespace fb::conformance {

class FabricRun::Worker::Call final : public host::Command {
 public:
  Call(const nvme::Sqe& order, Bytes data, Answered then) : data_(std::move(data)), then_(std::move(then)) {
    sqe = order;
    transfer.direction = transport::Direction::to_controller;
    transfer.data = data_;
  }
  void on_complete(const nvme::Cqe& cqe, bool answered) override {
    const std::optional<Status> status = answered ? std::optional(cqe.get(nvme::cqe::status)) : std::nullopt;
    const Answered then = std::move(then_);
    then(status);
  }

 private:
  Bytes data_;
  Answered then_;
};

FabricRun::Worker::Worker(FabricRun& run, std::size_t host) : run_(run), host_(host) {}
FabricRun::Worker::~Worker() = default;

void FabricRun::Worker::call(const nvme::Sqe& sqe, Bytes data, Answered then) {
  for (host::Controller* controller : run_.scene_->host(host_).controllers()) {
    host::Queue* const queue = controller->live() ? controller->io_queue(0) : nullptr;
    if (queue == nullptr || !queue->connected()) continue;
    auto made = std::make_unique<Call>(sqe, std::move(data), [this, then = std::move(then)](std::optional<Status> status) {
      if (!run_.over_) then(status);
    });
    const std::unique_ptr<Call> before = std::exchange(call_, std::move(made));
    queue->submit(*call_);
    return;
  }
  then(std::nullopt);
}

void FabricRun::Worker::reserve() {
  auto enrol = host::reservation_register(kWatchedNsid, nvme::RegisterAction::register_key);
  enrol.set(nvme::reservation_sqe::iekey, true);
  call(host::as_sqe(enrol), host::reservation_keys(0, host_ + 1), [this](std::optional<Status> enrolled) {
    if (!enrolled || !enrolled->ok()) return next();
    const BlockTruth::Tick began = run_.truth_.now();
    run_.reservations_.begin_acquire(host_, began);
    const auto acquire = host::reservation_acquire(kWatchedNsid, nvme::AcquireAction::acquire, nvme::ReservationType::write_exclusive);
    call(host::as_sqe(acquire), host::reservation_keys(host_ + 1, 0), [this, began](std::optional<Status> status) {
      run_.reservations_.end_acquire(host_, status && status->ok(), began, run_.truth_.now());
      next();
    });
  });
}

void FabricRun::Worker::release() {
  const BlockTruth::Tick began = run_.truth_.now();
  run_.reservations_.begin_release(host_);
  const auto order = host::reservation_release(kWatchedNsid, nvme::ReleaseAction::release, nvme::ReservationType::write_exclusive);
  call(host::as_sqe(order), host::reservation_key(host_ + 1), [this, began](std::optional<Status> status) {
    run_.reservations_.end_release(host_, status && status->ok(), began, run_.truth_.now());
    next();
  });
}

}  // namespace fb::conformance
