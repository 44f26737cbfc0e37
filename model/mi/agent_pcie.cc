// The tunnel for PCIe commands: configuration space, memory and I/O of a controller's function.
#include <algorithm>

#include "model/mi/agent.h"
#include "model/mi/fault_points.h"
#include "model/subsystem/controller.h"
#include "wire/mi/tunnels.h"

namespace fb::mi {

namespace pr = pcie_request;

namespace {

constexpr std::uint16_t kConfigurationMask = 0xFFF;

bool is_configuration(PcieOpcode opcode) { return opcode == PcieOpcode::configuration_read || opcode == PcieOpcode::configuration_write; }
bool is_write(PcieOpcode opcode) { return (static_cast<unsigned>(opcode) & 1) != 0; }

std::size_t padded(std::size_t bytes) { return (bytes + 3) / 4 * 4; }

}  // namespace

/// What is addressed is there. False: refused.
bool Agent::pcie_range(Exchange& exchange, PcieFunction& function) {
  const auto asked = exchange.as<PcieRequest>();
  const auto opcode = static_cast<PcieOpcode>(exchange.opcode());
  const std::uint64_t length = asked.get(pr::length);
  const std::uint64_t offset = is_configuration(opcode) ? asked.get(pr::offset) & kConfigurationMask : asked.get(pr::offset);
  if (length > kDataMax && !is_configuration(opcode)) return !refuse(exchange, check::pcie_length);
  if (is_configuration(opcode)) {
    return offset + length <= kConfigurationSpace || !refuse(exchange, check::pcie_range);
  }
  const bool memory = opcode == PcieOpcode::memory_read || opcode == PcieOpcode::memory_write;
  const auto kind = function.bar_kind(asked.get(pr::bar));
  const auto wanted = memory ? PcieFunction::BarKind::memory : PcieFunction::BarKind::io;
  if (kind != wanted && refuse(exchange, check::pcie_bar)) return false;
  const std::uint64_t size = function.bar_size(asked.get(pr::bar));
  const bool fits = offset <= size && length <= size - offset;
  return fits || !refuse(exchange, check::pcie_range);
}

void Agent::execute_pcie(Exchange& exchange) {
  const std::size_t size = exchange.request.size();
  if (size < PcieRequest::size) {
    if (refuse(exchange, check::command_size)) return;
    exchange.request.resize(PcieRequest::size);
  }
  if (!pcie_supported(exchange.opcode()) && refuse(exchange, check::pcie_opcode)) return;
  if (!common_checks(exchange)) return;
  const auto asked = exchange.as<PcieRequest>();
  const auto opcode = static_cast<PcieOpcode>(exchange.opcode());
  subsystem::Controller* const controller = device_.find_controller(asked.get(pr::ctlid));
  if (controller == nullptr) {
    if (!refuse(exchange, check::pcie_controller)) fail(exchange, Status::success);
    return;
  }
  PcieFunction& function = *device_.function(asked.get(pr::ctlid));
  const std::size_t length = asked.get(pr::length);
  const ByteView given = exchange.data_behind(PcieRequest::size);
  const std::size_t expected = is_write(opcode) ? padded(length) : 0;
  if (given.size() != expected && refuse(exchange, check::pcie_data)) return;
  if (!function.accessible() && !is_configuration(opcode) && refuse(exchange, check::pcie_inaccessible)) {
    return;
  }
  const bool locked = function.locked() && opcode != PcieOpcode::configuration_read;
  if (locked && refuse(exchange, check::pcie_locked)) return;
  if (!pcie_range(exchange, function)) return;
  const std::uint64_t limit = is_configuration(opcode) ? kConfigurationSpace : function.bar_size(asked.get(pr::bar));
  std::uint64_t offset = asked.get(pr::offset);
  if (is_configuration(opcode)) offset &= kConfigurationMask;
  if (departs(departure::pcie_offset) && opcode == PcieOpcode::configuration_read) offset = 0;
  // A deviation that let the range pass still moves no more than there is.
  const std::uint64_t start = std::min(offset, limit);
  const auto moved = static_cast<std::size_t>(std::min<std::uint64_t>({length, limit - start, kDataMax}));
  Bytes data;
  if (is_write(opcode)) {
    const ByteView bytes = given.first(std::min(moved, given.size()));
    if (is_configuration(opcode)) {
      function.write_configuration(static_cast<std::size_t>(start), bytes);
    } else if (!bytes.empty()) {
      function.write_bar(asked.get(pr::bar), start, bytes, *controller);
    }
  } else {
    data.assign(padded(moved), departs(departure::pcie_padding) ? std::uint8_t{0x5A} : std::uint8_t{0});
    const MutableBytes out = MutableBytes{data}.first(moved);
    if (is_configuration(opcode)) {
      function.read_configuration(static_cast<std::size_t>(start), out);
    } else if (!out.empty()) {
      function.read_bar(asked.get(pr::bar), start, out, *controller);
    }
  }
  finish_with_data(exchange, begin_response(exchange.request, Status::success), data);
}

}  // namespace fb::mi
