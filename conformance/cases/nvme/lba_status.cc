// Get LBA Status: which blocks may not be recovered, the log page that tells where it is worth asking, and its event.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "conformance/cases/nvme/scene.h"
#include "conformance/runner/arranger.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/events.h"
#include "wire/nvme/features.h"
#include "wire/nvme/lba_status.h"

namespace fb::conformance {

namespace {

using nvme::FeatureId;
using nvme::LbaStatus;
using nvme::LbaStatusAction;
using nvme::LbaStatusCondition;
using nvme::LogPage;

constexpr auto kMarks = claims_oncs<nvme::oncs_bits::write_uncorrectable>;
constexpr std::uint64_t kLba = 640;
constexpr std::uint16_t kBlocks = 64;  ///< of the range that a case looks at
/// Room for more entries than such a range can have.
constexpr std::size_t kListRoom = nvme::LbaStatusListHeader::size + 2 * kBlocks * nvme::LbaStatusEntry::size;
constexpr std::uint32_t kLogRoom = 4096;

std::optional<std::string> has_lba_status(const Declared& declared) {
  const auto bit = nvme::oacs_bits::get_lba_status;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oacs) & bit) != 0) return {};
  return "OACS bit 9 (Get LBA Status) is clear";
}
const arranges with_media_errors{{Request::media_error}, [](EmbeddedSetup& setup) { setup.subsystem.lba_status = {}; }};

bool holds(const std::vector<LbaStatus>& entries, std::uint64_t lba) {
  return std::any_of(entries.begin(), entries.end(),
                     [lba](const LbaStatus& one) { return one.first <= lba && lba - one.first < one.count; });
}

/// A host that may spoil blocks, and asks about them.
class LbaStatusScene {
 public:
  LbaStatusScene(ControllerBench& bench, Check& check) : io(bench), check_(check) {}

  host::RawQueue& admin() { return io.association.admin(); }
  host::RawReply ask(LbaStatusAction action, std::uint64_t lba = kLba, std::uint16_t blocks = kBlocks, std::size_t room = kListRoom) {
    return admin().send(host::get_lba_status(io.nsid, action, lba, blocks, room), room).wait();
  }
  std::vector<LbaStatus> entries(LbaStatusAction action, std::uint64_t lba = kLba, std::uint16_t blocks = kBlocks) {
    const auto reply = ask(action, lba, blocks);
    check_.require_success(reply, "Get LBA Status");
    return nvme::read_lba_statuses(reply.data);
  }
  void spoil(std::uint64_t lba) {
    check_.precondition_success(io.io.send(host::write_uncorrectable(io.nsid, lba, 1)).wait(), "Write Uncorrectable");
  }
  /// All blocks that the cases touch.
  void mend() { io.prepare(check_, kLba, 0x5A, kBlocks); }
  host::RawReply read_log(bool retain) {
    auto command = host::get_log(LogPage::lba_status, kLogRoom);
    command.set(nvme::get_log_sqe::rae, retain);
    return admin().send(command, kLogRoom).wait();
  }
  nvme::LbaStatusLog log(bool retain) {
    const auto reply = read_log(retain);
    check_.require_success(reply, "Get Log Page 0Eh");
    return nvme::read_lba_status_log(reply.data);
  }
  nvme::LbaStatusRanges element(const nvme::LbaStatusLog& of) const {
    for (const auto& one : of.namespaces) {
      if (one.nsid == io.nsid) return one;
    }
    return {};
  }
  void set_interval(std::uint16_t units) {
    check_.precondition_success(admin().send(host::set_features(FeatureId::lba_status_information, units)).wait(),
                                "Set Features, LBA Status Information Attributes");
  }
  void listen(std::uint32_t events) {
    check_.precondition_success(admin().send(host::set_features(FeatureId::async_event_configuration, events)).wait(),
                                "Set Features, Asynchronous Event Configuration");
  }

  IoScene io;

 private:
  Check& check_;
};

constexpr std::uint32_t kNotices = nvme::event_config_bits::lba_status;
constexpr nvme::Event kAlert{nvme::EventType::notice, nvme::event_info::notice_lba_status, 0x0E};

}  // namespace

