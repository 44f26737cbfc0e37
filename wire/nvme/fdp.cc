#include "wire/nvme/fdp.h"

#include <algorithm>

namespace fb::nvme {

namespace fc = fdp_configuration;
namespace hs = handle_status_descriptor;

namespace {

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

}  // namespace

FdpConfigurationsLog read_fdp_configurations(ByteView log) {
  FdpConfigurationsLog read;
  const auto header = View<FdpConfigurationsHeader>::over(log);
  read.damaged = !header;
  if (!header) return read;
  read.size = header->get(fdp_configurations::sze);
  read.version = header->get(fdp_configurations::ver);
  const std::size_t told = std::max<std::size_t>(read.size, FdpConfigurationsHeader::size);
  ByteView rest = log.first(std::min(log.size(), told)).subspan(FdpConfigurationsHeader::size);
  for (std::uint64_t left = header->get(fdp_configurations::numfdpc).count(); left != 0; --left) {
    const auto one = View<FdpConfigurationDescriptor>::over(rest);
    const std::size_t size = one ? one->get(fc::dsze) : 0;
    const std::size_t handles = one ? one->get(fc::nruh) : 0;
    const std::size_t holds =
        FdpConfigurationDescriptor::size + handles * ReclaimUnitHandleDescriptor::size + (one ? one->get(fc::vss) : 0u);
    read.damaged = !one || size > rest.size() || size < holds;
    if (read.damaged) return read;
    FdpConfigurationFacts& facts = read.configurations.emplace_back();
    facts.group_bits = one->get(fc::rgif);
    facts.write_cache = one->get(fc::fdpvwc);
    facts.valid = one->get(fc::fdpcv);
    facts.reclaim_groups = one->get(fc::nrg);
    facts.identifiers_max = one->get(fc::maxpids).count();
    facts.namespaces = one->get(fc::nns);
    facts.unit_bytes = one->get(fc::runs);
    facts.time_limit_s = one->get(fc::erutl);
    facts.size = size;
    facts.vendor_bytes = one->get(fc::vss);
    for (std::size_t i = 0; i < handles; ++i) {
      const std::size_t at = FdpConfigurationDescriptor::size + i * ReclaimUnitHandleDescriptor::size;
      facts.handles.push_back(
          View<ReclaimUnitHandleDescriptor>{rest.subspan(at, ReclaimUnitHandleDescriptor::size)}.get(reclaim_unit_handle::ruht));
    }
    rest = rest.subspan(size);
  }
  return read;
}

Bytes make_fdp_configurations(std::span<const FdpConfigurationFacts> configurations) {
  Bytes log(FdpConfigurationsHeader::size);
  for (const FdpConfigurationFacts& facts : configurations) {
    const std::size_t size =
        padded(FdpConfigurationDescriptor::size + facts.handles.size() * ReclaimUnitHandleDescriptor::size + facts.vendor_bytes);
    Bytes bytes(size);
    MutableView<FdpConfigurationDescriptor>{MutableBytes{bytes}.first(FdpConfigurationDescriptor::size)}
        .set(fc::dsze, size)
        .set(fc::rgif, facts.group_bits)
        .set(fc::fdpvwc, facts.write_cache)
        .set(fc::fdpcv, facts.valid)
        .set(fc::vss, facts.vendor_bytes)
        .set(fc::nrg, facts.reclaim_groups)
        .set(fc::nruh, facts.handles.size())
        .set(fc::maxpids, facts.identifiers_max - 1)
        .set(fc::nns, facts.namespaces)
        .set(fc::runs, facts.unit_bytes)
        .set(fc::erutl, facts.time_limit_s);
    for (std::size_t i = 0; i < facts.handles.size(); ++i) {
      bytes[FdpConfigurationDescriptor::size + i * ReclaimUnitHandleDescriptor::size] = static_cast<std::uint8_t>(facts.handles[i]);
    }
    log.insert(log.end(), bytes.begin(), bytes.end());
  }
  MutableView<FdpConfigurationsHeader>{MutableBytes{log}.first(FdpConfigurationsHeader::size)}
      .set(fdp_configurations::numfdpc, std::max<std::size_t>(configurations.size(), 1) - 1)
      .set(fdp_configurations::sze, log.size());
  return log;
}

std::vector<HandleStatus> read_handle_statuses(ByteView data) {
  std::vector<HandleStatus> found;
  const auto header = View<HandleStatusHeader>::over(data);
  if (!header) return found;
  ByteView rest = data.subspan(HandleStatusHeader::size);
  for (unsigned left = header->get(handle_status::nruhsd); left != 0 && rest.size() >= HandleStatusDescriptor::size; --left) {
    const View<HandleStatusDescriptor> one{rest.first(HandleStatusDescriptor::size)};
    found.push_back({one.get(hs::pid), one.get(hs::ruhid), one.get(hs::earutr), one.get(hs::ruamw)});
    rest = rest.subspan(HandleStatusDescriptor::size);
  }
  return found;
}

Bytes make_handle_statuses(std::span<const HandleStatus> statuses) {
  Bytes data(HandleStatusHeader::size + statuses.size() * HandleStatusDescriptor::size);
  MutableView<HandleStatusHeader>{MutableBytes{data}.first(HandleStatusHeader::size)}.set(handle_status::nruhsd, statuses.size());
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const std::size_t at = HandleStatusHeader::size + i * HandleStatusDescriptor::size;
    MutableView<HandleStatusDescriptor>{MutableBytes{data}.subspan(at, HandleStatusDescriptor::size)}
        .set(hs::pid, statuses[i].id)
        .set(hs::ruhid, statuses[i].handle)
        .set(hs::earutr, statuses[i].time_left_s)
        .set(hs::ruamw, statuses[i].blocks_left);
  }
  return data;
}

void write_placement_handles(MutableBytes data, std::span<const std::uint16_t> handles) {
  store_le(data.data() + kPlacementHandleCountAt, static_cast<std::uint16_t>(handles.size()));
  for (std::size_t i = 0; i < handles.size(); ++i) store_le(data.data() + kPlacementHandlesAt + 2 * i, handles[i]);
}

}  // namespace fb::nvme
