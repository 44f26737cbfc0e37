#include "wire/nvme/lba_status.h"

#include <algorithm>

namespace fb::nvme {

std::vector<LbaStatus> read_lba_statuses(ByteView list) {
  std::vector<LbaStatus> entries;
  const auto header = View<LbaStatusListHeader>::over(list);
  if (!header) return entries;
  ByteView rest = list.subspan(LbaStatusListHeader::size);
  for (std::uint32_t left = header->get(lba_status_list::nlsd); left != 0 && rest.size() >= LbaStatusEntry::size; --left) {
    const View<LbaStatusEntry> one{rest.first(LbaStatusEntry::size)};
    entries.push_back({one.get(lba_status_entry::dslba), one.get(lba_status_entry::nlb).count(), one.get(lba_status_entry::lbars)});
    rest = rest.subspan(LbaStatusEntry::size);
  }
  return entries;
}

std::size_t write_lba_statuses(MutableBytes list, std::span<const LbaStatus> entries) {
  MutableBytes rest = list.subspan(LbaStatusListHeader::size);
  std::size_t written = 0;
  for (; written < entries.size() && rest.size() >= LbaStatusEntry::size; ++written) {
    MutableView<LbaStatusEntry>{rest.first(LbaStatusEntry::size)}
        .set(lba_status_entry::dslba, entries[written].first)
        .set(lba_status_entry::nlb, entries[written].count - 1)
        .set(lba_status_entry::lbars, entries[written].status);
    rest = rest.subspan(LbaStatusEntry::size);
  }
  MutableView<LbaStatusListHeader>{list.first(LbaStatusListHeader::size)}.set(lba_status_list::nlsd, written);
  return written;
}

LbaStatusLog read_lba_status_log(ByteView log) {
  LbaStatusLog read;
  const auto header = View<LbaStatusLogHeader>::over(log);
  read.damaged = !header;
  if (!header) return read;
  read.length = header->get(lba_status_log::lslplen);
  read.estimate = header->get(lba_status_log::estulb);
  read.generation = header->get(lba_status_log::lsgc);
  ByteView rest = log.first(std::min<std::size_t>(log.size(), std::max<std::size_t>(read.length, LbaStatusLogHeader::size)))
                      .subspan(LbaStatusLogHeader::size);
  for (std::uint32_t left = header->get(lba_status_log::nlslne); left != 0; --left) {
    const auto element = View<LbaStatusElement>::over(rest);
    const std::uint32_t told = element ? element->get(lba_status_element::nlrd) : 0;
    const std::size_t count = told == kLbaRangesUnknown ? 0 : told;
    read.damaged = !element || count > (rest.size() - LbaStatusElement::size) / LbaRange::size;
    if (read.damaged) return read;
    LbaStatusRanges& one = read.namespaces.emplace_back();
    one.nsid = element->get(lba_status_element::neid);
    one.action = element->get(lba_status_element::ratype);
    one.everywhere = told == kLbaRangesUnknown;
    rest = rest.subspan(LbaStatusElement::size);
    for (std::size_t i = 0; i < count; ++i, rest = rest.subspan(LbaRange::size)) {
      const View<LbaRange> range{rest.first(LbaRange::size)};
      one.ranges.push_back({range.get(lba_range::rslba), range.get(lba_range::rnlb).count()});
    }
  }
  return read;
}

Bytes make_lba_status_log(std::uint16_t generation, std::span<const LbaStatusRanges> namespaces) {
  Bytes log(LbaStatusLogHeader::size);
  std::uint64_t blocks = 0;
  const auto append = [&log](ByteView bytes) { log.insert(log.end(), bytes.begin(), bytes.end()); };
  for (const LbaStatusRanges& one : namespaces) {
    Record<LbaStatusElement> element;
    element.set(lba_status_element::neid, one.nsid)
        .set(lba_status_element::nlrd, one.everywhere ? kLbaRangesUnknown : one.ranges.size())
        .set(lba_status_element::ratype, one.action);
    append(element.bytes());
    for (const LbaStatusRanges::Range& range : one.ranges) {
      Record<LbaRange> made;
      made.set(lba_range::rslba, range.first).set(lba_range::rnlb, range.count - 1);
      append(made.bytes());
      blocks += range.count;
    }
  }
  constexpr std::uint64_t kMostTold = 0xFFFFFFFE;
  MutableView<LbaStatusLogHeader>{MutableBytes{log}.first(LbaStatusLogHeader::size)}
      .set(lba_status_log::lslplen, log.size())
      .set(lba_status_log::nlslne, namespaces.size())
      .set(lba_status_log::estulb, std::min(blocks, kMostTold))
      .set(lba_status_log::lsgc, generation);
  return log;
}

}  // namespace fb::nvme
