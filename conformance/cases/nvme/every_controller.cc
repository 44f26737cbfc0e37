// What holds for every controller, queue and port beside the first: events, logs, access states, attachments.
#include <fmt/format.h>

#include "conformance/cases/nvme/event_requests.h"
#include "conformance/cases/nvme/every_space.h"
#include "conformance/cases/nvme/namespace_scene.h"
#include "conformance/runner/arranger.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/events.h"
#include "wire/nvme/logs.h"

namespace fb::conformance {

namespace {

using nvme::AnaState;
using nvme::FeatureId;
using nvme::LogPage;
namespace bits = nvme::event_config_bits;
namespace warning = nvme::smart_warning_bits;
namespace ee = nvme::error_entry;

constexpr std::size_t kControllers = 3;

/// What a command that was refused should have left in the error log.
struct Refused {
  std::uint16_t sqid, cid;
  std::uint32_t nsid;
  std::uint64_t lba;
  nvme::Status status;
};

host::RawReply read_log(host::RawQueue& admin, LogPage page, std::uint32_t bytes, bool retain = true) {
  auto command = host::get_log(page, bytes);
  command.set(nvme::get_log_sqe::rae, retain);
  return admin.send(command, bytes).wait();
}

void with_two_groups(EmbeddedSetup& setup) {
  setup.subsystem.ana = true;
  if (setup.namespaces.size() < 2) setup.namespaces.emplace_back().blocks = 4096;
  setup.namespaces[1].ana_group = 2;
}

/// A controller that a host has come to through another port than the bench's.
class OtherPort {
 public:
  OtherPort(ControllerBench& bench, Check& check, RawAssociation& model)
      : admin_(bench.raw_queue({.to = bench.product().add_port(kPort)})), check_(check) {
    check.precondition_success(admin_.send(bench.connect_command()).wait(), "Connect through another port");
    const auto cc = host::property_set(fabrics::property::cc, model.enabling_cc());
    check.precondition_success(admin_.send(cc).wait(), "Property Set of CC");
    for (unsigned i = 0; i < 100 && !ready(); ++i) bench.world().run_for(Duration::ms(100));
    check.precondition(ready(), "the controller becomes ready");
  }
  static constexpr std::uint16_t kPort = 5;
  host::RawQueue& admin() { return admin_; }

 private:
  bool ready() { return (admin_.send(host::property_get(fabrics::property::csts)).wait().value() & 1) != 0; }
  host::RawQueue& admin_;
  Check& check_;
};

std::map<std::uint32_t, nvme::AnaGroup> groups_of(Check& check, host::RawQueue& admin) {
  const auto log = read_log(admin, LogPage::ana, 4096);
  check.require_success(log, "Get Log Page 0Ch");
  std::map<std::uint32_t, nvme::AnaGroup> groups;
  nvme::AnaWalk walk(log.data);
  nvme::AnaGroup group;
  while (walk.next(group)) groups[group.id] = group;
  return groups;
}

}  // namespace

CONFORMANCE_CASE(error_log_is_right_after_it_wrapped, "nvme.log.error-every", roles::controller, needs(has_namespace), sends_malformed) {
  constexpr std::size_t kMost = 256;
  RawAssociation& association = bench.associate();
  host::RawQueue& io = association.open_io();
  const std::size_t entries = static_cast<std::size_t>(bench.declared().identify().get(nvme::id_ctrl::elpe).count());
  const std::vector<Space> spaces = every_space(bench, io);
  std::vector<Refused> sent;
  for (std::size_t i = 0; i < std::min(entries, kMost) + 5; ++i) {
    const auto cid = static_cast<std::uint16_t>(0x4000 + 0x101 * i);
    Refused one{.sqid = 0, .cid = cid, .nsid = 0, .lba = 0, .status = {}};
    host::RawReply reply;
    if (i % 3 == 0) {
      auto wrong = host::identify(static_cast<nvme::Cns>(0x7F));
      wrong.set(nvme::sqe::cid, cid);
      reply = association.admin().send(wrong, nvme::kIdentifySize).wait();
    } else {
      const Space& space = spaces[i % spaces.size()];
      one = {.sqid = bench.io_qid(), .cid = cid, .nsid = space.nsid, .lba = (i * 0x1'0000'0001) + space.blocks, .status = {}};
      auto wrong = host::read(space.nsid, one.lba, 1);
      wrong.set(nvme::sqe::cid, cid);
      reply = io.send(wrong, space.block_bytes).wait();
    }
    check.precondition(reply.answered() && !reply.ok(), "the command is refused");
    one.status = reply.status().code();
    // Errors without the bit may have entries too, and then nobody knows which ones are theirs.
    check.precondition(reply.status().more(), "the status has the More bit");
    sent.push_back(one);
  }
  const std::size_t shown = std::min({entries, sent.size(), std::size_t{64}});
  const auto log = read_log(association.admin(), LogPage::error_information, static_cast<std::uint32_t>(shown * nvme::ErrorEntry::size));
  check.require_success(log, "Get Log Page 01h");
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    const View<nvme::ErrorEntry> entry{ByteView{log.data}.subspan(i * nvme::ErrorEntry::size, nvme::ErrorEntry::size)};
    const Refused& expected = sent[sent.size() - 1 - i];
    const std::string of = fmt::format(" of entry {}", i);
    const std::uint64_t count = entry.get(ee::error_count);
    if (i != 0) check.equal("error count" + of, count, before - 1);
    before = count;
    check.equal("SQID" + of, entry.get(ee::sqid), expected.sqid);
    check.equal("CID" + of, entry.get(ee::cid), expected.cid);
    check.status(entry.get(ee::status), expected.status, "status" + of);
    if (expected.sqid == 0) continue;
    check.equal("NSID" + of, entry.get(ee::nsid), expected.nsid);
    check.equal("LBA" + of, entry.get(ee::lba), expected.lba);
  }
}

