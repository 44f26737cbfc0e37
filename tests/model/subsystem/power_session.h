// A host whose target loses power or is reset after writes that were flushed, or forced, or neither: the departures of
// the volatile write cache show in what it reads afterwards.
#pragma once

#include "tests/model/subsystem/media_session.h"

namespace fb::subsystem::test {

/// A host that goes on whatever the target answers.
struct PoweredHost {
  explicit PoweredHost(Rig& rig) : admin(rig.open()), io(rig.open(1)) {
    const Reply reply = Rig::connect(admin, {});
    rig.enable(admin);
    ConnectWords words;
    words.qid = 1;
    words.sqsize = 127;
    words.cntlid = static_cast<std::uint16_t>(reply.dw0());
    Rig::connect(io, words);
  }
  Line admin;
  Line io;
};

/// One target, one host; `act` comes between the old data, which is safe, and the loss of power.
template <class Act>
void power_loss(SubsystemHooks* hooks, Transcript& out, SubsystemOptions options, Act act) {
  constexpr unsigned kWrites = 24;
  constexpr std::uint32_t kBlocks = 4;
  options.power_loss_forgets = true;
  options.atomic_power_fail_blocks = kBlocks;
  Rig rig(std::move(options), hooks);
  PoweredHost host(rig);
  const auto each = [&](auto&& todo) {
    for (unsigned i = 0; i < kWrites; ++i) todo(i * kBlocks);
  };
  const auto write = [&](std::uint8_t byte, bool fua) {
    each([&](std::uint64_t slba) {
      nvme::Sqe made = rw(nvme::IoOpcode::write, slba, kBlocks);
      if (fua) made.set(nvme::sqe::cdw12, (kBlocks - 1) | 1u << 30);
      host.io.send(made.bytes(), Bytes(kBlocks * 512, byte));
    });
  };
  const auto flush = [&] { out.note(host.io.send(command(nvme::IoOpcode::flush, 1).bytes())); };
  write(0x0D, false);
  flush();
  act(rig, host, write);
  PoweredHost later(rig);
  each([&](std::uint64_t slba) { out.note(later.io.fetch(rw(nvme::IoOpcode::read, slba, kBlocks).bytes(), kBlocks * 512)); });
}

inline void power_losses(SubsystemHooks* hooks, Transcript& out) {
  const auto shut_down = [](Rig& rig, PoweredHost& host) {
    host.admin.send(property_set(0x14, 0x00464001));
    rig.world->run_for(Duration::ms(5));
  };
  const auto cut = [](Rig& rig) {
    rig.disk->power_cycle();
    rig.world->run_for(Duration::ms(1));
  };
  power_loss(hooks, out, {}, [&](Rig& rig, PoweredHost&, auto& write) {
    write(0xA1, false);
    cut(rig);
  });
  power_loss(hooks, out, {}, [&](Rig& rig, PoweredHost&, auto& write) {
    write(0xA2, true);
    cut(rig);
  });
  power_loss(hooks, out, {}, [&](Rig& rig, PoweredHost& host, auto& write) {
    host.admin.send(set_feature(6, 0).bytes());
    write(0xA3, false);
    cut(rig);
  });
  power_loss(hooks, out, {}, [&](Rig& rig, PoweredHost& host, auto& write) {
    write(0xA4, false);
    shut_down(rig, host);
    cut(rig);
  });
  power_loss(hooks, out, {}, [&](Rig& rig, PoweredHost&, auto& write) {
    write(0xA5, false);
    rig.disk->reset_subsystem();
    rig.world->run_for(Duration::ms(1));
  });
  power_loss(hooks, out, {}, [&](Rig& rig, PoweredHost& host, auto& write) {
    write(0xA6, false);
    host.admin.send(property_set(0x14, 0x00460000));
    rig.world->run_for(Duration::ms(2));
  });
}

}  // namespace fb::subsystem::test
