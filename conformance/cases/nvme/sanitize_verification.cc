// What a host may look at between a sanitize operation and its end: the verification of media.
#include "conformance/cases/nvme/sanitize_scene.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/events.h"

namespace fb::conformance {

namespace {

namespace sl = nvme::sanitize_log;
namespace sz = nvme::sanitize_sqe;
using nvme::SanitizeAction;
using nvme::SanitizePhase;
using nvme::SanitizeState;

void set_up_verification(EmbeddedSetup& setup) {
  setup.subsystem.version = fabrics::version(2, 1, 0);
  setup.subsystem.sanitize = {};
}
const arranged with_verification{"a product whose media can be verified after a sanitize operation", &set_up_verification};
// A product that took the command all the same would be erased.
const arranged without_verification{"a product that can be sanitized, without verification", [](EmbeddedSetup& setup) {
                                      set_up_verification(setup);
                                      setup.subsystem.sanitize.verification = false;
                                    }};

constexpr auto kVerification = nvme::sanicap_bits::verification;

std::optional<std::string> verifies_nothing(const Declared& declared) {
  if (declared.known && !declared.version_at_least(2, 1)) return "VS is below 2.1";
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::sanicap) & kVerification) == 0) return {};
  return "SANICAP bit 3 (verification) is set";
}

Record<nvme::SanitizeSqe> with_emvs(SanitizeAction action) {
  auto command = host::sanitize(action);
  command.set(sz::emvs, true);
  return command;
}

/// A host that has let blocks be erased that it wrote, and may look at the media.
class Verifying {
 public:
  Verifying(ControllerBench& bench, Check& check) : host(bench, check), bench_(bench), check_(check) {
    before = host.manager.prepare(bench.nsid(), 0x63);
  }
  void begin() { host.begin(with_emvs(SanitizeAction::block_erase)); }
  /// Until the media can be read.
  void enter() {
    begin();
    check_.precondition(reaches(SanitizePhase::media_verification), "the media can be verified");
  }
  SanitizePhase phase() { return host.log().get(sl::sans); }
  bool reaches(SanitizePhase wanted) {
    for (Duration waited; waited < kSanitizeLimit; waited = waited + Duration::ms(250)) {
      if (phase() == wanted) return true;
      bench_.world().run_for(Duration::ms(250));
    }
    return false;
  }

  Sanitizing host;
  Bytes before;

 private:
  ControllerBench& bench_;
  Check& check_;
};

std::uint32_t event_of(nvme::Event event) { return event.dw0(); }
constexpr nvme::Event kEntered{nvme::EventType::command_set, nvme::event_info::command_set_sanitize_media_verification, 0x81};
constexpr nvme::Event kCompleted{nvme::EventType::command_set, nvme::event_info::command_set_sanitize_completed, 0x81};

}  // namespace

CONFORMANCE_CASE(verification_needs_its_claim, "nvme.sanitize.verification.claim", roles::controller, without_verification,
                 needs(sanitizes_by<nvme::sanicap_bits::block_erase>), needs(verifies_nothing), reaches{"sanitize.verification"}) {
  const auto reply = bench.associate().admin().send(with_emvs(SanitizeAction::block_erase)).wait();
  check.status(reply, sc::invalid_field, "Sanitize with EMVS");
}

CONFORMANCE_CASE(verification_keeps_to_its_kinds, "nvme.sanitize.verification.combination", roles::controller, with_verification,
                 needs(sanitizes), reaches{"sanitize.verification.combination"}) {
  Sanitizing host(bench, check);
  check.status(host.sanitize(with_emvs(SanitizeAction::overwrite)), sc::invalid_field, "Overwrite with EMVS");
  auto kept = with_emvs(SanitizeAction::block_erase);
  kept.set(sz::ndas, true);
  check.status(host.sanitize(kept), sc::invalid_field, "Block Erase with EMVS and NDAS");
}

CONFORMANCE_CASE(verification_is_a_phase_of_its_own, "nvme.sanitize.verification.phase", roles::controller, with_verification,
                 needs(sanitizes)) {
  Verifying scene(bench, check);
  scene.begin();
  check.equal("SANS while it erases", scene.phase(), SanitizePhase::restricted_processing);
  bench.world().run_for(Duration::s(10));
  const auto log = scene.host.log();
  check.equal("SANS afterwards", log.get(sl::sans), SanitizePhase::media_verification);
  check.equal("status", log.get(sl::sos), SanitizeState::in_progress);
  check.equal("MVCNCLD", log.get(sl::mvcncld), false);
  check.precondition_success(scene.host.sanitize(SanitizeAction::exit_media_verification), "Sanitize, exit");
  check.that(scene.reaches(SanitizePhase::idle), "SANS is 0h at the end", "it is not");
}

