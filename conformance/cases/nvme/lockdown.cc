// Command and Feature Lockdown. What a case prohibits it allows again.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/cases/nvme/scene.h"
#include "conformance/runner/arranger.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/lockdown.h"

namespace fb::conformance {

namespace {

namespace ll = nvme::lockdown_log;
using nvme::LockdownContents;
using nvme::LockdownInterface;
using nvme::LockdownScope;

std::optional<std::string> locks_down(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oacs) & nvme::oacs_bits::lockdown) != 0) return {};
  return "OACS bit 10 (Command and Feature Lockdown) is clear";
}
std::optional<std::string> has_no_endpoint(const Declared& declared) {
  if (!declared.known || declared.identify().get(nvme::id_ctrl::mec) == 0) return {};
  return "MEC is not 0: there is a management endpoint";
}
void set_up(EmbeddedSetup& setup) {
  setup.subsystem.version = fabrics::version(2, 0, 0);
  setup.subsystem.lockdown = {};
  setup.subsystem.subsystem_reset = true;
}
const furnished having_lockdown{&set_up};
const arranges with_subsystem_resets{{Request::subsystem_reset}, &set_up}, with_losses_of_power{{Request::power_cycle}, &set_up};

class LockdownScene {
 public:
  LockdownScene(ControllerBench& bench, Check& check) : association(&bench.associate()), check_(check) {}

  host::RawReply say(LockdownScope scope, std::uint8_t code, bool prohibit, LockdownInterface where = LockdownInterface::admin_queue) {
    return association->admin().send(host::lockdown(scope, code, prohibit, where)).wait();
  }
  host::RawReply log_of(LockdownScope scope, LockdownContents contents) {
    auto command = host::get_log(nvme::LogPage::lockdown, 512);
    command.set(nvme::get_log_sqe::lsp, static_cast<unsigned>(scope) | static_cast<unsigned>(contents) << 4);
    return association->admin().send(command, 512).wait();
  }
  std::vector<std::uint8_t> list(LockdownScope scope, LockdownContents contents) {
    const auto reply = log_of(scope, contents);
    check_.require_success(reply, "Get Log Page 14h");
    const std::size_t length = reply.data[ll::lngth.offset];
    const auto from = reply.data.begin() + ll::cfil.offset;
    return {from, from + static_cast<std::ptrdiff_t>(length)};
  }
  /// Something that can be prohibited; INCONCLUSIVE without. Lockdown itself could not be undone.
  std::uint8_t any(LockdownScope scope) {
    for (const std::uint8_t code : list(scope, LockdownContents::prohibitable)) {
      const bool itself = scope == LockdownScope::admin_command && code == static_cast<std::uint8_t>(nvme::AdminOpcode::lockdown);
      if (!itself) return code;
    }
    check_.precondition(false, "something can be prohibited");
    return 0;
  }
  void prohibit(LockdownScope scope, std::uint8_t code) { check_.precondition_success(say(scope, code, true), "Lockdown"); }
  void allow(LockdownScope scope, std::uint8_t code) { check_.precondition_success(say(scope, code, false), "Lockdown that allows"); }
  /// A command of that opcode, in a form that would do no harm: a namespace that cannot be, or nothing to do.
  host::RawReply try_command(std::uint8_t opcode) { return association->admin().send(host::any_command(opcode, 0xFFFFFFFE)).wait(); }
  /// Sets a feature to what it is.
  host::RawReply try_feature(std::uint8_t fid) {
    const auto now = association->admin().send(host::get_features(fid)).wait();
    auto command = host::set_features(fid, now.ok() ? now.dw0() : 0);
    return association->admin().send(command).wait();
  }

  RawAssociation* association;

 private:
  Check& check_;
};

constexpr auto kCommand = LockdownScope::admin_command;
constexpr auto kFeature = LockdownScope::set_features;

bool refused(const host::RawReply& reply) { return nvme::same_code(reply.status(), sc::prohibited_by_lockdown); }

}  // namespace

CONFORMANCE_CASE(lockdown_has_its_log, "nvme.lockdown.claim", roles::controller, needs(locks_down), having_lockdown) {
  LockdownScene scene(bench, check);
  check.success(scene.log_of(kCommand, LockdownContents::prohibitable), "Get Log Page 14h");
}

