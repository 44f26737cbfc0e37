// Asynchronous events of one endpoint (2.0): which are enabled, what has occurred, and the message that is
// sent again until it is acknowledged.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/mi/device.h"
#include "model/mi/hooks.h"
#include "model/subsystem/observer.h"
#include "sim/core/loop.h"
#include "wire/mi/events.h"

namespace fb::mi {

/// What Configuration Set 04h says beside its list.
struct ReportingTerms {
  Duration delay;                                                         ///< AEMD: before the first message after an occurrence
  Duration retry_delay;                                                   ///< AERD; zero: no second try
  bool controllers = false, physical = false, virtual_functions = false;  ///< whose events
};

class Reporter final : private subsystem::SubsystemObserver {
 public:
  /// `send` gets an occurrence list; the message around it is the endpoint's.
  Reporter(World& world, Device& device, EndpointHooks& hooks, unsigned retries_max, std::function<void(const Bytes&)> send);
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  /// Every event that there is, with whether it is enabled.
  std::vector<EventState> supported() const;
  static bool is_supported(std::uint8_t id);
  bool any_enabled() const;

  /// A list with items: these are switched, the others stay. Gives what has occurred meanwhile.
  Bytes synchronize(const std::vector<EventState>& events, const ReportingTerms& terms);
  /// An empty list: what was sent has been seen. Gives what has occurred since.
  Bytes acknowledge();
  /// All disabled, nothing pending.
  void reset();
  void on_link_changed(std::uint8_t port);

 private:
  void on_change(subsystem::Change what, std::uint16_t cntlid) override;
  void occur(EventId id, std::uint16_t cntlid, EventScope scope = EventScope::subsystem, std::uint32_t context = 0);
  bool attributed(std::uint16_t cntlid) const;
  Bytes take_pending();
  void on_due();
  void arm_retry();
  bool departs(std::string_view point) const { return hooks_.departs(point); }

  World& world_;
  Device& device_;
  EndpointHooks& hooks_;
  unsigned retries_max_;
  std::function<void(const Bytes&)> send_;
  std::uint32_t enabled_ = 0;  ///< one bit an event
  ReportingTerms terms_;
  std::vector<Occurrence> pending_;
  OccurrenceList sent_;  ///< waits for its acknowledgement
  bool unacknowledged_ = false;
  std::uint8_t generation_ = 0;
  Timer<Reporter, &Reporter::on_due> timer_{"mi.event", *this};
};

}  // namespace fb::mi
