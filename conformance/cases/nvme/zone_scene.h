// What the cases about zoned namespaces share: which namespace a case needs, and its zones.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "conformance/cases/nvme/scene.h"
#include "wire/nvme/features.h"
#include "wire/nvme/zones.h"

namespace fb::conformance {

using nvme::ZoneReporting;
using nvme::ZoneSendAction;
using nvme::ZoneState;

inline constexpr auto kZonedSet = static_cast<std::uint8_t>(nvme::CommandSet::zoned);

// ---- which namespace a case needs ----

using ZonedPredicate = bool (*)(const host::NamespaceFacts&);

inline bool plainly_zoned(const host::NamespaceFacts& facts) { return facts.layout.metadata_bytes == 0; }
inline bool keeps_reads_apart(const host::NamespaceFacts& facts) { return plainly_zoned(facts) && !facts.zones.read_across; }
inline bool reads_across(const host::NamespaceFacts& facts) { return plainly_zoned(facts) && facts.zones.read_across; }
inline bool has_extensions(const host::NamespaceFacts& facts) { return plainly_zoned(facts) && facts.zones.extension_bytes != 0; }
inline bool has_no_extensions(const host::NamespaceFacts& facts) { return plainly_zoned(facts) && facts.zones.extension_bytes == 0; }
/// Few enough that a case can use them up.
inline constexpr std::uint32_t kFewZones = 1024;
inline bool limits_active(const host::NamespaceFacts& facts) {
  const std::uint32_t most = facts.zones.max_active;
  return plainly_zoned(facts) && most != 0 && most <= kFewZones && facts.blocks / facts.zones.zone_blocks > most;
}
inline bool limits_open(const host::NamespaceFacts& facts) {
  const host::ZoneGeometry& zones = facts.zones;
  const bool apart = zones.max_active == 0 || zones.max_active > zones.max_open;
  return plainly_zoned(facts) && zones.max_open != 0 && zones.max_open <= kFewZones && apart &&
         facts.blocks / zones.zone_blocks > zones.max_open;
}
inline bool has_random_areas(const host::NamespaceFacts& facts) { return plainly_zoned(facts) && facts.zones.zrwa_blocks != 0; }
inline bool has_no_random_areas(const host::NamespaceFacts& facts) { return plainly_zoned(facts) && facts.zones.zrwa_blocks == 0; }
inline bool flushes_random_areas(const host::NamespaceFacts& facts) { return has_random_areas(facts) && facts.zones.zrwa_flush; }
inline bool flushes_no_random_areas(const host::NamespaceFacts& facts) { return has_random_areas(facts) && !facts.zones.zrwa_flush; }
inline bool zoned_with_tags(const host::NamespaceFacts& facts) {
  return facts.layout.protection_type == 1 && !facts.layout.extended() && facts.layout.tuple_alone();
}

inline const host::NamespaceFacts* find_zoned(const Declared& declared, ZonedPredicate fits) {
  for (const host::NamespaceFacts& facts : declared.zoned_namespaces) {
    if (fits(facts)) return &facts;
  }
  return nullptr;
}
/// The one that a case is about. A product that let nothing be learned of it leaves nothing to judge.
inline const host::NamespaceFacts& zoned_of(const Declared& declared, ZonedPredicate fits) {
  const host::NamespaceFacts* const found = find_zoned(declared, fits);
  if (found == nullptr) throw CannotArrange{"the product has no zoned namespace of this kind"};
  return *found;
}
template <ZonedPredicate Fits>
std::optional<std::string> has_zoned(const Declared& declared) {
  if (!declared.known || find_zoned(declared, Fits) != nullptr) return {};
  return "no zoned namespace of this kind";
}
inline const needs zones{has_zoned<plainly_zoned>};

inline std::optional<std::string> has_zone_append(const Declared& declared) {
  if (!declared.known || declared.zone_append) return {};
  return "Zone Append is not in the log of commands and effects";
}
inline const needs appends{has_zone_append};

/// What the emulated product has: one namespace with all limits, one without, one with protection information.
inline void add_zoned_namespaces(EmbeddedSetup& setup) {
  setup.subsystem.version = std::max(setup.subsystem.version, fabrics::version(2, 0, 0));
  setup.subsystem.metadata = true;
  setup.subsystem.zoned = {.supported = true, .append_limit = 2};
  setup.namespaces.push_back(
      {.blocks = 2048,
       .zones = {.zone_blocks = 64, .capacity = 48, .max_active = 6, .max_open = 4, .extension_units = 1, .excursions = true}});
  setup.namespaces.push_back({.blocks = 1024, .zones = {.zone_blocks = 64, .read_across = true}});
  setup.namespaces.push_back({.blocks = 1024, .metadata_bytes = 8, .protection_type = 1, .zones = {.zone_blocks = 64}});
}
inline const furnished zoned_namespaces{&add_zoned_namespaces};
inline const arranged failing_zones{"zones that fail", &add_zoned_namespaces};

// ---- a host at a zoned namespace ----

/// Selects a combination of command sets that has zones.
inline void select_zones(RawAssociation& association) {
  const auto page = association.admin().send(host::identify(nvme::Cns::command_set_combinations), 4096).wait();
  if (!page.ok()) return;
  for (std::uint32_t i = 0; i < nvme::kCommandSetCombinationsMax; ++i) {
    if ((nvme::command_set_combination(page.data, i) >> kZonedSet & 1) == 0) continue;
    if (i == 0) return;  // the one in force
    association.admin().send(host::set_features(nvme::FeatureId::io_command_set_profile, i)).wait();
    return;
  }
}

inline Record<nvme::IdentifySqe> identify_zoned(nvme::Cns cns, std::uint32_t nsid = 0) {
  auto command = host::identify(cns, nsid);
  command.set(nvme::identify_sqe::csi, kZonedSet);
  return command;
}

class ZoneScene {
 public:
  /// Begins with `usable` empty zones, all others empty, full of what was there, or dead.
  ZoneScene(ControllerBench& bench, Check& check, ZonedPredicate fits = plainly_zoned, std::size_t usable = 3)
      : association(bench.associate()), bench_(bench), check_(check) {
    facts = zoned_of(bench.declared(), fits);
    select_zones(association);
    io = &association.open_io();
    begin(usable);
  }

