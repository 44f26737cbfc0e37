// What a host does with zoned namespaces, and what it saw of them in words: the departures show in these.
#pragma once

#include "model/subsystem/controller.h"
#include "tests/model/subsystem/management_session.h"
#include "tests/model/subsystem/media_session.h"
#include "wire/nvme/copy.h"
#include "wire/nvme/protection.h"
#include "wire/nvme/zones.h"

namespace fb::subsystem::test {

/// CC with all command sets selected.
inline constexpr std::uint32_t kAllSets = 0x00460061;

inline nvme::Sqe zone_send(nvme::ZoneSendAction action, std::uint64_t slba, bool all = false, std::uint32_t nsid = 2) {
  nvme::Sqe made = rw(nvme::IoOpcode::zone_management_send, slba, 1, nsid);
  made.set(nvme::sqe::cdw13, static_cast<std::uint32_t>(action) | (all ? 1u << 8 : 0u));
  return made;
}
inline nvme::Sqe zone_report(std::uint64_t slba, std::size_t bytes, unsigned option = 0, bool partial = false, unsigned action = 0,
                             std::uint32_t nsid = 2) {
  nvme::Sqe made = rw(nvme::IoOpcode::zone_management_receive, slba, 1, nsid);
  made.set(nvme::sqe::cdw12, static_cast<std::uint32_t>(bytes / 4 - 1))
      .set(nvme::sqe::cdw13, action | option << 8 | (partial ? 1u << 16 : 0u));
  return made;
}
/// Blocks with good tags from `reference` on.
inline Bytes tagged_blocks(const nvme::BlockLayout& layout, std::size_t count, std::uint64_t reference) {
  Bytes data(count * layout.bytes(), 0x5A);
  nvme::ProtectionTags tags{.application = 3, .reference = reference};
  for (std::size_t i = 0; i < count; ++i) {
    nvme::protect(layout, MutableBytes{data}.subspan(i * layout.bytes(), layout.bytes()), tags);
    nvme::advance_tags(layout, tags);
  }
  return data;
}

inline SubsystemOptions zoned_options() {
  SubsystemOptions options;
  options.zoned = {.supported = true, .append_limit = 1};
  options.mdts = 6;
  options.power_loss_forgets = true;
  return options;
}

/// NSID 2 with all limits, 3 without, 4 and 5 with protection information of types 1 and 3.
inline void add_zoned(Subsystem& disk) {
  NamespaceOptions limited;
  limited.blocks = 512;
  limited.zones = {.zone_blocks = 64, .capacity = 48, .max_active = 4, .max_open = 2, .extension_units = 1, .excursions = true};
  (void)disk.add_namespace(std::move(limited));
  NamespaceOptions wide;
  wide.blocks = 256;
  wide.zones = {.zone_blocks = 64, .read_across = true};
  (void)disk.add_namespace(std::move(wide));
  for (const std::uint8_t type : {std::uint8_t{1}, std::uint8_t{3}}) {
    NamespaceOptions tagged;
    tagged.blocks = 256;
    tagged.metadata_bytes = 8;
    tagged.protection_type = type;
    tagged.zones = {.zone_blocks = 64};
    (void)disk.add_namespace(std::move(tagged));
  }
}

/// A host at such a subsystem, whatever it answers.
class ZonedHost {
 public:
  ZonedHost(Rig& rig, Transcript& out, std::uint32_t cc = kAllSets) : admin(rig.open()), io(rig.open(1)), out_(out) {
    const Reply reply = Rig::connect(admin, {});
    rig.enable(admin, cc);
    ConnectWords words;
    words.qid = 1;
    words.sqsize = 127;
    words.cntlid = static_cast<std::uint16_t>(reply.dw0());
    Rig::connect(io, words);
  }

