#include "wire/nvme/zones.h"

#include <algorithm>

namespace fb::nvme {

std::string_view name_of(ZoneState state) {
  switch (state) {
    case ZoneState::empty:
      return "empty";
    case ZoneState::implicitly_opened:
      return "implicitly opened";
    case ZoneState::explicitly_opened:
      return "explicitly opened";
    case ZoneState::closed:
      return "closed";
    case ZoneState::read_only:
      return "read only";
    case ZoneState::full:
      return "full";
    case ZoneState::offline:
      return "offline";
  }
  return "reserved";
}

std::vector<ZoneFacts> read_zone_report(ByteView report, std::size_t extension_bytes) {
  std::vector<ZoneFacts> zones;
  const auto header = View<ZoneReportHeader>::over(report);
  if (!header) return zones;
  const std::uint64_t count = header->get(zone_report::nzones);
  const std::size_t each = ZoneDescriptor::size + extension_bytes;
  ByteView rest = report.subspan(ZoneReportHeader::size);
  for (std::uint64_t i = 0; i < count && rest.size() >= each; ++i, rest = rest.subspan(each)) {
    const View<ZoneDescriptor> one{rest.first(ZoneDescriptor::size)};
    ZoneFacts& zone = zones.emplace_back();
    zone.start = one.get(zone_descriptor::zslba);
    zone.capacity = one.get(zone_descriptor::zcap);
    zone.write_pointer = one.get(zone_descriptor::wp);
    zone.type = one.get(zone_descriptor::zt);
    zone.state = one.get(zone_descriptor::zs);
    zone.attributes = one.get(zone_descriptor::za);
    const ByteView extension = rest.subspan(ZoneDescriptor::size, extension_bytes);
    zone.extension.assign(extension.begin(), extension.end());
  }
  return zones;
}

void write_zone(MutableBytes place, const ZoneFacts& zone) {
  std::fill(place.begin(), place.end(), std::uint8_t{0});
  MutableView<ZoneDescriptor>{place.first(ZoneDescriptor::size)}
      .set(zone_descriptor::zt, zone.type)
      .set(zone_descriptor::zs, zone.state)
      .set(zone_descriptor::za, zone.attributes)
      .set(zone_descriptor::zcap, zone.capacity)
      .set(zone_descriptor::zslba, zone.start)
      .set(zone_descriptor::wp, zone.write_pointer);
  const std::size_t room = std::min(zone.extension.size(), place.size() - ZoneDescriptor::size);
  std::copy_n(zone.extension.begin(), room, place.begin() + ZoneDescriptor::size);
}

ChangedZones read_changed_zones(ByteView log) {
  ChangedZones zones;
  const auto header = View<ChangedZonesHeader>::over(log);
  if (!header) return zones;
  const std::uint16_t count = header->get(changed_zones::nrzid);
  zones.too_many = count == kTooManyChangedZones;
  if (zones.too_many) return zones;
  for (std::size_t at = ChangedZonesHeader::size; zones.starts.size() < count && at + 8 <= log.size(); at += 8) {
    zones.starts.push_back(load_le<std::uint64_t>(log.data() + at));
  }
  return zones;
}

Bytes write_changed_zones(const ChangedZones& zones) {
  Bytes log(kChangedZonesBytes);
  const bool too_many = zones.too_many || zones.starts.size() > kChangedZonesMax;
  const std::size_t count = too_many ? 0 : zones.starts.size();
  MutableView<ChangedZonesHeader>{MutableBytes{log}.first(ChangedZonesHeader::size)}.set(
      changed_zones::nrzid, too_many ? std::size_t{kTooManyChangedZones} : count);
  for (std::size_t i = 0; i < count; ++i) store_le(log.data() + ChangedZonesHeader::size + i * 8, zones.starts[i]);
  return log;
}

}  // namespace fb::nvme