CONFORMANCE_CASE(lba_status_comes_with_its_log, "nvme.lba-status.claim", roles::controller, needs(has_lba_status)) {
  RawAssociation& association = bench.associate();
  const auto page = association.admin().send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait();
  check.precondition_success(page, "Identify Controller");
  const std::uint32_t events = View<nvme::IdentifyController>{page.data}.get(nvme::id_ctrl::oaes);
  check.that((events & kNotices) != 0, "OAES has bit 13", "it is clear");
  auto command = host::get_log(LogPage::lba_status, nvme::LbaStatusLogHeader::size);
  command.set(nvme::get_log_sqe::rae, true);
  check.success(association.admin().send(command, nvme::LbaStatusLogHeader::size).wait(), "Get Log Page 0Eh");
  check.success(association.admin().send(host::get_features(FeatureId::lba_status_information)).wait(), "Get Features 15h");
}

CONFORMANCE_CASE(spoilt_blocks_are_found, "nvme.lba-status.marked", roles::controller, needs(has_lba_status), needs(kMarks),
                 needs(has_namespace)) {
  LbaStatusScene scene(bench, check);
  scene.spoil(kLba + 3);
  check.that(holds(scene.entries(LbaStatusAction::scan), kLba + 3), "the spoilt block is reported");
  // RL 0 is the rest of the namespace, a scan of which may take a real product long.
  if (bench.embedded()) {
    check.that(holds(scene.entries(LbaStatusAction::scan, kLba, 0), kLba + 3), "the block of Write Uncorrectable is reported with RL 0");
  }
  scene.mend();
}

CONFORMANCE_CASE(written_blocks_are_lost_no_more, "nvme.lba-status.rewritten", roles::controller, needs(has_lba_status), needs(kMarks),
                 needs(has_namespace)) {
  LbaStatusScene scene(bench, check);
  scene.spoil(kLba + 3);
  (void)scene.entries(LbaStatusAction::scan);
  scene.mend();
  for (const LbaStatusAction action : {LbaStatusAction::tracked, LbaStatusAction::scan}) {
    check.that(!holds(scene.entries(action), kLba + 3), "the block is not reported", "it is");
  }
}

CONFORMANCE_CASE(scan_finds_what_nobody_knew, "nvme.lba-status.scan", roles::controller, needs(has_lba_status), needs(has_namespace),
                 with_media_errors) {
  LbaStatusScene scene(bench, check);
  bench.arranger().media_error(scene.io.nsid, kLba + 9, 4, true);
  check.that(holds(scene.entries(LbaStatusAction::scan), kLba + 10), "the lost block is reported");
}

CONFORMANCE_CASE(lba_status_begins_where_it_is_asked, "nvme.lba-status.start", roles::controller, needs(has_lba_status), needs(kMarks),
                 needs(has_namespace)) {
  LbaStatusScene scene(bench, check);
  scene.spoil(kLba + 3);
  scene.spoil(kLba + 30);
  scene.spoil(kLba + 40);
  const auto found = scene.entries(LbaStatusAction::scan, kLba + 20, 30);
  for (const LbaStatus& one : found) check.that(one.first >= kLba + 20, "entries begin at SLBA or behind", words(one.first));
  for (const std::uint64_t lost : {kLba + 30, kLba + 40}) {
    check.that(holds(found, lost), "a lost block behind SLBA is reported", words(lost));
  }
  scene.mend();
}

CONFORMANCE_CASE(lba_status_ends_where_it_is_asked, "nvme.lba-status.end", roles::controller, needs(has_lba_status), needs(kMarks),
                 needs(has_namespace)) {
  LbaStatusScene scene(bench, check);
  scene.spoil(kLba + 3);
  scene.spoil(kLba + 40);
  for (const LbaStatus& one : scene.entries(LbaStatusAction::scan, kLba, 20)) {
    check.that(one.first + one.count <= kLba + 20, "entries end with the range", words(one.first + one.count));
  }
  scene.mend();
}

CONFORMANCE_CASE(lba_status_ascends, "nvme.lba-status.order", roles::controller, needs(has_lba_status), needs(kMarks),
                 needs(has_namespace)) {
  LbaStatusScene scene(bench, check);
  for (const unsigned at : {50u, 3u, 20u}) scene.spoil(kLba + at);
  const auto entries = scene.entries(LbaStatusAction::scan);
  check.precondition(entries.size() > 1, "there are several entries");
  for (std::size_t i = 1; i < entries.size(); ++i) {
    const std::uint64_t end = entries[i - 1].first + entries[i - 1].count;
    check.that(entries[i].first >= end, "each entry begins behind the one before", words(entries[i].first));
  }
  scene.mend();
}