  std::uint32_t nsid() const { return facts.nsid; }
  std::uint64_t size() const { return facts.zones.zone_blocks; }
  /// The first block of a zone that is usable.
  std::uint64_t zone(std::size_t i) const { return usable_.at(i).start; }
  std::uint64_t capacity(std::size_t i) const { return usable_.at(i).capacity; }
  std::size_t usable() const { return usable_.size(); }
  host::RawQueue& admin() { return association.admin(); }

  host::RawReply send(ZoneSendAction action, std::uint64_t start, bool all = false) {
    return io->send(host::zone_send(nsid(), action, start, all)).wait();
  }
  host::RawReply extend(std::uint64_t start, ByteView data, bool all = false) {
    return io->send(host::zone_send(nsid(), ZoneSendAction::set_descriptor_extension, start, all), data).wait();
  }
  Bytes data(std::uint8_t mark, std::size_t count) const { return pattern(mark, count, facts.layout.bytes()); }
  host::RawReply write(std::uint64_t lba, std::uint32_t count, std::uint8_t mark = 0x31) {
    return io->send(host::write(nsid(), lba, count), data(mark, count)).wait();
  }
  host::RawReply read(std::uint64_t lba, std::uint32_t count) {
    return io->send(host::read(nsid(), lba, count), std::size_t{count} * facts.layout.bytes()).wait();
  }
  host::RawReply append(std::uint64_t start, std::uint32_t count, std::uint8_t mark = 0x41) {
    return io->send(host::zone_append(nsid(), start, count), data(mark, count)).wait();
  }
  host::RawReply report(std::uint64_t lba, std::size_t bytes, ZoneReporting option = ZoneReporting::all, bool partial = false) {
    auto command = host::zone_report(nsid(), lba, bytes, option);
    command.set(nvme::zone_receive_sqe::partial, partial);
    return io->send(command, bytes).wait();
  }
  /// One zone as it is now, with its extension where it may have one.
  nvme::ZoneFacts look(std::uint64_t start) {
    auto command = host::zone_report(nsid(), start, room(1));
    const std::size_t extension = facts.zones.extension_bytes;
    if (extension != 0) command.set(nvme::zone_receive_sqe::zra, nvme::ZoneReceiveAction::extended_report);
    const auto reply = io->send(command, room(1)).wait();
    check_.precondition_success(reply, "Zone Management Receive");
    const auto list = nvme::read_zone_report(reply.data, extension);
    check_.precondition(!list.empty() && list.front().start == start, "the zone is reported");
    return list.front();
  }
  ZoneState state(std::uint64_t start) { return look(start).state; }
  std::uint64_t pointer(std::uint64_t start) { return look(start).write_pointer; }
  /// Bytes of a report of so many zones.
  std::size_t room(std::size_t count) const {
    return nvme::ZoneReportHeader::size + count * (nvme::ZoneDescriptor::size + facts.zones.extension_bytes);
  }

