// What the cases about Zone Random Write Areas share.
#pragma once

#include "conformance/cases/nvme/zone_scene.h"

namespace fb::conformance {

/// Areas of 8 blocks in two namespaces, one of which has no Flush Explicit ZRWA Range, and a namespace without areas.
inline void add_random_zones(EmbeddedSetup& setup) {
  setup.subsystem.version = std::max(setup.subsystem.version, fabrics::version(2, 0, 0));
  setup.subsystem.zoned = {.supported = true, .append_limit = 2};
  setup.namespaces.push_back({.blocks = 2048,
                              .zones = {.zone_blocks = 64,
                                        .capacity = 48,
                                        .max_active = 6,
                                        .max_open = 5,
                                        .extension_units = 1,
                                        .zrwa_blocks = 8,
                                        .zrwa_granularity = 4,
                                        .zrwa_count = 3}});
  setup.namespaces.push_back(
      {.blocks = 1024, .zones = {.zone_blocks = 64, .zrwa_blocks = 8, .zrwa_granularity = 2, .zrwa_count = 2, .zrwa_flush = false}});
  setup.namespaces.push_back({.blocks = 1024, .zones = {.zone_blocks = 64}});
}
inline const furnished random_zones{&add_random_zones};
inline const needs random_areas{has_zoned<has_random_areas>};
inline const needs random_flushes{has_zoned<flushes_random_areas>};

inline bool extends_random_areas(const host::NamespaceFacts& facts) { return has_random_areas(facts) && has_extensions(facts); }

/// NUMZRWA is small enough that a case can use the areas up, and no other limit of zones is in the way.
inline bool limits_random(const host::NamespaceFacts& facts) {
  const host::ZoneGeometry& geometry = facts.zones;
  const std::uint64_t wanted = std::uint64_t{geometry.zrwa_max} + 2;
  const auto leaves = [wanted](std::uint64_t most) { return most == 0 || most >= wanted; };
  return has_random_areas(facts) && wanted <= kFewZones && facts.blocks / geometry.zone_blocks > wanted && leaves(geometry.max_active) &&
         leaves(geometry.max_open);
}
inline bool limits_open_random(const host::NamespaceFacts& facts) { return has_random_areas(facts) && limits_open(facts); }
inline const needs few_random_areas{has_zoned<limits_random>};

class RandomScene : public ZoneScene {
 public:
  RandomScene(ControllerBench& bench, Check& check, ZonedPredicate fits = has_random_areas, std::size_t usable = 3)
      : ZoneScene(bench, check, fits, usable), check_(check) {}

  /// Blocks of an area, and what it is committed in.
  std::uint64_t area() const { return facts.zones.zrwa_blocks; }
  std::uint64_t granule() const { return std::max<std::uint64_t>(facts.zones.zrwa_granularity, 1); }
  /// A case needs zones that hold so many areas.
  void holds(std::uint64_t areas) const {
    if (capacity(0) <= areas * area()) throw CannotArrange{"the zones hold too few blocks for their write areas"};
  }

  host::RawReply open_random(std::uint64_t start) {
    auto command = host::zone_send(nsid(), ZoneSendAction::open, start);
    command.set(nvme::zone_send_sqe::zrwaa, true);
    return io->send(command).wait();
  }
  /// The zone has an area.
  void take(std::uint64_t start) {
    done(open_random(start), "Open Zone with ZRWAA");
    check_.precondition(has_area(start), "the zone has a Zone Random Write Area");
  }
  bool has_area(std::uint64_t start) { return (look(start).attributes & nvme::zone_attribute_bits::zrwa_valid) != 0; }
  host::RawReply flush_to(std::uint64_t last) { return send(ZoneSendAction::flush_explicit_zrwa, last); }
  /// Moves the write pointer of a zone with an area until the area holds the rest of the zone.
  std::uint64_t advance(std::size_t i) {
    constexpr std::uint64_t kMost = 512;
    if (capacity(i) / area() > kMost) throw CannotArrange{"the zones are too large to be filled"};
    const std::uint64_t end = zone(i) + capacity(i);
    std::uint64_t pointer = zone(i);
    while (end - pointer > area()) {
      fill(std::min(pointer + 2 * area(), end) - 1, 1);
      const std::uint64_t now = this->pointer(zone(i));
      check_.precondition(now > pointer && now < end, "a write behind the area moves the write pointer");
      pointer = now;
    }
    return pointer;
  }
  /// Opens zones with areas from the first on until that is refused; returns how many have one.
  std::uint32_t use_up(host::RawReply& refusal) {
    for (std::uint32_t i = 0; i < usable(); ++i) {
      refusal = open_random(zone(i));
      if (!refusal.ok()) return i;
    }
    return static_cast<std::uint32_t>(usable());
  }

 private:
  Check& check_;
};

}  // namespace fb::conformance