CONFORMANCE_CASE(lba_status_keeps_to_its_room, "nvme.lba-status.room", roles::controller, needs(has_lba_status), needs(kMarks),
                 needs(has_namespace)) {
  LbaStatusScene scene(bench, check);
  for (const unsigned at : {3u, 20u, 50u}) scene.spoil(kLba + at);
  const auto all = scene.entries(LbaStatusAction::scan);
  check.precondition(all.size() > 1, "there are several entries");
  for (std::size_t count = 1; count <= all.size(); ++count) {
    const std::size_t room = nvme::LbaStatusListHeader::size + count * nvme::LbaStatusEntry::size;
    const std::string what = "room for " + words(count) + " of " + words(all.size()) + " entries, ";
    const auto reply = scene.ask(LbaStatusAction::scan, kLba, kBlocks, room);
    check.require_success(reply, "Get LBA Status with " + what);
    const View<nvme::LbaStatusListHeader> header{reply.data};
    const auto condition = header.get(nvme::lba_status_list::cmpc);
    const std::size_t told = header.get(nvme::lba_status_list::nlsd);
    check.that(told <= count, what + "the entries that are counted fit", words(told));
    if (count < all.size()) check.that(condition != LbaStatusCondition::complete, what + "CMPC is not 2h", "it is");
    // 1h: as much was transferred as MNDW says; 2h: all that there is.
    const bool full = condition == LbaStatusCondition::incomplete || condition == LbaStatusCondition::complete;
    if (full) check.that(told >= count, what + "as many are given", words(told));
    if (told != count) continue;
    const auto given = nvme::read_lba_statuses(reply.data);
    const bool same = given.size() == count && std::equal(given.begin(), given.end(), all.begin(), [](const auto& one, const auto& other) {
                        return one.first == other.first && one.count == other.count;
                      });
    check.that(same, what + "they are the first of all");
  }
  scene.mend();
}

CONFORMANCE_CASE(lba_status_with_room_is_complete, "nvme.lba-status.complete", roles::controller, needs(has_lba_status),
                 needs(has_namespace)) {
  LbaStatusScene scene(bench, check);
  const auto reply = scene.ask(LbaStatusAction::tracked);
  check.require_success(reply, "Get LBA Status");
  const auto condition = View<nvme::LbaStatusListHeader>{reply.data}.get(nvme::lba_status_list::cmpc);
  check.that(condition != LbaStatusCondition::incomplete, "CMPC is not 1h", "it is");
}

CONFORMANCE_CASE(lba_status_behind_the_end_is_refused, "nvme.lba-status.out-of-range", roles::controller, needs(has_lba_status),
                 needs(has_namespace), reaches{"lba_status.range"}) {
  LbaStatusScene scene(bench, check);
  check.refused(scene.ask(LbaStatusAction::tracked, scene.io.blocks + 8), "Get LBA Status behind the end");
}

CONFORMANCE_CASE(reserved_lba_status_actions_are_refused, "nvme.lba-status.action", roles::controller, needs(has_lba_status),
                 needs(has_namespace), reaches{"lba_status.action"}) {
  LbaStatusScene scene(bench, check);
  check.refused(scene.ask(static_cast<LbaStatusAction>(0x7F)), "Get LBA Status with a reserved action");
}

CONFORMANCE_CASE(inactive_namespaces_have_no_lba_status, "nvme.lba-status.inactive", roles::controller, needs(has_lba_status)) {
  RawAssociation& association = bench.associate();
  const auto list = association.admin().send(host::identify(nvme::Cns::active_namespace_list), 4096).wait();
  check.precondition_success(list, "Identify, active namespace list");
  const auto command = host::get_lba_status(lowest_inactive(list.data), LbaStatusAction::tracked, 0, 1, kListRoom);
  check.refused(association.admin().send(command, kListRoom).wait(), "Get LBA Status of an inactive namespace");
}