CONFORMANCE_CASE(verification_is_announced, "nvme.sanitize.verification.event", roles::controller, with_verification, needs(sanitizes)) {
  Verifying scene(bench, check);
  auto request = scene.host.manager.admin().send(host::async_event_request());
  scene.begin();
  const auto event = request.wait_for(kSanitizeLimit);
  check.require(event.has_value(), "an event comes", "none comes");
  check.equal("event", event->dw0() & 0xFFFFFF, event_of(kEntered));
}

CONFORMANCE_CASE(verified_media_can_be_read, "nvme.sanitize.verification.read", roles::controller, with_verification, needs(sanitizes)) {
  Verifying scene(bench, check);
  scene.enter();
  const auto reply = scene.host.manager.read(bench.nsid(), 0, 8);
  const auto legal = one_of(sc::successful_media_verification_read, sc::deallocated_or_unwritten, sc::unrecovered_read_error);
  check.status(reply, legal, "Read");
  const bool same = std::equal(reply.data.begin(), reply.data.end(), scene.before.begin(), scene.before.end());
  check.that(reply.data.empty() || !same, "what was written is not read", "it is");
}

CONFORMANCE_CASE(verified_media_have_no_tags, "nvme.sanitize.verification.checks", roles::controller, with_verification, needs(sanitizes),
                 reaches{"sanitize.verification.checks"}) {
  Verifying scene(bench, check);
  scene.enter();
  auto command = host::read(bench.nsid(), 0, 8);
  command.set(nvme::rw_sqe::prchk_guard, true);
  const auto reply = scene.host.manager.io().send(command, scene.before.size()).wait();
  check.status(reply, sc::invalid_field, "Read with PRCHK");
}

CONFORMANCE_CASE(verified_media_cannot_be_written, "nvme.sanitize.verification.write", roles::controller, with_verification,
                 needs(sanitizes)) {
  Verifying scene(bench, check);
  scene.enter();
  check.status(scene.host.manager.write(bench.nsid(), 0, scene.before), sc::sanitize_in_progress, "Write");
}

CONFORMANCE_CASE(verification_admits_no_other_action, "nvme.sanitize.verification.again", roles::controller, with_verification,
                 needs(sanitizes), reaches{"sanitize.verification.again"}) {
  Verifying scene(bench, check);
  scene.enter();
  for (const SanitizeAction action : {SanitizeAction::block_erase, SanitizeAction::exit_failure_mode}) {
    check.status(scene.host.sanitize(action), sc::invalid_field, "action " + words(static_cast<unsigned>(action)));
  }
}

CONFORMANCE_CASE(verification_can_be_left, "nvme.sanitize.verification.exit", roles::controller, with_verification, needs(sanitizes)) {
  Verifying scene(bench, check);
  auto first = scene.host.manager.admin().send(host::async_event_request());
  scene.begin();
  check.precondition(first.wait_for(kSanitizeLimit).has_value(), "the beginning was announced");
  check.precondition(scene.reaches(SanitizePhase::media_verification), "the media can be verified");  // reads the log
  auto next = scene.host.manager.admin().send(host::async_event_request());
  check.require_success(scene.host.sanitize(SanitizeAction::exit_media_verification), "Sanitize, exit");
  const auto event = next.wait_for(kSanitizeLimit);
  check.require(event.has_value(), "the end is announced", "no event comes");
  check.equal("event", event->dw0() & 0xFFFFFF, event_of(kCompleted));
  check.equal("status", scene.host.state(), SanitizeState::completed);
  check.success(scene.host.manager.read(bench.nsid(), 0, 8), "Read");
}

CONFORMANCE_CASE(verification_is_left_where_it_is, "nvme.sanitize.verification.exit-nothing", roles::controller, with_verification,
                 needs(sanitizes), reaches{"sanitize.verification.exit"}) {
  Sanitizing host(bench, check);
  check.status(host.sanitize(SanitizeAction::exit_media_verification), sc::invalid_field,
               "Exit Media Verification State where there is none");
}

CONFORMANCE_CASE(reset_ends_the_verification, "nvme.sanitize.verification.reset", roles::controller, with_verification, needs(sanitizes)) {
  {
    Verifying scene(bench, check);
    scene.enter();
  }
  bench.subsystem().reset_subsystem();
  Sanitizing again(bench, check);
  const auto log = again.log();
  check.equal("MVCNCLD", log.get(sl::mvcncld), true);
  check.equal("SANS", log.get(sl::sans), one_of(SanitizePhase::post_verification_deallocation, SanitizePhase::idle));
}

}  // namespace fb::conformance
