#include "model/mi/in_band.h"

#include <algorithm>
#include <utility>

#include "model/mi/exchange.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/status.h"

namespace fb::mi {

namespace {

Opcode opcode_of(const subsystem::InBandRequest& request) { return static_cast<Opcode>(request.dwords[1] & 0xFF); }

}  // namespace

InBand::InBand(Device& device, EndpointOptions options, EndpointHooks* hooks)
    : device_(device), options_(std::move(options)), hooks_(hooks != nullptr ? *hooks : no_endpoint_hooks()) {
  for (const auto& [id, controller] : device_.subsystem().controllers()) agent(id);
  device_.subsystem().set_in_band_management(this);
}

InBand::~InBand() { device_.subsystem().set_in_band_management(nullptr); }

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

std::size_t InBand::data_bytes(const subsystem::InBandRequest& request) {
  const Opcode opcode = opcode_of(request);
  const bool has_data = opcode == Opcode::vpd_write || opcode == Opcode::ses_send;
  return has_data ? request.dwords[3] & 0xFFFF : 0;
}

subsystem::InBandAnswer InBand::on_request(const subsystem::InBandRequest& request) {
  namespace sc = nvme::sc;
  Record<MiRequest> head;
  for (std::size_t i = 0; i < request.dwords.size(); ++i) {
    store_le(head.mutable_bytes().data() + 4 * i, request.dwords[i]);
  }
  const bool well_formed = head.get(header::mt) == kNvmeMiType && !head.get(header::ic) && !head.get(header::ror) &&
                           head.get(header::nmimt) == MessageKind::mi_command;
  const auto opcode = head.get(request::opcode);
  // A command that goes with the other of the two would move data the wrong way.
  const bool known = opcode <= static_cast<std::uint8_t>(Opcode::ses_send) || opcode == static_cast<std::uint8_t>(Opcode::shutdown);
  if (!well_formed || (known && request.send != is_send(opcode))) return {sc::invalid_field.with_dnr(), 0, {}};
  Exchange exchange;
  exchange.in_band = true;
  exchange.request.resize(MiRequest::size + request.data.size());
  std::copy_n(head.bytes().begin(), MiRequest::size, exchange.request.begin());
  std::copy(request.data.begin(), request.data.end(), exchange.request.begin() + MiRequest::size);
  agent(request.cntlid).execute(exchange);
  BENCH_ASSERT(exchange.done, "MI commands are done at once");
  if (exchange.resets_subsystem) device_.subsystem().reset_subsystem_later();
  if (exchange.response.empty()) return {sc::success, 0, {}};
  // DW0 is the status, and above it what the response has in its bytes 5 to 7.
  const auto dw0 = load_le<std::uint32_t>(&exchange.response[response::status.offset]);
  const ByteView data = ByteView{exchange.response}.subspan(kResponseMin);
  return {sc::success, dw0, Bytes(data.begin(), data.end())};
}

}  // namespace fb::mi