CONFORMANCE_CASE(lba_status_log_adds_up, "nvme.lba-status.log", roles::controller, needs(has_lba_status), needs(kMarks),
                 needs(has_namespace)) {
  LbaStatusScene scene(bench, check);
  scene.spoil(kLba + 3);
  // Blocks of other namespaces are lost in the embedded product alone.
  std::vector<std::uint32_t> marked = {scene.io.nsid};
  for (const host::NamespaceFacts& facts : bench.declared().namespaces) {
    if (!bench.embedded() || facts.nsid == scene.io.nsid) continue;
    if (scene.io.io.send(host::write_uncorrectable(facts.nsid, kLba + 3, 1)).wait().ok()) marked.push_back(facts.nsid);
  }
  const auto list = scene.admin().send(host::identify(nvme::Cns::active_namespace_list), 4096).wait();
  check.precondition_success(list, "Identify, active namespace list");
  const std::vector<std::uint32_t> active = nvme::read_namespace_list(list.data);
  const auto log = scene.log(false);
  check.that(log.length >= nvme::LbaStatusLogHeader::size, "LSLPLEN has room for the header", words(log.length));
  // Of a longer page this is the beginning alone.
  if (log.length <= kLogRoom) check.that(!log.damaged, "the elements lie within LSLPLEN", "one leaves it");
  for (const nvme::LbaStatusRanges& one : log.namespaces) {
    const bool known = std::find(active.begin(), active.end(), one.nsid) != active.end();
    check.that(known, "NEID is an attached namespace", words(one.nsid));
    const bool action = one.action == LbaStatusAction::scan || one.action == LbaStatusAction::tracked;
    check.that(action, "RATYPE is 10h or 11h", words(static_cast<unsigned>(one.action)));
  }
  for (const std::uint32_t nsid : marked) {
    const bool there =
        std::any_of(log.namespaces.begin(), log.namespaces.end(), [nsid](const nvme::LbaStatusRanges& one) { return one.nsid == nsid; });
    if (log.length <= kLogRoom) check.that(there, fmt::format("namespace {}, which has a lost block, has an element", nsid), "it has none");
  }
  scene.mend();
}

CONFORMANCE_CASE(lba_status_log_stays_while_it_is_read, "nvme.lba-status.log.kept", roles::controller, needs(has_lba_status), needs(kMarks),
                 needs(has_namespace)) {
  LbaStatusScene scene(bench, check);
  scene.spoil(kLba + 3);
  const auto before = scene.read_log(true);
  check.require_success(before, "Get Log Page 0Eh");
  scene.spoil(kLba + 20);
  const auto after = scene.read_log(true);
  check.require_success(after, "Get Log Page 0Eh, once more");
  check.bytes("log page 0Eh", after.data, before.data);
  (void)scene.read_log(false);
  scene.mend();
}

CONFORMANCE_CASE(lba_status_log_counts_news, "nvme.lba-status.log.generation", roles::controller, needs(has_lba_status),
                 needs(has_namespace), with_media_errors) {
  LbaStatusScene scene(bench, check);
  auto before = scene.log(false).generation;
  for (unsigned round = 0; round < 3; ++round) {
    const std::uint64_t lost = kLba + 9 + 16 * round;
    bench.arranger().media_error(scene.io.nsid, lost, 4, false);
    const auto after = scene.log(false);
    check.equal("LSGC, round " + words(round + 1), after.generation, static_cast<std::uint16_t>(before + 1));
    before = after.generation;
    const auto ranges = scene.element(after).ranges;
    const bool listed = std::any_of(ranges.begin(), ranges.end(),
                                    [lost](const auto& one) { return one.first <= lost && one.first + one.count >= lost + 4; });
    check.that(listed, "the lost blocks are in a range of their namespace");
  }
}

CONFORMANCE_CASE(scans_are_asked_for_once, "nvme.lba-status.log.failure", roles::controller, needs(has_lba_status), needs(has_namespace),
                 with_media_errors) {
  LbaStatusScene scene(bench, check);
  bench.arranger().media_error(scene.io.nsid, kLba + 9, 4, true);
  const auto first = scene.element(scene.log(true));
  check.precondition(first.nsid == scene.io.nsid && first.action == LbaStatusAction::scan, "a scan is asked for");
  check.precondition_success(scene.read_log(false), "Get Log Page 0Eh with RAE = 0");
  const auto again = scene.element(scene.log(true));
  check.that(again.nsid == 0 || again.action != LbaStatusAction::scan, "no scan is asked for again", "one is");
}

