// What a host does with blocks that may not be recovered, and what it saw of them in words: the departures show in
// these.
#pragma once

#include "tests/model/subsystem/management_session.h"
#include "wire/nvme/lba_status.h"

namespace fb::subsystem::test {

inline nvme::Sqe lba_status(unsigned action, std::uint64_t slba, unsigned blocks, std::size_t bytes, std::uint32_t nsid = 1) {
  nvme::Sqe made = command(nvme::AdminOpcode::get_lba_status, nsid);
  made.edit<nvme::GetLbaStatusSqe>()
      .set(nvme::lba_status_sqe::slba, slba)
      .set(nvme::lba_status_sqe::mndw, bytes / 4 - 1)
      .set(nvme::lba_status_sqe::rl, blocks)
      .set(nvme::lba_status_sqe::atype, action);
  return made;
}
inline nvme::Sqe lba_status_log(bool retain) {
  nvme::Sqe made = get_log(0x0E, 512);
  made.edit<nvme::GetLogPageSqe>().set(nvme::get_log_sqe::rae, retain);
  return made;
}

inline void lba_statuses(SubsystemHooks* hooks, Transcript& out) {
  Rig rig({}, hooks);
  Namespace& ns = *rig.disk->find_namespace(1);
  Managing host(rig, ConnectWords{});
  const auto ask = [&](unsigned action, std::uint64_t slba, unsigned blocks, std::size_t bytes = 256, std::uint32_t nsid = 1) {
    out.note(host.admin.fetch(lba_status(action, slba, blocks, bytes, nsid).bytes(), bytes));
  };
  const auto log = [&](bool retain) { out.note(host.admin.fetch(lba_status_log(retain).bytes(), 512)); };
  const auto listen = [&] { host.admin.post(command(nvme::AdminOpcode::async_event_request).bytes()); };
  const auto spoil = [&](std::uint64_t lba) { out.note(host.io.send(rw(nvme::IoOpcode::write_uncorrectable, lba, 2, 1).bytes())); };
  for (const unsigned select : {0u, 1u}) out.note(host.admin.send(get_feature(0x15, select).bytes()));
  out.note(host.admin.send(set_feature(0x15, 0x00770003).bytes()));
  out.note(host.admin.send(set_feature(0x15, 0x00000014).bytes()));
  out.note(host.admin.send(get_feature(0x15).bytes()));
  for (const std::uint64_t lba : {40u, 10u, 100u}) spoil(lba);
  ask(0x11, 0, 0);
  ask(0x10, 20, 40);
  ask(0x11, 0, 0, 24);
  ask(0x11, 0, 0, 4);
  ask(0x00, 0, 0);
  ask(0x11, 1u << 30, 8);
  ask(0x11, 0, 8, 256, 77);
  out.note(host.write(1, 40, 3, 2));
  ask(0x11, 0, 0);
  log(true);
  spoil(200);
  log(true);
  log(false);
  log(true);
  log(false);
  // Told only to who asked, and not at once.
  listen();
  rig.disk->damage_blocks(ns, 300, 8);
  rig.world->run_for(Duration::s(3));
  out.drain(host.admin);
  out.note(host.admin.send(set_feature(0x0B, 0x2000).bytes()));
  log(false);
  rig.disk->damage_blocks(ns, 320, 8);
  rig.world->run_for(Duration::s(1));
  out.drain(host.admin);
  rig.world->run_for(Duration::s(2));
  out.drain(host.admin);
  log(false);
  listen();
  rig.disk->fail_media(ns, 400, 4);
  out.drain(host.admin);
  log(true);
  ask(0x11, 390, 20);
  ask(0x10, 390, 20);
  log(false);
  log(true);
  out.note(host.read(1, 400));
  host.reset();
  log(true);
  host.leave();
}

}  // namespace fb::subsystem::test
