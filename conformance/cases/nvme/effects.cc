// What the Commands Supported and Effects log says of commands beside that they are there.
#include "conformance/cases/nvme/namespace_scene.h"
#include "conformance/cases/nvme/scene.h"

namespace fb::conformance {

namespace {

using nvme::AdminOpcode;
using nvme::IoOpcode;

constexpr IoOpcode kWriters[] = {IoOpcode::write, IoOpcode::write_zeroes, IoOpcode::copy};
constexpr AdminOpcode kErasers[] = {AdminOpcode::format_nvm, AdminOpcode::sanitize};
constexpr IoOpcode kReaders[] = {IoOpcode::read, IoOpcode::compare, IoOpcode::verify, IoOpcode::reservation_report};
constexpr AdminOpcode kAskers[] = {AdminOpcode::get_log_page, AdminOpcode::identify, AdminOpcode::get_features,
                                   AdminOpcode::keep_alive,   AdminOpcode::abort,    AdminOpcode::async_event_request};
constexpr AdminOpcode kMakers[] = {AdminOpcode::namespace_management, AdminOpcode::namespace_attachment};

const needs has_effects{claims_lpa<nvme::lpa_bits::commands_effects>};

std::optional<std::string> has_format(const Declared& declared) {
  const auto bit = nvme::oacs_bits::format_nvm;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oacs) & bit) != 0) return {};
  return "OACS bit 1 (Format NVM) is clear";
}

/// Commands of every kind that the log has something to say of.
const furnished more_commands{[](EmbeddedSetup& setup) {
  setup.subsystem.format = true;
  setup.subsystem.sanitize.block_erase = true;
  setup.subsystem.namespace_management.supported = true;
}};

class EffectsScene {
 public:
  EffectsScene(ControllerBench& bench, Check& check) : check_(check) {
    auto command = host::get_log(nvme::LogPage::commands_effects, nvme::CommandEffects::size);
    command.set(nvme::get_log_sqe::rae, true);
    const auto reply = bench.associate().admin().send(command, nvme::CommandEffects::size).wait();
    check.require_success(reply, "Get Log Page 05h");
    page_ = reply.data;
  }
  View<nvme::CommandEffect> of(IoOpcode opcode) const {
    return element<nvme::CommandEffect>(page_, nvme::command_effects::iocs, static_cast<unsigned>(opcode));
  }
  View<nvme::CommandEffect> of(AdminOpcode opcode) const {
    return element<nvme::CommandEffect>(page_, nvme::command_effects::acs, static_cast<unsigned>(opcode));
  }
  /// Of commands that are supported, and of no other.
  template <class Opcodes, class Field>
  void say(std::string_view name, const Opcodes& opcodes, const Field& field, bool expected) {
    for (const auto opcode : opcodes) {
      const View<nvme::CommandEffect> effect = of(opcode);
      if (!effect.get(nvme::command_effect::csupp)) continue;
      ++looked_;
      check_.equal(std::string(name) + " of " + std::string(name_of(opcode)), effect.get(field), expected);
    }
  }
  unsigned looked() const { return looked_; }

 private:
  static std::string_view name_of(IoOpcode opcode) { return nvme::io_opcode_name(static_cast<std::uint8_t>(opcode)); }
  static std::string_view name_of(AdminOpcode opcode) { return nvme::admin_opcode_name(static_cast<std::uint8_t>(opcode)); }
  Check& check_;
  Bytes page_;
  unsigned looked_ = 0;
};

}  // namespace

CONFORMANCE_CASE(effects_tell_who_changes_blocks, "nvme.log.effects-content", roles::controller, has_effects, needs(has_namespace),
                 more_commands) {
  EffectsScene scene(bench, check);
  scene.say("LBCC", kWriters, nvme::command_effect::lbcc, true);
  scene.say("LBCC", kErasers, nvme::command_effect::lbcc, true);
  scene.say("LBCC", kReaders, nvme::command_effect::lbcc, false);
  scene.say("LBCC", kAskers, nvme::command_effect::lbcc, false);
  check.precondition(scene.looked() > 0, "the log has commands");
}

CONFORMANCE_CASE(effects_tell_who_makes_namespaces, "nvme.log.effects-inventory", roles::controller, has_effects, needs(manages_namespaces),
                 more_commands) {
  EffectsScene scene(bench, check);
  scene.say("NIC", kMakers, nvme::command_effect::nic, true);
  check.precondition(scene.looked() > 0, "the log has Namespace Management or Namespace Attachment");
}

CONFORMANCE_CASE(effects_tell_that_format_changes_capabilities, "nvme.log.effects-capabilities", roles::controller, has_effects,
                 needs(has_format), more_commands) {
  constexpr AdminOpcode kFormat[] = {AdminOpcode::format_nvm};
  EffectsScene scene(bench, check);
  scene.say("NCC", kFormat, nvme::command_effect::ncc, true);
  check.precondition(scene.looked() > 0, "the log has Format NVM");
}

}  // namespace fb::conformance