CONFORMANCE_CASE(lost_blocks_are_announced, "nvme.lba-status.event", roles::controller, needs(has_lba_status), needs(has_namespace),
                 with_media_errors) {
  LbaStatusScene scene(bench, check);
  scene.listen(kNotices);
  auto request = scene.admin().send(host::async_event_request());
  bench.arranger().media_error(scene.io.nsid, kLba + 9, 4, false);
  const auto event = request.wait_for(10_s);
  check.require(event.has_value(), "an event comes", "none comes");
  check.equal("event", nvme::Event::from_dw0(event->dw0()), kAlert);
  // Blocks that are lost while the log is read are no reason to announce no others.
  check.precondition_success(scene.read_log(true), "Get Log Page 0Eh with RAE = 1");
  bench.arranger().media_error(scene.io.nsid, kLba + 25, 4, false);
  check.precondition_success(scene.read_log(false), "Get Log Page 0Eh with RAE = 0");
  auto another = scene.admin().send(host::async_event_request());
  bench.arranger().media_error(scene.io.nsid, kLba + 41, 4, false);
  check.that(another.wait_for(10_s).has_value(), "an event comes after the log was read", "none comes");
}

CONFORMANCE_CASE(lost_blocks_are_announced_in_time, "nvme.lba-status.event.interval", roles::controller, needs(has_lba_status),
                 needs(has_namespace), with_media_errors) {
  LbaStatusScene scene(bench, check);
  scene.listen(kNotices);
  scene.set_interval(20);
  auto request = scene.admin().send(host::async_event_request());
  bench.arranger().media_error(scene.io.nsid, kLba + 9, 4, false);
  check.that(!request.wait_for(Duration::ms(1900)).has_value(), "no event comes within the report interval", "one came");
}

CONFORMANCE_CASE(lost_blocks_are_not_forced_on_hosts, "nvme.lba-status.event.disabled", roles::controller, needs(has_lba_status),
                 needs(has_namespace), with_media_errors) {
  LbaStatusScene scene(bench, check);
  scene.listen(0);
  auto request = scene.admin().send(host::async_event_request());
  bench.arranger().media_error(scene.io.nsid, kLba + 9, 4, false);
  check.that(!request.wait_for(10_s).has_value(), "no event comes", "one came");
}

CONFORMANCE_CASE(poll_interval_is_the_controllers, "nvme.lba-status.feature", roles::controller, needs(has_lba_status)) {
  namespace la = nvme::lba_status_attributes;
  host::RawQueue& admin = bench.associate().admin();
  const auto attributes = [](const host::RawReply& reply) { return record_from_integer<nvme::LbaStatusAttributes>(reply.dw0()); };
  const auto now = admin.send(host::get_features(FeatureId::lba_status_information)).wait();
  check.require_success(now, "Get Features 15h");
  const unsigned poll = attributes(now).get(la::lsipi);
  const auto selects = bench.declared().identify().get(nvme::id_ctrl::oncs) & nvme::oncs_bits::save_and_select;
  if (selects != 0) {
    const auto first = admin.send(host::get_features(FeatureId::lba_status_information, nvme::FeatureSelect::default_value)).wait();
    check.require_success(first, "Get Features 15h, default");
    check.equal("default LSIRI", unsigned{attributes(first).get(la::lsiri)}, unsigned{attributes(first).get(la::lsipi)});
  }
  Record<nvme::LbaStatusAttributes> wanted;
  wanted.set(la::lsiri, std::min(poll + 5, 0xFFFFu)).set(la::lsipi, std::min(poll + 3, 0xFFFFu));
  const auto command = host::set_features(FeatureId::lba_status_information, static_cast<std::uint32_t>(integer_of(wanted)));
  const auto set = admin.send(command).wait();
  check.require_success(set, "Set Features 15h");
  const auto after = admin.send(host::get_features(FeatureId::lba_status_information)).wait();
  check.require_success(after, "Get Features 15h, afterwards");
  check.equal("dword 0 of Set Features", set.dw0(), after.dw0());
  check.equal("LSIPI", unsigned{attributes(after).get(la::lsipi)}, poll);
  check.precondition_success(admin.send(host::set_features(FeatureId::lba_status_information, now.dw0())).wait(),
                             "Set Features 15h, as before");
}

}  // namespace fb::conformance
