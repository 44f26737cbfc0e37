// What a case says about what it saw. Checks collect: the first one that does not hold makes the
// verdict FAIL, the rest of the case still runs. The require_... forms leave the case at once.
// Expected is always a set of legal answers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/runner/verdict.h"
#include "conformance/runner/words.h"

namespace fb::conformance {

/// Leaves a case early; the verdict is in the Check. Caught in the frame of a case alone.
struct LeaveCase {};

/// Thrown by helpers that set the scene when it cannot be set: INCONCLUSIVE.
struct CannotArrange {
  std::string why;
};

/// Thrown where the product's own program cannot do what the case asks of it: SKIP, when nothing was checked before.
struct NotOffered {
  std::string why;
};

/// Anything that carries an NVMe status: a Status itself, or a reply with status().
template <class R>
nvme::Status status_in(const R& reply) {
  if constexpr (std::is_same_v<R, nvme::Status>) {
    return reply;
  } else if constexpr (requires {
                         { reply.status() } -> std::convertible_to<nvme::Status>;
                       }) {
    return reply.status();
  } else {
    return reply.status;
  }
}

/// Why a reply carries no status at all: the connection ended in place of a response.
template <class R>
std::optional<std::string> unanswered(const R& reply) {
  if constexpr (requires {
                  reply.answered();
                  reply.end->text;
                }) {
    if (!reply.answered()) return "no response, the connection ended: " + reply.end->text;
  }
  return std::nullopt;
}

class Check {
 public:
  /// The reply's status code (type and code; DNR, M and CRD are not looked at) is in the set.
  template <class R>
  bool status(const R& reply, const OneOf<nvme::Status>& expected, std::string_view what = "status") {
    return status_is(status_in(reply), unanswered(reply), expected.legal, what);
  }
  template <class R>
  bool status(const R& reply, nvme::Status expected, std::string_view what = "status") {
    return status_is(status_in(reply), unanswered(reply), {expected}, what);
  }
  /// The reply's status is anything but success.
  template <class R>
  bool refused(const R& reply, std::string_view what = "status") {
    const nvme::Status got = status_in(reply);
    const auto missing = unanswered(reply);
    return record(!missing && !got.ok(), what, [&] { return Said{{"any status but success"}, missing.value_or(words(got))}; });
  }
  template <class R>
  bool success(const R& reply, std::string_view what = "status") {
    return status_is(status_in(reply), unanswered(reply), {nvme::Status{}}, what);
  }

  template <class T, class U>
  bool equal(std::string_view what, const T& got, const U& expected) {
    return record(got == static_cast<T>(expected), what, [&] { return Said{{words(static_cast<T>(expected))}, words(got)}; });
  }
  template <class T, class U>
  bool equal(std::string_view what, const T& got, const OneOf<U>& expected) {
    const bool holds = std::any_of(expected.legal.begin(), expected.legal.end(), [&](const U& one) { return got == static_cast<T>(one); });
    return record(holds, what, [&] {
      Said said{{}, words(got)};
      for (const U& one : expected.legal) said.expected.push_back(words(static_cast<T>(one)));
      return said;
    });
  }
  /// Bytes compare as a whole; a difference is told by its offset.
  bool bytes(std::string_view what, ByteView got, ByteView expected);
  /// low <= got <= high.
  template <class T>
  bool between(std::string_view what, const T& got, const T& low, const T& high) {
    return record(low <= got && got <= high, what, [&] { return Said{{words(low) + " to " + words(high)}, words(got)}; });
  }
  /// `what` says what must hold ("the queue stays usable"), `seen` what was the case instead.
  bool that(bool condition, std::string_view what, std::string_view seen = "that was not so");

  /// The product failed, in words.
  void fails(std::string_view what, std::vector<std::string> expected, std::string_view seen);
  /// The bench could not create the condition: leaves the case.
  [[noreturn]] void inconclusive(std::string_view why);
  /// As the checks above, but the rest of the case makes no sense without it.
  void require(bool condition, std::string_view what, std::string_view seen = "that was not so") {
    if (!that(condition, what, seen)) throw LeaveCase{};
  }
  template <class R>
  void require_status(const R& reply, const OneOf<nvme::Status>& expected, std::string_view what = "status") {
    if (!status(reply, expected, what)) throw LeaveCase{};
  }
  template <class R>
  void require_success(const R& reply, std::string_view what = "status") {
    if (!success(reply, what)) throw LeaveCase{};
  }
  /// For conditions the case needs but does not judge: when it does not hold, INCONCLUSIVE.
  template <class R>
  void precondition_success(const R& reply, std::string_view what) {
    if (const auto missing = unanswered(reply)) inconclusive(std::string(what) + ": " + *missing);
    const nvme::Status got = status_in(reply);
    if (!got.ok()) inconclusive(std::string(what) + " answered " + words(got));
  }
  void precondition(bool condition, std::string_view what) {
    if (!condition) inconclusive("not given: " + std::string(what));
  }

  // For the frame of a case.
  Verdict verdict() const { return verdict_; }
  const std::vector<Finding>& findings() const { return findings_; }
  const std::string& reason() const { return reason_; }
  std::uint64_t performed() const { return performed_; }
  void raise(Verdict verdict, std::string reason);

 private:
  struct Said {
    std::vector<std::string> expected;
    std::string seen;
  };
  template <class Say>
  bool record(bool holds, std::string_view what, Say&& say) {
    ++performed_;
    verdict_ = worse(verdict_, Verdict::pass);
    if (!holds) {
      Said said = say();
      note_failure(what, std::move(said.expected), std::move(said.seen));
    }
    return holds;
  }
  bool status_is(nvme::Status got, const std::optional<std::string>& missing, const std::vector<nvme::Status>& legal,
                 std::string_view what);
  void note_failure(std::string_view what, std::vector<std::string> expected, std::string seen);

  Verdict verdict_ = Verdict::none;
  std::uint64_t performed_ = 0;
  std::vector<Finding> findings_;
  std::string reason_;
};

}  // namespace fb::conformance
