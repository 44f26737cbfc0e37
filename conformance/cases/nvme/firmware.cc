// Firmware Image Download and Firmware Commit. What replaces firmware runs with the emulated product alone.
#include "conformance/cases/nvme/scene.h"
#include "model/subsystem/firmware.h"
#include "wire/nvme/events.h"

namespace fb::conformance {

namespace {

using nvme::CommitAction;
using subsystem::make_firmware_image;

const arranged with_replaceable_firmware{"firmware that may be replaced",
                                         [](EmbeddedSetup& setup) { setup.subsystem.firmware_update = {}; }};
constexpr unsigned kSlots = 7;
constexpr std::size_t kImagePiece = 4096;
/// Any size that is no multiple of the pieces.
constexpr std::size_t kImageBytes = 3 * kImagePiece + 512;

struct Slots {
  unsigned active = 0;
  unsigned next = 0;
  std::array<std::string, kSlots> revisions;
};

std::string text_at(ByteView data, std::size_t at) {
  std::string text(data.begin() + static_cast<std::ptrdiff_t>(at), data.begin() + static_cast<std::ptrdiff_t>(at + 8));
  while (!text.empty() && (text.back() == ' ' || text.back() == '\0')) text.pop_back();
  return text;
}

class FirmwareScene {
 public:
  FirmwareScene(ControllerBench& bench, Check& check) : association_(bench.associate()), check_(check) {}

  RawAssociation& association() { return association_; }
  host::RawReply put(std::uint64_t offset, ByteView piece) {
    return association_.admin().send(host::firmware_download(offset, piece.size()), piece).wait();
  }
  /// A good download, last piece first if so wished.
  void download(ByteView image) {
    for (std::size_t at = 0; at < image.size(); at += kImagePiece) {
      const ByteView piece = image.subspan(at, std::min(kImagePiece, image.size() - at));
      check_.precondition_success(put(at, piece), "Firmware Image Download");
    }
  }
  host::RawReply commit(unsigned slot, CommitAction action) {
    return association_.admin().send(host::firmware_commit(slot, action)).wait();
  }
  /// A good image, downloaded and committed: false, and the case FAILs, where the commit is refused.
  bool update(unsigned slot, CommitAction action) {
    download(make_firmware_image("7.7", kImageBytes));
    return check_.success(commit(slot, action), "Firmware Commit");
  }
  std::string running() { return running_of(association_); }
  std::string running_of(RawAssociation& association) {
    const auto reply = association.admin().send(host::identify(nvme::Cns::controller), 4096).wait();
    check_.precondition_success(reply, "Identify Controller");
    return text_at(reply.data, nvme::id_ctrl::fr.offset);
  }
  Slots slots() {
    const auto reply = association_.admin().send(host::get_log(nvme::LogPage::firmware_slot, 512), 512).wait();
    check_.precondition_success(reply, "Get Log Page");
    const View<nvme::FirmwareSlots> log{reply.data};
    Slots seen{log.get(nvme::firmware_slots::cafsi), log.get(nvme::firmware_slots::nrafsi), {}};
    for (unsigned i = 0; i < kSlots; ++i) {
      seen.revisions[i] = text_at(reply.data, nvme::firmware_slots::frs.offset + 8 * i);
    }
    return seen;
  }
  void reset() {
    association_.disable();
    association_.enable();
  }

 private:
  RawAssociation& association_;
  Check& check_;
};

std::optional<std::string> updates_firmware(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oacs) & nvme::oacs_bits::firmware) != 0) return {};
  return "OACS bit 2 (firmware commands) is clear";
}

unsigned slots_of(const Declared& declared) { return declared.identify().get(nvme::id_ctrl::frmw) >> nvme::frmw_bits::slots_shift & 7; }

std::optional<std::string> has_a_slot_too_many(const Declared& declared) {
  if (!declared.known || slots_of(declared) < kSlots) return {};
  return "all seven slots exist";
}

}  // namespace

CONFORMANCE_CASE(firmware_log_names_what_runs, "nvme.firmware.log", roles::controller, needs(updates_firmware)) {
  FirmwareScene scene(bench, check);
  const Slots slots = scene.slots();
  check.require(slots.active >= 1 && slots.active <= kSlots, "the active slot is 1 to 7", std::to_string(slots.active));
  const std::string& held = slots.revisions[slots.active - 1];
  const std::string running = scene.running();
  if (held != running && slots.next == slots.active) check.inconclusive("the active slot holds what runs next");
  check.equal("revision in the active slot", held, running);
}