CONFORMANCE_CASE(every_controller_is_told, "nvme.aer.every-controller", roles::controller,
                 arranges{{Request::namespace_resize, Request::ana_state, Request::critical_warning}, &with_two_groups},
                 needs(reports_ana)) {
  check.precondition(bench.declared().identify().get(nvme::id_ctrl::aerl).count() >= 3, "the product takes three event requests");
  struct Listener {
    RawAssociation* association;
    EventRequests requests;
  };
  std::vector<Listener> listeners;
  for (std::size_t i = 0; i < kControllers; ++i) {
    RawAssociation& association = bench.associate();
    const std::uint32_t wanted = bits::namespace_attribute | bits::ana_change | warning::spare;
    const auto configure = host::set_features(FeatureId::async_event_configuration, wanted);
    check.precondition_success(association.admin().send(configure).wait(), "Set Features");
    listeners.push_back({&association, EventRequests(bench, association, 3)});
  }
  const auto hear = [&](const nvme::Event& expected, std::string_view what) {
    for (std::size_t i = 0; i < listeners.size(); ++i) {
      const auto reply = listeners[i].requests.next(kSoon);
      const std::string where = fmt::format("{} at controller {} of {}", what, i + 1, listeners.size());
      if (!check.that(reply.has_value(), where, "none comes") || !check.success(*reply, where)) continue;
      check.equal(where, nvme::Event::from_dw0(reply->dw0()), expected);
    }
  };
  const auto read_all = [&](LogPage page, auto&& judge) {
    for (std::size_t i = 0; i < listeners.size(); ++i) {
      const auto log = read_log(listeners[i].association->admin(), page, 4096, false);
      if (check.success(log, "Get Log Page")) judge(log.data, fmt::format("controller {} of {}", i + 1, listeners.size()));
    }
  };
  // One that all of them have.
  const auto& all = bench.declared().namespaces;
  const auto shared = std::find_if(all.rbegin(), all.rend(), [](const host::NamespaceFacts& facts) { return facts.shared; });
  check.precondition(shared != all.rend(), "there is a shared namespace");
  const std::uint32_t last = shared->nsid;
  bench.arranger().resize_namespace(last);
  hear({nvme::EventType::notice, nvme::event_info::notice_namespace_attribute, lid_of(LogPage::changed_namespaces)}, "namespace event");
  // Each controller has a list of its own: what one host reads stays in those of others.
  read_all(LogPage::changed_namespaces, [&](ByteView log, const std::string& where) {
    check.that(nvme::read_namespace_list(log) == std::vector<std::uint32_t>{last}, "the changed list has the namespace, " + where);
  });
  bench.arranger().ana_state(shared->ana_group, AnaState::non_optimized);
  hear({nvme::EventType::notice, nvme::event_info::notice_ana_change, lid_of(LogPage::ana)}, "ANA event");
  bench.arranger().critical_warning(warning::spare);
  hear({nvme::EventType::smart, nvme::event_info::smart_spare, lid_of(LogPage::smart)}, "health event");
  read_all(LogPage::smart, [&](ByteView log, const std::string& where) {
    const auto bits_now = View<nvme::SmartLog>{log.first(nvme::SmartLog::size)}.get(nvme::smart::cw);
    check.that((bits_now & warning::spare) != 0, "critical warning bit 0 is set, " + where);
  });
}

