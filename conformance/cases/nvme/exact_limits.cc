// Limits where they are reached exactly: temperatures, the changed namespace list, event requests.
#include <fmt/format.h>

#include "conformance/cases/nvme/event_requests.h"
#include "conformance/cases/nvme/scene.h"
#include "conformance/runner/arranger.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/events.h"
#include "wire/nvme/logs.h"

namespace fb::conformance {

namespace {

using nvme::FeatureId;
namespace bits = nvme::event_config_bits;
namespace warning = nvme::smart_warning_bits;

constexpr std::uint32_t kUnder = 1u << 20;

std::optional<std::string> has_warning_temperature(const Declared& declared) {
  if (!declared.known || declared.identify().get(nvme::id_ctrl::wctemp) != 0) return {};
  return "WCTEMP is 0: there need be no under temperature threshold";
}

class Thermometer {
 public:
  Thermometer(ControllerBench& bench, Check& check)
      : bench_(bench), check_(check), association_(bench.associate()), over_(threshold(0)), under_(threshold(kUnder)) {}

  RawAssociation& association() { return association_; }
  std::uint32_t kelvin() { return smart().get(nvme::smart::ctemp); }
  bool warned() { return (smart().get(nvme::smart::cw) & warning::temperature) != 0; }
  /// The bit as it is once the product has had time to look, while the temperature stays `kelvin`.
  void judge(std::uint32_t kelvin, std::uint32_t value, bool expected, std::string_view what) {
    set(value);
    bool seen = warned();
    for (unsigned i = 0; i < 20 && seen != expected; ++i) {
      bench_.world().run_for(Duration::ms(500));
      seen = warned();
    }
    check_.precondition(this->kelvin() == kelvin, "the temperature stays as it is");
    check_.equal(fmt::format("critical warning bit 1 with {} at {} K", what, kelvin), seen, expected);
  }
  void set(std::uint32_t value) {
    const auto reply = association_.admin().send(host::set_features(FeatureId::temperature_threshold, value)).wait();
    check_.precondition_success(reply, "Set Features, Temperature Threshold");
  }
  void restore() {
    set(over_);
    set(kUnder | under_);
  }

 private:
  std::uint32_t threshold(std::uint32_t type) {
    const auto ask = host::get_features(FeatureId::temperature_threshold, nvme::FeatureSelect::current, type);
    const auto reply = association_.admin().send(ask).wait();
    check_.precondition_success(reply, "Get Features, Temperature Threshold");
    return reply.dw0() & 0xFFFF;
  }
  Record<nvme::SmartLog> smart() {
    const auto log = host::get_log(nvme::LogPage::smart, nvme::SmartLog::size);
    const auto reply = association_.admin().send(log, nvme::SmartLog::size).wait();
    check_.precondition_success(reply, "Get Log Page 02h");
    return Record<nvme::SmartLog>{reply.data};
  }

  ControllerBench& bench_;
  Check& check_;
  RawAssociation& association_;
  std::uint32_t over_, under_;
};

host::RawReply read_list(RawAssociation& association, bool retain = false) {
  auto command = host::get_log(nvme::LogPage::changed_namespaces, 4096);
  command.set(nvme::get_log_sqe::rae, retain);
  return association.admin().send(command, 4096).wait();
}

void add_namespaces(ControllerBench& bench, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto added = bench.subsystem().add_namespace({.blocks = 8});
    BENCH_ASSERT(added.ok(), "the arranged product has room for a namespace");
  }
}

const arranged with_room{"a product of 1,100 namespaces", [](EmbeddedSetup& setup) { setup.subsystem.namespaces_max = 1100; }};

}  // namespace

CONFORMANCE_CASE(thresholds_hold_where_they_are_reached, "nvme.temperature.equal", roles::controller, needs(has_warning_temperature)) {
  Thermometer thermometer(bench, check);
  const std::uint32_t kelvin = thermometer.kelvin();
  check.precondition(kelvin > 10, "the product knows its temperature");
  check.precondition(!thermometer.warned(), "there is no warning yet");
  thermometer.judge(kelvin, kelvin + 1, false, "an over temperature threshold 1 K above");
  thermometer.judge(kelvin, kelvin, true, "an over temperature threshold that is reached");
  thermometer.judge(kelvin, kelvin + 1, false, "an over temperature threshold 1 K above again");
  thermometer.judge(kelvin, kUnder | (kelvin - 1), false, "an under temperature threshold 1 K below");
  thermometer.judge(kelvin, kUnder | kelvin, true, "an under temperature threshold that is reached");
  thermometer.restore();
}

CONFORMANCE_CASE(reached_threshold_is_announced, "nvme.temperature.event-equal", roles::controller, needs(has_warning_temperature)) {
  Thermometer thermometer(bench, check);
  const std::uint32_t kelvin = thermometer.kelvin();
  check.precondition(kelvin > 10, "the product knows its temperature");
  check.precondition(!thermometer.warned(), "there is no warning yet");
  RawAssociation& association = thermometer.association();
  const auto enable = host::set_features(FeatureId::async_event_configuration, warning::temperature);
  check.precondition_success(association.admin().send(enable).wait(), "Set Features, Asynchronous Event Configuration");
  auto request = association.admin().send(host::async_event_request());
  thermometer.set(kelvin + 1);
  check.that(!request.wait_for(kSilence), "no event with a threshold 1 K above", "an event came");
  thermometer.set(kelvin);
  const auto event = request.wait_for(kSoon);
  check.require(event.has_value(), "an event comes when the threshold is the temperature");
  check.require_success(*event, "the event");
  check.equal("event", nvme::Event::from_dw0(event->dw0()),
              nvme::Event{nvme::EventType::smart, nvme::event_info::smart_temperature, lid_of(nvme::LogPage::smart)});
  thermometer.restore();
}

