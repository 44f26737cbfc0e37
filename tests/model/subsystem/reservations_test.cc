// Reservations as hosts meet them: commands, conflicts of every command, reports, notifications, features.
#include <gtest/gtest.h>

#include "tests/model/subsystem/reservation_session.h"
#include "wire/nvme/events.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_namespace.h"

namespace fb::subsystem::test {
namespace {

namespace sc = nvme::sc;
using nvme::AdminOpcode;
using nvme::IoOpcode;
using nvme::ReservationNotice;

ConnectWords host_words(std::uint8_t hostid) {
  ConnectWords words;
  words.hostid = hostid;
  return words;
}

struct ReservationRig : Rig {
  explicit ReservationRig(SubsystemOptions options = {})
      : Rig(std::move(options)), a(*this, host_words(1)), b(*this, host_words(2)), c(*this, host_words(3)) {
    EXPECT_TRUE(a.connected && b.connected && c.connected);
  }
  /// a holds, b is registered, c is not.
  void hold(unsigned type) {
    EXPECT_EQ(a.register_key(0, 0, 11).code(), sc::success);
    EXPECT_EQ(b.register_key(0, 0, 22).code(), sc::success);
    EXPECT_EQ(a.acquire(type_bits(type), 11).code(), sc::success);
  }
  const ReservationTable& table() { return disk->find_namespace(1)->reservations(); }
  Guest a, b, c;
};

std::string status_page(const Reply& reply) {
  namespace st = nvme::reservation_status;
  namespace rc = nvme::registered_controller;
  const View<nvme::ReservationStatus> status{ByteView{reply.data}.first(64)};
  const auto type = static_cast<unsigned>(status.get(st::rtype));
  std::string text = std::to_string(status.get(st::gen)) + "/" + std::to_string(type) + "/" + std::to_string(status.get(st::regstrnt)) +
                     "/" + std::to_string(status.get(st::ptpls));
  for (std::size_t at = 64; at + 64 <= reply.data.size(); at += 64) {
    const View<nvme::RegisteredController> entry{ByteView{reply.data}.subspan(at, 64)};
    text +=
        " " + std::to_string(entry.get(rc::hostid)[15]) + ":" + std::to_string(entry.get(rc::rkey)) + (entry.get(rc::holder) ? "*" : "");
  }
  return text;
}

// NVM command set and base specification: each command, by the group that it belongs to.
TEST(Reservations, EveryCommandIsOfItsGroup) {
  ReservationRig rig;
  const auto answer = [&](Guest& guest, IoOpcode opcode) {
    Bytes data(512);
    nvme::Sqe sqe = rw(opcode, 8, 1);
    if (opcode == IoOpcode::dataset_management) {
      sqe = command(opcode, 1);
      sqe.set(nvme::sqe::cdw11, 4u);
      data = Bytes(16);
    }
    if (opcode == IoOpcode::flush) sqe = command(opcode, 1);
    return guest.io.send(sqe.bytes(), data).code();
  };
  for (unsigned type = 1; type <= 6; ++type) {
    SCOPED_TRACE(type);
    rig.hold(type);
    const bool reads_open = type % 2 == 1;
    const bool registrants_in = type > 2;
    for (const IoOpcode opcode : {IoOpcode::read, IoOpcode::compare, IoOpcode::verify, IoOpcode::write, IoOpcode::write_zeroes,
                                  IoOpcode::dataset_management, IoOpcode::flush, IoOpcode::write_uncorrectable}) {
      SCOPED_TRACE(static_cast<unsigned>(opcode));
      EXPECT_EQ(answer(rig.a, IoOpcode::write_zeroes), sc::success);
      const bool reads = opcode == IoOpcode::read || opcode == IoOpcode::compare || opcode == IoOpcode::verify;
      const bool stranger_in = reads && reads_open;
      EXPECT_EQ(answer(rig.c, opcode), stranger_in ? sc::success : sc::reservation_conflict);
      EXPECT_EQ(answer(rig.b, opcode), stranger_in || registrants_in ? sc::success : sc::reservation_conflict);
      EXPECT_EQ(answer(rig.a, IoOpcode::write_zeroes), sc::success);
      EXPECT_EQ(answer(rig.a, opcode), sc::success);
    }
    const auto flush_all = command(IoOpcode::flush, nvme::kAllNamespaces);
    EXPECT_EQ(rig.c.io.send(flush_all.bytes()).code(), sc::reservation_conflict);
    EXPECT_EQ(rig.a.io.send(flush_all.bytes()).code(), sc::success);
    EXPECT_EQ(rig.c.admin.send(format(1, 0).bytes()).code(), sc::reservation_conflict);
    EXPECT_EQ(rig.c.admin.send(format(nvme::kAllNamespaces, 0).bytes()).code(), sc::reservation_conflict);
    // Security commands for the namespace; those for the subsystem are no business of a reservation.
    for (const std::uint32_t nsid : {0u, 1u}) {
      nvme::Sqe send = security(AdminOpcode::security_send, 0xF0, 1, 4);
      nvme::Sqe receive = security(AdminOpcode::security_receive, 0xF0, 1, 4);
      send.set(nvme::sqe::nsid, nsid);
      receive.set(nvme::sqe::nsid, nsid);
      EXPECT_EQ(rig.c.admin.send(send.bytes(), Bytes(4)).code(), nsid == 0 ? sc::success : sc::reservation_conflict);
      EXPECT_EQ(rig.c.admin.fetch(receive.bytes(), 4).code(), nsid == 0 || reads_open ? sc::success : sc::reservation_conflict);
    }
    // Everything else is free.
    EXPECT_EQ(rig.c.admin.fetch(identify(nvme::Cns::identify_namespace, 1).bytes(), 4096).code(), sc::success);
    EXPECT_EQ(rig.c.admin.send(set_feature(0x84, 0, 1).bytes()).code(), sc::success);
    EXPECT_EQ(rig.c.report().code(), sc::success);
    EXPECT_EQ(rig.a.release(1, 11).code(), sc::success);
  }
}

TEST(Reservations, FusedHalvesAreCheckedEach) {
  ReservationRig rig;
  rig.hold(1);
  const auto fused = [](IoOpcode opcode, unsigned half) {
    nvme::Sqe sqe = rw(opcode, 0, 1);
    sqe.set(nvme::sqe::fuse, half);
    return sqe;
  };
  const auto first = rig.c.io.post(fused(IoOpcode::compare, 1).bytes(), Bytes(512));
  const auto second = rig.c.io.post(fused(IoOpcode::write, 2).bytes(), Bytes(512, 1));
  EXPECT_EQ(rig.c.io.reply(second)->code(), sc::reservation_conflict);
  EXPECT_EQ(rig.c.io.reply(first)->code(), sc::aborted_failed_fused);
}

TEST(Reservations, ReportTellsAll) {
  ReservationRig rig;
  EXPECT_EQ(status_page(rig.c.report()), "0/0/0/0");
  rig.hold(1);
  EXPECT_EQ(status_page(rig.c.report()), "2/1/2/0 1:11* 2:22");
  EXPECT_EQ(status_page(rig.c.report(128)), "2/1/2/0 1:11*");
  EXPECT_EQ(rig.c.report(32).data.size(), 32u);
  EXPECT_EQ(rig.c.report(4096).data.size(), 192u);  // and no further
  EXPECT_EQ(rig.b.register_key(0 | persist_bits(3), 0, 22).code(), sc::success);
  EXPECT_EQ(status_page(rig.c.report()), "3/1/2/1 1:11* 2:22");
  EXPECT_EQ(rig.c.report(512, false).code(), sc::host_identifier_inconsistent_format);
  EXPECT_EQ(rig.a.release(type_bits(1), 11).code(), sc::success);
  EXPECT_EQ(rig.a.acquire(type_bits(6), 11).code(), sc::success);
  EXPECT_EQ(status_page(rig.c.report()), "3/6/2/1 1:11* 2:22*");
}

TEST(Reservations, StaticControllersAreNamed) {
  SubsystemOptions options;
  options.controllers = ControllerModel::static_controllers;
  Rig rig(std::move(options));
  ConnectWords words = host_words(1);
  words.cntlid = 3;
  Guest guest(rig, words);
  EXPECT_EQ(guest.register_key(0, 0, 11).code(), sc::success);
  EXPECT_EQ(load_le<std::uint16_t>(guest.report().data.data() + 64), 3u);
}

TEST(Reservations, NoticesReachTheControllersOfAHost) {
  ReservationRig rig;
  Guest twin(rig, host_words(1));
  rig.hold(1);
  const auto event = rig.a.admin.post(command(AdminOpcode::async_event_request).bytes());
  EXPECT_EQ(rig.b.acquire(1 | type_bits(1), 22, 11).code(), sc::success);
  EXPECT_EQ(rig.a.admin.reply(event)->dw0(), 0x800006u);
  for (Guest* one : {&rig.a, &twin}) {
    const Reply page = one->notice();
    EXPECT_EQ(page.data[8], static_cast<std::uint8_t>(ReservationNotice::registration_preempted));
    EXPECT_EQ(page.data[12], 1u);
    EXPECT_EQ(one->notice().data, Bytes(64));
  }
  EXPECT_EQ(rig.b.notice().data, Bytes(64));
  EXPECT_EQ(rig.c.notice().data, Bytes(64));
}

TEST(Reservations, ARetainedPageIsReadAgain) {
  ReservationRig rig;
  rig.hold(1);
  EXPECT_EQ(rig.b.acquire(1 | type_bits(1), 22, 11).code(), sc::success);
  const Reply kept = rig.a.admin.fetch(get_log(0x80, 64, 0, true).bytes(), 64);
  EXPECT_EQ(rig.a.notice().data, kept.data);
  EXPECT_EQ(rig.a.notice().data, Bytes(64));
}

TEST(Reservations, PreemptAndAbortEndsWhatIsUnderWay) {
  ReservationRig rig;
  (void)rig.disk->add_namespace({.blocks = 1024});
  rig.hold(1);
  rig.a.io.wire().hold_pulls = true;
  const auto written = rig.a.io.post(rw(IoOpcode::write, 0, 1).bytes(), Bytes(512, 9));
  nvme::Sqe compare = rw(IoOpcode::compare, 4, 1);
  nvme::Sqe second = rw(IoOpcode::write, 4, 1);
  compare.set(nvme::sqe::fuse, 1u);
  second.set(nvme::sqe::fuse, 2u);
  const auto half = rig.a.io.post(compare.bytes(), Bytes(512));
  const auto other_half = rig.a.io.post(second.bytes(), Bytes(512, 9));
  const auto elsewhere = rig.a.io.post(rw(IoOpcode::write, 0, 1, 2).bytes(), Bytes(512, 9));
  EXPECT_EQ(rig.b.acquire(2 | type_bits(1), 22, 11).code(), sc::success);
  EXPECT_EQ(rig.a.io.reply(written)->code(), sc::aborted_preempt_and_abort);
  EXPECT_EQ(rig.a.io.reply(half)->code(), sc::aborted_preempt_and_abort);
  EXPECT_EQ(rig.a.io.reply(other_half)->code(), sc::aborted_failed_fused);
  EXPECT_FALSE(rig.a.io.reply(elsewhere));
  rig.a.io.wire().hold_pulls = false;
  while (!rig.a.io.wire().pulling.empty()) rig.a.io.deliver();
  EXPECT_EQ(rig.a.io.reply(elsewhere)->code(), sc::success);
  EXPECT_EQ(rig.b.io.fetch(rw(IoOpcode::read, 0, 1).bytes(), 512).data, Bytes(512));
}

TEST(Reservations, FeaturesOfTheNamespace) {
  ReservationRig rig;
  EXPECT_EQ(rig.a.admin.send(set_feature(0x82, 0xFF, 1).bytes()).code(), sc::success);
  EXPECT_EQ(rig.b.admin.send(get_feature(0x82, 0, 0, 1).bytes()).dw0(), 0xEu);
  EXPECT_EQ(rig.a.admin.send(set_feature(0x83, 1, nvme::kAllNamespaces).bytes()).code(), sc::success);
  EXPECT_EQ(rig.b.admin.send(get_feature(0x83, 0, 0, 1).bytes()).dw0(), 1u);
  EXPECT_EQ(rig.b.admin.send(get_feature(0x83, 1, 0, 1).bytes()).dw0(), 0u);  // by default
  EXPECT_EQ(rig.b.admin.send(get_feature(0x83, 3, 0, 1).bytes()).dw0(), 6u);
  EXPECT_EQ(rig.b.admin.send(get_feature(0x83).bytes()).code(), sc::invalid_namespace_or_format);
  rig.hold(3);
  EXPECT_EQ(rig.a.release(1, 11).code(), sc::success);
  EXPECT_EQ(rig.b.notice().data, Bytes(64));
}

TEST(Reservations, PowerAndResets) {
  ReservationRig rig;
  rig.hold(2);
  rig.disk->reset_subsystem();
  rig.world->run_for(Duration::ms(1));
  EXPECT_TRUE(rig.table().held());
  Guest again(rig, host_words(1));
  EXPECT_EQ(again.register_key(0 | persist_bits(3), 0, 11).code(), sc::success);
  rig.disk->power_cycle();
  rig.world->run_for(Duration::ms(1));
  EXPECT_EQ(rig.table().registrants().size(), 2u);
  EXPECT_TRUE(rig.table().held());
  Guest once_more(rig, host_words(1));
  EXPECT_EQ(rig.property(once_more.admin, 0x1C) & 0x10, 0u);  // no NVM subsystem reset has occurred
  EXPECT_EQ(once_more.register_key(0 | persist_bits(2), 0, 11).code(), sc::success);
  rig.disk->power_cycle();
  EXPECT_TRUE(rig.table().registrants().empty());
}

TEST(Reservations, WithoutThemNothingIsClaimed) {
  SubsystemOptions options;
  options.reservations = false;
  ReservationRig rig(std::move(options));
  EXPECT_EQ(rig.a.register_key(0, 0, 11).code(), sc::invalid_opcode);
  EXPECT_EQ(rig.a.acquire(type_bits(1), 11).code(), sc::invalid_opcode);
  EXPECT_EQ(rig.a.release(1, 11).code(), sc::invalid_opcode);
  EXPECT_EQ(rig.a.report().code(), sc::invalid_opcode);
  EXPECT_EQ(rig.a.notice().code(), sc::invalid_log_page);
  EXPECT_EQ(rig.a.admin.send(set_feature(0x82, 0, 1).bytes()).code(), sc::invalid_field);
  const Reply controller = rig.a.admin.fetch(identify(nvme::Cns::controller).bytes(), 4096);
  EXPECT_EQ(View<nvme::IdentifyController>{ByteView{controller.data}}.get(nvme::id_ctrl::oncs) & nvme::oncs_bits::reservations, 0u);
  const Reply ns = rig.a.admin.fetch(identify(nvme::Cns::identify_namespace, 1).bytes(), 4096);
  EXPECT_EQ(View<nvme::IdentifyNamespace>{ByteView{ns.data}}.get(nvme::id_ns::rescap), 0u);
}

TEST(Reservations, WithoutPersistence) {
  SubsystemOptions options;
  options.reservations_persist = false;
  ReservationRig rig(std::move(options));
  const Reply ns = rig.a.admin.fetch(identify(nvme::Cns::identify_namespace, 1).bytes(), 4096);
  EXPECT_EQ(View<nvme::IdentifyNamespace>{ByteView{ns.data}}.get(nvme::id_ns::rescap), 0xFEu);
  EXPECT_EQ(rig.a.register_key(0 | persist_bits(3), 0, 11).code(), sc::invalid_field);
  EXPECT_EQ(rig.a.register_key(0 | persist_bits(2), 0, 11).code(), sc::success);
  EXPECT_EQ(rig.a.admin.send(set_feature(0x83, 1, 1).bytes()).code(), sc::invalid_field);
  EXPECT_EQ(rig.a.admin.send(set_feature(0x83, 0, 1).bytes()).code(), sc::success);
}

}  // namespace
}  // namespace fb::subsystem::test