CONFORMANCE_CASE(lockdown_log_repeats_its_selection, "nvme.lockdown.log.selection", roles::controller, needs(locks_down), having_lockdown) {
  LockdownScene scene(bench, check);
  for (const LockdownScope scope : {kCommand, kFeature}) {
    for (const auto contents : {LockdownContents::prohibitable, LockdownContents::prohibited_in_band}) {
      const auto reply = scene.log_of(scope, contents);
      check.require_success(reply, "Get Log Page 14h");
      check.equal("byte 0", unsigned{reply.data[0]}, static_cast<unsigned>(scope) | static_cast<unsigned>(contents) << 4);
    }
  }
}

CONFORMANCE_CASE(lockdown_lists_ascend, "nvme.lockdown.log.order", roles::controller, needs(locks_down), having_lockdown) {
  LockdownScene scene(bench, check);
  for (const LockdownScope scope : {kCommand, kFeature}) {
    const auto codes = scene.list(scope, LockdownContents::prohibitable);
    const bool ascends = std::adjacent_find(codes.begin(), codes.end(), std::greater_equal<>()) == codes.end();
    check.that(ascends, "the list ascends", to_hex(codes));
  }
}

CONFORMANCE_CASE(lockdown_lists_what_is_prohibited, "nvme.lockdown.log.prohibited", roles::controller, needs(locks_down), having_lockdown) {
  LockdownScene scene(bench, check);
  const std::uint8_t code = scene.any(kCommand);
  scene.prohibit(kCommand, code);
  const auto codes = scene.list(kCommand, LockdownContents::prohibited_in_band);
  check.that(std::find(codes.begin(), codes.end(), code) != codes.end(), "the opcode is listed", to_hex(codes));
  scene.allow(kCommand, code);
  // Of several each is allowed by itself.
  for (const LockdownScope scope : {kCommand, kFeature}) {
    const auto before = scene.list(scope, LockdownContents::prohibited_in_band);
    std::vector<std::uint8_t> several;
    for (const std::uint8_t one : scene.list(scope, LockdownContents::prohibitable)) {
      const bool needed = scope == kCommand && (one == static_cast<std::uint8_t>(nvme::AdminOpcode::lockdown) ||
                                                one == static_cast<std::uint8_t>(nvme::AdminOpcode::get_log_page));
      const bool free = std::find(before.begin(), before.end(), one) == before.end();
      if (!needed && free && several.size() < 3) several.push_back(one);
    }
    for (const std::uint8_t one : several) scene.prohibit(scope, one);
    while (!several.empty()) {
      auto expected = before;
      expected.insert(expected.end(), several.begin(), several.end());
      std::sort(expected.begin(), expected.end());
      const auto now = scene.list(scope, LockdownContents::prohibited_in_band);
      check.that(now == expected, fmt::format("{} that were prohibited are listed, and no other", several.size()), to_hex(now));
      scene.allow(scope, several.front());
      several.erase(several.begin());
    }
    const auto after = scene.list(scope, LockdownContents::prohibited_in_band);
    check.that(after == before, "none that was allowed again is listed", to_hex(after));
  }
}

CONFORMANCE_CASE(locked_commands_are_refused, "nvme.lockdown.command", roles::controller, needs(locks_down), having_lockdown,
                 reaches{"lockdown.command"}) {
  LockdownScene scene(bench, check);
  const std::uint8_t code = scene.any(kCommand);
  scene.prohibit(kCommand, code);
  check.status(scene.try_command(code), sc::prohibited_by_lockdown);
  scene.allow(kCommand, code);
}

CONFORMANCE_CASE(other_commands_are_not_locked, "nvme.lockdown.command.others", roles::controller, needs(locks_down), having_lockdown) {
  LockdownScene scene(bench, check);
  const std::uint8_t code = scene.any(kCommand);
  scene.prohibit(kCommand, code);
  const auto reply = scene.association->admin().send(host::identify(nvme::Cns::controller), 4096).wait();
  if (code != static_cast<std::uint8_t>(nvme::AdminOpcode::identify)) check.success(reply, "Identify Controller");
  scene.allow(kCommand, code);
}

