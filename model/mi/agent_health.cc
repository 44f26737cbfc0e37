// The two health polls, and Configuration Set's clearing of what changed.
#include <algorithm>

#include "model/mi/agent.h"
#include "model/mi/fault_points.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/fabrics/property.h"

namespace fb::mi {

namespace cp = controller_poll;

void Agent::subsystem_health_poll(Exchange& exchange) {
  const bool clear = exchange.as<SubsystemHealthPoll>().get(subsystem_poll::cs);
  const std::uint8_t warnings = device_.warnings();
  const bool kelvins = departs(departure::health_temperature);
  Record<SubsystemHealth> health;
  health.set(subsystem_health::df, device_.functional())
      .set(subsystem_health::rnr, !device_.reset_required())
      .set(subsystem_health::p0la, device_.link_active(0))
      .set(subsystem_health::p1la, device_.link_active(1))
      .set(subsystem_health::sfm, device_.has(Revision::r2_0) && device_.sanitize_failed())
      .set(subsystem_health::sw, departs(departure::health_warning_polarity) ? warnings : ~warnings & 0xFFu)
      .set(subsystem_health::ctemp, kelvins ? device_.subsystem().temperature() & 0xFFu : device_.temperature_code())
      .set(subsystem_health::pdlu, device_.subsystem().percentage_used())
      .set(subsystem_health::ccs, composite_);
  Bytes data{health.bytes().begin(), health.bytes().end()};
  if (departs(departure::health_reserved)) data.back() = 0x5A;
  const bool cleared = clear ? !departs(departure::health_not_cleared) : departs(departure::health_cleared_unasked);
  if (cleared) composite_ = 0;
  finish(exchange, 0, data);
}

bool Agent::selected(const View<ControllerHealthPoll>& poll, const subsystem::Controller& controller) const {
  if (!departs(departure::poll_filter_ignored)) {
    const FunctionKind kind = device_.function_kind(controller.cntlid());
    const bool included = kind == FunctionKind::plain      ? poll.get(cp::incf)
                          : kind == FunctionKind::physical ? poll.get(cp::incpf)
                                                           : poll.get(cp::incvf);
    if (!included) return false;
  }
  if (poll.get(cp::all) || departs(departure::poll_selection_ignored)) return true;
  const auto found = changed_.find(controller.cntlid());
  const std::uint16_t changed = found == changed_.end() ? std::uint16_t{0} : found->second;
  const auto wants = [&](bool asked, std::uint16_t bits) { return asked && (changed & bits) != 0; };
  return wants(poll.get(cp::csts), change_bits::csts) || wants(poll.get(cp::ctemp), change_bits::ctemp) ||
         wants(poll.get(cp::pdlu), change_bits::pdlu) || wants(poll.get(cp::spare), change_bits::spare) ||
         wants(poll.get(cp::cwarn), change_bits::cwarn);
}

Bytes Agent::controller_health(const subsystem::Controller& controller) const {
  namespace ch = controller_health;
  const auto found = changed_.find(controller.cntlid());
  const std::uint16_t changed = found == changed_.end() ? std::uint16_t{0} : found->second;
  const auto csts = record_from_integer<fabrics::Csts>(controller.csts());
  const subsystem::Subsystem& subsystem = device_.subsystem();
  const unsigned off = departs(departure::poll_smart) ? 1u : 0u;
  Record<ControllerHealth> health;
  health.set(ch::ctlid, controller.cntlid())
      .set(ch::rdy, csts.get(fabrics::csts::rdy))
      .set(ch::cfs, csts.get(fabrics::csts::cfs))
      .set(ch::shst, csts.get(fabrics::csts::shst))
      .set(ch::nssro, csts.get(fabrics::csts::nssro))
      .set(ch::ceco, (changed & change_bits::ceco) != 0)
      .set(ch::nac, (changed & change_bits::nac) != 0)
      .set(ch::fa, (changed & change_bits::fa) != 0)
      .set(ch::ctemp, subsystem.temperature() + off)
      .set(ch::pdlu, subsystem.percentage_used())
      .set(ch::spare, subsystem.available_spare())
      .set(ch::cwarn, controller.smart_warning());
  if (device_.has(Revision::r2_0)) health.set(ch::chsc, changed);
  Bytes data{health.bytes().begin(), health.bytes().end()};
  if (departs(departure::health_reserved)) data.back() = 0x5A;
  return data;
}

void Agent::controller_health_poll(Exchange& exchange) {
  const auto poll = exchange.as<ControllerHealthPoll>();
  const auto maximum = poll.get(cp::maxrent);
  if (maximum.raw() == 0xFF && refuse(exchange, check::poll_entries)) return;
  const bool unlimited = departs(departure::poll_maximum_ignored);
  Bytes data;
  std::uint32_t entries = 0;
  for (const auto& [id, controller] : device_.subsystem().controllers()) {
    if (id < poll.get(cp::sctlid) || !selected(poll, *controller)) continue;
    if (entries >= maximum.count() && !unlimited) break;
    const Bytes entry = controller_health(*controller);
    data.insert(data.end(), entry.begin(), entry.end());
    ++entries;
    if (poll.get(cp::ccf) && !departs(departure::poll_not_cleared)) changed_.erase(id);
  }
  // Since 1.0a RENT counts the entries; before, it was one less where there was any.
  std::uint32_t rent = entries;
  if (!device_.has(Revision::r1_0a) && entries != 0) rent = entries - 1;
  if (departs(departure::poll_count) && rent != 0) --rent;
  finish(exchange, rent << kRentShift, data);
}

void Agent::clear_changes(std::uint32_t positions) {
  if (departs(departure::health_clears_wrong_bit)) {
    composite_ = static_cast<std::uint16_t>(composite_ & ~positions);
    return;
  }
  for (unsigned position = 0; position < kClearBits; ++position) {
    if ((positions >> position & 1) == 0) continue;
    composite_ = static_cast<std::uint16_t>(composite_ & ~change_bit_of_clear(position));
  }
}

}  // namespace fb::mi
