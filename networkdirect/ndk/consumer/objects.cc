#include "networkdirect/ndk/consumer/objects.h"

namespace fb::ndk::consumer {

void Shared::wait(const std::function<bool()>& done, std::string_view what) const {
  if (done()) return;
  if (!world.run_until(done, world.patience())) {
    throw UserError("the NDK provider pended " + std::string(what) + " and never completed it");
  }
}

void Object::when_settled(std::function<void()> then) {
  if (settled_) return then();
  waiting_.push_back(std::move(then));
}

bool Object::await(std::string_view what) {
  if (!settled_ && s.may_wait()) s.wait([this] { return settled_; }, what);
  return ready();
}

void Object::settle(NTSTATUS status) {
  if (settled_) return;
  settled_ = true;
  status_ = status;
  if (closing_) return begin_close();
  // Whoever waits may drop the object.
  const std::shared_ptr<Object> self = shared_from_this();
  const auto waiting = std::move(waiting_);
  waiting_.clear();
  for (const auto& then : waiting) then();
}

/// What is still being created cannot be closed: settle() comes back to it.
void Object::release() {
  closing_ = true;
  waiting_.clear();
  if (settled_) begin_close();
}

}  // namespace fb::ndk::consumer
