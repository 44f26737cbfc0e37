// Every check can be left out and every fault point taken: each must change what a host sees in
// at least one session of these, and none may bring the target down.
#include <gtest/gtest.h>

#include <set>

#include "model/subsystem/checks.h"
#include "model/subsystem/fault_points.h"
#include "tests/model/subsystem/ana_session.h"
#include "tests/model/subsystem/copy_session.h"
#include "tests/model/subsystem/history_session.h"
#include "tests/model/subsystem/lba_status_session.h"
#include "tests/model/subsystem/management_session.h"
#include "tests/model/subsystem/media_session.h"
#include "tests/model/subsystem/power_session.h"
#include "tests/model/subsystem/protection_session.h"
#include "tests/model/subsystem/reservation_session.h"
#include "tests/model/subsystem/rig.h"
#include "tests/model/subsystem/zone_session.h"
#include "wire/fabrics/auth.h"
#include "wire/fabrics/connect.h"
#include "wire/nvme/features.h"

namespace fb::subsystem::test {
namespace {

using nvme::AdminOpcode;
using nvme::IoOpcode;

struct Skips final : SubsystemHooks {
  bool refuses(const CommandContext&, Refusal& refusal) override { return refusal.check != check || altered.has_value(); }
  bool departs(std::string_view name) override { return name == point; }
  Answer completion(const CommandContext& command, MutableBytes) override {
    return !command.sqe.empty() && command.sqe[0] == answer_to ? answer : Answer::send;
  }
  std::string_view check;
  std::string_view point;
  std::optional<nvme::Status> altered;
  int answer_to = -1;
  Answer answer = Answer::send;
};

void connect_in_every_way(Rig& rig, Transcript& out, std::string subnqn, std::uint16_t cntlid) {
  const auto attempt = [&](auto&& change, std::uint16_t line_qid = 0) {
    ConnectWords words;
    words.subnqn = subnqn;
    words.cntlid = cntlid;
    words.kato = 1000;
    change(words);
    Line line = rig.open(line_qid);
    out.note(Rig::connect(line, words));
    out.note(line.send(property_get(0x1C, 0)));
    line.lose();
    rig.world->run_for(Duration::us(1));
  };
  attempt([](auto&) {});
  attempt([](auto& w) { w.recfmt = 7; });
  attempt([](auto& w) { w.sqsize = 0; });
  attempt([](auto& w) { w.sqsize = 40; });
  attempt([](auto& w) { w.qid = 3; });
  attempt([](auto& w) { w.qid = 3; }, 3);
  attempt([](auto& w) {
    w.sqsize = 20;
    w.kato = 700;
  });
  attempt([](auto& w) { w.kato = 0xFFFFFFFF; });
  attempt([](auto& w) { w.subnqn = "x"; });
  attempt([](auto& w) { w.subnqn = std::string(256, 'a'); });
  attempt([](auto& w) { w.subnqn = "nqn.2026-11.org.fabricbench:none"; });
  attempt([](auto& w) { w.subnqn = "nqn.2026-11.org.fabricbench:moved"; });
  attempt([](auto& w) { w.hostnqn = "x"; });
  attempt([](auto& w) { w.hostnqn = std::string(256, 'a'); });
  attempt([](auto& w) { w.hostnqn = "nqn.2026-11.org.fabricbench:eve"; });
  attempt([](auto& w) { (w.hostnqn = "nqn.2026-11.org.fabricbench:").resize(fabrics::kNqnBytesMax, 'x'); });
  attempt([](auto& w) { w.hostid = 0; });
  for (const unsigned id : {0xFFFFu, 0xFFFEu, 0xFFF5u, 1u, 2u, 500u}) {
    attempt([&](auto& w) { w.cntlid = static_cast<std::uint16_t>(id); });
  }
  Line twice = rig.open();
  ConnectWords words;
  words.subnqn = subnqn;
  words.cntlid = cntlid;
  out.note(Rig::connect(twice, words));
  out.note(Rig::connect(twice, words));
  attempt([](auto& w) { w.kato = 0; });
  Line larger = rig.open(0, 16);  // the transport was asked for less
  out.note(Rig::connect(larger, words));
  words.kato = 1000;
  out.note(Rig::connect(larger, words));
  words.sqsize = 15;
  out.note(Rig::connect(larger, words));
  out.note(twice.closed());
  std::vector<Line> crowd;
  for (int i = 0; i < 7; ++i) {
    crowd.push_back(rig.open());
    if (i == 0) out.note(Rig::connect(crowd.back(), words));
    if (cntlid != 0xFFFF) words.cntlid = 0xFFFE;
    out.note(Rig::connect(crowd.back(), words));
  }
}

/// A subsystem of its own that demands authentication.
void authentication(Rig& rig, Transcript& out) {
  SubsystemOptions options;
  options.nqn = "nqn.2026-11.org.fabricbench:vault";
  options.authentication.secrets = {{"*", auth::Secret(Bytes(32, 7), std::nullopt)}};
  rig.target.add_subsystem(options);
  ConnectWords words;
  words.subnqn = options.nqn;
  Line itself = rig.open();
  words.hostnqn = options.nqn;
  out.note(Rig::connect(itself, words));
  words.hostnqn = kHostNqn;
  Line line = rig.open();
  out.note(Rig::connect(line, words));
  out.note(line.send(property_get(0x08, 0)));
  const auto say = [&](fabrics::FabricsType type, unsigned secp, unsigned spsp, unsigned length) {
    Record<fabrics::AuthSqe> sqe;
    sqe.set(fabrics::sqe::opcode, 0x7Fu)
        .set(fabrics::sqe::fctype, type)
        .set(fabrics::auth_sqe::secp, secp)
        .set(fabrics::auth_sqe::spsp0, spsp)
        .set(fabrics::auth_sqe::spsp1, spsp)
        .set(fabrics::auth_sqe::length, length);
    out.note(line.send(sqe.bytes(), Bytes(72), 4096));
  };
  say(fabrics::FabricsType::authentication_receive, 0xE9, 1, 4096);
  say(fabrics::FabricsType::authentication_send, 0xE9, 1, 0);
  say(fabrics::FabricsType::authentication_send, 0x00, 1, 72);
  say(fabrics::FabricsType::authentication_send, 0xE9, 9, 72);
  line.lose();
}

void properties(Line& admin, Transcript& out) {
  for (const std::uint32_t offset : {0x00u, 0x08u, 0x09u, 0x14u, 0x1Cu, 0x20u, 0x24u, 0x64u, 0x68u, 0x1304u}) {
    for (unsigned size = 0; size < 3; ++size) out.note(admin.send(property_get(offset, size)));
    out.note(admin.send(property_set(offset, offset == 0x14 ? 0x00460001 : 0, offset == 0 ? 1 : 0)));
  }
  Bytes odd = property_get(8, 0);
  odd[4] = 0x33;
  out.note(admin.send(odd));
  odd[4] = 8;
  odd[40] = 5;
  out.note(admin.send(odd));
}

void logs_and_identify(Line& admin, Transcript& out) {
  for (const unsigned cns : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 0x13u, 0x1Cu}) {
    for (const std::uint32_t nsid : {0u, 1u, 2u, 77u, 5000u, 0xFFFFFFFFu}) {
      out.note(admin.fetch(identify(static_cast<nvme::Cns>(cns), nsid).bytes(), 4096));
    }
    nvme::Sqe zoned = identify(static_cast<nvme::Cns>(cns), 1);
    zoned.set(nvme::sqe::cdw11, 2u << 24);
    out.note(admin.fetch(zoned.bytes(), 4096));
  }
  for (const unsigned cns : {0x09u, 0x0Au, 0x16u, 0x1Fu}) {
    for (const std::uint32_t cdw11 : {0u, 3u, 99u, 2u << 24}) {
      nvme::Sqe format = identify(static_cast<nvme::Cns>(cns));
      format.set(nvme::sqe::cdw11, cdw11);
      out.note(admin.fetch(format.bytes(), 4096));
    }
  }
  out.note(admin.fetch(identify(nvme::Cns::controller).bytes(), 100));
  for (const unsigned lid : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 0x0Cu, 0x12u, 0x55u, 0x70u}) {
    out.note(admin.fetch(get_log(lid, 4096).bytes(), 4096));
    out.note(admin.fetch(get_log(lid, 256, 64, true, 1).bytes(), 256));
    out.note(admin.fetch(get_log(lid, 256, 0, true, 1).bytes(), 256));
    out.note(admin.fetch(get_log(lid, 64, 2).bytes(), 64));
    out.note(admin.fetch(get_log(lid, 64, 1 << 20).bytes(), 64));
    out.note(admin.fetch(get_log(lid, 4u << 20).bytes(), 4u << 20));
    nvme::Sqe of_one = get_log(lid, 64);
    of_one.set(nvme::sqe::nsid, 1u);
    out.note(admin.fetch(of_one.bytes(), 64));
    nvme::Sqe by_index = get_log(lid, 64);
    by_index.set(nvme::sqe::cdw14, 1u << 23);
    out.note(admin.fetch(by_index.bytes(), 64));
  }
}