CONFORMANCE_CASE(allowed_commands_are_executed, "nvme.lockdown.allow", roles::controller, needs(locks_down), having_lockdown) {
  LockdownScene scene(bench, check);
  const std::uint8_t code = scene.any(kCommand);
  scene.prohibit(kCommand, code);
  check.precondition(refused(scene.try_command(code)), "the command is prohibited");
  if (!check.success(scene.say(kCommand, code, false), "Lockdown that allows")) return;
  const auto reply = scene.try_command(code);
  check.that(!refused(reply), "the command is prohibited no more", nvme::to_string(reply.status()));
}

CONFORMANCE_CASE(locked_features_are_refused, "nvme.lockdown.feature", roles::controller, needs(locks_down), having_lockdown,
                 reaches{"lockdown.feature"}) {
  LockdownScene scene(bench, check);
  const std::uint8_t fid = scene.any(kFeature);
  scene.prohibit(kFeature, fid);
  check.status(scene.try_feature(fid), sc::prohibited_by_lockdown);
  scene.allow(kFeature, fid);
}

CONFORMANCE_CASE(locked_features_can_be_read, "nvme.lockdown.feature.read", roles::controller, needs(locks_down), having_lockdown) {
  LockdownScene scene(bench, check);
  const std::uint8_t fid = scene.any(kFeature);
  const auto get = [&] { return scene.association->admin().send(host::get_features(fid)).wait(); };
  check.precondition_success(get(), "Get Features before");
  scene.prohibit(kFeature, fid);
  check.success(get(), "Get Features");
  scene.allow(kFeature, fid);
}

CONFORMANCE_CASE(lockdown_refuses_what_it_cannot_prohibit, "nvme.lockdown.code", roles::controller, needs(locks_down), having_lockdown,
                 reaches{"lockdown.code"}) {
  LockdownScene scene(bench, check);
  const auto codes = scene.list(kCommand, LockdownContents::prohibitable);
  unsigned code = 0;
  while (code < 256 && std::find(codes.begin(), codes.end(), static_cast<std::uint8_t>(code)) != codes.end()) ++code;
  check.precondition(code < 256, "an opcode cannot be prohibited");
  check.status(scene.say(kCommand, static_cast<std::uint8_t>(code), true), sc::lockdown_not_supported);
}

CONFORMANCE_CASE(lockdown_can_be_repeated, "nvme.lockdown.again", roles::controller, needs(locks_down), having_lockdown) {
  LockdownScene scene(bench, check);
  const std::uint8_t code = scene.any(kCommand);
  scene.prohibit(kCommand, code);
  check.success(scene.say(kCommand, code, true), "prohibiting again");
  scene.allow(kCommand, code);
  check.success(scene.say(kCommand, code, false), "allowing again");
}

CONFORMANCE_CASE(lockdown_needs_an_endpoint_to_bind, "nvme.lockdown.interface", roles::controller, needs(locks_down),
                 needs(has_no_endpoint), having_lockdown, reaches{"lockdown.endpoint"}) {
  LockdownScene scene(bench, check);
  const std::uint8_t code = scene.any(kCommand);
  check.status(scene.say(kCommand, code, true, LockdownInterface::both), sc::invalid_field, "IFC 01b");
  check.status(scene.say(kCommand, code, true, LockdownInterface::out_of_band), sc::invalid_field, "IFC 10b");
}

CONFORMANCE_CASE(lockdown_of_pcie_commands_is_out_of_band, "nvme.lockdown.pcie", roles::controller, needs(locks_down), having_lockdown,
                 reaches{"lockdown.scope"}) {
  LockdownScene scene(bench, check);
  check.status(scene.say(LockdownScope::pcie_command, 0, true), sc::invalid_field);
}

CONFORMANCE_CASE(lockdown_binds_every_controller, "nvme.lockdown.controllers", roles::controller, needs(locks_down), having_lockdown) {
  LockdownScene scene(bench, check);
  LockdownScene other(bench, check);
  const std::uint8_t code = scene.any(kCommand);
  scene.prohibit(kCommand, code);
  check.status(other.try_command(code), sc::prohibited_by_lockdown, "the command at another controller");
  scene.allow(kCommand, code);
}

CONFORMANCE_CASE(lockdown_survives_resets, "nvme.lockdown.reset", roles::controller, needs(locks_down), with_subsystem_resets) {
  LockdownScene scene(bench, check);
  const std::uint8_t code = scene.any(kCommand);
  scene.prohibit(kCommand, code);
  scene.association->disable();
  scene.association->enable();
  check.status(scene.try_command(code), sc::prohibited_by_lockdown, "the command after a controller reset");
  bench.arranger().subsystem_reset();
  bench.world().run_for(kSettled);
  scene.association = &bench.associate();
  check.status(scene.try_command(code), sc::prohibited_by_lockdown, "the command after an NVM subsystem reset");
}

