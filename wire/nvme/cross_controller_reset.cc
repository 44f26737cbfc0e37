#include "wire/nvme/cross_controller_reset.h"

#include <algorithm>

namespace fb::nvme {

namespace {

constexpr std::size_t kEntryBytes = CcrEntryLayout::size;
static_assert(LostHostEntryLayout::size == kEntryBytes);

Bytes page_of(std::size_t entries) {
  Bytes page(kControllerEntriesBytes);
  MutableView<ControllerEntriesHeader>{MutableBytes{page}.first(ControllerEntriesHeader::size)}.set(controller_entries::ne, entries);
  return page;
}

std::size_t at(std::size_t index) { return ControllerEntriesHeader::size + index * kEntryBytes; }

std::size_t count_of(ByteView page) {
  if (page.size() < ControllerEntriesHeader::size) return 0;
  const std::size_t room = (page.size() - ControllerEntriesHeader::size) / kEntryBytes;
  return std::min<std::size_t>(View<ControllerEntriesHeader>{page}.get(controller_entries::ne), room);
}

}  // namespace

Bytes make_ccr_log(std::span<const CcrEntry> entries) {
  const std::size_t count = std::min(entries.size(), kControllerEntriesMax);
  Bytes page = page_of(count);
  for (std::size_t i = 0; i < count; ++i) {
    const CcrEntry& one = entries[i];
    MutableView<CcrEntryLayout>{MutableBytes{page}.subspan(at(i), kEntryBytes)}
        .set(ccr_entry::icid, one.icid)
        .set(ccr_entry::ciu, one.ciu)
        .set(ccr_entry::acid, one.acid)
        .set(ccr_entry::ccrs, one.status)
        .set(ccr_entry::v, one.validated)
        .set(ccr_entry::clri, one.reset_initiated)
        .set(ccr_entry::retry, one.retry);
  }
  return page;
}

Bytes make_lost_host_log(std::span<const LostHostEntry> entries) {
  const std::size_t count = std::min(entries.size(), kControllerEntriesMax);
  Bytes page = page_of(count);
  for (std::size_t i = 0; i < count; ++i) {
    MutableView<LostHostEntryLayout>{MutableBytes{page}.subspan(at(i), kEntryBytes)}
        .set(lost_host_entry::cntlid, entries[i].cntlid)
        .set(lost_host_entry::lc, entries[i].losses)
        .set(lost_host_entry::ciu, entries[i].ciu);
  }
  return page;
}

std::vector<CcrEntry> read_ccr_log(ByteView page) {
  std::vector<CcrEntry> entries;
  for (std::size_t i = 0; i < count_of(page); ++i) {
    const View<CcrEntryLayout> one{page.subspan(at(i), kEntryBytes)};
    entries.push_back({one.get(ccr_entry::icid), one.get(ccr_entry::ciu), one.get(ccr_entry::acid), one.get(ccr_entry::ccrs),
                       one.get(ccr_entry::v), one.get(ccr_entry::clri), one.get(ccr_entry::retry)});
  }
  return entries;
}

std::vector<LostHostEntry> read_lost_host_log(ByteView page) {
  std::vector<LostHostEntry> entries;
  for (std::size_t i = 0; i < count_of(page); ++i) {
    const View<LostHostEntryLayout> one{page.subspan(at(i), kEntryBytes)};
    entries.push_back({one.get(lost_host_entry::cntlid), one.get(lost_host_entry::lc), one.get(lost_host_entry::ciu)});
  }
  return entries;
}

}  // namespace fb::nvme
