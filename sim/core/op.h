// Op<T>: an action that was started. wait() steps the world's loop until it is settled, or reports
// the exact deadlock. Two started operations, waited for in turn, are concurrency.
//
//   auto [promise, op] = make_op<Reply>(world, "Connect reply on queue 0");
//   ... an engine keeps the promise and calls promise.settle(reply) ...
//   Reply reply = op.wait();
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "sim/core/world.h"

namespace fb {

namespace op_detail {

template <class T>
struct State final : PendingOperation {
  State(World& w, std::string what) : PendingOperation(std::move(what)), world(&w) { w.add_pending(*this); }
  World* world;
  std::optional<T> value;
  std::optional<WaitEnd> end;
  bool promised = true;
  std::function<void()> on_cancel;
  std::function<void(const T&)> on_settled;
};

}  // namespace op_detail

template <class T>
class Op {
 public:
  explicit Op(std::shared_ptr<op_detail::State<T>> state) : state_(std::move(state)) {}

  bool settled() const { return state_->value.has_value(); }
  /// The value of a settled operation.
  const T& value() const {
    BENCH_ASSERT(settled(), "value() of a pending operation");
    return *state_->value;
  }
  /// What it waits for, in words.
  const std::string& what() const { return state_->what(); }
  /// Why it will never settle, once that is certain.
  std::optional<WaitEnd> ended() const {
    if (settled()) return std::nullopt;
    if (state_->end) return state_->end;
    if (!state_->promised) return WaitEnd::abandoned;
    return std::nullopt;
  }

  /// Steps the world until settled. Throws WaitFailure after the world's patience, in a deadlock,
  /// or when cancelled or abandoned.
  T wait() { return wait(state_->world->patience()); }
  T wait(Duration limit) {
    const std::optional<WaitEnd> end = pump(limit);
    if (!end) return *state_->value;
    World& world = *state_->world;
    switch (*end) {
      case WaitEnd::deadlock:
        throw WaitFailure(*end, "deadlock: nothing can happen any more; " + world.describe_pending());
      case WaitEnd::timed_out:
        throw WaitFailure(*end, "no answer within " + to_string(limit) + ": " + what());
      case WaitEnd::cancelled:
        throw WaitFailure(*end, "cancelled: " + what());
      default:
        throw WaitFailure(*end, "abandoned: " + what());
    }
  }
  /// The value, or nothing when `limit` passed, the world fell silent or the operation ended.
  std::optional<T> wait_for(Duration limit) {
    if (pump(limit)) return std::nullopt;
    return *state_->value;
  }
  /// Gives up: the engine is told (where it cares), a later settle() is ignored.
  void cancel() {
    if (settled() || state_->end) return;
    state_->end = WaitEnd::cancelled;
    if (state_->on_cancel) std::exchange(state_->on_cancel, nullptr)();
  }
  /// Calls `then` when it settles (at once when it has). One listener.
  void on_settled(std::function<void(const T&)> then) {
    if (settled()) {
      then(*state_->value);
    } else {
      state_->on_settled = std::move(then);
    }
  }

 private:
  std::optional<WaitEnd> pump(Duration limit) {
    auto& state = *state_;
    World& world = *state.world;
    const Instant end = world.now() + limit;
    while (!state.value) {
      if (const auto over = ended()) return over;
      const Loop::Step step = world.step_towards(end);
      if (state.value) break;
      if (step == Loop::Step::idle) return WaitEnd::deadlock;
      if (step == Loop::Step::limit) return WaitEnd::timed_out;
    }
    return std::nullopt;
  }

  std::shared_ptr<op_detail::State<T>> state_;
};

/// The settling side. Movable; dropping it unsettled abandons the operation.
template <class T>
class Promise {
 public:
  Promise() = default;
  explicit Promise(std::shared_ptr<op_detail::State<T>> state) : state_(std::move(state)) {}
  Promise(Promise&&) noexcept = default;
  Promise& operator=(Promise&& other) noexcept {
    drop();
    state_ = std::move(other.state_);
    return *this;
  }
  ~Promise() { drop(); }

  explicit operator bool() const { return state_ != nullptr; }
  /// Whether somebody still holds the operation and has not cancelled it.
  bool wanted() const { return state_ != nullptr && state_.use_count() > 1 && !state_->end; }
  void settle(T value) {
    if (!state_) return;
    const auto state = std::exchange(state_, nullptr);
    state->world->remove_pending(*state);
    state->on_cancel = nullptr;
    if (state->end) return;
    state->value = std::move(value);
    if (state->on_settled) std::exchange(state->on_settled, nullptr)(*state->value);
  }
  /// Called when the waiting side cancels.
  void on_cancel(std::function<void()> call) { state_->on_cancel = std::move(call); }

 private:
  void drop() {
    if (!state_) return;
    state_->world->remove_pending(*state_);
    state_->promised = false;
    state_->on_cancel = nullptr;
    state_.reset();
  }
  std::shared_ptr<op_detail::State<T>> state_;
};

template <class T>
struct MadeOp {
  Promise<T> promise;
  Op<T> op;
};

/// `what` says what is waited for, for deadlock reports.
template <class T>
MadeOp<T> make_op(World& world, std::string what) {
  auto state = std::make_shared<op_detail::State<T>>(world, std::move(what));
  return {Promise<T>(state), Op<T>(state)};
}

}  // namespace fb
