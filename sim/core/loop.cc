#include "sim/core/loop.h"

#include <algorithm>

namespace fb {

Event::~Event() {
  if (loop_ != nullptr) loop_->cancel(*this);
}

Instant Event::deadline() const { return loop_ == nullptr ? Instant::never() : Instant::at_ns(loop_->heap_[heap_index_].deadline_ns); }

Loop::~Loop() {
  for (const Entry& entry : heap_) entry.event->loop_ = nullptr;
}

void Loop::place(std::size_t index, const Entry& entry) {
  heap_[index] = entry;
  entry.event->heap_index_ = index;
}

void Loop::sift_up(std::size_t index) {
  const Entry entry = heap_[index];
  while (index > 0) {
    const std::size_t parent = (index - 1) / 2;
    if (!entry.before(heap_[parent])) break;
    place(index, heap_[parent]);
    index = parent;
  }
  place(index, entry);
}

void Loop::sift_down(std::size_t index) {
  const Entry entry = heap_[index];
  for (;;) {
    std::size_t child = index * 2 + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1].before(heap_[child])) ++child;
    if (!heap_[child].before(entry)) break;
    place(index, heap_[child]);
    index = child;
  }
  place(index, entry);
}

void Loop::schedule(Event& event, Instant when) {
  BENCH_ASSERT(event.loop_ == nullptr || event.loop_ == this, "an event belongs to one loop");
  const Entry entry{std::max(when, now()).count_ns(), sequence_++, &event};
  if (event.loop_ == this) {
    heap_[event.heap_index_] = entry;
    sift_up(event.heap_index_);
    sift_down(event.heap_index_);
    return;
  }
  event.loop_ = this;
  event.heap_index_ = heap_.size();
  heap_.push_back(entry);
  sift_up(event.heap_index_);
}

void Loop::cancel(Event& event) {
  if (event.loop_ == nullptr) return;
  const std::size_t hole = event.heap_index_;
  event.loop_ = nullptr;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (hole == heap_.size()) return;
  place(hole, last);
  sift_up(hole);
  sift_down(last.event->heap_index_);
}

void Loop::run_first() {
  const Entry first = heap_[0];
  cancel(*first.event);
  fold(static_cast<std::uint64_t>(first.deadline_ns));
  fold(first.sequence ^ first.event->kind_hash_);
  ++events_run_;
  // Not a plain flag reset: an assertion thrown out of the event must not leave the loop locked.
  struct Inside {
    bool& flag;
    explicit Inside(bool& f) : flag(f) { flag = true; }
    ~Inside() { flag = false; }
  } inside(inside_event_);
  first.event->fire();
}

void VirtualLoop::pass_time(Instant until) {
  BENCH_ASSERT(next_deadline() >= until, "time does not pass over an event");
  now_ = std::max(now_, until);
}

Loop::Step VirtualLoop::step(Instant limit) {
  BENCH_ASSERT(!inside_event(), "the loop is not pumped from inside an event");
  const Instant next = next_deadline();
  if (next == Instant::never()) return Step::idle;
  if (next > limit) {
    now_ = std::max(now_, limit);
    return Step::limit;
  }
  now_ = next;
  run_first();
  return Step::ran;
}

}  // namespace fb
