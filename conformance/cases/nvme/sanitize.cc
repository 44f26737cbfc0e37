// Sanitize: what it takes, what it does to data, what its log tells.
#include <fmt/format.h>

#include "conformance/cases/nvme/kv_scene.h"
#include "conformance/cases/nvme/sanitize_scene.h"
#include "wire/nvme/events.h"
#include "wire/nvme/features.h"

namespace fb::conformance {

namespace {

namespace sl = nvme::sanitize_log;
namespace sz = nvme::sanitize_sqe;
using nvme::SanitizeAction;
using nvme::SanitizeState;

const arranged with_inhibited_deallocation{"a product that always deallocates what it sanitized",
                                           [](EmbeddedSetup& setup) { setup.subsystem.sanitize.no_deallocate_inhibited = true; }};
const arranged without_overwrite{"a product without overwrite", [](EmbeddedSetup& setup) { setup.subsystem.sanitize.overwrite = false; }};
const arranged of_version_2_1{"a product of version 2.1 that can be sanitized", [](EmbeddedSetup& setup) {
                                setup.subsystem.version = fabrics::version(2, 1, 0);
                                setup.subsystem.sanitize = {};
                              }};

/// Which controller announces the end is asked only of products whose specification is known to say so.
std::optional<std::string> says_who_announces(const Declared& declared) {
  if (!declared.known || declared.version_at_least(2, 1)) return {};
  return "VS is below 2.1";
}

/// What the operation named leaves of the data of a namespace.
void erases(ControllerBench& bench, Check& check, const Record<nvme::SanitizeSqe>& command) {
  Sanitizing host(bench, check);
  const Bytes first = host.manager.prepare(bench.nsid(), 0x35);
  const Bytes later = host.manager.prepare(bench.nsid(), 0x77, 1000);
  if (!check.success(host.sanitize(command), "Sanitize")) return;
  check.require(host.ended(), "the operation ends");
  for (const auto& [lba, data] : {std::pair{0u, &first}, std::pair{1000u, &later}}) {
    for (unsigned i = 0; i < 8; ++i) {
      const ByteView block = ByteView{*data}.subspan(i * kFirstBlockBytes, kFirstBlockBytes);
      is_gone(check, host.manager.read(bench.nsid(), lba + i, 1), block, "block " + std::to_string(lba + i));
    }
  }
}

Record<nvme::SanitizeSqe> overwrite(unsigned passes) {
  auto command = host::sanitize(SanitizeAction::overwrite);
  command.set(sz::owpass, passes).set(sz::ovrpat, 0x5AA5C33Cu);
  return command;
}
Record<nvme::SanitizeSqe> without_deallocation(Sanitizing& host) {
  auto command = host::sanitize(host.any());
  command.set(sz::ndas, true);
  return command;
}

std::uint32_t sanicap_of(RawAssociation& association, Check& check) {
  const auto reply = association.admin().send(host::identify(nvme::Cns::controller), 4096).wait();
  check.precondition_success(reply, "Identify Controller");
  return View<nvme::IdentifyController>{reply.data}.get(nvme::id_ctrl::sanicap);
}

}  // namespace

CONFORMANCE_CASE(sanitize_is_claimed_with_its_log, "nvme.sanitize.claim", roles::controller,
                 needs(claims_lpa<nvme::lpa_bits::commands_effects>)) {
  RawAssociation& association = bench.associate();
  const auto effects = association.admin().send(host::get_log(nvme::LogPage::commands_effects, 4096), nvme::CommandEffects::size).wait();
  check.precondition_success(effects, "Get Log Page");
  const auto opcode = static_cast<std::uint8_t>(nvme::AdminOpcode::sanitize);
  const bool command = element<nvme::CommandEffect>(effects.data, nvme::command_effects::acs, opcode).get(nvme::command_effect::csupp);
  const auto kind = nvme::sanicap_bits::crypto_erase | nvme::sanicap_bits::block_erase | nvme::sanicap_bits::overwrite;
  const bool kinds = (sanicap_of(association, check) & kind) != 0;
  check.equal("a kind of operation in SANICAP, as the command is supported", kinds, command);
  if (!command) return;
  check.success(association.admin().send(host::get_log(nvme::LogPage::sanitize_status, 512), 512).wait(), "Get Log Page 81h");
}

CONFORMANCE_CASE(sanitize_kinds_are_of_the_subsystem, "nvme.sanitize.claim.same", roles::controller, with_sanitize, needs(sanitizes)) {
  RawAssociation& association = bench.associate();
  RawAssociation& other = bench.associate({.hostnqn = std::string(kOtherHost)});
  const std::uint32_t mine = sanicap_of(association, check);
  check.equal("SANICAP of another controller", sanicap_of(other, check), mine);
}

CONFORMANCE_CASE(sanitize_progress_without_operation, "nvme.sanitize.log.idle", roles::controller, needs(sanitizes)) {
  RawAssociation& association = bench.associate();
  const auto reply = association.admin().send(host::get_log(nvme::LogPage::sanitize_status, 512), 512).wait();
  check.require_success(reply, "Get Log Page");
  const View<nvme::SanitizeLog> log{reply.data};
  check.precondition(log.get(sl::sos) != SanitizeState::in_progress, "no operation runs");
  check.equal("SPROG", log.get(sl::sprog), nvme::kSanitizeNoProgress);
}

CONFORMANCE_CASE(sanitize_refuses_a_reserved_action, "nvme.sanitize.action.reserved", roles::controller, needs(sanitizes),
                 reaches{"sanitize.action"}) {
  RawAssociation& association = bench.associate();
  for (const unsigned action : {0u, 6u, 7u}) {
    check.status(association.admin().send(host::sanitize(static_cast<SanitizeAction>(action))).wait(), sc::invalid_field,
                 "action " + std::to_string(action));
  }
}

CONFORMANCE_CASE(sanitize_refuses_what_it_does_not_claim, "nvme.sanitize.action.unsupported", roles::controller, without_overwrite,
                 needs(sanitizes), reaches{"sanitize.action"}) {
  RawAssociation& association = bench.associate();
  const std::uint32_t kinds = sanicap_of(association, check);
  check.precondition((kinds & nvme::sanicap_bits::overwrite) == 0, "SANICAP bit 2 (overwrite) is clear");
  const auto reply = association.admin().send(host::sanitize(SanitizeAction::overwrite)).wait();
  check.status(reply, sc::invalid_field);
}

CONFORMANCE_CASE(block_erase_erases, "nvme.sanitize.block-erase", roles::controller, with_sanitize,
                 needs(sanitizes_by<nvme::sanicap_bits::block_erase>)) {
  erases(bench, check, host::sanitize(SanitizeAction::block_erase));
}
CONFORMANCE_CASE(crypto_erase_erases, "nvme.sanitize.crypto-erase", roles::controller, with_sanitize,
                 needs(sanitizes_by<nvme::sanicap_bits::crypto_erase>)) {
  erases(bench, check, host::sanitize(SanitizeAction::crypto_erase));
}
CONFORMANCE_CASE(overwrite_erases, "nvme.sanitize.overwrite", roles::controller, with_sanitize,
                 needs(sanitizes_by<nvme::sanicap_bits::overwrite>)) {
  erases(bench, check, overwrite(1));
}

CONFORMANCE_CASE(sanitize_reaches_every_namespace, "nvme.sanitize.all-namespaces", roles::controller, with_sanitize, needs(sanitizes)) {
  Sanitizing host(bench, check);
  const Bytes attached = host.manager.prepare(bench.nsid(), 0x12);
  const std::uint32_t hidden = host.manager.made_and_attached();
  const Bytes detached = host.manager.prepare(hidden, 0x13);
  check.precondition_success(host.manager.detach(hidden, {host.manager.cntlid()}), "detachment");
  host.run();
  is_gone(check, host.manager.read(bench.nsid(), 0, 8), attached, "the data of an attached namespace");
  check.precondition_success(host.manager.attach(hidden, {host.manager.cntlid()}), "Namespace Attachment");
  is_gone(check, host.manager.read(hidden, 0, 8), detached, "the data of a detached namespace");
}

CONFORMANCE_CASE(sanitize_log_names_the_operation, "nvme.sanitize.log.running", roles::controller, with_sanitize, needs(sanitizes)) {
  Sanitizing host(bench, check);
  host.begin();
  check.require(host.state() == SanitizeState::in_progress, "the log says that an operation runs");
}

CONFORMANCE_CASE(sanitize_log_tells_the_progress, "nvme.sanitize.log.progress", roles::controller, with_sanitize, needs(sanitizes)) {
  Sanitizing host(bench, check);
  host.begin();
  std::uint16_t last = 0;
  bool moved = false;
  for (int i = 0; i < 100; ++i) {
    const auto log = host.log();
    if (log.get(sl::sos) != SanitizeState::in_progress) break;
    const std::uint16_t now = log.get(sl::sprog);
    check.that(now >= last, "SPROG does not go back", words(now) + " after " + words(last));
    check.that(now != nvme::kSanitizeNoProgress, "SPROG is below FFFFh while the operation runs");
    moved = moved || now > last;
    last = now;
    bench.world().run_for(Duration::ms(500));
  }
  check.that(moved, "SPROG rises");
  // Of an operation that takes long: the time of its first part is not that of the whole.
  if (!bench.virtual_time() || sanitizes_by<nvme::sanicap_bits::overwrite>(bench.declared())) return;
  check.precondition(host.ended(), "the operation ends");
  host.begin(overwrite(3));
  std::vector<std::uint16_t> seen;
  for (int i = 0; i < 2000; ++i) {
    const auto log = host.log();
    if (log.get(sl::sos) != SanitizeState::in_progress) break;
    seen.push_back(log.get(sl::sprog));
    bench.world().run_for(Duration::ms(500));
  }
  if (seen.size() < 8) return;
  check.that(seen.back() > seen[seen.size() / 2], "SPROG of Overwrite rises in its second half", "it stays at " + words(seen.back()));
  check.that(seen[seen.size() / 4] < 0xC000, "SPROG is below three quarters after a quarter of the time", words(seen[seen.size() / 4]));
}

CONFORMANCE_CASE(sanitize_progress_is_of_65536, "nvme.sanitize.log.progress-unit", roles::controller, with_sanitize, needs(sanitizes)) {
  // So many looks at an operation cannot all fall into its first six hundredths of a second.
  constexpr unsigned kLooks = 20;
  constexpr std::uint16_t kHundred = 100;
  Sanitizing host(bench, check);
  host.begin();
  unsigned looks = 0;
  std::uint16_t most = 0;
  for (unsigned i = 0; i < 2000; ++i) {
    const auto log = host.log();
    if (log.get(sl::sos) != SanitizeState::in_progress) break;
    ++looks;
    most = std::max(most, log.get(sl::sprog));
    bench.world().run_for(Duration::ms(100));
  }
  check.precondition(looks >= kLooks, "the operation lasts long enough to be looked at");
  check.that(most > kHundred, "SPROG counts to 65,536", words(most) + " is the most that was seen");
}

CONFORMANCE_CASE(sanitize_log_tells_the_end, "nvme.sanitize.log.completed", roles::controller, with_sanitize, needs(sanitizes)) {
  Sanitizing host(bench, check);
  host.run();
  const auto log = host.log();
  check.require(log.get(sl::sos) == SanitizeState::completed || log.get(sl::sos) == SanitizeState::completed_deallocated,
                "the log says that the operation succeeded");
  check.equal("SPROG", log.get(sl::sprog), nvme::kSanitizeNoProgress);
}

CONFORMANCE_CASE(sanitize_log_holds_the_command, "nvme.sanitize.log.command", roles::controller, with_sanitize, needs(sanitizes)) {
  Sanitizing host(bench, check);
  auto command = host::sanitize(host.any());
  command.set(sz::ause, true);
  host.begin(command);
  const std::uint32_t expected = View<nvme::SqeLayout>{command.bytes()}.get(nvme::sqe::cdw10);
  check.equal("SCDW10 while the operation runs", host.log().get(sl::scdw10), expected);
  check.precondition(host.ended(), "the operation ends");
  check.equal("SCDW10 after the operation", host.log().get(sl::scdw10), expected);
}

CONFORMANCE_CASE(sanitize_log_counts_the_passes, "nvme.sanitize.log.passes", roles::controller, with_sanitize,
                 needs(sanitizes_by<nvme::sanicap_bits::overwrite>)) {
  Sanitizing host(bench, check);
  for (const unsigned passes : {3u, 0u}) {
    host.run(overwrite(passes));
    check.equal("completed passes", host.log().get(sl::passes), passes == 0 ? nvme::kOverwritePassesMax : passes);
  }
}

CONFORMANCE_CASE(sanitize_log_tells_of_erased_data, "nvme.sanitize.log.erased", roles::controller, with_sanitize, key_value_namespaces,
                 needs(sanitizes)) {
  Sanitizing host(bench, check);
  host.manager.prepare(bench.nsid(), 0x11);
  check.equal("GDE after a write", host.log().get(sl::gde), false);
  host.run();
  check.equal("GDE after the operation", host.log().get(sl::gde), true);
  host.manager.prepare(bench.nsid(), 0x12);
  check.equal("GDE after the next write", host.log().get(sl::gde), false);
  if (has_pairs(bench.declared())) return;
  KvScene scene(bench, check);
  host.run();
  check.precondition(host.log().get(sl::gde), "GDE is 1 after the next operation");
  scene.put(key_of(0x13, 4), 0x13);
  check.equal("GDE after a Store", host.log().get(sl::gde), false);
}

CONFORMANCE_CASE(sanitize_end_is_announced, "nvme.sanitize.event", roles::controller, with_sanitize, needs(sanitizes)) {
  Sanitizing host(bench, check);
  auto request = host.manager.admin().send(host::async_event_request());
  host.begin();
  const auto event = request.wait_for(kSanitizeLimit);
  check.require(event.has_value(), "an event comes");
  check.equal("event", event->dw0() & 0xFFFFFF, 0x810106u);
}

CONFORMANCE_CASE(sanitize_end_is_announced_by_one, "nvme.sanitize.event.one", roles::controller, of_version_2_1, needs(sanitizes),
                 needs(says_who_announces)) {
  Sanitizing host(bench, check);
  Manager other(bench, check, {.hostnqn = std::string(kOtherHost)});
  auto request = other.admin().send(host::async_event_request());
  host.run();
  const auto event = request.wait_for(kSilence);
  const auto of_sanitize = [](std::uint32_t dw0) {
    return nvme::Event::from_dw0(dw0).type == nvme::EventType::command_set && (dw0 >> 16 & 0xFF) == 0x81;
  };
  check.that(!event || !of_sanitize(event->dw0()), "no event comes at another controller", "one came");
  if (event) return;
  // The other way round: the controller that was connected later begins the operation.
  auto first = host.manager.admin().send(host::async_event_request());
  check.precondition_success(other.admin().send(host::sanitize(host.any())).wait(), "Sanitize of the other controller");
  check.precondition(host.ended(), "the operation of the other controller ends");
  const auto announced = request.wait_for(kSoon);
  check.that(announced && of_sanitize(announced->dw0()), "an event comes at the controller that began the operation", "none came");
  const auto strange = first.wait_for(kSilence);
  check.that(!strange || !of_sanitize(strange->dw0()), "no event comes at the controller that did not begin it", "one came");
}

CONFORMANCE_CASE(sanitize_refused_changes_nothing, "nvme.sanitize.refused.nothing", roles::controller, with_sanitize, needs(sanitizes)) {
  Sanitizing host(bench, check);
  const Bytes data = host.manager.prepare(bench.nsid(), 0x41);
  const auto before = host.log();
  auto command = host::sanitize(static_cast<SanitizeAction>(7));
  check.precondition(!host.sanitize(command).ok(), "a reserved action is refused");
  check.bytes("the log", host.log().bytes(), before.bytes());
  const auto read = host.manager.read(bench.nsid(), 0, 8);
  if (check.success(read, "Read")) check.bytes("the data", read.data, data);
}

CONFORMANCE_CASE(sanitize_spares_protected_namespaces, "nvme.sanitize.write-protected", roles::controller, with_sanitize, needs(sanitizes),
                 reaches{"sanitize.write_protected"}) {
  Sanitizing host(bench, check);
  const Bytes data = host.manager.prepare(bench.nsid(), 0x42);
  bench.subsystem().find_namespace(bench.nsid())->set_write_protection(1);
  check.status(host.sanitize(host.any()), sc::namespace_write_protected);
  const auto read = host.manager.read(bench.nsid(), 0, 8);
  if (check.success(read, "Read")) check.bytes("the data", read.data, data);
}

CONFORMANCE_CASE(sanitize_waits_for_no_firmware, "nvme.sanitize.firmware-pending", roles::controller, with_sanitize, needs(sanitizes),
                 reaches{"sanitize.firmware_pending"}) {
  Sanitizing host(bench, check);
  const auto commit = host::firmware_commit(1, nvme::CommitAction::activate);
  check.precondition_success(host.manager.admin().send(commit).wait(), "Firmware Commit");
  check.refused(host.sanitize(host.any()), "Sanitize before the reset");
}

CONFORMANCE_CASE(sanitize_cannot_avoid_deallocation, "nvme.sanitize.no-deallocate", roles::controller, with_inhibited_deallocation,
                 needs(sanitizes), reaches{"sanitize.no_deallocate"}) {
  Sanitizing host(bench, check);
  check.status(host.sanitize(without_deallocation(host)), sc::invalid_field);
}

CONFORMANCE_CASE(sanitize_says_that_it_deallocated, "nvme.sanitize.no-deallocate.warning", roles::controller, with_inhibited_deallocation,
                 needs(sanitizes)) {
  Sanitizing host(bench, check);
  const auto set = host::set_features(nvme::FeatureId::sanitize_configuration, 1);
  if (!check.success(host.manager.admin().send(set).wait(), "Set Features, NODRM")) return;
  auto request = host.manager.admin().send(host::async_event_request());
  if (!check.success(host.sanitize(without_deallocation(host)), "Sanitize")) return;
  const auto event = request.wait_for(kSanitizeLimit);
  check.require(event.has_value(), "an event comes");
  check.equal("event", event->dw0() & 0xFFFFFF, 0x810206u);
  check.that(host.state() == SanitizeState::completed_deallocated, "the log says that blocks were deallocated");
}

CONFORMANCE_CASE(sanitize_keeps_its_estimates, "nvme.sanitize.estimates", roles::controller, with_sanitize, needs(sanitizes)) {
  Sanitizing host(bench, check);
  const auto log = host.log();
  const std::pair<SanitizeAction, std::uint32_t> kinds[] = {{SanitizeAction::block_erase, log.get(sl::etbe)},
                                                            {SanitizeAction::crypto_erase, log.get(sl::etce)},
                                                            {SanitizeAction::overwrite, log.get(sl::eto)}};
  const auto judge = [&](const Record<nvme::SanitizeSqe>& command, std::uint32_t seconds, std::string_view what) {
    if (seconds == nvme::kSanitizeNoEstimate) return;
    const Instant before = bench.world().now();
    host.run(command);
    const Duration took = bench.world().now() - before;
    check.that(took <= Duration::s(seconds) + Duration::s(1), fmt::format("{} ends within its estimate", what),
               to_string(took) + ", estimated " + words(seconds) + " s");
  };
  for (const auto& [action, seconds] : kinds) judge(host::sanitize(action), seconds, "the operation");
  if ((sanicap_of(host.manager.association, check) & nvme::sanicap_bits::no_deallocate_inhibited) != 0) return;
  const std::pair<SanitizeAction, std::uint32_t> kept[] = {{SanitizeAction::block_erase, log.get(sl::etbend)},
                                                           {SanitizeAction::crypto_erase, log.get(sl::etcend)},
                                                           {SanitizeAction::overwrite, log.get(sl::etond)}};
  for (const auto& [action, seconds] : kept) {
    auto command = host::sanitize(action);
    command.set(sz::ndas, true);
    judge(command, seconds, "the operation without deallocation");
  }
}

}  // namespace fb::conformance
