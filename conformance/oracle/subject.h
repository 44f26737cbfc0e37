// A subject of the specifications that the oracle follows: what it hears, and how it reports.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "conformance/monitors/finding.h"
#include "conformance/oracle/exchange.h"

namespace fb::oracle {

using monitors::Rule;

/// Where subjects report to: the findings of the monitors.
class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void judged(Rule rule) = 0;
  /// Blames the sender of the packet at hand.
  virtual void say(Rule rule, std::string text) = 0;
  /// Blames the host for a command, which may be answered by now.
  virtual void say_of(const Exchange& command, Rule rule, std::string text) = 0;
};

/// Hears of exchanges on queues of which nothing is missing. A subject speaks only when it is sure: what happens in no exchange
/// (`on_unsure`) or at the same time as what it would judge makes it forget.
class Subject {
 public:
  /// `complete`: nobody else talks to these subsystems, so that what was not seen did not happen.
  Subject(Reporter& reporter, bool complete) : complete_(complete), reporter_(reporter) {}
  virtual ~Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  virtual void on_command(const Exchange&) {}
  virtual void on_answer(const Exchange&) {}
  /// The command may have been carried out or not, now or later; no answer will come.
  virtual void on_abandoned(const Exchange&) {}
  /// A controller has come about: its Connect was answered.
  virtual void on_controller(const Controller&) {}
  /// Connect was answered, behind on_controller() for an admin queue. It has a controller if the queue belongs to one.
  virtual void on_connect(const Exchange&) {}
  virtual void on_controller_end(const Controller&) {}
  /// A host writes CC.EN = 0.
  virtual void on_reset(const Controller&) {}
  /// Something happened to this subsystem that was not seen; nullptr: to any.
  virtual void on_unsure(const Subsystem*) {}

 protected:
  template <class... Rules>
  void judged(Rules... rules) {
    (reporter_.judged(rules), ...);
  }
  [[gnu::cold]] void say(Rule rule, std::string text) { reporter_.say(rule, std::move(text)); }
  [[gnu::cold]] void say_of(const Exchange& command, Rule rule, std::string text) { reporter_.say_of(command, rule, std::move(text)); }
  const bool complete_;

 private:
  Reporter& reporter_;
};

using MakeSubject = std::unique_ptr<Subject> (*)(Reporter&, bool complete);
/// Every subject, in one table (subjects.cc).
std::span<const MakeSubject> subjects();

}  // namespace fb::oracle
