#include "model/mi/in_band.h"

#include <algorithm>
#include <utility>

#include "model/mi/exchange.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/status.h"

namespace fb::mi {

namespace {

constexpr std::size_t kDword = 4;

Opcode opcode_of(const subsystem::InBandRequest& request) { return static_cast<Opcode>(request.dwords[1] & 0xFF); }

/// What DLEN of the command says; the others have no Request Data.
std::size_t length_of(const subsystem::InBandRequest& request) {
  const Opcode opcode = opcode_of(request);
  const bool has_data = opcode == Opcode::vpd_write || opcode == Opcode::ses_send;
  return has_data ? request.dwords[3] & 0xFFFF : 0;
}

std::size_t padded(std::size_t bytes) { return (bytes + kDword - 1) / kDword * kDword; }

/// The lowest bit of the header that makes it no request of a host; the kind of message is for the agent to look at.
std::optional<ParameterError> fault_of(const View<MessageHeader>& head) {
  if (head.get(header::mt) != kNvmeMiType) return ParameterError{0, 0};
  if (head.get(header::ic)) return ParameterError{0, 7};
  if (head.get(header::ror)) return ParameterError{1, 7};
  return std::nullopt;
}

}  // namespace

InBand::InBand(Device& device, EndpointOptions options, EndpointHooks* hooks)
    : device_(device), options_(std::move(options)), hooks_(hooks != nullptr ? *hooks : no_endpoint_hooks()), hooked_(hooks != nullptr) {
  meet_controllers();
  device_.subsystem().add_observer(*this);
  device_.subsystem().set_in_band_management(this);
}

InBand::~InBand() {
  device_.subsystem().set_in_band_management(nullptr);
  device_.subsystem().remove_observer(*this);
}

/// An agent sees the changes of its controller from the beginning, whenever it is first asked. It listens to the subsystem as well,
/// which cannot begin inside of a call to a listener.
void InBand::on_change(subsystem::Change what, std::uint16_t) {
  World& world = device_.subsystem().world();
  if (what == subsystem::Change::controller_list) world.loop().schedule(meet_, world.now());
}

void InBand::meet_controllers() {
  for (const auto& [id, controller] : device_.subsystem().controllers()) agent(id);
}

Agent& InBand::agent(std::uint16_t cntlid) {
  auto& found = agents_[cntlid];
  if (found == nullptr) found = std::make_unique<Agent>(device_, options_, hooks_, true);
  return *found;
}

bool InBand::is_send(std::uint8_t opcode) {
  switch (static_cast<Opcode>(opcode)) {
    case Opcode::configuration_set:
    case Opcode::vpd_write:
    case Opcode::reset:
    case Opcode::ses_send:
    case Opcode::shutdown:
      return true;
    default:
      return false;
  }
}

std::size_t InBand::data_bytes(const subsystem::InBandRequest& request) { return padded(length_of(request)); }

/// Whether the command is refused before its agent sees it.
bool InBand::misplaced(Agent& agent, Exchange& exchange, bool send) {
  if (const auto fault = fault_of(exchange.as<MessageHeader>()); fault && agent.refuse(exchange, check::in_band_header, *fault))
    return true;
  // A command that goes with the other of the two would move data the wrong way.
  const std::uint8_t opcode = exchange.opcode();
  const bool known = opcode <= static_cast<std::uint8_t>(Opcode::ses_send) || opcode == static_cast<std::uint8_t>(Opcode::shutdown);
  const bool astray = exchange.kind() == MessageKind::mi_command && known && send != is_send(opcode);
  return astray && agent.refuse(exchange, check::in_band_direction);
}

subsystem::InBandAnswer InBand::on_request(const subsystem::InBandRequest& request) {
  namespace sc = nvme::sc;
  Record<MiRequest> head;
  for (std::size_t i = 0; i < request.dwords.size(); ++i) {
    store_le(head.mutable_bytes().data() + kDword * i, request.dwords[i]);
  }
  Exchange exchange;
  exchange.in_band = true;
  exchange.request.assign(head.bytes().begin(), head.bytes().end());
  // The host has padded its data to whole dwords.
  const ByteView data = request.data.first(std::min(request.data.size(), length_of(request)));
  exchange.request.insert(exchange.request.end(), data.begin(), data.end());
  Agent& by = agent(request.cntlid);
  if (!misplaced(by, exchange, request.send)) by.execute(exchange);
  BENCH_ASSERT(exchange.done, "MI commands are done at once");
  if (exchange.resets_subsystem) device_.subsystem().reset_subsystem_later();
  if (exchange.response.empty()) return {sc::success, 0, {}};
  if (hooked_) hooks_.response(exchange.context(), exchange.response);
  return answer_of(exchange.response);
}

/// DW0 is the status, and above it what the response has in its bytes 5 to 7; its data is padded to whole dwords.
subsystem::InBandAnswer InBand::answer_of(ByteView response) {
  const auto dw0 = load_le<std::uint32_t>(&response[response::status.offset]);
  const ByteView data = response.subspan(kResponseMin);
  Bytes out(data.begin(), data.end());
  out.resize(padded(out.size()));
  return {nvme::sc::success, dw0, std::move(out)};
}

}  // namespace fb::mi