CONFORMANCE_CASE(lockdown_ends_with_the_power, "nvme.lockdown.power", roles::controller, needs(locks_down), with_losses_of_power) {
  LockdownScene scene(bench, check);
  const std::uint8_t code = scene.any(kCommand);
  scene.prohibit(kCommand, code);
  bench.arranger().power_cycle();
  bench.world().run_for(kSettled);
  scene.association = &bench.associate();
  const auto reply = scene.try_command(code);
  check.that(!refused(reply), "the command is prohibited no more", nvme::to_string(reply.status()));
}

CONFORMANCE_CASE(lockdown_refuses_reserved_values, "nvme.lockdown.reserved", roles::controller, needs(locks_down), having_lockdown,
                 reaches{"lockdown.scope", "lockdown.interface"}) {
  LockdownScene scene(bench, check);
  const std::uint8_t code = scene.any(kCommand);
  const auto judge = [&](LockdownScope scope, LockdownInterface where, std::string_view what) {
    const auto reply = scene.say(scope, code, true, where);
    check.refused(reply, what);
    if (reply.ok()) scene.say(scope, code, false, where);
  };
  judge(static_cast<LockdownScope>(9), LockdownInterface::admin_queue, "SCP 9h");
  judge(kCommand, static_cast<LockdownInterface>(3), "IFC 11b");
}

CONFORMANCE_CASE(lockdown_log_refuses_reserved_scopes, "nvme.lockdown.log.reserved", roles::controller, needs(locks_down), having_lockdown,
                 reaches{"log.lockdown.selection"}) {
  LockdownScene scene(bench, check);
  check.precondition_success(scene.log_of(kCommand, LockdownContents::prohibitable), "Get Log Page 14h");
  const auto reply = scene.log_of(static_cast<LockdownScope>(9), LockdownContents::prohibitable);
  check.refused(reply, "Get Log Page 14h of scope 9h");
}

CONFORMANCE_CASE(every_code_is_prohibitable_or_refused, "nvme.lockdown.code", roles::controller, needs(locks_down), having_lockdown,
                 reaches{"lockdown.code"}) {
  LockdownScene scene(bench, check);
  for (const LockdownScope scope : {kCommand, kFeature}) {
    const auto codes = scene.list(scope, LockdownContents::prohibitable);
    const auto before = scene.list(scope, LockdownContents::prohibited_in_band);
    const auto holds = [](const std::vector<std::uint8_t>& list, std::uint8_t code) {
      return std::find(list.begin(), list.end(), code) != list.end();
    };
    for (unsigned number = 0; number < 256; ++number) {
      const auto code = static_cast<std::uint8_t>(number);
      // Lockdown itself could not be undone, and what somebody else prohibited stays.
      const bool itself = scope == kCommand && code == static_cast<std::uint8_t>(nvme::AdminOpcode::lockdown);
      if (itself || holds(before, code)) continue;
      const std::string what = (scope == kCommand ? "opcode " : "feature ") + words(number);
      const auto reply = scene.say(scope, code, true);
      if (!holds(codes, code)) {
        check.status(reply, sc::lockdown_not_supported, "Lockdown of " + what + ", which is not listed");
      } else if (check.success(reply, "Lockdown of " + what + ", which is listed")) {
        auto expected = before;
        expected.insert(std::lower_bound(expected.begin(), expected.end(), code), code);
        const auto now = scene.list(scope, LockdownContents::prohibited_in_band);
        check.that(now == expected, what + " is listed as prohibited, and no other", to_hex(now));
        // A product that executes it all the same may be a real one.
        const bool readable = scope == kFeature && scene.association->admin().send(host::get_features(code)).wait().ok();
        if (readable) check.status(scene.try_feature(code), sc::prohibited_by_lockdown, "Set Features of prohibited " + what);
        if (scope == kCommand && bench.embedded()) {
          check.status(scene.try_command(code), sc::prohibited_by_lockdown, "command with prohibited " + what);
        }
      }
      if (reply.ok()) scene.allow(scope, code);
    }
  }
}

}  // namespace fb::conformance