CONFORMANCE_CASE(a_full_changed_list_names_all, "nvme.log.changed-namespaces-full", roles::controller, with_room) {
  RawAssociation& association = bench.associate();
  const std::size_t there = bench.subsystem().namespaces().size();
  add_namespaces(bench, nvme::kNamespaceListMax - there);
  for (const auto& [nsid, ns] : bench.subsystem().namespaces()) bench.subsystem().resize_namespace(nsid, ns->blocks() - 1);
  const auto full = read_list(association, true);
  check.require_success(full, "Get Log Page 04h after 1,024 namespaces have changed");
  std::vector<std::uint32_t> all;
  for (const auto& [nsid, ns] : bench.subsystem().namespaces()) all.push_back(nsid);
  check.that(nvme::read_namespace_list(full.data) == all, "the list names all 1,024");
  add_namespaces(bench, 1);
  const auto over = read_list(association);
  check.require_success(over, "Get Log Page 04h after 1,025 namespaces have changed");
  check.that(nvme::read_namespace_list(over.data) == std::vector<std::uint32_t>{nvme::kTooManyChangedNamespaces},
             "the list has FFFFFFFFh alone");
  const auto after = read_list(association);
  check.require_success(after, "Get Log Page 04h once it was read");
  check.that(nvme::read_namespace_list(after.data).empty(), "the list is empty once it was read");
}

CONFORMANCE_CASE(long_lists_go_on_where_they_ended, "nvme.identify.long-list", roles::controller, with_room) {
  RawAssociation& association = bench.associate();
  const std::size_t there = bench.subsystem().namespaces().size();
  add_namespaces(bench, nvme::kNamespaceListMax + 7 - there);
  std::vector<std::uint32_t> all, got;
  for (const auto& [nsid, ns] : bench.subsystem().namespaces()) all.push_back(nsid);
  for (std::size_t part : {nvme::kNamespaceListMax, std::size_t{7}, std::size_t{0}}) {
    const auto command = host::identify(nvme::Cns::active_namespace_list, got.empty() ? 0 : got.back());
    const auto reply = association.admin().send(command, nvme::kIdentifySize).wait();
    check.require_success(reply, "Identify, active namespace list");
    const auto ids = nvme::read_namespace_list(reply.data);
    check.equal("identifiers in a list of as many as there are", ids.size(), part);
    got.insert(got.end(), ids.begin(), ids.end());
  }
  check.that(got == all, "the parts together name all 1,031 namespaces");
}

CONFORMANCE_CASE(every_pending_event_is_sent_once, "nvme.aer.every-type", roles::controller,
                 arranges{{Request::namespace_resize, Request::critical_warning}}) {
  RawAssociation& association = bench.associate();
  const std::uint32_t wanted = bits::namespace_attribute | warning::spare | warning::reliability;
  check.precondition_success(association.admin().send(host::set_features(FeatureId::async_event_configuration, wanted)).wait(),
                             "Set Features, Asynchronous Event Configuration");
  const std::uint64_t limit = bench.declared().identify().get(nvme::id_ctrl::aerl).count();
  check.precondition(limit >= 3 && limit <= 24, "the product takes three event requests");
  const nvme::Event attribute{nvme::EventType::notice, nvme::event_info::notice_namespace_attribute,
                              lid_of(nvme::LogPage::changed_namespaces)};
  const nvme::Event spare{nvme::EventType::smart, nvme::event_info::smart_spare, lid_of(nvme::LogPage::smart)};
  const auto read = [&](nvme::LogPage page) {
    check.precondition_success(association.admin().send(host::get_log(page, 512), 512).wait(), "Get Log Page");
  };
  // Everything happens before anybody asks, and more than once.
  for (unsigned i = 0; i < 3; ++i) bench.arranger().resize_namespace(bench.nsid());
  bench.arranger().critical_warning(warning::spare);
  EventRequests requests(bench, association, limit);
  const auto next = [&](std::string_view what) {
    const auto reply = requests.next(kSoon);
    check.require(reply.has_value(), what, "none comes");
    check.require_success(*reply, what);
    return nvme::Event::from_dw0(reply->dw0());
  };
  // Which of the two comes first is the controller's choice.
  const nvme::Event one = next("an event of what happened before");
  const nvme::Event other = next("the event of another type");
  check.that(one == attribute || one == spare, "the first event is one of those that happened");
  check.equal("the event of the other type", other, one == attribute ? spare : attribute);
  check.that(!requests.next(kSilence), "no event is sent twice before its log is read", "a third event comes");
  read(nvme::LogPage::smart);
  bench.arranger().resize_namespace(bench.nsid());
  check.that(!requests.next(kSilence), "the read of another log lets no event through", "an event comes");
  read(nvme::LogPage::changed_namespaces);
  bench.arranger().resize_namespace(bench.nsid());
  check.equal("an event once its log was read", next("an event once its log was read"), attribute);
}

}  // namespace fb::conformance
