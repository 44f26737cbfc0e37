// The little of a Windows kernel that NDK shows to providers and consumers, for one world: the level (IRQL) at which code
// runs right now, and a place for findings about code that breaks the kernel's rules. Nothing crashes for them: who
// owns the kernel decides what a finding is worth.
//
// A world is one thread, so that it has one level: PASSIVE_LEVEL, except inside of callbacks, which whoever calls back
// raises with IrqlRaiser.
#pragma once

#include <ndkpi.h>

#include <string>
#include <string_view>
#include <vector>

namespace fb::ndk {

/// Somebody broke a rule of the kernel.
struct KernelFinding {
  std::string_view rule;       ///< one of kernel_rule
  std::string_view function;   ///< what was called, by its name in the interface
  KIRQL irql = PASSIVE_LEVEL;  ///< the level then
  std::string text;            ///< a sentence
};

/// Names of rules in findings.
namespace kernel_rule {
/// A function was called at a higher level than it permits.
inline constexpr std::string_view kIrql = "ndk.irql";
/// An adapter was closed from inside an event, where nobody can wait for the end of what is on it.
inline constexpr std::string_view kCloseInEvent = "ndk.adapter.closed_in_event";
/// An adapter was closed while objects on it were not.
inline constexpr std::string_view kLeak = "ndk.adapter.leak";
/// An adapter was closed that is not open, or by another way than it was opened.
inline constexpr std::string_view kNotOpen = "ndk.adapter.not_open";
}  // namespace kernel_rule

class FindingSink {
 public:
  virtual void on_finding(const KernelFinding& finding) = 0;

 protected:
  ~FindingSink() = default;
};

class Kernel {
 public:
  /// Findings go to `sink`, which must outlive the kernel; without one they are only kept.
  explicit Kernel(FindingSink* sink = nullptr) : sink_(sink) {}
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  KIRQL irql() const { return irql_; }
  /// True when code at `most` or below may call what it calls; otherwise a finding against `function`.
  bool check_irql(KIRQL most, std::string_view function) {
    if (irql_ <= most) [[likely]]
      return true;
    too_high(most, function);
    return false;
  }
  void report(std::string_view rule, std::string_view function, std::string text);
  /// All so far, oldest first.
  const std::vector<KernelFinding>& findings() const { return findings_; }

 private:
  friend class IrqlRaiser;
  void too_high(KIRQL most, std::string_view function);

  KIRQL irql_ = PASSIVE_LEVEL;
  FindingSink* sink_;
  std::vector<KernelFinding> findings_;
};

/// Raises the level as long as it lives; never lowers it.
class IrqlRaiser {
 public:
  explicit IrqlRaiser(Kernel& kernel, KIRQL to = DISPATCH_LEVEL) : kernel_(kernel), before_(kernel.irql_) {
    if (to > before_) kernel_.irql_ = to;
  }
  ~IrqlRaiser() { kernel_.irql_ = before_; }
  IrqlRaiser(const IrqlRaiser&) = delete;
  IrqlRaiser& operator=(const IrqlRaiser&) = delete;

 private:
  Kernel& kernel_;
  KIRQL before_;
};

/// "PASSIVE_LEVEL", "DISPATCH_LEVEL" ...
std::string name_of_irql(KIRQL irql);

}  // namespace fb::ndk
