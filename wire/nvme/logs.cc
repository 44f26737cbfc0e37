#include "wire/nvme/logs.h"

namespace fb::nvme {

AnaWalk::AnaWalk(ByteView log) {
  const auto header = View<AnaHeader>::over(log);
  if (!header) {
    damaged_ = true;
    return;
  }
  change_count_ = header->get(ana_header::chgcnt);
  left_ = header->get(ana_header::nagd);
  rest_ = log.subspan(AnaHeader::size);
}

bool AnaWalk::next(AnaGroup& out) {
  if (left_ == 0) return false;
  const auto header = View<AnaGroupHeader>::over(rest_);
  const std::uint64_t count = header ? header->get(ana_group::nnv) : 0;
  if (!header || (rest_.size() - AnaGroupHeader::size) / 4 < count) {
    damaged_ = true;
    left_ = 0;
    return false;
  }
  out.id = header->get(ana_group::agid);
  out.state = header->get(ana_group::state);
  out.change_count = header->get(ana_group::chgcnt);
  out.namespaces.clear();
  rest_ = rest_.subspan(AnaGroupHeader::size);
  for (std::uint64_t i = 0; i < count; ++i) {
    out.namespaces.push_back(load_le<std::uint32_t>(rest_.data() + i * 4));
  }
  rest_ = rest_.subspan(count * 4);
  --left_;
  return true;
}

Bytes make_ana_log(std::uint64_t change_count, std::span<const AnaGroup> groups, bool groups_only) {
  Record<AnaHeader> header;
  header.set(ana_header::chgcnt, change_count).set(ana_header::nagd, groups.size());
  Bytes log(header.bytes().begin(), header.bytes().end());
  for (const AnaGroup& group : groups) {
    const std::size_t count = groups_only ? 0 : group.namespaces.size();
    Record<AnaGroupHeader> entry;
    entry.set(ana_group::agid, group.id)
        .set(ana_group::nnv, count)
        .set(ana_group::chgcnt, group.change_count)
        .set(ana_group::state, group.state);
    log.insert(log.end(), entry.bytes().begin(), entry.bytes().end());
    for (std::size_t i = 0; i < count; ++i) {
      log.resize(log.size() + 4);
      store_le(log.data() + log.size() - 4, group.namespaces[i]);
    }
  }
  return log;
}

}  // namespace fb::nvme