void features(Line& admin, Transcript& out) {
  for (unsigned fid = 0; fid < 0x20; ++fid) {
    if (fid == 0x0F) continue;
    out.note(admin.send(set_feature(fid, 1).bytes(), Bytes(512, 1)));
    out.note(admin.send(set_feature(fid, 0x11).bytes(), Bytes(512, 1)));
    out.note(admin.send(set_feature(fid, 1, 1).bytes(), Bytes(512, 1)));
    out.note(admin.send(set_feature(fid, 1, 900).bytes(), Bytes(512, 1)));
    out.note(admin.send(set_feature(fid, 1, 0, true).bytes(), Bytes(512, 1)));
    for (unsigned sel = 0; sel < 5; ++sel) out.note(admin.fetch(get_feature(fid, sel).bytes(), 512));
  }
  for (const std::uint32_t value : {0x00150000u, 0x00300000u, 0x00020000u, 0xFFFF0001u, 0x00FF00FFu}) {
    for (const unsigned fid : {4u, 5u, 7u}) {
      out.note(admin.send(set_feature(fid, value).bytes()));
      out.note(admin.send(get_feature(fid, 0, value).bytes()));
    }
  }
  for (const std::uint32_t kato : {0u, 0xFFFFFFFFu, 123'456u}) {
    out.note(admin.send(set_feature(0x0F, kato).bytes()));
    out.note(admin.send(get_feature(0x0F).bytes()));
  }
  out.note(admin.fetch(get_feature(0x81, 0, 1).bytes(), 16));
  out.note(admin.fetch(get_feature(0x81, 0, 0).bytes(), 16));
  out.note(admin.send(set_feature(0x81, 1).bytes(), Bytes(16, 2)));
  for (const std::uint32_t nsid : {0u, 1u}) {
    for (const std::uint32_t state : {5u, 1u, 0u}) {
      out.note(admin.send(set_feature(0x84, state, nsid).bytes()));
      out.note(admin.send(get_feature(0x84, 0, 0, nsid).bytes()));
    }
  }
}

void admin_oddities(Line& admin, Transcript& out) {
  for (const unsigned opcode : {0x00u, 0x01u, 0x05u, 0x08u, 0x18u, 0x80u, 0x84u, 0xC1u}) {
    out.note(admin.send(command(static_cast<std::uint8_t>(opcode)).bytes()));
    out.note(admin.send(command(static_cast<std::uint8_t>(opcode), 1).bytes()));
  }
  out.note(admin.send(command(AdminOpcode::async_event_request, 1).bytes()));
  nvme::Sqe odd = identify(nvme::Cns::controller);
  odd.set(nvme::sqe::psdt, 0u);
  out.note(admin.fetch(odd.bytes(), 4096));
  odd.set(nvme::sqe::psdt, 1u).set(nvme::sqe::fuse, 1u);
  out.note(admin.fetch(odd.bytes(), 4096));
}

void events(Rig& rig, Line& admin, Transcript& out) {
  const auto change_all = [&] {
    rig.disk->resize_namespace(1, 512);
    rig.disk->resize_namespace(1, 1024);
    rig.disk->set_ana_state(1, nvme::AnaState::non_optimized);
    rig.disk->set_ana_state(1, nvme::AnaState::optimized);
    rig.disk->set_temperature(400);
    rig.disk->set_temperature(300);
    rig.target.discovery().add_referral({.traddr = "192.0.2.7"});
    out.drain(admin);
  };
  change_all();
  for (const std::uint32_t mask : {0u, 0x9FFu}) {
    out.note(admin.send(set_feature(0x0B, mask).bytes()));
    for (int i = 0; i < 6; ++i) {
      admin.post(command(AdminOpcode::async_event_request).bytes());
      out.drain(admin);
    }
    change_all();
    for (const unsigned lid : {4u, 0x0Cu, 2u, 0x70u}) {
      out.note(admin.fetch(get_log(lid, 2048, 0, true).bytes(), 2048));
      change_all();
      out.note(admin.fetch(get_log(lid, 2048).bytes(), 2048));
      out.note(admin.fetch(get_log(lid, 2048).bytes(), 2048));
      out.note(admin.fetch(get_log(lid, 1024, 1024).bytes(), 1024));
      change_all();
      out.note(admin.fetch(get_log(lid, 1024, 1024).bytes(), 1024));
    }
  }
  lose_access(rig, admin, out);
}

nvme::Sqe with_fuse(nvme::Sqe sqe, unsigned fuse) {
  sqe.set(nvme::sqe::fuse, fuse);
  return sqe;
}

void io_commands(Rig& rig, Line& io, Transcript& out) {
  const auto write = [&](std::uint64_t slba, std::uint8_t byte, std::uint32_t blocks = 1) {
    out.note(io.send(rw(IoOpcode::write, slba, blocks).bytes(), Bytes(blocks * 512, byte)));
  };
  const auto read = [&](std::uint64_t slba, std::uint32_t blocks = 1) {
    out.note(io.fetch(rw(IoOpcode::read, slba, blocks).bytes(), blocks * 512));
  };
  write(0, 1, 16);
  read(0, 16);
  out.note(io.send(rw(IoOpcode::compare, 0, 1).bytes(), Bytes(512, 1)));
  out.note(io.send(rw(IoOpcode::compare, 0, 1).bytes(), Bytes(512, 2)));
  out.note(io.send(rw(IoOpcode::write_zeroes, 1, 2).bytes()));
  nvme::Sqe dsm = command(IoOpcode::dataset_management, 1);
  dsm.set(nvme::sqe::cdw11, 4u);
  Bytes range(16);
  store_le<std::uint32_t>(range.data() + 4, 1);
  store_le<std::uint64_t>(range.data() + 8, 4);
  out.note(io.send(dsm.bytes(), range));
  store_le<std::uint64_t>(range.data() + 8, ~std::uint64_t{0});
  out.note(io.send(dsm.bytes(), range));
  out.note(io.send(rw(IoOpcode::write_uncorrectable, 8, 2).bytes()));
  read(0, 8);
  read(8);
  write(8, 3);
  read(8);
  for (const std::uint32_t nsid : {0u, 77u, 5000u, 0xFFFFFFFFu}) {
    for (const auto opcode : {IoOpcode::read, IoOpcode::write, IoOpcode::flush, IoOpcode::verify, IoOpcode::dataset_management}) {
      out.note(io.send(rw(opcode, 0, 1, nsid).bytes(), Bytes(4096)));
    }
  }
  for (const auto opcode :
       {IoOpcode::read, IoOpcode::write, IoOpcode::compare, IoOpcode::verify, IoOpcode::write_zeroes, IoOpcode::write_uncorrectable}) {
    out.note(io.send(rw(opcode, 1020, 16).bytes(), Bytes(8192)));
    out.note(io.send(rw(opcode, ~std::uint64_t{0}, 65536).bytes(), Bytes(4096)));
    out.note(io.send(rw(opcode, 0, 600).bytes(), Bytes(600 * 512)));
    nvme::Sqe protected_io = rw(opcode, 0, 1);
    protected_io.set(nvme::sqe::cdw12, 1u << 29);
    out.note(io.send(protected_io.bytes(), Bytes(512)));
  }
  out.note(io.send(command(0x55, 1).bytes()));
  nvme::Sqe prp = rw(IoOpcode::read, 0, 1);
  prp.set(nvme::sqe::psdt, 0u);
  out.note(io.fetch(prp.bytes(), 512));
  const auto pair = [&](IoOpcode a, IoOpcode b, std::uint64_t slba, std::uint32_t blocks, std::uint8_t byte) {
    io.post(with_fuse(rw(a, 20, blocks), 1).bytes(), Bytes(blocks * 512));
    out.drain(io);
    io.post(with_fuse(rw(b, slba, blocks), 2).bytes(), Bytes(blocks * 512, byte));
    out.drain(io);
    read(20);
  };
  write(0, 0, 64);  // readable again
  pair(IoOpcode::compare, IoOpcode::write, 20, 1, 5);
  pair(IoOpcode::compare, IoOpcode::write, 20, 1, 6);
  pair(IoOpcode::compare, IoOpcode::write, 21, 1, 7);
  pair(IoOpcode::read, IoOpcode::write, 20, 1, 8);
  pair(IoOpcode::compare, IoOpcode::flush, 20, 1, 9);
  pair(IoOpcode::compare, IoOpcode::write, 20, 200, 9);
  io.post(with_fuse(rw(IoOpcode::compare, 30, 1), 1).bytes(), Bytes(512));
  read(31);
  io.post(with_fuse(rw(IoOpcode::write, 30, 1), 2).bytes(), Bytes(512, 4));
  out.drain(io);
  out.note(io.fetch(with_fuse(rw(IoOpcode::read, 0, 1), 3).bytes(), 512));
  for (const auto state : {nvme::AnaState::inaccessible, nvme::AnaState::persistent_loss, nvme::AnaState::change,
                           nvme::AnaState::non_optimized, nvme::AnaState::optimized}) {
    rig.disk->set_ana_state(1, state);
    read(0);
  }
  rig.disk->set_ana_state(7, nvme::AnaState::inaccessible);
  read(0);
  rig.disk->find_namespace(1)->set_write_protection(1);
  write(40, 1);
  rig.disk->find_namespace(1)->set_write_protection(0);
  nvme::Sqe twin = rw(IoOpcode::write, 0, 1);
  twin.set(nvme::sqe::cid, 40000u);
  io.wire().hold_pulls = true;
  io.post_raw(twin.bytes(), Bytes(512));
  io.post_raw(twin.bytes(), Bytes(512));
  while (!io.wire().pulling.empty()) io.deliver();
  io.wire().hold_pulls = false;
  out.drain(io);
}

/// A store that can be seen to be flushed.
struct CountingStore final : BlockStore {
  explicit CountingStore(int& f) : flushes(f) {}
  std::uint64_t bytes() const override { return inner->bytes(); }
  Result<void> read(std::uint64_t at, MutableBytes to) override { return inner->read(at, to); }
  Result<void> write(std::uint64_t at, ByteView from) override { return inner->write(at, from); }
  Result<void> zero(std::uint64_t at, std::uint64_t n) override { return inner->zero(at, n); }
  Result<void> flush() override {
    ++flushes;
    return {};
  }
  std::uint64_t bytes_held() const override { return inner->bytes_held(); }
  std::unique_ptr<BlockStore> inner = make_memory_store(512 * 1024);
  int& flushes;
};

SubsystemOptions session_options(int variant) {
  SubsystemOptions options;
  options.controllers_max = 6;
  options.mdts = 6;
  options.verify_limit = 5;
  options.allow_any_host = false;
  options.allowed_hosts = {kHostNqn, "nqn.2026-11.org.fabricbench:bob"};
  if (variant == 1) {
    options.controllers = ControllerModel::static_controllers;
    options.static_cntlids = {2, 3, 500, 501};
    options.traffic_based_keep_alive = true;
    options.kato_required = true;
    options.subsystem_reset = false;
    options.namespaces_max = 80;
    options.namespace_management.thin_provisioning = false;
    options.namespace_management.attachments_max = 6;
    options.sanitize.no_deallocate_inhibited = true;
  }
  if (variant == 2) {
    options.allow_zero_hostid = true;
    options.individual_queue_deletion = options.reservations_persist = false;
    options.namespace_management.supported = options.self_test.supported = false;
    options.sanitize.block_erase = options.sanitize.crypto_erase = options.sanitize.overwrite = false;
  }
  options.self_test.extended_minutes = 2;
  options.power_on_hours = 1000;
  return options;
}

void associations(Rig& rig, Transcript& out, const ConnectWords& words, Duration pause) {
  Line admin = rig.open();
  const Reply reply = Rig::connect(admin, words);
  out.note(reply);
  out.note(admin.fetch(identify(nvme::Cns::controller).bytes(), 4096));
  const auto csts = [&] { out.note(admin.send(property_get(0x1C, 0))); };
  csts();
  admin.send(property_set(0x14, 0x00450001));
  rig.world->run_for(Duration::ms(3));
  csts();
  out.note(admin.send(property_get(0x14, 0)));
  admin.send(property_set(0x14, 0));
  csts();
  rig.world->run_for(Duration::s(10));
  out.note(admin.closed());
  ConnectWords io_words = words;
  io_words.qid = 1;
  io_words.kato = 0;
  io_words.cntlid = static_cast<std::uint16_t>(reply.dw0());
  Line early = rig.open(1);
  out.note(Rig::connect(early, io_words));
  rig.enable(admin);
  csts();
  out.note(admin.send(set_feature(0x0B, 0x900).bytes()));
  admin.post(command(AdminOpcode::async_event_request).bytes());
  Line io = rig.open(1);
  out.note(Rig::connect(io, io_words));
  out.note(io.send(property_get(8, 0)));
  const auto attempt = [&](std::uint16_t qid, auto&& change) {
    ConnectWords other = io_words;
    other.qid = qid;
    change(other);
    Line line = rig.open(qid);
    out.note(Rig::connect(line, other));
    out.note(line.send(command(IoOpcode::flush, 1).bytes()));
  };
  attempt(1, [](auto&) {});
  attempt(2, [](auto& w) { w.cattr = 12; });
  attempt(17, [](auto&) {});
  attempt(3, [](auto& w) {
    w.cntlid = 77;
    w.cattr = 8;
  });
  attempt(4, [](auto& w) {
    w.hostid = 1;
    w.cattr = 8;
  });
  attempt(5, [](auto& w) {
    w.sqsize = 200;
    w.cattr = 8;
  });
  attempt(6, [](auto& w) {
    w.hostnqn = "nqn.2026-11.org.fabricbench:bob";
    w.cattr = 8;
  });
  rig.world->run_for(Duration::ms(1));
  Line elsewhere(*rig.world, rig.target.port(2), 128, 7);
  ConnectWords other_port = io_words;
  other_port.qid = 7;
  out.note(Rig::connect(elsewhere, other_port));
  // Keep alive: for a while by command, then by traffic, then not at all.
  for (int i = 0; i < 4; ++i) {
    rig.world->run_for(Duration::ms(700));
    out.note(admin.send(command(AdminOpcode::keep_alive).bytes()));
  }
  for (int i = 0; i < 4; ++i) {
    rig.world->run_for(pause);
    out.note(io.send(command(IoOpcode::flush, 1).bytes()));
  }
  out.note(admin.closed());
  admin.send(property_set(0x14, 0));
  csts();
  out.drain(admin);
  out.note(io.closed());
  rig.enable(admin);
  out.note(admin.send(get_feature(0x0B).bytes()));
  io_words.qid = 9;
  Line late = rig.open(9);
  out.note(Rig::connect(late, io_words));
  admin.send(property_set(0x14, 0x00464001));
  csts();
  rig.world->run_for(Duration::ms(3));
  csts();
  out.note(admin.fetch(identify(nvme::Cns::controller).bytes(), 4096));
  out.note(late.send(command(IoOpcode::flush, 1).bytes()));
  rig.world->run_for(Duration::s(4));
  out.note(admin.closed());
  admin.send(property_set(0x14, 0));
  csts();
  rig.enable(admin);
  csts();
  out.note(admin.send(property_set(0x20, 0x1234)));
  rig.world->run_for(Duration::ms(3));
  out.note(admin.closed());
  out.note(admin.send(property_set(0x20, fabrics::kNssrValue)));
  rig.world->run_for(Duration::ms(3));
  out.note(admin.closed());
}

void endings(Rig& rig, Transcript& out, const ConnectWords& words) {
  const auto begin = [&](std::uint32_t kato) {
    ConnectWords mine = words;
    mine.kato = kato;
    Line admin = rig.open();
    const Reply reply = Rig::connect(admin, mine);
    rig.enable(admin);
    return Rig::Session{admin, static_cast<std::uint16_t>(reply.dw0())};
  };
  const auto open_io = [&](const Rig::Session& session, std::uint16_t qid) {
    ConnectWords mine = words;
    mine.qid = qid;
    mine.kato = 0;
    mine.cntlid = session.cntlid;
    Line io = rig.open(qid);
    out.note(Rig::connect(io, mine));
    return io;
  };
  {  // silence
    auto session = begin(1000);
    rig.world->run_for(Duration::ms(1002));
    out.note(session.admin.closed());
    rig.world->run_for(Duration::ms(1100));
    out.note(session.admin.closed());
    auto again = begin(60'000);
    out.note(again.admin.fetch(get_log(1, 128).bytes(), 128));
    again.admin.lose();
    session.admin.lose();
    rig.world->run_for(Duration::ms(1));
  }
  {  // a timeout that is made longer
    auto session = begin(1000);
    out.note(session.admin.send(set_feature(0x0F, 60'000).bytes()));
    rig.world->run_for(Duration::s(3));
    out.note(session.admin.closed());
    session.admin.lose();
    rig.world->run_for(Duration::ms(1));
  }
  {  // an I/O queue is lost, and the host does nothing about it
    auto session = begin(60'000);
    Line io = open_io(session, 1);
    io.lose();
    rig.world->run_for(Duration::ms(2001));
    out.note(session.admin.closed());
    session.admin.lose();
    rig.world->run_for(Duration::ms(1));
  }
  {  // the admin queue is lost
    auto session = begin(60'000);
    Line other = open_io(session, 2);
    session.admin.lose();
    out.note(other.closed());
    other.lose();
    rig.world->run_for(Duration::ms(1));
  }
  {  // Disconnect
    auto session = begin(60'000);
    Line io = open_io(session, 1);
    Line other = open_io(session, 2);
    Record<fabrics::DisconnectSqe> sqe;
    sqe.set(fabrics::sqe::opcode, 0x7Fu).set(fabrics::sqe::fctype, 8u);
    out.note(io.send(sqe.bytes()));
    io.post(command(IoOpcode::flush, 1).bytes());
    out.drain(io);
    out.note(other.closed());
    out.note(session.admin.send(sqe.bytes()));
    sqe.set(fabrics::disconnect_sqe::recfmt, 1u);
    out.note(other.send(sqe.bytes()));
    session.admin.lose();
    rig.world->run_for(Duration::s(2));
  }
  {  // too much at once; Abort
    auto session = begin(60'000);
    Line io = open_io(session, 1);
    io.wire().hold_pulls = true;
    const auto victim = io.post(rw(IoOpcode::write, 0, 1).bytes(), Bytes(512));
    nvme::Sqe abort = command(AdminOpcode::abort);
    abort.set(nvme::sqe::cdw10, 1u | std::uint32_t{victim} << 16);
    out.note(session.admin.send(abort.bytes()));
    out.drain(io);
    out.note(session.admin.send(abort.bytes()));
    for (int i = 0; i < 140; ++i) io.post(rw(IoOpcode::write, 0, 1).bytes(), Bytes(512));
    out.note(io.closed());
    out.note(session.admin.send(property_get(0x1C, 0)));
    session.admin.lose();
  }
}

std::string session(SubsystemHooks* hooks, int variant) {
  DiscoveryOptions discovery;
  discovery.persistent = variant != 1;
  Transcript out;
  std::set<std::string> states;
  struct States final : TraceSink {
    explicit States(std::string& t) : text(t) {}
    void on_event(const TraceEvent& event) override {
      if (event.label == "controller.state") text += std::string(event.text) + '\n';
    }
    std::string& text;
  };
  std::string state_text;
  States sink(state_text);
  Rig rig(session_options(variant), hooks, discovery);
  rig.world->trace().add_sink(sink);
  rig.target.add_port({.portid = 2, .traddr = "192.0.2.3"});
  SubsystemOptions moved;
  moved.nqn = "nqn.2026-11.org.fabricbench:moved";
  rig.target.add_subsystem(moved).set_moved(true);
  SubsystemOptions secret;
  secret.nqn = "nqn.2026-11.org.fabricbench:secret";
  secret.allow_any_host = false;
  rig.target.add_subsystem(secret);
  int flushes = 0;
  NamespaceOptions second;
  second.blocks = 1024;
  second.store = std::make_unique<CountingStore>(flushes);
  (void)rig.disk->add_namespace(std::move(second));

  ConnectWords words;
  words.kato = 1000;
  if (variant == 1) words.cntlid = 3;
  connect_in_every_way(rig, out, kDefaultSubsystemNqn, words.cntlid);
  rig.disk->end_associations("between two parts");
  rig.world->run_for(Duration::ms(1));
  associations(rig, out, words, Duration::ms(variant == 1 ? 400 : 200));
  rig.disk->end_associations("between two parts");
  rig.world->run_for(Duration::ms(1));
  endings(rig, out, words);
  rig.disk->end_associations("between two parts");
  rig.world->run_for(Duration::ms(1));

  ConnectWords guest;
  guest.cntlid = variant == 1 ? 0xFFFE : 0xFFFF;
  reservations(rig, out, guest);

  Line admin = rig.open();
  words.kato = 100'000;
  const Reply reply = Rig::connect(admin, words);
  rig.enable(admin);
  ConnectWords io_words = words;
  io_words.qid = 1;
  io_words.sqsize = 127;
  io_words.kato = 0;
  io_words.cntlid = static_cast<std::uint16_t>(reply.dw0());
  properties(admin, out);
  logs_and_identify(admin, out);
  events(rig, admin, out);
  features(admin, out);
  admin_oddities(admin, out);
  ConnectWords high = io_words;
  out.note(admin.send(set_feature(7, 0).bytes()));
  high.qid = 2;
  Line beyond = rig.open(2);
  out.note(Rig::connect(beyond, high));
  Line io = rig.open(1);
  out.note(Rig::connect(io, io_words));
  out.note(admin.send(set_feature(7, 0).bytes()));
  io_commands(rig, io, out);
  out.note(io.send(command(IoOpcode::flush, 2).bytes()));
  out.note(flushes > 0 && flushes < 9);
  logs_and_identify(admin, out);
  securities(admin, out);
  formats(rig, admin, io, out);
  protections(rig, admin, io, out);
  copies(rig, admin, io, out);
  firmware(rig, admin, out);
  out.drain(admin);
  ConnectWords here = words, there = words;
  if (variant == 1) there.cntlid = 2;
  self_tests(rig, here, out);
  sanitizes(rig, here, out);
  namespaces(rig, here, there, out);

  for (const std::uint32_t kato : {0u, 50'000u}) {
    Line finder = rig.open();
    ConnectWords find;
    find.subnqn = std::string(fabrics::kDiscoveryNqn);
    find.kato = kato;
    const Reply found = Rig::connect(finder, find);
    out.note(found);
    rig.enable(finder, 1);
    properties(finder, out);
    logs_and_identify(finder, out);
    events(rig, finder, out);
    features(finder, out);
    find.qid = 1;
    find.cntlid = static_cast<std::uint16_t>(found.dw0());
    Line wrong = rig.open(1);
    out.note(Rig::connect(wrong, find));
  }
  authentication(rig, out);
  if (variant == 0) power_losses(hooks, out);
  if (variant == 0) histories(hooks, out);
  if (variant == 0) lba_statuses(hooks, out);
  if (variant == 0) granularities(hooks, out);
  if (variant == 0) verifications(hooks, out);
  if (variant == 0) zoned_namespaces(hooks, out);
  // Away again without a word.
  admin.lose();
  rig.world->run_for(Duration::s(200));
  rig.world->trace().remove_sink(sink);
  return out.text() + state_text + std::to_string(flushes);
}

constexpr int kVariants = 3;

struct Honest : ::testing::Test {
  static void SetUpTestSuite() {
    for (int variant = 0; variant < kVariants; ++variant) {
      expected[variant] = session(nullptr, variant);
    }
  }
  static std::string expected[kVariants];
  bool shows(SubsystemHooks& hooks) {
    bool seen = false;
    for (int variant = 0; variant < kVariants; ++variant) {
      seen = session(&hooks, variant) != expected[variant] || seen;
      if (seen) break;
    }
    return seen;
  }
};
std::string Honest::expected[kVariants];

using Departures = Honest;

TEST_F(Departures, SessionsReplayToTheByte) {
  Skips hooks;
  for (int variant = 0; variant < kVariants; ++variant) {
    EXPECT_EQ(session(&hooks, variant), expected[variant]);
  }
}

/// What the sessions of this test have not: TLS, Flexible Data Placement, key values, other controllers, registrations, Zone Random Write
/// Areas. The self-test of the suite shows these.
bool is_left_to_the_suite(std::string_view name) {
  for (const std::string_view part : {"tls", "fdp", "placement", "io_management", "directive.streams.placed", "cross_controller_reset",
                                      "kv.", "registration.", "zoning.", "zrwa"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

TEST_F(Departures, EveryPointShows) {
  std::set<std::string_view> names;
  for (const FaultPoint& point : kSubsystemFaultPoints) {
    EXPECT_TRUE(names.insert(point.name).second) << point.name << " twice";
    if (is_left_to_the_suite(point.name)) continue;
    Skips hooks;
    hooks.point = point.name;
    EXPECT_TRUE(shows(hooks)) << point.name;
  }
}

TEST_F(Departures, EveryCheckShowsWhenLeftOut) {
  std::set<std::string_view> names;
  for (const Check& check : kChecks) {
    EXPECT_TRUE(names.insert(check.name).second) << check.name << " twice";
    if (is_left_to_the_suite(check.name)) continue;
    Skips hooks;
    hooks.check = check.name;
    EXPECT_TRUE(shows(hooks)) << check.name;
  }
}

TEST_F(Departures, AnswersMayBeLostDoubledOrReplaced) {
  for (const int opcode : {0x7F, 0x06, 0x02, 0x0C, 0x01}) {
    for (const auto answer :
         {SubsystemHooks::Answer::withhold, SubsystemHooks::Answer::send_twice, SubsystemHooks::Answer::disconnect_instead}) {
      Skips hooks;
      hooks.answer_to = opcode;
      hooks.answer = answer;
      EXPECT_TRUE(shows(hooks)) << opcode;
    }
  }
}

}  // namespace
}  // namespace fb::subsystem::test
