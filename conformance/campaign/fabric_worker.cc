#include "conformance/campaign/fabric_worker.h"

#include <fmt/format.h>

namespace fb::conformance {

namespace sc = nvme::sc;

void FabricRun::Worker::start() { schedule(); }

void FabricRun::Worker::schedule() {
  if (steps_.empty()) {
    --run_.busy_;
    return;
  }
  run_.world_.loop().schedule(timer_, run_.world_.now() + Duration::us(steps_.front().pause_us));
}

void FabricRun::Worker::begin() {
  step_ = steps_.front();
  steps_.pop_front();
  run_.before_step();
  began_ = run_.world_.now();
  tick_ = run_.truth_.now();
  host::Namespace* const space = run_.scene_->watched(host_);
  if (space == nullptr) {
    run_.judge_.breaks_promise("host: no namespace", to_string(*step_) + ": the host does not see the namespace");
    return next();
  }
  carry_out(*space);
}

void FabricRun::Worker::next() {
  step_.reset();
  schedule();
}

template <class Then>
void FabricRun::Worker::await(Op<Status> op, Then then) {
  op.on_settled([this, then](const Status& status) {
    if (run_.over_) return;
    then(status);
    next();
  });
}

void FabricRun::Worker::carry_out(host::Namespace& space) {
  if (!run_.scene_->can(step_->deed)) return read(space);
  switch (step_->deed) {
    case Deed::read:
      return read(space);
    case Deed::write:
      return write(space);
    case Deed::compare:
      return compare(space);
    case Deed::compare_and_write:
      return compare_and_write(space);
    case Deed::flush:
      return flush(space);
    case Deed::write_zeroes:
    case Deed::deallocate:
      return clear(space);
    case Deed::verify:
      return await(space.verify(step_->at, step_->count), [this](Status status) { failed(status); });
    case Deed::reserve:
      return reserve();
    case Deed::release:
      return release();
    case Deed::rescan:
      for (host::Controller* controller : run_.scene_->host(host_).controllers()) {
        if (controller->live()) controller->rescan();
      }
      return next();
    default:
      return next();
  }
}

bool FabricRun::Worker::may_end(Status status) {
  const bool refused = same_code(status, sc::reservation_conflict);
  if (!refused && !status.ok()) return true;
  const auto why = refused ? run_.reservations_.check_refused(host_, tick_) : run_.reservations_.check_written(host_, tick_);
  if (why) wrong(*why);
  return !refused;
}

void FabricRun::Worker::on_changed(Status status) {
  if (!may_end(status)) return;
  status.ok() ? run_.truth_.acknowledge(id_) : failed(status);
}

void FabricRun::Worker::failed(Status status) {
  if (status.ok()) return;
  if (run_.explained(status, began_)) return;
  run_.judge_.breaks_promise(fmt::format("status: {} of {}", nvme::to_string(status), name_of(step_->deed)),
                             fmt::format("{}: {}", to_string(*step_), nvme::to_string(status)));
}

void FabricRun::Worker::wrong(const std::string& what) {
  run_.judge_.fails("data: " + what.substr(0, what.find(':')), fmt::format("{}: {}", to_string(*step_), what));
}

MutableBytes FabricRun::Worker::widened(const host::Namespace& space, ByteView data, Bytes& buffer) const {
  const std::size_t from = run_.truth_.block_bytes(), to = space.block_bytes();
  buffer.assign(data.size() / from * to, 0);
  for (std::size_t i = 0; i * from < data.size(); ++i) std::copy_n(&data[i * from], from, &buffer[i * to]);
  return buffer;
}

void FabricRun::Worker::check_read(Status status) {
  if (!status.ok()) return failed(status);
  run_.truth_.narrow(sent_, data_);
  if (const auto why = run_.truth_.check(step_->at, data_, tick_)) return wrong(*why);
  run_.truth_.observe(step_->at, data_, tick_);
}

void FabricRun::Worker::read(host::Namespace& space) {
  data_.assign(bytes(), 0xEE);
  await(space.read(step_->at, widened(space, data_, sent_)), [this](Status status) { check_read(status); });
}

void FabricRun::Worker::write(host::Namespace& space) {
  const bool whole = bytes() <= space.max_transfer() && run_.scene_->atomic(step_->count);
  id_ = run_.truth_.begin_write(step_->at, step_->count, false, whole);
  data_.resize(bytes());
  run_.truth_.fill(id_, step_->at, data_);
  await(space.write(step_->at, widened(space, data_, sent_)), [this](Status status) { on_changed(status); });
}

void FabricRun::Worker::clear(host::Namespace& space) {
  id_ = run_.truth_.begin_write(step_->at, step_->count, true, run_.scene_->atomic(step_->count));
  Op<Status> op = step_->deed == Deed::deallocate ? space.deallocate(step_->at, step_->count) : space.write_zeroes(step_->at, step_->count);
  await(std::move(op), [this](Status status) { on_changed(status); });
}

void FabricRun::Worker::compare(host::Namespace& space) {
  data_.resize(bytes());
  run_.truth_.likely(step_->at, data_);
  await(space.compare(step_->at, widened(space, data_, sent_)), [this](Status status) {
    const bool differs = same_code(status, sc::compare_failure);
    if (!status.ok() && !differs) return failed(status);
    const auto why = run_.truth_.check(step_->at, data_, tick_);
    if (status.ok() && why) return wrong("compared: " + *why);
    if (status.ok()) run_.truth_.observe(step_->at, data_, tick_);
    if (differs && !run_.truth_.may_differ(step_->at, data_, tick_)) wrong("differs: Compare failed with what is there");
  });
}

void FabricRun::Worker::compare_and_write(host::Namespace& space) {
  other_.resize(bytes());
  run_.truth_.likely(step_->at, other_);
  id_ = run_.truth_.begin_write(step_->at, step_->count, false, run_.scene_->atomic(step_->count));
  data_.resize(bytes());
  run_.truth_.fill(id_, step_->at, data_);
  const MutableBytes expected = widened(space, other_, sent_other_);
  space.compare_and_write(step_->at, expected, widened(space, data_, sent_)).on_settled([this](const std::pair<Status, Status>& answers) {
    if (run_.over_) return;
    const auto& [compared, written] = answers;
    const bool refused = !may_end(written) || !may_end(compared);
    if (refused) {
      // It may have been done before, when an answer was lost.
    } else if (compared.ok() && written.ok()) {
      run_.truth_.acknowledge(id_);
      if (const auto why = run_.truth_.check(step_->at, other_, tick_)) wrong("compared: " + *why);
    } else if (same_code(compared, sc::compare_failure)) {
      run_.truth_.withdraw(id_);
      if (written.ok()) wrong("fused: the Write succeeded though the Compare failed");
      if (!run_.truth_.may_differ(step_->at, other_, tick_)) wrong("differs: a fused Compare failed with what is there");
    } else if (run_.points_.strikes().empty() && run_.scene_->shape().entries > 2) {
      // It is not repeated: anything that ends an association may have been too much for it.
      failed(compared.ok() ? written : compared);
    }
    next();
  });
}

void FabricRun::Worker::flush(host::Namespace& space) {
  await(space.flush(), [this](Status status) {
    if (same_code(status, sc::reservation_conflict)) {
      may_end(status);
    } else {
      status.ok() ? run_.truth_.flushed(tick_) : failed(status);
    }
  });
}

}  // namespace fb::conformance
