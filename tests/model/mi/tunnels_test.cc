// Admin commands and PCIe commands through a management endpoint, MI commands through an admin queue.
#include <gtest/gtest.h>

#include "tests/model/mi/rig.h"
#include "wire/fabrics/property.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/logs.h"

namespace fb::mi {
namespace {

using test::kDriveEid;
using test::Rig;
using test::RigOptions;

nvme::Sqe sqe(std::uint8_t opcode, std::uint32_t cdw10 = 0, std::uint32_t nsid = 0) {
  nvme::Sqe made;
  made.set(nvme::sqe::opcode, opcode).set(nvme::sqe::cdw10, cdw10).set(nvme::sqe::nsid, nsid);
  return made;
}
Reply admin(Rig& rig, std::uint8_t opcode, std::uint32_t cdw10 = 0, Requester::AdminTerms terms = {}, Bytes data = {},
            std::uint16_t cntlid = 1) {
  return rig.requester.admin(kDriveEid, cntlid, sqe(opcode, cdw10), terms, std::move(data)).wait();
}

TEST(AdminTunnel, WindowsOfIdentify) {
  Rig rig;
  const Bytes whole = *rig.requester.identify(kDriveEid, 1, nvme::Cns::controller).wait().value;
  const std::pair<std::uint32_t, std::uint32_t> windows[] = {{0, 72},    {0, 4},    {4, 4096},          {2048, 2048}, {4092, 4},
                                                             {4092, 64}, {4096, 4}, {0xFFFFFFFC, 4096}, {100, 1000},  {0, 0}};
  for (const auto& [offset, length] : windows) {
    const auto part = rig.requester.identify(kDriveEid, 1, nvme::Cns::controller, 0, offset, length).wait();
    ASSERT_TRUE(part.ok()) << offset << " " << length;
    const std::size_t from = std::min<std::size_t>(offset, whole.size());
    const std::size_t size = std::min<std::size_t>(length, whole.size() - from);
    EXPECT_EQ(*part.value,
              Bytes(whole.begin() + static_cast<std::ptrdiff_t>(from), whole.begin() + static_cast<std::ptrdiff_t>(from + size)));
  }
}

TEST(AdminTunnel, ParameterErrorLocations) {
  Rig rig;
  const auto at = [&](const Reply& reply) {
    EXPECT_EQ(reply.status(), Status::invalid_parameter);
    EXPECT_EQ(reply.message.size(), 8u) << "errors have no completion";
    return reply.error_at();
  };
  EXPECT_EQ(at(admin(rig, 0x06, 1, {.dlen = 4100})), (ParameterError{32, 0}));
  EXPECT_EQ(at(admin(rig, 0x06, 1, {.dlen = 6})), (ParameterError{32, 0}));
  EXPECT_EQ(at(admin(rig, 0x06, 1, {.dofst = 2, .dlen = 4})), (ParameterError{28, 0}));
  EXPECT_EQ(at(admin(rig, 0x06, 1, {.dlen = 4}, {}, 77)), (ParameterError{6, 0}));
  EXPECT_EQ(at(admin(rig, 0x06, 1, {.dlen = 4}, {}, 0)), (ParameterError{6, 0}));
  EXPECT_EQ(admin(rig, 0x06, 1, {.dlen = 4}, Bytes(4)).status(), Status::invalid_data_size);
  EXPECT_EQ(admin(rig, 0x09, 0x16, {.dlen = 512}, Bytes(8)).status(), Status::invalid_data_size);
}

TEST(AdminTunnel, ProhibitedAndUnknownOpcodes) {
  Rig rig;
  for (unsigned code = 0; code < 256; ++code) {
    const auto opcode = static_cast<std::uint8_t>(code);
    // Get Log Page, Identify, features, namespaces, firmware, self-test, Lockdown, Format NVM, security, Sanitize, Get LBA Status.
    const std::uint8_t all[] = {0x02, 0x06, 0x09, 0x0A, 0x0D, 0x10, 0x11, 0x14, 0x15, 0x24, 0x80, 0x81, 0x82, 0x84, 0x86};
    const bool served = std::find(std::begin(all), std::end(all), opcode) != std::end(all);
    const Reply reply = admin(rig, opcode, opcode == 0x06 ? 1 : 2, {.dlen = 4});
    if (served) {
      EXPECT_NE(reply.status(), Status::invalid_opcode) << code;
    } else {
      EXPECT_EQ(reply.status(), Status::invalid_opcode) << code;
    }
  }
}

TEST(AdminTunnel, FailuresOfTheCommandStandInTheCompletion) {
  Rig rig;
  const Reply reply = admin(rig, 0x06, 0xFF, {.dlen = 4096, .flags = 1});
  EXPECT_TRUE(reply.ok());
  EXPECT_TRUE(nvme::same_code(reply.nvme_status(), nvme::sc::invalid_field));
  EXPECT_TRUE(reply.nvme_status().dnr());
  EXPECT_TRUE(reply.admin_data().empty());
  // It is in the controller's error log, without queue or identifier.
  const auto log = rig.requester.get_log(kDriveEid, 1, 1, 64).wait();
  ASSERT_TRUE(log.ok());
  const View<nvme::ErrorEntry> entry{*log.value};
  EXPECT_EQ(entry.get(nvme::error_entry::sqid), 0xFFFF);
  EXPECT_EQ(entry.get(nvme::error_entry::cid), 0xFFFF);
  EXPECT_EQ(entry.get(nvme::error_entry::opc), 0x06);
}

TEST(AdminTunnel, FlagsDoNotCount) {
  Rig rig;
  for (std::uint8_t flags = 0; flags < 4; ++flags) {
    const Reply reply = admin(rig, 0x06, 1, {.dofst = 4, .dlen = 64, .flags = flags});
    ASSERT_TRUE(reply.admin_ok());
    EXPECT_EQ(reply.admin_data().size(), 64u);
  }
  RigOptions old;
  old.device.revision = Revision::r1_1;
  Rig before(old);
  EXPECT_EQ(admin(before, 0x06, 1, {.dofst = 4, .dlen = 64, .flags = 0}).admin_data().size(), 4096u) << "before 1.2 they did";
  EXPECT_EQ(admin(before, 0x06, 1, {.dofst = 4, .dlen = 64, .flags = 3}).admin_data().size(), 64u);
}

TEST(AdminTunnel, LogsInPieces) {
  Rig rig;
  for (const std::uint8_t lid : kMandatoryLogs) {
    const auto whole = rig.requester.get_log(kDriveEid, 1, lid, 1024).wait();
    if (lid == 1 || lid == 2 || lid == 3) {
      EXPECT_TRUE(rig.requester.get_log(kDriveEid, 1, lid, 512).wait().ok()) << +lid;
      continue;
    }
    ASSERT_TRUE(whole.ok()) << +lid;
    for (const std::size_t piece : {4u, 100u, 512u}) {
      const auto parts = rig.requester.get_log(kDriveEid, 1, lid, 1024, nvme::kAllNamespaces, piece).wait();
      ASSERT_TRUE(parts.ok());
      EXPECT_EQ(*parts.value, *whole.value) << +lid << " by " << piece;
    }
  }
}

// Whatever RAE says, a read over management takes nothing away from the host.
TEST(AdminTunnel, LogsAreNotAcknowledged) {
  Rig rig;
  subsystem::test::ConnectWords words;
  words.cntlid = 1;
  auto session = rig.target_rig.start(words);
  session.admin.send(subsystem::test::set_feature(0x0B, 0x1FF).bytes());
  (void)rig.disk.add_namespace({});
  const auto changed = [&] { return rig.requester.get_log(kDriveEid, 1, 4, 4096).wait().value.value(); };
  EXPECT_EQ(changed()[0], 2);
  EXPECT_EQ(changed()[0], 2) << "still there after it was read";
  const auto host = session.admin.fetch(subsystem::test::get_log(4, 4096).bytes(), 4096);
  EXPECT_EQ(host.data[0], 2);
  EXPECT_EQ(changed()[0], 0) << "the host's own read took it";
}

TEST(AdminTunnel, Features) {
  Rig rig;
  for (const int fid : {0x01, 0x03, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0D, 0x0F, 0x12, 0x13, 0x14, 0x15, 0x16, 0x18}) {
    const auto code = static_cast<std::uint8_t>(fid);
    const Reply get = rig.requester.get_feature(kDriveEid, 1, code).wait();
    EXPECT_TRUE(get.ok());
    EXPECT_TRUE(nvme::same_code(get.nvme_status(), nvme::sc::invalid_field)) << fid;
    const Reply set = rig.requester.set_feature(kDriveEid, 1, code, 1).wait();
    EXPECT_TRUE(set.ok());
    EXPECT_TRUE(nvme::same_code(set.nvme_status(), nvme::sc::invalid_field)) << fid;
  }
  EXPECT_TRUE(rig.requester.get_feature(kDriveEid, 1, 0x02).wait().admin_ok());
  // libnvme sends data with DLEN 0.
  Bytes request(68 + 512);
  request[0] = 0x84;
  request[1] = 0x10;
  request[4] = 0x09;
  request[6] = 1;
  request[44] = 0x02;
  const auto answers = rig.exchange(request);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(to_hex(answers[0]), "84900000" + std::string(32, '0'));
  RigOptions strict;
  strict.endpoint.set_features_without_length = false;
  Rig other(strict);
  EXPECT_EQ(other.exchange(request).at(0)[4], 0x06);
}

TEST(AdminTunnel, ControllerZeroMayStandForTheFirst) {
  RigOptions options;
  options.device.controller_zero_is_lowest = true;
  Rig rig(options);
  const auto page = rig.requester.identify(kDriveEid, 0, nvme::Cns::controller).wait();
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(View<nvme::IdentifyController>{*page.value}.get(nvme::id_ctrl::cntlid), 1);
}

TEST(AdminTunnel, IntoTheBuffer) {
  Rig rig;
  const Reply reply = admin(rig, 0x06, 1, {.dlen = 4096, .command = {.in_buffer = true, .timeout = {}}});
  ASSERT_TRUE(reply.admin_ok());
  EXPECT_TRUE(reply.admin_data().empty());
  EXPECT_EQ(*rig.requester.read_buffer(kDriveEid, 0, 4096).wait().value,
            *rig.requester.identify(kDriveEid, 1, nvme::Cns::controller).wait().value);
}

// A reset while a command is on its way to its data leaves no trace of it.
TEST(AdminTunnel, AControllerThatGoesAwayTakesNothingAlong) {
  RigOptions options;
  options.subsystem.controllers = subsystem::ControllerModel::dynamic_controllers;
  Rig rig(options);
  auto session = rig.target_rig.start();
  EXPECT_TRUE(rig.requester.identify(kDriveEid, session.cntlid, nvme::Cns::controller).wait().ok());
  session.admin.lose();
  rig.world.run_for(Duration::ms(1));
  EXPECT_EQ(rig.requester.identify(kDriveEid, session.cntlid, nvme::Cns::controller).wait().reply.error_at(), (ParameterError{6, 0}));
}

// A command that lasts: the hook keeps its completion.
struct Withholding final : subsystem::SubsystemHooks {
  Answer completion(const subsystem::CommandContext& command, MutableBytes) override {
    return command.sqe[0] == 0x06 && on ? Answer::withhold : Answer::send;
  }
  bool on = true;
};

TEST(AdminTunnel, ACommandThatLasts) {
  Withholding hooks;
  RigOptions options;
  options.subsystem_hooks = &hooks;
  Rig rig(options);
  auto op = rig.requester.identify(kDriveEid, 1, nvme::Cns::controller);
  rig.world.run_for(Duration::ms(200));
  EXPECT_EQ(rig.state().get(slot_status::ssta), SlotState::process);
  EXPECT_EQ(rig.packets.from(test::kDriveEid).at(0).payload()[4], 0x01) << "More Processing Required";
  EXPECT_EQ(load_le<std::uint16_t>(rig.packets.from(test::kDriveEid).at(0).payload().data() + 6), 0) << "no estimate";
  EXPECT_EQ(rig.requester.primitive(kDriveEid, Primitive::abort).wait().cpsr(), 2u);
  EXPECT_EQ(rig.state().get(slot_status::ssta), SlotState::idle);
  hooks.on = false;
  EXPECT_FALSE(op.settled());
  rig.world.run_for(Duration::s(20));
  EXPECT_TRUE(rig.requester.identify(kDriveEid, 1, nvme::Cns::controller).wait().ok());
}

TEST(AdminTunnel, ACommandThatItsControllerGivesUp) {
  Withholding hooks;
  RigOptions options;
  options.subsystem_hooks = &hooks;
  options.subsystem.controllers = subsystem::ControllerModel::dynamic_controllers;
  Rig rig(options);
  auto session = rig.target_rig.start();
  auto op = rig.requester.identify(kDriveEid, session.cntlid, nvme::Cns::controller);
  rig.world.run_for(Duration::ms(10));
  session.admin.lose();
  rig.world.run_for(Duration::ms(10));
  ASSERT_TRUE(op.settled());
  EXPECT_TRUE(op.value().reply.ok());
  EXPECT_TRUE(nvme::same_code(op.value().reply.nvme_status(), nvme::sc::abort_requested));
}

TEST(AdminTunnel, ACommandThatASubsystemResetEnds) {
  Withholding hooks;
  RigOptions options;
  options.subsystem_hooks = &hooks;
  Rig rig(options);
  auto op = rig.requester.identify(kDriveEid, 1, nvme::Cns::controller);
  rig.world.run_for(Duration::ms(10));
  rig.disk.reset_subsystem();
  rig.world.run_for(Duration::s(1));
  EXPECT_FALSE(op.settled());
  EXPECT_EQ(rig.state().get(slot_status::ssta), SlotState::idle);
}

// ---- PCIe ----

Reply pcie(Rig& rig, PcieOpcode opcode, std::uint64_t offset, std::uint16_t length, std::uint8_t bar = 0, Bytes data = {},
           std::uint16_t cntlid = 1) {
  return rig.requester.pcie(kDriveEid, cntlid, opcode, offset, length, bar, std::move(data)).wait();
}

TEST(PcieTunnel, ConfigurationSpace) {
  Rig rig;
  const Reply head = pcie(rig, PcieOpcode::configuration_read, 0, 16);
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(load_le<std::uint16_t>(head.data().data()), rig.disk.options().vid);
  EXPECT_EQ(to_hex(head.data().subspan(9, 3)), "020801") << "NVM Express";
  for (const int bytes : {1, 2, 3, 5}) {
    const auto length = static_cast<std::uint16_t>(bytes);
    const Reply odd = pcie(rig, PcieOpcode::configuration_read, 0, length);
    ASSERT_EQ(odd.data().size(), (length + 3u) / 4 * 4);
    for (std::size_t i = length; i < odd.data().size(); ++i) EXPECT_EQ(odd.data()[i], 0) << "padding";
  }
  EXPECT_EQ(pcie(rig, PcieOpcode::configuration_read, 0, 4096).data().size(), 4096u);
  ASSERT_TRUE(pcie(rig, PcieOpcode::configuration_write, 0x3C, 1, 0, {0x0B, 0, 0, 0}).ok());
  EXPECT_EQ(pcie(rig, PcieOpcode::configuration_read, 0x3C, 1).data()[0], 0x0B);
  ASSERT_TRUE(pcie(rig, PcieOpcode::configuration_write, 0, 2, 0, {0xFF, 0xFF, 0, 0}).ok());
  EXPECT_EQ(load_le<std::uint16_t>(pcie(rig, PcieOpcode::configuration_read, 0, 2).data().data()), rig.disk.options().vid) << "read only";
  // Every capability can be walked to.
  std::uint8_t at = pcie(rig, PcieOpcode::configuration_read, 0x34, 1).data()[0];
  std::vector<unsigned> ids;
  while (at != 0 && ids.size() < 10) {
    const Reply entry = pcie(rig, PcieOpcode::configuration_read, at, 2);
    ids.push_back(entry.data()[0]);
    at = entry.data()[1];
  }
  EXPECT_EQ(ids, (std::vector<unsigned>{0x01, 0x11, 0x10}));
}

TEST(PcieTunnel, RegistersOfTheController) {
  Rig rig;
  const Reply vs = pcie(rig, PcieOpcode::memory_read, fabrics::property::vs, 4);
  ASSERT_TRUE(vs.ok());
  EXPECT_EQ(load_le<std::uint32_t>(vs.data().data()), rig.disk.options().version);
  ASSERT_TRUE(pcie(rig, PcieOpcode::memory_write, fabrics::property::cc, 4, 0, {0x01, 0x00, 0x46, 0x00}).ok());
  rig.world.run_for(Duration::ms(5));
  EXPECT_EQ(pcie(rig, PcieOpcode::memory_read, fabrics::property::csts, 4).data()[0] & 1, 1) << "ready";
  EXPECT_FALSE(rig.disk.find_controller(2)->ready());
  ASSERT_TRUE(pcie(rig, PcieOpcode::io_write, 4, 2, 2, {1, 2, 0, 0}).ok());
  EXPECT_EQ(to_hex(pcie(rig, PcieOpcode::io_read, 4, 2, 2).data()), "01020000");
}

TEST(PcieTunnel, Errors) {
  Rig rig;
  const auto at = [](const Reply& reply) {
    EXPECT_EQ(reply.status(), Status::invalid_parameter);
    return reply.error_at().byte;
  };
  EXPECT_EQ(at(pcie(rig, PcieOpcode::configuration_read, 4093, 4)), 12);
  EXPECT_EQ(at(pcie(rig, PcieOpcode::configuration_read, 0, 4, 0, {}, 9)), 6);
  for (const int number : {1, 3, 5, 6, 7}) {
    const auto bar = static_cast<std::uint8_t>(number);
    EXPECT_EQ(at(pcie(rig, PcieOpcode::memory_read, 0, 4, bar)), 10);
    EXPECT_EQ(at(pcie(rig, PcieOpcode::io_read, 0, 4, bar)), 10);
  }
  EXPECT_EQ(at(pcie(rig, PcieOpcode::memory_read, 0, 4, 2)), 10) << "that is an I/O BAR";
  EXPECT_EQ(at(pcie(rig, PcieOpcode::memory_read, 16384, 4)), 12);
  EXPECT_EQ(at(pcie(rig, PcieOpcode::memory_read, ~std::uint64_t{0}, 4)), 12);
  EXPECT_EQ(at(pcie(rig, PcieOpcode::io_read, 254, 4, 2)), 12);
  EXPECT_EQ(pcie(rig, PcieOpcode::configuration_write, 0, 8, 0, Bytes(4)).status(), Status::invalid_data_size);
  EXPECT_EQ(pcie(rig, PcieOpcode::configuration_write, 0, 2, 0, Bytes(2)).status(), Status::invalid_data_size)
      << "data is padded to dwords";
  rig.device.function(1)->set_accessible(false);
  EXPECT_EQ(pcie(rig, PcieOpcode::memory_read, 0, 4).status(), Status::pcie_inaccessible);
  EXPECT_TRUE(pcie(rig, PcieOpcode::configuration_read, 0, 4).ok());
  EXPECT_TRUE(pcie(rig, PcieOpcode::memory_read, 0, 4, 0, {}, 2).ok()) << "the other function is";
}

TEST(PcieTunnel, LockedDown) {
  Rig rig;
  rig.device.function(1)->set_locked(true);
  EXPECT_EQ(pcie(rig, PcieOpcode::configuration_write, 0x3C, 1, 0, Bytes(4)).status(), Status::access_denied);
  EXPECT_EQ(pcie(rig, PcieOpcode::memory_read, 0, 4).status(), Status::access_denied);
  EXPECT_EQ(pcie(rig, PcieOpcode::io_write, 0, 4, 2, Bytes(4)).status(), Status::access_denied);
  EXPECT_TRUE(pcie(rig, PcieOpcode::configuration_read, 0x10, 24).ok()) << "BARs can always be read";
}

TEST(PcieTunnel, APowerStateBelowD0) {
  Rig rig;
  ASSERT_TRUE(pcie(rig, PcieOpcode::configuration_write, 0x44, 1, 0, {3, 0, 0, 0}).ok());
  EXPECT_EQ(pcie(rig, PcieOpcode::memory_read, 0, 4).status(), Status::pcie_inaccessible);
  ASSERT_TRUE(pcie(rig, PcieOpcode::configuration_write, 0x44, 1, 0, {0, 0, 0, 0}).ok());
  EXPECT_TRUE(pcie(rig, PcieOpcode::memory_read, 0, 4).ok());
}

// ---- in band ----

struct InBandRig : Rig {
  explicit InBandRig(RigOptions options = {}) : Rig(options), tunnel(device) {
    subsystem::test::ConnectWords words;
    words.cntlid = 1;
    session.emplace(target_rig.start(words));
  }
  subsystem::test::Reply send(bool write, std::uint8_t opcode, std::uint32_t nmd0 = 0, std::uint32_t nmd1 = 0, Bytes data = {},
                              std::size_t room = 4096) {
    nvme::Sqe made = subsystem::test::command(static_cast<std::uint8_t>(write ? 0x1D : 0x1E));
    made.set(nvme::sqe::cdw10, 0x0804u).set(nvme::sqe::cdw11, opcode).set(nvme::sqe::cdw12, nmd0).set(nvme::sqe::cdw13, nmd1);
    return session->admin.send(made.bytes(), data, std::max(room, data.size()));
  }
  InBand tunnel;
  std::optional<subsystem::test::Rig::Session> session;
};

TEST(InBandTunnel, ReadsAndPolls) {
  InBandRig rig;
  const auto info = rig.send(false, 0x00);
  ASSERT_TRUE(info.status().ok());
  EXPECT_EQ(info.dw0(), 0x00002000u) << "status, and NMRESP above it";
  EXPECT_EQ(to_hex(info.data).substr(0, 8), "01020001");
  rig.disk.set_temperature(311);
  EXPECT_EQ(load_le<std::uint16_t>(&rig.send(false, 0x01, 0, 0x80000000).data[4]) & change_bits::ctemp, change_bits::ctemp);
  EXPECT_EQ(load_le<std::uint16_t>(&rig.send(false, 0x01).data[4]), 0u);
  EXPECT_NE(rig.requester.poll_subsystem(kDriveEid).wait().value->get(subsystem_health::ccs), 0) << "out of band it has not been cleared";
}

TEST(InBandTunnel, WritesAndErrors) {
  InBandRig rig;
  EXPECT_EQ(rig.send(true, 0x06, 200, 4, {1, 2, 3, 4}).dw0(), 0u);
  EXPECT_EQ(*rig.requester.read_vpd(kDriveEid, 200, 4).wait().value, (Bytes{1, 2, 3, 4}));
  EXPECT_EQ(rig.send(false, 0x05, 256, 4).dw0(), 0x00080004u) << "Invalid Parameter at byte 8";
  EXPECT_EQ(rig.send(false, 0x04, 3).dw0() & 0xFF, 0x04u) << "units are no concern of a host";
  EXPECT_EQ(rig.send(true, 0x03, 0x01000101).dw0() & 0xFF, 0x04u);
  EXPECT_EQ(rig.send(false, 0x0A, 0, 4).dw0(), 0x03u) << "nor are buffers";
  EXPECT_EQ(rig.send(true, 0x0B, 0, 0).dw0(), 0x03u);
  EXPECT_EQ(rig.send(false, 0x77).dw0(), 0x03u);
  EXPECT_TRUE(rig.send(false, 0x06, 0, 4).status().ok());
  EXPECT_EQ(rig.send(false, 0x06, 0, 4).dw0(), 0x03u) << "the wrong way";
  const auto headed = [&](std::uint32_t header) {
    nvme::Sqe made = subsystem::test::command(std::uint8_t{0x1E});
    made.set(nvme::sqe::cdw10, header);
    return rig.session->admin.fetch(made.bytes(), 4096).dw0();
  };
  EXPECT_EQ(headed(0x1004), 0x03u) << "MI commands only";
  EXPECT_EQ(headed(0x0805), 0x04u) << "of NVMe-MI";
  EXPECT_EQ(headed(0x0884), 0x00000704u) << "without a check";
  EXPECT_EQ(headed(0x8804), 0x00010704u) << "requests";
  EXPECT_EQ(headed(0x010804), 0x00020004u) << "no buffer";
  EXPECT_EQ(headed(0x020804), 0x00020104u) << "no pause";
}

TEST(InBandTunnel, ShutdownAndReset) {
  InBandRig rig;
  EXPECT_EQ(rig.send(true, 0x0C).dw0(), 0u);
  rig.world.run_for(Duration::ms(5));
  EXPECT_EQ(rig.disk.find_controller(2)->csts() >> 2 & 3, 2u);
  InBandRig other;
  EXPECT_TRUE(other.send(true, 0x07).status().ok());
  other.world.run_for(Duration::ms(5));
  EXPECT_TRUE(other.session->admin.closed());
}

TEST(InBandTunnel, NotThereWithoutIt) {
  Rig rig;
  subsystem::test::ConnectWords words;
  words.cntlid = 1;
  auto session = rig.target_rig.start(words);
  nvme::Sqe made = subsystem::test::command(std::uint8_t{0x1E});
  EXPECT_TRUE(nvme::same_code(session.admin.fetch(made.bytes(), 4096).status(), nvme::sc::invalid_opcode));
}

}  // namespace
}  // namespace fb::mi
