// Who executes NVMe-MI commands: every management endpoint has an agent, and so has every controller for
// the in-band tunnel. Each keeps its own changed flags and buffer; what they act on is the shared device.
#pragma once

#include <map>
#include <vector>

#include "model/mi/checks.h"
#include "model/mi/device.h"
#include "model/mi/exchange.h"
#include "model/mi/hooks.h"
#include "model/mi/options.h"
#include "model/subsystem/observer.h"
#include "wire/mi/health.h"

namespace fb::mi {

class Reporter;

class Agent final : private subsystem::SubsystemObserver {
 public:
  /// `in_band`: out-of-band means (buffer, frequencies, units, tunnels, events) are not offered.
  Agent(Device& device, const EndpointOptions& options, EndpointHooks& hooks, bool in_band = false);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  Device& device() { return device_; }
  const EndpointOptions& options() const { return options_; }
  /// Where asynchronous events are configured; null where there are none.
  void set_reporter(Reporter* reporter) { reporter_ = reporter; }

  /// Executes an MI, Admin or PCIe command. exchange.done says whether the response is there already.
  void execute(Exchange& exchange);
  /// As an endpoint reset does it: buffer zero, changed flags as the options say.
  void reset();

  /// True: the command was refused; false: go on as if the check had passed.
  bool refuse(Exchange& exchange, const Check& check) { return refuse(exchange, check, check.at); }
  bool refuse(Exchange& exchange, const Check& check, ParameterError at);
  bool departs(std::string_view point) const { return hooked_ && hooks_.departs(point); }

  std::uint16_t composite_status() const { return composite_; }
  ByteView buffer() const { return buffer_; }
  bool buffer_offered() const;
  bool auto_pause_offered() const;
  bool events_offered() const;
  bool command_supported(std::uint8_t opcode) const;
  bool pcie_supported(std::uint8_t opcode) const;
  bool admin_supported(const subsystem::Controller& controller, std::uint8_t opcode) const;

 private:
  void on_change(subsystem::Change what, std::uint16_t cntlid) override;
  void mark(std::uint16_t bits, std::uint16_t cntlid);

  bool common_checks(Exchange& exchange);
  void execute_mi(Exchange& exchange);
  bool takes_data(std::uint8_t opcode, const Exchange& exchange) const;
  /// Request data, from the message or from the buffer; `length` is what the command says.
  bool request_data(Exchange& exchange, std::size_t fixed, std::size_t length, const Check& check, Bytes& data);
  void finish(Exchange& exchange, std::uint32_t nmresp, ByteView data);
  void finish_with_data(Exchange& exchange, Bytes response, ByteView data);
  void fail(Exchange& exchange, Status status);

  // agent_data.cc
  void read_data_structure(Exchange& exchange);
  Bytes subsystem_information() const;
  Bytes port_information(std::uint8_t port) const;
  Bytes controller_information(subsystem::Controller& controller) const;
  Bytes controller_list(std::uint16_t first) const;
  std::vector<SupportedCommand> optional_commands(const subsystem::Controller* controller) const;
  static std::vector<SupportedCommand> buffer_commands();
  static bool allowed_with_buffer(MessageKind kind, std::uint8_t opcode);

  // agent_health.cc
  void subsystem_health_poll(Exchange& exchange);
  void controller_health_poll(Exchange& exchange);
  bool selected(const View<ControllerHealthPoll>& poll, const subsystem::Controller& controller) const;
  Bytes controller_health(const subsystem::Controller& controller) const;
  void clear_changes(std::uint32_t positions);

  // agent_config.cc
  void configuration_get(Exchange& exchange);
  void configuration_set(Exchange& exchange);
  void set_frequency(Exchange& exchange);
  void set_unit(Exchange& exchange);
  void set_events(Exchange& exchange);

  // agent_vpd.cc
  void vpd_read(Exchange& exchange);
  void vpd_write(Exchange& exchange);

  // agent_buffer.cc
  void buffer_read(Exchange& exchange);
  void buffer_write(Exchange& exchange);
  bool buffer_range(Exchange& exchange);

  // agent_enclosure.cc
  void ses_receive(Exchange& exchange);
  void ses_send(Exchange& exchange);

  // agent_reset.cc
  void reset_command(Exchange& exchange);
  void shutdown(Exchange& exchange);

  // agent_admin.cc
  void execute_admin(Exchange& exchange);
  bool admin_window(Exchange& exchange);
  bool admin_request_data(Exchange& exchange, Bytes& data);
  bool feature_prohibited(Exchange& exchange);
  void finish_admin(Exchange& exchange, const subsystem::ManagedAnswer& answer);

  // agent_pcie.cc
  void execute_pcie(Exchange& exchange);
  bool pcie_range(Exchange& exchange, PcieFunction& function);

  Device& device_;
  EndpointOptions options_;
  EndpointHooks& hooks_;
  const bool hooked_;
  const bool in_band_;
  Reporter* reporter_ = nullptr;
  Bytes buffer_;
  unsigned sanitize_seen_ = 0;
  std::uint16_t composite_ = 0;
  std::map<std::uint16_t, std::uint16_t> changed_;  ///< by controller
};

}  // namespace fb::mi
