#include "sim/core/world.h"

namespace fb {

namespace {
constexpr Duration kVirtualPatience = Duration::s(3600);
constexpr Duration kRealPatience = Duration::s(20);
}  // namespace

PendingOperation::~PendingOperation() {
  if (world_ != nullptr) world_->remove_pending(*this);
}

World::World(std::unique_ptr<Loop> loop, std::uint64_t seed)
    : loop_(std::move(loop)),
      real_loop_(dynamic_cast<RealLoop*>(loop_.get())),
      seed_(seed),
      patience_(loop_->is_virtual() ? kVirtualPatience : kRealPatience) {
  loop_->fold(seed);
}

World::~World() {
  // Operations may outlive their world (a script holds them); they must not point back at it.
  while (first_pending_ != nullptr) remove_pending(*first_pending_);
}

std::unique_ptr<World> World::make_virtual(std::uint64_t seed) { return std::make_unique<World>(std::make_unique<VirtualLoop>(), seed); }

std::unique_ptr<World> World::make_real(std::uint64_t seed, bool busy_poll) {
  return std::make_unique<World>(std::make_unique<RealLoop>(busy_poll), seed);
}

Loop::Step World::step_towards(Instant limit) {
  if (interrupted_) {
    interrupted_ = false;
    throw WaitFailure(WaitEnd::interrupted, "interrupted");
  }
  return loop_->step(limit);
}

void World::interrupt() {
  interrupted_ = true;
  if (real_loop_ != nullptr) real_loop_->wake();
}

void World::run_for(Duration span) {
  const Instant end = now() + span;
  Loop::Step step;
  do {
    step = step_towards(end);
  } while (step == Loop::Step::ran);
  if (step == Loop::Step::idle) loop_->pass_time(end);
}

bool World::run_until_idle(Duration limit) {
  const Instant end = now() + limit;
  for (;;) {
    const Loop::Step step = step_towards(end);
    if (step != Loop::Step::ran) return step == Loop::Step::idle;
  }
}

void World::add_pending(PendingOperation& operation) {
  operation.world_ = this;
  operation.previous_ = last_pending_;
  operation.next_ = nullptr;
  (last_pending_ != nullptr ? last_pending_->next_ : first_pending_) = &operation;
  last_pending_ = &operation;
}

void World::remove_pending(PendingOperation& operation) {
  if (operation.world_ != this) return;
  (operation.previous_ != nullptr ? operation.previous_->next_ : first_pending_) = operation.next_;
  (operation.next_ != nullptr ? operation.next_->previous_ : last_pending_) = operation.previous_;
  operation.world_ = nullptr;
}

std::string World::describe_pending() const {
  std::string text;
  for (const PendingOperation* p = first_pending_; p != nullptr; p = p->next_) {
    text += text.empty() ? "waiting for: " : "; ";
    text += p->what();
  }
  return text.empty() ? "no operation is pending" : text;
}

}  // namespace fb