  void write(std::uint64_t slba, std::uint32_t blocks, std::uint8_t byte = 1, std::uint32_t nsid = 2) {
    out_.note(io.send(rw(nvme::IoOpcode::write, slba, blocks, nsid).bytes(), Bytes(blocks * 512, byte)));
  }
  void read(std::uint64_t slba, std::uint32_t blocks, std::uint32_t nsid = 2) {
    out_.note(io.fetch(rw(nvme::IoOpcode::read, slba, blocks, nsid).bytes(), blocks * 512));
  }
  void append(std::uint64_t slba, std::uint32_t blocks, std::uint8_t byte = 2, std::uint32_t nsid = 2) {
    out_.note(io.send(rw(nvme::IoOpcode::zone_append, slba, blocks, nsid).bytes(), Bytes(blocks * 512, byte)));
  }
  void send(nvme::ZoneSendAction action, std::uint64_t slba, bool all = false) {
    out_.note(io.send(zone_send(action, slba, all).bytes(), Bytes(64, 9), 64));
  }
  void look() { out_.note(io.fetch(zone_report(0, 64 + 8 * 128, 0, false, 1).bytes(), 64 + 8 * 128)); }
  void empty() { io.send(zone_send(nvme::ZoneSendAction::reset, 0, true).bytes()); }

  Line admin;
  Line io;

