// Firmware, Format NVM, Security Send and Receive.
#include <gtest/gtest.h>

#include "tests/model/subsystem/rig.h"
#include "wire/nvme/events.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/logs.h"

namespace fb::subsystem::test {
namespace {

namespace sc = nvme::sc;
using nvme::AdminOpcode;
using nvme::CommitAction;
using nvme::IoOpcode;

struct FirmwareRig : Rig {
  explicit FirmwareRig(SubsystemOptions options = {}) : Rig(std::move(options)), session(start()), admin(session.admin) {}

  nvme::Status put(ByteView image, std::size_t from, std::size_t to) {
    const ByteView piece = image.subspan(from, to - from);
    return admin.send(download(from, piece.size()).bytes(), Bytes(piece.begin(), piece.end())).code();
  }
  nvme::Status put(ByteView image) { return put(image, 0, image.size()); }
  nvme::Status say(unsigned slot, CommitAction action) { return admin.send(commit(slot, action).bytes()).code(); }
  std::string running() {
    const Reply reply = admin.fetch(identify(nvme::Cns::controller).bytes(), 4096);
    return text_of(ByteView{reply.data}.subspan(nvme::id_ctrl::fr.offset, 8));
  }
  /// "1>2 1.0|2.0|": the active slot, the next one, the revisions.
  std::string slots() {
    const Reply reply = admin.fetch(get_log(3, 512).bytes(), 512);
    const View<nvme::FirmwareSlots> log{reply.data};
    std::string text =
        std::to_string(log.get(nvme::firmware_slots::cafsi)) + ">" + std::to_string(log.get(nvme::firmware_slots::nrafsi)) + " ";
    for (std::size_t slot = 0; slot < 7; ++slot) {
      const ByteView revision = ByteView{reply.data}.subspan(8 + 8 * slot, 8);
      if (revision[0] != 0) text += text_of(revision) + "|";
    }
    return text;
  }
  void reset() {
    admin.send(property_set(0x14, 0x00460000));
    world->run_for(Duration::ms(2));
    enable(admin);
  }
  Session session;
  Line& admin;
};

TEST(Firmware, PiecesInAnyOrderMakeAnImage) {
  FirmwareDownload download;
  const Bytes image = make_firmware_image("7.1", 1000);
  using Taken = FirmwareDownload::Taken;
  const auto add = [&](std::size_t from, std::size_t to) { return download.add(from, ByteView{image}.subspan(from, to - from), 4096); };
  EXPECT_EQ(add(400, 1000), Taken::yes);
  EXPECT_TRUE(download.image().empty()) << "the first piece is missing";
  EXPECT_EQ(add(399, 401), Taken::overlaps);
  EXPECT_EQ(add(0, 401), Taken::overlaps);
  EXPECT_EQ(add(999, 1000), Taken::overlaps);
  EXPECT_EQ(add(0, 100), Taken::yes);
  EXPECT_TRUE(download.image().empty()) << "there is a hole";
  EXPECT_EQ(add(100, 400), Taken::yes);
  EXPECT_EQ(download.image(), image);
  EXPECT_EQ(firmware_revision(download.image()), "7.1");
  EXPECT_EQ(download.add(4000, Bytes(97), 4096), Taken::too_large);
  EXPECT_EQ(download.add(~std::uint64_t{0}, Bytes(4), 4096), Taken::too_large);
  download.clear();
  EXPECT_TRUE(download.empty());
  EXPECT_FALSE(firmware_revision(Bytes(100)).has_value());
  EXPECT_FALSE(firmware_revision(make_firmware_image("", 20)).has_value());
  EXPECT_FALSE(firmware_revision(make_firmware_image("\t", 20)).has_value());
}

TEST(Firmware, EachActionDoesWhatItSays) {
  FirmwareRig rig;
  EXPECT_EQ(rig.running(), "1.0");
  EXPECT_EQ(rig.slots(), "1>0 1.0|");
  EXPECT_TRUE(rig.put(make_firmware_image("2.0", 4096)).ok());
  EXPECT_TRUE(rig.say(2, CommitAction::replace).ok());
  EXPECT_EQ(rig.slots(), "1>0 1.0|2.0|");
  rig.reset();
  EXPECT_EQ(rig.running(), "1.0");
  EXPECT_TRUE(rig.say(2, CommitAction::activate).ok());
  EXPECT_EQ(rig.slots(), "1>2 1.0|2.0|");
  EXPECT_EQ(rig.running(), "1.0");
  rig.reset();
  EXPECT_EQ(rig.slots(), "2>0 1.0|2.0|");
  EXPECT_EQ(rig.running(), "2.0");
  EXPECT_TRUE(rig.put(make_firmware_image("3.0", 8192)).ok());
  EXPECT_TRUE(rig.say(0, CommitAction::replace_and_activate).ok());
  EXPECT_EQ(rig.slots(), "2>3 1.0|2.0|3.0|");
  rig.reset();
  EXPECT_EQ(rig.running(), "3.0");
  EXPECT_TRUE(rig.say(1, CommitAction::activate_at_once).ok());
  EXPECT_EQ(rig.running(), "1.0");
  EXPECT_TRUE(rig.put(make_firmware_image("4.0", 16)).ok());
  EXPECT_TRUE(rig.say(2, CommitAction::activate_at_once).ok());
  EXPECT_EQ(rig.slots(), "2>0 1.0|4.0|3.0|");
  // The slot that runs is written, and goes on running what it had.
  EXPECT_TRUE(rig.put(make_firmware_image("5.0", 16)).ok());
  EXPECT_TRUE(rig.say(2, CommitAction::replace).ok());
  EXPECT_EQ(rig.running(), "4.0");
}

TEST(Firmware, WhatIsRefused) {
  FirmwareRig rig;
  const Bytes image = make_firmware_image("2.0", 8192);
  EXPECT_EQ(rig.say(2, CommitAction::replace), sc::invalid_firmware_image) << "nothing was downloaded";
  EXPECT_EQ(rig.say(2, CommitAction::activate), sc::invalid_firmware_image) << "an empty slot";
  EXPECT_EQ(rig.say(4, CommitAction::activate), sc::invalid_firmware_slot);
  EXPECT_EQ(rig.say(1, static_cast<CommitAction>(4)), sc::invalid_field);
  EXPECT_EQ(rig.say(1, CommitAction::replace_boot_partition), sc::invalid_field);
  EXPECT_TRUE(rig.put(image, 4096, 8192).ok());
  EXPECT_EQ(rig.put(image, 0, 4100), sc::overlapping_range);
  EXPECT_EQ(rig.say(1, CommitAction::replace), sc::invalid_firmware_slot) << "slot 1 is read-only";
  EXPECT_EQ(rig.say(2, CommitAction::replace), sc::invalid_firmware_image) << "there is a hole";
  EXPECT_EQ(rig.say(2, CommitAction::replace), sc::invalid_firmware_image) << "and the pieces are void";
  EXPECT_TRUE(rig.put(image).ok());
  rig.reset();
  EXPECT_EQ(rig.say(2, CommitAction::replace), sc::invalid_firmware_image) << "a reset makes it void";
  EXPECT_TRUE(rig.put(Bytes(4096, 0x11)).ok());
  EXPECT_EQ(rig.say(2, CommitAction::replace), sc::invalid_firmware_image);
  EXPECT_EQ(rig.slots(), "1>0 1.0|");
  SubsystemOptions coarse;
  coarse.firmware_update.granularity = 1;
  FirmwareRig other(coarse);
  EXPECT_EQ(other.put(image, 0, 2048), sc::invalid_field);
  EXPECT_EQ(other.put(image, 2048, 6144), sc::invalid_field);
  EXPECT_TRUE(other.put(image, 4096, 8192).ok());
  SubsystemOptions none;
  none.firmware_update.slots = 0;
  FirmwareRig without(none);
  EXPECT_EQ(without.put(image), sc::invalid_opcode);
  EXPECT_EQ(without.say(1, CommitAction::activate), sc::invalid_opcode);
  EXPECT_EQ(without.slots(), "1>0 1.0|");
}

TEST(Firmware, StatusesThatNameTheReset) {
  SubsystemOptions options;
  options.firmware_update.activates_at_once = false;
  FirmwareRig rig(options);
  EXPECT_TRUE(rig.put(make_firmware_image("2.0", 64)).ok());
  EXPECT_EQ(rig.say(2, CommitAction::activate_at_once), sc::firmware_needs_controller_reset);
  EXPECT_EQ(rig.running(), "1.0");
  rig.reset();
  EXPECT_EQ(rig.running(), "2.0");
  options.firmware_update.needs_subsystem_reset = true;
  FirmwareRig heavy(options);
  EXPECT_TRUE(heavy.put(make_firmware_image("2.0", 64)).ok());
  EXPECT_EQ(heavy.say(2, CommitAction::replace_and_activate), sc::firmware_needs_subsystem_reset);
  heavy.reset();
  EXPECT_EQ(heavy.running(), "1.0");
  heavy.disk->reset_subsystem();
  EXPECT_EQ(heavy.disk->firmware().running(), "2.0");
}

TEST(Firmware, ActivationIsAnnounced) {
  FirmwareRig rig;
  rig.admin.send(set_feature(0x0B, nvme::event_config_bits::firmware_activation).bytes());
  const std::uint16_t cid = rig.admin.post(command(AdminOpcode::async_event_request).bytes());
  EXPECT_TRUE(rig.put(make_firmware_image("2.0", 64)).ok());
  EXPECT_TRUE(rig.say(2, CommitAction::activate_at_once).ok());
  const std::optional<Reply> event = rig.admin.reply(cid);
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->dw0(), 0x00030102u);
}

TEST(Format, ErasesOneNamespaceOrAll) {
  FirmwareRig rig;
  ASSERT_TRUE(rig.disk->add_namespace({.blocks = 1024}));
  Line io = rig.start_io(rig.session);
  const auto fill = [&](std::uint32_t nsid) {
    ASSERT_TRUE(io.send(rw(IoOpcode::write, 0, 8, nsid).bytes(), Bytes(4096, 0x77)).status().ok());
  };
  const auto first = [&](std::uint32_t nsid, std::uint32_t blocks) {
    const Reply reply = io.fetch(rw(IoOpcode::read, 0, blocks, nsid).bytes(), 4096);
    EXPECT_TRUE(reply.status().ok());
    return reply.data.empty() ? -1 : int{reply.data[0]};
  };
  fill(1);
  fill(2);
  ASSERT_TRUE(rig.admin.send(format(1, 1).bytes()).status().ok());
  const Reply reply = rig.admin.fetch(identify(nvme::Cns::identify_namespace, 1).bytes(), 4096);
  EXPECT_EQ(nvme::format_in_use(reply.data), 1u);
  EXPECT_EQ(nvme::lba_format_at(reply.data, 1).get(nvme::lba_format::lbads), 12);
  EXPECT_EQ(View<nvme::IdentifyNamespace>{reply.data}.get(nvme::id_ns::nsze), 128u);
  EXPECT_EQ(first(1, 1), 0);
  EXPECT_EQ(first(2, 8), 0x77);
  EXPECT_EQ(io.fetch(rw(IoOpcode::read, 127, 2, 1).bytes(), 8192).code(), sc::lba_out_of_range);
  ASSERT_TRUE(rig.admin.send(format(nvme::kAllNamespaces, 0, 0, 2).bytes()).status().ok());
  EXPECT_EQ(first(2, 8), 0);
  EXPECT_EQ(rig.disk->find_namespace(1)->blocks(), 1024u);
}

// What was under way to blocks of the old size does nothing to those of the new one.
TEST(Format, WhileDataIsOnItsWay) {
  for (const unsigned lbaf : {1u, 0u}) {
    FirmwareRig rig;
    rig.admin.send(format(1, 1 - lbaf).bytes());
    Line io = rig.start_io(rig.session);
    io.wire().hold_pulls = true;
    const std::size_t bytes = lbaf == 1 ? 512 : 4096;
    const auto write = io.post(rw(IoOpcode::write, 0, 1).bytes(), Bytes(bytes, 0x99));
    const auto compare = io.post(rw(IoOpcode::compare, 0, 1).bytes(), Bytes(bytes));
    ASSERT_TRUE(rig.admin.send(format(1, lbaf).bytes()).status().ok());
    io.deliver();
    io.deliver();
    for (const auto cid : {write, compare}) {
      const std::optional<Reply> reply = io.reply(cid);
      ASSERT_TRUE(reply.has_value());
      EXPECT_EQ(reply->code(), sc::format_in_progress);
    }
    Bytes after(4096, 1);
    EXPECT_TRUE(rig.disk->find_namespace(1)->read(0, after).ok());
    EXPECT_EQ(after, Bytes(4096));
  }
}

TEST(Format, WhatIsRefused) {
  FirmwareRig rig;
  const auto says = [&](const nvme::Sqe& sqe) { return rig.admin.send(sqe.bytes()).code(); };
  EXPECT_EQ(says(format(1, 2)), sc::invalid_format);
  EXPECT_EQ(says(format(1, 16)), sc::invalid_format);
  EXPECT_EQ(says(format(1, 0, 1)), sc::invalid_format);
  EXPECT_EQ(says(format(1, 0, 0, 3)), sc::invalid_field);
  EXPECT_EQ(says(format(9, 0)), sc::invalid_field);
  EXPECT_EQ(says(format(0, 0)), sc::invalid_namespace_or_format);
  ASSERT_TRUE(rig.disk->add_namespace({.blocks = 7}));
  EXPECT_EQ(says(format(2, 1)), sc::invalid_format) << "3,584 bytes are no block of 4,096";
  EXPECT_TRUE(rig.disk->remove_namespace(2));
  rig.disk->find_namespace(1)->set_write_protection(1);
  EXPECT_EQ(says(format(1, 0)), sc::namespace_write_protected);
  EXPECT_EQ(says(format(nvme::kAllNamespaces, 0)), sc::namespace_write_protected);
  rig.disk->find_namespace(1)->set_write_protection(0);
  rig.disk->set_ana_state(1, nvme::AnaState::inaccessible);
  EXPECT_EQ(says(format(1, 0)), sc::ana_inaccessible);
}

TEST(Security, ListsWhatThereIsAndKeepsWhatIsSent) {
  FirmwareRig rig;
  const auto receive = [&](unsigned protocol, unsigned specific, std::uint32_t length) {
    return rig.admin.fetch(security(AdminOpcode::security_receive, protocol, specific, length).bytes(), length);
  };
  EXPECT_EQ(to_hex(receive(0, 0, 12).data), "000000000000000200f00000");
  EXPECT_EQ(to_hex(receive(0, 0, 9).data), "000000000000000200");
  EXPECT_EQ(receive(0, 2, 12).code(), sc::invalid_field);
  EXPECT_EQ(receive(1, 1, 12).code(), sc::invalid_field);
  EXPECT_TRUE(receive(0xF0, 3, 0).status().ok());
  const auto sent = security(AdminOpcode::security_send, 0xF0, 3, 5);
  EXPECT_TRUE(rig.admin.send(sent.bytes(), Bytes{1, 2, 3, 4, 5}).status().ok());
  EXPECT_EQ(to_hex(receive(0xF0, 3, 8).data), "0102030405000000");
  EXPECT_EQ(to_hex(receive(0xF0, 4, 2).data), "0000");
  EXPECT_EQ(rig.admin.send(security(AdminOpcode::security_send, 0, 0, 4).bytes(), Bytes(4)).code(), sc::invalid_field);
  EXPECT_EQ(receive(0xF0, 16, 4).code(), sc::invalid_field);
  EXPECT_EQ(receive(0xF0, 3, (4096u << 8) + 4).code(), sc::invalid_field) << "beyond MDTS";
}

}  // namespace
}  // namespace fb::subsystem::test