CONFORMANCE_CASE(access_states_are_of_ports_and_groups, "nvme.ana.every-port", roles::controller,
                 arranged("ports with access states of their own", &with_two_groups)) {
  IoScene scene(bench);
  OtherPort other(bench, check, scene.association);
  for (host::RawQueue* admin : {&scene.association.admin(), &other.admin()}) {
    const auto groups = groups_of(check, *admin);
    check.precondition(groups.contains(1) && groups.contains(2), "the log has both groups");
  }
  // The namespace of the scene is in one of the groups; the states of the four pairs of port and group differ by turns.
  const auto judge = [&](std::string_view when, AnaState here_1, AnaState here_2, AnaState there_1, AnaState there_2) {
    auto here = groups_of(check, scene.association.admin()), there = groups_of(check, other.admin());
    check.equal(fmt::format("group 1, {}", when), here[1].state, here_1);
    check.equal(fmt::format("group 2, {}", when), here[2].state, here_2);
    check.equal(fmt::format("group 1 at the other port, {}", when), there[1].state, there_1);
    check.equal(fmt::format("group 2 at the other port, {}", when), there[2].state, there_2);
  };
  constexpr AnaState optimized = AnaState::optimized, slower = AnaState::non_optimized;
  judge("at first", optimized, optimized, optimized, optimized);
  const auto before = groups_of(check, scene.association.admin());
  bench.subsystem().set_ana_state(2, slower, OtherPort::kPort);
  judge("after group 2 changed at the other port", optimized, optimized, optimized, slower);
  const auto between = groups_of(check, other.admin());
  bench.subsystem().set_ana_state(1, AnaState::inaccessible, OtherPort::kPort);
  judge("after group 1 changed at the other port", optimized, optimized, AnaState::inaccessible, slower);
  check.success(scene.read(0, 1), "Read through the port where nothing changed");
  bench.subsystem().set_ana_state(1, optimized, OtherPort::kPort);
  bench.subsystem().set_ana_state(1, slower, OtherPort::kPort);
  const auto after = groups_of(check, other.admin());
  // A group's count is that of the log at the last change of the group.
  check.that(between.at(2).change_count > before.at(2).change_count, "the count of group 2 rises with its change");
  check.equal("count of group 2 after changes of group 1", after.at(2).change_count, between.at(2).change_count);
  check.that(after.at(1).change_count > after.at(2).change_count, "the count of the group that changed last is the greater",
             std::to_string(after.at(1).change_count));
}

CONFORMANCE_CASE(every_controller_of_a_list_is_attached, "nvme.namespace.attach.every", roles::controller, needs(manages_namespaces),
                 furnished{[](EmbeddedSetup& setup) { setup.subsystem.namespace_management.supported = true; }}) {
  Manager manager(bench, check);
  Manager second(bench, check), third(bench, check);
  Manager* const all[] = {&manager, &second, &third};
  std::vector<std::uint16_t> ids = {manager.cntlid(), second.cntlid(), third.cntlid()};
  std::sort(ids.begin(), ids.end());
  const std::uint32_t nsid = manager.made();
  const auto judge = [&](bool expected, std::string_view when) {
    for (Manager* one : all) {
      check.equal(fmt::format("active at controller {} {}", one->cntlid(), when), one->active(nsid), expected);
    }
    const auto listed = manager.controllers_of(nsid);
    for (const std::uint16_t id : ids) {
      check.equal(fmt::format("controller {} in CNS 12h {}", id, when), Manager::holds(listed, id), expected);
    }
  };
  judge(false, "before");
  check.success(manager.attach(nsid, ids), "Namespace Attachment, a list of three controllers");
  judge(true, "after attachment");
  check.success(manager.detach(nsid, ids), "Namespace Attachment that detaches a list of three controllers");
  judge(false, "after detachment");
  check.success(manager.remove(nsid), "Namespace Management, delete");
}

}  // namespace fb::conformance
