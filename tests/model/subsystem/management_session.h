// What a host does with namespaces, sanitize operations and self-tests, and what it saw of them in words: the
// departures show in these.
#pragma once

#include <vector>

#include "model/subsystem/controller.h"
#include "tests/model/subsystem/media_session.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/logs.h"

namespace fb::subsystem::test {

// ---- commands and their data ----

inline nvme::Sqe manage(unsigned select, std::uint32_t nsid = 0, unsigned csi = 0) {
  nvme::Sqe made = command(nvme::AdminOpcode::namespace_management, nsid);
  made.set(nvme::sqe::cdw10, select).set(nvme::sqe::cdw11, csi << 24);
  return made;
}
inline nvme::Sqe attachment(unsigned select, std::uint32_t nsid) {
  nvme::Sqe made = command(nvme::AdminOpcode::namespace_attachment, nsid);
  made.set(nvme::sqe::cdw10, select);
  return made;
}
struct NewNamespace {
  std::uint64_t nsze = 64;
  std::uint64_t ncap = 64;
  unsigned flbas = 0;
  unsigned nmic = 1;
  unsigned dps = 0;
  std::uint32_t anagrpid = 0;

  // Where g++ 12 puts it into its caller at -O2, NCAP may be lost.
  [[gnu::noinline]] Bytes data() const {
    Record<nvme::IdentifyNamespace> made;
    made.set(nvme::id_ns::nsze, nsze)
        .set(nvme::id_ns::ncap, ncap)
        .set(nvme::id_ns::flbas_low, flbas)
        .set(nvme::id_ns::dps, dps)
        .set(nvme::id_ns::nmic, nmic)
        .set(nvme::id_ns::anagrpid, anagrpid);
    return Bytes(made.bytes().begin(), made.bytes().end());
  }
};
inline Bytes controllers(std::vector<std::uint16_t> ids) {
  Bytes list(4096);
  nvme::write_controller_list(list, ids);
  return list;
}
inline nvme::Sqe sanitize(unsigned action, bool unrestricted = false, unsigned passes = 0, bool no_deallocate = false) {
  nvme::Sqe made = command(nvme::AdminOpcode::sanitize);
  made.set(nvme::sqe::cdw10, action | (unrestricted ? 8u : 0u) | passes << 4 | (no_deallocate ? 1u << 9 : 0u));
  return made;
}
inline nvme::Sqe self_test(unsigned code, std::uint32_t nsid = 0) {
  nvme::Sqe made = command(nvme::AdminOpcode::device_self_test, nsid);
  made.set(nvme::sqe::cdw10, code);
  return made;
}

inline ConnectWords other_host() {
  ConnectWords words;
  words.hostid = 9;
  return words;
}

/// An association of its own, whatever happened to others.
struct Managing {
  Managing(Rig& r, ConnectWords w) : rig(r), words(std::move(w)), admin(rig.open()), io(rig.open(1)) {
    if (words.kato != 0) words.kato = 3'000'000;
    cntlid = static_cast<std::uint16_t>(Rig::connect(admin, words).dw0());
    rig.enable(admin);
    open_io();
  }
  void open_io() {
    ConnectWords mine = words;
    mine.qid = 1;
    mine.sqsize = 127;
    mine.kato = 0;
    mine.cntlid = cntlid;
    io = rig.open(1);
    Rig::connect(io, mine);
  }
  void reset() {
    admin.send(property_set(0x14, 0x00460000));
    rig.world->run_for(Duration::ms(2));
    rig.enable(admin);
    open_io();
  }
  void leave() {
    admin.lose();
    rig.world->run_for(Duration::ms(1));
  }
  Reply log(unsigned lid, std::size_t bytes) { return admin.fetch(get_log(lid, bytes).bytes(), bytes); }
  Reply create(const NewNamespace& what = {}) { return admin.send(manage(0).bytes(), what.data()); }
  Reply attach(std::uint32_t nsid, std::vector<std::uint16_t> ids) {
    return admin.send(attachment(0, nsid).bytes(), controllers(std::move(ids)));
  }
  Reply detach(std::uint32_t nsid, std::vector<std::uint16_t> ids) {
    return admin.send(attachment(1, nsid).bytes(), controllers(std::move(ids)));
  }
  Reply write(std::uint32_t nsid, std::uint64_t slba, std::uint8_t byte, std::uint32_t blocks = 1) {
    return io.send(rw(nvme::IoOpcode::write, slba, blocks, nsid).bytes(), Bytes(blocks * 512, byte));
  }
  Reply read(std::uint32_t nsid, std::uint64_t slba, std::uint32_t blocks = 1) {
    return io.fetch(rw(nvme::IoOpcode::read, slba, blocks, nsid).bytes(), blocks * 512);
  }