  // What a case does not judge.
  void open(std::uint64_t start) { done(send(ZoneSendAction::open, start), "Open Zone"); }
  void close(std::uint64_t start) { done(send(ZoneSendAction::close, start), "Close Zone"); }
  void finish(std::uint64_t start) { done(send(ZoneSendAction::finish, start), "Finish Zone"); }
  void fill(std::uint64_t start, std::uint32_t count, std::uint8_t mark = 0x31) { done(write(start, count, mark), "Write"); }
  /// Writes to zone `i` until so many blocks are left, and says where the write pointer is.
  std::uint64_t fill_but(std::size_t i, std::uint64_t left) {
    constexpr std::uint64_t kMost = 4096, kPiece = 8;
    if (capacity(i) > kMost) throw CannotArrange{"the zones are too large to be filled"};
    const std::uint64_t end = capacity(i) - left;
    for (std::uint64_t at = 0; at < end; at += kPiece) {
      fill(zone(i) + at, static_cast<std::uint32_t>(std::min(kPiece, end - at)));
    }
    return zone(i) + end;
  }
  void done(const host::RawReply& reply, std::string_view what) { check_.precondition_success(reply, what); }
  void precondition(std::uint64_t start, ZoneState wanted) {
    check_.precondition(state(start) == wanted, "the zone is " + std::string(nvme::name_of(wanted)));
  }
  bool is(std::uint64_t start, ZoneState wanted, std::string_view what = "state of the zone") {
    return check_.equal(what, state(start), wanted);
  }
  /// Open implicitly, or closed: a controller may close such a zone by itself, at any time.
  bool is_implicit(std::uint64_t start, std::string_view what = "state of the zone") {
    return check_.equal(what, state(start), one_of(ZoneState::implicitly_opened, ZoneState::closed));
  }

  /// The zones of the namespace that can be written, empty; the association may be another one.
  void begin(std::size_t usable) {
    const auto reset = send(ZoneSendAction::reset, 0, true);
    check_.precondition_success(reset, "Reset Zone of all zones");
    usable_.clear();
    const std::size_t most = std::min<std::size_t>(facts.blocks / size(), std::max<std::size_t>(usable + 8, 16));
    const std::size_t bytes = nvme::ZoneReportHeader::size + most * nvme::ZoneDescriptor::size;
    const auto reply = report(0, bytes, ZoneReporting::empty, true);
    check_.precondition_success(reply, "Zone Management Receive");
    for (nvme::ZoneFacts& zone : nvme::read_zone_report(reply.data)) {
      if (zone.state == ZoneState::empty) usable_.push_back(std::move(zone));
    }
    const bool roomy = std::all_of(usable_.begin(), usable_.end(), [](const auto& zone) { return zone.capacity >= 16; });
    if (usable_.size() < usable || !roomy) throw CannotArrange{"too few zones that can be written"};
  }
  /// A new association of the same host.
  void rejoin() {
    again_ = &bench_.associate();
    select_zones(*again_);
    io = &again_->open_io();
  }
  RawAssociation& here() { return again_ != nullptr ? *again_ : association; }

  RawAssociation& association;
  host::RawQueue* io = nullptr;
  host::NamespaceFacts facts;

 private:
  ControllerBench& bench_;
  Check& check_;
  RawAssociation* again_ = nullptr;
  std::vector<nvme::ZoneFacts> usable_;
};

}  // namespace fb::conformance
