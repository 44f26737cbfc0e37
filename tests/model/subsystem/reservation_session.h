// Several hosts at one namespace, what they do about reservations, and what each of them saw: the departures show in
// it. Also the commands themselves, for other tests.
#pragma once

#include "tests/model/subsystem/media_session.h"
#include "tests/model/subsystem/rig.h"
#include "wire/nvme/reservation.h"

namespace fb::subsystem::test {

/// Register, Acquire or Release; bits of CDW10 by hand.
inline nvme::Sqe reservation(nvme::IoOpcode opcode, std::uint32_t cdw10) {
  nvme::Sqe made = command(opcode, 1);
  made.set(nvme::sqe::cdw10, cdw10);
  return made;
}
inline nvme::Sqe report_command(std::size_t bytes, bool extended = true) {
  nvme::Sqe made = reservation(nvme::IoOpcode::reservation_report, static_cast<std::uint32_t>(bytes / 4 - 1));
  made.set(nvme::sqe::cdw11, extended ? 1u : 0u);
  return made;
}
inline Bytes keys(std::uint64_t current, std::uint64_t other) {
  Bytes data(16);
  store_le(data.data(), current);
  store_le(data.data() + 8, other);
  return data;
}

inline constexpr std::uint32_t kIgnoreKey = 1u << 3;
constexpr std::uint32_t type_bits(unsigned type) { return type << 8; }
constexpr std::uint32_t persist_bits(unsigned change) { return change << 30; }

/// One host's controller with an I/O queue.
struct Guest {
  Guest(Rig& rig, ConnectWords words) : admin(rig.open()), io(rig.open(1)) {
    const Reply reply = Rig::connect(admin, words);
    rig.enable(admin);
    words.cntlid = static_cast<std::uint16_t>(reply.dw0());
    words.qid = 1;
    words.sqsize = 127;
    words.kato = 0;
    connected = Rig::connect(io, words).status().ok();
  }
  Reply register_key(std::uint32_t cdw10, std::uint64_t current, std::uint64_t key) {
    return io.send(reservation(nvme::IoOpcode::reservation_register, cdw10).bytes(), keys(current, key));
  }
  Reply acquire(std::uint32_t cdw10, std::uint64_t current, std::uint64_t victim = 0) {
    return io.send(reservation(nvme::IoOpcode::reservation_acquire, cdw10).bytes(), keys(current, victim));
  }
  Reply release(std::uint32_t cdw10, std::uint64_t current) {
    Bytes key = keys(current, 0);
    key.resize(8);
    return io.send(reservation(nvme::IoOpcode::reservation_release, cdw10).bytes(), key);
  }
  Reply report(std::size_t bytes = 512, bool extended = true) { return io.fetch(report_command(bytes, extended).bytes(), bytes); }
  Reply notice() { return admin.fetch(get_log(0x80, 64).bytes(), 64); }
  Line admin;
  Line io;
  bool connected = false;  ///< not always, where a product departs
};

inline void reservations(Rig& rig, Transcript& out, ConnectWords words) {
  words.kato = 100'000;
  const auto join = [&](std::uint8_t hostid) {
    words.hostid = hostid;
    return Guest(rig, words);
  };
  Guest a = join(1), twin = join(1), b = join(2), c = join(3);
  const auto look = [&] {
    out.note(c.report());
    for (Guest* one : {&a, &twin, &b, &c}) {
      out.note(one->notice());
      out.drain(one->admin);
      out.drain(one->io);
    }
  };
  const auto both = [&](unsigned type) {
    out.note(a.register_key(0, 0, 11));
    out.note(b.register_key(0, 0, 22));
    out.note(a.acquire(type_bits(type), 11));
  };
  const auto clear = [&](Guest& who, std::uint64_t key) { out.note(who.release(1, key)); };
  for (Guest* one : {&a, &twin, &b, &c}) {
    for (int i = 0; i < 3; ++i) one->admin.post(command(nvme::AdminOpcode::async_event_request).bytes());
  }
  look();

  out.note(a.register_key(7, 0, 11));
  out.note(a.register_key(1, 0, 0));
  out.note(a.register_key(2, 0, 11));
  out.note(a.register_key(0, 0, 11));
  out.note(a.register_key(0, 0, 11));
  out.note(a.register_key(0, 0, 12));
  out.note(b.register_key(0, 0, 11));
  out.note(b.register_key(2, 99, 23));
  out.note(b.register_key(2 | kIgnoreKey, 99, 22));
  for (const unsigned change : {1u, 3u, 2u}) out.note(a.register_key(0 | persist_bits(change), 0, 11));
  look();
  out.note(c.report(96));
  out.note(c.report(64, false));
  out.note(c.report(std::size_t{4} << 20));
  for (Guest* one : {&a, &c}) {
    out.note(one->acquire(type_bits(2) | kIgnoreKey, 11));
    out.note(one->acquire(type_bits(7), 11));
    out.note(one->acquire(type_bits(2) | 7, 11));
    out.note(one->acquire(type_bits(2), 99));
  }
  out.note(a.acquire(type_bits(2), 11));
  out.note(twin.acquire(type_bits(2), 11));
  out.note(a.acquire(type_bits(1), 11));
  out.note(b.acquire(type_bits(2), 22));
  out.note(c.acquire(type_bits(2), 22));
  look();
  out.note(a.release(type_bits(2) | kIgnoreKey, 11));
  out.note(a.release(type_bits(2) | 7, 11));
  out.note(a.release(type_bits(1), 11));
  look();
  out.note(b.release(type_bits(2), 22));
  out.note(c.release(type_bits(2), 0));
  look();
  clear(c, 0);
  clear(a, 99);
  clear(a, 11);
  look();

  for (unsigned type = 1; type <= 6; ++type) {
    both(type);
    for (Guest* one : {&a, &b, &c}) {
      out.note(one->io.send(rw(nvme::IoOpcode::write, 0, 1).bytes(), Bytes(512, 1)));
      out.note(one->io.fetch(rw(nvme::IoOpcode::read, 0, 1).bytes(), 512));
      out.note(one->io.send(command(nvme::IoOpcode::flush, 1).bytes()));
      out.note(one->admin.fetch(identify(nvme::Cns::identify_namespace, 1).bytes(), 4096));
    }
    out.note(c.admin.send(format(1, 0).bytes()));
    out.note(a.release(type_bits(type), 11));
    look();
    both(type);
    out.note(b.register_key(1, 22, 0));
    look();
    out.note(a.register_key(1, 11, 0));
    look();
    both(type);
    out.note(b.acquire(1 | type_bits(3), 22, 0));
    out.note(b.acquire(1 | type_bits(3), 22, 99));
    out.note(b.acquire(1 | type_bits(3), 22, 11));
    look();
    out.note(b.acquire(1 | type_bits(1), 22, 22));
    look();
    clear(b, 22);
  }
  both(1);
  a.io.wire().hold_pulls = true;
  a.io.post(rw(nvme::IoOpcode::write, 0, 1).bytes(), Bytes(512, 9));
  out.note(b.acquire(2 | type_bits(1), 22, 11));
  look();
  a.io.wire().hold_pulls = false;
  while (!a.io.wire().pulling.empty()) a.io.deliver();
  clear(b, 22);

  for (const std::uint32_t nsid : {1u, 77u, nvme::kAllNamespaces}) {
    for (const unsigned fid : {0x82u, 0x83u}) {
      for (const unsigned value : {0xFFu, 0u, 8u}) {
        out.note(a.admin.send(set_feature(fid, value, nsid).bytes()));
        out.note(a.admin.send(get_feature(fid, 0, 0, 1).bytes()));
      }
    }
  }
  both(3);
  clear(b, 22);
  look();

  // What ends associations, and what ends more.
  both(2);
  a.admin.send(property_set(0x14, 0x00460000));
  rig.world->run_for(Duration::ms(2));
  out.note(c.report());
  a.admin.lose();
  rig.world->run_for(Duration::ms(1));
  out.note(c.report());
  for (const unsigned change : {0u, 2u, 3u}) {
    if (change == 0) {
      rig.disk->reset_subsystem();
    } else {
      out.note(b.register_key(0 | persist_bits(change), 0, 22));
      rig.disk->power_cycle();
    }
    rig.world->run_for(Duration::ms(1));
    b = join(2);
    c = join(3);
    out.note(c.report());
    out.note(c.admin.send(property_get(0x1C, 0)));
  }
  clear(b, 22);
  rig.disk->find_namespace(1)->reservations().forget_all();
  rig.disk->end_associations("between two parts");
  rig.world->run_for(Duration::ms(1));
}

}  // namespace fb::subsystem::test