 private:
  Transcript& out_;
};

inline void zoned_identify(ZonedHost& host, Transcript& out) {
  for (const unsigned cns : {3u, 5u, 6u, 7u, 0x1Au, 0x1Bu, 0x1Cu}) {
    for (const unsigned csi : {0u, 2u, 7u}) {
      for (const std::uint32_t nsid : {0u, 1u, 2u, 6u, 0xFFFFFFFFu}) {
        nvme::Sqe sqe = identify(static_cast<nvme::Cns>(cns), nsid);
        sqe.set(nvme::sqe::cdw11, csi << 24);
        out.note(host.admin.fetch(sqe.bytes(), 4096));
      }
    }
  }
  for (const unsigned csi : {0u, 2u, 7u}) {
    nvme::Sqe sqe = get_log(5, 4096);
    sqe.set(nvme::sqe::cdw14, csi << 24);
    out.note(host.admin.fetch(sqe.bytes(), 4096));
  }
  for (const std::uint32_t nsid : {0u, 1u, 2u}) {
    nvme::Sqe sqe = get_log(0xBF, 4096);
    sqe.set(nvme::sqe::nsid, nsid);
    out.note(host.admin.fetch(sqe.bytes(), 4096));
  }
}

inline void zoned_writes(Rig& rig, ZonedHost& host, Transcript& out) {
  using nvme::IoOpcode;
  host.write(0, 4);
  host.look();
  host.write(2, 1);
  host.write(4, 60);
  host.write(4, 44);
  host.write(48, 1);
  host.look();
  host.read(0, 4);
  host.read(62, 4);
  host.read(62, 4, 3);
  host.append(64, 3);
  host.append(64, 2);
  host.append(65, 1);
  host.append(64, 40);
  host.append(64, 47);
  host.append(0, 1);
  host.append(64, 20);
  host.read(64, 8);
  host.look();
  for (const IoOpcode opcode : {IoOpcode::write_zeroes, IoOpcode::write_uncorrectable}) {
    out.note(host.io.send(rw(opcode, 130, 2, 2).bytes()));
    out.note(host.io.send(rw(opcode, 128, 2, 2).bytes()));
    host.empty();
  }
  host.write(0, 4, 7);
  for (const std::uint64_t to : {std::uint64_t{70}, std::uint64_t{64}}) {
    nvme::Sqe copy = rw(IoOpcode::copy, to, 1, 2);
    copy.set(nvme::sqe::cdw12, 0u);
    out.note(host.io.send(copy.bytes(), nvme::write_copy_source({.slba = 0, .blocks = 4}, 0, {})));
  }
  host.look();
  nvme::Sqe dsm = command(IoOpcode::dataset_management, 2);
  dsm.set(nvme::sqe::cdw11, 4u);
  Bytes range(16);
  store_le<std::uint32_t>(range.data() + 4, 2);
  out.note(host.io.send(dsm.bytes(), range));
  host.look();
  Subsystem& disk = *rig.disk;
  Namespace& ns = *disk.find_namespace(2);
  disk.make_zone_read_only(ns, 5);
  disk.take_zone_offline(ns, 6);
  for (const std::uint64_t start : {320u, 384u}) {
    host.write(start, 1);
    host.append(start, 1);
    host.read(start, 1);
    store_le<std::uint64_t>(range.data() + 8, start);
    out.note(host.io.send(dsm.bytes(), range));
    for (const unsigned action : {1u, 2u, 3u, 4u, 5u, 5u}) host.send(static_cast<nvme::ZoneSendAction>(action), start);
    host.look();
  }
  nvme::Sqe compare = rw(IoOpcode::compare, 128, 1, 2), write = rw(IoOpcode::write, 128, 1, 2);
  compare.set(nvme::sqe::fuse, 1u);
  write.set(nvme::sqe::fuse, 2u);
  host.io.post(compare.bytes(), Bytes(512));
  host.io.post(write.bytes(), Bytes(512, 3));
  out.drain(host.io);
  host.look();
  host.empty();
}

inline void zoned_actions(ZonedHost& host, Transcript& out) {
  using Action = nvme::ZoneSendAction;
  for (const unsigned action : {0u, 1u, 2u, 3u, 4u, 5u, 0x10u, 0x44u}) {
    for (const bool all : {false, true}) {
      host.empty();
      host.write(0, 2);
      host.send(Action::open, 64);
      host.write(128, 3);  // closes the first
      host.send(Action::finish, 192);
      host.send(Action::set_descriptor_extension, 256);
      host.look();
      for (const std::uint64_t start : {0u, 64u, 128u, 192u, 256u, 448u, 65u}) {
        host.send(static_cast<Action>(action), start, all);
        if (all) break;
      }
      host.look();
    }
  }
  host.empty();
  for (const std::uint64_t start : {0u, 64u, 128u, 192u, 256u}) host.write(start, 1);
  host.look();
  host.empty();
  for (const std::uint64_t start : {0u, 64u, 128u}) host.send(Action::open, start);
  host.write(192, 1);
  host.look();
  host.send(Action::finish, 0);
  host.send(Action::open, 192);
  host.look();
  host.send(Action::reset, 192);
  host.read(192, 1);
  host.empty();
  nvme::Sqe other = zone_send(Action::set_descriptor_extension, 0);
  other.set(nvme::sqe::nsid, 3u);
  out.note(host.io.send(other.bytes(), Bytes(64, 4), 64));
}

inline void zoned_reports(ZonedHost& host, Transcript& out) {
  using Action = nvme::ZoneSendAction;
  host.write(0, 2);
  host.send(Action::open, 64);
  host.send(Action::finish, 128);
  host.send(Action::set_descriptor_extension, 192);
  for (const unsigned action : {0u, 1u, 2u}) {
    for (const unsigned option : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u}) {
      for (const bool partial : {false, true}) {
        out.note(host.io.fetch(zone_report(0, 320, option, partial, action).bytes(), 320));
      }
    }
    out.note(host.io.fetch(zone_report(130, 320, 0, true, action).bytes(), 320));
    out.note(host.io.fetch(zone_report(4096, 320, 0, true, action).bytes(), 320));
    out.note(host.io.fetch(zone_report(0, 320, 0, true, action, 3).bytes(), 320));
    out.note(host.io.fetch(zone_report(0, 1u << 20, 0, true, action).bytes(), 1u << 20));
  }
  host.empty();
}

