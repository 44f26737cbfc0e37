// A value or an error, for faults of a peer (Violation) and of the surroundings (Problem).
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "base/assert.h"

namespace fb {

/// Something in the surroundings is wrong: a port is taken, a file cannot be read. One line that
/// names the thing.
struct Problem {
  std::string text;
};

/// A Problem at the edge of the program: the command prints it and exits with 2.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class E>
struct Failure {
  E error;
};
template <class E>
Failure(E) -> Failure<E>;

template <class T, class E = Problem>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Result(Failure<E> failure) : content_(std::in_place_index<1>, std::move(failure.error)) {}

  bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    BENCH_ASSERT(ok(), "value() of a failed Result");
    return std::get<0>(content_);
  }
  const T& value() const& {
    BENCH_ASSERT(ok(), "value() of a failed Result");
    return std::get<0>(content_);
  }
  T&& value() && {
    BENCH_ASSERT(ok(), "value() of a failed Result");
    return std::get<0>(std::move(content_));
  }
  const E& error() const {
    BENCH_ASSERT(!ok(), "error() of a good Result");
    return std::get<1>(content_);
  }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }

 private:
  std::variant<T, E> content_;
};

template <class E>
class [[nodiscard]] Result<void, E> {
 public:
  Result() = default;
  Result(Failure<E> failure) : error_(std::move(failure.error)) {}
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const E& error() const {
    BENCH_ASSERT(error_.has_value(), "error() of a good Result");
    return *error_;
  }

 private:
  std::optional<E> error_;
};

}  // namespace fb
