// A host whose target loses power or is reset after writes that were flushed, or forced, or neither: the departures of
// the volatile write cache show in what it reads afterwards.
#pragma once

#include "tests/model/subsystem/media_session.h"

namespace fb::subsystem::test {

/// One target, one host; `act` comes between the old data, which is safe, and the loss of power.
template <class Act>
void power_loss(SubsystemHooks* hooks, Transcript& out, SubsystemOptions options, Act act) {
  constexpr unsigned kWrites = 24;
  constexpr std::uint32_t kBlocks = 4;
  options.power_loss_forgets = true;
  options.atomic_power_fail_blocks = kBlocks;
  Rig rig(std::move(options), hooks);
  auto session = rig.start();
  Line io = rig.start_io(session);
  const auto each = [&](auto&& todo) {
    for (unsigned i = 0; i < kWrites; ++i) todo(i * kBlocks);
  };
  const auto write = [&](std::uint8_t byte, bool fua) {
    each([&](std::uint64_t slba) {
      nvme::Sqe made = rw(nvme::IoOpcode::write, slba, kBlocks);
      if (fua) made.set(nvme::sqe::cdw12, (kBlocks - 1) | 1u << 30);
      io.send(made.bytes(), Bytes(kBlocks * 512, byte));
    });
  };
  const auto flush = [&] { out.note(io.send(command(nvme::IoOpcode::flush, 1).bytes())); };
  write(0x0D, false);
  flush();
  act(rig, session, write);
  if (session.admin.closed() || io.closed()) {
    session = rig.start();
    io = rig.start_io(session);
  }
  each([&](std::uint64_t slba) { out.note(io.fetch(rw(nvme::IoOpcode::read, slba, kBlocks).bytes(), kBlocks * 512)); });
}

inline void power_losses(SubsystemHooks* hooks, Transcript& out) {
  const auto shut_down = [](Rig& rig, Rig::Session& session) {
    session.admin.send(property_set(0x14, 0x00464001));
    rig.world->run_for(Duration::ms(5));
  };
  const auto cut = [](Rig& rig) {
    rig.disk->power_cycle();
    rig.world->run_for(Duration::ms(1));
  };
  power_loss(hooks, out, {}, [&](Rig& rig, Rig::Session&, auto& write) {
    write(0xA1, false);
    cut(rig);
  });
  power_loss(hooks, out, {}, [&](Rig& rig, Rig::Session&, auto& write) {
    write(0xA2, true);
    cut(rig);
  });
  power_loss(hooks, out, {}, [&](Rig& rig, Rig::Session& session, auto& write) {
    session.admin.send(set_feature(6, 0).bytes());
    write(0xA3, false);
    cut(rig);
  });
  power_loss(hooks, out, {}, [&](Rig& rig, Rig::Session& session, auto& write) {
    write(0xA4, false);
    shut_down(rig, session);
    cut(rig);
  });
  power_loss(hooks, out, {}, [&](Rig& rig, Rig::Session&, auto& write) {
    write(0xA5, false);
    rig.disk->reset_subsystem();
    rig.world->run_for(Duration::ms(1));
  });
  power_loss(hooks, out, {}, [&](Rig& rig, Rig::Session& session, auto& write) {
    write(0xA6, false);
    session.admin.send(property_set(0x14, 0x00460000));
    rig.world->run_for(Duration::ms(2));
    rig.enable(session.admin);
  });
}

}  // namespace fb::subsystem::test