inline void zoned_tags(ZonedHost& host, Transcript& out) {
  for (const std::uint32_t nsid : {4u, 5u}) {
    const nvme::BlockLayout layout{.metadata_bytes = 8, .protection_type = static_cast<std::uint8_t>(nsid == 4 ? 1 : 3)};
    for (const bool remaps : {false, true}) {
      nvme::Sqe sqe = rw(nvme::IoOpcode::zone_append, 64, 2, nsid);
      sqe.set(nvme::sqe::cdw12, 1u | 7u << 26 | (remaps ? 1u << 25 : 0u)).set(nvme::sqe::cdw14, 64u);
      for (int i = 0; i < 2; ++i) out.note(host.io.send(sqe.bytes(), tagged_blocks(layout, 2, 64)));
      out.note(host.io.fetch(rw(nvme::IoOpcode::read, 64, 4, nsid).bytes(), 4 * 520));
    }
  }
}

inline void zoned_events(Rig& rig, ZonedHost& host, Transcript& out) {
  Subsystem& disk = *rig.disk;
  Namespace& ns = *disk.find_namespace(2);
  nvme::Sqe log = get_log(0xBF, 64);
  log.set(nvme::sqe::nsid, 2u);
  for (const std::uint32_t mask : {0u, 1u << 27}) {
    host.admin.send(set_feature(0x0B, mask).bytes());
    for (int i = 0; i < 3; ++i) host.admin.post(command(nvme::AdminOpcode::async_event_request).bytes());
    host.write(0, 1);
    host.send(nvme::ZoneSendAction::close, 0);
    out.drain(host.admin);
    out.note(disk.zone_excursion(ns, 0));
    disk.recommend_zone(ns, 3, 6);
    out.drain(host.admin);
    out.note(host.admin.fetch(log.bytes(), 64));
    out.note(host.admin.fetch(log.bytes(), 64));
    host.look();
    host.empty();
    host.write(64, 1);
    host.admin.send(set_feature(0x84, 1, 2).bytes());
    host.look();
    host.send(nvme::ZoneSendAction::open, 128);
    out.note(host.admin.fetch(log.bytes(), 64));
    host.admin.send(set_feature(0x84, 0, 2).bytes());
    host.empty();
  }
}

/// What outlives what.
inline void zoned_ends(Rig& rig, Transcript& out) {
  const auto use = [&](ZonedHost& host) {
    host.empty();
    host.write(0, 3);
    host.send(nvme::ZoneSendAction::open, 64);
    host.send(nvme::ZoneSendAction::set_descriptor_extension, 128);
  };
  {
    ZonedHost host(rig, out);
    use(host);
    host.admin.send(property_set(0x14, 0));
    rig.world->run_for(Duration::ms(3));
    rig.disk->end_associations("after a reset");
    rig.world->run_for(Duration::ms(1));
    ZonedHost later(rig, out);
    later.look();
    out.note(later.admin.send(format(2, 0).bytes()));
    later.look();
    use(later);
    later.admin.send(property_set(0x14, kAllSets | 0x4000));
    rig.world->run_for(Duration::ms(5));
    later.admin.lose();
    rig.world->run_for(Duration::ms(1));
  }
  for (const bool power : {false, true}) {
    ZonedHost host(rig, out);
    host.look();
    use(host);
    power ? rig.disk->power_cycle() : rig.disk->reset_subsystem();
    rig.world->run_for(Duration::ms(1));
  }
  ZonedHost host(rig, out);
  host.look();
  use(host);
  for (const unsigned keeps : {0u, 1u << 9}) {
    nvme::Sqe sanitize = command(nvme::AdminOpcode::sanitize);
    sanitize.set(nvme::sqe::cdw10, 2u | keeps);
    out.note(host.admin.send(sanitize.bytes()));
    rig.world->run_for(Duration::s(20));
    host.look();
  }
  for (const std::uint32_t index : {1u, 0u, 2u}) {
    out.note(host.admin.send(set_feature(0x19, index).bytes()));
    host.look();
    host.write(0, 1);
    nvme::Sqe list = identify(nvme::Cns::active_namespace_list);
    out.note(host.admin.fetch(list.bytes(), 4096));
  }
  // Namespaces that are made.
  host.admin.send(set_feature(0x19, 0).bytes());
  for (const std::uint64_t size : {std::uint64_t{4096}, std::uint64_t{4000}}) {
    out.note(host.admin.send(manage(0, 0, 2).bytes(), NewNamespace{.nsze = size, .ncap = size}.data()));
  }
  out.note(host.admin.send(manage(0, 0, 2).bytes(), NewNamespace{.nsze = 4096, .ncap = 2048}.data()));
  const auto attach = [&](std::uint32_t nsid) {
    const auto& controllers = rig.disk->controllers();
    Bytes list(4096);
    const std::uint16_t cntlid = controllers.empty() ? std::uint16_t{1} : controllers.rbegin()->first;
    nvme::write_controller_list(list, std::vector<std::uint16_t>{cntlid});
    out.note(host.admin.send(attachment(0, nsid).bytes(), list));
  };
  host.admin.send(set_feature(0x19, 1).bytes());
  attach(6);
  host.admin.send(set_feature(0x19, 0).bytes());
  attach(6);
  out.note(host.io.fetch(zone_report(0, 256, 0, false, 0, 6).bytes(), 256));
  rig.disk->end_associations("another command set");
  rig.world->run_for(Duration::ms(1));
  ZonedHost plain(rig, out, 0x00460001);
  plain.look();
  plain.read(0, 1);
  plain.write(0, 1);
}