CONFORMANCE_CASE(commit_refuses_a_slot_that_is_not_there, "nvme.firmware.commit.slot", roles::controller, needs(updates_firmware),
                 needs(has_a_slot_too_many), reaches{"firmware.commit.slot"}) {
  FirmwareScene scene(bench, check);
  check.status(scene.commit(slots_of(bench.declared()) + 1, CommitAction::activate), sc::invalid_firmware_slot);
}

CONFORMANCE_CASE(commit_refuses_reserved_actions, "nvme.firmware.commit.action", roles::controller, needs(updates_firmware),
                 reaches{"firmware.commit.action"}) {
  FirmwareScene scene(bench, check);
  const unsigned slot = scene.slots().active;
  for (const unsigned action : {4u, 5u}) {
    check.refused(scene.commit(slot, static_cast<CommitAction>(action)), "Commit Action " + std::to_string(action));
  }
}

CONFORMANCE_CASE(commit_refuses_the_read_only_slot, "nvme.firmware.commit.read-only", roles::controller, with_replaceable_firmware) {
  FirmwareScene scene(bench, check);
  scene.download(make_firmware_image("7.7", kImageBytes));
  for (const CommitAction action : {CommitAction::replace, CommitAction::replace_and_activate}) {
    check.status(scene.commit(1, action), sc::invalid_firmware_slot);
  }
  const std::string running = scene.running();
  check.equal("revision in slot 1", scene.slots().revisions[0], running);
}

CONFORMANCE_CASE(commit_refuses_to_activate_an_empty_slot, "nvme.firmware.commit.empty", roles::controller, with_replaceable_firmware) {
  FirmwareScene scene(bench, check);
  for (const CommitAction action : {CommitAction::activate, CommitAction::activate_at_once}) {
    check.status(scene.commit(2, action), sc::invalid_firmware_image);
  }
  check.equal("next slot", scene.slots().next, 0u);
}

CONFORMANCE_CASE(commit_refuses_nothing, "nvme.firmware.commit.nothing", roles::controller, with_replaceable_firmware) {
  FirmwareScene scene(bench, check);
  check.refused(scene.commit(2, CommitAction::replace), "Firmware Commit without an image");
  check.equal("revision in slot 2", scene.slots().revisions[1], "");
}

CONFORMANCE_CASE(commit_refuses_what_is_no_image, "nvme.firmware.commit.invalid", roles::controller, with_replaceable_firmware) {
  FirmwareScene scene(bench, check);
  scene.download(Bytes(kImageBytes, 0xE7));
  check.status(scene.commit(2, CommitAction::replace_and_activate), sc::invalid_firmware_image);
  const Slots slots = scene.slots();
  check.equal("revision in slot 2", slots.revisions[1], "");
  check.equal("next slot", slots.next, 0u);
}

CONFORMANCE_CASE(commit_refuses_an_image_with_a_gap, "nvme.firmware.commit.gap", roles::controller, with_replaceable_firmware) {
  const Bytes image = make_firmware_image("7.7", kImageBytes);
  for (const std::size_t missing : {std::size_t{0}, kImagePiece}) {
    FirmwareScene scene(bench, check);
    for (std::size_t at = 0; at < image.size(); at += kImagePiece) {
      const ByteView piece = ByteView{image}.subspan(at, std::min(kImagePiece, image.size() - at));
      if (at != missing) check.precondition_success(scene.put(at, piece), "Firmware Image Download");
    }
    check.refused(scene.commit(2, CommitAction::replace), "Firmware Commit of an image with a gap");
  }
}

CONFORMANCE_CASE(overlapping_pieces_are_refused, "nvme.firmware.download.overlap", roles::controller, with_replaceable_firmware) {
  const Bytes image = make_firmware_image("7.7", 4 * kImagePiece);
  // Where the piece that is there begins and how long it is, and the one that comes to it.
  const struct {
    std::size_t there, there_bytes, comes, comes_bytes;
    std::string_view what;
  } rows[] = {{0, kImagePiece, kImagePiece / 2, kImagePiece, "a piece that begins in the one before it"},
              {kImagePiece, kImagePiece, kImagePiece / 2, kImagePiece, "a piece that ends in the one behind it"},
              {kImagePiece, kImagePiece / 4, kImagePiece / 2, kImagePiece, "a piece around another"},
              {0, kImagePiece, kImagePiece / 2, kImagePiece / 4, "a piece inside another"}};
  for (const auto& row : rows) {
    FirmwareScene scene(bench, check);
    check.precondition_success(scene.put(row.there, ByteView{image}.subspan(row.there, row.there_bytes)), "Firmware Image Download");
    const auto second = scene.put(row.comes, ByteView{image}.subspan(row.comes, row.comes_bytes));
    if (!second.ok()) {
      check.status(second, sc::overlapping_range, row.what);
      continue;
    }
    check.status(scene.commit(2, CommitAction::replace), one_of(sc::overlapping_range, sc::invalid_firmware_image),
                 "Firmware Commit behind " + std::string(row.what));
  }
}

