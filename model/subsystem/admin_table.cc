#include "model/subsystem/admin_table.h"

#include <algorithm>
#include <iterator>

#include "model/subsystem/controller.h"
#include "model/subsystem/discovery.h"
#include "model/subsystem/registration_fault_points.h"
#include "model/subsystem/subsystem.h"

namespace fb::subsystem {

using nvme::AdminOpcode;

namespace {

bool always(const Controller&) { return true; }

}  // namespace

const AdminCommand* AdminCommand::find(std::uint8_t opcode) {
  // Discovery controllers have few commands, and fewer without a keep alive timer (Base 2.1, 3.1.3.3).
  static constexpr auto nvm = [](const Controller& c) { return c.subsystem_.discovery() == nullptr; };
  static constexpr auto persistent = [](const Controller& c) { return nvm(c) || c.features_.kato_ms != 0; };
  static constexpr auto managed = [](const Controller& c) { return c.subsystem_.in_band_management() != nullptr; };
  static constexpr auto options = [](const Controller& c) -> const SubsystemOptions& { return c.subsystem_.options(); };
  static constexpr auto namespaces = [](const Controller& c) { return nvm(c) && options(c).namespace_management.supported; };
  static constexpr auto firmware = [](const Controller& c) { return nvm(c) && options(c).firmware_update.slots != 0; };
  static constexpr auto security = [](const Controller& c) { return nvm(c) && options(c).security; };
  static constexpr auto directives = [](const Controller& c) { return nvm(c) && options(c).directives.supported; };
  static constexpr auto registers = [](const Controller& c) {
    const DiscoveryService* const discovery = c.subsystem_.discovery();
    return discovery != nullptr ? discovery->central().registers : c.departs(departure::io_registers);
  };
  static constexpr auto centralized = [](const Controller& c) {
    return c.subsystem_.discovery() != nullptr && c.subsystem_.discovery()->central().centralized;
  };
  static constexpr auto zoning = [](Controller& c, const Command& command) { c.registration_.zoning(command); };
  static constexpr AdminEffects kInventory = {.inventory = true};
  static constexpr AdminCommand kCommands[] = {
      {AdminOpcode::get_log_page, always, [](Controller& c, const Command& command) { c.logs_.get_log_page(command); }},
      {AdminOpcode::identify, always, [](Controller& c, const Command& command) { c.identify_.identify(command); }, nullptr, true},
      {AdminOpcode::abort, nvm, [](Controller& c, const Command& command) { c.abort(command); }, nullptr, true},
      {AdminOpcode::set_features, persistent, [](Controller& c, const Command& command) { c.feature_commands_.set_features(command); },
       [](Controller& c, const Command& command) { c.feature_commands_.set_features_data(command); }, true},
      {AdminOpcode::get_features, persistent, [](Controller& c, const Command& command) { c.feature_commands_.get_features(command); },
       nullptr, true},
      {AdminOpcode::async_event_request, persistent, [](Controller& c, const Command& command) { c.event_request(command); }, nullptr,
       true},
      {AdminOpcode::keep_alive, [](const Controller& c) { return options(c).kas != 0 && persistent(c); },
       [](Controller& c, const Command& command) { c.keep_alive_.keep_alive(command); }, nullptr, true},
      {AdminOpcode::firmware_download, firmware, [](Controller& c, const Command& command) { c.firmware_.firmware_download(command); },
       [](Controller& c, const Command& command) { c.firmware_.firmware_download_data(command); }},
      {AdminOpcode::firmware_commit,
       firmware,
       [](Controller& c, const Command& command) { c.firmware_.firmware_commit(command); },
       nullptr,
       false,
       {.controller = true}},
      {AdminOpcode::format_nvm,
       [](const Controller& c) { return nvm(c) && options(c).format; },
       [](Controller& c, const Command& command) { c.format(command); },
       nullptr,
       false,
       {.content = true, .capability = true, .alone = true}},
      {AdminOpcode::security_send, security, [](Controller& c, const Command& command) { c.security_.security(command); },
       [](Controller& c, const Command& command) { c.security_.security_data(command); }},
      {AdminOpcode::security_receive, security, [](Controller& c, const Command& command) { c.security_.security(command); }},
      {AdminOpcode::namespace_management, namespaces,
       [](Controller& c, const Command& command) { c.namespace_commands_.namespace_management(command); },
       [](Controller& c, const Command& command) { c.namespace_commands_.namespace_management_data(command); }, false, kInventory},
      {AdminOpcode::namespace_attachment, namespaces,
       [](Controller& c, const Command& command) { c.namespace_commands_.namespace_attachment(command); },
       [](Controller& c, const Command& command) { c.namespace_commands_.namespace_attachment_data(command); }, false, kInventory},
      {AdminOpcode::sanitize,
       [](const Controller& c) { return nvm(c) && options(c).sanitize.supported(); },
       [](Controller& c, const Command& command) { c.sanitize_.sanitize(command); },
       nullptr,
       true /* it has rules of its own */,
       {.content = true}},
      {AdminOpcode::device_self_test, [](const Controller& c) { return nvm(c) && options(c).self_test.supported; },
       [](Controller& c, const Command& command) { c.self_test_.self_test(command); }},
      {AdminOpcode::directive_send, directives, [](Controller& c, const Command& command) { c.directives_.directive(command); }},
      {AdminOpcode::directive_receive, directives, [](Controller& c, const Command& command) { c.directives_.directive(command); }},
      {AdminOpcode::discovery_information_management, registers,
       [](Controller& c, const Command& command) { c.registration_.manage(command); },
       [](Controller& c, const Command& command) { c.registration_.manage_data(command); }},
      {AdminOpcode::fabric_zoning_receive, centralized, zoning},
      {AdminOpcode::fabric_zoning_lookup, centralized, zoning},
      {AdminOpcode::fabric_zoning_send, centralized, zoning},
      {AdminOpcode::lockdown, [](const Controller& c) { return nvm(c) && options(c).lockdown.supported && c.subsystem_.has_version(2, 0); },
       [](Controller& c, const Command& command) { c.lockdown_.lockdown(command); }},
      {AdminOpcode::capacity_management,
       [](const Controller& c) { return nvm(c) && options(c).endurance.managed && c.subsystem_.has_version(2, 0); },
       [](Controller& c, const Command& command) { c.capacity_.capacity_management(command); }, nullptr, false, kInventory},
      {AdminOpcode::cross_controller_reset, [](const Controller& c) { return c.cross_reset_.supported(); },
       [](Controller& c, const Command& command) { c.cross_reset_.execute(command); }, nullptr, true},
      {AdminOpcode::get_lba_status, [](const Controller& c) { return nvm(c) && options(c).lba_status.supported; },
       [](Controller& c, const Command& command) { c.lba_status_.get_lba_status(command); }},
      {AdminOpcode::nvme_mi_send, managed, [](Controller& c, const Command& command) { c.management_command(command); },
       [](Controller& c, const Command& command) { c.management_data(command); }, true},
      {AdminOpcode::nvme_mi_receive, managed, [](Controller& c, const Command& command) { c.management_command(command); }, nullptr, true},
      {AdminOpcode::fabrics, always, [](Controller&, const Command& command) { command.queue->complete(command, nvme::sc::success); },
       nullptr, true},
  };
  const auto* const found = std::find_if(std::begin(kCommands), std::end(kCommands),
                                         [&](const AdminCommand& one) { return static_cast<std::uint8_t>(one.opcode) == opcode; });
  return found != std::end(kCommands) ? found : nullptr;
}

}  // namespace fb::subsystem
