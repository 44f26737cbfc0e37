// Asynchronous events, and what asymmetric access does to commands.
#include "conformance/cases/nvme/event_requests.h"
#include "conformance/cases/nvme/scene.h"
#include "conformance/runner/arranger.h"
#include "conformance/runner/embedded_controller.h"
#include "wire/nvme/events.h"

namespace fb::conformance {

namespace {

namespace bits = nvme::event_config_bits;
using nvme::AnaState;
using nvme::FeatureId;

constexpr nvme::Event kNamespaceEvent{nvme::EventType::notice, nvme::event_info::notice_namespace_attribute,
                                      lid_of(nvme::LogPage::changed_namespaces)};
constexpr nvme::Event kAnaEvent{nvme::EventType::notice, nvme::event_info::notice_ana_change, lid_of(nvme::LogPage::ana)};

/// An association that hears of the events under `mask` alone.
RawAssociation& listen(ControllerBench& bench, Check& check, std::uint32_t mask) {
  RawAssociation& association = bench.associate();
  check.precondition_success(association.admin().send(host::set_features(FeatureId::async_event_configuration, mask)).wait(),
                             "Set Features, Asynchronous Event Configuration");
  return association;
}

Op<host::RawReply> request_event(RawAssociation& association) { return association.admin().send(host::async_event_request()); }

void change_namespace(ControllerBench& bench) { bench.arranger().resize_namespace(bench.nsid()); }

std::uint32_t ana_group_of(ControllerBench& bench, std::uint32_t nsid) {
  const auto& all = bench.declared().namespaces;
  const auto at = std::find_if(all.begin(), all.end(), [nsid](const host::NamespaceFacts& one) { return one.nsid == nsid; });
  return at == all.end() ? 1 : at->ana_group;
}

host::RawReply read_changed_list(RawAssociation& association, bool retain) {
  auto command = host::get_log(nvme::LogPage::changed_namespaces, 4096);
  command.set(nvme::get_log_sqe::rae, retain);
  return association.admin().send(command, 4096).wait();
}

/// The event that must come, or an end of the case.
nvme::Event event_of(Check& check, Op<host::RawReply>& request) {
  const auto reply = request.wait_for(kSoon);
  check.require(reply.has_value(), "an event comes");
  check.require_success(*reply);
  return nvme::Event::from_dw0(reply->dw0());
}

/// The same of whichever request it completes.
nvme::Event event_of(Check& check, EventRequests& requests) {
  const auto reply = requests.next(kSoon);
  check.require(reply.has_value(), "an event comes");
  check.require_success(*reply);
  return nvme::Event::from_dw0(reply->dw0());
}

/// I/O while the first namespace's group is in `state`.
void with_ana(EmbeddedSetup& setup) { setup.subsystem.ana = true; }

void check_path_status(ControllerBench& bench, Check& check, AnaState state, nvme::Status expected) {
  IoScene scene(bench);
  const std::uint32_t group = ana_group_of(bench, scene.nsid);
  bench.arranger().ana_state(group, state);
  check.status(scene.read(0, 1), expected, "Read");
  check.status(scene.write(0, pattern(1, 1, scene.block_bytes)), expected, "Write");
  check.status(scene.io.send(host::flush(scene.nsid)).wait(), expected, "Flush");
  bench.arranger().ana_state(group, AnaState::optimized);
  check.success(scene.read(0, 1), "Read after the group has come back");
}

}  // namespace

CONFORMANCE_CASE(event_requests_beyond_the_limit_are_refused, "nvme.aer.limit", roles::controller, reaches{"aer.limit"}) {
  const std::uint64_t limit = bench.declared().identify().get(nvme::id_ctrl::aerl).count();
  check.precondition(limit <= 24, "AERL allows more requests than the admin queue holds");
  RawAssociation& association = bench.associate();
  std::vector<Op<host::RawReply>> requests;
  for (std::uint64_t i = 0; i < limit; ++i) requests.push_back(request_event(association));
  for (auto& request : requests) {
    const auto early = request.wait_for(kSilence / 10);
    if (!early) continue;
    check.require(early->ok() || !nvme::same_code(early->status(), sc::async_event_request_limit_exceeded), "AERL requests are taken",
                  "one within the limit is refused");
    // Where events come, the limit is not reached.
    check.inconclusive("an event is waiting for a request");
  }
  const auto excess = request_event(association).wait_for(kSoon);
  check.require(excess.has_value(), "a request beyond the limit is answered");
  check.status(*excess, sc::async_event_request_limit_exceeded);
}

CONFORMANCE_CASE(namespace_change_is_announced, "nvme.aer.namespace-changed", roles::controller, arranges{{Request::namespace_resize}}) {
  RawAssociation& association = listen(bench, check, bits::namespace_attribute);
  auto request = request_event(association);
  change_namespace(bench);
  check.equal("event", event_of(check, request), kNamespaceEvent);
}

CONFORMANCE_CASE(no_second_event_before_the_log_is_read, "nvme.aer.masked-until-read", roles::controller,
                 arranges{{Request::namespace_resize}}) {
  RawAssociation& association = listen(bench, check, bits::namespace_attribute);
  EventRequests requests(bench, association, 2);
  change_namespace(bench);
  event_of(check, requests);
  change_namespace(bench);
  check.that(!requests.next(kSilence), "no second event before the log is read", "a second event came");
  check.precondition_success(read_changed_list(association, false), "Get Log Page");
  change_namespace(bench);
  check.that(requests.next(kSoon).has_value(), "events come again once the log was read", "none came");
}

CONFORMANCE_CASE(another_log_lets_no_event_through, "nvme.aer.other-log", roles::controller, arranges{{Request::namespace_resize}}) {
  RawAssociation& association = listen(bench, check, bits::namespace_attribute);
  EventRequests requests(bench, association, 2);
  change_namespace(bench);
  event_of(check, requests);
  const auto other = host::get_log(nvme::LogPage::smart, nvme::SmartLog::size);
  check.precondition_success(association.admin().send(other, nvme::SmartLog::size).wait(), "Get Log Page 02h");
  change_namespace(bench);
  check.that(!requests.next(kSilence), "no second event before its log is read", "a second event came");
}

CONFORMANCE_CASE(reset_lets_events_through_again, "nvme.aer.after-reset", roles::controller, arranges{{Request::namespace_resize}}) {
  RawAssociation& association = listen(bench, check, bits::namespace_attribute);
  auto first = request_event(association);
  change_namespace(bench);
  event_of(check, first);
  association.disable();
  association.enable();
  const auto wanted = host::set_features(FeatureId::async_event_configuration, bits::namespace_attribute);
  check.precondition_success(association.admin().send(wanted).wait(), "Set Features after the reset");
  auto second = request_event(association);
  change_namespace(bench);
  check.equal("event after a controller reset", event_of(check, second), kNamespaceEvent);
}

CONFORMANCE_CASE(health_warnings_are_told_apart, "nvme.aer.health-kinds", roles::controller, arranges{{Request::critical_warning}}) {
  namespace warning = nvme::smart_warning_bits;
  RawAssociation& association = listen(bench, check, warning::spare | warning::reliability);
  std::uint8_t now = 0;
  const auto judge = [&](std::uint8_t bit, std::uint8_t info, std::string_view what) {
    auto request = request_event(association);
    now = static_cast<std::uint8_t>(now | bit);
    bench.arranger().critical_warning(now);
    check.equal(what, event_of(check, request), nvme::Event{nvme::EventType::smart, info, lid_of(nvme::LogPage::smart)});
    const auto log = host::get_log(nvme::LogPage::smart, nvme::SmartLog::size);
    check.precondition_success(association.admin().send(log, nvme::SmartLog::size).wait(), "Get Log Page 02h");
  };
  judge(warning::spare, nvme::event_info::smart_spare, "event of a spare below its threshold");
  judge(warning::reliability, nvme::event_info::smart_reliability, "event of a degraded reliability");
}

CONFORMANCE_CASE(event_holds_no_other_type_back, "nvme.aer.types-apart", roles::controller,
                 arranges{{Request::namespace_resize, Request::critical_warning}}) {
  namespace warning = nvme::smart_warning_bits;
  RawAssociation& association = listen(bench, check, bits::namespace_attribute | warning::spare);
  EventRequests requests(bench, association, 2);
  change_namespace(bench);
  event_of(check, requests);
  bench.arranger().critical_warning(warning::spare);
  check.equal("event of another type, while the log of the first has not been read", event_of(check, requests),
              nvme::Event{nvme::EventType::smart, nvme::event_info::smart_spare, lid_of(nvme::LogPage::smart)});
}

CONFORMANCE_CASE(changed_namespaces_ascend, "nvme.log.changed-namespaces-order", roles::controller, arranges{{Request::namespace_resize}}) {
  RawAssociation& association = listen(bench, check, bits::namespace_attribute);
  const auto& all = bench.declared().namespaces;
  check.precondition(all.size() >= 2, "there are two namespaces");
  const std::uint32_t low = std::min(all[0].nsid, all[1].nsid), high = std::max(all[0].nsid, all[1].nsid);
  for (const bool descending : {true, false}) {
    for (const std::uint32_t nsid : {descending ? high : low, descending ? low : high}) {
      bench.arranger().resize_namespace(nsid);
    }
    const auto reply = read_changed_list(association, false);
    check.require_success(reply, "Get Log Page 04h");
    check.that(nvme::read_namespace_list(reply.data) == std::vector<std::uint32_t>{low, high},
               "the list has both namespaces, in ascending order");
  }
}

CONFORMANCE_CASE(event_is_retained_when_the_read_says_so, "nvme.aer.retain", roles::controller, arranges{{Request::namespace_resize}}) {
  RawAssociation& association = listen(bench, check, bits::namespace_attribute);
  EventRequests requests(bench, association, 2);
  change_namespace(bench);
  event_of(check, requests);
  check.precondition_success(read_changed_list(association, true), "Get Log Page with RAE 1");
  change_namespace(bench);
  check.that(!requests.next(kSilence), "no new event after a read with RAE 1", "a second event came");
}

CONFORMANCE_CASE(event_that_is_switched_off_is_not_sent, "nvme.aer.disabled", roles::controller, arranges{{Request::namespace_resize}}) {
  RawAssociation& association = listen(bench, check, 0);
  auto request = request_event(association);
  change_namespace(bench);
  check.that(!request.wait_for(kSilence), "no event while it is switched off", "an event came");
}

CONFORMANCE_CASE(ana_change_is_announced, "nvme.aer.ana-change", roles::controller, arranges{{Request::ana_state}, &with_ana},
                 needs(reports_ana)) {
  RawAssociation& association = listen(bench, check, bits::ana_change);
  auto request = request_event(association);
  bench.arranger().ana_state(ana_group_of(bench, bench.nsid()), AnaState::non_optimized);
  check.equal("event", event_of(check, request), kAnaEvent);
}

CONFORMANCE_CASE(io_in_an_inaccessible_group_is_refused, "nvme.ana.inaccessible", roles::controller,
                 arranges{{Request::ana_state}, &with_ana}, needs(reports_ana), needs(has_namespace), reaches{"io.ana.inaccessible"}) {
  check_path_status(bench, check, AnaState::inaccessible, sc::ana_inaccessible);
}

CONFORMANCE_CASE(io_in_a_lost_group_is_refused, "nvme.ana.persistent-loss", roles::controller, arranges{{Request::ana_state}, &with_ana},
                 needs(reports_ana), needs(has_namespace), reaches{"io.ana.persistent_loss"}) {
  check_path_status(bench, check, AnaState::persistent_loss, sc::ana_persistent_loss);
}

CONFORMANCE_CASE(io_during_an_ana_transition_is_refused, "nvme.ana.change", roles::controller, arranges{{Request::ana_state}, &with_ana},
                 needs(reports_ana), needs(has_namespace), reaches{"io.ana.change"}) {
  check_path_status(bench, check, AnaState::change, sc::ana_transition);
}

}  // namespace fb::conformance
