// The in-band tunnel: NVMe-MI Send and Receive of a host's admin queue, executed by an agent for each
// controller. No message check, no slots, no buffer; commands of buses and endpoints are not offered. What is wrong with
// a command stands in DW0, whose NVMe status is a success.
#pragma once

#include <map>
#include <memory>

#include "model/mi/agent.h"
#include "model/mi/device.h"
#include "model/subsystem/management.h"
#include "model/subsystem/observer.h"
#include "sim/core/loop.h"

namespace fb::mi {

class InBand final : private subsystem::InBandManagement, private subsystem::SubsystemObserver {
 public:
  /// Serves the subsystem's admin queues from now on.
  explicit InBand(Device& device, EndpointOptions options = {}, EndpointHooks* hooks = nullptr);
  ~InBand();
  InBand(const InBand&) = delete;
  InBand& operator=(const InBand&) = delete;

  /// MI commands that go with Send; the others go with Receive.
  static bool is_send(std::uint8_t opcode);

 private:
  std::size_t data_bytes(const subsystem::InBandRequest& request) override;
  subsystem::InBandAnswer on_request(const subsystem::InBandRequest& request) override;
  void on_change(subsystem::Change what, std::uint16_t cntlid) override;
  void meet_controllers();
  Agent& agent(std::uint16_t cntlid);
  static bool misplaced(Agent& agent, Exchange& exchange, bool send);
  static subsystem::InBandAnswer answer_of(ByteView response);

  Device& device_;
  EndpointOptions options_;
  EndpointHooks& hooks_;
  const bool hooked_;
  std::map<std::uint16_t, std::unique_ptr<Agent>> agents_;
  Timer<InBand, &InBand::meet_controllers> meet_{"mi.in_band.meet", *this};
};

}  // namespace fb::mi
