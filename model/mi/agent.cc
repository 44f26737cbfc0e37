#include "model/mi/agent.h"

#include <algorithm>
#include <utility>

#include "model/mi/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/mi/tunnels.h"

namespace fb::mi {

using subsystem::Change;

Bytes begin_response(ByteView request, Status status) {
  Bytes made(kResponseMin);
  const View<MessageHeader> asked{request};
  MutableView<AnyResponse>{made}
      .set(header::ic, asked.get(header::ic))
      .set(header::mt, asked.get(header::mt))
      .set(header::ror, true)
      .set(header::nmimt, asked.get(header::nmimt))
      .set(header::csi, asked.get(header::csi))
      .set(response::status, status);
  return made;
}

Bytes error_response(ByteView request, Status status, ParameterError at) {
  Bytes made = begin_response(request, status);
  if (status == Status::invalid_parameter) {
    MutableView<ErrorResponse>{made}.set(response::pel_bit, at.bit).set(response::pel_byte, at.byte);
  }
  return made;
}

Agent::Agent(Device& device, const EndpointOptions& options, EndpointHooks& hooks, bool in_band)
    : device_(device), options_(options), hooks_(hooks), hooked_(&hooks != &no_endpoint_hooks()), in_band_(in_band) {
  if (buffer_offered()) buffer_.assign(options_.buffer_bytes, 0);
  sanitize_seen_ = device_.sanitize_count();
  device_.subsystem().add_observer(*this);
}

Agent::~Agent() { device_.subsystem().remove_observer(*this); }

void Agent::reset() {
  if (!departs(departure::reset_keeps_buffer)) std::fill(buffer_.begin(), buffer_.end(), std::uint8_t{0});
  if (options_.reset_keeps_changes) return;
  composite_ = 0;
  changed_.clear();
}

// ---- what changes ----

void Agent::mark(std::uint16_t bits, std::uint16_t cntlid) {
  if (departs(departure::health_no_changes)) return;
  constexpr std::uint16_t kStatus = change_bits::rdy | change_bits::cfs | change_bits::shst | change_bits::nssro | change_bits::ceco |
                                    change_bits::nac | change_bits::fa | change_bits::tcida;
  if ((bits & kStatus) != 0) bits = static_cast<std::uint16_t>(bits | change_bits::csts);
  composite_ = static_cast<std::uint16_t>(composite_ | bits);
  for (const auto& [id, controller] : device_.subsystem().controllers()) {
    if (cntlid != 0 && id != cntlid) continue;
    changed_[id] = static_cast<std::uint16_t>(changed_[id] | bits);
  }
}

void Agent::on_change(Change what, std::uint16_t cntlid) {
  switch (what) {
    case Change::ready:
      return mark(change_bits::rdy, cntlid);
    case Change::fatal:
      return mark(change_bits::cfs, cntlid);
    case Change::shutdown:
      return mark(change_bits::shst, cntlid);
    case Change::enable:
      return mark(change_bits::ceco, cntlid);
    case Change::subsystem_reset:
      // An endpoint resets its own flags; what stays is that there was a reset.
      if (!in_band_) reset();
      return mark(change_bits::nssro, 0);
    case Change::namespaces:
      return mark(change_bits::nac, 0);
    case Change::temperature:
      return mark(change_bits::ctemp, 0);
    case Change::warning:
      return mark(change_bits::cwarn, cntlid);
    case Change::life_used:
      return mark(change_bits::pdlu, 0);
    case Change::spare:
      return mark(change_bits::spare, 0);
    case Change::firmware:
      return mark(change_bits::fa, 0);
    case Change::controller_list:
      std::erase_if(changed_, [&](const auto& entry) { return device_.subsystem().find_controller(entry.first) == nullptr; });
      return;
    case Change::sanitize:  // the device keeps what there is of it
      return;
  }
}

// ---- what is offered ----

bool Agent::buffer_offered() const { return !in_band_ && options_.buffer_bytes != 0 && device_.has(Revision::r1_1); }
bool Agent::auto_pause_offered() const { return !in_band_ && options_.auto_pause && device_.has(Revision::r1_2); }
bool Agent::events_offered() const { return !in_band_ && options_.events && device_.has(Revision::r2_0); }

bool Agent::command_supported(std::uint8_t opcode) const {
  switch (static_cast<Opcode>(opcode)) {
    case Opcode::read_data_structure:
    case Opcode::subsystem_health_poll:
    case Opcode::controller_health_poll:
    case Opcode::configuration_set:
    case Opcode::configuration_get:
    case Opcode::vpd_read:
    case Opcode::vpd_write:
      return true;
    case Opcode::reset:
      return device_.options().reset_supported;
    case Opcode::ses_receive:
    case Opcode::ses_send:
      return device_.options().enclosure && device_.has(Revision::r1_1);
    case Opcode::buffer_read:
    case Opcode::buffer_write:
      return buffer_offered();
    case Opcode::shutdown:
      return device_.options().shutdown_supported && device_.has(Revision::r1_2);
  }
  return false;
}

bool Agent::pcie_supported(std::uint8_t opcode) const {
  return device_.options().pcie_commands && opcode <= static_cast<std::uint8_t>(PcieOpcode::io_write);
}

bool Agent::admin_supported(const subsystem::Controller& controller, std::uint8_t opcode) const {
  return admin_policy(opcode) != Policy::prohibited && controller.admin_supported(opcode);
}

// ---- executing ----

bool Agent::refuse(Exchange& exchange, const Check& check, ParameterError at) {
  Refusal refusal{check.name, check.status, at, check.discards};
  if (hooked_ && !hooks_.refuses(exchange.context(), refusal)) return false;
  device_.subsystem().world().trace().mark(check.name);
  if (departs(departure::pel_bit)) refusal.at.bit = static_cast<std::uint8_t>((refusal.at.bit + 1) & 7);
  if (departs(departure::pel_byte)) refusal.at.byte = static_cast<std::uint16_t>(refusal.at.byte + 1);
  exchange.response = error_response(exchange.request, refusal.status, refusal.at);
  exchange.done = true;
  return true;
}

void Agent::fail(Exchange& exchange, Status status) {
  exchange.response = error_response(exchange.request, status);
  exchange.done = true;
}

/// Data goes behind the response, or into the buffer from its first byte on; the rest of the buffer is zero.
void Agent::finish_with_data(Exchange& exchange, Bytes response, ByteView data) {
  if (exchange.in_buffer() && buffer_offered()) {
    MutableView<MessageHeader>{response}.set(header::meb, true);
    const std::size_t n = std::min(data.size(), buffer_.size());
    std::copy_n(data.begin(), n, buffer_.begin());
    if (!departs(departure::buffer_not_zeroed)) {
      std::fill(buffer_.begin() + static_cast<std::ptrdiff_t>(n), buffer_.end(), std::uint8_t{0});
    }
    sanitize_seen_ = device_.sanitize_count();
  } else {
    response.insert(response.end(), data.begin(), data.end());
  }
  exchange.response = std::move(response);
  exchange.done = true;
}

void Agent::finish(Exchange& exchange, std::uint32_t nmresp, ByteView data) {
  Bytes response = begin_response(exchange.request, Status::success);
  MutableView<MiResponse>{response}.set(response::nmresp, nmresp);
  finish_with_data(exchange, std::move(response), data);
}

bool Agent::request_data(Exchange& exchange, std::size_t fixed, std::size_t length, const Check& check, Bytes& data) {
  ByteView given = exchange.data_behind(fixed);
  if (exchange.in_buffer() && buffer_offered()) {
    if (!given.empty() && refuse(exchange, check)) return false;
    given = ByteView{buffer_}.first(std::min(length, buffer_.size()));
  }
  if (given.size() != length && refuse(exchange, check)) return false;
  data.assign(given.begin(), given.end());
  data.resize(length);
  return true;
}

bool Agent::common_checks(Exchange& exchange) {
  const auto head = exchange.as<MessageHeader>();
  const MessageKind kind = exchange.kind();
  if (head.get(header::meb) && device_.has(Revision::r1_1)) {
    const bool allowed = buffer_offered() && allowed_with_buffer(kind, exchange.opcode());
    if (!allowed && refuse(exchange, check::command_buffer)) return false;
  }
  if (!head.get(header::ciap) || auto_pause_offered()) return true;
  const bool refused = in_band_ ? device_.has(Revision::r1_2) : options_.auto_pause_refused;
  return !refused || !refuse(exchange, check::command_ciap);
}

void Agent::execute(Exchange& exchange) {
  if (hooked_) {
    if (const auto status = hooks_.admission(exchange.context())) return fail(exchange, *status);
  }
  if (exchange.request.size() < AnyRequest::size) {
    exchange.request.resize(AnyRequest::size);
    if (refuse(exchange, check::command_size)) return;
  }
  switch (exchange.kind()) {
    case MessageKind::mi_command:
      return execute_mi(exchange);
    case MessageKind::admin_command:
      if (!in_band_) return execute_admin(exchange);
      break;
    case MessageKind::pcie_command:
      if (!in_band_) return execute_pcie(exchange);
      break;
    default:
      break;
  }
  if (!refuse(exchange, check::command_kind)) fail(exchange, Status::success);
}

/// Commands whose request carries data: how much is theirs to check.
bool Agent::takes_data(std::uint8_t opcode, const Exchange& exchange) const {
  switch (static_cast<Opcode>(opcode)) {
    case Opcode::vpd_write:
    case Opcode::ses_send:
    case Opcode::buffer_write:
      return true;
    case Opcode::configuration_set:
      return events_offered() &&
             exchange.as<Configuration>().get(configuration::id) == static_cast<std::uint8_t>(ConfigurationId::async_event);
    default:
      return false;
  }
}

void Agent::execute_mi(Exchange& exchange) {
  const std::uint8_t opcode = exchange.opcode();
  const bool buffer_command = static_cast<Opcode>(opcode) == Opcode::buffer_read || static_cast<Opcode>(opcode) == Opcode::buffer_write;
  const bool supported = command_supported(opcode) && !(in_band_ && buffer_command);
  if (!supported) {
    if (!refuse(exchange, check::command_opcode)) finish(exchange, 0, {});
    return;
  }
  const std::size_t size = exchange.request.size();
  if (size < MiRequest::size) {
    if (refuse(exchange, check::command_size)) return;
    exchange.request.resize(MiRequest::size);
  }
  if (size > MiRequest::size && !takes_data(opcode, exchange) && refuse(exchange, check::command_size)) {
    return;
  }
  if (!common_checks(exchange)) return;
  switch (static_cast<Opcode>(opcode)) {
    case Opcode::read_data_structure:
      return read_data_structure(exchange);
    case Opcode::subsystem_health_poll:
      return subsystem_health_poll(exchange);
    case Opcode::controller_health_poll:
      return controller_health_poll(exchange);
    case Opcode::configuration_set:
      return configuration_set(exchange);
    case Opcode::configuration_get:
      return configuration_get(exchange);
    case Opcode::vpd_read:
      return vpd_read(exchange);
    case Opcode::vpd_write:
      return vpd_write(exchange);
    case Opcode::reset:
      return reset_command(exchange);
    case Opcode::ses_receive:
      return ses_receive(exchange);
    case Opcode::ses_send:
      return ses_send(exchange);
    case Opcode::buffer_read:
      return buffer_read(exchange);
    case Opcode::buffer_write:
      return buffer_write(exchange);
    case Opcode::shutdown:
      return shutdown(exchange);
  }
}

}  // namespace fb::mi