CONFORMANCE_CASE(pieces_keep_to_the_granularity, "nvme.firmware.download.granularity", roles::controller,
                 arranged("firmware in units of 4 KiB",
                          [](EmbeddedSetup& setup) { setup.subsystem.firmware_update = {.granularity = 1}; })) {
  FirmwareScene scene(bench, check);
  const Bytes image = make_firmware_image("7.7", 2 * kImagePiece);
  check.status(scene.put(0, ByteView{image}.first(kImagePiece / 2)), sc::invalid_field, "half a unit");
  check.status(scene.put(kImagePiece / 2, ByteView{image}.first(kImagePiece)), sc::invalid_field, "a unit at half a unit");
  check.success(scene.put(kImagePiece, ByteView{image}.first(kImagePiece)), "a unit at its place");
}

CONFORMANCE_CASE(pieces_come_in_any_order, "nvme.firmware.download.order", roles::controller, with_replaceable_firmware) {
  FirmwareScene scene(bench, check);
  const Bytes image = make_firmware_image("7.7", 4 * kImagePiece);
  for (const std::size_t piece : {2u, 0u, 3u, 1u}) {
    const ByteView bytes = ByteView{image}.subspan(piece * kImagePiece, kImagePiece);
    check.success(scene.put(piece * kImagePiece, bytes), "Firmware Image Download");
  }
  if (!check.success(scene.commit(2, CommitAction::replace), "Firmware Commit")) return;
  check.equal("revision in slot 2", scene.slots().revisions[1], "7.7");
}

CONFORMANCE_CASE(a_reset_forgets_a_download, "nvme.firmware.download.reset", roles::controller, with_replaceable_firmware) {
  FirmwareScene scene(bench, check);
  scene.download(make_firmware_image("7.7", kImageBytes));
  scene.reset();
  check.refused(scene.commit(2, CommitAction::replace), "Firmware Commit after the reset");
}

CONFORMANCE_CASE(commit_without_activation_changes_a_slot_alone, "nvme.firmware.replace", roles::controller, with_replaceable_firmware) {
  FirmwareScene scene(bench, check);
  const std::string before = scene.running();
  if (!scene.update(2, CommitAction::replace)) return;
  for (const std::string_view when : {"then", "after a reset"}) {
    const Slots slots = scene.slots();
    check.equal("revision in slot 2 " + std::string(when), slots.revisions[1], "7.7");
    check.equal("active slot " + std::string(when), slots.active, 1u);
    check.equal("next slot " + std::string(when), slots.next, 0u);
    check.equal("FR " + std::string(when), scene.running(), before);
    scene.reset();
  }
}

CONFORMANCE_CASE(committed_firmware_runs_after_a_reset, "nvme.firmware.activate.reset", roles::controller, with_replaceable_firmware) {
  FirmwareScene scene(bench, check);
  if (!scene.update(2, CommitAction::replace_and_activate)) return;
  // 0 says that the controller does not indicate the slot.
  const unsigned next = scene.slots().next;
  check.that(next == 2 || next == 0, "the next slot in the log is 2, or none is indicated", words(next));
  scene.reset();
  const Slots slots = scene.slots();
  check.equal("active slot after the reset", slots.active, 2u);
  check.equal("next slot after the reset", slots.next, 0u);
  check.equal("FR after the reset", scene.running(), "7.7");
}

