// The responder's side of the MCTP control protocol on one port: every command of DSP0236 1.3.1, section 12,
// with its length checks, completion codes and the cases in which it is silent.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "sim/mctp/control_device.h"

namespace fb::mctp {

struct ControlResponderCounters {
  std::uint64_t requests = 0;
  std::uint64_t answers = 0;
  std::uint64_t malformed = 0;  ///< cut short, IC set, Rq, D and TO that do not go together
  std::uint64_t datagrams = 0;
  std::uint64_t busy = 0;    ///< came while another was worked on
  std::uint64_t silent = 0;  ///< understood, and not to be answered
};

class ControlResponder {
 public:
  ControlResponder(Endpoint& endpoint, ControlDevice& device);
  ControlResponder(const ControlResponder&) = delete;
  ControlResponder& operator=(const ControlResponder&) = delete;

  /// Any message of type control with the tag owner's bit set.
  void on_request(const Incoming& message);
  void on_sent(SendId id);

  std::size_t port() const { return port_; }
  /// Lost with the physical address that it was found at.
  bool discovered() const { return discovered_at_.has_value() && *discovered_at_ == endpoint_.binding().address(); }
  void set_discovered(bool discovered) {
    discovered_at_.reset();
    if (discovered) discovered_at_ = endpoint_.binding().address();
  }
  /// The bus owner, as its last Set Endpoint ID said; empty before.
  struct Owner {
    Eid eid = kNullEid;
    PhysicalAddress address;
  };
  const std::optional<Owner>& owner() const { return owner_; }
  /// Forgets who the owner is, and what it worked on.
  void reset();
  const ControlResponderCounters& counters() const { return counters_; }

 private:
  struct Answer {
    control::Completion completion = control::Completion::success;
    Bytes data;
    bool silent = false;
    std::optional<Eid> source;  // where it is not the port's own
  };
  using Handler = Answer (ControlResponder::*)(const Incoming&);
  struct Row {
    control::Command command;
    std::size_t size_min;  // of the request's data
    std::size_t size_max;
    Handler handle;
  };
  static const std::array<Row, 20> kRows;

  bool is_sound(const Incoming& message, bool& datagram);
  Answer answer_to(const Incoming& message);
  bool supported(control::Command command) const;
  void reply(const Incoming& message, const Answer& answer);
  void send(Outgoing message);
  void send_due();
  static Answer refuse(control::Completion why) { return {why, {}, false, {}}; }
  static Answer silence() { return {control::Completion::success, {}, true, {}}; }

  Answer set_eid(const Incoming& message);
  Answer accept_eid(const Incoming& message, Eid eid, bool takes);
  Answer get_eid(const Incoming& message);
  Answer get_uuid(const Incoming& message);
  Answer get_versions(const Incoming& message);
  Answer get_types(const Incoming& message);
  Answer get_vendors(const Incoming& message);
  Answer resolve_eid(const Incoming& message);
  Answer allocate(const Incoming& message);
  Answer update_routes(const Incoming& message);
  Answer get_routes(const Incoming& message);
  Answer prepare(const Incoming& message);
  Answer discover(const Incoming& message);
  Answer discovery_notify(const Incoming& message);
  Answer get_network(const Incoming& message);
  Answer query_hop(const Incoming& message);
  Answer resolve_uuid(const Incoming& message);
  Answer query_rates(const Incoming& message);
  Answer request_tx_rate(const Incoming& message);
  Answer update_rate(const Incoming& message);
  Answer get_interfaces(const Incoming& message);

  Endpoint& endpoint_;
  ControlDevice& device_;
  std::size_t port_;
  std::optional<PhysicalAddress> discovered_at_;
  std::optional<Owner> owner_;
  std::vector<SendId> leaving_;  // answers that have not left yet
  struct Due {
    Instant when;
    Outgoing message;
  };
  std::deque<Due> due_;  // answers that are worked on
  ControlResponderCounters counters_;
  Timer<ControlResponder, &ControlResponder::send_due> timer_{"mctp.control.answer", *this};
};

}  // namespace fb::mctp
