// The keep alive timer.
#include "conformance/cases/fabrics/common.h"

namespace fb::conformance {

using namespace fabrics_cases;

namespace {

constexpr std::uint32_t kKatoMs = 2000;

/// The timeout as the controller keeps it.
Duration timeout_of(RawAssociation& association) {
  const host::RawReply reply = association.admin().send(host::get_features(nvme::FeatureId::keep_alive_timer)).wait();
  if (!reply.ok() || reply.dw0() == 0) throw CannotArrange{"there is no keep alive timeout to read"};
  return Duration::ms(reply.dw0());
}

host::RawReply send_keep_alive(Check& check, RawAssociation& association) {
  return answered(check, association.admin().send(host::keep_alive()).wait(), "Keep Alive");
}

/// Two timeouts, the time that the controller takes to clean up, and what a real network and a timer of
/// whole seconds may add to them before this side sees the end.
Duration latest_expiry(ControllerBench& bench, Duration timeout) {
  return timeout * 2 + Duration::ms(bench.declared().identify().get(nvme::id_ctrl::cqt)) + 1_s;
}

/// A controller that still cleans up after the association before may be busy for a while.
host::RawReply connect_when_free(Check& check, ControllerBench& bench) {
  host::RawReply reply = answered(check, try_connect(bench, bench.connect_command()));
  for (unsigned i = 0; i < 10 && nvme::same_code(reply.status(), sc::controller_busy); ++i) {
    bench.world().run_for(1_s);
    reply = answered(check, try_connect(bench, bench.connect_command()));
  }
  return reply;
}

/// What the timer was last set by.
enum class Beginning : std::uint8_t { connect, set_features, reset };
std::string name_of(Beginning beginning) {
  return beginning == Beginning::connect ? "set by Connect" : beginning == Beginning::reset ? "after a reset" : "set by Set Features";
}
/// An association with a short timeout; null where the product keeps none that is so short.
RawAssociation* begin_keep_alive(ControllerBench& bench, Beginning beginning) {
  const bool sets = beginning == Beginning::set_features;
  RawAssociation& association = bench.associate({.kato_ms = sets ? kKatoMs * 20 : kKatoMs});
  if (sets && !association.admin().send(host::set_features(nvme::FeatureId::keep_alive_timer, kKatoMs)).wait().ok()) return nullptr;
  if (beginning == Beginning::reset) {
    association.disable();
    association.enable();
  }
  const auto kept = association.admin().send(host::get_features(nvme::FeatureId::keep_alive_timer)).wait();
  const bool usable = beginning == Beginning::connect || (kept.ok() && kept.dw0() != 0 && kept.dw0() < kKatoMs * 4);
  return usable ? &association : nullptr;
}

void static_model(EmbeddedSetup& setup) { setup.subsystem.controllers = subsystem::ControllerModel::static_controllers; }

}  // namespace

CONFORMANCE_CASE(silence_ends_the_association, "fabrics.keep-alive.expires", roles::controller, needs{&keep_alive}, lasts{40_s},
                 reaches{"subsystem.keep_alive.expired"}) {
  for (const Beginning beginning : {Beginning::connect, Beginning::set_features, Beginning::reset}) {
    RawAssociation* const association = begin_keep_alive(bench, beginning);
    if (association == nullptr) continue;
    const std::string which = name_of(beginning);
    bench.step("the timeout " + which);
    const std::vector<host::RawQueue*> queues = open_queues(bench, *association);
    const Duration timeout = timeout_of(*association);
    const Instant before = bench.world().now();
    check.require_success(send_keep_alive(check, *association), "Keep Alive");
    const Instant after = bench.world().now();
    const auto end = association->admin().ended().wait_for(latest_expiry(bench, timeout));
    check.require(end.has_value(), "the connection ends within 2 x KATT + CQT, " + which, "it stays");
    check.that(bench.world().now() - before >= timeout, "the connection lasts for KATT, " + which,
               "it ended after " + to_string(bench.world().now() - after));
    for (host::RawQueue* const queue : queues) {
      check.that(queue->ended().wait_for(wait_limit(bench.world(), 1_s)).has_value(),
                 "the connection of I/O queue " + std::to_string(queue->options().qid) + " ends too, " + which, "it stays");
    }
  }
  bench.step("a discovery controller");
  const AssociationOptions persistent{.kato_ms = kKatoMs, .subnqn = std::string(fabrics::kDiscoveryNqn)};
  const bool offered = bench.declared().known ? bench.declared().discovery : bench.embedded();
  if (!offered || !try_connect(bench, bench.connect_command(persistent)).ok()) return;
  RawAssociation& association = bench.associate(persistent);
  const auto kept = association.admin().send(host::get_features(nvme::FeatureId::keep_alive_timer)).wait();
  if (!kept.ok() || kept.dw0() == 0 || kept.dw0() >= kKatoMs * 4) return;
  const auto end = association.admin().ended().wait_for(latest_expiry(bench, Duration::ms(kept.dw0())));
  check.that(end.has_value(), "the connection to a discovery controller with a keep alive timeout ends within 2 x KATT + CQT", "it stays");
}

CONFORMANCE_CASE(keep_alive_keeps_the_association, "fabrics.keep-alive.keeps", roles::controller, needs{&keep_alive}, lasts{20_s}) {
  RawAssociation& association = bench.associate({.kato_ms = kKatoMs});
  open_queues(bench, association);
  const Duration timeout = timeout_of(association);
  for (unsigned i = 0; i < 10; ++i) {
    const Instant last = bench.world().now();
    bench.world().run_for(timeout / 2);
    leave_if_late(check, bench.world().now() - last, timeout);
    check.success(send_keep_alive(check, association), "Keep Alive");
  }
  expect_association(check, association);
}

CONFORMANCE_CASE(keep_alive_cannot_be_switched_off, "fabrics.keep-alive.zero", roles::controller, needs{&keep_alive},
                 reaches{"feature.kato.zero"}) {
  RawAssociation& association = bench.associate({.kato_ms = 60000});
  const Duration before = timeout_of(association);
  const auto off = host::set_features(nvme::FeatureId::keep_alive_timer, 0);
  check.status(answered(check, association.admin().send(off).wait()), sc::keep_alive_timeout_invalid);
  const host::RawReply reply = answered(check, association.admin().send(host::get_features(nvme::FeatureId::keep_alive_timer)).wait());
  check.equal("the timeout afterwards, in ms", reply.dw0(), static_cast<std::uint32_t>(before.count_ms()));
}

CONFORMANCE_CASE(keep_alive_timeout_is_rounded_up, "fabrics.keep-alive.rounding", roles::controller, needs{&keep_alive}) {
  const auto grain = std::uint32_t{bench.declared().identify().get(nvme::id_ctrl::kas)} * 100;
  check.precondition(grain > 0, "the product says its keep alive granularity");
  const std::uint32_t asked = 60 * grain + 1;
  RawAssociation& association = bench.associate({.kato_ms = asked});
  const auto kept = static_cast<std::uint32_t>(timeout_of(association).count_ms());
  check.that(kept >= asked, "the timeout is not below what was asked for", words(kept));
  check.equal("the timeout modulo KAS", kept % grain, 0u);
}

CONFORMANCE_CASE(host_can_connect_after_expiry, "fabrics.keep-alive.reconnect-after", roles::controller, needs{&keep_alive}, lasts{30_s},
                 reaches{"subsystem.keep_alive.expired"}) {
  RawAssociation& association = bench.associate({.kato_ms = kKatoMs});
  const Duration latest = latest_expiry(bench, timeout_of(association));
  check.precondition(association.admin().ended().wait_for(latest).has_value(), "the keep alive timeout expires");
  check.success(connect_when_free(check, bench), "Connect after the expiry");
}

CONFORMANCE_CASE(expiry_leaves_an_error_log_entry, "fabrics.keep-alive.error-log", roles::controller,
                 arranged{"the static controller model", &static_model}, reaches{"subsystem.keep_alive.expired"}) {
  RawAssociation& first = bench.associate({.kato_ms = kKatoMs, .cntlid = 1});
  check.precondition(first.admin().ended().wait_for(10_s).has_value(), "the keep alive timeout expires");
  RawAssociation& second = bench.associate({.cntlid = 1});
  const auto command = host::get_log(nvme::LogPage::error_information, 16 * nvme::ErrorEntry::size);
  const host::RawReply reply = answered(check, second.admin().send(command, 16 * nvme::ErrorEntry::size).wait());
  check.require_success(reply, "Get Log Page of the error log");
  bool found = false;
  for (std::size_t at = 0; at < reply.data.size(); at += nvme::ErrorEntry::size) {
    const View<nvme::ErrorEntry> entry{ByteView{reply.data}.subspan(at, nvme::ErrorEntry::size)};
    found = found || nvme::same_code(entry.get(nvme::error_entry::status), sc::keep_alive_timer_expired);
  }
  check.that(found, "the error log holds an entry of status 0/19h", "there is none");
}

}  // namespace fb::conformance