/// A host that another one keeps away.
inline void zoned_reservations(Rig& rig, Transcript& out) {
  ZonedHost holder(rig, out);
  Bytes keys(16);
  store_le<std::uint64_t>(keys.data() + 8, 5);
  nvme::Sqe join = command(nvme::IoOpcode::reservation_register, 2);
  out.note(holder.io.send(join.bytes(), keys));
  nvme::Sqe acquire = command(nvme::IoOpcode::reservation_acquire, 2);
  acquire.set(nvme::sqe::cdw10, 1u << 8);
  store_le<std::uint64_t>(keys.data(), 5);
  out.note(holder.io.send(acquire.bytes(), keys));
  ConnectWords words;
  words.hostid = 0x31;
  Line admin = rig.open();
  const Reply reply = Rig::connect(admin, words);
  rig.enable(admin, kAllSets);
  words.qid = 1;
  words.sqsize = 127;
  words.cntlid = static_cast<std::uint16_t>(reply.dw0());
  Line io = rig.open(1);
  Rig::connect(io, words);
  out.note(io.fetch(zone_report(0, 256).bytes(), 256));
  out.note(io.send(zone_send(nvme::ZoneSendAction::open, 0).bytes()));
  out.note(io.send(rw(nvme::IoOpcode::zone_append, 0, 1, 2).bytes(), Bytes(512)));
  rig.disk->end_associations("between two parts");
  rig.world->run_for(Duration::ms(1));
  rig.disk->find_namespace(2)->reservations().forget_all();
}

/// A target of its own.
inline void zoned_namespaces(SubsystemHooks* hooks, Transcript& out) {
  Rig rig(zoned_options(), hooks);
  add_zoned(*rig.disk);
  {
    ZonedHost host(rig, out);
    zoned_identify(host, out);
    out.note(host.io.fetch(zone_report(0, 256, 0, false, 0, 1).bytes(), 256));
    zoned_writes(rig, host, out);
    zoned_actions(host, out);
    zoned_reports(host, out);
    zoned_tags(host, out);
    zoned_events(rig, host, out);
    rig.disk->end_associations("between two parts");
    rig.world->run_for(Duration::ms(1));
  }
  zoned_reservations(rig, out);
  zoned_ends(rig, out);
}

}  // namespace fb::subsystem::test