CONFORMANCE_CASE(every_slot_holds_its_own_image, "nvme.firmware.every-slot", roles::controller,
                 arranged("firmware of seven slots", [](EmbeddedSetup& setup) { setup.subsystem.firmware_update = {.slots = kSlots}; })) {
  FirmwareScene scene(bench, check);
  const Slots before = scene.slots();
  // Unequal lengths: what is shorter than the revision before it has none of its characters.
  const auto revision = [](unsigned slot) { return "8." + std::to_string(slot) + std::string(slot % 2 != 0 ? "-LTS" : ""); };
  // The last first: slots before it are empty.
  for (unsigned slot = kSlots; slot >= 2; --slot) {
    // Unequal sizes, none of them a multiple of the pieces.
    scene.download(make_firmware_image(revision(slot), kImageBytes + 4 * slot));
    check.success(scene.commit(slot, CommitAction::replace), "Firmware Commit to slot " + std::to_string(slot));
    check.equal("revision in slot " + std::to_string(slot) + " as soon as it is stored", scene.slots().revisions[slot - 1], revision(slot));
  }
  const Slots slots = scene.slots();
  check.equal("revision in slot 1", slots.revisions[0], before.revisions[0]);
  for (unsigned slot = 2; slot <= kSlots; ++slot) {
    check.equal("revision in slot " + std::to_string(slot), slots.revisions[slot - 1], revision(slot));
  }
  for (unsigned slot = kSlots; slot >= 2; --slot) {
    check.success(scene.commit(slot, CommitAction::activate), "Firmware Commit that activates slot " + std::to_string(slot));
    check.equal("next slot", scene.slots().next, slot);
    scene.reset();
    check.equal("active slot after the reset", scene.slots().active, slot);
    check.equal("FR after the reset", scene.running(), revision(slot));
  }
}

CONFORMANCE_CASE(a_slots_image_can_be_activated_later, "nvme.firmware.activate.existing", roles::controller, with_replaceable_firmware) {
  FirmwareScene scene(bench, check);
  const std::string first = scene.running();
  scene.download(make_firmware_image("7.7", kImageBytes));
  check.precondition_success(scene.commit(2, CommitAction::replace), "Firmware Commit");
  for (const unsigned slot : {2u, 1u}) {
    if (!check.success(scene.commit(slot, CommitAction::activate), "Firmware Commit")) return;
    scene.reset();
    check.equal("active slot after the reset", scene.slots().active, slot);
    check.equal("FR after the reset", scene.running(), slot == 2 ? "7.7" : first);
  }
}

CONFORMANCE_CASE(committed_firmware_waits_for_the_reset, "nvme.firmware.activate.before", roles::controller, with_replaceable_firmware) {
  FirmwareScene scene(bench, check);
  const std::string before = scene.running();
  scene.download(make_firmware_image("7.7", kImageBytes));
  check.precondition_success(scene.commit(2, CommitAction::replace_and_activate), "Firmware Commit");
  check.equal("FR", scene.running(), before);
  check.equal("active slot", scene.slots().active, 1u);
}

CONFORMANCE_CASE(firmware_can_be_activated_at_once, "nvme.firmware.activate.at-once", roles::controller, with_replaceable_firmware) {
  FirmwareScene scene(bench, check);
  const std::string first = scene.running();
  if (!scene.update(2, CommitAction::activate_at_once)) return;
  check.equal("FR", scene.running(), "7.7");
  check.equal("active slot", scene.slots().active, 2u);
  if (!check.success(scene.commit(1, CommitAction::activate_at_once), "Firmware Commit")) return;
  check.equal("FR of the slot that was there", scene.running(), first);
}

CONFORMANCE_CASE(all_controllers_run_the_same_firmware, "nvme.firmware.activate.all", roles::controller, with_replaceable_firmware) {
  FirmwareScene scene(bench, check);
  RawAssociation& other = bench.associate({.hostnqn = "nqn.2026-11.org.fabricbench:other"});
  scene.download(make_firmware_image("7.7", kImageBytes));
  check.precondition_success(scene.commit(2, CommitAction::activate_at_once), "Firmware Commit");
  check.equal("FR of the other controller", scene.running_of(other), "7.7");
}

CONFORMANCE_CASE(activation_is_announced, "nvme.firmware.event", roles::controller, with_replaceable_firmware) {
  FirmwareScene scene(bench, check);
  host::RawQueue& admin = scene.association().admin();
  const auto enabled = nvme::event_config_bits::firmware_activation;
  check.precondition_success(admin.send(host::set_features(nvme::FeatureId::async_event_configuration, enabled)).wait(), "Set Features");
  auto request = admin.send(host::async_event_request());
  scene.download(make_firmware_image("7.7", kImageBytes));
  check.precondition_success(scene.commit(2, CommitAction::activate_at_once), "Firmware Commit");
  const auto event = request.wait_for(kSoon);
  check.require(event.has_value(), "an event comes");
  check.equal("event", event->dw0() & 0xFFFFFF, 0x030102u);
}

}  // namespace fb::conformance