  Rig& rig;
  ConnectWords words;
  Line admin;
  Line io;
  std::uint16_t cntlid = 0;
};

/// Namespaces that take the capacity in steps.
inline void granularities(SubsystemHooks* hooks, Transcript& out) {
  SubsystemOptions options;
  options.namespace_management.granularity_bytes = 1 << 16;
  Rig rig(options, hooks);
  Managing me(rig, ConnectWords{});
  out.note(me.admin.fetch(identify(nvme::Cns::namespace_granularity_list).bytes(), 4096));
  for (const std::uint64_t blocks : {128u, 129u}) {
    const Reply made = me.create({.nsze = blocks, .ncap = blocks});
    out.note(made);
    out.note(me.admin.fetch(identify(nvme::Cns::allocated_namespace, made.dw0()).bytes(), 4096));
    out.note(me.admin.fetch(identify(nvme::Cns::controller).bytes(), 4096));
  }
  me.leave();
}

// ---- what is seen ----

inline void look_at_namespaces(Managing& me, std::uint32_t nsid, Transcript& out) {
  for (const auto cns :
       {nvme::Cns::active_namespace_list, nvme::Cns::allocated_namespace_list, nvme::Cns::controller, nvme::Cns::controller_list}) {
    out.note(me.admin.fetch(identify(cns).bytes(), 4096));
  }
  for (const auto cns : {nvme::Cns::identify_namespace, nvme::Cns::allocated_namespace, nvme::Cns::namespace_controller_list}) {
    out.note(me.admin.fetch(identify(cns, nsid).bytes(), 4096));
  }
  out.note(me.log(0x0C, 1024));
}

inline void namespaces(Rig& rig, const ConnectWords& first, const ConnectWords& second, Transcript& out) {
  Managing me(rig, first), other(rig, second);
  out.note(me.admin.fetch(identify(nvme::Cns::identify_namespace, nvme::kAllNamespaces).bytes(), 4096));
  for (const auto cns : {nvme::Cns::allocated_namespace, nvme::Cns::namespace_controller_list}) {
    for (const std::uint32_t nsid : {0u, 77u, 5000u}) out.note(me.admin.fetch(identify(cns, nsid).bytes(), 4096));
  }
  out.note(me.admin.send(manage(9).bytes(), NewNamespace{}.data()));
  out.note(me.admin.send(manage(0, 3).bytes(), NewNamespace{}.data()));
  out.note(me.admin.send(manage(0, 0, 2).bytes(), NewNamespace{}.data()));
  out.note(me.create({.flbas = 9}));
  out.note(me.create({.dps = 1}));
  out.note(me.create({.nmic = 4}));
  out.note(me.create({.nsze = 0}));
  out.note(me.create({.ncap = 65}));
  out.note(me.create({.anagrpid = 99}));
  out.note(me.create({.nsze = std::uint64_t{1} << 50, .ncap = std::uint64_t{1} << 50}));
  const Reply thin = me.create({.nsze = 64, .ncap = 16});
  out.note(thin);
  if (thin.status().ok()) {
    out.note(me.attach(thin.dw0(), {me.cntlid}));
    out.note(me.write(thin.dw0(), 0, 1, 16));
    out.note(me.write(thin.dw0(), 40, 1, 1));
    out.note(me.admin.fetch(identify(nvme::Cns::identify_namespace, thin.dw0()).bytes(), 4096));
  }
  out.note(me.admin.send(set_feature(0x0B, 0x900).bytes()));
  out.note(other.admin.send(set_feature(0x0B, 0x900).bytes()));
  for (Managing* one : {&me, &other}) one->admin.post(command(nvme::AdminOpcode::async_event_request).bytes());
  const Reply made = me.create();
  out.note(made);
  std::uint32_t nsid = 0;
  for (const auto& [id, ns] : rig.disk->namespaces()) nsid = id;
  look_at_namespaces(me, nsid, out);
  out.note(me.admin.send(attachment(7, nsid).bytes(), controllers({me.cntlid})));
  for (const std::uint32_t wrong : {0u, 77u, nvme::kAllNamespaces}) out.note(me.attach(wrong, {me.cntlid}));
  out.note(me.attach(nsid, {}));
  out.note(me.attach(nsid, {999}));
  out.note(me.detach(nsid, {me.cntlid}));
  out.note(me.attach(nsid, {me.cntlid}));
  out.note(me.attach(nsid, {me.cntlid}));
  out.drain(me.admin);
  out.drain(other.admin);
  look_at_namespaces(me, nsid, out);
  look_at_namespaces(other, nsid, out);
  out.note(me.write(nsid, 0, 0x42));
  out.note(other.read(nsid, 0));
  out.note(me.log(4, 4096));
  out.note(other.log(4, 4096));
  out.note(me.detach(nsid, {me.cntlid}));
  out.note(me.read(nsid, 0));
  look_at_namespaces(me, nsid, out);
  out.note(me.attach(nsid, {me.cntlid}));
  out.note(me.read(nsid, 0));
  me.reset();
  look_at_namespaces(me, nsid, out);
  rig.disk->set_ana_state(1, nvme::AnaState::persistent_loss);
  out.note(me.attach(nsid, {other.cntlid}));
  rig.disk->set_ana_state(1, nvme::AnaState::optimized);
  const Reply alone = me.create({.nmic = 0});
  out.note(me.attach(alone.dw0(), {other.cntlid}));
  out.note(me.attach(alone.dw0(), {me.cntlid}));
  out.note(me.admin.send(set_feature(0x84, 1, 1).bytes()));
  for (const std::uint32_t wrong : {0u, 77u, 1u}) out.note(me.admin.send(manage(1, wrong).bytes()));
  out.note(me.admin.send(set_feature(0x84, 0, 1).bytes()));
  out.note(me.admin.send(manage(1, nsid).bytes()));
  look_at_namespaces(me, nsid, out);
  out.note(me.create({.flbas = 1}));
  look_at_namespaces(me, nsid, out);
  for (int i = 0; i < 100; ++i) {
    const Reply one = me.create({.nsze = 8, .ncap = 8});
    out.note(one);
    if (!one.status().ok()) break;
    if (i < 6) out.note(me.attach(one.dw0(), {me.cntlid}));
    if (rig.disk->options().namespaces_max > 100) break;
  }
  if (Controller* const mine = rig.disk->find_controller(me.cntlid)) {
    for (std::uint32_t i = 0; i < 1100; ++i) mine->on_namespace_changed(5000 + i);
  }
  out.note(me.log(4, 4096));
  out.note(me.admin.send(manage(1, nvme::kAllNamespaces).bytes()));
  look_at_namespaces(me, 1, out);
  out.note(me.admin.send(manage(1, nvme::kAllNamespaces).bytes()));
  me.leave();
  other.leave();
}

/// An operation after which media are verified, each way out of that.
inline void verifications(SubsystemHooks* hooks, Transcript& out) {
  SubsystemOptions options;
  options.version = fabrics::version(2, 1, 0);
  Rig rig(options, hooks);
  constexpr unsigned kVerify = 1u << 10;
  const auto with_verify = [](nvme::Sqe made) {
    made.set(nvme::sqe::cdw10, made.get(nvme::sqe::cdw10) | kVerify);
    return made;
  };
  const auto look = [&](Managing& me) {
    out.note(me.log(0x81, 64));
    out.note(me.read(1, 0));
    out.note(me.write(1, 0, 3));
  };
  {
    Managing me(rig, ConnectWords{}), other(rig, other_host());
    for (Managing* one : {&me, &other}) {
      for (int i = 0; i < 2; ++i) one->admin.post(command(nvme::AdminOpcode::async_event_request).bytes());
    }
    out.note(me.write(1, 0, 0x3C));
    out.note(me.admin.send(sanitize(5).bytes()));
    out.note(me.admin.send(with_verify(sanitize(3)).bytes()));
    out.note(me.admin.send(with_verify(sanitize(2, false, 0, true)).bytes()));
    rig.world->run_for(Duration::s(200));
    out.note(me.admin.send(with_verify(sanitize(2)).bytes()));
    look(me);
    rig.world->run_for(Duration::s(5));
    look(me);
    nvme::Sqe checked = rw(nvme::IoOpcode::read, 0, 1, 1);
    checked.set(nvme::sqe::cdw12, 1u << 28);
    out.note(me.io.fetch(checked.bytes(), 512));
    for (const unsigned action : {2u, 1u}) out.note(me.admin.send(sanitize(action).bytes()));
    out.note(me.admin.send(sanitize(5).bytes()));
    look(me);
    rig.world->run_for(Duration::s(5));
    look(me);
    out.drain(me.admin);
    out.drain(other.admin);
    out.note(me.admin.send(with_verify(sanitize(4)).bytes()));
    rig.world->run_for(Duration::s(5));
  }
  rig.disk->reset_subsystem();
  Managing again(rig, ConnectWords{});
  look(again);
  rig.world->run_for(Duration::s(5));
  look(again);
  Rig older({}, hooks);
  Managing host(older, ConnectWords{});
  out.note(host.admin.send(with_verify(sanitize(2)).bytes()));
  out.note(host.log(0x81, 64));
}

inline void sanitizes(Rig& rig, const ConnectWords& words, Transcript& out) {
  Managing me(rig, words);
  const auto log = [&] { out.note(me.log(0x81, 512)); };
  const auto say = [&](const nvme::Sqe& sqe) { out.note(me.admin.send(sqe.bytes())); };
  const auto data = [&] {
    for (const std::uint32_t nsid : {1u, 2u, 3u}) {
      for (const std::uint64_t slba : {0u, 9u}) out.note(me.read(nsid, slba));
    }
  };
  const Reply hidden = me.create();
  out.note(me.attach(hidden.dw0(), {me.cntlid}));
  for (const std::uint32_t nsid : {1u, 2u, 3u}) me.write(nsid, 0, 0x33, 16);
  out.note(me.detach(hidden.dw0(), {me.cntlid}));
  log();
  for (const unsigned action : {0u, 5u, 7u}) say(sanitize(action));
  out.note(me.admin.send(set_feature(0x84, 1, 1).bytes()));
  say(sanitize(2));
  log();
  out.note(me.admin.send(set_feature(0x84, 0, 1).bytes()));
  say(commit(1, nvme::CommitAction::activate));
  say(sanitize(2));
  me.reset();
  say(set_feature(0x17, 0));
  say(sanitize(2, false, 0, true));
  rig.world->run_for(Duration::s(20));
  log();
  say(set_feature(0x17, 1));
  say(get_feature(0x17));
  say(sanitize(2, false, 0, true));
  rig.world->run_for(Duration::s(20));
  log();
  out.note(me.read(1, 4000));  // beyond the end: an entry of the error log
  me.admin.post(command(nvme::AdminOpcode::async_event_request).bytes());
  for (const std::uint32_t nsid : {1u, 2u}) me.write(nsid, 0, 0x44, 16);
  log();
  me.io.wire().hold_pulls = true;
  const auto late = me.io.post(rw(nvme::IoOpcode::write, 20, 1).bytes(), Bytes(512, 0x55));
  me.io.wire().hold_pulls = false;
  say(sanitize(4, true));
  log();
  if (!me.io.wire().pulling.empty()) me.io.deliver();
  if (const auto reply = me.io.reply(late)) out.note(*reply);
  say(sanitize(2));
  rig.world->run_for(Duration::s(1));
  log();
  out.note(me.log(1, 256));
  out.note(me.log(3, 512));
  say(format(1, 0));
  out.note(me.write(1, 0, 1));
  out.note(me.read(1, 0));
  out.note(me.io.send(command(nvme::IoOpcode::flush, 1).bytes()));
  me.reset();
  log();
  rig.world->run_for(Duration::s(3));
  out.drain(me.admin);
  log();
  out.note(me.attach(hidden.dw0(), {me.cntlid}));
  data();
  me.admin.post(command(nvme::AdminOpcode::async_event_request).bytes());
  say(sanitize(3, false, 3));
  rig.world->run_for(Duration::s(15));
  log();
  rig.disk->reset_subsystem();
  rig.world->run_for(Duration::ms(2));
  Managing again(rig, words);
  out.note(again.log(0x81, 512));
  rig.world->run_for(Duration::s(30));
  out.note(again.log(0x81, 512));
  again.admin.post(command(nvme::AdminOpcode::async_event_request).bytes());
  for (const bool unrestricted : {false, true}) {
    rig.disk->sanitizer().fail_next();
    out.note(again.admin.send(sanitize(2, unrestricted).bytes()));
    rig.world->run_for(Duration::s(20));
    out.drain(again.admin);
    out.note(again.log(0x81, 512));
    out.note(again.write(1, 0, 1));
    out.note(again.admin.send(format(1, 0).bytes()));
    out.note(again.admin.send(sanitize(1).bytes()));
    out.note(again.read(1, 0));
    out.note(again.admin.send(sanitize(2, true).bytes()));
    rig.world->run_for(Duration::s(20));
    out.note(again.admin.send(sanitize(2).bytes()));
    rig.world->run_for(Duration::s(20));
    out.note(again.log(0x81, 512));
  }
  again.leave();
}

inline void self_tests(Rig& rig, const ConnectWords& words, Transcript& out) {
  Managing me(rig, words);
  const auto log = [&] { out.note(me.log(6, 564)); };
  const auto say = [&](unsigned code, std::uint32_t nsid = 0) { out.note(me.admin.send(self_test(code, nsid).bytes())); };
  const auto run = [&](int seconds) { rig.world->run_for(Duration::s(seconds)); };
  log();
  for (const unsigned code : {0u, 5u, 14u}) say(code);
  say(15);
  for (const std::uint32_t nsid : {77u, 5000u}) {
    say(1, nsid);
    say(15);
  }
  log();
  say(1);
  say(2);
  run(15);
  log();
  run(16);
  log();
  say(2, 1);
  run(30);
  me.reset();
  log();
  run(600);
  log();
  say(1, nvme::kAllNamespaces);
  me.reset();
  log();
  run(60);
  say(2, 1);
  say(15);
  log();
  run(600);
  say(2, nvme::kAllNamespaces);
  out.note(me.admin.send(format(1, 0).bytes()));
  log();
  say(15);
  say(2, nvme::kAllNamespaces);
  out.note(me.admin.send(sanitize(2).bytes()));
  run(20);
  log();
  say(15);
  const Reply made = me.create();
  out.note(me.attach(made.dw0(), {me.cntlid}));
  say(2, made.dw0());
  out.note(me.admin.send(manage(1, made.dw0()).bytes()));
  log();
  say(15);
  rig.disk->self_tests().fail_next({.segment = 3, .nsid = 1, .lba = 77});
  say(1, 1);
  run(60);
  log();
  me.leave();
}

}  // namespace fb::subsystem::test
